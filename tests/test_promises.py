"""The ten promises of spec 3 over generated histories in all formats; the oracle is written apart from the code."""

import copy
import json
import os
import subprocess
import sys
import threading
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest
from histories import FORMATS, after, configs, histories, operations, splits, wire_text
from hypothesis import given
from hypothesis import strategies as st
from oracle import faults, relation_faults, side_of, text_faults

import ga_context as ga
from ga_context.formats import base

CAUSES = {"pass", "eviction", "shrink", "repair", "merge", "caller", "config"}

formats = pytest.mark.parametrize("format", FORMATS)
Message = dict[str, Any]


@dataclass
class Step:
    """One call of prepare, with what it was given and what came of it."""

    raw: list[Message]
    view: list[Message]
    report: ga.Report


def play(parts: list[list[Message]], config: dict[str, Any], format: str) -> tuple[ga.ContextSession, list[Step]]:
    """Prepare each growing prefix in one session."""
    session = ga.ContextSession(config, format=format)
    steps = []
    for raw in parts:
        view = session.prepare(raw)
        assert session.report is not None
        steps.append(Step(raw, view, session.report))
    return session, steps


def request_was_cut(session: ga.ContextSession) -> bool:
    """Say whether a report names step iii of promise 3: texts of protected messages cut."""
    return any(action.stage == "evict" and action.part for report in session.reports for action in report.actions)


def alternates(session: ga.ContextSession) -> bool:
    """Say whether a chat template is to be served that refuses two of a role in a row."""
    return session.config.formats.openai_chat.alternate


@st.composite
def sessions(draw: st.DrawFn, format: str) -> tuple[list[list[Message]], dict[str, Any]]:
    """Draw the prefixes of a nasty history and a configuration in which every stage works."""
    return draw(splits(draw(histories(format)), format)), draw(configs())


@formats
@given(data=st.data())
def test_1_input_is_untouched(format: str, data: st.DataObject) -> None:
    """The list and every dict in it are equal to what they were before."""
    parts, config = data.draw(sessions(format))
    before = copy.deepcopy(parts[-1])
    play(parts, config, format)
    assert parts[-1] == before


@formats
@given(data=st.data())
def test_2_views_are_valid(format: str, data: st.DataObject) -> None:
    """Whatever came in, the provider takes what goes out, and nothing that must stay has changed."""
    parts, config = data.draw(sessions(format))
    session, steps = play(parts, config, format)
    for step in steps:
        assert faults(step.view, format, alternate=alternates(session)) == []
        assert relation_faults(step.raw, step.view, format, request_cut=request_was_cut(session)) == []
        if format == "text" and session.config.anchor.placement == "off":
            assert text_faults(step.raw, step.view) == []


@formats
@given(data=st.data())
def test_3_within_budget_or_said_so(format: str, data: st.DataObject) -> None:
    """C_H is what the report says, and at most B; else `BudgetExceeded` carries the same view."""
    parts, config = data.draw(sessions(format))
    session, steps = play(parts, config, format)
    loud = {**config, "budget": {**config["budget"], "on_exceeded": "raise"}}
    strict = ga.ContextSession(loud, format=format)
    for step in steps:
        assert step.view or not step.raw
        if step.report.chars_after <= step.report.budget_chars:
            assert strict.prepare(step.raw) == step.view
            continue
        with pytest.raises(ga.BudgetExceeded) as caught:
            strict.prepare(step.raw)
        assert caught.value.view == step.view
        assert caught.value.items
    assert [report.chars_after for report in session.reports] == [report.chars_after for report in strict.reports]


