"""`moot rspec discover` and `moot rspec cover` up to the settled selection: the real command, real repositories."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from moot import Workspace
from moot.core.errors import Refused
from moot.packs.rspec.cover import CoverStop
from moot.packs.rspec.methods import Rspec
from tests.specs.rspec.payments import method, payments
from tests.specs.rspec.samples import sample
from tests.surfaces.command import PATIENCE, Command

if TYPE_CHECKING:
    from pathlib import Path

    from tests.packs.rspec.repository import Repository

SIX = "class Big\n" + "".join(f"  def m{number}; end\n" for number in range(6)) + "end\n"


class Project(Command):
    """The command in a repository with the branch main. It creates the workspace with the first call."""

    def __init__(self, repository: Repository, home: Path) -> None:
        home.mkdir(exist_ok=True)
        super().__init__(repository.root, repository.root, home)
        self.repository = repository

    def big(self) -> None:
        """A branch with a class of six new methods."""
        self.repository.commit()
        self.repository.branch()
        self.repository.write("app/big.rb", SIX)
        self.repository.commit()

    def runs(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self("runs", "--json").result
        return found

    def typed(self, answers: list[str], *words: str) -> tuple[int, str]:
        """Run it at a terminal, and type an answer whenever it asks for one. An empty list ends the input."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "moot", *words],
            cwd=self.repo,
            env=self._environment(None, None, {"TERM": "dumb", "COLUMNS": "300"}),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        shown, asked, end = b"", 0, time.monotonic() + PATIENCE
        try:
            while time.monotonic() < end and select.select([ours], [], [], PATIENCE)[0]:
                try:
                    piece = os.read(ours, 65536)
                except OSError:
                    break
                shown += piece
                while shown.count(b"+NAME -NAME: ") > asked:
                    os.write(ours, answers[asked].encode() + b"\n" if asked < len(answers) else b"\x04")
                    asked += 1
            return process.wait(PATIENCE), shown.decode().replace("\r\n", "\n")
        finally:
            os.close(ours)
            if process.poll() is None:
                process.kill()
                process.wait()


@pytest.fixture
def project(repository: Repository, tmp_path: Path) -> Project:
    return Project(repository, tmp_path / "home")


@pytest.mark.proves("S2-DISC-19")
def test_discover_prints_the_numbered_methods_or_the_sample_as_json_and_changes_nothing(project: Project) -> None:
    payments(project.repository)
    project("init", "--pack", "rspec")
    before = project.repository.git("status", "--porcelain", "--ignored")
    ran = project("rspec", "discover", "--branch")
    assert ran.code == 2, ran  # a yellow file gives a warning
    assert "  [x]  1 Payment#validate  modified, wave 0\n" in ran.out
    assert "Warning: app/services/payment_processor.rb is in the yellow zone" in ran.err
    assert json.loads(project("rspec", "discover", "--branch", "--json").out)["result"] == sample("discovery-agent")
    assert project.repository.git("status", "--porcelain", "--ignored") == before
    assert project.runs() == []


@pytest.mark.proves("S2-DISC-01")
def test_discover_takes_a_file_from_wherever_the_caller_is_and_staged_changes(project: Project) -> None:
    payments(project.repository)
    ran = project("rspec", "discover", "payment.rb", "--json", cwd=project.repo / "app/models")
    assert [item["path"] for item in ran.result["files"]] == ["app/models/payment.rb"]
    project.repository.write("lib/new.rb", "class New\n  def x; end\nend\n")
    project.repository.git("add", "lib/new.rb")
    ran = project("rspec", "discover", "--staged", "--json")
    assert [item["path"] for item in ran.result["files"]] == ["lib/new.rb"]


