"""Gemini: contents with parts; calls are ``functionCall``, results ``functionResponse`` in the content behind them.

The REST API spells keys in camelCase, the dicts of the google-genai SDK in snake_case and leaves unset keys None; each
message keeps the spelling it came in. Parts are those of https://ai.google.dev/api/caching#Part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ga_context.errors import InvalidMessages, shown
from ga_context.formats.base import Format, has_strings, leaves, parsed
from ga_context.model import Block, Kind, Message, Path, Payload, Side, put
from ga_context.payload.charge import gemini_tokens
from ga_context.payload.pixels import Size
from ga_context.text.size import base64_text, json_text
from ga_context.text.window import LEAST_LIMIT

CALL = ("functionCall", "function_call")
RESULT = ("functionResponse", "function_response")
INLINE = ("inlineData", "inline_data")
FILE = ("fileData", "file_data")

SIGNATURE = ("thoughtSignature", "thought_signature")
URI = ("fileUri", "file_uri")

HOLLOW = frozenset({"text", "thought", *SIGNATURE})
"""Keys with which alone a part says nothing: one kind of data must be set, and an empty text counts as unset."""

OUTPUT = "output"
"""Where a response that is no object goes: the key that the API knows for what a function returned."""

NOTE = "note"
"""Where in a response a text of ours goes that has no other place."""


class Gemini(Format):
    """generateContent of the Gemini API and of Vertex AI (spec 6, row gemini)."""

    name = "gemini"
    sides = {"user": "user", "model": "assistant", "function": "user"}
    places = ("parts",)
    merges = True
    results_alone = True
    starts_with_user = True
    drops_reasoning = False
    misplaced = {"user": ("call",)}

    def _roles(self) -> str:
        return "'user' and 'model'; pass a system prompt as `system=` and not in the list"

    def _side(self, index: int, raw: Message) -> Side:
        return "user" if raw.get("role") is None else super()._side(index, raw)

    def _blocks(self, index: int, raw: Message, side: Side, ordinal: int) -> Iterator[Block]:
        parts = raw.get("parts")
        if isinstance(parts, list | tuple):
            for i, item in enumerate(parts):
                yield self._part(index, i, item, side, ordinal)
        elif parts is not None or "content" in raw or "text" in raw:
            raise InvalidMessages(
                f"must be a list of dicts such as {{'text': ...}}; got {shown(parts)}", index, "parts"
            )

    def _part(self, index: int, i: int, item: Any, side: Side, ordinal: int) -> Block:
        if not isinstance(item, dict):
            raise InvalidMessages(f"must be a dict; got {type(item).__name__}", index, f"parts[{i}]")
        sealed = any([item.get(key) for key in SIGNATURE])
        if key := _function_key(item):
            body = _checked(item, key, index, i, sealed)
            name = body["name"] if isinstance(body.get("name"), str) else ""
            call_id = _shown_id(body) or f"{name}()"
            if key in CALL:
                return self.block("call", "parts", item, ordinal, i, id=call_id, tools=(name,), sealed=sealed)
            answers = call_id if side == "user" else None
            return self.block("result", "parts", item, ordinal, i, id=answers, tools=(name,), sealed=sealed)
        text = item.get("text")
        if text is not None and not isinstance(text, str):
            raise InvalidMessages(f"must be a string; got {type(text).__name__}", index, f"parts[{i}].text")
        kind: Kind = "payload" if _payload_path(item) else "other"
        if text or all([value is None or key in HOLLOW for key, value in item.items()]):
            kind = "reasoning" if text and item.get("thought") else "text"
        return self.block(kind, "parts", item, ordinal, i, sealed=sealed)

    # -- pairing: by id and name where an id is shown, else by the name of the tool, the first call first ----------

    def call_keys(self, raw_id: str, tools: tuple[str, ...]) -> tuple[str, ...]:
        return (raw_id, f"{tools[0]}({raw_id})", f"{tools[0]}(*)")

    def result_keys(self, block: Block) -> tuple[str, ...]:
        if block.id is None:
            return ()
        name = block.tools[0]
        return (f"{name}({block.id})", block.id, f"{name}()") if _shown_id(_body(block.base)) else (f"{name}(*)",)

    def rename(self, block: Block, call_id: str) -> Block:
        key = _function_key(block.base)
        body = block.base[key]
        if block.sealed or not _shown_id(body):
            return block._replace(id=call_id)
        return self.render(block, id=call_id, base={**block.base, key: {**body, "id": call_id}})

    # -- texts ----------------------------------------------------------------------------------------------------

    def texts(self, block: Block, longer_than: int = LEAST_LIMIT) -> list[tuple[Path, str]]:
        base = block.base
        if block.kind == "call":
            return list(leaves(_body(base).get("args"), longer_than))
        if block.kind == "result":
            return _response_texts(_response(_body(base)))
        return [((), base["text"])] if isinstance(base.get("text"), str) else []

    def payloads(self, block: Block) -> list[Payload]:
        if block.sealed or block.kind not in ("payload", "result"):
            return []
        if block.kind == "payload":
            return [_payload(block.base)]
        key = _function_key(block.base)
        return [_payload(item, key, "parts", i) for i, item in _inner_payloads(block.base)]

    def image_tokens(self, item: Any, size: Size | None) -> int | None:
        return gemini_tokens(*size) if size else None

    def beside_text(self, block: Block) -> list[str]:
        parts = _body(block.base).get("parts")
        return [_file_kind(part) for part in parts] if isinstance(parts, list | tuple) else []

    def is_json(self, block: Block, path: Path) -> bool:
        return block.kind == "result" and not path

    def _write(self, block: Block, texts: Mapping[Path, str]) -> Any:
        base = block.base
        if block.kind == "payload":
            return self.text_item(texts[()])
        if block.kind not in ("call", "result"):
            return {**base, "text": texts[()]}
        key = _function_key(base)
        body = base[key]
        if block.kind == "result":
            inner = {path[1:] if path[:1] == (key,) else path: text for path, text in texts.items()}
            return {**base, key: _with_texts(body, inner)}
        args = body["args"]
        for path, text in texts.items():
            args = put(args, path, text)
        return {**base, key: {**body, "args": args}}

    def _attach(self, wire: Any, note: str) -> Any:
        key = _function_key(wire)
        return {**wire, key: {**wire[key], "response": _noted(_response(wire[key]), note)}}

    def text_item(self, text: str) -> Any:
        return {"text": text}

    # -- calls and results ----------------------------------------------------------------------------------------

    def call_input(self, block: Block) -> Any:
        args = _body(block.base).get("args")
        return {} if args is None else args

    def offered(self, tools: list[Message]) -> list[Message]:
        return [{"functionDeclarations": tools}]

    def as_call(self, call: Any) -> Block | None:
        if has_strings(call, "name") and "args" in call:  # as the SDK lists them: without the part around them
            call = {CALL[0]: call}
        key = _spelled(call, CALL) if isinstance(call, dict) else ""
        return self._part(0, 0, call, "assistant", 0) if key and has_strings(call[key], "name") else None

    def answer(self, call: Block, text: str, *, failed: bool = False) -> Any:
        key = _function_key(call.base)
        shown = _shown_id(call.base[key])
        response = {"error" if failed else OUTPUT: text}
        body = {**({"id": shown} if shown else {}), "name": call.tools[0], "response": response}
        return {RESULT[CALL.index(key)]: body}

    def mend(self, block: Block) -> Block | None:
        if block.sealed or block.kind == "other":
            return None
        key = _function_key(block.base)
        body = block.base[key]
        better: Message = {"name": block.tools[0] or "unnamed"}
        if block.kind == "result":
            better["response"] = _response(body)
        else:
            given = body.get("args")
            better["args"] = given if isinstance(given, dict) else {} if given in (None, "") else {"_raw": given}
        if all([body.get(name) is value or body.get(name) == value for name, value in better.items()]):
            return None
        return self.render(block, base={**block.base, key: {**body, **better}})

    def is_blank(self, block: Block) -> bool:
        return block.kind == "text" and not block.sealed and not block.wire.get("text")

    # -- writing --------------------------------------------------------------------------------------------------

    def speech(self, text: str, ordinal: int, kind: Kind = "text") -> tuple[Message, Block]:
        return {"role": "user", "parts": []}, self.block(kind, "parts", self.text_item(text), ordinal)

    def result(self, call: Block, text: str) -> tuple[Message, Block]:
        item = self.answer(call, text, failed=True)
        block = self.block("result", "parts", item, call.ordinal, id=call.id, tools=call.tools, missing=True)
        return {"role": "user", "parts": []}, block

    def _chars(self, wire: Any, kind: Kind) -> int:
        for key in SIGNATURE:
            if isinstance(wire.get(key), bytes | bytearray):
                wire = {**wire, key: base64_text(wire[key])}
        return super()._chars(wire, kind)

    def _charged(self, wire: Any) -> list[Path]:
        if path := _payload_path(wire):
            return [path]
        key = _spelled(wire, RESULT)
        return [(key, "parts", i, *_payload_path(item)) for i, item in _inner_payloads(wire)] if key else []


def _spelled(item: Message, names: tuple[str, str]) -> str:
    """Return the spelling under which an item holds something, or an empty string."""
    camel, snake = names
    return camel if item.get(camel) is not None else snake if item.get(snake) is not None else ""


def _function_key(item: Message) -> str:
    return _spelled(item, CALL) or _spelled(item, RESULT)


def _checked(item: Message, key: str, index: int, i: int, sealed: bool) -> Message:
    """Return the body of a call or result, refused where nothing can mend it."""
    body, where = item[key], f"parts[{i}].{key}"
    if not isinstance(body, dict):
        raise InvalidMessages(f"must be a dict; got {type(body).__name__}", index, where)
    if key in CALL and (other := _spelled(item, RESULT)):
        raise InvalidMessages(f"must be alone in its part; got {other} beside it", index, where)
    if not isinstance(body.get("id"), str | None):
        raise InvalidMessages(f"must be a string; got {type(body['id']).__name__}", index, f"{where}.id")
    place = "args" if key in CALL else "response"
    given = body.get(place)
    if sealed and not (isinstance(given, dict) or (given is None and key in CALL)):
        wanted = f"must be a dict, as its part is signed; got {type(given).__name__}"
        raise InvalidMessages(wanted, index, f"{where}.{place}")
    if sealed and not body.get("name"):
        raise InvalidMessages("must not be missing, as its part is signed", index, f"{where}.name")
    return body


def _body(item: Message) -> Message:
    body: Message = item[_function_key(item)]
    return body


def _shown_id(body: Message) -> str | None:
    return body["id"] if isinstance(body.get("id"), str) and body["id"] else None


def _payload_path(item: Any) -> tuple[str, ...]:
    """Return where the base64 text, the bytes or the address of a part stand, or ``()``."""
    key = (_spelled(item, INLINE) or _spelled(item, FILE)) if isinstance(item, dict) else ""
    holder = item[key] if key and isinstance(item[key], dict) else {}
    place = "data" if key in INLINE else _spelled(holder, URI)
    data = holder.get(place)
    whole = isinstance(data, bytes | bytearray) or (isinstance(data, str) and data.isascii())
    return (key, place) if whole else ()


def _payload(item: Message, *path: str | int) -> Payload:
    key, place = _payload_path(item)
    return Payload(path, _file_kind(item), item[key][place], linked=key in FILE)


def _file_kind(item: Any) -> str:
    """Return what a part with a file, or with the place of one, is by its MIME type."""
    key = _spelled(item, INLINE) or _spelled(item, FILE) if isinstance(item, dict) else ""
    holder = item[key] if key and isinstance(item[key], dict) else {}
    kind = str(holder.get("mimeType") or holder.get("mime_type")).partition("/")[0]
    return kind if kind in ("image", "audio", "video") else "document"


def _inner_payloads(item: Message) -> list[tuple[int, Any]]:
    """Return the images and files of a response, each with its place among its parts."""
    parts = _body(item).get("parts") if _spelled(item, RESULT) else None
    return [(i, one) for i, one in enumerate(parts) if _payload_path(one)] if isinstance(parts, list | tuple) else []


# -- responses: an object, whatever is cut of it


def _text_key(response: Message) -> str | None:
    """Return the key of the one text of a response that else holds at most numbers and flags, as most do."""
    texts = [key for key, value in response.items() if isinstance(value, str)]
    nested = any([isinstance(value, dict | list) for value in response.values()])
    return texts[0] if len(texts) == 1 and not nested else None


def _response(body: Message) -> Message:
    """Return the response of a result as the object that it must be."""
    given = body.get("response")
    return given if isinstance(given, dict) else {} if given in (None, "") else {OUTPUT: given}


def _response_texts(response: Message) -> list[tuple[Path, str]]:
    """Return the one text of a response, or all of it as the text of its JSON."""
    key = _text_key(response)
    if key is not None:
        return [((key,), response[key])]
    return [((), json_text(response))] if response else []


def _with_texts(body: Message, texts: Mapping[Path, str]) -> Message:
    """Return a result with new texts in its response, and with the notes on images that are left out."""
    response = _response(body)
    left_out = [path for path in texts if len(path) == len(("parts", 0))]
    for path, text in texts.items():
        if path == ():
            whole = parsed(text)
            response = whole if isinstance(whole, dict) else {OUTPUT: text}
        elif path not in left_out:
            response = put(response, path, text)
    if not left_out:
        return {**body, "response": response}
    response = _noted(response, "\n".join([texts[path] for path in left_out]))
    kept = [item for i, item in enumerate(body["parts"]) if ("parts", i) not in left_out]
    rest = {key: value for key, value in body.items() if key != "parts"}
    return {**rest, "response": response, **({"parts": kept} if kept else {})}


def _noted(response: Message, note: str) -> Message:
    """Return a response with a text of ours: at the end of its one text, or under a key of its own."""
    key = _text_key(response)
    if key is None:
        key = next(name for n in range(len(response) + 1) if (name := NOTE + "_" * n) not in response)
    return {**response, key: f"{response[key]}\n\n{note}" if response.get(key) else note}
