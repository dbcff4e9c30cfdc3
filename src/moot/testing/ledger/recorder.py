"""The part of the ledger that pytest calls: what is collected, what becomes of it, and whether the run was whole.

With pytest-xdist, the workers collect and the controller judges. A run is whole if nothing on the command line leaves
tests out that a plain `pytest` runs. Other runs write nothing and fail nothing.
"""

from __future__ import annotations

import argparse  # noqa: TID253 (only tests load this package)
import sys
from collections.abc import Callable
from pathlib import Path  # noqa: TID253
from typing import Any  # noqa: TID253

import pytest

from moot.testing.ledger.marks import TYPES, id_of
from moot.testing.ledger.verdict import Ledger, MarkedItem, Verdict, judge, tree_digest, write_report

OUTPUT = "moot_ledger"
SELECTING = {"addopts", "testpaths", "norecursedirs", "python_files", "python_classes", "python_functions"}
WORST_LAST = ("passed", "xpassed", "xfailed", "skipped", "failed")


class Recorder:
    """Registered by `keep`, once in each process of a run."""

    def __init__(self, config: pytest.Config, read: Callable[[], Ledger]) -> None:
        self.config = config
        self.read = read
        self.ledger: Ledger | None = None
        self.tree = ""
        self.collected: dict[str, dict[str, list[str]]] = {}
        self.selected: list[str] = []
        self.outcomes: dict[str, tuple[str, str]] = {}
        self.finished: set[str] = set()
        self.verdict: Verdict | None = None

    @property
    def in_worker(self) -> bool:
        return hasattr(self.config, "workerinput")

    def pytest_sessionstart(self) -> None:
        if not self.in_worker and is_whole(self.config):
            self.ledger = self.read()
            self.tree = tree_digest(self.ledger)

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        ids = [id_of(mark, value) for mark in TYPES for each in item.iter_markers(mark) for value in each.args]
        if any(ids):
            defined = [place for one in definitions_of(item) for place in place_of(one, self.config.rootpath)]
            owners = [
                place for one in _classes(getattr(item, "cls", None)) for place in place_of(one, self.config.rootpath)
            ]
            names = [*defined, *owners]
            files = [*(name.partition("::")[0] for name in names), item.nodeid.partition("::")[0]]
            self.collected[item.nodeid] = {
                "ids": sorted({name for name in ids if name}),
                "defined": defined,
                "places": [*dict.fromkeys([*names, *files])],
            }

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.selected = [item.nodeid for item in session.items]
        if self.in_worker:
            output: dict[str, Any] = self.config.workeroutput  # type: ignore[attr-defined]
            output[OUTPUT] = [self.collected, self.selected]

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
        outcomes = [self._outcome(item) for item in self.collected]
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

    def _outcome(self, item: str) -> MarkedItem:
        known = self.collected[item]
        missing = ("did not run to its end" if item in self.selected else "deselected", "")
        outcome, reason = self.outcomes[item] if item in self.finished else missing
        return MarkedItem(item, known["ids"], known["defined"], known["places"], outcome, reason)

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


def definitions_of(item: pytest.Item) -> list[Any]:
    """The function of an item, or what stands behind it: the test of `@given`, the class of a state machine."""
    function = getattr(item, "function", None)
    inner = getattr(getattr(function, "hypothesis", None), "inner_test", function)
    if getattr(inner, "__name__", "") != "runTest":
        return [inner] if inner else []
    cells = [cell.cell_contents for cell in getattr(inner, "__closure__", None) or ()]
    return [one for cell in cells if isinstance(cell, type) for one in _classes(cell)] or [inner]


def place_of(definition: Any, root: Path) -> list[str]:
    """`tests/test_it.py::Class::function`, if it is below the root."""
    file = getattr(sys.modules.get(definition.__module__), "__file__", None)
    if not file or not Path(file).is_relative_to(root):
        return []
    return [f"{Path(file).relative_to(root).as_posix()}::{definition.__qualname__.replace('.', '::')}"]


def _classes(owner: type | None) -> list[type]:
    return [one for one in owner.__mro__ if one is not object] if owner else []


def is_whole(config: pytest.Config) -> bool:
    """Whether nothing that the caller said leaves out tests that a plain `pytest` at the root runs.

    What the project's own `addopts` leave out is left out of every run, so it does not count.
    """
    usual = vars(_options_that_run_fewer_tests().parse_known_args([str(word) for word in config.getini("addopts")])[0])
    given = {name: getattr(config.option, name, None) for name in usual}
    for options in (usual, given):
        overridden = options["override_ini"] or ()
        options["override_ini"] = [word for word in overridden if word.partition("=")[0].strip() in SELECTING]
    if any((given[name] or None) != (usual[name] or None) for name in usual):
        return False
    wanted = {config.rootpath / path for path in config.getini("testpaths")} or {config.rootpath}
    places = {Path(config.invocation_params.dir, path).resolve() for path in config.args}
    return places == {path.resolve() for path in wanted}


def _options_that_run_fewer_tests() -> argparse.ArgumentParser:
    """With the names that pytest has for them."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("-m", dest="markexpr")
    parser.add_argument("-k", dest="keyword")
    parser.add_argument("-c", "--config-file", dest="inifilename")
    parser.add_argument("-o", "--override-ini", action="append")
    for name in ("--deselect", "--ignore", "--ignore-glob"):
        parser.add_argument(name, action="append")
    parser.add_argument("--lf", "--last-failed", action="store_true")
    parser.add_argument("--sw", "--stepwise", dest="stepwise", action="store_true")
    parser.add_argument("--co", "--collect-only", dest="collectonly", action="store_true")
    parser.add_argument("--setup-only", dest="setuponly", action="store_true")
    parser.add_argument("--setup-plan", dest="setupplan", action="store_true")
    parser.add_argument("--pyargs", action="store_true")
    return parser
