"""What can be set: all sections together, the report's numbers, and what set each value (spec 9)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, ValidationError

from ga_context.errors import ConfigError
from ga_context.payload.charge import Charges
from ga_context.sections import (
    DEFAULT_TOOLS,
    SECTIONS,
    AnchorConfig,
    ArchiveConfig,
    BudgetConfig,
    CacheConfig,
    CompactConfig,
    EvictConfig,
    FormatsConfig,
    Section,
    ToolEntry,
    Window,
    as_entry,
)
from ga_context.sources import flat, merge, parse_set, read_toml, sentence, shown, tables
from ga_context.text.size import UNIFORM, Measure, counted, weighed
from ga_context.text.weights import FAMILIES

__all__ = [
    "DEFAULT_TOOLS",
    "GENERIC_AGENT",
    "SECTIONS",
    "AnchorConfig",
    "ArchiveConfig",
    "BudgetConfig",
    "CacheConfig",
    "CompactConfig",
    "ContextConfig",
    "EvictConfig",
    "FormatsConfig",
    "Origin",
    "ToolEntry",
    "ToolLimits",
    "json_schema",
    "layered",
    "merge",
    "parse_set",
    "tables",
]

# The report's numbers for ever (2.3.4 and Table 1), each key by itself so that no better default ever moves them.
# `budget.chars` is missing on purpose: B = chars_per_token * window_tokens, with nothing taken off (spec 5).
GENERIC_AGENT: dict[str, dict[str, Any]] = {
    "budget": {
        "window_tokens": 30_000,
        "chars_per_token": 3.0,
        "evict_to": 0.6,
        "min_messages": 5,
        "reserve_tokens": 0,
        "on_exceeded": "raise",
        "payload_chars": 4_800,
        "payloads": "fixed",
        "body_bytes": 20_000_000,  # no number of the report: what is larger is refused, whatever it is made by
        "weights": "uniform",
        "family": "max",
        "calibrate": False,
        "count": None,
    },
    "tools": {
        "code_run": {"limit": 10_000},
        "web_execute_js": {"limit": 8_000, "spill": True},
        "web_scan": {"limit": 10_000, "html_limit": 35_000},
        "file_read": {"limit": 20_000, "line_limit": 1_280},
        "*": {"limit": 10_000, "json": "structure"},
    },
    "compact": {
        "interval": 5,
        "keep_recent": 10,
        "keep_recent_on_eviction": 4,
        "window_chars": 800,
        "tags": ("thinking", "think", "tool_use", "tool_call", "tool_result"),
        "anchor_tags": ("history", "key_info", "earlier_context"),
        "recall_grace": 10,
        "drop_reasoning": True,
    },
    "evict": {"keep_first": 0, "unit": "message"},
    "anchor": {
        "summaries": 20,
        "summary_chars": 100,
        "max_chars": 6_000,
        "earlier_lines": 0,
        "placement": "user_message",
        "lifetime": "persistent",
    },
    "archive": {  # no numbers of the report, which keeps nothing
        "url": None,
        "sync": "process",
        "on_error": "raise",
        "max_age_days": None,
        "max_bytes": None,
        "live_hours": 24.0,
        "redact": (),
    },
    "cache": {"model": None, "ttl": "5m", "max_markers": 4, "prices": {}},  # no numbers of the report either
    "formats": {"openai_chat": {"alternate": False}, "text": {"schema_every_turns": 10, "schema_every_chars": 27_000}},
}

Entry = Annotated[ToolEntry, BeforeValidator(as_entry, json_schema_input_type=Window | ToolEntry)]


@dataclass(frozen=True, slots=True)
class ToolLimits:
    """The limits that hold for one tool, in characters, every entry that matches taken together."""

    limit: int
    line_limit: int | None = None
    html_limit: int | None = None
    spill: bool = False
    json: Literal["structure", "text"] = "structure"
    per_turn_limit: int | None = None


class ContextConfig(Section):
    """All settings, a section per stage; each takes a table of keys or its model, what is not given is default.

    ``ContextConfig(compact={"interval": 7}, tools={"mcp__*": 5_000})``. Wrong keys and values raise `ConfigError`.
    """

    budget: BudgetConfig = BudgetConfig()
    """How much may be sent."""
    tools: dict[str, Entry] = Field(DEFAULT_TOOLS, validate_default=True)
    """By tool name or glob; laid over the defaults field by field. A bare number is `limit`."""
    compact: CompactConfig = CompactConfig()
    """Stage 2, the compaction of old messages."""
    evict: EvictConfig = EvictConfig()
    """Stage 3, the eviction of the oldest messages."""
    anchor: AnchorConfig = AnchorConfig()
    """Stage 4, the working-memory anchor."""
    archive: ArchiveConfig = ArchiveConfig()
    """Where the originals of what is cut are kept."""
    cache: CacheConfig = CacheConfig()
    """The provider's prompt cache: prices, and the markers that are placed."""
    formats: FormatsConfig = FormatsConfig()
    """What only one wire format knows, a table each."""

    def __init__(self, **sections: Any) -> None:
        if "tools" in sections:
            tools = tables(sections)["tools"]
            sections["tools"] = merge(DEFAULT_TOOLS, tools) if isinstance(tools, Mapping) else tools
        try:
            super().__init__(**sections)
        except ValidationError as error:
            raise ConfigError(*(sentence(one["type"], one["loc"], one["input"]) for one in error.errors())) from None
        shared = sorted(set(self.compact.tags) & set(self.compact.anchor_tags))
        if shared:
            raise ConfigError(
                f"`compact.tags` and `compact.anchor_tags` must not share a name; got {shared[0]!r} in both"
            )
        if self.tools["*"].limit is None:
            raise ConfigError("`tools.*.limit` must be 100 or more, since every other tool falls back on it; got None")

    def __hash__(self) -> int:
        tools = frozenset(self.tools.items())
        return hash((self.budget, tools, self.compact, self.evict, self.anchor, self.archive, self.formats))

    @classmethod
    def model_validate(cls, obj: Any, **_: Any) -> Self:
        """Build a configuration from a table of sections, or take one as it is."""
        if isinstance(obj, cls):
            return obj
        if not isinstance(obj, Mapping):
            raise ConfigError(
                f"a configuration is a table of sections ({', '.join(cls.model_fields)}); got {shown(obj)}"
            )
        return cls(**obj)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Copy with some sections replaced, checked like any other configuration."""
        return type(self)(**{**dict(self), **(update or {})})

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a TOML file, a pyproject.toml with ``[tool.ga_context]``, or the one of them that a folder holds."""
        file, sections = read_toml(path)
        try:
            return cls.model_validate(sections)
        except ConfigError as error:
            raise ConfigError(*(f"{file}: {problem}" for problem in error.problems)) from None

    @classmethod
    def generic_agent(cls, **overrides: Any) -> Self:
        """Build from the report's numbers, whatever the defaults are by now; overrides are laid over field by field."""
        sections = merge(GENERIC_AGENT, tables(overrides))
        budget = sections["budget"]
        if isinstance(budget, Mapping) and "chars" not in budget:
            numbers = cls(budget=budget).budget
            sections["budget"] = {**budget, "chars": _product(numbers.chars_per_token, numbers.window_tokens)}
        return cls(**sections)

    def limits(self, tool: str | None) -> ToolLimits:
        """Look up a tool's limits: field by field the exact name, then globs from the longest, then ``*``."""
        found = self._found.get(tool)
        if found is None:
            found = self._found[tool] = self._resolve(tool)
        return found

    @cached_property
    def _found(self) -> dict[str | None, ToolLimits]:
        return {}

    def _resolve(self, tool: str | None) -> ToolLimits:
        globs = [name for name in self.tools if tool is not None and name != tool and fnmatchcase(tool, name)]
        names = [tool, *sorted(globs, key=lambda name: (name == "*", -len(name), name)), "*"]
        fields: dict[str, Any] = {}
        for name in reversed([name for name in names if name in self.tools]):
            fields |= self.tools[str(name)].model_dump(exclude_none=True)
        return ToolLimits(**fields)

    def budget_chars(self, system_chars: int = 0, tools_chars: int = 0, scale: float | None = None) -> int:
        """Return B, the budget in characters, given what is sent beside the messages (spec 5).

        ``scale`` is the characters per token that were measured, where they hold in place of the configured ones.
        """
        if self.budget.chars is not None:
            return self.budget.chars
        tokens = self.budget.window_tokens - self.budget.reserve_tokens
        return _product(scale or self.budget.chars_per_token, tokens) - system_chars - tools_chars

    @property
    def prices(self) -> dict[str, dict[str, Any]]:
        """Return what is set of ``cache.prices``, by model."""
        return {model: entry.model_dump(exclude_none=True) for model, entry in self.cache.prices.items()}

    @property
    def charges(self) -> Charges:
        """What payloads count in C_H."""
        budget = self.budget
        return Charges(budget.payload_chars, budget.chars_per_token if budget.payloads == "pixels" else None)

    @cached_property
    def measure(self) -> Measure:
        """How texts count in C_H: one a character, by weights, or by the caller's own counter."""
        budget = self.budget
        if budget.count is not None:
            return counted(budget.count, budget.chars_per_token)
        return weighed(budget.family) if budget.weights == "script" else UNIFORM

    @property
    def expected_chars_per_token(self) -> float:
        """Characters of C_H that are expected to make a token of the prompt."""
        budget = self.budget
        by_weight = budget.weights == "script" and budget.count is None
        return FAMILIES[budget.family].chars_per_token if by_weight else budget.chars_per_token

    def to_dict(self) -> dict[str, Any]:
        """Return all sections as JSON values; ``ContextConfig(**config.to_dict())`` is an equal configuration.

        `budget.count` is not in it, since a function cannot be written down.
        """
        return self.model_dump(mode="json")


