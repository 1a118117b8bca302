"""A store on a database server, through SQLAlchemy, for several workers. Tested with PostgreSQL.

Only what every database knows is used, but for the index of words, which is PostgreSQL's; with another database a
search looks through all texts of the session.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, TypeVar
from weakref import WeakSet, finalize

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from ga_context.archive import tables as t
from ga_context.archive.packing import Row, Stored
from ga_context.archive.words import Query
from ga_context.errors import ArchiveError

TRIES = 3
"""Of a transaction that met another one's, or a connection that the server had closed."""
WAIT_SECONDS = 5
"""For a connection, and for a lock."""
SEEN_SECONDS = 60.0
"""How exact the time is at which a session was alive."""
AT_ONCE = 500
"""Values in one statement."""

Result = TypeVar("Result")

_log = logging.getLogger(__name__)
_stores: WeakSet[ServerStore] = WeakSet()
"""Those of this process that a session still holds: its sessions share a few connections."""
_opening = threading.RLock()


def open_server(url: str, sync: Literal["process", "power"]) -> ServerStore:
    """Return the store on a server, its tables made if they are not there; one for all sessions of a process."""
    with _opening:
        for store in _stores:
            if (store.url, store.sync) == (url, sync):
                return store
        store = ServerStore(url, sync)
        _stores.add(store)
        return store


