"""A store in one SQLite file, which sessions, threads and processes share."""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal
from weakref import WeakSet

from ga_context.archive import fulltext
from ga_context.archive.file import SQLiteFile, scalar
from ga_context.archive.packing import Row, Stored
from ga_context.archive.words import Query
from ga_context.errors import ArchiveError

SEEN_SECONDS = 60.0
"""How exact the time is at which a session was alive."""

_log = logging.getLogger(__name__)
_stores: WeakSet[SQLiteStore] = WeakSet()
"""Those of this process that a session still holds: 1,000 sessions of a server need one connection, not 1,000."""
_opening = threading.RLock()


def open_sqlite(path: Path, sync: Literal["process", "power"]) -> SQLiteStore:
    """Return the store in a file, made if it is not there, for this user alone; one for all sessions of a process."""
    path = Path(os.path.realpath(path))
    with _opening:
        for store in _stores:
            if (store.path, store.sync) == (path, sync) and not store.moved():
                return store
        store = SQLiteStore(path, sync)
        _stores.add(store)
        return store


def _before_fork() -> None:
    """Leave the child no connection: SQLite forbids to use one, even to close it, on both sides of a fork."""
    _opening.acquire()
    for store in _forking():
        store.lock.acquire()
        store.disconnect()


def _after_fork() -> None:
    for store in _forking():
        store.lock.release()
    _opening.release()


def _forking() -> list[SQLiteStore]:
    return sorted(_stores, key=id)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


class SQLiteStore(SQLiteFile):
    """What an archive keeps, and who uses it."""

    def __init__(self, path: Path, sync: str) -> None:
        super().__init__(path, sync)
        self._sessions: dict[str, tuple[int, float]] = {}
        """Number of each session, and when it was last said to be alive."""

    def save(self, name: str, rows: Sequence[Row], used: Iterable[str]) -> bool:
        """Keep rows, note that session ``name`` uses them and what stands under ``used``, and that it is alive.

        Returns:
            Whether the session was known; one that was pruned is not any more.
        """
        now = time.time()
        session, seen = self._sessions.get(name, (0, 0.0))
        known, fresh = session, 0 <= now - seen < SEEN_SECONDS
        with self.writing() as db:
            if not fresh:
                say = "INSERT INTO sessions (name, seen) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET seen = ?"
                db.execute(say, (name, now, now))
                session = scalar(db, "SELECT id FROM sessions WHERE name = ?", name)
            db.executemany("INSERT OR IGNORE INTO originals (ref, digest, kind, body) VALUES (?, ?, ?, ?)", rows)
            use = "INSERT OR IGNORE INTO uses SELECT ?, id FROM originals WHERE ref = ? AND digest = ?"
            if db.executemany(use, [(session, ref, digest) for ref, digest, _, _ in rows]).rowcount < len(rows):
                _check(db, rows)
            by_ref = "INSERT OR IGNORE INTO uses SELECT ?, id FROM originals WHERE ref = ?"
            db.executemany(by_ref, [(session, ref) for ref in used])
        if not fresh:
            self._sessions[name] = (session, now)
        return known in (0, session)

    def digest(self, ref: str) -> bytes | None:
        """Return the sha256 of what stands under a reference."""
        with self.lock:  # without `_reading`, which would double the time of what each new original needs
            try:
                found = scalar(self._connection or self.connect(), "SELECT digest FROM originals WHERE ref = ?", ref)
            except ArchiveError:
                raise
            except (sqlite3.Error, OSError) as error:
                raise self.error("read", error) from error
        return found if isinstance(found, bytes) else None

    def load(self, ref: str) -> tuple[object, object, object] | None:
        """Return (sha256, kind, body) of a row."""
        with self.reading() as db:
            row: tuple[object, object, object] | None = db.execute(
                "SELECT digest, kind, body FROM originals WHERE ref = ?", (ref,)
            ).fetchone()
            return row

    def forget(self, name: str, ref: str) -> int:
        """Remove what stands under a reference; with "all" what session ``name`` alone uses. Return how many."""
        with self.writing() as db:
            if ref == "all":
                session = scalar(db, "SELECT id FROM sessions WHERE name = ?", name)
                count = _leave(db, session) if session is not None else 0
            else:
                count = _delete(db, db.execute("SELECT id FROM originals WHERE ref = ?", (ref,)).fetchall())
            fulltext.overwrite(db)
        with self.reading() as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # the log has it, too
        return count

    def prune(self, max_age_days: float | None, max_bytes: int | None, live_hours: float) -> int:
        """Remove what only sessions use that were not alive for long; return how many."""
        live = time.time() - live_hours * 3_600
        count = 0
        if max_age_days is not None:
            with self.writing() as db:
                old = (min(live, time.time() - max_age_days * 86_400),)
                for (session,) in db.execute("SELECT id FROM sessions WHERE seen < ?", old).fetchall():
                    count += _end(db, session)
        while max_bytes is not None and self._bytes() > max_bytes:
            with self.writing() as db:
                oldest = scalar(db, "SELECT id FROM sessions WHERE seen < ? ORDER BY seen, id LIMIT 1", live)
                if oldest is None:
                    break
                count += _end(db, oldest)
        return count

    def _bytes(self) -> int:
        with self.reading() as db:
            pages, free, size = [scalar(db, f"PRAGMA {name}") for name in ("page_count", "freelist_count", "page_size")]
            return int((pages - free) * size)

    def candidates(self, name: str, query: Query, new: Iterable[str] | None) -> tuple[list[Stored], int | None]:
        """Return those of a session's originals that may hold what is looked for, and of how many texts.

        ``new`` are those that came in since the last time; None: there was none.
        """
        with self.reading() as db:
            session = scalar(db, "SELECT id FROM sessions WHERE name = ?", name)
        if session is None:
            return [], 0
        try:
            waiting = self._unindexed(session, new)
            for start in range(0, len(waiting), fulltext.AT_ONCE):
                with self.writing() as db:
                    fulltext.extend(db, waiting[start : start + fulltext.AT_ONCE])
            with self.reading() as db:
                return fulltext.candidates(db, session, query)
        except ArchiveError as error:  # the index cannot be written or read now: look through all
            _log.warning("a search goes without its index: %s", type(error.__cause__ or error).__name__)
            with self.reading() as db:
                return fulltext.everything(db, session), None

    def _unindexed(self, session: int, new: Iterable[str] | None) -> list[int]:
        with self.reading() as db:
            if new is None:
                return fulltext.unindexed(db, session)
            return [
                one for ref in new if (one := scalar(db, "SELECT id FROM originals WHERE ref = ?", ref)) is not None
            ]


