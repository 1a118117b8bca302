"""What a provider counted: the usage object of a response, of any known shape, as one record, and the sums of many.

The shapes are from the providers' SDKs and documents (facts: cache, section 1). Cached tokens are inside the prompt's
count for most of them; for Anthropic, Bedrock and llama.cpp's timings they stand beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ga_context.cache import definitions
from ga_context.cache.prices import Price
from ga_context.errors import UnknownUsage
from ga_context.text.plain import as_data

MILLION = 1_000_000


class Usage(NamedTuple):
    """The tokens of one response; cached, written and uncached add up to the prompt."""

    prompt: int
    """All tokens of the prompt."""
    cached: int
    """Of these, read from the cache."""
    written: dict[str, int]
    """Of these, stored at a write price, by time to live."""
    output: int
    """Tokens of the reply, reasoning included."""
    shape: str = ""
    """Which usage object it was."""

    @property
    def uncached(self) -> int:
        """Tokens of the prompt that were neither read from the cache nor stored at a write price."""
        return max(0, self.prompt - self.cached - sum(self.written.values()))


@dataclass(frozen=True, slots=True)
class Shape:
    """Where a usage object says what; keys are dotted, and the first of several that holds a number counts."""

    name: str
    needs: tuple[str, ...]
    """Keys that must be there."""
    prompt: tuple[str, ...]
    cached: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    output: tuple[str, ...] = ()
    """All of them are added up."""
    beside: bool = False
    """What was cached and written is not in the prompt's count."""
    ttl: str = "5m"
    """Of what was written, where nothing says it."""
    by_ttl: Mapping[str, str] = field(default_factory=dict)
    """Time to live -> key of what was written with it."""


_ANTHROPIC = {"5m": "cache_creation.ephemeral_5m_input_tokens", "1h": "cache_creation.ephemeral_1h_input_tokens"}

SHAPES: tuple[Shape, ...] = (
    Shape("llama.cpp", ("timings",), ("timings.prompt_n",), ("timings.cache_n",), (), ("timings.predicted_n",), True),
    Shape("llama.cpp timings", ("cache_n", "prompt_n"), ("prompt_n",), ("cache_n",), (), ("predicted_n",), True),
    Shape("deepseek", ("prompt_cache_hit_tokens",), ("prompt_tokens",), ("prompt_cache_hit_tokens",), (),
          ("completion_tokens",)),
    Shape("anthropic", ("input_tokens", "cache_read_input_tokens"), ("input_tokens",), ("cache_read_input_tokens",),
          ("cache_creation_input_tokens",), ("output_tokens",), True, by_ttl=_ANTHROPIC),
    Shape("anthropic", ("input_tokens", "cache_creation_input_tokens"), ("input_tokens",), (),
          ("cache_creation_input_tokens",), ("output_tokens",), True, by_ttl=_ANTHROPIC),
    Shape("bedrock", ("inputTokens",), ("inputTokens",), ("cacheReadInputTokens",), ("cacheWriteInputTokens",),
          ("outputTokens",), True),
    Shape("gemini", ("promptTokenCount",), ("promptTokenCount",), ("cachedContentTokenCount",), (),
          ("candidatesTokenCount", "thoughtsTokenCount")),
    Shape("gemini", ("prompt_token_count",), ("prompt_token_count",), ("cached_content_token_count",), (),
          ("candidates_token_count", "thoughts_token_count")),
    Shape("gemini interactions", ("total_input_tokens",), ("total_input_tokens",), ("total_cached_tokens",), (),
          ("total_output_tokens", "total_reasoning_tokens")),
    Shape("openai responses", ("input_tokens", "input_tokens_details"), ("input_tokens",),
          ("input_tokens_details.cached_tokens",), ("input_tokens_details.cache_write_tokens",), ("output_tokens",),
          ttl="30m"),
    Shape("codex", ("input_tokens", "cached_input_tokens"), ("input_tokens",), ("cached_input_tokens",), (),
          ("output_tokens",)),
    Shape("openai chat", ("prompt_tokens",), ("prompt_tokens",), ("prompt_tokens_details.cached_tokens",
          "cached_tokens"), ("prompt_tokens_details.cache_write_tokens",), ("completion_tokens",), ttl="30m"),
    Shape("pi", ("input", "cacheRead"), ("input",), ("cacheRead",), ("cacheWrite",), ("output",), True),
    Shape("plain", ("input_tokens",), ("input_tokens",), (), (), ("output_tokens",)),
)  # fmt: skip
"""Looked at in this order. vLLM and SGLang send OpenAI's shape; SGLang's meta_info has `cached_tokens` at its top."""


