"""DeepSeek from V4 on: a prompt hits only a whole unit, and units end where requests and replies ended or parted."""

from __future__ import annotations

from dataclasses import dataclass, field

from ga_context.cache.prefix import Node
from ga_context.cache.request import Prompt, Served, part_tokens, shared_length, total


@dataclass(slots=True)
class UnitCache:
    """Reuse the longest stored unit that the prompt begins with (facts: api-docs.deepseek.com/guides/kv_cache).

    A unit is stored at the end of each prompt and of its reply, at a common prefix once two requests showed it, and at
    fixed intervals of tokens.

    Args:
        interval_tokens: that interval; the documentation does not say how long it is. None: there is none.
    """

    interval_tokens: int | None = None
    _root: Node = field(default_factory=Node, repr=False)

    def request(self, prompt: Prompt, now: float = 0.0, *, reply: Prompt = ()) -> Served:
        """Serve a request; nothing expires, as best effort has no figure."""
        cached, shared = self._walk(prompt)
        if self.interval_tokens is not None:
            cached = max(cached, shared // self.interval_tokens * self.interval_tokens)
        end = self._root.add(prompt, now)
        end.unit = True
        if reply:
            end.add(reply, now).unit = True
        tokens = total(prompt)
        return Served(cached, tokens - cached, {})

    def _walk(self, prompt: Prompt) -> tuple[int, int]:
        """Return the tokens of the longest unit and of the longest common prefix, and store a unit at the latter."""
        node, tokens, unit = self._root, 0, 0
        for segment in prompt:
            child = node.children.get(segment.text)
            if child is None:
                whole = [shared_length(text, segment.text) for text in node.partial]
                reached = [n for n, text in zip(whole, node.partial, strict=True) if n == len(text)]
                unit = max([unit, *(tokens + part_tokens(segment, n) for n in reached)])
                common = max([shared_length(text, segment.text) for text in node.children], default=0)
                if common == 0:
                    node.unit = node.unit or (tokens > 0 and bool(node.children))
                elif segment.text[:common] not in node.partial:
                    node.partial.append(segment.text[:common])
                return unit, tokens + part_tokens(segment, common)
            tokens += segment.tokens
            node = child
            if node.unit:
                unit = tokens
        return unit, tokens
