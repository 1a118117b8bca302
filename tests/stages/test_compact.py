"""Stage 2: every few turns the old is compacted, the newest is spared, signed reasoning is never shortened."""

import base64
import json
import re

import pytest
from histories import Call, Turn, ends, write
from oracle import faults, outputs, texts_of

from ga_context import ContextSession
from ga_context.stages.compact import folded

FORMATS = ["anthropic", "openai-chat", "openai-responses", "gemini", "bedrock", "text"]
ASK = Turn("user", ("Do it.",))
PLAIN = {"anchor": {"placement": "off"}}
LONG = "a" * 1_500 + "z" * 1_500
SIGNED = {"type": "thinking", "thinking": "thought " * 150, "signature": "c2ln"}
REDACTED = {"type": "redacted_thinking", "data": "b3BhcXVl" * 200}


def rounds(format, count, output=LONG, **fields):
    """Return a request and ``count`` rounds of a call and its result."""
    call = Call("code_run", output=output, named=False, **fields)
    return write(format, [ASK, *[Turn("model", (), (call,))] * count])


def turn_by_turn(session, raw):
    """Prepare before each model message, and at the end; return the reports."""
    for end in ends(raw):
        session.prepare(raw[:end])
    return session.reports


def old(*messages, config=PLAIN, format=None, **prepare):
    """Return how these messages look after a pass, with a request and ten plain messages behind them."""
    newer = [{"role": ("user", "assistant")[i % 2], "content": "Go on." if i % 2 == 0 else "Yes."} for i in range(11)]
    return ContextSession(config, format=format).prepare([*messages, *newer], **prepare)[: -len(newer)]


def with_thinking(*thoughts):
    """Return a session in which old and new messages of the model begin with these blocks, each its own."""
    raw = rounds("anthropic", 16, output="ok")
    for n, message in enumerate(raw):
        if message["role"] in ("assistant", "model"):
            own = [{**block, "signature": f"sig{n}"} if "signature" in block else block for block in thoughts]
            message["content"] = [*own, *message["content"]]
    return raw


@pytest.mark.parametrize("format", FORMATS)
def test_a_pass_every_five_turns(format):
    """Due at turns 5, 10, 15, ...; at turn 5 there is nothing yet behind the 10 newest messages."""
    reports = turn_by_turn(ContextSession(PLAIN, format=format), rounds(format, 22))
    assert [report.turn for report in reports if report.compacted] == [10, 15, 20]
    assert [report.break_cause for report in reports if report.first_changed is not None] == ["pass"] * 3


@pytest.mark.parametrize("format", FORMATS)
def test_the_interval_can_be_set(format):
    """3: due at turns 3, 6, 9, ...; None: never."""
    raw = rounds(format, 14)
    reports = turn_by_turn(ContextSession(PLAIN | {"compact": {"interval": 3}}, format=format), raw)
    assert [report.turn for report in reports if report.compacted] == [9, 12, 15]
    reports = turn_by_turn(ContextSession(PLAIN | {"compact": {"interval": None}}, format=format), raw)
    assert [report.turn for report in reports if report.compacted] == []


@pytest.mark.parametrize("format", FORMATS)
def test_at_once_in_a_resumed_transcript(format):
    """Before the first pass the turn of the last one is 0."""
    session = ContextSession(PLAIN, format=format)
    session.prepare(rounds(format, 30))
    assert (session.report.turn, session.report.compacted) == (31, True)


@pytest.mark.parametrize("format", FORMATS)
def test_at_most_one_pass_a_turn(format):
    """More messages of the user in the same turn bring no second pass, though the interval is 1."""
    session = ContextSession(PLAIN | {"compact": {"interval": 1}}, format=format)
    raw = rounds(format, 10)
    session.prepare(raw)
    for _ in range(8):
        raw = [*raw, *write(format, [Turn("user", ("And more.",))])]
        session.prepare(raw)
    assert [report.turn for report in session.reports] == [11] * 9
    assert [report.compacted for report in session.reports] == [True] + [False] * 8


@pytest.mark.parametrize("format", FORMATS)
def test_a_strict_pass_resets_the_interval(format):
    """The eviction at turn 12 makes the next pass due at 17, not at 15."""
    raw = rounds(format, 20, output="x" * 900)
    calm = turn_by_turn(ContextSession(PLAIN, format=format), raw)
    config = PLAIN | {"budget": {"chars": calm[10].chars_after, "evict_to": 0.3}}
    reports = turn_by_turn(ContextSession(config, format=format), raw)
    assert [report.turn for report in calm if report.compacted] == [10, 15, 20]
    assert [report.turn for report in reports if report.evicted][:1] == [12]
    assert [report.turn for report in reports if report.compacted][:3] == [10, 12, 17]


