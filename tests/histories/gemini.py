"""Turns as generateContent has them, in camelCase or, as the Python SDK writes them, in snake_case."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterator
from typing import Any

from histories.common import PIXEL, Format
from histories.turns import Call, Message, Turn, answered_now, arguments_of, name_of, output_of, zip_calls

_SNAKE = {
    "functionCall": "function_call",
    "functionResponse": "function_response",
    "thoughtSignature": "thought_signature",
    "inlineData": "inline_data",
    "mimeType": "mime_type",
}


def _spelled(value: Any, snake: bool) -> Any:
    """Return a part in snake_case, where that is asked for; what tools take and give stays as it is."""
    if not snake or not isinstance(value, dict):
        return value
    kept = ("args", "response")
    return {_SNAKE.get(key, key): inner if key in kept else _spelled(inner, snake) for key, inner in value.items()}


def _image() -> Message:
    data = b64encode(b64decode(PIXEL) * 20).decode()
    return {"inlineData": {"mimeType": "image/png", "data": data}}


def _shown(id: str, name: str) -> Message:
    """Return the id of a call or result; every third shows none, as in lists that were made for older models."""
    return {} if name.endswith("2") or not id else {"id": id}


def _result(call: Call, id: str, name: str) -> Message:
    return {"role": "user", "parts": [_answer(call, id, name)]}


def _answer(call: Call, id: str, name: str) -> Message:
    text = output_of(call, name)
    responses: dict[str, Any] = {
        "string": {"output": text},
        "list": {"stdout": text, "stderr": "end of output", "code": 0},
        "image": {"result": text, "ok": True},
        "blank": {"output": " "},
        "empty": {} if call.named else {"output": ""},
        "missing": {"code": 0, "rows": [1, 2.5]},
        "object": text if call.named else [text, 0],
    }
    response = {} if call.shape == "blank" and not call.named else {"response": responses[call.shape]}
    parts = {"parts": [_image()]} if call.shape == "image" else {}
    return {"functionResponse": {**_shown(id, name), "name": call.tool, **response, **parts}}


def _signed(words: str) -> Message:
    return {"thoughtSignature": b64encode(words.encode()).decode()}


def _call(call: Call, id: str, name: str, signature: Message) -> Message:
    given = _broken(call.broken) if call.broken is not None else arguments_of(call, name)
    body = {**_shown(id, name), "name": call.tool, "args": given}
    return {"functionCall": body, **(signature if isinstance(given, dict) and _encodes(body) else {})}


def _broken(text: str) -> Any:
    return text or None


def _encodes(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _thoughts(turn: Turn, number: int) -> list[Message]:
    """Return the summaries of thoughts; who signs them signs the first call or the last text too."""
    found = []
    for i, kind in enumerate(turn.reasoning):
        text = f"thought {number} {i} " * 90 + ("\ud800" if kind == "half" else "")
        signed = {} if kind in ("unsigned", "redacted") else _signed(f"thought {number} {i}")
        found.append({"text": "" if kind == "empty" else text, "thought": True, **signed})
    return found


def _odd(turn: Turn, number: int) -> list[Message]:
    """Return parts that only pass through, or that stand on the wrong side."""
    if turn.kind == "model" and turn.odd == "server":
        ran = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "o" * 900}}
        return [{"executableCode": {"language": "PYTHON", "code": f"print({number})" * 90}}, ran]
    if turn.kind == "model" and turn.odd == "image":
        return [{**_image(), **_signed(f"image {number}")}]
    if turn.odd == "unknown":
        return [{"futurePart": {"text": "", "parts": []}, "zeta": 1, "alpha": 2}]
    if turn.odd == "wrong side":
        wrong = _call(Call(), f"wrong_{number}", "", {}) if turn.kind == "user" else _answer(Call(), "wrong", "")
        return [wrong]
    if turn.kind == "user" and turn.odd == "image":
        return [_image()]
    if turn.kind == "user" and turn.odd == "document":
        return [{"fileData": {"mimeType": "application/pdf", "fileUri": "https://example.com/a.pdf"}}]
    return []


def _said(turn: Turn) -> list[Message]:
    unset = {"inlineData": None, "thought": None} if turn.odd == "keys" else {}
    return [{**unset, "text": text} for text in turn.texts]


def _message(role: str | None, parts: list[Message], turn: Turn) -> Message:
    written = [_spelled(part, snake=not turn.named) for part in parts]
    return {**({"role": role} if role else {}), "parts": written}


def _turn(turn: Turn, number: int, ids: list[str]) -> Iterator[Message]:
    said = _said(turn)
    if turn.kind in ("user", "system"):
        yield _message(None if turn.odd == "legacy" else "user", [*said, *_odd(turn, number)], turn)
    elif turn.kind == "empty":
        yield {"role": "model" if turn.named else "user", **({} if turn.reversed else {"parts": []})}
    elif turn.kind == "orphan":
        orphans = [_answer(call, id, name_of(number, i)) for i, (call, id) in enumerate(zip_calls(turn, ids))]
        yield _message("user", [*orphans, *said], turn)
    else:
        signs = bool({"signed", "redacted", "empty"} & set(turn.reasoning))
        calls = [
            _call(call, id, name_of(number, i), _signed(f"call {number}") if signs and i == 0 else {})
            for i, (call, id) in enumerate(zip_calls(turn, ids))
        ]
        if signs and not calls and said and _encodes(said[-1]):
            said[-1] = {**said[-1], **_signed(f"said {number}")}
        yield _message("model", [*_thoughts(turn, number), *_odd(turn, number), *said, *calls], turn)
        yield from _results(turn, number, ids)


def _results(turn: Turn, number: int, ids: list[str]) -> Iterator[Message]:
    role = "function" if turn.odd == "legacy" else "user"
    results = [_answer(call, id, name_of(number, i)) for call, id, i in answered_now(turn, ids)]
    if turn.apart:
        yield from (_message(role, [result], turn) for result in results)
        results = []
    beside = [{"text": turn.beside[0]}] if turn.calls and turn.beside else []
    where = turn.beside[1] if turn.beside else "after"
    if where in ("before", "between"):
        results[0 if where == "before" else 1 : 0] = beside
        beside = []
    if results:
        yield _message(role, results, turn)
    if beside:
        yield _message("user", beside, turn)


def _changed(message: Message, text: str) -> Message:
    return {**message, "parts": [*(message.get("parts") or []), {"text": text}]}


def _by_model(message: Message) -> bool:
    return message.get("role") == "model"


FORMAT = Format(turn=_turn, result=_result, changed=_changed, by_model=_by_model, system=False)
