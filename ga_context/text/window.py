"""Cut a text down to a limit: its head and tail stay, a marker between says what is gone and how to get it back."""

import sys
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from ga_context.text.boundary import after, before
from ga_context.text.data import LEAST_RUN, holds_data, spans
from ga_context.text.marker import LINE_MARK, data_mark, marker, note
from ga_context.text.size import json_chars
from ga_context.text.sniff import is_log
from ga_context.text.tags import find, matches

LEAST_LIMIT = 100
"""No limit, window or share of one is smaller, in characters (spec 4.1)."""

_SLACK_SHARE = 4
"""A cut moves to a line end within a quarter of its part (spec 4.1: "a small slack"; measured as good as a tenth)."""


Piece: TypeAlias = tuple[int, int] | str
"""A range of the source that stays, or a mark."""


class Lost(NamedTuple):
    """A part of a page that went with the tags around it: a subtree."""

    path: str
    """Where it stood, as a selector."""
    start: int
    end: int
    """Its characters in the source."""
    reason: str


class Cut(NamedTuple):
    """What stays of a text."""

    pieces: tuple[Piece, ...]
    """Ranges of the source that stay, and the marks between them, in order."""
    chars: int
    """Length of the source."""
    lost: tuple[Lost, ...] = ()
    """What is not there, where one mark stands for all of the source: a page is written anew."""
    also: tuple[str, ...] = ()
    """What its marks refer to beside the source."""

    def apply(self, source: str) -> str:
        """Return what stays of `source`, with the marks."""
        return "".join([piece if isinstance(piece, str) else source[piece[0] : piece[1]] for piece in self.pieces])

    @property
    def size(self) -> int:
        """Length of what stays, marks included."""
        return sum([len(piece) if isinstance(piece, str) else piece[1] - piece[0] for piece in self.pieces])

    @property
    def escapes(self) -> int:
        """Characters that the marks take beyond their length where the text is written as JSON."""
        marks = [piece for piece in self.pieces if isinstance(piece, str)]
        return sum([json_chars(mark) - len(mark) - 2 for mark in marks])

    @property
    def gone(self) -> tuple[int, int, int]:
        """First character that is gone, end of the last one, and how many in all."""
        at = first = last = gone = 0
        for start, end in [*[piece for piece in self.pieces if not isinstance(piece, str)], (self.chars, self.chars)]:
            if start > at:
                first = first if gone else at
                last, gone = start, gone + start - at
            at = end
        return first, last, gone


class _Item(NamedTuple):
    """A range of the source, or the mark that stands for it."""

    start: int
    end: int
    mark: str = ""
    whole: bool = False
    """Must not be cut inside."""
    mate: tuple[int, int] | None = None
    """The range without which this one must not stay: the other tag of a pair."""

    @property
    def size(self) -> int:
        return len(self.mark) or self.end - self.start


