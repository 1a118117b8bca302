"""Bedrock Converse: blocks of one key each; calls are ``toolUse``, results are ``toolResult`` in the next user message.

What spec 6 does not say is from the service model of ``bedrock-runtime`` that botocore carries, or from what live calls
answered, as reported in the issue that is named.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ga_context.errors import InvalidMessages
from ga_context.formats.base import BlockFormat, has_strings, leaves, moved
from ga_context.model import Block, Kind, Message, Path, Payload, Row, Side, put
from ga_context.payload.charge import anthropic_tokens
from ga_context.payload.pixels import Size
from ga_context.text.marker import DOCUMENT_TEXT, EMPTY_RESULT
from ga_context.text.size import UNIFORM, json_chars, json_text
from ga_context.text.window import LEAST_LIMIT

PAYLOADS = ("image", "document", "video", "audio")
"""Blocks that carry bytes, or their base64 text, under ``source.bytes``."""

WORDS = ("text", "toolUse", "toolResult", "reasoningContent", "citationsContent", "searchResult")
KEYS = frozenset({*PAYLOADS, *WORDS, "cachePoint", "guardContent"})
"""What a block may be (service model, ContentBlock); it is one of these only."""

SHORTEST = "5m"
"""Time to live of a cache point that names none (service model, CachePointBlock)."""

RESULT_CONTENT: Path = ("toolResult", "content")
_ONLY_TEXT: Path = (*RESULT_CONTENT, 0, "text")


class Bedrock(BlockFormat):
    """The Converse API (spec 6, row bedrock)."""

    name = "bedrock"
    id_chars = 64
    lists = True

    def _item(self, index: int, i: int, item: Any, side: Side, ordinal: int) -> Block:
        keys = item.keys() & KEYS if isinstance(item, dict) else ()
        if not isinstance(item, dict) or len(keys) > 1:
            given = f"a dict with {' and '.join(sorted(keys))}" if keys else type(item).__name__
            raise InvalidMessages(f"must be a dict with one kind of content; got {given}", index, f"content[{i}]")
        kind = next(iter(keys), "")
        if kind == "text":
            _check(item, ("text",), str, index, i)
            return self.block("text", "content", item, ordinal, i)
        if kind == "toolUse":
            return self._call(index, i, item, ordinal)
        if kind == "toolResult" and (side == "user" or isinstance(item[kind], dict)):
            _check(item, ("toolResult",), dict, index, i)
            _check(item, RESULT_CONTENT, list | tuple | None, index, i)
            given = item["toolResult"].get("toolUseId")
            call_id = given if isinstance(given, str) and side == "user" else None
            return self.block("result", "content", item, ordinal, i, id=call_id)
        if kind == "reasoningContent":
            return self.block("reasoning", "content", item, ordinal, i, sealed=True)
        if kind == "cachePoint":
            return self.block("marker", "content", item, ordinal, i)
        return self.block("payload" if _payload(item) else "other", "content", item, ordinal, i)

    def _call(self, index: int, i: int, item: Message, ordinal: int) -> Block:
        _check(item, ("toolUse",), dict, index, i)
        use = item["toolUse"]
        if use.get("type") is not None:  # the provider runs it: ``server_tool_use``
            return self.block("other", "content", item, ordinal, i)
        for key in ("toolUseId", "name"):
            _check(item, ("toolUse", key), str, index, i)
        return self.block("call", "content", item, ordinal, i, id=use["toolUseId"], tools=(use["name"],))

    def texts(self, block: Block, longer_than: int = LEAST_LIMIT) -> list[tuple[Path, str]]:
        base = block.base
        if isinstance(base, str):
            return [((), base)]
        if block.kind == "call":
            return [
                (("toolUse", "input", *path), text) for path, text in leaves(base["toolUse"].get("input"), longer_than)
            ]
        if block.kind == "result":
            return list(_result_texts(_content(base)))
        return [((), base["text"])] if "text" in base else []

    def payloads(self, block: Block) -> list[Payload]:
        items: list[tuple[Path, Any]] = [((), block.base)] if block.kind == "payload" else []
        if block.kind == "result":
            items = [((*RESULT_CONTENT, i), item) for i, item in enumerate(_content(block.base))]
        return [Payload(path, *payload) for path, item in items if (payload := _payload(item))]

    def image_tokens(self, item: Any, size: Size | None) -> int | None:
        return anthropic_tokens(*size) if size else None

    def beside_text(self, block: Block) -> list[str]:
        return [kind for item in _content(block.base) for kind in PAYLOADS if _is(item, kind)]

    def said(self, block: Block) -> list[str]:
        cuts = dict(block.cuts)
        plain = [(path, text) for path, text in self.texts(block) if "json" not in path[:4]]
        texts = [cuts[path].apply(text) if path in cuts else text for path, text in plain]
        return texts + [json_text(item["json"]) for item in _content(block.wire) if _is(item, "json")]

    def _write(self, block: Block, texts: Mapping[Path, str]) -> Any:
        base = block.base
        if isinstance(base, str):
            return texts[()]
        if block.kind == "payload":
            return self.text_item(texts[()])
        if block.kind == "result":
            return self._write_result(block, texts)
        for path, text in texts.items():
            base = put(base, path or ("text",), text)
        return base

    def is_json(self, block: Block, path: Path) -> bool:
        return block.kind == "result" and path[-1:] == ("json",)

    def _write_result(self, block: Block, texts: Mapping[Path, str]) -> Message:
        """Put a result's texts back: one text where there were several, payloads replaced where told."""
        base = block.base
        written: Message = base
        for path, text in texts.items():
            if path:
                whole = len(path) == len(RESULT_CONTENT) + 1
                data = json.loads(text) if self.is_json(block, path) else text
                written = put(written, path, self.text_item(text) if whole else data)
        if () in texts:
            written = put(written, RESULT_CONTENT, _joined(base, written, texts[()]))
        return written

    def text_item(self, text: str) -> Any:
        return {"text": text}

    def _attach(self, wire: Any, note: str) -> Any:
        return put(wire, RESULT_CONTENT, [*_content(wire), self.text_item(note)])

    def call_input(self, block: Block) -> Any:
        return block.base["toolUse"].get("input")

    def tool(self, name: str, description: str, parameters: Message) -> Message:
        return {"toolSpec": {"name": name, "description": description, "inputSchema": {"json": parameters}}}

    def as_call(self, call: Any) -> Block | None:
        if has_strings(call, "toolUseId"):
            call = {"toolUse": call}
        use: Any = call.get("toolUse") if isinstance(call, dict) else None
        is_call = has_strings(use, "toolUseId", "name") and use.get("type") is None
        return self._call(0, 0, call, 0) if is_call else None

    def answer(self, call: Block, text: str, *, failed: bool = False) -> Any:
        status = {"status": "error"} if failed else {}  # not every model knows the key
        return {"toolResult": {"toolUseId": call.id, "content": [self.text_item(text)], **status}}

    def mend(self, block: Block) -> Block | None:
        if block.kind == "result":
            return self._with_content(block)
        if block.kind != "call":
            return None
        given = block.base["toolUse"].get("input")
        if isinstance(given, dict):
            return None
        data = {} if given in (None, "") else {"_raw": given}
        return self.render(block, base=put(block.base, ("toolUse", "input"), data))

    def _with_content(self, block: Block) -> Block | None:
        items = _content(block.base)
        kept = [i for i, item in enumerate(items) if not _is_text(item) or item["text"].strip()]
        if kept and len(kept) == len(items):
            return None
        content = [items[i] for i in kept] or [self.text_item(EMPTY_RESULT)]
        base = put(block.base, RESULT_CONTENT, content)
        return self.render(block, base=base, cuts=moved(block.cuts, RESULT_CONTENT, kept))

    def rename(self, block: Block, call_id: str) -> Block:
        key = "toolUse" if block.kind == "call" else "toolResult"
        return self.render(block, id=call_id, base=put(block.base, (key, "toolUseId"), call_id))

    def markers(self, block: Block) -> int:
        return int(block.kind == "marker")

    def unmarked(self, block: Block) -> Block | None:
        return None

    def ttl_of(self, item: Any) -> str | None:
        return str(item["cachePoint"].get("ttl") or SHORTEST) if self.is_marker(item) else None

    def is_marker(self, item: Any) -> bool:
        return isinstance(item, dict) and isinstance(item.get("cachePoint"), dict)

    def beside_items(self, value: Any) -> list[Any]:
        return super().beside_items(value["tools"] if _is_tool_config(value) else value)

    def marked_beside(self, value: Any, ttl: str | None) -> Any:
        marked = super().marked_beside(value, ttl)
        return {**value, "tools": marked} if _is_tool_config(value) else marked

    def may_mark(self, item: Any) -> bool:
        if isinstance(item, str):
            return bool(item.strip())
        if not isinstance(item, dict) or "reasoningContent" in item or self.is_marker(item):
            return False
        return "text" not in item or bool(item["text"].strip())

    def marker_at(self, items: Sequence[Any], place: int, ttl: str | None) -> list[Any]:
        item = self.text_item(items[place]) if isinstance(items[place], str) else items[place]
        point = {"type": "default"} if ttl in (None, SHORTEST) else {"type": "default", "ttl": ttl}
        return [*items[:place], item, {"cachePoint": point}, *items[place + 1 :]]

    def _less_marker_at(self, items: Sequence[Any], place: int) -> list[Any]:
        return [*items[: place + 1], *items[place + 2 :]]

    def bare(self, message: Message) -> Message:
        content = message.get("content")
        if not isinstance(content, list | tuple):
            return message
        return {**message, "content": [item for item in content if not _is(item, "cachePoint")]}

    def stray_markers(self, row: Row) -> list[int]:
        # nothing or reasoning before them in the message (strands-agents/harness-sdk#3677, anomalyco/opencode#36517)
        before: Kind | None = None
        places = []
        for place, block in enumerate(row.blocks):
            if block.kind != "marker":
                before = before if self.is_blank(block) else block.kind
            elif before in (None, "reasoning"):
                places.append(place)
        return places

    def complement(self, row: Row) -> tuple[int, Block] | None:
        held = [(place, block) for place, block in enumerate(row.blocks) if block.kind in ("payload", "other")]
        documents = [(place, block) for place, block in held if _is(block.wire, "document")]
        if not documents or any([block.kind == "text" and not self.is_blank(block) for block in row.blocks]):
            return None
        place, last = documents[-1]
        return place + 1, self.block("text", "content", self.text_item(DOCUMENT_TEXT), last.ordinal)

    def is_void(self, row: Row) -> bool:
        return all([block.kind == "marker" for block in row.blocks])

    def result(self, call: Block, text: str) -> tuple[Message, Block]:
        item = self.answer(call, text, failed=True)
        block = self.block("result", "content", item, call.ordinal, id=call.id, tools=call.tools, missing=True)
        return {"role": "user", "content": []}, block

    def _chars(self, wire: Any, kind: Kind) -> int:
        items = _content(wire) if kind == "result" and self.measure is UNIFORM else ()
        if len(items) == 1 and _is_text(items[0]):  # what most results are: the text is counted, not written
            return super()._chars(put(wire, _ONLY_TEXT, ""), kind) + json_chars(items[0]["text"]) - len('""')
        try:
            return super()._chars(wire, kind)
        except TypeError:  # bytes that are no payload, as in redacted reasoning: they go over the wire as base64
            charged = sum([self._charge(wire, path) for path in self._charged(wire)])
            return self._value_size(self._without_payloads(wire), binary=True) + charged

    def _charged(self, wire: Any) -> list[Path]:
        if path := _payload_path(wire):
            return [path]
        items = enumerate(_content(wire)) if _is(wire, "toolResult") else ()
        return [(*RESULT_CONTENT, i, *path) for i, item in items if (path := _payload_path(item))]


