"""`moot run`: agents of every sort bring tasks to their end, and the log says who did what."""

from __future__ import annotations

import json
import re
import shlex
import sys

import pytest

from tests.runs.theatre import GOOD, Theatre, error_of, steps_of

BY_FILE = """
if part == "assignment":
    append(TO_DEVELOPER, {**ASSIGNMENT, "timestamp": NOW})
elif part == "report":
    append(TO_LEAD, {**REPORT, "timestamp": NOW})
else:
    block(APPROVE)
"""
BY_COMMAND = """
if part == "verdict":
    done = moot("task", "approve", task)
else:
    done = moot("send", "--type", DEFAULT[part]["type"], "--data", json.dumps(DEFAULT[part]))
print(done.stdout, done.stderr)
"""


@pytest.mark.parametrize("way", [GOOD, BY_FILE, BY_COMMAND], ids=["output", "file", "command"])
def test_a_task_is_assigned_built_and_approved(theatre: Theatre, way: str) -> None:
    theatre.play("Login page", lead=way, developer=way)
    steps = theatre.drive()
    assert theatre.state() == "completed"
    assert [(s["what"], s["stage"]) for s in steps if s.get("stage")] == [
        (what, stage) for stage in ("lead", "developer", "review") for what in ("started", "passed")
    ]
    assert [theatre.sent(kind) for kind in ("task_assignment", "completion_report")] == [1, 1]
    assert (theatre.runs()[0].outcome, theatre.runs()[0].task) == ("passed", "task-001")
    assert theatre.moves() == [
        ("pending", "in_progress"),
        ("in_progress", "awaiting_review"),
        ("awaiting_review", "completed"),
    ]


@pytest.mark.proves("S0-LOC-07")
def test_the_next_task_is_the_most_urgent_then_the_oldest(theatre: Theatre) -> None:
    theatre.play("First", "Second")
    theatre.run("task add", title="Urgent", priority="high")
    theatre.run("task add", title="Late", priority="low")
    steps = theatre.drive()
    order = [step["task"] for step in steps if step["what"] == "opened"]
    assert order == ["task-003", "task-001", "task-002", "task-004"]
    assert (steps[-1]["what"], steps[-1]["counts"]) == ("summary", {"completed": 4})


def test_a_rejected_task_is_tried_again_and_both_roles_are_told_why(theatre: Theatre) -> None:
    keep = "open(f'{part}-{attempt}.brief', 'w').write(brief)\n"
    judge = keep + "block(REJECT if attempt == '1' else APPROVE)"
    theatre.play("Login page", lead=keep + GOOD, developer=keep + GOOD, review=judge)
    theatre.drive()
    assert (theatre.state(), theatre.task().attempt) == ("completed", 2)
    assert [run.outcome for run in theatre.runs()] == ["failed", "passed"]
    for part in ("assignment", "report", "verdict"):
        assert "Not good enough." not in theatre.text(f"{part}-1.brief")
        assert "> Not good enough." in theatre.text(f"{part}-2.brief")


def test_a_hopeless_task_ends_with_its_attempts(theatre: Theatre) -> None:
    theatre.play("Hopeless", "Fine", review="block(REJECT if task == 'task-001' else APPROVE)")
    spoken = theatre.cli("run", "orchestrator")
    assert (spoken.code, error_of(spoken)["error"]) == (6, "run_failed")
    assert "Not good enough" in error_of(spoken)["message"]
    assert (theatre.state(), theatre.task().attempt) == ("rejected", 3)
    assert theatre.state("task-002") == "completed"
    assert steps_of(spoken)[-1]["counts"] == {"retried": 2, "rejected": 1, "completed": 1}


def test_the_leads_command_reviews_if_there_is_no_other(theatre: Theatre) -> None:
    theatre.play("Login page")
    theatre.drive()
    approved = theatre.events("task:approved")[0]
    assert approved.by == "Lead#1"
    assert theatre.count("verdict-of-task-001") == 1


def test_a_review_command_acts_as_an_agent_of_its_own(theatre: Theatre) -> None:
    theatre.play("Login page", review=GOOD)
    theatre.drive()
    assert theatre.events("task:approved")[0].by == "Reviewer#1"


