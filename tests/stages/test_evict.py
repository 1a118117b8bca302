"""Stage 3: over the budget, whole exchanges go, the oldest first, no more than must; what is mandatory stays."""

import json
from itertools import pairwise

import pytest
from histories import Call, Turn, ends, write
from oracle import faults

from ga_context import BudgetExceeded, ContextSession, size
from ga_context.pipeline import STAGES
from ga_context.stages.evict import KEPT_SHARE

FORMATS = ["anthropic", "openai-chat", "openai-responses", "gemini", "bedrock", "text"]
ASK = Turn("user", ("Do it.",))
ROUND = Turn("model", (), (Call("code_run", output="x" * 400, named=False),))


def settings(chars, *, anchor="off", **budget):
    """Return a configuration with a budget of so many characters."""
    return {"budget": {"chars": chars, **budget}, "anchor": {"placement": anchor}}


def turn_by_turn(session, raw):
    """Prepare before each model message, and at the end; return the reports."""
    for end in ends(raw):
        session.prepare(raw[:end])
    return session.reports


@pytest.mark.parametrize("format", FORMATS)
def test_the_oldest_exchanges_go_and_no_more_than_must(format):
    """Down to 0.6 B; one exchange more would not fit. The request is the newest one and stays in its place."""
    raw = write(format, [ASK, *[ROUND] * 40])
    view = ContextSession(settings(10_000), format=format).prepare(raw)
    gone = next(k for k in range(40) if size([raw[0], *raw[1 + 2 * k :]]) <= 6_000)
    assert view == [raw[0], *raw[1 + 2 * gone :]]
    assert size([raw[0], *raw[1 + 2 * (gone - 1) :]]) > 6_000


@pytest.mark.parametrize("format", FORMATS)
def test_what_was_evicted_is_in_the_report(format):
    """One ranged action for the run, with the reference to its messages."""
    raw = write(format, [ASK, *[ROUND] * 40])
    session = ContextSession(settings(10_000), format=format)
    view = session.prepare(raw)
    last = 41 * 2 - 1 - len(view)
    assert session.report.evicted == (1, last)
    (action,) = session.report.actions
    assert (action.stage, action.message, action.last, action.chars_after) == ("evict", 1, last, 0)
    assert json.loads(session.recall(action.ref)) == raw[1 : last + 1]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("anchor", ["off", "user_message", "tool_result"])
def test_turn_by_turn_within_the_budget(format, anchor):
    """Never over, the anchor included; each eviction takes no more than it must."""
    session = ContextSession(settings(10_000, anchor=anchor), format=format)
    reports = turn_by_turn(session, write(format, [ASK, *[ROUND] * 60]))
    assert [report.chars_after <= 10_000 for report in reports] == [True] * 61
    evictions = [report for report in reports if report.evicted]
    assert len(evictions) >= 4
    assert [4_900 < report.chars_after <= 6_000 for report in evictions] == [True] * len(evictions)


@pytest.mark.parametrize("format", FORMATS)
def test_the_only_user_request_is_never_evicted(format):
    """What users suffered from: after 60 rounds over a small budget it is in every view, word by word."""
    session = ContextSession(settings(6_000, anchor="user_message"), format=format)
    raw = write(format, [Turn("user", ("Sort the photos by year.",)), *[ROUND] * 60])
    for end in range(1, len(raw) + 1, 2):
        view = session.prepare(raw[:end])
        assert "Sort the photos by year." in json.dumps(view[0])
        assert faults(view, format) == []


@pytest.mark.parametrize("format", FORMATS)
def test_never_over_the_budget_without_notice(format):
    """What users suffered from: a request larger than the budget is raised, with the smallest valid view."""
    session = ContextSession(settings(1_500), format=format)
    raw = write(format, [Turn("user", ("word " * 400,)), ROUND])
    with pytest.raises(BudgetExceeded, match="the budget is 1,500") as caught:
        session.prepare(raw)
    assert faults(caught.value.view, format) == []
    assert caught.value.report is session.report
    assert caught.value.report.chars_after == size(caught.value.view) > 1_500
    assert caught.value.items[0][1] == size(caught.value.view[:1])


@pytest.mark.parametrize("format", FORMATS)
def test_over_the_budget_can_be_reported(format):
    """``on_exceeded`` "report": the same view comes back, and the report tells."""
    raw = write(format, [Turn("user", ("word " * 400,)), ROUND])
    session = ContextSession(settings(1_500, on_exceeded="report"), format=format)
    view = session.prepare(raw)
    with pytest.raises(BudgetExceeded) as caught:
        ContextSession(settings(1_500), format=format).prepare(raw)
    assert view == caught.value.view
    assert session.report.chars_after > session.report.budget_chars


