"""Ordinary days with the GSD blackboard, through the real command."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from moot.logs.sqlite import SqliteLog
from tests.surfaces.command import PATIENCE, Command, git, new_command

EVENTS = ".planning/blackboard/events.json"
EMITTER = """
EVENT=$(printf '{"type": "%s", "agent": "gsd-executor", "plan": "%s", "task": %s, "taskName": "%s", "error": "%s"}' \
  "$@")
jq ".events += [$EVENT] | .lastEventId += 1" .planning/blackboard/events.json > tmp.json &&
  mv tmp.json .planning/blackboard/events.json
"""


@pytest.fixture
def moot(tmp_path: Path) -> Command:
    return new_command(tmp_path)


def plan(moot: Command, plan: str, *lines: str, tasks: int = 0, done: bool = False) -> Path:
    """Write a plan as the planning system writes it, and its summary if it is done."""
    phase, _, number = plan.partition("-")
    path = moot.repo / ".planning" / "phases" / f"{phase}-part" / f"{plan}-PLAN.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    head = ("---", f"phase: {phase}-part", f"plan: {number}", "type: execute", *lines, "autonomous: true", "---")
    body = (f'<task type="auto">\n  <name>Task {n}: Part {n}</name>\n</task>' for n in range(1, tasks + 1))
    path.write_text("\n".join((*head, "", "<tasks>", *body, "</tasks>", "")))
    if done:
        path.with_name(f"{plan}-SUMMARY.md").write_text("---\nstatus: complete\n---\nDone.\n")
    return path


def jq(moot: Command, kind: str, plan: str, task: int, name: str = "Part", error: str = "") -> None:
    """Append an event as the protocol's shell step does."""
    words = ["bash", "-euc", EMITTER, "emit", kind, plan, str(task), name, error]
    subprocess.run(words, cwd=moot.repo, check=True, timeout=PATIENCE)


def states(moot: Command, phase: str = "01") -> dict[str, str]:
    return {one["plan"]: one["state"] for one in moot("gsd", "phase", phase, "--json").result["plans"]}


def blackboard(moot: Command, name: str = "events") -> dict[str, object]:
    found: dict[str, object] = json.loads((moot.repo / ".planning" / "blackboard" / f"{name}.json").read_text())
    return found


@pytest.mark.proves("S4-DEP-01", "S4-DEP-08")
def test_a_dependency_that_is_written_in_any_way_holds_a_plan_and_one_that_cannot_be_read_blocks_it(
    moot: Command,
) -> None:
    plan(moot, "01-01", "depends_on: []", tasks=1)
    plan(moot, "01-02", 'depends_on: ["01-01"]', tasks=1)
    plan(moot, "01-03", "depends_on: [", '  "01-01",', '  "01-02"', "]", tasks=1)
    plan(moot, "01-04", "depends_on:", "- 01-01", tasks=1)
    broken = plan(moot, "01-05", 'depends_on: ["01-01"', tasks=1)
    odd = plan(moot, "01-06", "depends_on: {first: yes}", tasks=1)
    several = plan(moot, "01-07", "depends_on: 01-01, 01-02", tasks=1)  # a text, so which of them is not sure
    assert moot("init", "--pack", "gsd").code == 0
    waits = dict.fromkeys(("01-02", "01-03", "01-04"), "waiting")
    assert states(moot) == {"01-01": "ready", **waits, **dict.fromkeys(("01-05", "01-06", "01-07"), "blocked")}
    listed = {one["plan"]: one for one in moot("gsd", "waiting", "--json").result}
    assert [one["plan"] for one in listed["01-03"]["plans"]] == ["01-01", "01-02"]
    for path in (broken, odd, several):
        name = path.name.removesuffix("-PLAN.md")
        assert "depends_on" in listed[name]["blocked"] or "line" in listed[name]["blocked"], listed[name]
        assert str(path.relative_to(moot.repo)) in moot("gsd", "plan", name).out
        assert moot("gsd", "wait", "--plan", name, "--timeout", "0.2s").code == 5
    for n, (kind, number) in enumerate((("task:started", 1), ("task:completed", 1)), 1):
        jq(moot, kind, "01-01", number)
        assert moot("board").code == 0, n
    assert states(moot) == {
        "01-01": "done", "01-02": "ready", "01-03": "waiting", "01-04": "ready",
        "01-05": "blocked", "01-06": "blocked", "01-07": "blocked",
    }  # fmt: skip
    plan(moot, "01-05", 'depends_on: ["01-01"]', tasks=1)
    assert states(moot)["01-05"] == "ready"


