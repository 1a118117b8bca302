"""What stays of a page, and how it is written."""

import re

import pytest

from ga_context import prune_html

NAV = "<nav>" + "".join(f"<a href=/topic/{i}>Topic {i}</a>" for i in range(60)) + "</nav>"
PROSE = "".join(f"<p>Paragraph {i} tells the story, in whole sentences, of how it came about.</p>" for i in range(60))
LINES = "".join(f"<div>Imprint line {i} of the company and its terms.</div>" for i in range(60))
FOOTER = f"<footer>{LINES}</footer>"


@pytest.mark.parametrize(
    ("page", "out"),
    [
        ("<p>One</p>", "<p>One</p>"),
        ("<div><div><span>One</span></div></div>", "One"),
        ("<script>x</script><style>y</style><!-- z --><template>t</template><p>One</p>", "<p>One</p>"),
        ("<p hidden>no</p><p style='display: none'>no</p><p aria-hidden=true>no</p>One", "One"),
        ("<img src=p.gif width=1 height=1><svg><path d=x /></svg>One", "One"),
        ('<p class="mt-4 flex">a\n\n   b</p>', "<p>a b</p>"),
        ("<a href=/x class=b onclick=y>Go</a>", "<a href=/x>Go</a>"),
        ("<a href='javascript:void(0)'>Go</a>", "<a href=#>Go</a>"),
        ("<input type=hidden name=token value=1><input name=q>", "<input name=q>"),
        ("<input type=text name=q value='a \"b\"' placeholder=Go>", "<input name=q value='a \"b\"' placeholder=Go>"),
        ("<button type=submit><svg></svg></button>", "<button></button>"),
        ("<button aria-label=Close><svg></svg></button>", "<button aria-label=Close></button>"),
        ("<div role=button id=b>Go</div>", "<div role=button id=b>Go</div>"),
        ("a &lt;b&gt; &amp;amp; R&D", "a &lt;b> &amp;amp; R&amp;D"),
        ("<b>a </b>c<i> d</i>", "<b>a</b> c<i> d</i>"),
        ("<pre>  x\n\ty</pre>", "<pre>  x\n\ty</pre>"),
        ("<ul><li>a<li>b</ul>", "<ul>\n<li>a</li>\n<li>b</li></ul>"),
        ("<table><tr><td>a<td colspan=2>b</table>", "<table>\n<tr>\n<td>a</td>\n<td colspan=2>b</td></tr></table>"),
        ("<div hidden><a href=/x>menu</a></div>", "<div hidden><a href=/x>menu</a></div>"),
    ],
)
def test_a_small_page_is_cleaned(page, out):
    """What nobody can read or use goes, tags and spaces that say nothing too; the rest is written shortly."""
    assert prune_html(page).html == f"<!doctype html>{out}"


def test_addresses():
    """Relative on the page's own host; a long one is a number, and the report has the address."""
    long = "https://other.example/" + "x" * 80
    page = f'<base href="https://host.example/"><a href="https://host.example/a">A</a> <a href="{long}">B</a>'
    pruned = prune_html(page)
    assert "<a href=/a>A</a> <a href=@1>B</a>" in pruned.html
    assert pruned.report.addresses == {"@1": long}


def test_main_content_comes_before_what_is_around_it():
    """Neither the largest nor the last part goes first: order says nothing."""
    for page in (NAV + PROSE + FOOTER, FOOTER + NAV + PROSE, f"<main>{PROSE}</main>{FOOTER}{NAV}"):
        out = prune_html(page, 6_000).html
        assert out.count("Paragraph") >= 50
        assert out.count("Imprint") < 5
        assert out.count("<a href") >= 10


def test_controls_stay_beside_prose():
    form = "<form><label for=q>Search</label><input id=q name=q><button>Find</button></form>"
    out = prune_html(NAV + form + PROSE * 3 + FOOTER, 3_000).html
    assert re.search(r"Search\s*<input name=q>\s*<button>Find</button>", out)


