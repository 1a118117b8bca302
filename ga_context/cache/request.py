"""A request as a prompt cache sees it, and what the cache made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, Protocol, TypeAlias

Text: TypeAlias = str | bytes | tuple[int, ...]
"""What is compared: characters, bytes, or the tokens themselves."""

Part: TypeAlias = Literal["tools", "system", "messages"]
"""Of a request, in the order in which a provider renders them."""


class Segment(NamedTuple):
    """A piece of a prompt: the tool definitions, the system prompt, a block of a message, or its tokens."""

    text: Text
    tokens: int
    """What it counts. A shared start of two texts counts in proportion, rounded down."""
    part: Part = "messages"
    message: int = -1
    """Index of its message in the request; -1 outside of the messages."""
    kind: str = "text"
    """Neighbours of the kind "call", or "result", are one position of a look-back (facts: Anthropic's rule)."""
    ttl: str | None = None
    """A breakpoint stands behind it, with this time to live: "5m", "1h", "30m", "12h"."""
    ends_message: bool = False
    """The last one of its message."""


Prompt: TypeAlias = Sequence[Segment]


class Served(NamedTuple):
    """The prompt tokens of one request by what became of them; the three kinds add up to the prompt."""

    cached: int
    """Read from the cache."""
    uncached: int
    """Read anew at the base price."""
    written: Mapping[str, int]
    """Read anew and stored at a write price, by time to live; empty where nothing is charged for storing."""

    @property
    def prompt(self) -> int:
        """All tokens of the prompt."""
        return self.cached + self.uncached + sum(self.written.values())


class Cache(Protocol):
    """One provider's cache of one organisation: it is asked in the order in which requests are sent."""

    def request(self, prompt: Prompt, now: float = 0.0, *, reply: Prompt = ()) -> Served:
        """Serve a request and remember what the provider would store.

        Args:
            prompt: tools, system and messages in the order of the provider; none of its texts is empty.
            now: seconds on any clock that does not go back, at the start of the request. The simulator has none.
            reply: what the model then wrote, for caches that store it too.
        """
        ...


def shared_length(a: Text, b: Text) -> int:
    """Return how many characters, bytes or tokens two texts share from the start."""
    low, high = 0, min(len(a), len(b))
    if a[:high] == b[:high]:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if a[low:middle] == b[low:middle] else (low, middle)
    return low


def part_tokens(segment: Segment, length: int) -> int:
    """Return what the first ``length`` characters, bytes or tokens of a segment count."""
    return segment.tokens * length // len(segment.text) if segment.text else 0


def total(prompt: Prompt) -> int:
    """Return the tokens of a prompt."""
    return sum([segment.tokens for segment in prompt])


def shared_tokens(before: Prompt, now: Prompt) -> int:
    """Return L_t, the tokens of the longest common prefix of two requests."""
    tokens = 0
    for old, new in zip(before, now, strict=False):
        if old.text is not new.text and old.text != new.text:
            return tokens + part_tokens(new, shared_length(old.text, new.text))
        tokens += new.tokens
    return tokens
