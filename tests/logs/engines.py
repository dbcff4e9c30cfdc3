"""The engines that the shared suite runs on: where a log is, and how anybody opens another handle on it.

An engine is a plain value, so that it can be handed to another process.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from moot.logs.sqlite import SqliteLog

if TYPE_CHECKING:
    from moot.log import Log


class Engine(Protocol):
    """One log, somewhere."""

    def create(self) -> None: ...
    def open(self) -> Log: ...


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