@pytest.mark.parametrize("format", FORMATS)
def test_results_are_cut_to_a_window(format):
    """800 characters with the marker, half at the head, half at the tail; the ten newest messages stay."""
    raw = rounds(format, 9)
    view = ContextSession(PLAIN, format=format).prepare(raw)
    cuts = re.findall(r"a+\\n\[\.\.\. \d+ characters omitted; saved: ref \w{16} \.\.\.\]\\nz+", json.dumps(view[:9]))
    assert [790 < len(json.loads(f'"{cut}"')) <= 800 for cut in cuts] == [True] * 4
    assert abs(cuts[0].count("a") - cuts[0].count("z")) <= 15
    assert [a is b for a, b in zip(view, raw, strict=True)] == [True, True, False] + [True, False] * 3 + [True] * 10


@pytest.mark.parametrize("format", FORMATS)
def test_eight_hundred_characters_stay(format):
    """Not longer than the window: the same objects."""
    raw = rounds(format, 12, output="x" * 800)
    view = ContextSession(PLAIN, format=format).prepare(raw)
    assert [a is b for a, b in zip(view, raw, strict=True)] == [True] * 25


@pytest.mark.parametrize("format", FORMATS)
def test_the_original_comes_back(format):
    """By the reference in the marker, and by that in the report."""
    session = ContextSession(PLAIN, format=format)
    view = session.prepare(rounds(format, 9))
    refs = set(re.findall(r"saved: ref (\w+)", json.dumps(view)))
    assert {action.ref for action in session.report.actions} == refs
    assert [LONG in session.recall(ref) for ref in refs] == [True] * len(refs)
    assert {action.stage for action in session.report.actions} == {"compact"}


@pytest.mark.parametrize("format", FORMATS)
def test_a_json_result_is_cut_again_from_the_original(format):
    """To 10,000 when it comes, to 800 when it is old: it parses both times, and shows the same reference."""
    text = json.dumps({"path": "a/b.db", "rows": [{"id": n, "name": f"row {n}"} for n in range(900)], "ok": True})
    raw = rounds(format, 9, output=text)
    session = ContextSession(PLAIN, format=format)
    new = outputs(session.prepare(raw[:3]), format)[0]
    old = outputs(session.prepare(raw), format)[0]
    assert (9_900 < len(new) <= 10_000, 700 < len(old) <= 800) == (True, True)
    first, second = json.loads(new), json.loads(old)
    assert (first["path"], first["ok"]) == (second["path"], second["ok"]) == ("a/b.db", True)
    assert first["rows"][:9] == second["rows"][:9] == [{"id": n, "name": f"row {n}"} for n in range(9)]
    assert [rows[-1]["id"] for rows in (first["rows"], second["rows"])] == [899, 899]
    assert [text in session.recall(re.search(r"saved: ref (\w+)", one)[1]) for one in (new, old)] == [True, True]


@pytest.mark.parametrize("format", FORMATS)
def test_json_is_a_text_where_its_tool_says_so(format):
    """In old messages as in new ones."""
    config = PLAIN | {"tools": {"code_run": {"json": "text"}}}
    raw = rounds(format, 9, output=json.dumps({"rows": list(range(900))}))
    cut = outputs(ContextSession(config, format=format).prepare(raw), format)[0]
    assert re.fullmatch(r'\{"rows": \[0.*\n\[\.\.\. \d+ characters omitted; saved: ref \w+ \.\.\.\]\n.*899\]\}', cut)


def test_calls_in_tags_stay_json():
    """The text format: the name and short arguments stay, long ones keep both ends."""
    arguments = {"path": "a.py", "text": "x" * 900, "lines": list(range(900))}
    call = f"<tool_use>{json.dumps({'name': 'file_write', 'arguments': arguments})}</tool_use>"
    user = {"role": "user", "content": "Go."}
    (_, message, _) = old(user, {"role": "assistant", "content": call}, {"role": "user", "content": "ok"})
    content = re.fullmatch(r"<tool_use>(.*)</tool_use>", message["content"])[1]
    data = json.loads(content)
    assert len(content) <= 800
    assert (data["name"], data["arguments"]["path"], data["arguments"]["lines"][-1]) == ("file_write", "a.py", 899)


