"""Gemini: where texts, calls and results stand, how a new text goes back, and which result answers which call."""

import json
from itertools import pairwise

import pytest
from histories import Call, Turn, histories, write
from hypothesis import given
from hypothesis import strategies as st
from oracle import faults, relation_faults

from ga_context import ContextSession, InvalidMessages, size
from ga_context.formats import make
from ga_context.payload.charge import Charges
from ga_context.text.window import Cut

FMT = make("gemini", Charges())
PLAIN = {"anchor": {"placement": "off"}}
GO = {"role": "user", "parts": [{"text": "Go."}]}
YES = {"role": "model", "parts": [{"text": "Yes."}]}
IMAGE = {"inlineData": {"mimeType": "image/png", "data": "A" * 1_000}}
SDK_IMAGE = {"inline_data": {"data": b"\x89PNG" * 250, "mime_type": "image/png", "display_name": None}}
FILE = {"fileData": {"mimeType": "application/pdf", "fileUri": "https://example.com/a.pdf"}}
DEEP = {"code": "1", "deep": [{"a": "x"}, 2]}
LONG = "a" * 9_000 + "z" * 9_000


def model(*parts):
    """Return a content of the model's."""
    return {"role": "model", "parts": list(parts)}


def user(*parts):
    """Return a content of the user's."""
    return {"role": "user", "parts": list(parts)}


def call(name="f", args=None, id=None, **keys):
    """Return a call; without an id as in lists that were made for older models."""
    return {"functionCall": {**({"id": id} if id else {}), "name": name, "args": {} if args is None else args}, **keys}


def result(response, name="f", id=None, **keys):
    """Return a result; a text is its output."""
    output = {"output": response} if isinstance(response, str) else response
    return {"functionResponse": {**({"id": id} if id else {}), "name": name, "response": output, **keys}}


def blocks(role, *parts):
    """Return the blocks of a content as the format reads them."""
    return FMT.read(0, {"role": role, "parts": list(parts)}, 0).blocks


def cut(block, path, text):
    """Return the wire of a block with a text in the place of another."""
    return FMT.render(block, cuts=((path, Cut((text,), 0)),)).wire


def prepared(raw, config=PLAIN):
    """Return the view and the report of a list, which the oracle finds legal."""
    session = ContextSession(config, format="gemini")
    view = session.prepare(raw)
    assert faults(view, "gemini") == []
    assert relation_faults(raw, view, "gemini") == []
    return view, session.report


# What a part is


@pytest.mark.parametrize(
    ("role", "part", "kind"),
    [
        ("user", {"text": "Go."}, "text"),
        ("model", call(), "call"),
        ("model", {"function_call": {"id": None, "name": "f", "args": None}, "text": None}, "call"),
        ("model", {"functionCall": {"name": "f"}, "text": ""}, "call"),
        ("user", result("x"), "result"),
        ("user", {"function_response": {"name": "f", "response": {}}}, "result"),
        ("function", result("x"), "result"),
        ("model", {"text": "So.", "thought": True}, "reasoning"),
        ("model", {"text": "So.", "thought": None}, "text"),
        ("user", IMAGE, "payload"),
        ("user", SDK_IMAGE, "payload"),
        ("user", FILE, "payload"),
        ("model", {"executableCode": {"language": "PYTHON", "code": "1"}}, "other"),
        ("model", {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}, "other"),
        ("model", {"toolCall": {"id": "t", "toolType": "GOOGLE_SEARCH_WEB", "args": {}}}, "other"),
        ("user", {"futurePart": {"text": ""}}, "other"),
    ],
)
def test_kinds(role, part, kind):
    """In both spellings, whatever keys are unset; a block is the caller's own object."""
    (block,) = blocks(role, part)
    assert block.kind == kind
    assert block.wire is part


