"""One-line summaries for the anchor: what a turn did, from the model's own words and its calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ga_context.text.data import LEAST_LINE, without_data

SUMMARY_OPEN, SUMMARY_CLOSE = "<summary>", "</summary>"

ARGUMENT_KEYS = ("path", "file", "url", "query", "name", "command", "code", "script")
"""The main argument of a call is the first of these that is present (spec 4.4)."""

ARGUMENT_CHARS = 60
LINE_CHARS = 200
SHOWN_CALLS = 3
"""A line shows this many calls, then how many more there were (spec 4.4)."""


def written_summary(text: str) -> str:
    """Return the content of the last ``<summary>`` pair in ``text``, or an empty string."""
    end = text.rfind(SUMMARY_CLOSE)
    start = text.rfind(SUMMARY_OPEN, 0, end) if end >= 0 else -1
    return text[start + len(SUMMARY_OPEN) : end] if start >= 0 else ""


def first_line(text: str, chars: int) -> str:
    """Return the first line of ``text`` that is not blank, at most ``chars`` characters of it, on one line."""
    if not text:
        return ""
    text = text[: chars * 40]
    line = _first(text)
    if len(line) >= LEAST_LINE or "data:" in line:
        line = _first(without_data(text))
    return printable(line)[:chars].rstrip()


def _first(text: str) -> str:
    for line in text.splitlines():
        if line.strip():
            return line.strip()
    return ""


def printable(text: str) -> str:
    """Return ``text`` with every character that does not print (control, surrogate) as a space."""
    return text if text.isprintable() else "".join([char if char.isprintable() else " " for char in text])


def main_argument(strings: Iterator[tuple[tuple[str | int, ...], str]], data: Any) -> str:
    """Return the main argument of a call for its line.

    Args:
        strings: the string leaves of ``data`` with their paths, in order.
        data: the call's input.
    """
    if isinstance(data, dict):
        for key in ARGUMENT_KEYS:
            if isinstance(value := data.get(key), str | int | float):
                return first_line(str(value), ARGUMENT_CHARS)
    return next((first_line(text, ARGUMENT_CHARS) for _, text in strings if text.strip()), "")


def turn_line(turn: int, summary: str, calls: tuple[tuple[str, str], ...], summary_chars: int) -> str:
    """Return ``[turn] summary | tool argument | ... +n``, at most 200 characters.

    What does not fit is taken from the summary first, then from the longest arguments: the arguments are what the
    agent needs to find its way back.
    """
    label, more = f"[{turn}]", len(calls) - SHOWN_CALLS
    rest = f" +{more}" if more > 0 else ""
    shown = [(printable(tool)[:ARGUMENT_CHARS], argument) for tool, argument in calls[:SHOWN_CALLS]]
    room = LINE_CHARS - len(label) - len(rest)
    parts = _fitted(shown, room)
    room -= len(parts)
    text = printable(summary).strip()[: max(0, min(summary_chars, room - 1))].rstrip()
    return label + (f" {text}" if text else "") + parts + rest


def _fitted(calls: list[tuple[str, str]], room: int) -> str:
    """Return `` | tool argument`` for each call, the longest arguments shortened until all fit into ``room``."""
    level = ARGUMENT_CHARS
    while True:
        text = "".join([" | " + f"{tool} {argument[:level]}".strip() for tool, argument in calls])
        if len(text) <= room or level == 0:
            return text[:room]
        level -= 1
