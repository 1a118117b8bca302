"""The record of what a page lost."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from ga_context.html.tree import Node

Mode: TypeAlias = Literal["html", "markdown", "text"]
"""How a page is written."""

_ID = re.compile(r"""(?:^|[\s"'])id\s*=\s*["']?([A-Za-z][\w-]*)""", re.IGNORECASE)
_NO_ELEMENT = ("comment", "doctype", "markup")
_STEPS = 6
"""A path has so many steps at most, from the nearest element with an id on."""


class Removed(NamedTuple):
    """A subtree, or neighbours of one parent, that the output does not hold."""

    path: str
    """Where it stood, as a CSS selector: from the nearest element with an id, or the last steps of it."""
    start: int
    end: int
    """Its characters in the given page."""
    reason: str
    links: int = 0
    controls: int = 0

    @property
    def chars(self) -> int:
        """Characters of it in the given page."""
        return self.end - self.start

    def __str__(self) -> str:
        return f"{self.path} [{self.start:,}:{self.end:,}], {self.chars:,} chars: {self.reason}"


@dataclass(slots=True)
class PruneReport:
    """What was done to a page."""

    chars_before: int
    chars_after: int
    budget: int
    removed: list[Removed] = field(default_factory=list)
    """What went, in the order of the page: what no reader can use, and what the budget had no room for."""
    addresses: dict[str, str] = field(default_factory=dict)
    """What stands for a long address in the output (``@1``) -> the address."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        removed = [{**one._asdict(), "chars": one.chars} for one in self.removed]
        sizes = {"chars_before": self.chars_before, "chars_after": self.chars_after, "budget": self.budget}
        return {**sizes, "removed": removed, "addresses": dict(self.addresses)}

    def __str__(self) -> str:
        head = f"{self.chars_before:,} -> {self.chars_after:,} of {self.budget:,} characters"
        return "\n".join([head, *[f"  {one}" for one in self.removed]])


@dataclass(frozen=True, slots=True)
class PrunedHTML:
    """A page within its budget."""

    html: str
    """The output, in every mode."""
    report: PruneReport


class Paths:
    """Selectors of nodes: tags from the nearest element with an id down, `_STEPS` at most."""

    def __init__(self) -> None:
        self._known: dict[Node | None, str] = {None: ""}
        self._ids: dict[str, str] = {"": ""}

    def of(self, node: Node) -> str:
        """Return a node's selector; of a text, that of the element around it."""
        inner = node.tag if node.tag != "#" else "" if node.text in _NO_ELEMENT else node.text
        if node.tag not in ("", "#") and (name := self._id(node.text)):
            return name
        path = self._known.get(node.parent)
        if path is None:
            path = self._known[node.parent] = self._steps(node.parent)
        return f"{path}>{inner}" if path and inner else path or inner

    def _steps(self, box: Node | None) -> str:
        steps: list[str] = []
        while box is not None and len(steps) < _STEPS:
            name = self._id(box.text)
            steps.append(name or box.tag)
            if name:
                break
            box = box.parent
        return ">".join(reversed(steps))

    def _id(self, source: str) -> str:
        """Return the selector of an element by the id in its attributes, or nothing."""
        name = self._ids.get(source)
        if name is None:
            found = _ID.search(source) if "id" in source.lower() else None
            name = self._ids[source] = f"#{found[1]}" if found else ""
        return name
