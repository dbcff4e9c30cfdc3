"""A project with the pack: the command in it, its files, and the ways to put events on the blackboard."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from moot import Workspace
from moot.packs.gsd.methods import Blackboard
from tests.surfaces.command import PATIENCE, Command, Ran

FOLDER = ".planning/blackboard"
EVENTS = f"{FOLDER}/events.json"
AGENT = "gsd-executor"

# The spec's samples, as written there.
STARTED = {
    "type": "task:started",
    "agent": "gsd-executor",
    "plan": "01-02",
    "task": 1,
    "taskName": "Create User model",
    "timestamp": "2024-01-15T10:30:00Z",
}
COMPLETED = {
    "type": "task:completed",
    "agent": "gsd-executor",
    "plan": "01-02",
    "task": 1,
    "taskName": "Create User model",
    "commit": "abc1234",
    "duration": "15min",
    "timestamp": "2024-01-15T10:45:00Z",
}
TASK_FAILED = {
    "type": "task:failed",
    "agent": "gsd-executor",
    "plan": "01-02",
    "task": 1,
    "error": "Test verification failed",
    "timestamp": "2024-01-15T10:45:00Z",
}
CREATED = {
    "type": "artifact:created",
    "path": "src/models/user.ts",
    "provides": ["User", "UserCreate", "UserUpdate"],
    "createdBy": "01-01",
    "timestamp": "2024-01-15T10:35:00Z",
}
MODIFIED = {
    "type": "artifact:modified",
    "path": "src/models/user.ts",
    "modifiedBy": "01-02",
    "changes": ["added role field"],
    "timestamp": "2024-01-15T11:00:00Z",
}
CLAIMED = {
    "type": "file:claimed",
    "path": "src/api/users.ts",
    "agent": "gsd-executor",
    "plan": "01-02",
    "timestamp": "2024-01-15T10:30:00Z",
}
RELEASED = {
    "type": "file:released",
    "path": "src/api/users.ts",
    "agent": "gsd-executor",
    "timestamp": "2024-01-15T10:45:00Z",
}
SATISFIED = {
    "type": "dependency:satisfied",
    "artifact": "src/models/user.ts",
    "requiredBy": ["01-02", "01-03"],
    "timestamp": "2024-01-15T10:35:00Z",
}
DECIDED = {
    "type": "decision:made",
    "id": "dec-001",
    "decision": "Use jose library for JWT",
    "rationale": "Edge runtime compatibility",
    "madeBy": "01-02",
    "affects": ["02-*"],
    "timestamp": "2024-01-15T10:40:00Z",
}
REACHED = {
    "type": "checkpoint:reached",
    "plan": "01-03",
    "task": 2,
    "checkpointType": "human-verify",
    "awaiting": "user approval",
    "timestamp": "2024-01-15T11:00:00Z",
}
SAMPLES = (STARTED, COMPLETED, CREATED, MODIFIED, CLAIMED, RELEASED, SATISFIED, DECIDED, REACHED)


class Board:
    """See the module. `moot` is the command; `ws` and `gsd` are a person's workspace in this process."""

    def __init__(self, command: Command, settings: str = "") -> None:
        self.moot, self.root = command, command.repo
        self._write_settings(settings)
        self.ws = Workspace.init(self.root, person=True)
        self.gsd = self.ws.pack(Blackboard)

    def configure(self, settings: str) -> None:
        """Change the settings of the pack."""
        self._write_settings(settings)
        self.ws.close()
        self.ws = Workspace(self.root, person=True)
        self.gsd = self.ws.pack(Blackboard)

    def _write_settings(self, text: str) -> None:
        (self.root / "moot.toml").write_text(f'packs = ["gsd"]\n\n[pack.gsd]\n{text}')

    def close(self) -> None:
        self.ws.close()

    # --- events ------------------------------------------------------------------------------------------------------

    def start(self, plan: str, task: int, name: str = "", agent: str = AGENT) -> int:
        event = {"type": "task:started", "agent": agent, "plan": plan, "task": task, "taskName": name or f"Task {task}"}
        return self.emit(event)

    def complete(self, plan: str, task: int, commit: str = "abc1234", agent: str = AGENT) -> int:
        return self.emit({"type": "task:completed", "agent": agent, "plan": plan, "task": task, "commit": commit})

    def fail(self, plan: str, task: int, error: str = "It broke.", agent: str = AGENT) -> int:
        return self.emit({"type": "task:failed", "agent": agent, "plan": plan, "task": task, "error": error})

    def emit(self, event: Mapping[str, Any]) -> int:
        number = self.gsd.emit(event).number
        assert number is not None
        return number

    def write(self, *events: Mapping[str, Any]) -> None:
        """Append events to the file, as an agent that knows only the file does."""
        content = self.file(EVENTS)
        content["events"] += events
        draft = self.root / FOLDER / "draft"
        draft.write_text(json.dumps(content))
        draft.rename(self.root / EVENTS)

    # --- files -------------------------------------------------------------------------------------------------------

    def file(self, path: str = EVENTS) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.root / path).read_text())
        return found

    def shown(self) -> list[dict[str, Any]]:
        """The events in the file."""
        found: list[dict[str, Any]] = self.file()["events"]
        return found

    def plan_file(self, plan: str, *lines: str, tasks: tuple[str, ...] = (), folder: str = "01-base") -> Path:
        """Write the file of a plan: lines of front matter, and tasks."""
        path = self.root / ".planning" / "phases" / folder / f"{plan}-PLAN.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        body = "".join(f'<task type="auto">\n  <name>{name}</name>\n</task>\n' for name in tasks)
        path.write_text("\n".join(("---", *lines, "---", "", "<tasks>", body, "</tasks>", "")))
        return path

    # --- processes ---------------------------------------------------------------------------------------------------

    def __call__(self, *words: str, agent: str | None = None, input: str = "") -> Ran:  # noqa: A002
        return self.moot(*words, agent=agent, input=input)

    def shell(self, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a script of bash in the project, with `moot` on its path."""
        folder = self.root.parent / "bin"
        folder.mkdir(exist_ok=True)
        import sys

        command = folder / "moot"
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m moot "$@"\n')
        command.chmod(0o755)
        env = {**self.moot.environment, **variables}
        env["PATH"] = f"{folder}:{env['PATH']}"
        return subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=self.root,
            env=env,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )


def until(holds: Callable[[], bool], what: str) -> None:
    """Wait until something holds. It must, within the patience of the suite."""
    end = monotonic() + PATIENCE
    while not holds():
        assert monotonic() < end, f"{what} did not happen"
        sleep(0.02)
