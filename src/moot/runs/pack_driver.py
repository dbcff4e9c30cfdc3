"""What a pack adds to drive its agents. `Protocol.driver` names a subclass of `PackDriver`."""

from __future__ import annotations

from abc import ABC, abstractmethod

from moot.core.errors import Refused
from moot.core.task.refusals import to_reopen
from moot.core.text import command_line, option
from moot.runs.steps import DriverStep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import ClassVar

    from moot.api.protocol import Pack
    from moot.core.deciders.run import Run
    from moot.core.lifecycle import Lifecycle
    from moot.core.task import Task
    from moot.runs.driving import Driving
    from moot.views.store import Store


class PackDriver(ABC):
    """The stages of a pack, and the code that drives tasks through them."""

    stages: ClassVar[tuple[str, ...]] = ()  # in order; each is a key of [run.PACK] in moot.toml
    required: ClassVar[tuple[str, ...]] = ()  # those that need a command of their own

    def __init__(self, pack: Pack) -> None:
        self.pack = pack

    @abstractmethod
    def candidates(self, store: Store, besides: tuple[str, ...]) -> list[Task]:
        """The tasks that can be started now, the next one first, except those named in `besides`."""

    @abstractmethod
    def drive(self, driving: Driving) -> Iterator[DriverStep]:
        """Drive tasks until there is none left, or as many as the options want."""

    def opened(self, run: Run, task: Task) -> DriverStep:
        return DriverStep("opened", run.id, task=task.id, attempt=task.attempt, text=task.title)

    def check(self, task: Task, life: Lifecycle | None) -> None:
        """Refuse a task that was named, but cannot be driven."""
        if task.lifecycle.partition("/")[0] != self.pack.name:
            added = command_line("task add", "TITLE", options=option("--lifecycle", self.pack.name))
            raise Refused(
                "other_lifecycle",
                f"{task.id} follows the lifecycle {task.lifecycle}, which {self.pack.name} does not drive.",
                f"Add the task with that lifecycle: `{added}`.",
                task=task.id,
            )
        if task.phase in ("done", "stopped"):
            assert life is not None, "the lifecycle of this pack is active"
            raise Refused(
                "task_over",
                f"{task.id} is {task.state}: there is nothing to drive.",
                f"To try it again: `{to_reopen(life, task)}`.",
                task=task.id,
            )
        if task.waits:
            raise Refused(
                "task_waits",
                f"{task.id} waits for {', '.join(task.waits)}.",
                "Drive those first.",
                task=task.id,
            )
