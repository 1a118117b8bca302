"""Tool definitions beside a text list: in full when they are due, a line that reminds of them in between (spec 4.5)."""

import json

import pytest
from histories import configs, histories, splits
from hypothesis import given
from hypothesis import strategies as st

from ga_context import ContextSession

READ = {
    "name": "file_read",
    "description": "Read a text file, from a line on, and return it with the numbers of its lines.",
    "input_schema": {
        "type": "object",
        "properties": {"path": {"type": "string"}, "start": {"type": "integer"}},
        "required": ["path"],
    },
}
RUN = {"type": "function", "function": {"name": "code_run", "description": "Run Python.", "parameters": {}}}
TOOLS = [READ]
LINE = "[tool definitions unchanged: file_read(path, start?); a call has the same form as before]"
ASK = {"role": "user", "content": "Go."}
CALL = '<tool_use>{"name": "file_read", "arguments": {"path": "a.py"}}</tool_use>'


def history(turns, said=CALL, chars=10):
    """Return a request and rounds of a call and its result."""
    said = {"role": "assistant", "content": said}
    line = "a line of output\n"
    return [ASK, *[said, {"role": "user", "content": line * (chars // len(line))}] * turns]


def shown(session, raw, tools=TOOLS):
    """Return what each turn shows for the tools."""
    out = []
    for end in range(1, len(raw) + 1, 2):
        session.prepare(raw[:end], tools=tools)
        out.append(session.request()["tools"])
    return out


def full_turns(raw, tools=TOOLS, **text):
    """Return the turns that show the tools in full."""
    session = ContextSession({"formats": {"text": text}}, format="text")
    return [turn for turn, now in enumerate(shown(session, raw, tools), 1) if now is tools]


def test_a_line_stands_in_for_what_has_not_changed():
    """In full they are what was handed over; the line names the tools and their parameters."""
    session = ContextSession(format="text")
    assert shown(session, history(2)) == [TOOLS, LINE, LINE]
    view = session.prepare(history(2), system="Rules.", tools=TOOLS)
    assert session.request() == {"messages": view, "system": "Rules.", "tools": LINE}


@pytest.mark.parametrize(
    ("text", "turns"),
    [
        ({}, [1, 11, 21]),
        ({"schema_every_turns": 4}, [1, 5, 9, 13, 17, 21, 25]),
        ({"schema_every_turns": 1}, list(range(1, 26))),
        ({"schema_every_turns": None}, [1]),
        ({"schema_every_turns": "never", "schema_every_chars": 3_000}, [1, 9, 15, 20, 25]),
    ],
)
def test_the_full_text_comes_back_every_ten_turns(text, turns):
    """Or as the configuration says; a round is about 140 characters, and its anchor grows."""
    assert full_turns(history(24, "Well. " + CALL), **text) == turns


@pytest.mark.parametrize(("chars", "turns"), [(8_000, [1, 5, 9]), (9_000, [1, 4, 7]), (60_000, [1, 3, 5, 7, 9])])
def test_the_full_text_comes_back_after_27_000_characters(chars, turns):
    """As they are sent: a result that was cut to 20,000 counts as that."""
    assert full_turns(history(8, chars=chars)) == turns


@pytest.mark.parametrize(
    "said",
    [
        '<tool_use>{"name": "file_read", "arguments": {"path": a.py}}</tool_use>',
        '<tool_use>{"name": "file_read", "arguments": {"path": "a.py"}}',
        '{"name": "file_read", "arguments": {"path": "a.py"}}</tool_call>',
        '<tool_call>{"name": "file_rad", "arguments": {"path": "a.py"}}</tool_call>',
        '<tool_call>{"arguments": {"path": "a.py"}}</tool_call>',
        '<tool_call>["file_read", "a.py"]</tool_call>',
        "<tool_use></tool_use>",
        CALL + " and <tool_use>file_read a.py</tool_use>",
    ],
)
@pytest.mark.parametrize("tools", [TOOLS, json.dumps(TOOLS)])
def test_after_a_call_that_cannot_be_run(said, tools):
    """Not JSON, not closed, of no known tool or of none: the turn after it shows the definitions, the next does not."""
    raw = [*history(1), *history(1, said)[1:], *history(2)[1:]]
    assert full_turns(raw, tools) == [1, 3]


@pytest.mark.parametrize(
    "said",
    [
        "Done.",
        "A call is written `<tool_use>` and closed `</tool_use>`.",
        f"So:\n```\n{CALL}\n```",
        '<tool_call>{"tool": "file_read", "input": {"path": "a.py"}}</tool_call>',
        "<thinking>unclosed",
    ],
)
def test_what_is_no_malformed_call(said):
    """Prose, talk about a tag, a call in a fence, other spellings, other tags."""
    assert full_turns(history(3, said)) == [1]


def test_a_users_tags_are_no_calls():
    """Only what the model says counts."""
    raw = [ASK, {"role": "assistant", "content": CALL}, {"role": "user", "content": "<tool_use>{"}, *history(1)[1:]]
    assert full_turns(raw) == [1]


def test_any_name_is_known_where_none_can_be_read():
    """Definitions in prose tell no names."""
    prose = "file_read(path): read a file. code_run(code): run Python. " * 3
    session = ContextSession(format="text")
    line = "[tool definitions unchanged; a call has the same form as before]"
    assert shown(session, history(2), prose) == [prose, line, line]


@pytest.mark.parametrize("tools", [[READ, RUN], json.dumps([READ, RUN])])
def test_every_usual_form_is_read(tools):
    """Of Anthropic, of OpenAI, as JSON text."""
    line = "[tool definitions unchanged: file_read(path, start?), code_run(); a call has the same form as before]"
    assert shown(ContextSession(format="text"), history(1), tools) == [tools, line]


def test_a_name_does_not_break_the_line():
    """Whatever stands in a definition."""
    odd = [{"name": "a\nb\u2028", "description": "x" * 100}]
    _, line = shown(ContextSession(format="text"), history(1, "Well."), odd)
    assert line == "[tool definitions unchanged: a b (); a call has the same form as before]"


def test_a_line_that_would_not_be_shorter_is_not_used():
    """Short definitions stay."""
    assert full_turns(history(3), "file_read(path)") == [1, 2, 3, 4]


def test_a_change_brings_the_new_ones_in_full():
    """Also one to none and back, and one in place; an equal list is no change."""
    session, raw = ContextSession(format="text"), history(9)
    grown = [READ]
    told = []
    for turn, tools in enumerate([TOOLS, [dict(READ)], [READ, RUN], grown, grown, grown, None, grown, grown]):
        if turn == 5:
            grown.append(RUN)
        session.prepare(raw[: 2 * turn + 1], tools=tools)
        told.append(session.request()["tools"])
    line = "[tool definitions unchanged: file_read(path, start?), code_run(); a call has the same form as before]"
    assert told == [TOOLS, LINE, [READ, RUN], grown, LINE, grown, None, grown, line]


def test_a_change_within_the_turn():
    """The list is prepared again with other tools of the same length: they come out, and the view stays."""
    session, other = (
        ContextSession(format="text"),
        [{**READ, "input_schema": {**READ["input_schema"], "required": ["step"]}}],
    )
    shown(session, history(1))
    view = session.prepare(history(1), tools=other)
    assert session.request()["tools"] is other
    assert session.prepare(history(1), tools=other) == view
    assert session.request()["tools"] is other
    session.prepare(history(2), tools=other)
    assert session.request()["tools"].startswith("[tool definitions unchanged: file_read(path?, start?);")


def test_the_same_again_in_the_same_turn():
    """A second prepare, one after a refusal, one with new notes: the turn shows what it showed."""
    session, raw = ContextSession(format="text"), history(12)
    for turn in range(1, 13):
        (told,) = shown(session, raw[: 2 * turn - 1])[-1:]
        session.prepare(raw[: 2 * turn - 1], tools=TOOLS, shrink=0.9)
        assert session.request()["tools"] == told
        session.update_key_info(f"note {turn}")
        session.prepare(raw[: 2 * turn - 1], tools=TOOLS)
        assert session.request()["tools"] == told


@pytest.mark.parametrize("format", ["anthropic", "openai-chat"])
def test_never_for_a_native_api(format):
    """It takes the definitions with each request."""
    raw = [ASK, {"role": "assistant", "content": "Yes."}] * 15
    session = ContextSession(format=format)
    for end in range(1, 31):
        session.prepare(raw[:end], tools=TOOLS)
        assert session.request()["tools"] is TOOLS


def test_the_messages_are_the_same_with_and_without():
    """Shown in full or not, the definitions stand beside the list and leave its budget as it is."""
    raw = history(24, chars=400)
    views = []
    for every in (1, None):
        session = ContextSession({"formats": {"text": {"schema_every_turns": every}}}, format="text")
        views.append([session.prepare(raw[:end], tools=TOOLS) for end in range(1, len(raw) + 1, 2)])
        assert {report.budget_chars for report in session.reports} == {90_000 - len(json.dumps(TOOLS))}
        assert {report.break_cause for report in session.reports} <= {None, "pass"}
    assert views[0] == views[1]


@given(data=st.data())
def test_a_rollback_and_a_reload_keep_the_count(data):
    """The turns after them show what they showed the first time."""
    parts, config = data.draw(splits(data.draw(histories("text")), "text")), data.draw(configs())
    config["formats"] = {"text": {"schema_every_turns": 3, "schema_every_chars": 4_000}}
    session = ContextSession(config, format="text")
    straight = []
    for raw in parts:
        session.prepare(raw, tools=TOOLS)
        straight.append(session.request()["tools"])
    at = data.draw(st.integers(0, len(parts) - 1))
    session.prepare(parts[at], tools=TOOLS)
    loaded = ContextSession.load(session.dump())
    for one in (session, loaded):
        again = []
        for raw in parts[at:]:
            one.prepare(raw, tools=TOOLS)
            again.append(one.request()["tools"])
        assert again == straight[at:]
