"""Objects of the three SDKs as messages and parts of them, and views against the SDKs' own request types."""

from __future__ import annotations

import collections.abc
import warnings
from collections.abc import Callable, Iterable
from typing import Any, get_args

import pytest
from histories import configs, histories
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter, ValidationError

import ga_context as ga

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # what the SDKs import is theirs to mend
    import anthropic.types as claude
    import openai.types.chat as chat
    import openai.types.responses as responses
    from google.genai import types as gemini

REQUEST_TYPES: dict[str, Any] = {
    "anthropic": claude.MessageParam,
    "openai-chat": chat.ChatCompletionMessageParam,
    "openai-responses": responses.ResponseInputItemParam,
    "gemini": gemini.Content,
}
ADAPTERS = {name: TypeAdapter(kind) for name, kind in REQUEST_TYPES.items()}
formats = pytest.mark.parametrize("format", REQUEST_TYPES)
Message = dict[str, Any]


def drained(value: Any) -> None:
    """Look at all of it: under an Iterable, pydantic checks an item when it is asked for."""
    if isinstance(value, dict):
        value = value.values()
    if isinstance(value, collections.abc.Iterable) and not isinstance(value, str | bytes | BaseModel):
        for item in value:
            drained(item)


def refused(messages: Iterable[Any], format: str) -> list[str]:
    """Return what the SDK's request type says against messages."""
    found = []
    for i, message in enumerate(messages):
        try:
            drained(ADAPTERS[format].validate_python(message))
        except ValidationError as error:
            found.append(f"{i}: {str(message)[-250:]} {error!s:.300}")
    return found


# What the SDKs hand out


def reply(*content: Message, **keys: Any) -> Any:
    """Return a reply of the Messages API."""
    usage = {"input_tokens": 9, "output_tokens": 5}
    around = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-5", "usage": usage}
    return claude.Message.model_validate({**around, "content": content, "stop_reason": "tool_use", **keys})


THOUGHT = {"type": "thinking", "thinking": "Look first.", "signature": "sig=="}
USE = {"type": "tool_use", "id": "c1", "name": "file_read", "input": {"path": "a.py", "lines": None}}
RESULT = {"type": "tool_result", "tool_use_id": "c1", "content": "x = 1"}


def claude_turn() -> tuple[list[Any], list[Message]]:
    """Return a call and its result as the SDK has them, and as they go out."""
    raw = [
        {"role": "user", "content": "Read a.py."},
        reply(THOUGHT, {"type": "text", "text": "Yes.", "citations": None}, USE),
        {"role": "user", "content": [RESULT]},
    ]
    said = [THOUGHT, {"type": "text", "text": "Yes."}, USE]
    return raw, [raw[0], {"role": "assistant", "content": said}, {"role": "user", "content": [RESULT]}]


def chat_turn() -> tuple[list[Any], list[Message]]:
    call = {"id": "c1", "type": "function", "function": {"name": "file_read", "arguments": '{"path": "a.py"}'}}
    given = {"role": "assistant", "content": None, "refusal": None, "annotations": [], "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": "c1", "content": "x = 1"}
    message = chat.ChatCompletionMessage.model_validate({**given, "reasoning_content": "Look first."})
    out = {"role": "assistant", "tool_calls": [call], "reasoning_content": "Look first."}
    return [{"role": "user", "content": "Read a.py."}, message, result], [
        {"role": "user", "content": "Read a.py."},
        out,
        result,
    ]


def responses_turn() -> tuple[list[Any], list[Message]]:
    call = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "file_read", "arguments": "{}"}
    thought = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Look."}]}
    part = {"type": "output_text", "text": "Yes.", "annotations": []}
    said = {"type": "message", "id": "m_1", "role": "assistant", "status": "completed", "content": [part]}
    ask, result = {"role": "user", "content": "Read."}, {"type": "function_call_output", "call_id": "c1", "output": "x"}
    items = [
        responses.ResponseReasoningItem.model_validate({**thought, "encrypted_content": None}),
        responses.ResponseOutputMessage.model_validate(said),
        responses.ResponseFunctionToolCall.model_validate({**call, "status": "completed", "async": True}),
    ]
    return [ask, *items, result], [ask, thought, said, {**call, "status": "completed", "async": True}, result]


