"""Messages of a view written down as what differs from reading the raw messages again, and made again from that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ga_context.archive import MemoryArchive
from ga_context.checkpoint.columns import Table, Templates
from ga_context.checkpoint.columns import read as filled
from ga_context.checkpoint.saved import Saved
from ga_context.formats.base import Format
from ga_context.model import Block, Call, Incoming, Message, Row
from ga_context.reading import read
from ga_context.state import State
from ga_context.text.size import json_text
from ga_context.text.window import Cut, Piece


class Reader:
    """Raw messages as they are read, with the calls that their results answer."""

    def __init__(self, state: State) -> None:
        self.fmt, self.raw = state.fmt, state.raw
        self.answers: dict[int, list[Call]] = {}
        for ordinal, call in state.pairs:
            self.answers.setdefault(ordinal, []).append(call)
        self._read: dict[int, tuple[Incoming, dict[int, Block]]] = {}

    def message(self, ordinal: int) -> Incoming:
        """Return a raw message as it was placed, where nothing had to be done to it."""
        return self._known(ordinal)[0]

    def block(self, ordinal: int, position: int) -> Block:
        """Return a block of it."""
        return self._known(ordinal)[1][position]

    def _known(self, ordinal: int) -> tuple[Incoming, dict[int, Block]]:
        if ordinal not in self._read:
            message, _ = read(self.fmt, MemoryArchive(), self.raw[ordinal], ordinal, ordinal)
            blocks = tuple(self._paired(message.blocks, ordinal))
            self._read[ordinal] = message._replace(blocks=blocks), {block.position: block for block in blocks}
        return self._read[ordinal]

    def _paired(self, blocks: Sequence[Block], ordinal: int) -> Iterator[Block]:
        """Yield the blocks of a message, its results with id and tools of the calls they answer, in order."""
        calls = self.answers.get(ordinal, ())
        if self.fmt.tagged:
            tools = tuple([tool for call in calls for tool in call.tools])
            yield from [self.fmt.as_result(block, tools) for block in blocks] if calls else blocks
            return
        waiting = iter(calls)
        for block in blocks:
            call = next(waiting, None) if block.kind == "result" else None
            yield block._replace(id=call.id, tools=call.tools) if call is not None else block


class Writer:
    """Writes the rows of a view; what comes again is kept in its tables."""

    def __init__(self, state: State) -> None:
        self.state, self.fmt, self.reader = state, state.fmt, Reader(state)
        self.templates, self.tools, self.heads, self.paths = Templates(), Table(), Table(), Table()
        self._anchors = self.fmt.speech("", 0, "anchor")
        self._renamed = {(call.ordinal, call.position) for call in state.calls if call.id != call.raw_id}

    def rows(self, rows: Sequence[Row]) -> list[Any]:
        """Return the rows, written."""
        out: list[Any] = []
        following = run = 0
        for row in rows:
            if row.ordinal >= following and self._is_plain(row):
                if row.ordinal > following:
                    out += [run, following - row.ordinal] if run else [following - row.ordinal]
                    run = 0
                run += 1
                following = row.ordinal + 1
                continue
            if run:
                out.append(run)
                run = 0
            out.append(self._row(row, following))
            following = max(following, row.last + 1)
        if run:
            out.append(run)
        return out

    def _is_plain(self, row: Row) -> bool:
        """Return whether a row is the caller's own object, and as reading it makes it."""
        ordinal, raw = row.ordinal, self.state.raw
        if not (ordinal < len(raw) and row.out is raw[ordinal]):
            return False
        calls = self.reader.answers.get(ordinal, ())
        waiting = iter(calls)
        for block in row.blocks:
            if block.kind == "result":
                if self.fmt.tagged:
                    if not calls or block.tools != tuple([tool for call in calls for tool in call.tools]):
                        return False
                else:
                    call = next(waiting, None)
                    if call is None or call.id != block.id or call.tools != block.tools:
                        return False
            elif block.kind == "call":
                if (ordinal, block.position) in self._renamed:
                    return False
            elif block.kind == "anchor" or (calls and self.fmt.tagged and block.kind == "text"):
                return False
            if block.cuts or block.note is not None:
                return False
        return True

    def _row(self, row: Row, following: int) -> dict[str, Any]:
        written: dict[str, Any] = {} if row.ordinal == following else {"r": row.ordinal - following}
        if row.ours and row.side == "user" and len(row.blocks) == 1 and row.blocks[0].ordinal == row.ordinal:
            text = self._anchor(row.blocks[0])
            if text is not None and row.head == self._anchors[0]:
                return {**written, "a": self.templates.written(text)}
        raw = self.state.raw[row.ordinal] if row.ordinal < len(self.state.raw) else None
        message = None
        if raw is not None and not row.ours and row.head is not raw:
            message = self.reader.message(row.ordinal)
        if raw is not None and row.out is raw:
            written["w"] = True
        if row.head is not raw:
            if message is None or message.side != row.side:
                written["s"] = row.side
            if message is None or message.raw != row.head:
                written["h"] = self.heads.number(row.head, json_text(row.head))
        near = row.ordinal
        written["b"] = []
        for block in row.blocks:
            written["b"].append(self._block(block, near))
            near = block.ordinal
        return written

    def _anchor(self, block: Block) -> str | None:
        """Return the text of an anchor as it is sent, where that is all there is to it."""
        if block.kind != "anchor" or block.position >= 0 or not (texts := self.fmt.texts(block)):
            return None
        text = dict(block.cuts)[()].apply(texts[0][1]) if block.cuts else texts[0][1]
        _, like = self._anchors
        wire = text if like.bare else self.fmt.text_item(text)
        return text if (wire, like.place, like.bare) == (block.wire, block.place, block.bare) else None

    def _fresh(self, block: Block) -> Block:
        """Return the block as reading its message again makes it; not read where one look tells."""
        raw, calls = self.state.raw[block.ordinal], self.reader.answers.get(block.ordinal, ())
        if block.kind == "result" and block.position == 0 and not self.fmt.tagged and len(calls) == 1:
            (call,) = calls
            if call.id == call.raw_id == block.id and call.tools == block.tools and _is_all(block, raw):
                return block._replace(cuts=(), note=None)
        return self.reader.block(block.ordinal, block.position)

    def _block(self, block: Block, near: int) -> Any:
        written: dict[str, Any] = {} if block.ordinal == near else {"o": block.ordinal - near}
        if (text := self._anchor(block)) is not None:
            return {**written, "a": self.templates.written(text)}
        if block.ours:
            fresh = _NOTHING
        else:
            fresh = self._fresh(block)
            written["p"] = block.position
        if block.kind != fresh.kind:
            written["k"] = block.kind
        if block.id != fresh.id:
            written["i"] = block.id
        if block.tools != fresh.tools:
            written["t"] = self.tools.number(block.tools)
        for key, name in _FIELDS.items():
            if getattr(block, name) != getattr(fresh, name):
                written[key] = getattr(block, name)
        if block.note is not None:
            written["n"] = self.templates.written(block.note)
        if block.cuts:
            written["c"] = [self._cut(path, cut) for path, cut in block.cuts]
        if not (block.base is fresh.base or (not block.ours and block.base == fresh.base)):
            written |= self._base(block, fresh)
        return block.position if written == {"p": block.position} else written

    def _base(self, block: Block, fresh: Block) -> dict[str, Any]:
        """Return how the base of a block is had from the raw one, or all of it."""
        if block.ours:
            return {"x": block.base}
        named = block.id is not None and block.kind == fresh.kind in ("call", "result") and not self.fmt.tagged
        if named and self.fmt.rename(fresh, block.id or "").base == block.base:
            return {"i": block.id, "e": True}
        if fresh.bare > block.bare and isinstance(fresh.base, str) and self.fmt.itemised(fresh).base == block.base:
            return {"l": True}
        return {"x": block.base}

    def _cut(self, path: Any, cut: Cut) -> list[Any]:
        flat: list[Any] = [self.paths.number(path), cut.chars]
        for piece in cut.pieces:
            if isinstance(piece, str):
                flat.append(self.templates.written(piece))
            else:
                flat += piece
        return flat


