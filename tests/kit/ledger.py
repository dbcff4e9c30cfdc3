"""Ties requirements to the tests that prove them, and fails a whole run in which a requirement is not proven.

A test names what it proves with `@pytest.mark.proves("S0-TA-01")` or `@pytest.mark.promise(7)`. A requirement is proven
if at least one test with its mark passed and none failed or is expected to fail. Runs of some tests are not judged.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import shutil
import sys
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pytest

MARKS: dict[str, type] = {"proves": str, "promise": int}
FAILING = {"failed", "xfailed", "xpassed"}
WORST_LAST = ("passed", "xpassed", "xfailed", "skipped", "failed")
CHECKS = {"raises", "warns", "fail"}  # of pytest
FEWER = ["keyword", "deselect", "ignore", "ignore_glob", "lf", "stepwise", "collectonly", "setuponly", "setupplan"]
OUTPUT = "moot_ledger"
Pins = Mapping[str, Mapping[str, str]]  # a digest of each entry, by file or table


# --- requirements and pins -------------------------------------------------------------------------------------------


class Requirement(NamedTuple):
    id: str
    group: str  # the protocol that it belongs to
    must: str


def read_requirements(folder: Path) -> dict[str, Requirement]:
    """All requirements of the files in a folder, by id and in order."""
    found: dict[str, Requirement] = {}
    for path in sorted(folder.glob("*.toml")):
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        group = f"S{data['spec']['number']} {data['spec']['pack']}"
        for entry in data["requirement"]:
            assert entry["id"] not in found, f"{path.name}: {entry['id']} occurs twice"
            found[entry["id"]] = Requirement(entry["id"], group, entry["must"])
    return found


def pin_requirements(folder: Path) -> dict[str, dict[str, str]]:
    """A digest of each requirement, by file and id. Comments and layout may change."""
    files = {path.name: tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.toml"))}
    return {
        name: pin_table({"spec": data["spec"], **{entry["id"]: entry for entry in data["requirement"]}})
        for name, data in files.items()
    }


def pin_table(entries: Mapping[str, Any]) -> dict[str, str]:
    texts = {
        name: json.dumps(entry, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        for name, entry in entries.items()
    }
    return {name: hashlib.sha256(text.encode()).hexdigest()[:16] for name, text in texts.items()}


def read_pins(path: Path) -> Pins:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def write_pins(path: Path, pins: Pins, comment: str) -> None:
    lines = [f"# {line}" for line in comment.splitlines()]
    for name, table in pins.items():
        lines += ["", f"[{json.dumps(name)}]", *(f'{json.dumps(key)} = "{digest}"' for key, digest in table.items())]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def differences(before: Pins, now: Pins) -> list[str]:
    """What is not as it was, one line for each id."""
    lines = []
    for name in sorted(before.keys() | now.keys()):
        old, new = before.get(name, {}), now.get(name, {})
        lines += [
            f"{name}: {key} was {'added' if key not in old else 'changed' if key in new else 'removed'}"
            for key in sorted(old.keys() | new.keys())
            if old.get(key) != new.get(key)
        ]
    return lines


# --- marks in the source ---------------------------------------------------------------------------------------------


class Mark(NamedTuple):
    id: str
    file: str
    line: int


@dataclass
class Sources:
    """What the source of the tests says: marks, and which functions check something, by their names."""

    marks: list[Mark] = field(default_factory=list)
    defects: list[str] = field(default_factory=list)
    checking: set[str] = field(default_factory=lambda: {*CHECKS})

    @classmethod
    def of(cls, root: Path, folder: Path) -> Sources:
        found, uses = cls(), dict[str, set[str]]()
        for path in sorted(folder.rglob("*.py")):
            found.read(path.relative_to(root).as_posix(), path.read_text(encoding="utf-8"), uses)
        while more := {name for name, used in uses.items() if used & found.checking} - found.checking:
            found.checking |= more
        return found

    def read(self, file: str, text: str, uses: dict[str, set[str]]) -> None:
        for node in ast.walk(ast.parse(text, file)):
            if isinstance(node, ast.Call) and (mark := _mark_of(node)):
                ids = [id_of(mark, value.value if isinstance(value, ast.Constant) else None) for value in node.args]
                if not ids or not all(ids):
                    self.defects.append(f"{file}:{node.lineno}: {mark} needs literals of type {MARKS[mark].__name__}")
                self.marks += [Mark(name, file, node.lineno) for name in ids if name]
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                inside = [one for part in node.body for one in ast.walk(part)]
                uses.setdefault(node.name, set()).update(map(_name, inside))
                if any(map(_can_fail, inside)):
                    self.checking.add(node.name)


def id_of(mark: str, value: Any) -> str:
    """The id that a mark's argument stands for; empty if it is not valid."""
    if type(value) is not MARKS[mark]:
        return ""
    return f"promise {value}" if mark == "promise" else str(value)


