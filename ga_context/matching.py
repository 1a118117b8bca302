"""How a list that was passed continues the one before: more of it, the last view with more, a rollback, or a change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ga_context.model import Message
from ga_context.state import State
from ga_context.text.plain import plain_text

STRIDE = 64
"""Messages compared at once while looking for the first difference."""


@dataclass(frozen=True, slots=True)
class Match:
    """Where the new messages begin, and what must be undone before they are placed."""

    start: int
    """Index of the first new message in the list that was passed."""
    restore: int | None = None
    """Return to the latest turn with at most this many raw messages."""
    keep_rows: int | None = None
    """Then keep this many rows as they are and forget the rest."""
    from_view: bool = False
    """The list begins with the last view, not with the raw history."""

    @property
    def changed(self) -> bool:
        """Something that was known is no more so: a rollback, or a change by the caller."""
        return self.restore is not None or self.keep_rows is not None


def match(state: State, messages: list[Message]) -> Match:
    """Tell how ``messages`` continues the session (spec 2: message list).

    Lists are compared by the interpreter, which looks at identity before equality: quiet turns cost next to nothing.
    """
    known = state.raw if state.given is None else state.given
    if starts_with(messages, known) and not _is_longer_view(state, messages, len(known)):
        return Match(len(known), from_view=state.given is not None)
    if state.view and starts_with(messages, state.view):
        return Match(len(state.view), from_view=True)
    if state.given is not None and starts_with(messages, state.raw):
        return Match(len(state.raw))
    return _changed(state, messages)


def _changed(state: State, messages: list[Message]) -> Match:
    """Find the longest start that is known: of the raw history, of the last view, of the list passed before."""
    in_raw, in_view = common(messages, state.raw), common(messages, state.view)
    in_given = common(messages, state.given) if state.given is not None else 0
    if in_view > max(in_raw, in_given):
        return Match(in_view, keep_rows=in_view, from_view=True)
    if in_given > in_raw:
        rows = min(in_given, state.given_rows)
        return Match(rows, restore=state.given_base, keep_rows=rows, from_view=True)
    at = state.latest(in_raw)
    return Match(at, restore=at)


def starts_with(messages: list[Message], known: Sequence[Message]) -> bool:
    """Return whether the list begins with the known one, object by object or by value."""
    return len(messages) >= len(known) and same(messages[: len(known)], known)


def same(a: Sequence[Message], b: Sequence[Message]) -> bool:
    """Return whether two lists of messages are equal; nesting may be any depth."""
    try:
        return a == b
    except RecursionError:
        return len(a) == len(b) and all(x is y or plain_text(x) == plain_text(y) for x, y in zip(a, b, strict=True))


def common(a: Sequence[Message], b: Sequence[Message]) -> int:
    """Return how many messages two lists share from the start."""
    at, end = 0, min(len(a), len(b))
    while at < end and same(a[at : at + STRIDE], b[at : at + STRIDE]):
        at = min(end, at + STRIDE)
    while at < end and same(a[at : at + 1], b[at : at + 1]):
        at += 1
    return at


def _is_longer_view(state: State, messages: list[Message], known: int) -> bool:
    """Return whether the list is the last view with more, where that begins like the known list and is longer."""
    view = state.view
    return len(messages) >= len(view) > known and same(messages[known : len(view)], view[known:])
