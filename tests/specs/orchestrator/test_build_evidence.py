"""Build results that moot observed, build runs before the report, and reported files against the tree."""

from __future__ import annotations

import json
import shlex
import sys
from typing import TYPE_CHECKING, Any

import pytest

from moot import Workspace
from tests.specs.orchestrator.samples import assignment, report, without

if TYPE_CHECKING:
    from tests.specs.orchestrator.project import Project

PASSING = [sys.executable, "-c", "print('compiled')"]
FAILING = [sys.executable, "-c", "print('src/a.ts(3,7): error TS2304'); raise SystemExit(2)"]


@pytest.fixture
def team(project: Project) -> Project:
    project.join("Lead", "team-lead")
    project.join("Dev", "developer")
    project.assign(agent="Lead")
    return project


def built(project: Project, command: list[str], task: str = "task-001") -> str:
    """Let moot run a build. Returns the receipt."""
    spoken = project.cli("check", "--task", task, "--", *command, agent="Dev")
    return spoken.json["result"]["receipt"]["id"]


def unbuilt(**changes: Any) -> dict[str, Any]:
    """A report without a build result."""
    return without(report(**changes), "buildResult")


def send(project: Project, data: dict[str, Any], *words: str) -> Any:
    return project.cli_send(data, "Dev", *words)


def shown(project: Project) -> dict[str, Any]:
    """The report as the reviewer's mailbox shows it."""
    return project.mailbox("team-lead")[-1]


@pytest.mark.proves("S0-HRD-18")
@pytest.mark.parametrize(("command", "status", "errors"), [(PASSING, "success", 0), (FAILING, "failed", 1)])
def test_the_result_of_a_build_that_moot_ran_is_observed(
    team: Project, command: list[str], status: str, errors: int
) -> None:
    receipt = built(team, command)
    assert send(team, unbuilt(), "--receipt", "last").code == 0
    assert team.state() == "awaiting_review"
    letter = shown(team)
    output = {"success": "compiled\n", "failed": "src/a.ts(3,7): error TS2304\n"}[status]
    assert letter["data"]["buildResult"] == {
        "status": status,
        "command": shlex.join(command),
        "errors": errors,
        "output": output,
    }
    assert (letter["evidence"], letter["runs"]) == (receipt, [receipt])
    assert team.file("team-lead")["messages"][0]["buildResult"]["observed"] == receipt
    told = f"result: observed by moot in {receipt}"
    assert told in team.voice("inbox", agent="Lead").out
    assert told in team.voice("task", "show", "task-001").out
    assert team.cli("task", "show", "task-001").result["report"]["evidence"] == receipt


@pytest.mark.proves("S0-HRD-18")
@pytest.mark.parametrize("way", ["surface", "file"])
def test_a_result_that_an_agent_typed_in_is_claimed(team: Project, way: str) -> None:
    if way == "surface":
        assert send(team, report()).code == 0
    else:
        team.append("team-lead", report())
        team.look()
    assert shown(team)["evidence"] == "claimed"
    assert "observed" not in team.file("team-lead")["messages"][0]["buildResult"]
    for said in (team.voice("inbox", agent="Lead").out, team.voice("task", "show", "task-001").out):
        assert "result: claimed by its sender" in said


@pytest.mark.proves("S0-HRD-18")
@pytest.mark.parametrize("way", ["surface", "python", "file"])
@pytest.mark.parametrize("mark", ["a true receipt", "r-0000000", True, "claimed", None])
def test_the_mark_cannot_be_forged(team: Project, way: str, mark: Any) -> None:
    """A caller or a file that says itself that moot observed the result has claimed it, even with a true receipt."""
    receipt = built(team, PASSING)
    forged = report()
    forged["buildResult"]["observed"] = receipt if mark == "a true receipt" else mark
    if way == "surface":
        assert send(team, forged).code == 0
    elif way == "python":
        with Workspace(team.root, agent="Dev") as workspace:
            workspace.send(type="completion_report", data=forged)
    else:
        team.append("team-lead", forged)
        team.look()
    assert shown(team)["evidence"] == "claimed"
    assert shown(team)["data"] == report()
    assert team.file("team-lead")["messages"] == [report()]


