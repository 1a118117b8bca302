"""Where every character of the raw history is, and that each can be had back through what the manifest says."""

from __future__ import annotations

import json
from typing import Any

import pytest
from histories import FORMATS, after, configs, histories, operations, splits
from hypothesis import given
from hypothesis import strategies as st
from test_promises import exchange, request
from test_recall import recalled, with_log

import ga_context as ga
from ga_context.archive import MemoryArchive
from ga_context.reading import read
from ga_context.text.marker import TITLE

formats = pytest.mark.parametrize("format", FORMATS)


def texts_of(session: ga.ContextSession, message: int) -> dict[str, str]:
    """Return the texts of a raw message by part, read anew."""
    fmt, raw = session._state.fmt, session._state.raw[message]
    blocks = read(fmt, MemoryArchive(), raw, message, message)[0].blocks
    return {".".join(map(str, (b.position, *path))): text for b in blocks for path, text in fmt.texts(b, -1)}


def check_all(session: ga.ContextSession) -> None:
    """Check that the spans cover each text once, in order, and that each gives back its characters."""
    spans = session.manifest()
    by_part: dict[tuple[int, str], list[Any]] = {}
    for span in spans:
        by_part.setdefault((span.message, span.part), []).append(span)
    for message in [i for i, raw in enumerate(session._state.raw) if raw is not None]:
        for part, text in texts_of(session, message).items():
            found = by_part.pop((message, part), [])
            assert "".join([session.original(span) for span in found]) == text
            at = 0
            for span in found:
                assert (span.start, span.end > at) == (at, True)
                assert (span.shown is None) == (span.place in ("archived", "superseded"))
                assert span.shown is not None or span.ref in session._state.archive
                said = span.turn is not None and span.stage and span.reason
                assert span.shown is not None or said or text.startswith(TITLE)  # an anchor of ours, fed back
                at = span.end
            assert at == len(text)
    assert not by_part


@formats
@given(data=st.data())
def test_every_character_is_somewhere(format: str, data: st.DataObject) -> None:
    """In any history and configuration, turn by turn, with three more passes and evictions on the way."""
    raw = data.draw(histories(format, max_turns=8))
    session = ga.ContextSession(data.draw(configs()), format=format)
    for given_list in data.draw(splits(raw, format)):
        session.prepare(given_list)
    check_all(session)


@formats
@given(data=st.data())
def test_whatever_the_caller_does(format: str, data: st.DataObject) -> None:
    """Rollbacks, changes, key_info, a smaller budget: it is right all the same.

    Not where a view is fed back and messages of it then change, which the README says.
    """
    rest = data.draw(histories(format, max_turns=8))
    session = ga.ContextSession(data.draw(configs()), format=format)
    raw: list[dict[str, Any]] = []
    view: list[dict[str, Any]] = []
    for operation in [one for one in data.draw(operations(format)) if one[0] != "feed back"]:
        raw, rest = after(operation, raw, rest, view, format)
        if operation[0] == "key_info":
            session.update_key_info(operation[1])
        view = session.prepare(raw, shrink=operation[1] if operation[0] == "shrink" else None)
    check_all(session)


@formats
def test_the_life_of_a_log(format: str) -> None:
    """Cut when it came in, cut again by passes, evicted at last: each character by one reference, all along."""
    session, raw, ref = with_log(format, budget={"chars": 20_000}, compact={"interval": 5, "keep_recent": 4})
    part = next(action.part for action in session.report.actions if action.ref == ref)
    text = texts_of(session, 2)[part]
    seen = []
    for n in range(1, 16):
        raw += exchange(n, f"{n}" * 3_000, format)
        session.prepare(raw)
        spans = session.where(2, part=part)
        assert "".join(map(session.original, spans)) == text
        seen.append([(span.place, span.turn, span.stage) for span in spans])
    assert seen[0][0] == seen[0][-1] == ("excerpt", None, None)
    assert ("archived", 2, "truncate") in seen[0]
    assert ("archived", 2, "truncate") in seen[-1]
    assert {stage for _, _, stage in seen[-1]} == {"truncate", "compact", "evict"}
    assert all(place == "archived" for place, _, _ in seen[-1])