@pytest.mark.parametrize("format", FORMATS)
def test_the_newest_five_messages_stay(format):
    """Though that is over 0.6 B; rounded so that no exchange is torn, that is three exchanges."""
    raw = write(format, [ASK, *[Turn("model", (), (Call(output="x" * 1_000, named=False),))] * 9])
    view = ContextSession(settings(4_500), format=format).prepare(raw)
    assert len(view) == 7
    assert 2_700 < size(view) <= 4_500
    assert size(view[:1]) + size(view[5:]) < 2_700


@pytest.mark.parametrize("format", FORMATS)
def test_min_messages_can_be_set(format):
    """1: the newest message, and so its exchange."""
    raw = write(format, [ASK, *[Turn("model", (), (Call(output="x" * 1_000, named=False),))] * 9])
    view = ContextSession(settings(4_500, evict_to=0.1, min_messages=1), format=format).prepare(raw)
    assert view[0] is raw[0]
    assert len(view) == 3


@pytest.mark.parametrize("format", FORMATS)
def test_keep_first(format):
    """The first two messages hold a call without its result: the border moves behind the result."""
    config = settings(10_000) | {"evict": {"keep_first": 2}}
    raw = write(format, [ASK, *[ROUND] * 40])
    session = ContextSession(config, format=format)
    view = session.prepare(raw)
    assert view[:3] == raw[:3]
    assert session.report.evicted[0] == 3


@pytest.mark.parametrize("format", FORMATS)
def test_parallel_calls_go_together(format):
    """With all their results, and the view is valid."""
    three = Turn("model", ("Well.",), (Call("code_run", output="x" * 400, named=False),) * 3)
    raw = write(format, [ASK, *[three] * 20])
    session = ContextSession(settings(10_000), format=format)
    view = session.prepare(raw)
    per_round = (len(raw) - 1) // 20
    assert faults(view, format) == []
    assert session.report.evicted[1] % per_round == 0
    assert json.dumps(view).count("x" * 400) % 3 == 0


@pytest.mark.parametrize("format", FORMATS)
def test_an_older_request_goes_like_any_message(format):
    """First in, first out; the newest request is skipped over and stays where it is."""
    raw = write(
        format, [ASK, *[ROUND] * 10, Turn("model", ("Done.",)), Turn("user", ("Now the rest.",)), *[ROUND] * 30]
    )
    view = ContextSession(settings(10_000), format=format).prepare(raw)
    assert "Do it." not in json.dumps(view)
    assert "Now the rest." in json.dumps(view[0])
    assert view[1:] == raw[len(raw) - len(view) + 1 :]


@pytest.mark.parametrize("role", ["system", "developer"])
@pytest.mark.parametrize("format", ["openai-chat", "text"])
def test_system_messages_stay_in_place(format, role):
    """At the start and between."""
    rules = [{"role": role, "content": f"Rule {n}."} for n in range(2)]
    raw = write(format, [ASK, *[ROUND] * 40])
    raw = [rules[0], *raw[:21], rules[1], *raw[21:]]
    view = ContextSession(settings(10_000), format=format).prepare(raw)
    assert view[:3] == [rules[0], raw[1], rules[1]]
    assert view[3:] == raw[len(raw) - len(view) + 3 :]


@pytest.mark.parametrize("format", FORMATS)
def test_the_call_that_waits_stays(format):
    """An assistant message at the end with an open call is mandatory, and the call is pending."""
    raw = write(format, [ASK, *[ROUND] * 40])[:-1]
    session = ContextSession(settings(10_000, min_messages=0), format=format)
    view = session.prepare(raw)
    assert view[-1] is raw[-1]
    assert len(session.report.pending) == 1
    assert session.report.chars_after <= 6_000


@pytest.mark.parametrize("format", FORMATS)
def test_an_anchor_goes_with_the_message_it_follows(format):
    """Turn by turn with anchors: as many as there are rounds in view."""
    session = ContextSession(settings(12_000, anchor="user_message"), format=format)
    raw = write(format, [ASK, *[ROUND] * 40])
    turn_by_turn(session, raw)
    view = session.request()["messages"]
    assert session.report.evicted or len(view) > 3
    assert json.dumps(view).count("Current turn: ") == json.dumps(view).count("x" * 400)
    assert faults(view, format) == []


@pytest.mark.parametrize("format", FORMATS)
def test_compaction_comes_before_eviction(format):
    """A strict pass that spares four messages; where that brings the view to 0.6 B, nothing is evicted."""
    long = Turn("model", (), (Call("code_run", output="x" * 4_000, named=False),))
    raw = write(format, [ASK, *[long] * 10])
    config = settings(40_000) | {"compact": {"interval": None}}
    session = ContextSession(config, format=format)
    view = session.prepare(raw)
    assert (session.report.compacted, session.report.evicted) == (True, None)
    assert [a is b for a, b in zip(view[-4:], raw[-4:], strict=True)] == [True] * 4
    assert session.report.chars_before == size(raw) > 40_000
    assert session.report.chars_after <= 24_000


