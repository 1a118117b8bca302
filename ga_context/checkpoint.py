"""A session as JSON and back: what decides the next bytes.

Raw messages are written as digests: the caller still holds them, or the view and, with the archive, the originals.
The first list that a loaded session is given is matched against them, and the rows are built again from its messages.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from hashlib import sha256
from operator import getitem
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from ga_context import formats
from ga_context.archive import MemoryArchive
from ga_context.cache.breakpoints import SavedMark
from ga_context.cache.usage import Tokens
from ga_context.config import ContextConfig
from ga_context.errors import ConfigError
from ga_context.model import Block, Call, Kind, Line, Message, Path, Row, Side
from ga_context.reading import read, read_all
from ga_context.state import Snapshot, State
from ga_context.text.size import base64_text, json_text
from ga_context.text.window import Cut, Piece

VERSION = 1


class _Saved(BaseModel):
    model_config = ConfigDict(extra="forbid")


class SavedBlock(_Saved):
    """A block: where it came from, and what was made of it."""

    ordinal: int
    position: int
    kind: Kind
    id: str | None
    tools: tuple[str, ...]
    place: str = "content"
    bare: bool = False
    sealed: bool = False
    missing: bool = False
    note: str | None = None
    cuts: list[tuple[Path, tuple[Piece, ...], int]] = []
    """(path, pieces, length of the source) of each cut text."""
    base: Any = None
    """What the raw message does not show: a placeholder, a renamed call, an anchor."""
    own_base: bool = False


class SavedRow(_Saved):
    """A message of a view."""

    side: Side
    ordinal: int
    whole: bool
    """It is the raw message as it came."""
    head: Any
    """The message whose keys it carries; None: the raw message."""
    blocks: list[SavedBlock]


class SavedSession(_Saved):
    """A dump."""

    version: int
    """Of this layout."""
    config: dict[str, Any]
    format: str
    decided: bool
    sizes: list[int]
    """C_H of each raw message."""
    raw: list[str]
    """Digest of each raw message."""
    view: list[str]
    """Digest of each message of the view."""
    pool: list[SavedRow]
    """Every row of the view and of what a rollback would bring back."""
    rows: list[int]
    """The view, as positions in ``pool``."""
    undo: list[tuple[int, int, list[int]]]
    snapshots: list[Snapshot]
    calls: list[Call]
    pairs: list[tuple[int, int]]
    """(ordinal of a result, position of its call in ``calls``)."""
    lines: list[Line]
    usage: dict[str, float]
    measured: dict[str, Tokens] = {}
    """Sums of the usage that was recorded, by model."""
    marked: list[SavedMark] = []
    """Cache markers of ours in the last view."""
    originals: dict[int, Any]
    """Raw messages that the view does not show as they came."""
    archive: dict[str, str]
    binary: dict[str, str]
    """Archived bytes, as base64."""
    blobs: list[Path] = []
    """Where in ``pool`` and ``originals`` a base64 text stands for bytes."""


def dump(state: State, config: ContextConfig, archive: bool, **beside: Any) -> str:
    """Return the state as JSON text; ``beside`` it, what else the session knows: usage, measured, marked."""
    if state.pending is not None:
        update = beside if archive else {**beside, "originals": {}, "archive": {}, "binary": {}}
        return _text(state.pending.model_copy(update=update))
    pool = {id(row): row for row in [*state.rows, *(row for _, _, old in state.undo for row in old)]}
    place = {key: i for i, key in enumerate(pool)}
    call_place = {id(call): i for i, call in enumerate(state.calls)}
    entries = state.archive.entries if archive else {}
    saved = SavedSession(
        version=VERSION,
        config=config.to_dict(),
        format=state.fmt.name,
        decided=state.decided,
        sizes=state.sizes,
        raw=[digest(message) for message in state.raw],
        view=[digest(message) for message in state.view],
        pool=[_saved_row(state, row) for row in pool.values()],
        rows=[place[id(row)] for row in state.rows],
        undo=[(start, count, [place[id(row)] for row in old]) for start, count, old in state.undo],
        snapshots=[*state.snapshots[:-1], state.snapshots[-1]._replace(marks=state.marks.copy())],
        calls=state.calls,
        pairs=[(ordinal, call_place[id(call)]) for ordinal, call in state.pairs],
        lines=state.lines,
        originals=_hidden(state) if archive else {},
        archive={ref: text for ref, text in entries.items() if isinstance(text, str)},
        binary={ref: b64encode(data).decode() for ref, data in entries.items() if isinstance(data, bytes)},
        **beside,
    )
    return _text(saved)


def load(data: str) -> SavedSession:
    """Read a dump; one that is damaged or of another version is a ``ConfigError`` that says what is wrong."""
    try:
        saved = SavedSession.model_validate(_with_bytes(json.loads(data)))
    except json.JSONDecodeError as error:
        raise ConfigError(f"this is no dump of a session: not JSON ({error})") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise ConfigError(f"this dump is damaged: `{where}` {first['msg'].lower()}") from None
    except (LookupError, TypeError, ValueError) as error:
        raise ConfigError(f"this dump is damaged: `blobs` does not fit the rest ({error})") from None
    if saved.version != VERSION:
        raise ConfigError(f"this dump has version {saved.version}; this library reads version {VERSION}")
    _check_positions(saved)
    return saved


def restored(saved: SavedSession, config: ContextConfig) -> State:
    """Return a state that knows everything but the messages, which the next list brings."""
    archive = MemoryArchive({**saved.archive, **{ref: b64decode(text) for ref, text in saved.binary.items()}})
    chat = config.formats.openai_chat
    fmt = formats.make(saved.format, config.charges, alternate=chat.alternate, measure=config.measure)
    state = State(fmt, archive, decided=saved.decided)
    if chat == ContextConfig(**saved.config).formats.openai_chat:  # else the rows that were saved are no longer valid
        state.pending = saved
    marks = saved.snapshots[-1].marks
    state.mark(key_info=marks.key_info, shrink=marks.shrink, scale=marks.scale)
    return state


def adopt(state: State, messages: list[Message]) -> None:
    """Build the rows of a loaded session from the list that continues it; one that does not starts anew."""
    saved = state.pending
    if saved is None:
        return
    digests = [digest(message) for message in messages[: max(len(saved.raw), len(saved.view))]]
    raws = _from_view(saved, messages) if digests[: len(saved.view)] == saved.view else None
    if digests[: len(saved.raw)] == saved.raw or raws is None:
        differs = next((i for i, known in enumerate(saved.raw) if digests[i : i + 1] != [known]), None)
        saved = _taken_back(saved, differs)
        raws = list(messages[: len(saved.raw)])
    if saved is not state.pending:
        read_all(state.fmt, state.archive, messages, 0, 0)  # a list that is refused must not cost what was loaded
    state.pending = None
    if raws:
        _rebuild(state, saved, raws)


def _taken_back(saved: SavedSession, known: int | None) -> SavedSession:
    """Return the dump as it would be after the latest turn with at most ``known`` raw messages; None: as it is."""
    if known is None:
        return saved
    rows, undo, snapshots = list(saved.rows), list(saved.undo), list(saved.snapshots)
    while len(snapshots) > 1 and snapshots[-1].marks.messages > known:
        snapshots.pop()
    point = snapshots[-1]
    while len(undo) > point.undo:
        start, count, old = undo.pop()
        rows[start : start + count] = old
    lines = saved.lines[: point.lines[0]]
    if point.lines[1] is not None:
        lines[-1] = point.lines[1]
    end = point.marks.messages
    update = {"rows": rows, "undo": undo, "snapshots": snapshots, "lines": lines, "calls": saved.calls[: point.calls]}
    update |= {"pairs": saved.pairs[: point.pairs], "raw": saved.raw[:end], "sizes": saved.sizes[:end]}
    return saved.model_copy(update=update)


def _rebuild(state: State, saved: SavedSession, raws: list[Any]) -> None:
    """Fill the state with what the dump says, now that the messages are there."""
    key_info = state.marks.key_info
    state.raw.extend(raws)
    state.sizes.extend(saved.sizes)
    state.calls.extend(saved.calls)
    state.pairs.extend([(ordinal, saved.calls[i]) for ordinal, i in saved.pairs])
    state.lines.extend(saved.lines)
    state.enter_calls()
    state.marks = saved.snapshots[-1].marks.copy()
    rows = {i: _row(state, saved.pool[i]) for i in dict.fromkeys(saved.rows)}
    state.splice(0, 0, [rows[i] for i in saved.rows], "config")
    if all(raw is not None for raw in raws):
        old = dict.fromkeys([i for _, _, places in saved.undo for i in places])
        rows |= {i: _row(state, saved.pool[i]) for i in old if i not in rows}
        state.undo = [(start, count, [rows[i] for i in places]) for start, count, places in saved.undo]
        state.snapshots = list(saved.snapshots)
    else:
        state.snapshots.append(state.snapshot())
    state.mark(key_info=key_info)


def digest(message: Any) -> str:
    """Return the digest of a message as JSON."""
    return sha256(json_text(message).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _text(saved: SavedSession) -> str:
    """Return the dump as ASCII, so that half an emoji in a message comes back as it was."""
    plain = saved.model_dump(mode="python", exclude_defaults=True, exclude={"blobs"})
    blobs = [path for key in ("pool", "originals") for path in _blobs(plain[key], (key,))]
    return json.dumps({**plain, "blobs": blobs} if blobs else plain, default=base64_text)


def _blobs(value: Any, path: Path) -> Iterator[Path]:
    """Yield where bytes stand in plain data; keys are named as JSON writes them."""
    stack: list[tuple[Path, Any]] = [(path, value)]
    while stack:
        at, item = stack.pop()
        if isinstance(item, bytes | bytearray):
            yield at
        elif isinstance(item, Mapping):
            stack.extend([((*at, key if isinstance(key, str) else json.dumps(key)), one) for key, one in item.items()])
        elif isinstance(item, list | tuple):
            stack.extend([((*at, i), one) for i, one in enumerate(item)])


def _with_bytes(data: Any) -> Any:
    """Return the plain data of a dump with bytes where it says that a text stands for them."""
    for *way, last in data.get("blobs", ()) if isinstance(data, dict) else ():
        holder = reduce(getitem, way, data)
        holder[last] = b64decode(holder[last], validate=True)
    return data


def _check_positions(saved: SavedSession) -> None:
    """Refuse a dump whose parts do not fit together."""
    positions = [*saved.rows, *(i for _, _, old in saved.undo for i in old)]
    fits = all(0 <= i < len(saved.pool) for i in positions) and all(0 <= i < len(saved.calls) for _, i in saved.pairs)
    ordinals = [block.ordinal for row in saved.pool for block in row.blocks if block.position >= 0]
    fits = fits and all(0 <= ordinal < len(saved.raw) for ordinal in ordinals)
    fits = fits and len(saved.sizes) == len(saved.raw) and len(saved.view) == len(saved.rows) and bool(saved.snapshots)
    if not fits:
        raise ConfigError("this dump is damaged: its parts do not fit together; load an earlier one")
    for ref, text in saved.binary.items():
        try:
            b64decode(text, validate=True)
        except Base64Error as error:
            raise ConfigError(f"this dump is damaged: `binary.{ref}` is no base64 ({error})") from None


def _hidden(state: State) -> dict[int, Message]:
    """Return the raw messages that are in the view, but not as they came."""
    whole = {row.ordinal for row in state.rows if _is_whole(state, row)}
    shown = {block.ordinal for row in state.rows for block in row.blocks if not block.ours}
    return {ordinal: state.raw[ordinal] for ordinal in sorted(shown - whole)}


def _is_whole(state: State, row: Row) -> bool:
    """Return whether the row sends the caller's own object."""
    return row.ordinal < len(state.raw) and row.out is state.raw[row.ordinal]


