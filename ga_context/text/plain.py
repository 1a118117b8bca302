"""Plain data out of what SDKs hand out: objects of pydantic become dicts, as their API takes them back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from enum import Enum
from typing import Any

from pydantic import BaseModel

from ga_context.text.size import json_text

Fields = dict[str, Any]

_PLAIN = (str, int, float, type(None), bool)
_ONE_VALUE = (str, bytes, bytearray, memoryview)
"""Sequences that are no list of values."""


def _as_they_are(fields: Fields) -> Fields:
    return fields


def plain(value: Any, as_input: Callable[[Fields], Fields] = _as_they_are) -> Any:
    """Return JSON data in which every object of an SDK is a dict, under the names that go over the wire.

    The very value comes back where nothing in it is to be changed; nothing of what is given is changed. Nesting may be
    any depth. Bytes stay bytes, an enum becomes its value, tuples and other sequences become lists, as formats want.

    Args:
        value: a message, a list of them, or what is sent beside them.
        as_input: what becomes of the fields of each object that are set; takes out what the API refuses.
    """
    return _converted(value, as_input) if any(not _stays(item) for item in _items(value)) else value


def plain_text(value: Any, as_input: Callable[[Fields], Fields] = _as_they_are) -> str:
    """Return what ``plain`` makes of a value as JSON; objects are looked for only where JSON does not know them."""
    try:
        return json_text(value)
    except (TypeError, ValueError):
        return json_text(plain(value, as_input))


def as_data(value: Any) -> Any:
    """Return an object of any SDK, of pydantic or not, as dicts of what is set; anything else as it is."""
    if hasattr(value, "model_dump"):
        return value.model_dump(exclude_none=True)
    if isinstance(value, Mapping):
        return {key: as_data(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [as_data(one) for one in value]
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if hasattr(value, "__dict__") and not isinstance(value, type):
        return {key: as_data(one) for key, one in vars(value).items() if not key.startswith("_") and one is not None}
    return value


def _items(value: Any) -> Iterator[Any]:
    """Yield all that JSON data holds, each list and dict once, down to what is no plain list or dict."""
    stack, seen = [value], set()
    while stack:
        item = stack.pop()
        yield item
        kind = type(item)
        if (kind is dict or kind is list) and id(item) not in seen:
            seen.add(id(item))
            stack.extend(item.values() if kind is dict else item)


def _stays(item: Any) -> bool:
    kind = type(item)
    if kind is dict or kind is list or kind in _PLAIN:
        return True
    if isinstance(item, Enum):
        return False
    return isinstance(item, _ONE_VALUE) or not isinstance(item, BaseModel | Mapping | Sequence)


def _converted(value: Any, as_input: Callable[[Fields], Fields]) -> Any:
    """Copy containers from the outside in; one that holds itself does so in the copy, and is refused later."""
    root = [value]
    stack: list[tuple[Any, Any]] = [(root, 0)]
    copies: dict[int, tuple[Any, Any]] = {}  # by id of what is copied, which is kept so that the id stays its own
    while stack:
        holder, key = stack.pop()
        item = holder[key]
        if isinstance(item, Enum):
            holder[key] = item.value
            continue
        if not isinstance(item, dict | list) and _stays(item):
            continue
        if id(item) not in copies:
            copy = _opened(item, as_input)
            copies[id(item)] = (item, copy)
            stack.extend([(copy, at) for at in (copy if isinstance(copy, dict) else range(len(copy)))])
        holder[key] = copies[id(item)][1]
    return root[0]


def _opened(item: Any, as_input: Callable[[Fields], Fields]) -> Any:
    if isinstance(item, BaseModel):
        return as_input(_fields(item))
    return dict(item) if isinstance(item, Mapping) else list(item)


def _fields(item: BaseModel) -> Fields:
    """Return what is set of an object; what the API sent beside the known fields too."""
    known = type(item).model_fields
    set_fields = [(name, value) for name, value in item if value is not None]
    return {(known[name].serialization_alias or name if name in known else name): value for name, value in set_fields}
