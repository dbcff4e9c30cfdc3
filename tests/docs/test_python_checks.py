"""The example of a pipeline, with real programs: it runs what depends on a change, and believes no agent."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from moot import Workspace
from moot.core.errors import AwaitedFailed
from moot.runs.steps import PipelineStep

EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "examples" / "python-checks"
PATIENCE = 60
STAGES = ["lint", "outline", "test", "review"]
SOURCE = "def total(prices):\n    return sum(prices)\n"
TESTS = """import unittest

import prices


class TotalTest(unittest.TestCase):
    def test_total(self):
        self.assertEqual(prices.total([2, 3]), 5)
"""
REVIEWER = """
import pathlib, re, sys, time
prompt = sys.stdin.read()
source, review = (re.search(f"{what}: (.*)", prompt)[1] for what in ("Read the source", "Write the review"))
names = re.findall(r"def (\\w+)", pathlib.Path(source).read_text())
pathlib.Path(review).parent.mkdir(exist_ok=True)
"""
WRITES = "pathlib.Path(review).write_text(''.join(f'## {name}\\n\\nFine.\\n' for name in names))\n"
SUCCEEDS = "print('```yaml\\nstatus: success\\n```')\n"


class Project:
    """A repository with a Python file and its tests."""

    def __init__(self, root: Path) -> None:
        self.root, self.agent = root, root.parent / "reviewer.py"
        self.write("prices.py", SOURCE)
        self.write("tests/test_prices.py", TESTS)
        self.write(".gitignore", "__pycache__/\n")
        self.reviewer(WRITES + SUCCEEDS)
        command = json.dumps([sys.executable, str(self.agent)])
        self.write("moot.toml", f'packs = ["checks"]\n[run.checks]\nreview = {command}\n')
        self.person = Workspace.init(root, person=True)
        self.person.allow("checks.review", yes=True)

    def write(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text, encoding="utf-8")

    def reviewer(self, body: str) -> None:
        self.agent.write_text(REVIEWER + body, encoding="utf-8")

    def run(self, *, resume: bool = False) -> list[str]:
        """The stages and what became of them."""
        steps, self.failure = list[PipelineStep](), ""
        try:
            steps.extend(self.person.run("checks", ["prices.py"], resume=resume))
        except AwaitedFailed as error:
            self.failure = error.message
        return [f"{step.stage} {step.what}" for step in steps if step.what in ("passed", "reused", "failed")]

    def elsewhere(self) -> subprocess.Popen[bytes]:
        words = [sys.executable, "-m", "moot", "--person", "run", "checks", "prices.py"]
        return subprocess.Popen(words, cwd=self.root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    site, root = tmp_path / "site", tmp_path / "repo"
    shutil.copytree(EXAMPLE / "python_checks", site / "python_checks", ignore=shutil.ignore_patterns("__pycache__"))
    about = site / "python_checks-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: python-checks\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[moot.packs]\nchecks = python_checks.protocol:Checks\n")
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (str(site), os.environ.get("PYTHONPATH")))))
    subprocess.run(["git", "init", "-q", str(root)], check=True, timeout=PATIENCE)
    made = Project(root)
    yield made
    made.person.verify()
    made.person.close()
    for name in [name for name in sys.modules if name.partition(".")[0] == "python_checks"]:
        del sys.modules[name]


def test_the_first_run_runs_every_stage_and_the_second_one_none(project: Project) -> None:
    assert project.run() == [f"{stage} passed" for stage in STAGES]
    assert (project.root / "reviews/prices.md").read_text() == "## total\n\nFine.\n"
    facts = json.loads((project.root / ".checks/prices.py.json").read_text())
    assert facts == {"functions": [{"name": "total", "line": 1}], "outlined": True}
    assert project.run() == [f"{stage} reused" for stage in STAGES]


@pytest.mark.parametrize(
    ("path", "text", "again"),
    [
        ("prices.py", f"{SOURCE}# sums\n", STAGES),
        ("tests/test_prices.py", f"{TESTS}# more\n", ["test"]),
        ("reviews/prices.md", "edited\n", ["review"]),
        ("other.py", "", []),
    ],
)
def test_only_what_depends_on_a_change_runs_again(project: Project, path: str, text: str, again: list[str]) -> None:
    project.run()
    project.write(path, text)
    assert project.run() == [f"{stage} {'passed' if stage in again else 'reused'}" for stage in STAGES]


def test_a_file_that_cannot_be_compiled_ends_the_run_before_its_tests(project: Project) -> None:
    project.write("prices.py", "def total(:\n")
    assert project.run() == ["lint failed"]
    assert "prices.py: lint failed: it cannot be compiled" in project.failure


def test_a_failing_test_ends_the_run_before_the_review(project: Project) -> None:
    project.write("prices.py", "def total(prices):\n    return 7\n")
    assert project.run() == ["lint passed", "outline passed", "test failed"]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (SUCCEEDS, "prices.py:1: the review does not mention total (names-every-function)"),
        (WRITES + "pathlib.Path('prices.py').write_text('')\n" + SUCCEEDS, "prices.py: changed while the stage ran"),
        (WRITES + "print('All is well.')", "no YAML block"),
        (WRITES + SUCCEEDS + "sys.exit(3)", "exit code 3"),
    ],
    ids=["writes nothing", "changes the source", "answers nothing", "fails in the end"],
)
def test_an_agent_that_only_says_it_succeeded_is_caught(project: Project, body: str, why: str) -> None:
    project.reviewer(body)
    assert project.run() == ["lint passed", "outline passed", "test passed", "review failed"]
    assert why in project.failure


def test_a_run_that_is_killed_in_a_stage_goes_on_with_that_stage(project: Project) -> None:
    started = project.root.parent / "started"
    project.reviewer(f"pathlib.Path({str(started)!r}).touch()\ntime.sleep({PATIENCE})\n")
    process = project.elsewhere()
    try:
        end = time.monotonic() + PATIENCE
        while not started.exists() and time.monotonic() < end and process.poll() is None:
            time.sleep(0.02)
        assert started.exists()
    finally:
        process.kill()
        process.wait(PATIENCE)
    project.reviewer(WRITES + SUCCEEDS)
    assert project.run(resume=True) == ["lint reused", "outline reused", "test reused", "review passed"]
    assert [run.outcome for run in project.person.runs()] == ["passed"]
