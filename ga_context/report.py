"""What a turn cut and why: the record beside each view."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from ga_context.model import Cause, Message
from ga_context.text.size import json_text
from ga_context.text.window import Lost

Stage = Literal["truncate", "compact", "evict", "repair", "anchor"]


@dataclass(slots=True)
class Action:
    """One cut, drop, replacement or insertion (spec 7)."""

    stage: Stage
    reason: str
    message: int
    """Raw message, counted over the session."""
    last: int | None = None
    """Last raw message of a ranged action."""
    part: str | None = None
    """The block in the message, with the path to the text in it."""
    start: int | None = None
    """First character of the original text that is gone."""
    end: int | None = None
    """Behind the last character of the original text that is gone."""
    chars_before: int = 0
    chars_after: int = 0
    ref: str | None = None
    """``session.recall(ref)`` returns the original."""
    redacted: bool = False
    """Of the original, parts were hidden before it was archived (`archive.redact`)."""
    priority: str | None = None
    """Of a pinned item that was shortened."""
    lost: list[Lost] = field(default_factory=list)
    """Of a page, the subtrees that went, by their characters in the original."""

    def __str__(self) -> str:
        where = f"message {self.message}" + (f" to {self.last}" if self.last is not None else "")
        part = f" part {self.part}" if self.part is not None else ""
        span = f" [{self.start:,}:{self.end:,}]" if self.start is not None else ""
        lost = f", {len(self.lost)} subtrees" if self.lost else ""
        ref = f" ref {self.ref}{' (redacted)' if self.redacted else ''}" if self.ref else ""
        change = f"{self.chars_before:,} -> {self.chars_after:,} chars"
        return f"{self.stage}: {where}{part}{span}, {change}{lost}: {self.reason}{ref}"


@dataclass(slots=True)
class Report:
    """What one ``prepare`` did. All sizes are C_H: characters as JSON, payloads at their charge."""

    turn: int
    """1 + model responses in the raw history."""
    chars_raw: int
    """C_H of the raw history."""
    chars_before: int
    """After earlier turns' edits and this turn's stage 1, before stages 2 to 4."""
    chars_after: int
    """C_H of the view."""
    budget_chars: int
    """B."""
    compacted: bool = False
    """A pass changed something."""
    evicted: tuple[int, int] | None = None
    """First and last raw message that was evicted, mandatory ones between excepted."""
    first_changed: int | None = None
    """Where the previous view stopped being the start of this one: a message of the previous view."""
    break_cause: Cause | None = None
    """Why: the first that explains it."""
    cached_share: float | None = None
    """Share of the view's characters that stand in messages shared with the previous view; None on the first turn."""
    payload_bytes: int = 0
    """Bytes of the images, documents and sounds in the view, as they are sent."""
    payload_chars: int = 0
    """What they count in C_H."""
    body_bytes: int | None = None
    """Bytes of the view in a request; None while it is so far below its limit that nobody counted."""
    prompt_tokens: int | None = None
    """Tokens of the prompt as the provider counted them; None until that is recorded."""
    estimate_error: float | None = None
    """What was expected from C_H, system and tools, divided by that, less 1: 0.1 is ten percent too much."""
    pending: list[str] = field(default_factory=list)
    """Calls of the last message, whose results are still to come."""
    archive_error: str | None = None
    """Why originals are in memory only and not durable yet (`archive.on_error = "memory"`); None: all are."""
    actions: list[Action] = field(default_factory=list)
    """Everything that was done, in order."""
    changed_pair: tuple[Message, Message | None] | None = field(default=None, repr=False, compare=False)
    """That message of the previous view, and what stands in its place now."""

    @property
    def first_changed_char(self) -> int | None:
        """The first character of that message, as JSON, that differs; found when it is asked for."""
        if self.changed_pair is None:
            return None
        before, now = self.changed_pair
        return _first_difference(json_text(before), json_text(now) if now is not None else "")

    @property
    def repairs(self) -> list[Action]:
        """The actions that made the list valid for its provider."""
        return [action for action in self.actions if action.stage == "repair"]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        plain = asdict(replace(self, changed_pair=None))
        del plain["changed_pair"]
        plain["evicted"] = list(self.evicted) if self.evicted else None
        plain["first_changed_char"] = self.first_changed_char
        return {**plain, "repairs": [asdict(action) for action in self.repairs]}

    def __str__(self) -> str:
        head = (
            f"turn {self.turn}: {self.chars_raw:,} chars raw, {self.chars_before:,} -> {self.chars_after:,} "
            f"of {self.budget_chars:,}"
        )
        if self.payload_bytes:
            head += f"; payloads of {self.payload_bytes:,} bytes count {self.payload_chars:,}"
        if self.break_cause:
            head += f"; prefix changed at message {self.first_changed} ({self.break_cause})"
        if self.archive_error:
            head += f"; originals in memory only: {self.archive_error}"
        return "\n".join([head, *(f"  {action}" for action in self.actions)])


def _first_difference(a: str, b: str) -> int:
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if a[:middle] == b[:middle] else (low, middle - 1)
    return low
