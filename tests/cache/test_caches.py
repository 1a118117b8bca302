"""Each example that a provider's documentation gives, played through its simulator."""

import pytest

from ga_context import ConfigError
from ga_context.cache.entries import BreakpointCache, EntryCache
from ga_context.cache.prefix import PrefixCache
from ga_context.cache.prices import PRICES, price
from ga_context.cache.request import Segment, Served, shared_length, shared_tokens
from ga_context.cache.simulate import simulator
from ga_context.cache.units import UnitCache


def block(name: str, tokens: int = 1_000, ttl: str | None = None, kind: str = "text") -> Segment:
    """Return a message of one block."""
    return Segment(name, tokens, kind=kind, ttl=ttl, ends_message=True)


def blocks(count: int, *marked: int, kind: str = "text") -> list[Segment]:
    """Return blocks 1 to ``count`` of 100 tokens, with breakpoints behind those that are named."""
    return [block(f"block {i}", 100, "5m" if i in marked else None, kind) for i in range(1, count + 1)]


# The longest common prefix at a granularity


@pytest.mark.parametrize(
    ("model", "shared", "prompt", "cached"),
    [
        ("vllm", 19_250, 19_262, 19_248),  # whole blocks of 16
        ("openai:gpt-5", 17_450, 19_262, 17_408),  # multiples of 128
        ("openai:gpt-5", 1_023, 5_000, 0),  # at least 1,024
        ("openai:gpt-5", 1_024, 5_000, 1_024),
        ("sglang", 617, 2_119, 617),
        ("llama.cpp", 617, 2_119, 617),
        ("gemini:gemini-2.5-pro", 2_047, 9_000, 0),
        ("gemini:gemini-2.5-pro", 2_048, 9_000, 2_048),
        ("deepseek:deepseek-v3.2", 1_000, 5_000, 960),  # 64-token units of V2 and V3
    ],
)
def test_the_prefix_is_reused_in_whole_blocks(model: str, shared: int, prompt: int, cached: int) -> None:
    cache = simulator(model)
    first = (Segment((1,) * shared + (2,) * 100, shared + 100),)
    second = (Segment((1,) * shared + (3,) * (prompt - shared), prompt),)
    assert cache.request(first) == Served(0, shared + 100, {})
    assert cache.request(second) == Served(cached, prompt - cached, {})


def test_one_token_at_least_is_computed() -> None:
    """The reply begins there: of an equal prompt of 32 tokens one block of 16 is cached in vLLM."""
    prompt = [block("a", 32)]
    for granularity, cached in ((16, 16), (1, 31)):
        cache = PrefixCache(granularity)
        cache.request(prompt)
        assert cache.request(prompt).cached == cached


def test_any_earlier_prompt_serves_but_a_slot_holds_only_the_last() -> None:
    a, b, question = block("a"), block("b"), block("?", 1)
    for cache, cached in ((PrefixCache(), 1_000), (PrefixCache(remember="last"), 0)):
        for prompt in ([a, question], [b, question]):
            cache.request(prompt)
        assert cache.request([a, block("!", 1)]).cached == cached


def test_a_reply_is_cached_where_it_was_written() -> None:
    """The next prompt holds it, and an engine has it."""
    cache = PrefixCache()
    cache.request([block("question")], reply=[block("answer", 50)])
    assert cache.request([block("question"), block("answer", 50), block("next", 10)]).cached == 1_050


def test_what_was_not_sent_for_long_is_gone() -> None:
    cache = PrefixCache(lifetime_seconds=600)
    prompt = [block("a", 5_000), block("?", 1)]
    cached = [cache.request(prompt, now).cached for now in (0, 600, 1_200, 1_801)]
    assert cached == [0, 5_000, 5_000, 0]


# Entries, as Anthropic and Bedrock have them


def test_a_breakpoint_looks_back_twenty_positions() -> None:
    """An entry at block 15 is out of the reach of a breakpoint at 35; at 16 it is not."""
    for entry, cached in ((15, 0), (16, 1_600)):
        cache = EntryCache()
        cache.request(blocks(entry, entry))
        assert cache.request(blocks(35, 35)).cached == cached


def test_a_second_breakpoint_reaches_it() -> None:
    cache = EntryCache()
    cache.request(blocks(15, 15))
    assert cache.request(blocks(35, 15, 35)) == Served(1_500, 0, {"5m": 2_000})


