"""Put, commit, recall, forget, search and kill in any order against a plain dict; sessions of all formats likewise."""

import tempfile
from pathlib import Path

import pytest
from histories import FORMATS, after, configs, histories, operations
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

from ga_context import ContextSession, UnknownReference
from ga_context.archive import Archive, open_archive
from ga_context.config import ArchiveConfig

ORIGINALS = st.one_of(st.text(max_size=40), st.binary(max_size=40), st.just("long zebra\n" * 1_000))


class TwoSessions(RuleBasedStateMachine):
    """Two sessions of one file. What is durable is known to both, what waits to one; a killed one loses what waited."""

    refs = Bundle("refs")

    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.config = ArchiveConfig(url=str(Path(self.folder.name) / "archive.sqlite3"))
        self.archives: list[Archive] = [open_archive(self.config), open_archive(self.config)]
        self.durable: dict[str, str | bytes] = {}
        self.waiting: list[dict[str, str | bytes]] = [{}, {}]

    @rule(target=refs, which=st.integers(0, 1), original=ORIGINALS)
    def put(self, which: int, original: str | bytes) -> str:
        ref = self.archives[which].put(original)
        self.waiting[which][ref] = original
        return ref

    @rule(which=st.integers(0, 1))
    def commit(self, which: int) -> None:
        self.archives[which].commit()
        self.durable |= self.waiting[which]
        self.waiting[which] = {}

    @rule(which=st.integers(0, 1))
    def kill(self, which: int) -> None:
        """What was not committed is lost; the session goes on by its name."""
        self.archives[which] = open_archive(self.config, self.archives[which].name)
        self.waiting[which] = {}

    @rule(which=st.integers(0, 1), ref=refs)
    def recall(self, which: int, ref: str) -> None:
        known = self.durable | self.waiting[which]
        assert (ref in self.archives[which]) == (ref in known)
        if ref in known:
            assert self.archives[which].recall(ref) == known[ref]
            return
        with pytest.raises(UnknownReference):
            self.archives[which].recall(ref)

    @rule(which=st.integers(0, 1), ref=refs)
    def forget(self, which: int, ref: str) -> None:
        known = self.durable | self.waiting[which]
        assert (self.archives[which].forget(ref) > 0) == (ref in known)
        self.durable.pop(ref, None)
        self.waiting[which].pop(ref, None)

    @invariant()
    def search_finds_what_is_there(self) -> None:
        if not hasattr(self, "archives"):
            return
        for archive, waiting in zip(self.archives, self.waiting, strict=True):
            found = {one.ref for one in archive.search("zebra")}
            assert found <= set(self.durable | waiting)
            assert {ref for ref, text in waiting.items() if "zebra" in str(text)} <= found

    def teardown(self) -> None:
        if hasattr(self, "archives"):
            del self.archives
            self.folder.cleanup()


TestTwoSessions = TwoSessions.TestCase
TestTwoSessions.settings = settings(stateful_step_count=12, max_examples=min(settings().max_examples, 1_000))


@pytest.mark.parametrize("format", FORMATS)
@given(data=st.data())
@settings(max_examples=min(max(8, settings().max_examples // 3), 500))
def test_the_archive_moves_no_byte_and_comes_before_the_view(format: str, data: st.DataObject) -> None:
    """The same views as in memory; at each moment all that a report refers to is in the file, for any process."""
    config = data.draw(configs())
    rest, raw = data.draw(histories(format)), list[dict[str, object]]()
    with tempfile.TemporaryDirectory() as folder:
        section = ArchiveConfig(url=str(Path(folder) / "archive.sqlite3"))
        session = ContextSession({**config, "archive": section}, format=format)
        plain = ContextSession(config, format=format)
        reader = open_archive(section)
        view: list[dict[str, object]] = []
        for operation in data.draw(operations(format)):
            raw, rest = after(operation, raw, rest, view, format)
            if operation[0] == "key_info":
                session.update_key_info(operation[1])
                plain.update_key_info(operation[1])
            shrink = operation[1] if operation[0] == "shrink" else None
            view = session.prepare(raw, shrink=shrink)
            assert view == plain.prepare(raw, shrink=shrink)
            refs = [action.ref for report in session.reports[-1:] for action in report.actions if action.ref]
            assert [reader.recall(ref) for ref in refs] == [plain.recall(ref) for ref in refs]
        del session, reader
