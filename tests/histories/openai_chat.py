"""Turns as chat completions have them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from histories.common import LINK, PIXEL, Format, block, by_assistant, changed_content
from histories.turns import Call, Message, Turn, answered_now, arguments_of, name_of, output_of, zip_calls


def _result(call: Call, id: str, name: str) -> Message:
    text = output_of(call, name)
    parts: dict[str, Any] = {"list": [block(text), block("end of output")], "blank": " ", "empty": "", "missing": ""}
    parts["object"] = {"output": text} if call.named else None
    return {"role": "tool", "tool_call_id": id, "content": parts.get(call.shape, text)}


def _call(call: Call, id: str, name: str, odd: str | None) -> Message:
    if odd == "custom" and name.endswith("00"):
        return {"id": id, "type": "custom", "custom": {"name": call.tool, "input": f"{name} {call.note}"}}
    text = json.dumps(arguments_of(call, name), ensure_ascii=call.named) if call.broken is None else call.broken
    return {"id": id, "type": "function", "function": {"name": call.tool, "arguments": text}}


def _parts(turn: Turn) -> list[Message]:
    url = LINK if turn.reversed else f"data:image/png;base64,{PIXEL * 20}"
    image = {"type": "image_url", "image_url": {"url": url, "detail": "low"}}
    odd = {
        "image": [image],
        "audio": [{"type": "input_audio", "input_audio": {"data": PIXEL * 20, "format": "wav"}}],
        "document": [{"type": "file", "file": {"file_data": f"data:application/pdf;base64,{PIXEL * 20}"}}],
        "unknown": [{"type": "future_part", "zeta": 1, "alpha": {"text": ""}}],
    }
    return [*map(block, turn.texts), *odd.get(turn.odd or "", [])]


def _user(turn: Turn) -> Message:
    plain = len(turn.texts) == 1 and turn.odd in (None, "keys", "cached", "server", "legacy", "custom", "refusal")
    keys = {"name": "ann", "x_unknown": {"zeta": 1, "alpha": 2}} if turn.odd == "keys" else {}
    return {"role": "user", "content": turn.texts[0] if plain else _parts(turn), **keys}


def _assistant(turn: Turn, number: int, ids: list[str]) -> Message:
    calls = [_call(call, id, name_of(number, i), turn.odd) for i, (call, id) in enumerate(zip_calls(turn, ids))]
    said: dict[str, Any] = {"content": "\n".join(turn.texts)} if turn.texts else {"content": None}
    if not turn.texts and turn.named:
        said = {}
    thought = {"reasoning_content": f"thought {number} " * 90} if turn.reasoning else {}
    rare: dict[str, Any] = {
        "refusal": {"refusal": "I will not."},
        "audio": {"audio": {"id": f"audio_{number}"}},
        "keys": {"annotations": [], "x_unknown": {"zeta": 1, "alpha": 2}},
    }
    return {
        "role": "assistant",
        **said,
        **thought,
        **({"tool_calls": calls} if calls else {}),
        **rare.get(turn.odd or "", {}),
    }


def _turn(turn: Turn, number: int, ids: list[str]) -> Iterator[Message]:
    if turn.kind == "system":
        yield {"role": "system" if turn.named else "developer", "content": f"rule {number}: " + "".join(turn.texts)}
    elif turn.kind == "user":
        yield _user(turn)
    elif turn.kind == "empty":
        content = {"content": ""} if turn.reversed else {"content": None} if turn.named else {}
        yield {"role": "assistant", **content}
    elif turn.kind == "orphan":
        yield from (_result(call, id, name_of(number, i)) for i, (call, id) in enumerate(zip_calls(turn, ids)))
    elif turn.odd == "legacy":
        called = {"name": "code_run", "arguments": json.dumps({"code": f"run {number}"})}
        yield {"role": "assistant", "content": None, "function_call": called}
        yield {"role": "function", "name": "code_run", "content": "\n".join(turn.texts)}
    else:
        yield _assistant(turn, number, ids)
        results = [_result(call, id, name_of(number, i)) for call, id, i in answered_now(turn, ids)]
        if turn.beside and turn.beside[1] != "after" and turn.calls:
            results.insert(turn.beside[1] == "between", {"role": "user", "content": turn.beside[0]})
        yield from results


FORMAT = Format(turn=_turn, result=_result, changed=changed_content, by_model=by_assistant)
