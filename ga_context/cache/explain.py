"""Why a request did not begin with the one before: the first change, its cause, and whose fault it is."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from ga_context.cache.request import Part, Prompt, Segment, Text, part_tokens, shared_length
from ga_context.model import Cause

MissCause = Cause | Literal["tools", "system", "anchor", "time to live", "unknown"]
"""Spec 3.4, and what no report of a session sees."""

CLOCK = re.compile(
    r"\d{1,4}[-/.:]\d{1,2}([-/.:]\d{1,4})?([T ]\d{1,2}:\d\d(:\d\d)?)?|\d{9,13}(\.\d+)?|\d{1,2}:\d\d(:\d\d)?"
)
"""A date, a time of the day, seconds since 1970."""
RANDOM = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F-]{9,}|[0-9a-fA-F]{16,}")
"""A uuid, or another random id."""
WORD_CHARS = 40
"""Characters of a changed word that are shown, and looked at on each side of the change."""


class Change(NamedTuple):
    """The first place where two requests differ."""

    part: Part
    message: int
    """Index in the new request; -1 outside of the messages."""
    char: int
    """Of that message or item, as JSON."""
    tokens: int
    """L_t: shared before it."""
    before: Prompt
    """The segments of that part in the request before, and"""
    now: Prompt
    """in this one."""


def first_change(before: Prompt, now: Prompt) -> Change | None:
    """Return where a request stops being the one before with more behind it; None where it does not."""
    tokens = 0
    for index, old in enumerate(before):
        new = now[index] if index < len(now) else None
        if new is not None and (old.text is new.text or old.text == new.text):
            tokens += new.tokens
            continue
        shared = shared_length(old.text, new.text) if new is not None else 0
        at = new or old
        tokens += part_tokens(new, shared) if new is not None else 0
        part = old.part if new is None or old.part == new.part else _earlier(old.part, new.part)
        char = shared + _chars_before(before, index)
        return Change(part, at.message if part == "messages" else -1, char, tokens, _of(before, part), _of(now, part))
    return None


def _earlier(a: Part, b: Part) -> Part:
    order: Sequence[Part] = ("tools", "system", "messages")
    return min(a, b, key=order.index)


def _of(prompt: Prompt, part: Part) -> list[Segment]:
    return [segment for segment in prompt if segment.part == part] if part != "messages" else []


def _chars_before(prompt: Prompt, index: int) -> int:
    """Return the characters of the segments before this one in its message."""
    start = index
    while start > 0 and prompt[start - 1][2:4] == prompt[index][2:4]:
        start -= 1
    return sum([len(segment.text) for segment in prompt[start:index]])


def callers_fault(change: Change) -> str | None:
    """Say what the caller did to the part of a request that the session passes on as it is; None for messages."""
    if change.part == "tools":
        return _tools(change.before, change.now)
    return _system(change.before, change.now) if change.part == "system" else None


def _tools(before: Prompt, now: Prompt) -> str:
    old, new = [segment.text for segment in before], [segment.text for segment in now]
    if sorted(old, key=str) == sorted(new, key=str):
        return "the same tool definitions in another order: keep them in one order"
    values = [_sorted_keys(text) for text in old], [_sorted_keys(text) for text in new]
    if values[0] == values[1]:
        return "tool definitions with their keys in another order: write them in one order"
    if sorted(values[0]) == sorted(values[1]):
        return "the same tool definitions and their keys in another order: write both in one order"
    names = _names(old), _names(new)
    gone, come = [n for n in names[0] if n not in names[1]], [n for n in names[1] if n not in names[0]]
    said = [f"{word} {', '.join(which)}" for word, which in (("added", come), ("taken out", gone)) if which]
    if not said:
        said = [f"changed {', '.join(n for n, a, b in zip(names[1], old, new, strict=False) if a != b)}"]
    return f"tool definitions {' and '.join(said)}: offer the same tools all the time, and allow fewer by other means"


def _names(texts: Sequence[Text]) -> list[str]:
    return [_name(_loaded(text)) for text in texts]


def _name(tool: Any) -> str:
    """Return the first name in a tool definition, however its provider nests it."""
    while isinstance(tool, dict):
        if isinstance(tool.get("name"), str):
            return str(tool["name"])
        tool = next((inner for inner in tool.values() if isinstance(inner, dict | list)), None)
        tool = tool[0] if isinstance(tool, list) and tool else tool
    return "(unnamed)"


def _loaded(text: Text) -> Any:
    try:
        return json.loads(text) if isinstance(text, str) else text
    except (ValueError, RecursionError):
        return text


def _sorted_keys(text: Text) -> str:
    value = _loaded(text)
    try:
        return json.dumps(value, sort_keys=True)
    except (TypeError, RecursionError):
        return str(text)


def _system(before: Prompt, now: Prompt) -> str:
    old, new = ("\n".join(str(segment.text) for segment in prompt) for prompt in (before, now))
    if not old or not new:
        return "a system prompt that was not there before" if new else "a system prompt that is gone"
    at = shared_length(old, new)
    for kind, what in ((RANDOM, "a random id"), (CLOCK, "a clock")):
        was, is_now = _around(kind, old, at), _around(kind, new, at)
        if was and is_now:
            return f"{what} in the system prompt, {was!r} became {is_now!r}: move it to the end of the newest message"
    return f"the system prompt changed at character {at:,}: {_word(old, at)!r} became {_word(new, at)!r}"


def _around(kind: re.Pattern[str], text: str, at: int) -> str | None:
    """Return what a pattern finds around a character."""
    start = max(0, at - WORD_CHARS)
    found = [m for m in kind.finditer(text, start, at + WORD_CHARS) if m.start() <= at <= m.end()]
    return found[0].group() if found else None


def _word(text: str, at: int) -> str:
    return text[at : at + WORD_CHARS].split("\n")[0]
