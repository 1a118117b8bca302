"""Write nodes as HTML that every parser reads the same way (HTML standard 13.2.6), as short as it can be."""

from __future__ import annotations

import re
from html import unescape
from itertools import pairwise
from sys import intern
from typing import NamedTuple

from ga_context.html.clean import CONTROLS
from ga_context.html.tree import BLOCKS, HEADINGS, Node, names
from ga_context.html.urls import Addresses

LEVELS = 3
"""0: with all structure and all useful attributes; 1: without what is only layout; 2: bare."""

URL_CHARS = (60, 60, 24)
"""Longest address at each level; longer ones become a number."""

VALUE_CHARS = 100
"""Longest value of any other attribute."""

DEPTH = 90
"""No output nests deeper; lxml drops what is below 256."""

_LAYOUT = (
    "article section header footer aside figure figcaption fieldset legend hr b i u s small cite abbr time q nav main"
)
_STRUCTURE = (
    "ul ol menu li dl dt dd table thead tr td th caption p pre blockquote h1 h2 h3 h4 h5 h6 form label details summary "
    "dialog sub sup del ins code kbd mark strong em option optgroup a button select textarea input img"
)
_BARE_WITHOUT = "ul ol menu li p form kbd mark strong em dialog label thead"
_KEPT = (
    frozenset((_LAYOUT + " " + _STRUCTURE + " br iframe video audio").split()),
    frozenset((_STRUCTURE + " iframe").split()),
    frozenset(_STRUCTURE.split()) - frozenset(_BARE_WITHOUT.split()),
)
"""Elements that are written as such, by level; of the others only what is in them."""

_FULL = {
    "a": "href id title target",
    "button": "id name type value disabled aria-expanded",
    "input": "type id name value placeholder checked disabled required readonly min max maxlength",
    "select": "id name multiple disabled required",
    "textarea": "id name placeholder disabled required",
    "option": "value selected disabled",
    "optgroup": "label",
    "form": "id name action method",
    "img": "alt src",
    "iframe": "title src",
    "video": "src title",
    "audio": "src title",
    "label": "for",
    "td": "colspan rowspan",
    "th": "colspan rowspan",
    "ol": "start",
    "time": "datetime",
    "details": "open",
    "dialog": "id open",
}
_LEAN = {
    "a": "href",
    "button": "id name value disabled",
    "input": "type id name value placeholder checked disabled",
    "select": "id name multiple",
    "textarea": "id name placeholder",
    "option": "value selected",
    "optgroup": "label",
    "form": "action method",
    "img": "alt",
    "iframe": "title src",
    "label": "for",
    "td": "colspan rowspan",
    "th": "colspan rowspan",
}
_BARE = {
    "a": "href",
    "button": "name value",
    "input": "type name value placeholder checked",
    "select": "name",
    "textarea": "name placeholder",
    "option": "selected",
    "optgroup": "label",
    "img": "alt",
    "td": "colspan rowspan",
    "th": "colspan rowspan",
}
_ATTRIBUTES = tuple({tag: tuple(names.split()) for tag, names in table.items()} for table in (_FULL, _LEAN, _BARE))
"""Attributes that stay, by level: what one follows, fills in, presses or finds an element by."""

_FLAGS = names("checked disabled required readonly multiple selected open")
_ADDRESSES = frozenset(("href", "src", "action"))
_DEFAULTS = {("input", "type"): "text", ("button", "type"): "submit", ("form", "method"): "get"}

A, BUTTON, P, FORM, HEADING, SELECT, PRE = (1 << bit for bit in range(7))
TABLE_BOX, ROW_BOX, LIST_BOX, DL_BOX, SELECT_BOX = (1 << bit for bit in range(7, 12))
_BOXES = TABLE_BOX | ROW_BOX | LIST_BOX | DL_BOX | SELECT_BOX
_STRICT = TABLE_BOX | ROW_BOX | SELECT_BOX
"""Boxes in which only certain elements may stand."""
_LEVEL_BIT = 1 << 12

