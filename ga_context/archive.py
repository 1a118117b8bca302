"""Originals in, recall out: everything that was cut, by the digest of its content."""

from __future__ import annotations

from hashlib import sha256

from ga_context.errors import UnknownReference

REF_DIGITS = 16
"""Hexadecimal digits of a reference; longer only where two originals share them (spec 7)."""

ASKED_MOST = 64
"""References remembered between the proposal of a cut and its archiving."""


class MemoryArchive:
    """Originals of one process, deduplicated by content."""

    def __init__(self, entries: dict[str, str | bytes] | None = None) -> None:
        self.entries: dict[str, str | bytes] = entries if entries is not None else {}
        self._asked: dict[int, tuple[str | bytes, str]] = {}

    def ref(self, original: str | bytes) -> str:
        """Return the reference that ``original`` has or will have; a stage asks for it, ``put`` asks again."""
        asked = self._asked.get(id(original))
        if asked is None or asked[0] is not original:
            if len(self._asked) >= ASKED_MOST:
                self._asked.clear()
            asked = self._asked[id(original)] = (original, self._digits(original))
        return asked[1]

    def _digits(self, original: str | bytes) -> str:
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
