"""A replay prepares what came before each model response, in a fresh session, and adds up the reports."""

import json
from pathlib import Path
from typing import Any

import pytest

from ga_context import ContextConfig
from ga_context.replay.play import Played, Turn, model_calls, play, play_file, sum_up
from ga_context.replay.readers import Recording, find
from ga_context.report import Action, Report

REQUEST = {"role": "user", "content": "List the files."}
CONFIG = ContextConfig.generic_agent(anchor={"placement": "off"})


def call(number: int) -> dict[str, Any]:
    use = {"type": "tool_use", "id": f"t{number}", "name": "code_run", "input": {"code": f"step({number})"}}
    return {"role": "assistant", "content": [use]}


def result(number: int, text: str = "done") -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"t{number}", "content": text}]}


def recording(*results: str, name: str = "r") -> Recording:
    """Return a session with a tool call for each result and a last word."""
    messages = [REQUEST]
    for number, text in enumerate(results):
        messages += [call(number), result(number, text)]
    return Recording(name, "anthropic", [*messages, {"role": "assistant", "content": "That is all."}])


def chars(messages: list[dict[str, Any]]) -> int:
    return sum(len(json.dumps(message, ensure_ascii=False)) for message in messages)


def report(turn: int, **fields: Any) -> Report:
    return Report(turn, **{"chars_raw": 0, "chars_before": 0, "chars_after": 0, "budget_chars": 100, **fields})


@pytest.mark.parametrize(
    ("roles", "indexes"),
    [
        ("", []),
        ("u", []),
        ("ua", [1]),
        ("uaua", [1, 3]),
        ("suaataau", [2, 5]),
        ("aua", [2]),
        ("aaua", [3]),
    ],
)
def test_a_run_of_assistant_messages_is_one_model_call(roles: str, indexes: list[int]) -> None:
    """Nothing was sent before a first message, so an assistant that opens the list is no call."""
    names = {"u": "user", "a": "assistant", "t": "tool", "s": "system"}
    assert model_calls([{"role": names[role]} for role in roles]) == indexes


def test_a_run_of_items_is_one_model_call() -> None:
    """Reasoning, words and calls of one response, whatever keys they have."""
    items = [REQUEST, {"type": "reasoning", "summary": []}, {"type": "function_call"}, {"type": "function_call_output"}]
    assert model_calls([*items, {"role": "assistant", "content": "Done."}], "openai-responses") == [1, 4]


def test_each_turn_reports_the_history_before_it() -> None:
    recorded = recording("done", "done")
    played = play(recorded, CONFIG)
    assert [turn.report.turn for turn in played.turns] == [1, 2, 3]
    assert [turn.report.chars_raw for turn in played.turns] == [chars(recorded.messages[:i]) for i in (1, 3, 5)]
    assert (played.name, played.format, played.error) == ("r", "anthropic", None)


def test_a_long_result_is_counted_as_cut() -> None:
    sums = sum_up([play(recording("done", "x" * 12_000), CONFIG)])
    assert (sums.turns, sums.results_cut, sums.texts_compacted, sums.messages_evicted) == (3, 1, 0, 0)
    assert sums.last_view == sums.largest_view < sums.chars_raw


def test_without_a_cut_every_turn_but_the_first_appends() -> None:
    sums = sum_up([play(recording("done", "done", "done"), CONFIG)])
    assert (sums.turns, sums.append_rate, sums.unexplained_breaks) == (4, 0.75, 0)


def test_the_history_is_compacted_and_evicted_within_the_budget() -> None:
    """Forty results of 3,000 characters do not fit 20,000."""
    config = ContextConfig(budget={"chars": 20_000})
    sums = sum_up([play(recording(*["y" * 3_000] * 40), config)])
    assert sums.largest_view <= 20_000 < sums.chars_raw
    assert sums.texts_compacted > 0 < sums.messages_evicted
    assert (sums.turns_over_budget, sums.unexplained_breaks) == (0, 0)
    assert sums.append_rate is not None
    assert 0 < sums.append_rate < 1


def test_every_recording_starts_afresh() -> None:
    recorded = recording(*["x" * 12_000] * 8)
    first, second = play(recorded, CONFIG), play(recorded, CONFIG)
    assert [turn.report for turn in first.turns] == [turn.report for turn in second.turns]


def test_the_caller_hears_of_every_turn() -> None:
    heard: list[tuple[int, int]] = []
    play(recording("done", "done"), CONFIG, lambda turn, turns: heard.append((turn, turns)))
    assert heard == [(1, 3), (2, 3), (3, 3)]


def test_a_format_that_is_not_given_is_detected() -> None:
    recorded = recording("done")
    assert play(Recording("r", None, recorded.messages), CONFIG).format == "anthropic"


def test_system_and_tools_take_their_room() -> None:
    """With the defaults the budget is what they leave of the window."""
    recorded = recording("done")
    system, tools = "s" * 1_000, [{"name": "code_run", "input_schema": {"type": "object"}}]
    bare = play(recorded, ContextConfig()).turns[0].report.budget_chars
    beside = play(Recording("r", "anthropic", recorded.messages, system, tools), ContextConfig())
    assert beside.turns[0].report.budget_chars == bare - len(json.dumps(system)) - len(json.dumps(tools))


