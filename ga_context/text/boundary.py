"""Where a text may be cut: not in a grapheme cluster, a surrogate pair, a line end of two characters or an escape."""

import re

import regex

_LONGEST_ESCAPE = 12
_ESCAPE = re.compile(
    r"\\(?:u[Dd][89ABab][0-9A-Fa-f]{2}\\u[Dd][C-Fc-f][0-9A-Fa-f]{2}"
    r"|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|x[0-9A-Fa-f]{2}|[0-7]{1,3}|.)",
    re.DOTALL,
)
_BACKSLASHES = regex.compile(r"(?r)\\*")
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]|\r\n")

# Two characters that surely do not belong together; a flag is two regional indicators and `\X` counts all before it.
_APART = regex.compile(
    r"(?r)[^\p{GCB=Prepend}\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=RI}\p{GCB=L}\r]"
    r"[^\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}\p{GCB=V}\p{GCB=T}]"
    r"|[^\p{GCB=Prepend}][ -~]"
)
_FLAG_RUN = regex.compile(r"(?:\p{GCB=RI}{2})*+")
_CLUSTER = regex.compile(r"\X")


def before(text: str, at: int, start: int, end: int) -> int:
    """Return the last place up to `at` where `text` may be cut; `start` and `end` are such places."""
    while (unit := _unit(text, at, start, end))[0] < at:
        at = unit[0]
    return at


def after(text: str, at: int, start: int, end: int) -> int:
    """Return the first place from `at` on where `text` may be cut; `start` and `end` are such places."""
    while (unit := _unit(text, at, start, end))[1] > at:
        at = unit[1]
    return at


def _unit(text: str, at: int, start: int, end: int) -> tuple[int, int]:
    """Return the range of what a cut at `at` would part, or nothing at `at`."""
    if not start < at < end:
        return at, at
    if text[at - 1] < "\x80" > text[at] != "\n" and text.find("\\", max(start, at - _LONGEST_ESCAPE), at) < 0:
        return at, at  # nearly always
    return _escape(text, at, start, end) or _cluster(text, at, start, end) or (at, at)


def _escape(text: str, at: int, start: int, end: int) -> tuple[int, int] | None:
    first = max(start, at - _LONGEST_ESCAPE)
    if text.find("\\", first, at) < 0:
        return None
    run = _BACKSLASHES.match(text, start, first)
    first -= len(run[0]) % 2 if run else 0
    inside = (m for m in _ESCAPE.finditer(text, first, min(end, at + _LONGEST_ESCAPE)) if m.start() < at < m.end())
    return next((match.span() for match in inside), None)


def _cluster(text: str, at: int, start: int, end: int) -> tuple[int, int] | None:
    if _PAIR.match(text, at - 1, end):
        return at - 1, at + 1
    if text[at - 1] < "\x80" > text[at]:
        return None
    apart = _APART.search(text, start, at)
    first = apart.start() + 1 if apart else start
    flags = _FLAG_RUN.match(text, first, at)
    if flags and flags.end() > first:
        first = flags.end() - 2
    for match in _CLUSTER.finditer(text, first, end):
        if match.end() >= at:
            return match.span() if match.end() > at else None
    return None
