"""What the formats share: the form of their rules, and helpers to read JSON and blocks with a type."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

Message = dict[str, Any]
Step = tuple[list[tuple[str, str]], list[tuple[str, str]]]
"""The calls (id, name and arguments) and the results (id, text) that stand in one place."""

SYSTEM_ROLES = ("system", "developer")
HEAD_CHARS = 16
"""A cut keeps the head of a text, so these first characters tell where a text of the raw history went."""
SURROGATES = re.compile("[\ud800-\udfff]+")
PLAIN_HEAD = re.compile(rf"[A-Za-z0-9 .:#_-]{{{HEAD_CHARS}}}")


@dataclass(frozen=True, slots=True)
class Rules:
    """What the oracle must know of one format; a format is one module with one of these and a line in the registry."""

    roles: frozenset[str | None]
    """What may stand under `role`; with None, messages without a role are legal."""
    view: Callable[[list[Message]], list[str]]
    """The faults that the view alone shows, but for roles and for what is not JSON or UTF-8."""
    texts: Callable[[Message], list[str]]
    """The texts that stand in a message directly, not inside a result."""
    calls: Callable[[Message], list[tuple[Any, Any]]]
    """Name and arguments of each call of a message; arguments that are JSON as a text, as a tuple of this text."""
    side: Callable[[Message], str | None]
    """system, user, assistant, or None (such as results in a role of their own)."""
    steps: Callable[[list[Message]], list[Step]] | None = None
    """What stands in one place, calls and results, for formats that pair them by id; None: `relation` does it all."""
    request: Callable[[list[Message], int], bool | None] = lambda raw, i: True
    """Say whether message i, on the side of the user and with a text, is a request; None if readings differ."""
    relation: Callable[[list[Message], list[Message]], list[str]] = lambda raw, view: []
    """What the view lost or altered of the raw history by the rules of this format alone."""
    newest: Callable[[list[Message]], list[Message]] = lambda messages: messages[-1:]
    """The last message; where a response is a run of messages and ends the list, all of it."""
    binary: bool = False
    """Bytes may stand in a message; the SDK sends them as base64."""


def side_of_role(message: Message) -> str | None:
    """Return the side of a message whose `role` is named as in most formats."""
    role = message.get("role")
    if role in SYSTEM_ROLES:
        return "system"
    return role if role in ("user", "assistant") else None


# Content that is a string or a list of blocks with a type


def blocks(message: Message) -> list[Any]:
    """Return the content of a message as a list of blocks, a string as one text block."""
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return list(content) if isinstance(content, list | tuple) else []


def block_texts(message: Message) -> list[str]:
    """Return the texts of a message that stand in it directly, not inside a result."""
    return [b["text"] for b in blocks(message) if is_a(b, "text") and isinstance(b.get("text"), str)]


def block_text(message: Message) -> str:
    """Return the texts of a message as one string."""
    return "\n".join(block_texts(message))


def is_a(block: Any, *types: str) -> bool:
    return isinstance(block, dict) and block.get("type") in types


def is_content(value: Any) -> bool:
    """Say whether a value is a string or a list of blocks, as the request types of both SDKs have a result."""
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(item, dict) for item in value))


# JSON


def leaves(value: Any) -> Iterator[Any]:
    """Yield each key and scalar of a JSON value, without recursion."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            stack += [*item, *item.values()]
        elif isinstance(item, list | tuple):
            stack += item
        else:
            yield item


def leaf_fault(leaf: Any, *, binary: bool = False) -> str | None:
    if isinstance(leaf, str):
        return "a text that UTF-8 cannot encode" if SURROGATES.search(leaf) else None
    if isinstance(leaf, float) and not math.isfinite(leaf):
        return f"{leaf} is not JSON"
    fits = leaf is None or isinstance(leaf, bool | int | float) or (binary and isinstance(leaf, bytes))
    return None if fits else f"{type(leaf).__name__} is not JSON"


def repeated(items: Iterable[Any]) -> list[Any]:
    return [item for item, n in Counter(map(key_of, items)).items() if n > 1]


def key_of(value: Any) -> str:
    """Return a value as text, so that ids of any type can be counted."""
    return value if isinstance(value, str) else repr(value)


def object_fault(arguments: Any) -> str | None:
    """Return why a string of arguments is no JSON object, or None."""
    if not isinstance(arguments, str):
        return f"arguments are no string but {type(arguments).__name__}"
    try:
        value = json.loads(arguments, parse_constant=_refuse, parse_int=len, parse_float=len)
    except RecursionError:
        return None  # too deep for this parser, which says nothing about the provider's
    except ValueError:
        return f"arguments are not JSON: {arguments[:40]!r}"
    return None if isinstance(value, dict) else f"arguments are no object: {arguments[:40]!r}"


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def call_key(name: Any, arguments: Any) -> str:
    return json.dumps([name, arguments])
