"""Prepare, recall, dump, load, fork and rollback in any order: the bytes are those of a session that only went on."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from histories import FORMATS, changed, configs, histories, wire_text
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from ga_context import ContextSession

Message = dict[str, Any]


class Pair:
    """A session that is written down and read again whenever the test says so, and one that never is."""

    def __init__(
        self, straight: ContextSession, other: ContextSession, raw: list[Message], rest: list[Message]
    ) -> None:
        self.straight, self.other, self.raw, self.rest = straight, other, raw, rest


class AnyOrder(RuleBasedStateMachine):
    """Several pairs at once, each forked from another; none feels what happens to the rest."""

    format = "anthropic"
    pairs: Bundle[Pair] = Bundle("pairs")

    @initialize(target=pairs, data=st.data())
    def start(self, data: st.DataObject) -> Pair:
        """One pair with a history before it."""
        rest, config = data.draw(histories(self.format)), data.draw(configs())
        return Pair(*[ContextSession(config, format=self.format) for _ in range(2)], [], rest)

    def prepared(self, pair: Pair, shrink: float | None = None) -> None:
        straight = pair.straight.prepare(pair.raw, shrink=shrink)
        other = pair.other.prepare(copy.deepcopy(pair.raw), shrink=shrink)
        assert wire_text(other) == wire_text(straight)

    @rule(pair=pairs, count=st.integers(1, 5))
    def more(self, pair: Pair, count: int) -> None:
        """The loop goes on."""
        pair.raw, pair.rest = [*pair.raw, *pair.rest[:count]], pair.rest[count:]
        self.prepared(pair)

    @rule(pair=pairs, count=st.integers(1, 12))
    def rollback(self, pair: Pair, count: int) -> None:
        """Back to an earlier message, before or behind a load."""
        keep = max(0, len(pair.raw) - count)
        pair.raw, pair.rest = pair.raw[:keep], [*pair.raw[keep:], *pair.rest]
        self.prepared(pair)

    @rule(pair=pairs, at=st.integers(0, 20), text=st.sampled_from(("and more", "\ud83d half", "<thinking>")))
    def change(self, pair: Pair, at: int, text: str) -> None:
        """The caller changes an earlier message."""
        if pair.raw:
            at %= len(pair.raw)
            pair.raw = [*pair.raw[:at], changed(pair.raw[at], text, self.format), *pair.raw[at + 1 :]]
            self.prepared(pair)

    @rule(pair=pairs, share=st.sampled_from((0.9, 0.6)))
    def shrink(self, pair: Pair, share: float) -> None:
        """The provider said that it was too long."""
        self.prepared(pair, share)

    @rule(pair=pairs, text=st.sampled_from(("", "the port is 8080", "<key_info>odd</key_info>")))
    def note(self, pair: Pair, text: str) -> None:
        """key_info, which only the next turn shows."""
        pair.straight.update_key_info(text)
        pair.other.update_key_info(text)

    @rule(pair=pairs, archive=st.booleans())
    def reload(self, pair: Pair, archive: bool) -> None:
        """The dump is the same whether or not it was loaded in between."""
        data = pair.other.dump(archive=archive)
        pair.other = ContextSession.load(data)
        assert pair.other.dump(archive=archive) == data

    @rule(target=pairs, pair=pairs)
    def fork(self, pair: Pair) -> Pair:
        """Each goes its own way from here."""
        return Pair(pair.straight.fork(), pair.other.fork(), list(pair.raw), list(pair.rest))

    @rule(pair=pairs)
    def recall(self, pair: Pair) -> None:
        """What it cut can be had back, in a dump too."""
        data = json.loads(pair.straight.dump())
        for report in pair.straight.reports:
            for action in report.actions:
                if action.ref is not None:
                    assert pair.straight.recall(action.ref) is not None
                    assert action.ref in {**data.get("archive", {}), **data.get("binary", {}), **data.get("halves", {})}


@pytest.mark.parametrize("format", FORMATS)
def test_any_order(format: str) -> None:
    """In each format."""
    machine = type("Machine", (AnyOrder,), {"format": format})
    run_state_machine_as_test(machine, settings=settings(stateful_step_count=10, max_examples=_examples()))


def _examples() -> int:
    return max(4, settings.default.max_examples // 4)  # several sessions play in each