@pytest.mark.parametrize("format", ["anthropic", "openai-chat"])
def test_a_string_argument_that_is_json_is_a_string(format):
    """It is cut like any other string of a call."""
    note = json.dumps({"rows": list(range(900))})
    view = ContextSession(PLAIN, format=format).prepare(rounds(format, 9, output="ok", note=note))
    call = view[1]["content"][-1]["input"] if format == "anthropic" else None
    given = call or json.loads(view[1]["tool_calls"][0]["function"]["arguments"])
    assert re.fullmatch(r'\{"rows": \[0.*\n\[\.\.\. \d+ characters omitted; .*\]\n.*899\]\}', given["note"])


@pytest.mark.parametrize("format", ["anthropic", "openai-chat"])
def test_strings_in_arguments_are_cut_and_stay_json(format):
    """The input stays an object, an ``arguments`` string valid JSON; numbers and short strings as they are."""
    view = ContextSession(PLAIN, format=format).prepare(rounds(format, 9, output="ok", note="n" * 2_000))
    call = view[1]["content"][-1]["input"] if format == "anthropic" else None
    given = call or json.loads(view[1]["tool_calls"][0]["function"]["arguments"])
    assert list(given) == ["path", "note", "deep"]
    assert (given["path"], given["deep"]["list"][1:]) == ("src/part_00100.py", [1, None, True, 0.5, {}])
    assert len(given["note"]) <= 800
    assert given["note"].startswith("n" * 300)


def test_calls_in_tags_are_cut_inside_the_tags():
    """The text format: the pair stays, its content is a window."""
    call = f'<tool_use>{{"name": "code_run", "code": "{"c" * 2_000}"}}</tool_use>'
    (_, message, _) = old(
        {"role": "user", "content": "Go."}, {"role": "assistant", "content": call}, {"role": "user", "content": "ok"}
    )
    content = re.fullmatch(r"<tool_use>(.*)</tool_use>", message["content"], re.DOTALL)[1]
    assert content.startswith('{"name": "code_run", "code": "ccc')
    assert content.endswith('ccc"}')
    assert 780 < len(content) <= 800


@pytest.mark.parametrize("format", ["anthropic", "openai-chat"])
def test_unsigned_reasoning_is_cut_to_a_window(format):
    """It may be shortened, as nothing vouches for its words."""
    if format == "anthropic":
        message = {
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": LONG}, {"type": "text", "text": "a"}],
        }
    else:
        message = {"role": "assistant", "reasoning_content": LONG, "content": "a"}
    (_, new) = old({"role": "user", "content": "Go."}, message, format=format)
    text = new["content"][0]["thinking"] if format == "anthropic" else new["reasoning_content"]
    assert 790 < len(text) <= 800
    assert list(new) == list(message)


def test_signed_thinking_is_never_shortened_with_its_signature_kept():
    """What users suffered from: each signed block of the view is one of the raw history, byte for byte."""
    raw = with_thinking(SIGNED)
    originals = [message["content"][0] for message in raw if message["role"] == "assistant"]
    session = ContextSession(PLAIN)
    for end in range(1, len(raw), 2):
        view = session.prepare(raw[:end])
        kept = [b for m in view for b in m["content"] if isinstance(b, dict) and b["type"] == "thinking"]
        assert [block in originals for block in kept] == [True] * len(kept)
        assert not kept or kept[-1] == originals[(end - 3) // 2]
    assert len(kept) < len(originals)


def test_signed_reasoning_goes_whole():
    """All of a message or none, redacted and unsigned beside it included; the original is kept."""
    session = ContextSession(PLAIN)
    view = session.prepare(with_thinking(REDACTED, {"type": "thinking", "thinking": "short"}, SIGNED))
    kinds = [[block["type"] for block in message["content"]] for message in view if message["role"] == "assistant"]
    assert kinds[0] == ["tool_use"]
    assert kinds[-5:] == [["redacted_thinking", "thinking", "thinking", "tool_use"]] * 5
    refs = [action.ref for action in session.report.actions if action.message == 1]
    assert json.loads(session.recall(refs[0])) == REDACTED


def test_signed_reasoning_can_be_kept():
    """``drop_reasoning`` False: whole, all of it."""
    raw = with_thinking(SIGNED, REDACTED)
    view = ContextSession(PLAIN | {"compact": {"drop_reasoning": False}}).prepare(raw)
    assert [m["content"] for m in view if m["role"] == "assistant"] == [
        m["content"] for m in raw if m["role"] == "assistant"
    ]


def test_a_message_of_old_signed_reasoning_alone_is_left_out():
    """Its neighbours of one role become one message."""
    view = old(
        {"role": "user", "content": "One."},
        {"role": "assistant", "content": [SIGNED]},
        {"role": "user", "content": "Two."},
        {"role": "assistant", "content": "Well."},
    )
    assert view[0]["content"] == [{"type": "text", "text": "One."}, {"type": "text", "text": "Two."}]
    assert view[1] == {"role": "assistant", "content": "Well."}


def test_the_reasoning_of_the_open_loop_stays():
    """Of the newest assistant message with calls, however old it is."""
    raw = [{"role": "user", "content": "Go."}, *with_thinking(SIGNED)[1:3]]
    kept = raw[1]["content"][0]
    for n in range(12):
        raw += [{"role": "assistant", "content": f"Word {n}."}, {"role": "user", "content": "Go on."}]
    session = ContextSession(PLAIN)
    assert session.prepare(raw)[1]["content"][0] == kept
    call = {"type": "tool_use", "id": "new", "name": "code_run", "input": {}}
    raw += [{"role": "assistant", "content": [call]}]
    raw += [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "new", "content": "ok"}]}]
    raw += [{"role": "assistant", "content": "a"}, {"role": "user", "content": "b"}] * 10
    assert kept not in session.prepare(raw)[1]["content"]


