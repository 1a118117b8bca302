"""Read recorded agent sessions: a file in, the messages that the model's provider would have seen out.

A recording is JSON or JSONL, plain or .gz: a bare list of messages, an object with `messages`, or the
log of an agent program. FORMS names every form and the function that maps it to API messages.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from ga_context.errors import GAContextError
from ga_context.model import Message

SUFFIXES = (".json", ".jsonl", ".json.gz", ".jsonl.gz")
"""What counts as a recording inside a folder; a file named outright may be called anything."""

NOT_RECORDINGS = frozenset({"manifest.json"})
"""Indexes that collections of recordings keep beside them."""


class ReadError(GAContextError, ValueError):
    """A recording that cannot be read; the message names the file and what is wrong with it."""


class Reply(NamedTuple):
    """What a recording says of one response of the model."""

    usage: Mapping[str, Any]
    """The provider's usage object."""
    model: str | None = None
    seconds: float | None = None
    """When it was written down, since 1970."""


@dataclass(frozen=True, slots=True)
class Recording:
    """One recorded session as API messages."""

    name: str
    """The file's name without its suffixes."""
    format: str | None
    """The wire format, or None where the recording does not say it and the session has to detect it."""
    messages: list[Message]
    system: Any = None
    """The system prompt, where the recording has one and the wire format keeps it out of the messages."""
    tools: list[Any] | None = None
    """The tool definitions, where the recording has them."""
    replies: dict[int, list[Reply]] = field(default_factory=dict)
    """What is known of responses beside their messages, by the index of the message that one began with."""


def find(path: Path) -> list[Path]:
    """Return the recordings that `path` stands for: itself, or every recording in that folder, by name."""
    if not path.is_dir():
        return [path]
    return sorted(p for p in path.iterdir() if p.name.endswith(SUFFIXES) and p.name not in NOT_RECORDINGS)


def read(path: Path | str) -> Recording:
    """Read one recording.

    Raises:
        ReadError: the file cannot be read, is not JSON, or holds no messages in a known form.
    """
    path = Path(path)
    value = _parse(_text(path), path)
    recorded = value if isinstance(value, dict) else {"messages": value}
    messages = recorded.get("messages")
    if not isinstance(messages, list) or not messages:
        raise ReadError(f"{path}: holds no messages; expected a list of messages or an object with `messages`")
    for index, message in enumerate(messages):
        if not isinstance(message, dict):
            raise ReadError(f"{path}: messages[{index}] is {type(message).__name__}; every message must be an object")
    return _recording(path, recorded, messages)


def _recording(path: Path, recorded: dict[str, Any], records: list[Message]) -> Recording:
    form = recorded.get("format") or _form(records)
    if form is None:
        if not any("role" in record for record in records):
            raise ReadError(f"{path}: holds a list, but of no messages: none of them has a `role`")
        wire, messages = None, records
    else:
        wire, messages = _map(path, str(form), records)
    if not messages:
        raise ReadError(f"{path}: holds records of {form}, but no message among them")
    system, tools, given = recorded.get("system"), recorded.get("tools"), messages
    if system and wire in ("openai-chat", "text"):
        system, messages = None, _with_system(system, messages)
    reader = REPLIES.get(str(form).replace("-", "_"))
    replies = reader(records) if reader is not None else {}
    if messages is not given and messages[0] is not given[0]:  # a system message was put before them
        replies = {index + 1: found for index, found in replies.items()}
    return Recording(_name(path), wire, messages, system or None, tools or None, replies)


def _map(path: Path, form: str, records: list[Message]) -> tuple[str, list[Message]]:
    function = FORMS.get(form.replace("-", "_"))
    if function is None:
        known = ", ".join(sorted(FORMS))
        raise ReadError(f"{path}: says it is in the format {form!r}, which is unknown; known are {known}")
    try:
        return function(records)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        what = f"{type(error).__name__}: {error}"
        raise ReadError(f"{path}: says it is in the format {form!r}, but does not look like it ({what})") from error


def _with_system(system: Any, messages: list[Message]) -> list[Message]:
    if messages[0].get("role") in ("system", "developer"):
        return messages
    return [{"role": "system", "content": system}, *messages]


def _name(path: Path) -> str:
    return next((path.name.removesuffix(s) for s in reversed(SUFFIXES) if path.name.endswith(s)), path.name)


# --- from bytes to values ---


