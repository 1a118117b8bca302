"""What each turn did and what the user asked: counted and written down once, when a message comes in."""

from __future__ import annotations

from ga_context.formats.base import leaves
from ga_context.model import Incoming, Line
from ga_context.state import State
from ga_context.text.summary import LINE_CHARS, first_line, main_argument, turn_line, written_summary

CHECKPOINT_TOOL = "update_working_checkpoint"
"""The tool by which the agent writes key_info (spec 4.4)."""


def enter(state: State, incoming: Incoming, summary_chars: int) -> None:
    """Count a message that is about to be placed, and write its line."""
    marks, speaking = state.marks, incoming.side == "assistant"
    if speaking and not marks.speaking:
        marks.responses += 1
    marks.speaking = speaking
    chars = incoming.chars_given
    marks.raw_chars += chars
    state.sizes.append(chars)
    state.raw.append(incoming.raw if incoming.given is None else incoming.given)
    marks.payload_bytes += state.fmt.load(incoming.blocks)[0]
    if speaking:
        _enter_response(state, incoming, summary_chars)


def enter_placed(state: State, incoming: Incoming) -> None:
    """Note what only the placed message tells: whether it held results or a request."""
    marks = state.marks
    ordinal = marks.messages
    marks.messages = ordinal + 1
    if incoming.blocks and incoming.blocks[-1].kind == "anchor" and len(incoming.blocks) == 1:
        return  # one of ours, fed back: it says nothing of the caller's
    marks.user_last = incoming.side in ("user", "tool")
    marks.with_results = (bool(state.pairs) and state.pairs[-1][0] == ordinal) or incoming.side == "tool"
    request = _request(state, incoming, marks.with_results) if incoming.side == "user" else None
    if request is not None:
        marks.request = ordinal
        state.lines.append(Line(ordinal, marks.responses, f"[user] {request}"[:LINE_CHARS], request=True))


def _request(state: State, incoming: Incoming, results: bool) -> str | None:
    """Return the first line of the user's own text in a message, or None when it holds none."""
    if state.fmt.tagged and results:
        return None
    texts = [text for block in incoming.blocks if block.kind == "text" for _, text in state.fmt.texts(block)]
    said = next((text for text in texts if text.strip()), None)
    return first_line(said, LINE_CHARS) if said is not None else None


def _enter_response(state: State, incoming: Incoming, summary_chars: int) -> None:
    """Write the turn's line anew with what this message adds to the response."""
    marks = state.marks
    last = state.lines[-1] if state.lines else None
    going_on = last if last is not None and last.turn == marks.responses and not last.request else None
    if going_on is not None:
        state.lines.pop()
    calls = list(going_on.calls) if going_on else []
    summary, said = (going_on.summary, going_on.said) if going_on else ("", "")
    for block in incoming.blocks:
        if block.kind == "call":
            calls += [(tool, _argument(state, tool, data)) for tool, data in state.fmt.calls(block)]
        if block.kind == "text" or (block.kind == "call" and state.fmt.tagged):
            for _, text in state.fmt.texts(block):
                summary = first_line(written_summary(text), LINE_CHARS) or summary
    if not calls and not summary and not said:
        texts = [text for block in incoming.blocks if block.kind == "text" for _, text in state.fmt.texts(block)]
        said = next((line for text in texts if (line := first_line(text, summary_chars))), "")
    line = turn_line(marks.responses, summary or ("" if calls else said), tuple(calls), summary_chars)
    state.lines.append(Line(marks.messages, marks.responses, line, summary=summary, calls=tuple(calls), said=said))


def _argument(state: State, tool: str, data: object) -> str:
    if tool == CHECKPOINT_TOOL and isinstance(data, dict) and isinstance(data.get("key_info"), str):
        sop = data.get("related_sop")
        state.mark(key_info=data["key_info"] + (f"\nrelated_sop: {sop}" if isinstance(sop, str) and sop else ""))
    return main_argument(leaves(data), data)
