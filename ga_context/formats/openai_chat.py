"""OpenAI Chat Completions: ``tool_calls`` in assistant messages, each result a message of role ``tool``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ga_context.errors import InvalidMessages, shown
from ga_context.formats.base import Format, as_text, check_list, has_strings, leaves, parsed
from ga_context.model import Block, Kind, Message, Path, Payload, Row, Side, put
from ga_context.payload.charge import LOW_DETAIL_TOKENS, openai_tokens
from ga_context.payload.pixels import Size
from ga_context.text.size import json_text
from ga_context.text.window import LEAST_LIMIT

PAYLOADS: dict[str, tuple[str, tuple[str, ...]]] = {
    "image_url": ("image", ("url",)),
    "input_audio": ("audio", ("data",)),
    "file": ("document", ("file_data", "file_id")),
}
"""Content part type -> (kind, the keys under that type that hold its base64 or data: URL, or say where it is)."""

REASONING = ("reasoning_content", "reasoning")
"""Keys under which compatible servers return unsigned reasoning text."""

REPLY_KEYS = ("annotations", "parsed", "parsed_arguments")
"""Keys of a reply that no request type has (openai-python): where it quotes from, and what the SDK made of its text."""

READ_AS = {"tool_calls": list, "function_call": dict, **dict.fromkeys(REASONING, str)}
"""Key of an assistant message -> of which type its value is read."""

CONTENT_LIKE = ("content", "tool_calls", "function_call", "refusal", "audio")
"""An assistant message must have one of these (spec 6)."""


class OpenAIChat(Format):
    """Chat Completions (spec 6, row openai-chat)."""

    name = "openai-chat"
    keyed = True
    sides = {
        "system": "system",
        "developer": "system",
        "user": "user",
        "assistant": "assistant",
        "tool": "tool",
        "function": "user",
    }
    places = ("content", "tool_calls", "function_call", *REASONING)

    def as_input(self, fields: Message) -> Message:
        if "transcript" in fields and "expires_at" in fields:  # a sound of the model's, which a request names by its id
            return {"id": fields["id"]}
        return {key: value for key, value in fields.items() if key not in REPLY_KEYS}

    def _blocks(self, index: int, raw: Message, side: Side, ordinal: int) -> Iterator[Block]:
        n = 0
        for key in REASONING if side == "assistant" else ():
            if isinstance(raw.get(key), str):
                yield self.block("reasoning", key, raw[key], ordinal, n, bare=True)
                n += 1
        content = raw.get("content")
        if side == "tool":
            check_list(content, index, "content")
            call_id = raw["tool_call_id"] if isinstance(raw.get("tool_call_id"), str) else None
            tools = (raw["name"],) if isinstance(raw.get("name"), str) else ()
            yield self.block("result", "content", content, ordinal, n, bare=True, id=call_id, tools=tools)
        elif isinstance(content, str):
            kind: Kind = "other" if raw["role"] == "function" else "text"
            yield self.block(kind, "content", content, ordinal, n, bare=True)
        elif isinstance(content, list):
            for i, item in enumerate(content):
                yield self._part(index, i, item, n + i, ordinal)
        elif content is not None:
            given = type(content).__name__
            raise InvalidMessages(f"must be a string or a list of parts; got {given}", index, "content")
        n += len(content) if isinstance(content, list) else 1
        if side == "assistant":
            yield from self._calls(index, raw, n, ordinal)

    def _part(self, index: int, i: int, item: Any, position: int, ordinal: int) -> Block:
        kind = item.get("type") if isinstance(item, dict) else None
        if not isinstance(kind, str):
            raise InvalidMessages("must be a dict with a `type`", index, f"content[{i}]")
        if kind == "text":
            if not isinstance(item.get("text"), str):
                raise InvalidMessages(f"must be a string; got {shown(item.get('text'))}", index, f"content[{i}].text")
            return self.block("text", "content", item, ordinal, position)
        return self.block("payload" if _payload_path(item) else "other", "content", item, ordinal, position)

    def _calls(self, index: int, raw: Message, n: int, ordinal: int) -> Iterator[Block]:
        if isinstance(raw.get("function_call"), dict):  # the old form; answered by a message of role function
            yield self.block("other", "function_call", raw["function_call"], ordinal, n, bare=True)
            n += 1
        calls = raw.get("tool_calls")
        if calls is None:
            return
        if not isinstance(calls, list):
            raise InvalidMessages(f"must be a list; got {type(calls).__name__}", index, "tool_calls")
        for i, call in enumerate(calls):
            body = _body(call) if isinstance(call, dict) else None
            if body is None or not isinstance(call.get("id"), str):
                key = f"tool_calls[{i}]"
                raise InvalidMessages("must have a string `id` and a `function` with a `name`", index, key)
            yield self.block("call", "tool_calls", call, ordinal, n + i, id=call["id"], tools=(_name(call),))

    def texts(self, block: Block, longer_than: int = LEAST_LIMIT) -> list[tuple[Path, str]]:
        base = block.base
        if isinstance(base, str):
            return [((), base)]
        if block.kind == "call":
            given = _arguments(base)
            return [((), given)] if base.get("type") == "custom" else list(leaves(parsed(given), longer_than))
        if block.kind == "result":
            if isinstance(content := as_text(base), str):
                return [((), content)]
            texts = [item["text"] for item in content if _is_text(item)]
            return [((), "\n".join(texts))] if texts else []
        return [((), base["text"])] if _is_text(base) else []

    def payloads(self, block: Block) -> list[Payload]:
        if block.kind == "payload":
            return [_payload(block.base)]
        items = block.base if block.kind == "result" and isinstance(block.base, list) else []
        return [_payload(item, i) for i, item in enumerate(items) if _payload_path(item)]

    def image_tokens(self, item: Any, size: Size | None) -> int | None:
        if item.get("detail") == "low":
            return LOW_DETAIL_TOKENS
        return openai_tokens(*size) if size else None

    def beside_text(self, block: Block) -> list[str]:
        items = block.base if isinstance(block.base, list) else []
        kinds = [str(item.get("type")) for item in items if isinstance(item, dict) and not _is_text(item)]
        return [PAYLOADS[kind][0] if kind in PAYLOADS else kind for kind in kinds]

    def _write(self, block: Block, texts: Mapping[Path, str]) -> Any:
        base = block.base
        if isinstance(base, str):
            return texts[()]
        if block.kind == "call":
            return _with_arguments(base, texts)
        if block.kind == "result":
            return self._write_result(base, texts) if isinstance(as_text(base), list) else texts[()]
        return self.text_item(texts[()]) if block.kind == "payload" else {**base, "text": texts[()]}

    def _write_result(self, base: list[Any], texts: Mapping[Path, str]) -> list[Any]:
        """Put a result's text back: one text where there were several, payloads replaced where told."""
        items = [self.text_item(texts[(i,)]) if (i,) in texts else item for i, item in enumerate(base)]
        if () not in texts:
            return items
        first = next(i for i, item in enumerate(base) if _is_text(item))
        rest = [item for i, item in enumerate(items) if i > first and not _is_text(base[i])]
        return [*items[:first], {**base[first], "text": texts[()]}, *rest]

    def _attach(self, wire: Any, note: str) -> Any:
        return [*wire, self.text_item(note)] if isinstance(wire, list) else f"{wire}\n\n{note}" if wire else note

    def call_input(self, block: Block) -> Any:
        given = _arguments(block.base)
        return given if block.base.get("type") == "custom" else parsed(given)

    def tool(self, name: str, description: str, parameters: Message) -> Message:
        return {"type": "function", "function": super().tool(name, description, parameters)}

    def as_call(self, call: Any) -> Block | None:
        is_call = has_strings(call, "id") and has_strings(_body(call), "name")
        return self.block("call", "tool_calls", call, 0, 0, id=call["id"], tools=(_name(call),)) if is_call else None

    def answer(self, call: Block, text: str, *, failed: bool = False) -> Any:
        return {"role": "tool", "tool_call_id": call.id, "content": text}

    def mend(self, block: Block) -> Block | None:
        base = block.base
        if block.kind == "result":
            content = as_text(base)
            return None if content is base else self.render(block, base=content)
        if block.kind == "call":
            path: Path = ("function", "arguments")
            text = None if base.get("type") == "custom" else _mended_arguments(_arguments(base))
        else:
            path = ("arguments",)
            text = _mended_arguments(base.get("arguments")) if block.place == "function_call" else None
        return None if text is None else self.render(block, base=put(base, path, text))

    def rename(self, block: Block, call_id: str) -> Block:
        if block.kind == "call":
            return self.render(block, id=call_id, base={**block.base, "id": call_id})
        return block._replace(id=call_id)

    def is_void(self, row: Row) -> bool:
        if row.side != "assistant":
            return super().is_void(row) and not row.out.get("content")
        return not any(row.out.get(key) for key in CONTENT_LIKE)

    def speech(self, text: str, ordinal: int, kind: Kind = "text") -> tuple[Message, Block]:
        return {"role": "user", "content": ""}, self.block(kind, "content", text, ordinal, bare=True)

    def result(self, call: Block, text: str) -> tuple[Message, Block]:
        at = call.ordinal
        block = self.block("result", "content", text, at, bare=True, id=call.id, tools=call.tools, missing=True)
        return {"role": "tool", "tool_call_id": call.id, "content": ""}, block

    def _assemble(self, head: Message, blocks: Any, hollow: bool = False) -> Message:
        out = super()._assemble(head, blocks, hollow)
        if "tool_call_id" in out and blocks and blocks[0].id not in (None, out["tool_call_id"]):
            out["tool_call_id"] = blocks[0].id
        return out

    def _is_read(self, head: Message, place: str) -> bool:
        return place == "content" or (head["role"] == "assistant" and isinstance(head[place], READ_AS[place]))

    def _emptied(self, out: Message, place: str) -> None:
        if place == "content":
            out[place] = None
        else:
            del out[place]

    def _charged(self, wire: Any) -> list[Path]:
        if isinstance(wire, list):
            return [(i, *_payload_path(item)) for i, item in enumerate(wire) if _payload_path(item)]
        return [path] if (path := _payload_path(wire)) else []


