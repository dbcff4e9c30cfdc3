"""Message Types / 1. Task Assignment: what it must say, and what it does to its task."""

from __future__ import annotations

import json
from typing import Any

import pytest

from moot.core import timestamps
from tests.specs.orchestrator.project import FILES, Project, bodies
from tests.specs.orchestrator.samples import (
    ASSIGNMENT_FIELDS,
    PLATFORMS,
    TO_DEVELOPER,
    assignment,
    developer_file,
    report,
    without,
)

LISTS = ("filesToCreate", "apiEndpoints")
TEXTS = ("title", "instructions", "architecture")
STRANGE = (
    "two\nlines\r\nand\ttabs",
    '# Heading\n\n- *item* with `code`\n\n```ts\nlet a = "b";\n```\n',
    "quotes \" ' ` and backslashes \\ \\n \\u0041",
    "ünïcødé 日本語 عربى 🙂 👩‍👩‍👧 e\u0301",
    "\u2028 line separators \u2029, no-break\u00a0space, \x1b[31mescape\x7f, \u0000 and \ufeff",
    "  blanks around  ",
    "</messages> %s {0} $HOME",
)


@pytest.mark.proves("S0-TA-01")
def test_the_mailbox_is_one_object_with_its_two_keys(project: Project) -> None:
    assert project.file("developer") == {"messages": [], "lastRead": None}
    for number in range(3):
        project.assign(assignment(f"task-{number}"))
    assert list(project.file("developer")) == ["messages", "lastRead"]
    assert [m["taskId"] for m in project.file("developer")["messages"]] == ["task-0", "task-1", "task-2"]
    assert project.file("developer")["lastRead"] is None
    project.join("Dev", "developer")
    project.run("ack", "Dev", ids=(project.mailbox("developer")[0]["id"],))
    assert timestamps.is_date_time(project.file("developer")["lastRead"])
    # What somebody else adds beside them is not rendered again.
    project.write("developer", {**project.file("developer"), "version": 2, "note": "mine"})
    project.look()
    assert list(project.file("developer")) == ["messages", "lastRead"]
    assert len(project.file("developer")["messages"]) == 3


@pytest.mark.proves("S0-TA-02")
def test_a_field_left_out_refuses_the_assignment_on_a_surface(project: Project) -> None:
    for field in (name for name in ASSIGNMENT_FIELDS if name not in ("type", "timestamp")):
        said = project.refusal("send", type="task_assignment", data=without(assignment(), field))
        assert said.places == [field]
        assert field in said.message
        assert "task_assignment" in said.message
        assert said.defect(field)["found"] == "nothing"
    said = project.cli_refusal(
        "send", "--type", "task_assignment", "--data", "-", given=json.dumps(without(assignment(), "architecture"))
    )
    assert said.places == ["architecture"]
    said = project.refusal("send", type="task_assignment", data=assignment(type="task-assignment"))
    assert said.places == ["type"]


@pytest.mark.proves("S0-TA-02")
def test_a_field_left_out_holds_the_assignment_of_a_file(project: Project) -> None:
    project.write("developer", [without(assignment(f"task-{name}"), name) for name in ASSIGNMENT_FIELDS])
    project.look()
    held = project.held()
    assert len(held) == len(ASSIGNMENT_FIELDS)
    for field in ASSIGNMENT_FIELDS:
        item = next(item for item in held if field not in json.loads(item["raw"]))
        assert field in item["reason"]
        assert "task_assignment" in item["reason"]
        assert [defect["path"] for defect in item["defects"]] == [field]
    assert project.events("message:sent", "task:added") == [
        event for event in project.events("message:sent") if event.data["kind"] == "note"
    ]
    assert project.file("developer")["messages"] == []


@pytest.mark.proves("S0-TA-03")
def test_a_task_id_is_one_line_without_blanks_around_it(project: Project) -> None:
    for bad in (
        "",
        " ",
        " task-001",
        "task-001 ",
        "task\n001",
        "task-001\n",
        "a\rb",
        "a\u2028b",
        "\ttask",
        "T/1",
        "a\x1bb",
        "x" * 201,
        None,
        7,
        ["a"],
    ):
        said = project.refusal("send", type="task_assignment", data=assignment(taskId=bad))
        assert said.places == ["taskId"], bad
    for good in ("task-001", "7", "a b", "T.1", "タスク-1", "x" * 200):
        project.assign(assignment(good))
        assert project.task(good).id == good
    project.assign(assignment("task-001", instructions="again"))
    assert len(project.ask("board")["tasks"]) == 6


