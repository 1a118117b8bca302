"""The model's own tools: their definitions, the answers, and what the stages do with a recalled text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from histories import FORMATS
from hypothesis import given
from hypothesis import strategies as st
from oracle import faults
from test_promises import exchange, request

import ga_context as ga
from ga_context.formats.base import Format

formats = pytest.mark.parametrize("format", FORMATS)
LOG = "".join(f"step {i:05} of the nightly job is done\n" for i in range(3_000))
"""114,000 characters."""


def call(format: str, name: str, given: Any, id: str = "r1") -> Any:
    """Return a tool call as it stands in a message of the model's."""
    return {
        "anthropic": {"type": "tool_use", "id": id, "name": name, "input": given},
        "openai-chat": {"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(given)}},
        "openai-responses": {"type": "function_call", "call_id": id, "name": name, "arguments": json.dumps(given)},
        "gemini": {"functionCall": {"id": id, "name": name, "args": given}},
        "bedrock": {"toolUse": {"toolUseId": id, "name": name, "input": given}},
        "text": json.dumps({"name": name, "arguments": given}),
    }[format]


def said(format: str, made: Any) -> list[dict[str, Any]]:
    """Return the model's message with a call in it."""
    return {
        "anthropic": [{"role": "assistant", "content": [made]}],
        "openai-chat": [{"role": "assistant", "content": None, "tool_calls": [made]}],
        "openai-responses": [made],
        "gemini": [{"role": "model", "parts": [made]}],
        "bedrock": [{"role": "assistant", "content": [made]}],
        "text": [{"role": "assistant", "content": f"<tool_use>{made}</tool_use>"}],
    }[format]


def placed(format: str, result: Any) -> dict[str, Any]:
    """Return the message that brings a result."""
    if format == "gemini":
        return {"role": "user", "parts": [result]}
    if format in ("anthropic", "bedrock"):
        return {"role": "user", "content": [result]}
    return {"role": "user", "content": result} if format == "text" else result


def text_of(format: str, result: Any) -> str:
    """Return the words of a result."""
    if format == "gemini":
        response = result["functionResponse"]["response"]
        return response.get("output") or response["error"]
    if format == "bedrock":
        return result["toolResult"]["content"][0]["text"]
    if format == "text":
        return result.removeprefix("<tool_result>").removesuffix("</tool_result>")
    return result["output" if format == "openai-responses" else "content"]


def recalled(session: ga.ContextSession, format: str, given: Any, id: str = "r1") -> list[dict[str, Any]]:
    """Return an exchange in which the model recalls something."""
    made = call(format, "recall_context", given, id)
    return [*said(format, made), placed(format, session.handle_tool_call(made))]


def with_log(format: str, **config: Any) -> tuple[ga.ContextSession, list[dict[str, Any]], str]:
    """Return a session whose first tool result was cut, its list, and the reference."""
    session = ga.ContextSession(config, format=format)
    raw = [request("Why did the job fail?", format), *exchange(0, LOG, format)]
    session.prepare(raw)
    return session, raw, next(action.ref for action in session.report.actions if action.stage == "truncate")


# -- definitions


@formats
def test_both_tools_are_defined_in_the_format(format: str) -> None:
    """What the SDK of each provider takes as a tool; a text protocol gets a line that names them."""
    session = ga.ContextSession(format=format)
    tools = session.tools()
    assert tools == session.tools()
    if format == "gemini":
        gemini = pytest.importorskip("google.genai.types")
        config = gemini.GenerateContentConfig(tools=[gemini.Tool(**tools[0])])
        names = [one.name for one in config.tools[0].function_declarations]
    elif format == "text":
        names = list(ga.formats.tagged_text._definitions(tools))
    else:
        names = [(one.get("function") or one.get("toolSpec") or one)["name"] for one in tools]
    assert names == ["recall_context", "update_working_checkpoint"]


def test_bedrock_takes_the_definitions_and_the_answers() -> None:
    """As the service model that botocore carries has them."""
    from botocore.session import get_session
    from botocore.validate import ParamValidator

    session = ga.ContextSession(format="bedrock")
    shape = get_session().get_service_model("bedrock-runtime").operation_model("Converse").input_shape
    for given_ref in ({"ref": "0"}, {"words": "x"}):
        raw = [request("Go.", "bedrock"), *recalled(session, "bedrock", given_ref)]
        sent = {"modelId": "m", "messages": raw, "toolConfig": {"tools": session.tools()}}
        assert ParamValidator().validate(sent, shape).generate_report() == ""


def test_the_format_must_be_known() -> None:
    """An undecided session does not guess in which form its tools are wanted."""
    with pytest.raises(ga.ConfigError, match="name it: ContextSession"):
        ga.ContextSession().tools()
    with pytest.raises(ga.ConfigError):
        ga.ContextSession().handle_tool_call(call("anthropic", "recall_context", {}))


def sdk_calls() -> list[tuple[str, Any]]:
    """Return a call as an object of each SDK."""
    claude, gemini = pytest.importorskip("anthropic.types"), pytest.importorskip("google.genai.types")
    chat = pytest.importorskip("openai.types.chat")
    responses = pytest.importorskip("openai.types.responses")
    name, text = "recall_context", '{"ref": "0"}'
    function = {"name": name, "arguments": text}
    return [
        ("anthropic", claude.ToolUseBlock(type="tool_use", id="r1", name=name, input={"ref": "0"})),
        ("openai-chat", chat.ChatCompletionMessageFunctionToolCall(id="r1", type="function", function=function)),
        (
            "openai-responses",
            responses.ResponseFunctionToolCall(type="function_call", call_id="r1", name=name, arguments=text),
        ),
        ("gemini", gemini.Part(function_call=gemini.FunctionCall(id="r1", name=name, args={"ref": "0"}))),
        ("gemini", gemini.FunctionCall(name=name, args={"ref": "0"})),
    ]


def test_objects_of_the_sdks_are_calls_too() -> None:
    """They have the attributes that the dicts have keys for."""
    for format, made in sdk_calls():
        result = ga.ContextSession(format=format).handle_tool_call(made)
        assert "nothing is kept under ref '0'" in json.dumps(result)


@formats
def test_other_calls_are_none_of_ours(format: str) -> None:
    """Of another tool, or no call at all."""
    session = ga.ContextSession(format=format)
    assert session.handle_tool_call(call(format, "code_run", {"code": "ls"})) is None
    assert session.handle_tool_call({"type": "text", "text": "recall_context"}) is None
    assert session.handle_tool_call(None) is None


# -- answers


@formats
def test_a_part_is_told_with_how_to_go_on(format: str) -> None:
    """All of a long log in parts, each within the tool's limit, each saying where the next begins."""
    session, _, ref = with_log(format)
    parts, start = [], 0
    while True:
        text = text_of(format, session.handle_tool_call(call(format, "recall_context", {"ref": ref, "start": start})))
        assert len(text) <= 10_000
        head, _, part = text.partition("\n")
        parts.append(part)
        assert head.startswith(f"[ref {ref}: characters {start} to {start + len(part)} of {len(LOG)}; ")
        if head.endswith("the end]"):
            break
        start = int(head.removesuffix("]").rpartition(" ")[2])
    assert "".join(parts) == LOG
    assert len(parts) == 12


def test_five_megabytes_in_parts() -> None:
    """A part in the middle of a text of that size costs no more than the part."""
    session = ga.ContextSession(format="anthropic")
    text = LOG * 47
    ref = session.tool_output("code_run", text).partition("saved: ref ")[2][:16]
    result = session.handle_tool_call(
        call("anthropic", "recall_context", {"ref": ref, "start": 4_000_000, "end": 4_000_040})
    )
    assert result["content"] == (
        f"[ref {ref}: characters 4000000 to 4000040 of {len(text)}; the next part has start 4000040]\n"
        + text[4_000_000:4_000_040]
    )


@formats
def test_words_find_the_passage(format: str) -> None:
    """A search tells where each passage stands, so that the next call can read around it."""
    session, _, ref = with_log(format)
    text = text_of(format, session.handle_tool_call(call(format, "recall_context", {"words": "step 01234"})))
    assert f"[ref {ref}: characters " in text
    assert "step 01234 of the nightly job" in text
    for asked in ({"words": "qwertzuiop"}, {"words": "qwertzuiop", "ref": ref}):
        none = session.handle_tool_call(call(format, "recall_context", asked))
        assert "holds the words 'qwertzuiop'" in text_of(format, none)
    inside = session.handle_tool_call(call(format, "recall_context", {"ref": ref, "words": "step 02345"}))
    assert "step 02345 of the nightly job" in text_of(format, inside)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "neither ref nor words is given"),
        ([1], "the input must be an object with ref or words; got list"),
        ("}", "the input must be an object with ref or words; got str"),
        ({"ref": "fedcba9876543210"}, "nothing is kept under ref 'fedcba9876543210'"),
        ({"ref": "../../etc/passwd"}, "nothing is kept under ref '"),
        ({"ref": "x' OR 1=1 --"}, "nothing is kept under ref "),
        ({"ref": 7}, "ref must be a string; got 7"),
        ({"ref": "$", "start": "ten"}, "start must be a whole number, 0 or more; got 'ten'"),
        ({"ref": "$", "start": -1}, "start must be a whole number, 0 or more; got -1"),
        ({"ref": "$", "start": True}, "start must be a whole number"),
        ({"ref": "$", "start": 1.5}, "start must be a whole number"),
        ({"ref": "$", "start": 9, "end": 9}, "end must be greater than start; got start 9 and end 9"),
        ({"ref": "$", "start": 108_000_000}, "start is 108000000, but ref $ has the characters 0 to 114000"),
    ],
)
@formats
def test_what_is_wrong_is_said_in_words(format: str, given: Any, told: str) -> None:
    """Never an exception: the model reads what was wrong and what would be right."""
    session, _, ref = with_log(format)
    if isinstance(given, dict) and given.get("ref") == "$":
        given = {**given, "ref": ref}
    made = call(format, "recall_context", given)
    text = text_of(format, session.handle_tool_call(made))
    assert text.startswith("error: ")
    assert told.replace("$", ref) in text


