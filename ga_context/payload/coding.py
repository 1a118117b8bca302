"""Base64 as it stands in messages: plain or URL-safe, in lines, in a ``data:`` URL; and the bytes in it."""

from __future__ import annotations

from base64 import b64decode

DATA_URL = "data:"
HEAD_CHARS = 1_000
"""The media type and parameters of a ``data:`` URL are looked for in its first characters."""

LINE_CHARS = 100
"""Base64 that is broken into lines (76 characters, RFC 2045) has a line end in its first characters."""

WRAPPED_CHARS = 400_000
"""Of base64 in lines only so much is joined: no header reaches further."""

_STANDARD = str.maketrans("-_", "+/")


class Reader:
    """The bytes of a file by position; of base64 text only what is asked for is decoded.

    Args:
        data: the bytes, or base64 text, or a ``data:`` URL with base64; any other text reads as nothing.
    """

    def __init__(self, data: str | bytes) -> None:
        self._data = data
        self._start = 0
        if isinstance(data, str):
            self._start = _start(data)
            if "\n" in data[self._start : self._start + LINE_CHARS]:
                self._data = "".join(data[self._start : self._start + WRAPPED_CHARS].split())
                self._start = 0

    def read(self, at: int, count: int) -> bytes:
        """Return ``count`` bytes from position ``at`` on; fewer at the end of the file, none where it is no base64."""
        if not isinstance(self._data, str):
            return bytes(self._data[at : at + count])
        first, last = at // 3 * 4, -(-(at + count) // 3) * 4  # four characters are three bytes
        return _bytes(self._data[self._start + first : self._start + last])[at % 3 :][:count]


def original(data: str | bytes) -> str | bytes:
    """Return the bytes that a payload holds; the text itself where it is no clean base64."""
    if not isinstance(data, str):
        return bytes(data)
    return _bytes(data[_start(data) :], clean=True) or data


def sent_bytes(data: str | bytes) -> int:
    """Return how many bytes a payload takes in a request: its text in UTF-8, bytes as base64."""
    if isinstance(data, str):
        return len(data) if data.isascii() else len(data.encode("utf-8", "surrogatepass"))
    return -(-len(data) // 3) * 4


def _start(data: str) -> int:
    """Return where the base64 of a text begins: behind the comma of a ``data:`` URL; at the end where it has none."""
    if not data.startswith(DATA_URL):
        return 0
    comma = data.find(",", 0, HEAD_CHARS)
    return comma + 1 if data.endswith(";base64", 0, max(comma, 0)) else len(data)


def _bytes(text: str, *, clean: bool = False) -> bytes:
    """Decode base64, with or without padding; nothing where the text is none."""
    if not clean:
        text += "=" * (-len(text) % 4)
    try:
        return b64decode(text.translate(_STANDARD), validate=True)
    except ValueError:
        return b""
