"""Sessions that weigh characters: the promises of spec 3 with ``weights = "script"``, over all formats."""

import json

import pytest
from histories import FORMATS, configs, histories, splits, wire_text
from hypothesis import given
from hypothesis import strategies as st
from oracle import faults
from test_history_size import has_payload

import ga_context as ga
from ga_context.formats import make
from ga_context.payload.charge import Charges
from ga_context.text.size import UNIFORM, weighed

formats = pytest.mark.parametrize("format", FORMATS)
FAMILY = st.sampled_from(("openai", "qwen", "deepseek", "claude", "max"))
CJK = "上下文管理器站在消息列表和模型调用之间。" * 30
HARD = (CJK, "😀🎉" * 400, "QmFzZTY0IGlzIGRlbnNl" * 60, "plain words " * 90, "    \n" * 200, '"\\' * 300)


def with_hard_texts(data, raw):
    """Replace some long strings by text that weighs much more, or less, than it is long."""

    def swapped(value, key=None):
        if isinstance(value, dict):
            return {key: swapped(inner, key) for key, inner in value.items()}
        if isinstance(value, list):
            return [swapped(inner) for inner in value]
        if isinstance(value, str) and key in ("text", "content", "output") and len(value) > 30 and "<" not in value:
            return data.draw(st.sampled_from((value, *HARD)))
        return value

    return [swapped(message) for message in raw]


