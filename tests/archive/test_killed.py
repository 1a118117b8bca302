"""A process is killed in the middle of its turns: what it ever showed can be had back."""

import json
import random
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from archive import writer
from hypothesis import settings

from ga_context.archive import open_archive
from ga_context.config import ArchiveConfig

KILLS = 50 if settings().max_examples > 1_000 else 5
"""50 with the profile of `.ci/full`."""
REF = re.compile(r"ref ([0-9a-f]{16,64})")


def killed(archive: Path, views: Path, seed: int) -> list[dict[str, Any]]:
    """Start a writer, kill it at some moment, and return what it had written down."""
    command = [sys.executable, writer.__file__, archive, views, str(seed)]
    rng = random.Random(seed)
    lines = rng.randrange(1, writer.TURNS)
    with subprocess.Popen([str(part) for part in command]) as process:
        while process.poll() is None and (not views.exists() or views.read_bytes().count(b"\n") < lines):
            time.sleep(0.002)
        time.sleep(rng.random() * 0.005)
        process.kill()
    written = views.read_text("utf-8").split("\n")[:-1]
    assert len(written) >= lines
    return [json.loads(line) for line in written]


def test_every_reference_of_every_view_resolves(tmp_path: Path) -> None:
    """Byte for byte what a session in memory has under it; all the processes write one file, one after the other."""
    file = tmp_path / "archive.sqlite3"
    for seed in range(KILLS):
        written = killed(file, tmp_path / f"views{seed}", seed)
        archive = open_archive(ArchiveConfig(url=str(file)))
        refs = 0
        for line, (session, view) in zip(written, writer.play(seed), strict=False):
            assert line["view"] == view
            for ref in {*line["refs"], *REF.findall(json.dumps(line["view"]))}:
                assert archive.recall(ref) == session.recall(ref)
                refs += 1
        assert refs >= len(written) // 2


def test_two_processes_write_at_once(tmp_path: Path) -> None:
    """Different sessions into one new file, which both make; each has all of its own."""
    file = tmp_path / "archive.sqlite3"
    views = [tmp_path / f"views{seed}" for seed in (1, 2)]
    command = [sys.executable, writer.__file__, str(file)]
    processes = [subprocess.Popen([*command, str(path), str(seed)]) for seed, path in zip((1, 2), views, strict=True)]
    assert [process.wait(timeout=60) for process in processes] == [0, 0]
    archive = open_archive(ArchiveConfig(url=str(file)))
    for path in views:
        lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        assert len(lines) == writer.TURNS
        assert all(ref in archive for line in lines for ref in line["refs"])
