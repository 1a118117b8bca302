"""The usage objects of all providers, as their documents and SDKs have them, read as one record."""

from dataclasses import dataclass
from typing import Any

import pytest

from ga_context import ContextSession
from ga_context.cache.usage import Usage, read_usage
from ga_context.errors import UnknownUsage

SHAPES: dict[str, tuple[dict[str, Any], Usage]] = {
    "anthropic": (
        {
            "input_tokens": 12,
            "cache_creation_input_tokens": 1830,
            "cache_read_input_tokens": 17420,
            "cache_creation": {"ephemeral_5m_input_tokens": 1830, "ephemeral_1h_input_tokens": 0},
            "output_tokens": 311,
        },
        Usage(19_262, 17_420, {"5m": 1_830}, 311, "anthropic"),
    ),
    "anthropic, an hour": (
        {
            "input_tokens": 3,
            "cache_creation_input_tokens": 26043,
            "cache_read_input_tokens": 16718,
            "cache_creation": {"ephemeral_5m_input_tokens": 43, "ephemeral_1h_input_tokens": 26000},
            "output_tokens": 9,
        },
        Usage(42_764, 16_718, {"5m": 43, "1h": 26_000}, 9, "anthropic"),
    ),
    "anthropic, nothing cached": (
        {"input_tokens": 5, "cache_creation_input_tokens": None, "cache_read_input_tokens": None, "output_tokens": 1},
        Usage(5, 0, {}, 1, "anthropic"),
    ),
    "openai chat": (
        {
            "prompt_tokens": 19262,
            "completion_tokens": 311,
            "total_tokens": 19573,
            "prompt_tokens_details": {"cached_tokens": 17408, "cache_write_tokens": 0},
        },
        Usage(19_262, 17_408, {}, 311, "openai chat"),
    ),
    "openai responses": (
        {
            "input_tokens": 19262,
            "input_tokens_details": {"cached_tokens": 17408, "cache_write_tokens": 1854},
            "output_tokens": 311,
            "output_tokens_details": {"reasoning_tokens": 64},
            "total_tokens": 19573,
        },
        Usage(19_262, 17_408, {"30m": 1_854}, 311, "openai responses"),
    ),
    "gemini": (
        {"promptTokenCount": 19262, "cachedContentTokenCount": 17408, "candidatesTokenCount": 300,
         "thoughtsTokenCount": 11, "totalTokenCount": 19573},
        Usage(19_262, 17_408, {}, 311, "gemini"),
    ),
    "gemini, the SDK's": (
        {"prompt_token_count": 19262, "cached_content_token_count": None, "candidates_token_count": 311},
        Usage(19_262, 0, {}, 311, "gemini"),
    ),
    "gemini interactions": (
        {"total_input_tokens": 19262, "total_cached_tokens": 17408, "total_output_tokens": 311},
        Usage(19_262, 17_408, {}, 311, "gemini interactions"),
    ),
    "deepseek": (
        {
            "prompt_tokens": 102056,
            "completion_tokens": 252,
            "total_tokens": 102308,
            "prompt_cache_hit_tokens": 94464,
            "prompt_cache_miss_tokens": 7592,
            "prompt_tokens_details": {"cached_tokens": 94464},
        },
        Usage(102_056, 94_464, {}, 252, "deepseek"),
    ),
    "bedrock": (
        {
            "inputTokens": 12,
            "outputTokens": 311,
            "totalTokens": 19573,
            "cacheReadInputTokens": 17420,
            "cacheWriteInputTokens": 1830,
            "cacheDetails": [{"ttl": "1h", "inputTokens": 1830}],
        },
        Usage(19_262, 17_420, {"1h": 1_830}, 311, "bedrock"),
    ),
    "vllm": (
        {
            "prompt_tokens": 19262,
            "total_tokens": 19573,
            "completion_tokens": 311,
            "prompt_tokens_details": {"cached_tokens": 19248},
        },
        Usage(19_262, 19_248, {}, 311, "openai chat"),
    ),
    "sglang, nothing reported": (
        {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107, "prompt_tokens_details": None},
        Usage(100, 0, {}, 7, "openai chat"),
    ),
    "sglang, meta_info": (
        {"prompt_tokens": 100, "completion_tokens": 7, "cached_tokens": 96},
        Usage(100, 96, {}, 7, "openai chat"),
    ),
    "llama.cpp": (
        {
            "usage": {"prompt_tokens": 617, "completion_tokens": 1502, "total_tokens": 2119},
            "timings": {"cache_n": 600, "prompt_n": 17, "prompt_ms": 652.3, "predicted_n": 1502},
        },
        Usage(617, 600, {}, 1_502, "llama.cpp"),
    ),
    "codex": (
        {"input_tokens": 19262, "cached_input_tokens": 17408, "output_tokens": 311, "reasoning_output_tokens": 64},
        Usage(19_262, 17_408, {}, 311, "codex"),
    ),
    "pi": (
        {"input": 1, "output": 114, "cacheRead": 200, "cacheWrite": 33637},
        Usage(33_838, 200, {"5m": 33_637}, 114, "pi"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_each_shape_is_read(name: str) -> None:
    """Cached tokens are part of the prompt, wherever the provider counts them."""
    given, expected = SHAPES[name]
    assert read_usage(given) == expected
    assert expected.prompt == expected.cached + sum(expected.written.values()) + expected.uncached


def test_an_object_is_read_as_a_dict() -> None:
    @dataclass
    class Details:
        cached_tokens: int

    @dataclass
    class Given:
        prompt_tokens: int
        prompt_tokens_details: Details

    assert read_usage(Given(100, Details(60))).cached == 60


def test_an_unknown_shape_shows_its_keys() -> None:
    session = ContextSession()
    with pytest.raises(UnknownUsage, match=r"Anthropic, OpenAI .* this one has the keys: tokens, cost;"):
        session.record_usage({"tokens": 5, "cost": 0.1})
    with pytest.raises(TypeError, match="got int"):
        session.record_usage(5)
    assert (session.usage, session.cache.measured.total.requests) == ({}, 0)


def test_a_session_adds_up() -> None:
    """By model, with the rate and what it cost: dollars a million tokens 3 in, 15 out, 0.3 read, 3.75 written."""
    session = ContextSession({"cache": {"model": "anthropic:claude-sonnet-4-5"}})
    given = SHAPES["anthropic"][0]
    for _ in range(2):
        session.record_usage(given)
    measured = session.cache.measured
    assert measured.token_hit == 17_420 / 19_262
    assert measured.input_cost == pytest.approx(2 * (0.1 * 17_420 + 1.25 * 1_830 + 12))
    assert measured.dollars == pytest.approx(2 * (17_420 * 0.3 + 1_830 * 3.75 + 12 * 3 + 311 * 15) / 1e6)
    assert measured.to_dict()["models"]["anthropic:claude-sonnet-4-5"]["requests"] == 2


def test_without_a_price_there_is_no_cost() -> None:
    """Nor is one made up: the models are named."""
    session = ContextSession()
    session.record_usage(SHAPES["openai chat"][0], model="openai:gpt-5")
    assert session.cache.measured.dollars is not None
    session.record_usage(SHAPES["openai chat"][0], model="acme:large")
    session.record_usage(SHAPES["openai chat"][0])
    measured = session.cache.measured
    assert (measured.dollars, measured.input_cost, measured.unpriced) == (None, None, ["acme:large", ""])
    assert measured.token_hit == 17_408 / 19_262


def test_prices_of_the_configuration_hold() -> None:
    changed = {"cache": {"prices": {"acme:large": {"like": "openai:gpt-5", "input_dollars": 1.0, "read": 0.5}}}}
    session = ContextSession(changed)
    session.record_usage({"prompt_tokens": 1_000, "prompt_tokens_details": {"cached_tokens": 500}}, model="acme:large")
    assert session.cache.measured.dollars == pytest.approx(750 / 1e6)


def test_a_dump_keeps_the_sums() -> None:
    session = ContextSession()
    session.prepare([{"role": "user", "content": "Go."}])
    session.record_usage(SHAPES["anthropic"][0], model="claude-opus-5")
    loaded = ContextSession.load(session.dump())
    assert loaded.cache.measured.models == session.cache.measured.models
    assert ContextSession.load(loaded.dump()).cache.measured.models == session.cache.measured.models
