"""Workspaces with some life in them, for tests that need one: who is here, what was said, who holds what."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from moot import Workspace

if TYPE_CHECKING:
    from tests.surfaces.command import Command

ASSIGNMENT = {
    "type": "task_assignment",
    "taskId": "task-001",
    "platform": "web",
    "title": "Build it",
    "instructions": "As described.",
    "filesToCreate": ["a.py"],
    "architecture": "One file.",
    "timestamp": "2031-05-08T09:30:00Z",
}
TO_DEVELOPER = ".claude-orchestrator/tasks/messages/to-developer.json"


def inhabit(command: Command) -> dict[str, str]:
    """Two agents: Ada, who reviews, and Bob."""
    Workspace.init(command.repo).close()
    for name, role in (("Ada", ("reviewer",)), ("Bob", ())):
        with Workspace(command.repo) as ws:
            ws.join(name, role=role)
    return {}


def enliven(command: Command) -> dict[str, str]:
    """Ada and Bob at work: open, waiting, held, submitted, done and failed tasks, mail, a claim. Returns ids."""
    inhabit(command)
    with Workspace(command.repo, agent="Ada") as ada, Workspace(command.repo, agent="Bob") as bob:
        ada.task_add("Write it", priority="high")
        ada.task_add("Test it", needs="task-001")
        for title in ("Hold it", "Hand it in", "Finish it", "Complete it", "Fail it"):
            ada.task_add(title, no_review=title in ("Finish it", "Complete it"))
        for task in ("task-003", "task-004", "task-005", "task-006", "task-007"):
            bob.task_claim(task)
        bob.task_submit("task-004")
        bob.task_complete("task-005")
        bob.task_fail("task-007", reason="Impossible.")
        request = ada.send("Bob", "Please look.", type="request", within=0)
        held = bob.claim("src/b.py", reason="new grammar")
    return {"request": request.id, "claim": held.id}


def conclude(command: Command) -> dict[str, str]:
    """The same two, who made, need, decided and ask something."""
    ids = enliven(command)
    with Workspace(command.repo, agent="Ada") as ada, Workspace(command.repo, agent="Bob") as bob:
        bob.artifact_add("src/b.py", provides="B", summary="The parser.")
        bob.artifact_need("A")
        old, new = ada.decide("Use spaces", path="src/**"), ada.decide("Use four spaces")
        asked = bob.checkpoint_reach("Which colour?", option=["blue", "red"], task="task-003")
        checked = bob.check(["true"])
    found = {"old": old.decision.id, "new": new.decision.id, "checkpoint": asked.id, "receipt": checked.receipt.id}
    return {**ids, **found}


def carry(command: Command) -> dict[str, str]:
    """Ada and Bob, an export and a backup beside the repository."""
    inhabit(command)
    with Workspace(command.repo) as ws:
        ws.export(str(command.repo.parent / "events.jsonl"), force=True)
        ws.backup(str(command.repo.parent / "log.db"))
    return {}


def orchestrate(command: Command) -> dict[str, str]:
    """A team lead and a developer of the orchestrator pack: a task in hand, an assignment, and one that is held."""
    with Workspace.init(command.repo, packs="orchestrator") as lead, Workspace(command.repo) as developer:
        lead.join("Ada", role="team-lead")
        developer.join("Bob", role="developer")
        lead.task_add("Build it", id="task-001")
        lead.task_add("Later", id="later")
        lead.task_claim("task-001")
        sent = lead.send(type="task_assignment", data={**ASSIGNMENT, "timestamp": "2031-05-08T09:00:00Z"})
        path = Path(command.repo, TO_DEVELOPER)
        content = json.loads(path.read_text())
        content["messages"].append({"type": "task_assignment", "taskId": "task-001"})
        path.write_text(json.dumps(content))
        (entry,) = lead.held()
    (command.repo / "fixed.json").write_text(json.dumps(ASSIGNMENT))
    return {"sent": sent.id, "entry": entry.id}


AGENT = """\
import json, re, sys
brief = sys.stdin.read()
task = re.search(r"^# Now: (\\S+),", brief, re.MULTILINE)[1]
asked = brief.rpartition("## What to do now")[2]
answer = {"taskId": task, "platform": "web", "title": "T", "instructions": "I", "filesToCreate": [],
          "architecture": "A"}
if "Build what" in asked:
    build = {"status": "success", "command": "true", "errors": 0}
    answer = {"taskId": task, "platform": "web", "status": "awaiting_review", "summary": "S", "filesCreated": [],
              "filesModified": [], "buildResult": build}
elif "Review the report" in asked:
    answer = {"taskId": task, "verdict": "approve"}
print("```json", json.dumps(answer), "```", sep="\\n")
"""


def drive(command: Command) -> dict[str, str]:
    """Two tasks of the orchestrator pack. Scripts, which a person allowed, have completed the first one."""
    with Workspace.init(command.repo, packs="orchestrator") as person:
        person.task_add("First")
        person.task_add("Second")
    (command.repo / "agent.py").write_text(AGENT)
    run = json.dumps([sys.executable, "agent.py"])
    with (command.repo / "moot.toml").open("a") as settings:
        settings.write(f"\n[run.orchestrator]\nlead = {run}\ndeveloper = {run}\n")
    assert command("allow", "--all", "--yes").code == 0
    ran = command("run", "orchestrator", "--once", "--json")
    assert ran.code == 0, ran
    return {"run": json.loads(ran.out.splitlines()[0])["run"]}


CHECKS = """
name = "checks"
title = "Reports on texts"
version = "1.0"

[pipeline.files]
report = "{stem}.md"

[mirrors.note]
path = ".checks/{name}.json"
form = "document"
scope = "worktree"

[[stage]]
name = "report"
agent = "required"
answer = "exit"
reads = ["source"]
writes = ["report"]
"""


def run_stages(command: Command) -> dict[str, str]:
    """A pipeline in a folder of the repository has written a report over an older one. It also has a document."""
    folder = command.repo / "protocols" / "checks"
    folder.mkdir(parents=True)
    (folder / "pack.toml").write_text(CHECKS)
    (command.repo / "moot.toml").write_text(
        'packs = ["checks"]\n[pack.checks]\npath = "protocols/checks"\n'
        '[run.checks]\nreport = ["cp", "{source}", "{report}"]\n'
    )
    (command.repo / "a.txt").write_text("new\n")
    (command.repo / "a.md").write_text("old\n")
    (command.repo / ".checks").mkdir()
    (command.repo / ".checks" / "a.json").write_text('{"lines": 1}')
    assert command("init").code == 0
    assert command("allow", "--all", "--yes").code == 0
    ran = command("run", "checks", "a.txt")
    assert ran.code == 0, ran
    (document,) = command("doc", "list", "--json").result
    return {"document": document["id"]}


def react(command: Command) -> dict[str, str]:
    """A handler that tells Bob of builds, and one that finished."""
    inhabit(command)
    (command.repo / "moot.toml").write_text(
        '[[handlers]]\nname = "tell"\non = ["build:*"]\nmessage = { to = "Bob", text = "{type}" }\n'
    )
    with Workspace(command.repo) as ws:
        ws.emit("build:finished")
        (effect,) = ws.effects()
    return {"effect": effect.id}


def react_as_allowed(command: Command) -> dict[str, str]:
    """The same, once a person has allowed the handler."""
    names = react(command)
    assert command("allow", "tell", "--yes", MOOT_PERSON="1").code == 0
    return names