def test_any_part_may_be_signed():
    """An empty signature is none."""
    parts = [{"text": "a"}, call(), {"text": "", "thought": True}, IMAGE]
    signed = [{**parts[0], "thoughtSignature": "s"}, {**parts[1], "thought_signature": b"s"}]
    signed += [{**part, "thoughtSignature": "s"} for part in parts[2:]]
    assert [block.sealed for block in blocks("model", *signed)] == [True] * 4
    assert [block.sealed for block in blocks("model", *parts, {"text": "b", "thought_signature": b""})] == [False] * 5


@pytest.mark.parametrize(
    ("message", "where"),
    [
        ({"role": "system", "parts": [{"text": "Rule."}]}, r"messages\[0\].role.*pass a system prompt as `system=`"),
        ({"role": "assistant", "parts": []}, r"messages\[0\].role. is 'assistant'; gemini knows 'user' and 'model'"),
        ({"role": "user", "content": "Go."}, r"messages\[0\].parts. must be a list of dicts"),
        ({"role": "user", "parts": "Go."}, r"messages\[0\].parts. must be a list of dicts .*; got 'Go.'"),
        (user({"text": 1}), r"messages\[0\].parts\[0\].text. must be a string; got int"),
        (user("Go."), r"messages\[0\].parts\[0\]. must be a dict; got str"),
        (
            model({**call(), **result("x")}),
            r"messages\[0\].parts\[0\].functionCall. must be alone in its part",
        ),
        (user(result("x", id=5)), r"messages\[0\].parts\[0\].functionResponse.id. must be a string; got int"),
        (model(call("", thoughtSignature="s")), r"messages\[0\].parts\[0\].functionCall.name. must not be missing"),
        (model({"functionCall": "f"}), r"messages\[0\].parts\[0\].functionCall. must be a dict; got str"),
        (
            model({"functionCall": {"name": "f", "args": "{"}, "thoughtSignature": "s"}),
            r"messages\[0\].parts\[0\].functionCall.args. must be a dict, as its part is signed; got str",
        ),
    ],
)
def test_what_cannot_be_mended_is_refused_by_its_place(message, where):
    """With what is allowed."""
    with pytest.raises(InvalidMessages, match=where):
        ContextSession(format="gemini").prepare([message])


def test_a_missing_role_is_the_users():
    """Unset or None, as the API has it."""
    raw = [{"parts": [{"text": "Go."}]}, YES, {"role": None, "parts": [{"text": "On."}]}]
    view, report = prepared(raw)
    assert [a is b for a, b in zip(view, raw, strict=True)] == [True] * 3
    assert report.repairs == []


# Texts, and back again


def test_texts_and_their_paths():
    """Of a call the strings in its arguments; of a result its one text, else all of it as JSON."""
    (called,) = blocks("model", call(args=DEEP))
    (plain,) = blocks("user", result({"output": "x", "exit_code": 0, "done": None}))
    (two,) = blocks("user", result({"stdout": "x", "stderr": "y"}))
    (nested,) = blocks("user", result({"output": "x", "rows": [1, 2.50]}))
    assert FMT.texts(called, -1) == [(("code",), "1"), (("deep", 0, "a"), "x")]
    assert FMT.texts(plain) == [(("output",), "x")]
    assert FMT.texts(two) == [((), '{"stdout": "x", "stderr": "y"}')]
    assert FMT.texts(nested) == [((), '{"output": "x", "rows": [1, 2.5]}')]
    assert FMT.texts(*blocks("user", result({}))) == []
    assert [FMT.is_json(block, path) for block in (plain, two) for path, _ in FMT.texts(block)] == [False, True]


@pytest.mark.parametrize("snake", [False, True])
def test_a_new_text_goes_back_along_its_path(snake):
    """Spelling, key order and unknown keys intact, the caller's dict untouched."""
    key = "function_call" if snake else "functionCall"
    item = {"x_key": 1, key: {"zeta": 2, "name": "f", "args": DEEP}}
    before = json.dumps(item)
    (block,) = blocks("model", item)
    wire = cut(block, ("deep", 0, "a"), "new")
    assert wire == {"x_key": 1, key: {"zeta": 2, "name": "f", "args": {"code": "1", "deep": [{"a": "new"}, 2]}}}
    assert list(wire) == list(item)
    assert json.dumps(item) == before


