"""The shared task list, by the calls that the protocol prints."""

from __future__ import annotations

from typing import Any

import pytest

from moot.core.errors import MootError
from moot.packs.specflow.facade import verbs_of
from tests.specs.specflow.project import FIANNA, SWIFT, YEATS, Project, issue


def call(project: Project, agent: str | None, tool: str, **given: Any) -> Any:
    return [project.ask(verb, agent, **arguments) for verb, arguments in verbs_of(tool, given)]


@pytest.mark.proves("S3-API-01", "S3-TASK-01", "S3-TASK-03", "S3-TASK-04", "S3-TASK-09", "S3-TASK-10", "S3-TASK-11")
def test_the_printed_calls_reach_the_verbs(project: Project) -> None:
    (made,) = call(
        project,
        None,
        "TaskCreate",
        subject="Implement #50: User Profile Page",
        description="Full lifecycle: contract -> build -> test -> close",
        activeForm="Implementing issue #50",
    )
    assert (made["id"], made["state"], made.get("holder")) == ("issue-50", "pending", None)
    project.plan(issue(50, title="User Profile Page"), issue(51, "Depends on #50"), issue(52))
    again = project.task("issue-50")
    assert (again.title, again.body, again.extra["activeForm"]) == (
        made["title"],
        made["body"],
        "Implementing issue #50",
    )
    assert project.refusal("task add", title="Implement #50: again").code == "task_exists"
    assert project.task("issue-51").waits == ("issue-50",)
    call(project, None, "TaskUpdate", taskId="issue-52", addBlockedBy=["issue-50"])
    assert project.task("issue-52").waits == ("issue-50",)
    call(project, None, "TeammateTool", operation="spawnTeam", name="Fianna", config={"agents": FIANNA["agents"][:1]})
    call(project, YEATS, "TaskUpdate", taskId="issue-50", status="in_progress")
    call(
        project,
        YEATS,
        "TeammateTool",
        operation="write",
        to="db-coordinator",
        message="REQUEST_MIGRATION #50 tables:[users, sessions]",
    )
    call(project, YEATS, "TeammateTool", operation="broadcast", message="TOUCHING_FILE src/lib/auth.ts")
    call(project, None, "TeammateTool", operation="requestShutdown", name="Yeats")
    assert project.state("issue-50") == "in_progress"
    call(project, YEATS, "TaskUpdate", taskId="issue-50", status="pending")
    for status, code in (("completed", "no_such_move"), ("finished", "unknown_state")):
        with pytest.raises(MootError) as caught:
            call(project, None, "TaskUpdate", taskId="issue-51", status=status)
        assert caught.value.code == code
    call(project, None, "TaskUpdate", taskId="issue-52", status="deleted")
    assert (project.state("issue-52"), len(project.moves("issue-52"))) == ("deleted", 1)
    for tool, given in (
        ("TeammateTool", {"to": "Swift"}),
        ("TeammateTool", {"operation": "approveShutdown"}),
        ("TeammateTool", {"operation": "broadcast", "message": "x", "to": "Swift"}),
        ("TaskUpdate", {"taskId": "issue-50"}),
    ):
        with pytest.raises(MootError) as caught:
            verbs_of(tool, given)
        assert caught.value.details["known"]
    for blank in ("", " "):
        assert project.refusal("task add", title=blank).code == "no_title"
    free = project.ask("task add", title="Tidy up", lifecycle="specflow", doing="Tidying")
    assert (free["state"], free["extra"]) == ("pending", {"activeForm": "Tidying"})


@pytest.mark.proves("S3-TASK-02", "S3-TASK-05", "S3-TASK-06", "S3-TASK-07", "S3-TASK-08")
def test_tasks_wait_for_their_blockers_and_everybody_sees_the_same(project: Project) -> None:
    project.plan(issue(50), issue(51))
    project.run("task link", task="issue-51", needs=("issue-50",))
    config = {"agents": [{"name": "Yeats", "prompt": "p", "issue": 50}, {"name": "Swift", "prompt": "p", "issue": 51}]}
    project.ask("specflow spawn-team", name="Fianna", config=config)
    project.run("task claim", YEATS, task="issue-50")
    waits = project.refusal("task claim", SWIFT, task="issue-51")
    assert "issue-50" in waits.text
    assert project.ask("board", YEATS)["tasks"] == project.ask("board", SWIFT)["tasks"]
    for needs, code in (("issue-51", "cycle"), ("issue-99", "unknown_task"), ("issue-50", "cycle")):
        refusal = project.refusal("task link", task="issue-50", needs=(needs,))
        assert refusal.code == code
    project.run("task move", YEATS, task="issue-50", state="pending")
    project.run("task claim", YEATS, task="issue-50")
    assert project.refusal("task claim", SWIFT, task="issue-50").code in ("not_your_issue", "not_open", "task_held")