@pytest.mark.proves("S0-HRD-18")
@pytest.mark.parametrize("change", ["as it is", "reformatted", "mark removed", "mark forged", "template"])
def test_the_mark_survives_what_others_do_to_the_file(team: Project, change: str) -> None:
    receipt = built(team, PASSING)
    send(team, unbuilt(), "--receipt", receipt)
    before, content = team.path("team-lead").read_bytes(), team.file("team-lead")
    head = team.head()
    build = content["messages"][0]["buildResult"]
    match change:
        case "as it is":
            team.path("team-lead").write_bytes(before)
        case "reformatted":
            team.write("team-lead", json.dumps(content))
        case "mark removed":
            del build["observed"]
            team.write("team-lead", content)
        case "mark forged":
            build["observed"] = "r-0000000"
            team.write("team-lead", content)
        case "template":
            team.write("team-lead", [])
            team.look()
            team.write("team-lead", content)
    team.look()
    assert team.path("team-lead").read_bytes() == before or change == "template"
    assert team.file("team-lead")["messages"][0]["buildResult"]["observed"] == receipt
    assert shown(team)["evidence"] == receipt
    assert [event.type for event in team.events("message:sent", "entry:held", after=head)] == []
    assert team.held() == []


@pytest.mark.proves("S0-HRD-18")
def test_what_a_receipt_cannot_be_used_for_is_refused(team: Project) -> None:
    team.assign(assignment("task-002"), "Lead")
    none = team.cli("send", "--type", "completion_report", "--receipt", "last", "--data", "{}", agent="Dev")
    assert none.json["error"] == "unknown_receipt"
    other = built(team, PASSING, "task-002")
    assert send(team, unbuilt(), "--receipt", other).json["error"] == "receipt_of_another"
    assert send(team, unbuilt(), "--receipt", "r-0000000").json["error"] == "unknown_receipt"
    own = built(team, PASSING)
    both = send(team, report(), "--receipt", own)
    assert (both.code, both.json["error"]) == (2, "bad_arguments")
    assert "buildResult" in both.json["message"]
    lead = team.cli_send(assignment("task-003"), "Lead", "--receipt", own)
    assert lead.json["error"] == "no_result"
    note = team.cli("send", "Lead", "--receipt", own, "hi", agent="Dev")
    assert note.json["error"] == "bad_arguments"
    assert team.state() == "in_progress"
    tried = send(team, unbuilt(), "--receipt", own, "--dry-run")
    assert (tried.code, team.state()) == (0, "in_progress")


@pytest.mark.proves("S0-HRD-18")
def test_files_that_changed_since_the_build_are_flagged(team: Project) -> None:
    (team.root / "a.ts").write_text("1", encoding="utf-8")
    receipt = built(team, PASSING)
    (team.root / "a.ts").write_text("2", encoding="utf-8")
    spoken = send(team, unbuilt(), "--receipt", receipt)
    assert "the files have changed since" in spoken.warnings["result_stale"]
    assert (
        f"! result_stale: {receipt} passed, but the files have changed since" in team.voice("mailbox", "@team-lead").out
    )


@pytest.mark.proves("S0-HRD-18")
def test_output_that_was_not_kept_whole_says_so(team: Project) -> None:
    long = [sys.executable, "-c", "print('x' * 70_000 + 'the end'); raise SystemExit(1)"]
    built(team, long)
    send(team, unbuilt(), "--receipt", "last")
    output = shown(team)["data"]["buildResult"]["output"]
    assert output.startswith("[the last 65,536 of 70,008 bytes; moot kept no more]\n")
    assert output.endswith("xthe end\n")
    team.run("task reject", "Lead", task="task-001", reason="It does not build.")
    team.run("task reopen", "Lead", task="task-001")
    team.assign(assignment(instructions="Make it build."), "Lead")
    built(team, [sys.executable, "-c", "raise SystemExit(3)"])
    send(team, unbuilt(summary="Again."), "--receipt", "last")
    assert shown(team)["data"]["buildResult"]["output"].startswith("[moot: failed with 3 after")


@pytest.mark.proves("S0-ERR-04")
@pytest.mark.parametrize("way", ["observed", "claimed", "file"])
def test_the_build_runs_before_a_report_are_shown_with_it(team: Project, way: str) -> None:
    runs = []
    for command in (FAILING, FAILING, PASSING):
        runs.append(built(team, command))
        assert team.state() == "in_progress"
    if way == "observed":
        send(team, unbuilt(), "--receipt", "last")
    elif way == "claimed":
        send(team, report())
    else:
        team.append("team-lead", report())
        team.look()
    assert shown(team)["runs"] == runs
    story = team.cli("task", "show", "task-001").result
    assert [(run["id"], run["code"]) for run in story["runs"]] == list(zip(runs, (2, 2, 0), strict=True))
    assert "error TS2304" in story["runs"][0]["tail"]
    said = team.voice("task", "show", "task-001").out
    assert [f"run: {run} {how}" in said for run, how in zip(runs, ("failed", "failed", "passed"), strict=True)] == [
        True
    ] * 3
    assert f"runs of the attempt: {', '.join(runs)}" in team.voice("inbox", agent="Lead").out
    assert "error TS2304" in team.voice("receipt", "show", runs[0]).out


