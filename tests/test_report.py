"""What one ``prepare`` did: sizes, the break of the prefix and its one cause, every cut with its reason."""

import json
from itertools import pairwise

import pytest
from histories import Call, Turn, ends, write

from ga_context import Action, ContextSession, Report, size

FORMATS = ["anthropic", "openai-chat", "openai-responses", "gemini", "bedrock", "text"]
PLAIN = {"anchor": {"placement": "off"}}
ASK = Turn("user", ("Do it.",))
ROUND = Turn("model", (), (Call("code_run", output="x" * 900, named=False),))
GO = {"role": "user", "content": "Go."}
YES = {"role": "assistant", "content": "Yes."}


@pytest.mark.parametrize("format", FORMATS)
def test_sizes(format):
    """C_H of the raw list, before stages 2 to 4, of the view; and B."""
    session = ContextSession({"budget": {"chars": 9_000}}, format=format)
    raw = write(format, [ASK, *[ROUND] * 20])
    for end in ends(raw):
        before, view = session.request()["messages"], session.prepare(raw[:end])
        report = session.report
        assert report.chars_raw == size(raw[:end])
        assert report.chars_before == size(before) + size(raw[max(0, end - 2) : end] if end > 1 else raw[:1])
        assert report.chars_after == size(view)
        assert report.budget_chars == 9_000
    assert [report.turn for report in session.reports] == list(range(1, 22))
    assert session.reports[-1] is session.report


@pytest.mark.parametrize("format", FORMATS)
def test_chars_before_counts_stage_one(format):
    """After the truncation of what is new."""
    raw = write(format, [ASK, Turn("model", (), (Call("code_run", output="x" * 20_000, named=False),))])
    session = ContextSession(PLAIN, format=format)
    view = session.prepare(raw)
    assert session.report.chars_raw == size(raw) > 20_000
    assert session.report.chars_before == session.report.chars_after == size(view) < 10_500


def test_nothing_before():
    """No session has a report before its first turn; the first one has nothing to compare."""
    session = ContextSession()
    assert (session.report, session.reports) == (None, [])
    session.prepare([GO])
    chars = len('{"role": "user", "content": "Go."}')
    assert session.report == Report(1, chars, chars, chars, 90_000)
    assert (session.report.first_changed, session.report.break_cause, session.report.cached_share) == (None, None, None)


# The prefix


@pytest.mark.parametrize("format", FORMATS)
def test_cause_pass(format):
    """The first message that the pass changed, and the first character of it."""
    session, raw = ContextSession(PLAIN, format=format), write(format, [ASK, *[ROUND] * 12])
    for end in ends(raw)[:10]:
        session.prepare(raw[:end])
    report = session.report
    assert (report.break_cause, report.first_changed, report.compacted) == ("pass", 2, True)
    before, after = (json.dumps(message, ensure_ascii=False) for message in (raw[2], session.request()["messages"][2]))
    assert before[: report.first_changed_char] == after[: report.first_changed_char]
    assert before[report.first_changed_char] != after[report.first_changed_char]


@pytest.mark.parametrize("format", FORMATS)
def test_cause_eviction(format):
    """The first message behind the request is another one."""
    config = PLAIN | {"budget": {"chars": 6_000}, "compact": {"interval": None, "window_chars": 1_000}}
    session, raw = ContextSession(config, format=format), write(format, [ASK, *[ROUND] * 6])
    for end in ends(raw):
        session.prepare(raw[:end])
        if session.report.evicted:
            break
    assert (session.report.break_cause, session.report.first_changed) == ("eviction", 1)
    assert session.report.evicted[0] == 1


def test_cause_shrink():
    """Whatever it took to get there."""
    session, raw = ContextSession(PLAIN | {"budget": {"chars": 9_000}}), write("anthropic", [ASK, *[ROUND] * 6])
    session.prepare(raw)
    session.prepare(raw, shrink=0.4)
    assert session.report.break_cause == "shrink"


def test_cause_repair():
    """A late result takes the place of its placeholder."""
    call = {"id": "a", "type": "function", "function": {"name": "code_run", "arguments": "{}"}}
    raw = [GO, {"role": "assistant", "content": None, "tool_calls": [call]}, GO]
    session = ContextSession(PLAIN)
    session.prepare(raw)
    session.prepare([*raw, {"role": "tool", "tool_call_id": "a", "content": "late"}])
    assert (session.report.break_cause, session.report.first_changed) == ("repair", 2)


@pytest.mark.parametrize("message", [GO, YES])
def test_cause_merge(message):
    """A message that was sent gets a new neighbour of its role."""
    session = ContextSession(format="anthropic")
    raw = [GO, YES, GO][: 1 if message is GO else 2]
    session.prepare(raw)
    session.prepare([*raw, message])
    assert (session.report.break_cause, session.report.first_changed) == ("merge", len(raw) - 1)


