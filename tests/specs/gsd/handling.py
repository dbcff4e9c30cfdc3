"""A project with the pack, its configuration and its handlers, driven by the command and by a runner."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from moot import Workspace
from tests.surfaces.command import Command, Ran, new_command

SAMPLE = {
    "event_handlers": {
        "task:completed": ["builtin:blackboard-sync", "custom:slack-notify"],
        "task:failed": ["builtin:error-handler", "custom:pagerduty-alert"],
    }
}
STARTED = {"type": "task:started", "agent": "gsd-executor", "plan": "01-02", "task": 1, "taskName": "Create User model"}
COMPLETED = {"type": "task:completed", "agent": "gsd-executor", "plan": "01-02", "task": 1, "commit": "abc1234"}
FAILED = {"type": "task:failed", "agent": "gsd-executor", "plan": "01-02", "task": 2, "error": "It broke"}
DECIDED = {"type": "decision:made", "decision": "Use jose", "rationale": "Edge runtime", "madeBy": "01-02"}


class Site:
    """See the module. Handlers write to files in `out`, which is not in the repository."""

    def __init__(self, tmp_path: Path) -> None:
        self.moot: Command = new_command(tmp_path)
        self.root = self.moot.repo
        self.out = tmp_path / "out"
        self.out.mkdir()
        self._registered: dict[str, str] = {}
        assert self.moot("init", "--pack", "gsd").code == 0

    # --- files of the project ----------------------------------------------------------------------------------------

    def configure(self, content: Any) -> Path:
        path = self.root / ".planning" / "config.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content, indent=2))
        return path

    def handlers(self, **lists: list[str]) -> None:
        """Configure handlers: `task_failed` stands for `task:failed`."""
        self.configure({"event_handlers": {kind.replace("_", ":"): names for kind, names in lists.items()}})

    def script(self, name: str, body: str = "", more: str = "") -> Path:
        """A handler, registered with more lines of TOML. Without a body it writes down what it gets."""
        path = self.root / "handlers" / name
        path.parent.mkdir(exist_ok=True)
        body = body or f'it=$(cat); printf "%s\\n" "$it" >> "{self.out}/{name}"'  # one write: several may run at once
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
        self.register(name, f'run = ["handlers/{name}"]\n{more}')
        return path

    def register(self, name: str, lines: str) -> None:
        """Register a handler in moot.toml, with these lines of TOML."""
        self._registered[name] = lines
        tables = (f"[pack.gsd.handlers.{one}]\n{text}\n" for one, text in self._registered.items())
        (self.root / "moot.toml").write_text("\n".join(('packs = ["gsd"]\n', *tables)))

    def plan(self, plan: str, *lines: str, tasks: int = 0, root: Path | None = None) -> Path:
        """Write the file of a plan: lines of front matter, and so many tasks."""
        path = (root or self.root) / ".planning" / "phases" / f"{plan.partition('-')[0]}-base" / f"{plan}-PLAN.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        body = "".join(f'<task type="auto">\n  <name>Task {n}: Part {n}</name>\n</task>\n' for n in range(1, tasks + 1))
        path.write_text("\n".join(("---", *lines, "---", "", "<tasks>", body, "</tasks>", "")))
        return path

    def board(self, name: str) -> Any:
        return json.loads((self.root / ".planning" / "blackboard" / f"{name}.json").read_text())

    def write_event(self, *events: dict[str, Any]) -> None:
        """Append events to the file, as an agent does that knows only the file."""
        path = self.root / ".planning" / "blackboard" / "events.json"
        content = json.loads(path.read_text())
        path.write_text(json.dumps({**content, "events": [*content["events"], *events]}))

    # --- commands ----------------------------------------------------------------------------------------------------

    def emit(self, event: dict[str, Any], **more: str) -> Ran:
        data = {key: value for key, value in event.items() if key != "type"}
        ran = self.moot("emit", event["type"], "--data", "-", "--json", input=json.dumps(data), **more)
        assert ran.code == 0, ran
        return ran

    def warnings(self, ran: Ran, code: str) -> list[str]:
        return [one["message"] for one in json.loads(ran.out)["warnings"] if one["code"] == code]

    def allow(self, *names: str) -> None:
        assert self.moot("allow", *(names or ("--all",)), "--yes").code == 0

    def handle(self) -> list[tuple[str, str]]:
        """Run the handlers until nothing is due: which, and what came of it."""
        return [(one["handler"], one["outcome"]) for one in self.performed()]

    def performed(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.moot("handle", "--drain", "--json").out)["result"]["effects"]
        return found

    def got(self, name: str) -> list[dict[str, Any]]:
        """What a handler got, call by call."""
        path = self.out / name
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def effects(self) -> dict[str, str]:
        """The unfinished effects: handlers and states."""
        return {one["handler"]: one["state"] for one in self.moot("effects", "--json").result}

    def ran(self) -> dict[str, dict[str, Any]]:
        """The last effect of each handler, whatever came of it."""
        return {one["handler"]: one for one in reversed(self.moot("effects", "--all", "--json").result)}

    def check(self) -> tuple[int, list[dict[str, Any]]]:
        """The check command: its exit code and what it names."""
        ran = self.moot("pack", "check", "gsd", "--json")
        return ran.code, json.loads(ran.out)["result"]["problems"]

    def person(self) -> Workspace:
        return Workspace(self.root, person=True)
