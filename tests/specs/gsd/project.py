"""A repository with a blackboard, and the ways onto it: the CLI, an open session, the spec's emitters, plain files."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moot.engine.clock import Clock
from moot.wiring.admin import Admin
from tests.specs.orchestrator.project import PATIENCE, Refusal, Spoken, by_code
from tests.specs.orchestrator.project import Project as AnyProject

if TYPE_CHECKING:
    from moot.api.verbs.effects.emit import Emission

FOLDER = ".planning/blackboard"
FILES = ("events", "shared-context", "decisions", "claims", "artifacts", "errors")

# The step of the specification, unchanged.
SHELL_STEP = """# Emit event to blackboard
EVENT=$(cat <<EOF
{
  "type": "task:started",
  "agent": "gsd-executor",
  "plan": "${PLAN}",
  "task": ${TASK_NUM},
  "taskName": "${TASK_NAME}",
  "timestamp": "$(date -u +%Y-%m-%dT%H:%M:%SZ)"
}
EOF
)

# Append to events file
jq ".events += [$EVENT] | .lastEventId += 1" \\
  .planning/blackboard/events.json > tmp.json && mv tmp.json .planning/blackboard/events.json
"""

# The function of the specification, unchanged, after the import that it lacks.
NODE_EMITTER = """
import fs from 'node:fs/promises';
async function emitEvent(event) {
  const eventsFile = '.planning/blackboard/events.json';
  const data = JSON.parse(await fs.readFile(eventsFile, 'utf-8'));
  data.events.push({ ...event, id: ++data.lastEventId });
  await fs.writeFile(eventsFile, JSON.stringify(data, null, 2));
}
await emitEvent(JSON.parse(process.argv[1]));
"""


class MovableClock(Clock):
    """A machine on which time can be moved forward: the time of day, and the time since its start."""

    def __init__(self, by: float = 0.0) -> None:
        self.by = by

    def wall_seconds(self) -> float:
        return super().wall_seconds() + self.by

    def monotonic(self) -> float:
        return super().monotonic() + self.by


class Project(AnyProject):
    @classmethod
    def create(cls, root: Path, settings: str = "", clock: Clock | None = None) -> Project:
        root.mkdir(parents=True)
        made = cls(root, clock)
        made.git("init", "--quiet", "--template=", ".")
        if settings:
            (root / "moot.toml").write_text(f'packs = ["gsd"]\n{settings}', encoding="utf-8")
        Admin(str(root), made.env).create(("gsd",))
        return made

    def at(self, root: Path, clock: Clock | None = None) -> Project:
        return Project(root, clock or self.clock)

    # --- over a surface ----------------------------------------------------------------------------------------------

    def emit(self, event: dict[str, Any], agent: str | None = None, **more: Any) -> Emission:
        """Emit over the API, in this process. The type is in the event."""
        data = {key: value for key, value in event.items() if key != "type"}
        found: Emission = self.run("emit", agent, type=event["type"], data=data, **more).result
        return found

    def flags(self, event: dict[str, Any], agent: str | None = None) -> list[str]:
        """The codes of the flags that an emission gets."""
        return codes(self.emit(event, agent).flags)

    def refused(self, event: dict[str, Any], agent: str | None = None) -> Refusal:
        data = {key: value for key, value in event.items() if key != "type"}
        return self.refusal("emit", agent, type=event["type"], data=data)

    def cli_emit(self, event: dict[str, Any], agent: str | None = None, *more: str) -> Any:
        data = {key: value for key, value in event.items() if key != "type"}
        return self.cli("emit", event["type"], "--data", "-", *more, agent=agent, given=json.dumps(data))

    # --- files -------------------------------------------------------------------------------------------------------

    def path(self, name: str = "events") -> Path:
        return self.root / FOLDER / f"{name}.json"

    def file(self, name: str = "events") -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.path(name).read_text(encoding="utf-8"))
        return found

    def raw_files(self) -> dict[str, bytes | None]:
        return {name: self.path(name).read_bytes() if self.path(name).is_file() else None for name in FILES}

    @property
    def events_shown(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.file()["events"]
        return found

    def put(self, content: Any, name: str = "events") -> None:
        """Replace a file, as an agent does."""
        text = content if isinstance(content, str) else json.dumps(content, indent=2)
        self.path(name).parent.mkdir(parents=True, exist_ok=True)
        self.path(name).write_text(text, encoding="utf-8")

    def add(self, *events: Any) -> None:
        """Append events to the file by hand, without numbers, and in one instant: others may be reading."""
        content = self.file()
        draft = self.root.parent / f"{self.root.name}.draft"
        draft.write_text(json.dumps({**content, "events": [*content["events"], *events]}, indent=2), encoding="utf-8")
        draft.replace(self.path())

    def take(self, *events: Any) -> dict[str, str]:
        """Append events to the file, and let any call of moot absorb them. Returns its warnings."""
        self.add(*events)
        return self.look()

    def look(self) -> dict[str, str]:
        return by_code((warning.code, warning.message) for warning in self.run("board").warnings)

    # --- what is on the blackboard -----------------------------------------------------------------------------------

    def posted(self) -> list[dict[str, Any]]:
        """All events that were ever posted, with what the file does not show."""
        return [event.data for event in self.events("feed:posted")]

    def flags_of(self, number: int) -> list[str]:
        return codes(next(one.get("flags", ()) for one in self.posted() if one["number"] == number))

    # --- the emitters of the specification ---------------------------------------------------------------------------

    def shell(self, plan: str = "01-02", task: int = 1, name: str = "Create User model") -> None:
        env = {**self.env, "PLAN": plan, "TASK_NUM": str(task), "TASK_NAME": name}
        subprocess.run(["bash", "-c", SHELL_STEP], cwd=self.root, env=env, check=True, timeout=PATIENCE)

    def node(self, event: dict[str, Any]) -> None:
        argv = ["node", "--input-type=module", "-e", NODE_EMITTER, json.dumps(event)]
        subprocess.run(argv, cwd=self.root, env=self.env, check=True, timeout=PATIENCE)


def finished(children: list[subprocess.Popen[bytes]]) -> list[Spoken]:
    """What came of processes that run at the same time."""
    said = []
    for child in children:
        out, err = child.communicate(timeout=PATIENCE)
        said.append(Spoken(subprocess.CompletedProcess(child.args, child.returncode, out, err)))
    return said


def all_codes(flags: Any) -> list[str]:
    return [flag.partition(":")[0] for flag in flags]


def codes(flags: Any) -> list[str]:
    """Without those about the repository: that of a test has neither the commits nor the files of the samples."""
    return [code for code in all_codes(flags) if code not in ("unknown_commit", "no_file")]


def unnumbered(event: dict[str, Any]) -> dict[str, Any]:
    """An event of the file as it was sent: without the number that moot writes into it."""
    return {key: value for key, value in event.items() if key != "eventId" and not (key == "id" and type(value) is int)}
