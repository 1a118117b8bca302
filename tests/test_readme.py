"""The README: every block in it is run, and every table and list of files in it is compared with the code.

In order of their place, the blocks of a section share a namespace and a folder. The SDKs are stood in for by plain
objects with the same call shapes, which judge what they are sent, read it and answer.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import io
import json
import re
import shlex
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner
from oracle import faults

import ga_context
from ga_context import ContextConfig, ContextSession, size
from ga_context.cli import main
from ga_context.sources import flat

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "ga_context"
README = (ROOT / "README.md").read_text("utf-8")
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))

TEXT_LOOP = "The loop with a text protocol"
NOTES = "done: the parser\nopen: the report\n"
PROVIDER_CHARS = 10_000
"""What the stand-in for a provider takes; the longest view in the README is larger."""
UNSTABLE = ("demo", "replay")
"""Commands that run programs or measure time: their words are compared, their numbers are not."""
NOT_LISTED = {"__init__.py", "__pycache__", "py.typed"}


@dataclass(frozen=True)
class Block:
    """A fenced block."""

    section: str
    line: int
    """Of its fence, counted from 1."""
    kind: str
    """What stands behind the fence."""
    text: str


def blocks() -> list[Block]:
    """Read the fenced blocks with their sections."""
    found: list[Block] = []
    section, start, kind, body = "", 0, None, []
    for number, line in enumerate(README.splitlines(), 1):
        if kind is None and line.startswith("## "):
            section = line.removeprefix("## ")
        if not line.startswith("```"):
            body.append(line)
        elif kind is None:
            start, kind, body = number, line.removeprefix("```"), []
        else:
            found.append(Block(section, start, kind, "\n".join([*body, ""])))
            kind = None
    assert kind is None, f"README.md, line {start}: this block has no end"
    return found


SECTIONS = list(dict.fromkeys(block.section for block in blocks()))


# --- stand-ins for the SDKs ---


class Shape:
    """An object of an SDK: attributes to read, ``to_dict`` for the plain data that the provider sent."""

    def __init__(self, data: dict[str, Any]) -> None:
        self._data = data
        for key, value in data.items():
            setattr(self, key, value if key == "input" else shaped(value))

    def to_dict(self) -> dict[str, Any]:
        return copy.deepcopy(self._data)


def shaped(value: Any) -> Any:
    if isinstance(value, list):
        return [shaped(one) for one in value]
    return Shape(value) if isinstance(value, dict) else value


class BadRequestError(Exception):
    """What an SDK raises for status 400."""


def judge(messages: list[dict[str, Any]], format: str) -> None:
    """Refuse what a provider refuses."""
    assert faults(messages, format) == []
    if size(messages) > PROVIDER_CHARS:
        raise BadRequestError(f"prompt is too long: {size(messages)} > {PROVIDER_CHARS} maximum")


class Anthropic:
    """`client.messages.create`: asks for the notes when it may, then says what it read."""

    def __init__(self) -> None:
        self.messages = self

    def count_tokens(self, *, model: str, messages: list[Any]) -> Shape:
        return Shape({"input_tokens": sum(len(message["content"]) for message in messages)})

    def create(self, *, model: str, max_tokens: int, messages: list[Any], tools: Any = ()) -> Shape:
        judge(messages, "anthropic")
        items = [item for message in messages if isinstance(message["content"], list) for item in message["content"]]
        results = [item["content"] for item in items if item["type"] == "tool_result"]
        content: list[dict[str, Any]] = [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}]
        if tools and not results:
            arguments = {"path": "notes.txt"}
            content.append({"type": "tool_use", "id": "toolu_1", "name": tools[0]["name"], "input": arguments})
        else:
            content.append({"type": "text", "text": f"I read: {results[-1]}"})
        usage = {"input_tokens": 10, "output_tokens": 3, "cache_read_input_tokens": 5}
        return Shape({"role": "assistant", "content": content, "usage": usage})


class Encoding:
    """An encoding of tiktoken's, which takes one token for a byte."""

    def encode_ordinary(self, text: str) -> list[int]:
        return list(text.encode())


class OpenAI:
    """`client.chat.completions.create`, with the same answers."""

    def __init__(self) -> None:
        self.chat = self
        self.completions = self

    def create(self, *, model: str, messages: list[Any], tools: Any = ()) -> Shape:
        judge(messages, "openai-chat")
        results = [message["content"] for message in messages if message["role"] == "tool"]
        said = f"I read: {results[-1]}" if results else None
        message: dict[str, Any] = {"role": "assistant", "content": said, "refusal": None, "annotations": []}
        calls = []
        if not results:
            function = {"name": tools[0]["function"]["name"], "arguments": '{"path": "notes.txt"}'}
            calls = message["tool_calls"] = [{"id": "call_1", "type": "function", "function": function}]
        reply = Shape({"choices": [{"message": message}], "usage": {"prompt_tokens": 10, "completion_tokens": 3}})
        reply.choices[0].message.tool_calls = shaped(calls) or None
        return reply