@pytest.mark.parametrize(
    ("response", "path", "text", "expected"),
    [
        ({"output": "x", "exit_code": 0}, ("output",), "new", {"output": "new", "exit_code": 0}),
        ({"a": "x", "b": [1, 2.5]}, (), '{"a": "n", "b": [1, 2.5]}', {"a": "n", "b": [1, 2.5]}),
        ({"a": "x", "b": [1, 2.5]}, (), '{"a": "x", ...', {"output": '{"a": "x", ...'}),
    ],
)
def test_a_response_stays_an_object(response, path, text, expected):
    """Cut in its one text, or in its JSON; what parses no more is told as the output."""
    (block,) = blocks("user", result(response, id="c1"))
    assert cut(block, path, text) == result(expected, id="c1")


def test_results_over_the_limit():
    """The usual text is cut by the limit of its tool, marker included; a response of numbers stays an object too."""
    raw = [GO, model(call("f"), call("g")), user(result(LONG, "f"), result(LONG, "g"))]
    view, report = prepared(raw, PLAIN | {"tools": {"f": 20_000}})
    assert view[2]["parts"][0] is raw[2]["parts"][0]
    text = view[2]["parts"][1]["functionResponse"]["response"]["output"]
    assert 9_990 < len(text) <= 10_000
    assert text.startswith("a" * 4_000)
    assert text.endswith("z" * 4_000)
    assert [(a.stage, a.message, a.part) for a in report.actions] == [("truncate", 2, "1.output")]
    view, _ = prepared([GO, model(call()), user(result({"rows": list(range(5_000))}))])
    rows = view[2]["parts"][0]["functionResponse"]["response"]["rows"]
    assert (rows[:3], rows[-2:]) == ([0, 1, 2], [4_998, 4_999])
    assert 9_900 < len(json.dumps({"rows": rows})) <= 10_000


def test_numbers_are_never_altered():
    """Whole or gone: what is left of a response that was cut holds the same numbers."""
    numbers = {"id": 12345678901234567890, "share": 0.1, "text": "x" * 20_000, "more": {"y": "y" * 20_000}}
    view, _ = prepared([GO, model(call()), user(result(numbers))])
    response = view[2]["parts"][0]["functionResponse"]["response"]
    assert {key: response[key] for key in ("id", "share")} == {key: numbers[key] for key in ("id", "share")}
    assert list(response) == list(numbers)
    assert len(json.dumps(response)) <= 10_000


# Images


@pytest.mark.parametrize("image", [IMAGE, SDK_IMAGE])
def test_an_image_becomes_a_text(image):
    """Base64 or bytes; the reference gives the bytes."""
    raw = [user(image, {"text": "See."}), *[YES, GO] * 6]
    session = ContextSession(PLAIN, format="gemini")
    first = session.prepare(raw)[0]["parts"][0]
    data = next(iter(image.values()))["data"]
    assert first["text"].startswith("[image omitted; saved: ref ")
    assert session.recall(first["text"].split()[-1][:-1]) == (data if isinstance(data, bytes) else b"\0" * 750)


def test_an_image_in_a_result_becomes_a_note_in_its_response():
    """Where only files may stand beside the response; the others stay."""
    two = [IMAGE, {"x": 1}]
    raw = [GO, model(call()), user(result({"output": "seen"}, parts=two)), *[YES, GO] * 6]
    view, _ = prepared(raw)
    response = view[2]["parts"][0]["functionResponse"]
    assert response["parts"] == two[1:]
    assert response["response"]["output"].startswith("seen\n\n[image omitted; saved: ref ")
    raw[2] = user(result({"rows": [1], "note": 2}, parts=(IMAGE,)))
    response = prepared(raw)[0][2]["parts"][0]["functionResponse"]
    assert "parts" not in response
    assert response["response"]["note_"].startswith("[image omitted; saved: ref ")
    assert response["response"]["rows"] == [1]