@given(
    sizes=st.lists(st.integers(10, 3_000), min_size=1, max_size=40),
    chars=st.integers(3_000, 20_000),
    format=st.sampled_from(FORMATS),
)
def test_3_eviction_takes_no_more_than_it_must(sizes: list[int], chars: int, format: str) -> None:
    """After an eviction the target is met, and with the last exchange put back it would not be."""
    config = {"budget": {"chars": chars}, "anchor": {"placement": "off"}, "tools": {"*": 100_000}}
    config["compact"] = {"interval": "never", "window_chars": 100_000}
    session = ga.ContextSession(config, format=format)
    raw = exchanges(sizes, format)
    for end in range(1, len(raw) + 1, 2):
        view = session.prepare(raw[:end])
        report = session.report
        assert report is not None
        if report.evicted is None:
            continue
        first, last = report.evicted
        exchange = ga.size(raw[last - 1 : last + 1])
        assert first == next(a.message for a in report.actions if a.stage == "evict")
        kept_exchanges = sum(1 for message in view if side_of(message, format) == "assistant")
        assert report.chars_after <= 0.6 * chars or kept_exchanges <= 3  # 5 messages, rounded to exchanges
        assert report.chars_after + exchange > 0.6 * chars


def exchanges(sizes: list[int], format: str) -> list[Message]:
    """Return a request and one exchange for each result size."""
    raw = [request("Count the lines.", format)]
    for i, size in enumerate(sizes):
        raw += exchange(i, "o" * size, format)
    return raw


def request(text: str, format: str, **keys: Any) -> Message:
    """Return a user message."""
    if format == "gemini":
        return {"role": "user", "parts": [{"text": text}], **keys}
    return {"role": "user", "content": [{"text": text}] if format == "bedrock" else text, **keys}


def exchange(i: int, output: str, format: str) -> list[Message]:
    """Return a call of code_run and its result."""
    data = {"script": f"count({i})"}
    if format == "anthropic":
        call = {"type": "tool_use", "id": f"c{i}", "name": "code_run", "input": data}
        result = {"type": "tool_result", "tool_use_id": f"c{i}", "content": output}
        return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    if format == "gemini":
        call = {"functionCall": {"name": "code_run", "args": data}}
        result = {"functionResponse": {"name": "code_run", "response": {"output": output}}}
        return [{"role": "model", "parts": [call]}, {"role": "user", "parts": [result]}]
    if format == "openai-chat":
        function = {"name": "code_run", "arguments": json.dumps(data)}
        call = {"id": f"c{i}", "type": "function", "function": function}
        result = {"role": "tool", "tool_call_id": f"c{i}", "content": output}
        return [{"role": "assistant", "content": None, "tool_calls": [call]}, result]
    if format == "openai-responses":
        call = {"type": "function_call", "call_id": f"c{i}", "name": "code_run", "arguments": json.dumps(data)}
        return [call, {"type": "function_call_output", "call_id": f"c{i}", "output": output}]
    if format == "bedrock":
        use = {"toolUse": {"toolUseId": f"c{i}", "name": "code_run", "input": data}}
        answer = {"toolResult": {"toolUseId": f"c{i}", "content": [{"text": output}]}}
        return [{"role": "assistant", "content": [use]}, {"role": "user", "content": [answer]}]
    said = f"<tool_use>{json.dumps({'name': 'code_run', 'arguments': data})}</tool_use>"
    return [{"role": "assistant", "content": said}, {"role": "user", "content": output}]


@formats
@given(data=st.data())
def test_4_prefix_is_stable_or_the_break_explained(format: str, data: st.DataObject) -> None:
    """A view starts with the one before, or the report names the first changed message, character and cause."""
    parts, config = data.draw(sessions(format))
    config = {**config, "anchor": {**config.get("anchor", {}), "lifetime": "persistent"}}
    _, steps = play(parts, config, format)
    for before, now in pairwise(steps):
        sent = [unmarked(message) for message in now.view]
        shared = next((i for i, m in enumerate(before.view) if sent[i : i + 1] != [unmarked(m)]), None)
        assert now.report.first_changed == shared
        if shared is None:
            assert now.report.break_cause is None
            continue
        assert now.report.break_cause in CAUSES - {"caller"}
        old, at = wire_text(before.view[shared], ensure_ascii=False), now.report.first_changed_char
        new = wire_text(now.view[shared], ensure_ascii=False) if shared < len(now.view) else ""
        assert old[:at] == new[:at]
        assert old[at : at + 1] != new[at : at + 1]


