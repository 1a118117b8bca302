"""Wire formats: one small file each, and which one a list is in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ga_context.config import ContextConfig
from ga_context.errors import ConfigError
from ga_context.formats.anthropic import Anthropic, is_reply
from ga_context.formats.base import Format
from ga_context.formats.bedrock import KEYS as BEDROCK_KEYS
from ga_context.formats.bedrock import Bedrock
from ga_context.formats.gemini import Gemini
from ga_context.formats.openai_chat import AlternatingChat, OpenAIChat
from ga_context.formats.openai_responses import OpenAIResponses
from ga_context.formats.tagged_text import CALL_TAGS, TaggedText
from ga_context.payload.charge import Charges
from ga_context.text.size import UNIFORM, Measure
from ga_context.text.tags import pairs

CLASSES = (Anthropic, OpenAIChat, OpenAIResponses, Gemini, Bedrock, TaggedText)
FORMATS: dict[str, type[Format]] = {cls.name: cls for cls in CLASSES}

ANTHROPIC_BLOCKS = frozenset({"tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document"})
"""Block types that only the Messages API has; server tools (``server_tool_use``, ...) end in these names too."""

OPENAI_CHAT_PARTS = frozenset({"image_url", "input_audio", "file", "refusal"})
OPENAI_CHAT_KEYS = ("tool_calls", "function_call", "tool_call_id", "reasoning_content", "refusal", "audio")
OPENAI_CHAT_ROLES = frozenset({"tool", "function"})

RESPONSES_PARTS = frozenset({"input_text", "output_text", "input_image", "input_file"})
RESPONSES_ITEMS = ("_call", "_call_output", "reasoning", "item_reference", "compaction", "mcp_list_tools")
"""How the types of items end that are no messages."""
RESPONSES_KEYS = ("previous_response_id", "conversation")


def make(name: str, charges: Charges, *, alternate: bool = False, measure: Measure = UNIFORM) -> Format:
    """Return the format of that name; an unknown one is a ``ConfigError`` that lists the known.

    ``alternate`` is for openai-chat alone: neighbours of one role become one message.
    """
    if name not in FORMATS:
        known = ", ".join(map(repr, FORMATS))
        raise ConfigError(f"`format` must be one of {known}, or None to detect it; got {name!r}")
    chosen = AlternatingChat if alternate and name == AlternatingChat.name else FORMATS[name]
    return chosen(charges, measure)


def of(name: str, config: ContextConfig) -> Format:
    """Return the format of that name as a configuration wants it: charges, measure, and who may follow whom."""
    return make(name, config.charges, alternate=config.formats.openai_chat.alternate, measure=config.measure)


def detect(messages: Sequence[Any]) -> str | None:
    """Return the name of the format that ``messages`` show, or None while nothing in them is decisive (spec 6)."""
    tagged = untyped = False
    for message in messages:
        if not isinstance(message, dict):
            continue
        if _is_gemini(message):
            return "gemini"
        content = message.get("content")
        items = [item for item in content if isinstance(item, dict)] if isinstance(content, list | tuple) else []
        kinds = {kind for item in items if isinstance(kind := item.get("type"), str)}
        if kinds & RESPONSES_PARTS or _is_item(message):
            return "openai-responses"
        if str(message.get("role")) in OPENAI_CHAT_ROLES or any(message.get(key) for key in OPENAI_CHAT_KEYS):
            return "openai-chat"
        if any(map(_is_anthropic, kinds)) or is_reply(message):
            return "anthropic"
        if kinds & OPENAI_CHAT_PARTS:
            return "openai-chat"
        if any(map(_is_bedrock, items)):
            return "bedrock"
        untyped = untyped or any(map(_is_untyped, items))
        tagged = tagged or (message.get("role") == "assistant" and _holds_call(content))
    if untyped:
        return "bedrock"
    return "text" if tagged else None


def _is_gemini(message: Mapping[Any, Any]) -> bool:
    """Return whether it has parts, or the role that no other format has."""
    role = message.get("role")
    return role == "model" or (isinstance(message.get("parts"), list | tuple) and role in (None, *Gemini.sides))


def _is_anthropic(kind: str) -> bool:
    return kind in ANTHROPIC_BLOCKS or kind.endswith(("_tool_use", "_tool_result"))


def _is_bedrock(item: Mapping[Any, Any]) -> bool:
    """Return whether a block has no type but a key of Converse; a text is enough, in other formats it has a type."""
    return "type" not in item and not BEDROCK_KEYS.isdisjoint(item)


def _is_untyped(item: Mapping[Any, Any]) -> bool:
    """Return whether it is a block of Converse that is not known yet: one key, and what belongs to it."""
    return len(item) == 1 and all(isinstance(value, dict) for value in item.values())


def _is_item(message: Any) -> bool:
    if "role" in message:
        return False
    return str(message.get("type")).endswith(RESPONSES_ITEMS) or any(message.get(key) for key in RESPONSES_KEYS)


def _holds_call(content: Any) -> bool:
    texts = [content] if isinstance(content, str) else []
    if isinstance(content, list):
        texts = [item["text"] for item in content if isinstance(item, dict) and isinstance(item.get("text"), str)]
    return any(pairs(text, CALL_TAGS) for text in texts)