def test_a_heading_stays_with_what_it_heads():
    sections = "".join(f"<h2>Section {i}</h2><p>{'Text of the section, as prose. ' * 12}</p>" for i in range(30))
    out = prune_html(sections, 4_000).html
    assert out.count("Text of") >= 8
    assert re.findall(r".*\nText of", out) == re.findall(r".*<h2>Section \d+</h2>\nText of", out)


def test_the_head_of_a_table_stays_with_its_rows():
    rows = "".join(f"<tr><td>name {i}<td>{i * 7}</tr>" for i in range(400))
    out = prune_html(f"<table><tr><th>Name<th>Number</tr>{rows}</table>", 2_000).html
    assert "<th>Name</th>" in out
    assert out.index("<th>") < out.index("<td>")


def test_a_run_keeps_head_tail_and_what_is_asked_for():
    """The rest is a note of how many, where, and what the first are; only as far as the budget needs."""
    options = "".join(f"<option value={i}>Country number {i}</option>" for i in range(900))
    page = f"<p>Choose.</p><select id=country>{options}</select>"
    assert prune_html(page, 60_000).html.count("<option") == 900
    out = prune_html(page, 14_000, query="number 777").html
    for kept in (0, 1, 777, 899):
        assert f">Country number {kept}</option>" in out
    assert re.search(r"\[…\d+ chars \d+ of 900 #country>option:nth-of-type\(n\+\d+\)", out)


def test_a_query_outranks():
    page = NAV + PROSE + "<footer><p>Returns are accepted within 30 days of purchase.</p></footer>"
    assert "Returns" not in prune_html(page, 2_000).html
    assert "Returns are accepted" in prune_html(page, 2_000, query="returns accepted").html


def test_each_subtree_that_went_is_on_record():
    """By its characters in the page; its place holds a short note."""
    page = f"<script>x()</script><main>{PROSE}</main><div id=foot>{FOOTER}</div>"
    pruned = prune_html(page, 4_000)
    script, *_, foot = pruned.report.removed
    assert (page[script.start : script.end], script.reason) == ("<script>x()</script>", "script")
    assert (foot.path, foot.reason) == ("#foot", "over the budget")
    assert page[foot.start : foot.end] == f"<div id=foot>{FOOTER}</div>"
    assert re.search(r"\n\[…\d+ chars\]$", pruned.html)
    sizes, first, *_ = str(pruned.report).splitlines()
    assert sizes == f"{len(page):,} -> {len(pruned.html):,} of 4,000 characters"
    assert first == "  body>script [0:20], 20 chars: script"


def test_prose_items_are_no_run():
    """Posts of a forum are read, not sampled."""
    posts = "".join(f"<li>Post {i}: {'what the writer thinks of it. ' * 9}</li>" for i in range(40))
    out = prune_html(f"<ul>{posts}</ul>", 6_000).html
    assert [int(n) for n in re.findall(r"Post (\d+)", out)] == list(range(out.count("Post")))


def test_markdown_counts_what_can_be_acted_on():
    page = (
        "<title>T</title><h1>Shop</h1><p>A <b>fine</b> <a href=/x>offer</a></p><input name=n value=1>"
        "<button>Save</button>"
    )
    assert prune_html(page, mode="markdown").html == (
        "T\n# Shop\n\nA **fine** [1][offer](/x)\n\n[2]<input name=n value=1> [3]<button>Save</button>"
    )


def test_text_is_the_words_alone():
    page = "<h1>Shop</h1><p>A <b>fine</b> <a href=/x>offer</a></p><input name=n><table><tr><td>1<td>2</table>"
    assert prune_html(page, mode="text").html == "Shop\nA fine offer\n1 2"


def test_a_page_with_nothing_to_read_says_so():
    page = "<html><body><script>" + "x" * 500 + "</script></body></html>"
    assert prune_html(page).html == f"<!doctype html>[…{len(page)} chars: script]"


def test_what_is_wrong_is_said():
    with pytest.raises(ValueError, match="`budget` must be 200 characters or more, to hold a page at all; got 199"):
        prune_html("<p>x", 199)
    with pytest.raises(ValueError, match="`mode` must be one of html, markdown, text; got 'xml'"):
        prune_html("<p>x", mode="xml")
