"""A session written down and read again gives the same bytes as one that went on."""

import json

import pytest
from histories import Call, Turn, ends, wire_text, write

from ga_context import ConfigError, ContextConfig, ContextSession, InvalidMessages, UnknownReference

FORMATS = ["anthropic", "openai-chat", "openai-responses", "gemini", "bedrock", "text"]
SMALL = {"budget": {"chars": 20_000}}
ASK = Turn("user", ("Do it.",))
YES = {"role": "assistant", "content": "Yes."}


def history(format, turns=100):
    """Return a history in which everything happens: long outputs, key_info, signed reasoning, lost and late results."""
    long = Turn("model", ("<summary>ran it</summary>",), (Call("code_run", output="x" * 12_000),))
    plain = Turn("model", ("Well.",), (Call("file_read", output="y" * 900),), reasoning=("signed",))
    three = Turn(
        "model", (), (Call("code_run", id="same", output="z" * 700), Call("web_scan"), Call("code_run", id="same"))
    )
    late = Turn("model", (), (Call("code_run", answer="late", late=3), Call("file_read", answer="missing")))
    notes = Turn("model", (), (Call("update_working_checkpoint", note="the port is 8080"),))
    word = Turn("user", ("And then sort it. " + "word " * 50,))
    cycle = [plain, three, notes, plain, long, plain, late, plain, word, three, plain]
    return write(format, [ASK, *[cycle[n % len(cycle)] for n in range(turns)]])


def as_bytes(view):
    """Return a view as it goes over the wire."""
    return wire_text(view, ensure_ascii=False)


@pytest.mark.parametrize("at", [0, 1, 17, 30, 46])
@pytest.mark.parametrize("format", FORMATS)
def test_the_same_bytes_for_the_next_fifty_turns(format, at):
    """With the raw list: dumped at one turn, loaded, and gone on."""
    raw = history(format)
    session, stops = ContextSession(SMALL, format=format), ends(raw)
    for end in stops[:at]:
        session.prepare(raw[:end])
    loaded = ContextSession.load(session.dump())
    for end in stops[at : at + 50]:
        assert as_bytes(loaded.prepare(raw[:end])) == as_bytes(session.prepare(raw[:end]))
        assert loaded.report.to_dict() | {"cached_share": 0} == session.report.to_dict() | {"cached_share": 0}


@pytest.mark.parametrize("at", [1, 17, 30, 46])
@pytest.mark.parametrize("format", FORMATS)
def test_the_same_bytes_with_the_view_fed_back(format, at):
    """The loop holds nothing but the last view and what is new."""
    raw = history(format)
    session, stops, view, seen = ContextSession(SMALL, format=format), ends(raw), [], 0
    for n, end in enumerate(stops[: at + 50]):
        if n == at:
            loaded = ContextSession.load(session.dump())
            other = json.loads(as_bytes(view))
        view = session.prepare([*view, *raw[seen:end]])
        if n >= at:
            other = loaded.prepare([*other, *raw[seen:end]])
            assert as_bytes(other) == as_bytes(view)
        seen = end


@pytest.mark.parametrize("format", FORMATS)
def test_dumped_every_turn(format):
    """Loaded and dumped sixty times over: the same bytes as never."""
    raw = history(format, 60)
    straight, session = ContextSession(SMALL, format=format), ContextSession(SMALL, format=format)
    for end in ends(raw):
        session = ContextSession.load(session.dump())
        assert as_bytes(session.prepare(raw[:end])) == as_bytes(straight.prepare(raw[:end]))


@pytest.mark.parametrize("format", FORMATS)
def test_the_same_list_again_after_loading(format):
    """Idempotent over the dump: no second pass in that turn, no second anchor."""
    raw = history(format)
    session = ContextSession(SMALL, format=format)
    for end in ends(raw)[:40]:
        view = session.prepare(raw[:end])
        loaded = ContextSession.load(session.dump())
        assert as_bytes(loaded.prepare(raw[:end])) == as_bytes(view)
        assert as_bytes(ContextSession.load(session.dump()).prepare(view)) == as_bytes(view)


@pytest.mark.parametrize("format", FORMATS)
def test_the_archive_comes_along(format):
    """Texts and bytes: whatever the session could recall."""
    raw = history(format, 40)
    session = ContextSession(SMALL, format=format)
    for end in ends(raw):
        session.prepare(raw[:end])
    loaded = ContextSession.load(session.dump())
    refs = [action.ref for report in session.reports for action in report.actions if action.ref]
    assert len(refs) > 20
    assert [loaded.recall(ref) == session.recall(ref) for ref in refs] == [True] * len(refs)


