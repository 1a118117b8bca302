"""Measure what is left of real pages, beside other programs, at the same budgets and in one run.

    python benchmarks/html.py ../shared/data/html/dev            # writes html.json and html.svg beside this file
    python benchmarks/html.py FOLDER --pages 5 --dry             # a few pages; prints only

FOLDER holds manifest.json, NAME.html.gz and NAME.gt.json (`text`: the main content, `without`: boilerplate snippets).
Needs the ``bench`` extra (pip 23.2 stops at its ``lxml[html-clean]``: ``pip install -U pip`` first); a program that is
not installed is left out, as is crawl4ai (900 MB) unless you install it by hand. Definitions:

recall    share of the main content's word 4-grams (CJK: characters) in the output, of what the page itself gives and
          of what can fit: min(1, .95 budget / (1.10 characters of main content))
links     a[href] in the output / in the page; controls: button, select, textarea, input that is not hidden
U         harmonic mean of recall, links and controls; mean over pages, 0 where one is 0
without   boilerplate snippets that are in the output / all of them
cpu       processor time, summed over the pages / one lxml parse and serialisation of them, best of three
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:] = [one for one in sys.path if Path(one or ".").resolve() != Path(__file__).resolve().parent]
# "html" is a module of Python's own, which this file must not stand before.

import argparse
import gzip
import importlib
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from statistics import mean
from time import process_time
from typing import Any

from lxml import etree
from lxml import html as lxml_html
from rich.console import Console
from rich.progress import track
from rich.table import Table
from selectolax.lexbor import LexborHTMLParser

from ga_context import prune_html
from ga_context.html import units
from ga_context.html.tree import names

BUDGETS = (35_000, 16_000, 8_000)
GOALS = {35_000: (0.985, 0.95), 16_000: (0.93, 0.75), 8_000: (0.88, 0.45)}
"""Budget: recall and U, at least; from the issue."""
CURVE_BUDGET = 8_000
CURVE = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)
"""Shares of the budget for links and controls, in those of `units.py`: the trade-off that the picture shows."""

_CJK = r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]"
_WORD = re.compile(rf"{_CJK}|(?:(?!{_CJK})[^\W_])+")
_BREAKS = names(
    "address article aside blockquote body br button caption center dd details dialog div dl dt fieldset figcaption "
    "figure footer form h1 h2 h3 h4 h5 h6 header hr iframe img input label legend li main nav ol option p pre section "
    "select summary table tbody td textarea tfoot th thead tr ul video"
)
_UNSEEN = "|".join(f"//{tag}" for tag in ("script", "style", "noscript", "template", "head", "svg"))
_CONTROLS = "button,select,textarea,input:not([type=hidden])"
_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")


@dataclass(frozen=True)
class Page:
    """A page with what is known of it."""

    html: str
    grams: Counter[tuple[str, ...]]
    main_chars: int
    ceiling: float
    links: int
    controls: int
    without: list[str]


@dataclass
class Row:
    """What a program reached at a budget."""

    system: str
    budget: int
    recall: float
    least_recall: float
    links: float
    controls: float
    u: float
    without: float
    over: int
    cpu: float


def words(text: str) -> list[str]:
    """Return a text's words; of CJK its characters."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).lower())


def grams(text: str) -> Counter[tuple[str, ...]]:
    """Return the runs of four words, each as often as it is there."""
    found = words(text)
    return Counter(zip(*[found[at:] for at in range(4)], strict=False))


def read_tree(html: str) -> Any:
    """Parse with lxml, at any depth it can."""
    parser = lxml_html.HTMLParser(encoding="utf-8", huge_tree=True)
    return lxml_html.document_fromstring(html.encode("utf-8", "replace"), parser=parser)


def visible(html: str) -> str:
    """Return the text of a page, blocks apart."""
    html = _NO_XML.sub(" ", html)
    if not html.strip():
        return ""
    tree = read_tree(html)
    for element in tree.xpath(_UNSEEN):
        if element.getparent() is not None:
            element.drop_tree()
    for element in tree.iter():
        if element.tag in _BREAKS:
            element.text, element.tail = f" {element.text or ''}", f" {element.tail or ''}"
    return str(tree.text_content())


def share(part: Counter[tuple[str, ...]], of: Counter[tuple[str, ...]]) -> float:
    """Return how much of one multiset is in another."""
    return sum(min(count, part[gram]) for gram, count in of.items()) / max(1, sum(of.values()))


def counts(html: str) -> tuple[int, int]:
    """Return how many links and controls a page has."""
    tree = LexborHTMLParser(html)
    return len(tree.css("a[href]")), len(tree.css(_CONTROLS))


