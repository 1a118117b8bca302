"""Where cache markers of ours stand (spec 10): on copies of messages in the view that goes out, and nowhere else.

Rows, reports and the prefix are the same with and without them. An entry can only be read where an earlier request had
a breakpoint, so they stand where prefixes end that come again: at the newest message, which the next turn begins with;
at the compaction frontier, the last message that a pass made old, behind which the next pass changes something; on the
turn of a pass at the frontier before, too, the last entry that still holds; at the system prompt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, NamedTuple

from ga_context.config import ContextConfig
from ga_context.formats.base import Format
from ga_context.matching import same
from ga_context.model import Message, Row
from ga_context.report import Report
from ga_context.schema import Beside
from ga_context.sections import CacheConfig
from ga_context.state import State
from ga_context.text.size import json_text

REMEMBERED = 400
"""Marked copies that are recognised in a list that is fed back: those of the last hundred turns."""

LOOKBACK = 15
"""Blocks behind the newest breakpoint of the turn before from which on it is marked again: a look-back reaches 20
positions (facts: Anthropic), and blocks that the provider adds are not seen from here."""


class Spot(NamedTuple):
    """A place for a marker."""

    row: int
    item: int
    """Of the row's blocks."""


class Placed(NamedTuple):
    """A message that went out with a marker of ours."""

    at: int
    """In the view."""
    plain: Message
    """As the session knows it."""
    marked: Message
    """The copy."""
    item: int
    """Which item of it carries the marker, or has it behind it."""

    @property
    def bare(self) -> bool:
        """The message holds a text alone, and not a list of blocks."""
        return isinstance(self.plain.get("content"), str)


class SavedMark(NamedTuple):
    """A marker of ours in the last view, as a dump keeps it."""

    at: int
    item: int
    bare: bool
    """The message held a text alone."""
    digest: str
    """Of the message with its marker."""


@dataclass(slots=True)
class Breakpoints:
    """The markers of one session's views."""

    placed: list[Placed] = field(default_factory=list)
    """In the last view."""
    beside: tuple[str, str | None] | None = None
    """("system" or "tools", time to live) of the marker beside the last view."""
    _known: dict[int, Placed] = field(default_factory=dict)
    """Every marked copy that was handed out, by its id."""
    _copies: dict[tuple[int, int, str | None], Placed] = field(default_factory=dict)
    _examined: int = 0
    """Raw messages that were looked at for markers of the caller's."""
    _callers: bool = False
    """There was one."""
    _loaded: list[SavedMark] = field(default_factory=list)

    def less_ours(self, messages: list[Message], fmt: Format) -> list[Message]:
        """Return the list with what we marked put back as it was; the list itself where nothing of ours is in it."""
        if self._loaded:
            found = {one.at: plain for one in self._loaded if (plain := _recognised(fmt, messages, one)) is not None}
            self._loaded = []  # what the first list does not show never comes
            return [found.get(i, message) for i, message in enumerate(messages)] if found else messages
        if not self._known:
            return messages
        at = {one.at: one for one in self.placed if one.at < len(messages)}
        found = {i: one.plain for i, one in at.items() if same([messages[i]], [one.marked])}
        if not self._known.keys().isdisjoint(map(id, messages)):
            found |= {i: known.plain for i, m in enumerate(messages) if (known := self._known.get(id(m))) is not None}
        if not found:
            return messages
        return [found.get(i, message) for i, message in enumerate(messages)]

    def forget(self, messages: int) -> None:
        """Look at raw messages from this one on again: the list went back."""
        self._examined = min(self._examined, messages)

    def clear(self) -> None:
        """Note that the last view went out without markers of ours."""
        self.placed, self.beside = [], None

    def mark(self, state: State, beside: Beside, report: Report | None, config: ContextConfig) -> None:
        """Decide where markers stand in this turn's view, with at most ``cache.max_markers`` in all."""
        self.clear()
        settings = config.cache
        fmt = state.fmt
        if not fmt.marks or not state.rows:
            return
        callers = self._callers_spots(state)
        free = settings.max_markers - sum([n for _, n, _ in callers]) - len(beside.markers)
        taken = {spot for spot, _, _ in callers}
        around = "system" if beside.system else "tools" if beside.tools else None
        for spot in _wanted(state, report, config):
            if spot is None:
                around, free = self._mark_beside(around, free, beside, callers, settings)
            elif free > 0 and spot not in taken:
                taken.add(spot)
                free -= 1
                self._place(state, spot, _ttl(spot, beside.markers, callers, settings.ttl))
        self.placed.sort(key=lambda one: one.at)
        for key in [*self._known][: max(0, len(self._known) - REMEMBERED)]:
            del self._known[key]
        for spot_key in [*self._copies][: max(0, len(self._copies) - REMEMBERED)]:
            del self._copies[spot_key]

    def _mark_beside(
        self, around: str | None, free: int, beside: Beside, callers: Sequence[Any], settings: CacheConfig
    ) -> tuple[None, int]:
        if around is None or free <= 0 or beside.markers:
            return None, free
        self.beside = (around, _ttl(Spot(-1, 0), (), callers, settings.ttl))
        return None, free - 1

    def view(self, state: State) -> list[Message]:
        """Return the view that goes out: a new list, with the marked copies in it."""
        view = list(state.view)
        for one in self.placed:
            if one.at < len(view) and view[one.at] is one.plain:
                view[one.at] = one.marked
        return view

    def saved(self) -> list[SavedMark]:
        """Return the markers of the last view for a dump."""
        return [SavedMark(one.at, one.item, one.bare, _digest(one.marked)) for one in self.placed]

    def load(self, saved: list[SavedMark]) -> None:
        """Take the markers of the last view from a dump."""
        self._loaded = list(saved)

    def shown(self, state: State, part: str, value: Any) -> Any:
        """Return the system prompt or the tool definitions as they go out."""
        if self.beside is None or self.beside[0] != part:
            return value
        return state.fmt.marked_beside(value, self.beside[1])

    def _place(self, state: State, spot: Spot, ttl: str | None) -> None:
        plain = state.view[spot.row]
        key = (id(plain), spot.item, ttl)
        known = self._copies.get(key)
        if known is None:
            marked = state.fmt.marked(plain, spot.item, ttl)
            known = self._copies[key] = self._known[id(marked)] = Placed(spot.row, plain, marked, spot.item)
        self.placed.append(known._replace(at=spot.row))

    def _callers_spots(self, state: State) -> list[tuple[Spot, int, str | None]]:
        """Return (place, markers in it, time to live) of the caller's own; looked for only once there was one."""
        rows, fmt = state.rows, state.fmt
        start = 0
        if not self._callers:
            start = len(rows)
            while start > 0 and rows[start - 1].last >= self._examined:
                start -= 1
        found = [
            (Spot(index, place - (block.kind == "marker")), fmt.markers(block), fmt.ttl_of(block.base))
            for index in range(start, len(rows))
            for place, block in enumerate(rows[index].blocks)
            if fmt.markers(block)
        ]
        self._examined = state.marks.messages
        self._callers = self._callers or bool(found)
        return found


