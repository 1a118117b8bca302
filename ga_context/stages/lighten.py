"""Stage 3, before eviction: a request over its limit of bytes loses its oldest images, documents and sounds first."""

from __future__ import annotations

from collections.abc import Iterable

from ga_context.closure import results_end
from ga_context.edits import CutTexts, Edit, Turn
from ga_context.memory import excess_bytes, reserve_bytes
from ga_context.payload.coding import sent_bytes
from ga_context.stages.compact import open_row, placeholder
from ga_context.state import State


def lighten(state: State, turn: Turn) -> list[Edit]:
    """Propose placeholders for the oldest payloads, down to ``evict_to`` of the limit.

    Those of the newest exchange and of the user request stay, unless what must stay is over the limit by itself.
    """
    if not turn.heavy:
        return []
    settings, kept = turn.config.budget, _kept(state)
    must = sum([state.fmt.body_bytes(state.rows[i]) + 2 for i in kept]) + reserve_bytes(state, turn, evicted=True)
    old = [i for i in range(len(state.rows)) if i not in kept]
    edits = _lightened(state, old, excess_bytes(state, turn, settings.evict_to))
    return edits + _lightened(state, kept, must - (settings.body_bytes or 0))


def _kept(state: State) -> list[int]:
    """Return the rows that stay whatever goes: system messages, the request, the newest exchange and message."""
    newest = open_row(state)
    exchange = range(newest, results_end(state, newest)) if newest is not None else ()
    ordinals = (state.marks.request, state.marks.messages - 1)
    return [
        index
        for index, row in enumerate(state.rows)
        if row.side == "system" or index in exchange or any([block.ordinal in ordinals for block in row.blocks])
    ]


def _lightened(state: State, rows: Iterable[int], over: int) -> list[Edit]:
    """Propose placeholders for the first payloads in these rows until ``over`` bytes are saved."""
    edits: list[Edit] = []
    for index in rows:
        row = state.rows[index]
        for place, block in enumerate(row.blocks if row.side != "system" else ()):
            for payload in state.fmt.payloads(block):
                if over <= 0:
                    return edits
                if payload.path in dict(block.cuts):
                    continue
                held = placeholder(state, payload)
                saved = sent_bytes(payload.data) - held[1].size
                if saved > 0:
                    reason = f"over the bytes of a request: {payload.label}"
                    edits.append(CutTexts(index, place, (held,), "evict", reason))
                    over -= saved
    return edits
