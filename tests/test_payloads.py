"""Images, documents and sounds in a session: what they count, what becomes of them, and that no part is ever sent."""

import json
from base64 import b64encode, encodebytes
from hashlib import sha256

import pytest
from images import image_block, jpeg, look, png, text, webp_lossy

import ga_context as ga

FORMATS = ["anthropic", "openai-chat"]
formats = pytest.mark.parametrize("format", FORMATS)
BARE = {"anchor": {"placement": "off"}}
URL = "https://example.com/chart.png"
ON = [{"role": "assistant", "content": "Yes."}, {"role": "user", "content": "On."}]


def around(message, *data):
    """Return the characters of a message as JSON without these."""
    return len(json.dumps(message, ensure_ascii=False)) - sum(map(len, data))


@pytest.mark.parametrize(
    ("format", "file", "chars"),
    [
        ("anthropic", png(200, 200), 54 * 3),
        ("anthropic", jpeg(1000, 1000), 1334 * 3),
        ("anthropic", webp_lossy(4000, 3000), 1568 * 3),
        ("anthropic", b"REDACTED", 4_800),
        ("openai-chat", png(512, 512), 255 * 3),
        ("openai-chat", jpeg(2048, 4096), 1105 * 3),
        ("openai-chat", b"REDACTED", 4_800),
    ],
)
def test_an_image_counts_by_its_pixels(format, file, chars):
    """By its provider's rule, alone and in a result; by a fixed number for the report and where it is set."""
    item = image_block(format, file)
    data = item["source"]["data"] if format == "anthropic" else item["image_url"]["url"]
    message = {"role": "user", "content": [item]}
    assert ga.size([message]) == around(message, data) + chars
    assert ga.size([message], ga.ContextConfig.generic_agent()) == around(message, data) + 4_800
    assert ga.size([message], ga.ContextConfig(budget={"payload_chars": 100})) == around(message, data) + 100
    result = look(1, format, file)
    assert ga.size(result) == sum(map(around, result)) - len(data) + chars


def test_bytes_count_as_claude_counts_them():
    """On Bedrock; what no header explains counts as it does elsewhere."""
    for file, chars in ((png(1000, 1000), 1334 * 3), (bytearray(jpeg(4000, 3000)), 1568 * 3), (b"REDACTED", 4_800)):
        message = {"role": "user", "content": [image_block("bedrock", file), {"text": "See."}]}
        empty = {"role": "user", "content": [image_block("bedrock", ""), {"text": "See."}]}
        assert ga.size([message]) == around(empty) + chars


def test_low_detail_is_a_fixed_price():
    """Of a link too, whose size nobody knows."""
    for url in ("data:image/png;base64," + text(png(4000, 3000)), URL):
        message = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": url, "detail": "low"}}]}
        assert ga.size([message]) == around(message, url) + 85 * 3


@pytest.mark.parametrize(
    ("format", "item", "pointer", "kind"),
    [
        ("anthropic", {"type": "image", "source": {"type": "url", "url": URL}}, URL, "image"),
        ("anthropic", {"type": "image", "source": {"type": "file", "file_id": "abcd"}}, "abcd", "image"),
        ("anthropic", {"type": "document", "source": {"type": "url", "url": URL}}, URL, "document"),
        ("openai-chat", {"type": "image_url", "image_url": {"url": URL}}, URL, "image"),
        ("openai-chat", {"type": "file", "file": {"file_id": "abcd"}}, "abcd", "document"),
    ],
)
def test_an_old_link_becomes_a_line(format, item, pointer, kind):
    """The file is charged, and where it is can be had back as it was written."""
    raw = [{"role": "user", "content": [item, {"type": "text", "text": "See."}]}, *ON * 6]
    session = ga.ContextSession(BARE, format=format)
    assert session.prepare(raw[:1])[0] is raw[0]
    assert session.report.payload_chars == 4_800
    view = session.prepare(raw)
    (action,) = session.report.actions
    assert action.reason == f"old payload: {kind}"
    assert (action.chars_before, action.start, action.end) == (4_800, 0, len(pointer))
    assert view[0]["content"][0]["text"] == f"[{kind} omitted; saved: ref {action.ref}]"
    assert session.recall(action.ref) == pointer
    assert session.report.payload_chars == 0


@formats
def test_an_old_image_is_named_with_its_pixels(format):
    """In the report, one action each; its bytes come back."""
    raw = [{"role": "user", "content": "Go."}, *look(1, format, png(1280, 800)), *look(2, format, jpeg(640, 480))]
    session = ga.ContextSession(BARE, format=format)
    session.prepare([*raw, *ON * 6])
    actions = session.report.actions
    assert [action.reason for action in actions] == ["old payload: image 1280x800", "old payload: image 640x480"]
    assert [session.recall(action.ref) for action in actions] == [png(1280, 800), jpeg(640, 480)]