def measured(data):
    """Draw a budget that is weighed, or counted by a counter of one's own that is not additive."""
    if data.draw(st.integers(0, 3)) == 0:
        return {"count": lambda text: 1 + len(text.encode()) // 3}
    return {"weights": "script", "family": data.draw(FAMILY)}


def prepared(session, raw):
    """Return the view, or the smallest there is, with the error that says so."""
    try:
        return session.prepare(raw), None
    except ga.BudgetExceeded as over:
        return over.view, over


@formats
@given(data=st.data())
def test_within_budget_or_said(format, data):
    """Promise 3, in what C_H counts and in bytes; the view stays valid, and prepare again changes nothing."""
    parts = data.draw(splits(with_hard_texts(data, data.draw(histories(format))), format))
    config = data.draw(configs())
    limit = data.draw(st.sampled_from((20_000_000, 20_000_000, 6_000)))
    config = {**config, "budget": {**config.get("budget", {}), "body_bytes": limit, **measured(data)}}
    session = ga.ContextSession(config, format=format)
    for raw in parts:
        view, over = prepared(session, raw)
        report = session.report
        if over is None:
            exceeded = session.config.budget.on_exceeded == "report"
            assert report.chars_after <= report.budget_chars or exceeded
            assert len(wire_text(view, ensure_ascii=False).encode()) <= limit or exceeded
            assert session.prepare(raw) == view
        else:
            assert view
            assert over.unit == "bytes" or over.size > report.budget_chars
        assert faults(view, format, alternate=session.config.formats.openai_chat.alternate) == []


@formats
@given(data=st.data(), family=FAMILY)
def test_sums_kept_up_are_sums_made_anew(format, data, family):
    """Of the raw list and of the view."""
    raw = with_hard_texts(data, data.draw(histories(format, troubles=False)))
    config = ga.ContextConfig(budget={"chars": 8_000, "on_exceeded": "report", "weights": "script", "family": family})
    session = ga.ContextSession(config, format=format)
    view = session.prepare(raw)
    if not has_payload(raw):
        assert session.report.chars_raw == ga.size(raw, config)
        assert session.report.chars_after == ga.size(view, config)


@formats
@given(data=st.data(), family=FAMILY)
def test_bytes_and_lengths_are_bounded_by_the_weight(format, data, family):
    """Four bytes for one at most: that is how a session knows that a request is far from its limit."""
    raw = with_hard_texts(data, data.draw(histories(format, troubles=False)))
    if not has_payload(raw):
        fmt = make(format, Charges(), measure=weighed(family))
        for message in raw:
            assert len(wire_text(message, ensure_ascii=False).encode()) <= 4 * fmt.read(0, message, 0).size


def test_chinese_takes_more_of_the_budget_than_english():
    """The same characters, and the same B: what leaves is what takes the tokens."""
    evicted = {}
    for name, text in (
        ("english", "plain English words, and more of them. "),
        ("chinese", "这是一些中文内容，还有更多内容。"),
    ):
        said = (text * 400)[:2_000]
        raw = [{"role": role, "content": said} for _ in range(12) for role in ("user", "assistant")]
        session = ga.ContextSession({"budget": {"chars": 60_000, "weights": "script", "family": "openai"}})
        session.prepare([*raw, {"role": "user", "content": "go on"}])
        evicted[name] = session.report.evicted is not None
    assert evicted == {"english": False, "chinese": True}


def test_uniform_is_the_default_and_counts_characters():
    assert ga.ContextConfig().measure is UNIFORM
    assert ga.ContextConfig.generic_agent().measure is UNIFORM


def test_the_budget_leaves_room_for_system_and_tools_as_they_weigh():
    system = "系统提示" * 200
    raw = [{"role": "user", "content": "hi"}]
    left = []
    for weights in ("uniform", "script"):
        session = ga.ContextSession({"budget": {"weights": weights}}, format="anthropic")
        session.prepare(raw, system=system)
        left.append(session.report.budget_chars)
    assert left[0] == 90_000 - len(json.dumps(system, ensure_ascii=False))
    assert left[1] < left[0] - 800


def test_a_counter_of_ones_own_is_called_once_a_message():
    """Each text, call or result, when it is first seen; a token counts chars_per_token."""
    seen = []
    config = ga.ContextConfig(budget={"count": lambda text: seen.append(text) or len(text) // 4})
    session = ga.ContextSession(config, format="openai-chat")
    raw = [{"role": "user", "content": "what is in the file?"}]
    session.prepare(raw)
    raw += [{"role": "assistant", "content": "A parser."}, {"role": "user", "content": "Thanks."}]
    session.prepare(raw)
    assert seen == ['"what is in the file?"', '"A parser."', '"Thanks."']
    assert session.report.chars_after == sum(len(json.dumps({**one, "content": ""})) - 2 for one in raw) + 3 * 9


# -- measured tokens


def calibrated(calibrate=True, tokens=14_916):
    """Return a session after a turn of 30,000 characters that the provider counted."""
    budget = {"window_tokens": 20_000, "calibrate": calibrate}
    session = ga.ContextSession({"budget": budget, "compact": {"interval": None}}, format="anthropic")
    raw = [{"role": role, "content": "x" * 2_946} for _ in range(5) for role in ("user", "assistant")]
    raw = [*raw, {"role": "user", "content": "go on"}]
    session.prepare(raw)
    session._measured_tokens(tokens)
    return session, raw


def test_the_report_says_how_far_the_estimate_is_off():
    """29,831 characters at three a token are 9,944 tokens, where 14,916 were counted."""
    session, _ = calibrated(calibrate=False)
    report = session.report
    assert (report.chars_after, report.prompt_tokens, report.estimate_error) == (29_831, 14_916, -0.3334)


def test_what_was_measured_sets_the_budget_and_the_break_is_the_config():
    """Two characters a token: B is 40,000 and not 60,000. What now leaves does so for that reason."""
    session, raw = calibrated()
    raw += [{"role": "assistant", "content": "y" * 12_000}, {"role": "user", "content": "more"}]
    session.prepare(raw)
    report = session.report
    assert (report.budget_chars, report.evicted is not None, report.break_cause) == (40_000, True, "config")
    raw += [{"role": "assistant", "content": "z" * 30_000}, {"role": "user", "content": "more"}]
    session.prepare(raw)
    assert session.report.break_cause == "eviction"


def test_without_calibrate_the_budget_stays():
    session, raw = calibrated(calibrate=False)
    session.prepare([*raw, {"role": "assistant", "content": "y"}, {"role": "user", "content": "more"}])
    assert (session.report.budget_chars, session.report.break_cause) == (60_000, None)


@pytest.mark.parametrize("tokens", [0, 9_600, 10_400])
def test_a_small_error_corrects_nothing(tokens):
    """Within five percent B stays, and so does the prefix."""
    session, raw = calibrated(tokens=tokens)
    session.prepare([*raw, {"role": "assistant", "content": "y"}, {"role": "user", "content": "more"}])
    assert session.report.budget_chars == 60_000


def test_what_was_measured_survives_a_dump_and_a_rollback():
    session, raw = calibrated()
    longer = [*raw, {"role": "assistant", "content": "y"}, {"role": "user", "content": "more"}]
    loaded = ga.ContextSession.load(session.dump())
    for one in (session, loaded):
        one.prepare(longer)
        assert one.report.budget_chars == 40_000
    session.prepare(raw)
    assert session.report.budget_chars == 40_000
