"""OpenAI Responses: a list of items; a response is a run of them, and each result is an item of its own.

By their ids the server checks that nothing of a response is missing: a call or text whose reasoning is gone is refused,
and so is reasoning that nothing follows ("was provided without its required following item"). What stands under an id
it does not compare: clients in wide use send arguments that they wrote anew (pydantic-ai, ``models/openai.py``). So old
arguments are cut here as elsewhere, ids and order stay, and reasoning stays as it came until its response leaves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ga_context.errors import InvalidMessages, shown
from ga_context.formats.base import Format, check_list, has_strings, leaves, parsed
from ga_context.model import Block, Kind, Message, Path, Payload, Row, Side, put
from ga_context.payload.charge import LOW_DETAIL_TOKENS, openai_tokens
from ga_context.payload.pixels import Size
from ga_context.text.size import json_text
from ga_context.text.window import LEAST_LIMIT

ITEM = ""
"""Place of the one block that is a whole item."""

SIDES: dict[str, Side] = {
    "function_call": "assistant",
    "custom_tool_call": "assistant",
    "reasoning": "assistant",
    "function_call_output": "tool",
    "custom_tool_call_output": "tool",
    "additional_tools": "system",
    "configuration_update": "system",
    "compaction_trigger": "user",
}
"""Item type -> who speaks. Of other types what answers a call is the caller's, the rest comes from the model's side."""

ARGUMENTS = {"function_call": "arguments", "custom_tool_call": "input"}
"""Calls of the caller's own tools, and where their arguments stand: as JSON text, or as free text."""

INPUTS = ("arguments", "input", "action", "operation")
"""Where a call of any kind says what it asks for."""

RESULTS = {"tool_search_call": "tool_search_output", "mcp_approval_request": "mcp_approval_response"}
"""Call type -> type of its result, where that is not the same with ``_output`` behind it."""

ID_KEYS = {
    "local_shell_call_output": "id",
    "mcp_approval_request": "id",
    "mcp_approval_response": "approval_request_id",
}
"""Where the call id stands in an item without ``call_id`` (openai-python, ``response_input_item_param.py``)."""

BLANK_IMAGE = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mNgAAAAAgAB5Sfe/AAAAABJRU5ErkJggg=="
)
"""One pixel."""

STAND_INS: dict[str, tuple[Message, Path]] = {
    "apply_patch_call_output": ({"status": "failed"}, ("output",)),
    "computer_call_output": ({"output": {"type": "computer_screenshot", "image_url": BLANK_IMAGE}}, ()),
    "mcp_approval_response": ({"approve": False}, ("reason",)),
    "shell_call_output": (
        {"output": [{"stdout": "", "stderr": "", "outcome": {"type": "exit", "exit_code": 1}}]},
        ("output", 0, "stderr"),
    ),
    "tool_search_output": ({"execution": "client", "status": "completed", "tools": []}, ()),
}
"""Result type -> (what a result of ours has, where its text stands); any other has a text under ``output``."""

PAYLOADS: dict[str, tuple[str, tuple[Path, ...]]] = {
    "input_image": ("image", (("image_url",), ("file_id",))),
    "input_file": ("document", (("file_data",), ("file_url",), ("file_id",))),
    "input_audio": ("audio", (("input_audio", "data"),)),
    "computer_screenshot": ("image", (("image_url",), ("file_id",))),
    "image_generation_call": ("image", (("result",),)),
}
"""Type of a content part or item -> (kind, where its base64 or data: URL may stand, or what says where it is)."""

LINKS = ("file_url", "file_id")
"""Keys under which a file is not, only where it is."""

REPLY_KEYS = ("created_by", "parsed", "parsed_arguments")
"""Keys of an item in a reply that no request type has (openai-python)."""

NULLS = {
    "image_generation_call": ("result",),
    "code_interpreter_call": ("code", "outputs"),
    "double_click": ("keys",),
    "function": ("parameters", "strict"),
}
"""Type -> the keys that a request must show, null where there is nothing (openai-python, its ``_param``)."""

SERVER_HELD = ("previous_response_id", "conversation")


