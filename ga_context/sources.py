"""Where settings come from: TOML files, ``--set``, one table over another; and a sentence for whatever is wrong."""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from ga_context.errors import ConfigError
from ga_context.sections import NESTED, SECTIONS, FormatsConfig, ToolEntry, as_entry

# How an error message puts None, where it means more than "not set".
NONE_MEANS = {
    "interval": "None for never",
    "schema_every_turns": "None for never",
    "chars": "None for `chars_per_token` times `window_tokens`",
    "body_bytes": "None for no limit",
    "url": "None for memory",
    "max_age_days": "None for never",
    "max_bytes": "None for no limit",
}

# What a key takes that its type does not say.
TAKES = {
    "url": '"memory", "sqlite", the path of a file or a database URL',
    "redact": "a list of regular expressions, or of tables with `pattern` and `replacement`",
}


def parse_set(text: str) -> dict[str, Any]:
    """Read ``compact.interval=7`` as nested tables; the value is JSON, else a TOML value, else the text itself."""
    path, equals, value = text.partition("=")
    section, dot, key = path.strip().partition(".")
    if not (equals and dot and key):
        raise ConfigError(f"a setting is written `section.key=value`, as in `compact.interval=7`; got {shown(text)}")
    if section != "tools":
        table = _literal(value.strip())
        for name in reversed(key.split(".")):
            table = {name: table}
        return {section: table}
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
    """Return sections as plain tables, to be merged: models as what was set in them, numbers as limits."""
    plain = {name: _table(section) for name, section in sections.items()}
    tools = plain.get("tools")
    if isinstance(tools, Mapping):
        plain["tools"] = {str(name): _table(as_entry(entry)) for name, entry in tools.items()}
    return plain


def _table(section: Any) -> Any:
    if isinstance(section, BaseModel):
        return section.model_dump(exclude_unset=True)
    return {key: _table(value) for key, value in section.items()} if isinstance(section, Mapping) else section


def flat(sections: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield each dotted key with its value."""
    for section, keys in sections.items():
        for key, value in keys.items():
            if section in NESTED:
                yield from ((f"{section}.{key}.{field}", one) for field, one in value.items())
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


# What is wrong, in a sentence that names the fix


def _keys(model: type[BaseModel]) -> dict[str, FieldInfo]:
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _keys_in(*parents: str) -> dict[str, FieldInfo]:
    """Return the keys of a section, or of a table in it."""
    if parents[0] == "formats" and len(parents) > 1:
        return _keys(type(getattr(FormatsConfig(), parents[1])))
    return _keys(SECTIONS[parents[0]])


def sentence(kind: str, loc: tuple[int | str, ...], given: Any) -> str:
    """Say what is wrong at a place, what is allowed there, and the nearest known key."""
    depth = 3 if loc[0] in NESTED else 2  # tools.<name>.<key>, or <section>.<key>
    path = ".".join(map(str, loc[:depth]))
    if kind in ("extra_forbidden", "invalid_key") and len(loc) <= depth:
        return f"`{path}` is not a key; {_nearest(loc)}"
    keys = _keys_in(*map(str, loc[: depth - 1]))
    if len(loc) >= depth:
        key = str(loc[depth - 1])
        return f"`{path}` must be {_allowed(key, keys[key], kind)}; got {shown(given)}"
    if loc == ("tools",):
        return f"`tools` must be a table of tool names or globs; got {shown(given)}"
    number = "a number of characters or " if loc[0] == "tools" else ""
    return f"`{path}` must be {number}a table of keys ({', '.join(keys)}); got {shown(given)}"


def _nearest(loc: tuple[int | str, ...]) -> str:
    *parents, leaf = map(str, loc)
    siblings = list(_keys_in(*parents) if parents else SECTIONS)
    if near := difflib.get_close_matches(leaf, siblings, 1):
        return f"did you mean `{'.'.join([*parents, near[0]])}`?"
    homes = [(name,) for name in SECTIONS if name not in NESTED] + [("formats", name) for name in _keys_in("formats")]
    elsewhere = {key: ".".join([*home, key]) for home in homes for key in _keys_in(*home)}
    if near := difflib.get_close_matches(leaf, elsewhere, 1, 0.8):
        return f"did you mean `{elsewhere[near[0]]}`?"
    return f"allowed here: {', '.join(siblings)}"


def _allowed(key: str, field: FieldInfo, kind: str) -> str:
    options = get_args(field.annotation)
    literal = [value for option in (field.annotation, *options) for value in get_args(option) if isinstance(value, str)]
    bounds = {
        name: getattr(rule, name) for rule in field.metadata for name in ("ge", "gt", "le") if hasattr(rule, name)
    }
    if key in TAKES:
        phrase = TAKES[key]
    elif kind == "callable_type":
        phrase = "a function from a text to its tokens"
    elif literal:
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


def shown(value: Any) -> str:
    """Return a value as one would write it, shortened."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
