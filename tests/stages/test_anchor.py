"""Stage 4: a block of working memory stands where the model reads next, and repays what was evicted."""

import json
import re

import pytest
from histories import Call, Turn, ends, write
from oracle import faults, outputs

from ga_context import ContextSession

FORMATS = ["anthropic", "openai-chat", "openai-responses", "gemini", "bedrock", "text"]
ASK = Turn("user", ("Do it.",))
ROUND = Turn("model", (), (Call("code_run", output="x" * 400, named=False),), named=False)
TITLE = "[working memory of this session: earlier messages may be shortened or left out]"
FIRST = f"{TITLE}\n<history>\n[user] Do it.\n[1] | code_run src/part_00100.py\n</history>\nCurrent turn: 2"


def anchor_of(format, view):
    """Return the anchor at the end of a view, or None; and the view's last message of the caller's."""
    last = view[-1]
    if format == "gemini":
        said = last["parts"][-1].get("text", "")
        return said if said.startswith(TITLE) else None
    if format in ("anthropic", "bedrock"):
        block = last["content"][-1] if isinstance(last["content"], list) else {"type": "text", "text": ""}
        return block.get("text") if block.get("text", "").startswith(TITLE) else None
    found = re.search(re.escape(TITLE) + r".*\Z", str(last.get("content")), re.DOTALL)
    return found[0] if found and last["role"] == "user" else None


def lines_of(anchor):
    """Return the lines of the history in an anchor."""
    return re.search("<history>\n(.*)\n</history>", anchor, re.DOTALL)[1].split("\n")


def turn_by_turn(session, raw):
    """Prepare before each model message, and at the end; return the last view."""
    for end in ends(raw):
        view = session.prepare(raw[:end])
    return view


def anthropic(*rounds, ask="Do it."):
    """Return a request and rounds of (what the model says, calls as pairs (tool, input))."""
    raw = [{"role": "user", "content": ask}]
    for n, (said, calls) in enumerate(rounds):
        uses = [
            {"type": "tool_use", "id": f"c{n}_{i}", "name": tool, "input": given}
            for i, (tool, given) in enumerate(calls)
        ]
        raw.append({"role": "assistant", "content": [{"type": "text", "text": said}, *uses]})
        raw.append(
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": use["id"], "content": "ok"} for use in uses],
            }
        )
    return raw


def test_anthropic_last_text_of_the_message_with_the_results():
    """Behind the results."""
    raw = write("anthropic", [Turn("user", ("Do it.",)), ROUND])
    view = ContextSession(format="anthropic").prepare(raw)
    assert view == [*raw[:2], {**raw[2], "content": [*raw[2]["content"], {"type": "text", "text": FIRST}]}]


def test_openai_one_message_more():
    """At the end of the list; the caller's messages stay as they are."""
    raw = write("openai-chat", [ASK, ROUND])
    view = ContextSession(format="openai-chat").prepare(raw)
    assert view == [*raw, {"role": "user", "content": FIRST}]
    assert view[2] is raw[2]


def test_gemini_one_content_more():
    """Behind the results, which stand alone; behind a user's text it is a part of that content."""
    raw = write("gemini", [Turn("user", ("Do it.",)), ROUND])
    session = ContextSession(format="gemini")
    view = session.prepare(raw)
    assert view == [*raw, {"role": "user", "parts": [{"text": FIRST}]}]
    assert view[2] is raw[2]
    session.update_key_info("port 8080")
    done = [*raw, *write("gemini", [Turn("model", ("Done.",)), Turn("user", ("Thanks.",))])]
    assert [len(message["parts"]) for message in session.prepare(done)] == [1, 1, 1, 1, 1, 2]


def test_text_end_of_the_string():
    """Behind a blank line."""
    raw = write("text", [Turn("user", ("Do it.",), named=False), ROUND])
    view = ContextSession(format="text").prepare(raw)
    assert view == [*raw[:2], {"role": "user", "content": f"{raw[2]['content']}\n\n{FIRST}"}]


