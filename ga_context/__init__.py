"""Context management for LLM agent loops: within a budget, valid, cache-friendly, and every cut on record."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from ga_context import formats, reading
from ga_context.config import ContextConfig
from ga_context.errors import (
    ArchiveError,
    BudgetExceeded,
    ConfigError,
    GAContextError,
    InvalidMessages,
    UnknownReference,
    UnknownUsage,
)
from ga_context.html import PrunedHTML, prune_html
from ga_context.model import Message
from ga_context.report import Action, Report
from ga_context.session import UNDECIDED, ContextSession
from ga_context.text.plain import plain

__version__ = "0.1.0"

__all__ = [
    "Action",
    "ArchiveError",
    "BudgetExceeded",
    "ConfigError",
    "ContextConfig",
    "ContextSession",
    "GAContextError",
    "InvalidMessages",
    "PrunedHTML",
    "Report",
    "UnknownReference",
    "UnknownUsage",
    "__version__",
    "prune_html",
    "size",
]

logging.getLogger("ga_context").addHandler(logging.NullHandler())


def size(messages: Sequence[Message], config: ContextConfig | None = None) -> int:
    """Return C_H of a list in characters: each message as JSON, image, document and audio payloads at their charge."""
    name = formats.detect(plain(messages)) or UNDECIDED
    fmt = formats.of(name, config or ContextConfig())
    return sum([reading.size(fmt, message, index) for index, message in enumerate(messages)])