def gemini_turn() -> tuple[list[Any], list[Message]]:
    pixel = gemini.Blob(data=b"\x89PNG", mime_type="image/png")
    ask = gemini.Content(role="user", parts=[gemini.Part(text="Read."), gemini.Part(inline_data=pixel)])
    call = gemini.FunctionCall(name="file_read", args={"path": "a.py", "lines": None}, id="c1")
    said = gemini.Content(role="model", parts=[gemini.Part(function_call=call, thought_signature=b"sig")])
    result = gemini.Part.from_function_response(name="file_read", response={"output": "x"})
    return [ask, said, {"role": "user", "parts": [result]}], [
        {"role": "user", "parts": [{"text": "Read."}, {"inlineData": {"data": b"\x89PNG", "mimeType": "image/png"}}]},
        {
            "role": "model",
            "parts": [
                {
                    "functionCall": {"name": "file_read", "args": {"path": "a.py", "lines": None}, "id": "c1"},
                    "thoughtSignature": b"sig",
                }
            ],
        },
        {"role": "user", "parts": [{"functionResponse": {"name": "file_read", "response": {"output": "x"}}}]},
    ]


TURNS: dict[str, Callable[[], tuple[list[Any], list[Message]]]] = {
    "anthropic": claude_turn,
    "openai-chat": chat_turn,
    "openai-responses": responses_turn,
    "gemini": gemini_turn,
}
QUIET = {"anchor": {"placement": "off"}}


@pytest.mark.parametrize("given_format", [True, False])
@formats
def test_objects_become_what_the_api_takes_back(format: str, given_format: bool) -> None:
    """Nothing is lost but what is None and what only a reply has; the format is found by itself."""
    raw, expected = TURNS[format]()
    session = ga.ContextSession(QUIET, format=format if given_format else None)
    view = session.prepare(raw)
    assert view == expected
    assert session.format == format
    assert refused(view, format) == []
    assert ga.size(raw) == ga.size(view)


@formats
def test_the_same_object_is_the_same_message(format: str) -> None:
    """Whether it comes again, was built anew, stands behind the view, or meets a session that was loaded."""
    raw, _ = TURNS[format]()
    session = ga.ContextSession(format=format, check_mutation=True)
    view = session.prepare(raw)
    for same in (raw, [m.model_copy(deep=True) if isinstance(m, BaseModel) else m for m in raw], view):
        again = session.prepare(same)
        assert all(a is b for a, b in zip(again, view, strict=True))
    assert len(session.reports) == 1
    loaded = ga.ContextSession.load(session.dump())
    more = TURNS[format]()[0][1:2]  # the model goes on, the SDK's object again
    longer = session.prepare([*view, *more])
    assert longer[: len(view)] == view
    assert loaded.prepare([*raw, *more]) == longer
    fresh = ga.ContextSession(format=format)
    fresh.prepare(raw)
    assert fresh.prepare([*raw, *more]) == longer
    assert session.report is not None
    assert session.report.break_cause is None


@formats
def test_a_changed_object_is_a_change_by_the_caller(format: str) -> None:
    raw, expected = TURNS[format]()
    session = ga.ContextSession(QUIET, format=format)
    session.prepare(raw)
    at = next(i for i, message in enumerate(raw) if isinstance(message, BaseModel))
    plain = expected[at]
    assert session.prepare([*raw[:at], plain, *raw[at + 1 :]]) == expected
    assert session.report is not None
    assert session.report.break_cause is None  # the dict that it is sent as says the same


