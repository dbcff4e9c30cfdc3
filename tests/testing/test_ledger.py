"""Every known way to talk the ledger into counting a requirement as proven, tried on one small test suite."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.kit.ledger import Ledger, MarkedItem, Requirement, judge, read_report, tree_digest

pytest_plugins = ["pytester"]

ROOT = Path(__file__).resolve().parents[2]
CONFTEST = """
import pytest
from tests.testing.test_ledger import ledger
from tests.kit.ledger import keep

def pytest_configure(config):
    keep(config, lambda: ledger(config.rootpath))
"""
INI = """
[pytest]
testpaths = tests
addopts = --strict-markers -m "not soak"
filterwarnings =
    ignore::pytest.PytestAssertRewriteWarning
    ignore::pytest.PytestCollectionWarning
markers =
    soak: long
    proves(*ids): ids
    promise(n): number
"""
MARK = '@pytest.mark.proves("ID")'
TEST = "def test_it():\n    assert str(1)"
ONE = "def test_it(x):\n    assert x"
UNSEEN = "pytest collected no test with this mark (ID)"
CHEATS = {
    TEST: "no test names it",
    f"@pytest.mark.skip\n{MARK}\n{TEST}": "skipped: unconditional skip",
    f"@pytest.mark.skipif(True, reason='not today')\n{MARK}\n{TEST}": "skipped: not today",
    f"{MARK}\n{TEST}\n    pytest.skip('not today')": "skipped: not today",
    f"@pytest.fixture\ndef no():\n    pytest.skip('no')\n\n{MARK}\ndef test_it(no):\n    assert str(1)": "skipped: no",
    f"pytestmark = pytest.mark.skip(reason='none of it')\n{MARK}\n{TEST}": "skipped: none of it",
    f"pytest.skip('none of it', allow_module_level=True)\n{MARK}\n{TEST}": UNSEEN,
    f"pytest.importorskip('no_such_module')\n{MARK}\n{TEST}": UNSEEN,
    f"{MARK}\n@pytest.mark.parametrize('x', [pytest.param(1, marks=pytest.mark.skip)])\n{ONE}": "[1]: skipped",
    f"{MARK}\n@pytest.mark.parametrize('x', [])\n{ONE}": "skipped: got empty parameter set",
    f"{MARK}\n{TEST}\n    pytest.skip('sh is not installed')": "skipped: sh is not installed",
    f"{MARK}\n{TEST}\n    pytest.skip('courage is not installed')": "skipped: courage is not installed",
    f"@pytest.mark.xfail\n{MARK}\ndef test_it():\n    assert not str(1)": "xfailed",
    f"@pytest.mark.xfail\n{MARK}\n{TEST}": "xpassed",
    f"{MARK}\ndef check_it():\n    assert str(1)": UNSEEN,
    f"class TestIt:\n    def __init__(self): ...\n    {MARK}\n    def test_it(self):\n        assert str(1)": UNSEEN,
    f"@pytest.mark.soak\n{MARK}\n{TEST}": "deselected",
    f"{MARK}\ndef test_it():\n    assert not str(1)": "failed",
    f"@pytest.fixture\ndef x():\n    yield 1\n    assert not str(1)\n\n{MARK}\n{ONE}": "failed: in teardown",
    f"{MARK}\n@pytest.mark.parametrize('x', [0, 1])\n{ONE}": "[0]: failed",
    f"{MARK}\n{TEST}\n\n@pytest.mark.xfail\n{MARK}\ndef test_more():\n    assert not str(1)": "test_more: xfailed",
    f"{MARK}\nclass TestNothing:\n    pass": UNSEEN,
    f"MARK = pytest.mark.proves('ID')\n{TEST}": UNSEEN,
    "@pytest.mark.proves(*['ID'])\ndef test_it():\n    assert not str(1)": "proves needs literals of type str",
    f"def test_it(request):\n    request.node.add_marker({MARK[1:]})\n    assert str(1)": "no test names it",
    f"{MARK}\ndef test_that_does_nothing(): ...": "test_that_does_nothing: checks nothing",
    f"{MARK}\ndef test_of_a_constant():\n    assert True": "test_of_a_constant: checks nothing",
    f"{MARK}\ndef test_without_a_check():\n    print(len('a'))": "test_without_a_check: checks nothing",
}
HONEST = [
    f"{MARK}\n{TEST}",
    f"pytestmark = pytest.mark.proves('ID')\n{TEST}",
    f"{MARK}\nclass TestIt:\n    def test_it(self):\n        assert str(1)",
    f"class Base:\n    {MARK}\n    def test_it(self):\n        assert str(1)\n\nclass TestIt(Base):\n    pass",
    f"{MARK}\n@pytest.mark.parametrize('x', [1, pytest.param(2, marks=pytest.mark.skip)])\n{ONE}",
    f"@pytest.mark.parametrize('x', [pytest.param(1, marks=pytest.mark.proves('ID')), 2])\n{ONE}",
    f"{MARK}\ndef test_of_an_error():\n    with pytest.raises(ValueError):\n        int('x')",
    f"def helps():\n    assert str(1)\n\ndef helper():\n    helps()\n\n{MARK}\ndef test_by_a_helper():\n    helper()",
]


def ledger(root: Path) -> Ledger:
    """The ledger of the suite: one requirement for each file of tests."""
    ids = [path.stem.removeprefix("test_") for path in sorted((root / "tests").glob("test_*.py"))]
    return Ledger(
        root=root,
        requirements={name: Requirement(name, "S9", f"{name} must be.") for name in [*ids, "waits"]},
        tests=root / "tests",
        deferred={"waits": "It waits."},
        packages=["nosuchshell", "sh"],
        watched=("tests",),
        report=root / "build" / "requirements.json",
    )


class Suite:
    """A project whose every test file has one requirement to prove: the rest of its name."""

    def __init__(self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pytester, self.root = pytester, pytester.path
        for name in ("STRICT", "PYTEST_ADDOPTS"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("PYTHONPATH", str(ROOT))
        self.write("conftest.py", CONFTEST)
        self.write("pytest.ini", INI)

    def write(self, name: str, text: str) -> None:
        (self.root / name).parent.mkdir(exist_ok=True)
        (self.root / name).write_text(text, encoding="utf-8")

    def test(self, name: str, code: str) -> None:
        self.write(f"tests/test_{name}.py", f"import pytest\n{code.replace('ID', name)}\n")

    def run(self, *words: str) -> tuple[int, str]:
        """Run the suite: exit status, and what the ledger says about it."""
        quiet = ("-p", "no:timeout", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:hypothesispytest")
        result = self.pytester.runpytest_inprocess(*quiet, *words)
        parts = re.split(r"=+ requirements =+\n", str(result.stdout), maxsplit=1)
        return int(result.ret), parts[1] if len(parts) > 1 else ""

    @property
    def report(self) -> dict[str, Any] | None:
        path = self.root / "build" / "requirements.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None

    @property
    def states(self) -> dict[str, str]:
        return {name: found["state"] for name, found in (self.report or {})["requirements"].items()}


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Suite:
    return Suite(pytester, monkeypatch)


def test_a_requirement_is_not_talked_into_being_proven(suite: Suite) -> None:
    """Marks of unknown and deferred ids, and those outside of the tests, are named, too."""
    for number, code in enumerate(CHEATS):
        suite.test(f"c{number:02}", code)
    suite.test("outside", TEST)
    suite.write("elsewhere/test_it.py", f"import pytest\n{MARK.replace('ID', 'outside')}\n{TEST}\n")
    suite.test("wrong", f"@pytest.mark.proves('unknown')\n@pytest.mark.proves('waits')\n{MARK}\n{TEST}")
    status, found = suite.run()
    assert status == 1
    assert "unknown  named by " in found
    assert "waits  named by " in found
    assert suite.states.pop("waits") == "deferred"
    assert {name for name, state in suite.states.items() if state != "open"} == {"wrong", "waits"}
    blocks = {name: found.partition(f"\n  {name}  ")[2].split("\n  c")[0] for name in suite.states}
    places = {name: [line for line in found.splitlines() if f"test_{name}.py" in line] for name in suite.states}
    missed = [
        f"{name}: {code}"
        for (name, (code, reason)) in ((f"c{number:02}", pair) for number, pair in enumerate(CHEATS.items()))
        if reason.replace("ID", name) not in "\n".join([blocks[name], *places[name]])
    ]
    assert missed == []


def test_a_passed_test_proves_wherever_its_mark_stands_and_the_report_says_so(suite: Suite) -> None:
    for number, code in enumerate(HONEST):
        suite.test(f"h{number}", code)
    assert suite.run() == (0, "")
    assert {name for name, state in suite.states.items() if state != "proven"} == {"waits"}
    assert suite.report is not None
    assert suite.report["requirements"]["h0"]["proofs"] == ["tests/test_h0.py::test_it"]
    assert suite.run("tests")[0] == 0
    found = read_report(ledger(suite.root))
    assert found is not None
    assert found[0] == tree_digest(ledger(suite.root))
    suite.test("h0", HONEST[0] + "\n")
    assert found[0] != tree_digest(ledger(suite.root))


def test_a_run_that_is_ended_early_proves_nothing(suite: Suite) -> None:
    suite.test("a", f"{MARK}\n{TEST}\n\ndef test_more():\n    pytest.exit('done', returncode=0)")
    status, found = suite.run()
    assert (status, suite.report) == (1, None)
    assert "1 of 2 tests did not run to their end" in found


def test_the_workers_of_a_parallel_run_report_to_one_ledger(suite: Suite) -> None:
    suite.test("a", HONEST[0])
    suite.test("b", next(iter(CHEATS)))
    result = suite.pytester.runpytest_subprocess("-n", "2", "-p", "no:cacheprovider")
    assert result.ret == 1
    assert suite.states == {"a": "proven", "b": "open", "waits": "deferred"}


def test_a_missing_package_is_named_and_fails_only_where_it_must_be_there(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite.test("a", f"{MARK}\n{TEST}\n    pytest.skip('nosuchshell is not installed: only looked at')")
    assert suite.run() == (0, "")
    assert suite.states["a"] == "not run here"
    monkeypatch.setenv("STRICT", "1")
    status, found = suite.run()
    assert status == 1
    assert "a: nosuchshell is not installed" in found


def test_a_run_of_some_tests_writes_nothing_and_fails_nothing(suite: Suite) -> None:
    suite.test("a", TEST)
    suite.write("tests/test_more.py", "def test_more():\n    assert str(1)\n")
    partial = [
        "-k more",
        "-m soak or not soak",
        "tests/test_more.py",
        "--deselect=tests/test_a.py",
        "--ignore-glob=*a.py",
    ]
    assert [words for words in partial if suite.run(words) != (0, "")] == []
    assert suite.report is None


def test_a_clause_must_belong_to_a_requirement_that_is_otherwise_proven(suite: Suite) -> None:
    suite.test("a", HONEST[0])
    suite.run()
    outcomes = [MarkedItem(**one) for one in (suite.report or {})["items"]]
    of = ledger(suite.root)
    assert judge(replace(of, clauses={"a": "Only up to two."}), outcomes).problems == {}
    wrong = judge(replace(of, clauses={"waits": "All."}), outcomes).problems
    assert wrong == {"Defects of the scope": ["waits has a clause that is not proven, but is deferred itself"]}
