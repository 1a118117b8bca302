"""The rules of the Converse API."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import Any

from oracle.common import Message, Rules, Step, call_key, key_of, repeated, side_of_role
from oracle.reasoning import reasoning_faults

CACHE_POINTS = 4
_ID = re.compile("[a-zA-Z0-9_-]{1,64}")


def _view(view: list[Message]) -> list[str]:
    order = (_first_user, _alternate, _answered_next)
    content = (_lists, _blank_content, _lone_documents, _call_ids, _inputs, _cache_points)
    return [fault for rule in (*order, *content) for fault in rule(view)]


def _blocks(message: Message) -> list[Any]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"text": content}]
    return list(content) if isinstance(content, list | tuple) else []


def _all(message: Message, key: str) -> list[Any]:
    """Return what stands under a key of the blocks of a message."""
    return [block[key] for block in _blocks(message) if isinstance(block, dict) and key in block]


def _calls_of(message: Message) -> list[Message]:
    """Return the calls that the caller's tools answer."""
    return [use for use in _all(message, "toolUse") if isinstance(use, dict) and "type" not in use]


def _results_of(message: Message) -> list[Message]:
    found = [result for result in _all(message, "toolResult") if isinstance(result, dict)]
    return [result for result in found if message.get("role") == "user" or "type" not in result]


def _first_user(view: list[Message]) -> list[str]:
    return [f"message 0: first role is {view[0].get('role')!r}"] if view and view[0].get("role") != "user" else []


def _alternate(view: list[Message]) -> list[str]:
    roles = [message.get("role") for message in view]
    return [f"message {i}: a second {b!r} in a row" for i, (a, b) in enumerate(pairwise(roles), 1) if a == b]


def _answered_next(view: list[Message]) -> list[str]:
    found: list[str] = []
    asked: Counter[str] = Counter()
    for i, message in enumerate(view):
        calls, results = _ids(_calls_of(message)), _ids(_results_of(message))
        found += [f"message {i}: no result for call {id!r} of message {i - 1}" for id in asked - results]
        found += [f"message {i}: result {id!r} without a call in the message before" for id in results - asked]
        if calls and message.get("role") != "assistant":
            found.append(f"message {i}: a call by {message.get('role')!r}")
        if results and message.get("role") != "user":
            found.append(f"message {i}: a result by {message.get('role')!r}")
        asked = calls
    return found


def _ids(items: list[Message]) -> Counter[str]:
    return Counter(key_of(item.get("toolUseId")) for item in items)


def _lists(view: list[Message]) -> list[str]:
    return [f"message {i}: content is no list" for i, m in enumerate(view) if not isinstance(m.get("content"), list)]


def _blank_content(view: list[Message]) -> list[str]:
    found = []
    for i, message in enumerate(view):
        results = [result.get("content") for result in _results_of(message)]
        if len(_all(message, "cachePoint")) == len(_blocks(message)) or not all(results):
            found.append(f"message {i}: empty content")
        texts = [*_all(message, "text"), *(text for items in results for text in _all({"content": items}, "text"))]
        found += [f"message {i}: blank text" for text in texts if not str(text or "").strip()]
    return found


def _lone_documents(view: list[Message]) -> list[str]:
    lone = [bool(_all(message, "document")) and not _all(message, "text") for message in view]
    return [f"message {i}: a document without a text" for i, is_lone in enumerate(lone) if is_lone]


def _call_ids(view: list[Message]) -> list[str]:
    ids = [(i, call.get("toolUseId")) for i, message in enumerate(view) for call in _calls_of(message)]
    legal = [isinstance(id, str) and _ID.fullmatch(id) is not None for _, id in ids]
    found = [f"message {i}: illegal id {id!r}" for (i, id), ok in zip(ids, legal, strict=True) if not ok]
    return found + [f"repeated id {id!r}" for id in repeated(id for _, id in ids)]


def _inputs(view: list[Message]) -> list[str]:
    calls = [(i, call) for i, message in enumerate(view) for call in _calls_of(message)]
    wrong = [(i, call.get("toolUseId")) for i, call in calls if not isinstance(call.get("input"), dict)]
    return [f"message {i}: the input of {id!r} is no object" for i, id in wrong]


def _cache_points(view: list[Message]) -> list[str]:
    count = sum(len(_all(message, "cachePoint")) for message in view)
    return [f"{count} cachePoint, at most {CACHE_POINTS}"] if count > CACHE_POINTS else []


def _texts(message: Message) -> list[str]:
    return [text for text in _all(message, "text") if isinstance(text, str)]


def _calls(message: Message) -> list[tuple[Any, Any]]:
    return [(call.get("name"), call.get("input")) for call in _calls_of(message)]


def _steps(messages: list[Message]) -> list[Step]:
    steps: list[Step] = []
    for message in messages:
        calls, results = _calls_of(message), _results_of(message)
        steps.append(
            (
                [(key_of(c.get("toolUseId")), call_key(c.get("name"), c.get("input"))) for c in calls],
                [(key_of(r.get("toolUseId")), "\n".join(_texts({"content": r.get("content")}))) for r in results],
            )
        )
    return steps


def _reasoning(message: Message) -> list[Message]:
    """Return the blocks of reasoning, all of which are left as they are or out."""
    if message.get("role") != "assistant":
        return []
    return [block for block in _blocks(message) if isinstance(block, dict) and "reasoningContent" in block]


def _relation(raw: list[Message], view: list[Message]) -> list[str]:
    return reasoning_faults(raw, view, _reasoning, lambda message: bool(_calls_of(message)))


RULES = Rules(
    roles=frozenset({"user", "assistant"}),
    view=_view,
    texts=_texts,
    calls=_calls,
    side=side_of_role,
    steps=_steps,
    relation=_relation,
    binary=True,
)
