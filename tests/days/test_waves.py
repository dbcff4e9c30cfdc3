"""Longer days with waves: several layers, several sorts of agents, stops, and certificates that grow old."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.specs.orchestrator.project import until
from tests.specs.specflow.conftest import folder
from tests.specs.specflow.project import YEATS, issue
from tests.specs.specflow.stage import GOOD, REPORT, Stage

if TYPE_CHECKING:
    from moot.core.run import Run

__all__ = ["folder"]

# The agent of issue 52 speaks Python, the others the command line.
MIXED = f"""
if issue == "52":
    from moot import Workspace
    from moot.packs.specflow.methods import Team
    with Workspace(agent=me) as workspace:
        team = workspace.pack(Team)
        assert team.write("db-coordinator", "REQUEST_MIGRATION #52 tables:[t52]")["replies"]
        assert team.broadcast(f"TOUCHING_FILE src/lib/{{name}}.ts")["state"] == "granted"
    commit(f"src/lib/{{name}}.ts", f"// {{issue}} {{turn}}\\n")
    assert finish()
    sys.exit()
if issue == "51" and not os.path.exists(desk("repaired")):
    write("waves-controller", "BLOCKED #51 the API is down")
    sys.exit()
{GOOD}
"""
SUITE = """
if turn == 1:
    os.makedirs("reports", exist_ok=True)
    with open("reports/regression.xml", "w") as file:
        case = '<testcase classname="tests/e2e/journey_a_one.spec.ts" name="one"><failure/></testcase>'
        file.write(f"<testsuite>{case}</testsuite>")
    sys.exit(1)
"""


@pytest.fixture
def stage(folder: Path) -> Iterator[Stage]:
    made = Stage.create(folder / "project")
    assert isinstance(made, Stage)
    yield made
    made.run("verify")
    made.close()


@pytest.mark.proves("S3-WAVE-06", "S3-LEAD-05", "S3-WAVE-05")
def test_five_issues_in_two_layers_with_all_that_happens(stage: Stage) -> None:
    """51 blocks and is resumed; the suite fails once and names 50, which works again; then the second wave."""
    five = (issue(50, "J-A-ONE"), issue(51), issue(52), issue(53, "Depends on #50"), issue(54, "Depends on #51"))
    journey = stage.put("tests/e2e/journey_a_one.spec.ts")
    stage.play(issues=five, agent=MIXED, regression=SUITE + REPORT, journeys="import sys")
    assert journey.exists()
    stage.drive("--parallel", code=6)
    assert [stage.issue(number).status for number in (50, 51, 52)] == ["ready", "blocked", "ready"]
    assert stage.issue(53).wave is None
    stage.desk("repaired").write_text("")
    stage.ask("specflow decide", issue="51", how="resume", reason="The API is back.")
    stage.drive("--parallel")
    assert [stage.issue(number).status for number in (50, 51, 52)] == ["closed"] * 3
    assert [run.parameters["issues"] for run in failed(stage)] == [[50, 51, 52]]
    assert (stage.count("turn-yeats"), stage.count("turn-beckett")) == (2, 1)
    stage.drive("--parallel")
    assert [stage.issue(number).status for number in (53, 54)] == ["closed"] * 2
    assert [stage.wave(number).state for number in (1, 2)] == ["complete"] * 2
    numbers = [int(one["number"]) for one in stage.ask("specflow migrations")["assigned"]]
    assert numbers == [1, 2, 3, 4, 5]
    assert {*json.loads((stage.root / ".specflow/baseline.json").read_text())["tests"].values()} == {"pass"}


def failed(stage: Stage) -> list[Run]:
    from moot.views import queries

    every = queries.things(stage.session().engine.read(), "run", ended=True)
    return [run for run in every if run.outcome == "failed" and "tier" in run.parameters]


@pytest.mark.proves("S3-HARD-15", "S3-SHUT-02")
def test_a_person_stops_the_wave_and_goes_on_tomorrow(stage: Stage) -> None:
    """By an interrupt, and on another day for good: the deferred issues are in the next plan."""
    slow = 'open(desk(f"seen-{issue}"), "w")\nwait_for("tomorrow")\n' + GOOD
    stage.play(50, 51, agent=slow)
    driver = stage.start_driving("--parallel")
    until(lambda: stage.desk("seen-50").exists() and stage.desk("seen-51").exists(), "both work")
    driver.send_signal(signal.SIGINT)
    assert driver.wait(60) == 130
    driver.communicate()
    assert stage.wave().state == "running"
    stage.desk("tomorrow").write_text("")
    stage.drive()
    assert stage.wave().state == "complete"
    stage.plan(issue(60))
    stage.desk("tomorrow").unlink()
    driver = stage.start_driving("--parallel")
    until(stage.desk("seen-60").exists, "it works")
    stage.run("specflow request-shutdown", abort="wrong plan")
    stage.desk("tomorrow").write_text("")
    driver.communicate(timeout=60)
    assert (stage.wave(2).state, stage.issue(60).status) == ("aborted", "deferred")
    stage.drive("--parallel")
    assert (stage.wave(3).state, stage.issue(60).status) == ("complete", "closed")


@pytest.mark.proves("S3-HARD-23")
def test_a_certificate_outlives_the_commits_of_others_but_not_a_change_of_its_own_files(stage: Stage) -> None:
    stage.play(50, 51, agent="pass")
    names = [{"name": name, "prompt": "p"} for name in ("Yeats", "Swift")]
    stage.ask("specflow spawn-team", name="Fianna", config={"agents": names})
    stage.run("task claim", YEATS, task="issue-50")
    stage.touch(YEATS, "src/lib/a.ts")
    stage.commit(src__lib__a_ts="1\n")

    def certificate() -> str:
        stage.write(YEATS, "quality-gate", "RUN_CONTRACTS")
        assert stage.cli("specflow", "gate").code == 0
        found: str = stage.inbox(YEATS, "CONTRACT_RESULTS")[-1]["data"]["run"]
        return found

    old = certificate()
    stage.commit(src__lib__a_ts="2\n")
    refused = stage.unwritten(YEATS, "waves-controller", f"READY_FOR_CLOSURE #50 {old}")
    assert (refused.code, "src/lib/a.ts" in refused.message) == ("bad_certificate", True)
    good = certificate()
    stage.commit(elsewhere_ts="3\n")
    stage.write(YEATS, "waves-controller", f"READY_FOR_CLOSURE #50 {good}")
    assert stage.issue(50).status == "ready"
