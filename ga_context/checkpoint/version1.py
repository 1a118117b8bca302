"""Dumps of version 1, as they were written until the layout of columns: read into the present layout.

They hold each message of the view block by block, and an undo log, which is left out: turns are played again now.
"""

from __future__ import annotations

from base64 import b64decode
from functools import reduce
from operator import getitem
from typing import Any

from ga_context.checkpoint.columns import Table, packed, runs, steps
from ga_context.state import Marks

VERSION = 1

_BLOCK = {"kind": "k", "id": "i", "place": "w", "bare": "b", "sealed": "s", "missing": "m", "note": "n"}
_PLAIN = {"place": "content", "bare": False, "sealed": False, "missing": False, "note": None}


def upgraded(plain: dict[str, Any]) -> dict[str, Any]:
    """Return what a dump of version 1 holds in the present layout.

    Raises:
        KeyError, IndexError, TypeError, ValueError: it is damaged.
    """
    _decode_bytes(plain)
    tools, heads, paths = Table(), Table(), Table()
    calls = plain["calls"]
    rows, following = [], 0
    for place in plain["rows"]:
        row = plain["pool"][place]
        rows.append(_row(row, following, tools, heads, paths))
        following = max([following, row["ordinal"] + 1, *[block["ordinal"] + 1 for block in row["blocks"]]])
    snapshots = [dict(one[0]) for one in plain["snapshots"]]
    turns = [{**_default_marks(), **marks} for marks in snapshots[1:]]
    now = {**_default_marks(), **snapshots[-1]}
    columns = ("budget", "shrink", "key_info", "schema_turn", "schema_chars")
    kept = ("config", "format", "decided", "sizes", "usage", "originals", "archive", "binary")
    return {
        **{name: plain[name] for name in kept if name in plain},
        "version": 2,
        "raw": packed(bytes.fromhex("".join(plain["raw"]))),
        "now": {
            "marks": now,
            "rows": rows,
            "lines": plain["lines"],
            "calls": len(calls),
            "pairs": len(plain["pairs"]),
        },
        "turns": {
            "messages": steps([marks["messages"] for marks in turns]),
            "schema_digest": runs([marks["schema"] for marks in turns]),
            **{name: runs([marks[name] for marks in turns]) for name in columns},
        },
        "calls": _calls(calls, plain["pairs"], tools),
        "tools": tools.values,
        "heads": heads.values,
        "paths": paths.values,
    }


def _default_marks() -> dict[str, Any]:
    return {name: getattr(Marks(), name) for name in Marks.__slots__}


def _decode_bytes(plain: dict[str, Any]) -> None:
    """Put bytes where the dump says that a text stands for them."""
    for *way, last in plain.pop("blobs", ()):
        holder = reduce(getitem, way, plain)
        holder[last] = b64decode(holder[last], validate=True)


def _row(row: dict[str, Any], following: int, tools: Table, heads: Table, paths: Table) -> dict[str, Any]:
    ordinal = near = row["ordinal"]
    out: dict[str, Any] = {"r": ordinal - following, "s": row["side"], "b": []}
    if row["whole"]:
        out["w"] = True
    elif row["head"] is not None:
        out["h"] = heads.number(row["head"], len(heads.values))
    for block in row["blocks"]:
        written = {"o": block["ordinal"] - near, **_block(block, row["whole"], tools, paths)}
        near = block["ordinal"]
        out["b"].append(written)
    return out


def _block(block: dict[str, Any], whole: bool, tools: Table, paths: Table) -> dict[str, Any]:
    out: dict[str, Any] = {"p": block["position"]} if block["position"] >= 0 else {}
    full = {**_PLAIN, **block}
    out |= {short: full[name] for name, short in _BLOCK.items() if name != "note"}
    out["t"] = tools.number(tuple(block["tools"]))
    if full["note"] is not None:
        out["n"] = full["note"]
    if block.get("cuts"):
        out["c"] = [_cut(path, pieces, chars, paths) for path, pieces, chars in block["cuts"]]
    if block.get("own_base") and not whole:
        out["x"] = block.get("base")
    return out


def _cut(path: list[Any], pieces: list[Any], chars: int, paths: Table) -> list[Any]:
    flat: list[Any] = [paths.number(tuple(path)), chars]
    for piece in pieces:
        flat += [piece] if isinstance(piece, str) else piece
    return flat


def _calls(calls: list[Any], pairs: list[Any], tools: Table) -> dict[str, Any]:
    answered = {number for _, number in pairs}
    return {
        "ordinal": steps([call[0] for call in calls]),
        "position": runs([call[1] for call in calls]),
        "turn": steps([call[2] for call in calls]),
        "raw_id": [call[3] for call in calls],
        "renamed": [(number, call[4]) for number, call in enumerate(calls) if call[4] != call[3]],
        "tools": runs([tools.number(tuple(call[5])) for call in calls]),
        "waiting": [number for number in range(len(calls)) if number not in answered],
        "pairs": steps([pair[0] for pair in pairs]),
        "paired": steps([pair[1] for pair in pairs]),
    }
