"""What a provider's prompt cache sees over many turns: which sent messages change, and how often."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from test_promises import exchanges, formats

import ga_context as ga

Message = dict[str, Any]

TURNS = 50


def views(format: str, config: dict[str, Any]) -> tuple[ga.ContextSession, list[list[Message]]]:
    """Return every view of a session of 50 tool turns with outputs longer than the window."""
    raw = exchanges([2_000] * TURNS, format)
    session = ga.ContextSession(config, format=format)
    ends = [1 + i * (len(raw) - 1) // TURNS for i in range(TURNS + 1)]
    return session, [session.prepare(raw[:end]) for end in ends]


@formats
def test_a_sent_message_changes_on_a_pass_only_and_once(format: str) -> None:
    """Fifty turns, a pass every five: ten breaks at most, and no message is rewritten twice by the same stage."""
    session, sent = views(format, {"anchor": {"placement": "off"}, "budget": {"chars": 1_000_000}})
    broken = [report for report in session.reports if report.first_changed is not None]
    assert len(broken) <= TURNS // 5
    assert {report.break_cause for report in broken} == {"pass"}
    assert all(now[: len(before)] == before for before, now, report in steps(sent, session) if report not in broken)
    rewritten = Counter(i for before, now, _ in steps(sent, session) for i, old in enumerate(before) if now[i] != old)
    assert set(rewritten.values()) == {1}


@formats
def test_what_changes_every_turn_stands_in_the_newest_message_alone(format: str) -> None:
    """The turn number, with an ephemeral anchor: everything before the newest user message is what was sent."""
    config = {"anchor": {"lifetime": "ephemeral"}, "budget": {"chars": 1_000_000}, "compact": {"interval": None}}
    session, sent = views(format, config)
    for turn, view in enumerate(sent[1:], 2):
        holding = [i for i, message in enumerate(view) if f"Current turn: {turn}" in repr(message)]
        assert holding == [len(view) - 1]
        assert "Current turn" not in repr(view[:-1])
    assert [report.first_changed for report in session.reports] == [None] * len(sent)


def steps(
    sent: list[list[Message]], session: ga.ContextSession
) -> list[tuple[list[Message], list[Message], ga.Report]]:
    """Return (view before, view, report) of each turn but the first."""
    return list(zip(sent, sent[1:], session.reports[1:], strict=False))


@pytest.mark.parametrize("interval", [1, 3, 7])
def test_breaks_are_the_passes_that_changed_something(interval: int) -> None:
    """Nothing else moves the prefix, whatever the interval."""
    config = {"compact": {"interval": interval}, "anchor": {"placement": "off"}, "budget": {"chars": 1_000_000}}
    session, _ = views("anthropic", config)
    changed = [report.turn for report in session.reports if report.first_changed is not None]
    assert changed == [report.turn for report in session.reports if report.compacted]
