"""Addresses, as short as they can be and still be followed."""

from __future__ import annotations

import re
from collections.abc import Callable

from ga_context.html.tree import Node

_HOST = re.compile(r"(?:https?:)?//[^/?#\s]+", re.IGNORECASE)
_SCRIPT = re.compile(r"\s*javascript:", re.IGNORECASE)


class Addresses:
    """Shorten the addresses of one page and remember those that were replaced."""

    def __init__(self, base: str) -> None:
        found = _HOST.match(base)
        self.host = found[0].lower() if found else ""
        self.bare_host = self.host.partition(":")[2] or self.host
        self.numbers: dict[str, str] = {}
        """Long address -> what stands for it: ``@1``, ``@2`` and so on."""

    def short(self, url: str, limit: int) -> str:
        """Return an address of at most ``limit`` characters: relative on the page's own host, else a number."""
        url = url.strip()
        if _SCRIPT.match(url):
            return "#"
        for host in (self.host, self.bare_host) if self.host else ():
            if url[: len(host)].lower() == host and url[len(host) : len(host) + 1] in ("", "/", "?", "#"):
                url = url[len(host) :] or "/"
                break
        if len(url) <= limit:
            return url
        return self.numbers.setdefault(url, f"@{len(self.numbers) + 1}")

    def by_number(self) -> dict[str, str]:
        """Return what stands for each long address -> the address."""
        return {number: url for url, number in self.numbers.items()}


def base_of(nodes: list[Node], attrs: Callable[[str], dict[str, str]]) -> str:
    """Return the address that a page gives itself: its base, its canonical link, or what it tells other sites."""
    found = {"base": "", "link": "", "meta": ""}
    for node in nodes:
        if node.tag in found and not found[node.tag]:
            source = node.text
            if node.tag == "base":
                found["base"] = attrs(source).get("href", "")
            elif node.tag == "link" and "canonical" in source:
                found["link"] = attrs(source).get("href", "")
            elif node.tag == "meta" and "og:url" in source:
                found["meta"] = attrs(source).get("content", "")
    return next((url for url in found.values() if _HOST.match(url)), "")
