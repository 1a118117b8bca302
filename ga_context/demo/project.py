"""The project that the agent works on: an order service's logs of one day, and the package that reports on them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ga_context.demo.tools import file_write

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