class OpenAIResponses(Format):
    """The Responses API (spec 6, row openai-responses)."""

    name = "openai-responses"
    keyed = True
    sides = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
    flat = True
    drops_reasoning = False

    def as_input(self, fields: Message) -> Message:
        kind = fields.get("type")
        given = {key: value for key, value in fields.items() if key not in REPLY_KEYS}
        if kind == "custom_tool_call_output":
            given.pop("status", None)
        return {**given, **{key: None for key in NULLS.get(str(kind), ()) if key not in given}}

    def _side(self, index: int, raw: Message) -> Side:
        kind = raw.get("type")
        if kind is not None and not isinstance(kind, str):
            raise InvalidMessages(f"must be a string; got {shown(kind)}", index, "type")
        if _is_message(raw):
            return super()._side(index, raw)
        if kind is None:
            _refuse_server_held(index, raw)
            return "assistant"
        side = SIDES.get(kind) or self.sides.get(str(raw.get("role")))
        return side or ("tool" if _is_result(raw) else "assistant")

    def _roles(self) -> str:
        return f"{super()._roles()}, or items with a `type`"

    def _blocks(self, index: int, raw: Message, side: Side, ordinal: int) -> Iterator[Block]:
        content = raw.get("content")
        if not _is_message(raw):
            yield self._item(index, raw, side, ordinal)
        elif isinstance(content, str):
            yield self.block("text", "content", content, ordinal, 0, bare=True)
        elif isinstance(content, list):
            for i, part in enumerate(content):
                yield self._part(index, i, part, ordinal)
        elif content is not None:
            given = type(content).__name__
            raise InvalidMessages(f"must be a string or a list of parts; got {given}", index, "content")

    def _item(self, index: int, raw: Message, side: Side, ordinal: int) -> Block:
        kind = raw.get("type")
        if side == "tool":
            check_list(raw.get("output"), index, "output")
            call_id = raw.get(_id_key(raw))
            call_id = call_id if isinstance(call_id, str) else None
            return self.block("result", ITEM, raw, ordinal, 0, bare=True, id=call_id)
        if kind in ARGUMENTS:
            for key in ("call_id", "name"):
                if not isinstance(raw.get(key), str):
                    raise InvalidMessages(f"must be a string; got {shown(raw.get(key))}", index, key)
            return self.block("call", ITEM, raw, ordinal, 0, bare=True, id=raw["call_id"], tools=(raw["name"],))
        if kind == "reasoning":
            sealed = bool(raw.get("id") or raw.get("encrypted_content"))
            return self.block("reasoning", ITEM, raw, ordinal, 0, bare=True, sealed=sealed)
        if side == "assistant" and _is_call(raw):
            name = raw.get("name") or raw["type"].removesuffix("_call")
            return self.block("call", ITEM, raw, ordinal, 0, bare=True, id=raw[_id_key(raw)], tools=(str(name),))
        refers = "" if kind in (None, "item_reference") else None  # it may stand for a call
        return self.block("other", ITEM, raw, ordinal, 0, bare=True, id=refers)

    def _part(self, index: int, i: int, part: Any, ordinal: int) -> Block:
        kind = part.get("type") if isinstance(part, dict) else None
        if not isinstance(kind, str):
            raise InvalidMessages("must be a dict with a `type`", index, f"content[{i}]")
        if _is_text(part):
            return self.block("text", "content", part, ordinal, i)
        return self.block("payload" if _payload_path(part) else "other", "content", part, ordinal, i)

    def texts(self, block: Block, longer_than: int = LEAST_LIMIT) -> list[tuple[Path, str]]:
        base = block.base
        if isinstance(base, str):
            return [((), base)]
        if block.kind == "call":
            given = base.get(ARGUMENTS.get(base["type"], ""))
            if base["type"] == "function_call":
                return list(leaves(parsed(given), longer_than))
            return [((), given)] if isinstance(given, str) else []
        if block.kind == "result":
            return _output_texts(base.get("output"))
        if block.kind == "reasoning":
            lists = [(key, base[key]) for key in ("summary", "content") if isinstance(base.get(key), list)]
            return [((key, i, "text"), p["text"]) for key, parts in lists for i, p in enumerate(parts) if _is_text(p)]
        return [((), base["text"])] if _is_text(base) else []

    def payloads(self, block: Block) -> list[Payload]:
        if block.kind == "payload":
            return [_payload(block.base)]
        output = block.base.get("output") if block.kind == "result" else None
        items = enumerate(output if isinstance(output, list) else ())
        return [_payload(item, "output", i) for i, item in items if _payload_path(item)]

    def image_tokens(self, item: Any, size: Size | None) -> int | None:
        detail = item.get("detail") or "auto"
        if detail == "low":
            return LOW_DETAIL_TOKENS
        return openai_tokens(*size, detail) if size is not None else None

    def beside_text(self, block: Block) -> list[str]:
        output = block.base.get("output")
        items = [item for item in (output if isinstance(output, list) else [output]) if isinstance(item, dict)]
        kinds = [str(item["type"]) for item in items if "type" in item and not _is_text(item)]
        return [PAYLOADS[kind][0] if kind in PAYLOADS else kind for kind in kinds]

    def _write(self, block: Block, texts: Mapping[Path, str]) -> Any:
        base = block.base
        if isinstance(base, str):
            return texts[()]
        if block.kind == "call":
            return _with_arguments(base, texts)
        if block.kind == "result":
            return {**base, "output": self._output(base["output"], texts)}
        if block.kind == "reasoning":
            return _put_all(base, texts)
        return self.text_item(texts[()]) if block.kind == "payload" else {**base, "text": texts[()]}

    def _output(self, output: Any, texts: Mapping[Path, str]) -> Any:
        """Put a result's texts back: one text where there were several, payloads replaced where told."""
        if not isinstance(output, list):
            return texts.get((), output)
        items: list[Any] = []
        unwritten = () in texts
        for i, item in enumerate(output):
            if ("output", i) in texts:
                items.append(self.text_item(texts["output", i]))
            elif () not in texts or not _is_text(item):
                inner = {path[2:]: text for path, text in texts.items() if path[1:2] == (i,)}
                items.append(_put_all(item, inner))
            elif unwritten:
                items.append({**item, "text": texts[()]})
                unwritten = False
        return items

    def _attach(self, wire: Any, note: str) -> Any:
        output = wire.get("output")
        if isinstance(output, list):
            lists = wire["type"].removesuffix("_output") in ARGUMENTS
            return {**wire, "output": [*output, self.text_item(note)]} if lists else wire
        if not isinstance(output, str | None):
            return wire
        return {**wire, "output": f"{output}\n\n{note}" if output else note}

    def text_item(self, text: str) -> Any:
        return {"type": "input_text", "text": text}

    def call_input(self, block: Block) -> Any:
        given = next((block.base[key] for key in INPUTS if key in block.base), None)
        return given if block.base["type"] == "custom_tool_call" else parsed(given)

    def tool(self, name: str, description: str, parameters: Message) -> Message:
        # A schema that says nothing of it is made strict by the server, and then every key is required.
        return {"type": "function", **super().tool(name, description, parameters), "strict": False}

    def as_call(self, call: Any) -> Block | None:
        is_call = has_strings(call, "call_id", "name") and call.get("type") in ARGUMENTS
        return self._item(0, call, "assistant", 0) if is_call else None

    def answer(self, call: Block, text: str, *, failed: bool = False) -> Any:
        return {"type": _result_type(call.base["type"]), "call_id": call.id, "output": text}

    def mend(self, block: Block) -> Block | None:
        if block.kind == "result":
            return self._as_text(block)
        if block.kind != "call" or block.base["type"] != "function_call":
            return None
        given = block.base.get("arguments")
        if isinstance(given, str) and isinstance(parsed(given), dict):
            return None
        text = "{}" if given in (None, "") else json_text(given if isinstance(given, dict) else {"_raw": given})
        return self.render(block, base={**block.base, "arguments": text})

    def _as_text(self, block: Block) -> Block | None:
        """Return a result of the caller's own tool that is neither text nor parts with its JSON text."""
        output = block.base.get("output")
        if isinstance(output, str | list) or block.base["type"].removesuffix("_output") not in ARGUMENTS:
            return None
        return self.render(block, base={**block.base, "output": "" if output is None else json_text(output)})

    def rename(self, block: Block, call_id: str) -> Block:
        return self.render(block, id=call_id, base={**block.base, _id_key(block.base): call_id})

    def is_void(self, row: Row) -> bool:
        if not row.blocks:
            return True
        return row.side == "assistant" and row.blocks[0].place != ITEM and not row.out.get("content")

    def speech(self, text: str, ordinal: int, kind: Kind = "text") -> tuple[Message, Block]:
        return {"role": "user", "content": ""}, self.block(kind, "content", text, ordinal, bare=True)

    def result(self, call: Block, text: str) -> tuple[Message, Block]:
        kind = _result_type(call.base["type"])
        has, place = STAND_INS.get(kind, ({}, ("output",)))
        item = {"type": kind, ID_KEYS.get(kind, "call_id"): call.id, **has}
        item = put(item, place, text) if place else item
        block = self.block("result", ITEM, item, call.ordinal, bare=True, id=call.id, tools=call.tools, missing=True)
        return item, block

    def _row_chars(self, head: Message, blocks: Sequence[Block]) -> int:
        whole = bool(blocks) and blocks[0].place == ITEM
        return blocks[0].size if whole else super()._row_chars(head, blocks)

    def _assemble(self, head: Message, blocks: Sequence[Block], hollow: bool = False) -> Message:
        if blocks and blocks[0].place == ITEM:
            item: Message = blocks[0].wire
            return item
        return super()._assemble(head, blocks, hollow)

    def _charged(self, wire: Any) -> list[Path]:
        if path := _payload_path(wire):
            return [path]
        output = wire.get("output")
        if isinstance(output, list):
            return [("output", i, *path) for i, item in enumerate(output) if (path := _payload_path(item))]
        return [("output", *path)] if (path := _payload_path(output)) else []


