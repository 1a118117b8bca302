"""OpenAI Chat Completions: where texts, calls and results stand, and how a new text goes back."""

import json

import pytest
from oracle import faults

from ga_context import ContextSession
from ga_context.formats import make
from ga_context.payload.charge import Charges
from ga_context.text.window import Cut

FMT = make("openai-chat", Charges())
ASK = {"role": "user", "content": "Go."}
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 999, "detail": "low"}}
LINK = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
SOUND = {"type": "input_audio", "input_audio": {"data": "B" * 999, "format": "wav"}}
FILE = {"type": "file", "file": {"file_data": "data:application/pdf;base64," + "C" * 999}}
SENT = {"type": "file", "file": {"file_id": "file-0123456789"}}
CUSTOM = {"id": "c2", "type": "custom", "custom": {"name": "patch", "input": "*** free text"}}


def call(arguments, id="c1"):
    """Return a function call."""
    return {"id": id, "type": "function", "function": {"name": "code_run", "arguments": arguments}}


def blocks(role, **keys):
    """Return the blocks of a message as the format reads them."""
    return FMT.read(0, {"role": role, **keys}, 0).blocks


def cut(block, path, text):
    """Return the wire of a block with a text in the place of another."""
    return FMT.render(block, cuts=((path, Cut((text,), 0)),)).wire


@pytest.mark.parametrize(
    ("message", "kinds"),
    [
        (ASK, ["text"]),
        ({"role": "system", "content": "Rule."}, ["text"]),
        ({"role": "user", "content": [{"type": "text", "text": "a"}, IMAGE, SOUND, FILE]}, ["text", *["payload"] * 3]),
        ({"role": "user", "content": [LINK, {"type": "future_part"}]}, ["payload", "other"]),
        ({"role": "assistant", "content": "x", "tool_calls": [call("{}"), CUSTOM]}, ["text", "call", "call"]),
        ({"role": "assistant", "content": None, "tool_calls": [call("{}")]}, ["call"]),
        ({"role": "assistant", "reasoning_content": "r", "content": "x"}, ["reasoning", "text"]),
        ({"role": "tool", "tool_call_id": "c1", "content": "x"}, ["result"]),
        ({"role": "function", "name": "a", "content": "x"}, ["other"]),
        ({"role": "assistant", "refusal": "No."}, []),
    ],
)
def test_kinds(message, kinds):
    """What each part of a message is."""
    assert [block.kind for block in FMT.read(0, message, 0).blocks] == kinds


def test_texts_of_a_call():
    """The string leaves of its arguments; a custom tool's free text; nothing that does not parse is taken apart."""
    whole, custom, broken = blocks(
        "assistant", tool_calls=[call('{"a": "x", "n": [1, "y"]}'), CUSTOM, call("not json")]
    )
    assert FMT.texts(whole, -1) == [(("a",), "x"), (("n", 1), "y")]
    assert FMT.texts(custom) == [((), "*** free text")]
    assert [text for _, text in FMT.texts(broken, -1)] == ["not json"]


def test_new_arguments_are_valid_json():
    """Other keys and numbers stay; quotes are escaped."""
    (block,) = blocks("assistant", tool_calls=[{**call('{"a": "x", "n": [1, "y"]}'), "x_key": 1}])
    wire = cut(block, ("a",), 'say "é"\n')
    assert json.loads(wire["function"]["arguments"]) == {"a": 'say "é"\n', "n": [1, "y"]}
    assert (list(wire), wire["x_key"]) == (["id", "type", "function", "x_key"], 1)


def test_a_custom_call_gets_free_text():
    """Its input is no JSON."""
    (block,) = blocks("assistant", tool_calls=[CUSTOM])
    assert cut(block, (), "new") == {"id": "c2", "type": "custom", "custom": {"name": "patch", "input": "new"}}


def test_a_new_text_of_a_tool_message():
    """A string, or one text part where there were several."""
    (plain,) = blocks("tool", tool_call_id="c1", content="x")
    assert cut(plain, (), "new") == "new"
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    (listed,) = blocks("tool", tool_call_id="c1", content=parts)
    assert FMT.texts(listed) == [((), "a\nb")]
    assert cut(listed, (), "new") == [{"type": "text", "text": "new"}]


@pytest.mark.parametrize(
    ("part", "kind"), [(IMAGE, "image"), (LINK, "image"), (SOUND, "audio"), (FILE, "document"), (SENT, "document")]
)
def test_a_payload_becomes_a_text(part, kind):
    """And is charged, not counted."""
    message = {"role": "user", "content": [part]}
    (block,) = FMT.read(0, message, 0).blocks
    assert FMT.payloads(block)[0].kind == kind
    assert cut(block, (), "[gone]") == {"type": "text", "text": "[gone]"}
    payload = next(value for value in part[part["type"]].values() if len(value) > 9)
    assert FMT.read(0, message, 0).size == len(json.dumps(message)) - len(payload) + 4_800


@pytest.mark.parametrize(
    "message",
    [
        ASK,
        {"role": "user", "content": 'quotes " and \\ and \n and é', "name": "ann"},
        {"role": "assistant", "content": None, "tool_calls": [call('{"a": "é\\n"}'), CUSTOM]},
        {"role": "assistant", "content": "x" * 300, "reasoning_content": "r\n" * 99, "annotations": []},
        {"role": "assistant", "refusal": "No."},
        {"role": "assistant"},
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "a" * 99}]},
        {"role": "user", "content": [{"type": "future_part", "a": [1.5, None]}]},
    ],
)
def test_size_is_the_length_as_json(message):
    """Measured block by block, the sum is what the whole message takes."""
    assert FMT.read(0, message, 0).size == len(json.dumps(message, ensure_ascii=False))


def test_ids_may_come_again_in_later_turns():
    """Each call keeps its id, each result its call."""
    called = {"role": "assistant", "content": None, "tool_calls": [call("{}", "same")]}
    results = [{"role": "tool", "tool_call_id": "same", "content": word} for word in ("one", "two")]
    raw = [ASK, called, results[0], called, results[1]]
    assert ContextSession({"anchor": {"placement": "off"}}).prepare(raw) == raw


def test_what_only_passes_through():
    """Legacy function calls, refusals, audio, unknown keys: the same objects."""
    raw = [
        {"role": "developer", "content": "Rule."},
        {"role": "user", "content": [LINK], "name": "ann"},
        {"role": "assistant", "content": None, "function_call": {"name": "a", "arguments": "{}"}},
        {"role": "function", "name": "a", "content": "x"},
        {"role": "assistant", "content": None, "refusal": "No."},
        {"role": "assistant", "content": None, "audio": {"id": "audio_1"}, "x_key": {"b": 1, "a": 2}},
        ASK,
        ASK,
    ]
    view = ContextSession().prepare(raw)
    assert [a is b for a, b in zip(view, raw, strict=True)] == [True] * 8
    assert faults(view, "openai-chat") == []
