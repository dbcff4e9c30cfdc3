"""Measures the pack specflow: its messages beside plain sends, and a wave beside the same commands without moot."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import common
from common import Row, Spread, interleaved, timed
from workspaces import git, make

from moot import Workspace
from moot.api.protocol.pack_methods import PackMethods
from moot.place import caches

if TYPE_CHECKING:
    from workspaces import Stage

TEXT = "The parser is on main. " * 8 + "All tests pass. "  # 200 bytes
YEATS, SWIFT = "w1.yeats", "w1.swift"
_SIZES = {"full": (500, 20), "quick": (500, 20)}  # migrations of a team; issues of a wave
_FEW = (12, 2)
_AT_ONCE = 4
_PAUSE = 0.2  # seconds that each command takes
# An agent, and a gate. The agent asks for its tests and reports its issue, if there is a team to talk to.
_AGENT = f"""\
import os, sys, time
time.sleep({_PAUSE})
if "CLAUDE_CODE_TEAM_NAME" in os.environ:
    from moot import Workspace
    from teaming import Team
    issue = os.environ["ISSUE_NUMBER"]
    with Workspace() as ws:
        team = ws.pack(Team)
        team.write("quality-gate", "RUN_CONTRACTS")
        run = ""
        while not run:
            ws.wait(mail=True)
            run = next((one.data["run"] for one in ws.inbox().new if one.type == "CONTRACT_RESULTS"), "")
        team.write("waves-controller", f"READY_FOR_CLOSURE #{{issue}} {{run}}")
        ws.task_complete(f"issue-{{issue}}")
else:
    print(f"\\n```\\nREADY_FOR_CLOSURE #{{os.environ.get('ISSUE_NUMBER')}}\\n```")
