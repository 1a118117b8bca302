"""A view fed back into a fresh session: anchors in it are ours again, if the archive holds the very block (spec 3.6).

Without the archive's word an anchor is plain text: anyone can write one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from ga_context.formats.base import Format
from ga_context.memory import TITLE
from ga_context.model import Block, Incoming, Line
from ga_context.state import State

TURN = re.compile(r"^Current turn: ([0-9]{1,15})$", re.MULTILINE)
LINE = re.compile(r"\[(?:([0-9]{1,15})|user)\] ")
HISTORY = re.compile(r"\n<history>\n(.*?)\n</history>\nCurrent turn: ", re.DOTALL)
KEY_INFO = re.compile(r"\nCurrent turn: [0-9]{1,15}\n<key_info>\n(.*)\n</key_info>$", re.DOTALL)


def adopted(state: State, incoming: Sequence[Incoming]) -> tuple[list[Incoming], int]:
    """Return the first messages of a session with anchors told from texts, where the archive holds them.

    The newest of them says where the session stands: its turn, the lines of turns that are gone, key_info. No pass
    is due then: what was to be cut has been cut. Returned with it is the message that it stands in; -1: none does.
    """
    out = [_with_anchors(state, message) for message in incoming]
    texts = [(number, text) for number, message in enumerate(out) for text in _anchor_texts(state.fmt, message)]
    if not texts:
        return out, -1
    state.rebased = True
    _go_on(state, out, *texts[-1])
    return out, texts[-1][0]


def settle(state: State) -> None:
    """Put the requests that the view begins with where the anchor has them, or before all turns that are gone."""
    gone = max([line.turn for line in state.lines if line.ordinal < 0 and not line.request], default=0)
    told = [line for line in state.lines if line.ordinal < 0]
    shown = [line for line in state.lines if line.ordinal >= 0]
    leading = [line for line in shown if line.request and line.turn == gone]
    early: list[Line] = []
    for line in leading:
        same = [at for at, one in enumerate(told) if one.request and one.text == line.text]
        if same:
            told[same[-1]] = line
        elif line.ordinal != state.marks.messages - 1:
            early.append(line)
        else:
            continue
        shown.remove(line)
    state.lines[:] = [*early, *told, *shown]


def _anchor_texts(fmt: Format, message: Incoming) -> list[str]:
    """Return the texts of the anchors in a message."""
    held = [block for block in message.blocks if block.kind == "anchor" or block.note is not None]
    return [block.note if block.note is not None else fmt.texts(block)[0][1] for block in held]


def _with_anchors(state: State, message: Incoming) -> Incoming:
    if message.side not in ("user", "tool") or message.given is not None:
        return message
    blocks = tuple([_as_anchor(state, block) for block in message.blocks])
    same = all([new is old for new, old in zip(blocks, message.blocks, strict=True)])
    return message if same else message._replace(blocks=blocks)


def _as_anchor(state: State, block: Block) -> Block:
    """Return a text that is an anchor of ours as one, and a text or result with one at its end as that."""
    if block.kind not in ("text", "result") or block.sealed or not (texts := state.fmt.texts(block)):
        return block
    path, text = texts[-1]
    at = text.rfind(TITLE)
    if at < 0 or not _is_held(state, text[at:]):
        return block
    if at == 0 and block.kind == "text" and not state.fmt.tagged:
        return block._replace(kind="anchor", position=-1)
    plain = state.fmt.detached(block, path, text[: max(0, at - len("\n\n"))], text[at:])
    return block if plain is None else block._replace(base=plain, note=text[at:])


def _is_held(state: State, text: str) -> bool:
    archive = state.archive
    ref = archive.ref(text)
    return ref in archive and archive.recall(ref) == text


def _go_on(state: State, messages: Sequence[Incoming], at: int, text: str) -> None:
    """Take over what the newest anchor says; ``at`` is the message that it stands in."""
    if (found := TURN.search(text)) is None:
        return
    sides = ["", *[message.side for message in messages]]
    starts = [side == "assistant" != before for before, side in pairwise(sides)]
    gone = max(0, int(found[1]) - 1 - sum(starts[: at + 1]))  # a placeholder of ours may part a response in two
    notes = KEY_INFO.search(text)
    turn = 1 + gone + sum(starts)
    state.mark(responses=gone, last_pass=turn, evicted=gone > 0)
    if notes and not state.marks.key_info:
        state.mark(key_info=notes[1])
    state.lines.extend(_lines(text, gone))


def _lines(text: str, gone: int) -> list[Line]:
    """Return the lines of the turns that are not in the view any more, with the requests before each."""
    found = HISTORY.search(text)
    lines: list[Line] = []
    waiting: list[Line] = []
    turn = 0
    for line in found[1].split("\n") if found else ():
        told = LINE.match(line)
        if told is None:
            continue
        if told[1] is None:
            waiting.append(Line(-1, turn, line, request=True))
            continue
        if int(told[1]) > gone:
            break
        turn = int(told[1])
        lines += [*waiting, Line(-1, turn, line)]
        waiting = []
    return [*lines, *waiting]