@pytest.mark.parametrize("format", ["anthropic", "openai-chat"])
def test_an_old_image_becomes_a_line(format):
    """With the reference to its bytes."""
    data = base64.b64encode(b"picture" * 100).decode()
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
    if format == "openai-chat":
        image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
    newer = [{"role": "assistant", "content": "Yes."}, {"role": "user", "content": "Go on."}] * 6
    session = ContextSession(PLAIN, format=format)
    view = session.prepare([{"role": "user", "content": [image, {"type": "text", "text": "See."}]}, *newer])
    line, text = view[0]["content"]
    assert re.fullmatch(r"\[image omitted; saved: ref \w{16}\]", line["text"])
    assert session.recall(line["text"][-17:-1]) == b"picture" * 100
    assert text == {"type": "text", "text": "See."}


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        (f"A <think>{LONG}</think> b <thinking>{LONG}</thinking> c", 2),
        (f"<thinking>x <think>{LONG}</think></thinking>", 1),
        (f"<think>{LONG}", 0),
        (f"<think>{LONG}</thinking>", 0),
        (f"<think>a<thinking>{LONG}</think>b</thinking>", 0),
        (f"<think a='1'>{LONG}</think>", 0),
        (f"<THINK>{LONG}</THINK>", 0),
        (f"```\n<think>{LONG}</think> and more\n```", 0),
        (f"`<think>` is {LONG} `</think>`", 0),
        (f"```\n<think>{LONG}</think>\n```", 1),
        (f"```\n<think>{LONG}</think>", 1),
        (f"a ` b <think>{LONG}</think>", 1),
        (f"<think>{LONG} and <thinking></think>", 0),
        (f"<think>{'x' * 800}</think>", 0),
        (f"<plan>{LONG}</plan>", 0),
    ],
)
@pytest.mark.parametrize("role", ["assistant", "user"])
def test_tags(text, cut, role):
    """Outermost pairs that stand on their own; what only talks about a tag stays."""
    spoken = [{"role": "user", "content": "Go."}, {"role": role, "content": text}]
    new = old(*spoken, format="openai-chat")[1]["content"]
    assert len(re.findall("characters omitted; saved: ref", new)) == cut
    assert cut or new == text
    for name in ("think", "thinking"):
        assert new.count(f"<{name}>") - new.count(f"</{name}>") == text.count(f"<{name}>") - text.count(f"</{name}>")


def test_the_content_of_a_pair_is_a_window():
    """Tags and what is around them stay; the content is 800 characters, the marker included."""
    (_, message) = old(
        {"role": "user", "content": "Go."}, {"role": "assistant", "content": f"So: <think>{LONG}</think> ok"}
    )
    content = re.fullmatch(r"So: <think>(.*)</think> ok", message["content"], re.DOTALL)[1]
    assert 790 < len(content) <= 800
    assert re.fullmatch(r"a{360,}\n\[\.\.\. \d+ characters omitted; saved: ref \w{16} \.\.\.\]\nz{360,}", content)


