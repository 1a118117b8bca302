"""Anthropic Messages: content blocks; calls are ``tool_use``, results are ``tool_result`` in the next user message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ga_context.errors import InvalidMessages, shown
from ga_context.formats.base import BlockFormat, as_text, check_list, has_strings, leaves, moved
from ga_context.model import Block, Message, Path, Payload, Row, Side, put
from ga_context.payload.charge import anthropic_tokens
from ga_context.payload.pixels import Size
from ga_context.text.window import LEAST_LIMIT

PAYLOADS = ("image", "document")
"""Block types that carry a file, or say where it is."""

SOURCES = {"base64": "data", "url": "url", "file": "file_id"}
"""Type of a file's source -> the key under ``source`` that holds it or says where it is."""

MARKER = "cache_control"
SHORTEST = "5m"
"""Time to live of a marker that names none."""

MARKABLE = frozenset({"text", "image", "document", "search_result", "tool_use", "tool_result"})
"""Block types that take a marker: reasoning does not, and an empty text does not either (prompt-caching page)."""

REASONING = ("thinking", "redacted_thinking")

REPLY: dict[str, type] = {"id": str, "model": str, "usage": dict}
"""What a message has, beside its type, that the API sent; a request takes role and content of it alone."""

UNNAMED = {
    **dict.fromkeys(("char_location", "page_location", "content_block_location"), "document_title"),
    **dict.fromkeys(("web_search_result_location", "search_result_location"), "title"),
}
"""Citation type -> the key that a request must show, None where there is none (anthropic-python, its ``_param``)."""