def _mark_of(call: ast.Call) -> str:
    """`proves` for `pytest.mark.proves(…)` and `mark.proves(…)`; empty for anything else."""
    known = isinstance(call.func, ast.Attribute) and call.func.attr in MARKS and _name(call.func.value) == "mark"
    return _name(call.func) if known else ""


def _name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _can_fail(node: ast.AST) -> bool:
    return isinstance(node, ast.Raise) or (isinstance(node, ast.Assert) and not isinstance(node.test, ast.Constant))


# --- the verdict -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ledger:
    """What must be proven, and where the tests of it are."""

    root: Path
    requirements: Mapping[str, Requirement]
    tests: Path
    deferred: Mapping[str, str] = field(default_factory=dict)  # id and reason
    clauses: Mapping[str, str] = field(default_factory=dict)  # id and the part of it that is not proven
    packages: Collection[str] = ()  # programs without which a test may be skipped
    watched: Collection[str] = ()  # the files and folders that a report depends on
    pins: Path | None = None
    pinned: Pins = field(default_factory=dict)  # the present content of what is pinned
    defects: Collection[str] = ()  # found while the requirements were read
    report: Path | None = None

    def changed(self) -> list[str]:
        """What differs from its pin."""
        return differences(read_pins(self.pins), self.pinned) if self.pins else []


@dataclass(frozen=True)
class MarkedItem:
    """What became of one test item with a mark."""

    item: str
    ids: list[str]
    files: list[str]  # where its marks may be written
    outcome: str  # passed, failed, skipped, xfailed, xpassed, deselected, did not run to its end
    reason: str = ""

    @property
    def function(self) -> str:
        return self.item.partition("[")[0].rpartition("::")[2]


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


def judge(ledger: Ledger, outcomes: list[MarkedItem]) -> Verdict:
    """Compare the requirements with what became of the tests that name them."""
    sources = Sources.of(ledger.root, ledger.tests)
    empty = {one.item for one in outcomes if one.function not in {*sources.checking, "runTest"}}
    by_id: dict[str, list[MarkedItem]] = {}
    for one in outcomes:
        for name in one.ids:
            by_id.setdefault(name, []).append(one)
    states, proofs, unproven, waiting = {}, {}, [], []
    for name, requirement in ledger.requirements.items():
        items = by_id.get(name, [])
        passed = [one.item for one in items if one.outcome == "passed" and one.item not in empty]
        missing = {package for one in items if (package := _missing_package(one, ledger.packages))}
        fails = any(one.outcome in FAILING for one in items)
        if name in ledger.deferred:
            states[name] = "deferred"
        elif passed and not fails:
            states[name], proofs[name] = "proven", passed
        elif missing and not passed and not fails:
            states[name] = "not run here"
            waiting.append(f"{name}: {', '.join(sorted(missing))} is not installed")
        else:
            states[name] = "open"
            unproven += [f"{name}  {requirement.must}", *(f"    {line}" for line in _why_open(items, empty))]
    named = {one.id: f"{one.file}:{one.line}" for one in sources.marks}
    named |= {name: items[0].item for name, items in by_id.items()}
    problems = {
        "Requirements without a test that passed": unproven,
        "Marks that name no requirement, or a deferred one": [
            f"{name}  named by {place}"
            for name, place in named.items()
            if name not in ledger.requirements or name in ledger.deferred
        ],
        "Marks that no test carries": [
            *sources.defects,
            *(
                f"{one.file}:{one.line}: pytest collected no test with this mark ({one.id})"
                for one in sources.marks
                if not any(one.file in item.files for item in by_id.get(one.id, []))
            ),
        ],
        "Tests that name a requirement but check nothing": sorted(empty),
        "Pinned content that changed": ledger.changed(),
        "Defects of the scope": [
            *ledger.defects,
            *(
                f"{name} has a clause that is not proven, but is {states.get(name, 'unknown')} itself"
                for name in ledger.clauses
                if states.get(name) not in {"proven", "not run here"}
            ),
        ],
    }
    return Verdict(states, proofs, {title: lines for title, lines in problems.items() if lines}, waiting)


def _missing_package(one: MarkedItem, packages: Collection[str]) -> str:
    """The program without which an item was skipped, if it is one that may be missing and really is."""
    name, said, _ = one.reason.partition(" is not installed")
    return name if one.outcome == "skipped" and said and name in packages and shutil.which(name) is None else ""


