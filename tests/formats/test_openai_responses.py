"""OpenAI Responses: what each item is, how a new text goes back, and a response as a run of items."""

import json
import re

import pytest
from oracle import faults

from ga_context import ContextSession, InvalidMessages
from ga_context.formats import make
from ga_context.payload.charge import Charges
from ga_context.text.window import Cut

FMT = make("openai-responses", Charges())
PLAIN = {"anchor": {"placement": "off"}}
ASK = {"role": "user", "content": "Go."}
IMAGE = {"type": "input_image", "image_url": "data:image/png;base64," + "A" * 999, "detail": "low"}
LINK = {"type": "input_image", "image_url": "https://example.com/a.png"}
SOUND = {"type": "input_audio", "input_audio": {"data": "B" * 999, "format": "wav"}}
FILE = {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64," + "C" * 999}
SHOT = {"type": "computer_screenshot", "image_url": "data:image/png;base64," + "D" * 999}
CUSTOM = {"type": "custom_tool_call", "call_id": "c2", "name": "patch", "input": "*** free text"}
SEARCH = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "a"}}


def call(call_id="c1", arguments="{}", **keys):
    """Return a function call."""
    return {"type": "function_call", "call_id": call_id, "name": "code_run", "arguments": arguments, **keys}


def output(call_id="c1", text="done"):
    """Return the result of a function call."""
    return {"type": "function_call_output", "call_id": call_id, "output": text}


def thought(n=1, **keys):
    """Return a reasoning item that the provider knows again."""
    return {"type": "reasoning", "id": f"rs_{n}", "summary": [], "encrypted_content": f"gAAA{n}", **keys}


def said(text="Well.", n=1):
    """Return a message of the model."""
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": f"msg_{n}", "role": "assistant", "status": "completed", "content": content}


def block_of(item):
    """Return the one block of an item as the format reads it."""
    (block,) = FMT.read(0, item, 0).blocks
    return block


def cut(item, path, text):
    """Return what is sent of an item with a text in the place of another."""
    return FMT.render(block_of(item), cuts=((path, Cut((text,), 0)),)).wire


def prepared(*items, **config):
    """Return the view of a list of items, and the report."""
    session = ContextSession(PLAIN | config, format="openai-responses")
    view = session.prepare(list(items))
    assert faults(view, "openai-responses") == []
    return view, session.report