@pytest.mark.proves("S2-DISC-18")
def test_an_error_is_on_standard_error_with_a_suggestion_and_exit_code_1(project: Project) -> None:
    project.repository.write("config/routes.rb", "x\n")
    project.repository.write("app/broken.rb", "class A\n  def x(\nend\n")
    (project.repo / "app/link.rb").symlink_to("/etc/hostname")
    project.repository.commit()
    for verb, words, said in (
        ("discover", ("--branch",), "No testable Ruby files found"),
        ("cover", ("--branch",), "No testable Ruby files found"),
        ("cover", ("app/none.rb",), "There is no file app/none.rb"),
        ("discover", ("--branch", "--staged"), "Only one of PATH, --branch and --staged"),
        ("cover", (), "No source was named"),
        ("discover", ("--branch", "--base", "nowhere"), "'nowhere' is not a commit"),
        ("discover", ("--staged", "--base", "main"), "compared with HEAD"),
        ("discover", ("/etc/passwd",), "/etc is not in a workspace"),
        ("discover", ("config/routes.rb",), "config/routes.rb is not Ruby code"),
        ("cover", ("app/broken.rb",), "app/broken.rb does not parse"),
        ("cover", ("app/link.rb",), "outside the repository"),
    ):
        ran = project("rspec", verb, *words)
        assert (ran.code, ran.out) == (1, ""), ran
        assert ran.err.startswith("Error: ")
        assert said in ran.err
        assert len(ran.err.strip().splitlines()) > 1, "a suggestion follows"
    assert project.runs() == []


@pytest.mark.proves("S2-DISC-06", "S2-DISC-15", "S2-FLOW-02")
def test_new_code_in_the_red_zone_stops_before_anybody_is_asked(project: Project) -> None:
    project.repository.commit()
    project.repository.branch()
    project.repository.write("app/big.rb", "class Big\n" + method("x", 301) + "end\n")
    project.repository.commit()
    for words in (("discover", "--branch"), ("cover", "--branch"), ("cover", "--branch", "--yes")):
        ran = project("rspec", *words)
        assert ran.code == 3
        assert "app/big.rb" in ran.out
        assert "Split it" in ran.out
    assert not (project.repo / "tmp").exists()
    assert [(run["outcome"], run["reason"]) for run in project.runs()] == [("stopped", "red_zone_new_code")] * 2
    assert project("checkpoints", "--json").result == []


@pytest.mark.proves("S2-DISC-16")
@pytest.mark.parametrize(
    ("options", "selected"),
    [
        (("--yes",), 6),
        (("--only", "Big#m1", "--only", "*#m[2]*"), None),
        (("--only", "Big#m1", "--only", "*2"), 2),
        (("--all", "--except", "Big#*"), 0),
    ],
)
def test_options_select_beforehand_without_a_question(
    project: Project, options: tuple[str, ...], selected: int | None
) -> None:
    project.big()
    ran = project("rspec", "cover", "--branch", *options)
    if selected is None:
        assert ran.code == 1
        assert "No method matches '*#m[2]*'" in ran.err
        assert project.runs() == []
        return
    assert ran.code == (1 if selected else 3), ran
    if selected:
        assert "{BEHAVIOR_DESCRIPTION} is left" in ran.err
    assert project("checkpoints", "--json", "--all").result == []
    if not selected:
        assert project.runs()[0]["reason"] == "user_cancelled"
        assert not (project.repo / "tmp").exists()


