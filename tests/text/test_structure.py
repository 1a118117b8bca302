"""JSON stays JSON when it is cut: what is left parses, and is what stood there, character for character."""

import json
import re
import time
from itertools import pairwise

import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

from ga_context.text.structure import cut, fit, hollow

REF = "0123456789abcdef"
ROWS = [{"id": n, "name": f"row {n}", "tags": ["a", "b"]} for n in range(1_000)]
MARK = re.compile(r"\[(?:\.\.\. omitted: \d+ \w+|data: \d+ characters omitted)(?:; saved: ref \w+)?(?: \.\.\.)?\]")
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|\w+|[^\s\w"]', re.DOTALL)
SHORT = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9)
)
LONG = st.sampled_from(
    [
        "x" * 300, "a line\n" * 80, "\\" * 150, '"' * 90, "e\u0301" * 100, "👨‍👩‍👧" * 40, "한국어" * 60,
        "\u2028\x7f" * 60,
        "aB3/" * 90, "data:image/png;base64," + "iVBORw0K" * 40, "C:\\new\\dir" * 30, 10**70, -(10**90),
    ]
)  # fmt: skip
KEYS = st.text(max_size=9) | st.sampled_from(["path", "[... omitted: 3 keys ...]", "k" * 70])
VALUES = st.recursive(
    SHORT | LONG, lambda inner: st.lists(inner, max_size=30) | st.dictionaries(KEYS, inner, max_size=20), max_leaves=40
)
ROOTS = st.lists(VALUES, min_size=1) | st.dictionaries(KEYS, VALUES, min_size=1)
LAYOUTS = st.sampled_from(
    [{}, {"indent": 2}, {"indent": "\t"}, {"separators": (",", ":")}, {"separators": (" ,\r\n", " : ")}, {"indent": 90}]
)


def result(value, limit, **options):
    """Return a text, or a value as JSON text, cut to a limit."""
    text = value if isinstance(value, str) else json.dumps(value)
    return cut(text, limit, REF, **options).apply(text)


def strict(text):
    """Return JSON text as data; what is none is refused, however lenient the reader."""
    return json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))


def tokens(text):
    """Return what JSON text is made of, marks and strings that hold one apart from the rest."""
    return [token for token in TOKEN.findall(text) if not MARK.search(token)]


def test_a_long_string_gives_way_to_the_short_fields():
    """The path and the status stay; of the body both ends."""
    text = json.dumps({"path": "src/app.py", "status": 200, "body": "a" * 1_500 + "z" * 1_500, "ok": True})
    out = result(text, 600)
    data = json.loads(out)
    body = f"{'a' * 238}[... omitted: 2524 characters; saved: ref {REF} ...]{'z' * 238}"
    assert data == {"path": "src/app.py", "status": 200, "body": body, "ok": True}
    assert len(out) == 600


def test_rows():
    """Whole ones at both ends, and how many there were between."""
    assert result(ROWS, 400) == (
        '[{"id": 0, "name": "row 0", "tags": ["a", "b"]}, {"id": 1, "name": "row 1", "tags": ["a", "b"]},'
        ' {"id": 2, "name": "row 2", "tags": ["a", "b"]},'
        ' "[... omitted: 994 items; saved: ref 0123456789abcdef ...]",'
        ' {"id": 997, "name": "row 997", "tags": ["a", "b"]}, {"id": 998, "name": "row 998", "tags": ["a", "b"]},'
        ' {"id": 999, "name": "row 999", "tags": ["a", "b"]}]'
    )


def test_long_rows_shrink():
    """So that there are two to see at each end."""
    data = json.loads(result([{"n": n, "text": "word " * 500} for n in range(9)], 2_000))
    assert [row if isinstance(row, str) else row["n"] for row in data] == [
        0, 1, "[... omitted: 5 items ...]", 7, 8,
    ]  # fmt: skip
    assert [440 < len(row["text"]) < 500 for row in data if isinstance(row, dict)] == [True] * 4


def test_white_space_stays_and_marks_stand_in_line():
    """Indented JSON is indented JSON afterwards."""
    out = result(json.dumps({"rows": list(range(500)), "n": 1}, indent=2) + "\n", 140)
    assert out == (
        '{\n  "rows": [\n    0,\n    1,\n    2,\n    "[... omitted: 495 items; saved: ref 0123456789abcdef ...]",\n'
        '    498,\n    499\n  ],\n  "n": 1\n}\n'
    )


def test_too_many_keys():
    """Those in the middle go behind one that counts them."""
    assert result({f"key{n}": n for n in range(1_000)}, 140) == (
        '{"key0": 0, "key1": 1, "key2": 2, "[... omitted: 995 keys; saved: ref 0123456789abcdef ...]": null,'
        ' "key998": 998, "key999": 999}'
    )


