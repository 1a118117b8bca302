"""The marks: their fixed form, in sight, and how they stand beside text that runs from right to left."""

import unicodedata

import pytest

from ga_context.text import marker
from ga_context.text.window import head_tail

REF = "0123456789abcdef"
SHALOM = "\u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd "  # with points
MARHABAN = "\u0645\u064e\u0631\u0652\u062d\u064e\u0628\u064b\u0627 "  # with vowels
BETWEEN = [marker.marker(12345, REF), marker.note(20, REF)]
INSIDE = [marker.LINE_MARK, marker.FOLDED, marker.data_mark(12345), marker.payload_note("image", REF)]
INSIDE += [marker.omitted(12, "items"), marker.referred(marker.omitted(345, "characters"), REF)]
PLACEHOLDERS = [marker.MISSING_RESULT, marker.NO_WORDS, marker.FIRST_USER, marker.EMPTY_LIST]


def test_marker_states_count_and_reference():
    """The mark between head and tail is a line of its own."""
    expected = "\n[... 12345 characters omitted; saved: ref 0123456789abcdef ...]\n"
    assert marker.marker(12345, REF) == expected


def test_note_ends_a_text():
    """The closing note says how to get back what the marks above it stand for."""
    assert marker.note(20, REF) == "\n[20 characters omitted where marked; saved: ref 0123456789abcdef]"


def test_payload_note_is_one_line():
    """A payload's placeholder names what it was."""
    assert marker.payload_note("image", REF) == "[image omitted; saved: ref 0123456789abcdef]"


def test_marks_of_json_say_what_they_count():
    """Of several that share a reference the first has it."""
    assert marker.omitted(12, "items") == "[... omitted: 12 items ...]"
    assert marker.referred(marker.omitted(12, "keys"), REF) == f"[... omitted: 12 keys; saved: ref {REF} ...]"
    assert marker.referred(marker.data_mark(500), REF) == f"[data: 500 characters omitted; saved: ref {REF}]"


@pytest.mark.parametrize("mark", [*BETWEEN, *INSIDE, *PLACEHOLDERS])
def test_every_mark_is_one_pair_of_brackets(mark):
    """Nothing of it stands outside, no bracket inside, and none holds a tag or a character that is not seen."""
    inner = mark.strip("\n")
    assert (inner[0], inner[-1], inner.count("["), inner.count("]"), inner.count("<")) == ("[", "]", 1, 1, 0)
    assert inner.isascii()
    assert inner.isprintable()


def test_what_is_gone_is_said_to_be_omitted():
    """But of a block whose newer version is further down."""
    assert ["omitted" in mark for mark in (*BETWEEN, *INSIDE)] == [True] * 3 + [False] + [True] * 4


# Beside text from right to left


def classes(text):
    """Return the bidirectional class of each character."""
    return [unicodedata.bidirectional(char) for char in text]


@pytest.mark.parametrize("mark", BETWEEN)
def test_a_mark_with_a_reference_is_a_paragraph_of_its_own(mark):
    """A line feed ends one (class B); its first strong letter is Latin, so it runs from left to right."""
    assert classes(mark)[0] == "B"
    assert "B" not in classes(mark.strip("\n"))
    assert next(kind for kind in classes(mark) if kind in ("L", "R", "AL")) == "L"


@pytest.mark.parametrize("mark", INSIDE)
def test_a_mark_inside_a_line_has_no_number_before_a_word(mark):
    """A number behind a word runs with it; one behind Hebrew or Arabic would run with that."""
    strong = [kind for kind in classes(mark) if kind in ("L", "EN")]
    assert strong[:1] in ([], ["L"])


@pytest.mark.parametrize(
    ("word", "head", "gone", "tail"),
    [
        (SHALOM, SHALOM * 8 + SHALOM[:4], 663, "\u05dc\u05d5\u05b9\u05dd " + SHALOM * 8),
        (MARHABAN, MARHABAN * 6 + MARHABAN[:8], 864, "\u0631\u0652\u062d\u064e\u0628\u064b\u0627 " + MARHABAN * 6),
    ],
)
def test_hebrew_and_arabic_around_a_marker(word, head, gone, tail):
    """Whole letters with their points on both sides, the marker between them on a line of its own."""
    lines = head_tail(word * 100, 200, REF).apply(word * 100).split("\n")
    assert lines == [head, f"[... {gone} characters omitted; saved: ref 0123456789abcdef ...]", tail]


def test_an_embedding_that_a_cut_left_open_ends_with_its_line():
    """The override before the cut is not closed any more; the marker is in another paragraph."""
    text = "\u202e" + "abc " * 100 + "\u202c" + "def " * 100
    head, mark, tail = head_tail(text, 300, REF).apply(text).split("\n")
    assert (head[0], "\u202c" in head, "\u202e" in tail) == ("\u202e", False, False)
    assert mark == f"[... {len(text) - len(head) - len(tail)} characters omitted; saved: ref 0123456789abcdef ...]"


def test_a_hebrew_line_stays_one_line_around_its_mark():
    """The mark inside has no number, the note with the reference is on a line of its own."""
    text = "log: " + SHALOM * 100 + "\nok\n"
    lines = head_tail(text, 2_000, REF, line_limit=120).apply(text).split("\n")
    start, end = lines[0].split("[... omitted ...]")
    assert start == "log: " + SHALOM * 5 + SHALOM[:4]
    assert end == SHALOM[-2:] + SHALOM * 6
    assert lines[1:] == ["ok", "", "[706 characters omitted where marked; saved: ref 0123456789abcdef]"]


def test_data_in_an_arabic_line():
    """Its count stands behind a word."""
    before, after = "\u0635\u0648\u0631\u0629: ", " \u0627\u0646\u062a\u0647\u0649\n"
    text = before + "data:image/png;base64," + "iVBORw0KGgo/" * 60 + after
    assert head_tail(text, 500, REF).apply(text) == (
        f"{before}[data: 742 characters omitted]{after}"
        "\n[742 characters omitted where marked; saved: ref 0123456789abcdef]"
    )
