"""What an image, a document or a sound counts: a rule of tokens for each provider, and characters for C_H (spec 5).

The rules are the published ones for a provider's common models. Newer models differ: each docstring says how.
"""

from __future__ import annotations

from dataclasses import dataclass

LOW_DETAIL_TOKENS = 85
"""Of an image that OpenAI's models look at in low detail, whatever its size (platform.openai.com/docs, as below)."""


def anthropic_tokens(width: int, height: int) -> int:
    """Return the tokens of an image for Claude, on Bedrock too: width * height / 750, once it is scaled down.

    It is scaled to a long edge of 1,568 pixels and to 1,568 tokens, about 1.15 megapixels
    (platform.claude.com/docs/en/build-with-claude/vision, "Evaluate image size"). By now the page counts patches of
    28 by 28 pixels, which comes to about the same; models from Opus 4.7 on go to 2,576 pixels and 4,784 tokens.
    """
    long_edge, most_tokens = 1_568, 1_568
    area, long = width * height, max(width, height)
    if long > long_edge:
        area = area * long_edge**2 // long**2
    return max(1, min(_ceil(area, 750), most_tokens))


def openai_tokens(width: int, height: int, detail: str = "auto") -> int:
    """Return the tokens of an image for GPT-4o and 4.1: 85, and 170 for each tile of 512 pixels unless detail is low.

    It is first scaled down to fit 2,048 by 2,048 pixels, then to a short side of 768
    (platform.openai.com/docs/guides/images-vision, "Calculating costs"). GPT-5 counts 70 and 140; later and smaller
    models count patches of 32 pixels times a factor of their own, about 1.2 to 2.5.
    """
    base, tile, most, short = LOW_DETAIL_TOKENS, 170, 2_048, 768
    if detail == "low":
        return base
    width, height = _scaled(width, height, most, max(width, height))
    width, height = _scaled(width, height, short, min(width, height))
    return base + tile * _ceil(width, 512) * _ceil(height, 512)


def gemini_tokens(width: int, height: int) -> int:
    """Return the tokens of an image for Gemini: 258, or 258 for each tile of 768 pixels where a side is over 384.

    It is first scaled down to fit 3,072 by 3,072 pixels (ai.google.dev/gemini-api/docs/tokens, "Multimodal tokens";
    cloud.google.com/vertex-ai/generative-ai/docs/multimodal/image-understanding). Gemini 3 counts by its parameter
    `media_resolution` instead, about 1,100 tokens an image by default.
    """
    tile, small, side, most = 258, 384, 768, 3_072
    if max(width, height) <= small:
        return tile
    width, height = _scaled(width, height, most, max(width, height))
    return tile * _ceil(width, side) * _ceil(height, side)


@dataclass(frozen=True, slots=True)
class Charges:
    """What payloads count in C_H, in characters."""

    fixed: int = 4_800
    """For each whose tokens are not known; for every one where ``chars_per_token`` is None."""
    chars_per_token: float | None = None
    """Alpha; an image of known size counts its tokens times this."""

    def chars(self, tokens: int | None) -> int:
        """Return the characters for a payload of so many tokens; None: not known."""
        if tokens is None or self.chars_per_token is None:
            return self.fixed
        return round(tokens * self.chars_per_token)


def _scaled(width: int, height: int, limit: int, side: int) -> tuple[int, int]:
    """Scale down, so that ``side`` is at most ``limit``; no side becomes nothing."""
    if side <= limit:
        return width, height
    return max(1, width * limit // side), max(1, height * limit // side)


def _ceil(number: int, divisor: int) -> int:
    return -(-number // divisor)
