"""A dump read, and made a session again from the first list that it is given."""

from __future__ import annotations

import json
from binascii import Error as Base64Error
from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from ga_context import formats
from ga_context.archive import MemoryArchive, open_archive
from ga_context.archive.base import REF_DIGITS, digest_of
from ga_context.checkpoint import saved as layout
from ga_context.checkpoint import version1
from ga_context.checkpoint.columns import AsInput, digest, split, summed, unpacked, unrolled
from ga_context.checkpoint.dumping import TURN_MARKS
from ga_context.checkpoint.replay import replay, start_from
from ga_context.checkpoint.rows import made, needed, placed
from ga_context.checkpoint.saved import VERSION, Saved, SavedView
from ga_context.config import ContextConfig
from ga_context.errors import ConfigError
from ga_context.matching import starts_with
from ga_context.model import Call, Message
from ga_context.pipeline import Stage
from ga_context.reading import read_all
from ga_context.state import Base, Marks, Past, Snapshot, State

NOT_BUILT = (AttributeError, IndexError, KeyError, StopIteration, TypeError, ValueError)
"""What comes of parts of a dump that do not fit the messages."""


def load(data: str) -> Saved:
    """Read a dump; one that is damaged or of an unknown version is a ``ConfigError`` that says what is wrong."""
    try:
        plain = layout.read(data)
    except json.JSONDecodeError as error:
        raise ConfigError(f"this is no dump of a session: not JSON ({error})") from None
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError(f"this dump is damaged: {error}") from None
    version = plain.get("version")
    if version not in (None, version1.VERSION, VERSION):
        raise ConfigError(f"this dump has version {version}; this library reads versions 1 and {VERSION}")
    older = version == version1.VERSION
    try:
        if older:
            plain = version1.upgraded(plain)
        saved = Saved.model_validate(plain)
        saved._plain = plain
        ContextConfig.model_validate(saved.config)
        formats.of(saved.format, ContextConfig.model_validate(saved.made_by))
        saved.check_parts()
        if not older:
            _check_originals(saved)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join([str(key) for key in first["loc"]])
        raise ConfigError(f"this dump is damaged: `{where}` {first['msg'].lower()}") from None
    except (Base64Error, *NOT_BUILT) as error:
        raise ConfigError(f"this dump is damaged: {error}; load an earlier one") from None
    if not older and not layout.is_intact(data, plain):
        raise ConfigError("this dump is damaged: it was changed after it was written; load an earlier one")
    return saved


def _check_originals(saved: Saved) -> None:
    """Raise ValueError where an original is not what its reference says."""
    for ref, original in saved.entries.items():
        if len(ref) < REF_DIGITS or not digest_of(original).startswith(ref):
            raise ValueError(f"what it holds under the reference {ref} is not the original")
    known = split(unpacked(saved.raw))
    for ordinal, raw in saved.originals.items():
        if not 0 <= ordinal < len(known) or digest(raw) != known[ordinal]:
            raise ValueError(f"`originals.{ordinal}` is not the raw message")


def restored(saved: Saved, config: ContextConfig) -> State:
    """Return a state that knows everything but the messages, which the next list brings."""
    archive = open_archive(config.archive, saved.archive_name or None)
    if isinstance(archive, MemoryArchive):
        archive.entries.update(saved.entries)
    state = State(formats.of(saved.format, config), archive, decided=saved.decided)
    made_by = ContextConfig.model_validate(saved.made_by)
    if config.formats.openai_chat == made_by.formats.openai_chat:  # else its rows are no longer valid
        state.pending = saved
    now = saved.now.marks
    state.mark(key_info=now.key_info, shrink=now.shrink, scale=now.scale)
    return state


def adopt(state: State, messages: list[Message], stages: Sequence[Stage]) -> State:
    """Return the state of a loaded session, built from the list that continues it; one that does not starts anew."""
    saved: Saved = state.pending
    known = split(unpacked(saved.raw))
    given = [digest(message, state.fmt.as_input) for message in messages[: len(known)]]
    try:
        if given == known:
            return _built(state, saved, messages[: len(known)])
        if (raws := _from_view(saved, known, messages, state.fmt.as_input)) is not None:
            fresh = _built(state, saved, raws)
            if starts_with(messages, fresh.view):
                return fresh
    except NOT_BUILT as error:
        raise ConfigError(f"this dump is damaged: its view can not be made again ({error!r})") from error
    read_all(state.fmt, state.archive, messages, 0, 0)  # a list that is refused must not cost what was loaded
    same = next((at for at, one in enumerate(known) if given[at : at + 1] != [one]), len(known))
    return _taken_back(state, saved, messages, same, stages)


