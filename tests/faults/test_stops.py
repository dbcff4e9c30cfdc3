"""Agents that stand still (SIGSTOP): a closed lid, Ctrl-Z, a machine that swaps. Nobody loses a thing too early, and
nobody keeps one that has gone to another.
"""

from __future__ import annotations

import json
import os
import random
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from moot.api import read_fallback
from moot.views.store import VERSION
from tests.faults import file_agents, replay
from tests.faults.crew import Outcome, Repo, Worker, outcome_of, until

SHORT = 0.5  # seconds that a holder may be silent
LONG = 1800.0


@pytest.fixture
def start(repo: Repo) -> Iterator[Callable[..., Worker]]:
    """Starts processes that joined, each under its name."""
    with ExitStack() as stack:

        def start(name: str, repo: Repo = repo, **more: Any) -> Worker:
            worker = stack.enter_context(Worker())
            worker.ask("enter", cwd=str(repo.root), agent=name, incarnation=repo.join(name), **more)
            return worker

        yield start


def give(repo: Repo, worker: Worker, ttl: float) -> int:
    """A task and some files that others will want; the token of the task."""
    repo.run("task add", title="Wanted", ttl=ttl, no_review=True)
    grant = worker.run("task claim", task="task-001").result
    assert worker.run("claim", paths=["src/**"], ttl=ttl).won
    return int(grant["token"])


def takes(worker: Worker, patience: float = 30.0) -> Outcome:
    """Try until the task is one's own."""

    def tried() -> Outcome | None:
        outcome = worker.run("task claim", task="task-001")
        assert outcome.won or outcome.error == "task_held", outcome
        return outcome if outcome.won else None

    return until(tried, "a silent holder loses its task", patience)


@pytest.mark.promise(8)
def test_a_holder_that_stands_still_within_its_ttl_keeps_everything(repo: Repo, start: Callable[..., Worker]) -> None:
    ada, bob = start("Ada"), start("Bob")
    give(repo, ada, LONG)
    before = repo.own.engine.log.head()
    ada.stop()
    deadline = monotonic() + 1.0
    while monotonic() < deadline:
        assert bob.run("task claim", task="task-001").error == "task_held"
        assert bob.run("task claim").error == "nothing_ready"
        assert bob.run("claim", paths=["src/api.py"]).error == "file_held"
    assert repo.own.engine.log.head() == before
    ada.go_on()
    assert ada.run("task complete", task="task-001").result["state"] == "done"
    assert ada.run("release", all=True).won
    repo.verify()


@pytest.mark.promise(7)
@pytest.mark.promise(8)
def test_a_holder_that_stood_still_too_long_is_refused_with_the_name_of_the_new_one(
    repo: Repo, start: Callable[..., Worker]
) -> None:
    ada, bob = start("Ada"), start("Bob")
    token = give(repo, ada, SHORT)
    ada.stop()
    grant = takes(bob).result
    assert until(lambda: (o := bob.run("claim", paths=["src/api.py"])).won and o, "the files, too").won
    (lapsed,), (files,) = repo.events("task:lapsed"), repo.events("file:lapsed")
    assert lapsed.data["silent_for"] > lapsed.data["ttl"] == SHORT
    assert files.data["silent_for"] > files.data["ttl"] == SHORT
    assert (grant["holder"], grant["token"] > token) == ("Bob#1", True)

    ada.tell("run", verb="task complete", arguments={"task": "task-001"})  # what it was about to do
    ada.go_on()
    refused = Outcome(ada.hear())
    assert (refused.error, refused.exit, refused.details["holder"]) == ("not_holder", 3, "Bob#1")
    for verb in ("submit", "release", "complete", "fail"):
        for more in ({}, {"token": token}, {"token": grant["token"]}):
            refused = ada.run(f"task {verb}", task="task-001", reason="Done.", **more)
            assert (refused.error, refused.exit, refused.details["holder"]) == ("not_holder", 3, "Bob#1")
            assert "Bob holds it" in refused.text
    assert "Bob#1" in ada.run("release", what=["src/api.py"]).text
    assert bob.run("task complete", task="task-001").result["state"] == "done"
    late = ada.run("task complete", task="task-001", token=token)
    assert late.error == "no_such_move"
    assert "done (last changed by Bob)" in late.text
    assert replay.double_holdings(repo.events()) == []
    assert replay.double_grants(repo.events(), ["src/api.py"]) == []
    repo.verify()


