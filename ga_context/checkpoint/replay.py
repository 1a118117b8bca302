"""Turns of a loaded session played again, so that a rollback or change finds them as if it had never been written down.

A session is a function of its raw messages and of what each turn was given beside them, which a dump holds.
"""

from __future__ import annotations

from collections.abc import Sequence

from ga_context.config import ContextConfig
from ga_context.edits import Turn
from ga_context.model import Message
from ga_context.pipeline import Stage, advance
from ga_context.reading import read_all
from ga_context.state import Base, Past, Snapshot, State


def went_back(state: State, messages: int, config: ContextConfig, stages: Sequence[Stage]) -> State:
    """Return a state that can go back to the latest turn with at most so many raw messages.

    It is the given one, unless that turn was before a load: then it is one that has that turn as its last.
    """
    past = state.past
    if past is None:
        return state
    at = next(at for at in range(len(state.snapshots) - 1, -1, -1) if state.snapshots[at].marks.messages <= messages)
    if at >= past.turns:
        return state
    shrink, scale = state.marks.shrink, state.marks.scale
    first = 1 + (past.base is not None)
    fresh = State(state.fmt, state.archive, decided=state.decided)
    if past.base is not None and at >= 1:
        start_from(fresh, past.base, state)
    replay(fresh, state.raw, state.snapshots[first : at + 1], past.config, stages)
    fresh.past = Past(len(fresh.snapshots) - 1, past.base, past.config) if past.config != config else None
    fresh.mark(shrink=shrink, scale=scale)
    return fresh


def start_from(fresh: State, base: Base, state: State) -> None:
    """Put the view that a replay starts from into an empty state; calls and raw messages are those of ``state``."""
    end = base.marks.messages
    fresh.raw.extend(state.raw[:end])
    fresh.sizes.extend(state.sizes[:end])
    fresh.calls.extend(state.calls[: base.calls])
    fresh.pairs.extend(state.pairs[: base.pairs])
    fresh.lines.extend(base.lines)
    fresh.marks = base.marks.copy()
    fresh.enter_calls()
    fresh.splice(0, 0, base.rows, "config")
    fresh.snapshots.append(fresh.snapshot()._replace(rebased=True))


def replay(
    fresh: State, raw: Sequence[Message], turns: Sequence[Snapshot], config: ContextConfig, stages: Sequence[Stage]
) -> None:
    """Run turns again, each known by its marks, over their raw messages."""
    for one in turns:
        _play(fresh, raw, one, config, stages)


def _play(
    fresh: State, raw: Sequence[Message], point: Snapshot, config: ContextConfig, stages: Sequence[Stage]
) -> None:
    """Run one turn again."""
    marks, start = point.marks, fresh.marks.messages
    incoming, _ = read_all(fresh.fmt, fresh.archive, raw[: marks.messages], start, start)
    turn = Turn(1 + fresh.marks.responses, config, marks.budget, start)
    before = list(fresh.view)
    fresh.begin()
    fresh.mark(key_info=marks.key_info, budget=marks.budget, shrink=marks.shrink)
    advance(fresh, turn, incoming, stages, before)
    fresh.mark(schema=marks.schema, schema_turn=marks.schema_turn, schema_chars=marks.schema_chars)
    fresh.snapshots.append(fresh.snapshot())
