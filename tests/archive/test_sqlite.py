"""The archive in a file."""

from pathlib import Path

import pytest
from contract import Contract

from ga_context.config import ArchiveConfig


class TestSQLite(Contract):
    """What each archive does."""

    @pytest.fixture
    def config(self, tmp_path: Path) -> ArchiveConfig:
        return ArchiveConfig(url=str(tmp_path / "archive.sqlite3"))

    def fresh(self, folders: pytest.TempPathFactory) -> ArchiveConfig:
        return ArchiveConfig(url=str(folders.mktemp("archive") / "archive.sqlite3"))