@formats
def test_an_icon_stays(format):
    """A line in its place would be longer than what it counts."""
    raw = [{"role": "user", "content": "Go."}, *look(1, format, png(8, 8)), *ON * 6]
    session = ga.ContextSession(BARE, format=format)
    view = session.prepare(raw)
    assert (view[2] is raw[2]) == (format == "anthropic")  # by tiles even an icon counts 255 tokens


@formats
def test_the_report_has_bytes_and_charge(format):
    """Kept up while they come and go, over a rollback, a dump and a view fed back."""
    raw = [{"role": "user", "content": "Go."}, *look(1, format, png(1280, 800)), *look(2, format, png(640, 480))]
    session = ga.ContextSession({**BARE, "compact": {"keep_recent": 2, "interval": 1}}, format=format)
    one, two = [{"anthropic": (4_098, 1_230), "openai-chat": (3_315, 1_275)}[format][n] for n in (0, 1)]
    seen = []
    for end in (1, 3, 5, 3):
        view = session.prepare(raw[:end])
        seen.append((session.report.payload_chars, session.report.payload_bytes > 0))
    assert seen[0] == (0, False)
    assert seen[1] == (one, True)
    assert seen[2] == (two, True)
    assert seen[3] == (one, True)
    assert f"; payloads of {session.report.payload_bytes:,} bytes count {one:,}" in str(session.report)
    loaded = ga.ContextSession.load(session.dump())
    loaded.prepare([*view, *ON])
    session.prepare([*view, *ON])
    assert loaded.report.payload_bytes == session.report.payload_bytes
    assert loaded.report.payload_chars == session.report.payload_chars


def secret(which):
    """Return a file whose base64 repeats nowhere."""
    return b"".join([sha256(f"{which} {n}".encode()).digest() for n in range(200)])


def written(which):
    """Return ways to write it in a text."""
    plain = b64encode(secret(which)).decode()
    data_url = f"![chart](data:image/png;base64,{plain})"
    return plain, encodebytes(secret(which)).decode(), data_url, json.dumps({"n": 1, "file": plain, "list": [plain]})


def escaped(value):
    """Return a text as it stands in JSON."""
    return json.dumps(value, ensure_ascii=False)[1:-1]


@formats
@pytest.mark.parametrize("way", [0, 1, 2, 3])
def test_no_part_of_base64_is_sent(format, way):
    """From a result, an argument, a thought, a tag in a text, the notes: whole or not at all, at every turn."""
    texts = [written(n)[way] for n in range(5)]
    thought = {"reasoning_content": texts[2]} if format == "openai-chat" else {}
    arguments = {"path": texts[1], "note": f"as it is: {texts[1]} here"}
    if format == "openai-chat":
        called = {"id": "a", "type": "function", "function": {"name": "save", "arguments": json.dumps(arguments)}}
        said = [
            {"role": "assistant", "content": f"<thinking>{texts[3]}</thinking>", "tool_calls": [called], **thought},
            {"role": "tool", "tool_call_id": "a", "content": texts[0] + "words " * 200},
        ]
    else:
        called = {"type": "tool_use", "id": "a", "name": "save", "input": arguments}
        thinking = {"type": "thinking", "thinking": texts[2]}
        tagged = {"type": "text", "text": f"<thinking>{texts[3]}</thinking>"}
        result = {"type": "tool_result", "tool_use_id": "a", "content": texts[0] + "words " * 200}
        said = [{"role": "assistant", "content": [thinking, tagged, called]}, {"role": "user", "content": [result]}]
    raw = [{"role": "user", "content": "Go."}, *said]
    session = ga.ContextSession({"tools": {"*": 900}, "compact": {"keep_recent": 2}}, format=format)
    session.update_key_info(texts[4])
    for _ in range(8):
        view = json.dumps(session.prepare(raw), ensure_ascii=False)
        for which, whole in enumerate(texts):
            plain = written(which)[0]
            parts = [plain[at : at + 24] for at in range(0, len(plain) - 24, 12)]
            in_view = escaped(whole) in view or escaped(escaped(whole)) in view  # arguments are JSON in JSON
            assert in_view or not [part for part in parts if part in view]
        raw = [*raw, *ON]
    assert any(action.stage == "compact" for report in session.reports for action in report.actions)


def test_a_tool_output_by_hand():
    """The same for `tool_output`: JSON or text, one line or many."""
    session = ga.ContextSession({"tools": {"*": 900}})
    for whole in written(1):
        out = session.tool_output("look", f"seen: {whole}")
        assert len(out) <= 900
        assert not [at for at in range(0, 4_000, 12) if written(1)[0][at : at + 24] in out]
