"""Configuration: defaults, lookups, files, overrides, and sentences for whatever is wrong."""

import copy
import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ga_context.config import (
    DEFAULT_TOOLS,
    GENERIC_AGENT,
    SECTIONS,
    AnchorConfig,
    BudgetConfig,
    ContextConfig,
    Origin,
    ToolEntry,
    ToolLimits,
    json_schema,
    layered,
    merge,
    parse_set,
)
from ga_context.errors import ConfigError

BUDGET_KEYS = (
    "window_tokens, chars_per_token, chars, evict_to, min_messages, reserve_tokens, on_exceeded, payload_chars, "
    "payloads, body_bytes, weights, family, calibrate, count"
)
SECTION_NAMES = "budget, tools, compact, evict, anchor, archive, cache, formats"
TOOL_KEYS = "limit, line_limit, html_limit, spill, json, per_turn_limit"


def unset(**fields: Any) -> dict[str, Any]:
    """Return a tool's entry with all its fields."""
    return {**dict.fromkeys(TOOL_KEYS.split(", ")), **fields}


THE_REPORT: dict[str, dict[str, Any]] = {
    "budget": {
        "window_tokens": 30_000,
        "chars_per_token": 3.0,
        "chars": None,
        "evict_to": 0.6,
        "min_messages": 5,
        "reserve_tokens": 0,
        "on_exceeded": "raise",
        "payload_chars": 4_800,
        "payloads": "pixels",
        "body_bytes": 20_000_000,
        "weights": "uniform",
        "family": "max",
        "calibrate": False,
    },
    "tools": {
        "code_run": unset(limit=10_000),
        "web_execute_js": unset(limit=8_000, spill=True),
        "web_scan": unset(limit=10_000, html_limit=35_000),
        "file_read": unset(limit=20_000, line_limit=1_280),
        "*": unset(limit=10_000, json="structure"),
    },
    "compact": {
        "interval": 5,
        "keep_recent": 10,
        "keep_recent_on_eviction": 4,
        "window_chars": 800,
        "tags": ["thinking", "think", "tool_use", "tool_call", "tool_result"],
        "anchor_tags": ["history", "key_info", "earlier_context"],
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
    "archive": {
        "url": None,
        "sync": "process",
        "on_error": "raise",
        "max_age_days": None,
        "max_bytes": None,
        "live_hours": 24.0,
        "redact": [],
    },
    "cache": {"model": None, "ttl": "5m", "max_markers": 4, "prices": {}},
    "formats": {
        "openai_chat": {"alternate": False},
        "text": {"schema_every_turns": 10, "schema_every_chars": 27_000},
    },
}


# Values


def test_the_defaults() -> None:
    """Every key has the default of its name."""
    assert ContextConfig().to_dict() == THE_REPORT


def test_generic_agent_is_the_report_with_b_set_directly() -> None:
    """B = 3 * 30,000, and neither system nor tools come off; an image counts 4,800 characters, whatever its size."""
    config = ContextConfig.generic_agent()
    own = {"chars": 90_000, "payloads": "fixed"}
    assert config.to_dict() == {**THE_REPORT, "budget": {**THE_REPORT["budget"], **own}}
    assert config.budget_chars(system_chars=4_000, tools_chars=6_000) == 90_000


def test_generic_agent_names_every_key() -> None:
    """A default that is new or moves cannot reach the report's numbers, since these name each key themselves."""
    for section, model in SECTIONS.items():
        if section != "tools":
            assert set(GENERIC_AGENT[section]) == set(model.model_fields) - {"chars"}
    for tool, entry in DEFAULT_TOOLS.items():
        assert set(entry) <= set(GENERIC_AGENT["tools"][tool])


def test_generic_agent_lays_overrides_over_field_by_field() -> None:
    """One key of a section changes; the others stay the report's."""
    config = ContextConfig.generic_agent(
        anchor={"placement": "off"}, budget=BudgetConfig(window_tokens=10_000), tools={"file_read": 500, "mcp__*": 700}
    )
    assert (config.anchor.placement, config.anchor.summaries) == ("off", 20)
    assert (config.budget.chars, config.budget.min_messages) == (30_000, 5)
    assert config.limits("file_read") == ToolLimits(limit=500, line_limit=1_280)
    assert config.limits("mcp__x") == ToolLimits(limit=700)
    assert GENERIC_AGENT["anchor"]["placement"] == "user_message"


@pytest.mark.parametrize(("chars", "left"), [(5_000, 5_000), (None, 89_000)])
def test_generic_agent_with_budget_chars_given(chars: int | None, left: int) -> None:
    """A given B counts, and None gives the deduction back."""
    assert ContextConfig.generic_agent(budget={"chars": chars}).budget_chars(system_chars=1_000) == left


@pytest.mark.parametrize(
    ("budget", "left"),
    [
        ({}, 89_300),
        ({"chars": 5_000}, 5_000),
        ({"reserve_tokens": 1_000}, 86_300),
        ({"window_tokens": 100}, -400),
        ({"window_tokens": 10_000, "chars_per_token": 2.3}, 22_300),
        ({"window_tokens": 1_000, "chars_per_token": 1.5555}, 855),
    ],
)
def test_budget_chars(budget: dict[str, Any], left: int) -> None:
    """B is alpha * (W - reserve) less system and tools, whole characters; a direct B loses nothing."""
    assert ContextConfig(budget=budget).budget_chars(system_chars=500, tools_chars=200) == left


def test_a_product_that_floats_just_miss_is_whole() -> None:
    """2.3 * 100 is 229.99999999999997 to a float."""
    assert ContextConfig(budget={"window_tokens": 100, "chars_per_token": 2.3}).budget_chars() == 230


# Tools


@pytest.mark.parametrize(
    ("tool", "limits"),
    [
        ("code_run", ToolLimits(limit=10_000)),
        ("web_execute_js", ToolLimits(limit=8_000, spill=True)),
        ("web_scan", ToolLimits(limit=10_000, html_limit=35_000)),
        ("file_read", ToolLimits(limit=20_000, line_limit=1_280)),
        ("bash", ToolLimits(limit=10_000)),
        ("", ToolLimits(limit=10_000)),
        (None, ToolLimits(limit=10_000)),
    ],
)
def test_limits_of_the_report(tool: str | None, limits: ToolLimits) -> None:
    """Table 1, with `*` for other tools and for results without a known call."""
    assert ContextConfig().limits(tool) == limits


@pytest.mark.parametrize(
    ("tool", "limit"),
    [
        ("mcp__git__log", 300),
        ("mcp__git__diff", 400),
        ("mcp__mail", 200),
        ("MCP__mail", 900),
        ("code_run", 10_000),
        ("other", 900),
        (None, 900),
    ],
)
def test_the_exact_name_wins_then_the_longest_glob(tool: str | None, limit: int) -> None:
    """Names match by case, and a default entry with the exact name stands before any glob."""
    tools = {"mcp__*": 200, "mcp__git__*": 300, "mcp__git__diff": 400, "code_*": 500, "*": 900}
    assert ContextConfig(tools=tools).limits(tool).limit == limit


def test_an_unset_field_comes_from_the_next_entry_that_matches() -> None:
    """Exact name, then glob, then `*`, for each field by itself."""
    tools = {"mcp__*": {"line_limit": 200}, "mcp__x": {"spill": True}, "*": {"limit": 700, "json": "text"}}
    assert ContextConfig(tools=tools).limits("mcp__x") == ToolLimits(limit=700, line_limit=200, spill=True, json="text")


@pytest.mark.parametrize("entry", [500, {"limit": 500}, ToolEntry(limit=500)], ids=["number", "table", "model"])
def test_an_entry_lies_over_the_default_field_by_field(entry: Any) -> None:
    """A bare number is `limit`; what is not given stays."""
    assert ContextConfig(tools={"file_read": entry}).limits("file_read") == ToolLimits(limit=500, line_limit=1_280)


def test_none_takes_a_default_back() -> None:
    """`line_limit` None of file_read: lines are not limited any more."""
    assert ContextConfig(tools={"file_read": {"line_limit": None}}).limits("file_read") == ToolLimits(limit=20_000)


def test_limits_are_looked_up_once() -> None:
    """The second lookup gives the same object."""
    config = ContextConfig()
    assert config.limits("code_run") is config.limits("code_run")


# Content


CONFIGS = [
    ContextConfig(),
    ContextConfig.generic_agent(),
    ContextConfig(
        compact={"interval": None, "tags": ["a", "b"]}, tools={"file_read": {"line_limit": None}, "x.*": 100}
    ),
]


@pytest.mark.parametrize("config", CONFIGS)
def test_a_configuration_comes_back_from_json(config: ContextConfig) -> None:
    """Dumped and read again it is equal, with an equal hash and the same limits."""
    again = ContextConfig(**json.loads(json.dumps(config.to_dict())))
    assert (again, hash(again)) == (config, hash(config))
    assert again.limits("file_read") == config.limits("file_read")


@pytest.mark.parametrize("remake", [copy.deepcopy, lambda config: pickle.loads(pickle.dumps(config))])
def test_a_configuration_travels(remake: Any) -> None:
    """Copies and pickles are equal, also after a lookup."""
    config = ContextConfig(tools={"x": 300})
    assert config.limits("x").limit == 300
    assert remake(config) == config
    assert remake(config).limits("x").limit == 300


def test_equality_is_by_content() -> None:
    """Order, spelling and lookups made do not count; values do."""
    one = ContextConfig(tools={"a": 100, "b": 200}, anchor={"summaries": 20})
    two = ContextConfig(tools={"b": {"limit": 200}, "a": ToolEntry(limit=100)}, anchor=AnchorConfig())
    one.limits("a")
    assert (one, hash(one)) == (two, hash(two))
    assert one != ContextConfig(tools={"a": 100, "b": 201})


def test_sections_are_taken_as_models_of_another_configuration() -> None:
    """What one configuration holds is good input for the next."""
    source = ContextConfig(tools={"file_read": {"line_limit": None}}, evict={"keep_first": 2})
    assert ContextConfig(**dict(source)) == source


def test_a_copy_is_checked_and_looks_limits_up_anew() -> None:
    """`model_copy` neither skips the checks nor keeps old limits."""
    config = ContextConfig()
    config.limits("x")
    assert config.model_copy(update={"tools": {"x": 300}}).limits("x").limit == 300
    with pytest.raises(ConfigError):
        config.model_copy(update={"tools": {"x": 3}})


def test_a_set_of_tags_gets_an_order() -> None:
    """The dump is the same on any hash seed."""
    assert ContextConfig(compact={"tags": {"b", "a", "c"}}).compact.tags == ("a", "b", "c")


@pytest.mark.parametrize("interval", [None, "never"])
def test_no_pass_by_turns(interval: Any) -> None:
    """TOML has no None, so the word stands for it."""
    assert ContextConfig(compact={"interval": interval}).compact.interval is None


# What is wrong


@pytest.mark.parametrize(
    ("sections", "sentence"),
    [
        ({"compact": {"interval": 0}}, "`compact.interval` must be 1 or more, or None for never; got 0"),
        (
            {"compact": {"interval": "often"}},
            "`compact.interval` must be a whole number, 1 or more, or None for never; got 'often'",
        ),
        ({"compact": {"window_chars": 99}}, "`compact.window_chars` must be 100 or more; got 99"),
        ({"compact": {"keep_recent": -1}}, "`compact.keep_recent` must be 0 or more; got -1"),
        ({"compact": {"keep_recent": True}}, "`compact.keep_recent` must be a whole number, 0 or more; got True"),
        ({"compact": {"drop_reasoning": 1}}, "`compact.drop_reasoning` must be true or false; got 1"),
        ({"compact": {"tags": "think"}}, "`compact.tags` must be a list of tag names, without brackets; got 'think'"),
        (
            {"compact": {"tags": ["<think>"]}},
            "`compact.tags` must be a list of tag names, without brackets; got '<think>'",
        ),
        (
            {"compact": {"tags": ["history"]}},
            "`compact.tags` and `compact.anchor_tags` must not share a name; got 'history' in both",
        ),
        ({"budget": {"window_tokens": 99}}, "`budget.window_tokens` must be 100 or more; got 99"),
        (
            {"budget": {"chars": 0}},
            "`budget.chars` must be 1 or more, or None for `chars_per_token` times `window_tokens`; got 0",
        ),
        ({"budget": {"chars_per_token": 0}}, "`budget.chars_per_token` must be a number above 0; got 0"),
        ({"budget": {"evict_to": 1.01}}, "`budget.evict_to` must be a number above 0 and at most 1; got 1.01"),
        (
            {"budget": {"evict_to": float("nan")}},
            "`budget.evict_to` must be a number above 0 and at most 1; got nan",
        ),
        ({"budget": {"on_exceeded": "warn"}}, '`budget.on_exceeded` must be "raise" or "report"; got \'warn\''),
        ({"budget": {"weights": "word"}}, '`budget.weights` must be "uniform" or "script"; got \'word\''),
        ({"budget": {"count": 3}}, "`budget.count` must be a function from a text to its tokens, or None; got 3"),
        ({"budget": None}, f"`budget` must be a table of keys ({BUDGET_KEYS}); got None"),
        ({"evict": AnchorConfig}, "`evict` must be a table of keys (keep_first, unit); got <class 'ga_context"),
        ({"anchor": {"max_chars": 99}}, "`anchor.max_chars` must be 100 or more; got 99"),
        ({"tools": 5}, "`tools` must be a table of tool names or globs; got 5"),
        ({"tools": {"x": 99}}, "`tools.x.limit` must be 100 or more, or None; got 99"),
        ({"tools": {"x": True}}, "`tools.x.limit` must be a whole number, 100 or more, or None; got True"),
        ({"tools": {"x": {"line_limit": 99}}}, "`tools.x.line_limit` must be 100 or more, or None; got 99"),
        ({"tools": {"x": {"html_limit": 99}}}, "`tools.x.html_limit` must be 100 or more, or None; got 99"),
        ({"tools": {"x": {"per_turn_limit": 99}}}, "`tools.x.per_turn_limit` must be 100 or more, or None; got 99"),
        ({"tools": {"x": {"json": "tree"}}}, '`tools.x.json` must be "structure" or "text", or None; got \'tree\''),
        ({"tools": {"x": {"spill": "yes"}}}, "`tools.x.spill` must be true or false, or None; got 'yes'"),
        (
            {"tools": {"x": "big"}},
            f"`tools.x` must be a number of characters or a table of keys ({TOOL_KEYS}); got 'big'",
        ),
        (
            {"tools": {"*": {"limit": None}}},
            "`tools.*.limit` must be 100 or more, since every other tool falls back on it; got None",
        ),
        ({"formats": 5}, "`formats` must be a table of keys (openai_chat, text); got 5"),
        (
            {"formats": {"openai_chat": {"alternate": 1}}},
            "`formats.openai_chat.alternate` must be true or false; got 1",
        ),
        ({"formats": {"text": 5}}, "`formats.text` must be a table of keys (schema_every_turns, schema_every_chars)"),
        (
            {"formats": {"text": {"schema_every_turns": 0}}},
            "`formats.text.schema_every_turns` must be 1 or more, or None for never; got 0",
        ),
        (
            {"formats": {"text": {"schema_every_chars": 0.5}}},
            "`formats.text.schema_every_chars` must be a whole number, 1 or more; got 0.5",
        ),
    ],
)
def test_a_wrong_value_names_key_and_allowed_values(sections: dict[str, Any], sentence: str) -> None:
    """The key path, what is allowed, what was given."""
    with pytest.raises(ConfigError) as caught:
        ContextConfig(**sections)
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize(
    ("sections", "sentence"),
    [
        ({"compact": {"intervall": 7}}, "`compact.intervall` is not a key; did you mean `compact.interval`?"),
        ({"budgets": {}}, "`budgets` is not a key; did you mean `budget`?"),
        ({"interval": 7}, "`interval` is not a key; did you mean `compact.interval`?"),
        ({"budget": {"keep_first": 1}}, "`budget.keep_first` is not a key; did you mean `evict.keep_first`?"),
        ({"tools": {"x": {"limitt": 500}}}, "`tools.x.limitt` is not a key; did you mean `tools.x.limit`?"),
        ({"tools": {"x": {"json_mode": "text"}}}, "`tools.x.json_mode` is not a key; did you mean `tools.x.json`?"),
        ({"budget": {"o200k": 1}}, f"`budget.o200k` is not a key; allowed here: {BUDGET_KEYS}"),
        ({"evict": {5: 1}}, "`evict.5` is not a key; allowed here: keep_first, unit"),
        ({"archives": {}}, "`archives` is not a key; did you mean `archive`?"),
        ({"paintings": {}}, f"`paintings` is not a key; allowed here: {SECTION_NAMES}"),
        ({"formats": {"texts": {}}}, "`formats.texts` is not a key; did you mean `formats.text`?"),
        (
            {"formats": {"text": {"schema_every_turn": 5}}},
            "`formats.text.schema_every_turn` is not a key; did you mean `formats.text.schema_every_turns`?",
        ),
        (
            {"formats": {"schema_every_chars": 5}},
            "`formats.schema_every_chars` is not a key; did you mean `formats.text.schema_every_chars`?",
        ),
    ],
)
def test_an_unknown_key_names_the_nearest_known_one(sections: dict[str, Any], sentence: str) -> None:
    """The nearest key beside it, else the same key elsewhere, else what is allowed."""
    with pytest.raises(ConfigError) as caught:
        ContextConfig(**sections)
    assert str(caught.value) == sentence


@pytest.mark.parametrize("key", ["budget.ratio", "compact.schedule", "compact.verify", "evict.order"])
def test_other_keys_are_refused(key: str) -> None:
    """Only what has an effect is accepted."""
    with pytest.raises(ConfigError, match=f"`{key}` is not a key"):
        ContextConfig(**parse_set(f"{key}=1"))


def test_all_problems_are_listed() -> None:
    """One run tells everything."""
    with pytest.raises(ConfigError) as caught:
        ContextConfig(compact={"interval": 0}, evict={"units": "message"})
    assert caught.value.problems == (
        "`compact.interval` must be 1 or more, or None for never; got 0",
        "`evict.units` is not a key; did you mean `evict.unit`?",
    )


@pytest.mark.parametrize(
    ("archive", "sentence"),
    [
        (
            {"url": 5},
            '`archive.url` must be "memory", "sqlite", the path of a file or a database URL, or None for memory; got 5',
        ),
        ({"sync": "disk"}, '`archive.sync` must be "process" or "power"; got \'disk\''),
        ({"max_bytes": 10}, "`archive.max_bytes` must be 1000000 or more, or None for no limit; got 10"),
        ({"max_age_days": 0}, "`archive.max_age_days` must be a number above 0, or None for never; got 0"),
        ({"live_hours": 0.5}, "`archive.live_hours` must be 1 or more; got 0.5"),
        (
            {"redact": ["("]},
            "`archive.redact` must be a list of regular expressions, or of tables with `pattern` and `replacement`; "
            "got '('",
        ),
        (
            {"redact": [{"patern": "x"}]},
            "`archive.redact` must be a list of regular expressions, or of tables with `pattern` and `replacement`; "
            "got {'patern': 'x'}",
        ),
    ],
)
def test_wrong_values_of_the_archive(archive: dict[str, Any], sentence: str) -> None:
    """What was given, what is allowed."""
    with pytest.raises(ConfigError) as caught:
        ContextConfig(archive=archive)
    assert caught.value.problems[0] == sentence


def test_redactions_come_from_toml_and_back() -> None:
    """As texts or tables; a configuration is equal to what it says of itself."""
    config = ContextConfig(**parse_set(r'archive.redact=["sk-\\w+", {"pattern": "Bob", "replacement": "x y"}]'))
    assert [(pattern.pattern, by) for pattern, by in config.archive.redactions] == [(r"sk-\w+", "*"), ("Bob", "x y")]
    assert ContextConfig(**config.to_dict()) == config
    assert hash(ContextConfig(**config.to_dict())) == hash(config)


def test_model_validate_takes_tables_and_raises_the_same_error() -> None:
    """pydantic's own entrance gives the same configuration and the same sentences."""
    assert ContextConfig.model_validate({"evict": {"keep_first": 1}}) == ContextConfig(evict={"keep_first": 1})
    with pytest.raises(ConfigError, match="got 0"):
        ContextConfig.model_validate({"compact": {"interval": 0}})
    with pytest.raises(ConfigError, match=r"a configuration is a table of sections .*; got 5"):
        ContextConfig.model_validate(5)


# Files


TOML = (
    '[budget]\nwindow_tokens = 20_000\n[compact]\ninterval = "never"\n[tools]\nbash = 500\n"mcp__*" = {limit = 700}\n'
)
FROM_TOML = ContextConfig(
    budget={"window_tokens": 20_000}, compact={"interval": None}, tools={"bash": 500, "mcp__*": {"limit": 700}}
)


@pytest.mark.parametrize("name", ["ga_context.toml", "other.toml"])
def test_load_a_file(tmp_path: Path, name: str) -> None:
    """A file of its own, under any name, with or without a byte order mark."""
    (tmp_path / name).write_text("\ufeff" + TOML, "utf-8")
    assert ContextConfig.load(tmp_path / name) == FROM_TOML


def test_load_pyproject(tmp_path: Path) -> None:
    """The table of the project file, found by file or by folder."""
    text = TOML.replace("[", "[tool.ga_context.", 3)
    (tmp_path / "pyproject.toml").write_text(f'[project]\nname = "x"\n{text}')
    assert ContextConfig.load(tmp_path / "pyproject.toml") == FROM_TOML
    assert ContextConfig.load(str(tmp_path)) == FROM_TOML


def test_load_prefers_the_file_of_its_own(tmp_path: Path) -> None:
    """In a folder with both, ga_context.toml counts."""
    (tmp_path / "ga_context.toml").write_text(TOML)
    (tmp_path / "pyproject.toml").write_text("[tool.ga_context.budget]\nwindow_tokens = 500\n")
    assert ContextConfig.load(tmp_path) == FROM_TOML


@pytest.mark.parametrize("content", [None, "[project]\nname = 'x'\n"], ids=["empty folder", "no table"])
def test_load_a_folder_without_settings(tmp_path: Path, content: str | None) -> None:
    """The folder is named, and what to write."""
    if content is not None:
        (tmp_path / "pyproject.toml").write_text(content)
    with pytest.raises(ConfigError) as caught:
        ContextConfig.load(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path} has no settings; write a ga_context.toml, or [tool.ga_context] in a pyproject.toml"
    )


