"""What a loop holds: a view from a list, the same view again, and a state that follows the list wherever it goes."""

import copy
import json
import re
import threading
from dataclasses import dataclass

import pytest
from histories import Call, Turn, ends, write
from oracle import faults

from ga_context import (
    BudgetExceeded,
    ConfigError,
    ContextConfig,
    ContextSession,
    InvalidMessages,
    UnknownReference,
    size,
)

FORMATS = ["anthropic", "openai-chat", "openai-responses", "gemini", "bedrock", "text"]
PLAIN = {"anchor": {"placement": "off"}}
SMALL = {"budget": {"chars": 12_000}}
ASK = Turn("user", ("Do it.",))
ROUND = Turn("model", ("Well.",), (Call("code_run", output="x" * 900, named=False),))
YES = {"role": "assistant", "content": "Yes."}


def rounds(format, count):
    """Return a request and ``count`` rounds."""
    return write(format, [ASK, *[ROUND] * count])


def views(session, raw):
    """Return the view of each turn."""
    return [session.prepare(raw[:end]) for end in ends(raw)]


# The same again


@pytest.mark.parametrize("format", FORMATS)
def test_untouched_messages_are_the_callers_own(format):
    """A new list of the same objects; the caller's list and dicts stay as they are."""
    raw = rounds(format, 2)
    before = copy.deepcopy(raw)
    view = ContextSession(PLAIN, format=format).prepare(raw)
    assert view is not raw
    assert [a is b for a, b in zip(view, raw, strict=True)] == [True] * len(raw)
    assert raw == before


@pytest.mark.parametrize("format", FORMATS)
def test_the_input_is_untouched_by_every_stage(format):
    """Over 40 turns of cuts, passes and evictions."""
    raw = rounds(format, 40)
    before = copy.deepcopy(raw)
    views(ContextSession(SMALL, format=format), raw)
    assert raw == before


@pytest.mark.parametrize("format", FORMATS)
def test_a_second_prepare_returns_the_same(format):
    """At every turn; nothing is added to the reports, and changing the returned list changes nothing."""
    session, raw = ContextSession(SMALL, format=format), rounds(format, 30)
    for end in ends(raw):
        view = session.prepare(raw[:end])
        again = session.prepare(raw[:end])
        assert [a is b for a, b in zip(view, again, strict=True)] == [True] * len(view)
        again.clear()
        assert session.prepare(raw[:end]) == view
    assert len(session.reports) == 31


@pytest.mark.parametrize("format", FORMATS)
def test_a_view_fed_back_is_itself(format):
    """In the same session the same objects come back."""
    session, raw = ContextSession(SMALL, format=format), rounds(format, 30)
    for end in ends(raw):
        view = session.prepare(raw[:end])
        again = session.prepare(view)
        assert [a is b for a, b in zip(view, again, strict=True)] == [True] * len(view)


@pytest.mark.parametrize("format", FORMATS)
def test_a_loop_that_goes_on_with_the_view(format):
    """The same bytes as for a loop that keeps its raw list, turn by turn."""
    raw = rounds(format, 40)
    session, given, at = ContextSession(SMALL, format=format), [], 0
    fed = []
    for end in ends(raw):
        given = session.prepare([*given, *raw[at:end]])
        fed.append(json.dumps(given))
        at = end
    assert fed == [json.dumps(view) for view in views(ContextSession(SMALL, format=format), raw)]


@pytest.mark.parametrize("format", FORMATS)
def test_equal_dicts_built_anew(format):
    """A framework that rebuilds its list each turn: the same bytes, and nothing is reported as a change."""
    raw = rounds(format, 30)
    session = ContextSession(SMALL, format=format)
    rebuilt = [session.prepare(copy.deepcopy(raw[:end])) for end in ends(raw)]
    assert rebuilt == views(ContextSession(SMALL, format=format), raw)
    assert {report.break_cause for report in session.reports} <= {None, "pass", "eviction"}


@pytest.mark.parametrize("format", FORMATS)
def test_a_view_extends_the_one_before(format):
    """Unless a pass or an eviction is reported."""
    session, before, breaks = ContextSession(SMALL, format=format), [], 0
    raw = rounds(format, 40)
    for end in ends(raw):
        view = session.prepare(raw[:end])
        assert (view[: len(before)] == before) == (session.report.break_cause is None)
        breaks += session.report.break_cause is not None
        before = view
    assert 3 <= breaks <= 16


# Going back


