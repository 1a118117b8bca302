"""Write nodes as Markdown, with links and controls numbered, or as their words alone."""

from __future__ import annotations

from ga_context.html.clean import CONTROLS
from ga_context.html.join import BESIDE
from ga_context.html.markup import PRE, URL_CHARS, attribute, shortened
from ga_context.html.tree import HEADINGS, Node
from ga_context.html.urls import Addresses

MARKDOWN_BESIDE = BESIDE | {
    **dict.fromkeys(("p", "pre", "table", "ul", "ol", "blockquote", *HEADINGS), "\n\n"),
    **dict.fromkeys(("td", "th"), " "),
}
TEXT_BESIDE = BESIDE | {"td": " ", "th": " "}
"""What parts an element from its neighbours."""

_AROUND = {
    **{heading: ("#" * rank + " ", "") for rank, heading in enumerate(HEADINGS, 1)},
    **dict.fromkeys(("b", "strong"), ("**", "**")),
    **dict.fromkeys(("i", "em"), ("*", "*")),
    "blockquote": ("> ", ""),
    "code": ("`", "`"),
    "hr": ("---", ""),
    "li": ("- ", ""),
    "option": ("- ", ""),
    "pre": ("```\n", "\n```"),
    "td": ("| ", ""),
    "th": ("| ", ""),
    "tr": ("", " |"),
}
"""What stands before and behind an element in Markdown."""

_ATTRIBUTES = ("type", "name", "value", "placeholder", "aria-label")
"""What a control is known by."""


class TextWriter:
    """Leave the words alone."""

    def __init__(self, addresses: Addresses, level: int) -> None:
        self.addresses = addresses
        self.url_chars = URL_CHARS[level]

    def dress(self, nodes: list[Node]) -> None:
        """Set ``head``, ``tail``, ``flags``, ``frame`` and ``size`` (an upper bound) of each node."""
        nodes[0].head = nodes[0].tail = ""
        nodes[0].flags = nodes[0].size = 0
        nodes[0].frame = None
        for node in nodes[1:]:
            parent = node.parent
            assert parent is not None
            if not node.tag:
                node.head = node.text
                node.size = len(node.head) + 1
                continue
            node.frame = parent if parent.head or parent.tail else parent.frame
            node.flags = parent.flags | (PRE if node.tag in ("pre", "textarea") else 0)
            node.head, node.tail = self.around(node)
            node.size = len(node.head) + len(node.tail) + 2 if node.head or node.tail else 0

    def around(self, node: Node) -> tuple[str, str]:
        """Return what stands before and behind an element."""
        return "", ""


class MarkdownWriter(TextWriter):
    """Write Markdown; ``[12]`` before what can be acted on counts it in the order of the page."""

    def __init__(self, addresses: Addresses, level: int) -> None:
        super().__init__(addresses, level)
        self.count = 0

    def around(self, node: Node) -> tuple[str, str]:
        """Return what stands before and behind an element."""
        tag, attrs = node.tag, node.traits.attrs
        if tag == "img":
            alt = attrs.get("alt", "").strip()
            return (f"![{shortened(alt)}]" if alt else ""), ""
        if (tag == "a" and "href" in attrs) or tag in CONTROLS or node.traits.acts:
            return self._action(node)
        if not node.chars and not node.links and not node.controls:
            return "", ""
        return _AROUND.get(tag, ("", ""))

    def _action(self, node: Node) -> tuple[str, str]:
        self.count += 1
        tag, attrs = node.tag, node.traits.attrs
        if tag == "a":
            name = "" if node.chars else shortened(attrs.get("aria-label", ""))
            return f"[{self.count}][{name}", f"]({self.addresses.short(attrs.get('href', ''), self.url_chars)})"
        tag = tag if tag in CONTROLS else "button"
        said = "".join([attribute(name, shortened(attrs[name])) for name in _ATTRIBUTES if attrs.get(name)])
        said += "".join([f" {name}" for name in ("checked", "disabled") if name in attrs])
        return f"[{self.count}]<{tag}{said}>", "" if tag == "input" else f"</{tag}>"