@pytest.mark.parametrize("format", FORMATS)
def test_in_the_tool_result(format):
    """``placement`` "tool_result": at the end of the newest result, and no message more."""
    raw = write(format, [Turn("user", ("Do it.",), named=False), ROUND])
    view = ContextSession({"anchor": {"placement": "tool_result"}}, format=format).prepare(raw)
    content = view[2].get("content", view[2].get("output"))
    text = content[0]["content"] if format == "anthropic" else content
    if format == "bedrock":
        text = "\n\n".join(item["text"] for item in content[0]["toolResult"]["content"])
    if format == "gemini":
        (text,) = outputs(view, format)
    assert len(view) == 3
    assert text.endswith(f"\n\n{FIRST}")
    assert "x" * 400 in text


@pytest.mark.parametrize("format", FORMATS)
def test_off(format):
    """The view is the raw list."""
    session = ContextSession({"anchor": {"placement": "off"}}, format=format)
    session.update_key_info("port 8080")
    raw = write(format, [ASK, ROUND])
    assert session.prepare(raw) == raw


@pytest.mark.parametrize("format", FORMATS)
def test_when(format):
    """With results; without them only for key_info or evicted history; never behind the model."""
    session = ContextSession(format=format)
    raw = write(format, [ASK, ROUND, Turn("model", ("Done.",)), Turn("user", ("Thanks.",))])
    anchors = [anchor_of(format, session.prepare(raw[:end])) is not None for end in range(1, 6)]
    assert anchors == [False, False, True, False, False]
    session.update_key_info("port 8080")
    assert anchor_of(format, session.prepare(raw)).endswith("Current turn: 3\n<key_info>\nport 8080\n</key_info>")


@pytest.mark.parametrize("format", FORMATS)
def test_when_history_is_gone(format):
    """A user's plain word after an eviction has an anchor too."""
    session = ContextSession({"budget": {"chars": 9_000}}, format=format)
    raw = write(format, [ASK, *[ROUND] * 30, Turn("model", ("Done.",)), Turn("user", ("And now?",))])
    view = turn_by_turn(session, raw)
    assert any(report.evicted for report in session.reports)
    assert "[30] | code_run src/part_03000.py" in anchor_of(format, view)


@pytest.mark.parametrize("format", FORMATS)
def test_the_anchor_does_its_work(format):
    """After 200 turns and many evictions: the request, key_info, and the last 20 turns' main arguments (recall 1.0)."""
    session = ContextSession({"budget": {"chars": 60_000}}, format=format)
    notes = Turn("model", (), (Call("update_working_checkpoint", note="the port is 8080"),))
    long = Turn("model", (), (Call("code_run", output="x" * 3_000), Call("file_read", output="y" * 900)))
    raw = write(format, [Turn("user", ("Sort the photos by year.",)), notes, *[long] * 199])
    view = json.dumps(turn_by_turn(session, raw))
    assert sum(report.evicted is not None for report in session.reports) >= 5
    assert "Sort the photos by year." in view
    assert "the port is 8080" in view
    wanted = [f"src/part_{turn:03}{call:02}.py" for turn in range(181, 201) for call in (0, 1)]
    assert [argument for argument in wanted if argument not in anchor_of(format, json.loads(view))] == []


@pytest.mark.parametrize("format", FORMATS)
def test_the_last_twenty_turns(format):
    """A line each, newest last."""
    raw = write(format, [ASK, *[ROUND] * 30])
    lines = lines_of(anchor_of(format, ContextSession(format=format).prepare(raw)))
    assert lines == [f"[{n}] | code_run src/part_{n:03}00.py" for n in range(11, 31)]


