"""Read a page into nodes that know where in the source they stand. No depth is too great, no text is lost.

Why not a parser from the shelf: libxml2 (lxml) drops everything behind the 256th level without a word and behind the
2,048th with ``huge_tree``; lexbor (selectolax) takes 74 s for 100,000 nested ``div``; neither says where in the source
an element begins and ends, which `Removed.start` and `.end` need. This reader takes the tags as the HTML standard does
(13.2.5), ends what a tag ends by implication (13.2.6), and is linear.
"""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Callable
from sys import intern
from typing import Any, NamedTuple, cast

from ga_context.html.tree import BLOCKS, HEADINGS, RAW, TABLE_PARTS, UNIT_CHARS, VOID, Node, Text, Tree, names, tells
from ga_context.html.words import decoded, is_speakable, pieces, speakable

_INLINE_BLOCKS = names("select option optgroup textarea iframe video legend caption td th tr tbody thead tfoot")
_CLOSE_P = BLOCKS - _INLINE_BLOCKS
_WALLS = names("applet button caption marquee object table td template th")
"""No closing tag, and no tag that implies one, reaches out of these."""

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
_IN_SELECT = frozenset(("option", "optgroup", "hr"))
_RENAMED = {"image": "img", "listing": "pre", "plaintext": "pre", "xmp": "pre"}
_ATTRIBUTES = """[^>"'=]*+(?:(?:=\\s*+(?:"[^"]*+"|'[^']*+')?+|["'])[^>"'=]*+)*+"""
_TAG = re.compile(f"([^<]*+)<(/?[a-zA-Z][^\\s/>]*+)({_ATTRIBUTES})>")
"""A text and the tag behind it: one step of the scan takes both."""
_CUT_TAG = re.compile(r"([^<]*+)<(/?[a-zA-Z][^\s/>]*+)([^>]*+)>")
"""Without regard to quotes, once one of them was found not to close."""
_SHARED_CHARS = 24
"""Texts up to this length come again and again in a page, as do sources of tags: one of each is enough."""
_SPECIAL = (
    RAW | _WALLS | TABLE_PARTS | frozenset(_ENDS) | frozenset(_TABLE_ENDS) | frozenset(_RENAMED)
    | frozenset(("html", "head", "body", "frameset", "form"))
)  # fmt: skip
"""Start tags that need more than a place on the stack."""
_BARE = names("big font span tt")
"""Elements that stand for nothing but what their attributes say."""
_COMMENT_END = re.compile(r"--!?>")
_CDATA_END = re.compile(r"]]>")
_RAW_END = {name: re.compile(f"</{name}(?=[\\s/>])[^>]*>?", re.IGNORECASE) for name in RAW}
_IFRAME = re.compile("<iframe", re.IGNORECASE)
_BLOCK_TAG = re.compile(
    r"</?(?:body|html|main|article|section|div|p|h[1-6]|ul|ol|table|form|header|footer|nav)\b", re.I
)


def read(html: str, text_chars: int = UNIT_CHARS) -> Tree:
    """Return the page's nodes and where they stand; longer texts come in pieces."""
    return _Reader(html, text_chars).read()


def _kind(html: str, at: int) -> str:
    """Return what markup is that is no tag."""
    if html.startswith("<!--", at):
        return "comment"
    return "doctype" if html[at : at + 9].lower() == "<!doctype" else "markup"


class _Mark(NamedTuple):
    """What a tag is by its name, looked up once for each name in a page."""

    name: str
    depths: list[int]
    """Depths at which elements of the name are open."""
    closing: bool
    bare: bool
    special: bool
    closes_p: bool
    void: bool
    wall: bool


