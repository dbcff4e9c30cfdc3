"""Every known way to talk the ledger into counting a requirement as proven, tried on small test suites."""

from __future__ import annotations

import json
import re
import shutil
from typing import Any

import pytest

from moot.testing.ledger import pin
from moot.testing.ledger.requirements import read_pins
from moot.testing.ledger.verdict import MarkedItem, judge, read_report, tree_digest

pytest_plugins = ["pytester"]

CONFTEST = """
import pytest
from moot.testing.ledger import keep, read

def ledger(root):
    pins = "pins.toml" if (root / "pins.toml").exists() else None
    return read(root, pins=pins, deferred={"S9-A-9": "It waits."}, packages=["nosuchshell", "sh"])

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
"""
REQUIREMENTS = """
[spec]
number = 9
pack = "desk"

[[requirement]]
id = "S9-A-1"
must = "Two is more than one."

[[requirement]]
id = "S9-A-9"
must = "It waits."
"""
PROOF = """
import pytest

@pytest.mark.proves("S9-A-1")
def test_two_is_more_than_one():
    assert len("ab") > len("a")
"""


class Suite:
    """A project with one requirement to prove."""

    def __init__(self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pytester, self.root = pytester, pytester.path
        for name in ("STRICT", "PYTEST_ADDOPTS"):
            monkeypatch.delenv(name, raising=False)
        (self.root / "tests").mkdir()
        for name, text in {"conftest.py": CONFTEST, "pytest.ini": INI, "requirements.toml": REQUIREMENTS}.items():
            self.write(name, text)
        self.write("tests/test_z.py", "def test_of_something_else():\n    assert str(1)\n")

    def write(self, name: str, text: str) -> None:
        (self.root / name).parent.mkdir(exist_ok=True)
        (self.root / name).write_text(text, encoding="utf-8")

    def run(self, *words: str, code: str = "") -> tuple[int, str]:
        """Run the suite: exit status, and what the ledger says about it."""
        if code:
            self.write("tests/test_it.py", f"import pytest\n{code}")
        quiet = ("-p", "no:timeout", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:hypothesispytest")
        result = self.pytester.runpytest_inprocess(*quiet, *words)
        said = re.split(r"=+ requirements =+\n", str(result.stdout), maxsplit=1)
        return int(result.ret), said[1] if len(said) > 1 else ""

    @property
    def report(self) -> dict[str, Any] | None:
        path = self.root / "build" / "requirements.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Suite:
    return Suite(pytester, monkeypatch)


MARK = '@pytest.mark.proves("S9-A-1")'
TEST = "def test_it():\n    assert str(1)"
ONE = "def test_it(x):\n    assert x"
CHEATS = {
    "no test at all": (f"{TEST}", "no test names it"),
    "skip": (f"@pytest.mark.skip\n{MARK}\n{TEST}", "test_it: skipped: unconditional skip"),
    "skipif": (
        f"@pytest.mark.skipif(True, reason='not today')\n{MARK}\n{TEST}",
        "test_it: skipped: not today",
    ),
    "skip in the body": (
        f"{MARK}\n{TEST}\n    pytest.skip('not today')",
        "test_it: skipped: not today",
    ),
    "skip in a fixture": (
        f"@pytest.fixture\ndef no():\n    pytest.skip('no')\n\n{MARK}\ndef test_it(no):\n    assert str(1)",
        "test_it: skipped: no",
    ),
    "skip of the module by a mark": (
        f"pytestmark = pytest.mark.skip(reason='none of it')\n{MARK}\n{TEST}",
        "test_it: skipped: none of it",
    ),
    "skip of the module at import": (
        f"pytest.skip('none of it', allow_module_level=True)\n{MARK}\n{TEST}",
        "pytest collected no test with this mark (S9-A-1)",
    ),
    "importorskip": (
        f"pytest.importorskip('no_such_module')\n{MARK}\n{TEST}",
        "pytest collected no test with this mark (S9-A-1)",
    ),
    "skip of the only parameter": (
        f"SKIP = pytest.mark.skip\n{MARK}\n@pytest.mark.parametrize('x', [pytest.param(1, marks=SKIP)])\n{ONE}",
        "test_it[1]: skipped",
    ),
    "no parameters": (
        f"{MARK}\n@pytest.mark.parametrize('x', [])\ndef test_it(x):\n    assert x",
        "skipped: got empty parameter set",
    ),
    "a package that is installed": (
        f"{MARK}\n{TEST}\n    pytest.skip('sh is not installed')",
        "test_it: skipped: sh is not installed",
    ),
    "a package that nobody would install": (
        f"{MARK}\n{TEST}\n    pytest.skip('courage is not installed')",
        "test_it: skipped: courage is not installed",
    ),
    "xfail": (f"@pytest.mark.xfail\n{MARK}\ndef test_it():\n    assert not str(1)", "test_it: xfailed"),
    "xfail in the body": (
        f"{MARK}\n{TEST}\n    pytest.xfail('known')",
        "test_it: xfailed: known",
    ),
    "passes though it is expected to fail": (
        f"@pytest.mark.xfail\n{MARK}\n{TEST}",
        "test_it: xpassed",
    ),
    "not a test function": (f"{MARK}\ndef check_it():\n    assert str(1)", "pytest collected no test with this mark"),
    "a class with a constructor": (
        f"class TestIt:\n    def __init__(self): ...\n    {MARK}\n    def test_it(self):\n        assert str(1)",
        "pytest collected no test with this mark",
    ),
    "a class that is not collected": (
        f"class TestIt:\n    __test__ = False\n    {MARK}\n    def test_it(self):\n        assert str(1)",
        "pytest collected no test with this mark",
    ),
    "soak only": (f"@pytest.mark.soak\n{MARK}\n{TEST}", "test_it: deselected"),
    "failing": (f"{MARK}\ndef test_it():\n    assert not str(1)", "test_it: failed"),
    "failing afterwards": (
        f"@pytest.fixture\ndef x():\n    yield 1\n    assert not str(1)\n\n{MARK}\n{ONE}",
        "test_it: failed: in teardown",
    ),
    "one of two fails": (
        f"{MARK}\n@pytest.mark.parametrize('x', [0, 1])\ndef test_it(x):\n    assert x",
        "test_it[0]: failed",
    ),
    "one of two is expected to fail": (
        f"{MARK}\n{TEST}\n\n@pytest.mark.xfail\n{MARK}\ndef test_more():\n    assert not str(1)",
        "test_more: xfailed",
    ),
    "a mark on a helper": (f"{MARK}\ndef helper():\n    assert str(1)", "pytest collected no test with this mark"),
    "a mark on a method of a helper": (
        f"class Helper:\n    {MARK}\n    def test_it(self):\n        assert str(1)",
        "pytest collected no test with this mark",
    ),
    "a mark on a class without tests": (
        f"{MARK}\nclass TestNothing:\n    pass",
        "tests/test_it.py::TestNothing (line 2): pytest collected no test with this mark",
    ),
    "a mark in a variable": (
        f"MARK = pytest.mark.proves('S9-A-1')\n{TEST}",
        "pytest collected no test with this mark",
    ),
    "a mark by computed ids": (
        f"IDS = ['S9-A-1']\n@pytest.mark.proves(*IDS)\n{TEST}",
        "proves needs literals of type str",
    ),
    "a mark under another name": (
        f"from pytest import mark as m\n@m.proves('S9-A-1')\n{TEST}",
        "its mark S9-A-1 is not written at the test",
    ),
    "a mark at run time": (
        "def test_it(request):\n    request.node.add_marker(pytest.mark.proves('S9-A-1'))\n    assert str(1)",
        "no test names it",
    ),
    "an unknown id": (
        f"{MARK}\n@pytest.mark.proves('S9-A-2')\n{TEST}",
        "S9-A-2  named by tests/test_it.py::test_it",
    ),
    "a deferred id": (
        f"{MARK}\n@pytest.mark.proves('S9-A-9')\n{TEST}",
        "S9-A-9  named by tests/test_it.py::test_it",
    ),
    "the run is ended early": (
        f"{MARK}\n{TEST}\n\ndef test_more():\n    pytest.exit('done', returncode=0)",
        "2 of 3 tests did not run to their end",
    ),
}


@pytest.mark.parametrize("name", CHEATS)
def test_a_requirement_is_not_talked_into_being_proven(suite: Suite, name: str) -> None:
    code, said = CHEATS[name]
    status, found = suite.run(code=code)
    assert status == 1
    assert said in found


EMPTY = {
    "pass": "pass",
    "dots": "...",
    "a docstring": '"""It works."""',
    "a constant": "assert True",
    "a text": "assert 'it works'",
    "a tuple": "assert (len('a') == 2, 'it works')",
    "equal to itself": "x = len('a')\nassert x == x",
    "constants compared": "assert 1 < 2",
    "or true": "assert len('a') == 2 or True",
    "not false": "assert not False",
    "work without a check": "x = len('a')\nprint(x)",
    "never reached": "if False:\n    assert len('a')",
    "after the return": "return\nassert len('a')",
    "an empty loop": "for x in []:\n    assert x",
    "an inner function that is not called": "def check():\n    assert len('a')",
    "a helper that checks nothing": "helper()",
    "its own error": "with pytest.raises(ValueError):\n    raise ValueError",
    "a swallowed check": "try:\n    assert len('a') == 2\nexcept AssertionError:\n    pass",
    "a suppressed check": "with contextlib.suppress(Exception):\n    assert len('a') == 2",
}


@pytest.mark.parametrize("name", EMPTY)
def test_a_test_that_cannot_fail_proves_nothing(suite: Suite, name: str) -> None:
    body = EMPTY[name].replace("\n", "\n    ")
    status, found = suite.run(code=f"import contextlib\ndef helper(): ...\n{MARK}\ndef test_it():\n    {body}\n")
    assert status == 1
    assert "tests/test_it.py::test_it: checks nothing" in found


SOUND = {
    "assert": "assert len('a')",
    "in a loop": "for x in range(2):\n    assert x < 2",
    "expected error": "with pytest.raises(ValueError):\n    int('x')",
    "expected error of a call": "pytest.raises(ValueError, int, 'x')",
    "fail": "if not len('a'):\n    pytest.fail('no')",
    "raise": "if not len('a'):\n    raise RuntimeError",
    "helper": "helper()",
    "imported helper": "imported()",
    "helper of a module": "more.imported()",
    "helper as an argument": "list(map(imported, []))",
    "inner function": "def check():\n    assert len('a')\ncheck()",
    "handled and raised": "try:\n    assert len('a')\nexcept AssertionError:\n    raise",
}


@pytest.mark.parametrize("name", SOUND)
def test_a_check_is_seen_wherever_it_is_written(suite: Suite, name: str) -> None:
    suite.write("helping.py", "def imported():\n    assert len('a')\n")
    suite.pytester.syspathinsert(suite.root)
    body = SOUND[name].replace("\n", "\n    ")
    head = "import helping as more\nfrom helping import imported\ndef helper():\n    imported()\n"
    assert suite.run(code=f"{head}{MARK}\ndef test_it():\n    {body}\n") == (0, "")


def test_a_passed_test_proves_and_the_report_says_so(suite: Suite) -> None:
    assert suite.run(code=PROOF) == (0, "")
    assert suite.report is not None
    item = "tests/test_it.py::test_two_is_more_than_one"
    assert suite.report["requirements"] == {
        "S9-A-1": {"state": "proven", "proofs": [item]},
        "S9-A-9": {"state": "deferred", "proofs": []},
    }


@pytest.mark.parametrize(
    "code",
    [
        f"pytestmark = pytest.mark.proves('S9-A-1')\n{TEST}",
        f"{MARK}\nclass TestIt:\n    def test_it(self):\n        assert str(1)",
        f"class Base:\n    {MARK}\n    def test_it(self):\n        assert str(1)\n\nclass TestIt(Base):\n    pass",
        f"SKIP = pytest.mark.skip\n{MARK}\n@pytest.mark.parametrize('x', [1, pytest.param(2, marks=SKIP)])\n{ONE}",
        f"@pytest.mark.parametrize('x', [pytest.param(1, marks=pytest.mark.proves('S9-A-1')), 2])\n{ONE}",
    ],
    ids=["module", "class", "base class", "one of two parameters is skipped", "parameter"],
)
def test_a_mark_may_stand_on_a_module_a_class_or_a_parameter(suite: Suite, code: str) -> None:
    assert suite.run(code=code) == (0, "")


def test_the_workers_of_a_parallel_run_report_to_one_ledger(suite: Suite) -> None:
    suite.write("tests/test_it.py", PROOF)
    suite.write("tests/test_other.py", f"import pytest\n@pytest.mark.skip\n{MARK}\n{TEST}\n")
    words = ("-n", "2", "-p", "no:cacheprovider")
    assert suite.pytester.runpytest_subprocess(*words).ret == 0
    assert suite.report is not None
    assert suite.report["requirements"]["S9-A-1"]["state"] == "proven"
    suite.write("tests/test_it.py", PROOF.replace("assert", "pass  # assert"))
    result = suite.pytester.runpytest_subprocess(*words)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*test_two_is_more_than_one: checks nothing"])


def test_a_missing_package_is_named_and_fails_only_where_it_must_be_there(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = f"{MARK}\n{TEST}\n    pytest.skip('nosuchshell is not installed: only looked at')"
    assert suite.run(code=code) == (0, "")
    assert suite.report is not None
    assert suite.report["requirements"]["S9-A-1"]["state"] == "not run here"
    monkeypatch.setenv("STRICT", "1")
    status, said = suite.run()
    assert status == 1
    assert "S9-A-1: nosuchshell is not installed" in said


@pytest.mark.parametrize(
    "words",
    [
        ["-k", "more"],
        ["-m", "soak or not soak"],
        ["tests/test_more.py"],
        ["tests/test_more.py::test_more"],
        ["--deselect", "tests/test_it.py"],
        ["--ignore", "tests/test_it.py"],
        ["--ignore-glob", "*it.py"],
        ["-o", "testpaths=tests/test_more.py"],
    ],
    ids=" ".join,
)
def test_a_run_of_some_tests_writes_nothing_and_fails_nothing(suite: Suite, words: list[str]) -> None:
    suite.write("tests/test_more.py", "def test_more():\n    assert str(1)\n")
    assert suite.run(*words, code=f"{TEST}") == (0, "")
    assert suite.report is None


def test_what_every_run_leaves_out_does_not_make_it_a_run_of_some_tests(suite: Suite) -> None:
    suite.write("pytest.ini", INI.replace("not soak", "not soak and not later") + "    later: not now\n")
    status, said = suite.run(code=f"@pytest.mark.later\n{MARK}\n{TEST}\n\ndef test_more(): ...")
    assert status == 1
    assert "test_it: deselected" in said


def test_all_test_paths_by_name_are_a_whole_run(suite: Suite) -> None:
    assert suite.run("tests", code=PROOF) == (0, "")
    assert suite.report is not None


def test_a_proof_outside_of_the_test_paths_does_not_count(suite: Suite) -> None:
    suite.write("elsewhere/test_it.py", PROOF)
    status, said = suite.run(code=f"{TEST}")
    assert status == 1
    assert "no test names it" in said


def test_a_mark_from_a_conftest_does_not_count(suite: Suite) -> None:
    hook = "def pytest_itemcollected(item):\n    item.add_marker(pytest.mark.proves('S9-A-1'))\n"
    suite.write("tests/conftest.py", f"import pytest\n@pytest.hookimpl(tryfirst=True)\n{hook}")
    status, said = suite.run(code=f"{TEST}")
    assert status == 1
    assert "pytest collected no test with this mark" in said or "is not written at the test" in said


ADDED = '\n[[requirement]]\nid = "S9-A-2"\nmust = "Three is more than two."\n'


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace("is more than", "may be more than"), "S9-A-1 was changed"),
        (lambda text: text[: text.rindex("[[requirement]]")], "S9-A-9 was removed"),
        (lambda text: text + ADDED, "S9-A-2 was added"),
        (lambda text: text.replace("desk", "chair"), "something beside its 2 entries"),
    ],
    ids=["reworded", "deleted", "added", "beside the requirements"],
)
def test_a_changed_requirement_fails_until_it_is_pinned_again(suite: Suite, change: Any, said: str) -> None:
    pin(suite.root, "requirements.toml", "pins.toml")
    assert suite.run(code=PROOF) == (0, "")
    suite.write("requirements.toml", f"# A comment changes nothing.\n{REQUIREMENTS}")
    assert suite.run() == (0, "")
    suite.write("requirements.toml", change(REQUIREMENTS))
    status, found = suite.run()
    assert status == 1
    assert f"requirements.toml: {said}" in found