def _is_all(block: Block, raw: Message) -> bool:
    """Return whether a block is all of a raw message: it itself, its one string, or the one item of its list."""
    lists = [value for value in raw.values() if isinstance(value, list)]
    if block.base is raw or [len(one) for one in lists] == [1]:
        return block.base is raw or block.base is lists[0][0]
    return not lists and isinstance(block.base, str) and raw.get(block.place) is block.base


_NOTHING = Block("other", "content", None, None, 0)
_FIELDS = {"w": "place", "b": "bare", "s": "sealed", "m": "missing"}
_NAMES = {"k": "kind", "i": "id", **_FIELDS}


# -- and back


def placed(rows: Iterable[Any]) -> Iterator[tuple[int, Any]]:
    """Yield (ordinal, None) of each message that is sent as it came, and (ordinal, written) of each other."""
    following = 0
    for row in rows:
        if isinstance(row, int):
            for ordinal in range(following, following + row):
                yield ordinal, None
            following += abs(row)
            continue
        ordinal = following + row.get("r", 0)
        yield ordinal, row
        following = max([following, *[at + 1 for at in _ordinals(row, ordinal)]])


def _ordinals(row: Any, ordinal: int) -> list[int]:
    """Return the raw messages that a written row stands by or holds blocks of."""
    found, near = [ordinal], ordinal
    for block in row.get("b", ()):
        if not isinstance(block, int):
            near += block.get("o", 0)
            found.append(near)
    return found


