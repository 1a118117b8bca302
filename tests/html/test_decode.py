"""Bytes to text: what a page declares, and what its bytes say when it does not or is wrong."""

import pytest
from bs4 import BeautifulSoup

from ga_context import prune_html
from ga_context.html.decode import as_text

CHINESE = "<p>这是一个网页的正文，我们在这里说明中国的历史和文化，他们来自不同的地方。</p>" * 3
JAPANESE = "<p>これは日本語のページです。ここには本文があります。どうぞよろしくお願いします。</p>" * 3
KOREAN = "<p>이것은 한국어로 된 웹 페이지의 본문입니다. 여기에는 많은 글이 있습니다.</p>" * 3


@pytest.mark.parametrize(
    ("text", "charset"),
    [
        (CHINESE, "gb2312"),
        (CHINESE, "gbk"),
        (JAPANESE, "shift_jis"),
        (JAPANESE, "euc_jp"),
        (KOREAN, "euc_kr"),
        ("<p>Grüße aus Köln, schöne Tage!</p>", "cp1252"),
        (CHINESE, "utf-8"),
        (JAPANESE, "utf-16"),
        ("<html><body>" + JAPANESE, "utf-16-le"),
        ("<html><body>" + JAPANESE, "utf-16-be"),
    ],
)
@pytest.mark.parametrize("declared", ["", "own", "utf-8", "no-such-charset"])
def test_charsets(text, charset, declared):
    """With a right declaration, with none, with a wrong one, with one that nobody knows."""
    if declared:
        text = f'<meta charset="{charset if declared == "own" else declared}">' + text
    assert as_text(text.encode(charset)) == text


def test_a_few_stray_bytes_change_nothing():
    data = CHINESE.encode("gb18030").replace("历".encode("gb18030"), b"\xff", 1)
    assert as_text(b'<meta charset="gb2312">' + data).count("\ufffd") == 1


def test_a_soup_is_a_page():
    soup = BeautifulSoup("<p>One <b>two</b></p><script>no</script>", "html.parser")
    assert prune_html(soup).html == "<!doctype html><p>One <b>two</b></p>"


def test_what_is_no_page_is_refused():
    with pytest.raises(TypeError, match="a page is str, bytes or a BeautifulSoup; got int"):
        prune_html(7)
