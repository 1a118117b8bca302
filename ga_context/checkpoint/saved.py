"""What a dump holds, as JSON: the layout, and what is refused."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from hashlib import sha256
from itertools import count
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, field_validator
from typing_extensions import TypedDict

from ga_context.cache.breakpoints import SavedMark
from ga_context.cache.usage import Tokens
from ga_context.checkpoint.columns import Written, summed, unpacked
from ga_context.model import Kind, Line, Side
from ga_context.state import DIGEST_BYTES, Marks

VERSION = 2

UNCHECKED = ("originals", "archive", "binary", "halves", "bytes_key", "check")
"""Fields that are not in the checksum: originals are many, and prove themselves by their own digests."""

_strict = ConfigDict(extra="forbid")
_first = Field(union_mode="left_to_right")


class SavedBlock(TypedDict, total=False):
    """A block of a message that is not sent as it came: what differs from reading the raw message again."""

    __pydantic_config__ = _strict  # type: ignore[misc]

    p: int
    """Its place in the raw message; missing: a block of ours."""
    o: int
    """How many raw messages behind the block before it, or behind the row."""
    a: Written
    """Text of an anchor; nothing else is said of it then."""
    k: Kind
    i: str | None
    """Call id."""
    t: int
    """Number of its tools."""
    w: str
    """The key it stands under."""
    b: bool
    """Bare."""
    s: bool
    """Sealed."""
    m: bool
    """Missing: a placeholder for a result."""
    n: Written
    """The anchor at its end."""
    c: list[list[Any]]
    """[number of the path, characters of the source, start, end, mark, start, end, ...] of each cut text."""
    e: bool
    """The raw block with this call id."""
    l: bool  # noqa: E741
    """The raw text as an item of a list."""
    x: Any
    """Any other base: what came in, or what stands for it."""


class SavedRow(TypedDict, total=False):
    """A message of the view that is not sent as it came."""

    __pydantic_config__ = _strict  # type: ignore[misc]

    r: int
    """How far its ordinal is from that behind the row before it."""
    a: Written
    """Text of an anchor that is a message of its own; nothing else is said of it then."""
    w: bool
    """It sends the caller's own object, but is not what reading it again would make."""
    s: Side
    """Where it is another than that of the raw message."""
    h: int
    """Number of the message around its blocks, where it is not the raw one."""
    b: list[Annotated[int | SavedBlock, _first]]
    """Its blocks; a number: one of the raw message, as it came."""


class _Model(BaseModel):
    model_config = _strict


class SavedTurns(_Model):
    """The turns so far, by columns: what each was given beside the messages."""

    messages: list[tuple[int, int]]
    """How many raw messages there were after each, as steps."""
    budget: list[tuple[int, int]]
    shrink: list[tuple[float, int]]
    key_info: list[tuple[str, int]]
    schema_digest: list[tuple[str, int]]
    schema_turn: list[tuple[int, int]]
    schema_chars: list[tuple[int, int]]

    @property
    def count(self) -> int:
        """How many."""
        return sum([count for _, count in self.messages])


class SavedCalls(_Model):
    """All calls and the results that came, by columns."""

    ordinal: list[tuple[int, int]]
    position: list[tuple[int, int]]
    turn: list[tuple[int, int]]
    raw_id: list[str]
    tools: list[tuple[int, int]]
    renamed: list[tuple[int, str]] = []
    """(number of a call, the id that is sent), where that is another."""
    waiting: list[int] = []
    """Numbers of those that a result may still come for."""
    pairs: list[tuple[int, int]] = []
    """Ordinal of each result, as steps."""
    paired: list[tuple[int, int]] = []
    """Number of the call it answers, as steps."""


class SavedView(_Model):
    """The messages of a view, and what belongs to it."""

    marks: Marks
    rows: list[Annotated[int | SavedRow, _first]]
    """n: the next n raw messages as they came; -n: as many are not in the view."""
    lines: list[Line]
    """The newest of them."""
    calls: int
    pairs: int


