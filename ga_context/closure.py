"""Which call belongs to which result, and what must stand together: from raw messages to the rows of the view.

Pairing is by position: a result answers the nearest call before it that shows its id and has no result yet. A result
stands right behind its calls, wherever it came; a result without a call is placed where it came and marked by ``id``
None, for the repair stage to tell it as text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

from ga_context.formats.base import Format
from ga_context.model import Block, Call, Incoming, Message, Row
from ga_context.report import Action
from ga_context.state import State
from ga_context.text.clean import is_encodable
from ga_context.text.size import json_text

ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")
"""Characters that anthropic and bedrock refuse in a call id (spec 6)."""


def place(state: State, incoming: Incoming) -> list[Action]:
    """Put a new raw message into the rows; return what had to be repaired on the way."""
    ordinal = state.marks.messages
    if not incoming.blocks and incoming.side != "system" and state.fmt.is_void(_row(incoming, ordinal)):
        ref = state.archive.put(json_text(incoming.raw))
        reason = "left out: nothing in it"
        return [Action("repair", reason, ordinal, chars_before=incoming.size, chars_after=0, ref=ref)]
    if incoming.blocks and all([block.kind == "anchor" for block in incoming.blocks]):
        state.append(_row(incoming, ordinal)._replace(ours=True))
        return []
    if incoming.side == "assistant":
        return _place_response(state, incoming, ordinal)
    if incoming.side == "tool":
        return _place_tool(state, incoming, ordinal)
    if state.fmt.merges and incoming.side == "user":
        return _place_user(state, incoming, ordinal)
    _append(state, _by_position(state, incoming, ordinal), ordinal)
    return []


def call_row(state: State, call: Call) -> int | None:
    """Return the index of the row that holds ``call``, looking from the end; None when it was evicted."""
    for index in range(len(state.rows) - 1, -1, -1):
        for block in state.rows[index].blocks:
            if block.ordinal == call.ordinal and block.position == call.position:
                return index
    return None


def response(state: State, index: int) -> range:
    """Return the rows of the response that row ``index`` belongs to: itself, but in formats where it is a run."""
    rows, start, stop = state.rows, index, index + 1
    if state.fmt.flat and rows[index].side == "assistant":
        while start > 0 and rows[start - 1].side == "assistant":
            start -= 1
        while stop < len(rows) and rows[stop].side == "assistant":
            stop += 1
    return range(start, stop)


def first_of_response(state: State, ordinal: int) -> int:
    """Return the ordinal that the response begins with which raw message ``ordinal`` belongs to; else ``ordinal``."""
    if state.fmt.flat:
        for index in range(len(state.rows) - 1, -1, -1):
            row = state.rows[index]
            if row.ordinal == ordinal and row.side == "assistant":
                return state.rows[response(state, index).start].ordinal
            if row.ordinal < ordinal and not row.ours:
                break
    return ordinal


def pending_calls(state: State) -> range:
    """Return the rows of the newest message (spec 6: left unanswered) where it holds calls, else none."""
    newest = next((i for i in range(len(state.rows) - 1, -1, -1) if not state.rows[i].ours), None)
    rows = response(state, newest) if newest is not None else range(0)
    return rows if any([state.rows[index].has("call") for index in rows]) else range(0)


def results_end(state: State, index: int) -> int:
    """Return the index behind the rows that answer the calls of the response in row ``index``."""
    end = response(state, index).stop
    if state.fmt.holds_results or state.fmt.tagged:
        return end + (end < len(state.rows) and state.rows[end].answers)
    while end < len(state.rows) and state.rows[end].side == "tool" and state.rows[end].blocks[0].id is not None:
        end += 1
    return end


def joined(state: State, before: Row, after: Row) -> tuple[Row, list[Action]]:
    """Return two neighbours of one role as one row, and the record of it; a second one is archived if keys are lost."""
    if not (lasting := before.lasting):
        return after, []
    head, whole = state.fmt.joined_heads(before.head, after.head)
    ref = None if whole else state.archive.put(json_text(after.head))
    reason, size = "merged with its neighbour of the same role", after.size
    action = Action("repair", reason, after.ordinal, chars_before=size, chars_after=size, ref=ref)
    return state.fmt.row(before.side, head, [*lasting, *after.blocks], before.ordinal), [action]


def _append(state: State, incoming: Incoming, ordinal: int) -> None:
    state.append(_row(incoming, ordinal))


def _row(incoming: Incoming, ordinal: int) -> Row:
    """Return the message as it came, as a row."""
    return Row(incoming.side, incoming.raw, incoming.blocks, incoming.raw, incoming.size, ordinal)


# -- the model's side


def _place_response(state: State, incoming: Incoming, ordinal: int) -> list[Action]:
    for row in awaited(state, ordinal) if state.fmt.flat else ():
        state.append(row)
    before = _neighbour(state, _row(incoming, ordinal))
    blocks, actions = _with_own_ids(state, incoming.blocks, ordinal, _calls_so_far(state, before))
    if before is not None:
        return [*actions, *_join(state, before, _row(incoming._replace(blocks=tuple(blocks)), ordinal))]
    if actions:
        row = state.fmt.row("assistant", incoming.raw, blocks, ordinal)
        state.append(row)
    else:
        _append(state, incoming._replace(blocks=tuple(blocks)), ordinal)
    return actions


def awaited(state: State, ordinal: int) -> list[Row]:
    """Return the reasoning that was left out because nothing followed it, for when raw message ``ordinal`` does."""
    shown = next((row.last for row in reversed(state.rows) if not row.ours), -1)
    first = ordinal
    while first - 1 > shown and state.fmt.speaks(state.raw[first - 1]):
        first -= 1
    if first == ordinal:
        return []
    since = next(point.undo for point in reversed(state.snapshots) if point.marks.messages <= first)
    taken_out = [row for _, _, old in state.undo[since:] for row in old if first <= row.ordinal < ordinal]
    gone = [row for row in taken_out if row.has("reasoning") and _is_of(row, state.raw[row.ordinal])]
    return list({row.ordinal: row for row in gone}.values())


def _is_of(row: Row, raw: Message) -> bool:
    """Return whether a row is a raw message, and not one that stood there before the caller changed the list."""
    return row.out is raw or (row.out != raw and not is_encodable(raw))


def _calls_so_far(state: State, before: Row | None) -> list[Block]:
    """Return the calls of what the next message of the model becomes part of: a message, or a response."""
    if before is not None or not state.fmt.flat:
        return before.of("call") if before is not None else []
    run = takewhile(lambda row: row.side == "assistant", reversed(state.rows))
    return [call for row in run for call in row.of("call")]


def _neighbour(state: State, row: Row) -> Row | None:
    """Return the last row where a message behind it becomes part of it."""
    last = state.rows[-1] if state.fmt.merges and state.rows else None
    return last if last is not None and state.fmt.joins(last, row) else None


def _join(state: State, last: Row, row: Row) -> list[Action]:
    """Make a message part of the last row."""
    row, actions = joined(state, last, row)
    state.splice(len(state.rows) - 1, len(state.rows), [row], "merge")
    return actions


def _with_own_ids(
    state: State, blocks: Sequence[Block], ordinal: int, before: Sequence[Block]
) -> tuple[list[Block], list[Action]]:
    """Enter the calls, each with an id that the provider takes (spec 6: repeated and illegal ids).

    ``before`` are the calls that stand in the same message or response already.
    """
    fmt, out, actions = state.fmt, list(blocks), []
    taken = state.used if fmt.unique_in_request else {call.id or "": 1 for call in before}
    for i, block in enumerate(blocks):
        if block.kind != "call" or block.id is None:
            continue
        call_id = _free_id(block.id, taken, fmt) if not fmt.tagged else block.id
        if call_id != block.id:
            out[i] = fmt.rename(block, call_id)
        if out[i].wire is not block.wire:
            actions.append(_repaired(f"call id {block.id!r} sent as {call_id!r}", out[i], block.size))
        call = Call(ordinal, block.position, state.marks.responses, block.id, call_id, block.tools)
        state.calls.append(call)
        if fmt.tagged:
            continue
        taken.setdefault(call_id, 1)
        state.enlist(call)
    return out, actions


def _free_id(raw_id: str, taken: dict[str, int], fmt: Format) -> str:
    call_id = (ILLEGAL.sub("_", raw_id) or "_")[: fmt.id_chars] if fmt.unique_in_request else raw_id
    if call_id not in taken:
        return call_id
    n = taken[call_id] + 1
    while (free := f"{call_id[: fmt.id_chars - len(f'_{n}')]}_{n}") in taken:
        n += 1
    taken[call_id] = n
    return free


# -- results


def _place_tool(state: State, incoming: Incoming, ordinal: int) -> list[Action]:
    """Place a result that is a message of its own: behind the results of its calls."""
    block, index = _paired(state, incoming.blocks[0], ordinal)
    if index is None:
        answers_unseen = state.fmt.flat and _refers(state)
        _append(state, incoming if answers_unseen else incoming._replace(blocks=(block,)), ordinal)
        return []
    renamed = block.id != incoming.blocks[0].id
    row = _row(incoming._replace(blocks=(block,)), ordinal)
    if renamed:
        row = state.fmt.row("tool", incoming.raw, [block], ordinal)
    actions = [_repaired("answers a renamed call", block, block.size)] if renamed else []
    end = results_end(state, index)
    stand_in = next((i for i in range(index + 1, end) if _stands_in(state.rows[i].blocks[0], block)), None)
    if stand_in is not None:
        state.splice(stand_in, stand_in + 1, [row], "repair")
        return [*actions, _repaired("came late; took the place of its placeholder", block, block.size)]
    if end < len(state.rows):
        actions.append(_repaired("moved to its call", block, block.size))
    state.splice(end, end, [row], "repair")
    return actions


def _refers(state: State) -> bool:
    """Return whether the newest response refers to items that only the server has: a result may answer one."""
    newest = next((i for i in range(len(state.rows) - 1, -1, -1) if state.rows[i].side != "tool"), 0)
    run = response(state, newest) if state.rows else ()
    return any([block.kind == "other" and block.id is not None for at in run for block in state.rows[at].blocks])


def _place_user(state: State, incoming: Incoming, ordinal: int) -> list[Action]:
    """Place a user message whose results stand beside its texts: results behind their calls, first in the message."""
    actions: list[Action] = []
    groups: dict[int, list[Block]] = {}
    rest: list[Block] = []
    newest = len(state.rows) - 1
    beside = rest
    """Where a cache marker stays: behind the block that it stood behind."""
    for block in incoming.blocks:
        if block.kind == "marker":
            beside.append(block)
            continue
        beside = rest
        if block.kind != "result":
            rest.append(block)
            continue
        paired, index = _paired(state, block, ordinal)
        if index is None:
            rest.append(paired)
            continue
        groups.setdefault(index, []).append(paired)
        if index == newest:
            beside = groups[index]
        if paired.wire is not block.wire:
            actions.append(_repaired("answers a renamed call", paired, block.size))
    for index in sorted(groups):
        if index != newest:
            added = len(state.rows) - 1 - newest
            actions += _add_late(state, incoming, index + added, groups[index], ordinal)
    now = groups.get(newest, [])
    if state.fmt.results_alone and now and rest:
        actions.append(_repaired("results in a message of their own", now[0], incoming.size))
        actions += _add_rest(state, incoming, now, ordinal, whole=False)
        return actions + _add_rest(state, incoming, rest, ordinal, whole=False)
    blocks = [*now, *rest]
    positions = [block.position for block in blocks if not block.ours]
    if positions != sorted(positions):
        actions.append(_repaired("results first in the message", now[0], incoming.size))
    return actions + _add_rest(state, incoming, blocks, ordinal, whole=not actions)


def _add_late(state: State, incoming: Incoming, index: int, results: list[Block], ordinal: int) -> list[Action]:
    """Put late results into the message that follows their calls, in the place of their placeholders."""
    row = state.rows[index + 1]
    if state.fmt.results_alone and not row.answers:
        state.splice(index + 1, index + 1, [state.fmt.row("user", incoming.raw, results, ordinal)], "repair")
        return [_repaired("came late; moved to its call", result, result.size) for result in results]
    blocks = list(row.blocks)
    actions = []
    for result in results:
        stand_in = next((i for i, block in enumerate(blocks) if _stands_in(block, result)), None)
        if stand_in is None:
            blocks.insert(sum([block.kind == "result" and block.id is not None for block in blocks]), result)
        else:
            blocks[stand_in] = result
        actions.append(_repaired("came late; moved to its call", result, result.size))
    state.splice(index + 1, index + 2, [state.fmt.row("user", row.head, blocks, row.ordinal)], "repair")
    return actions


def _add_rest(state: State, incoming: Incoming, blocks: Sequence[Block], ordinal: int, whole: bool) -> list[Action]:
    """Add what is left of a user message, as a row or to the user row before it."""
    if not blocks:
        return []
    row = _row(incoming._replace(blocks=tuple(blocks)), ordinal)
    if (before := _neighbour(state, row)) is not None:
        return _join(state, before, row)
    state.append(row if whole else state.fmt.row("user", incoming.raw, blocks, ordinal))
    return []


def _paired(state: State, result: Block, ordinal: int) -> tuple[Block, int | None]:
    """Return the result as the answer to its call, and the row of that call; id None and None for an orphan.

    An orphan keeps the name of its tool: a call that was evicted or has its result already may show the same id.
    """
    names = state.fmt.result_keys(result)
    call = next((call for name in names if (call := state.answer(name, ordinal)) is not None), None)
    index = call_row(state, call) if call is not None else None
    if call is None or index is None:
        if call is not None:
            state.pairs.pop()
        return result._replace(id=None, tools=result.tools or state.named.get(result.id or "", ())), None
    if call.id != result.id:
        result = _answering(state, result, call, index)
    return result._replace(tools=call.tools), index


def _answering(state: State, result: Block, call: Call, index: int) -> Block:
    """Return the result with the id of its call: shown, where the call shows another id than in the caller's list."""
    called = [block for block in state.rows[index].blocks if block.ordinal == call.ordinal]
    shown = next(block for block in called if block.position == call.position)
    if call.raw_id != result.id or shown.sealed:
        return result._replace(id=call.id)
    return state.fmt.rename(result, call.id)


def _by_position(state: State, incoming: Incoming, ordinal: int) -> Incoming:
    """Return the user message right after calls in strings as their result (spec 6, row text)."""
    last = state.rows[-1] if state.rows else None
    if not state.fmt.tagged or incoming.side != "user" or last is None or not last.has("call"):
        return incoming
    called = [call for call in state.calls[-len(last.blocks) :] if call.ordinal == last.ordinal]
    tools = tuple([tool for call in called for tool in call.tools])
    state.pairs.extend([(ordinal, call) for call in called])
    return incoming._replace(blocks=tuple([state.fmt.as_result(block, tools) for block in incoming.blocks]))


def _stands_in(block: Block, result: Block) -> bool:
    return block.missing and block.id == result.id


# -- what was done


def _repaired(reason: str, block: Block, before: int) -> Action:
    part = str(block.position)
    return Action("repair", reason, block.ordinal, part=part, chars_before=before, chars_after=block.size)
