"""What goes wrong with a file: a clear error and no view that lies; with `on_error = "memory"` the loop goes on."""

import multiprocessing
import os
import random
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ga_context import ArchiveError, ContextSession, UnknownReference
from ga_context.archive import Archive, open_archive
from ga_context.archive import file as archive_file
from ga_context.config import ArchiveConfig

NOBODY = 65_534
Break = Callable[[ContextSession, Path], Any]


def turn(number: int) -> list[dict[str, Any]]:
    call = {"id": f"call_{number}", "type": "function", "function": {"name": "code_run", "arguments": "{}"}}
    text = f"output {number}\n{random.Random(number).randbytes(20_000).hex()}"  # nothing that compresses
    return [{"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": call["id"], "content": text}]


def connection(session: ContextSession) -> sqlite3.Connection:
    return session._state.archive._store._connection  # type: ignore[attr-defined]


@contextmanager
def full(session: ContextSession, file: Path) -> Iterator[None]:
    """No page more than there are."""
    connection(session).execute("PRAGMA max_page_count = 1")
    yield
    connection(session).execute("PRAGMA max_page_count = 1000000")


@contextmanager
def locked(session: ContextSession, file: Path) -> Iterator[None]:
    """Another process is in the middle of a long transaction."""
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    yield
    other.execute("ROLLBACK")
    other.close()


@contextmanager
def read_only(session: ContextSession, file: Path) -> Iterator[None]:
    """As SQLite says it of a connection; of a file see below."""
    connection(session).execute("PRAGMA query_only = ON")
    yield
    connection(session).execute("PRAGMA query_only = OFF")


@contextmanager
def moved(session: ContextSession, file: Path) -> Iterator[None]:
    """What is written there now would be lost."""
    away = file.with_name("away")
    file.rename(away)
    yield
    away.rename(file)


TROUBLES = [
    (full, r"cannot be written \(database or disk is full\): the disk is full: make room; or give another"),
    (locked, r"cannot be written \(database is locked\): another process holds it: end that one, or wait; or"),
    (read_only, r"cannot be written \(attempt to write a readonly database\): it is read-only: let this user write"),
    (moved, r"was moved or removed while it was open; put it back, or begin a new session"),
]


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive_file, "WAIT_SECONDS", 0.05)


@pytest.mark.parametrize(("trouble", "sentence"), TROUBLES, ids=[trouble.__name__ for trouble, _ in TROUBLES])
def test_prepare_raises_and_tries_again(tmp_path: Path, trouble: Break, sentence: str) -> None:
    """The error has the view, whose references resolve in this process; the next call makes them durable."""
    file = tmp_path / "archive.sqlite3"
    session = ContextSession({"archive": {"url": str(file)}}, format="openai-chat")
    messages = [{"role": "user", "content": "hi"}, *turn(1)]
    session.prepare(messages)
    messages += turn(2)
    with trouble(session, file):
        for _ in range(2):
            with pytest.raises(ArchiveError, match=sentence) as caught:
                session.prepare(messages)
        ref = caught.value.report.actions[0].ref
        assert ref in str(caught.value.view)
        assert session.recall(ref) == messages[-1]["content"]
    assert session.prepare(messages) == caught.value.view
    assert open_archive(ArchiveConfig(url=str(file))).recall(ref) == messages[-1]["content"]


@pytest.mark.parametrize("trouble", [trouble for trouble, _ in TROUBLES])
def test_in_memory_the_loop_goes_on(tmp_path: Path, trouble: Break) -> None:
    """The reports say so, the view is as ever, recall works; when the trouble is over all is made durable."""
    file = tmp_path / "archive.sqlite3"
    session = ContextSession({"archive": {"url": str(file), "on_error": "memory"}}, format="openai-chat")
    plain = ContextSession(format="openai-chat")
    messages = [{"role": "user", "content": "hi"}]
    refs = []
    with trouble(session, file):
        for number in range(4):
            messages += turn(number)
            assert session.prepare(messages) == plain.prepare(messages)
            assert str(file) in session.report.archive_error
            assert "originals in memory only" in str(session.report)
            refs += [action.ref for action in session.report.actions if action.ref]
        assert all(session.recall(ref) == plain.recall(ref) for ref in refs)
        assert "output" in session.tool_output("code_run", "output\n" * 9_000)
    messages += turn(5)
    session.prepare(messages)
    assert session.report.archive_error is None
    archive = open_archive(ArchiveConfig(url=str(file)))
    assert all(archive.recall(ref) == plain.recall(ref) for ref in refs)