def load(folder: Path, most: int) -> list[Page]:
    """Read the pages of a folder."""
    pages = []
    for entry in json.loads((folder / "manifest.json").read_text("utf-8"))["pages"][:most]:
        html = gzip.decompress((folder / f"{entry['name']}.html.gz").read_bytes()).decode(entry["charset"], "replace")
        truth = json.loads((folder / f"{entry['name']}.gt.json").read_text("utf-8"))
        without = [" ".join(words(one)) for one in truth.get("without") or []]
        main = grams(truth["text"])
        pages.append(Page(html, main, len(truth["text"]), entry["gt_ceiling_4gram"], *counts(html), without))
    return pages


# -- the programs


def own(html: str, budget: int) -> str:
    """Prune with this library."""
    return prune_html(html, budget).html


def _sliced(run: Callable[[str], str | None]) -> Callable[[str, int], str]:
    return lambda html, budget: (run(html) or "")[:budget]


def _trafilatura(module: Any) -> Callable[[str], str | None]:
    return lambda html: module.extract(html, favor_recall=True)


def _html2text(module: Any) -> Callable[[str], str | None]:
    def run(html: str) -> str:
        writer = module.HTML2Text()
        writer.body_width = 0
        return str(writer.handle(html))

    return run


def _readability(module: Any) -> Callable[[str], str | None]:
    return lambda html: module.Document(html).summary()


def _crawl4ai(module: Any) -> Callable[[str], str | None]:
    writer = module.DefaultMarkdownGenerator(content_filter=module.PruningContentFilter())
    return lambda html: writer.generate_markdown(html, base_url="", citations=False).fit_markdown


PEERS = {"crawl4ai": _crawl4ai, "trafilatura": _trafilatura, "html2text": _html2text, "readability": _readability}
"""Module -> how it is run; all but this library know no budget: the first characters of what they give are taken."""


def systems() -> dict[str, Callable[[str, int], str]]:
    """Return what is installed."""
    found: dict[str, Callable[[str, int], str]] = {"ga_context": own}
    for name, prepare in PEERS.items():
        try:
            found[name] = _sliced(prepare(importlib.import_module(name)))
        except ImportError as error:
            print(f"left out: {name} ({error})")
    found["page[:budget]"] = lambda html, budget: html[:budget]
    return found


# -- measuring


def measure(name: str, run: Callable[[str, int], str], pages: list[Page], budget: int, floor: float) -> Row:
    """Run a program over all pages."""
    recalls, links, controls, us, seconds, present, over = [], [], [], [], 0.0, 0, 0
    for page in pages:
        started = process_time()
        out = run(page.html, budget)
        seconds += process_time() - started
        over += len(out) > budget
        text = visible(out)
        fits = min(1.0, 0.95 * budget / (1.10 * max(1, page.main_chars)))
        recalls.append(min(1.0, share(grams(text), page.grams) / page.ceiling / fits))
        has = counts(out)
        links.append(min(1.0, has[0] / page.links) if page.links else 1.0)
        controls.append(min(1.0, has[1] / page.controls) if page.controls else 1.0)
        parts = (recalls[-1], links[-1], controls[-1])
        us.append(3 / sum(1 / part for part in parts) if all(parts) else 0.0)
        said = " ".join(words(text))
        present += sum(snippet in said for snippet in page.without)
    snippets = max(1, sum(len(page.without) for page in pages))
    averages = [round(mean(values), 3) for values in (links, controls, us)]
    least = round(min(recalls), 3)
    return Row(
        name,
        budget,
        round(mean(recalls), 3),
        least,
        *averages,
        round(present / snippets, 3),
        over,
        round(seconds / floor, 2),
    )


def floor_seconds(pages: list[Page]) -> float:
    """Return the processor time of one parse and one serialisation of each page."""

    def once(html: str) -> float:
        started = process_time()
        etree.tostring(read_tree(html), method="html")
        return process_time() - started

    return sum(min(once(page.html) for _ in range(3)) for page in pages)


def curve(pages: list[Page], floor: float) -> list[Row]:
    """Return what other shares for links and controls would give."""
    shares = units.LINK_SHARE, units.CONTROL_SHARE
    rows = []
    for factor in CURVE:
        units.LINK_SHARE, units.CONTROL_SHARE = (max(1e-6, one * factor) for one in shares)
        rows.append(measure(f"shares x {factor:g}", own, pages, CURVE_BUDGET, floor))
    units.LINK_SHARE, units.CONTROL_SHARE = shares
    return rows


