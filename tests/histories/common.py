"""The form of a format, and pieces of the formats whose `content` is a string or blocks with a type."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from histories.turns import Call, Message, Turn

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAoAAAAHgCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
"""A PNG whose header says 640 x 480, so that it is worth a placeholder."""

LINK = "https://example.com/chart.png"


@dataclass(frozen=True, slots=True)
class Format:
    """How a format is written; a format is one module with one of these and a line in the registry."""

    turn: Callable[[Turn, int, list[str]], Iterable[Message]]
    """Write a turn, its number, and the ids of its calls."""
    result: Callable[[Call, str, str], Message]
    """Write the result of a call, its id and its name (see `name_of`), that comes later, in a message of its own."""
    changed: Callable[[Message, str], Message]
    """Return a message with a text added; the one that is given stays as it is."""
    by_model: Callable[[Message], bool]
    """Say whether the model wrote a message."""
    system: bool = True
    """System messages stand in the list."""


def wire_text(value: Any, *, ensure_ascii: bool = True) -> str:
    """Return a value as it goes over the wire: JSON, bytes as base64."""
    return json.dumps(value, ensure_ascii=ensure_ascii, default=lambda data: b64encode(data).decode())


def block(text: str) -> Message:
    return {"type": "text", "text": text}


def changed_content(message: Message, text: str) -> Message:
    """Return a message with a text added to its content."""
    content = message.get("content")
    added = [*content, block(text)] if isinstance(content, list) else f"{content or ''}{text}"
    return {**message, "content": added}


def by_assistant(message: Message) -> bool:
    """Say whether the role of a message is the assistant's."""
    return message.get("role") == "assistant"