def _text(path: Path) -> str:
    try:
        data = path.read_bytes()
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
        return data.decode("utf-8-sig")
    except OSError as error:
        raise ReadError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (EOFError, zlib.error) as error:
        raise ReadError(f"{path}: is not whole gzip data: {error}") from error
    except UnicodeDecodeError as error:
        raise ReadError(f"{path}: is not UTF-8 text (byte {error.start})") from error


def _parse(text: str, path: Path) -> Any:
    if path.name.endswith((".jsonl", ".jsonl.gz")):
        return _lines(text, path)
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data" and error.lineno > 1:
            return _lines(text, path)
        raise ReadError(f"{path}, line {error.lineno}: is not JSON: {error.msg}") from error
    except RecursionError as error:
        raise ReadError(f"{path}: is nested too deeply to be read as JSON") from error


def _lines(text: str, path: Path) -> Any:
    """Parse JSONL: one message or record a line, or one line that is a whole recording."""
    values = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            values.append(json.loads(line))
        except json.JSONDecodeError as error:
            raise ReadError(f"{path}, line {number}: is not JSON: {error.msg}") from error
        except RecursionError as error:
            raise ReadError(f"{path}, line {number}: is nested too deeply to be read as JSON") from error
    whole = len(values) == 1 and (
        isinstance(values[0], list) or (isinstance(values[0], dict) and "messages" in values[0])
    )
    return values[0] if whole else values


# --- the forms that a list without a format can be told by ---


def _form(records: list[Message]) -> str | None:
    """Return the form that the records show beyond doubt, or None: the session detects the rest."""
    if any("uuid" in r and isinstance(r.get("message"), dict) for r in records):
        return "claude_code_jsonl"
    kinds = {str(r.get("type")) for r in records if "role" not in r}
    if "message" in kinds and all("role" in _inner(r) for r in records if r.get("type") == "message"):
        return "pi_jsonl"
    if kinds & {"function_call", "function_call_output", "reasoning", "response_item"}:
        return "openai_responses"
    if kinds & {"human", "ai"}:
        return "langchain"
    if any("parts" in r for r in records):
        return "gemini"
    if any("toolUse" in b or "toolResult" in b for r in records for b in _blocks(r.get("content"))):
        return "bedrock"
    return None


def _inner(record: Message) -> Message:
    message = record.get("message")
    return message if isinstance(message, dict) else {}


def _blocks(content: Any) -> list[Any]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []


# --- one function a form ---


def _anthropic(records: list[Message]) -> tuple[str, list[Message]]:
    return "anthropic", records


def _bedrock(records: list[Message]) -> tuple[str, list[Message]]:
    return "bedrock", records


def _openai_chat(records: list[Message]) -> tuple[str, list[Message]]:
    # mini-swe-agent closes its lists with a message of the role "exit", which never went to a model
    return "openai-chat", [r for r in records if r.get("role") != "exit"]


def _openai_responses(records: list[Message]) -> tuple[str, list[Message]]:
    """A rollout of Codex keeps each item as the payload of a record, between records that never went to the model."""
    items = [record["payload"] for record in records if record.get("type") == "response_item"]
    return "openai-responses", items or records


def _text_protocol(records: list[Message]) -> tuple[str, list[Message]]:
    if any(r.get("tool_calls") for r in records):
        return _openai_chat(records)
    return "text", records


def _claude_code(records: list[Message]) -> tuple[str, list[Message]]:
    """Claude Code writes one record a content block: records in a row of one role are one message."""
    messages: list[Message] = []
    for record in records:
        message = _inner(record)
        if record.get("type") not in ("user", "assistant") or record.get("isSidechain") or not message:
            continue
        if message.get("model") != "<synthetic>":
            _append(messages, message["role"], _blocks(message.get("content")))
    return "anthropic", messages


def _append(messages: list[Message], role: str, blocks: Iterable[Any]) -> None:
    if messages and messages[-1]["role"] == role:
        messages[-1]["content"].extend(blocks)
    else:
        messages.append({"role": role, "content": list(blocks)})


def _pi(records: list[Message]) -> tuple[str, list[Message]]:
    messages: list[Message] = []
    for record in records:
        _pi_message(messages, _inner(record))
    return "anthropic", messages


def _pi_message(messages: list[Message], message: Message) -> None:
    role = message.get("role")
    if role in ("user", "assistant"):
        blocks = [_pi_block(b) for b in _blocks(message.get("content"))]
        if blocks:
            _append(messages, role, blocks)
    elif role == "toolResult":
        _append(messages, "user", [_pi_result(message)])
    elif role == "bashExecution":
        _append(messages, "user", _blocks(f"Ran `{message['command']}`\n```\n{message['output']}\n```"))


