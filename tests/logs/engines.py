"""The engines that the shared suite runs on: where a log is, and how anybody opens another handle on it.

The engine of files is a plain value, so that it can be handed to another process.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from moot.logs.sqlite import SqliteLog
from moot.testing.memory_log import MemoryLog, MemoryLogs
from tests.logs.processes import Worker, WorkerThread

if TYPE_CHECKING:
    from moot.log import Log


class Engine(Protocol):
    """One log, somewhere."""

    def create(self) -> None: ...
    def open(self) -> Log: ...
    def worker(self, role: str, **arguments: Any) -> Worker | WorkerThread: ...


@dataclass(frozen=True)
class SqliteEngine:
    """The log in a directory."""

    directory: str
    exclusive: bool = True
    lock_timeout: float = 30.0

    def create(self) -> None:
        SqliteLog.create(self.directory)

    def open(self) -> SqliteLog:
        return SqliteLog(self.directory, exclusive=self.exclusive, lock_timeout=self.lock_timeout)

    def worker(self, role: str, **arguments: Any) -> Worker:
        """Another process that plays a role."""
        return Worker(self, role, **arguments)


class MemoryEngine:
    """A log in the memory of this process."""

    def __init__(self, *, exclusive: bool = True) -> None:
        self._logs, self._exclusive = MemoryLogs(), exclusive

    def create(self) -> None:
        """Nothing: it is there when it is opened."""

    def open(self) -> MemoryLog:
        return self._logs("here", exclusive=self._exclusive)

    def worker(self, role: str, **arguments: Any) -> WorkerThread:
        """A thread that plays a role: this log is in one process."""
        return WorkerThread(self, role, **arguments)
