"""What a dump takes: bytes for each raw message, and processor time."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from histories import Call, Turn, ends, write

from ga_context import ContextSession

TURNS = 400


def played(format: str, window_tokens: int) -> tuple[ContextSession, list[dict[str, Any]]]:
    """Return a session of so many turns, each a call whose result has 3,000 characters."""
    turn = Turn("model", ("Next.",), (Call("file_read", output="a line of a log\n" * 188),))
    raw = write(format, [Turn("user", ("Do it.",)), *[turn] * TURNS])
    session = ContextSession({"budget": {"window_tokens": window_tokens}}, format=format)
    for end in ends(raw):
        session.prepare(raw[:end])
    return session, raw


@pytest.mark.parametrize("window_tokens", [30_000, 1_000_000])
@pytest.mark.parametrize("format", ["anthropic", "openai-chat", "openai-responses", "gemini", "bedrock", "text"])
def test_at_most_100_bytes_a_message(format: str, window_tokens: int) -> None:
    """Beside the state, which does not grow with the session: 16,000 bytes are taken off for it."""
    session, raw = played(format, window_tokens)
    assert len(session.dump(archive=False)) <= 100 * len(raw) + 16_000


def test_the_originals_are_all_that_the_default_adds() -> None:
    """The same keys with the same values, and the archive."""
    session, _ = played("anthropic", 30_000)
    small, large = json.loads(session.dump(archive=False)), json.loads(session.dump())
    originals = {key: large.pop(key) for key in ("originals", "archive", "halves", "binary")}
    assert small == large
    assert originals["archive"]


def test_a_dump_costs_no_more_than_writing_the_messages_a_few_times() -> None:
    """In processor time, best of five: 3 json.dumps of the list to write, 2 to read; far less on a quiet machine."""
    session, raw = played("anthropic", 30_000)
    floor = best(lambda: json.dumps(raw))
    data = session.dump(archive=False)
    assert best(lambda: session.dump(archive=False)) <= 3 * floor + 0.02
    assert best(lambda: ContextSession.load(data)) <= 2 * floor + 0.02


def best(work: Callable[[], object]) -> float:
    spent = []
    for _ in range(5):
        start = time.process_time()
        work()
        spent.append(time.process_time() - start)
    return min(spent)
