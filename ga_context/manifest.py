"""Where every character of the raw history is now: in the view, in an excerpt, or archived; since when, and why.

Nothing is kept for it. The rows say what is sent, the undo log what was sent before, the reports why it changed; a
question is answered from these when it is asked. Characters are those of a part: one text in a message, named as in the
report's actions.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from ga_context.archive import MemoryArchive
from ga_context.errors import InvalidMessages
from ga_context.ledger import CHECKPOINT_TOOL
from ga_context.model import Block, Path
from ga_context.reading import read
from ga_context.report import Action, Report, Stage
from ga_context.state import State
from ga_context.text.size import json_text

Place = Literal["view", "excerpt", "archived", "superseded"]

Range = tuple[int, int]

Held = tuple[str | None, int | None, int | None, Literal["text", "message", "block"] | None]
"""Reference, first character, end and form of what an original holds."""


@dataclass(frozen=True, slots=True)
class Span:
    """Characters of one text of a raw message that share their fate."""

    message: int
    """Raw message, counted over the session."""
    part: str
    """The block in it, with the path to the text: as in ``Action.part``."""
    start: int
    end: int
    """Characters of that text."""
    place: Place
    """view: in a text that is sent whole; excerpt: in one that is sent cut; archived: not sent; superseded: not sent,
    and a newer key_info has taken its place."""
    shown: int | None = None
    """The message of the view that shows them."""
    shown_start: int | None = None
    """Where they begin in the text as it is sent there."""
    ref: str | None = None
    """Under which they can be had back."""
    ref_start: int | None = None
    ref_end: int | None = None
    """Which characters of the original."""
    held_as: Literal["text", "message", "block"] | None = None
    """What these are: the characters themselves, or JSON of the message or of the block that holds them."""
    turn: int | None = None
    """The turn in which they left the view."""
    stage: Stage | None = None
    """By which stage; None where no report of this session says so."""
    reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        head = f"message {self.message} part {self.part} [{self.start:,}:{self.end:,}]: {self.place}"
        shown = f", message {self.shown} of the view" if self.shown is not None else ""
        if self.ref is None:
            return head + shown
        span = "" if self.ref_start is None else f" [{self.ref_start:,}:{self.ref_end:,}]"
        held = "" if self.held_as == "text" else f", in the JSON of its {self.held_as}"
        why = f"; left in turn {self.turn}" if self.turn is not None else ""
        why += f" by {self.stage}: {self.reason}" if self.stage else ""
        return f"{head}{shown}, ref {self.ref}{span}{held}{why}"


def where(
    state: State,
    reports: Sequence[Report],
    message: int,
    start: int = 0,
    end: int | None = None,
    part: str | None = None,
    history: History | None = None,
) -> list[Span]:
    """Return where characters of a raw message are, in order.

    Args:
        state: of the session.
        reports: of all turns.
        message: its ordinal.
        start: first character; of the part, or with none named of all texts of the message one behind the other.
        end: behind the last one; None: to the end.
        part: as an action or another span names it.
        history: what was found out already, for many questions.
    """
    texts = _texts(state, message)
    if part is not None:
        texts = [one for one in texts if _name(*one[:2]) == part]
        if not texts:
            known = ", ".join(_name(*one[:2]) for one in _texts(state, message)) or "none"
            raise InvalidMessages(f"has no part {part!r}; its texts are: {known}", message)
    history = history or History(state, reports, message)
    spans: list[Span] = []
    offset = 0
    for position, path, text in texts:
        low, high = max(0, start - offset), len(text) if end is None else min(len(text), end - offset)
        offset += len(text)
        if low < high:
            found = _Text(state, history, message, position, path, text).spans()
            spans += [_clipped(one, low, high) for one in found if one.start < high and one.end > low]
    return spans


def everything(state: State, reports: Sequence[Report]) -> Iterator[Span]:
    """Yield the spans of the whole raw history, as far as its messages are known."""
    history = History(state, reports)
    for message, raw in enumerate(state.raw):
        if raw is not None:
            yield from where(state, reports, message, history=history)


def recovered(state: State, span: Span) -> str:
    """Return the characters of a span: from the view where they are in it, else from the archive alone."""
    position, path = _place(span.part)
    if span.ref is None:
        if span.shown is None or span.shown_start is None:
            raise InvalidMessages("has left the view, and no reference is known", span.message, span.part)
        blocks = state.rows[span.shown].blocks
        block = next(one for one in blocks if one.ordinal == span.message and one.position == position)
        return _sent_text(state, block, path)[span.shown_start :][: span.end - span.start]
    original = state.archive.recall(span.ref)
    if isinstance(original, bytes):
        raise InvalidMessages("is no text", span.message, span.part)
    original = original[span.ref_start : span.ref_end]
    if span.held_as == "text":
        return original
    data = json.loads(original)
    if span.held_as == "message":
        blocks = read(state.fmt, MemoryArchive(), data, span.message, span.message)[0].blocks
    else:
        like = next(block for block in _blocks(state, span.message) if block.position == position)
        blocks = (like._replace(base=data),)
    block = next(block for block in blocks if block.position == position)
    return _text_at(state, block, path)[span.start : span.end]


# -- what a message holds


def _blocks(state: State, message: int) -> tuple[Block, ...]:
    if not 0 <= message < len(state.raw):
        known = f"the session knows the messages 0 to {len(state.raw) - 1}" if state.raw else "the session knows none"
        raise InvalidMessages(f"is not there; {known}", message)
    raw = state.raw[message]
    if raw is None:
        raise InvalidMessages("is not known: the session goes on from a view; pass it the whole raw list", message)
    return read(state.fmt, MemoryArchive(), raw, message, message)[0].blocks


def _texts(state: State, message: int) -> list[tuple[int, Path, str]]:
    """Return (position of the block, path, text) of each text in a message."""
    blocks = _blocks(state, message)
    return [(block.position, path, text) for block in blocks for path, text in state.fmt.texts(block, -1)]


def _name(position: int, path: Path) -> str:
    return ".".join([str(key) for key in (position, *path)])


def _place(part: str) -> tuple[int, str]:
    position, _, rest = part.partition(".")
    return int(position), rest


def _text_at(state: State, block: Block, path: str) -> str:
    return next(text for at, text in state.fmt.texts(block, -1) if ".".join(map(str, at)) == path)


def _sent_text(state: State, block: Block, path: str) -> str:
    """Return a text of the view as it is sent; of a block that has another there, its first."""
    texts = {".".join(map(str, at)): (at, text) for at, text in state.fmt.texts(block, -1)}
    at, text = texts[path] if path in texts else next(iter(texts.values()))
    cut = dict(block.cuts).get(at)
    return cut.apply(text) if cut is not None else text


# -- what was sent of it, and what is


class History:
    """Blocks as they were sent, each with when the next one came, and what was done in each turn."""

    def __init__(self, state: State, reports: Sequence[Report], only: int | None = None) -> None:
        """Look through the undo log and the reports once; ``only`` for one message."""
        self._undo_of_turns = [point.undo for point in state.snapshots]
        self._turns = [1 + point.marks.responses for point in state.snapshots]
        self.past: dict[tuple[int, int], list[tuple[int, Block]]] = {}
        self.now: dict[tuple[int, int], tuple[int, Block]] = {}
        for step, (_, _, rows) in enumerate(state.undo):
            for block in [block for row in rows for block in row.blocks if only in (None, block.ordinal)]:
                self.past.setdefault((block.ordinal, block.position), []).append((step, block))
        for index, row in enumerate(state.rows):
            for block in [block for block in row.blocks if only in (None, block.ordinal) and not block.ours]:
                self.now[block.ordinal, block.position] = (index, block)
        self.done: dict[int | None, list[Action]] = {None: []}
        for report in reversed(reports):
            about = [one for one in report.actions if one.ref is not None and (only is None or _concerns(one, only))]
            self.done.setdefault(report.turn, []).extend(about)
            self.done[None].extend(about)

    def turn(self, step: int) -> int | None:
        """Return the turn in which a step of the undo log was made."""
        at = bisect_right(self._undo_of_turns, step)
        return self._turns[at] if at < len(self._turns) else None

    def run(self, state: State, message: int, step: int | None) -> Range:
        """Return the first and last message of an unbroken run that left the view with one, for good."""
        if step is None:
            return message, message
        later = [row for _, _, rows in state.undo[step + 1 :] for row in rows]
        stayed = {block.ordinal for row in [*later, *state.rows] for block in row.blocks if not block.ours}
        gone = {block.ordinal for row in state.undo[step][2] for block in row.blocks} - stayed
        first = last = message
        while first - 1 in gone:
            first -= 1
        while last + 1 in gone:
            last += 1
        return first, last


def _concerns(action: Action, message: int) -> bool:
    return action.message <= message <= (action.message if action.last is None else action.last)


@dataclass(frozen=True, slots=True)
class _Text:
    """One text of a raw message."""

    state: State
    history: History
    message: int
    position: int
    path: Path
    text: str

    @property
    def part(self) -> str:
        return _name(self.position, self.path)

    def spans(self) -> list[Span]:
        """Return the spans that the text falls into."""
        shown, block = self.history.now.get((self.message, self.position), (None, None))
        pieces = self._pieces(block)
        left = _joined([piece for piece, _ in pieces])
        place: Place = "view" if left == [(0, len(self.text))] else "excerpt"
        spans = [Span(self.message, self.part, *piece, place, shown, at) for piece, at in pieces]
        after = block
        for step, before in reversed(self.history.past.get((self.message, self.position), [])):
            gone = _without(self._kept(before), left)  # what this version had and no later one has left after it
            for gap in gone:
                spans.append(self._gone(gap, step, after))
            left, after = sorted([*left, *gone]), before
        for gap in _without([(0, len(self.text))], left):
            spans.append(self._gone(gap, None, block))
        return sorted(spans, key=lambda span: span.start)

    def _stands(self, block: Block | None) -> tuple[Path, int] | None:
        """Return the path of the text in a block that holds this one, and where in it this one begins.

        It is another where arguments were mended, and a longer text where a result is told as text.
        """
        texts = dict(self.state.fmt.texts(block, -1)) if block is not None else {}
        if texts.get(self.path) == self.text:
            return self.path, 0
        cut = dict(block.cuts) if block is not None else {}
        same = [(path, 0) for path, text in texts.items() if text == self.text]
        told = [(path, at) for path, text in texts.items() if path not in cut and (at := text.find(self.text)) >= 0]
        return next(iter([*same, *told]), None)

    def _pieces(self, block: Block | None) -> list[tuple[Range, int]]:
        """Return which characters of the text a block sends, and where each range begins in what is sent."""
        stands = self._stands(block)
        if block is None or stands is None:
            return []
        path, shift = stands
        cut = dict(block.cuts).get(path)
        if cut is None:
            return [((0, len(self.text)), shift)]
        found: list[tuple[Range, int]] = []
        at = 0
        for piece in cut.pieces:
            if isinstance(piece, str):
                at += len(piece)
            elif piece[0] < piece[1]:
                found.append((piece, at))
                at += piece[1] - piece[0]
        return found

    def _kept(self, block: Block | None) -> list[Range]:
        return _joined([piece for piece, _ in self._pieces(block)])

    def _gone(self, gap: Range, step: int | None, after: Block | None) -> Span:
        """Return the span of characters that left together, by a step of the undo log."""
        turn = self.history.turn(step) if step is not None else None
        action = self._action(gap, turn, after)
        ref, low, high, held_as = self._original(gap, action, step)
        place, shown = self._key_info_now(gap) if self._is_key_info() else ("archived", (None, None))
        stage, reason = (action.stage, action.reason) if action else (None, None)
        return Span(self.message, self.part, *gap, place, *shown, ref, low, high, held_as, turn, stage, reason)

    def _action(self, gap: Range, turn: int | None, after: Block | None) -> Action | None:
        """Return the action by which characters left: the eviction of the message, a cut of the text, or a repair."""
        done = [action for action in self.history.done.get(turn, ()) if _concerns(action, self.message)]
        evicted = [action for action in done if action.last is not None]
        names = (self.part, _name(self.position, at[0]) if (at := self._stands(after)) else self.part)
        cuts = [action for action in done if action.start is not None and action.part in names]
        around = [one for one in cuts if one.start is not None and one.start <= gap[0] and gap[1] <= (one.end or 0)]
        cuts = around or cuts  # two stages may have cut it in one turn
        rest = [action for action in done if action.start is None and action.part in (None, str(self.position))]
        if after is None:
            order = [evicted, rest, cuts]
        elif self._stands(after):
            order = [cuts, rest]
        else:
            order = [[action for action in rest if action.part is not None], rest, cuts]
        return next((action for group in order for action in group), None)

    def _original(self, gap: Range, action: Action | None, step: int | None) -> Held:
        """Return the reference that characters can be had back by, where they are in the original, and as what."""
        archive = self.state.archive
        if action is not None and action.ref in archive:
            ref = str(action.ref)
            original = archive.recall(ref)
            if isinstance(original, str) and action.last is not None:
                if (at := original.find(json_text(self.state.raw[self.message]))) >= 0:
                    return ref, at, at + len(json_text(self.state.raw[self.message])), "message"
            elif isinstance(original, str) and action.start is not None:
                same = original == self.text or len(original) == len(self.text)  # redacted character by character
                at = gap[0] if same else original.find(self.text[gap[0] : gap[1]])
                if at >= 0:
                    return ref, at, at + gap[1] - gap[0], "text"
            elif isinstance(original, str):
                if original == json_text(self.state.raw[self.message]):
                    return ref, 0, len(original), "message"
                if self._is_of(json.loads(original)):
                    return ref, 0, len(original), "block"
        return self._derived(gap, step)

    def _is_of(self, base: Any) -> bool:
        """Return whether this text stands in what a block came in with: another may have had its place before."""
        block = next(one for one in _blocks(self.state, self.message) if one.position == self.position)
        if type(base) is not type(block.base):
            return False
        return dict(self.state.fmt.texts(block._replace(base=base), -1)).get(self.path) == self.text

    def _derived(self, gap: Range, step: int | None) -> Held:
        """Return the same where no report says it: what was archived is found by its content."""
        archive, raw = self.state.archive, self.state.raw
        if (ref := archive.ref(self.text)) in archive:
            return ref, *gap, "text"
        bases = [block.base for block in _blocks(self.state, self.message) if block.position == self.position]
        kinds: list[tuple[Any, Literal["message", "block"]]] = [(raw[self.message], "message"), (bases[0], "block")]
        for whole, held_as in kinds:
            text = json_text(whole)
            if (ref := archive.ref(text)) in archive:
                return ref, 0, len(text), held_as
        first, last = self.history.run(self.state, self.message, step)
        if all([one is not None for one in raw[first : last + 1]]):
            run, text = json_text(raw[first : last + 1]), json_text(raw[self.message])
            if (ref := archive.ref(run)) in archive:
                at = run.find(text)
                return ref, at, at + len(text), "message"
        return None, None, None, None

    def _is_key_info(self) -> bool:
        calls = [block for block in _blocks(self.state, self.message) if block.position == self.position]
        return calls[0].tools == (CHECKPOINT_TOOL,) and self.path[-1:] == ("key_info",)

    def _key_info_now(self, gap: Range) -> tuple[Place, tuple[int | None, int | None]]:
        """Return where notes are whose call has left: in the newest anchor, or replaced by newer ones."""
        if not self.state.marks.key_info.startswith(self.text):
            return "superseded", (None, None)
        characters = self.text[gap[0] : gap[1]]
        for index in range(len(self.state.rows) - 1, -1, -1):
            for block in self.state.rows[index].blocks:
                note = block.note or (self.state.fmt.texts(block, -1)[0][1] if block.kind == "anchor" else "")
                if note and (at := note.find(characters)) >= 0:
                    return "excerpt", (index, at)
        return "archived", (None, None)


def _joined(ranges: Sequence[Range]) -> list[Range]:
    """Return ranges in order, those that touch as one."""
    found: list[Range] = []
    for start, end in sorted(ranges):
        if found and found[-1][1] >= start:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        elif start < end:
            found.append((start, end))
    return found


def _without(ranges: Sequence[Range], taken: Sequence[Range]) -> list[Range]:
    """Return what of some ranges is in none of others; both in order."""
    found: list[Range] = []
    for start, end in ranges:
        for low, high in taken:
            if high <= start or low >= end:
                continue
            if start < low:
                found.append((start, low))
            start = max(start, high)
        if start < end:
            found.append((start, end))
    return found


def _clipped(span: Span, start: int, end: int) -> Span:
    """Return the part of a span from ``start`` to ``end`` of its text."""
    low, high = max(span.start, start), min(span.end, end)
    moved: dict[str, int] = {"start": low, "end": high}
    if span.shown_start is not None:
        moved["shown_start"] = span.shown_start + low - span.start
    if span.held_as == "text" and span.ref_start is not None:
        moved["ref_start"] = span.ref_start + low - span.start
        moved["ref_end"] = span.ref_start + high - span.start
    return replace(span, **moved)  # type: ignore[arg-type]
