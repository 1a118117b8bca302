"""What a provider's cache would make of a session's requests, one after the other (spec 10: predicted, explained)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import takewhile
from typing import Any

from ga_context.cache import definitions
from ga_context.cache.explain import MissCause, callers_fault, first_change
from ga_context.cache.prices import Price
from ga_context.cache.render import Count, Renderer
from ga_context.cache.request import Prompt, Segment, Served
from ga_context.cache.simulate import simulator
from ga_context.cache.usage import MILLION, Tokens
from ga_context.formats.base import Format
from ga_context.model import Message
from ga_context.report import Report


@dataclass(frozen=True, slots=True)
class Miss:
    """A request that does not begin with the one before, or finds its entry gone."""

    turn: int
    cause: MissCause
    part: str
    """tools, system or messages"""
    message: int | None
    """The first changed message, by its index in the request; None outside of the messages."""
    char: int
    """Its first character, as JSON, that differs."""
    tokens: int
    """Thrown away: P_(t-1) - L_t; of a time to live that ran out, what it would have served."""
    missed: int
    """Of these, the tokens that the request still holds: computed anew, and could have been read."""
    cost: float
    """What that cost beyond reading them from the cache, in tokens at the base price of input."""
    dollars: float | None
    """The same in dollars; None where the model has no price."""
    fault: str | None = None
    """What the caller did, where it was the caller."""


@dataclass(frozen=True, slots=True)
class Predicted:
    """One request: what the cache would serve, and why not more."""

    turn: int
    served: Served
    shared: int
    """L_t, tokens of the longest common prefix with the request before."""
    miss: Miss | None


@dataclass(slots=True)
class Prediction:
    """The requests of one session, predicted in order."""

    price: Price
    turns: list[Predicted] = field(default_factory=list)

    @property
    def tokens(self) -> Tokens:
        """The sums over all requests; the reply is not predicted."""
        sums = Tokens()
        for one in self.turns:
            sums.add(one.served.prompt, one.served.cached, one.served.written)
        return sums

    @property
    def misses(self) -> list[Miss]:
        """The misses, in order."""
        return [one.miss for one in self.turns if one.miss is not None]

    @property
    def append_rate_raw(self) -> float | None:
        """`definitions.append_rate_raw`."""
        return definitions.append_rate_raw(*self._lengths())

    @property
    def prefix_retention(self) -> float | None:
        """`definitions.prefix_retention`."""
        return definitions.prefix_retention(*self._lengths())

    @property
    def prefix_hit(self) -> float | None:
        """Token hit of a cache that reads every longest common prefix: sum L_t / sum P_t, turn 1 a miss."""
        shared, prompts = self._lengths()
        return definitions.token_hit(sum(shared[1:]), sum(prompts))

    @property
    def input_cost(self) -> float:
        """`definitions.input_cost` of all requests, in tokens at the base price."""
        return self.tokens.input_cost(self.price)

    @property
    def dollars(self) -> float | None:
        """The input in dollars; None where the model has no price."""
        return self.tokens.dollars(self.price)

    def _lengths(self) -> tuple[list[int], list[int]]:
        return [one.shared for one in self.turns], [one.served.prompt for one in self.turns]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON: the sums, the rates, each miss."""
        sums = self.tokens
        return {
            "model": self.price.model,
            **{key: value for key, value in asdict(sums).items() if key != "output"},
            "uncached": sums.uncached,
            "token_hit": sums.token_hit,
            "prefix_hit": self.prefix_hit,
            "append_rate_raw": self.append_rate_raw,
            "prefix_retention": self.prefix_retention,
            "rewrite_tokens": sum(miss.tokens for miss in self.misses),
            "input_cost": self.input_cost,
            "input_dollars": self.dollars,
            "misses": [asdict(miss) for miss in self.misses],
        }