"""
_GATE = f"import time\ntime.sleep({_PAUSE})\n"


class Team(PackMethods):
    """The verbs of the pack that are measured."""

    def plan(self, source: str) -> Any:
        return self._ask("specflow plan", locals())

    def spawn_team(self, name: str, config: str) -> Any:
        return self._ask("specflow spawn-team", locals())

    def write(self, to: str, message: str) -> Any:
        return self._ask("specflow write", locals())


def measure(stage: Stage) -> list[Row]:
    migrations, issues = _SIZES.get(stage.size.name, _FEW)
    return [
        *_messages(stage),
        *_migrations(stage, migrations),
        *(row for mode in ("parallel", "sequential") for row in _wave(stage, mode, issues)),
    ]


def _planned(directory: str, issues: int, settings: str = "") -> str:
    make(directory, packs=("specflow",))
    listed = [{"number": 50 + number, "title": f"Page {number}"} for number in range(issues)]
    _write(os.path.join(directory, "issues.json"), json.dumps(listed))
    if settings:
        _write(os.path.join(directory, "moot.toml"), f'packs = ["specflow"]\n{settings}')
    with Workspace(directory, person=True) as ws:
        ws.pack(Team).plan(os.path.join(directory, "issues.json"))
    return directory


def _team(directory: str) -> str:
    """A workspace with the team of a wave of two issues."""
    _planned(directory, 2)
    agents = [{"name": name, "prompt": "-"} for name in ("Yeats", "Swift")]
    with Workspace(directory, person=True) as ws:
        ws.pack(Team).spawn_team("Fianna", json.dumps({"agents": agents}))
    return directory


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


# --- messages ---------------------------------------------------------------------------------------------------------


def _messages(stage: Stage) -> list[Row]:
    directory = _team(os.path.join(stage.directory, "teaming-messages"))
    with Workspace(directory, agent=YEATS) as ws:
        team = ws.pack(Team)
        acts = {"write": lambda: team.write("Swift", TEXT), "send": lambda: ws.send(SWIFT, TEXT)}
        rounds = interleaved(
            {name: timed(act, 4) for name, act in acts.items()}, stage.size.seconds / 3, stage.size.least
        )
    ratio = rounds.ratio("send", "write")
    return [Row("team.write", ratio.median, "x speed of a send", ">= 0.7", _note("A note to a member", rounds, ratio))]


def _note(what: str, rounds: common.Rounds, ratio: Spread) -> str:
    ours, theirs = (rounds.median(name) * 1e6 for name in ("write", "send"))
    return f"{what} with `specflow write`, beside `send`: {ours:,.0f} µs against {theirs:,.0f} µs; {ratio}."


def _migrations(stage: Stage, many: int) -> list[Row]:
    """Requests for new tables, each with a plain send beside it: in a new wave, and after so many assignments."""
    rounds = {"few": common.Rounds(), "many": common.Rounds()}
    tenth = max(2, many // 10)
    for turn in range(stage.size.repeats):
        directory = _team(os.path.join(stage.directory, f"teaming-migrations-{turn}"))
        os.makedirs(os.path.join(directory, "supabase", "migrations"))
        with Workspace(directory, agent=YEATS) as ws:
            _ask(ws, directory, 0, tenth, rounds["few"])
            _ask(ws, directory, tenth, many, common.Rounds())
            time.sleep(2 * caches.YOUNG if stage.size.seconds else 0)  # files that were just written are read again
            _ask(ws, directory, many, many + tenth, rounds["many"])
    few, lots = (one.ratio("send", "write") for one in rounds.values())
    about = "A request for a migration number, with its answer,"
    after = f"The same, with {many} numbers assigned whose migrations are written, beside the first {tenth}: "
    return [
        Row("team.migration", few.median, "x speed of a send", ">= 0.5", _note(about, rounds["few"], few)),
        Row(
            "team.migration_many",
            few.median / lots.median,
            "times the first",
            "<= 2",
            after + _note(about, rounds["many"], lots),
        ),
    ]


def _ask(ws: Workspace, directory: str, first: int, last: int, rounds: common.Rounds) -> None:
    """Ask for these migrations, and write them."""
    team = ws.pack(Team)
    for number in range(first, last):
        start = time.perf_counter()
        team.write("db-coordinator", f"REQUEST_MIGRATION #50 tables:[t{number}]")
        between = time.perf_counter()
        ws.send(SWIFT, TEXT)
        rounds.add("send", time.perf_counter() - between)
        rounds.add("write", between - start)
        path = f"supabase/migrations/{number + 1}_t{number}.sql"
        _write(os.path.join(directory, path), f"CREATE TABLE t{number} (id int);\n")


# --- a wave -----------------------------------------------------------------------------------------------------------


def _wave(stage: Stage, mode: str, issues: int) -> list[Row]:
    """A wave from its spawn to its end, beside the same commands in a pool of threads with a lock around gates."""
    at_once = _AT_ONCE if mode == "parallel" else 1
    ours, bares = list[float](), list[float]()
    for turn in range(min(3, stage.size.repeats)):
        directory = os.path.join(stage.directory, f"teaming-{mode}-{turn}")
        agent, gate = [sys.executable, "agent.py"], [sys.executable, "gate.py"]
        lines = [f"agent = {{ command = {json.dumps(agent)}, env = ['PYTHONPATH'] }}"]
        lines += [f"{name} = {json.dumps(gate)}" for name in ("contracts", "regression")]
        _planned(directory, issues, "[run.specflow]\n" + "\n".join(lines) + "\n")
        _write(os.path.join(directory, "agent.py"), _AGENT)
        _write(os.path.join(directory, "gate.py"), _GATE)
        git(directory, "add", ".")
        git(directory, "commit", "--quiet", "--message=pages")
        with Workspace(directory, person=True) as ws:
            ws.allow(all=True, yes=True)
        words = ["--parallel", str(_AT_ONCE)] if mode == "parallel" else ["--sequential"]
        env = {**os.environ, "PYTHONPATH": os.pathsep.join([os.path.dirname(__file__), *sys.path[1:]])}
        start = time.perf_counter()
        command = [sys.executable, "-m", "moot", "run", "specflow", *words]
        done = subprocess.run(command, cwd=directory, env=env, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"the wave did not end: {done.stdout}{done.stderr}")
        ours.append(time.perf_counter() - start)
        bares.append(_bare(directory, agent, gate, issues, at_once))
    ratio = Spread.of([a / b for a, b in zip(ours, bares, strict=True)])
    note = f"{issues} issues, {at_once} at once; each agent and each gate takes {_PAUSE:g} s, one gate at a time. "
    note += f"{statistics.median(ours):.2f} s, beside {statistics.median(bares):.2f} s in a pool of threads; {ratio}."
    return [Row(f"team.wave_{mode}", ratio.median, "times bare", "<= 1.5", note)]


def _bare(directory: str, agent: list[str], gate: list[str], issues: int, at_once: int) -> float:
    lock = threading.Lock()

    def run(words: list[str]) -> None:
        subprocess.run(words, cwd=directory, check=True, capture_output=True, stdin=subprocess.DEVNULL)

    def issue(_number: int) -> None:
        run(agent)
        with lock:
            run(gate)

    start = time.perf_counter()
    with ThreadPoolExecutor(at_once) as pool:
        list(pool.map(issue, range(issues)))
    for _ in ("tier 2", "tier 3"):
        run(gate)
    return time.perf_counter() - start
