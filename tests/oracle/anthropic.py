"""The rules of the Messages API."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import Any

from oracle.common import (
    Message,
    Rules,
    Step,
    block_text,
    block_texts,
    blocks,
    call_key,
    is_a,
    is_content,
    key_of,
    repeated,
    side_of_role,
)
from oracle.reasoning import reasoning_faults

CACHE_MARKS = 4
_ID = re.compile("[a-zA-Z0-9_-]+")


def _view(view: list[Message]) -> list[str]:
    order = (_first_user, _alternate, _answered_next, _results_first)
    content = (_blank_content, _trailing_space, _call_ids, _inputs, _marks, _reasoning_places, _result_texts)
    return [fault for rule in (*order, *content) for fault in rule(view)]


def _first_user(view: list[Message]) -> list[str]:
    return [f"message 0: first role is {view[0].get('role')!r}"] if view and view[0].get("role") != "user" else []


def _alternate(view: list[Message]) -> list[str]:
    roles = [message.get("role") for message in view]
    return [f"message {i}: a second {b!r} in a row" for i, (a, b) in enumerate(pairwise(roles), 1) if a == b]


def _answered_next(view: list[Message]) -> list[str]:
    found: list[str] = []
    asked: Counter[str] = Counter()
    for i, message in enumerate(view):
        calls, results = _ids(message, "tool_use", "id"), _ids(message, "tool_result", "tool_use_id")
        found += [f"message {i}: no result for call {id!r} of message {i - 1}" for id in asked - results]
        found += [f"message {i}: result {id!r} without a call in the message before" for id in results - asked]
        if calls and message.get("role") != "assistant":
            found.append(f"message {i}: a call by {message.get('role')!r}")
        if results and message.get("role") != "user":
            found.append(f"message {i}: a result by {message.get('role')!r}")
        asked = calls
    return found


def _ids(message: Message, type: str, key: str) -> Counter[str]:
    return Counter(key_of(b.get(key)) for b in blocks(message) if is_a(b, type))


def _results_first(view: list[Message]) -> list[str]:
    found = []
    for i, message in enumerate(view):
        results = [is_a(b, "tool_result") for b in blocks(message)]
        if results != sorted(results, reverse=True):
            found.append(f"message {i}: a result after other content")
    return found


def _blank_content(view: list[Message]) -> list[str]:
    found = []
    for i, message in enumerate(view):
        if not blocks(message):
            found.append(f"message {i}: empty content")
        for block in _all_blocks(message):
            if not isinstance(block, dict):
                found.append(f"message {i}: a block that is no dict")
            elif is_a(block, "text") and not str(block.get("text") or "").strip():
                found.append(f"message {i}: blank text block")
    return found


def _all_blocks(message: Message) -> list[Any]:
    """Return the blocks of a message and those inside its results."""
    top = blocks(message)
    inner = [b["content"] for b in top if is_a(b, "tool_result") and isinstance(b.get("content"), list | tuple)]
    return [*top, *(block for content in inner for block in content)]


def _trailing_space(view: list[Message]) -> list[str]:
    if not view or view[-1].get("role") != "assistant" or not blocks(view[-1]):
        return []
    last = blocks(view[-1])[-1]
    text = str(last.get("text") or "") if is_a(last, "text") else ""
    return [f"message {len(view) - 1}: the last text ends in white space"] if text != text.rstrip() else []


def _call_ids(view: list[Message]) -> list[str]:
    ids = [(i, b.get("id")) for i, message in enumerate(view) for b in blocks(message) if is_a(b, "tool_use")]
    legal = [isinstance(id, str) and _ID.fullmatch(id) is not None for _, id in ids]
    found = [f"message {i}: illegal id {id!r}" for (i, id), ok in zip(ids, legal, strict=True) if not ok]
    return found + [f"repeated id {id!r}" for id in repeated(id for _, id in ids)]


def _inputs(view: list[Message]) -> list[str]:
    calls = [(i, b) for i, message in enumerate(view) for b in blocks(message) if is_a(b, "tool_use")]
    wrong = [(i, b.get("id")) for i, b in calls if not isinstance(b.get("input"), dict)]
    return [f"message {i}: the input of {id!r} is no object" for i, id in wrong]


def _marks(view: list[Message]) -> list[str]:
    marked = [b for message in view for b in _all_blocks(message) if isinstance(b, dict) and b.get("cache_control")]
    return [f"{len(marked)} cache_control, at most {CACHE_MARKS}"] if len(marked) > CACHE_MARKS else []


def _reasoning_places(view: list[Message]) -> list[str]:
    """Find reasoning that no reply holds, and a reply that ends in it (not in spec 6: the API's own error says so)."""
    kinds = ("thinking", "redacted_thinking")
    users = [i for i, m in enumerate(view) if m.get("role") == "user" and any(is_a(b, *kinds) for b in blocks(m))]
    ends = [i for i, m in enumerate(view) if m.get("role") == "assistant" and is_a((blocks(m) or [None])[-1], *kinds)]
    found = [f"message {i}: reasoning in a message of the user's" for i in users]
    return found + [f"message {i}: the reply ends in reasoning" for i in ends]


def _result_texts(view: list[Message]) -> list[str]:
    results = [(i, b) for i, message in enumerate(view) for b in blocks(message) if is_a(b, "tool_result")]
    wrong = [(i, b.get("tool_use_id")) for i, b in results if not is_content(b.get("content", ""))]
    return [f"message {i}: the content of result {id!r} is no text and no list of blocks" for i, id in wrong]


def _calls(message: Message) -> list[tuple[Any, Any]]:
    said = blocks(message) if message.get("role") == "assistant" else []
    return [(b.get("name"), b.get("input")) for b in said if is_a(b, "tool_use")]


def _steps(messages: list[Message]) -> list[Step]:
    steps: list[Step] = []
    for message in messages:
        role = message.get("role")
        calls = [b for b in blocks(message) if role == "assistant" and is_a(b, "tool_use")]
        results = [b for b in blocks(message) if role == "user" and is_a(b, "tool_result")]
        steps.append(
            (
                [(key_of(b.get("id")), call_key(b.get("name"), b.get("input"))) for b in calls],
                [(key_of(b.get("tool_use_id")), block_text(b)) for b in results],
            )
        )
    return steps


def _signed(message: Message) -> list[Message]:
    """Return the blocks of reasoning that a provider checks byte for byte."""
    return [b for b in blocks(message) if is_a(b, "redacted_thinking") or (is_a(b, "thinking") and b.get("signature"))]


def _calls_something(message: Message) -> bool:
    return message.get("role") == "assistant" and bool(_ids(message, "tool_use", "id"))


def _relation(raw: list[Message], view: list[Message]) -> list[str]:
    return reasoning_faults(raw, view, _signed, _calls_something)


RULES = Rules(
    roles=frozenset({"user", "assistant"}),
    view=_view,
    texts=block_texts,
    calls=_calls,
    side=side_of_role,
    steps=_steps,
    relation=_relation,
)
