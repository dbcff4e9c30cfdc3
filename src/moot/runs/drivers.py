"""Drives agents for a pack: starts the command of a stage, watches it, and records what came of it.

How a part is judged, for every pack: **what counts is in the log.** After the command has ended, the protocol's files
are absorbed. If the log then shows that the part is done, by a file or a moot command, the stage has passed; the exit
code and the output no longer matter. Otherwise the structured answer in its output is handed in for it, under the
agent's name and under all rules, and the log is asked again. If it still is not done, the attempt has failed, and the
next attempt is told why. The output of a command that was ended (time limit, signal) is incomplete, so it is no answer.

Only the pack knows the stages, what an agent is asked, and what shows that a part is done: `Part`.
"""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod

from moot.core.deciders.agent import DRIVEN
from moot.core.deciders.run import FAILED, INTERRUPTED, PASSED, STOPPED, EndRun, EndStage, OpenRun, StartStage
from moot.core.errors import Held, MootError, Refused, Unavailable
from moot.core.identity import Caller
from moot.core.record import Record
from moot.core.text import age, command_line
from moot.core.timestamps import parse
from moot.place import locks
from moot.runs import commands
from moot.runs.answers import NoAnswer
from moot.runs.consent import not_allowed
from moot.runs.record import new_id, printed
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
    from typing import Any, ClassVar, Self

    from moot.core.deciders.run import Run, StageTry
    from moot.core.handler import Handler
    from moot.core.task import Task
    from moot.engine.engine import Engine
    from moot.engine.presence import Presence
    from moot.engine.unit_of_work import Work
    from moot.place.processes import Ran
    from moot.runs.consent import Consent, PinnedHandler
    from moot.views.store import Store

_SYNC = 2.0  # seconds between looks at the protocol's files while a command runs
_PATIENCE = 0.5  # seconds; other commands hold the lock for an instant, to find out whether a driver lives
_LOOK = 0.25  # seconds between looks whether an orphaned command has ended
_REASON = 2000  # characters


