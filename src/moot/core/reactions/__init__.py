"""What follows from what: an event in, commands out, in the same commit. Joins deciders, which never meet.

A reaction is a pure function of what happened and of a `World` it may look at. It yields steps
`(kind, key, command)`; the engine decides each of them like any other command.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from moot.core.deciders.mailbox import Mailbox
    from moot.core.payload import Payload
    from moot.core.record import Record
    from moot.core.task import Task

    Step = tuple[str, str, Record]
    Reaction = Callable[[str, Payload, "World"], Iterator[Step]]


class World(ABC):
    """What a reaction may see: the state as of the events decided so far in this commit."""

    @property
    @abstractmethod
    def at(self) -> str:
        """The time of the commit."""

    @abstractmethod
    def task(self, name: str) -> Task: ...

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
        """The ids of what is not settled in a mailbox."""

    @abstractmethod
    def shown(self, mailbox: str, kinds: Iterable[str]) -> list[tuple[str, str | None]]:
        """What a protocol's mailbox file shows: the ids of its messages, each with its task."""
