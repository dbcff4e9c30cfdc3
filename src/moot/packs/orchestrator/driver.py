"""`moot run orchestrator`: takes pending tasks, and lets commands of agents assign, build and review them.

    stage       role         command in [run.orchestrator]   its part is done when the log shows
    lead        team-lead    lead                            an assignment for this attempt
    developer   developer    developer                       a report: the task is in review
    review      team-lead    review, or else lead            a verdict: the task is completed or rejected

`_Play.stage` is the one place that decides where a task stands. It reads the log only: how an assignment, a report or a
verdict got there (a file, a moot command, the output of the agent) does not matter, nor how the command exited. But a
verdict that came before the review began is reported: the command of the developer may have given it.

A task that is rejected in review is tried again at once, until it is completed or its attempts are used up. If a
command does not do its part within its own attempts, the task stays in its state and the driver stops, because the next
task would usually fail in the same way; `--keep-going` takes the next one.
"""

from __future__ import annotations

import json
import os

from moot.api.protocol.briefs import brief_of
from moot.core.deciders.run import FAILED, PASSED, STOPPED
from moot.core.errors import MootError, Unavailable
from moot.core.principal import name_of
from moot.core.schema import defects
from moot.core.task.refusals import to_reopen
from moot.core.text import command_line, option
from moot.packs.orchestrator import asking, driver_status
from moot.runs.answers import NoAnswer, json_answer
from moot.runs.drivers import DriverStep, PackDriver, Part
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping
    from typing import Any

    from moot.api.call import Call
    from moot.api.protocol import Pack
    from moot.core.deciders.message import Message
    from moot.core.deciders.run import Run
    from moot.core.identity import Caller
    from moot.core.task import Task
    from moot.runs.drivers import Driving
    from moot.views.store import Store

LEAD, DEVELOPER, REVIEW = STAGES = ("lead", "developer", "review")
_ROLES = {LEAD: "team-lead", DEVELOPER: "developer", REVIEW: "team-lead"}
_NAMES = {LEAD: "Lead", DEVELOPER: "Developer", REVIEW: "Reviewer"}
_ASSIGNMENT, _REPORT = "task_assignment", "completion_report"
_MOST = 1000  # ready tasks to look at


class OrchestratorDriver(PackDriver):
    """See the module."""

    stages = STAGES
    required = (LEAD, DEVELOPER)

    def __init__(self, call: Call, pack: Pack) -> None:
        super().__init__(pack.name)
        self.call, self.pack = call, pack

    def candidates(self, store: Store, besides: tuple[str, ...]) -> list[Task]:
        ready = queries.ready(store, _MOST, besides)
        return [task for task in ready if task.lifecycle == self.name and not task.assigned]

    def drive(self, driving: Driving) -> Iterator[DriverStep]:
        driver_status.started(self.call)
        try:
            yield from _Play(self, driving).steps()
        finally:
            driver_status.cycle(self.call, driving.counts)
            driver_status.stopped(self.call)


