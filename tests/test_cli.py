"""The command `ga-context`: what it prints and how it exits."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from ga_context import ContextConfig, ContextSession, __version__
from ga_context.cli import main

REQUEST = {"role": "user", "content": "List the files."}
REPLY = {"role": "assistant", "content": "That is all."}


def run(*arguments: object, width: int = 100) -> Result:
    return CliRunner().invoke(main, [str(one) for one in arguments], env={"COLUMNS": str(width)})


def words(line: str) -> list[str]:
    return re.split(r"\s{2,}", line.strip())


def session(text: str = "done") -> list[dict[str, Any]]:
    """Return a session of two turns with one tool result."""
    use = {"type": "tool_use", "id": "t1", "name": "code_run", "input": {"code": "ls()"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": text}
    return [REQUEST, {"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}, REPLY]


def write(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return write(tmp_path / "long-output.json", session("x" * 12_000))


# --- replay ---


def test_replay_shows_a_row_a_session_and_their_sums(recording: Path) -> None:
    write(recording.with_name("short.json"), session())
    result = run("replay", recording.parent)
    rows = [words(line) for line in result.stdout.splitlines() if re.search("long-output|short|2 sessions", line)]
    assert result.exit_code == 0
    assert [(row[0], row[1], *row[5:9]) for row in rows] == [
        ("long-output", "2", "1", "0", "0", "0.500"),
        ("short", "2", "0", "0", "0", "0.500"),
        ("2 sessions", "4", "1", "0", "0", "0.500"),
    ]
    assert rows[0][2].startswith("12,")
    assert "budget 90,000 characters, 0 turns over it" in result.stdout
    assert result.stderr == ""


@pytest.mark.parametrize(("width", "shortened"), [(80, "a-rath…-name-7"), (100, "a-rather-long-na…ather-long-name-7")])
def test_the_table_fits_the_width(tmp_path: Path, width: int, shortened: str) -> None:
    """A long name is shortened in its middle, and no figure is."""
    name = "a-rather-long-name-" * 4 + "7"
    stdout = run("replay", write(tmp_path / f"{name}.json", session()), width=width).stdout
    assert max(map(len, stdout.splitlines())) <= width
    (found,) = re.findall(r"\S*…\S*", stdout)
    head, tail = found.split("…")
    assert (name.startswith(head), name.endswith(tail)) == (True, True)
    assert len(shortened) - 2 <= len(found) <= len(shortened)  # a slow turn takes a character more for its time


def test_names_in_any_script_print_anywhere(tmp_path: Path) -> None:
    """A terminal that cannot show a name gets question marks, not a traceback."""
    path = write(tmp_path / "会话.json", session())
    result = CliRunner(charset="ascii").invoke(main, ["replay", str(path)], env={"COLUMNS": "100"})
    assert result.exit_code == 0
    assert "\n?? " in result.stdout


def test_a_session_that_fails_is_named_and_the_others_go_on(recording: Path) -> None:
    broken = recording.with_name("broken.json")
    broken.write_text("[\n{", encoding="utf-8")
    refused = write(recording.with_name("morse.json"), {"format": "morse", "messages": [REQUEST]})
    result = run("replay", broken, recording, refused)
    assert result.exit_code == 1
    assert "long-output" in result.stdout
    assert "1 session " in result.stdout
    first, second = result.stderr.splitlines()
    assert first.startswith(f"not replayed: {broken}, line 2: is not JSON: ")
    assert second.startswith(f"not replayed: {refused}: says it is in the format 'morse', which is unknown;")


def test_json_is_one_document(recording: Path) -> None:
    write(recording.with_name("broken.json"), "no messages")
    result = run("replay", recording.parent, "--json")
    document = json.loads(result.stdout)
    assert result.exit_code == 1
    assert [(one["name"], one["error"] is None) for one in document["sessions"]] == [
        ("broken.json", False),
        ("long-output", True),
    ]
    assert (document["totals"]["sessions"], document["totals"]["results_cut"]) == (1, 1)
    assert ContextConfig(**document["config"]) == ContextConfig()
    assert "actions" not in document["sessions"][1]["per_turn"][1]


def test_actions_list_each_cut_with_its_reason(recording: Path) -> None:
    document = json.loads(run("replay", recording, "--json", "--actions").stdout)
    cut = next(one for one in document["sessions"][0]["per_turn"][1]["actions"] if one["stage"] == "truncate")
    stdout = run("replay", recording, "--actions").stdout
    (line,) = [words(line) for line in stdout.splitlines() if "truncate" in line]
    sizes = [f"{cut['chars_before']:,}", f"{cut['chars_after']:,}"]
    assert line == ["2", "truncate", "2", cut["part"], *sizes, cut["reason"], cut["ref"]]
    assert "anchor" not in stdout


def test_settings_reach_the_session(recording: Path) -> None:
    toml = recording.with_name("small.toml")
    toml.write_text("[tools]\ncode_run = 5_000\n", encoding="utf-8")

    def last_view(*options: object) -> int:
        return json.loads(run("replay", recording, "--json", *options).stdout)["totals"]["last_view"]

    assert 10_000 < last_view() < 12_000
    assert 5_000 < last_view("--config", toml) < 7_000
    assert 3_000 < last_view("--config", toml, "--set", "tools.code_run=3000") < 5_000
    assert last_view("--generic-agent") < 12_000


# --- usage ---


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["replay"], "Missing argument 'PATH...'"),
        (["replay", "no-such-file.json"], "'no-such-file.json' does not exist"),
        (["replay", "."], "no recordings there; a folder's recordings end in .json, .jsonl, .json.gz, .jsonl.gz"),
        (["rply"], "No such command 'rply'"),
        (["config", "--set", "compact.intervall=7"], "did you mean `compact.interval`?"),
        (["config", "--set", "compact.interval=0"], "`compact.interval` must be 1 or more, or None for never; got 0"),
        (["config", "--set", "interval"], "a setting is written `section.key=value`"),
        (["config", "--config", "no-such-file.toml"], "'no-such-file.toml' does not exist"),
        (["demo", "--turns", "0"], "0 is not in the range x>=1"),
    ],
)
def test_wrong_usage_exits_with_2(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in re.sub(r"\s+", " ", result.stderr)
    assert result.stdout == ""


def test_a_wrong_file_is_named(tmp_path: Path) -> None:
    toml = tmp_path / "ga_context.toml"
    toml.write_text("[compact]\ninterval = 0\n[bugdet]\n", encoding="utf-8")
    result = run("config", "--config", toml)
    assert result.exit_code == 2
    assert f"{toml}: `compact.interval` must be 1 or more" in result.stderr
    assert "did you mean `budget`?" in result.stderr


def test_version() -> None:
    result = run("--version")
    assert (result.exit_code, result.stdout) == (0, f"ga-context {__version__}\n")


def test_without_the_extra_it_says_what_to_install() -> None:
    """The core does not depend on click and rich, so the command may be there without them."""
    program = "import sys; sys.modules['click'] = None; import ga_context.cli"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert result.stderr == 'ga-context needs click, which is not installed: pip install "ga_context[cli]"\n'


# --- config ---


def test_config_shows_each_value_with_its_origin(tmp_path: Path) -> None:
    toml = tmp_path / "small.toml"
    toml.write_text('[evict]\nunit = "exchange"\n', encoding="utf-8")
    result = run("config", "--config", toml, "--set", "compact.interval=7", "--set", "tools.mcp__*=5000")
    rows = [tuple(words(line)) for line in result.stdout.splitlines()]
    assert result.exit_code == 0
    assert ("window_tokens", "30_000", "default") in rows
    assert ("unit", '"exchange"', "file small.toml") in rows
    assert ("interval", "7", "--set") in rows
    assert ("mcp__*.limit", "5_000", "--set") in rows
    assert ("code_run.limit", "10_000", "default") in rows
    assert rows[-1] == ("budget B: 90,000 characters, less what is sent as system and tools",)


def test_config_can_start_from_the_report() -> None:
    rows = [tuple(words(line)) for line in run("config", "--generic-agent").stdout.splitlines()]
    assert ("chars", "90_000", "generic_agent") in rows
    assert rows[-1] == ("budget B: 90,000 characters",)


def test_settings_of_one_tool_add_up() -> None:
    result = run("config", "--set", "tools.bash=3000", "--set", "tools.bash.spill=true")
    rows = [tuple(words(line)) for line in result.stdout.splitlines()]
    assert ("bash.limit", "3_000", "--set") in rows
    assert ("bash.spill", "true", "--set") in rows


def test_config_as_json() -> None:
    document = json.loads(run("config", "--set", "anchor.placement=off", "--json").stdout)
    assert ContextConfig(**document["config"]) == ContextConfig(anchor={"placement": "off"})
    assert document["origins"]["anchor.placement"] == "--set"
    assert document["origins"]["anchor.summaries"] == "default"


def test_schema_is_a_json_schema() -> None:
    schema = json.loads(run("config", "--schema").stdout)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert {"budget", "tools", "compact", "evict", "anchor"} <= set(schema["properties"])


# --- demo ---


def test_the_demo_leaves_a_recording_that_replay_takes(tmp_path: Path) -> None:
    out = tmp_path / "demo.json"
    assert run("demo", "--turns", "3", "--out", out).exit_code == 0
    document = json.loads(run("replay", out, "--json").stdout)
    assert document["totals"]["turns"] == 3


@pytest.mark.parametrize(
    ("options", "window"),
    [
        (["--set", "compact.interval=3"], "10,000"),
        (["--set", "budget.window_tokens=20_000"], "20,000"),
        (["--generic-agent", "--set", "budget.chars=null"], "30,000"),
    ],
)
def test_the_demo_keeps_its_small_window_unless_told(tmp_path: Path, options: list[str], window: str) -> None:
    result = run("demo", "--turns", "1", "--out", tmp_path / "demo.json", *options)
    assert f"a window of {window} tokens" in result.stdout


# Pages

PAGE = "<title>T</title><script>no</script><h1>Shop</h1><p>A <a href=/x>fine</a> offer, größer.</p>"


def test_html_prunes_a_file(tmp_path: Path) -> None:
    """Its charset is found out; the mode says how it is written."""
    path = tmp_path / "page.html"
    path.write_bytes(PAGE.encode("cp1252"))
    assert run("html", path).stdout == (
        "<!doctype html><title>T</title><body>\n<h1>Shop</h1>\n<p>A <a href=/x>fine</a> offer, größer.</p></body>\n"
    )
    assert run("html", path, "--mode", "markdown").stdout == "T\n# Shop\n\nA [1][fine](/x) offer, größer.\n"


def test_html_reads_standard_input_and_reports() -> None:
    result = CliRunner().invoke(main, ["html", "-", "--report", "--budget", "500"], input=PAGE)
    report = json.loads(result.stdout)
    assert (report["chars_before"], report["budget"]) == (len(PAGE), 500)
    assert report["removed"][0] == {
        "path": "body>script", "start": 16, "end": 35, "reason": "script", "links": 0, "controls": 0, "chars": 19,
    }  # fmt: skip


def test_html_with_a_query(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("".join(f"<p>Paragraph {i} tells of city number {i}.</p>" for i in range(200)))
    result = run("html", path, "--budget", 300, "--query", "city 150")
    assert "Paragraph 150" in result.stdout


def test_html_says_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(PAGE)
    for arguments in (["html", path, "--budget", 100], ["html", path, "--mode", "xml"], ["html", tmp_path / "none"]):
        assert run(*arguments).exit_code == 2


# --- recall and why ---


def test_recall_prints_an_original_of_an_archive(tmp_path: Path) -> None:
    """All of it or a part, from the archive that is named or configured, or from a dump."""
    archive = tmp_path / "archive.db"
    long = "x" * 12_000 + "the end\n"
    one = ContextSession({"archive": {"url": str(archive)}}, format="anthropic")
    two = ContextSession(format="anthropic")
    for each in (one, two):
        each.prepare(session(long)[:-1])
    ref = one.report.actions[0].ref
    dump = tmp_path / "dump.json"
    dump.write_text(two.dump(), encoding="utf-8")
    assert run("recall", ref, "--archive", archive).stdout == long
    assert run("recall", ref, "--set", f"archive.url={archive}", "--range", "11999:").stdout == "xthe end\n"
    assert run("recall", ref, "--dump", dump, "--range", ":3").stdout == "xxx"


@pytest.mark.parametrize(
    ("arguments", "exit_code", "told"),
    [
        ([], 2, "nothing is kept outside a session in memory: name an --archive, or a --dump"),
        (["--archive", "missing.db"], 2, "there is no archive at missing.db"),
        (["--range", "1-2"], 2, "'1-2' is not two numbers with a colon between, such as 0:400"),
        (["--dump", "dump.json"], 1, "no original is archived under 'fedcba9876543210'"),
        (["--dump", "no-dump.json"], 2, "this is no dump of a session"),
    ],
)
def test_recall_says_what_is_wrong(
    arguments: list[str], exit_code: int, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dump.json").write_text(ContextSession(format="text").dump(), encoding="utf-8")
    (tmp_path / "no-dump.json").write_text("{", encoding="utf-8")
    result = run("recall", "fedcba9876543210", *arguments)
    assert (result.exit_code, told in " ".join(result.stderr.split())) == (exit_code, True)


def test_why_says_where_characters_are(recording: Path) -> None:
    """Of a message, of a range or part of it, or of all as lines of JSON."""
    lines = run("why", recording, "--message", 2, "--range", "0:6000").stdout.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("message 2 part 0 [0:4,")
    assert lines[0].endswith(": excerpt, message 2 of the view")
    assert re.fullmatch(
        r"message 2 part 0 \[4,\d+:6,000\]: archived, ref [0-9a-f]{16} \[4,\d+:6,000\]; "
        "left in turn 2 by truncate: over the limit of code_run",
        lines[1],
    )
    spans = [json.loads(line) for line in run("why", recording, "--jsonl").stdout.splitlines()]
    assert [(one["message"], one["part"], one["place"]) for one in spans] == [
        (0, "0", "view"),
        (1, "0.code", "view"),
        (2, "0", "excerpt"),
        (2, "0", "archived"),
        (2, "0", "excerpt"),
        (3, "0", "view"),
    ]


@pytest.mark.parametrize(
    ("arguments", "exit_code", "told"),
    [
        ([], 2, "name a --message, or ask for all with --jsonl"),
        (["--message", "9"], 1, "`messages[9]` is not there; the session knows the messages 0 to 3"),
        (["--message", "0", "--part", "7"], 1, "`messages[0]` has no part '7'; its texts are: 0"),
    ],
)
def test_why_says_what_is_wrong(arguments: list[str], exit_code: int, told: str, recording: Path) -> None:
    result = run("why", recording, *arguments)
    assert (result.exit_code, told in " ".join(result.stderr.split())) == (exit_code, True)