def test_parts_within_dicts() -> None:
    """`content=reply.content` is how a loop goes on with the Messages API."""
    said = reply(THOUGHT, USE)
    raw = [
        {"role": "user", "content": "Read a.py."},
        {"role": "assistant", "content": said.content},
        {"role": "user", "content": [RESULT]},
    ]
    view = ga.ContextSession(QUIET).prepare(raw)
    assert view == [raw[0], {"role": "assistant", "content": [THOUGHT, USE]}, raw[2]]
    assert raw[1]["content"] is said.content
    assert isinstance(said.content[0], claude.ThinkingBlock)
    call = chat.ChatCompletionMessageFunctionToolCall.model_validate(
        {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    )
    asked = {"role": "assistant", "tool_calls": [call]}
    view = ga.ContextSession(QUIET).prepare([{"role": "user", "content": "Go."}, asked])
    body = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    assert view[1] == {"role": "assistant", "tool_calls": [body]}


def test_a_citation_shows_what_a_request_must() -> None:
    """The request type wants a title, null where there is none, and knows no id of a file."""
    cited = {
        "type": "char_location",
        "cited_text": "x",
        "document_index": 0,
        "start_char_index": 0,
        "end_char_index": 1,
    }
    block = {"type": "text", "text": "So.", "citations": [{**cited, "document_title": None, "file_id": "file_1"}]}
    view = ga.ContextSession(QUIET).prepare([{"role": "user", "content": "Say."}, reply(block)])
    assert view[1]["content"] == [{**block, "citations": [{**cited, "document_title": None}]}]
    assert refused(view, "anthropic") == []


def test_a_sound_is_named_by_its_id() -> None:
    audio = {"id": "audio_1", "data": "UklGRg==", "expires_at": 1, "transcript": "Hello."}
    said = chat.ChatCompletionMessage.model_validate({"role": "assistant", "content": None, "audio": audio})
    view = ga.ContextSession(QUIET, format="openai-chat").prepare([{"role": "user", "content": "Say."}, said])
    assert view[1] == {"role": "assistant", "audio": {"id": "audio_1"}}


def test_an_item_shows_what_a_request_must() -> None:
    """A generated image that failed has no result, and a request says so."""
    item = {"type": "image_generation_call", "id": "ig_1", "status": "failed", "result": None}
    drawn = TypeAdapter(responses.ResponseOutputItem).validate_python(item)
    raw = [{"role": "user", "content": "Draw."}, drawn, {"role": "user", "content": "Again."}]
    view = ga.ContextSession(QUIET, format="openai-responses").prepare(raw)
    assert view[1] == item
    assert refused(view, "openai-responses") == []


def test_what_the_sdk_holds_is_cut_and_had_back() -> None:
    """Budget, markers and recall are those of a dict; an eviction keeps the whole reply."""
    session = ga.ContextSession({"budget": {"chars": 4_000}, "compact": {"keep_recent": 0}}, format="anthropic")
    raw: list[Any] = [{"role": "user", "content": "Go."}]
    for n in range(8):
        use = {"type": "tool_use", "id": f"c{n}", "name": "code_run", "input": {"code": "x = 1\n" * 60}}
        raw.append(reply(use, id=f"msg_{n}"))
        raw.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"c{n}", "content": "o" * 400}]})
        session.prepare(raw)
    done = [action for report in session.reports for action in report.actions]
    gone = [action for action in done if action.stage == "evict" and action.last is not None]
    assert '"id": "msg_0"' in str(session.recall(gone[0].ref or ""))
    assert isinstance(raw[1], claude.Message)


def test_half_an_emoji_in_an_object() -> None:
    said = reply({"type": "text", "text": "half \ud800"})
    view = ga.ContextSession(QUIET, format="anthropic").prepare([{"role": "user", "content": "Go."}, said])
    assert view[1] == {"role": "assistant", "content": [{"type": "text", "text": "half \ufffd"}]}


