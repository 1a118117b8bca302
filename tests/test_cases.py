"""Bug cases in the shape of public reports, with their own checker. Needs the shared folder."""

import copy
import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import ga_context as ga

CASES = [
    "01-orphan-tool-message-at-head",
    "03-orphan-in-mixed-user-message",
    "05-unanswered-call-before-user-text",
    "07-call-kept-result-truncated-away",
    "10-parallel-results-partly-missing",
    "11-first-message-assistant",
    "13-consecutive-user-after-repair",
    "14-only-system-left",
    "15-signed-thinking-head-tail-cut",
    "18-redacted-thinking-data-cut",
    "19-responses-output-without-call",
    "24-gemini-call-turn-first",
    "26-bedrock-expected-toolresult-ids",
    "28-bedrock-result-json-flattened",
    "29-empty-after-thinking-strip",
    "31-orphan-cascade-empties-all",
    "32-half-unicode-escape",
    "34-grapheme-cluster-split",
    "35-json-result-cut-mid-string",
    "36-image-counted-as-text",
    "38-data-uri-cut",
    "43-five-cache-markers",
    "46-system-evicted-first",
    "50-single-message-over-budget",
    "52-marker-not-counted-loop",
    "54-compacts-every-turn",
    "58-arguments-invalid-json",
    "60-same-id-in-different-turns-is-legal",
    "62-literal-tag-in-backticks",
    "64-nested-tags",
    "66-pop-and-recount",
    "68-input-list-mutated",
    "70-html-error-page-2mb",
    "76-recall-result-recompressed",
    "78-notice-read-as-instruction",
    "80-content-that-looks-like-a-marker",
]
NUMBERS = {
    "budget_chars": ("budget", "chars"),
    "target_ratio": ("budget", "evict_to"),
    "context_win_tokens": ("budget", "window_tokens"),
    "chars_per_token": ("budget", "chars_per_token"),
    "image_cost_chars": ("budget", "payload_chars"),
    "max_body_bytes": ("budget", "body_bytes"),
    "keep_recent": ("compact", "keep_recent"),
    "compact_interval": ("compact", "interval"),
    "tag_window": ("compact", "window_chars"),
}
"""Names of the cases -> keys of the library (cases/README.md)."""


def config_of(case: dict[str, Any]) -> ga.ContextConfig:
    """Return the configuration that the case asks for, on the report's numbers, without an anchor."""
    sections: dict[str, Any] = {"budget": {"on_exceeded": "report"}, "anchor": {"placement": "off"}, "tools": {}}
    for name, value in case["config"].items():
        if name in NUMBERS:
            section, key = NUMBERS[name]
            sections.setdefault(section, {})[key] = value
    for tool, limit in case["config"].get("tool_limits", {}).items():
        sections["tools"]["*" if tool == "default" else tool] = {"limit": limit}
    if "keep_recent" in sections.get("compact", {}):
        sections["compact"]["keep_recent_on_eviction"] = min(4, sections["compact"]["keep_recent"])
    return ga.ContextConfig.generic_agent(**sections)


@pytest.fixture(scope="module")
def checker(shared: Path) -> ModuleType:
    """The cases' own property checkers."""
    spec = importlib.util.spec_from_file_location("case_checks", shared / "cases" / "check.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", CASES)
def test_a_reported_case_holds(shared: Path, checker: ModuleType, name: str) -> None:
    """Every check of the case is empty on the view, and the input is what it was."""
    case = json.loads((shared / "cases" / f"{name}.json").read_text(encoding="utf-8"))
    raw = eval(case["generator"]) if case.get("generator") else case["messages"]
    before = copy.deepcopy(raw)
    session = ga.ContextSession(config_of(case), format=case["format"])
    view = session.prepare(raw)
    problems = [problem for check in case["checks"] for problem in checker.check(check, view, case, raw)]
    assert problems == []
    assert raw == before
    assert session.prepare(raw) == view


@pytest.mark.parametrize("name", ["08-parallel-calls-pairwise-drop", "22-responses-reasoning-heads-parallel-group"])
def test_a_case_too_small_for_the_newest_exchange(shared: Path, checker: ModuleType, name: str) -> None:
    """What the case lets go, spec 3 keeps: the newest exchange is whole, and that it does not fit is said."""
    case = json.loads((shared / "cases" / f"{name}.json").read_text(encoding="utf-8"))
    session = ga.ContextSession(config_of(case), format=case["format"])
    view = session.prepare(case["messages"])
    assert checker.check("pairing", view, case, case["messages"]) == []
    assert [m["call_id"] for m in view if "call_id" in m] == [m["call_id"] for m in case["messages"] if "call_id" in m]
    assert session.report is not None
    assert session.report.chars_after > session.report.budget_chars


def test_reasoning_goes_with_what_follows_it(shared: Path, checker: ModuleType) -> None:
    """Case 20, asked on: its call is answered by a placeholder and the chain of reasoning stays whole.

    As the case stands its call is the newest item, which spec 6 leaves open and reports as pending.
    """
    case = json.loads((shared / "cases" / "20-responses-reasoning-chain-dangling.json").read_text(encoding="utf-8"))
    session = ga.ContextSession(config_of(case), format=case["format"])
    raw = case["messages"]
    assert session.prepare(raw) == raw
    assert session.report is not None
    assert session.report.pending == ["c1"]
    view = session.prepare([*raw, {"role": "user", "content": "Go on."}])
    assert checker.check("pairing", view, case, raw) == []
    assert view[:4] == raw


def test_an_unchanged_case_is_the_same_objects() -> None:
    """Where nothing has to be done, the caller's own dicts come back."""
    raw = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "x"}, {"role": "user", "content": "b"}]
    view = ga.ContextSession(format="openai-chat").prepare(raw)
    assert all(a is b for a, b in zip(view, raw, strict=True))
