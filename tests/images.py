"""Small files, written byte by byte: each says a size, few hold a picture."""

import zlib
from base64 import b64encode
from struct import pack
from typing import Any


def png(width: int, height: int) -> bytes:
    """Return a whole grey PNG."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return pack(">I", len(data)) + kind + data + pack(">I", zlib.crc32(kind + data))

    rows = zlib.compress((b"\0" + b"\x80" * width) * height)
    head = pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def gif(width: int, height: int, version: bytes = b"89a") -> bytes:
    """Return a GIF up to its end, without a picture."""
    return b"GIF" + version + pack("<HHBBB", width, height, 0, 0, 0) + b"\x3b"


def segment(marker: int, data: bytes) -> bytes:
    """Return a JPEG segment."""
    return bytes([0xFF, marker]) + pack(">H", len(data) + 2) + data


def jpeg(width: int, height: int, *before: bytes, frame: int = 0xC0) -> bytes:
    """Return a JPEG up to its scan, with these segments before its frame header."""
    return (
        b"\xff\xd8"
        + segment(0xE0, b"JFIF\0\x01\x02\0\0\x01\0\x01\0\0")
        + b"".join(before)
        + segment(frame, pack(">BHHB", 8, height, width, 1) + b"\x01\x11\0")
        + segment(0xDA, b"\x01\x01\0\0\x3f\0")
        + b"\0\xff\xd9"
    )


def webp(kind: bytes, body: bytes) -> bytes:
    """Return a WebP with one chunk."""
    return b"RIFF" + pack("<I", len(body) + 12) + b"WEBP" + kind + pack("<I", len(body)) + body


def webp_lossy(width: int, height: int, scale: int = 0) -> bytes:
    """Return a WebP with a VP8 key frame; ``scale`` is for display."""
    return webp(b"VP8 ", b"\x10\0\0\x9d\x01\x2a" + pack("<HH", width | scale << 14, height | scale << 14) + bytes(20))


def webp_lossless(width: int, height: int) -> bytes:
    """Return a WebP with a VP8L bit stream."""
    return webp(b"VP8L", b"\x2f" + pack("<I", (width - 1) | (height - 1) << 14) + bytes(20))


def webp_extended(width: int, height: int) -> bytes:
    """Return a WebP with the chunk VP8X, as those with transparency or animation have."""
    canvas = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return webp(b"VP8X", b"\x10\0\0\0" + canvas)


def text(data: bytes) -> str:
    """Return base64."""
    return b64encode(data).decode()


def image_block(format: str, data: bytes) -> dict[str, Any]:
    """Return an image as an item of a message's content."""
    if format == "bedrock":
        return {"image": {"format": "png", "source": {"bytes": data}}}
    if format == "openai-chat":
        return {"type": "image_url", "image_url": {"url": "data:image/png;base64," + text(data)}}
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": text(data)}}


def look(n: int, format: str, data: bytes) -> list[dict[str, Any]]:
    """Return an exchange in which a tool shows an image."""
    if format == "bedrock":
        call = {"toolUse": {"toolUseId": f"c{n}", "name": "look", "input": {}}}
        content = [{"text": f"shot {n}"}, image_block(format, data)]
        result = {"toolResult": {"toolUseId": f"c{n}", "content": content}}
        return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    shown = [{"type": "text", "text": f"shot {n}"}, image_block(format, data)]
    if format == "openai-chat":
        call = {"id": f"c{n}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        result = {"role": "tool", "tool_call_id": f"c{n}", "content": shown}
        return [{"role": "assistant", "content": None, "tool_calls": [call]}, result]
    call = {"type": "tool_use", "id": f"c{n}", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": f"c{n}", "content": shown}
    return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
