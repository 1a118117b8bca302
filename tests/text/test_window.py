"""Head and tail stay, the marker between is within the limit, and nothing that belongs together is parted."""

import re
import time

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from ga_context.text.marker import LINE_MARK, marker
from ga_context.text.sniff import is_log
from ga_context.text.window import Cut, head_tail, spliced

REF = "0123456789abcdef"
ESCAPE = re.compile(r"\\(?:u[dD][89ab][0-9a-f]{2}\\u[dD][c-f][0-9a-f]{2}|u[0-9a-f]{4}|.)", re.DOTALL)
PARTS = [
    "a", "b ", "\n", "\r\n", "word and word\n", "x" * 50, "<a>", "</a>", "<b>", "</b>", "`", "\n```\n", "\n~~~",
    "\\", "\\n", "\\u00e9", "\\ud83d\\ude00", "é", "e\u0301", "👨‍👩‍👧", "🇩🇪", "\U0001f1e9", "\u0600",
    "\ud83d", "\ude00", "\u0301" * 5, "\u200d", "한국", "\u1100\u1161\u11a8", "क्ष", "data:a/b,x",
    " data:image/png;base64," + "aB3d" * 30 + " ", "aB3/" * 60 + " ",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PARTS), min_size=20, max_size=120).map("".join)
LIMITS = st.sampled_from([100, 150, 400])


def lone_tags(text, name):
    """Count the tags without partner."""
    opened = lone = 0
    for match in re.finditer(f"<(/?){name}>", text):
        if not match[1]:
            opened += 1
        elif opened:
            opened -= 1
        else:
            lone += 1
    return opened + lone


def ranges(cut):
    """Return the kept ranges."""
    return [piece for piece in cut.pieces if not isinstance(piece, str)]


def test_head_marker_tail():
    """Half of what the marker leaves for each side."""
    cut = head_tail("a" * 500 + "b" * 500, 200, REF)
    assert cut == Cut(((0, 68), marker(864, REF), (932, 1000)), 1000)
    assert cut.apply("a" * 500 + "b" * 500) == "a" * 68 + marker(864, REF) + "b" * 68
    assert cut.gone == (68, 932, 864)


def test_within_the_limit_nothing_is_cut():
    """Size decides, whatever the text says."""
    assert head_tail("x" * 200, 200, REF) is None
    assert head_tail(marker(5, REF) * 3, 400, REF) is None
    assert head_tail("a\n" * 50, 100, REF, line_limit=100) is None


def test_cuts_prefer_line_ends():
    """Both sides hold whole lines where a line end is near."""
    text = "".join(f"line {number:03}\n" for number in range(400))
    head, tail = re.split(r"\n\[.*\]\n", head_tail(text, 1000, REF).apply(text))
    assert re.search("line [0-9]{3}$", head)
    assert re.match("line [0-9]{3}\n", tail)
    assert len(head) <= len(tail)


LOG_LINES = [
    "2024-05-01 12:00:07 INFO worker started", "2024-05-01T12:00:07.123Z started", "[12:00:07] started",
    "May  1 12:00:07 host kernel: started", "Wed May 1 12:00:07 started", "1714564807.123 started", "ERROR: started",
    "[warn] started", '127.0.0.1 - - [01/May/2024:12:00:07 +0000] "GET /" 200', "level=info msg=started",
    '{"level": "info", "msg": "started"}', "01/May/2024 started",
]  # fmt: skip


@pytest.mark.parametrize("line", LOG_LINES)
def test_lines_of_a_log_stay_whole(line):
    """However much of their part that takes."""
    text = "".join(f"{line} {'in a long line ' * 10}{number:03}\n" for number in range(100))
    head, tail = re.split(r"\n\[\.\.\. .*\.\.\.\]\n", head_tail(text, 1000, REF).apply(text))
    assert set(head.split("\n") + tail.removesuffix("\n").split("\n")) <= set(text.split("\n"))
    assert len(head) <= len(tail)


def test_a_line_of_a_log_that_is_longer_than_its_part():
    """It is cut, and so shows something."""
    text = "".join(f"ERROR: {'x' * 900} {number:03}\n" for number in range(9))
    head, tail = re.split(r"\n\[.*\]\n", head_tail(text, 1000, REF).apply(text))
    assert (len(head), len(tail)) == (468, 468)


