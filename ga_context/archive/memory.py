"""The archive of a session that was not told of another: in memory, and in its dump."""

from __future__ import annotations

from ga_context.archive.base import REF_DIGITS, Addressed, Found, Original, Redactions
from ga_context.archive.words import Query, ranked
from ga_context.errors import UnknownReference

__all__ = ["REF_DIGITS", "MemoryArchive"]


class MemoryArchive(Addressed):
    """Originals of one process, deduplicated by content.

    Args:
        entries: originals by reference, kept as the archive's own.
        redact: what is looked for in texts before they are kept, and what replaces it.
    """

    name = ""

    def __init__(self, entries: dict[str, Original] | None = None, *, redact: Redactions = ()) -> None:
        super().__init__(redact)
        self.entries: dict[str, Original] = entries if entries is not None else {}

    def _taken(self, ref: str, digest: str, kept: Original) -> bool:
        return self.entries.get(ref, kept) != kept

    def put(self, original: Original) -> str:
        """Keep ``original`` and return its reference."""
        _, ref, kept, _ = self._entry(original)
        self.entries[ref] = kept
        return ref

    def commit(self) -> None:
        """Do nothing: memory is as durable as the process."""

    def recall(self, ref: str) -> Original:
        """Return the original under ``ref``, or raise ``UnknownReference``."""
        if ref not in self:
            raise UnknownReference(ref)
        return self.entries[ref]

    def __contains__(self, ref: object) -> bool:
        return isinstance(ref, str) and ref in self.entries  # a model may ask for anything

    def search(self, words: str, limit: int = 20) -> list[Found]:
        """Return the best places in the texts for some words, the best first; every text is looked through."""
        texts = [(ref, text) for ref, text in list(self.entries.items()) if isinstance(text, str)]
        return ranked(Query(words), texts, limit)

    def forget(self, ref: str) -> int:
        """Remove the original under ``ref``, or all with ``"all"``; return how many."""
        gone = list(self.entries) if ref == "all" else [ref] if ref in self else []
        for one in gone:
            del self.entries[one]
        self._asked = {}
        return len(gone)
