"""The picture of the demo on a terminal: panels of one size, drawn anew after each turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from ga_context import Report
from ga_context.demo.agent import Turn
from ga_context.demo.figures import STAGES, by_stage, chars_cut, fit, places, share_of_budget

EIGHTHS = " ▁▂▃▄▅▆▇█"
GROWN = "green"
RAW = "grey50"
LEGEND = f"[{RAW}]raw[/] above, view below: [{GROWN}]grown[/], [cyan]compacted[/], [magenta]evicted[/]"


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
        text.append(f"{report.chars_after:11,}  {share_of_budget(report)} of B\n")
        text.append("raw   ").append_text(self._bar(raw, RAW))
        text.append(f"{report.chars_raw:11,}  {raw:.1f} times B\n")
        text.append(f"      {self._scale()}{report.budget_chars:11,}  = B\n", "dim")
        return text.append("reply ").append_text(reply_line(turn, self._inner - 6))

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
        rows = [(report, stage, actions) for report in reports for stage, actions in by_stage([report]).items()]
        text = Text()
        for report, stage, actions in rows[-lines:]:
            fade = "" if report is reports[-1] else "dim "
            text.append(f"turn {report.turn:3}  ", fade.strip()).append(f"{stage:10}", fade + STAGES[stage])
            text.append(f"{places(actions):16}{chars_cut(actions):>18}  ", fade.strip())
            reasons = ", ".join(dict.fromkeys(one.reason for one in actions))
            text.append(f"{fit(reasons, self._inner - 56)}\n", "dim")
        return _padded(text, lines)

    def _anchor(self, anchor: str, lines: int) -> Text:
        """The anchor's first and last lines."""
        rows = anchor.splitlines()
        if len(rows) > lines:
            first = lines // 5
            rows[first : first - lines + 1] = [f"... {len(rows) - lines + 1} more lines ..."]
        return _padded(Text("".join(f"{fit(row, self._inner)}\n" for row in rows), GROWN), lines)

    def _plot(self, text: Text, rows: Sequence[str], label: str, colors: Sequence[str]) -> None:
        """Append one chart, stretched so that the whole run fills the width."""
        wide = self._inner - 10
        places = [place for column in range(wide) if (place := column * self.total // wide) < len(colors)]
        for number, row in enumerate(rows):
            text.append(f"{'' if number else label:>9} ", "dim")
            for place in places:
                text.append(row[place], colors[place])
            text.append("\n")


def reply_line(turn: Turn, width: int) -> Text:
    """Show what the policy replied: its first call, or what it said."""
    if not turn.calls:
        return Text.assemble(("answer", "bold green"), f"  {fit(turn.said, width - 8)}")
    tool, argument = turn.calls[0]
    more = f"  +{len(turn.calls) - 1}" if len(turn.calls) > 1 else ""
    return Text.assemble((tool, "bold cyan"), f"  {fit(argument, width - len(tool) - len(more) - 2)}", (more, "bold"))


def _padded(text: Text, lines: int) -> Text:
    """Fill up to a fixed number of lines, so that the picture stands still."""
    return text.append("\n" * (lines - text.plain.count("\n")))[:-1]


def _column_color(report: Report) -> str:
    return STAGES["evict"] if report.evicted else STAGES["compact"] if report.compacted else GROWN


def _cells(values: Sequence[int], top: int, height: int) -> list[str]:
    """Draw values as columns of `height` cells with eight steps each; the top row comes first."""
    steps = [max(round(value / top * height * 8), 1) for value in values]
    return ["".join(EIGHTHS[min(max(step - row * 8, 0), 8)] for step in steps) for row in reversed(range(height))]
