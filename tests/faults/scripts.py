"""What a workspace does with its disk, as short scripts: the first start, a day's work, a rebuild, a backup.

Each says what was acknowledged as it goes. They are run where the disk fails at each of their operations.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import apsw

from moot.logs.sqlite import file
from moot.wiring.admin import Admin
from tests.faults import disk
from tests.faults.worker import ENV, entered

if TYPE_CHECKING:
    from moot.api.call import Call

Say = Callable[[list[Any]], None]
FOLDER = ".moot"  # there is no git here: the state is where everybody can see it
_FEW = 6  # pages: checkpoints belong to the day's work


def state(root: str) -> str:
    return os.path.join(root, FOLDER)


@contextmanager
def session(root: str, agent: str | None = None, incarnation: int = 1) -> Iterator[Call]:
    opened = entered(root, agent, incarnation if agent else None)
    try:
        yield opened
    finally:
        opened.engine.store.close()
        opened.engine.log.close()


def does(here: Call, say: Say, verb: str, **arguments: Any) -> Any:
    """One command; then what is acknowledged: where the log ends, and by which commit."""
    answer = here.run(verb, arguments)
    if answer.after is not None:
        answer.after()
    head = here.engine.log.head()
    if head:
        say([head, here.engine.log.read(head - 1, 1)[0].commit])
    return answer.result


def prepare(root: str, script: str) -> None:
    """What was there before."""
    os.makedirs(root)
    if script == "start":
        return
    Admin(root, ENV).create(())
    for name in ("Ada", "Bob"):
        with session(root) as here:
            here.run("join", {"name": name})
    with session(root, "Ada") as here:
        for number in range(3):
            here.run("task add", {"title": f"Task {number}", "no_review": True})
            here.run("send", {"to": ["Bob"], "text": f"Message {number}"})
    with session(root) as here:
        here.run("backup", {"file": copy(root)})
    if script == "repair":
        damage(root)


def damage(root: str) -> None:
    """What a log may be after a bad day: no database any more, beside a journal that would be taken for whole."""
    path, kept = os.path.join(state(root), file.NAME), b""
    with session(root, "Ada") as here:
        here.run("send", {"to": ["Bob"], "text": "Not in the backup."})
        with open(f"{path}-wal", "rb") as journal:
            kept = journal.read()
    with open(path, "r+b") as log, open(f"{path}-wal", "wb") as journal:
        log.write(b"a bad day" * 20)
        journal.write(kept)


def start(root: str, say: Say) -> None:
    """The first one who comes makes the workspace."""
    Admin(root, ENV).create(())
    with session(root) as here:
        does(here, say, "join", name="Ada")
        does(here, say, "join", name="Bob")
    with session(root, "Ada") as here:
        does(here, say, "send", to=["Bob"], text="Hello.")


def work(root: str, say: Say) -> None:
    """Mail, tasks and claims by two agents, with checkpoints in between."""
    with session(root, "Ada") as here:
        does(here, say, "send", to=["Bob"], text="A letter.")
        task = does(here, say, "task add", title="A task", no_review=True).id
        does(here, say, "task claim", task=task)
        does(here, say, "claim", paths=["src/**", "README.md"])
        does(here, say, "send", to=["Bob"], type="request", text="x" * 30_000)
    with session(root, "Bob") as here:
        letters = does(here, say, "inbox")
        asked = next(letter.id for letter in (*letters.new, *letters.waiting) if letter.wants == "answer")
        does(here, say, "reply", id=asked, text="An answer.")
    with session(root, "Ada") as here:
        does(here, say, "task complete", task=task)
        does(here, say, "release", all=True)


def rebuild(root: str, say: Say) -> None:
    """All views anew."""
    with session(root, "Ada") as here:
        does(here, say, "verify", rebuild=True)
        does(here, say, "send", to=["Bob"], text="After the rebuild.")


def backup(root: str, say: Say) -> None:
    """A copy of the log, over one that is there, and work goes on."""
    with session(root) as here:
        does(here, say, "backup", file=copy(root), force=True)
    with session(root, "Ada") as here:
        does(here, say, "send", to=["Bob"], text="After the backup.")


def restore(root: str, say: Say) -> None:
    """The copy takes the place of the log. It has everything, so nothing acknowledged may be missing."""
    Admin(root, ENV).restore(copy(root), force=True)
    with session(root, "Ada") as here:
        does(here, say, "send", to=["Bob"], text="After the backup was put back.")


def repair(root: str, say: Say) -> None:
    """The same where the log is damaged."""
    Admin(root, ENV).restore(copy(root), force=False)
    with session(root, "Ada") as here:
        does(here, say, "send", to=["Bob"], text="After the log was repaired.")


def copy(root: str) -> str:
    return os.path.join(root, "copy.db")


SCRIPTS: dict[str, Callable[[str, Say], None]] = {
    "start": start,
    "work": work,
    "rebuild": rebuild,
    "backup": backup,
    "restore": restore,
    "repair": repair,
}


def checkpoint_often(connection: apsw.Connection) -> None:
    connection.wal_autocheckpoint(_FEW)


def play(mouth: int, root: str, script: str, die_at: int = 0, torn: bool = False) -> None:
    """A script by a process that dies at one operation of its disk. Says each acknowledgement, and their number."""
    os.write(mouth, b".")
    watcher = disk.Dying(die_at, torn=torn)
    vfs = disk.Disk(watcher)
    file.flush = vfs.flush
    apsw.connection_hooks.append(checkpoint_often)

    def say(what: Any) -> None:
        os.write(mouth, json.dumps(what).encode() + b"\n")

    SCRIPTS[script](root, say)
    say(watcher.count)
