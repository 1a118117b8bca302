"""Stage 1: each new tool output is bounded by its tool's limit, its marker included, and nothing else is touched."""

import json
import re
from hashlib import sha256

import pytest
from histories import Call, Turn, write
from oracle import outputs

from ga_context import ContextConfig, ContextSession
from ga_context.config import ToolLimits
from ga_context.formats.anthropic import Anthropic
from ga_context.stages.truncate import cut_output

FORMATS = ["anthropic", "openai-chat", "openai-responses", "gemini", "bedrock", "text"]
ROWS = json.dumps({"path": "a/b.db", "rows": [{"id": n, "name": f"row {n}"} for n in range(900)], "ok": True})
ASK = Turn("user", ("Do it.",))
PLAIN = {"anchor": {"placement": "off"}}


def told(format, *outputs, tool="code_run"):
    """Return a history with one model message that calls the tool once for each output."""
    return write(format, [ASK, Turn("model", (), tuple(Call(tool, output=text, named=False) for text in outputs))])


@pytest.mark.parametrize("format", FORMATS)
def test_head_and_tail_stay_around_a_marker(format):
    """Half of what the marker leaves for each side; with the marker the result is within 10,000."""
    session = ContextSession(PLAIN, format=format)
    (text,) = outputs(session.prepare(told(format, "a" * 6000 + "z" * 6000)), format)
    ref = session.report.actions[0].ref
    assert text == "a" * 4967 + f"\n[... 2065 characters omitted; saved: ref {ref} ...]\n" + "z" * 4968
    assert len(text) <= 10_000


@pytest.mark.parametrize("format", FORMATS)
def test_the_original_comes_back_by_its_reference(format):
    """Byte for byte, and the action says what is gone of it."""
    session = ContextSession(PLAIN, format=format)
    session.prepare(told(format, "a" * 6000 + "é" * 6000))
    (action,) = session.report.actions
    original = session.recall(action.ref)
    assert "a" * 6000 + "é" * 6000 in original
    assert action.ref == sha256(original.encode()).hexdigest()[:16]
    assert (action.stage, action.message, action.end - action.start) == ("truncate", 2, 2065)


@pytest.mark.parametrize("format", FORMATS)
def test_a_text_of_the_limit_is_the_same_object(format):
    """Neither 10,000 characters nor less are ever cut."""
    raw = told(format, "x" * 10_000)
    view = ContextSession(PLAIN, format=format).prepare(raw)
    assert [a is b for a, b in zip(view, raw, strict=True)] == [True, True, True]


@pytest.mark.parametrize("format", FORMATS)
def test_what_the_user_says_is_not_cut(format):
    """Stage 1 is for tool outputs only."""
    raw = write(format, [Turn("user", ("x" * 50_000,))])
    view = ContextSession(PLAIN, format=format).prepare(raw)
    assert view[0] is raw[0]


@pytest.mark.parametrize(
    ("tool", "limit"),
    [("code_run", 10_000), ("web_execute_js", 8_000), ("web_scan", 10_000), ("file_read", 20_000), ("other", 10_000)],
)
@pytest.mark.parametrize("format", FORMATS)
def test_each_tool_has_its_limit(format, tool, limit):
    """The numbers of the report, Table 1."""
    session = ContextSession(ContextConfig.generic_agent(anchor={"placement": "off"}), format=format)
    text = "".join(f"line {n:05}\n" for n in range(6_000))
    (cut,) = outputs(session.prepare(told(format, text, tool=tool)), format)
    assert limit - 300 < len(cut) <= limit
    assert cut.startswith("line 00000\nline 00001\n")
    assert cut.endswith("line 05999\n")


@pytest.mark.parametrize("format", FORMATS)
def test_a_page_has_the_limit_of_pages(format):
    """HTML of web_scan: 35,000; of any other tool: its plain limit."""
    page = "<!doctype html><html><body>" + "<p>A paragraph.</p>\n" * 1_000 + "</body></html>"
    session = ContextSession(PLAIN, format=format)
    assert outputs(session.prepare(told(format, page, tool="web_scan")), format) == [page]
    (cut,) = outputs(ContextSession(PLAIN, format=format).prepare(told(format, page, tool="code_run")), format)
    assert len(cut) <= 10_000


