"""`kill -9` of writers at random moments, at chosen lines, and of the command itself.

What was acknowledged is in the log; what was in flight is there whole or not at all, and once when it is repeated.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import pytest

from tests.faults import replay
from tests.faults.crew import PATIENCE, SOURCES, Repo, Worker
from tests.faults.lives import Journal

if TYPE_CHECKING:
    from moot.core.event import Event

WRITERS = 4
BATCHES = 4
KILLS_PER_BATCH = 25  # of each writer: 400 in all


def marks(events: list[Event]) -> Counter[str]:
    """How often the log has what each command was marked with."""
    fields = {
        "message:sent": "text",
        "task:added": "title",
        "task:completed": "reason",
        "file:claimed": "reason",
        "file:released": "reason",
    }
    return Counter(event.data[fields[event.type]] for event in events if event.type in fields)


def half_commits(events: list[Event]) -> list[str]:
    """Commits that lack what belongs to them."""
    commits: dict[str, set[str]] = {}
    for event in events:
        commits.setdefault(event.commit, set()).add(event.type)
    wanted = {
        "task:added": lambda event: {"graph:linked"} if event.data.get("needs") else set(),
        "task:completed": lambda _: {"task:readied"},  # each has one task that waits for it
        "message:answered": lambda _: {"message:sent"},
        "graph:linked": lambda _: {"task:added"},
        "task:readied": lambda _: {"task:completed"},
    }
    return [
        f"{event.position}: {event.type} without {missing}"
        for event in events
        if (missing := wanted.get(event.type, lambda _: set())(event) - commits[event.commit])
    ]


def check(repo: Repo, journals: list[Journal], names: list[str]) -> None:
    """The log against what the dead were told."""
    events = repo.events()
    assert replay.broken_order(events) == []
    assert half_commits(events) == []
    assert replay.double_holdings(events) == []
    found = marks(events)
    positions = {event.stream: event.position for event in events if event.type == "message:sent"}
    for journal, name in zip(journals, names, strict=True):
        for number, (verb, arguments) in journal.begun.items():
            mark, said = f"{name} {number}", journal.done.get(number)
            if verb == "task claim":
                grants = [e for e in events if e.type == "task:started" and e.stream == f"task/{arguments['task']}"]
                assert len(grants) == 1 if said else len(grants) <= 1
            elif said is None:
                assert found[mark] <= 1, f"{verb} {mark} happened twice"
            else:
                assert found[mark] == 1, f"{verb} {mark} was acknowledged and is there {found[mark]} times"
                if verb in ("send", "reply"):
                    assert positions[f"message/{said['result']['id']}"] == said["result"]["position"]


@pytest.mark.promise(1)
@pytest.mark.promise(6)
@pytest.mark.timeout(240)
def test_four_hundred_kills_lose_nothing_that_was_acknowledged(repo: Repo, tmp_path: Path) -> None:
    names = [f"Agent-{number}" for number in range(WRITERS)]
    lives = []
    for name in names:
        where = {"cwd": str(repo.root), "agent": name, "incarnation": repo.join(name)}
        lives.append({"path": str(tmp_path / f"{name}.journal"), "where": where, "plan": "everything"})
    keepers = [Worker("tests.faults.keeper") for _ in names]
    try:
        for _ in range(BATCHES):
            for keeper, life in zip(keepers, lives, strict=True):
                keeper.tell("live_often", work="work_on", arguments=life, times=KILLS_PER_BATCH, most=6)
            ends = [end for keeper in keepers for end in keeper.hear(120)]
            assert ends == [-signal.SIGKILL] * WRITERS * KILLS_PER_BATCH
            repo.verify()
            check(repo, [Journal(life["path"]) for life in lives], names)
        in_flight = [Journal(life["path"]).in_flight for life in lives]
        for keeper, life in zip(keepers, lives, strict=True):
            assert keeper.ask("live", work="work_on", arguments={**life, "last": True})["code"] == 0
    finally:
        for keeper in keepers:
            keeper.end()
    journals = [Journal(life["path"]) for life in lives]
    assert not any(journal.in_flight for journal in journals)
    check(repo, journals, names)
    repo.verify()
    assert sum(len(journal.done) for journal in journals) > BATCHES * KILLS_PER_BATCH, "they did hardly anything"
    assert any(in_flight), "no kill met a command on its way"


def at_each_line(
    keeper: Worker,
    repo: Repo,
    verb: str,
    arguments: dict[str, Any],
    points: int,
    before: Callable[[], None] = lambda: None,
) -> Iterator[dict[str, Any]]:
    """Carry a command out, then kill it at lines spread over all of it and repeat it with its key.

    Gives the answers, of the first and of each repeat.
    """
    where = {"cwd": str(repo.root), "agent": "Ada", "incarnation": 1}
    before()
    first = keeper.ask("live", work="once", arguments={"where": where, "verb": verb, "arguments": arguments})
    yield json.loads(first["said"])
    total = json.loads(first["said"])["lines"]
    for number, line in enumerate(range(1, total, max(1, total // points))):
        before()
        again = {**arguments, "key": f"{verb}-{number}"}
        command = {"where": where, "verb": verb, "arguments": again}
        killed = keeper.ask("live", work="once", arguments={**command, "die_at": line})
        assert killed["code"] in (0, -signal.SIGKILL)  # this time it may have taken fewer lines
        done = keeper.ask("live", work="once", arguments=command)
        assert done["code"] == 0
        said = json.loads(done["said"])
        assert "error" not in said, f"killed at line {line} of {total}: {said}"
        yield said


@pytest.mark.promise(1)
@pytest.mark.promise(6)
@pytest.mark.parametrize(
    ("verb", "arguments", "event"),
    [
        ("send", {"to": ["Bob"], "text": "Hello"}, "message:sent"),
        ("task add", {"title": "Write it", "needs": ["task-001"]}, "task:added"),
        ("claim", {"paths": ["src/**"], "shared": True}, "file:claimed"),
        ("join", {"name": "Cyd", "take_over": True}, "agent:joined"),
    ],
    ids=["send", "task add", "claim", "join"],
)
def test_a_command_killed_at_any_line_is_done_once_when_its_key_is_repeated(
    repo: Repo, keeper: Worker, verb: str, arguments: dict[str, Any], event: str
) -> None:
    for name in ("Ada", "Bob", "Cyd"):
        repo.join(name)
    repo.run("task add", title="First")
    before, times = len(repo.events(event)), 0
    for _ in at_each_line(keeper, repo, verb, arguments, points=30):
        times += 1
        if verb == "claim":  # or the next one would hold it already
            repo.run("release", what=[repo.events(event)[-1].data["id"]], force=True, reason="next")
    assert times > 20
    assert len(repo.events(event)) == before + times
    assert replay.broken_order(repo.events()) == []
    assert half_commits(repo.events()) == []
    repo.verify()


@pytest.mark.promise(3)
def test_views_whose_rebuilding_was_killed_at_any_line_are_rebuilt_by_the_next(repo: Repo, keeper: Worker) -> None:
    for name in ("Ada", "Bob"):
        repo.join(name)
    for number in range(10):
        repo.run("task add", title=f"Work {number}")

    def lose_the_views() -> None:
        repo.close()
        for file in repo.state.glob("views*"):
            file.unlink()

    hello = {"to": ["Bob"], "text": "Hello"}
    times = sum(1 for _ in at_each_line(keeper, repo, "send", hello, points=30, before=lose_the_views))
    fresh = Repo(repo.root)
    assert len(fresh.events("message:sent")) == times > 20
    assert len(fresh.run("board")["tasks"]) == 10
    fresh.verify()
    fresh.close()


@pytest.mark.parametrize(
    ("packs", "only", "points"),
    [
        ([], "", 20),
        (["orchestrator"], "", 10),
        (["orchestrator"], "/wiring/admin.py", 1000),
    ],
    ids=["plain", "with a pack", "each line of the making itself"],
)
def test_a_workspace_whose_making_was_killed_at_any_line_is_made_by_the_next(
    tmp_path: Path, keeper: Worker, packs: list[str], only: str, points: int
) -> None:
    def made(number: int, **more: Any) -> dict[str, Any]:
        where = {"cwd": str(tmp_path / str(number)), "packs": packs, "only": only}
        return keeper.ask("live", work="make", arguments={**where, **more})

    Repo.plain(tmp_path / "0")
    total = json.loads(made(0)["said"])["lines"]
    for number, line in enumerate(range(1, total, max(1, total // points)), start=1):
        Repo.plain(tmp_path / str(number))
        died = made(number, die_at=line)["code"]
        if not died and line > total * 0.9:
            break  # the number of lines depends a little on the time: this making was over before
        assert died == -signal.SIGKILL
        assert made(number)["code"] == 0, f"after a kill at line {line} of {total}"
        repo = Repo(tmp_path / str(number))
        repo.join("Ada")
        assert [event.type for event in repo.events()] == ["agent:joined", *("pack:activated" for _ in packs)]
        repo.verify()
        assert not repo.own.run("board", {}).warnings
        repo.close()


@pytest.mark.promise(1)
def test_the_command_itself_may_be_killed_at_any_moment(repo: Repo) -> None:
    """From the start of its interpreter on. What it printed is true, and its key repeats it."""
    repo.join("Ada")
    environment = {**repo.env, "PYTHONPATH": str(SOURCES), "MOOT_AGENT": "Ada"}
    chance = random.Random(7)
    printed: dict[str, str] = {}

    def command(number: int) -> subprocess.Popen[bytes]:
        words = ["--json", "send", "Ada", f"Text {number}", "--key", f"k{number}"]
        return subprocess.Popen(
            [sys.executable, "-m", "moot", *words], cwd=repo.root, env=environment, stdout=subprocess.PIPE
        )

    started = monotonic()
    with command(-1) as whole:
        assert whole.communicate(timeout=PATIENCE)[0]
    usual = monotonic() - started
    for number in range(25):
        with command(number) as process:
            try:
                out, _ = process.communicate(timeout=chance.uniform(0, usual * 1.2))
            except subprocess.TimeoutExpired:
                process.kill()
                out, _ = process.communicate(timeout=PATIENCE)
            if out.endswith(b"\n"):
                printed[f"Text {number}"] = json.loads(out)["result"]["id"]
    stored = [(event.data["text"], event.stream[8:]) for event in repo.events("message:sent")]
    assert len(dict(stored)) == len(stored), "done twice"
    assert printed.items() <= dict(stored).items(), "acknowledged and lost"
    repo.verify()
    for number in range(25):
        with command(number) as process:
            out, _ = process.communicate(timeout=PATIENCE)
            assert process.returncode == 0
            assert printed.get(f"Text {number}", json.loads(out)["result"]["id"]) == json.loads(out)["result"]["id"]
    assert Counter(event.data["text"] for event in repo.events("message:sent")).most_common(1)[0][1] == 1
    repo.verify()


@pytest.mark.promise(1)
@pytest.mark.soak
def test_a_command_killed_at_every_single_line_is_done_once(repo: Repo, keeper: Worker) -> None:
    for name in ("Ada", "Bob"):
        repo.join(name)
    times = sum(1 for _ in at_each_line(keeper, repo, "send", {"to": ["Bob"], "text": "Hello"}, points=1_000_000))
    assert len(repo.events("message:sent")) == times > 500
    repo.verify()