@pytest.mark.proves("S4-HAN-08", "S4-STO-11")
def test_an_adopted_project_that_is_half_done_looks_half_done(moot: Command) -> None:
    for number in (1, 2, 3):
        plan(moot, f"01-0{number}", "depends_on: []", tasks=3, done=True)
    plan(moot, "02-01", 'depends_on: ["01-03"]', tasks=2)
    plan(moot, "02-02", 'depends_on: ["02-01"]', tasks=2)
    found = moot("init", "--pack", "gsd").out
    assert "01: 3 of 3 plans done" in found
    assert "02: 0 of 2 plans done, 1 ready, 1 waiting" in found
    first = moot("gsd", "phase", "01", "--json").result
    assert (first["completed"], first["tasks"], first["done"]) == (9, 9, 3)
    assert "9 of 9 tasks completed; 3 of 3 plans done" in moot("gsd", "phase", "01").out
    assert moot("gsd", "wait", "--phase", "01", "--tasks", "9").code == 0
    assert moot("gsd", "wait", "--phase", "01", "--plans", "3").code == 0
    assert states(moot, "02") == {"02-01": "ready", "02-02": "waiting"}
    assert blackboard(moot, "shared-context")["completed_plans"] == ["01-01", "01-02", "01-03"]
    jq(moot, "task:started", "01-02", 2, "Do it again")
    again = moot("gsd", "plan", "01-02", "--json").result["plan"]
    assert (again["state"], again["tasks"][1]["state"]) == ("done", "running")


@pytest.mark.proves("S4-STO-11")
def test_a_large_project_is_adopted_in_one_commit_and_says_so(moot: Command) -> None:
    for phase in range(1, 24):
        for number in range(1, 11):
            before = f'depends_on: ["{phase:02d}-{number - 1:02d}"]' if number > 1 else "depends_on: []"
            plan(moot, f"{phase:02d}-{number:02d}", before, tasks=3, done=phase < 21)
    program = "import moot.surfaces.cli.progress as p, moot.__main__ as m; p._PATIENCE = -1; m.command()"
    shown = moot.at_a_terminal("init", "--pack", "gsd", program=("-c", program))
    assert shown.code == 0
    assert "23: 0 of 10 plans done, 1 ready, 9 waiting" in shown.out
    assert "reading .planning/phases/" in shown.out, "it does not say what it reads"
    log = SqliteLog(str(moot.repo / ".git" / "moot"))
    opened = [event for event in log.read(0, 10_000) if event.type == "document:opened"]
    log.close()
    assert len({event.commit for event in opened}) == 1
    assert {event.via for event in opened} == {"file .planning/phases"}
    assert moot("gsd", "phase", "--json").result[0]["done"] == 10


@pytest.mark.proves("S4-HRD-08", "S4-STO-02")
def test_a_restored_old_file_changes_neither_events_nor_the_retention(moot: Command) -> None:
    assert moot("init", "--pack", "gsd").code == 0
    path = moot.repo / EVENTS
    backups = [path.read_text()]
    for number in range(1, 4):
        jq(moot, "task:started", "01-01", number)
        assert moot("board").code == 0
        backups.append(path.read_text())
    path.write_text(json.dumps({**blackboard(moot), "retentionPolicy": "7d"}))
    assert moot("board").code == 0
    for old in backups:
        path.write_text(old)
        assert moot("board").code == 0
        assert blackboard(moot)["retentionPolicy"] == "7d", old
    jq(moot, "task:started", "01-01", 4)
    assert moot("board").code == 0
    for old in backups:
        path.write_text(old)
        jq(moot, "task:started", "02-01", 1)
        assert moot("board").code == 0
        shown = blackboard(moot)
        assert (shown["retentionPolicy"], len(shown["events"])) == ("7d", shown["lastEventId"])
    path.write_text(json.dumps({**blackboard(moot), "retentionPolicy": "soon"}))
    assert "retentionPolicy" in moot("board").err
    assert blackboard(moot)["retentionPolicy"] == "7d"


