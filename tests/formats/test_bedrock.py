"""Bedrock Converse: where texts, calls and results stand, bytes, cache points, and what botocore takes."""

import json
import re
from base64 import b64encode

import pytest
from histories import histories, wire_text
from hypothesis import given
from hypothesis import strategies as st
from oracle import faults

from ga_context import ContextConfig, ContextSession, InvalidMessages, size
from ga_context.formats import make
from ga_context.model import Payload
from ga_context.payload.charge import Charges
from ga_context.text.window import Cut

FMT = make("bedrock", Charges())
PLAIN = {"anchor": {"placement": "off"}}
PNG = b"\x89PNG\x00\xff" * 200
IMAGE = {"image": {"format": "png", "source": {"bytes": PNG}}}
LINK = {"image": {"format": "png", "source": {"s3Location": {"uri": "s3://bucket/a.png"}}}}
PDF = {"document": {"format": "pdf", "name": "report", "source": {"bytes": b"%PDF" * 200}}}
FILM = {"video": {"format": "mp4", "source": {"bytes": b"film" * 200}}}
GUARDED = {"guardContent": {"image": {"format": "png", "source": {"bytes": PNG}}}}
USE = {"toolUse": {"toolUseId": "c1", "name": "code_run", "input": {"code": "1", "deep": [{"a": "x"}, 2]}}}
SIGNED = {"reasoningContent": {"reasoningText": {"text": "why " * 300, "signature": "s1"}}}
REDACTED = {"reasoningContent": {"redactedContent": b"\x00\xffopaque" * 40}}
POINT = {"cachePoint": {"type": "default"}}
GO, YES = {"role": "user", "content": [{"text": "Go."}]}, {"role": "assistant", "content": [{"text": "Yes."}]}


def user(*content):
    return {"role": "user", "content": list(content)}


def assistant(*content):
    return {"role": "assistant", "content": list(content)}


def call(id, **given):
    return {"toolUse": {"toolUseId": id, "name": "code_run", "input": given}}


def result(id, *content, **keys):
    return {"toolResult": {"toolUseId": id, "content": list(content), **keys}}


def blocks(message):
    """Return the blocks of a message as the format reads them."""
    return FMT.read(0, message, 0).blocks


def cut(block, path, text):
    """Return the wire of a block with a text in the place of another."""
    return FMT.render(block, cuts=((path, Cut((text,), 0)),)).wire


def prepared(*raw, config=PLAIN):
    """Return the view and the reasons of its repairs; every view is valid."""
    session = ContextSession(config, format="bedrock")
    view = session.prepare(list(raw))
    assert faults(view, "bedrock") == []
    return view, [action.reason for action in session.report.repairs]


# Where things are


@pytest.mark.parametrize(
    ("side", "item", "kind"),
    [
        (user, {"text": "Go."}, "text"),
        (assistant, USE, "call"),
        (user, result("c1", {"text": "x"}), "result"),
        (assistant, SIGNED, "reasoning"),
        (assistant, REDACTED, "reasoning"),
        (user, POINT, "marker"),
        (user, IMAGE, "payload"),
        (user, PDF, "payload"),
        (user, FILM, "payload"),
        (user, LINK, "other"),
        (user, GUARDED, "other"),
        (assistant, {"citationsContent": {"content": [{"text": "So."}]}}, "other"),
        (assistant, {"toolUse": {**USE["toolUse"], "type": "server_tool_use"}}, "other"),
        (assistant, result("c1", {"text": "x"}), "result"),
        (user, {"futureBlock": {"text": ""}}, "other"),
        (assistant, {"toolResult": "odd"}, "other"),
        (user, {"guardContent": "odd"}, "other"),
        (user, {"image": {"source": "odd"}}, "other"),
    ],
)
def test_kinds(side, item, kind):
    """What each block is; a block is the caller's own object."""
    (block,) = blocks(side(item))
    assert block.kind == kind
    assert block.wire is item