def test_requests_are_lines_of_their_own():
    """Not among the twenty."""
    raw = anthropic(*[("Well.", [("code_run", {"code": "1"})])] * 3, ask="First.")
    raw += [
        {"role": "assistant", "content": "Done."},
        *anthropic(("Well.", [("file_read", {"path": "a"})]), ask="Second."),
    ]
    view = ContextSession({"anchor": {"summaries": 2}}).prepare(raw)
    lines = lines_of(anchor_of("anthropic", view))
    assert lines[-2:] == ["[user] Second.", "[5] | file_read a"]
    assert sum(not line.startswith("[user]") for line in lines) == 2


@pytest.mark.parametrize(
    ("said", "calls", "line"),
    [
        ("<summary>read it</summary>", [("file_read", {"path": "a.py"})], "[1] read it | file_read a.py"),
        ("No tag.", [("file_read", {"path": "a.py"})], "[1] | file_read a.py"),
        ("", [("web_scan", {"query": "q", "url": "u"})], "[1] | web_scan u"),
        ("", [("web_scan", {"name": "n", "query": "q"})], "[1] | web_scan q"),
        ("", [("code_run", {"script": "s", "code": "c", "command": "ls"})], "[1] | code_run ls"),
        ("", [("other", {"n": 1, "deep": ["first", "second"]})], "[1] | other first"),
        ("", [("code_run", {"code": "\n  import os\nos.remove(1)"})], "[1] | code_run import os"),
        ("", [("code_run", {"code": "x" * 90})], "[1] | code_run " + "x" * 60),
        ("", [("other", {})], "[1] | other"),
        ("", [("a", {"path": "1"}), ("b", {"path": "2"}), ("c", {"path": "3"})], "[1] | a 1 | b 2 | c 3"),
        ("", [("a", {"path": str(n)}) for n in range(5)], "[1] | a 0 | a 1 | a 2 +2"),
    ],
)
def test_the_line_of_a_turn(said, calls, line):
    """The model's own summary, then tool and main argument of at most three calls."""
    raw = anthropic((said, calls))
    assert lines_of(anchor_of("anthropic", ContextSession().prepare(raw)))[1] == line


@pytest.mark.parametrize("argument", ["echo `date`", "grep <b> a.html"])
def test_an_argument_keeps_its_characters(argument):
    """Else it is not the argument that the model could use again (anchor recall)."""
    raw = anthropic(("", [("code_run", {"command": argument})]))
    assert lines_of(anchor_of("anthropic", ContextSession().prepare(raw)))[1] == f"[1] | code_run {argument}"


def test_a_summary_is_bounded():
    """``summary_chars`` 100 for what the model wrote; a line is at most 200, its arguments kept."""
    calls = [("file_read", {"path": "/srv/" + c * 55}) for c in "abc"]
    raw = anthropic(
        (f"<summary>{'s' * 300}</summary>", [("a", {"path": "p"})]), (f"<summary>{'t' * 300}</summary>", calls)
    )
    _, first, second = lines_of(anchor_of("anthropic", ContextSession().prepare(raw)))
    assert first == "[1] " + "s" * 100 + " | a p"
    assert len(second) <= 200
    assert re.fullmatch(r"\[2\].* \| file_read /srv/a+ \| file_read /srv/b+ \| file_read /srv/c+", second)


@pytest.mark.parametrize("format", FORMATS)
def test_the_model_writes_key_info(format):
    """By its tool; carried every turn, replaced by the next writing."""
    first, second = (Turn("model", (), (Call("update_working_checkpoint", note=n),)) for n in ("port 80", "port 8080"))
    raw = write(format, [ASK, first, ROUND, second, ROUND])
    session = ContextSession(format=format)
    early = anchor_of(format, session.prepare(raw[:5]))
    late = anchor_of(format, session.prepare(raw))
    assert "<key_info>\nport 80\n" in early
    assert "<key_info>\nport 8080\n" in late
    assert late.count("<key_info>") == 1


def test_an_empty_key_info_clears_the_block():
    """By the tool as by the method."""
    session = ContextSession(format="openai-chat")
    session.update_key_info("port 80")
    raw = write("openai-chat", [ASK, ROUND])
    assert "<key_info>" in anchor_of("openai-chat", session.prepare(raw))
    session.update_key_info("")
    assert "<key_info>" not in anchor_of("openai-chat", session.prepare(raw))


