"""What a character weighs: by the lead byte of its UTF-8, one set of weights for each family of tokenizers (spec 5).

The tables are fitted by ``tools/calibrate_weights.py``, which says how and on what; ``benchmarks/weights.json`` keeps
what it found. They are fitted to a text as JSON writes it, escapes and all, since that is what C_H counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple, TypeAlias
from zlib import adler32

FamilyName: TypeAlias = Literal["openai", "qwen", "deepseek", "claude", "max"]
"""A family of tokenizers; ``max`` counts at least what any of them does, for when it is not known."""

UNIT = 256
"""Parts of a weighted character that weights are whole numbers of: sums are exact, in whatever order they are made."""

CLASSES: dict[str, str | tuple[int, int]] = {
    **{letter: letter for letter in "abcdefghijklmnopqrstuvwxyz"},
    "vowels": "AEIOU",
    "consonants": "BCDFGHJKLMNPQRSTVWXYZ",
    "digits": "0123456789",
    "space": " ",
    "escape": "\\",
    "stops": ",.",
    "quotes": "\"'",
    "joints": "-_/",
    "marks": "",
    "latin c2": (0xC2, 0xC2),
    "latin c3": (0xC3, 0xC3),
    "latin c4": (0xC4, 0xC4),
    "latin c5": (0xC5, 0xC5),
    "latin": (0xC6, 0xCB),
    "greek": (0xCC, 0xCF),
    "cyrillic": (0xD0, 0xD3),
    "armenian, hebrew": (0xD4, 0xD7),
    "arabic": (0xD8, 0xDF),
    "indic, thai": (0xE0, 0xE0),
    "georgian": (0xE1, 0xE1),
    "symbols": (0xE2, 0xE2),
    "kana": (0xE3, 0xE3),
    "han": (0xE4, 0xE9),
    "hangul": (0xEA, 0xED),
    "full width": (0xEE, 0xEF),
    "emoji": (0xF0, 0xF7),
}
"""Class -> its characters, or the first and last lead byte; ``marks`` is the rest of ASCII.

Small letters have a class each: which of them are frequent is what tells English from other languages, and both from
base64, without looking at two characters at once.
"""


def class_of(byte: int) -> str | None:
    """Return the class of a character by its first byte in UTF-8; None for a byte that continues one."""
    for name, members in CLASSES.items():
        if chr(byte) in members if isinstance(members, str) else members[0] <= byte <= members[1]:
            return name
    return "marks" if byte < 0x80 else None


def weigher(weights: Iterable[int]) -> Callable[[str], int]:
    """Return a function from a text to its weight in units: that of two texts behind each other is their sum.

    The weights are one for each of `CLASSES`, at most 4,095. A text that holds half a surrogate pair raises
    UnicodeEncodeError.

    The bytes of the text become weights by a table, and the checksum of them is their sum: Adler-32 counts its low half
    modulo 65,521, which so many bytes of at most 63 never reach. Twelve bits are two tables.
    """
    by_class = dict(zip(CLASSES, weights, strict=True))
    by_byte = [by_class[name] if (name := class_of(byte)) is not None else 0 for byte in range(256)]
    high, low = bytes([weight >> 6 for weight in by_byte]), bytes([weight & 63 for weight in by_byte])

    def weigh(text: str) -> int:
        data = text.encode()
        if len(data) <= _STEP:
            return ((adler32(data.translate(high), 0) & 0xFFFF) << 6) + (adler32(data.translate(low), 0) & 0xFFFF)
        high_sum = low_sum = 0
        for at in range(0, len(data), _STEP):
            part = data[at : at + _STEP]
            high_sum += adler32(part.translate(high), 0) & 0xFFFF
            low_sum += adler32(part.translate(low), 0) & 0xFFFF
        return (high_sum << 6) + low_sum

    return weigh


_STEP = 65_520 // 63


class Family(NamedTuple):
    """A set of weights."""

    chars_per_token: float
    """Weighted characters that make a token."""
    weights: tuple[int, ...]
    """Of each of `CLASSES`, in units."""

    @property
    def weigh(self) -> Callable[[str], int]:
        """Function from a text to its weight in units."""
        return weigher(self.weights)


FAMILIES: dict[FamilyName, Family] = {
    "openai": Family(
        4.628,
        (
            170, 423, 423, 423, 127, 127, 127, 127, 423, 127, 371, 251, 423, 127, 357, 127, 423, 192,
            127, 127, 338, 127, 241, 423, 423, 423, 99, 1611, 911, 153, 789, 430, 99, 1462, 380, 836,
            753, 801, 3050, 197, 495, 464, 678, 456, 704, 524, 1450, 886, 1074, 984, 2082, 2289,
        ),
    ),
    "qwen": Family(
        4.219,
        (
            170, 170, 170, 170, 170, 170, 170, 170, 566, 170, 170, 170, 566, 170, 310, 420, 566, 170,
            170, 170, 566, 170, 170, 566, 170, 170, 90, 1329, 1459, 108, 998, 306, 90, 796, 533, 992,
            180, 775, 2467, 180, 463, 433, 1004, 420, 817, 676, 1314, 575, 708, 792, 1876, 2951,
        ),
    ),
    "deepseek": Family(
        4.097,
        (
            263, 508, 306, 508, 152, 418, 152, 152, 508, 152, 152, 152, 508, 152, 152, 428, 508, 152,
            152, 152, 508, 508, 152, 508, 152, 508, 87, 1424, 762, 108, 833, 187, 108, 1113, 216, 1444,
            731, 2826, 2094, 175, 602, 503, 782, 492, 961, 902, 1047, 797, 782, 986, 1934, 2276,
        ),
    ),
    "claude": Family(
        2.532,
        (
            193, 642, 341, 642, 193, 193, 193, 193, 285, 193, 193, 193, 642, 193, 193, 193, 642, 193,
            193, 193, 642, 407, 642, 642, 193, 642, 64, 1189, 458, 104, 466, 164, 64, 884, 333, 128,
            1945, 543, 1168, 128, 523, 317, 597, 530, 695, 540, 1201, 617, 799, 885, 1945, 1945,
        ),
    ),
    "max": Family(
        2.619,
        (
            180, 600, 198, 600, 180, 180, 180, 180, 553, 180, 584, 180, 600, 255, 180, 180, 600, 180,
            180, 180, 600, 598, 293, 600, 180, 600, 64, 1199, 806, 69, 343, 215, 64, 291, 528, 128,
            2012, 195, 1657, 128, 547, 335, 628, 557, 722, 570, 1268, 627, 851, 933, 2012, 2012,
        ),
    ),
}  # fmt: skip
"""Printed by ``tools/calibrate_weights.py`` on 2026-11-30.

For o200k, Qwen 3.6, DeepSeek V4, Claude 4.8 as it was rebuilt from counts, and the largest of the four.
"""
