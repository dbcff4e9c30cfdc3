"""One event of each type, with one thing changed: it is refused, or every verb still works afterwards."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from moot import Workspace
from tests.security.lines import CORPUS, moot, read, workspace, write

pytestmark = pytest.mark.usefixtures("person")

# log-3, what a pack with documents wrote after it, and then a blackboard and a driver
OTHERS = [*read(CORPUS / "documents.jsonl"), *read(CORPUS / "feeds-and-runs.more")]
# then a pipeline over three files: passed, reused, skipped, failed, resumed, killed, two at once, restored
PIPELINE = [line for line in read(CORPUS / "pipelines.more") if line["type"] != "moot.blob"]
BLOBS = [line for line in read(CORPUS / "pipelines.more") if line["type"] == "moot.blob"]
LINES = [*OTHERS, *PIPELINE]
VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 1 << 70, 0.5, 1e308, "", "x", "\x00", "two\nlines", "../../victim", "Ada#1", "Ada#x", "person:",
    "a" * 70_000, "src/[", "\ud800", "\u202e", "task-001",
    [], ["x"], [[]], [None], ["\ud800"], ["../x", "src/["], {}, {"x": {"y": [1]}},
)  # fmt: skip
LOOKS = (
    "agents --all", "board --all", "ready", "claims", "who-holds src/b.py", "artifacts", "decisions --all",
    "checkpoints --all", "receipts", "runs", "run show last", "run status", "run status src/a.txt", "run explain",
    "doc list", "doc show src--a.txt", "held", "effects", "needs-me",
    "overdue --all", "log --limit 500", "explain task-001", "search it", "watch --once", "doctor", "export -", "verify",
    "inbox --peek --agent Ada", "mailbox developer", "task show task-001", "instructions task-050", "who-holds **",
)  # fmt: skip
ACTS = ("send Ada hello", "task add more", "emit cache:warmed", "mirror", "handle --drain")


def firsts() -> dict[str, int]:
    """The position of the first event of each type, and of the first that the pipeline wrote."""
    found: dict[str, int] = {}
    for line in OTHERS:
        found.setdefault(line["type"], line["mootposition"])
    for line in PIPELINE:
        found.setdefault(f"{line['type']} of a pipeline", line["mootposition"])
    return dict(sorted(found.items()))


FIRSTS = firsts()


def whole(position: int) -> tuple[int, int]:
    """The first and the last line of the commit that this position is in."""
    line = LINES[position - 1]
    first = position - 1 - line["mootn"]
    return first, first + line["mootof"]


def mutations(line: dict[str, Any], chance: random.Random, count: int) -> Iterator[dict[str, Any]]:
    """The line with one thing changed, of its data and of its envelope."""
    yield {**line, "data": {}}
    for field in line["data"]:
        yield {**line, "data": {name: value for name, value in line["data"].items() if name != field}}
        for value in chance.sample(VALUES, count):
            yield {**line, "data": {**line["data"], field: value}}
    for field in ("subject", "type", "mootby", "mootthread", "mootpack", "mootcause"):
        for value in chance.sample(VALUES, min(count, 2)):
            yield {**line, field: value}
    kind = line["subject"].partition("/")[0]
    yield {**line, "subject": f"{kind}/../../victim"}
    yield {**line, "subject": "topic/general"}


def survives(place: Path) -> None:
    """Whatever is asked or done: an answer or an error that moot knows."""
    for words in LOOKS:
        code, said = moot(place, *words.split())
        assert words != "verify" or code == 0, said
    for words in ACTS:
        moot(place, *words.split())
    with Workspace(place) as ws:
        ws.join("Zed")
        assert ws.claim("nobody/has/this.txt").id


def tried(case: str, tmp_path: Path, count: int) -> tuple[int, int]:
    chance, position = random.Random(case), FIRSTS[case]
    first, last = whole(position)
    before = workspace(tmp_path / "before")
    assert moot(before, "import", str(write(tmp_path / "before.jsonl", [*LINES[:first], *BLOBS])))[0] == 0
    refused = taken = 0
    for number, line in enumerate(mutations(LINES[position - 1], chance, count)):
        place = tmp_path / f"w{number}"
        shutil.copytree(before, place)
        lines = [line if at == position - 1 else LINES[at] for at in range(first, last)]
        code, said = moot(place, "import", str(write(tmp_path / "x.jsonl", [*lines, *BLOBS])))
        if code:
            assert any(word in said for word in ("[bad_import]", "[another_history]", "[import_gap]")), said
            refused += 1
        else:
            survives(place)
            taken += 1
        assert moot(place, "verify")[0] == 0
        shutil.rmtree(place)
    return refused, taken


@pytest.mark.parametrize("case", FIRSTS)
def test_a_changed_event_is_refused_or_harms_nobody(case: str, tmp_path: Path) -> None:
    refused, _ = tried(case, tmp_path, 1)
    assert refused


@pytest.mark.soak
@pytest.mark.parametrize("case", FIRSTS)
def test_every_change_of_an_event_is_refused_or_harms_nobody(case: str, tmp_path: Path) -> None:
    tried(case, tmp_path, len(VALUES))


def test_the_corpus_has_events_of_all_kinds() -> None:
    from moot.core.kind import kinds

    there = {line["subject"].partition("/")[0] for line in LINES}
    assert there >= {kind.name for kind in kinds()} - {"settings"}


def test_the_corpus_of_pipelines_has_every_event_of_runs_and_permits() -> None:
    from moot.core.kind import kind_of

    there = {line["type"] for line in PIPELINE}
    assert there >= {*kind_of("run").events, *kind_of("permit").events}
