"""Read a page into nodes that know where in the source they stand. No depth is too great, no text is lost.

Why not a parser from the shelf: libxml2 (lxml) drops everything behind the 256th level without a word and behind the
2,048th with ``huge_tree``; lexbor (selectolax) takes 74 s for 100,000 nested ``div``; neither says where in the source
an element begins and ends, which `Removed.start` and `.end` need. This reader takes the tags as the HTML standard does
(13.2.5), ends what a tag ends by implication (13.2.6), and is linear. It costs 1.5 to 2 times
what lxml takes to parse and serialise the same pages, measured on a machine shared with others.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from html import unescape
from sys import intern
from typing import TYPE_CHECKING, cast

from ga_context.text.boundary import before

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

_INLINE_BLOCKS = names("select option optgroup textarea iframe video legend caption td th tr tbody thead tfoot")
_CLOSE_P = BLOCKS - _INLINE_BLOCKS
_WALLS = names("applet button caption marquee object table td template th")
"""No closing tag, and no tag that implies one, reaches out of these."""

UNIT_CHARS, LEAST_UNIT_CHARS = 800, 60
"""No text is longer; what is comes in pieces, so that a part of it can stay. Of a small budget it is a quarter."""

HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_LISTS = ("ul", "ol", "menu", "dir")
_ENDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "li": (("li",), _LISTS),
    "dt": (("dt", "dd"), ("dl",)),
    "dd": (("dt", "dd"), ("dl",)),
    "option": (("option",), ("select", "datalist", "optgroup")),
    "optgroup": (("optgroup", "option"), ("select",)),
    "select": (("select",), ()),
    "a": (("a",), ()),
    "button": (("button",), ("table",)),
    "nobr": (("nobr",), ()),
    "rt": (("rt", "rp"), ("ruby",)),
    "rp": (("rt", "rp"), ("ruby",)),
} | dict.fromkeys(HEADINGS, (HEADINGS, ("div", "section", "article", "li")))
"""Start tag: the open elements that it ends, and those that it does not reach out of."""

_TABLE_ENDS = {
    "tr": ("tr", "caption", "colgroup"),
    "td": ("td", "th"),
    "th": ("td", "th"),
    **dict.fromkeys(
        ("tbody", "thead", "tfoot", "caption", "colgroup"), ("tbody", "thead", "tfoot", "caption", "colgroup")
    ),
}
_ROWS = frozenset(("tbody", "thead", "tfoot"))
_TABLE = frozenset(("table", "tr")) | _ROWS
_IN_SELECT = frozenset(("option", "optgroup", "hr"))
_RENAMED = {"image": "img", "listing": "pre", "plaintext": "pre", "xmp": "pre"}
_ATTRIBUTES = """(?:[^>"'=]++|=\\s*+(?:"[^"]*+"|'[^']*+')?+|["'])*+"""
_TAG = re.compile(f"<(/?)([a-zA-Z][^\\s/>]*+)({_ATTRIBUTES})>")
_CUT_TAG = re.compile(r"<(/?)([a-zA-Z][^\s/>]*+)([^>]*+)>")
"""Without regard to quotes, once one of them was found not to close."""
_SPECIAL = (
    RAW | _WALLS | _TABLE | frozenset(_ENDS) | frozenset(_TABLE_ENDS) | frozenset(_RENAMED)
    | frozenset(("html", "head", "body", "frameset", "form"))
)  # fmt: skip
"""Start tags that need more than a place on the stack."""
_BARE = names("big font span tt")
"""Elements that stand for nothing but what their attributes say."""
TELLING = re.compile("hidden|none|role|editable", re.IGNORECASE)
"""One of these is in the attributes of an element that is hidden or acts."""
_COMMENT_END = re.compile(r"--!?>")
_CDATA_END = re.compile(r"]]>")
_RAW_END = {name: re.compile(f"</{name}(?=[\\s/>])[^>]*>?", re.IGNORECASE) for name in RAW}
_IFRAME = re.compile("<iframe", re.IGNORECASE)
_BLOCK_TAG = re.compile(
    r"</?(?:body|html|main|article|section|div|p|h[1-6]|ul|ol|table|form|header|footer|nav)\b", re.I
)
_LONG_REFERENCE = re.compile(r"&#(?:\d{8,}|[xX][0-9a-fA-F]{8,});?")
_UNSPEAKABLE = re.compile("[\x00-\x08\x0b\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_MARK = re.compile(r"&#?\w{1,32};|&|[^\s&]+")
_NO_BLANK = re.compile(r"\S")
_SENTENCE_END = re.compile(r"[.!?…](?= )|[。！？；]")
_ZEROS = re.compile(r"(&#[xX]?)0+(?=[0-9a-fA-F])")


class Node:
    """An element, or a text (its ``tag`` is empty), in document order. ``#`` is what goes in any case."""

    __slots__ = (
        "block",
        "chars",
        "controls",
        "end",
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
        "start",
        "tag",
        "tail",
        "text",
        "traits",
        "weight",
    )  # fmt: skip

    text: str
    """Of an element, what stands behind the name in its tag; of a text, its words, or all of it in a ``pre``."""
    start: int
    end: int
    """Its range in the source."""
    last: int
    """Index of the first node behind its subtree; an element has it."""
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
    """The innermost element around it that is written."""
    size: int
    """Characters of its subtree as it is written, at most."""

    def __init__(self, tag: str, text: str, parent: Node | None, start: int, end: int, space: bool) -> None:
        self.tag = tag
        self.text = text
        self.parent = parent
        self.start = start
        self.end = end
        self.space = space


