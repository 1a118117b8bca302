"""Hypothesis strategies for raw histories with everything that goes wrong in real ones, in each wire format.

A history is drawn as a short list of `Turn`, which knows no format, and then written out.
A format is a module with one `Format` (see `common`) and a line in the table below.
"""

from __future__ import annotations

import copy
import functools
from typing import Any

from hypothesis import strategies as st

from histories.anthropic import FORMAT as ANTHROPIC
from histories.bedrock import FORMAT as BEDROCK
from histories.common import wire_text
from histories.gemini import FORMAT as GEMINI
from histories.openai_chat import FORMAT as OPENAI_CHAT
from histories.openai_responses import FORMAT as OPENAI_RESPONSES
from histories.tagged_text import FORMAT as TEXT
from histories.turns import Call, Message, Turn, call_ids, name_of, tame, texts, turns_of

__all__ = [
    "FORMATS",
    "Call",
    "Turn",
    "after",
    "changed",
    "configs",
    "ends",
    "histories",
    "operations",
    "splits",
    "texts",
    "wire_text",
    "write",
]

_FORMATS = {
    "anthropic": ANTHROPIC,
    "openai-chat": OPENAI_CHAT,
    "openai-responses": OPENAI_RESPONSES,
    "gemini": GEMINI,
    "bedrock": BEDROCK,
    "text": TEXT,
}
FORMATS = tuple(_FORMATS)
Operation = tuple[Any, ...]

_FEW_TROUBLES = st.one_of(turns_of(False), turns_of(False), turns_of(True))


@st.composite
def histories(draw: st.DrawFn, format: str, *, max_turns: int = 14, troubles: bool = True) -> list[Message]:
    """Draw a raw history; without `troubles` one that its provider accepts as it is."""
    calm = not troubles or draw(st.booleans())
    turn = turns_of(False) if not troubles else draw(st.sampled_from((_FEW_TROUBLES, turns_of(True))))
    few = min(draw(st.sampled_from((0, 3, 7))), max_turns)
    turns = draw(st.lists(turn, min_size=few, max_size=max_turns))
    messages = write(format, tame(turns, system=_FORMATS[format].system) if calm else turns)
    stop = draw(st.sampled_from((0, 0, 0, 1, 2))) if troubles else 0
    return messages[: len(messages) - stop]


def write(format: str, turns: list[Turn]) -> list[Message]:
    """Write turns out as the messages of a format, late results after as many further messages as they say."""
    form = _FORMATS[format]
    messages: list[Message] = []
    waiting: list[tuple[int, Message]] = []
    for number, turn in enumerate(turns):
        ids = call_ids(turn, number)
        for message in form.turn(turn, number, ids):
            messages.append(message)
            messages += [late for due, late in waiting if due == len(messages)]
        late = [
            (call, id, i) for i, (call, id) in enumerate(zip(turn.calls, ids, strict=True)) if call.answer == "late"
        ]
        if turn.kind == "model":
            waiting += [(len(messages) + call.late, form.result(call, id, name_of(number, i))) for call, id, i in late]
    return messages


# Sessions


@st.composite
def splits(draw: st.DrawFn, history: list[Message], format: str) -> list[list[Message]]:
    """Draw the growing prefixes of a history for which a loop calls `prepare`; the last is the whole."""
    ends = range(1, len(history))
    kind = draw(st.sampled_from(("whole", "turns", "messages", "some")))
    some = draw(st.sets(st.sampled_from(ends))) if kind == "some" and ends else set()
    by_model = [_FORMATS[format].by_model(message) for message in history]
    before_model = {i for i in ends if by_model[i] and not by_model[i - 1]}
    cuts = {"whole": set(), "turns": before_model, "messages": set(ends), "some": some}[kind]
    return [history[:end] for end in [*sorted(cuts), len(history)]]


