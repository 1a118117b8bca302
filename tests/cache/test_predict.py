"""Requests through a simulated cache: the sums, the closed form, and each miss with its cause."""

from pathlib import Path
from typing import Any

import pytest
from test_promises import exchanges

from ga_context import ContextConfig, ContextSession
from ga_context.cache import definitions
from ga_context.cache.predict import Predicted, Predictor
from ga_context.cache.prices import price
from ga_context.cache.render import Renderer
from ga_context.formats import make
from ga_context.replay.play import play
from ga_context.replay.readers import find, read

SONNET = price("anthropic:claude-sonnet-4-5")
CHARGES = ContextConfig().charges
Message = dict[str, Any]


def session_of(
    config: dict[str, Any], raw: list[Message], model: str, **beside: Any
) -> tuple[ContextSession, Predictor]:
    """Play a session of one format turn by turn through a model's cache."""
    session = ContextSession(config, format="anthropic")
    predictor = Predictor(make("anthropic", CHARGES), price(model))
    for end in range(1, len(raw) + 1, 2):
        given = {key: value(end) if callable(value) else value for key, value in beside.items()}
        session.prepare(raw[:end], cache_control=True, **given)
        request = session.request()
        predictor.turn(request["messages"], request["system"], request["tools"], report=session.report)
    return session, predictor


def turns(*requests: dict[str, Any], seconds: tuple[float, ...] = (), model: str = "llama.cpp") -> list[Predicted]:
    """Predict requests that no session made."""
    predictor = Predictor(make("anthropic", CHARGES), price(model), mark_ends=True)
    times = seconds or (0.0,) * len(requests)
    raw = [{"role": "user", "content": "Go. " * 2_000}]
    return [
        predictor.turn(raw, one.get("system"), one.get("tools"), now=now)
        for one, now in zip(requests, times, strict=True)
    ]


# Definitions


def test_the_definitions() -> None:
    """Three requests of 100, 150 and 120 tokens, of which the second continues the first and the third shares 90."""
    shared, prompts = [0, 100, 90], [100, 150, 120]
    assert definitions.append_rate([False, True, False]) == 1 / 3
    assert definitions.append_rate_of([[True, True], [True, False]]) == 1 / 4
    assert definitions.append_rate_raw(shared, prompts) == 1 / 3
    assert definitions.token_hit(190, 370) == 190 / 370
    assert definitions.prefix_retention(shared, prompts) == 190 / 250
    assert definitions.rewrite_tokens(90, 150) == 60
    assert definitions.input_cost(190, 30, {"5m": 100, "1h": 50}, 0.1, {"5m": 1.25, "1h": 2.0}) == 19 + 125 + 100 + 30


def test_without_turns_there_are_no_rates() -> None:
    rates = (definitions.append_rate([]), definitions.append_rate_raw([], []), definitions.prefix_retention([], []))
    assert (*rates, definitions.token_hit(0, 0)) == (None,) * 4


@pytest.mark.parametrize("interval", [2, 5, 7])
def test_the_closed_form_without_eviction(interval: int) -> None:
    """Breaks are turn 1 and the passes that changed something; with one in k turns that is 1 - 1/k in the long run."""
    config = {"budget": {"chars": 10_000_000}, "compact": {"interval": interval}}
    session, predictor = session_of(config, exchanges([1_500] * 70, "anthropic"), "llama.cpp")
    passes = sum(report.compacted for report in session.reports)
    kept = [report.first_changed is None for report in session.reports]
    count = len(session.reports)
    assert definitions.append_rate(kept) == 1 - (passes + 1) / count
    assert predictor.prediction.append_rate_raw == 1 - (passes + 1) / count
    assert passes == count // interval - 6 // interval  # from turn 7 on a result is older than the ten newest
    tokens = predictor.prediction.tokens
    assert tokens.token_hit == predictor.prediction.prefix_hit  # one slot, token by token: every common prefix is read
    assert sum(miss.tokens for miss in predictor.prediction.misses) == sum(
        before.served.prompt - now.shared
        for before, now in zip(predictor.prediction.turns, predictor.prediction.turns[1:], strict=False)
    )


# Explained


def test_a_pass_and_an_eviction_are_named() -> None:
    session, predictor = session_of(
        {"budget": {"chars": 20_000}}, exchanges([900] * 30, "anthropic"), SONNET.model, system="Be brief."
    )
    breaks = {report.turn: report.first_changed for report in session.reports if report.first_changed is not None}
    misses = {miss.turn: miss for miss in predictor.prediction.misses}
    assert misses.keys() == breaks.keys()
    for turn, miss in misses.items():
        assert (miss.cause, miss.part, miss.message, miss.fault) == ("pass", "messages", breaks[turn], None)
        assert 0 < miss.missed <= miss.tokens
        assert miss.cost == pytest.approx(miss.missed * (1.25 - 0.1), rel=0.05)
        assert miss.dollars == pytest.approx(miss.cost * 3e-6)


def test_an_ephemeral_anchor_is_no_ones_fault() -> None:
    _, predictor = session_of({"anchor": {"lifetime": "ephemeral"}}, exchanges([400] * 6, "anthropic"), SONNET.model)
    assert {(miss.cause, miss.fault) for miss in predictor.prediction.misses} == {("anchor", None)}