def test_a_team_adopts_a_project_works_a_day_and_comes_back_the_next_morning(moot: Command) -> None:
    plan(moot, "01-01", "wave: 1", "depends_on: []", tasks=2, done=True)
    plan(moot, "02-01", "wave: 1", "depends_on: [01-01]", tasks=2)
    plan(moot, "02-02", "wave: 2", 'depends_on: ["02-01"]', "needs: [src/models/user.ts]", tasks=1)
    (moot.repo / ".planning" / "config.json").write_text('{"mode": "yolo"}')
    assert moot("init", "--pack", "gsd").code == 0
    assert states(moot, "02") == {"02-01": "ready", "02-02": "waiting"}
    # Executors: one knows only the files, one uses moot.
    jq(moot, "task:started", "02-01", 1, "Create User model")
    claim = ("agent=gsd-executor", "plan=02-01", "path=src/models/user.ts")
    assert moot("gsd", "emit", "file:claimed", *claim).code == 0
    other = ("agent=gsd-executor", "plan=02-02", "path=src/models/user.ts")
    assert moot("gsd", "emit", "file:claimed", *other).code != 0
    assert states(moot, "02") == {"02-01": "running", "02-02": "waiting"}
    made = moot("gsd", "emit", "artifact:created", "path=src/models/user.ts", "createdBy=02-01", "provides=User")
    assert "dependency:satisfied" in made.out
    assert moot("gsd", "emit", "file:released", "agent=gsd-executor", "path=src/models/user.ts").code == 0
    assert states(moot, "02")["02-02"] == "waiting"  # the plan before it is not done
    jq(moot, "task:completed", "02-01", 1)
    # The second task fails, is repeated, and asks the user.
    jq(moot, "task:started", "02-01", 2)
    jq(moot, "task:failed", "02-01", 2, error="Tests fail")
    assert states(moot, "02")["02-01"] == "failed"
    assert moot("gsd", "wait", "--phase", "02", "--tasks", "2").code == 6
    jq(moot, "task:started", "02-01", 2)
    reached = ("plan=02-01", "task=2", "checkpointType=human-verify", "awaiting=user approval")
    assert moot("gsd", "emit", "checkpoint:reached", *reached).code == 0
    jq(moot, "task:completed", "02-01", 2)
    assert states(moot, "02") == {"02-01": "asking", "02-02": "waiting"}
    (open_,) = moot("checkpoints", "--json").result
    assert moot("checkpoint", "resolve", open_["id"], "approved").code == 0
    assert states(moot, "02") == {"02-01": "done", "02-02": "ready"}
    # The next morning: git has brought an old copy of the files back, and a plan was added.
    git(moot.repo, "checkout", "-q", "-b", "next")
    (moot.repo / EVENTS).write_text('{"events": [], "lastEventId": 0, "retentionPolicy": "24h"}\n')
    plan(moot, "02-03", 'depends_on: ["02-02"]', tasks=1)
    jq(moot, "task:started", "02-02", 1)
    assert states(moot, "02") == {"02-01": "done", "02-02": "running", "02-03": "waiting"}
    shown = blackboard(moot)
    kinds = [one["type"] for one in shown["events"]]  # type: ignore[attr-defined]
    assert (len(kinds), kinds[-1]) == (shown["lastEventId"], "task:started")
    jq(moot, "task:completed", "02-02", 1)
    assert moot("gsd", "wait", "--phase", "02", "--tasks", "3", "--timeout", "5s").code == 0
    assert states(moot, "02")["02-03"] == "ready"
    assert moot("gsd", "check").code == 0
    assert moot("verify").code == 0