SHOP = (
    "<!doctype html><title>Shop</title><script>" + "var x;" * 3_000 + "</script><main>"
    + "".join(f"<p>Paragraph {i} tells the story of it, in whole sentences.</p>" for i in range(900))
    + f"</main><footer><a href='https://host.example/{'x' * 80}'>Imprint</a></footer>"
)  # fmt: skip


@pytest.mark.parametrize("format", FORMATS)
def test_a_page_is_pruned(format):
    """By its subtrees, within the limit of pages; the page and the long addresses can be had back."""
    session = ContextSession(PLAIN, format=format)
    (out,) = outputs(session.prepare(told(format, SHOP, tool="web_scan")), format)
    assert len(out) <= 35_000
    assert out.startswith("<!doctype html><title>Shop</title><body>\nParagraph 0 tells")
    assert out.endswith("]</body>")
    page, addresses = re.findall("ref ([0-9a-f]{16})", out)
    assert SHOP in session.recall(page)
    assert session.recall(addresses) == f"@1 https://host.example/{'x' * 80}"
    (action,) = session.report.actions
    assert (action.stage, action.reason, action.ref) == ("truncate", "over the limit of web_scan", page)
    lost = [(one.path, one.reason) for one in action.lost]
    assert lost[0] == ("body>script", "script")
    assert {reason for _, reason in lost[1:]} == {"over the budget"}
    assert str(action).endswith(f", {len(lost)} subtrees: over the limit of web_scan ref {page}")
    original = session.recall(page)
    assert original[action.lost[0].start : action.lost[0].end].startswith("<script>var x;")


@pytest.mark.parametrize("format", FORMATS)
def test_a_pruned_page_is_pruned_once(format):
    """Fed back it stays as it is, in this session, in a fresh one, and in one loaded from a dump."""
    session, raw = ContextSession(PLAIN, format=format), told(format, SHOP, tool="web_scan")
    view = session.prepare(raw)
    assert session.prepare(view) == view
    assert ContextSession(PLAIN, format=format).prepare(view) == view
    assert ContextSession.load(session.dump()).prepare(raw) == view


def test_a_tool_handler_prunes_the_same():
    session = ContextSession(PLAIN, format="anthropic")
    (out,) = outputs(session.prepare(told("anthropic", SHOP, tool="web_scan")), "anthropic")
    other = ContextSession(PLAIN)
    assert other.tool_output("web_scan", SHOP) == out
    assert other.recall(re.findall("ref ([0-9a-f]{16})", out)[0]) == SHOP


def test_a_limit_too_small_for_a_page_cuts_it_as_a_text():
    """Below 200 characters there is no page."""
    session = ContextSession(PLAIN | {"tools": {"web_scan": {"html_limit": 150}}}, format="anthropic")
    (out,) = outputs(session.prepare(told("anthropic", SHOP, tool="web_scan")), "anthropic")
    assert len(out) <= 150
    assert "characters omitted" in out


@pytest.mark.parametrize("format", FORMATS)
def test_long_lines_of_a_file(format):
    """Of file_read each line has at most 1,280 characters, its mark included; short ones stay."""
    text = "first\n" + "a" * 3_000 + "z\nlast\n"
    session = ContextSession(PLAIN, format=format)
    (cut,) = outputs(session.prepare(told(format, text, tool="file_read")), format)
    lines = cut.split("\n")
    assert (lines[0], lines[2]) == ("first", "last")
    assert [len(line) <= 1_280 for line in lines] == [True] * len(lines)
    assert lines[1].startswith("a" * 600)
    assert lines[1].endswith("a" * 600 + "z")


@pytest.mark.parametrize("format", FORMATS)
def test_results_of_one_message_share_a_limit(format):
    """``per_turn_limit`` 6,000 over three calls: 2,000 each; alone, ``limit`` applies."""
    config = PLAIN | {"tools": {"code_run": {"limit": 5_000, "per_turn_limit": 6_000}}}
    three = outputs(ContextSession(config, format=format).prepare(told(format, *["word " * 2_000] * 3)), format)
    (alone,) = outputs(ContextSession(config, format=format).prepare(told(format, "word " * 2_000)), format)
    assert [1_900 < len(text) <= 2_000 for text in three] == [True] * 3
    assert 4_900 < len(alone) <= 5_000


