"""Recorded sessions become the API messages that the provider saw."""

import gzip
import json
from pathlib import Path

import pytest

from ga_context.replay.readers import ReadError, Recording, find, read

USER = {"role": "user", "content": "List the files."}
REPLY = {"role": "assistant", "content": "a.txt"}


def write(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def recorded(tmp_path: Path, form: str, records: list[dict], **beside: object) -> Recording:
    return read(write(tmp_path / "session.json", {"format": form, "messages": records, **beside}))


# --- containers ---


def test_a_bare_list_is_read_as_it_is(tmp_path: Path) -> None:
    """The format stays open: the session detects it."""
    assert read(write(tmp_path / "a.json", [USER, REPLY])) == Recording("a", None, [USER, REPLY])


def test_an_object_with_messages_may_name_its_format(tmp_path: Path) -> None:
    assert recorded(tmp_path, "anthropic", [USER]).format == "anthropic"
    assert recorded(tmp_path, "openai-chat", [USER]).format == "openai-chat"
    assert recorded(tmp_path, "bedrock", [USER]).format == "bedrock"
    assert recorded(tmp_path, "text", [USER]).format == "text"


def test_jsonl_holds_a_message_a_line(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(f"{json.dumps(USER)}\n\n{json.dumps(REPLY)}\n", encoding="utf-8")
    assert read(path).messages == [USER, REPLY]


@pytest.mark.parametrize("value", [[USER, REPLY], {"messages": [USER, REPLY]}])
def test_jsonl_of_one_line_may_be_the_whole_recording(tmp_path: Path, value: object) -> None:
    assert read(write(tmp_path / "a.jsonl", value)).messages == [USER, REPLY]


def test_lines_in_a_json_file_are_read_too(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(f"{json.dumps(USER)}\n{json.dumps(REPLY)}\n", encoding="utf-8")
    assert read(path).messages == [USER, REPLY]


@pytest.mark.parametrize("name", ["b.json.gz", "b.jsonl.gz"])
def test_gzip_is_unpacked(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(json.dumps([USER]).encode()))
    assert read(path) == Recording("b", None, [USER])


def test_a_line_separator_inside_a_string_ends_no_line(tmp_path: Path) -> None:
    """U+2028 stands raw in JSON strings that were not escaped to ASCII."""
    message = {"role": "user", "content": "one\u2028two"}
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(message, ensure_ascii=False) + "\n" + json.dumps(REPLY), encoding="utf-8")
    assert read(path).messages == [message, REPLY]


def test_a_folder_is_its_recordings_by_name(tmp_path: Path) -> None:
    for name in ("c.jsonl", "a.json.gz", "b.json", "d.jsonl.gz", "notes.txt", "manifest.json"):
        (tmp_path / name).touch()
    assert [path.name for path in find(tmp_path)] == ["a.json.gz", "b.json", "c.jsonl", "d.jsonl.gz"]
    assert find(tmp_path / "notes.txt") == [tmp_path / "notes.txt"]


# --- what stands beside the list ---


def test_gemini_contents_are_read_as_they_are(tmp_path: Path) -> None:
    """With the name of their format, or by their parts."""
    contents = [{"role": "user", "parts": [{"text": "hi"}]}, {"role": "model", "parts": [{"text": "Hello."}]}]
    assert recorded(tmp_path, "gemini", contents) == Recording("session", "gemini", contents)
    assert read(write(tmp_path / "a.json", contents)) == Recording("a", "gemini", contents)


def test_gemini_cli_keeps_results_inside_the_reply(tmp_path: Path) -> None:
    """They become a content of their own; thoughts, which are only shown, and other records are left out."""
    part = {"functionResponse": {"id": "c1", "name": "ls", "response": {"output": "a.txt"}}}
    call = {"id": "c1", "name": "ls", "args": {"dir": "."}, "result": [part], "status": "success"}
    records = [
        {"type": "info", "content": "Welcome."},
        {"type": "user", "content": "List the files."},
        {"type": "gemini", "content": "", "toolCalls": [call], "thoughts": [{"subject": "s"}]},
        {"type": "gemini", "content": [{"text": "a.txt"}]},
    ]
    assert recorded(tmp_path, "gemini_cli", records).messages == [
        {"role": "user", "parts": [{"text": "List the files."}]},
        {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "ls", "args": {"dir": "."}}}]},
        {"role": "user", "parts": [part]},
        {"role": "model", "parts": [{"text": "a.txt"}]},
    ]