def test_agents_have_an_identity_and_are_no_person(theatre: Theatre) -> None:
    body = f"""
open(f"{{part}}.json", "w").write(json.dumps([dict(os.environ), json.loads(moot("whoami", "--json").stdout)["result"]]))
{GOOD}
"""
    theatre.env |= {"SECRET_TOKEN": "hidden", "WANTED_TOKEN": "given", "MOOT_DEBUG": "1"}
    theatre.play("Login page", lead=body, developer=body, env='["WANTED_TOKEN"]')
    theatre.drive()
    for part, name, role in (("assignment", "Lead", "team-lead"), ("report", "Developer", "developer")):
        env, me = json.loads(theatre.text(f"{part}.json"))
        assert (me["kind"], me["name"], me["roles"]) == ("agent", name, [role])
        assert (env["MOOT_AGENT"], env["MOOT_INCARNATION"], env["WANTED_TOKEN"]) == (name, "1", "given")
        assert env["MOOT_RUN"] == theatre.runs()[0].id
        assert not {"MOOT_PERSON", "MOOT_DEBUG", "SECRET_TOKEN"} & env.keys()


def test_agents_leave_when_the_driver_ends(theatre: Theatre) -> None:
    theatre.play("Login page")
    theatre.drive()
    assert [(member["name"], member["here"]) for member in theatre.ask("agents", all=True)] == [
        ("Developer", False),
        ("Lead", False),
    ]


def test_a_name_that_somebody_else_has_is_left_to_them(theatre: Theatre) -> None:
    theatre.play("Login page")
    theatre.join("Lead", "team-lead")
    theatre.drive()
    assert theatre.events("task:approved")[0].by == "Lead-2#1"
    assert [member["name"] for member in theatre.ask("agents")] == ["Lead"]


def test_reading_and_working_are_recorded_for_the_agents(theatre: Theatre) -> None:
    theatre.play("Login page")
    theatre.drive()
    acked = {event.stream: event.data["who"] for event in theatre.events("message:acked")}
    assert acked == {"mailbox/@developer": "Developer#1", "mailbox/@team-lead": "Lead#1"}


# Which tasks


def test_once_and_max_limit_the_number_of_tasks(theatre: Theatre) -> None:
    theatre.play("First", "Second", "Third", "Fourth")
    theatre.drive("--once")
    assert [theatre.state(f"task-00{n}") for n in (1, 2)] == ["completed", "pending"]
    theatre.drive("--max", "2")
    assert [theatre.state(f"task-00{n}") for n in (2, 3, 4)] == ["completed", "completed", "pending"]
    for words in (("--max", "0"), ("--max", "2", "--once")):
        assert theatre.cli("run", "orchestrator", *words).code == 2


def test_a_driver_with_the_same_counts_as_the_last_one_has_nothing_to_record(theatre: Theatre) -> None:
    theatre.play("First", "Second", developer="sys.exit(1)", attempts=1)
    for _ in range(2):
        spoken = theatre.cli("run", "orchestrator", "--once")
        assert (spoken.code, error_of(spoken)["error"]) == (6, "run_failed")


def test_a_named_task_is_driven_from_where_it_stands(theatre: Theatre) -> None:
    theatre.play("First", "Second", "Third")
    theatre.assign({**json.loads(ASSIGNMENT), "taskId": "task-002"})
    theatre.drive("--task", "task-002")
    assert [theatre.state(f"task-00{n}") for n in (1, 2, 3)] == ["pending", "completed", "pending"]
    assert theatre.count("assignment-of-task-002") == 0


ASSIGNMENT = json.dumps(
    {"platform": "web", "title": "A", "instructions": "B", "filesToCreate": [], "architecture": "C"}
)


def test_a_task_that_cannot_be_driven_is_refused_before_anything_happens(theatre: Theatre) -> None:
    theatre.play("First")
    theatre.run("task add", title="Other", lifecycle="core", id="other")
    theatre.drive("--once")
    for task, code in (("task-001", "task_over"), ("other", "other_lifecycle"), ("task-9", "unknown_task")):
        refusal = theatre.cli_refusal("run", "orchestrator", "--task", task)
        assert refusal.code == code


