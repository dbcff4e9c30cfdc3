"""Runs the commands of several agents at once, for the one driver of a pack.

Each member is an agent with a run of its own. The one stage of that run is a turn of the member: its command, from the
start to the exit. It is started again for the next turn. The driver's thread does all work on the log: it starts turns,
takes those that have ended, and records how. Each command runs in a thread of its own, which knows no log.

A command holds a lock with the name of its member (`moot.place.locks`), and may outlive its driver. So the next driver
starts no member twice: it adopts the turn, waits until the lock is free, and then what counts is what the log shows,
because exit code and output are lost. A turn that ended together with its driver is found in the same way.

What a member is asked, when it is started again, and what a turn has achieved: only the pack knows.
"""

from __future__ import annotations

import os
import queue
import select
import time
from concurrent.futures import ThreadPoolExecutor  # noqa: TID253 (this module itself is loaded on demand)
from functools import partial

from moot.core.deciders.run import INTERRUPTED, StartStage
from moot.core.errors import Refused, Unavailable
from moot.core.record import Record
from moot.core.timestamps import parse
from moot.place import locks
from moot.runs import commands
from moot.runs.drivers import how_ended, still_runs
from moot.views import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from concurrent.futures import Future
    from typing import Any, Self

    from moot.core.deciders.run import Run, StageTry
    from moot.core.handler import Handler
    from moot.engine.unit_of_work import Work
    from moot.place.processes import Ran
    from moot.runs.drivers import Driving

STAGE = "work"
_MOST = 1000  # threads
_LOOK = 0.2  # seconds between looks: of the driver, and at an adopted turn
_BEAT = 1.0  # seconds between stamps of presence
_MEMBER = "member"  # the parameter of a run with the name of its member


class Turn(Record):
    """What to start.

    who: the name of this start, such as `w1.yeats#2`. own: its variables. hides: variables that it never inherits.
    words: what replaces words of the command.
    """

    command: Handler
    brief: str
    who: str
    incarnation: int  # of the agent in the log
    reason: str = ""
    own: Mapping[str, str] = {}
    hides: tuple[str, ...] = ()
    words: Mapping[str, str] = {}


class Ended(Record):
    """A turn that has ended. `ran` is None if its command could not be started, or if it was adopted.

    how: what was wrong with its end, in words. forced: it was ended after its grace time.
    """

    member: str
    run: Run
    tried: StageTry
    ran: Ran | None = None
    how: str = ""
    forced: bool = False
    adopted: bool = False  # its driver died

    @property
    def output(self) -> str:
        """The end of what it printed; without that, of its errors."""
        both = (self.ran.output, self.ran.errors) if self.ran is not None else ()
        said = (output.tail.decode("utf-8", "replace").strip() for output in both)
        return next(filter(None, said), "")


class _Seat:
    """A turn that is running. It has no lock if an earlier driver started it."""

    def __init__(self, run: Run, lock: locks.CommandLock | None = None) -> None:
        self.member: str = run.parameters[_MEMBER]
        self.run, self.tried, self.lock = run, run.tries[-1], lock
        self.until = float("inf")  # when its grace time is over

    def forced(self) -> bool:
        return time.monotonic() >= self.until