def _pi_block(block: Message) -> Message:
    kind = block.get("type")
    if kind == "toolCall":
        return {"type": "tool_use", "id": block["id"], "name": block["name"], "input": block["arguments"]}
    if kind == "thinking":
        signature = block.get("thinkingSignature")
        signed = {"signature": signature} if signature else {}
        return {"type": "thinking", "thinking": block["thinking"], **signed}
    if kind == "image":
        source = {"type": "base64", "media_type": block["mimeType"], "data": block["data"]}
        return {"type": "image", "source": source}
    return {"type": "text", "text": block["text"]} if kind == "text" else block


def _pi_result(message: Message) -> Message:
    content = [_pi_block(b) for b in _blocks(message.get("content"))]
    failed = {"is_error": True} if message.get("isError") else {}
    return {"type": "tool_result", "tool_use_id": message["toolCallId"], "content": content, **failed}


LANGCHAIN_ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool"}


def _langchain(records: list[Message]) -> tuple[str, list[Message]]:
    return "openai-chat", [_langchain_message(r) for r in records if r.get("type") in LANGCHAIN_ROLES]


def _langchain_message(record: Message) -> Message:
    role, content = LANGCHAIN_ROLES[record["type"]], record.get("content") or ""
    if role == "tool":
        return {"role": role, "tool_call_id": record["tool_call_id"], "content": content}
    calls = [_call(c["id"], c["name"], c["args"]) for c in record.get("tool_calls") or []]
    reasoning = (record.get("additional_kwargs") or {}).get("reasoning_content")
    return _chat(role, content, calls, reasoning)


def _tau2(records: list[Message]) -> tuple[str, list[Message]]:
    """Keep the agent's side: the simulated user's own tool calls and their results never reach the model."""
    messages: list[Message] = []
    for record in records:
        for r in record.get("tool_messages") or [record]:
            content = r.get("content")
            if r["role"] == "assistant":
                calls = [_call(c["id"], c["name"], c["arguments"]) for c in r.get("tool_calls") or []]
                messages.append(_chat("assistant", content, calls))
            elif r["role"] == "tool":
                if r.get("requestor") != "user":
                    messages.append({"role": "tool", "tool_call_id": r["id"], "content": content or ""})
            elif content:
                messages.append({"role": r["role"], "content": content})
    return "openai-chat", messages


def _inspect(records: list[Message]) -> tuple[str, list[Message]]:
    return "openai-chat", [_inspect_message(r) for r in records]


def _inspect_message(record: Message) -> Message:
    role, content = record["role"], record.get("content")
    if role == "tool":
        failed = (record.get("error") or {}).get("message")
        return {"role": role, "tool_call_id": record["tool_call_id"], "content": content or failed or ""}
    calls = [_call(c["id"], c["function"], c["arguments"]) for c in record.get("tool_calls") or []]
    if isinstance(content, str):
        return _chat(role, content, calls)
    thoughts = "\n".join(b["reasoning"] for b in _blocks(content) if b.get("type") == "reasoning")
    return _chat(role, [_inspect_block(b) for b in _blocks(content) if b.get("type") != "reasoning"], calls, thoughts)


def _inspect_block(block: Message) -> Message:
    if block.get("type") == "image":
        return {"type": "image_url", "image_url": {"url": block["image"]}}
    return {"type": "text", "text": block["text"]} if block.get("type") == "text" else block


SWEAGENT_KEYS = ("role", "content", "tool_calls", "thinking_blocks")


def _sweagent(records: list[Message]) -> tuple[str, list[Message]]:
    """Without tool calls the commands stand in the text, and every observation is a user message."""
    messages = [_sweagent_message(r) for r in records]
    return "openai-chat" if any("tool_calls" in m for m in messages) else "text", messages


def _sweagent_message(record: Message) -> Message:
    message = {k: record[k] for k in SWEAGENT_KEYS if record.get(k) is not None}
    message.setdefault("content", "")
    if record["role"] == "tool":
        message["tool_call_id"] = record["tool_call_ids"][0]
    return message


def _gemini(records: list[Message]) -> tuple[str, list[Message]]:
    return "gemini", records


def _gemini_cli(records: list[Message]) -> tuple[str, list[Message]]:
    """A reply is one record with the results of its calls; its thoughts are shown, but not sent again."""
    messages: list[Message] = []
    for record in records:
        if record.get("type") not in ("user", "gemini"):
            continue
        calls = record.get("toolCalls") or []
        parts = _gemini_parts(record.get("content")) + [_gemini_call(call) for call in calls]
        results = [part for call in calls for part in call.get("result") or []]
        messages.append({"role": "user" if record["type"] == "user" else "model", "parts": parts})
        if results:
            messages.append({"role": "user", "parts": results})
    return "gemini", messages


