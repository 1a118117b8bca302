"""What cannot be encoded as UTF-8: lone surrogates, as half-read emoji leave them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def is_encodable(value: Any) -> bool:
    """Return whether every string in JSON data (keys too) can be encoded; nesting may be any depth."""
    stack = [value]
    while stack:
        item = stack.pop()
        kind = type(item)
        if kind is str:
            if not (item.isascii() or _encodes(item)):
                return False
        elif kind is dict:
            stack.extend(item.values())
            if not "".join([key for key in item if type(key) is str]).isascii():
                stack.extend(item)
        elif kind is list or isinstance(item, list | tuple):
            stack.extend(item)
        elif isinstance(item, str | Mapping):
            stack.append(str(item) if isinstance(item, str) else dict(item))
    return True


def encodable(value: Any) -> Any:
    """Return a copy of JSON data in which surrogate pairs are joined and lone surrogates are U+FFFD."""
    if isinstance(value, str):
        return _joined(value)
    root: list[Any] = [value]
    stack: list[tuple[Any, Any]] = [(root, 0)]
    while stack:
        holder, key = stack.pop()
        item = holder[key]
        if isinstance(item, str):
            holder[key] = _joined(item)
        elif isinstance(item, Mapping):
            holder[key] = {_joined(k) if isinstance(k, str) else k: v for k, v in item.items()}
            stack.extend([(holder[key], k) for k in holder[key]])
        elif isinstance(item, list | tuple):
            holder[key] = list(item)
            stack.extend([(holder[key], i) for i in range(len(item))])
    return root[0]


def dicts(value: Any) -> Iterator[Any]:
    """Yield every dict in JSON data; nesting may be any depth."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, Mapping):
            yield item
            stack.extend(item.values())
        elif isinstance(item, list | tuple):
            stack.extend(item)


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _joined(text: str) -> str:
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