@pytest.mark.promise(7)
def test_one_whose_name_was_taken_over_meanwhile_is_refused_everything(
    make_repo: Callable[..., Repo], start: Callable[..., Worker]
) -> None:
    repo = make_repo('[tasks]\nttl = "1s"\n', name="hasty")
    ada = start("Ada", repo)
    give(repo, ada, LONG)
    ada.stop()
    until(lambda: _joined(repo), "the name is free for whoever comes next")
    ada.tell("run", verb="task complete", arguments={"task": "task-001"})
    ada.go_on()
    refused = [Outcome(ada.hear()), ada.run("send", to=["Ada"], text="I am back"), ada.run("claim", paths=["src/**"])]
    for outcome in refused:
        assert (outcome.error, outcome.exit, outcome.details["holder"]) == ("stale_incarnation", 3, "Ada#2")
    lost = [event.stream for event in repo.events("task:lapsed", "file:lapsed")]
    assert sorted(lost) == ["claims", "task/task-001"]
    assert repo.events()[-1].type != "message:sent"
    repo.verify()


def _joined(repo: Repo) -> bool:
    outcome = outcome_of(repo.session(), "join", name="Ada")
    assert outcome.won or outcome.error == "name_in_use"
    return outcome.won


@pytest.mark.promise(15)
@pytest.mark.parametrize("where", ["before", "after"])
def test_one_that_stands_still_with_the_lock_in_hand_delays_others_only_so_long(
    repo: Repo, start: Callable[..., Worker], where: str
) -> None:
    """Before it has appended, or just after: then the others know of it when it goes on, and it is told the truth."""
    ada, bob = start("Ada"), start("Bob", lock_timeout=0.5)
    ada.tell("stop_inside", where=where, verb="send", arguments={"to": ["Bob"], "text": "Hello", "key": "k"})
    ada.has_stopped()
    for _ in range(2):
        waits = {"to": ["Ada"], "text": "Are you there?"}
        refused = Outcome(bob.ask("run", patience=20, verb="send", arguments=waits))
        assert (refused.error, refused.exit) == ("locked", 7)
        assert str(ada.pid) in refused.text
        assert "0.5 s" in refused.text
        assert refused.details["pid"] == ada.pid
    ada.go_on()
    said = Outcome(ada.hear()).result
    assert bob.run("send", to=["Ada"], text="Now?").won
    assert [event.data["text"] for event in repo.events("message:sent")] == ["Hello", "Now?"]
    assert [letter["id"] for letter in bob.run("inbox").result["new"]] == [said["id"]]
    assert replay.broken_order(repo.events()) == []
    repo.verify()


LOOKS: list[tuple[str, dict[str, Any]]] = [
    ("board", {}),
    ("agents", {}),
    ("log", {"limit": 5}),
    ("search", {"words": ["hello"]}),
    ("inbox", {"peek": True}),
    ("who-holds", {"path": "src"}),
    ("watch", {"once": True}),
]


@pytest.mark.parametrize("packs", [(), ("orchestrator",)], ids=["plain", "with mirrors"])
@pytest.mark.parametrize("where", ["before", "after"])
def test_whoever_only_looks_is_not_kept_by_one_that_stands_still_with_the_lock(
    make_repo: Callable[..., Repo], start: Callable[..., Worker], where: str, packs: tuple[str, ...]
) -> None:
    """What is in the log is shown, and the answer says how far it goes. Whoever waited for the lock would wait long."""
    repo = make_repo(packs=packs, name="watched")
    ada, bob = start("Ada", repo), start("Bob", repo, lock_timeout=3600.0)
    assert bob.run("board").won
    ada.tell("stop_inside", where=where, verb="send", arguments={"to": ["Bob"], "text": "hello"})
    ada.has_stopped()
    for verb, arguments in LOOKS:
        looked = bob.run(verb, **arguments)
        assert looked.won, (verb, looked)
        if where == "after" and verb in ("board", "agents", "inbox"):
            assert "views_behind" in looked.warnings, verb
    mail = bob.run("inbox", peek=True).result["new"]
    assert [letter["text"] for letter in mail] == (["hello"] if where == "after" else [])
    ada.go_on()
    assert Outcome(ada.hear()).won
    assert bob.run("board").warnings == []
    assert bob.run("send", to=["Ada"], text="Now").won
    repo.verify()


