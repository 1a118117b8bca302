"""Hypothesis strategies for raw histories with everything that goes wrong in real ones, in three wire formats.

A history is drawn as a short list of `Turn`, which knows no format, and then written out. The first choice of each
list below is the plainest, so examples shrink towards a calm history.
"""

from __future__ import annotations

import copy
import functools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from hypothesis import strategies as st

Message = dict[str, Any]
Operation = tuple[Any, ...]

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
    """string, list, image, blank, empty, missing"""
    named: bool = True
    """The output starts with a line of its own."""


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
_SHAPES = ("string", "string", "list", "image", "empty", "missing", "blank")


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
        st.sampled_from(list(product(_SHAPES if troubles else _SHAPES[:-1], (True, True, False)))),
    )


ODD = ("cached", "server", "unknown", "keys", "custom", "legacy", "refusal", "audio", "image", "document")
_REASONING = ((), (), ("signed",), ("redacted", "signed"), ("unsigned",), ("unsigned", "signed"), ("signed", "signed"))
_WORSE = (*_REASONING, ("empty",), ("half",), ("signed", "half"))
_KINDS = ("user", "model", "model", "model", "model", "user", "orphan", "system", "empty")


@functools.cache
def _turns(troubles: bool) -> st.SearchStrategy[Turn]:
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


def _tame(turns: list[Turn], format: str) -> list[Turn]:
    """Put turns into the order of a real session: a request, rounds of calls, an answer."""
    tamed = []
    for i, turn in enumerate(turns):
        words = turn.texts or ("Well.",)
        beside = (turn.beside[0], "after") if turn.beside else None
        odd = None if turn.odd in ("cached", "legacy", "refusal", "audio") else turn.odd
        shared = {"texts": words, "beside": beside, "odd": odd}
        if turn.kind == "system" and format != "anthropic":
            tamed.append(turn)
        elif i % 4 == 0:
            tamed.append(Turn("user", **shared))
        elif i % 4 < 3:
            calls = turn.calls or (Call(),)
            tamed.append(Turn("model", calls=calls, reasoning=turn.reasoning, reversed=turn.reversed, **shared))
        else:
            tamed.append(Turn("model", reasoning=turn.reasoning, **shared))
    return tamed


_FEW_TROUBLES = st.one_of(_turns(False), _turns(False), _turns(True))


@st.composite
def histories(draw: st.DrawFn, format: str, *, max_turns: int = 14, troubles: bool = True) -> list[Message]:
    """Draw a raw history; without `troubles` one that its provider accepts as it is."""
    tame = not troubles or draw(st.booleans())
    turn = _turns(False) if not troubles else draw(st.sampled_from((_FEW_TROUBLES, _turns(True))))
    few = min(draw(st.sampled_from((0, 3, 7))), max_turns)
    turns = draw(st.lists(turn, min_size=few, max_size=max_turns))
    messages = write(format, _tame(turns, format) if tame else turns)
    stop = draw(st.sampled_from((0, 0, 0, 1, 2))) if troubles else 0
    return messages[: len(messages) - stop]


def write(format: str, turns: list[Turn]) -> list[Message]:
    """Write turns out as the messages of a format, late results after as many further messages as they say."""
    writer, result = _WRITERS[format]
    messages: list[Message] = []
    waiting: list[tuple[int, Message]] = []
    for number, turn in enumerate(turns):
        ids = _call_ids(turn, number)
        for message in writer(turn, number, ids):
            messages.append(message)
            messages += [late for due, late in waiting if due == len(messages)]
        late = [
            (call, id, i) for i, (call, id) in enumerate(zip(turn.calls, ids, strict=True)) if call.answer == "late"
        ]
        if turn.kind == "model":
            waiting += [(len(messages) + call.late, result(call, id, _name(number, i))) for call, id, i in late]
    return messages


def _call_ids(turn: Turn, number: int) -> list[str]:
    ids: list[str] = []
    for i, call in enumerate(turn.calls):
        own = f"call_{number}_{i}"
        ids.append({"fresh": own, "twin": ids[-1] if ids else own}.get(call.id, call.id))
    return ids


def _name(number: int, i: int) -> str:
    return f"{number:03}{i:02}"


def _output(call: Call, name: str) -> str:
    """Return the output of a call, by its head different from every other."""
    return f"output no {name} {call.output}" if call.named else call.output


