"""Markers of ours: four at most, never on what may not carry one, and nothing but markers is different with them."""

import copy
import json
from typing import Any

import pytest
from histories import after, configs, histories, operations, splits
from hypothesis import given
from hypothesis import strategies as st
from oracle import faults
from test_promises import exchanges

import ga_context as ga
from ga_context.cache.render import Renderer
from ga_context.formats import make

FORMATS = ("anthropic", "bedrock")
formats = pytest.mark.parametrize("format", FORMATS)
Message = dict[str, Any]
TOOLS = {"anthropic": [{"name": "x", "input_schema": {}}], "bedrock": [{"toolSpec": {"name": "x"}}]}
SYSTEM = {"anthropic": "Be brief.", "bedrock": [{"text": "Be brief."}]}


def markers(value: Any) -> list[Any]:
    """Return every marker anywhere in data, in order."""
    if isinstance(value, dict):
        own = [value[key] for key in ("cache_control", "cachePoint") if value.get(key)]
        return own + [mark for key, inner in value.items() if key not in ("cache_control", "cachePoint")
                      for mark in markers(inner)]  # fmt: skip
    return [mark for item in value for mark in markers(item)] if isinstance(value, list | tuple) else []


def bare(message: Message) -> Message:
    """Return a message without markers, and a text alone as a list of it."""
    content = message["content"]
    items = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return {**message, "content": [unmarked(item) for item in items if "cachePoint" not in item]}


def unmarked(item: Any) -> Any:
    return {key: value for key, value in item.items() if key != "cache_control"} if isinstance(item, dict) else item


@st.composite
def sessions(draw: st.DrawFn, format: str) -> tuple[list[list[Message]], dict[str, Any]]:
    """Draw the prefixes of a nasty history and a configuration in which every stage works."""
    return draw(splits(draw(histories(format)), format))[-8:], draw(configs())


@formats
@given(data=st.data())
def test_a_view_with_markers_is_the_view_and_markers(format: str, data: st.DataObject) -> None:
    """It is valid, nothing else is in it, an unmarked message is the same object, and the report is the same."""
    parts, config = data.draw(sessions(format))
    plain, marking = ga.ContextSession(config, format=format), ga.ContextSession(config, format=format)
    for raw in parts:
        before = copy.deepcopy(raw)
        without = plain.prepare(raw)
        view = marking.prepare(raw, cache_control=True)
        assert raw == before
        assert faults(view, format) == []
        assert len(markers(view)) <= 4
        assert marking.report == plain.report
        for message, other in zip(view, without, strict=True):
            if markers(message) == markers(other):
                assert message == other
            else:
                assert bare(message) == bare(other)
        callers = [mark for message in without for mark in markers(message)]
        kept = [mark for message in view for mark in markers(message)]
        assert [mark for mark in callers if mark not in kept] == []
        again = marking.prepare(raw, cache_control=True)
        assert all(a is b for a, b in zip(again, view, strict=True))


@formats
@given(data=st.data())
def test_a_view_fed_back_is_that_view(format: str, data: st.DataObject) -> None:
    """By its objects, as equal dicts, and in a session that was loaded: our markers are no change by the caller."""
    parts, config = data.draw(sessions(format))
    session = ga.ContextSession(config, format=format)
    view: list[Message] = []
    for raw in parts:
        view = session.prepare(raw, cache_control=True)
    count = len(session.reports)
    for given_again in (list(view), copy.deepcopy(view)):
        assert session.prepare(given_again, cache_control=True) == view
    assert len(session.reports) == count
    loaded = ga.ContextSession.load(session.dump())
    again = loaded.prepare(copy.deepcopy(view), cache_control=True)
    assert [bare(message) for message in again] == [bare(message) for message in view]
    assert loaded.report is None or loaded.report.break_cause is None


@formats
@given(data=st.data())
def test_operations_in_any_order(format: str, data: st.DataObject) -> None:
    """Rollbacks, changes, rebuilt dicts, views fed back, reloads: valid, and the reports of a plain session."""
    rest = data.draw(histories(format))
    config = data.draw(configs())
    marking, plain = (ga.ContextSession(config, format=format) for _ in range(2))
    raw: list[Message] = []
    other: list[Message] = []
    other_rest, view, other_view = list(rest), [], []
    for operation in data.draw(operations(format)):
        kind, *values = operation
        raw, rest = after(operation, raw, rest, view, format)
        other, other_rest = after(operation, other, other_rest, other_view, format)
        if kind == "reload":
            marking, plain = (ga.ContextSession.load(one.dump()) for one in (marking, plain))
        shrink = values[0] if kind == "shrink" else None
        view = marking.prepare(raw, cache_control=True, shrink=shrink)
        other_view = plain.prepare(other, shrink=shrink)
        assert faults(view, format) == []
        if kind == "change":  # what was changed in a list with our markers may be their message, and they are its own
            break
        assert marking.report == plain.report
        assert [bare(message) for message in view] == [bare(message) for message in other_view]


