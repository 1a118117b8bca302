"""The archive in a file: what each archive does, who may read it, what is too old, forks, a million texts."""

import multiprocessing
import os
import sqlite3
import stat
import threading
from pathlib import Path

import pytest
from contract import Contract
from hypothesis import settings

from ga_context import ArchiveError, ConfigError, ContextSession, UnknownReference
from ga_context.archive import Archive, open_archive, place
from ga_context.config import ArchiveConfig

SMALL_TEXTS = 1_000_000 if settings().max_examples > 1_000 else 20_000
"""A million with the profile of `.ci/full`."""
DAY_SECONDS = 86_400


class TestSQLite(Contract):
    """What each archive does."""

    @pytest.fixture
    def config(self, tmp_path: Path) -> ArchiveConfig:
        return ArchiveConfig(url=str(tmp_path / "archive.sqlite3"))

    def fresh(self, folders: pytest.TempPathFactory) -> ArchiveConfig:
        return ArchiveConfig(url=str(folders.mktemp("archive") / "archive.sqlite3"))


def at(tmp_path: Path, **settings: object) -> Archive:
    return open_archive(ArchiveConfig(url=str(tmp_path / "archive.sqlite3"), **settings))


# Where it is


def test_sqlite_is_one_file_in_the_users_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For this user alone, with what SQLite puts beside it."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    open_archive(ArchiveConfig(url="sqlite")).commit()
    folder = tmp_path / "ga_context"
    assert {path.name for path in folder.iterdir()} >= {"archive.sqlite3"}
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    ("url", "file"),
    [
        ("a/b.db", "a/b.db"),
        ("sqlite:///a/b.db", "a/b.db"),
        ("sqlite:////a/b.db", "/a/b.db"),
        ("postgresql://x/y", None),
    ],
)
def test_urls(url: str, file: str | None) -> None:
    assert place.file_of(url) == (None if file is None else Path(file))


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///", "sqlite:///:memory:", "sqlite:///a?mode=ro"])
def test_urls_that_are_no_file(url: str) -> None:
    with pytest.raises(ConfigError, match=r"`archive.url` as a URL of SQLite"):
        open_archive(ArchiveConfig(url=url))


def test_nothing_is_made_unless_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bare session has no file."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    ContextSession().tool_output("code_run", "x" * 20_000)
    ContextSession({"archive": {"url": "memory"}}).tool_output("code_run", "x" * 20_000)
    assert list(tmp_path.iterdir()) == []


# What is kept, and for how long


def test_the_same_content_is_kept_once_and_compressed(tmp_path: Path) -> None:
    one, other = at(tmp_path), at(tmp_path)
    for archive in (one, other):
        archive.put("all is well\n" * 10_000)
        archive.put("short")
        archive.commit()
    rows = sqlite3.connect(tmp_path / "archive.sqlite3").execute("SELECT kind, length(body) < 5000 FROM originals")
    assert sorted(rows) == [(0, 1), (1, 1)]


def aged(archive: Archive, tmp_path: Path, days: float) -> None:
    """Let a session's last use be some days ago."""
    with sqlite3.connect(tmp_path / "archive.sqlite3") as db:
        db.execute("UPDATE sessions SET seen = seen - ? WHERE name = ?", (days * DAY_SECONDS, archive.name))
    archive._store._sessions.clear()  # type: ignore[attr-defined]


@pytest.mark.parametrize("settings", [{"max_age_days": 5.0}, {"max_bytes": 1_000_000}])
def test_what_a_live_session_refers_to_stays(tmp_path: Path, settings: dict[str, float]) -> None:
    """Of an old session and two live ones: what only the old one used goes, also from the index."""
    old, live, reader = at(tmp_path), at(tmp_path), at(tmp_path)
    gone, shared, read = old.put(os.urandom(700_000).hex() + " zebra"), old.put("of both"), old.put("read later")
    live.put("of both")
    mine = live.put(os.urandom(700_000).hex())
    for archive in (old, live):
        archive.commit()
    reader.recall(read)
    reader.put("something")
    reader.commit()
    old.search("zebra")
    aged(old, tmp_path, 10)
    pruning = at(tmp_path, **settings)
    assert [ref in pruning for ref in (gone, shared, read, mine)] == [False, True, True, True]
    assert [found.ref for found in live.search("both")] == [shared]


def test_live_hours_come_before_age(tmp_path: Path) -> None:
    """A session of yesterday is live, whatever is too old by the other setting."""
    archive = at(tmp_path)
    ref = archive.put("of yesterday")
    archive.commit()
    aged(archive, tmp_path, 1)
    assert ref in at(tmp_path, max_age_days=0.5, live_hours=48.0)
    assert ref not in at(tmp_path, max_age_days=0.5, live_hours=2.0)


def test_a_session_that_comes_back_puts_in_again(tmp_path: Path) -> None:
    """It was away for so long that its originals were removed: what it cuts now is there all the same."""
    archive = at(tmp_path)
    ref = archive.put("again and again")
    archive.commit()
    number = archive._store._sessions[archive.name][0]  # type: ignore[attr-defined]
    aged(archive, tmp_path, 10)
    assert ref not in at(tmp_path, max_age_days=5.0)
    archive._store._sessions[archive.name] = (number, 0.0)  # type: ignore[attr-defined]
    assert archive.put("again and again") == ref
    archive.put("and this")
    archive.commit()
    assert at(tmp_path).recall(ref) == "again and again"


