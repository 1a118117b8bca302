"""The rules of the Responses API, where a response of the model is a run of items."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from oracle.common import (
    Message,
    Rules,
    Step,
    call_key,
    key_of,
    leaf_fault,
    leaves,
    object_fault,
    repeated,
    side_of_role,
)

CALLS = ("function_call", "custom_tool_call")
"""Calls of the caller's tools; so are those of other types that have a call id."""


def _view(view: list[Message]) -> list[str]:
    rules = (_answered, _ids_in_response, _arguments, _followed, _says_something)
    return [fault for rule in rules for fault in rule(view)]


def _kind(item: Message) -> str:
    return str(item.get("type") or ("message" if "role" in item else "item_reference"))


def _is_call(item: Message) -> bool:
    return _kind(item) in CALLS or (_kind(item).endswith("_call") and item.get("call_id") is not None)


def _is_result(item: Message) -> bool:
    return _kind(item).endswith("_output")


def _side(item: Message) -> str | None:
    """Return the side of an item: what is no message is the model's, but for results."""
    if _kind(item) == "message":
        return side_of_role(item)
    return None if _is_result(item) else "assistant"


def _responses(items: list[Message]) -> Iterator[list[tuple[int, Message]]]:
    """Yield each run of the model's items, with their positions."""
    for by_model, run in groupby(enumerate(items), key=lambda one: _side(one[1]) == "assistant"):
        if by_model:
            yield list(run)


def _newest(items: list[Message]) -> list[Message]:
    """Return the response that ends the list, if one does."""
    run = next(reversed([*_responses(items)]), [])
    return [item for _, item in run] if run and run[-1][0] == len(items) - 1 else []


def _answered(view: list[Message]) -> list[str]:
    found: list[str] = []
    open_calls: list[tuple[int, str]] = []
    referred = False  # a reference may stand for a call that only the server has
    for i, item in enumerate(view):
        id = key_of(item.get("call_id"))
        if not _is_result(item):
            goes_on = i > 0 and _side(item) == _side(view[i - 1]) == "assistant"
            referred = _kind(item) == "item_reference" or (referred and goes_on)
        if _is_call(item):
            open_calls.append((i, id))
        elif _is_result(item):
            call = next((call for call in reversed(open_calls) if call[1] == id), None)
            if call is None and not referred:
                found.append(f"item {i}: result {id!r} without a call before it")
            elif call is not None:
                open_calls.remove(call)
    newest = len(view) - len(_newest(view))
    return found + [f"item {i}: no result for call {id!r}" for i, id in open_calls if i < newest]


def _ids_in_response(view: list[Message]) -> list[str]:
    found = []
    for run in _responses(view):
        ids = [item.get("call_id") for _, item in run if _is_call(item)]
        found += [f"item {run[0][0]}: repeated id {id!r} in one response" for id in repeated(ids)]
        found += [f"item {run[0][0]}: a call without an id" for id in ids if not isinstance(id, str)]
    return found


def _arguments(view: list[Message]) -> list[str]:
    checked = [(i, object_fault(m.get("arguments"))) for i, m in enumerate(view) if _kind(m) == "function_call"]
    return [f"item {i}: {fault}" for i, fault in checked if fault]


def _followed(view: list[Message]) -> list[str]:
    last = [run[-1] for run in _responses(view)]
    return [f"item {i}: reasoning that no item follows" for i, item in last if _kind(item) == "reasoning"]


def _says_something(view: list[Message]) -> list[str]:
    said = [(i, item) for i, item in enumerate(view) if _kind(item) == "message" and item.get("role") == "assistant"]
    return [f"item {i}: an assistant message with nothing in it" for i, item in said if not item.get("content")]


def _texts_in(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    parts = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    return [part["text"] for part in parts if isinstance(part.get("text"), str)]


def _texts(item: Message) -> list[str]:
    return _texts_in(item.get("content")) if _kind(item) == "message" else []


def _calls(item: Message) -> list[tuple[Any, Any]]:
    """Return name and arguments of a call; a text of arguments as a tuple of one, to tell it from a custom input."""
    if not _is_call(item):
        return []
    if _kind(item) == "function_call":
        return [(item.get("name"), (item.get("arguments"),))]
    asked = {key: value for key, value in item.items() if key in ("input", "action")}
    return [(item.get("name") or _kind(item), asked)]


def _steps(items: list[Message]) -> list[Step]:
    """Return the steps with each response and each run of results as one."""
    steps: list[Step] = []
    for kind, run in groupby(items, key=lambda item: (_side(item) == "assistant", _is_result(item))):
        group = list(run)
        calls = [(key_of(item.get("call_id")), call_key(*call)) for item in group for call in _calls(item)]
        results = [(key_of(m.get("call_id")), "\n".join(_texts_in(m.get("output")))) for m in group if _is_result(m)]
        steps += [(calls, results)] if any(kind) else [([], []) for _ in group]
    return steps


# What stays or goes together


def _relation(raw: list[Message], view: list[Message]) -> list[str]:
    return [*_changed_reasoning(raw, view), *_torn_response(raw, view), *_lost_open_reasoning(raw, view)]


def _bytes(item: Message) -> str:
    return json.dumps(item)


def _is_bound(item: Message) -> bool:
    """Say whether an item is reasoning that the provider knows again."""
    return _kind(item) == "reasoning" and bool(item.get("id") or item.get("encrypted_content"))


def _changed_reasoning(raw: list[Message], view: list[Message]) -> list[str]:
    known = {_bytes(item) for item in raw if _is_bound(item)}
    pairs = [(i, _bytes(item)) for i, item in enumerate(view) if _is_bound(item)]
    return [f"item {i}: reasoning was changed: {text[:60]}" for i, text in pairs if text not in known]


def _kept_whole(run: list[tuple[int, Message]]) -> list[Message]:
    """Return what must stay together of a response: not what no provider takes, nor reasoning at its end."""
    items = [item for _, item in run if _kind(item) != "message" or item.get("content")]
    while items and _kind(items[-1]) == "reasoning":
        items.pop()
    return [m for m in items if _kind(m) != "reasoning" or not any(leaf_fault(leaf) for leaf in leaves(m))]


def _torn_response(raw: list[Message], view: list[Message]) -> list[str]:
    """Find a response of which some items with an id of their own stayed and some went: it is all of them or none."""
    counts = Counter(key_of(item["id"]) for item in raw if item.get("id"))
    seen = {key_of(item["id"]) for item in view if item.get("id")}
    found = []
    for run in _responses(raw):
        ids = [key_of(item["id"]) for item in _kept_whole(run) if item.get("id")]
        judged = [id for id in ids if counts[id] == 1 and leaf_fault(id) is None]
        gone = [id for id in judged if id not in seen]
        if 0 < len(gone) < len(judged):
            found.append(f"raw item {run[0][0]}: a response was torn apart, without {gone[:3]}")
    return found


def _lost_open_reasoning(raw: list[Message], view: list[Message]) -> list[str]:
    """Find reasoning of the newest response with calls that is gone."""
    runs = [run for run in _responses(raw) if any(_is_call(item) for _, item in run)]
    bound = [_bytes(item) for item in _kept_whole(runs[-1]) if _is_bound(item)] if runs else []
    seen = {_bytes(item) for item in view}
    return [f"reasoning of the open loop is gone: {text[:60]}" for text in bound if text not in seen]


RULES = Rules(
    roles=frozenset({"system", "developer", "user", "assistant", None}),
    view=_view,
    texts=_texts,
    calls=_calls,
    side=_side,
    steps=_steps,
    relation=_relation,
    newest=_newest,
)
