"""Which pairs stand on their own, and what is code."""

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ga_context.text.tags import Pair, code, find, matches, mates, pairs

NAMES = ("a", "b", "c")
PARTS = ["<a>", "</a>", "<b>", "</b>", "<c>", "</c>", "x", "`", "``", "\n", "\n\n", "\n```\n", "\n~~~~ x\n", "\n~~~\n"]
TEXTS = st.lists(st.sampled_from(PARTS), max_size=24).map("".join)


def spans(text):
    """Return the text of each pair."""
    return [text[pair.start : pair.end] for pair in pairs(text, NAMES)]


def test_pair_says_where_its_content_is():
    """Offsets of the tags and of what is between."""
    assert pairs("x<a>yes</a>z", NAMES) == [Pair("a", 1, 4, 7, 11)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<a>1</a><b>2</b>", ["<a>1</a>", "<b>2</b>"]),
        ("<a><b>1</b></a>", ["<a><b>1</b></a>"]),
        ("<a><a>1</a></a>", ["<a><a>1</a></a>"]),
        ("<a> <a>1</a>", ["<a>1</a>"]),
        ("<a><b></a><c>1</c></b>", ["<c>1</c>"]),
        ("<a><b>1</b><c></a>", ["<b>1</b>"]),
        ("<a>1</b></a>", []),
        ("<A>1</A><a x='1'>2</a><a/>< a>3</ a><d>4</d>", []),
        ("<a>1", []),
        ("1</a>", []),
    ],
)
def test_outermost_self_contained_pairs(text, expected):
    """A pair that holds a lone or crossing tag is left; names match exactly and without attributes."""
    assert spans(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("`<a>1</a>`", []),
        ("``<a>`</a>``<b>2</b>", ["<b>2</b>"]),
        ("write `<a>` first. <a>1</a>", ["<a>1</a>"]),
        ("`open <a>1</a>", ["<a>1</a>"]),
        ("`open\n\n<a>1</a> `", ["<a>1</a>"]),
        ("```\nsee <a>1</a>\n```", []),
        ("   ~~~~ xml\nsee <a>1</a>\n~~~\n```\n~~~~~\n<b>2</b>", ["<b>2</b>"]),
        ("    ```\nsee <a>1</a>\n    ```", []),  # indented too far for a fence, but inline code
        ("```\nsee <a>1</a>\n", ["<a>1</a>"]),
        ("```xml\n<a>1</a>\n```\n<b>2</b>", ["<a>1</a>", "<b>2</b>"]),
        ("```\r\n<a>1</a>\r\n```\r\n`<b>2</b>`", ["<a>1</a>"]),
        ("```\n<a>1</a><a>2</a>\n```", []),
        ("<a>```</a>\n```", ["<a>```</a>"]),
        ("<a>`</a>`</a>", ["<a>`</a>"]),
        ("<a> lone `<b>1</b>`", []),
    ],
)
def test_top_level_code_is_skipped(text, expected):
    """Fences and inline code hide their tags, but not inside a pair, not unclosed, not around exactly one pair."""
    assert spans(text) == expected


def by_definition(text):
    """Return the pairs as the words of the rule say it, in quadratic time."""
    hidden = [range(piece.start, piece.end) for piece in code(text, find(text, NAMES))]
    tags = [tag for tag in find(text, NAMES) if not any(tag.start in piece for piece in hidden)]
    mate = mates(tags)
    whole = [(i, j) for i, j in enumerate(mate) if j > i and all(i <= other <= j for other in mate[i : j + 1])]
    outermost = [(i, j) for i, j in whole if not any(k < i and j < end for k, end in whole)]
    return [(tags[i].start, tags[j].end) for i, j in outermost]


@given(TEXTS)
def test_pairs_are_what_the_rule_says(text):
    """The one scan finds what looking at each pair by itself finds."""
    assert [(pair.start, pair.end) for pair in pairs(text, NAMES)] == by_definition(text)


@given(TEXTS)
def test_partners_are_mutual_and_in_order(text):
    """Each partner's partner is the span itself, and no two spans overlap."""
    found = matches(text, NAMES)
    partner = dict(found)
    assert all(mate is None or partner[mate] == span for span, mate in found)
    assert all(first[1] <= second[0] for (first, _), (second, _) in pairwise(found))


def test_names_are_not_patterns():
    """A name is taken letter by letter."""
    assert pairs("<a.b>1</a.b><axb>2</axb>", ["a.b"]) == [Pair("a.b", 0, 5, 6, 12)]
    assert pairs("<a>1</a>", []) == []


@pytest.mark.parametrize(
    "text",
    [
        "<thinking>" * 200_000,
        "</thinking>" * 20_000,
        "`" * 200_000 + "</a>",
        "` `` " * 20_000 + "</a>",
        "```\n" * 20_000 + "</a>",
        "`<a>` " * 20_000 + "</a>",
        "".join("`" * length + "x\n" for length in range(900)) + "</a>",
    ],
    ids=range(7),
)
def test_adversarial_text_takes_linear_time(text):
    """No shape of text is worth a second."""
    started = time.process_time()
    assert pairs(text, ("thinking", "a")) == []
    assert time.process_time() - started < 1.5
