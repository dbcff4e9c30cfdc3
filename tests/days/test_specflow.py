"""Days with `moot run specflow`: waves of scripted agents, from the plan to the end."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.specs.orchestrator.project import PATIENCE, until
from tests.specs.specflow.conftest import folder
from tests.specs.specflow.project import issue
from tests.specs.specflow.stage import GOOD, REPORT, Stage

__all__ = ["folder"]


@pytest.fixture
def stage(folder: Path) -> Iterator[Stage]:
    made = Stage.create(folder / "project")
    assert isinstance(made, Stage)
    yield made
    made.run("verify")
    made.close()


def story(stage: Stage) -> list[str]:
    """What the log shows of a wave, in order: each step once."""
    told: list[str] = []
    for event in stage.events():
        kind, data, about = event.type, event.data, event.stream.partition("/")[2]
        if kind == "message:sent" and data["kind"] != "note":
            told.append(data["text"].split(" #")[0].partition(" issues:")[0].partition(" run-")[0])
        elif kind == "task:moved" or (kind.startswith("task:") and "target" in data):
            told.append(f"{about} {data['target']}")
        elif kind == "agent:left":
            told.append("stopped")
    return list(dict.fromkeys(told))


@pytest.mark.proves("S3-WAVE-04", "S3-WAVE-07", "S3-SHUT-05", "S3-NAME-08")
def test_two_issues_from_the_plan_to_the_end_and_another_wave_afterwards(stage: Stage) -> None:
    stage.play(50, 51, agent=GOOD, close='open(desk(f"closed-{issue}"), "w")')
    steps = stage.drive("--parallel")
    wave = stage.wave()
    assert (wave.state, wave.team, wave.mode, wave.decided) == ("complete", "Fianna", "teams", "--parallel")
    shown = story(stage)
    milestones = [
        "wave-1 running",
        "issue-50 in_progress",
        "REQUEST_MIGRATION",
        "TOUCHING_FILE src/lib/yeats.ts",
        "CONTRACT_RESULTS PASS",
        "READY_FOR_CLOSURE",
        "issue-50 completed",
        "RUN_JOURNEY_TIER2",
        "JOURNEY_TIER2_RESULTS PASS",
        "RUN_REGRESSION wave:1",
        "REGRESSION_RESULTS PASS",
        "wave-1 complete",
        "stopped",
    ]
    assert [step for step in shown if step in milestones] == milestones
    assert [stage.issue(number).status for number in (50, 51)] == ["closed", "closed"]
    assert [stage.desk(f"closed-{number}").exists() for number in (50, 51)] == [True, True]
    assert list(json.loads((stage.root / ".specflow/baseline.json").read_text())["tests"].values()) == ["pass"]
    status = stage.ask("specflow status", wave=1)
    assert {one["state"] for one in status["members"]} == {"stopped"}
    assert [len(run.tries) for name in ("w1.yeats", "w1.swift") for run in stage.runs_of(name)] == [1, 1]
    assert (steps[-2]["what"], steps[-1]["what"]) == ("report", "summary")
    assert "2 issues closed, 0 regressions" in steps[-2]["text"]
    assert not os.listdir(os.path.join(stage.session().place.state, "drivers"))
    stage.plan(issue(52))
    stage.drive("--parallel")
    assert (stage.wave(2).state, stage.wave(2).team) == ("complete", "Tuatha")
    assert [one["id"] for one in stage.ask("needs-me") if one["kind"] == "concern"] == []


@pytest.mark.proves("S3-HARD-13", "S3-ISS-05", "S3-LEAD-03", "S3-LEAD-05")
def test_a_member_crashes_another_one_blocks_and_a_gate_gives_the_work_back(stage: Stage) -> None:
    """Yeats dies twice and then works. Swift blocks, is resumed, and breaks the suite, which Tier 3 notices."""
    agent = f"""
if name == "yeats" and turn < 3:
    os.kill(os.getpid(), signal.SIGKILL)
if name == "swift" and turn == 1:
    write("waves-controller", "BLOCKED #51 the API is down\\nsince Monday")
    sys.exit()
if turn == 3 and name == "swift":
    commit("FIXED", "yes")
{GOOD}
"""
    regression = "sys.argv += [] if os.path.exists('FIXED') else ['failed']\n" + REPORT
    stage.play(50, 51, agent=agent, regression=regression)
    stopped = stage.cli("run", "specflow", "--parallel")
    error = json.loads(stopped.out.splitlines()[-1])
    assert (stopped.code, error["error"], error["details"]["issues"]) == (6, "issues_blocked", [51])
    assert stage.issue(51).why == "the API is down\nsince Monday"
    assert [(one.status, one.who) for one in stage.runs_of("w1.yeats")[0].tries] == [
        ("failed", "w1.yeats#1"),
        ("failed", "w1.yeats#2"),
        ("passed", "w1.yeats#3"),
    ]
    (again,) = re.findall(r"`moot (specflow decide [^`]+)`", error["remedy"])
    assert stage.cli(*shlex.split(again.replace("…", "It is up again."))).code == 0
    stage.drive()
    assert stage.wave().state == "complete"
    outcomes = [data["text"].split()[1] for data in stage.inbox("w1.finn-mccool", "REGRESSION_RESULTS")]
    assert outcomes == ["FAIL", "PASS"]
    assert (stage.count("turn-yeats"), stage.count("turn-swift")) == (4, 3)


PAUSE = """
import os, time
def reached(point):
    path = os.path.join("..", "desk", point)
    open(f"{path}.reached", "a").close()
    while not os.path.exists(f"{path}.go"):
        time.sleep(0.02)
