"""Where an archive is: what `archive.url` stands for."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from ga_context.errors import ConfigError

FILE = "archive.sqlite3"
"""Name of the file in the user's data folder."""

_URL = re.compile(r"[a-z][a-z0-9+.]*://")


def file_of(url: str) -> Path | None:
    """Return the SQLite file that `archive.url` stands for, or None where it is the URL of a server."""
    if url == "sqlite":
        return data_folder() / FILE
    if not _URL.match(url):
        return Path(url).expanduser()
    if not url.startswith("sqlite:"):
        return None
    path = url.removeprefix("sqlite:///")
    if path in ("", ":memory:") or path == url or "?" in path:
        raise ConfigError(
            "`archive.url` as a URL of SQLite is `sqlite:///folder/file`, without options; for memory it is "
            f'"memory"; got {url!r}'
        )
    return Path(path)


def data_folder() -> Path:
    """Return the folder of this library in the user's data, as the platform has it; nothing is made yet."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "ga_context"