def test_tool_output_shows_no_reference_that_is_not_durable(tmp_path: Path) -> None:
    file = tmp_path / "archive.sqlite3"
    session = ContextSession({"archive": {"url": str(file)}})
    with full(session, file), pytest.raises(ArchiveError, match="the disk is full"):
        session.tool_output("code_run", turn(1)[1]["content"])


def test_a_search_without_its_index(tmp_path: Path) -> None:
    """Where the index cannot be written all texts are looked through."""
    file = tmp_path / "archive.sqlite3"
    session = ContextSession({"archive": {"url": str(file)}})
    session.tool_output("code_run", "x\n" * 10_000 + "a zebra")
    with read_only(session, file):
        assert session.search("zebra")[0].excerpt.endswith("a zebra")


def _as_nobody(file: Path, queue: Any) -> None:
    if os.geteuid() == 0:
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    try:
        archive = open_archive(ArchiveConfig(url=str(file)))
        archive.put("new")
        archive.commit()
    except ArchiveError as error:
        queue.put(str(error))
    else:
        queue.put("no error")


@pytest.mark.skipif(not hasattr(os, "setuid"), reason="this system has other permissions")
@pytest.mark.parametrize("mode", [0o000, 0o444])
def test_a_file_of_another_user(mode: int) -> None:
    """Whether it can be read or not, it cannot be an archive of this user."""
    folder = Path(tempfile.mkdtemp())
    file = folder / "archive.sqlite3"
    open_archive(ArchiveConfig(url=str(file)))._store.disconnect()  # type: ignore[attr-defined]
    file.chmod(mode)
    folder.chmod(0o555)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=_as_nobody, args=(file, queue))
    process.start()
    said = queue.get(timeout=30)
    process.join()
    folder.chmod(0o700)
    shutil.rmtree(folder)
    assert "let this user write the file and its folder" in said


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ArchiveError, match="cannot be opened"):
        open_archive(ArchiveConfig(url=str(tmp_path / "file" / "archive.sqlite3")))
    with pytest.raises(ArchiveError, match="cannot be opened"):
        open_archive(ArchiveConfig(url=str(tmp_path)))


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("my notes\n" * 1_000)
    with pytest.raises(ArchiveError, match=r"it is no SQLite database: give another path, or move it away"):
        open_archive(ArchiveConfig(url=str(file)))
    assert file.read_text() == "my notes\n" * 1_000


ORIGINALS = ["short", "all is well\n" * 1_000, b"\x00\xff" * 3_000, "数据库 zebra", *[f"text {n}" for n in range(200)]]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, list[str]]:
    """An archive with its index, in one file; its session; and the references of what it holds."""
    file = tmp_path_factory.mktemp("whole") / "archive.sqlite3"
    archive = open_archive(ArchiveConfig(url=str(file)))
    refs = [archive.put(original) for original in ORIGINALS]
    archive.commit()
    archive.search("zebra")
    archive._store.disconnect()  # type: ignore[attr-defined]
    assert not file.with_name(file.name + "-wal").exists()
    return file, archive.name, refs


@given(
    damage=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.binary(min_size=1, max_size=40)), max_size=8),
    cut=st.one_of(st.none(), st.floats(0, 1)),
)
def test_a_fuzzed_file(
    whole: tuple[Path, str, list[str]],
    tmp_path_factory: pytest.TempPathFactory,
    damage: list[tuple[float, bytes]],
    cut: float | None,
) -> None:
    """Whatever stands in it: the very original, or one of our errors; and nothing else."""
    file, name, refs = whole
    broken = tmp_path_factory.mktemp("broken") / "archive.sqlite3"
    data = bytearray(file.read_bytes())
    for place, new in damage:
        start = int(place * len(data))
        data[start : start + len(new)] = new
    broken.write_bytes(data if cut is None else data[: int(cut * len(data))])
    with suppress(ArchiveError):
        check(open_archive(ArchiveConfig(url=str(broken)), name), refs)
    shutil.rmtree(broken.parent)


def check(archive: Archive, refs: list[str]) -> None:
    for ref, original in zip(refs, ORIGINALS, strict=True):
        with suppress(ArchiveError, UnknownReference):
            assert archive.recall(ref) == original
    for words in ("zebra", "text 17"):
        assert all(str(archive.recall(one.ref))[one.start : one.end] == one.excerpt for one in archive.search(words))
    ref = archive.put("new")
    archive.commit()
    assert archive.recall(ref) == "new"
    archive.forget(refs[0])
    archive.forget("all")
