"""Words of a SQLite archive: an index in FTS5 that a search brings up to date, so that no turn pays for it.

The index holds tokens of our own making (pairs of characters where words have no spaces), for pieces of each text,
and no text itself. Since it must be told what to take out, tokens may only change with the layout of the file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from ga_context.archive.packing import BYTES, Stored, unpacked
from ga_context.archive.words import Query, pieces
from ga_context.errors import ArchiveError

SCHEMA = """
CREATE TABLE pieces (id INTEGER PRIMARY KEY, original INTEGER NOT NULL);
CREATE INDEX pieces_of ON pieces (original);
CREATE VIRTUAL TABLE words USING fts5 (tokens, content = '', tokenize = "unicode61 remove_diacritics 0");
"""

CANDIDATES = 200
"""Pieces that are looked at again in full, at most."""
AT_ONCE = 200
"""Originals that are indexed in one transaction, so that others can write between."""

_UNINDEXED = """
SELECT original FROM uses WHERE session = ? AND NOT EXISTS (SELECT 1 FROM pieces p WHERE p.original = uses.original)
"""
_ROW = """
SELECT ref, digest, kind, body FROM originals WHERE id = ? AND NOT EXISTS (SELECT 1 FROM pieces WHERE original = ?)
"""
_MATCH = """
SELECT p.original FROM words JOIN pieces p ON p.id = words.rowid
JOIN uses u ON u.original = p.original AND u.session = ?
WHERE words MATCH ? ORDER BY rank, p.original LIMIT ?
"""
_ORIGINALS = "SELECT o.ref, o.digest, o.kind, o.body FROM originals o"
_ORIGINAL = f"{_ORIGINALS} WHERE o.id = ?"
_TEXTS = "SELECT count(*) FROM uses u JOIN originals o ON o.id = u.original WHERE u.session = ? AND o.kind & ? = 0"


def unindexed(db: sqlite3.Connection, session: int) -> list[int]:
    """Return what the index does not hold yet of a session."""
    return [one for (one,) in db.execute(_UNINDEXED, (session,))]


def extend(db: sqlite3.Connection, originals: Sequence[int]) -> None:
    """Index originals, but for those that another process has indexed or removed meanwhile."""
    for original in originals:
        row = db.execute(_ROW, (original, original)).fetchone()
        for tokens in () if row is None else _pieces(*row):
            piece = db.execute("INSERT INTO pieces (original) VALUES (?)", (original,)).lastrowid
            db.execute("INSERT INTO words (rowid, tokens) VALUES (?, ?)", (piece, tokens))


def _pieces(ref: str, digest: object, kind: object, body: object) -> list[str]:
    """Return the tokens of each piece of an original: one, and empty, of what is no text or cannot be read."""
    if isinstance(kind, int) and kind & BYTES:
        return [""]
    try:
        original = unpacked(ref, digest, kind, body)
    except ArchiveError:
        return [""]
    return pieces(original) if isinstance(original, str) else [""]


def remove(db: sqlite3.Connection, original: int) -> None:
    """Take an original out of the index, which must be told what it holds of it."""
    held = [one for (one,) in db.execute("SELECT id FROM pieces WHERE original = ? ORDER BY id", (original,))]
    if not held:
        return
    rows = db.execute(_ORIGINAL, (original,)).fetchall()
    known = [tokens for row in rows for tokens in _pieces(*row)]
    for piece, tokens in zip(held, known, strict=False):
        db.execute("INSERT INTO words (words, rowid, tokens) VALUES ('delete', ?, ?)", (piece, tokens))
    db.execute("DELETE FROM pieces WHERE original = ?", (original,))


def overwrite(db: sqlite3.Connection) -> None:
    """Write the index anew, so that it no longer holds what was taken out."""
    db.execute("INSERT INTO words (words) VALUES ('optimize')")


def candidates(db: sqlite3.Connection, session: int, query: Query) -> tuple[list[Stored], int | None]:
    """Return the originals that hold any of the words, the likeliest, and of how many texts if these are all."""
    asked = " OR ".join([f'"{token}"{" *" if longer else ""}' for token, longer in query.index_terms()])
    found = db.execute(_MATCH, (session, asked, CANDIDATES)).fetchall()
    rows = [row for one in dict.fromkeys(found) for row in db.execute(_ORIGINAL, one)]
    total = db.execute(_TEXTS, (session, BYTES)).fetchone()[0] if len(found) < CANDIDATES else None
    return rows, total


def everything(db: sqlite3.Connection, session: int) -> list[Stored]:
    """Return all that a session uses."""
    return db.execute(f"{_ORIGINALS} JOIN uses u ON u.original = o.id WHERE u.session = ?", (session,)).fetchall()