class Anthropic(BlockFormat):
    """The Messages API (spec 6, row anthropic)."""

    name = "anthropic"

    def as_input(self, fields: Message) -> Message:
        kind = fields.get("type")
        if kind == "message":
            return {key: fields[key] for key in ("role", "content") if key in fields}
        if kind not in UNNAMED:
            return fields
        return {UNNAMED[kind]: None, **{key: value for key, value in fields.items() if key != "file_id"}}

    def _item(self, index: int, i: int, item: Any, side: Side, ordinal: int) -> Block:
        kind = item.get("type") if isinstance(item, dict) else None
        if not isinstance(kind, str):
            raise InvalidMessages("must be a dict with a `type`", index, f"content[{i}]")
        if kind == "text":
            if not isinstance(item.get("text"), str):
                raise _needed(item, "text", index, i)
            return self.block("text", "content", item, ordinal, i)
        if kind == "tool_use":
            for key in ("id", "name"):
                if not isinstance(item.get(key), str):
                    raise _needed(item, key, index, i)
            return self.block("call", "content", item, ordinal, i, id=item["id"], tools=(item["name"],))
        if kind == "tool_result":
            check_list(item.get("content"), index, f"content[{i}].content")
            call_id = _text_or_none(item.get("tool_use_id")) if side == "user" else None
            return self.block("result", "content", item, ordinal, i, id=call_id)
        if kind in REASONING:
            sealed = kind == "redacted_thinking" or bool(item.get("signature"))
            return self.block("reasoning", "content", item, ordinal, i, sealed=sealed)
        if kind in PAYLOADS and _payload_path(item):
            return self.block("payload", "content", item, ordinal, i)
        return self.block("other", "content", item, ordinal, i)

    def texts(self, block: Block, longer_than: int = LEAST_LIMIT) -> list[tuple[Path, str]]:
        base = block.base
        if isinstance(base, str):
            return [((), base)]
        if block.kind == "call":
            return list(leaves(base.get("input"), longer_than))
        if block.kind == "result":
            text = _result_text(base.get("content"))
            return [*([] if text is None else [((), text)]), *_inner_texts(base.get("content"))]
        key = "thinking" if block.kind == "reasoning" else "text"
        return [((), base[key])] if isinstance(base.get(key), str) else []

    def payloads(self, block: Block) -> list[Payload]:
        if block.kind == "payload":
            return [_payload(block.base)]
        items = enumerate(_inner_items(block.base)) if block.kind == "result" else ()
        return [_payload(item, "content", i) for i, item in items if _payload_path(item)]

    def image_tokens(self, item: Any, size: Size | None) -> int | None:
        return anthropic_tokens(*size) if size else None

    def beside_text(self, block: Block) -> list[str]:
        items = [item for item in _inner_items(block.base) if isinstance(item, dict) and not _is_text(item)]
        return [str(item.get("type")) for item in items if item.get("type") != "search_result"]

    def _write(self, block: Block, texts: Mapping[Path, str]) -> Any:
        base = block.base
        if isinstance(base, str):
            return texts[()]
        if block.kind == "call":
            return {**base, "input": _put_all(base["input"], texts)}
        if block.kind == "result":
            return _write_result(base, texts)
        if block.kind == "payload":
            return self.text_item(texts[()])
        return {**base, ("thinking" if block.kind == "reasoning" else "text"): texts[()]}

    def _attach(self, wire: Any, note: str) -> Any:
        content = wire.get("content")
        if isinstance(content, list):
            return {**wire, "content": [*content, self.text_item(note)]}
        return {**wire, "content": f"{content}\n\n{note}" if content else note}

    def call_input(self, block: Block) -> Any:
        return block.base.get("input")

    def tool(self, name: str, description: str, parameters: Message) -> Message:
        return {"name": name, "description": description, "input_schema": parameters}

    def as_call(self, call: Any) -> Block | None:
        is_call = has_strings(call, "id", "name") and call.get("type") == "tool_use"
        return self._item(0, 0, call, "assistant", 0) if is_call else None

    def answer(self, call: Block, text: str, *, failed: bool = False) -> Any:
        error = {"is_error": True} if failed else {}
        return {"type": "tool_result", "tool_use_id": call.id, "content": text, **error}

    def mend(self, block: Block) -> Block | None:
        if block.kind == "result":
            return self._mended_result(block)
        given = block.base.get("input")
        if block.kind != "call" or isinstance(given, dict):
            return None
        return self.render(block, base={**block.base, "input": {} if given in (None, "") else {"_raw": given}})

    def _mended_result(self, block: Block) -> Block | None:
        given = block.base.get("content", "")
        content = as_text(given)
        if not isinstance(content, list):
            return self.render(block, base={**block.base, "content": content}) if content is not given else None
        kept = [i for i, item in enumerate(content) if not _is_text(item) or item["text"].strip()]
        if len(kept) == len(content):
            return None
        base = {**block.base, "content": [content[i] for i in kept]}
        return self.render(block, base=base, cuts=moved(block.cuts, ("content",), kept))

    def rename(self, block: Block, call_id: str) -> Block:
        key = "id" if block.kind == "call" else "tool_use_id"
        return self.render(block, id=call_id, base={**block.base, key: call_id})

    def is_void(self, row: Row) -> bool:
        return super().is_void(row) or (row.side == "assistant" and row.ours)

    def markers(self, block: Block) -> int:
        base = block.base
        if isinstance(base, str):
            return 0
        inner = _inner_items(base) if block.kind == "result" else ()
        return (MARKER in base) + sum([MARKER in item for item in inner if isinstance(item, dict)])

    def unmarked(self, block: Block) -> Block | None:
        return self.render(block, base=_unmarked(block.base))

    def bare(self, message: Message) -> Message:
        items = _inner_items(message)
        return {**message, "content": [_unmarked(item) for item in items]} if items else message

    def ttl_of(self, item: Any) -> str | None:
        items = [item, *_inner_items(item)] if isinstance(item, dict) else []
        marks = [one[MARKER] for one in items if isinstance(one, dict) and one.get(MARKER)]
        return str(marks[0].get("ttl") or SHORTEST) if marks and isinstance(marks[0], dict) else None

    def less_marker(self, item: Any) -> Any:
        return _unmarked(item)

    def may_mark(self, item: Any) -> bool:
        if isinstance(item, str):
            return bool(item.strip())
        if not isinstance(item, dict) or item.get("type") not in MARKABLE:
            return False
        return item["type"] != "text" or bool(item["text"].strip())

    def marker_at(self, items: Sequence[Any], place: int, ttl: str | None) -> list[Any]:
        item = self.text_item(items[place]) if isinstance(items[place], str) else items[place]
        mark = {"type": "ephemeral"} if ttl in (None, SHORTEST) else {"type": "ephemeral", "ttl": ttl}
        return [*items[:place], {**item, MARKER: mark}, *items[place + 1 :]]

    def _less_marker_at(self, items: Sequence[Any], place: int) -> list[Any]:
        return [*items[:place], _without_marker(items[place]), *items[place + 1 :]]

    def result(self, call: Block, text: str) -> tuple[Message, Block]:
        item = self.answer(call, text, failed=True)
        block = self.block("result", "content", item, call.ordinal, id=call.id, tools=call.tools, missing=True)
        return {"role": "user", "content": []}, block

    def _charged(self, wire: Any) -> list[Path]:
        if wire["type"] in PAYLOADS:
            return [_payload_path(wire)] if _payload_path(wire) else []
        items = wire.get("content") if wire["type"] == "tool_result" else None
        if not isinstance(items, list):
            return []
        return [("content", i, *_payload_path(item)) for i, item in enumerate(items) if _payload_path(item)]