@pytest.fixture
def sdks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in for the modules `anthropic`, `openai` and `tiktoken`."""
    for name, client in (("anthropic", Anthropic), ("openai", OpenAI)):
        module = ModuleType(name)
        module.__dict__.update({client.__name__: client, "BadRequestError": BadRequestError})
        monkeypatch.setitem(sys.modules, name, module)
    tiktoken = ModuleType("tiktoken")
    tiktoken.__dict__["get_encoding"] = lambda name: Encoding()
    monkeypatch.setitem(sys.modules, "tiktoken", tiktoken)


# --- running a section ---


@dataclass
class Run:
    """A section being read: its names so far, and what the last block printed."""

    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "readme"})
    printed: str = ""
    stable: bool = True
    """What was printed is the same everywhere."""
    unshown: bool = False
    """It was printed by Python, and nothing shows it yet."""

    def block(self, block: Block) -> None:
        """Run a block; one of a kind that nothing here runs is an error."""
        kinds = {
            "python": self.python,
            "bash": self.bash,
            "toml": self.toml,
            "json": self.json,
            "text output": self.output,
            "text picture": self.picture,
            "text tree": self.tree,
        }
        assert block.kind in kinds, f"README.md, line {block.line}: no test runs a block of {block.kind or 'no kind'}"
        assert not self.unshown or block.kind == "text output", f"README.md, before line {block.line}: shows no output"
        kinds[block.kind](block)

    def python(self, block: Block) -> None:
        code = compile("\n" * block.line + block.text, "README.md", "exec")
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(code, self.names)
        self.printed, self.stable, self.unshown = out.getvalue(), True, bool(out.getvalue())

    def bash(self, block: Block) -> None:
        self.printed = ""
        for line in block.text.splitlines():
            for command in line.split("&&"):
                self._command(shlex.split(command))

    def _command(self, words: list[str]) -> None:
        program, *arguments = words
        if program == "pip":
            self._pip(arguments)
        elif program == "pytest":
            assert {"pytest", "pytest-xdist", "hypothesis"} <= {name(one) for one in extras()["dev"]}
        else:
            assert program in PYPROJECT["project"]["scripts"], f"no program {program}"
            if arguments == ["demo"]:  # it is played in full where its output is shown
                arguments.append("--turns=3")
            result = CliRunner().invoke(main, arguments, env={"COLUMNS": "100"})
            assert result.exit_code == 0, result.output
            self.printed += result.stdout
            self.stable = arguments[0] not in UNSTABLE

    def _pip(self, arguments: list[str]) -> None:
        assert arguments[0] == "install"
        target = re.fullmatch(r"\.\[(\w+)\]", arguments[-1])
        assert target is not None, f"`pip {shlex.join(arguments)}` does not install this folder"
        assert target[1] in extras()
        assert set(arguments[1:-1]) <= {"-e"}

    def toml(self, block: Block) -> None:
        """Write the file that the first line names, and load it."""
        path = Path(block.text.splitlines()[0].removeprefix("# "))
        assert path.suffix == ".toml"
        path.write_text(block.text, "utf-8")
        assert ContextConfig.load(path) != ContextConfig()

    def json(self, block: Block) -> None:
        self.names["parsed"] = json.loads(block.text)

    def output(self, block: Block) -> None:
        """Compare with what was printed; a line of three dots stands for any lines."""
        self.unshown = False
        shown, printed = self._lines(block.text), self._lines(self.printed)
        if "..." not in shown:
            assert shown == printed
            return
        at = 0
        for passage in split(shown, "..."):
            places = [i for i in range(at, len(printed)) if printed[i : i + len(passage)] == passage]
            assert places, "not in the output:\n" + "\n".join(passage) + "\n\nthe output:\n" + self.printed
            at = places[0] + len(passage)

    def _lines(self, text: str) -> list[str]:
        lines = [line.rstrip() for line in text.rstrip().splitlines()]
        return lines if self.stable else [masked(line) for line in lines]

    def picture(self, block: Block) -> None:
        """Find the files that the picture names; no stage is missing in it."""
        folders = [PACKAGE, PACKAGE / "stages"]
        named = re.findall(r"[a-z_]+(?:\.py\b|/)", block.text)
        assert [one for one in named if not any([(folder / one).exists() for folder in folders])] == []
        assert set(entries(PACKAGE / "stages")) <= set(named)

    def tree(self, block: Block) -> None:
        """Compare with the folder; each file has a word on what it is, and imports only what stands below it."""
        first, *lines = block.text.splitlines()
        listed = [line.split()[0] for line in lines]
        assert (first, sorted(listed)) == ("ga_context/", entries(PACKAGE))
        assert [line for line in lines if len(line.split()) < 3] == []
        places = {one.removesuffix("/").removesuffix(".py"): place for place, one in enumerate(listed)}
        upward = [
            f"{one} imports {other}"
            for place, one in enumerate(listed)
            for other in imported(PACKAGE / one)
            if places.get(other, place) < place
        ]
        assert upward == []


def extras() -> dict[str, list[str]]:
    return dict(PYPROJECT["project"]["optional-dependencies"])


def name(requirement: str) -> str:
    return re.split(r"[\[<>=~! ]", requirement)[0]


def entries(folder: Path) -> list[str]:
    return sorted([p.name + "/" * p.is_dir() for p in folder.iterdir() if p.name not in NOT_LISTED])


def imported(path: Path) -> set[str]:
    """Return the parts of the package that a file, or a folder of files, imports."""
    files = path.rglob("*.py") if path.is_dir() else [path]
    nodes = [node for file in files for node in ast.walk(ast.parse(file.read_text("utf-8")))]
    names = [
        f"{node.module}.{alias.name}" for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names
    ]
    return {one.split(".")[1] for one in names if one.startswith("ga_context.")}


def masked(line: str) -> str:
    """Return a line with its numbers and references as ``#``, and its spaces and rules as one each."""
    line = re.sub(r"\b[0-9a-f]{16}\b|\d[\d,.]*\d|\d", "#", line)
    line = re.sub(r"( -#)+", " -#", " ".join(line.split()))  # which stages had work in a turn
    return re.sub(r"─+", "─", line)


