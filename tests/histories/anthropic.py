"""Turns as the Messages API has them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from histories.common import LINK, PIXEL, Format, block, by_assistant, changed_content
from histories.turns import Call, Message, Turn, answered_now, arguments_of, name_of, output_of, zip_calls


def _image() -> Message:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL * 20}}


def _result(call: Call, id: str, name: str) -> Message:
    return {"role": "user", "content": [_answer(call, id, name)]}


def _answer(call: Call, id: str, name: str) -> Message:
    text = output_of(call, name)
    contents: dict[str, Any] = {
        "string": text,
        "list": [block(text), block("end of output")],
        "image": [block(text), _image()],
        "blank": [block(" ")],
        "empty": "" if call.named else [],
        "object": {"output": text} if call.named else None,
    }
    content = {} if call.shape == "missing" else {"content": contents[call.shape]}
    return {"type": "tool_result", "tool_use_id": id, **content, **({} if call.named else {"is_error": True})}


def _reasoning(kind: str, number: int, i: int) -> Message:
    text = "" if kind == "empty" else f"thought {number} " * 90
    if kind == "redacted":
        return {"type": "redacted_thinking", "data": f"opaque{number}{i}=" * 30}
    signature = {} if kind == "unsigned" else {"signature": f"sig{number}{i}=="}
    return {"type": "thinking", "thinking": text + ("\ud800" if kind == "half" else ""), **signature}


def _odd(turn: Turn, number: int) -> list[Message]:
    """Return blocks of types that only pass through, or that stand on the wrong side."""
    server = turn.kind == "model" and turn.odd == "server"
    id = f"srvtoolu_{number}"
    if server:
        found = {"type": "web_search_result", "url": "https://example.com", "title": "A", "encrypted_content": "x" * 90}
        call = {"type": "server_tool_use", "id": id, "name": "web_search", "input": {"query": "q" * 900}}
        return [call, {"type": "web_search_tool_result", "tool_use_id": id, "content": [found]}]
    if turn.odd == "unknown":
        return [{"type": "future_block", "data": {"text": "", "content": []}, "zeta": 1, "alpha": 2}]
    if turn.odd == "wrong side" and turn.kind == "user":
        return [_reasoning("signed", number, 0), _call(Call(), f"wrong_{number}", "")]
    if turn.odd == "wrong side":
        return [_answer(Call(), f"wrong_{number}", ""), _image()]
    if turn.kind == "user" and turn.odd == "image":
        return [{"type": "image", "source": {"type": "url", "url": LINK}} if turn.reversed else _image()]
    if turn.kind == "user" and turn.odd == "document":
        return [{"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "d" * 900}}]
    return []


def _call(call: Call, id: str, name: str) -> Message:
    given = call.broken if call.broken is not None else arguments_of(call, name)
    return {"type": "tool_use", "id": id, "name": call.tool, "input": given}


def _said(turn: Turn) -> list[Message]:
    marks = {"cache_control": {"type": "ephemeral"}} if turn.odd == "cached" else {}
    place = {"document_index": 0, "document_title": None, "start_char_index": 0, "end_char_index": 1}
    cited = {"citations": [{"type": "char_location", "cited_text": "c", **place}]}
    return [block(text) | marks | (cited if turn.odd == "keys" else {}) for text in turn.texts]


def _turn(turn: Turn, number: int, ids: list[str]) -> Iterator[Message]:
    said = _said(turn)
    if turn.kind in ("user", "system"):
        content: Any = [*said, *_odd(turn, number)]
        plain = len(turn.texts) == 1 and turn.odd is None
        yield {"role": "user", "content": turn.texts[0] if plain else content}
    elif turn.kind == "empty":
        yield {"role": "assistant" if turn.named else "user", "content": "" if turn.reversed else []}
    elif turn.kind == "orphan":
        orphans = [_answer(call, id, name_of(number, i)) for i, (call, id) in enumerate(zip_calls(turn, ids))]
        yield {"role": "user", "content": [*orphans, *said]}
    else:
        thoughts = [_reasoning(kind, number, i) for i, kind in enumerate(turn.reasoning)]
        calls = [_call(call, id, name_of(number, i)) for i, (call, id) in enumerate(zip_calls(turn, ids))]
        keys = {"id": f"msg_{number}"} if turn.odd == "keys" and not turn.named else {}
        content = [*thoughts, *_odd(turn, number), *said, *calls]
        yield {"role": "assistant", "content": content, **keys}
        yield from _results(turn, number, ids)


def _results(turn: Turn, number: int, ids: list[str]) -> Iterator[Message]:
    results = [_answer(call, id, name_of(number, i)) for call, id, i in answered_now(turn, ids)]
    if turn.apart:
        yield from ({"role": "user", "content": [result]} for result in results)
        results = []
    if turn.calls and turn.beside:
        at = {"before": 0, "between": 1}.get(turn.beside[1], len(results))
        results.insert(at, block(turn.beside[0]))
    if results:
        yield {"role": "user", "content": results}


FORMAT = Format(turn=_turn, result=_result, changed=changed_content, by_model=by_assistant, system=False)