class _Snap(NamedTuple):
    """Where a plain range is cut: at a line end if there is one near; in a log, wherever the nearest is."""

    text: str
    newline: str = "\n"
    log: tuple[int, int] | None = None
    """The range that may be a log, of which every line stays whole that fits."""

    def head_end(self, start: int, end: int, room: int) -> int:
        """Return where the head of a range ends, at most `room` characters behind its start."""
        at = before(self.text, start + room, start, end)
        line = self.text.rfind(self.newline, start, at + len(self.newline))
        if line < 0 or not (at - line <= room // _SLACK_SHARE or self._fits(at, start, end, room)):
            return at
        return before(self.text, line, start, end)

    def tail_start(self, start: int, end: int, room: int) -> int:
        """Return where the tail of a range begins, at most `room` characters before its end."""
        at = after(self.text, end - room, start, end)
        line = self.text.find(self.newline, max(at - len(self.newline), start), end)
        first = line + len(self.newline)
        if line < 0 or not (first - at <= room // _SLACK_SHARE or self._fits(at, start, end, room)):
            return at
        return after(self.text, first, start, end)

    def _fits(self, at: int, start: int, end: int, room: int) -> bool:
        """Return whether the line around this place is one of a log and fits into `room`."""
        line = self.text.rfind(self.newline, max(at - room - 1, start), at) if self.log else -1
        fits = line >= 0 and self.text.find(self.newline, at, min(line + room + 2, end)) >= 0
        return fits and self.log is not None and is_log(self.text, *self.log)


class Stretch:
    """A range of a text, of which data is left out and that can be cut to a room, the mark and line end as told."""

    def __init__(self, text: str, start: int, end: int) -> None:
        data = end - start >= LEAST_RUN and holds_data(text, start, end, end - start)
        self._items = _split(start, end, _atoms(text, start, end, ()) if data else [], elide=True)
        self._text, self._start, self._end = text, start, end
        self.size = _size(self._items)
        """Characters, marks for data included."""

    def cut(self, room: int, mark: Callable[[int], str], newline: str = "\n") -> Cut:
        """Return what stays in `room` characters, relative to the start of the range."""
        items = self._items if self.size <= room else _squeeze(self._items, room, mark, _Snap(self._text, newline))
        pieces = [p if isinstance(p, str) else (p[0] - self._start, p[1] - self._start) for p in _pieces(items)]
        return Cut(tuple(pieces), self._end - self._start)


def head_tail(
    text: str, limit: int, ref: str, *, line_limit: int | None = None, tags: Sequence[str] = ()
) -> Cut | None:
    """Cut `text` to `limit` characters, marks included, and each line to `line_limit`; None if nothing is to be cut.

    What is balanced among the listed `tags` stays so: where one tag of a pair stays, its partner stays too.
    """
    window = _window(text, 0, len(text), limit, ref, line_limit or sys.maxsize, tags)
    return Cut(_pieces(window), len(text)) if window else None


def has_long_line(text: str, limit: int) -> bool:
    """Return whether a line of `text` has more than `limit` characters."""
    return len(text) > limit and next(_long_lines(text, 0, len(text), limit), None) is not None


def spliced(text: str, windows: Sequence[tuple[int, int, Cut]]) -> Cut:
    """Return the cut of a text from cuts of its parts: (start, end, cut relative to start), in order."""
    pieces: list[Piece] = []
    lost: list[Lost] = []
    also: list[str] = []
    at = 0
    for start, end, cut in windows:
        if at < start:
            pieces.append((at, start))
        pieces += [piece if isinstance(piece, str) else (piece[0] + start, piece[1] + start) for piece in cut.pieces]
        lost += [one._replace(start=one.start + start, end=one.end + start) for one in cut.lost]
        also += cut.also
        at = end
    rest = [(at, len(text))] if at < len(text) else []
    return Cut((*pieces, *rest), len(text), tuple(lost), tuple(also))


def _window(
    text: str, start: int, end: int, limit: int, ref: str, line_limit: int, tags: Sequence[str]
) -> list[_Item] | None:
    over = end - start > limit
    lines = list(_long_lines(text, start, end, line_limit)) if line_limit < end - start else []
    if not over and not lines:
        return None
    plain = not (lines or find(text, tags, start, end) or holds_data(text, start, end, limit))
    snap = _Snap(text, log=(start, end))
    if plain:  # what most texts are: plain, and only too long
        return _ends(snap, start, end, limit, ref)
    lines.append((end, end))
    atoms = _atoms(text, start, end, tags)

    def shortened(line_limit: int) -> tuple[list[_Item], _Item]:
        items: list[_Item] = []
        at = start
        for first, last in lines:
            items += _split(at, first, atoms, elide=over)
            at = max(first, items[-1].end if items else start)  # the end of a fence may reach into the line
            line = _split(at, last, atoms, elide=True)
            items += _squeeze(line, line_limit - 2, lambda _: LINE_MARK, snap) if _size(line) > line_limit - 2 else line
            at = max(last, items[-1].end)
        kept = sum(item.size for item in items if not item.mark)
        return items, _Item(end, end, note(end - start - kept, ref))

    items, end_note = shortened(line_limit)
    if not over and _size(items) + end_note.size >= end - start:
        items, end_note = shortened(line_limit - end_note.size)
    if _size(items) + end_note.size <= min(limit, end - start - 1):
        return [*items, end_note]
    return _squeeze(items, limit, lambda chars: marker(chars, ref), snap) if over else None


def _long_lines(text: str, start: int, end: int, limit: int) -> Iterator[tuple[int, int]]:
    """Yield each line over `limit`, without what must not be parted from its newline (two characters at most)."""
    while end - start > limit:
        newline = text.rfind("\n", start, start + limit + 1)
        if newline < 0:
            newline = text.find("\n", start, end)
            newline = end if newline < 0 else newline
            yield start, before(text, newline, start, end)
        start = newline + 1


def _atoms(text: str, start: int, end: int, names: Sequence[str]) -> list[_Item]:
    """Return what must not be cut inside, in order: tags, and `data:` URIs and base64 runs with the mark for them."""

    def widened(first: int, last: int) -> tuple[int, int]:
        # Beside a plain character nothing can reach over the border, but for the backslash of an escape.
        if first > start and (text[first - 1] == "\\" or not text[first - 1].isascii()):
            first = before(text, first, start, end)
        if last < end and not text[last].isascii():
            last = after(text, last, start, end)
        return first, last

    found = matches(text, names, start, end)
    wide = {span: widened(*span) for span, _ in found}
    atoms = [_Item(*wide[span], "", True, wide[mate] if mate else None) for span, mate in found]
    for span in spans(text, start, end):
        first, last = widened(*span)
        mark = data_mark(last - first)
        atoms.append(_Item(first, last, mark if len(mark) < last - first else "", True))
    return sorted(atoms, key=lambda atom: atom.start)


def _split(start: int, end: int, atoms: list[_Item], *, elide: bool) -> list[_Item]:
    """Return the range as its atoms and what is between them."""
    items: list[_Item] = []
    low, high = (bisect_left(atoms, at, key=lambda atom: atom.start) for at in (start, end))
    for atom in atoms[low:high]:
        if atom.start < start:  # data in the line that opens a fence
            continue
        items += _Item(start, atom.start), atom if elide or not atom.mark else atom._replace(mark="")
        start = atom.end
    return [item for item in (*items, _Item(start, end)) if item.start < item.end]


def _squeeze(items: list[_Item], room: int, mark: Callable[[int], str], snap: _Snap) -> list[_Item]:
    """Return head, mark, tail, and the tags between that those need, all in `room` characters."""
    start, end = items[0].start, items[-1].end
    due = sum(item.size for item in items if item.mate and not start <= item.mate[0] < end)
    rest = min(room - len(mark(end - start)), _size(items) - 1) - due
    if rest < 0:  # only for a line full of tags whose partners are elsewhere
        return items
    tail = _take(items, rest - rest // 2, snap, tail=True)
    head = _take(items, min(rest // 2, _size(tail)), snap, tail=False)
    first = head[-1].end if head else start
    last = tail[0].start if tail else end
    needed = [item for item in items if first <= item.start < last and item.mate and not first <= item.mate[0] < last]
    return [*head, _Item(first, first, mark(last - first - _size(needed))), *needed, *tail]


def _take(items: list[_Item], room: int, snap: _Snap, *, tail: bool) -> list[_Item]:
    """Return the longest head or tail of `items` that fits with the partners of its tags."""
    start, end = items[0].start, items[-1].end
    taken: list[_Item] = []
    for item in reversed(items) if tail else items:
        cost = item.size
        if item.mate:  # paid for by the partner that came first, or as due
            ahead = start <= item.mate[0] < end and (item.mate[0] < item.start) == tail
            cost = cost + item.mate[1] - item.mate[0] if ahead else 0
        if cost > room:
            if not item.whole and not item.mark:
                at = (snap.tail_start if tail else snap.head_end)(item.start, item.end, room)
                taken.append(item._replace(start=at) if tail else item._replace(end=at))
            break
        taken.append(item)
        room -= cost
    return taken[::-1] if tail else taken


def _ends(snap: _Snap, start: int, end: int, limit: int, ref: str) -> list[_Item]:
    """Return head, mark and tail of a plain range: what ``_squeeze`` makes of it, directly."""
    rest = min(limit - len(marker(end - start, ref)), end - start - 1)
    last = snap.tail_start(start, end, rest - rest // 2)
    first = snap.head_end(start, end, min(rest // 2, end - last))
    return [_Item(start, first), _Item(first, first, marker(last - first, ref)), _Item(last, end)]


def _size(items: Iterable[_Item]) -> int:
    return sum(item.size for item in items)


def _pieces(items: Iterable[_Item]) -> tuple[Piece, ...]:
    pieces: list[tuple[int, int] | str] = []
    for item in items:
        if item.mark:
            pieces.append(item.mark)
        elif pieces and not isinstance(last := pieces[-1], str) and last[1] == item.start:
            pieces[-1] = last[0], item.end
        elif item.start < item.end:
            pieces.append((item.start, item.end))
    return tuple(pieces)
