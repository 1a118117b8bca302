"""The sections of the configuration: one frozen model per stage, with the numbers it starts from (spec 9)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator
from pydantic.json_schema import SkipJsonSchema

from ga_context.text.weights import FamilyName

# Characters per tool result: report 2.3.4, Table 1; `*` is any other tool (spec 4.1).
DEFAULT_TOOLS: dict[str, dict[str, Any]] = {
    "code_run": {"limit": 10_000},
    "web_execute_js": {"limit": 8_000, "spill": True},
    "web_scan": {"limit": 10_000, "html_limit": 35_000},
    "file_read": {"limit": 20_000, "line_limit": 1_280},
    "*": {"limit": 10_000, "json": "structure"},
}
COMPACTED_TAGS = ("thinking", "think", "tool_use", "tool_call", "tool_result")
ANCHOR_TAGS = ("history", "key_info", "earlier_context")
NEVER = "never"  # TOML has no None

Count = Annotated[int, Field(strict=True, ge=0)]
Positive = Annotated[int, Field(strict=True, ge=1)]
Window = Annotated[int, Field(strict=True, ge=100)]
OptionalWindow = Annotated[int | None, Field(strict=True, ge=100)]
Switch = Annotated[bool, Field(strict=True)]
Price = Annotated[float | None, Field(strict=True, ge=0, allow_inf_nan=False)]
TagName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_.:-]*$")]
Interval = Annotated[
    int | None,
    Field(strict=True, ge=1),
    BeforeValidator(
        lambda value: None if value == NEVER else value,
        json_schema_input_type=Annotated[int, Field(ge=1)] | Literal["never"] | None,
    ),
]


class Section(BaseModel):
    """Keys that are all known, with values that stay as they are."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, serialize_by_alias=True)


class BudgetConfig(Section):
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
    payloads: Literal["pixels", "fixed"] = "pixels"
    """"pixels": an image of known size is charged by its provider's rule, all else payload_chars; "fixed": all that
    (spec 5). Where only payload_chars is set, "fixed" holds."""
    body_bytes: Annotated[int | None, Field(strict=True, ge=1)] = 20_000_000
    """Bytes of the messages in a request, JSON in UTF-8 with all payloads (issue 3, point 4): Bedrock and Gemini refuse
    above 20 MB (platform.claude.com/docs/en/api/overview, ai.google.dev/gemini-api/docs/image-understanding). None: no
    limit."""
    weights: Literal["uniform", "script"] = "uniform"
    """How characters count: "uniform" is one each, the report's rule; "script": by their script, so that plain English
    counts as it is and all else by the tokens it takes (spec 5; weights and source: text/weights.py)."""
    family: FamilyName = "max"
    """The tokenizer that "script" weighs for; "max": not known, none of them counts more (spec 5)."""
    calibrate: Switch = False
    """Whether measured prompt tokens correct chars_per_token, where it sets B (issue 5, point 6)."""
    count: SkipJsonSchema[Annotated[Callable[[str], int] | None, Field(exclude=True)]] = None
    """A counter of your own, from the JSON of a text, call or result to its tokens, called once for each; a token
    counts chars_per_token (spec 5). It is not saved: a session that is loaded needs it again."""

    @model_validator(mode="before")
    @classmethod
    def _charge_that_is_set(cls, given: Any) -> Any:
        """Let a charge that the user sets hold for images too."""
        if isinstance(given, Mapping) and "payload_chars" in given:
            return {"payloads": "fixed", **given}
        return given


class ToolEntry(Section):
    """What one tool's results may take; unset fields come from the next entry that matches, at last from ``*``."""

    limit: OptionalWindow = None
    """L, characters of a result with its marker, at least 100 (report 2.3.4, Table 1)."""
    line_limit: OptionalWindow = None
    """Characters of one line with its mark, at least 100 (Table 1: 1,280 for file_read). Set nowhere: no such limit."""
    html_limit: OptionalWindow = None
    """Characters of a result that is HTML, at least 100 (Table 1: 35,000 for web_scan). Set nowhere: `limit` holds."""
    spill: Annotated[bool | None, Field(strict=True)] = None
    """Whether a result is a preview of 170 characters where its call's input has `save_to_file` set (Table 1)."""
    json_mode: Literal["structure", "text"] | None = Field(default=None, alias="json")
    """How a JSON result is cut: in its "structure", so that it still parses, or as "text", head and tail (spec 4.1)."""
    per_turn_limit: OptionalWindow = None
    """Characters, at least 100, that the n results of one message share: each gets its n-th part (spec 4.1)."""


def as_entry(value: Any) -> Any:
    """Take a bare number as the limit of an entry."""
    return {"limit": value} if isinstance(value, int | float) else value


def as_redaction(value: Any) -> Any:
    """Take a bare text as the pattern of a redaction."""
    return {"pattern": value} if isinstance(value, str) else value


class CompactConfig(Section):
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
    recall_grace: Count = 10
    """Turns for which no pass cuts a text that the model recalled: two intervals, so that it outlives a pass more than
    other results do. An eviction takes it last (issue 6, point 2; the report has no recall)."""
    drop_reasoning: Switch = True
    """Whether a pass drops old signed reasoning whole, since it must not be shortened (spec 6)."""

    @field_validator("tags", "anchor_tags", mode="before")
    @classmethod
    def _ordered(cls, value: Any) -> Any:
        return sorted(value, key=str) if isinstance(value, set | frozenset) else value  # a dump needs one order


class EvictConfig(Section):
    """Stage 3, the eviction of the oldest messages (spec 4.3)."""

    keep_first: Count = 0
    """Messages at the start that eviction leaves alone (spec 4.3; the report has none)."""
    unit: Literal["message", "exchange"] = "message"
    """What goes at once: messages, rounded to whole exchanges (report), or only whole exchanges (spec 4.3)."""