def test_all_reasoning_is_sealed():
    """Signed, redacted and unsigned: the row of spec 6 knows no other (byte-identical, or left out whole)."""
    unsigned = {"reasoningContent": {"reasoningText": {"text": "why"}}}
    assert [block.sealed for block in blocks(assistant(SIGNED, REDACTED, unsigned))] == [True, True, True]


def test_texts_and_their_paths():
    """Of a call the strings of its input; of a result its texts as one, its JSON, what it cites."""
    found = {"searchResult": {"source": "u", "title": "A", "content": [{"text": "found"}]}}
    notes = {"document": {"format": "txt", "name": "notes", "source": {"text": "note"}}}
    (made,) = blocks(assistant(USE))
    (mixed,) = blocks(user(result("c1", {"text": "a"}, {"json": {"k": ["v", 1]}}, {"text": "b"}, found, notes, IMAGE)))
    assert FMT.texts(made, -1) == [
        (("toolUse", "input", "code"), "1"),
        (("toolUse", "input", "deep", 0, "a"), "x"),
    ]
    at = ("toolResult", "content")
    assert FMT.texts(mixed) == [
        ((), "a\nb"),
        ((*at, 1, "json"), '{"k": ["v", 1]}'),
        ((*at, 3, "searchResult", "content", 0, "text"), "found"),
        ((*at, 4, "document", "source", "text"), "note"),
    ]
    assert FMT.payloads(mixed) == [Payload((*at, 5), "image", PNG)]


def test_a_new_text_goes_back_along_its_path():
    """Key order and unknown keys intact, the caller's dict untouched."""
    item = {"toolUse": {"x_key": 1, **USE["toolUse"]}}
    before = json.dumps(item)
    (block,) = blocks(assistant(item))
    wire = cut(block, ("toolUse", "input", "deep", 0, "a"), "new")
    assert wire == {"toolUse": {**item["toolUse"], "input": {"code": "1", "deep": [{"a": "new"}, 2]}}}
    assert list(wire["toolUse"]) == list(item["toolUse"])
    assert json.dumps(item) == before


def test_a_new_text_of_a_result():
    """One text where there were several; JSON and image between keep their places, and so does the status."""
    (block,) = blocks(user(result("c1", {"text": "a"}, {"json": {"k": 1}}, IMAGE, {"text": "b"}, status="error")))
    assert cut(block, (), "new") == result("c1", {"text": "new"}, {"json": {"k": 1}}, IMAGE, status="error")
    assert cut(block, ("toolResult", "content", 2), "[gone]")["toolResult"]["content"][2] == {"text": "[gone]"}


def test_a_session_with_everything_is_sent_as_it_is():
    """Within every limit nothing is touched: the same objects; JSON results stay JSON."""
    raw = [
        user({"text": "Go."}, IMAGE, LINK, PDF, FILM, POINT),
        assistant(SIGNED, REDACTED, {"text": "I look."}, USE, call("c2")),
        user(result("c1", {"json": {"rows": [1, 2, 3]}}, status="success"), POINT, result("c2", IMAGE, PDF), GUARDED),
        assistant({"text": "Yes."}),
    ]
    view, repairs = prepared(*raw)
    assert [a is b for a, b in zip(view, raw, strict=True)] == [True] * 4
    assert repairs == []


# Size


@pytest.mark.parametrize(
    "content",
    [
        [{"text": 'quotes " and \\ and \n and é and \u2028'}],
        [USE, result("c1", {"text": "x"}), SIGNED, POINT],
        [result("c1", {"text": "é\n" * 900})],
        [result("c1", {"text": "a"}, {"json": {"k": [1.5, None, "é"]}})],
        [{"toolResult": {"toolUseId": "c1"}}],
        [REDACTED, {"futureBlock": {"data": b"\x00\x01"}}],
        [],
        None,
    ],
)
def test_size_is_the_length_on_the_wire(content):
    """Measured block by block, the sum is what the whole message takes; bytes as the base64 that is sent."""
    for role in ("user", "assistant"):
        message = {"role": role, "content": content, "x_key": "é"}
        assert FMT.read(0, message, 0).size == len(wire_text(message, ensure_ascii=False))