def _why_open(items: list[MarkedItem], empty: set[str]) -> Iterator[str]:
    if not items:
        yield "no test names it"
    for one in items:
        outcome = "checks nothing" if one.item in empty and one.outcome == "passed" else one.outcome
        yield f"{one.item}: {outcome}{': ' if one.reason else ''}{one.reason}"


# --- the report ------------------------------------------------------------------------------------------------------


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


# --- pytest ----------------------------------------------------------------------------------------------------------


def keep(config: pytest.Config, read: Callable[[], Ledger]) -> None:
    """Judge the whole runs of a test suite. `read` is called only for these."""
    config.pluginmanager.register(Recorder(config, read), "moot-ledger")


def is_whole(config: pytest.Config) -> bool:
    """Whether nothing on the command line leaves out tests that a plain `pytest` runs."""
    places = {Path(config.invocation_params.dir, path).resolve() for path in config.args}
    fewer = any(getattr(config.option, name, None) for name in FEWER) or config.option.markexpr != "not soak"
    return not fewer and places == {config.rootpath / "tests"}


class Recorder:
    """What is collected and what becomes of it. With pytest-xdist, the workers collect and the controller judges."""

    def __init__(self, config: pytest.Config, read: Callable[[], Ledger]) -> None:
        self.config, self.read = config, read
        self.ledger: Ledger | None = None
        self.tree = ""
        self.collected: dict[str, list[list[str]]] = {}  # the ids of an item, and its files
        self.selected: list[str] = []
        self.outcomes: dict[str, tuple[str, str]] = {}
        self.finished: set[str] = set()
        self.verdict: Verdict | None = None

    def pytest_sessionstart(self) -> None:
        if not hasattr(self.config, "workerinput") and is_whole(self.config):
            self.ledger = self.read()
            self.tree = tree_digest(self.ledger)

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        ids = {id_of(mark, value) for mark in MARKS for each in item.iter_markers(mark) for value in each.args} - {""}
        if ids:
            owners = [getattr(item, "function", None), *getattr(getattr(item, "cls", None), "__mro__", ())]
            modules = [sys.modules.get(getattr(owner, "__module__", "")) for owner in owners]
            paths = [Path(path) for module in modules if (path := getattr(module, "__file__", None))]
            root = self.config.rootpath
            files = {path.relative_to(root).as_posix() for path in paths if path.is_relative_to(root)}
            self.collected[item.nodeid] = [sorted(ids), sorted({*files, item.nodeid.partition("::")[0]})]

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.selected = [item.nodeid for item in session.items]
        if hasattr(self.config, "workeroutput"):
            self.config.workeroutput[OUTPUT] = [self.collected, self.selected]

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        output = getattr(node, "workeroutput", {})
        if OUTPUT in output:
            self.collected, self.selected = output[OUTPUT]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        now = outcome_of(report)
        before = self.outcomes.get(report.nodeid, now)
        self.outcomes[report.nodeid] = max(before, now, key=lambda one: WORST_LAST.index(one[0]))
        if report.when not in {"setup", "call"}:  # the last phase, or the report that a process crashed
            self.finished.add(report.nodeid)

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if self.ledger is None or exitstatus not in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED}:
            return
        outcomes = [self._outcome(item, *known) for item, known in self.collected.items()]
        self.verdict = judge(self.ledger, outcomes)
        left = len(set(self.selected) - self.finished)
        if left:
            self.verdict.problems["The run ended early"] = [
                f"{left} of {len(self.selected)} tests did not run to their end"
            ]
        else:
            write_report(self.ledger, self.tree, outcomes, self.verdict)
        if self.verdict.failing() and exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _outcome(self, item: str, ids: list[str], files: list[str]) -> MarkedItem:
        missing = ("did not run to its end" if item in self.selected else "deselected", "")
        return MarkedItem(item, ids, files, *(self.outcomes[item] if item in self.finished else missing))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.verdict is None:
            return
        failing = self.verdict.failing()
        if failing:
            terminalreporter.section("requirements", "=", red=True)
        for title, lines in failing.items():
            terminalreporter.line(f"{title}:", red=True)
            for line in lines:
                terminalreporter.line(f"  {line}")
        for line in self.verdict.not_run_here:
            terminalreporter.line(f"requirement not run here: {line}")


def outcome_of(report: pytest.TestReport) -> tuple[str, str]:
    """The outcome of one phase of a test, and the reason that was given for it."""
    if hasattr(report, "wasxfail") and report.outcome != "failed":
        return ("xfailed" if report.skipped else "xpassed", report.wasxfail)
    if report.skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        return "skipped", reason.removeprefix("Skipped: ")
    return report.outcome, "" if report.passed or report.when == "call" else f"in {report.when}"
