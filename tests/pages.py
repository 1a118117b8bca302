"""Pages made for tests: generated trees, garbage, and checks that any output must pass."""

import warnings
from collections import Counter
from html.parser import HTMLParser

import html5lib
from hypothesis import strategies as st

from ga_context.html.tree import names

TAGS = names(
    "div p span a b i ul ol li table tr td th tbody thead caption select option optgroup button input textarea form "
    "label h1 h2 pre code br img dl dt dd section main nav svg script style title iframe noscript details summary em "
    "strong font center video hr blockquote fieldset legend dialog template object math col colgroup body html head "
    "datalist ruby rt nobr marquee"
)
ATTRIBUTES = (
    "", "", " id=x", " href=/a?b=1&c=2", " hidden", " style='display:none'", ' class="nav"', " role=button",
    f' href="https://host.example/{"x" * 80}"', " alt=pic src=/i.png", ' value="a<b>&amp;"', " name=n type=text",
    " colspan=2", " href", ' x="unclosed', " aria-hidden=true", " contenteditable",
)  # fmt: skip
ODD = (
    "&amp;", "&lt;b&gt;", "&", "&#60;", "&nbsp;", "&copy", "<", "<!-- c -->", "<!--", "-->", "]]>", "<![CDATA[", "<?x",
    "</", ">", '"', "'", "\x00", "\ud800", "&#xD800;", "&#0;", "\n\n", "\t", "<!doctype html>",
)  # fmt: skip
WORDS = (
    "word", "some longer text with words", "漢字テキスト。", "a & b < c", "x" * 900, "The quick brown fox. " * 30, " ",
)  # fmt: skip

tags = st.builds(lambda tag, rest: f"<{tag}{rest}>", st.sampled_from(sorted(TAGS)), st.sampled_from(ATTRIBUTES))
ends = st.sampled_from(sorted(TAGS)).map(lambda tag: f"</{tag}>")
garbage = st.lists(st.one_of(tags, tags, ends, st.sampled_from(ODD), st.sampled_from(WORDS)), max_size=60).map("".join)
"""Tags, ends, marks and words in any order."""

trees = st.recursive(
    st.sampled_from(WORDS),
    lambda inside: st.builds(
        lambda tag, rest, parts: f"<{tag}{rest}>{''.join(parts)}</{tag}>",
        st.sampled_from(sorted(TAGS)),
        st.sampled_from(ATTRIBUTES[:-1]),
        st.lists(inside, max_size=5),
    ),
    max_leaves=40,
)
"""Elements in elements, each closed, in orders that no standard allows."""

IMPLIED = ("html", "head", "body", "tbody", "colgroup")
"""What a parser adds by itself."""
VOID = names("area base br col embed hr img input link meta param source track wbr")


class Balance(HTMLParser):
    """Count what is open, and note each end that closes something else."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.faults = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(tag)


def parsed(html):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of characters that XML does not know, in attributes
        return html5lib.parse(html, namespaceHTMLElements=False)


def serialised(html):
    return html5lib.serialize(parsed(html), omit_optional_tags=False, quote_attr_values="always")


def faults(html):
    """Return what is wrong with an output: not balanced, or another tree after a parser of HTML 5."""
    balance = Balance()
    balance.feed(html)
    balance.close()
    written = Counter(tag for tag in balance.tags if tag not in IMPLIED)
    found = Counter(node.tag for node in parsed(html).iter() if isinstance(node.tag, str))
    found = Counter({tag: n for tag, n in found.items() if tag not in (*IMPLIED, "DOCUMENT_ROOT")})
    again = serialised(html)
    return [
        *balance.faults,
        *balance.open,
        *((written - found) + (found - written)),
        *(["another tree"] if serialised(again) != again else []),
    ]
