"""A workspace with the pack orchestrator, for tests of its files."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Self

from moot.wiring.admin import Admin
from tests.calls import open_call
from tests.person import AS_A_PERSON

if TYPE_CHECKING:
    from moot.core.event import Event

FOLDER = ".claude-orchestrator/tasks/messages"
NOON = "2026-01-01T12:00:00.000Z"


class Place:
    """A workspace with the pack orchestrator, a call in it, and its two files."""

    def __init__(self, root: Path) -> None:
        subprocess.run(["git", "init", "-q", str(root)], check=True, timeout=30)
        self.root = root
        Admin(str(root), AS_A_PERSON).create(("orchestrator",))
        self.call = open_call(str(root), AS_A_PERSON)
        self.to_developer, self.to_lead = root / FOLDER / "to-developer.json", root / FOLDER / "to-team-lead.json"
        self.sync()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.call.engine.log.close()
        self.call.engine.store.close()

    def sync(self) -> list[str]:
        return [warning.code for warning in self.call.run("mirror", {}).warnings]

    def write(self, *entries: object, read: str | None = None) -> None:
        self.to_developer.write_text(json.dumps({"messages": entries, "lastRead": read}))

    def commits(self, after: int = 0) -> list[list[str]]:
        """The event types of each commit past a position."""
        found: dict[str, list[str]] = {}
        for event in self.call.engine.log.read(after, 100_000):
            found.setdefault(event.commit, []).append(event.type)
        return list(found.values())

    def send(self, number: int) -> list[str]:
        """Send an assignment through moot. Returns the warnings."""
        data = {key: value for key, value in assignment(number).items() if key != "type"}
        said = self.call.run("send", {"type": "task_assignment", "data": data})
        return [f"{warning.code}: {warning.message}" for warning in said.warnings]

    def shown(self, root: Path | None = None) -> list[str]:
        """The tasks in the developer's file, of this worktree or another."""
        file = root / FOLDER / "to-developer.json" if root else self.to_developer
        return [entry["taskId"] for entry in json.loads(file.read_text())["messages"]]

    def types(self, kind: str) -> list[Event]:
        return [event for event in self.call.engine.log.read(0, 100_000) if event.type == kind]


def assignment(number: int, **changes: object) -> dict[str, object]:
    return {
        "type": "task_assignment",
        "taskId": f"task-{number}",
        "platform": "web",
        "title": "Login",
        "instructions": "Build it.",
        "filesToCreate": [],
        "architecture": "MVC",
        "timestamp": NOON,
        **changes,
    }
