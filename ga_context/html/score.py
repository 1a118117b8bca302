"""What the parts of a page are worth: main content before boilerplate, what can be acted on beside prose."""

from __future__ import annotations

import re

from ga_context.html.tree import BLOCKS, HEADINGS, Node, names

_WEIGHTS = {"nav": 0.3, "footer": 0.3, "aside": 0.4, "header": 0.6, "main": 1.3, "article": 1.2, "dialog": 0.6}
_ROLE_WEIGHTS = {
    "navigation": 0.3, "contentinfo": 0.3, "complementary": 0.4, "banner": 0.6, "search": 0.6, "main": 1.3,
    "dialog": 0.6, "alertdialog": 0.6, "menu": 0.4, "menubar": 0.4,
}  # fmt: skip
_ASIDE, _REPLIES, _CONTENT, _HIDDEN = 0.4, 0.7, 1.15, 0.3
_LEAST_WEIGHT, _MOST_WEIGHT = 0.1, 1.5
"""How much a text counts by where it stands, in shares of a text of which nothing is known."""

_ASIDE_WORDS = names(
    "nav navbar navigation menu submenu sidebar footer masthead breadcrumb breadcrumbs cookie cookies consent "
    "gdpr ad ads advert adverts advertisement promo promos promotion sponsor sponsored related recommend "
    "recommended recommendations share sharing social newsletter subscribe popup modal toolbar pagination "
    "pager signup copyright outbrain taboola skip trending popular tags"
)
_CONTENT_WORDS = names(
    "article content contents main post posts entry entries story body text product products result results "
    "answer answers question questions message messages"
)
_REPLY_WORDS = names("comment comments commentlist reply replies respond disqus review reviews")
"""Words of class and id that tell what a box is for."""

_NAMES = re.compile(r"""(?:^|[\s"'])(class|id|role)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_NAMES_CHARS = 500
_LARGE_SHARE, _MOST_SHARE = 0.4, 0.75
"""A box with so much of the page's prose is no aside, and with so much not the replies, whatever it is called."""

_OUTER_SHARE, _INNER_SHARE = 0.9, 0.65
"""The main content is in the smallest box that holds so much of the prose; its core in the smallest with so much."""
_MAIN_SHARE = 0.35
"""So much is enough for a box that calls itself main."""

_AROUND, _OUTSIDE = 0.7, 0.4
"""What text is worth in the main content around its core, and outside of it."""
_PROSE_CHARS = 80
"""So long a text is prose."""
_TEXTUAL = dict.fromkeys(["li", "tr", "td", "th", "p", "pre", "blockquote", "code"], 0.9)
"""Elements in which a shorter text is mostly content; in a box of no meaning it is mostly a label:"""
_SHORT_IN_LISTS, _SHORT_IN_PROSE = 0.95, 0.4
_LEAST_PROSE, _MOST_PROSE = 0.5, 0.9
"""What it is worth where the core is lists, up to the first share of prose, and where it is prose, from the second."""
_LINK_TEXT, _LINK_TEXT_IN_LISTS, _LINK_TEXT_OUTSIDE = 0.6, 0.9, 0.3
"""What the text of links is worth in main content, in that of a page of links, and elsewhere."""


def weight_of(source: str) -> float:
    """Return how much the text in an element counts by what stands in its start tag."""
    weight, names = 1.0, ""
    for name, double, single, bare in _NAMES.findall(source):
        value = double or single or bare
        if name.lower() == "role":
            weight = _ROLE_WEIGHTS.get(value, 1.0)
        else:
            names += " " + value[:_NAMES_CHARS]
    words = _CAMEL.sub(" ", names.replace("-", " ").replace("_", " ")).lower().split()
    aside = not _ASIDE_WORDS.isdisjoint(words)
    if not aside and not _REPLY_WORDS.isdisjoint(words):
        return weight * _REPLIES
    if aside == _CONTENT_WORDS.isdisjoint(words):
        weight *= _ASIDE if aside else _CONTENT
    return weight


class Scale:
    """Weigh the elements of a page, each after its parent, and know where its main content stands."""

    def __init__(self, kept: list[Node]) -> None:
        self.kept = kept
        self.large, self.most = _LARGE_SHARE * kept[0].prose, _MOST_SHARE * kept[0].prose
        self.known: dict[str, float] = {"": 1.0}
        kept[0].weight = 1.0
        outer = self._smallest(self._start(), _OUTER_SHARE)
        inner = self._smallest(outer, _INNER_SHARE)
        core = kept[inner]
        self.main = range(outer, kept[outer].last)
        self.core = range(inner, core.last)
        self._core_weight = core.weight
        prosaic = min(1.0, max(0.0, core.prose / max(1, core.chars) - _LEAST_PROSE) / (_MOST_PROSE - _LEAST_PROSE))
        self._short = _SHORT_IN_LISTS + prosaic * (_SHORT_IN_PROSE - _SHORT_IN_LISTS)
        self._link_text = _LINK_TEXT_IN_LISTS if core.link_chars * 2 > core.chars else _LINK_TEXT

    def weigh(self, node: Node) -> None:
        """Set the weight of an element."""
        parent = node.parent
        assert parent is not None
        node.weight = parent.weight
        if node.tag not in BLOCKS:
            return
        weight = self.known.get(node.text)
        if weight is None:
            weight = self.known[node.text] = weight_of(node.text)
        weight *= _WEIGHTS.get(node.tag, 1.0)
        if node.traits.hidden or node.traits.veiled:
            weight *= _HIDDEN
        if weight > 1.0 or (weight < 1.0 and node.prose <= (self.most if weight == _REPLIES else self.large)):
            node.weight = min(max(parent.weight * weight, _LEAST_WEIGHT), _MOST_WEIGHT)

    def at(self, index: int, weight: float) -> float:
        """Return what a character of text at ``index`` is worth, in characters of the core's."""
        if index not in self.core:
            weight *= _AROUND if index in self.main else _OUTSIDE
        return min(1.0, weight / self._core_weight)

    def shape(self, chars: int, tag: str) -> float:
        """Return what a text is worth by its length and the element it stands in."""
        return 1.0 if chars >= _PROSE_CHARS or tag in HEADINGS else _TEXTUAL.get(tag, self._short)

    def link_text(self, index: int) -> float:
        """Return what a character of the text of a link at ``index`` is worth."""
        return self._link_text if index in self.main else _LINK_TEXT_OUTSIDE

    def _start(self) -> int:
        """Return the index of the box that calls itself main, or of the body."""
        kept = self.kept
        least = _MAIN_SHARE * kept[0].prose
        for index, node in enumerate(kept):
            if (node.tag == "main" or (node.tag and node.traits.attrs.get("role") == "main")) and node.prose >= least:
                around = [node]
                while (parent := around[-1].parent) is not None and parent.parent is not None:
                    around.append(parent)
                for one in reversed(around):
                    self.weigh(one)
                return index
        return 0

    def _smallest(self, start: int, share: float) -> int:
        """Return the innermost box that holds a share of the prose of the box at ``start``."""
        kept = self.kept
        least = share * kept[start].prose * kept[start].weight
        index, stop = start + 1, kept[start].last
        while least and index < stop:
            node = kept[index]
            if not node.tag:
                index += 1
                continue
            self.weigh(node)
            if node.prose * node.weight >= least:
                start, stop = index, node.last
                index += 1
            else:
                index = node.last
        return start
