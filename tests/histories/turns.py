"""Turns and calls in no format yet, the texts in them, and how they are drawn.

The first choice of each list below is the plainest, so examples shrink towards a calm history.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from hypothesis import strategies as st

Message = dict[str, Any]

MAX_CHARS = 20_000
COUNTS = (1, 1, 1, 2, 20)
"""How often a piece is repeated: most texts are short, some pass every window and limit."""
PIECES = (
    "word ",
    "line of a log: all is well\n",
    "An answer in plain English, with a comma. ",
    "上下文截断与压缩。",
    "日本語のテキスト\r\n",
    "👩‍👩‍👧‍👦",
    "🇩🇪🇫🇷",
    "👍🏽❤️",
    "e\u0301\u0323\u0308",
    "نص عربي ",
    "\ud800",
    "low \udfff half ",
    "\ud83d\ude00",
    "`code` ",
    "an open ` backtick ",
    "```\nfenced\n```\n",
    "```\nopen fence\n",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ ",
    "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo0",
    "...[1234 characters cut, ref 0123456789abcdef]... ",
    "[...]",
    "<summary>read the file</summary>",
    "<THINKING>not a tag</THINKING><thinking mode='x'>nor this",
    '{"a": [1, 2, {"b": null}]}',
    "\\ud83d half an escape \\u12",
    "\u2028\u200b\u0000",
)
TAGS = ("thinking", "think", "tool_use", "tool_call", "tool_result", "history", "key_info", "earlier_context")
SHAPES = (
    "<T>X</T>",
    "<T>X",
    "X</T>",
    "<T>X<T>X</T>X</T>",
    "<T>X<U>X</U></T>",
    "<T>X<U>X</T>X</U>",
    "<T>X<U>X</T>",
    "</T>X<T>",
    "`<T>` X `</T>`",
    "```\n<T>X</T>\n```",
    "```\nsee <T>\nX</T>\n```\n",
    "```\n<T>X</T>",
    "<T></T>",
    "<T>`</T>` X</T>",
)
BODIES = ("x ", "word " * 60, "a line of thought\n" * 60, "👩‍👩‍👧‍👦 é" * 60, "half \ud800 ", "上下文" * 400)
"""What stands between tags, some of it longer than the window."""
BLANKS = ("", " ", "\n\t ")
OUTPUTS = (
    json.dumps({"rows": [{"n": n, "text": "a row of text"} for n in range(120)], "done": True}),
    "\n".join(json.dumps({"n": n, "text": "a row of text " * (n % 7)}) for n in range(90)),
    json.dumps({"page": "<thinking>" + "x" * 900, "log": "a line\n" * 90, "end": "</thinking>"}, indent=1),
    "[" * 300 + "]" * 300,
    "<!doctype html><html><body>" + "<p>A paragraph of a page.</p>" * 200 + "</body></html>",
    "a line without an end " * 200,
)
TOOLS = ("code_run", "file_read", "web_scan", "web_execute_js", "mcp__files__list", "update_working_checkpoint", "zeit")
IDS = ("fresh", "call_same", "call_same_2", "call/same", "twin", "ünï code:1", "", "half \ud800", "x" * 80)
"""Ids: each its own, one for all, one that a renamed id may meet, and ids that a provider refuses."""
BROKEN = (
    "",
    '{"path": "a.py", "text": "cut off',
    "not json",
    "[1, 2]",
    "null",
    '{"n": NaN}',
    '{"n": 1} and more',
    '{"half": "\ud800"',
    "[" * 3_000,
)
"""Arguments that are no JSON object."""


@dataclass(frozen=True)
class Call:
    """One tool call and what became of it."""

    tool: str = "code_run"
    id: str = "fresh"
    note: str = ""
    """A text among its arguments."""
    broken: str | None = None
    """Arguments that do not parse, in place of proper ones."""
    answer: str = "now"
    """now, missing, late, twice"""
    late: int = 1
    """After how many further messages a late result comes."""
    output: str = "done"
    shape: str = "string"
    """string, list, image, blank, empty, missing, object"""
    named: bool = True
    """The output starts with a line of its own."""
    given: Message | None = None
    """Its arguments, in place of those made up for it."""


@dataclass(frozen=True)
class Turn:
    """One step of a conversation, in no format yet."""

    kind: str = "user"
    """user, model, system, orphan, empty"""
    texts: tuple[str, ...] = ("Go on.",)
    calls: tuple[Call, ...] = ()
    reasoning: tuple[str, ...] = ()
    """signed, redacted, unsigned, empty (signed), half (signed, cannot be encoded)"""
    reversed: bool = False
    """The results come in the other order."""
    apart: bool = False
    """Each result comes in a message of its own."""
    beside: tuple[str, str] | None = None
    """A user's text in the message of the results, and where: after, before, between."""
    odd: str | None = None
    """One rare thing of the wire format."""
    named: bool = True
    """The text starts with a line of its own."""


# Texts


def _tagged(shape: str, tag: str, other: str, text: str) -> str:
    return shape.replace("T>", f"{tag}>").replace("U>", f"{other}>").replace("X", text)


_LONG = tuple((piece * 2_500)[:MAX_CHARS] for piece in PIECES)
_RUNS = (*(piece * count for count in COUNTS for piece in PIECES), *_LONG[:8])
_TAGGED = tuple(
    _tagged(shape, tag, other, body)
    for body in BODIES
    for tag, other in zip(TAGS, TAGS[3:] + TAGS[:3], strict=True)
    for shape in SHAPES
)


def _encodes(text: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in text)


def _one_of(values: Sequence[Any]) -> st.SearchStrategy[Any]:
    """Sample by number, as the strategy would else have all the texts in its repr."""
    return st.sampled_from(range(len(values))).map(lambda i: values[i])


