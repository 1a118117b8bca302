"""What the anchor says: the last turns in a line each, the turn number, key_info (spec 4.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from ga_context.edits import Turn
from ga_context.model import Block, Line, Message
from ga_context.state import State
from ga_context.text.marker import TITLE as TITLE
from ga_context.text.size import UNIFORM, json_chars
from ga_context.text.tags import bracketed, matches
from ga_context.text.window import head_tail

LEAST_KEY_INFO_CHARS = 100
AROUND_CHARS = 100
"""What stands around an anchor in a message of its own, at most."""
FOLDED_PER_LINE = 20
"""How many turns are looked at, at most, for each line of earlier_context."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """An anchor ready to be put in."""

    text: str
    block: Block
    head: Message | None
    """Of the message of its own, where it is one."""
    chars: int
    """What it adds to C_H."""
    target: Block | None = None
    """The text at whose end it stands; ``block`` is then this text with it."""


def anchor_for(state: State, turn: Turn, evicted: bool) -> Anchor | None:
    """Return this turn's anchor, given whether history is gone; None where it has no place or nothing to say."""
    if evicted not in turn.anchors:
        turn.anchors[evicted] = _make(state, turn, evicted)
    made: Anchor | None = turn.anchors[evicted]
    return made


def reserve(state: State, turn: Turn, evicted: bool | None = None) -> int:
    """Return the characters to keep free for this turn's anchor, what stands already not counted."""
    made = anchor_for(state, turn, state.marks.evicted if evicted is None else evicted)
    return made.chars if made is not None and not turn.anchored else 0


def reserve_bytes(state: State, turn: Turn, evicted: bool | None = None) -> int:
    """Return what `reserve` keeps free in bytes of a request, with the comma of a message of its own."""
    made = anchor_for(state, turn, state.marks.evicted if evicted is None else evicted)
    if made is None or turn.anchored:
        return 0
    chars = made.chars if state.fmt.measure is UNIFORM else json_chars(made.text) + AROUND_CHARS
    return chars + len(made.text.encode()) - len(made.text) + 2


def excess(state: State, turn: Turn) -> int:
    """Return by how much the view is over, this turn's anchor included: characters or bytes, whichever is more."""
    return max(state.chars + reserve(state, turn) - turn.budget, excess_bytes(state, turn))


def excess_bytes(state: State, turn: Turn, share: float = 1.0) -> int:
    """Return the bytes over this share of a request's limit, this turn's anchor included; 0 where it is not over."""
    limit = turn.config.budget.body_bytes
    if limit is None or not turn.heavy:
        return 0
    room = int(share * limit) - reserve_bytes(state, turn)
    return max(0, state.body_bytes(room) - room)


def _make(state: State, turn: Turn, evicted: bool) -> Anchor | None:
    marks, settings = state.marks, turn.config.anchor
    if settings.placement == "off" or not marks.user_last or not state.rows:
        return None
    if not (marks.with_results or marks.key_info or evicted):
        return None
    text = anchor_text(state, turn)
    if text and state.fmt.measure is not UNIFORM:
        text = _within_a_tenth(state, turn, text)
    return _placed(state, turn, text) if text else None


def _within_a_tenth(state: State, turn: Turn, text: str | None) -> str | None:
    """Return the block so short that it takes a tenth of B as C_H counts it, too; None where none is."""
    room, limit = turn.budget // 10, turn.config.anchor.max_chars
    while text is not None and (size := state.fmt.measure.text(text)) > room:
        limit = min(limit, len(text)) * room // size - 1
        text = anchor_text(state, turn, limit)
    return text


