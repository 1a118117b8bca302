"""Search by words: what is looked for, how good a place is, and the tokens that an index holds.

Words of letters and digits match whole words or, from four characters on, how a word begins; scripts without spaces
(Chinese, Japanese, Korean, Thai) match anywhere. Rare words weigh more; a place that has many of them close together
is better than a text that has them scattered.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from heapq import nlargest
from math import log

from ga_context.archive.base import Found

EXCERPT_CHARS = 300
"""Characters of an excerpt, at most: some lines."""
LEAST_PREFIX = 4
"""Characters from which on a word is looked for as the beginning of others, too: `fail` in `failed`."""
PREFIX_SHARE = 0.5
"""What the beginning of a word counts, beside a whole word."""
WHOLE_TEXT_SHARE = 0.25
"""What all occurrences in a text count, beside those in the best place."""
MOST_HITS = 20_000
"""Occurrences of one word that are looked at in one text."""

PIECE_CHARS = 20_000
PIECE_OVERLAP_CHARS = 100
"""An index holds a text in pieces, so that a long one is not found worse than a short one; no word is cut by that."""

SPACELESS = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_TERM = re.compile(rf"[{SPACELESS}]+|[^\W_{SPACELESS}]+")
_SPACELESS = re.compile(f"[{SPACELESS}]")
_STOP = (
    "a an and are as at be by can did do does for from had has have how i in is it its me my of on or our say says "
    "tell that the their there they this to was we were what when where which who whose why will with you your"
)
STOP = frozenset(_STOP.split())
"""Left out where other words are given."""


def fold(text: str) -> str:
    """Return the text in lower case, as long as it was."""
    lower = text.lower()
    if len(lower) != len(text):
        lower = "".join([one if len(one := char.lower()) == 1 else char for char in text])
    return lower


def grams(run: str) -> Iterator[str]:
    """Yield what an index holds of a run of a script without spaces: pairs, and its last character."""
    for at in range(len(run)):
        yield run[at : at + 2]


def tokens(text: str) -> Iterator[str]:
    """Yield the tokens of a text, for an index."""
    for run in _TERM.findall(fold(text)):
        if _SPACELESS.match(run):
            yield from grams(run)
        else:
            yield run


def pieces(text: str) -> list[str]:
    """Return the tokens of a text as an index gets them, a string for each piece of it; at least one."""
    starts = range(0, max(1, len(text)), PIECE_CHARS)
    return [" ".join(tokens(text[start : start + PIECE_CHARS + PIECE_OVERLAP_CHARS])) for start in starts]


class Query:
    """Words that are looked for.

    ``terms`` are the single words; ``compounds`` those that hold several, like `src/parser.py`, looked for as they are.
    """

    def __init__(self, words: str) -> None:
        folded = fold(words)
        found = list(dict.fromkeys(_TERM.findall(folded)))
        self.terms: tuple[str, ...] = tuple([term for term in found if term not in STOP] or found)
        parts = [part.strip(".,;:!?\"'()[]{}<>。，？！、：；") for part in folded.split()]
        self.compounds = tuple(dict.fromkeys([part for part in parts if len(_TERM.findall(part)) > 1]))

    def index_terms(self) -> list[tuple[str, bool]]:
        """Return (token, whether longer ones count) for each token an index is asked for."""
        asked: list[tuple[str, bool]] = []
        for term in self.terms:
            if not _SPACELESS.match(term):
                asked.append((term, len(term) >= LEAST_PREFIX))
            elif len(term) == 1:
                asked.append((term, True))
            else:
                asked += [(term[at : at + 2], False) for at in range(len(term) - 1)]
        return list(dict.fromkeys(asked))


Hit = tuple[int, int, float]
"""Where, which term, what it counts."""


def _hits(query: Query, folded: str) -> list[Hit]:
    """Return where the terms stand in a folded text."""
    found: list[Hit] = []
    for number, term in enumerate(query.terms):
        if _SPACELESS.match(term):
            found += _spaceless_hits(number, term, folded)
            continue
        at, count = folded.find(term), 0
        while at >= 0 and count < MOST_HITS:
            end = at + len(term)
            if not (at and _in_word(folded[at - 1])):
                whole = not (end < len(folded) and _in_word(folded[end]))
                if whole or len(term) >= LEAST_PREFIX:
                    found.append((at, number, 1.0 if whole else PREFIX_SHARE))
                    count += 1
            at = folded.find(term, end)
    found.sort()
    return found


def _spaceless_hits(number: int, term: str, folded: str) -> list[Hit]:
    """Return where a run stands, whole, or else the pairs of it: a question seldom has the very words of a text."""
    whole = [(at, number, 1.0) for at in _all(folded, term)]
    if whole or len(term) <= 2:
        return whole
    pairs = len(term) - 1
    return [(at, number, 1.0 / pairs) for i in range(pairs) for at in _all(folded, term[i : i + 2])]


def _all(text: str, part: str) -> Iterator[int]:
    at, count = text.find(part), 0
    while at >= 0 and count < MOST_HITS:
        yield at
        at, count = text.find(part, at + len(part)), count + 1


def _in_word(char: str) -> bool:
    return char.isalnum() and not _SPACELESS.match(char)


def ranked(query: Query, texts: Iterable[tuple[str, str]], limit: int, total: int | None = None) -> list[Found]:
    """Return the best place of each text that has any of the words, the best texts first.

    Args:
        query: what is looked for.
        texts: (reference, text) of each candidate.
        limit: how many places, at most.
        total: of how many texts these are the candidates; None: they are all.
    """
    if not query.terms or limit < 1:
        return []
    candidates: list[tuple[str, str, str, list[Hit]]] = []
    seen, counts = 0, [0] * len(query.terms)
    for ref, text in texts:
        seen += 1
        folded = fold(text)
        if hits := _hits(query, folded):
            candidates.append((ref, text, folded, hits))
            for number in {number for _, number, _ in hits}:
                counts[number] += 1
    total = max(total or 0, seen)
    weights = [log(1 + (total - count + 0.5) / (count + 0.5)) for count in counts]
    found = [_place(query, weights, *candidate) for candidate in candidates]
    return nlargest(limit, found, key=lambda one: (one.score, _reverse(one.ref)))


def _reverse(ref: str) -> tuple[int, ...]:
    """Order equal scores by reference, the first first."""
    return tuple([-ord(char) for char in ref])


def _place(query: Query, weights: Sequence[float], ref: str, text: str, folded: str, hits: list[Hit]) -> Found:
    """Return the part of a text with the heaviest words in it."""
    first, last, best = _window(weights, hits)
    often = [0.0] * len(weights)
    for _, number, share in hits:
        often[number] += share
    score = best + WHOLE_TEXT_SHARE * sum([w * count / (count + 1.5) for w, count in zip(weights, often, strict=True)])
    for compound in query.compounds:
        at = folded.find(compound, max(0, first - EXCERPT_CHARS), last + EXCERPT_CHARS)
        if at < 0 and (at := folded.find(compound)) >= 0:
            first = last = at
        if at >= 0:
            score += sum([w for w, term in zip(weights, query.terms, strict=True) if term in compound])
    start, end = _bounds(text, first, last)
    return Found(ref, text[start:end], start, end, round(score, 6))


def _window(weights: Sequence[float], hits: list[Hit]) -> tuple[int, int, float]:
    """Return first and last occurrence of the best run of them within an excerpt, and what its words weigh together.

    Of a word that stands there several times, the best occurrence counts; so each step keeps a count by share.
    """
    inside: list[dict[float, int]] = [{} for _ in weights]
    value, best, start = 0.0, (hits[0][0], hits[0][0], -1.0), 0

    def worth(number: int) -> float:
        return weights[number] * max(inside[number], default=0.0)

    for at, number, share in hits:
        while at - hits[start][0] > EXCERPT_CHARS * 2 // 3:
            _, old, gone = hits[start]
            value -= worth(old)
            inside[old][gone] -= 1
            if not inside[old][gone]:
                del inside[old][gone]
            value += worth(old)
            start += 1
        value -= worth(number)
        inside[number][share] = inside[number].get(share, 0) + 1
        value += worth(number)
        if value > best[2] + 1e-9:
            best = (hits[start][0], at, value)
    return best


def _bounds(text: str, first: int, last: int) -> tuple[int, int]:
    """Return where an excerpt around some occurrences begins and ends, at line ends where they are near."""
    room = max(0, EXCERPT_CHARS - (last - first))
    start = max(0, first - room // 3)
    if start and (line := text.rfind("\n", start, first)) >= 0:
        start = line + 1
    end = min(len(text), start + EXCERPT_CHARS)
    if end < len(text) and (line := text.rfind("\n", last, end)) > last:
        end = line
    return start, end