@functools.cache
def texts(*, encodable: bool = False) -> st.SearchStrategy[str]:
    """Texts that are not blank: pieces, repeated, some between listed tags; few draws each, as there are many."""
    runs, tagged = (_one_of([t for t in all if not encodable or _encodes(t)]) for all in (_RUNS, _TAGGED))
    text = st.one_of(runs, tagged, st.builds(str.__add__, runs, tagged), st.builds(str.__add__, tagged, runs))
    return text.map(lambda text: text[:MAX_CHARS] + ".")


# Turns


_FLAGS = (False, True)
_SHAPES = ("string", "string", "list", "image", "empty", "missing", "blank", "object")


@functools.cache
def _calls(troubles: bool) -> st.SearchStrategy[Call]:
    words = texts(encodable=not troubles)
    fates = [("now", 1)] * 8 + [("missing", 1), ("late", 1), ("twice", 1), ("late", 2), ("late", 3)]
    return st.builds(
        lambda tool, id, note, broken, fate, output, form: Call(tool, id, note, broken, *fate, output, *form),
        st.sampled_from(TOOLS),
        st.sampled_from(IDS if troubles else IDS[:1]),
        st.one_of(st.just(""), words),
        _one_of((None,) * 20 + BROKEN if troubles else (None,)),
        st.sampled_from(fates if troubles else fates[:1]),
        st.one_of(words, words, _one_of(OUTPUTS)),
        st.sampled_from(list(product(_SHAPES if troubles else _SHAPES[:-2], (True, True, False)))),
    )


ODD = ("cached", "server", "unknown", "keys", "custom", "legacy", "refusal", "audio", "image", "document", "wrong side")
_REASONING = ((), (), ("signed",), ("redacted", "signed"), ("unsigned",), ("unsigned", "signed"), ("signed", "signed"))
_WORSE = (*_REASONING, ("empty",), ("half",), ("signed", "half"))
_KINDS = ("user", "model", "model", "model", "model", "user", "orphan", "system", "empty")


@functools.cache
def turns_of(troubles: bool) -> st.SearchStrategy[Turn]:
    words = texts(encodable=not troubles)
    said = st.lists(st.one_of(words, words, words, st.sampled_from(BLANKS)) if troubles else words, max_size=2)
    beside = st.tuples(words, st.sampled_from(("after", "before", "between")))
    apart = (False, False, True) if troubles else (False,)
    return st.builds(
        lambda kind, texts, calls, reasoning, flags, beside, odd: Turn(
            kind, tuple(texts), tuple(calls), reasoning, flags[0], flags[1], beside, odd, flags[2]
        ),
        st.sampled_from(_KINDS),
        said,
        st.lists(_calls(troubles), max_size=3),
        st.sampled_from(_WORSE if troubles else _REASONING),
        st.sampled_from(list(product(_FLAGS, apart, (True, True, False)))),
        st.one_of(st.none(), st.none(), beside),
        st.sampled_from((None,) * len(ODD) + ODD),
    )


def tame(turns: list[Turn], *, system: bool) -> list[Turn]:
    """Put turns into the order of a real session: a request, rounds of calls, an answer; `system` turns may stay."""
    tamed = []
    for i, turn in enumerate(turns):
        words = turn.texts or ("Well.",)
        beside = (turn.beside[0], "after") if turn.beside else None
        odd = None if turn.odd in ("cached", "legacy", "refusal", "audio", "wrong side") else turn.odd
        shared = {"texts": words, "beside": beside, "odd": odd}
        if turn.kind == "system" and system:
            tamed.append(turn)
        elif i % 4 == 0:
            tamed.append(Turn("user", **shared))
        elif i % 4 < 3:
            calls = turn.calls or (Call(),)
            tamed.append(Turn("model", calls=calls, reasoning=turn.reasoning, reversed=turn.reversed, **shared))
        else:
            tamed.append(Turn("model", reasoning=turn.reasoning, **shared))
    return tamed


# What a writer takes from them


def call_ids(turn: Turn, number: int) -> list[str]:
    ids: list[str] = []
    for i, call in enumerate(turn.calls):
        own = f"call_{number}_{i}"
        ids.append({"fresh": own, "twin": ids[-1] if ids else own}.get(call.id, call.id))
    return ids


def zip_calls(turn: Turn, ids: list[str]) -> Iterator[tuple[Call, str]]:
    return zip(turn.calls, ids, strict=True)


def answered_now(turn: Turn, ids: list[str]) -> list[tuple[Call, str, int]]:
    """Return the calls of a turn that are answered at once, in the order of their results."""
    given = [
        (call, id, i)
        for i, (call, id) in enumerate(zip(turn.calls, ids, strict=True))
        for _ in range({"now": 1, "twice": 2}.get(call.answer, 0))
    ]
    return given[::-1] if turn.reversed else given


def name_of(number: int, i: int) -> str:
    return f"{number:03}{i:02}"


def output_of(call: Call, name: str) -> str:
    """Return the output of a call, by its head different from every other."""
    return f"output no {name} {call.output}" if call.named else call.output


def arguments_of(call: Call, name: str) -> Message:
    if call.given is not None:
        return call.given
    if call.tool == "update_working_checkpoint":
        return {"key_info": call.note or f"goal {name}", "related_sop": "none"}
    more = {"note": call.note, "deep": {"list": [call.note[:50], 1, None, True, 0.5, {}]}} if call.note else {}
    saved = {"save_to_file": "page.html"} if call.note and call.tool == "web_execute_js" else {}
    return {"path": f"src/part_{name}.py", **more, **saved}