def test_load_a_missing_file(tmp_path: Path) -> None:
    """The path is named."""
    with pytest.raises(ConfigError) as caught:
        ContextConfig.load(tmp_path / "no.toml")
    assert str(caught.value) == (
        f"{tmp_path / 'no.toml'} cannot be read (No such file or directory); give a TOML file or a folder with one"
    )


def test_load_bad_toml_names_file_and_line(tmp_path: Path) -> None:
    """The parser's place comes with the path."""
    (tmp_path / "ga_context.toml").write_text("[budget]\nwindow_tokens = = 5\n")
    with pytest.raises(ConfigError, match=r"ga_context\.toml is not valid TOML: .*line 2"):
        ContextConfig.load(tmp_path)


@pytest.mark.parametrize("content", [b"a = '\xff'", b"\x00"])
def test_load_what_is_no_text(tmp_path: Path, content: bytes) -> None:
    """Bytes that are no text are bad TOML, not a crash."""
    (tmp_path / "ga_context.toml").write_bytes(content)
    with pytest.raises(ConfigError, match="is not valid TOML"):
        ContextConfig.load(tmp_path)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("compact.interval = 0", "`compact.interval` must be 1 or more, or None for never; got 0"),
        (
            "tool.ga_context = 5",
            f"a configuration is a table of sections ({SECTION_NAMES}); got 5",
        ),
    ],
)
def test_load_wrong_values_names_the_file(tmp_path: Path, content: str, sentence: str) -> None:
    """The sentence stands behind the path."""
    (tmp_path / "ga_context.toml").write_text(content)
    with pytest.raises(ConfigError) as caught:
        ContextConfig.load(tmp_path)
    assert str(caught.value) == f"{tmp_path / 'ga_context.toml'}: {sentence}"


