"""`moot run specflow`: the mode, what a member gets, when it is started again and how it ends, and the lead's steps."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.runs.pipelines.conftest import is_running
from tests.specs.orchestrator.project import PATIENCE, until
from tests.specs.specflow.project import FIANNA, SWIFT, YEATS, issue
from tests.specs.specflow.stage import GOOD, REPORT, Stage

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


def statuses(stage: Stage, member: str) -> list[str]:
    """How the turns of a member ended."""
    return [one.status for run in stage.runs_of(member) for one in run.tries]


@pytest.mark.proves("S3-OVR-01", "S3-OVR-03")
def test_the_mode_is_decided_once_by_the_option_or_by_the_variable(stage: Stage) -> None:
    """Each wave is blocked at once, and then aborted."""
    stage.play(
        50, agent='print("BLOCKED #50 no")\nmoot("specflow", "write", "waves-controller", "BLOCKED #50 no", fails=True)'
    )
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


@pytest.mark.proves(
    "S3-ENV-01", "S3-ENV-02", "S3-ENV-03", "S3-ENV-05", "S3-HARD-17", "S3-NAME-07", "S3-TEAM-08", "S3-TEAM-06"
)
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


@pytest.mark.proves("S3-TEAM-10", "S3-HARD-04", "S3-TEAM-09", "S3-INSP-01")
def test_an_idle_member_is_resumed_by_mail_in_its_own_session_and_a_crashed_one_keeps_its_mail(stage: Stage) -> None:
    """Yeats waits for a word from Swift; Swift crashes first, and finds in its second turn what Yeats wrote to it."""
    body = """
def news():
    return [one["text"] for one in moot("inbox")["result"]["new"]]
with open(desk("sessions"), "a") as file:
    file.write(f"{name} {turn} {sys.argv[1]} {sys.argv[2]}\\n")
if name == "yeats" and turn == 1:
    write("Swift", "are you there?")
    sys.exit()
if name == "yeats" and turn == 2:
    assert "You have new mail." in brief and "yes" in news()
if name == "swift" and turn == 1:
    wait_for("asked")
    os.kill(os.getpid(), signal.SIGKILL)
if name == "swift" and turn == 2:
    assert "are you there?" in news()
    wait_for("looked")
    write("Yeats", "yes")
"""
    stage.play(
        50,
        51,
        agent=body + GOOD,
        resume=body + GOOD,
        words={"agent": ["first", "{session}"], "resume": ["again", "{session}"]},
    )
    driver = stage.start_driving("--parallel")
    until(lambda: statuses(stage, YEATS) == ["passed"], "the end of the first turn of Yeats")
    states = {one["name"]: one["state"] for one in stage.ask("specflow status")["members"]}
    assert (states["Yeats"], states["Swift"]) == ("idle", "active")
    stage.desk("asked").touch()
    until(lambda: len(statuses(stage, SWIFT)) == 2, "the second turn of Swift")
    stage.desk("looked").touch()
    out, errors = driver.communicate(timeout=PATIENCE)
    assert driver.returncode == 0, out.decode()[-15000:] + errors.decode()
    lines = [line.split() for line in stage.desk("sessions").read_text().splitlines()]
    sessions = {(who, session) for who, _, _, session in lines}
    assert len(sessions) == 2, "one for each member"
    assert [how for who, _, how, _ in lines if who == "yeats"] == ["first", "again"]
    assert stage.wave().state == "complete"


@pytest.mark.proves("S3-ISS-05", "S3-HARD-13")
def test_a_member_that_cannot_be_started_or_does_nothing_is_blocked_after_its_starts(stage: Stage) -> None:
    body = "print('thinking'); sys.exit(0 if name == 'yeats' else 3)"
    stage.play(50, 51, settings="respawns = 1", agent=body, resume=body)
    spoken = stage.cli("run", "specflow", "--parallel")
    error = json.loads(spoken.out.splitlines()[-1])
    assert (spoken.code, error["details"]["issues"]) == (6, [50, 51])
    assert [len(statuses(stage, name)) for name in (YEATS, SWIFT)] == [3, 2], "Yeats ends its turns; Swift fails"
    assert all("thinking" in stage.issue(number).why or number == 50 for number in (50, 51))
    told = [data["text"] for data in stage.inbox("w1.finn-mccool") if data["text"].startswith("BLOCKED")]
    assert [text.split()[1] for text in sorted(told)] == ["#50", "#51"]
    (stage.root / "tools/agent.py").write_text("changed")
    assert stage.cli("specflow", "decide", "51", "resume", "--reason", "again").code == 0
    again = stage.cli("run", "specflow").json
    assert again["error"] == "not_allowed"


@pytest.mark.proves("S3-SHUT-03", "S3-HARD-16", "S3-LEAD-03")
def test_a_member_that_is_asked_to_stop_finishes_or_is_ended_after_the_grace_time(stage: Stage) -> None:
    """Yeats completes its issue while it is asked to stop. Swift does not end, so its issue waits for a decision."""
    body = """
