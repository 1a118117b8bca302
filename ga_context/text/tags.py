"""Listed tags in a text: exactly `<name>` and `</name>`, which closes which, and which pairs stand on their own."""

import re
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import NamedTuple

Span = tuple[int, int]

_FENCE = re.compile(r"^ {0,3}(?:(?P<ticks>`{3,}+)(?=[^`\n]*+$)|(?P<tildes>~{3,}+))(?P<info>[^\n]*+)$", re.MULTILINE)
_BACKTICKS = re.compile("`+")
_BLANK = re.compile(r"^[ \t\r]*$", re.MULTILINE)


class Tag(NamedTuple):
    """One listed tag."""

    start: int
    end: int
    name: str
    closing: bool


class Pair(NamedTuple):
    """An opening tag, its content, and its closing tag."""

    name: str
    start: int
    content_start: int
    content_end: int
    end: int


class Code(NamedTuple):
    """A fence or inline code: what opens it (a fence with its line ends), its content, what closes it."""

    start: int
    content_start: int
    content_end: int
    end: int
    fence: bool


def find(text: str, names: Iterable[str], start: int = 0, end: int = sys.maxsize) -> list[Tag]:
    """Return every listed tag of a part of `text`, in order."""
    names = tuple(names)
    if not names or "<" not in text:
        return []
    return [Tag(*m.span(), m[2], m[1] != "") for m in _pattern(names).finditer(text, start, end)]


def mates(tags: Sequence[Tag]) -> list[int]:
    """Return for each tag the index of its partner, or -1: a closing tag takes the nearest open one of its name."""
    mate = [-1] * len(tags)
    waiting: dict[str, list[int]] = {}
    for index, tag in enumerate(tags):
        opened = waiting.setdefault(tag.name, [])
        if not tag.closing:
            opened.append(index)
        elif opened:
            mate[index] = opened.pop()
            mate[mate[index]] = index
    return mate


def matches(text: str, names: Iterable[str], start: int = 0, end: int = sys.maxsize) -> list[tuple[Span, Span | None]]:
    """Return each listed tag of a part of `text` and its partner, if any; with them both ends of top-level code."""
    names = tuple(names)
    tags = find(text, names, start, end)
    spans = [(tag.start, tag.end) for tag in tags]
    found = [(span, spans[mate] if mate >= 0 else None) for span, mate in zip(spans, mates(tags), strict=True)]
    for piece in code(text, tags, start, end):
        opening, closing = (piece.start, piece.content_start), (piece.content_end, piece.end)
        if not find(text, names, *opening):
            found += (opening, closing), (closing, opening)
    return sorted(found)


def pairs(text: str, names: Iterable[str]) -> list[Pair]:
    """Return the outermost pairs outside top-level code that hold no tag without its partner."""
    if "</" not in text:
        return []
    tags = _outside(find(text, names), text)
    return [
        Pair(tags[i].name, tags[i].start, tags[i].end, tags[j].start, tags[j].end) for i, j in _outermost(mates(tags))
    ]


def has_lone(text: str, names: Iterable[str]) -> bool:
    """Return whether a listed tag outside top-level code stands without its partner."""
    return any([mate < 0 for mate in mates(_outside(find(text, names), text))])


def bracketed(text: str, names: Iterable[str]) -> str:
    """Return a text of the same length with its listed tags in square brackets, so that none opens or closes."""
    for tag in reversed(find(text, names)):
        text = f"{text[: tag.start]}[{text[tag.start + 1 : tag.end - 1]}]{text[tag.end :]}"
    return text


def code(text: str, tags: Sequence[Tag], start: int = 0, end: int = sys.maxsize) -> list[Code]:
    """Return the code of a part of `text` that begins where none of its `tags` is open.

    A tag without a later closing one is not open; a fence that holds one pair and nothing else is no code.
    """
    if not tags or ("`" not in text and "~~~" not in text):
        return []
    found: list[Code] = []
    last_close = {tag.name: tag.start for tag in tags if tag.closing}
    depth = dict.fromkeys(last_close, 0)
    waiting = iter(tags)
    tag = next(waiting, None)
    at = open_until = 0
    unfenced = range(0)
    for piece in _candidates(text, start, end):
        while tag and tag.start < piece.start:
            if tag.start >= at and tag.name in depth:
                depth[tag.name] = max(0, depth[tag.name] + (-1 if tag.closing else 1))
                if not tag.closing:
                    open_until = max(open_until, last_close[tag.name])
                elif not depth[tag.name]:
                    open_until = max((last_close[name] for name, count in depth.items() if count), default=0)
            tag = next(waiting, None)
        if piece.start < max(at, open_until) or piece.start in unfenced:
            continue
        if piece.fence and _holds_one_pair(text, tags, piece):
            at = piece.content_start
            unfenced = range(piece.content_end, piece.end)
        else:
            at = piece.end
            found.append(piece)
    return found