@pytest.mark.proves("S0-TA-04")
def test_a_platform_is_one_of_four(project: Project) -> None:
    for bad in ("web|android|ios|custom", "Web", "WEB", "windows", "", " web", None, 1, ["web"]):
        said = project.refusal("send", type="task_assignment", data=assignment(platform=bad))
        assert said.places == ["platform"], bad
        for platform in PLATFORMS:
            assert platform in said.defect("platform")["expected"]
            assert platform in said.message
    for platform in PLATFORMS:
        project.assign(assignment(f"task-{platform}", platform=platform))
        assert project.task(f"task-{platform}").extra["platform"] == platform
    project.write("developer", TO_DEVELOPER)
    project.look()
    (held,) = project.held()
    assert all(platform in held["reason"] for platform in PLATFORMS)
    assert [defect["path"] for defect in held["defects"]] == ["platform"]


@pytest.mark.proves("S0-TA-04")
def test_a_task_takes_the_platform_of_its_assignment_and_keeps_it(project: Project) -> None:
    project.run("task add", title="Without a platform", id="task-001")
    assert "platform" not in project.task().extra
    project.assign(assignment(platform="ios"))
    assert project.task().extra["platform"] == "ios"
    said = project.refusal("send", type="task_assignment", data=assignment(platform="android"))
    assert said.code == "platform_differs"
    assert "ios" in said.message
    assert "android" in said.message
    project.append("developer", assignment(platform="android"))
    project.look()
    assert [item["code"] for item in project.held()] == ["platform_differs"]
    assert project.task().extra["platform"] == "ios"


@pytest.mark.proves("S0-TA-05")
def test_texts_survive_the_round_trip_unchanged(project: Project) -> None:
    for number, text in enumerate(STRANGE):
        message = assignment(f"task-{number}", title=text, instructions=text, architecture=text)
        project.assign(message)
        assert project.events("message:sent")[-1].data["data"] == message
        assert project.file("developer")["messages"][-1] == message
    over_the_cli = assignment("task-cli", title=STRANGE[3], instructions="\n".join(STRANGE), architecture=STRANGE[2])
    project.cli_send(over_the_cli)
    assert project.cli("mailbox", "@developer", "--task", "task-cli").result["messages"][0]["data"] == over_the_cli
    by_hand = assignment("task-file", title="\n".join(STRANGE), instructions=STRANGE[1], architecture=STRANGE[4])
    project.append("developer", by_hand)
    project.look()
    assert project.mailbox("developer", task="task-file")[0]["data"] == by_hand
    assert project.file("developer")["messages"][-2:] == [over_the_cli, by_hand]
    assert project.held() == []


@pytest.mark.proves("S0-TA-05")
def test_texts_that_are_empty_or_no_texts_are_refused(project: Project) -> None:
    for field in TEXTS:
        for bad in ("", None, 7, ["text"], {"text": "a"}, True):
            said = project.refusal("send", type="task_assignment", data=assignment(**{field: bad}))
            assert said.places == [field], bad


@pytest.mark.proves("S0-TA-06", "S0-TA-08")
def test_lists_are_arrays_of_texts_that_say_something(project: Project) -> None:
    for field in LISTS:
        for bad in (None, "src/a.ts", {}, 7):
            said = project.refusal("send", type="task_assignment", data=assignment(**{field: bad}))
            assert said.places == [field], bad
        for wrong in ("", None, 7, ["a"], {"path": "a"}):
            said = project.refusal("send", type="task_assignment", data=assignment(**{field: ["a", wrong]}))
            assert said.places == [f"{field}[1]"], wrong
    project.assign(assignment(filesToCreate=[], apiEndpoints=[]))
    assert project.file("developer")["messages"] == [assignment(filesToCreate=[], apiEndpoints=[])]


@pytest.mark.proves("S0-TA-07")
def test_a_timestamp_is_kept_as_it_was_sent(project: Project) -> None:
    good = (
        "2024-01-01T00:00:00.000Z",
        "2024-01-01T00:00:00Z",
        "2024-01-01T01:00:00+01:00",
        "2024-01-01T00:00:00",
        "2024-02-29T23:59:59.999999Z",
    )
    for number, stamp in enumerate(good):
        project.assign(assignment(f"task-{number}", timestamp=stamp))
        assert project.file("developer")["messages"][-1]["timestamp"] == stamp
    for bad in (
        "yesterday",
        "",
        "2024-01-01",
        "12:00",
        "2024-13-01T00:00:00Z",
        "2023-02-29T00:00:00Z",
        1704067200,
        None,
    ):
        said = project.refusal("send", type="task_assignment", data=assignment(timestamp=bad))
        assert said.places == ["timestamp"], bad