def test_the_least_room():
    """One hundred characters are enough for any array or object."""
    assert result({"k" * 90: 1, "l" * 90: 2}, 100) == f'{{"[... omitted: 2 keys; saved: ref {REF} ...]": null}}'
    assert result([["x" * 90] * 5] * 5, 100) == f'["[... omitted: 5 items; saved: ref {REF} ...]"]'
    assert result([[[[["x" * 900]]]]], 100) == (
        f'[[[[["{"x" * 13}[... omitted: 874 characters; saved: ref {REF} ...]{"x" * 13}"]]]]]'
    )


def test_nested_values_share_what_there_is():
    """One reference, in the first mark; short fields on every level."""
    value = {"a": {"b": [{"c": "x" * 900, "n": 1}, "y" * 900], "m": 2}, "log": "z" * 900, "l": 3}
    data = json.loads(result(value, 600))
    assert (data["l"], data["a"]["m"], data["a"]["b"][0]["n"]) == (3, 2, 1)
    assert [len(text) for text in (data["log"], data["a"]["b"][1], data["a"]["b"][0]["c"])] == [271, 125, 140]
    assert json.dumps(data).count(REF) == 1
    assert REF in data["a"]["b"][0]["c"]


def test_what_short_values_leave_is_for_the_long():
    """Not an equal part for each."""
    data = json.loads(result({"a": "x" * 60, "b": "y" * 9_000, "c": "z" * 100}, 1_000))
    assert (data["a"], data["c"]) == ("x" * 60, "z" * 100)
    assert len(data["b"]) > 770


def test_data_goes_whole():
    """And leaves its room to others."""
    image = "data:image/png;base64," + "iVBORw0KGgo/" * 1_000
    data = json.loads(result({"image": image, "text": "word " * 900}, 1_000))
    assert data["image"] == f"[data: 12022 characters omitted; saved: ref {REF}]"
    assert len(data["text"]) > 850


def test_lines_in_a_string_stay_whole_where_one_ends_near():
    """The mark is a line of its own then."""
    log = "".join(f"line {n:03}\n" for n in range(400))
    data = json.loads(result({"stdout": log, "code": 0}, 400))
    head, tail = re.split(r"\n\[.*\]\n", data["stdout"])
    assert re.search("line [0-9]{3}$", head)
    assert re.match("line [0-9]{3}\n", tail)


@pytest.mark.parametrize("unit", ["\\ud83d\\udfe1", "\\u00e9", '\\"', "\\\\", "\\n", "👨‍👩‍👧", "e\u0301", "🇩🇪"])
@pytest.mark.parametrize("limit", range(150, 162))
def test_no_escape_and_no_cluster_is_parted(unit, limit):
    """Wherever the cut falls."""
    text = f'{{"s": "{unit * 300}"}}'
    rest = MARK.sub("", result(text, limit)[7:-2])
    assert rest.replace(unit, "") in ("", "\\n\\n")


def test_numbers_are_never_altered():
    """Neither their spelling nor a digit: they stay or go."""
    numbers = "1.0, -0, 1E+05, 0.10, 12345678901234567890123456789012345678901234567890"
    assert result(f'{{"n": [{numbers}], "s": "{"x" * 900}"}}', 200).startswith(f'{{"n": [{numbers}], "s": "xx')
    assert result(f'{{"n": {"1" * 5_000}, "status": 200}}', 200).endswith(' 1 keys; saved: ref '
        '0123456789abcdef ...]": null, "status": 200}')  # fmt: skip


def test_a_key_that_comes_twice_stays_twice():
    """It is for the reader to say what that means."""
    assert result('{"a": 1, "a": 2, "s": "' + "x" * 900 + '", "a": 3}', 200).count('"a": ') == 3


@pytest.mark.parametrize(
    "text",
    [
        '{"n": NaN, "s": "' + "x" * 900 + '"}',
        "[Infinity, " + "1, " * 300 + "1]",
        "[1, 2, 3" + ", 4" * 300,
        "[" * 201 + "]" * 201,
        '{"a":' * 100_000 + "1" + "}" * 100_000,
        '"' + "x" * 900 + '"',
        "words " * 200,
        "1" * 900,
    ],
)
def test_what_is_cut_like_any_text(text):
    """What is no array or object, no JSON, or nested deeper than 200 levels."""
    assert cut(text, 200, REF) is None
    assert re.search(
        r"\n\[\.\.\. \d+ characters omitted; saved: ref 0123456789abcdef \.\.\.\]\n", fit(text, 200, REF).apply(text)
    )


def test_two_hundred_levels():
    """Each can be opened."""
    text = '{"a":' * 199 + '["' + "x" * 900 + '"]' + "}" * 199
    assert strict(result(text, 1_600)) is not None
    assert strict(result(text, 300)) is not None