@pytest.mark.parametrize("format", FORMATS)
def test_within_the_budget_nothing_goes(format):
    """B exactly is not over it; a character less is."""
    raw = write(format, [ASK, *[ROUND] * 4])
    assert ContextSession(settings(size(raw)), format=format).prepare(raw) == raw
    assert len(ContextSession(settings(size(raw) - 1, min_messages=1), format=format).prepare(raw)) < len(raw)


@pytest.mark.parametrize("format", FORMATS)
def test_a_history_that_cannot_shrink_is_not_passed_over_again(format):
    """A request that fills 0.6 B: each eviction leaves five messages, later turns find nothing to cut anew."""
    proposed = []

    def counted(stage):
        def run(state, turn):
            edits = stage(state, turn)
            proposed.append((turn.number, stage.__name__, len(edits)))
            return edits

        return run

    stages = [counted(stage) for stage in STAGES]
    session = ContextSession(settings(3_000, on_exceeded="report"), format=format, stages=stages)
    raw = write(format, [Turn("user", ("word " * 1_000,)), *[ROUND] * 12])
    turn_by_turn(session, raw)
    cut = [(turn, edits) for turn, name, edits in proposed if name == "compact" and turn > 5]
    assert [edits <= 2 for _, edits in cut] == [True] * len(cut)
    assert [len(report.actions) <= 6 for report in session.reports[5:]] == [True] * len(session.reports[5:])


@pytest.mark.parametrize("format", FORMATS)
def test_no_eviction_each_turn(format):
    """Between two evictions the view only grows: 0.4 B of room is used up first."""
    session = ContextSession(settings(20_000, anchor="user_message"), format=format)
    reports = turn_by_turn(session, write(format, [ASK, *[ROUND] * 80]))
    turns = [report.turn for report in reports if report.evicted]
    assert len(turns) > 3
    assert min(b - a for a, b in pairwise(turns)) >= 6


@pytest.mark.parametrize("unit", ["message", "exchange"])
@pytest.mark.parametrize("format", ["openai-chat", "text"])
def test_the_model_may_stand_first(format, unit):
    """Where the provider allows it, nothing more goes than the target needs, though the first request is gone."""
    raw = write(format, [ASK, *[ROUND] * 30, Turn("model", ("Done.",)), Turn("user", ("The rest.",)), *[ROUND] * 4])
    gone = next(k for k in range(1, 30) if size(raw[1 + 2 * k :]) <= 6_000)
    view = ContextSession(settings(10_000) | {"evict": {"unit": unit}}, format=format).prepare(raw)
    assert size(raw[2 * gone - 1 :]) > 6_000
    assert view == raw[1 + 2 * gone :]


@pytest.mark.parametrize("unit", ["message", "exchange"])
def test_a_leading_call_goes_where_the_user_must_be_first(unit):
    """The exchanges that an evicted request leaves behind go with it (spec 6), down to a share of the target."""
    raw = write(
        "anthropic", [ASK, *[ROUND] * 30, Turn("model", ("Done.",)), Turn("user", ("The rest.",)), *[ROUND] * 4]
    )
    view = ContextSession(settings(10_000) | {"evict": {"unit": unit}}, format="anthropic").prepare(raw)
    assert faults(view, "anthropic") == []
    assert view[2:] == raw[len(raw) - len(view) + 2 :]
    assert KEPT_SHARE * 6_000 - 2 * size(raw[1:3]) < size(view) <= 6_000


@pytest.mark.parametrize("format", FORMATS)
def test_system_and_tools_come_off_the_budget(format):
    """As JSON, and only if they are handed over; the reserve too."""
    session = ContextSession({"budget": {"window_tokens": 1_000, "reserve_tokens": 100}}, format=format)
    session.prepare(write(format, [ASK]), system="s" * 98, tools=[{"name": "a"}])
    assert session.report.budget_chars == 3 * 900 - 100 - len('[{"name": "a"}]')
    session = ContextSession({"budget": {"chars": 5_000}}, format=format)
    session.prepare(write(format, [ASK]), system="s" * 98)
    assert session.report.budget_chars == 5_000


def test_no_room_at_all():
    """A system prompt larger than the window: raised before anything else; the session can go on."""
    session = ContextSession({"budget": {"window_tokens": 100}})
    raw = [{"role": "user", "content": "Go."}]
    with pytest.raises(BudgetExceeded, match="no room for messages: the budget is -102 characters"):
        session.prepare(raw, system="s" * 400)
    assert session.reports == []
    assert session.prepare(raw) == raw
