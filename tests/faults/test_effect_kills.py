"""A thousand effects, three runners, and `kill -9` of them at random.

Each effect is done once; only a crash repeats it, under the same key, and never beside its own orphan. Judged by the
log, and by what the commands really did.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from time import monotonic
from typing import TYPE_CHECKING

import pytest

from tests.faults.crew import PATIENCE, SOURCES, Repo, until

if TYPE_CHECKING:
    from collections.abc import Callable

    from moot.core.event import Event

EVENTS = 1000
RUNNERS = 3
KILLS = 12
# The folder tells whether it runs twice at the same time; the line in the file is what the command is for.
SCRIPT = (
    'mkdir "busy/$MOOT_EFFECT_KEY" || echo "$MOOT_EFFECT_KEY" >> beside; '
    'echo "$MOOT_EFFECT_KEY $MOOT_EFFECT_ATTEMPT" >> done; '
    'rmdir "busy/$MOOT_EFFECT_KEY"'
)
SETTINGS = f"""
[[handlers]]
name = "count"
on = ["build:finished"]
run = ["sh", "-c", '''{SCRIPT}''']
attempts = 100
at_once = 8
backoff = "10ms"
"""


class Runners:
    """Processes that perform effects, some of which are killed."""

    def __init__(self, repo: Repo, size: int) -> None:
        self._repo = repo
        self._running = [self._start() for _ in range(size)]

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "moot", "handle"],
            cwd=self._repo.root,
            env={**self._repo.env, "PYTHONPATH": str(SOURCES)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def kill_one(self, chance: random.Random) -> None:
        """Kill any of them, and let another take its place."""
        number = chance.randrange(len(self._running))
        dead = self._running[number]
        dead.kill()
        dead.wait(PATIENCE)
        self._running[number] = self._start()

    def all_dead(self) -> bool:
        return all(process.poll() is not None for process in self._running)

    def end(self) -> None:
        for process in self._running:
            process.kill()
            process.wait(PATIENCE)


@contextmanager
def runners(repo: Repo, size: int) -> Iterator[Runners]:
    crew = Runners(repo, size)
    try:
        yield crew
    finally:
        crew.end()


def lines(repo: Repo, name: str) -> list[list[str]]:
    path = repo.root / name
    return [line.split() for line in path.read_text().splitlines()] if path.exists() else []


def by_effect(events: list[Event]) -> dict[str, list[Event]]:
    found: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        if event.stream.startswith("effect/"):
            found[event.stream.partition("/")[2]].append(event)
    return found


@pytest.mark.promise(12)
@pytest.mark.timeout(240)  # ten seconds on an idle machine
def test_each_effect_is_done_once_or_repeated_with_its_key_after_a_crash(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo(SETTINGS)
    (repo.root / "busy").mkdir()
    repo.run("allow", names=["count"], yes=True)
    chance = random.Random(12)
    with runners(repo, RUNNERS) as crew:
        pauses = sorted(chance.sample(range(50, EVENTS), KILLS))
        for number in range(EVENTS):
            repo.run("emit", type="build:finished", data={"number": number})
            if number in pauses:
                until(lambda: lines(repo, "done"), "something is done")
                crew.kill_one(chance)
        until(lambda: not repo.run("effects", limit=1), "all effects are done", 2 * PATIENCE)
    check(repo)


def check(repo: Repo) -> None:
    effects = by_effect(repo.events())
    assert len(effects) == EVENTS
    real = Counter(key for key, _ in lines(repo, "done"))
    attempts = Counter((key, attempt) for key, attempt in lines(repo, "done"))
    assert real.keys() == effects.keys()
    assert lines(repo, "beside") == []
    assert max(attempts.values()) == 1, "an attempt was performed twice"
    crashes = 0
    for key, story in effects.items():
        kinds = [event.type for event in story]
        taken = [event for event in story if event.type == "effect:taken"]
        assert kinds == ["effect:requested", *["effect:taken"] * len(taken), "effect:done"], key
        assert [event.data["attempt"] for event in taken] == [*range(1, len(taken) + 1)]
        for before, after in pairwise(taken):
            assert after.data["over"] == before.data["runner"], "taken from a runner that had it"
        assert real[key] <= len(taken)
        crashes += len(taken) - 1
    assert crashes, "no kill has hit anything: this test shows nothing"
    repo.verify()


@pytest.mark.promise(12)
def test_a_runner_that_stands_still_is_followed_after_its_time_and_comes_back_too_late(
    make_repo: Callable[..., Repo], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped, not killed: its lock is held. What counts is its silence."""
    monkeypatch.setattr("moot.runs.effects._GRACE", 0.5)
    repo = make_repo(
        '[[handlers]]\nname = "slow"\non = ["build:finished"]\nrun = ["sh", "-c", "echo x >> done; sleep 0.3"]\n'
        'timeout = "1s"\n'
    )
    repo.run("allow", names=["slow"], yes=True)
    repo.run("emit", type="build:finished")
    script = (
        "import moot.runs.effects as due; due._GRACE = 0.5; from moot.surfaces.cli.main import main; main(['handle'])"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=repo.root,
        env={**repo.env, "PYTHONPATH": str(SOURCES)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout
    try:
        until(lambda: lines(repo, "done"), "it has begun")
        os.kill(process.pid, signal.SIGSTOP)
        since = monotonic()
        until(lambda: repo.run("handle", drain=True)["effects"], "another one takes it")
        assert monotonic() - since > 0.5, "before its time was over"
        os.kill(process.pid, signal.SIGCONT)
        told = [process.stdout.readline() for _ in range(2)][-1]
        assert "lost slow" in told
    finally:
        process.kill()
        process.wait(PATIENCE)
        process.stdout.close()
    (story,) = by_effect(repo.events()).values()
    assert [event.type for event in story] == [
        "effect:requested",
        "effect:taken",
        "effect:taken",
        "effect:done",
    ]


@pytest.mark.promise(12)
def test_a_command_that_outlives_its_runner_is_waited_for_and_then_repeated(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo('[[handlers]]\nname = "slow"\non = ["build:finished"]\nrun = ["sh", "script"]\n')
    wait = "while [ ! -e go ]; do sleep 0.05; done"
    (repo.root / "script").write_text(f"echo begun $MOOT_EFFECT_KEY >> done\n{wait}\necho end >> done\n")
    repo.run("allow", names=["slow"], yes=True)
    repo.run("emit", type="build:finished")
    with runners(repo, 1):
        until(lambda: lines(repo, "done"), "it has begun")
    assert repo.run("handle", drain=True)["effects"] == [], "it was repeated beside its orphan"
    assert [effect["state"] for effect in repo.run("effects")] == ["taken"]
    (repo.root / "go").touch()
    until(lambda: len(lines(repo, "done")) == 2, "the orphan has ended")
    (again,) = until(lambda: repo.run("handle", drain=True)["effects"], "it is repeated")
    assert (again["outcome"], again["attempt"]) == ("done", 2)
    assert lines(repo, "done") == [["begun", again["id"]], ["end"]] * 2


@pytest.mark.promise(12)
def test_what_kills_its_runner_is_parked_and_takes_nothing_with_it(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo(
        '[[handlers]]\nname = "deadly"\non = ["build:broken"]\nrun = ["sh", "-c", "kill -9 $PPID"]\nattempts = 3\n\n'
        '[[handlers]]\nname = "tame"\non = ["build:finished"]\nrun = ["sh", "-c", "echo x >> done"]\n'
    )
    repo.run("allow", names=["deadly", "tame"], yes=True)
    repo.run("emit", type="build:broken")
    for _ in range(3):
        with runners(repo, 1) as crew:
            until(crew.all_dead, "the runner is dead")
    repo.run("emit", type="build:finished")
    outcomes = {one["handler"]: one["outcome"] for one in repo.run("handle", drain=True)["effects"]}
    assert outcomes == {"deadly": "parked", "tame": "done"}
    (parked,) = repo.run("effects")
    assert parked["reason"] == "its runner died 3 times"