@pytest.mark.parametrize("format", FORMATS)
def test_each_parallel_result_has_the_limit_of_its_own_tool(format):
    """The tool name comes through the call, by id or by order."""
    config = PLAIN | {"tools": {"code_run": 300, "file_read": 500}}
    calls = (Call("code_run", output="c" * 900, named=False), Call("file_read", output="f" * 900, named=False))
    run, read = outputs(
        ContextSession(config, format=format).prepare(write(format, [ASK, Turn("model", (), calls)])), format
    )
    assert (run[:50], read[:50]) == ("c" * 50, "f" * 50)
    assert 290 <= len(run) <= 300
    assert 490 <= len(read) <= 500


def test_a_result_without_a_known_call_has_the_limit_of_any_tool():
    """It becomes text, but not before it is bounded."""
    config = PLAIN | {"tools": {"*": 300}}
    raw = [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "gone", "content": "x" * 900}]}]
    (message,) = ContextSession(config, format="anthropic").prepare(raw)
    (item,) = message["content"]
    assert item["type"] == "text"
    assert len(item["text"].partition(": ")[2]) <= 300


@pytest.mark.parametrize(
    ("tool", "limit"), [("mcp__files__list", 400), ("mcp__files_x", 300), ("mcp__other", 200), ("mcp__files__get", 500)]
)
def test_exact_name_then_the_longest_glob(tool, limit):
    """``*`` comes last."""
    config = {"tools": {"mcp__*": 200, "mcp__files*": 300, "mcp__files__*": 400, "mcp__files__get": 500}}
    assert limit - 5 <= len(ContextSession(config).tool_output(tool, "x" * 900)) <= limit


def test_a_tool_handler_gets_the_same_cut():
    """By hand or in ``prepare``: the same bytes, and what was cut by hand is not cut again."""
    text = "".join(f"line {n:05}\n" for n in range(2_000))
    session = ContextSession(PLAIN, format="openai-chat")
    by_hand = session.tool_output("code_run", text)
    assert outputs(ContextSession(PLAIN, format="openai-chat").prepare(told("openai-chat", text)), "openai-chat") == [
        by_hand
    ]
    assert outputs(session.prepare(told("openai-chat", by_hand)), "openai-chat") == [by_hand]
    assert session.recall(re.search(r"saved: ref (\w+)", by_hand)[1]) == text


@pytest.mark.parametrize("format", FORMATS)
def test_a_forged_marker_has_no_effect(format):
    """Sizes decide, not what a text says."""
    forged = "\n[... 99 characters omitted; saved: ref 0123456789abcdef ...]\n" * 200
    raw = told(format, forged[:10_000])
    session = ContextSession(PLAIN, format=format)
    assert session.prepare(raw) == raw
    (cut,) = outputs(ContextSession(PLAIN, format=format).prepare(told(format, forged)), format)
    assert len(cut) <= 10_000


