"""A llama of random weights in a GGUF file of under a megabyte: two layers, and a vocabulary of bytes."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np

LAYERS, WIDTH, HEADS, INNER = 2, 64, 4, 128
FIRST_BYTE = 3
"""Id of the token of byte 0, behind those for what is unknown and for begin and end."""
SEED = 5


def write_tiny_model(path: Path, context: int) -> Path:
    """Write the model, for prompts of up to so many tokens, and return its path."""
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_context_length(context)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    tokens = [b"<unk>", b"<s>", b"</s>", *[f"<0x{byte:02X}>".encode() for byte in range(256)]]
    kinds = [gguf.TokenType.UNKNOWN, *[gguf.TokenType.CONTROL] * 2, *[gguf.TokenType.BYTE] * 256]
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types(kinds)
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    for name, shape in _shapes(len(tokens)).items():
        writer.add_tensor(name, _weights(name, shape))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _shapes(tokens: int) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {"token_embd.weight": (tokens, WIDTH), "output_norm.weight": (WIDTH,)}
    shapes["output.weight"] = (tokens, WIDTH)
    for layer in range(LAYERS):
        of = f"blk.{layer}."
        shapes |= {f"{of}attn_{part}.weight": (WIDTH, WIDTH) for part in ("q", "k", "v", "output")}
        shapes |= {f"{of}attn_norm.weight": (WIDTH,), f"{of}ffn_norm.weight": (WIDTH,)}
        shapes |= {f"{of}ffn_gate.weight": (INNER, WIDTH), f"{of}ffn_up.weight": (INNER, WIDTH)}
        shapes[f"{of}ffn_down.weight"] = (WIDTH, INNER)
    return shapes


def _weights(name: str, shape: tuple[int, ...]) -> np.ndarray:
    if len(shape) == 1:
        return np.ones(shape, np.float32)
    drawn = np.random.default_rng([SEED, *name.encode()])
    return (drawn.standard_normal(shape) * 0.05).astype(np.float32)
