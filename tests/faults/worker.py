"""A process that does what the test tells it: one JSON command per line in, one JSON answer per line out.

It must be quick to start, fifty of them run at once. So it imports nothing of pytest.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

from moot.api.answer import plain
from moot.core.errors import MootError
from moot.engine.engine import Engine
from moot.logs.sqlite import SqliteLog
from moot.logs.sqlite.lock import WriterLock
from moot.views.store import Store
from moot.wiring.admin import Admin
from tests.calls import open_call
from tests.faults.lines import at_line
from tests.person import AS_A_PERSON

if TYPE_CHECKING:
    from moot.api.call import Call

ENV = {**AS_A_PERSON, "XDG_STATE_HOME": os.environ.get("XDG_STATE_HOME", "")}  # never that of whoever runs the tests
_here: list[Call] = []


def say(value: Any) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def wait_at(gate: str) -> None:
    """Until the test lets everybody through."""
    file = os.open(gate, os.O_RDONLY | os.O_CLOEXEC)
    fcntl.flock(file, fcntl.LOCK_SH)
    os.close(file)


def entered(cwd: str, agent: str | None = None, incarnation: int | None = None, views: str | None = None) -> Call:
    """A session; with `views` it has its own ones and no queue in front of the log, so that it meets conflicts."""
    session = open_call(cwd, ENV, agent=agent, incarnation=incarnation)
    if views is not None:
        os.makedirs(views, exist_ok=True)
        session.engine.log.close()
        session.engine.log = session.engine.whole = SqliteLog(session.place.state, exclusive=False)
        session.engine.store = Store(views)
    return session


def outcome(session: Call, verb: str, arguments: dict[str, Any]) -> dict[str, Any]:
    try:
        answer = session.run(verb, arguments)
        if answer.after:
            answer.after()
        return {"result": plain(answer.result), "warnings": [warning.code for warning in answer.warnings]}
    except MootError as error:
        return {**error.plain(), "exit": error.exit_code}


# --- what it can be told ---------------------------------------------------------------------------------------


def enter(lock_timeout: float | None = None, **where: Any) -> str:
    leave()
    session = entered(**where)
    if lock_timeout is not None:
        session.engine.log.close()
        session.engine.log = session.engine.whole = SqliteLog(session.place.state, lock_timeout=lock_timeout)
    _here.append(session)
    return "in"


def leave() -> str:
    while _here:
        session = _here.pop()
        session.engine.log.close()
        session.engine.store.close()
    return "out"


def run(verb: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return outcome(_here[0], verb, arguments)


def run_and_say_when_it_waits(verb: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """One more answer comes first, as soon as somebody else has the writer lock."""
    real = WriterLock._wait

    def waiting(self: WriterLock, file: int, longest: float) -> None:
        WriterLock._wait = real  # type: ignore[method-assign]
        say("waits")
        real(self, file, longest)

    WriterLock._wait = waiting  # type: ignore[method-assign]
    return outcome(_here[0], verb, arguments)


def race(gate: str, steps: list[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    say("ready")
    wait_at(gate)
    return [outcome(_here[0], verb, arguments) for verb, arguments in steps]


def race_init(gate: str, cwd: str, packs: list[str]) -> list[dict[str, Any]]:
    """Make a workspace, with all the others."""
    say("ready")
    wait_at(gate)
    try:
        created = Admin(cwd, ENV).create(tuple(packs))
        return [{"result": created.full(), "warnings": []}]
    except MootError as error:
        return [{**error.plain(), "exit": error.exit_code}]


def stop_inside(where: str, verb: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Stand still in the middle of a command, with the log's lock in hand: before its append, or just after it."""
    _stop_once(Engine, {"before": "work", "after": "_appended"}[where])
    return outcome(_here[0], verb, arguments)


def stop_at(line: int, only: str, verb: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Stand still at a line in the middle of a command."""
    return at_line(line, signal.SIGSTOP, only, lambda: outcome(_here[0], verb, arguments))


def stop_in_the_mirrors(verb: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Stand still with the turn at the mirrors in hand."""
    from moot.mirrors.state_cache import MirrorMemory

    _stop_once(MirrorMemory, "write")
    return outcome(_here[0], verb, arguments)


def hurry(seconds: float) -> str:
    """Wait only so long for another's turn at the mirrors."""
    from moot.mirrors import sync

    sync._TURN = seconds
    return "yes"


def _stop_once(owner: type, name: str) -> None:
    real = getattr(owner, name)

    def stopping(*given: Any) -> Any:
        setattr(owner, name, real)
        os.kill(os.getpid(), signal.SIGSTOP)
        return real(*given)

    setattr(owner, name, stopping)


COMMANDS = {
    "enter": enter,
    "leave": leave,
    "run": run,
    "run_and_say_when_it_waits": run_and_say_when_it_waits,
    "race": race,
    "race_init": race_init,
    "stop_inside": stop_inside,
    "stop_at": stop_at,
    "stop_in_the_mirrors": stop_in_the_mirrors,
    "hurry": hurry,
}


def main() -> None:
    for line in sys.stdin:
        command = json.loads(line)
        say(COMMANDS[command.pop("do")](**command))


if __name__ == "__main__":
    main()
