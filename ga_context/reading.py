"""From the caller's dicts to what they hold: each message read once, and made fit to be encoded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ga_context.archive import Archive, MemoryArchive
from ga_context.errors import InvalidMessages
from ga_context.formats.base import Format
from ga_context.model import Incoming, Message
from ga_context.report import Action
from ga_context.text.clean import dicts, encodable, is_encodable
from ga_context.text.plain import plain
from ga_context.text.size import json_text


def as_list(messages: Any) -> list[Message]:
    """Return the caller's list, or a tuple as one; anything else is refused."""
    if isinstance(messages, list):
        return messages
    if isinstance(messages, tuple):
        return list(messages)
    raise InvalidMessages(f"must be a list of messages; got {type(messages).__name__}")


def read_all(
    fmt: Format, archive: Archive, messages: Sequence[Message], start: int, ordinal: int
) -> tuple[list[Incoming], list[Action]]:
    """Read the messages from index ``start`` on, the first of which is raw message ``ordinal``.

    Nothing is changed when one of them is refused.
    """
    incoming: list[Incoming] = []
    actions: list[Action] = []
    for index in range(start, len(messages)):
        message, action = read(fmt, archive, messages[index], index, ordinal + index - start)
        incoming.append(message)
        if action is not None:
            actions.append(action)
    return incoming, actions


def read(fmt: Format, archive: Archive, raw: Any, index: int, ordinal: int) -> tuple[Incoming, Action | None]:
    """Read one message; where it cannot be encoded, a copy that can, without the signed blocks that would change.

    An object of an SDK, or a message that holds some, is read as the dict that the API takes back. It is looked for
    only in what cannot be read as it is, so that plain messages cost nothing.
    """
    try:
        return fmt.read(index, raw, ordinal), None
    except UnicodeEncodeError:
        return _encodable(fmt, archive, raw, index, ordinal)
    except InvalidMessages:
        given = plain(raw, fmt.as_input)
        if given is raw:
            raise
    message, action = read(fmt, archive, given, index, ordinal)
    return message._replace(given=raw, given_chars=message.chars_given), action


def _encodable(fmt: Format, archive: Archive, raw: Message, index: int, ordinal: int) -> tuple[Incoming, Action | None]:
    clean = _cleaned(fmt, raw, index, ordinal)
    reason = "what cannot be encoded was replaced"
    ref = archive.put(json_text(raw))
    return clean, Action("repair", reason, ordinal, chars_before=clean.given_chars, chars_after=clean.size, ref=ref)


def _cleaned(fmt: Format, raw: Message, index: int, ordinal: int) -> Incoming:
    given = encodable(raw)
    clean = fmt.read(index, given, ordinal)
    chars = clean.size + len(json_text(raw)) - len(json_text(given))
    as_given = [item for item in dicts(raw) if is_encodable(item)]
    blocks = tuple([block for block in clean.blocks if not block.sealed or block.base in as_given])
    if len(blocks) < len(clean.blocks):
        row = fmt.row(clean.side, clean.raw, blocks, ordinal)
        clean = clean._replace(raw=row.out, blocks=row.blocks, size=row.size)
    return clean._replace(given=raw, given_chars=chars)


def size(fmt: Format, raw: Message, index: int) -> int:
    """Return C_H of one message as it was given."""
    return read(fmt, MemoryArchive(), raw, index, index)[0].chars_given
