"""Search by words: what is a word, what is found, which place is best."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ga_context.archive.words import EXCERPT_CHARS, Query, fold, pieces, ranked, tokens


@given(st.text())
def test_folding_keeps_places(text: str) -> None:
    """A place in the folded text is that place in the text."""
    assert len(fold(text)) == len(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Read_File src/Parser.py:17", ["read", "file", "src", "parser", "py", "17"]),
        ("数据库", ["数据", "据库", "库"]),
        ("端口5544ok", ["端口", "口", "5544ok"]),
        ("İstanbul STRASSE straße", ["İstanbul", "strasse", "straße"]),
        ("", []),
    ],
)
def test_tokens(text: str, found: list[str]) -> None:
    assert list(tokens(text)) == found


@pytest.mark.parametrize(
    ("words", "terms"),
    [
        ("Which port has the database?", ("port", "database")),
        ("what is it", ("what", "is", "it")),
        ("端口 port", ("端口", "port")),
        ("!?", ()),
    ],
)
def test_words_that_say_little_are_left_out_where_others_are_given(words: str, terms: tuple[str, ...]) -> None:
    assert Query(words).terms == terms


def best(words: str, *texts: str) -> list[str]:
    return [one.ref for one in ranked(Query(words), [(text, text) for text in texts], 10)]


@pytest.mark.parametrize(
    ("words", "first", "second"),
    [
        ("port", "the port is open", "a portal is open"),
        ("fail port", "port of the failed build", "the port"),
        ("port database", "port of the database", "port" + " x" * 400 + " database"),
        ("src/parser.py", "in src/parser.py now", "py for the parser of src"),
        ("zebra is", "a zebra", "it is it is it is"),
    ],
)
def test_the_better_text_comes_first(words: str, first: str, second: str) -> None:
    """Whole words, more words, words close together, words as they were written, rare words."""
    assert best(words, second, first, "something else")[0] == first


@pytest.mark.parametrize(("words", "text"), [("port", "important report"), ("por", "the port"), ("zebra", "")])
def test_not_in_the_middle_of_a_word(words: str, text: str) -> None:
    assert best(words, text) == []


def test_equal_texts_come_by_reference() -> None:
    """Whatever order they are given in."""
    texts = [(ref, "the port") for ref in ("b", "c", "a")]
    assert [one.ref for one in ranked(Query("port"), texts, 3)] == ["a", "b", "c"]


@given(st.text(max_size=2_000), st.text(max_size=30))
def test_an_excerpt_is_a_range(text: str, words: str) -> None:
    """Of the text, no longer than it may be."""
    for found in ranked(Query(words), [("ref", text)], 5):
        assert text[found.start : found.end] == found.excerpt
        assert 0 < len(found.excerpt) <= EXCERPT_CHARS + len(words)


def test_a_word_at_the_border_of_two_pieces_is_in_the_index() -> None:
    text = "x" * 19_995 + " zebra " + "y" * 100
    assert any("zebra" in piece.split() for piece in pieces(text))
    assert pieces("") == [""]