def _is_message(raw: Message) -> bool:
    """Return whether it is a message; of an item_reference, the type may be missing, but it has an id and no role."""
    kind = raw.get("type")
    if kind is None:
        return "role" in raw or not (isinstance(raw.get("id"), str) or any(key in raw for key in SERVER_HELD))
    return bool(kind == "message")


def _refuse_server_held(index: int, raw: Message) -> None:
    """Refuse what stands for history that is on the server: nothing of it can be counted or cut here."""
    for key in SERVER_HELD:
        if raw.get(key) is not None:
            what = "means history that the server holds, where nothing can be cut; pass the whole list of items instead"
            raise InvalidMessages(what, index, key)
    if raw.get("object") == "response":
        raise InvalidMessages("is a response, not an item; pass the items of its `output`", index)


def _id_key(item: Message) -> str:
    return "call_id" if "call_id" in item else ID_KEYS.get(item["type"], "call_id")


def _is_by_server(item: Message) -> bool:
    return item.get("execution") == "server" or not isinstance(item.get(_id_key(item)), str)


def _is_call(item: Message) -> bool:
    """Return whether an item of the model waits for a result of the caller's."""
    kind = str(item.get("type"))
    return (kind.endswith("_call") or kind in RESULTS) and not _is_by_server(item)