def test_payloads_count_as_their_charge():
    """Base64 and bytes alike, in a result too; signatures in bytes count as base64."""
    bare = len(json.dumps(user({"inlineData": {"mimeType": "image/png", "data": ""}})))
    assert size([user(IMAGE)]) == bare + 4_800
    bare = len(json.dumps(user({"inline_data": {**SDK_IMAGE["inline_data"], "data": ""}})))
    assert size([user(SDK_IMAGE)]) == bare + 4_800
    inner = user(result("x", parts=[{"inlineData": {"mimeType": "image/png", "data": ""}}]))
    assert size([user(result("x", parts=[IMAGE]))]) == len(json.dumps(inner)) + 4_800
    signed = {"text": "a", "thought_signature": "c2ln" * 2}
    assert size([model({**signed, "thought_signature": b"sigsig"})]) == len(json.dumps(model(signed)))


@pytest.mark.parametrize(
    "message",
    [
        user({"text": 'quotes " and \n and é'}, {"futurePart": {"x": 1}}, result({"a": [1.5, None]})),
        model({"text": "x" * 900, "thought": True, "thoughtSignature": "y"}, call(args=DEEP)),
        {"parts": [{"text": "Go."}], "x_key": "é"},
        {"role": None, "parts": []},
        {"role": "user"},
    ],
)
def test_size_is_the_length_as_json(message):
    """Measured block by block, the sum is what the whole message takes."""
    assert FMT.read(0, message, 0).size == len(json.dumps(message, ensure_ascii=False))


# Signed parts


def test_a_signed_part_is_never_edited():
    """Not by a pass nor to save the budget, whatever it holds; beside it old texts are cut."""
    signature = {"thoughtSignature": "s" * 900}
    parts = [
        {"text": LONG, "thought": True, **signature},
        {"text": f"<think>{LONG}</think>", **signature},
        {**IMAGE, **signature},
        call(args={"code": LONG}, **signature),
        call(args={"code": LONG}),
    ]
    raw = [GO, model(*parts), user(result(LONG), result("ok")), *[YES, GO] * 8]
    view, _ = prepared(raw, PLAIN | {"budget": {"chars": 200_000}})
    assert [a is b for a, b in zip(view[1]["parts"], parts, strict=True)] == [True] * 4 + [False]
    assert len(view[1]["parts"][4]["functionCall"]["args"]["code"]) == 800
    config = PLAIN | {"budget": {"chars": 60_000, "on_exceeded": "report"}}
    view, _ = prepared(raw[:3], config)
    assert [a is b for a, b in zip(view[1]["parts"][:4], parts, strict=False)] == [True] * 4


def test_a_signature_leaves_only_with_its_exchange():
    """No pass drops signed thoughts; an eviction takes call, thought and result at once."""
    thought = {"text": "why " * 200, "thought": True, "thoughtSignature": "s"}
    raw = [GO]
    for n in range(30):
        raw += [model(thought, call(id=f"c{n}", thoughtSignature=f"s{n}")), user(result("x" * 400, id=f"c{n}"))]
    session = ContextSession({"budget": {"chars": 15_000}}, format="gemini")
    for end in range(1, len(raw) + 1, 2):
        view = session.prepare(raw[:end])
        assert faults(view, "gemini") == []
        assert relation_faults(raw[:end], view, "gemini") == []
        spoken = [message for message in view if message["role"] == "model"]
        assert all(message["parts"][0] == thought for message in spoken)
    assert any(report.evicted for report in session.reports)
    assert len(spoken) < 15


def test_a_signed_call_keeps_the_id_it_shows():
    """Of two calls with one id the other is renamed, and its result with it."""
    calls = [call(args={"n": 1}, id="c", thoughtSignature="s"), call("g", {"n": 2}, id="c")]
    raw = [GO, model(*calls), user(result("two", "g", id="c"), result("one", id="c"))]
    view, report = prepared(raw)
    assert view[1]["parts"] == [calls[0], call("g", {"n": 2}, id="c_2")]
    assert view[2]["parts"] == [result("two", "g", id="c_2"), result("one", id="c")]
    assert [action.reason for action in report.repairs] == ["call id 'c' sent as 'c_2'", "answers a renamed call"]


