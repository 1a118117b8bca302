"""`ga-context demo`: an agent at work behind a `ContextSession`, without a key and without a network."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console

from ga_context import ContextConfig, ContextSession
from ga_context.demo import screen
from ga_context.demo.agent import Agent
from ga_context.demo.project import lay_out

__all__ = ["DEFAULT_TURNS", "PRESET", "run"]

DEFAULT_TURNS = 60
PRESET: dict[str, dict[str, Any]] = {"budget": {"window_tokens": 10_000}}
"""A small window, so that every stage has work within a few turns."""
FILE_NAME = "ga-context-demo.json"


def run(
    turns: int = DEFAULT_TURNS, out: Path | None = None, *, console: Console, config: ContextConfig | None = None
) -> Path:
    """Play the demo and return the file with its raw history, which `ga-context replay` takes.

    Args:
        turns: Replies of the scripted policy, 1 or more.
        out: Where to write the recording; `ga-context-demo.json` in the current folder when not given.
        console: Where to draw; one line a turn unless it is a terminal.
        config: Settings of the session; a window of 10,000 tokens when not given.
    """
    if turns < 1:
        raise ValueError(f"`turns` must be 1 or more; got {turns}")
    config = config or ContextConfig(**PRESET)
    recording = out or _default_folder() / FILE_NAME
    recording.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="ga-context-demo-") as folder:
        lay_out(Path(folder))
        agent = Agent(ContextSession(config, format="anthropic"), Path(folder))
        seen = screen.show(console, agent.run(turns), turns, config)
    recording.write_text(agent.recording(), "utf-8", newline="\n")
    screen.sums(console, seen, agent.prove(), recording, config)
    return recording


def _default_folder() -> Path:
    """The current folder, or a new one where nothing can be written here."""
    return Path() if os.access(Path(), os.W_OK) else Path(tempfile.mkdtemp(prefix="ga-context-demo-"))
