"""Every requirement in scope has a test, every test names a real requirement, and nothing is in two places."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from tests.specs.ledger import HERE, Ledger, Marks, note_marks


@pytest.fixture(scope="module")
def ledger() -> Ledger:
    return Ledger.read()


def none(found: Sequence[object], why: str) -> None:
    """Fails with all that was found."""
    if found:
        pytest.fail(f"{len(found)} {why}:\n  " + "\n  ".join(map(str, found)), pytrace=False)


def test_every_requirement_in_scope_is_named_by_a_test(ledger: Ledger) -> None:
    missing = [name for name in ledger.in_scope if name not in ledger.proven and name not in ledger.deferred]
    said = [f"{name}  {ledger.requirements[name].must}" for name in missing]
    none(said, "requirements in scope are proven by no test and not deferred")


def test_every_requirement_is_in_scope_or_deferred(ledger: Ledger) -> None:
    stray = [name for name in ledger.requirements if name not in ledger.in_scope and name not in ledger.deferred]
    none(stray, "requirements are neither in scope nor deferred in scope.toml")


def test_every_named_requirement_exists(ledger: Ledger) -> None:
    unknown = [
        f"{name}  named by {', '.join(ledger.marks.proves[name])}"
        for name in ledger.marks.proves
        if name not in ledger.requirements
    ]
    none(unknown, "ids named by tests are in no requirement file")


def test_every_mark_can_be_found_by_reading(ledger: Ledger) -> None:
    none(ledger.marks.defects, "marks prove nothing as they stand")


def test_nothing_is_both_deferred_and_proven(ledger: Ledger) -> None:
    both = [f"{name}  named by {', '.join(tests)}" for name, tests in ledger.proven.items() if name in ledger.deferred]
    none(
        both, "deferred requirements are named by tests; move each to [in_scope], and what is missing of it to [clause]"
    )


def test_a_deferred_clause_belongs_to_a_requirement_that_is_otherwise_proven(ledger: Ledger) -> None:
    wrong = [name for name in ledger.clauses if name not in ledger.proven]
    none(wrong, "requirements have a deferred clause, but no test names them")


def test_the_scope_speaks_only_of_requirements_that_exist(ledger: Ledger) -> None:
    scope, known = ledger.scope, ledger.requirements
    specs = {f"S{requirement.spec}-*" for requirement in known.values()}
    stray = [name for name in [*scope["in_scope"]["ids"], *scope["clause"]] if name not in known]
    stray += [name for name in scope["deferred"] if name not in known and name not in specs]
    stray += [p for p in scope["in_scope"]["prefixes"] if not any(name.startswith(f"{p}-") for name in known)]
    none(stray, "entries of scope.toml name no requirement (only a whole protocol may be written S1-*)")


def test_every_deferral_gives_a_reason_in_a_sentence(ledger: Ledger) -> None:
    scope = ledger.scope
    tables = [scope["deferred"], scope["clause"], scope["promises"]["deferred"]]
    bare = [name for table in tables for name, reason in table.items() if len(reason) < 20 or not reason.endswith(".")]
    none(bare, "entries of scope.toml give no reason")


def test_every_promise_is_named_by_a_test_or_deferred(ledger: Ledger) -> None:
    none(ledger.open_promises, "promises are tried by no test and not deferred")


def test_every_named_promise_exists_and_is_not_deferred(ledger: Ledger) -> None:
    wrong = [
        f"promise {n}  named by {', '.join(tests)}"
        for n, tests in sorted(ledger.marks.promise.items())
        if n not in ledger.promises or n in ledger.deferred_promises
    ]
    none(wrong, "promises named by tests do not exist or are deferred")


def test_the_requirement_files_hold_what_they_say() -> None:
    """The files are taken as they are: the ids that can be counted in their text are the ids that were read."""
    text = "".join(path.read_text(encoding="utf-8") for path in sorted((HERE / "requirements").glob("*.toml")))
    assert sorted(re.findall(r'^id = "(.+)"$', text, re.MULTILINE)) == sorted(Ledger.read().requirements)


SAMPLE = """
import pytest
pytestmark = pytest.mark.proves("S9-MODULE-01")

@pytest.mark.proves("S9-A-01", "S9-A-02")
@pytest.mark.promise(3)
def test_one(): ...

class TestMany:
    @pytest.mark.proves("S9-B-01")
    async def test_two(self): ...

@pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.proves("S9-C-01"))])
def test_three(x): ...

@pytest.mark.skip
@pytest.mark.proves("S9-D-01")
def test_skipped(): ...

@pytest.mark.proves("S9-E-01")
def helper(): ...

@pytest.mark.proves(*IDS)
@pytest.mark.promise("3")
def test_computed(): ...
"""


def test_marks_are_read_where_they_count_and_refused_where_they_do_not() -> None:
    marks = Marks()
    note_marks(marks, "tests/sample.py", SAMPLE)
    assert marks.proves == {
        "S9-MODULE-01": ["tests/sample.py"],
        "S9-A-01": ["tests/sample.py::test_one"],
        "S9-A-02": ["tests/sample.py::test_one"],
        "S9-B-01": ["tests/sample.py::TestMany::test_two"],
        "S9-C-01": ["tests/sample.py::test_three"],
    }
    assert marks.promise == {3: ["tests/sample.py::test_one"]}
    assert [defect.split(" (")[0] for defect in marks.defects] == [
        "tests/sample.py::test_skipped",
        "tests/sample.py::helper",
        "tests/sample.py::test_computed",
        "tests/sample.py::test_computed",
    ]
