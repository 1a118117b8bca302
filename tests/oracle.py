"""Judge a view by the rules of its provider, written from spec 6 alone and apart from the library.

`faults` needs only the view, `relation_faults` and `text_faults` the raw history too. Each returns a list of
sentences; an empty list means that nothing is wrong.
Where the spec leaves two readings open, only what is wrong in both counts as a fault.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any

Message = dict[str, Any]

LISTED_TAGS = ("thinking", "think", "tool_use", "tool_call", "tool_result", "history", "key_info", "earlier_context")
SYSTEM_ROLES = ("system", "developer")
ROLES = {
    "anthropic": {"user", "assistant"},
    "openai-chat": {"system", "developer", "user", "assistant", "tool", "function"},
    "text": {"system", "developer", "user", "assistant"},
}
CACHE_MARKS = 4
REQUEST_CHARS = 2_000
"""What promise 3 (iii) leaves of a request that is larger than the budget."""
HEAD_CHARS = 16
"""A cut keeps the head of a text, so these first characters tell where a text of the raw history went."""

_TAG = re.compile("</?(?:" + "|".join(LISTED_TAGS) + ")>")
_CALL = re.compile(r"<(tool_use|tool_call)>((?:(?!</?(?:tool_use|tool_call)>).)*)</\1>", re.DOTALL)
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[^\n`]*\n(.*?)^ {0,3}\1[ \t]*$", re.DOTALL | re.MULTILINE)
_ONE_PAIR = re.compile("<(" + "|".join(LISTED_TAGS) + r")>.*</\1>", re.DOTALL)
_INLINE = re.compile(r"(?<!`)(`+)(?!`)(?:.*?[^`])\1(?!`)", re.DOTALL)
_SURROGATES = re.compile("[\ud800-\udfff]+")
_DATA = re.compile(r"data:|[A-Za-z0-9+/_-]{200}")
_PLAIN_HEAD = re.compile(rf"[A-Za-z0-9 .:#_-]{{{HEAD_CHARS}}}")
_ANTHROPIC_ID = re.compile("[a-zA-Z0-9_-]+")


def faults(view: list[Message], format: str) -> list[str]:
    """Return what a provider of this format would refuse in `view`, as far as the view alone shows it."""
    shapeless = [f"message {i}: no dict" for i, message in enumerate(view) if not isinstance(message, dict)]
    if shapeless:
        return shapeless
    return [*_unsendable(view), *_unknown_roles(view, format), *_RULES[format](view)]


def relation_faults(raw: list[Message], view: list[Message], format: str, *, request_cut: bool = False) -> list[str]:
    """Return what `view` lost or altered of `raw` that spec 3.8 and 6 protect.

    `raw` is the caller's own history (not a view fed back: its anchors would look like requests).
    `request_cut` says that the report names step iii of promise 3: a request of more than 2,000 characters may be cut.
    """
    found = [*_changed_system(raw, view), *_lost_request(raw, view, format, request_cut)]
    found += _changed_last_calls(raw, view, format)
    if format == "anthropic":
        found += [*_changed_reasoning(raw, view), *_torn_reasoning(raw, view), *_lost_open_reasoning(raw, view)]
    return found + (_torn_text_pairs(raw, view) if format == "text" else _mispaired(raw, view, format))


def text_faults(raw: list[Message], view: list[Message]) -> list[str]:
    """Return the messages of a text view that hold a lone tag which the raw history did not hold.

    Of two readings, tags in code count or do not, both must show the lone tag.
    """
    found = []
    whole = {text_of(message) for message in raw}
    heads = _heads(raw)
    for i, text in enumerate(map(text_of, view)):
        if text in whole:
            continue
        stump = text.split("\n[")[0]  # a cut may leave less than the head
        sources = [
            text_of(message)
            for message, head in zip(raw, heads, strict=True)
            if head is None or head in text or head.startswith(stump)
        ]
        added = [_lone_tags(scan, [text]) - _lone_tags(scan, sources) for scan in (_tags, _tags_outside_code)]
        if all(added):
            found.append(f"message {i}: lone tags that the raw text has not: {sorted(added[0])}")
    return found


# What every format shares


def blocks(message: Message) -> list[Any]:
    """Return the content of a message as a list of blocks, a string as one text block."""
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return list(content) if isinstance(content, list | tuple) else []


def texts_of(message: Message) -> list[str]:
    """Return the texts of a message that stand in it directly, not inside a result."""
    return [b["text"] for b in blocks(message) if _is(b, "text") and isinstance(b.get("text"), str)]


def text_of(message: Message) -> str:
    """Return the texts of a message as one string."""
    return "\n".join(texts_of(message))


def _is(block: Any, *types: str) -> bool:
    return isinstance(block, dict) and block.get("type") in types


def _leaves(value: Any) -> Iterator[Any]:
    """Yield each key and scalar of a JSON value, without recursion."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            stack += [*item, *item.values()]
        elif isinstance(item, list | tuple):
            stack += item
        else:
            yield item


