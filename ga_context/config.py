"""What can be set, and the numbers it starts from: one frozen model per stage, read from keywords or TOML (spec 9)."""

from __future__ import annotations

import difflib
import json
import math
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator
from pydantic.fields import FieldInfo

from ga_context.errors import ConfigError

# Characters per tool result: report 2.3.4, Table 1; `*` is any other tool (spec 4.1).
DEFAULT_TOOLS: dict[str, dict[str, Any]] = {
    "code_run": {"limit": 10_000},
    "web_execute_js": {"limit": 8_000, "spill": True},
    "web_scan": {"limit": 10_000, "html_limit": 35_000},
    "file_read": {"limit": 20_000, "line_limit": 1_280},
    "*": {"limit": 10_000},
}
COMPACTED_TAGS = ("thinking", "think", "tool_use", "tool_call", "tool_result")
ANCHOR_TAGS = ("history", "key_info", "earlier_context")
NEVER = "never"  # TOML has no None

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
        "weights": "uniform",
    },
    "tools": {
        "code_run": {"limit": 10_000},
        "web_execute_js": {"limit": 8_000, "spill": True},
        "web_scan": {"limit": 10_000, "html_limit": 35_000},
        "file_read": {"limit": 20_000, "line_limit": 1_280},
        "*": {"limit": 10_000},
    },
    "compact": {
        "interval": 5,
        "keep_recent": 10,
        "keep_recent_on_eviction": 4,
        "window_chars": 800,
        "tags": ("thinking", "think", "tool_use", "tool_call", "tool_result"),
        "anchor_tags": ("history", "key_info", "earlier_context"),
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
}

# How an error message puts None, where it means more than "not set".
NONE_MEANS = {"interval": "None for never", "chars": "None for `chars_per_token` times `window_tokens`"}

Count = Annotated[int, Field(strict=True, ge=0)]
Positive = Annotated[int, Field(strict=True, ge=1)]
Window = Annotated[int, Field(strict=True, ge=100)]
OptionalWindow = Annotated[int | None, Field(strict=True, ge=100)]
Switch = Annotated[bool, Field(strict=True)]
TagName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_.:-]*$")]
Interval = Annotated[
    int | None,
    Field(strict=True, ge=1),
    BeforeValidator(
        lambda value: None if value == NEVER else value,
        json_schema_input_type=Annotated[int, Field(ge=1)] | Literal["never"] | None,
    ),
]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, serialize_by_alias=True)


class BudgetConfig(_Section):
    """How much may be sent (spec 5)."""

    window_tokens: Window = 30_000
    """W, the context window to use, in tokens, at least 100 (report 2.3.4: under 30k tokens)."""
    chars_per_token: Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)] = 3.0
    """Alpha, characters per token (spec 2); B = alpha * (W - reserve_tokens), less system and tools."""
    chars: Annotated[int | None, Field(strict=True, ge=1)] = None
    """B in characters, set directly; nothing comes off (spec 5). None: from window_tokens."""
    evict_to: Annotated[float, Field(strict=True, gt=0, le=1, allow_inf_nan=False)] = 0.6
    """Share of B, above 0 and at most 1, that an eviction brings the view down to (report 2.3.4: 0.6 B)."""
    min_messages: Count = 5
    """Messages, the newest, at which eviction stops (report 2.3.4: 5)."""
    reserve_tokens: Count = 0
    """Tokens kept free for the reply, taken off window_tokens (spec 5)."""
    on_exceeded: Literal["raise", "report"] = "raise"
    """What happens when all that must stay is over B: BudgetExceeded, or the view with a report (spec 3.3)."""
    payload_chars: Count = 4_800
    """Characters charged for an image, document or audio payload in place of its text (spec 5)."""
    weights: Literal["uniform"] = "uniform"
    """How characters count: "uniform" is one each, the report's rule (spec 5)."""


class ToolEntry(_Section):
    """What one tool's results may take; unset fields come from the next entry that matches, at last from ``*``."""

    limit: OptionalWindow = None
    """L, characters of a result with its marker, at least 100 (report 2.3.4, Table 1)."""
    line_limit: OptionalWindow = None
    """Characters of one line with its mark, at least 100 (Table 1: 1,280 for file_read). Set nowhere: no such limit."""
    html_limit: OptionalWindow = None
    """Characters of a result that is HTML, at least 100 (Table 1: 35,000 for web_scan). Set nowhere: `limit` applies."""
    spill: Annotated[bool | None, Field(strict=True)] = None
    """Archive the whole output and show a short preview when the call asks for a file (Table 1, web_execute_js)."""
    json_mode: Literal["structure", "text"] | None = Field(default=None, alias="json")
    """"structure" or "text", read by the structural cut of JSON results (spec 4.1). Set nowhere: "structure"."""
    per_turn_limit: OptionalWindow = None
    """Characters, at least 100, that the n results of one message share: each gets its n-th part (spec 4.1)."""


