"""What an agent can still get at: facts planted in tool outputs, looked for in the last view and by one recall call.

    python benchmarks/reachability.py FOLDER...        # recorded sessions, as `ga-context replay` reads them
    python benchmarks/reachability.py FOLDER --json reachability.json

In each session 200 sentences are put into tool results, between two lines of theirs, at places that a fixed seed picks:
"the <thing> of <name> is <value>". The session is played turn by turn. Then, for each:

in view      the sentence stands in the last view
by ref       a reference that stands in the last view leads to an original that holds it
by search    one call of recall_context with the words of the question, "<thing> of <name>", shows the value
found        of the facts that are not in the last view, the share that this search shows
reachable    in view, or by one call: the reference alone, if its first part shows it, or the search

`refs` is the share of references in the last view that lead to an original. Names share their words with others, and
things are few, so that no single word is enough.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ga_context import ContextConfig, ContextSession, formats
from ga_context.formats.base import Format, parsed
from ga_context.payload.charge import Charges
from ga_context.recall import RECALL_TOOL
from ga_context.replay.play import model_calls
from ga_context.replay.readers import Recording, find, read
from ga_context.session import UNDECIDED
from ga_context.text.size import json_text
from ga_context.text.window import Cut

FACTS = 200
SEED = 20_261_130
NAMES = (
    "amber birch cedar delta ember flint grove heron indigo juniper karst larch maple night ocean pearl",
    "anchor bridge canyon drift engine falcon garden harbor island jungle kernel ladder meadow nimbus orbit",
)
WHAT = "port owner region quota checksum deadline"
REFERENCE = re.compile(r"\bref ([0-9a-f]{16,64})\b")

Message = dict[str, Any]


@dataclass(frozen=True)
class Fact:
    """A sentence that was planted."""

    question: str
    value: str

    @property
    def sentence(self) -> str:
        """What stands in the tool result."""
        return f"the {self.question} is {self.value}"


@dataclass
class Score:
    """Of one session, or of all; counts of facts."""

    session: str
    facts: int = 0
    in_view: int = 0
    by_ref: int = 0
    by_search: int = 0
    gone: int = 0
    found: int = 0
    reachable: int = 0
    refs: int = 0
    refs_resolved: int = 0

    def add(self, other: Score) -> None:
        """Count another session in."""
        for name in ("facts", "in_view", "by_ref", "by_search", "gone", "found", "reachable", "refs", "refs_resolved"):
            setattr(self, name, getattr(self, name) + getattr(other, name))


def facts(rng: random.Random) -> list[Fact]:
    """Return questions with values that occur nowhere else."""
    names = rng.sample([f"{one} {two}" for one in NAMES[0].split() for two in NAMES[1].split()], FACTS)
    values = rng.sample(range(100_000, 999_999), FACTS)
    return [
        Fact(f"{rng.choice(WHAT.split())} of {name}", f"x{value}y") for name, value in zip(names, values, strict=True)
    ]


def planted(fmt: Format, messages: Sequence[Message], all_facts: Sequence[Fact], rng: random.Random) -> list[Message]:
    """Return the messages with each fact on a line of its own in a tool result that is plain text."""
    places: list[tuple[int, int, Any, str]] = []
    for index in range(len(messages)):
        for number, block in enumerate(_results(fmt, messages, index)):
            for path, text in fmt.texts(block) if block is not None else ():
                if text.strip() and isinstance(parsed(text), str) and not fmt.is_json(block, path):
                    places.append((index, number, path, text))
    if not places:
        return []
    chosen: dict[tuple[int, int, Any], list[Fact]] = {}
    weights = [len(text) for *_, text in places]
    for fact in all_facts:
        index, number, path, _ = rng.choices(places, weights)[0]
        chosen.setdefault((index, number, path), []).append(fact)
    out = list(messages)
    for index in sorted({index for index, _, _ in chosen}):
        incoming = fmt.read(index, messages[index], index)
        blocks = list(incoming.blocks)
        for (at, number, path), held in chosen.items():
            if at == index:
                blocks[number] = _with_facts(fmt, blocks[number], path, held, rng)
        out[index] = fmt.row(incoming.side, messages[index], blocks, index).out
    return out


def _results(fmt: Format, messages: Sequence[Message], index: int) -> list[Any]:
    """Return the blocks of a message, None for each that is no tool result."""
    incoming = fmt.read(index, messages[index], index)
    answers = fmt.tagged and incoming.side == "user" and index and fmt.read(0, messages[index - 1], 0).blocks
    after_call = bool(answers) and any(block.kind == "call" for block in answers)
    return [block if block.kind == "result" or after_call else None for block in incoming.blocks]


def _with_facts(fmt: Format, block: Any, path: Any, held: Sequence[Fact], rng: random.Random) -> Any:
    text = dict(fmt.texts(block))[path]
    ends = [0, *[match.end() for match in re.finditer("\n", text)], len(text)]
    places = sorted((rng.choice(ends), fact.sentence) for fact in held)
    pieces: list[Any] = []
    at = 0
    for place, sentence in places:
        pieces += [(at, place), f"\n{sentence}\n" if place == len(text) else f"{sentence}\n"]
        at = place
    made = Cut((*pieces, (at, len(text))), len(text)).apply(text)
    whole = fmt.cut(block, ((path, Cut((made,), len(text))),), {path: text})
    return whole._replace(base=whole.wire, cuts=())


def measure(recording: Recording, config: ContextConfig) -> Score:
    """Play a recording with facts planted in it, and look for each."""
    rng = random.Random(SEED)
    name = recording.format or formats.detect(recording.messages) or UNDECIDED
    fmt = formats.make(name, Charges())
    all_facts = facts(rng)
    messages = planted(fmt, recording.messages, all_facts, rng)
    score = Score(recording.name)
    if not messages:
        return score
    session = ContextSession(config, format=name)
    view: list[Message] = []
    for end in [*model_calls(messages, name), len(messages)]:
        view = session.prepare(messages[:end], system=recording.system, tools=recording.tools)
    shown = json_text(view)
    refs = sorted(set(REFERENCE.findall(shown)))
    known = {ref: session.recall(ref) for ref in refs if ref in session._state.archive}
    behind = "\n".join([text for text in known.values() if isinstance(text, str)])
    first_parts = "\n".join([_told(session, {"ref": ref}) for ref in refs])
    score.refs, score.refs_resolved, score.facts = len(refs), len(known), len(all_facts)
    for fact in all_facts:
        in_view, by_search = fact.sentence in shown, fact.value in _told(session, {"words": fact.question})
        score.in_view += in_view
        score.by_ref += fact.sentence in behind
        score.by_search += by_search
        score.gone += not in_view
        score.found += by_search and not in_view
        score.reachable += in_view or by_search or fact.sentence in first_parts
    return score


def _told(session: ContextSession, given: Message) -> str:
    """Return what a call of recall_context is told, whatever the format."""
    from ga_context import recall

    return recall.answer(session._state, session.config, given).text


def table(scores: Sequence[Score]) -> str:
    """Return the scores as text, in percent of the facts."""
    heads = ("in view", "by ref", "search", "found", "reachable")
    lines = [f"{'session':50} {'facts':>6}" + "".join([f"{head:>10}" for head in heads]) + f"{'refs':>9}"]
    for one in scores:
        counts = (one.in_view, one.by_ref, one.by_search, one.found, one.reachable)
        shares = [
            count / max(1, one.gone if head == "found" else one.facts)
            for head, count in zip(heads, counts, strict=True)
        ]
        cells = "".join([f"{100 * share:10.1f}" for share in shares])
        refs = f"{one.refs_resolved}/{one.refs}"
        lines.append(f"{one.session[:50]:50} {one.facts:6}{cells}{refs:>9}")
    return "\n".join(lines)


def main() -> None:
    """Measure the recordings that are named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=Path, help="recordings, or folders of them")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    parser.add_argument("--only", default="", help="recordings whose name holds this")
    options = parser.parse_args()
    config = ContextConfig(budget={"on_exceeded": "report"})
    total = Score("all")
    scores: list[Score] = []
    for file in [file for path in options.paths for file in find(path) if options.only in file.name]:
        score = measure(read(file), config)
        if score.facts:
            scores.append(score)
            total.add(score)
    print(table([*scores, total]))
    if options.json:
        document = {"tool": RECALL_TOOL, "facts": FACTS, "seed": SEED, "sessions": [asdict(one) for one in scores]}
        options.json.write_text(json.dumps({**document, "all": asdict(total)}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
