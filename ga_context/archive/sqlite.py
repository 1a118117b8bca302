"""A store in one SQLite file, which sessions, threads and processes share.

Write-ahead logging: a commit is one append to a file, readers wait for no writer. With ``sync="process"`` it is not
waited for the disk, so a commit outlives the process but not the machine; the file is never damaged by either.
"""

from __future__ import annotations

import errno
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal
from weakref import WeakSet

from ga_context.archive import fulltext
from ga_context.archive.packing import Row, Stored
from ga_context.archive.words import Query
from ga_context.errors import ArchiveError

APPLICATION_ID = 0x67614378
"""Of our files, in their head: gaCx."""
VERSION = 1
WAIT_SECONDS = 5.0
"""How long a transaction waits for another process; after a failure none does, until one succeeds again."""
SEEN_SECONDS = 60.0
"""How exact the time is at which a session was alive."""

_SCHEMA = """
CREATE TABLE originals (id INTEGER PRIMARY KEY, ref TEXT NOT NULL UNIQUE, digest BLOB NOT NULL, kind INTEGER NOT NULL,
    body BLOB NOT NULL);
CREATE TABLE sessions (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, seen REAL NOT NULL);
CREATE TABLE uses (session INTEGER NOT NULL, original INTEGER NOT NULL, PRIMARY KEY (session, original)) WITHOUT ROWID;
CREATE INDEX uses_of ON uses (original);
"""

_ADVICE = {
    "SQLITE_FULL": "the disk is full: make room",
    "SQLITE_READONLY": "it is read-only: let this user write the file and its folder",
    "SQLITE_PERM": "let this user write the file and its folder",
    "SQLITE_BUSY": "another process holds it: end that one, or wait",
    "SQLITE_LOCKED": "another process holds it: end that one, or wait",
    "SQLITE_CORRUPT": "it is damaged: move it away, and a new one is made, or restore it from a copy",
    "SQLITE_NOTADB": "it is no SQLite database: give another path, or move it away",
    "SQLITE_CANTOPEN": "let this user write the file and its folder, and give a path that can be a file",
}
_OF_SYSTEM = {
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "SQLITE_PERM"),
    **dict.fromkeys((errno.ENOTDIR, errno.EISDIR, errno.EEXIST), "SQLITE_CANTOPEN"),
    errno.ENOSPC: "SQLITE_FULL",
}
_OTHER = 'give another `archive.url`, or set `archive.on_error = "memory"` to go on without it'

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


def _one(db: sqlite3.Connection, statement: str, *values: Any) -> Any:
    row = db.execute(statement, values).fetchone()
    return None if row is None else row[0]


def _head(db: sqlite3.Connection) -> tuple[object, object]:
    return _one(db, "PRAGMA application_id"), _one(db, "PRAGMA user_version")


@contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")


