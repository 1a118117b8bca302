"""The tools of the demo: they run Python code, read, write, list and search files.

All paths are relative to the project's folder, and nothing outside it can be reached. The same folder gives the same
output on every machine: no clock, no temporary path and no order of the file system gets into a result.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

TIME_LIMIT_SECONDS = 20.0

Arguments = Mapping[str, str]
Tool = Callable[[Path, Arguments], str]


class ToolError(Exception):
    """A tool could not do what it was asked; the text goes back to the agent as the result."""


def call(root: Path, name: str, arguments: Arguments) -> tuple[str, bool]:
    """Run one tool in a folder.

    Returns:
        The output, and whether it is an error.
    """
    try:
        return TOOLS[name](root, arguments), False
    except KeyError as missing:
        return f"no tool or argument {missing}; the tools are {', '.join(TOOLS)}", True
    except (ToolError, OSError, re.error) as error:
        return _without_root(str(error), root), True


def code_run(root: Path, arguments: Arguments, seconds: float = TIME_LIMIT_SECONDS) -> str:
    """Run Python code in a process of its own, with a time limit."""
    try:
        done = subprocess.run(
            [sys.executable, "-s", "-B", "-"],
            input=arguments["code"],
            cwd=root,
            env=_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ToolError(f"stopped after {seconds:g} s") from None
    output = _without_root(done.stdout, root)
    return output if done.returncode == 0 else f"exit code {done.returncode}\n{output}"


def file_read(root: Path, arguments: Arguments) -> str:
    """Read a text file, or `lines` lines of it beginning with `first`, each with its number."""
    lines = _inside(root, arguments["path"]).read_text("utf-8").splitlines()
    first = max(int(arguments.get("first", "1")), 1)
    count = int(arguments.get("lines", str(len(lines))))
    return "\n".join(f"{n:4d} | {line}" for n, line in enumerate(lines[first - 1 : first - 1 + count], start=first))


def file_write(root: Path, arguments: Arguments) -> str:
    """Write a text file whole, with the folders it needs."""
    path = _inside(root, arguments["path"])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(arguments["content"], "utf-8", newline="\n")
    return f"wrote {len(arguments['content']):,} characters to {arguments['path']}"


def list_folder(root: Path, arguments: Arguments) -> str:
    """List all files below a folder with their sizes."""
    folder = _inside(root, arguments["path"])
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return "\n".join(f"{path.relative_to(root.resolve()).as_posix():24}{path.stat().st_size:8,}" for path in files)


def search_text(root: Path, arguments: Arguments) -> str:
    """Give every line below a folder that matches a pattern."""
    pattern = re.compile(arguments["query"])
    folder = _inside(root, arguments["folder"])
    hits = [
        f"{path.relative_to(root.resolve()).as_posix()}:{number}: {line}"
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1)
        if pattern.search(line)
    ]
    return "\n".join(hits) or f"no line matches {arguments['query']}"


def update_working_checkpoint(root: Path, arguments: Arguments) -> str:
    """Acknowledge the note; the session reads it from the call and carries it in the anchor."""
    return f"noted, {len(arguments['key_info'])} characters"


TOOLS: Mapping[str, Tool] = {
    tool.__name__: tool
    for tool in (code_run, file_read, file_write, list_folder, search_text, update_working_checkpoint)
}


def _inside(root: Path, relative: str) -> Path:
    path = (root / relative).resolve()
    if not path.is_relative_to(root.resolve()):
        raise ToolError(f"{relative} is outside of the project folder")
    return path


def _environment() -> dict[str, str]:
    """What a child process may see: enough to start, nothing that changes its output."""
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
    return {**kept, "PYTHONUTF8": "1", "PYTHONHASHSEED": "0"}


def _without_root(text: str, root: Path) -> str:
    for folder in sorted({str(root.resolve()), str(root)}, key=len, reverse=True):
        text = text.replace(folder + os.sep, "").replace(folder, ".")
    return text
