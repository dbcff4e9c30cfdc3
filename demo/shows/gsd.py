"""Three executors that know only the event file of the GSD blackboard, and nothing about moot.

Two are shell scripts with jq, one is a Node.js program (`agents/gsd`). They work in three worktrees, in two waves: the
second waits for a file that the first one makes. One task fails and is tried again, and one asks the user. In the
background, `moot mirror --watch` keeps the files and the log in step, and an orchestrator waits with `moot gsd wait`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from play import Play
from story import Line, seconds

if TYPE_CHECKING:
    from stage import Stage
    from view import Plain

    from moot import Workspace
    from moot.core.event import Event

SETTINGS = 'packs = ["gsd"]\n'
NEEDS = ("jq", "node")
MIRROR, WAIT = "moot mirror", "orchestrator"
BOARD = ".planning/blackboard/events.json"
PLANS = {
    "01-01": ("wave: 1", ["Create User model"]),
    "01-02": ("wave: 1", ["Write the guide", "Write the index"]),
    "01-03": ('wave: 2\ndepends_on: ["01-01"]\nneeds: [src/models/user.ts]', ["Create the API"]),
}
INTRODUCTION = (
    "Three executors (two shell scripts, one Node.js program) know only one file of their protocol.",
    f"They work in three worktrees. Beside them runs `moot mirror --watch`. The file: {BOARD}",
)


class Blackboard(Play):
    """Tells what is posted on the blackboard, and answers the question of the executor."""

    def follow(self, timeout: float) -> None:
        for event in self.ws.follow(after=self.position, timeout=timeout):
            self.position = event.position
            self.view.began = self.view.began or seconds(event)
            self.cue(event)

    def cue(self, event: Event) -> None:
        if event.type == "feed:posted":
            self.view.tell(Line(_told(event.data)), seconds(event) - (self.view.began or 0.0))
        elif event.type == "checkpoint:reached":
            self.ws.checkpoint_resolve(event.stream.partition("/")[2], "approved")


def screen(_ws: Workspace) -> None:
    """Plain lines are enough for three agents."""


def play(stage: Stage, ws: Workspace, view: Plain) -> None:
    for sentence in INTRODUCTION:
        view.tell(Line(sentence))
    folder = stage.desk / ".planning" / "phases" / "01-users"
    folder.mkdir(parents=True)
    for plan, (about, titles) in PLANS.items():
        phase, number = plan.split("-")
        tasks = "".join(
            f'<task type="auto"><name>Task {n}: {title}</name></task>\n' for n, title in enumerate(titles, 1)
        )
        text = f"---\nphase: {phase}-users\nplan: {number}\n{about}\n---\n{tasks}"
        (folder / f"{plan}-PLAN.md").write_text(text, encoding="utf-8")
    agents = stage.agents / "gsd"
    stage.start(MIRROR, stage.desk, "moot", "mirror", "--watch")
    stage.start(WAIT, stage.desk, "moot", "gsd", "wait", "--phase", "01", "--tasks", "4", "--timeout", "120", "--json")
    third = stage.root / "third"  # two programs that write one file at the same instant destroy each other's bytes
    stage.git("worktree", "add", "--quiet", "-b", "third", str(third))
    ws.mirror()
    stage.start("01-01", stage.desk, "sh", str(agents / "model.sh"))
    stage.start("01-02", stage.bench, "node", str(agents / "docs.mjs"))
    stage.start("01-03", third, "sh", str(agents / "api.sh"))
    following = Blackboard(stage, ws, view)
    following.follow_until(lambda: all(map(stage.ended_well, (*PLANS, WAIT))))
    stage.end(MIRROR)  # it watches files forever
    following.follow(0.0)


def promised(stage: Stage, ws: Workspace, view: Plain) -> dict[str, bool]:
    view.say("\n$ moot gsd phase 01")
    view.say(stage.run("moot", "gsd", "phase", "01").stdout.rstrip())
    outcome = json.loads(stage.said(WAIT).read_text(encoding="utf-8"))["result"]
    posted = [event.data for event in ws.log(after=0, limit=100_000, type="feed:posted")]
    by_moot = {data["event"]["type"] for data in posted if not data.get("source")}
    boards = [
        json.loads((root / BOARD).read_text(encoding="utf-8"))
        for root in (stage.desk, stage.bench, stage.root / "third")
    ]
    types = [data["event"]["type"] for data in posted]
    verified = stage.run("moot", "verify")
    return {
        "all four tasks of the phase are completed, and the wait has ended": outcome["outcome"] == "completed",
        "the failed task was tried again": types.count("task:started") == 5 and types.count("task:failed") == 1,
        "the second wave began after its file was there": types.index("dependency:satisfied")
        < next(n for n, data in enumerate(posted) if data["event"].get("plan") == "01-03"),
        "everything else came through the file": by_moot == {"dependency:satisfied", "checkpoint:resolved"},
        "every event has its number, in every worktree": all(
            [event["eventId"] for event in board["events"]] == [*range(1, len(posted) + 1)] for board in boards
        ),
        "nothing was held back": not ws.held(),
        "the log is sound": verified.returncode == 0,
    }


def _told(data: dict[str, Any]) -> str:
    event = data["event"]
    plan = event.get("plan") or event.get("createdBy") or event.get("madeBy") or ", ".join(event.get("requiredBy", ()))
    about = event.get("path") or event.get("artifact") or event.get("decision") or event.get("awaiting") or ""
    task = f" task {event['task']}" if "task" in event else ""
    parts = (f"{plan}{task}", event.get("error") or about)
    how = "a file" if data.get("source") else "moot"
    return f"#{data['number']:<3} {event['type']:<21} {': '.join(filter(None, parts))} (from {how})"
