"""Part a page into units: subtrees, and pieces of lines, that stay or go as a whole."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from ga_context.html.clean import CONTROLS
from ga_context.html.runs import Run, runs_of
from ga_context.html.score import Scale
from ga_context.html.tree import BLOCKS, HEADINGS, Node

CARD_CHARS = 200
"""So small a subtree is one unit, whatever it holds."""
LIST_CHARS = 160
"""So large may a unit of links be that stand side by side."""

LINK_SHARE, CONTROL_SHARE = 0.16, 0.10
"""So much of the budget goes to links, and to controls, before main text goes first; the cheapest come first."""
_LINK_CHARS, _LINK_MARKUP_CHARS = 45, 25
"""What a link takes with its text, and without."""
_LEAST_LINK, _LEAST_CONTROL = 0.3, 0.5
"""Value of a character of a link, or a control, however many there are already."""
_FIRST = 4.0
"""Value of a character of the first of them."""
_QUERY = 4.0
"""What a character of a unit that holds all words of the query is worth beside its own value."""
_CLIMB = 5
"""Levels that a heading may stand deeper than what it heads."""

_RANKS = {heading: rank for rank, heading in enumerate(HEADINGS)}
_WORD = re.compile(r"\w+")

Written: TypeAlias = dict[tuple[int, str, bool], tuple[str, str, bool]]
"""By where a unit begins, what was before it and whether a tag was just opened: its text, and the same behind it."""


@dataclass(slots=True)
class Unit:
    """What stays or goes as a whole: ``kept[start:stop]``."""

    start: int
    stop: int
    cost: int
    """Characters that it takes at most."""
    value: float
    """In characters of main text."""
    links: int
    controls: int
    chars: int
    """Characters of its text."""
    share: float
    """What its links and controls count by where they stand."""
    needs: tuple[int, ...] = ()
    """Units without which it says little: its heading, the head of its table."""


def terms_of(query: str | None) -> tuple[str, ...]:
    """Return the words of a query, each once."""
    return tuple(dict.fromkeys(_WORD.findall((query or "").casefold())))


class Parts:
    """The units of a page, and the runs of like items in it."""

    def __init__(self, kept: list[Node], room: int, terms: tuple[str, ...], unit_chars: int) -> None:
        self.kept = kept
        self.units: list[Unit] = []
        self.written: Written = {}
        """Of units, by where they begin and what was before: the text, and what is before the next (`join.py`)."""
        self.runs: dict[int, Run] = runs_of(kept)
        """Of the items of a run, by their index in ``kept``."""
        self._scale = Scale(kept)
        self._terms = terms
        self._unit_chars = unit_chars
        self._card_chars = min(CARD_CHARS, unit_chars)
        self._headings: list[tuple[int, int, int]] = []
        """Those that hold here: where that ends, their rank, their unit."""
        self._part()
        self._add_actions(room, LINK_SHARE, _LEAST_LINK, lambda unit: unit.links)
        self._add_actions(room, CONTROL_SHARE, _LEAST_CONTROL, lambda unit: unit.controls)

    def _part(self) -> None:
        """Go down to what is small, or of one block, from the outside in."""
        kept, scale = self.kept, self._scale
        shares = [(len(kept), 1.0)]
        links = controls = 0  # of the boxes that were entered since the last unit
        index = 1
        while index < len(kept):
            node = kept[index]
            while shares[-1][0] <= index:
                shares.pop()
            tag, size = node.tag, node.size
            if not tag:
                unit = self._text(node, index, shares[-1][1])
            elif not size:
                index = node.last
                continue
            else:
                scale.weigh(node)
                run = self.runs.get(index)
                if run is not None:
                    shares.append((node.last, shares[-1][1] * run.share))
                divides = size > self._unit_chars or (node.block and tag != "tr")
                if size > self._card_chars and divides and node.last > index + 1:
                    if node.head:
                        links += tag == "a"
                        controls += tag in CONTROLS
                    index += 1
                    continue
                unit = self._element(node, index, shares[-1][1], links, controls)
            index = unit.stop
            links = controls = 0
            self._enter(unit, node)
        if self._terms:
            for unit in self.units:
                self._ask(unit)

    def _text(self, node: Node, index: int, share: float) -> Unit:
        parent = node.parent
        assert parent is not None
        weight = self._scale.at(index, parent.weight)
        chars = len(node.text)
        value = weight * share * node.size * self._scale.shape(chars, parent.tag)
        return Unit(index, index + 1, node.size, value, 0, 0, chars, share * min(1.0, weight + 0.5))

    def _element(self, node: Node, index: int, share: float, links: int, controls: int) -> Unit:
        weight = self._scale.at(index, node.weight)
        links += node.links
        controls += node.controls
        chars, text, value = node.chars, node.chars - node.link_chars, 0.0
        if chars:
            worth = text * self._scale.shape(text, node.tag) + self._scale.link_text(index) * node.link_chars
            value = weight * share * worth / chars * max(chars, node.size - _LINK_MARKUP_CHARS * (links + controls))
        return Unit(index, node.last, node.size, value, links, controls, chars, share * min(1.0, weight + 0.5))

    def _enter(self, unit: Unit, node: Node) -> None:
        before = self.units[-1] if self.units else None
        if before is not None and self._is_one(before, unit, node):
            before.stop = unit.stop
            before.cost += unit.cost
            before.value += unit.value
            before.links += unit.links
            before.controls += unit.controls
            before.chars += unit.chars
            return
        self._depend(unit, node)
        self.units.append(unit)

    def _is_one(self, before: Unit, unit: Unit, node: Node) -> bool:
        """Tell whether a unit is a piece of the same line, or the next link of a list, and both are small together."""
        first = self.kept[before.start]
        if before.stop != unit.start or first.parent is not node.parent:
            return False
        cost, links = before.cost + unit.cost, before.links + unit.links
        if node.tag and (node.block or node.tag in BLOCKS):
            only_links = before.links and unit.links and before.chars + unit.chars <= _LINK_CHARS * links
            return bool(first.tag == node.tag and only_links and cost <= LIST_CHARS)
        if first.tag and (first.block or first.tag in BLOCKS):
            return False
        return cost <= (min(LIST_CHARS, self._unit_chars) if links > 1 else self._unit_chars)

    def _depend(self, unit: Unit, node: Node) -> None:
        """Tie a unit to the heading it stands under, which holds to the end of the box around what it heads."""
        headings = self._headings
        while headings and headings[-1][0] <= unit.start:
            headings.pop()
        rank = self._rank(node, unit.start)
        if rank is None:
            if headings:
                unit.needs = (headings[-1][2],)
            return
        while headings and headings[-1][1] >= rank:
            headings.pop()
        box = node.parent
        for _ in range(_CLIMB):
            if box is None or box.parent is None or box.chars > node.chars:
                break
            box = box.parent
        headings.append((box.last if box is not None else len(self.kept), rank, len(self.units)))

    def _rank(self, node: Node, index: int) -> int | None:
        """Return the rank of a heading, or below them of the head of a table; None for what heads nothing."""
        rank = _RANKS.get(node.tag)
        if rank is not None:
            return rank
        if node.tag != "tr" or node.parent is None:
            return None
        return len(HEADINGS) if node.parent.tag == "thead" or self.kept[index + 1].tag == "th" else None

    def _ask(self, unit: Unit) -> None:
        """Let a unit that holds words of the query outrank others."""
        text = " ".join([node.text for node in self.kept[unit.start : unit.stop]]).casefold()
        found = sum([term in text for term in self._terms])
        if found:
            unit.value += unit.cost * _QUERY * found / len(self._terms)

    def _add_actions(self, room: int, share: float, least: float, count: Callable[[Unit], int]) -> None:
        """Add what can be acted on, the cheapest first: the more of it there is already, the less it is worth."""
        acting = [unit for unit in self.units if count(unit)]
        acting.sort(key=lambda unit: ((unit.cost - unit.value) / count(unit) / unit.share, unit.start))
        spent = 0.0
        for unit in acting:
            cost = min(unit.cost, _LINK_CHARS * count(unit))
            spent += cost
            unit.value += cost * unit.share * max(least, _FIRST / (1 + spent / (share * room)) ** 2)