def _leaf_fault(leaf: Any) -> str | None:
    if isinstance(leaf, str):
        return "a text that UTF-8 cannot encode" if _SURROGATES.search(leaf) else None
    if isinstance(leaf, float) and not math.isfinite(leaf):
        return f"{leaf} is not JSON"
    return None if leaf is None or isinstance(leaf, bool | int | float) else f"{type(leaf).__name__} is not JSON"


def _unsendable(view: list[Message]) -> list[str]:
    pairs = ((i, _leaf_fault(leaf)) for i, message in enumerate(view) for leaf in _leaves(message))
    return [f"message {i}: {fault}" for i, fault in pairs if fault]


def _unknown_roles(view: list[Message], format: str) -> list[str]:
    return [f"message {i}: role {m.get('role')!r}" for i, m in enumerate(view) if m.get("role") not in ROLES[format]]


def _repeated(items: Iterable[Any]) -> list[Any]:
    return [item for item, n in Counter(map(_key, items)).items() if n > 1]


def _key(value: Any) -> str:
    """Return a value as text, so that ids of any type can be counted."""
    return value if isinstance(value, str) else repr(value)


def _object_fault(arguments: Any) -> str | None:
    """Return why a string of arguments is no JSON object, or None."""
    if not isinstance(arguments, str):
        return f"arguments are no string but {type(arguments).__name__}"
    try:
        value = json.loads(arguments, parse_constant=_refuse, parse_int=len, parse_float=len)
    except RecursionError:
        return None  # too deep for this parser, which says nothing about the provider's
    except ValueError:
        return f"arguments are not JSON: {arguments[:40]!r}"
    return None if isinstance(value, dict) else f"arguments are no object: {arguments[:40]!r}"


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


# anthropic


def _anthropic(view: list[Message]) -> list[str]:
    order = (_first_user, _alternate, _answered_next, _results_first)
    content = (_blank_content, _trailing_space, _call_ids, _inputs, _marks)
    return [fault for rule in (*order, *content) for fault in rule(view)]


def _first_user(view: list[Message]) -> list[str]:
    return [f"message 0: first role is {view[0].get('role')!r}"] if view and view[0].get("role") != "user" else []


def _alternate(view: list[Message]) -> list[str]:
    roles = [message.get("role") for message in view]
    return [f"message {i}: a second {b!r} in a row" for i, (a, b) in enumerate(pairwise(roles), 1) if a == b]


def _answered_next(view: list[Message]) -> list[str]:
    found: list[str] = []
    asked: Counter[str] = Counter()
    for i, message in enumerate(view):
        calls, results = _ids(message, "tool_use", "id"), _ids(message, "tool_result", "tool_use_id")
        found += [f"message {i}: no result for call {id!r} of message {i - 1}" for id in asked - results]
        found += [f"message {i}: result {id!r} without a call in the message before" for id in results - asked]
        if calls and message.get("role") != "assistant":
            found.append(f"message {i}: a call by {message.get('role')!r}")
        if results and message.get("role") != "user":
            found.append(f"message {i}: a result by {message.get('role')!r}")
        asked = calls
    return found


def _ids(message: Message, type: str, key: str) -> Counter[str]:
    return Counter(_key(b.get(key)) for b in blocks(message) if _is(b, type))


def _results_first(view: list[Message]) -> list[str]:
    found = []
    for i, message in enumerate(view):
        results = [_is(b, "tool_result") for b in blocks(message)]
        if results != sorted(results, reverse=True):
            found.append(f"message {i}: a result after other content")
    return found


def _blank_content(view: list[Message]) -> list[str]:
    found = []
    for i, message in enumerate(view):
        if not blocks(message):
            found.append(f"message {i}: empty content")
        for block in _all_blocks(message):
            if not isinstance(block, dict):
                found.append(f"message {i}: a block that is no dict")
            elif _is(block, "text") and not str(block.get("text") or "").strip():
                found.append(f"message {i}: blank text block")
    return found