@formats
def test_after_a_load_what_is_said_is_right(format: str) -> None:
    """No report need be left then, nor the undo log: what is cut is found by its content."""
    session, raw, _ = with_log(format, budget={"chars": 20_000})
    for n in range(1, 12):
        raw += exchange(n, f"{n}" * 3_000, format)
        session.prepare(raw)
    loaded = ga.ContextSession.load(session.dump())
    loaded.prepare(raw)
    spans = loaded.manifest()
    for message in range(len(raw)):
        for part, text in texts_of(loaded, message).items():
            found = [span for span in spans if (span.message, span.part) == (message, part)]
            assert found[0].start == 0
            assert found[-1].end == len(text)
            known = [span for span in found if span.shown is not None or span.ref is not None]
            assert [loaded.original(span) for span in known] == [text[span.start : span.end] for span in known]
    cut = [
        span for span in spans if span.place == "archived" and any([one.shown for one in loaded.where(span.message)])
    ]
    assert cut
    assert all(span.ref in loaded._state.archive for span in cut)


@formats
def test_a_recalled_part_leads_to_the_first_original(format: str) -> None:
    """What a pass cuts of it is where it was all the time."""
    session, raw, ref = with_log(format, compact={"keep_recent": 0, "interval": 2, "recall_grace": 1})
    raw += recalled(session, format, {"ref": ref, "start": 50_000, "end": 58_000})
    for n in range(1, 8):
        raw += exchange(n, "ok", format)
        session.prepare(raw)
    gone = [span for span in session.where(4) if span.place == "archived"]
    assert gone
    assert all((span.ref, 50_000 <= span.ref_start < span.ref_end <= 58_000) == (ref, True) for span in gone)
    check_all(session)


def test_key_info_that_was_replaced() -> None:
    """Notes whose call has left are in the anchor; older notes are superseded."""
    session = ga.ContextSession({"budget": {"chars": 6_000}}, format="anthropic")
    raw = [request("Go.", "anthropic")]
    for n in range(8):
        use = {
            "type": "tool_use",
            "id": f"k{n}",
            "name": "update_working_checkpoint",
            "input": {"key_info": f"note {n // 4}"},
        }
        raw += [{"role": "assistant", "content": [use]}]
        raw += [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"k{n}", "content": "o" * 1_500}]}]
        session.prepare(raw)
    old, kept = session.where(1)[0], session.where(9)[0]
    assert (old.place, old.stage, session.original(old)) == ("superseded", "evict", "note 0")
    assert (kept.place, kept.shown, session.original(kept)) == ("excerpt", len(session._state.view) - 1, "note 1")


def test_ranges_and_parts() -> None:
    """Characters count over the texts of a message, or in the part that is named."""
    session = ga.ContextSession(format="anthropic")
    blocks = [{"type": "text", "text": "abc"}, {"type": "text", "text": "defg"}]
    session.prepare([{"role": "user", "content": blocks}])
    assert [(s.part, s.start, s.end) for s in session.where(0)] == [("0", 0, 3), ("1", 0, 4)]
    assert [(s.part, s.start, s.end) for s in session.where(0, 2, 5)] == [("0", 2, 3), ("1", 0, 2)]
    assert [(s.part, s.start, s.end) for s in session.where(0, 1, part="1")] == [("1", 1, 4)]
    assert str(session.where(0)[0]) == "message 0 part 0 [0:3]: view, message 0 of the view"
    assert json.loads(json.dumps(session.where(0)[0].to_dict()))["place"] == "view"
    with pytest.raises(
        ga.InvalidMessages, match=r"`messages\[7\]` is not there; the session knows the messages 0 to 0"
    ):
        session.where(7)
    with pytest.raises(ga.InvalidMessages, match="has no part '9'; its texts are: 0, 1"):
        session.where(0, part="9")


def test_a_quiet_session_keeps_nothing_for_it() -> None:
    """No attribute, no list: what is asked is answered from rows, undo log and reports."""
    session, _, _ = with_log("anthropic")
    before = set(vars(session)), len(session._state.archive.entries)
    check_all(session)
    assert (set(vars(session)), len(session._state.archive.entries)) == before
