"""The text protocol: calls are ``<tool_use>`` / ``<tool_call>`` pairs in assistant strings, results are user text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ga_context.errors import InvalidMessages
from ga_context.formats.base import Format, parsed
from ga_context.model import Block, Kind, Message, Path, Side
from ga_context.text.size import json_text
from ga_context.text.summary import first_line, printable
from ga_context.text.tags import bracketed, has_lone, matches, pairs
from ga_context.text.window import LEAST_LIMIT

CALL_TAGS = ("tool_use", "tool_call")
RESULT_TAGS = ("tool_result",)

NAME_KEYS = ("name", "tool", "tool_name", "function")
INPUT_KEYS = ("arguments", "input", "parameters", "args")
SCHEMA_KEYS = ("parameters", "input_schema", "inputSchema")
"""Where the definition of a tool has the JSON Schema of its input: OpenAI, Anthropic, MCP."""


class TaggedText(Format):
    """Role and string messages with tags (spec 6, row text)."""

    name = "text"
    sides = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
    tagged = True

    def _blocks(self, index: int, raw: Message, side: Side, ordinal: int) -> Iterator[Block]:
        content = raw.get("content")
        if isinstance(content, str):
            yield self._string(content, side, ordinal, 0, bare=True)
        elif isinstance(content, list):
            for i, item in enumerate(content):
                if not isinstance(item, dict):
                    raise InvalidMessages(f"must be a dict; got {type(item).__name__}", index, f"content[{i}]")
                if isinstance(item.get("text"), str):
                    yield self._string(item, side, ordinal, i)
                else:
                    yield self.block("other", "content", item, ordinal, i)
        elif content is not None:
            raise InvalidMessages(f"must be a string; got {type(content).__name__}", index, "content")

    def _string(self, wire: Any, side: Side, ordinal: int, position: int, bare: bool = False) -> Block:
        text = wire if isinstance(wire, str) else wire["text"]
        called = _calls(text) if side == "assistant" else []
        if not called:
            return self.block("text", "content", wire, ordinal, position, bare=bare)
        tools = tuple([name for name, _ in called])
        return self.block("call", "content", wire, ordinal, position, bare=bare, id="", tools=tools)

    def as_result(self, block: Block, tools: tuple[str, ...]) -> Block:
        """Return a user's text as the result of the calls right before it."""
        return block._replace(kind="result", id="", tools=tools) if block.kind == "text" else block

    def texts(self, block: Block, longer_than: int = LEAST_LIMIT) -> list[tuple[Path, str]]:
        base = block.base
        text = base if isinstance(base, str) else base.get("text")
        return [((), text)] if isinstance(text, str) else []

    def spans(self, text: str, names: Sequence[str]) -> list[tuple[int, int]] | None:
        found = [pair for pair in pairs(text, {*names, *RESULT_TAGS}) if pair.name in RESULT_TAGS]
        return [(pair.content_start, pair.content_end) for pair in found] or None

    def _write(self, block: Block, texts: Mapping[Path, str]) -> Any:
        return texts[()] if isinstance(block.base, str) else {**block.base, "text": texts[()]}

    def _attach(self, wire: Any, note: str) -> Any:
        text = wire if isinstance(wire, str) else wire["text"]
        noted = f"{text}\n\n{note}" if text else note
        return noted if isinstance(wire, str) else {**wire, "text": noted}

    def calls(self, block: Block) -> list[tuple[str, Any]]:
        return _calls(self.texts(block)[0][1])

    def as_call(self, call: Any) -> Block | None:
        if isinstance(call, dict):
            call = json_text(call)
        if not isinstance(call, str):
            return None
        text = call if pairs(call, CALL_TAGS) else f"<{CALL_TAGS[0]}>{call}</{CALL_TAGS[0]}>"
        block = self._string(text, "assistant", 0, 0, bare=True)
        return block if len(block.tools) == 1 and block.tools[0] else None

    def answer(self, call: Block, text: str, *, failed: bool = False) -> Any:
        return f"<{RESULT_TAGS[0]}>{text}</{RESULT_TAGS[0]}>"

    def quoted(self, text: str, names: Sequence[str]) -> str:
        names = (*names, *CALL_TAGS, *RESULT_TAGS)
        return bracketed(text, names) if any([mate is None for _, mate in matches(text, names)]) else text

    def is_malformed(self, block: Block, tools: Any) -> bool:
        text = next((text for _, text in self.texts(block)), "")
        if has_lone(text, CALL_TAGS):
            return True
        names = [name for name, _ in _calls(text)] if block.kind == "call" else []
        known = _definitions(tools) if names else {}
        return any([not name or (bool(known) and name not in known) for name in names])

    def reminder(self, tools: Any) -> str:
        """Name each tool with its parameters: where the whole prompt is sent anew each turn, that is all there is."""
        forms = [f"{name}({', '.join(parameters)})" for name, parameters in _definitions(tools).items()]
        which = f": {printable(', '.join(forms))}" if forms else ""
        return f"[tool definitions unchanged{which}; a call has the same form as before]"

    def speech(self, text: str, ordinal: int, kind: Kind = "text") -> tuple[Message, Block]:
        return {"role": "user", "content": ""}, self.block(kind, "content", text, ordinal, bare=True)

    def _emptied(self, out: Message, place: str) -> None:
        out[place] = ""


def _definitions(tools: Any) -> dict[str, list[str]]:
    """Return the parameters of each tool, what may be left out with a "?"; nothing where one is not to be read."""
    found: dict[str, list[str]] = {}
    listed = parsed(tools)
    for item in listed if isinstance(listed, list | tuple) else [None]:
        body = item.get("function", item) if isinstance(item, dict) else None
        if not isinstance(body, dict) or not isinstance(body.get("name"), str):
            return {}
        schema: Message = next((body[key] for key in SCHEMA_KEYS if isinstance(body.get(key), dict)), {})
        properties, required = schema.get("properties"), schema.get("required")
        names = list(properties) if isinstance(properties, dict) else []
        needed = required if isinstance(required, list) else []
        found[body["name"]] = [name if name in needed else f"{name}?" for name in names]
    return found


def _calls(text: str) -> list[tuple[str, Any]]:
    """Return (tool, input) of each call pair; a content that is not JSON is its own input, the tool then unnamed."""
    found = []
    for pair in pairs(text, CALL_TAGS):
        content = text[pair.content_start : pair.content_end].strip()
        data = parsed(content)
        if isinstance(data, dict):
            name = next((data[key] for key in NAME_KEYS if isinstance(data.get(key), str)), "")
            found.append((name, parsed(next((data[key] for key in INPUT_KEYS if key in data), data))))
        else:
            found.append(("", {"code": first_line(content, 60)}))
    return found