def _is_result(item: Message) -> bool:
    """Return whether it answers a call; a tool search, which either side may run, only where the caller did."""
    kind = item["type"]
    if kind == "tool_search_output":
        return not _is_by_server(item)
    return kind.endswith("_call_output") or kind in RESULTS.values()


def _result_type(call_type: str) -> str:
    return RESULTS.get(call_type, f"{call_type}_output")


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and str(part.get("type")).endswith("text") and isinstance(part.get("text"), str)


def _output_texts(output: Any) -> list[tuple[Path, str]]:
    """Return the texts of a result: those of its parts as one, and what a shell printed."""
    if isinstance(output, str):
        return [((), output)]
    items = [(i, item) for i, item in enumerate(output) if isinstance(item, dict)] if isinstance(output, list) else []
    said = [item["text"] for _, item in items if _is_text(item)]
    printed = [(("output", i, key), item.get(key)) for i, item in items for key in ("stdout", "stderr")]
    texts: list[tuple[Path, str]] = [((), "\n".join(said))] if said else []
    return [*texts, *[(path, text) for path, text in printed if isinstance(text, str)]]


def _with_arguments(call: Message, texts: Mapping[Path, str]) -> Message:
    """Put texts into the arguments: the leaves of their JSON, or the free text of a custom tool."""
    if call["type"] == "custom_tool_call":
        return {**call, "input": texts[()]}
    return {**call, "arguments": json_text(_put_all(parsed(call["arguments"]), texts))}


def _put_all(data: Any, texts: Mapping[Path, str]) -> Any:
    for path, text in texts.items():
        data = put(data, path, text)
    return data


def _payload_path(item: Any) -> Path:
    """Return where the base64, URL or id of an image, audio or file stands, or ``()``."""
    if not isinstance(item, dict) or not isinstance(item.get("type"), str) or item["type"] not in PAYLOADS:
        return ()
    held = [(path, _at(item, path)) for path in PAYLOADS[item["type"]][1]]
    return next((path for path, data in held if isinstance(data, str) and data and data.isascii()), ())


def _payload(item: Message, *path: str | int) -> Payload:
    at = _payload_path(item)
    data = _at(item, at)
    linked = at[-1] in LINKS or (at == ("image_url",) and not data.startswith("data:"))
    return Payload(path, PAYLOADS[item["type"]][0], data, linked)


def _at(item: Any, path: Path) -> Any:
    for key in path:
        item = item.get(key) if isinstance(item, dict) else None
    return item
