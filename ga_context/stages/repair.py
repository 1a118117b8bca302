"""Stage 3b, after arrivals and after evictions: the list is made valid for its provider, whatever came in (spec 6)."""

from __future__ import annotations

from itertools import takewhile

from ga_context.closure import response, results_end
from ga_context.edits import Edit, Insert, Swap, Turn
from ga_context.model import Block, Kind, Row, Side
from ga_context.state import State
from ga_context.text.marker import EMPTY_LIST, FIRST_USER, MISSING_RESULT, NO_WORDS, payload_note
from ga_context.text.size import json_text

MAX_CACHE_MARKERS = 4
"""A fifth ``cache_control`` is refused (spec 6)."""

MENDED: dict[Kind, str] = {
    "text": "blank text",
    "call": "arguments that are not a JSON object",
    "other": "arguments that are not a JSON object",
    "result": "blank texts in a result, or content that is no text",
}
"""Kinds of blocks that a provider may refuse for what they hold, and why."""


def repair(state: State, turn: Turn) -> list[Edit]:
    """Propose what makes the rows that changed this turn valid, each by itself and with its neighbours."""
    start, stop = state.unrepaired
    stop = min(stop, len(state.rows))
    if start >= stop:
        return []
    edits: list[Edit] = []
    if start > 0:  # what follows it may have changed
        edits.extend(_unended(state, start - 1))
    for index in range(start, stop):
        row = state.rows[index]
        if state.fmt.is_void(row):
            edits.extend([_dropped(state, index, place, "nothing in it") for place in range(len(row.blocks))])
            continue
        misplaced = state.fmt.misplaced.get(row.side, ())
        for place, block in enumerate(row.blocks):
            if block.kind in misplaced:
                edits.append(_misplaced(state, index, place, block))
            elif block.kind in MENDED:
                edits.extend(_mended(state, index, place, block))
        if (missing := state.fmt.complement(row)) is not None:
            edits.append(Insert(index, *missing, "repair", "a document without a text beside it"))
        edits.extend(_unended(state, index))
        if row.side == "assistant":
            edits.extend(_wordless(state, index, row))
    if state.rows[-1].side == "assistant":
        edits.extend(_untrimmed(state))
    if state.fmt.marks:
        edits.extend(_unmarked(state, turn, start, stop))
    return edits


def lead(state: State, turn: Turn) -> list[Edit]:
    """Propose a user message before a list that would start with the model, or be empty."""
    if not state.rows and state.raw:
        return [_opening(state, EMPTY_LIST, "nothing was left to send")]
    if not state.fmt.starts_with_user:
        return []
    first = next((index for index, row in enumerate(state.rows) if row.side != "system"), None)
    if first is None or state.rows[first].side != "assistant":
        return []
    return [_opening(state, FIRST_USER, "the list started with the assistant", first)]


def opening_chars(state: State) -> int:
    """Return what the user message of ours before a list adds to C_H."""
    head, block = state.fmt.speech(FIRST_USER, ordinal=0)
    return state.fmt.row("user", head, [block], 0).size


def told(state: State, block: Block) -> str:
    """Return a result without a call as plain text, what else it holds named (spec 6: orphan result)."""
    said = state.fmt.said(block)
    said += [payload_note(kind, state.archive.ref(json_text(block.base))) for kind in state.fmt.beside_text(block)]
    text = "\n".join(said).strip()
    return f"result of {', '.join(block.tools) or 'a tool call'}: {text or '(empty)'}"


def tell(state: State, index: int, place: int) -> list[Edit]:
    """Propose to send a result as text, in its place or, where results are messages, in a message of the user's."""
    row, block = state.rows[index], state.rows[index].blocks[place]
    head, made = state.fmt.speech(told(state, block), block.ordinal)
    made = made._replace(position=block.position)
    reason = "a result without its call" if block.id is None else "a result whose call was evicted"
    if row.side != "tool":
        return [_swap(state, index, place, made, f"{reason}, told as text")]
    said = Insert(index, 0, made, "repair", f"{reason}, told as text", head=head)
    return [_dropped(state, index, place, reason), said]


def _swap(state: State, index: int, place: int, new: Block | None, reason: str) -> Swap:
    """Propose another block, or none, in the place of one; what it held is archived."""
    return Swap(index, place, new, "repair", reason, json_text(state.rows[index].blocks[place].base))


def _dropped(state: State, index: int, place: int, reason: str) -> Swap:
    return _swap(state, index, place, None, f"left out: {reason}")


