"""The agent loop: view, reply, tool results, and again; and what the run shows about memory."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ga_context import Action, ContextSession, Report
from ga_context.demo import tools
from ga_context.demo.policy import Message, Policy, newest_text, text_of
from ga_context.demo.script import REQUEST
from ga_context.text.marker import TITLE


@dataclass(frozen=True, slots=True)
class Turn:
    """What happened in one turn, for the screen."""

    report: Report
    calls: tuple[tuple[str, str], ...]
    """Tool and main argument of each call."""
    said: str
    """The reply's text, when it has no calls."""
    anchor: str
    """The anchor at the end of this turn's view, "" when there is none."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What the run shows about memory."""

    asked: int
    """Facts that the policy looked up in its views."""
    found: int
    anchor_recall: float
    """Share of the notes and of the last 20 turns' main arguments that stand in the last view (spec 12)."""
    references: int
    """Distinct references of the reports' actions."""
    equal: int
    """Those that give back the original, byte for byte."""
    chars: int
    """Characters recalled."""
    longest: tuple[str, int]
    """The reference with the most behind it, and its characters."""


@dataclass(slots=True)
class Agent:
    """The loop: view, reply, tool results, and again."""

    session: ContextSession
    root: Path
    policy: Policy = field(default_factory=Policy)
    messages: list[Message] = field(default_factory=lambda: [_user_says(REQUEST)])
    """The raw history, only ever appended to."""
    anchors: set[str] = field(default_factory=set)
    """Every anchor that was sent."""

    def run(self, turns: int) -> Iterator[Turn]:
        """Play the loop and yield after each reply."""
        for left in range(turns, 0, -1):
            view: list[Message] = self.session.prepare(self.messages)
            assert self.session.report is not None
            anchor = _anchor(view)
            self.anchors.add(anchor)
            reply, said = self.policy.reply(view, left)
            self.messages.append(reply)
            if results := [self._result(block) for block in reply["content"] if block["type"] == "tool_use"]:
                self.messages.append({"role": "user", "content": results})
            elif left > 1:
                self.messages.append(_user_says(said or "Go on."))
            yield Turn(self.session.report, _main_arguments(reply), "" if results else text_of(reply), anchor)

    def _result(self, block: Message) -> Message:
        text, failed = tools.call(self.root, block["name"], block["input"])
        result = {"type": "tool_result", "tool_use_id": block["id"], "content": text}
        return {**result, "is_error": True} if failed else result

    def prove(self) -> Proof:
        """Look for what should be remembered in the last view, and recall everything that was cut."""
        view = json.dumps(self.session.request()["messages"], ensure_ascii=False)
        wanted = _to_remember(self.messages)
        cuts = {one.ref: one for report in self.session.reports for one in report.actions if one.ref}
        chars = {ref: len(self.session.recall(ref)) for ref in cuts}
        return Proof(
            asked=self.policy.asked,
            found=self.policy.found,
            anchor_recall=sum(_as_json(text) in view for text in wanted) / len(wanted) if wanted else 1.0,
            references=len(cuts),
            equal=sum(self._recalls(cut) for cut in cuts.values()),
            chars=sum(chars.values()),
            longest=max(chars.items(), key=lambda pair: pair[1], default=("", 0)),
        )

    def _recalls(self, cut: Action) -> bool:
        """Compare what a reference gives back with what was cut: messages, a block, a text, an old anchor."""
        recalled = self.session.recall(cut.ref or "")
        if cut.last is not None:
            return bool(recalled == json.dumps(self.messages[cut.message : cut.last + 1], ensure_ascii=False))
        message = self.messages[cut.message]
        blocks = [json.dumps(block, ensure_ascii=False) for block in message["content"]]
        return recalled in self.anchors or recalled in [*blocks, *_strings(message)]

    def recording(self) -> str:
        """Give the raw history as JSON, in the form that `ga-context replay` reads."""
        return json.dumps({"format": "anthropic", "messages": self.messages}, ensure_ascii=False, indent=1) + "\n"


def _user_says(text: str) -> Message:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def _anchor(view: Sequence[Message]) -> str:
    """The anchor at the end of the newest message, "" where there is none."""
    title, rest = newest_text(view).rpartition(TITLE)[1:]
    return title + rest


def _to_remember(raw: Sequence[Message]) -> list[str]:
    """The newest note, and the main arguments of the first 3 calls of each of the last 20 turns (spec 12)."""
    replies = [message for message in raw if message["role"] == "assistant"][:-1]
    inputs = [block["input"] for reply in replies for block in reply["content"] if block["type"] == "tool_use"]
    notes = [given["key_info"] for given in inputs if "key_info" in given]
    return notes[-1:] + [text[:60].rstrip() for reply in replies[-20:] for _, text in _main_arguments(reply)[:3]]


def _strings(value: Any) -> Iterator[str]:
    """Every text in a message."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner)


def _as_json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _main_arguments(reply: Message) -> tuple[tuple[str, str], ...]:
    uses = [block for block in reply["content"] if block["type"] == "tool_use"]
    return tuple((block["name"], _first_line(next(iter(block["input"].values())))) for block in uses)


def _first_line(text: str) -> str:
    return text.strip().splitlines()[0]