def _arguments(call: Call, name: str) -> Message:
    if call.tool == "update_working_checkpoint":
        return {"key_info": call.note or f"goal {name}", "related_sop": "none"}
    more = {"note": call.note, "deep": {"list": [call.note[:50], 1, None, True, 0.5, {}]}} if call.note else {}
    return {"path": f"src/part_{name}.py", **more}


def _given(turn: Turn, ids: list[str]) -> list[tuple[Call, str, int]]:
    """Return the calls of a turn that are answered at once, in the order of their results."""
    given = [
        (call, id, i)
        for i, (call, id) in enumerate(zip(turn.calls, ids, strict=True))
        for _ in range({"now": 1, "twice": 2}.get(call.answer, 0))
    ]
    return given[::-1] if turn.reversed else given


# anthropic

_PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def _image() -> Message:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": _PIXEL * 20}}


def _block(text: str) -> Message:
    return {"type": "text", "text": text}


def _anthropic_result(call: Call, id: str, name: str) -> Message:
    return {"role": "user", "content": [_anthropic_answer(call, id, name)]}


def _anthropic_answer(call: Call, id: str, name: str) -> Message:
    text = _output(call, name)
    contents: dict[str, Any] = {
        "string": text,
        "list": [_block(text), _block("end of output")],
        "image": [_block(text), _image()],
        "blank": [_block(" ")],
        "empty": "" if call.named else [],
    }
    content = {} if call.shape == "missing" else {"content": contents[call.shape]}
    return {"type": "tool_result", "tool_use_id": id, **content, **({} if call.named else {"is_error": True})}


def _anthropic_reasoning(kind: str, number: int, i: int) -> Message:
    text = "" if kind == "empty" else f"thought {number} " * 90
    if kind == "redacted":
        return {"type": "redacted_thinking", "data": f"opaque{number}{i}=" * 30}
    signature = {} if kind == "unsigned" else {"signature": f"sig{number}{i}=="}
    return {"type": "thinking", "thinking": text + ("\ud800" if kind == "half" else ""), **signature}