def test_two_signed_calls_without_ids():
    """Both stay as they are, each with its own result; a missing one is still missed."""
    calls = [call(args={"n": n}, thoughtSignature=f"s{n}") for n in (1, 2)]
    raw = [GO, model(*calls), user(result("one"), result("two"))]
    view, report = prepared(raw)
    assert [a is b for a, b in zip(view, raw, strict=True)] == [True] * 3
    assert report.repairs == []
    view, _ = prepared([GO, model(*calls), user(result("one")), GO])
    assert view[2]["parts"] == [result("one"), result({"error": "[no result: this call was never answered]"})]


# Which result answers which call


def answers(*contents):
    """Return what answers what in the view of a list: the outputs of the results behind each content with calls."""
    view, _ = prepared([GO, *contents])
    said = []
    for message, after in pairwise(view):
        calls = [part["functionCall"]["args"].get("n") for part in message["parts"] if "functionCall" in part]
        outputs = [part["functionResponse"]["response"].get("output") for part in after["parts"] if calls]
        said += [dict(zip(calls, outputs, strict=True))] if calls else []
    return said


def test_by_order_where_no_ids_are_shown():
    """Of one name the first result answers the first call, and nothing is renamed."""
    calls = model(call(args={"n": 1}), call(args={"n": 2}), call("g", {"n": 3}))
    assert answers(calls, user(result("1"), result("2"), result("3", "g"))) == [{1: "1", 2: "2", 3: "3"}]


def test_by_name_where_no_ids_are_shown():
    """A result of another order finds the call of its tool; later turns are not confused with it."""
    both = [model(call("f", {"n": 1}), call("g", {"n": 2})), user(result("2", "g"), result("1", "f"))]
    raw = [GO, *both, *both]
    view, report = prepared(raw)
    assert [a is b for a, b in zip(view, raw, strict=True)] == [True] * 5
    assert report.repairs == []


@pytest.mark.parametrize(
    ("called", "answered"),
    [({"id": "c"}, {}), ({}, {"id": "c"}), ({"id": "c"}, {"id": "c"})],
)
def test_an_id_on_one_side_only(called, answered):
    """The name tells; nobody's id is changed."""
    raw = [GO, model(call(**called)), user(result("x", **answered))]
    view, report = prepared(raw)
    assert [a is b for a, b in zip(view, raw, strict=True)] == [True] * 3
    assert report.repairs == []


def test_another_id_is_an_orphan():
    """Told as text, behind the placeholder of the call that it did not answer."""
    view, _ = prepared([GO, model(call(id="c")), user(result("x", id="d"))])
    assert view[2]["parts"] == [result({"error": "[no result: this call was never answered]"}, id="c")]
    assert view[3] == user({"text": "result of f: x"})


def test_a_late_result_of_an_older_turn():
    """It goes to its call, not to a newer one of the same tool that has its result."""
    late = [model(call(args={"n": 1})), GO, model(call(args={"n": 2})), user(result("2")), user(result("1"))]
    view, report = prepared([GO, *late])
    assert [message["parts"] for message in view[2:6]] == [[result("1")], GO["parts"], late[2]["parts"], [result("2")]]
    assert [action.reason for action in report.repairs] == ["came late; moved to its call"]


def test_results_of_one_turn_in_contents_of_their_own():
    """Become one content, as many results as calls."""
    raw = [GO, model(call("f"), call("g")), {"role": "function", "parts": [result("1", "f")]}, user(result("2", "g"))]
    view, _ = prepared(raw)
    assert view[2] == {"role": "function", "parts": [result("1", "f"), result("2", "g")]}
    assert len(view) == 3


def test_a_result_that_shows_another_name():
    """With the id of its call it is the call's result, by the call's name; without a response it has an empty one."""
    raw = [GO, model(call("f", id="c")), user({"functionResponse": {"id": "c", "name": "old_f"}})]
    view, _ = prepared(raw)
    assert view[2]["parts"] == [{"functionResponse": {"id": "c", "name": "f", "response": {}}}]


