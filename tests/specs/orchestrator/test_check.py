"""`moot pack check`: what is wrong in the protocol's files, and where."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from moot import Workspace
from tests.specs.orchestrator.project import FILES
from tests.specs.orchestrator.samples import assignment, report, without

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.specs.orchestrator.project import Project

CHECK = ("pack", "check")


def problems(project: Project, *words: str) -> list[dict[str, Any]]:
    """The problems that the command line reports. It must fail if there is one."""
    spoken = project.cli(*CHECK, *words)
    found = spoken.json["result"]["problems"]
    assert spoken.code == (6 if found else 0)
    return found


def places(project: Project, *words: str) -> list[tuple[str, str, int]]:
    return [(Path(one["file"]).name, one["place"], one["line"]) for one in problems(project, *words)]


def everything(folder: Path) -> dict[str, bytes]:
    found = [path for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts]
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


@pytest.mark.proves("S0-INS-05")
def test_sound_files_pass_the_check(project: Project) -> None:
    assert problems(project) == []
    project.assign()
    project.append("team-lead", report())  # valid news that moot has not seen yet
    assert problems(project) == []
    files = {one["path"]: one["state"] for one in project.cli(*CHECK).result["files"]}
    assert {files[FILES[role]] for role in FILES} == {"good"}
    assert project.cli(*CHECK, "orchestrator").result["problems"] == []
    refused = project.cli(*CHECK, "other")
    assert (refused.code, refused.json["error"]) == (4, "unknown_pack")


@pytest.mark.proves("S0-INS-05")
def test_every_problem_of_a_message_has_its_line_and_column(project: Project) -> None:
    wrong = without(assignment(platform="windows", title="", filesToCreate=["a.ts", 7, "../b.ts"]), "architecture")
    project.write("developer", [assignment("task-002"), wrong], last_read="yesterday")
    found = problems(project)
    lines = project.path("developer").read_text(encoding="utf-8").splitlines()
    said = {one["place"]: lines[one["line"] - 1][one["column"] - 1 :] for one in found}
    assert said == {
        "messages[1].architecture": "{",  # what is missing is missing in the message that begins there
        "messages[1].platform": '"windows",',
        "messages[1].title": '"",',
        "messages[1].filesToCreate[1]": "7,",
        "messages[1].filesToCreate[2]": '"../b.ts"',
        "lastRead": '"yesterday"',
    }
    assert {one["file"] for one in found} == {FILES["developer"]}
    assert "expected one of web, android, ios, custom" in next(p["message"] for p in found if "platform" in p["place"])


@pytest.mark.proves("S0-INS-05")
def test_what_the_rules_and_the_states_of_tasks_refuse_is_reported_too(project: Project) -> None:
    project.assign(assignment("task-002"))
    project.report(report("task-002"))
    project.run("task approve", task="task-002")
    late = assignment("task-002", instructions="Too late.")
    project.append("developer", late, report("task-002"))
    other = report("task-002", platform="ios", summary="Another platform.")
    project.append("team-lead", report("task-099"), other, {"type": "status_update"}, "text")
    found = problems(project)
    said = {(Path(one["file"]).stem, one["place"]): one["message"] for one in found}
    assert "task-002 is completed" in said["to-developer", "messages[0]"]
    assert "belongs in .claude-orchestrator/tasks/messages/to-team-lead.json" in said["to-developer", "messages[1]"]
    assert "There is no task 'task-099'" in said["to-team-lead", "messages[0]"]
    assert "for the platform web" in said["to-team-lead", "messages[1]"]
    assert "task_assignment or completion_report" in said["to-team-lead", "messages[2].type"]
    assert ("to-team-lead", "messages[3].type") in said
    assert all(one["line"] > 0 and one["column"] > 0 for one in found)
    # The next command holds exactly these entries.
    project.look()
    assert len(project.held()) == 6


@pytest.mark.proves("S0-INS-05")
def test_messages_in_both_files_are_checked_together(project: Project) -> None:
    """A report may be about a task that an assignment in the other file creates."""
    project.append("developer", assignment())
    project.append("team-lead", report())
    assert problems(project) == []
    project.append("team-lead", report("task-002"))
    assert [one["place"] for one in problems(project)] == ["messages[1]"]


@pytest.mark.proves("S0-INS-05")
@pytest.mark.parametrize(
    ("text", "line", "column", "said"),
    [
        ('{"messages": [\n  {"type": ', 2, 12, "ends in the middle"),
        ('{"messages": []}\n}', 2, 1, "text after the end"),
        ('{"messages": [], "messages": []}', 1, 18, "stands twice"),
        ('{"messages": [NaN]}', 1, 15, "NaN"),
        ("", 1, 1, "empty"),
        ('{"messages": {}}', 1, 1, 'not an object with the list "messages"'),
        ("[]", 1, 1, 'not an object with the list "messages"'),
    ],
)
def test_a_file_that_is_not_a_mailbox_is_reported_with_its_position(
    project: Project, text: str, line: int, column: int, said: str
) -> None:
    project.write("team-lead", text)
    (one,) = problems(project)
    assert (one["file"], one["line"], one["column"]) == (FILES["team-lead"], line, column)
    assert said in one["message"]


@pytest.mark.proves("S0-INS-05")
def test_the_check_changes_nothing(project: Project) -> None:
    project.join("Lead", "team-lead")
    project.append("developer", assignment(), assignment(platform="windows"), "text")
    project.write("team-lead", '{"messages": [')
    before, files = project.head(), everything(project.root)
    stamp = project.session("Lead").silence("Lead#1")
    for _ in range(3):
        assert len(problems(project)) == 3
        assert project.cli(*CHECK, agent="Lead").code == 6
    assert project.head() == before
    assert everything(project.root) == files
    assert project.session("Lead").silence("Lead#1") >= stamp  # not even a sign of life


@pytest.mark.proves("S0-INS-05")
def test_text_and_python_say_the_same(project: Project) -> None:
    project.write("developer", [assignment(platform="windows")])
    with Workspace(project.root) as workspace:
        (one,) = workspace.pack_check().problems
        assert workspace.pack_check("orchestrator").problems == (one,)
    assert one.full() == problems(project)[0]
    text = project.voice(*CHECK)
    assert text.code == 6
    assert text.out.splitlines() == [
        f"{one.file}:{one.line}:{one.column}: messages[0].platform: {one.message} → {one.remedy}",
        f"1 problem; 1 of {len(project.cli(*CHECK).json['result']['files'])} files bad.",
    ]
    project.path("developer").unlink()
    quiet = project.voice(*CHECK)
    assert quiet.code == 0
    assert "to-developer.json does not exist; the next command writes it." in quiet.out


@pytest.mark.proves("S0-INS-05")
def test_a_held_entry_that_is_written_again_is_reported_as_held(project: Project) -> None:
    project.append("team-lead", report("task-099"))
    project.look()
    (held,) = project.held()
    project.append("team-lead", report("task-099"))
    (one,) = problems(project)
    assert f"held as {held['id']}" in one["message"]
    assert f"moot held show {held['id']}" in one["remedy"]


@pytest.mark.proves("S0-INS-05")
@pytest.mark.parametrize("how", ["link", "directory"])
def test_a_file_that_cannot_be_used_is_a_problem(project: Project, how: str) -> None:
    project.path("developer").unlink()
    if how == "link":
        os.symlink(project.path("team-lead"), project.path("developer"))
    else:
        project.path("developer").mkdir()
    (one,) = problems(project)
    assert (one["file"], one["line"]) == (FILES["developer"], 0)
    assert "cannot be used" in one["message"]


@pytest.mark.proves("S0-INS-05")
def test_every_worktree_is_checked(project: Project, folder: Path) -> None:
    project.git("-c", "user.name=n", "-c", "user.email=e@x", "commit", "--quiet", "--allow-empty", "-m", "first")
    project.git("worktree", "add", "--quiet", "-b", "other", str(folder / "other"))
    project.look()
    other = project.at(folder / "other")
    other.append("developer", assignment(platform="windows"))
    (one,) = problems(project)
    assert (one["worktree"], one["place"]) == (str(folder / "other"), "messages[0].platform")
    assert str(other.path("developer")) in project.voice(*CHECK).out


def test_no_pack_no_check(make_project: Callable[..., Project]) -> None:
    project = make_project()
    (project.root / "moot.toml").write_text("", encoding="utf-8")
    assert project.cli(*CHECK).json["error"] == "no_packs"


# The queue and the status


def edit(project: Project, name: str, change: Callable[[Any], None]) -> list[str]:
    """Edit a file below `tasks/` as an agent does. Returns its lines."""
    path = project.root / ".claude-orchestrator" / "tasks" / name
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    path.write_text(json.dumps(content, indent=2), encoding="utf-8")
    return path.read_text(encoding="utf-8").splitlines()


@pytest.mark.proves("S0-INS-05")
def test_problems_in_the_queue_have_their_position(project: Project) -> None:
    project.run("task add", title="One", id="task-001")
    project.look()

    def change(content: Any) -> None:
        content["tasks"][0]["status"] = "done"
        content["tasks"].append({"id": "task-002", "title": " ", "priority": "urgent"})
        content["tasks"].append("text")

    lines = edit(project, "queue.json", change)
    found = problems(project)
    said = {one["place"]: lines[one["line"] - 1][one["column"] - 1 :] for one in found}
    assert said["tasks[0]"] == "{"
    assert said["tasks[1].title"] == '" ",'
    assert any(place.startswith("tasks[2]") for place in said)
    assert "not a state of the protocol" in next(p["message"] for p in found if p["place"] == "tasks[0]")
    project.look()
    assert len(project.held()) == 3


@pytest.mark.proves("S0-INS-05")
def test_a_verdict_in_the_queue_may_be_about_a_report_in_the_other_file(project: Project) -> None:
    project.assign()
    project.append("team-lead", report())
    edit(project, "queue.json", lambda content: content["tasks"][0].update(status="completed"))
    assert problems(project) == []
    project.look()
    assert project.state() == "completed"


@pytest.mark.proves("S0-INS-05")
@pytest.mark.parametrize("name", ["queue.json", "status.json"])
def test_a_queue_or_status_that_is_not_one_is_reported(project: Project, name: str) -> None:
    path = project.root / ".claude-orchestrator" / "tasks" / name
    for text, line in (("[]", 1), ('{\n  "tasks": [', 2), ("", 1)):
        path.write_text(text, encoding="utf-8")
        (one,) = problems(project)
        assert (Path(one["file"]).name, one["line"]) == (name, line)


@pytest.mark.proves("S0-INS-05")
def test_a_log_that_cannot_be_read_is_reported_with_its_position(project: Project) -> None:
    path = project.root / ".claude-orchestrator" / "logs" / "log.md"
    good = path.read_bytes()
    path.write_bytes(good + b"A note of a person.\n")
    assert problems(project) == []
    path.write_bytes(good + b"A note of a person.\n\xff\xfe")
    (one,) = problems(project)
    assert one["file"] == ".claude-orchestrator/logs/log.md"
    assert one["line"] == len(good.splitlines()) + 2
    assert path.read_bytes().endswith(b"\xff\xfe")
