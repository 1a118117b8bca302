"""The rules of the text format, in which calls, results and reasoning stand between tags."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from oracle.common import HEAD_CHARS, PLAIN_HEAD, Message, Rules, block_text, block_texts, side_of_role

LISTED_TAGS = ("thinking", "think", "tool_use", "tool_call", "tool_result", "history", "key_info", "earlier_context")

_TAG = re.compile("</?(?:" + "|".join(LISTED_TAGS) + ")>")
_CALL = re.compile(r"<(tool_use|tool_call)>((?:(?!</?(?:tool_use|tool_call)>).)*)</\1>", re.DOTALL)
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[^\n`]*\n(.*?)^ {0,3}\1[ \t]*$", re.DOTALL | re.MULTILINE)
_ONE_PAIR = re.compile("<(" + "|".join(LISTED_TAGS) + r")>.*</\1>", re.DOTALL)
_INLINE = re.compile(r"(?<!`)(`+)(?!`)(?:.*?[^`])\1(?!`)", re.DOTALL)


def _view(view: list[Message]) -> list[str]:
    """Find nothing: orphan calls and results of the text format are not repaired, so only the raw history tells."""
    return []


def text_faults(raw: list[Message], view: list[Message]) -> list[str]:
    """Return the messages of a text view that hold a lone tag which the raw history did not hold.

    Of two readings, tags in code count or do not, both must show the lone tag.
    """
    found = []
    whole = {block_text(message) for message in raw}
    heads = _heads(raw)
    for i, text in enumerate(map(block_text, view)):
        if text in whole:
            continue
        stump = text.split("\n[")[0]  # a cut may leave less than the head
        sources = [
            block_text(message)
            for message, head in zip(raw, heads, strict=True)
            if head is None or head in text or head.startswith(stump)
        ]
        added = [_lone_tags(scan, [text]) - _lone_tags(scan, sources) for scan in (_tags, _tags_outside_code)]
        if all(added):
            found.append(f"message {i}: lone tags that the raw text has not: {sorted(added[0])}")
    return found


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
    texts = [block_text(message) for message in raw]
    plain = [m[0] if (m := PLAIN_HEAD.match(text)) else None for text in texts]
    return [head if head and sum(head in text for text in texts) == 1 else None for head in plain]


def _holds_call(message: Message) -> bool | None:
    """Say whether a message of the text format holds a call; None where that depends on the reading of its code."""
    text = block_text(message)
    if message.get("role") != "assistant" or not {"<tool_use>", "<tool_call>"} & set(_tags(text)):
        return False
    clear = not any(_lone_tags(scan, [text]) for scan in (_tags, _tags_outside_code))
    return True if clear and _CALL.search(text) and _CALL.search(_without_code(text)) else None


def _calls(message: Message) -> list[tuple[Any, Any]]:
    return [(m[1], {"words": m[2]}) for m in _CALL.finditer(block_text(message))] if _holds_call(message) else []


def _is_request(raw: list[Message], i: int) -> bool | None:
    """Say whether user message `i` of the text format is a request: not the message right after a call."""
    start = i
    while start and raw[start - 1].get("role") == "assistant":
        start -= 1
    held = [_holds_call(message) for message in raw[start:i]]
    if held and held[-1]:
        return False
    unclear = any(value is not False for value in held) or "<tool_result>" in block_text(raw[i])
    return None if unclear else True


def _torn_text_pairs(raw: list[Message], view: list[Message]) -> list[str]:
    """Find a call message of the text format that stands without the message of its results, or the reverse.

    Not judged where a cut left less of a text than its head.
    """
    found = []
    stumps = [head for m in view if len(head := block_text(m).split("\n[")[0]) < HEAD_CHARS]
    held = [i for i in range(len(raw) - 1) if raw[i + 1].get("role") == "user" and _holds_call(raw[i])]
    heads = _heads(raw) if held else []
    said = {role: [block_text(m) for m in view if m.get("role") == role] for role in ("assistant", "user")}
    for i in held:
        call, result = heads[i], heads[i + 1]
        cut_short = any((call or "").startswith(stump) or (result or "").startswith(stump) for stump in stumps)
        if call and result and not cut_short:
            called = any(call in text for text in said["assistant"])
            if called != any(result in text for text in said["user"]):
                found.append(f"raw messages {i} and {i + 1}: only the {'call' if called else 'result'} is in the view")
    return found


RULES = Rules(
    roles=frozenset({"system", "developer", "user", "assistant"}),
    view=_view,
    texts=block_texts,
    calls=_calls,
    side=side_of_role,
    request=_is_request,
    relation=_torn_text_pairs,
)