class AlternatingChat(OpenAIChat):
    """Chat Completions for servers whose chat template refuses two neighbours of one role.

    Texts are glued to one string, since such a template adds strings together; tool messages stand between and join
    nothing. Mistral's template leaves calls and tool messages out of account when it looks for two users in a row
    (vllm-project/vllm#6862), so the anchor stands in the tool message and not behind it.
    """

    merges = True
    tool_rows = True
    starts_with_user = True
    glue = "\n\n"

    def joins(self, last: Row, row: Row) -> bool:
        role = row.head.get("role")
        old_calls = last.head.get("function_call") or row.head.get("function_call")
        return role in ("user", "assistant") and last.head.get("role") == role and not old_calls


def _body(call: Message) -> Message | None:
    body = call.get("custom" if call.get("type") == "custom" else "function")
    return body if isinstance(body, dict) else None


def _name(call: Message) -> str:
    return str((_body(call) or {}).get("name", ""))


def _arguments(call: Message) -> Any:
    body = _body(call) or {}
    return body.get("input" if call.get("type") == "custom" else "arguments")


def _mended_arguments(given: Any) -> str | None:
    """Return arguments as the text of a JSON object, or None where they are one."""
    if isinstance(given, str) and isinstance(parsed(given), dict):
        return None
    return "{}" if given in (None, "") else json_text(given if isinstance(given, dict) else {"_raw": given})


