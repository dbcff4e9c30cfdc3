"""Every event can be emitted by name or as JSON, its values are plain data, and the guide has a step for each point."""

from __future__ import annotations

import json
import re
import subprocess

import pytest

from moot.core.errors import Refused, Usage
from tests.specs.gsd.board import (
    AGENT,
    CLAIMED,
    COMPLETED,
    CREATED,
    DECIDED,
    MODIFIED,
    REACHED,
    RELEASED,
    SATISFIED,
    STARTED,
    TASK_FAILED,
    Board,
)
from tests.surfaces.command import PATIENCE

NASTY = (
    'it\'s "quoted"',
    "back\\slash and \\n",
    "two\nlines\n",
    "$HOME ${PATH} $(id)",
    "`id`",
    "\\(env.HOME) \\(1+1)",
    "; rm -rf / #",
    "%s %d {0} {{title}}",
    "–é語🙂",
)
ALL = (STARTED, COMPLETED, TASK_FAILED, CREATED, MODIFIED, CLAIMED, RELEASED, SATISFIED, DECIDED, REACHED)


def words_of(event: dict[str, object]) -> list[str]:
    """The event as it is typed: its type and KEY=VALUE."""
    found = [str(event["type"])]
    for key, value in event.items():
        if key != "type":
            found += [f"{key}={one}" for one in (value if isinstance(value, list) else [value])]
    return found


def before(board: Board, event: dict[str, object]) -> None:
    """What must have happened so that the event is valid."""
    if event["type"] == "file:released":
        board.emit(CLAIMED)
    if event["type"] == "dependency:satisfied":
        board.emit(CREATED)


@pytest.mark.proves("S4-EMI-01")
@pytest.mark.parametrize("event", ALL, ids=lambda event: event["type"])
@pytest.mark.parametrize("way", ["named", "json", "stdin", "python", "python named"])
def test_every_type_is_emitted_by_name_and_as_json(board: Board, event: dict[str, object], way: str) -> None:
    before(board, event)
    if way.startswith("python"):
        kind, *fields = words_of(event)
        result = board.gsd.emit(event) if way == "python" else board.gsd.emit(kind, fields)
        number, flags = result.number, result.flags
    else:
        words = {"named": words_of(event), "json": [json.dumps(event)], "stdin": ["-"]}[way]
        ran = board("gsd", "emit", *words, "--json", input=json.dumps(event) if way == "stdin" else "")
        number, flags = ran.result["number"], tuple(ran.result["flags"])
    (stored,) = [one for one in board.gsd.events() if one.number == number]
    assert {key: stored.event[key] for key in event} == event
    assert stored.flags == flags
    assert board.shown()[-1] == stored.event or stored.number < board.file()["lastEventId"]


@pytest.mark.proves("S4-EMI-01")
def test_the_answer_has_the_number_and_the_flags(board: Board) -> None:
    plain = {key: value for key, value in COMPLETED.items() if key != "commit"}
    ran = board("gsd", "emit", json.dumps(plain))
    assert ran.code == 0
    first, *flags = ran.out.splitlines()
    assert first == "#1 task:completed 01-02 1"
    assert {flag.split(":")[0] for flag in flags} >= {"  ! no_start", "  ! no_commit"}
    assert board("gsd", "emit", "build:passed", "ok:=true").out == "#2 build:passed\n"


@pytest.mark.proves("S4-EMI-04")
@pytest.mark.parametrize("text", NASTY)
def test_a_value_comes_back_unchanged_and_nothing_in_it_is_evaluated(board: Board, text: str) -> None:
    fields = [f"agent={AGENT}", "plan=01-01", "task=1", f"taskName={text}"]
    assert board("gsd", "emit", "task:started", *fields).code == 0
    board.gsd.emit({"type": "task:failed", "agent": AGENT, "plan": "01-01", "task": 1, "error": text})
    started, failed = board.gsd.events()
    assert (started.event["taskName"], failed.event["error"]) == (text, text)
    assert [event.get("taskName") or event.get("error") for event in board.shown()] == [text, text]
    (task,) = board.gsd.plan("01-01").plan.tasks
    assert (task.name, task.error) == (text, text)
    shown = subprocess.run(
        ["jq", "-j", ".events[0].taskName", ".planning/blackboard/events.json"],
        cwd=board.root,
        capture_output=True,
        check=True,
        timeout=PATIENCE,
    )
    assert shown.stdout.decode() == text


def test_an_invalid_event_is_refused_with_all_its_defects_and_nothing_is_written(board: Board) -> None:
    ran = board("gsd", "emit", "task:started", "plan=one", "task=zero", "--json")
    assert ran.code == 1
    assert {defect["path"] for defect in ran.error["details"]["defects"]} == {"agent", "plan", "task", "taskName"}
    with pytest.raises(Refused, match="Did you mean task:completed"):
        board.gsd.emit("task:complete")
    with pytest.raises(Refused):
        board.gsd.emit({"plan": "01-01"})
    with pytest.raises(Usage):
        board.gsd.emit("task:started", "plan")
    assert board.gsd.events() == []


