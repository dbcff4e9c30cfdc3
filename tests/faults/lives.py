"""What the short-lived do until they are killed. Each gets a pipe for its signs of life: the first when it is up.

What they were told is written down in a journal before they go on. Whoever comes after them repeats the command that
has no answer there, with its key, and goes on from where they were.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from moot.wiring.admin import Admin
from tests.faults import scripts
from tests.faults.lines import at_line
from tests.faults.worker import ENV, entered, outcome

if TYPE_CHECKING:
    from moot.api.call import Call

UP = b"."


class Journal:
    """One line per command that is about to be given, and one per answer. Survives its writer."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.begun: dict[int, tuple[str, dict[str, Any]]] = {}
        self.done: dict[int, dict[str, Any]] = {}
        for line in self._lines():
            match line:
                case ["begin", number, verb, arguments]:
                    self.begun[number] = (verb, arguments)
                case ["done", number, said]:
                    self.done[number] = said

    def _lines(self) -> list[list[Any]]:
        try:
            with open(self._path, "rb") as file:
                whole = file.read()
        except FileNotFoundError:
            return []
        if not whole.endswith(b"\n"):
            self._write(b"\n")  # a kill cut the last line
            whole = whole[: whole.rfind(b"\n") + 1]
        return [json.loads(line) for line in whole.splitlines() if line.endswith(b"]")]

    def _write(self, line: bytes) -> None:
        file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.write(file, line)
        os.close(file)

    def begin(self, number: int, verb: str, arguments: dict[str, Any]) -> None:
        self.begun[number] = (verb, arguments)
        self._write(json.dumps(["begin", number, verb, arguments]).encode() + b"\n")

    def end(self, number: int, said: dict[str, Any]) -> None:
        self.done[number] = said
        self._write(json.dumps(["done", number, said]).encode() + b"\n")

    @property
    def in_flight(self) -> list[int]:
        return [number for number in self.begun if number not in self.done]

    @property
    def next(self) -> int:
        return max(self.begun, default=-1) + 1


def carry_out(session: Call, journal: Journal, number: int) -> None:
    """Give a command that was begun; the same one again if its answer never came."""
    verb, arguments = journal.begun[number]
    said = outcome(session, verb, arguments)
    if "error" in said:
        raise AssertionError(f"{verb} {arguments} was refused: {said}")
    journal.end(number, said)


def work_on(mouth: int, path: str, where: dict[str, Any], plan: str, last: bool = False) -> None:
    """Repeat what was in flight, then one command after the other; the `last` life ends after the former."""
    keeper = os.getppid()
    journal = Journal(path)
    session = entered(**where)
    os.write(mouth, UP)
    for number in journal.in_flight:
        carry_out(session, journal, number)
        os.write(mouth, UP)
    while not last and os.getppid() == keeper:
        number = journal.next
        verb, arguments = PLANS[plan](session, journal, number)
        journal.begin(number, verb, {**arguments, "key": f"k{number}"})
        carry_out(session, journal, number)
        os.write(mouth, UP)


def once(
    mouth: int, where: dict[str, Any], verb: str, arguments: dict[str, Any], die_at: int = 0, only: str = ""
) -> None:
    """One command, by a process that kills itself at a line. Says the answer."""
    os.write(mouth, UP)
    said = at_line(die_at, signal.SIGKILL, only, lambda: outcome(entered(**where), verb, arguments))
    os.write(mouth, json.dumps(said).encode())


def make(mouth: int, cwd: str, packs: list[str], die_at: int = 0, only: str = "") -> None:
    """The same for making a workspace."""
    os.write(mouth, UP)
    said = at_line(die_at, signal.SIGKILL, only, lambda: Admin(cwd, ENV).create(tuple(packs)).full())
    os.write(mouth, json.dumps(said).encode())


