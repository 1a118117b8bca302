"""The size of an image from the header of its file, as bytes or as base64."""

import time
from base64 import encodebytes, urlsafe_b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from images import gif, jpeg, png, segment, text, webp, webp_extended, webp_lossless, webp_lossy

from ga_context.payload import coding
from ga_context.payload.pixels import pixels

FILES = {
    "png": png(64, 40),
    "gif 87": gif(64, 40, b"87a"),
    "gif 89": gif(64, 40),
    "jpeg": jpeg(64, 40),
    "jpeg, progressive": jpeg(64, 40, frame=0xC2),
    "jpeg with a photograph's data": jpeg(64, 40, segment(0xE1, b"Exif\0\0" + bytes(60_000)), segment(0xDB, bytes(65))),
    "jpeg with a frame header in a thumbnail": jpeg(64, 40, segment(0xE1, jpeg(7, 9))),
    "jpeg with tables that look like frames": jpeg(64, 40, segment(0xC4, bytes(30)), segment(0xCC, bytes(2))),
    "jpeg with fill bytes and a marker alone": jpeg(64, 40, b"\xff\xff\xff\x01", b"\xff\xd0"),
    "webp, lossy": webp_lossy(64, 40),
    "webp, lossy, scaled for display": webp_lossy(64, 40, scale=2),
    "webp, lossless": webp_lossless(64, 40),
    "webp, extended": webp_extended(64, 40),
}


@pytest.mark.parametrize("file", FILES.values(), ids=FILES)
def test_each_kind_of_file(file):
    """Bytes, base64, URL-safe, in lines, without padding, in a data: URL."""
    kinds = [file, text(file), text(file).rstrip("="), urlsafe_b64encode(file).decode(), encodebytes(file).decode()]
    kinds += ["data:image/x;base64," + text(file), "data:image/x;name=a.b;base64," + encodebytes(file).decode()]
    assert [pixels(kind) for kind in kinds] == [(64, 40)] * 7


@pytest.mark.parametrize(
    "file",
    [
        b"",
        "",
        b"no image",
        "no image, and no base64 either",
        "https://example.com/a.png",
        "data:image/svg+xml,<svg width='64' height='40'/>",
        "data:image/png;base64",
        "data:,",
        b"%PDF-1.7\n" + bytes(40),
        b"RIFF\0\0\0\0WAVEfmt " + bytes(40),
        png(64, 40)[:23],
        png(64, 40)[:8] + b"\0\0\0\x0dIDAT" + bytes(16),
        gif(64, 40)[:9],
        gif(0, 40),
        jpeg(64, 0),
        jpeg(64, 40)[:25],
        b"\xff\xd8\xff\xd9",
        b"\xff\xd8" + segment(0xDA, bytes(8)) + jpeg(64, 40)[2:],
        b"\xff\xd8" + segment(0xE0, bytes(8)) + b"lost" + jpeg(64, 40)[2:],
        webp(b"VP8 ", b"\x10\0\0\0\0\0" + bytes(20)),
        webp(b"VP8L", b"\x2e" + bytes(20)),
        webp(b"VP8L", b"\x2f\0"),
        webp(b"ALPH", bytes(20)),
    ],
)
def test_what_says_no_size(file):
    """Nothing is guessed: no image, an unknown kind, a damaged or empty header, a height that comes later."""
    assert pixels(file) is None
    assert isinstance(file, str) or pixels(text(file)) is None


@given(st.integers(1, 2**31 - 1), st.integers(1, 2**31 - 1))
def test_any_size(width, height):
    """As large as the field of the format allows."""
    assert pixels(png(1, 1)[:16] + width.to_bytes(4, "big") + height.to_bytes(4, "big")) == (width, height)
    for make, most in ((gif, 65_535), (jpeg, 65_535), (webp_lossy, 16_383), (webp_lossless, 16_384)):
        size = (min(width, most), min(height, most))
        assert pixels(make(*size)) == pixels(text(make(*size))) == size
    size = (min(width, 2**24), min(height, 2**24))
    assert pixels(webp_extended(*size)) == size


HEADS = st.sampled_from([b"", *(file[:cut] for file in FILES.values() for cut in (2, 4, 12, 20, 26))])


@given(HEADS, st.binary(max_size=300), st.integers(0, 300))
def test_garbage_never_raises(head, rest, cut):
    """Bytes behind an honest beginning: a size or none, the same from base64."""
    file = (head + rest)[:cut]
    size = pixels(file)
    assert size is None or min(size) > 0
    assert pixels(text(file)) == size


@given(st.text(max_size=300), st.sampled_from(["", "data:", "data:image/png;base64,", "/9j/", "iVBORw0KGgo", "UklGR"]))
def test_any_text_never_raises(rest, head):
    """No base64, half of a surrogate pair, another script."""
    assert pixels(head + rest) is None or min(pixels(head + rest)) > 0


@pytest.mark.parametrize("file", [b"\xff\xd8" + b"\xff" * 5_000_000, b"\xff\xd8" + b"\xff\xe0\0\2" * 1_000_000])
def test_a_jpeg_without_end(file):
    """It is given up after a thousand segments, each read by itself."""
    started = time.perf_counter()
    assert pixels(file) is None
    assert pixels(text(file)) is None
    assert time.perf_counter() - started < 1


def test_only_the_header_is_decoded(monkeypatch):
    """Of 4 MB some hundred characters, wherever the frame header stands."""
    decoded = []
    real = coding.b64decode

    def counted(chars, **keys):
        decoded.append(len(chars))
        return real(chars, **keys)

    monkeypatch.setattr(coding, "b64decode", counted)
    photograph = jpeg(4000, 3000, *[segment(0xE2, bytes(65_000))] * 40)
    assert pixels(text(photograph + bytes(500_000))) == (4000, 3000)
    assert pixels("data:image/png;base64," + text(png(64, 40) + bytes(3_000_000))) == (64, 40)
    assert sum(decoded) < 1_000