class _Text:
    """A text: a node with no more fields than it needs, since half of a page's nodes are texts."""

    __slots__ = ("end", "frame", "head", "parent", "size", "space", "start", "text")
    tag = ""

    def __init__(self, text: str, parent: Node, start: int, end: int, space: bool) -> None:
        self.text = text
        self.parent = parent
        self.start = start
        self.end = end
        self.space = space


def read(html: str, text_chars: int = UNIT_CHARS) -> list[Node]:
    """Return the page's nodes in document order, the first its body; longer texts come in pieces."""
    return _Reader(html, text_chars).read()


def decoded(text: str) -> str:
    """Return a text with its character references resolved; those to no character become U+FFFD."""
    if "&" not in text:
        return text
    if "&#" in text and _LONG_REFERENCE.search(text):  # `unescape` would make an int of any length
        text = _LONG_REFERENCE.sub("\ufffd", _ZEROS.sub(r"\1", text))
    return unescape(text)


def speakable(text: str) -> str:
    """Return a text without what no document may hold: control characters and lone surrogates."""
    return _UNSPEAKABLE.sub("", text)


def _kind(html: str, at: int) -> str:
    """Return what markup is that is no tag."""
    if html.startswith("<!--", at):
        return "comment"
    return "doctype" if html[at : at + 9].lower() == "<!doctype" else "markup"


def _pieces(
    text: str, verbatim: bool, most: int, raw: str, start: int, end: int
) -> Iterator[tuple[str, int, int, bool]]:
    """Yield a long text in pieces: text, range in the source, whether a space was before it."""
    at = place = 0
    while at < len(text):
        stop = len(text) if len(text) - at <= most else _end_of_piece(text, at, most)
        piece = text[at:stop]
        behind = _place_behind(raw, place, piece) if stop < len(text) else end - start
        yield piece, start + place, start + behind, not verbatim and at > 0 and text[at - 1] == " "
        place = behind
        at = stop + (not verbatim and text[stop : stop + 1] == " ")


def _place_behind(raw: str, at: int, piece: str) -> int:
    """Return where a piece of the text ends in the source that begins at ``at``; only what is no space counts."""
    found = _NO_BLANK.search(raw, at)
    at = found.start() if found else len(raw)
    if raw.startswith(piece, at):
        return at + len(piece)
    due = len("".join(piece.split()))
    for match in _MARK.finditer(raw, at):
        mark = match[0]
        size = len("".join(decoded(mark).split())) if mark[0] == "&" else len(mark)
        if size >= due:
            return match.end() if size == due else match.start() + due
        due -= size
    return len(raw)


