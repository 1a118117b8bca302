"""The two tools that the session itself answers: ``recall_context`` and ``update_working_checkpoint``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ga_context import recall
from ga_context.config import ContextConfig
from ga_context.formats.base import Format
from ga_context.ledger import CHECKPOINT_TOOL
from ga_context.model import Message
from ga_context.recall import RECALL_TOOL, Answer
from ga_context.state import State
from ga_context.text.plain import as_data

CHECKPOINT_DESCRIPTION = (
    "Write down what must not be forgotten: the goal, decisions, findings, what is still open. It replaces what was "
    "written down before and is shown again each turn, also when older messages have been shortened or left out."
)
CHECKPOINT_PARAMETERS: Message = {
    "type": "object",
    "properties": {
        "key_info": {"type": "string", "description": "All that is to be kept in mind from now on."},
        "related_sop": {"type": "string", "description": "Where the procedure that is followed is written, if any."},
    },
    "required": ["key_info"],
}
"""The arguments that the report's agent writes (spec 4.4)."""

NOTED = "noted; it is shown in the working memory from the next turn on"


def definitions(fmt: Format) -> list[Message]:
    """Return the definitions of both tools as they stand in a request's list of tools."""
    ours = (
        (RECALL_TOOL, recall.DESCRIPTION, recall.PARAMETERS),
        (CHECKPOINT_TOOL, CHECKPOINT_DESCRIPTION, CHECKPOINT_PARAMETERS),
    )
    return fmt.offered([fmt.tool(*one) for one in ours])


def handle(state: State, config: ContextConfig, call: Any) -> Any:
    """Return the result of a call of one of the two tools, or None for anything else.

    Args:
        state: of the session.
        config: of the session.
        call: as it stands in the model's message; a dict, or an SDK's object with the same attributes.
    """
    block = state.fmt.as_call(as_data(call))
    if block is None or block.tools not in ((RECALL_TOOL,), (CHECKPOINT_TOOL,)):
        return None
    given = state.fmt.calls(block)[0][1]
    told = recall.answer(state, config, given) if block.tools == (RECALL_TOOL,) else _noted(given)
    return state.fmt.answer(block, told.text, failed=told.failed)


def _noted(given: Any) -> Answer:
    """Say that notes were taken; ``prepare`` takes them from the call itself, when it comes in with the list."""
    if isinstance(given, Mapping) and isinstance(given.get("key_info"), str):
        return Answer(NOTED)
    return Answer('error: the input must be an object with a string under "key_info"; nothing was noted', failed=True)
