"""The rules of generateContent, whose keys come in camelCase or, from the Python SDK, in snake_case."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from typing import Any

from oracle.common import Message, Rules, Step, call_key, leaf_fault, leaves
from oracle.reasoning import reasoning_faults

_SIDES = {None: "user", "user": "user", "function": "user", "model": "assistant"}


def _parts(message: Message) -> list[Message]:
    return [part for part in message.get("parts") or [] if isinstance(part, dict)]


def _under(item: Message, camel: str, snake: str) -> Any:
    value = item.get(camel)
    return item.get(snake) if value is None else value


def _calls_in(message: Message) -> list[Message]:
    found = [_under(part, "functionCall", "function_call") for part in _parts(message)]
    return [call for call in found if isinstance(call, dict)]


def _results_in(message: Message) -> list[Message]:
    found = [_under(part, "functionResponse", "function_response") for part in _parts(message)]
    return [result for result in found if isinstance(result, dict)]


def _signature(part: Message) -> Any:
    return _under(part, "thoughtSignature", "thought_signature")


def _side(message: Message) -> str | None:
    return _SIDES.get(message.get("role"))


def _view(view: list[Message]) -> list[str]:
    rules = (_first_user, _call_turns, _answered_next, _results_alone, _ids_in_message, _objects, _nothing_left)
    return [fault for rule in rules for fault in rule(view)]


def _first_user(view: list[Message]) -> list[str]:
    if view and (_side(view[0]) != "user" or _results_in(view[0])):
        return [f"message 0: first is {view[0].get('role')!r} with {len(_results_in(view[0]))} results"]
    return []


def _call_turns(view: list[Message]) -> list[str]:
    found = []
    for i, (before, message) in enumerate(pairwise(view), 1):
        if _calls_in(message) and _side(before) != "user":
            found.append(f"message {i}: a call turn after {before.get('role')!r}")
    return found


def _answered_next(view: list[Message]) -> list[str]:
    """Find turns of calls that are not followed by as many results of the same tools, and results after no call."""
    found: list[str] = []
    asked: Counter[Any] = Counter()
    for i, message in enumerate(view):
        calls, results = (Counter(repr(f.get("name")) for f in of(message)) for of in (_calls_in, _results_in))
        if asked != results:
            found.append(f"message {i}: results of {sorted(results.elements())} for calls {sorted(asked.elements())}")
        if calls and _side(message) != "assistant":
            found.append(f"message {i}: a call by {message.get('role')!r}")
        if results and _side(message) != "user":
            found.append(f"message {i}: a result by {message.get('role')!r}")
        asked = calls
    return found


def _results_alone(view: list[Message]) -> list[str]:
    """Find other parts beside results: the turn of the responses is one, that of the user another."""
    mixed = [i for i, m in enumerate(view) if _results_in(m) and len(_results_in(m)) < len(m["parts"])]
    return [f"message {i}: other parts beside results" for i in mixed]


def _ids_in_message(view: list[Message]) -> list[str]:
    """Find ids repeated inside a message, but for those of signed parts, which nobody may change."""
    found = []
    for i, message in enumerate(view):
        seen: set[Any] = set()
        for part in _parts(message):
            call = _under(part, "functionCall", "function_call") or {}
            if call.get("id") in seen and not _signature(part):
                found.append(f"message {i}: repeated id {call['id']!r}")
            seen |= {call.get("id")} - {None, ""}
    return found


def _objects(view: list[Message]) -> list[str]:
    wrong = []
    for i, message in enumerate(view):
        for part in _parts(message):
            call = _under(part, "functionCall", "function_call")
            legal = (
                call is None or isinstance(call.get("args"), dict) or (_signature(part) and call.get("args") is None)
            )
            if not legal:
                wrong.append(f"message {i}: args are no object")
        if not all(isinstance(result.get("response"), dict) for result in _results_in(message)):
            wrong.append(f"message {i}: a response that is no object")
    return wrong


def _nothing_left(view: list[Message]) -> list[str]:
    return [f"message {i}: no parts" for i, message in enumerate(view) if not _parts(message)]


def _texts(message: Message) -> list[str]:
    return [p["text"] for p in _parts(message) if isinstance(p.get("text"), str) and not p.get("thought")]


def _own_calls(message: Message) -> list[Message]:
    return _calls_in(message) if _side(message) == "assistant" else []


def _calls(message: Message) -> list[tuple[Any, Any]]:
    return [(call.get("name"), {} if call.get("args") is None else call["args"]) for call in _own_calls(message)]


def _said(result: Message) -> str:
    """Return the text of a result that holds one, else its JSON."""
    response = result.get("response")
    texts = [value for value in response.values() if isinstance(value, str)] if isinstance(response, dict) else []
    return texts[0] if len(texts) == 1 else json.dumps(response, ensure_ascii=False)


def _steps(messages: list[Message]) -> list[Step]:
    """Return calls and results by tool and id, messages of the model in a row as one.

    A result that may have been meant for either of two calls has an id that no call has: of a tool that shows ids and
    does without, or with an id that two tools show.
    """
    functions = [function for message in messages for function in (*_calls_in(message), *_results_in(message))]
    shown = {(f.get("name"), f.get("id") or None) for f in functions}
    unsure = {name for name, id in shown if id is None and any(other == name and i for other, i in shown)}
    unsure |= {id for name, id in shown if id and any(i == id and other != name for other, i in shown)}
    steps: list[Step] = []
    before = None
    for message in messages:
        if not steps or _side(message) != "assistant" or before != "assistant":
            steps.append(([], []))
        before = _side(message)
        keys = [call_key(*call) for call in _calls(message)]
        steps[-1][0].extend(zip(map(_tool_and_id, _own_calls(message)), keys, strict=True))
        results = _results_in(message) if before == "user" else []
        for result in results:
            sure = unsure.isdisjoint({result.get("name"), result.get("id")})
            steps[-1][1].append((_tool_and_id(result) if sure else "whose?", _said(result)))
    return steps


def _tool_and_id(function: Message) -> str:
    return f"{function.get('name')} {function.get('id') or ''}"


def _signed(message: Message) -> list[Message]:
    return [part for part in _parts(message) if _signature(part)]


def _relation(raw: list[Message], view: list[Message]) -> list[str]:
    found = reasoning_faults(raw, view, _signed, lambda message: bool(_own_calls(message)))
    return [*found, *_apart_from_signature(raw, view)]


def _apart_from_signature(raw: list[Message], view: list[Message]) -> list[str]:
    """Find messages whose signed parts left while others of their parts stayed: they leave together."""
    counts = Counter(json.dumps(part) for message in raw for part in _parts(message))
    seen = {json.dumps(part) for message in view for part in _parts(message)}
    found = []
    for i, message in enumerate(raw):
        signed = [json.dumps(part) for part in _signed(message)]
        rest = [json.dumps(part) for part in _parts(message) if not _signature(part)]
        lost = [part for part in signed if part not in seen]
        kept = [part for part in rest if part in seen and counts[part] == 1]
        if lost and kept and not any(leaf_fault(leaf) for part in _signed(message) for leaf in leaves(part)):
            found.append(f"raw message {i}: its signature left without {kept[0][:60]}")
    return found


RULES = Rules(
    roles=frozenset(_SIDES),
    view=_view,
    texts=_texts,
    calls=_calls,
    side=_side,
    steps=_steps,
    relation=_relation,
)
