"""Caches that hit only where an earlier request left an entry: Anthropic and Bedrock, and OpenAI from GPT-5.6 on.

Rules and sources: `prices.py`. An entry is the whole prompt up to a breakpoint; nothing between two is readable.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Literal, NamedTuple

from ga_context.cache.request import Prompt, Segment, Served

ANTHROPIC_SECONDS: Mapping[str, float] = {"5m": 300, "1h": 3_600}
OPENAI_SECONDS: Mapping[str, float] = {"30m": 1_800, "12h": 43_200}


class Place(NamedTuple):
    """The end of a segment in a prompt."""

    digest: bytes
    """Of everything up to here."""
    tokens: int
    """Up to here."""
    position: int
    """As a look-back counts: neighbouring calls, or results, are one."""
    segment: Segment


@dataclass(slots=True)
class Entry:
    """A stored prefix."""

    expires: float
    lifetime: float
    readable: float
    """From when on: not before the first response of the request that wrote it began."""


def places(prompt: Prompt) -> list[Place]:
    """Return the ends of all segments, in order."""
    found: list[Place] = []
    digest, tokens, position, kind = b"", 0, 0, ""
    for segment in prompt:
        text = segment.text
        data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else bytes(str(text), "ascii")
        digest = sha256(digest + sha256(data).digest()).digest()
        tokens += segment.tokens
        position += not (segment.kind == kind and kind in ("call", "result"))
        kind = segment.kind
        found.append(Place(digest, tokens, position, segment))
    return found


@dataclass(slots=True)
class _Store:
    """Entries by digest."""

    entries: dict[bytes, Entry] = field(default_factory=dict)

    def hit(self, candidates: Iterator[Place], now: float) -> Place | None:
        """Return the longest of the places that has an entry now; reading it renews it."""
        best: Place | None = None
        for place in candidates:
            entry = self.entries.get(place.digest)
            alive = entry is not None and entry.readable <= now <= entry.expires
            if alive and (best is None or place.tokens > best.tokens):
                best = place
        if best is not None:
            entry = self.entries[best.digest]
            entry.expires = now + entry.lifetime
        return best

    def write(self, place: Place, lifetime: float, now: float, readable: float) -> None:
        """Store an entry, or renew it, never for a shorter time."""
        known = self.entries.get(place.digest)
        if known is not None and known.expires >= now:
            lifetime, readable = max(lifetime, known.lifetime), min(readable, known.readable)
        self.entries[place.digest] = Entry(now + lifetime, lifetime, readable)


@dataclass(slots=True)
class EntryCache:
    """Breakpoints in the request: written there, and read there or at most ``lookback`` positions before.

    Args:
        minimum: a prefix of fewer tokens is neither written nor read.
        lookback: positions looked at for each breakpoint, itself the first.
        lifetimes: seconds by time to live, counted from the start of the request, renewed by each read.
        most: more breakpoints are refused, with a ``ValueError``.
        first_token_seconds: from the start of a request until what it wrote is readable.
    """

    minimum: int = 0
    lookback: int = 20
    lifetimes: Mapping[str, float] = field(default_factory=lambda: ANTHROPIC_SECONDS)
    most: int = 4
    first_token_seconds: float = 0.0
    _store: _Store = field(default_factory=_Store, repr=False)

    def request(self, prompt: Prompt, now: float = 0.0, *, reply: Prompt = ()) -> Served:
        """Serve a request; what stands behind the last breakpoint is neither read nor written."""
        ends = places(prompt)
        marked = [i for i, end in enumerate(ends) if end.segment.ttl is not None]
        self._check([str(ends[i].segment.ttl) for i in marked])
        marked = [i for i in marked if ends[i].tokens >= self.minimum]
        hit = self._store.hit(self._looked_at(ends, marked), now)
        for i in marked:
            lifetime = self.lifetimes[str(ends[i].segment.ttl)]
            self._store.write(ends[i], lifetime, now, now + self.first_token_seconds)
        read = hit.tokens if hit else 0
        written: dict[str, int] = {}
        reached = read
        for ttl in sorted(self.lifetimes, key=lambda ttl: -self.lifetimes[ttl]):  # the longer stands before the shorter
            last = max([ends[i].tokens for i in marked if ends[i].segment.ttl == ttl], default=0)
            if last > reached:
                written[ttl], reached = last - reached, last
        return Served(read, (ends[-1].tokens if ends else 0) - reached, written)

    def _looked_at(self, ends: Sequence[Place], marked: Sequence[int]) -> Iterator[Place]:
        for i in marked:
            first = ends[i].position - self.lookback
            for j in range(i, -1, -1):
                if ends[j].position <= first or ends[j].tokens < self.minimum:
                    break
                yield ends[j]

    def _check(self, ttls: Sequence[str]) -> None:
        if len(ttls) > self.most:
            raise ValueError(f"a request may have {self.most} breakpoints; got {len(ttls)}: take the oldest out")
        for ttl in ttls:
            if ttl not in self.lifetimes:
                known = ", ".join(map(repr, self.lifetimes))
                raise ValueError(f"a breakpoint's time to live must be one of {known}; got {ttl!r}")
        seconds = [self.lifetimes[ttl] for ttl in ttls]
        if seconds != sorted(seconds, reverse=True):
            raise ValueError(f"a longer time to live must stand before a shorter one; got {', '.join(ttls)}")


@dataclass(slots=True)
class BreakpointCache:
    """OpenAI from GPT-5.6 on: a prefix is read where it ends exactly at a breakpoint of an earlier request.

    In the mode "implicit" the end of the prompt is a breakpoint by itself, and the ends of messages are places where an
    earlier end is recognised: the documentation does not say how else a growing prompt could hit (assumption).

    Args:
        minimum: a prefix of fewer tokens is neither written nor read.
        mode: "implicit": one implicit and the last 3 explicit breakpoints are written; "explicit": the last 4.
        ttl: "30m" or "12h", the least lifetime of an entry.
        considered: breakpoints that are looked at, the latest ones.
    """

    minimum: int = 1_024
    mode: Literal["implicit", "explicit"] = "implicit"
    ttl: str = "30m"
    considered: int = 80
    lifetimes: Mapping[str, float] = field(default_factory=lambda: OPENAI_SECONDS)
    _store: _Store = field(default_factory=_Store, repr=False)

    def request(self, prompt: Prompt, now: float = 0.0, *, reply: Prompt = ()) -> Served:
        """Serve a request; the boundary is not rounded to a block."""
        ends = places(prompt)
        if not ends:
            return Served(0, 0, {})
        explicit = [i for i, end in enumerate(ends) if end.segment.ttl is not None]
        looked_at, written = explicit, explicit[-4:]
        if self.mode == "implicit":
            borders = {i for i, end in enumerate(ends) if end.segment.ends_message}
            looked_at = sorted({*borders, *explicit, len(ends) - 1})
            written = sorted({*explicit[-3:], len(ends) - 1})
        long_enough = [i for i in looked_at[-self.considered :] if ends[i].tokens >= self.minimum]
        hit = self._store.hit((ends[i] for i in long_enough), now)
        read = hit.tokens if hit else 0
        stored = [ends[i] for i in written if ends[i].tokens >= self.minimum]
        for place in stored:
            self._store.write(place, self.lifetimes[self.ttl], now, now)
        reached = max([read, *(place.tokens for place in stored)])
        return Served(read, ends[-1].tokens - reached, {self.ttl: reached - read} if reached > read else {})