def test_what_is_sent_beside_the_list() -> None:
    """`system` and `tools` count as the JSON of their plain data."""
    declared = gemini.FunctionDeclaration(name="f", description="d" * 500)
    tools, system = (
        [gemini.Tool(function_declarations=[declared])],
        gemini.Content(parts=[gemini.Part(text="Be kind.")]),
    )
    raw = [{"role": "user", "parts": [{"text": "Go."}]}]
    session, plain = ga.ContextSession(format="gemini"), ga.ContextSession(format="gemini")
    session.prepare(raw, system=system, tools=tools)
    body = [{"functionDeclarations": [{"name": "f", "description": "d" * 500}]}]
    plain.prepare(raw, system={"parts": [{"text": "Be kind."}]}, tools=body)
    assert session.report is not None
    assert plain.report is not None
    assert session.report.budget_chars == plain.report.budget_chars < ga.ContextConfig().budget_chars() - 500
    assert session.request()["tools"] is tools
    with pytest.raises(ga.ConfigError, match="`tools` cannot be written as JSON"):
        session.prepare(raw, tools=[print])


def test_what_is_no_message_is_refused_by_name() -> None:
    whole = gemini.GenerateContentResponse(candidates=[])
    with pytest.raises(ga.InvalidMessages, match=r"messages\[0\]"):
        ga.ContextSession(format="openai-chat").prepare([whole])
    items = iter([{"type": "text", "text": "x"}])
    with pytest.raises(ga.InvalidMessages, match=r"messages\[0\].content"):
        ga.ContextSession(format="anthropic").prepare([{"role": "user", "content": items}])


# The SDKs' own request types


def without_unknown(raw: list[Message]) -> list[Message]:
    """Leave out what passes through though no request type has it: what is to come, and what other servers send."""
    known = []
    for message in raw:
        kept = {
            key: [item for item in value if is_known(item)] if isinstance(value, list) else value
            for key, value in message.items()
        }
        if is_known(message):
            known.append(kept)
    return known


def is_known(item: Message) -> bool:
    kind = str(item.get("type"))
    unsigned = (kind == "thinking" and "signature" not in item) or (kind == "reasoning" and "id" not in item)
    nameless = kind == "message" and item.get("role") == "assistant" and "id" not in item
    return not (unsigned or nameless or kind == "input_audio" or kind.startswith("future_") or "futurePart" in item)


@formats
@settings(max_examples=15)
@given(data=st.data())
def test_views_parse_as_request_types(format: str, data: st.DataObject) -> None:
    """Whatever came in; and what the types accept never raises."""
    raw = without_unknown(data.draw(histories(format, max_turns=8)))
    session = ga.ContextSession(data.draw(configs()), format=format)
    try:
        view = session.prepare(raw)
    except ga.InvalidMessages:
        assert refused(raw, format)
        return
    assert refused(view, format) == []


JSON = st.recursive(st.none() | st.integers() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=2))


def listed(kind: Any) -> st.SearchStrategy[Any]:
    """Lists and tuples, where a type says Iterable: what can be read once or has no order is refused by name."""
    items = st.lists(st.from_type(get_args(kind)[0]) if get_args(kind) else JSON, max_size=3)
    return st.one_of(items, items.map(tuple))


st.register_type_strategy(collections.abc.Iterable, listed)
st.register_type_strategy(object, JSON)


@pytest.mark.parametrize("format", ["openai-chat", "openai-responses"])
@settings(max_examples=40)
@given(data=st.data())
def test_what_a_request_type_accepts_never_raises(format: str, data: st.DataObject) -> None:
    """Messages made from the type alone, by nobody who knows what a model would answer to them."""
    raw = data.draw(st.lists(st.from_type(REQUEST_TYPES[format]), min_size=1, max_size=4))
    view = ga.ContextSession({"budget": {"on_exceeded": "report"}}, format=format).prepare(raw)
    assert view
