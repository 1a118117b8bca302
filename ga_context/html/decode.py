"""Bytes to text: the charset that a page declares, or the one its bytes show."""

from __future__ import annotations

import codecs
import re
from typing import Any

_CJK = ("gb18030", "shift_jis", "euc_jp", "big5", "euc_kr")
_SAMPLE_BYTES, _HEAD_BYTES = 200_000, 400
_ZERO_SHARE = 20
"""One byte in so many is zero in the head of a page in UTF-16; in other charsets none is."""
_WIDER = {"gb2312": "gb18030", "gbk": "gb18030", "iso-8859-1": "cp1252", "ascii": "cp1252", "shift_jis": "cp932"}
"""Declared name -> the charset that the standard reads it as (encoding.spec.whatwg.org, names and labels)."""

_COMMON = {
    "gb18030": "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年",
    "shift_jis": "のにはをたがでてとしれさいるなもこあからっまりスンルトイラリアク",
    "euc_jp": "のにはをたがでてとしれさいるなもこあからっまりスンルトイラリアク",
    "big5": "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年",
    "euc_kr": "이다의는에을로가고하지한사기리도인은를어서대자해일시스정",
}
"""The commonest characters of a language; in a wrong charset other characters stand in their place."""


def as_text(page: str | bytes | bytearray | memoryview | Any) -> str:
    """Return the page as text: a str as it is, bytes by their charset, a soup (bs4) as its markup."""
    if isinstance(page, str):
        return page
    if isinstance(page, (bytes, bytearray, memoryview)):
        return _decoded(bytes(page))
    if callable(getattr(page, "decode_contents", None)):
        return str(page.decode())
    raise TypeError(f"a page is str, bytes or a BeautifulSoup; got {type(page).__name__}")


def _decoded(data: bytes) -> str:
    from bs4.dammit import EncodingDetector

    data, marked = EncodingDetector.strip_byte_order_mark(data)
    if marked:
        return data.decode(marked, "replace")
    wide = _utf16(data)
    if wide:
        return data.decode(wide, "replace")
    for name in (EncodingDetector.find_declared_encoding(data, is_html=True), "utf-8"):
        text = _try(data, name)
        if text is not None:
            return text
    return data.decode(_likely(data), "replace")


def _try(data: bytes, name: str | None) -> str | None:
    """Decode strictly, but for a few stray bytes; None if the data is in another charset."""
    try:
        codec = codecs.lookup(_WIDER.get(name.lower(), name)) if name else None
    except (LookupError, ValueError):
        return None
    if codec is None or codec.name.startswith("utf-16") or not getattr(codec, "_is_text_encoding", True):
        return None  # a page that shows its declaration as ASCII is in no UTF-16
    text = data.decode(codec.name, "replace")
    return text if text.count("\ufffd") * 200 <= len(text) else None


def _utf16(data: bytes) -> str | None:
    """Recognise UTF-16 without a mark: of ASCII markup every second byte is zero."""
    head = data[:_HEAD_BYTES]
    even, odd = head[::2].count(0), head[1::2].count(0)
    if max(even, odd) * _ZERO_SHARE < len(head):
        return None
    return "utf-16-be" if even > odd else "utf-16-le"


def _likely(data: bytes) -> str:
    """Return the charset in which the most of the text is of common characters."""
    sample = re.sub(rb"<[^>]*>|[\x00-\x40]+", b" ", data[:_SAMPLE_BYTES])
    best, name = 0.05, "cp1252"
    for charset in _CJK:
        text = sample.decode(charset, "replace")
        foreign = sum(map(text.count, _COMMON[charset])) - 3 * text.count("\ufffd")
        wide = sum([1 for char in text if char > "\x7f"])
        if wide and foreign / wide > best:
            best, name = foreign / wide, charset
    return name