class _Reader:
    def __init__(self, html: str, text_chars: int) -> None:
        self.html = html
        self.text_chars = text_chars
        self.nodes = [Node("body", "", None, 0, False)]
        place = "i" if len(html) < 1 << 31 else "q"
        self.starts, self.ends = array(place, [0]), array(place, [len(html)])
        self.stack = [self.nodes[0]]
        self.opened: defaultdict[str, list[int]] = defaultdict(list)
        """Depths at which elements of a name are open."""
        self.verbatim = self.opened["pre"]
        self.walls = [0]
        self.space = False
        self.rough = not is_speakable(html)
        self.missing: set[str] = set()
        """Closing marks that do not come any more."""
        self.shared: dict[str, str] = {}

    def read(self) -> Tree:
        """Take tag after tag; what nearly all of them need is done right here."""
        html, match = self.html, _TAG.match
        nodes, stack, opened, walls = self.nodes, self.stack, self.opened, self.walls
        starts, ends, rough, text_chars = self.starts, self.ends, self.rough, self.text_chars
        add_node, add_start, add_end = nodes.append, starts.append, ends.append
        add_text: Callable[[Any], None] = nodes.append
        shared = self.shared.setdefault
        marks: dict[str, _Mark] = {}
        telling: dict[str, bool] = {}
        paragraphs, selects, preformatted, links = opened["p"], opened["select"], self.verbatim, opened["a"]
        text_start = at = 0
        while True:
            tag = match(html, at)
            if tag is None:
                at = html.find("<", at)
                if at < 0:
                    break
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
            raw, mark, source = tag.groups()
            end = tag.end()
            at += len(raw)
            if text_start + len(raw) < at:
                raw = html[text_start:at]
            top = stack[-1]
            if raw:
                if raw.isspace() and not preformatted:
                    self.space = True
                elif preformatted or rough or len(raw) > text_chars or "&" in raw or top.tag in TABLE_PARTS:
                    self._text(raw, text_start, at)
                    top = stack[-1]
                else:
                    text = " ".join(raw.split())
                    if len(text) <= _SHARED_CHARS:
                        text = shared(text, text)
                    add_text(Text(text, top, self.space or raw[0].isspace()))
                    add_start(text_start)
                    add_end(at)
                    self.space = raw[-1].isspace()
            text_start = end
            known = marks.get(mark)
            if known is None:
                known = marks[mark] = self._mark(mark)
            name, depths, closing, bare, special, closes_p, void, wall = known
            if bare and not depths:
                # It says nothing, so it need not be there; its end finds none of its name that is open.
                if closing:
                    at = end
                    continue
                says = telling.get(source)
                if says is None:
                    says = telling[source] = tells(source)
                if not (says or selects or top.tag in TABLE_PARTS):
                    at = end
                    continue
            if closing:
                if top.tag == name and len(stack) > 1:
                    stack.pop()
                    depths.pop()
                    if wall:
                        walls.pop()
                    ends[top.last] = end
                    top.last = len(nodes)
                else:
                    self._end(name, at, end)
            else:
                if source:
                    source = shared(source, source)
                if (special and (links or name != "a")) or rough or selects or top.tag in TABLE_PARTS:
                    text_start = end = self._start(name, speakable(source) if rough else source, at, end)
                else:
                    if closes_p and paragraphs and paragraphs[-1] > walls[-1]:
                        self._pop_to(paragraphs[-1], at)
                        top = stack[-1]
                    node = Node(name, source, top, len(nodes), self.space)
                    self.space = False
                    add_node(node)
                    add_start(at)
                    add_end(end)
                    if void:
                        node.last += 1
                    else:
                        depths.append(len(stack))
                        stack.append(node)
            at = end
        self._text(html[text_start:], text_start, len(html))
        self._pop_to(1, len(html))
        nodes[0].last = len(nodes)
        return Tree(nodes, starts, ends)

    def _mark(self, mark: str) -> _Mark:
        """Return what a tag is, by what stands in it up to the end of its name."""
        closing = mark[0] == "/"
        name = intern(mark[closing:].lower())
        return _Mark(
            name,
            self.opened[name],
            closing,
            name in _BARE,
            name in _SPECIAL,
            name in _CLOSE_P,
            name in VOID,
            name in _WALLS,
        )

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
        if self.stack[-1].tag in TABLE_PARTS:
            self._in_cell("", start)
        if len(text) <= self.text_chars:
            self._add_text(text, start, end, self.space)
            self.space = behind
            return
        for piece, first, last, space in pieces(text, verbatim, self.text_chars, raw, start, end):
            self._add_text(piece, first, last, self.space or space)
            self.space = False
        self.space = behind

    def _add_text(self, text: str, start: int, end: int, space: bool) -> None:
        if len(text) <= _SHARED_CHARS:
            text = self.shared.setdefault(text, text)
        self._add(cast(Node, Text(text, self.stack[-1], space)), start, end)

    def _add(self, node: Node, start: int, end: int) -> None:
        self.nodes.append(node)
        self.starts.append(start)
        self.ends.append(end)

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
        if name == "form" and (opened["form"] or self.stack[-1].tag in TABLE_PARTS):
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
        self._add(Node("#", reason, self.stack[-1], len(self.nodes) + 1, False), start, end)

    def _end(self, name: str, at: int, end: int) -> None:
        opened = self.opened
        if name == "br":
            self._push("br", "", at, end)
            return
        depths = [opened[one][-1] for one in HEADINGS if opened[one]] if name in HEADINGS else opened[name]
        if not depths:
            return
        depth = max(depths)
        if name in _WALLS or name in TABLE_PARTS:
            inside = opened["table"][-1] if opened["table"] and name not in ("table", "button", "object") else 0
        else:
            inside = self.walls[-1]
        if depth > inside or (depth == inside and name in _WALLS):
            self._pop_to(depth, end, at)

    # -- the stack

    def _push(self, tag: str, source: str, start: int, end: int) -> Node:
        node = Node(tag, source, self.stack[-1], len(self.nodes), self.space)
        self.space = False
        self._add(node, start, end)
        if tag in VOID:
            node.last += 1
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
            self.ends[node.last] = end if len(stack) == depth or inner_end is None else inner_end
            node.last = last

    def _close(self, victims: tuple[str, ...], limits: tuple[str, ...], at: int) -> None:
        """Close the innermost open element of these names, unless one of the limits or a wall is open in it."""
        opened = self.opened
        depth = 0
        for name in victims:
            if (depths := opened[name]) and depths[-1] > depth:
                depth = depths[-1]
        if not depth or depth <= self.walls[-1] - ("button" in victims):
            return
        for name in limits:
            if (depths := opened[name]) and depths[-1] >= depth:
                return
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
        if tag not in TABLE_PARTS or name in ("caption", "colgroup", "col", "template"):
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