def unmarked(value: Any) -> Any:
    """Return data without cache markers, as prefixes are compared (spec 2)."""
    if isinstance(value, dict):
        return {key: unmarked(inner) for key, inner in value.items() if key != "cache_control"}
    if isinstance(value, list):
        return [unmarked(item) for item in value if not (isinstance(item, dict) and "cachePoint" in item)]
    return value


@formats
@given(data=st.data())
def test_5_same_history_same_bytes(format: str, data: st.DataObject) -> None:
    """Another session, or one that was dumped and loaded on the way, gives the same bytes."""
    parts, config = data.draw(sessions(format))
    _, steps = play(parts, config, format)
    _, again = play(copy.deepcopy(parts), config, format)
    assert [wire_text(step.view) for step in steps] == [wire_text(step.view) for step in again]
    at = data.draw(st.integers(0, len(parts) - 1))
    session, _ = play(parts[: at + 1], config, format)
    loaded = ga.ContextSession.load(session.dump())
    for step in steps[at:]:
        assert wire_text(loaded.prepare(copy.deepcopy(step.raw))) == wire_text(step.view)


def test_5_no_hash_seed_matters() -> None:
    """Two processes with other hash seeds give the same bytes."""
    program = (
        "import hashlib, json, sys; sys.path.insert(0, 'tests')\n"
        "import ga_context as ga; from test_promises import exchanges, FORMATS\n"
        "for f in FORMATS:\n"
        "    s = ga.ContextSession({'budget': {'chars': 9_000}}, format=f); raw = exchanges([900] * 30, f)\n"
        "    views = [s.prepare(raw[:n]) for n in range(1, 61, 2)]\n"
        "    print(hashlib.sha256(json.dumps(views).encode()).hexdigest(), str(s.report))\n"
    )
    root = os.path.dirname(os.path.dirname(__file__))
    outs = set()
    for seed in ("0", "1", "4711"):
        env = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=root, env=env, capture_output=True, text=True, check=True
        )
        outs.add(done.stdout)
    assert len(outs) == 1


@formats
@given(data=st.data())
def test_6_again_gives_the_same_objects(format: str, data: st.DataObject) -> None:
    """Without new messages the same view comes back, whether the raw list or the view itself is passed."""
    parts, config = data.draw(sessions(format))
    session, steps = play(parts, config, format)
    view = steps[-1].view
    for given_again in (parts[-1], view, copy.deepcopy(parts[-1]) if view != parts[-1] else view):
        again = session.prepare(given_again)
        assert len(again) == len(view)
        assert all(a is b for a, b in zip(again, view, strict=True))


@formats
@given(data=st.data())
def test_7_every_cut_can_be_had_back(format: str, data: st.DataObject) -> None:
    """Each reference in a report gives the original: the text that was cut, or the messages that went."""
    parts, config = data.draw(sessions(format))
    session, steps = play(parts, config, format)
    for step in steps:
        for action in step.report.actions:
            assert action.ref is not None or action.stage in ("repair", "anchor")
            if action.ref is None:
                continue
            original = session.recall(action.ref)
            if action.stage == "evict" and action.part is None:
                messages = step.raw[action.message : action.last + 1]
                assert json.loads(original) == json.loads(wire_text(messages, ensure_ascii=False))
            elif action.start is not None and isinstance(original, str):
                assert 0 <= action.start <= action.end <= len(original)
                assert action.chars_after < action.chars_before
    for ref in references(wire_text(steps[-1].view)):
        assert session.recall(ref)


def references(text: str) -> list[str]:
    """Return the references in markers of ours, told from forged ones by their sixteen hex digits."""
    parts = text.split("omitted; saved: ref ")[1:] + text.split("where marked; saved: ref ")[1:]
    refs = [part[:16] for part in parts]
    return [ref for ref in refs if len(ref) == 16 and set(ref) <= set("0123456789abcdef") and ref != "0" * 16]


