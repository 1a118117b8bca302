"""The sessions behind the recorded dumps of version 1 in `dumps_v1.json`; what was recorded is never written anew."""

from __future__ import annotations

from typing import Any

from histories import Call, Turn, ends, write

CONFIG: dict[str, Any] = {"budget": {"chars": 6_000}, "tools": {"*": 1_500}}
FORMATS = ("anthropic", "openai-responses", "text")
TURNS = 9
"""After so many turns the dumps were written."""


def history(format: str, turns: int = 24) -> tuple[list[dict[str, Any]], list[int]]:
    """Return a raw history and where its turns end: cuts, an eviction, key_info, a repeated id, an orphan."""
    plain = Turn("model", ("Well.",), (Call("file_read", output="y" * 900),), reasoning=("signed",))
    twice = Turn("model", (), (Call("code_run", id="same", output="z" * 700), Call("web_scan", output="w" * 1_900)))
    notes = Turn("model", (), (Call("update_working_checkpoint", note="the port is 8080"),))
    late = Turn("model", (), (Call("code_run", answer="late", late=3), Call("file_read", answer="missing")))
    cycle = [plain, twice, notes, plain, late, Turn("user", ("And then sort it.",)), twice]
    raw = write(format, [Turn("user", ("Do it.",)), *[cycle[n % len(cycle)] for n in range(turns)]])
    return raw, ends(raw)
