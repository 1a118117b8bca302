"""What a replay says of the prompt cache, on the terminal: each miss, and the sums."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from ga_context.cache.definitions import append_rate
from ga_context.cache.predict import Miss, Prediction
from ga_context.cache.prices import Price
from ga_context.cache.usage import Tokens
from ga_context.replay.play import Played

SUMS = (
    "",
    "requests",
    "input\ntokens",
    "cached",
    "token\nhit",
    "append\nrate",
    "prefix\nretention",
    "cost in\ntokens",
    "$",
)
MOST_MISSES = 40
"""Lines of the table; more are told by their number, and are in ``--json``."""


def misses_table(played: Played) -> Table:
    """Return each turn that broke the prefix: where, why, what was thrown away and what it cost."""
    misses = played.prediction.misses if played.prediction is not None else []
    table = Table(box=box.SIMPLE, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold", show_edge=False)
    table.title, table.title_justify, table.title_style = Text(played.name), "left", "bold"
    for header in ("turn", "message", "char", "cause", "tokens\nthrown away", "read\nanew", "cost in\ntokens", "$"):
        table.add_column(header, justify="left" if header == "cause" else "right", vertical="bottom", overflow="fold")
    for miss in misses[:MOST_MISSES]:
        table.add_row(*_cells(miss))
    if len(misses) > MOST_MISSES:
        table.caption, table.caption_justify = f"and {len(misses) - MOST_MISSES:,} more: see --json", "left"
    return table


def _cells(miss: Miss) -> tuple[str | Text, ...]:
    place = miss.part if miss.message is None else f"{miss.message:,}"
    cause: str | Text = Text(miss.cause)
    if miss.fault is not None:
        cause = Text.assemble(miss.cause, "\n", (f"your own: {miss.fault}", "red"))
    dollars = "-" if miss.dollars is None else f"{miss.dollars:.4f}"
    char = "-" if miss.cause == "time to live" else f"{miss.char:,}"
    figures = (f"{miss.tokens:,}", f"{miss.missed:,}", f"{miss.cost:,.0f}", dollars)
    return (f"{miss.turn:,}", "-" if miss.cause == "time to live" else place, char, cause, *figures)


def sums_table(sessions: Sequence[Played], price: Price) -> Table:
    """Return the sums: with the views, with the lists as they were recorded, and what was measured then."""
    table = Table(box=box.SIMPLE, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold", show_edge=False)
    table.title, table.title_justify, table.title_style = Text(f"prompt cache of {price.model}"), "left", "bold"
    for header in SUMS:
        table.add_column(header, justify="right" if header else "left", vertical="bottom", no_wrap=bool(header))
    kept = [one.report.first_changed is None for played in sessions for one in played.turns]
    views = [played.prediction for played in sessions if played.prediction is not None]
    raws = [played.raw for played in sessions if played.raw is not None]
    rate = append_rate(kept) if len(sessions) == 1 else None
    table.add_row("views, predicted", *_predicted(views, price, rate))
    table.add_row("as recorded, predicted", *_predicted(raws, price, None))
    measured = Tokens()
    for played in sessions:
        one = played.measured
        measured.add(one.prompt, one.cached, one.written, one.output, one.requests)
    if measured.requests:
        models = {model for played in sessions for model in played.measured_models}
        table.add_row("as recorded, measured", *_figures(measured, price), end_section=True)
        table.caption, table.caption_justify = f"measured: {', '.join(sorted(models)) or 'model not named'}", "left"
    return table


def _predicted(predictions: Sequence[Prediction], price: Price, rate: float | None) -> tuple[str, ...]:
    total = Tokens()
    for one in predictions:
        sums = one.tokens
        total.add(sums.prompt, sums.cached, sums.written, 0, sums.requests)
    retention = predictions[0].prefix_retention if len(predictions) == 1 else None
    return _figures(total, price, rate, retention)


def _figures(
    tokens: Tokens, price: Price, rate: float | None = None, retention: float | None = None
) -> tuple[str, ...]:
    input_only = Tokens(tokens.requests, tokens.prompt, tokens.cached, tokens.written)
    dollars = input_only.dollars(price)
    return (
        f"{tokens.requests:,}",
        f"{tokens.prompt:,}",
        f"{tokens.cached:,}",
        _share(tokens.token_hit),
        _share(rate),
        _share(retention),
        f"{tokens.input_cost(price):,.0f}",
        "-" if dollars is None else f"{dollars:,.3f}",
    )


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.3f}"


def cache_lines(price: Price, chars_per_token: float) -> list[str]:
    """Return what the tables leave out."""
    write = ", ".join(f"{factor:g} written ({ttl})" for ttl, factor in price.write.items()) or "nothing for writing"
    dollars = "" if price.input_dollars is None else f", ${price.input_dollars:g} a million tokens"
    return [
        f"cost: input in tokens at the base price, {price.read:g} read, {write}{dollars}; {price.source}, {price.date}",
        f"predicted tokens: {chars_per_token:g} characters each; system and tools only where the recording has them",
    ]
