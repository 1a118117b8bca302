"""The demo: its tools, its loop and what it prints."""

from __future__ import annotations

import io
import json
import tempfile
from pathlib import Path

import pytest
from rich.console import Console
from rich.text import Text

from ga_context import ContextConfig, ContextSession
from ga_context.demo import PRESET, run, screen, tools
from ga_context.demo.agent import Agent, Turn
from ga_context.demo.policy import NOT_IN_VIEW
from ga_context.demo.project import lay_out

SMALL = ContextConfig(**PRESET)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Lay out the project in a folder of its own."""
    lay_out(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Agent, list[Turn]]:
    """Play 60 turns once for all tests that only look."""
    return _play(tmp_path_factory.mktemp("project"), SMALL)


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw as fast as it goes."""
    monkeypatch.setattr(screen, "TURN_SECONDS", 0)
    monkeypatch.setattr(screen, "CUT_SECONDS", 0)


def _play(folder: Path, config: ContextConfig, turns: int = 60) -> tuple[Agent, list[Turn]]:
    lay_out(folder)
    agent = Agent(ContextSession(config, format="anthropic"), folder)
    return agent, list(agent.run(turns))


def _printed(out: Path, turns: int = 60, **console: object) -> str:
    file = io.StringIO()
    run(turns, out, console=Console(file=file, **console))  # type: ignore[arg-type]
    return file.getvalue()


# Tools


def test_code_run_gives_what_the_code_prints(project: Path) -> None:
    """The code runs in the project's folder and can import from it."""
    code = "import os\nfrom logaudit.hours import hour\nprint(hour('01:00:00'), os.path.exists('check.py'))"
    assert tools.call(project, "code_run", {"code": code}) == ("1 True\n", False)


def test_code_run_shows_a_traceback_without_the_folder(project: Path) -> None:
    """A crash is a result like any other, and does not tell where the project lies."""
    text, failed = tools.call(project, "code_run", {"code": "from logaudit import rank\nrank.worst_first(1)"})
    assert not failed
    assert text.startswith("exit code 1\n")
    assert "AttributeError: 'int' object has no attribute 'items'" in text
    assert '"logaudit/rank.py"' in text.replace("\\", "/")
    assert str(project) not in text


def test_code_run_stops_at_its_time_limit(project: Path) -> None:
    """Code that does not end is stopped and the agent is told."""
    with pytest.raises(tools.ToolError, match=r"^stopped after 0\.3 s$"):
        tools.code_run(project, {"code": "while True: pass"}, seconds=0.3)


def test_file_read_numbers_the_lines(project: Path) -> None:
    """A part of a file keeps the numbers of the whole."""
    text, _ = tools.call(project, "file_read", {"path": "logaudit/hours.py", "first": "4", "lines": "2"})
    assert text == '   4 | def hour(time):\n   5 |     """Give the hour of a time such as 13:05:17, from 0 to 23."""'


def test_file_write_writes_and_says_so(project: Path) -> None:
    """Folders on the way are made."""
    said = tools.call(project, "file_write", {"path": "notes/a.txt", "content": "naïve\n"})
    assert said == ("wrote 6 characters to notes/a.txt", False)
    assert (project / "notes/a.txt").read_bytes() == "naïve\n".encode()


def test_list_folder_gives_names_and_sizes(project: Path) -> None:
    """Sorted by name, whatever the file system says."""
    listed, _ = tools.call(project, "list_folder", {"path": "deploy"})
    assert [line.split() for line in listed.splitlines()][:2] == [
        ["deploy/gateway-1.toml", "70"],
        ["deploy/gateway-2.toml", "70"],
    ]


def test_search_text_gives_place_and_line(project: Path) -> None:
    """Every hit with its file and line number; none is said in words."""
    assert tools.call(project, "search_text", {"query": "% 12", "folder": "logaudit"}) == (
        "logaudit/hours.py:6:     return int(time[:2]) % 12",
        False,
    )
    assert tools.call(project, "search_text", {"query": "nowhere", "folder": "tests"}) == (
        "no line matches nowhere",
        False,
    )


def test_update_working_checkpoint_acknowledges(project: Path) -> None:
    """The session reads the note from the call; the tool has nothing to do."""
    assert tools.call(project, "update_working_checkpoint", {"key_info": "abc"}) == ("noted, 3 characters", False)


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        ("file_read", {"path": "../secret"}, "../secret is outside of the project folder"),
        ("file_read", {"path": "none.txt"}, "[Errno 2] No such file or directory: 'none.txt'"),
        ("search_text", {"query": "(", "folder": "."}, "missing ), unterminated subpattern at position 0"),
        ("fly", {}, "no tool or argument 'fly'; the tools are code_run, file_read, file_write, list_folder, "
                    "search_text, update_working_checkpoint"),
    ],
)  # fmt: skip
def test_a_failed_call_is_an_error_result(project: Path, name: str, arguments: dict[str, str], text: str) -> None:
    """What cannot be done is said to the agent; the loop goes on."""
    assert tools.call(project, name, arguments) == (text, True)


# The loop


def test_every_stage_has_work(played: tuple[Agent, list[Turn]]) -> None:
    """60 turns show truncation, compaction, eviction and the anchor, all within the budget."""
    _, turns = played
    assert [turn.report.turn for turn in turns] == list(range(1, 61))
    assert {action.stage for turn in turns for action in turn.report.actions} >= {
        "truncate",
        "compact",
        "evict",
        "anchor",
    }
    assert max(turn.report.chars_after for turn in turns) <= 30_000
    assert turns[-1].report.chars_raw > 200_000
    assert all("old pool_size: 2" in turn.anchor for turn in turns[35:])