@pytest.mark.parametrize("format", FORMATS)
def test_a_rollback_restores_the_state_of_that_turn(format):
    """The view of turn n again, and the same bytes from there on."""
    raw = rounds(format, 40)
    straight = views(ContextSession(SMALL, format=format), raw)
    session = ContextSession(SMALL, format=format)
    views(session, raw[: ends(raw)[30]])
    for turn in (22, 9, 3):
        assert session.prepare(raw[: ends(raw)[turn]]) == straight[turn]
    assert session.report.break_cause == "caller"
    assert [session.prepare(raw[:end]) for end in ends(raw)[4:]] == straight[4:]


@pytest.mark.parametrize("format", FORMATS)
def test_a_rollback_to_another_way(format):
    """Edit and retry: as a session that never went the first way."""
    raw = rounds(format, 30)
    other = [*raw[:21], *write(format, [Turn("user", ("Otherwise.",)), *[ROUND] * 9])]
    session = ContextSession(SMALL, format=format)
    views(session, raw)
    fresh = ContextSession(SMALL, format=format)
    first = [fresh.prepare(other[:end]) for end in ends(other)]
    assert [session.prepare(other[:end]) for end in ends(other)][10:] == first[10:]


def test_a_rollback_takes_key_info_back():
    """What the model wrote later is not known earlier."""
    notes = Turn("model", (), (Call("update_working_checkpoint", note="port 8080"),))
    raw = write("openai-chat", [ASK, ROUND, notes, ROUND])
    session = ContextSession(format="openai-chat")
    views(session, raw)
    assert "port 8080" in json.dumps(session.prepare(raw)[-1])
    assert "port 8080" not in json.dumps(session.prepare(raw[:3])[-1])


@pytest.mark.parametrize("format", FORMATS)
def test_key_info_said_before_a_rollback_holds(format):
    """It is the newest word, not one of a later turn that was taken back."""
    session, raw = ContextSession(format=format), rounds(format, 4)
    views(session, raw)
    session.update_key_info("port 8080")
    assert "<key_info>\\nport 8080\\n</key_info>" in json.dumps(session.prepare(raw[: ends(raw)[2]]))


@pytest.mark.parametrize("format", FORMATS)
def test_a_change_by_the_caller(format):
    """Rebuilt from the first difference, and reported; what stands before it keeps its bytes."""
    raw = rounds(format, 6)
    session = ContextSession(PLAIN, format=format)
    before = views(session, raw)[-1]
    changed = [*raw[:5], {**raw[5], "content": "Another word."}]
    view = session.prepare(changed)
    assert [a is b for a, b in zip(view[:5], before, strict=False)] == [True] * 5
    assert (session.report.break_cause, session.report.first_changed) == ("caller", 5)
    assert view == ContextSession(PLAIN, format=format).prepare(changed)


def test_a_change_to_the_first_message():
    """Everything is read anew."""
    session = ContextSession()
    session.prepare([{"role": "user", "content": "One."}, YES])
    view = session.prepare([{"role": "user", "content": "Two."}, YES, {"role": "user", "content": "On."}])
    assert [message["content"] for message in view] == ["Two.", "Yes.", "On."]
    assert (session.report.break_cause, session.report.first_changed) == ("caller", 0)


# Shrink


@pytest.mark.parametrize("format", FORMATS)
def test_shrink_redoes_the_turn_and_is_kept(format):
    """A smaller B for this turn and those that follow."""
    session, raw = ContextSession(PLAIN | {"budget": {"chars": 10_000}}, format=format), rounds(format, 8)
    first = session.prepare(raw[:15])
    second = session.prepare(raw[:15], shrink=0.5)
    assert 5_000 < size(first) <= 10_000
    assert size(second) <= 5_000
    assert (session.report.budget_chars, session.report.break_cause) == (5_000, "shrink")
    assert size(session.prepare(raw)) <= 5_000
    assert (session.report.budget_chars, faults(second, format)) == (5_000, [])


def test_shrinks_multiply():
    """A second refusal by the provider takes from what was left."""
    session = ContextSession({"budget": {"chars": 10_000}})
    raw = [{"role": "user", "content": "Go."}]
    for share in (0.8, 0.5):
        session.prepare(raw, shrink=share)
    session.prepare([*raw, YES])
    assert [report.budget_chars for report in session.reports] == [8_000, 4_000, 4_000]


def test_shrink_and_rollback_agree_on_the_budget():
    """What is reported for the turn is what holds for it, and for the next one."""
    session, raw = ContextSession(PLAIN | {"budget": {"chars": 10_000}}, format="openai-chat"), rounds("openai-chat", 3)
    session.prepare(raw[:3])
    session.prepare(raw[:5], shrink=0.5)
    session.prepare(raw[:3])
    rolled = session.report.budget_chars
    session.prepare([*raw[:3], YES])
    assert session.report.budget_chars == rolled