@pytest.mark.proves("S2-HARD-14", "S2-DISC-16", "S2-DISC-17")
def test_the_question_is_durable_is_answered_once_and_is_asked_again_if_nothing_matches(project: Project) -> None:
    project.big()
    waiting = json.loads(project("rspec", "cover", "--branch", "--json").out)["result"]
    first = waiting["checkpoint"]
    (question,) = project("checkpoints", "--json").result
    assert question["id"] == first
    for part in ("app/big.rb", "green", "Big#m0", "new, wave 0"):
        assert part in question["question"]
    again = project("rspec", "select", "--json")
    assert again.code == 3, again
    assert json.loads(again.out)["result"]["checkpoint"] == first
    assert project("checkpoint", "resolve", first, "Nothing#*").code == 0
    assert project("checkpoint", "resolve", first, "all").code == 3, "only the first answer counts"
    asked = json.loads(project("rspec", "select", "--json").out)["result"]
    assert asked["checkpoint"] == first.replace("select-1", "select-2")
    (question,) = project("checkpoints", "--json").result
    assert "No method matches 'Nothing#*'" in question["question"]
    assert project("rspec", "select", "None#*").code == 1, "the question stays open"
    assert "{BEHAVIOR_DESCRIPTION} is left" in project("rspec", "select", "--", "-Big#m3").err
    assert project("checkpoint", "resolve", asked["checkpoint"], "all").code == 3
    assert project("rspec", "select", "all").code == 1, "nothing waits any more"
    assert project("checkpoints", "--json").result == []


@pytest.mark.proves("S2-DISC-15", "S2-FLOW-02")
def test_cancelling_ends_the_run_as_stopped_without_a_document(project: Project) -> None:
    project.big()
    waiting = json.loads(project("rspec", "cover", "--branch", "--json").out)["result"]
    project("checkpoint", "resolve", waiting["checkpoint"], "cancel")
    ran = project("rspec", "select", "--json")
    assert ran.code == 3
    stopped = json.loads(ran.out)["result"]
    assert (stopped["status"], stopped["reason"]) == ("stop", "user_cancelled")
    assert not (project.repo / "tmp").exists()


@pytest.mark.proves("S2-DISC-16", "S2-DISC-17")
def test_at_a_terminal_the_plan_is_shown_and_a_useless_answer_asks_again(project: Project) -> None:
    project.big()
    code, shown = project.typed(["Nothing#*", "cancel"], "rspec", "cover", "--branch")
    assert code == 3
    for part in ("app/big.rb", "[x]  1 Big#m0  new, wave 0", "No method matches 'Nothing#*'", "stopped"):
        assert part in shown
    (question,) = project("checkpoints", "--all", "--json").result
    assert (question["status"], question["answer"]) == ("resolved", "cancel")


@pytest.mark.proves("S2-HARD-14")
def test_the_end_of_input_at_a_terminal_leaves_the_question_open(project: Project) -> None:
    project.big()
    code, shown = project.typed([], "rspec", "cover", "--branch")
    assert code == 3
    assert "stays open" in shown
    (question,) = project("checkpoints", "--json").result
    assert project("checkpoint", "resolve", question["id"], "cancel").code == 0


def test_an_agent_can_cover_but_not_answer_its_own_question(project: Project) -> None:
    project.big()
    project("rspec", "discover", "--branch")
    project("join", "Yeats")
    waiting = json.loads(project("rspec", "cover", "--branch", "--json", agent="Yeats").out)["result"]
    assert project("checkpoint", "resolve", waiting["checkpoint"], "all", agent="Yeats").code == 1
    assert project("rspec", "select", "all", agent="Yeats").code == 1
    assert project("checkpoints", "--json").result[0]["status"] == "reached"


@pytest.mark.proves("S2-DISC-16")
def test_programs_discover_and_choose_by_typed_methods(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.big()
    project("init", "--pack", "rspec")
    for name, value in project.environment.items():
        monkeypatch.setenv(name, value)
    with Workspace(str(project.repo)) as workspace:
        rspec = workspace.pack(Rspec)
        assert rspec.discover(branch=True)["summary"]["total_methods"] == 6
        waiting = rspec.cover(branch=True)
        assert isinstance(waiting, CoverStop)
        assert waiting.status == "waiting"
        with pytest.raises(Refused, match="BEHAVIOR_DESCRIPTION} is left"):
            rspec.select(["Big#m1", "Big#m2"])
    document = yaml.safe_load((project.repo / "tmp/rspec_metadata/app_big.yml").read_text())
    assert [one["name"] for one in document["methods"]] == ["m1", "m2"]