with open(desk(f"{name}.up"), "w") as file:
    file.write(str(os.getpid()))
if name == "swift":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(600)
if name == "yeats":
    wait_for("asked")
    assert moot("specflow", "broadcast", "TOUCHING_FILE src/lib/a.ts", fails=True)["error"] == "team_stopping"
    write("quality-gate", "RUN_CONTRACTS")
    run = told("CONTRACT_RESULTS")["data"]["run"]
    write("waves-controller", f"READY_FOR_CLOSURE #50 {run}")
    moot("task", "complete", "issue-50")
"""
    stage.play(50, 51, settings="grace = 3", agent=body + "if name == 'beckett':\n    " + "assert finish()")
    driver = stage.start_driving("--parallel")
    for name in ("yeats", "swift"):
        until(stage.desk(f"{name}.up").exists, name)
    for name in ("Yeats", "Swift"):
        assert stage.cli("specflow", "request-shutdown", name).code == 0
    stage.desk("asked").touch()
    out, errors = driver.communicate(timeout=PATIENCE)
    assert driver.returncode == 6, out.decode()[-1500:] + errors.decode()
    assert [(stage.issue(n).status, stage.state(f"issue-{n}")) for n in (50, 51)] == [
        ("ready", "completed"),
        ("", "pending"),
    ]
    assert [statuses(stage, name) for name in (YEATS, SWIFT)] == [["passed"], ["interrupted"]]
    assert not is_running(int(stage.desk("swift.up").read_text()))
    assert stage.cli("specflow", "decide", "51", "defer", "--reason", "later").code == 0
    stage.drive()
    assert [stage.issue(n).status for n in (50, 51)] == ["closed", "deferred"]


@pytest.mark.proves("S3-BAR-05", "S3-BAR-03", "S3-LEAD-06")
def test_the_lead_gets_the_open_exports_once_or_a_person_decides(stage: Stage) -> None:
    agent = """
path = f"src/lib/{name}.ts"
moot("specflow", "broadcast", f"TOUCHING_FILE {path}")
commit(path, "// TODO: Add to index.ts export: a\\n")
assert finish()
"""
    stage.play(50, 51, agent=agent)
    spoken = stage.cli("run", "specflow", "--parallel")
    error = json.loads(spoken.out.splitlines()[-1])
    assert (spoken.code, error["error"], len(error["details"]["exports"])) == (6, "open_exports", 2)
    for name in ("yeats", "swift"):
        stage.put(f"src/lib/{name}.ts", "// done\n")
    stage.commit()
    stage.drive()
    assert stage.wave().state == "complete"
    lead = """
