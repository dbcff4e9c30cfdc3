"""What a pack is: a protocol as data, plus a `Protocol` for the few things that data cannot say.

`Packs` are the active ones of a workspace. Which packs exist, and where, is known to `moot.wiring` alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from moot.api.answer import Answer
from moot.core.deciders.message import WANTS
from moot.core.errors import Refused, Unknown, Usage
from moot.core.lifecycle import Edge, Lifecycle, State
from moot.core.record import Record
from moot.core.text import command_line, option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from moot.api.answer import Notice
    from moot.api.session import Session
    from moot.core.principal import Actor
    from moot.core.reactions import Reaction
    from moot.core.task import Task
    from moot.engine.work import Work


class Mirrors(ABC):
    """The protocol files of the active packs. `moot.mirrors` has the real ones."""

    @abstractmethod
    def sync(self) -> tuple[Notice, ...]:
        """Absorb what others wrote, render what the log says. Never waits long."""

    def kept(self) -> list[str]:
        """Files that were replaced and are kept for some seconds, in case that somebody still writes into one."""
        return []


class Role(Record):
    name: str
    title: str
    does: str
    delivery: str  # each (every member gets its own), one (a mailbox of the role; the first to acknowledge takes it)


class MessageType(Record):
    name: str
    pack: str
    sender: str  # the role that sends it,
    also: tuple[str, ...]  # and who may do so without having joined in that role
    to: str  # the role that gets it
    schema: dict[str, Any]
    order: tuple[str, ...] = ()
    wants: str = "nothing"
    stamp: str | None = None
    task: str | None = None
    paths: tuple[str, ...] = ()

    @property
    def mailbox(self) -> str:
        return f"@{self.to}"


class MirrorSpec(Record):
    name: str
    pack: str
    path: str
    form: str
    mailbox: str
    types: tuple[str, ...]


class Pack(Record):
    name: str
    title: str
    roles: tuple[Role, ...] = ()
    messages: tuple[MessageType, ...] = ()
    mirrors: tuple[MirrorSpec, ...] = ()
    lifecycle: Lifecycle | None = None
    message_limit: int = 0
    events: tuple[str, ...] = ()  # types of free events that are commands of this pack


class Submission(Record):
    """A typed message on its way in: from a caller, or (`source`) from a file."""

    spec: MessageType
    data: dict[str, Any]
    id: str
    sender: Actor
    limit: int
    roots: tuple[str, ...]  # of the worktrees, to make paths relative
    now: float
    ttl: float = 0.0  # of a task that the message makes
    source: str | None = None


class Emission(Record):
    """A free event on its way in whose type a pack has made a command of its own."""

    type: str
    data: dict[str, Any]
    sender: Actor
    limit: int
    thread: str | None = None


class Protocol(ABC):
    """The computations of a pack. They decide through `Work` and touch nothing else."""

    @abstractmethod
    def accept(self, work: Work, submission: Submission) -> None:
        """Check a message, with the task it speaks of, and let it happen. Raises what is wrong with it."""

    @abstractmethod
    def same(self, spec: MessageType, data: Mapping[str, Any], roots: Sequence[str]) -> str:
        """A text that is equal for equal messages, however they were written down."""

    @abstractmethod
    def render(self, spec: MessageType, data: Mapping[str, Any]) -> dict[str, Any]:
        """The message as the protocol writes it."""

    @abstractmethod
    def check_move(self, work: Work, task: Task, verb: str, reason: str | None) -> tuple[str, ...]:
        """Flags that a move of one of its tasks gets; raises if it needs more than was given."""

    @property
    @abstractmethod
    def reactions(self) -> tuple[Reaction, ...]: ...

    def happen(self, work: Work, emission: Emission) -> None:
        """Let happen what an event means that the pack binds (`events` in its pack.toml). Raises what is wrong."""
        raise NotImplementedError(f"the pack binds {emission.type} and does nothing with it")


class Packs:
    """The active packs."""

    def __init__(self, packs: Sequence[Pack] = (), protocol: Callable[[str], Protocol] | None = None) -> None:
        self.packs = tuple(packs)
        self._protocol = protocol
        self.shared_roles = frozenset(r.name for p in packs for r in p.roles if r.delivery == "one")

    def protocol(self, pack: str) -> Protocol:
        assert self._protocol is not None, "there are no packs"
        return self._protocol(pack)

    @property
    def mirrors(self) -> tuple[MirrorSpec, ...]:
        return tuple(mirror for pack in self.packs for mirror in pack.mirrors)

    def lifecycles(self) -> dict[str, Lifecycle]:
        return {pack.name: pack.lifecycle for pack in self.packs if pack.lifecycle is not None}

    def reactions(self) -> tuple[Reaction, ...]:
        return tuple(reaction for pack in self.packs for reaction in self.protocol(pack.name).reactions)

    def find(self, kind: str) -> MessageType | None:
        return next((spec for pack in self.packs for spec in pack.messages if spec.name == kind), None)

    def binding(self, kind: str) -> str | None:
        """The pack that has made this type of event its own."""
        return next((pack.name for pack in self.packs if kind in pack.events), None)

    def limit(self, pack: str, setting: int) -> int:
        return max(setting, *(p.message_limit for p in self.packs if p.name == pack))

    def check_move(self, work: Work, task: Task, verb: str, reason: str | None) -> tuple[str, ...]:
        if not any(pack.name == task.lifecycle for pack in self.packs):
            return ()
        return self.protocol(task.lifecycle).check_move(work, task, verb, reason)

    def send(
        self, session: Session, kind: str, to: tuple[str, ...], data: Any, text: str | None, *, dry_run: bool
    ) -> Answer:
        """A typed message from a surface."""
        from moot.api.verbs.mail import stored
        from moot.engine.place import worktrees

        spec = self.find(kind)
        if spec is None:
            raise self.unknown_type(kind)
        if not isinstance(data, dict) or text is not None:
            raise Usage(
                "bad_json",
                f"A {kind} is a JSON object given by --data, without another text.",
                f"For example: {command_line('send', options=option('--type', kind))} --data @message.json",
            )
        if any(address != spec.mailbox for address in to):
            raise Refused(
                "wrong_mailbox",
                f"A {kind} goes to {spec.mailbox} and nobody else.",
                "Leave the recipient out.",
                mailbox=spec.mailbox,
            )
        roots = tuple(tree.root for tree in worktrees(session.place))

        def act(work: Work) -> None:
            submission = Submission(
                spec=spec,
                data={"type": kind, **data},
                id=work.new_message(),
                sender=session.actor(work),
                limit=self.limit(spec.pack, session.settings.message_limit),
                roots=roots,
                now=session.clock.wall_seconds(),
                ttl=session.settings.task_ttl,
            )
            self.protocol(spec.pack).accept(work, submission)

        if dry_run:
            return session.try_out(act)
        outcome = session.commit(act)
        if not outcome.events:
            return self._there_already(session, spec, data, roots)
        answer = stored(outcome)
        for flag in answer.result.flags:
            session.warn(*(part.strip() for part in flag.split(":", 1)))
        return answer

    def _there_already(
        self, session: Session, spec: MessageType, data: Mapping[str, Any], roots: Sequence[str]
    ) -> Answer:
        """The answer to a message that is equal to one before it, and so changed nothing."""
        from moot.api.verbs.mail import Receipt
        from moot.views import look

        def text(said: Mapping[str, Any]) -> str:
            return self.protocol(spec.pack).same(spec, {k: v for k, v in said.items() if k != spec.stamp}, roots)

        task = str(data.get(spec.task or ""))
        sent = look.messages_of_task(session.engine.read(), task, kind=spec.name)
        found = next((m for m in reversed(sent) if text(m.data or {}) == text(data)), sent[-1])
        receipt = Receipt(id=found.id, thread=found.thread, to=found.to, position=found.position, repeated=True)
        return Answer(result=receipt, say=(f"{found.id} says the same already; nothing changed.",))

    def unknown_type(self, kind: str) -> Unknown:
        typed = [spec.name for pack in self.packs for spec in pack.messages]
        known = ", ".join([*(k for k in WANTS if k != "reply"), *typed])
        return Unknown(
            "unknown_type", f"{kind!r} is no message type here.", f"Known: {known}.", known=known.split(", ")
        )


def pack_of(data: Mapping[str, Any], schemas: Mapping[str, dict[str, Any]], size: Callable[[Any], int]) -> Pack:
    """A pack from its parsed `pack.toml` and the message schemas it names."""
    name = data["name"]
    return Pack(
        name=name,
        title=data["title"],
        roles=tuple(
            Role(name=role, title=r["title"], does=r["does"], delivery=r["delivery"])
            for role, r in data.get("roles", {}).items()
        ),
        messages=tuple(
            MessageType(
                name=kind,
                pack=name,
                sender=m["from"],
                also=tuple(data["roles"][m["from"]].get("also", ())),
                to=m["to"],
                schema=schemas[m["schema"]],
                order=tuple(m.get("order", ())),
                wants=m.get("wants", "nothing"),
                stamp=m.get("stamp"),
                task=m.get("task"),
                paths=tuple(m.get("paths", ())),
            )
            for kind, m in data.get("messages", {}).items()
        ),
        mirrors=tuple(
            MirrorSpec(name=mirror, pack=name, **{**m, "types": tuple(m["types"])})
            for mirror, m in data.get("mirrors", {}).items()
        ),
        lifecycle=_lifecycle(name, data["lifecycle"]) if "lifecycle" in data else None,
        message_limit=size(data.get("limits", {}).get("message", 0)),
        events=tuple(data.get("events", ())),
    )


def _lifecycle(name: str, data: Mapping[str, Any]) -> Lifecycle:
    edges = (
        Edge(
            verb=e["verb"],
            source=e["from"],
            target=e["to"],
            who=tuple(e["who"]),
            needs=tuple(e.get("needs", ())),
            attempt=e.get("attempt", 0),
            takes=e.get("takes", False),
            explicit=e.get("explicit", False),
        )
        for e in data["edges"]
    )
    return Lifecycle(
        name=name,
        states=tuple(State(name=state, phase=s["phase"]) for state, s in data["states"].items()),
        edges=tuple(edges),
        silence=data.get("silence", "return"),
        attempts=data.get("attempts", 3),
        exhausted=data.get("exhausted"),
    )
