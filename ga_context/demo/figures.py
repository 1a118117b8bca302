"""Words and figures of the demo, read from the session's reports; nothing here looks into a message."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ga_context import Action, Report
from ga_context.cache.definitions import append_rate
from ga_context.demo.agent import Proof

STAGES = {"truncate": "yellow", "compact": "cyan", "evict": "magenta", "repair": "red"}
"""Stages that take something away, in the order of the pipeline, and their colors."""


def by_stage(reports: Iterable[Report]) -> dict[str, list[Action]]:
    """Group what was taken away or repaired, in the order of the pipeline."""
    actions = [action for report in reports for action in report.actions]
    return {stage: found for stage in STAGES if (found := [one for one in actions if one.stage == stage])}


def places(actions: Sequence[Action]) -> str:
    """Name the messages that one stage cut in a turn."""
    runs = [one for one in actions if one.last is not None]
    if runs:
        return f"messages {runs[0].message}-{runs[-1].last}"
    return f"message {actions[0].message}" if len(actions) == 1 else f"{len(actions)} texts"


def chars_cut(actions: Sequence[Action]) -> str:
    """Give the characters before and after."""
    return f"{sum(one.chars_before for one in actions):,} -> {sum(one.chars_after for one in actions):,}"


def share_of_budget(report: Report) -> str:
    """The view's share of B, rounded down, so that 100% is reached only by what is full."""
    return f"{report.chars_after * 100 // report.budget_chars}%"


def _evicted(actions: Iterable[Action]) -> int:
    return sum(one.last - one.message + 1 for one in actions if one.last is not None)


def sum_up(reports: Sequence[Report], calls: int, proof: Proof) -> list[tuple[str, str]]:
    """The figures of the whole run, each with a name."""
    last, budget = reports[-1], reports[-1].budget_chars
    largest = max(reports, key=lambda report: report.chars_after)
    sent, unprepared = sum(report.chars_after for report in reports), sum(report.chars_raw for report in reports)
    kept = [report.first_changed is None for report in reports]
    found = by_stage(reports)
    cut, compacted, evicted = (found.get(stage, []) for stage in ("truncate", "compact", "evict"))
    passes, evictions = sum(report.compacted for report in reports), sum(bool(report.evicted) for report in reports)
    rows = [
        ("turns", f"{len(reports)}, with {calls} tool calls"),
        ("raw history", f"{last.chars_raw:,} characters, {last.chars_raw / budget:.1f} times B"),
        ("largest view", f"{largest.chars_after:,} characters, {share_of_budget(largest)} of B"),
        ("sent in all", f"{sent:,} characters; the raw history would have been {unprepared:,}"),
        ("truncated", f"{len(cut)} tool results, {chars_cut(cut)} characters"),
        ("compacted", f"{len(compacted)} texts in {passes} passes, {chars_cut(compacted)} characters"),
        ("evicted", f"{_evicted(evicted)} messages in {evictions} evictions"),
        ("repairs", f"{len(found.get('repair', []))}, so that every view is valid"),
        ("prefix kept", f"in {sum(kept[1:])} of {len(kept)} turns (append_rate {append_rate(kept):.2f})"),
    ]
    return rows + _memory(proof)


def _memory(proof: Proof) -> list[tuple[str, str]]:
    rows = [("anchor recall", f"{proof.anchor_recall:.2f} of the last 20 turns' main arguments, and the notes")]
    if proof.asked:
        rows.insert(0, ("memory", f"{proof.found} of {proof.asked} facts that the script needed stood in its view"))
    if proof.references:
        of_all = f"{proof.equal} of {proof.references} references, byte for byte, {proof.chars:,} characters;"
        rows.append(("recalled", of_all))
        rows.append(("", f'recall("{proof.longest[0]}") alone gives back {proof.longest[1]:,}'))
    return rows


def fit(text: str, width: int) -> str:
    """Make one line of a text, at most so wide."""
    line = text.replace("\n", " ")
    return line if len(line) <= width else line[: max(width - 3, 0)] + "..."
