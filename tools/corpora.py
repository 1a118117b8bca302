"""Text to calibrate on: fifteen scripts, code, data and logs, from packages that pip installs and from generators.

Nothing is fetched. Translations come from Django's catalogues and Faker's word lists, with Babel's names where there is
little of these; code from the standard library and Django; prose from package descriptions, licences and Python's own
manual; what no package ships is generated from a fixed seed.
"""

from __future__ import annotations

import base64
import json
import random
import re
import sysconfig
import uuid
from collections.abc import Callable, Iterator
from importlib.metadata import distributions
from pathlib import Path

CHUNK_CHARS = 2_000
MOST_CHUNKS = 40
SEED = 20_261_130

LOCALES = {
    "German": ("de", "de_DE"),
    "French": ("fr", "fr_FR"),
    "Polish": ("pl", "pl_PL"),
    "Turkish": ("tr", "tr_TR"),
    "Vietnamese": ("vi", "vi_VN"),
    "Greek": ("el", "el_GR"),
    "Russian": ("ru", "ru_RU"),
    "Ukrainian": ("uk", "uk_UA"),
    "Hebrew": ("he", "he_IL"),
    "Arabic": ("ar", "ar_AA"),
    "Persian": ("fa", "fa_IR"),
    "Hindi": ("hi", None),
    "Bengali": ("bn", "bn_BD"),
    "Tamil": ("ta", None),
    "Telugu": ("te", None),
    "Thai": ("th", "th_TH"),
    "Georgian": ("ka", "ka_GE"),
    "Armenian": ("hy", "hy_AM"),
    "Korean": ("ko", "ko_KR"),
    "Japanese": ("ja", "ja_JP"),
    "Chinese": ("zh_Hans", "zh_CN"),
    "Chinese, traditional": ("zh_Hant", "zh_TW"),
}
"""Language -> (Django's locale, Faker's locale). Scripts: Latin, Greek, Cyrillic, Hebrew, Arabic, Devanagari, Bengali,
Tamil, Telugu, Thai, Georgian, Armenian, Hangul, kana and Han."""

UNSEEN = {
    "Spanish": ("es", "es_ES"),
    "Italian": ("it", "it_IT"),
    "Dutch": ("nl", "nl_NL"),
    "Portuguese": ("pt_BR", "pt_BR"),
    "Czech": ("cs", "cs_CZ"),
    "Swedish": ("sv", "sv_SE"),
    "Finnish": ("fi", "fi_FI"),
    "Indonesian": ("id", "id_ID"),
    "Bulgarian": ("bg", "bg_BG"),
}
"""Languages that nothing is fitted to, to see what the weights are worth beyond those that they know."""


def corpora() -> dict[str, list[str]]:
    """Return name -> chunks of `CHUNK_CHARS` characters, at most `MOST_CHUNKS` of them, spread over what there is."""
    made = {
        "English prose": _prose(),
        "English manual": _manual(),
        "Python": _code("*.py"),
        "JavaScript": _django("*.js"),
        "CSS": _django("*.css"),
    }
    made |= {"HTML": _django("*.html"), "JSON, indented": _json(2), "JSON": _json(None)}
    made |= {name: generate(random.Random(SEED)) for name, generate in GENERATORS.items()}
    made |= {language: _language(*locales) for language, locales in LOCALES.items()}
    return {name: _chunks(text) for name, text in made.items()}


def unseen() -> dict[str, list[str]]:
    """Return the same of languages that are not among them, ten chunks at most."""
    return {language: _chunks(_language(*locales))[:10] for language, locales in UNSEEN.items()}