@pytest.mark.proves("S0-TA-07")
def test_moot_stamps_what_a_caller_leaves_out_and_holds_a_file_that_does(project: Project) -> None:
    project.cli_send(without(assignment(), "timestamp"))
    project.assign(without(assignment("task-002"), "timestamp"))
    for message, event in zip(project.file("developer")["messages"], project.events("message:sent"), strict=True):
        stamp = message["timestamp"]
        assert stamp == event.at
        assert len(stamp) == len("2024-01-01T00:00:00.000Z")
        assert stamp[10] == "T"
        assert stamp[19] == "."
        assert stamp[-1] == "Z"
    project.append("developer", without(assignment("task-003"), "timestamp"))
    project.look()
    (held,) = project.held()
    assert [defect["path"] for defect in held["defects"]] == ["timestamp"]


@pytest.mark.proves("S0-TA-08")
def test_endpoints_that_were_not_given_are_not_rendered(project: Project) -> None:
    project.assign(without(assignment(), "apiEndpoints"))
    project.append("developer", without(assignment("task-002"), "apiEndpoints"))
    project.assign(assignment("task-003", apiEndpoints=["GET /api/resource"]))
    first, second, third = project.file("developer")["messages"]
    assert "apiEndpoints" not in first
    assert "apiEndpoints" not in second
    assert third["apiEndpoints"] == ["GET /api/resource"]


@pytest.mark.proves("S0-TA-09")
def test_all_defects_are_told_at_once(project: Project) -> None:
    bad: dict[str, Any] = {
        **without(assignment(), "instructions"),
        "platform": "windows",
        "title": 7,
        "filesToCreate": ["ok", ""],
        "timestamp": "soon",
    }
    expected = {
        "platform": "windows",
        "title": "7",
        "instructions": "nothing",
        "filesToCreate[1]": '""',
        "timestamp": "soon",
    }
    said = project.cli_refusal("send", "--type", "task_assignment", "--data", "-", given=json.dumps(bad))
    assert said.code == "bad_message"
    assert set(said.places) == set(expected)
    for path, found in expected.items():
        defect = said.defect(path)
        assert found in defect["found"]
        assert defect["expected"]
        assert f"{path}: expected {defect['expected']}, found {defect['found']}" in said.message
    project.append("developer", bad)
    project.look()
    (held,) = project.held()
    assert {defect["path"] for defect in held["defects"]} == set(expected)
    assert all(path in held["reason"] for path in expected)


@pytest.mark.proves("S0-TA-10")
def test_unknown_fields_are_kept_and_rendered_back(project: Project) -> None:
    more = {"priority": "high", "Type": "x", "nested": {"b": [1, 2.5, None, True, {}], "a": ""}, "id": "mine", "z": []}
    project.assign(assignment(**more))
    project.append("developer", assignment("task-002", **more))
    project.look()
    assert project.file("developer")["messages"] == [assignment(**more), assignment("task-002", **more)]
    assert list(project.file("developer")["messages"][0])[-len(more) :] == list(more)
    assert bodies(project.mailbox("developer"))[1] == assignment("task-002", **more)
    assert project.held() == []


@pytest.mark.proves("S0-TA-10")
def test_a_message_nested_too_deeply_for_a_file_is_refused(project: Project) -> None:
    """What moot renders it can also read: an entry that somebody adds to the file is not lost over it."""
    deepest: Any = 1
    for _ in range(97):
        deepest = [deepest]
    said = project.refusal("send", type="task_assignment", data=assignment(extra=[deepest]))
    assert said.places == ["extra"]
    project.assign(assignment(extra=deepest))
    project.append("developer", assignment("task-002"))
    project.look()
    assert project.file("developer")["messages"] == [assignment(extra=deepest), assignment("task-002")]


@pytest.mark.proves("S0-TA-11")
def test_an_assignment_starts_a_pending_task_in_the_same_commit(project: Project) -> None:
    project.join("Lead", "team-lead")
    project.run("task add", title="Queued", id="task-001")
    assert project.state() == "pending"
    project.assign(agent="Lead")
    started, sent = project.events("task:started")[0], project.events("message:sent")[0]
    assert started.commit == sent.commit
    assert (started.data["source"], started.data["target"]) == ("pending", "in_progress")
    assert (started.by, started.data["role"]) == ("Lead#1", "team-lead")
    assert project.task().title == "Queued"
    # A file names no author: it is the role that wrote it.
    project.run("task add", title="Queued too", id="task-002")
    project.append("developer", assignment("task-002"))
    project.look()
    started = project.events("task:started")[1]
    assert (started.by, started.data["role"]) == ("role:team-lead", "team-lead")
    assert started.commit == project.events("message:sent")[1].commit


