"""What the model gets when it asks for an original: a part of it by reference and range, or passages by words.

A part is told in one form, a line that says which characters these are and where the next begin, then the characters.
So a result that holds one is known again by making it anew: what is equal is in the archive already, under the
reference that was asked for, and is not archived a second time when a stage cuts it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ga_context.archive import Found
from ga_context.archive.words import Query, ranked
from ga_context.closure import call_row
from ga_context.config import ContextConfig
from ga_context.errors import ArchiveError, UnknownReference
from ga_context.model import Block, Call, Message, Path
from ga_context.state import State
from ga_context.text.boundary import before
from ga_context.text.clean import encodable
from ga_context.text.marker import TITLE
from ga_context.text.structure import fit
from ga_context.text.window import Cut, spliced

RECALL_TOOL = "recall_context"
"""The tool by which the model reads what was cut (spec 11.1)."""

DESCRIPTION = (
    "Read again what was left out of this conversation. A mark such as [... 9000 characters omitted; saved: ref "
    "0123456789abcdef ...] names the reference of the whole original: give it as ref, with start and end for a part. "
    "Or give words, to find the passages that hold them in everything that was left out."
)
PARAMETERS: Message = {
    "type": "object",
    "properties": {
        "ref": {"type": "string", "description": "The reference in a mark: its hexadecimal digits."},
        "start": {"type": "integer", "description": "First character of the part; 0 is the first of the original."},
        "end": {"type": "integer", "description": "Behind the last character of the part."},
        "words": {"type": "string", "description": "Words to look for, in all or in ref."},
    },
}

BUDGET_SHARE = 4
"""A part takes at most a quarter of the budget, so that what is asked for twice does not push all else out."""

PASSAGES = 5
"""Passages that a search shows, at most."""

LOOKED_AT = 20
"""Passages that these are chosen from: anchors that were folded are left out."""

LEAST_WINDOW_CHARS = 100
"""What a cut leaves of a part at least, as of any text (spec 4.1)."""


class Answer(NamedTuple):
    """What a call is told."""

    text: str
    failed: bool = False


class Held(NamedTuple):
    """A part of an original that stands in a result."""

    ref: str
    first: int
    """Its first character in the original."""
    start: int
    """Where it begins in the result's text."""
    end: int
    """Behind its last character there."""

    @property
    def mark(self) -> str:
        """What a mark in its place refers to."""
        return f"{self.ref}, characters {self.first} to {self.first + self.end - self.start}"

    def place(self, at: int) -> int:
        """Return where a character of the result's text is in the original."""
        return self.first + min(max(at, self.start), self.end) - self.start

    def cut(self, text: str, limit: int, *, tags: Sequence[str] = (), json: bool = True) -> Cut | None:
        """Cut the result's text to a limit, all of it in the part; None where the limit leaves no room for that."""
        room = limit - (len(text) - self.end + self.start)
        if room < LEAST_WINDOW_CHARS:
            return None
        inner = fit(text[self.start : self.end], room, self.mark, tags=tags, json=json)
        return spliced(text, [(self.start, self.end, inner)]) if inner else None


class Asked(NamedTuple):
    """What a call asks for, read from its input."""

    ref: str = ""
    start: int = 0
    end: int | None = None
    words: str = ""

    @property
    def whole(self) -> bool:
        """No range is asked for."""
        return not self.start and self.end is None


class WrongArgumentsError(ValueError):
    """An input that asks for nothing; the message is for the model."""


