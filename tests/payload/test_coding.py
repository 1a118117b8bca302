"""What is archived of a payload, and what it weighs in a request."""

import pytest

from ga_context.payload.coding import original, sent_bytes


@pytest.mark.parametrize(
    ("data", "held"),
    [
        ("AAEC/w==", b"\x00\x01\x02\xff"),
        ("data:image/png;base64,AAEC/w==", b"\x00\x01\x02\xff"),
        ("AAEC_w==", b"\x00\x01\x02\xff"),
        (b"\x00\x01", b"\x00\x01"),
        ("AAEC/w", "AAEC/w"),
        ("AAEC\n/w==", "AAEC\n/w=="),
        ("REDACTED!", "REDACTED!"),
        ("data:image/svg+xml,%3Csvg/%3E", "data:image/svg+xml,%3Csvg/%3E"),
        ("", ""),
    ],
)
def test_original(data, held):
    """The bytes where they are clean, else the text itself: every character comes back."""
    assert original(data) == held


@pytest.mark.parametrize(("data", "weight"), [("AAEC", 4), ("é", 2), (b"\0" * 3, 4), (b"\0" * 4, 8), (b"", 0)])
def test_sent_bytes(data, weight):
    """Text in UTF-8, bytes as base64."""
    assert sent_bytes(data) == weight
