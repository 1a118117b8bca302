"""A dump read where and when it was not written: another process, another Python, a later version of the layout."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from histories import wire_text
from sessions_v1 import CONFIG, FORMATS, TURNS, history

from ga_context import ConfigError, ContextSession

TESTS = Path(__file__).resolve().parent
RECORDED = json.loads((TESTS / "dumps_v1.json").read_text("utf-8"))

RESUMED = """
import hashlib, json, sys
sys.path[:0] = {paths!r}
from ga_context import ContextSession
given = json.load(sys.stdin)
session = ContextSession.load(given["dump"])
for end in given["ends"]:
    text = json.dumps(session.prepare(given["raw"][:end]), ensure_ascii=False)
    print(hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest())
"""


def hashed(view: list[dict[str, Any]]) -> str:
    return hashlib.sha256(wire_text(view, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest()


def resumed(python: str, format: str, paths: list[str]) -> tuple[list[str], list[str]]:
    """Return the digests of the next fifty views, here and in another interpreter that only got the dump."""
    raw, ends = history(format, 110)
    session = ContextSession(CONFIG, format=format)
    for end in ends[:20]:
        session.prepare(raw[:end])
    given = {"dump": session.dump(archive=False), "raw": raw, "ends": ends[20:70]}
    done = subprocess.run(
        [python, "-c", RESUMED.format(paths=paths)],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONHASHSEED": "4711"},
    )
    assert done.returncode == 0, done.stderr
    here = [hashed(session.prepare(raw[:end])) for end in ends[20:70]]
    assert len(here) == 50
    return here, done.stdout.split()


@pytest.mark.parametrize("format", ["anthropic", "openai-chat", "openai-responses", "gemini", "text"])
def test_another_process_gives_the_same_bytes_for_fifty_turns(format: str) -> None:
    """It has the dump and the list as JSON, and another hash seed."""
    here, there = resumed(sys.executable, format, [str(TESTS.parent)])
    assert there == here


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13", "3.14"])
def test_another_python_gives_the_same_bytes(version: str, tmp_path: Path) -> None:
    """Where another minor version with the dependencies is installed; skipped elsewhere."""
    python = shutil.which(f"python{version}")
    if python is None or version == f"{sys.version_info.major}.{sys.version_info.minor}":
        pytest.skip("no other interpreter of this version")
    probe = "import bs4, pydantic, regex"
    if subprocess.run([python, "-c", probe], capture_output=True, check=False).returncode != 0:
        pytest.skip("the dependencies are not installed for it")
    here, there = resumed(python, "anthropic", [str(TESTS.parent)])
    assert there == here


@pytest.mark.parametrize("format", FORMATS)
def test_a_dump_of_version_1(format: str) -> None:
    """It goes on as the library that wrote it did, and can be rolled back to before the dump."""
    raw, ends = history(format)
    recorded = RECORDED[format]
    assert recorded["dump"]["version"] == 1
    session = ContextSession.load(json.dumps(recorded["dump"]))
    views = [session.prepare(raw[:end]) for end in ends[TURNS:]]
    assert [hashlib.sha256(wire_text(view).encode()).hexdigest()[:16] for view in views] == recorded["then"]
    straight = ContextSession(CONFIG, format=format)
    seen = [wire_text(straight.prepare(raw[:end])) for end in ends]
    back = ContextSession.load(json.dumps(recorded["dump"]))
    assert [wire_text(back.prepare(raw[:end])) for end in ends[TURNS - 4 :]] == seen[TURNS - 4 :]


@pytest.mark.parametrize("format", FORMATS)
def test_a_dump_of_version_1_becomes_one_of_this_version(format: str) -> None:
    """Loaded and dumped again, it goes on the same."""
    raw, ends = history(format)
    again = ContextSession.load(json.dumps(RECORDED[format]["dump"])).dump()
    assert json.loads(again)["version"] == 2
    session = ContextSession.load(again)
    views = [session.prepare(raw[:end]) for end in ends[TURNS:]]
    assert [hashlib.sha256(wire_text(view).encode()).hexdigest()[:16] for view in views] == RECORDED[format]["then"]


@pytest.mark.parametrize("key", ["pool", "rows", "snapshots", "raw", "calls", "pairs"])
def test_a_damaged_dump_of_version_1(key: str) -> None:
    """Refused, too."""
    damaged = {name: value for name, value in RECORDED["anthropic"]["dump"].items() if name != key}
    with pytest.raises(ConfigError, match="damaged"):
        ContextSession.load(json.dumps(damaged))
