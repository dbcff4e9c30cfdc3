"""The result of a run: per wave, file and method, with the number of examples."""

from __future__ import annotations

from moot.api.answer import Answer, Notice
from moot.core.record import Record
from moot.core.text import counted, unbroken

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

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
    """`waited`: the runs of others that it waited for: target, run, title, stage, since and pid."""

    run: str
    files: tuple[FileReport, ...]
    warnings: tuple[str, ...] = ()
    waited: tuple[Mapping[str, Any], ...] = ()

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
