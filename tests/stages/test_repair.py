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


def test_images_by_address_are_named_too():
    """Of any kind; the report leads to the whole."""
    remote = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
    session = ContextSession(PLAIN, format="openai-chat")
    view = session.prepare([ASK, tool("gone", [text("See."), remote, {"type": "future_part"}])])
    ref = session.report.repairs[0].ref
    mark = "omitted; saved: ref"
    assert view[1]["content"] == f"result of a tool call: See.\n[image {mark} {ref}]\n[future_part {mark} {ref}]"
    assert json.loads(session.recall(ref))[1] == remote


def test_an_orphan_names_its_tool_where_it_is_known():
    """The second answer to a call has no call left; a tool message may name its tool itself."""
    raw = [ASK, model(use("c1")), user(answer("c1", "one"), answer("c1", "two"))]
    assert prepared(raw, "anthropic")[0][2] == user(answer("c1", "one"), text("result of code_run: two"))
    raw = [ASK, asks("c1"), tool("c1", "one"), tool("c1", "two"), tool("c2", "three") | {"name": "file_read"}]
    said = [{"role": "user", "content": f"result of {words}"} for words in ("code_run: two", "file_read: three")]
    assert prepared(raw, "openai-chat")[0] == [*raw[:3], *said]


def test_the_result_of_an_evicted_call_names_its_tool():
    """Its call was known once."""
    session = ContextSession(PLAIN | {"budget": {"chars": 1_500}}, format="openai-chat")
    raw = [ASK, asks("c1"), {"role": "user", "content": "x" * 900}, asks("c2"), tool("c2", "y" * 600), *[YES, ASK] * 3]
    assert [message.get("tool_calls") for message in session.prepare(raw)[:2]] == [asks("c2")["tool_calls"], None]
    view = session.prepare([*raw, tool("c1", "late")])
    assert view[-1] == {"role": "user", "content": "result of code_run: late"}


def test_what_the_other_side_may_not_send():
    """It is told as text; reasoning that nobody signed for is left out."""
    thinking = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    raw = [user(text("Go."), thinking, use("c1")), model(answer("c1", "ok"), image)]
    view, report = prepared(raw, "anthropic")
    assert view[0] == user(text("Go."), text('call of code_run: {"code": "1"}'))
    assert view[1] == model(
        text("result of a tool call: ok"), text(f"[image omitted; saved: ref {report.repairs[-1].ref}]")
    )
    assert [(action.message, action.part) for action in report.repairs] == [(0, "1"), (0, "2"), (1, "0"), (1, "1")]
    assert all(action.ref for action in report.repairs)


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


def test_arguments_of_the_old_form():
    """Those of `function_call` too."""
    raw = [ASK, {"role": "assistant", "content": None, "function_call": {"name": "a", "arguments": "not json"}}]
    view, report = prepared([*raw, {"role": "function", "name": "a", "content": "x"}], "openai-chat")
    assert view[1]["function_call"] == {"name": "a", "arguments": '{"_raw": "not json"}'}
    assert [action.message for action in report.repairs] == [1]


@pytest.mark.parametrize(
    ("given", "sent"), [(None, ""), ({"rows": [1]}, '{"rows": [1]}'), (7, "7"), (["a", {"b": 1}], '["a", {"b": 1}]')]
)
def test_a_result_that_is_no_text(given, sent):
    """The text of its JSON, so that its limit holds as for any other."""
    raw = [ASK, asks("c1"), tool("c1", given)]
    view, report = prepared(raw, "openai-chat")
    assert view[2] == tool("c1", sent)
    assert [action.message for action in report.repairs] == [2]
    view, report = prepared([ASK, model(use()), user(answer("c1", given))], "anthropic")
    assert view[2] == user(answer("c1", sent))
    assert [action.message for action in report.repairs] == [2]


@pytest.mark.parametrize(
    ("format", "raw"),
    [
        ("anthropic", [ASK, model(use()), user(answer("c1", {"rows": ["x" * 50] * 900}))]),
        ("openai-chat", [ASK, asks("c1"), tool("c1", {"rows": ["x" * 50] * 900})]),
    ],
)
def test_a_long_result_that_is_no_text(format, raw):
    """It is cut to the limit of its tool."""
    view, _ = prepared(raw, format)
    (sent,) = [view[2]["content"]] if format == "openai-chat" else [block["content"] for block in view[2]["content"]]
    assert sent.startswith('{"rows": ["xxx')
    assert 9_000 < len(sent) <= 10_000


def test_a_reply_that_ends_in_its_reasoning():
    """Cut off before a word was said: the provider refuses it, so a text stands behind; it goes when words come."""
    thinking = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    session = ContextSession(PLAIN, format="anthropic")
    view = session.prepare([ASK, model(thinking)])
    assert view[1] == model(thinking, text("[the reply ends in its reasoning]"))
    assert [str(action) for action in session.report.repairs] == [
        "repair: message 1, 0 -> 61 chars: a reply that ends in its reasoning"
    ]
    view = session.prepare([ASK, model(thinking), model(text("So."))])
    assert view[1] == model(thinking, text("So."))
    assert prepared([ASK, model(thinking, use())], "anthropic")[0][1] == model(thinking, use())


def test_a_reply_of_old_reasoning_alone_leaves_with_it():
    """When a pass drops the reasoning, no message of ours stays behind."""
    thinking = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    view, _ = prepared([ASK, model(thinking), *[ASK, YES] * 10], "anthropic")
    assert view[0] == user(text("Go."), text("Go."))


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
        ("openai-chat", [{"role": "developer", "content": "Rule."}, {"role": "system", "content": []}]),
        ("text", [{"role": "system", "content": None}]),
    ],
)
def test_no_messages_or_system_alone(format, raw):
    """It comes back as it is."""
    session = ContextSession(format=format)
    assert session.prepare(raw) == raw
    assert session.report.actions == []


@pytest.mark.parametrize("format", ["anthropic", "openai-chat", "openai-responses"])
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


@pytest.mark.parametrize("inner", [False, True])
def test_a_cache_marker_that_leaves_breaks_no_prefix(inner):
    """Views are compared after removing ``cache_control`` (spec 2)."""
    session, raw = ContextSession(PLAIN, format="anthropic"), []
    for n in range(5):
        item = text(f"Part {n}.") | {"cache_control": {"type": "ephemeral"}}
        raw += [model(use(f"c{n}")), user(answer(f"c{n}", [item]))] if inner and n else [user(item), YES][: 2 - inner]
        view = session.prepare(raw)
    assert "cache_control" not in json.dumps(view[0])
    assert (session.report.first_changed, session.report.break_cause) == (None, None)


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


# A view of which the end was taken back


def test_calls_whose_results_were_taken_back_are_answered_again():
    """The view has another order than the list: what is left of it parts one call from its result."""
    rule = {"role": "system", "content": "Be brief."}
    session = ContextSession(PLAIN, format="openai-chat")
    view = session.prepare([ASK, asks("a", "b", "c"), tool("b"), rule, tool("a"), tool("c"), ASK])
    assert view == [ASK, asks("a", "b", "c"), tool("b"), tool("a"), tool("c"), rule, ASK]
    left = session.prepare(view[:4])
    assert left == [ASK, asks("a", "b", "c"), tool("b"), tool("a"), tool("c", NO_RESULT)]