def test_a_continued_session_is_alive_and_searches_its_own(tmp_path: Path) -> None:
    """By its name, which a dump carries."""
    archive = at(tmp_path)
    ref = archive.put("a zebra")
    archive.commit()
    aged(archive, tmp_path, 10)
    again = open_archive(ArchiveConfig(url=str(tmp_path / "archive.sqlite3"), max_age_days=5.0), archive.name)
    assert ([found.ref for found in again.search("zebra")], at(tmp_path).search("zebra")) == ([ref], [])


def test_what_is_forgotten_is_not_in_the_file(tmp_path: Path) -> None:
    """Nor beside it, nor in the index."""
    archive = at(tmp_path)
    ref = archive.put("the word is xylophagous")
    archive.put("another")
    archive.commit()
    archive.search("word")

    def holds() -> bool:
        return any(b"xylophagous" in path.read_bytes() for path in tmp_path.iterdir())

    assert holds()
    archive.forget(ref)
    assert not holds()


def test_what_is_redacted_is_not_in_the_file(tmp_path: Path) -> None:
    """The report says of which originals parts are hidden."""
    config = {"archive": {"url": str(tmp_path / "archive.sqlite3"), "redact": [r"sk-\w+"]}}
    session = ContextSession(config, format="openai-chat")
    call = {"id": "1", "type": "function", "function": {"name": "code_run", "arguments": "{}"}}
    result = {"role": "tool", "tool_call_id": "1", "content": "the key is sk-12345\n" + "x\n" * 20_000}
    session.prepare([{"role": "user", "content": "hi"}, {"role": "assistant", "tool_calls": [call]}, result])
    cut = session.report.actions[0]
    assert (cut.redacted, "(redacted)" in str(cut)) == (True, True)
    assert str(session.recall(cut.ref)).startswith("the key is ********\n")
    assert not any(b"sk-12345" in path.read_bytes() for path in tmp_path.iterdir())


@pytest.mark.parametrize(("sync", "level"), [("process", 1), ("power", 2)])
def test_what_a_commit_outlives(tmp_path: Path, sync: str, level: int) -> None:
    """SQLite's NORMAL does not wait for the disk at each commit, FULL does."""
    archive = at(tmp_path, sync=sync)
    connection = archive._store._connection  # type: ignore[attr-defined]
    assert connection.execute("PRAGMA synchronous").fetchone() == (level,)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_what_is_too_old_is_no_reason_not_to_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process writes at this moment: it is removed later."""
    at(tmp_path)
    monkeypatch.setattr("ga_context.archive.file.WAIT_SECONDS", 0.05)
    other = sqlite3.connect(tmp_path / "archive.sqlite3", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert "0123456789abcdef" not in at(tmp_path, max_age_days=1.0)
    other.close()


# Threads and forks


def test_threads_share_one_file(tmp_path: Path) -> None:
    """Sessions of several threads, each with its own originals and some of all."""
    archives = [at(tmp_path) for _ in range(4)]
    refs: list[str] = []

    def work(number: int) -> None:
        for turn in range(30):
            refs.append(archives[number].put(f"{number if turn % 2 else 'all'} in turn {turn}"))
            archives[number].commit()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(ref in archives[0] for ref in refs)
    assert len(set(refs)) == 15 + 4 * 15


def _in_child(archive: Archive, ref: str) -> None:
    assert archive.recall(ref) == "of the parent"
    archive.put("of the child")
    archive.commit()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_after_a_fork_both_go_on(tmp_path: Path) -> None:
    """Each with a connection of its own, as SQLite demands."""
    archive = at(tmp_path)
    ref = archive.put("of the parent")
    archive.commit()
    child = multiprocessing.get_context("fork").Process(target=_in_child, args=(archive, ref))
    child.start()
    later = archive.put("of the parent, later")
    archive.commit()
    child.join()
    assert child.exitcode == 0
    assert all(one in at(tmp_path) for one in (ref, later, archive.ref("of the child")))


def test_a_reference_of_another_session_resolves_and_of_another_archive_does_not(tmp_path: Path) -> None:
    """A reference is as good as a key within one file, and worth nothing outside of it."""
    one, other = at(tmp_path), at(tmp_path)
    elsewhere = open_archive(ArchiveConfig(url=str(tmp_path / "elsewhere.sqlite3")))
    ref = one.put("mine")
    one.commit()
    assert other.recall(ref) == "mine"
    with pytest.raises(UnknownReference):
        elsewhere.recall(ref)


def test_many_small_texts(tmp_path: Path) -> None:
    """They go in, are found by words, and leave."""
    archive = at(tmp_path)
    step = 10_000
    for start in range(0, SMALL_TEXTS, step):
        for number in range(start, start + step):
            archive.put(f"text {number} of many, in file_{number % 97}.py")
        archive.commit()
    found = archive.search(f"Where is text {SMALL_TEXTS - 7}?", limit=3)
    assert found[0].excerpt.startswith(f"text {SMALL_TEXTS - 7} of many")
    assert archive.recall(found[0].ref) == found[0].excerpt
    assert archive.forget("all") == SMALL_TEXTS
    assert archive.search("text") == []


# A file that is something else


def test_a_database_of_something_else_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "archive.sqlite3"
    with sqlite3.connect(file) as db:
        db.execute("CREATE TABLE mine (x)")
    with pytest.raises(ArchiveError, match="is a database of something else"):
        at(tmp_path)
    assert sqlite3.connect(file).execute("SELECT count(*) FROM sqlite_master").fetchone() == (1,)


def test_a_file_of_another_layout(tmp_path: Path) -> None:
    archive = at(tmp_path)
    archive.commit()
    with sqlite3.connect(tmp_path / "archive.sqlite3") as db:
        db.execute("PRAGMA user_version = 99")
    del archive
    with pytest.raises(ArchiveError, match="has layout 99, this library reads layout 1"):
        at(tmp_path)
