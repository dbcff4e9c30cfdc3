"""A wave from its plan to its end: decisions of the lead, closing, the report, and what people see."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from moot.core.principal import Actor
from moot.core.run import EndRun, OpenRun
from moot.core.task import MoveTask
from moot.packs.specflow import lead, team
from tests.person import ME
from tests.specs.orchestrator.project import LaterClock
from tests.specs.specflow.project import SWIFT, YEATS, Project, issue

LEAD = Actor(ME)


def described(project: Project, name: str, **fields: Any) -> None:
    """What a gate or a message would have recorded."""
    project.session().commit(lambda work: team.describe(work, name, **fields))


def finished(project: Project, *numbers: int) -> None:
    """These issues are ready, and their tasks completed, as gates and agents would leave them."""
    for number in numbers:
        agent = project.wave().of_issue(number).agent  # type: ignore[union-attr]
        if project.task(f"issue-{number}").state == "pending":
            project.run("task claim", agent, task=f"issue-{number}")
        described(project, f"issue-{number}", status="ready", certificate=f"r-{number}")
        project.run("task complete", agent, task=f"issue-{number}")


def close(project: Project, commit: str = "c1") -> None:
    project.session().commit(lambda work: lead.close(work, team.running(work), commit, LEAD))


def gating(project: Project, commit: str = "c1") -> None:
    """Both gates have passed on this commit."""
    fields = {tier: {"run": f"r-{tier}", "commit": commit} for tier in ("tier2", "tier3")}
    described(project, "wave-1", **fields)
    move = MoveTask(verb="gate", actor=LEAD)
    project.session().commit(lambda work: work.do("task", "wave-1", move))


@pytest.mark.proves("S3-LEAD-03", "S3-MSG-13", "S3-INSP-02")
def test_a_blocked_issue_waits_for_the_lead(project: Project) -> None:
    project.plan(issue(50), issue(51), issue(52), issue(53))
    project.run("task link", task="issue-53", needs=("issue-52",))  # the lead puts both into one wave
    names = ("Yeats", "Swift", "Beckett", "Heaney")
    agents = [{"name": name, "prompt": name} for name in names]
    project.ask("specflow spawn-team", name="Fianna", config={"agents": agents})
    for agent, number in ((YEATS, 50), (SWIFT, 51), ("w1.beckett", 52)):
        project.run("task claim", agent, task=f"issue-{number}")
        project.write(agent, "waves-controller", f"BLOCKED #{number} no\nAPI {number}")
    waiting = {one["id"]: one["command"] for one in project.ask("needs-me") if one["kind"] == "concern"}
    assert [command.split()[:5] for command in waiting.values()] == [
        ["moot", "specflow", "decide", str(number), "resume"] for number in (50, 51, 52)
    ]
    assert project.refusal("specflow decide", YEATS, issue="50", how="resume", reason="me").code == "wrong_role"
    assert project.refusal("specflow decide", issue="53", how="resume", reason="x").code == "not_blocked"
    assert project.refusal("specflow decide", issue="50", how="resume").code == "reason_missing"
    described(project, "issue-50", failed=3)
    project.run("specflow decide", issue="#50", how="resume", reason="The API is back.")
    now = project.issue(50)
    assert (now.status, now.why, now.failed, now.task.holder) == ("", "", 0, f"{YEATS}#1")
    assert "The API is back." in project.texts(YEATS)[-1]
    project.run("specflow decide", issue="51", how="reassign", reason="Out of ideas.")
    new = project.wave().of_issue(51)
    assert new is not None
    assert (new.name, project.task("issue-51").holder) == ("Wilde", f"{new.agent}#1")
    assert project.refusal("task claim", SWIFT, task="issue-51").code == "agent_retired"
    project.run("specflow decide", issue="issue-52", how="defer", reason="Next week.")
    for number in (52, 53):
        one = project.issue(number)
        assert (one.status, one.task.state, one.wave) == ("deferred", "pending", None)
        assert "Next week." in one.why
    assert project.wave().stopping == ("w1.beckett", "w1.heaney")
    listed = [(one["agent"], one["number"], one["outcome"]) for one in project.ask("specflow status")["issues"]]
    assert listed[1:3] == [("Wilde", 51, "in_progress"), ("Beckett", 52, "deferred")]
    assert listed[-1] == ("Swift", 51, "reassigned")
    noted = [event for event in project.events("task:noted") if event.stream == "task/issue-52"]
    assert [(event.data["text"], event.by) for event in noted] == [("defer: Next week.", ME)]
    assert not [one for one in project.ask("needs-me") if one["kind"] == "concern"]


@pytest.mark.proves("S3-LEAD-02", "S3-WAVE-05", "S3-WAVE-03", "S3-NAME-08", "S3-WAVE-06")
def test_a_wave_is_closed_with_its_certificates(fianna: Project) -> None:
    project = fianna
    project.write(YEATS, "db-coordinator", "REQUEST_MIGRATION #50 tables:[users]")
    finished(project, 50)
    before = len(project.texts(project.wave().lead))
    finished(project, 51)
    project.session().commit(lambda work: lead.tell_if_all_ready(work, team.running(work)))
    told = project.texts(project.wave().lead)[before:]
    assert [text for text in told if "moot specflow gate tier2" in text]
    with pytest.raises(Exception, match="cannot be closed") as caught:
        close(project)
    assert len(caught.value.details["open"]) == 2  # type: ignore[attr-defined]
    gating(project)
    asked = {"tier": "contracts", "wave": 1}
    for name, counts in {"r-1": {"tests": 3, "failed": 1}, "r-2": {"tests": 4, "regression": 2}}.items():
        steps = (OpenRun(team.PACK, ("contracts",), "issue-50", parameters=asked), EndRun("failed", counts=counts))
        project.session().commit(lambda work, n=name, steps=steps: [work.do("run", n, step) for step in steps])
    with pytest.raises(Exception, match="cannot be closed"):
        close(project, "c2")  # stale
    assert project.refusal("specflow plan", YEATS).code == "wrong_role"
    plan = project.plan(issue(50), issue(51), issue(60, "Depends on #51"))
    assert (plan["live"], [wave["number"] for wave in plan["waves"]]) == (1, [2])
    assert project.wave().state == "gating"
    close(project)
    assert project.wave().state == "complete"
    closed = project.task("issue-50").extra["closed"]
    assert (closed["commit"], closed["agent"]) == ("c1", YEATS)
    assert closed["certificates"] == ["r-50", "r-tier2", "r-tier3"]
    found = project.ask("specflow status", wave=1)
    assert [(one["agent"], one["number"], one["outcome"]) for one in found["report"]["issues"]] == [
        ("Yeats", 50, "closed"),
        ("Swift", 51, "closed"),
    ]
    numbers = {name: number for name, number in found["report"].items() if name != "issues"}
    gates = {"gate_runs": 2, "tests": 7, "failures": 1, "regressions": 2}
    assert numbers == {"migrations": 1, "closed": 2, **gates}
    said = project.run("specflow status", wave=1).say
    assert said[0].startswith("Wave 1, Fianna: complete")
    assert [line.split(":")[0].strip() for line in said[1:5]] == ["Yeats", "Swift", "Hamilton", "Keane"]
    plan = project.ask("specflow plan")
    assert [(wave["number"], wave["team"]) for wave in plan["waves"]] == [(2, "Tuatha")]
    assert plan["waves"][0]["issues"] == [{"number": 60, "name": "Page 60", "agent": "Yeats", "waits": []}]
    assert project.wave(2).members[0].agent == "w2.yeats"
    assert project.refusal("task move", task="wave-2", state="running").code == "moves_by_itself"


@pytest.mark.proves("S3-WAVE-05", "S3-WAVE-06")
def test_a_wave_whose_issues_were_all_deferred_is_aborted_and_planned_again(fianna: Project) -> None:
    project = fianna
    project.plan(issue(50), issue(51), issue(61, "Depends on #50"), issue(62))
    finished(project, 51)
    for number in (50, 51):
        project.run("specflow decide", issue=str(number), how="defer", reason="Later.")
    assert sum("gate tier2" in text for text in project.texts(project.wave().lead)) == 1  # while 51 was ready
    close(project)
    assert project.wave().state == "aborted"
    plan = project.plan(issue(70))
    assert [[one["number"] for one in wave["issues"]] for wave in plan["waves"]] == [[50, 51, 70], [61]]
    project.ask("specflow spawn-team", name="Tuatha", config={"agents": [{"name": "Yeats", "prompt": "x"}]})
    assert (project.issue(50).wave, project.issue(50).status) == (2, "")
    project.run("task claim", "w2.yeats", task="issue-50")
    project.run("specflow request-shutdown", abort="wrong plan")
    assert (project.issue(50).task.state, project.wave(2).state) == ("pending", "aborted")
    assert project.ask("specflow plan")["waves"][0]["number"] == 3


@pytest.mark.proves("S3-INSP-01", "S3-INSP-02")
def test_the_status_shows_members_issues_and_files(fianna: Project) -> None:
    project = fianna
    project.run("task claim", YEATS, task="issue-50")
    before = project.ask("specflow status")["members"][1]["unread"]
    project.write(SWIFT, "Yeats", "hello")
    project.touch(YEATS, "src/lib/auth.ts")
    project.touch(SWIFT, "src/lib/auth.ts")
    found = project.ask("specflow status")
    assert (found["wave"], found["team"], found["state"], found["mode"]) == (1, "Fianna", "running", "teams")
    assert found["decided"] == "spawn-team"
    rows = [(one["name"], one["role"], one["issue"], one["agent"], one["state"]) for one in found["members"]]
    assert rows[1:] == [
        ("Yeats", "issue-lifecycle", 50, "w1.yeats#1", "idle"),
        ("Swift", "issue-lifecycle", 51, "w1.swift#1", "idle"),
        ("Hamilton", "db-coordinator", None, "w1.hamilton#1", "active"),
        ("Keane", "quality-gate", None, "w1.keane#1", "active"),
    ]
    assert found["members"][0]["role"] == "waves-controller"
    yeats = found["members"][1]
    assert (yeats["task"], yeats["unread"], yeats["process"]) == ("issue-50", before + 2, None)
    assert yeats["active"] is not None
    assert found["files"] == [{"paths": ["src/lib/auth.ts"], "holder": YEATS, "waiters": [SWIFT]}]
    said = "\n".join(project.run("specflow status").say)
    assert "Swift: idle" in said
    assert project.ask("watch")["packs"][0]["title"].startswith("Wave 1, Fianna: running")
    assert project.refusal("specflow status", wave=7).code == "no_plan"


@pytest.mark.proves("S3-INSP-03")
def test_the_conversation_of_an_agent_an_issue_or_a_request_is_listed_in_order(fianna: Project) -> None:
    project = fianna
    asked = project.write(YEATS, "db-coordinator", "REQUEST_MIGRATION #50 tables:[users]")["id"]
    project.write(SWIFT, "Yeats", "hello")
    project.write(SWIFT, "db-coordinator", "QUERY_TABLE users")
    answer = project.ask("inbox", YEATS)["new"][1]["id"]
    project.run("ack", YEATS, ids=(answer,))
    request, reply = project.ask("thread", id=asked)
    assert (request["type"], request["sender"], request["to"]) == ("REQUEST_MIGRATION", "w1.yeats", ["w1.hamilton"])
    assert (request["data"]["issue"], request["data"]["tables"]) == (50, ["users"])
    assert (reply["reply_to"], reply["data"]["number"], reply["stages"]) == (asked, "1", [["w1.yeats", "acked"]])
    ((box, shown, settled),) = reply["times"]
    assert box == YEATS
    assert request["at"] <= shown <= settled
    kinds = {name: [one["type"] for one in project.ask("thread", id=name)] for name in ("issue-50", YEATS, SWIFT)}
    assert kinds["issue-50"] == ["note", "REQUEST_MIGRATION", "MIGRATION_ASSIGNED"]
    assert kinds[YEATS] == ["note", "REQUEST_MIGRATION", "MIGRATION_ASSIGNED", "note"]
    assert kinds[SWIFT] == ["note", "note", "QUERY_TABLE", "TABLE_PENDING"]


@pytest.mark.proves("S3-OVR-04")
def test_the_catalogue_lists_fourteen_types_and_the_replies_that_moot_adds(project: Project) -> None:
    listed = project.ask("specflow catalogue")
    own = [one for one in listed if not one["supplementary"]]
    assert [sum(one["operation"] == how for one in own) for how in ("write", "broadcast")] == [13, 1]
    assert {one["type"] for one in listed if one["supplementary"]} == {"JOURNEY_TIER2_RESULTS", "REGRESSION_RESULTS"}
    by_type = {one["type"]: one for one in listed}
    asked = by_type["REQUEST_MIGRATION"]
    assert (asked["forms"], asked["fields"]) == (
        ["REQUEST_MIGRATION #{issue:int} tables:[{tables:names}]"],
        {"issue": "int", "tables": "names"},
    )
    assert (asked["sender"], asked["recipient"]) == (["issue-lifecycle"], ["db-coordinator"])
    assert asked["replies"] == ["MIGRATION_ASSIGNED", "CONFLICT"]
    assert all(reply in by_type for one in listed for reply in one["replies"])
    assert len(project.run("specflow catalogue").say) == 16


@pytest.mark.proves("S3-API-04")
def test_neither_init_nor_a_wave_changes_what_a_project_has_of_specflow(make_project: Callable[..., Project]) -> None:
    project = make_project()
    for path in ("scripts/agents/issue-lifecycle.md", ".specflow/baseline.json", "docs/contracts/a.yml"):
        project.put(path)
    for path in (".claude/settings.json", ".git/hooks/commit-msg", "supabase/migrations/1_a.sql"):
        project.put(path)

    def files() -> dict[Path, bytes]:
        found = (path for top in (project.root, Path(project.env["HOME"])) for path in top.rglob("*"))
        own = (project.root / ".git" / "moot", project.root / ".git" / "issues.json")
        return {path: path.read_bytes() for path in found if path.is_file() and not any(map(path.is_relative_to, own))}

    before = files()
    spoken = project.voice("init", "--pack", "specflow")
    assert spoken.code == 0, spoken.err
    assert all(one in spoken.out for one in ("[run.specflow]", "scripts/agents", "docs/contracts", "commit-msg"))
    project.spawn(50)
    finished(project, 50)
    gating(project)
    close(project)
    assert files() == before


def waiting(project: Project, text: str) -> list[str]:
    """The commands of what waits for the lead and says this."""
    return [one["command"] for one in project.ask("needs-me") if one["kind"] == "concern" and text in one["text"]]


@pytest.mark.proves("S3-INSP-02")
def test_a_lead_sees_conflicts_overdue_requests_findings_and_gates(make_project: Callable[..., Project]) -> None:
    project = make_project(clock=LaterClock())
    project.commit(src__lib__auth_ts="1\n")
    project.spawn(50, 51)
    for agent, number in ((YEATS, 50), (SWIFT, 51)):
        project.write(agent, "db-coordinator", f"REQUEST_MIGRATION #{number} tables:[users]")
    (command,) = waiting(project, "Refused: CONFLICT users")
    assert command.startswith("moot ack m-")
    project.run("send", YEATS, to=(SWIFT,), text="Which port?", type="request", within=60.0)
    assert not waiting(project, "Which port?")
    project.clock.passed += 120  # type: ignore[union-attr]
    (command,) = waiting(project, "Which port?")
    assert command.startswith("moot thread m-")
    project.write(YEATS, "quality-gate", "RUN_CONTRACTS")
    project.write(SWIFT, "quality-gate", "RUN_CONTRACTS")
    gates = project.ask("specflow status")["gates"]
    assert [(one["about"], one["place"], one["by"]) for one in gates] == [
        ("issue-50", 1, YEATS),
        ("issue-51", 2, SWIFT),
    ]
    project.session().commit(lambda work: [work.do("run", one["run"], EndRun("stopped")) for one in gates])
    finished(project, 50)
    assert not waiting(project, "gate")
    finished(project, 51)
    assert waiting(project, "run the wave gate") == ["moot specflow gate tier2"]
    project.commit(src__lib__auth_ts="2\n")
    assert waiting(project, "src/lib/auth.ts") == ["moot specflow gate tier2 --accept"]
    assert not waiting(project, "run the wave gate")
    described(project, "wave-1", tier2={"run": "r-1", "commit": "c"})
    assert waiting(project, "regression gate") == ["moot specflow gate tier3"]