def test_the_job_is_done(played: tuple[Agent, list[Turn]]) -> None:
    """The tools are real: the tests of the project pass in the end, and the findings name the culprit."""
    agent, turns = played
    assert tools.call(agent.root, "code_run", {"code": "import check"})[0] == "8 tests, 0 failed\n"
    assert "pool_size = 20" in (agent.root / "deploy/payments-2.toml").read_text()
    findings = (agent.root / "FINDINGS.md").read_text()
    assert "Failing host: payments-2, since build 4127, first at 2026-03-02 13:00:" in findings
    assert turns[-1].said.startswith("Done. 25 customers were hit, all on payments-2")


def test_what_was_noted_is_remembered(played: tuple[Agent, list[Turn]]) -> None:
    """Facts whose messages were evicted long ago are found in the anchor, and cut texts are recalled whole."""
    agent, _ = played
    proof = agent.prove()
    assert proof.asked > 30
    assert proof.found == proof.asked
    assert proof.anchor_recall == 1.0
    assert proof.equal == proof.references > 20


def test_without_the_anchor_it_is_forgotten(tmp_path: Path) -> None:
    """The script has no memory of its own: what leaves the view is lost to it."""
    config = ContextConfig(budget={"window_tokens": 10_000}, anchor={"placement": "off"})
    agent, turns = _play(tmp_path, config)
    assert agent.policy.found < agent.policy.asked
    assert NOT_IN_VIEW in turns[-1].said


def test_the_loop_goes_on_as_long_as_it_is_told(tmp_path: Path) -> None:
    """After the script's own steps it looks at one hour after the other, and closes in time."""
    _, turns = _play(tmp_path, SMALL, 70)
    assert len(turns) == 70
    assert turns[-1].said.startswith("Done.")


# What is left behind and printed


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """What a run prints, less the folder of the recording, and what it records."""
    path = tmp_path_factory.mktemp("run") / "session.json"
    return _printed(path).replace(str(path.parent), ""), path.read_text("utf-8")


def test_two_runs_leave_the_same_recording(printed: tuple[str, str], played: tuple[Agent, list[Turn]]) -> None:
    """It holds no clock, no chance and no temporary path."""
    recording = printed[1]
    assert recording == played[0].recording()
    assert "ga-context-demo-" not in recording
    assert tempfile.gettempdir() not in recording


def test_two_runs_print_the_same_lines(tmp_path: Path) -> None:
    """What is shown depends on the run alone."""
    first, second = (_printed(tmp_path / f"{name}.json", 8) for name in "ab")
    assert first.replace("a.json", "b.json") == second


def test_the_recording_loads_back(tmp_path: Path) -> None:
    """It is the raw history in the form that `ga-context replay` reads, every call with its result."""
    path = run(7, tmp_path / "deep" / "session.json", console=Console(file=io.StringIO()))
    recorded = json.loads(path.read_text("utf-8"))
    messages = recorded["messages"]
    assert recorded["format"] == "anthropic"
    assert [message["role"] for message in messages] == ["user", "assistant"] * 7
    blocks = [block for message in messages for block in message["content"]]
    called = [block["id"] for block in blocks if block["type"] == "tool_use"]
    assert called == [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]


def test_lines_fit_in_a_hundred_columns(printed: tuple[str, str]) -> None:
    """Without a terminal: a line a turn, the sums, and how to replay; plain characters only."""
    lines = printed[0].splitlines()
    assert max(map(len, lines)) <= 100
    assert all(line.isascii() for line in lines)
    assert sum(line[:4].strip().isdigit() for line in lines) == 60
    assert lines[-1] == "  ga-context replay /session.json --set budget.window_tokens=10000"


@pytest.mark.parametrize(("width", "height"), [(100, 40), (80, 24), (200, 60)])
def test_the_picture_fits_the_terminal(tmp_path: Path, width: int, height: int) -> None:
    """On a terminal no line is wider than the window, and none than 100 columns."""
    text = _printed(
        tmp_path / "a.json", 9, force_terminal=True, width=width, height=height, legacy_windows=False, _environ={}
    )
    lines = Text.from_ansi(text.replace(str(tmp_path), "")).plain.splitlines()
    assert "turn 9 of 9" in text
    assert max(map(len, lines)) <= min(width, 100)


def test_a_run_that_ends_early_says_so(tmp_path: Path) -> None:
    """Its last answer claims nothing that the work has not come to."""
    _, turns = _play(tmp_path, SMALL, 12)
    assert turns[-1].said.startswith("This run was a short one, so I stop in the middle of the work.")


@pytest.mark.parametrize("turns", [1, 2, 3])
def test_a_short_run_is_a_run(tmp_path: Path, turns: int) -> None:
    """Fewer turns than the closing has are played from its end."""
    path = run(turns, tmp_path / "a.json", console=Console(file=io.StringIO()))
    assert len(json.loads(path.read_text("utf-8"))["messages"]) == 2 * turns


def test_no_turns_are_refused(tmp_path: Path) -> None:
    """The message names what is allowed."""
    with pytest.raises(ValueError, match=r"^`turns` must be 1 or more; got 0$"):
        run(0, tmp_path / "a.json", console=Console(file=io.StringIO()))


def test_the_recording_goes_into_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless a place is given, and only if something can be written there."""
    monkeypatch.chdir(tmp_path)
    assert run(1, console=Console(file=io.StringIO())) == Path("ga-context-demo.json")
    assert (tmp_path / "ga-context-demo.json").is_file()
