"""Sessions to measure on: the same every time, a list of turns, each the messages that are new in it."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

Message = dict[str, Any]
Turns = list[list[Message]]

FORMATS = ("anthropic", "openai-chat", "openai-responses", "gemini", "bedrock", "text")

RESULT_CHARS = 3_000
OPENER = "<thinking>"

VOCABULARY = (
    "module value error return import class config session report budget window anchor result call path line file test "
    'stage "quoted" \\n C:\\temp naïve 模块 → true None 0x7f 3.14 [INFO] [WARN] {key: 1} user@host 2024-05-01T12:00:00Z'
)
WORDS = VOCABULARY.split()


def tool_turns(form: str, count: int) -> Turns:
    """Return a request and ``count`` turns of one call and its result of 3,000 characters."""
    rng = random.Random(7)
    turns: Turns = [[_asked(form, "Find out why the nightly build of the parser fails, and mend it.")]]
    for number in range(1, count + 1):
        turns.append(_turn(form, number, f"Next I look at part {number} of the parser.", _output(rng, RESULT_CHARS)))
    return turns


def unclosed_openers(form: str, count: int) -> Turns:
    """Return a session whose first answer holds ``count`` opening tags that nothing closes; later it becomes old.

    One pair of another name stands behind them, so that no look for a closing tag saves the scan.
    """
    turns = tool_turns(form, 15)
    turns[1] = _turn(form, 1, f"{OPENER * count} <think>so</think>", "a short result")
    return turns


def resumed(form: str, count: int) -> Turns:
    """Return the messages of ``count`` tool turns as one turn: a session that another process began."""
    return [[message for turn in tool_turns(form, count) for message in turn]]


def large_result(form: str, chars: int) -> Turns:
    """Return a session with one result of ``chars`` characters, which later becomes old."""
    turns = tool_turns(form, 15)
    block = _output(random.Random(11), 100_000)
    turns[1] = _turn(form, 1, "I read the log.", (block * (chars // len(block) + 1))[:chars])
    return turns


def _output(rng: random.Random, chars: int) -> str:
    """Return lines as a tool prints them."""
    lines, length = [], 0
    while length < chars:
        lines.append(" ".join(rng.choices(WORDS, k=rng.randint(3, 14))))
        length += len(lines[-1]) + 1
    return "\n".join(lines)[:chars]


def _turn(form: str, number: int, text: str, output: str) -> list[Message]:
    arguments = {"path": f"parser/part_{number}.py", "start": number}
    return _MAKERS[form](f"call_{number}", text, arguments, output)


def _anthropic(call_id: str, text: str, arguments: Message, output: str) -> list[Message]:
    call = {"type": "tool_use", "id": call_id, "name": "file_read", "input": arguments}
    result = {"type": "tool_result", "tool_use_id": call_id, "content": output}
    return [_said("assistant", [{"type": "text", "text": text}, call]), _said("user", [result])]


def _openai_chat(call_id: str, text: str, arguments: Message, output: str) -> list[Message]:
    function = {"name": "file_read", "arguments": json.dumps(arguments)}
    call = {"id": call_id, "type": "function", "function": function}
    result = {"role": "tool", "tool_call_id": call_id, "content": output}
    return [{**_said("assistant", text), "tool_calls": [call]}, result]


def _openai_responses(call_id: str, text: str, arguments: Message, output: str) -> list[Message]:
    said = _said("assistant", [{"type": "output_text", "text": text, "annotations": []}])
    call = {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "name": "file_read"}
    result = {"type": "function_call_output", "call_id": call_id, "output": output}
    return [{"type": "message", **said}, {**call, "arguments": json.dumps(arguments)}, result]


def _bedrock(call_id: str, text: str, arguments: Message, output: str) -> list[Message]:
    call = {"toolUse": {"toolUseId": call_id, "name": "file_read", "input": arguments}}
    result = {"toolResult": {"toolUseId": call_id, "content": [{"text": output}]}}
    return [_said("assistant", [{"text": text}, call]), _said("user", [result])]


def _gemini(call_id: str, text: str, arguments: Message, output: str) -> list[Message]:
    call = {"functionCall": {"id": call_id, "name": "file_read", "args": arguments}}
    result = {"functionResponse": {"id": call_id, "name": "file_read", "response": {"output": output}}}
    return [{"role": "model", "parts": [{"text": text}, call]}, {"role": "user", "parts": [result]}]


def _text(call_id: str, text: str, arguments: Message, output: str) -> list[Message]:
    call = json.dumps({"name": "file_read", "arguments": arguments})
    said = _said("assistant", f"{text}\n<tool_use>{call}</tool_use>")
    return [said, _said("user", f"<tool_result>{output}</tool_result>")]


def _asked(form: str, text: str) -> Message:
    if form == "gemini":
        return {"role": "user", "parts": [{"text": text}]}
    return _said("user", [{"text": text}] if form == "bedrock" else text)


def _said(role: str, content: Any) -> Message:
    return {"role": role, "content": content}


_MAKERS: dict[str, Callable[[str, str, Message, str], list[Message]]] = {
    "anthropic": _anthropic,
    "openai-chat": _openai_chat,
    "openai-responses": _openai_responses,
    "gemini": _gemini,
    "bedrock": _bedrock,
    "text": _text,
}
