"""Real pages, where they are at hand: within the budget, valid, with their content."""

import gzip
import json

import pytest
from pages import faults

from ga_context import prune_html


@pytest.mark.parametrize("budget", [35_000, 8_000])
def test_real_pages(shared, budget):
    root = shared / "data" / "html" / "dev"
    if not root.is_dir():
        pytest.skip("no pages there")
    for page in json.loads((root / "manifest.json").read_text("utf-8"))["pages"][::3]:
        data = gzip.decompress((root / f"{page['name']}.html.gz").read_bytes())
        out = prune_html(data, budget).html
        assert len(out) <= budget
        assert faults(out) == []


@pytest.mark.parametrize("name", ["72-html-depth-over-256", "74-html-unclosed-raw-text"])
def test_a_reported_case_holds(shared, name):
    """What must be kept is in the output of one of the case's pages."""
    case = json.loads((shared / "cases" / f"{name}.json").read_text("utf-8"))
    messages = eval(case["generator"]) if case.get("generator") else case["messages"]
    outputs = [prune_html(message["content"]).html for message in messages]
    for check in case["checks"]:
        kept = check.removeprefix("keep:")
        holding = [out for out in outputs if kept in out]
        assert len(holding) == (len(outputs) if case.get("generator") else 1), kept