@pytest.mark.parametrize("shrink", [0, 1, 1.5, -0.5])
def test_what_shrink_may_be(shrink):
    """A share, and nothing is lost by asking for another."""
    session = ContextSession()
    with pytest.raises(ConfigError, match="`shrink` must be between 0 and 1"):
        session.prepare([YES], shrink=shrink)
    assert session.prepare([YES]) == [YES]


# Errors lose nothing


@pytest.mark.parametrize("format", FORMATS)
def test_a_refused_message_changes_nothing(format):
    """The session is as it was: the same bytes afterwards as without the error."""
    raw = rounds(format, 30)
    straight = views(ContextSession(SMALL, format=format), raw)
    session = ContextSession(SMALL, format=format)
    for view, end in zip(straight, ends(raw), strict=True):
        with pytest.raises(InvalidMessages) as caught:
            session.prepare([*raw[:end], {"role": "nobody", "content": "x"}])
        assert (caught.value.index, caught.value.key) == (end, "role")
        assert session.prepare(raw[:end]) == view
    assert len(session.reports) == 31


@pytest.mark.parametrize("format", FORMATS)
def test_over_the_budget_and_on(format):
    """Raised again for the same list; the view of the error is the last one; a rollback goes on."""
    session, raw = ContextSession({"budget": {"chars": 3_000}}, format=format), rounds(format, 1)
    first = session.prepare(raw)
    large = [*raw, *write(format, [Turn("model", ("Yes.",)), Turn("user", ("word " * 2_000,))])]
    for _ in range(2):
        with pytest.raises(BudgetExceeded) as caught:
            ContextSession({"budget": {"chars": 1_000}}, format=format).prepare(large)
    assert caught.value.size > 1_000
    session.prepare(large)
    assert session.prepare(raw) == first


def test_the_same_list_is_raised_again():
    """A budget that cannot be met is never met by asking twice; with a larger one the session goes on."""
    session = ContextSession({"budget": {"window_tokens": 1_000}})
    raw = [{"role": "user", "content": "word " * 500}]
    for _ in range(2):
        with pytest.raises(BudgetExceeded):
            session.prepare(raw, system="s" * 1_500)
    assert size(session.prepare(raw)) <= session.report.budget_chars == 3_000


def test_a_message_that_is_no_json():
    """Index is named; what it was is left as it is."""
    raw = [YES, {"role": "user", "content": "Go.", "when": {1, 2}}]
    with pytest.raises(InvalidMessages, match=r"`messages\[1\]` cannot be written as JSON"):
        ContextSession().prepare(raw)


# check_mutation


@pytest.mark.parametrize("format", FORMATS)
def test_a_message_edited_in_place_is_found(format):
    """Named by its index; without the check it goes unnoticed."""
    raw = rounds(format, 3)
    session = ContextSession(PLAIN, format=format, check_mutation=True)
    session.prepare(raw)
    raw[3]["content"] = "Another word."
    with pytest.raises(InvalidMessages, match=r"`messages\[3\]` was changed in place"):
        session.prepare(raw)


@pytest.mark.parametrize("format", FORMATS)
def test_a_view_edited_in_place_is_found(format):
    """Its new dicts too: here the one that holds the anchor."""
    session = ContextSession(format=format, check_mutation=True)
    view = session.prepare(rounds(format, 3))
    view[-1]["content"] = "Another word."
    with pytest.raises(InvalidMessages, match="was changed in place"):
        session.prepare(view)


def test_a_session_without_edits_passes_the_check():
    """Evictions, anchors, views fed back."""
    session, given, raw = ContextSession(SMALL, check_mutation=True), [], rounds("anthropic", 20)
    for message in raw:
        given = session.prepare([*given, message])
    assert faults(given, "anthropic") == []


# Beside the list


@pytest.mark.parametrize("format", FORMATS)
def test_key_info_by_the_api(format):
    """It replaces the block at once, and a view without news is another one then: the cause is config."""
    session, raw = ContextSession(format=format), rounds(format, 2)
    session.prepare(raw)
    session.update_key_info("port 8080")
    view = session.prepare(raw)
    assert json.dumps(view).count("<key_info>\\nport 8080\\n</key_info>") == 1
    assert session.report.break_cause == "config"
    session.update_key_info("port 8080")
    assert session.prepare(raw) == view
    session.update_key_info("")
    assert "<key_info>" not in json.dumps(session.prepare(raw))


