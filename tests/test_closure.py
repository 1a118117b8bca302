"""Which call a result answers: by position and id, wherever it came; ids that the provider takes; neighbours merged."""

import re

import pytest
from oracle import faults

from ga_context import ContextSession

PLAIN = {"anchor": {"placement": "off"}}
ASK = {"role": "user", "content": "Go."}
YES = {"role": "assistant", "content": "Yes."}


def anthropic(*steps):
    """Return messages: ``"a b"`` is a model's calls with these ids, ``("a", "one")`` results, a dict itself."""
    raw = []
    for step in steps:
        if isinstance(step, str):
            uses = [{"type": "tool_use", "id": id, "name": "code_run", "input": {}} for id in step.split(" ")]
            raw.append({"role": "assistant", "content": uses})
        elif isinstance(step, list):
            results = [{"type": "tool_result", "tool_use_id": id, "content": text} for id, text in step]
            raw.append({"role": "user", "content": results})
        else:
            raw.append(step)
    return raw


def openai(*steps):
    """Return the same in Chat Completions: a tool message for each result."""
    raw = []
    for step in steps:
        if isinstance(step, str):
            function = {"name": "code_run", "arguments": "{}"}
            calls = [{"id": id, "type": "function", "function": function} for id in step.split(" ")]
            raw.append({"role": "assistant", "content": None, "tool_calls": calls})
        elif isinstance(step, list):
            raw += [{"role": "tool", "tool_call_id": id, "content": text} for id, text in step]
        else:
            raw.append(step)
    return raw


def responses(*steps):
    """Return the same in Responses: an item for each call and each result."""
    raw = []
    for step in steps:
        if isinstance(step, str):
            call = {"type": "function_call", "name": "code_run", "arguments": "{}"}
            raw += [{**call, "call_id": id, "id": f"fc_{id}"} for id in step.split(" ")]
        elif isinstance(step, list):
            raw += [{"type": "function_call_output", "call_id": id, "output": text} for id, text in step]
        else:
            raw.append(step)
    return raw


def pairs(view):
    """Return (ids of the calls, [(id, text) of their results]) for each response with calls, in order."""
    if any("call_id" in item for item in view):
        return item_pairs(view)
    found = []
    for message in view:
        content = message["content"] if isinstance(message["content"], list) else []
        calls = [item["id"] for item in (*content, *message.get("tool_calls", ())) if "id" in item]
        results = [(item["tool_use_id"], item["content"]) for item in content if item["type"] == "tool_result"]
        if message["role"] == "tool":
            results = [(message["tool_call_id"], message["content"])]
        if calls:
            found.append((calls, []))
        elif results and found:
            found[-1][1].extend(results)
    return found


def item_pairs(view):
    """Return the same for a list of items."""
    found, before = [], None
    for item in view:
        kind = item.get("type")
        if kind == "function_call":
            found += [] if kind == before else [([], [])]
            found[-1][0].append(item["call_id"])
        elif kind == "function_call_output":
            found[-1][1].append((item["call_id"], item["output"]))
        before = kind
    return found


WRITERS = [("anthropic", anthropic), ("openai-chat", openai), ("openai-responses", responses)]
both = pytest.mark.parametrize(("format", "write"), WRITERS)


def prepared(raw, format):
    """Return the view, judged by the oracle, and the report."""
    session = ContextSession(PLAIN, format=format)
    view = session.prepare(raw)
    assert faults(view, format) == []
    return view, session.report


@both
def test_parallel_calls_in_any_order(format, write):
    """What stands as it may stand is not moved: the same objects."""
    raw = write(ASK, "a b c", [("c", "3"), ("a", "1"), ("b", "2")], YES)
    view, report = prepared(raw, format)
    assert [x is y for x, y in zip(view, raw, strict=True)] == [True] * len(raw)
    assert report.actions == []


@both
def test_a_late_result_goes_to_its_call(format, write):
    """In place of a placeholder, and that is reported."""
    raw = write(ASK, "a b", [("a", "1")], YES, [("b", "2")], YES)
    view, report = prepared(raw, format)
    assert pairs(view) == [(["a", "b"], [("a", "1"), ("b", "2")])]
    assert len(report.repairs) >= 1


