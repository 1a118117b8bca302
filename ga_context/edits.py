"""Edits, and ``apply``: the one place where a message changes.

Stages propose; here the original is archived first, then the rows are rebuilt, then the action is written down. A text
edit is a list of kept source ranges with marks between, always of the text as it came in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ga_context.closure import joined
from ga_context.config import ContextConfig
from ga_context.model import Block, Cause, Message, Path, Row, Side
from ga_context.recall import Held
from ga_context.report import Action, Stage
from ga_context.state import State
from ga_context.text.plain import plain_text
from ga_context.text.window import Cut

CAUSES: dict[Stage, Cause] = {
    "truncate": "repair",
    "compact": "pass",
    "evict": "eviction",
    "repair": "repair",
    "anchor": "config",
}
"""What a change to a message that was sent before is called. Stage 1 only meets one where a late result came in."""


class CutTexts(NamedTuple):
    """Send texts of a block cut; a payload is sent as the mark alone."""

    row: int
    block: int
    cuts: tuple[tuple[Path, Cut], ...]
    stage: Stage
    reason: str
    held: tuple[tuple[Path, Held], ...] = ()
    """Texts that are a part of an original: what is cut of them is in the archive already."""


class Swap(NamedTuple):
    """Send another block in the place of one, or none."""

    row: int
    block: int
    new: Block | None
    stage: Stage
    reason: str
    original: str | None = None
    """What to archive; None where nothing is lost."""


class Insert(NamedTuple):
    """Send a block of ours: as a message of its own before ``row`` when it has a head, else at ``block`` in it."""

    row: int
    block: int
    new: Block
    stage: Stage
    reason: str
    side: Side = "user"
    head: Message | None = None


class Evict(NamedTuple):
    """Leave blocks out of the view, for good: whole messages and exchanges."""

    blocks: tuple[tuple[int, int], ...]
    """(row, block) of each."""
    reason: str
    stage: Stage = "evict"


class Pass(NamedTuple):
    """Set the mark of a pass."""

    border: int
    """Before it nothing will be looked at again."""
    frontier: int
    """Up to here texts were compacted; no less than ``border``."""
    stage: Stage = "compact"


Edit = CutTexts | Swap | Insert | Evict | Pass


@dataclass(slots=True)
class Turn:
    """The facts of one ``prepare``, for the stages."""

    number: int
    config: ContextConfig
    budget: int
    """B in characters."""
    first_new: int
    """The first raw message that is new."""
    shrunk: bool = False
    """This turn runs again with a smaller budget."""
    adopted: int = -1
    """The last message with an anchor of an earlier session's: up to it all has been cut and stays as it is."""
    budget_before: int | None = None
    """B of the turn before, where measured tokens have corrected it since."""
    rescaled: bool = False
    """It is over B only because of that."""
    anchored: bool = False
    """The newest message has its anchor already: this turn was prepared before."""
    anchors: dict[bool, Any] = field(default_factory=dict)
    """The anchor, made once: without and with history gone."""
    chars_before: int = 0
    """C_H before stages 2 to 4."""
    over: bool = False
    """It was over the budget, with the anchor."""
    markers_beside: int = 0
    """Cache markers of the caller's in system and tools."""
    heavy: bool = True
    """It was over the bytes of a request, with the anchor: not to be asked again where it was not."""
    actions: list[Action] = field(default_factory=list)
    compacted: bool = False
    evicted: list[int] = field(default_factory=list)