def _all_blocks(message: Message) -> list[Any]:
    """Return the blocks of a message and those inside its results."""
    top = blocks(message)
    inner = [b["content"] for b in top if _is(b, "tool_result") and isinstance(b.get("content"), list | tuple)]
    return [*top, *(block for content in inner for block in content)]


def _trailing_space(view: list[Message]) -> list[str]:
    if not view or view[-1].get("role") != "assistant" or not blocks(view[-1]):
        return []
    last = blocks(view[-1])[-1]
    text = str(last.get("text") or "") if _is(last, "text") else ""
    return [f"message {len(view) - 1}: the last text ends in white space"] if text != text.rstrip() else []


def _call_ids(view: list[Message]) -> list[str]:
    ids = [(i, b.get("id")) for i, message in enumerate(view) for b in blocks(message) if _is(b, "tool_use")]
    legal = [isinstance(id, str) and _ANTHROPIC_ID.fullmatch(id) is not None for _, id in ids]
    found = [f"message {i}: illegal id {id!r}" for (i, id), ok in zip(ids, legal, strict=True) if not ok]
    return found + [f"repeated id {id!r}" for id in _repeated(id for _, id in ids)]


def _inputs(view: list[Message]) -> list[str]:
    calls = [(i, b) for i, message in enumerate(view) for b in blocks(message) if _is(b, "tool_use")]
    wrong = [(i, b.get("id")) for i, b in calls if not isinstance(b.get("input"), dict)]
    return [f"message {i}: the input of {id!r} is no object" for i, id in wrong]


def _marks(view: list[Message]) -> list[str]:
    marked = [b for message in view for b in _all_blocks(message) if isinstance(b, dict) and b.get("cache_control")]
    return [f"{len(marked)} cache_control, at most {CACHE_MARKS}"] if len(marked) > CACHE_MARKS else []


# openai-chat


def _openai_chat(view: list[Message]) -> list[str]:
    rules = (_answered_after, _ids_in_message, _arguments, _says_something)
    return [fault for rule in rules for fault in rule(view)]


def calls_of(message: Message) -> list[Message]:
    """Return the tool calls of an assistant message in the form of openai-chat."""
    calls = message.get("tool_calls") if message.get("role") == "assistant" else None
    return [call for call in calls or [] if isinstance(call, dict)]


def _answered_after(view: list[Message]) -> list[str]:
    found: list[str] = []
    owner, asked = 0, Counter[str]()
    for i, message in enumerate(view):
        if message.get("role") == "tool":
            id = _key(message.get("tool_call_id"))
            if asked[id] < 1:
                found.append(f"message {i}: result {id!r} without a call right before")
            asked[id] -= 1
        else:
            found += _unanswered(owner, asked)
            owner, asked = i, Counter(_key(call.get("id")) for call in calls_of(message))
    return found + (_unanswered(owner, asked) if owner < len(view) - 1 else [])


def _unanswered(owner: int, asked: Counter[str]) -> list[str]:
    return [f"message {owner}: no result for call {id!r}" for id in +asked]


def _ids_in_message(view: list[Message]) -> list[str]:
    found = []
    for i, message in enumerate(view):
        ids = [call.get("id") for call in calls_of(message)]
        found += [f"message {i}: a call without an id" for id in ids if not isinstance(id, str)]
        found += [f"message {i}: repeated id {id!r}" for id in _repeated(ids)]
    return found


def _arguments(view: list[Message]) -> list[str]:
    functions = [
        (i, function)
        for i, message in enumerate(view)
        for function in [*(c.get("function") for c in calls_of(message)), message.get("function_call")]
        if isinstance(function, dict)
    ]
    checked = [(i, _object_fault(function.get("arguments"))) for i, function in functions]
    return [f"message {i}: {fault}" for i, fault in checked if fault]


def _says_something(view: list[Message]) -> list[str]:
    keys = ("content", "tool_calls", "function_call", "refusal", "audio")
    return [
        f"message {i}: an assistant message with nothing in it"
        for i, message in enumerate(view)
        if message.get("role") == "assistant" and not any(message.get(key) for key in keys)
    ]


# text


def _text(view: list[Message]) -> list[str]:
    """Find nothing: orphan calls and results of the text format are not repaired, so only the raw history tells."""
    return []


def _tags(text: str) -> list[str]:
    return _TAG.findall(text)


def _tags_outside_code(text: str) -> list[str]:
    return _TAG.findall(_without_code(text))