@pytest.mark.proves("S0-ERR-04")
def test_runs_belong_to_their_attempt(team: Project) -> None:
    first = built(team, FAILING)
    send(team, unbuilt(), "--receipt", "last")
    team.run("task reject", "Lead", task="task-001", reason="It does not build.")
    team.run("task reopen", "Lead", task="task-001")
    team.assign(assignment(instructions="Make it build."), "Lead")
    second = built(team, PASSING)
    send(team, unbuilt(summary="It builds."), "--receipt", "last")
    reports = [letter for letter in team.mailbox("team-lead", all=True) if letter["type"] == "completion_report"]
    assert [letter["runs"] for letter in reports] == [[first], [second]]


@pytest.mark.proves("S0-ERR-04")
def test_help_teaches_how_a_build_is_observed(team: Project) -> None:
    said = " ".join(team.voice("help", "send").out.split())
    assert "moot check --task TASK -- COMMAND" in said
    assert "--receipt last" in said


# --- reported files ---------------------------------------------------------------------------------------------------


def flags(letter: dict[str, Any]) -> dict[str, str]:
    return dict(flag.split(": ", 1) for flag in letter["flags"])


@pytest.mark.proves("S0-HRD-17")
@pytest.mark.parametrize("way", ["surface", "file"])
def test_the_reviewer_sees_where_claim_and_tree_differ(project: Project, way: str) -> None:
    project.join("Lead", "team-lead")
    asked = ["src/made.ts", "src/forgotten.ts", "src/changed.ts"]
    project.assign(assignment(filesToCreate=asked), "Lead")
    (project.root / "src").mkdir()
    for name in ("made.ts", "changed.ts", "both.ts"):
        (project.root / "src" / name).write_text("", encoding="utf-8")
    data = report(
        filesCreated=["src/made.ts", "src/both.ts", "src/lost.ts", str(project.root / "src" / "made.ts")],
        filesModified=["src/changed.ts", "src/both.ts", "src/gone.ts"],
    )
    if way == "surface":
        project.report(data)
    else:
        project.append("team-lead", data)
        project.look()
    found = flags(project.mailbox("team-lead")[0])
    assert found["not_created"].endswith('"src/forgotten.ts", "src/changed.ts"')
    assert found["not_found"].endswith('"src/lost.ts", "src/gone.ts"')
    said = project.voice("inbox", agent="Lead").out
    assert all(f"! {code}: {text}" in said for code, text in found.items())
    assert "! not_created" in project.voice("task", "show", "task-001").out


@pytest.mark.proves("S0-HRD-17")
def test_a_report_that_agrees_with_the_tree_has_no_such_flags(project: Project) -> None:
    (project.root / "a.ts").write_text("", encoding="utf-8")
    (project.root / "old").mkdir()
    project.git("-c", "user.name=n", "-c", "user.email=e@x", "commit", "--quiet", "--allow-empty", "-m", "first")
    other = project.root.with_name("other")
    project.git("worktree", "add", "--quiet", "-b", "other", str(other))
    (other / "b.ts").write_text("", encoding="utf-8")
    project.assign(assignment(filesToCreate=["a.ts", "b.ts"]))
    project.report(report(filesCreated=["a.ts", "b.ts"], filesModified=["old"]))
    assert project.mailbox("team-lead")[0]["flags"] == []


@pytest.mark.proves("S0-HRD-17")
def test_the_assignment_in_force_counts_and_long_lists_are_counted(project: Project) -> None:
    project.assign(assignment(filesToCreate=["early.ts"]))
    project.assign(assignment(filesToCreate=[f"f{n}.ts" for n in range(8)], instructions="Rather these."))
    project.report(report(filesCreated=[], filesModified=[]))
    found = flags(project.mailbox("team-lead")[0])
    assert "early.ts" not in found["not_created"]
    assert found["not_created"].endswith('"f4.ts" and 3 more')
    assert "not_found" not in found
