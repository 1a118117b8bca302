"""What is no history: JSON-like garbage of any type at any place, and histories that were damaged."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

from histories import FORMATS, histories

KEYS = (
    *("role", "content", "type", "text", "parts", "id", "name", "input", "arguments", "function", "tool_calls"),
    *("tool_call_id", "tool_use_id", "call_id", "output", "source", "data", "thinking", "signature", "summary"),
    *("functionCall", "functionResponse", "function_call", "args", "response", "thoughtSignature", "inlineData"),
    *("toolUse", "toolResult", "toolUseId", "reasoningContent", "cachePoint", "cache_control", "image", "document"),
    *("image_url", "input_audio", "file", "refusal", "reasoning_content", "encrypted_content", "status", "json"),
)
"""Words of all formats."""
VALUES = (
    *("user", "assistant", "system", "developer", "model", "tool", "function", "message", "text", "tool_use"),
    *("tool_result", "thinking", "redacted_thinking", "image", "document", "base64", "function_call", "custom"),
    *("function_call_output", "reasoning", "item_reference", "input_text", "output_text", "input_image", "c1", "{}"),
    *("", " ", "\x00", "\ud800", "half \udfff", "[" * 2_000, "data:image/png;base64,AAAA", '{"n": NaN}', "<tool_use>"),
)
ODD = (10**4_000, -(2**63) - 1, float("nan"), float("inf"), -0.0, 1e308, b"", b"\xff\x00", bytearray(b"x"), object())
"""Scalars that are no JSON, or barely; bytes are a matter of the format."""

words = st.one_of(st.sampled_from(VALUES), st.text(max_size=4))
scalars = st.one_of(words, words, st.none(), st.booleans(), st.integers(), st.sampled_from(ODD))
keys = st.one_of(*[st.sampled_from(KEYS)] * 6, st.text(max_size=3), st.sampled_from((0, None, True, 1.5, b"k", (1, 2))))


def _holding(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    lists = st.lists(inner, max_size=4)
    return st.one_of(st.dictionaries(keys, inner, max_size=5), lists, lists.map(tuple), st.just({1, "set"}))


values = st.recursive(scalars, _holding, max_leaves=12)
roles = st.sampled_from(VALUES[:7])
near = st.fixed_dictionaries({"role": roles}, optional={"content": values, "parts": values, "tool_calls": values})
"""Messages with a role, under whose other keys anything may stand."""
messages = st.lists(st.one_of(near, near, st.dictionaries(keys, values, max_size=5), values), max_size=6)


def deep(levels: int, kind: type) -> Any:
    """Return lists or dicts within each other, as many as `levels`."""
    value: Any = "bottom"
    for _ in range(levels):
        value = [value] if kind is list else {"content": value}
    return value


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield (container, key) of all that stands in JSON data."""
    stack = [value]
    while stack:
        item = stack.pop()
        inside = item.items() if isinstance(item, dict) else enumerate(item) if isinstance(item, list) else ()
        for key, inner in inside:
            yield item, key
            stack.append(inner)


@st.composite
def damaged(draw: st.DrawFn, format: str) -> list[Any]:
    """Draw a history of a format, in a few places of which something stands by somebody who knows nothing of it."""
    raw = copy.deepcopy(draw(histories(format, max_turns=6)))
    for _ in range(draw(st.integers(1, 3))):
        if where := list(places(raw)):
            holder, key = where[draw(st.integers(0, len(where) - 1))]
            _wound(draw, holder, key, draw(st.sampled_from(("replace", "drop", "rename", *MISPLACED))))
    return raw


@st.composite
def worn(draw: st.DrawFn, format: str) -> list[Any]:
    """Draw a history of a format that lost, doubled or mixed up what its lists hold, and whose words were changed.

    Its shape is known: under every key stands what the format has there, a role and a type say what they said.
    """
    raw = copy.deepcopy(draw(histories(format, max_turns=6)))
    for _ in range(draw(st.integers(1, 4))):
        where = [place for place in places(raw) if isinstance(place[0], list) or _is_word(*place)]
        if where:
            holder, key = where[draw(st.integers(0, len(where) - 1))]
            kind = draw(st.sampled_from(("drop", *MISPLACED))) if isinstance(holder, list) else "reword"
            _wound(draw, holder, key, kind)
    return raw


MISPLACED = ("twice", "swap")
"""What happens in lists alone."""
NAMES = ("role", "type", "format", "mode", "detail", "status")
"""Keys under which only some words may stand."""


def _is_word(holder: Any, key: Any) -> bool:
    return isinstance(holder, dict) and isinstance(holder[key], str) and key not in NAMES


def _wound(draw: st.DrawFn, holder: Any, key: Any, kind: str) -> None:
    if kind == "replace":
        holder[key] = draw(values)
    elif kind == "reword":
        holder[key] = draw(words)
    elif kind == "drop":
        del holder[key]
    elif kind == "rename" and isinstance(holder, dict):
        holder[draw(keys)] = holder.pop(key)
    elif kind == "twice" and isinstance(holder, list):
        holder.insert(key, copy.deepcopy(holder[key]))
    elif kind == "swap" and isinstance(holder, list):
        other = draw(st.integers(0, len(holder) - 1))
        holder[key], holder[other] = holder[other], holder[key]


__all__ = ["FORMATS", "damaged", "deep", "messages", "worn"]