@pytest.mark.parametrize("key", ["functionCall", "function_call"])
def test_a_placeholder_is_spelled_like_its_call(key):
    """And shows the id that the call shows."""
    raw = [GO, model({key: {"id": "c", "name": "f", "args": {}}}), GO]
    (part,) = prepared(raw)[0][2]["parts"]
    body = {"id": "c", "name": "f", "response": {"error": "[no result: this call was never answered]"}}
    assert part == {key.replace("Call", "Response").replace("_call", "_response"): body}


def test_open_calls_are_pending():
    """By their ids, or by their names."""
    session = ContextSession(format="gemini")
    session.prepare([GO, model(call(id="c"), call("g"))])
    assert session.report.pending == ["c", "g()"]


# Valid whatever came in


def test_results_stand_alone():
    """Newer models refuse a content in which a text follows a result; the user's text becomes a content of its own."""
    raw = [GO, model(call()), user({"text": "First."}, result("x"), {"text": "Well?"}, IMAGE)]
    view, report = prepared(raw)
    assert view[2:] == [user(result("x")), user({"text": "First."}, {"text": "Well?"}, IMAGE)]
    assert [action.reason for action in report.repairs] == ["results in a message of their own"]


def test_what_stands_on_the_wrong_side_is_told():
    """A call by the user, a result by the model: the provider counts calls and results by their place."""
    view, _ = prepared([user({"text": "Go."}, call(args={"n": 1})), model({"text": "Yes."}, result("x")), GO])
    assert view[0] == user({"text": "Go."}, {"text": 'call of f: {"n": 1}'})
    assert view[1] == model({"text": "Yes."}, {"text": "result of f: x"})


def test_neighbours_of_one_role_become_one():
    """But results and what the user says next stay two contents: a call turn may follow either."""
    raw = [GO, GO, model({"text": "So.", "thoughtSignature": "s"}), model(call()), user(result("x")), GO, GO]
    view, _ = prepared(raw)
    assert [message["role"] for message in view] == ["user", "model", "user", "user"]
    assert view[1]["parts"] == [*raw[2]["parts"], *raw[3]["parts"]]
    assert view[3]["parts"] == [*GO["parts"], *GO["parts"]]


@pytest.mark.parametrize(
    ("args", "expected"),
    [(None, {}), ("", {}), ('{"a": ', {"_raw": '{"a": '}), ([1], {"_raw": [1]}), ({"a": 1}, {"a": 1})],
)
def test_arguments_are_an_object(args, expected):
    """Broken ones are kept as text under one key; a signed call without any stays as it came."""
    view, _ = prepared([GO, model({"functionCall": {"name": "f", "args": args}}), user(result("x"))])
    assert view[1]["parts"] == [call("f", expected)]
    signed = {"functionCall": {"name": "f"}, "thoughtSignature": "s"}
    view, _ = prepared([GO, model(signed), user(result("x"))])
    assert view[1]["parts"][0] is signed


@pytest.mark.parametrize("part", [{"text": ""}, {"text": "", "thought": True}, {"text": None, "inlineData": None}, {}])
def test_parts_that_hold_nothing_go(part):
    """The API refuses them; but for an empty text with a signature, as streams end in."""
    view, _ = prepared([GO, model(part, call()), user(result("x"), part), model(part), GO])
    assert view == [GO, model(call()), user(result("x")), GO]
    raw = [GO, model({"text": "Yes."}, {"text": "", "thoughtSignature": "s"}), GO]
    assert all(a is b for a, b in zip(prepared(raw)[0], raw, strict=True))