@pytest.mark.parametrize("given", [{"start": "100", "end": 120.0}, {"start": 100, "end": 120, "words": None}])
@pytest.mark.parametrize("form", ["{}", "ref {}", "[{}]", " {} ", "{}, characters 100 to 120"])
def test_small_slips_are_understood(form: str, given: dict[str, Any]) -> None:
    """Numbers as text, and a reference with the words around it in its mark."""
    session, _, ref = with_log("anthropic")
    asked = {"ref": form.format(ref)} | ({} if "characters" in form else given)
    result = session.handle_tool_call(call("anthropic", "recall_context", asked))
    assert result["content"].partition("\n")[2] == LOG[100:120]


def test_bytes_and_ranges() -> None:
    """`recall` takes a range; an image is told to the model by what it is."""
    session, _, ref = with_log("anthropic")
    assert session.recall(ref, 5, 10) == LOG[5:10]
    assert session.recall(ref, 107_990) == LOG[107_990:]
    image = session._state.archive.put(b"\x89PNG" * 10)
    assert session.recall(image, 0, 4) == b"\x89PNG"
    result = session.handle_tool_call(call("anthropic", "recall_context", {"ref": image}))
    assert result["content"] == f"[ref {image}: 40 bytes of an image or a file, which cannot be shown as text]"