@both
def test_a_late_result_comes_turn_by_turn(format, write):
    """The view that was sent had a placeholder; the result takes its place, in one view as in the other."""
    raw = write(ASK, "a b", [("a", "1")], YES, [("b", "2")], ASK)
    session = ContextSession(PLAIN, format=format)
    for end in range(1, len(raw) + 1):
        view = session.prepare(raw[:end])
        assert faults(view, format) == []
    assert pairs(view) == [(["a", "b"], [("a", "1"), ("b", "2")])]
    assert [report.break_cause for report in session.reports if report.break_cause] == ["repair"]


@both
def test_a_result_that_is_three_messages_late(format, write):
    """Other calls and words have come since; each result stands behind its own call."""
    raw = write(ASK, "a b", [("a", "1")], "c", [("c", "3")], YES, ASK, [("b", "2")], YES, ASK)
    session = ContextSession(PLAIN, format=format)
    for end in range(1, len(raw) + 1):
        view = session.prepare(raw[:end])
        assert faults(view, format) == []
    assert pairs(view) == [(["a", "b"], [("a", "1"), ("b", "2")]), (["c"], [("c", "3")])]
    assert [report.break_cause for report in session.reports].count("repair") == 1
    assert prepared(raw, format)[0] == view


@both
def test_a_user_between_call_and_result(format, write):
    """The result goes before the words."""
    view, _ = prepared(write(ASK, "a", ASK, [("a", "1")], YES), format)
    assert pairs(view) == [(["a"], [("a", "1")])]
    assert view[-1]["role"] == "assistant"


def test_results_stand_first_in_their_message():
    """The words that came before them follow."""
    raw = anthropic(ASK, "a b", [("a", "1"), ("b", "2")])
    results, words = raw[2]["content"], {"type": "text", "text": "Look."}
    raw[2] = {"role": "user", "content": [results[0], words, results[1]]}
    view, report = prepared(raw, "anthropic")
    assert view[2]["content"] == [*results, words]
    assert [action.message for action in report.repairs] == [2]


@both
def test_a_second_answer_is_an_orphan(format, write):
    """It becomes text."""
    view, _ = prepared(write(ASK, "a", [("a", "1"), ("a", "again")], YES), format)
    assert pairs(view) == [(["a"], [("a", "1")])]
    assert "again" in str(view)


@both
def test_an_answer_before_its_call_is_an_orphan(format, write):
    """Pairing looks back, not ahead."""
    view, report = prepared(write(ASK, YES, [("a", "early")], "a"), format)
    assert (pairs(view), report.pending) == ([(["a"], [])], ["a"])
    assert "result of a tool call: early" in str(view)


def test_the_same_id_in_later_turns_openai():
    """Legal: each result answers the nearest call before it."""
    raw = openai(ASK, "a", [("a", "1")], "a", [("a", "2")], "a b", [("b", "4"), ("a", "3")])
    view, report = prepared(raw, "openai-chat")
    assert view == raw
    assert report.actions == []


def test_the_same_id_in_later_turns_anthropic():
    """Unique in the whole request: the second and later uses get a number, call and result alike."""
    view, report = prepared(anthropic(ASK, "a", [("a", "1")], "a", [("a", "2")], "a", [("a", "3")]), "anthropic")
    assert pairs(view) == [(["a"], [("a", "1")]), (["a_2"], [("a_2", "2")]), (["a_3"], [("a_3", "3")])]
    assert {action.stage for action in report.repairs} == {"repair"}


def test_a_number_that_the_list_has_already():
    """``a_2`` is taken by the caller's own; after it the next one is free."""
    view, _ = prepared(anthropic(ASK, "a", [("a", "1")], "a_2", [("a_2", "2")], "a", [("a", "3")]), "anthropic")
    assert pairs(view) == [(["a"], [("a", "1")]), (["a_2"], [("a_2", "2")]), (["a_3"], [("a_3", "3")])]


def test_a_number_is_never_used_again():
    """Though the call that had it was evicted."""
    session = ContextSession(PLAIN | {"budget": {"chars": 1_500, "min_messages": 1}}, format="anthropic")
    raw, seen = [ASK], set()
    for n in range(12):
        raw += anthropic("a", [("a", f"{n} {'x' * 200}")])
        seen |= {(ids[0], results[0][1][:2]) for ids, results in pairs(session.prepare(raw))}
    assert len({id for id, _ in seen}) == len(seen) == 12