def _gemini_parts(content: Any) -> list[Message]:
    if isinstance(content, str):
        return [{"text": content}] if content else []
    return [part if isinstance(part, dict) else {"text": part} for part in content or []]


def _gemini_call(call: Message) -> Message:
    return {"functionCall": {"id": call["id"], "name": call["name"], "args": call["args"]}}


def _call(call_id: str, name: str, arguments: Any) -> Message:
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _chat(role: str, content: Any, calls: list[Message], reasoning: str | None = None) -> Message:
    message: Message = {"role": role, "content": content}
    if reasoning:
        message["reasoning_content"] = reasoning
    if calls:
        message["tool_calls"] = calls
    return message


Form = Callable[[list[Message]], tuple[str, list[Message]]]

FORMS: dict[str, Form] = {
    "anthropic": _anthropic,
    "openai_chat": _openai_chat,
    "openai_responses": _openai_responses,
    "gemini": _gemini,
    "gemini_cli": _gemini_cli,
    "bedrock": _bedrock,
    "text": _text_protocol,
    "text_protocol": _text_protocol,
    "roo_anthropic_text": _text_protocol,
    "claude_code_jsonl": _claude_code,
    "pi_jsonl": _pi,
    "langchain": _langchain,
    "tau2": _tau2,
    "inspect_chat": _inspect,
    "sweagent": _sweagent,
}
"""Recorded form -> function from its records to (wire format, messages)."""


# --- what recordings say of the responses beside their messages ---


def _claude_code_replies(records: list[Message]) -> dict[int, list[Reply]]:
    """Each record of a response repeats its usage; it counts once, where the response began."""
    replies: dict[int, list[Reply]] = {}
    seen: set[str] = set()
    index, role = -1, ""
    for record in records:
        message = _inner(record)
        if record.get("type") not in ("user", "assistant") or record.get("isSidechain") or not message:
            continue
        if message.get("model") == "<synthetic>":
            continue
        if message["role"] != role:
            index, role = index + 1, message["role"]
        name = str(message.get("id") or record.get("uuid"))
        if role == "assistant" and isinstance(message.get("usage"), dict) and name not in seen:
            seen.add(name)
            reply = Reply(message["usage"], message.get("model"), _seconds(record.get("timestamp")))
            replies.setdefault(index, []).append(reply)
    return replies


def _codex_replies(records: list[Message]) -> dict[int, list[Reply]]:
    """A record of token counts follows the items of each response; it may come again with the same sums."""
    replies: dict[int, list[Reply]] = {}
    model, last = None, None
    index, began, speaking = -1, -1, False
    for record in records:
        payload = record.get("payload")
        if not isinstance(payload, dict):
            continue
        if record.get("type") == "turn_context":
            model = payload.get("model") or model
        elif record.get("type") == "response_item":
            index += 1
            was, speaking = speaking, _is_models(payload)
            if speaking and not was:
                began = index
        elif payload.get("type") == "token_count" and isinstance(info := payload.get("info"), dict):
            usage, total = info.get("last_token_usage"), info.get("total_token_usage")
            if began >= 0 and isinstance(usage, dict) and total != last:
                replies.setdefault(began, []).append(Reply(usage, model, _seconds(record.get("timestamp"))))
            last = total
    return replies


def _is_models(item: Message) -> bool:
    kind = str(item.get("type"))
    return item.get("role") == "assistant" or kind == "reasoning" or kind.endswith("_call")


def _pi_replies(records: list[Message]) -> dict[int, list[Reply]]:
    replies: dict[int, list[Reply]] = {}
    messages: list[Message] = []
    for record in records:
        message = _inner(record)
        _pi_message(messages, message)
        if message.get("role") == "assistant" and isinstance(message.get("usage"), dict) and messages:
            reply = Reply(message["usage"], message.get("model"), _seconds(record.get("timestamp")))
            replies.setdefault(len(messages) - 1, []).append(reply)
    return replies


def _seconds(timestamp: Any) -> float | None:
    try:
        return datetime.fromisoformat(timestamp).timestamp() if isinstance(timestamp, str) else None
    except ValueError:
        return None


REPLIES: dict[str, Callable[[list[Message]], dict[int, list[Reply]]]] = {
    "claude_code_jsonl": _claude_code_replies,
    "openai_responses": _codex_replies,
    "pi_jsonl": _pi_replies,
}
"""Recorded form -> function from its records to the replies by message index."""