def _entry(value: Any) -> Any:
    return {"limit": value} if isinstance(value, int | float) else value


class CompactConfig(_Section):
    """Stage 2, the compaction of old messages (spec 4.2)."""

    interval: Interval = 5
    """Turns between two passes, 1 or more (report 2.3.4: about every 5). None, in TOML "never": no pass by turns."""
    keep_recent: Count = 10
    """Messages, the newest, that a pass spares (report 2.3.4: 10)."""
    keep_recent_on_eviction: Count = 4
    """Messages, the newest, that the strict pass before an eviction spares (report 2.3.4: 4)."""
    window_chars: Window = 800
    """Characters that an old text keeps, half at its head, half at its tail, at least 100 (report 2.3.4: about 800)."""
    tags: tuple[TagName, ...] = COMPACTED_TAGS
    """Names of the tags whose content is cut to window_chars (report 2.3.4)."""
    anchor_tags: tuple[TagName, ...] = ANCHOR_TAGS
    """Names of the tags whose content becomes [...] in old anchors (report 2.3.4)."""
    drop_reasoning: Switch = True
    """Whether a pass drops old signed reasoning whole, since it must not be shortened (spec 6)."""

    @field_validator("tags", "anchor_tags", mode="before")
    @classmethod
    def _ordered(cls, value: Any) -> Any:
        return sorted(value, key=str) if isinstance(value, set | frozenset) else value  # a dump needs one order


class EvictConfig(_Section):
    """Stage 3, the eviction of the oldest messages (spec 4.3)."""

    keep_first: Count = 0
    """Messages at the start that eviction leaves alone (spec 4.3; the report has none)."""
    unit: Literal["message", "exchange"] = "message"
    """What goes at once: messages, rounded to whole exchanges (report), or only whole exchanges (spec 4.3)."""


class AnchorConfig(_Section):
    """Stage 4, the working-memory anchor (spec 4.4)."""

    summaries: Count = 20
    """Turns, the newest, with a one-line summary (report 2.3.4: 20)."""
    summary_chars: Positive = 100
    """Characters of the summary in its line (report 2.3.4: about 100)."""
    max_chars: Window = 6_000
    """Characters of the whole block, at least 100, and never above B/10 (spec 4.4)."""
    earlier_lines: Count = 0
    """Lines of older turns, folded, in <earlier_context> (spec 4.4; the report has none)."""
    placement: Literal["user_message", "tool_result", "off"] = "user_message"
    """Where the block stands: with the user's side, as text of its own; in the newest tool result; nowhere (spec 4.4)."""
    lifetime: Literal["persistent", "ephemeral"] = "persistent"
    """Whether old blocks stay where they were sent (report) or only the newest view has one (spec 4.4)."""


@dataclass(frozen=True, slots=True)
class ToolLimits:
    """The limits that hold for one tool, in characters, every entry that matches taken together."""

    limit: int
    line_limit: int | None = None
    html_limit: int | None = None
    spill: bool = False
    json: Literal["structure", "text"] = "structure"
    per_turn_limit: int | None = None


