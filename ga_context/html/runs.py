"""Long runs of like items: head and tail of one say most of what it holds."""

from __future__ import annotations

from typing import NamedTuple

from ga_context.html.tree import Node

LEAST_ITEMS = 8
"""A shorter run is no run."""
_HEAD, _TAIL = 5, 1
_MIDDLE = {"option": 0.25, "tr": 0.9, "li": 0.8}
"""What items in the middle are worth, as a share of what they would be by themselves."""
_PROSE_CHARS = 200
"""Items with more text than this are read, not sampled: posts, answers, paragraphs."""


class Run(NamedTuple):
    """A run that an item is of."""

    items: int
    place: int
    """Of the item, from 1 on."""
    share: float


def runs_of(kept: list[Node]) -> dict[int, Run]:
    """Return the run of each item, by its index in ``kept``."""
    children: dict[Node, list[int]] = {}
    for index, node in enumerate(kept):
        if node.tag in _MIDDLE and node.parent is not None:
            children.setdefault(node.parent, []).append(index)
    found: dict[int, Run] = {}
    for parent, items in children.items():
        if len(items) < LEAST_ITEMS:
            continue
        share = _MIDDLE[kept[items[0]].tag]
        read = parent.chars > _PROSE_CHARS * len(items) or (
            share == _MIDDLE["li"] and parent.link_chars * 2 < parent.chars
        )
        for place, index in enumerate(items):
            middle = _HEAD <= place < len(items) - _TAIL
            found[index] = Run(len(items), place + 1, share if middle and not read else 1.0)
    return found