def _check(item: Message, path: Path, kind: Any, index: int, i: int) -> None:
    """Refuse what the SDK refuses: something of another type at ``path``."""
    value: Any = item
    for key in path:
        value = value.get(key)
    if not isinstance(value, kind):
        wanted = {str: "a string", dict: "a dict"}.get(kind, "a list")
        at = ".".join([f"content[{i}]", *map(str, path)])
        raise InvalidMessages(f"must be {wanted}; got {type(value).__name__}", index, at)


def _is_tool_config(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("tools"), list | tuple)


def _is(item: Any, key: str) -> bool:
    return isinstance(item, dict) and key in item


def _is_text(item: Any) -> bool:
    return isinstance(item, dict) and isinstance(item.get("text"), str)


def _content(base: Message) -> Sequence[Any]:
    """Return the items of a result, and of what only looks like one."""
    result = base["toolResult"]
    content = result.get("content") if isinstance(result, dict) else None
    return content if isinstance(content, list | tuple) else ()


def _payload_path(item: Any) -> Path:
    """Return where the bytes of an image, document, video or sound stand, or ``()``."""
    if not isinstance(item, dict):
        return ()
    lead, inner = (("guardContent",), item["guardContent"]) if "guardContent" in item else ((), item)
    for kind in PAYLOADS if isinstance(inner, dict) else ():
        holder = inner.get(kind)
        source = holder.get("source") if isinstance(holder, dict) else None
        data = source.get("bytes") if isinstance(source, dict) else None
        if isinstance(data, bytes | bytearray) or (isinstance(data, str) and data.isascii()):
            return (*lead, kind, "source", "bytes")
    return ()


