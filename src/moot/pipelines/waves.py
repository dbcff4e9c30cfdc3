"""Runs many targets as one: wave after wave, several at once within a wave, up to a limit.

The parent run keeps the plan: which targets are in which wave. A wave starts when all targets of the wave before have
finished, and the pack's gate agrees. If a target fails, no other one starts, unless the caller wants to keep going;
those that are running go on to their end. Each target runs in a thread with a call of its own.
"""

from __future__ import annotations

import os
import queue
import threading  # noqa: TID253 (this module itself is loaded on demand)
from contextlib import ExitStack

from moot.core.deciders.run import FAILED, INTERRUPTED, PASSED, STOPPED, EndRun, OpenRun, ResumeRun
from moot.core.errors import MootError, Refused
from moot.pipelines.recording import new_id
from moot.pipelines.running import run_target
from moot.pipelines.seats import settle_dead
from moot.place.locks import Driver
from moot.place.processes import interruptible
from moot.runs.steps import INTERRUPTION, PipelineStep
from moot.views import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from moot.api.call import Call
    from moot.core.run import Run
    from moot.pipelines.contract import Pipeline, Target
    from moot.runs.steps import RunOptions

    Gate = Callable[[Call, int, Sequence[PipelineStep]], str]  # after a wave: why not to go on; empty to go on

_ROUND = 0.2  # seconds between looks whether a thread has died
_REASON = 2000


def waves_of(targets: Sequence[Target]) -> list[list[Target]]:
    """The targets by wave, in ascending order."""
    numbers = sorted({target.wave for target in targets})
    return [[target for target in targets if target.wave == number] for number in numbers]


def run_targets(
    call: Call,
    pipeline: Pipeline,
    targets: Sequence[Target],
    options: RunOptions,
    gate: Gate | None = None,
    title: str = "",
    parameters: dict[str, Any] | None = None,
) -> Iterator[PipelineStep]:
    """Run the targets as one run with waves. The last step is `ended`, of the parent, with counts by outcome.

    With `options.parent`, that run is resumed: each of its targets goes on where it was. A signal that asks to stop
    ends the commands of all threads, too.
    """
    call.lasting = True
    with interruptible(), Driver.of(call.place.state) as driver:
        settle_dead(call)
        parent = _opened(call, pipeline, targets, options, driver, title, parameters or {})
        many = _Waves(call, pipeline, options.replace(parent=parent, resume=bool(options.parent) or options.resume))
        yield PipelineStep("opened", parent, title=title, text=f"{len(targets)} targets")
        outcome, reason, at = INTERRUPTED, INTERRUPTION, ""
        try:
            outcome, reason, at = yield from many.all(waves_of(targets), gate)
        finally:
            counts = dict(many.counts)
            end = EndRun(outcome, reason=reason[:_REASON], at=at, counts=counts, warnings=many.warnings)
            call.commit(lambda work: work.do("run", parent, end, pack=pipeline.pack.name))
        run: Run = states.state(call.engine.read(), "run", parent)[0]
        yield PipelineStep("ended", parent, title=title, text=run.ending, outcome=outcome, counts=counts)


def _opened(
    call: Call,
    pipeline: Pipeline,
    targets: Sequence[Target],
    options: RunOptions,
    driver: Driver,
    title: str,
    parameters: dict[str, Any],
) -> str:
    by: dict[str, Any] = {"pid": os.getpid(), "driver": driver.token}
    pack, name = pipeline.pack.name, options.parent or ""
    if not targets:
        raise Refused("no_targets", "There is nothing to run.", "Name at least one file.")
    waves = tuple(tuple(target.id for target in wave) for wave in waves_of(targets))

    def act(work: Any) -> None:
        nonlocal name
        if options.parent:
            work.do("run", name, ResumeRun(**by), pack=pack)
        else:
            name = new_id(work)
            opening = OpenRun(pack=pack, waves=waves, title=title, parameters=parameters, **by)
            work.do("run", name, opening, pack=pack)

    call.commit(act)
    return name


