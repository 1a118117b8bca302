"""The one state of a session: its rows and what decides the next bytes. Advanced in pipeline.py only.

Rows change through ``splice`` and ``append`` alone, which keep an undo log; a rollback plays it backwards, so that
returning to an earlier turn costs what was changed since, not the whole history.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from copy import copy
from dataclasses import dataclass, field, fields
from itertools import pairwise
from operator import attrgetter
from typing import Any, NamedTuple

from ga_context.archive import Archive, MemoryArchive
from ga_context.formats.base import Format
from ga_context.model import Call, Cause, Line, Message, Row

DIGEST_BYTES = 8
"""Of the sha256 of a message: two messages at one place of a list that share them are one message."""


@dataclass(slots=True)
class Marks:
    """Where the session stands: plain values, copied whole into each snapshot."""

    messages: int = 0
    """Raw messages so far; the next one gets this ordinal."""
    responses: int = 0
    """Model responses so far: runs of assistant-side messages."""
    speaking: bool = False
    """The last raw message is the model's."""
    with_results: bool = False
    """The last raw message holds tool results."""
    user_last: bool = False
    """The last raw message is user-side."""
    request: int = -1
    """The newest user request."""
    last_pass: int = 0
    """Turn of the last pass."""
    border: int = 0
    """Messages before this one were old in the last pass."""
    frontier: int = 0
    """Texts before this message are compacted: the next pass changes something behind it (cache/breakpoints.py)."""
    evicted: bool = False
    """Something was evicted."""
    raw_chars: int = 0
    """C_H of the raw history."""
    key_info: str = ""
    """The agent's own notes."""
    budget: int = 0
    """B of the last turn."""
    shrink: float = 1.0
    """Share of B that is left after refusals by the provider."""
    scale: float | None = None
    """Characters per token as they were measured, where they hold in place of the configured ones."""
    schema: str = ""
    """Digest of the tool definitions of the last turn (text format)."""
    schema_turn: int = 0
    """The turn that showed them in full last."""
    schema_chars: int = 0
    """Characters of messages that were sent for the first time since."""
    payload_bytes: int = 0
    """Bytes of all payloads that ever came in, as they are sent; 0: there is nothing to weigh."""

    def copy(self) -> Marks:
        """Return equal marks that can be advanced apart."""
        return Marks(*_values_of(self))


_values_of: Callable[[Marks], tuple[Any, ...]] = attrgetter(*Marks.__slots__)


class Snapshot(NamedTuple):
    """The state after a turn, as what must be taken back to return to it."""

    marks: Marks
    undo: int
    calls: int
    pairs: int
    lines: tuple[int, Line | None]
    rebased: bool = False
    """The caller changed a view in this turn: it can not be made again from the raw messages alone."""


class Base(NamedTuple):
    """A view from which later ones can be made again, and what belongs to it."""

    marks: Marks
    rows: list[Row]
    calls: int
    pairs: int
    lines: list[Line]


class Past(NamedTuple):
    """Turns of a loaded session that are not in the undo log: to go back to one, they are played again."""

    turns: int
    """How many snapshots have nothing but their marks."""
    base: Base | None
    """The view before the first of them; None: the empty one."""
    config: Any
    """The configuration that they ran with."""


