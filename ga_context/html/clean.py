"""Leave out what a reader cannot use, and measure the rest: one pass down, one pass up."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from typing import NamedTuple

from ga_context.html.tree import BLOCKS, Node, Tree, names, tells
from ga_context.html.words import decoded

GONE = names(
    "# area base basefont bgsound canvas col colgroup datalist frame link meta param source template title track"
)
"""Elements of which nothing can be read or used; ``#`` is what the reader left out: scripts, styles, comments."""

CONTROLS = frozenset(("button", "input", "select", "textarea"))
_ROLES = names(
    "button checkbox combobox link menuitem menuitemcheckbox menuitemradio option radio searchbox slider "
    "spinbutton switch tab textbox"
)
"""Roles of what can be acted on (WAI-ARIA 1.2, widget roles)."""

_ATTRIBUTE = re.compile(r"""([^\s/>="'][^\s/>=]*+)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'>][^\s>]*+)))?""")
_HIDDEN_STYLE = re.compile(r"(?:^|[;\s])(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
_PROSE_CHARS = 80
"""A block with so much text of its own is prose."""
_LIST_SHARE, _LINK_SHARE = 0.4, 0.1
"""What a character of a shorter block, and of a link, counts toward prose."""

_USEFUL = names(
    "href id name type value placeholder checked selected disabled required readonly multiple alt title src "
    "action method for role aria-label aria-hidden aria-expanded colspan rowspan hidden style start datetime "
    "open contenteditable onclick width height min max maxlength pattern data-testid data-test data-qa label"
)
"""Attributes that are looked at; `write.py` says which of them stay."""


_DETAILED = names(
    "a audio button details dialog form iframe img input label ol optgroup option select td textarea th time video"
)
"""Elements whose attributes may stay; of others only those count that hide it or make it act."""


class Traits(NamedTuple):
    """What the attributes of an element say; the same text says the same everywhere in a page."""

    attrs: dict[str, str]
    hidden: bool
    veiled: bool
    """Hidden from those who hear the page: what cannot be acted on is decoration."""
    acts: bool


_PLAIN = Traits({}, False, False, False)


class Gone(NamedTuple):
    """The root of a subtree that goes, and its range in the source."""

    node: Node
    start: int
    end: int


class Page(NamedTuple):
    """A page without what no reader can use."""

    title: str
    kept: list[Node]
    """The nodes that stay, in document order; the first is the body."""
    starts: array[int]
    ends: array[int]
    """Where each of them stands in the source."""
    gone: list[Gone]


def clean(tree: Tree) -> Page:
    """Part a page into what stays, with its traits, and what goes. The tree's lists are emptied."""
    nodes, starts, ends = tree
    title = ""
    gone: list[Gone] = []
    known_whole: dict[str, Traits] = {"": _PLAIN}
    known_boxes: dict[str, Traits] = {"": _PLAIN}
    acting: list[int] | None = None
    runs: list[tuple[int, int]] = []
    """Ranges of nodes that stay: they are taken out as wholes, which costs nothing for each."""
    at = first = lost = 0
    count = len(nodes)
    while at < count:
        node = nodes[at]
        tag = node.tag
        if not tag:
            at += 1
            continue
        if tag in GONE:
            if tag == "title" and not title:
                title = " ".join([one.text for one in nodes[at + 1 : node.last]])
            else:
                gone.append(Gone(node, starts[at], ends[at]))
        else:
            text = node.text
            known = known_whole if tag in _DETAILED else known_boxes
            traits = known.get(text)
            if traits is None:
                reads = known is known_whole or tells(text)
                traits = known[text] = read_traits(text) if reads else _PLAIN
            goes = tag == "input" and traits.attrs.get("type", "").lower() == "hidden"
            if not goes and (traits.hidden or traits.veiled):
                if acting is None:
                    acting = [i for i, one in enumerate(nodes) if one.tag == "a" or one.tag in CONTROLS]
                goes = bisect_left(acting, at) == bisect_left(acting, node.last)
            if not goes:
                at += 1
                node.traits = traits
                node.last = at - lost
                node.chars = node.link_chars = node.loose = node.links = node.controls = 0
                node.prose = 0.0
                node.block = False
                continue
            gone.append(Gone(node, starts[at], ends[at]))
        runs.append((first, at))
        lost += node.last - at
        at = first = node.last
    runs.append((first, count))
    if len(runs) > 1:
        kept: list[Node] = []
        kept_starts, kept_ends = starts[:0], ends[:0]
        for start, stop in runs:
            kept += nodes[start:stop]
            kept_starts += starts[start:stop]
            kept_ends += ends[start:stop]
        nodes.clear()
        return Page(title, kept, kept_starts, kept_ends, gone)
    return Page(title, nodes, starts, ends, gone)


def read_traits(source: str) -> Traits:
    """Return what stands in a start tag behind the name."""
    attrs: dict[str, str] = {}
    for name, double, single, bare in _ATTRIBUTE.findall(source):
        if name not in _USEFUL:
            name = name.lower()
            if name not in _USEFUL:
                continue
        if name not in attrs:
            value = double or single or bare
            attrs[name] = decoded(value) if "&" in value else value
    if not attrs:
        return _PLAIN
    hidden = attrs.get("hidden", "until-found") != "until-found" or (
        "style" in attrs and _HIDDEN_STYLE.search(attrs["style"]) is not None
    )
    acts = attrs.get("role") in _ROLES or attrs.get("contenteditable", "false") not in ("false", "inherit")
    return Traits(attrs, hidden, attrs.get("aria-hidden") == "true", acts)


def measure(kept: list[Node]) -> None:
    """Sum up text, links, controls and prose of each subtree, and where it ends in ``kept``."""
    for index in range(len(kept) - 1, 0, -1):
        node = kept[index]
        parent = node.parent
        assert parent is not None
        tag = node.tag
        if not tag:
            text = node.text
            parent.chars += len(text)
            parent.loose += len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
            if parent.last <= index:
                parent.last = index + 1
            continue
        if parent.last < node.last:
            parent.last = node.last
        loose = node.loose
        if tag == "a":
            if "href" in node.traits.attrs:
                node.links += 1
                node.link_chars, loose = node.chars, 0
                node.prose += _LINK_SHARE * node.chars
        elif tag in CONTROLS:
            node.controls += 1
            if tag == "select":
                loose, node.prose = 0, 0.0
        parent.chars += node.chars
        parent.link_chars += node.link_chars
        parent.links += node.links
        parent.controls += node.controls
        if tag in BLOCKS or node.block:
            node.prose += loose if loose >= _PROSE_CHARS else _LIST_SHARE * loose
            node.block = parent.block = True
        else:
            parent.loose += loose
        parent.prose += node.prose
