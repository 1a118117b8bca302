"""The script: what the policy does, step by step, and what it writes.

Facts are stated once by a tool, noted with update_working_checkpoint, and from then on read in the view.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from ga_context.demo.programs import (
    ALL_LINES,
    CHECK,
    COUNT_BY_HOUR,
    CUSTOMERS,
    FIND_CULPRIT,
    HOUR,
    RANK_HOURS,
    REPORT,
)

Call: TypeAlias = tuple[str, dict[str, str]]


@dataclass(frozen=True, slots=True)
class Step:
    """One reply of the policy; `$names` in its texts are looked up in the view when its turn comes."""

    think: str
    calls: tuple[Call, ...] = ()
    summary: str = ""
    quote: int = 0
    """Lines of the newest results to think about at length."""
    change: str = ""
    """Key of FIXES: `$content` is then the file just read, with this change made."""
    then: str = ""
    """What the user says next, after a reply without calls."""


@dataclass(frozen=True, slots=True)
class Each:
    """Steps done once for every match of a pattern in the newest results; `$item` is what matched."""

    pattern: str
    steps: tuple[Step, ...]


Plan = tuple[Step | Each, ...]

FACTS = {
    "culprit": r"culprit: ([a-z]+-\d)",
    "build": r"since build: (\d+)",
    "first": r"first failure: (\d[\d-]+ \d\d:\d\d:\d\d)",
    "pool": r"old pool_size: (\d+)",
    "hit": r"customers hit: (\d+)",
}

FIXES = {
    "parse": (r"\d{1,3}", r"\d+"),
    "hours": (" % 12", ""),
    "rank": ("(pair[1], pair[0])", "(-pair[1], pair[0])"),
    "pool": ("pool_size = 2\n", "pool_size = 20\n"),
}

REQUEST = """\
Last night's report names orders-1 as the host with the most errors, but the complaints are all about payments.
Find out which host really fails and since when, repair the logaudit package so that all its tests pass, and write
what you found to FINDINGS.md. Never edit anything in logs/. If you change a setting, note its old value first."""

SECOND_REQUEST = """\
Good. Now the customers: who was hit, and how often? Go through the day hour by hour as well and tell me whether
anything of the kind began before the rollout. Then bring FINDINGS.md up to date."""

RULES = "task: find the failing host, repair logaudit, write FINDINGS.md\nrule: never edit anything in logs/"
CULPRIT = RULES + "\nculprit: $culprit\nsince build: $build\nfirst failure: $first"
CAUSE = CULPRIT + "\nold pool_size: 2 (deploy/$culprit.toml); the other hosts have 20"
REPAIRED = CAUSE.replace("old", "repaired: logaudit, all tests pass; pool_size now 20\nold")
CUSTOMERS_NOTED = REPAIRED + "\nsecond task: customers, hour by hour, FINDINGS.md\ncustomers hit: $hit"

FINDINGS = """\
# Findings

