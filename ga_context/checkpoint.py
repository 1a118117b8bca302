"""A session as JSON and back: what decides the next bytes.

Raw messages are written as digests: the caller still holds them, or the view and, with the archive, the originals.
The first list that a loaded session is given is matched against them, and the rows are built again from its messages.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from ga_context import formats
from ga_context.archive import MemoryArchive
from ga_context.config import ContextConfig
from ga_context.errors import ConfigError
from ga_context.model import Block, Call, Line, Message, Row
from ga_context.reading import read
from ga_context.state import Marks, State
from ga_context.text.size import json_text
from ga_context.text.window import Cut

VERSION = 1

CHANGEABLE = ("kind", "place", "bare", "id", "tools", "sealed", "missing", "note")
"""Fields of a block that may differ from what the message shows when it is read again."""


class Saved(BaseModel):
    """A dump."""

    model_config = ConfigDict(extra="forbid")

    version: int
    """Of this layout."""
    config: dict[str, Any]
    format: str
    decided: bool
    marks: dict[str, Any]
    sizes: list[int]
    """C_H of each raw message."""
    raw: list[str]
    """Digest of each raw message."""
    view: list[str]
    """Digest of each message of the view."""
    rows: list[dict[str, Any]]
    calls: list[dict[str, Any]]
    pairs: list[tuple[int, int]]
    """(ordinal of a result, position of its call in ``calls``)."""
    lines: list[dict[str, Any]]
    usage: dict[str, float]
    originals: dict[int, Any]
    """Raw messages that the view does not show as they came."""
    archive: dict[str, str]
    binary: dict[str, str]
    """Archived bytes, as base64."""


@dataclass(slots=True)
class Pending:
    """A loaded session before it has seen a list."""

    saved: Saved


def dump(state: State, config: ContextConfig, usage: Mapping[str, float], archive: bool) -> str:
    """Return the state as JSON text."""
    if state.pending is not None:
        return json.dumps(state.pending.saved.model_dump(mode="json"))
    whole = {row.ordinal for row in state.rows if _is_whole(state, row)}
    edited = sorted({block.ordinal for row in state.rows for block in row.blocks if not block.ours} - whole)
    entries = state.archive.entries if archive else {}
    place = {id(call): i for i, call in enumerate(state.calls)}
    saved = Saved(
        version=VERSION,
        config=config.to_dict(),
        format=state.fmt.name,
        decided=state.decided,
        marks=asdict(state.marks),
        sizes=state.sizes,
        raw=[digest(message) for message in state.raw],
        view=[digest(message) for message in state.view],
        rows=[_row_spec(state, row) for row in state.rows],
        calls=[asdict(call) for call in state.calls],
        pairs=[(ordinal, place[id(call)]) for ordinal, call in state.pairs],
        lines=[asdict(line) for line in state.lines],
        usage=dict(usage),
        originals={i: state.raw[i] for i in edited} if archive else {},
        archive={ref: text for ref, text in entries.items() if isinstance(text, str)},
        binary={ref: b64encode(data).decode() for ref, data in entries.items() if isinstance(data, bytes)},
    )
    return json.dumps(saved.model_dump(mode="python"))


def load(data: str) -> Saved:
    """Read a dump; one that is damaged or of another version is a ``ConfigError`` that says what is wrong."""
    try:
        saved = Saved.model_validate(json.loads(data))
    except json.JSONDecodeError as error:
        raise ConfigError(f"this is no dump of a session: not JSON ({error})") from None
    except ValidationError as error:
        first = error.errors()[0]
        raise ConfigError(f"this dump is damaged: `{'.'.join(map(str, first['loc']))}` {first['msg']}") from None
    if saved.version != VERSION:
        raise ConfigError(f"this dump has version {saved.version}; this library reads version {VERSION}")
    return saved


def restored(saved: Saved, payload_chars: int) -> State:
    """Return a state that knows everything but the messages, which the next list brings."""
    archive = MemoryArchive({**saved.archive, **{ref: b64decode(text) for ref, text in saved.binary.items()}})
    state = State(formats.make(saved.format, payload_chars), archive, decided=saved.decided)
    state.pending = Pending(saved)
    state.mark(key_info=saved.marks["key_info"])
    return state


def adopt(state: State, messages: list[Message]) -> None:
    """Build the rows of a loaded session from the list that continues it; one that does not starts anew."""
    if state.pending is None:
        return
    saved, state.pending = state.pending.saved, None
    raws = _resolve(saved, messages)
    if raws is None:
        return
    key_info = state.marks.key_info
    state.raw.extend(raws)
    state.sizes.extend(saved.sizes)
    state.calls.extend(Call(**{**call, "tools": tuple(call["tools"])}) for call in saved.calls)
    state.pairs.extend((ordinal, state.calls[i]) for ordinal, i in saved.pairs)
    state.lines.extend(_line(line) for line in saved.lines)
    for call in state.calls:
        state.enlist(call)
    for _, call in state.pairs:
        state.unanswered[call.raw_id].remove(call)
    state.splice(0, 0, [_row(state, spec) for spec in saved.rows], "config")
    state.marks = Marks(**saved.marks)
    state.mark(key_info=key_info)
    state.snapshots.append(state.snapshot())


def digest(message: Any) -> str:
    """Return the digest of a message as JSON."""
    return sha256(json_text(message).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _raw(state: State, ordinal: int) -> Message | None:
    return state.raw[ordinal] if ordinal < len(state.raw) else None


def _resolve(saved: Saved, messages: list[Message]) -> list[Any] | None:
    """Return the raw messages of the dump: from the list, when it begins with them or with the view; else None."""
    count = len(saved.raw)
    if len(messages) >= count and [digest(message) for message in messages[:count]] == saved.raw:
        return list(messages[:count])
    rows = len(saved.view)
    if len(messages) < rows or [digest(message) for message in messages[:rows]] != saved.view:
        return None
    raws: list[Any] = [None] * count
    for ordinal, raw in saved.originals.items():
        raws[ordinal] = raw
    for spec, message in zip(saved.rows, messages[:rows], strict=True):
        if spec["whole"]:
            raws[spec["ordinal"]] = message
    needed = {block["ordinal"] for spec in saved.rows for block in spec["blocks"] if block["index"] >= 0}
    return None if any(raws[ordinal] is None for ordinal in needed) else raws


def _is_whole(state: State, row: Row) -> bool:
    """Return whether the row sends the caller's own object."""
    return row.out is _raw(state, row.ordinal)


