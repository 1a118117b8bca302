"""Contracts: what is public, which way imports go, and what the library never does."""

import ast
import inspect
import logging
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest

import ga_context

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "ga_context"

LAYERS = (
    ("errors",),
    ("text", "payload", "calibration"),
    ("html",),
    ("sections", "sources", "config", "model"),
    ("archive", "formats", "report"),
    ("state",),
    (
        "cache",
        "closure",
        "edits",
        "ledger",
        "manifest",
        "matching",
        "memory",
        "own_tools",
        "reading",
        "recall",
        "schema",
    ),
    ("stages",),
    ("adoption", "pipeline", "checkpoint"),
    ("session",),
    ("__init__",),
    ("replay", "demo"),
    ("cli",),
)
"""Rooms from the inside out; each may import from rooms further in, and from those beside it as BESIDE says."""

BESIDE = {
    ("config", "sections"),
    ("config", "sources"),
    ("sources", "sections"),
    ("edits", "closure"),
    ("edits", "recall"),
    ("manifest", "ledger"),
    ("manifest", "reading"),
    ("cache", "matching"),
    ("cache", "schema"),
    ("memory", "edits"),
    ("own_tools", "ledger"),
    ("own_tools", "recall"),
    ("recall", "closure"),
    ("checkpoint", "pipeline"),  # turns before a dump are played again
    ("schema", "edits"),
}
"""(importer, imported) within one layer."""

STAGE_IMPORTS = {
    ("compact", "truncate"),  # which tags must stay whole
    ("shorten", "truncate"),
    ("lighten", "compact"),  # the line that stands for a payload
    ("evict", "compact"),  # where the newest messages begin
    ("evict", "repair"),  # how a result is told as text
}
"""(importer, imported) among the stages."""

OUTER = ("replay", "demo", "cli")

STORES = {"archive/durable.py", "archive/file.py", "archive/place.py", "archive/server.py", "archive/sqlite.py"}
"""They keep originals where the user asked for it, with a clock for what is too old and a name by chance for a session.
Nothing of that reaches a message: what they give back has the digest of what was put in."""


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def core() -> list[Path]:
    """Return all modules but the outer ring's and the archive's stores."""
    stores = {PACKAGE / name for name in STORES}
    return [path for path in modules() if room(path) not in OUTER and path not in stores]


def room(path: Path) -> str:
    """Return the top-level name a module belongs to: ``text/tags.py`` is in the room ``text``."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def hits(paths: list[Path], found: Callable[[Path], Iterable[str]]) -> dict[str, list[str]]:
    """Return what was found, by module; nothing is to be found."""
    return {path.relative_to(PACKAGE).as_posix(): list(which) for path in paths if (which := list(found(path)))}


@cache
def nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(path.read_text("utf-8"))))


def imports(path: Path) -> set[str]:
    """Return the dotted names of ours that a module imports, anywhere in it; ``""`` is the package itself."""
    found: set[str] = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute here"
            base = node.module or ""
            inner = {f"{base}.{alias.name}" for alias in node.names if is_module(f"{base}.{alias.name}")}
            found |= inner or {base}
    ours = {name for name in found if name.split(".")[0] == "ga_context"}
    return {name.removeprefix("ga_context").removeprefix(".") for name in ours}


def is_module(dotted: str) -> bool:
    path = ROOT.joinpath(*dotted.split("."))
    return path.is_dir() or path.with_suffix(".py").is_file()


def python(program: str) -> str:
    """Run a program in an interpreter of its own and return what it prints; it must end well."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout


# The front door