TOOLS = [{"name": "a", "input_schema": {"type": "object"}}, {"name": "b"}]


@pytest.mark.parametrize(
    ("before", "now", "cause", "said"),
    [
        (
            {"system": "Now is 2026-11-30 12:01:07. Be brief."},
            {"system": "Now is 2026-11-30 12:01:09. Be brief."},
            "system",
            "a clock in the system prompt, '2026-11-30 12:01:07' became '2026-11-30 12:01:09'",
        ),
        (
            {"system": "Session 0f8b7a52-9c1d-4c1e-8f00-0123456789ab"},
            {"system": "Session 1f8b7a52-9c1d-4c1e-8f00-0123456789ab"},
            "system",
            "a random id in the system prompt",
        ),
        (
            {"system": "Be brief."},
            {"system": "Be long."},
            "system",
            "the system prompt changed at character 4: 'brief.\"' became 'long.\"'",
        ),
        ({"tools": TOOLS}, {"tools": TOOLS[::-1]}, "tools", "the same tool definitions in another order"),
        (
            {"tools": TOOLS},
            {"tools": [dict(reversed(TOOLS[0].items())), TOOLS[1]]},
            "tools",
            "tool definitions with their keys in another order",
        ),
        ({"tools": TOOLS}, {"tools": TOOLS[:1]}, "tools", "tool definitions taken out b: offer the same tools"),
        (
            {"tools": TOOLS},
            {"tools": [TOOLS[0], {"name": "b", "description": "x"}]},
            "tools",
            "tool definitions changed b:",
        ),
        (
            {"tools": [{"type": "function", "function": {"name": "a"}}]},
            {"tools": [{"type": "function", "function": {"name": "c"}}]},
            "tools",
            "tool definitions added c and taken out a:",
        ),
    ],
)
def test_what_the_caller_did_is_named(before: Message, now: Message, cause: str, said: str) -> None:
    miss = turns(before, now)[1].miss
    assert miss is not None
    assert miss.fault is not None
    assert (miss.cause, miss.part, miss.message) == (cause, cause, None)
    assert miss.fault.startswith(said)
    assert miss.tokens > 0


def test_a_time_to_live_that_ran_out() -> None:
    same = {"system": "Be brief. " * 1_000}
    first, second, third = turns(same, same, same, seconds=(0, 299, 700), model=SONNET.model)
    assert (first.miss, second.miss) == (None, None)
    assert third.miss is not None
    assert (third.miss.cause, third.miss.tokens, third.served.cached) == ("time to live", second.served.cached, 0)


def test_a_change_by_the_caller_is_named() -> None:
    session = ContextSession(format="anthropic")
    predictor = Predictor(make("anthropic", CHARGES), price("llama.cpp"))
    raw = exchanges([400] * 3, "anthropic")
    for messages in (raw[:5], [{"role": "user", "content": "Another."}, *raw[1:]]):
        predictor.turn(session.prepare(messages), report=session.report)
    (miss,) = predictor.prediction.misses
    assert (miss.cause, miss.message, miss.fault) == ("caller", 0, "a message was changed, or left out")


# Counting


def test_tokens_are_characters_by_alpha_or_counted() -> None:
    """Without a counter C_H by 3.0; a caller's counter is asked once for each block."""
    fmt = make("anthropic", CHARGES)
    raw = [{"role": "user", "content": "x" * 3_000}]
    assert sum(segment.tokens for segment in Renderer(fmt).prompt(raw)) == pytest.approx(1_010, abs=10)
    asked: list[str] = []
    renderer = Renderer(fmt, count=lambda text: asked.append(text) or 7)
    for _ in range(2):
        assert [segment.tokens for segment in renderer.prompt(raw, "Be brief.")] == [7, 7]
    assert len(asked) == 2


# The recorded sessions beside the project, where they are


def test_breakpoints_read_what_the_longest_common_prefix_would(shared: Path) -> None:
    """Within a point of token hit, on every recorded session in a format that has markers (time standing still)."""
    found = {}
    for path in find(shared / "data" / "sessions" / "dev"):
        if path.stat().st_size > 490_000 or path.name.startswith(("pi-", "cc-cli-6113e919", "cc-cli-08940314")):
            continue  # long ones, for the sake of time
        recording = read(path)
        if recording.format in ("anthropic", "bedrock"):
            recording.replies.clear()
            played = play(recording, ContextConfig(), cache=SONNET)
            assert played.prediction is not None
            found[path.name] = (played.prediction.tokens.token_hit, played.prediction.prefix_hit)
    assert len(found) >= 4
    assert {name: hits for name, hits in found.items() if hits[1] - hits[0] > 0.01} == {}


def test_what_was_measured_is_what_is_predicted(shared: Path) -> None:
    """A session of Claude Code as it was recorded: its own breakpoints and its gaps between turns."""
    played = play(read(shared / "data" / "sessions" / "dev" / "cc-cli-e4599950.json.gz"), ContextConfig(), cache=SONNET)
    assert played.raw is not None
    assert played.measured.requests == len(played.turns) == 73
    assert played.measured.token_hit == pytest.approx(0.876, abs=0.001)
    assert played.raw.tokens.token_hit == pytest.approx(played.measured.token_hit, abs=0.02)
