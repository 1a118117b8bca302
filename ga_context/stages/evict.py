"""Stage 3: over the budget, the oldest exchanges and messages go, first in, first out (spec 4.3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import tee

from ga_context.closure import response, results_end
from ga_context.edits import Edit, Evict, Turn
from ga_context.memory import reserve
from ga_context.model import Row, Side
from ga_context.stages.compact import border_before, open_row
from ga_context.stages.repair import opening_chars, tell
from ga_context.state import State

KEPT_SHARE = 0.9
"""An eviction leaves at least this share of its target, whatever would have to stand first.

Picked among eight values on eight recorded sessions (issue 2, point 8), where 0.3, 0.7 and 0.9 meet its goal and their
neighbours just miss it: the figure is not smooth, and this is the value that takes least beyond what it must.
"""


@dataclass(frozen=True, slots=True)
class Unit:
    """What goes or stays together: an exchange, the texts of a message, an anchor whose message must stay."""

    blocks: tuple[tuple[int, int], ...]
    """(row, block) of each."""
    side: Side
    first: int
    last: int
    """Lowest and highest ordinal in it."""
    calls: bool = False
    """It is an exchange."""
    mandatory: bool = False


def evict(state: State, turn: Turn) -> list[Edit]:
    """Propose what goes until C_H is at most ``evict_to`` of the budget or only what is protected is left."""
    if not turn.over:
        return []
    settings = turn.config.budget
    newest = border_before(state, settings.min_messages)
    keep_first = turn.config.evict.keep_first
    found, again = tee(units(state))
    free = (unit for unit in found if not unit.mandatory and unit.first >= keep_first and unit.last < newest)
    gone = _until(state, turn, free, int(settings.evict_to * turn.budget))
    return _proposed(state, turn, again, gone, "over the budget: the oldest go first")


def evict_protected(state: State, turn: Turn) -> list[Edit]:
    """Propose that the first and newest messages go too, but for the newest exchange (spec 3, promise 3, ii)."""
    if state.chars + reserve(state, turn) <= turn.budget:
        return []
    found, again = tee(units(state))
    gone = _until(state, turn, (unit for unit in found if not unit.mandatory), turn.budget)
    return _proposed(state, turn, again, gone, "still over the budget: protected messages go too")


def units(state: State) -> Iterator[Unit]:
    """Yield everything in the view as units, oldest first. An exchange is a unit; so are the texts beside results."""
    taken: set[tuple[int, int]] = set()
    newest = open_row(state)
    for index, row in enumerate(state.rows):
        if row.side == "system":
            yield from _unit(state, [(index, place) for place in range(len(row.blocks))], row, mandatory=True)
        elif row.side == "assistant":
            if (index, 0) in taken:
                continue
            run = response(state, index)
            calls = any([state.rows[at].has("call") for at in run])
            blocks = _exchange(state, run)
            blocks += _anchors_behind(state, blocks)
            taken.update(blocks)
            going_on = state.fmt.flat and run.stop == len(state.rows)  # more of the same response may still come
            yield from _unit(state, blocks, row, calls=calls, mandatory=newest in run or going_on)
        else:
            yield from _user_units(state, index, row, taken)


def _unit(
    state: State, blocks: list[tuple[int, int]], row: Row, *, calls: bool = False, mandatory: bool = False
) -> Iterator[Unit]:
    """Yield the blocks as a unit, if there are any."""
    if blocks:
        ordinals = [state.rows[index].blocks[place].ordinal for index, place in blocks]
        yield Unit(tuple(blocks), row.side, min(ordinals), max(ordinals), calls, mandatory)


def _exchange(state: State, run: range) -> list[tuple[int, int]]:
    """Return the blocks of a response and of the results that answer it."""
    blocks = [(index, place) for index in run for place in range(len(state.rows[index].blocks))]
    for answer in range(run.stop, results_end(state, run.start)):
        going = False
        for place, block in enumerate(state.rows[answer].blocks):
            going = going if block.kind == "marker" else block.kind == "result" and block.id is not None
            if going:
                blocks.append((answer, place))
    return blocks


def _anchors_behind(state: State, blocks: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the anchor that goes with these blocks: in the same row with nothing else of the caller's, or behind."""
    last = blocks[-1][0] if blocks else -1
    taken = set(blocks)
    held = enumerate(state.rows[last].blocks) if blocks else ()
    rest = [(place, block) for place, block in held if (last, place) not in taken]
    if any([block.kind != "anchor" for _, block in rest]):
        return []
    behind = [(last, place) for place, _ in rest]
    after = state.rows[last + 1] if last + 1 < len(state.rows) else None
    if after is not None and after.ours and after.has("anchor"):
        behind.append((last + 1, 0))
    return behind


