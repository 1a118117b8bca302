"""Stage 3, last resorts: what is still over the budget after eviction is cut, the largest first (spec 3, promise 3)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ga_context.closure import pending_calls
from ga_context.edits import CutTexts, Edit, Turn
from ga_context.memory import excess, excess_bytes
from ga_context.model import Block, Path
from ga_context.recall import Held, held_in, spared_ordinals
from ga_context.stages.truncate import listed_tags, structured
from ga_context.state import State
from ga_context.text.marker import marker
from ga_context.text.size import UNIFORM, json_text
from ga_context.text.structure import fit
from ga_context.text.window import LEAST_LIMIT, Cut, head_tail, spliced

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
    over = excess(state, turn)
    if over <= 0:
        return []
    pending = pending_calls(state)
    found = [one for one in _texts(state) if not _is_mandatory(state, one, pending)]
    return _cuts(state, turn, over, found, 0)


def shorten_request(state: State, turn: Turn) -> list[Edit]:
    """Propose to cut the user request's own text, down to 2,000 characters at least."""
    over = excess(state, turn)
    if over <= 0:
        return []
    found = [one for one in _texts(state) if _is_request(state, _block(state, one))]
    return _cuts(state, turn, over, found, LEAST_REQUEST_CHARS)


def _texts(state: State) -> Iterator[Candidate]:
    for index, row in enumerate(state.rows):
        for place, block in enumerate(row.blocks):
            if block.sealed:
                continue
            for path, text in state.fmt.texts(block):
                if len(text) <= LEAST_TEXT_CHARS:
                    continue
                yield Candidate(block.text_chars(path, text), index, place, path, text)


def _block(state: State, one: Candidate) -> Block:
    return state.rows[one.row].blocks[one.block]


def _is_request(state: State, block: Block) -> bool:
    return block.ordinal == state.marks.request and block.kind == "text"


def _is_mandatory(state: State, one: Candidate, pending: range) -> bool:
    row, block = state.rows[one.row], _block(state, one)
    stays = row.side == "system" or one.row in pending
    return stays or block.kind == "anchor" or _is_request(state, block)


def _cuts(state: State, turn: Turn, over: int, found: list[Candidate], least: int) -> list[Edit]:
    """Cut the largest texts, to ``least`` or more, as the budget needs."""
    edits: list[Edit] = []
    scale = None if state.fmt.measure is UNIFORM else Scale(state, excess_bytes(state, turn) > 0)
    last = spared_ordinals(state, turn.config, turn.number)
    for one in sorted(found, key=lambda one: (_block(state, one).ordinal in last, -one.chars, one.row, one.block)):
        if over <= 0:
            break
        held = held_in(state, turn.config, _block(state, one), one.path, one.text)
        cut, gain = _shortened(state, turn, one, over, least, scale, held) if held else (None, 0)
        if cut is None or gain < over:
            held = None
            cut, gain = _shortened(state, turn, one, over, least, scale)
        if cut is not None and gain > 0:
            if scale is not None:
                scale.keep(one, cut)
            parts = ((one.path, held),) if held else ()
            edits.append(CutTexts(one.row, one.block, ((one.path, cut),), "evict", "still over the budget", parts))
            over -= gain
    return edits


class Scale:
    """What cuts save where C_H does not count one a character: each is made and measured, one after the other."""

    def __init__(self, state: State, heavy: bool) -> None:
        self.state = state
        self.heavy = heavy
        """Bytes must come down too."""
        self.held: dict[tuple[int, int], Block] = {}
        """(row, block) -> what was made of it so far."""

    def chars(self, one: Candidate, size: int) -> int:
        """Return about how many characters of a text a size stands for, at least 1."""
        block = self._now(one)
        written = max(1, len(json_text(block.wire)) if self.heavy else block.size)
        return max(1, size * one.chars // written)

    def gain(self, one: Candidate, cut: Cut) -> int:
        """Return what a cut takes off C_H, and where that matters off the bytes, if that is less."""
        fmt, before = self.state.fmt, self._now(one)
        after = self._made(one, cut)
        gain = before.size - after.size
        return min(gain, fmt.block_bytes(before) - fmt.block_bytes(after)) if self.heavy else gain

    def keep(self, one: Candidate, cut: Cut) -> None:
        """Note that a cut is proposed."""
        self.held[one.row, one.block] = self._made(one, cut)

    def _now(self, one: Candidate) -> Block:
        return self.held.get((one.row, one.block)) or _block(self.state, one)

    def _made(self, one: Candidate, cut: Cut) -> Block:
        block = self._now(one)
        cuts = tuple({**dict(block.cuts), one.path: cut}.items())
        return self.state.fmt.cut(block, cuts, dict(self.state.fmt.texts(block)))


def _shortened(
    state: State, turn: Turn, one: Candidate, over: int, least: int, scale: Scale | None, held: Held | None = None
) -> tuple[Cut | None, int]:
    """Cut a text so that ``over`` goes, if it has as much, and return how much goes at least.

    One character less is one less as JSON, but what has to be escaped in a mark is one more. ``scale`` knows better
    where characters do not count one each.
    """
    mark = marker(len(one.text), state.archive.ref(one.text))
    floor = max(len(mark) + LEAST_TEXT_CHARS, least)
    less = over if scale is None else scale.chars(one, over)
    limit, step = one.chars - less - mark.count("\n"), 1
    while floor < one.chars:
        tags = listed_tags(turn.config) if state.fmt.tagged else ()
        room = max(limit, floor)
        cut = held.cut(one.text, room, tags=tags) if held else _cut(state, turn, one, room)
        if scale is None:
            gain = one.chars - cut.size - cut.escapes if cut is not None else 0
        else:
            gain = scale.gain(one, cut) if cut is not None else 0
        if gain >= over or limit <= floor:
            return cut, gain
        step = max(over - gain if scale is None else scale.chars(one, over - gain), 2 * step)
        limit -= step
    return None, 0


def _cut(state: State, turn: Turn, one: Candidate, limit: int) -> Cut | None:
    """Cut a text to ``limit``; where results stand in it as tags, the longest of them as far as that is enough."""
    block, fmt, text, ref = _block(state, one), state.fmt, one.text, state.archive.ref(one.text)
    is_result, tags = block.kind == "result", listed_tags(turn.config) if fmt.tagged else ()
    spans = (fmt.spans(text, tags) if is_result else None) or [(0, len(text))]
    room = limit - len(text) + sum([end - start for start, end in spans])
    windows: list[tuple[int, int, Cut]] = []
    by_size = sorted(enumerate(spans), key=lambda numbered: numbered[1][1] - numbered[1][0])
    for done, (n, (start, end)) in enumerate(by_size):  # what the short ones leave is for the longer
        share = room // (len(spans) - done)
        if share < min(end - start, LEAST_LIMIT):
            return head_tail(text, limit, ref, tags=tags)
        json, must_parse = is_result and structured(turn.config, block, n), fmt.is_json(block, one.path)
        cut = fit(text[start:end], share, ref, tags=tags, json=json, must_parse=must_parse)
        room -= cut.size if cut else end - start
        windows += [(start, end, cut)] if cut else []
    return spliced(text, sorted(windows)) if windows else None
