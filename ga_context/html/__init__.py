"""Pages, pruned to what a reader and an agent need of them. Knows no messages; its parts load with the first page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, get_args

from ga_context.html.report import Mode, PrunedHTML, PruneReport, Removed

__all__ = ["LEAST_BUDGET", "Mode", "PruneReport", "PrunedHTML", "Removed", "prune_html", "prune_page"]

LEAST_BUDGET = 200
"""A smaller budget holds no page (spec 8)."""


def prune_html(html: Any, budget: int = 35_000, *, query: str | None = None, mode: Mode = "html") -> PrunedHTML:
    """Prune a page to what a reader and an agent need of it.

    Args:
        html: the page as str, as bytes (their charset is found out), or as a BeautifulSoup.
        budget: most characters of the output, 200 at least. The default is spec 4.1's limit for pages.
        query: subtrees that hold its words outrank others.
        mode: ``"html"``; ``"markdown"``, with links and controls numbered; or ``"text"``, the words alone.

    Returns:
        The output, and a report of all that is not in it, by character ranges of the given page.

    Raises:
        ValueError: a budget below 200, or a mode that is not known.
        TypeError: a page that is none of these.
    """
    from ga_context.html.decode import as_text
    from ga_context.html.prune import Pruner

    if budget < LEAST_BUDGET:
        raise ValueError(f"`budget` must be {LEAST_BUDGET} characters or more, to hold a page at all; got {budget!r}")
    if mode not in get_args(Mode):
        raise ValueError(f"`mode` must be one of {', '.join(get_args(Mode))}; got {mode!r}")
    return Pruner(as_text(html), budget, query, mode).prune()


def prune_page(html: str, budget: int, note: Callable[[Mapping[str, str]], str]) -> PrunedHTML:
    """Prune a page whose last line is ours: a note, made of what stands for long addresses."""
    from ga_context.html.prune import Pruner

    return Pruner(html, budget, None, "html", note).prune()