def _user_units(state: State, index: int, row: Row, taken: set[tuple[int, int]]) -> Iterator[Unit]:
    """Yield what no exchange has taken: the texts of each message, then the anchor where it goes alone."""
    places = [place for place in range(len(row.blocks)) if (index, place) not in taken]
    anchors = [place for place in places if row.blocks[place].kind == "anchor"]
    texts = [place for place in places if place not in anchors]
    groups: dict[int, list[tuple[int, int]]] = {}
    for place in texts:
        groups.setdefault(row.blocks[place].ordinal, []).append((index, place))
    for ordinal, blocks in groups.items():
        mandatory = ordinal == state.marks.request or row.blocks[blocks[0][1]].ours
        if not mandatory and ordinal == max(groups):
            blocks += [(index, place) for place in anchors]
            blocks += [at for at in _anchors_behind(state, blocks) if at not in blocks]
            anchors = []
        taken.update(blocks)
        yield from _unit(state, blocks, row, mandatory=mandatory)
    for place in anchors:
        newest = row.blocks[place].ordinal == state.marks.messages - 1
        yield from _unit(state, [(index, place)], row, mandatory=newest)


def _until(state: State, turn: Turn, free: Iterator[Unit], target: int) -> list[Unit]:
    """Return the oldest units whose going brings the view to ``target``, and no more."""
    tally = Tally(state, reserve(state, turn, evicted=True))
    gone: list[Unit] = []
    while tally.chars > target and (unit := next(free, None)) is not None:
        tally.take(unit)
        gone.append(unit)
    return gone


class Tally:
    """C_H of the view while units go."""

    def __init__(self, state: State, anchor_chars: int) -> None:
        self.rows = state.rows
        self.chars = state.chars + anchor_chars
        self.left: dict[int, tuple[int, int]] = {}

    def take(self, unit: Unit) -> None:
        """Count a unit out: its blocks with their commas, a whole message with the last of them."""
        for index in dict.fromkeys([index for index, _ in unit.blocks]):
            row = self.rows[index]
            blocks, size = self.left.get(index, (len(row.blocks), row.size))
            going = [row.blocks[place].size for at, place in unit.blocks if at == index]
            less = size if len(going) == blocks else sum(going) + 2 * len(going)
            self.left[index] = (blocks - len(going), size - less)
            self.chars -= less


def _proposed(state: State, turn: Turn, found: Iterable[Unit], gone: list[Unit], reason: str) -> list[Edit]:
    """Propose the eviction, with the assistant messages that would stand first then (spec 6).

    Where the list must start with the user, the exchanges that an evicted request leaves behind go with it, as long as
    they are not protected and the view keeps ``KEPT_SHARE`` of its target. Of the next one the calls go and its results
    are told as text; with ``unit = "exchange"`` it stays whole, behind a placeholder. Elsewhere only a reply without
    calls goes.
    """
    if not gone:
        return []
    tally = Tally(state, reserve(state, turn, evicted=True))
    for unit in gone:
        tally.take(unit)
    target = turn.config.budget.evict_to * turn.budget
    floor, opening = KEPT_SHARE * target, opening_chars(state)
    newest = border_before(state, turn.config.budget.min_messages)
    blocks = [at for unit in gone for at in unit.blocks]
    edits: list[Edit] = []
    going = {unit.blocks for unit in gone}
    for unit in found:
        if unit.blocks in going or unit.side == "system":
            continue
        if unit.side != "assistant" or _is_open(state, unit) or (unit.calls and not state.fmt.starts_with_user):
            break
        fits = tally.chars + opening <= target
        tally.take(unit)
        kept = unit.mandatory or unit.last >= newest or tally.chars < floor
        if kept and fits and unit.calls and turn.config.evict.unit == "exchange":
            break
        results = _results(state, unit) if kept else []
        blocks += [at for at in unit.blocks if at not in results]
        for at in results:
            edits.extend(tell(state, *at))
        if results:
            break
    return [Evict(tuple(blocks), reason), *edits]


def _is_open(state: State, unit: Unit) -> bool:
    """Return whether the newest exchange is what the model works on: it has reasoning, or nothing was said since."""
    run = response(state, unit.blocks[0][0])
    said_since = any([later.side == "assistant" for later in state.rows[run.stop :]])
    return unit.mandatory and (any([state.rows[at].has("reasoning") for at in run]) or not said_since)


def _results(state: State, unit: Unit) -> list[tuple[int, int]]:
    """Return the results in a unit that the caller gave."""
    held = [(at, state.rows[at[0]].blocks[at[1]]) for at in unit.blocks]
    return [at for at, block in held if block.kind == "result" and not block.ours]
