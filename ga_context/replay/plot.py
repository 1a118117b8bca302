"""A session's requests as a picture: what was cached and what was read anew, turn by turn, and what it came to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ga_context.cache.definitions import input_cost
from ga_context.replay.play import Played, Turn

KINDS = ("cached", "new", "sent before, read again")
COLOURS = ("#9ecae1", "#fd8d3c", "#a63603")
"""Cheap tokens pale, dear ones dark; told apart with every kind of colour blindness, and in grey."""
EVENTS = ("pass", "eviction", "time to live", "your own change", "other break")
EVENT_COLOURS = ("#31a354", "#de2d26", "#756bb1", "#000000", "#969696")
EVENT_SHAPES = ("triangle-down", "square", "circle", "cross", "diamond")
WIDTH, HEIGHT = 860, 300


def draw(played: Played, path: Path) -> None:
    """Write the picture of one session to a file, .svg, .png or .html.

    Raises:
        ModuleNotFoundError: the extra ``plot`` is not installed.
    """
    chart = picture(played)
    if path.suffix == ".png":
        chart.save(str(path), scale_factor=2)
    else:
        chart.save(str(path))


def picture(played: Played) -> Any:
    """Return the picture as an altair chart."""
    import altair as alt

    assert played.prediction is not None
    price = played.prediction.price
    turns = [turn for turn in played.turns if turn.predicted is not None]
    kinds = alt.Scale(domain=list(KINDS), range=list(COLOURS))
    across = alt.X("turn:Q", title="turn", axis=alt.Axis(tickMinStep=1), scale=alt.Scale(nice=False, padding=8))
    bar = max(1.5, min(14.0, 0.75 * WIDTH / max(1, len(turns))))
    bars = (
        alt.Chart(_data([line for turn in turns for line in _tokens(turn)]))
        .mark_bar(size=bar)
        .encode(
            x=across,
            y=alt.Y("sum(tokens):Q", title="prompt tokens", axis=alt.Axis(format="~s"), stack="zero"),
            color=alt.Color("kind:N", scale=kinds, title="tokens", sort=list(KINDS)),
            order=alt.Order("order:Q"),
            tooltip=["turn:Q", "kind:N", alt.Tooltip("tokens:Q", format=",")],
        )
    )
    tallest = max((turn.predicted.served.prompt for turn in turns if turn.predicted is not None), default=1)
    events = [{**event, "height": 1.06 * tallest} for turn in turns for event in _events(turn)]
    shown = [event for event in EVENTS if event in {one["event"] for one in events}]
    colours = [colour for event, colour in zip(EVENTS, EVENT_COLOURS, strict=True) if event in shown]
    shapes = [shape for event, shape in zip(EVENTS, EVENT_SHAPES, strict=True) if event in shown]
    marks = (
        alt.Chart(_data(events))
        .mark_point(size=70, filled=True, opacity=1)
        .encode(
            x=across,
            y="height:Q",
            color=alt.Color("event:N", scale=alt.Scale(domain=shown, range=colours), title="break"),
            shape=alt.Shape("event:N", scale=alt.Scale(domain=shown, range=shapes), title="break"),
            tooltip=["turn:Q", "event:N", alt.Tooltip("tokens:Q", title="thrown away", format=","), "what:N"],
        )
    )
    upper = (bars + marks).resolve_scale(color="independent", shape="independent")
    upper = upper.properties(width=WIDTH, height=HEIGHT)
    hit = played.prediction.tokens.token_hit or 0.0
    title = alt.TitleParams(
        f"{played.name}: {hit:.1%} of the input tokens read from the cache of {price.model}",
        subtitle=_subtitle(played),
        anchor="start",
    )
    return (
        alt.vconcat(upper, _cost(alt, played, across), spacing=12)
        .properties(title=title)
        .resolve_scale(color="independent", strokeDash="independent")
        .configure_view(stroke=None)
        .configure_axis(grid=True, gridColor="#eeeeee")
    )


def _data(lines: list[dict[str, Any]]) -> Any:
    import altair as alt

    return alt.InlineData(values=lines)


def _cost(alt: Any, played: Played, across: Any) -> Any:
    unit = "dollars" if played.prediction is not None and played.prediction.dollars is not None else "tokens"
    title = "input so far, $" if unit == "dollars" else "input so far, base tokens"
    lists = {"views": played.prediction, "as recorded": played.raw, "views, no cache": None}
    return (
        alt.Chart(_data(_summed(played)))
        .mark_line(strokeWidth=2)
        .encode(
            x=across,
            y=alt.Y(f"{unit}:Q", title=title, axis=alt.Axis(format="~s")),
            color=alt.Color(
                "list:N",
                scale=alt.Scale(domain=list(lists), range=["#08519c", "#969696", "#d9a441"]),
                title="cost",
            ),
            strokeDash=alt.StrokeDash(
                "list:N", scale=alt.Scale(domain=list(lists), range=[[1, 0], [6, 3], [2, 2]]), title="cost"
            ),
            tooltip=["turn:Q", "list:N", alt.Tooltip(f"{unit}:Q", format=",.4f")],
        )
        .properties(width=WIDTH, height=HEIGHT // 2)
    )


def _tokens(turn: Turn) -> list[dict[str, Any]]:
    """Return the tokens of one request by what became of them."""
    assert turn.predicted is not None
    served, miss = turn.predicted.served, turn.predicted.miss
    again = miss.missed if miss is not None else 0
    figures = (served.cached, served.prompt - served.cached - again, again)
    kinds = zip(KINDS, figures, strict=True)
    return [
        {"turn": turn.predicted.turn, "kind": kind, "tokens": tokens, "order": order}
        for order, (kind, tokens) in enumerate(kinds)
        if tokens
    ]


def _events(turn: Turn) -> list[dict[str, Any]]:
    """Return what is marked above a turn: an eviction, else a pass, else what broke the prefix."""
    assert turn.predicted is not None
    miss = turn.predicted.miss
    if turn.report.evicted is not None:
        event = "eviction"
    elif turn.report.compacted:
        event = "pass"
    elif miss is None or miss.cause == "anchor":  # an anchor that went is no break of what is to be kept
        return []
    elif miss.cause == "time to live":
        event = "time to live"
    else:
        event = "your own change" if miss.fault is not None else "other break"
    what = (miss.fault or miss.cause) if miss is not None else "nothing that was sent changed"
    tokens = miss.tokens if miss is not None else 0
    return [{"turn": turn.predicted.turn, "event": event, "tokens": tokens, "what": what}]


def _summed(played: Played) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = []
    assert played.prediction is not None
    price = played.prediction.price
    base = (price.input_dollars or 0.0) / 1_000_000
    for name, prediction in (("views", played.prediction), ("as recorded", played.raw), ("views, no cache", None)):
        cost = 0.0
        for turn in (prediction or played.prediction).turns:
            served = turn.served
            if prediction is None:
                cost += served.prompt
            else:
                cost += input_cost(served.cached, served.uncached, served.written, price.read, price.write)
            lines.append({"turn": turn.turn, "list": name, "tokens": cost, "dollars": cost * base})
    return lines


def _subtitle(played: Played) -> str:
    assert played.prediction is not None
    sums = played.prediction.tokens
    passes = sum(turn.report.compacted and turn.report.evicted is None for turn in played.turns)
    evictions = sum(turn.report.evicted is not None for turn in played.turns)
    dollars = played.prediction.dollars
    cost = f"${dollars:,.2f}" if dollars is not None else f"{played.prediction.input_cost:,.0f} base tokens"
    figures = f"{sums.requests:,} requests, {sums.prompt:,} input tokens predicted for {cost}"
    return f"{figures}; {passes} passes, {evictions} evictions"
