"""Turns as the text format has them."""

from __future__ import annotations

import json
from collections.abc import Iterator

from histories.common import Format, by_assistant, changed_content
from histories.turns import Call, Message, Turn, answered_now, arguments_of, name_of, output_of, zip_calls


def _named(turn: Turn, number: int, text: str) -> str:
    """Give the text a head of its own, by which it can be followed into the view."""
    return f"message no {number:04} {text}" if turn.named else text


def _call(call: Call, name: str) -> str:
    tag = "tool_call" if call.tool == "zeit" else "tool_use"
    given = {"name": call.tool, "arguments": arguments_of(call, name)}
    body = json.dumps(given, ensure_ascii=call.named) if call.broken is None else call.broken
    pair = f"<{tag}>{body}</{tag}>"
    return f"```\n{pair}\n```" if call.shape == "list" else pair


def _answer(call: Call, name: str) -> str:
    output = "" if call.shape in ("empty", "missing", "blank") else output_of(call, name)
    return output if call.shape == "image" else f"<tool_result>{output}</tool_result>"


def _result(call: Call, id: str, name: str) -> Message:
    return {"role": "user", "content": _answer(call, name)}


def _turn(turn: Turn, number: int, ids: list[str]) -> Iterator[Message]:
    words = "\n".join(turn.texts)
    if turn.kind == "system":
        yield {"role": "system", "content": f"rule {number}: {words}"}
    elif turn.kind == "user":
        keys = {"x_unknown": {"zeta": 1, "alpha": 2}} if turn.odd == "keys" else {}
        yield {"role": "user", "content": _named(turn, 10 * number, words), **keys}
    elif turn.kind == "empty":
        yield {"role": "assistant" if turn.named else "user", "content": "" if turn.reversed else " "}
    elif turn.kind == "orphan":
        yield from (_result(call, id, name_of(number, i)) for i, (call, id) in enumerate(zip_calls(turn, ids)))
    else:
        thoughts = [f"<thinking>thought {number} " + "so it is. " * 90 + "</thinking>"] if turn.reasoning else []
        calls = [_call(call, name_of(number, i)) for i, call in enumerate(turn.calls)]
        yield {"role": "assistant", "content": _named(turn, 10 * number, "\n".join([*thoughts, words, *calls]))}
        yield from _results(turn, number, ids)


def _results(turn: Turn, number: int, ids: list[str]) -> Iterator[Message]:
    answers = [_answer(call, name_of(number, i)) for call, _, i in answered_now(turn, ids)]
    if turn.calls and turn.beside:
        answers.insert({"before": 0, "between": 1}.get(turn.beside[1], len(answers)), turn.beside[0])
    if answers:
        yield {"role": "user", "content": _named(turn, 10 * number + 1, "\n".join(answers))}


FORMAT = Format(turn=_turn, result=_result, changed=changed_content, by_model=by_assistant)