@pytest.mark.parametrize("data", [PNG, bytearray(PNG), b64encode(PNG).decode()])
def test_payloads_count_as_their_charge(data):
    """4,800 for bytes or their base64 text; a link counts as it is."""
    image = {"image": {"format": "png", "source": {"bytes": data}}}
    empty = {"image": {"format": "png", "source": {"bytes": ""}}}
    for message, bare in (
        (user(image, LINK), user(empty, LINK)),
        (user(result("c1", image, image)), user(result("c1", empty, empty))),
        (user({"guardContent": image}), user({"guardContent": empty})),
    ):
        images = wire_text(bare).count('"bytes"')
        assert size([message]) == len(wire_text(bare)) + 4_800 * images
        assert size([message], ContextConfig(budget={"payload_chars": 9})) == len(wire_text(bare)) + 9 * images


# Repair


def test_a_string_becomes_a_list():
    """Converse takes no string; the words stay, but for white space at the very end."""
    view, repairs = prepared({"role": "user", "content": "Go."}, {"role": "assistant", "content": "Yes. "})
    assert view == [GO, YES]
    assert set(repairs) == {"a text as an item of a list", "white space at the end of a last message"}


@pytest.mark.parametrize(
    "given",
    [
        {"toolUseId": "c1"},
        {"toolUseId": "c1", "content": None},
        {"toolUseId": "c1", "content": []},
        {"toolUseId": "c1", "content": [{"text": ""}, {"text": " \n"}]},
    ],
)
def test_a_result_without_content_says_so(given):
    """Some models refuse an empty list, Converse a missing one."""
    view, _ = prepared(GO, assistant(call("c1")), user({"toolResult": given}))
    assert view[2] == user(result("c1", {"text": "[no output]"}))


def test_blank_texts_of_a_result_go_and_cuts_stay_where_they_were():
    """What is behind them has been cut by then."""
    found = {"searchResult": {"source": "u", "title": "A", "content": [{"text": "a" * 900 + "z" * 900}]}}
    view, _ = prepared(
        GO,
        assistant(call("c1")),
        user(result("c1", {"text": " "}, found, {"json": {"ok": True}})),
        config=PLAIN | {"tools": {"code_run": 300}},
    )
    first, second = view[2]["content"][0]["toolResult"]["content"]
    assert 200 < len(first["searchResult"]["content"][0]["text"]) <= 300
    assert second == {"json": {"ok": True}}


def test_json_results_stay_json():
    """Cut in their structure, to the tool's limit as JSON; numbers, keys and short strings stay."""
    data = {"name": "log", "lines": ["short", "x" * 30_000], "count": 2, "deep": {"none": None, "ok": True}}
    session = ContextSession(PLAIN, format="bedrock")
    view = session.prepare([GO, assistant(call("c1")), user(result("c1", {"json": data}))])
    new = view[2]["content"][0]["toolResult"]["content"][0]["json"]
    assert {**new, "lines": 0} == {**data, "lines": 0}
    assert new["lines"][0] == "short"
    assert 9_900 < len(json.dumps(new)) <= 10_000
    assert json.loads(session.recall(session.report.actions[0].ref)) == data


def test_only_a_true_orphan_is_told_as_text():
    """Its JSON whole, as JSON text."""
    session = ContextSession(PLAIN, format="bedrock")
    view = session.prepare([user(result("gone", {"text": "Two rows:"}, {"json": {"rows": [1, 2]}}, IMAGE)), YES])
    told = 'result of a tool call: Two rows:\n{"rows": [1, 2]}\n[image omitted; saved: ref REF]'
    assert view == [user({"text": told.replace("REF", session.report.repairs[0].ref)}), YES]