def _without_code(text: str) -> str:
    """Blank out fences (but one that holds nothing but one listed pair) and inline code."""
    fenced = _FENCE.sub(lambda m: m[2] if _ONE_PAIR.fullmatch(m[2].strip()) else " ", text)
    return _INLINE.sub(" ", fenced)


def _lone_tags(scan: Callable[[str], list[str]], texts: Iterable[str]) -> Counter[str]:
    """Count the openers without closer and closers without opener, each name by itself."""
    lone: Counter[str] = Counter()
    for text in texts:
        opened: Counter[str] = Counter()
        for tag in scan(text):
            opener = tag.replace("/", "")
            if tag == opener:
                opened[opener] += 1
            elif opened[opener]:
                opened[opener] -= 1
            else:
                lone[tag] += 1
        lone += opened
    return lone


def _heads(raw: list[Message]) -> list[str | None]:
    """Return for each message the first characters of its text, where these are plain and stand in no other message."""
    texts = [text_of(message) for message in raw]
    plain = [m[0] if (m := _PLAIN_HEAD.match(text)) else None for text in texts]
    return [head if head and sum(head in text for text in texts) == 1 else None for head in plain]


def _holds_call(message: Message) -> bool | None:
    """Say whether a message of the text format holds a call; None where that depends on the reading of its code."""
    text = text_of(message)
    if message.get("role") != "assistant" or not {"<tool_use>", "<tool_call>"} & set(_tags(text)):
        return False
    clear = not any(_lone_tags(scan, [text]) for scan in (_tags, _tags_outside_code))
    return True if clear and _CALL.search(text) and _CALL.search(_without_code(text)) else None


def _torn_text_pairs(raw: list[Message], view: list[Message]) -> list[str]:
    """Find a call message of the text format that stands without the message of its results, or the reverse.

    Not judged where a cut left less of a text than its head.
    """
    found = []
    stumps = [head for m in view if len(head := text_of(m).split("\n[")[0]) < HEAD_CHARS]
    held = [i for i in range(len(raw) - 1) if raw[i + 1].get("role") == "user" and _holds_call(raw[i])]
    heads = _heads(raw) if held else []
    said = {role: [text_of(m) for m in view if m.get("role") == role] for role in ("assistant", "user")}
    for i in held:
        call, result = heads[i], heads[i + 1]
        cut_short = any((call or "").startswith(stump) or (result or "").startswith(stump) for stump in stumps)
        if call and result and not cut_short:
            called = any(call in text for text in said["assistant"])
            if called != any(result in text for text in said["user"]):
                found.append(f"raw messages {i} and {i + 1}: only the {'call' if called else 'result'} is in the view")
    return found


# Relations: what of the raw history must stand in the view


def _holds(text: str, words: str) -> bool:
    """Say whether `words` stand in `text`, what UTF-8 cannot encode left out of account."""
    at = 0
    for piece in _SURROGATES.split(words):
        at = text.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    return True


def _alike(raw: Any, seen: Any) -> bool:
    """Compare two JSON values, key order included, where only unencodable characters may have been replaced."""
    if isinstance(raw, str) and isinstance(seen, str) and _SURROGATES.search(raw):
        pieces = _SURROGATES.split(raw)
        return seen.startswith(pieces[0]) and seen.endswith(pieces[-1]) and _holds(seen, raw)
    if isinstance(raw, dict) and isinstance(seen, dict):
        return len(raw) == len(seen) and all(map(_alike, _flat(raw), _flat(seen)))
    if isinstance(raw, list | tuple) and isinstance(seen, list | tuple):
        return len(raw) == len(seen) and all(map(_alike, raw, seen))
    return type(raw) is type(seen) and bool(raw == seen)


def _flat(value: Message) -> list[Any]:
    return [*value, *value.values()]


def _changed_system(raw: list[Message], view: list[Message]) -> list[str]:
    before, after = ([m for m in messages if m.get("role") in SYSTEM_ROLES] for messages in (raw, view))
    if len(before) != len(after):
        return [f"{len(before)} system messages became {len(after)}"]
    pairs = enumerate(zip(before, after, strict=True))
    return [f"system message {i} was changed or moved" for i, (old, new) in pairs if not _alike(old, new)]


def newest_request(raw: list[Message], format: str) -> list[str] | None:
    """Return the texts of the newest user request, [] if there is none, None if the readings differ."""
    for i in range(len(raw) - 1, -1, -1):
        words = [text for text in texts_of(raw[i]) if text.strip()]
        if raw[i].get("role") == "user" and words:
            kind = _is_request(raw, i) if format == "text" else True
            if kind is not False:
                return words if kind else None
    return []


