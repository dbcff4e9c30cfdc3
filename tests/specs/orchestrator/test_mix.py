"""The whole protocol: by programs that know only its files, and with every mix of surfaces."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from moot.packs import orchestrator
from moot.packs.orchestrator.protocol import Orchestrator
from moot.testing.rehearsal import Rehearsal, rehearse
from tests.kit.mixing import Player, mixes, played
from tests.kit.packs import load
from tests.specs.orchestrator.project import FOLDER, PATIENCE, QUEUE, Project, until
from tests.specs.orchestrator.samples import assignment, report

AGENTS = Path(__file__).parent / "agents"
PACK = load(Path(orchestrator.__file__).parent, Orchestrator)
REJECTED = ("task-003", "task-007")
needs_programs = pytest.mark.skipif(
    shutil.which("node") is None or shutil.which("jq") is None, reason="needs the system packages nodejs and jq"
)


@needs_programs
@pytest.mark.proves("S0-EX-01", "S0-OVW-04")
def test_a_shell_lead_and_a_node_developer_complete_ten_tasks_and_know_only_the_files(project: Project) -> None:
    folder = project.root / FOLDER
    watcher = project.start("mirror", "--watch")
    until((project.root / QUEUE).exists, "the files are there")
    agents = [
        subprocess.Popen([str(AGENTS / "lead.sh"), str(folder)], env=project.env, stderr=subprocess.PIPE),
        subprocess.Popen(["node", str(AGENTS / "developer.mjs"), str(folder)], env=project.env, stderr=subprocess.PIPE),
    ]
    try:
        said = agents[0].communicate(timeout=PATIENCE)[1]
        assert agents[0].returncode == 0, said
        assert agents[1].poll() is None
    finally:
        for process in (*agents, watcher):
            process.terminate()
            process.communicate(timeout=PATIENCE)
    project.look()
    content = project.queue()
    assert content["tasks"] == []
    assert sorted(entry["id"] for entry in content["completed"]) == [f"task-{number:03}" for number in range(1, 11)]
    for number in range(1, 11):
        name = f"task-{number:03}"
        task = project.task(name)
        assert (task.state, task.attempt) == ("completed", 2 if name in REJECTED else 1)
        assert [step.reason for step in task.setbacks] == (
            [f"There are no tests in {name}."] if name in REJECTED else []
        )
        assert (project.root / f"{name}.txt").read_text().startswith(f"Build Part {number}.")
    kinds = [event.data["kind"] for event in project.events("message:sent")]
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {"task_assignment": 12, "completion_report": 12}
    assert project.file("developer")["messages"] == project.file("team-lead")["messages"] == []
    assert {event.by for event in project.events("task:approved", "task:rejected")} == {"role:team-lead"}
    assert project.held() == []


# Every mix of files, command line and Python


def by_file(root: str, task: str, state: str, reason: str | None) -> None:
    """How a lead that knows only the files moves a task."""
    path = Path(root) / QUEUE
    content = json.loads(path.read_text())
    for entry in content["tasks"]:
        if entry["id"] == task:
            entry |= {"status": state, **({"rejectionReason": reason} if reason else {})}
    path.write_text(json.dumps(content, indent=2))


def scenario(cast: Mapping[str, Player]) -> None:
    """Ten tasks, of which two are rejected and retried."""
    lead, developer = cast["team-lead"], cast["developer"]
    for number in range(1, 11):
        name = f"task-{number:03}"
        for attempt in (1, 2) if name in REJECTED else (1,):
            stamp = f"2024-01-{number:02}T00:00:0{attempt}.000Z"
            lead.send("task_assignment", assignment(name, timestamp=stamp, title=f"Part {number}"))
            (given,) = developer.read("task_assignment")
            developer.send("completion_report", report(given["taskId"], summary=given["title"], timestamp=stamp))
            (found,) = lead.read("completion_report")
            if name in REJECTED and attempt == 1:
                lead.move(found["taskId"], "rejected", f"There are no tests in {name}.")
                lead.move(found["taskId"], "pending")
            else:
                lead.move(found["taskId"], "completed")


def play(root: Path, seats: Mapping[str, str]) -> dict[str, Any]:
    """In a workspace of its own."""
    with pytest.MonkeyPatch.context() as patch:
        root.mkdir()
        made = rehearse(root, patch.delenv, "orchestrator")
        rehearsal: Rehearsal = next(made)
        patch.setenv("MOOT_PERSON", "1")
        ending = played(rehearsal, PACK, scenario, seats, by_file)
        next(made, None)
    return ending


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return play(tmp_path_factory.mktemp("mix") / "usual", {"team-lead": "python", "developer": "python"})


@pytest.mark.proves("S0-EX-01")
@pytest.mark.parametrize("seats", mixes(PACK), ids=lambda seats: "-".join(seats.values()))
def test_the_script_ends_in_the_same_way_with_every_mix_of_surfaces(
    usual: dict[str, Any], folder: Path, seats: dict[str, str]
) -> None:
    ending = play(folder / "mixed", seats)
    assert ending == usual
    assert [task[2:4] for task in ending["tasks"]] == [
        ["completed", 2 if task[0] in REJECTED else 1] for task in ending["tasks"]
    ]
    assert len(ending["messages"]) == 24
    assert len(ending["files"]) == 5
