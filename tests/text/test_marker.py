"""The marks: their fixed form, in sight."""

from ga_context.text import marker

REF = "0123456789abcdef"


def test_marker_states_count_and_reference():
    """The mark between head and tail is a line of its own."""
    expected = "\n[... 12345 characters omitted; recall ref 0123456789abcdef ...]\n"
    assert marker.marker(12345, REF) == expected


def test_note_ends_a_text():
    """The closing note says how to get back what the marks above it stand for."""
    assert marker.note(20, REF) == "\n[20 characters omitted where marked; recall ref 0123456789abcdef]"


def test_payload_note_is_one_line():
    """A payload's placeholder names what it was."""
    assert marker.payload_note("image", REF) == "[image omitted; recall ref 0123456789abcdef]"


def test_every_mark_is_one_pair_of_brackets():
    """No mark holds a bracket inside, and all but the fold say that something was omitted."""
    marks = [marker.marker(1, REF), marker.note(1, REF), marker.data_mark(1), marker.payload_note("audio", REF)]
    marks.append(marker.LINE_MARK)
    assert all(mark.count("[") == mark.count("]") == 1 and "omitted" in mark for mark in marks)
    assert marker.FOLDED == "[...]"
