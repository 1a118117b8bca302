"""What a page is read into: nodes in document order, flat, and the tables of names that all rooms share."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ga_context.html.clean import Traits


def names(text: str) -> frozenset[str]:
    """Return the words of a table of names."""
    return frozenset(text.split())


VOID = names("area base br col embed frame hr img input keygen link meta param source track wbr")

RAW = names("script style noscript iframe noembed noframes svg xmp textarea title")
"""Elements whose content is no markup: it ends at their own closing tag only."""

BLOCKS = names(
    "address article aside blockquote body center dd details dialog dir div dl dt fieldset figcaption figure "
    "footer form h1 h2 h3 h4 h5 h6 header hgroup hr legend li main menu nav ol optgroup option p pre search "
    "section select summary table tbody td textarea tfoot th thead tr ul video iframe caption"
)
"""Elements beside which a new line begins."""

UNIT_CHARS, LEAST_UNIT_CHARS = 800, 60
"""No text is longer; what is comes in pieces, so that a part of it can stay. Of a small budget it is a quarter."""

HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
TABLE_PARTS = names("table tr tbody thead tfoot")
"""Elements right in which no text may stand."""


def tells(source: str) -> bool:
    """Tell whether the attributes of an element may hide it or make it act: they hold one of a few words."""
    source = source.lower()
    return "hidden" in source or "none" in source or "role" in source or "editable" in source


class Node:
    """An element, or a text (its ``tag`` is empty), in document order. ``#`` is what goes in any case."""

    __slots__ = (
        "block",
        "chars",
        "controls",
        "flags",
        "frame",
        "head",
        "last",
        "link_chars",
        "links",
        "loose",
        "parent",
        "prose",
        "size",
        "space",
        "tag",
        "tail",
        "text",
        "traits",
        "weight",
    )  # fmt: skip

    text: str
    """Of an element, what stands behind the name in its tag; of a text, its words, or all of it in a ``pre``."""
    last: int
    """Index of the first node behind its subtree; an element has it. While it is open, its own."""
    space: bool
    """White space stands before it."""

    traits: Traits
    """Of an element: what its attributes say (`clean.py`)."""
    block: bool
    """A block is in it, or it is one."""
    chars: int
    link_chars: int
    links: int
    controls: int
    """Of its subtree: characters of text, those of them in links, links, controls."""
    loose: int
    """Of its text, what stands in no block inside it and in no link."""
    prose: float
    """Of its subtree: characters of text, a short one and that of links less."""
    weight: float
    """How much a text in it counts (`score.py`)."""

    head: str
    tail: str
    """What is written before and behind what is in it; of a text, `head` is all."""
    flags: int
    """What may not be written inside it (`markup.py`)."""
    frame: Node | None
    """The innermost element around it that is written; of a text, see `frame_of`."""
    size: int
    """Characters of its subtree as it is written, at most."""

    def __init__(self, tag: str, text: str, parent: Node | None, last: int, space: bool) -> None:
        self.tag = tag
        self.text = text
        self.parent = parent
        self.last = last
        self.space = space


class Text:
    """A text: a node with no more fields than it needs, since half of a page's nodes are texts."""

    __slots__ = ("head", "parent", "size", "space", "text")
    tag = ""

    def __init__(self, text: str, parent: Node, space: bool) -> None:
        self.text = text
        self.parent = parent
        self.space = space


class Tree(NamedTuple):
    """The nodes of a page in document order, the first its body, and where in the source each begins and ends.

    The places are numbers in flat arrays, beside the nodes: as fields of theirs they would take five times as much.
    """

    nodes: list[Node]
    starts: array[int]
    ends: array[int]


def frame_of(node: Node) -> Node | None:
    """Return the innermost element around a node that is written."""
    parent = node.parent
    return parent if parent is None or parent.head or parent.tail else parent.frame
