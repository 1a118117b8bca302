"""Play a recorded session through a configuration, turn by turn, and sum up what happened."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ga_context import formats
from ga_context.cache.definitions import append_rate_of
from ga_context.cache.predict import Predicted, Prediction, Predictor
from ga_context.cache.prices import Price
from ga_context.cache.usage import Tokens, Usage, read_usage
from ga_context.config import ContextConfig
from ga_context.errors import BudgetExceeded, InvalidMessages, UnknownUsage
from ga_context.model import Message
from ga_context.payload.charge import Charges
from ga_context.replay.readers import ReadError, Recording, read
from ga_context.report import Action, Report
from ga_context.session import UNDECIDED, ContextSession


@dataclass(frozen=True, slots=True)
class Turn:
    """What one `prepare` did and how long it took."""

    report: Report
    ms: float
    predicted: Predicted | None = None
    """What the provider's cache would make of the request."""
    recorded: Usage | None = None
    """What the provider counted when the session was recorded, for the list as it was then."""


@dataclass(slots=True)
class Played:
    """A recorded session after its replay."""

    name: str
    format: str | None = None
    """The wire format, given by the recording or detected."""
    turns: list[Turn] = field(default_factory=list)
    """The turns played; all of them, unless there is an error."""
    prediction: Prediction | None = None
    """The requests with the views, through the cache that was asked for."""
    raw: Prediction | None = None
    """The requests as they were recorded, nothing cut, with breakpoints at their ends."""
    measured: Tokens = field(default_factory=Tokens)
    """Sums of the usage that the recording carries."""
    measured_models: tuple[str, ...] = ()
    """The models that the recording names with it."""
    error: str | None = None
    """Which session could not be replayed to its end, where it stopped and why."""

    @property
    def actions(self) -> list[Action]:
        """Everything that was cut, evicted, repaired or added, in order."""
        return [action for turn in self.turns for action in turn.report.actions]

    def to_dict(self, *, actions: bool = False) -> dict[str, Any]:
        """Return plain JSON data: the sums, then every turn's report; its actions only if asked for."""
        turns = [{**turn.report.to_dict(), "ms": round(turn.ms, 3)} for turn in self.turns]
        if not actions:
            turns = [{k: v for k, v in turn.items() if k not in ("actions", "repairs")} for turn in turns]
        sums = asdict(sum_up([self]))
        del sums["sessions"]
        plain = {"name": self.name, "format": self.format, "error": self.error, **sums, "per_turn": turns}
        if self.prediction is None:
            return plain
        for turn, line in zip(self.turns, turns, strict=True):
            line |= {"cache": _served(turn), "measured": turn.recorded._asdict() if turn.recorded else None}
        raw = self.raw.to_dict() if self.raw is not None else None
        measured = {**asdict(self.measured), "token_hit": self.measured.token_hit, "models": self.measured_models}
        return {**plain, "cache": {"views": self.prediction.to_dict(), "raw": raw, "measured": measured}}


@dataclass(frozen=True, slots=True)
class Sums:
    """The figures of one session, or of many together."""

    sessions: int
    turns: int
    chars_raw: int
    """C_H of the raw history at the last turn, added up over sessions."""
    largest_view: int
    last_view: int
    """C_H of the last view, added up over sessions."""
    results_cut: int
    """Stage 1: tool results cut to their tool's limit."""
    texts_compacted: int
    """Stage 2: texts, blocks and images cut or replaced."""
    messages_evicted: int
    passes: int
    """Turns in which a pass changed something."""
    repairs: int
    append_rate: float | None
    """Share of turns whose previous view is a full prefix of this one, the first turn a miss (spec 10)."""
    unexplained_breaks: int
    """Turns whose view does not start with the one before and that give no cause: always a defect."""
    turns_over_budget: int
    ms_mean: float | None
    ms_p99: float | None


def model_calls(messages: Sequence[Message], format: str | None = None) -> list[int]:
    """Return where the recorded model began to speak: the first message of each run of its messages.

    What stands before such an index was sent to the model. Nothing was sent before a first message.
    ``format`` None: it is detected.
    """
    fmt = formats.make(format or formats.detect(messages) or UNDECIDED, Charges())
    spoken = [fmt.speaks(message) for message in messages]
    return [i for i in range(1, len(messages)) if spoken[i] and not spoken[i - 1]]


OnTurn = Callable[[int, int], None]
"""Called after each turn with the number of turns played and the number there will be."""


def play(
    recording: Recording, config: ContextConfig, on_turn: OnTurn | None = None, cache: Price | None = None
) -> Played:
    """Prepare, in a fresh session, what came before each model response.

    With ``cache``, views carry markers and go through the simulator of that model's cache, and so do the lists as they
    were recorded. A session that cannot go on (`InvalidMessages`, `BudgetExceeded`) is returned with its error and the
    turns so far.
    """
    session = ContextSession(config, format=recording.format)
    played = Played(recording.name)
    if cache is not None:
        try:
            _sum_recorded(played, recording)
        except UnknownUsage as error:
            played.error = f"{recording.name}: {error}"
            return played
    indexes = model_calls(recording.messages, recording.format)
    predict = _Predict(recording, config, cache, played) if cache is not None else None
    for index in indexes:
        try:
            turn = _prepare(session, recording, index, cache is not None)
            played.turns.append(predict.turn(session, turn, index) if predict is not None else turn)
        except (InvalidMessages, BudgetExceeded) as error:
            played.error = f"{recording.name}, before messages[{index}]: {error}"
            break
        if on_turn:
            on_turn(len(played.turns), len(indexes))
    played.format = session.format
    return played


