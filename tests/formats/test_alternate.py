"""Chat Completions for chat templates that refuse two of a role in a row: neighbours become one message (spec 6)."""

import json
from itertools import pairwise

import pytest
from oracle import faults

from ga_context import ContextSession

STRICT = {"formats": {"openai_chat": {"alternate": True}}}
PLAIN = {**STRICT, "anchor": {"placement": "off"}}
RULE = {"role": "system", "content": "Be brief."}
CALL = {"name": "code_run", "arguments": '{"code": "1"}'}


def user(content, **keys):
    """Return a user message."""
    return {"role": "user", "content": content, **keys}


def says(content, *ids, **keys):
    """Return an assistant message, with calls of these ids."""
    calls = [{"id": id, "type": "function", "function": CALL} for id in ids]
    return {"role": "assistant", "content": content, **({"tool_calls": calls} if calls else {}), **keys}


def tool(id, content="ok"):
    """Return a tool message."""
    return {"role": "tool", "tool_call_id": id, "content": content}


def text(words):
    """Return a part."""
    return {"type": "text", "text": words}


def prepared(raw, config=PLAIN):
    """Return view and report; the view is judged by the oracle, and its size by its JSON."""
    session = ContextSession(config, format="openai-chat")
    view = session.prepare(raw)
    assert faults(view, "openai-chat", alternate=True) == []
    assert session.report.chars_after == sum(len(json.dumps(message, ensure_ascii=False)) for message in view)
    assert session.prepare(view) == session.prepare(raw) == view
    return view, session.report


def test_neighbours_become_one_string():
    """Two users, two assistants; each merge is reported."""
    view, report = prepared([RULE, user("a"), user("b\n"), says("c"), says("d"), user("e")])
    assert view == [RULE, user("a\n\nb\n"), says("c\n\nd"), user("e")]
    assert [(action.message, action.reason) for action in report.repairs] == [
        (2, "merged with its neighbour of the same role"),
        (4, "merged with its neighbour of the same role"),
    ]


def test_without_it_they_stay():
    """The format itself takes them, and nothing is to be repaired."""
    raw = [user("a"), user("b"), says("c"), says("d")]
    view = ContextSession(format="openai-chat").prepare(raw)
    assert [a is b for a, b in zip(view, raw, strict=True)] == [True] * 4


def test_what_stands_alone_is_the_callers_own():
    """The same objects."""
    raw = [RULE, user("a"), says(None, "c1"), tool("c1"), says("b"), user("c")]
    assert [a is b for a, b in zip(prepared(raw)[0], raw, strict=True)] == [True] * 6


@pytest.mark.parametrize(
    ("first", "second", "sent"),
    [
        ([text("a")], "b", [text("a"), text("b")]),
        ("a", [text("b"), text("c")], [text("a"), text("b"), text("c")]),
        ("", "b", "b"),
        ("a", "", "a"),
        ("a", "\n", "a\n\n\n"),
        ('"', "\u2028\U0001f600", '"\n\n\u2028\U0001f600'),
    ],
)
def test_what_becomes_of_two_contents(first, second, sent):
    """Beside a list, strings become its items; nothing is put beside an empty one."""
    assert prepared([user(first), user(second)])[0] == [user(sent)]


def test_a_new_neighbour_breaks_the_prefix_and_says_so():
    """The message that was sent last has more at its end."""
    session = ContextSession(PLAIN, format="openai-chat")
    session.prepare([user("a"), says("b"), user("c")])
    assert session.prepare([user("a"), says("b"), user("c"), user("d")]) == [user("a"), says("b"), user("c\n\nd")]
    assert (session.report.first_changed, session.report.break_cause) == (2, "merge")


def test_an_answer_that_is_left_out_lets_its_neighbours_meet():
    """Empty content and no calls."""
    view, report = prepared([user("a"), says(""), user("b"), {"role": "assistant"}, user("c")])
    assert view == [user("a\n\nb\n\nc")]
    assert {action.message for action in report.repairs} == {1, 2, 3, 4}


def test_an_orphan_is_told_in_the_message_beside_it():
    """As text, between the users' own."""
    view, report = prepared([user("a"), tool("gone", "42"), user("b"), says("c"), tool("gone", "43")])
    assert view == [user("a\n\nresult of a tool call: 42\n\nb"), says("c"), user("result of a tool call: 43")]
    assert [action.message for action in report.repairs if action.reason.startswith("merged")] == [1, 2]


def test_the_first_message_is_the_users():
    """Behind the system messages, which stay where they are."""
    opening = user("[the conversation starts with the assistant]")
    developer = {"role": "developer", "content": "Be kind."}
    assert prepared([RULE, developer, says("a"), user("b")])[0] == [RULE, developer, opening, says("a"), user("b")]
    raw = [RULE, user("a"), RULE, user("b"), says("c"), RULE, says("d")]
    assert prepared(raw)[0] == raw
    assert prepared([RULE, developer])[0] == [RULE, developer]


