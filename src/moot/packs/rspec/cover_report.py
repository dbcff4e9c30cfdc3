"""The result of a run: per wave, file and method, with the number of examples."""

from __future__ import annotations

from moot.api.answer import Answer, Notice
from moot.core.errors import Refused
from moot.core.record import Record
from moot.core.text import bullets, command_line, counted, unbroken

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from moot.runs.steps import PipelineStep

WARNED = 2  # the exit code of a run that finished with warnings


class FileReport(Record):
    """One document in one wave. `examples`: by method. `skipped`: the reason of each skipped stage."""

    wave: int
    path: str
    class_name: str
    spec: str
    slug: str
    outcome: str
    tests_passed: bool | None = None
    examples: Mapping[str, int] = {}
    violations: tuple[Mapping[str, Any], ...] = ()
    failures: tuple[Mapping[str, Any], ...] = ()
    skipped: Mapping[str, str] = {}
    warnings: tuple[str, ...] = ()


class CoverReport(Record):
    """`waited`: the runs of others that it waited for: target, run, title, stage, since and pid.

    `left_out`: failed tests without which the run went on, each with its author.
    """

    run: str
    files: tuple[FileReport, ...]
    warnings: tuple[str, ...] = ()
    waited: tuple[Mapping[str, Any], ...] = ()
    left_out: Mapping[str, str] = {}

    @property
    def all_warnings(self) -> tuple[str, ...]:
        found = [f"{one.path}: {warning}" for one in self.files for warning in one.warnings]
        found += [
            f"{one.path}: rule {each['rule']}: {each['description']} ({each['location']})"
            for one in self.files
            for each in one.violations
        ]
        failed = [
            f"{one.path}: tests failed, and the run went on without them ({one.spec})"
            for one in self.files
            if one.tests_passed is False
        ]
        return (*self.warnings, *dict.fromkeys((*failed, *found)))


def said(report: CoverReport, outcome: str) -> Answer:
    """The report as an answer. Warnings make the exit code 2."""
    warnings = report.all_warnings
    ending = "finished with warnings" if warnings else "finished"
    return Answer(
        result=report,
        say=(*_lines(report), f"{report.run} {ending if outcome == 'passed' else outcome}"),
        warnings=tuple(Notice("rspec", text) for text in warnings),
        code=WARNED if warnings else 0,
    )


def _lines(report: CoverReport) -> Iterator[str]:
    wave = None
    for name, who in report.left_out.items():
        yield unbroken(f"skipped by {who}: {name}")
    for one in report.files:
        if one.wave != wave:
            wave = one.wave
            yield f"wave {wave}"
        verdict = {True: "tests passed", False: "tests failed", None: one.outcome}[one.tests_passed]
        yield f"  {unbroken(f'{one.path} → {one.spec}')}: {verdict}"
        for method, count in one.examples.items():
            yield f"    {method}: {counted(count, 'example')}"
        for stage, reason in one.skipped.items():
            yield f"    {stage} skipped: {unbroken(reason)}"


def failed(run: str, steps: Sequence[PipelineStep]) -> Refused:
    """The error of a run that has failed: that of its first stage that did."""
    again = command_line("rspec resume", run)
    step = next((one for one in steps if one.what == "failed"), None)
    if step is None:
        last = next((one for one in reversed(steps) if one.what == "ended" and one.text), steps[-1])
        return Refused("run_failed", f"{last.title}: {last.text}", last.suggestion or f"To go on: `{again}`.", run=run)
    return stage_failed(step, f"To go on from {step.stage}: `{again}`.")


def stage_failed(step: PipelineStep, going_on: str) -> Refused:
    """The error of a stage that has failed."""
    details = [one for one in (*step.problems, *filter(None, [step.details])) if one not in step.text]
    return Refused(
        "stage_failed",
        "\n".join((f"{step.stage} failed for {step.title}: {step.text}", *bullets(details))),
        " ".join(filter(None, (step.advice, going_on))),
        run=step.run,
        stage=step.stage,
        problems=list(step.problems),
    )


def interruption(run: str, steps: Sequence[PipelineStep]) -> str:
    """What was interrupted, and how to go on."""
    if not run:
        return "Interrupted before the run began."
    over = {(one.run, one.stage) for one in steps if one.what in ("passed", "skipped", "failed")}
    working = [one for one in steps if one.what == "started" and (one.run, one.stage) not in over]
    what = ", ".join(f"{one.stage} of {one.title}" for one in working) or f"{run}, while no stage was at work"
    return f"Interrupted: {what}. To go on: `{command_line('rspec resume', run)}`."
