"""Draw the demo: a live picture on a terminal, one line a turn elsewhere, and at the end the sums."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console
from rich.live import Live

from ga_context import ContextConfig
from ga_context.demo.agent import Proof, Turn
from ga_context.demo.figures import STAGES, by_stage, fit, share_of_budget, sum_up
from ga_context.demo.picture import Picture, reply_line

TITLE = "ga_context demo: real tools in a real loop, a script in the model's place"
MIN_WIDTH, MAX_WIDTH = 72, 100
"""A narrower terminal gets lines, a wider one no wider picture."""

TALL_LINES = 40
"""From this height on the terminal gets the large picture."""

TURN_SECONDS = 0.07
CUT_SECONDS = 0.1
"""A turn with a cut stays a little longer, so that the eye can follow."""


def show(console: Console, turns: Iterable[Turn], total: int, config: ContextConfig) -> list[Turn]:
    """Show the turns as they happen, and give them back."""
    _lines(console, [TITLE], "bold")
    _lines(console, [_budget_line(config)])
    if not _draws(console):
        return _plain(console, turns)
    tall = console.height >= TALL_LINES
    return _live(console, turns, Picture(min(console.width, MAX_WIDTH), tall, total, config.budget.evict_to))


def sums(console: Console, turns: Sequence[Turn], proof: Proof, recording: Path, config: ContextConfig) -> None:
    """Show what the whole run came to, where its recording is, and how to replay it with the same budget."""
    rows = sum_up([turn.report for turn in turns], sum(len(turn.calls) for turn in turns), proof)
    rows += [("last answer", turns[-1].said)] if turns[-1].said else []
    if _draws(console):
        picture = Picture(min(console.width, MAX_WIDTH), True, len(turns), config.budget.evict_to)
        console.print(picture.chart([turn.report for turn in turns]), picture.sums(rows))
    else:
        _lines(console, ["", *(line for name, text in rows for line in _wrapped(name, text)), ""])
    file = f'"{recording}"' if " " in str(recording) else str(recording)
    _lines(console, [f"recorded in {recording}", "to play it again within the same budget:"])
    _lines(console, [f"  ga-context replay {file} --set {_budget_setting(config)}"], "bold")


def _draws(console: Console) -> bool:
    """Say whether the console can show a moving picture."""
    able = console.is_terminal and not console.is_dumb_terminal and console.encoding.lower().startswith("utf")
    return able and console.width >= MIN_WIDTH


def _budget_line(config: ContextConfig) -> str:
    budget = config.budget
    if budget.chars is not None:
        return f"budget B = {budget.chars:,} characters"
    return f"budget B = {config.budget_chars():,} characters, a window of {budget.window_tokens:,} tokens"


def _budget_setting(config: ContextConfig) -> str:
    budget = config.budget
    return f"budget.window_tokens={budget.window_tokens}" if budget.chars is None else f"budget.chars={budget.chars}"


# Lines

HEAD = f"turn {'raw':>9} {'view':>7} {'of B':>5} {'truncated':>10} {'compacted':>10} {'evicted':>8}  reply"


def _plain(console: Console, turns: Iterable[Turn]) -> list[Turn]:
    _lines(console, ["", HEAD])
    seen: list[Turn] = []
    for turn in turns:
        seen.append(turn)
        _lines(console, [_plain_line(turn)])
    return seen


def _plain_line(turn: Turn) -> str:
    report = turn.report
    found = by_stage([report])
    gone = {stage: sum(one.chars_before - one.chars_after for one in found.get(stage, [])) for stage in STAGES}
    cut, compacted, evicted = (f"-{gone[name]:,}" if gone[name] else "" for name in ("truncate", "compact", "evict"))
    figures = f"{report.turn:4} {report.chars_raw:9,} {report.chars_after:7,} {share_of_budget(report):>5}"
    reply = reply_line(turn, MAX_WIDTH - 61).plain
    return fit(f"{figures} {cut:>10} {compacted:>10} {evicted:>8}  {reply}", MAX_WIDTH).rstrip()


def _lines(console: Console, lines: Iterable[str], style: str = "") -> None:
    for line in lines:
        console.print(line, style=style, soft_wrap=True, markup=False, highlight=False)


# The picture


def _live(console: Console, turns: Iterable[Turn], picture: Picture) -> list[Turn]:
    """Redraw the picture after each turn, slowly enough to be followed; it makes room for the sums at the end."""
    seen: list[Turn] = []
    with Live(console=console, auto_refresh=False, transient=True, vertical_overflow="crop") as live:
        for turn in turns:
            seen.append(turn)
            live.update(picture.of(seen), refresh=True)
            time.sleep(CUT_SECONDS if by_stage([turn.report]) else TURN_SECONDS)
    return seen


def _wrapped(name: str, text: str) -> list[str]:
    return textwrap.wrap(text, MAX_WIDTH, initial_indent=f"{name:15}", subsequent_indent=" " * 15)