def _mended(state: State, index: int, place: int, block: Block) -> list[Edit]:
    """Propose what one block needs: told, mended, or left out for being blank."""
    if block.kind == "text":
        if state.fmt.is_blank(block):
            return [_dropped(state, index, place, MENDED["text"])]
        listed = state.fmt.lists and block.bare
        return [_swap(state, index, place, state.fmt.itemised(block), "a text as an item of a list")] if listed else []
    if block.kind == "result" and block.id is None:
        return tell(state, index, place)
    if (new := state.fmt.mend(block)) is None:
        return []
    return [_swap(state, index, place, new, MENDED[block.kind])]


def _misplaced(state: State, index: int, place: int, block: Block) -> Edit:
    """Propose to tell a block as text that only the other side may send; reasoning that nobody signed for goes."""
    if block.kind == "reasoning":
        return _dropped(state, index, place, "reasoning that is not the model's")
    if block.kind == "call":
        text = f"call of {block.tools[0]}: {json_text(state.fmt.call_input(block))}"
    else:
        text = payload_note(state.fmt.payloads(block)[0].kind, state.archive.ref(json_text(block.base)))
    _, made = state.fmt.speech(text, block.ordinal)
    made = made._replace(position=block.position)
    return _swap(state, index, place, made, f"a {block.kind} on the wrong side, told as text")


def _wordless(state: State, index: int, row: Row) -> list[Edit]:
    """Propose a text behind reasoning that nothing follows, as a reply has that was cut off."""
    if not state.fmt.ends_reasoning or row.blocks[-1].kind != "reasoning":
        return []
    _, block = state.fmt.speech(NO_WORDS, row.last)
    return [Insert(index, len(row.blocks), block, "repair", "a reply that ends in its reasoning")]


def _unended(state: State, index: int) -> list[Edit]:
    """Propose what the response that ends in a row needs: results, and no reasoning that nothing follows."""
    if state.rows[index].side != "assistant" or state.fmt.tagged:
        return []
    run = response(state, index)
    if index < run.stop - 1:
        return []
    return [*_missing(state, run), *(_dangling(state, run) if state.fmt.flat else ())]


def _dangling(state: State, run: range) -> list[Edit]:
    """Propose to leave out the reasoning at the end of a response: it stays with what follows it, or not at all."""
    last = takewhile(lambda index: state.rows[index].has("reasoning"), reversed(run))
    return [_dropped(state, index, 0, "reasoning that nothing follows") for index in last]


def _missing(state: State, run: range) -> list[Edit]:
    """Propose a placeholder for each call that is followed by something but not by its result."""
    calls = [call for index in run for call in state.rows[index].of("call")]
    if not calls or all(row.ours for row in state.rows[run.stop :]):
        return []
    end = results_end(state, run.start)
    answers = [block for answer in state.rows[run.stop : end] for block in answer.of("result")]
    answered = {block.id for block in answers}
    edits: list[Edit] = []
    for call in calls:
        if call.id in answered:
            continue
        head, block = state.fmt.result(call, MISSING_RESULT)
        if state.fmt.holds_results and (answers or not state.fmt.results_alone):
            place = sum([block.id is not None for block in answers])
            edits.insert(0, Insert(run.stop, place, block, "repair", "a call without a result"))
        else:
            side: Side = "user" if state.fmt.holds_results else "tool"
            edits.append(Insert(end, 0, block, "repair", "a call without a result", side, head))
    return edits


def _untrimmed(state: State) -> list[Edit]:
    """Propose to end a last assistant text without white space."""
    if not state.rows[-1].blocks:
        return []
    place = len(state.rows[-1].blocks) - 1
    new = state.fmt.trimmed(state.rows[-1].blocks[place])
    return [_swap(state, len(state.rows) - 1, place, new, "white space at the end of a last message")] if new else []


def _unmarked(state: State, turn: Turn, start: int, stop: int) -> list[Edit]:
    """Propose to take cache markers of changed rows out where they mark nothing, and the oldest of too many."""
    fmt, rows = state.fmt, state.rows
    if not any([fmt.markers(block) for row in rows[start:stop] for block in row.blocks]):
        return []
    stray = {(index, place) for index in range(start, stop) for place in fmt.stray_markers(rows[index])}
    edits: list[Edit] = [_dropped(state, *at, "a cache marker with nothing to cache") for at in sorted(stray)]
    marked = [
        (index, place, block)
        for index, row in enumerate(rows)
        for place, block in enumerate(row.blocks)
        if fmt.markers(block) and (index, place) not in stray
    ]
    over = sum([fmt.markers(block) for _, _, block in marked]) + turn.markers_beside - MAX_CACHE_MARKERS
    for index, place, block in marked:
        if over <= 0:
            break
        over -= fmt.markers(block)
        edits.append(_swap(state, index, place, fmt.unmarked(block), "more than 4 cache markers"))
    return edits


def _opening(state: State, text: str, reason: str, index: int = 0) -> Insert:
    head, block = state.fmt.speech(text, ordinal=0)
    return Insert(index, 0, block, "repair", reason, head=head)
