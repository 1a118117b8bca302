"""The nouns: what a message is made of, on one page.

The caller's dicts are never translated. A format (``formats/``) reads each message once into blocks, a block remembers
the piece of the dict it came from, and a row is the message that will be sent, made of blocks. A row whose blocks are
all as they came sends the caller's own object.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

from ga_context.payload.coding import original
from ga_context.payload.pixels import pixels
from ga_context.text.window import Cut

Message: TypeAlias = dict[str, Any]
"""One item of the caller's list, in the provider's own wire format."""

Path: TypeAlias = tuple[str | int, ...]
"""Keys from a block's wire down to one of its texts; ``()`` is the block's only text."""

Side: TypeAlias = Literal["system", "user", "assistant", "tool"]
"""Who speaks: ``tool`` is a message of its own that holds one result."""

Kind: TypeAlias = Literal["text", "reasoning", "call", "result", "payload", "anchor", "marker", "other"]
"""What a block is: ``payload`` an image, document, audio or video; ``anchor`` our working memory; ``marker`` a cache
marker of the caller's that is a block of its own; ``other`` passes through."""

Cause: TypeAlias = Literal["pass", "eviction", "shrink", "repair", "merge", "caller", "config"]
"""Why a view does not start with the one before (spec 3.4)."""


class Block(NamedTuple):
    """A piece of a message: a text, a call, a result, an image."""

    kind: Kind
    place: str
    """The message key it stands under."""
    wire: Any
    """What is sent now."""
    base: Any
    """What came in; every cut is made from it, never from a text that is cut already."""
    size: int
    """Characters of ``wire`` as JSON, payloads at their charge."""
    bare: bool = False
    """It is the whole value under ``place``, not an item of a list there."""
    ordinal: int = -1
    """The raw message it came from, counted over the session; for a block of ours, the message it stands by."""
    position: int = -1
    """Its place in that message; -1: a block of ours."""
    id: str | None = None
    """Call id as it is sent; of a result, the id of the call it answers. A result without one is an orphan."""
    tools: tuple[str, ...] = ()
    """Names of the tools called; one, but for the text format, where one string may hold several calls."""
    sealed: bool = False
    """Signed or redacted reasoning: sent as it came or not at all."""
    cuts: tuple[tuple[Path, Cut], ...] = ()
    """Texts of ``base`` that are sent cut."""
    note: str | None = None
    """Anchor that stands at the end of this very text (text format, ``placement = "tool_result"``)."""
    missing: bool = False
    """A placeholder of ours for a result that has not come."""

    @property
    def ours(self) -> bool:
        """True for the anchor and for placeholders."""
        return self.position < 0

    def text_chars(self, path: Path, text: str) -> int:
        """Return the characters of a text of ``base`` as it is sent."""
        for at, cut in self.cuts:
            if at == path:
                return cut.size
        return len(text)


class Payload(NamedTuple):
    """An image, document or sound in a block."""

    path: Path
    """Of the item that a placeholder takes the place of."""
    kind: str
    """image, document or audio"""
    data: str | bytes
    """Base64, a data: URL or bytes; of a linked one its URL or id."""
    linked: bool = False
    """The provider gets the file elsewhere."""

    @property
    def original(self) -> str | bytes:
        """What is archived: the bytes where they are here, else where they are."""
        return self.data if self.linked else original(self.data)

    @property
    def label(self) -> str:
        """What it is, with its pixels where its header says them: ``image 1280x800``."""
        size = None if self.linked or self.kind != "image" else pixels(self.data)
        return f"{self.kind} {size[0]}x{size[1]}" if size else self.kind


class Incoming(NamedTuple):
    """A raw message as its format reads it."""

    side: Side
    raw: Message
    blocks: tuple[Block, ...]
    size: int
    """C_H of the message: characters as JSON, payloads at their charge."""
    given: Message | None = None
    """What the caller handed over, where ``raw`` is a copy of it that can be encoded."""
    given_chars: int = 0
    """C_H of what the caller handed over then."""

    @property
    def chars_given(self) -> int:
        """C_H of what the caller handed over."""
        return self.size if self.given is None else self.given_chars


class Row(NamedTuple):
    """A message of the view."""

    side: Side
    head: Message
    """The message whose other keys it carries."""
    blocks: tuple[Block, ...]
    out: Message
    """The message that is sent: the caller's own object while nothing in it was edited."""
    size: int
    ordinal: int
    """Of the raw message that it began with; of a row of ours, the message it stands by."""
    ours: bool = False
    """Nothing in it came from the caller (anchor, placeholder); such rows are never counted as messages."""

    @property
    def last(self) -> int:
        """Highest ordinal in it."""
        return max([block.ordinal for block in self.blocks], default=self.ordinal)

    @property
    def lasting(self) -> list[Block]:
        """Its blocks without the texts of ours that stood for what was missing, for when something comes."""
        return [block for block in self.blocks if not (block.ours and block.kind == "text")]

    @property
    def answers(self) -> bool:
        """It holds a result of a call, not only orphans."""
        return any([block.kind == "result" and block.id is not None for block in self.blocks])

    def has(self, kind: Kind) -> bool:
        """Return whether one of its blocks is of this kind."""
        return kind in [block.kind for block in self.blocks]

    def of(self, kind: Kind) -> list[Block]:
        """Return its blocks of this kind."""
        return [block for block in self.blocks if block.kind == kind]


class Call(NamedTuple):
    """A tool call that a result may still come for."""

    ordinal: int
    position: int
    turn: int
    """The model response it belongs to; assistant messages in a row are one response."""
    raw_id: str
    """The id that the caller's list shows."""
    id: str
    """The id that is sent: the same, unless it had to be made unique or legal."""
    tools: tuple[str, ...]


class Line(NamedTuple):
    """What the anchor says of one turn or one user request."""

    ordinal: int
    """Of the turn's last message, or of the request."""
    turn: int
    text: str
    """The line itself."""
    request: bool = False
    summary: str = ""
    """What the model wrote as one."""
    calls: tuple[tuple[str, str], ...] = ()
    """(tool, main argument) of the turn's calls."""
    said: str = ""
    """The first line of its words, for as long as there is neither."""


def put(value: Any, path: Path, new: Any) -> Any:
    """Return ``value`` with ``new`` at ``path``; only the containers along the path are copied."""
    if not path:
        return new
    copied: Any = dict(value) if isinstance(value, Mapping) else list(value)
    inner = copied
    for key in path[:-1]:
        child = inner[key]
        inner[key] = dict(child) if isinstance(child, Mapping) else list(child)
        inner = inner[key]
    inner[path[-1]] = new
    return copied