def test_system_and_tools_stay_beside_anthropic_messages(tmp_path: Path) -> None:
    tools = [{"name": "ls", "input_schema": {"type": "object"}}]
    recording = recorded(tmp_path, "anthropic", [USER], system="Be brief.", tools=tools)
    assert recording == Recording("session", "anthropic", [USER], "Be brief.", tools)


@pytest.mark.parametrize("form", ["openai-chat", "text"])
def test_system_goes_first_where_the_format_has_it_in_the_list(tmp_path: Path, form: str) -> None:
    system = {"role": "system", "content": "Be brief."}
    assert recorded(tmp_path, form, [USER], system="Be brief.").messages == [system, USER]
    assert recorded(tmp_path, form, [system, USER], system="Another.").messages == [system, USER]


# --- recorded forms ---


def claude_code(kind: str, content: object, **keys: object) -> dict:
    return {"type": kind, "uuid": "u1", "message": {"role": kind, "content": content}, **keys}


def test_claude_code_records_of_one_role_are_one_message(tmp_path: Path) -> None:
    """It writes a record for each block; side chains, summaries and made-up replies never reached the model."""
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s"}
    call = {"type": "tool_use", "id": "t1", "name": "ls", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "a.txt"}
    synthetic = {"role": "assistant", "model": "<synthetic>", "content": [{"type": "text", "text": "error"}]}
    records = [
        {"type": "summary", "summary": "an old session", "leafUuid": "x"},
        claude_code("user", "List the files."),
        claude_code("assistant", [thinking]),
        claude_code("assistant", [call]),
        claude_code("assistant", [{"type": "text", "text": "aside"}], isSidechain=True),
        claude_code("user", [result]),
        {"type": "assistant", "uuid": "u9", "message": synthetic},
    ]
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    expected = [
        {"role": "user", "content": [{"type": "text", "text": "List the files."}]},
        {"role": "assistant", "content": [thinking, call]},
        {"role": "user", "content": [result]},
    ]
    assert read(path) == Recording("log", "anthropic", expected)
    assert recorded(tmp_path, "claude_code_jsonl", records).messages == expected


def test_pi_results_become_blocks_of_a_user_message(tmp_path: Path) -> None:
    call = {"type": "toolCall", "id": "t1", "name": "ls", "arguments": {"path": "."}}
    image = {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}
    records = [
        {"type": "session", "cwd": "/work"},
        {"type": "message", "message": {"role": "user", "content": "List the files."}},
        {
            "type": "message",
            "message": {
                "role": "assistant",
                "content": [{"type": "thinking", "thinking": "hm", "thinkingSignature": "s"}, call],
            },
        },
        {
            "type": "message",
            "message": {
                "role": "toolResult",
                "toolCallId": "t1",
                "toolName": "ls",
                "content": [image],
                "isError": True,
            },
        },
        {"type": "message", "message": {"role": "bashExecution", "command": "ls", "output": "a.txt", "exitCode": 0}},
        {"type": "message", "message": {"role": "assistant", "content": [], "stopReason": "aborted"}},
    ]
    recording = read(write(tmp_path / "log.json", records))
    assert recording.format == "anthropic"
    source = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
    assert recording.messages == [
        {"role": "user", "content": [{"type": "text", "text": "List the files."}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "tool_use", "id": "t1", "name": "ls", "input": {"path": "."}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "t1",
                    "content": [{"type": "image", "source": source}],
                    "is_error": True,
                },
                {"type": "text", "text": "Ran `ls`\n```\na.txt\n```"},
            ],
        },
    ]


LS_CALL = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": '{"path": "."}'}}
LS_RESULT = {"role": "tool", "tool_call_id": "c1", "content": "a.txt"}
LS_CHAT = [USER, {"role": "assistant", "content": "", "tool_calls": [LS_CALL]}, LS_RESULT]