# --- sessions that cannot go on ---


def test_a_session_over_its_budget_stops_with_its_turns_so_far() -> None:
    config = ContextConfig(budget={"chars": 600}, anchor={"placement": "off"})
    recorded = recording("done")
    recorded.messages.insert(3, {"role": "user", "content": "z" * 9_000})
    played = play(recorded, config)
    assert played.error is not None
    assert played.error.startswith("r, before messages[4]: what must stay has ")
    assert len(played.turns) == 1


def test_messages_that_no_repair_covers_stop_the_session() -> None:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "assistant", "content": "Yes."}]
    played = play(Recording("r", "anthropic", messages), CONFIG)
    assert played.error is not None
    assert played.error.startswith("r, before messages[1]: `messages[0].role` ")
    assert played.turns == []


def test_a_file_that_cannot_be_read_is_an_error_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("[", encoding="utf-8")
    (tmp_path / "b.json").write_text(json.dumps(recording("done").messages), encoding="utf-8")
    played = [play_file(path, CONFIG) for path in find(tmp_path)]
    assert [(one.name, one.error is None, len(one.turns)) for one in played] == [("a.json", False, 0), ("b", True, 2)]


# --- the figures ---


def test_sums_are_over_all_turns_of_all_sessions() -> None:
    first = Played("a", turns=[Turn(report(1), 1.0), Turn(report(2, first_changed=0, break_cause="pass"), 3.0)])
    second = Played("b", turns=[Turn(report(1), 2.0), Turn(report(2), 2.0), Turn(report(3, first_changed=4), 7.0)])
    sums = sum_up([first, second, Played("c")])
    assert (sums.sessions, sums.turns) == (3, 5)
    assert (sums.append_rate, sums.unexplained_breaks) == (0.2, 1)
    assert (sums.ms_mean, sums.ms_p99) == (3.0, 7.0)


def test_sizes_are_those_of_the_last_turn_and_of_the_largest() -> None:
    sizes = [report(1, chars_raw=50, chars_after=50), report(2, chars_raw=300, chars_after=120)]
    small = report(3, chars_raw=400, chars_after=40)
    sums = sum_up([Played("a", turns=[Turn(one, 1.0) for one in [*sizes, small]])] * 2)
    assert (sums.chars_raw, sums.largest_view, sums.last_view, sums.turns_over_budget) == (800, 120, 80, 2)


def test_cuts_are_counted_by_stage() -> None:
    """An evicted run counts its messages; a text cut to fit the budget is no eviction."""
    actions = [
        Action("truncate", "over its limit", 1),
        Action("compact", "old", 2),
        Action("compact", "old", 3),
        Action("evict", "oldest first", 4, last=8),
        Action("evict", "oldest first", 10, last=10),
        Action("evict", "still over", 12, chars_before=900, chars_after=80),
        Action("repair", "no result", 13),
        Action("anchor", "added", 14),
    ]
    sums = sum_up([Played("a", turns=[Turn(report(1, compacted=True, actions=actions), 1.0)])])
    assert (sums.results_cut, sums.texts_compacted, sums.messages_evicted) == (1, 2, 6)
    assert (sums.passes, sums.repairs) == (1, 1)


def test_a_session_without_a_model_call_has_no_rates() -> None:
    sums = sum_up([play(Recording("r", "anthropic", [REQUEST]), CONFIG)])
    assert (sums.turns, sums.largest_view, sums.append_rate, sums.ms_mean, sums.ms_p99) == (0, 0, None, None, None)


def test_a_session_is_plain_data() -> None:
    plain = play(recording("x" * 12_000), CONFIG).to_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert {"name": "r", "format": "anthropic", "error": None, "turns": 2, "results_cut": 1}.items() <= plain.items()
    assert [turn["turn"] for turn in plain["per_turn"]] == [1, 2]
    assert "actions" not in plain["per_turn"][1]


def test_its_actions_come_on_request() -> None:
    plain = play(recording("x" * 12_000), CONFIG).to_dict(actions=True)
    (action,) = plain["per_turn"][1]["actions"]
    assert (action["stage"], action["message"]) == ("truncate", 2)


# --- the recorded sessions beside the project, where they are ---


@pytest.mark.parametrize("config", [ContextConfig(), ContextConfig.generic_agent()], ids=["default", "generic_agent"])
def test_recorded_sessions_replay_without_a_defect(shared: Path, config: ContextConfig) -> None:
    """Every one plays to its end, within budget, every break of the prefix explained.

    One session's rules alone come to the budget, and it says so.
    """
    sessions = [play_file(path, config) for path in find(shared / "data" / "sessions" / "dev")]
    errors = [one.error for one in sessions if one.error is not None]
    assert all("codex-agentv-019f36b8, before messages[383]: what must stay" in error for error in errors)
    sums = sum_up([one for one in sessions if one.error is None])
    assert (sums.turns_over_budget, sums.unexplained_breaks) == (0, 0)