def anchor_text(state: State, turn: Turn, limit: int | None = None) -> str | None:
    """Return the block, shortened to its limit: earlier lines first, then summaries, then key_info.

    The limit is ``anchor.max_chars`` or a tenth of B, whichever is less, unless it is given, in characters.
    """
    settings = turn.config.anchor
    if limit is None:
        limit = min(settings.max_chars, turn.budget // 10)
    recent, older = _last_turns(state.lines, settings.summaries)
    since = max(0, older - settings.earlier_lines * FOLDED_PER_LINE)
    earlier = _earlier(state.lines[since:older], settings.earlier_lines)
    names = (*turn.config.compact.anchor_tags, *(turn.config.compact.tags if state.fmt.tagged else ()))
    key_info = _balanced(state.marks.key_info, names) if state.fmt.tagged else state.marks.key_info
    number = f"Current turn: {turn.number}"
    room = limit - len(TITLE) - len(number) - 2
    if room < 0:
        return None
    if key_info:
        room -= len("\n<key_info>\n\n</key_info>")
        if len(key_info) > room:
            key_info = _shortened(key_info, room, state, names if state.fmt.tagged else ())
        room -= len(key_info)
    history = _newest_that_fit([line.text for line in recent], room - len("\n<history>\n</history>"), names)
    parts = [TITLE]
    if earlier:
        room -= len(history) + len("\n\n<history>\n</history>\n<earlier_context>\n</earlier_context>")
        earlier_lines = _newest_that_fit(earlier, room, names)
        parts += [f"<earlier_context>\n{earlier_lines}\n</earlier_context>"] if earlier_lines else []
    if history:
        parts.append(f"<history>\n{history}\n</history>")
    parts.append(number)
    if key_info:
        parts.append(f"<key_info>\n{key_info}\n</key_info>")
    return "\n".join(parts)


def _balanced(text: str, names: Sequence[str]) -> str:
    """Return the agent's notes as they are, or with listed tags in brackets where one of them stands alone."""
    return bracketed(text, names) if any([mate is None for _, mate in matches(text, names)]) else text


def _last_turns(lines: Sequence[Line], turns: int) -> tuple[list[Line], int]:
    """Return the lines of the last ``turns`` turns with the requests between them, and where they begin."""
    start = max(0, len(lines) - turns)
    missing = [line.request for line in lines[start:]].count(True)
    while start > 0 and missing > 0:
        start -= 1
        missing -= not lines[start].request
    return list(lines[start:]), start


def _newest_that_fit(lines: list[str], room: int, names: Sequence[str]) -> str:
    """Return the newest lines, each with its line end in the room, and no listed tag in them."""
    text = "\n".join(lines)
    if "<" in text:
        lines = [bracketed(line, names) for line in lines]
        text = "\n".join(lines)
    if len(text) + 1 <= room:
        return text
    start = len(lines)
    while start > 0 and len(lines[start - 1]) + 1 <= room:
        start -= 1
        room -= len(lines[start]) + 1
    return "\n".join(lines[start:])


def _earlier(lines: Sequence[Line], most: int) -> list[str]:
    """Return older turns folded: neighbours that called the same tools are one line with a count."""
    if most == 0:
        return []
    turns = [line for line in lines if not line.request]
    folded = []
    for tools, group in groupby(turns, key=lambda line: tuple([tool for tool, _ in line.calls])):
        same = list(group)
        if len(same) == 1 or not tools:
            folded.extend([line.text for line in same])
        else:
            folded.append(f"[{same[0].turn}-{same[-1].turn}] {', '.join(dict.fromkeys(tools))} x{len(same)}")
    return folded[-most:]


def _shortened(key_info: str, room: int, state: State, tags: Sequence[str]) -> str:
    if room < LEAST_KEY_INFO_CHARS:
        return ""
    cut = head_tail(key_info, room, state.archive.put(key_info), tags=tags)
    return cut.apply(key_info) if cut is not None else key_info


def note_place(state: State, turn: Turn) -> tuple[int, int] | None:
    """Return (row, block) of the text at whose end the anchor stands; None where it is a block or message itself."""
    index = newest_row(state)
    if index is None:
        return None
    row = state.rows[index]
    if (turn.config.anchor.placement == "tool_result" or state.fmt.tool_rows) and row.has("result"):
        kinds: tuple[str, ...] = ("result",)
    elif state.fmt.tagged:
        kinds = ("result", "text")
    else:
        return None
    places = [place for place, block in enumerate(row.blocks) if block.kind in kinds and not block.sealed]
    return (index, places[-1]) if places else None


def stands_apart(state: State, index: int) -> bool:
    """Return whether the anchor behind row ``index`` is a message of its own, and no part of that row."""
    return not state.fmt.merges or (state.fmt.results_alone and state.rows[index].answers)


def newest_row(state: State) -> int | None:
    """Return the last row of the caller's, where it is user-side: a late result may have left calls behind it."""
    for index in range(len(state.rows) - 1, -1, -1):
        if not state.rows[index].ours:
            return index if state.rows[index].side in ("user", "tool") else None
    return None


def _placed(state: State, turn: Turn, text: str) -> Anchor | None:
    """Return the anchor and its cost where it will stand: in the newest message, at the end of its text, behind."""
    fmt, newest, index = state.fmt, state.marks.messages - 1, newest_row(state)
    if index is None:
        return None
    if (at := note_place(state, turn)) is not None:
        target = state.rows[at[0]].blocks[at[1]]
        plain = target if target.note is None else fmt.render(target, note=None)
        noted = fmt.render(target, note=text)
        return Anchor(text, noted, None, noted.size - plain.size, target)
    if fmt.tagged:
        return None
    head, block = fmt.speech(text, newest, "anchor")
    if fmt.merges and not fmt.results_alone:
        row = state.rows[index]
        with_it = fmt.row(row.side, row.head, [*row.blocks, block], row.ordinal, like=row)
        return Anchor(text, block, None, with_it.size - row.size)
    return Anchor(text, block, head, fmt.row("user", head, [block], newest).size)