def _is_request(raw: list[Message], i: int) -> bool | None:
    """Say whether user message `i` of the text format is a request: not the message right after a call."""
    start = i
    while start and raw[start - 1].get("role") == "assistant":
        start -= 1
    held = [_holds_call(message) for message in raw[start:i]]
    if held and held[-1]:
        return False
    unclear = any(value is not False for value in held) or "<tool_result>" in text_of(raw[i])
    return None if unclear else True


def _lost_request(raw: list[Message], view: list[Message], format: str, cut: bool) -> list[str]:
    words = newest_request(raw, format) or []
    if cut and sum(map(len, words)) > REQUEST_CHARS:
        words = [_DATA.split(words[0])[0][:100]]  # data leaves whole (spec 4.1)
    said = [text_of(message) for message in view if message.get("role") == "user"]
    lost = [text for text in words if not any(_holds(other, text) for other in said)]
    return [f"the newest request is not in the view: {text[:60]!r}" for text in lost]


def _changed_last_calls(raw: list[Message], view: list[Message], format: str) -> list[str]:
    if not raw:
        return []
    calls = _CALLS[format](raw[-1])
    if calls and not view:
        return ["the calls of the last message are gone"]
    seen = _CALLS[format](view[-1]) if calls else []
    kept = seen[len(seen) - len(calls) :] if len(seen) >= len(calls) else []
    if len(kept) < len(calls):
        return [f"{len(calls)} calls of the last message became {len(seen)}"]
    pairs = zip(calls, kept, strict=True)
    return [f"a call of the last message was changed: {old[0]!r}" for old, new in pairs if not _same_call(old, new)]


def _same_call(old: tuple[Any, Any], new: tuple[Any, Any]) -> bool:
    return _alike(old[0], new[0]) and _same_arguments(old[1], new[1])


def _same_arguments(old: Any, new: Any) -> bool:
    """Compare the arguments of a call; what is no object must have become one."""
    if isinstance(old, tuple):
        return isinstance(new, tuple) and _same_argument_text(old[0], new[0])
    return _alike(old, new) if isinstance(old, dict) else isinstance(new, dict)


def _same_argument_text(old: Any, new: Any) -> bool:
    if not isinstance(old, str) or not isinstance(new, str):
        return isinstance(new, str)
    if _object_fault(old) is None and _alike(old, new):
        return True
    if _object_fault(new):
        return False
    value = json.loads(new)
    return value == {} if not old.strip() else _alike({"_raw": old}, value)


def _anthropic_calls(message: Message) -> list[tuple[Any, Any]]:
    return [(b.get("name"), b.get("input")) for b in blocks(message) if _is(b, "tool_use")]


def _openai_calls(message: Message) -> list[tuple[Any, Any]]:
    """Return name and arguments of each call; a text of arguments as a tuple of one, to tell it from a custom input."""
    found = []
    for call in calls_of(message):
        function, custom = call.get("function"), call.get("custom")
        if isinstance(function, dict):
            found.append((function.get("name"), (function.get("arguments"),)))
        elif isinstance(custom, dict):
            found.append((custom.get("name"), {"input": custom.get("input")}))
        else:
            found.append((call.get("type"), {key: value for key, value in call.items() if key != "id"}))
    return found


def _text_calls(message: Message) -> list[tuple[Any, Any]]:
    return [(m[1], {"words": m[2]}) for m in _CALL.finditer(text_of(message))] if _holds_call(message) else []


def _signed(message: Message) -> list[Message]:
    """Return the blocks of reasoning that a provider checks byte for byte."""
    return [b for b in blocks(message) if _is(b, "redacted_thinking") or (_is(b, "thinking") and b.get("signature"))]


def _bytes(block: Message) -> str:
    return json.dumps(block)


def _encodable(block: Message) -> bool:
    return not any(_leaf_fault(leaf) for leaf in _leaves(block))


def _changed_reasoning(raw: list[Message], view: list[Message]) -> list[str]:
    known = {_bytes(block) for message in raw for block in _signed(message)}
    pairs = [(i, _bytes(block)) for i, message in enumerate(view) for block in _signed(message)]
    return [f"message {i}: signed reasoning was changed: {text[:60]}" for i, text in pairs if text not in known]