def test_a_missing_result():
    """Answered in place, marked as an error."""
    view, repairs = prepared(
        GO, assistant(call("c1"), call("c2")), user(result("c2", {"text": "two"}), {"text": "So?"})
    )
    answers = {held["toolResult"]["toolUseId"]: held["toolResult"] for held in view[2]["content"][:2]}
    assert answers["c1"]["status"] == "error"
    assert answers["c1"]["content"] == [{"text": "[no result: this call was never answered]"}]
    assert repairs == ["a call without a result"]


@pytest.mark.parametrize(
    ("given", "sent"),
    [({"a": 1}, {"a": 1}), ("", {}), (None, {}), ("{cut", {"_raw": "{cut"}), ([1], {"_raw": [1]})],
)
def test_an_input_is_an_object(given, sent):
    """What is none stands under ``_raw``."""
    view, _ = prepared(GO, assistant({"toolUse": {"toolUseId": "c1", "name": "code_run", "input": given}}))
    assert view[1]["content"][0]["toolUse"]["input"] == sent


def test_long_ids_are_renamed():
    """To 64 characters at most, each its own, call and result alike; legal ones stay."""
    ids = ["x" * 80 + "1", "x" * 80 + "2", "x" * 64, "y" * 64, "a.b:c", "x" * 80 + "1"]
    raw = [GO]
    for n, id in enumerate(ids):
        raw += [assistant(call(id, n=n)), user(result(id, {"text": f"result {n}"}))]
    view, _ = prepared(*raw)
    sent = [message["content"][0]["toolUse"]["toolUseId"] for message in view[1::2]]
    assert sent == ["x" * 64, "x" * 62 + "_2", "x" * 62 + "_3", "y" * 64, "a_b_c", "x" * 62 + "_4"]
    assert [message["content"][0]["toolResult"]["toolUseId"] for message in view[2::2]] == sent


# Documents and cache points


@pytest.mark.parametrize(
    ("content", "sent"),
    [
        ([PDF], [PDF, {"text": "[document attached]"}]),
        ([PDF, {"text": " "}], [PDF, {"text": "[document attached]"}]),
        ([IMAGE, PDF, POINT], [IMAGE, PDF, {"text": "[document attached]"}, POINT]),
        ([PDF, {"text": "Read it."}], [PDF, {"text": "Read it."}]),
        ([IMAGE], [IMAGE]),
    ],
)
def test_a_document_goes_with_a_text(content, sent):
    """A fixed one where it has none, not behind a cache point."""
    assert prepared(user(*content))[0] == [user(*sent)]


def test_an_anchor_is_no_text_for_a_document():
    """It is withdrawn later; the document must not stand alone then."""
    session = ContextSession({"anchor": {"lifetime": "ephemeral"}}, format="bedrock")
    raw = [GO, assistant(call("c1")), user(result("c1", {"text": "x"}), PDF)]
    session.prepare(raw)
    view = session.prepare([*raw, YES])
    assert view[2] == user(result("c1", {"text": "x"}), PDF, {"text": "[document attached]"})


@pytest.mark.parametrize(
    ("content", "sent"),
    [
        ([{"text": "a"}, POINT, {"text": "b"}, POINT], [{"text": "a"}, POINT, {"text": "b"}, POINT]),
        ([POINT, {"text": "a"}], [{"text": "a"}]),
        ([{"text": " "}, POINT, {"text": "a"}], [{"text": "a"}]),
    ],
)
def test_a_cache_point_needs_something_before_it(content, sent):
    """Else it is refused: there is nothing to cache."""
    assert prepared(user(*content))[0] == [user(*sent)]


def test_no_cache_point_behind_reasoning():
    """It is refused there."""
    view, repairs = prepared(GO, assistant(SIGNED, POINT, {"text": "a"}, POINT))
    assert view[1] == assistant(SIGNED, {"text": "a"}, POINT)
    assert repairs == ["left out: a cache marker with nothing to cache"]