@pytest.mark.parametrize("kind", ["call", "result"])
def test_calls_in_a_row_are_one_position(kind: str) -> None:
    cache = EntryCache()
    first = blocks(3, 3)
    cache.request(first)
    parallel = [block(f"parallel {i}", 10, kind=kind) for i in range(30)]
    assert cache.request([*blocks(3), *parallel, block("last", 1, "5m")]).cached == 300


def test_nothing_between_the_last_valid_breakpoint_and_an_edit_is_readable() -> None:
    """The prefix that two requests share is 2,900 tokens; the entry that still holds is at 1,000."""
    cache = EntryCache()
    cache.request(blocks(40, 10, 40))
    edited = [*blocks(29), block("edited", 100), *blocks(40, 40)[30:]]
    assert cache.request(edited).cached == 0
    marked = [part._replace(ttl="5m") if i == 9 else part for i, part in enumerate(edited)]
    assert cache.request(marked).cached == 3_000 + 1_000  # by now the edited one has an entry of its own


def test_below_the_minimum_nothing_is_cached() -> None:
    """Silently, by model: 4,096 tokens for Haiku 4.5, 1,024 for Sonnet 4.5."""
    prompt = [block("system", 2_000, "5m"), block("question", 10)]
    for model, served in (
        ("anthropic:claude-haiku-4-5", Served(0, 2_010, {})),
        ("anthropic:claude-sonnet-4-5", Served(2_000, 10, {})),
    ):
        cache = simulator(model)
        cache.request(prompt)
        assert cache.request(prompt) == served


def test_an_entry_lives_five_minutes_from_its_last_read() -> None:
    cache = EntryCache()
    prompt = [block("system", ttl="5m"), block("question", 10)]
    assert [cache.request(prompt, now).cached for now in (0, 300, 600, 901)] == [0, 1_000, 1_000, 0]


def test_an_entry_of_an_hour_lives_an_hour() -> None:
    cache = EntryCache()
    prompt = [block("system", ttl="1h"), block("question", 10)]
    assert [cache.request(prompt, now).cached for now in (0, 3_600, 7_201)] == [0, 1_000, 0]
    assert EntryCache().request(prompt).written == {"1h": 1_000}


def test_both_times_to_live_are_billed_up_to_their_last_breakpoint() -> None:
    cache = EntryCache()
    prompt = [block("system", ttl="1h"), block("history", 500, "1h"), block("newest", 200, "5m"), block("anchor", 7)]
    assert cache.request(prompt[:1]) == Served(0, 0, {"1h": 1_000})
    assert cache.request(prompt) == Served(1_000, 7, {"1h": 500, "5m": 200})


def test_an_entry_is_readable_once_the_first_response_began() -> None:
    cache = EntryCache(first_token_seconds=2.0)
    prompt = [block("system", ttl="5m"), block("question", 10)]
    assert [cache.request(prompt, now).cached for now in (0, 1, 2)] == [0, 0, 1_000]


