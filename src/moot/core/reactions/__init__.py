"""Reactions: commands that follow from an event, in the same commit. They connect the deciders.

A reaction is a pure function of an event and a read-only `World`. It yields steps `(kind, key, command)`, and the
engine decides each like any other command. For a message, the key is its thread: the engine chooses the id. A reaction
of a pack may name the pack in a fourth part; the events then carry it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from moot.core.deciders.message import RECIPIENT_LIMIT, SendMessage
from moot.core.task import Moved

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from moot.core.claims import ClaimsState
    from moot.core.deciders.agent import Agent
    from moot.core.deciders.decision import Decision
    from moot.core.deciders.mailbox import Mailbox
    from moot.core.lifecycle import Lifecycle
    from moot.core.payload import Payload
    from moot.core.record import Record
    from moot.core.task import Task

    Step = tuple[str, str, Record] | tuple[str, str, Record, str]
    Reaction = Callable[[str, Payload, "World"], Iterable[Step]]


class World(ABC):
    """What a reaction may see.

    A single state (`task`, `agent`, `message` …) includes the events decided so far in this commit, and its version
    becomes a condition of the append. A list (`held_tasks`, `agents` …) is what was committed before.
    """

    @property
    @abstractmethod
    def at(self) -> str:
        """The time of the commit."""

    @property
    @abstractmethod
    def by(self) -> str:
        """The principal that commits."""

    @abstractmethod
    def task(self, name: str) -> Task: ...

    @abstractmethod
    def task_before(self, name: str) -> Task:
        """The task as it was before this commit."""

    @abstractmethod
    def lifecycle(self, name: str) -> Lifecycle: ...

    @abstractmethod
    def agent(self, name: str) -> Agent: ...

    @abstractmethod
    def agents(self) -> list[Agent]:
        """All agents, including those that have left."""

    @abstractmethod
    def has_account(self, login: str) -> bool:
        """Whether this machine has such an account."""

    @abstractmethod
    def agent_name(self, key: str) -> str:
        """The name as the agent writes it, for the key of its stream."""

    @abstractmethod
    def mailbox(self, name: str, ids: Iterable[str]) -> Mailbox: ...

    @abstractmethod
    def dependents(self, task: str) -> list[str]:
        """The tasks that wait for `task`."""

    @abstractmethod
    def tasks_held_by(self, principal: str) -> list[str]: ...

    @abstractmethod
    def open_mail(self, mailbox: str) -> list[str]:
        """The ids of the unsettled messages in a mailbox."""

    @abstractmethod
    def shown(self, mailbox: str, kinds: Iterable[str]) -> list[tuple[str, str | None, int]]:
        """The content of a protocol's mailbox file: the ids of its messages, each with its task and attempt."""

    @abstractmethod
    def state(self, kind: str, key: str) -> Any:
        """The state of an entity of this kind (see `moot.core.kind`)."""

    @abstractmethod
    def claims(self) -> ClaimsState: ...

    @abstractmethod
    def held_tasks(self) -> list[str]:
        """The tasks that somebody holds."""

    @abstractmethod
    def standing_decisions(self) -> list[Decision]:
        """The standing decisions, except those of this commit."""

    @abstractmethod
    def told(self, thread: str) -> set[str]:
        """The mailboxes, in lower case, that received a message of this thread."""

    @abstractmethod
    def mailbox_of(self, principal: str) -> str | None:
        """The mailbox of this principal or agent name; None if nobody would ever read it."""


def notice(
    world: World,
    kind: str,
    to: Iterable[str],
    sender: str,
    text: str,
    *,
    thread: str,
    task: str | None = None,
) -> Iterator[Step]:
    """Send a notice. `to` are principals or agent names; the thread is the id of the subject.

    No size limit is checked: the text was limited when it was recorded.
    """
    boxes: dict[str, str] = {}
    for principal in to:
        box = world.mailbox_of(principal)
        if box is not None:
            boxes.setdefault(box.lower(), box)
    names = tuple(boxes.values())
    for start in range(0, len(names), RECIPIENT_LIMIT):
        some = names[start : start + RECIPIENT_LIMIT]
        command = SendMessage(kind=kind, sender=sender, to=some, wants="nothing", size=0, limit=0, text=text, task=task)
        yield "message", thread, command


_NOUNS = frozenset(("artifact", "dependency", "decision", "checkpoint"))
_CHANGED = frozenset(("task:edited", "task:noted", "task:assigned", "task:unassigned"))
_ENDED = ("done", "stopped")  # phases
_TYPES = _CHANGED | {"task:started", "file:claimed", "file:overridden"}


def later(key: str, happened: Payload, world: World) -> Iterable[Step]:
    """Reactions to rarer events, imported on first use."""
    name = happened.type
    noun = name.partition(":")[0]
    if noun in _NOUNS or name in _TYPES or (isinstance(happened, Moved) and _matters(key, happened, world)):
        return _later(noun, name, key, happened, world)
    return ()


def _matters(key: str, moved: Moved, world: World) -> bool:
    return moved.phase in _ENDED or moved.verb == "release" or _in_review(key, moved, world)


def _later(noun: str, name: str, key: str, happened: Payload, world: World) -> Iterator[Step]:
    match noun:
        case "artifact" | "dependency":
            from moot.core.reactions.needs import artifacts

            yield from artifacts(key, happened, world)
        case "decision":
            from moot.core.reactions.decisions import decisions

            yield from decisions(key, happened, world)
        case "checkpoint":
            from moot.core.reactions.needs import checkpoints

            yield from checkpoints(key, happened, world)
        case "task" if name in _CHANGED:
            from moot.core.reactions.reviews import changed_tasks

            yield from changed_tasks(key, happened, world)
        case "file" if name == "file:overridden":
            from moot.core.reactions.reviews import overrides

            yield from overrides(happened, world)
        case _:
            if name in _TYPES and world.standing_decisions():
                from moot.core.reactions.decisions import reminders

                yield from reminders(key, happened, world)
            if isinstance(happened, Moved) and _in_review(key, happened, world):
                from moot.core.reactions.reviews import reviews

                yield from reviews(key, happened, world)
            if isinstance(happened, Moved) and (happened.phase in _ENDED or happened.verb == "release"):
                from moot.core.reactions.reviews import lost_tasks

                yield from lost_tasks(key, happened, world)
            if isinstance(happened, Moved) and happened.phase in _ENDED:
                from moot.core.reactions.releases import ended_tasks

                yield from ended_tasks(key, happened, world)
            if isinstance(happened, Moved) and name == "task:started":
                from moot.core.reactions.releases import taken_over_tasks

                yield from taken_over_tasks(key, happened, world)


def _in_review(key: str, moved: Moved, world: World) -> bool:
    """Whether the task was in review before the move, or is now."""
    return moved.phase == "review" or world.lifecycle(world.task(key).lifecycle).in_review(moved.source)
