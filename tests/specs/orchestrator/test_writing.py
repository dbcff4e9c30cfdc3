"""Message Lifecycle / Writing Messages: appended at the end, by moot and by hand."""

from __future__ import annotations

import json
import shutil

import pytest

from tests.specs.orchestrator.project import FILES, Project, bodies
from tests.specs.orchestrator.samples import assignment, report


@pytest.mark.proves("S0-WR-01")
def test_a_new_message_goes_to_the_end_and_changes_nothing_before_it(project: Project) -> None:
    project.join("Dev", "developer")
    first = project.assign(assignment("task-001", note="the first"))
    project.run("ack", "Dev", ids=(first["id"],))
    read = project.file("developer")["lastRead"]
    assert read is not None
    expected = [assignment("task-001", note="the first")]
    for number, send in enumerate((project.assign, project.cli_send, lambda m: project.append("developer", m)), 2):
        # Older by its own account, and yet the last to arrive.
        message = assignment(f"task-{number:03}", timestamp=f"20{10 - number:02}-01-01T00:00:00.000Z")
        send(message)
        project.look()
        expected.append(message)
        assert project.file("developer") == {"messages": expected, "lastRead": read}
    project.report(report("task-002"))
    assert project.file("developer") == {"messages": expected, "lastRead": read}
    project.report(report("task-001"))
    assert [m["taskId"] for m in project.file("team-lead")["messages"]] == ["task-002", "task-001"]
    assert project.file("team-lead")["lastRead"] is None


@pytest.mark.proves("S0-WR-02")
@pytest.mark.parametrize("gone", ["file", "directory"])
@pytest.mark.parametrize("way", ["surface", "by hand"])
def test_writing_creates_what_is_not_there_yet(project: Project, gone: str, way: str) -> None:
    if gone == "file":
        project.path("developer").unlink()
    else:
        shutil.rmtree(project.root / ".claude-orchestrator")
    if way == "surface":
        assert project.cli_send(assignment()).code == 0
    else:
        project.write("developer", [assignment()])
        project.look()
    assert project.file("developer") == {"messages": [assignment()], "lastRead": None}
    assert project.file("team-lead") == {"messages": [], "lastRead": None}


@pytest.mark.proves("S0-WR-02")
def test_a_file_that_was_deleted_comes_back_with_everything_in_it(project: Project) -> None:
    project.assign()
    project.path("developer").unlink()
    project.assign(assignment("task-002"))
    assert project.file("developer")["messages"] == [assignment(), assignment("task-002")]
    shutil.rmtree(project.root / ".claude-orchestrator")
    project.look()
    assert project.file("developer")["messages"] == [assignment(), assignment("task-002")]
    assert len(project.events("message:sent")) == 2


@pytest.mark.proves("S0-WR-03")
def test_the_three_steps_by_hand_are_absorbed_once(project: Project) -> None:
    project.assign()
    content = json.loads(project.path("developer").read_text())
    content["messages"].append(assignment("task-002"))
    project.path("developer").write_text(json.dumps(content))
    for _ in range(4):
        project.look()
    assert project.cli("mirror").code == 0
    # A fresh memory looks at everything anew.
    (project.root / ".git/moot/mirrors/state.json").unlink()
    project.look()
    project.path("developer").touch()
    project.look()
    sent = [event.data["data"] for event in project.events("message:sent")]
    assert sent == [assignment(), assignment("task-002")]
    assert project.file("developer")["messages"] == sent
    assert len(project.events("task:added")) == 2


@pytest.mark.proves("S0-WR-04")
def test_what_moot_writes_is_plain_json_that_reads_back(project: Project) -> None:
    project.join("Dev", "developer")
    project.assign(assignment(title="Grüße 🙂", instructions="zwei\nZeilen"))
    project.append("developer", assignment("task-002"))
    project.look()
    project.report(report(summary='sagt "ja"'))
    for role in FILES:
        raw = project.path(role).read_bytes()
        text = raw.decode("utf-8")
        assert not raw.startswith(b"\xef\xbb\xbf")
        assert text.endswith("}\n")
        assert not text.endswith("\n\n")
        assert text == json.dumps(json.loads(text), indent=2, ensure_ascii=False) + "\n"
        assert bodies(project.mailbox(role)) == json.loads(text)["messages"]
    assert "Grüße 🙂".encode() in project.path("developer").read_bytes()
    assert project.path("developer").read_text().splitlines()[:3] == [
        "{",
        '  "messages": [',
        "    {",
    ]
