"""Originals in, recall out: everything that was cut, by the digest of its content."""

from __future__ import annotations

from hashlib import sha256

from ga_context.errors import UnknownReference

REF_DIGITS = 16
"""Hexadecimal digits of a reference; longer only where two originals share them (spec 7)."""


class MemoryArchive:
    """Originals of one process, deduplicated by content."""

    def __init__(self, entries: dict[str, str | bytes] | None = None) -> None:
        self.entries: dict[str, str | bytes] = entries if entries is not None else {}

    def ref(self, original: str | bytes) -> str:
        """Return the reference that ``original`` has or will have."""
        data = original.encode("utf-8", "surrogatepass") if isinstance(original, str) else original
        digest = sha256(data).hexdigest()
        digits = REF_DIGITS
        while self.entries.get(digest[:digits], original) != original:
            digits += 8
        return digest[:digits]

    def put(self, original: str | bytes) -> str:
        """Keep ``original`` and return its reference."""
        ref = self.ref(original)
        self.entries[ref] = original
        return ref

    def recall(self, ref: str) -> str | bytes:
        """Return the original under ``ref``, or raise ``UnknownReference``."""
        if ref not in self.entries:
            raise UnknownReference(ref)
        return self.entries[ref]