def _with_arguments(call: Message, texts: Mapping[Path, str]) -> Message:
    """Put texts into the arguments: the leaves of their JSON, or the free text of a custom tool."""
    if call.get("type") == "custom":
        return {**call, "custom": {**call["custom"], "input": texts[()]}}
    data = parsed(_arguments(call))
    for path, text in texts.items():
        data = put(data, path, text)
    return {**call, "function": {**call["function"], "arguments": json_text(data)}}


def _is_text(item: Any) -> bool:
    return isinstance(item, dict) and item.get("type") == "text" and isinstance(item.get("text"), str)


def _payload_path(item: Any) -> tuple[str, ...]:
    """Return where the base64, URL or id of an image, audio or file stands, or ``()``."""
    if not isinstance(item, dict) or not isinstance(item.get("type"), str) or item["type"] not in PAYLOADS:
        return ()
    body = item.get(item["type"])
    if not isinstance(body, dict):
        return ()
    held = [(key, body.get(key)) for key in PAYLOADS[item["type"]][1]]
    return next(((item["type"], key) for key, data in held if isinstance(data, str) and data and data.isascii()), ())


def _payload(item: Message, *path: str | int) -> Payload:
    outer, inner = _payload_path(item)
    data = item[outer][inner]
    linked = inner == "file_id" or (inner == "url" and not data.startswith("data:"))
    return Payload(path, PAYLOADS[outer][0], data, linked)