def _from_view(saved: SavedSession, messages: list[Message]) -> list[Any] | None:
    """Return the raw messages behind a list that begins with the view (each evicted one None), or None if some miss."""
    raws: list[Any] = [None] * len(saved.raw)
    for ordinal, raw in saved.originals.items():
        raws[ordinal] = raw
    for i, message in zip(saved.rows, messages, strict=False):
        if saved.pool[i].whole:
            raws[saved.pool[i].ordinal] = message
    needed = {block.ordinal for i in saved.rows for block in saved.pool[i].blocks if block.position >= 0}
    return None if any(raws[ordinal] is None for ordinal in needed) else raws


def _saved_row(state: State, row: Row) -> SavedRow:
    whole = _is_whole(state, row)
    head = None if whole or (row.ordinal < len(state.raw) and row.head is state.raw[row.ordinal]) else row.head
    blocks = [_saved_block(state, block, whole) for block in row.blocks]
    return SavedRow(side=row.side, ordinal=row.ordinal, whole=whole, head=head, blocks=blocks)


def _saved_block(state: State, block: Block, whole: bool) -> SavedBlock:
    base = None if whole else _fresh_base(state, block)
    own = not whole and (base is None or base != block.base)
    return SavedBlock(
        **{name: getattr(block, name) for name in ("ordinal", "position", "kind", "id", "tools", "place", "bare")},
        **{name: getattr(block, name) for name in ("sealed", "missing", "note")},
        cuts=[(path, cut.pieces, cut.chars) for path, cut in block.cuts],
        base=block.base if own else None,
        own_base=own,
    )