def test_one_that_is_at_work_is_waited_for_by_those_who_look(repo: Repo, start: Callable[..., Worker]) -> None:
    """It will be done soon, and what it folds all the others need not fold."""
    bob = start("Bob")
    assert read_fallback._patience_with(os.getpid()) == 30.0
    bob.stop()
    assert read_fallback._patience_with(bob.pid) == 0.0
    bob.go_on()
    repo.run("send", to=["Bob"], text="Hello")
    (repo.state / f"views-{VERSION}.db").unlink()  # so that there is something to fold
    with repo.own.engine.log.exclusive():
        bob.tell("run_and_say_when_it_waits", verb="board", arguments={})
        assert bob.hear() == "waits"
    looked = Outcome(bob.hear())
    assert looked.won
    assert looked.warnings == []


@pytest.mark.promise(1)
@pytest.mark.promise(6)
@pytest.mark.parametrize(("where", "stored"), [("before", 0), ("after", 1)])
def test_one_that_is_killed_with_the_lock_in_hand_leaves_it_to_the_others(
    repo: Repo, start: Callable[..., Worker], where: str, stored: int
) -> None:
    ada, bob = start("Ada"), start("Bob")
    hello = {"to": ["Bob"], "text": "Hello", "key": "k"}
    ada.tell("stop_inside", where=where, verb="send", arguments=hello)
    ada.has_stopped()
    bob.tell("run", verb="task add", arguments={"title": "Waits in the queue"})
    ada.process.kill()
    assert ada.process.wait(30) == -signal.SIGKILL
    assert Outcome(bob.hear()).won
    assert len(repo.events("message:sent")) == stored
    again = repo.session("Ada").run("send", hello).result
    assert again.repeated is bool(stored)
    assert len(repo.events("message:sent")) == 1
    repo.verify()


@pytest.mark.promise(8)
def test_agents_that_stop_and_go_on_at_any_moment_change_no_owner(repo: Repo, start: Callable[..., Worker]) -> None:
    """In the middle of commands, with and without the lock, within their ttl."""
    workers = [start(f"Agent-{number}") for number in range(4)]
    for number in range(len(workers)):
        repo.run("task add", title=f"Work {number}", ttl=LONG)
    chance = random.Random(3)
    took: dict[str, int] = {}
    for _ in range(15):
        steps = [[("task claim", {"task": f"task-{n:03}"}) for n in chance.sample(range(1, 5), 4)] for _ in workers]
        gate = repo.root.parent / "gate"
        gate.touch()
        for worker, its in zip(workers, steps, strict=True):
            worker.tell(
                "race", gate=str(gate), steps=[*its, ("claim", {"paths": ["a/**", "b"]}), ("release", {"all": True})]
            )
        for worker in chance.sample(workers, 2):
            sleep(chance.uniform(0, 0.02))
            worker.stop()
            sleep(chance.uniform(0, 0.03))
            worker.go_on()
        for number, worker in enumerate(workers):
            assert worker.hear() == "ready"
            for said in worker.hear()[:4]:
                if "error" not in said:
                    took.setdefault(said["result"]["id"], number)
                    assert took[said["result"]["id"]] == number
    events = repo.events()
    assert [e.data["holder"] for e in events if e.type == "task:started"] == [
        f"Agent-{took[e.stream.partition('/')[2]]}#1" for e in events if e.type == "task:started"
    ]
    assert len(took) == 4
    assert not repo.events("task:lapsed", "file:lapsed")
    assert replay.double_holdings(events) == []
    assert replay.double_grants(events, ["a/x", "b"]) == []
    repo.verify()


def test_one_that_stands_still_in_the_mirrors_keeps_nobody_from_working(
    make_repo: Callable[..., Repo], start: Callable[..., Worker]
) -> None:
    repo = make_repo(packs=("orchestrator",), name="mirrored")
    ada, bob = start("Ada", repo), start("Bob", repo)
    bob.ask("hurry", seconds=0.2)
    path = repo.root / ".claude-orchestrator/tasks/messages/to-developer.json"
    path.unlink()  # so that there is something to do
    ada.tell("stop_in_the_mirrors", verb="board", arguments={})
    ada.has_stopped()
    written = {"messages": [file_agents.assignment("task", 1)], "lastRead": None}
    path.write_text(json.dumps(written), encoding="utf-8")
    sent = bob.run("send", to=["Ada"], text="Hello")
    assert sent.won
    assert "mirror_pending" in sent.warnings
    ada.go_on()
    assert Outcome(ada.hear()).won
    assert bob.run("board").warnings == []
    assert [event.data["kind"] for event in repo.events("message:sent")] == ["note", "task_assignment"]
    assert json.loads(path.read_bytes()) == written
    repo.verify()


