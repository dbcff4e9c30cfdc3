"""An import is not decided anew, but nothing comes in by it that moot could not have written and would stumble over."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from moot import Workspace
from tests.security.lines import CORPUS, Story, moot, read, workspace

pytestmark = pytest.mark.usefixtures("person")

TASK = {"title": "t", "state": "open", "phase": "open", "lifecycle": "core", "creator": "person:anna"}
CLAIM = {"id": "c-0123456", "holder": "Ada#1", "paths": ["a.py"], "mode": "exclusive", "ttl": 60.0}
SENT = {"kind": "note", "sender": "Ada#1", "to": ["Bob"], "wants": "nothing", "text": "hello"}
JOINED = {"name": "Ada", "incarnation": 1}
REQUESTED = {"handler": "tell", "n": 0, "on": "build:finished", "stream": "topic/general"}
MOVED = {"verb": "claim", "source": "open", "target": "working", "phase": "working", "attempt": 1, "holder": "Ada#1"}
HELD = {"path": "x.json", "mirror": "m", "raw": "1", "code": "c", "reason": "r"}
REACHED = {"who": "Ada#1", "kind": "decision", "question": "?"}
RECORDED = {"by": "Ada#1", "argv": ["true"], "code": 0, "seconds": 0.1, "digest": "0" * 64, "size": 0}
CLIMBING = "../../../../victim"


def effect(name: str) -> Story:
    return Story().commit(("topic/general", "build:finished", {}), (f"effect/{name}", "effect:requested", REQUESTED))


def tasks(*names: str) -> Story:
    story = Story()
    for name in names:
        story.add(f"task/{name}", "task:added", TASK)
    return story


def link(story: Story, task: str, *needs: str) -> Story:
    return story.add("graph", "graph:linked", {"task": task, "needs": list(needs)})


ATTACKS: dict[str, Story] = {
    "an effect whose id is a path": effect(CLIMBING),
    "an effect whose id is absolute": effect("/etc/passwd"),
    "an effect of a chosen id": effect("mine"),
    "an effect that came of a path": Story().commit(
        ("topic/general", "build:finished", {}),
        ("effect/e-0123456789", "effect:requested", {**REQUESTED, "after": CLIMBING}),
    ),
    "an effect that may come of a path": Story().commit(
        ("topic/general", "build:finished", {}),
        ("effect/e-0123456789", "effect:requested", {**REQUESTED, "during": {CLIMBING: "h"}}),
    ),
    "an effect that may come of no effects": Story().commit(
        ("topic/general", "build:finished", {}),
        ("effect/e-0123456789", "effect:requested", {**REQUESTED, "during": ["e-0123456789"]}),
    ),
    "an effect that nothing has caused": Story().add("effect/e-0123456789", "effect:requested", REQUESTED),
    "an effect done that nobody requested": Story().add("effect/e-0123456789", "effect:done", {"attempt": 1}),
    "an effect whose runner is no process": effect("e-0123456789").add(
        "effect/e-0123456789", "effect:taken", {"runner": "runner-1#x", "attempt": 1, "ttl": 1.0}
    ),
    "an effect whose runner is a path": effect("e-0123456789").add(
        "effect/e-0123456789", "effect:taken", {"runner": f"{CLIMBING}#1", "attempt": 1, "ttl": 1.0}
    ),
    "a message whose id is a path": Story().add(f"message/{CLIMBING}", "message:sent", SENT),
    "a message of a chosen id": Story().add("message/hello", "message:sent", SENT),
    "a message sent twice": Story()
    .add("message/m-0123456", "message:sent", SENT)
    .add("message/m-0123456", "message:sent", SENT),
    "a message that wants the moon": Story().add("message/m-0123456", "message:sent", {**SENT, "wants": "moon"}),
    "a message to nobody": Story().add("message/m-0123456", "message:sent", {**SENT, "to": []}),
    "a message of a sender that is nobody": Story().add(
        "message/m-0123456", "message:sent", {**SENT, "sender": "a\nb"}
    ),
    "an entry whose id is a path": Story().add(f"entry/{CLIMBING}", "entry:held", HELD),
    "a quarantined file whose digest is a path": Story().add(
        "entry/h-0123456",
        "file:quarantined",
        {"path": "x", "mirror": "m", "sha256": CLIMBING, "size": 1, "reason": "r"},
    ),
    "a checkpoint whose id is a path": Story().add(f"checkpoint/{CLIMBING}", "checkpoint:reached", REACHED),
    "a receipt whose id is a path": Story().add(f"receipt/{CLIMBING}", "receipt:recorded", RECORDED),
    "an agent whose name is a path": Story().add(f"agent/{CLIMBING}", "agent:joined", {**JOINED, "name": CLIMBING}),
    "an agent in the stream of another": Story().add("agent/bob", "agent:joined", JOINED),
    "an agent that left and never came": Story().add("agent/ada", "agent:left", {"incarnation": 1}),
    "an agent of no incarnation": Story().add("agent/ada", "agent:joined", {**JOINED, "incarnation": 0}),
    "a task that waits for itself": link(tasks("a"), "a", "a"),
    "two tasks that wait for each other": link(link(tasks("a", "b"), "a", "b"), "b", "a"),
    "a cycle of three, closed by the second of two edges": link(
        link(link(tasks("a", "b", "c", "d"), "a", "b"), "b", "c"), "c", "d", "a"
    ),
    "a cycle that is closed in the commit that begins it": tasks("a", "b").commit(
        ("graph", "graph:linked", {"task": "a", "needs": ["b"]}),
        ("graph", "graph:linked", {"task": "b", "needs": ["a"]}),
    ),
    "a task moved that was never added": Story().add("task/a", "task:started", MOVED),
    "a task added twice": tasks("a", "a"),
    "a task held by nobody who can be named": tasks("a").add("task/a", "task:started", {**MOVED, "holder": "Ada#one"}),
    "a task held by a path": tasks("a").add("task/a", "task:started", {**MOVED, "holder": f"{CLIMBING}#1"}),
    "a task held by an incarnation beyond counting": tasks("a").add(
        "task/a", "task:started", {**MOVED, "holder": f"Ada#{'9' * 5000}"}
    ),
    "a task in a phase that there is not": tasks("a").add("task/a", "task:started", {**MOVED, "phase": "limbo"}),
    "a task moved by a verb that leads elsewhere": tasks("a").add("task/a", "task:started", {**MOVED, "verb": "fail"}),
    "a task moved by a verb that there is not": tasks("a").add("task/a", "task:started", {**MOVED, "verb": "zap"}),
    "a task of a priority that there is not": Story().add("task/a", "task:added", {**TASK, "priority": "utmost"}),
    "a task edited to a priority that there is not": tasks("a").add(
        "task/a", "task:edited", {"who": "Ada#1", "priority": "utmost"}
    ),
    "a task assigned to a path": tasks("a").add("task/a", "task:assigned", {"who": "Ada#1", "to": CLIMBING}),
    "a note by nobody who can be named": tasks("a").add("task/a", "task:noted", {"who": "Ada#one", "text": "x"}),
    "a note on no task": Story().add("task/a", "task:noted", {"who": "Ada#1", "text": "x"}),
    "a pattern that no later claim can be compared with": Story().add(
        "claims", "file:claimed", {**CLAIM, "paths": ["src/[z-a]"]}
    ),
    "a pattern that is not closed": Story().add("claims", "file:claimed", {**CLAIM, "paths": ["src/["]}),
    "a pattern of too many wildcards": Story().add("claims", "file:claimed", {**CLAIM, "paths": ["*a" * 300]}),
    "a claim outside of the repository": Story().add("claims", "file:claimed", {**CLAIM, "paths": ["../x"]}),
    "a claim whose holder is nobody": Story().add("claims", "file:claimed", {**CLAIM, "holder": "Ada#"}),
    "a claim whose id is a path": Story().add("claims", "file:claimed", {**CLAIM, "id": CLIMBING}),
    "a claim in a mode that there is not": Story().add("claims", "file:claimed", {**CLAIM, "mode": "rw"}),
    "a claim without a path": Story().add("claims", "file:claimed", {**CLAIM, "paths": []}),
    "a claim for ever": Story().add("claims", "file:claimed", {**CLAIM, "ttl": 1e300}),
    "a claim given back that was never made": Story().add(
        "claims", "file:released", {"id": "c-0123456", "holder": "Ada#1", "paths": ["a.py"]}
    ),
    "a claim that keeps what it never had": Story()
    .add("claims", "file:claimed", CLAIM)
    .add("claims", "file:released", {"id": "c-0123456", "holder": "Ada#1", "paths": ["a.py"], "left": ["src/["]}),
    "a decision about a pattern that cannot be read": Story().add(
        "decision/d-0123456", "decision:made", {"maker": "Ada#1", "title": "t", "paths": ["src/["]}
    ),
    "an event of tasks in a topic": Story().add("topic/general", "task:completed", MOVED),
    "an event of no version's in a topic, about a task": Story().add("topic/general", "task:exploded", {}),
    "a redaction in a topic": Story().add("topic/general", "event:redacted", {}),
    "a topic whose name is a path": Story().add(f"topic/{CLIMBING}", "build:finished", {}),
    "a custom event in the stream of a task": tasks("a").add("task/a", "build:finished", {}),
    "an event of agents in the stream of a task": tasks("a").add("task/a", "agent:joined", JOINED),
    "an event of a kind that there is not": Story().add("nothing/a", "nothing:happened", {}),
    "a second stream of claims": Story().add("claims/mine", "file:claimed", CLAIM),
    "a second stream of edges": Story().add("graph/mine", "graph:linked", {"task": "a", "needs": ["b"]}),
    "a stream without a name": Story().add("task/", "task:added", TASK),
    "a kind without a slash": Story().add("task", "task:added", TASK),
    "an author who is nobody": Story().add("topic/general", "build:finished", {}, mootby="root"),
    "an author of two lines": Story().add("topic/general", "build:finished", {}, mootby="person:a\nb"),
    "a thread of two lines": Story().add("topic/general", "build:finished", {}, mootthread="a\nb"),
    "a task that waits for itself from the start": Story().add("task/a", "task:added", {**TASK, "waits": ["a"]}),
    "a task that needs itself from the start": Story().add("task/a", "task:added", {**TASK, "needs": ["a"]}),
    "a task of a negative ttl": Story().add("task/a", "task:added", {**TASK, "ttl": -1.0}),
    "a task in an attempt beyond counting": tasks("a").add("task/a", "task:started", {**MOVED, "attempt": 10**30}),
    "a task in an attempt before the first": tasks("a").add("task/a", "task:started", {**MOVED, "attempt": -1}),
    "a message to the same agent twice": Story().add(
        "message/m-0123456", "message:sent", {**SENT, "to": ["Bob", "bob"]}
    ),
    "an agent that has joined more often than there are events": Story().add(
        "agent/ada", "agent:joined", {**JOINED, "incarnation": 2**53 - 1}
    ),
    "a mailbox event about a message that is not there": Story().add(
        "mailbox/ada", "message:offered", {"ids": ["m-0123456"], "to": "Ada#1"}
    ),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_moot_could_not_have_written_is_refused_with_line_and_position(attack: str, tmp_path: Path) -> None:
    place = workspace(tmp_path / "w")
    victim = tmp_path / "victim"
    victim.write_text("precious")
    story = ATTACKS[attack]
    code, said = moot(place, "import", str(story.write(tmp_path / "x.jsonl")), "--json")
    error = json.loads(said)
    position = story.lines[-1]["mootposition"]
    assert (code, error["error"]) == (1, "bad_import"), said
    assert error["message"].startswith(f"Line {position} cannot be imported: ")
    assert f"at position {position}: " in error["message"]
    assert moot(place, "verify")[0] == 0
    assert victim.read_text() == "precious"


def test_what_stands_before_a_bad_line_was_imported_and_can_be_worked_with(tmp_path: Path) -> None:
    place = workspace(tmp_path / "w")
    story = link(link(tasks("a", "b"), "a", "b"), "b", "a")
    assert moot(place, "import", str(story.write(tmp_path / "x.jsonl")))[0] != 0
    with Workspace(place) as ws:
        assert [task.id for task in ws.ready()] == ["a", "b"]
        assert ws.log()[-1].position == 3


def test_a_redaction_of_a_topic_is_no_redaction(tmp_path: Path) -> None:
    """Its data is not looked at as that of a tombstone, whatever it says."""
    place = workspace(tmp_path / "w")
    story = Story().add("topic/general", "event:redacted", {"position": "x"})
    assert "is reserved" in moot(place, "import", str(story.write(tmp_path / "x.jsonl")))[1]


@pytest.mark.parametrize("depth", [101, 1000, 100_000])
def test_data_nested_too_deep_is_refused(depth: int, tmp_path: Path) -> None:
    place = workspace(tmp_path / "w")
    story = Story().add("topic/general", "build:finished", {"x": "HERE"})
    text = json.dumps(story.lines[0]).replace('"HERE"', "[" * depth + "]" * depth)
    (tmp_path / "x.jsonl").write_text(text + "\n")
    code, said = moot(place, "import", str(tmp_path / "x.jsonl"))
    assert (code == 0) == (depth == 101), said
    assert moot(place, "verify")[0] == 0
    assert moot(place, "log", "--json")[0] == 0


@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN", "Infinity", "9" * 5000])
def test_a_number_that_is_none_is_refused(number: str, tmp_path: Path) -> None:
    place = workspace(tmp_path / "w")
    story = Story().add("topic/general", "build:finished", {"x": "HERE"})
    (tmp_path / "x.jsonl").write_text(json.dumps(story.lines[0]).replace('"HERE"', number) + "\n")
    assert moot(place, "import", str(tmp_path / "x.jsonl"))[0] != 0
    assert moot(place, "verify")[0] == 0


# What earlier versions have written

OLDER = sorted(path.name for path in CORPUS.glob("*.jsonl"))


@pytest.mark.parametrize("name", OLDER)
def test_what_an_earlier_version_has_written_is_imported(name: str, tmp_path: Path) -> None:
    place = workspace(tmp_path / "w")
    lines = read(CORPUS / name)
    code, said = moot(place, "import", str(CORPUS / name))
    assert (code, said.count(f"imported {len(lines)} events")) == (0, 1), said
    assert moot(place, "verify")[0] == 0
    moot(place, "export", "--force", str(tmp_path / "again.jsonl"))
    kept = [{k: v for k, v in line.items() if k in lines[0]} for line in read(tmp_path / "again.jsonl")]
    assert [line["data"] for line in kept] == [line["data"] for line in lines]


def test_an_earlier_version_could_call_tasks_almost_anything(tmp_path: Path) -> None:
    """Only what is one line; what a protocol's file brought was not limited otherwise."""
    place = workspace(tmp_path / "w")
    names = ["a/../../b", "$(touch PWN)", "tab\tand\x1b[31m", "é" * 900, "-rf", "~"]
    story = tasks(*names)
    assert moot(place, "import", str(story.write(tmp_path / "x.jsonl")))[0] == 0
    assert moot(place, "verify")[0] == 0
    assert moot(place, "board")[0] == 0
    story = tasks("two\nlines")
    other = workspace(tmp_path / "v")
    assert moot(other, "import", str(story.write(tmp_path / "y.jsonl")))[0] != 0


