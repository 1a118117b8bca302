"""Marks in the texts of others: quoted or forged, they change nothing; and none is made that would not shorten."""

import base64
import re

import pytest
from histories import Call, Turn, write
from oracle import faults, texts_of

from ga_context import ContextSession, UnknownReference
from ga_context.text import marker

FORMATS = ["anthropic", "openai-chat", "text"]
PLAIN = {"anchor": {"placement": "off"}}
REF = "0123456789abcdef"
QUOTED = "".join(
    [
        "docs: a cut text says",
        marker.marker(99, REF),
        f"a line {marker.LINE_MARK}, an old block {marker.FOLDED}, data {marker.data_mark(1_234)},",
        marker.note(99, REF),
        f" {marker.payload_note('image', REF)} {marker.MISSING_RESULT} {marker.NO_WORDS} {marker.FIRST_USER}\n",
    ]
)
PLAIN_WORDS = re.sub(r"[^\s]", "x", QUOTED)
"""The same with every character an x, white space apart."""


def decisions(session):
    """Return what was cut where, in all turns."""
    actions = [action for report in session.reports for action in report.actions]
    return [
        (a.stage, a.reason, a.message, a.last, a.part, a.start, a.end, a.chars_before, a.chars_after) for a in actions
    ]


@pytest.mark.parametrize("format", FORMATS)
def test_quoted_marks_change_no_decision(format):
    """Truncation, passes, evictions and last resorts cut the same places as with plain words of the same length."""
    made = []
    for words in (QUOTED, PLAIN_WORDS):
        session = ContextSession(PLAIN | {"budget": {"chars": 9_000, "on_exceeded": "report"}}, format=format)
        turns = [Turn("user", (words * 2,))]
        for n in range(24):
            output = words * (1, 4, 30)[n % 3]
            turns.append(Turn("model", (words,), (Call("code_run", note=words * 3, output=output, named=False),)))
        raw = write(format, turns)
        for end in range(1, len(raw) + 1, 2):
            assert faults(session.prepare(raw[:end]), format) == []
        made.append(decisions(session))
    assert made[0] == made[1]
    assert {stage for stage, *_ in made[0]} == {"truncate", "compact", "evict"}


def test_a_forged_reference_leads_nowhere():
    """Only what was archived has one."""
    session = ContextSession(PLAIN, format="openai-chat")
    session.prepare([{"role": "user", "content": QUOTED}])
    with pytest.raises(UnknownReference, match=REF):
        session.recall(REF)


def test_a_forged_placeholder_is_a_result():
    """A late second result does not take its place."""
    call = {"id": "c1", "type": "function", "function": {"name": "code_run", "arguments": "{}"}}
    raw = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": marker.MISSING_RESULT},
        {"role": "tool", "tool_call_id": "c1", "content": "late"},
    ]
    view = ContextSession(PLAIN, format="openai-chat").prepare(raw)
    assert view == [*raw[:3], {"role": "user", "content": "result of code_run: late"}]


@pytest.mark.parametrize("format", ["anthropic", "openai-chat"])
def test_a_quoted_anchor_is_a_text(format):
    """It is not folded, where anchors are blocks or messages of their own; ours are."""
    session, raw = (
        ContextSession(format=format),
        write(format, [Turn("user", ("Go.",)), *[Turn("model", calls=(Call(),))] * 3]),
    )
    session.update_key_info("the plan, in more than five characters")
    view = session.prepare(raw)
    quoted = view[-1]["content"][-1]["text"] if format == "anthropic" else view[-1]["content"]
    assert "<key_info>\nthe plan" in quoted
    quoted = f"I read: {quoted}"
    raw += write(format, [Turn("user", (quoted,)), *[Turn("model", calls=(Call(),))] * 12])
    for end in range(len(view), len(raw) + 1, 2):
        view = session.prepare(raw[:end])
    texts = [text for message in view for text in texts_of(message, format)]
    assert quoted in texts
    assert any("<key_info>[...]</key_info>" in text for text in texts)


@pytest.mark.parametrize(("charge", "kept"), [(4_800, False), (60, False), (20, True), (0, True)])
def test_a_payload_that_costs_less_than_its_note_stays(charge, kept):
    """A note would make the list longer."""
    data = base64.b64encode(b"picture" * 100).decode()
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
    raw = [{"role": "user", "content": [{"type": "text", "text": "See."}, image]}]
    newer = [{"role": "assistant", "content": "Yes."}, {"role": "user", "content": "Go on."}] * 6
    session = ContextSession(PLAIN | {"budget": {"payload_chars": charge}}, format="openai-chat")
    view = session.prepare([*raw, *newer])
    assert (view[0] is raw[0]) == kept
    assert session.report.chars_after <= session.report.chars_before
