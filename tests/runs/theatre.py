"""A repository whose agents are scripts: real processes that `moot run` starts, and what came of it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moot.views import queries
from tests.specs.orchestrator.project import PATIENCE, Project, Spoken, until

if TYPE_CHECKING:
    from moot.core.deciders.run import Run

# Each script starts with this. What the agent was asked is in `brief`; files in the current directory outlive it.
PREAMBLE = """\
import json, os, re, signal, subprocess, sys, time
brief = sys.stdin.read() or sys.argv[-1]
task, attempt = re.search(r"^# Now: (\\S+), attempt (\\d+)$", brief, re.MULTILINE).groups()
asked = brief.rpartition("## What to do now")[2]
part = "report" if "completion_report" in asked.partition("Your part ends")[0] else "assignment"
part = "verdict" if "Review the report" in asked else part

def block(value, language="json"):
    text = value if isinstance(value, str) else json.dumps(value, indent=2)
    print(f"```{language}\\n{text}\\n```", flush=True)

def moot(*words):
    return subprocess.run([sys.executable, "-m", "moot", *words], capture_output=True, text=True)

def nth(what):
    with open(f"{what}.count", "a+") as file:
        file.write("x")
        file.seek(0)
        return len(file.read())

def append(path, message):
    with open(path) as file:
        box = json.load(file)
    box["messages"].append(message)
    with open(path, "w") as file:
        json.dump(box, file)

TO_DEVELOPER = ".claude-orchestrator/tasks/messages/to-developer.json"
TO_LEAD = ".claude-orchestrator/tasks/messages/to-team-lead.json"
NOW = time.strftime("%Y-%m-%dT%H:%M:%S.", time.gmtime()) + f"{time.time_ns() // 1_000_000 % 1000:03d}Z"
ASSIGNMENT = {"type": "task_assignment", "taskId": task, "platform": "web", "title": "A title",
              "instructions": "Do it.", "filesToCreate": [], "architecture": "None"}
REPORT = {"type": "completion_report", "taskId": task, "platform": "web", "status": "awaiting_review",
          "summary": "Done.", "filesCreated": [], "filesModified": [],
          "buildResult": {"status": "success", "command": "true", "errors": 0}}
APPROVE = {"taskId": task, "verdict": "approve", "reason": "Good."}
REJECT = {"taskId": task, "verdict": "reject", "reason": "Not good enough."}
DEFAULT = {"assignment": ASSIGNMENT, "report": REPORT, "verdict": APPROVE}
nth(f"{part}-of-{task}")
"""
GOOD = "block(DEFAULT[part])"  # an agent that does its part, whatever it is
STAGES = ("lead", "developer", "review")


class Theatre(Project):
    """A project with scripts for the stages, allowed on this machine."""

    def play(self, *titles: str, timeout: str = "60s", attempts: int = 2, env: str = "", **scripts: str) -> Theatre:
        """Set the stage: the scripts by stage, and tasks with these titles."""
        lines = ['packs = ["orchestrator"]', "[tasks]", 'lifecycle = "orchestrator"', "[run.orchestrator]"]
        for stage in STAGES:
            if stage in scripts or stage != "review":
                self.script(stage, scripts.get(stage, GOOD))
                command = json.dumps([sys.executable, f"{stage}.py"])
                options = f'timeout = "{timeout}", attempts = {attempts}{env and f", env = {env}"}'
                lines.append(f"{stage} = {{ command = {command}, {options} }}")
        (self.root / "moot.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
        self.session().workspace.reload()
        self.allow()
        for title in titles:
            self.run("task add", title=title)
        return self

    def script(self, stage: str, body: str) -> None:
        (self.root / f"{stage}.py").write_text(PREAMBLE + body + "\n", encoding="utf-8")

    def allow(self) -> None:
        assert self.cli("allow", "--all", "--yes").code == 0

    def drive(self, *words: str, code: int = 0) -> list[dict[str, Any]]:
        """`moot run orchestrator`, to its end. Returns what it said, without the error of a failure."""
        spoken = self.cli("run", "orchestrator", *words)
        assert spoken.code == code, spoken.out + spoken.err
        return steps_of(spoken)

    def start_driving(self, *words: str) -> subprocess.Popen[bytes]:
        return self.start("run", "orchestrator", *words)

    def runs(self) -> list[Run]:
        """The runs of tasks, oldest first."""
        every = queries.things(self.session().engine.read(), "run", ended=True)
        return sorted((run for run in every if run.task), key=lambda run: (run.at, run.id))

    def tries(self, stage: str) -> list[tuple[str, str]]:
        """How the attempts at a stage ended, over all runs, and why."""
        return [(one.status, one.reason) for run in self.runs() for one in run.tries if one.stage == stage]

    def sent(self, kind: str) -> int:
        return sum(event.data["kind"] == kind for event in self.events("message:sent"))

    def count(self, what: str) -> int:
        """How often an agent was asked for something: the scripts count it in a file."""
        path = self.root / f"{what}.count"
        return len(path.read_text()) if path.exists() else 0

    def text(self, name: str) -> str:
        return (self.root / name).read_text(encoding="utf-8")

    def has(self, name: str) -> Path:
        """Waits for a file."""
        until((self.root / name).exists, f"the file {name}")
        return self.root / name


def steps_of(spoken: Spoken) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in spoken.out.splitlines()]
    return [line for line in lines if "error" not in line]


def error_of(spoken: Spoken) -> dict[str, Any]:
    return json.loads(spoken.out.splitlines()[-1])


def ended(process: subprocess.Popen[bytes]) -> int:
    """Wait for a process of this test."""
    process.communicate(timeout=PATIENCE)
    return process.returncode


def interrupt(process: subprocess.Popen[bytes], number: int = signal.SIGINT) -> int:
    process.send_signal(number)
    return ended(process)
