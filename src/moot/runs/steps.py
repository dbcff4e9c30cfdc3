"""What a driver and its pack exchange: parts that agents are asked for, what came of them, and the steps to show."""

from __future__ import annotations

from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from moot.core.handler import Handler
    from moot.core.identity import Caller


class DriverStep(Record):
    """One thing that happened while driving.

    what: opened, started, waiting, passed, failed, ended, interrupted, summary.
    limit: the maximum number of attempts. outcome: of an ended run (passed, failed, stopped). remedy: how to go on if
    it failed. counts: in the summary, the number of tasks by what became of them.
    """

    what: str
    run: str
    task: str | None = None
    stage: str = ""
    attempt: int = 0
    limit: int = 0
    who: str = ""
    outcome: str = ""
    text: str = ""
    remedy: str = ""
    seconds: float = 0.0
    code: int | None = None
    timed_out: bool = False
    counts: Mapping[str, int] = {}


class DriveOptions(Record):
    """What the caller of `moot run` wants. `most`: how many tasks; `tasks`: only these."""

    most: int | None = None
    tasks: tuple[str, ...] = ()
    keep_going: bool = False
    output: bool = False  # show the output of the commands


class Part(Record):
    """What one agent is asked to do in a stage of a run.

    done: what shows that it is done, in a few words; None if it is not. It reads the log only.
    take: hands in the structured answer in the output, as the agent. Raises `NoAnswer`, or why it is refused.
    """

    stage: str
    role: str
    name: str  # of the agent
    command: Handler
    limit: int  # the number of the last attempt: interrupted ones do not count
    brief: Callable[[], str]
    done: Callable[[], str | None]
    take: Callable[[Caller, str], None]
    begin: Callable[[Caller], None] = lambda _caller: None  # what the agent does first, by moot


class StageResult(Record):
    """How an attempt at a stage ended. `hopeless`: another attempt would end in the same way."""

    passed: bool
    text: str = ""
    timed_out: bool = False
    hopeless: bool = False
