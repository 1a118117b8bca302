"""The Python code that the policy has run, `$names` to be filled in."""

from __future__ import annotations

COUNT_BY_HOUR = """\
# errors of $item by hour
import collections, pathlib
lines = pathlib.Path("logs/$item.log").read_text().splitlines()
hours = collections.Counter(line[11:13] for line in lines if " ERROR " in line)
print("$item:", sum(hours.values()), "errors;", ", ".join(f"{hour}h {n}" for hour, n in sorted(hours.items())))"""

FIND_CULPRIT = """\
# pool timeouts by host
import collections, pathlib
errors = collections.defaultdict(list)
for path in sorted(pathlib.Path("logs").glob("*.log")):
    errors[path.stem] = [line for line in path.read_text().splitlines() if "pool timeout" in line]
host = max(errors, key=lambda name: len(errors[name]))
for name, lines in errors.items():
    print(f"{name:12}{len(lines):4} pool timeouts")
print("culprit:", host)
print("since build:", errors[host][0].split("build=")[1][:4])
print("first failure:", errors[host][0][:19])"""

CUSTOMERS = """\
# customers with timeouts on $culprit
import collections, pathlib, re
lines = pathlib.Path("logs/$culprit.log").read_text().splitlines()
found = collections.Counter(re.search(r"customer=(\\S+)", line)[1] for line in lines if "pool timeout" in line)
print("customers hit:", len(found))
for name, n in sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))[:8]:
    print("customer", name, "timeouts", n)"""

ALL_LINES = """\
# both payment hosts in order of time
import pathlib
lines = [line for path in pathlib.Path("logs").glob("payments*") for line in path.read_text().splitlines()]
print("\\n".join(sorted(lines)))"""

RANK_HOURS = """\
# hours by errors
import collections, pathlib
lines = [line for path in pathlib.Path("logs").glob("*.log") for line in path.read_text().splitlines()]
hours = collections.Counter(line[11:13] for line in lines if " ERROR " in line)
for hour, n in sorted(hours.items(), key=lambda pair: (-pair[1], pair[0])):
    print("hour", hour, "errors", n)"""

REPORT = "# the nightly report\nfrom logaudit.report import report\nreport('logs')"
CHECK = "# all tests\nimport check"

HOUR = """\
# hour $item on the payment hosts
import pathlib
for path in sorted(pathlib.Path("logs").glob("payments*")):
    for line in path.read_text().splitlines():
        if line[11:13] == "$item":
            print(line)"""
