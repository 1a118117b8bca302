"""Draw the demo: a live picture on a terminal, one line a turn elsewhere, and at the end the sums.

What was cut, and how large things are, is read from the session's reports; nothing here looks into a message.
"""

from __future__ import annotations

import textwrap
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from ga_context import Action, ContextConfig, Report
from ga_context.demo.agent import Proof, Turn

TITLE = "ga_context demo: real tools in a real loop, a script in the model's place"
MIN_WIDTH, MAX_WIDTH = 72, 100
"""A narrower terminal gets lines, a wider one no wider picture."""

TALL_LINES = 40
"""From this height on the terminal gets the large picture."""

TURN_SECONDS = 0.07
CUT_SECONDS = 0.1
"""A turn with a cut stays a little longer, so that the eye can follow."""

EIGHTHS = " ▁▂▃▄▅▆▇█"
STAGES = {"truncate": "yellow", "compact": "cyan", "evict": "magenta", "repair": "red"}
"""Stages that take something away, in the order of the pipeline, and their colors."""
GROWN = "green"
RAW = "grey50"
LEGEND = f"[{RAW}]raw[/] above, view below: [{GROWN}]grown[/], [cyan]compacted[/], [magenta]evicted[/]"


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
    rows = _sums([turn.report for turn in turns], sum(len(turn.calls) for turn in turns), proof)
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
    found = _by_stage([report])
    gone = {stage: sum(one.chars_before - one.chars_after for one in found.get(stage, [])) for stage in STAGES}
    cut, compacted, evicted = (f"-{gone[name]:,}" if gone[name] else "" for name in ("truncate", "compact", "evict"))
    figures = f"{report.turn:4} {report.chars_raw:9,} {report.chars_after:7,} {_share(report):>5}"
    line = _fit(f"{figures} {cut:>10} {compacted:>10} {evicted:>8}  {_reply(turn, MAX_WIDTH - 61).plain}", MAX_WIDTH)
    return line.rstrip()


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
            time.sleep(CUT_SECONDS if _by_stage([turn.report]) else TURN_SECONDS)
    return seen


