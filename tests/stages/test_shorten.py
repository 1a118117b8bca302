"""Last resorts of stage 3: what is still over the budget is cut, the largest first, the user's own words at last."""

import json
import re

import pytest
from histories import Call, Turn, write
from oracle import faults, outputs, text_faults, texts_of

from ga_context import BudgetExceeded, ContextSession, size

FORMATS = ["anthropic", "openai-chat", "openai-responses", "gemini", "bedrock", "text"]
ASK = Turn("user", ("Do it.",))


def settings(chars, **budget):
    """Return a configuration with a budget of so many characters and no anchor."""
    return {"budget": {"chars": chars, **budget}, "anchor": {"placement": "off"}}


def round_of(*outputs):
    """Return a model message with one call for each output."""
    return Turn("model", (), tuple(Call("code_run", output=text, named=False) for text in outputs))


@pytest.mark.parametrize("format", FORMATS)
def test_the_largest_text_is_cut(format):
    """Head and tail of it stay, as much as the budget allows; the small one beside it is untouched."""
    raw = write(format, [ASK, round_of("a" * 3_000 + "z" * 3_000, "small " * 50)])
    session = ContextSession(settings(3_000), format=format)
    view = json.dumps(session.prepare(raw))
    assert re.search(r"a{500,}\\n\[\.\.\. \d+ characters omitted; saved: ref \w{16} \.\.\.\]\\nz{500,}", view)
    assert "small " * 50 in view
    assert 2_800 < session.report.chars_after <= 3_000


@pytest.mark.parametrize("format", FORMATS)
def test_what_was_cut_comes_back(format):
    """The action names the stage, the reason and the reference."""
    raw = write(format, [ASK, round_of("a" * 6_000)])
    session = ContextSession(settings(3_000), format=format)
    session.prepare(raw)
    (action,) = session.report.actions
    assert (action.stage, action.message, action.reason) == ("evict", 2, "still over the budget")
    assert "a" * 6_000 in session.recall(action.ref)
    assert session.recall(action.ref)[action.start : action.end].strip("a") == ""
    assert action.chars_before - action.chars_after < action.end - action.start


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("chars", [900, 1_200, 2_000, 3_000])
def test_json_that_is_cut_still_parses(format, chars):
    """And it is cut as far as the budget needs, the quotes of its marks counted; no further."""
    rows = [{"n": n, "text": "word " * 30, "more": "more " * 30} for n in range(40)]
    raw = write(format, [ASK, round_of(json.dumps({"rows": rows, "ok": True}))])
    session = ContextSession(settings(chars), format=format)
    view = session.prepare(raw)
    data = json.loads(outputs(view, format)[0])
    assert data["ok"]
    assert any("omitted" in str(row) for row in data["rows"])
    assert chars - 700 < session.report.chars_after <= chars


@pytest.mark.parametrize("format", ["anthropic", "openai-chat", "openai-responses"])
def test_each_text_keeps_eighty_characters(format):
    """And its marker; below that the budget cannot be met, and that is raised."""
    raw = write(format, [ASK, round_of(*["x" * 900] * 4)])
    with pytest.raises(BudgetExceeded) as caught:
        ContextSession(settings(400), format=format).prepare(raw)
    view = json.dumps(caught.value.view)
    kept = [sum(map(len, pair)) for pair in re.findall(r"(x+)\\n\[[^]]*\]\\n(x+)", view)]
    assert [78 <= chars <= 84 for chars in kept] == [True] * 4
    assert faults(caught.value.view, format) == []


@pytest.mark.parametrize("format", FORMATS)
def test_protected_messages_go_before_the_request_is_cut(format):
    """The newest five go, oldest exchange first, but for the newest exchange; texts this short are not cut."""
    raw = write(format, [Turn("user", ("word " * 500,)), *[round_of("x" * 40)] * 3])
    view = ContextSession(settings(size([raw[0], *raw[-2:]]) + 50), format=format).prepare(raw)
    assert view == [raw[0], *raw[-2:]]


