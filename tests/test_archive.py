"""Originals in, recall out: by the digest of their content, within the process and from a dump."""

import re
from hashlib import sha256

import pytest

from ga_context import ContextSession, UnknownReference
from ga_context.archive import MemoryArchive


@pytest.mark.parametrize("original", ["text", "", "é\n👩‍👩‍👧‍👦", "half \ud800", b"\x00\xffbytes"])
def test_what_goes_in_comes_out(original):
    """Byte for byte, under the first 16 hexadecimal digits of its sha256."""
    archive = MemoryArchive()
    ref = archive.put(original)
    data = original if isinstance(original, bytes) else original.encode("utf-8", "surrogatepass")
    assert ref == sha256(data).hexdigest()[:16]
    assert archive.recall(ref) == original


def test_the_same_content_once():
    """One entry, one reference."""
    archive = MemoryArchive()
    assert archive.put("same") == archive.put("same")
    assert list(archive.entries) == [archive.ref("same")]


def test_a_reference_can_be_known_before():
    """A marker is written before its original is kept."""
    archive = MemoryArchive()
    ref = archive.ref("later")
    with pytest.raises(UnknownReference):
        archive.recall(ref)
    assert archive.put("later") == ref


def test_a_longer_reference_on_collision():
    """Where another original has the digits already."""
    digest = sha256(b"new").hexdigest()
    archive = MemoryArchive({digest[:16]: "old"})
    ref = archive.put("new")
    assert len(ref) > 16
    assert digest.startswith(ref)
    assert (archive.recall(digest[:16]), archive.recall(ref)) == ("old", "new")


@pytest.mark.parametrize("ref", ["0123456789abcdef", "", "text", None, [1]])
def test_an_unknown_reference(ref):
    """A KeyError, with what a reference is."""
    with pytest.raises(KeyError, match=re.escape(f"no original is archived under {ref!r}")):
        ContextSession().recall(ref)


def test_two_sessions_share_nothing():
    """What one cut the other does not know."""
    one, other = ContextSession(), ContextSession()
    cut = one.tool_output("code_run", "x" * 20_000)
    ref = MemoryArchive().ref("x" * 20_000)
    assert ref in cut
    assert one.recall(ref) == "x" * 20_000
    with pytest.raises(UnknownReference):
        other.recall(ref)


def test_search_in_memory():
    """Rare words and words close together first; the excerpt is a range of the original."""
    archive = MemoryArchive()
    log = "".join(f"step {n} ok\n" for n in range(500)) + "the staging database listens on port 5544\n" + "end\n" * 50
    ref, other = archive.put(log), archive.put("the port of a city, and a database of cities far away")
    archive.put("nothing of it")
    best, second = archive.search("Which PORT has the staging database?")
    assert (best.ref, second.ref) == (ref, other)
    assert best.excerpt == log[best.start : best.end]
    assert "port 5544" in best.excerpt


@pytest.mark.parametrize("words", ["数据库", "数据", "库", "测试数据库的端口是什么"])
def test_search_without_spaces(words):
    """Scripts without spaces between words: a part of a run, one character, a question."""
    archive = MemoryArchive()
    ref = archive.put("日志：测试数据库的端口是5544。")
    archive.put("今天天气很好")
    assert [found.ref for found in archive.search(words)] == [ref]


def test_forget():
    """What is forgotten is unknown; it can be put in again."""
    archive = MemoryArchive()
    ref, other = archive.put("a"), archive.put("b")
    assert (archive.forget(ref), archive.forget(ref), ref in archive, other in archive) == (1, 0, False, True)
    assert archive.put("a") == ref
    assert (archive.forget("all"), archive.entries) == (2, {})


def test_redaction():
    """What must not be kept is not; the reference is that of what is kept."""
    session = ContextSession({"archive": {"redact": [r"sk-\w+", {"pattern": "Bob|Eve", "replacement": "somebody"}]}})
    text = "key sk-12345 of Bob\n" + "x" * 20_000
    cut = session.tool_output("code_run", text)
    kept = "key ******** of somebody\n" + "x" * 20_000
    ref = MemoryArchive().ref(kept)
    assert ref in cut
    assert session.recall(ref) == kept
