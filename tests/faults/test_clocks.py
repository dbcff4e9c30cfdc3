"""Wall clocks jump, monotonic time passes, machines restart. Only silence ends a holding, and only by an event."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from moot.engine.clock import Clock
from tests.faults import file_agents
from tests.faults.crew import Repo, outcome_of

if TYPE_CHECKING:
    from moot.api.call import Call

HOUR = 3600.0
TTL = 60.0

jumps = pytest.mark.parametrize("jump", [HOUR, -HOUR], ids=["an hour on", "an hour back"])


class MovableClock(Clock):
    """A machine's clock, for all of its processes."""

    def __init__(self) -> None:
        self.off = 0.0  # how far the wall clock was moved
        self.passed = 0.0  # how much time went by that this test did not wait for
        self.boot = "0a"

    def wall_seconds(self) -> float:
        return super().wall_seconds() + self.off + self.passed

    def monotonic(self) -> float:
        return super().monotonic() + self.passed

    def boot_id(self) -> str:
        return self.boot

    def restart(self, uptime: float) -> None:
        """A new boot: monotonic time begins again, and stands at `uptime` now."""
        self.boot += "0a"
        self.passed -= self.monotonic() - uptime


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture
def agents(repo: Repo, clock: MovableClock) -> tuple[Call, Call]:
    """Ada, who holds a task and some files, and Bob, who would like to."""
    ada, bob = (joined(repo, clock, name) for name in ("Ada", "Bob"))
    ada.run("task add", {"title": "Write it", "ttl": TTL})
    ada.run("task claim", {"task": "task-001"})
    ada.run("claim", {"paths": ["src/**"], "ttl": TTL})
    return ada, bob


def joined(repo: Repo, clock: Clock, name: str, *roles: str) -> Call:
    session = repo.session(clock=clock)
    session.run("join", {"name": name, "role": roles})
    return session


def ownership(repo: Repo) -> list[str]:
    """The events that gave or took something."""
    kinds = ("task:started", "task:lapsed", "file:claimed", "file:lapsed", "agent:joined")
    return [event.type for event in repo.events(*kinds)]


def cannot_take(bob: Call) -> None:
    """Bob tries everything that would make a thing of Ada's his own."""
    before = bob.engine.log.head()
    for verb, arguments in (
        ("task claim", {"task": "task-001"}),
        ("claim", {"paths": ["src/api.py"]}),
    ):
        refused = outcome_of(bob, verb, **arguments)
        assert refused.exit == 3
        assert "Ada" in refused.text
    assert outcome_of(bob, "task claim").error == "nothing_ready"
    assert bob.engine.log.head() == before, "and nothing was written"


@jumps
@pytest.mark.promise(8)
def test_a_jump_of_the_wall_clock_changes_no_owner(
    repo: Repo, clock: MovableClock, agents: tuple[Call, Call], jump: float
) -> None:
    ada, bob = agents
    before = ownership(repo)
    clock.off += jump
    cannot_take(bob)
    assert outcome_of(repo.session(clock=clock), "join", name="Ada").error == "name_in_use"
    assert ownership(repo) == before
    done = ada.run("task submit", {"task": "task-001"})
    assert done.result.state == "review"
    first, last = repo.events()[0], repo.events()[-1]
    assert (first.at < last.at) is (jump > 0), "the jump was there, in the times that are for people"
    repo.verify()


@jumps
@pytest.mark.promise(8)
def test_a_jump_that_only_the_other_process_sees_changes_no_owner(
    repo: Repo, clock: MovableClock, agents: tuple[Call, Call], jump: float
) -> None:
    elsewhere = MovableClock()
    elsewhere.off = jump
    cannot_take(repo.session("Bob", clock=elsewhere))


