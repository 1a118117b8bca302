"""Caches that reuse the longest common prefix at a granularity: vLLM, SGLang, llama.cpp, OpenAI up to GPT-5.5, Gemini.

Rules and sources: `prices.py`. The simulator holds every prompt of the session in a tree of segments, so that a prompt
is compared with all earlier ones in one walk.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ga_context.cache.request import Prompt, Served, Text, part_tokens, shared_length, total


@dataclass(slots=True)
class Node:
    """A place in the tree of what was sent: everything from the root to here was a prompt's beginning."""

    used: float = 0.0
    """When it was sent last, in seconds."""
    children: dict[Text, Node] = field(default_factory=dict)
    unit: bool = False
    """A stored unit ends here (`units.py`)."""
    partial: list[Text] = field(default_factory=list)
    """Stored units that end inside a segment behind this place, as the text of it that belongs to them."""

    def add(self, prompt: Prompt, now: float) -> Node:
        """Store a prompt behind this place, and return where it ends."""
        node = self
        node.used = now
        for segment in prompt:
            node = node.children.setdefault(segment.text, Node())
            node.used = now
        return node


@dataclass(slots=True)
class PrefixCache:
    """Reuse the longest common prefix with an earlier prompt.

    Args:
        granularity: tokens of a block; only whole blocks are reused.
        minimum: a shorter prefix than this many tokens is not reused.
        lifetime_seconds: a prompt that was not sent for longer is gone; None: nothing expires.
        remember: "all" earlier prompts, or only the "last" one, as in a slot of llama.cpp.
    """

    granularity: int = 1
    minimum: int = 0
    lifetime_seconds: float | None = None
    remember: Literal["all", "last"] = "all"
    _root: Node = field(default_factory=Node, repr=False)

    def request(self, prompt: Prompt, now: float = 0.0, *, reply: Prompt = ()) -> Served:
        """Serve a request; at least one token is always computed, since the reply begins there."""
        shared = self._shared(prompt, now)
        if self.remember == "last":
            self._root = Node()
        self._root.add([*prompt, *reply], now)
        tokens = total(prompt)
        cached = max(0, min(shared, tokens - 1)) // self.granularity * self.granularity
        if cached < self.minimum:
            cached = 0
        return Served(cached, tokens - cached, {})

    def _shared(self, prompt: Prompt, now: float) -> int:
        node, tokens = self._root, 0
        for segment in prompt:
            child = node.children.get(segment.text)
            if child is None or self._gone(child, now):
                alive = [text for text, child in node.children.items() if not self._gone(child, now)]
                longest = max([shared_length(text, segment.text) for text in alive], default=0)
                return tokens + part_tokens(segment, longest)
            tokens += segment.tokens
            node = child
        return tokens

    def _gone(self, node: Node, now: float) -> bool:
        return self.lifetime_seconds is not None and now - node.used > self.lifetime_seconds
