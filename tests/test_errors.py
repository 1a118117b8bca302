"""Errors: one root, a built-in beside it, and a sentence that names the fix."""

import pickle

import pytest

from ga_context.errors import (
    BudgetExceeded,
    ConfigError,
    GAContextError,
    InvalidMessages,
    UnknownReference,
    UnknownUsage,
)

EXCEEDED = BudgetExceeded(
    120_000,
    90_000,
    [("newest user request", 80_000), ("system", 40_000)],
    view=[{"role": "user", "content": "hi"}],
    report="the report",
)
ALL = [
    EXCEEDED,
    InvalidMessages("must be one of user, assistant; got 'robot'", 3, "role"),
    UnknownReference("00ff00ff00ff00ff"),
    UnknownUsage(["tokens", "cost"]),
    ConfigError("`evict.unit` must be one thing", "`evict.units` is not a key"),
]


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (BudgetExceeded, ValueError),
        (InvalidMessages, ValueError),
        (UnknownReference, KeyError),
        (UnknownUsage, ValueError),
        (ConfigError, ValueError),
    ],
)
def test_each_error_has_the_root_and_a_builtin_as_parents(error: type[Exception], builtin: type[Exception]) -> None:
    """A caller may catch the library's root or the built-in that fits."""
    assert error.__bases__ == (GAContextError, builtin)


def test_budget_exceeded_names_sizes_items_and_ways_out() -> None:
    """The sentence says what there is, what is allowed and what to do; the parts are attributes."""
    assert str(EXCEEDED) == (
        "what must stay has 120,000 characters (newest user request 80,000, system 40,000), the budget is 90,000; "
        "raise `budget.window_tokens`, shorten these, "
        'or set `budget.on_exceeded = "report"` to get the view all the same'
    )
    assert EXCEEDED.items == [("newest user request", 80_000), ("system", 40_000)]
    assert EXCEEDED.view == [{"role": "user", "content": "hi"}]
    assert EXCEEDED.report == "the report"


def test_budget_exceeded_without_any_room() -> None:
    """A budget of nothing is put down to what is sent beside the messages."""
    error = BudgetExceeded(0, -500, [("system", 90_500)])
    assert str(error) == (
        "no room for messages: the budget is -500 characters after what is sent beside them (system 90,500); "
        "shorten system and tools, or raise `budget.window_tokens`"
    )
    assert (error.view, error.report) == (None, None)


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (InvalidMessages("must be a list; got 'hi'"), "`messages` must be a list; got 'hi'"),
        (InvalidMessages("must be a dict; got 5", 2), "`messages[2]` must be a dict; got 5"),
        (InvalidMessages("must be a string; got 5", 0, "role"), "`messages[0].role` must be a string; got 5"),
    ],
)
def test_invalid_messages_begins_with_the_place(error: InvalidMessages, sentence: str) -> None:
    """Index and key stand at the head, as far as they are known."""
    assert str(error) == sentence


def test_unknown_reference_reads_as_a_sentence() -> None:
    """KeyError would show the quoted argument; this shows what to do."""
    assert str(UnknownReference("abc")) == (
        "no original is archived under 'abc'; a reference is the hexadecimal digits in a marker or in an action of "
        "the report, and is known to the session that made the cut or was loaded from its dump"
    )


def test_config_error_lists_all_problems() -> None:
    """One problem is the sentence itself, several are a list."""
    assert str(ConfigError("`evict.unit` is wrong")) == "`evict.unit` is wrong"
    assert str(ConfigError("first", "second")) == "2 problems in the configuration:\n- first\n- second"
    assert ConfigError("first", "second").problems == ("first", "second")


@pytest.mark.parametrize("error", ALL, ids=lambda error: type(error).__name__)
def test_errors_come_through_pickle(error: Exception) -> None:
    """Errors travel between worker processes with sentence and attributes."""
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))