@pytest.mark.promise(7)
@pytest.mark.promise(8)
def test_a_silent_holder_loses_what_it_held_by_an_event_and_is_told_who_has_it(
    repo: Repo, clock: MovableClock, agents: tuple[Call, Call]
) -> None:
    ada, bob = agents
    grant = repo.events("task:started")[0].position
    clock.passed += TTL - 10
    cannot_take(bob)
    clock.passed += 20
    assert ownership(repo).count("task:lapsed") == 0, "time alone appends nothing"
    assert outcome_of(bob, "task claim", task="task-001").result["holder"] == "Bob#1"
    assert outcome_of(bob, "claim", paths=["src/api.py"]).result["holder"] == "Bob#1"
    (lapsed,), (files,) = repo.events("task:lapsed"), repo.events("file:lapsed")
    assert lapsed.data["silent_for"] > lapsed.data["ttl"] == TTL
    assert files.data["silent_for"] > files.data["ttl"] == TTL
    for verb in ("submit", "release", "complete", "fail"):
        for token in ({}, {"token": grant}):
            refused = outcome_of(ada, f"task {verb}", task="task-001", reason="Done.", **token)
            assert (refused.error, refused.exit, refused.details["holder"]) == ("not_holder", 3, "Bob#1")
            assert "Bob" in refused.text
    gone = outcome_of(ada, "release", what=["src/api.py"])
    assert "Bob#1" in gone.text
    assert gone.exit in (1, 3)
    repo.verify()


@pytest.mark.promise(8)
def test_whoever_is_heard_of_in_time_keeps_it_for_as_long_as_it_likes(
    repo: Repo, clock: MovableClock, agents: tuple[Call, Call]
) -> None:
    ada, bob = agents
    for _ in range(20):
        clock.passed += TTL - 10
        ada.run("inbox", {})
        cannot_take(bob)


@pytest.mark.promise(8)
def test_a_new_boot_starts_the_count_anew(repo: Repo, clock: MovableClock, agents: tuple[Call, Call]) -> None:
    clock.passed += TTL - 10
    clock.restart(uptime=5.0)
    bob = repo.session("Bob", clock=clock)
    cannot_take(bob)
    clock.passed += TTL - 20
    cannot_take(bob)
    clock.passed += 40
    assert outcome_of(bob, "task claim", task="task-001").result["holder"] == "Bob#1"


@pytest.mark.promise(8)
def test_a_new_boot_finds_a_holder_that_is_heard_of_again(
    repo: Repo, clock: MovableClock, agents: tuple[Call, Call]
) -> None:
    clock.restart(uptime=5.0)
    repo.session("Ada", clock=clock).run("inbox", {})
    clock.passed += TTL - 10
    cannot_take(repo.session("Bob", clock=clock))


@pytest.mark.promise(8)
@pytest.mark.parametrize("seed", range(5))
def test_no_mixture_of_jumps_and_waits_takes_a_thing_from_one_who_was_heard_of(
    repo: Repo, clock: MovableClock, agents: tuple[Call, Call], seed: int
) -> None:
    ada, bob = agents
    chance, silent = random.Random(seed), 0.0
    for _ in range(60):
        match chance.choice(("jump", "jump", "wait", "speak", "grab")):
            case "jump":
                clock.off += chance.uniform(-HOUR, HOUR)
            case "wait":
                wait = chance.uniform(0, TTL / 4)
                if silent + wait < TTL - 10:
                    clock.passed, silent = clock.passed + wait, silent + wait
            case "speak":
                ada.run("board", {})
                silent = 0.0
            case "grab":
                cannot_take(bob)
    clock.passed += TTL + 1
    assert outcome_of(bob, "task claim").won, "and in the end silence counts"
    assert [event.data["holder"] for event in repo.events("task:started")] == ["Ada#1", "Bob#1"]
    repo.verify()


@pytest.mark.promise(8)
@pytest.mark.parametrize("task", ["task-001", None], ids=["by name", "any"])
def test_a_task_that_everybody_drops_is_dead_in_the_end_and_says_why(
    repo: Repo, clock: MovableClock, task: str | None
) -> None:
    repo.run("task add", title="Too hard", ttl=TTL)
    for name in ("Ada", "Bob", "Cyd"):
        assert outcome_of(joined(repo, clock, name), "task claim", task=task).won
        clock.passed += TTL + 1
    dan = joined(repo, clock, "Dan")
    for _ in range(2):
        refused = outcome_of(dan, "task claim", task=task, key="k")
        assert refused.error == ("no_such_move" if task else "nothing_ready")
        assert task is None or "dead" in refused.text
    assert [event.data["target"] for event in repo.events("task:lapsed")] == ["open", "open", "dead"]
    found = repo.run("task show", task="task-001")["task"]
    assert (found["state"], found["holder"]) == ("dead", None)
    assert "Cyd was silent" in found["setbacks"][-1]["reason"]
    repo.verify()