def _after_fork() -> None:
    """Leave the parent's connections alone."""
    for store in list(_stores):
        store.engine.dispose(close=False)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class ServerStore:
    """A pool of connections."""

    def __init__(self, url: str, sync: str) -> None:
        self.url = url
        self.sync = sync
        self._shown = "on a server"
        self._sessions: dict[str, tuple[int, float]] = {}
        try:
            self.engine = self._engine()
        except (SQLAlchemyError, ImportError, ValueError) as error:
            raise ArchiveError(
                f"`archive.url` {self._shown} cannot be used ({error}); give a URL like postgresql+psycopg://user@host/"
                "database, and install its driver, as in `pip install psycopg[binary]`"
            ) from error
        finalize(self, self.engine.dispose)
        self._reader = self.engine.execution_options(isolation_level="AUTOCOMMIT")
        self._words = self.engine.dialect.name == "postgresql"
        self._run("opened", self._make)

    def _engine(self) -> sa.Engine:
        url = sa.make_url(self.url)
        self._shown = url.render_as_string(hide_password=True)
        postgres = url.get_backend_name() == "postgresql"
        wait: dict[str, Any] = {"connect_timeout": WAIT_SECONDS} if postgres else {}
        engine = sa.create_engine(url, connect_args=wait, pool_timeout=WAIT_SECONDS)
        if postgres:
            sa.event.listen(engine, "connect", self._connected)
        return engine

    def _connected(self, connection: Any, _: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"SET lock_timeout = '{WAIT_SECONDS}s'")
            if self.sync == "power":
                cursor.execute("SET synchronous_commit = on")
        connection.commit()

    def _make(self, db: sa.Connection) -> None:
        t.METADATA.create_all(db, tables=[t.originals, t.sessions, t.uses])
        if self._words:
            t.METADATA.create_all(db, tables=[t.pieces])

    # -- transactions ---------------------------------------------------------------------------------------------

    def _run(self, doing: str, work: Callable[[sa.Connection], Result]) -> Result:
        """Do some work in one transaction; what only reads does without, at half the messages to the server."""
        with self._as_archive_error(doing):
            for left in reversed(range(TRIES)):
                try:
                    with self._reader.connect() if doing == "read" else self.engine.begin() as db:
                        return work(db)
                except DBAPIError as error:
                    if not left or not (isinstance(error, IntegrityError) or error.connection_invalidated):
                        raise
        raise AssertionError("the last try returns or raises")

    @contextmanager
    def _as_archive_error(self, doing: str) -> Iterator[None]:
        try:
            yield
        except (SQLAlchemyError, OSError) as error:
            if isinstance(error, ArchiveError):
                raise
            reason = str(getattr(error, "orig", None) or error).strip().split("\n")[0]
            raise ArchiveError(
                f"the archive {self._shown} cannot be {doing} ({reason}): see that the server runs and that this user "
                'may write there; or give another `archive.url`, or set `archive.on_error = "memory"` to go on without'
            ) from error

    # -- what a store does ----------------------------------------------------------------------------------------

    def save(self, name: str, rows: Sequence[Row], used: Iterable[str]) -> bool:
        """Keep rows, note that session ``name`` uses them and what stands under ``used``, and that it is alive.

        Returns:
            Whether the session was known; one that was pruned is not any more.
        """
        now = time.time()
        session, seen = self._sessions.get(name, (0, 0.0))
        fresh = 0 <= now - seen < SEEN_SECONDS
        marked = list(used)

        def work(db: sa.Connection) -> int:
            number = session if fresh else t.alive(db, name, now)
            stored = t.by_ref(db, [ref for ref, *_ in rows])
            _check(rows, stored)
            t.keep(db, number, [row for row in rows if row[0] not in stored])
            t.use(db, number, [one.id for one in [*stored.values(), *t.by_ref(db, marked).values()]])
            return number

        number = self._run("written", work)
        if not fresh:
            self._sessions[name] = (number, now)
        return session in (0, number)

    def digest(self, ref: str) -> bytes | None:
        """Return the sha256 of what stands under a reference."""
        found = self._run("read", lambda db: t.by_ref(db, [ref])).get(ref)
        return None if found is None else bytes(found.digest)

    def load(self, ref: str) -> tuple[object, object, object] | None:
        """Return (sha256, kind, body) of a row."""
        rows = self._run("read", lambda db: t.stored(db, t.originals.c.ref == ref))
        return rows[0][1:] if rows else None

    def forget(self, name: str, ref: str) -> int:
        """Remove what stands under a reference; with "all" what session ``name`` alone uses. Return how many."""

        def work(db: sa.Connection) -> int:
            if ref != "all":
                return t.delete(db, [one.id for one in t.by_ref(db, [ref]).values()], self._words)
            session = t.number(db, name)
            return 0 if session is None else t.leave(db, session, self._words)

        return self._run("written", work)

    def prune(self, max_age_days: float | None, max_bytes: int | None, live_hours: float) -> int:
        """Remove what only sessions use that were not alive for long; return how many."""
        now = time.time()
        live = now - live_hours * 3_600
        count = 0
        if max_age_days is not None:
            old = min(live, now - max_age_days * 86_400)
            while (ended := self._run("written", lambda db: t.end_oldest(db, old, self._words))) is not None:
                count += ended
        while max_bytes is not None and self._run("read", t.total_bytes) > max_bytes:
            ended = self._run("written", lambda db: t.end_oldest(db, live, self._words))
            if ended is None:
                break
            count += ended
        return count

    def candidates(self, name: str, query: Query, new: Iterable[str] | None) -> tuple[list[Stored], int | None]:
        """Return those of a session's originals that may hold what is looked for, and of how many texts.

        ``new`` are those that came in since the last time; None: there was none.
        """
        session = self._run("read", lambda db: t.number(db, name))
        if session is None:
            return [], 0
        if not self._words:
            return self._run("read", lambda db: t.everything(db, session)), None
        refs = None if new is None else list(new)
        try:
            waiting = self._run("read", lambda db: t.unindexed(db, session, refs))
            for start in range(0, len(waiting), AT_ONCE):
                some = waiting[start : start + AT_ONCE]
                self._run("written", lambda db, some=some: t.extend(db, some))  # type: ignore[misc]
        except ArchiveError as error:  # the server may be read-only: look through all
            _log.warning("a search goes without its index: %s", type(error.__cause__ or error).__name__)
            return self._run("read", lambda db: t.everything(db, session)), None
        return self._run("read", lambda db: t.candidates(db, session, query))


def _check(rows: Sequence[Row], stored: dict[str, Any]) -> None:
    """Refuse to commit what is not there afterwards."""
    for ref, digest, *_ in rows:
        if ref in stored and bytes(stored[ref].digest) != digest:
            raise ArchiveError(
                f"another process archived something else under {ref} at this moment; begin a new session, which gives "
                "a longer reference"
            )
