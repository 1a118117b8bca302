"""What an archive can do, and how an original gets its reference."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import NamedTuple, Protocol

REF_DIGITS = 16
"""Hexadecimal digits of a reference; longer only where two originals share them (spec 7)."""

ASKED_MOST = 64
"""References remembered between the proposal of a cut and its archiving."""

Original = str | bytes
Redactions = Sequence[tuple[re.Pattern[str], str]]
"""What is looked for in a text before it is kept, and what stands there instead."""


@dataclass(frozen=True, slots=True)
class Found:
    """A place in an original that a search found."""

    ref: str
    """The reference of the original."""
    excerpt: str
    """The characters from ``start`` to ``end`` of the original."""
    start: int
    end: int
    score: float
    """The higher the better; comparable within one search only."""


class Archive(Protocol):
    """Where originals are kept. Safe to share between threads and sessions."""

    name: str
    """Under which the archive knows who put what in; ``open_archive(config, name)`` goes on with it. "" in memory."""

    redacted: set[str]
    """References of what was put in and kept without some of its words."""

    def ref(self, original: Original) -> str:
        """Return the reference that ``original`` has or will have: 16 hexadecimal digits, longer on collision."""
        ...

    def put(self, original: Original) -> str:
        """Keep ``original`` and return its reference; it can be recalled at once, and is durable after ``commit``."""
        ...

    def commit(self) -> None:
        """Make durable all that was put in so far; with nothing new this costs nothing.

        Raises:
            ArchiveError: it could not; what was put in stays in memory, can be recalled, and is tried again next time.
        """
        ...

    def recall(self, ref: str) -> Original:
        """Return the original under ``ref``.

        Raises:
            UnknownReference: there is none.
            ArchiveError: the archive cannot be read, or what it holds is damaged.
        """
        ...

    def __contains__(self, ref: object) -> bool:
        """Return whether there is an original under ``ref``."""
        ...

    def search(self, words: str, limit: int = 20) -> list[Found]:
        """Return the best places in this session's texts for some words of any language, the best first."""
        ...

    def forget(self, ref: str) -> int:
        """Remove the original under ``ref``, or with ``"all"`` each that this session alone put in; return how many."""
        ...


class Entry(NamedTuple):
    """An original on its way in."""

    original: Original
    ref: str
    kept: Original
    """What is kept of it: all, but for what is redacted."""
    digest: str
    """The sha256 of what is kept, in hexadecimal digits."""


class Addressed:
    """References from content, after redaction; each original is digested once between ``ref`` and ``put``."""

    def __init__(self, redact: Redactions = ()) -> None:
        self._redact = tuple(redact)
        self.redacted: set[str] = set()
        self._asked: dict[int, Entry] = {}

    def ref(self, original: Original) -> str:
        """Return the reference that ``original`` has or will have; a stage asks for it, ``put`` asks again."""
        return self._entry(original).ref

    def _entry(self, original: Original) -> Entry:
        asked = self._asked.get(id(original))
        if asked is None or asked.original is not original:
            kept = self._redacted(original) if self._redact else original
            if len(self._asked) >= ASKED_MOST:
                self._asked = {}
            digest = digest_of(kept)
            asked = self._asked[id(original)] = Entry(original, self._new_ref(digest, kept), kept, digest)
            if kept is not original and kept != original:
                self.redacted.add(asked.ref)
        return asked

    def _redacted(self, original: Original) -> Original:
        if isinstance(original, str):
            for pattern, by in self._redact:
                original = pattern.sub(partial(_instead, by), original)
        return original

    def _new_ref(self, digest: str, kept: Original) -> str:
        """Return the digits of the digest that no other original has."""
        digits = REF_DIGITS
        while self._taken(digest[:digits], digest, kept):
            digits += 8
        return digest[:digits]

    def _taken(self, ref: str, digest: str, kept: Original) -> bool:
        """Return whether another original than ``kept`` has this reference."""
        raise NotImplementedError


def _instead(by: str, match: re.Match[str]) -> str:
    return by * len(match[0]) if len(by) == 1 else by


def data_of(original: Original) -> bytes:
    """Return an original as bytes; half an emoji comes along."""
    return original.encode("utf-8", "surrogatepass") if isinstance(original, str) else original


def digest_of(original: Original) -> str:
    """Return the sha256 of an original, in hexadecimal digits; its reference begins them."""
    return sha256(data_of(original)).hexdigest()
