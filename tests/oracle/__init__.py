"""Judge a view by the rules of its provider, written from spec 6 alone and apart from the library.

`faults` needs only the view, `relation_faults` and `text_faults` the raw history too. Each returns a list of
sentences; an empty list means that nothing is wrong.
Where the spec leaves two readings open, only what is wrong in both counts as a fault.

A format is a module with one `Rules` (see `common`) and a line in the table below.
"""

from __future__ import annotations

import re
from typing import Any

from oracle import relations
from oracle.anthropic import RULES as ANTHROPIC
from oracle.bedrock import RULES as BEDROCK
from oracle.common import Message, Rules, leaf_fault, leaves
from oracle.gemini import RULES as GEMINI
from oracle.openai_chat import RULES as OPENAI_CHAT
from oracle.openai_chat import template_faults
from oracle.openai_responses import RULES as OPENAI_RESPONSES
from oracle.relations import changed_last_calls, changed_system, lost_request, mispaired
from oracle.tagged_text import RULES as TEXT
from oracle.tagged_text import text_faults

__all__ = [
    "FORMATS",
    "calls_of",
    "faults",
    "newest_request",
    "outputs",
    "relation_faults",
    "side_of",
    "text_faults",
    "texts_of",
]

_RULES = {
    "anthropic": ANTHROPIC,
    "openai-chat": OPENAI_CHAT,
    "openai-responses": OPENAI_RESPONSES,
    "gemini": GEMINI,
    "bedrock": BEDROCK,
    "text": TEXT,
}
FORMATS = tuple(_RULES)


def faults(view: list[Message], format: str, *, alternate: bool = False) -> list[str]:
    """Return what a provider of this format would refuse in `view`, as far as the view alone shows it.

    `alternate` is for a server of openai-chat whose chat template refuses two users, or two assistants, in a row.
    """
    shapeless = [f"message {i}: no dict" for i, message in enumerate(view) if not isinstance(message, dict)]
    if shapeless:
        return shapeless
    rules = _RULES[format]
    found = [*_unsendable(view, rules), *_unknown_roles(view, rules), *rules.view(view)]
    return [*found, *template_faults(view)] if alternate and format == "openai-chat" else found


def relation_faults(raw: list[Message], view: list[Message], format: str, *, request_cut: bool = False) -> list[str]:
    """Return what `view` lost or altered of `raw` that spec 3.8 and 6 protect.

    `raw` is the caller's own history (not a view fed back: its anchors would look like requests).
    `request_cut` says that the report names step iii of promise 3: a request of more than 2,000 characters may be cut.
    """
    rules = _RULES[format]
    found = [*changed_system(raw, view, rules), *lost_request(raw, view, rules, request_cut)]
    found += changed_last_calls(raw, view, rules)
    return [*found, *rules.relation(raw, view), *mispaired(raw, view, rules)]


def newest_request(raw: list[Message], format: str) -> list[str] | None:
    """Return the texts of the newest user request, [] if there is none, None if the readings differ."""
    return relations.newest_request(raw, _RULES[format])


def texts_of(message: Message, format: str) -> list[str]:
    """Return the texts of a message that stand in it directly, not inside a result."""
    return _RULES[format].texts(message)


def calls_of(message: Message, format: str) -> list[tuple[Any, Any]]:
    """Return name and arguments of each call of a message."""
    return _RULES[format].calls(message)


def outputs(view: list[Message], format: str) -> list[str]:
    """Return the texts of the tool results in a view, in order."""
    rules = _RULES[format]
    if rules.steps is not None:
        return [text for _, results in rules.steps(view) for _, text in results]
    said = "\n".join(text for message in view if rules.side(message) == "user" for text in rules.texts(message))
    return re.findall("<tool_result>(.*?)</tool_result>", said, re.DOTALL)


def side_of(message: Message, format: str) -> str | None:
    """Return whose a message is: system, user, assistant, or None (such as results in a role of their own)."""
    return _RULES[format].side(message)


def _unsendable(view: list[Message], rules: Rules) -> list[str]:
    pairs = ((i, leaf_fault(leaf, binary=rules.binary)) for i, message in enumerate(view) for leaf in leaves(message))
    return [f"message {i}: {fault}" for i, fault in pairs if fault]


def _unknown_roles(view: list[Message], rules: Rules) -> list[str]:
    return [f"message {i}: role {m.get('role')!r}" for i, m in enumerate(view) if m.get("role") not in rules.roles]
