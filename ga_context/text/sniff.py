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
