"""Engines on a log with real views, and the commands that tests give them.

The log is in memory, unless a test is marked `on_disk` or pytest is run with `--log=sqlite`.

A `Machine` is what one computer has: a handle on the log, which others may share, and views of its own. A `Command`
is what a verb of the catalogue would let happen, without the catalogue; run twice, it asks for the same thing twice.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from moot import wiring
from moot.core import principal
from moot.core.claims import ClaimFiles, ReleaseFiles
from moot.core.deciders.agent import Join, Leave
from moot.core.deciders.graph import Link, Unlink
from moot.core.deciders.mailbox import Ack, AnswerMessage, Offer
from moot.core.deciders.message import SendMessage
from moot.core.event import Event, Key
from moot.core.lifecycle import CORE
from moot.core.principal import Actor
from moot.core.reactions import later
from moot.core.reactions.releases import departures, dependencies
from moot.core.task import AddTask, BlockTask, MoveTask, ReadyTask, Task
from moot.engine.clock import Clock
from moot.engine.engine import Engine, Outcome
from moot.engine.unit_of_work import Work
from moot.engine.verify import Report, verify
from moot.logs.sqlite import SqliteLog
from moot.views import states
from moot.views.store import Store
from tests.core.lifecycles import ORCHESTRATOR

ANNA = "person:anna"
NOON = "2030-01-01T12:00:00.000Z"
TABLES = ("entity", "task", "thing", "edge", "message", "delivery", "unread", "mailbox", "read_mark", "effect")

Act = Callable[[Work], None]


@dataclass(frozen=True)
class Command:
    """Who wants what."""

    name: str
    by: str
    act: Act
    incarnation: int | None = None

    def principal(self, work: Work) -> str:
        return actor(work, self.by, self.incarnation).principal

    def __repr__(self) -> str:
        return self.name


class Machine:
    """See the module."""

    def __init__(self, log: str | Path, views: str | Path, *, exclusive: bool = True) -> None:
        self.directory, self.views = str(log), str(views)
        if wiring.open_log is SqliteLog:
            SqliteLog.create(self.directory)
        os.makedirs(self.views, exist_ok=True)
        self.engine = Engine(
            wiring.open_log(self.directory, exclusive=exclusive),
            Store(self.views),
            Clock(),
            {"core": CORE, "orchestrator": ORCHESTRATOR, "flagging": CORE.replace(name="flagging", silence="flag")},
            (dependencies, departures, later),
        )

    @property
    def log(self) -> Any:
        return self.engine.log

    @property
    def store(self) -> Store:
        return self.engine.store

    def run(self, command: Command, key: Callable[[str], Key] | None = None) -> Outcome:
        return self.engine.commit(command.principal, command.act, key)

    def does(self, *commands: Command) -> list[Event]:
        """Run them one after the other; all their events."""
        return [event for command in commands for event in self.run(command).events]

    def events(self, kind: str | None = None) -> list[Event]:
        return [event for event in self.log.read(0, 10_000) if kind in (None, event.type)]

    def task(self, name: str) -> Task:
        return states.task(self.engine.read(), name)[0]

    def rows(self) -> dict[str, list[Any]]:
        """All rows of all views, caught up."""
        return rows_of(self.engine.read())

    def verify(self) -> Report:
        return verify(self.engine, self.views)

    def again(self) -> Machine:
        """The same place, opened once more, as by another process."""
        return Machine(self.directory, self.views)

    def close(self) -> None:
        self.log.close()
        self.store.close()


def rows_of(store: Store) -> dict[str, list[Any]]:
    """All rows, and how far they go; where that is written depends on how they came."""
    return {"standing": [store.standing()], **{table: list(store.all_rows(table)) for table in TABLES}}


def together(*commands: Command) -> Command:
    """All of them in one commit, by the first one's caller."""

    def act(work: Work) -> None:
        for command in commands:
            command.act(work)

    return replace(commands[0], name=f"{len(commands)} commands", act=act)


def actor(work: Work, who: str, incarnation: int | None = None) -> Actor:
    return Actor(who) if ":" in who else work.actor(who, incarnation)


def key(name: str, digest: str = "d") -> Callable[[str], Key]:
    """A caller's key, scoped by principal as the session scopes it."""
    return lambda who: Key(scope=principal.name_of(who), name=name, digest=digest)