def read_usage(usage: Any) -> Usage:
    """Read a response's usage object: an SDK object or a dict; of llama.cpp the whole response, for its timings.

    Raises:
        UnknownUsage: it has no known shape; the message shows its keys.
        TypeError: it is no object at all.
    """
    data = as_mapping(usage)
    for shape in SHAPES:
        if all(key in data for key in shape.needs) and any(_number(data, key) is not None for key in shape.prompt):
            return _read(shape, data)
    raise UnknownUsage(list(data))


def _read(shape: Shape, data: Mapping[str, Any]) -> Usage:
    prompt, cached = _first(data, shape.prompt), _first(data, shape.cached)
    stored = _first(data, shape.written)
    written = {ttl: tokens for ttl, key in shape.by_ttl.items() if (tokens := _number(data, key))}
    if not written and isinstance(details := data.get("cacheDetails"), list):
        written = {str(one.get("ttl")): int(one.get("inputTokens") or 0) for one in details if isinstance(one, Mapping)}
    if sum(written.values()) != stored:
        written = {shape.ttl: stored} if stored else {}
    if shape.beside:
        prompt += cached + stored
    return Usage(prompt, cached, written, sum(_number(data, key) or 0 for key in shape.output), shape.name)


def _first(data: Mapping[str, Any], keys: Iterable[str]) -> int:
    return next((number for key in keys if (number := _number(data, key)) is not None), 0)


def _number(data: Any, dotted: str) -> int | None:
    for key in dotted.split("."):
        data = data.get(key) if isinstance(data, Mapping) else None
    return int(data) if isinstance(data, int | float) and not isinstance(data, bool) else None


def as_mapping(usage: Any) -> Mapping[str, Any]:
    """Return a usage object as a dict."""
    data = usage if isinstance(usage, Mapping) else as_data(usage)
    if not isinstance(data, Mapping):
        raise TypeError(f"usage must be a dict or an SDK's usage object; got {type(usage).__name__}")
    return data


@dataclass(slots=True)
class Tokens:
    """The sums of several responses, or of several simulated requests."""

    requests: int = 0
    prompt: int = 0
    cached: int = 0
    written: dict[str, int] = field(default_factory=dict)
    """By time to live."""
    output: int = 0

    @property
    def uncached(self) -> int:
        """Tokens of the prompts that were neither read from the cache nor stored at a write price."""
        return max(0, self.prompt - self.cached - sum(self.written.values()))

    @property
    def token_hit(self) -> float | None:
        """Cached input tokens / all input tokens (`definitions.token_hit`)."""
        return definitions.token_hit(self.cached, self.prompt)

    def add(self, prompt: int, cached: int, written: Mapping[str, int], output: int = 0, requests: int = 1) -> None:
        """Add one response, or the sums of several."""
        self.requests += requests
        self.prompt += prompt
        self.cached += cached
        self.output += output
        for ttl, tokens in written.items():
            self.written[ttl] = self.written.get(ttl, 0) + tokens

    def input_cost(self, price: Price) -> float:
        """Return what the input cost, in tokens at the base price (`definitions.input_cost`)."""
        return definitions.input_cost(self.cached, self.uncached, self.written, price.read, price.write)

    def dollars(self, price: Price) -> float | None:
        """Return what input and output cost, or None where the model has no price."""
        if price.input_dollars is None:
            return None
        reply = self.output * (price.output_dollars or 0.0)
        return (self.input_cost(price) * price.input_dollars + reply) / MILLION