def test_server_items_pass_as_they_are():
    """Code that the provider ran, however long and old, with what came of it."""
    ran = [
        {"executableCode": {"language": "PYTHON", "code": "x" * 5_000}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "y" * 5_000}},
        {"toolCall": {"id": "t", "toolType": "GOOGLE_SEARCH_WEB", "args": {"q": "z" * 5_000}}},
    ]
    raw = [GO, model(*ran, {"text": "Yes."}), *[GO, YES] * 8, GO]
    assert prepared(raw)[0][1] is raw[1]


def test_the_first_content_is_the_users():
    """Placeholder before a list that starts with the model; no result first after an eviction."""
    view, _ = prepared([YES, GO])
    assert view[0] == user({"text": "[the conversation starts with the assistant]"})
    raw = [user({"text": "word " * 900})]
    for n in range(8):
        raw += [model(call(args={"n": n})), user(result("x" * 900))]
    view, report = prepared([*raw, YES, GO], PLAIN | {"budget": {"chars": 6_000}})
    assert report.evicted is not None
    assert list(view[0]["parts"][0]) == ["text"]


def test_the_anchor_comes_behind_the_results():
    """As a content of its own, at every turn, that goes with its exchange and leaves the results alone."""
    raw = write("gemini", [Turn("user", ("Do it.",)), *[Turn("model", (), (Call(output="x" * 900),))] * 40])
    session = ContextSession({"budget": {"chars": 12_000}}, format="gemini")
    for end in range(1, len(raw) + 1, 2):
        view = session.prepare(raw[:end])
        assert faults(view, "gemini") == []
        if end > 1:
            assert view[-2] is raw[end - 1]
            assert view[-1]["parts"][0]["text"].startswith("[working memory of this session")
    assert len(view) < 30


# What the SDK hands out


def test_bytes_go_through_everything():
    """Signatures and images as the SDK dumps them: cut, evicted, recalled, written down and read again."""
    raw = [{"role": "user", "parts": [{"text": "Go."}, SDK_IMAGE]}]
    for n in range(12):
        said = {"text": "t" * 900, "thought": True, "thought_signature": bytes([n]) * 30}
        raw.append(model(said, {"function_call": {"name": "f", "args": {"n": n}}, "thought_signature": b"s"}))
        raw.append(user({"function_response": {"name": "f", "response": {"result": "x" * 900}}}))
    session = ContextSession({"budget": {"chars": 9_000}}, format="gemini")
    loaded = session
    for end in range(1, len(raw) + 1, 2):
        view = session.prepare(raw[:end])
        assert loaded.prepare(raw[:end]) == view
        loaded = ContextSession.load(session.dump())
    last = next(message for message in reversed(view) if message["role"] == "model")
    assert last["parts"][0]["thought_signature"] == bytes([11]) * 30
    gone = [action for report in session.reports for action in report.actions if action.last is not None]
    assert '"thought_signature": "AAAA' in session.recall(gone[0].ref)


@given(data=st.data())
def test_the_sdk_takes_every_view(data):
    """Whatever came in: each content parses as the type that google-genai sends."""
    types = pytest.importorskip("google.genai.types")
    raw = [
        {**message, "parts": [part for part in message.get("parts", ()) if "futurePart" not in part]}
        for message in data.draw(histories("gemini"))
    ]
    for message in ContextSession({"budget": {"chars": 20_000, "on_exceeded": "report"}}, format="gemini").prepare(raw):
        types.Content.model_validate(message)


def test_a_session_with_everything_is_sent_as_it_is():
    """Within every limit nothing is touched: the same objects, the format found by itself."""
    raw = [
        user({"text": "Go."}, IMAGE, FILE),
        model({"text": "So.", "thought": True}, {"text": "I look.", "thoughtSignature": "s"}, call("f", DEEP, id="c")),
        user(result({"rows": [1, {"a": None}]}, id="c", parts=[IMAGE])),
        model({"text": "Yes."}, {"text": "", "thought_signature": b"s"}),
        user(FILE, {"text": "Thanks."}),
    ]
    session = ContextSession(PLAIN)
    view = session.prepare(raw)
    assert session.format == "gemini"
    assert [a is b for a, b in zip(view, raw, strict=True)] == [True] * 5
    assert session.report.actions == []