def table(rows: list[Row]) -> Table:
    """Return the rows as a table to read."""
    out = Table(title=f"means over pages; goals of recall and U: {GOALS}")
    for name in Row.__dataclass_fields__:
        out.add_column(name, justify="left" if name == "system" else "right")
    for row in rows:
        out.add_row(*[f"{value:,}" if isinstance(value, int) else str(value) for value in asdict(row).values()])
    return out


def picture(rows: list[Row], points: list[Row]) -> str:
    """Draw U over recall and over boilerplate: the curve of the shares, and each program, at `CURVE_BUDGET`."""
    goal_recall, goal_u = GOALS[CURVE_BUDGET]
    trafilatura = next((row.without for row in points if row.system == "trafilatura"), 0.0)
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="1280" height="390" font-family="sans-serif" font-size="11">'
        '<rect width="1280" height="390" fill="white"/>'
        + _panel(rows, points, "recall", f"recall of main content at {CURVE_BUDGET:,} characters", goal_recall, goal_u)
        + '<g transform="translate(640 0)">'
        + _panel(rows, points, "without", "boilerplate snippets in it (less is better)", trafilatura, goal_u)
        + "</g></svg>\n"
    )


def _panel(rows: list[Row], points: list[Row], field: str, label: str, goal: float, goal_u: float) -> str:
    def place(row: Row) -> tuple[float, float]:
        return 60 + 520 * float(getattr(row, field)), 340 - 480 * row.u

    line = " ".join(f"{x:.0f},{y:.0f}" for x, y in map(place, rows))
    dots = ""
    for row in rows:
        name = "ga_context (shares x 1)" if row.system == "shares x 1" else row.system
        dots += _dot(*place(row), name, "#2563eb", 8, 4)
    peers = sorted([row for row in points if row.system != "ga_context"], key=place)
    dots += "".join([_dot(*place(row), row.system, "#b91c1c", 4, -10 - 14 * (at % 2)) for at, row in enumerate(peers)])
    ticks = "".join([f'<text x="{60 + 104 * at}" y="354" text-anchor="middle">{at / 5:g}</text>' for at in range(6)])
    ticks += "".join([f'<text x="54" y="{344 - 48 * at}" text-anchor="end">{at / 10:g}</text>' for at in range(7)])
    goals = f"M{60 + 520 * goal:.0f} 340V30M60 {340 - 480 * goal_u:.0f}H580"
    return (
        f'<text x="320" y="15" text-anchor="middle" font-size="13">U against {label}; dashed: goals</text>'
        f'<path d="M60 20V340H590" fill="none" stroke="black"/>{ticks}'
        f'<path d="{goals}" fill="none" stroke="gray" stroke-dasharray="4"/>'
        f'<text x="320" y="375" text-anchor="middle">{label}</text>'
        '<text x="20" y="180" transform="rotate(-90 20 180)" text-anchor="middle">U: recall, links and controls</text>'
        f'<polyline points="{line}" fill="none" stroke="#2563eb"/>{dots}'
    )


def _dot(x: float, y: float, name: str, color: str, right: int, down: int) -> str:
    """Draw a place in the picture, with its name beside it."""
    circle = f'<circle cx="{x:.0f}" cy="{y:.0f}" r="4" fill="{color}"/>'
    return circle + f'<text x="{x + right:.0f}" y="{y + down:.0f}">{name}</text>'


def main() -> None:
    """Measure all programs at all budgets."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("folder", type=Path)
    options.add_argument("--pages", type=int, default=1_000, help="so many at most")
    options.add_argument("--dry", action="store_true", help="print only")
    given = options.parse_args()
    pages = load(given.folder, given.pages)
    floor = floor_seconds(pages)
    jobs = [(name, run, budget) for budget in BUDGETS for name, run in systems().items()]
    rows = [measure(name, run, pages, budget, floor) for name, run, budget in track(jobs, transient=True)]
    Console(width=120).print(table(rows))
    shares = curve(pages, floor)
    Console(width=120).print(table(shares))
    if given.dry:
        return
    target = Path(__file__)
    document = {"pages": len(pages), "rows": [asdict(row) for row in rows], "curve": [asdict(row) for row in shares]}
    target.with_suffix(".json").write_text(json.dumps(document, indent=1) + "\n", "utf-8")
    points = [row for row in rows if row.budget == CURVE_BUDGET]
    target.with_suffix(".svg").write_text(picture(shares, points), "utf-8")


if __name__ == "__main__":
    main()
