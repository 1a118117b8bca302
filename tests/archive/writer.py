"""A process that is going to be killed: it plays turns and writes down each view before it goes on.

python writer.py ARCHIVE VIEWS SEED
"""

import json
import random
import sys
from collections.abc import Iterator
from typing import Any

from ga_context import ContextSession

TURNS = 200


def play(seed: int, archive: str | None = None) -> Iterator[tuple[ContextSession, list[dict[str, Any]]]]:
    """Yield the session and its view, turn by turn; the same for the same seed, wherever the archive is."""
    rng = random.Random(seed)
    config = {"budget": {"chars": 30_000}, "archive": {"url": archive}}
    session, messages = ContextSession(config, format="openai-chat"), [{"role": "user", "content": "Why?"}]
    for number in range(TURNS):
        lines = rng.choice([10, 100, 100, 600])
        text = "".join(f"{number} {rng.random()} ok\n" for _ in range(lines))
        call = {"id": f"call_{number}", "type": "function", "function": {"name": "code_run", "arguments": "{}"}}
        messages.append({"role": "assistant", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"call_{number}", "content": text})
        yield session, session.prepare(messages)


def main(archive: str, views: str, seed: int) -> None:
    with open(views, "a", encoding="utf-8") as out:
        for session, view in play(seed, archive):
            refs = [action.ref for action in session.report.actions if action.ref]
            out.write(json.dumps({"view": view, "refs": refs}) + "\n")
            out.flush()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
