"""Hardening: many writers, torn files, stale copies, invented clocks, lost races."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Self

import pytest

from tests.specs.orchestrator.project import FILES, LOG, PATIENCE, Project, Spoken, bodies
from tests.specs.orchestrator.samples import BUILD_STATUSES, assignment, developer_file, report, without

MEGABYTE = 1024 * 1024
LONG_AGO = 1_700_000_000


@pytest.fixture
def staffed(project: Project) -> Project:
    project.join("Lead", "team-lead")
    project.join("Dev", "developer")
    return project


def finished(children: list[subprocess.Popen[bytes]]) -> list[Spoken]:
    """What came of processes that run at the same time."""
    said = []
    for child in children:
        out, err = child.communicate(timeout=PATIENCE)
        said.append(Spoken(subprocess.CompletedProcess(child.args, child.returncode, out, err)))
    return said


class Reader:
    """Somebody who reads a mailbox file again and again, and keeps what was no mailbox."""

    def __init__(self, path: Path) -> None:
        self._path, self._done = path, threading.Event()
        self._thread = threading.Thread(target=self._poll)
        self.looks, self.bad, self.sizes = 0, [], set()

    def _poll(self) -> None:
        while not self._done.is_set():
            raw = self._path.read_bytes()
            self.looks += 1
            try:
                self.sizes.add(len(json.loads(raw)["messages"]))
            except (ValueError, KeyError):
                self.bad.append(raw)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._done.set()
        self._thread.join(timeout=PATIENCE)


# --- many at once ------------------------------------------------------------------------------------------------


@pytest.mark.proves("S0-HRD-01")
def test_fifty_processes_leave_fifty_messages(project: Project) -> None:
    with Reader(project.path("developer")) as reader:
        children = [
            project.start("send", "--type", "task_assignment", "--data", json.dumps(assignment(f"task-{n:03}")))
            for n in range(1, 51)
        ]
        said = finished(children)
    assert [spoken.code for spoken in said] == [0] * 50, [spoken.out + spoken.err for spoken in said if spoken.code]
    project.look()
    logged = [event.data["data"] for event in project.events("message:sent")]
    assert Counter(m["taskId"] for m in logged) == {f"task-{n:03}": 1 for n in range(1, 51)}
    assert project.file("developer")["messages"] == logged
    assert reader.looks
    assert reader.bad == []


@pytest.mark.proves("S0-HRD-02")
def test_a_reader_never_sees_half_a_file(staffed: Project) -> None:
    project = staffed
    with Reader(project.path("developer")) as reader:
        for number in range(1, 61):
            sent = project.assign(assignment(f"task-{number:03}", instructions="x" * 200 * number))
            if number % 3 == 0:
                project.run("ack", "Dev", ids=(sent["id"],))
            if number % 10 == 0:  # in one step: only what moot writes is judged here
                cleared = project.root / "cleared.json"
                cleared.write_text(json.dumps({"messages": [], "lastRead": f"2026-11-16T08:00:{number}.000Z"}))
                cleared.replace(project.path("developer"))
    assert reader.looks > 60
    assert len(reader.sizes) > 5
    assert reader.bad == []


@pytest.mark.proves("S0-HRD-09")
def test_an_approval_and_a_rejection_at_once_have_one_winner(project: Project) -> None:
    leads = [project.join(f"Lead{number}", "team-lead") for number in range(6)]
    project.assign()
    project.report()
    verdicts = [("approve",) if number % 2 else ("reject", "--reason", "No.") for number in range(6)]
    children = [
        project.start("task", words[0], "task-001", *words[1:], agent=lead)
        for lead, words in zip(leads, verdicts, strict=True)
    ]
    said = finished(children)
    winners = [number for number, spoken in enumerate(said) if spoken.code == 0]
    assert len(winners) == 1
    state = "completed" if winners[0] % 2 else "rejected"
    assert project.state() == state
    for spoken in said:
        if spoken.code:
            assert leads[winners[0]] in spoken.json["message"]
            assert state in spoken.json["message"]
    assert len(project.events("task:approved", "task:rejected")) == 1


@pytest.mark.proves("S0-HRD-31")
def test_ids_allotted_at_once_are_all_different(project: Project) -> None:
    project.assign(assignment("task-041", title="Chosen by hand"))
    said = finished([project.start("task", "add", f"Task {number}") for number in range(12)])
    made = [spoken.result["id"] for spoken in said]
    assert sorted(made) == [f"task-{number:03}" for number in range(42, 54)]
    taken = project.cli_refusal("task", "add", "Another", "--id", "task-041")
    assert taken.code == "task_exists"
    assert "Chosen by hand" in taken.message


# --- files as others leave them --------------------------------------------------------------------------------------


@pytest.mark.proves("S0-HRD-04")
def test_a_torn_file_is_left_alone_while_its_writer_may_be_at_it(project: Project) -> None:
    project.assign()
    whole = json.dumps({"messages": [assignment(), assignment("task-002")], "lastRead": None})
    half = whole[: len(whole) - 40]
    project.path("developer").write_text(half)
    for _ in range(3):
        warnings = project.look()
        assert str(project.path("developer")) in warnings["mirror_pending"]
        assert project.path("developer").read_text() == half
    project.assign(assignment("task-003"))  # stored, although the file cannot follow yet
    assert project.path("developer").read_text() == half
    project.path("developer").write_text(whole)
    assert "mirror_pending" not in project.look()
    assert [m["taskId"] for m in project.file("developer")["messages"]] == ["task-001", "task-003", "task-002"]
    assert project.held() == []


@pytest.mark.proves("S0-HRD-04")
@pytest.mark.parametrize(
    "torn", ["   \n", "{", '{"messages": [', '{"messages": [], "lastRead": nul', "\x00\x01", "[]", "7"]
)
def test_a_file_that_stays_torn_is_held_and_rendered_again(project: Project, torn: str) -> None:
    project.assign()
    good = project.path("developer").read_bytes()
    project.path("developer").write_text(torn)
    os.utime(project.path("developer"), (LONG_AGO, LONG_AGO))
    warnings = project.look()
    assert str(project.path("developer")) in warnings["entry_held"]
    assert project.path("developer").read_bytes() == good
    (held,) = project.held()
    assert (held["kind"], held["path"]) == ("file", FILES["developer"])
    assert held["reason"] in warnings["entry_held"]
    if torn not in ("[]", "7"):
        assert "line" in held["reason"]
    (kept,) = (project.root / ".git/moot").glob(f"*/{held['sha256']}")
    assert kept.read_bytes() == torn.encode()
    assert project.events("mailbox:cleared") == []
    assert project.mailbox("developer")[0]["taker"] is None
    assert len(project.cli("held").result) == 1


@pytest.mark.proves("S0-HRD-04")
def test_how_long_a_torn_file_is_left_alone_can_be_set(make_project: Callable[..., Project]) -> None:
    patient = make_project('[mirrors]\ntorn_after = "1h"\n', "patient")
    hasty = make_project('[mirrors]\ntorn_after = "100ms"\n', "hasty")
    for project in (patient, hasty):
        project.path("developer").write_text("{")
        a_minute_ago = project.session().clock.wall_seconds() - 60
        os.utime(project.path("developer"), (a_minute_ago, a_minute_ago))
        project.look()
    assert patient.held() == []
    assert patient.path("developer").read_text() == "{"
    assert len(hasty.held()) == 1
    assert hasty.file("developer") == {"messages": [], "lastRead": None}


@pytest.mark.proves("S0-HRD-04")
def test_a_changed_file_is_never_overwritten_unread(project: Project) -> None:
    """Whatever was in the file when moot wrote it is in the log afterwards."""
    project.assign()
    project.write("developer", [assignment("task-002")])
    project.assign(assignment("task-003"))  # absorbs and renders in one call
    assert {m["taskId"] for m in project.file("developer")["messages"]} == {"task-001", "task-002", "task-003"}
    project.write("developer", [assignment("task-004", platform="windows"), assignment("task-005")])
    project.run("task claim", task=project.run("task add", title="Any").result.id)
    assert len(project.file("developer")["messages"]) == 4
    assert [json.loads(item["raw"])["taskId"] for item in project.held()] == ["task-004"]


@pytest.mark.proves("S0-HRD-05")
def test_a_template_with_one_message_adds_it_and_removes_none(staffed: Project) -> None:
    project = staffed
    project.assign()
    project.assign(assignment("task-002"))
    project.write("developer", developer_file().replace("task-001", "task-003"))
    project.look()
    assert [m["taskId"] for m in project.file("developer")["messages"]] == ["task-001", "task-002", "task-003"]
    stale = project.file("developer")
    project.assign(assignment("task-004"))
    project.write("developer", {**stale, "messages": [*stale["messages"], assignment("task-005")]})
    project.look()
    assert [m["taskId"] for m in project.file("developer")["messages"]] == [f"task-{n:03}" for n in range(1, 6)]
    project.write("developer", stale)
    project.look()
    assert len(project.file("developer")["messages"]) == 5
    assert len(project.events("message:sent")) == 5
    assert project.events("mailbox:cleared", "message:acked") == []
    project.report(report("task-001"))
    project.write("team-lead", [report("task-002")])
    project.look()
    assert [m["taskId"] for m in project.file("team-lead")["messages"]] == ["task-001", "task-002"]


@pytest.mark.proves("S0-HRD-06")
def test_entries_are_known_by_content_and_count(project: Project) -> None:
    project.write("developer", [assignment(), assignment("task-002")])
    project.look()
    content = project.file("developer")
    backwards = [dict(reversed(message.items())) for message in reversed(content["messages"])]
    for form in (
        json.dumps(content),
        json.dumps(content, indent=8, ensure_ascii=True),
        json.dumps({"lastRead": None, "messages": backwards}, indent="\t"),
        json.dumps(content).replace("task-001", "\\u0074ask-001"),
        json.dumps({**content, "lastRead": "2025-05-05T05:05:05.000Z"}),
        json.dumps(content, separators=(",", ":")) + "\r\n",
    ):
        project.path("developer").write_text(form)
        project.look()
        assert len(project.events("message:sent")) == 2, form
    assert [m["taskId"] for m in project.file("developer")["messages"]] == ["task-001", "task-002"]
    # Only a surplus of equal entries is new.
    project.write("developer", [assignment(), assignment(), assignment()])
    project.look()
    assert [event.data["task"] for event in project.events("message:sent")] == [
        "task-001",
        "task-002",
        *["task-001"] * 2,
    ]
    project.write("developer", [assignment(), assignment()])
    project.look()
    assert len(project.events("message:sent")) == 4
    project.write("developer", [assignment(title="Task Title "), assignment("task-002")])
    project.look()
    assert len(project.events("message:sent")) == 5


@pytest.mark.proves("S0-HRD-06")
def test_an_entry_that_a_clear_had_hidden_is_shown_again_as_unread(staffed: Project) -> None:
    project = staffed
    project.assign()
    project.run("ack", "Dev", ids=(project.assign(assignment("task-002"))["id"],))
    project.write("developer", [])
    project.look()
    assert project.file("developer")["messages"] == []
    project.write("developer", [assignment("task-002")])
    project.look()
    assert project.file("developer")["messages"] == [assignment("task-002")]
    assert len(project.events("message:sent")) == 2
    shown = {letter["task"]: letter for letter in project.mailbox("developer", all=True)}
    assert (shown["task-002"]["hidden"], shown["task-002"]["taker"]) == (None, None)
    assert shown["task-001"]["hidden"] == "emptied"


@pytest.mark.proves("S0-HRD-07")
def test_ids_and_confirmations_are_in_the_log_and_not_in_the_file(staffed: Project) -> None:
    project = staffed
    sent = [project.assign(assignment(f"task-{n}"))["id"] for n in range(3)]
    project.append("developer", assignment("task-3"))
    project.look()
    letters = project.cli("mailbox", "@developer").result["messages"]
    ids = [letter["id"] for letter in letters]
    assert ids[:3] == sent
    assert len(set(ids)) == 4
    project.cli("ack", ids[3], agent="Dev")
    project.run("inbox", "Dev")
    (acked,) = project.events("message:acked")
    assert (acked.data["ids"], acked.data["who"]) == ([ids[3]], "Dev#1")
    (offered,) = project.events("message:offered")
    assert (offered.data["ids"], offered.data["to"]) == (sent, "Dev#1")
    for reader in (project.cli("thread", ids[3]).result, project.ask("thread", id=ids[3])):
        assert reader[0]["stages"] == [["@developer", "acked"]]
    assert [letter["taker"] for letter in project.mailbox("developer")] == [None, None, None, "Dev#1"]
    text = project.path("developer").read_text()
    assert all(name not in text for name in ids)
    assert [list(message) for message in project.file("developer")["messages"]] == [list(assignment())] * 4


@pytest.mark.proves("S0-HRD-08")
def test_reading_for_one_task_leaves_the_others_unread(staffed: Project) -> None:
    project = staffed
    older = project.assign(assignment("task-001"))
    newer = project.assign(assignment("task-002"))
    project.run("instructions", "Dev", task="task-002")
    project.run("ack", "Dev", ids=(newer["id"],))
    assert project.file("developer")["lastRead"] > project.mailbox("developer")[0]["at"]
    unread = project.mailbox("developer")[0]
    assert (unread["id"], unread["taker"], unread["stage"]) == (older["id"], None, "stored")
    assert [letter["id"] for letter in project.ask("inbox", "Dev", peek=True)["new"]] == [older["id"]]
    project.look()
    assert project.mailbox("developer")[0]["taker"] is None


@pytest.mark.proves("S0-HRD-29")
def test_marks_and_line_ends_of_other_systems_are_read(project: Project) -> None:
    text = json.dumps({"messages": [assignment()], "lastRead": None}, indent=2)
    project.path("developer").write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    project.look()
    assert project.file("developer")["messages"] == [assignment()]
    assert project.held() == []
    assert b"\r" not in project.path("developer").read_bytes()
    given = "\ufeff" + json.dumps(assignment("task-002"), indent=2).replace("\n", "\r\n")
    assert project.cli("send", "--type", "task_assignment", "--data", "-", given=given).code == 0
    assert project.file("developer")["messages"][1] == assignment("task-002")


INVALID = {
    "a duplicate key": ('"title": "Task Title"', '"title": "A", "title": "B"', "twice"),
    "NaN": ('"lastRead": null', '"lastRead": NaN', "NaN"),
    "Infinity": ('"Task Title"', "Infinity", "Infinity"),
    "minus Infinity": ('"Task Title"', "-Infinity", "Infinity"),
    "a line comment": ('"title"', '// the title\n"title"', "comments"),
    "a block comment": ('"title"', '/* the title */ "title"', "comments"),
    "trailing text": ('"lastRead": null\n}', '"lastRead": null\n}\nDone!', "after the end"),
    "a trailing comma": ('"lastRead": null\n}', '"lastRead": null,\n}', "line"),
    "a second object": ('"lastRead": null\n}', '"lastRead": null\n}\n{}', "after the end"),
}


@pytest.mark.proves("S0-HRD-29")
@pytest.mark.parametrize("fault", INVALID)
def test_what_is_no_json_is_reported_as_such(project: Project, fault: str) -> None:
    old, new, word = INVALID[fault]
    text = developer_file().replace(old, new)
    assert text != developer_file()
    project.path("developer").write_text(text)
    assert word in project.look()["mirror_pending"]
    os.utime(project.path("developer"), (LONG_AGO, LONG_AGO))
    project.look()
    (held,) = project.held()
    assert word in held["reason"]
    assert "line" in held["reason"]
    assert project.mailbox("developer") == project.file("developer")["messages"] == []


@pytest.mark.proves("S0-HRD-29")
def test_what_no_file_could_show_is_refused_by_a_call(project: Project) -> None:
    for field in (
        '"extra": NaN',
        '"extra": Infinity',
        '"extra": "\\ud800"',
        '"\\udc00": 1',
        '"extra": 1e999',
        '"title": "B"',
    ):
        given = json.dumps(assignment())[:-1] + f", {field}}}"
        said = project.cli_refusal("send", "--type", "task_assignment", "--data", "-", given=given)
        assert said.code == "bad_json", field


@pytest.mark.proves("S0-HRD-23")
def test_an_older_copy_brings_nothing_back_and_takes_nothing_away(staffed: Project) -> None:
    """Of this attempt and of the one before it, while the task is in review and when it is completed."""
    project = staffed
    copies: list[dict[str, bytes | None]] = []
    for attempt in ("first", "second"):
        project.assign(assignment(instructions=attempt))
        copies.append(project.raw_files())
        project.report(report(summary=attempt))
        copies.append(project.raw_files())
        if attempt == "first":
            project.run("task reject", task="task-001", reason="No tests.")
            project.run("task reopen", task="task-001")
    project.run("ack", "Lead", ids=(project.mailbox("team-lead")[0]["id"],))
    project.assign(assignment("task-002"))
    copies.append(project.raw_files())
    for state in ("awaiting_review", "completed"):
        if state == "completed":
            project.run("task approve", task="task-001")
        now, head = project.raw_files(), project.head()
        for older in copies:
            for role in FILES:
                project.path(role).write_bytes(older[role] or b"")
                project.look()
                assert project.raw_files() == now, (state, role)
        assert (project.state(), project.head()) == (state, head)
    assert project.held() == []


@pytest.mark.proves("S0-HRD-23")
def test_an_old_report_that_comes_back_does_not_pass_unseen(staffed: Project) -> None:
    """From a file it is an old copy. A caller who sends it again means it: it is marked, and approved with a reason."""
    project = staffed
    project.assign()
    project.report()
    old = project.path("team-lead").read_bytes()
    project.run("task reject", task="task-001", reason="No tests.")
    project.run("task reopen", task="task-001")
    project.assign(assignment(instructions="Write the tests."))
    project.path("team-lead").write_bytes(old)
    project.look()
    assert project.state() == "in_progress"
    assert project.held() == project.file("team-lead")["messages"] == []
    project.report()
    assert any(flag.startswith("said_before") for flag in project.mailbox("team-lead")[0]["flags"])
    said = project.refusal("task approve", "Lead", task="task-001")
    assert said.code == "report_doubtful"
    assert "attempt 1" in said.message
    project.run("task reject", "Lead", task="task-001", reason="An old report.")


@pytest.mark.proves("S0-HRD-24")
def test_all_worktrees_and_folders_share_one_log(project: Project, folder: Path) -> None:
    project.git(
        "-c", "user.name=Anna", "-c", "user.email=a@example.org", "commit", "-q", "--allow-empty", "-m", "first"
    )
    project.git("worktree", "add", "-q", str(folder / "linked"))
    linked = project.at(folder / "linked")
    deep = linked.root / "src" / "deep"
    deep.mkdir(parents=True)
    project.assign()
    linked.look()
    assert linked.raw_files() == project.raw_files()
    linked.append("developer", assignment("task-002"))
    assert linked.cli("board", cwd=deep).result["counts"] == {"in_progress": 2}
    project.append("developer", assignment("task-003"))
    linked.append("developer", assignment("task-004"))
    spoken = linked.cli("send", "--type", "task_assignment", "--data", json.dumps(assignment("task-005")), cwd=deep)
    assert spoken.code == 0
    assert sorted(m["taskId"] for m in project.file("developer")["messages"]) == [f"task-{n:03}" for n in range(1, 6)]
    assert linked.raw_files() == project.raw_files()
    linked.report(report("task-004"))
    linked.cli("task", "approve", "task-004", cwd=deep)
    assert linked.raw_files() == project.raw_files()
    assert project.state("task-004") == linked.state("task-004") == "completed"
    assert len(project.file("developer")["messages"]) == 4
    assert project.head() == linked.head()
    assert not (deep / ".claude-orchestrator").exists()
    linked.close()


@pytest.mark.proves("S0-HRD-24", "S0-CL-04")
def test_an_empty_mailbox_in_a_new_worktree_clears_nothing(project: Project, folder: Path) -> None:
    """Nothing was shown in it yet, so whoever put it there has emptied nothing."""
    project.git(
        "-c", "user.name=Anna", "-c", "user.email=a@example.org", "commit", "-q", "--allow-empty", "-m", "first"
    )
    project.assign()
    project.git("worktree", "add", "-q", str(folder / "linked"))
    linked = project.at(folder / "linked")
    linked.write("developer", {"messages": [], "lastRead": None})
    linked.look()
    assert linked.raw_files() == project.raw_files()
    assert project.file("developer")["messages"] == [assignment()]
    assert project.events("mailbox:cleared") == []
    linked.close()


@pytest.mark.proves("S0-HRD-28")
def test_a_mirror_that_cannot_be_written_catches_up_later(staffed: Project) -> None:
    path = staffed.path("developer")
    path.unlink()
    path.mkdir()
    spoken = staffed.cli_send(assignment())
    assert spoken.code == 0
    assert str(path) in spoken.warnings["mirror_pending"]
    assert bodies(staffed.mailbox("developer")) == [assignment()]
    assert staffed.state() == "in_progress"
    path.rmdir()
    assert "mirror_pending" not in staffed.look()
    assert staffed.file("developer")["messages"] == [assignment()]


# --- messages ------------------------------------------------------------------------------------------------------


@pytest.mark.proves("S0-HRD-10")
def test_a_key_sends_once(staffed: Project) -> None:
    project = staffed
    first = project.cli_send(assignment(), "Lead", "--key", "k1").result
    again = project.cli_send(assignment(), "Lead", "--key", "k1").result
    assert again == {**first, "repeated": True}
    assert len(project.events("message:sent")) == 1
    assert len(project.file("developer")["messages"]) == 1
    said = project.refusal("send", "Lead", type="task_assignment", data=assignment(title="Another"), key="k1")
    assert said.code == "key_reused"
    unstamped = without(report(), "timestamp")
    one = project.report(unstamped, key="k2")
    assert project.report(unstamped, key="k2") == {**one, "repeated": True}
    assert len(project.file("team-lead")["messages"]) == 1
    # Even after the world has moved on, the first result stands.
    project.run("task approve", "Lead", task="task-001")
    assert project.assign(agent="Lead", key="k1")["id"] == first["id"]
    assert project.file("developer")["messages"] == []


@pytest.mark.proves("S0-HRD-13")
def test_attempts_are_counted_and_limited(staffed: Project) -> None:
    project = staffed
    for attempt in (1, 2, 3):
        assert project.run("task show", task="task-001").result.task.attempt == attempt if attempt > 1 else True
        project.assign(agent="Lead")
        project.run("task reject", "Lead", task="task-001", reason=f"Attempt {attempt}")
        if attempt < 3:
            project.run("task reopen", "Lead", task="task-001")
    for caller in ("Lead", None):
        said = project.refusal("task reopen", caller, task="task-001")
        assert said.code == "attempts_exhausted"
        assert said.details["limit"] == said.details["attempt"] == 3
        project.refusal("task move", caller, task="task-001", state="pending")
    # Only a person can go beyond it.
    assert project.refusal("task reopen", "Lead", task="task-001", override=True).code == "people_only"
    assert project.task().state == "rejected"
    assert project.cli("task", "reopen", "task-001", "--override").result["attempt"] == 4
    assert project.state() == "pending"


@pytest.mark.proves("S0-HRD-13")
def test_a_person_is_told_of_a_task_that_only_a_person_can_try_again(make_project: Callable[..., Project]) -> None:
    project = make_project("attempts = 2\n")
    project.assign()
    project.run("task reject", task="task-001", reason="Add a test.")
    assert project.ask("needs-me") == []  # the lead can reset it
    project.run("task reopen", task="task-001")
    project.assign()
    project.run("task reject", task="task-001", reason="Still none.")
    (item,) = project.ask("needs-me")
    assert (item["kind"], item["id"]) == ("task", "task-001")
    assert "rejected after 2 attempts: Still none." in item["text"]
    assert item["command"] == "moot task reopen task-001 --override --reason '…'"
    assert "task-001" in project.voice("watch", "--once").out.partition("Problems: 1")[2]
    project.run("needs-me", answer="task-001", text="Once more, with the test.")
    assert (project.state(), project.ask("needs-me")) == ("pending", [])


@pytest.mark.proves("S0-HRD-13")
def test_the_limit_of_attempts_can_be_set(make_project: Callable[..., Project]) -> None:
    project = make_project("attempts = 1\n")
    project.assign()
    project.run("task reject", task="task-001", reason="No.")
    assert project.refusal("task reopen", task="task-001").details["limit"] == 1
    project.edit(status="pending")  # agents that know only the files are not locked out of them
    assert "attempt 2 of 1" in project.look()["beyond_limit"]
    assert (project.state(), project.task().attempt) == ("pending", 2)
    assert any("attempt 2 of 1" in line for line in project.journal())


@pytest.mark.proves("S0-HRD-14")
def test_a_rejection_that_speaks_of_approval_is_a_rejection(staffed: Project) -> None:
    project = staffed
    project.assign()
    project.report(report(summary="approved by everybody; please approve"))
    assert project.state() == "awaiting_review"
    reason = "I would approve it, APPROVED even, if it had tests. approve"
    assert project.cli("task", "reject", "task-001", "--reason", reason, agent="Lead").result["state"] == "rejected"
    assert project.task().setbacks[-1].reason == reason
    assert project.events("task:approved") == []
    project.assign(assignment("task-002"))
    project.report(report("task-002", summary="rejected before"))
    project.run("task approve", task="task-002", reason="I do not reject it.")
    assert project.state("task-002") == "completed"


@pytest.mark.proves("S0-HRD-15")
@pytest.mark.parametrize("status", BUILD_STATUSES)
def test_an_unproven_build_is_approved_knowingly_or_not_at_all(staffed: Project, status: str) -> None:
    project = staffed
    project.assign()
    project.report(report(build=status))
    if status in ("success", "not_applicable"):
        assert project.cli("task", "approve", "task-001", agent="Lead").result["state"] == "completed"
        assert "flags" not in project.events("task:approved")[0].data
        return
    for verb, more in (("task approve", {}), ("task move", {"state": "completed"})):
        for reason in (None, " "):
            said = project.refusal(verb, "Lead", task="task-001", reason=reason, **more)
            assert said.code == "build_unproven"
            assert status in said.message
    assert project.state() == "awaiting_review"
    project.cli("task", "approve", "task-001", "--reason", "Broken on purpose, see the wiki.", agent="Lead")
    (approved,) = project.events("task:approved")
    assert approved.data["reason"] == "Broken on purpose, see the wiki."
    assert status in approved.data["flags"][0]
    story = project.ask("explain", thing="task-001")
    assert any(status in str(event["data"].get("flags")) for event in story if event["type"] == "task:approved")


@pytest.mark.proves("S0-HRD-16")
def test_a_second_report_is_refused_and_a_repeat_does_nothing(staffed: Project) -> None:
    project = staffed
    project.assign()
    project.report(without(report(summary="first"), "timestamp"))
    head = project.head()
    assert project.report(without(report(summary="first"), "timestamp"))["repeated"] is True
    project.write("team-lead", [*project.file("team-lead")["messages"]])
    project.look()
    assert project.head() == head
    said = project.refusal("send", "Dev", type="completion_report", data=report(summary="second"))
    assert (said.code, said.details["state"]) == ("wrong_state", "awaiting_review")
    project.append("team-lead", report(summary="third"))
    project.look()
    assert [one["code"] for one in project.held()] == ["wrong_state"]
    assert [m["summary"] for m in project.file("team-lead")["messages"]] == ["first"]


@pytest.mark.proves("S0-HRD-19")
def test_paths_are_kept_relative_to_the_project(staffed: Project) -> None:
    project = staffed
    root = str(project.root)
    given = [f"{root}/src/a.ts", "src\\win\\b.ts", "./src/c.ts", "src/x/../d.ts", f"{root}/src//e.ts", "plain.ts"]
    kept = ["src/a.ts", "src/win/b.ts", "src/c.ts", "src/d.ts", "src/e.ts", "plain.ts"]
    project.assign(assignment(filesToCreate=given))
    project.append("developer", assignment("task-002", filesToCreate=given))
    project.look()
    assert [m["filesToCreate"] for m in project.file("developer")["messages"]] == [kept, kept]
    project.report(report(filesCreated=given, filesModified=given[:1]))
    assert project.file("team-lead")["messages"][0]["filesCreated"] == kept
    assert project.file("team-lead")["messages"][0]["filesModified"] == ["src/a.ts"]
    # The same file again, with its paths as its writer had them, brings nothing new.
    project.write("developer", [assignment(filesToCreate=given), assignment("task-002", filesToCreate=given)])
    project.look()
    assert len(project.events("message:sent")) == 3


@pytest.mark.proves("S0-HRD-19")
def test_paths_that_leave_the_project_are_refused(staffed: Project) -> None:
    project = staffed
    project.assign(assignment("task-002"))
    sibling = f"{project.root}-other/a.ts"
    for bad in (
        "../a.ts",
        "/etc/passwd",
        "src/../../a.ts",
        "~/a.ts",
        "C:\\Windows\\a.ts",
        sibling,
        "..",
        "a\\..\\..\\b",
    ):
        said = project.refusal("send", type="task_assignment", data=assignment(filesToCreate=["ok.ts", bad]))
        assert said.places == ["filesToCreate[1]"], bad
        for field in ("filesCreated", "filesModified"):
            data = report("task-002", **{field: [bad]})
            assert project.refusal("send", "Dev", type="completion_report", data=data).places == [f"{field}[0]"]
    project.append("developer", assignment(filesToCreate=["/etc/passwd"]))
    project.look()
    (held,) = project.held()
    assert [defect["path"] for defect in held["defects"]] == ["filesToCreate[0]"]


@pytest.mark.proves("S0-HRD-20")
def test_one_of_several_developers_takes_the_assignment_of_an_attempt(project: Project) -> None:
    developers = [project.join(name, "developer") for name in ("Ada", "Bea", "Cleo", "Dora")]
    sent = project.assign()["id"]
    answers = finished([project.start("ack", sent, agent=name) for name in developers])
    (taker,) = (name for name, spoken in zip(developers, answers, strict=True) if spoken.code == 0)
    for spoken in answers:
        if spoken.code:
            assert spoken.code == 3
            assert taker in spoken.json["message"]
    other = next(name for name in developers if name != taker)
    assert project.mailbox("developer")[0]["taker"] == f"{taker}#1"
    assert f"read by {taker}" in "\n".join(project.run("mailbox", other, name="@developer").say)
    said = project.refusal("send", other, type="completion_report", data=report())
    assert said.code == "assignment_taken"
    assert taker in said.message
    # Better instructions for the same attempt do not set its taker free.
    project.assign(assignment(instructions="Better ones"))
    assert project.refusal("send", other, type="completion_report", data=report()).code == "assignment_taken"
    project.report(agent=taker)
    assert project.state() == "awaiting_review"
    project.run("task reject", task="task-001", reason="No tests.")
    project.run("task reopen", task="task-001")
    project.run("ack", other, ids=(project.assign()["id"],))
    assert project.refusal("send", taker, type="completion_report", data=report()).code == "assignment_taken"
    project.report(report(summary="With tests"), agent=other)
    assert project.state() == "awaiting_review"


@pytest.mark.proves("S0-HRD-20")
def test_whoever_read_by_the_file_may_still_report_by_name(project: Project) -> None:
    """A file names nobody, so moot does not know that it was another."""
    project.join("Ada", "developer")
    project.assign()
    project.write("developer", {**project.file("developer"), "lastRead": project.session().clock.wall()})
    project.look()
    assert project.mailbox("developer")[0]["taker"] == "role:developer"
    project.report(agent="Ada")
    assert project.state() == "awaiting_review"


@pytest.mark.proves("S0-HRD-21")
def test_megabytes_are_carried_and_what_is_too_large_is_refused(staffed: Project) -> None:
    project = staffed
    long, limit = "ü" * MEGABYTE + "\nthe end", 8 * MEGABYTE
    assert project.cli_send(assignment(instructions=long)).code == 0
    assert project.file("developer")["messages"][0]["instructions"] == long
    output = "error: no\n" * (3 * MEGABYTE // 10)
    project.append("team-lead", report(build="failed", build_errors=1, build_output=output))
    project.look()
    assert project.state() == "awaiting_review"
    shown = project.cli("mailbox", "@team-lead").result["messages"][0]
    assert shown["data"]["buildResult"]["output"] == output
    said = project.refusal("send", type="task_assignment", data=assignment("task-002", instructions="x" * limit))
    assert said.code == "message_too_large"
    assert said.details["limit"] == limit
    assert said.details["size"] > limit
    assert str(limit) in said.message
    assert str(said.details["size"]) in said.message
    just = limit - len(json.dumps(assignment("task-002", instructions="")))
    project.assign(assignment("task-002", instructions="x" * just))
    assert len(project.file("developer")["messages"][1]["instructions"]) == just


@pytest.mark.proves("S0-HRD-21")
def test_what_is_too_large_in_a_file_is_held_whole(project: Project) -> None:
    large = assignment(instructions="x" * 8 * MEGABYTE)
    project.append("developer", large, assignment("task-002"))
    project.look()
    (held,) = project.held()
    assert held["code"] == "message_too_large"
    assert str(8 * MEGABYTE) in held["reason"]
    assert json.loads(project.ask("held show", id=held["id"])["raw"]) == large
    assert project.file("developer")["messages"] == [assignment("task-002")]


# --- held ----------------------------------------------------------------------------------------------------------


@pytest.mark.proves("S0-HRD-27", "S0-TA-01")
def test_keys_that_are_not_part_of_a_mailbox_file_are_held_once_and_not_rendered(project: Project) -> None:
    content = {"version": 3, "messages": [assignment()], "lastRead": None, "note": {"to": "you"}}
    for times in range(2):
        project.write("developer", content)
        assert ("entry_held" in project.look()) == (times == 0)
        assert project.file("developer") == {"messages": [assignment()], "lastRead": None}
    (held,) = project.held()
    assert held["code"] == "unknown_keys"
    assert json.loads(held["raw"]) == {"version": 3, "note": {"to": "you"}}
    assert {defect["path"] for defect in held["defects"]} == {"version", "note"}
    assert f"`moot held drop {held['id']} --reason '…'`" in held["reason"]
    project.run("held drop", id=held["id"], reason="It is in their template.")
    project.write("developer", content)
    project.look()
    assert project.held() == []
    project.write("developer", {**content, "version": 4})
    project.look()
    assert [json.loads(one["raw"])["version"] for one in project.held()] == [4]


@pytest.mark.proves("S0-HRD-21")
def test_unknown_keys_beyond_the_limit_are_kept_as_a_blob_and_shown_in_part(project: Project) -> None:
    project.assign()
    project.write("developer", {**project.file("developer"), "note": "x" * (9 << 20)})
    project.look()
    (held,) = project.held()
    assert (held["kind"], held["raw"]) == ("file", None)
    assert "bytes; the limit is 8,388,608" in held["reason"]
    assert max(len(json.dumps(event.data)) for event in project.events("file:quarantined", "entry:held")) < 10_000
    assert project.file("developer")["messages"] == [assignment()]
    shown = project.run("held show", id=held["id"])
    assert sum(map(len, shown.say)) < 110_000
    assert f"all of them: moot held show {held['id']} --json" in "\n".join(shown.say)
    assert len(shown.result.raw) > 9 << 20


@pytest.mark.proves("S0-HRD-04")
def test_a_file_of_0_bytes_is_written_again_and_nothing_is_held(project: Project) -> None:
    project.assign()
    project.path("developer").write_text("")
    os.utime(project.path("developer"), (0, 0))
    assert "was empty; moot has written it again" in project.look()["mirror_pending"]
    assert project.file("developer")["messages"] == [assignment()]
    assert project.held() == []
    assert project.events("mailbox:cleared") == []
    assert project.look() == {}
    line = f"[WARN] {FILES['developer']} was empty, which is not valid; it was written again"
    assert sum(line in one for one in (project.root / LOG).read_text().splitlines()) == 1


@pytest.mark.proves("S0-HRD-27")
def test_a_held_entry_is_kept_as_its_writer_wrote_it(project: Project) -> None:
    entry = (
        '{ "type":"task_assignment",\n\n  "taskId" : "t\\u00e4sk",  "n": 1.50e3, "list": [ 1,2 ,{"messages": [7]} ] }'
    )
    entries = f'[ {json.dumps(assignment())} ,{entry}\n,"odd", {{}}]'
    text = f'\ufeff{{"lastRead": null, "x": {{"messages": [1]}}, "messages" :{entries}}}'
    project.path("developer").write_text(text)
    project.look()
    held = {item["raw"] for item in project.held()}
    assert held == {entry, '"odd"', "{}", '{"x": {"messages": [1]}}'}
    assert project.file("developer")["messages"] == [assignment()]
    # The same again in another form is no other entry.
    project.write("developer", [assignment(), json.loads(entry), "odd", {}])
    project.look()
    assert {item["raw"] for item in project.held()} == held


@pytest.mark.proves("S0-HRD-27")
def test_a_held_entry_is_shown_dropped_and_written_again_as_a_new_one(project: Project) -> None:
    bad = assignment(platform="windows", title="")
    for _ in range(2):  # a stale copy is not held again
        project.append("developer", bad, assignment("task-002"))
        project.look()
    assert project.file("developer")["messages"] == [assignment("task-002")] * 2
    (held,) = project.held()
    shown = project.ask("held show", id=held["id"])
    assert json.loads(shown["raw"]) == bad
    assert {defect["path"] for defect in shown["defects"]} == {"platform", "title"}
    project.append("developer", assignment(title="Corrected"))
    project.look()
    assert project.task().title == "Corrected"
    assert project.refusal("held drop", id=held["id"], reason=" ").code == "reason_missing"
    project.run("held drop", id=held["id"], reason="Written again.")
    assert project.held() == []
    assert project.ask("held show", id=held["id"])["status"] == "dropped"
    assert project.refusal("held drop", id=held["id"], reason="Twice.").code == "entry_closed"