@formats
def test_a_loop_that_goes_on_with_the_view(format: str) -> None:
    """The same views as one that keeps its raw list, none with more than four markers, no break by the caller."""
    config = {"budget": {"chars": 12_000}}
    keeping, going_on = (ga.ContextSession(config, format=format) for _ in range(2))
    raw = exchanges([700] * 25, format)
    mine: list[Message] = []
    for end in range(1, len(raw) + 1, 2):
        mine = going_on.prepare([*mine, *copy.deepcopy(raw[max(0, end - 2) : end])], cache_control=True)
        assert mine == keeping.prepare(raw[:end], cache_control=True)
        assert len(markers(mine)) in (1, 2, 3, 4)
    assert {report.break_cause for report in going_on.reports} == {None, "pass"}


@formats
def test_where_they_stand(format: str) -> None:
    """At the newest message and the frontier; on the turn of a pass at the frontier before too, which still holds."""
    session = ga.ContextSession({"budget": {"chars": 100_000}, "anchor": {"placement": "off"}}, format=format)
    raw = exchanges([2_000] * 20, format)
    stood = {}
    for end in range(1, len(raw) + 1, 2):
        view = session.prepare(raw[:end], cache_control=True, system=SYSTEM[format], tools=TOOLS[format])
        stood[session.report.turn] = [i for i, message in enumerate(view) if markers(message)]
        assert len(markers(session.request()["system"])) == 1
        assert session.request()["messages"] == view
        assert session.request()["tools"] is TOOLS[format]
    passes = [report.turn for report in session.reports if report.compacted]
    assert passes == [10, 15, 20]
    assert [stood[turn] for turn in (1, 2, 9)] == [[0], [0, 2], [0, 16]]
    assert [stood[turn] for turn in (10, 11, 14)] == [[0, 8, 18], [0, 8, 20], [0, 8, 26]]
    assert [stood[turn] for turn in (15, 16, 20)] == [[8, 18, 28], [0, 18, 30], [18, 28, 38]]


def test_before_an_ephemeral_anchor() -> None:
    """What is gone next turn is not cached; an anchor that stays is."""
    for lifetime, marked in (("ephemeral", [True, False]), ("persistent", [False, True])):
        session = ga.ContextSession({"anchor": {"lifetime": lifetime}}, format="anthropic")
        newest = session.prepare(exchanges([100] * 3, "anthropic"), cache_control=True)[-1]["content"]
        assert newest[1]["text"].startswith("[working memory")
        assert [bool(markers(block)) for block in newest] == marked


@pytest.mark.parametrize(
    ("format", "item", "may"),
    [
        ("anthropic", {"type": "thinking", "thinking": "hm", "signature": "s"}, False),
        ("anthropic", {"type": "redacted_thinking", "data": "x"}, False),
        ("anthropic", {"type": "text", "text": " "}, False),
        ("anthropic", {"type": "tool_result", "tool_use_id": "a"}, True),
        ("anthropic", "Go.", True),
        ("anthropic", "", False),
        ("bedrock", {"reasoningContent": {"reasoningText": {"text": "hm"}}}, False),
        ("bedrock", {"text": ""}, False),
        ("bedrock", {"cachePoint": {"type": "default"}}, False),
        ("bedrock", {"toolUse": {"toolUseId": "a", "name": "x", "input": {}}}, True),
    ],
)
def test_never_on_reasoning_nor_on_blank_text(format: str, item: Any, may: bool) -> None:
    assert make(format, ga.ContextConfig().charges).may_mark(item) is may