# Overrides and origins


@pytest.mark.parametrize(
    ("text", "tables"),
    [
        ("compact.interval=7", {"compact": {"interval": 7}}),
        ("compact.interval=never", {"compact": {"interval": "never"}}),
        ("budget.chars=null", {"budget": {"chars": None}}),
        ("budget.window_tokens = 20_000", {"budget": {"window_tokens": 20_000}}),
        ("budget.evict_to=0.5", {"budget": {"evict_to": 0.5}}),
        ("compact.drop_reasoning=false", {"compact": {"drop_reasoning": False}}),
        ("compact.tags=['a', \"b\"]", {"compact": {"tags": ["a", "b"]}}),
        ("anchor.placement=off", {"anchor": {"placement": "off"}}),
        ('anchor.placement="off"', {"anchor": {"placement": "off"}}),
        ("anchor.placement=a=b", {"anchor": {"placement": "a=b"}}),
        ("anchor.placement=1\nx = 2", {"anchor": {"placement": "1\nx = 2"}}),
        ("formats.text.schema_every_turns=5", {"formats": {"text": {"schema_every_turns": 5}}}),
        ("formats.openai_chat.alternate=true", {"formats": {"openai_chat": {"alternate": True}}}),
        ("tools.bash=500", {"tools": {"bash": 500}}),
        ("tools.mcp__*.limit=500", {"tools": {"mcp__*": {"limit": 500}}}),
        ("tools.web.run.json=text", {"tools": {"web.run": {"json": "text"}}}),
        ("tools.web.run=500", {"tools": {"web.run": 500}}),
        ("tools.limit=500", {"tools": {"limit": 500}}),
    ],
)
def test_parse_set(text: str, tables: dict[str, Any]) -> None:
    """The value is JSON, else TOML, else text; a tool's name may hold dots and stars."""
    assert parse_set(text) == tables