def test_key_info_by_the_tool():
    """``update_working_checkpoint`` takes key_info and, if it likes, related_sop."""
    given = {"key_info": "port 8080", "related_sop": "deploy.md"}
    use = {"type": "tool_use", "id": "a", "name": "update_working_checkpoint", "input": given}
    raw = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "ok"}]},
    ]
    key_info = ContextSession().prepare(raw)[-1]["content"][-1]["text"].partition("<key_info>\n")[2]
    assert key_info.startswith("port 8080\n")
    assert "deploy.md" in key_info


def test_request_returns_what_to_send():
    """The last view, with system and tools as they were handed over."""
    session, tools = ContextSession(), [{"name": "a"}]
    view = session.prepare([YES], system="Rule.", tools=tools)
    assert session.request() == {"messages": view, "system": "Rule.", "tools": tools}
    assert session.request()["tools"] is tools


def test_tool_output():
    """Cut to the limit of its tool, and recalled; a short one is the same object."""
    session, text = ContextSession({"tools": {"code_run": 300}}), "line\n" * 200
    cut = session.tool_output("code_run", text)
    assert len(cut) <= 300
    assert session.recall(re.search(r"saved: ref (\w{16})", cut)[1]) == text
    assert session.tool_output("code_run", cut) is cut


def test_recall_of_what_is_unknown():
    """A KeyError."""
    with pytest.raises(UnknownReference):
        ContextSession().recall("0123456789abcdef")


@dataclass
class Details:
    """Part of a usage object."""

    cached_tokens: int


@dataclass
class Usage:
    """A usage object as an SDK returns it."""

    prompt_tokens: int
    service_tier: str
    prompt_tokens_details: Details


def test_usage_is_summed():
    """Objects and dicts, nested keys with dots, words left out."""
    session = ContextSession()
    session.record_usage(Usage(100, "standard", Details(60)))
    session.record_usage({"prompt_tokens": 50, "prompt_tokens_details": {"cached_tokens": 40}, "extra": None})
    assert session.usage == {"prompt_tokens": 150, "prompt_tokens_details.cached_tokens": 100}


def test_config_as_a_table_or_a_model():
    """The same session; a wrong key fails at construction."""
    assert ContextSession(SMALL).config == ContextSession(ContextConfig(**SMALL)).config
    with pytest.raises(ConfigError, match=r"`budget.chrs` is not a key"):
        ContextSession({"budget": {"chrs": 1}})


def test_stages_of_ones_own():
    """A tuple with none of them: the list as it is."""
    raw = rounds("openai-chat", 30)
    assert ContextSession(SMALL | {"budget": {"chars": 90_000}}, format="openai-chat", stages=()).prepare(raw) == raw


# Threads


@pytest.mark.parametrize("format", FORMATS)
def test_two_sessions_in_two_threads(format):
    """Neither influences the other."""
    raws = [rounds(format, 30), write(format, [ASK, *[Turn("model", (), (Call("file_read", output="y" * 700),))] * 30])]
    alone = [views(ContextSession(SMALL, format=format), raw) for raw in raws]
    found = {}
    threads = [
        threading.Thread(target=lambda n=n: found.update({n: views(ContextSession(SMALL, format=format), raws[n % 2])}))
        for n in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[n] == alone[n % 2] for n in range(6)] == [True] * 6


def test_one_session_in_two_threads():
    """Locked per ``prepare``: the same list twice at once is one turn, and both get its view."""
    session, raw, found = ContextSession(SMALL, format="openai-chat"), rounds("openai-chat", 40), []
    threads = [threading.Thread(target=lambda: found.append(session.prepare(raw))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [view == found[0] for view in found] == [True] * 8
    assert len(session.reports) == 1


def test_an_ephemeral_anchor_leaves_after_a_rollback_too():
    """Only the newest view has one, whichever way the list came."""
    session = ContextSession({"anchor": {"lifetime": "ephemeral"}}, format="openai-chat")
    raw = rounds("openai-chat", 12)
    for end in ends(raw):
        session.prepare(raw[:end])
    stop = ends(raw)[5]
    view = session.prepare([*raw[:stop], {"role": "user", "content": "Stop here."}, YES])
    assert sum("[working memory" in str(message["content"]) for message in view) == 0
    view = session.prepare(raw[: ends(raw)[8]])
    assert sum("[working memory" in str(message["content"]) for message in view) == 1


def test_a_format_found_late_is_no_change_by_the_caller():
    """A first turn that any format could have sent stays as it is; else the cause is the configuration."""
    session = ContextSession()
    raw = [{"role": "user", "content": "Go."}]
    assert session.prepare(raw)[0] is raw[0]
    call = {"type": "tool_use", "id": "a", "name": "code_run", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "a", "content": "done"}
    view = session.prepare([*raw, {"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}])
    assert view[0] is raw[0]
    assert session.format == "anthropic"
    assert session.report.first_changed is None
