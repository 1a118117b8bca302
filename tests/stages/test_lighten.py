"""A request over its limit of bytes: the oldest images go first, then exchanges, then what promise 3 names."""

import copy

import pytest
from histories import after, configs, histories, operations
from histories.common import wire_text
from hypothesis import given
from hypothesis import strategies as st
from images import image_block, look, png, text

import ga_context as ga
from ga_context.formats.base import Format

FORMATS = ["anthropic", "openai-chat", "bedrock"]
formats = pytest.mark.parametrize("format", FORMATS)
PLAIN = {"compact": {"interval": None}, "anchor": {"placement": "off"}}


def body(view):
    """Return the bytes of a list in a request."""
    return len(wire_text(view, ensure_ascii=False).encode())


def said(role, words, format, *items):
    """Return a message of items and a text."""
    text = {"text": words} if format == "bedrock" else {"type": "text", "text": words}
    return {"role": role, "content": [*items, text]}


def picture(n, kilobytes=30):
    """Return a PNG of 1280 x 800 whose base64 has 40 KB, each its own."""
    return png(1280, 800)[:100] + bytes([n]) * (kilobytes * 1000)


def prepared(raw, format, limit, **budget):
    """Return session and view of a list under a limit."""
    settings = {"chars": 300_000, "body_bytes": limit, **budget}
    session = ga.ContextSession({**PLAIN, "budget": settings}, format=format)
    return session, session.prepare(raw)


def images(view):
    """Return which of the pictures are still there."""
    whole = wire_text(view)
    return [n for n in range(20) if text(picture(n))[200:] in whole]


@formats
def test_the_oldest_images_go_first(format):
    """Down to 0.6 of the limit, each a line with its reference; every exchange stays, the newest with its image."""
    raw = [said("user", "Go.", format)]
    for n in range(10):
        raw += look(n, format, picture(n))
    session, view = prepared(raw, format, 400_000)
    report = session.report
    assert images(view) == [5, 6, 7, 8, 9]
    assert len(view) == len(raw)
    assert report.body_bytes == body(view) <= 240_000
    sent, charged = (40_158, 3_315) if format == "openai-chat" else (40_136, 4_098)
    assert (report.payload_bytes, report.payload_chars) == (5 * sent, 5 * charged)
    first = report.actions[0]
    assert (first.stage, first.reason) == ("evict", "over the bytes of a request: image 1280x800")
    assert session.recall(first.ref) == picture(0)
    assert f"[image omitted; saved: ref {first.ref}]" in wire_text(view)


@formats
def test_below_the_limit_nothing_is_touched(format):
    """The same objects, and nobody counts."""
    raw = [said("user", "Go.", format), *look(1, format, picture(1))]
    session, view = prepared(raw, format, 100_000)
    assert [a is b for a, b in zip(view, raw, strict=True)] == [True] * 3
    assert session.report.body_bytes is None
    assert prepared(raw, format, None)[1] == raw


@formats
def test_the_newest_exchange_and_the_request_keep_theirs(format):
    """As long as they are below the limit by themselves."""
    request = said("user", "Go.", format, image_block(format, picture(0)))
    raw = [request, *look(1, format, picture(1)), *look(2, format, picture(2)), *look(3, format, picture(3))]
    assert images(prepared(raw, format, 100_000)[1]) == [0, 3]
    assert images(prepared(raw, format, 60_000)[1]) == [3]
    _, view = prepared(raw, format, 20_000)
    assert images(view) == []
    assert body(view) <= 20_000
    assert len(view) == len(raw)


@formats
def test_then_the_oldest_exchanges_go(format):
    """Texts alone: down to 0.6 of the limit, as for C_H. Each of these characters has three bytes."""
    raw = [said("user", "Go.", format)]
    for n in range(20):
        raw += [said("assistant", f"{n:03}" + "上" * 1_000, format), said("user", f"On {n}.", format)]
    session, view = prepared(raw, format, 50_000)
    assert session.report.evicted is not None
    assert session.report.body_bytes == body(view) <= 30_000
    assert body(view) > 30_000 - 3_200
    assert session.report.chars_before < 25_000
    assert session.report.actions[0].reason == "over the bytes of a request: the oldest go first"


