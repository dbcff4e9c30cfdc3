"""The development log: `log.md` says what happened, and what others write into it stays there."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.specs.orchestrator.project import FILES, LOG, QUEUE, STATUS, LaterClock, Project
from tests.specs.orchestrator.samples import assignment, report

HEADING = "# Development Log"
LINE = re.compile(r"\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\] \[(INFO|WARN|ERROR)\] .+")


def lines(project: Project, *words: str) -> list[str]:
    """The lines that have all these words."""
    return [line for line in project.journal() if all(word in line for word in words)]


def fill(project: Project, count: int) -> None:
    """Events with long sentences."""
    for number in range(count):
        project.run("task note", task="task-001", text=f"{number} {'x' * 1000}")


# The format


@pytest.mark.proves("S0-LOC-11")
def test_the_log_begins_with_its_heading_and_has_a_line_for_each_event(project: Project) -> None:
    assert (project.root / LOG).read_text() == f"{HEADING}\n\n"
    project.run("task add", title="Build it")
    project.assign()
    project.report()
    heading, *found = project.journal()
    assert heading == HEADING
    assert all(LINE.fullmatch(line) for line in found)
    shown = [event for event in project.events() if event.stream.startswith("task/") or event.type == "message:sent"]
    assert [line[1:25] for line in found] == [event.at for event in shown]
    assert all("task-001" in line for line in found)


@pytest.mark.proves("S0-LOC-11")
@pytest.mark.parametrize("verdict", ["approved", "rejected"])
def test_a_finished_review_has_a_section_with_all_that_was_reported(project: Project, verdict: str) -> None:
    project.run("task add", title="Build it", priority="high")
    project.assign(assignment(platform="ios"))
    project.report(
        report(platform="ios", summary="All of it\nin two lines", filesCreated=["a.ts", "b c.ts"], filesModified=[])
    )
    if verdict == "approved":
        project.run("task approve", task="task-001")
    else:
        project.run("task reject", task="task-001", reason="No tests.")
    text = (project.root / LOG).read_text()
    section = text[text.index(f"\n## Review of task-001, attempt 1: {verdict}\n") :]
    wanted = {
        "Task": "task-001",
        "Title": "Build it",
        "Platform": "ios",
        "Priority": "high",
        "Summary": "All of it in two lines",
        "Created": "`a.ts`, `b c.ts`",
        "Modified": "none",
        "Build": "success `npm run build`",
        "Verdict": verdict,
        **({"Rejection reason": "No tests."} if verdict == "rejected" else {}),
    }
    assert re.findall(r"^- \*\*(.+?)\*\*: (.+)$", section, re.MULTILINE) == list(wanted.items())
    project.run("task edit", task="task-001", title="Renamed", priority="low")
    assert section in (project.root / LOG).read_text()  # as it was reviewed


@pytest.mark.proves("S0-LOC-11")
def test_a_task_that_was_rejected_before_a_report_has_no_section(project: Project) -> None:
    project.assign()
    project.run("task reject", task="task-001", reason="Not now.")
    assert lines(project, "[WARN]", "in_progress → rejected", "Not now.")
    assert "## Review" not in (project.root / LOG).read_text()


@pytest.mark.proves("S0-BP-01")
def test_everything_that_is_recorded_or_rendered_has_a_time(project: Project) -> None:
    project.run("task add", title="Build it")
    project.assign()
    project.report()
    project.run("task reject", task="task-001", reason="No tests.")
    project.run("task reopen", task="task-001")
    assert all(re.fullmatch(r"\d{4}-.+Z", event.at) for event in project.events())
    assert all(entry["createdAt"] and entry["updatedAt"] for entry in project.queue()["tasks"])
    rendered = [line for line in project.journal() if not line.startswith(("# ", "## ", "- **"))]
    assert rendered
    assert all(LINE.fullmatch(line) for line in rendered)
    for text in ("", "soon", None):  # nor can a caller store a message without one
        assert project.refusal("send", type="task_assignment", data=assignment("task-002", timestamp=text)).places == [
            "timestamp"
        ]
    project.assign({key: value for key, value in assignment("task-003").items() if key != "timestamp"})
    (stamped,) = [m for m in project.file("developer")["messages"] if m["taskId"] == "task-003"]
    assert re.fullmatch(r"\d{4}-.+Z", stamped["timestamp"])


# What leaves an entry


@pytest.mark.proves("S0-BP-05")
def test_messages_transitions_verdicts_clears_held_messages_and_restored_files_leave_entries(project: Project) -> None:
    project.assign()
    project.report()
    assert lines(project, "task-001", "sent a task_assignment to @developer")
    assert lines(project, "task-001", "sent a completion_report to @team-lead")
    assert lines(project, "task-001", "pending → in_progress")
    assert lines(project, "task-001", "in_progress → awaiting_review")
    project.run("task reject", task="task-001", reason="No tests at all.")
    assert lines(project, "task-001", "awaiting_review → rejected", "No tests at all.")
    project.run("task reopen", task="task-001")
    assert lines(project, "task-001", "cleared", "(reset)")
    project.assign(assignment(timestamp="2024-01-02T00:00:00.000Z"))
    project.report(report(timestamp="2024-01-02T00:00:00.000Z"))
    project.run("task approve", task="task-001")
    assert lines(project, "task-001", "awaiting_review → completed")
    assert lines(project, "task-001", "cleared", "(completed)")
    project.append("developer", {**assignment("task-009"), "platform": "nokia"})
    project.look()
    (held,) = lines(project, "[WARN]", "task-009", "held an entry")
    assert "platform" in held
    for path in (*FILES.values(), QUEUE, STATUS, LOG):
        (project.root / path).unlink()
        project.look()
        assert lines(project, "[WARN]", f"restored {path}"), path


@pytest.mark.proves("S0-BP-05")
def test_a_time_limit_that_passed_leaves_an_entry(make_project: Any) -> None:
    project = make_project('ttl = "10m"\n')
    project.clock = LaterClock()
    project.join("Dev", "developer")
    project.run("ack", "Dev", ids=[project.assign()["id"]])
    project.clock.passed += 11 * 60.0
    project.look()
    assert lines(project, "[WARN]", "task-001", "limit 10m")


@pytest.mark.proves("S0-HRD-04")
def test_a_file_that_stays_invalid_is_named_in_the_log_with_the_error(make_project: Any) -> None:
    project = make_project()
    for path in (QUEUE, *FILES.values()):
        (project.root / path).write_text('{"tasks": [')
        os.utime(project.root / path, (0, 0))  # for more than 5 seconds
        project.look()
        assert lines(project, "[ERROR]", f"quarantined {path}", "the text ends in the middle of a value")


@pytest.mark.proves("S0-HRD-27")
def test_a_writer_that_knows_only_files_learns_from_the_log_why_its_entry_vanished(project: Project) -> None:
    project.append("team-lead", report("task-404", build_errors=-1, summary=""))
    project.enqueue({"id": "task-007", "title": " ", "priority": "urgent"})
    project.look()
    (message,) = lines(project, "task-404", "held an entry of .claude-orchestrator/tasks/messages/to-team-lead.json")
    assert "buildResult.errors" in message
    assert "summary" in message
    (entry,) = lines(project, "task-007", f"held an entry of {QUEUE}")
    assert "title" in entry
    for held in project.held():
        project.run("held drop", id=held["id"], reason="wrong")
        assert lines(project, f"{held['id']} dropped: wrong")
    assert len(lines(project, "dropped: wrong")) == 2


# What others write


@pytest.mark.proves("S0-LOC-12")
def test_what_others_append_stays_at_the_end_byte_for_byte(project: Project) -> None:
    project.run("task add", title="One")
    appended = b"\nThe lead was here.\r\n\n- and h\xc3\xa9re  \n\n"
    with (project.root / LOG).open("ab") as file:
        file.write(appended)
    project.run("task add", title="Two")
    with (project.root / LOG).open("ab") as file:
        file.write(appended)
    project.run("task add", title="Three")
    content = (project.root / LOG).read_bytes()
    assert content.endswith(appended * 2)
    head = content.removesuffix(appended * 2).decode().splitlines()
    assert [line.rpartition(" ")[2] for line in head if line.startswith("[")] == ["“One”", "“Two”", "“Three”"]
    first, second = project.events("feed:noted")
    assert first.data["text"].encode() == second.data["text"].encode() == appended
    assert first.via == f"file {LOG}"
    assert project.cli("search", "lead was here").result


@pytest.mark.proves("S0-LOC-12")
def test_an_edited_file_or_an_old_copy_removes_nothing_and_adds_what_is_new(project: Project) -> None:
    project.run("task add", title="One")
    old = (project.root / LOG).read_text()
    project.run("task add", title="Two")
    before = (project.root / LOG).read_text()
    one, two = before.splitlines()[2:]
    for text, new in (
        ("", ""),
        (before.partition("\n\n")[2], ""),
        (before.replace("One", "Won"), ""),
        (f"{one}\nbetween\n{two}\n", "between\n"),
        (f"{old}mine\n\n", "mine\n\n"),
        (before[:-9], ""),
    ):
        project.write_journal(text)
        os.utime(project.root / LOG, (0, 0))  # what is not complete by now never will be
        project.look()
        before += new
        assert (project.root / LOG).read_text() == before, text
    project.write_journal(f"{before}half a line")
    assert "log.md" in project.look()["mirror_pending"]
    os.utime(project.root / LOG, (0, 0))
    project.look()
    assert (project.root / LOG).read_text() == f"{before}half a line"


@pytest.mark.proves("S0-LOC-12", "S0-HRD-24")
def test_notes_of_two_worktrees_are_in_both(project: Project) -> None:
    project.run("task add", title="One")
    project.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--allow-empty", "-m", "begin")
    other = project.root.with_name("other")
    project.git("worktree", "add", "--quiet", "--detach", str(other))
    project.look()
    for root in (project.root, other):
        with (root / LOG).open("a") as file:
            file.write(f"from {root.name}\n")
    project.look()
    assert (project.root / LOG).read_text() == (other / LOG).read_text()
    assert {"from project", "from other"} <= set(project.journal())


@pytest.mark.proves("S0-BP-06")
def test_all_files_that_moot_writes_have_one_convention(project: Project) -> None:
    """Keys in the order of the samples and then those of others, one form of times, paths below the project."""
    root = str(project.root)
    project.join("Dev", "developer")
    said = assignment(filesToCreate=[f"{root}/src/a.ts", "src\\b.ts"])
    project.append("developer", {"zeta": 1, **dict(reversed(said.items())), "alpha": 2})
    project.look()
    project.cli_send(report(filesCreated=[f"{root}/src/a.ts"]), "Dev")
    (given,), (answer,) = project.file("developer")["messages"], project.file("team-lead")["messages"]
    assert list(given) == [*assignment(), "zeta", "alpha"] or list(given) == [*assignment(), "alpha", "zeta"]
    assert given["filesToCreate"] == ["src/a.ts", "src/b.ts"]
    assert list(answer) == list(report())
    assert answer["filesCreated"] == ["src/a.ts"]
    project.run("ack", "Dev", ids=(project.mailbox("developer")[0]["id"],))
    times = [
        project.file("developer")["lastRead"],
        *(project.entry()[key] for key in ("createdAt", "updatedAt")),
        project.queue()["lastUpdated"],
        project.status()["teamLead"]["lastActivity"],
        *(line[1:25] for line in project.journal()[1:]),
    ]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", time) for time in times)
    for path in (*FILES.values(), QUEUE, STATUS):
        text = (project.root / path).read_text()
        assert text.endswith("}\n")
        assert '\n  "' in text
        assert all(
            re.fullmatch(r"[a-z]+(?:[A-Z][a-z]+)*", key) for key in re.findall(r'^ +"(.+?)":', text, re.MULTILINE)
        )


# Rotation


@pytest.mark.proves("S0-HRD-26")
def test_a_log_of_more_than_100_kb_moves_its_older_entries_into_a_dated_file(project: Project) -> None:
    project.run("task add", title="One")
    with (project.root / LOG).open("a") as file:
        file.write("a note of others\n")
    fill(project, 88)
    assert [path.name for path in (project.root / LOG).parent.iterdir()] == ["log.md"]
    fill(project, 17)
    (rotated,) = project.events("feed:rotated")
    day = rotated.at[:10]
    older = project.root / LOG.replace("log.md", f"log-{day}.md")
    assert sorted(path.name for path in older.parent.iterdir()) == [f"log-{day}.md", "log.md"]
    assert rotated.data["file"] == f".claude-orchestrator/logs/log-{day}.md"
    assert older.read_text().startswith(f"{HEADING}\n\n")
    assert (project.root / LOG).read_text().startswith(f"{HEADING}\n\n")
    assert 10_000 < len((project.root / LOG).read_bytes()) < 50_000
    whole = [*older.read_text().splitlines()[2:], *(project.root / LOG).read_text().splitlines()[2:]]
    shown = [event.at for event in project.events() if event.stream.startswith("task/")]
    assert [line[1:25] for line in whole if line.startswith("[")] == shown
    assert older.read_text().endswith("\na note of others\n")
    content = older.read_bytes()
    with older.open("a") as file:
        file.write("much later\n")
    project.look()
    assert older.read_bytes() == content
    assert (project.root / LOG).read_text().endswith("\nmuch later\n")
    older.unlink()
    project.look()
    assert older.read_bytes() == content
    fill(project, 100)
    names = sorted(path.name for path in older.parent.iterdir())
    assert names == [f"log-{day}-2.md", f"log-{day}.md", "log.md"]


@pytest.mark.proves("S0-HRD-26")
def test_rotation_is_the_same_in_every_worktree_and_old_copies_bring_nothing_back(project: Project) -> None:
    project.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--allow-empty", "-m", "begin")
    other = project.root.with_name("other")
    project.git("worktree", "add", "--quiet", "--detach", str(other))
    project.run("task add", title="One")
    with (project.root / LOG).open("a") as file:
        file.write("a note of others\n")
    fill(project, 90)
    old = (project.root / LOG).read_text()
    fill(project, 20)
    folders = [
        {path.name: path.read_text() for path in (root / LOG).parent.iterdir()} for root in (project.root, other)
    ]
    assert folders[0] == folders[1]
    assert len(folders[0]) == 2
    notes = len(project.events("feed:noted"))
    project.write_journal(old)
    project.look()
    assert {path.name: path.read_text() for path in (project.root / LOG).parent.iterdir()} == folders[0]
    assert len(project.events("feed:noted")) == notes
    project.write_journal(f"{old}something new\n")
    project.look()
    assert "something new" in project.journal()
    assert len(project.events("feed:noted")) == notes + 1


@pytest.mark.proves("S0-HRD-26")
def test_a_long_text_of_others_is_rotated_and_nothing_of_it_is_lost(project: Project) -> None:
    text = [f"{number} {'y' * 200}" for number in range(3000)]
    with (project.root / LOG).open("a") as file:
        file.write("\n".join(text) + "\n")
    project.look()
    project.run("task add", title="One")
    found = [path.read_text().splitlines() for path in sorted((project.root / LOG).parent.iterdir())]
    assert [line for lines in found for line in lines if "yyy" in line] == text
    assert len((project.root / LOG).read_bytes()) < 100_000


def test_a_general_message_leaves_the_log_alone(project: Project) -> None:
    project.join("Ada")
    project.join("Bob")
    before = (project.root / LOG).stat()
    project.run("send", "Ada", to=["Bob"], text="hi")
    assert (project.root / LOG).stat().st_ino == before.st_ino
    assert not lines(project, "hi")


# All five files


@pytest.mark.proves("S0-LOC-01", "S0-LOC-02")
def test_turning_the_pack_on_creates_exactly_five_files_and_again_changes_nothing(project: Project) -> None:
    files = {
        path.relative_to(project.root).as_posix(): path for path in (project.root / ".claude-orchestrator").rglob("*")
    }
    assert {name for name, path in files.items() if path.is_file()} == {QUEUE, STATUS, LOG, *FILES.values()}
    before = {name: path.read_bytes() for name, path in files.items() if path.is_file()}
    head = project.head()
    assert project.cli("init", "--pack", "orchestrator").code == 0
    assert {name: path.read_bytes() for name, path in files.items() if path.is_file()} == before
    assert project.head() == head
    assert project.cli("pack", "check").code == 0
    project.assign()
    project.report()
    project.run("task approve", task="task-001")
    after = {path.relative_to(project.root).as_posix() for path in (project.root / ".claude-orchestrator").rglob("*.*")}
    assert after == {QUEUE, STATUS, LOG, *FILES.values()}


@pytest.mark.proves("S0-LOC-03")
def test_the_files_are_found_from_any_folder_and_no_second_set_is_made(project: Project) -> None:
    deep = project.root / "src" / "deep"
    deep.mkdir(parents=True)
    assert project.cli("task", "add", "Build it", cwd=deep).code == 0
    project.edit(status="in_progress")
    assert project.cli("board", cwd=project.root / "src").result["counts"] == {"in_progress": 1}
    assert project.cli("mirror", cwd=project.root / ".claude-orchestrator" / "tasks").code == 0
    found = list(project.root.rglob(".claude-orchestrator"))
    assert found == [project.root / ".claude-orchestrator"]
    assert "task-001" in project.journal()[1]


@pytest.mark.proves("S0-BP-03")
@pytest.mark.parametrize(
    "gone", [QUEUE, STATUS, LOG, *FILES.values(), ".claude-orchestrator/tasks", ".claude-orchestrator"]
)
def test_a_missing_file_or_folder_fails_nothing_and_comes_back_whole(project: Project, gone: str) -> None:
    assert project.ask("mailbox", name="@developer")["messages"] == []
    project.run("task add", title="Build it")
    project.assign()
    before = {path: (project.root / path).read_bytes() for path in (QUEUE, STATUS, *FILES.values())}
    log = project.journal()
    subprocess.run(["rm", "-r", str(project.root / gone)], check=True)
    spoken = project.cli("mailbox", "@developer")
    assert spoken.code == 0
    assert [message["data"]["taskId"] for message in spoken.result["messages"]] == ["task-001"]
    assert {path: (project.root / path).read_bytes() for path in before} == before
    assert project.journal()[: len(log)] == log
    subprocess.run(["rm", "-r", str(project.root / gone)], check=True)
    assert project.cli_send(report(), project.join("Dev", "developer")).code == 0
    assert Path(project.root / gone).exists()
    assert project.state() == "awaiting_review"
    assert [message["taskId"] for message in project.file("team-lead")["messages"]] == ["task-001"]