def put_back(mouth: int, cwd: str, backup: str, die_at: int = 0, only: str = "") -> None:
    """The same for putting a backup in place of the log."""
    os.write(mouth, UP)
    said = at_line(die_at, signal.SIGKILL, only, lambda: Admin(cwd, ENV).restore(backup, force=True).full())
    os.write(mouth, json.dumps(said).encode())


# --- plans: the next command of a life --------------------------------------------------------------------------


def everything(session: Call, journal: Journal, number: int) -> tuple[str, dict[str, Any]]:
    """Nine commands in a circle: mail, tasks that depend on each other, claims, a question and an answer."""
    me = str(session.caller.agent)
    other = f"Agent-{(int(me[-1]) + 1) % 4}"
    mark = f"{me} {number}"
    first = number - number % 9
    match number % 9:
        case 0:
            return "send", {"to": [other], "text": mark}
        case 1:
            return "task add", {"title": mark, "no_review": True}
        case 2:
            return "task add", {"title": mark, "no_review": True, "needs": [_task(journal, first + 1)]}
        case 3:
            return "task claim", {"task": _task(journal, first + 1)}
        case 4:
            return "claim", {"paths": [f"src/{me}/{number}.py", f"doc/{me}/{number}/**"], "reason": mark}
        case 5:
            return "task complete", {"task": _task(journal, first + 1), "reason": mark}
        case 6:
            return "release", {"all": True, "reason": mark}
        case 7:
            return "send", {"to": [other], "type": "request", "text": mark}
        case _:
            inbox = session.run("inbox", {"peek": True}).result
            asked = next((item.id for item in (*inbox.new, *inbox.waiting) if item.wants == "answer"), None)
            return ("reply", {"id": asked, "text": mark}) if asked else ("send", {"to": [other], "text": mark})


def _task(journal: Journal, number: int) -> str:
    return str(journal.done[number]["result"]["id"])


def assignments(session: Call, journal: Journal, number: int) -> tuple[str, dict[str, Any]]:
    """Tasks for the developer, as the team lead sends them."""
    mark = f"{os.path.basename(session.cwd)} {number}"
    data = {
        "taskId": f"sent-{mark.replace(' ', '-')}",
        "platform": "web",
        "title": mark,
        "instructions": f"Build {mark}.",
        "filesToCreate": ["src/new.ts"],
        "architecture": "MVVM",
        "timestamp": "2031-01-01T00:00:00.000Z",
    }
    return "send", {"type": "task_assignment", "data": data}


def reports(session: Call, journal: Journal, number: int) -> tuple[str, dict[str, Any]]:
    """What the developer sends back: a report for each task."""
    mark = f"{session.caller.agent} {number}"
    data = {
        "taskId": f"for-{session.caller.agent}-{number}",
        "platform": "web",
        "status": "awaiting_review",
        "summary": mark,
        "filesCreated": [],
        "filesModified": ["src/new.ts"],
        "buildResult": {"status": "success", "command": "make", "errors": 0},
        "timestamp": "2031-01-01T00:00:00.000Z",
    }
    return "send", {"type": "completion_report", "data": data}


def blackboard(session: Call, journal: Journal, number: int) -> tuple[str, dict[str, Any]]:
    """Events of a blackboard: some of them change other files, too."""
    name = os.path.basename(session.cwd)
    mark = f"{name} {number}"
    if number % 2:
        return "emit", {"type": "build:finished", "data": {"mark": mark}}
    data = {"agent": name, "plan": "01-01" if name == "repo" else "01-02", "task": number + 1, "mark": mark}
    return "emit", {"type": "task:completed", "data": data}


WORK: dict[str, Callable[..., None]] = {
    "work_on": work_on,
    "once": once,
    "make": make,
    "put_back": put_back,
    "play": scripts.play,
}
PLANS: dict[str, Callable[[Call, Journal, int], tuple[str, dict[str, Any]]]] = {
    "everything": everything,
    "assignments": assignments,
    "reports": reports,
    "blackboard": blackboard,
}
