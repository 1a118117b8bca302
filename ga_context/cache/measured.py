"""What the responses of a session said of the cache: sums, rates and cost, by model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ga_context.cache.prices import Price, price
from ga_context.cache.usage import Tokens, read_usage
from ga_context.errors import ConfigError


@dataclass(slots=True)
class Measured:
    """The usage that was recorded, added up; all figures are tokens, unless their names say dollars."""

    prices: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    """``cache.prices`` of the configuration."""
    models: dict[str, Tokens] = field(default_factory=dict)
    """By the model that was named with the usage; ``""`` where none was."""
    last: Tokens | None = None
    """The response that was recorded last."""

    def record(self, usage: Any, model: str | None) -> None:
        """Add a response's usage object."""
        read = read_usage(usage)
        figures = (read.prompt, read.cached, read.written, read.output)
        self.models.setdefault(model or "", Tokens()).add(*figures)
        self.last = Tokens()
        self.last.add(*figures)

    @property
    def total(self) -> Tokens:
        """The sums over all models."""
        total = Tokens()
        for one in self.models.values():
            total.add(one.prompt, one.cached, one.written, one.output, one.requests)
        return total

    @property
    def token_hit(self) -> float | None:
        """Cached input tokens / all input tokens; None before the first response."""
        return self.total.token_hit

    @property
    def input_cost(self) -> float | None:
        """Input in tokens at the base price; None where a model has no price (``unpriced``)."""
        costs = [tokens.input_cost(known) for tokens, known in self._priced()]
        return None if self.unpriced else sum(costs)

    @property
    def dollars(self) -> float | None:
        """Input and output in dollars; None where a model has no price (``unpriced``)."""
        costs = [cost for tokens, known in self._priced() if (cost := tokens.dollars(known)) is not None]
        return sum(costs) if not self.unpriced and len(costs) == len(self.models) else None

    @property
    def unpriced(self) -> list[str]:
        """Models of which no price is known; ``""`` for responses recorded without a model."""
        return [model for model in self.models if self._price(model) is None]

    def _priced(self) -> list[tuple[Tokens, Price]]:
        return [(tokens, known) for model, tokens in self.models.items() if (known := self._price(model)) is not None]

    def _price(self, model: str) -> Price | None:
        try:
            return price(model, self.prices)
        except ConfigError:
            return None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON: the sums with rate and cost, then the sums by model."""
        total = self.total
        figures = {"token_hit": total.token_hit, "input_cost": self.input_cost, "dollars": self.dollars}
        return {**asdict(total), "uncached": total.uncached, **figures, "models": self.sums()}

    def sums(self) -> dict[str, dict[str, Any]]:
        """Return the sums by model, as a dump keeps them."""
        return {model: asdict(tokens) for model, tokens in self.models.items()}


@dataclass(slots=True)
class CacheFigures:
    """What a session knows of the provider's prompt cache."""

    measured: Measured
    """What the responses said (``record_usage``)."""