def _payload(item: Any) -> tuple[str, str | bytes] | None:
    """Return (kind, data) of an item that carries bytes, or None; what a guardrail is to assess stays as it is."""
    kind = next(iter(_payload_path(item)), None)
    return (str(kind), item[kind]["source"]["bytes"]) if kind in PAYLOADS else None


def _result_texts(items: Sequence[Any]) -> Iterator[tuple[Path, str]]:
    """Yield the texts of a result as one, then its JSON, the texts of search results and documents."""
    texts = [item["text"] for item in items if _is_text(item)]
    if texts:
        yield (), "\n".join(texts)
    for i, item in enumerate(items):
        for path, text in _inner_texts(item):
            yield (*RESULT_CONTENT, i, *path), text


def _inner_texts(item: Any) -> Iterator[tuple[Path, str]]:
    if not isinstance(item, dict) or "text" in item:
        return
    if "json" in item:
        yield ("json",), json_text(item["json"])
    elif "searchResult" in item or "document" in item:
        for path, text in leaves(item):
            if path[-1] == "text" and path[1] in ("content", "source"):
                yield path, text


def _joined(given: Message, written: Message, text: str) -> list[Any]:
    """Return the items of a result with one text where there were several."""
    items: list[Any] = []
    rest: str | None = text
    for old, new in zip(_content(given), _content(written), strict=True):
        if not _is_text(old):
            items.append(new)
        elif rest is not None:
            items.append({**old, "text": rest})
            rest = None
    return items
