"""C_H: the length of each message as JSON, payloads at their charge."""

import pytest
from histories import FORMATS, histories, wire_text
from histories.common import LINK
from hypothesis import given
from hypothesis import strategies as st

from ga_context import ContextConfig, ContextSession, size

PAYLOAD = "iVBORw0KGgo" * 900


def as_json(messages):
    """Return the sum of the lengths that json gives."""
    return sum(len(wire_text(message, ensure_ascii=False)) for message in messages)


def has_payload(messages):
    """Return whether something in it is charged."""
    text = wire_text(messages)
    words = ("base64", "input_audio", "image_generation_call", '"bytes"', LINK)
    files = ("inlineData", "inline_data", "fileData", "file_data")
    return any(word in text for word in (*words, *files))


@pytest.mark.parametrize("format", FORMATS)
@given(data=st.data())
def test_size_is_the_length_as_json(format, data):
    """Of any message, whatever is wrong with it."""
    raw = data.draw(histories(format))
    if not has_payload(raw):
        assert size(raw) == as_json(raw)


@pytest.mark.parametrize("format", FORMATS)
@given(data=st.data())
def test_the_report_counts_the_same(format, data):
    """What is kept up incrementally is what measuring anew gives: of the raw list, and of the view."""
    raw = data.draw(histories(format, troubles=False))
    session = ContextSession({"budget": {"chars": 8_000, "on_exceeded": "report"}}, format=format)
    view = session.prepare(raw)
    if not has_payload(raw):
        assert session.report.chars_raw == as_json(raw)
        assert session.report.chars_after == as_json(view)


@pytest.mark.parametrize(
    ("part", "payload"),
    [
        ({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PAYLOAD}}, PAYLOAD),
        ({"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": PAYLOAD}}, PAYLOAD),
        (
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PAYLOAD}"}},
            f"data:image/png;base64,{PAYLOAD}",
        ),
        ({"type": "input_audio", "input_audio": {"data": PAYLOAD, "format": "wav"}}, PAYLOAD),
        (
            {"type": "file", "file": {"file_data": f"data:application/pdf;base64,{PAYLOAD}"}},
            f"data:application/pdf;base64,{PAYLOAD}",
        ),
        ({"type": "input_image", "image_url": f"data:image/png;base64,{PAYLOAD}"}, f"data:image/png;base64,{PAYLOAD}"),
        ({"type": "input_file", "file_data": PAYLOAD}, PAYLOAD),
    ],
)
def test_a_payload_is_charged(part, payload):
    """4,800 characters, or what the configuration says; the text around it counts as it is."""
    raw = [{"role": "user", "content": [{"type": "text", "text": "See."}, part]}]
    around = as_json(raw) - len(payload)
    assert size(raw) == around + 4_800
    assert size(raw, ContextConfig(budget={"payload_chars": 100})) == around + 100


def test_an_image_in_a_result_is_charged():
    """Anthropic lets tools return images."""
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PAYLOAD}}
    raw = [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": [image, image]}]}]
    assert size(raw) == as_json(raw) - 2 * len(PAYLOAD) + 9_600


def test_a_link_is_charged():
    """The provider fetches the image, and the model reads it all the same."""
    url = "https://example.com/a.png"
    raw = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}]
    assert size(raw) == as_json(raw) - len(url) + 4_800


@pytest.mark.parametrize(
    ("messages", "chars"),
    [([], 0), ([{"role": "user", "content": "é\n"}], 34), ([{"role": "user", "content": "\U0001f600"}] * 2, 64)],
)
def test_literals(messages, chars):
    """Characters, not bytes; escapes as they are written."""
    assert size(messages) == chars


def test_two_hundred_thousand_levels():
    """Depth is no event."""
    deep = "x"
    for _ in range(100_000):
        deep = [deep]
    use = {"type": "tool_use", "id": "a", "name": "b", "input": {"value": "x"}}
    flat = [{"role": "assistant", "content": [use]}]
    assert size([{"role": "assistant", "content": [{**use, "input": {"value": deep}}]}]) == as_json(flat) + 200_000
