"""Put what stays together again, with a short note in the place of what is gone."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Mapping
from itertools import accumulate
from typing import NamedTuple

from ga_context.html.choose import Choice
from ga_context.html.markup import PRE, ROW_BOX, TABLE_BOX
from ga_context.html.report import Paths, Removed
from ga_context.html.runs import LEAST_ITEMS
from ga_context.html.tree import BLOCKS, Node
from ga_context.html.units import Parts, Unit, Written
from ga_context.text.marker import left_out

OVER = "over the budget"
"""Why a subtree went that a reader could use."""

_LEAST_LINKS, _LEAST_CHARS = 3, 100
"""A note says how much is gone from here on; for less it says only that something is."""
_TEXT_PER_ACTION = 30
"""More characters than this for each link and control are text worth counting."""
_TITLES, _TITLE_CHARS = 3, 24
"""So many hidden items of a run are named, by so much of their text."""

BESIDE: dict[str, str] = {
    **dict.fromkeys(("label", "button", "input", "img"), " "),
    **dict.fromkeys(BLOCKS, "\n"),
    "br": "\n",
}
"""What parts an element from its neighbours."""


class Joiner:
    """Put nodes one behind the other, in document order, with one separator at most between two."""

    def __init__(self, beside: Mapping[str, str]) -> None:
        self.beside = beside
        self.out: list[str] = []
        self.stack: list[tuple[int, str, str]] = []
        """Of what is open: the index behind it, the tag that closes it, and what comes before the next piece."""
        self.gap = ""
        """What comes before the next piece: nothing, a space or a new line."""
        self.fresh = True
        """A tag was opened behind white space: more of it says nothing."""
        self.note = ""
        """Waits for a place where a text may stand."""

    def add(self, kept: list[Node], start: int, stop: int) -> None:
        """Write nodes: texts, and the tags that open and close elements. One loop, since every node goes through it."""
        out, stack, beside = self.out, self.stack, self.beside
        gap, fresh = self.gap, self.fresh
        for index in range(start, stop):
            while stack and stack[-1][0] <= index:
                _, close, behind = stack.pop()
                if close:
                    out.append(close)
                    gap, fresh = "", False
                if behind and (len(behind) > len(gap) or behind[0] == "\n" != gap[:1]):
                    gap = behind
            node = kept[index]
            tag, head = node.tag, node.head
            if head and self.note:
                self.gap = gap
                self._put_note(node)
                gap = self.gap
            if not tag:
                if head:
                    if gap or (node.space and not fresh):
                        out.append((gap or " ") + head if out else head)
                    else:
                        out.append(head)
                    gap, fresh = "", False
                elif node.space and not gap and not fresh:
                    gap = " "
                continue
            behind = "" if node.flags & PRE and tag != "pre" else beside.get(tag, "")
            if behind and (len(behind) > len(gap) or behind[0] == "\n" != gap[:1]):
                gap = behind
            elif node.space and not gap and not fresh:
                gap = " "
            if head:
                out.append(gap + head if out else head)
                fresh = fresh or gap != ""
                gap = ""
            if behind or node.tail:
                stack.append((node.last, node.tail, behind))
        self.gap, self.fresh = gap, fresh

    def close(self, index: int, depth: int = 0) -> None:
        """Close what ends at or before ``index`` and was opened above a depth of the stack."""
        stack = self.stack
        while len(stack) > depth and stack[-1][0] <= index:
            _, close, behind = stack.pop()
            if close:
                self.out.append(close)
                self.gap, self.fresh = "", False
            if behind and (len(behind) > len(self.gap) or behind[0] == "\n" != self.gap[:1]):
                self.gap = behind

    def add_unit(self, kept: list[Node], unit: Unit, written: Written) -> None:
        """Write a unit: the same again behind the same, which `written` remembers from one trial to the next."""
        self.close(unit.start)
        if self.note or not self.out:
            self.add(kept, unit.start, unit.stop)
            return
        key = unit.start, self.gap, self.fresh
        known = written.get(key)
        if known is None:
            out, first, depth = self.out, len(self.out), len(self.stack)
            self.add(kept, unit.start, unit.stop)
            self.close(unit.stop, depth)
            known = written[key] = "".join(out[first:]), self.gap, self.fresh
            del out[first:]
        text, self.gap, self.fresh = known
        self.out.append(text)

    def end(self) -> str:
        """Return all that was written."""
        self.close(1 << 60)
        if self.note:
            self._put_note(None)
        return "".join(self.out)

    def _put_note(self, node: Node | None) -> None:
        """Write the note that waits, if a text may stand before a node."""
        if node is not None and node.parent is not None and node.parent.flags & (TABLE_BOX | ROW_BOX):
            return
        self.out.append("\n" + self.note if self.out else self.note)
        self.gap, self.note = "\n", ""


def join_all(kept: list[Node], beside: Mapping[str, str]) -> str:
    """Write all nodes."""
    joiner = Joiner(beside)
    joiner.add(kept, 1, len(kept))
    return joiner.end()


class Gap(NamedTuple):
    """Neighbours that are gone: the roots of their subtrees, and what was in them."""

    roots: list[int]
    links: int
    controls: int
    chars: int


class Assembly:
    """Write what was chosen, and know what was not."""

    def __init__(
        self,
        parts: Parts,
        choice: Choice,
        beside: Mapping[str, str],
        places: tuple[array[int], array[int]],
        titles_room: int = 0,
    ) -> None:
        self.kept = parts.kept
        self._starts, self._ends = places
        self.parts = parts
        self.gaps: list[Gap] = []
        self.titles_room = titles_room
        self._paths = Paths()
        self._joiner = Joiner(beside)
        self._first = array("l", [unit.start for unit in parts.units])
        self._taken_before = array("l", accumulate(choice.taken[1:-1], initial=0))
        self._gap: Gap | None = None
        self.text = self._write()

    def _write(self) -> str:
        kept, units, joiner = self.kept, self.parts.units, self._joiner
        first, taken_before, written = self._first, self._taken_before, self.parts.written
        index, number = 1, 0
        while index < len(kept):
            if number < len(units) and first[number] == index:
                unit: Unit | None = units[number]
                stop, behind = units[number].stop, number + 1
            else:
                unit, stop = None, kept[index].last
                behind = bisect_left(first, stop, number)
            if number == behind:  # nothing in it would be written
                index = stop
            elif taken_before[behind] == taken_before[number]:
                self._leave_out(index, number, behind)
                index, number = stop, behind
            elif unit is None:
                joiner.close(index)
                if kept[index].head:
                    self._end_gap()
                joiner.add(kept, index, index + 1)
                index += 1
            else:
                joiner.close(index)
                self._end_gap()
                joiner.add_unit(kept, unit, written)
                index, number = stop, behind
        self._end_gap()
        return joiner.end()

    def _leave_out(self, index: int, number: int, behind: int) -> None:
        links, controls, chars = (0, 0, 0) if self._gap is None else self._gap[1:]
        roots = [] if self._gap is None else self._gap.roots
        roots.append(index)
        for unit in self.parts.units[number:behind]:
            links, controls, chars = links + unit.links, controls + unit.controls, chars + unit.chars
        self._gap = Gap(roots, links, controls, chars)

    def _end_gap(self) -> None:
        gap, self._gap = self._gap, None
        if gap is None:
            return
        if self._joiner.note:  # the one before has found no place yet
            last = self.gaps.pop()
            gap = Gap(last.roots + gap.roots, *[a + b for a, b in zip(last[1:], gap[1:], strict=True)])
        self._joiner.note = self._note(gap)
        self.gaps.append(gap)

    def _note(self, gap: Gap) -> str:
        """Return the note that stands for a gap: how much is gone, and where like items are."""
        said = [f"{gap.links} links"] * (gap.links >= _LEAST_LINKS)
        said += [f"{gap.controls} controls"] * (gap.controls > 0)
        if gap.chars >= max(_LEAST_CHARS, _TEXT_PER_ACTION * (gap.links + gap.controls)):
            said.append(f"{gap.chars} chars")
        return left_out(" ".join(said) + self._items(gap.roots))

    def _items(self, roots: list[int]) -> str:
        """Return how many items of one run are gone, by which selector they are found, and what the first are."""
        runs = [self.parts.runs.get(index) for index in roots]
        first, last = runs[0], runs[-1]
        node = self.kept[roots[0]]
        parent = node.parent
        if first is None or last is None or parent is None or len(roots) < LEAST_ITEMS // 2:
            return ""
        if any([self.kept[index].parent is not parent for index in roots]):
            return ""
        said = f" {len(roots)} of {first.items} {self._paths.of(parent)}>{node.tag}:nth-of-type(n+{first.place})"
        if last.place < last.items:
            said += f":nth-of-type(-n+{last.place})"
        if self.titles_room < len(said):
            return ""
        titles = [self._title(index) for index in roots[:_TITLES]]
        named = f": {'; '.join(titles)}" if all(titles) else ""
        if len(said) + len(named) > self.titles_room:
            named = ""
        self.titles_room -= len(said) + len(named)
        return said + named

    def _title(self, index: int) -> str:
        words = " ".join([one.head for one in self.kept[index : self.kept[index].last] if not one.tag])
        return words if len(words) <= _TITLE_CHARS else words[: _TITLE_CHARS - 1].rstrip("&") + "…"

    def removed(self) -> list[Removed]:
        """Return what is not in the text, neighbours of one parent as one, in the order of the page."""
        found: list[Removed] = []
        units, starts = self.parts.units, self._first
        for gap in self.gaps:
            before: Node | None = None
            for index in gap.roots:
                node = self.kept[index]
                number = bisect_left(starts, index)
                stop = units[number].stop if number < len(units) and starts[number] == index else node.last
                held = units[number : bisect_left(starts, stop)]
                links, controls = sum([unit.links for unit in held]), sum([unit.controls for unit in held])
                end = max(self._ends[stop - 1], self._ends[index])
                if before is not None and before.parent is node.parent:
                    last = found.pop()
                    found.append(last._replace(end=end, links=last.links + links, controls=last.controls + controls))
                else:
                    found.append(Removed(self._paths.of(node), self._starts[index], end, OVER, links, controls))
                before = node
        return found