_NEEDS = {
    "li": LIST_BOX, "dt": DL_BOX, "dd": DL_BOX, "thead": TABLE_BOX, "caption": TABLE_BOX, "tr": TABLE_BOX,
    "td": ROW_BOX, "th": ROW_BOX, "option": SELECT_BOX, "optgroup": SELECT_BOX,
}  # fmt: skip
_SETS = {
    "a": A, "button": BUTTON, "p": P, "form": FORM, "select": SELECT | SELECT_BOX, "optgroup": SELECT_BOX, "pre": PRE,
    "textarea": PRE, "table": TABLE_BOX, "thead": TABLE_BOX, "tr": ROW_BOX, "ul": LIST_BOX, "ol": LIST_BOX,
    "menu": LIST_BOX, "dl": DL_BOX, **dict.fromkeys(HEADINGS, HEADING),
}  # fmt: skip
_FORBIDS = {
    **dict.fromkeys(BLOCKS - {"select", "textarea", "option", "optgroup"}, P), "a": A | SELECT, "button": BUTTON,
    "form": FORM | P, "p": P, **dict.fromkeys(HEADINGS, HEADING | P),
}  # fmt: skip
"""What an HTML parser would close, or refuse, rather than nest."""

_EMPTY = frozenset(("br", "hr", "img", "input"))
_NO_BOXES, _DEEPEST = ~_BOXES, DEPTH * _LEVEL_BIT


class _Shape(NamedTuple):
    """What is the same of all elements of a name."""

    needs: int
    """Flags of which the place must have one, if there is any."""
    forbids: int
    sets: int
    tail: str


def _shape(tag: str) -> _Shape:
    return _Shape(
        _NEEDS.get(tag, 0), _FORBIDS.get(tag, 0), _SETS.get(tag, 0), "" if tag in _EMPTY else intern(f"</{tag}>")
    )


_SHAPES = tuple([{tag: _shape(tag) for tag in sorted(tags)} for tags in _KEPT])
_WRAPPERS = {tag: _shape(tag) for tag in ("span", "div")}

_AMPERSAND = re.compile(r"&(?=[a-zA-Z#]|$)")
_UNQUOTED = re.compile(r"[^\s\"'=<>`/]+(?:/+[^\s\"'=<>`/]+)*|(?:/+[^\s\"'=<>`/]+)+")


def escape(text: str) -> str:
    """Write a text so that no markup can be seen in it."""
    if "&" in text:
        text = _AMPERSAND.sub("&amp;", text)
    return text.replace("<", "&lt;") if "<" in text else text


def attribute(name: str, value: str) -> str:
    """Write an attribute, without quotes where none are needed."""
    if "&" in value and unescape(value) != value:
        value = value.replace("&", "&amp;")
    if _UNQUOTED.fullmatch(value):
        return f" {name}={value}"
    if '"' not in value:
        return f' {name}="{value}"'
    if "'" not in value:
        return f" {name}='{value}'"
    value = value.replace('"', "&quot;")
    return f' {name}="{value}"'


