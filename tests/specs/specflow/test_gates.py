"""Agent Roles / quality-gate: gates that run real commands."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from moot.api.verbs.runs.site import site_of
from moot.core.errors import AwaitedFailed
from moot.packs.specflow import tree
from moot.packs.specflow.gates import work_off
from moot.packs.specflow.reports import BASELINE
from moot.place import MAIN, Place
from tests.specs.orchestrator.project import until
from tests.specs.specflow.project import LEAD, SWIFT, YEATS, Project, issue
from tests.specs.specflow.test_reports import playwright, spec

CONTRACTS, JOURNEYS, REGRESSION = "contracts", "journeys", "regression"
SIGNUP, LOGIN = "tests/e2e/journey_signup_flow.spec.ts", "tests/e2e/journey_login_2fa.spec.ts"
REPORTS = {name: f"out/{name}.json" for name in (CONTRACTS, JOURNEYS, REGRESSION)}
# What a command does is in a file, so that its script, which was allowed, never changes.
SCRIPT = """\
import json, os, subprocess, sys, time
stage, *files = sys.argv[1:]
with open(".git/ran", "a") as log:
    log.write(json.dumps([stage, *files]) + "\\n")
with open(".git/play.json") as file:
    play = json.load(file).get(stage, {})
print(play.get("says", "all is well"), flush=True)
if "report" in play:
    os.makedirs("out", exist_ok=True)
    with open(f"out/{stage}.json", "w") as file:
        file.write(play["report"])
if "signal" in play:
    os.kill(os.getpid(), play["signal"])
if "sleep" in play:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
    with open(".git/child", "w") as file:
        file.write(f"{os.getpid()} {child.pid}")
    time.sleep(play["sleep"])