def test_the_public_names() -> None:
    assert ga_context.__all__ == [
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
    assert all(hasattr(ga_context, name) for name in ga_context.__all__)


def test_the_version_is_said_once() -> None:
    """The package and pyproject.toml agree."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["version"] == ga_context.__version__


def test_the_import_brings_nothing_optional() -> None:
    """Neither a parser of HTML nor what only the command needs."""
    program = "import sys, ga_context; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    brought = set(python(program).split())
    assert not brought & {
        "bs4",
        "lxml",
        "click",
        "rich",
        "html",
        "openai",
        "anthropic",
        "google",
        "tiktoken",
        "numpy",
        "sqlite3",
        "sqlalchemy",
    }
    assert {"pydantic", "regex"} <= brought


def test_everything_public_has_a_docstring() -> None:
    """Modules, classes, functions and methods; an override may have its parent's."""
    silent = []
    for path in modules():
        dotted = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        module = import_module(dotted)
        silent += [] if module.__doc__ else [dotted]
        for name, thing in vars(module).items():
            if name.startswith("_") or getattr(thing, "__module__", None) != dotted:
                continue
            if inspect.isclass(thing) or inspect.isfunction(thing):
                silent += [] if inspect.getdoc(thing) else [f"{dotted}.{name}"]
            members = vars(thing) if inspect.isclass(thing) else {}
            functions = [key for key, value in members.items() if inspect.isfunction(value) and not key.startswith("_")]
            silent += [f"{dotted}.{name}.{key}" for key in functions if not inspect.getdoc(getattr(thing, key))]
    assert silent == []


# Which way imports go


def test_every_room_has_a_layer() -> None:
    assert sorted({room(path) for path in modules()}) == sorted(name for layer in LAYERS for name in layer)


def test_imports_point_inwards() -> None:
    """Each module imports from its own room, from layers further in, and from its neighbours only as listed."""
    layer = {name: number for number, names in enumerate(LAYERS) for name in names}

    def outwards(path: Path) -> list[str]:
        here = room(path)
        there = {name.split(".")[0] or "__init__" for name in imports(path)} - {here}
        return [name for name in there if layer[name] >= layer[here] and (here, name) not in BESIDE]

    assert hits(modules(), outwards) == {}


def test_text_knows_only_strings() -> None:
    """It imports nothing of ours but errors."""
    for path in (PACKAGE / "text").glob("*.py"):
        assert {name.split(".")[0] for name in imports(path)} <= {"errors", "text"}


def test_stages_import_no_format_and_few_of_each_other() -> None:
    for path in sorted((PACKAGE / "stages").glob("*.py")):
        found = imports(path)
        others = {name.split(".")[1] for name in found if name.startswith("stages.")}
        assert {(path.stem, other) for other in others} <= STAGE_IMPORTS
        assert not [name for name in found if name.split(".")[0] == "formats"]


def test_only_the_outer_ring_imports_the_session() -> None:
    importers = {room(path) for path in modules() if "session" in imports(path)}
    assert importers <= {"__init__", *OUTER}


def test_formats_do_not_know_each_other() -> None:
    """Each wire format is one file behind base.py."""
    for path in sorted((PACKAGE / "formats").glob("*.py")):
        others = {name for name in imports(path) if name.startswith("formats.")} - {"formats.base"}
        assert path.stem == "__init__" or not others


# What the library never does

CLOCKS_AND_CHANCE = {"time", "datetime", "uuid", "random", "secrets"}
NETWORKS = {"socket", "ssl", "http", "urllib", "requests", "httpx", "aiohttp", "asyncio"}


def test_the_core_has_no_clock_no_chance_no_network() -> None:
    """Same input, same bytes: nothing else gets in."""
    forbidden = CLOCKS_AND_CHANCE | NETWORKS | {"os"}

    def outside(path: Path) -> set[str]:
        plain = [alias.name for node in nodes(path) if isinstance(node, ast.Import) for alias in node.names]
        parts = [str(node.module) for node in nodes(path) if isinstance(node, ast.ImportFrom)]
        return {name.split(".")[0] for name in plain + parts} & forbidden

    assert hits(core(), outside) == {}


def test_the_core_prints_nothing_and_opens_nothing() -> None:
    """Only the configuration reads files, and only those it is asked to load."""
    forbidden = {"print", "input", "open", "exec", "eval", "environ", "getenv", "write_text", "write_bytes"}
    reading = {"read_text", "read_bytes"}

    def used(path: Path) -> set[str]:
        names = {node.id for node in nodes(path) if isinstance(node, ast.Name)}
        names |= {node.attr for node in nodes(path) if isinstance(node, ast.Attribute)}
        return names & (forbidden if room(path) == "sources" else forbidden | reading)

    assert hits(core(), used) == {}


def test_no_error_is_swallowed() -> None:
    """Neither `except:` nor `except Exception`."""

    def broad(path: Path) -> list[str]:
        handlers = [node for node in nodes(path) if isinstance(node, ast.ExceptHandler)]
        caught = [ast.unparse(handler.type) if handler.type else "everything" for handler in handlers]
        return [kind for kind in caught if re.search(r"\b(Base)?Exception\b|^everything$", kind)]

    assert hits(modules(), broad) == {}


SESSION = """
import socket

def refuse(*arguments, **keywords):
    raise AssertionError("the network was used")

socket.socket = socket.create_connection = socket.getaddrinfo = refuse
from ga_context import ContextSession

session = ContextSession(dict(budget={"chars": 9000}))
messages = [{"role": "user", "content": "Go on."}]
for turn in range(30):
    use = {"type": "tool_use", "id": f"t{turn}", "name": "code_run", "input": {"code": "ls"}}
    result = {"type": "tool_result", "tool_use_id": f"t{turn}", "content": "SECRET " * 300}
    session.prepare(messages)
    messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
ContextSession.load(session.dump()).prepare(messages)
assert any(report.evicted for report in session.reports)
"""


def test_a_session_uses_no_network_and_says_nothing() -> None:
    """All stages run, a dump and a load, without a connection and without a line printed."""
    assert python(SESSION) == ""


def test_nothing_is_logged_with_content(caplog: pytest.LogCaptureFixture) -> None:
    """The logger has a handler that drops everything, and what other handlers get holds no text of a message."""
    caplog.set_level(logging.DEBUG)
    session = ga_context.ContextSession({"budget": {"chars": 9_000}, "compact": {"interval": 1}}, format="text")
    raw = [{"role": "user", "content": "SECRET " * 100}]
    for _ in range(20):
        session.prepare(raw)
        raw += [{"role": "assistant", "content": "SECRET " * 100}, {"role": "user", "content": "SECRET"}]
    assert any(report.evicted for report in session.reports)
    assert "SECRET" not in caplog.text
    handlers = logging.getLogger("ga_context").handlers
    assert [type(handler) for handler in handlers] == [logging.NullHandler]


# What is in the tree


def tracked() -> list[Path]:
    """Return the files that a commit would hold, with those not added yet."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    if done.returncode != 0:
        pytest.skip("not a git checkout")
    return [path for line in done.stdout.splitlines() if (path := ROOT / line).is_file()]


HOME = re.compile(rb"/(?:home|Users|root|work|mnt|tmp|opt)/[\w.-]+|[A-Z]:\\\\Users")


def test_no_path_of_any_machine() -> None:
    """Nobody else has it."""
    found = {path.relative_to(ROOT).as_posix(): HOME.findall(path.read_bytes()) for path in tracked()}
    assert {name: hits for name, hits in found.items() if hits} == {}


def test_every_module_of_the_package_is_importable() -> None:
    """All of it, with the extra `cli` installed."""
    names = [module.name for module in walk_packages([str(PACKAGE)], "ga_context.")]
    assert len(names) + 1 == len(modules())
    python("import importlib\n" + "\n".join(f"importlib.import_module({name!r})" for name in names))


def test_programs_of_ci_can_be_started() -> None:
    """They are executable, and bash has no quarrel with them."""
    for name in ("run", "full"):
        path = ROOT / ".ci" / name
        assert os.access(path, os.X_OK)
        subprocess.run(["bash", "-n", path], check=True)