def test_the_same_key_stores_one_event_and_returns_its_number(board: Board) -> None:
    first = board.gsd.emit(STARTED, key="once")
    again = board.gsd.emit(STARTED, key="once")
    assert (first.number, again.number, again.repeated) == (1, 1, True)
    assert len(board.gsd.events()) == 1


# The guide


def steps(guide: str) -> dict[str, str]:
    """The scripts of the named steps."""
    found = re.findall(r'<step name="(\w+)">.*?```bash\n(.*?)```.*?</step>', guide, re.DOTALL)
    return dict(found)


@pytest.mark.proves("S4-EMI-03")
def test_the_guide_has_a_step_for_each_point_of_a_task_and_each_can_be_run_as_it_is(board: Board) -> None:
    guide = board("brief", "gsd-executor").out
    found = steps(guide)
    wanted = ("emit_task_started", "emit_task_completed", "emit_task_failed", "emit_file_claimed", "emit_file_released")
    assert set(wanted) <= found.keys()
    assert "Before executing task:" in guide.partition('<step name="emit_task_started">')[2].partition("```")[0]
    assert guide.index("emit_task_started") < guide.index("emit_task_completed") < guide.index("emit_task_failed")
    variables = {
        "AGENT": AGENT,
        "PLAN": "01-02",
        "TASK_NUM": "1",
        "TASK_NAME": 'Say "hi" to $USER',
        "COMMIT": "abc1234",
    }
    variables |= {"ERROR": "It's `broken`", "FILE": "src/new.ts", "DECISION": "Use jose", "RATIONALE": "Edge"}
    variables |= {"AFFECTS": "02-*", "KIND": "human-verify", "AWAITING": "user approval", "CHANGE": "more"}
    arrays = "FILES=('src/a b.ts' src/c.ts) PROVIDES=(User UserCreate)\n"
    order = ("emit_task_started", "emit_file_claimed", "emit_artifact_created", "emit_decision_made")
    order += ("emit_checkpoint_reached", "emit_file_released", "emit_task_completed")
    for name in (*order, "emit_task_started", "emit_task_failed"):
        ran = board.shell(arrays + found[name], **variables)
        assert ran.returncode == 0, (name, ran)
    kinds = [event["type"] for event in board.shown()]
    assert kinds == [
        "task:started",
        *["file:claimed"] * 2,
        "artifact:created",
        "decision:made",
        "checkpoint:reached",
        *["file:released"] * 2,
        "task:completed",
        "task:started",
        "task:failed",
    ]
    by_type = {event["type"]: event for event in board.shown()}
    assert by_type["task:completed"]["taskName"] == 'Say "hi" to $USER'
    assert by_type["task:failed"]["error"] == "It's `broken`"
    assert by_type["file:claimed"]["path"] == "src/c.ts"
    assert by_type["artifact:created"]["provides"] == ["User", "UserCreate"]


def test_a_completion_stores_only_what_follows_from_it(board: Board) -> None:
    board.emit(STARTED)
    board.emit(COMPLETED)
    last = board.ws.log(limit=50)
    kinds = {event.type for event in last if event.commit == last[-1].commit}
    assert kinds == {"task:completed", "feed:posted", "feed:listed"}


@pytest.mark.proves("S4-EMI-01")
def test_options_are_a_list_like_others(board: Board) -> None:
    words = words_of({**REACHED, "checkpointType": "decision"})
    assert board("gsd", "emit", *words, "options=jose", "options=jsonwebtoken").code == 0
    assert board.shown()[-1]["options"] == ["jose", "jsonwebtoken"]
    assert board.ws.checkpoints()[0].options == ("jose", "jsonwebtoken")


@pytest.mark.proves("S4-EMI-01")
@pytest.mark.parametrize(
    "words",
    [
        ("checkpoint:reached", "plan=01-03", 'options=["a", "b"]'),
        ("build:passed", "hosts=a", "hosts=b"),
        ("build:passed", "hosts=a", 'hosts:=["b"]'),
    ],
)
def test_a_list_that_cannot_be_understood_is_refused_with_the_right_form(board: Board, words: tuple[str, ...]) -> None:
    refused = board("gsd", "emit", *words)
    key = words[-1].partition("=")[0].removesuffix(":")
    assert refused.code == 2
    assert f"{key}:=JSON" in refused.err
    assert board.shown() == []


@pytest.mark.proves("S4-EMI-04")
def test_an_item_in_brackets_that_is_not_json_is_text(board: Board) -> None:
    board.emit(CREATED)
    assert board("gsd", "emit", "artifact:modified", "path=src/models/user.ts", "changes=[api] new field").code == 0
    assert board.shown()[-1]["changes"] == ["[api] new field"]
