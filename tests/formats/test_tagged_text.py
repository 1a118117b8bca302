"""The text protocol: calls are tags in assistant strings, the user message behind them is their result."""

import json

import pytest
from oracle import faults, text_faults

from ga_context import ContextSession
from ga_context.formats import make
from ga_context.payload.charge import Charges
from ga_context.text.window import Cut

FMT = make("text", Charges())
PLAIN = {"anchor": {"placement": "off"}}
ASK = {"role": "user", "content": "Go."}
CALL = '<tool_use>{"name": "code_run", "arguments": {"code": "1"}}</tool_use>'


def says(text):
    """Return an assistant message."""
    return {"role": "assistant", "content": text}


def hears(text):
    """Return a user message."""
    return {"role": "user", "content": text}


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("No call.", []),
        (f"So: {CALL}", [("code_run", {"code": "1"})]),
        ('<tool_call>{"tool": "a", "input": {"x": 1}}</tool_call>', [("a", {"x": 1})]),
        ('<tool_call>{"name": "a", "arguments": "{\\"x\\": 1}"}</tool_call>', [("a", {"x": 1})]),
        (f"{CALL} and {CALL}", [("code_run", {"code": "1"})] * 2),
        (f"```\n{CALL}\n```", [("code_run", {"code": "1"})]),
        (f"`{CALL}` is a call", []),
        ("<tool_use>unclosed", []),
    ],
)
def test_calls_in_a_string(text, calls):
    """Name and input; what only talks about a call is none."""
    (block,) = FMT.read(0, says(text), 0).blocks
    assert block.kind == ("call" if calls else "text")
    assert block.tools == tuple(name for name, _ in calls)
    assert not calls or FMT.calls(block) == calls


def test_a_users_tags_are_no_calls():
    """Only an assistant's."""
    (block,) = FMT.read(0, hears(CALL), 0).blocks
    assert block.kind == "text"


def test_where_the_results_stand():
    """The pairs of the message, else the whole of it."""
    assert FMT.spans("a <tool_result>12</tool_result><tool_result>3</tool_result>", ()) == [(15, 17), (44, 45)]
    assert FMT.spans("plain output", ()) is None


def test_a_new_text_goes_back():
    """In a string, and in a list of parts."""
    message = {"role": "user", "content": [{"text": "old", "x_key": 1}]}
    new = ((), Cut(("new",), 3))
    (part,) = FMT.read(0, message, 0).blocks
    (string,) = FMT.read(0, hears("old"), 0).blocks
    assert FMT.render(part, cuts=(new,)).wire == {"text": "new", "x_key": 1}
    assert FMT.render(string, cuts=(new,)).wire == "new"


@pytest.mark.parametrize("text", ["", "Go.", 'quotes " and \\ and \n and é and \u2028', "x\n" * 500])
def test_size_is_the_length_as_json(text):
    """With whatever keys stand beside."""
    message = {"role": "user", "content": text, "x_key": {"b": [1]}}
    assert FMT.read(0, message, 0).size == len(json.dumps(message, ensure_ascii=False))


def test_a_cut_leaves_tags_balanced():
    """Of the call's content, and of each result by itself."""
    call = f'<tool_use>{{"name": "code_run", "code": "{"<think>" * 300}"}}</tool_use>'
    long = f"{'x' * 9_000}<thinking>{'y' * 9_000}</thinking>"
    result = f"<tool_result>{long}</tool_result><tool_result>{'z' * 9_000}</tool_result>"
    raw = [ASK, says(call), hears(result), *[says("Yes."), ASK] * 6]
    view = ContextSession(PLAIN).prepare(raw)
    assert text_faults(raw, view) == []
    assert view[2]["content"].count("<tool_result>") == view[2]["content"].count("</tool_result>") == 2


def test_no_result_without_its_call():
    """Evicted together."""
    raw = [ASK]
    for n in range(40):
        raw += [says(f"Step {n}. {CALL}"), hears(f"<tool_result>{n} {'x' * 300}</tool_result>")]
    view = ContextSession(PLAIN | {"budget": {"chars": 6_000}}).prepare(raw)
    assert view[0] is ASK
    assert view[1:] == raw[len(raw) - len(view) + 1 :]
    assert view[1]["role"] == "assistant"
    assert faults(view, "text") == []


def test_consecutive_roles_stay():
    """The format demands no turns."""
    raw = [ASK, ASK, says("Yes."), says("No."), {"role": "system", "content": "Rule."}]
    assert ContextSession(format="text").prepare(raw) == raw


def test_the_message_behind_a_call_is_no_request():
    """It is the result; the request is what the user said before."""
    raw = [hears("Sort the photos."), says(CALL), hears("plain output " * 20), *[says(CALL), hears("x" * 900)] * 20]
    view = ContextSession(PLAIN | {"budget": {"chars": 5_000}}).prepare(raw)
    assert view[0] is raw[0]
    assert raw[2] not in view
