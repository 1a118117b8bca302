"""The policy: it stands in the model's place.

It keeps nothing but its place in the script. Whatever else it needs (file names, the culprit, what it noted forty turns
ago) it reads in the view it is given, as a model would: a fact that has left the view is a fact it does not know.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from string import Template
from typing import Any, TypeAlias

from ga_context.demo.script import CLOSING, CUT_SHORT, FACTS, FIXES, LOOKING_ON, OPENING, Each, Step

Message: TypeAlias = dict[str, Any]

NOT_IN_VIEW = "(not in view)"


@dataclass(slots=True)
class Policy:
    """Stands in for the model: turns a view into the next reply."""

    queue: deque[tuple[Step | Each, str]] = field(default_factory=lambda: deque((step, "") for step in OPENING))
    looks_on: bool = False
    """The opening is done and the job with it; what follows is a closer look."""
    asked: int = 0
    """Facts looked up so far."""
    found: int = 0
    calls: int = 0

    def reply(self, view: Sequence[Message], left: int) -> tuple[Message, str]:
        """Write the next assistant message.

        Args:
            view: The prepared messages, all the policy ever sees.
            left: Replies still to come, this one included.

        Returns:
            The message, and what the user says to it ("" when nothing).
        """
        step, item = self._next_step(view, left)
        known = {**self._facts(step, view), "item": item, "content": _edited(step, item, view)}
        blocks: list[Message] = [{"type": "text", "text": _spoken(step, known, view)}]
        for tool, arguments in step.calls:
            self.calls += 1
            filled = {name: Template(text).substitute(known) for name, text in arguments.items()}
            blocks.append({"type": "tool_use", "id": f"call_{self.calls:03d}", "name": tool, "input": filled})
        return {"role": "assistant", "content": blocks}, step.then

    def _next_step(self, view: Sequence[Message], left: int) -> tuple[Step, str]:
        closing = CUT_SHORT if self.queue and not self.looks_on else CLOSING
        if left <= len(closing):
            return closing[-left], ""
        while True:
            if not self.queue:
                self.looks_on = True
                self.queue.extend((step, "") for step in LOOKING_ON)
            step, item = self.queue.popleft()
            if isinstance(step, Step):
                return step, item
            matches = dict.fromkeys(re.findall(step.pattern, newest_text(view), re.MULTILINE))
            self.queue.extendleft([(inner, match) for match in matches for inner in step.steps][::-1])

    def _facts(self, step: Step, view: Sequence[Message]) -> dict[str, str]:
        """Look up the facts that the step's texts name."""
        texts = [step.think, step.summary, *(text for _, arguments in step.calls for text in arguments.values())]
        named = dict.fromkeys(name for text in texts for name in Template(text).get_identifiers() if name in FACTS)
        return {name: self._fact(FACTS[name], view) for name in named}

    def _fact(self, pattern: str, view: Sequence[Message]) -> str:
        """Give the newest statement of a fact in what the user, the tools or the anchor say."""
        self.asked += 1
        for message in reversed(view):
            hits = re.findall(pattern, text_of(message)) if message["role"] == "user" else []
            if hits:
                self.found += 1
                return str(hits[-1])
        return NOT_IN_VIEW


def text_of(message: Message) -> str:
    """All text of a message that a model would read."""
    content = message["content"]
    if isinstance(content, str):
        return content
    return "\n".join(text_of(block) if block["type"] == "tool_result" else block.get("text", "") for block in content)


def newest_text(view: Sequence[Message]) -> str:
    """All text of the newest message."""
    return text_of(view[-1])


def _edited(step: Step, item: str, view: Sequence[Message]) -> str:
    """The file just read, without its line numbers and with the step's change made."""
    if not step.change:
        return ""
    old, new = FIXES[step.change.replace("$item", item)]
    lines = re.findall(r"^ *\d+ \| ?(.*)$", newest_text(view), re.MULTILINE)
    return "\n".join(lines).replace(old, new) + "\n"


def _spoken(step: Step, known: dict[str, str], view: Sequence[Message]) -> str:
    quoted = "\n".join(newest_text(view).splitlines()[: step.quote])
    thought = Template(step.think).substitute(known) + (f"\nWhat I have before me:\n{quoted}" if quoted else "")
    said = f"<thinking>{thought}</thinking>" if step.calls else thought
    return f"{said}\n<summary>{Template(step.summary).substitute(known)}</summary>" if step.summary else said
