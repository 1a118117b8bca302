"""Leave out what a reader cannot use, and measure the rest: one pass down, one pass up."""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import NamedTuple

from ga_context.html.tree import BLOCKS, TELLING, Node, decoded, names

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

_ATTRIBUTE = re.compile(r"""([^\s/>="'][^\s/>=]*)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>][^\s>]*)))?""")
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


class Page(NamedTuple):
    """A page without what no reader can use."""

    title: str
    kept: list[Node]
    """The nodes that stay, in document order; the first is the body."""
    gone: list[Node]
    """The roots of the subtrees that go."""


def clean(nodes: list[Node]) -> Page:
    """Part a page into what stays, with its traits, and what goes."""
    title = ""
    kept: list[Node] = []
    gone: list[Node] = []
    known_whole: dict[str, Traits] = {"": _PLAIN}
    known_boxes: dict[str, Traits] = {"": _PLAIN}
    acting: list[int] | None = None
    at = 0
    while at < len(nodes):
        node = nodes[at]
        tag = node.tag
        if not tag:
            kept.append(node)
            at += 1
            continue
        if tag in GONE:
            if tag == "title" and not title:
                title = " ".join([one.text for one in nodes[at + 1 : node.last]])
            else:
                gone.append(node)
            at = node.last
            continue
        text = node.text
        known = known_whole if tag in _DETAILED else known_boxes
        traits = known.get(text)
        if traits is None:
            reads = known is known_whole or TELLING.search(text)
            traits = known[text] = read_traits(text) if reads else _PLAIN
        if tag == "input" and traits.attrs.get("type", "").lower() == "hidden":
            gone.append(node)
            at = node.last
            continue
        if traits.hidden or traits.veiled:
            if acting is None:
                acting = [i for i, one in enumerate(nodes) if one.tag == "a" or one.tag in CONTROLS]
            if bisect_left(acting, at) == bisect_left(acting, node.last):
                gone.append(node)
                at = node.last
                continue
        kept.append(node)
        at += 1
        node.traits = traits
        node.last = len(kept)
        node.chars = node.link_chars = node.loose = node.links = node.controls = 0
        node.prose = 0.0
        node.block = False
    return Page(title, kept, gone)


def read_traits(source: str) -> Traits:
    """Return what stands in a start tag behind the name."""
    attrs: dict[str, str] = {}
    for name, double, single, bare in _ATTRIBUTE.findall(source):
        name = name.lower()
        if name in _USEFUL and name not in attrs:
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