def _ttl(spot: Spot, beside: Sequence[str], callers: Sequence[tuple[Spot, int, str | None]], wanted: str) -> str:
    """Return a time to live that stands in order: a longer one before a shorter."""
    if any(ttl == "1h" for at, _, ttl in callers if at > spot):
        return "1h"
    shorter = "5m" in beside or any(ttl == "5m" for at, _, ttl in callers if at < spot)
    return "5m" if shorter else wanted


def cache_key(state: State, system: Any) -> str | None:
    """Return a key that routes the requests of one session to one cache: of its beginning, the same every turn.

    Of the system prompt and the messages up to the first of the user's; None before there is one, and where a loaded
    session was only given its view, and its beginning had left that.
    """
    fmt = state.fmt
    first = next((i for i, raw in enumerate(state.raw) if raw is None or fmt.side_of(raw) == "user"), None)
    if first is None or any(raw is None for raw in state.raw[: first + 1]):
        return None
    return "ga-" + _digest([system, *state.raw[: first + 1]])


def _digest(value: Any) -> str:
    return sha256(json_text(value).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _recognised(fmt: Format, messages: Sequence[Message], one: SavedMark) -> Message | None:
    """Return a message of a list without our marker, if it is the one that the dump speaks of."""
    if one.at >= len(messages) or _digest(messages[one.at]) != one.digest:
        return None
    return fmt.unmarked_at(messages[one.at], one.item, one.bare)


def _wanted(state: State, report: Report | None, config: ContextConfig) -> list[Spot | None]:
    """Return where markers should stand, the most useful first; None stands for the one beside the messages."""
    rows, now = state.rows, state.marks
    ephemeral = config.anchor.lifetime == "ephemeral"
    before = state.snapshots[-2].marks if len(state.snapshots) > 1 else None
    shared = report.first_changed if report is not None and report.first_changed is not None else len(rows)
    newest = _spot(state, len(rows) - 1, ephemeral)
    wanted = [newest, _spot(state, _last_before(rows, now.frontier), ephemeral)]
    head = _spot(state, min(max(0, config.evict.keep_first - 1), len(rows) - 1), ephemeral)
    if before is not None:
        old = _last_before(rows, before.frontier)
        previous = _last_before(rows, before.messages)
        if before.frontier != now.frontier and 0 <= old < shared:
            wanted.append(_spot(state, old, ephemeral))
        elif shared < len(rows):
            wanted.append(head)
        elif sum([len(row.blocks) for row in rows[previous + 1 :]]) > LOOKBACK:
            wanted.append(_spot(state, previous, ephemeral))
    return [*[spot for spot in wanted if spot is not None], None, *([head] if head is not None else [])]


def _last_before(rows: Sequence[Row], ordinal: int) -> int:
    """Return the last row that holds raw messages before this one only, or -1."""
    index = len(rows) - 1
    while index >= 0 and rows[index].last >= ordinal:
        index -= 1
    return index


def _spot(state: State, index: int, ephemeral: bool) -> Spot | None:
    """Return the last place in a row, or in those before, where a marker may stand before what is gone next turn."""
    while index >= 0:
        blocks = state.rows[index].blocks
        for place in range(len(blocks) - 1, -1, -1):
            block = blocks[place]
            passing = ephemeral and (block.kind == "anchor" or block.note is not None)
            if not passing and state.fmt.may_mark(block.wire):
                return Spot(index, place)
        index -= 1
    return None
