"""Stage 3: over the budget, the oldest exchanges and messages go, first in, first out (spec 4.3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, tee

from ga_context.closure import response, results_end
from ga_context.edits import Edit, Evict, Turn
from ga_context.memory import excess_bytes, reserve, reserve_bytes
from ga_context.model import Block, Row, Side
from ga_context.recall import spared_ordinals
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
    settings = turn.config.budget
    goals = _goals(state, turn, turn.over, settings.evict_to)
    if not goals:
        return []
    newest = border_before(state, settings.min_messages)
    keep_first = turn.config.evict.keep_first
    found, later, again = tee(units(state), 3)
    last = spared_ordinals(state, turn.config, turn.number)

    def free(units: Iterable[Unit]) -> Iterator[Unit]:
        return (unit for unit in units if not unit.mandatory and unit.first >= keep_first and unit.last < newest)

    first = (unit for unit in free(found) if last.isdisjoint((unit.first, unit.last)))
    recalled = (unit for unit in free(later) if not last.isdisjoint((unit.first, unit.last))) if last else ()
    gone = _until(goals, chain(first, recalled))
    return _proposed(state, turn, again, gone, f"over {goals[0].what}: the oldest go first")


def evict_protected(state: State, turn: Turn) -> list[Edit]:
    """Propose that the first and newest messages go too, but for the newest exchange (spec 3, promise 3, ii)."""
    goals = _goals(state, turn, state.chars + reserve(state, turn) > turn.budget, 1.0)
    if not goals:
        return []
    found, again = tee(units(state))
    gone = _until(goals, (unit for unit in found if not unit.mandatory))
    return _proposed(state, turn, again, gone, f"still over {goals[0].what}: protected messages go too")


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


def _goals(state: State, turn: Turn, over: bool, share: float) -> list[Tally]:
    """Return what must come down, each to this share of its limit: C_H where it is over, bytes where they are."""
    goals = []
    if over:
        goals.append(_chars_tally(state, turn, int(share * turn.budget)))
    if excess_bytes(state, turn):
        limit = turn.config.budget.body_bytes or 0
        body = state.body_bytes(0) + reserve_bytes(state, turn, evicted=True)
        goals.append(Tally("the bytes of a request", state.rows, body, int(share * limit), _bytes_of(state)))
    return goals


def _chars_tally(state: State, turn: Turn, target: int) -> Tally:
    chars = state.chars + reserve(state, turn, evicted=True)
    return Tally("the budget", state.rows, chars, target, lambda held: held.size)


def _bytes_of(state: State) -> Callable[[Row | Block], int]:
    return lambda held: state.fmt.body_bytes(held) if isinstance(held, Row) else state.fmt.block_bytes(held)


def _until(goals: Sequence[Tally], free: Iterator[Unit]) -> list[Unit]:
    """Return the oldest units whose going brings the view to all targets, and no more."""
    gone: list[Unit] = []
    while any([tally.total > tally.target for tally in goals]) and (unit := next(free, None)) is not None:
        for tally in goals:
            tally.take(unit)
        gone.append(unit)
    return gone


@dataclass(slots=True)
class Tally:
    """The size of the view while units go."""

    what: str
    """Name of the limit."""
    rows: Sequence[Row]
    total: int
    """What is left of the view, with this turn's anchor."""
    target: int
    """What it must come down to."""
    measure: Callable[[Row | Block], int]
    left: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Row that something was taken from -> (blocks, size) that are left of it."""

    def take(self, unit: Unit) -> None:
        """Count a unit out: its blocks with their commas, a whole message with the last of them."""
        for index in dict.fromkeys([index for index, _ in unit.blocks]):
            row = self.rows[index]
            blocks, size = self.left.get(index) or (len(row.blocks), self.measure(row))
            going = [self.measure(row.blocks[place]) for at, place in unit.blocks if at == index]
            less = size if len(going) == blocks else sum(going) + 2 * len(going)
            self.left[index] = (blocks - len(going), size - less)
            self.total -= less


def _proposed(state: State, turn: Turn, found: Iterable[Unit], gone: list[Unit], reason: str) -> list[Edit]:
    """Propose the eviction, with the assistant messages that would stand first then (spec 6).

    Where the list must start with the user, the exchanges that an evicted request leaves behind go with it, as long as
    they are not protected and the view keeps ``KEPT_SHARE`` of its target. Of the next one the calls go and its results
    are told as text; with ``unit = "exchange"`` it stays whole, behind a placeholder. Elsewhere only a reply without
    calls goes.
    """
    if not gone:
        return []
    target = turn.config.budget.evict_to * turn.budget
    tally = _chars_tally(state, turn, int(target))
    for unit in gone:
        tally.take(unit)
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
        fits = tally.total + opening <= target
        tally.take(unit)
        kept = unit.mandatory or unit.last >= newest or tally.total < floor
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
    blocks = [block for at in run for block in state.rows[at].blocks]
    reasons = any([block.sealed or block.kind == "reasoning" for block in blocks])
    return unit.mandatory and (reasons or not said_since)


def _results(state: State, unit: Unit) -> list[tuple[int, int]]:
    """Return the results in a unit that the caller gave."""
    held = [(at, state.rows[at[0]].blocks[at[1]]) for at in unit.blocks]
    return [at for at, block in held if block.kind == "result" and not block.ours]
