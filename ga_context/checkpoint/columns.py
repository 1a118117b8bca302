"""Columns: many small values written as few long ones, in plain JSON."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from itertools import accumulate, groupby, pairwise
from typing import Any, TypeAlias, TypeVar

from ga_context.state import DIGEST_BYTES
from ga_context.text.plain import plain_text
from ga_context.text.size import json_text

TEMPLATE_CHARS = 2_000
"""Longer texts are written as they are."""

Written: TypeAlias = str | list[Any]
"""A text: as it is, or [number of its template, what stands in its gaps...]."""

AsInput: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]

T = TypeVar("T")
_GAP = "\0"
_FILLING = re.compile(r"(\b[0-9a-f]{16}\b|[0-9]+)")


def digest(message: Any, as_input: AsInput | None = None) -> bytes:
    """Return the digest of a message as JSON, of an SDK's object as the dict that its API takes back.

    Two halves of an emoji are one, as they are when JSON is read.
    """
    text = json_text(message) if as_input is None else plain_text(message, as_input)
    try:
        data = text.encode()
    except UnicodeEncodeError:
        joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
        data = joined.encode("utf-8", "surrogatepass")
    return sha256(data).digest()[:DIGEST_BYTES]


def packed(data: bytes | bytearray) -> str:
    """Return bytes as ASCII."""
    return b64encode(data).decode("ascii")


def unpacked(text: str) -> bytes:
    """Return the bytes that ``packed`` wrote; ValueError when it did not."""
    return b64decode(text, validate=True)


def split(digests: bytes | bytearray) -> list[bytes]:
    """Return the digests that stand behind each other."""
    return [bytes(digests[at : at + DIGEST_BYTES]) for at in range(0, len(digests), DIGEST_BYTES)]


def runs(values: Iterable[T]) -> list[tuple[T, int]]:
    """Return (value, how often) of each run of equal values."""
    return [(value, len(list(same))) for value, same in groupby(values)]


def unrolled(pairs: Iterable[tuple[T, int]]) -> list[T]:
    """Return the values that ``runs`` wrote."""
    return [value for value, count in pairs for _ in range(count)]


def steps(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Return runs of the differences between numbers, the first to 0."""
    return runs([b - a for a, b in pairwise([0, *numbers])])


def summed(pairs: Iterable[tuple[int, int]]) -> list[int]:
    """Return the numbers that ``steps`` wrote."""
    return list(accumulate(unrolled(pairs)))


class Table:
    """Values that come again, each kept once and named by its number."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._numbers: dict[Any, int] = {}

    def number(self, value: Any, key: Any = None) -> int:
        """Return the number of a value; ``key`` stands for one that has no hash."""
        number = self._numbers.setdefault(value if key is None else key, len(self.values))
        if number == len(self.values):
            self.values.append(value)
        return number


class Templates(Table):
    """Texts of ours that differ in numbers and references only."""

    def written(self, text: str) -> Written:
        """Return a text as the number of its template and what fills the gaps."""
        if len(text) > TEMPLATE_CHARS or _GAP in text:
            return text
        parts = _FILLING.split(text)
        if len(parts) == 1:
            return text
        fillings = [int(one) if one.isdecimal() and one[0] != "0" and len(one) < 16 else one for one in parts[1::2]]
        return [self.number(_GAP.join(parts[::2])), *fillings]


def read(templates: Sequence[str], written: Written) -> str:
    """Return the text that ``Templates.written`` wrote."""
    if isinstance(written, str):
        return written
    number, *fillings = written
    parts = templates[number].split(_GAP)
    if len(parts) != len(fillings) + 1:
        raise ValueError(f"template {number} has {len(parts) - 1} gaps; got {len(fillings)}")
    return "".join([f"{part}{filling}" for part, filling in zip(parts, [*fillings, ""], strict=True)])
