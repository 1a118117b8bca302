"""Stage 1: each new tool output is bounded by its tool's limit, head and tail kept (spec 4.1)."""

from __future__ import annotations

from collections.abc import Callable

from ga_context.config import ContextConfig, ToolLimits
from ga_context.edits import CutTexts, Edit, Turn
from ga_context.model import Block
from ga_context.state import State
from ga_context.text.sniff import is_html
from ga_context.text.window import Cut, cut_spans, head_tail


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


def cut_output(text: str, limits: ToolLimits, refer: Callable[[str], str], limit: int | None = None) -> Cut | None:
    """Return the cut that one tool output needs, or None."""
    if limit is None:
        limit = limits.html_limit if limits.html_limit is not None and is_html(text) else limits.limit
    if len(text) <= limit and (limits.line_limit is None or len(text) <= limits.line_limit):
        return None
    return head_tail(text, limit, refer(text), line_limit=limits.line_limit)


def listed_tags(config: ContextConfig) -> tuple[str, ...]:
    """Return the names of all tags that stage 2 knows; no cut may leave one of them alone."""
    return (*config.compact.tags, *config.compact.anchor_tags)


def _cut(state: State, turn: Turn, index: int, block: Block, text: str) -> Cut | None:
    limits = turn.config.limits(block.tools[0] if block.tools else None)
    if not state.fmt.tagged:
        return cut_output(text, limits, state.archive.ref, _share(state, index, text, limits))
    tags = listed_tags(turn.config)
    spans = state.fmt.spans(text)
    if spans is None:
        if len(text) <= limits.limit:
            return None
        return head_tail(text, limits.limit, state.archive.ref(text), line_limit=limits.line_limit, tags=tags)
    over = []
    for i, (start, end) in enumerate(spans):
        limit = turn.config.limits(block.tools[i] if i < len(block.tools) else None).limit
        if end - start > limit:
            over.append((start, end, limit))
    return cut_spans(text, over, state.archive.ref(text), tags=tags) if over else None


def _share(state: State, index: int, text: str, limits: ToolLimits) -> int | None:
    """Return the limit where ``per_turn_limit`` is shared by all calls of the assistant message, else None."""
    if limits.per_turn_limit is None:
        return None
    while index >= 0 and not state.rows[index].has("call"):
        index -= 1
    calls = len(state.rows[index].of("call")) if index >= 0 else 1
    limit = limits.html_limit if limits.html_limit is not None and is_html(text) else limits.limit
    return max(100, min(limit, limits.per_turn_limit // max(1, calls)))