def test_words_that_became_moots_own_later_may_stand_in_a_topic(tmp_path: Path) -> None:
    place = workspace(tmp_path / "w")
    story = Story().add("topic/general", "settings:saved", {}).add("topic/general", "event:heard", {})
    assert moot(place, "import", str(story.write(tmp_path / "x.jsonl")))[0] == 0


# Documents, which are written into files where their pack is active

OPENED = {"mirror": "notes/board", "leaves": {"/a": 1}}


@pytest.mark.parametrize(
    ("stream", "data"),
    [
        ("document/notes.-.board.../../victim", {**OPENED, "subject": "../../victim"}),
        ("document/notes.-.board...", {**OPENED, "subject": ".."}),
        ("document/notes.-.board.a/b", {**OPENED, "subject": "a/b"}),
        ("document/notes.-.plan", OPENED),
        ("document/other.-.board", OPENED),
        ("document/notes.-.board", {**OPENED, "worktree": "linked"}),
        ("document/notes.-.board", {**OPENED, "leaves": {"a": 1}}),
        ("document/notes.-.board", {**OPENED, "leaves": {"": 1}}),
        ("document/notes.-.board", {**OPENED, "leaves": {"/a" * 5000: 1}}),
    ],
    ids=lambda value: str(value)[:50],
)
def test_a_document_that_could_not_be_written_into_its_file_is_refused(
    stream: str, data: dict[str, Any], tmp_path: Path
) -> None:
    place = workspace(tmp_path / "w")
    story = Story().add(stream, "document:opened", data)
    code, said = moot(place, "import", str(story.write(tmp_path / "x.jsonl")))
    assert (code, "[bad_import]" in said) == (1, True), said
    assert moot(place, "verify")[0] == 0


def test_a_document_is_opened_once_and_before_everything_else(tmp_path: Path) -> None:
    stream, change = "document/notes.-.board", {"set": {"/a": 2}, "gone": ["b"]}
    opened = Story().add(stream, "document:opened", OPENED)
    good = Story().add(stream, "document:opened", OPENED).add(stream, "document:changed", {"set": {"/a": 2}})
    bad = (
        Story().add(stream, "document:changed", {"set": {"/a": 2}}),
        Story().add(stream, "document:opened", OPENED).add(stream, "document:changed", change),
        opened.add(stream, "document:opened", OPENED),
    )
    for number, story in enumerate(bad):
        code, said = moot(workspace(tmp_path / str(number)), "import", str(story.write(tmp_path / "x.jsonl")))
        assert (code, "[bad_import]" in said) == (1, True), said
    assert moot(workspace(tmp_path / "good"), "import", str(good.write(tmp_path / "x.jsonl")))[0] == 0