@pytest.mark.parametrize("format", FORMATS)
def test_old_anchors_stay_where_they_were_sent(format):
    """``lifetime`` persistent: the next view begins with this one."""
    session = ContextSession(format=format)
    raw = write(format, [ASK, ROUND, ROUND])
    first, second = session.prepare(raw[:3]), session.prepare(raw)
    assert second[: len(first)] == first
    assert json.dumps(second).count("Current turn: ") == 2


@pytest.mark.parametrize("format", FORMATS)
def test_only_the_newest_view_has_one(format):
    """``lifetime`` ephemeral: less its anchor, each view begins with the one before, and no break is reported."""
    session = ContextSession({"anchor": {"lifetime": "ephemeral"}}, format=format)
    raw = write(format, [ASK, *[ROUND] * 4])
    for end in range(3, 10, 2):
        view = session.prepare(raw[:end])
        assert view[: end - 1] == raw[: end - 1]
        assert json.dumps(view).count("Current turn: ") == 1
        assert session.report.first_changed is None


@pytest.mark.parametrize("format", FORMATS)
def test_never_above_its_limit_nor_a_tenth_of_the_budget(format):
    """The oldest lines go first, key_info stays."""
    for config in ({"anchor": {"max_chars": 500}}, {"budget": {"chars": 5_000, "min_messages": 3}}):
        session = ContextSession(config, format=format)
        session.update_key_info("port 8080")
        anchor = anchor_of(format, session.prepare(write(format, [ASK, *[ROUND] * 30])))
        assert 400 < len(anchor) <= 500
        assert anchor.endswith("<key_info>\nport 8080\n</key_info>")
        assert lines_of(anchor)[-1] == "[30] | code_run src/part_03000.py"


@pytest.mark.parametrize("format", FORMATS)
def test_a_long_key_info_is_shortened_and_comes_back(format):
    """By the reference in its marker."""
    session = ContextSession(format=format)
    session.update_key_info("fact\n" * 3_000)
    anchor = anchor_of(format, session.prepare(write(format, [ASK, ROUND])))
    assert len(anchor) <= 6_000
    assert session.recall(re.search(r"saved: ref (\w+)", anchor)[1]) == "fact\n" * 3_000


@pytest.mark.parametrize("format", FORMATS)
def test_earlier_lines(format):
    """Older turns folded: like turns are one line with a count."""
    raw = write(format, [ASK, *[ROUND] * 30])
    config = {"anchor": {"summaries": 2, "earlier_lines": 5}}
    anchor = anchor_of(format, ContextSession(config, format=format).prepare(raw))
    earlier = re.search("<earlier_context>\n(.*)\n</earlier_context>", anchor, re.DOTALL)[1]
    assert re.fullmatch(r"\[1-28\] .*code_run.*28.*", earlier)
    assert "<earlier_context>" not in anchor_of(format, ContextSession(format=format).prepare(raw))


@pytest.mark.parametrize("format", FORMATS)
def test_our_messages_are_never_counted(format):
    """A pass spares ten messages of the caller's, however many anchors stand between them."""
    session = ContextSession({"compact": {"interval": 1}}, format=format)
    long = Turn("model", (), (Call("code_run", output="x" * 2_000, named=False),))
    view = turn_by_turn(session, write(format, [ASK, *[long] * 8]))
    assert json.dumps(view).count("x" * 2_000) == 5
    assert faults(view, format) == []


def test_a_word_of_the_user_beside_the_results_is_kept():
    """The anchor comes behind it."""
    raw = anthropic(("Well.", [("code_run", {"code": "1"})]))
    raw[-1]["content"].append({"type": "text", "text": "And faster."})
    content = ContextSession().prepare(raw)[-1]["content"]
    assert content[:2] == raw[-1]["content"]
    assert content[2]["text"].startswith(TITLE)
