"""Stage 3b: whatever came in, the view is one that its provider takes; what had to be done is reported."""

import json

import pytest
from oracle import faults

from ga_context import ContextSession, InvalidMessages

PLAIN = {"anchor": {"placement": "off"}}
ASK = {"role": "user", "content": "Go."}
YES = {"role": "assistant", "content": "Yes."}
NO_RESULT = "[no result: this call was never answered]"


def text(words):
    """Return a text block."""
    return {"type": "text", "text": words}


def use(id="c1", given=None, tool="code_run"):
    """Return a call as the Messages API shows it."""
    return {"type": "tool_use", "id": id, "name": tool, "input": {"code": "1"} if given is None else given}


def answer(id="c1", content="ok"):
    """Return a result as the Messages API shows it."""
    return {"type": "tool_result", "tool_use_id": id, "content": content}


def model(*content):
    """Return an assistant message of the Messages API."""
    return {"role": "assistant", "content": list(content)}


def user(*content):
    """Return a user message of the Messages API."""
    return {"role": "user", "content": list(content)}


def asks(*ids, arguments='{"code": "1"}'):
    """Return an assistant message with calls, as Chat Completions shows it."""
    calls = [{"id": id, "type": "function", "function": {"name": "code_run", "arguments": arguments}} for id in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def tool(id, content="ok"):
    """Return a tool message."""
    return {"role": "tool", "tool_call_id": id, "content": content}


def prepared(raw, format):
    """Return view and report; the view is judged by the oracle too."""
    session = ContextSession(PLAIN, format=format)
    view = session.prepare(raw)
    assert faults(view, format) == []
    return view, session.report


# Results without a call


def test_an_orphan_result_becomes_text_anthropic():
    """In its place, and it is reported."""
    view, report = prepared([user(answer("gone", "42"), text("See."))], "anthropic")
    assert view == [user(text("result of a tool call: 42"), text("See."))]
    assert [(action.stage, action.message, action.part) for action in report.repairs] == [("repair", 0, "0")]


def test_an_orphan_result_becomes_text_openai():
    """A user message in the place of the tool message."""
    view, report = prepared([ASK, tool("gone", "42"), YES], "openai-chat")
    assert view == [ASK, {"role": "user", "content": "result of a tool call: 42"}, YES]
    assert {action.message for action in report.repairs} == {1}


def test_images_of_an_orphan_are_named():
    """And their bytes do not enter a text."""
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    view, _ = prepared([user(answer("gone", [text("See."), image]))], "anthropic")
    (block,) = view[0]["content"]
    assert block["text"].startswith("result of a tool call: See.")
    assert "image" in block["text"]
    assert "iVBORw0KGgo=" not in block["text"]


def test_an_orphan_names_its_tool_where_it_is_known():
    """The second answer to a call has no call left."""
    raw = [ASK, model(use("c1")), user(answer("c1", "one"), answer("c1", "two"))]
    view, _ = prepared(raw, "anthropic")
    assert view[2]["content"][0] == answer("c1", "one")
    assert view[2]["content"][1]["text"].endswith(": two")


def test_orphans_of_the_text_format_stay():
    """Text calls and results without partner are not repaired."""
    raw = [{"role": "user", "content": "<tool_result>42</tool_result>"}, YES, ASK]
    assert prepared(raw, "text")[0] == raw


# Calls without a result


@pytest.mark.parametrize(("format", "call"), [("anthropic", model(use("c1"))), ("openai-chat", asks("c1"))])
def test_a_call_of_the_last_message_is_left(format, call):
    """Its result is still to come: it is pending."""
    view, report = prepared([ASK, call], format)
    assert view == [ASK, call]
    assert (report.pending, report.repairs) == (["c1"], [])


def test_an_unanswered_call_is_answered_in_place_anthropic():
    """First in the next user message."""
    view, report = prepared([ASK, model(use("c1")), ASK], "anthropic")
    first, second = view[2]["content"]
    assert (first["type"], first["tool_use_id"], first["content"]) == ("tool_result", "c1", NO_RESULT)
    assert second == text("Go.")
    assert (report.pending, len(report.repairs)) == ([], 1)


def test_an_unanswered_call_is_answered_in_place_openai():
    """By a tool message directly behind it."""
    view, report = prepared([ASK, asks("c1"), ASK], "openai-chat")
    assert view == [ASK, asks("c1"), tool("c1", NO_RESULT), ASK]
    assert (report.pending, len(report.repairs)) == ([], 1)


def test_partial_parallel_results_are_completed():
    """The result that is there stays as it came."""
    view, _ = prepared([ASK, asks("c1", "c2"), tool("c2", "two"), YES], "openai-chat")
    assert view[2:] == [tool("c2", "two"), tool("c1", NO_RESULT), YES]
    view, _ = prepared([ASK, model(use("c1"), use("c2")), user(answer("c2", "two")), YES], "anthropic")
    assert {block["tool_use_id"]: block["content"] for block in view[2]["content"]} == {"c1": NO_RESULT, "c2": "two"}


def test_a_placeholder_gives_way_to_the_result():
    """When that comes late, the prefix breaks, and the cause is repair."""
    session = ContextSession(PLAIN, format="openai-chat")
    raw = [ASK, asks("c1"), ASK]
    session.prepare(raw)
    view = session.prepare([*raw, tool("c1", "late")])
    assert view == [ASK, asks("c1"), tool("c1", "late"), ASK]
    assert (session.report.break_cause, session.report.first_changed) == ("repair", 2)


def test_a_placeholder_leaves_only_with_its_exchange():
    """Many turns later it still stands."""
    raw = [ASK, asks("c1"), *[ASK, YES] * 20]
    view, _ = prepared(raw, "openai-chat")
    assert view[1:3] == [asks("c1"), tool("c1", NO_RESULT)]


# What is in a message


def test_blank_texts_are_left_out():
    """Also in results; an empty or missing content of a result is legal and stays."""
    bare = {"type": "tool_result", "tool_use_id": "c3"}
    raw = [user(text(" \n"), text("Go.")), model(text(""), use("c1"), use("c2"), use("c3"))]
    view, _ = prepared([*raw, user(answer("c1", [text(" "), text("ok")]), answer("c2", ""), bare)], "anthropic")
    assert view[0] == user(text("Go."))
    assert view[1] == model(use("c1"), use("c2"), use("c3"))
    assert view[2] == user(answer("c1", [text("ok")]), answer("c2", ""), bare)


@pytest.mark.parametrize("content", ["", " \n", [], [{"type": "text", "text": " "}], None])
def test_an_empty_message_is_left_out(content):
    """Its neighbours become one."""
    raw = [ASK, {"role": "assistant", "content": content}, {"role": "user", "content": "On."}]
    view, report = prepared(raw, "anthropic")
    assert view == [user(text("Go."), text("On."))]
    assert {action.message for action in report.repairs} >= {1}


def test_an_assistant_without_anything_is_left_out():
    """Content None and no calls; empty content beside calls is legal."""
    view, _ = prepared([ASK, {"role": "assistant", "content": None}, asks("c1"), tool("c1", "")], "openai-chat")
    assert view == [ASK, asks("c1"), tool("c1", "")]


def test_a_last_assistant_text_does_not_end_in_white_space():
    """Elsewhere white space is the model's own."""
    raw = [ASK, {"role": "assistant", "content": "Yes. \n"}]
    assert prepared(raw, "anthropic")[0][1] == YES
    assert ContextSession(PLAIN, format="anthropic").prepare([*raw, ASK])[1] is raw[1]


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ("", "{}"),
        ("not json", '{"_raw": "not json"}'),
        ('{"path": "a.py", "te', '{"_raw": "{\\"path\\": \\"a.py\\", \\"te"}'),
        ("[1, 2]", '{"_raw": "[1, 2]"}'),
        ('{"a":  1}', '{"a":  1}'),
    ],
)
def test_arguments_that_do_not_parse(given, sent):
    """They become an object that holds them; what parses keeps its bytes."""
    view, _ = prepared([ASK, asks("c1", arguments=given), tool("c1")], "openai-chat")
    assert view[1]["tool_calls"][0]["function"]["arguments"] == sent


