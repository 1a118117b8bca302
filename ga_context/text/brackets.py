"""Where things stand in JSON text: its arrays and objects, their members, its lines. No value is built."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

# The grammar of RFC 8259, sections 2 to 7. Each pattern is linear: no repetition gives back what it took.
_SPACE = r"[ \t\n\r]*+"
_STRING = r'"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})[^"\\\x00-\x1f]*+)*+"'
_NUMBER = r"-?+(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?+[0-9]++)?+"
_SCALAR = rf"(?:{_STRING}|{_NUMBER}|true|false|null)"
_KEY = rf"{_STRING}{_SPACE}:{_SPACE}"
_FLAT_ARRAY = rf"\[{_SPACE}(?:(?:{_SCALAR}{_SPACE},{_SPACE})*+{_SCALAR}{_SPACE})?+\]"
_FLAT_OBJECT = rf"\{{{_SPACE}(?:(?:{_KEY}{_SCALAR}{_SPACE},{_SPACE})*+{_KEY}{_SCALAR}{_SPACE})?+\}}"
_FLAT = rf"(?:{_SCALAR}|{_FLAT_ARRAY}|{_FLAT_OBJECT})"
"""A value in which none is nested: most of what real data holds, and no step of ours."""


def _steps(key: str, closing: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return what leads to the next bracket from behind an opening one, and from behind a nested value."""
    members = rf"(?:{key}{_FLAT}{_SPACE},{_SPACE})*+{key}(?:{_FLAT}{_SPACE}{closing}|[\[{{])"
    return re.compile(rf"{_SPACE}(?:{closing}|{members})"), re.compile(rf"{_SPACE}(?:{closing}|,{_SPACE}{members})")


_STEPS = {"[": _steps("", r"\]"), "{": _steps(_KEY, r"\}")}
_SPACES = re.compile(_SPACE)
_STRINGS = re.compile(_STRING)

_MEMBER = re.compile(rf"{_SPACE}(?:{_KEY})?+(?P<value>{_FLAT}?+){_SPACE}(?P<comma>,?+)")
_COMMA = re.compile(rf"{_SPACE}(?P<comma>,?+)")
_MANY = 64
_MEMBERS = re.compile(rf"(?:{_SPACE}(?:{_KEY})?+{_FLAT}{_SPACE},){{{_MANY}}}+")


class Brackets(NamedTuple):
    """The root of a JSON text and every array and object in it that holds another, in order."""

    opens: Sequence[int]
    """Where each begins; at last a place behind the text."""
    closes: Sequence[int]
    """Where each ends."""
    nexts: Sequence[int]
    """The number of the next one that begins behind each."""


class Member(NamedTuple):
    """A member of an array or object, or a line: from one separator to the next."""

    start: int
    value: int
    end: int
    """Of the value."""
    stop: int

    @property
    def chars(self) -> int:
        """Characters of the value."""
        return self.end - self.value

    @property
    def around(self) -> int:
        """Characters of all else: key, white space, one separator."""
        return self.stop - self.start + 1 - self.chars


def scan(text: str, start: int, end: int, deepest: int) -> Brackets | None:
    """Find all brackets of the array or object that the range is; None if it is none, or deeper than `deepest`."""
    if text[start : start + 1] not in _STEPS:
        return None
    opens, closes, nexts = array("q", [start]), array("q", [0]), array("q", [0])
    path, steps = [0], [_STEPS[text[start]]]
    at, opened = start + 1, True
    while path:
        step = steps[-1][0 if opened else 1].match(text, at, end)
        if step is None or len(path) >= deepest:  # the deepest are passed over and never in the path
            return None
        at = step.end()
        bracket = text[at - 1]
        opened = bracket in _STEPS
        if opened:
            path.append(len(opens))
            steps.append(_STEPS[bracket])
            opens.append(at - 1)
            closes.append(0)
            nexts.append(0)
        else:
            closes[path[-1]] = at
            nexts[path.pop()] = len(opens)
            steps.pop()
    opens.append(end + 1)
    return Brackets(opens, closes, nexts) if after_space(text, at) >= end else None


def members(text: str, start: int, brackets: Brackets, most: int) -> tuple[list[Member], int]:
    """Return the first and the last `most` members of the array or object at `start`, and how many it has."""
    head: list[Member] = []
    tail: deque[tuple[int, int, int]] = deque(maxlen=most)  # place, nested, members from there to the next
    count, at, nested = 0, start + 1, bisect_right(brackets.opens, start)
    last = text[after_space(text, at)] in "]}"
    try_many = most
    while not last:
        if count >= try_many:
            if many := _MEMBERS.match(text, at):
                tail.append((at, nested, _MANY))
                at, count = many.end(), count + _MANY
                continue
            try_many = count + _MANY
        if count >= most:
            tail.append((at, nested, 1))
        member, nested, last = _member(text, at, brackets, nested)
        if count < most:
            head.append(member)
        at, count = member.stop + 1, count + 1
    return [*head, *_newest(text, tail, brackets, most)], count


def _newest(text: str, tail: Sequence[tuple[int, int, int]], brackets: Brackets, most: int) -> list[Member]:
    """Return the last `most` members, those before them known by their places only."""
    first, held = len(tail), 0
    while first and held < most:
        first -= 1
        held += tail[first][2]
    found: list[Member] = []
    at, nested, last = (*tail[first][:2], False) if held else (0, 0, True)
    while not last:
        member, nested, last = _member(text, at, brackets, nested)
        found.append(member)
        at = member.stop + 1
    return found[-most:]


def _member(text: str, at: int, brackets: Brackets, nested: int) -> tuple[Member, int, bool]:
    """Return the member at a place, the number of the next array or object behind it, and whether it is the last.

    `nested` is the number of the next one from here on: the value, if nothing else fits there.
    """
    match = _MEMBER.match(text, at)
    assert match
    value, end = match.span("value")
    if value == end:
        end, nested = brackets.closes[nested], brackets.nexts[nested]
        match = _COMMA.match(text, end)
        assert match
    return Member(at, value, end, match.start("comma")), nested, not match["comma"]


def lines(text: str, start: int, end: int, most: int) -> tuple[list[Member], int]:
    """Return the first and the last `most` lines of a range, as members, and how many it has."""
    head: list[Member] = []
    tail: deque[Member] = deque()
    at, last = start, end
    while at <= end and len(head) < most:
        stop = text.find("\n", at, end)
        stop = end if stop < 0 else stop
        head.append(_line(text, at, stop))
        at = stop + 1
    while last >= at and len(tail) < most:
        first = max(text.rfind("\n", at, last) + 1, at)
        tail.appendleft(_line(text, first, last))
        last = first - 1
    return [*head, *tail], text.count("\n", start, end) + 1


def _line(text: str, start: int, stop: int) -> Member:
    value = min(after_space(text, start), stop)
    return Member(start, value, value + len(text[value:stop].rstrip()), stop)


def after_space(text: str, at: int) -> int:
    """Return the end of the white space at `at`."""
    return _SPACES.match(text, at).end()  # type: ignore[union-attr]


def strings(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return where the strings of a line of JSON text stand that are values, not keys."""
    found = [match.span() for match in _STRINGS.finditer(text, start, end)]
    return [span for span in found if not text.startswith(":", after_space(text, span[1]))]