def test_an_added_requirement_without_a_test_is_open(suite: Suite) -> None:
    suite.write("requirements.toml", REQUIREMENTS + ADDED)
    status, said = suite.run(code=PROOF)
    assert status == 1
    assert "S9-A-2  Three is more than two.\n      no test names it" in said


def test_a_pin_with_a_wrong_count_is_refused(suite: Suite) -> None:
    pin(suite.root, "requirements.toml", "pins.toml")
    text = (suite.root / "pins.toml").read_text(encoding="utf-8")
    suite.write("pins.toml", text.replace("count = 2", "count = 1"))
    with pytest.raises(ValueError, match="2 ids, its count is 1"):
        read_pins(suite.root / "pins.toml")


def test_a_report_is_stale_when_a_test_or_a_requirement_changed(suite: Suite) -> None:
    from moot.testing.ledger import read

    suite.run(code=PROOF)
    report = read_report(read(suite.root))
    assert report is not None
    shutil.rmtree(suite.root / "tests" / "__pycache__", ignore_errors=True)
    assert report[0] == tree_digest(read(suite.root))
    suite.write("tests/test_it.py", PROOF + "\n")
    assert report[0] != tree_digest(read(suite.root))


def test_a_clause_must_belong_to_a_requirement_that_is_otherwise_proven(suite: Suite) -> None:
    from dataclasses import replace

    from moot.testing.ledger import read

    suite.run(code=PROOF)
    ledger = read(suite.root, deferred={"S9-A-9": "It waits."})
    outcomes = [MarkedItem(**one) for one in (suite.report or {})["items"]]
    assert judge(replace(ledger, clauses={"S9-A-1": "Only up to two."}), outcomes).problems == {}
    wrong = judge(replace(ledger, clauses={"S9-A-9": "All."}), outcomes).problems
    assert wrong == {"Defects of the scope": ["S9-A-9 has a clause that is not proven, but is deferred itself"]}