class Crew:
    """The members of one driver. A context: at its end, no command is left."""

    def __init__(self, driving: Driving) -> None:
        self._driving, self._setup = driving, driving.setup
        self._seats: dict[str, _Seat] = {}
        self._ended: queue.SimpleQueue[tuple[str, Future[Any]]] = queue.SimpleQueue()
        self._pool = ThreadPoolExecutor(_MOST)
        self._bell, self._ring = os.pipe()
        os.set_blocking(self._bell, False)
        self._looked = 0.0
        self._known: tuple[int, list[Run]] = (-1, [])
        self.closing = False

    def __enter__(self) -> Self:
        """Adopt the turns of an earlier driver."""
        for run in self.runs():
            if run.running is not None:
                seat = _Seat(run)
                agent, _ = states.agent(self._driving.engine.read(), seat.member)
                self._attend(seat, partial(self._adopted, seat, self._beating(seat.member, agent.incarnation)))
        return self

    def __exit__(self, *_: object) -> None:
        """End all commands, and record it if that is possible."""
        self.closing = True
        self.stop(*self._seats, grace=0.0)
        self._pool.shutdown()
        try:
            for ended in self.ended():
                self.record(ended, INTERRUPTED, "the driver was interrupted")
        except Unavailable:
            pass  # the next driver records it
        finally:
            os.close(self._bell)
            os.close(self._ring)

    # --- members -----------------------------------------------------------------------------------------------------

    def runs(self) -> list[Run]:
        """The open runs of members, oldest first. They are asked for often, so they are kept until the log grows."""
        if (head := self._driving.engine.log.head()) != self._known[0]:
            self._known = head, [run for run in self._driving.open_runs() if _MEMBER in run.parameters]
        return self._known[1]

    def find(self, member: str, task: str | None) -> Run | None:
        """The open run of a member for this task."""
        return next((run for run in self.runs() if (run.parameters[_MEMBER], run.task) == (member, task)), None)

    def run_of(self, member: str, task: str | None, **parameters: Any) -> Run:
        """The same. It is opened if there is none."""
        given = {_MEMBER: member, **parameters}
        return self.find(member, task) or self._driving.open(task, stages=(STAGE,), repeats=True, parameters=given)

    @property
    def running(self) -> tuple[str, ...]:
        return tuple(self._seats)

    def start(self, run: Run, turn: Turn) -> StageTry:
        """Start the next turn of a member. One whose command is not allowed ends at once."""
        setup, command, member = self._setup, turn.command, run.parameters[_MEMBER]
        start = StartStage(STAGE, turn.who, command.run, command.timeout, turn.reason)
        self._driving.do(run.id, start)
        lock = locks.CommandLock(setup.state, member)
        seat = _Seat(self._driving.run(run.id), lock)
        me = {"MOOT_AGENT": member, "MOOT_INCARNATION": str(turn.incarnation), "MOOT_RUN": run.id}
        given = commands.CommandInput(
            brief=turn.brief,
            env={name: value for name, value in setup.env.items() if name not in turn.hides},
            own={**setup.own, **turn.own, **me},
            alive=self._beating(member, turn.incarnation),
            show=setup.show,
            hold=(lock.file,),
            started=lock.started,
            words=turn.words,
            cancel=seat.forced,
            mark=lock.mark,
        )
        try:
            self._attend(seat, partial(commands.run, commands.granted(setup.consent, command), given))
        except Refused as error:
            self._attend(seat, partial(_refused, f"{error.message} {error.remedy}"))
        return seat.tried

    def stop(self, *members: str, grace: float) -> None:
        """Let their turns end by themselves, for so many seconds. Then they are ended, with all that they started."""
        for member in members:
            if (seat := self._seats.get(member)) is not None:
                seat.until = min(seat.until, time.monotonic() + grace)

    # --- turns that have ended ---------------------------------------------------------------------------------------

    def ended(self) -> Iterator[Ended]:
        """The turns that have ended. Each stays in its seat until it is recorded."""
        while not self._ended.empty():
            member, future = self._ended.get()
            seat = self._seats[member]
            ended = Ended(member, seat.run, seat.tried, forced=seat.forced(), adopted=seat.lock is None)
            try:
                ran = future.result()
                how = "" if ran is None else how_ended(ran, seat.tried.timeout)
                yield ended.replace(ran=ran, how=how)
            except commands.CannotStart as error:
                yield ended.replace(how=str(error))

    def record(self, ended: Ended, how: str, reason: str, also: Callable[[Work], object] | None = None) -> None:
        """Record the end of a turn. `how` is what the pack makes of it; `also`: what else the commit stores."""
        end = self._driving.ending(ended.tried, how, reason, ended.ran)
        self._driving.do(ended.run.id, end.replace(crashed=ended.adopted and how == INTERRUPTED), also)
        seat = self._seats.pop(ended.member)
        if seat.lock is not None:
            seat.lock.ended()
        else:
            locks.end_what_is_left(self._setup.state, ended.member)  # its files

    def wait(self, after: int, seconds: float = _BEAT) -> None:
        """Wait until a turn has ended, there is an event past `after`, or the time is over.

        Events alone give at most five looks a second.
        """
        select.select([self._bell], [], [], max(0.0, self._looked + _LOOK - time.monotonic()))
        if self._ended.empty():
            next(self._driving.engine.log.follow(after, seconds, self._bell), None)
        self._looked = time.monotonic()
        try:
            os.read(self._bell, 1 << 16)
        except BlockingIOError:
            pass
        self._driving.beat()

    # --- threads -----------------------------------------------------------------------------------------------------

    def aside(self, work: Callable[[], Any]) -> Future[Any]:
        """Do something else in a thread of its own. Its end also ends `wait`."""
        future = self._pool.submit(work)
        future.add_done_callback(lambda _: os.write(self._ring, b"!"))
        return future

    def _attend(self, seat: _Seat, work: Callable[[], Ran | None]) -> None:
        self._seats[seat.member] = seat

        def tell(future: Future[Any]) -> None:
            self._ended.put((seat.member, future))
            os.write(self._ring, b"!")

        self._pool.submit(work).add_done_callback(tell)

    def _adopted(self, seat: _Seat, beat: Callable[[], None]) -> None:
        """Wait for the end of a turn whose driver died. It is ended at its time limit, or after its grace time."""
        state, clock = self._setup.state, self._driving.engine.clock
        limit = (parse(seat.tried.at) or 0.0) + seat.tried.timeout
        while (group := locks.left_of(state, seat.member)) is not None:
            if seat.forced() or clock.wall_seconds() >= limit:
                if not locks.end_what_is_left(state, seat.member):
                    raise still_runs(self._driving.pack, group)
                return
            beat()
            time.sleep(_LOOK)

    def _beating(self, member: str, incarnation: int) -> Callable[[], None]:
        def beat() -> None:
            try:
                self._setup.presence.stamp(member, incarnation)
            except Unavailable:
                pass  # its lease lasts longer than one beat

        return beat


def _refused(why: str) -> None:
    raise commands.CannotStart(why)
