"""What an image costs by each provider's published rule, and what it counts then."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ga_context import ContextConfig
from ga_context.payload.charge import Charges, anthropic_tokens, gemini_tokens, openai_tokens

SIDES = st.integers(1, 2**31)


@pytest.mark.parametrize(
    ("size", "tokens"),
    [
        ((200, 200), 54),
        ((1000, 1000), 1334),
        ((1280, 800), 1366),
        ((1092, 1092), 1568),
        ((3840, 2160), 1568),
        ((3136, 100), 105),
        ((100, 31360), 11),
        ((1, 1), 1),
    ],
)
def test_anthropic(size, tokens):
    """The documented examples; a larger image is scaled to a long edge of 1,568 pixels and to 1,568 tokens."""
    assert anthropic_tokens(*size) == tokens


@pytest.mark.parametrize(
    ("size", "detail", "tokens"),
    [
        ((1024, 1024), "high", 765),
        ((2048, 4096), "high", 1105),
        ((4096, 8192), "low", 85),
        ((512, 512), "auto", 255),
        ((513, 512), "auto", 425),
        ((100_000, 10), "auto", 765),
        ((1, 1), "auto", 255),
    ],
)
def test_openai(size, detail, tokens):
    """The documented examples; nothing is scaled up."""
    assert openai_tokens(*size, detail) == tokens


@pytest.mark.parametrize(
    ("size", "tokens"),
    [
        ((384, 384), 258),
        ((385, 10), 258),
        ((768, 768), 258),
        ((769, 768), 516),
        ((1920, 1080), 6 * 258),
        ((6144, 6144), 16 * 258),
    ],
)
def test_gemini(size, tokens):
    """258 a tile."""
    assert gemini_tokens(*size) == tokens


@given(SIDES, SIDES)
def test_no_image_is_free_or_without_end(width, height):
    """And which side is the longer makes no difference."""
    for rule, most in ((anthropic_tokens, 1_568), (openai_tokens, 85 + 170 * 8), (gemini_tokens, 16 * 258)):
        assert 1 <= rule(width, height) <= most
        assert rule(width, height) == rule(height, width)


def test_characters():
    """Tokens times alpha; a fixed number where the tokens are not known, or always."""
    assert Charges(4_800, 3.0).chars(1334) == 4_002
    assert Charges(4_800, 2.5).chars(85) == 212
    assert Charges(4_800, 3.0).chars(None) == 4_800
    assert Charges(100).chars(1334) == 100


@pytest.mark.parametrize(
    ("budget", "charges"),
    [
        ({}, Charges(4_800, 3.0)),
        ({"chars_per_token": 2.5}, Charges(4_800, 2.5)),
        ({"payload_chars": 4_800}, Charges(4_800)),
        ({"payload_chars": 100, "payloads": "pixels"}, Charges(100, 3.0)),
        ({"payloads": "fixed"}, Charges(4_800)),
    ],
)
def test_a_number_that_is_set_holds(budget, charges):
    """Whoever sets a charge gets it for images too, unless he asks for pixels."""
    assert ContextConfig(budget=budget).charges == charges
    assert ContextConfig(**ContextConfig(budget=budget).to_dict()).charges == charges


def test_the_report_has_one_number():
    """4,800 characters an image; pixels on request."""
    assert ContextConfig.generic_agent().charges == Charges(4_800)
    assert ContextConfig.generic_agent(budget={"payloads": "pixels"}).charges == Charges(4_800, 3.0)