@pytest.mark.parametrize("text", ["compact.interval", "compact=5", "=5", "compact.=5", ""])
def test_parse_set_of_something_else(text: str) -> None:
    """The form is shown with an example."""
    with pytest.raises(ConfigError) as caught:
        parse_set(text)
    assert str(caught.value) == (f"a setting is written `section.key=value`, as in `compact.interval=7`; got {text!r}")


def test_parse_set_takes_no_misspelt_field_for_a_name() -> None:
    """A name with dots that ends almost like a field is a slip."""
    with pytest.raises(ConfigError) as caught:
        parse_set("tools.mcp__*.limitt=500")
    assert str(caught.value) == "`tools.mcp__*.limitt` is not a key; did you mean `tools.mcp__*.limit`?"


def test_merge_leaves_both_tables_alone() -> None:
    """Tables within tables are merged in new ones."""
    base, over = {"a": {"x": 1, "y": 2}, "b": 3}, {"a": {"y": 4}, "b": {"z": 5}}
    assert merge(base, over) == {"a": {"x": 1, "y": 4}, "b": {"z": 5}}
    assert (base, over) == ({"a": {"x": 1, "y": 2}, "b": 3}, {"a": {"y": 4}, "b": {"z": 5}})


def test_layers_say_what_set_each_key(tmp_path: Path) -> None:
    """Default, file and command line, the last one counts; an equal value is still set by its layer."""
    (tmp_path / "ga_context.toml").write_text("[compact]\ninterval = 7\nkeep_recent = 10\n[tools]\nbash = 500\n")
    config, rows = layered(
        tmp_path, merge(parse_set("compact.interval=9"), parse_set("tools.file_read.line_limit=null"))
    )
    assert config == ContextConfig(compact={"interval": 9}, tools={"bash": 500, "file_read": {"line_limit": None}})
    assert [row for row in rows if row.origin != "default"] == [
        Origin("tools.file_read.line_limit", None, "--set"),
        Origin("tools.bash.limit", 500, "file ga_context.toml"),
        Origin("compact.interval", 9, "--set"),
        Origin("compact.keep_recent", 10, "file ga_context.toml"),
    ]


