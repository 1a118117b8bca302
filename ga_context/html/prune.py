"""``Pruner``: a page in; out comes what a reader and an agent need of it, within a budget."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ga_context.html.choose import Choice
from ga_context.html.clean import GONE, clean, measure, read_traits
from ga_context.html.join import BESIDE, Assembly, join_all
from ga_context.html.markup import LEVELS, HtmlWriter, attribute, escape
from ga_context.html.plain import MARKDOWN_BESIDE, TEXT_BESIDE, MarkdownWriter, TextWriter
from ga_context.html.reader import read
from ga_context.html.report import Mode, Paths, PrunedHTML, PruneReport, Removed
from ga_context.html.tree import LEAST_UNIT_CHARS, UNIT_CHARS, Node, names
from ga_context.html.units import Parts, terms_of
from ga_context.html.urls import Addresses, base_of
from ga_context.text.marker import left_out

_TITLE_CHARS, _HEAD_PARTS = 100, 200
"""Longest title; neither it nor the base takes more than one part in 200 of the budget."""
_LEAST_TITLE_CHARS = 20
"""Less of a title says nothing."""
_LINK_CHARS, _CONTROL_CHARS = 25, 30
"""Markup that a link and a control take at least, where detail is kept."""
_CLOSE, _NEAR = 1.1, 1.3
"""Sizes are upper bounds: so far over the room a page may still fit; and so far over it may fit with less detail."""
_REFILLS = 3
"""How often what the bounds left free is filled, or tried to."""
_RUN_NOTES, _LEAST_RUN_NOTES_CHARS = 100, 120
"""One part in so many of the room, unless that is too little, is for where the hidden items of runs are."""
_LEAST_REFILL = 100
"""What is free is worth a try if it is no less than one part in so many of the room."""
_NOT_LISTED = names("area base basefont bgsound col colgroup doctype frame link meta param source track")
"""Elements that hold nothing: their going is no loss."""

_WRITERS: dict[Mode, tuple[type[HtmlWriter] | type[TextWriter], Mapping[str, str]]] = {
    "html": (HtmlWriter, BESIDE),
    "markdown": (MarkdownWriter, MARKDOWN_BESIDE),
    "text": (TextWriter, TEXT_BESIDE),
}


class Pruner:
    """A page, read and cleaned.

    Args:
        html: the page.
        budget: most characters of the output.
        query: what outranks the rest, or None.
        mode: as of `prune_html`.
        note: given what stands for the long addresses, returns a last line for the output.
    """

    def __init__(
        self,
        html: str,
        budget: int,
        query: str | None,
        mode: Mode,
        note: Callable[[Mapping[str, str]], str] | None = None,
    ) -> None:
        self.budget = budget
        self.unit_chars = max(LEAST_UNIT_CHARS, min(UNIT_CHARS, budget // 4))
        tree = read(html, self.unit_chars)
        self.chars = len(html)
        self.base = base_of(tree.nodes, lambda source: read_traits(source).attrs)
        self.page = clean(tree)
        measure(self.page.kept)
        self.mode = mode
        self.terms = terms_of(query)
        self.note = note

    def prune(self) -> PrunedHTML:
        """Return the page within its budget."""
        head, tail = self._frame()
        room = self.budget - len(head) - len(tail)
        removed: list[Removed] = []
        level = self._first_level(room)
        while True:
            addresses = Addresses(self.base)
            text = self._whole(addresses, level, room)
            foot = self._foot(addresses, room)
            if text is not None and len(text) + len(foot) <= room:
                break
            if level == LEVELS - 1:
                text, removed = self._chosen(room - len(foot))
                break
            level = level + 1 if self.page.kept[0].size <= room * _NEAR else LEVELS - 1
        text = text or self._nothing(room - len(foot))
        out = head + text + foot + tail if text or self.page.title else ""
        report = PruneReport(self.chars, len(out), self.budget, self._removed(removed), addresses.by_number())
        return PrunedHTML(out, report)

    def _first_level(self, room: int) -> int:
        """Return the level of detail to begin with: the first, unless the page surely does not fit at it."""
        whole = self.page.kept[0]
        least = whole.chars + _LINK_CHARS * whole.links + _CONTROL_CHARS * whole.controls
        return 0 if least <= room else LEVELS - 1

    def _whole(self, addresses: Addresses, level: int, room: int) -> str | None:
        """Write the whole page at a level of detail; None if it surely does not fit."""
        kept = self.page.kept
        writer, beside = _WRITERS[self.mode]
        writer(addresses, level).dress(kept)
        for node in reversed(kept):
            if node.parent is not None:
                node.parent.size += node.size
        return join_all(kept, beside) if kept[0].size <= room * _CLOSE else None

    def _chosen(self, room: int) -> tuple[str, list[Removed]]:
        """Write the best of the page, as it is dressed, that fits."""
        kept, places = self.page.kept, (self.page.starts, self.page.ends)
        beside = _WRITERS[self.mode][1]
        parts = Parts(kept, room, self.terms, self.unit_chars)
        most = room - (room // _RUN_NOTES if parts.runs and room >= _RUN_NOTES * _LEAST_RUN_NOTES_CHARS else 0)
        given = most
        while True:
            choice = Choice(kept, parts.units, given)
            best = Assembly(parts, choice, beside, places)
            if len(best.text) <= most:
                break
            given = min(given - (len(best.text) - most), given * 3 // 4)
        free = most - len(best.text)
        for _ in range(_REFILLS):
            if free * _LEAST_REFILL < room:
                break
            more = choice.refilled(free)
            refilled = Assembly(parts, more, beside, places)
            if len(refilled.text) > most:
                free //= 2
                continue
            best, choice = refilled, more
            free = most - len(best.text)
        if any([gap.roots[0] in parts.runs and len(gap.roots) > 1 for gap in best.gaps]):
            best = Assembly(parts, choice, beside, places, room - len(best.text))
        return best.text, best.removed()

    def _frame(self) -> tuple[str, str]:
        """Return what stands around the content: the title, and the address that others are relative to."""
        most = min(_TITLE_CHARS, self.budget // _HEAD_PARTS)
        title = self.page.title
        if len(title) > most:
            title = title[: most - 1] + "…" if most >= _LEAST_TITLE_CHARS else ""
        if self.mode != "html":
            return f"{title}\n" if title else "", ""
        base = self.base if len(self.base) <= self.budget // _HEAD_PARTS else ""
        inside = (f"<title>{escape(title)}</title>" if title else "") + (
            f"<base{attribute('href', base)}>" if base else ""
        )
        # A parser that does not know HTML 5 takes sections for a part of the head, unless the body is opened by name.
        return ("<!doctype html>" + inside + "<body>\n", "</body>") if inside else ("<!doctype html>", "")

    def _foot(self, addresses: Addresses, room: int) -> str:
        foot = self.note(addresses.by_number()) if self.note else ""
        return foot if 4 * len(foot) <= room else ""

    def _nothing(self, room: int) -> str:
        """Say what a page without anything to read was made of."""
        if not self.chars:
            return ""
        reasons = dict.fromkeys([_reason(one.node) for one in self.page.gone if _reason(one.node) not in _NOT_LISTED])
        said = left_out(f"{self.chars} chars{': ' * bool(reasons)}{', '.join(reasons)}")
        return said if len(said) <= room else ""

    def _removed(self, chosen: list[Removed]) -> list[Removed]:
        paths = Paths()
        cleaned = [
            Removed(paths.of(node), start, end, _reason(node))
            for node, start, end in self.page.gone
            if _reason(node) not in _NOT_LISTED
        ]
        return sorted([*cleaned, *chosen], key=lambda one: (one.start, one.end))


def _reason(node: Node) -> str:
    """Return why a subtree went that no reader can use."""
    return node.text if node.tag == "#" else node.tag if node.tag in GONE else "hidden"