def test_a_byte_order_mark():
    """It stays, before what parses."""
    out = result("\ufeff" + json.dumps(ROWS), 400)
    assert out[0] == "\ufeff"
    assert len(strict(out[1:])) > 3


def test_white_space_around():
    """A little stays; more goes before anything else does."""
    assert result(' \n{"a": "' + "x" * 900 + '"}\n', 200)[:5] == ' \n{"a'
    assert result(" " * 900 + "[1, 2]\n", 100) == "[1, 2]"
    assert result("[" + " " * 900 + "1]", 100) == f'["[... omitted: 1 items; saved: ref {REF} ...]"]'
    assert result("[" + " " * 900 + "]", 100) == "[]"


def test_within_the_limit_nothing_is_cut():
    """Size decides, whatever the text says."""
    assert cut(json.dumps("x" * 98), 100, REF) is None
    assert fit(json.dumps(["x" * 96]), 100, REF) is None
    assert fit(json.dumps({"[... omitted: 3 keys ...]": None}), 100, REF) is None


def test_as_text_if_so_told():
    """Head and tail, as of any text; so too where a tag must not lose its partner."""
    text = json.dumps({"a": "<think>" + "x" * 500, "b": "y" * 500 + "</think>"})
    assert fit(text, 300, REF, json=False).apply(text).startswith('{"a": "<think>x')
    assert "\n[..." in fit(text, 300, REF, json=False).apply(text)
    assert fit(text, 300, REF, tags=["think"]).apply(text).count("think>") == 2
    assert strict(fit(text, 300, REF, tags=["other"]).apply(text))


# Lines of JSON


def test_json_lines():
    """Whole ones at both ends, the mark a line that parses too."""
    out = result("\n".join(json.dumps({"n": n, "msg": "hello"}) for n in range(1_000)) + "\n", 200)
    assert [strict(line) for line in out.split("\n")] == [
        {"n": 0, "msg": "hello"},
        {"n": 1, "msg": "hello"},
        f"[... omitted: 996 lines; saved: ref {REF} ...]",
        {"n": 998, "msg": "hello"},
        {"n": 999, "msg": "hello"},
    ]


def test_a_line_longer_than_its_share():
    """It is cut in its structure; any other line among them at its ends."""
    text = "\n".join(['{"n": 1}', '{"s": "' + "x" * 900 + '"}', "Traceback " * 90, '{"n": 2}'])
    first, second, third, last = result(text, 500).split("\n")
    assert (first, last) == ('{"n": 1}', '{"n": 2}')
    assert strict(second)["s"].count(REF) == 1
    assert re.fullmatch(r"Traceback .*\[\.\.\. omitted: \d+ characters \.\.\.\].*Traceback ", third)


def test_lines_within_a_line_limit():
    """Each is cut to it, and none goes if the whole is small enough."""
    text = "\n".join(json.dumps({"n": n, "s": "x" * 300 * (n % 2)}) for n in range(20))
    out = result(text, 20_000, line_limit=150)
    assert [strict(line)["n"] for line in out.split("\n")] == list(range(20))
    assert max(map(len, out.split("\n"))) <= 150


# A limit for each line


def test_one_line_of_json_within_a_line_limit():
    """It is the whole."""
    out = result(ROWS, 20_000, line_limit=300)
    assert len(out) <= 300
    assert len(strict(out)) > 2


def test_long_strings_within_a_line_limit():
    """Only the lines that are too long give way."""
    text = json.dumps({"name": "x", "readme": "word " * 500, "n": [1, 2]}, indent=2)
    out = result(text, 20_000, line_limit=200).split("\n")
    assert (out[:2], out[3:]) == (["{", '  "name": "x",'], text.split("\n")[3:])
    assert len(out[2]) <= 200
    assert strict("\n".join(out))["readme"].startswith("word word ")


def test_a_line_limit_that_no_string_can_meet():
    """Then it is a text like any other, each of its lines within the limit."""
    text = '{\n"n": [' + "1, " * 300 + "1]\n}"
    assert cut(text, 20_000, REF, line_limit=200) is None
    assert max(map(len, fit(text, 20_000, REF, line_limit=200).apply(text).split("\n"))) <= 200
    wide = json.dumps([list(range(60))] * 60).replace("], ", "],\n")
    assert max(map(len, fit(wide, 1_000, REF, line_limit=250).apply(wide).split("\n"))) <= 250


# JSON that must stay JSON


