"""The size of a text or value as JSON: its length, without writing it where that is dear, or its weight."""

import json
import math
import sys
from base64 import b64encode
from collections.abc import Callable, Iterator
from functools import cache
from json.encoder import c_make_encoder, encode_basestring  # type: ignore[attr-defined]
from typing import Any, NamedTuple, Protocol

from ga_context.text.weights import FAMILIES, UNIT, FamilyName

_ESCAPED = b'"\\\b\f\n\r\t'  # two characters in JSON; any other below space is six: \u0000
_PLAIN = bytes(code for code in range(32, 256) if code not in _ESCAPED)
_LONG = 500
_SHORT = 64  # below this many characters json's own encoder is the faster way (measured)


def json_chars(text: str) -> int:
    """Return `len(json.dumps(text, ensure_ascii=False))`.

    Raises:
        UnicodeEncodeError: half of a surrogate pair stands alone in it.
    """
    if len(text) < _SHORT and text.isascii():
        return len(encode_basestring(text))
    special = text.encode().translate(None, _PLAIN)
    return len(text) + 2 + len(special) + 4 * len(special.translate(None, _ESCAPED))


def _refuse(value: object) -> object:
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


def base64_text(value: object) -> str:
    """Return bytes as the text that stands for them in JSON."""
    return b64encode(value).decode() if isinstance(value, bytes | bytearray) else str(_refuse(value))


_Default = Callable[[object], object]


def _encoder(default: _Default, allow_nan: bool) -> Any:
    """Make one C encoder for all values: json.dumps makes a new one for each.

    Without its search for cycles, which the depth limit of the interpreter finds just as well.
    """
    return c_make_encoder and c_make_encoder(
        None, default, encode_basestring, None, ": ", ", ", False, False, allow_nan
    )


_pieces, _pieces_of_bytes = _encoder(_refuse, False), _encoder(base64_text, True)


def json_size(value: object, *, binary: bool = False) -> int:
    """Return `len(json_text(value))`; a long text in it is counted, which is faster than writing it.

    Raises:
        TypeError: something that is not JSON stands in it; bytes too, unless it is `binary`.
        ValueError: a number that JSON does not have, or one of more digits than Python writes.
        UnicodeEncodeError: half of a surrogate pair stands alone in it.
    """
    if type(value) is dict:
        for key, inner in value.items():
            if type(inner) is str and len(inner) >= _LONG:
                return json_size({**value, key: ""}, binary=binary) + json_chars(inner) - 2
    text = json_text(value) if binary else _written(value, _pieces, _refuse)
    if not text.isascii():
        text.encode()
    return len(text)


def json_text(value: object) -> str:
    """Return `json.dumps(value, ensure_ascii=False)`, however deep the value is nested; bytes are written as base64."""
    return _written(value, _pieces_of_bytes, base64_text)


class _ValueSize(Protocol):
    def __call__(self, value: object, *, binary: bool = False) -> int: ...


class Measure(NamedTuple):
    """How C_H counts a text and a value (spec 5). What stands between the blocks of a message is always one each."""

    text: Callable[[str], int]
    """Size of a string as JSON, quotes included; of an empty one 2."""
    value: _ValueSize
    """Size of anything as JSON; with ``binary`` bytes count as their base64."""
    most_chars: int
    """Characters of a text that a size of one stands for, at most."""
    most_bytes: int
    """Bytes in UTF-8 likewise."""


UNIFORM = Measure(json_chars, json_size, 1, 4)
"""One each, the report's rule."""


@cache
def weighed(family: FamilyName) -> Measure:
    """Return the measure that counts weighted characters: each text and value as JSON, rounded up."""
    weigh = FAMILIES[family].weigh
    quotes = weigh('""')

    def text(text: str) -> int:
        return 2 - (quotes - weigh(encode_basestring(text))) // UNIT

    def value(value: object, *, binary: bool = False) -> int:
        if type(value) is dict:
            for key, inner in value.items():
                if type(inner) is str and len(inner) >= _LONG:
                    return measured_value({**value, key: ""}, binary=binary) + text(inner) - 2
        return -(-weigh(json_text(value) if binary else _written(value, _pieces, _refuse)) // UNIT)

    measured_value = value
    return Measure(text, value, 4, 4)  # no weight is below a quarter, nor below a quarter of its character's bytes


def counted(count: Callable[[str], int], chars_per_token: float) -> Measure:
    """Return the measure of a caller's own counter of tokens, each of which counts so many characters."""

    def text(text: str) -> int:
        return max(2, _counted(encode_basestring(text))) if text else 2

    def value(value: object, *, binary: bool = False) -> int:
        return max(2, _counted(json_text(value) if binary else _written(value, _pieces, _refuse)))

    def _counted(text: str) -> int:
        text.encode()  # half a surrogate pair is refused here, whatever the counter makes of it
        return math.ceil(count(text) * chars_per_token)

    return Measure(text, value, sys.maxsize, sys.maxsize)


def _written(value: object, pieces: Any, default: _Default) -> str:
    try:
        return "".join(pieces(value, 0)) if pieces else _dumped(value, default)
    except RecursionError:
        return "".join(_encode(value, default))


def _dumped(value: object, default: _Default) -> str:
    """Write a value; where bytes are refused, so is what no JSON number is."""
    return json.dumps(value, ensure_ascii=False, default=default, allow_nan=default is not _refuse)


def _encode(root: object, default: _Default = base64_text) -> Iterator[str]:
    path: list[tuple[int, Iterator[tuple[str, object]], str]] = []  # id, what is still to write, closing bracket
    open_ids: set[int] = set()
    todo: Iterator[tuple[str, object]] = iter([("", root)])
    closing = ""
    while True:
        for lead, value in todo:
            yield lead
            if not isinstance(value, dict | list | tuple) or not value:
                yield _dumped(value, default)
                continue
            if id(value) in open_ids:
                raise ValueError("Circular reference detected")
            open_ids.add(id(value))
            path.append((id(value), todo, closing))
            todo, closing = _members(value), "}" if isinstance(value, dict) else "]"
            break
        else:
            yield closing
            if not path:
                return
            done, todo, closing = path.pop()
            open_ids.remove(done)


def _members(value: dict[object, object] | list[object] | tuple[object, ...]) -> Iterator[tuple[str, object]]:
    """Yield each member with all that is written before it."""
    if isinstance(value, dict):
        lead = "{"
        for key, member in value.items():
            yield lead + json.dumps({key: 0}, ensure_ascii=False)[1:-2], member
            lead = ", "
    else:
        lead = "["
        for member in value:
            yield lead, member
            lead = ", "