class _Waves:
    """The targets of one parent run, while they run."""

    def __init__(self, call: Call, pipeline: Pipeline, options: RunOptions) -> None:
        self._call, self._pipeline, self._options = call, pipeline, options
        self._told: queue.Queue[PipelineStep | BaseException | None] = queue.Queue()
        self._cancelled = threading.Event()
        self._failed = threading.Event()
        self._turn = threading.Lock()  # held from the choice of a target until its first stage has begun, or waits
        self.counts: dict[str, int] = {}
        self.warnings = 0

    def all(self, waves: Sequence[Sequence[Target]], gate: Gate | None) -> Any:
        """Yields steps, and returns the outcome, the reason, and the wave where it stopped."""
        for wave in waves:
            ended = yield from self._wave(wave)
            at = f"wave {wave[0].wave}"
            bad = [step for step in ended if step.outcome != PASSED]
            if bad and not self._options.keep_going:
                stopped = all(step.outcome == STOPPED for step in bad)
                return (STOPPED if stopped else FAILED), f"{bad[0].title}: {bad[0].text}", at
            why = gate(self._call, wave[0].wave, ended) if gate is not None else ""
            if why:
                return STOPPED, why, at
        return (FAILED if set(self.counts) - {PASSED} else PASSED), "", ""

    def _wave(self, wave: Sequence[Target]) -> Any:
        """Run the targets of a wave, in order, as many at once as the limit allows."""
        waiting: queue.Queue[Target] = queue.Queue()
        for target in wave:
            waiting.put(target)
        many = max(1, min(self._options.limit, len(wave)))
        threads = [threading.Thread(target=self._worked, args=(waiting,), daemon=True) for _ in range(many)]
        ended: list[PipelineStep] = []
        left = len(threads)
        try:
            for thread in threads:
                thread.start()
            while left:
                told = self._next()
                if told is None:
                    left -= 1
                elif isinstance(told, BaseException):
                    raise told
                else:
                    yield told
                    if told.what == "ended":
                        ended.append(told)
                        self.counts[told.outcome] = self.counts.get(told.outcome, 0) + 1
                    elif told.what in ("passed", "skipped", "reused"):
                        self.warnings += len(told.warnings)
        finally:
            if left:
                self._cancelled.set()
            for thread in threads:
                thread.join()
        return ended

    def _next(self) -> PipelineStep | BaseException | None:
        """The next thing that a thread tells. Waits in short rounds, so that an interrupt is noticed."""
        while True:
            try:
                return self._told.get(timeout=_ROUND)
            except queue.Empty:
                continue

    def _worked(self, waiting: queue.Queue[Target]) -> None:
        try:
            while not self._cancelled.is_set() and (self._options.keep_going or not self._failed.is_set()):
                with ExitStack() as turn:
                    turn.enter_context(self._turn)
                    try:
                        target = waiting.get_nowait()
                    except queue.Empty:
                        break
                    self._one(target, turn.close)
        except BaseException as error:  # raised again in the thread that waits
            self._told.put(error)
        self._told.put(None)

    def _one(self, target: Target, begun: Callable[[], None]) -> None:
        """Run one target with a call of its own. One that cannot begin counts as failed.

        `begun` is called when the next one may begin, so that they begin in order.
        """
        call = self._call
        with call.workspace.call(call.caller, call.cwd) as own:
            own.output = call.output
            own.login  # noqa: B018 (looked up now, because a decision must not)
            try:
                for step in run_target(own, self._pipeline, target, self._options, self._cancelled.is_set):
                    self._told.put(step)
                    if step.what not in ("opened", "ready"):
                        begun()
                    if step.what == "ended" and step.outcome != PASSED:
                        self._failed.set()
            except KeyboardInterrupt:
                self._told.put(PipelineStep("ended", "", target.id, title=target.said, outcome=INTERRUPTED))
            except MootError as error:
                self._failed.set()
                about: dict[str, Any] = {"title": target.said, "wave": target.wave, "suggestion": error.remedy}
                self._told.put(PipelineStep("ended", "", target.id, text=error.message, outcome=FAILED, **about))