def _chunks(text: str) -> list[str]:
    whole = [text[at : at + CHUNK_CHARS] for at in range(0, len(text) - CHUNK_CHARS + 1, CHUNK_CHARS)]
    step = max(1, len(whole) // MOST_CHUNKS)
    return whole[::step][:MOST_CHUNKS]


# -- from packages


def _django(pattern: str) -> str:
    import django

    files = sorted(Path(django.__file__).parent.rglob(pattern))
    return "\n".join([file.read_text("utf-8") for file in files if ".min." not in file.name])


def _code(pattern: str) -> str:
    library = Path(sysconfig.get_path("stdlib"))
    return "\n".join([file.read_text("utf-8") for file in sorted(library.glob(pattern))])


def _prose() -> str:
    """Return descriptions and licences: paragraphs of which nearly every character is a letter, comma or space."""
    texts = [text for dist in distributions() if (text := dist.read_text("METADATA"))]
    for dist in distributions():
        texts += [str(Path(str(dist.locate_file(file))).read_text("utf-8", "replace")) for file in _licences(dist)]
    paragraphs = [part for text in sorted(texts) for part in re.split(r"\n\s*\n", text)]
    return "\n\n".join(dict.fromkeys([part.strip() for part in paragraphs if _is_prose(part)]))


def _manual() -> str:
    """Return the language reference that Python's own help shows: prose with code and tables in it."""
    from pydoc_data.topics import topics

    return "\n\n".join([topics[name] for name in sorted(topics)])


def _licences(dist: object) -> Iterator[object]:
    for file in getattr(dist, "files", None) or ():
        if re.search(r"LICENSE|COPYING|NOTICE", file.name) and Path(str(file.locate())).is_file():
            yield file


def _is_prose(text: str) -> bool:
    plain = len(re.findall(r"[a-z ,\n]", text))
    return len(text) > 200 and text.isascii() and plain / len(text) > 0.93 and "  " not in text.strip()


def _json(indent: int | None) -> str:
    chance = random.Random(SEED)
    words = _words()
    records = []
    for number in range(900):
        inner = {"ok": chance.random() > 0.5, "path": f"/srv/{chance.choice(words)}/{number}.json", "n": None}
        record = {"id": number * 7919 % 100_003, "name": " ".join(chance.sample(words, 2)), "nested": inner}
        record |= {"createdAt": f"{_date(chance)}T{chance.randint(10, 23)}:14:05Z", "tags": chance.sample(words, 3)}
        records.append({**record, "score": round(chance.random() * 100, 3)})
    return json.dumps(records, indent=indent, ensure_ascii=False)


def _words() -> list[str]:
    return sorted(set(re.findall(r"[a-z]{4,12}", _code("argparse.py") + _code("pathlib.py"))))


def _language(django_locale: str, faker_locale: str | None) -> str:
    import django
    from faker import Faker

    catalogues = sorted(Path(django.__file__).parent.rglob(f"locale/{django_locale}/LC_MESSAGES/django.po"))
    texts = [text for file in catalogues for text in _translations(file.read_text("utf-8"))]
    said = "\n".join(dict.fromkeys(texts))
    if faker_locale is None:
        return said + "\n" + ", ".join(_names(django_locale))
    fake = Faker(faker_locale)
    fake.seed_instance(SEED)
    return said + "\n" + "\n\n".join([fake.paragraph(nb_sentences=6) for _ in range(150)])


def _names(locale: str) -> list[str]:
    """Return what a language calls the countries, languages and currencies, as the CLDR has it in Babel."""
    from babel import Locale

    known = Locale.parse(locale)
    return [str(name) for table in (known.territories, known.languages, known.currencies) for name in table.values()]


def _translations(catalogue: str) -> Iterator[str]:
    """Yield the translated strings of a .po file."""
    for found in re.finditer(r'^msgstr(?:\[\d+\])? ((?:"(?:[^"\\]|\\.)*"\s*)+)', catalogue, re.MULTILINE):
        text = "".join(json.loads(part) for part in re.findall(r'"(?:[^"\\]|\\.)*"', found[1]))
        if text and "charset=" not in text:
            yield text


# -- generated


def _date(chance: random.Random) -> str:
    return f"2026-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}"


def _log(chance: random.Random) -> str:
    words, lines = _words(), []
    for number in range(1_600):
        at = f"{_date(chance)} {chance.randint(10, 23)}:{chance.randint(10, 59)}:07,{number % 1000:03}"
        level = chance.choice(("INFO", "DEBUG", "WARNING", "ERROR"))
        what = " ".join(chance.sample(words, chance.randint(3, 9)))
        lines.append(f"{at} {level:<8} [{chance.choice(words)}.{chance.choice(words)}:{chance.randint(1, 900)}] {what}")
    return "\n".join(lines)


def _listing(chance: random.Random) -> str:
    words, lines = _words(), []
    for _ in range(1_600):
        mode = "".join([letter if chance.random() > 0.4 else "-" for letter in "rwxrwxrwx"])
        when = f"{chance.choice(('Jan', 'Mar', 'Jun', 'Nov'))} {chance.randint(1, 28):>2} {chance.randint(10, 23)}:09"
        name = f"{chance.choice(words)}.{chance.choice(words)}"
        lines.append(f"-{mode}  1 root root {chance.randint(0, 9_999_999):>9} {when} {name}")
    return "\n".join(lines)


def _traceback(chance: random.Random) -> str:
    words, lines = _words(), []
    for _ in range(400):
        lines.append("Traceback (most recent call last):")
        for _ in range(chance.randint(2, 5)):
            where, (name, tool, what) = "/".join(chance.sample(words, 3)), chance.sample(words, 3)
            lines.append(f'  File "/usr/lib/{where}.py", line {chance.randint(1, 2000)}, in {name}')
            lines.append(f"    {name} = self.{tool}({what}, {chance.randint(0, 99)})")
        lines.append(f"ValueError: {' '.join(chance.sample(words, 4))}: {chance.randint(0, 9999)!r}")
    return "\n".join(lines)


def _table(chance: random.Random) -> str:
    numbers = [f"{chance.uniform(-500, 5000):.{chance.randint(0, 4)}f}" for _ in range(12_000)]
    return "\n".join([",".join(numbers[at : at + 8]) for at in range(0, len(numbers), 8)])


def _base64(chance: random.Random) -> str:
    return base64.b64encode(chance.randbytes(60_000)).decode()


def _hex(chance: random.Random) -> str:
    return chance.randbytes(40_000).hex()


def _uuids(chance: random.Random) -> str:
    return "\n".join([str(uuid.UUID(bytes=chance.randbytes(16))) for _ in range(2_000)])


def _digits(chance: random.Random) -> str:
    return "".join([str(chance.randint(0, 9)) for _ in range(80_000)])


def _emoji(chance: random.Random, share: float = 0.3) -> str:
    """Return words with emoji between them, one in three of several code points: skin tones, flags, families."""
    words, blocks = _words(), ((0x1F600, 0x1F64F), (0x1F680, 0x1F6C5), (0x1F300, 0x1F320), (0x1F900, 0x1F9FF))
    single = [chr(code) for first, last in blocks for code in range(first, last)]
    joined = ["👍🏽", "🇩🇪", "👨\u200d👩\u200d👧", "❤\ufe0f"]
    said = []
    for _ in range(14_000):
        symbol = chance.choice(joined) if chance.random() < 0.3 else chance.choice(single)
        said.append(symbol if chance.random() < share else chance.choice(words))
    return " ".join(said)


def _dense_emoji(chance: random.Random) -> str:
    return _emoji(chance, 0.9)


def _symbols(chance: random.Random) -> str:
    """Return boxes, arrows and mathematics between words, as programs and papers draw with them."""
    signs, words = "─│┌┐└┘├┤█░▒▓→←↑↓⇒≤≥≠≈∑∏√∞∈∀∃•…—–“”‘’€™✓✗", _words()
    drawn = [chance.choice(signs) * chance.choice((1, 1, 1, 3, 12)) for _ in range(8_000)]
    return " ".join([f"{sign} {chance.choice(words)}" for sign in drawn])


def _full_width(chance: random.Random) -> str:
    """Return Chinese with the full-width forms that East Asian keyboards type: letters, digits, marks."""
    han = _language(*LOCALES["Chinese"])
    return "".join([chr(chance.randint(0xFF01, 0xFF5E)) + han[at % len(han)] for at in range(40_000)])


GENERATORS: dict[str, Callable[[random.Random], str]] = {
    "log": _log,
    "ls -l": _listing,
    "traceback": _traceback,
    "CSV of numbers": _table,
    "base64": _base64,
    "hex": _hex,
    "UUIDs": _uuids,
    "digits": _digits,
    "emoji in text": _emoji,
    "emoji": _dense_emoji,
    "symbols": _symbols,
    "full width": _full_width,
}
