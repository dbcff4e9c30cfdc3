"""Requirements, pins and scope agree. Whether the requirements are proven, a whole run of the tests says."""

from __future__ import annotations

import copy
import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Collection
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tests.kit.ledger import MarkedItem, Sources, differences, read_requirements, tree_digest
from tests.specs.ledger import HERE, ROOT, ledger_of, programs, read, read_promises


@pytest.fixture(scope="module")
def scope() -> dict[str, Any]:
    return tomllib.loads((HERE / "scope.toml").read_text(encoding="utf-8"))


def none(found: Collection[str], why: str) -> None:
    """Fails with all that was found."""
    if found:
        pytest.fail(f"{len(found)} {why}:\n  " + "\n  ".join(found), pytrace=False)


def test_nothing_that_is_pinned_changed() -> None:
    none(read().changed(), "entries differ from pins.toml; if that is meant, renew it with tools/requirements.py --pin")


def test_the_scope_has_no_defects() -> None:
    none(read().defects, "entries of scope.toml are not in order")


def test_the_requirement_files_hold_what_they_say() -> None:
    """The files are taken as they are: the ids that can be counted in their text are the ids that were read."""
    text = "".join(path.read_text(encoding="utf-8") for path in sorted((HERE / "requirements").glob("*.toml")))
    assert sorted(re.findall(r'^id = "(.+)"$', text, re.MULTILINE)) == sorted(read_requirements(HERE / "requirements"))


def test_every_numbered_promise_is_read() -> None:
    found = read_promises((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"))
    assert list(found) == [f"promise {n}" for n in range(1, len(found) + 1)]
    assert len(found) >= 15


def test_the_programs_that_may_be_missing_are_those_that_are_installed_for_the_tests() -> None:
    assert {"tmux", "openssl"} <= programs((ROOT / "tools" / "packages").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda s: s["deferred"].update({"S0-HRD-30": "As it stands, this cannot be done."}), "`needs` and `why`"),
        (lambda s: s["deferred"]["S0-HRD-30"].update(needs="more time"), "not in the list [surface]"),
        (lambda s: s["deferred"]["S0-HRD-30"].update(why="Later."), "S0-HRD-30 gives no reason"),
        (lambda s: s["clause"].update({"S0-OVW-02": "Later."}), "S0-OVW-02 gives no reason"),
        (
            lambda s: s["deferred"].update({"S0-EX-99": s["deferred"]["S0-HRD-30"]}),
            "S0-EX-99 is in no requirement file",
        ),
        (lambda s: s["in_scope"]["protocols"].append("S9"), "no requirement begins with S9-"),
        (lambda s: s["in_scope"]["protocols"].remove("S0"), "S0-* is neither in scope nor deferred"),
        (lambda s: s["deferred"].update({"S1-*": s["deferred"]["S0-HRD-30"]}), "S1-* is in scope and deferred"),
    ],
)
def test_a_scope_that_is_not_in_order_is_refused(scope: dict[str, Any], change: Any, said: str) -> None:
    changed_scope = copy.deepcopy(scope)
    change(changed_scope)
    (defect,) = ledger_of(changed_scope).defects
    assert said in defect


@pytest.mark.parametrize("built", ["src/moot/surfaces/hooks"])
def test_a_deferral_ends_when_the_surface_that_it_needs_is_built(
    scope: dict[str, Any], tmp_path: Path, built: str
) -> None:
    (tmp_path / built).mkdir(parents=True)
    surface = built.rpartition("/")[2]
    waiting = {name for name, entry in scope["deferred"].items() if entry["needs"] == surface}
    defects = ledger_of(scope, tmp_path).defects
    assert waiting
    assert {defect.split()[0] for defect in defects} == waiting


def test_a_deferral_ends_when_the_file_that_it_needs_is_mirrored(scope: dict[str, Any], tmp_path: Path) -> None:
    more = copy.deepcopy(scope)
    more["surface"]["log-file"] = {"path": "src/moot/packs/orchestrator/pack.toml", "text": "log.md"}
    more["deferred"]["S0-HRD-30"] = {"needs": "log-file", "why": "log.md is not rendered yet."}
    pack = tmp_path / "src/moot/packs/orchestrator/pack.toml"
    pack.parent.mkdir(parents=True)
    pack.write_text('path = "tasks/status.json"\n')
    assert ledger_of(more, tmp_path).defects == []
    pack.write_text('path = "logs/log.md"\n')
    assert [defect.split()[0] for defect in ledger_of(more, tmp_path).defects] == ["S0-HRD-30"]


def test_a_new_deferral_and_a_reworded_clause_are_noticed(scope: dict[str, Any]) -> None:
    more = copy.deepcopy(scope)
    reworded, removed = [*scope["clause"]][:2]
    more["deferred"]["S0-TA-01"] = {"needs": "hooks", "why": "Client hooks are not there yet."}
    more["clause"][reworded] = "It is proven for the Python API only."
    del more["clause"][removed]
    assert sorted(ledger_of(more).changed()) == sorted(
        [
            f"clauses: {removed} was removed",
            f"clauses: {reworded} was changed",
            "deferrals: S0-TA-01 was added",
        ]
    )


def test_each_change_of_an_entry_is_named() -> None:
    before, now = {"9.toml": {"A": "1", "B": "1"}}, {"9.toml": {"B": "2", "C": "1"}}
    found = ["9.toml: A was removed", "9.toml: B was changed", "9.toml: C was added"]
    assert differences(before, now) == found


def printed(*words: object) -> tuple[int, str]:
    """What `make requirements` exits with and prints."""
    command = [sys.executable, "tools/requirements.py", *map(str, words)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout + done.stderr


def test_another_folder_of_requirements_is_compared(tmp_path: Path) -> None:
    shutil.copytree(HERE / "requirements", tmp_path, dirs_exist_ok=True)
    assert printed("--from", tmp_path) == (0, f"0 differences from {tmp_path}\n")
    file = tmp_path / "0-orchestrator.toml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace('must = "', 'must = "Not always: ', 1), encoding="utf-8")
    status, said = printed("--from", tmp_path)
    assert status == 1
    assert "0-orchestrator.toml: S0-OVW-01 was changed\n    there: " in said
    assert "Not always: " in said


CHECK = "tests/specs/test_requirements.py::test_every_numbered_promise_is_read"


def test_the_state_is_printed_from_the_report_of_a_whole_run_of_this_tree(tmp_path: Path) -> None:
    report = tmp_path / "requirements.json"
    status, said = printed("--report", report)
    assert status == 1
    assert "There is no report of a whole test run" in said
    ledger = read()
    marks = Sources.of(ledger.root, ledger.tests).marks
    items = [MarkedItem(CHECK, [mark.id], [mark.file], "passed") for mark in marks]
    for tree, expected in ((tree_digest(ledger), 0), ("another", 1)):
        report.write_text(json.dumps({"tree": tree, "items": [asdict(item) for item in items]}), encoding="utf-8")
        status, said = printed("--report", report)
        assert status == expected
        assert ("The report is older than the tree" in said) == bool(expected)
        assert f"taken back {len(ledger.clauses):2}" in said
        assert "open   0" in said.splitlines()[0]
    left = [item for item in items if item.ids != ["S0-TA-01"]]
    report.write_text(json.dumps({"tree": tree_digest(ledger), "items": [asdict(item) for item in left]}))
    status, said = printed("--report", report)
    assert status == 1
    assert "S0-TA-01" in said
