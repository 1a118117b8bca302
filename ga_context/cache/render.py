"""From what is sent to a prompt of segments: tools, system, then each block of each message, markers apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from typing import Any, TypeAlias

from ga_context.cache.request import Part, Segment
from ga_context.formats.base import Format
from ga_context.model import Block, Message
from ga_context.text.size import json_text

Count: TypeAlias = Callable[[str], int]
"""A caller's exact counter: a text in, its tokens out."""


class Renderer:
    """Render the requests of one session; a message that was rendered is remembered as long as the renderer lives.

    Args:
        fmt: the wire format of the messages.
        chars_per_token: without ``count``, a segment counts its characters (C_H) by this many, rounded.
        count: counts the tokens of a text; images, documents and sounds count by their charge all the same.
    """

    def __init__(self, fmt: Format, chars_per_token: float = 3.0, count: Count | None = None) -> None:
        self.fmt = fmt
        self.chars_per_token = chars_per_token
        self.count = count
        self._known: dict[int, tuple[Message, list[Segment]]] = {}
        self._beside: dict[Part, tuple[Any, list[Segment]]] = {}

    def prompt(self, messages: Sequence[Message], system: Any = None, tools: Any = None) -> list[Segment]:
        """Return the request as segments. In a text protocol the tools stand behind the messages."""
        shown = self._shown("tools", tools)
        prompt = [] if self.fmt.tagged else list(shown)
        prompt += self._shown("system", system)
        for index, message in enumerate(messages):
            for segment in self._message(message):
                prompt.append(segment if segment.message == index else segment._replace(message=index))
        return prompt + shown if self.fmt.tagged else prompt

    def _shown(self, part: Part, value: Any) -> list[Segment]:
        if value is None:
            return []
        known = self._beside.get(part)
        if known is not None and known[0] is value:
            return known[1]
        segments: list[Segment] = []
        for item in self.fmt.beside_items(value):
            ttl = self.fmt.ttl_of(item)
            if self.fmt.is_marker(item):
                segments[-1:] = [segment._replace(ttl=ttl) for segment in segments[-1:]]
                continue
            text = json_text(self.fmt.less_marker(item))
            segments.append(Segment(text, self._tokens(text, len(text)), part, kind=part, ttl=ttl))
        segments[-1:] = [segment._replace(ends_message=True) for segment in segments[-1:]]
        self._beside[part] = (value, segments)
        return segments

    def _message(self, message: Message) -> list[Segment]:
        known = self._known.get(id(message))
        if known is None or known[0] is not message:
            known = self._known[id(message)] = (message, list(self._segments(message)))
        return known[1]

    def _segments(self, message: Message) -> Iterator[Segment]:
        read = self.fmt.read(0, message, 0)
        lead = f"{message.get('role') or message.get('type')}\n"
        inside = 0 if any([block.bare for block in read.blocks]) else 2 * len(read.blocks)  # brackets and commas
        around = read.size - inside - sum([block.size for block in read.blocks])
        found: list[Segment] = []
        for block in read.blocks:
            ttl = self.fmt.ttl_of(block.base)
            if block.kind == "marker":
                found[-1:] = [segment._replace(ttl=ttl) for segment in found[-1:]]
                continue
            block = self._plain(block)
            text = lead + _text(block)
            found.append(Segment(text, self._tokens(text, block.size + around), kind=block.kind, ttl=ttl))
            lead, around = "", 0
        if not found:
            text = json_text(message)
            found.append(Segment(text, self._tokens(text, read.size)))
        found[-1] = found[-1]._replace(ends_message=True)
        return iter(found)

    def _plain(self, block: Block) -> Block:
        """Return the block without markers, as an item: a text and a list of one text are the same to the provider."""
        if block.bare and self.fmt.marks:
            block = self.fmt.itemised(block)
        return (self.fmt.unmarked(block) or block) if self.fmt.markers(block) else block

    def _tokens(self, text: str, chars: int) -> int:
        if self.count is not None and chars * 2 > len(text) and len(text) * 2 > chars:
            return self.count(text)
        return max(1, round(chars / self.chars_per_token))


def _text(block: Block) -> str:
    text = json_text(block.wire)
    if len(text) > 2 * block.size:  # an image: its bytes need not be kept
        return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return text
