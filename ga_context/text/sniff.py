"""What a tool output is, judged by its first characters."""

from __future__ import annotations

import re

HTML_STARTS = ("<!doctype html", "<html", "<head", "<body")

HTML_ELEMENTS = (
    "a abbr address area article aside audio b blockquote br button canvas caption cite code col colgroup data "
    "datalist dd del details dfn dialog div dl dt em embed fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 "
    "header hgroup hr i iframe img input ins kbd label legend li link main map mark menu meta meter nav noscript "
    "object ol optgroup option output p picture pre progress q rp rt ruby s samp script search section select slot "
    "small source span strong style sub summary sup svg table tbody td template textarea tfoot th thead time title tr "
    "track u ul var video wbr"
)
"""Names of the HTML standard's element list."""

SNIFFED_CHARS = 20_000
LEAST_CLOSING_TAGS = 5

LEAST_LOG_LINES, LOG_CHARS = 3, 2_000
"""A text is a log if it has this many lines, and most lines in its first characters look like those of one."""

_LOG_LINE = re.compile(
    r"""\s*[\[(<"']?(?:
        \d{4}[-/.]\d\d[-/.]\d\d | \d{1,2}[-/](?:\d{1,2}|[A-Z][a-z]{2})[-/]\d{2,4} | \d{1,2}:\d\d:\d\d  # date, time
        | (?:[A-Z][a-z]{2}\ +){1,2}\d{1,2}\ +\d\d:\d\d | \d{10}(?:\d{3})?\b  # date and time of syslog, epoch
        | (?i:trace|debug|info|notice|warn|warning|error|fatal|critical|severe)\s?[\]:|)>\s]
        | (?:\d{1,3}\.){3}\d{1,3}\s | (?:time|ts|level|lvl|severity)= | \{.*\}\s*$  # address, keys and values
    )""",
    re.VERBOSE,
)

_NAMES = HTML_ELEMENTS.replace(" ", "|")
_FIRST_TAG = re.compile(rf"<(?:{_NAMES})[\s/>]", re.IGNORECASE)
_CLOSING_TAG = re.compile(rf"</(?:{_NAMES})\s*>", re.IGNORECASE)


def is_html(text: str) -> bool:
    """Return whether a tool output is HTML by the rule of spec 4.1."""
    start = text[:SNIFFED_CHARS].lstrip().removeprefix("\ufeff").lstrip()
    if start[:20].lower().startswith(HTML_STARTS):
        return True
    if not _FIRST_TAG.match(start):
        return False
    return sum(1 for _ in _CLOSING_TAG.finditer(start)) >= LEAST_CLOSING_TAGS


def is_log(text: str, start: int, end: int) -> bool:
    """Return whether the range is a log, a record on each line."""
    lines = [line for line in text[start : min(end, start + LOG_CHARS)].splitlines() if line.strip()]
    return len(lines) >= LEAST_LOG_LINES and 2 * sum(1 for line in lines if _LOG_LINE.match(line)) > len(lines)