"""


@pytest.mark.proves("S3-HARD-15")
def test_a_driver_that_is_killed_in_each_state_is_started_again_and_nothing_is_lost(stage: Stage) -> None:
    """It is killed while members work, in a gate of each tier, and while the lead closes issues."""
    contracts = "reached('contracts') if turn == 1 else reached('tier2') if turn == 4 else None\n"
    stage.play(
        *(50, 51),
        agent=f"{PAUSE}reached('yeats') if name == 'yeats' else wait_for('yeats.go')\n{GOOD}",
        contracts=f"{PAUSE}{contracts}{REPORT}",
        regression=f"{PAUSE}reached('regression')\n{REPORT}",
        close=f"{PAUSE}nth(f'closed-{{issue}}')\nreached('close')",
    )
    driver = stage.start_driving("--parallel")
    for point in ("yeats", "contracts", "tier2", "regression", "close"):
        until(stage.desk(f"{point}.reached").exists, point)
        assert stage.cli("run", "specflow").json["error"] == "already_driven", point
        driver.kill()
        driver.communicate(timeout=PATIENCE)
        stage.desk(f"{point}.go").touch()
        driver = stage.start_driving()
    out, errors = driver.communicate(timeout=PATIENCE)
    assert driver.returncode == 0, (out, errors)
    assert (stage.wave().state, stage.count("turn-yeats"), stage.count("turn-swift")) == ("complete", 1, 1)
    assert (stage.count("contracts"), stage.count("regression")) == (5, 2), "what a killed driver ran is run again"
    sent = Counter(event.data["kind"] for event in stage.events("message:sent"))
    twice = {"RUN_CONTRACTS": 2, "CONTRACT_RESULTS": 2, "READY_FOR_CLOSURE": 2, "REQUEST_MIGRATION": 2}
    assert {kind: sent[kind] for kind in twice} == twice
    assert [sent[kind] for kind in ("JOURNEY_TIER2_RESULTS", "REGRESSION_RESULTS")] == [1, 1]
    assert not os.listdir(os.path.join(stage.session().place.state, "drivers"))


@pytest.mark.proves("S3-FALL-01", "S3-FALL-02", "S3-FALL-03", "S3-FALL-04", "S3-FALL-05", "S3-OVR-03", "S3-BAR-02")
def test_the_same_one_after_the_other_without_messages(stage: Stage) -> None:
    """50 crashes once, and its contracts fail once. 51 depends on nobody and blocks; then it is deferred."""
    agent = r"""
with open(desk("order"), "a") as file:
    file.write(f"{issue} ")
with open(desk(f"brief-{issue}-{turn}"), "w") as file:
    file.write(brief)
with open(desk(f"env-{issue}-{turn}"), "w") as file:
    json.dump(dict(os.environ), file)
for words in (("write", "Keane", "hello"), ("broadcast", "hello")):
    assert moot("specflow", *words, fails=True)["error"] == "no_messages"
if issue == "50" and turn == 1:
    print("I have READY_FOR_CLOSURE #50 in mind, but no idea.")
    sys.exit()
if issue == "51":
    print("A long story.\n\nBLOCKED #51 the API is down\nsince Monday")
    sys.exit()
commit("a.txt", f"{turn}")
print("Done.\n\n```\nREADY_FOR_CLOSURE #50\n```")
"""
    contracts = "sys.argv += ['failed'] if turn == 1 else []\n" + REPORT
    stage.play(agent=agent, contracts=contracts, issues=(issue(50, "Show a profile."), issue(51)))
    stage.env["CLAUDE_CODE_TEAM_NAME"] = "Elsewhere"
    stopped = stage.cli("run", "specflow")
    assert (stopped.code, json.loads(stopped.out.splitlines()[-1])["error"]) == (6, "issues_blocked")
    wave = stage.wave()
    assert (wave.mode, [one.agent for one in wave.agents]) == ("subagents", ["w1.issue-50", "w1.issue-51"])
    assert stage.desk("order").read_text() == "50 50 50 51 "
    assert [one.status for one in stage.runs_of("w1.issue-50")[0].tries] == ["failed", "passed", "passed"]
    assert stage.issue(51).why == "the API is down\nsince Monday"
    briefs = [stage.desk(f"brief-50-{turn}").read_text() for turn in (1, 2, 3)]
    phases = [re.search(rf"Phase {number}, ([a-z ]+):", briefs[0]) for number in range(2, 8)]
    assert all(phases), briefs[0]
    assert "> Show a profile." in briefs[0]
    assert ["failed" in brief.partition("gate failed")[2] for brief in briefs] == [False, False, True]
    assert "supabase/migrations/1_issue_50.sql" in briefs[0]
    env = json.loads(stage.desk("env-50-1").read_text())
    assert not [name for name in env if name.startswith("CLAUDE_CODE_")]
    assert (env["ISSUE_NUMBER"], env["MOOT_AGENT"]) == ("50", "w1.issue-50")
    assert stage.cli("specflow", "decide", "51", "defer", "--reason", "Later.").code == 0
    stage.drive()
    assert stage.wave().state == "complete"
    assert [stage.issue(number).status for number in (50, 51)] == ["closed", "deferred"]
    assert stage.cli("run", "specflow", "--dry-run").code == 0