def _built(loaded: State, saved: Saved, raws: list[Any]) -> State:
    """Return a state with what the dump says; a raw message that the caller no longer has is None."""
    state = State(loaded.fmt, loaded.archive, decided=loaded.decided)
    state.raw.extend(raws)
    state.digests.extend(unpacked(saved.raw))
    complete = all([raw is not None for raw in raws])
    _place(state, saved, saved.now)
    state.sizes.extend(saved.sizes)
    state.enter_calls(set(saved.calls.waiting))
    awaited = [ordinal for ordinal in saved.awaited if raws[ordinal] is not None]
    for row in made(state, saved, _only(awaited)):
        state.undo.append((0, 0, [row]))
    now = state.snapshot()._replace(rebased=not complete)
    if complete:
        past = _snapshots(saved)
        base = _base(state, saved, saved.base) if saved.base is not None else None
        first = [Snapshot(base.marks, 0, 0, 0, (0, None), rebased=True)] if base is not None else []
        before = [*state.snapshots, *first, *past]
        state.snapshots = [*before[:-1], now] if len(before) > 1 else before
        turns = len(state.snapshots) - 1 if len(before) > 1 else 0
        state.past = Past(turns, base, ContextConfig.model_validate(saved.made_by)) if turns else None
    else:
        state.snapshots.append(now)
    return state


def _only(ordinals: Sequence[int]) -> list[int]:
    """Return these messages as they came, in the form of the rows of a view."""
    rows, following = [], 0
    for ordinal in ordinals:
        rows += [following - ordinal, 1] if ordinal > following else [1]
        following = ordinal + 1
    return rows


def _place(state: State, saved: Saved, view: SavedView) -> None:
    """Put calls, lines, marks and rows of a view into an empty state that has its raw messages."""
    _place_calls(state, saved, view)
    state.lines.extend(view.lines)
    state.marks = view.marks.copy()
    state.splice(0, 0, made(state, saved, view.rows), "config")


def _place_calls(state: State, saved: Saved, view: SavedView) -> None:
    calls = _calls(saved)
    state.calls.extend(calls[: view.calls])
    pairs = zip(summed(saved.calls.pairs), summed(saved.calls.paired), strict=True)
    state.pairs.extend([(ordinal, calls[number]) for ordinal, number in pairs][: view.pairs])


def _calls(saved: Saved) -> list[Call]:
    columns, ids = saved.calls, dict(saved.calls.renamed)
    tools = [saved.tools[number] for number in unrolled(columns.tools)]
    rest = zip(columns.raw_id, tools, strict=True)
    places = zip(summed(columns.ordinal), unrolled(columns.position), summed(columns.turn), rest, strict=True)
    return [
        Call(ordinal, position, turn, raw_id, ids.get(number, raw_id), names)
        for number, (ordinal, position, turn, (raw_id, names)) in enumerate(places)
    ]


def _base(state: State, saved: Saved, view: SavedView) -> Base:
    """Return the view before the first turn of the dump, from the raw messages of a state."""
    other = State(state.fmt, state.archive)
    other.raw = state.raw
    _place(other, saved, view)
    return Base(view.marks, other.rows, view.calls, view.pairs, list(view.lines))


def _snapshots(saved: Saved) -> list[Snapshot]:
    """Return the turns of the dump as far as they are known without the undo log: by their marks."""
    columns = {mark: unrolled(getattr(saved.turns, column)) for column, mark in TURN_MARKS.items()}
    ends = summed(saved.turns.messages)
    return [
        Snapshot(Marks(messages=end, **{mark: values[n] for mark, values in columns.items()}), 0, 0, 0, (0, None))
        for n, end in enumerate(ends)
    ]


def _from_view(saved: Saved, known: list[bytes], messages: list[Message], as_input: AsInput) -> list[Any] | None:
    """Return the raw messages behind a list that may begin with the view; None if it can not, or some miss.

    Those that were evicted are None.
    """
    rows = list(placed(saved.now.rows))
    if not rows or len(messages) < len(rows):
        return None
    raws: list[Any] = [None] * len(known)
    for ordinal, raw in saved.originals.items():
        raws[ordinal] = raw
    for message, (ordinal, row) in zip(messages, rows, strict=False):
        if row is None or "w" in row:
            if digest(message, as_input) != known[ordinal]:
                return None
            raws[ordinal] = message
    return None if any([raws[ordinal] is None for ordinal in needed(saved.now.rows)]) else raws


def _taken_back(loaded: State, saved: Saved, messages: list[Message], known: int, stages: Sequence[Stage]) -> State:
    """Return a state with what was after the latest turn that had at most ``known`` raw messages."""
    state = State(loaded.fmt, loaded.archive, decided=loaded.decided)
    turns = [one for one in _snapshots(saved) if one.marks.messages <= known]
    if saved.base is not None and saved.base.marks.messages > known:
        turns = []
    now = saved.now.marks
    if not turns:
        state.mark(key_info=now.key_info, shrink=now.shrink, scale=now.scale)
        return state
    config = ContextConfig.model_validate(saved.made_by)
    if saved.base is not None:
        other = State(state.fmt, state.archive)
        other.raw.extend(messages[:known])
        other.sizes.extend(saved.sizes)
        base = _base(other, saved, saved.base)
        _place_calls(other, saved, saved.now)
        start_from(state, base, other)
    replay(state, messages, turns, config, stages)
    state.mark(shrink=now.shrink, scale=now.scale)
    return state