def apply(state: State, turn: Turn, edits: Sequence[Edit]) -> None:
    """Perform what a stage proposed; positions are those of the rows as the stage saw them."""
    rebuilt: dict[int, list[list[Block]]] = {}
    inserted: dict[int, list[Row]] = {}
    if edits[0].stage in ("anchor", "compact"):
        _keep_anchors(state, edits)
    for edit in edits:
        if isinstance(edit, Pass):
            frontier = max(state.marks.frontier, edit.frontier)
            state.mark(last_pass=turn.number, border=max(state.marks.border, edit.border), frontier=frontier)
            continue
        if isinstance(edit, Insert) and edit.head is not None:
            row = state.fmt.row(edit.side, edit.head, [edit.new], edit.new.ordinal)
            inserted.setdefault(edit.row, []).append(row)
            turn.actions.append(_action(edit, edit.new, 0, edit.new.size))
            continue
        _change(state, turn, edit, rebuilt)
    if rebuilt or inserted:
        stage = edits[0].stage
        cause: Cause = "shrink" if turn.shrunk else CAUSES[stage]
        if turn.rescaled and cause in ("pass", "eviction"):
            cause = "config"
        valid = stage == "anchor" or all([isinstance(edit, (CutTexts, Pass)) for edit in edits])
        _rebuild(state, turn, rebuilt, inserted, cause, valid)


def _keep_anchors(state: State, edits: Sequence[Edit]) -> None:
    """Archive each anchor as it is sent: it tells a view of ours that is fed back from a forged one (spec 3.6)."""
    for edit in edits:
        if isinstance(edit, Insert | Swap) and (new := edit.new) is not None:
            if new.note is not None:
                state.archive.put(new.note)
            elif new.kind == "anchor":
                state.archive.put(state.fmt.texts(new)[0][1])
        elif isinstance(edit, CutTexts) and (old := state.rows[edit.row].blocks[edit.block]).kind == "anchor":
            state.archive.put(edit.cuts[0][1].apply(state.fmt.texts(old)[0][1]))


def _change(
    state: State, turn: Turn, edit: CutTexts | Swap | Insert | Evict, rebuilt: dict[int, list[list[Block]]]
) -> None:
    """Enter one edit: slots hold what stands at each place of a row, several blocks where one was inserted."""
    if isinstance(edit, Evict):
        _evict(state, turn, edit, rebuilt)
        return
    slots = _slots(state, edit.row, rebuilt)
    if isinstance(edit, Insert):
        slots[edit.block].insert(0, edit.new)
        turn.actions.append(_action(edit, edit.new, 0, edit.new.size))
        return
    held = slots[edit.block]
    if not held:  # an edit before this one took the block out
        return
    block = held[-1]
    if isinstance(edit, CutTexts):
        held[-1] = _cut(state, turn, block, edit)
        turn.compacted |= edit.stage == "compact"
        return
    ref = state.archive.put(edit.original) if edit.original is not None else None
    turn.actions.append(_action(edit, block, block.size, edit.new.size if edit.new else 0, ref))
    turn.compacted |= edit.stage == "compact"
    held[-1:] = [edit.new] if edit.new else []


def _slots(state: State, row: int, rebuilt: dict[int, list[list[Block]]]) -> list[list[Block]]:
    if row not in rebuilt:
        rebuilt[row] = [[block] for block in state.rows[row].blocks] + [[]]
    return rebuilt[row]


def _action(edit: Swap | Insert, block: Block, before: int, after: int, ref: str | None = None) -> Action:
    part = str(block.position) if block.position >= 0 else None
    return Action(edit.stage, edit.reason, block.ordinal, part=part, chars_before=before, chars_after=after, ref=ref)


