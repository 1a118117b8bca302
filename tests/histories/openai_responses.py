"""Turns as the items of the Responses API."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from histories.common import PIXEL, Format
from histories.turns import Call, Message, Turn, answered_now, arguments_of, name_of, output_of, zip_calls

_IMAGE = {"type": "input_image", "detail": "low", "image_url": f"data:image/png;base64,{PIXEL * 20}"}
_SHELL, _CUSTOM = "mcp__files__list", "zeit"
"""Tools that are called by an item of their own type."""


def _part(text: str) -> Message:
    return {"type": "input_text", "text": text}


def _result(call: Call, id: str, name: str) -> Message:
    text = output_of(call, name)
    if call.tool == _SHELL:
        printed = {"stdout": text, "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}
        return {"type": "shell_call_output", "call_id": id, "output": [printed]}
    outputs: dict[str, Any] = {
        "list": [_part(text), _part("end of output")],
        "image": [_part(text), _IMAGE],
        "blank": " ",
        "empty": "" if call.named else [],
        "missing": None,
    }
    kind = "custom_tool_call_output" if call.tool == _CUSTOM else "function_call_output"
    keys = {} if call.named else {"id": f"out_{name}", "status": "completed"}
    return {"type": kind, "call_id": id, "output": outputs.get(call.shape, text), **keys}


def _call(call: Call, id: str, name: str) -> Message:
    own = {"id": f"fc_{name}", "status": "completed"} if call.named else {}
    if call.tool == _SHELL:
        return {"type": "shell_call", "call_id": id, "action": {"commands": [f"ls {name} {call.note}"]}, **own}
    if call.tool == _CUSTOM:
        return {"type": "custom_tool_call", "call_id": id, "name": call.tool, "input": f"{name} {call.note}", **own}
    text = json.dumps(arguments_of(call, name), ensure_ascii=call.named) if call.broken is None else call.broken
    return {"type": "function_call", "call_id": id, "name": call.tool, "arguments": text, **own}


def _reasoning(kind: str, number: int, i: int) -> Message:
    text = f"thought {number} " * 90 + ("\ud800" if kind == "half" else "")
    summary = [] if kind in ("empty", "redacted") else [{"type": "summary_text", "text": text}]
    own = {} if kind == "unsigned" else {"id": f"rs_{number}_{i}"}
    secret = {"encrypted_content": f"gAAA{number}{i}==" * 30} if kind in ("signed", "redacted") else {}
    return {"type": "reasoning", **own, "summary": summary, **secret}


def _user_parts(turn: Turn) -> list[Message]:
    odd = {
        "image": [_IMAGE],
        "audio": [{"type": "input_audio", "input_audio": {"data": PIXEL * 20, "format": "wav"}}],
        "document": [
            {"type": "input_file", "filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PIXEL * 20}"}
        ],
        "unknown": [{"type": "future_part", "zeta": 1, "alpha": {"text": ""}}],
        "cached": [_part("kept") | {"prompt_cache_breakpoint": {"mode": "explicit"}}],
    }
    return [*map(_part, turn.texts), *odd.get(turn.odd or "", [])]


def _user(turn: Turn) -> Message:
    plain = len(turn.texts) == 1 and turn.odd in (None, "keys", "server", "legacy", "custom", "refusal")
    keys = {"x_unknown": {"zeta": 1, "alpha": 2}} if turn.odd == "keys" else {}
    named = {"type": "message"} if turn.named else {}
    return {**named, "role": "user", "content": turn.texts[0] if plain else _user_parts(turn), **keys}


def _server_item(odd: str | None, number: int) -> list[Message]:
    search = {"type": "search", "query": "q" * 900}
    drawn = {"id": f"ig_{number}", "status": "completed", "result": PIXEL * 20}
    items = {
        "server": {"type": "web_search_call", "id": f"ws_{number}", "status": "completed", "action": search},
        "image": {"type": "image_generation_call", **drawn},
        "unknown": {"type": "future_item", "zeta": 1, "alpha": {"text": ""}},
        "document": {"id": f"ref_{number}"},
        "legacy": {"type": "compaction", "encrypted_content": "gAAA" * 300},
    }
    return [items[odd]] if odd in items else []


def _said(turn: Turn, number: int) -> list[Message]:
    """Return the message of a response, if it says something."""
    cited = {"type": "url_citation", "url": "https://example.com", "title": "A", "start_index": 0, "end_index": 1}
    notes = [cited] if turn.odd == "keys" else []
    parts: list[Message] = [{"type": "output_text", "text": text, "annotations": notes} for text in turn.texts]
    if turn.odd == "refusal":
        parts.append({"type": "refusal", "refusal": "I will not."})
    if turn.odd == "cached" and turn.texts:
        return [{"role": "assistant", "content": "\n".join(turn.texts)}]
    keys = {"id": f"msg_{number}", "status": "completed", "phase": "commentary"} if turn.named else {}
    return [{"type": "message", "role": "assistant", "content": parts, **keys}] if parts else []


def _turn(turn: Turn, number: int, ids: list[str]) -> Iterator[Message]:
    if turn.kind == "system":
        yield {"role": "system" if turn.named else "developer", "content": f"rule {number}: " + "".join(turn.texts)}
    elif turn.kind == "user":
        yield _user(turn)
    elif turn.kind == "empty":
        content: dict[str, Any] = {"content": []} if turn.reversed else {"content": None} if turn.named else {}
        yield {"type": "message", "role": "assistant", **content}
    elif turn.kind == "orphan":
        yield from (_result(call, id, name_of(number, i)) for i, (call, id) in enumerate(zip_calls(turn, ids)))
    else:
        thoughts = [_reasoning(kind, number, i) for i, kind in enumerate(turn.reasoning)]
        calls = [_call(call, id, name_of(number, i)) for i, (call, id) in enumerate(zip_calls(turn, ids))]
        said, more = _said(turn, number), thoughts[1:]
        yield from [*thoughts[:1], *_server_item(turn.odd, number), *(said + more if calls else more + said), *calls]
        yield from _results(turn, number, ids)


def _results(turn: Turn, number: int, ids: list[str]) -> Iterator[Message]:
    results = [_result(call, id, name_of(number, i)) for call, id, i in answered_now(turn, ids)]
    if turn.beside and turn.beside[1] != "after" and turn.calls:
        results.insert(turn.beside[1] == "between", {"role": "user", "content": turn.beside[0]})
    yield from results


def _changed(message: Message, text: str) -> Message:
    """Return an item with a text added where it has one, else under a key of its own."""
    if isinstance(message.get("content"), list):
        kind = "output_text" if message["role"] == "assistant" else "input_text"
        return {**message, "content": [*message["content"], {"type": kind, "text": text}]}
    for key in ("content", "output", "input"):
        if isinstance(message.get(key), str):
            return {**message, key: message[key] + text}
    return {**message, "x_changed": text}


def _by_model(message: Message) -> bool:
    kind = message.get("type", "message" if "role" in message else "item_reference")
    return message.get("role") == "assistant" if kind == "message" else not kind.endswith("_output")


FORMAT = Format(turn=_turn, result=_result, changed=_changed, by_model=_by_model)