def _end_of_piece(text: str, at: int, chars: int) -> int:
    """Return where the piece from ``at`` on ends: at a line, a sentence or a word if one ends in its second half."""
    middle, most = at + chars // 2, at + chars
    if (line := text.rfind("\n", middle, most)) >= 0:
        return line + 1
    ends = [match.end() for match in _SENTENCE_END.finditer(text, middle, most)]
    if ends:
        return ends[-1]
    word = text.rfind(" ", middle, most)
    return word if word >= 0 else before(text, most, at, len(text))


class _Reader:
    def __init__(self, html: str, text_chars: int) -> None:
        self.html = html
        self.text_chars = text_chars
        self.nodes = [Node("body", "", None, 0, len(html), False)]
        self.stack = [self.nodes[0]]
        self.opened: defaultdict[str, list[int]] = defaultdict(list)
        """Depths at which elements of a name are open."""
        self.verbatim = self.opened["pre"]
        self.walls = [0]
        self.space = False
        self.rough = _UNSPEAKABLE.search(html) is not None
        self.missing: set[str] = set()
        """Closing marks that do not come any more."""

    def read(self) -> list[Node]:
        """Take tag after tag; what nearly all of them need is done right here."""
        html, find, match = self.html, self.html.find, _TAG.match
        nodes, stack, opened, walls = self.nodes, self.stack, self.opened, self.walls
        rough = self.rough
        known: dict[str, str] = {}  # names and sources come again and again: one of each is enough
        shared = {"": ""}.setdefault
        telling: dict[str, bool] = {}
        paragraphs, selects, preformatted, links = opened["p"], opened["select"], self.verbatim, opened["a"]
        text_start = at = 0
        while (at := find("<", at)) >= 0:
            tag = match(html, at)
            if tag is None:
                end = self._no_tag(at)
                if end > at:
                    self._text(html[text_start:at], text_start, at)
                    self._dropped(_kind(html, at), at, end)
                    text_start = at = end
                elif match == _TAG.match and html[at + 1 : at + 2].isalpha():
                    match = _CUT_TAG.match
                else:
                    at += 1  # a character of the text
                continue
            if text_start < at:
                raw = html[text_start:at]
                if raw.isspace() and not preformatted:
                    self.space = True
                else:
                    self._text(raw, text_start, at)
            closing, name, source = tag.groups()
            name = known.get(name) or known.setdefault(name, intern(name.lower()))
            source = shared(source, source)
            end = tag.end()
            top = stack[-1]
            if name in _BARE and not opened[name]:
                # It says nothing, so it need not be there; its end finds none of its name that is open.
                says = telling.get(source)
                if says is None:
                    says = telling[source] = TELLING.search(source) is not None
                if closing or not (says or selects or top.tag in _TABLE):
                    text_start = at = end
                    continue
            if closing:
                if top.tag == name and len(stack) > 1:
                    stack.pop()
                    opened[name].pop()
                    if name in _WALLS:
                        walls.pop()
                    top.last = len(nodes)
                    top.end = end
                else:
                    self._end(name, at, end)
            elif rough or selects or top.tag in _TABLE or (name in _SPECIAL and (links or name != "a")):
                end = self._start(name, speakable(source) if rough else source, at, end)
            else:
                if paragraphs and name in _CLOSE_P and paragraphs[-1] > walls[-1]:
                    self._pop_to(paragraphs[-1], at)
                    top = stack[-1]
                node = Node(name, source, top, at, end, self.space)
                self.space = False
                nodes.append(node)
                if name in VOID:
                    node.last = len(nodes)
                else:
                    opened[name].append(len(stack))
                    stack.append(node)
            text_start = at = end
        self._text(html[text_start:], text_start, len(html))
        self._pop_to(1, len(html))
        nodes[0].last = len(nodes)
        return nodes

    def _no_tag(self, at: int) -> int:
        """Return the end of a comment or other markup that is no tag, or ``at`` if this is a character of the text."""
        html = self.html
        follows = html[at + 1 : at + 2]
        if html.startswith("<!--", at):
            if html.startswith((">", "->"), at + 4):
                return html.index(">", at) + 1
            end = self._search(_COMMENT_END, "-->", at + 4)
            return end or self._before_tag(at + 4)
        if html.startswith("<![CDATA[", at):
            return self._search(_CDATA_END, "]]>", at) or at + len("<![CDATA[")
        if follows and (follows in "!?/" or follows.isalpha()) and ">" not in self.missing:
            if follows.isascii() and follows.isalpha():  # no ">" that ends it comes any more: a page cut in a tag
                return len(html) if html.find(">", at) < 0 else at
            end = html.find(">", at)
            if end >= 0:
                return end + 1
            self.missing.add(">")
        return at

    def _search(self, pattern: re.Pattern[str], name: str, at: int) -> int:
        """Return where the next match ends, or 0; what was not found once is not looked for again."""
        if name in self.missing:
            return 0
        found = pattern.search(self.html, at)
        if found is None:
            self.missing.add(name)
            return 0
        return found.end()

    def _before_tag(self, at: int) -> int:
        """Return where what was never closed ends: before the next tag."""
        found = self.html.find("<", at)
        return found if found >= 0 else len(self.html)

    # -- what is met

    def _text(self, raw: str, start: int, end: int) -> None:
        """Take a text: its words with one space between, or all of it in a ``pre``."""
        text = decoded(raw) if "&" in raw else raw
        if self.rough:
            text = speakable(text)
        if not text:
            return
        verbatim = bool(self.verbatim or self.opened["textarea"])
        if verbatim:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
            self.space = behind = False
        else:
            if text[0].isspace():
                self.space = True
            behind = text[-1].isspace()
            text = " ".join(text.split())
            if not text:
                return
        if self.stack[-1].tag in _TABLE:
            self._in_cell("", start)
        if len(text) <= self.text_chars:
            self._add_text(text, start, end, self.space)
            self.space = behind
            return
        for piece, first, last, space in _pieces(text, verbatim, self.text_chars, raw, start, end):
            self._add_text(piece, first, last, self.space or space)
            self.space = False
        self.space = behind

    def _add_text(self, text: str, start: int, end: int, space: bool) -> None:
        self.nodes.append(cast(Node, _Text(text, self.stack[-1], start, end, space)))

    def _start(self, name: str, source: str, at: int, end: int) -> int:
        """Take a start tag; return where reading goes on."""
        if name in RAW:
            return self._raw(name, source, at, end)
        if name in _RENAMED:
            name = _RENAMED[name]
        if name in ("html", "head", "body", "frameset"):
            return end
        opened = self.opened
        if opened["select"] and name not in _IN_SELECT:
            if name not in ("input", "button"):
                return end
            self._close(("select",), (), at)
        if name in _CLOSE_P and opened["p"]:
            self._close(("p",), (), at)
        if name in _ENDS:
            self._close(*_ENDS[name], at)
        elif name in _TABLE_ENDS:
            if not opened["table"]:
                name = "div"  # a cell without a table is its content
            else:
                self._pop_out_of_cell(name, at)
        if name == "form" and (opened["form"] or self.stack[-1].tag in _TABLE):
            return end  # forms do not nest, and right in a table they hold nothing
        self._in_cell(name, at)
        self._push(name, source, at, end)
        return end

    def _raw(self, name: str, source: str, at: int, end: int) -> int:
        """Take an element whose content is no markup; return where reading goes on."""
        if name == "svg" and source.endswith("/"):
            return end
        close = self._search(_RAW_END[name], name, end)
        if not close:
            if name in ("textarea", "title", "xmp"):
                return end
            stop = end
            if name in ("script", "style"):
                found = _BLOCK_TAG.search(self.html, end)
                stop = found.start() if found else len(self.html)
            self._dropped(name, at, stop)
            return stop
        inside = self.html.rfind("</", end, close)
        if name in ("textarea", "title", "xmp", "iframe"):
            if name == "iframe" and _IFRAME.search(self.html, end, inside):
                close = inside = end  # the end of another one
            name = _RENAMED.get(name, name)
            if name == "textarea":
                self._close(("select",), (), at)
            self._in_cell(name, at)
            node = self._push(name, source, at, end)
            if name != "iframe" and inside > end:
                self._text(self.html[end:inside], end, inside)
            self._pop_to(node_depth(self.stack, node), close)
            return close
        self._dropped(name, at, close)
        return close

    def _dropped(self, reason: str, start: int, end: int) -> None:
        self.nodes.append(Node("#", reason, self.stack[-1], start, end, False))
        self.nodes[-1].last = len(self.nodes)

    def _end(self, name: str, at: int, end: int) -> None:
        opened = self.opened
        if name == "br":
            self._push("br", "", at, end)
            return
        depths = [opened[one][-1] for one in HEADINGS if opened[one]] if name in HEADINGS else opened[name]
        if not depths:
            return
        depth = max(depths)
        if name in _WALLS or name in _TABLE:
            inside = opened["table"][-1] if opened["table"] and name not in ("table", "button", "object") else 0
        else:
            inside = self.walls[-1]
        if depth > inside or (depth == inside and name in _WALLS):
            self._pop_to(depth, end, at)

    # -- the stack

    def _push(self, tag: str, source: str, start: int, end: int) -> Node:
        node = Node(tag, source, self.stack[-1], start, end, self.space)
        self.space = False
        self.nodes.append(node)
        if tag in VOID:
            node.last = len(self.nodes)
        else:
            self.opened[tag].append(len(self.stack))
            if tag in _WALLS:
                self.walls.append(len(self.stack))
            self.stack.append(node)
        return node

    def _pop_to(self, depth: int, end: int, inner_end: int | None = None) -> None:
        """Close the element at ``depth``, which ends at ``end``, and all in it."""
        stack, last = self.stack, len(self.nodes)
        while len(stack) > depth:
            node = stack.pop()
            self.opened[node.tag].pop()
            if node.tag in _WALLS:
                self.walls.pop()
            node.last = last
            node.end = end if len(stack) == depth or inner_end is None else inner_end

    def _close(self, victims: tuple[str, ...], limits: tuple[str, ...], at: int) -> None:
        """Close the innermost open element of these names, unless one of the limits or a wall is open in it."""
        opened = self.opened
        depth = max([opened[name][-1] for name in victims if opened[name]], default=0)
        if depth > self.walls[-1] - ("button" in victims) and depth > max(
            [opened[name][-1] for name in limits if opened[name]], default=0
        ):
            self._pop_to(depth, at)

    def _pop_out_of_cell(self, name: str, at: int) -> None:
        """Close cells and rows of the innermost table that a tag of a table ends."""
        opened = self.opened
        table = opened["table"][-1]
        depth = min(
            [opened[one][-1] for one in _TABLE_ENDS[name] if opened[one] and opened[one][-1] > table], default=0
        )
        if depth:
            self._pop_to(depth, at)

    def _in_cell(self, name: str, at: int) -> None:
        """Open the row and the cell that content right in a table lacks (browsers move it before the table)."""
        tag = self.stack[-1].tag
        if tag not in _TABLE or name in ("caption", "colgroup", "col", "template"):
            return
        if name in _ROWS:
            return
        if tag != "tr" and name != "tr":
            self._push("tr", "", at, at)
        if name not in ("tr", "td", "th"):
            self._push("td", "", at, at)


def node_depth(stack: list[Node], node: Node) -> int:
    """Return at which depth an element is open; it is the innermost or nearly."""
    depth = len(stack) - 1
    while stack[depth] is not node:
        depth -= 1
    return depth
