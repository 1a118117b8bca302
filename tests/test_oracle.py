"""The oracle can fail: small views with the fault each rule must find, and legal ones in which it finds none."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from histories import FORMATS, after, changed, configs, histories, operations, splits
from hypothesis import given
from hypothesis import strategies as st
from oracle import faults, newest_request, relation_faults, text_faults

HALF = "half \ud800 of a pair"


def user(*content: Any) -> dict[str, Any]:
    """A user message: one string, or blocks."""
    return {"role": "user", "content": content[0] if isinstance(content[0], str) else [*content]}


def assistant(*content: Any, **keys: Any) -> dict[str, Any]:
    """An assistant message: one string, or blocks."""
    return user(*content) | {"role": "assistant"} | keys


def text(words: str, **keys: Any) -> dict[str, Any]:
    """A block of text."""
    return {"type": "text", "text": words, **keys}


def use(id: Any, input: Any = None, name: str = "code_run") -> dict[str, Any]:
    """A call in the form of anthropic."""
    return {"type": "tool_use", "id": id, "name": name, "input": {} if input is None else input}


def result(id: Any, content: Any = "done") -> dict[str, Any]:
    """A result in the form of anthropic."""
    return {"type": "tool_result", "tool_use_id": id, "content": content}


def thinking(words: str, signature: str = "s1") -> dict[str, Any]:
    """A signed block of reasoning."""
    return {"type": "thinking", "thinking": words, "signature": signature}


def called(*ids: Any, arguments: Any = "{}", **keys: Any) -> dict[str, Any]:
    """An assistant message with calls in the form of openai-chat."""
    calls = [{"id": id, "type": "function", "function": {"name": "code_run", "arguments": arguments}} for id in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls, **keys}


def tool(id: Any, content: str = "done") -> dict[str, Any]:
    """A tool message of openai-chat."""
    return {"role": "tool", "tool_call_id": id, "content": content}


def item(call_id: Any, arguments: Any = "{}", **keys: Any) -> dict[str, Any]:
    """A call in the form of openai-responses."""
    return {"type": "function_call", "call_id": call_id, "name": "code_run", "arguments": arguments, **keys}


def answer(id: Any, output: Any = "done") -> dict[str, Any]:
    """A result of openai-responses."""
    return {"type": "function_call_output", "call_id": id, "output": output}


def reason(id: str = "rs_1", **keys: Any) -> dict[str, Any]:
    """A piece of reasoning of openai-responses."""
    return {"type": "reasoning", "id": id, "summary": [], **keys}


def tool_use(id: Any, input: Any = None, **keys: Any) -> dict[str, Any]:
    """A call in the form of bedrock."""
    return {"toolUse": {"toolUseId": id, "name": "code_run", "input": {} if input is None else input, **keys}}


def tool_result(id: Any, *content: Any) -> dict[str, Any]:
    """A result in the form of bedrock."""
    return {"toolResult": {"toolUseId": id, "content": list(content) or [{"text": "done"}]}}


def content(role: str | None, *parts: dict[str, Any]) -> dict[str, Any]:
    """A content of gemini; a role of None is not written."""
    return {**({"role": role} if role else {}), "parts": [*parts]}


def asks(name: str = "f", args: Any = None, **keys: Any) -> dict[str, Any]:
    """A call in the form of gemini; `id` goes with the call, what else is given with the part."""
    shown = {"id": keys.pop("id")} if "id" in keys else {}
    return {"functionCall": {**shown, "name": name, "args": {} if args is None else args}, **keys}


def tells(name: str = "f", response: Any = "done", **keys: Any) -> dict[str, Any]:
    """A result in the form of gemini."""
    output = {"output": response} if isinstance(response, str) else response
    return {"function_response": {"name": name, "response": output, **keys}}


GO, OK = user("Go."), assistant("All right.")
MAY, DO = content("user", {"text": "Go."}), content("model", {"text": "All right."})
MARK = {"cache_control": {"type": "ephemeral"}}

ANTHROPIC_WRONG = {
    "first role: assistant alone": ([OK], "first role is 'assistant'"),
    "first role: assistant before user": ([OK, GO], "first role is 'assistant'"),
    "role: system": ([{"role": "system", "content": "Be brief."}], "role 'system'"),
    "role: none": ([GO, {"content": "x"}], "role None"),
    "alternate: two users": ([GO, user("On.")], "a second 'user'"),
    "alternate: two assistants": ([GO, OK, OK], "a second 'assistant'"),
    "call: answered by text": ([GO, assistant(use("a")), user("no")], "no result for call 'a'"),
    "call: one of two answered": ([GO, assistant(use("a"), use("b")), user(result("a"))], "no result for call 'b'"),
    "call: answered too late": (
        [GO, assistant(use("a")), user("x"), OK, user(result("a"))],
        "no result for call 'a'",
    ),
    "result: no call before": ([user(result("a"))], "result 'a' without a call"),
    "result: answered twice": ([GO, assistant(use("a")), user(result("a"), result("a"))], "result 'a' without a call"),
    "result: by the assistant": ([GO, assistant(result("a"))], "a result by 'assistant'"),
    "call: by the user": ([user(use("a"))], "a call by 'user'"),
    "order: text first": ([GO, assistant(use("a")), user(text("So:"), result("a"))], "a result after other content"),
    "order: text between": (
        [GO, assistant(use("a"), use("b")), user(result("a"), text("and"), result("b"))],
        "a result after other content",
    ),
    "blank: block": ([user(text("Go."), text(""))], "blank text block"),
    "blank: white space": ([user(text(" \n"))], "blank text block"),
    "blank: string": ([user("  ")], "blank text block"),
    "blank: inside a result": ([GO, assistant(use("a")), user(result("a", [text("")]))], "blank text block"),
    "empty: string": ([user("")], "blank text block"),
    "empty: list": ([GO, {"role": "assistant", "content": []}], "empty content"),
    "empty: missing": ([GO, {"role": "assistant"}], "empty content"),
    "block: a string": ([user("Go.") | {"content": ["Go."]}], "no dict"),
    "last text: string": ([GO, assistant("So ")], "ends in white space"),
    "last text: block": ([GO, assistant(text("a "), text("b\n"))], "ends in white space"),
    "id: dot": ([GO, assistant(use("a.b"))], "illegal id 'a.b'"),
    "id: new line": ([GO, assistant(use("a\n"))], "illegal id"),
    "id: empty": ([GO, assistant(use(""))], "illegal id"),
    "id: none": ([GO, assistant(use(None))], "illegal id None"),
    "id: repeated in a message": ([GO, assistant(use("a"), use("a"))], "repeated id 'a'"),
    "id: repeated in the request": (
        [GO, assistant(use("a")), user(result("a")), assistant(use("a")), user(result("a"))],
        "repeated id 'a'",
    ),
    "reasoning: by the user": ([user(thinking("hm"), text("Go."))], "reasoning in a message of the user's"),
    "reasoning: last": ([GO, assistant(text("So."), thinking("hm")), GO], "the reply ends in reasoning"),
    "result: an object": ([GO, assistant(use("a")), user(result("a", {"n": 1}))], "content of result 'a' is no text"),
    "result: a list of strings": (
        [GO, assistant(use("a")), user(result("a", ["done"]))],
        "the content of result 'a' is no text",
    ),
    "input: string": ([GO, assistant(use("a", "{}"))], "the input of 'a' is no object"),
    "input: list": ([GO, assistant(use("a", [1]))], "the input of 'a' is no object"),
    "marks: five blocks": ([user(*[text("x", **MARK)] * 5)], "5 cache_control"),
    "marks: in a result": (
        [GO, assistant(use("a", name="x") | MARK), user(result("a", [text("x", **MARK)] * 4))],
        "5 cache_control",
    ),
    "encoding: text": ([user(HALF)], "UTF-8 cannot encode"),
    "encoding: key": ([GO, assistant(use("a", {HALF: 1}))], "UTF-8 cannot encode"),
    "encoding: two halves": ([user("\ud83d\ude00")], "UTF-8 cannot encode"),
    "json: bytes": ([user(text("x"), {"type": "image", "source": b"x"})], "bytes is not JSON"),
    "json: nan": ([GO, assistant(use("a", {"n": float("nan")}))], "nan is not JSON"),
    "json: set": ([GO, assistant(use("a", {"n": {1}}))], "set is not JSON"),
    "shape: a string": (["Go."], "no dict"),
}
ANTHROPIC_LEGAL = {
    "empty": [],
    "one request": [GO],
    "open call at the end": [GO, assistant(use("a"), use("b"))],
    "results in any order": [GO, assistant(use("a"), use("b")), user(result("b"), result("a"), text("Well?"))],
    "empty results": [
        GO,
        assistant(use("a"), use("b")),
        user(result("a", ""), {"type": "tool_result", "tool_use_id": "b"}),
    ],
    "empty list as result": [GO, assistant(use("a")), user(result("a", []))],
    "space before a call": [GO, assistant(text("So "), use("a"))],
    "space in an earlier answer": [GO, assistant("So "), user("On.")],
    "server tool": [GO, assistant({"type": "server_tool_use", "id": "a.b", "name": "web_search", "input": {}})],
    "reasoning without text": [GO, assistant(thinking(""), text("So.")), user("On.")],
    "four marks": [user(*[text("x", **MARK)] * 4)],
    "a mark that is off": [user(*[text("x", cache_control=None)] * 5)],
    "a key of an input": [GO, assistant(use("a", {"calls": [dict(MARK)] * 5}))],
    "unknown block and key": [user({"type": "future", "text": ""}, text("x")) | {"zeta": 1}],
}
OPENAI_WRONG = {
    "role: unknown": ([GO, {"role": "model", "content": "x"}], "role 'model'"),
    "role: none": ([{"content": "x"}], "role None"),
    "call: user after": ([called("a"), GO], "no result for call 'a'"),
    "call: one of two": ([called("a", "b"), tool("a"), GO], "no result for call 'b'"),
    "result: null": ([GO, called("a"), {"role": "tool", "tool_call_id": "a", "content": None}], "is no text"),
    "result: missing": ([GO, called("a"), {"role": "tool", "tool_call_id": "a"}], "is no text"),
    "call: one of two at the end": ([called("a", "b"), tool("a")], "no result for call 'b'"),
    "call: two messages, results after": ([called("a"), called("b"), tool("a"), tool("b")], "no result for call 'a'"),
    "result: first": ([tool("a")], "result 'a' without a call"),
    "result: after a user": ([called("a"), tool("a"), GO, tool("a")], "result 'a' without a call"),
    "result: twice": ([called("a"), tool("a"), tool("a")], "result 'a' without a call"),
    "result: other id": ([called("a"), tool("b")], "result 'b' without a call"),
    "result: without id": ([called("a"), {"role": "tool", "content": "x"}], "result 'None' without a call"),
    "id: repeated": ([called("a", "a")], "repeated id 'a'"),
    "id: repeated and answered": ([called("a", "a"), tool("a"), tool("a")], "repeated id 'a'"),
    "id: none": ([called(None)], "a call without an id"),
    "arguments: cut": ([called("a", arguments='{"path": "x')], "arguments are not JSON"),
    "arguments: empty": ([called("a", arguments="")], "arguments are not JSON"),
    "arguments: two values": ([called("a", arguments="{} {}")], "arguments are not JSON"),
    "arguments: NaN": ([called("a", arguments='{"n": NaN}')], "arguments are not JSON"),
    "arguments: list": ([called("a", arguments="[1]")], "arguments are no object"),
    "arguments: null": ([called("a", arguments="null")], "arguments are no object"),
    "arguments: dict": ([called("a", arguments={})], "arguments are no string"),
    "arguments: function_call": ([assistant("x", function_call={"name": "f", "arguments": "{"})], "are not JSON"),
    "nothing: none": ([GO, {"role": "assistant", "content": None}], "nothing in it"),
    "nothing: empty": ([GO, {"role": "assistant", "content": "", "tool_calls": []}], "nothing in it"),
    "nothing: missing": ([GO, {"role": "assistant"}], "nothing in it"),
    "encoding: text": ([user(HALF)], "UTF-8 cannot encode"),
    "encoding: arguments": ([called("a", arguments=json.dumps({"x": HALF}, ensure_ascii=False))], "cannot encode"),
}
OPENAI_LEGAL = {
    "empty": [],
    "system alone": [{"role": "system", "content": "Be brief."}, {"role": "developer", "content": ""}],
    "open calls at the end": [GO, called("a", "b")],
    "assistant first": [OK, GO],
    "results in any order": [called("a", "b"), tool("b", ""), tool("a"), GO],
    "ids again in a later turn": [called("a"), tool("a"), called("a"), tool("a")],
    "empty content beside calls": [called("a", content=""), tool("a")],
    "custom call": [called() | {"tool_calls": [{"id": "a", "type": "custom", "custom": {"name": "f", "input": "{"}}]}],
    "refusal": [{"role": "assistant", "refusal": "No."}],
    "audio": [{"role": "assistant", "audio": {"id": "x"}}],
    "function_call": [
        assistant("x", function_call={"name": "f", "arguments": "{}"}),
        {"role": "function", "name": "f"},
    ],
    "a long number": [called("a", arguments='{"n": ' + "1" * 5_000 + "}")],
    "two users": [GO, GO],
}
SEARCH = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
RESPONSES_WRONG = {
    "role: tool": ([tool("a")], "role 'tool'"),
    "result: no call": ([GO, answer("a")], "result 'a' without a call before it"),
    "result: before its call": ([answer("a"), item("a")], "result 'a' without a call before it"),
    "result: a second one": ([item("a"), answer("a"), answer("a")], "result 'a' without a call before it"),
    "call: not answered": ([item("a"), GO], "no result for call 'a'"),
    "call: one of two answered": ([item("a"), item("b"), answer("b")], "no result for call 'a'"),
    "call: another type": ([{"type": "shell_call", "call_id": "s"}, GO], "no result for call 's'"),
    "id: repeated in a response": ([item("a"), OK, item("a"), answer("a"), answer("a")], "repeated id 'a'"),
    "id: none": ([item(None)], "a call without an id"),
    "reasoning: before the user": ([reason(), GO], "reasoning that no item follows"),
    "reasoning: before a result": ([item("a"), reason(), answer("a")], "reasoning that no item follows"),
    "reasoning: at the end": ([GO, reason(), reason("rs_2")], "reasoning that no item follows"),
    "arguments: cut": ([item("a", '{"x": 1')], "arguments are not JSON"),
    "arguments: dict": ([item("a", {})], "arguments are no string"),
    "nothing: none": ([GO, {"role": "assistant", "content": None}], "nothing in it"),
    "encoding: output": ([item("a"), answer("a", HALF)], "UTF-8 cannot encode"),
}
RESPONSES_LEGAL = {
    "empty": [],
    "open calls at the end": [GO, reason(), item("a"), OK, item("b")],
    "interleaved": [GO, reason(), item("a"), answer("a"), item("b"), answer("b")],
    "results in any order": [item("a"), item("b"), answer("b"), answer("a"), GO],
    "ids again in a later response": [item("a"), answer("a"), item("a"), answer("a")],
    "a chain of reasoning": [GO, reason(), reason("rs_2"), OK],
    "server tools": [GO, reason(), SEARCH, OK, {"type": "item_reference", "id": "x"}, {"id": "y"}, GO],
    "free text": [{"type": "custom_tool_call", "call_id": "a", "name": "f", "input": "{"}],
}
ASK, SAID = user({"text": "Go."}), assistant({"text": "All right."})
POINT, PDF = {"cachePoint": {"type": "default"}}, {"document": {"name": "a", "source": {"bytes": b"%PDF"}}}
WHY, HOW = ({"reasoningContent": {"reasoningText": {"text": words, "signature": "s"}}} for words in ("why", "how"))
HIDDEN = {"reasoningContent": {"redactedContent": b"\x00\xff"}}
BEDROCK_WRONG = {
    "first role": ([SAID], "first role is 'assistant'"),
    "role: system": ([{"role": "system", "content": [{"text": "Be brief."}]}], "role 'system'"),
    "alternate": ([ASK, ASK], "a second 'user'"),
    "content: string": ([GO], "content is no list"),
    "call: answered by text": ([ASK, assistant(tool_use("a")), ASK], "no result for call 'a'"),
    "call: one of two": ([ASK, assistant(tool_use("a"), tool_use("b")), user(tool_result("a"))], "no result for"),
    "call: by the user": ([user(tool_use("a"))], "a call by 'user'"),
    "result: no call before": ([user(tool_result("a"))], "result 'a' without a call"),
    "result: twice": ([ASK, assistant(tool_use("a")), user(*[tool_result("a")] * 2)], "result 'a' without a call"),
    "result: by the assistant": ([ASK, assistant(tool_result("a"))], "a result by 'assistant'"),
    "blank: text": ([user({"text": " \n"})], "blank text"),
    "blank: in a result": ([ASK, assistant(tool_use("a")), user(tool_result("a", {"text": ""}))], "blank text"),
    "empty: list": ([{"role": "user", "content": []}], "empty content"),
    "empty: cache point": ([user(POINT)], "empty content"),
    "empty: result": ([ASK, assistant(tool_use("a")), user({"toolResult": {"toolUseId": "a"}})], "empty content"),
    "document: alone": ([user(PDF)], "a document without a text"),
    "id: colon": ([ASK, assistant(tool_use("a:b"))], "illegal id 'a:b'"),
    "id: long": ([ASK, assistant(tool_use("a" * 65))], "illegal id"),
    "id: repeated": (
        [ASK, assistant(tool_use("a")), user(tool_result("a")), assistant(tool_use("a"))],
        "repeated id 'a'",
    ),
    "input: list": ([ASK, assistant(tool_use("a", [1]))], "the input of 'a' is no object"),
    "cache points: five": ([user(*[{"text": "x"}, POINT] * 5)], "5 cachePoint"),
    "encoding: text": ([user({"text": HALF})], "UTF-8 cannot encode"),
}
BEDROCK_LEGAL = {
    "empty": [],
    "open calls at the end": [ASK, assistant(tool_use("a" * 64), tool_use("b"))],
    "results in any place": [
        ASK,
        assistant(tool_use("a"), tool_use("b")),
        user({"text": "So:"}, tool_result("b", {"json": {}}), POINT, tool_result("a")),
    ],
    "bytes": [user({"text": "See."}, PDF, {"image": {"format": "png", "source": {"bytes": b"\x00"}}})],
    "four cache points": [user(*[{"text": "x"}, POINT] * 4)],
    "reasoning": [ASK, assistant(WHY, HIDDEN, tool_use("a")), user(tool_result("a"))],
    "server tool": [
        ASK,
        assistant(tool_use("s", type="server_tool_use"), {"toolResult": {"toolUseId": "s", "type": "found"}}),
    ],
}
GEMINI_WRONG = {
    "role: system": ([content("system", {"text": "Be brief."})], "role 'system'"),
    "first: the model": ([DO, MAY], "message 0: first is 'model'"),
    "first: a result": ([content("user", tells())], "message 0: first is 'user' with 1 results"),
    "call: after the model": ([MAY, DO, content("model", asks())], "a call turn after 'model'"),
    "call: answered by text": ([MAY, content("model", asks()), MAY], "results of [] for calls"),
    "call: one of two answered": (
        [MAY, content("model", asks(), asks()), content("user", tells())],
        """results of ["'f'"] for calls ["'f'", "'f'"]""",
    ),
    "call: by the user": ([content("user", asks())], "a call by 'user'"),
    "result: another tool": ([MAY, content("model", asks("f")), content("user", tells("g"))], "for calls"),
    "result: twice": ([MAY, content("model", asks()), content("user", tells(), tells())], "for calls"),
    "result: in two contents": (
        [MAY, content("model", asks(), asks()), content("user", tells()), content("user", tells())],
        "for calls",
    ),
    "result: by the model": ([MAY, content("model", tells())], "a result by 'model'"),
    "result: text beside it": (
        [MAY, content("model", asks()), content("user", tells(), {"text": "Well?"})],
        "other parts beside results",
    ),
    "id: repeated": ([MAY, content("model", asks(id="a"), asks("g", id="a"))], "repeated id 'a'"),
    "args: a text": ([MAY, content("model", asks(args="{}"))], "args are no object"),
    "args: missing": ([MAY, content("model", {"functionCall": {"name": "f"}})], "args are no object"),
    "args: signed text": ([MAY, content("model", asks(args="{}", thoughtSignature="s"))], "args are no object"),
    "response: missing": (
        [MAY, content("model", asks()), content("user", {"functionResponse": {"name": "f"}})],
        "a response that is no object",
    ),
    "response: a list": ([MAY, content("model", asks()), content("user", tells(response=[1]))], "that is no object"),
    "parts: none": ([content("user")], "message 0: no parts"),
    "parts: missing": ([MAY, {"role": "model"}], "message 1: no parts"),
    "encoding": ([content("user", {"text": HALF})], "UTF-8 cannot encode"),
}
GEMINI_LEGAL = {
    "empty": [],
    "without roles": [content(None, {"text": "Go."}), DO, content(None, {"text": "On."})],
    "open calls at the end": [MAY, content("model", asks(), asks(id="b"))],
    "the role of older models": [MAY, content("model", asks()), content("function", tells())],
    "results in another order": [MAY, content("model", asks("f"), asks("g")), content("user", tells("g"), tells("f"))],
    "a user behind results": [MAY, content("model", asks()), content("user", tells()), MAY, content("model", asks())],
    "signed without args": [MAY, content("model", {"functionCall": {"name": "f"}, "thoughtSignature": "s"})],
    "signed with the id of another": [MAY, content("model", asks(id="a"), asks(id="a", thoughtSignature="s"))],
    "no ids": [MAY, content("model", asks(), asks()), content("user", tells(), tells())],
    "unset keys": [MAY, content("model", {"function_call": None, "text": "Yes.", "thought_signature": None})],
}
TEXT_WRONG = {
    "role: tool": ([tool("a")], "role 'tool'"),
    "role: none": ([{"content": "x"}], "role None"),
    "encoding: user": ([user(HALF)], "UTF-8 cannot encode"),
    "encoding: key": ([GO | {HALF: 1}], "UTF-8 cannot encode"),
}
TEXT_LEGAL = {
    "empty": [],
    "orphan call": [assistant("<tool_use>{}</tool_use>"), OK],
    "orphan result": [user("<tool_result>x</tool_result>"), GO],
    "system in the middle": [GO, {"role": "system", "content": "Be brief."}, OK],
}


def table(**wrong: dict[str, tuple[Any, str]]) -> list[Any]:
    """Return one parameter set for each view of the tables."""
    return [
        pytest.param(view, format.replace("_", "-"), words, id=f"{format}: {name}")
        for format, views in wrong.items()
        for name, (view, words) in views.items()
    ]


@pytest.mark.parametrize(
    ("view", "format", "words"),
    table(
        anthropic=ANTHROPIC_WRONG,
        openai_chat=OPENAI_WRONG,
        openai_responses=RESPONSES_WRONG,
        gemini=GEMINI_WRONG,
        bedrock=BEDROCK_WRONG,
        text=TEXT_WRONG,
    ),
)
def test_faults_finds(view: Any, format: str, words: str) -> None:
    """A view that breaks a rule is refused, and the sentence says which rule."""
    assert any(words in fault for fault in faults(view, format)), faults(view, format)


def legal(**views: dict[str, Any]) -> list[Any]:
    """Return one parameter set for each legal view."""
    return [
        pytest.param(view, format.replace("_", "-"), id=f"{format}: {name}")
        for format, named in views.items()
        for name, view in named.items()
    ]


LEGAL = legal(
    anthropic=ANTHROPIC_LEGAL,
    openai_chat=OPENAI_LEGAL,
    openai_responses=RESPONSES_LEGAL,
    gemini=GEMINI_LEGAL,
    bedrock=BEDROCK_LEGAL,
    text=TEXT_LEGAL,
)


@pytest.mark.parametrize(
    ("view", "words"),
    [
        ([GO, GO], "message 1: a second 'user'"),
        ([GO, OK, OK], "message 2: a second 'assistant'"),
        ([{"role": "system", "content": "Be brief."}, OK, GO], "the first role behind the system messages"),
    ],
)
def test_a_strict_template(view: Any, words: str) -> None:
    """It refuses what the format itself takes."""
    assert faults(view, "openai-chat") == []
    assert [fault[: len(words)] for fault in faults(view, "openai-chat", alternate=True)] == [words]


def test_a_strict_template_takes_tool_messages_and_what_is_between() -> None:
    """A run of tool messages, a system message between two users, the old function calls."""
    system = {"role": "system", "content": "Be brief."}
    call = {"role": "assistant", "content": None, "function_call": {"name": "a", "arguments": "{}"}}
    old = [call, {"role": "function", "name": "a", "content": ""}]
    view = [system, GO, called("a", "b"), tool("a"), tool("b"), OK, GO, system, GO, old[0], *old, GO]
    assert faults(view, "openai-chat", alternate=True) == []


@pytest.mark.parametrize(("view", "format"), LEGAL)
def test_faults_passes(view: Any, format: str) -> None:
    """What the provider takes is not refused, and it is related to itself."""
    assert faults(view, format) == []
    assert relation_faults(view, view, format) == []


SYSTEM, RULE = {"role": "system", "content": "Be brief."}, {"role": "developer", "content": [text("No jokes.")]}
LONG = user("Keep this. " * 400)
SIGNED = [GO, assistant(thinking("why", "s1"), thinking("how", "s2"), use("a")), user(result("a"))]
PAIRED = [GO, called("a", arguments='{"n": 1}'), tool("a", "output number one"), OK, GO]
SWAPPED = [
    GO,
    called("a", arguments='{"n": 1}'),
    tool("a", "output number one"),
    called("a", arguments='{"n": 2}'),
    tool("a", "output number two"),
]
LATE = [
    GO,
    assistant(use("a", {"n": 1})),
    user("Never mind."),
    OK,
    user(result("a", "output number one"), text("Go on, please.")),
]
RUN = [GO, reason("rs_1"), SEARCH, assistant("So.", id="msg_1"), item("a", id="fc_1"), answer("a"), OK]
TEXT_CALL = [
    GO,
    assistant("message no 0001 I look.\n<tool_use>{}</tool_use>"),
    user("message no 0002 <tool_result>x</tool_result>"),
    OK,
]
REASONED = [ASK, assistant(WHY, HIDDEN, tool_use("a"))]
THOUGHT = [
    MAY,
    content("model", {"text": "why", "thought": True, "thoughtSignature": "s"}, asks(args={"n": 1}), {"text": "So."}),
    content("user", tells(response="output number one")),
    content("model", {"text": "Yes.", "thoughtSignature": "t"}, {"text": "No."}),
    MAY,
]
RELATION_WRONG = [
    ("openai-chat", [SYSTEM, GO], [GO], "1 system messages became 0"),
    ("openai-chat", [SYSTEM, RULE, GO], [RULE, SYSTEM, GO], "system message 0 was changed"),
    ("text", [SYSTEM, GO], [{"role": "system", "content": "Be br"}, GO], "system message 0 was changed"),
    ("openai-chat", [SYSTEM, GO], [{"content": "Be brief.", "role": "system"}, GO], "system message 0 was changed"),
    ("anthropic", [user("Do it."), OK], [user("..."), OK], "the newest request is not in the view: 'Do it.'"),
    ("anthropic", [GO, OK, user(text("One."), text("Two."))], [user("One.")], "not in the view: 'Two.'"),
    ("openai-chat", [user("Do it."), OK], [OK], "not in the view: 'Do it.'"),
    ("text", [user("Do it."), *TEXT_CALL[1:]], TEXT_CALL[1:], "not in the view: 'Do it.'"),
    ("text", [LONG], [user("Keep this. " * 100)], "not in the view: 'Keep this."),
    ("openai-chat", [user(f"Do {HALF} it.")], [user("Do half it.")], "not in the view"),
    ("anthropic", SIGNED, [GO, assistant(thinking("w", "s1"), use("a")), SIGNED[2]], "signed reasoning was changed"),
    ("anthropic", SIGNED, [GO, assistant(thinking("why", "s2"), use("a")), SIGNED[2]], "signed reasoning was changed"),
    (
        "anthropic",
        [GO, assistant({"type": "redacted_thinking", "data": "xyz"}), GO],
        [GO, assistant({"type": "redacted_thinking", "data": "xy"}), GO],
        "signed reasoning was changed",
    ),
    ("anthropic", SIGNED, [GO, assistant(thinking("why", "s1"), use("a")), SIGNED[2]], "only a part"),
    ("anthropic", SIGNED, [GO, assistant(thinking("how", "s2"), use("a")), SIGNED[2]], "only a part"),
    ("anthropic", SIGNED, [GO, assistant(use("a")), SIGNED[2]], "reasoning of the open loop is gone"),
    ("anthropic", [*SIGNED, OK, GO], [GO, OK, GO], "reasoning of the open loop is gone"),
    ("anthropic", [GO, assistant(use("a", {"n": 1}))], [GO, assistant(use("a", {"n": 2}))], "last message was changed"),
    ("anthropic", [GO, assistant(use("a"))], [GO, assistant("I stop.")], "1 calls of the last message became 0"),
    ("openai-chat", [GO, called("a", "b")], [GO, called("a")], "2 calls of the last message became 1"),
    (
        "openai-chat",
        [GO, called("a", arguments="no")],
        [GO, called("a", arguments='{"_raw": "n"}')],
        "last message was changed",
    ),
    ("text", TEXT_CALL[:2], [GO, assistant("message no 0001 I look.")], "1 calls of the last message became 0"),
    ("openai-chat", [GO, called("a")], [], "the calls of the last message are gone"),
    ("openai-chat", PAIRED, [GO, PAIRED[1], tool("a", "no result"), OK, GO], "in place of its result"),
    ("openai-chat", SWAPPED, [GO, SWAPPED[1], SWAPPED[4], SWAPPED[3], SWAPPED[2]], "in place of its result"),
    (
        "anthropic",
        LATE,
        [GO, LATE[1], user(result("a", "no result"), text("Never mind.")), OK, user("Go on, please.")],
        "in place of its result",
    ),
    ("openai-responses", RUN, [GO, reason("rs_1", summary=["x"]), *RUN[2:]], "reasoning was changed"),
    ("openai-responses", RUN, [GO, *RUN[2:]], "torn apart, without ['rs_1']"),
    ("openai-responses", RUN, [GO, RUN[1], *RUN[3:]], "torn apart, without ['ws_1']"),
    ("openai-responses", RUN, [GO, *RUN[1:3], *RUN[4:]], "torn apart, without ['msg_1']"),
    ("openai-responses", RUN[:5], [GO, *RUN[2:5]], "reasoning of the open loop is gone"),
    ("openai-responses", [GO, item("a"), item("b")], [GO, item("b")], "2 calls of the last message became 1"),
    ("openai-responses", [GO, item("a"), OK], [GO, OK], "1 calls of the last message became 0"),
    ("openai-responses", [GO, item("a", "no")], [GO, item("a", '{"_raw": "n"}')], "last message was changed"),
    (
        "openai-responses",
        [GO, item("a", '{"n": 1}'), answer("a", "output number one"), OK, GO],
        [GO, item("a", '{"n": 1}'), answer("a", "no result"), OK, GO],
        "in place of its result",
    ),
    ("bedrock", REASONED, [ASK, assistant(WHY, tool_use("a"))], "only a part"),
    ("bedrock", REASONED, [ASK, assistant(HOW, HIDDEN, tool_use("a"))], "signed reasoning was changed"),
    ("bedrock", REASONED, [ASK, assistant(tool_use("a"))], "reasoning of the open loop is gone"),
    ("bedrock", [ASK, SAID], [SAID], "not in the view: 'Go.'"),
    ("gemini", THOUGHT[:2], [MAY, content("model", asks(args={"n": 2}))], "last message was changed"),
    ("gemini", THOUGHT, [MAY, content("model", *THOUGHT[1]["parts"][1:]), *THOUGHT[2:]], "open loop is gone"),
    ("gemini", THOUGHT, [*THOUGHT[:3], content("model", {"text": "No."}), MAY], "its signature left without"),
    (
        "gemini",
        THOUGHT,
        [*THOUGHT[:3], content("model", {"text": "Y", "thoughtSignature": "t"}), MAY],
        "signed reasoning was changed",
    ),
    ("gemini", THOUGHT, [*THOUGHT[:2], content("user", tells(response="no result")), *THOUGHT[3:]], "in place of its"),
    ("text", TEXT_CALL, [GO, *TEXT_CALL[2:]], "only the result is in the view"),
    ("text", TEXT_CALL, [GO, TEXT_CALL[1], OK], "only the call is in the view"),
]


@pytest.mark.parametrize(("format", "raw", "view", "words"), RELATION_WRONG)
def test_relation_faults_finds(format: str, raw: Any, view: Any, words: str) -> None:
    """A view that lost or altered what is protected is refused, though a provider might take it."""
    assert any(words in fault for fault in relation_faults(raw, view, format)), relation_faults(raw, view, format)


LATER = [assistant(thinking("x", "s3"), use("b")), user(result("b"))]
RELATION_LEGAL = [
    ("anthropic", [], []),
    ("openai-chat", [SYSTEM, GO, OK, RULE, GO], [SYSTEM, RULE, GO]),
    ("openai-chat", [{"role": "system", "content": HALF}, GO], [{"role": "system", "content": "half ? of a pair"}, GO]),
    ("anthropic", [GO, OK, user(text("Do."), text(" "))], [user("Do.")]),
    ("anthropic", [user("Do."), OK, user(" ")], [user("Do."), OK]),
    ("anthropic", [user("Do.")], [user(text("Before."), text("Do."), text("<history>...</history>"))]),
    ("anthropic", [user(f"Do {HALF}")], [user("Do half \ufffd of a pair")]),
    ("anthropic", [*SIGNED, *LATER], [GO, *LATER]),
    ("anthropic", [GO, assistant(thinking(HALF), use("a"))], [GO, assistant(use("a"))]),
    ("anthropic", [GO, assistant(use("a:b", {"n": 1}))], [GO, assistant(text("So."), use("a_b", {"n": 1}))]),
    ("anthropic", [GO, assistant(use("a", "no json"))], [GO, assistant(use("a", {"_raw": "no json"}))]),
    ("openai-chat", [GO, called("a", arguments="")], [GO, called("a")]),
    ("openai-chat", [GO, called("a", arguments="no")], [GO, called("a", arguments='{"_raw": "no"}')]),
    ("openai-chat", SWAPPED, [GO, *SWAPPED[3:]]),
    ("openai-chat", PAIRED, [GO, PAIRED[1], tool("a", "output number one ...[9 gone]..."), OK, GO]),
    ("anthropic", LATE, [GO, LATE[1], user(result("a", "output number one"), text("Never mind.")), OK, LATE[4]]),
    ("openai-responses", [*RUN, GO, item("b"), answer("b")], [GO, item("b"), answer("b")]),
    ("openai-responses", RUN, [GO, *RUN[1:4], item("a", '{"n": "cut"}', id="fc_1"), answer("a", "cut"), OK]),
    ("openai-responses", [GO, reason(), GO], [GO, GO]),
    ("openai-responses", [GO, reason(), assistant(""), GO], [GO, GO]),
    ("openai-responses", [GO, item("a", ""), OK], [GO, item("a"), OK]),
    ("bedrock", [ASK, assistant(WHY, HIDDEN), *REASONED], [ASK, *REASONED]),
    ("gemini", THOUGHT, THOUGHT[:3] + THOUGHT[4:]),
    ("gemini", [*THOUGHT[:3], MAY], THOUGHT[:3]),
    ("gemini", THOUGHT, [*THOUGHT[:2], content("user", tells(response="output number one\n[...]")), *THOUGHT[3:]]),
    ("text", TEXT_CALL, [GO, OK]),
    ("text", TEXT_CALL, TEXT_CALL),
]


@pytest.mark.parametrize(("format", "raw", "view"), RELATION_LEGAL)
def test_relation_faults_passes(format: str, raw: Any, view: Any) -> None:
    """What eviction, merging, a repair and our own block do is no loss."""
    assert relation_faults(raw, view, format) == []


def test_a_request_over_the_budget_may_be_cut_when_the_report_says_so() -> None:
    """Step iii of promise 3 leaves the head of a request of more than 2,000 characters and all of a shorter one."""
    cut = [user("Keep this. " * 100 + "...[3300 gone]...")]
    assert relation_faults([LONG], cut, "text", request_cut=True) == []
    assert relation_faults([user("Keep this. " * 150)], cut, "text", request_cut=True) != []
    assert relation_faults([LONG], [user("...")], "text", request_cut=True) != []


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ([GO, OK], ["Go."]),
        (TEXT_CALL, ["Go."]),
        ([*TEXT_CALL[:3], user("On.")], ["On."]),
        ([OK], []),
        ([GO, assistant("a `<tool_use>` tag"), user("On.")], None),
        ([GO, user("<tool_result>x</tool_result>")], None),
    ],
)
def test_newest_request_of_the_text_format(raw: Any, expected: list[str] | None) -> None:
    """The message right after a call is its result; where code or an orphan leaves doubt there is no answer."""
    assert newest_request(raw, "text") == expected


PAIR = "message no 0001 <thinking>" + "so " * 300 + "</thinking> end"
OPEN = "message no 0002 <thinking>" + "so " * 300
TEXT_TAGS = [
    ("whole", PAIR, PAIR, 0),
    ("cut inside", PAIR, "message no 0001 <thinking>so so...[800 gone]...so</thinking> end", 0),
    ("cut away", PAIR, "message no 0001 ...[900 gone]... end", 0),
    ("opener lost", PAIR, "message no 0001 ...[800 gone]...so</thinking> end", 1),
    ("closer lost", PAIR, "message no 0001 <thinking>so so...[800 gone]...", 1),
    ("unclosed before", OPEN, "message no 0002 <thinking>so...[800 gone]...so", 0),
    ("another name added", OPEN, "message no 0002 <thinking>so...[800 gone]...<think>so", 1),
    ("closer before opener", PAIR, "message no 0001 </thinking>...[800 gone]...<thinking> end", 1),
    ("with our block", PAIR, PAIR + "\n<history>[1] looked</history>", 0),
    ("with a torn block", PAIR, PAIR + "\n<history>[1] looked", 1),
    ("code kept", "message no 0003 `<think>` " + "x" * 900, "message no 0003 `<think>` x...[800 gone]...", 0),
]


@pytest.mark.parametrize(("raw", "cut", "count"), [case[1:] for case in TEXT_TAGS], ids=[case[0] for case in TEXT_TAGS])
def test_text_faults(raw: str, cut: str, count: int) -> None:
    """A cut leaves balanced what was balanced and adds no lone tag."""
    assert len(text_faults([user(raw), user("message no 0009: another")], [user(cut)])) == count


@pytest.mark.parametrize("format", FORMATS)
@given(data=st.data())
def test_a_history_without_troubles_has_no_fault(format: str, data: st.DataObject) -> None:
    """The oracle accepts every calm session: no rule is stricter than what a faultless loop sends."""
    history = data.draw(histories(format, troubles=False))
    assert faults(history, format) == []
    assert relation_faults(history, history, format) == []


@pytest.mark.parametrize("format", FORMATS)
@given(data=st.data())
def test_the_oracle_judges_every_history(format: str, data: st.DataObject) -> None:
    """No history, however broken, stops the oracle, none is changed by it, and none lacks what itself holds."""
    history = data.draw(histories(format))
    before = copy.deepcopy(history)
    assert all(isinstance(fault, str) for fault in faults(history, format) + relation_faults(history, [], format))
    assert text_faults(history, history) == []
    assert history == before


@pytest.mark.parametrize("format", FORMATS)
@given(data=st.data())
def test_splits_are_growing_prefixes(format: str, data: st.DataObject) -> None:
    """The calls of a session see more of the history each time, its own objects, and at last the whole."""
    history = data.draw(histories(format, max_turns=4))
    prefixes = data.draw(splits(history, format))
    lengths = [len(prefix) for prefix in prefixes]
    assert lengths == sorted(set(lengths))
    assert prefixes[-1] == history
    assert all(a is b for prefix in prefixes for a, b in zip(prefix, history, strict=False))


@pytest.mark.parametrize("format", FORMATS)
@given(data=st.data())
def test_operations_lose_nothing_of_the_history(format: str, data: st.DataObject) -> None:
    """What the caller has and what is still to come is the history, but for what the caller changed; no dict is."""
    history = data.draw(histories(format, max_turns=4))
    before = copy.deepcopy(history)
    raw: list[Any] = []
    rest = list(history)
    for operation in data.draw(operations(format)):
        raw, rest = after(operation, raw, rest, raw, format)
        assert len(raw) + len(rest) == len(history)
    assert history == before


@given(configs())
def test_configs_are_plain_data(config: Any) -> None:
    """A drawn configuration is JSON, and its smaller border is never above the larger."""
    assert json.loads(json.dumps(config)) == config
    assert config["compact"].get("keep_recent_on_eviction", 0) <= config["compact"]["keep_recent"]


def test_changed_keeps_the_message_it_was_given() -> None:
    """A caller's change makes a new dict, for a string and for blocks."""
    assert changed(GO, "!", "anthropic")["content"] == "Go.!"
    assert GO["content"] == "Go."
    assert changed(user(text("a"), text("b")), "c", "anthropic")["content"][-1] == text("c")
