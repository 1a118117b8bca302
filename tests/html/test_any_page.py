"""What holds for any page: within the budget, valid, nothing made up, the same each time, in linear time."""

import re
import sys
import time
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pages import faults, garbage, trees

from ga_context import prune_html
from ga_context.html.reader import read

BUDGETS = st.sampled_from([200, 300, 800, 3_000, 35_000])
MODES = st.sampled_from(["html", "markdown", "text"])


@given(st.one_of(garbage, trees), BUDGETS, MODES, st.sampled_from([None, "fox"]))
def test_never_over_the_budget_and_never_an_exception(page, budget, mode, query):
    pruned = prune_html(page, budget, mode=mode, query=query)
    assert len(pruned.html) <= budget
    assert pruned.report.chars_after == len(pruned.html)
    pruned.html.encode()
    for one in pruned.report.removed:
        assert 0 <= one.start <= one.end <= len(page)


@given(st.one_of(garbage, trees), BUDGETS)
def test_every_parser_reads_the_same(page, budget):
    """Balanced, and the same elements after a parser of HTML 5, which finds nothing to repair."""
    assert faults(prune_html(page, budget).html) == []


@given(st.one_of(garbage, trees), BUDGETS)
def test_nothing_is_made_up(page, budget):
    """Each word of the output is one of the page's, hidden text between its parts left out, or stands in a note."""
    pruned = prune_html(page, budget)
    gone = [range(one.start, one.end) for one in pruned.report.removed]
    nodes, starts, _ = read(page)
    texts = [
        (node.text, any(at in one for one in gone)) for node, at in zip(nodes, starts, strict=True) if not node.tag
    ]
    letters = "".join("".join(text for text, _ in texts).split())
    shown = "".join("".join(text for text, hidden in texts if not hidden).split())
    out = re.sub(r"\[…[^\]]*\]|…", " ", pruned.html)
    words = " ".join(node.text for node in read(out).nodes if not node.tag).split()
    assert [word for word in words if word not in letters and word not in shown] == []


@given(st.one_of(garbage, trees), BUDGETS, MODES)
def test_the_same_page_gives_the_same_characters(page, budget, mode):
    assert prune_html(page, budget, mode=mode) == prune_html(page, budget, mode=mode)


@given(trees)
def test_no_text_goes_unsaid(page):
    """With room for all of it, each text of the page is in the output, or in what the report says went."""
    pruned = prune_html(page, 300_000)
    gone = [range(one.start, one.end) for one in pruned.report.removed]
    assert not [one for one in pruned.report.removed if one.reason == "over the budget"]
    letters = "".join("".join(node.text for node in read(pruned.html).nodes if not node.tag).split())
    nodes, starts, _ = read(page)
    for node, at in zip(nodes, starts, strict=True):
        if not node.tag and not any(at in one for one in gone) and node.parent.tag != "title":
            assert "".join(node.text.split()) in letters


HOSTILE = {
    "empty": "",
    "text only": "word " * 30_000,
    "one pre": "<pre>" + "x" * 100_000 + "</pre>",
    "lines": "<pre>" + "a line of code\n" * 8_000 + "</pre>",
    "nested divs": "<div>" * 100_000 + "DEEP" + "</div>" * 100_000,
    "nested lists": "<ul><li>" * 30_000 + "DEEP",
    "nested tables": "<table><tr><td>x" * 10_000,
    "nested inlines": "<a href=x>y<b>" * 20_000,
    "a million attributes": "<div " + " ".join(f"a{i}=1" for i in range(1_000_000)) + ">TEXT</div>",
    "entities": "&lt;" * 200_000,
    "entity bomb": '<!DOCTYPE x [<!ENTITY a "b"><!ENTITY c "&a;&a;&a;">]><p>&c;</p>',
    "a huge number": "<p>&#" + "9" * 100_000 + ";</p>",
    "lone surrogates": "<p title='\ud800'>x\udfff</p>",
    "unclosed quotes": '<a x=">" ' * 20_000,
    "unclosed comments": "<!--" * 50_000,
    "unclosed scripts": "<script>" * 50_000,
    "less than": "<" * 100_000,
    "options": "<select>" + "<option>x y z" * 30_000,
    "headings": "<h1><img alt=x></h1>" * 20_000,
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("budget", [200, 35_000])
def test_hostile_pages(name, budget):
    """Within the budget, valid as a balance of tags, in seconds."""
    started = time.process_time()
    out = prune_html(HOSTILE[name], budget).html
    assert time.process_time() - started < 10
    assert len(out) <= budget
    assert len(re.findall(r"<(?!br|img|input|hr|!)[a-z]", out)) == out.count("</")


@pytest.mark.parametrize("depth", [250, 260, 1_000, 5_000])
def test_deep_text_stays(depth):
    assert "DEEPMARKER" in prune_html("<html><body>" + "<div>" * depth + "DEEPMARKER" + "</div>" * depth).html


def test_a_page_of_ten_megabytes():
    page = "<html><body>" + "<div class=n><p>missing page filler <a href=/x>link</a></p></div>\n" * 150_000
    pruned = prune_html(page, 35_000)
    assert 34_000 < len(pruned.html) <= 35_000
    assert sum(one.chars for one in pruned.report.removed) > 0.95 * len(page)


ITEM = "<div class=item><h3>Title</h3><p>Some text of an item, <a href=/item>more</a></p><button>Buy</button></div>"


def test_work_is_linear():
    """A page four times as long takes four times as many calls, whatever else the machine does."""

    def calls(page):
        seen = []
        sys.setprofile(lambda frame, event, arg: seen.append(1) if event.endswith("call") else None)
        try:
            prune_html(page, 8_000)
        finally:
            sys.setprofile(None)
        return len(seen)

    assert calls(ITEM * 4_000) < 4.1 * calls(ITEM * 1_000)


def test_memory_is_at_most_twenty_times_the_page():
    """Of a page that is nearly all tags and short texts; pages of the web take two to thirteen times."""
    page = "<div class=n><p>missing page filler <a href=/x>link</a></p></div>\n" * 15_000
    tracemalloc.start()
    try:
        prune_html(page, 35_000)
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak_bytes < 20 * len(page)