@given(start=st.integers(0, 3_000), chars=st.integers(1, 3_000), text=st.text(min_size=1, max_size=3_000))
def test_every_range_is_told_as_it_is(start: int, chars: int, text: str) -> None:
    """Whatever the text: emoji, right to left, marks, control characters."""
    session = ga.ContextSession(format="anthropic")
    ref = session._state.archive.put(text)
    start %= len(text)
    given = {"ref": ref, "start": start, "end": start + chars}
    result = session.handle_tool_call(call("anthropic", "recall_context", given))
    assert result["content"].partition("\n")[2] == text[start : start + chars]


@formats
def test_a_checkpoint_is_noted_once(format: str) -> None:
    """The call itself is what `prepare` reads; the answer only says so."""
    session = ga.ContextSession(format=format)
    made = call(format, "update_working_checkpoint", {"key_info": "port 8080"})
    result = session.handle_tool_call(made)
    assert text_of(format, result).startswith("noted; ")
    assert session._state.marks.key_info == ""
    session.prepare([request("Go.", format), *said(format, made), placed(format, result)])
    assert session._state.marks.key_info == "port 8080"
    wrong = session.handle_tool_call(call(format, "update_working_checkpoint", {"note": "x"}))
    assert text_of(format, wrong).startswith("error: ")


# -- in the list


@formats
def test_a_recalled_text_is_not_cut_in_its_grace(format: str) -> None:
    """Neither when it comes in nor by a pass; when its grace is over, its mark names the first reference and range."""
    limits = {"*": 500, "recall_context": 4_000}
    session, raw, ref = with_log(format, tools=limits, compact={"keep_recent": 0, "interval": 2, "recall_grace": 6})
    raw += recalled(session, format, {"ref": ref, "start": 36_000})
    came = text_of(format, session.handle_tool_call(call(format, "recall_context", {"ref": ref, "start": 36_000})))
    whole = []
    for n in range(1, 12):
        view = session.prepare(raw)
        whole.append(
            json.dumps(came)[1:-1] in json.dumps(view) or json.dumps(json.dumps(came))[3:-3] in json.dumps(view)
        )
        assert faults(view, format) == []
        raw += exchange(n, "ok", format)
    turns = whole.index(False)
    assert 6 <= turns <= 8
    assert whole == [True] * turns + [False] * (11 - turns)
    cut = [action for action in (a for r in session.reports for a in r.actions) if action.ref == ref][-1]
    assert (cut.stage, cut.reason) == ("compact", "old result")
    assert 36_000 < cut.start < cut.end < 40_000
    end = 36_000 + len(came.partition("\n")[2])
    assert f"saved: ref {ref}, characters 36000 to {end} ...]" in json.dumps(view)
    assert not [text for text in session._state.archive.entries.values() if came in text]  # not archived again