def test_archived_bytes_come_along():
    """An old image."""
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAEC/w=="}}
    raw = [{"role": "user", "content": [image]}, *[YES, {"role": "user", "content": "On."}] * 6]
    session = ContextSession()
    session.prepare(raw)
    (ref,) = [action.ref for action in session.report.actions]
    assert ContextSession.load(session.dump()).recall(ref) == b"\x00\x01\x02\xff"


@pytest.mark.parametrize("format", FORMATS)
def test_without_the_archive(format):
    """Smaller, the same bytes with the raw list; what was cut cannot be had back."""
    raw = history(format)
    session, stops = ContextSession(SMALL, format=format), ends(raw)
    for end in stops[:30]:
        session.prepare(raw[:end])
    ref = next(action.ref for report in session.reports for action in report.actions if action.ref)
    small = session.dump(archive=False)
    assert "x" * 9_000 not in small
    assert len(small) < 0.6 * len(session.dump())
    loaded = ContextSession.load(small)
    with pytest.raises(UnknownReference):
        loaded.recall(ref)
    for end in stops[30:50]:
        assert as_bytes(loaded.prepare(raw[:end])) == as_bytes(session.prepare(raw[:end]))


@pytest.mark.parametrize("format", FORMATS)
def test_a_rollback_after_loading(format):
    """As in the session that was dumped: the view of that turn, and the same bytes from there on."""
    raw = history(format, 50)
    session, stops = ContextSession(SMALL, format=format), ends(raw)
    seen = [as_bytes(session.prepare(raw[:end])) for end in stops[:40]]
    loaded = ContextSession.load(session.dump())
    assert as_bytes(loaded.prepare(raw[: stops[25]])) == seen[25]
    assert [as_bytes(loaded.prepare(raw[:end])) for end in stops[26:40]] == seen[26:40]


@pytest.mark.parametrize("seen", [0, 29])
def test_a_refused_list_after_loading_loses_nothing(seen):
    """The dump is still there for the list that continues it."""
    raw = history("openai-chat", 40)
    session, stops = ContextSession(SMALL, format="openai-chat"), ends(raw)
    for end in stops[:30]:
        session.prepare(raw[:end])
    loaded = ContextSession.load(session.dump())
    with pytest.raises(InvalidMessages, match="nobody"):
        loaded.prepare([*raw[: stops[seen]], {"role": "nobody"}])
    assert as_bytes(loaded.prepare(raw[: stops[30]])) == as_bytes(session.prepare(raw[: stops[30]]))


def test_a_list_that_does_not_continue_it():
    """It is read from its start; key_info stays."""
    session = ContextSession(format="openai-chat")
    session.update_key_info("port 8080")
    session.prepare([{"role": "user", "content": "Go."}])
    other = write("openai-chat", [ASK, Turn("model", (), (Call(),))])
    view = ContextSession.load(session.dump()).prepare(other)
    assert view[:3] == other
    assert "port 8080" in view[3]["content"]


def test_what_a_dump_holds():
    """Format, config, key_info, usage; it is JSON, and the same each time."""
    session = ContextSession(SMALL | {"compact": {"interval": 7}}, format="text")
    session.update_key_info("port 8080")
    session.record_usage({"input_tokens": 5})
    data = session.dump()
    loaded = ContextSession.load(data)
    assert (loaded.format, loaded.config, loaded.usage) == ("text", session.config, {"input_tokens": 5})
    assert isinstance(json.loads(data), dict)
    assert loaded.dump() == session.dump() == data
    assert ContextSession.load(loaded.dump()).dump() == data


def test_key_info_before_the_first_list():
    """Said to the loaded session, it is in the next anchor."""
    raw = write("openai-chat", [ASK, Turn("model", (), (Call(),))])
    session = ContextSession(format="openai-chat")
    session.prepare(raw)
    loaded = ContextSession.load(session.dump())
    loaded.update_key_info("port 8080")
    assert "<key_info>\nport 8080\n</key_info>" in loaded.prepare(raw)[-1]["content"]