- Failing host: $culprit, since build $build, first at $first: the pool runs dry (pool timeout after 5000 ms).
- Cause: deploy/$culprit.toml had pool_size = $pool, every other host has 20. Set to 20.
- The report was wrong three times: durations over 999 ms, hours after noon, order of the hosts. All tests pass.
"""
CUSTOMERS_FOUND = "- Customers hit: $hit. Nothing of the kind before $first.\n"


def _list(path: str) -> Call:
    return "list_folder", {"path": path}


def _read(path: str, **part: str) -> Call:
    return "file_read", {"path": path, **part}


def _write(path: str, content: str) -> Call:
    return "file_write", {"path": path, "content": content}


def _run(code: str) -> Call:
    return "code_run", {"code": code}


def _search(query: str, folder: str) -> Call:
    return "search_text", {"query": query, "folder": folder}


def _note(text: str) -> Call:
    return "update_working_checkpoint", {"key_info": text}


OPENING: Plan = (
    Step("A new job. First I look at what is there.", (_list("."), _read("README.md"))),
    Step(
        "The package is small. I read how its tests are run, and run them to have a base line.",
        (_read("check.py"), _run(CHECK)),
        "Surveyed the project; ran its tests for a base line",
    ),
    Step("Some tests fail. Before anything else I note the task and its rule.", (_note(RULES),)),
    Step("Now the evidence: the logs, one a host.", (_list("logs"),)),
    Each(
        r"^logs/(\S+)\.log",
        (
            Step(
                "I read the first hours of $item to know its lines, and count its errors by hour.",
                (_read("logs/$item.log", first="1", lines="45"), _run(COUNT_BY_HOUR)),
                "Read the first hours of $item and counted its errors",
                quote=12,
            ),
        ),
    ),
    Step(
        "These counts and the report disagree. I want every error of the day before me.",
        (_search(" ERROR ", "logs"),),
        "Counted by hand: the nightly report cannot be right",
    ),
    Step(
        "Two kinds of error: resets everywhere, and pool timeouts that look like one host. I count those alone.",
        (_run(FIND_CULPRIT),),
        quote=14,
    ),
    Step("It is $culprit. I note it, I shall need it to the end.", (_note(CULPRIT),), "The failing host is $culprit"),
    Step(
        "I read the whole log of $culprit to see how it began.",
        (_read("logs/$culprit.log"),),
        "Read the whole log of $culprit",
    ),
    Step(
        "From $first on every third request waits in vain. What do the settings say, here and elsewhere?",
        tuple(_read(f"deploy/{host}.toml") for host in ("$culprit", "gateway-1", "orders-1", "payments-1")),
        quote=10,
    ),
    Step("A pool of 2, elsewhere of 20: the cause. I note the old value.", (_note(CAUSE),), "Cause: a pool of 2"),
    Step("Now the package: what does its report say?", (_run(REPORT),)),
    Step("It names the host with the fewest errors. I run the tests again.", (_run(CHECK),)),
    Each(
        r"^FAIL tests\.test_(\w+)",
        (
            Step("The tests of $item fail. What do they want?", (_read("tests/test_$item.py"),)),
            Step("And what does the module do?", (_read("logaudit/$item.py"),)),
            Step(
                "I see the fault, and write the module back with that one thing changed.",
                (_write("logaudit/$item.py", "$content"),),
                "Repaired logaudit/$item.py",
                change="$item",
            ),
            Step("I run the tests.", (_run(CHECK),), quote=8),
        ),
    ),
    Step("And the report?", (_run(REPORT),), "All tests pass; the report is checked against my count"),
    Step("It names $culprit now. The setting is next; I read it as it stands.", (_read("deploy/$culprit.toml"),)),
    Step("I change the one value.", (_write("deploy/$culprit.toml", "$content"),), change="pool"),
    Step("I note how things stand.", (_note(REPAIRED),), "Set the pool of $culprit to 20"),
    Step("I write down what I found.", (_write("FINDINGS.md", FINDINGS),), "Wrote FINDINGS.md"),
    Step(
        "The failing host is $culprit, since build $build (first failure $first): its pool had $pool connections. "
        "The package is repaired, all tests pass, and FINDINGS.md has the details.",
        then=SECOND_REQUEST,
    ),
    Step("First the customers, by the timeouts on $culprit.", (_run(CUSTOMERS),), "Counted the customers hit"),
    Each(
        r"^customer (\S+) timeouts [2-9]",
        (
            Step(
                "What happened to customer $item on that day, on all hosts?",
                (_search("customer=$item ", "logs"),),
                "Went through the day of customer $item",
            ),
        ),
    ),
    Step("I count once more and note it.", (_run(CUSTOMERS),)),
    Step("$hit customers were hit.", (_note(CUSTOMERS_NOTED),), "$hit customers hit, noted"),
    Step("The whole day of both payment hosts, in order of time.", (_run(ALL_LINES),), "Read the day of both hosts"),
)

LOOKING_ON: Plan = (
    Step("I rank the hours by errors, to go through them one by one.", (_run(RANK_HOURS),), "Ranked the hours"),
    Each(
        r"^hour (\d\d)",
        (
            Step(
                "Hour $item: every line of the payment hosts, and the timeouts anywhere.",
                (_run(HOUR), _search(" $item:.*pool timeout", "logs")),
                "Went through hour $item",
            ),
        ),
    ),
)

CLOSING: tuple[Step, ...] = (
    Step("A last run of the tests, and a look at the folder.", (_run(CHECK), _list("."))),
    Step("I bring the findings up to date.", (_write("FINDINGS.md", FINDINGS + CUSTOMERS_FOUND),), "Wrote FINDINGS.md"),
    Step(
        "Done. $hit customers were hit, all on $culprit and none before $first, the first failure after the rollout "
        "of build $build. The pool had $pool connections and has 20 now. FINDINGS.md is up to date."
    ),
)

CUT_SHORT: tuple[Step, ...] = (
    Step("My turns are nearly used up. A last run of the tests, and a look at the folder.", (_run(CHECK), _list("."))),
    Step("I leave word of that in NOTES.md.", (_write("NOTES.md", "Stopped before the end; go on from the logs.\n"),)),
    Step("This run was a short one, so I stop in the middle of the work. With 60 turns I finish it."),
)
"""The closing of a run that ends before the opening does."""
