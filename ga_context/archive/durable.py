"""An archive that outlives the process: what is new waits in memory until ``commit``, all else is in a store."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Sequence
from secrets import token_hex
from time import monotonic
from typing import Protocol

from ga_context.archive.base import Addressed, Found, Original
from ga_context.archive.packing import Row, Stored, is_ref, packed, unpacked
from ga_context.archive.words import Query, ranked
from ga_context.errors import ArchiveError, UnknownReference
from ga_context.sections import ArchiveConfig

BEAT_SECONDS = 600.0
"""How often a session that goes on says that it is alive, and what is too old is looked for; far below live_hours."""

_log = logging.getLogger(__name__)


class Store(Protocol):
    """A database of originals; each method is one transaction, and all errors of the database are ``ArchiveError``."""

    def save(self, name: str, rows: Sequence[Row], used: Iterable[str]) -> bool:
        """Keep rows, note that session ``name`` uses them and what stands under ``used``, and that it is alive.

        Returns:
            Whether the session was known; one that was pruned is not any more.
        """
        ...

    def digest(self, ref: str) -> bytes | None:
        """Return the sha256 of what stands under a reference."""
        ...

    def load(self, ref: str) -> tuple[object, object, object] | None:
        """Return (sha256, kind, body) of a row."""
        ...

    def forget(self, name: str, ref: str) -> int:
        """Remove what stands under a reference; with "all" what session ``name`` alone uses. Return how many."""
        ...

    def prune(self, max_age_days: float | None, max_bytes: int | None, live_hours: float) -> int:
        """Remove what only sessions use that were not alive for long; return how many."""
        ...

    def candidates(self, name: str, query: Query, new: Iterable[str] | None) -> tuple[list[Stored], int | None]:
        """Return those of a session's originals that may hold what is looked for, and of how many texts.

        ``new`` are those that came in since the last time; None: there was none.
        """
        ...


class DurableArchive(Addressed):
    """A session's archive in a store.

    A reference is as good as a key: whoever has it can recall what it stands for, from any session of the store.
    A search looks only at what this session put in or recalled.
    """

    def __init__(self, store: Store, config: ArchiveConfig, name: str | None = None) -> None:
        super().__init__(config.redactions)
        self.name = name or token_hex(8)
        self._store = store
        self._config = config
        self._lock = threading.RLock()
        self._pending: dict[str, tuple[str, Original]] = {}
        self._again: dict[str, tuple[str, Original]] = {}
        """What was put in this turn though it is held: nothing new, unless the store has pruned the session."""
        self._held: set[str] = set()
        self._used: set[str] = set()
        self._unsearched: set[str] | None = None
        self._due = monotonic() + BEAT_SECONDS
        if name is not None:
            store.save(self.name, (), ())
        self._prune()

    def _taken(self, ref: str, digest: str, kept: Original) -> bool:
        if ref in self._pending:
            return self._pending[ref][0] != digest
        try:
            known = self._store.digest(ref)
        except ArchiveError as error:  # commit will meet it again, where the turn is whole
            _log.warning("the archive could not be asked for a reference: %s", _kind(error))
            return False
        return known is not None and known.hex() != digest

    def put(self, original: Original) -> str:
        """Keep ``original`` in memory until ``commit``, and return its reference."""
        with self._lock:
            _, ref, kept, digest = self._entry(original)
            (self._again if ref in self._held else self._pending)[ref] = (digest, kept)
            return ref

    def commit(self) -> None:
        """Make durable what was put in, in one transaction; with nothing new only look at the clock.

        Raises:
            ArchiveError: it could not; all stays in memory and is tried again next time.
        """
        if not self._pending and monotonic() < self._due:
            self._again.clear()
            return
        with self._lock:
            due, pending = monotonic() >= self._due, list(self._pending.items())
            if due:
                self._due = monotonic() + BEAT_SECONDS
            try:
                if not self._store.save(self.name, [packed(ref, *one) for ref, one in pending], self._used):
                    self._held.clear()
                    self._pending.update(self._again)
                    self._store.save(self.name, [packed(ref, *one) for ref, one in self._again.items()], ())
                if due:
                    self._prune()
            except ArchiveError as error:
                if self._pending:
                    raise
                _log.warning("the archive could not be told that the session is alive: %s", _kind(error))
                return
            self._held.update(self._pending, self._used)
            if self._unsearched is not None:
                self._unsearched.update(self._pending, self._used)
            for done in (self._pending, self._used, self._again):
                done.clear()

    def _prune(self) -> None:
        config = self._config
        if config.max_age_days is None and config.max_bytes is None:
            return
        try:
            self._store.prune(config.max_age_days, config.max_bytes, config.live_hours)
        except ArchiveError as error:  # no harm in that: it is tried again
            _log.warning("what is too old could not be removed: %s", _kind(error))

    def recall(self, ref: str) -> Original:
        """Return the original under ``ref``, whichever session put it in.

        Raises:
            UnknownReference: there is none.
            ArchiveError: the archive cannot be read, or what stands there is damaged.
        """
        with self._lock:
            if isinstance(ref, str) and ref in self._pending:  # a model may ask for anything
                return self._pending[ref][1]
            row = self._store.load(ref) if is_ref(ref) else None
            if row is None:
                raise UnknownReference(ref)
            original = unpacked(ref, *row)
            self._use(ref)
            return original

    def __contains__(self, ref: object) -> bool:
        if not isinstance(ref, str) or not is_ref(ref):
            return False
        with self._lock:
            if ref in self._pending:
                return True
            known = self._store.digest(ref) is not None
            if known:
                self._use(ref)
            return known

    def _use(self, ref: str) -> None:
        """Note, for the next commit, that this session refers to what another put in."""
        if ref not in self._held:
            self._used.add(ref)

    def search(self, words: str, limit: int = 20) -> list[Found]:
        """Return the best places in this session's texts for some words, the best first."""
        query = Query(words)
        if not query.terms:
            return []
        with self._lock:
            waiting = [(ref, kept) for ref, (_, kept) in self._pending.items() if isinstance(kept, str)]
            rows, total = self._store.candidates(self.name, query, self._unsearched)
            self._unsearched = set()
        texts = [(row[0], text) for row in rows if (text := _text(row)) is not None]
        return ranked(query, [*texts, *waiting], limit, None if total is None else total + len(waiting))

    def forget(self, ref: str) -> int:
        """Remove the original under ``ref``, for all sessions; with ``"all"`` those that no other session uses.

        Returns:
            How many were removed.
        """
        with self._lock:
            gone = list(self._pending) if ref == "all" else [ref] if ref in self._pending else []
            count = self._store.forget(self.name, ref) if ref == "all" or is_ref(ref) else 0
            for one in gone:
                del self._pending[one]
            for known in (self._held, self._used):
                if ref == "all":
                    known.clear()
                else:
                    known.discard(ref)
            self._asked = {}
            return count + len(gone)


def _text(row: Stored) -> str | None:
    """Return a text to be searched; what is damaged is no reason not to find the others."""
    try:
        original = unpacked(*row)
    except ArchiveError:
        _log.warning("a search left out what is damaged")
        return None
    return original if isinstance(original, str) else None


def _kind(error: Exception) -> str:
    """Say what went wrong without a word of any message."""
    return type(error.__cause__ or error).__name__
