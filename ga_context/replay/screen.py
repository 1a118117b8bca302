"""Show replayed sessions as tables that fit into 100 columns."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
from rich.table import Column, Table
from rich.text import Text

from ga_context.replay.play import Played, Sums, sum_up
from ga_context.report import Action

HEADERS = (
    "turns",
    "C_H\nraw",
    "largest\nview",
    "last\nview",
    "cut",
    "compacted",
    "evicted",
    "append\nrate",
    "ms a\nturn",
)
MIN_NAME = 14
"""Characters of a session's name that stay, before the columns move together."""
STAGE_COLOURS = {"truncate": "yellow", "compact": "cyan", "evict": "magenta", "repair": "red"}


def progress(console: Console) -> Progress:
    """Return a bar that is drawn on a terminal only, and gone when it is done."""
    name = TextColumn("{task.description}", markup=False, table_column=Column(ratio=1, no_wrap=True))
    columns = (name, BarColumn(None, table_column=Column(ratio=2)), TaskProgressColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal, expand=True)


def sessions_table(sessions: Sequence[Played], width: int) -> Table:
    """Return one row a session and a last row with the sums, for that many columns."""
    rows = [_figures(sum_up([played])) for played in sessions]
    total = sum_up(sessions)
    footer = _figures(total)
    figures_width = sum(max(map(len, cells)) for cells in zip(*rows, footer, *_header_lines(), strict=True))
    gap = 2 if width - figures_width - 2 * len(HEADERS) >= MIN_NAME else 1
    name_width = max(MIN_NAME, width - figures_width - gap * len(HEADERS))
    table = _table(gap)
    table.show_footer, table.footer_style = True, "bold"
    plural = "" if total.sessions == 1 else "s"
    table.add_column("session", f"{total.sessions:,} session{plural}", no_wrap=True, vertical="bottom")
    for header, figure in zip(HEADERS, footer, strict=True):
        table.add_column(header, figure, justify="right", no_wrap=True, vertical="bottom")
    for played, figures in zip(sessions, rows, strict=True):
        table.add_row(_shortened(played.name, name_width), *figures)
    return table


def _table(gap: int = 2) -> Table:
    # the box itself draws a space between two columns
    return Table(box=box.SIMPLE, pad_edge=False, padding=(0, gap - 1, 0, 0), header_style="bold", show_edge=False)


def _header_lines() -> list[list[str]]:
    """Return the headers' lines as rows of cells."""
    lines = [header.split("\n") for header in HEADERS]
    return [[line[0] for line in lines], [line[-1] for line in lines]]


def _figures(sums: Sums) -> tuple[str, ...]:
    return (
        f"{sums.turns:,}",
        f"{sums.chars_raw:,}",
        f"{sums.largest_view:,}",
        f"{sums.last_view:,}",
        f"{sums.results_cut:,}",
        f"{sums.texts_compacted:,}",
        f"{sums.messages_evicted:,}",
        "-" if sums.append_rate is None else f"{sums.append_rate:.3f}",
        "-" if sums.ms_mean is None else f"{sums.ms_mean:,.2f}",
    )


def _shortened(name: str, width: int) -> Text:
    """Cut a name in its middle: recordings of one program start alike and differ at the end."""
    if len(name) > width:
        name = name[: (width - 1) // 2] + "…" + name[-(width // 2) :]
    return Text(name)


def closing_lines(sessions: Sequence[Played], budget_chars: int) -> list[str]:
    """Return what the table leaves out."""
    total = sum_up(sessions)
    budget = f"budget {budget_chars:,} characters, {total.turns_over_budget:,} turns over it"
    rest = f"{total.passes:,} passes, {total.repairs:,} repairs, {total.unexplained_breaks:,} unexplained prefix breaks"
    slow = [] if total.ms_p99 is None else [f"99 of 100 turns took at most {total.ms_p99:,.2f} ms"]
    return [f"{budget}; {rest}", *slow]


def actions_table(played: Played) -> Table:
    """Return every cut and repair of a session with its reason; the anchors, which only add, are left out."""
    table = _table()
    table.title, table.title_justify, table.title_style = Text(played.name), "left", "bold"
    for header in ("turn", "stage", "message", "part", "before", "after", "reason", "ref"):
        right = header in ("turn", "message", "part", "before", "after")
        wrapped = header == "reason"
        table.add_column(
            header,
            justify="right" if right else "left",
            no_wrap=not wrapped,
            overflow="fold",
            ratio=1 if wrapped else None,
        )
    for turn in played.turns:
        for action in turn.report.actions:
            if action.stage != "anchor":
                table.add_row(f"{turn.report.turn:,}", *_action(action))
    return table


def _action(action: Action) -> tuple[Text, ...]:
    messages = f"{action.message}" if action.last in (None, action.message) else f"{action.message}-{action.last}"
    part = "" if action.part is None else str(action.part)
    before, after = f"{action.chars_before:,}", f"{action.chars_after:,}"
    stage = Text(action.stage, style=STAGE_COLOURS.get(action.stage, ""))
    return (stage, *map(Text, (messages, part, before, after, action.reason, action.ref or "")))