def needed(rows: Iterable[Any]) -> set[int]:
    """Return the raw messages without which the rows that are not sent as they came can not be made again."""
    found: set[int] = set()
    for ordinal, row in placed(rows):
        if row is None or "a" in row:
            continue
        near = ordinal
        for block in row["b"]:
            near += 0 if isinstance(block, int) else block.get("o", 0)
            if isinstance(block, int) or "p" in block:
                found.add(near)
    return found


def made(state: State, saved: Saved, rows: Iterable[Any]) -> list[Row]:
    """Return the rows that ``Writer.rows`` wrote, from the raw messages of the state."""
    maker = _Maker(state, saved)
    return [maker.plain(ordinal) if row is None else maker.row(ordinal, row) for ordinal, row in placed(rows)]


class _Maker:
    """Makes rows again."""

    def __init__(self, state: State, saved: Saved) -> None:
        self.fmt: Format = state.fmt
        self.raw, self.saved, self.reader = state.raw, saved, Reader(state)

    def plain(self, ordinal: int) -> Row:
        """Return a message as it came."""
        message = self.reader.message(ordinal)
        return Row(message.side, message.raw, message.blocks, message.raw, message.size, ordinal)

    def row(self, ordinal: int, row: Any) -> Row:
        """Return any other."""
        if "a" in row:
            around, anchor = self.fmt.speech(filled(self.saved.templates, row["a"]), ordinal, "anchor")
            return self.fmt.row("user", around, [anchor], ordinal)
        blocks: list[Block] = []
        near = ordinal
        for block in row["b"]:
            near += 0 if isinstance(block, int) else block.get("o", 0)
            blocks.append(self.reader.block(near, block) if isinstance(block, int) else self._block(near, block))
        side = row["s"] if "s" in row else self.reader.message(ordinal).side
        head: Message = self.saved.heads[row["h"]] if "h" in row else self.reader.message(ordinal).raw
        if row.get("w"):
            message = self.reader.message(ordinal)
            ours = all([block.ours for block in blocks])
            return Row(side, message.raw, tuple(blocks), self.raw[ordinal], message.size, ordinal, ours)
        return self.fmt.row(side, head, blocks, ordinal)

    def _block(self, ordinal: int, block: Any) -> Block:
        if "a" in block:
            return self.fmt.speech(filled(self.saved.templates, block["a"]), ordinal, "anchor")[1]
        fresh = self.reader.block(ordinal, block["p"]) if "p" in block else _NOTHING._replace(ordinal=ordinal)
        if block.get("e"):
            fresh = self.fmt.rename(fresh, block["i"])
        if block.get("l"):
            fresh = self.fmt.itemised(fresh)
        changes: dict[str, Any] = {
            name: block[key] for key, name in {"k": "kind", "i": "id", **_FIELDS}.items() if key in block
        }
        if "t" in block:
            changes["tools"] = self.saved.tools[block["t"]]
        if "n" in block:
            changes["note"] = filled(self.saved.templates, block["n"])
        if "c" in block:
            changes["cuts"] = tuple([self._cut(one) for one in block["c"]])
        if "x" in block:
            changes["base"] = changes["wire"] = block["x"]
        if block.keys() & {"n", "c", "x"} or (block.get("l")):
            return self.fmt.render(fresh, **changes)
        return fresh._replace(**changes)

    def _cut(self, flat: Sequence[Any]) -> tuple[Any, Cut]:
        number, chars, *rest = flat
        pieces: list[Piece] = []
        waiting = iter(rest)
        for one in waiting:
            pieces.append((one, next(waiting)) if isinstance(one, int) else filled(self.saved.templates, one))
        return self.saved.paths[number], Cut(tuple(pieces), chars)