def test_a_task_whose_attempts_are_used_up_is_refused_with_a_command_that_works(theatre: Theatre) -> None:
    theatre.play("First", review="block(REJECT)")
    theatre.drive(code=6)
    refusal = theatre.cli_refusal("run", "orchestrator", "--task", "task-001")
    assert refusal.code == "task_over"
    (again,) = re.findall(r"`moot ([^`]+)`", refusal.remedy)
    assert theatre.cli(*shlex.split(again.replace("…", "Once more."))).code == 0
    assert (theatre.state(), theatre.task().attempt) == ("pending", 4)


def test_tasks_of_others_are_left_alone(theatre: Theatre) -> None:
    """Those in progress, those assigned to an agent, those of another lifecycle, those that wait."""
    theatre.play("Mine", "Assigned", "In progress")
    theatre.join("Carol", "team-lead")
    assert theatre.cli("task", "assign", "task-002", "Carol").code == 0
    theatre.run("task claim", "Carol", task="task-003")
    theatre.run("task add", title="Other", lifecycle="core", id="other")
    theatre.run("task add", title="Later", needs=("task-003",))
    theatre.drive()
    assert theatre.state() == "completed"
    assert [theatre.state(task) for task in ("task-002", "task-003", "other", "task-004")] == [
        "pending",
        "in_progress",
        "open",
        "pending",
    ]


def test_without_pending_tasks_there_is_nothing_to_do(theatre: Theatre) -> None:
    theatre.play()
    (summary,) = theatre.drive()
    assert (summary["what"], summary["counts"], summary["text"]) == ("summary", {}, "No task is pending.")


# What people see


def test_people_see_each_phase_and_the_outcome(theatre: Theatre) -> None:
    theatre.play("Login page", developer="sys.exit(3) if nth('tries') == 1 else block(REPORT)")
    theatre.command = lambda *words: [sys.executable, "-m", "moot", *words]  # type: ignore[method-assign]
    said = theatre.cli("run", "orchestrator").out
    lines = [re.sub(r"m-\w{7}|run-\w{7}|\d+s|/\S+/", "~", line) for line in said.splitlines()]
    assert lines == [
        "task-001: Login page (~)",
        "task-001: lead starts as Lead: ~python lead.py",
        "task-001: lead passed after ~: task_assignment ~",
        "task-001: developer starts as Developer: ~python developer.py",
        "task-001: developer failed after ~: its exit code was 3; the output is empty",
        "task-001: developer starts as Developer, attempt 2 of 2: ~python developer.py",
        "task-001: developer passed after ~: completion_report ~",
        "task-001: review starts as Lead: ~python lead.py",
        "task-001: review passed after ~: completed",
        "task-001: completed",
        "Tasks: 1 completed.",
    ]


def test_what_a_command_wrote_can_be_read_afterwards(theatre: Theatre) -> None:
    theatre.play("Login page", developer="print('thinking\\x1b[31m', file=sys.stderr); block(REPORT)")
    theatre.drive()
    shown = theatre.cli("run", "log", "last", "--stage", "developer").result
    assert shown["errors"] == "thinking\x1b[31m\n"
    assert json.loads(shown["output"].removeprefix("```json\n").removesuffix("```\n"))["summary"] == "Done."
    assert shown["output_size"] == len(shown["output"])
    said = "\n".join(theatre.run("run log", id="last", stage="developer").say)
    assert "> thinking\\x1b[31m" in said
    run = theatre.runs()[0]
    listed = theatre.cli("runs").result
    assert {one["id"] for one in listed if one["task"]} == {run.id}
    assert [one["id"] for one in theatre.cli("runs", "--task", "task-001").result] == [run.id]
    shown = "\n".join(theatre.run("run show", id=run.id).say)
    assert f"moot run log {run.id} --stage developer --attempt 1" in shown
    assert theatre.cli("run", "log", run.id, "--stage", "nothing").code == 4
    assert theatre.cli("run", "show", "run-0000000").code == 4


def test_the_history_of_a_task_shows_its_runs(theatre: Theatre) -> None:
    theatre.play("Login page")
    theatre.drive()
    story = [event.type for event in theatre.run("explain", thing="task-001").result]
    assert [kind for kind in story if kind.startswith("run:")] == [
        "run:opened",
        *("run:started", "run:passed") * 3,
        "run:ended",
    ]