def session_of(recording: Recording, config: ContextConfig) -> ContextSession:
    """Return the session that a recording ends in, every turn of it prepared, the last message included.

    Raises:
        GAContextError: it cannot be replayed to its end.
    """
    session = ContextSession(config, format=recording.format)
    for end in [*model_calls(recording.messages, recording.format), len(recording.messages)]:
        session.prepare(recording.messages[:end], system=recording.system, tools=recording.tools)
    return session


def play_file(path: Path, config: ContextConfig, on_turn: OnTurn | None = None, cache: Price | None = None) -> Played:
    """Read and play one file; what cannot be read comes back as an error, too."""
    try:
        recording = read(path)
    except ReadError as error:
        return Played(path.name, error=str(error))
    return play(recording, config, on_turn, cache)


class _Predict:
    """The two predictions of one recording: of its views, and of its lists as they were recorded."""

    def __init__(self, recording: Recording, config: ContextConfig, price: Price, played: Played) -> None:
        self.recording = recording
        name = recording.format or formats.detect(recording.messages) or UNDECIDED
        self.fmt = formats.of(name, config)
        alpha = config.budget.chars_per_token
        self.views = Predictor(self.fmt, price, chars_per_token=alpha)
        self.raw = Predictor(self.fmt, price, chars_per_token=alpha, mark_ends=True)
        played.prediction, played.raw = self.views.prediction, self.raw.prediction

    def turn(self, session: ContextSession, turn: Turn, index: int) -> Turn:
        """Return the turn with what was predicted, and what was measured when it was recorded."""
        replies = self.recording.replies.get(index, [])
        now = next((reply.seconds for reply in replies if reply.seconds is not None), 0.0)
        request = session.request()
        predicted = self.views.turn(
            request["messages"], request["system"], request["tools"], report=turn.report, now=now
        )
        history = self.recording.messages[:index]
        self.raw.turn(history, self.recording.system, self.recording.tools, now=now)
        recorded = read_usage(replies[0].usage) if replies else None
        return Turn(turn.report, turn.ms, predicted, recorded)


def _sum_recorded(played: Played, recording: Recording) -> None:
    for reply in [reply for replies in recording.replies.values() for reply in replies]:
        usage = read_usage(reply.usage)
        played.measured.add(usage.prompt, usage.cached, usage.written, usage.output)
        if reply.model and reply.model not in played.measured_models:
            played.measured_models = (*played.measured_models, reply.model)


def _served(turn: Turn) -> dict[str, Any] | None:
    """Return a predicted request as plain data."""
    if turn.predicted is None:
        return None
    served = turn.predicted.served
    figures = {"prompt": served.prompt, "cached": served.cached, "uncached": served.uncached}
    return {**figures, "written": dict(served.written), "shared": turn.predicted.shared}


def _prepare(session: ContextSession, recording: Recording, index: int, markers: bool) -> Turn:
    history = recording.messages[:index]
    start = time.perf_counter()
    session.prepare(history, system=recording.system, tools=recording.tools, cache_control=markers)
    ms = (time.perf_counter() - start) * 1000
    report = session.report
    assert report is not None
    return Turn(report, ms)


def sum_up(sessions: Iterable[Played]) -> Sums:
    """Add up the figures of the sessions; rates and times are over all their turns."""
    sessions = list(sessions)
    turns = [turn for played in sessions for turn in played.turns]
    last = [played.turns[-1].report for played in sessions if played.turns]
    reports = [turn.report for turn in turns]
    actions = [action for report in reports for action in report.actions]
    kept = [[turn.report.first_changed is None for turn in played.turns] for played in sessions]
    times = sorted(turn.ms for turn in turns)
    return Sums(
        sessions=len(sessions),
        turns=len(turns),
        chars_raw=sum(report.chars_raw for report in last),
        largest_view=max((report.chars_after for report in reports), default=0),
        last_view=sum(report.chars_after for report in last),
        results_cut=sum(action.stage == "truncate" for action in actions),
        texts_compacted=sum(action.stage == "compact" for action in actions),
        messages_evicted=sum(_evicted(action) for action in actions),
        passes=sum(report.compacted for report in reports),
        repairs=sum(len(report.repairs) for report in reports),
        append_rate=append_rate_of(kept),
        unexplained_breaks=sum(r.first_changed is not None and r.break_cause is None for r in reports),
        turns_over_budget=sum(report.chars_after > report.budget_chars for report in reports),
        ms_mean=sum(times) / len(times) if times else None,
        ms_p99=times[(len(times) * 99 - 1) // 100] if times else None,
    )


def _evicted(action: Action) -> int:
    """Count the messages of an evicted run; a text cut to fit the budget evicts none."""
    if action.stage != "evict" or action.last is None:
        return 0
    return action.last - action.message + 1