@pytest.mark.parametrize(
    "line", ["Information is power", "10 green bottles", "errors were found here", "a: b", "20240501"]
)
def test_what_is_no_log(line):
    """Lines of other texts may be cut; three lines are the least."""
    long = f"{line} {'in a long line ' * 10}end\n"
    log = f"INFO: {'in a long line ' * 10}end\n"
    assert not is_log(long * 50, 0, len(long) * 50)
    assert not is_log(log * 2, 0, len(log) * 2)
    assert is_log(log * 3 + long * 2, 0, len(log) * 3 + len(long) * 2)


def test_long_lines():
    """A long line keeps both ends around a short mark; the reference is at the end."""
    text = "short\n" + "a" * 300 + "z\nshort\n"
    out = head_tail(text, 1000, REF, line_limit=120).apply(text)
    assert out.split("\n")[:3] == ["short", "a" * 50 + LINE_MARK + "a" * 50 + "z", "short"]
    assert out.endswith("\n\n[200 characters omitted where marked; saved: ref 0123456789abcdef]")


def test_a_line_just_over():
    """A line that is one too long gives way to the note as well."""
    cut = head_tail("a" * 301, 1000, REF, line_limit=300)
    out = cut.apply("a" * 301)
    assert len(out) < 301
    assert REF in out.split("\n")[1]
    assert LINE_MARK in out.split("\n")[0]


def test_data_goes_whole_and_alone_if_that_is_enough():
    """The rest of the text is untouched."""
    text = '<img src="data:image/png;base64,' + "iVBORw0KGgo/" * 100 + '=="> and words ' * 1 + "aB3-" * 100 + " end"
    out = head_tail(text, 400, REF).apply(text)
    assert out == (
        '<img src="[data: 1224 characters omitted]"> and words [data: 400 characters omitted] end'
        "\n[1624 characters omitted where marked; saved: ref 0123456789abcdef]"
    )


@pytest.mark.parametrize("unit", ["x", "0123456789", "ab", "word ", "metadata: "])
def test_what_is_no_data(unit):
    """A long run of one kind of character is text."""
    (first, _), _, (_, last) = head_tail(unit * 2000, 400, REF).pieces
    assert (first, last) == (0, len(unit) * 2000)


def test_one_cluster_larger_than_the_limit():
    """It goes whole."""
    text = "e" + "\u0301" * 5000
    assert head_tail(text, 200, REF).apply(text) == marker(5001, REF)


CLUSTERS = {
    "Latin with marks": "e\u0323\u0308\u0301",
    "Hebrew with points": "\u05e9\u05c1\u05b8",
    "Arabic with vowels": "\u0628\u0651\u0650",
    "Arabic number sign": "\u0600\u0661",
    "Devanagari conjunct": "\u0915\u094d\u0937\u093f",
    "Bengali conjunct": "\u0995\u09cd\u09b7\u09bf",
    "Telugu conjunct": "\u0c15\u0c4d\u0c37\u0c3f",
    "Tamil": "\u0ba8\u0bbf",
    "Thai tone": "\u0e17\u0e35\u0e48",
    "Thai am": "\u0e01\u0e33",
    "Lao": "\u0e81\u0ecd",
    "Tibetan": "\u0f66\u0f92\u0fb2\u0f74",
    "Myanmar stack": "\u1000\u1039\u1000\u102d\u102f",
    "Khmer stack": "\u179f\u17d2\u178f\u17d2\u179a\u17b8",
    "Hangul jamo": "\u1112\u1161\u11ab",
    "Hangul syllable with a jamo": "\ud558\u11ab",
    "flag": "\U0001f1e9\U0001f1ea",
    "flag of tags": "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "family": "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "skin tone": "\U0001f44d\U0001f3fd",
    "keycap": "1\ufe0f\u20e3",
}
UNITS = ["\ud83d\ude00", "\r\n", "\\n", "\\ud83d\\ude00", "\\\\"]


@pytest.mark.parametrize("script", CLUSTERS)
def test_what_a_reader_sees_as_one_is_one(script):
    """The tables of `regex` say so for each of them, so the next test is about us."""
    assert regex.fullmatch(r"\X", CLUSTERS[script])