def test_every_key_has_a_row() -> None:
    """All keys of all sections, and what is set of each tool."""
    config, rows = layered()
    assert config == ContextConfig()
    assert len(rows) == 13 + 9 + 8 + 2 + 6 + 7 + 4 + 3
    assert rows[0] == Origin("budget.window_tokens", 30_000, "default")
    assert Origin("budget.chars", None, "default") in rows
    assert [row.key for row in rows if row.key.startswith("tools.")] == [
        "tools.code_run.limit",
        "tools.web_execute_js.limit",
        "tools.web_execute_js.spill",
        "tools.web_scan.limit",
        "tools.web_scan.html_limit",
        "tools.file_read.limit",
        "tools.file_read.line_limit",
        "tools.*.limit",
        "tools.*.json",
    ]


def test_a_charge_that_is_set_brings_its_rule() -> None:
    """Who sets `payload_chars` alone has set what images count, too."""
    _, rows = layered(overrides={"budget": {"payload_chars": 100}})
    assert Origin("budget.payloads", "fixed", "--set") in rows
    _, rows = layered(overrides={"budget": {"payload_chars": 100}}, preset={"budget": {"payloads": "pixels"}})
    assert Origin("budget.payloads", "pixels", "preset") in rows
    _, rows = layered(overrides={"budget": {"payload_chars": 100}}, generic_agent=True)
    assert Origin("budget.payloads", "fixed", "generic_agent") in rows