@dataclass(frozen=True, slots=True)
class Picture:
    """The panels, for one size of terminal and one length of run."""

    width: int
    tall: bool
    total: int
    """Turns of the whole run."""
    evict_to: float
    """The share of B down to which an eviction goes."""

    def of(self, seen: Sequence[Turn]) -> Group:
        """Draw the last turn and what led to it."""
        reports = [turn.report for turn in seen]
        return Group(
            self._panel(f"turn {len(seen)} of {self.total}", self._sizes(seen[-1])),
            self._panel("cut so far, the newest last", self._cuts(reports, 5 if self.tall else 3)),
            self._panel("working memory at the end of the view", self._anchor(seen[-1].anchor, 12 if self.tall else 3)),
            self.chart(reports),
        )

    def chart(self, reports: Sequence[Report]) -> Panel:
        """The raw history and the view over the turns, each on a scale of its own."""
        height = 4 if self.tall else 2
        last = reports[-1]
        text = Text()
        raw, view = [report.chars_raw for report in reports], [report.chars_after for report in reports]
        self._plot(text, _cells(raw, last.chars_raw, height), f"{last.chars_raw:,}", [RAW] * len(reports))
        self._plot(text, _cells(view, last.budget_chars, height), "B", [_column_color(report) for report in reports])
        return self._panel(LEGEND, text[:-1])

    def sums(self, rows: Sequence[tuple[str, str]]) -> Panel:
        """The figures at the end."""
        table = Table.grid(padding=(0, 2))
        table.add_column(style="bold", no_wrap=True)
        for row in rows:
            table.add_row(*row)
        return self._panel("what it came to", table)

    @property
    def _inner(self) -> int:
        return self.width - 4

    @property
    def _bar_width(self) -> int:
        return self._inner - 36

    def _panel(self, title: str, body: RenderableType) -> Panel:
        return Panel(body, title=f"[bold not dim]{title}[/]", title_align="left", border_style="dim", width=self.width)

    def _sizes(self, turn: Turn) -> Text:
        """The view against B with the target of an eviction marked, and the raw history on the same scale."""
        report = turn.report
        view, raw = report.chars_after / report.budget_chars, report.chars_raw / report.budget_chars
        color = GROWN if view <= self.evict_to else "yellow"
        text = Text("view  ").append_text(self._bar(view, color, self._mark))
        text.append(f"{report.chars_after:11,}  {_share(report)} of B\nraw   ").append_text(self._bar(raw, RAW))
        text.append(f"{report.chars_raw:11,}  {raw:.1f} times B\n")
        text.append(f"      {self._scale()}{report.budget_chars:11,}  = B\n", "dim")
        return text.append("reply ").append_text(_reply(turn, self._inner - 6))

    def _scale(self) -> str:
        """The names of two places on the bar."""
        target = f"{f'{self.evict_to:g} B':>{self._mark + 2}}"
        return f"{target}{'B':>{self._bar_width - len(target)}}"

    @property
    def _mark(self) -> int:
        return round(self.evict_to * self._bar_width)

    def _bar(self, share: float, color: str, mark: int = 0) -> Text:
        wide = self._bar_width
        filled = min(round(share * wide), wide)
        cells = [("█", color)] * filled + [("░", "dim")] * (wide - filled)
        if share > 1:
            cells[-1] = ("▶", color)
        if mark:
            cells[mark - 1] = ("│", f"bold white on {color}" if filled >= mark else "bold")
        return Text.assemble(*cells)

    def _cuts(self, reports: Sequence[Report], lines: int) -> Text:
        """The newest cuts, one line a stage and turn, those of the last turn bright."""
        rows = [(report, stage, actions) for report in reports for stage, actions in _by_stage([report]).items()]
        text = Text()
        for report, stage, actions in rows[-lines:]:
            fade = "" if report is reports[-1] else "dim "
            text.append(f"turn {report.turn:3}  ", fade.strip()).append(f"{stage:10}", fade + STAGES[stage])
            text.append(f"{_places(actions):16}{_chars(actions):>18}  ", fade.strip())
            reasons = ", ".join(dict.fromkeys(one.reason for one in actions))
            text.append(f"{_fit(reasons, self._inner - 56)}\n", "dim")
        return _padded(text, lines)

    def _anchor(self, anchor: str, lines: int) -> Text:
        """The anchor's first and last lines."""
        rows = anchor.splitlines()
        if len(rows) > lines:
            first = lines // 5
            rows[first : first - lines + 1] = [f"... {len(rows) - lines + 1} more lines ..."]
        return _padded(Text("".join(f"{_fit(row, self._inner)}\n" for row in rows), GROWN), lines)

    def _plot(self, text: Text, rows: Sequence[str], label: str, colors: Sequence[str]) -> None:
        """Append one chart, stretched so that the whole run fills the width."""
        wide = self._inner - 10
        places = [place for column in range(wide) if (place := column * self.total // wide) < len(colors)]
        for number, row in enumerate(rows):
            text.append(f"{'' if number else label:>9} ", "dim")
            for place in places:
                text.append(row[place], colors[place])
            text.append("\n")


def _reply(turn: Turn, width: int) -> Text:
    if not turn.calls:
        return Text.assemble(("answer", "bold green"), f"  {_fit(turn.said, width - 8)}")
    tool, argument = turn.calls[0]
    more = f"  +{len(turn.calls) - 1}" if len(turn.calls) > 1 else ""
    return Text.assemble((tool, "bold cyan"), f"  {_fit(argument, width - len(tool) - len(more) - 2)}", (more, "bold"))


def _padded(text: Text, lines: int) -> Text:
    """Fill up to a fixed number of lines, so that the picture stands still."""
    return text.append("\n" * (lines - text.plain.count("\n")))[:-1]


def _column_color(report: Report) -> str:
    return STAGES["evict"] if report.evicted else STAGES["compact"] if report.compacted else GROWN


def _cells(values: Sequence[int], top: int, height: int) -> list[str]:
    """Draw values as columns of `height` cells with eight steps each; the top row comes first."""
    steps = [max(round(value / top * height * 8), 1) for value in values]
    return ["".join(EIGHTHS[min(max(step - row * 8, 0), 8)] for step in steps) for row in reversed(range(height))]


# Words and figures


def _by_stage(reports: Iterable[Report]) -> dict[str, list[Action]]:
    """Group what was taken away or repaired, in the order of the pipeline."""
    actions = [action for report in reports for action in report.actions]
    return {stage: found for stage in STAGES if (found := [one for one in actions if one.stage == stage])}


def _places(actions: Sequence[Action]) -> str:
    """Name the messages that one stage cut in a turn."""
    runs = [one for one in actions if one.last is not None]
    if runs:
        return f"messages {runs[0].message}-{runs[-1].last}"
    return f"message {actions[0].message}" if len(actions) == 1 else f"{len(actions)} texts"


def _chars(actions: Sequence[Action]) -> str:
    return f"{sum(one.chars_before for one in actions):,} -> {sum(one.chars_after for one in actions):,}"


def _share(report: Report) -> str:
    """The view's share of B, rounded down, so that 100% is reached only by what is full."""
    return f"{report.chars_after * 100 // report.budget_chars}%"


def _evicted(actions: Iterable[Action]) -> int:
    return sum(one.last - one.message + 1 for one in actions if one.last is not None)


def _sums(reports: Sequence[Report], calls: int, proof: Proof) -> list[tuple[str, str]]:
    """The figures of the whole run, each with a name."""
    last, budget = reports[-1], reports[-1].budget_chars
    largest = max(reports, key=lambda report: report.chars_after)
    sent, unprepared = sum(report.chars_after for report in reports), sum(report.chars_raw for report in reports)
    kept = sum(report.first_changed is None for report in reports[1:])
    found = _by_stage(reports)
    cut, compacted, evicted = (found.get(stage, []) for stage in ("truncate", "compact", "evict"))
    passes, evictions = sum(report.compacted for report in reports), sum(bool(report.evicted) for report in reports)
    rows = [
        ("turns", f"{len(reports)}, with {calls} tool calls"),
        ("raw history", f"{last.chars_raw:,} characters, {last.chars_raw / budget:.1f} times B"),
        ("largest view", f"{largest.chars_after:,} characters, {_share(largest)} of B"),
        ("sent in all", f"{sent:,} characters; the raw history would have been {unprepared:,}"),
        ("truncated", f"{len(cut)} tool results, {_chars(cut)} characters"),
        ("compacted", f"{len(compacted)} texts in {passes} passes, {_chars(compacted)} characters"),
        ("evicted", f"{_evicted(evicted)} messages in {evictions} evictions"),
        ("repairs", f"{len(found.get('repair', []))}, so that every view is valid"),
        ("prefix kept", f"in {kept} of {len(reports)} turns (append_rate {kept / len(reports):.2f})"),
        ("memory", f"{proof.found} of {proof.asked} facts that the script needed stood in its view"),
        ("anchor recall", f"{proof.anchor_recall:.2f} of the last 20 turns' main arguments, and the notes"),
        ("recalled", f"{proof.equal} of {proof.references} references, byte for byte, {proof.chars:,} characters;"),
        ("", f'recall("{proof.longest[0]}") alone gives back {proof.longest[1]:,}'),
    ]
    return rows if proof.references else rows[:-2]


def _wrapped(name: str, text: str) -> list[str]:
    return textwrap.wrap(text, MAX_WIDTH, initial_indent=f"{name:15}", subsequent_indent=" " * 15)


def _fit(text: str, width: int) -> str:
    """Make one line of a text, at most so wide."""
    line = text.replace("\n", " ")
    return line if len(line) <= width else line[: max(width - 3, 0)] + "..."