def test_cause_caller():
    """A rollback and a change alike; the place is where the previous view stopped being the start."""
    session = ContextSession()
    session.prepare([GO, YES, GO, YES])
    session.prepare([GO, YES])
    assert (session.report.break_cause, session.report.first_changed) == ("caller", 2)
    session.prepare([GO, {"role": "assistant", "content": "Yea."}, GO])
    assert (session.report.break_cause, session.report.first_changed) == ("caller", 1)
    assert session.report.first_changed_char == len('{"role": "assistant", "content": "Ye')


def test_cause_config():
    """key_info is another, and nothing else is."""
    session, raw = ContextSession(format="openai-chat"), write("openai-chat", [ASK, ROUND])
    session.prepare(raw)
    session.update_key_info("port 8080")
    session.prepare(raw)
    assert (session.report.break_cause, session.report.first_changed) == ("config", 3)


@pytest.mark.parametrize("format", FORMATS)
def test_no_break(format):
    """The view before is the start of this one: no message, no character, no cause."""
    session, raw = ContextSession(format=format), write(format, [ASK, *[ROUND] * 3])
    for end in ends(raw):
        session.prepare(raw[:end])
    found = [(report.first_changed, report.first_changed_char, report.break_cause) for report in session.reports]
    assert found == [(None, None, None)] * 4


def test_cached_share():
    """Characters in messages that both views begin with, of all characters."""
    session = ContextSession()
    session.prepare([GO])
    session.prepare([GO, YES, GO])
    assert session.report.cached_share == round(size([GO]) / size([GO, YES, GO]), 4)
    session.prepare([YES])
    assert session.report.cached_share == 0.0


# Actions


@pytest.mark.parametrize("format", FORMATS)
def test_ordinals_count_raw_messages_over_the_session(format):
    """Though the loop goes on with the view, which has fewer messages, and ours among them."""
    session, given, seen = ContextSession({"budget": {"chars": 9_000}}, format=format), [], 0
    last = Turn("model", (), (Call("code_run", output="z" * 20_000, named=False),))
    raw = write(format, [ASK, *[ROUND] * 39, last])
    for end in ends(raw):
        given = session.prepare([*given, *raw[seen:end]])
        seen = end
    assert [action.message for action in session.report.actions if action.stage == "truncate"] == [80]
    evicted = [report.evicted for report in session.reports if report.evicted]
    assert evicted[0][0] == 1
    assert [b[0] == a[1] + 1 for a, b in pairwise(evicted)] == [True] * (len(evicted) - 1)


def test_pending():
    """Calls whose results are still to come."""
    use = {"type": "tool_use", "id": "a", "name": "code_run", "input": {}}
    session = ContextSession()
    session.prepare([GO, {"role": "assistant", "content": [use, {**use, "id": "b"}]}])
    assert session.report.pending == ["a", "b"]


def test_repairs_are_among_the_actions():
    """Those of the stage repair."""
    session = ContextSession()
    session.prepare([GO, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "1"}]}])
    assert session.report.repairs == [action for action in session.report.actions if action.stage == "repair"] != []


def test_to_dict_is_plain_data():
    """For JSON; the same names as the attributes."""
    session = ContextSession({"budget": {"chars": 9_000}}, format="openai-chat")
    session.prepare(write("openai-chat", [ASK, *[ROUND] * 30]))
    plain = json.loads(json.dumps(session.report.to_dict()))
    assert plain["evicted"] == list(session.report.evicted)
    assert plain["actions"][0]["stage"] == session.report.actions[0].stage
    assert {*plain} == {
        *("turn", "chars_raw", "chars_before", "chars_after", "budget_chars", "compacted", "evicted", "first_changed"),
        *("first_changed_char", "break_cause", "cached_share", "pending", "repairs", "actions"),
        *("payload_bytes", "payload_chars", "body_bytes", "archive_error", "prompt_tokens", "estimate_error"),
    }


def test_one_line_an_action():
    """Behind a line of its own for the turn."""
    action = Action("truncate", "over the limit of code_run", 2, None, "0", 4_967, 7_032, 12_000, 9_999, "0" * 16)
    ranged = Action("evict", "the oldest go first", 1, 62, chars_before=18_000)
    report = Report(3, 30_000, 28_000, 9_999, 90_000, first_changed=1, break_cause="eviction", actions=[action, ranged])
    assert str(report).split("\n") == [
        "turn 3: 30,000 chars raw, 28,000 -> 9,999 of 90,000; prefix changed at message 1 (eviction)",
        f"  truncate: message 2 part 0 [4,967:7,032], 12,000 -> 9,999 chars: over the limit of code_run ref {'0' * 16}",
        "  evict: message 1 to 62, 18,000 -> 0 chars: the oldest go first",
    ]


@pytest.mark.parametrize("format", FORMATS)
def test_everything_that_is_gone_can_be_had_back(format):
    """Each action that took something away has a reference that is known."""
    session, raw = ContextSession({"budget": {"chars": 9_000}}, format=format), write(format, [ASK, *[ROUND] * 40])
    for end in ends(raw):
        session.prepare(raw[:end])
    taken = [action for report in session.reports for action in report.actions if action.stage in ("compact", "evict")]
    assert len(taken) > 10
    assert [bool(session.recall(action.ref)) for action in taken] == [True] * len(taken)