@pytest.mark.proves("S0-TA-11")
def test_a_second_assignment_supersedes_the_first_of_the_attempt(project: Project) -> None:
    project.join("Lead", "team-lead")
    project.run("task add", title="Queued", id="task-001")
    project.run("task claim", "Lead", task="task-001")
    first = project.assign(agent="Lead")
    assert len(project.events("task:started")) == 1
    second = project.assign(assignment(instructions="Better ones"), agent="Lead")
    assert len(project.events("task:started")) == 1
    assert project.moves() == [("pending", "in_progress")]
    assert project.task().attempt == 1
    read = project.ask("instructions", task="task-001")
    assert [letter["id"] for letter in read["messages"]] == [first["id"], second["id"]]
    assert read["in_force"] == second["id"]


@pytest.mark.proves("S0-TA-12")
def test_an_assignment_creates_the_task_that_nobody_knows(project: Project) -> None:
    project.write("developer", developer_file("android"))
    project.look()
    project.cli_send(assignment("task-009", title="Sent", platform="ios"))
    for name, title, platform in (("task-001", "Task Title", "android"), ("task-009", "Sent", "ios")):
        task = project.task(name)
        assert (task.id, task.title, task.extra["platform"]) == (name, title, platform)
        assert task.state == "in_progress"
        added, started = (e for e in project.events() if e.stream == f"task/{name}")
        assert (added.type, added.data["state"]) == ("task:added", "pending")
        assert (started.data["source"], started.data["target"]) == ("pending", "in_progress")
        assert added.commit == started.commit


@pytest.mark.proves("S0-TA-13")
def test_an_assignment_comes_too_late_for_a_task_in_review_or_ended(project: Project) -> None:
    def too_late(state: str) -> None:
        assert project.state() == state
        said = project.refusal("send", type="task_assignment", data=assignment(instructions=f"while {state}"))
        assert said.code == "wrong_state"
        assert said.details["state"] == state

    def by_file(text: str) -> list[str]:
        project.append("developer", assignment(instructions=text))
        project.look()
        return [message["instructions"] for message in project.file("developer")["messages"]]

    project.assign(assignment(instructions="first"))
    project.report()
    too_late("awaiting_review")
    assert by_file("second") == ["first", "second"]  # stays, and counts in the next attempt
    assert [m["data"]["instructions"] for m in project.ask("instructions", task="task-001")["messages"]] == ["first"]
    project.run("task reject", task="task-001", reason="No tests.")
    too_late("rejected")
    project.run("task reopen", task="task-001")
    assert project.state() == "in_progress"
    assert [m["instructions"] for m in project.file("developer")["messages"]] == ["second"]
    project.run("task reject", task="task-001", reason="Given up.")
    assert by_file("third") == ["third"]  # starts the next attempt
    assert (project.state(), project.task().attempt) == ("in_progress", 3)
    project.report(report(summary="again"))
    project.run("task approve", task="task-001")
    assert project.held() == []
    too_late("completed")
    assert by_file("too late") == []
    assert [held["code"] for held in project.held()] == ["wrong_state"]
    project.run("task reopen", task="task-001", reason="It broke.", override=True)
    project.assign(assignment(instructions="once more"))
    assert project.state() == "in_progress"


@pytest.mark.proves("S0-TA-14")
def test_the_sample_is_accepted_over_every_surface(project: Project) -> None:
    sample = json.loads(developer_file())["messages"][0]
    ways = {
        "web": project.cli_send,
        "android": project.assign,
        "ios": lambda data: project.append("developer", data),
        "custom": lambda data: project.cli(
            "send", "--type", "task_assignment", "--data", json.dumps(without(data, "type"))
        ),
    }
    for platform, send in ways.items():
        send({**sample, "taskId": f"task-{platform}", "platform": platform})
        project.look()
    expected = [{**sample, "taskId": f"task-{platform}", "platform": platform} for platform in ways]
    assert project.file("developer") == {"messages": expected, "lastRead": None}
    assert [list(m) for m in project.file("developer")["messages"]] == [list(sample)] * 4
    assert bodies(project.mailbox("developer")) == expected
    assert project.held() == []


@pytest.mark.proves("S0-TA-14")
@pytest.mark.parametrize("platform", PLATFORMS)
def test_the_sample_file_reads_back_field_for_field(project: Project, platform: str) -> None:
    project.write("developer", developer_file(platform))
    shown = project.cli("mailbox", "@developer").result
    assert project.file("developer") == json.loads(developer_file(platform))
    assert list(project.file("developer")["messages"][0]) == list(json.loads(TO_DEVELOPER)["messages"][0])
    assert bodies(shown["messages"]) == json.loads(developer_file(platform))["messages"]
    assert shown["last_read"] is None
    assert FILES["developer"] == ".claude-orchestrator/tasks/messages/to-developer.json"
