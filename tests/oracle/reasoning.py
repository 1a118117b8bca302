"""Signed reasoning, which a provider checks byte for byte: it stays as it is, and all that a message has or none."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable

from oracle.common import Message, leaf_fault, leaves

Signed = Callable[[Message], list[Message]]
"""Return the signed blocks of a message."""


def reasoning_faults(
    raw: list[Message], view: list[Message], signed_of: Signed, calls_something: Callable[[Message], bool]
) -> list[str]:
    """Return the signed reasoning that was changed, torn apart, or lost while its loop is open."""
    found = [*_changed_reasoning(raw, view, signed_of), *_torn_reasoning(raw, view, signed_of)]
    return found + _lost_open_reasoning(raw, view, signed_of, calls_something)


def _bytes(block: Message) -> str:
    return json.dumps(block, default=bytes.hex)


def _encodable(block: Message) -> bool:
    return not any(leaf_fault(leaf, binary=True) for leaf in leaves(block))


def _changed_reasoning(raw: list[Message], view: list[Message], signed_of: Signed) -> list[str]:
    known = {_bytes(block) for message in raw for block in signed_of(message)}
    pairs = [(i, _bytes(block)) for i, message in enumerate(view) for block in signed_of(message)]
    return [f"message {i}: signed reasoning was changed: {text[:60]}" for i, text in pairs if text not in known]


def _torn_reasoning(raw: list[Message], view: list[Message], signed_of: Signed) -> list[str]:
    """Find a message of which some signed blocks stayed and some went: it is all of them or none."""
    counts = Counter(_bytes(block) for message in raw for block in signed_of(message))
    seen = {_bytes(block) for message in view for block in signed_of(message)}
    found = []
    for i, message in enumerate(raw):
        signed = signed_of(message)
        judged = [_bytes(block) for block in signed if counts[_bytes(block)] == 1]
        if all(map(_encodable, signed)) and 0 < sum(text in seen for text in judged) < len(judged):
            found.append(f"raw message {i}: only a part of its signed reasoning is in the view")
    return found


def _lost_open_reasoning(
    raw: list[Message], view: list[Message], signed_of: Signed, calls_something: Callable[[Message], bool]
) -> list[str]:
    """Find signed reasoning of the newest message with calls that is gone."""
    newest = next((m for m in reversed(raw) if calls_something(m)), {})
    signed = signed_of(newest)
    if not all(map(_encodable, signed)):
        return []
    seen = {_bytes(block) for message in view for block in signed_of(message)}
    return [f"reasoning of the open loop is gone: {_bytes(b)[:60]}" for b in signed if _bytes(b) not in seen]