@pytest.mark.promise(8)
def test_a_task_that_is_used_up_keeps_nobody_from_taking_another_one(repo: Repo, clock: MovableClock) -> None:
    for title, attempts in (("Too hard", 3), ("Easy", 1)):
        repo.run("task add", title=title, ttl=TTL)
        task = f"task-{len(repo.events('task:added')):03}"
        for number in range(attempts):
            assert outcome_of(joined(repo, clock, f"{title[:3]}-{number}"), "task claim", task=task).won
            clock.passed += TTL + 1 if number < attempts - 1 else 0.0
    clock.passed += TTL + 1
    assert outcome_of(joined(repo, clock, "Dan"), "task claim").result["id"] == "task-002"
    assert repo.run("task show", task="task-001")["task"]["state"] == "dead"


@pytest.mark.parametrize("seed", range(3))
def test_messages_keep_the_order_of_the_log_whatever_the_clock_says(repo: Repo, clock: MovableClock, seed: int) -> None:
    ada, bob = (joined(repo, clock, name) for name in ("Ada", "Bob"))
    chance = random.Random(seed)
    first = ada.run("send", {"to": ["Bob"], "text": "0"}).result.id
    for number in range(1, 20):
        clock.off += chance.uniform(-HOUR, HOUR)
        ada.run("send", {"to": ["Bob"], "text": str(number), "thread": first})
    times = [event.at for event in repo.events("message:sent")]
    assert times != sorted(times)
    expected = [str(number) for number in range(20)]
    assert [letter.text for letter in bob.run("inbox", {}).result.new] == expected
    assert [letter.text for letter in bob.run("thread", {"id": first}).result] == expected
    assert [event.data["text"] for event in repo.events("message:sent")] == expected


DEVELOPER = Path(".claude-orchestrator/tasks/messages/to-developer.json")


@pytest.mark.promise(14)
@pytest.mark.parametrize("seed", range(3))
def test_a_mailbox_file_keeps_its_order_and_its_last_read_never_goes_back(
    make_repo: Callable[..., Repo], clock: MovableClock, seed: int
) -> None:
    repo = make_repo(packs=("orchestrator",))
    path, chance = repo.root / DEVELOPER, random.Random(seed)
    lead, dev = repo.session(clock=clock), joined(repo, clock, "Dev", "developer")
    reads: list[str] = []
    for number in range(12):
        clock.off += chance.uniform(-HOUR, HOUR)
        message = {k: v for k, v in file_agents.assignment("task", number).items() if k != "type"}
        sent = lead.run("send", {"type": "task_assignment", "data": message}).result.id
        clock.off += chance.uniform(-HOUR, HOUR)
        if number % 2:
            dev.run("ack", {"ids": [sent]})
        else:  # somebody who knows only the file has read it, by a clock of its own
            content = json.loads(path.read_text(encoding="utf-8"))
            content["lastRead"] = clock.wall()
            path.write_text(json.dumps(content), encoding="utf-8")
            lead.run("board", {})
        content = json.loads(path.read_text(encoding="utf-8"))
        assert [entry["title"] for entry in content["messages"]] == [f"task {n}" for n in range(number + 1)]
        reads.append(content["lastRead"])
    assert all(reads)
    assert reads == sorted(reads)
    assert len(repo.events("message:acked")) == 12
    repo.verify()


def test_a_file_that_is_torn_while_the_clock_jumps_loses_nothing(
    make_repo: Callable[..., Repo], clock: MovableClock
) -> None:
    """By the wall clock it is an hour old at once. Its writer is still at it."""
    repo = make_repo(packs=("orchestrator",))
    path, session = repo.root / DEVELOPER, repo.session(clock=clock)
    whole = json.dumps({"messages": [file_agents.assignment("task", 1)], "lastRead": None}).encode()
    with path.open("wb", buffering=0) as file:
        file.write(whole[:100])
        session.run("board", {})
        clock.off += HOUR
        session.run("board", {})
        file.write(whole[100:])
    session.run("board", {})
    titles = [event.data["data"]["title"] for event in repo.events("message:sent") if event.data["kind"] != "note"]
    assert titles == ["task 1"]
    assert [entry["title"] for entry in json.loads(path.read_bytes())["messages"]] == ["task 1"]
    repo.verify()


def test_a_wait_is_as_long_as_it_is_by_monotonic_time(repo: Repo, clock: MovableClock) -> None:
    ada = joined(repo, clock, "Ada")
    clock.off += HOUR
    assert outcome_of(ada, "wait", type=["task:added"], timeout=0.05).error == "timeout"
    clock.off -= 2 * HOUR
    assert outcome_of(ada, "wait", type=["task:added"], timeout=0.05).error == "timeout"
