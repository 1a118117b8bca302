"""Texts of a page: character references, what cannot be said, and long texts in pieces."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

from ga_context.text.boundary import before

_LONG_REFERENCE = re.compile(r"&#(?:\d{8,}|[xX][0-9a-fA-F]{8,});?")
_UNSPEAKABLE = re.compile("[\x00-\x08\x0b\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_CONTROLS = bytes([*range(9), 11, *range(14, 32)])
_MARK = re.compile(r"&#?\w{1,32};|&|[^\s&]+")
_NO_BLANK = re.compile(r"\S")
_SENTENCE_END = re.compile(r"[.!?…](?= )|[。！？；]")
_ZEROS = re.compile(r"(&#[xX]?)0+(?=[0-9a-fA-F])")


def decoded(text: str) -> str:
    """Return a text with its character references resolved; those to no character become U+FFFD."""
    if "&" not in text:
        return text
    if "&#" in text and _LONG_REFERENCE.search(text):  # `unescape` would make an int of any length
        text = _LONG_REFERENCE.sub("\ufffd", _ZEROS.sub(r"\1", text))
    return unescape(text)


def speakable(text: str) -> str:
    """Return a text without what no document may hold: control characters and lone surrogates."""
    return _UNSPEAKABLE.sub("", text)


def is_speakable(text: str) -> bool:
    """Tell whether `speakable` would leave a text as it is."""
    try:
        data = text.encode()  # what follows is several times as fast as the pattern
    except UnicodeEncodeError:
        return False
    return len(data.translate(None, _CONTROLS)) == len(data) and "\ufffe" not in text and "\uffff" not in text


def pieces(
    text: str, verbatim: bool, most: int, raw: str, start: int, end: int
) -> Iterator[tuple[str, int, int, bool]]:
    """Yield a long text in pieces: text, range in the source, whether a space was before it."""
    at = place = 0
    while at < len(text):
        stop = len(text) if len(text) - at <= most else _end_of_piece(text, at, most)
        piece = text[at:stop]
        behind = _place_behind(raw, place, piece) if stop < len(text) else end - start
        yield piece, start + place, start + behind, not verbatim and at > 0 and text[at - 1] == " "
        place = behind
        at = stop + (not verbatim and text[stop : stop + 1] == " ")


def _place_behind(raw: str, at: int, piece: str) -> int:
    """Return where a piece of the text ends in the source that begins at ``at``; only what is no space counts."""
    found = _NO_BLANK.search(raw, at)
    at = found.start() if found else len(raw)
    if raw.startswith(piece, at):
        return at + len(piece)
    due = len("".join(piece.split()))
    for match in _MARK.finditer(raw, at):
        mark = match[0]
        size = len("".join(decoded(mark).split())) if mark[0] == "&" else len(mark)
        if size >= due:
            return match.end() if size == due else match.start() + due
        due -= size
    return len(raw)


def _end_of_piece(text: str, at: int, chars: int) -> int:
    """Return where the piece from ``at`` on ends: at a line, a sentence or a word if one ends in its second half."""
    middle, most = at + chars // 2, at + chars
    if (line := text.rfind("\n", middle, most)) >= 0:
        return line + 1
    ends = [match.end() for match in _SENTENCE_END.finditer(text, middle, most)]
    if ends:
        return ends[-1]
    word = text.rfind(" ", middle, most)
    return word if word >= 0 else before(text, most, at, len(text))
