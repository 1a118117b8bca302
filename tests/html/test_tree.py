"""Reading: what is in what, where it stands in the source, and nothing lost."""

import pytest

from ga_context.html.reader import read
from ga_context.html.words import decoded

WRITTEN = [
    ("<p>a<p>b", "p[a] p[b]"),
    ("<ul><li>a<li>b<ul><li>c</ul></ul>d", "ul[li[a] li[b ul[li[c]]]] d"),
    ("<table>x<tr><td>a<td>b<tr>c</table>d", "table[tr[td[x]] tr[td[a] td[b]] tr[td[c]]] d"),
    ("<td>loose</td>", "div[loose]"),
    ("<select><option>1<option><b>2</b></select>", "select[option[1] option[2]]"),
    ("<a href=x>a<a href=y>b</a>c", "a[a] a[b] c"),
    ("<b>a</i>b</b>c", "b[a b] c"),
    ("<p a='1>2' b=\"q>r\">x</p>", "p[x]"),
    ("a < b <i>c</i>", "a < b i[c]"),
    ("<h2>a</h3>b", "h2[a] b"),
    ("<form>a<form>b</form>c", "form[a b] c"),
    ("<textarea>a<b>c</textarea>", "textarea[a<b>c]"),
    ("<button>a<button>b", "button[a] button[b]"),
    ("<dl><dt>a<dd>b<dt>c</dl>", "dl[dt[a] dd[b] dt[c]]"),
    ("<div><span>a</div>b", "div[a] b"),
]


def outline(html):
    """Write the tree of a page on a line: ``p[text b[text]]``."""
    nodes = read(html).nodes
    children = {}
    for node in nodes[1:]:
        if node.tag != "#":
            children.setdefault(id(node.parent), []).append(node)

    def said(node):
        inside = " ".join(map(said, children.get(id(node), ())))
        return f"{node.tag}[{inside}]" if node.tag else node.text

    return " ".join(map(said, children.get(id(nodes[0]), ())))


@pytest.mark.parametrize(("html", "tree"), WRITTEN)
def test_tags_end_what_they_end(html, tree):
    assert outline(html) == tree


@pytest.mark.parametrize(
    "html",
    [
        "<p>ONE</p><!-- cut here <p>TWO</p>",
        "<p>ONE</p><script>var x = 1; <p>TWO</p>",
        "<p>ONE</p><iframe src=x><p>TWO</p>",
        "<p>ONE</p><noscript><p>TWO</p>",
        "<p>ONE</p><noscript><iframe src=x></noscript><p>TWO</p>",
        "<p>ONE</p><textarea><p>TWO</p>",
        "<p>ONE</p><style>p {color: red} <p>TWO</p>",
        "<p>ONE</p><![CDATA[ cut <p>TWO</p>",
    ],
)
def test_what_is_not_closed_swallows_nothing(html):
    """Of the unclosed part only what can be no text goes, up to the next tag."""
    texts = [node.text for node in read(html).nodes if not node.tag]
    assert "ONE" in texts
    assert "TWO" in texts


def test_each_node_knows_its_range():
    html = '<div id=a><p class="x">One &amp; two</p> tail</div><br>'
    found = {node.tag or node.text: html[start:end] for node, start, end in zip(*read(html), strict=True)}
    assert found["div"] == '<div id=a><p class="x">One &amp; two</p> tail</div>'
    assert found["p"] == '<p class="x">One &amp; two</p>'
    assert found["One & two"] == "One &amp; two"
    assert found["br"] == "<br>"


@pytest.mark.parametrize("word", ["word ", "&amp;&nbsp;x. ", "字", "a line\n"])
def test_a_long_text_comes_in_pieces(word):
    """They join to the text, and their ranges to the source."""
    html = f"<pre>{word * 1_000}</pre>"
    pieces = [(node.text, html[start:end]) for node, start, end in zip(*read(html), strict=True) if not node.tag]
    assert max(len(text) for text, _ in pieces) <= 800
    assert "".join(text for text, _ in pieces) == decoded(word * 1_000)
    assert "".join(source for _, source in pieces) == word * 1_000


@pytest.mark.parametrize(
    ("reference", "text"),
    [
        ("&lt;", "<"),
        ("&#65;", "A"),
        ("&#0000000065;", "A"),
        ("&#" + "9" * 10_000 + ";", "\ufffd"),
        ("&unknown;", "&unknown;"),
    ],
)
def test_references(reference, text):
    assert decoded(reference) == text


def test_no_depth_is_too_great():
    """Where parsers give up, lose the rest, or take minutes."""
    nodes, _, _ = read("<div>" * 100_000 + "DEEP" + "</div>" * 100_000)
    assert len(nodes) == 100_002
    assert nodes[-1].text == "DEEP"