def test_layers_over_the_report() -> None:
    """The base is named, and overrides lie over it."""
    config, rows = layered(overrides={"anchor": {"placement": "off"}}, generic_agent=True)
    assert config == ContextConfig.generic_agent(anchor={"placement": "off"})
    assert Origin("budget.chars", 90_000, "generic_agent") in rows
    assert {row.key for row in rows if row.origin == "--set"} == {"anchor.placement"}


def test_layers_over_a_preset() -> None:
    """It lies over the defaults and below all else; the report's numbers know nothing of it."""
    preset = {"budget": {"window_tokens": 10_000, "evict_to": 0.5}}
    config, rows = layered(overrides={"budget": {"evict_to": 0.7}}, preset=preset)
    assert config == ContextConfig(budget={"window_tokens": 10_000, "evict_to": 0.7})
    assert Origin("budget.window_tokens", 10_000, "preset") in rows
    assert Origin("budget.evict_to", 0.7, "--set") in rows
    assert layered(preset=preset, generic_agent=True)[0] == ContextConfig.generic_agent()


def test_layers_blame_the_file(tmp_path: Path) -> None:
    """What is wrong in the file is said with its name."""
    (tmp_path / "my.toml").write_text("compact.interval = 0")
    with pytest.raises(ConfigError, match=r"my\.toml: `compact\.interval` must be"):
        layered(tmp_path / "my.toml", parse_set("compact.interval=7"))