sys.exit(play.get("code", 0))
"""


def settings(*reports: str, timeout: str = "60s") -> str:
    lines = ["[run.specflow]"]
    for stage in (CONTRACTS, JOURNEYS, REGRESSION):
        words = [sys.executable, "gate.py", stage, *(["{files}", "--reporter=json"] if stage == JOURNEYS else [])]
        lines.append(f'{stage} = {{ command = {json.dumps(words)}, timeout = "{timeout}" }}')
    named = ", ".join(f'{stage} = "{REPORTS[stage]}"' for stage in reports)
    return "\n".join([*lines, "[pack.specflow]", f"reports = {{ {named} }}", 'migrations = "db"', ""])


class Gated:
    """A wave of two issues with gates, whose lead is a person. Issue 50 has a journey, and both share another."""

    def __init__(self, project: Project, body: str = "See J-SIGNUP-FLOW.") -> None:
        self.project = project
        for file in (SIGNUP, LOGIN):
            project.put(file)
        project.put("gate.py", SCRIPT)
        project.put(".gitignore", "out\n")
        self.start = project.commit(src__lib__auth_ts="1\n", db__1_a_sql="create table a (id int);")
        assert project.cli("allow", "--all", "--yes").code == 0
        project.plan(issue(50, body), issue(51, "Two."))
        agents = [{"name": name, "prompt": name} for name in ("Yeats", "Swift")]
        project.ask("specflow spawn-team", name="Fianna", config={"agents": agents})
        self.play()

    def play(self, **stages: dict[str, Any]) -> None:
        self.project.put(".git/play.json", json.dumps(stages))

    def gate(self, *tier: str, accept: bool = False) -> list[Any]:
        """`moot specflow gate`: the runs that it performed; the last one is the one that was asked for."""
        found = []
        try:
            answer = self.project.run("specflow gate", **({"tier": tier[0], "accept": accept} if tier else {}))
            found = [one.result for one in answer.more or ()]
        except AwaitedFailed as error:
            found = [self.run(error.details["run"])]
        return found

    def run(self, name: str) -> Any:
        return self.project.session().run("run show", {"id": name}).result

    def ran(self) -> list[list[str]]:
        """The commands since the last look."""
        path = self.project.root / ".git/ran"
        lines = path.read_text().splitlines() if path.exists() else []
        path.write_text("")
        return [json.loads(line) for line in lines]

    def contracts(self, agent: str) -> Any:
        """Ask for contracts, and let the gate run."""
        self.project.write(agent, "quality-gate", "RUN_CONTRACTS")
        return self.gate()[-1]

    def ready(self, *agents: str) -> None:
        for agent in agents:
            number = 50 if agent == YEATS else 51
            if self.project.issue(number).task.state == "pending":
                self.project.run("task claim", agent, task=f"issue-{number}")
            run = self.contracts(agent)
            assert run.outcome == "passed", run.reason
            self.project.write(agent, "waves-controller", f"READY_FOR_CLOSURE #{number} {run.id}")
            self.project.run("task complete", agent, task=f"issue-{number}")

    def asked(self, tier: str, accept: bool = False) -> Any:
        return self.project.refusal("specflow gate", tier=tier, accept=accept)


def gone(project: Project) -> bool:
    """Whether the processes of the last command that sleeps have ended."""
    states = [Path(f"/proc/{one}/stat") for one in (project.root / ".git/child").read_text().split()]
    return not any(one.exists() and one.read_text().rpartition(")")[2].split()[0] != "Z" for one in states)


def performed(project: Project) -> None:
    """Work the queue off, as a driver does."""
    call = project.session()
    with site_of(call).fork() as site:
        assert list(work_off(site, call.packs.protocol("specflow")))


def commit_of(project: Project) -> str:
    return project.git("rev-parse", "HEAD").strip()


@pytest.fixture
def gated(make_project: Callable[..., Project]) -> Gated:
    return Gated(make_project(settings()))


@pytest.fixture
def reported(make_project: Callable[..., Project]) -> Gated:
    return Gated(make_project(settings(CONTRACTS, JOURNEYS, REGRESSION)))


@pytest.mark.proves("S3-QG-01", "S3-QG-02", "S3-QG-04", "S3-QG-05", "S3-QG-11", "S3-MSG-08", "S3-MSG-09", "S3-HARD-23")
def test_each_request_gets_a_run_of_its_own_and_a_result_in_the_order_of_the_log(gated: Gated) -> None:
    project = gated.project
    assert not gated.gate()
    assert not gated.ran()
    for agent in (SWIFT, YEATS, SWIFT):
        project.write(agent, "quality-gate", "RUN_CONTRACTS")
    runs = gated.gate()
    assert [(run.task, run.outcome) for run in runs] == [
        ("issue-51", "passed"),
        ("issue-50", "passed"),
        ("issue-51", "passed"),
    ]
    assert gated.ran() == [[CONTRACTS], [CONTRACTS], [JOURNEYS, SIGNUP, "--reporter=json"], [CONTRACTS]]
    (yeats,) = project.inbox(YEATS, "CONTRACT_RESULTS")
    assert (yeats["text"], yeats["data"]["run"], yeats["data"]["issue"]) == ("CONTRACT_RESULTS PASS", runs[1].id, 50)
    assert runs[1].id in project.voice("inbox", "--all", agent=YEATS).out
    assert [data["data"]["run"] for data in project.inbox(SWIFT, "CONTRACT_RESULTS")] == [runs[0].id, runs[2].id]
    asked = [data["data"]["run"] for data in project.inbox("w1.keane", "RUN_CONTRACTS")]
    assert asked == [run.id for run in runs]
    gated.play(journeys={"code": 1, "says": "no such button"})
    failed = gated.contracts(YEATS)
    assert failed.outcome == "failed"
    text = project.texts(YEATS, "CONTRACT_RESULTS")[-1]
    assert text.startswith("CONTRACT_RESULTS FAIL ")
    assert "no such button" in text
    project.run("task claim", YEATS, task="issue-50")
    for certificate in (failed.id, runs[0].id, "run-nothing"):
        assert project.unwritten(YEATS, "waves-controller", f"READY_FOR_CLOSURE #50 {certificate}").code == (
            "bad_certificate"
        )
    project.git("commit", "--quiet", "--amend", "--allow-empty", "-m", "history was rewritten")
    refused = project.unwritten(YEATS, "waves-controller", f"READY_FOR_CLOSURE #50 {runs[1].id}")
    assert gated.start in refused.message
    gated.play()
    gated.ready(YEATS)
    assert project.issue(50).status == "ready"


@pytest.mark.proves("S3-ISS-03", "S3-QG-02", "S3-QG-03", "S3-LEAD-03")
def test_failed_tests_are_named_and_after_three_failures_the_agent_must_report_it(reported: Gated) -> None:
    project = reported.project
    report = playwright({"a.spec.ts": [spec("adds", "failed"), spec("removes", "passed")]}).decode()
    reported.play(contracts={"code": 1, "report": report})
    for _ in range(2):
        assert reported.contracts(SWIFT).counts == {"tests": 2, "failed": 1}
    text = project.texts(SWIFT, "CONTRACT_RESULTS")[-1]
    assert "a.spec.ts > happy path > adds > [chromium]" in text
    assert "removes" not in text
    os.unlink(project.root / SIGNUP)
    good = playwright({"a.spec.ts": [spec("adds", "passed")]}).decode()
    reported.play(contracts={"report": good}, journeys={"report": good})
    assert SIGNUP in reported.contracts(YEATS).reason
    reported.play(contracts={"code": 1})
    assert reported.contracts(SWIFT).outcome == "failed"
    refused = project.unwritten(SWIFT, "quality-gate", "RUN_CONTRACTS")
    assert (refused.code, "BLOCKED #51" in refused.remedy) == ("attempts_used", True)
    assert not reported.gate()


@pytest.mark.proves("S3-HARD-20", "S3-HARD-21", "S3-HARD-19")
def test_no_gate_passes_without_evidence(make_project: Callable[..., Project]) -> None:
    gated = Gated(make_project(settings(CONTRACTS, timeout="2s")))
    good = playwright({"a.spec.ts": [spec("adds $(touch x)", "passed")]}).decode()
    gated.play(contracts={"report": good})
    assert gated.contracts(SWIFT).outcome == "passed"
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"report": good, "signal": signal.SIGKILL}, "signal 9"),
        ({}, REPORTS[CONTRACTS]),  # the report of the run before is still there
        ({"code": 2}, "exit code 2"),
        ({"report": good[:-9]}, "cannot be read"),
        ({"report": playwright({}).decode()}, "no executed test"),
        ({"report": good, "sleep": 60, "says": "so far"}, "timed out after 2s"),
    ]
    gated.project.session().workspace.reload()
    run: Any = None
    for play, cause in wrong:
        gated.play(contracts=play)
        run = gated.contracts(SWIFT if gated.project.issue(51).failed < 3 else YEATS)
        assert run.outcome == "failed", play
        assert cause in run.reason, run.reason
    assert run.tries[-1].timed_out
    assert "so far" in gated.project.session().run("run log", {"id": run.id}).result.output
    assert gone(gated.project)
    assert not (gated.project.root / "x").exists()


@pytest.mark.proves("S3-QG-02")
def test_a_gate_knows_where_its_report_belongs_and_the_contracts_also_whose_they_are(
    make_project: Callable[..., Project],
) -> None:
    code = "import os, sys; open(sys.argv[1], 'w').write(sys.argv[2] % os.environ['ISSUE_NUMBER'])"
    words = [sys.executable, "-c", code, "{report}", '<testsuite><testcase name="%s"/></testsuite>']
    toml = f"[run.specflow]\ncontracts = {json.dumps(words)}\n[pack.specflow.reports]\ncontracts = 'report.xml'\n"
    gated = Gated(make_project(toml), "One.")
    for agent in (YEATS, SWIFT, YEATS):  # the report of the run before is there
        run = gated.contracts(agent)
        assert run.outcome == "passed", run.reason
        assert json.loads(gated.project.session().blob(run.tries[0].answer)) == {"tests": {run.task[6:]: "pass"}}
    named = gated.project.root / "moot.toml"
    named.write_text(named.read_text().replace("{report}", "report.xml"))
    gated.project.write(SWIFT, "quality-gate", "RUN_CONTRACTS")
    gated.project.session().workspace.reload()
    performed(gated.project)
    assert "{report}" in gated.project.texts(SWIFT, "CONTRACT_RESULTS")[-1]


@pytest.mark.proves("S3-HARD-20", "S3-QG-02")
def test_a_gate_without_a_command_or_with_one_that_cannot_be_started_fails(gated: Gated) -> None:
    toml = gated.project.root / "moot.toml"
    for old, new, cause in (
        ("contracts = {", "resume = {", "contracts"),
        (sys.executable, "/no/such/program", "No such"),
    ):
        gated.project.write(SWIFT, "quality-gate", "RUN_CONTRACTS")
        text = toml.read_text()
        toml.write_text(text.replace(old, new))
        gated.project.session().workspace.reload()
        assert gated.project.cli("allow", "--all", "--yes").code in (0, 1)
        performed(gated.project)
        assert cause in gated.project.texts(SWIFT, "CONTRACT_RESULTS")[-1]
        toml.write_text(text)


@pytest.mark.proves("S3-QG-02")
def test_nothing_runs_before_a_person_allowed_it(gated: Gated) -> None:
    assert gated.project.cli("allow", "--all", "--revoke").code == 0
    gated.project.write(SWIFT, "quality-gate", "RUN_CONTRACTS")
    assert gated.project.refusal("specflow gate").code == "not_allowed"
    performed(gated.project)
    assert "moot allow specflow.contracts" in gated.project.texts(SWIFT, "CONTRACT_RESULTS")[-1]
    assert not gated.ran()


@pytest.mark.proves("S3-HARD-22")
def test_without_git_a_digest_of_the_files_takes_the_place_of_the_commit(folder: Path) -> None:
    place = Place(root=str(folder), state=str(folder / ".moot"), common=None, worktree=MAIN, main_root=None)
    seen = []
    for name in ("src/a.ts", BASELINE, "out/regression.json", ".moot/x", "src/b.ts"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")
        seen.append(tree.version(place, ["out/regression.json"]))
    assert seen[0] == seen[1] == seen[2] == seen[3] != seen[4]
    assert not tree.uncommitted(place)


@pytest.mark.proves("S3-LEAD-04", "S3-LEAD-06", "S3-BAR-03", "S3-HARD-11", "S3-HARD-30", "S3-HARD-22")
def test_tier_2_is_refused_while_something_is_missing_or_to_be_looked_at(gated: Gated) -> None:
    project = gated.project
    gated.ready(YEATS)
    refused = gated.asked("tier2")
    assert (refused.code, refused.details["missing"]) == ("not_all_ready", ["#51 (pending)"])
    assert project.unwritten(LEAD, "quality-gate", "RUN_JOURNEY_TIER2 issues:[50]").code == "wrong_issues"
    assert project.unwritten(LEAD, "quality-gate", "RUN_REGRESSION wave:1").code == "tier2_missing"
    assert project.unwritten(LEAD, "quality-gate", "RUN_REGRESSION wave:2").code == "wrong_wave"
    gated.ready(SWIFT)
    project.touch(SWIFT, "src/lib/claimed.ts")
    project.put("src/lib/claimed.ts")
    project.run("release", SWIFT, what=("src/lib/claimed.ts",))
    project.put("src/lib/pages/[id].ts", "a\n// TODO: Add to index.ts export: Button\n")
    project.put("src/features/auth/Card.tsx", "// TODO: Add to index.ts export\n")
    project.put("notes.md", "// TODO: Add to index.ts export: not a source file\n")
    project.write(YEATS, "db-coordinator", "REQUEST_MIGRATION #50 tables:[users]")
    for name in ("2_users.sql", "2_users.down.sql", "7_own.sql", "1_b.sql"):
        project.put(f"db/{name}")
    project.put("src/lib/auth.ts", "2\n")
    found = gated.asked("tier2")
    assert found.code == "findings"
    assert [one.partition(": ")[0] for one in found.details["missing"]] == [
        "src/features/auth/Card.tsx:1",
        "src/lib/pages/[id].ts:2",
        "src/lib/auth.ts",
        "src/lib/pages/[id].ts",
        "db/1_b.sql",  # nobody was assigned the number
        "db/1_b.sql",  # and db/1_a.sql has it
        "db/7_own.sql",
    ]
    assert found.details["missing"][1].endswith("export: Button")
    assert gated.asked("tier2", accept=True).details["missing"] == ["src/lib/auth.ts"]  # it is not committed
    project.commit()
    assert project.refusal("specflow gate", SWIFT, tier="tier2", accept=True).code == "wrong_role"
    (run,) = gated.gate("tier2", accept=True)
    assert run.outcome == "passed"
    accepted = project.events("task:described")
    assert any(set(found.details["missing"]) <= set(one.data["extra"].get("accepted", ())) for one in accepted)
    project.put("src/hooks/use.ts")
    assert [one.partition(": ")[0] for one in gated.asked("tier2").details["missing"]] == ["src/hooks/use.ts"]


@pytest.mark.proves("S3-QG-06", "S3-LEAD-05", "S3-MSG-10", "S3-MSG-14", "S3-HARD-22", "S3-INSP-05")
def test_a_failed_tier_2_gives_the_work_back_to_the_agents_that_its_tests_name(reported: Gated) -> None:
    project = reported.project
    good = playwright({"journey_signup_flow.spec.ts": [spec("signs up", "passed")]}).decode()
    bad = playwright({"journey_signup_flow.spec.ts": [spec("signs up", "failed"), spec("is told", "passed")]}).decode()
    reported.play(contracts={"report": good}, journeys={"report": good})
    reported.ready(YEATS, SWIFT)
    reported.ran()
    reported.play(journeys={"report": bad, "code": 1})
    (run,) = reported.gate("tier2")
    assert reported.ran() == [[JOURNEYS, SIGNUP, "--reporter=json"]]
    assert (run.outcome, run.counts) == ("failed", {"tests": 2, "failed": 1})
    (result,) = project.inbox(project.wave().lead, "JOURNEY_TIER2_RESULTS")
    assert result["data"]["run"] == run.id
    assert "journey_signup_flow.spec.ts > happy path > signs up > [chromium] #50" in result["text"]
    assert (project.wave().state, project.wave().tier2) == ("running", None)
    yeats, swift = project.issue(50), project.issue(51)
    assert (yeats.status, yeats.task.state, yeats.task.holder) == ("", "in_progress", f"{YEATS}#1")
    assert (swift.status, swift.task.state) == ("ready", "completed")
    assert "signs up" in project.texts(YEATS, "note")[-1]
    assert not any("signs up" in text for text in project.texts(SWIFT, "note"))
    reported.play(contracts={"report": good}, journeys={"report": good})
    reported.ready(YEATS)
    (run,) = reported.gate("tier2")
    assert project.texts(project.wave().lead, "JOURNEY_TIER2_RESULTS")[-1] == f"JOURNEY_TIER2_RESULTS PASS {run.id}"
    assert (project.wave().state, project.wave().tier2) == ("gating", {"run": run.id, "commit": commit_of(project)})
    said = "\n".join(project.session().run("run show", {"id": run.id}).say)
    for fact in (
        "tier: tier2",
        "issues: [50, 51]",
        "wave: 1",
        "tests: 1",
        "exit code 0",
        f"commit {commit_of(project)}",
    ):
        assert fact in said, fact
    shown = reported.run(run.id)
    (attempt,) = shown.tries
    assert (shown.parameters["tier"], shown.parameters["issues"], shown.parameters["wave"]) == ("tier2", [50, 51], 1)
    assert (attempt.code, attempt.outputs["commit"], attempt.command[-2:]) == (
        0,
        commit_of(project),
        (SIGNUP, "--reporter=json"),
    )
    assert attempt.at < attempt.ended
    assert "all is well" in project.session().run("run log", {"id": run.id}).result.output


@pytest.mark.proves(
    "S3-QG-07", "S3-QG-08", "S3-QG-10", "S3-HARD-22", "S3-HARD-25", "S3-HARD-26", "S3-HARD-27", "S3-MSG-11"
)
def test_tier_3_compares_with_the_baseline_and_replaces_it_when_nothing_is_worse(make_project: Any) -> None:
    gated = Gated(make_project(settings(REGRESSION)))
    project, path = gated.project, gated.project.root / BASELINE

    def suite(**ends: str) -> dict[str, Any]:
        return {"report": playwright({"a.spec.ts": [spec(test, end) for test, end in ends.items()]}).decode()}

    def tests() -> dict[str, str]:
        return {name.split(" > ")[2]: how for name, how in json.loads(path.read_text())["tests"].items()}

    def tier3(accept: bool = False, code: int = 0, **ends: str) -> Any:
        if project.wave().tier2 is None:
            gated.play()
            gated.ready(*(agent for agent, number in ((YEATS, 50), (SWIFT, 51)) if not project.issue(number).status))
            gated.gate("tier2")
        gated.play(regression={**suite(**ends), "code": code})
        return gated.gate("tier3", accept=accept)[-1]

    gated.ready(YEATS, SWIFT)
    gated.gate("tier2")
    project.commit()
    refused = project.unwritten(LEAD, "quality-gate", "RUN_REGRESSION wave:1")
    assert (refused.code, gated.start in refused.message) == ("tier2_missing", True)
    gated.gate("tier2")
    project.put("src/lib/auth.ts", "2\n")
    assert project.unwritten(LEAD, "quality-gate", "RUN_REGRESSION wave:1").code == "uncommitted"
    project.git("checkout", "--quiet", ".")

    run = tier3(a="passed", b="passed", c="failed", code=1)
    assert (run.outcome, run.counts["new"], run.counts["new_failing"]) == ("failed", 2, 1)
    assert not path.exists()
    run = tier3(accept=True, a="passed", b="passed", c="failed", code=1)
    assert (run.outcome, run.counts["accepted"], tests()) == ("passed", 1, {"a": "pass", "b": "pass", "c": "fail"})
    project.commit()
    gated.gate("tier2")
    inode = path.stat().st_ino
    run = tier3(a="passed", b="passed", c="passed", d="passed")
    assert (run.outcome, run.counts["fixed"], run.counts["new"]) == ("passed", 1, 1)
    assert json.loads(path.read_text())["last_commit"] == commit_of(project)
    assert path.stat().st_ino != inode
    assert os.listdir(path.parent) == ["baseline.json"]
    before = path.read_bytes()
    run = tier3(a="failed", b="skipped", d="passed", code=1)
    assert (run.counts["regression"], run.counts["missing"]) == (1, 2)
    assert path.read_bytes() == before
    said = project.texts(project.wave().lead, "REGRESSION_RESULTS")[-1]
    assert all(f"{name} > [chromium]" in said for name in ("a", "b", "c"))
    assert (project.wave().state, project.issue(51).status) == ("running", "")
    assert tier3(a="passed", b="passed", c="passed", d="passed", code=3).reason == "exit code 3"
    path.write_text(path.read_text().replace('"pass"', '"passed"', 1))
    bad = tier3(a="passed", b="passed", c="passed", d="passed")
    assert (bad.outcome, BASELINE in bad.reason, "line " in bad.reason) == ("failed", True, True)
    assert not bad.tries[-1].code
    assert tier3(accept=True, a="passed").outcome == "passed"
    assert tests() == {"a": "pass"}


@pytest.mark.proves("S3-QG-07", "S3-QG-06", "S3-QG-10", "S3-LEAD-05", "S3-HARD-22")
def test_without_reports_and_journeys_exit_codes_decide_and_everybody_gets_the_work_back(make_project: Any) -> None:
    gated = Gated(make_project(settings()), body="no journey")
    project = gated.project
    old = {"last_commit": None, "last_updated": None, "last_wave": None, "tests": {"a": "pass"}, "version": 1}
    project.put(BASELINE, json.dumps(old))
    project.run("task link", task="issue-51", needs=("issue-50",))
    gated.ready(YEATS, SWIFT)
    gated.ran()
    assert gated.gate("tier2")[-1].outcome == "passed"
    assert gated.ran() == [[CONTRACTS]]
    assert gated.gate("tier3", accept=True)[-1].outcome == "failed"
    assert [project.issue(number).task.state for number in (50, 51)] == ["in_progress"] * 2
    assert [project.issue(number).status for number in (50, 51)] == [""] * 2
    gated.ready(YEATS, SWIFT)
    gated.gate("tier2")
    assert gated.gate("tier3")[-1].outcome == "passed"
    new = json.loads((project.root / BASELINE).read_text())
    assert (new["tests"], new["last_wave"], new["last_commit"]) == ({"a": "pass"}, 1, commit_of(project))
    project.write(SWIFT, "quality-gate", "RUN_CONTRACTS")
    project.run("specflow request-shutdown", abort="enough")
    gated.ran()
    (run,) = gated.gate()
    assert (run.outcome, gated.ran()) == ("stopped", [])


@pytest.mark.proves("S3-QG-11", "S3-HARD-21")
def test_a_gate_whose_process_was_killed_runs_again_and_its_command_is_ended(gated: Gated) -> None:
    project = gated.project
    gated.play(contracts={"sleep": 120})
    project.write(SWIFT, "quality-gate", "RUN_CONTRACTS")
    process = project.start("specflow", "gate")
    child = project.root / ".git/child"
    until(lambda: child.exists() and len(child.read_text().split()) == 2, "the command runs")
    project.write(YEATS, "quality-gate", "RUN_CONTRACTS")
    queue = project.ask("specflow status")["gates"]
    assert [(one["about"], one["place"]) for one in queue] == [("issue-51", 0), ("issue-50", 1)]
    with site_of(project.session()).fork() as site:  # one at a time
        assert not list(work_off(site, project.session().packs.protocol("specflow")))
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    gated.play()
    run, other = gated.gate()
    assert (run.task, run.outcome, other.outcome) == ("issue-51", "passed", "passed")
    assert [(one.status, one.crashed) for one in run.tries] == [("interrupted", True), ("passed", False)]
    until(lambda: gone(project), "they are gone")
    assert len(project.inbox(SWIFT, "CONTRACT_RESULTS")) == 1