@pytest.mark.parametrize(
    ("item", "side", "kinds"),
    [
        (ASK, "user", ["text"]),
        ({"type": "message", "role": "developer", "content": "Rule."}, "system", ["text"]),
        (
            {"role": "user", "content": [{"type": "input_text", "text": "a"}, IMAGE, FILE]},
            "user",
            ["text", *["payload"] * 2],
        ),
        ({"role": "user", "content": [LINK, SOUND, {"type": "future_part"}]}, "user", ["payload", "payload", "other"]),
        (said(), "assistant", ["text"]),
        ({"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}, "assistant", ["other"]),
        (call(), "assistant", ["call"]),
        (CUSTOM, "assistant", ["call"]),
        ({"type": "shell_call", "call_id": "c1", "action": {"commands": ["ls"]}}, "assistant", ["call"]),
        ({"type": "computer_call", "id": "cu_1", "call_id": "c1", "action": {}}, "assistant", ["call"]),
        ({"type": "mcp_approval_request", "id": "mcpr_1", "name": "a", "arguments": "{}"}, "assistant", ["call"]),
        (output(), "tool", ["result"]),
        ({"type": "custom_tool_call_output", "call_id": "c2", "output": "x"}, "tool", ["result"]),
        ({"type": "local_shell_call_output", "id": "c1", "output": "x"}, "tool", ["result"]),
        ({"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True}, "tool", ["result"]),
        (thought(), "assistant", ["reasoning"]),
        (SEARCH, "assistant", ["other"]),
        ({"type": "tool_search_call", "execution": "server", "call_id": None, "arguments": {}}, "assistant", ["other"]),
        ({"type": "tool_search_output", "execution": "server", "call_id": None, "tools": []}, "assistant", ["other"]),
        ({"type": "item_reference", "id": "msg_1"}, "assistant", ["other"]),
        ({"id": "msg_1"}, "assistant", ["other"]),
        ({"type": "compaction", "encrypted_content": "gAAA"}, "assistant", ["other"]),
        ({"type": "program_output", "id": "po_1", "call_id": "c9", "result": "1"}, "assistant", ["other"]),
        ({"type": "additional_tools", "role": "developer", "tools": []}, "system", ["other"]),
        ({"type": "future_item", "a": 1}, "assistant", ["other"]),
    ],
)
def test_what_an_item_is(item, side, kinds):
    """Who speaks, and what stands in it."""
    read = FMT.read(0, item, 0)
    assert (read.side, [block.kind for block in read.blocks]) == (side, kinds)
    assert read.raw is item


def test_texts_of_a_call():
    """The string leaves of its arguments; a custom tool's free text; nothing of calls of other types."""
    assert FMT.texts(block_of(call(arguments='{"a": "x", "n": [1, "y"]}')), -1) == [(("a",), "x"), (("n", 1), "y")]
    assert FMT.texts(block_of(CUSTOM)) == [((), "*** free text")]
    assert FMT.texts(block_of({"type": "shell_call", "call_id": "c1", "action": {"commands": ["ls"]}})) == []


def test_new_arguments_are_valid_json():
    """Ids, order and other keys stay; quotes are escaped."""
    item = call(arguments='{"a": "x", "n": [1, "y"]}', id="fc_1", status="completed", x_key=1)
    wire = cut(item, ("a",), 'say "é"\n')
    assert json.loads(wire["arguments"]) == {"a": 'say "é"\n', "n": [1, "y"]}
    assert list(wire) == list(item)
    assert {**wire, "arguments": ""} == {**item, "arguments": ""}
    assert cut(CUSTOM, (), "new") == {**CUSTOM, "input": "new"}


def test_a_new_text_of_a_result():
    """A string, or one part where there were several; what a shell printed stays where it was."""
    assert cut(output(text="x"), (), "new") == output(text="new")
    parts = [{"type": "input_text", "text": "a"}, IMAGE, {"type": "input_text", "text": "b"}]
    assert FMT.texts(block_of(output(text=parts))) == [((), "a\nb")]
    assert cut(output(text=parts), (), "new") == output(text=[{"type": "input_text", "text": "new"}, IMAGE])
    note = {"type": "input_text", "text": "[gone]"}
    assert cut(output(text=parts), ("output", 1), "[gone]") == output(text=[parts[0], note, parts[2]])
    printed = {"type": "shell_call_output", "call_id": "c1", "output": [{"stdout": "a", "stderr": "b", "outcome": {}}]}
    assert FMT.texts(block_of(printed)) == [(("output", 0, "stdout"), "a"), (("output", 0, "stderr"), "b")]
    new = cut(printed, ("output", 0, "stdout"), "new")
    assert new == {**printed, "output": [{"stdout": "new", "stderr": "b", "outcome": {}}]}


@pytest.mark.parametrize(("part", "kind"), [(IMAGE, "image"), (SOUND, "audio"), (FILE, "document")])
def test_a_payload_becomes_a_text(part, kind):
    """And is charged, not counted."""
    message = {"role": "user", "content": [part]}
    assert FMT.payloads(block_of(message))[0][1] == kind
    assert cut(message, (), "[gone]") == {"type": "input_text", "text": "[gone]"}
    payload = next(text for text in (*part.values(), *part.get("input_audio", {}).values()) if len(text) > 99)
    assert FMT.read(0, message, 0).size == len(json.dumps(message)) - len(payload) + 4_800


@pytest.mark.parametrize(
    ("item", "payload"),
    [
        (output(text=[IMAGE]), IMAGE["image_url"]),
        ({"type": "computer_call_output", "call_id": "c1", "output": SHOT}, SHOT["image_url"]),
        ({"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": "E" * 999}, "E" * 999),
    ],
)
def test_a_payload_in_an_item_is_charged(item, payload):
    """Wherever it stands."""
    assert FMT.read(0, item, 0).size == len(json.dumps(item)) - len(payload) + 4_800


@pytest.mark.parametrize(
    "item",
    [
        ASK,
        {"type": "message", "role": "user", "content": 'quotes " and \\ and \n and é', "x_key": {"b": 1, "a": 2}},
        said("x" * 900),
        call(arguments='{"a": "é\\n"}'),
        output(text="é" * 900),
        output(text=[{"type": "input_text", "text": "a" * 99}]),
        thought(summary=[{"type": "summary_text", "text": "so"}]),
        SEARCH,
        {"id": "msg_1"},
    ],
)
def test_size_is_the_length_as_json(item):
    """Of a message its parts are measured, of any other item the whole."""
    assert FMT.read(0, item, 0).size == len(json.dumps(item, ensure_ascii=False))


def test_what_only_passes_through():
    """Server tools, references, compactions, unknown items and keys, phases: the same objects."""
    raw = [
        {"role": "developer", "content": "Rule."},
        {"type": "compaction", "encrypted_content": "gAAA"},
        {"role": "user", "content": [LINK]},
        thought(),
        SEARCH,
        {**said(), "phase": "commentary", "x_key": {"b": 1, "a": 2}},
        ASK,
        {"type": "item_reference", "id": "msg_9"},
        {"type": "mcp_call", "id": "mcp_1", "server_label": "a", "name": "b", "arguments": "{}", "output": "x"},
        {"type": "future_item", "a": 1},
        ASK,
    ]
    view, report = prepared(*raw)
    assert [a is b for a, b in zip(view, raw, strict=True)] == [True] * 11
    assert report.actions == []


# -- a response is a run of items


def test_interleaved_calls_and_results_stay_in_their_order():
    """Each result is after its call; so are those of parallel calls, in any order, and of calls of several types."""
    raw = [ASK, thought(), call("a"), output("a"), call("b"), output("b"), said()]
    assert prepared(*raw)[0] == raw
    shell = {"type": "shell_call", "call_id": "s", "action": {"commands": ["ls"]}}
    printed = {"type": "shell_call_output", "call_id": "s", "output": []}
    raw = [ASK, thought(), said(), call("a"), CUSTOM, shell, printed, output("a")]
    raw += [{"type": "custom_tool_call_output", "call_id": "c2", "output": "x"}, ASK]
    assert prepared(*raw)[0] == raw


def test_every_unanswered_call_of_a_response_gets_a_placeholder():
    """Behind the run and what answers it; the calls of the newest response are left and reported."""
    view, report = prepared(ASK, thought(), call("a"), call("b"), output("b"), ASK)
    assert [item.get("call_id") for item in view] == [None, None, "a", "b", "b", "a", None]
    assert view[5] == output("a", "[no result: this call was never answered]")
    assert report.pending == []
    raw = [ASK, call("a"), said(), call("b")]
    view, report = prepared(*raw)
    assert (view, report.pending) == (raw, ["a", "b"])


@pytest.mark.parametrize(
    ("called", "expected"),
    [
        (CUSTOM, {"type": "custom_tool_call_output", "call_id": "c2", "output": "lost"}),
        (
            {"type": "shell_call", "call_id": "c1", "action": {"commands": ["ls"]}},
            {
                "type": "shell_call_output",
                "call_id": "c1",
                "output": [{"stdout": "", "stderr": "lost", "outcome": {"type": "exit", "exit_code": 1}}],
            },
        ),
        (
            {"type": "apply_patch_call", "call_id": "c1", "operation": {}, "status": "completed"},
            {"type": "apply_patch_call_output", "call_id": "c1", "status": "failed", "output": "lost"},
        ),
        (
            {"type": "local_shell_call", "id": "ls_1", "call_id": "c1", "action": {}, "status": "completed"},
            {"type": "local_shell_call_output", "id": "c1", "output": "lost"},
        ),
        (
            {"type": "mcp_approval_request", "id": "mcpr_1", "name": "a", "arguments": "{}", "server_label": "s"},
            {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": False, "reason": "lost"},
        ),
        (
            {"type": "tool_search_call", "call_id": "c1", "execution": "client", "arguments": {}},
            {
                "type": "tool_search_output",
                "call_id": "c1",
                "execution": "client",
                "status": "completed",
                "tools": [],
            },
        ),
    ],
)
def test_a_placeholder_is_of_the_type_that_the_call_waits_for(called, expected):
    """With the id where that type has it."""
    item, block = FMT.result(block_of(called), "lost")
    assert item == expected
    assert block_of(item).id == block.id == block_of(called).id


def test_an_orphan_result_is_told_as_text():
    """A user's message; an image is named."""
    view, _ = prepared(output("gone", [{"type": "input_text", "text": "42"}, IMAGE]), ASK)
    assert view[1:] == [ASK]
    assert re.fullmatch(r"result of a tool call: 42\n\[image omitted; saved: ref \w{16}\]", view[0]["content"])


def test_a_result_may_answer_a_call_that_is_only_referred_to():
    """What stands on the server is not seen: behind a reference a result stays as it is, and goes with it."""
    raw = [ASK, {"type": "item_reference", "id": "rs_1"}, {"id": "fc_1"}, output("a", "x" * 300), ASK]
    assert prepared(*raw)[0] == raw
    rounds = raw[1:4] * 20
    view, report = prepared(ASK, *rounds, budget={"chars": 4_000})
    assert report.evicted is not None
    assert view == [ASK, *rounds[report.evicted[1] :]]


def test_a_result_that_comes_late_goes_behind_its_response():
    """Also where it answers the first of several calls."""
    view, _ = prepared(ASK, thought(), call("a"), call("b"), output("b"), ASK, output("a"), said())
    assert [item.get("call_id") for item in view] == [None, None, "a", "b", "b", "a", None, None]


def test_ids_come_again_in_later_responses_but_not_in_one():
    """The second use in one response gets a suffix, its result too."""
    raw = [ASK, call("a"), output("a", "1"), call("a"), output("a", "2")]
    assert prepared(*raw)[0] == raw
    view, _ = prepared(ASK, call("a"), said(), call("a"), output("a", "1"), output("a", "2"))
    assert [item["call_id"] for item in view if "call_id" in item] == ["a", "a_2", "a", "a_2"]
    assert [item["output"] for item in view if "output" in item] == ["1", "2"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [("not json", '{"_raw": "not json"}'), ("", "{}"), ("[1]", '{"_raw": "[1]"}'), ({"a": 1}, '{"a": 1}')],
)
def test_arguments_that_are_no_object(given, expected):
    """They become one; a custom tool's free text stays."""
    view, _ = prepared(ASK, call("a", given, id="fc_1"), CUSTOM)
    assert view[1:] == [call("a", expected, id="fc_1"), CUSTOM]


@pytest.mark.parametrize(("given", "expected"), [(None, ""), ({"temp": 3}, '{"temp": 3}'), (5, "5"), ([], [])])
def test_an_output_that_is_neither_text_nor_parts(given, expected):
    """It is sent as JSON text."""
    assert prepared(ASK, call("a"), output("a", given), ASK)[0][2] == output("a", expected)


@pytest.mark.parametrize("content", [{"content": ""}, {"content": []}, {"content": None}, {}])
def test_an_empty_message_of_the_model_is_left_out(content):
    """And with it the reasoning that nothing follows any more."""
    view, report = prepared(ASK, thought(1), thought(2), {"role": "assistant", **content}, ASK)
    assert view == [ASK, ASK]
    assert [action.message for action in report.repairs] == [3, 2, 1]


def test_reasoning_at_the_end_waits_for_what_follows():
    """Item by item: it is sent with the item that follows it, or not at all."""
    session = ContextSession(PLAIN, format="openai-responses")
    raw = [ASK, thought(1), thought(2), call("a"), output("a"), thought(3), ASK]
    views = [session.prepare(raw[:end]) for end in range(1, 8)]
    assert [len(view) for view in views] == [1, 1, 1, 4, 5, 5, 6]
    assert views[3] == raw[:4]
    assert views[6] == [*raw[:5], ASK]
    assert [report.break_cause for report in session.reports] == [None] * 7


# -- what stays together


def test_old_arguments_and_results_are_cut_and_reasoning_is_not():
    """A pass leaves reasoning that the provider knows as it is, and cuts what only says it was reasoning."""
    long = json.dumps({"path": "a.py", "text": "w" * 3_000})
    loose = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "s" * 3_000}]}
    signed = thought(summary=[{"type": "summary_text", "text": "s" * 3_000}])
    newer = [item for n in range(6) for item in (call(f"n{n}"), output(f"n{n}"))]
    raw = [ASK, signed, call("a", long, id="fc_1"), output("a", "o" * 3_000), loose, said(), ASK, *newer]
    view, report = prepared(*raw)
    assert report.compacted
    assert view[1] is signed
    assert json.loads(view[2]["arguments"])["path"] == "a.py"
    assert 700 < len(json.loads(view[2]["arguments"])["text"]) <= 800
    assert {**view[2], "arguments": long} == raw[2]
    assert [len(view[3]["output"]), len(view[4]["summary"][0]["text"])] == [800, 800]


def test_a_response_is_evicted_whole():
    """Reasoning, words, calls of the caller's and of the server's, and all results."""
    rounds = []
    for n in range(40):
        rounds += [thought(n), SEARCH, said("w" * 200, n), call(f"a{n}"), call(f"b{n}")]
        rounds += [output(f"a{n}", "o" * 200), output(f"b{n}", "o" * 200)]
    view, report = prepared(ASK, *rounds, budget={"chars": 20_000})
    first, last = report.evicted
    assert (first, last % 7) == (1, 0)
    assert view == [ASK, *rounds[last:]]


def test_the_response_that_ends_the_list_is_not_torn():
    """More of it may come: it stays over the budget, and its older neighbours go."""
    session = ContextSession(PLAIN | {"budget": {"chars": 2_000, "on_exceeded": "report"}}, format="openai-responses")
    raw = [ASK, said("w" * 900, 0), {"role": "user", "content": "And?"}, thought(1), said("w" * 3_000, 1), call("a")]
    session.prepare(raw[:5])
    view = session.prepare(raw)
    assert [item.get("id") for item in view[-3:]] == ["rs_1", "msg_1", None]
    assert faults(view, "openai-responses") == []


def test_parallel_calls_share_a_limit():
    """``per_turn_limit`` counts the calls of the whole response."""
    tools = {"*": {"limit": 5_000, "per_turn_limit": 3_000}}
    items = [thought(), call("a"), call("b"), call("c"), *[output(id, "word " * 2_000) for id in "abc"]]
    view, _ = prepared(ASK, *items, tools=tools)
    assert [900 < len(item["output"]) <= 1_000 for item in view[5:]] == [True] * 3


def test_an_anchor_is_one_message_more():
    """A user's, at the end of the list; each run is a turn, whatever it holds."""
    raw = [ASK, thought(), said("I look."), call("a", '{"path": "a.py"}'), output("a"), CUSTOM]
    raw.append({"type": "custom_tool_call_output", "call_id": "c2", "output": "x"})
    view = ContextSession(format="openai-responses").prepare(raw)
    assert view[:-1] == raw
    lines = "[user] Go.\n[1] | code_run a.py\n[2] | patch *** free text"
    assert f"<history>\n{lines}\n</history>\nCurrent turn: 3" in view[-1]["content"]


# -- what is refused


@pytest.mark.parametrize(
    ("item", "key", "words"),
    [
        ({"role": "tool", "content": "x"}, "role", "or items with a `type`"),
        ({"type": "message", "content": "x"}, "role", "None"),
        ({"type": 5, "role": "user", "content": "x"}, "type", "must be a string; got 5"),
        ({"role": "user", "content": 5}, "content", "got int"),
        ({"role": "user", "content": ["x"]}, "content[0]", "a dict with a `type`"),
        ({"type": "function_call", "name": "a", "arguments": "{}"}, "call_id", "must be a string; got None"),
        ({"type": "function_call", "call_id": "a", "arguments": "{}"}, "name", "must be a string; got None"),
        ({"previous_response_id": "resp_1"}, "previous_response_id", "pass the whole list of items"),
        ({"id": "x", "conversation": {"id": "conv_1"}}, "conversation", "history that the server holds"),
        ({"id": "resp_1", "object": "response", "output": []}, None, "pass the items of its `output`"),
    ],
)
def test_what_no_repair_covers(item, key, words):
    """Index, key, and what to do."""
    with pytest.raises(InvalidMessages) as caught:
        ContextSession(format="openai-responses").prepare([ASK, item])
    assert (caught.value.index, caught.value.key) == (1, key)
    assert words in str(caught.value)
