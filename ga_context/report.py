"""What a turn cut and why: the record beside each view."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from ga_context.model import Cause

Stage = Literal["truncate", "compact", "evict", "repair", "anchor"]


@dataclass(frozen=True, slots=True)
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
    priority: str | None = None
    """Of a pinned item that was shortened."""

    def __str__(self) -> str:
        where = f"message {self.message}" + (f" to {self.last}" if self.last is not None else "")
        part = f" part {self.part}" if self.part is not None else ""
        span = f" [{self.start:,}:{self.end:,}]" if self.start is not None else ""
        ref = f" ref {self.ref}" if self.ref else ""
        change = f"{self.chars_before:,} -> {self.chars_after:,} chars"
        return f"{self.stage}: {where}{part}{span}, {change}: {self.reason}{ref}"


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
    first_changed_char: int | None = None
    """The first character of that message, as JSON, that differs."""
    break_cause: Cause | None = None
    """Why: the first that explains it."""
    cached_share: float | None = None
    """Share of the view's characters that stand in messages shared with the previous view; None on the first turn."""
    pending: list[str] = field(default_factory=list)
    """Calls of the last message, whose results are still to come."""
    actions: list[Action] = field(default_factory=list)
    """Everything that was done, in order."""

    @property
    def repairs(self) -> list[Action]:
        """The actions that made the list valid for its provider."""
        return [action for action in self.actions if action.stage == "repair"]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        plain = asdict(self)
        plain["evicted"] = list(self.evicted) if self.evicted else None
        return {**plain, "repairs": [asdict(action) for action in self.repairs]}

    def __str__(self) -> str:
        head = (
            f"turn {self.turn}: {self.chars_raw:,} chars raw, {self.chars_before:,} -> {self.chars_after:,} "
            f"of {self.budget_chars:,}"
        )
        if self.break_cause:
            head += f"; prefix changed at message {self.first_changed} ({self.break_cause})"
        return "\n".join([head, *(f"  {action}" for action in self.actions)])