def _product(chars_per_token: float, tokens: int) -> int:
    return math.floor(round(chars_per_token * tokens, 6))  # 2.3 * 100 is 229.99999999999997


@dataclass(frozen=True, slots=True)
class Origin:
    """A key, its value, and what set it: "default", "generic_agent", "preset", "file <name>" or "--set"."""

    key: str
    value: Any
    origin: str


def layered(
    path: str | Path | None = None,
    overrides: Mapping[str, Any] | None = None,
    *,
    generic_agent: bool = False,
    preset: Mapping[str, Any] | None = None,
) -> tuple[ContextConfig, list[Origin]]:
    """Build a configuration from a base, a file and overrides, each laid over the last, and say what set each key.

    The base is the defaults with ``preset`` laid over them, or the report's numbers.
    """
    layers: dict[str, dict[str, Any]] = {"preset": tables({} if generic_agent else preset or {})}
    if path is not None:
        ContextConfig.load(path)  # so that what is wrong in the file is said with its name
        file, sections = read_toml(path)
        layers[f"file {file.name}"] = tables(sections)
    layers["--set"] = tables(overrides or {})
    given: dict[str, Any] = {}
    for layer in layers.values():
        given = merge(given, layer)
    config = ContextConfig.generic_agent(**given) if generic_agent else ContextConfig(**given)
    set_by = {key: name for name, layer in layers.items() for key, _ in flat(layer)}
    if "budget.payload_chars" in set_by and not generic_agent:
        set_by.setdefault("budget.payloads", set_by["budget.payload_chars"])
    base = "generic_agent" if generic_agent else "default"
    rows = [Origin(key, value, set_by.get(key, base)) for key, value in flat(config.to_dict())]
    return config, [
        row for row in rows if row.value is not None or row.key in set_by or not row.key.startswith("tools.")
    ]


def json_schema() -> dict[str, Any]:
    """Return a JSON Schema (draft 2020-12) of the TOML file, for editors."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **ContextConfig.model_json_schema()}