def is_reply(message: Any) -> bool:
    """Return whether a message is, key by key, what the API sent."""
    return message.get("type") == "message" and all(isinstance(message.get(key), REPLY[key]) for key in REPLY)


def _inner_items(base: Any) -> list[Any]:
    content = base.get("content") if isinstance(base, dict) else None
    return content if isinstance(content, list) else []


def _without_marker(item: Any) -> Any:
    return {key: value for key, value in item.items() if key != MARKER} if isinstance(item, dict) else item


def _unmarked(item: Any) -> Any:
    """Return a block without its markers and those of the blocks in it."""
    base = _without_marker(item)
    inner = _inner_items(base)
    return {**base, "content": [_without_marker(one) for one in inner]} if inner else base


def _needed(item: Message, key: str, index: int, i: int) -> InvalidMessages:
    return InvalidMessages(f"must be a string; got {shown(item.get(key))}", index, f"content[{i}].{key}")


def _text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _is_text(item: Any) -> bool:
    return isinstance(item, dict) and item.get("type") == "text" and isinstance(item.get("text"), str)


def _payload_path(item: Any) -> Path:
    """Return where the base64 text, URL or id of an image or document stands, or ``()``."""
    if not isinstance(item, dict) or item.get("type") not in PAYLOADS:
        return ()
    source = item.get("source")
    if not isinstance(source, dict) or not isinstance(source.get("type"), str):
        return ()
    key = SOURCES.get(source["type"], "")
    return ("source", key) if isinstance(source.get(key), str) and source[key].isascii() else ()


def _payload(item: Message, *path: str | int) -> Payload:
    source = item["source"]
    return Payload(path, item["type"], source[SOURCES[source["type"]]], linked=source["type"] != "base64")


def _result_text(content: Any) -> str | None:
    if content is not None and isinstance(content := as_text(content), str):
        return str(content)
    texts = [item["text"] for item in content if _is_text(item)] if isinstance(content, list) else []
    return "\n".join(texts) if texts else None


def _inner_texts(content: Any) -> list[tuple[Path, str]]:
    """Return the texts of search results and plain documents inside a result, each with its path."""
    found: list[tuple[Path, str]] = []
    for i, item in enumerate(content if isinstance(content, list) else ()):
        kind = item.get("type") if isinstance(item, dict) else None
        source = item.get("source") if kind == "document" else None
        if isinstance(source, dict) and source.get("type") == "text" and isinstance(source.get("data"), str):
            found.append((("content", i, "source", "data"), source["data"]))
        elif kind == "search_result":
            inner = enumerate(_inner_items(item))
            found += [(("content", i, "content", j, "text"), one["text"]) for j, one in inner if _is_text(one)]
    return found


def _write_result(base: Message, texts: Mapping[Path, str]) -> Message:
    """Put a result's text back: one text where there were several, payloads replaced where told."""
    for path, text in texts.items():
        if len(path) > len(("content", 0)):
            base = put(base, path, text)
    content: Any = base.get("content")
    if not isinstance(as_text(content), list):
        return {**base, "content": texts.get((), content)}
    items: list[Any] = []
    unwritten = () in texts
    for i, item in enumerate(content):
        if ("content", i) in texts:
            items.append({"type": "text", "text": texts["content", i]})
        elif () not in texts or not _is_text(item):
            items.append(item)
        elif unwritten:
            items.append({**item, "text": texts[()]})
            unwritten = False
    return {**base, "content": items}


def _put_all(data: Any, texts: Mapping[Path, str]) -> Any:
    for path, text in texts.items():
        data = put(data, path, text)
    return data