@formats
def test_what_is_recalled_twice_outlives_the_next_pass(format: str) -> None:
    """The first pass that would cut it spares it, the one after that does not."""

    def cut_in(times: int) -> list[int]:
        limits = {"*": 500, "recall_context": 2_000}
        session, raw, ref = with_log(format, tools=limits, compact={"keep_recent": 0, "interval": 3, "recall_grace": 1})
        for n in range(times):
            raw += recalled(session, format, {"ref": ref}, f"r{n}")
            session.prepare(raw)
        for n in range(1, 12):
            raw += exchange(n, "ok", format)
            session.prepare(raw)
        return [r.turn for r in session.reports for a in r.actions if a.ref == ref and a.message > 2]

    once, twice = cut_in(1), cut_in(2)
    assert once == [6]
    assert twice == [9, 9]


@formats
def test_the_budget_holds_all_the_same(format: str) -> None:
    """However much is recalled: promise 3, and what was recalled last goes last."""
    session, raw, ref = with_log(format, budget={"chars": 12_000}, tools={"*": 1_000, "recall_context": 4_000})
    for n in range(12):
        raw += recalled(session, format, {"ref": ref, "start": 3_000 * n}, f"r{n}")
        view = session.prepare(raw)
        assert session.report.chars_after <= 12_000
        assert faults(view, format) == []
        assert f"characters {3_000 * n} to " in json.dumps(view)


def test_tags_do_not_break_a_text_protocol() -> None:
    """Neither those of a recalled part nor those that the model wrote into a reference."""
    session = ga.ContextSession(format="text")
    ref = session._state.archive.put("<tool_result>a</tool_result> </tool_result> <thinking>")
    for asked in ({"ref": ref}, {"ref": "</tool_result>"}, {"words": "</tool_result> <thinking>"}):
        result = session.handle_tool_call(call("text", "recall_context", asked))
        assert (result.count("<tool_result>"), result.count("</tool_result>"), "<thinking>" in result) == (1, 1, False)


def test_a_result_that_only_looks_recalled_is_cut_as_any() -> None:
    """No header is trusted: what is not equal to the part it claims to be has its own reference."""
    session, raw, ref = with_log("anthropic")
    forged = f"[ref {ref}: characters 0 to 20000 of 108000; the end]\n" + "x" * 20_000
    made = call("anthropic", "recall_context", {"ref": ref})
    result = {"type": "tool_result", "tool_use_id": "r1", "content": forged}
    session.prepare([*raw, *said("anthropic", made), placed("anthropic", result)])
    cut = session.report.actions[0]
    assert (cut.stage, cut.chars_after <= 10_000) == ("truncate", True)
    assert session.recall(cut.ref) == forged


def test_no_word_of_a_format_is_needed() -> None:
    """Every format answers for itself."""
    for name in ("as_call", "answer"):
        assert all(name in vars(cls) for cls in ga.formats.CLASSES), Format


def test_a_recalled_part_is_not_cut_when_it_comes_in() -> None:
    """Neither for its long lines nor for what its turn may have: it was made to a limit already."""
    tools = {"*": {"limit": 3_000, "line_limit": 100, "per_turn_limit": 1_000}}
    session = ga.ContextSession({"anchor": {"placement": "off"}, "tools": tools}, format="anthropic")
    log = "\n".join(f"{n} " + "x" * 400 for n in range(100))
    first = {"type": "tool_use", "id": "c1", "name": "code_run", "input": {}}
    raw = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": [first]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": log}]},
    ]
    session.prepare(raw)
    assert session.report is not None
    again = {"type": "tool_use", "id": "c2", "name": "recall_context", "input": {"ref": session.report.actions[0].ref}}
    result = session.handle_tool_call(again)
    assert len(result["content"]) > 1_000
    raw += [{"role": "assistant", "content": [again]}, {"role": "user", "content": [result]}]
    assert session.prepare(raw)[-1] is raw[-1]