moot("claim", "src/lib/index.ts")
subprocess.run("sed -i /TODO/d src/lib/*.ts", shell=True, check=True)
commit("src/lib/index.ts", "export all")
"""
    stage.replay(lead=KEEP + lead)
    stage.plan(issue(52), issue(53))
    stage.drive("--parallel")
    assert (stage.wave(2).state, stage.count("turn-finn-mccool")) == ("complete", 1)
    _, brief, _, me = kept(stage, "finn-mccool-1")
    assert (me["name"], me["roles"], brief.count("src/lib/")) == ("w2.finn-mccool", ["waves-controller"], 2)


@pytest.mark.proves("S3-WAVE-07", "S3-TEAM-06")
def test_a_team_that_a_person_has_opened_is_attended_and_led_by_the_person(stage: Stage) -> None:
    prompt = 'My prompt with "quotes", `$(touch EXECUTED)`\nand ü.' * 10_000
    stage.play(50, 51, agent=KEEP + GOOD)
    agents = [{**one, "prompt": prompt} for one in FIANNA["agents"]]
    stage.ask("specflow spawn-team", name="Fianna", config={"agents": agents})
    driver = stage.start_driving()
    until(lambda: all(stage.state(f"issue-{n}") == "completed" for n in (50, 51)), "both issues")
    until(lambda: statuses(stage, YEATS) == ["passed"], "the end of the turn")
    assert kept(stage, "yeats-1")[1].startswith(prompt)
    for tier in ("tier2", "tier3"):
        assert stage.cli("specflow", "gate", tier).code == 0
    assert stage.wave().state == "gating"
    assert stage.cli("specflow", "request-shutdown").code == 0
    out, errors = driver.communicate(timeout=PATIENCE)
    assert driver.returncode == 0, out.decode()[-15000:] + errors.decode()
    assert stage.wave().state == "complete"
    assert {one["state"] for one in stage.ask("specflow status", wave=1)["members"]} == {"stopped"}


@pytest.mark.proves("S3-TASK-07", "S3-SHUT-05", "S3-HARD-13")
def test_a_member_starts_when_its_issue_waits_for_nothing_and_what_nobody_read_is_listed(stage: Stage) -> None:
    body = """
with open(desk("order"), "a") as file:
    file.write(f"{name} ")
if turn == 1 and name == "yeats":
    print("out of memory")
    sys.exit(9)
if name == "swift":
    write("Yeats", "unread")
"""
    stage.play(50, 51, agent=body + GOOD)
    assert stage.cli("task", "link", "issue-51", "--needs", "issue-50").code == 0
    stage.drive("--parallel", "2")
    assert stage.desk("order").read_text() == "yeats yeats swift "
    told = [data["text"] for data in stage.inbox("w1.finn-mccool") if "w1.yeats#1" in data["text"]]
    assert [("exit code was 9" in text, "out of memory" in text) for text in told] == [(True, True)]
    unread = stage.wave_extra()["unread"]
    texts = {event.stream.partition("/")[2]: event.data["text"] for event in stage.events("message:sent")}
    assert "unread" in [texts[name] for name in unread[YEATS]]


@pytest.mark.proves("S3-HARD-15")
def test_an_interrupt_ends_a_gate_and_an_agent_and_the_next_driver_goes_on(stage: Stage) -> None:
    """Yeats sleeps in its first turn while the contracts of Swift run."""
    sleep = """
import time
def sleep(name):
    with open(os.path.join("..", "desk", name), "w") as file:
        file.write(str(os.getpid()))
    time.sleep(600)
"""
    agent = f"{sleep}sleep('yeats.up') if (name, turn) == ('yeats', 1) else None\n{GOOD}"
    stage.play(50, 51, agent=agent, contracts=f"{sleep}sleep('contracts.up') if turn == 1 else None\n{REPORT}")
    driver = stage.start_driving("--parallel")
    pids = []
    for name in ("yeats", "contracts"):
        file = stage.desk(f"{name}.up")
        until(lambda file=file: file.exists() and file.read_text(), name)
        pids.append(int(file.read_text()))
    driver.send_signal(signal.SIGTERM)
    driver.communicate(timeout=PATIENCE)
    assert driver.returncode == 130
    assert not any(map(is_running, pids))
    stage.drive()
    assert stage.wave().state == "complete"
    assert statuses(stage, YEATS) == ["interrupted", "passed"]
