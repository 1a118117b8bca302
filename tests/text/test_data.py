"""Base64 is found whole, however it is written, and no cut leaves a part of it."""

import json
import time
from base64 import b64encode, encodebytes, urlsafe_b64encode
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ga_context.text.data import spans, without_data
from ga_context.text.summary import first_line
from ga_context.text.window import head_tail

REF = "0123456789abcdef"


def file_of(size: int, which: int = 0) -> bytes:
    """Return bytes that repeat nowhere."""
    return b"".join([sha256(b"%d %d" % (which, n)).digest() for n in range(size // 32 + 1)])[:size]


def in_lines(data: bytes, width: int, newline: str) -> str:
    text = b64encode(data).decode()
    return newline.join([text[at : at + width] for at in range(0, len(text), width)])


STYLES = {
    "plain": lambda data: b64encode(data).decode(),
    "url-safe": lambda data: urlsafe_b64encode(data).decode(),
    "in a data: URL": lambda data: "data:image/png;base64," + b64encode(data).decode(),
    "mime": lambda data: encodebytes(data).decode().rstrip("\n"),
    "mime, as mail has it": lambda data: in_lines(data, 76, "\r\n"),
    "a certificate": lambda data: in_lines(data, 64, "\n"),
    "indented": lambda data: in_lines(data, 76, "\n    "),
    "in JSON": lambda data: json.dumps(in_lines(data, 76, "\n"))[1:-1],
    "in JSON, with escaped slashes": lambda data: b64encode(data).decode().replace("/", "\\/"),
}
styles = pytest.mark.parametrize("style", STYLES.values(), ids=STYLES)


def found(text: str) -> list[str]:
    """Return what is data in a text."""
    return [text[first:last] for first, last in spans(text, 0, len(text))]


@styles
@pytest.mark.parametrize(
    "around", ["{}", "see ({})", "see {}\nthere", '{{"image": "{}", "n": 1}}', "b'{}'", "<img src='{}'>", "{}\n"]
)
@pytest.mark.parametrize("size", [240, 241, 242, 999, 1140])
def test_each_way_to_write_it(style, around, size):
    """Found from its first to its last character."""
    data = style(file_of(size))
    assert found(around.format(data)) == [data]


@pytest.mark.parametrize(
    "text",
    [
        "word " * 100,
        "x" * 500,
        "0123456789abcdef" * 30,
        "/usr/lib/python3/site-packages/" * 3 + "x.py\n" + "/usr/lib/python3/site-packages/" * 3 + "y.py",
        "\n".join(["-" * 80] * 5),
        "\n".join([sha256(b"%d" % n).hexdigest() for n in range(9)]),
        in_lines(file_of(110), 76, "\n"),
        "ACGTTGCA" * 50,
        "ThisIsALongNameWith1Digit" * 4 + "\n" + "ThisIsALongerNameWith1Digit" * 4 + "\nend",
        "metadata: yes, and data:",
    ],
)
def test_what_is_text(text):
    """Runs of one kind of character, digests, paths, rulers, short runs, neighbours of another length."""
    assert found(text) == []
    assert without_data(text) is text


def test_what_stands_beside_it_stays():
    """A word on the next line, another run in the next line, a border of a certificate."""
    data, lines = b64encode(file_of(300)).decode(), in_lines(file_of(300), 64, "\n")
    assert found(f"{data}\nthen words") == [data]
    assert found(f"{data}\n{'Abc01' * 17}\nx") == [data]
    assert found(f"-----BEGIN KEY-----\n{lines}\n-----END KEY-----\n") == [lines]
    assert found(f"{lines}\nend of it") == [lines]
    assert without_data(f"one {data} two {data}") == "one [data omitted] two [data omitted]"


WORDS = st.sampled_from(
    ["", "some words, and\nmore of them\n", "word " * 30, "\n" * 9, "{'a': 1, \"b\": [2]} ", "é👩‍👩‍👧 "]
)


@given(
    st.lists(st.tuples(WORDS, st.sampled_from(list(STYLES.values())), st.integers(210, 900)), min_size=1, max_size=4),
    WORDS,
    st.sampled_from([100, 400, 2_000]),
    st.sampled_from([None, 100, 300]),
)
def test_no_cut_leaves_a_part(parts, end, limit, line_limit):
    """Of a text with several of them, cut to a window or line by line."""
    texts = [(words, style(file_of(size, which))) for which, (words, style, size) in enumerate(parts)]
    text = " ".join([f'{words}"{data}"' for words, data in texts]) + end
    cut = head_tail(text, limit, REF, line_limit=line_limit)
    if cut is None:
        return
    out = cut.apply(text)
    for _, data in texts:
        assert data in out or not [piece for piece in pieces(data) if piece in out]


def pieces(data: str) -> list[str]:
    return [data[at : at + 20] for at in range(0, len(data) - 20, 20)]


@styles
def test_no_line_of_the_anchor_shows_a_part(style):
    """Of an argument that is base64, or holds it."""
    data = style(file_of(600))
    assert first_line(data, 60) == "[data omitted]"
    assert first_line(f"\nput {data} there", 60).startswith("put [data omitted]")


@pytest.mark.parametrize(
    "unit",
    ["aB3d", "x" * 60 + "\n", "x" * 60 + "\\", "aB3" * 20 + "\n", "aB3" * 21 + "\n\n", "\\/", "data:", "data:a/b,"],
)
def test_time_is_linear(unit):
    """Whatever the text."""
    text = unit * (500_000 // len(unit))
    started = time.process_time()
    list(spans(text, 0, len(text)))
    assert time.process_time() - started < 1.5