@pytest.mark.parametrize(
    ("ttls", "said"),
    [
        (["5m"] * 5, "4 breakpoints; got 5"),
        (["5m", "1h"], "a longer time to live must stand before a shorter one; got 5m, 1h"),
        (["2h"], "must be one of '5m', '1h'; got '2h'"),
    ],
)
def test_what_the_provider_refuses_is_refused(ttls: list[str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        EntryCache().request([block(str(i), ttl=ttl) for i, ttl in enumerate(ttls)])


# Breakpoints, as OpenAI has them from GPT-5.6 on


def test_the_end_of_a_prompt_is_a_breakpoint_that_is_not_rounded() -> None:
    cache = BreakpointCache()
    assert cache.request([block("question", 1_111)]) == Served(0, 0, {"30m": 1_111})
    assert cache.request([block("question", 1_111), block("answer", 50)]) == Served(1_111, 0, {"30m": 50})


def test_an_edited_message_falls_back_to_no_unmarked_prefix() -> None:
    cache = BreakpointCache()
    cache.request([block("a"), block("b"), block("c")])
    assert cache.request([block("a"), block("b"), block("edited")]).cached == 0


def test_explicit_breakpoints_keep_what_stands_before_an_edit() -> None:
    cache = BreakpointCache()
    cache.request([block("a"), block("b", ttl="30m"), block("c")])
    assert cache.request([block("a"), block("b"), block("edited")]).cached == 2_000


def test_without_breakpoints_the_explicit_mode_caches_nothing() -> None:
    cache = BreakpointCache(mode="explicit")
    prompt = [block("a", 5_000)]
    assert [cache.request(prompt) for _ in range(2)] == [Served(0, 5_000, {})] * 2


def test_the_last_four_are_written_of_explicit_ones_and_the_last_three_beside_the_implicit() -> None:
    marked = [block(str(i), ttl="30m") for i in range(1, 6)]
    for mode, readable in (("explicit", {2, 3, 4, 5}), ("implicit", {3, 4, 5})):
        found = set()
        for end in range(1, 6):
            cache = BreakpointCache(mode=mode)  # type: ignore[arg-type]
            cache.request([*marked, block("question", 10)])
            if cache.request([*marked[:end], block(f"other {end}", 10)]).cached == 1_000 * end:
                found.add(end)
        assert found == readable


def test_no_look_back_is_too_long_but_eighty_breakpoints_are() -> None:
    for count, cached in ((79, 2_000), (80, 0)):
        cache = BreakpointCache()
        cache.request([block("a", 2_000)])
        assert cache.request([block("a", 2_000), *(block(f"message {i}", 10) for i in range(count))]).cached == cached


# Units, as DeepSeek has them from V4 on


def test_a_common_prefix_is_a_unit_once_two_requests_showed_it() -> None:
    """A+B, then A+C misses, then A+D hits A."""
    cache = UnitCache()
    requests = [[block("a", 3_000), block(name, 500)] for name in "bcd"]
    assert [cache.request(prompt).cached for prompt in requests] == [0, 0, 3_000]


def test_the_common_prefix_may_end_inside_a_message() -> None:
    cache = UnitCache()
    requests = [[Segment("x" * 300 + name * 100, 400)] for name in "bcd"]
    assert [cache.request(prompt).cached for prompt in requests] == [0, 0, 300]


def test_prompt_and_reply_are_units() -> None:
    cache = UnitCache()
    question, answer = block("question"), block("answer", 50)
    cache.request([question], reply=[answer])
    assert cache.request([question, block("another answer", 50)]).cached == 1_000
    assert cache.request([question, answer, block("next", 10)]).cached == 1_050


def test_intervals_are_units_too() -> None:
    cache = UnitCache(interval_tokens=256)
    requests = [[Segment("x" * 300 + name * 100, 400)] for name in "bc"]
    assert [cache.request(prompt).cached for prompt in requests] == [0, 256]


# What texts share, and prices


def test_what_two_texts_share() -> None:
    assert shared_length("abcd", "abXd") == 2
    assert shared_length((1, 2, 3), (1, 2, 3, 4)) == 3
    assert shared_length("", "a") == shared_length("a", "b") == 0
    assert shared_tokens([block("a", 7), block("bcde", 8)], [block("a", 7), block("bcXX", 8)]) == 7 + 4


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("anthropic:claude-sonnet-4-5", "anthropic:claude-sonnet-4-5"),
        ("claude-sonnet-4-5-20250929", "anthropic:claude-sonnet-4-5"),
        ("bedrock:us.anthropic.claude-opus-4-5-20251101-v1:0", "bedrock:claude-opus-4-5"),
        ("gpt-5-codex", "openai:gpt-5"),
        ("openai:gpt-4o-mini-2024-07-18", "openai:gpt-4o-mini"),
        ("vllm:Qwen/Qwen3", "vllm:any"),
        ("llama.cpp", "llama.cpp:any"),
    ],
)
def test_a_model_is_found_by_its_name(name: str, model: str) -> None:
    assert price(name).model == model


@pytest.mark.parametrize("name", ["claude-opus-4-9", "gpt-7", "anthropic:gpt-5", ""])
def test_a_model_that_is_not_known_is_refused_with_those_that_are(name: str) -> None:
    with pytest.raises(ConfigError, match=r"must name a model as in provider:model.*anthropic:claude-sonnet-4-5"):
        price(name)


def test_a_price_can_be_changed_and_a_model_added() -> None:
    changed = price("anthropic:claude-sonnet-4-5", {"anthropic:claude-sonnet-4-5": {"input_dollars": 2.5}})
    assert (changed.input_dollars, changed.read, changed.source) == (2.5, 0.1, "configuration")
    added = price("my:model", {"my:model": {"like": "openai:gpt-5", "input_dollars": 1.0}})
    assert (added.model, added.rules, added.granularity) == ("my:model", "prefix", 128)


def test_every_price_says_its_date_and_source() -> None:
    assert all(one.date and one.source and 0 <= one.read <= 1 for one in PRICES.values())