@pytest.mark.parametrize("format", FORMATS)
def test_keep_first_goes_too(format):
    """Before the request loses a word."""
    raw = write(
        format, [ASK, round_of("x" * 40), Turn("model", ("Yes.",)), Turn("user", ("word " * 500,)), round_of("y")]
    )
    config = settings(size(raw[-3:]) + 50) | {"evict": {"keep_first": 3}}
    view = ContextSession(config, format=format).prepare(raw)
    assert view == raw[-3:]


@pytest.mark.parametrize("format", FORMATS)
def test_at_last_the_request_is_cut(format):
    """To what the budget leaves, and that is reported."""
    raw = write(format, [Turn("user", ("a" * 20_000 + "z" * 20_000,), named=False)])
    session = ContextSession(settings(10_000), format=format)
    (message,) = session.prepare(raw)
    assert re.fullmatch(r"a+\n\[.*\]\nz+", *texts_of(message, format))
    assert 9_800 < session.report.chars_after <= 10_000
    (action,) = session.report.actions
    assert (action.stage, action.message) == ("evict", 0)
    assert [session.recall(action.ref)] == texts_of(raw[0], format)


@pytest.mark.parametrize("format", FORMATS)
def test_the_request_keeps_two_thousand_characters(format):
    """Not less, however small the budget: then it is raised."""
    raw, short = (
        write(format, [Turn("user", (text,), named=False)]) for text in ("a" * 2_000 + "z" * 2_000, "a" * 2_000)
    )
    with pytest.raises(BudgetExceeded) as caught:
        ContextSession(settings(1_000), format=format).prepare(raw)
    (message,) = caught.value.view
    assert 2_000 <= len(*texts_of(message, format)) <= 2_100
    with pytest.raises(BudgetExceeded) as caught:
        ContextSession(settings(1_000), format=format).prepare(short)
    assert caught.value.view == short


@pytest.mark.parametrize("role", ["system", "developer"])
@pytest.mark.parametrize("format", ["openai-chat", "text"])
def test_system_messages_are_never_cut(format, role):
    """Alone over the budget: raised, with every word of them in the view."""
    raw = [{"role": role, "content": "Rule. " * 500}, {"role": "user", "content": "Go."}]
    with pytest.raises(BudgetExceeded) as caught:
        ContextSession(settings(1_000), format=format).prepare(raw)
    assert caught.value.view == raw


def test_signed_reasoning_of_the_newest_exchange_is_never_cut():
    """It stays whole while the result is cut."""
    thinking = {"type": "thinking", "thinking": "thought " * 300, "signature": "c2ln"}
    raw = write("anthropic", [ASK, round_of("x" * 6_000)])
    raw[1] = {**raw[1], "content": [thinking, *raw[1]["content"]]}
    view = ContextSession(settings(4_000)).prepare(raw)
    assert view[1] is raw[1]
    assert len(view[2]["content"][0]["content"]) < 1_600


@pytest.mark.parametrize("format", FORMATS)
def test_the_call_that_waits_is_never_cut(format):
    """Its arguments are about to be used."""
    raw = write(format, [ASK, Turn("model", (), (Call("code_run", note="n" * 6_000),))])[:2]
    with pytest.raises(BudgetExceeded) as caught:
        ContextSession(settings(4_000), format=format).prepare(raw)
    assert caught.value.view == raw


@pytest.mark.parametrize("format", FORMATS)
def test_arguments_stay_json(format):
    """Of an answered call in the newest exchange the strings may be cut; in the text format its tags stay."""
    raw = write(format, [ASK, Turn("model", (), (Call("code_run", note="n" * 6_000, output="ok"),))])
    view = ContextSession(settings(3_000), format=format).prepare(raw)
    assert size(view) <= 3_000
    assert faults(view, format) == []
    assert format != "text" or text_faults(raw, view) == []


@pytest.mark.parametrize("format", FORMATS)
def test_it_goes_on_after_being_over(format):
    """The next turn finds the cut as it is, and cuts no more than the new messages need."""
    session = ContextSession(settings(3_000), format=format)
    raw = write(format, [ASK, round_of("a" * 6_000), round_of("b" * 100)])
    first = session.prepare(raw[:3])
    second = session.prepare(raw)
    assert size(first) <= 3_000
    assert size(second) <= 3_000
    assert second[-1] == raw[-1]