@formats
@given(data=st.data())
def test_8_mandatory_stays(format: str, data: st.DataObject) -> None:
    """System messages, the newest request, open calls and signed reasoning stay as they are, at any budget."""
    parts, config = data.draw(sessions(format))
    chars = data.draw(st.sampled_from((300, 1_000, 3_000)))
    session, steps = play(parts, {**config, "budget": {**config["budget"], "chars": chars}}, format)
    for step in steps:
        assert relation_faults(step.raw, step.view, format, request_cut=request_was_cut(session)) == []


@pytest.mark.parametrize("chars", [20_000, 3_000_000])
@formats
def test_9_work_is_linear(format: str, chars: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice the turns, at most 2.2 times the characters encoded and measured."""
    counted = [0]
    real_size, real_chars = base.json_size, base.json_chars

    def size_of(value: object) -> int:
        size = real_size(value)
        counted[0] += size
        return size

    def chars_of(text: str) -> int:
        counted[0] += len(text)
        return real_chars(text)

    monkeypatch.setattr(base, "json_size", size_of)
    monkeypatch.setattr(base, "json_chars", chars_of)
    work = []
    for turns in (100, 200):
        counted[0] = 0
        raw = exchanges([1_000] * turns, format)
        session = ga.ContextSession({"budget": {"chars": chars}}, format=format)
        for end in range(1, len(raw) + 1, 2):
            session.prepare(raw[:end])
        work.append(counted[0])
    assert work[1] <= 2.2 * work[0]


@formats
def test_9_depth_is_no_event(format: str) -> None:
    """A tool input or an unknown key nested 100,000 deep neither overflows a stack nor is looked into."""
    deep: Any = "bottom"
    for _ in range(100_000):
        deep = [deep]
    raw = [request("Go.", format, x_deep=deep), *exchange(0, "done", format)]
    session = ga.ContextSession({"budget": {"chars": 1_000_000}}, format=format)
    assert session.prepare(raw)[0] is raw[0]
    assert session.prepare(raw)[0] is raw[0]


@formats
@given(data=st.data())
def test_10_quiet_and_apart(format: str, data: st.DataObject) -> None:
    """Two sessions in two threads give what each gives alone."""
    plays = [data.draw(sessions(format)) for _ in range(2)]
    alone = [[step.view for step in play(*one, format)[1]] for one in plays]
    together: list[Any] = [None, None]

    def run(i: int) -> None:
        together[i] = [step.view for step in play(*plays[i], format)[1]]

    threads = [threading.Thread(target=run, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == alone


@formats
@given(data=st.data())
def test_any_start_of_a_view_is_made_valid(format: str, data: st.DataObject) -> None:
    """A caller who goes on from the view and then takes messages back may part calls from their results."""
    session = ga.ContextSession(data.draw(configs()), format=format)
    view = session.prepare(session.prepare(data.draw(histories(format))))
    kept = data.draw(st.integers(0, len(view)))
    assert faults(session.prepare(view[:kept]), format, alternate=alternates(session)) == []


@formats
@given(data=st.data())
def test_operations_in_any_order(format: str, data: st.DataObject) -> None:
    """Rollbacks, changed messages, rebuilt dicts, views fed back, key_info, shrinks and reloads keep the promises."""
    rest = data.draw(histories(format))
    session = ga.ContextSession(data.draw(configs()), format=format)
    raw, view, fed_back = [], [], False
    for operation in data.draw(operations(format)):
        kind, *values = operation
        before = wire_text(raw)
        raw, rest = after(operation, raw, rest, view, format)
        fed_back |= kind == "feed back"
        if kind == "key_info":
            session.update_key_info(values[0])
        if kind == "reload":
            session = ga.ContextSession.load(session.dump())
        given_list = copy.deepcopy(raw)
        view = session.prepare(raw, shrink=values[0] if kind == "shrink" else None)
        assert faults(view, format, alternate=alternates(session)) == []
        if not fed_back:
            assert relation_faults(raw, view, format, request_cut=True) == []
        assert given_list == raw
        assert kind != "again" or wire_text(raw) == before
        again = session.prepare(raw)
        assert all(a is b for a, b in zip(again, view, strict=True))
