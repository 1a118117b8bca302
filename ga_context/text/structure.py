"""Cut JSON in its structure: what is left still parses, and what stays is as it stood, character for character.

Strings keep head and tail, arrays the items at both ends, objects every key as long as that is possible. The text is
cut as text, in ranges of the source with marks between: no number is written anew, no key changes its place.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from ga_context.text.brackets import Brackets, Member, after_space, lines, members, scan, strings
from ga_context.text.marker import omitted, reference, referred
from ga_context.text.tags import find
from ga_context.text.window import Cut, Stretch, has_long_line, head_tail, spliced

DEEPEST = 200
"""Levels of arrays and objects; a text that is nested deeper is cut like any other (spec 4.1)."""

LEAST_CHARS = 44
"""Room for any value of which only the mark is left, its count of up to nine digits; a value of less is never cut."""

SHOWN_ITEMS = 5
"""Long items of an array, and long lines, shrink down to this part of the room; then those in the middle go."""

SPACE_CHARS = 80
"""White space that is kept around a mark or the whole, at most."""


def fit(
    text: str,
    limit: int,
    ref: str,
    *,
    line_limit: int | None = None,
    tags: Sequence[str] = (),
    json: bool = True,
    must_parse: bool = False,
) -> Cut | None:
    """Cut a text by what it is, JSON in its structure and all else head and tail; None if nothing is to be cut.

    Args:
        text: the whole text.
        limit: characters of the result, marks included; 100 or more.
        ref: the reference of the whole text.
        line_limit: characters of each line, 100 or more; None: no limit.
        tags: names of tags that must stay balanced; a text that holds one is not cut in its structure.
        json: False: head and tail, whatever it is.
        must_parse: the text is known to be JSON, of whatever type and depth, and stays so; only `limit` holds.
    """
    if must_parse:
        return cut(text, limit, ref) or hollow(text, limit, ref)
    found = cut(text, limit, ref, line_limit) if json and not find(text, tags) else None
    return found or head_tail(text, limit, ref, line_limit=line_limit, tags=tags)


def cut(text: str, limit: int, ref: str, line_limit: int | None = None) -> Cut | None:
    """Cut an array or object, or lines of them, in the structure; None where it is neither or nothing is to be cut.

    What stays of JSON parses and has its type; what stays of JSON Lines does so line by line. Arguments as of `fit`.
    """
    if line_limit and "\n" not in text.strip():
        limit, line_limit = min(limit, line_limit), None
    longest, over = line_limit or sys.maxsize, len(text) > limit
    start = after_space(text, int(text.startswith("\ufeff")))
    if text[start : start + 1] not in ("[", "{") or not (over or has_long_line(text, longest)):
        return None
    brackets = scan(text, start, len(text), DEEPEST)
    plan, signature = _Plan(text), len(reference(ref))
    if brackets is None:
        return plan.signed(ref) if plan.records(start, limit - signature, longest - signature) else None
    if over:
        plan.document(brackets, limit - signature)
    elif not plan.long_strings(longest - signature):
        return None
    result = plan.signed(ref)
    return None if has_long_line(result.apply(text), longest) else result


def hollow(text: str, limit: int, ref: str) -> Cut | None:
    """Cut JSON text to its type, brackets around a mark; a string to its ends. None if nothing can or need be cut."""
    start, end = after_space(text, 0), len(text.rstrip())
    if len(text) <= limit or text[start : start + 1] not in ('"', "[", "{"):
        return None
    plan = _Plan(text)
    plan.drop(0, start)
    plan.drop(end, len(text))
    if text[start] == '"':
        plan.string(start, end, limit - len(reference(ref)))
    else:
        plan.drop(start + 1, end - 1, _mark(end - start - 2, "characters", keyed=text[start] == "{"))
    return plan.signed(ref)


def _mark(count: int, what: str, *, keyed: bool) -> str:
    """Return the member of an array or object, or the line, that stands for what is gone."""
    return f'"{omitted(count, what)}"' + (": null" if keyed else "")


class _Group(NamedTuple):
    """The members of an array or object, or lines, that share a room."""

    start: int
    end: int
    members: list[Member]
    """All, or the first and last of more than can stay."""
    total: int
    """How many there are."""
    what: str
    """Keys, items or lines."""
    least: int
    """Characters that a long value keeps, or the member goes."""
    brackets: Brackets | None = None
    """None: the members are lines."""

    def mark(self, count: int) -> str:
        """Return what stands for so many members."""
        return _mark(count, self.what, keyed=self.what == "keys")


class _Plan:
    """What is to go of a text: windows on it, each with its cut."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._windows: list[tuple[int, int, Cut]] = []
        self._jobs: list[tuple[int, int, int, Brackets | None]] = []
        """Start and end of what is to be cut, the room for it, its brackets; of a line they are not known yet."""

    def signed(self, ref: str) -> Cut:
        """Return the cut, with the reference in its first mark."""
        pieces = list(spliced(self.text, sorted(self._windows, key=lambda window: window[0])).pieces)
        first = next((i for i, piece in enumerate(pieces) if isinstance(piece, str)), None)
        if first is not None:
            pieces[first] = referred(str(pieces[first]), ref)
        return Cut(tuple(pieces), len(self.text))

    def drop(self, start: int, end: int, mark: str = "") -> None:
        """Plan to take a range out, a mark in its place."""
        if start < end:
            self._windows.append((start, end, Cut((mark,) if mark else (), end - start)))

    def string(self, start: int, end: int, room: int, inner: Stretch | None = None) -> int:
        """Plan to cut a string between its quotes, and return its size then."""
        newline = "\\n" if self.text.find("\\n", start, end) >= 0 else ""
        inner = inner or Stretch(self.text, start + 1, end - 1)
        cut = inner.cut(room - 2, lambda chars: newline + omitted(chars, "characters") + newline, newline or "\n")
        self._windows.append((start + 1, end - 1, cut))
        return cut.size + 2

    # -- the whole ------------------------------------------------------------------------------------------------

    def document(self, brackets: Brackets, room: int) -> None:
        """Plan to cut the one array or object, and white space around it where it is more than a little."""
        start, end, size = brackets.opens[0], brackets.closes[0], len(self.text)
        around = start + size - end
        if around > min(SPACE_CHARS, room // SHOWN_ITEMS):
            self.drop(0, start)
            self.drop(end, size)
            around = 0
        if end - start > room - around:
            self._jobs.append((start, end, room - around, brackets))
            self._work()

    def records(self, start: int, room: int, line_room: int) -> bool:
        """Plan to cut lines, each to `line_room` at most, if the first two are arrays or objects."""
        text, end = self.text, len(self.text.rstrip())
        at = start
        for _ in range(2):
            stop = text.find("\n", at, end) % (end + 1)  # -1: the last line
            if scan(text, at, stop, DEEPEST) is None:
                return False
            at = after_space(text, stop)
        self.drop(0, start)
        self.drop(end, len(text))
        found, total = lines(text, start, end, room + 1)
        least = min(line_room, max(LEAST_CHARS, room // SHOWN_ITEMS))
        self._share(_Group(start, end, found, total, "lines", least), room, line_room)
        self._work()
        return True

    def long_strings(self, line_room: int) -> bool:
        """Plan to cut the longest string of each line that is over `line_room`; return whether that is enough."""
        end = -1
        for line in self.text.split("\n"):
            start, end = end + 1, end + 1 + len(line)
            over = len(line) - line_room
            if over <= 0:
                continue
            first, last = max(strings(self.text, start, end), key=lambda span: span[1] - span[0], default=(0, 0))
            if last - first - over < LEAST_CHARS:
                return False
            self.string(first, last, last - first - over)
        return True

    # -- its parts ------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        while self._jobs:
            start, end, room, brackets = self._jobs.pop()
            brackets = brackets or scan(self.text, start, end, DEEPEST)
            if brackets is None:
                line = Stretch(self.text, start, end).cut(room, lambda chars: omitted(chars, "characters"))
                self._windows.append((start, end, line))
            else:
                self._container(start, end, room - 2, brackets)

    def _container(self, start: int, end: int, room: int, brackets: Brackets) -> None:
        found, total = members(self.text, start, brackets, room // 2 + 1)
        what, least = ("keys", 0) if self.text[start] == "{" else ("items", room // SHOWN_ITEMS)
        self._share(_Group(start + 1, end - 1, found, total, what, max(LEAST_CHARS, least), brackets), room)

    def _share(self, group: _Group, room: int, most: int = sys.maxsize) -> None:
        """Plan which members stay, and give each long value its share of the room, `most` at most."""
        kept, room = self._select(group, room)
        long: list[tuple[int, Member, Stretch | None]] = []
        for member in kept:
            room -= member.around
            if not self._gives(group, member):
                room -= member.chars
            elif group.brackets and self.text[member.value] == '"':
                inner = Stretch(self.text, member.value + 1, member.end - 1)
                long.append((inner.size + 2, member, inner))
            else:
                long.append((member.chars, member, None))
        long.sort(key=lambda one: one[0])
        for n, (size, (_, value, end, _), stretch) in enumerate(long):  # what the short ones leave is for the longer
            share = min(room // (len(long) - n), most)
            if stretch is not None and min(size, share) < end - value:
                size = self.string(value, end, share, stretch)
            elif size > share:
                self._jobs.append((value, end, share, group.brackets))
                size = share
            room -= size

    def _gives(self, group: _Group, member: Member) -> bool:
        """Return whether a value may be cut; numbers and words never are."""
        return member.chars > LEAST_CHARS and (group.brackets is None or self.text[member.value] in '"[{')

    def _select(self, group: _Group, room: int) -> tuple[list[Member], int]:
        """Return the members that stay if each long value shrinks as far as it may, and the room beside the mark."""
        found = group.members
        needs = [m.around + (min(m.chars, group.least) if self._gives(group, m) else m.chars) for m in found]
        if found and group.total == len(found) and sum(needs) <= room + 1:
            return found, room + 1  # there is no separator behind the last
        lead, trail = self._spaces(group)
        room -= len(lead + group.mark(group.total) + trail)
        ahead, behind = list(accumulate(needs)), list(accumulate(reversed(needs)))
        tail = bisect_right(behind, room - room // 2) or bisect_right(behind, room)
        head = bisect_right(ahead, min(room // 2, room - behind[tail - 1] if tail else room))
        if not head and not tail:
            self.drop(group.start, group.end, group.mark(group.total) if found else "")
            return [], 0
        mark = lead + group.mark(group.total - head - tail)
        if not tail:
            self.drop(found[head].start, group.end, mark + trail)
            return found[:head], room
        self.drop(found[head].start, found[-tail].start - 1, mark)
        return found[:head] + found[-tail:], room

    def _spaces(self, group: _Group) -> tuple[str, str]:
        """Return the white space before a member and behind the last, for a mark that stands like them."""
        if group.brackets is None or not group.members:
            return "", ""
        member, last = group.members[1 % len(group.members)], group.members[-1]
        spans = (member.start, after_space(self.text, member.start)), (last.end, last.stop)
        lead, trail = [self.text[start:end] if end - start <= SPACE_CHARS else "" for start, end in spans]
        return lead, trail