def test_the_driver_itself_is_a_run_with_its_process_and_its_counts(theatre: Theatre) -> None:
    theatre.play("Login page")
    theatre.drive()
    (driver,) = (one for one in theatre.cli("runs").result if one["task"] is None)
    assert (driver["outcome"], driver["counts"], driver["stages"]) == ("passed", {"completed": 1}, [])
    assert driver["pid"] > 1
    assert theatre.runs()[0].parent == driver["id"]


def test_a_dry_run_shows_the_commands_and_the_tasks_and_starts_nothing(theatre: Theatre) -> None:
    theatre.play("First", "Second")
    theatre.script("developer", "changed = True")
    before = theatre.head()
    plan = theatre.cli("run", "orchestrator", "--dry-run").result
    assert plan["tasks"] == ["task-001", "task-002"]
    assert [(one["stage"], one["allowed"]) for one in plan["commands"]] == [("lead", True), ("developer", False)]
    assert theatre.cli("run", "orchestrator", "--dry-run", "--once").result["tasks"] == ["task-001"]
    assert theatre.head() == before


def test_python_programs_drive_too(theatre: Theatre) -> None:
    from moot import Workspace
    from moot.core.errors import AwaitedFailed

    theatre.play("Fine", "Bad", developer="block(REPORT if task == 'task-001' else {})", attempts=1)
    with Workspace(theatre.root, person=True) as workspace:
        workspace.allow(all=True, yes=True)  # this process has another home than the commands of the theatre
        seen: list[tuple[str, str]] = []
        with pytest.raises(AwaitedFailed, match="1 task was not completed"):
            seen.extend((step.what, step.stage) for step in workspace.run("orchestrator"))
        assert ("passed", "review") in seen
        assert ("failed", "developer") in seen
        assert workspace.runs(task="task-001")[0].outcome == "passed"
        assert workspace.run_show("last").task == "task-002"
        assert workspace.run_log("last", stage="developer").output.startswith("```json")
        assert workspace.run("orchestrator", dry_run=True).tasks == ()


def test_the_status_file_shows_the_driver_while_it_runs_and_the_counts_afterwards(theatre: Theatre) -> None:
    look = "open(f'{part}.status', 'w').write(open('.claude-orchestrator/tasks/status.json').read())\n" + GOOD
    theatre.play("Login page", lead=look, developer=look)
    theatre.drive()
    during = json.loads(theatre.text("report.status"))
    assert during["orchestrator"]["running"] is True
    assert during["orchestrator"]["pid"] == theatre.cli("runs").result[-1]["pid"]
    assert (during["developer"]["status"], during["developer"]["currentTask"]) == ("implementing", "task-001")
    assert json.loads(theatre.text("assignment.status"))["teamLead"]["status"] == "analyzing"
    assert json.loads(theatre.text("verdict.status"))["teamLead"]["status"] == "reviewing"
    after = json.loads(theatre.text(".claude-orchestrator/tasks/status.json"))
    assert (after["orchestrator"]["running"], after["lastCycle"]) == (False, {"completed": 1})


def test_a_verdict_can_be_given_in_the_queue_file(theatre: Theatre) -> None:
    judge = """
with open(".claude-orchestrator/tasks/queue.json") as file:
    queue = json.load(file)
for entry in queue["tasks"]:
    if entry["id"] == task:
        entry["status"] = "rejected" if attempt == "1" else "completed"
        entry["rejectionReason"] = "No tests."
with open(".claude-orchestrator/tasks/queue.json", "w") as file:
    json.dump(queue, file)
"""
    theatre.play("Login page", lead=BY_FILE, developer=BY_FILE, review=judge)
    theatre.drive()
    assert (theatre.state(), theatre.task().attempt) == ("completed", 2)
    assert theatre.task().setbacks[0].reason == "No tests."


def test_a_report_without_a_build_result_takes_that_of_the_last_check(theatre: Theatre) -> None:
    body = "moot('check', '--task', task, '--', 'true')\ndel REPORT['buildResult']\nblock(REPORT)"
    theatre.play("Login page", developer=body)
    theatre.drive()
    (sent,) = (event for event in theatre.events("message:sent") if event.data["kind"] == "completion_report")
    assert (sent.data["data"]["buildResult"]["status"], theatre.state()) == ("success", "completed")