@lru_cache(maxsize=64)
def _pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(f"<(/?)({'|'.join(map(re.escape, names))})>")


def _outermost(mate: Sequence[int]) -> list[tuple[int, int]]:
    """Return the outermost (opening, closing) whose span holds no index with its mate outside the span."""
    found: list[tuple[int, int]] = []
    frames: list[tuple[int, int, int]] = []  # opening, lowest and highest mate met since
    for index, other in enumerate(mate):
        if other > index:
            frames.append((index, index, other))
            continue
        lowest, highest = other, index
        while other >= 0 and frames and frames[-1][0] >= other:  # those above `other` cross: they close later
            opening, low, high = frames.pop()
            lowest, highest = min(lowest, low), max(highest, high)
            if opening == other <= lowest and highest == index:
                while found and found[-1][0] > opening:
                    found.pop()
                found.append((opening, index))
        if frames:
            opening, low, high = frames[-1]
            frames[-1] = opening, min(low, lowest), max(high, highest)
    return found


def _outside(tags: Sequence[Tag], text: str) -> list[Tag]:
    pieces = code(text, tags)
    starts = [piece.start for piece in pieces]

    def inside(tag: Tag) -> bool:
        index = bisect_right(starts, tag.start) - 1
        return index >= 0 and tag.start < pieces[index].end

    return [tag for tag in tags if not inside(tag)] if pieces else list(tags)


def _holds_one_pair(text: str, tags: Sequence[Tag], fence: Code) -> bool:
    """Tell whether the content, less white space, is one pair."""
    low, high = (bisect_left(tags, at, key=attrgetter("start")) for at in (fence.content_start, fence.content_end))
    if high - low < 2:
        return False
    around = text[fence.content_start : tags[low].start] + text[tags[high - 1].end : fence.content_end]
    same = [tag for tag in tags[low:high] if tag.name == tags[low].name]
    mate = mates(same)
    return not around.strip() and same[-1] is tags[high - 1] and mate[0] == len(same) - 1


def _candidates(text: str, start: int, end: int) -> list[Code]:
    """Return all that is code if it begins at top level, in order."""
    fences = list(_fences(text, start, end))
    breaks = sorted([match.start() for match in _BLANK.finditer(text, start, end)] + [fence.start for fence in fences])
    return sorted([*fences, *_inline(text, start, end, breaks)], key=lambda piece: (piece.start, not piece.fence))


def _fences(text: str, start: int, end: int) -> Iterator[Code]:
    """Yield each line that opens a fence, with the nearest later line that closes it."""
    closers: dict[str, list[tuple[int, int, int]]] = {"`": [], "~": []}  # (-length, start, end): the nearest last
    for line in reversed(list(_FENCE.finditer(text, start, end))):
        fence = line["ticks"] or line["tildes"]
        later = closers[fence[0]]
        if index := bisect_right(later, -len(fence), key=lambda closer: closer[0]):
            content, (_, first, last) = line.end() + 1, later[index - 1]
            yield Code(line.start(), content, max(content, first - 1), min(last + 1, end, len(text)), True)
        if not line["info"].strip():
            while later and -later[-1][0] <= len(fence):
                later.pop()
            later.append((-len(fence), *line.span()))


def _inline(text: str, start: int, end: int, breaks: Sequence[int]) -> Iterator[Code]:
    """Yield each run of backticks with the next one of its length in the same paragraph."""
    later: dict[int, re.Match[str]] = {}
    for run in reversed(list(_BACKTICKS.finditer(text, start, end))):
        closing = later.get(len(run[0]))
        later[len(run[0])] = run
        if closing and bisect_right(breaks, run.end()) == bisect_right(breaks, closing.start()):
            yield Code(*run.span(), *closing.span(), False)
