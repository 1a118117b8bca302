"""Recalling, searching and going on in any order: what is promised of every view holds."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from histories import FORMATS
from hypothesis import given
from hypothesis import strategies as st
from oracle import faults
from test_promises import exchange, request
from test_recall import LOG, recalled

import ga_context as ga

formats = pytest.mark.parametrize("format", FORMATS)

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("run"), st.sampled_from((10, 900, 3_000, 30_000))),
        st.tuples(st.just("recall"), st.integers(0, 9), st.integers(0, 40_000), st.sampled_from((50, 2_000, 90_000))),
        st.tuples(st.just("search"), st.integers(0, 2_999)),
        st.tuples(st.just("reload")),
    ),
    min_size=4,
    max_size=16,
)
SMALL = st.fixed_dictionaries(
    {
        "budget": st.fixed_dictionaries({"chars": st.sampled_from((8_000, 20_000, 60_000))}),
        "tools": st.fixed_dictionaries(
            {"*": st.sampled_from((300, 4_000)), "recall_context": st.sampled_from((600, 5_000))}
        ),
        "compact": st.fixed_dictionaries(
            {
                "interval": st.sampled_from((1, 3)),
                "keep_recent": st.sampled_from((0, 4)),
                "keep_recent_on_eviction": st.just(0),
                "recall_grace": st.sampled_from((0, 1, 5)),
                "window_chars": st.sampled_from((200, 800)),
            }
        ),
    }
)


@formats
@given(steps=STEPS, config=SMALL)
def test_recalling_in_any_order_keeps_the_promises(format: str, steps: list[tuple[Any, ...]], config: Any) -> None:
    """Valid, within budget, every reference good, the same bytes again, and every character where it is said to be."""
    session, raw = ga.ContextSession(config, format=format), [request("Why did the job fail?", format)]
    views, lists = [], []
    for n, (kind, *values) in enumerate(steps):
        refs = sorted(session._state.archive.entries)
        if kind == "reload":
            session = ga.ContextSession.load(session.dump())
        elif kind == "run":
            raw = raw + exchange(n, LOG[37 * n :][: values[0]], format)
        elif kind == "search":
            raw = raw + recalled(session, format, {"words": f"step {values[0]:05}"}, f"c{n}")
        else:
            ref = refs[values[0] % len(refs)] if refs else "0"
            given_range = {"start": values[1], "end": values[1] + values[2]}
            raw = raw + recalled(session, format, {"ref": ref, **given_range}, f"c{n}")
        view = session.prepare(raw)
        assert faults(view, format) == []
        assert ga.size(view, session.config) <= config["budget"]["chars"]
        assert all(ref in session._state.archive for ref in re.findall(r"saved: ref ([0-9a-f]{16})", json.dumps(view)))
        views.append(view)
        lists.append(raw)
    again = ga.ContextSession(config, format=format)
    assert [again.prepare(one) for one in lists] == views
    for message in range(len(raw)):
        spans = again.where(message)
        assert all(span.shown is not None or span.ref in again._state.archive for span in spans)
