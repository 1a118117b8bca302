"""What each archive that outlives the process does, as tests: each store's file has a class of its own of them."""

from hashlib import sha256
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ga_context import UnknownReference
from ga_context.archive import MemoryArchive, open_archive
from ga_context.config import ArchiveConfig

ORIGINALS = ["text", "", "é\n👩‍👩‍👧‍👦", "half \ud800", b"\x00\xffbytes", "long \u0000 " * 2_000, b"\x01" * 9_000]
TEXTS = [
    "The staging database listens on port 5544.",
    "the port of a city, and a database of cities far away",
    "日志：测试数据库的端口是5544。",
    "error E4021: src/parser.py line 17 failed\n" * 50,
    "x" * 30_000 + " the staging area of port is empty " + "y" * 30_000,
]
QUESTIONS = [
    "Which PORT has the staging database?",
    "数据库",
    "库",
    "端口是什么",
    "src/parser.py fail",
    "e4021",
    "nowhere",
    "",
]
NOT_REFS: list[Any] = [
    *("", "0", "../../etc/passwd", "0123456789abcdef/..", "' OR 1=1 --", "%", "_" * 16, "all", "ALL", "\x00" * 16),
    *("0123456789abcdef", "0123456789ABCDEF", "0123456789abcdef\n", "٠" * 16, "\ud800" * 16, "f" * 65, "f" * 10_000),
    *(None, 5, ["0123456789abcdef"], b"0123456789abcdef"),
]


class Contract:
    """Tests with an archive's section as the fixture ``config``."""

    @pytest.mark.parametrize("original", ORIGINALS, ids=range(len(ORIGINALS)))
    def test_what_goes_in_comes_out(self, config: ArchiveConfig, original: str | bytes) -> None:
        """Byte for byte, before the commit and after it, and from an archive opened anew."""
        archive = open_archive(config)
        ref = archive.put(original)
        data = original if isinstance(original, bytes) else original.encode("utf-8", "surrogatepass")
        assert (ref, archive.recall(ref), ref in archive) == (sha256(data).hexdigest()[:16], original, True)
        archive.commit()
        again = open_archive(config)
        assert (archive.recall(ref), again.recall(ref), ref in again) == (original, original, True)

    def test_nothing_is_there_before_the_commit(self, config: ArchiveConfig) -> None:
        """Other sessions see what is durable, and nothing else."""
        archive, other = open_archive(config), open_archive(config)
        ref = archive.put("not yet")
        assert ref not in other
        with pytest.raises(UnknownReference):
            other.recall(ref)
        archive.commit()
        assert other.recall(ref) == "not yet"

    @pytest.mark.parametrize("ref", NOT_REFS, ids=range(len(NOT_REFS)))
    def test_what_is_no_reference(self, config: ArchiveConfig, ref: Any) -> None:
        """Paths, SQL and what no database takes: unknown, and everything is still there."""
        archive = open_archive(config)
        kept = archive.put("kept")
        archive.commit()
        assert ref not in archive
        with pytest.raises(UnknownReference):
            archive.recall(ref)
        if isinstance(ref, str) and ref != "all":
            assert archive.forget(ref) == 0
        assert open_archive(config).recall(kept) == "kept"

    @pytest.mark.parametrize("words", QUESTIONS)
    def test_search_finds_what_memory_finds(self, config: ArchiveConfig, words: str) -> None:
        """The same places, in the same order, with the same scores; before the commit and after it."""
        memory, archive = MemoryArchive(), open_archive(config)
        for text in TEXTS:
            memory.put(text)
            archive.put(text)
        archive.put(b"bytes of a port")
        assert archive.search(words) == memory.search(words)
        archive.commit()
        assert archive.search(words) == memory.search(words)
        assert open_archive(config, archive.name).search(words, limit=1) == memory.search(words, limit=1)

    def test_search_sees_only_what_is_the_sessions(self, config: ArchiveConfig) -> None:
        """What another put in is found once it was recalled by its reference."""
        one, other = open_archive(config), open_archive(config)
        ref = one.put("only of this session: zebra")
        one.commit()
        assert other.search("zebra") == []
        other.recall(ref)
        other.put("something")
        other.commit()
        assert [found.ref for found in other.search("zebra")] == [ref]
        later = other.put("a second zebra")
        other.commit()
        assert {found.ref for found in other.search("zebra")} == {ref, later}

    def test_forget_one(self, config: ArchiveConfig) -> None:
        """It is gone for all, from the search too, and can come back."""
        one, other = open_archive(config), open_archive(config)
        ref = one.put("a secret tiger")
        other.put("a secret tiger")
        one.commit()
        other.commit()
        assert [found.ref for found in other.search("tiger")] == [ref]
        assert (one.forget(ref), one.forget(ref)) == (1, 0)
        assert (ref in one, ref in other, other.search("tiger")) == (False, False, [])
        assert one.put("a secret tiger") == ref
        one.commit()
        assert (other.recall(ref), [found.ref for found in one.search("tiger")]) == ("a secret tiger", [ref])

    def test_forget_all(self, config: ArchiveConfig) -> None:
        """What another session uses stays."""
        one, other = open_archive(config), open_archive(config)
        mine, shared = one.put("mine alone"), one.put("of both")
        other.put("of both")
        one.commit()
        other.commit()
        waiting = one.put("waiting")
        assert one.forget("all") == 2
        assert [ref in one for ref in (mine, waiting, shared)] == [False, False, True]
        assert (one.search("both"), len(other.search("both"))) == ([], 1)

    def test_a_longer_reference_on_collision(self, config: ArchiveConfig, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where another original has the digits already: here any two, with references of no digits at first."""
        monkeypatch.setattr("ga_context.archive.base.REF_DIGITS", 0)
        archive = open_archive(config)
        archive.forget("all")
        first, second = archive.put("one"), archive.put("two")
        assert (first, len(second)) == ("", 8)

    @settings(suppress_health_check=[*settings().suppress_health_check, HealthCheck.differing_executors])
    @given(texts=st.lists(st.text(max_size=60), max_size=6), words=st.text(max_size=20))
    def test_any_words(self, tmp_path_factory: pytest.TempPathFactory, texts: list[str], words: str) -> None:
        """No text and no question breaks the index; what is found stands in the text."""
        archive = open_archive(self.fresh(tmp_path_factory))
        memory = MemoryArchive()
        for text in texts:
            archive.put(text)
            memory.put(text)
        archive.commit()
        found = archive.search(words)
        assert found == memory.search(words)
        assert all(str(archive.recall(one.ref))[one.start : one.end] == one.excerpt for one in found)

    def fresh(self, folders: pytest.TempPathFactory) -> ArchiveConfig:
        """Return the section of an archive that is new or shared; sessions do not see each other's texts."""
        raise NotImplementedError
