"""Turns the steps of a run into lines for the user, and into the answer of the verb."""

from __future__ import annotations

import os

from moot.api.answer import Answer
from moot.core.errors import AwaitedFailed
from moot.core.record import Record
from moot.core.text import bullets, command_line, option
from moot.packs.rspec_v1.locating import PACK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from moot.api.call import Call
    from moot.packs.rspec_v1.requests import Request
    from moot.runs.steps import PipelineStep

WARNED = 2
_BEHIND = ("passed", "skipped", "reused")


class PipelineOutcome(Record):
    """How a run ended. The paths are absolute; `report` is None before the reviewer has run.

    `stages`: each stage that was reached, with passed, skipped or reused. `review`: the verdict in one line.
    """

    run: str
    target: str
    outcome: str
    metadata: str
    spec: str
    report: str | None
    stages: Mapping[str, str]
    warnings: tuple[str, ...] = ()
    review: str = ""


class Progress:
    """What has happened so far in the runs of one command."""

    def __init__(self, call: Call, request: Request, reason: str | None) -> None:
        self._call, self._request, self._reason = call, request, reason
        self._stages: dict[str, str] = {}
        self._warnings: list[str] = []
        self._failed: PipelineStep | None = None
        self._last: PipelineStep | None = None
        stages = next(pack.stages for pack in call.packs.packs if pack.name == PACK)
        self._labels = {stage.name: stage.label for stage in stages}

    def take(self, step: PipelineStep) -> None:
        """Report one step."""
        self._last = step
        tell = self._call.report
        if step.what == "opened" and not self._request.location.project.repository:
            tell(self._private(step.run))
        elif step.what in ("ready", "waiting", "waits"):
            tell(step.text)
        elif step.what == "started" and step.stage == "analyzer":
            tell(f"Running analysis (cache invalid or missing): {self._reason}" if self._reason else self._cached())
        elif step.what in _BEHIND:
            self._stages[step.stage] = step.what
            self._done(step)
        elif step.what == "failed":
            self._failed = step
        elif step.what == "ended":
            tell(f"{step.title}: {step.text}")

    def _private(self, run: str) -> str:
        """Where a run is recorded that has no repository: what `moot run` and `moot doc` need to be told."""
        source, status = self._request.location.project.absolute, command_line("run status", run)
        document = command_line("doc show", self._request.key)
        return f"{source} is in no repository, so your private workspace has the record: `{status}`, `{document}`."

    def _cached(self) -> str:
        return f"Using cached metadata: {self._request.location.document_file}"

    def _done(self, step: PipelineStep) -> None:
        tell = self._call.report
        if step.what == "reused":
            tell(self._cached() if step.stage == "analyzer" else f"{step.stage} reused: {step.text}")
        else:
            tell(f"{step.stage} {step.what}{f': {step.text}' if step.text else ''}")
        for warning in step.warnings:
            tell(f"Warning: {warning}")
            self._warnings.append(f"{self._labels[step.stage]}: {warning}")

    def interrupted(self) -> None:
        """Say what was interrupted, and how to go on."""
        if self._last is None or self._last.what == "ended":
            return
        stage = f"{self._last.stage} of " if self._last.what == "started" else ""
        self._call.report(f"Interrupted: {stage}{self._request.target.said}. To go on: `{self._going_on()}`.")

    def _going_on(self) -> str:
        """The command that goes on with the run."""
        path = os.path.relpath(self._request.location.project.absolute, self._call.cwd)
        asked = self._request.target.parameters
        class_name = option("--class", str(asked["class"])) if asked.get("class") else ""
        options = " ".join(filter(None, (class_name, "--resume")))
        return command_line(f"{PACK} run", path, str(asked.get("method", "")), options=options)

    @property
    def failed(self) -> bool:
        return self._failed is not None

    def reached(self, stage: str) -> bool:
        return stage in self._stages

    def ran(self, stage: str) -> bool:
        """Whether a stage was reached, and no earlier result was used."""
        return self._stages.get(stage, "reused") != "reused"

    def answer(self, wanted: str, review: str = "") -> Answer:
        """The answer: the path of what the last stage wrote. Raises if a stage failed."""
        if self._failed is not None:
            raise _failure(self._failed, self._going_on())
        location = self._request.location
        report = location.report_file if os.path.exists(location.report_file) else None
        spec = os.path.join(location.project.root, location.spec)
        outcome = PipelineOutcome(
            run=self._last.run if self._last is not None else "",
            target=self._request.target.said,
            outcome=self._last.text if self._last is not None else "",
            metadata=location.document_file,
            spec=spec,
            report=report if "reviewer" in self._stages else None,
            stages=dict(self._stages),
            warnings=tuple(self._warnings),
            review=review,
        )
        path = {"document": outcome.metadata, "spec": spec, "report": outcome.report or location.report_file}[wanted]
        return Answer(result=outcome, say=(path,), code=WARNED if self._warnings else 0)


def _failure(step: PipelineStep, going_on: str) -> AwaitedFailed:
    """The error of a stage that failed, or could not start."""
    problems = [one for one in step.problems if one != step.text]
    advice = step.advice or "Correct it."
    built_in = step.code is None
    if not (step.suggestion and (step.outcome or built_in)):  # otherwise the protocol has its own words
        advice = " ".join(filter(None, (advice, f"To go on from {step.stage}: `{going_on}`.")))
    lines = [advice]
    lines += [*(f"  {line}" for line in step.details.splitlines()), *bullets(problems)]
    counted = step.text == f"{len(step.problems)} problems"
    said = f"{step.stage} left {step.text}" if counted else step.text
    more = {"stage": step.stage, "run": step.run, "problems": list(step.problems)}
    return AwaitedFailed("stage_failed", said, "\n".join(lines), **more)
