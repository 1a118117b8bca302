"""`ga-context replay --cache`: tables, JSON, pictures; and the usage that recordings carry."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from test_promises import exchanges

from ga_context.cli import main
from ga_context.replay.readers import Reply, read

SONNET = ["--cache", "anthropic:claude-sonnet-4-5"]


def run(*arguments: Any) -> Result:
    return CliRunner().invoke(main, ["replay", *map(str, arguments)], env={"COLUMNS": "100"})


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A session of Claude Code with a usage object in each response, written twice, and a system prompt."""
    records = []
    for i, message in enumerate(exchanges([3_000] * 12, "anthropic")):
        message = dict(message)
        if message["role"] == "assistant":
            usage = {"input_tokens": 10, "cache_read_input_tokens": 90 * i, "cache_creation_input_tokens": 90,
                     "output_tokens": 5}  # fmt: skip
            message |= {"id": f"msg_{i}", "model": "claude-sonnet-4-5-20250929", "usage": usage}
        record = {
            "uuid": f"u{i}",
            "type": message["role"],
            "message": message,
            "timestamp": f"2026-11-30T12:00:{i:02}Z",
        }
        records += [record]
    path = tmp_path / "session.json"
    path.write_text(json.dumps({"messages": records, "system": "Be brief."}), encoding="utf-8")
    return path


def test_misses_and_sums_are_shown(recording: Path) -> None:
    shown = run(recording, *SONNET).output
    assert re.search(r"^ +10 +2 +\d+ +pass ", shown, re.MULTILINE), shown
    assert "prompt cache of anthropic:claude-sonnet-4-5" in shown
    for line in ("views, predicted", "as recorded, predicted", "as recorded, measured"):
        assert line in shown
    assert "measured: claude-sonnet-4-5-20250929" in shown
    said = "0.1 read, 1.25 written (5m), 2 written (1h), $3 a million tokens; litellm 1.110.2"
    assert said in " ".join(shown.split())


def test_json_has_all_of_it(recording: Path) -> None:
    document = json.loads(run(recording, *SONNET, "--json").output)
    (session,) = document["sessions"]
    assert session["cache"]["measured"]["requests"] == 12
    assert session["cache"]["measured"]["token_hit"] == sum(90 * i for i in range(1, 25, 2)) / sum(
        90 * i + 100 for i in range(1, 25, 2)
    )
    assert session["cache"]["views"]["requests"] == 12
    assert session["cache"]["views"]["misses"][0]["cause"] == "pass"
    turn = session["per_turn"][3]
    assert turn["cache"]["prompt"] == sum(turn["cache"]["written"].values()) + turn["cache"]["cached"]
    assert turn["measured"]["cached"] == 90 * 7


@pytest.mark.parametrize("model", ["vllm", "openai:gpt-5", "openai:gpt-5.6", "deepseek:deepseek-v4-flash"])
def test_every_kind_of_cache(recording: Path, model: str) -> None:
    done = run(recording, "--cache", model)
    assert done.exit_code == 0
    assert "token" in done.output


@pytest.mark.parametrize(
    ("suffix", "begin"), [(".svg", b"<svg"), (".png", b"\x89PNG"), (".html", b"\n<!DOCTYPE html>")]
)
def test_a_picture_is_drawn(recording: Path, tmp_path: Path, suffix: str, begin: bytes) -> None:
    out = tmp_path / f"out{suffix}"
    done = run(recording, *SONNET, "--plot", out)
    assert done.exit_code == 0, done.output
    data = out.read_bytes()
    assert data.lstrip()[:30].lower().startswith(begin.strip().lower())
    if suffix == ".svg":
        for text in (b"of the input tokens read from the cache", b"pass", b"sent before, read again", b"as recorded"):
            assert text in data


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--cache", "claude-opus-4-9"], "must name a model as in provider:model; got 'claude-opus-4-9'"),
        (["--plot", "out.svg"], "--plot draws one recording with --cache MODEL; got no --cache"),
        ([*SONNET, "--plot", "out.gif"], "--plot must end in .svg, .png, .html; got 'out.gif'"),
    ],
)
def test_wrong_usage_is_said_before_the_work(recording: Path, arguments: list[str], said: str) -> None:
    done = run(recording, *arguments)
    assert done.exit_code == 2
    assert said in " ".join(done.output.split())