# Schema and import


def test_every_key_is_described_in_the_schema() -> None:
    """Editors show the unit and source of each key, and refuse unknown ones."""
    schema = json_schema()
    models = [schema, *schema["$defs"].values()]
    assert [model["title"] for model in models] == [
        "ContextConfig",
        "AnchorConfig",
        "ArchiveConfig",
        "BudgetConfig",
        "CacheConfig",
        "CompactConfig",
        "EvictConfig",
        "FormatsConfig",
        "OpenAIChatConfig",
        "PriceEntry",
        "Redaction",
        "TextConfig",
        "ToolEntry",
    ]
    for model in models:
        assert model["additionalProperties"] is False
        assert all(key["description"] for key in model["properties"].values())


def test_the_schema_knows_what_toml_can_say() -> None:
    """A bare number for a tool, the word for no interval, bounds, choices."""
    schema = json_schema()
    entry = {"anyOf": [{"minimum": 100, "type": "integer"}, {"$ref": "#/$defs/ToolEntry"}]}
    assert schema["properties"]["tools"]["additionalProperties"] == entry
    compact = schema["$defs"]["CompactConfig"]["properties"]
    assert compact["interval"]["anyOf"] == [
        {"minimum": 1, "type": "integer"},
        {"const": "never", "type": "string"},
        {"type": "null"},
    ]
    assert compact["window_chars"]["minimum"] == 100
    assert schema["$defs"]["ToolEntry"]["properties"]["json"]["anyOf"][0]["enum"] == ["structure", "text"]
    assert json.loads(json.dumps(schema)) == json.loads(json.dumps(json_schema()))


def test_the_import_is_light() -> None:
    """Nothing optional comes along."""
    code = "import sys, ga_context.config; print(sorted({'bs4', 'lxml', 'click', 'rich'} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"
