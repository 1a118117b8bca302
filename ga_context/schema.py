"""What is sent beside the list, and tool definitions in the text format: in full, or a line that reminds of them.

A provider's own tool API needs the definitions in every request; a text protocol shows them as text, and a model that
has just read them need not read them again (spec 4.5). They never stand in the list, so the views of two turns share
their prefix whether the definitions were shown in full or not; nor does the budget move with them, which always leaves
room for them in full.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from itertools import takewhile
from typing import Any, NamedTuple

from ga_context.edits import Turn
from ga_context.errors import ConfigError
from ga_context.model import Incoming
from ga_context.state import State
from ga_context.text.plain import plain, plain_text
from ga_context.text.size import UNIFORM


class Beside(NamedTuple):
    """What the caller sends beside the list."""

    system: Any = None
    tools: Any = None
    chars: int = 0
    """Characters of both as JSON."""
    tools_chars: int = 0
    """Of the definitions alone; of a string, its own length."""
    digest: str = ""
    """Of the definitions; empty where there are none."""
    markers: tuple[str, ...] = ()
    """Times to live of the caller's cache markers in both, in their order in a request: tools, then system."""


def measured(system: Any, tools: Any, known: Beside, state: State) -> Beside:
    """Return both with their characters; measured again only when they are other objects than those ``known``.

    A list of definitions is looked at each turn in the text format: a tool may have been appended to it.
    """
    same = system is known.system and tools is known.tools
    if same and (tools is None or isinstance(tools, str) or not state.fmt.tagged):
        return known
    texts = [_text(name, part) for name, part in (("system", system), ("tools", tools))]
    chars = len(tools) if isinstance(tools, str) else len(texts[1])
    digest = sha256(texts[1].encode("utf-8", "surrogatepass")).hexdigest()[:16] if texts[1] else ""
    measure = state.fmt.measure
    size = sum(map(len, texts))
    if measure is not UNIFORM:
        size = sum([measure.value(plain(part), binary=True) for part in (system, tools) if part is not None])
    ttls = [state.fmt.ttl_of(item) for part in (tools, system) for item in state.fmt.beside_items(part)]
    markers = tuple([ttl for ttl in ttls if ttl is not None])
    return Beside(system, tools, size, chars, digest, markers)


def _text(name: str, part: Any) -> str:
    try:
        return "" if part is None else plain_text(part)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"`{name}` cannot be written as JSON ({error}); pass what is sent, as plain data") from error


def decide(state: State, turn: Turn, incoming: Sequence[Incoming], beside: Beside) -> None:
    """Note whether this turn shows the definitions in full; asked again in the same turn, the answer is the same.

    They are: when they changed, every ``schema_every_turns``, when more than ``schema_every_chars`` of new messages
    were sent since, and after a call that could not be run.
    """
    if not state.fmt.tagged:
        return
    marks, settings = state.marks, turn.config.formats.text
    number = 1 + marks.responses
    chars = marks.schema_chars + _sent_first(state, turn.first_new)
    every = settings.schema_every_turns
    if (
        beside.digest != marks.schema
        or marks.schema_turn == number
        or (every is not None and number - marks.schema_turn >= every)
        or chars > settings.schema_every_chars
        or _holds_malformed(state, incoming, beside.tools)
    ):
        state.mark(schema=beside.digest, schema_turn=number, schema_chars=0)
    else:
        state.mark(schema_chars=chars)


def shown(state: State, beside: Beside) -> Any:
    """Return the definitions as they were handed over, or the line that stands in for them, where that is shorter."""
    if beside.tools is None or not state.fmt.tagged or state.marks.schema_turn == 1 + state.marks.responses:
        return beside.tools
    line = state.fmt.reminder(plain(beside.tools))
    return line if len(line) < beside.tools_chars else beside.tools


def _sent_first(state: State, first_new: int) -> int:
    """Return the characters of the messages that this turn sends for the first time, cut and with the anchor."""
    return sum([row.size for row in takewhile(lambda row: row.ordinal >= first_new, reversed(state.rows))])


def _holds_malformed(state: State, incoming: Sequence[Incoming], tools: Any) -> bool:
    said = [block for message in incoming if message.side == "assistant" for block in message.blocks]
    tools = plain(tools) if said else tools
    return tools is not None and any([state.fmt.is_malformed(block, tools) for block in said])
