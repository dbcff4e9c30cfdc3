"""What a whole run proves: each requirement is proven, deferred, not run here, or open.

A requirement is proven if at least one item with its mark passed, that item checks something, and no item with its mark
failed or is expected to fail.
"""

from __future__ import annotations

import hashlib  # noqa: TID253 (only tests load this package)
import json
import os
import shutil  # noqa: TID253
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field  # noqa: TID253
from pathlib import Path  # noqa: TID253

from moot.testing.ledger.checks import Checks
from moot.testing.ledger.marks import Marks, read_marks
from moot.testing.ledger.requirements import Pin, Requirement, differences, read_pins

FAILING = {"failed", "xfailed", "xpassed"}


@dataclass(frozen=True)
class Ledger:
    """What must be proven, and what the tests of it are."""

    root: Path
    requirements: Mapping[str, Requirement]
    tests: Path
    deferred: Mapping[str, str] = field(default_factory=dict)  # id and reason
    clauses: Mapping[str, str] = field(default_factory=dict)  # id and the part of it that is not proven
    packages: Collection[str] = ()  # programs without which a test may be skipped
    watched: Collection[str] = ()  # the files and folders that a report depends on
    report: Path | None = None
    pins: Path | None = None
    pinned: Mapping[str, Pin] = field(default_factory=dict)  # the present content of what is pinned
    defects: Collection[str] = ()  # found while the requirements were read


@dataclass(frozen=True)
class MarkedItem:
    """What became of one test item with a mark."""

    item: str
    ids: list[str]
    defined: list[str]  # its function; for a state machine, its classes
    places: list[str]  # where its marks may be written: its function, its classes, their files
    outcome: str  # passed, failed, skipped, xfailed, xpassed, deselected, did not run to its end
    reason: str = ""


@dataclass(frozen=True)
class Verdict:
    states: dict[str, str]  # proven, deferred, not run here or open
    proofs: dict[str, list[str]]
    problems: dict[str, list[str]]  # by heading
    not_run_here: list[str]

    def failing(self, environment: Mapping[str, str] = os.environ) -> dict[str, list[str]]:
        """What fails a run. With STRICT=1, so does a requirement whose tests need a package that is missing."""
        strict = environment.get("STRICT", "") not in {"", "0"}
        missing = {"Not run here, and STRICT is set": self.not_run_here} if strict and self.not_run_here else {}
        return {**self.problems, **missing}


def judge(ledger: Ledger, outcomes: list[MarkedItem], which: Callable[[str], str | None] = shutil.which) -> Verdict:
    """Compare the requirements with what became of the tests that name them."""
    checks, marks = Checks(ledger.root), read_marks(ledger.tests, ledger.root)
    empty = {one.item for one in outcomes if not any(map(checks.found_in, one.defined))}
    by_id: dict[str, list[MarkedItem]] = {}
    for one in outcomes:
        for name in one.ids:
            by_id.setdefault(name, []).append(one)
    states, proofs, open_, waiting = {}, {}, [], []
    for name, requirement in ledger.requirements.items():
        items = by_id.get(name, [])
        passed = [one.item for one in items if one.outcome == "passed" and one.item not in empty]
        missing = sorted({package for one in items if (package := _missing_package(one, ledger.packages, which))})
        if name in ledger.deferred:
            states[name] = "deferred"
        elif passed and not any(one.outcome in FAILING for one in items):
            states[name], proofs[name] = "proven", passed
        elif missing and not passed and not any(one.outcome in FAILING for one in items):
            states[name] = "not run here"
            waiting.append(f"{name}: {', '.join(missing)} is not installed")
        else:
            states[name] = "open"
            open_ += [f"{name}  {requirement.must}", *(f"    {line}" for line in _why_open(items, empty))]
    problems = {
        "Requirements without a test that passed": open_,
        "Marks that name no requirement": sorted(_unknown(ledger, by_id, marks)),
        "Marks that name a deferred requirement": sorted(_named_though_deferred(ledger, by_id, marks)),
        "Marks that no test carries": [*marks.defects, *_idle(by_id, marks), *_unwritten(by_id, marks)],
        "Tests that name a requirement but check nothing": sorted(empty),
        "Pinned content that changed": changed(ledger),
        "Defects of the scope": [*ledger.defects, *_clauses_of_nothing(ledger, states)],
    }
    return Verdict(states, proofs, {title: lines for title, lines in problems.items() if lines}, waiting)


