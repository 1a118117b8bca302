"""A session as JSON: columns of what each raw message and turn was, and the view as what differs from the raw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from operator import attrgetter
from typing import Any

from ga_context.archive import MemoryArchive
from ga_context.cache.breakpoints import SavedMark
from ga_context.cache.usage import Tokens
from ga_context.checkpoint.columns import digest, packed, runs, steps
from ga_context.checkpoint.rows import Writer
from ga_context.checkpoint.saved import VERSION, write
from ga_context.closure import awaited
from ga_context.config import ContextConfig
from ga_context.model import Line
from ga_context.state import DIGEST_BYTES, Base, Marks, Snapshot, State
from ga_context.text.clean import is_encodable
from ga_context.text.plain import plain

ORIGINALS = ("originals", "archive", "binary", "halves")

TURN_MARKS = {
    "budget": "budget",
    "shrink": "shrink",
    "key_info": "key_info",
    "schema_digest": "schema",
    "schema_turn": "schema_turn",
    "schema_chars": "schema_chars",
}
"""Column -> the mark that says what a turn was given beside the messages."""

FOLDED_PER_LINE = 20
"""Turns that a line of ``earlier_context`` may stand for (memory.py)."""


def dump(
    state: State,
    config: ContextConfig,
    originals: bool,
    *,
    usage: Mapping[str, float],
    noted: str | None,
    measured: Mapping[str, Tokens],
    marked: Sequence[SavedMark],
) -> str:
    """Return a session as JSON text, with the originals or without; beside the state, what else it was told."""
    said = {
        "usage": {name: float(number) for name, number in usage.items()},
        "noted": noted,
        "measured": {model: asdict(sums) for model, sums in measured.items()},
        "marked": [list(mark) for mark in marked],
    }
    if state.pending is not None:
        return write(_again(state, config, said, originals))
    writer = Writer(state)
    at = _rebased(state, config)
    snapshots = state.snapshots[at + 1 :]
    base = _base(state, at) if at else None
    past = state.past.config if state.past is not None and at < state.past.turns else config
    settings = config.anchor
    keep = settings.summaries, settings.earlier_lines * FOLDED_PER_LINE
    now = Base(state.marks, state.rows, len(state.calls), len(state.pairs), state.lines)
    waiting = [row.ordinal for row in awaited(state, state.marks.messages)] if state.fmt.flat else []
    saved = {
        "version": VERSION,
        "config": config.to_dict(),
        **({} if past == config else {"past_config": past.to_dict()}),
        "format": state.fmt.name,
        "decided": state.decided,
        **said,
        "raw": packed(digests(state)),
        "sizes": state.sizes,
        "now": _view(writer, now, keep),
        "archive_name": state.archive.name,
        "awaited": waiting,
        **({} if base is None else {"base": _view(writer, base, keep)}),
        "turns": _turns(snapshots),
        "calls": _calls(state, writer),
        "templates": writer.templates.values,
        "tools": writer.tools.values,
        "heads": writer.heads.values,
        "paths": writer.paths.values,
    }
    return write(saved | _originals(state, waiting) if originals else saved)


def digests(state: State) -> bytearray:
    """Return the digests of all raw messages; those that came since the last dump are made now."""
    known = len(state.digests) // DIGEST_BYTES
    state.digests += b"".join([digest(message, state.fmt.as_input) for message in state.raw[known:]])
    return state.digests


def _again(state: State, config: ContextConfig, said: dict[str, Any], originals: bool) -> dict[str, Any]:
    """Return what was loaded and has not been used yet, with what was said to the session since."""
    saved = dict(state.pending.plain)
    if not originals:
        saved = {name: value for name, value in saved.items() if name not in ORIGINALS}
    if config.to_dict() != saved["config"]:
        saved = {**saved, "config": config.to_dict(), "past_config": saved.get("past_config", saved["config"])}
    return {**saved, **said}


def _rebased(state: State, config: ContextConfig) -> int:
    """Return the number of the last turn from which on all can be played again: 0, or one with a base."""
    at = max([number for number, one in enumerate(state.snapshots) if one.rebased], default=0)
    if state.past is not None and state.past.config != config and len(state.snapshots) > state.past.turns + 1:
        at = max(at, state.past.turns)
    return at


def _base(state: State, at: int) -> Base:
    """Return the view after a turn, from the undo log or as it was loaded."""
    if state.past is not None and at < state.past.turns:
        assert state.past.base is not None
        return state.past.base
    point = state.snapshots[at]
    rows = list(state.rows)
    for start, count, old in reversed(state.undo[point.undo :]):
        rows[start : start + count] = old
    count, line = point.lines
    lines = [*state.lines[: count - 1], line] if line is not None else []
    return Base(point.marks, rows, point.calls, point.pairs, lines)


def _view(writer: Writer, base: Base, keep: tuple[int, int]) -> dict[str, Any]:
    rows = writer.rows(base.rows)
    marks = {name: getattr(base.marks, name) for name in Marks.__slots__}
    lines = [list(line) for line in _needed_lines(base.lines, *keep)]
    return {"marks": marks, "rows": rows, "lines": lines, "calls": base.calls, "pairs": base.pairs}


def _needed_lines(lines: Sequence[Line], summaries: int, earlier: int) -> Sequence[Line]:
    """Return the newest lines, as far back as an anchor looks: so many turns with the requests between them."""
    start, missing = len(lines), max(1, summaries)
    while start > 0 and missing > 0:
        start -= 1
        missing -= not lines[start].request
    while start > 0 and lines[start].request:
        start -= 1
    return lines[max(0, start - earlier) :]


def _turns(snapshots: Sequence[Snapshot]) -> dict[str, Any]:
    marks = [one.marks for one in snapshots]
    columns = {column: runs(map(attrgetter(mark), marks)) for column, mark in TURN_MARKS.items()}
    return {"messages": steps([mark.messages for mark in marks]), **columns}


def _calls(state: State, writer: Writer) -> dict[str, Any]:
    calls = state.calls
    numbers = {id(call): number for number, call in enumerate(calls)}
    waiting = {numbers[id(call)] for held in state.unanswered.values() for call in held}
    return {
        "ordinal": steps([call.ordinal for call in calls]),
        "position": runs([call.position for call in calls]),
        "turn": steps([call.turn for call in calls]),
        "raw_id": [call.raw_id for call in calls],
        "tools": runs([writer.tools.number(call.tools) for call in calls]),
        "renamed": [(number, call.id) for number, call in enumerate(calls) if call.id != call.raw_id],
        "waiting": sorted(waiting),
        "pairs": steps([ordinal for ordinal, _ in state.pairs]),
        "paired": steps([numbers[id(call)] for _, call in state.pairs]),
    }


def _originals(state: State, waiting: Sequence[int]) -> dict[str, Any]:
    """Return the raw messages that the view does not show as they came, and what is archived in memory.

    Reasoning that waits for what follows it is one of them: it is not in the view at all.
    """
    shown = {block.ordinal for row in state.rows for block in row.blocks if not block.ours}
    whole = {row.ordinal for row in state.rows if row.ordinal < len(state.raw) and row.out is state.raw[row.ordinal]}
    archive = state.archive
    entries = archive.entries if isinstance(archive, MemoryArchive) else {}
    texts = {ref: text for ref, text in entries.items() if isinstance(text, str)}
    halves = {ref: text for ref, text in texts.items() if not is_encodable(text)}
    return {
        "originals": {str(at): plain(state.raw[at], state.fmt.as_input) for at in sorted({*shown, *waiting} - whole)},
        "archive": {ref: text for ref, text in texts.items() if ref not in halves},
        "halves": {ref: packed(text.encode("utf-8", "surrogatepass")) for ref, text in halves.items()},
        "binary": {ref: packed(data) for ref, data in entries.items() if isinstance(data, bytes)},
    }