@pytest.mark.parametrize(("given", "sent"), [("", {}), ("not json", {"_raw": "not json"}), ({"a": 1}, {"a": 1})])
def test_an_input_that_is_no_object(given, sent):
    """The same in the Messages API."""
    view, _ = prepared([ASK, model(use("c1", given)), user(answer())], "anthropic")
    assert view[1]["content"][0]["input"] == sent


@pytest.mark.parametrize("format", ["anthropic", "openai-chat", "text"])
def test_what_cannot_be_encoded_is_replaced(format):
    """A lone surrogate becomes U+FFFD, a pair is joined; the original comes back."""
    raw = [{"role": "user", "content": "half \ud83d and \ud83d\ude00"}]
    session = ContextSession(PLAIN, format=format)
    view = session.prepare(raw)
    assert view == [{"role": "user", "content": "half \ufffd and 😀"}]
    (action,) = session.report.repairs
    assert json.loads(session.recall(action.ref)) == raw[0]


def test_signed_reasoning_that_cannot_be_encoded_is_dropped_whole():
    """It must not be altered, and it cannot be sent."""
    thinking = {"type": "thinking", "thinking": "half \ud83d", "signature": "c2ln"}
    view, report = prepared([ASK, model(thinking, text("Yes.")), ASK], "anthropic")
    assert view[1] == model(text("Yes."))
    assert report.repairs