@functools.cache
def operations(format: str) -> st.SearchStrategy[list[Operation]]:
    """What may happen to the raw list between two calls of `prepare`; `after` carries one out.

    ("extend", n) adds the next n messages, ("rollback", k) drops the last k, ("change", i, text) is a caller who
    changes an earlier message, ("rebuild",) makes equal dicts, ("feed back",) goes on with the view, ("again",) does
    nothing. ("key_info", text), ("shrink", share) and ("reload",) are for the session, the list stays as it is.
    """
    extend = st.tuples(st.just("extend"), st.integers(1, 5))
    words = texts(encodable=True)
    others = (
        st.tuples(st.sampled_from(("again", "rebuild", "feed back", "reload"))),
        st.tuples(st.just("rollback"), st.integers(1, 6)),
        st.tuples(st.just("change"), st.integers(0, 20), words),
        st.tuples(st.just("key_info"), st.one_of(st.just(""), words)),
        st.tuples(st.just("shrink"), st.sampled_from((0.9, 0.5))),
    )
    return st.lists(st.one_of(extend, extend, extend, *others), min_size=1, max_size=14)


def after(
    operation: Operation, raw: list[Message], rest: list[Message], view: list[Message], format: str
) -> tuple[list[Message], list[Message]]:
    """Return the raw list and what is still to come of the history after an operation; nothing given is changed."""
    kind, *given = operation
    if kind == "extend":
        return [*raw, *rest[: given[0]]], rest[given[0] :]
    if kind == "rollback":
        keep = max(len(raw) - given[0], 0)
        return raw[:keep], [*raw[keep:], *rest]
    if kind == "change" and raw:
        i = given[0] % len(raw)
        return [*raw[:i], changed(raw[i], given[1], format), *raw[i + 1 :]], rest
    if kind == "rebuild":
        return copy.deepcopy(raw), rest
    return (list(view) if kind == "feed back" else list(raw)), rest


def ends(raw: list[Message]) -> list[int]:
    """Return how much of a history stands before each response of the model, and all of it, in whatever format."""
    by_model = [any(form.by_model(message) for form in _FORMATS.values()) for message in raw]
    return [*(i for i in range(1, len(raw)) if by_model[i] and not by_model[i - 1]), len(raw)]


def changed(message: Message, text: str, format: str) -> Message:
    """Return a message with a text added to it."""
    return _FORMATS[format].changed(message, text)


def _section(**fields: tuple[Any, ...]) -> st.SearchStrategy[dict[str, Any]]:
    """Any of the fields, each with one of its values."""
    return st.fixed_dictionaries({}, optional={name: st.sampled_from(values) for name, values in fields.items()})


_LIMITS: tuple[Any, ...] = (100, 300, {"limit": 1_000, "per_turn_limit": 400}, {"limit": 5_000})


@st.composite
def configs(draw: st.DrawFn) -> dict[str, dict[str, Any]]:
    """Draw keyword arguments for a configuration with small numbers, so that short histories reach every stage."""
    budget = _section(evict_to=(0.6, 0.3, 0.9), min_messages=(5, 1, 2, 9), payload_chars=(4_800, 200))
    recent = draw(st.integers(0, 10))
    compact = _section(
        interval=(5, 1, 2, 3, None),
        keep_recent_on_eviction=(min(4, recent), 0),
        window_chars=(800, 100, 150, 300),
        drop_reasoning=(True, False),
    )
    tools = _section(
        **{"*": _LIMITS, "code_run": _LIMITS, "mcp__*": _LIMITS},
        file_read=({"limit": 400, "line_limit": 100}, 1_000),
        web_scan=({"limit": 300, "html_limit": 900},),
    )
    anchor = _section(
        summaries=(20, 3, 0),
        summary_chars=(100, 20),
        max_chars=(6_000, 600),
        earlier_lines=(0, 5),
        placement=("user_message", "off", "tool_result"),
        lifetime=("persistent", "ephemeral"),
    )
    chars = draw(st.sampled_from((30_000, 10_000, 5_000, 2_000, 1_000, 300)))
    return {
        "budget": {"chars": chars, "on_exceeded": "report", **draw(budget)},
        "tools": draw(tools),
        "compact": {"keep_recent": recent, **draw(compact)},
        "evict": draw(_section(keep_first=(0, 1, 3), unit=("message", "exchange"))),
        "anchor": draw(anchor),
        "formats": {"openai_chat": {"alternate": draw(st.booleans())}},
    }
