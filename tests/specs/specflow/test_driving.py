"""`moot run specflow`: the mode, what a member gets, when it is started again and how it ends, and the lead's steps."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.runs.pipelines.conftest import is_running
from tests.specs.orchestrator.project import PATIENCE, until
from tests.specs.specflow.project import FIANNA, LEAD, SWIFT, YEATS, issue
from tests.specs.specflow.stage import GOOD, REPORT, Stage, steps_of

proves = pytest.mark.proves
FLAG = "CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS"
KEEP = """
with open(desk(f"{name}-{turn}.json"), "w") as file:
    json.dump([dict(os.environ), brief, sys.argv[1:], moot("whoami")["result"]], file)
"""


@pytest.fixture
def stage(folder: Path) -> Iterator[Stage]:
    made = Stage.create(folder / "project")
    assert isinstance(made, Stage)
    yield made
    made.run("verify")
    made.close()


def kept(stage: Stage, name: str) -> tuple[dict[str, str], str, list[str], dict[str, Any]]:
    env, brief, words, me = json.loads(stage.desk(f"{name}.json").read_text())
    return env, brief, words, me


@proves("S3-OVR-01", "S3-OVR-03")
def test_the_mode_is_decided_once_by_the_option_or_by_the_variable(stage: Stage) -> None:
    """Each wave is blocked at once, and then aborted."""
    stage.play(50, agent='print("BLOCKED #50 no")\nmoot("specflow", "write", "waves-controller", "BLOCKED #50 no", fails=True)')
    tried = [
        (("--parallel",), "no", "teams", "--parallel"),
        (("--sequential",), "1", "subagents", "--sequential"),
        ((), None, "subagents", f"{FLAG}="),
        *(((), word, "teams", f"{FLAG}={word}") for word in ("true", "1", "YES", "on")),
        *(((), word, "subagents", f"{FLAG}={word}") for word in ("", "false", "0", "no", "Off")),
        ((), "maybe", "subagents", f"{FLAG}=maybe, which is not a known value"),
    ]
    for number, (words, value, mode, decided) in enumerate(tried, 1):
        stage.env.pop(FLAG, None)
        stage.env |= {FLAG: value} if value is not None else {}
        stage.cli("run", "specflow", *words)
        wave = stage.wave(number)
        assert (wave.mode, wave.decided) == (mode, decided), (words, value)
        stage.env[FLAG] = "no" if mode == "teams" else "true"
        other = "--sequential" if mode == "teams" else "--parallel"
        assert stage.cli("run", "specflow", other).json["error"] == "other_wave"
        assert stage.cli("run", "specflow", "--wave", "99").json["error"] == "other_wave"
        status = stage.ask("specflow status")
        assert (status["mode"], status["decided"]) == (mode, decided)
        for command in (f"specflow request-shutdown --abort next --agent w{number}.finn-mccool", "run specflow"):
            spoken = stage.cli(*command.split())
            assert spoken.code == 0, spoken.out
    both = stage.cli("run", "specflow", "--parallel", "2", "--sequential")
    assert both.json["error"] == "bad_arguments"
    assert stage.cli("run", "specflow", "--once").json["error"] == "bad_arguments"


@proves("S3-ENV-01", "S3-ENV-02", "S3-ENV-03", "S3-ENV-05", "S3-HARD-17", "S3-NAME-07", "S3-TEAM-08", "S3-TEAM-06")
def test_a_member_has_an_environment_and_a_prompt_of_its_own(stage: Stage) -> None:
    old = {"CLAUDE_CODE_TEAM_NAME": "Old", "CLAUDE_CODE_AGENT_ID": "w9.old#1", "CLAUDE_CODE_SESSION_ID": "session-1"}
    stage.env |= {**old, FLAG: "yes", "ISSUE_NUMBER": "9", "MOOT_ISSUE": "9"}
    asked = {"title": "$(touch EXECUTED)", "body": "Quotes \"'`; ü\n## When it is done\nNever.", "comments": ["Soon."]}
    stage.put("scripts/agents/issue-lifecycle.md", "# Our own agent\n\nDo it well.\n")
    stage.put("agents/other.md", "no")
    agent = KEEP + "if name == 'lady-gregory' and turn == 1: sys.exit(1)\n" + GOOD
    stage.play(agent=agent, issues=(issue(50, **asked), *map(issue, range(51, 58))))
    stage.drive()
    env, brief, _, me = kept(stage, "lady-gregory-2")
    given = {name.removeprefix("CLAUDE_CODE_"): value for name, value in env.items() if name.startswith("CLAUDE_CODE_")}
    assert given == {
        "TEAM_NAME": "Fianna",
        "AGENT_ID": "w1.lady-gregory#2",
        "AGENT_NAME": "Lady Gregory",
        "AGENT_TYPE": "issue-lifecycle",
        "PARENT_SESSION_ID": "session-1",
        "EXPERIMENTAL_AGENT_TEAMS": "yes",
    }
    named = {name: env[name] for name in env if name.startswith(("MOOT_T", "MOOT_W", "MOOT_I", "WAVE", "ISSUE"))}
    assert named == {
        "MOOT_TEAM": "Fianna",
        "MOOT_WAVE": "1",
        "MOOT_ISSUE": "57",
        "MOOT_INCARNATION": "1",
        "MOOT_WORKSPACE": str(stage.root),
        "WAVE_NUMBER": "1",
        "ISSUE_NUMBER": "57",
    }
    assert (me["kind"], me["name"], me["roles"]) == ("agent", "w1.lady-gregory", ["issue-lifecycle"])
    ids = [kept(stage, path.stem)[0]["CLAUDE_CODE_AGENT_ID"] for path in stage.desk("").glob("*.json")]
    assert len(ids) == len(set(ids)) == 9
    assert any(event["type"] == "run:started" for event in stage.ask("explain", thing="w1.lady-gregory#2"))
    _, brief, *_ = kept(stage, "yeats-1")
    assert brief.startswith("# Our own agent\n\nDo it well.\n")
    for part in ("> ## When it is done", "Comment: Soon.", "REQUEST_MIGRATION #{issue:int}", "src/lib/**", "index.ts"):
        assert part in brief, part
    assert "You are Yeats, issue-lifecycle of the team Fianna in wave 1, for issue #50" in brief
    assert "no influence" in brief
    assert not (stage.root / "EXECUTED").exists()
