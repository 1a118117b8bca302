"""The errors of ga_context: one root, and a built-in as second parent of each.

GAContextError            (Exception)
├── BudgetExceeded        (ValueError)   the smallest valid view is larger than the budget
├── InvalidMessages       (ValueError)   a message that no repair covers
├── UnknownReference      (KeyError)     nothing in the archive under this reference
├── ArchiveError          (OSError)      originals cannot be kept or read
├── UnknownUsage          (ValueError)   a usage object of no known shape
└── ConfigError           (ValueError)   a key or a value that the configuration does not know
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

SHOWN_CHARS = 80
"""An error shows no more of a value."""


def shown(value: object) -> str:
    """Return a value for an error: what is short as it is, of anything that may be deep or long its type."""
    if isinstance(value, str):
        return repr(value if len(value) <= SHOWN_CHARS else f"{value[:SHOWN_CHARS]}...")
    return repr(value) if value is None or isinstance(value, bool | int | float) else f"a {type(value).__name__}"


class GAContextError(Exception):
    """The root: ``except GAContextError`` catches all that this library raises by itself."""


class BudgetExceeded(GAContextError, ValueError):
    """Say that what must stay does not fit the budget (spec 3, promise 3).

    Args:
        size: characters of the smallest valid view, or its bytes.
        budget: B, the budget in characters, or the limit of a request in bytes.
        items: what takes the room, as pairs (what, size).
        unit: "characters" (C_H against B) or "bytes" (of a request, against `budget.body_bytes`).
        view: the smallest valid view, or None when there is none.
        report: the report of the turn, or None.
    """

    def __init__(
        self,
        size: int,
        budget: int,
        items: Sequence[tuple[str, int]] = (),
        unit: Literal["characters", "bytes"] = "characters",
        *,
        view: list[Any] | None = None,
        report: Any = None,
    ) -> None:
        self.unit = unit
        self.size = size
        self.budget = budget
        self.items = list(items)
        self.view = view
        self.report = report
        super().__init__(self._sentence())

    def _sentence(self) -> str:
        items = ", ".join(f"{what} {size:,}" for what, size in self.items)
        taken = f" ({items})" if items else ""
        if self.budget <= 0:
            return (
                f"no room for messages: the budget is {self.budget:,} characters after what is sent beside them{taken}"
                "; shorten system and tools, or raise `budget.window_tokens`"
            )
        limit, key = ("limit", "body_bytes") if self.unit == "bytes" else ("budget", "window_tokens")
        return (
            f"what must stay has {self.size:,} {self.unit}{taken}, the {limit} is {self.budget:,}; raise "
            f'`budget.{key}`, shorten these, or set `budget.on_exceeded = "report"` to get the view all the same'
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # The default would hand the sentence back as `size`; errors travel between worker processes.
        return type(self), (self.size, self.budget, self.items, self.unit), {"view": self.view, "report": self.report}


class InvalidMessages(GAContextError, ValueError):
    """Refuse a message list by index and key (spec 3, promise 2).

    Args:
        problem: what is wrong, what is allowed and what to do, as the rest of a sentence that begins with the place.
        index: position in the list, or None when the list itself is wrong.
        key: the key in that message (``"role"``, ``"content[2].id"``), or None when the message itself is wrong.
    """

    def __init__(self, problem: str, index: int | None = None, key: str | None = None) -> None:
        super().__init__(problem, index, key)
        self.problem = problem
        self.index = index
        self.key = key

    def __str__(self) -> str:
        place = "messages" if self.index is None else f"messages[{self.index}]"
        return f"`{place}{'' if self.key is None else '.' + self.key}` {self.problem}"


class UnknownReference(GAContextError, KeyError):
    """Say that the archive holds nothing under a reference."""

    def __init__(self, ref: object) -> None:
        super().__init__(ref)
        self.ref = ref

    def __str__(self) -> str:
        return (
            f"no original is archived under {self.ref!r}; a reference is the hexadecimal digits in a marker or in "
            "an action of the report, and is known to the session that made the cut or was loaded from its dump"
        )


class ArchiveError(GAContextError, OSError):
    """Say that an archive cannot be opened, written or read, or holds something damaged.

    Args:
        problem: what is wrong with which archive and what to do, as a sentence.
        view: of ``prepare``: the list to send; what it refers to can be recalled in this process only. None elsewhere.
        report: of ``prepare``: the report of the turn. None elsewhere.
    """

    def __init__(self, problem: str, *, view: list[Any] | None = None, report: Any = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.view = view
        self.report = report

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.problem,), {"view": self.view, "report": self.report}


class UnknownUsage(GAContextError, ValueError):
    """Say that a usage object has none of the known shapes, and which keys it has."""

    def __init__(self, keys: Sequence[object]) -> None:
        super().__init__(keys)
        self.keys = list(keys)

    def __str__(self) -> str:
        keys = ", ".join(map(str, self.keys)) or "none"
        return (
            f"a usage object must have the shape of Anthropic, OpenAI (chat or responses), Gemini, DeepSeek, Bedrock, "
            f"vLLM, SGLang or llama.cpp; this one has the keys: {keys}; pass the response's `usage` itself, or a dict "
            "such as {'input_tokens': 1200, 'input_tokens_details': {'cached_tokens': 1024}, 'output_tokens': 80}"
        )


class ConfigError(GAContextError, ValueError):
    """List everything that is wrong in a configuration, one sentence each."""

    def __init__(self, *problems: str) -> None:
        super().__init__(*problems)
        self.problems = problems

    def __str__(self) -> str:
        if len(self.problems) == 1:
            return self.problems[0]
        return "\n".join((f"{len(self.problems)} problems in the configuration:", *(f"- {p}" for p in self.problems)))
