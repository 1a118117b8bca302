"""An original as the bytes of a row, and back; nothing comes out that is not what went in."""

from __future__ import annotations

import re
import zlib
from hashlib import sha256

from ga_context.archive.base import Original, data_of
from ga_context.errors import ArchiveError

COMPRESSED_ABOVE_BYTES = 4_096
"""Issue 6: compressed above 4 kB."""
LEVEL = 1
"""Of zlib: the fastest, since it runs in the loop's turn; text shrinks to about a third all the same."""

COMPRESSED, BYTES = 1, 2
"""Bits of a row's kind: its body is compressed; the original is bytes and not a text."""

Row = tuple[str, bytes, int, bytes]
"""(reference, sha256, kind, body)."""
Stored = tuple[str, object, object, object]
"""A row as a database returns it: a damaged one may hold anything."""

_REF = re.compile(r"[0-9a-f]{16,64}")


def packed(ref: str, digest: str, original: Original) -> Row:
    """Return the row that keeps an original."""
    data = data_of(original)
    kind = 0 if isinstance(original, str) else BYTES
    if len(data) > COMPRESSED_ABOVE_BYTES:
        smaller = zlib.compress(data, LEVEL)
        if len(smaller) < len(data):
            return ref, bytes.fromhex(digest), kind | COMPRESSED, smaller
    return ref, bytes.fromhex(digest), kind, data


def unpacked(ref: str, digest: object, kind: object, body: object) -> Original:
    """Return the original in a row, or raise ``ArchiveError`` where it is not what its reference says."""
    if isinstance(digest, bytes) and isinstance(kind, int) and isinstance(body, bytes):
        try:
            data = zlib.decompress(body) if kind & COMPRESSED else body
            if sha256(data).digest() == digest and digest.hex().startswith(ref):
                return data if kind & BYTES else data.decode("utf-8", "surrogatepass")
        except (zlib.error, UnicodeDecodeError, MemoryError):
            pass  # said below, as of any other damage
    raise ArchiveError(
        f"what the archive holds under {ref} is damaged, its digest is another; restore the archive from a copy, or "
        f"remove the entry with `session.forget({ref!r})`"
    )


def is_ref(ref: object) -> bool:
    """Return whether this can be a reference at all; what else is asked for never reaches a database."""
    return isinstance(ref, str) and _REF.fullmatch(ref) is not None