def most_chars(state: State, config: ContextConfig) -> int:
    """Return the characters of an answer, at most: the limit of the tool, and no more than a share of the budget."""
    budget = state.marks.budget or config.budget_chars()
    return max(LEAST_WINDOW_CHARS, min(config.limits(RECALL_TOOL).limit, budget // BUDGET_SHARE))


def answer(state: State, config: ContextConfig, given: Any) -> Answer:
    """Answer a call of ``recall_context``; what is wrong with its input is said in words, and what would be right."""
    try:
        asked = read_input(given)
        most = most_chars(state, config)
        if asked.ref and not (asked.words and asked.whole):
            return Answer(part(state, config, asked, most))
        return passages(state, config, asked, most)
    except WrongArgumentsError as error:  # which may repeat what the model wrote
        return Answer(state.fmt.quoted(f"error: {error}", _listed(config)), failed=True)


def read_input(given: Any) -> Asked:
    """Read the input of a call: numbers may be text, a reference may carry the word and the range of its mark."""
    if not isinstance(given, Mapping):
        raise WrongArgumentsError(f"the input must be an object with ref or words; got {type(given).__name__}")
    ref, words = _text(given, "ref"), _text(given, "words")
    start, end = _number(given, "start"), _number(given, "end")
    ref = ref.strip("[]\"'`,.: ").removeprefix("ref").strip(" :")
    ref, _, span = ref.partition(", characters ")
    if span and start is None and end is None:
        first, _, last = span.partition(" to ")
        start, end = _number({"start": first}, "start"), _number({"end": last}, "end")
    if not ref and not words.strip():
        raise WrongArgumentsError(
            "neither ref nor words is given; ref is the reference in a mark, words are looked for"
        )
    if end is not None and end <= (start or 0):
        raise WrongArgumentsError(f"end must be greater than start; got start {start or 0} and end {end}")
    return Asked(ref, start or 0, end, words.strip())


def _text(given: Mapping[str, Any], key: str) -> str:
    value = given.get(key)
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        value = " ".join(value)
    if not isinstance(value, str | None):
        raise WrongArgumentsError(f"{key} must be a string; got {value!r:.40}")
    return value or ""


def _number(given: Mapping[str, Any], key: str) -> int | None:
    value = given.get(key)
    if value in (None, ""):
        return None
    try:
        number = int(value) if isinstance(value, str) else value
    except ValueError:
        number = None
    if isinstance(number, bool) or not isinstance(number, int | float) or number != number // 1 or number < 0:
        raise WrongArgumentsError(f"{key} must be a whole number, 0 or more; got {value!r:.40}")
    return int(number)


# -- by reference and range


def part(state: State, config: ContextConfig, asked: Asked, most: int) -> str:
    """Return a part of an original in ``most`` characters, and how to go on."""
    original = _original(state, asked.ref)
    total = len(original)
    if isinstance(original, bytes):
        return f"[ref {asked.ref}: {total} bytes of an image or a file, which cannot be shown as text]"
    if asked.start >= total > 0:
        raise WrongArgumentsError(f"start is {asked.start}, but ref {asked.ref} has the characters 0 to {total}")
    wanted = total if asked.end is None else min(asked.end, total)
    room = max(LEAST_WINDOW_CHARS // 2, most - len(_head(asked.ref, total, total, total + 1)))
    end = wanted
    if wanted - asked.start > room:
        end = max(asked.start + 1, before(original, asked.start + room, asked.start, wanted))
    return _told(state, config, asked.ref, original, asked.start, end)


def _original(state: State, ref: str) -> str | bytes:
    try:
        return state.archive.recall(ref)
    except ArchiveError as error:
        raise WrongArgumentsError(f"the archive cannot be read now ({error})") from None
    except UnknownReference:
        raise WrongArgumentsError(
            f"nothing is kept under ref {ref!r:.80}; a reference is the hexadecimal digits behind the word ref in a "
            'mark; to look for words instead: {"words": "..."}'
        ) from None


def _told(state: State, config: ContextConfig, ref: str, original: str, start: int, end: int) -> str:
    held = encodable(original[start:end])
    return _head(ref, start, end, len(original)) + state.fmt.quoted(held, _listed(config))


def _listed(config: ContextConfig) -> tuple[str, ...]:
    """Return the tags that a result must hold in pairs, where results are tags themselves."""
    return (*config.compact.tags, *config.compact.anchor_tags)


def _head(ref: str, start: int, end: int, total: int) -> str:
    rest = f"the next part has start {end}" if end < total else "the end"
    return f"[ref {ref}: characters {start} to {end} of {total}; {rest}]\n"


# -- by words


def passages(state: State, config: ContextConfig, asked: Asked, most: int) -> Answer:
    """Return the passages that hold words, best first, each with where it stands; of one original the best."""
    if asked.ref:
        original = _original(state, asked.ref)
        found = ranked(Query(asked.words), [(asked.ref, original)] if isinstance(original, str) else [], PASSAGES)
    else:
        found = _searched(state, asked.words)
    told: list[str] = []
    room = most - 200
    for one in found[:PASSAGES]:
        excerpt = state.fmt.quoted(encodable(one.excerpt), _listed(config))
        text = f"[ref {one.ref}: characters {one.start} to {one.end}]\n{excerpt}"
        if len(text) + 2 > room:
            break
        told.append(text)
        room -= len(text) + 2
    if not told:
        where = f"in ref {asked.ref}" if asked.ref else "that was left out of this conversation"
        told_none = f"nothing {where} holds the words {asked.words!r:.80}"
        return Answer(state.fmt.quoted(told_none, _listed(config)))
    head = f"[{len(told)} passages, the best first; ref, start and end show what stands around one]"
    return Answer("\n\n".join([head, *told]))


def _searched(state: State, words: str) -> list[Found]:
    try:
        return [one for one in state.archive.search(words, LOOKED_AT) if not _is_anchor(state, one.ref)]
    except (ArchiveError, UnknownReference) as error:  # another session may forget it meanwhile
        raise WrongArgumentsError(f"the archive cannot be searched now ({error})") from None


def _is_anchor(state: State, ref: str) -> bool:
    """Return whether an original is an anchor that was folded: it says little that is not said elsewhere."""
    original = state.archive.recall(ref)
    return isinstance(original, str) and original.startswith(TITLE)


# -- a result that holds a part, known again


def held_in(state: State, config: ContextConfig, block: Block, path: Path, text: str) -> Held | None:
    """Return which part of an original a result's text holds; None where it is none, or not as it was told.

    No mark is trusted: the part is made anew from the archive and must be equal.
    """
    if block.kind != "result" or block.tools != (RECALL_TOOL,):
        return None
    given = call_input(state, block)
    spans = state.fmt.spans(text, _listed(config)) or [(0, len(text))]
    try:
        asked = read_input(given)
        original = _original(state, asked.ref) if asked.ref else b""
    except WrongArgumentsError:
        return None
    if isinstance(original, bytes) or len(spans) > 1:
        return None
    first, last = spans[0]
    head = text.find("\n", first, last) + 1
    end = asked.start + last - head
    if (
        not head
        or end > len(original)
        or _told(state, config, asked.ref, original, asked.start, end) != text[first:last]
    ):
        return None
    return Held(asked.ref, asked.start, head, last)


def is_spared(state: State, config: ContextConfig, turn: int, block: Block) -> bool:
    """Return whether a result of ``recall_context`` is not to be cut this turn.

    It stays whole for ``recall_grace`` turns. Where its reference was asked for more than once, the first pass after
    that spares it, too: what is read again and again is needed.
    """
    if RECALL_TOOL not in block.tools or block.kind != "result" or (call := answered(state, block)) is None:
        return False
    due = call.turn + config.compact.recall_grace
    return turn <= due or (state.marks.last_pass <= due and _asked_again(state, call))


def spared_ordinals(state: State, config: ContextConfig, turn: int) -> set[int]:
    """Return the raw messages with recalled texts that are in their grace: what goes last."""
    found: set[int] = set()
    for ordinal, call in reversed(state.pairs):
        if turn > call.turn + config.compact.recall_grace:
            break
        if RECALL_TOOL in call.tools:
            found |= {ordinal, call.ordinal}
    return found


def _asked_again(state: State, call: Call) -> bool:
    """Return whether the reference that a call asks for was asked for by another; as the turns' lines have it."""
    asked = [entry for line in state.lines for entry in line.calls if entry[0] == RECALL_TOOL]
    own = [entry for line in state.lines if line.turn == call.turn for entry in line.calls if entry[0] == RECALL_TOOL]
    return any([asked.count(entry) > 1 for entry in own])


def call_input(state: State, block: Block) -> Any:
    """Return the input of the one call that a result answers, or None where it has left the view."""
    call = answered(state, block)
    index = call_row(state, call) if call is not None else None
    if call is None or index is None:
        return None
    shown = next(
        one for one in state.rows[index].blocks if (one.ordinal, one.position) == (call.ordinal, call.position)
    )
    given = state.fmt.calls(shown)
    return given[0][1] if len(given) == 1 else None


def answered(state: State, block: Block) -> Call | None:
    """Return the call that a result answers, the newest first."""
    pairs = reversed(state.pairs)
    return next((call for at, call in pairs if at == block.ordinal and block.id in (call.id, "")), None)
