"""What other processes do to a log in these tests. Each role is a function that gets the engine and plain arguments."""

from __future__ import annotations

import os
import random
import signal
from typing import TYPE_CHECKING

from moot.core.event import Commit, Draft
from moot.log import Appended, Conflict, Log
from tests.logs.processes import say, wait_for_word

if TYPE_CHECKING:
    from tests.logs.engines import Engine

AT = "2030-01-01T00:00:00Z"


def commit(name: str) -> Commit:
    return Commit(name, AT, "Yeats")


def version(log: Log, stream: str) -> int:
    """The position of the last event of a stream, by reading it all."""
    last = 0
    while page := log.read(last, stream=stream):
        last = page[-1].position
    return last


def race(engine: Engine, me: int, rounds: int) -> None:
    """In every round try once to be the first event of a stream."""
    log = engine.open()
    say("ready")
    wait_for_word()
    for number in range(rounds):
        stream = f"race/{number}"
        answer = log.append(commit(f"{me}-{number}"), {stream: 0}, [Draft(stream, "race:won", {"me": me})])
        if isinstance(answer, Appended):
            say(["won", number, answer.first])
        else:
            assert isinstance(answer, Conflict)
            say(["lost", number, answer.version])


def count(engine: Engine, me: int, times: int) -> None:
    """Raise a shared counter: read, decide, append on condition, and again after a conflict."""
    log = engine.open()
    say("ready")
    wait_for_word()
    conflicts = 0
    for number in range(times):
        while True:
            with log.exclusive():
                seen = log.read(stream="counter", limit=10_000)
                value, at = (seen[-1].data["value"], seen[-1].position) if seen else (0, 0)
                draft = Draft("counter", "counter:raised", {"value": value + 1, "seen": at})
                answer = log.append(commit(f"{me}-{number}"), {"counter": at}, [draft])
            if isinstance(answer, Appended):
                break
            conflicts += 1
    say(conflicts)


def interfere(engine: Engine, me: int, times: int) -> None:
    """Append to the shared stream without any condition."""
    log = engine.open()
    say("ready")
    wait_for_word()
    for number in range(times):
        log.append(commit(f"{me}-{number}"), {}, [Draft("shared", "shared:touched", {})])
    say("done")


def depend(engine: Engine, me: int, times: int) -> None:
    """Append to the shared stream on condition, over and over; say how often it was refused."""
    log = engine.open()
    say("ready")
    wait_for_word()
    done = 0
    for number in range(times * 50):
        at = version(log, "shared")
        answer = log.append(commit(f"{me}-{number}"), {"shared": at}, [Draft("shared", "shared:moved", {"seen": at})])
        done += isinstance(answer, Appended)
        if done == times:
            break
    say(done)


def leave(engine: Engine, me: int, rounds: int) -> None:
    """Two are on duty in every round, and each may leave only while it sees the other one there."""
    log = engine.open()
    say("ready")
    for number in range(rounds):
        wait_for_word()
        mine, other = f"duty/{number}/{me}", f"duty/{number}/{1 - me}"
        at = version(log, other)
        if at == 0:
            log.append(commit(f"{me}-{number}"), {mine: 0, other: at}, [Draft(mine, "duty:left", {})])
        say("decided")


def write(engine: Engine, me: str, commits: int = 1_000_000, bulk: int = 20, seed: int = 0) -> None:
    """Append commits of several events to several streams; say each acknowledged one before going on."""
    log = engine.open()
    chance = random.Random(seed)
    for number in range(commits):
        size = chance.choice([1, 1, 1, 2, 3, 7])
        drafts = [
            Draft(
                f"stream/{chance.randrange(5)}",
                "thing:done",
                {"of": size, "text": "x" * chance.randrange(bulk)},
            )
            for _ in range(size)
        ]
        name = f"{me}-{number}"
        answer = log.append(commit(name), {}, drafts)
        assert isinstance(answer, Appended), answer
        say([name, answer.first, answer.last])


def follow(engine: Engine, after: int, until: int) -> None:
    """Follow the log up to a position; say every list that comes, as [position, id, size of its commit] each."""
    log = engine.open()
    say("ready")
    if after >= until:
        return
    for events in log.follow(after, timeout=120):
        say([[event.position, event.id, event.data["of"]] for event in events])
        if events[-1].position >= until:
            break


def repeat(engine: Engine, name: str, streams: list[str]) -> None:
    """Append a commit that may be known, and say the answer."""
    answer = engine.open().append(commit(name), {}, [Draft(stream, "thing:done", {}) for stream in streams])
    say([type(answer).__name__, answer.first, answer.last])


def hold(engine: Engine) -> None:
    """Stay inside `exclusive()` until told to go on."""
    log = engine.open()
    with log.exclusive():
        say(os.getpid())
        wait_for_word()
        log.append(commit("held"), {}, [Draft("held", "thing:done", {})])
    say("out")


def fill(engine: Engine, room: int) -> None:
    """Append until there is no more room in any file, then say what was acknowledged and what was said at the end."""
    import resource

    from moot.core.errors import Unavailable

    log = engine.open()
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
    acked = []
    try:
        for number in range(100_000):
            answer = log.append(commit(f"fill-{number}"), {}, [Draft("fill", "thing:done", {"text": "x" * 2000})])
            assert isinstance(answer, Appended)
            acked.append([f"fill-{number}", answer.first, answer.last])
    except Unavailable as error:
        say({"acked": acked, "code": error.code, "head": log.head()})


def read_as_nobody(engine: Engine) -> None:
    """Try to read and to append as a user who may not write there."""
    from moot.core.errors import Unavailable

    if os.getuid() == 0:
        os.setgid(65534)
        os.setuid(65534)
    said = []
    for attempt in (
        lambda log: len(log.read()),
        lambda log: log.append(commit("nobody"), {}, []).plain(),
        lambda log: log.append(commit("nobody"), {}, [Draft("x", "thing:done", {})]).plain(),
    ):
        try:
            said.append(attempt(engine.open()))
        except Unavailable as error:
            said.append(error.code)
    say(said)
