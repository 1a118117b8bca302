"""Base64 in a text: `data:` URIs and long runs, also in lines and behind the escapes of JSON. No use in part."""

import re
from collections.abc import Iterator

from ga_context.text.marker import DATA

LEAST_RUN = 200
"""A shorter run without `data:` before it is text."""

LEAST_LINE = 60
"""Base64 in lines has lines of 64 characters (RFC 7468), 76 (RFC 2045) or more, all as long but for the last."""

_NEAR_CHARS = 256  # a run that reaches into what stays shows this much of itself near it

# Each pattern is linear: a run starts where none can go on, and no part of it gives back.
_UNITS = r"(?:[\w+/-]++|\\/)++"
_LINE = rf"(?=(?:[\w+/-]|\\/){{{LEAST_LINE}}}){_UNITS}"
_BREAK = r"(?:\\n|\\r\\n|\n[ \t]*+|\r\n[ \t]*+)"
_LAST = rf"{_BREAK}(?!-){_UNITS}(?=[=\"'\\<)\]}}\r\n]|\Z)"
_RUN = re.compile(rf"(?<![\w+/-]){_LINE}(?:(?:{_BREAK}{_LINE})++(?:{_LAST})?+)?+={{0,2}}+", re.ASCII)
_URI = re.compile(
    r"data:[\w.+/-]*+(?:;[\w.+=-]++)*+(?<=;base64),(?:[\w%+/=-]++|\\/)*+"
    r"|(?<!\w)data:\w++/[\w.+-]++(?:;[\w.+=-]++)*+,[\w%+/=.~!$&*,;:@?#-]*+",
    re.ASCII,
)
_BREAKS = re.compile(_BREAK)
_HAS = [re.compile(kind) for kind in ("[A-Z]", "[a-z]")]  # digests, sequences of letters and rulers have not
_FLAT = bytes([120 if chr(code).isalnum() or chr(code) in "_+/-\\" else 32 for code in range(128)]) + b" " * 128
_FLAT_LINE = b"x" * LEAST_LINE


def holds_data(text: str, start: int, end: int, limit: int) -> bool:
    """Return whether data may stand in what stays of the text, or is so long that all else would stay without it."""
    near = limit + _NEAR_CHARS
    parts = [(start, end)] if end - start <= 2 * near else [(start, start + near), (end - near, end)]
    return any(["data:" in (part := text[first:last]) or _FLAT_LINE in _flat(part) for first, last in parts])


def spans(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield where data stands in a range, in order."""
    for first, last, run in sorted([*_uris(text, start, end), *_runs(text, start, end)]):
        if first < start:  # inside of the one before
            continue
        start = last
        for span in _lines(text, first, last) if run else [(first, last)]:
            if not run or (span[1] - span[0] >= LEAST_RUN and all([kind.search(text, *span) for kind in _HAS])):
                yield span


def without_data(text: str) -> str:
    """Return a short text with one fixed mark for each piece of data."""
    for first, last in reversed(list(spans(text, 0, len(text)))):
        text = text[:first] + DATA + text[last:]
    return text


def _flat(text: str) -> bytes:
    """Return as many bytes as `text` has characters: "x" where base64 or an escape may be, else a space."""
    return text.encode("ascii", "replace").translate(_FLAT)


def _uris(text: str, start: int, end: int) -> Iterator[tuple[int, int, bool]]:
    at = text.find("data:", start, end)
    while at >= 0:
        if match := _URI.match(text, at, end):
            yield at, match.end(), False
        at = text.find("data:", match.end() if match else at + 1, end)


def _runs(text: str, start: int, end: int) -> Iterator[tuple[int, int, bool]]:
    flat, at, border = _flat(text[start:end]), 0, 0
    while (at := flat.find(_FLAT_LINE, at)) >= 0:
        if at >= border:
            border = flat.find(b" ", at)
            border = border if border >= 0 else len(flat)
        found = None
        if border - at >= LEAST_RUN or text[start + border : start + border + 1] in ("\n", "\r"):
            found = _RUN.search(text, start + at, start + border)
        if found and found.end() == start + border:  # it may go on in the next line
            found = _RUN.match(text, found.start(), end)
        if found:
            yield *found.span(), True
        at = found.end() - start if found else border


def _lines(text: str, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Yield the whole run where its lines are equally long, else each line by itself: neighbours by chance.

    A shorter last line is of it only where it ends on four characters, as base64 does; else it is a word.
    """
    breaks = [found.span() for found in _BREAKS.finditer(text, first, last)]
    lines = list(zip([first, *(end for _, end in breaks)], [*(start for start, _ in breaks), last], strict=True))
    widths = [end - start - text.count("\\", start, end) for start, end in lines]
    while len(lines) > 1 and widths[-1] < widths[0] and widths[-1] % 4:
        lines, widths = lines[:-1], widths[:-1]
    if len(set(widths[:-1])) <= 1 and widths[-1] <= widths[0]:
        yield first, lines[-1][1]
    else:
        yield from lines