def _cut(state: State, turn: Turn, block: Block, edit: CutTexts) -> Block:
    texts = dict(state.fmt.texts(block))
    parts = dict(edit.held)
    for path, cut in edit.cuts:
        if path in parts:
            before, part = block.text_chars(path, texts[path]), parts[path]
            ref, start, end = part.ref, *[part.place(at) for at in cut.gone[:2]]
        elif path in texts:
            text = texts[path]
            before = block.text_chars(path, text)
            ref, (start, end, _) = state.archive.put(text), cut.gone
        else:
            payload = next(payload for payload in state.fmt.payloads(block) if payload.path == path)
            before = state.fmt.charge(block, payload)
            ref, start, end = state.archive.put(payload.original), 0, len(payload.data)
        at = ".".join([str(key) for key in (block.position, *path)]) if block.position >= 0 else None
        action = Action(edit.stage, edit.reason, block.ordinal, None, at, start, end, before, cut.size, ref)
        action.lost = [*cut.lost]
        for original in cut.also:
            state.archive.put(original)
        turn.actions.append(action)
    cuts = edit.cuts if not block.cuts else tuple({**dict(block.cuts), **dict(edit.cuts)}.items())
    return state.fmt.cut(block, cuts, texts)


def _evict(state: State, turn: Turn, edit: Evict, rebuilt: dict[int, list[list[Block]]]) -> None:
    """Take blocks out; their raw messages go to the archive as one list for each unbroken run."""
    ordinals: set[int] = set()
    sizes: dict[int, int] = {}
    for row, place in edit.blocks:
        slots = _slots(state, row, rebuilt)
        for block in slots[place]:
            sizes[block.ordinal] = sizes.get(block.ordinal, 0) + block.size
            if not block.ours:
                ordinals.add(block.ordinal)
        slots[place] = []
        if not any(slots):  # the whole message goes: what is around its blocks too
            whole = state.rows[row]
            sizes[whole.last] = sizes.get(whole.last, 0) + whole.size - sum([block.size for block in whole.blocks])
    for first, last in _runs(sorted(ordinals)):
        run = range(first, last + 1)
        ref = state.archive.put(plain_text([state.raw[i] for i in run]))
        before = sum([sizes.get(i, 0) for i in run])
        turn.actions.append(Action("evict", edit.reason, first, last, chars_before=before, chars_after=0, ref=ref))
    turn.evicted.extend(ordinals)
    state.mark(evicted=True)


def _runs(ordinals: list[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for ordinal in ordinals:
        if runs and runs[-1][1] == ordinal - 1:
            runs[-1] = (runs[-1][0], ordinal)
        else:
            runs.append((ordinal, ordinal))
    return runs


# -- rebuilding the rows


def _rebuild(
    state: State,
    turn: Turn,
    rebuilt: dict[int, list[list[Block]]],
    inserted: dict[int, list[Row]],
    cause: Cause,
    valid: bool,
) -> None:
    """Put the changed rows in place of the old; rows left with nothing go, neighbours of one role become one."""
    touched = [*rebuilt, *inserted]
    start, stop = min(touched), min(max(touched) + 1, len(state.rows))
    made: list[Row] = []
    for index in range(start, stop):
        made.extend(inserted.get(index, ()))
        row = state.rows[index]
        if index not in rebuilt:
            made.append(row)
            continue
        blocks = [block for slot in rebuilt[index] for block in slot]
        if not blocks:
            continue
        ordinal = min([block.ordinal for block in blocks])
        new = state.fmt.row(row.side, row.head, blocks, ordinal, like=row)
        if not state.fmt.is_void(new):
            made.append(new)
    if stop not in range(start, stop):
        made.extend(inserted.get(stop, ()))
    if state.fmt.merges and not valid:
        start, stop, made = _merged(state, turn, start, stop, made)
    state.splice(start, stop, made, cause, valid)


def _merged(state: State, turn: Turn, start: int, stop: int, rows: list[Row]) -> tuple[int, int, list[Row]]:
    """Join neighbours of one role, the rows beside the changed ones included."""
    if start > 0:
        start -= 1
        rows = [state.rows[start], *rows]
    if stop < len(state.rows):
        rows = [*rows, state.rows[stop]]
        stop += 1
    out: list[Row] = []
    for row in rows:
        if out and state.fmt.joins(out[-1], row):
            out[-1], actions = joined(state, out[-1], row)
            turn.actions.extend(actions)
        else:
            out.append(row)
    return start, stop, out