def test_a_message_of_a_cache_point_alone_is_empty():
    """It is left out, and its neighbours become one."""
    view, _ = prepared(GO, assistant(POINT), user({"text": "On."}), assistant(POINT))
    assert view == [user({"text": "Go."}, {"text": "On."})]


def test_at_most_four_cache_points():
    """The oldest leave the view, which breaks no prefix (spec 2: compared after removing cachePoint)."""
    session = ContextSession(PLAIN, format="bedrock")
    raw = [m for n in range(4) for m in (user({"text": f"ask {n}"}, POINT), assistant({"text": f"answer {n}"}))]
    assert session.prepare(raw) == raw
    raw += [user({"text": "ask 4"}, POINT)]
    view = session.prepare(raw)
    assert view == [user({"text": "ask 0"}), *raw[1:]]
    assert (session.report.first_changed, session.report.break_cause) == (None, None)
    assert [action.reason for action in session.report.repairs] == ["more than 4 cache markers"]


def test_cache_points_stay_behind_their_results():
    """Where texts before the results are moved behind them, too."""
    a, b = result("c1", {"text": "1"}), result("c2", {"text": "2"})
    view, _ = prepared(GO, assistant(call("c1"), call("c2")), user(a, POINT, {"text": "So:"}, b, POINT))
    assert view[2] == user(a, POINT, b, POINT, {"text": "So:"})


def test_a_cache_point_leaves_with_its_exchange():
    """Nothing of an evicted exchange stays behind."""
    session = ContextSession({"budget": {"chars": 4_000}}, format="bedrock")
    raw = [GO]
    for n in range(30):
        raw += [assistant(call(f"c{n}")), user(result(f"c{n}", {"text": "x" * 300}), *([POINT] if n < 4 else []))]
        view = session.prepare(raw)
    assert session.report.evicted or any(report.evicted for report in session.reports)
    assert POINT not in [item for message in view for item in message["content"]]
    assert faults(view, "bedrock") == []


# Bytes


def test_old_bytes_come_back():
    """An old image becomes a line with a reference to its bytes; an evicted message is JSON text, bytes as base64."""
    session = ContextSession(PLAIN | {"budget": {"chars": 14_000}}, format="bedrock")
    raw = [user({"text": "See."}, IMAGE), YES, user({"text": "Now look for more."})]
    for n in range(30):
        raw += [assistant(REDACTED, call(f"c{n}")), user(result(f"c{n}", {"text": "x" * 300}))]
        session.prepare(raw)
    actions = [action for report in session.reports for action in report.actions]
    (image,) = [action for action in actions if action.reason.startswith("old payload")]
    assert session.recall(image.ref) == PNG
    gone = next(action for action in actions if action.stage == "evict")
    assert json.loads(session.recall(gone.ref)) == json.loads(wire_text(raw[gone.message : gone.last + 1]))


def test_bytes_outlive_a_dump():
    """In a view fed back, in what was renamed or cut: the same bytes, and a dict that looks like none is none."""
    trap = {"bytes": "AAEC", "$bytes": "AAEC"}
    raw = [user({"text": "See."}, IMAGE), assistant(REDACTED, call("a.b", note="y" * 3_000, trap=trap))]
    raw += [user(result("a.b", {"text": "x" * 20_000}, IMAGE))]
    session = ContextSession({"budget": {"chars": 60_000}}, format="bedrock")
    view = session.prepare(raw)
    saved = session.dump()
    loaded = ContextSession.load(saved)
    assert loaded.dump() == saved
    more = [assistant({"text": "Well."}), user({"text": "On."})]
    assert loaded.prepare([*view, *more]) == session.prepare([*view, *more])
    assert ContextSession.load(saved).prepare([*raw, *more]) == session.prepare([*view, *more])
    assert ContextSession.load(loaded.dump()).dump() == loaded.dump()