def test_langchain_messages_become_chat_messages(tmp_path: Path) -> None:
    records = [
        {"type": "human", "content": "List the files.", "id": "1"},
        {
            "type": "ai",
            "content": "",
            "additional_kwargs": {"reasoning_content": "hm"},
            "tool_calls": [{"name": "ls", "args": {"path": "."}, "id": "c1", "type": "tool_call"}],
        },
        {"type": "tool", "content": "a.txt", "tool_call_id": "c1", "name": "ls"},
    ]
    reply = {"role": "assistant", "content": "", "reasoning_content": "hm", "tool_calls": [LS_CALL]}
    expected = Recording("session", "openai-chat", [USER, reply, LS_RESULT])
    assert recorded(tmp_path, "langchain", records) == expected
    assert read(write(tmp_path / "session.json", records)) == expected


def test_tau2_keeps_the_agents_side(tmp_path: Path) -> None:
    """The simulated user has tools of its own, whose calls and results the model never saw."""
    call = {"id": "c1", "name": "ls", "arguments": {"path": "."}, "requestor": "assistant"}
    users = {"id": "u1", "name": "reboot", "arguments": {}, "requestor": "user"}
    records = [
        {"role": "user", "content": None, "tool_calls": [users]},
        {"role": "tool", "id": "u1", "content": "done", "requestor": "user"},
        {"role": "user", "content": "List the files.", "tool_calls": None, "turn_idx": 1},
        {"role": "assistant", "content": "", "tool_calls": [call], "cost": 0.1},
        {"role": "tool", "tool_messages": [{"role": "tool", "id": "c1", "content": "a.txt", "requestor": "assistant"}]},
    ]
    assert recorded(tmp_path, "tau2", records) == Recording("session", "openai-chat", LS_CHAT)


def test_inspect_calls_get_their_arguments_as_text(tmp_path: Path) -> None:
    records = [
        {"id": "m1", "role": "user", "content": "List the files.", "source": "input"},
        {
            "id": "m2",
            "role": "assistant",
            "content": [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "Sure."}],
            "tool_calls": [{"id": "c1", "function": "ls", "arguments": {"path": "."}}],
        },
        {"id": "m3", "role": "tool", "content": "", "tool_call_id": "c1", "error": {"message": "no such folder"}},
    ]
    reply = {
        "role": "assistant",
        "content": [{"type": "text", "text": "Sure."}],
        "reasoning_content": "hm",
        "tool_calls": [LS_CALL],
    }
    result = {"role": "tool", "tool_call_id": "c1", "content": "no such folder"}
    assert recorded(tmp_path, "inspect_chat", records).messages == [USER, reply, result]


def test_sweagent_with_tool_calls_is_a_chat(tmp_path: Path) -> None:
    records = [
        {**USER, "agent": "main"},
        {"role": "assistant", "content": "", "thought": "", "action": "ls", "tool_calls": [LS_CALL]},
        {"role": "tool", "content": "a.txt", "tool_call_ids": ["c1"], "message_type": "observation"},
    ]
    assert recorded(tmp_path, "sweagent", records) == Recording("session", "openai-chat", LS_CHAT)


def test_sweagent_without_tool_calls_is_text(tmp_path: Path) -> None:
    records = [{**USER, "agent": "main"}, {**REPLY, "thought": "", "action": "ls"}]
    assert recorded(tmp_path, "sweagent", records) == Recording("session", "text", [USER, REPLY])


@pytest.mark.parametrize("form", ["text_protocol", "roo_anthropic_text"])
def test_text_protocols_are_text_unless_they_hold_native_calls(tmp_path: Path, form: str) -> None:
    assert recorded(tmp_path, form, [USER, REPLY]) == Recording("session", "text", [USER, REPLY])
    assert recorded(tmp_path, form, LS_CHAT) == Recording("session", "openai-chat", LS_CHAT)