class HtmlWriter:
    """Give each node its tags at one level of detail."""

    def __init__(self, addresses: Addresses, level: int) -> None:
        self.addresses = addresses
        self.level = level
        self.shapes = _SHAPES[level]
        self.names = _ATTRIBUTES[level]

    def dress(self, nodes: list[Node]) -> None:
        """Set ``head``, ``tail``, ``flags`` and ``size`` (its own, and upper bound) of each node."""
        nodes[0].head = nodes[0].tail = ""
        nodes[0].flags = nodes[0].size = 0
        nodes[0].frame = None
        shapes, element = self.shapes, self._element
        for before, node in pairwise(nodes):
            parent = node.parent
            assert parent is not None
            tag = node.tag
            if not tag:
                text = node.text
                if parent.flags & PRE and before is parent:
                    text = text.lstrip("\n")  # a parser drops the first one, each time
                node.head = escape(text) if "<" in text or "&" in text else text
                node.size = len(node.head) + 1
                continue
            node.frame = parent if parent.head else parent.frame
            node.head = node.tail = ""
            node.flags = parent.flags
            node.size = 0
            if tag in shapes or node.traits.acts or node.traits.hidden:
                element(node, tag, parent.flags)

    def _element(self, node: Node, tag: str, flags: int) -> None:
        """Write the tags of an element, if it may stand where it would."""
        traits = node.traits
        shape = self.shapes.get(tag)
        if shape is None:
            tag = "span" if flags & P or not node.block else "div"
            shape = _WRAPPERS[tag]
        elif not self._is_worth(node, tag, flags):
            return
        needs, forbids, sets, tail = shape
        if flags & needs == 0 and (needs or flags & _STRICT or flags >= _DEEPEST):
            return
        if flags & forbids:
            return
        head = f"<{tag}{self._attributes(tag, traits.attrs, node)}" if traits.attrs else f"<{tag}"
        node.head = head = head + " hidden>" if traits.hidden else head + ">"
        node.tail = tail
        node.size = len(head) + len(tail) + 1
        node.flags = ((flags & _NO_BOXES) | sets) + _LEVEL_BIT

    def _is_worth(self, node: Node, tag: str, flags: int) -> bool:
        """Tell whether an element is written, or only what is in it."""
        if node.traits.hidden and tag not in ("a", "img"):
            return True
        if tag == "a":
            return "href" in node.traits.attrs
        if tag in CONTROLS:
            return True
        if tag == "img":
            return self._shows(node, flags)
        if tag in ("ul", "ol", "menu") and self.level == 2:
            return node.link_chars * 4 < node.chars * 3
        if tag == "table":
            return node.traits.attrs.get("role") not in ("presentation", "none")
        return bool(node.chars or node.links or node.controls or tag in _EMPTY or tag in ("iframe", "td", "th"))

    def _shows(self, node: Node, flags: int) -> bool:
        attrs = node.traits.attrs
        if attrs.get("width") in ("0", "1") or attrs.get("height") in ("0", "1"):
            return False
        if not attrs.get("alt", "").strip():
            return self.level == 0 and bool(attrs.get("src")) and not attrs["src"].startswith("data:")
        parent = node.parent
        return self.level < 2 or bool(flags & (A | BUTTON) and parent is not None and not parent.chars)

    def _attributes(self, tag: str, attrs: dict[str, str], node: Node) -> str:
        written = ""
        for name in self.names.get(tag, ()):
            value = attrs.get(name)
            if value is None or _DEFAULTS.get((tag, name)) == value:
                continue
            if name in _ADDRESSES:
                written += attribute(name, self.addresses.short(value, URL_CHARS[self.level]))
            elif name in _FLAGS:
                written += f" {name}"
            elif value and not (name in ("name", "value") and tag == "button" and node.chars and self.level == 2):
                written += attribute(name, shortened(value))
        if node.traits.acts or tag in CONTROLS or tag == "a":
            written += self._handle(tag, attrs, node)
        return written

    def _handle(self, tag: str, attrs: dict[str, str], node: Node) -> str:
        """Write what an element is called or found by when its text and its other attributes do not say it."""
        written = ""
        if node.traits.acts and tag not in CONTROLS and tag != "a":
            if "role" in attrs:
                written += attribute("role", shortened(attrs["role"]))
            if "id" in attrs:
                written += attribute("id", shortened(attrs["id"]))
        elif self.level == 2 and tag in CONTROLS and tag != "button" and "name" not in attrs and "id" in attrs:
            written += attribute("id", shortened(attrs["id"]))
        if not node.chars or tag in ("select", "textarea"):
            label = attrs.get("aria-label") or (
                "" if attrs.get("placeholder") or attrs.get("value") else attrs.get("title")
            )
            if label and not (self.level == 0 and tag == "a" and not attrs.get("aria-label")):
                written += attribute("aria-label", shortened(label))
        return written


def shortened(value: str) -> str:
    """Return an attribute's words, cut to `VALUE_CHARS` with a mark."""
    value = " ".join(value.split())
    return value if len(value) <= VALUE_CHARS else value[: VALUE_CHARS - 1] + "…"
