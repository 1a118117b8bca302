"""Stage 3, last resorts: what is still over the budget after eviction is cut, the largest first (spec 3, promise 3)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ga_context.archive import REF_DIGITS
from ga_context.edits import CutTexts, Edit, Turn
from ga_context.memory import reserve
from ga_context.model import Block, Path
from ga_context.stages.truncate import listed_tags
from ga_context.state import State
from ga_context.text.marker import marker
from ga_context.text.window import head_tail

LEAST_TEXT_CHARS = 80
"""A text keeps at least this much beside its marker (spec 3, promise 3, i)."""

LEAST_REQUEST_CHARS = 2_000
"""The user request is cut down to this much at least, its marker included (spec 3, promise 3, iii)."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A text that may be cut."""

    chars: int
    """As it stands."""
    row: int
    block: int
    path: Path
    text: str
    """As it came in."""


def shorten(state: State, turn: Turn) -> list[Edit]:
    """Propose cuts of texts that are not mandatory, each down to its marker and 80 characters at least."""
    over = state.chars + reserve(state, turn) - turn.budget
    if over <= 0:
        return []
    found = [one for one in _texts(state) if not _is_mandatory(state, one)]
    return _cuts(state, turn, over, found, 0)


def shorten_request(state: State, turn: Turn) -> list[Edit]:
    """Propose to cut the user request's own text, down to 2,000 characters at least."""
    over = state.chars + reserve(state, turn) - turn.budget
    if over <= 0:
        return []
    found = [one for one in _texts(state) if _is_request(state, _block(state, one))]
    return _cuts(state, turn, over, found, LEAST_REQUEST_CHARS)


def _texts(state: State) -> Iterator[Candidate]:
    for index, row in enumerate(state.rows):
        for place, block in enumerate(row.blocks):
            for path, text in state.fmt.texts(block):
                yield Candidate(block.text_chars(path, text), index, place, path, text)


def _block(state: State, one: Candidate) -> Block:
    return state.rows[one.row].blocks[one.block]


def _is_request(state: State, block: Block) -> bool:
    return block.ordinal == state.marks.request and block.kind == "text"


def _is_mandatory(state: State, one: Candidate) -> bool:
    row, block = state.rows[one.row], _block(state, one)
    open_calls = one.row == len(state.rows) - 1 and row.has("call")
    return row.side == "system" or open_calls or block.sealed or block.kind == "anchor" or _is_request(state, block)


def _cuts(state: State, turn: Turn, over: int, found: list[Candidate], least: int) -> list[Edit]:
    """Cut the largest texts, to ``least`` or more, as the budget needs; one character less is one less as JSON."""
    tags = listed_tags(turn.config) if state.fmt.tagged else ()
    edits: list[Edit] = []
    for one in sorted(found, key=lambda one: (-one.chars, one.row, one.block)):
        if over <= 0:
            break
        mark = marker(len(one.text), "0" * REF_DIGITS)
        limit = max(len(mark) + LEAST_TEXT_CHARS, least, one.chars - over - mark.count("\n"))
        if limit >= one.chars:
            continue
        cut = head_tail(one.text, limit, state.archive.ref(one.text), tags=tags)
        if cut is not None and cut.size < one.chars:
            edits.append(CutTexts(one.row, one.block, ((one.path, cut),), "evict", "still over the budget"))
            over -= one.chars - cut.size - mark.count("\n")
    return edits