@formats
def test_then_texts_are_cut(format):
    """The same means as for C_H, and at last the same error, in bytes."""
    raw = [said("user", "上" * 10_000, format)]
    session, view = prepared(raw, format, 20_000)
    assert body(view) <= 20_000
    assert session.report.actions[-1].reason == "still over the budget"
    with pytest.raises(ga.BudgetExceeded) as caught:
        prepared(raw, format, 2_000)
    assert caught.value.unit == "bytes"
    assert (caught.value.size, caught.value.budget) == (body(caught.value.view), 2_000)
    assert caught.value.items == [("message 0 (user)", body(caught.value.view) - 2)]
    assert "bytes" in str(caught.value)
    assert "`budget.body_bytes`" in str(caught.value)
    session, view = prepared(raw, format, 2_000, on_exceeded="report")
    assert session.report.body_bytes == body(view) > 2_000
    assert prepared(raw, format, 2_000, on_exceeded="report")[1] == view


@formats
def test_what_is_far_below_is_never_counted(format, monkeypatch):
    """A session without images costs nothing."""
    monkeypatch.setattr(Format, "text_bytes", None)
    raw = [said("user", "Go.", format)]
    session = ga.ContextSession({"budget": {"chars": 20_000}}, format=format)
    for n in range(30):
        raw += [said("assistant", f"{n}" + "x" * 1_000, format), said("user", "On.", format)]
        session.prepare(raw)
    assert any(report.evicted for report in session.reports)


def with_pictures(value, sizes):
    """Return JSON data with a picture of the next of these sizes in the place of each payload."""
    if isinstance(value, dict):
        return {key: with_pictures(item, sizes) for key, item in value.items()}
    if isinstance(value, list):
        return [with_pictures(item, sizes) for item in value]
    if isinstance(value, bytes) and value.startswith(b"\x89PNG"):
        width, height = sizes[len(value) % len(sizes)]
        return png(width, height)[:100] + b"\1" * (width * 3)
    if isinstance(value, str) and (at := value.find("iVBORw0KGgo")) in (0, len("data:image/png;base64,")):
        width, height = sizes[len(value) % len(sizes)]
        return value[:at] + text(png(width, height)[:100] + b"\1" * (width * 3))
    return value


SIZES = st.lists(st.tuples(st.integers(1, 3_000), st.integers(1, 3_000)), min_size=1, max_size=3)


@pytest.mark.parametrize("format", [*FORMATS, "openai-responses", "gemini"])
@given(data=st.data())
def test_within_the_limit_or_said_so(format, data):
    """Whatever comes and goes: the bytes and charges that are kept up are those of the view, and below their limits."""
    rest = with_pictures(data.draw(histories(format)), data.draw(SIZES))
    config = data.draw(configs())
    config["budget"] |= {"body_bytes": data.draw(st.sampled_from((300, 3_000, 12_000, 40_000))), "payloads": "pixels"}
    session = ga.ContextSession(config, format=format)
    raw, view = [], []
    for operation in data.draw(operations(format)):
        raw, rest = after(operation, raw, rest, view, format)
        if operation[0] == "reload":
            session = ga.ContextSession.load(session.dump())
        before = copy.deepcopy(raw)
        view = session.prepare(raw)
        assert raw == before
        report = session.report
        if report is None:
            continue
        assert report.body_bytes in (None, body(view))
        assert report.chars_after == ga.size(view, session.config) or ga.formats.detect(view) != format
        if body(view) > session.config.budget.body_bytes:
            with pytest.raises(ga.BudgetExceeded):
                exceeded(view, config, format)


def exceeded(view, config, format):
    """Prepare what is left of a list that is over its limit: nothing more can be done about it."""
    strict = {**config, "budget": {**config["budget"], "on_exceeded": "raise"}}
    ga.ContextSession(strict, format=format).prepare(view)