def _anthropic_odd(turn: Turn, number: int) -> list[Message]:
    """Return blocks of types that only pass through."""
    server = turn.kind == "model" and turn.odd == "server"
    id = f"srvtoolu_{number}"
    if server:
        found = {"type": "web_search_result", "url": "https://example.com", "title": "A", "encrypted_content": "x" * 90}
        call = {"type": "server_tool_use", "id": id, "name": "web_search", "input": {"query": "q" * 900}}
        return [call, {"type": "web_search_tool_result", "tool_use_id": id, "content": [found]}]
    if turn.odd == "unknown":
        return [{"type": "future_block", "data": {"text": "", "content": []}, "zeta": 1, "alpha": 2}]
    if turn.kind == "user" and turn.odd == "image":
        return [_image()]
    if turn.kind == "user" and turn.odd == "document":
        return [{"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "d" * 900}}]
    return []


def _anthropic_call(call: Call, id: str, name: str) -> Message:
    given = call.broken if call.broken is not None else _arguments(call, name)
    return {"type": "tool_use", "id": id, "name": call.tool, "input": given}


def _anthropic_said(turn: Turn) -> list[Message]:
    marks = {"cache_control": {"type": "ephemeral"}} if turn.odd == "cached" else {}
    cited = {"citations": [{"type": "char_location", "cited_text": "c", "document_index": 0}]}
    return [_block(text) | marks | (cited if turn.odd == "keys" else {}) for text in turn.texts]


def _anthropic(turn: Turn, number: int, ids: list[str]) -> Iterator[Message]:
    said = _anthropic_said(turn)
    if turn.kind in ("user", "system"):
        content: Any = [*said, *_anthropic_odd(turn, number)]
        plain = len(turn.texts) == 1 and turn.odd is None
        yield {"role": "user", "content": turn.texts[0] if plain else content}
    elif turn.kind == "empty":
        yield {"role": "assistant" if turn.named else "user", "content": "" if turn.reversed else []}
    elif turn.kind == "orphan":
        orphans = [_anthropic_answer(call, id, _name(number, i)) for i, (call, id) in enumerate(_zip(turn, ids))]
        yield {"role": "user", "content": [*orphans, *said]}
    else:
        thoughts = [_anthropic_reasoning(kind, number, i) for i, kind in enumerate(turn.reasoning)]
        calls = [_anthropic_call(call, id, _name(number, i)) for i, (call, id) in enumerate(_zip(turn, ids))]
        keys = {"id": f"msg_{number}"} if turn.odd == "keys" and not turn.named else {}
        content = [*thoughts, *_anthropic_odd(turn, number), *said, *calls]
        yield {"role": "assistant", "content": content, **keys}
        yield from _anthropic_results(turn, number, ids)


def _zip(turn: Turn, ids: list[str]) -> Iterator[tuple[Call, str]]:
    return zip(turn.calls, ids, strict=True)


def _anthropic_results(turn: Turn, number: int, ids: list[str]) -> Iterator[Message]:
    results = [_anthropic_answer(call, id, _name(number, i)) for call, id, i in _given(turn, ids)]
    if turn.apart:
        yield from ({"role": "user", "content": [result]} for result in results)
        results = []
    if turn.calls and turn.beside:
        at = {"before": 0, "between": 1}.get(turn.beside[1], len(results))
        results.insert(at, _block(turn.beside[0]))
    if results:
        yield {"role": "user", "content": results}


# openai-chat


def _openai_result(call: Call, id: str, name: str) -> Message:
    text = _output(call, name)
    parts: dict[str, Any] = {"list": [_block(text), _block("end of output")], "blank": " ", "empty": "", "missing": ""}
    return {"role": "tool", "tool_call_id": id, "content": parts.get(call.shape, text)}


def _openai_call(call: Call, id: str, name: str, odd: str | None) -> Message:
    if odd == "custom" and name.endswith("00"):
        return {"id": id, "type": "custom", "custom": {"name": call.tool, "input": f"{name} {call.note}"}}
    text = json.dumps(_arguments(call, name), ensure_ascii=call.named) if call.broken is None else call.broken
    return {"id": id, "type": "function", "function": {"name": call.tool, "arguments": text}}


def _openai_parts(turn: Turn) -> list[Message]:
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{_PIXEL * 20}", "detail": "low"}}
    odd = {
        "image": [image],
        "audio": [{"type": "input_audio", "input_audio": {"data": _PIXEL * 20, "format": "wav"}}],
        "document": [{"type": "file", "file": {"file_data": f"data:application/pdf;base64,{_PIXEL * 20}"}}],
        "unknown": [{"type": "future_part", "zeta": 1, "alpha": {"text": ""}}],
    }
    return [*map(_block, turn.texts), *odd.get(turn.odd or "", [])]


def _openai_user(turn: Turn) -> Message:
    plain = len(turn.texts) == 1 and turn.odd in (None, "keys", "cached", "server", "legacy", "custom", "refusal")
    keys = {"name": "ann", "x_unknown": {"zeta": 1, "alpha": 2}} if turn.odd == "keys" else {}
    return {"role": "user", "content": turn.texts[0] if plain else _openai_parts(turn), **keys}


def _openai_assistant(turn: Turn, number: int, ids: list[str]) -> Message:
    calls = [_openai_call(call, id, _name(number, i), turn.odd) for i, (call, id) in enumerate(_zip(turn, ids))]
    said: dict[str, Any] = {"content": "\n".join(turn.texts)} if turn.texts else {"content": None}
    if not turn.texts and turn.named:
        said = {}
    thought = {"reasoning_content": f"thought {number} " * 90} if turn.reasoning else {}
    rare: dict[str, Any] = {
        "refusal": {"refusal": "I will not."},
        "audio": {"audio": {"id": f"audio_{number}"}},
        "keys": {"annotations": [], "x_unknown": {"zeta": 1, "alpha": 2}},
    }
    return {
        "role": "assistant",
        **said,
        **thought,
        **({"tool_calls": calls} if calls else {}),
        **rare.get(turn.odd or "", {}),
    }


def _openai(turn: Turn, number: int, ids: list[str]) -> Iterator[Message]:
    if turn.kind == "system":
        yield {"role": "system" if turn.named else "developer", "content": f"rule {number}: " + "".join(turn.texts)}
    elif turn.kind == "user":
        yield _openai_user(turn)
    elif turn.kind == "empty":
        content = {"content": ""} if turn.reversed else {"content": None} if turn.named else {}
        yield {"role": "assistant", **content}
    elif turn.kind == "orphan":
        yield from (_openai_result(call, id, _name(number, i)) for i, (call, id) in enumerate(_zip(turn, ids)))
    elif turn.odd == "legacy":
        called = {"name": "code_run", "arguments": json.dumps({"code": f"run {number}"})}
        yield {"role": "assistant", "content": None, "function_call": called}
        yield {"role": "function", "name": "code_run", "content": "\n".join(turn.texts)}
    else:
        yield _openai_assistant(turn, number, ids)
        results = [_openai_result(call, id, _name(number, i)) for call, id, i in _given(turn, ids)]
        if turn.beside and turn.beside[1] != "after" and turn.calls:
            results.insert(turn.beside[1] == "between", {"role": "user", "content": turn.beside[0]})
        yield from results


# text


def _text_named(turn: Turn, number: int, text: str) -> str:
    """Give the text a head of its own, by which it can be followed into the view."""
    return f"message no {number:04} {text}" if turn.named else text


def _text_call(call: Call, name: str) -> str:
    tag = "tool_call" if call.tool == "zeit" else "tool_use"
    given = {"name": call.tool, "arguments": _arguments(call, name)}
    body = json.dumps(given, ensure_ascii=call.named) if call.broken is None else call.broken
    pair = f"<{tag}>{body}</{tag}>"
    return f"```\n{pair}\n```" if call.shape == "list" else pair


def _text_answer(call: Call, name: str) -> str:
    output = "" if call.shape in ("empty", "missing", "blank") else _output(call, name)
    return output if call.shape == "image" else f"<tool_result>{output}</tool_result>"


def _text_result(call: Call, id: str, name: str) -> Message:
    return {"role": "user", "content": _text_answer(call, name)}


def _text(turn: Turn, number: int, ids: list[str]) -> Iterator[Message]:
    words = "\n".join(turn.texts)
    if turn.kind == "system":
        yield {"role": "system", "content": f"rule {number}: {words}"}
    elif turn.kind == "user":
        keys = {"x_unknown": {"zeta": 1, "alpha": 2}} if turn.odd == "keys" else {}
        yield {"role": "user", "content": _text_named(turn, 10 * number, words), **keys}
    elif turn.kind == "empty":
        yield {"role": "assistant" if turn.named else "user", "content": "" if turn.reversed else " "}
    elif turn.kind == "orphan":
        yield from (_text_result(call, id, _name(number, i)) for i, (call, id) in enumerate(_zip(turn, ids)))
    else:
        thoughts = [f"<thinking>thought {number} " + "so it is. " * 90 + "</thinking>"] if turn.reasoning else []
        calls = [_text_call(call, _name(number, i)) for i, call in enumerate(turn.calls)]
        yield {"role": "assistant", "content": _text_named(turn, 10 * number, "\n".join([*thoughts, words, *calls]))}
        yield from _text_results(turn, number, ids)


def _text_results(turn: Turn, number: int, ids: list[str]) -> Iterator[Message]:
    answers = [_text_answer(call, _name(number, i)) for call, _, i in _given(turn, ids)]
    if turn.calls and turn.beside:
        answers.insert({"before": 0, "between": 1}.get(turn.beside[1], len(answers)), turn.beside[0])
    if answers:
        yield {"role": "user", "content": _text_named(turn, 10 * number + 1, "\n".join(answers))}


_Writer = Callable[[Turn, int, list[str]], Iterator[Message]]
_Result = Callable[[Call, str, str], Message]
_WRITERS: dict[str, tuple[_Writer, _Result]] = {
    "anthropic": (_anthropic, _anthropic_result),
    "openai-chat": (_openai, _openai_result),
    "text": (_text, _text_result),
}


# Sessions


@st.composite
def splits(draw: st.DrawFn, history: list[Message]) -> list[list[Message]]:
    """Draw the growing prefixes of a history for which a loop calls `prepare`; the last is the whole."""
    ends = range(1, len(history))
    kind = draw(st.sampled_from(("whole", "turns", "messages", "some")))
    some = draw(st.sets(st.sampled_from(ends))) if kind == "some" and ends else set()
    before_model = {i for i in ends if history[i]["role"] == "assistant" != history[i - 1]["role"]}
    cuts = {"whole": set(), "turns": before_model, "messages": set(ends), "some": some}[kind]
    return [history[:end] for end in [*sorted(cuts), len(history)]]


@functools.cache
def operations(format: str) -> st.SearchStrategy[list[Operation]]:
    """What may happen to the raw list between two calls of `prepare`; `after` carries one out.

    ("extend", n) adds the next n messages, ("rollback", k) drops the last k, ("change", i, text) is a caller who
    changes an earlier message, ("rebuild",) makes equal dicts, ("feed back",) goes on with the view, ("again",) does
    nothing. ("key_info", text), ("shrink", share) and ("reload",) are for the session, the list stays as it is.
    """
    extend = st.tuples(st.just("extend"), st.integers(1, 5))
    words = texts(encodable=True)
    others = (
        st.tuples(st.sampled_from(("again", "rebuild", "feed back", "reload"))),
        st.tuples(st.just("rollback"), st.integers(1, 6)),
        st.tuples(st.just("change"), st.integers(0, 20), words),
        st.tuples(st.just("key_info"), st.one_of(st.just(""), words)),
        st.tuples(st.just("shrink"), st.sampled_from((0.9, 0.5))),
    )
    return st.lists(st.one_of(extend, extend, extend, *others), min_size=1, max_size=14)


def after(
    operation: Operation, raw: list[Message], rest: list[Message], view: list[Message]
) -> tuple[list[Message], list[Message]]:
    """Return the raw list and what is still to come of the history after an operation; nothing given is changed."""
    kind, *given = operation
    if kind == "extend":
        return [*raw, *rest[: given[0]]], rest[given[0] :]
    if kind == "rollback":
        keep = max(len(raw) - given[0], 0)
        return raw[:keep], [*raw[keep:], *rest]
    if kind == "change" and raw:
        i = given[0] % len(raw)
        return [*raw[:i], changed(raw[i], given[1]), *raw[i + 1 :]], rest
    if kind == "rebuild":
        return copy.deepcopy(raw), rest
    return (list(view) if kind == "feed back" else list(raw)), rest


def changed(message: Message, text: str) -> Message:
    """Return a message with a text added to its content."""
    content = message.get("content")
    added = [*content, _block(text)] if isinstance(content, list) else f"{content or ''}{text}"
    return {**message, "content": added}


def _section(**fields: tuple[Any, ...]) -> st.SearchStrategy[dict[str, Any]]:
    """Any of the fields, each with one of its values."""
    return st.fixed_dictionaries({}, optional={name: st.sampled_from(values) for name, values in fields.items()})


_LIMITS: tuple[Any, ...] = (100, 300, {"limit": 1_000, "per_turn_limit": 400}, {"limit": 5_000})


@st.composite
def configs(draw: st.DrawFn) -> dict[str, dict[str, Any]]:
    """Draw keyword arguments for a configuration with small numbers, so that short histories reach every stage."""
    budget = _section(evict_to=(0.6, 0.3, 0.9), min_messages=(5, 1, 2, 9), payload_chars=(4_800, 200))
    recent = draw(st.integers(0, 10))
    compact = _section(
        interval=(5, 1, 2, 3, None),
        keep_recent_on_eviction=(min(4, recent), 0),
        window_chars=(800, 100, 150, 300),
        drop_reasoning=(True, False),
    )
    tools = _section(
        **{"*": _LIMITS, "code_run": _LIMITS, "mcp__*": _LIMITS},
        file_read=({"limit": 400, "line_limit": 100}, 1_000),
        web_scan=({"limit": 300, "html_limit": 900},),
    )
    anchor = _section(
        summaries=(20, 3, 0),
        summary_chars=(100, 20),
        max_chars=(6_000, 600),
        earlier_lines=(0, 5),
        placement=("user_message", "off", "tool_result"),
        lifetime=("persistent", "ephemeral"),
    )
    chars = draw(st.sampled_from((30_000, 10_000, 5_000, 2_000, 1_000, 300)))
    return {
        "budget": {"chars": chars, "on_exceeded": "report", **draw(budget)},
        "tools": draw(tools),
        "compact": {"keep_recent": recent, **draw(compact)},
        "evict": draw(_section(keep_first=(0, 1, 3), unit=("message", "exchange"))),
        "anchor": draw(anchor),
    }