@dataclass(slots=True)
class State:
    """Everything a session knows of its messages."""

    fmt: Format
    archive: Archive = field(default_factory=MemoryArchive)
    decided: bool = True
    """The format is certain; else it is read as openai-chat until the list shows more (spec 6)."""
    marks: Marks = field(default_factory=Marks)
    raw: list[Message] = field(default_factory=list)
    """The caller's messages by ordinal; the objects that came first."""
    sizes: list[int] = field(default_factory=list)
    """C_H of each raw message."""
    given: list[Message] | None = None
    """The list that was passed last, where it was not the raw history but a view with new messages."""
    given_rows: int = 0
    """How many messages of ``given`` were the view."""
    given_base: int = 0
    """How many raw messages that view stood for."""

    rows: list[Row] = field(default_factory=list)
    view: list[Message] = field(default_factory=list)
    """What each row sends."""
    chars: int = 0
    """C_H of the view."""
    payload_bytes: int = 0
    """Bytes of the payloads in the view, as they are sent."""
    payload_chars: int = 0
    """What they count in C_H."""
    text_bytes: int | None = None
    """Bytes of the view as JSON in UTF-8 without its payloads; None until the limit of a request came near."""

    calls: list[Call] = field(default_factory=list)
    unanswered: dict[str, list[Call]] = field(default_factory=dict)
    """By the names under which they wait: the id that the caller's list shows, and others of the format's."""
    used: dict[str, int] = field(default_factory=dict)
    """Call ids in use, with the last suffix given to a repeated one."""
    named: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Tools of the newest call by the id that the caller's list shows."""
    pairs: list[tuple[int, Call]] = field(default_factory=list)
    """(ordinal of a result, the call it answers), as they came."""
    lines: list[Line] = field(default_factory=list)
    """Turns and requests for the anchor."""

    undo: list[tuple[int, int, list[Row]]] = field(default_factory=list)
    """(start, rows put there, rows taken out) of each splice."""
    snapshots: list[Snapshot] = field(default_factory=list)
    touched: int = 0
    """The first row changed since the turn began."""
    unrepaired: tuple[int, int] = (0, 0)
    """From the first row on, and up to which, rows or their neighbours changed since the list was made valid."""
    causes: set[Cause] = field(default_factory=set)
    """Why rows that were sent before have changed."""
    sent: int = 0
    """Rows of the previous view that still stand; what comes behind them is new."""
    pending: Any = None
    """What was loaded, until a list brings the messages."""
    past: Past | None = None
    """Turns before it was loaded."""
    digests: bytearray = field(default_factory=bytearray)
    """Of the raw messages, as far as a dump has needed them."""
    rebased: bool = False
    """The caller changed a view in this turn."""

    def __post_init__(self) -> None:
        if not self.snapshots:
            self.snapshots.append(self.snapshot())

    # -- rows -----------------------------------------------------------------------------------------------------

    def splice(self, start: int, stop: int, rows: Sequence[Row], cause: Cause, valid: bool = False) -> None:
        """Put ``rows`` in the place of those from ``start`` to ``stop``; the view changes here and in ``append`` only.

        ``valid`` says that the list is as valid as before: texts were cut, nothing came or went.
        """
        old = self.rows[start:stop]
        same = 0
        while same < len(old) and same < len(rows) and old[same] is rows[same]:
            same += 1
        if same:
            start, old, rows = start + same, old[same:], rows[same:]
        if not old and not rows:
            return
        if not (cause == "merge" and self._was_put_this_turn(start, len(old), len(rows))):
            self.undo.append((start, len(rows), old))
        self._replace(start, old, rows)
        if not valid:
            self._note_change(start, len(old), len(rows))
        if start < self.sent:
            self.causes.add(cause)

    def _was_put_this_turn(self, start: int, old: int, new: int) -> bool:
        """Return whether the last entry of the undo log put just these rows, so that it stands for what comes now too.

        A run of neighbours that become one would else keep each row on its way.
        """
        if len(self.undo) <= self.snapshots[-1].undo:
            return False
        at, count, _ = self.undo[-1]
        return at == start and count == old == new

    def append(self, row: Row) -> None:
        """Put a new message behind the others."""
        start = len(self.rows)
        self.undo.append((start, 1, []))
        self.rows.append(row)
        self.view.append(row.out)
        self.chars += row.size
        self._weigh((), (row,))
        self._note_change(start, 0, 1)

    def _note_change(self, start: int, old: int, new: int) -> None:
        """Widen what must be made valid by rows put in the place of old ones, and by the row behind them."""
        first, stop = self.unrepaired
        if first == stop:
            self.unrepaired = (start, start + new + 1)
            return
        shift = new - old
        first = first + shift if first >= start + old else min(first, start)
        stop = stop + shift if stop >= start + old else stop
        self.unrepaired = (min(first, start), max(stop, start + new + 1))

    def _replace(self, start: int, old: Sequence[Row], rows: Sequence[Row]) -> None:
        """Put rows in the place of the old ones."""
        for row in old:
            self.chars -= row.size
        for row in rows:
            self.chars += row.size
        self._weigh(old, rows)
        self.rows[start : start + len(old)] = rows
        self.view[start : start + len(old)] = [row.out for row in rows]
        if start < self.touched:
            self.touched = start

    def _weigh(self, old: Sequence[Row], new: Sequence[Row]) -> None:
        """Count payloads, and bytes once these matter, for rows that go and come."""
        if not (self.marks.payload_bytes or self.text_bytes is not None):
            return
        for sign, rows in ((-1, old), (1, new)):
            for row in rows:
                weight, chars = self.fmt.load(row.blocks)
                self.payload_bytes += sign * weight
                self.payload_chars += sign * chars
                if self.text_bytes is not None:
                    self.text_bytes += sign * self.fmt.text_bytes(row)

    def body_bytes(self, near: int) -> int:
        """Return the bytes of the view in a request; where it is surely below ``near``, a figure that is no less."""
        around = 2 * max(1, len(self.rows)) + self.payload_bytes  # brackets and commas of the list
        at_most = self.fmt.measure.most_bytes * (self.chars - self.payload_chars) + around
        if at_most <= near:
            return at_most
        if self.text_bytes is None:
            self.text_bytes = sum([self.fmt.text_bytes(row) for row in self.rows])
        return self.text_bytes + around

    def mark(self, **values: object) -> None:
        """Advance the marks."""
        for name, value in values.items():
            setattr(self.marks, name, value)

    def fork(self) -> State:
        """Return a state that goes on from here by itself; messages, rows and originals are shared, none is copied."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        copied = {
            name: copy(value) for name, value in values.items() if isinstance(value, list | dict | set | bytearray)
        }
        waiting = {key: list(calls) for key, calls in self.unanswered.items()}
        return State(**{**values, **copied, "marks": self.marks.copy(), "unanswered": waiting})

    # -- going back -----------------------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """Return what is needed to come back to this point."""
        last = self.lines[-1] if self.lines else None
        lines = (len(self.lines), last)
        return Snapshot(self.marks.copy(), len(self.undo), len(self.calls), len(self.pairs), lines, self.rebased)

    def begin(self) -> None:
        """Start a turn: from here on, changes to what was sent are counted."""
        self.touched = self.sent = len(self.rows)
        self.causes.clear()
        self.rebased = False

    def latest(self, messages: int) -> int:
        """Return the raw messages of the latest turn that had at most this many."""
        return next(s.marks.messages for s in reversed(self.snapshots) if s.marks.messages <= messages)

    def restore(self, messages: int) -> None:
        """Return to the latest turn that had at most this many raw messages."""
        while len(self.snapshots) > 1 and self.snapshots[-1].marks.messages > messages:
            self.snapshots.pop()
        point = self.snapshots[-1]
        while len(self.undo) > point.undo:
            start, count, old = self.undo.pop()
            self._replace(start, self.rows[start : start + count], old)
            self._note_change(start, count, len(old))
        del self.calls[point.calls :], self.pairs[point.pairs :]
        count, line = point.lines
        del self.lines[count:]
        if line is not None:
            self.lines[-1] = line
        self.marks = point.marks.copy()
        self._forget_from(point.marks.messages)

    def go_back(self, messages: int | None, rows: int | None) -> int:
        """Return to a turn, then keep only the first rows; return the ordinal of the next raw message.

        What the provider refused it would refuse again: a smaller budget stays, and so does what was measured.
        """
        shrink, scale = self.marks.shrink, self.marks.scale
        if messages is not None:
            self.restore(messages)
        if rows is not None:
            self.cut_back(rows)
        self.mark(shrink=shrink, scale=scale)
        self.sent = min(self.sent, self.touched)
        self.causes.add("caller")
        return self.marks.messages

    def cut_back(self, rows: int) -> None:
        """Keep the first rows as they are and forget the raw messages behind them."""
        if rows == len(self.rows):
            return
        self.rebased = True
        self.splice(rows, len(self.rows), [], "caller")
        ordinal = 1 + max([row.last for row in self.rows], default=-1)
        while len(self.snapshots) > 1 and self.snapshots[-1].marks.messages > ordinal:
            self.snapshots.pop()
        self.calls = [call for call in self.calls if call.ordinal < ordinal]
        self.pairs = [pair for pair in self.pairs if pair[0] < ordinal]
        self.lines = [line for line in self.lines if line.ordinal < ordinal]
        sides = ["", *[row.side for row in self.rows]]
        spoken = sum([before != "assistant" and side == "assistant" for before, side in pairwise(sides)])
        responses = max([line.turn for line in self.lines if not line.request], default=spoken)
        request = max([line.ordinal for line in self.lines if line.request], default=-1)
        side = self.rows[-1].side if self.rows else "system"
        self.mark(messages=ordinal, responses=responses, request=request, border=min(self.marks.border, ordinal))
        self.mark(frontier=min(self.marks.frontier, ordinal))
        self.mark(raw_chars=sum(self.sizes[:ordinal]), speaking=side == "assistant", user_last=side in ("user", "tool"))
        self._forget_from(ordinal)

    def _forget_from(self, ordinal: int) -> None:
        del self.raw[ordinal:], self.sizes[ordinal:], self.digests[DIGEST_BYTES * ordinal :]
        self.enter_calls()

    # -- calls ----------------------------------------------------------------------------------------------------

    def enter_calls(self, waiting: Container[int] | None = None) -> None:
        """Tell again which calls wait for a result: those of the numbers ``waiting``, else all that got none."""
        answered = {(call.ordinal, call.position) for _, call in self.pairs}
        self.unanswered.clear()
        self.used.clear()
        self.named.clear()
        for number, call in enumerate(self.calls):
            self.used.setdefault(call.id, 1)
            self.named[call.raw_id] = call.tools
            if number in waiting if waiting is not None else (call.ordinal, call.position) not in answered:
                self.enlist(call)

    def enlist(self, call: Call) -> None:
        """Enter a call that has no result yet."""
        for key in self.fmt.call_keys(call.raw_id, call.tools):
            self.unanswered.setdefault(key, []).append(call)
        self.used.setdefault(call.id, 1)
        self.named[call.raw_id] = call.tools

    def answer(self, key: str, ordinal: int) -> Call | None:
        """Take the call that a result with this name answers: of the latest response that has one, the first."""
        waiting = self.unanswered.get(key)
        if not waiting:
            return None
        at = len(waiting) - 1
        while at and waiting[at - 1].turn == waiting[at].turn:
            at -= 1
        call = waiting[at]
        for key in self.fmt.call_keys(call.raw_id, call.tools):
            _remove(self.unanswered[key], call)
        self.pairs.append((ordinal, call))
        return call


def _remove(calls: list[Call], call: Call) -> None:
    """Take a call out of a list, looked for from its end."""
    at = next(at for at in range(len(calls) - 1, -1, -1) if calls[at] is call)
    del calls[at]
