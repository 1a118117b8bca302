"""Originals in, recall out: everything that was cut, by the digest of its content."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ga_context.archive.base import Archive, Found
from ga_context.archive.memory import MemoryArchive
from ga_context.errors import ArchiveError
from ga_context.sections import ArchiveConfig

if TYPE_CHECKING:
    from ga_context.archive.durable import Store

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
    if config.url in (None, "memory"):
        return MemoryArchive(redact=config.redactions)
    from ga_context.archive.durable import DurableArchive  # what a session in memory has no use for

    return DurableArchive(_store(config), config, name)


def _store(config: ArchiveConfig) -> Store:
    from ga_context.archive.place import file_of

    file = file_of(config.url or "")
    if file is not None:
        from ga_context.archive.sqlite import open_sqlite

        return open_sqlite(file, config.sync)
    try:
        from ga_context.archive.server import open_server
    except ImportError as error:
        raise ArchiveError("a server as `archive.url` needs SQLAlchemy: pip install 'ga_context[archive]'") from error
    return open_server(config.url or "", config.sync)
