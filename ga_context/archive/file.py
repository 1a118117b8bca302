"""A SQLite file as an archive has it: made and opened, read and written in transactions, and what to do if not.

Write-ahead logging: a commit is one append to a file, readers wait for no writer. With ``sync="process"`` it is not
waited for the disk, so a commit outlives the process but not the machine; the file is never damaged by either.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ga_context.archive import fulltext
from ga_context.errors import ArchiveError

APPLICATION_ID = 0x67614378
"""Of our files, in their head: gaCx."""
VERSION = 1
WAIT_SECONDS = 5.0
"""How long a transaction waits for another process; after a failure none does, until one succeeds again."""

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


def scalar(db: sqlite3.Connection, statement: str, *values: Any) -> Any:
    """Return the first value of the first row, or None."""
    row = db.execute(statement, values).fetchone()
    return None if row is None else row[0]


def _head(db: sqlite3.Connection) -> tuple[object, object]:
    return scalar(db, "PRAGMA application_id"), scalar(db, "PRAGMA user_version")


@contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")


class SQLiteFile:
    """One connection, behind a lock; all that goes wrong with it is an ``ArchiveError``."""

    def __init__(self, path: Path, sync: str) -> None:
        self.path = path
        self.sync = sync
        self.lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._failed = False
        try:
            if not path.exists():
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        except OSError as error:
            raise self.error("opened", error) from error
        self._place = self._inode()
        with self.reading("opened"):
            pass

    def connect(self) -> sqlite3.Connection:
        """Open the file; one that is empty becomes an archive."""
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
            if scalar(db, "SELECT count(*) FROM sqlite_master"):
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

    def error(self, doing: str, error: sqlite3.Error | OSError) -> ArchiveError:
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
    def reading(self, doing: str = "read") -> Iterator[sqlite3.Connection]:
        """Yield the connection, to read."""
        with self.lock:
            try:
                yield self._connection or self.connect()
            except ArchiveError:
                raise
            except (sqlite3.Error, OSError) as error:
                raise self.error(doing, error) from error

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection in a transaction, which is committed at the end of the block."""
        with self.reading("written") as db:
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