ITEMS = [
    USER,
    {"type": "function_call", "call_id": "c1", "name": "ls", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c1", "output": "a.py"},
]


def test_items_are_told_by_their_types(tmp_path: Path) -> None:
    """A list of items; or a Codex rollout, in which each is the payload of a record among others."""
    assert read(write(tmp_path / "session.json", ITEMS)) == Recording("session", "openai-responses", ITEMS)
    records = [{"type": "session_meta", "payload": {}}, *({"type": "response_item", "payload": item} for item in ITEMS)]
    assert read(write(tmp_path / "rollout.json", records)) == Recording("rollout", "openai-responses", ITEMS)
    assert recorded(tmp_path, "openai_responses", ITEMS) == Recording("session", "openai-responses", ITEMS)


def test_an_end_mark_of_mini_swe_agent_is_no_message(tmp_path: Path) -> None:
    records = [USER, REPLY, {"role": "exit", "content": "Submitted"}]
    assert recorded(tmp_path, "openai_chat", records).messages == [USER, REPLY]


# --- what cannot be read ---


def refusal(path: Path) -> str:
    with pytest.raises(ReadError) as caught:
        read(path)
    return str(caught.value).replace(f"{path.parent}/", "")


def test_broken_json_names_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('[\n  {"role": "user"},\n  oops\n]', encoding="utf-8")
    assert refusal(path) == "a.json, line 3: is not JSON: Expecting value"


def test_a_broken_line_is_named_by_its_number(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(USER) + "\n\n{oops\n", encoding="utf-8")
    assert refusal(path).startswith("a.jsonl, line 3: is not JSON: ")


def test_an_unknown_format_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    message = refusal(write(tmp_path / "a.json", {"format": "morse", "messages": [USER]}))
    assert message.startswith("a.json: says it is in the format 'morse', which is unknown; known are anthropic, ")


def test_records_that_belie_their_format_are_refused(tmp_path: Path) -> None:
    message = refusal(write(tmp_path / "a.json", {"format": "tau2", "messages": [{"content": "hi"}]}))
    assert message == "a.json: says it is in the format 'tau2', but does not look like it (KeyError: 'role')"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "a.json: holds no messages; expected a list of messages or an object with `messages`"),
        ({"data": []}, "a.json: holds no messages; expected a list of messages or an object with `messages`"),
        (7, "a.json: holds no messages; expected a list of messages or an object with `messages`"),
        ([{"id": "s1"}], "a.json: holds a list, but of no messages: none of them has a `role`"),
        ([USER, "hi"], "a.json: messages[1] is str; every message must be an object"),
        (
            {"format": "pi_jsonl", "messages": [{"type": "session"}]},
            "a.json: holds records of pi_jsonl, but no message among them",
        ),
    ],
)
def test_a_file_without_messages_is_refused(tmp_path: Path, value: object, message: str) -> None:
    assert refusal(write(tmp_path / "a.json", value)) == message


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"\xff\xfe[]")
    (tmp_path / "b.json.gz").write_bytes(gzip.compress(b"[]" * 99)[:20])
    (tmp_path / "c.json").write_text("[" * 100_000, encoding="utf-8")
    assert refusal(tmp_path / "a.json") == "a.json: is not UTF-8 text (byte 0)"
    assert refusal(tmp_path / "b.json.gz").startswith("b.json.gz: is not whole gzip data")
    assert refusal(tmp_path / "c.json") == "c.json: is nested too deeply to be read as JSON"
    assert refusal(tmp_path / "d.json") == "d.json: cannot be read: No such file or directory"


# --- the recorded sessions beside the project, where they are ---


def test_recorded_sessions_are_read(shared: Path) -> None:
    """Every one."""
    recordings = [read(path) for path in find(shared / "data" / "sessions" / "dev")]
    assert {recording.format for recording in recordings} == {
        "anthropic",
        "openai-chat",
        "openai-responses",
        "gemini",
        "text",
    }
    roles = {
        "anthropic": {"user", "assistant"},
        "openai-responses": {"developer", "user", "assistant", None},
        "gemini": {"user", "model"},
    }
    for recording in recordings:
        known = roles.get(recording.format, {"system", "user", "assistant", "tool"})
        assert {message.get("role") for message in recording.messages} <= known