def _torn_reasoning(raw: list[Message], view: list[Message]) -> list[str]:
    """Find a message of which some signed blocks stayed and some went: it is all of them or none."""
    counts = Counter(_bytes(block) for message in raw for block in _signed(message))
    seen = {_bytes(block) for message in view for block in _signed(message)}
    found = []
    for i, message in enumerate(raw):
        signed = _signed(message)
        judged = [_bytes(block) for block in signed if counts[_bytes(block)] == 1]
        if all(map(_encodable, signed)) and 0 < sum(text in seen for text in judged) < len(judged):
            found.append(f"raw message {i}: only a part of its signed reasoning is in the view")
    return found


def _lost_open_reasoning(raw: list[Message], view: list[Message]) -> list[str]:
    """Find signed reasoning of the newest message with calls that is gone."""
    newest = next((m for m in reversed(raw) if m.get("role") == "assistant" and _ids(m, "tool_use", "id")), {})
    signed = _signed(newest)
    if not all(map(_encodable, signed)):
        return []
    seen = {_bytes(block) for message in view for block in _signed(message)}
    return [f"reasoning of the open loop is gone: {_bytes(b)[:60]}" for b in signed if _bytes(b) not in seen]


def _mispaired(raw: list[Message], view: list[Message], format: str) -> list[str]:
    """Find a call of the view whose result is not the one it had in the raw history.

    Judged are calls that are like no other call, with a result that no reading gives to another call and whose text
    has a plain head.
    """
    steps, seen = _STEPS[format](raw), _STEPS[format](view)
    counts = Counter(call for calls, _ in steps for _, call in calls)
    due = {call: text for call, text in _sure_pairs(steps, raw) if counts[call] == 1 and _PLAIN_HEAD.match(text)}
    found = []
    for i, (calls, _) in enumerate(seen):
        answers = dict(seen[i + 1][1]) if i + 1 < len(seen) else {}
        for id, call in calls:
            answer = answers.get(id, "")
            head = answer.split("\n[")[0].split("[...")[0][:HEAD_CHARS]  # a cut may leave less of it
            if call in due and (not answer or head not in due[call]) and due[call][:HEAD_CHARS] not in answer:
                found.append(f"call {call[:60]} has {answer[:40]!r} in place of its result {due[call][:40]!r}")
    return found


Step = tuple[list[tuple[str, str]], list[tuple[str, str]]]
"""The calls (id, name and arguments) and the results (id, text) that stand in one place."""


def _sure_pairs(steps: list[Step], raw: list[Message]) -> Iterator[tuple[str, str]]:
    """Yield each call with its result, where id or place leave no doubt."""
    called = Counter(id for calls, _ in steps for id, _ in calls)
    given: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for i, (_, results) in enumerate(steps):
        for id, text in results:
            given[id].append((i, text))
    for i, (calls, _) in enumerate(steps):
        here = Counter(id for id, _ in calls)
        alone = not (i and steps[i - 1][0])
        for id, call in calls:
            near = [text for place, text in given[id] if place == i + 1]
            if alone and len(near) == here[id] == 1:
                yield call, near[0]
            elif called[id] == len(given[id]) == 1 and given[id][0][0] > i:
                yield call, given[id][0][1]


def _anthropic_steps(messages: list[Message]) -> list[Step]:
    steps: list[Step] = []
    for message in messages:
        calls = [b for b in blocks(message) if _is(b, "tool_use")]
        results = [b for b in blocks(message) if _is(b, "tool_result")]
        steps.append(
            (
                [(_key(b.get("id")), _call_key(b.get("name"), b.get("input"))) for b in calls],
                [(_key(b.get("tool_use_id")), text_of(b)) for b in results],
            )
        )
    return steps


def _openai_steps(messages: list[Message]) -> list[Step]:
    """Return the steps with each run of tool messages as one."""
    steps: list[Step] = []
    for before, message in zip([{}, *messages], messages, strict=False):
        result = message.get("role") == "tool"
        if not (result and before.get("role") == "tool"):
            ids = [_key(call.get("id")) for call in calls_of(message)]
            keys = [_call_key(*call) for call in _openai_calls(message)]
            steps.append((list(zip(ids, keys, strict=False)), []))
        if result:
            steps[-1][1].append((_key(message.get("tool_call_id")), text_of(message)))
    return steps


def _call_key(name: Any, arguments: Any) -> str:
    return json.dumps([name, arguments])


_RULES = {"anthropic": _anthropic, "openai-chat": _openai_chat, "text": _text}
_CALLS = {"anthropic": _anthropic_calls, "openai-chat": _openai_calls, "text": _text_calls}
_STEPS = {"anthropic": _anthropic_steps, "openai-chat": _openai_steps}
