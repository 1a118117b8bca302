"""Stage 1: each new tool output is bounded by its tool's limit, head and tail kept (spec 4.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ga_context.config import ContextConfig, ToolLimits
from ga_context.edits import CutTexts, Edit, Turn
from ga_context.model import Block
from ga_context.state import State
from ga_context.text.sniff import is_html
from ga_context.text.window import Cut, has_long_line, head_tail, spliced

LEAST_LIMIT = 100
"""No share of a limit is smaller (spec 4.1)."""


def truncate(state: State, turn: Turn) -> list[Edit]:
    """Propose a cut for every result that came in this turn and is over its limit."""
    edits: list[Edit] = []
    for index in range(state.touched, len(state.rows)):
        for place, block in enumerate(state.rows[index].blocks):
            if block.kind != "result" or block.ours or block.ordinal < turn.first_new:
                continue
            for path, text in state.fmt.texts(block):
                cut = _cut(state, turn, index, block, text)
                if cut is not None:
                    reason = f"over the limit of {', '.join(block.tools) or 'any tool'}"
                    edits.append(CutTexts(index, place, ((path, cut),), "truncate", reason))
    return edits


def cut_output(
    text: str, limits: ToolLimits, refer: Callable[[str], str], share: int | None = None, tags: Sequence[str] = ()
) -> Cut | None:
    """Return the cut that one tool output needs, or None; ``share`` is its part of a limit for all calls of a turn."""
    limit = _limit(text, limits, share)
    if len(text) <= limit and not (limits.line_limit and has_long_line(text, limits.line_limit)):
        return None
    return head_tail(text, limit, refer(text), line_limit=limits.line_limit, tags=tags)


def listed_tags(config: ContextConfig) -> tuple[str, ...]:
    """Return the names of all tags that stage 2 knows; no cut may leave one of them alone."""
    return (*config.compact.tags, *config.compact.anchor_tags)


def _limit(text: str, limits: ToolLimits, share: int | None) -> int:
    limit = limits.html_limit if limits.html_limit is not None and is_html(text) else limits.limit
    return limit if share is None else min(limit, share)


def _cut(state: State, turn: Turn, index: int, block: Block, text: str) -> Cut | None:
    tags = listed_tags(turn.config) if state.fmt.tagged else ()
    spans = state.fmt.spans(text, tags) if state.fmt.tagged else None
    if spans is None:
        limits = turn.config.limits(block.tools[0] if block.tools else None)
        return cut_output(text, limits, state.archive.ref, _share(state, index, limits), tags)
    windows = []
    for i, (start, end) in enumerate(spans):
        limits = turn.config.limits(block.tools[i] if i < len(block.tools) else None)
        cut = cut_output(text[start:end], limits, lambda _: state.archive.ref(text), _share(state, index, limits), tags)
        if cut is not None:
            windows.append((start, end, cut))
    return spliced(text, windows) if windows else None


def _share(state: State, index: int, limits: ToolLimits) -> int | None:
    """Return the part of ``per_turn_limit`` for each call of the assistant message before row ``index``, or None."""
    if limits.per_turn_limit is None:
        return None
    while index >= 0 and not state.rows[index].has("call"):
        index -= 1
    calls = sum([len(block.tools) for block in state.rows[index].of("call")]) if index >= 0 else 1
    return max(LEAST_LIMIT, limits.per_turn_limit // max(1, calls))