class SQLiteStore:
    """One connection, behind a lock."""

    def __init__(self, path: Path, sync: str) -> None:
        self.path = path
        self.sync = sync
        self.lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._failed = False
        self._sessions: dict[str, tuple[int, float]] = {}
        try:
            if not path.exists():
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        except OSError as error:
            raise self._error("opened", error) from error
        self._place = self._inode()
        with self._reading("opened"):
            pass

    def _connect(self) -> sqlite3.Connection:
        url = f"{self.path.as_uri()}?mode=rw"  # never makes a file that is gone
        db = sqlite3.connect(url, timeout=WAIT_SECONDS, isolation_level=None, check_same_thread=False, uri=True)
        try:
            if _head(db) != (APPLICATION_ID, VERSION):
                self._make(db)
            db.execute("PRAGMA journal_mode = WAL")
            db.execute(f"PRAGMA synchronous = {'FULL' if self.sync == 'power' else 'NORMAL'}")
            db.execute("PRAGMA secure_delete = ON")  # what is forgotten is overwritten
            self._connection = db
        finally:
            if self._connection is not db:
                db.close()
        return db

    def _make(self, db: sqlite3.Connection) -> None:
        with _transaction(db):
            ours, version = _head(db)
            if (ours, version) == (APPLICATION_ID, VERSION):
                return  # another process made it meanwhile
            if ours == APPLICATION_ID:
                raise ArchiveError(
                    f"the archive {self.path} has layout {version}, this library reads layout {VERSION}; use the "
                    "version of ga_context that wrote it, or give another `archive.url`"
                )
            if _one(db, "SELECT count(*) FROM sqlite_master"):
                raise ArchiveError(
                    f"{self.path} is a database of something else; give the path of a file that is an archive or that "
                    "does not exist yet as `archive.url`"
                )
            for statement in filter(str.strip, (_SCHEMA + fulltext.SCHEMA).split(";\n")):
                db.execute(statement)
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            db.execute(f"PRAGMA user_version = {VERSION}")

    def disconnect(self) -> None:
        """Close the connection; the next use opens one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __del__(self) -> None:
        self.disconnect()

    def moved(self) -> bool:
        """Return whether the file is no longer where it was opened; what is written to it then would be lost."""
        return self._inode() != self._place

    def _inode(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self.path)
        except OSError:
            return None
        return found.st_dev, found.st_ino

    # -- transactions ---------------------------------------------------------------------------------------------

    def _error(self, doing: str, error: sqlite3.Error | OSError) -> ArchiveError:
        """Say what cannot be done, why, and what to do."""
        self._failed = True
        name = (
            _OF_SYSTEM.get(error.errno or 0, "")
            if isinstance(error, OSError)
            else getattr(error, "sqlite_errorname", "")
        )
        advice = next((f": {said}" for kind, said in _ADVICE.items() if name.startswith(kind)), "")
        reason = str(error) if isinstance(error, sqlite3.Error) else error.strerror
        return ArchiveError(f"the archive {self.path} cannot be {doing} ({reason}){advice}; or {_OTHER}")

    @contextmanager
    def _reading(self, doing: str = "read") -> Iterator[sqlite3.Connection]:
        with self.lock:
            try:
                yield self._connection or self._connect()
            except ArchiveError:
                raise
            except (sqlite3.Error, OSError) as error:
                raise self._error(doing, error) from error

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._reading("written") as db:
            if self.moved():
                raise ArchiveError(
                    f"the archive {self.path} was moved or removed while it was open; put it back, or begin a new "
                    "session, which makes a new one"
                )
            if self._failed:
                db.execute("PRAGMA busy_timeout = 0")
            with _transaction(db):
                yield db
            if self._failed:
                self._failed = False
                db.execute(f"PRAGMA busy_timeout = {int(WAIT_SECONDS * 1000)}")

    # -- what a store does ----------------------------------------------------------------------------------------

    def save(self, name: str, rows: Sequence[Row], used: Iterable[str]) -> bool:
        """Keep rows, note that session ``name`` uses them and what stands under ``used``, and that it is alive.

        Returns:
            Whether the session was known; one that was pruned is not any more.
        """
        now = time.time()
        session, seen = self._sessions.get(name, (0, 0.0))
        known, fresh = session, 0 <= now - seen < SEEN_SECONDS
        with self._writing() as db:
            if not fresh:
                say = "INSERT INTO sessions (name, seen) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET seen = ?"
                db.execute(say, (name, now, now))
                session = _one(db, "SELECT id FROM sessions WHERE name = ?", name)
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
                found = _one(self._connection or self._connect(), "SELECT digest FROM originals WHERE ref = ?", ref)
            except ArchiveError:
                raise
            except (sqlite3.Error, OSError) as error:
                raise self._error("read", error) from error
        return found if isinstance(found, bytes) else None

    def load(self, ref: str) -> tuple[object, object, object] | None:
        """Return (sha256, kind, body) of a row."""
        with self._reading() as db:
            row: tuple[object, object, object] | None = db.execute(
                "SELECT digest, kind, body FROM originals WHERE ref = ?", (ref,)
            ).fetchone()
            return row

    def forget(self, name: str, ref: str) -> int:
        """Remove what stands under a reference; with "all" what session ``name`` alone uses. Return how many."""
        with self._writing() as db:
            if ref == "all":
                session = _one(db, "SELECT id FROM sessions WHERE name = ?", name)
                count = _leave(db, session) if session is not None else 0
            else:
                count = _delete(db, db.execute("SELECT id FROM originals WHERE ref = ?", (ref,)).fetchall())
            fulltext.overwrite(db)
        with self._reading() as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # the log has it, too
        return count

    def prune(self, max_age_days: float | None, max_bytes: int | None, live_hours: float) -> int:
        """Remove what only sessions use that were not alive for long; return how many."""
        live = time.time() - live_hours * 3_600
        count = 0
        if max_age_days is not None:
            with self._writing() as db:
                old = (min(live, time.time() - max_age_days * 86_400),)
                for (session,) in db.execute("SELECT id FROM sessions WHERE seen < ?", old).fetchall():
                    count += _end(db, session)
        while max_bytes is not None and self._bytes() > max_bytes:
            with self._writing() as db:
                oldest = _one(db, "SELECT id FROM sessions WHERE seen < ? ORDER BY seen, id LIMIT 1", live)
                if oldest is None:
                    break
                count += _end(db, oldest)
        return count

    def _bytes(self) -> int:
        with self._reading() as db:
            pages, free, size = [_one(db, f"PRAGMA {name}") for name in ("page_count", "freelist_count", "page_size")]
            return int((pages - free) * size)

    def candidates(self, name: str, query: Query, new: Iterable[str] | None) -> tuple[list[Stored], int | None]:
        """Return those of a session's originals that may hold what is looked for, and of how many texts.

        ``new`` are those that came in since the last time; None: there was none.
        """
        with self._reading() as db:
            session = _one(db, "SELECT id FROM sessions WHERE name = ?", name)
        if session is None:
            return [], 0
        try:
            waiting = self._unindexed(session, new)
            for start in range(0, len(waiting), fulltext.AT_ONCE):
                with self._writing() as db:
                    fulltext.extend(db, waiting[start : start + fulltext.AT_ONCE])
            with self._reading() as db:
                return fulltext.candidates(db, session, query)
        except ArchiveError as error:  # the index cannot be written or read now: look through all
            _log.warning("a search goes without its index: %s", type(error.__cause__ or error).__name__)
            with self._reading() as db:
                return fulltext.everything(db, session), None

    def _unindexed(self, session: int, new: Iterable[str] | None) -> list[int]:
        with self._reading() as db:
            if new is None:
                return fulltext.unindexed(db, session)
            return [one for ref in new if (one := _one(db, "SELECT id FROM originals WHERE ref = ?", ref)) is not None]


def _check(db: sqlite3.Connection, rows: Sequence[Row]) -> None:
    """Refuse to commit what is not there afterwards."""
    for ref, digest, _, _ in rows:
        if _one(db, "SELECT digest FROM originals WHERE ref = ?", ref) != digest:
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
