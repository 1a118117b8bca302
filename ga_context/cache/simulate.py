"""From a price to the simulator of its cache."""

from __future__ import annotations

from ga_context.cache.entries import BreakpointCache, EntryCache
from ga_context.cache.prefix import PrefixCache
from ga_context.cache.prices import Price, price
from ga_context.cache.request import Cache
from ga_context.cache.units import UnitCache


def simulator(model: str | Price) -> Cache:
    """Return an empty cache with the rules of a model (``anthropic:claude-sonnet-4-5``, ``vllm``, ...)."""
    one = price(model) if isinstance(model, str) else model
    if one.rules == "entries":
        return EntryCache(one.minimum)
    if one.rules == "breakpoints":
        return BreakpointCache(one.minimum)
    if one.rules == "units":
        return UnitCache()
    last_only = one.provider == "llama.cpp"  # a slot holds one prompt
    return PrefixCache(one.granularity, one.minimum, one.lifetime_seconds, "last" if last_only else "all")
