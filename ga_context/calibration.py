"""Characters per token, corrected by what a provider counted (spec 5)."""

from __future__ import annotations

TOLERANCE = 0.05
"""What is less off than this stays as it is: each correction of B may cost the cached prefix."""

LEAST_SHARE = 0.1
"""Of B that a view must fill before it says anything: in a short one, what a provider adds by itself weighs most."""


def scale(size: int, tokens: int, now: float, budget: int) -> float | None:
    """Return the characters per token of a prompt of this size, or None where those that hold ``now`` stay."""
    found = round(size / tokens, 2)
    if size < LEAST_SHARE * budget or found <= 0 or abs(found / now - 1) <= TOLERANCE:
        return None
    return found