@both
def test_an_id_twice_in_one_message(format, write):
    """Made unique; the results go in order."""
    view, _ = prepared(write(ASK, "a a", [("a", "1"), ("a", "2")], YES), format)
    assert pairs(view) == [(["a", "a_2"], [("a", "1"), ("a_2", "2")])]


@pytest.mark.parametrize("id", ["call/1:ü", "a.b", "x y"])
def test_characters_that_anthropic_refuses(id):
    """Each becomes ``_``, call and result alike; Chat Completions takes any."""
    raw = anthropic(ASK, "a", [("a", "1")])
    raw[1]["content"][0]["id"] = raw[2]["content"][0]["tool_use_id"] = id
    view, _ = prepared(raw, "anthropic")
    legal = re.sub("[^a-zA-Z0-9_-]", "_", id)
    assert pairs(view) == [([legal], [(legal, "1")])]
    assert pairs(prepared(openai(ASK, "a/b:c", [("a/b:c", "1")]), "openai-chat")[0])[0][0] == ["a/b:c"]


def test_two_ids_that_become_the_same():
    """``a/b`` and ``a:b`` stay two."""
    view, _ = prepared(anthropic(ASK, "a/b a:b", [("a:b", "2"), ("a/b", "1")]), "anthropic")
    assert pairs(view) == [(["a_b", "a_b_2"], [("a_b_2", "2"), ("a_b", "1")])]


@both
def test_pending_calls(format, write):
    """Those of the last message that have no result yet."""
    assert prepared(write(ASK, "a b"), format)[1].pending == ["a", "b"]
    assert prepared(write(ASK, "a b", [("a", "1"), ("b", "2")]), format)[1].pending == []


@pytest.mark.parametrize("role", ["user", "assistant"])
def test_neighbours_of_one_role_are_merged(role):
    """From the first time they are sent; Chat Completions leaves them."""
    two = [{"role": role, "content": "One."}, {"role": role, "content": [{"type": "text", "text": "Two."}]}]
    raw = [*two, YES] if role == "user" else [ASK, *two]
    merged = {"role": role, "content": [{"type": "text", "text": "One."}, {"type": "text", "text": "Two."}]}
    view, _ = prepared(raw, "anthropic")
    assert view == [merged, YES] if role == "user" else view == [ASK, merged]
    assert prepared(raw, "openai-chat")[0] == raw


def test_results_of_one_turn_in_messages_of_their_own():
    """Anthropic: they become one message, and no result is doubled."""
    raw = anthropic(ASK, "a b", [("a", "1")], [("b", "2")], YES)
    view, _ = prepared(raw, "anthropic")
    assert [message["role"] for message in view] == ["user", "assistant", "user", "assistant"]
    assert pairs(view) == [(["a", "b"], [("a", "1"), ("b", "2")])]


def test_messages_of_the_model_in_a_row_are_one_turn():
    """Merged, their calls answered together; the turn number counts them once."""
    raw = anthropic(ASK, "a", "b", [("a", "1"), ("b", "2")])
    view, report = prepared(raw, "anthropic")
    assert pairs(view) == [(["a", "b"], [("a", "1"), ("b", "2")])]
    assert report.turn == 2


def test_text_results_pair_by_order():
    """The pairs of the next user message, each cut to the limit of its own tool."""
    tools = ("file_read", "code_run")
    calls = "".join(f'<tool_use>{{"name": "{tool}", "arguments": {{}}}}</tool_use>' for tool in tools)
    results = "".join(f"<tool_result>{letter * 900}</tool_result>" for letter in "fc")
    config = PLAIN | {"tools": {"code_run": 300}}
    view = ContextSession(config).prepare(
        [ASK, {"role": "assistant", "content": calls}, {"role": "user", "content": results}]
    )
    first, second = re.findall("<tool_result>(.*?)</tool_result>", view[2]["content"], re.DOTALL)
    assert first == "f" * 900
    assert 250 < len(second) <= 300