def test_calls_are_joined_with_the_words_before_them():
    """And stay right before their results."""
    raw = [user("a"), says("So:"), says(None, "c1"), says("and", "c2"), tool("c2", "two"), tool("c1", "one"), says("b")]
    view, _ = prepared(raw)
    assert view == [user("a"), says("So:\n\nand", "c1", "c2"), *raw[4:]]


def test_ids_that_meet_in_one_message_are_made_unique():
    """Two messages that both call "call_0"; in later turns it may come again."""
    raw = [user("a"), says(None, "call_0"), says(None, "call_0"), tool("call_0", "one"), tool("call_0", "two")]
    view, _ = prepared([*raw, says(None, "call_0"), tool("call_0", "three")])
    assert view[1] == says(None, "call_0", "call_0_2")
    assert view[2:4] == [tool("call_0", "one"), tool("call_0_2", "two")]
    assert view[4:] == [says(None, "call_0"), tool("call_0", "three")]


def test_a_result_that_is_three_messages_late():
    """Its placeholder gives way, in each turn the list alternates."""
    raw = [user("a"), says(None, "c1"), user("b"), says("c"), user("d"), tool("c1", "late")]
    session = ContextSession(PLAIN, format="openai-chat")
    for end in range(1, len(raw) + 1):
        view = session.prepare(raw[:end])
        assert faults(view, "openai-chat", alternate=True) == []
    assert view == [*raw[:2], tool("c1", "late"), *raw[2:5]]


def test_keys_beside_the_content():
    """What only the second has is taken over; what both have otherwise is archived with it, whole."""
    session = ContextSession(PLAIN, format="openai-chat")
    raw = [user("a", name="ann"), user("b", name="bob"), says("c", reasoning_content="1"), says("d", refusal="no")]
    view = session.prepare([*raw, says("e", reasoning_content="2")])
    assert view == [user("a\n\nb", name="ann"), says("c\n\nd\n\ne", reasoning_content="1\n\n2", refusal="no")]
    assert [json.loads(session.recall(action.ref)) for action in session.report.repairs if action.ref] == [raw[1]]


def test_the_old_function_calls_join_nothing():
    """Nor do their answers."""
    raw = [
        user("a"),
        says(None, function_call=CALL),
        {"role": "function", "name": "code_run", "content": "1"},
        user("b"),
    ]
    assert prepared(raw)[0] == raw


def rounds(count, chars=900):
    """Return a request and rounds of a call, its result and an answer, two users in a row between them."""
    raw = [RULE, user("Do it.")]
    for n in range(count):
        raw += [
            says("Well.", f"c{n}"),
            tool(f"c{n}", f"{n} " + "x" * chars),
            says(f"Done {n}."),
            user("On."),
            user("Please."),
        ]
    return raw


def strict_template(messages):
    """Judge as Mistral's template does: calls and tool messages are left out of account (vllm-project/vllm#6862)."""
    counted = [m["role"] for m in messages[1:] if m["role"] != "tool" and not m.get("tool_calls")]
    assert counted[0] == "user"
    assert all(a != b for a, b in pairwise(counted))


@pytest.mark.parametrize("chars", [1_000_000, 6_000])
@pytest.mark.parametrize("lifetime", ["persistent", "ephemeral"])
def test_the_anchor_is_part_of_its_neighbour(chars, lifetime):
    """At the end of a tool message or of the user's, through passes and evictions; a template never sees two users."""
    session = ContextSession(
        {**STRICT, "budget": {"chars": chars}, "anchor": {"lifetime": lifetime}}, format="openai-chat"
    )
    session.update_key_info("the plan")
    raw = rounds(20)
    for end in range(2, len(raw) + 1):
        view = session.prepare(raw[:end])
        assert faults(view, "openai-chat", alternate=True) == []
        strict_template(view)
        assert session.report.chars_after == sum(len(json.dumps(message, ensure_ascii=False)) for message in view)
        if view[-1]["role"] != "assistant":
            assert view[-1]["content"].endswith("<key_info>\nthe plan\n</key_info>")
    assert any(report.evicted for report in session.reports) == (chars < 10_000)


def test_a_dump_goes_on_with_the_same_bytes():
    """In the middle of merged messages."""
    raw = rounds(12)
    session = ContextSession({**STRICT, "budget": {"chars": 6_000}}, format="openai-chat")
    for end in range(2, len(raw) + 1):
        view = session.prepare(raw[:end])
        loaded = ContextSession.load(session.dump())
        assert loaded.prepare(raw[:end]) == view
    assert loaded.prepare([*raw, user("And?")]) == session.prepare([*raw, user("And?")])


def test_a_dump_that_goes_on_the_other_way_reads_the_list_anew():
    """What was merged no longer is, or the reverse."""
    raw = [user("a"), user("b"), says("c")]
    session = ContextSession(PLAIN, format="openai-chat")
    session.prepare(raw)
    loose = ContextSession.load(session.dump(), config={"anchor": {"placement": "off"}})
    assert loose.prepare(raw) == raw
    assert ContextSession.load(loose.dump(), config=PLAIN).prepare(raw) == [user("a\n\nb"), says("c")]