def _row_spec(state: State, row: Row) -> dict[str, Any]:
    whole = _is_whole(state, row)
    blocks = [] if whole else [_block_spec(state, block) for block in row.blocks]
    head = None if row.head is _raw(state, row.ordinal) else row.head
    found = [(block.kind, block.id, block.tools) for block in row.blocks] if whole else []
    return {"side": row.side, "ordinal": row.ordinal, "whole": whole, "head": head, "blocks": blocks, "found": found}


def _block_spec(state: State, block: Block) -> dict[str, Any]:
    spec: dict[str, Any] = {"ordinal": block.ordinal, "index": block.index}
    spec |= {name: getattr(block, name) for name in CHANGEABLE}
    spec["cuts"] = [(path, cut.pieces, cut.chars) for path, cut in block.cuts]
    fresh = _fresh(state, block.ordinal, block.index) if not block.ours else None
    if fresh is None or fresh.base != block.base:
        spec["base"] = block.base
    return spec


def _fresh(state: State, ordinal: int, index: int) -> Block | None:
    message, _ = read(state.fmt, MemoryArchive(), state.raw[ordinal], ordinal, ordinal)
    return next((block for block in message.blocks if block.index == index), None)


def _row(state: State, spec: Mapping[str, Any]) -> Row:
    ordinal = spec["ordinal"]
    if spec["whole"]:
        message, _ = read(state.fmt, state.archive, state.raw[ordinal], ordinal, ordinal)
        found = zip(message.blocks, spec["found"], strict=True)
        blocks = tuple([replace(block, kind=kind, id=id_, tools=tuple(tools)) for block, (kind, id_, tools) in found])
        return Row(message.side, message.raw, blocks, message.raw, message.size, ordinal)
    head = state.raw[ordinal] if spec["head"] is None else spec["head"]
    return state.fmt.row(spec["side"], head, [_block(state, block) for block in spec["blocks"]], ordinal)


def _block(state: State, spec: Mapping[str, Any]) -> Block:
    fresh = _fresh(state, spec["ordinal"], spec["index"]) if spec["index"] >= 0 else None
    base = spec["base"] if "base" in spec or fresh is None else fresh.base
    cuts = tuple([(tuple(path), Cut(_pieces(pieces), chars)) for path, pieces, chars in spec["cuts"]])
    fields = {name: spec[name] for name in CHANGEABLE} | {"tools": tuple(spec["tools"])}
    block = Block(wire=base, base=base, size=0, ordinal=spec["ordinal"], index=spec["index"], cuts=cuts, **fields)
    return state.fmt.render(block)


def _pieces(pieces: list[Any]) -> tuple[tuple[int, int] | str, ...]:
    return tuple([piece if isinstance(piece, str) else (piece[0], piece[1]) for piece in pieces])


def _line(line: Mapping[str, Any]) -> Line:
    return Line(**{**line, "calls": tuple([(tool, argument) for tool, argument in line["calls"]])})