class ContextConfig(_Section):
    """All settings, a section per stage; each takes a table of keys or its model, and what is not given is the default.

    ``ContextConfig(compact={"interval": 7}, tools={"mcp__*": 5_000})``. Wrong keys and values raise `ConfigError`.
    """

    budget: BudgetConfig = BudgetConfig()
    """How much may be sent."""
    tools: dict[str, Annotated[ToolEntry, BeforeValidator(_entry, json_schema_input_type=Window | ToolEntry)]] = Field(
        DEFAULT_TOOLS, validate_default=True
    )
    """By tool name or glob; laid over the defaults field by field. A bare number is `limit`."""
    compact: CompactConfig = CompactConfig()
    """Stage 2, the compaction of old messages."""
    evict: EvictConfig = EvictConfig()
    """Stage 3, the eviction of the oldest messages."""
    anchor: AnchorConfig = AnchorConfig()
    """Stage 4, the working-memory anchor."""

    def __init__(self, **sections: Any) -> None:
        if "tools" in sections:
            tools = tables(sections)["tools"]
            sections["tools"] = merge(DEFAULT_TOOLS, tools) if isinstance(tools, Mapping) else tools
        try:
            super().__init__(**sections)
        except ValidationError as error:
            raise ConfigError(*(_sentence(one["type"], one["loc"], one["input"]) for one in error.errors())) from None
        shared = sorted(set(self.compact.tags) & set(self.compact.anchor_tags))
        if shared:
            raise ConfigError(
                f"`compact.tags` and `compact.anchor_tags` must not share a name; got {shared[0]!r} in both"
            )
        if self.tools["*"].limit is None:
            raise ConfigError("`tools.*.limit` must be 100 or more, since every other tool falls back on it; got None")

    def __hash__(self) -> int:
        return hash((self.budget, frozenset(self.tools.items()), self.compact, self.evict, self.anchor))

    @classmethod
    def model_validate(cls, obj: Any, **_: Any) -> Self:
        """Build a configuration from a table of sections, or take one as it is."""
        if isinstance(obj, cls):
            return obj
        if not isinstance(obj, Mapping):
            raise ConfigError(
                f"a configuration is a table of sections ({', '.join(cls.model_fields)}); got {_shown(obj)}"
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

    def budget_chars(self, system_chars: int = 0, tools_chars: int = 0) -> int:
        """Return B, the budget in characters, given what is sent beside the messages (spec 5)."""
        if self.budget.chars is not None:
            return self.budget.chars
        tokens = self.budget.window_tokens - self.budget.reserve_tokens
        return _product(self.budget.chars_per_token, tokens) - system_chars - tools_chars

    def to_dict(self) -> dict[str, Any]:
        """Return all sections as JSON values; ``ContextConfig(**config.to_dict())`` is an equal configuration."""
        return self.model_dump(mode="json")


SECTIONS: dict[str, type[BaseModel]] = {
    "budget": BudgetConfig,
    "tools": ToolEntry,
    "compact": CompactConfig,
    "evict": EvictConfig,
    "anchor": AnchorConfig,
}


def _product(chars_per_token: float, tokens: int) -> int:
    return math.floor(round(chars_per_token * tokens, 6))  # 2.3 * 100 is 229.99999999999997


# Tables of sections, and where each value comes from


@dataclass(frozen=True, slots=True)
class Origin:
    """A key, its value, and what set it: "default", "generic_agent", "file <name>" or "--set"."""

    key: str
    value: Any
    origin: str


def layered(
    path: str | Path | None = None, overrides: Mapping[str, Any] | None = None, *, generic_agent: bool = False
) -> tuple[ContextConfig, list[Origin]]:
    """Build a configuration from a base, a file and overrides, each laid over the last, and say what set each key."""
    layers: dict[str, dict[str, Any]] = {}
    if path is not None:
        ContextConfig.load(path)  # so that what is wrong in the file is said with its name
        file, sections = read_toml(path)
        layers[f"file {file.name}"] = tables(sections)
    layers["--set"] = tables(overrides or {})
    given: dict[str, Any] = {}
    for layer in layers.values():
        given = merge(given, layer)
    config = ContextConfig.generic_agent(**given) if generic_agent else ContextConfig(**given)
    set_by = {key: name for name, layer in layers.items() for key, _ in _flat(layer)}
    base = "generic_agent" if generic_agent else "default"
    rows = [Origin(key, value, set_by.get(key, base)) for key, value in _flat(config.to_dict())]
    return config, [
        row for row in rows if row.value is not None or row.key in set_by or not row.key.startswith("tools.")
    ]


def parse_set(text: str) -> dict[str, Any]:
    """Read ``compact.interval=7`` as nested tables; the value is JSON, else a TOML value, else the text itself."""
    path, equals, value = text.partition("=")
    section, dot, key = path.strip().partition(".")
    if not (equals and dot and key):
        raise ConfigError(f"a setting is written `section.key=value`, as in `compact.interval=7`; got {_shown(text)}")
    if section != "tools":
        return {section: {key: _literal(value.strip())}}
    # A tool's name may hold dots itself, so only a last part that is a field counts as one.
    name, _, field = key.rpartition(".")
    fields = _keys(ToolEntry)
    if name and field in fields:
        return {"tools": {name: {field: _literal(value.strip())}}}
    if name and (near := difflib.get_close_matches(field, fields, 1, 0.8)):
        raise ConfigError(f"`{path}` is not a key; did you mean `tools.{name}.{near[0]}`?")
    return {"tools": {key: _literal(value.strip())}}


def _literal(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        values = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    return values["value"] if len(values) == 1 else text


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Lay one table over another, key by key and tables within tables; neither is changed."""
    merged = dict(base)
    for key, value in over.items():
        old = merged.get(key)
        merged[key] = merge(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return merged


def tables(sections: Mapping[str, Any]) -> dict[str, Any]:
    """Return sections as plain tables, so that they can be merged: models as what was set in them, numbers as limits."""
    plain = {name: _table(section) for name, section in sections.items()}
    tools = plain.get("tools")
    if isinstance(tools, Mapping):
        plain["tools"] = {str(name): _table(_entry(entry)) for name, entry in tools.items()}
    return plain


def _table(section: Any) -> Any:
    return section.model_dump(exclude_unset=True) if isinstance(section, BaseModel) else section


def _flat(sections: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for section, keys in sections.items():
        for key, value in keys.items():
            if section == "tools":
                yield from ((f"tools.{key}.{field}", one) for field, one in value.items())
            else:
                yield f"{section}.{key}", value


def read_toml(path: str | Path) -> tuple[Path, dict[str, Any]]:
    """Return the file that a path or a folder stands for, and the sections in it."""
    given = Path(path)
    files = [given / "ga_context.toml", given / "pyproject.toml"] if given.is_dir() else [given]
    for file in files:
        if given.is_dir() and not file.is_file():
            continue
        document = _parse(file)
        tool = document.get("tool")
        if isinstance(tool, Mapping) and "ga_context" in tool:
            return file, tool["ga_context"]
        if file.name != "pyproject.toml":
            return file, document
    raise ConfigError(f"{given} has no settings; write a ga_context.toml, or [tool.ga_context] in a pyproject.toml")


def _parse(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text("utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"{file} cannot be read ({error.strerror}); give a TOML file or a folder with one") from None
    except ValueError as error:
        raise ConfigError(f"{file} is not valid TOML: {error}") from None


def json_schema() -> dict[str, Any]:
    """Return a JSON Schema (draft 2020-12) of the TOML file, for editors."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **ContextConfig.model_json_schema()}


# What is wrong, in a sentence that names the fix


def _keys(model: type[BaseModel]) -> dict[str, FieldInfo]:
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _sentence(kind: str, loc: tuple[int | str, ...], given: Any) -> str:
    depth = 3 if loc[0] == "tools" else 2  # tools.<name>.<key>, or <section>.<key>
    path = ".".join(map(str, loc[:depth]))
    if kind in ("extra_forbidden", "invalid_key"):
        return f"`{path}` is not a key; {_nearest(loc)}"
    keys = _keys(SECTIONS[str(loc[0])])
    if len(loc) >= depth:
        key = str(loc[depth - 1])
        return f"`{path}` must be {_allowed(key, keys[key], kind)}; got {_shown(given)}"
    if loc == ("tools",):
        return f"`tools` must be a table of tool names or globs; got {_shown(given)}"
    number = "a number of characters or " if depth == 3 else ""
    return f"`{path}` must be {number}a table of keys ({', '.join(keys)}); got {_shown(given)}"


def _nearest(loc: tuple[int | str, ...]) -> str:
    *parents, leaf = map(str, loc)
    siblings = list(_keys(SECTIONS[parents[0]]) if parents else SECTIONS)
    if near := difflib.get_close_matches(leaf, siblings, 1):
        return f"did you mean `{'.'.join([*parents, near[0]])}`?"
    elsewhere = {key: f"{name}.{key}" for name, model in SECTIONS.items() if name != "tools" for key in _keys(model)}
    if near := difflib.get_close_matches(leaf, elsewhere, 1, 0.8):
        return f"did you mean `{elsewhere[near[0]]}`?"
    return f"allowed here: {', '.join(siblings)}"


def _allowed(key: str, field: FieldInfo, kind: str) -> str:
    options = get_args(field.annotation)
    literal = [value for option in (field.annotation, *options) for value in get_args(option) if isinstance(value, str)]
    bounds = {
        name: getattr(rule, name) for rule in field.metadata for name in ("ge", "gt", "le") if hasattr(rule, name)
    }
    if literal:
        phrase = " or ".join(f'"{value}"' for value in dict.fromkeys(literal))
    elif bool in (field.annotation, *options):
        phrase = "true or false"
    elif "ge" in bounds:
        phrase = f"{'a whole number, ' if kind == 'int_type' else ''}{bounds['ge']} or more"
    elif "gt" in bounds:
        phrase = f"a number above {bounds['gt']}" + (f" and at most {bounds['le']}" if "le" in bounds else "")
    else:
        phrase = "a list of tag names, without brackets"
    return f"{phrase}, or {NONE_MEANS.get(key, 'None')}" if type(None) in options else phrase


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