class AnchorConfig(Section):
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
    """Where the block stands: on the user's side, as text of its own; in the newest tool result; nowhere (spec 4.4)."""
    lifetime: Literal["persistent", "ephemeral"] = "persistent"
    """Whether old blocks stay where they were sent (report) or only the newest view has one (spec 4.4)."""


class Redaction(Section):
    """What is not to be kept, and what stands there instead."""

    pattern: str
    """A regular expression of Python's `re`, looked for in each text before it is archived."""
    replacement: str = "*"
    """One character stands for each that it hides, so that ranges in reports stay true; a longer text stands as it is,
    and what follows it moves."""

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, pattern: str) -> str:
        try:
            re.compile(pattern)
        except re.error as error:
            raise ValueError(str(error)) from None
        return pattern


class ArchiveConfig(Section):
    """Where the originals of what is cut are kept (spec 11.1)."""

    url: Annotated[str | None, Field(strict=True, min_length=1)] = None
    """None or "memory": in the session and its dump. "sqlite": one file in the user's data folder, for all sessions. Or
    the path of a file, or a database URL of SQLAlchemy (needs the extra `archive`)."""
    sync: Literal["process", "power"] = "process"
    """What a commit outlives: the end of the process, however it comes; or that of the machine, too, at the price of
    waiting for the disk."""
    on_error: Literal["raise", "memory"] = "raise"
    """When originals cannot be made durable: ArchiveError, with the view (spec 11.1: no reference before its original);
    or "memory": the loop goes on, the report says so, and each turn tries again."""
    max_age_days: Annotated[float | None, Field(strict=True, gt=0)] = None
    """Days after the last use of a session when its originals are removed. None: never."""
    max_bytes: Annotated[int | None, Field(strict=True, ge=1_000_000)] = None
    """Bytes above which the originals of the sessions used longest ago are removed. None: no limit."""
    live_hours: Annotated[float, Field(strict=True, ge=1)] = 24.0
    """Hours, 1 or more, after its last use for which a session counts as live: nothing it refers to is ever removed for
    age or size."""
    redact: Annotated[tuple[Annotated[Redaction, BeforeValidator(as_redaction)], ...], Field(strict=False)] = ()
    """What is not to be kept: regular expressions, or tables of pattern and replacement."""

    @property
    def redactions(self) -> tuple[tuple[re.Pattern[str], str], ...]:
        """The compiled patterns, each with what replaces it."""
        return tuple([(re.compile(one.pattern), one.replacement) for one in self.redact])


class PriceEntry(Section):
    """What one model's cache demands and costs; unset fields stay as the table has them (``cache/prices.py``)."""

    like: str | None = None
    """The known model, as in "anthropic:claude-sonnet-4-5", whose rules hold for one that the table does not have."""
    read: Price = None
    """A cached token, as a multiple of the base price of an input token."""
    write: Annotated[dict[str, float] | None, Field(strict=True)] = None
    """A stored token, by time to live, likewise; an empty table: storing is free."""
    minimum: Annotated[int | None, Field(strict=True, ge=0)] = None
    """Tokens of the shortest prefix that is cached."""
    granularity: Annotated[int | None, Field(strict=True, ge=1)] = None
    """Tokens that are cached as one."""
    lifetime_seconds: Price = None
    """How long a prefix lives that is not read, where the provider's markers do not say it."""
    input_dollars: Price = None
    """Base price of a million input tokens."""
    output_dollars: Price = None
    """Price of a million output tokens."""


class CacheConfig(Section):
    """The provider's prompt cache (spec 10)."""

    model: str | None = None
    """The model, as in "anthropic:claude-sonnet-4-5", whose prices hold for usage that is recorded without one."""
    ttl: Literal["5m", "1h"] = "5m"
    """Time to live of the markers that `cache_control=True` places (Anthropic, Bedrock)."""
    max_markers: Annotated[int, Field(strict=True, ge=1, le=4)] = 4
    """Markers in a request, the caller's own counted, 4 at most (spec 6). 3 leaves one for a `cache_control` that is
    sent beside the messages, which a session does not see."""
    prices: dict[str, PriceEntry] = {}
    """By model: what is other than in the table, or a model that it does not have."""


class OpenAIChatConfig(Section):
    """Chat Completions, as servers speak it."""

    alternate: Switch = False
    """Whether neighbours of one role become one message, for a chat template that refuses two users in a row (spec 6).
    A session that is loaded with the other value reads its list anew."""


class TextConfig(Section):
    """The text protocol: when the tool definitions go out in full, and not as a line that reminds of them."""

    schema_every_turns: Interval = 10
    """Turns from one full text to the next, 1 or more; 1 shows it each turn (spec 4.5: every 10). None, in TOML
    "never": not by turns."""
    schema_every_chars: Positive = 27_000
    """Characters of new messages, as sent; when more have gone by, the full text comes back (spec 4.5: 27,000)."""


class FormatsConfig(Section):
    """What only one wire format knows (spec 6)."""

    openai_chat: OpenAIChatConfig = OpenAIChatConfig()
    """Chat Completions."""
    text: TextConfig = TextConfig()
    """The text protocol."""


SECTIONS: dict[str, type[BaseModel]] = {
    "budget": BudgetConfig,
    "tools": ToolEntry,
    "compact": CompactConfig,
    "evict": EvictConfig,
    "anchor": AnchorConfig,
    "archive": ArchiveConfig,
    "cache": CacheConfig,
    "formats": FormatsConfig,
}
NESTED = ("tools", "formats")
"""Sections whose keys stand one level further down: of each tool, of each format."""
