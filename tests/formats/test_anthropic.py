"""Anthropic Messages: where texts, calls and results stand, and how a new text goes back."""

import json

import pytest
from oracle import faults

from ga_context import ContextSession
from ga_context.formats import make
from ga_context.model import Payload
from ga_context.payload.charge import Charges
from ga_context.text.window import Cut

FMT = make("anthropic", Charges())
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 999}}
LINK = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}
PDF = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "B" * 999}}
USE = {"type": "tool_use", "id": "c1", "name": "code_run", "input": {"code": "1", "deep": [{"a": "x"}, 2]}}


def blocks(role, *content):
    """Return the blocks of a message as the format reads them."""
    return FMT.read(0, {"role": role, "content": list(content)}, 0).blocks


def cut(block, path, text):
    """Return the wire of a block with a text in the place of another."""
    return FMT.render(block, cuts=((path, Cut((text,), 0)),)).wire


@pytest.mark.parametrize(
    ("role", "item", "kind"),
    [
        ("user", {"type": "text", "text": "Go."}, "text"),
        ("assistant", USE, "call"),
        ("user", {"type": "tool_result", "tool_use_id": "c1", "content": "x"}, "result"),
        ("assistant", {"type": "thinking", "thinking": "x", "signature": "y"}, "reasoning"),
        ("assistant", {"type": "redacted_thinking", "data": "x"}, "reasoning"),
        ("user", IMAGE, "payload"),
        ("user", PDF, "payload"),
        ("user", LINK, "payload"),
        ("user", {"type": "image", "source": {"type": "future", "url": "x"}}, "other"),
        ("assistant", {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}, "other"),
        ("user", {"type": "future_block", "x": 1}, "other"),
    ],
)
def test_kinds(role, item, kind):
    """What each block is; a block is the caller's own object."""
    (block,) = blocks(role, item)
    assert block.kind == kind
    assert block.wire is item


def test_which_reasoning_is_signed():
    """Redacted, and thinking with a signature."""
    thinking = {"type": "thinking", "thinking": "x"}
    held = blocks("assistant", thinking, {**thinking, "signature": "y"}, {"type": "redacted_thinking", "data": "z"})
    assert [block.sealed for block in held] == [False, True, True]


def test_texts_and_their_paths():
    """Of a call the string leaves of its input, of a result all its texts as one."""
    result = {"type": "tool_result", "tool_use_id": "c1"}
    two = [{"type": "text", "text": "a"}, IMAGE, {"type": "text", "text": "b"}]
    (call,) = blocks("assistant", USE)
    plain, listed, bare = blocks("user", {**result, "content": "x"}, {**result, "content": two}, result)
    assert FMT.texts(call, -1) == [(("code",), "1"), (("deep", 0, "a"), "x")]
    assert (FMT.texts(plain), FMT.texts(listed), FMT.texts(bare)) == ([((), "x")], [((), "a\nb")], [])
    assert FMT.payloads(listed) == [Payload(("content", 1), "image", "A" * 999)]


def test_a_new_text_goes_back_along_its_path():
    """Key order and unknown keys intact, the caller's dict untouched."""
    item = {"x_key": 1, **USE}
    before = json.dumps(item)
    (block,) = blocks("assistant", item)
    wire = cut(block, ("deep", 0, "a"), "new")
    assert wire == {"x_key": 1, **USE, "input": {"code": "1", "deep": [{"a": "new"}, 2]}}
    assert list(wire) == list(item)
    assert json.dumps(item) == before
    assert wire["input"]["code"] is item["input"]["code"]


def test_a_new_text_of_a_result():
    """One text where there were several; the image between keeps its place."""
    mark = {"cache_control": {"type": "ephemeral"}}
    content = [{"type": "text", "text": "a", **mark}, IMAGE, {"type": "text", "text": "b"}]
    (block,) = blocks("user", {"type": "tool_result", "tool_use_id": "c1", "content": content, "is_error": True})
    wire = cut(block, (), "new")
    new = [{"type": "text", "text": "new", **mark}, IMAGE]
    assert wire == {"type": "tool_result", "tool_use_id": "c1", "content": new, "is_error": True}