def test_tags_and_window_can_be_set():
    """Names and width are configuration."""
    text = f"<plan>{LONG}</plan> <think>{LONG}</think>"
    config = PLAIN | {"compact": {"tags": ["plan"], "window_chars": 200}}
    (_, message) = old({"role": "user", "content": "Go."}, {"role": "assistant", "content": text}, config=config)
    plan, think = re.fullmatch("<plan>(.*)</plan> <think>(.*)</think>", message["content"], re.DOTALL).groups()
    assert 190 < len(plan) <= 200
    assert think == LONG


@pytest.mark.parametrize("role", ["system", "developer"])
@pytest.mark.parametrize("format", ["openai-chat", "text"])
def test_system_messages_stay(format, role):
    """All roles but system."""
    message = {"role": role, "content": f"<think>{LONG}</think><history>{LONG}</history>"}
    assert old(message, format=format) == [message]


@pytest.mark.parametrize("format", FORMATS)
def test_the_newest_request_keeps_its_words(format):
    """However old it is, and whatever tags it holds; an older request is compacted."""
    words = f"<think>{LONG}</think>"
    asked = Turn("user", (words,), named=False)
    raw = write(format, [asked, Turn("model", ("Yes.",)), asked])
    view = ContextSession(PLAIN, format=format).prepare([*raw, *rounds(format, 12)[1:]])
    assert len(*texts_of(view[0], format)) < 900
    assert view[2] is raw[2]


def test_anchors_in_strings_fold():
    """In the text format, wherever they were said, but not in results."""
    said = "<history>\n[1] ran\n</history> <key_info>port 80</key_info> <earlier_context>[1-5] ran</earlier_context>"
    call = '<tool_use>{"name": "code_run", "arguments": {}}</tool_use>'
    view = old(
        {"role": "user", "content": said},
        {"role": "assistant", "content": f"{said} {call}"},
        {"role": "user", "content": f"<tool_result>{said}</tool_result>"},
    )
    folded = "<history>[...]</history> <key_info>[...]</key_info> <earlier_context>[...]</earlier_context>"
    assert [m["content"] for m in view] == [folded, f"{folded} {call}", f"<tool_result>{said}</tool_result>"]


@pytest.mark.parametrize("format", ["anthropic", "openai-chat", "openai-responses"])
def test_words_of_an_anchor_are_no_anchor(format):
    """In native formats only our own fold."""
    raw = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": "<history>\n[1] ran the tests\n</history>"},
    ]
    assert old(*raw, format=format) == raw


@pytest.mark.parametrize("format", FORMATS)
def test_old_anchors_of_ours_fold(format):
    """Those that were sent stay where they are, as ``[...]``; the newest ones whole."""
    session = ContextSession(format=format)
    turn_by_turn(session, rounds(format, 14, output="ok"))
    sent = json.dumps(session.prepare(rounds(format, 14, output="ok")))
    assert sent.count("<history>[...]</history>") == 9
    assert sent.count("<history>") == 14
    assert sent.count("Current turn: ") == 14


@pytest.mark.parametrize("format", FORMATS)
def test_no_exchange_straddles_the_border(format):
    """Three calls in one message: their results are all compacted or none."""
    call = Call("code_run", output=LONG, named=False)
    raw = write(format, [ASK, *[Turn("model", (), (call,) * 3)] * 9])
    for spared in range(11):
        config = PLAIN | {"compact": {"keep_recent": spared, "keep_recent_on_eviction": min(spared, 4)}}
        view = ContextSession(config, format=format).prepare(raw)
        assert faults(view, format) == []
        assert json.dumps(view).count("characters omitted; saved") % 3 == 0


@pytest.mark.parametrize("format", FORMATS)
def test_what_was_old_keeps_its_bytes(format):
    """The second pass begins where the first one ended: the first messages stay the same objects."""
    session = ContextSession(PLAIN, format=format)
    raw = rounds(format, 20)
    turn_by_turn(session, raw[:21])
    before = session.request()["messages"]
    session.prepare(raw[:31])
    after = session.request()["messages"]
    assert session.report.compacted
    assert [a is b for a, b in zip(before[:10], after, strict=False)] == [True] * 10
    assert session.report.first_changed == 10


def test_notes_that_hold_a_tag_of_the_anchor_fold_whole():
    """A pair of another part inside the notes goes with them; no tag is left alone."""
    names = ("history", "key_info", "earlier_context")
    text = "[memory]\n<key_info>\nsee <history>line one of it</history> and more\n</key_info>"
    assert folded(text, names).apply(text) == "[memory]\n<key_info>[...]</key_info>"