def test_no_cluster_is_split():
    """Neither a family of emoji nor a letter with its accents."""
    unit = "👨‍👩‍👧e\u0301"
    cut = ContextSession().tool_output("code_run", unit * 3_000)
    head, tail = re.split(r"\n\[.*\]\n", cut)
    assert len(cut) <= 10_000
    assert head in (unit * (len(head) // 7), unit * (len(head) // 7) + "👨‍👩‍👧")
    assert tail in (unit * (len(tail) // 7), "e\u0301" + unit * (len(tail) // 7))


def test_data_goes_whole():
    """No part of a base64 run is of use."""
    text = '<img src="data:image/png;base64,' + "iVBORw0KGgo/" * 2_000 + '"> and words'
    cut = ContextSession().tool_output("code_run", text)
    assert re.fullmatch(r'<img src="\[data: \d+ characters omitted\]"> and words\n\[\d+ characters .*\]', cut)


@pytest.mark.parametrize("format", FORMATS)
def test_a_json_result_still_parses(format):
    """Its short fields stay, and rows at both ends; the whole comes back by the reference in the mark."""
    session = ContextSession(PLAIN, format=format)
    (cut,) = outputs(session.prepare(told(format, ROWS)), format)
    data = json.loads(cut)
    assert (data["path"], data["ok"], data["rows"][0], data["rows"][-1]["id"]) == (
        "a/b.db", True, {"id": 0, "name": "row 0"}, 899,
    )  # fmt: skip
    assert 9_900 < len(cut) <= 10_000
    assert ROWS in session.recall(re.search(r"saved: ref (\w+)", cut)[1])
    assert json.loads(session.tool_output("code_run", ROWS))["rows"][0] == {"id": 0, "name": "row 0"}


@pytest.mark.parametrize("format", FORMATS)
def test_json_cut_as_text_where_a_tool_says_so(format):
    """Head and tail, a marker between."""
    config = PLAIN | {"tools": {"code_*": {"json": "text"}}}
    (cut,) = outputs(ContextSession(config, format=format).prepare(told(format, ROWS)), format)
    assert re.search(r"\n\[\.\.\. \d+ characters omitted; saved: ref \w{16} \.\.\.\]\n", cut)


@pytest.mark.parametrize("format", FORMATS)
def test_lines_of_json_still_parse(format):
    """Each that is left, and the mark among them."""
    text = "\n".join(json.dumps({"n": n, "text": "word " * 50}) for n in range(200))
    (cut,) = outputs(ContextSession(PLAIN, format=format).prepare(told(format, text)), format)
    kept = [json.loads(line) for line in cut.split("\n")]
    assert [line["n"] for line in kept if isinstance(line, dict)] == [*range(18), *range(182, 200)]
    assert kept[18].startswith("[... omitted: 164 lines; saved: ref ")


def test_json_in_a_file_with_long_lines():
    """On one line it has 1,280 characters; on several each has."""
    session = ContextSession()
    one = session.tool_output("file_read", ROWS)
    many = session.tool_output("file_read", json.dumps({"a": "x" * 3_000, "b": [1, 2]}, indent=1))
    assert json.loads(one)["ok"]
    assert len(one) <= 1_280
    assert json.loads(many)["b"] == [1, 2]
    assert 1_270 < max(map(len, many.split("\n"))) <= 1_280


def test_texts_of_one_result_are_json_together():
    """Where the joined text is; apart they are none."""
    parts = [{"type": "text", "text": text} for text in ROWS.partition(", ")]
    raw = told("anthropic", "")
    raw[2] = {"role": "user", "content": [{**raw[2]["content"][0], "content": parts}]}
    whole = "\n".join(part["text"] for part in parts)
    content = ContextSession(PLAIN).prepare(raw)[2]["content"][0]["content"]
    assert [json.loads(text)["path"] for text in (whole, content[0]["text"])] == ["a/b.db"] * 2
    assert len(content) == 1


def test_a_tag_in_json_keeps_its_partner():
    """In the text format that counts more than that it parses."""
    text = json.dumps({"a": "<think>" + "x" * 9_000, "b": "y" * 9_000 + "</think>"})
    (cut,) = outputs(ContextSession(PLAIN, format="text").prepare(told("text", text)), "text")
    assert (cut.count("<think>"), cut.count("</think>")) == (1, 1)


def test_data_of_a_format_stays_data(monkeypatch):
    """A text of which the format says that it is JSON parses after every stage, however deep it is nested."""
    monkeypatch.setattr(Anthropic, "is_json", lambda self, block, path: block.kind == "result")
    config = PLAIN | {"tools": {"code_run": {"limit": 9_000, "json": "text", "line_limit": 100}}}
    deep = '{"a":' * 8_000 + "1" + "}" * 8_000
    raw = told("anthropic", deep, "[" + "1, " * 8_000 + "1]")
    first = outputs(ContextSession(config).prepare(raw), "anthropic")
    assert re.fullmatch(r'\{"\[\.\.\. omitted: \d+ characters; saved: ref \w+ \.\.\.\]": null\}', first[0])
    assert len(json.loads(first[1])) > 2_000
    old = outputs(ContextSession(config).prepare([*raw, *[*told("anthropic", "ok")] * 4]), "anthropic")
    assert [type(json.loads(text)) for text in old[:2]] == [dict, list]
    assert [len(text) <= 800 for text in old[:2]] == [True, True]
    small = outputs(ContextSession(config | {"budget": {"chars": 900}}).prepare(raw), "anthropic")
    assert [type(json.loads(text)) for text in small] == [dict, list]


def called(format, *rounds):
    """Return a history with one model message that calls web_execute_js with each input, and the outputs."""
    calls = [Call("web_execute_js", output=output, named=False, given=given) for given, output in rounds]
    return write(format, [ASK, Turn("model", (), tuple(calls))])


@pytest.mark.parametrize("format", FORMATS)
def test_what_goes_to_a_file_is_shown_as_a_preview(format):
    """170 characters of it, the whole in the archive; the outputs of other calls beside it are as ever."""
    page = "a" * 900 + "z" * 900
    raw = called(
        format, ({"code": "1"}, page), ({"code": "2", "save_to_file": "p.txt"}, page), ({"save_to_file": ""}, page)
    )
    session = ContextSession(PLAIN, format=format)
    first, preview, last = outputs(session.prepare(raw), format)
    assert (first, last) == (page, page)
    ref = session.report.actions[0].ref
    assert preview == "a" * 53 + f"\n[... 1694 characters omitted; saved: ref {ref} ...]\n" + "z" * 53
    assert page in session.recall(ref)


@pytest.mark.parametrize("format", FORMATS)
def test_a_preview_of_json_parses(format):
    """It is cut like any other result, and later passes leave it alone."""
    raw = called(format, ({"save_to_file": True}, ROWS))
    (preview,) = outputs(ContextSession(PLAIN, format=format).prepare(raw), format)
    assert len(preview) <= 170
    assert json.loads(preview)["path"] == "a/b.db"
    later = raw + write(format, [Turn(("model", "user")[n % 2], ("Go on.",)) for n in range(12)])
    assert outputs(ContextSession(PLAIN, format=format).prepare(later), format)[0] == preview


@pytest.mark.parametrize("format", FORMATS)
def test_whether_a_tool_spills_can_be_set(format):
    """Off for a tool that does by default, on for one that does not; an output of 170 is never cut."""
    never = PLAIN | {"tools": {"web_execute_js": {"spill": False}}}
    raw = called(format, ({"save_to_file": 1}, "x" * 5_000), ({"save_to_file": 1}, "y" * 170))
    assert ContextSession(never, format=format).prepare(raw) == raw
    assert outputs(ContextSession(PLAIN, format=format).prepare(raw), format)[1] == "y" * 170
    renamed = json.loads(json.dumps(raw).replace("web_execute_js", "fetch"))
    assert ContextSession(PLAIN, format=format).prepare(renamed) == renamed
    fetched = ContextSession(PLAIN | {"tools": {"fetch": {"spill": True}}}, format=format).prepare(renamed)
    assert len(outputs(fetched, format)[0]) <= 170


def test_texts_of_one_result_are_bounded_together():
    """Two texts of 8,000 in one result are 16,000; an image between them stays."""
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    parts = [{"type": "text", "text": "a" * 8_000}, image, {"type": "text", "text": "z" * 8_000}]
    raw = told("anthropic", "")
    raw[2] = {"role": "user", "content": [{**raw[2]["content"][0], "content": parts}]}
    content = ContextSession(PLAIN).prepare(raw)[2]["content"][0]["content"]
    texts = "".join(item["text"] for item in content if item["type"] == "text")
    assert len(texts) <= 10_000
    assert (texts[:100], texts[-100:]) == ("a" * 100, "z" * 100)
    assert image in content


def test_a_result_in_plain_words():
    """In the text format the message after a call is its result, tag or not."""
    call = '<tool_use>{"name": "code_run", "arguments": {"code": "1"}}</tool_use>'
    raw = [{"role": "user", "content": "Go."}, {"role": "assistant", "content": call}]
    view = ContextSession(PLAIN).prepare([*raw, {"role": "user", "content": "x" * 12_000}])
    assert view[:2] == raw
    assert 9_990 <= len(view[2]["content"]) <= 10_000


@pytest.mark.parametrize("format", ["anthropic", "openai-chat", "openai-responses"])
def test_a_late_result_is_bounded_too(format):
    """Wherever it is moved to."""
    late = Call(output="x" * 12_000, named=False, answer="late")
    raw = write(format, [ASK, Turn("model", (), (Call(), late)), Turn("user", ("Go on.",)), Turn("model", ("Yes.",))])
    view = ContextSession(PLAIN, format=format).prepare(raw)
    assert "x" * 12_000 in json.dumps(raw)
    assert len(max(outputs(view, format), key=len)) <= 10_000


def test_a_tool_output_is_cut_as_the_stage_cuts():
    """The function beneath: None where nothing is over."""
    assert cut_output("x" * 200, ToolLimits(200), lambda text: "0" * 16) is None
    cut = cut_output("x" * 201, ToolLimits(200), lambda text: "0" * 16)
    assert len(cut.apply("x" * 201)) <= 200
    assert cut_output("x" * 150, ToolLimits(200, line_limit=100), lambda text: "0" * 16) is not None