class _Play:
    def __init__(self, driver: OrchestratorDriver, driving: Driving) -> None:
        self.driver, self.driving, self.call = driver, driving, driver.call
        own = driving.setup.commands
        self.commands = {REVIEW: own[LEAD], **own}
        self.names = {**_NAMES, REVIEW: _NAMES[REVIEW if REVIEW in own else LEAD]}
        with open(os.path.join(os.path.dirname(__file__), "verdict.json"), encoding="utf-8") as file:
            self.verdict: dict[str, Any] = json.load(file)
        self.handled: list[str] = []
        self.reviewed: dict[str, str] = {}  # the report that the reviewer of a task got: a verdict is about that one

    # --- tasks -------------------------------------------------------------------------------------------------------

    def steps(self) -> Iterator[DriverStep]:
        """Drive tasks until none is left: first those that an earlier driver left, then pending ones."""
        options = self.driving.options
        yield from self.driving.wait_for_orphan()
        left = [run for run in self.driving.open_runs() if run.task is not None]
        for run in left:
            wanted = not options.tasks or run.task in options.tasks
            resumed = self.driving.settle(run, self._done(run, run.running.stage) if run.running else None)
            if wanted and self._may_go_on() and not (yield from self._task(str(run.task), resumed)):
                return
        while self._may_go_on() and (task := self._next()) is not None:
            if not (yield from self._task(task, None)):
                return

    def _may_go_on(self) -> bool:
        most = self.driving.options.most
        return most is None or len(self.handled) < most

    def _next(self) -> str | None:
        wanted = self.driving.options.tasks
        if wanted:
            return next((name for name in wanted if name not in self.handled), None)
        found = self.driver.candidates(self.call.engine.read(), tuple(self.handled))
        return found[0].id if found else None

    def _task(self, name: str, run: Run | None) -> Generator[DriverStep, None, bool]:
        """Drive a task to its end, over all its attempts. Returns whether to take another one."""
        self.handled.append(name)
        while True:
            if run is None:
                task = self._state(name)
                run = self.driving.open(name, task.attempt, STAGES)
                yield DriverStep("opened", run.id, task=task.id, attempt=task.attempt, text=task.title)
            outcome = yield from self._attempt(run)
            if outcome != "again":
                return outcome != "failed" or self.driving.options.keep_going
            run = None

    def _attempt(self, run: Run) -> Generator[DriverStep, None, str]:
        """Drive one attempt of a task through its stages: completed, again, rejected, failed or stopped."""
        driving = self.driving
        while (stage := self.stage(run)) is not None:
            if why := (yield from self._work(run, stage)):
                go_on = command_line(f"run {driving.pack}", options=option("--task", str(run.task)))
                said = f"{stage} did not do its part: {why.rstrip('.')}."
                yield driving.end(run, FAILED, said, "failed", f"To go on with it: `{go_on}`.")
                return "failed"
        task = self._state(str(run.task))
        if task.verdict is not None and not self._was_reviewed(run):
            verdict = task.verdict
            again = to_reopen(self.call.engine.lifecycles[task.lifecycle], task)
            said = f"{name_of(verdict.by)} decided with `{verdict.verb}` before the review"
            yield driving.end(run, FAILED, said, "failed", f"If that was not you, try it again: `{again}`.")
            return "failed"
        if task.attempt != run.attempt or task.phase not in ("done", "stopped"):
            yield driving.end(run, STOPPED, "somebody else has reset the task", "stopped")
            return "stopped"
        if task.phase == "done":
            yield driving.end(run, PASSED, "completed", "completed")
            return "completed"
        return (yield from self._rejected(run, task))

    def _rejected(self, run: Run, task: Task) -> Generator[DriverStep, None, str]:
        """Reset a task that was rejected in review, before the run ends: so a crash in between loses no retry."""
        reason = (task.setbacks[-1].reason if task.setbacks else None) or "no reason"
        said = f"rejected: {reason.strip().rstrip('.')}."
        if self._was_reviewed(run):
            try:
                lead = self.driving.acting(self.names[LEAD], _ROLES[LEAD])
                self.driving.as_agent(lead, "task reopen", task=task.id)
            except Unavailable:
                raise
            except MootError as error:
                said = f"{said} It is not tried again: {error.message}"
            else:
                yield self.driving.end(run, FAILED, f"{said} Trying again", "retried")
                return "again"
        yield self.driving.end(run, FAILED, said, "rejected")
        return "rejected"

    def _was_reviewed(self, run: Run) -> bool:
        return any(one.stage == REVIEW for one in self.driving.run(run.id).tries)

    # --- stages ------------------------------------------------------------------------------------------------------

    def stage(self, run: Run) -> str | None:
        """The stage that the task of this run is in, as the log shows it; None if the attempt is over."""
        task = self._state(str(run.task))
        if task.attempt != run.attempt:
            return None
        match task.phase:
            case "open":
                return LEAD
            case "working":
                return DEVELOPER if self._messages(task, _ASSIGNMENT) else LEAD
            case "review":
                return REVIEW
            case _:
                return None

    def _done(self, run: Run, stage: str) -> str | None:
        """What shows that the part of this stage is done; None if it is not."""
        now = self.stage(run)
        if now is not None and STAGES.index(now) <= STAGES.index(stage):
            return None
        task = self._state(str(run.task))
        sent = self._messages(task, _ASSIGNMENT if stage == LEAD else _REPORT)
        if stage == REVIEW or not sent or task.attempt != run.attempt:
            return str(task.state)
        return f"{sent[-1].kind} {sent[-1].id}"

    def _work(self, run: Run, stage: str) -> Generator[DriverStep, None, str]:
        """Run the command of a stage until it has done its part. Returns why it has not; empty if it has."""
        command = self.commands[stage]
        while True:
            tries = self.driving.run(run.id).tries_of(stage)
            counted = [one for one in tries if one.status == FAILED or one.crashed]
            trouble = counted[-1].reason if counted else ""
            if len(counted) >= command.attempts:
                return trouble
            limit = command.attempts + len(tries) - len(counted)
            result = yield from self.driving.perform(run, self._part(run, stage, limit, trouble))
            if result.passed:
                return ""
            if result.hopeless:
                return result.text

    def _part(self, run: Run, stage: str, limit: int, trouble: str) -> Part:
        return Part(
            stage=stage,
            role=_ROLES[stage],
            name=self.names[stage],
            command=self.commands[stage],
            limit=limit,
            brief=lambda: self._brief(run, stage, trouble),
            done=lambda: self._done(run, stage),
            take=lambda caller, output: self._take(run, stage, caller, output),
            begin=lambda caller: self._begin(run, stage, caller),
        )

    def _begin(self, run: Run, stage: str, caller: Caller) -> None:
        """The lead starts the task. The others take the message that they are about to get."""
        task = self._state(str(run.task))
        if stage == LEAD:
            if task.phase == "open":
                self.driving.as_agent(caller, "task claim", task=task.id)
            return
        sent = self._messages(task, _ASSIGNMENT if stage == DEVELOPER else _REPORT)
        self.driving.as_agent(caller, "ack", ids=tuple(message.id for message in sent))

    def _brief(self, run: Run, stage: str, trouble: str) -> str:
        task, pack = self._state(str(run.task)), self.driver.pack
        role = pack.role(_ROLES[stage])
        assert role is not None, "the roles of this pack are its own"
        brief = brief_of(self.call.packs, pack, role).text
        assignments, reports = self._messages(task, _ASSIGNMENT), self._messages(task, _REPORT)
        if stage == LEAD:
            return asking.lead(brief, task, trouble)
        if stage == DEVELOPER:
            return asking.developer(brief, task, assignments[-1], trouble)
        lead = self.driving.acting(self.names[stage], _ROLES[stage])
        shown = self.driving.as_agent(lead, "task show", task=task.id).say
        last = assignments[-1] if assignments else None
        self.reviewed[task.id] = reports[-1].id
        return asking.review(brief, task, last, reports[-1], shown, self.verdict, trouble)

    # --- answers -----------------------------------------------------------------------------------------------------

    def _take(self, run: Run, stage: str, caller: Caller, output: str) -> None:
        """Hand in the structured answer in the output."""
        task = str(run.task)
        if stage == REVIEW:
            self._judge(task, caller, output)
            return
        kind = _ASSIGNMENT if stage == LEAD else _REPORT
        data = json_answer(
            output, lambda found: found.get("type") == kind or ("type" not in found and "taskId" in found)
        )
        _check_task(data, task)
        given: dict[str, Any] = {"type": kind, "data": {key: data[key] for key in data if key != "type"}}
        if stage == DEVELOPER and "buildResult" not in data:
            given["receipt"] = "last"  # the build that it ran with `moot check`
        self.driving.as_agent(caller, "send", **given)

    def _judge(self, task: str, caller: Caller, output: str) -> None:
        data = json_answer(output, lambda found: "verdict" in found)
        _check_task(data, task)
        wrong = "; ".join(defect.sentence for defect in defects(self.verdict, data))
        if wrong:
            raise NoAnswer(f"its verdict cannot be used: {wrong}")
        given = {"task": task, "reason": data.get("reason") or None, "report": self.reviewed[task]}
        self.driving.as_agent(caller, f"task {data['verdict']}", **given)

    # --- the log -----------------------------------------------------------------------------------------------------

    def _state(self, name: str) -> Task:
        return states.task(self.call.engine.read(), name)[0]

    def _messages(self, task: Task, kind: str) -> list[Message]:
        return queries.messages_of_task(self.call.engine.read(), task.id, task.attempt, kind)


def _check_task(data: Mapping[str, Any], task: str) -> None:
    if data.get("taskId", task) != task:
        raise NoAnswer(f"its answer is for {json.dumps(data['taskId'])[:80]}, not for {task}")
