"""Width and height of an image from the header of its file: PNG, JPEG, GIF, WebP. No imaging library is needed.

Where the numbers stand: PNG in the chunk IHDR (PNG specification, 11.2.1), GIF in the logical screen descriptor
(GIF89a, 18), JPEG in the frame header SOFn (ITU-T T.81, B.2.2), WebP in the first chunk (RFC 9649, 2.5 to 2.7).
"""

from __future__ import annotations

from typing import TypeAlias

from ga_context.payload.coding import Reader

Size: TypeAlias = tuple[int, int]
"""(width, height) in pixels."""

HEAD_BYTES = 30
"""All but JPEG say their size in these."""

MAX_SEGMENTS = 1_000
"""A JPEG says its size within its first few dozen segments; one that does not in so many says none."""

FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""JPEG markers SOF0 to SOF15; between them are DHT, JPG and DAC."""

NO_LENGTH = frozenset({0x01, *range(0xD0, 0xD9)})
"""JPEG markers that stand alone: TEM, RST0 to RST7, SOI."""

SCAN_OR_END = frozenset({0xD9, 0xDA})
"""JPEG markers behind which no frame header comes first: EOI, SOS."""


def pixels(data: str | bytes) -> Size | None:
    """Return (width, height) of an image in pixels, or None where its header cannot be read.

    Args:
        data: the file's bytes, base64 text or a ``data:`` URL; only the part that holds the header is decoded.
    """
    file = Reader(data)
    head = file.read(0, HEAD_BYTES)
    size = _jpeg(file) if head.startswith(b"\xff\xd8") else _from_head(head)
    return size if size is not None and min(size) > 0 else None


def _from_head(head: bytes) -> Size | None:
    if head.startswith(b"\x89PNG\r\n\x1a\n") and head[12:16] == b"IHDR":
        return _pair(head, 16, 4, "big")
    if head.startswith((b"GIF87a", b"GIF89a")):
        return _pair(head, 6, 2, "little")
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return _webp(head)
    return None


def _webp(head: bytes) -> Size | None:
    kind, body = head[12:16], head[20:]
    if kind == b"VP8 " and body[3:6] == b"\x9d\x01\x2a":
        size = _pair(body, 6, 2, "little")
        return size and (size[0] & 0x3FFF, size[1] & 0x3FFF)  # the upper two bits are a scale for display
    if kind == b"VP8L" and body[:1] == b"\x2f" and len(body) >= 5:
        bits = int.from_bytes(body[1:5], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8X":
        size = _pair(body, 4, 3, "little")
        return size and (size[0] + 1, size[1] + 1)
    return None


def _jpeg(file: Reader) -> Size | None:
    """Walk from segment to segment up to the frame header."""
    at = 2
    for _ in range(MAX_SEGMENTS):
        segment = file.read(at, 9)  # 0xFF, marker, length (2), and of a frame: precision, height (2), width (2)
        if len(segment) < 4 or segment[0] != 0xFF or segment[1] in SCAN_OR_END:
            return None
        if segment[1] == 0xFF:  # a fill byte
            at += 1
        elif segment[1] in NO_LENGTH:
            at += 2
        elif segment[1] in FRAMES:
            size = _pair(segment, 5, 2, "big")
            return size and size[::-1]
        else:
            at += 2 + max(2, int.from_bytes(segment[2:4], "big"))
    return None


def _pair(data: bytes, at: int, count: int, order: str) -> Size | None:
    """Return two numbers of ``count`` bytes each, or None where the data ends before."""
    if len(data) < at + 2 * count:
        return None
    first, second = data[at : at + count], data[at + count : at + 2 * count]
    return int.from_bytes(first, order), int.from_bytes(second, order)  # type: ignore[arg-type]
