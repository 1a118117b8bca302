"""Stage 4: the working-memory anchor goes where the model reads next (spec 4.4)."""

from __future__ import annotations

from ga_context.edits import Edit, Insert, Swap, Turn
from ga_context.memory import anchor_for, newest_row, note_place, stands_apart
from ga_context.state import State


def anchor(state: State, turn: Turn) -> list[Edit]:
    """Propose this turn's anchor, in the place of the one that an earlier ``prepare`` of the same turn put there."""
    wanted = anchor_for(state, turn, state.marks.evicted)
    at = _standing(state, state.marks.messages - 1)
    if wanted is not None and at is not None and wanted.text == _text(state, at):
        return []
    if turn.adopted == state.marks.messages - 1 and at is not None:
        return []
    edits: list[Edit] = [_without(state, at)] if at is not None else []
    if wanted is None:
        return edits
    last = newest_row(state)
    if (noted := note_place(state, turn)) is not None:
        index, place = noted
        held = state.rows[index].blocks[place]
        new = wanted.block if held is wanted.target else state.fmt.render(held, note=wanted.text)
        return [Swap(index, place, new, "anchor", "working memory")]
    if last is None or state.fmt.tagged:  # the message that it was to stand in has left the view
        return edits
    if wanted.head is not None and stands_apart(state, last):
        return [*edits, Insert(len(state.rows), 0, wanted.block, "anchor", "working memory", head=wanted.head)]
    return [*edits, Insert(last, len(state.rows[last].blocks), wanted.block, "anchor", "working memory")]


def withdraw(state: State) -> list[Edit]:
    """Propose to take out the one anchor of the last view, where only the newest view may have one."""
    at = _standing(state, None)
    return [_without(state, at)] if at is not None else []


def stands(state: State) -> bool:
    """Return whether the newest message has its anchor already."""
    return _standing(state, state.marks.messages - 1) is not None


def _standing(state: State, ordinal: int | None) -> tuple[int, int] | None:
    """Return (row, block) of the anchor at the end of the view that stands by this message, or by any."""
    newest = newest_row(state)
    for index in range(len(state.rows) - 1, max(-1, len(state.rows) - 4), -1):
        for place, block in enumerate(state.rows[index].blocks):
            if block.kind == "anchor" and ordinal in (None, block.ordinal):
                return index, place
            if block.note is not None and (ordinal in (None, block.ordinal) or index == newest):
                return index, place
    return None


def _text(state: State, at: tuple[int, int]) -> str:
    block = state.rows[at[0]].blocks[at[1]]
    return block.note if block.note is not None else state.fmt.texts(block)[0][1]


def _without(state: State, at: tuple[int, int]) -> Swap:
    block = state.rows[at[0]].blocks[at[1]]
    new = state.fmt.render(block, note=None) if block.note is not None else None
    return Swap(*at, new, "anchor", "withdrawn: a newer one takes its place")