@pytest.mark.parametrize("script", CLUSTERS)
def test_a_line_is_cut_between_clusters(script):
    """Around the mark inside it, too."""
    unit = CLUSTERS[script]
    text = "A: " + unit * 300 + "\n"
    start, end = head_tail(text, 5_000, REF, line_limit=120).apply(text).split("\n")[0].split(LINE_MARK)
    assert (start, end) == ("A: " + unit * ((len(start) - 3) // len(unit)), unit * (len(end) // len(unit)))


@pytest.mark.parametrize("unit", [*CLUSTERS.values(), *UNITS])
@pytest.mark.parametrize("shift", ["", " ", "ab"])
def test_units_stay_whole(unit, shift):
    """A text of nothing but one unit is cut between them."""
    text = shift + unit * 400
    for start, end in ranges(head_tail(text, 150, REF)):
        assert (start - len(shift)) % len(unit) == 0 or start == 0
        assert (end - len(shift)) % len(unit) == 0


def test_a_tag_keeps_its_partner():
    """Two large pairs, each cut in the middle, stay two pairs."""
    text = f"<a>{'x' * 500}</a><b>{'y' * 500}</b>"
    out = head_tail(text, 200, REF, tags=["a", "b"]).apply(text)
    assert re.fullmatch(r"<a>x+\n\[.*\]\n</a><b>y+</b>", out)
    assert len(out) <= 200


def test_a_fence_keeps_its_end():
    """Else the tag that it shows would become a lone one."""
    text = f"```\n<a>{'x' * 500}\n```\n{'y' * 500}<a>1</a>"
    out = head_tail(text, 200, REF, tags=["a"]).apply(text)
    assert re.fullmatch(r"```\n<a>x+\n\[.*\]\n\n```\ny+<a>1</a>", out)


def test_spans_are_cut_and_all_else_stays():
    """Each span has its own limit and marker."""
    text = "<a>" + "x" * 500 + "</a> keep <a>" + "y" * 100 + "</a><a>" + "z" * 500 + "</a>"
    found = re.finditer("<a>(.*?)</a>", text)
    cuts = [(match.start(1), match.end(1), head_tail(match[1], 200, REF)) for match in found]
    out = spliced(text, [(start, end, cut) for start, end, cut in cuts if cut]).apply(text)
    assert re.fullmatch(r"<a>x+\n\[.*\]\nx+</a> keep <a>y{100}</a><a>z+\n\[.*\]\nz+</a>", out)
    assert [len(content) for content in re.findall("<a>(.*?)</a>", out, re.DOTALL)] == [200, 100, 200]
    assert cuts[1][2] is None


@settings(max_examples=300)
@given(TEXTS, LIMITS, st.sampled_from([None, 100, 200]), st.sampled_from([(), ("a", "b")]))
def test_every_cut_keeps_its_promises(text, limit, line_limit, tags):
    """Within both limits, shorter, with the reference, in order, no unit parted, no tag made lone."""
    cut = head_tail(text, limit, REF, line_limit=line_limit, tags=tags)
    long_line = line_limit and any(len(line) > line_limit for line in text.split("\n"))
    assert (cut is None) == (len(text) <= limit and not long_line)
    if cut is None:
        return
    out = cut.apply(text)
    assert len(out) <= min(limit, len(text) - 1)
    assert REF in out
    assert not line_limit or tags or all(len(line) <= line_limit for line in out.split("\n"))
    edges = [edge for kept in ranges(cut) for edge in kept]
    assert edges == sorted(edges)
    assert sum(end - start for start, end in ranges(cut)) + cut.gone[2] == len(text)
    clusters = {0, *(match.end() for match in regex.finditer(r"\X", text))}
    assert clusters.issuperset(edges)
    assert not any(match.start() < edge < match.end() for match in ESCAPE.finditer(text) for edge in edges)
    assert not any(re.match("[\ud800-\udbff][\udc00-\udfff]", text[max(edge - 1, 0) :]) for edge in edges if edge)
    assert all(lone_tags(out, name) <= lone_tags(text, name) for name in tags)
    assert "aB3d" not in out or len(text) <= limit


@given(st.text("ab \n", min_size=101, max_size=600), LIMITS)
def test_the_tail_is_never_shorter_than_the_head(text, limit):
    """Snapping to line ends included; and no more room is given away than snapping needs."""
    if cut := head_tail(text, limit, REF):
        head, tail = re.split(r"\n\[.*\]\n", cut.apply(text))
        assert len(head) <= len(tail)
        assert len(cut.apply(text)) >= limit - 3 - (limit // 2) * 2 // 4


@pytest.mark.parametrize(
    "unit", ["words and words\n", "x", "你好", "aB3d", "\\", "\\n", "e\u0301", "👨‍👩‍👧", "data:", "\u0301", "\n"]
)
def test_two_megabytes(unit):
    """Time is linear in the length, whatever the text."""
    text = unit * (2_000_000 // len(unit))
    started = time.process_time()
    cut = head_tail(text, 20_000, REF, line_limit=1280)
    assert time.process_time() - started < 2
    assert len(cut.apply(text)) <= 20_000