class DriverStep(Record):
    """One thing that happened while driving.

    what: opened, started, waiting, passed, failed, ended, interrupted, report, summary.
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
    """What the caller of `moot run` wants. `most`: how many tasks; `tasks`: only these.

    parallel: how many agents at once; 0: all.
    """

    most: int | None = None
    tasks: tuple[str, ...] = ()
    keep_going: bool = False
    parallel: int | None = None
    sequential: bool = False
    wave: int | None = None


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
    hopeless: bool = False


class DriverSetup(Record):
    """The parts of a call that a driver works with.

    own: variables that each command gets. commands: those of the pack, by stage. as_agent: runs a verb as an agent,
    and returns its answer. show: gets the output of commands as it comes.
    """

    pack: str
    state: str
    engine: Engine
    env: Mapping[str, str]
    own: Mapping[str, str]
    commands: Mapping[str, Handler]
    consent: Consent
    presence: Presence
    commit: Callable[[Callable[[Work], None]], object]
    sync: Callable[[], object]
    stamp: Callable[[], object]
    put_blob: Callable[[bytes], str]
    progress: Callable[[str, int, int], object]
    as_agent: Callable[..., Any]
    show: Callable[[bytes], object] | None = None


class PackDriver(ABC):
    """What a pack adds to drive its agents: its stages, and the code that takes tasks through them.

    `Protocol.driver` names a function, or a subclass, that makes one of a call and the pack.
    """

    stages: ClassVar[tuple[str, ...]] = ()  # in order; each is a key of [run.PACK] in moot.toml. None: any key
    required: ClassVar[tuple[str, ...]] = ()  # those that need a command of their own
    options: ClassVar[tuple[str, ...]] = ("most", "tasks", "keep_going")  # the fields of `DriveOptions` that it takes

    def __init__(self, name: str) -> None:
        self.name = name  # of the pack

    @abstractmethod
    def candidates(self, store: Store, besides: tuple[str, ...]) -> list[Task]:
        """The tasks that can be started now, the next one first, except those named in `besides`."""

    @abstractmethod
    def drive(self, driving: Driving) -> Iterator[DriverStep]:
        """Drive tasks until there is none left, or as many as the options want."""

    def summary(self, counts: Mapping[str, int]) -> str:
        """The last line of a driver that has ended. `counts`: tasks by what became of them."""
        words = {"completed": "completed", "rejected": "rejected", "failed": "failed", "stopped": "left to others"}
        said = ", ".join(f"{counts[key]} {word}" for key, word in words.items() if counts.get(key))
        return f"Tasks: {said}." if said else "No task is pending."


class Driving:
    """The one driver of a pack. Use it as a context: it holds the lock, and its own run records that it runs."""

    def __init__(self, setup: DriverSetup, options: DriveOptions) -> None:
        self.setup, self.options, self.pack = setup, options, setup.pack
        self.engine, self.as_agent = setup.engine, setup.as_agent
        self.counts: dict[str, int] = {}
        self._agents: dict[str, Caller] = {}
        self.id = ""  # of its own run
        self._lock: locks.Lock | None = None
        self._synced = 0.0

    def __enter__(self) -> Self:
        self._lock = self._locked()
        for run in self.open_runs():
            if not run.stages:  # the lock is ours, so its driver is dead
                self.do(run.id, EndRun(outcome=STOPPED, reason="its process ended without recording it"))
        self.id = self.open().id
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        try:
            if not isinstance(error, Unavailable):
                how = PASSED if error is None else FAILED if isinstance(error, Exception) else STOPPED
                self.do(self.id, EndRun(outcome=how, reason=_why(error), counts=dict(self.counts)))
                self._leave()
        finally:
            assert self._lock is not None
            self._lock.release()

    def _locked(self) -> locks.Lock:
        path = locks.path_of(self.setup.state, locks.DRIVERS, self.pack)
        lock = locks.take(path, str(os.getpid()), patience=_PATIENCE)
        if lock is not None:
            return lock
        process = locks.note_of(path)
        which = f" (process {process})" if process else ""
        raise Held(
            "already_driven",
            f"Another `{command_line('run', self.pack)}` drives this workspace{which}.",
            f"Let it finish, or stop it: `kill {process}`." if process else "Let it finish, or stop it.",
            pack=self.pack,
            process=int(process) if process.isdigit() else None,
        )

    # --- runs --------------------------------------------------------------------------------------------------------

    def open_runs(self) -> list[Run]:
        """The runs of this pack that have not ended, oldest first."""
        return [run for run in queries.things(self.engine.read(), "run") if run.pack == self.pack]

    def run(self, name: str) -> Run:
        found: Run = states.state(self.engine.read(), "run", name)[0]
        return found

    def open(self, task: str | None = None, attempt: int = 0, stages: Sequence[str] = (), **more: Any) -> Run:
        """Open a run with stages, or the driver's own."""
        name = ""
        more |= {"parent": self.id} if stages else {"pid": os.getpid()}

        def act(work: Any) -> None:
            nonlocal name
            name = new_id(work)
            command = OpenRun(pack=self.pack, stages=tuple(stages), task=task, attempt=attempt, **more)
            work.do("run", name, command, pack=self.pack)

        self.setup.commit(act)
        return self.run(name)

    def end(self, run: Run, outcome: str, text: str, count: str, remedy: str = "") -> DriverStep:
        """End a run, and count it."""
        self.do(run.id, EndRun(outcome=outcome, reason=text[:_REASON]))
        self.counts[count] = self.counts.get(count, 0) + 1
        about: dict[str, Any] = {"task": run.task, "attempt": run.attempt, "outcome": outcome}
        return DriverStep("ended", run.id, **about, text=text, remedy=remedy)

    def do(self, run: str, command: Any, also: Callable[[Work], object] | None = None) -> None:
        """Commit a command about a run, and perhaps more."""

        def act(work: Work) -> None:
            work.do("run", run, command, pack=self.pack)
            if also is not None:
                also(work)

        self.setup.commit(act)

    # --- after a crash -----------------------------------------------------------------------------------------------

    def wait_for_orphan(self) -> Iterator[DriverStep]:
        """Wait for a command whose driver was killed: it may still do its part. At most until its time limit."""
        state = self.setup.state
        while (group := locks.left_of(state, self.pack)) is not None:
            run, last = next(((run, run.running) for run in self.open_runs() if run.running), (None, None))
            left = 0.0 if last is None else (parse(last.at) or 0.0) + last.timeout - self.engine.clock.wall_seconds()
            if run is None or last is None or left <= 0:
                raise still_runs(self.pack, group)
            yield DriverStep("waiting", run.id, run.task, last.stage, last.attempt, who=last.who, seconds=round(left))
            until = time.monotonic() + min(left, 60.0)
            while locks.left_of(state, self.pack) is not None and time.monotonic() < until:
                time.sleep(_LOOK)
        self.sync()

    def settle(self, run: Run, part_done: str | None) -> Run:
        """Record the end of a stage whose driver died: it passed if its part is done."""
        if (last := run.running) is not None:
            how = PASSED if part_done else INTERRUPTED
            reason = part_done or "its driver ended without recording the end of the command"
            end = EndStage(how=how, stage=last.stage, attempt=last.attempt, reason=reason, crashed=not part_done)
            self.do(run.id, end)
        return self.run(run.id)

    # --- agents ------------------------------------------------------------------------------------------------------

    def acting(self, name: str, role: str) -> Caller:
        """The agent of this name, joined in its role. One that an earlier driver joined is continued."""
        if name not in self._agents:
            self._agents[name] = self._joined(name, role)
        return self._agents[name]

    def _joined(self, wanted: str, role: str) -> Caller:
        """Join under the wanted name, or, if somebody else has it, under one with a number."""
        store = self.engine.read()
        for number in range(1, 100):
            name = wanted if number == 1 else f"{wanted}-{number}"
            known, _ = states.agent(store, name)
            ours = known.here and known.client == DRIVEN
            if known.retired or (known.here and not ours):
                continue
            caller = Caller(agent=name, incarnation=known.incarnation if ours else None, why="--agent")
            member = self.as_agent(caller, "join", name=name, role=(role,), client=DRIVEN).result
            return caller.replace(agent=member.name, incarnation=member.incarnation)
        raise Refused(
            "no_name_left", f"All names like {wanted} are in use.", "Let one of those agents leave.", name=wanted
        )

    def _leave(self) -> None:
        """The agents leave, except one that still holds a task: the next driver continues with it."""
        for agent in self._agents.values():
            if not queries.tasks_held_by(self.engine.read(), _principal(agent)):
                try:
                    self.as_agent(agent, "leave")
                except MootError:
                    pass  # it was replaced, or has left by itself

    # --- one attempt -------------------------------------------------------------------------------------------------

    def perform(self, run: Run, part: Part) -> Generator[DriverStep, None, StageResult]:
        """Run the command of a part once, and judge what came of it."""
        pinned = self.setup.consent.granted(part.command)
        if pinned is None:
            raise not_allowed(self.setup.consent, [part.command])
        try:
            caller = self.acting(part.name, part.role)
            part.begin(caller)
        except Unavailable:
            raise
        except MootError as error:  # somebody else has taken it
            return StageResult(passed=False, text=f"{error.message} {error.remedy}", hopeless=True)
        brief, held, who = part.brief(), self._held(), _principal(caller)
        start = StartStage(stage=part.stage, who=who, command=part.command.run, timeout=part.command.timeout)
        self.do(run.id, start)
        last = self.run(run.id).tries[-1]
        about: dict[str, Any] = {"run": run.id, "task": run.task, "stage": part.stage, "attempt": last.attempt}
        about |= {"who": who, "limit": part.limit}
        lock, ran = locks.CommandLock(self.setup.state, self.pack), None
        try:
            yield DriverStep("started", **about, text=" ".join(part.command.run), seconds=part.command.timeout)
            try:
                ran = self._ran(run, last, part, pinned, caller, brief, lock)
                result = self._judged(part, caller, ran, held)
            except commands.CannotStart as error:
                result = StageResult(passed=False, text=str(error), hopeless=True)
            how = PASSED if result.passed else FAILED
            self.do(run.id, self.ending(last, how, result.text, ran))
        except Unavailable:
            raise  # nothing can be recorded now; the next driver does
        except BaseException:
            self.do(run.id, EndStage(part.stage, last.attempt, "the driver was interrupted", how=INTERRUPTED))
            raise
        finally:
            lock.ended()
        took: dict[str, Any] = (
            {} if ran is None else {"seconds": ran.seconds, "code": ran.code, "timed_out": ran.timed_out}
        )
        yield DriverStep(PASSED if result.passed else FAILED, **about, text=result.text, **took)
        return result

    def _ran(
        self,
        run: Run,
        last: StageTry,
        part: Part,
        pinned: PinnedHandler,
        caller: Caller,
        brief: str,
        lock: locks.CommandLock,
    ) -> Ran:
        setup, begun = self.setup, time.monotonic()
        label = f"{run.task}: {part.stage}, attempt {last.attempt} of {part.limit}"

        def alive() -> None:
            setup.progress(label, int(time.monotonic() - begun), -1)
            self.beat()

        me = {"MOOT_AGENT": str(caller.agent), "MOOT_INCARNATION": str(caller.incarnation), "MOOT_RUN": run.id}
        given = commands.CommandInput(
            brief=brief,
            env=setup.env,
            own={**setup.own, **me},
            alive=alive,
            show=setup.show,
            hold=(lock.file,),
            started=lock.started,
            mark=lock.mark,
        )
        try:
            return commands.run(pinned, given)
        finally:
            setup.progress(label, 1, 1)

    def _judged(self, part: Part, caller: Caller, ran: Ran, held: Mapping[str, object]) -> StageResult:
        """Whether the part is done now. See the module."""
        self.sync()
        how = how_ended(ran, part.command.timeout)
        done = part.done()
        if done is not None:
            return StageResult(passed=True, text=f"{done}{f' ({how})' if how else ''}")
        wrong = [f"moot held {path} back: {why}" for name, (path, why) in self._held().items() if name not in held]
        if ran.timed_out or ran.signal:
            why = f"its part is not done{'; its output is incomplete and does not count' if ran.output.size else ''}"
        else:
            try:
                part.take(caller, ran.output.tail.decode("utf-8", "replace"))
                done = part.done()
                why = "its answer was accepted, but its part is not done"
            except NoAnswer as error:
                why = str(error)
            except Unavailable:
                raise
            except MootError as error:
                why = f"its answer was refused: {error.message} {error.remedy}"
        if done is not None:
            return StageResult(passed=True, text=f"{done}{f' ({how})' if how else ''}")
        said = "; ".join([*([how] if how else []), why, *wrong])
        return StageResult(passed=False, text=said[:_REASON])

    def ending(self, last: StageTry, how: str, reason: str, ran: Ran | None) -> EndStage:
        """The end of an attempt, with the end of what its command wrote."""
        more = {"seconds": ran.seconds, **printed(self.setup, ran)} if ran is not None else {}
        return EndStage(last.stage, last.attempt, reason[:_REASON], how=how, **more)

    def _held(self) -> dict[str, tuple[str, str]]:
        """The entries of files that are held back: path and reason by id."""
        return {one.id: (one.path, one.reason) for one in queries.held_entries(self.engine.read())}

    def beat(self) -> None:
        """What is done about every second while commands run."""
        try:
            for agent in self._agents.values():  # also those that wait for another one
                self.setup.presence.stamp(str(agent.agent), agent.incarnation or 0)
            self.setup.stamp()
            if time.monotonic() - self._synced >= _SYNC:
                self.sync()
        except Unavailable:
            pass  # the commands go on; what cannot be stored is stored later

    def sync(self) -> None:
        """Absorb what was written into the protocol's files."""
        self.setup.sync()
        self._synced = time.monotonic()


def _principal(caller: Caller) -> str:
    return f"{caller.agent}#{caller.incarnation}"


def still_runs(pack: str, group: int) -> Held:
    """The error for a command of a dead driver that does not end. `group`: its process group; 0 if that is unknown."""
    return Held(
        "agent_still_runs",
        f"A command that an earlier `{command_line('run', pack)}` started still runs, past its time "
        f"limit{f' (process group {group})' if group else ''}.",
        f"End it: `kill -KILL -- -{group}`. Then run this again." if group else "End it, then run this again.",
        process=group or None,
    )


def how_ended(ran: Ran, timeout: float) -> str:
    """How a command ended, if not as it should."""
    if ran.timed_out:
        how = f"it was ended after {age(timeout)}"
    elif ran.signal:
        how = f"it was killed by signal {ran.signal}"
    else:
        how = f"its exit code was {ran.code}" if ran.code else ""
    left = "the processes that it left behind were ended" if ran.left else ""
    return ", ".join(filter(None, (how, left)))


def _why(error: BaseException | None) -> str:
    if error is None:
        return ""
    return error.message[:_REASON] if isinstance(error, MootError) else "interrupted"
