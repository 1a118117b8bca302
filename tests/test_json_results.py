"""JSON results stay JSON from the turn in which they come to the last one that shows them, in every format."""

import json
import re

import pytest
from histories import Call, Turn, write
from hypothesis import given
from hypothesis import strategies as st

from ga_context import ContextSession

OUTPUTS = {
    "short": '{"path": "a.py", "status": 200}',
    "string": json.dumps({"path": "a.py", "body": "words and words\\n" * 90, "status": 200}),
    "rows": json.dumps([{"id": n, "name": f"row {n}", "tags": ["a", "b"]} for n in range(90)], indent=1),
    "long rows": json.dumps([{"id": n, "text": f"{n} " * 300} for n in range(4)]),
    "keys": json.dumps({f"key {n}": n / 7 for n in range(300)}),
    "nested": json.dumps({"a": {"b": [{"c": ["x" * 500] * 5, "n": 1.50}] * 3}, "d": [[list(range(50))] * 9]}),
    "numbers": json.dumps([n / 7 for n in range(2_000)]),
}


def results(view, format):
    """Return the texts of the results in a view."""
    if format == "anthropic":
        blocks = [block for message in view for block in message["content"] if isinstance(block, dict)]
        return [block["content"] for block in blocks if block["type"] == "tool_result"]
    if format == "gemini":
        found = [part.get("functionResponse") for message in view for part in message["parts"]]
        return [result["response"]["output"] for result in found if result]
    if format == "openai-chat":
        return [message["content"] for message in view if message["role"] == "tool"]
    texts = [message["content"] for message in view if message["role"] == "user"]
    return [text for one in texts for text in re.findall("<tool_result>(.*?)</tool_result>", one, re.DOTALL)]


@pytest.mark.parametrize("format", ["anthropic", "openai-chat", "gemini", "text"])
@given(
    st.lists(st.sampled_from(list(OUTPUTS)), min_size=1, max_size=6),
    st.sampled_from([2_000, 4_000, 90_000]),
    st.sampled_from([None, 3_000]),
)
def test_every_result_in_every_view_parses(format, names, budget, shared):
    """Whatever cut it, and has the type that it came with; a fed-back view is left as it is.

    In the text format a turn has one result: of several in one string the budget may leave less than each needs.
    """
    config = {
        "budget": {"chars": budget, "on_exceeded": "report"},
        "compact": {"interval": 2, "keep_recent": 3},
        "tools": {"*": {"limit": 1_000, "per_turn_limit": shared}},
        "anchor": {"placement": "off"},
    }
    calls = [Call("code_run", output=text, named=False) for text in map(OUTPUTS.get, names)]
    raw = write(
        format,
        [Turn("user", ("Go.",)), *[Turn("model", ("Yes.",), (call,) * (1 + (format != "text"))) for call in calls]],
    )
    session = ContextSession(config, format=format)
    for end in [end for end in range(1, len(raw) + 1) if end == len(raw) or raw[end]["role"] in ("assistant", "model")]:
        view = session.prepare(raw[:end])
        shown = [json.loads(text) for text in results(view, format)]
        came = [json.loads(text) for text in results(raw[:end], format)]
        assert [type(one) for one in shown] == [type(one) for one in came[len(came) - len(shown) :]]
        assert session.prepare(view) == view
