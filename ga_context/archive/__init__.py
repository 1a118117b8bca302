"""Originals in, recall out: everything that was cut, by the digest of its content."""

from __future__ import annotations

from ga_context.archive.base import Archive, Found
from ga_context.archive.memory import MemoryArchive
from ga_context.sections import ArchiveConfig

__all__ = ["Archive", "Found", "MemoryArchive", "open_archive"]


def open_archive(config: ArchiveConfig | None = None, name: str | None = None) -> Archive:
    """Return the archive that a configuration asks for.

    Args:
        config: section ``archive``; None for the defaults, in memory.
        name: the ``name`` of an archive that is to be continued, from a dump; None for a session of its own.

    Raises:
        ArchiveError: it cannot be opened.
    """
    config = config or ArchiveConfig()
    return MemoryArchive(redact=config.redactions)