class Predictor:
    """Predict a session's requests as they come.

    Args:
        fmt: the wire format.
        price: the model's rules and multipliers (`prices.price`).
        chars_per_token: without ``count``, how many characters (C_H) a token has.
        count: a caller's exact counter, text in, tokens out.
        mark_ends: put breakpoints behind the system prompt, the newest message and the newest of the request before, as
            loops without this library do; else only those that the messages carry count.
    """

    def __init__(
        self,
        fmt: Format,
        price: Price,
        *,
        chars_per_token: float = 3.0,
        count: Count | None = None,
        mark_ends: bool = False,
    ) -> None:
        self.prediction = Prediction(price)
        self._renderer = Renderer(fmt, chars_per_token, count)
        self._cache, self._timeless = simulator(price), simulator(price)
        self._mark_ends = mark_ends
        self._before: Prompt = ()

    def turn(
        self,
        messages: Sequence[Message],
        system: Any = None,
        tools: Any = None,
        *,
        report: Report | None = None,
        now: float = 0.0,
    ) -> Predicted:
        """Predict the next request.

        Args:
            messages, system, tools: what is sent, with its markers.
            report: of the turn, for the cause of a break; None for a list that no session made.
            now: seconds, on any clock, at which it is sent.
        """
        prompt = self._renderer.prompt(messages, system, tools)
        if self._mark_ends:
            prompt = self._with_ends(prompt)
        served = self._cache.request(prompt, now)
        timeless = self._timeless.request(prompt)
        change = first_change(self._before, prompt)
        shared = sum([s.tokens for s in self._before]) if change is None else change.tokens
        number = report.turn if report is not None else len(self.prediction.turns) + 1
        miss = None
        if change is not None:
            thrown = definitions.rewrite_tokens(shared, sum([s.tokens for s in self._before]))
            place: tuple[str, int | None, int] = (change.part, None, change.char)
            if change.message >= 0:
                place = (change.part, change.message, change.char)
            if change.part == "messages" and report is not None and report.first_changed is not None:
                place = ("messages", report.first_changed, report.first_changed_char or 0)
            cause = _cause(change.part, report)
            fault = callers_fault(change) or ("a message was changed, or left out" if cause == "caller" else None)
            again = min(thrown, served.prompt - served.cached - _new_at_end(self._before, prompt))
            miss = self._miss(number, cause, place, thrown, max(0, again), served, fault)
        elif timeless.cached > served.cached:
            lost = timeless.cached - served.cached
            miss = self._miss(number, "time to live", ("messages", None, 0), lost, lost, served)
        self._before = prompt
        predicted = Predicted(number, served, shared, miss)
        self.prediction.turns.append(predicted)
        return predicted

    def _miss(
        self,
        turn: int,
        cause: MissCause,
        place: tuple[str, int | None, int],
        thrown: int,
        missed: int,
        served: Served,
        fault: str | None = None,
    ) -> Miss:
        price = self.prediction.price
        fresh = served.prompt - served.cached
        paid = definitions.input_cost(0, served.uncached, served.written, price.read, price.write)
        cost = missed * (paid / fresh - price.read) if fresh else 0.0
        dollars = None if price.input_dollars is None else cost * price.input_dollars / MILLION
        return Miss(turn, cause, *place, thrown, missed, cost, dollars, fault)

    def _with_ends(self, prompt: Sequence[Segment]) -> list[Segment]:
        """Return the prompt with breakpoints behind its system prompt, its end, and the end of the one before."""
        beside = [i for i, segment in enumerate(prompt) if segment.part != "messages"]
        ends = {len(prompt) - 1, len(self._before) - 1, *beside[-1:]}
        return [s._replace(ttl="5m" if i in ends else None) for i, s in enumerate(prompt)]


def _new_at_end(before: Prompt, now: Prompt) -> int:
    """Return the tokens at the end of a prompt that were never sent before."""
    known = {segment.text for segment in before}
    new = takewhile(lambda segment: segment.text not in known, reversed(now))
    return sum([segment.tokens for segment in new])


def _cause(part: str, report: Report | None) -> MissCause:
    if part in ("tools", "system"):
        return "tools" if part == "tools" else "system"
    if report is None:
        return "unknown"
    return report.break_cause or "anchor"