def split(lines: list[str], at: str) -> Iterator[list[str]]:
    passage: list[str] = []
    for line in [*lines, at]:
        if line != at:
            passage.append(line)
        elif passage:
            yield passage
            passage = []


def read_section(section: str) -> Run:
    """Run the blocks of a section in order."""
    run = Run()
    for block in blocks():
        if block.section == section:
            run.block(block)
    assert not run.unshown, "the last output is not shown"
    return run


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in a folder that holds nothing but the notes that the loops read."""
    monkeypatch.chdir(tmp_path)
    Path("notes.txt").write_text(NOTES, "utf-8")


@pytest.mark.parametrize("section", SECTIONS)
def test_every_block_of_the_section_runs(section: str, sdks: None) -> None:
    read_section(section)


def test_every_block_belongs_to_a_kind_that_is_run() -> None:
    with pytest.raises(AssertionError, match="line 7: no test runs a block of ruby"):
        Run().block(Block("", 7, "ruby", ""))


def test_an_output_that_nothing_shows_is_an_error() -> None:
    run = Run()
    run.block(Block("", 1, "python", "print(1)\n"))
    with pytest.raises(AssertionError, match="before line 5: shows no output"):
        run.block(Block("", 5, "python", "print(2)\n"))


@pytest.mark.parametrize(("shown", "fits"), [("a\n...\nd", True), ("...\nb\nc\n...", True), ("a\n...\nc\nb", False)])
def test_dots_stand_for_any_lines_but_the_rest_is_compared(shown: str, fits: bool) -> None:
    run = Run(printed="a\nb\nc\nd\n")
    with contextlib.nullcontext() if fits else pytest.raises(AssertionError):
        run.output(Block("", 1, "text output", shown))


@pytest.mark.parametrize("format", ["Anthropic", "OpenAI"])
def test_the_loop_gets_an_answer_from_what_the_tool_read(format: str, sdks: None) -> None:
    names = read_section(f"The loop with {format}").names
    assert json.dumps("I read: " + NOTES) in json.dumps(names["messages"][-1])
    assert names["session"].report.turn == 2


@pytest.mark.parametrize("format", ["Anthropic", "OpenAI"])
def test_the_loop_is_ten_lines_or_so(format: str) -> None:
    loop = [block for block in blocks() if block.section == f"The loop with {format}"][-1].text
    assert len(loop.partition("while True:\n")[2].splitlines()) <= 10


def test_the_text_loop_is_a_whole_agent_in_sixty_lines() -> None:
    run = read_section(TEXT_LOOP)
    (loop,) = [block for block in blocks() if block.section == TEXT_LOOP and block.kind == "python"]
    assert len(loop.text.splitlines()) <= 60
    assert run.names["messages"][-3]["content"].startswith("<tool_use>")
    assert run.names["messages"][-2]["content"] == f"<tool_result>{NOTES}</tool_result>"
    assert faults(run.names["request"]["messages"], "text") == []


def test_the_tool_of_the_readme_writes_key_info(sdks: None) -> None:
    schema = read_section("Reading the report").names["parsed"]
    assert set(schema["input_schema"]["required"]) <= set(schema["input_schema"]["properties"])
    arguments = {key: f"a {key}" for key in schema["input_schema"]["properties"]}
    call = {"type": "tool_use", "id": "c1", "name": schema["name"], "input": arguments}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "noted"}
    messages = [{"role": "user", "content": "go"}, {"role": "assistant", "content": [call]}]
    view = ContextSession().prepare([*messages, {"role": "user", "content": [result]}])
    assert view[-1]["content"][-1]["text"].endswith("<key_info>\na key_info\nrelated_sop: a related_sop\n</key_info>")


# --- tables and lists ---


def rows(first: str) -> list[list[str]]:
    """Return the cells of the table whose first header is this."""
    lines = README.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(f"| {first} |"))
    table = lines[start + 2 :]
    end = next((i for i, line in enumerate(table) if not line.startswith("|")), len(table))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[:end]]


def value(cell: str) -> Any:
    text = cell.strip("`")
    return None if text in ("none", "") else tomllib.loads(f"value = {text}")["value"]


def test_the_table_has_every_key_with_its_default() -> None:
    sections = {**ContextConfig().to_dict(), "tools": {"*": ContextConfig().to_dict()["tools"]["*"]}}
    assert [(key.strip("`"), value(default)) for key, default, _, _ in rows("key")] == list(flat(sections))


def test_every_key_is_explained() -> None:
    assert [row for row in rows("key") if len(row) != 4 or not row[3]] == []


def test_the_table_of_tools_has_their_defaults() -> None:
    columns = ("limit", "line_limit", "html_limit", "spill")
    table = {tool.strip("`"): dict(zip(columns, map(value, cells), strict=True)) for tool, *cells in rows("tool")}
    tools = ContextConfig().to_dict()["tools"]
    assert table == {tool: {column: entry[column] for column in columns} for tool, entry in tools.items()}


def test_the_table_of_the_report_has_its_fields() -> None:
    named = re.findall(r"`(\w+)`", " ".join(row[0] for row in rows("field")))
    session = ContextSession()
    session.prepare([{"role": "user", "content": "go"}])
    assert session.report is not None
    assert sorted(named) == sorted(session.report.to_dict())


def test_the_table_of_errors_has_them_with_their_second_parents() -> None:
    for error, parent, _ in rows("error"):
        second = getattr(ga_context, error.strip("`")).__mro__[2]
        assert second.__name__ == parent.strip("`")
    errors = {name for name in ga_context.__all__ if isinstance(getattr(ga_context, name), type)}
    named = {row[0].strip("`") for row in rows("error")}
    assert named == {e for e in errors if issubclass(getattr(ga_context, e), Exception)} - {"GAContextError"}


def test_ten_promises() -> None:
    section = README.partition("## Ten promises")[2].partition("\n## ")[0]
    assert re.findall(r"^(\d+)\. ", section, re.MULTILINE) == [str(n) for n in range(1, 11)]


def test_the_paragraph_in_chinese_gives_the_two_commands() -> None:
    paragraph = next(line for line in README.splitlines() if line.startswith("**中文"))
    commands = [block.text.strip() for block in blocks() if block.kind == "bash"][:2]
    assert re.findall(r"`([^`]+)`", paragraph)[1:] == commands


def test_the_changelog_begins_with_this_version() -> None:
    changelog = README.partition("## Changelog")[2]
    assert re.findall(r"^### (.+)$", changelog, re.MULTILINE)[0] == ga_context.__version__


def test_what_the_readme_says_of_generic_agent_holds() -> None:
    report, defaults = ContextConfig.generic_agent().to_dict(), ContextConfig().to_dict()
    assert report["budget"].pop("chars") == ContextConfig().budget_chars()
    assert defaults["budget"].pop("chars") is None
    assert (report["budget"].pop("payloads"), defaults["budget"].pop("payloads")) == ("fixed", "pixels")
    assert report == defaults