@pytest.mark.parametrize(
    ("text", "out"),
    [
        ("[" * 5_000 + "]" * 5_000, f'["[... omitted: 9998 characters; saved: ref {REF} ...]"]'),
        ('{"a":' * 5_000 + "1" + "}" * 5_000, f'{{"[... omitted: 29999 characters; saved: ref {REF} ...]": null}}'),
        ('"' + "x" * 900 + '"', f'"{"x" * 18}[... omitted: 864 characters; saved: ref {REF} ...]{"x" * 18}"'),
        ("\n" * 900 + '"x"', '"x"'),
        ('{"b": ' + "[" * 900 + "]" * 900 + "}", f'{{"[... omitted: 1805 characters; saved: ref {REF} ...]": null}}'),
    ],
)  # fmt: skip
def test_a_text_that_must_parse(text, out):
    """Whatever its type and depth."""
    made = fit(text, 100, REF, must_parse=True).apply(text)
    assert made == out
    assert type(strict(made)) in (list, dict, str)


def test_what_must_parse_and_cannot_be_cut():
    """A number has no part."""
    assert fit("1" * 900, 100, REF, must_parse=True) is None
    assert hollow("[1]", 100, REF) is None


# Any value


@given(ROOTS, st.integers(100, 1_500), LAYOUTS, st.booleans())
@example({"a": [1] * 50 + ["x" * 300], "b": {}}, 100, {"indent": 90}, True)
def test_every_cut_keeps_its_promises(value, limit, layout, ascii_only):
    """Within the limit, with the reference, of its type, from the source in order, and no unit of it parted."""
    text = json.dumps(value, ensure_ascii=ascii_only, **layout)
    made = cut(text, limit, REF)
    assert (made is None) == (len(text) <= limit)
    if made is None:
        return
    out = made.apply(text)
    assert len(out) <= limit
    assert type(strict(out)) is type(value)
    kept = [piece for piece in made.pieces if not isinstance(piece, str)]
    assert all(start < end for start, end in kept)
    assert all(one[1] <= other[0] for one, other in pairwise(kept))
    assert sum(end - start for start, end in kept) + made.gone[2] == len(text)
    assert out.count(REF) == 1
    source = iter(TOKEN.findall(text))
    assert all(token in source for token in tokens(out) if token not in ":,null")
    edges = {edge for piece in kept for edge in piece}
    assert edges <= {0, *(match.end() for match in regex.finditer(r"\X", text))}


@given(ROOTS, st.integers(100, 600))
def test_a_second_cut_of_the_same_is_the_same(value, limit):
    """And what it made is within the limit, so that it is not cut again."""
    text = json.dumps(value)
    made = cut(text, limit, REF)
    assert made == cut(text, limit, REF)
    assert made is None or cut(made.apply(text), limit, REF) is None


@given(VALUES, st.integers(100, 600))
def test_any_json_that_must_parse(value, limit):
    """A string or an object, it parses and keeps its type; a number or word is left as it is."""
    text = json.dumps(value)
    made = fit(text, limit, REF, must_parse=True)
    if made is not None:
        assert len(made.apply(text)) <= limit < len(text)
        assert type(strict(made.apply(text))) is type(value)
    else:
        assert len(text) <= limit or isinstance(value, int)


@given(
    st.lists(st.dictionaries(KEYS, SHORT | LONG), min_size=2, max_size=9),
    st.integers(100, 900),
    st.sampled_from([None, 100, 300]),
)
def test_any_lines_of_json(rows, limit, line_limit):
    """Each line that is left parses, and the result is within both limits."""
    text = "\n".join(map(json.dumps, rows))
    made = cut(text, limit, REF, line_limit)
    if made is not None:
        out = made.apply(text)
        assert len(out) <= limit
        assert all(isinstance(strict(line), list | dict | str) for line in out.split("\n"))
        assert not line_limit or max(map(len, out.split("\n"))) <= line_limit


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([{"id": n, "name": f"n{n}", "v": n / 7} for n in range(20_000)]),
        json.dumps([{"id": n, "a": {"b": [1, 2, {"c": "x"}]}} for n in range(8_000)], indent=2),
        "[" + "1," * 500_000 + "1]",
        "[" + "[]," * 300_000 + "[]]",
        "[" + "[[[]]]," * 90_000 + "[]]",
        json.dumps({"log": "a line\n" * 125_000}),
        json.dumps({f"key {n}": n for n in range(45_000)}),
        '{"a":' * 199 + json.dumps(["x" * 20] * 40_000) + "}" * 199,
        "\n".join(json.dumps({"n": n, "msg": "hello"}) for n in range(30_000)),
        "[" * 1_000_000,
    ],
    ids=["rows", "nested", "numbers", "empty", "brackets", "string", "keys", "deep", "lines", "open"],
)  # fmt: skip
def test_a_megabyte(text):
    """The work is linear in the length, whatever the structure."""
    started = time.process_time()
    made = fit(text, 10_000, REF)
    assert time.process_time() - started < 2
    assert made.size <= 10_000
