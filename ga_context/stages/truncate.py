"""Stage 1: each new tool output is bounded by its tool's limit; JSON parses, a page keeps its best, a text its ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ga_context.closure import response
from ga_context.config import ContextConfig, ToolLimits
from ga_context.edits import CutTexts, Edit, Turn
from ga_context.html import LEAST_BUDGET, prune_page
from ga_context.model import Block, Path
from ga_context.recall import RECALL_TOOL, held_in
from ga_context.state import State
from ga_context.text.marker import page_note
from ga_context.text.sniff import is_html
from ga_context.text.structure import fit
from ga_context.text.window import LEAST_LIMIT, Cut, Lost, has_long_line, spliced

SPILL_KEY, PREVIEW_CHARS = "save_to_file", 170
"""The input by which a call says that its output goes to a file, and what is shown of it then (report, Table 1)."""


def truncate(state: State, turn: Turn) -> list[Edit]:
    """Propose a cut for every result that came in this turn and is over its limit."""
    edits: list[Edit] = []
    first_new = max(turn.first_new, turn.adopted + 1)
    for index in range(state.touched, len(state.rows)):
        for place, block in enumerate(state.rows[index].blocks):
            if block.kind != "result" or block.ours or block.sealed or block.ordinal < first_new:
                continue
            for path, text in state.fmt.texts(block):
                if RECALL_TOOL in block.tools and held_in(state, turn.config, block, path, text):
                    continue  # it was made to a limit, and cutting it would have the model ask again
                cut = _cut(state, turn, index, block, path, text)
                if cut is not None:
                    reason = f"over the limit of {', '.join(block.tools) or 'any tool'}"
                    edits.append(CutTexts(index, place, ((path, cut),), "truncate", reason))
    return edits


def cut_output(
    text: str,
    limits: ToolLimits,
    refer: Callable[[str], str],
    share: int | None = None,
    tags: Sequence[str] = (),
    must_parse: bool = False,
) -> Cut | None:
    """Return the cut that one tool output needs, or None; ``share`` bounds it beside the tool's limit."""
    is_page = limits.html_limit is not None and not must_parse and is_html(text)
    limit = limits.html_limit if is_page and limits.html_limit is not None else limits.limit
    limit = limit if share is None else min(limit, share)
    if is_page and limit >= LEAST_BUDGET:  # lines say nothing in a page
        return _page(text, limit, refer) if len(text) > limit else None
    if len(text) <= limit and not (limits.line_limit and has_long_line(text, limits.line_limit)):
        return None
    structure, line_limit = limits.json == "structure", limits.line_limit
    return fit(text, limit, refer(text), line_limit=line_limit, tags=tags, json=structure, must_parse=must_parse)


def listed_tags(config: ContextConfig) -> tuple[str, ...]:
    """Return the names of all tags that stage 2 knows; no cut may leave one of them alone."""
    return (*config.compact.tags, *config.compact.anchor_tags)


def _page(text: str, limit: int, refer: Callable[[str], str]) -> Cut:
    """Return the cut that writes a page anew: all of it is gone, and what is left of it stands as one mark."""

    def note(addresses: Mapping[str, str]) -> str:
        return page_note(len(text), refer(text), len(addresses), refer(_table(addresses)) if addresses else "")

    page = prune_page(text, limit, note)
    lost = tuple([Lost(one.path, one.start, one.end, one.reason) for one in page.report.removed])
    addresses = page.report.addresses
    return Cut((page.html,), len(text), lost, (_table(addresses),) if addresses else ())


def _table(addresses: Mapping[str, str]) -> str:
    return "\n".join([f"{number} {url}" for number, url in addresses.items()])


def structured(config: ContextConfig, block: Block, n: int = 0) -> bool:
    """Return whether the n-th result in a block is cut in its structure where it is JSON."""
    return config.limits(block.tools[n] if n < len(block.tools) else None).json == "structure"


def _cut(state: State, turn: Turn, index: int, block: Block, path: Path, text: str) -> Cut | None:
    tags = listed_tags(turn.config) if state.fmt.tagged else ()
    spans = state.fmt.spans(text, tags) if state.fmt.tagged else None
    if spans is None:
        limits = turn.config.limits(block.tools[0] if block.tools else None)
        share, must_parse = _share(state, index, block, 0, limits), state.fmt.is_json(block, path)
        return cut_output(text, limits, state.archive.ref, share, tags, must_parse)
    windows = []
    for i, (start, end) in enumerate(spans):
        limits = turn.config.limits(block.tools[i] if i < len(block.tools) else None)
        share = _share(state, index, block, i, limits)
        span = text[start:end]

        def refer(original: str, span: str = span) -> str:
            return state.archive.ref(text if original is span else original)

        cut = cut_output(span, limits, refer, share, tags)
        if cut is not None:
            windows.append((start, end, cut))
    return spliced(text, windows) if windows else None


def _share(state: State, index: int, block: Block, n: int, limits: ToolLimits) -> int | None:
    """Return what the n-th result in a block may take beside its limit: a part of that of all calls, or a preview."""
    if limits.per_turn_limit is None and not limits.spill:
        return None
    while index >= 0 and not state.rows[index].has("call"):
        index -= 1
    rows = response(state, index) if index >= 0 else ()
    calls = [call for at in rows for call in state.rows[at].of("call")]
    shares = [PREVIEW_CHARS] if limits.spill and _is_spilled(state, calls, block, n) else []
    if limits.per_turn_limit is not None:
        count = sum([len(call.tools) for call in calls])
        shares.append(max(LEAST_LIMIT, limits.per_turn_limit // max(1, count)))
    return min(shares, default=None)


def _is_spilled(state: State, calls: Sequence[Block], block: Block, n: int) -> bool:
    """Return whether the call that the n-th result in a block answers asks for a file."""
    asked = [call for call in calls if state.fmt.tagged or call.id == block.id]
    inputs: list[Any] = [given for call in asked for _, given in state.fmt.calls(call)]
    return n < len(inputs) and isinstance(inputs[n], Mapping) and bool(inputs[n].get(SPILL_KEY))
