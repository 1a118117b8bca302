"""The archive on a real PostgreSQL server, which the tests start; and by SQLAlchemy in a database without its index."""

import multiprocessing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import postgres
import pytest
from contract import Contract

from ga_context import ArchiveError, ContextSession
from ga_context.archive import open_archive, server
from ga_context.archive.durable import DurableArchive
from ga_context.config import ArchiveConfig


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with postgres.server() as url:
        yield url


class TestPostgres(Contract):
    """What each archive does."""

    @pytest.fixture(autouse=True)
    def _config(self, url: str) -> None:
        self.section = ArchiveConfig(url=url)

    @pytest.fixture
    def config(self) -> ArchiveConfig:
        return self.section

    def fresh(self, folders: pytest.TempPathFactory) -> ArchiveConfig:
        return self.section


def test_another_database(tmp_path: Path) -> None:
    """What SQLAlchemy can connect to; a search without PostgreSQL's index looks through all."""
    store = server.ServerStore(f"sqlite:///{tmp_path / 'other.db'}", "process")
    archive, config = open_archive(ArchiveConfig()), ArchiveConfig()
    durable = DurableArchive(store, config)
    for text in ("a zebra", "a tiger", b"bytes"):
        archive.put(text)
        durable.put(text)
    durable.commit()
    again = DurableArchive(store, config, durable.name)
    assert again.search("zebra") == archive.search("zebra")
    assert again.recall(archive.ref(b"bytes")) == b"bytes"
    assert (again.forget(archive.ref("a zebra")), again.search("zebra"), again.forget("all")) == (1, [], 2)


def _write(url: str, number: int, turns: int, queue: Any) -> None:
    archive = open_archive(ArchiveConfig(url=url))
    refs = []
    for turn in range(turns):
        refs += [archive.put(f"shared by all, turn {turn}"), archive.put(f"of {number} alone, turn {turn}")]
        archive.commit()
    queue.put(refs)


def test_processes_write_at_once(url: str) -> None:
    """The same originals and others, from two of them."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    workers = [context.Process(target=_write, args=(url, number, 8, queue)) for number in range(2)]
    for worker in workers:
        worker.start()
    refs = [ref for _ in workers for ref in queue.get(timeout=60)]
    for worker in workers:
        worker.join()
    archive = open_archive(ArchiveConfig(url=url))
    assert len(set(refs)) == 8 + 2 * 8
    assert all(str(archive.recall(ref)).split(",")[1].startswith(" turn") for ref in refs)


def test_what_is_live_is_not_pruned(url: str) -> None:
    """Of two sessions one is old: what it alone used goes, what the other uses too stays."""
    old, live = open_archive(ArchiveConfig(url=url)), open_archive(ArchiveConfig(url=url))
    gone, shared = old.put("only the old one"), old.put("both of them")
    live.put("both of them")
    old.commit()
    live.commit()
    with old._store.engine.begin() as db:
        db.exec_driver_sql("UPDATE ga_sessions SET seen = seen - 864000 WHERE name = %(name)s", {"name": old.name})
    pruning = open_archive(ArchiveConfig(url=url, max_age_days=5))
    assert (gone in pruning, shared in pruning) == (False, True)
    old._store._sessions[old.name] = (old._store._sessions[old.name][0], 0.0)  # it is later than it was
    assert old.put("only the old one") == gone
    old.put("new")
    old.commit()
    assert gone in pruning


def test_a_server_that_goes_away() -> None:
    """A clear error without the password; the view is there, in memory the loop goes on, and later all is durable."""
    with postgres.server() as url:
        config = {"archive": {"url": url.replace("ga@", "ga:secret@")}}
        session = ContextSession(config, format="openai-chat")
        ref = session.tool_output("code_run", "before " * 5_000)
    messages = [{"role": "user", "content": "hi"}]
    big = {"role": "tool", "tool_call_id": "1", "content": "output " * 5_000}
    call = {"id": "1", "type": "function", "function": {"name": "code_run", "arguments": "{}"}}
    messages += [{"role": "assistant", "tool_calls": [call]}, big]
    with pytest.raises(ArchiveError, match="cannot be written") as caught:
        session.prepare(messages)
    assert "secret" not in str(caught.value)
    assert caught.value.view[0] == messages[0]
    action = caught.value.report.actions[0]
    assert session.recall(action.ref) == big["content"]
    assert ref != "before " * 5_000


@pytest.mark.parametrize(
    "url", ["postgresql+nothing://x/y", "nothing://x", "oracle://x/y", "postgresql+psycopg://:::/"]
)
def test_urls_that_cannot_be(url: str) -> None:
    with pytest.raises(ArchiveError, match=r"archive\.url"):
        open_archive(ArchiveConfig(url=url))