def _fresh_base(state: State, block: Block) -> Any:
    """Return what the raw message shows at the block's place when it is read again."""
    if block.ours:
        return None
    return next((one.base for one in _blocks(state, block.ordinal) if one.position == block.position), None)


def _blocks(state: State, ordinal: int) -> Iterable[Block]:
    return read(state.fmt, MemoryArchive(), state.raw[ordinal], ordinal, ordinal)[0].blocks


def _row(state: State, saved: SavedRow) -> Row:
    if saved.whole:
        message, _ = read(state.fmt, state.archive, state.raw[saved.ordinal], saved.ordinal, saved.ordinal)
        blocks = [_as_saved(block, one) for block, one in zip(message.blocks, saved.blocks, strict=False)]
        return Row(message.side, message.raw, tuple(blocks), message.raw, message.size, saved.ordinal)
    head = state.raw[saved.ordinal] if saved.head is None else saved.head
    return state.fmt.row(saved.side, head, [_block(state, one) for one in saved.blocks], saved.ordinal)


def _as_saved(block: Block, saved: SavedBlock) -> Block:
    return block._replace(kind=saved.kind, id=saved.id, tools=saved.tools)


def _block(state: State, saved: SavedBlock) -> Block:
    base = saved.base
    if not saved.own_base:
        base = next((one.base for one in _blocks(state, saved.ordinal) if one.position == saved.position), None)
    cuts = tuple([(path, Cut(pieces, chars)) for path, pieces, chars in saved.cuts])
    fields = saved.model_dump(include={"kind", "place", "bare", "ordinal", "position", "id", "tools", "sealed"})
    block = Block(wire=base, base=base, size=0, cuts=cuts, note=saved.note, missing=saved.missing, **fields)
    return state.fmt.render(block)