def changed(ledger: Ledger) -> list[str]:
    """What differs from its pin."""
    return differences(read_pins(ledger.pins), dict(ledger.pinned)) if ledger.pins else []


def _missing_package(one: MarkedItem, packages: Collection[str], which: Callable[[str], str | None]) -> str:
    """The program without which an item was skipped, if it is one that may be missing and really is."""
    name, said, _ = one.reason.partition(" is not installed")
    return name if one.outcome == "skipped" and said and name in packages and which(name) is None else ""


def _why_open(items: list[MarkedItem], empty: set[str]) -> Iterator[str]:
    if not items:
        yield "no test names it"
    for one in items:
        said = "checks nothing" if one.item in empty and one.outcome == "passed" else one.outcome
        yield f"{one.item}: {said}{': ' if one.reason else ''}{one.reason}"


def _named(by_id: dict[str, list[MarkedItem]], marks: Marks) -> dict[str, str]:
    """Each id that is named anywhere, and where."""
    return {one.id: one.place for one in marks.written} | {name: items[0].item for name, items in by_id.items()}


def _unknown(ledger: Ledger, by_id: dict[str, list[MarkedItem]], marks: Marks) -> Iterator[str]:
    for name, place in _named(by_id, marks).items():
        if name not in ledger.requirements:
            yield f"{name}  named by {place}"


def _named_though_deferred(ledger: Ledger, by_id: dict[str, list[MarkedItem]], marks: Marks) -> Iterator[str]:
    for name, place in _named(by_id, marks).items():
        if name in ledger.deferred:
            yield f"{name}  named by {place}"


def _idle(by_id: dict[str, list[MarkedItem]], marks: Marks) -> Iterator[str]:
    """Marks in the source of what pytest did not collect."""
    for one in marks.written:
        if not any(one.place in item.places for item in by_id.get(one.id, [])):
            yield f"{one.place} (line {one.line}): pytest collected no test with this mark ({one.id})"


def _unwritten(by_id: dict[str, list[MarkedItem]], marks: Marks) -> Iterator[str]:
    """Marks that were put on a test while it was collected."""
    written = {(one.id, one.place) for one in marks.written}
    for name, items in by_id.items():
        for one in items:
            if not any((name, place) in written for place in one.places):
                yield f"{one.item}: its mark {name} is not written at the test, its class or its file"


def _clauses_of_nothing(ledger: Ledger, states: dict[str, str]) -> Iterator[str]:
    for name in ledger.clauses:
        if states.get(name) not in {"proven", "not run here"}:
            yield f"{name} has a clause that is not proven, but is {states.get(name, 'unknown')} itself"


def tree_digest(ledger: Ledger) -> str:
    """A digest of the files that a report depends on."""
    digest = hashlib.sha256()
    for watched in ledger.watched:
        top = ledger.root / watched
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            parts = path.relative_to(ledger.root).parts
            if path.is_file() and not any(part == "__pycache__" or part.startswith(".") for part in parts):
                digest.update(f"{'/'.join(parts)}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


def write_report(ledger: Ledger, tree: str, outcomes: list[MarkedItem], verdict: Verdict) -> None:
    if ledger.report is None:
        return
    found = {name: {"state": state, "proofs": verdict.proofs.get(name, [])} for name, state in verdict.states.items()}
    content = {"tree": tree, "requirements": found, "items": [asdict(one) for one in outcomes]}
    ledger.report.parent.mkdir(parents=True, exist_ok=True)
    ledger.report.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_report(ledger: Ledger) -> tuple[str, list[MarkedItem]] | None:
    """The digest of the tree that the last whole run saw, and what became of its tests."""
    if ledger.report is None or not ledger.report.is_file():
        return None
    content = json.loads(ledger.report.read_text(encoding="utf-8"))
    return content["tree"], [MarkedItem(**one) for one in content["items"]]
