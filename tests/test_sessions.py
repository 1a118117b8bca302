"""Recorded real sessions, turn by turn: no fault, never over budget, no unexplained break. Needs the shared folder."""

import json
from pathlib import Path
from typing import Any

import pytest
from histories import ends
from oracle import faults, newest_request, texts_of

import ga_context as ga
from ga_context.replay.readers import Recording, read

CONFIGS = {
    "default": ga.ContextConfig(),
    "generic_agent": ga.ContextConfig.generic_agent(),
    "without anchor": ga.ContextConfig.generic_agent(anchor={"placement": "off"}),
    "small": ga.ContextConfig(budget={"chars": 20_000, "on_exceeded": "report"}, anchor={"lifetime": "ephemeral"}),
}
NAMES = [
    "browseruse-allrecipes-2-step1",
    "cc-cli-062a8bdd",
    "cc-cli-08940314",
    "cc-cli-531e0007",
    "cc-cli-6113e919",
    "cc-cli-e4599950",
    "cc-viewer-5c0375b4",
    "codex-agentv-019ed99c",
    "codex-agentv-019f1d64",
    "codex-agentv-019f36b8",
    "deerflow-e05bea79",
    "deerflow-sse-china-food-delivery",
    "gemini-15f05963",
    "inspect-browser",
    "mini-ds_chat_test_1-100-django__django-11910",
    "mini-ds_reasoner_dev-sqlfluff__sqlfluff-1517",
    "moatless-psf__requests-3362",
    "moatless-sphinx-doc__sphinx-8474",
    "openhands-django__django-11149",
    "pi-before-compaction",
    "roo-heavy-uncondensed",
    "roo-zh-187700e7",
    "swea-i_got_id",
    "swea-pandas-53652",
    "swea-sphinx-11510",
    "tau-airline-t2-1",
    "tau2-claude-sonnet-4-5-task18",
]


def recording(shared: Path, name: str) -> Recording:
    """Return a dev session, or skip the test where it is not there."""
    path = shared / "data" / "sessions" / "dev" / f"{name}.json.gz"
    if not path.exists():
        pytest.skip(f"no session {name}")
    return read(path)


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_session_replays_without_a_fault(shared: Path, name: str, config: str) -> None:
    """Valid for the provider, within the budget, every break explained, the newest request in view, at every turn.

    A request larger than the budget keeps its head (spec 3, promise 3, iii).
    """
    played = recording(shared, name)
    session = ga.ContextSession(CONFIGS[config], format=played.format)
    before: list[Any] = []
    for end in ends(played.messages):
        raw = played.messages[:end]
        view = session.prepare(raw)
        report = session.report
        assert report is not None
        assert faults(view, played.format) == []
        assert report.chars_after <= report.budget_chars or config == "small"
        assert report.break_cause not in ("caller", "config")
        if config != "small":
            assert (view[: len(before)] == before) == (report.first_changed is None)
        wanted = newest_request(raw, played.format)
        said = [text for message in view for text in texts_of(message, played.format)]
        assert wanted is None or config == "small" or any(wanted[0][:500] in text for text in said)
        before = view


@pytest.mark.parametrize("name", ["cc-cli-062a8bdd", "moatless-psf__requests-3362", "swea-sphinx-11510"])
def test_going_on_with_the_view_is_as_good(shared: Path, name: str) -> None:
    """A loop that keeps the returned list gets the same bytes as one that keeps its own."""
    played = recording(shared, name)
    kept, fed = (ga.ContextSession(format=played.format) for _ in range(2))
    mine: list[Any] = []
    last = 0
    for end in ends(played.messages)[:60]:
        mine = fed.prepare([*mine, *played.messages[last:end]])
        assert json.dumps(kept.prepare(played.messages[:end])) == json.dumps(mine)
        last = end


@pytest.mark.parametrize("name", ["cc-cli-062a8bdd", "tau-airline-t2-1", "roo-heavy-uncondensed"])
def test_a_session_resumed_elsewhere_gives_the_same_bytes(shared: Path, name: str) -> None:
    """Dumped and loaded every ten turns, a session goes on as if nothing had been."""
    played = recording(shared, name)
    whole = ga.ContextSession(format=played.format)
    resumed = ga.ContextSession(format=played.format)
    for count, end in enumerate(ends(played.messages)[:80]):
        if count % 10 == 9:
            resumed = ga.ContextSession.load(resumed.dump())
        raw = played.messages[:end]
        assert json.dumps(resumed.prepare(raw)) == json.dumps(whole.prepare(raw))
