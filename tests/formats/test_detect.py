"""Which wire format a list is in, from what only one of them has; undecided lists are read as Chat Completions."""

import pytest

from ga_context import ConfigError, ContextSession
from ga_context.formats import detect, make
from ga_context.payload.charge import Charges

ASK = {"role": "user", "content": "Go."}
YES = {"role": "assistant", "content": "Yes."}
USE = {"type": "tool_use", "id": "c1", "name": "code_run", "input": {}}
CALL = {"id": "c1", "type": "function", "function": {"name": "code_run", "arguments": "{}"}}


@pytest.mark.parametrize(
    ("message", "format"),
    [
        (ASK, None),
        (YES, None),
        ({"role": "system", "content": "Rule."}, None),
        ({"role": "user", "content": [{"type": "text", "text": "Go."}]}, None),
        ({"role": "assistant", "content": [USE]}, "anthropic"),
        ({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1"}]}, "anthropic"),
        ({"role": "assistant", "content": [{"type": "thinking", "thinking": "x", "signature": "y"}]}, "anthropic"),
        ({"role": "assistant", "content": [{"type": "redacted_thinking", "data": "x"}]}, "anthropic"),
        ({"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "u"}}]}, "anthropic"),
        ({"role": "assistant", "content": [{"type": "server_tool_use", "id": "s", "name": "a"}]}, "anthropic"),
        ({"role": "user", "content": [{"text": "Go."}]}, "bedrock"),
        ({"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": []}}]}, "bedrock"),
        ({"role": "assistant", "content": [{"toolUse": {"toolUseId": "c1", "name": "a", "input": {}}}]}, "bedrock"),
        ({"role": "assistant", "content": [{"reasoningContent": {"redactedContent": b"x"}}]}, "bedrock"),
        ({"role": "user", "content": [{"cachePoint": {"type": "default"}}]}, "bedrock"),
        ({"role": "user", "content": [{"futureBlock": {"text": "Go."}}]}, "bedrock"),
        ({"role": "user", "content": [{"future": 1}, {"type": ["x"]}, "x", 7]}, None),
        ({"role": "assistant", "content": None, "tool_calls": [CALL]}, "openai-chat"),
        ({"role": "tool", "tool_call_id": "c1", "content": "x"}, "openai-chat"),
        ({"role": "developer", "content": "Rule."}, None),
        ({"role": "assistant", "content": "x", "reasoning_content": "y"}, "openai-chat"),
        ({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "u"}}]}, "openai-chat"),
        ({"role": "user", "content": [{"type": "input_text", "text": "Go."}]}, "openai-responses"),
        ({"role": "developer", "content": [{"type": "input_text", "text": "Rule."}]}, "openai-responses"),
        ({"type": "message", "role": "assistant", "content": [{"type": "output_text"}]}, "openai-responses"),
        ({"type": "message", "role": "user", "content": "Go."}, None),
        ({"type": "message", "role": "assistant", "content": [USE]}, "anthropic"),
        ({"type": "function_call", "call_id": "c1", "name": "a", "arguments": "{}"}, "openai-responses"),
        ({"type": "function_call_output", "call_id": "c1", "output": "x"}, "openai-responses"),
        ({"type": "reasoning", "id": "rs_1", "summary": []}, "openai-responses"),
        ({"type": "web_search_call", "id": "ws_1", "status": "completed"}, "openai-responses"),
        ({"previous_response_id": "resp_1"}, "openai-responses"),
        ({"role": "user", "parts": [{"text": "Go."}]}, "gemini"),
        ({"role": "model", "parts": []}, "gemini"),
        ({"role": "model"}, "gemini"),
        ({"role": "function", "parts": [{"functionResponse": {"name": "f", "response": {}}}]}, "gemini"),
        ({"parts": [{"inline_data": {"data": b"x", "mime_type": "image/png"}}]}, "gemini"),
        ({"role": "assistant", "parts": [{"type": "text", "text": "Yes."}]}, None),
        ({"role": "assistant", "content": "<tool_use>{}</tool_use>"}, "text"),
        ({"role": "assistant", "content": "So: <tool_call>{}</tool_call>"}, "text"),
        ({"role": "assistant", "content": "<think>so</think> <tool_result>x</tool_result>"}, None),
        ({"role": "user", "content": "<tool_use>{}</tool_use>"}, None),
        ({"role": "assistant", "content": "`<tool_use>` is closed by `</tool_use>`"}, None),
    ],
)
def test_one_message_can_decide(message, format):
    """A user's tag decides nothing, nor does one that is only talked about."""
    assert detect([ASK, message]) == format


def test_native_calls_outweigh_tags():
    """``text`` is chosen only where nothing native is there."""
    tagged = {"role": "assistant", "content": "<tool_use>{}</tool_use>"}
    assert detect([tagged, {"role": "assistant", "content": None, "tool_calls": [CALL]}]) == "openai-chat"
    assert detect([tagged, {"role": "assistant", "content": [USE]}]) == "anthropic"
    untyped = {"role": "user", "content": [{"futureBlock": {"text": "Go."}}]}
    assert detect([untyped, {"role": "assistant", "content": [USE]}]) == "anthropic"


def test_detection_is_repeated_until_decisive_and_then_fixed():
    """The session's ``format`` is None before."""
    session = ContextSession()
    assert (session.prepare([ASK]), session.format) == ([ASK], None)
    raw = [ASK, {"role": "assistant", "content": [USE]}]
    assert (session.prepare(raw), session.format) == (raw, "anthropic")
    session.prepare([*raw, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "x"}]}])
    assert session.format == "anthropic"


def test_the_list_so_far_is_read_again_when_the_format_is_known():
    """Two messages of the user become one only where they must."""
    session = ContextSession()
    assert session.prepare([ASK, ASK]) == [ASK, ASK]
    view = session.prepare([ASK, ASK, {"role": "assistant", "content": [USE]}])
    assert [message["role"] for message in view] == ["user", "assistant"]


def test_key_info_outlives_the_decision():
    """What was said to the session before the format was known holds."""
    session = ContextSession()
    session.update_key_info("port 8080")
    session.prepare([ASK])
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "x"}]}
    view = session.prepare([ASK, {"role": "assistant", "content": [USE]}, result])
    assert "<key_info>\nport 8080\n</key_info>" in view[-1]["content"][-1]["text"]


def test_a_given_format_is_not_questioned():
    """Tags are plain words in Chat Completions then."""
    raw = [ASK, {"role": "assistant", "content": "<tool_use>{}</tool_use>"}, {"role": "user", "content": "x" * 12_000}]
    session = ContextSession(format="openai-chat")
    assert session.format == "openai-chat"
    assert session.prepare(raw) == raw


@pytest.mark.parametrize("name", ["openai", "", "Anthropic"])
def test_an_unknown_format(name):
    """The known ones are listed."""
    with pytest.raises(ConfigError, match=r"'anthropic', 'openai-chat', .*'text'"):
        make(name or "?", Charges())
    with pytest.raises(ConfigError, match="must be one of"):
        ContextSession(format=name or "?")