class Saved(_Model):
    """A dump."""

    version: int
    config: dict[str, Any]
    past_config: dict[str, Any] | None = None
    """The configuration of the turns so far, where it is another."""
    format: str
    decided: bool
    usage: dict[str, float] = {}
    noted: str | None = None
    """key_info that no turn has seen yet."""
    measured: dict[str, Tokens] = {}
    """Sums of the usage that was recorded, by model."""
    marked: list[SavedMark] = []
    """Cache markers of ours in the last view."""
    raw: str
    """Digest of each raw message."""
    sizes: list[int]
    """C_H of each raw message."""
    now: SavedView
    awaited: list[int] = []
    """Raw messages with reasoning that was left out until something follows it."""
    base: SavedView | None = None
    """The view before the first of ``turns``, where it can not be made from the raw messages."""
    turns: SavedTurns
    calls: SavedCalls
    templates: list[str] = []
    tools: list[tuple[str, ...]] = []
    heads: list[Any] = []
    paths: list[tuple[str | int, ...]] = []
    originals: dict[int, Any] = {}
    """Raw messages that the view does not show as they came."""
    archive_name: str = ""
    """Under which the archive goes on."""
    archive: dict[str, str] = {}
    binary: dict[str, str] = {}
    """Archived bytes, as base64."""
    halves: dict[str, str] = {}
    """Archived texts with half an emoji in them, as base64 of UTF-8: JSON would join two halves."""
    bytes_key: str | None = None
    """Key of an object that stands for bytes; None: there are none."""
    check: str = ""
    _plain: dict[str, Any] = PrivateAttr(default_factory=dict)

    @field_validator("raw")
    @classmethod
    def _is_digests(cls, text: str) -> str:
        if len(unpacked(text)) % DIGEST_BYTES:
            raise ValueError("is cut off")
        return text

    @property
    def plain(self) -> dict[str, Any]:
        """What was read: the same as plain data."""
        return self._plain

    @property
    def entries(self) -> dict[str, str | bytes]:
        """What it has of the archive, by reference; ValueError where that is no base64."""
        halves = {ref: unpacked(text).decode("utf-8", "surrogatepass") for ref, text in self.halves.items()}
        return {**self.archive, **halves, **{ref: unpacked(text) for ref, text in self.binary.items()}}

    @property
    def made_by(self) -> dict[str, Any]:
        """The configuration that made the view."""
        return self.config if self.past_config is None else self.past_config

    def check_parts(self) -> None:
        """Raise ValueError where the parts do not fit together; names the one that does not."""
        messages = len(unpacked(self.raw)) // DIGEST_BYTES
        calls = len(self.calls.raw_id)
        columns = (self.calls.ordinal, self.calls.position, self.calls.turn, self.calls.tools)
        numbers = [*summed(self.calls.paired), *self.calls.waiting, *[number for number, _ in self.calls.renamed]]
        turns = self.turns
        rest = (turns.budget, turns.shrink, turns.key_info, turns.schema_digest, turns.schema_turn, turns.schema_chars)
        ends = summed(turns.messages)
        for name, fits in {
            "sizes": len(self.sizes) == messages,
            "calls": {sum([times for _, times in column]) for column in columns} <= {calls},
            "calls.paired": all([0 <= number < calls for number in numbers]),
            "calls.pairs": len(summed(self.calls.pairs)) == len(summed(self.calls.paired)),
            "calls.tools": all([0 <= number < len(self.tools) for number, _ in self.calls.tools]),
            "turns": {sum([times for _, times in column]) for column in rest} <= {turns.count},
            "turns.messages": ends == sorted(ends) and (not ends or (ends[0] >= 0 and ends[-1] <= messages)),
            "now.marks": self.now.marks.messages == messages,
            "now.rows": sum([row for row in self.now.rows if isinstance(row, int) and row > 0]) <= messages,
        }.items():
            if not fits:
                raise ValueError(f"`{name}` does not fit the rest")


def write(plain: dict[str, Any]) -> str:
    """Return a dump as ASCII, so that half an emoji in a message comes back as it was, with its checksum."""
    plain = {name: value for name, value in plain.items() if name not in ("bytes_key", "check")}
    for key in (f"bytes{n or ''}" for n in count()):
        found = _Bytes(key)
        text = json.dumps(plain, default=found, separators=(",", ":"))
        if not found.count:
            more: dict[str, Any] = {}
            break
        if text.count(f'"{key}":') == found.count:
            more = {"bytes_key": key}
            break
    body = {name: value for name, value in plain.items() if name not in UNCHECKED}
    if plain.get("heads") or '"x":' in text:  # the caller's own dicts may have keys that JSON writes as text
        body = json.loads(json.dumps(body, default=found))
    more["check"] = checksum(body)
    return f"{text[:-1]},{json.dumps(more, separators=(',', ':'))[1:]}"


def read(data: str) -> dict[str, Any]:
    """Return what a dump holds, bytes as bytes; ValueError where it is none or was changed."""
    plain: Any = json.loads(data)
    if not isinstance(plain, dict):
        raise ValueError("it is no object")
    if (key := plain.get("bytes_key")) is not None:
        plain = json.loads(data, object_hook=lambda held: _as_bytes(held, key))
    found: dict[str, Any] = plain
    return found


def is_intact(data: str, plain: dict[str, Any]) -> bool:
    """Return whether a dump has the checksum that was written."""
    raw = json.loads(data) if plain.get("bytes_key") is not None else plain
    return plain.get("check") == checksum({name: value for name, value in raw.items() if name not in UNCHECKED})


def checksum(plain: Any) -> str:
    """Return 16 hexadecimal digits of the digest of plain data, in whatever order its keys are."""
    return sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:16]


def _as_bytes(held: dict[str, Any], key: str) -> Any:
    return b64decode(held[key], validate=True) if len(held) == 1 and key in held else held


class _Bytes:
    """Writes bytes as an object with one key, and counts them."""

    def __init__(self, key: str) -> None:
        self.key, self.count = key, 0

    def __call__(self, value: Any) -> dict[str, str]:
        if not isinstance(value, bytes | bytearray):
            raise TypeError(f"{type(value).__name__} is no JSON")
        self.count += 1
        return {self.key: b64encode(value).decode("ascii")}