# The list


def test_a_list_that_starts_with_the_model():
    """A fixed user message stands before it, the same each time."""
    view, report = prepared([YES, ASK], "anthropic")
    assert view[0]["role"] == "user"
    assert view[1:] == [YES, ASK]
    assert prepared([YES, ASK], "anthropic")[0] == view
    assert prepared([YES, ASK], "openai-chat")[0] == [YES, ASK]
    assert len(report.repairs) == 1


@pytest.mark.parametrize(
    ("format", "raw"),
    [
        ("anthropic", []),
        ("openai-chat", []),
        ("openai-chat", [{"role": "system", "content": "Rule."}]),
        ("text", [{"role": "developer", "content": "Rule."}, {"role": "system", "content": "Rule."}]),
    ],
)
def test_no_messages_or_system_alone(format, raw):
    """It comes back as it is."""
    session = ContextSession(format=format)
    assert session.prepare(raw) == raw
    assert session.report.actions == []


@pytest.mark.parametrize("format", ["anthropic", "openai-chat"])
def test_a_list_that_would_end_up_empty_is_not(format):
    """Something stands that the provider takes."""
    view, _ = prepared([{"role": "assistant", "content": ""}], format)
    assert len(view) >= 1
    assert view[-1]["role"] == "user"


@pytest.mark.parametrize("key", ["content", "inner"])
def test_five_cache_markers(key):
    """At most four: the oldest leave the view, and that is reported."""
    mark = {"cache_control": {"type": "ephemeral"}}
    raw = []
    for n in range(5):
        item = text(f"Part {n}.") | mark
        raw += [user(item), YES] if key == "content" else [user(text("On."), item), YES]
    view, report = prepared(raw, "anthropic")
    marked = [i for i, message in enumerate(view) for b in message["content"] if "cache_control" in b]
    assert marked == [2, 4, 6, 8]
    assert view[2:] == raw[2:]
    assert [action.message for action in report.repairs] == [0]


def test_unknown_blocks_and_keys_pass():
    """Key order too: the same objects."""
    later = {"type": "future_block", "zeta": 1, "alpha": {"text": ""}}
    search = [
        {"type": "server_tool_use", "id": "srv1", "name": "web_search", "input": {"query": "q"}},
        {"type": "web_search_tool_result", "tool_use_id": "srv1", "content": [{"encrypted_content": "x"}]},
    ]
    raw = [{**user(later, text("Go.")), "x_key": 1}, model(*search, text("Yes.")), ASK]
    view, report = prepared(raw, "anthropic")
    assert [a is b for a, b in zip(view, raw, strict=True)] == [True] * 3
    assert report.actions == []


# What no repair covers


@pytest.mark.parametrize(
    ("format", "raw", "index", "key", "words"),
    [
        ("anthropic", [ASK, {"role": "system", "content": "Rule."}], 1, "role", "system="),
        ("anthropic", [{"role": "tool", "content": "x"}], 0, "role", "'tool'"),
        ("openai-chat", [ASK, YES, {"role": "model", "content": "x"}], 2, "role", "'model'"),
        ("openai-chat", [{"content": "x"}], 0, "role", "None"),
        ("text", [{"role": "tool", "content": "x"}], 0, "role", "'tool'"),
        ("anthropic", [ASK, "Yes."], 1, None, "must be a dict"),
        ("anthropic", [{"role": "user", "content": 7}], 0, "content", "int"),
        ("anthropic", [{"role": "user", "content": [{"text": "x"}]}], 0, "content[0]", "`type`"),
        ("anthropic", [ASK, model({"type": "tool_use", "name": "a", "input": {}})], 1, "content[0].id", "string"),
        ("openai-chat", [ASK, {"role": "assistant", "tool_calls": [{"id": "c1"}]}], 1, "tool_calls[0]", "function"),
    ],
)
def test_invalid_messages(format, raw, index, key, words):
    """Index and key are named, and what to do."""
    with pytest.raises(InvalidMessages) as caught:
        ContextSession(format=format).prepare(raw)
    assert (caught.value.index, caught.value.key) == (index, key)
    assert words in str(caught.value)


@pytest.mark.parametrize("messages", [None, "Go.", {"role": "user"}, 7])
def test_no_list(messages):
    """The list itself is named."""
    with pytest.raises(InvalidMessages, match="`messages` must be a list of messages"):
        ContextSession().prepare(messages)
