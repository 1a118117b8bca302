"""Length as JSON is json's own length; deep values encode to json's own bytes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ga_context.text.size import _encode, json_chars, json_size, json_text

ANY = st.text(st.characters(exclude_categories=()))
ENCODABLE = st.text()
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | ANY
KEYS = ANY | st.integers() | st.booleans() | st.none() | st.floats()
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.tuples(inner) | st.dictionaries(KEYS, inner))
CONTROLS = "".join(map(chr, range(160))) + '\\"\u2028\U0001f600'


@pytest.mark.parametrize("times", [0, 1, 30])
def test_controls(times):
    """Every character that JSON escapes is counted with its escape."""
    assert json_chars(CONTROLS * times) == len(json.dumps(CONTROLS * times, ensure_ascii=False))


@given(ENCODABLE, st.integers(1, 100))
def test_json_chars_is_the_length_json_gives(text, times):
    """For short and long texts alike."""
    assert json_chars(text * times) == len(json.dumps(text * times, ensure_ascii=False))


@pytest.mark.parametrize("text", ["\ud800", "x" * 100 + "\udfff", "\ud83d\ude00"])
def test_half_a_pair_cannot_be_measured(text):
    """It is an error, short or long, alone or in a value, in a key too."""
    for measure in (lambda: json_chars(text), lambda: json_size({"a": [text]}), lambda: json_size({text: 1})):
        with pytest.raises(UnicodeEncodeError):
            measure()


@given(st.recursive(st.none() | ENCODABLE, lambda inner: st.lists(inner) | st.dictionaries(ENCODABLE, inner)))
def test_json_size_is_the_length_json_gives(value):
    """Of any value."""
    assert json_size(value) == len(json.dumps(value, ensure_ascii=False))


@given(VALUES)
def test_iterative_encoder_gives_the_same_bytes(value):
    """Keys that are no strings, tuples and empty containers included."""
    assert "".join(_encode(value)) == json.dumps(value, ensure_ascii=False) == json_text(value)


@pytest.mark.parametrize("depth", [0, 50_000])
def test_bytes_are_written_as_base64(depth):
    """But measured only where they may stand, at any depth; a circle stays an error."""
    value: object = {"a": [b"\x00\xff", bytearray(b"x")]}
    for _ in range(depth):
        value = [value]
    assert json_text(value) == "[" * depth + '{"a": ["AP8=", "eA=="]}' + "]" * depth
    assert json_size(value, binary=True) == 2 * depth + 23
    with pytest.raises(TypeError, match="bytes is not JSON serializable"):
        json_size(value)
    circle: list[object] = [b"x"]
    circle.append(circle)
    with pytest.raises(ValueError, match="Circular reference"):
        json_text(circle)


def test_hundred_thousand_levels():
    """Depth is no event."""
    value: object = "x"
    for _ in range(50_000):
        value = {"a": [value]}
    assert json_text(value) == '{"a": [' * 50_000 + '"x"' + "]}" * 50_000


def test_deep_cycle_is_refused():
    """A circle in a deep value is json's ValueError, not an endless loop."""
    root: list[object] = []
    value = root
    for _ in range(100_000):
        value = [value]
    root.append(value)
    with pytest.raises(ValueError, match="Circular reference"):
        json_text(value)


def test_same_object_twice_is_no_cycle():
    """Only an object inside itself is one."""
    twice = [1]
    assert "".join(_encode([twice, twice])) == "[[1], [1]]"


def test_what_json_cannot_write_is_its_own_error():
    """TypeError, for a value and for a key, shallow and deep."""
    value: object = {1, 2}
    with pytest.raises(TypeError, match="set is not JSON serializable"):
        json_text(value)
    with pytest.raises(TypeError, match="keys must be"):
        "".join(_encode({(1,): 1}))
