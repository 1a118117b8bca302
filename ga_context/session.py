"""``ContextSession``: what an agent loop holds. It takes the message list in and gives the list to send."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, Self

from ga_context import calibration, checkpoint, formats, manifest, own_tools, schema
from ga_context.adoption import adopted, settle
from ga_context.archive import Archive, Found, open_archive
from ga_context.cache.breakpoints import Breakpoints, cache_key
from ga_context.cache.measured import CacheFigures, Measured
from ga_context.cache.usage import as_mapping
from ga_context.config import ContextConfig
from ga_context.edits import Turn
from ga_context.errors import ArchiveError, BudgetExceeded, ConfigError, InvalidMessages
from ga_context.manifest import Span
from ga_context.matching import match
from ga_context.model import Message
from ga_context.pipeline import STAGES, Stage, advance, check
from ga_context.reading import as_list, read_all
from ga_context.report import Report
from ga_context.stages.truncate import cut_output
from ga_context.state import State
from ga_context.text.clean import encodable
from ga_context.text.plain import plain, plain_text

UNDECIDED = "openai-chat"
"""How a list is read until something in it is decisive (spec 6)."""


class ContextSession:
    """Stand between a message list and the model call.

    Args:
        config: a ``ContextConfig``; None for the defaults.
        format: ``"anthropic"``, ``"openai-chat"``, ``"openai-responses"``, ``"gemini"``, ``"bedrock"`` or ``"text"``;
            None to detect it from the list.
        stages: the pipeline, in order; None for ``ga_context.pipeline.STAGES``.
        archive: where originals go, as the ``archive`` of another session; None for the one of the configuration.
        check_mutation: find messages that were edited in place after they were handed over. For tests: it encodes the
            whole list each turn.
    """

    def __init__(
        self,
        config: ContextConfig | Mapping[str, Any] | None = None,
        *,
        format: str | None = None,
        stages: Sequence[Stage] | None = None,
        archive: Archive | None = None,
        check_mutation: bool = False,
    ) -> None:
        self.config = ContextConfig() if config is None else ContextConfig.model_validate(config)
        self.reports: list[Report] = []
        self.usage: dict[str, float] = {}
        self.cache = CacheFigures(Measured(self.config.prices))
        self._stages = STAGES if stages is None else tuple(stages)
        self._lock = threading.RLock()
        self._handed: dict[int, tuple[Message, str]] | None = {} if check_mutation else None
        self._state = self._fresh(format, open_archive(self.config.archive) if archive is None else archive)
        self._beside = schema.Beside()
        self._noted: str | None = None
        self._rescaled = False
        self._breakpoints = Breakpoints()
        self._cached = False

    def _fresh(self, name: str | None, archive: Archive) -> State:
        return State(formats.of(name or UNDECIDED, self.config), archive, decided=name is not None)

    @property
    def report(self) -> Report | None:
        """The report of the last turn."""
        return self.reports[-1] if self.reports else None

    @property
    def format(self) -> str | None:
        """Name of the wire format; None while the list has not shown it."""
        return self._state.fmt.name if self._state.decided else None

    @property
    def archive(self) -> Archive:
        """Where the originals are. Another session can share it: ``ContextSession(config, archive=other.archive)``."""
        return self._state.archive

    def prepare(
        self,
        messages: Sequence[Message],
        *,
        system: Any = None,
        tools: Any = None,
        cache_control: bool = False,
        shrink: float | None = None,
    ) -> list[Message]:
        """Turn the loop's message list into the list to send.

        Args:
            messages: the whole list so far: the raw history, or the last returned list with new messages behind it.
                Never changed; do not edit a message once it was handed over.
            system: the system prompt that is sent beside the list; its characters come off the budget.
            tools: the tool definitions that are sent beside the list, in any form that is JSON, or as a string;
                likewise. For a text protocol, show the model what ``request()`` makes of them.
            cache_control: place cache markers, at most four with the caller's own (anthropic, bedrock), on copies of
                messages in the list that is returned; those beside the list come with ``request()``. In the other
                formats the messages are the same with it.
            shrink: a share of the budget, between 0 and 1, after a provider's "prompt too long"; the smaller budget
                is kept for the turns that follow.

        Returns:
            A new list. Messages in which nothing was cut are the caller's own objects.

        Raises:
            InvalidMessages: a message that no repair covers; the session is as it was before the call.
            ArchiveError: originals of this turn could not be made durable, and `archive.on_error` is "raise". The turn
                is done: ``.view`` is its list, good for as long as this process lives; the next call tries again, with
                the same list too.
            BudgetExceeded: what must stay is over the budget, or over the bytes of a request (``.unit``); ``.view`` is
                the smallest valid list.
        """
        with self._lock:
            messages = self._breakpoints.less_ours(as_list(messages), self._state.fmt)
            beside = schema.measured(system, tools, self._beside, self._state)
            view = self._prepare(messages, beside, shrink)
            self._cached = cache_control
            if not cache_control:
                self._breakpoints.clear()
                return view
            self._breakpoints.mark(self._state, self._beside, self.report, self.config)
            return self._breakpoints.view(self._state)

    def request(self) -> dict[str, Any]:
        """Return what to send for the last prepared turn: messages, system and tools, the latter as handed over.

        After ``prepare(cache_control=True)`` system or tools carry a cache marker where the format has such, and for
        OpenAI there is a ``prompt_cache_key``, the same for the whole session. In the text format, while they stay the
        same, a line of text comes out for the tools most of the time (``formats.text``). A provider's tool API gets
        them in full each turn.
        """
        with self._lock:
            state, placed = self._state, self._breakpoints
            system = placed.shown(state, "system", self._beside.system)
            tools = placed.shown(state, "tools", schema.shown(state, self._beside))
            key = cache_key(state, system) if self._cached and state.fmt.keyed else None
            made = {"messages": placed.view(state), "system": system, "tools": tools}
            return made if key is None else {**made, "prompt_cache_key": key}

    def tool_output(self, tool: str, text: str) -> str:
        """Return a tool's output cut to the tool's limit, for a tool handler; ``prepare`` does the same by itself."""
        with self._lock:
            cut = cut_output(text, self.config.limits(tool), self._state.archive.ref)
            if cut is None:
                return text
            for original in (text, *cut.also):
                self._state.archive.put(original)
            self._commit(None)
            return cut.apply(text)

    def update_key_info(self, text: str) -> None:
        """Replace the key_info block of the anchor; an empty text clears it."""
        with self._lock:
            text = encodable(text)
            if text != self._state.marks.key_info:
                self._state.mark(key_info=text)
                self._noted = text

    def recall(self, ref: str, start: int | None = None, end: int | None = None) -> str | bytes:
        """Return the original behind a reference: a text, a message or list of messages as JSON, or bytes.

        ``start`` and ``end`` ask for a part, as a slice does: characters of a text, bytes of anything else.

        Raises:
            UnknownReference: nothing is archived under it.
        """
        return self._state.archive.recall(ref)[start:end]

    def tools(self) -> list[Message]:
        """Return the definitions of ``recall_context`` and ``update_working_checkpoint``, for the model.

        They stand in a request's list of tools beside yours, in the session's format; for Gemini both in one entry.

        Raises:
            ConfigError: the format is not known yet.
        """
        return own_tools.definitions(self._known_format().fmt)

    def handle_tool_call(self, call: Any) -> Any:
        """Answer a call of ``recall_context`` or ``update_working_checkpoint``; return None for any other.

        Args:
            call: as it stands in the model's message, a dict or the SDK's object: a block (anthropic, bedrock), an
                entry of ``tool_calls`` (openai-chat), an item (openai-responses), a part or function call (gemini),
                what stands in the tags (text).

        Returns:
            What goes into the list: a message (openai-chat), an item (openai-responses), a block or part of the next
            user message (anthropic, bedrock, gemini), a string with its tags for it (text). An unknown reference or a
            wrong argument is answered, too: in words for the model.

        Raises:
            ConfigError: the format is not known yet.
        """
        with self._lock:
            return own_tools.handle(self._known_format(), self.config, call)

    def _known_format(self) -> State:
        if not self._state.decided:
            raise ConfigError(
                "the wire format is not known before a list has shown it; name it: ContextSession(format=...)"
            )
        return self._state

    def search(self, words: str, *, limit: int = 20) -> list[Found]:
        """Return the places in this session's originals that hold some words, in any language, the best first.

        Rare words weigh more, and words close together more than scattered ones; no word has to occur. Each place is
        ``ref``, ``excerpt``, ``start`` and ``end`` (characters of the original) and ``score``.
        """
        return self._state.archive.search(words, limit)

    def forget(self, ref: str) -> int:
        """Remove an original from the archive, or with ``"all"`` each that only this session put in; return how many.

        A reference to it that stands in a view leads nowhere from then on. What is still in your list is archived
        again when it is cut again: take it out there first.
        """
        with self._lock:
            return self._state.archive.forget(ref)

    def where(self, message: int, start: int = 0, end: int | None = None, *, part: str | None = None) -> list[Span]:
        """Return where characters of the raw history are now, since when, and why; see ``ga_context.manifest.Span``.

        Args:
            message: a raw message, counted over the session from 0.
            start: first character, of the texts of the message one behind the other, or of the part.
            end: behind the last character; None: to the end.
            part: one text of the message, named as in an action of a report.

        Raises:
            InvalidMessages: there is no such message or part.
        """
        with self._lock:
            return manifest.where(self._state, self.reports, message, start, end, part)

    def manifest(self) -> list[Span]:
        """Return where every character of the raw history is now."""
        with self._lock:
            return list(manifest.everything(self._state, self.reports))

    def original(self, span: Span) -> str:
        """Return the characters of a span, from the view or by its reference."""
        return manifest.recovered(self._state, span)

    def record_usage(self, usage: Any, model: str | None = None) -> None:
        """Add a response's usage object to the sums in ``cache.measured``, and as it is to those in ``usage``.

        Args:
            usage: an SDK's object or a dict, of Anthropic, OpenAI (chat and responses), Gemini, DeepSeek, Bedrock,
                vLLM, SGLang or llama.cpp.
            model: whose prices hold, as in ``"anthropic:claude-sonnet-4-5"``; None: ``cache.model``.

        Raises:
            UnknownUsage: it has none of these shapes; nothing is added.
        """
        with self._lock:
            self.cache.measured.record(usage, model or self.config.cache.model)
            if (last := self.cache.measured.last) is not None:
                self._measured_tokens(last.prompt)
            for key, number in _numbers(as_mapping(usage)):
                self.usage[key] = self.usage.get(key, 0) + number

    def dump(self, *, archive: bool = True) -> str:
        """Return the session as JSON: what decides the next bytes and, unless told otherwise, the originals."""
        with self._lock:
            return checkpoint.dump(
                self._state,
                self.config,
                archive,
                usage=self.usage,
                noted=self._noted,
                measured=self.cache.measured.models,
                marked=self._breakpoints.saved(),
            )

    @classmethod
    def load(cls, data: str, *, config: ContextConfig | Mapping[str, Any] | None = None) -> Self:
        """Return the session that ``dump`` wrote down; another ``config`` holds for what comes.

        Raises:
            ConfigError: the data is no dump, or is damaged.
        """
        saved = checkpoint.load(data)
        session = cls(saved.config if config is None else config)
        session._state = checkpoint.restored(saved, session.config)
        session.usage, session._noted = dict(saved.usage), saved.noted
        session.cache.measured.models.update(saved.measured)
        session._breakpoints.load(saved.marked)
        return session

    def fork(self) -> Self:
        """Return a session that goes on from here by itself, for a sub-agent or to try an edit.

        It gives the bytes that this one would give. Originals go to the same archive; nothing else that happens to one
        reaches the other. What it costs is a few list copies.
        """
        with self._lock:
            other = copy(self)
            other._lock = threading.RLock()
            other._state = self._state.fork()
            other.reports, other.usage = list(self.reports), dict(self.usage)
            other.cache = CacheFigures(self.cache.measured.copy())
            other._breakpoints = self._breakpoints.fork()
            other._handed = None if self._handed is None else dict(self._handed)
            return other

    def _measured_tokens(self, tokens: int) -> None:
        """Compare what a provider counted for the last prepared list, its whole prompt, with what was expected.

        The report of that turn says by how much the estimate is off. With ``budget.calibrate``, the characters per
        token that were found hold from the next turn on, where they are off by more than `calibration.TOLERANCE`.
        """
        report, state, config = self.report, self._state, self.config
        if report is None or tokens <= 0:
            return
        size, scale = state.chars + self._beside.chars, state.marks.scale
        expected = size / (scale or config.expected_chars_per_token)
        report.prompt_tokens, report.estimate_error = tokens, round(expected / tokens - 1, 4)
        found = calibration.scale(size, tokens, scale or config.budget.chars_per_token, report.budget_chars)
        if config.budget.calibrate and config.budget.chars is None and found is not None:
            state.mark(scale=found)
            self._rescaled = True

    # -- one turn -------------------------------------------------------------------------------------------------

    def _prepare(self, messages: list[Message], beside: schema.Beside, shrink: float | None) -> list[Message]:
        if shrink is not None and not 0 < shrink < 1:
            raise ConfigError(f"`shrink` must be between 0 and 1, a share of the budget; got {shrink!r}")
        self._check_mutation(self._state.view)
        self._check_mutation(messages)
        if self._state.pending is not None:
            self._state = checkpoint.adopt(self._state, messages, self._stages)
        state, before = self._decided(messages), self._state.view
        marks = state.marks
        budget = int(self.config.budget_chars(beside.chars, 0, marks.scale) * marks.shrink * (shrink or 1))
        if budget <= 0:
            raise BudgetExceeded(0, budget, [("system and tools", beside.chars)])
        found = match(state, messages)
        incoming, notes = read_all(state.fmt, state.archive, messages, found.start, state.marks.messages)
        turn = Turn(1 + state.marks.responses, self.config, budget, state.marks.messages, shrunk=shrink is not None)
        if state is not self._state:
            beside = schema.measured(beside.system, beside.tools, schema.Beside(), state)
            self._breakpoints.forget(0)
        self._beside, turn.markers_beside = beside, len(beside.markers)
        if not (incoming or found.changed or self._noted is not None) and budget == state.marks.budget:
            schema.decide(state, turn, incoming, beside)
            self._commit(self.report)  # what a turn before could not make durable
            check(state, turn, self.report)
            return list(state.view)
        if self._rescaled:
            turn.budget_before, self._rescaled = marks.budget, False
        before = list(before)
        if found.restore is not None and state.past is not None:
            self._state = state = checkpoint.went_back(state, found.restore, self.config, self._stages)
        state.begin()
        if state is not self._state:  # the list has shown its format by now, and was read anew
            state.causes.add("config")
            self._state = state
        if found.changed:
            turn.first_new = state.go_back(found.restore, found.keep_rows)
            self._breakpoints.forget(turn.first_new)
            incoming, notes = read_all(state.fmt, state.archive, messages, found.start, turn.first_new)
        if self._noted is not None:
            state.mark(key_info=self._noted)
            self._noted = None
        state.given = list(messages) if found.from_view else None
        state.given_rows, state.given_base = found.start, turn.first_new
        turn.actions.extend(notes)
        if turn.first_new == 0 and incoming:
            incoming, turn.adopted = adopted(state, incoming)
        state.mark(budget=budget, shrink=state.marks.shrink * (shrink or 1))
        report = advance(state, turn, incoming, self._stages, before)
        if turn.adopted >= 0:
            settle(state)
        schema.decide(state, turn, incoming, beside)
        state.snapshots.append(state.snapshot())
        self.reports.append(report)
        self._check_mutation(state.view)
        self._commit(report)
        check(state, turn, report)
        return list(state.view)

    def _commit(self, report: Report | None) -> None:
        """Make originals durable before anybody sees a reference to one (spec 11.1)."""
        if report is not None and (redacted := self._state.archive.redacted):
            for action in report.actions:
                action.redacted = action.ref in redacted
        try:
            self._state.archive.commit()
        except ArchiveError as error:
            if self.config.archive.on_error == "raise":
                error.view, error.report = list(self._state.view), report
                raise
            if report is not None:
                report.archive_error = error.problem

    def _decided(self, messages: list[Message]) -> State:
        """Return the state in the format that the list shows by now; a format just found reads everything again."""
        state = self._state
        if state.decided or (name := formats.detect(plain(messages[len(state.raw) :]))) is None:
            return state
        if name == state.fmt.name:
            state.decided = True
            return state
        fresh = self._fresh(name, state.archive)
        fresh.mark(key_info=state.marks.key_info, shrink=state.marks.shrink, scale=state.marks.scale)
        return fresh

    def _check_mutation(self, messages: list[Message]) -> None:
        """Refuse a message that is another than when it was handed over, though the same object."""
        if self._handed is None:
            return
        for index, message in enumerate(messages):
            text = plain_text(message)
            known = self._handed.setdefault(id(message), (message, text))
            if known[0] is message and known[1] != text:
                raise InvalidMessages("was changed in place after it was handed over; append a new dict instead", index)


def _numbers(usage: Any, prefix: str = "") -> list[tuple[str, float]]:
    """Return (dotted key, number) of each number in a usage dict."""
    found: list[tuple[str, float]] = []
    for key, value in usage.items():
        if isinstance(value, Mapping):
            found += _numbers(value, f"{prefix}{key}.")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found.append((f"{prefix}{key}", value))
    return found