@formats
def test_the_callers_markers_are_counted_and_kept(format: str) -> None:
    """In the messages, in system and in tools; with four of them none of ours has room."""
    mark = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
    point = {"cachePoint": {"type": "default", "ttl": "1h"}}
    raw = exchanges([100] * 8, format)
    if format == "anthropic":
        raw[0] = {"role": "user", "content": [{"type": "text", "text": "Go.", **mark}]}
        system = [{"type": "text", "text": "Be brief.", **mark}]
    else:
        raw[0] = {"role": "user", "content": [{"text": "Go."}, point]}
        system = [{"text": "Be brief."}, point]
    session = ga.ContextSession(format=format)
    view = session.prepare(raw, cache_control=True, system=system)
    assert view[0] is raw[0]
    assert session.request()["system"] is system
    assert len(markers(view)) == 3  # the caller's, the frontier, the newest; and that of the system prompt
    assert markers(view[-1])[0].get("ttl") is None
    full = ga.ContextSession({"cache": {"max_markers": 2}}, format=format)
    assert markers(full.prepare(raw, cache_control=True, system=system)) == markers(raw)


@formats
def test_above_four_the_oldest_leave_the_view(format: str) -> None:
    """Those of system and tools counted; it is reported."""
    raw = exchanges([100] * 4, format)
    for index in (2, 4, 6, 8):
        if format == "anthropic":
            raw[index]["content"][0]["cache_control"] = {"type": "ephemeral"}
        else:
            raw[index]["content"].append({"cachePoint": {"type": "default"}})
    beside = {"anthropic": [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}]}
    beside["bedrock"] = [{"text": "x"}, {"cachePoint": {"type": "default"}}]
    session = ga.ContextSession({"anchor": {"placement": "off"}}, format=format)
    view = session.prepare(raw, system=beside[format], cache_control=True)
    assert [i for i, message in enumerate(view) if markers(message)] == [4, 6, 8]
    assert [action.reason for action in session.report.repairs] == ["more than 4 cache markers"]


def test_an_hour_stands_before_five_minutes() -> None:
    """Ours before a caller's marker of an hour lives an hour, which costs nothing more; ours behind it five minutes."""
    raw = exchanges([100] * 8, "anthropic")
    raw[8]["content"][0]["cache_control"] = {"type": "ephemeral", "ttl": "1h"}
    session = ga.ContextSession(format="anthropic")
    view = session.prepare(raw, cache_control=True, system="Be brief.")
    ttls = [mark.get("ttl", "5m") for mark in markers([session.request()["system"], view])]
    assert ttls == ["1h", "1h", "1h", "5m"]


def test_the_time_to_live_that_is_set() -> None:
    session = ga.ContextSession({"cache": {"ttl": "1h"}}, format="bedrock")
    view = session.prepare(exchanges([100] * 3, "bedrock"), cache_control=True)
    assert {mark["ttl"] for mark in markers(view)} == {"1h"}


@pytest.mark.parametrize("format", ["openai-chat", "openai-responses", "gemini", "text"])
def test_other_formats_have_the_same_messages_with_it(format: str) -> None:
    raw = exchanges([100] * 3, format)
    view = ga.ContextSession(format=format).prepare(raw)
    assert ga.ContextSession(format=format).prepare(raw, cache_control=True) == view


def test_openai_gets_a_key_that_stays() -> None:
    """Of the system prompt and the first request: another session has another."""
    raw = exchanges([100] * 3, "openai-chat")
    session = ga.ContextSession(format="openai-chat")
    keys = []
    for end in (1, 3, 7):
        session.prepare(raw[:end], system="Be brief.", cache_control=True)
        keys.append(session.request()["prompt_cache_key"])
    assert keys == ["ga-" + keys[0][3:]] * 3
    assert len(keys[0]) == 35
    other = ga.ContextSession(format="openai-chat")
    other.prepare([{"role": "user", "content": "Another."}], system="Be brief.", cache_control=True)
    assert other.request()["prompt_cache_key"] != keys[0]
    session.prepare(raw, system="Be brief.")
    assert "prompt_cache_key" not in session.request()


@formats
def test_a_prompt_is_the_same_with_markers(format: str) -> None:
    """As segments: a marker is no text, and a text alone is a list of it."""
    raw = exchanges([100] * 5, format)
    fmt = make(format, ga.ContextConfig().charges)
    view = ga.ContextSession(format=format).prepare(raw, cache_control=True)
    with_markers, without = (Renderer(fmt).prompt(messages) for messages in (view, raw[:-1]))
    assert [s.text for s in with_markers][: len(without)] == [s.text for s in without]
    assert [s.ttl for s in with_markers].count("5m") == len(markers(view)) > 0
    assert json.dumps(raw)
