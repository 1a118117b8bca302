"""What of the raw history must stand in the view, in every format."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from oracle.common import HEAD_CHARS, PLAIN_HEAD, SURROGATES, Message, Rules, Step, object_fault

REQUEST_CHARS = 2_000
"""What promise 3 (iii) leaves of a request that is larger than the budget."""
_DATA = re.compile(r"data:|[A-Za-z0-9+/_-]{200}")


def _holds(text: str, words: str) -> bool:
    """Say whether `words` stand in `text`, what UTF-8 cannot encode left out of account."""
    at = 0
    for piece in SURROGATES.split(words):
        at = text.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    return True


def _alike(raw: Any, seen: Any) -> bool:
    """Compare two JSON values, key order included, where only unencodable characters may have been replaced."""
    if isinstance(raw, str) and isinstance(seen, str) and SURROGATES.search(raw):
        pieces = SURROGATES.split(raw)
        return seen.startswith(pieces[0]) and seen.endswith(pieces[-1]) and _holds(seen, raw)
    if isinstance(raw, dict) and isinstance(seen, dict):
        return len(raw) == len(seen) and all(map(_alike, _flat(raw), _flat(seen)))
    if isinstance(raw, list | tuple) and isinstance(seen, list | tuple):
        return len(raw) == len(seen) and all(map(_alike, raw, seen))
    return type(raw) is type(seen) and bool(raw == seen)


def _flat(value: Message) -> list[Any]:
    return [*value, *value.values()]


def changed_system(raw: list[Message], view: list[Message], rules: Rules) -> list[str]:
    before, after = ([m for m in messages if rules.side(m) == "system"] for messages in (raw, view))
    if len(before) != len(after):
        return [f"{len(before)} system messages became {len(after)}"]
    pairs = enumerate(zip(before, after, strict=True))
    return [f"system message {i} was changed or moved" for i, (old, new) in pairs if not _alike(old, new)]


def newest_request(raw: list[Message], rules: Rules) -> list[str] | None:
    """Return the texts of the newest user request, [] if there is none, None if the readings differ."""
    for i in range(len(raw) - 1, -1, -1):
        words = [text for text in rules.texts(raw[i]) if text.strip()]
        if rules.side(raw[i]) == "user" and words:
            kind = rules.request(raw, i)
            if kind is not False:
                return words if kind else None
    return []


def lost_request(raw: list[Message], view: list[Message], rules: Rules, cut: bool) -> list[str]:
    words = newest_request(raw, rules) or []
    if cut and sum(map(len, words)) > REQUEST_CHARS:
        words = [_DATA.split(words[0])[0][:100]]  # data leaves whole (spec 4.1)
    said = ["\n".join(rules.texts(message)) for message in view if rules.side(message) == "user"]
    lost = [text for text in words if not any(_holds(other, text) for other in said)]
    return [f"the newest request is not in the view: {text[:60]!r}" for text in lost]


def changed_last_calls(raw: list[Message], view: list[Message], rules: Rules) -> list[str]:
    calls, seen = ([call for m in rules.newest(messages) for call in rules.calls(m)] for messages in (raw, view))
    if calls and not view:
        return ["the calls of the last message are gone"]
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
    if object_fault(old) is None and _alike(old, new):
        return True
    if object_fault(new):
        return False
    value = json.loads(new)
    return value == {} if not old.strip() else _alike({"_raw": old}, value)


def mispaired(raw: list[Message], view: list[Message], rules: Rules) -> list[str]:
    """Find a call of the view whose result is not the one it had in the raw history.

    Judged are calls that are like no other call, with a result that no reading gives to another call and whose text
    has a plain head that is no data, which leaves whole (spec 4.1).
    """
    if rules.steps is None:
        return []
    steps, seen = rules.steps(raw), rules.steps(view)
    counts = Counter(call for calls, _ in steps for _, call in calls)
    sure = {call: text for call, text in _sure_pairs(steps) if counts[call] == 1}
    due = {call: text for call, text in sure.items() if PLAIN_HEAD.match(text) and not _DATA.match(text)}
    found = []
    for i, (calls, _) in enumerate(seen):
        answers = dict(seen[i + 1][1]) if i + 1 < len(seen) else {}
        for id, call in calls:
            answer = answers.get(id, "")
            head = answer.split("\n[")[0].split("[...")[0][:HEAD_CHARS]  # a cut may leave less of it
            if call in due and (not answer or head not in due[call]) and due[call][:HEAD_CHARS] not in answer:
                found.append(f"call {call[:60]} has {answer[:40]!r} in place of its result {due[call][:40]!r}")
    return found


def _sure_pairs(steps: list[Step]) -> Iterator[tuple[str, str]]:
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
