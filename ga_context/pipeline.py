"""The pipeline: the stages in order, and the one loop that asks each and applies what it proposes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from ga_context import closure, ledger
from ga_context.edits import Edit, Turn, apply
from ga_context.errors import BudgetExceeded
from ga_context.memory import excess_bytes, reserve
from ga_context.model import Cause, Incoming, Message
from ga_context.report import Action, Report
from ga_context.stages.anchor import anchor, stands, withdraw
from ga_context.stages.compact import compact
from ga_context.stages.evict import evict, evict_protected
from ga_context.stages.lighten import lighten
from ga_context.stages.repair import lead, repair
from ga_context.stages.shorten import shorten, shorten_request
from ga_context.stages.truncate import truncate
from ga_context.state import State

Stage: TypeAlias = Callable[[State, Turn], list[Edit]]
"""A stage looks at the state, changes nothing, and proposes edits."""


def weigh(state: State, turn: Turn) -> list[Edit]:
    """Note C_H before stages 2 to 4, and whether it or the request's bytes are over their limit; propose nothing."""
    turn.chars_before = state.chars
    turn.over = state.chars + reserve(state, turn) > turn.budget
    if turn.budget_before is not None:
        turn.rescaled = turn.over and state.chars + reserve(state, turn) <= turn.budget_before
    turn.heavy = excess_bytes(state, turn) > 0
    return []


STAGES: tuple[Stage, ...] = (
    truncate,
    repair,
    lead,
    weigh,
    compact,
    lighten,
    evict,
    repair,
    lead,
    shorten,
    evict_protected,
    repair,
    lead,
    shorten,
    shorten_request,
    anchor,
)
"""Stages 1, 2, 3, 3b and 4 of the report; repair also makes valid what came in, before anything is measured."""

CAUSES: tuple[Cause, ...] = ("pass", "eviction", "shrink", "repair", "merge", "caller", "config")
"""In the order in which one explains a break."""


def advance(
    state: State, turn: Turn, incoming: Sequence[Incoming], stages: Sequence[Stage], before: Sequence[Message]
) -> Report:
    """Take in the new messages, run the stages, and report; ``before`` is the view that was sent last."""
    if turn.config.anchor.lifetime == "ephemeral" and incoming and (withdrawn := withdraw(state)):
        before = _less_anchor(state, turn, withdrawn, before)
    for message in incoming:
        turn.actions.extend(_take_in(state, turn, message))
    turn.number = 1 + state.marks.responses
    turn.anchored = stands(state)
    for stage in stages:
        if edits := stage(state, turn):
            apply(state, turn, edits)
        elif stage is repair:
            state.unrepaired = (0, 0)
    return _report(state, turn, before)


def _less_anchor(state: State, turn: Turn, withdrawn: Sequence[Edit], before: Sequence[Message]) -> Sequence[Message]:
    """Take the last anchor out, which is no break, and return the view before without it."""
    went_back = bool(state.causes)
    noted = len(turn.actions)
    apply(state, turn, withdrawn)
    del turn.actions[noted:]
    if went_back:
        return before
    state.begin()
    return list(state.view)


def _take_in(state: State, turn: Turn, message: Incoming) -> list[Action]:
    ledger.enter(state, message, turn.config.anchor.summary_chars)
    actions = closure.place(state, message)
    ledger.enter_placed(state, message)
    return actions


def check(state: State, turn: Turn, report: Report | None) -> None:
    """Raise ``BudgetExceeded`` when what must stay is over the budget, unless the configuration says to report."""
    settings = turn.config.budget
    if settings.on_exceeded == "report":
        return
    if state.chars > turn.budget:
        sizes = [row.size for row in state.rows]
        raise BudgetExceeded(state.chars, turn.budget, _largest(state, sizes), view=list(state.view), report=report)
    limit = settings.body_bytes
    if limit is not None and (size := state.body_bytes(limit)) > limit:
        items = _largest(state, [state.fmt.body_bytes(row) for row in state.rows])
        raise BudgetExceeded(size, limit, items, "bytes", view=list(state.view), report=report)


def _largest(state: State, sizes: Sequence[int]) -> list[tuple[str, int]]:
    items = [(f"message {row.ordinal} ({row.side})", size) for row, size in zip(state.rows, sizes, strict=True)]
    return sorted(items, key=lambda item: -item[1])[:10]


def _report(state: State, turn: Turn, before: Sequence[Message]) -> Report:
    changed = _first_changed(state, before)
    report = Report(
        turn=turn.number,
        chars_raw=state.marks.raw_chars,
        chars_before=turn.chars_before,
        chars_after=state.chars,
        budget_chars=turn.budget,
        compacted=turn.compacted,
        evicted=(min(turn.evicted), max(turn.evicted)) if turn.evicted else None,
        first_changed=changed,
        actions=turn.actions,
        pending=_pending(state),
        payload_bytes=state.payload_bytes,
        payload_chars=state.payload_chars,
        body_bytes=None if state.text_bytes is None else state.body_bytes(0),
    )
    if changed is not None:
        report.changed_pair = (before[changed], state.view[changed] if changed < len(state.view) else None)
        report.break_cause = next((cause for cause in CAUSES if cause in state.causes), None)
    if before:
        new = sum([row.size for row in state.rows[len(before) if changed is None else changed :]])
        report.cached_share = round((state.chars - new) / state.chars, 4) if state.chars else 1.0
    return report


def _first_changed(state: State, before: Sequence[Message]) -> int | None:
    """Return the first message of the view before that this one does not start with."""
    for index in range(state.touched, len(before)):
        if index >= len(state.view) or not _alike(state, before[index], state.view[index]):
            return index
    return None


def _alike(state: State, before: Message, now: Message) -> bool:
    """Return whether two messages are equal but for cache markers (spec 2: prefix)."""
    return before is now or before == now or (state.fmt.marks and state.fmt.bare(before) == state.fmt.bare(now))


def _pending(state: State) -> list[str]:
    return [block.id or "" for index in closure.pending_calls(state) for block in state.rows[index].of("call")]
