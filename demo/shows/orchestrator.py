"""A team lead and a developer that know only the files of their protocol, and nothing about moot.

The lead is a shell script with jq (`agents/orchestrator/lead.sh`), the developer a Python script
(`agents/orchestrator/developer.py`). They work in two worktrees. The lead takes tasks from the queue file, assigns
them, reads the reports, and judges in the queue file: one report has no test, so it is rejected, and the task is tried
again. In the background, `moot mirror --watch` keeps the files and the log in step.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from play import Play
from story import Line

if TYPE_CHECKING:
    from stage import Stage
    from view import Plain

    from moot import Workspace

SETTINGS = """\
packs = ["orchestrator"]

[tasks]
lifecycle = "orchestrator"
"""
NEEDS = ("jq",)
LEAD, DEVELOPER, MIRROR = "team-lead", "developer", "moot mirror"
TASKS = {"greeting": "Say hello", "farewell": "Say goodbye", "count": "Count to three"}
FILES = ".claude-orchestrator/tasks"
INTRODUCTION = (
    "A team lead (a shell script) and a developer (a Python script) know only the files of their protocol.",
    f"They work in two worktrees. Beside them runs `moot mirror --watch`. Files: {FILES}/",
)


def screen(_ws: Workspace) -> None:
    """Plain lines are enough for two agents."""


def play(stage: Stage, ws: Workspace, view: Plain) -> None:
    for sentence in INTRODUCTION:
        view.tell(Line(sentence))
    for name, title in TASKS.items():
        ws.task_add(title, id=name, priority="high" if name == "farewell" else "medium")
    agents = stage.agents / "orchestrator"
    stage.start(MIRROR, stage.desk, "moot", "mirror", "--watch")
    stage.start(DEVELOPER, stage.bench, sys.executable, str(agents / "developer.py"))
    stage.start(LEAD, stage.desk, "sh", str(agents / "lead.sh"))
    following = Play(stage, ws, view)
    following.follow_until(lambda: stage.ended_well(LEAD))
    for name in (DEVELOPER, MIRROR):
        stage.end(name)  # they watch files forever
    following.follow(0.0)


def promised(stage: Stage, ws: Workspace, view: Plain) -> dict[str, bool]:
    tasks = {name: ws.task_show(name).task for name in TASKS}
    events = ws.log(after=0, limit=100_000)
    typed = [event for event in events if event.data.get("kind") in ("task_assignment", "completion_report")]
    verdicts = [event for event in events if event.type in ("task:approved", "task:rejected")]
    verified = stage.run("moot", "verify")
    tested = stage.run(sys.executable, "-m", "unittest", folder=stage.bench)
    view.say(
        f"\n{len(typed)} messages and {len(verdicts)} verdicts, all through files. What the log knows of farewell:\n"
    )
    view.say(stage.run("moot", "task", "show", "farewell").stdout.rstrip())
    view.say(f"\n$ cat {FILES}/messages/to-developer.json")
    view.say((stage.desk / FILES / "messages/to-developer.json").read_text(encoding="utf-8"))
    return {
        "all three tasks are completed": all(task.state == "completed" for task in tasks.values()),
        "the one that was rejected was tried again": {n: t.attempt for n, t in tasks.items()}
        == {"greeting": 1, "farewell": 2, "count": 1},
        "the most urgent task came first": next(e.stream for e in events if e.type == "task:started")
        == "task/farewell",
        "every message and every verdict came through a file": all(
            event.by.startswith("role:") for event in (*typed, *verdicts)
        ),
        "nothing was lost or held back": len(typed) == 8 and not ws.held(),
        "the mailboxes are empty again, in both worktrees": all(
            '"messages": []' in (root / FILES / "messages" / name).read_text(encoding="utf-8")
            for root in (stage.desk, stage.bench)
            for name in ("to-developer.json", "to-team-lead.json")
        ),
        "the log is sound": verified.returncode == 0,
        "the program passes its tests": tested.returncode == 0,
    }
