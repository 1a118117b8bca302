"""The simulator of a prefix cache against llama.cpp itself: every request of a session with passes and evictions.

A model that reads bytes makes each byte of the rendered prompt a token. ``pytest -m engine`` runs this.
"""

import random

import pytest
from engine import reused_tokens

from ga_context import ContextSession
from ga_context.cache.definitions import token_hit
from ga_context.cache.render import Renderer
from ga_context.cache.simulate import simulator
from ga_context.formats import make
from ga_context.payload.charge import Charges

TURNS = 20
CONFIG = {
    "budget": {"chars": 7_000},
    "compact": {"interval": 4, "keep_recent": 4, "keep_recent_on_eviction": 2, "window_chars": 150},
    "anchor": {"max_chars": 400},
}


def session(lifetime):
    """Play 20 turns of an agent and return the session with each request as segments of bytes."""
    chance = random.Random(7)
    words = ["parser", "token", "文", "cache", "prefix", "Größe", "build", "test", "file", "error", "😀", "value"]

    def text(least, most):
        return " ".join(chance.choices(words, k=chance.randint(least, most)))

    config = {**CONFIG, "anchor": {**CONFIG["anchor"], "lifetime": lifetime}}
    held = ContextSession(config, format="anthropic")
    renderer = Renderer(make("anthropic", Charges()), count=lambda text: len(text.encode()))
    raw = [{"role": "user", "content": "Find out why the build fails, and mend it."}]
    prompts = []
    for turn in range(TURNS):
        view = held.prepare(raw, system="You are an agent.")
        segments = [
            segment._replace(text=(data := segment.text.encode()), tokens=len(data))
            for segment in renderer.prompt(view, "You are an agent.")
        ]
        prompts.append(segments)
        call = {"type": "tool_use", "id": f"call_{turn}", "name": "code_run", "input": {"code": text(3, 30)}}
        result = {"type": "tool_result", "tool_use_id": f"call_{turn}", "content": text(5, 90)}
        raw = [*raw, {"role": "assistant", "content": [{"type": "text", "text": text(2, 20)}, call]}]
        raw += [{"role": "user", "content": [result]}]
    return held, prompts


@pytest.mark.engine
def test_the_engine_reuses_what_the_simulator_says(tmp_path):
    """On each of 40 requests: 20 with anchors that stay, then 20 with one that moves."""
    requests = []
    for lifetime in ("persistent", "ephemeral"):
        held, prompts = session(lifetime)
        assert sum(report.compacted for report in held.reports) >= 4
        assert sum(report.evicted is not None for report in held.reports) >= 2
        requests += prompts
    cache = simulator("llama.cpp")
    served = [cache.request(prompt) for prompt in requests]
    found = reused_tokens([b"".join([segment.text for segment in prompt]) for prompt in requests], tmp_path)
    assert [one["reused"] for one in found] == [one.cached for one in served]
    assert [one["evaluated"] for one in found] == [one.uncached for one in served]
    assert [one["prompt"] for one in found] == [one.prompt for one in served]
    assert 0.4 < token_hit(sum(one.cached for one in served), sum(one.prompt for one in served)) < 0.95
