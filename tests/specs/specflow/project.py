"""A repository with a team of the protocol, and the ways into it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moot.packs.specflow import team
from moot.wiring.admin import Admin
from tests.specs.orchestrator.project import Project as AnyProject
from tests.specs.orchestrator.project import Refusal

if TYPE_CHECKING:
    from moot.engine.clock import Clock
    from moot.packs.specflow.team import Issue, Wave

FIANNA = {
    "agents": [
        {"name": "Yeats", "prompt": "<issue-lifecycle prompt for #50>"},
        {"name": "Swift", "prompt": "<issue-lifecycle prompt for #51>"},
        {"name": "Hamilton", "prompt": "<db-coordinator prompt>"},
        {"name": "Keane", "prompt": "<quality-gate prompt>"},
    ]
}
LEAD, YEATS, SWIFT, HAMILTON, KEANE = None, "w1.yeats", "w1.swift", "w1.hamilton", "w1.keane"


def issue(number: int, body: str = "", title: str = "", **more: Any) -> dict[str, Any]:
    return {"number": number, "title": title or f"Page {number}", "body": body, **more}


class Project(AnyProject):
    """The lead is the person who opens the team."""

    @classmethod
    def create(cls, root: Path, settings: str = "", clock: Clock | None = None) -> Project:
        root.mkdir(parents=True)
        made = cls(root, clock)
        made.git("init", "--quiet", "--template=", ".")
        made.git("config", "user.email", "a@b")
        made.git("config", "user.name", "A")
        if settings:
            (root / "moot.toml").write_text(f'packs = ["specflow"]\n{settings}', encoding="utf-8")
        Admin(str(root), made.env).create(("specflow",))
        return made

    def raw_files(self) -> dict[str, bytes | None]:
        return {}

    def put(self, path: str, text: str = "x\n") -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def commit(self, **files: str) -> str:
        """Write these files (`__` stands for `/`, `_ts` for `.ts`) and commit everything. Returns the commit."""
        for name, text in files.items():
            self.put(name.replace("__", "/").replace("_ts", ".ts").replace("_sql", ".sql"), text)
        self.git("add", "-A")
        self.git("commit", "--quiet", "--allow-empty", "-m", "change")
        return self.git("rev-parse", "HEAD").strip()

    def plan(self, *issues: dict[str, Any], **more: Any) -> Any:
        self.put(".git/issues.json", json.dumps(issues))
        return self.ask("specflow plan", source=".git/issues.json", **more)

    def spawn(self, *numbers: int) -> Wave:
        """Plan these issues, and open their team."""
        self.plan(*map(issue, numbers or (50, 51)))
        names = [m["name"] for m in self.wave_extra()["members"] if m.get("issue")]
        self.ask("specflow spawn-team", name="Fianna", config={"agents": [{"name": n, "prompt": n} for n in names]})
        return self.wave()

    def wave_extra(self, number: int = 1) -> dict[str, Any]:
        return self.task(f"wave-{number}").extra

    def wave(self, number: int = 1) -> Wave:
        return team.Wave.of_task(self.task(f"wave-{number}"))

    def issue(self, number: int) -> Issue:
        return team.Issue.of_task(self.task(f"issue-{number}"))

    def write(self, agent: str | None, to: str, message: str, **more: Any) -> Any:  # type: ignore[override]
        return self.ask("specflow write", agent, to=to, message=message, **more)

    def unwritten(self, agent: str | None, to: str, message: str) -> Refusal:
        return self.refusal("specflow write", agent, to=to, message=message)

    def touch(self, agent: str | None, path: str) -> Any:
        return self.ask("specflow broadcast", agent, message=f"TOUCHING_FILE {path}")

    def inbox(self, agent: str, *kinds: str) -> list[Any]:
        """The messages to an agent, oldest first."""
        sent = [
            event for event in self.events("message:sent") if agent.lower() in [to.lower() for to in event.data["to"]]
        ]
        return [event.data for event in sent if not kinds or event.data["kind"] in kinds]

    def texts(self, agent: str, *kinds: str) -> list[str]:
        return [data["text"] for data in self.inbox(agent, *kinds)]
