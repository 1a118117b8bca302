"""Originals in, recall out: by the digest of their content, within the process and from a dump."""

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


@pytest.mark.parametrize("ref", ["0123456789abcdef", "", "text"])
def test_an_unknown_reference(ref):
    """A KeyError, with what a reference is."""
    with pytest.raises(KeyError, match=f"no original is archived under '{ref}'"):
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
