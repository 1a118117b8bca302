"""What every wire format answers: where texts, calls and results stand in a message, and how to put a new text back."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from ga_context.errors import InvalidMessages, shown
from ga_context.model import Block, Incoming, Kind, Message, Path, Payload, Row, Side, put
from ga_context.payload.charge import Charges
from ga_context.payload.coding import sent_bytes
from ga_context.payload.pixels import Size, pixels
from ga_context.text.clean import encodable, is_encodable
from ga_context.text.plain import plain
from ga_context.text.size import UNIFORM, Measure, json_chars, json_size, json_text
from ga_context.text.window import LEAST_LIMIT, Cut

CHARGED = frozenset({"result", "payload", "other"})
"""Kinds of blocks that may hold payloads."""

_PLAIN_CHARS = len('{"role": "", "": }')


class Format:
    """A wire format. A subclass says where things are; no word of the format appears outside its file."""

    name: ClassVar[str]
    sides: ClassVar[Mapping[str, Side]]
    """Role -> who speaks."""
    places: ClassVar[tuple[str, ...]] = ("content",)
    """Message keys that hold blocks."""
    merges: ClassVar[bool] = False
    """Neighbours of one role become one message; results stand inside the next user message, first."""
    tool_rows: ClassVar[bool] = False
    """Though neighbours of one role become one, results are messages of their own."""
    glue: ClassVar[str | None] = None
    """What stands between two strings under one key, where neighbours merge; None: they become items of a list."""
    starts_with_user: ClassVar[bool] = False
    """The provider refuses a list that starts with the model."""
    results_alone: ClassVar[bool] = False
    """Results stand in a message of their own, those of one response together, and no text beside them."""
    drops_reasoning: ClassVar[bool] = True
    """Old signed reasoning may go without the rest of its message."""
    unique_in_request: ClassVar[bool] = False
    """Call ids must be unique in the whole request and of ``[a-zA-Z0-9_-]``; else unique inside one message."""
    id_chars: ClassVar[int] = sys.maxsize
    """Call ids are at most this long."""
    lists: ClassVar[bool] = False
    """Content is a list, even where it is one text alone."""
    tagged: ClassVar[bool] = False
    """Calls and results are tags in strings: they pair by position, and a cut must leave tags balanced."""

    flat: ClassVar[bool] = False
    """A response of the model is a run of assistant-side messages, one for each text, call and piece of reasoning.

    It leaves whole, with its results; its reasoning never leaves before it, and none stands at its end.
    """

    marks: ClassVar[bool] = False
    """Blocks may carry cache markers, at most four in a request."""
    keyed: ClassVar[bool] = False
    """A request may carry a key that routes it to one cache (OpenAI: ``prompt_cache_key``)."""
    misplaced: ClassVar[Mapping[Side, tuple[Kind, ...]]] = {}
    """Kinds of blocks that a message of a side may not hold."""
    ends_reasoning: ClassVar[bool] = False
    """Reasoning may not be the last of an assistant message."""

    def __init__(self, charges: Charges, measure: Measure = UNIFORM) -> None:
        self.charges = charges
        self.measure = measure
        self._text_size, self._value_size = measure.text, measure.value

    @property
    def holds_results(self) -> bool:
        """Whether results stand inside the next user message."""
        return self.merges and not self.tool_rows

    # -- reading: from the caller's dict to blocks ----------------------------------------------------------------

    def as_input(self, fields: Message) -> Message:
        """Return the fields of an object of the SDK, a reply or a part of one, without what a request may not hold.

        What is None was left out; it comes back where the request type demands the key.
        """
        return fields

    def read(self, index: int, raw: Message, ordinal: int) -> Incoming:
        """Read the raw message at ``index`` of the caller's list.

        Raises:
            InvalidMessages: no repair covers it; names index and key.
            UnicodeEncodeError: it holds half a surrogate pair.
        """
        if not isinstance(raw, dict):
            raise InvalidMessages(f"must be a dict; got {type(raw).__name__}", index)
        side = self._side(index, raw)
        try:
            blocks = tuple(self._blocks(index, raw, side, ordinal))
            return Incoming(side, raw, blocks, self._row_chars(raw, blocks))
        except (InvalidMessages, UnicodeEncodeError):
            raise
        except (TypeError, ValueError) as error:
            key = next(
                (key for write in (json_text, json_size) for key, value in _members(raw) if _fails(write, value)), None
            )
            raise InvalidMessages(
                f"cannot be written as JSON ({error}); convert it to plain data", index, key
            ) from error

    def _side(self, index: int, raw: Message) -> Side:
        role = raw.get("role")
        side = self.sides.get(role) if isinstance(role, str) else None
        if side is None:
            raise InvalidMessages(f"is {shown(role)}; {self.name} knows {self._roles()}", index, "role")
        return side

    def side_of(self, raw: Any) -> Side | None:
        """Return who speaks in a raw message; None where the format does not know it."""
        try:
            return self._side(0, raw) if isinstance(raw, dict) else None
        except InvalidMessages:
            return None

    def speaks(self, raw: Any) -> bool:
        """Return whether a raw message is the model's."""
        return self.side_of(raw if type(raw) is dict else plain(raw)) == "assistant"

    def _roles(self) -> str:
        return ", ".join(repr(role) for role in self.sides)

    def _blocks(self, index: int, raw: Message, side: Side, ordinal: int) -> Iterator[Block]:
        raise NotImplementedError

    def block(
        self,
        kind: Kind,
        place: str,
        wire: Any,
        ordinal: int = -1,
        position: int = -1,
        *,
        bare: bool = False,
        id: str | None = None,
        tools: tuple[str, ...] = (),
        sealed: bool = False,
        missing: bool = False,
    ) -> Block:
        """Make a block of ``wire``, measured."""
        size = self._chars(wire, kind)
        return Block(kind, place, wire, wire, size, bare, ordinal, position, id, tools, sealed, (), None, missing)

    # -- texts: where they are, and back again --------------------------------------------------------------------

    def texts(self, block: Block, longer_than: int = LEAST_LIMIT) -> list[tuple[Path, str]]:
        """Return the texts of a block as it came in, each with its path; several texts of one result are joined.

        Of the strings in the input of a call those with more than ``longer_than`` characters: others no cut shortens.
        """
        raise NotImplementedError

    def payloads(self, block: Block) -> list[Payload]:
        """Return each image, document, audio or video in the block as it came in."""
        return []

    def beside_text(self, block: Block) -> list[str]:
        """Return what a result holds beside its texts: the kind of each payload, by value or by reference."""
        return []

    def said(self, block: Block) -> list[str]:
        """Return the texts of a result as they are sent."""
        cuts = dict(block.cuts)
        return [cuts[path].apply(text) if path in cuts else text for path, text in self.texts(block)]

    def spans(self, text: str, names: Sequence[str]) -> list[tuple[int, int]] | None:
        """Return where the results stand in a result text, as tags that cross none of these names; None: all of it."""
        return None

    def is_json(self, block: Block, path: Path) -> bool:
        """Return whether a text is data written as JSON: it must parse after any cut, so that it can be put back."""
        return False

    def render(self, block: Block, **changes: Any) -> Block:
        """Return the block with ``changes``, its ``wire`` and ``size`` made anew from base, cuts and note."""
        block = block._replace(**changes)
        return self.cut(block, block.cuts, dict(self.texts(block)) if block.cuts else {})

    def cut(self, block: Block, cuts: tuple[tuple[Path, Cut], ...], texts: Mapping[Path, str]) -> Block:
        """Return the block with its ``texts`` sent cut."""
        wire = block.base
        if cuts:
            wire = self._write(block, {path: cut.apply(texts.get(path, "")) for path, cut in cuts})
        if block.note is not None:
            wire = self._attach(wire, block.note)
        return block._replace(wire=wire, size=self._chars(wire, block.kind), cuts=cuts)

    def _write(self, block: Block, texts: Mapping[Path, str]) -> Any:
        """Return ``block.base`` with new texts; at the path of a payload the text takes its place."""
        raise NotImplementedError

    def _attach(self, wire: Any, note: str) -> Any:
        """Return the wire of a text or result with an anchor at its end."""
        raise NotImplementedError

    def detached(self, block: Block, path: Path, text: str, note: str) -> Any | None:
        """Return the wire of a text or result without the anchor behind its last ``text``; None where it has none."""
        wire = block.wire
        bare = [put(wire, at, items[:-1]) for at, items in _lists(wire)] or [self._write(block, {path: text})]
        return next((one for one in bare if self._attach(one, note) == wire), None)

    # -- calls and results ----------------------------------------------------------------------------------------

    def call_input(self, block: Block) -> Any:
        """Return the arguments of a call, parsed; as they are when they do not parse."""
        raise NotImplementedError

    def calls(self, block: Block) -> list[tuple[str, Any]]:
        """Return (tool, input) of each call in a call block."""
        return [(block.tools[0], self.call_input(block))]

    def tool(self, name: str, description: str, parameters: Message) -> Message:
        """Return the definition of a tool, given the JSON Schema of its input."""
        return {"name": name, "description": description, "parameters": parameters}

    def offered(self, tools: list[Message]) -> list[Message]:
        """Return definitions as they stand in a request's list of tools."""
        return tools

    def as_call(self, call: Any) -> Block | None:
        """Read one call as it stands in a message of the model's; None where it is no call that has a result."""
        raise NotImplementedError

    def answer(self, call: Block, text: str, *, failed: bool = False) -> Any:
        """Return the result of a call as it stands in the list: a message, an item, or a block of the next message."""
        raise NotImplementedError

    def quoted(self, text: str, names: Sequence[str]) -> str:
        """Return a text of the same length that can stand in a result, where these names are tags."""
        return text

    def is_malformed(self, block: Block, tools: Any) -> bool:
        """Return whether a text of the model's holds a call that cannot be run, given the tool definitions."""
        return False

    def reminder(self, tools: Any) -> str:
        """Return the line that stands in for tool definitions where calls are tags in strings."""
        raise NotImplementedError

    def as_result(self, block: Block, tools: tuple[str, ...]) -> Block:
        """Return a block of the user message after calls as their result, where results pair by position."""
        return block

    def mend(self, block: Block) -> Block | None:
        """Return a call, result or other block as the provider takes it, or None when it is fine."""
        return None

    def rename(self, block: Block, call_id: str) -> Block:
        """Return the call or result with another call id, on the wire only where it shows one that may change."""
        raise NotImplementedError

    def call_keys(self, raw_id: str, tools: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names under which a call waits for its result."""
        return (raw_id,)

    def result_keys(self, block: Block) -> tuple[str, ...]:
        """Return the names of the call that a result answers, the surest first; none for an orphan."""
        return () if block.id is None else (block.id,)

    def is_blank(self, block: Block) -> bool:
        """Return whether the provider refuses the block for being blank."""
        return False

    def trimmed(self, block: Block) -> Block | None:
        """Return the block without white space at its end where a last assistant text must not have any, else None."""
        return None

    def markers(self, block: Block) -> int:
        """Return how many cache markers of the caller's stand in the block."""
        return 0

    def unmarked(self, block: Block) -> Block | None:
        """Return the block without its cache markers, None where it is nothing else."""
        return block

    def bare(self, message: Message) -> Message:
        """Return a message without cache markers, as prefixes are compared (spec 2)."""
        return message

    def ttl_of(self, item: Any) -> str | None:
        """Return the time to live of the cache marker that an item carries or is; None where there is none."""
        return None

    def is_marker(self, item: Any) -> bool:
        """Return whether an item is a cache marker and nothing else."""
        return False

    def less_marker(self, item: Any) -> Any:
        """Return an item of the system prompt, or a tool definition, without the cache marker that it carries."""
        return item

    def marker_at(self, items: Sequence[Any], place: int, ttl: str | None) -> list[Any]:
        """Return items with a cache marker of ours on item ``place``, or behind it; ``ttl`` None: the shortest."""
        raise NotImplementedError

    def may_mark(self, item: Any) -> bool:
        """Return whether a cache marker may stand on an item of a message, or behind it."""
        return False

    def marked(self, message: Message, place: int, ttl: str | None) -> Message:
        """Return a copy of a message with a cache marker of ours on its item ``place``, or behind it."""
        raise NotImplementedError

    def unmarked_at(self, message: Message, place: int, bare: bool) -> Message:
        """Return what ``marked`` made a copy of; ``bare``: it held a text alone."""
        raise NotImplementedError

    def marked_beside(self, value: Any, ttl: str | None) -> Any:
        """Return a copy of a system prompt or of tool definitions with a cache marker of ours at its end."""
        return value

    def beside_items(self, value: Any) -> list[Any]:
        """Return the items of a system prompt or of tool definitions."""
        return list(value) if isinstance(value, list | tuple) else [value]

    def stray_markers(self, row: Row) -> list[int]:
        """Return the places of cache markers that the provider refuses where they stand."""
        return []

    def complement(self, row: Row) -> tuple[int, Block] | None:
        """Return (place, block) of what the provider demands beside the others, None where nothing is missing."""
        return None

    def is_void(self, row: Row) -> bool:
        """Return whether the provider refuses the message for holding nothing."""
        return row.side != "system" and not row.blocks

    # -- neighbours -----------------------------------------------------------------------------------------------

    def joins(self, last: Row, row: Row) -> bool:
        """Return whether a message behind ``last`` becomes part of it."""
        return last.side == row.side and (not self.results_alone or last.answers == row.answers)

    def joined_heads(self, first: Message, second: Message) -> tuple[Message, bool]:
        """Return what is around the blocks of two messages made one, and whether nothing of the second is lost."""
        added = {key: value for key, value in second.items() if key not in first and key not in self.places}
        lost = [key for key in second if key in first and key not in self.places and first[key] != second[key]]
        return {**first, **added} if added else first, not lost

    # -- writing: from blocks to the message that is sent ---------------------------------------------------------

    def speech(self, text: str, ordinal: int, kind: Kind = "text") -> tuple[Message, Block]:
        """Return head and block of a user message of ours."""
        raise NotImplementedError

    def text_item(self, text: str) -> Any:
        """Return a text as an item that can stand beside others."""
        return {"type": "text", "text": text}

    def result(self, call: Block, text: str) -> tuple[Message, Block]:
        """Return head and block of a result of ours, for a call that has none."""
        raise NotImplementedError

    def itemised(self, block: Block) -> Block:
        """Return a bare block as an item, so that it can stand beside others."""
        if not block.bare:
            return block
        made = block._replace(bare=False, base=self.text_item(block.base), wire=self.text_item(block.wire))
        return made._replace(size=self._chars(made.wire, made.kind))

    def row(self, side: Side, head: Message, blocks: Sequence[Block], ordinal: int, like: Row | None = None) -> Row:
        """Return the message made of ``blocks`` with the other keys of ``head``.

        ``like`` is the message that it was, where it was one with the same head: what is around the blocks is known.
        """
        ours = bool(blocks) and all([block.position < 0 for block in blocks])
        size = like.size + more if like is not None and (more := _more_chars(like.blocks, blocks)) is not None else None
        if size is None:
            crowded = self._crowded(blocks)
            if crowded:
                blocks = [self.itemised(block) if block.place in crowded else block for block in blocks]
            size = self._row_chars(head, blocks)
        return Row(side, head, tuple(blocks), self._assemble(head, blocks), size, ordinal, ours)

    def _crowded(self, blocks: Sequence[Block]) -> set[str]:
        """Return the keys under which several blocks stand as items, and not only strings that can be glued."""
        seen: set[str] = set()
        shared: set[str] = set()
        items: set[str] = set()
        for block in blocks:
            (shared if block.place in seen else seen).add(block.place)
            if not block.bare:
                items.add(block.place)
        return shared if self.glue is None else shared & items

    def _glued_chars(self, blocks: Sequence[Block]) -> int:
        """Return how many characters more than each by itself strings take that are glued to one."""
        if self.glue is None:
            return 0
        chars = 0
        for place in {block.place for block in blocks if block.bare}:
            sizes = [block.size for block in blocks if block.place == place]
            filled = sum([size > len('""') for size in sizes])
            chars += max(0, filled - 1) * (json_chars(self.glue) - 2) - 2 * (len(sizes) - 1)
        return chars

    def _row_chars(self, head: Message, blocks: Sequence[Block]) -> int:
        """C_H of the message made of ``blocks``: each block as it was measured, only the rest is encoded."""
        count, role = len(blocks), head.get("role")
        place = blocks[0].place if count else ""
        if count and type(role) is str and len(head) == 2 and place in head and blocks[-1].place == place:
            inside = 2 * count if not blocks[0].bare else self._glued_chars(blocks) if count > 1 else 0
            size = _PLAIN_CHARS + len(role) + len(place) + inside
            for block in blocks:
                size += block.size
            return size
        hollow = self._assemble(head, blocks, hollow=True)
        size = json_size(hollow) + sum([block.size for block in blocks]) - len(blocks) + self._glued_chars(blocks)
        return size if self.measure is UNIFORM else size + self._heavier(head)

    def _heavier(self, head: Message) -> int:
        """Return how much more than their characters what stands beside the role and the blocks counts."""
        beside = [value for key, value in head.items() if key != "role" and key not in self.places]
        return sum([self._value_size(value, binary=True) - len(json_text(value)) for value in beside])

    def _assemble(self, head: Message, blocks: Sequence[Block], hollow: bool = False) -> Message:
        """Put the blocks under their keys; ``hollow`` puts one digit for each, to count what is around them."""
        out = dict(head)
        filled: set[str] = set()
        for block in blocks:
            wire = 1 if hollow else block.wire
            if block.bare:
                out[block.place] = self._glued(out[block.place], wire) if block.place in filled else wire
            elif block.place in filled:
                out[block.place].append(wire)
            else:
                out[block.place] = [wire]
            filled.add(block.place)
        for place in self.places:
            if place not in filled and head.get(place) and self._is_read(head, place):
                self._emptied(out, place)
        return out

    def _glued(self, before: Any, wire: Any) -> Any:
        """Return two strings as one; where digits stand for them, a number of as many."""
        if isinstance(wire, int):
            return before * 10
        return (self.glue or "").join([text for text in (before, wire) if text])

    def _is_read(self, head: Message, place: str) -> bool:
        """Return whether what a message holds under a place becomes blocks; else it passes through like other keys."""
        return True

    def _emptied(self, out: Message, place: str) -> None:
        """Leave a legal message when the last block under ``place`` is gone."""
        del out[place]

    # -- measuring ------------------------------------------------------------------------------------------------

    def _chars(self, wire: Any, kind: Kind) -> int:
        """Characters of a wire as JSON, payloads at their charge."""
        if isinstance(wire, str):
            return self._text_size(wire)
        chars = 0
        for path in self._charged(wire) if kind in CHARGED else ():
            chars += self._charge(wire, path)
            wire = put(wire, path, "")
        return self._value_size(wire) + chars

    def _charged(self, wire: Any) -> list[Path]:
        """Return the paths of the payload strings in an item."""
        return []

    # -- payloads: what they count, and what they weigh in a request ----------------------------------------------

    def image_tokens(self, item: Any, size: Size | None) -> int | None:
        """Return what an image costs by the provider's rule, or None where that is not known.

        ``item`` is what its data stands in; ``size`` is None where the data says no size in pixels.
        """
        return None

    def charge(self, block: Block, payload: Payload) -> int:
        """Return the characters that a payload of the block counts in C_H."""
        paths = self._charged(block.base)
        return self._charge(block.base, next(path for path in paths if path[: len(payload.path)] == payload.path))

    def _charge(self, wire: Any, path: Path) -> int:
        if self.charges.chars_per_token is None:
            return self.charges.fixed
        *around, key = path
        item = _held(wire, around)
        return self.charges.chars(self.image_tokens(item, pixels(item[key])))

    def load(self, blocks: Sequence[Block]) -> tuple[int, int]:
        """Return what the payloads in blocks weigh in a request, in bytes, and what they count in C_H."""
        weight = chars = 0
        for block in blocks:
            if block.kind in CHARGED and not isinstance(block.wire, str):
                for path in self._charged(block.wire):
                    weight += sent_bytes(_held(block.wire, path))
                    chars += self._charge(block.wire, path)
        return weight, chars

    def text_bytes(self, row: Row) -> int:
        """Return the bytes of a message as JSON in UTF-8, without what its payloads weigh."""
        hollow = [block._replace(wire=self._without_payloads(block.wire)) for block in row.blocks]
        return len(json_text(self._assemble(row.head, hollow)).encode())

    def body_bytes(self, row: Row) -> int:
        """Return the bytes of a message in a request."""
        return self.text_bytes(row) + self.load(row.blocks)[0]

    def block_bytes(self, block: Block) -> int:
        """Return the bytes of a block in a request."""
        return len(json_text(self._without_payloads(block.wire)).encode()) + self.load([block])[0]

    def _without_payloads(self, wire: Any) -> Any:
        for path in [] if isinstance(wire, str) else self._charged(wire):
            wire = put(wire, path, "")
        return wire


def has_strings(item: Any, *keys: str) -> bool:
    """Return whether an item is a dict with a string under each of these keys."""
    return isinstance(item, dict) and all([isinstance(item.get(key), str) for key in keys])


def _lists(value: Any, path: Path = ()) -> Iterator[tuple[Path, list[Any]]]:
    """Yield the lists in a wire that stand in no other list, with their paths, down to the third level."""
    if isinstance(value, list):
        yield path, value
    elif isinstance(value, Mapping) and len(path) < 3:
        for key, inner in value.items():
            yield from _lists(inner, (*path, key))


def _held(value: Any, path: Iterable[str | int]) -> Any:
    for key in path:
        value = value[key]
    return value


class BlockFormat(Format):
    """A format of two sides in turn, whose messages are a list of blocks, or a text, under ``content``."""

    sides = {"user": "user", "assistant": "assistant"}
    merges = True
    starts_with_user = True
    unique_in_request = True
    marks = True
    misplaced = {"user": ("call", "reasoning"), "assistant": ("payload",)}
    ends_reasoning = True

    def _roles(self) -> str:
        return "'user' and 'assistant'; pass a system prompt as `system=` and not in the list"

    def _blocks(self, index: int, raw: Message, side: Side, ordinal: int) -> Iterator[Block]:
        content = raw.get("content")
        if isinstance(content, str):
            yield self.block("text", "content", content, ordinal, 0, bare=True)
        elif isinstance(content, list | tuple):
            for i, item in enumerate(content):
                yield self._item(index, i, item, side, ordinal)
        elif content is not None:
            given = type(content).__name__
            raise InvalidMessages(f"must be a string or a list of blocks; got {given}", index, "content")

    def _item(self, index: int, i: int, item: Any, side: Side, ordinal: int) -> Block:
        """Read item ``i`` of the content."""
        raise NotImplementedError

    def is_blank(self, block: Block) -> bool:
        if block.kind != "text":
            return False
        text = block.wire if isinstance(block.wire, str) else block.wire["text"]
        return not text or text.isspace()

    def trimmed(self, block: Block) -> Block | None:
        if block.kind != "text":
            return None
        wire = block.wire
        text = wire if isinstance(wire, str) else wire["text"]
        if text == text.rstrip() or not text.strip():
            return None
        base = text.rstrip() if isinstance(wire, str) else {**wire, "text": text.rstrip()}
        return self.render(block, base=base, cuts=())

    def marked(self, message: Message, place: int, ttl: str | None) -> Message:
        content = message["content"]
        items = [content] if isinstance(content, str) else content
        return {**message, "content": self.marker_at(items, place, ttl)}

    def unmarked_at(self, message: Message, place: int, bare: bool) -> Message:
        items = self._less_marker_at(message["content"], place)
        return {**message, "content": items[0]["text"] if bare else items}

    def _less_marker_at(self, items: Sequence[Any], place: int) -> list[Any]:
        """Return items as they were before ``marker_at``."""
        raise NotImplementedError

    def marked_beside(self, value: Any, ttl: str | None) -> Any:
        items = self.beside_items(value)
        return self.marker_at(items, len(items) - 1, ttl) if items and items[-1] else value

    def speech(self, text: str, ordinal: int, kind: Kind = "text") -> tuple[Message, Block]:
        return {"role": "user", "content": []}, self.block(kind, "content", self.text_item(text), ordinal)


def _more_chars(old: Sequence[Block], new: Sequence[Block]) -> int | None:
    """Return how many characters longer a message gets with new blocks; None where its layout changes."""
    if len(old) == len(new):
        alike = [(block.place, block.bare) for block in old] == [(block.place, block.bare) for block in new]
    else:
        layouts = {(block.place, block.bare) for block in (*old, *new)}
        alike = bool(old and new) and len(layouts) == 1 and not old[0].bare
    if not alike:
        return None
    return sum([block.size for block in new]) - sum([block.size for block in old]) + 2 * (len(new) - len(old))


def moved(cuts: Sequence[tuple[Path, Cut]], holder: Path, kept: Sequence[int]) -> tuple[tuple[Path, Cut], ...]:
    """Return the cuts of a block of which only the items ``kept`` are left in the list at ``holder``."""
    n = len(holder)
    return tuple([((*holder, kept.index(int(at[n])), *at[n + 1 :]) if at[n:] else at, cut) for at, cut in cuts])


def parsed(arguments: Any) -> Any:
    """Return JSON text as data, or the text itself when it is none (or nested too deep to read).

    Half an emoji can hide in a JSON escape; what comes out can be encoded.
    """
    if not isinstance(arguments, str):
        return arguments
    try:
        data = json.loads(arguments, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return arguments
    return data if "\\u" not in arguments or is_encodable(data) else encodable(data)


def check_list(value: Any, index: int, key: str) -> None:
    """Refuse a tuple where a result's items stand, as JSON has lists; `reading` makes one of it."""
    if isinstance(value, tuple):
        raise InvalidMessages("must be a list; got tuple", index, key)


def _members(raw: Message) -> Iterator[tuple[str, Any]]:
    """Yield what stands in a message under each key, item by item, with a name for its place."""
    for key, value in raw.items():
        if isinstance(value, list):
            yield from [(f"{key}[{i}]", item) for i, item in enumerate(value)]
        yield str(key), {key: value}


def _fails(write: Callable[[object], object], value: Any) -> bool:
    try:
        write(value)
    except UnicodeEncodeError:
        return False
    except (TypeError, ValueError):
        return True
    return False


def as_text(content: Any) -> Any:
    """Return the content of a result: a text or a list of items as it is, anything else as the text of its JSON."""
    if isinstance(content, str) or (isinstance(content, list) and all([isinstance(item, dict) for item in content])):
        return content
    return "" if content is None else json_text(content)


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


DEPTH_LIMIT = 200
"""Strings nested deeper than this are left alone (the limit of spec 4.1 for structure)."""


def leaves(value: Any, longer_than: int = -1) -> Iterator[tuple[Path, str]]:
    """Yield the strings in JSON data with their paths, in order, without recursion, down to ``DEPTH_LIMIT``.

    What is not asked for makes no path: data may be millions of numbers and short strings.
    """
    if isinstance(value, str):
        if len(value) > longer_than:
            yield (), value
        return
    path: list[str | int] = []
    stack = [_children(value)]
    while stack:
        for key, child in stack[-1]:
            if isinstance(child, str):
                if len(child) > longer_than:
                    yield (*path, key), child
            elif isinstance(child, dict | list) and len(path) + 1 < DEPTH_LIMIT:
                path.append(key)
                stack.append(_children(child))
                break
        else:
            stack.pop()
            if path:
                path.pop()


def _children(value: Any) -> Iterator[tuple[Any, Any]]:
    return iter(value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ())
