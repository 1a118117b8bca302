"""What each provider's cache demands and costs, as data: lengths, lifetimes, multipliers, dollars.

Read on 2026-11-30. Dollars and multipliers: the price table of litellm 1.110.2
(``model_prices_and_context_window_backup.json``), which agrees with the vendors' pages where these were quoted. Rules:
platform.claude.com/docs/en/build-with-claude/prompt-caching (Anthropic; Bedrock's Claude alike),
developers.openai.com/api/docs/guides/prompt-caching, ai.google.dev/gemini-api/docs/caching,
api-docs.deepseek.com/guides/kv_cache, docs.vllm.ai (design/prefix_caching), the servers of SGLang and llama.cpp.
All of it can be changed in the configuration: ``cache.prices``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ga_context.errors import ConfigError

DATE = "2026-11-30"
SOURCE = "litellm 1.110.2"

Rules = Literal["prefix", "entries", "breakpoints", "units"]


@dataclass(frozen=True, slots=True)
class Price:
    """One model's cache: its rules, and what a token costs."""

    provider: str
    name: str
    rules: Rules
    """Which simulator: `PrefixCache`, `EntryCache`, `BreakpointCache`, `UnitCache`."""
    read: float
    """A cached token, as a multiple of the base price of an input token."""
    write: Mapping[str, float] = field(default_factory=dict)
    """A stored token, by time to live, likewise; empty: storing is free."""
    minimum: int = 0
    """Tokens of the shortest prefix that is cached."""
    granularity: int = 1
    """Tokens that are cached as one."""
    lifetime_seconds: float | None = None
    """For "prefix": a prompt that was not sent for longer is gone."""
    input_dollars: float | None = None
    """Base price of a million input tokens; None: nobody bills them."""
    output_dollars: float | None = None
    """Price of a million output tokens."""
    source: str = SOURCE
    """Where the dollars and multipliers are from."""
    date: str = DATE
    """When they were read."""

    @property
    def model(self) -> str:
        """The name with its provider: ``anthropic:claude-sonnet-4-5``."""
        return f"{self.provider}:{self.name}"


CLAUDE_WRITE = {"5m": 1.25, "1h": 2.0}
OPENAI_WRITE = {"30m": 1.25, "12h": 2.5}
TEN_MINUTES = 600.0
"""OpenAI up to 5.5 keeps a prefix for 5 to 10 minutes after its last use ("in_memory")."""

# model: (tokens that are cached at least, read multiplier, dollars a million input tokens, output tokens)
CLAUDE: Mapping[str, tuple[int, float, float, float]] = {
    "claude-opus-5-5": (512, 0.05, 4.0, 20.0),
    "claude-opus-5": (512, 0.1, 5.0, 25.0),
    "claude-opus-4-8": (1_024, 0.1, 5.0, 25.0),
    "claude-opus-4-7": (2_048, 0.1, 5.0, 25.0),
    "claude-opus-4-6": (4_096, 0.1, 5.0, 25.0),
    "claude-opus-4-5": (4_096, 0.1, 5.0, 25.0),
    "claude-opus-4-1": (1_024, 0.1, 15.0, 75.0),
    "claude-opus-4": (1_024, 0.1, 15.0, 75.0),
    "claude-sonnet-5-5": (512, 0.05, 2.0, 10.0),
    "claude-sonnet-5": (1_024, 0.1, 2.0, 10.0),
    "claude-sonnet-4-6": (1_024, 0.1, 3.0, 15.0),
    "claude-sonnet-4-5": (1_024, 0.1, 3.0, 15.0),
    "claude-sonnet-4": (1_024, 0.1, 3.0, 15.0),
    "claude-haiku-4-5": (4_096, 0.1, 1.0, 5.0),
    "claude-haiku-3-5": (2_048, 0.1, 0.8, 4.0),
    "claude-3-5-haiku": (2_048, 0.1, 0.8, 4.0),
    "claude-fable-5-1": (512, 0.025, 10.0, 50.0),
    "claude-fable-5": (512, 0.1, 10.0, 50.0),
}

# model: (read multiplier, dollars a million input tokens, output tokens)
OPENAI: Mapping[str, tuple[float, float, float]] = {
    "gpt-4o": (0.5, 2.5, 10.0),
    "gpt-4o-mini": (0.5, 0.15, 0.6),
    "gpt-4.1": (0.25, 2.0, 8.0),
    "gpt-4.1-mini": (0.25, 0.4, 1.6),
    "gpt-4.1-nano": (0.25, 0.1, 0.4),
    "o3": (0.25, 2.0, 8.0),
    "o3-mini": (0.5, 1.1, 4.4),
    "o4-mini": (0.25, 1.1, 4.4),
    "gpt-5": (0.1, 1.25, 10.0),
    "gpt-5.1": (0.1, 1.25, 10.0),
    "gpt-5.2": (0.1, 1.75, 14.0),
    "gpt-5.3": (0.1, 1.75, 14.0),
    "gpt-5.4": (0.1, 2.5, 15.0),
    "gpt-5.4-mini": (0.1, 0.75, 4.5),
    "gpt-5.4-nano": (0.1, 0.2, 1.25),
    "gpt-5.5": (0.1, 5.0, 30.0),
}

