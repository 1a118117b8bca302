"""The command `ga-context`: replay recorded sessions, prune pages, show the configuration, see the pipeline at work."""

from __future__ import annotations

import importlib.util
import io
import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, get_args

from ga_context import __version__
from ga_context.cache.prices import Price, price
from ga_context.config import ContextConfig, Origin, json_schema, layered
from ga_context.errors import ConfigError
from ga_context.html import Mode, prune_html
from ga_context.replay.play import Played, play_file, sum_up
from ga_context.replay.readers import SUFFIXES, find
from ga_context.sources import merge, parse_set, tables

try:
    import click
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text
except ModuleNotFoundError as error:
    raise SystemExit(f'ga-context needs {error.name}, which is not installed: pip install "ga_context[cli]"') from None

from ga_context.replay import cache_screen, screen

PLOT_SUFFIXES = (".svg", ".png", ".html")
PLAIN_WIDTH = 100
"""Columns of a table that goes to a file or a pipe, unless COLUMNS says otherwise."""

Command = TypeVar("Command", bound=Callable[..., Any])


class WrongConfig(click.ClickException):
    """A configuration that is refused: a matter of usage."""

    exit_code = 2


def settings(command: Command) -> Command:
    """Give a command the options that choose a configuration."""
    for option in (
        click.option(
            "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Change one key, as in compact.interval=7."
        ),
        click.option("--generic-agent", is_flag=True, help="Start from the report's numbers, not from the defaults."),
        click.option(
            "--config",
            "path",
            type=click.Path(exists=True, path_type=Path),
            help="A TOML file, a pyproject.toml with [tool.ga_context], or the folder of one.",
        ),
    ):
        command = option(command)
    return command


def configuration(
    path: Path | None, generic_agent: bool, overrides: tuple[str, ...], preset: Mapping[str, Any] | None = None
) -> tuple[ContextConfig, list[Origin]]:
    """Build the configuration that the options of `settings` ask for; `preset` is laid over the defaults first."""
    given: dict[str, Any] = {}
    try:
        for text in overrides:
            given = merge(given, tables(parse_set(text)))
        return layered(path, given, generic_agent=generic_agent, preset=preset)
    except ConfigError as error:
        raise WrongConfig(str(error)) from None


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, message="ga-context %(version)s")
def main() -> None:
    """Keep an agent's message history within its budget, and see how."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # names and tools may be in any script, the terminal may not


@main.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=click.Path(exists=True, path_type=Path))
@settings
@click.option("--actions", is_flag=True, help="List each cut with its reason.")
@click.option(
    "--cache",
    "model",
    metavar="MODEL",
    help="Predict the prompt cache of a model, as in anthropic:claude-sonnet-4-5 or vllm, and explain each miss.",
)
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Draw it to a .svg, .png or .html file; needs --cache and one recording.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def replay(
    context: click.Context,
    paths: tuple[Path, ...],
    path: Path | None,
    generic_agent: bool,
    overrides: tuple[str, ...],
    actions: bool,
    model: str | None,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Play recorded sessions turn by turn and show what becomes of them.

    PATH is a recording (JSON or JSONL, plain or .gz) or a folder of them. Before each model response, what came before
    it is prepared as it would have been for the model.
    """
    config, _ = configuration(path, generic_agent, overrides)
    files = [file for given in paths for file in find(given)]
    if not files:
        raise click.UsageError(f"no recordings there; a folder's recordings end in {', '.join(SUFFIXES)}")
    cache = _price(model, config)
    if plot is not None:
        _check_plot(plot, cache, files)
    sessions = _play(files, config, cache)
    done = [played for played in sessions if played.error is None]
    failed = [played for played in sessions if played.error is not None]
    if as_json:
        _print_json(config, sessions, done, actions)
    elif done:
        _print_tables(config, done, actions, cache)
    if plot is not None and done:
        _draw(done[0], plot)
    for played in failed:
        click.echo(f"{click.style('not replayed:', fg='red')} {played.error}", err=True)
    context.exit(1 if failed else 0)


def _price(model: str | None, config: ContextConfig) -> Price | None:
    try:
        return price(model, config.prices) if model is not None else None
    except ConfigError as error:
        raise click.BadParameter(str(error), param_hint="--cache") from None


def _check_plot(plot: Path, cache: Price | None, files: list[Path]) -> None:
    """Refuse before the work what cannot be drawn after it."""
    if cache is None or len(files) != 1:
        given = "no --cache" if cache is None else f"{len(files)} recordings"
        raise click.UsageError(f"--plot draws one recording with --cache MODEL; got {given}")
    if plot.suffix not in PLOT_SUFFIXES:
        raise click.UsageError(f"--plot must end in {', '.join(PLOT_SUFFIXES)}; got {plot.name!r}")
    for module in ("altair", "vl_convert"):
        if importlib.util.find_spec(module) is None:
            raise click.UsageError('--plot needs the extra "plot": pip install "ga_context[cli,plot]"')


