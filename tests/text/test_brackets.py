"""JSON text is told from other text as `json.loads` tells it, and its members are where they stand."""

import json
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ga_context.text.brackets import lines, members, scan, strings

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8)
)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=4), inner))
TEXTS = st.builds(json.dumps, VALUES, indent=st.sampled_from([None, 1, "\t"]), ensure_ascii=st.booleans())


def parses(text):
    """Return whether the text is a JSON array or object."""
    try:
        value = json.loads(text, parse_int=len, parse_constant=lambda word: [][len(word)])
    except (ValueError, IndexError):
        return False
    return isinstance(value, list | dict)


@st.composite
def damaged(draw):
    """Draw JSON text with a few characters changed, doubled or gone."""
    text = draw(TEXTS)
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(text)))
        put = draw(st.sampled_from(["", *'{}[]:,"\\01e.-+utn \n\x00\x1f\x85\xa0', "NaN", "0x1", "''", "//"]))
        text = text[:at] + put + text[at + draw(st.integers(0, 1)) :]
    return text


@pytest.mark.parametrize(
    "text",
    [
        "[]", "{}", " [ ] ", '{"a":{}}', "[[],[[]]]", "[-0, 1.5e+3, 1E5, true, false, null]", '["\\u00e9\\/\\b"]',
        '{"a": 1, "a": 2}', '["\ud800", "\\ud800"]', "[" + "9" * 5000 + "]",
    ],
)  # fmt: skip
def test_what_is_json(text):
    """The whole text is one array or object."""
    assert scan(text, len(text) - len(text.lstrip()), len(text), 200) is not None


@pytest.mark.parametrize(
    "text",
    [
        "", "1", '"a"', "[1,]", "[,1]", "{'a': 1}", '{"a" 1}', '{"a": 1,}', '{1: 2}', "[1] 2", "[1}", "[1", "[01]",
        "[1.]", "[.5]", "[+1]", "[NaN]", "[Infinity]", "[-Infinity]", "[True]", '["\n"]', '["\\x41"]', '["\\u12"]',
        "[1\u00a02]", "[\u00a01]", "[1\x0b]", "[1] //", "[١]", '{"a": [1, {"b": }]}', '["a" "b"]', "[[1] [2]]",
    ],
)  # fmt: skip
def test_what_is_none(text):
    """Other values, and what only some readers accept."""
    assert scan(text, 0, len(text), 200) is None


@given(damaged())
@example('{"a":[1,{"b":[{}]}],"c":"]"}')
def test_as_the_reader_of_python_says(text):
    """No more and no less is taken for JSON."""
    start = len(text) - len(text.lstrip(" \t\n\r"))
    assert (scan(text, start, len(text), 200) is not None) == parses(text)


@pytest.mark.parametrize(("depth", "known"), [(1, True), (199, True), (200, True), (201, False), (100_000, False)])
@pytest.mark.parametrize(("opening", "inner", "closing"), [("[", "", "]"), ('{"a":[1,', '"b"', "]}")])
def test_depth(depth, known, opening, inner, closing):
    """Levels are counted to the innermost array or object."""
    levels = len(re.findall(r"[\[{]", opening))
    text = opening * (depth // levels) + inner + closing * (depth // levels)
    if depth % levels:
        text = f"[{text}]"
    assert (scan(text, 0, len(text), 200) is not None) == known


@given(st.lists(VALUES) | st.dictionaries(st.text(max_size=4), VALUES), st.integers(1, 5), st.integers(0, 2))
def test_members_are_where_they_stand(value, most, times):
    """The first and last few, and how many there are, however many are passed over."""
    inner = json.dumps(value, indent=1)[1:-1].strip()
    text = (
        "[{"[isinstance(value, dict)] + ",".join([inner] * 30**times if inner else []) + "]}"[isinstance(value, dict)]
    )
    found, total = members(text, 0, scan(text, 0, len(text), 5000), most)
    every = [value[key] for key in value] if isinstance(value, dict) else value
    every = every * 30**times
    shown = every if total <= 2 * most else every[:most] + every[-most:]
    assert total == len(every)
    assert [json.loads(text[one.value : one.end]) for one in found] == json.loads(json.dumps(shown))
    assert [text[one.stop] for one in found[:-1]] == [","] * (len(found) - 1)


def test_lines():
    """As members: what is around the words of a line is not its value."""
    text = 'x\n  {"a": 1}\r\n\nlast'
    found, total = lines(text, 0, len(text), 9)
    assert [text[one.value : one.end] for one in found] == ["x", '{"a": 1}', "", "last"]
    assert (total, lines("a\nb\nc\nd", 0, 7, 1)) == (4, ([(0, 0, 1, 1), (6, 6, 7, 7)], 4))


def test_strings_that_are_values():
    """Keys are none, whatever stands in them."""
    text = '"k\\"": "a", "x" : ["b:", "c\\\\"], "d"'
    assert [text[start:end] for start, end in strings(text, 0, len(text))] == ['"a"', '"b:"', '"c\\\\"', '"d"']