def test_blank_texts_of_a_result_go_and_cuts_stay_where_they_were():
    """What is behind them has been cut by then."""
    found = {"type": "search_result", "source": "u", "title": "A", "content": [{"type": "text", "text": "x" * 900}]}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": " "}, found]}
    raw = [{"role": role, "content": content} for role, content in (("user", "Go."), ("assistant", [USE]))]
    session = ContextSession({"tools": {"code_run": 300}}, format="anthropic")
    view = session.prepare([*raw, {"role": "user", "content": [result]}])
    (only,) = view[2]["content"][0]["content"]
    assert 200 < len(only["content"][0]["text"]) <= 300


@pytest.mark.parametrize("item", [IMAGE, PDF, LINK])
def test_a_payload_becomes_a_text(item):
    """Alone, and in a result."""
    (block,) = blocks("user", item)
    assert cut(block, (), "[gone]") == {"type": "text", "text": "[gone]"}
    (block,) = blocks("user", {"type": "tool_result", "tool_use_id": "c1", "content": [item]})
    assert cut(block, ("content", 0), "[gone]")["content"] == [{"type": "text", "text": "[gone]"}]


@pytest.mark.parametrize(
    "content",
    [
        "Go.",
        'quotes " and \\ and \n and é and \u2028',
        [{"type": "text", "text": "Go."}],
        [USE, {"type": "tool_result", "tool_use_id": "c1", "content": "x"}],
        [{"type": "thinking", "thinking": "x\n" * 100, "signature": "y"}, {"type": "future_block", "a": [1.5, None]}],
        [],
        None,
    ],
)
def test_size_is_the_length_as_json(content):
    """Measured block by block, the sum is what the whole message takes."""
    for role in ("user", "assistant"):
        message = {"role": role, "content": content, "x_key": "é"}
        assert FMT.read(0, message, 0).size == len(json.dumps(message, ensure_ascii=False))


def test_payloads_count_as_their_charge():
    """4,800 for the base64 text, and for a link, since the model gets the image all the same."""
    around = len(json.dumps({"role": "user", "content": [IMAGE, LINK]})) - 999 - len("https://example.com/a.png")
    assert FMT.read(0, {"role": "user", "content": [IMAGE, LINK]}, 0).size == around + 2 * 4_800
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [PDF, IMAGE]}]}
    assert FMT.read(0, result, 0).size == len(json.dumps(result)) - 2 * 999 + 2 * 4_800


def test_strings_become_blocks_only_where_they_must():
    """Alone a string stays a string; beside another message of the same role it is an item."""
    raw = [
        {"role": "user", "content": "One."},
        {"role": "assistant", "content": "Yes."},
        {"role": "user", "content": "Two."},
    ]
    session = ContextSession(format="anthropic")
    assert session.prepare(raw) == raw
    view = session.prepare([*raw, {"role": "user", "content": "Three."}])
    assert view[2] == {
        "role": "user",
        "content": [{"type": "text", "text": "Two."}, {"type": "text", "text": "Three."}],
    }
    assert view[:2] == raw[:2]


def test_a_session_with_everything_is_sent_as_it_is():
    """Within every limit nothing is touched: the same objects."""
    raw = [
        {"role": "user", "content": [{"type": "text", "text": "Go."}, IMAGE, PDF, LINK]},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "x", "signature": "y"}, USE], "id": "msg_1"},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [IMAGE]}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Yes.", "citations": []}]},
    ]
    view = ContextSession({"anchor": {"placement": "off"}}).prepare(raw)
    assert [a is b for a, b in zip(view, raw, strict=True)] == [True] * 4
    assert faults(view, "anthropic") == []


def test_a_message_with_its_blocks_under_another_key():
    """It has none, then, and is left out."""
    session, on = (
        ContextSession({"anchor": {"placement": "off"}}, format="anthropic"),
        {"role": "user", "content": "On."},
    )
    assert session.prepare([{"role": "user", "": [{"type": "text", "text": "Go."}]}, on]) == [on]
