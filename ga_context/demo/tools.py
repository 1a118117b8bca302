"""The tools of the demo, and the small project they work on.

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


# The project: an order service's logs of one day, and the package that makes the nightly report from them.

HOSTS: Mapping[str, int] = {
    "gateway-1": 17,
    "gateway-2": 19,
    "orders-1": 29,
    "orders-2": 23,
    "payments-1": 21,
    "payments-2": 25,
}
"""Each host, and the number of lines from one of its everyday errors to the next."""

FILES: Mapping[str, str] = {
    "README.md": """\
# logaudit

Reads `logs/*.log` every night and names the host with the most errors.

- `python -c "from logaudit.report import report; report('logs')"` prints the report
- `python check.py` runs the tests

One log a host; every line has day, time, level, host, build, request, customer, route and duration in ms.
Settings of each host are in `deploy/`. Logs are evidence: nobody edits them.
""",
    "check.py": '''\
"""Run all tests; one line a failure, without timings, so that two runs can be compared."""
import unittest

result = unittest.TestResult()
unittest.defaultTestLoader.discover("tests", top_level_dir=".").run(result)
failed = result.failures + result.errors
for test, text in failed:
    print("FAIL", test.id(), "|", [line for line in text.splitlines() if "Error" in line][-1])
print(f"{result.testsRun} tests, {len(failed)} failed")
''',
    "logaudit/__init__.py": "",
    "logaudit/parse.py": '''\
"""Read one log line."""
import re

LINE = re.compile(r"(?P<day>\\S+) (?P<time>\\S+) (?P<level>\\w+) +(?P<host>\\S+) .*?(?P<ms>\\d{1,3}) ms")


def parse(line):
    """Give the fields of a line, or None for a line of another kind."""
    found = LINE.match(line)
    return None if found is None else {**found.groupdict(), "ms": int(found["ms"])}
''',
    "logaudit/hours.py": '''\
"""Hours of the day."""


def hour(time):
    """Give the hour of a time such as 13:05:17, from 0 to 23."""
    return int(time[:2]) % 12
''',
    "logaudit/rank.py": '''\
"""Order hosts by what went wrong on them."""


def worst_first(counts):
    """Give (host, errors) pairs, most errors first, ties by name."""
    return sorted(counts.items(), key=lambda pair: (pair[1], pair[0]))
''',
    "logaudit/report.py": '''\
"""The nightly report."""
import collections
import pathlib

from logaudit.hours import hour
from logaudit.parse import parse
from logaudit.rank import worst_first


def report(folder):
    """Print the hosts with their errors and the hour in which most of them fell."""
    hosts, hours = collections.Counter(), collections.Counter()
    for path in sorted(pathlib.Path(folder).glob("*.log")):
        for line in path.read_text("utf-8").splitlines():
            entry = parse(line)
            if entry and entry["level"] == "ERROR":
                hosts[entry["host"]] += 1
                hours[hour(entry["time"])] += 1
    ranked = worst_first(hosts)
    print("report names:", ranked[0][0], "busiest hour:", max(sorted(hours), key=hours.__getitem__))
    for host, errors in ranked:
        print(f"{host:12}{errors:5}")
''',
    "tests/__init__.py": "",
    "tests/test_parse.py": """\
import unittest

from logaudit.parse import parse


class ParseTest(unittest.TestCase):
    def test_quick(self):
        self.assertEqual(parse("2026-03-02 01:00:00 INFO  a-1 GET / 41 ms")["ms"], 41)

    def test_slow(self):
        self.assertEqual(parse("2026-03-02 01:00:00 ERROR a-1 pool timeout after 5000 ms")["ms"], 5000)

    def test_other(self):
        self.assertIsNone(parse("log rotated"))
""",
    "tests/test_hours.py": """\
import unittest

from logaudit.hours import hour


class HourTest(unittest.TestCase):
    def test_morning(self):
        self.assertEqual(hour("09:30:00"), 9)

    def test_afternoon(self):
        self.assertEqual(hour("13:05:17"), 13)

    def test_noon(self):
        self.assertEqual(hour("12:00:00"), 12)
""",
    "tests/test_rank.py": """\
import unittest

from logaudit.rank import worst_first


class RankTest(unittest.TestCase):
    def test_worst_first(self):
        self.assertEqual(worst_first({"a": 1, "b": 7})[0], ("b", 7))

    def test_ties_by_name(self):
        self.assertEqual(worst_first({"b": 2, "a": 2})[0], ("a", 2))
""",
}

ROUTES = ("GET /cart", "POST /order", "GET /order/status", "POST /charge", "GET /invoice")
LINES_A_DAY = 288
ROLLOUT_HOUR = 13


def lay_out(root: Path) -> None:
    """Write the project into an empty folder."""
    for name, text in FILES.items():
        file_write(root, {"path": name, "content": text})
    for host in HOSTS:
        pool = 2 if host == "payments-2" else 20
        settings = f'host = "{host}"\nbuild = {_build(host, 23)}\npool_size = {pool}\npool_timeout_ms = 5000\n'
        file_write(root, {"path": f"deploy/{host}.toml", "content": settings})
        lines = [_log_line(host, number) for number in range(LINES_A_DAY)]
        file_write(root, {"path": f"logs/{host}.log", "content": "\n".join(lines) + "\n"})


def _build(host: str, hour: int) -> int:
    return 4127 if host == "payments-2" and hour >= ROLLOUT_HOUR else 4126


def _log_line(host: str, number: int) -> str:
    """One line each five minutes; after the rollout every third request on payments-2 waits in vain."""
    hour, minute = divmod(number * 5, 60)
    mixed = (number * number * 7919 + sum(host.encode()) * 104729) % 1_000_003
    level, outcome = "INFO", f"{17 + mixed % 83} ms"
    if _build(host, hour) == 4127 and number % 3 == 0:
        level, outcome = "ERROR", "pool timeout after 5000 ms"
    elif number % HOSTS[host] == 5:
        level, outcome = "ERROR", f"upstream reset after {200 + mixed % 700} ms"
    request = f"build={_build(host, hour)} req={mixed:06x} customer=c-{mixed // 7 % 37:04d} {ROUTES[mixed % 5]}"
    return f"2026-03-02 {hour:02d}:{minute:02d}:{mixed // 11 % 60:02d} {level:5} {host} {request} {outcome}"
