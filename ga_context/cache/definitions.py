"""What the words mean (spec 10): each figure of a cache defined once, and used everywhere.

For request t of T: P_t are its prompt tokens, H_t those served from the cache, L_t the longest common prefix of it
and request t-1 in the same rendering. A request is tools, system and messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence


def append_rate(prefix_kept: Sequence[bool]) -> float | None:
    """Return the share of turns whose previous view is a full prefix of this one; None without turns.

    Turn level: the "roughly 80% of turns" of the report. The previous view is taken less an ephemeral anchor and
    without cache markers; turn 1 is a miss. It says nothing of how many tokens hit.

    Args:
        prefix_kept: for each turn whether the previous view is a full prefix; what the first says does not count.
    """
    return sum(prefix_kept[1:]) / len(prefix_kept) if prefix_kept else None


def append_rate_of(sessions: Iterable[Sequence[bool]]) -> float | None:
    """Return `append_rate` over the turns of several sessions, the first turn of each a miss."""
    sessions = list(sessions)
    turns = sum(len(kept) for kept in sessions)
    return sum(sum(kept[1:]) for kept in sessions) / turns if turns else None


def append_rate_raw(shared: Sequence[int], prompts: Sequence[int]) -> float | None:
    """Return the same share with anchors: of what was sent, byte for byte; None without turns.

    An ephemeral anchor makes it 0, though nearly every token still hits: never judge by it alone.

    Args:
        shared: L_t of each request, the first one's does not count.
        prompts: P_t of each request.
    """
    if not prompts:
        return None
    return sum(l_t == before for l_t, before in zip(shared[1:], prompts, strict=False)) / len(prompts)


def token_hit(cached: int, prompt: int) -> float | None:
    """Return sum H_t / sum P_t, the share of input tokens that were served from the cache; None without input.

    Token level: what vendors bill.
    """
    return cached / prompt if prompt else None


def prefix_retention(shared: Sequence[int], prompts: Sequence[int]) -> float | None:
    """Return sum L_t / sum P_(t-1): of what could be had again, the share that was left; None before turn 2.

    It does not depend on how much new text a turn adds: the figure to watch for whoever edits a history.

    Args:
        shared: L_t of each request, the first one's does not count.
        prompts: P_t of each request.
    """
    possible = sum(prompts[:-1])
    return sum(shared[1:]) / possible if possible else None


def rewrite_tokens(shared: int, before: int) -> int:
    """Return P_(t-1) - L_t, the tokens that a change threw away."""
    return before - shared


def input_cost(
    cached: int, uncached: int, written: Mapping[str, int], read: float, write: Mapping[str, float]
) -> float:
    """Return r * read + w * write + 1 * uncached, in tokens at the base price of input.

    The figure to bring down; the hit rate is a guard: never compacting has the best hit rate and costs more.

    Args:
        cached, uncached: tokens.
        written: tokens by time to live.
        read: price of a cached token as a multiple of the base price.
        write: of a stored token, by time to live; what is not named there costs 1.
    """
    stored = sum(tokens * write.get(ttl, 1.0) for ttl, tokens in written.items())
    return read * cached + stored + uncached