# from GPT-5.6 on, with breakpoints: the same
OPENAI_BREAKPOINTS: Mapping[str, tuple[float, float, float]] = {
    "gpt-5.6": (0.1, 4.0, 20.0),
    "gpt-5.6-terra": (0.1, 2.0, 12.0),
    "gpt-5.6-luna": (0.1, 0.2, 1.2),
    "gpt-6-astra": (0.1, 10.0, 50.0),
    "gpt-6-sol": (0.1, 2.0, 10.0),
    "gpt-6-luna": (0.1, 0.1, 0.5),
    "gpt-6.1-sol": (0.05, 2.0, 10.0),
    "gpt-6.1-terra": (0.05, 1.0, 5.0),
}

# model: (minimum, dollars a million input tokens, output tokens); all read at 0.1
GEMINI: Mapping[str, tuple[int, float, float]] = {
    "gemini-2.5-pro": (2_048, 1.25, 10.0),
    "gemini-2.5-flash": (2_048, 0.3, 2.5),
    "gemini-2.5-flash-lite": (2_048, 0.1, 0.4),
    "gemini-3-flash": (4_096, 0.5, 3.0),
    "gemini-3.1-pro": (4_096, 2.0, 12.0),
    "gemini-3.1-flash-lite": (4_096, 0.25, 1.5),
    "gemini-3.5-flash": (4_096, 1.5, 9.0),
    "gemini-3.8-flash": (4_096, 0.75, 3.75),
}


def _table() -> dict[str, Price]:
    prices: list[Price] = []
    for provider in ("anthropic", "bedrock"):
        for name, (least, read, dollars, output) in CLAUDE.items():
            write = CLAUDE_WRITE
            prices.append(
                Price(provider, name, "entries", read, write, least, input_dollars=dollars, output_dollars=output)
            )
    for name, (read, dollars, output) in OPENAI.items():
        prices.append(Price("openai", name, "prefix", read, {}, 1_024, 128, TEN_MINUTES, dollars, output))
    for name, (read, dollars, output) in OPENAI_BREAKPOINTS.items():
        write = OPENAI_WRITE
        prices.append(
            Price("openai", name, "breakpoints", read, write, 1_024, input_dollars=dollars, output_dollars=output)
        )
    for name, (least, dollars, output) in GEMINI.items():
        prices.append(Price("gemini", name, "prefix", 0.1, {}, least, input_dollars=dollars, output_dollars=output))
    prices += [
        Price("deepseek", "deepseek-v4-flash", "units", 0.02, input_dollars=0.3, output_dollars=1.2),
        Price("deepseek", "deepseek-v4-pro", "units", 0.0333, input_dollars=1.32, output_dollars=3.96),
        Price("deepseek", "deepseek-v3.2", "prefix", 0.1, {}, 64, 64, None, 0.28, 0.4),
        Price("vllm", "any", "prefix", 0.0, granularity=16, source="computed tokens, which nobody bills"),
        Price("sglang", "any", "prefix", 0.0, source="computed tokens, which nobody bills"),
        Price("llama.cpp", "any", "prefix", 0.0, source="computed tokens, which nobody bills"),
    ]
    return {price.model: price for price in prices}


PRICES: Mapping[str, Price] = _table()
"""By ``provider:model``."""

PROVIDERS = frozenset(one.provider for one in PRICES.values())
ENGINES = ("vllm", "sglang", "llama.cpp")

_VERSION = re.compile(r"|[@:].+|-(\d{8}|\d{4}-\d\d-\d\d|latest|preview|codex|chat-latest|v\d+)([-:@].+)?")
"""What may stand behind a name in the table: ``-20250929``, ``-v1:0``, ``@20250929``. A version has its own line."""


def price(model: str, changes: Mapping[str, Mapping[str, Any]] | None = None) -> Price:
    """Look up a model's price: ``anthropic:claude-sonnet-4-5``, a dated name of it, or ``vllm`` for any model there.

    Args:
        model: the provider may be left out where the model's name says it.
        changes: by model, fields of `Price` that are to be other ones (``cache.prices``); a model that the table does
            not know needs ``like``, the model whose rules hold for it.

    Raises:
        ConfigError: nothing is known of the model; names those that are.
    """
    changes = changes or {}
    given = changes.get(model)
    if given is not None and "like" in given:
        base = price(str(given["like"]))
        provider, _, name = model.rpartition(":")
        base = replace(base, provider=provider or base.provider, name=name)
    else:
        base = _found(model)
        given = given or changes.get(base.model)
    if not given:
        return base
    fields = {key: value for key, value in given.items() if key != "like" and value is not None}
    return replace(base, **{"source": "configuration", **fields})


def _found(model: str) -> Price:
    provider, _, name = model.partition(":")
    if provider in ENGINES:
        return PRICES[f"{provider}:any"]
    if provider not in PROVIDERS:
        provider, name = "", model
    name = name.rpartition("anthropic.")[2] if provider in ("", "bedrock") else name
    known = [one for one in PRICES.values() if provider in ("", one.provider) and _is_version(name, one.name)]
    if not known:
        listed = ", ".join(sorted(PRICES)) + ", vllm, sglang, llama.cpp"
        raise ConfigError(f"`cache` must name a model as in provider:model; got {model!r}; known are {listed}")
    return max(known, key=lambda one: len(one.name))  # of equals the first: Anthropic's own, not Bedrock's


def _is_version(name: str, known: str) -> bool:
    """Return whether a name is the known one, or that with a date, a version or a variant of the same price behind."""
    return name.startswith(known) and _VERSION.fullmatch(name, len(known)) is not None