@pytest.mark.parametrize("format", FORMATS)
def test_another_config(format):
    """It holds for what comes; what was sent keeps its bytes until something else breaks them."""
    raw = history(format, 9)
    session, stops = ContextSession(format=format), ends(raw)
    for end in stops[:3]:
        view = session.prepare(raw[:end])
    config = ContextConfig(tools={"*": 300}, anchor={"placement": "off"})
    loaded = ContextSession.load(session.dump(), config=config)
    assert loaded.config == config
    assert loaded.prepare(raw[: stops[3]])[: len(view) - 1] == view[:-1]


def test_a_smaller_budget_is_kept():
    """Shrunk before the dump, shrunk after it."""
    session, raw = ContextSession({"budget": {"chars": 10_000}}), [{"role": "user", "content": "Go."}]
    session.prepare(raw, shrink=0.5)
    loaded = ContextSession.load(session.dump())
    loaded.prepare([*raw, YES])
    assert loaded.report.budget_chars == 5_000


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda data: "", "not JSON"),
        (lambda data: data[:-9], "not JSON"),
        (lambda data: "[]", "damaged"),
        (lambda data: "{}", "damaged"),
        (lambda data: json.dumps({**json.loads(data), "version": 99}), "version 99"),
        (lambda data: json.dumps({**json.loads(data), "more": 1}), "`more`"),
        (lambda data: json.dumps({**json.loads(data), "sizes": "x"}), "`sizes`"),
        (lambda data: json.dumps({**json.loads(data), "marks": {}}), "damaged"),
        (lambda data: json.dumps({**json.loads(data), "format": "morse"}), "morse"),
        (lambda data: json.dumps({**json.loads(data), "config": {"budget": {"chars": -1}}}), "budget.chars"),
        (lambda data: json.dumps({**json.loads(data), "binary": {"0" * 16: "no base64!"}}), "damaged"),
    ],
)
def test_a_damaged_dump(damage, words):
    """A ConfigError that says what is wrong."""
    session = ContextSession(format="openai-chat")
    session.prepare([{"role": "user", "content": "Go."}])
    with pytest.raises(ConfigError, match=words):
        ContextSession.load(damage(session.dump()))


@pytest.mark.parametrize("key", ["rows", "calls", "lines", "pairs"])
def test_damage_that_shows_later(key):
    """Found when the dump is read or, at the latest, when its first list comes: a ConfigError, no other error."""
    raw = history("openai-chat", 6)
    session = ContextSession(format="openai-chat")
    session.prepare(raw)
    saved = json.loads(session.dump())
    saved[key] = [[7, 7_000]] if key == "pairs" else [{"nothing": 1}]
    with pytest.raises(ConfigError):
        ContextSession.load(json.dumps(saved)).prepare(raw)


@pytest.mark.parametrize("originals", [True, False])
def test_reasoning_that_waits_for_what_follows_it_comes_along(originals):
    """It is not in the view: with the originals it comes back with what follows it, without them it is gone."""
    ask = {"type": "message", "role": "user", "content": "Well."}
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
    reply = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Well."}], "id": "m_1"}
    session = ContextSession({"anchor": {"placement": "off"}}, format="openai-responses")
    view = session.prepare(session.prepare([ask, reasoning]))
    loaded = ContextSession.load(session.dump(archive=originals))
    assert loaded.prepare(view) == view == [ask]
    assert session.prepare([*view, reply]) == [ask, reasoning, reply]
    assert loaded.prepare([*view, reply]) == ([ask, reasoning, reply] if originals else [ask, reply])


def test_an_empty_call_id_is_not_taken_for_an_empty_result():
    """What a block is told apart by stands under its own key: here id and mended content are the same text."""
    calls = [{"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}} for id in ("a", "")]
    raw = [
        {"role": "assistant", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "a", "content": "x"},
        {"role": "tool", "tool_call_id": "", "content": None},
    ]
    session = ContextSession({"anchor": {"placement": "off"}}, format="openai-chat")
    view = session.prepare(raw)
    assert view[2] == {"role": "tool", "tool_call_id": "", "content": ""}
    assert ContextSession.load(session.dump()).prepare(raw) == view


def test_a_dump_that_was_changed_is_refused():
    """Though all its parts fit together."""
    session = ContextSession(format="anthropic")
    session.prepare(history("anthropic", 4))
    dump = json.loads(session.dump())
    dump["now"]["marks"]["responses"] += 1
    with pytest.raises(ConfigError, match="it was changed after it was written"):
        ContextSession.load(json.dumps(dump))