@pytest.mark.parametrize("blobs", [7, [7], [[]], [["pool", 99]], [["pool", 0, "whole"]], [["nothing"]]])
def test_a_dump_whose_bytes_do_not_fit(blobs):
    """A ConfigError says so."""
    session = ContextSession(format="bedrock")
    session.prepare([GO])
    with pytest.raises(ValueError, match="this dump is damaged"):
        ContextSession.load(json.dumps({**json.loads(session.dump()), "blobs": blobs}))


@pytest.mark.parametrize("format", ["anthropic", "openai-chat", "text"])
def test_bytes_are_refused_where_they_cannot_be_sent(format):
    """By index: other SDKs send JSON as it is."""
    message = {"role": "user", "content": "See.", "data": PNG}
    with pytest.raises(InvalidMessages, match=r"`messages\[0\]\.data` cannot be written as JSON"):
        ContextSession(format=format).prepare([message])


# What is refused


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"text": "a"}, ".content` must be a string or a list of blocks; got dict"),
        ([7], ".content[0]` must be a dict with one kind of content; got int"),
        ([{"text": "a", **POINT}], ".content[0]` must be a dict with one kind of content; got a dict with cachePoint"),
        ([{"text": 7}], ".content[0].text` must be a string; got int"),
        ([{"toolUse": "x"}], ".content[0].toolUse` must be a dict; got str"),
        ([{"toolUse": {"name": "x", "input": {}}}], ".content[0].toolUse.toolUseId` must be a string; got NoneType"),
        ([{"reasoningContent": {"a": {1}}}], ".content[0]` cannot be written as JSON"),
    ],
)
def test_what_no_repair_covers(content, words):
    """Named by index and key."""
    with pytest.raises(InvalidMessages, match=re.escape(f"`messages[1]{words}")):
        ContextSession(format="bedrock").prepare([GO, {"role": "assistant", "content": content}])


def test_a_system_message():
    """To be passed beside the list."""
    with pytest.raises(InvalidMessages, match="pass a system prompt as `system=`"):
        ContextSession(format="bedrock").prepare([{"role": "system", "content": [{"text": "Be brief."}]}])


# What botocore takes


@pytest.fixture(scope="module")
def sdk():
    """The check that botocore makes before it sends; a list of what it finds."""
    session = pytest.importorskip("botocore.session").get_session()
    shape = session.get_service_model("bedrock-runtime").operation_model("Converse").input_shape.members["messages"]
    validator = pytest.importorskip("botocore.validate").ParamValidator()
    return lambda messages: validator.validate(messages, shape).generate_report()


def known(message):
    """Return a message without the blocks and keys of the future that histories hold."""
    content = message["content"]
    if isinstance(content, str):
        return message
    items = [item for item in content if "futureBlock" not in item]
    return {**message, "content": [{key: item[key] for key in item if key != "x_unknown"} for item in items]}


@given(data=st.data())
def test_botocore_takes_every_view(sdk, data):
    """Whatever came in, at any budget."""
    raw = [known(message) for message in data.draw(histories("bedrock"))]
    chars = data.draw(st.sampled_from((1_000, 10_000, 90_000)))
    session = ContextSession({"budget": {"chars": chars, "on_exceeded": "report"}}, format="bedrock")
    for end in range(1, len(raw) + 1, 3):
        assert sdk(session.prepare(raw[:end])) == ""


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": ({"text": "Go."}, IMAGE)},
        {"role": "user", "content": [{"text": ""}, {"image": {"format": "png", "source": {"bytes": bytearray(PNG)}}}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "a.b:c", "name": "f", "input": [1, "x", None]}}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": ({"json": [1, "x"]},)}}]},
        {"role": "user", "content": []},
        {"role": "assistant", "content": [{"audio": {"format": "wav", "source": {"bytes": b"RIFF"}}}]},
    ],
)
def test_what_botocore_takes_is_never_refused(sdk, message):
    """It may be repaired."""
    assert sdk([message]) == ""
    assert sdk(ContextSession(format="bedrock").prepare([message])) == ""