def test_usage_of_claude_code_counts_once(tmp_path: Path) -> None:
    """Each record of a response repeats it; what a side chain used is not this session's."""
    usage = {"input_tokens": 1, "cache_read_input_tokens": 2}
    said = {"role": "assistant", "id": "m1", "model": "claude-opus-5", "usage": usage}
    records = [
        {"uuid": "a", "type": "user", "message": {"role": "user", "content": "Go."}},
        {"uuid": "b", "type": "assistant", "isSidechain": True, "message": {**said, "id": "m0", "content": []}},
        {"uuid": "c", "type": "assistant", "message": {**said, "content": [{"type": "text", "text": "One."}]},
         "timestamp": "1970-01-01T00:01:00Z"},
        {"uuid": "d", "type": "assistant", "message": {**said, "content": [{"type": "text", "text": "Two."}]}},
    ]  # fmt: skip
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    assert read(path).replies == {1: [Reply(usage, "claude-opus-5", 60.0)]}


def test_usage_of_a_codex_rollout(tmp_path: Path) -> None:
    """The counts follow the items of a response, and come again with the same sums."""
    usage = {"input_tokens": 100, "cached_input_tokens": 64, "output_tokens": 5}

    def item(**payload: Any) -> dict[str, Any]:
        return {"type": "response_item", "payload": payload}

    def counts(total: int) -> dict[str, Any]:
        info = {"total_token_usage": {"total_tokens": total}, "last_token_usage": usage}
        return {
            "type": "event_msg",
            "timestamp": "1970-01-01T00:00:30Z",
            "payload": {"type": "token_count", "info": info},
        }

    records = [
        {"type": "session_meta", "payload": {"id": "x"}},
        {"type": "turn_context", "payload": {"model": "gpt-5-codex"}},
        item(type="message", role="user", content=[{"type": "input_text", "text": "Go."}]),
        item(type="reasoning", summary=[]),
        item(type="function_call", call_id="c", name="shell", arguments="{}"),
        counts(105),
        item(type="function_call_output", call_id="c", output="done"),
        counts(105),
        item(type="message", role="assistant", content=[{"type": "output_text", "text": "Done."}]),
        counts(210),
    ]
    path = tmp_path / "rollout.jsonl"
    path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    reply = Reply(usage, "gpt-5-codex", 30.0)
    assert read(path).replies == {1: [reply], 4: [reply]}


def test_usage_of_pi(tmp_path: Path) -> None:
    usage = {"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4}
    records = [
        {"type": "message", "message": {"role": "user", "content": "Go."}},
        {
            "type": "message",
            "message": {"role": "assistant", "content": "Done.", "usage": usage, "model": "claude-opus-4-5"},
        },
    ]
    path = tmp_path / "pi.jsonl"
    path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    assert read(path).replies == {1: [Reply(usage, "claude-opus-4-5", None)]}


def test_usage_of_no_known_shape_is_said(tmp_path: Path) -> None:
    """Without --cache nobody asks for it."""
    said = {"role": "assistant", "id": "m", "usage": {"tokens": 5}, "content": [{"type": "text", "text": "Done."}]}
    records = [
        {"uuid": "a", "type": "user", "message": {"role": "user", "content": "Go."}},
        {"uuid": "b", "type": "assistant", "message": said},
    ]
    path = tmp_path / "a.json"
    path.write_text(json.dumps(records), encoding="utf-8")
    done = run(path, *SONNET)
    assert done.exit_code == 1
    assert "this one has the keys: tokens" in done.output
    assert run(path).exit_code == 0