def _draw(played: Played, plot: Path) -> None:
    from ga_context.replay.plot import draw

    draw(played, plot)
    click.echo(f"drawn in {click.format_filename(plot)}", err=True)


def _play(files: list[Path], config: ContextConfig, cache: Price | None) -> list[Played]:
    sessions = []
    with screen.progress(Console(stderr=True)) as bar:
        task = bar.add_task("", total=len(files))
        for number, file in enumerate(files):
            bar.update(task, completed=number, description=click.format_filename(file, shorten=True))

            def on_turn(turn: int, turns: int, number: int = number) -> None:
                bar.update(task, completed=number + turn / turns)

            sessions.append(play_file(file, config, on_turn, cache))
    return sessions


def _print_json(config: ContextConfig, sessions: list[Played], done: list[Played], actions: bool) -> None:
    document = {
        "version": __version__,
        "config": config.to_dict(),
        "sessions": [played.to_dict(actions=actions) for played in sessions],
        "totals": asdict(sum_up(done)),
    }
    click.echo(json.dumps(document, indent=1))


def _print_tables(config: ContextConfig, done: list[Played], actions: bool, cache: Price | None) -> None:
    console = _console()
    if actions:
        for played in done:
            console.print(screen.actions_table(played), "")
    console.print(screen.sessions_table(done, console.width), "")
    for line in screen.closing_lines(done, config.budget_chars()):
        console.print(line, highlight=False)
    if cache is None:
        return
    for played in done:
        console.print("", cache_screen.misses_table(played))
    console.print("", cache_screen.sums_table(done, cache), "")
    for line in cache_screen.cache_lines(cache, config.budget.chars_per_token):
        console.print(line, highlight=False)


def _console() -> Console:
    console = Console()
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = PLAIN_WIDTH
    return console


@main.command()
@settings
@click.option("--schema", is_flag=True, help="Print a JSON Schema of the TOML file, for editors.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def config(path: Path | None, generic_agent: bool, overrides: tuple[str, ...], schema: bool, as_json: bool) -> None:
    """Show the configuration in effect, and where each value comes from."""
    effective, origins = configuration(path, generic_agent, overrides)
    if schema:
        click.echo(json.dumps(json_schema(), indent=2))
    elif as_json:
        document = {"config": effective.to_dict(), "origins": {row.key: row.origin for row in origins}}
        click.echo(json.dumps(document, indent=2))
    else:
        console = _console()
        console.print(_config_table(origins), "")
        less = "" if effective.budget.chars else ", less what is sent as system and tools"
        console.print(f"budget B: {effective.budget_chars():,} characters{less}", highlight=False)


def _config_table(origins: list[Origin]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold", show_edge=False)
    for header in ("key", "value", "origin"):
        table.add_column(header, overflow="fold")
    section = ""
    for row in origins:
        first, _, key = row.key.partition(".")
        if first != section:
            section = first
            table.add_section()
            table.add_row(Text(f"[{section}]", "bold"), Text(_about(section), "dim"))
        changed = "" if row.origin in ("default", "generic_agent") else "yellow"
        table.add_row(Text(f"  {key}", changed), Text(_toml(row.value), changed), Text(row.origin, changed))
    return table


def _about(section: str) -> str:
    return ContextConfig.model_fields[section].description or ""


def _toml(value: Any) -> str:
    """Write a value as one would in the TOML file."""
    if value is None:
        return "-"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:_}"
    return json.dumps(value, ensure_ascii=False)


@main.command()
@click.argument("file", type=click.File("rb"), metavar="FILE|-")
@click.option("--budget", default=35_000, show_default=True, help="Most characters of the output, 200 at least.")
@click.option("--query", help="Subtrees that hold these words outrank others.")
@click.option("--mode", type=click.Choice(get_args(Mode)), default="html", show_default=True, help="How it is written.")
@click.option("--report", is_flag=True, help="Print what was removed, as JSON, in place of the page.")
def html(file: BinaryIO, budget: int, query: str | None, mode: Mode, report: bool) -> None:
    """Prune a page to what a reader and an agent need of it."""
    try:
        page = prune_html(file.read(), budget, query=query, mode=mode)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    click.echo(json.dumps(page.report.to_dict(), ensure_ascii=False, indent=1) if report else page.html)


@main.command()
@click.option(
    "--turns", default=60, show_default=True, type=click.IntRange(min=1), help="Replies of the scripted agent."
)
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Where to leave the recorded session.")
@settings
def demo(turns: int, out: Path | None, path: Path | None, generic_agent: bool, overrides: tuple[str, ...]) -> None:
    """Watch an agent at work behind the pipeline; it needs no key and no network."""
    from ga_context.demo import PRESET, run

    run(turns, out, console=Console(), config=configuration(path, generic_agent, overrides, PRESET)[0])


if __name__ == "__main__":
    main()
