"""Profiles of hypothesis, the printed seed, and the folder of shared data."""

import os
import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

SEED = "GA_CONTEXT_SEED"
_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]

_SHORT = (Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink)

settings.register_profile(
    "dev", max_examples=10, deadline=None, print_blob=True, phases=_SHORT, suppress_health_check=_SLOW
)
settings.register_profile("ci", settings.get_profile("dev"), max_examples=40, phases=(Phase.explicit, Phase.generate))
settings.register_profile("full", settings.get_profile("ci"), max_examples=10_000)  # .ci/full, by hand
CI_SEED = 20_261_130
"""CI plays the same examples on every run, so that it is red for a reason in the change; `.ci/full` plays new ones."""
settings.load_profile("dev")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Choose a seed for the long profiles, the same in every worker, so that a red run can be run again."""
    if config.getoption("--hypothesis-seed") is not None:
        return
    if config.getoption("--hypothesis-profile") == "ci":
        config.option.hypothesis_seed = str(CI_SEED)
    elif config.getoption("--hypothesis-profile") == "full":
        config.option.hypothesis_seed = os.environ.setdefault(SEED, str(random.SystemRandom().randrange(2**32)))


def pytest_report_header(config: pytest.Config) -> str:
    """Print the seed where it is read: at the head of the log."""
    seed = config.getoption("--hypothesis-seed")
    return f"hypothesis seed: {seed or 'its own; replayed from .hypothesis'}"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared facts and sessions beside the checkout; a test that needs it is skipped without it."""
    folder = Path(__file__).resolve().parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip("no folder `shared` beside the checkout")
    return folder