MAILBOX = ".claude-orchestrator/tasks/messages/to-developer.json"


class Hand:
    """Somebody who writes a mailbox file by hand: in place, by renaming, or so slowly that moot is faster."""

    def __init__(self, path: Path, how: str) -> None:
        self._path, self._how = path, how

    def begin(self, mark: str) -> None:
        content = json.loads(self._path.read_bytes())
        content["messages"].append(file_agents.assignment(*mark.rsplit(" ", 1)))
        self._data = json.dumps(content).encode()
        if self._how == "rename":
            draft = self._path.with_suffix(".draft")
            draft.write_bytes(self._data)
            draft.replace(self._path)
        elif self._how == "in place":
            self._path.write_bytes(self._data)
        else:
            self._file = self._path.open("wb", buffering=0)

    def end(self) -> None:
        if self._how == "slowly":
            self._file.write(self._data)
            self._file.close()


@pytest.mark.promise(14)
@pytest.mark.timeout(240)
@pytest.mark.parametrize("how", ["in place", "rename", "slowly"])
def test_whoever_writes_a_file_while_another_stands_still_at_any_line_of_the_mirrors_loses_nothing(
    make_repo: Callable[..., Repo], start: Callable[..., Worker], how: str
) -> None:
    repo = make_repo(packs=("orchestrator",), name="mirrored")
    roots = [repo.root, repo.add_worktree("second")]
    ada, bob = start("Ada", repo), start("Bob", repo)
    bob.ask("hurry", seconds=0.02)
    repo.run("mirror")
    own = {"verb": "send", "arguments": {"to": ["Bob"], "text": "Hello"}, "only": "/mirrors/"}
    marks: list[str] = []

    def write(root: Path, who: str, number: int, how: str) -> Hand:
        hand = Hand(root / MAILBOX, how)
        marks.append(f"{who} {number}")
        hand.begin(marks[-1])
        return hand

    write(roots[1], "Before", 0, "in place")
    total = ada.ask("stop_at", line=0, **own)["lines"]
    for number, line in enumerate(range(1, total, max(1, total // 30)), start=1):
        write(roots[1], "Before", number, "in place")
        ada.tell("stop_at", line=line, **own)
        stopped = ada.has_stopped()
        hand = write(roots[number % 2], "Meanwhile", number, how)
        assert bob.run("board").won
        if stopped:
            ada.go_on()
        assert Outcome(ada.hear()).won, f"stopped at line {line} of {total}"
        hand.end()
        assert bob.run("board").won
        if number % 6 == 0:
            assert in_both(repo, roots) == sorted(marks), f"stopped at line {line} of {total}"
    assert in_both(repo, roots) == sorted(marks)
    assert repo.run("held") == []
    assert number > 20
    repo.verify()


def in_both(repo: Repo, roots: list[Path]) -> list[str]:
    """What the log and the files of all worktrees have, once they are in step."""
    until(lambda: not repo.own.run("mirror", {}).warnings, "files and log come into step")
    files = [(root / MAILBOX).read_bytes() for root in roots]
    assert files[0] == files[1]
    stored = sorted(e.data["data"]["title"] for e in repo.events("message:sent") if e.data["kind"] != "note")
    assert sorted(message["title"] for message in json.loads(files[0])["messages"]) == stored
    return stored


@pytest.mark.soak
@pytest.mark.promise(8)
@pytest.mark.timeout(300)
def test_a_minute_of_standing_still_changes_no_owner_and_ends_in_order(
    repo: Repo, start: Callable[..., Worker]
) -> None:
    ada, bob = start("Ada"), start("Bob")
    token = give(repo, ada, 61.0)
    ada.stop()
    deadline = monotonic() + 60.0
    while monotonic() < deadline:
        assert bob.run("task claim", task="task-001").error == "task_held"
        assert bob.run("claim", paths=["src/api.py"]).error == "file_held"
        sleep(0.5)
    assert not repo.events("task:lapsed", "file:lapsed")
    grant = takes(bob).result
    ada.go_on()
    refused = ada.run("task complete", task="task-001", token=token)
    assert (refused.error, refused.details["holder"]) == ("not_holder", "Bob#1")
    assert bob.run("task complete", task="task-001", token=grant["token"]).won
    repo.verify()
