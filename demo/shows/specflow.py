"""A lead without a model that takes three issues through two waves, with an agent for each issue.

`moot run specflow` is the lead: it starts the agents (`agents/specflow/agent.py`), which work side by side in one
directory. They ask for migration numbers, announce the file that they share, and have their tests run. The tests of one
issue fail; its agent is told which, corrects it, and tries again. The second wave has the issue that depends on the
first. The project is the shop in `demo/shop`.
"""

from __future__ import annotations

import json
import shutil
import sys
from functools import partial
from typing import TYPE_CHECKING

from play import Play
from stage import HERE
from story import Line, seconds, who

if TYPE_CHECKING:
    from stage import Stage
    from view import Plain

    from moot import Workspace
    from moot.core.event import Event

AGENT = json.dumps([sys.executable, str(HERE / "agents" / "specflow" / "agent.py")])
GATES = {name: f"reports/{name}.xml" for name in ("contracts", "journeys", "regression")}
REPORTS = "\n".join(f"{name} = {json.dumps(path)}" for name, path in GATES.items())
COMMANDS = "\n".join(f"{name} = {json.dumps([sys.executable, 'check.py', '{report}'])}" for name in GATES)
SETTINGS = f"""\
packs = ["specflow"]

[tasks]
lifecycle = "specflow"

[pack.specflow]
migrations = "migrations"
journey_file = "tests/journey_{{name}}.py"

[pack.specflow.reports]
{REPORTS}

[run.specflow]
agent = {{ command = {AGENT}, env = ["DEMO_SPEED", "PYTHONPATH"] }}
{COMMANDS}
"""
NEEDS = ()
LEAD = "Finn McCool"
ISSUES = ("issue-50", "issue-51", "issue-52")
DRIVER = "moot run specflow --parallel"
INTRODUCTION = (
    "A small shop has three issues, and one of them depends on another. `moot run specflow` is the lead (Finn McCool).",
    "It starts an agent for each issue of a wave. Built into moot: Hamilton numbers migrations, Keane runs the tests.",
)


class Waves(Play):
    """Tells what the agents of the waves say to each other, and what becomes of their issues."""

    def __init__(self, stage: Stage, ws: Workspace, view: Plain) -> None:
        super().__init__(stage, ws, view)
        self.names: dict[str, str] = {}  # of agents, by their ids

    def follow(self, timeout: float) -> None:
        for event in self.ws.follow(after=self.position, timeout=timeout):
            self.position = event.position
            self.view.began = self.view.began or seconds(event)
            if text := self.told(event):
                self.view.tell(Line(text), seconds(event) - self.view.began)

    def told(self, event: Event) -> str:
        data, about, by = event.data, event.stream.partition("/")[2], self.name(event.by)
        match event.type:
            case "task:described" if about.startswith("wave-"):
                self.names |= {one["agent"]: one["name"] for one in data["extra"].get("members", ())}
            case "agent:joined":
                self.names.setdefault(data["name"], LEAD)
            case "run:started" if data["stage"] == "work":
                return f"{LEAD} starts {self.name(data['who'])}"
            case "task:started" if about.startswith("issue-"):
                return f"{by} takes {about}"
            case "message:sent" if data["kind"] != "note" or data["sender"] == "moot":
                to = "all" if len(data["to"]) > 1 else self.name(data["to"][0])
                return f"{self.name(data['sender'])} → {to}: {' | '.join(data['text'].splitlines())}"
            case "file:claimed" | "file:awaited":
                what = "holds" if event.type == "file:claimed" else "is in line for"
                return f"{self.name(data['holder'])} {what} {data['paths'][0]}"
            case "task:completed":
                return f"{about} is complete"
        return ""

    def name(self, principal: str) -> str:
        return self.names.get(who(principal), who(principal))


def screen(_ws: Workspace) -> None:
    """Plain lines are enough for two agents."""


def play(stage: Stage, ws: Workspace, view: Plain) -> None:
    for sentence in INTRODUCTION:
        view.tell(Line(sentence))
    shutil.copytree(HERE / "shop", stage.desk, dirs_exist_ok=True)
    stage.git("config", "user.name", "agent")  # moot passes on only a few variables
    stage.git("config", "user.email", "demo@localhost")
    stage.git("add", ".")
    stage.git("commit", "--quiet", "--message", "A shop with a home page")
    for words in (("specflow", "plan", "issues.json"), ("allow", "--all", "--yes")):
        done = stage.run("moot", *words)
        view.say(f"\n$ moot {' '.join(words)}")
        view.say(done.stdout.rstrip() if words[0] == "specflow" else done.stdout.splitlines()[0])
    following = Waves(stage, ws, view)
    for wave in ("1", "2"):
        view.say(f"\n$ {DRIVER}")
        stage.start(wave, stage.desk, *DRIVER.split())
        following.follow_until(partial(stage.ended_well, wave))
        following.follow(0.0)
        view.say(f"\n$ moot specflow status --wave {wave}")
        view.say(stage.run("moot", "specflow", "status", "--wave", wave).stdout.rstrip())


def promised(stage: Stage, ws: Workspace, view: Plain) -> dict[str, bool]:
    events = ws.log(after=0, limit=100_000)
    said = [(event.data["kind"], event.data["text"]) for event in events if event.type == "message:sent"]
    claims = [event.type for event in events if event.type in ("file:claimed", "file:awaited")]
    results = [text.partition("\n")[0] for kind, text in said if kind == "CONTRACT_RESULTS"]
    failed = next((text for kind, text in said if kind == "CONTRACT_RESULTS" and "FAIL" in text), "")
    states = {name: ws.task_show(name).task.state for name in (*ISSUES, "wave-1", "wave-2")}
    baseline = json.loads((stage.desk / ".specflow" / "baseline.json").read_text(encoding="utf-8"))
    view.say("\n$ moot specflow migrations")
    view.say(stage.run("moot", "specflow", "migrations").stdout.rstrip())
    return {
        "both waves are complete, and all three issues": states
        == {**dict.fromkeys(ISSUES, "completed"), "wave-1": "complete", "wave-2": "complete"},
        "the tests of one issue failed once, and its agent was told which": len(results) == 4
        and "test_a_thing_is_wished_for_once" in failed,
        "the shared file was announced three times, and once an agent waited for it": (
            claims.count("file:claimed"),
            claims.count("file:awaited"),
        )
        == (3, 1),
        "each migration has a number of its own": sorted(path.name for path in (stage.desk / "migrations").iterdir())
        == ["1_wishes.sql", "2_subscribers.sql", "3_wishes.sql"],
        "both gates passed in both waves": all(
            [text.startswith(f"{kind} PASS") for name, text in said if name == kind] == [True, True]
            for kind in ("JOURNEY_TIER2_RESULTS", "REGRESSION_RESULTS")
        ),
        "the baseline has all tests, and all passed": [*baseline["tests"].values()] == ["pass"] * 5,
        "the log is sound": stage.run("moot", "verify").returncode == 0,
    }