def _check(db: sqlite3.Connection, rows: Sequence[Row]) -> None:
    """Refuse to commit what is not there afterwards."""
    for ref, digest, _, _ in rows:
        if scalar(db, "SELECT digest FROM originals WHERE ref = ?", ref) != digest:
            raise ArchiveError(
                f"another process archived something else under {ref} at this moment; begin a new session, which "
                "gives a longer reference"
            )


def _end(db: sqlite3.Connection, session: int) -> int:
    """Remove a session, and what it alone used."""
    count = _leave(db, session)
    db.execute("DELETE FROM sessions WHERE id = ?", (session,))
    return count


def _leave(db: sqlite3.Connection, session: int) -> int:
    """Remove what a session alone used."""
    mine = "SELECT original FROM uses WHERE session = ?"
    shared = "SELECT 1 FROM uses o WHERE o.original = uses.original AND o.session != uses.session"
    alone = db.execute(f"{mine} AND NOT EXISTS ({shared})", (session,)).fetchall()
    db.execute("DELETE FROM uses WHERE session = ?", (session,))
    return _delete(db, alone)


def _delete(db: sqlite3.Connection, originals: Sequence[tuple[int]]) -> int:
    """Remove originals, and what the index and the sessions know of them."""
    for one in originals:
        fulltext.remove(db, *one)
        db.execute("DELETE FROM uses WHERE original = ?", one)
        db.execute("DELETE FROM originals WHERE id = ?", one)
    return len(originals)