def interrupted(command: Command, meanwhile: Callable[[], Any]) -> Command:
    """The same, but when it has decided and not yet appended, something else happens first; once."""
    left = [meanwhile]

    def act(work: Work) -> None:
        command.act(work)
        if left:
            left.pop()()

    return replace(command, name=f"{command.name} (interrupted)", act=act)


# Agents


def join(name: str, *, roles: tuple[str, ...] = (), **fields: Any) -> Command:
    return Command(f"join {name}", ANNA, lambda work: work.do("agent", name, Join(roles=roles, **fields)))


def leave(name: str, *, retire: bool = False) -> Command:
    return Command(f"leave {name}", ANNA, lambda work: work.do("agent", name, Leave(retire=retire)))


# Tasks


def add(name: str, *, needs: tuple[str, ...] = (), lifecycle: str = "core", by: str = ANNA, **fields: Any) -> Command:
    def act(work: Work) -> None:
        waits = tuple(need for need in needs if work.known_task(need).phase != "done")
        command = AddTask(title=name, creator=by, needs=needs, waits=waits, lifecycle=lifecycle, **fields)
        work.do("task", name, command)
        if needs:
            work.do("graph", "", Link(task=name, needs=needs))

    return Command(f"add {name}", by, act)


def link(task: str, *needs: str) -> Command:
    def act(work: Work) -> None:
        waits = tuple(need for need in needs if work.known_task(need).phase != "done")
        work.known_task(task)
        work.do("graph", "", Link(task=task, needs=needs))
        work.do("task", task, BlockTask(on=waits))

    return Command(f"link {task} {needs}", ANNA, act)


def unlink(task: str, *needs: str) -> Command:
    def act(work: Work) -> None:
        work.known_task(task)
        work.do("graph", "", Unlink(task=task, needs=needs))
        for need in needs:
            work.do("task", task, ReadyTask(done=need))

    return Command(f"unlink {task} {needs}", ANNA, act)


def move(verb: str, task: str, by: str = "Yeats", *, incarnation: int | None = None, **fields: Any) -> Command:
    def act(work: Work) -> None:
        who = actor(work, by, incarnation)
        work.do("task", task, MoveTask(verb=verb, actor=who, **{"reason": "because", **fields}))

    return Command(f"{verb} {task} by {by}", by, act, incarnation)


def finish(task: str, by: str = "Yeats") -> list[Command]:
    """From open to done, for a task that needs no review."""
    return [move("claim", task, by), move("complete", task, by)]


# Mail


def send(name: str, *to: str, wants: str = "answer", text: str = "hello", by: str = ANNA, **fields: Any) -> Command:
    def act(work: Work) -> None:
        sender = actor(work, by).principal
        command = SendMessage(
            kind="note", sender=sender, to=to, wants=wants, text=text, **{"size": 5, "limit": 100, **fields}
        )
        work.do("message", name, command)

    return Command(f"send {name}", by, act)


def offer(mailbox: str, *ids: str, to: str = "Yeats#1") -> Command:
    return Command(f"offer {ids}", ANNA, lambda work: work.do("mailbox", mailbox, Offer(ids=ids, to=to)))


def ack(mailbox: str, *ids: str, who: str = "Yeats#1", at: str = NOON) -> Command:
    return Command(f"ack {ids} by {who}", ANNA, lambda work: work.do("mailbox", mailbox, Ack(ids=ids, who=who, at=at)))


def answer(mailbox: str, name: str, *, reply: str, who: str = "Yeats#1") -> Command:
    def act(work: Work) -> None:
        work.do("mailbox", mailbox, AnswerMessage(id=name, reply=reply, who=who))

    return Command(f"answer {name} by {who}", ANNA, act)


# Files


def claim_files(name: str, holder: str, *paths: str, mode: str = "exclusive") -> Command:
    command = ClaimFiles(id=name, holder=holder, paths=paths, mode=mode, ttl=60)
    return Command(f"claim {paths} for {holder}", ANNA, lambda work: work.do("claims", "", command))


def release_files(holder: str, *paths: str) -> Command:
    command = ReleaseFiles(holder=holder, paths=paths)
    return Command(f"release {paths} by {holder}", ANNA, lambda work: work.do("claims", "", command))


def types(events: Iterable[Event]) -> list[str]:
    return [event.type for event in events]
