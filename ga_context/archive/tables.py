"""The tables of a store on a server, and what is asked of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import TSVECTOR

from ga_context.archive.packing import BYTES, Row, Stored, unpacked
from ga_context.archive.words import Query
from ga_context.archive.words import pieces as tokens_of
from ga_context.errors import ArchiveError

METADATA = sa.MetaData()
NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
BODY = sa.LargeBinary(2**32 - 1)
FIELDS = ("ref", "digest", "kind", "body")

originals = sa.Table(
    "ga_originals",
    METADATA,
    sa.Column("id", NUMBER, primary_key=True),
    sa.Column("ref", sa.String(64), nullable=False, unique=True),
    sa.Column("digest", sa.LargeBinary(32), nullable=False),
    sa.Column("kind", sa.SmallInteger, nullable=False),
    sa.Column("body", BODY, nullable=False),
)
sessions = sa.Table(
    "ga_sessions",
    METADATA,
    sa.Column("id", NUMBER, primary_key=True),
    sa.Column("name", sa.String(64), nullable=False, unique=True),
    sa.Column("seen", sa.Double, nullable=False),
    sqlite_autoincrement=True,
)
uses = sa.Table(
    "ga_uses",
    METADATA,
    sa.Column("session", sa.ForeignKey(sessions.c.id), primary_key=True),
    sa.Column("original", sa.ForeignKey(originals.c.id), primary_key=True, index=True),
)
pieces = sa.Table(
    "ga_pieces",
    METADATA,
    sa.Column("original", sa.ForeignKey(originals.c.id), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("words", TSVECTOR, nullable=False),
    sa.Index("ga_pieces_words", "words", postgresql_using="gin"),
)

CANDIDATES = 200
"""Texts that are looked at again in full, at most: those with the most of the words, and as many for each word."""
AT_ONCE = 500
"""Values in one statement."""
WORD_CHARS = 400
"""Of a word in the index; PostgreSQL takes 2,046 bytes."""

_VECTOR = sa.func.array_to_tsvector(sa.cast(sa.bindparam("tokens"), sa.ARRAY(sa.Text)))
_INDEX = sa.insert(pieces).values(original=sa.bindparam("id"), number=sa.bindparam("place"), words=_VECTOR)


def _some(values: Iterable[Any]) -> Iterable[list[Any]]:
    every = list(dict.fromkeys(values))
    return [every[start : start + AT_ONCE] for start in range(0, len(every), AT_ONCE)]


def by_ref(db: sa.Connection, refs: Iterable[str]) -> dict[str, Any]:
    """Return (id, ref, digest) of what stands under references."""
    found: dict[str, Any] = {}
    for some in _some(refs):
        asked = sa.select(originals.c.id, originals.c.ref, originals.c.digest).where(originals.c.ref.in_(some))
        found |= {row.ref: row for row in db.execute(asked)}
    return found


def stored(db: sa.Connection, which: sa.ColumnElement[bool]) -> list[Stored]:
    """Return rows of originals; drivers have bytes of several types."""
    rows = db.execute(sa.select(*[originals.c[name] for name in FIELDS]).where(which))
    return [(row.ref, bytes(row.digest), row.kind, bytes(row.body)) for row in rows]


def keep(db: sa.Connection, session: int, rows: Sequence[Row]) -> None:
    """Put in originals that are not there, for a session."""
    if not rows:
        return
    new = [dict(zip(FIELDS, row, strict=True)) for row in rows]
    if db.dialect.insert_executemany_returning:
        numbers = list(db.scalars(sa.insert(originals).returning(originals.c.id), new))
    else:
        db.execute(sa.insert(originals), new)
        numbers = [one.id for one in by_ref(db, [ref for ref, *_ in rows]).values()]
    db.execute(sa.insert(uses), [{"session": session, "original": one} for one in numbers])


def number(db: sa.Connection, name: str) -> int | None:
    """Return the number of a session."""
    found: int | None = db.scalar(sa.select(sessions.c.id).where(sessions.c.name == name))
    return found


def alive(db: sa.Connection, name: str, now: float) -> int:
    """Note that a session is alive, and return its number."""
    done = db.execute(sa.update(sessions).where(sessions.c.name == name).values(seen=now))
    if not done.rowcount:
        db.execute(sa.insert(sessions).values(name=name, seen=now))
    found = number(db, name)
    assert found is not None
    return found


def use(db: sa.Connection, session: int, numbers: Iterable[int]) -> None:
    """Note that a session uses originals."""
    for some in _some(numbers):
        asked = sa.select(uses.c.original).where(uses.c.session == session, uses.c.original.in_(some))
        known = set(db.scalars(asked))
        if new := [{"session": session, "original": one} for one in some if one not in known]:
            db.execute(sa.insert(uses), new)


def delete(db: sa.Connection, numbers: Sequence[int], words: bool) -> int:
    """Remove originals, and what the index and the sessions know of them."""
    for some in _some(numbers):
        if words:
            db.execute(sa.delete(pieces).where(pieces.c.original.in_(some)))
        db.execute(sa.delete(uses).where(uses.c.original.in_(some)))
        db.execute(sa.delete(originals).where(originals.c.id.in_(some)))
    return len(numbers)


def leave(db: sa.Connection, session: int, words: bool) -> int:
    """Remove what a session alone used."""
    other = uses.alias()
    shared = sa.exists().where(other.c.original == uses.c.original, other.c.session != session)
    alone = list(db.scalars(sa.select(uses.c.original).where(uses.c.session == session, ~shared)))
    db.execute(sa.delete(uses).where(uses.c.session == session))
    return delete(db, alone, words)


def end_oldest(db: sa.Connection, before: float, words: bool) -> int | None:
    """Remove the session that was alive longest ago, before a time, with what it alone used; None: there is none."""
    asked = sa.select(sessions.c.id).where(sessions.c.seen < before).order_by(sessions.c.seen, sessions.c.id).limit(1)
    session = db.scalar(asked.with_for_update())
    if session is None:
        return None
    count = leave(db, session, words)
    db.execute(sa.delete(sessions).where(sessions.c.id == session))
    return count


def total_bytes(db: sa.Connection) -> int:
    """Return the bytes of all originals as they are kept."""
    return int(db.scalar(sa.select(sa.func.sum(sa.func.length(originals.c.body)))) or 0)


# -- words


def everything(db: sa.Connection, session: int) -> list[Stored]:
    """Return all that a session uses."""
    return stored(db, originals.c.id.in_(sa.select(uses.c.original).where(uses.c.session == session)))


def unindexed(db: sa.Connection, session: int, refs: list[str] | None) -> list[int]:
    """Return what the index does not hold yet of a session, or of some references."""
    if refs is not None:
        return [one.id for one in by_ref(db, refs).values()]
    held = sa.exists().where(pieces.c.original == uses.c.original)
    return list(db.scalars(sa.select(uses.c.original).where(uses.c.session == session, ~held)))


def extend(db: sa.Connection, numbers: Sequence[int]) -> None:
    """Index originals, but for those that another process has indexed or removed meanwhile."""
    held = sa.exists().where(pieces.c.original == originals.c.id)
    rows = db.execute(sa.select(originals).where(originals.c.id.in_(numbers), ~held)).all()
    new = [{"id": row.id, "place": at, "tokens": some} for row in rows for at, some in enumerate(_tokens(row))]
    if new:
        db.execute(_INDEX, new)


def _tokens(row: Any) -> list[list[str]]:
    """Return the words of each piece of an original: one, and none, of what is no text or cannot be read."""
    if row.kind & BYTES:
        return [[]]
    try:
        text = unpacked(row.ref, bytes(row.digest), row.kind, bytes(row.body))
    except ArchiveError:
        return [[]]
    return [sorted({token[:WORD_CHARS] for token in piece.split()}) for piece in tokens_of(str(text))]


def candidates(db: sa.Connection, session: int, query: Query) -> tuple[list[Stored], int | None]:
    """Return the originals that hold any of the words, the likeliest, and of how many texts if these are all."""
    asked = [f"'{token[:WORD_CHARS]}'{':*' if longer else ''}" for token, longer in query.index_terms()]
    found: dict[int, None] = {}
    whole = True
    for words in dict.fromkeys([" | ".join(asked), *asked]):
        vector = sa.cast(words, sa.dialects.postgresql.TSQUERY)
        matching = (
            sa.select(pieces.c.original)
            .join(uses, uses.c.original == pieces.c.original)
            .where(uses.c.session == session, pieces.c.words.op("@@")(vector))
            .order_by(sa.func.ts_rank(pieces.c.words, vector).desc(), pieces.c.original)
            .limit(CANDIDATES)
        )
        numbers = list(db.scalars(matching))
        found |= dict.fromkeys(numbers)
        whole &= len(numbers) < CANDIDATES
        if whole:
            break  # the first asks for all words together
    texts = sa.select(sa.func.count()).select_from(uses).join(originals, originals.c.id == uses.c.original)
    texts = texts.where(uses.c.session == session, originals.c.kind < BYTES)
    rows = [row for some in _some(found) for row in stored(db, originals.c.id.in_(some))]
    return rows, db.scalar(texts) if whole else None
