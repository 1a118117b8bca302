"""The rules of chat completions."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

from oracle.common import (
    Message,
    Rules,
    Step,
    block_text,
    block_texts,
    call_key,
    is_content,
    key_of,
    object_fault,
    repeated,
    side_of_role,
)


def _view(view: list[Message]) -> list[str]:
    rules = (_answered_after, _ids_in_message, _arguments, _says_something, _tool_texts)
    return [fault for rule in rules for fault in rule(view)]


def _tool_calls(message: Message) -> list[Message]:
    """Return the tool calls of an assistant message in the form of openai-chat."""
    calls = message.get("tool_calls") if message.get("role") == "assistant" else None
    return [call for call in calls or [] if isinstance(call, dict)]


def _answered_after(view: list[Message]) -> list[str]:
    found: list[str] = []
    owner, asked = 0, Counter[str]()
    for i, message in enumerate(view):
        if message.get("role") == "tool":
            id = key_of(message.get("tool_call_id"))
            if asked[id] < 1:
                found.append(f"message {i}: result {id!r} without a call right before")
            asked[id] -= 1
        else:
            found += _unanswered(owner, asked)
            owner, asked = i, Counter(key_of(call.get("id")) for call in _tool_calls(message))
    return found + (_unanswered(owner, asked) if owner < len(view) - 1 else [])


def _unanswered(owner: int, asked: Counter[str]) -> list[str]:
    return [f"message {owner}: no result for call {id!r}" for id in +asked]


def _ids_in_message(view: list[Message]) -> list[str]:
    found = []
    for i, message in enumerate(view):
        ids = [call.get("id") for call in _tool_calls(message)]
        found += [f"message {i}: a call without an id" for id in ids if not isinstance(id, str)]
        found += [f"message {i}: repeated id {id!r}" for id in repeated(ids)]
    return found


def _arguments(view: list[Message]) -> list[str]:
    functions = [
        (i, function)
        for i, message in enumerate(view)
        for function in [*(c.get("function") for c in _tool_calls(message)), message.get("function_call")]
        if isinstance(function, dict)
    ]
    checked = [(i, object_fault(function.get("arguments"))) for i, function in functions]
    return [f"message {i}: {fault}" for i, fault in checked if fault]


def _says_something(view: list[Message]) -> list[str]:
    keys = ("content", "tool_calls", "function_call", "refusal", "audio")
    return [
        f"message {i}: an assistant message with nothing in it"
        for i, message in enumerate(view)
        if message.get("role") == "assistant" and not any(message.get(key) for key in keys)
    ]


def _tool_texts(view: list[Message]) -> list[str]:
    tools = [(i, m.get("content")) for i, m in enumerate(view) if m.get("role") == "tool"]
    return [f"message {i}: the content of a result is no text" for i, content in tools if not is_content(content)]


def template_faults(view: list[Message]) -> list[str]:
    """Find two of a role in a row, and an answer before any question; old function calls are left out of account."""
    found = [
        f"message {i}: a second {b['role']!r} in a row"
        for i, (a, b) in enumerate(pairwise(view), 1)
        if a["role"] == b["role"] in ("user", "assistant") and not (a.get("function_call") or b.get("function_call"))
    ]
    first = next((message for message in view if message["role"] not in ("system", "developer")), None)
    if first is not None and first["role"] not in ("user", "function"):
        found.append(f"the first role behind the system messages is {first['role']!r}")
    return found


def _calls(message: Message) -> list[tuple[Any, Any]]:
    """Return name and arguments of each call; a text of arguments as a tuple of one, to tell it from a custom input."""
    found = []
    for call in _tool_calls(message):
        function, custom = call.get("function"), call.get("custom")
        if isinstance(function, dict):
            found.append((function.get("name"), (function.get("arguments"),)))
        elif isinstance(custom, dict):
            found.append((custom.get("name"), {"input": custom.get("input")}))
        else:
            found.append((call.get("type"), {key: value for key, value in call.items() if key != "id"}))
    return found


def _steps(messages: list[Message]) -> list[Step]:
    """Return the steps with each run of tool messages as one."""
    steps: list[Step] = []
    for before, message in zip([{}, *messages], messages, strict=False):
        result = message.get("role") == "tool"
        if not (result and before.get("role") == "tool"):
            ids = [key_of(call.get("id")) for call in _tool_calls(message)]
            keys = [call_key(*call) for call in _calls(message)]
            steps.append((list(zip(ids, keys, strict=False)), []))
        if result:
            steps[-1][1].append((key_of(message.get("tool_call_id")), block_text(message)))
    return steps


RULES = Rules(
    roles=frozenset({"system", "developer", "user", "assistant", "tool", "function"}),
    view=_view,
    texts=block_texts,
    calls=_calls,
    side=side_of_role,
    steps=_steps,
)
