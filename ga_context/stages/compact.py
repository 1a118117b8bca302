"""Stage 2: old messages are compacted, tag by tag and block by block, every few turns (spec 4.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from ga_context.closure import first_of_response, pending_calls, response
from ga_context.edits import CutTexts, Edit, Pass, Swap, Turn
from ga_context.model import Block, Path, Payload
from ga_context.recall import RECALL_TOOL, Held, held_in, is_spared
from ga_context.stages.truncate import listed_tags, structured
from ga_context.state import State
from ga_context.text.marker import FOLDED, payload_note
from ga_context.text.size import json_text
from ga_context.text.structure import fit
from ga_context.text.tags import Pair, pairs
from ga_context.text.window import Cut, Piece, spliced


def compact(state: State, turn: Turn) -> list[Edit]:
    """Propose a pass when one is due: spare the newest 10 messages, or 4 when the view is over the budget."""
    settings = turn.config.compact
    if turn.over:
        return _pass(state, turn, settings.keep_recent_on_eviction)
    if settings.interval is not None and turn.number - state.marks.last_pass >= settings.interval:
        return _pass(state, turn, settings.keep_recent)
    return []


def border_before(state: State, newest: int) -> int:
    """Return the first of the ``newest`` messages, moved so that no exchange straddles it."""
    border = max(0, state.marks.messages - newest)
    for ordinal, call in reversed(state.pairs):
        if ordinal < border:
            break
        border = min(border, call.ordinal)
    return first_of_response(state, border)


def open_row(state: State) -> int | None:
    """Return the row of the newest assistant message with calls, whose reasoning always stays (spec 6: open loop)."""
    for index in range(len(state.rows) - 1, -1, -1):
        if state.rows[index].side == "assistant" and state.rows[index].has("call"):
            return index
    return None


def _pass(state: State, turn: Turn, keep_recent: int) -> list[Edit]:
    """Compact what became old since the last pass; what was old then keeps its bytes."""
    old, before = border_before(state, keep_recent), state.marks.border
    border = old
    newest = open_row(state)
    open_loop = response(state, newest) if newest is not None else range(0)
    pending = pending_calls(state)
    edits: list[Edit] = []
    for index, last in reversed(list(_rows_since(state, before))):
        row = state.rows[index]
        if last >= old or row.side == "system" or index in pending:
            continue
        for place, block in enumerate(row.blocks):
            if RECALL_TOOL in block.tools and is_spared(state, turn.config, turn.number, block):
                border = min(border, block.ordinal)  # it is looked at again when its grace is over
            elif block.kind != "reasoning" or index not in open_loop:
                edits.extend(_compacted(state, turn, index, place, block))
    looked_at = border
    if open_loop:
        border = min(border, state.rows[open_loop.start].ordinal)  # its reasoning is looked at again when it is older
    return [*edits, Pass(border, looked_at)]


def _rows_since(state: State, ordinal: int) -> Iterator[tuple[int, int]]:
    """Yield (row, highest ordinal in it) from the newest back to raw message ``ordinal``."""
    for index in range(len(state.rows) - 1, -1, -1):
        last = state.rows[index].last
        if last < ordinal and not state.rows[index].ours:
            return
        yield index, last


def _compacted(state: State, turn: Turn, index: int, place: int, block: Block) -> list[Edit]:
    """Propose what becomes of one old block."""
    settings, fmt = turn.config.compact, state.fmt
    if block.kind == "anchor":
        cut = folded(fmt.texts(block)[0][1], settings.anchor_tags) if not block.cuts else None
        return [CutTexts(index, place, (((), cut),), "compact", "old anchor")] if cut else []
    if block.kind == "reasoning" and _is_sealed(state, index, block):
        drop = Swap(index, place, None, "compact", "old signed reasoning, left out whole", json_text(block.base))
        return [drop] if settings.drop_reasoning and fmt.drops_reasoning else []
    short = block.kind in ("text", "call") and block.size * fmt.measure.most_chars <= settings.window_chars
    if block.sealed or (short and not (fmt.tagged and _holds_anchor(state, turn, block))):
        return []
    edits: list[Edit] = []
    if block.note is not None and (cut := folded(block.note, settings.anchor_tags)) is not None:
        new = fmt.render(block, note=cut.apply(block.note))
        edits.append(Swap(index, place, new, "compact", "old anchor", block.note))
    if block.ordinal == state.marks.request and block.kind != "result":
        return edits
    cuts, parts = [], []
    for path, text in fmt.texts(block):
        held = held_in(state, turn.config, block, path, text) if RECALL_TOOL in block.tools else None
        cut = _part_cut(state, turn, held, text) if held else None
        if cut is None:
            held, cut = None, _cut(state, turn, block, path, text)
        if cut is not None and cut.size < block.text_chars(path, text):
            cuts.append((path, cut))
            parts += [(path, held)] if held else []
    if cuts:
        edits.append(CutTexts(index, place, tuple(cuts), "compact", f"old {block.kind}", tuple(parts)))
    for payload in [one for one in fmt.payloads(block) if one.path not in dict(block.cuts)]:
        line = placeholder(state, payload)
        if line[1].size < fmt.charge(block, payload):
            edits.append(CutTexts(index, place, (line,), "compact", f"old payload: {payload.label}"))
    return edits


def _holds_anchor(state: State, turn: Turn, block: Block) -> bool:
    """Return whether an anchor may stand in a text, as in the text format it does."""
    names = turn.config.compact.anchor_tags
    return block.note is not None or any([f"</{name}>" in text for _, text in state.fmt.texts(block) for name in names])


def placeholder(state: State, payload: Payload) -> tuple[Path, Cut]:
    """Return the line that stands for a payload, as a cut."""
    return payload.path, Cut((payload_note(payload.kind, state.archive.ref(payload.original)),), 0)


def _is_sealed(state: State, index: int, block: Block) -> bool:
    """Return whether reasoning of the same message is signed: all of it goes, or none."""
    beside = [other for other in state.rows[index].of("reasoning") if other.ordinal == block.ordinal]
    return any([other.sealed for other in beside])


def _cut(state: State, turn: Turn, block: Block, path: Path, text: str) -> Cut | None:
    """Return the window on an old text: on all of it for results, reasoning and arguments, else on its tags."""
    fmt, limit = state.fmt, turn.config.compact.window_chars
    tags = listed_tags(turn.config) if fmt.tagged else ()
    if block.kind == "text" or (fmt.tagged and (block.kind == "call" or fmt.spans(text, tags) is not None)):
        return _tags_cut(state, turn, block, text)
    if len(text) <= limit:
        return None
    json = block.kind == "result" and structured(turn.config, block)
    return fit(text, limit, state.archive.ref(text), tags=tags, json=json, must_parse=fmt.is_json(block, path))


def _part_cut(state: State, turn: Turn, held: Held, text: str) -> Cut | None:
    """Return the window on a part of an original, which its marks refer to."""
    tags = listed_tags(turn.config) if state.fmt.tagged else ()
    limit = turn.config.compact.window_chars + (len(text) - held.end if state.fmt.tagged else 0)
    return held.cut(text, limit, tags=tags) if len(text) > limit else None


def _tags_cut(state: State, turn: Turn, block: Block, text: str) -> Cut | None:
    """Return the windows on the contents of tags; in the text format anchors fold wherever they were said."""
    settings = turn.config.compact
    inner = listed_tags(turn.config) if state.fmt.tagged else ()
    results = [start for start, _ in state.fmt.spans(text, inner) or ()]
    windows: list[tuple[int, int, Cut]] = []
    for pair in pairs(text, inner or settings.tags):
        start, end = pair.content_start, pair.content_end
        if pair.name in settings.anchor_tags:
            if end - start > len(FOLDED) and block.kind != "result":
                windows.append((start, end, Cut((FOLDED,), end - start)))
        elif end - start > settings.window_chars:
            json = start not in results or structured(turn.config, block, results.index(start))
            cut = fit(text[start:end], settings.window_chars, state.archive.ref(text), tags=inner, json=json)
            if cut is not None:
                windows.append((start, end, cut))
    return spliced(text, windows) if windows else None


def _anchor_pairs(text: str, names: Sequence[str]) -> list[Pair]:
    """Return the pairs of an anchor, found by name where each stands once, as in all but odd notes it does."""
    found: list[Pair] = []
    for name in names:
        opening, closing = f"<{name}>", f"</{name}>"
        start, end = text.find(opening), text.find(closing)
        if start < 0 and end < 0:
            continue
        inside = start + len(opening)
        if not 0 <= start < end or text.find(opening, inside) >= 0 or text.find(closing, end + 1) >= 0:
            return pairs(text, names)
        found.append(Pair(name, start, inside, end, end + len(closing)))
    found.sort(key=lambda pair: pair.start)
    nested = any([inner.start < outer.end for outer, inner in pairwise(found)])
    return pairs(text, names) if nested else found


def folded(text: str, names: Sequence[str]) -> Cut | None:
    """Return an anchor with the contents of its tags as ``[...]``, or None when none is longer than that."""
    pieces: list[Piece] = []
    at = 0
    for pair in _anchor_pairs(text, names):
        if pair.content_end - pair.content_start > len(FOLDED):
            pieces += (at, pair.content_start), FOLDED
            at = pair.content_end
    return Cut((*pieces, (at, len(text))), len(text)) if pieces else None
