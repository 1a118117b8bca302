"""Turns as the Converse API has them."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator
from typing import Any

from histories.common import PIXEL, Format, by_assistant
from histories.turns import Call, Message, Turn, answered_now, arguments_of, name_of, output_of, zip_calls

CACHE_POINT = {"cachePoint": {"type": "default"}}
_PNG = b64decode(PIXEL)


def _text(text: str) -> Message:
    return {"text": text}


def _image(*, binary: bool = True) -> Message:
    return {"image": {"format": "png", "source": {"bytes": _PNG * 20 if binary else PIXEL * 20}}}


def _document(number: int) -> Message:
    held = {"bytes": b"%PDF" * 300} if number % 2 else {"s3Location": {"uri": "s3://bucket/key.pdf"}}
    return {"document": {"format": "pdf", "name": f"document {number}", "source": held}}


def _result(call: Call, id: str, name: str) -> Message:
    return {"role": "user", "content": [_answer(call, id, name)]}


def _answer(call: Call, id: str, name: str) -> Message:
    text = output_of(call, name)
    data = {"json": {"output": text, "rows": [1, 2.5, None, {"deep": ["x", True]}], "": {}}}
    source = {"source": "https://example.com", "title": "A page", "content": [_text(text)]}
    contents: dict[str, Any] = {
        "string": [_text(text)],
        "list": [_text(text), _text("end of output")] if call.named else [data],
        "image": [_text(text), _image(binary=call.named)],
        "object": [{"json": {"output": text}}] if call.named else [{"json": {}}],
        "blank": [_text(" ")] if call.named else None if call.note else [],
        "empty": [{"json": {}}],
        "missing": [{"searchResult": source | {"citations": {"enabled": True}}}],
    }
    content = {} if contents[call.shape] is None else {"content": contents[call.shape]}
    return {"toolResult": {"toolUseId": id, **content, **({} if call.named else {"status": "error"})}}


def _reasoning(kind: str, number: int, i: int) -> Message:
    if kind == "redacted":
        return {"reasoningContent": {"redactedContent": f"opaque {number} {i} ".encode() * 30}}
    text = ("" if kind == "empty" else f"thought {number} " * 90) + ("\ud800" if kind == "half" else "")
    signature = {} if kind == "unsigned" else {"signature": f"sig{number}{i}=="}
    return {"reasoningContent": {"reasoningText": {"text": text, **signature}}}


def _odd(turn: Turn, number: int) -> list[Message]:
    """Return blocks that only pass through, or are charged."""
    if turn.odd == "unknown":
        return [{"futureBlock": {"text": "", "content": []}}]
    if turn.kind == "model":
        id = f"srvtoolu_{number}"
        call = {"toolUseId": id, "name": "nova_grounding", "input": {"query": "q" * 900}, "type": "server_tool_use"}
        found = {"toolUseId": id, "content": [{"json": {"found": "x" * 900}}], "type": "nova_grounding_result"}
        cited = {"content": [_text("So it says.")], "citations": [{"title": "A", "sourceContent": [_text("So.")]}]}
        served = {"server": [{"toolUse": call}, {"toolResult": found}], "custom": [{"citationsContent": cited}]}
        return served.get(turn.odd or "", [])
    guarded = {"image": {"format": "png", "source": {"bytes": _PNG}}}
    film = {"format": "mp4", "source": {"bytes": b"film" * 300}}
    given = {"image": [_image(), _image(binary=False)], "document": [_document(number)], "audio": [{"video": film}]}
    return (given | {"refusal": [{"guardContent": guarded}]}).get(turn.odd or "", [])


def _call(call: Call, id: str, name: str) -> Message:
    given = call.broken if call.broken is not None else arguments_of(call, name)
    return {"toolUse": {"toolUseId": id, "name": call.tool, "input": given}}


def _said(turn: Turn) -> list[Message]:
    if turn.odd != "cached":
        return [_text(text) | ({"x_unknown": {"zeta": 1}} if turn.odd == "keys" else {}) for text in turn.texts]
    marked = [block for text in turn.texts for block in (_text(text), CACHE_POINT)]
    return [CACHE_POINT, *marked] if turn.reversed else marked


def _turn(turn: Turn, number: int, ids: list[str]) -> Iterator[Message]:
    said = _said(turn)
    if turn.kind in ("user", "system"):
        content: Any = [*said, *_odd(turn, number)]
        yield {"role": "user", "content": turn.texts[0] if turn.odd == "legacy" and turn.texts else content}
    elif turn.kind == "empty":
        yield {"role": "assistant" if turn.named else "user", "content": [CACHE_POINT] if turn.reversed else []}
    elif turn.kind == "orphan":
        orphans = [_answer(call, id, name_of(number, i)) for i, (call, id) in enumerate(zip_calls(turn, ids))]
        yield {"role": "user", "content": [*orphans, *said]}
    else:
        thoughts = [_reasoning(kind, number, i) for i, kind in enumerate(turn.reasoning)]
        calls = [_call(call, id, name_of(number, i)) for i, (call, id) in enumerate(zip_calls(turn, ids))]
        yield {"role": "assistant", "content": [*thoughts, *_odd(turn, number), *said, *calls]}
        yield from _results(turn, number, ids)


def _results(turn: Turn, number: int, ids: list[str]) -> Iterator[Message]:
    results = [_answer(call, id, name_of(number, i)) for call, id, i in answered_now(turn, ids)]
    if turn.apart:
        yield from ({"role": "user", "content": [result]} for result in results)
        results = []
    if turn.odd == "cached":
        results = [block for result in results for block in (result, CACHE_POINT)]
    if turn.calls and turn.beside:
        at = {"before": 0, "between": 1}.get(turn.beside[1], len(results))
        results.insert(at, _text(turn.beside[0]))
    if results:
        yield {"role": "user", "content": results}


def _changed(message: Message, text: str) -> Message:
    content = message.get("content")
    added = [*content, _text(text)] if isinstance(content, list) else f"{content or ''}{text}"
    return {**message, "content": added}


FORMAT = Format(turn=_turn, result=_result, changed=_changed, by_model=by_assistant, system=False)
