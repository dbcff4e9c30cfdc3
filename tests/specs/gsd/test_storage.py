"""The event file: its form, its numbers, how long events stay, and what damage to it means."""

from __future__ import annotations

import errno
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import pytest

from moot.wiring.admin import Admin
from tests.specs.gsd import samples
from tests.specs.gsd.project import FOLDER, MovableClock, Project, codes, finished, unnumbered
from tests.specs.gsd.samples import COMPLETED, CREATED, STARTED, completed, created, started, without
from tests.specs.orchestrator.project import PATIENCE, until
from tests.unprivileged import unprivileged

HOUR = 3600.0


class Reader:
    """Reads the event file again and again, and keeps what was not one."""

    def __init__(self, project: Project) -> None:
        self._path, self._done = project.path(), threading.Event()
        self._root = project.root
        self._thread = threading.Thread(target=self._poll)
        self.looks, self.bad, self.strays = 0, list[bytes](), set[str]()

    def _poll(self) -> None:
        while not self._done.is_set():
            try:
                raw = self._path.read_bytes()
                json.loads(raw)["events"]
            except (OSError, ValueError, KeyError) as error:
                self.bad.append(repr(error).encode())
            self.strays |= {path.name for path in self._root.glob("*.json")}
            self.looks += 1

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._done.set()
        self._thread.join(timeout=PATIENCE)


@pytest.mark.proves("S4-STO-01")
def test_the_file_is_found_from_any_directory_of_the_project(project: Project) -> None:
    deep = project.root / "a" / "b"
    deep.mkdir(parents=True)
    assert project.cli("emit", "build:done", cwd=deep).result["number"] == 1
    assert [event["type"] for event in project.events_shown] == ["build:done"]
    assert project.path() == project.root / ".planning" / "blackboard" / "events.json"
    assert not (deep / ".planning").exists()


@pytest.mark.proves("S4-STO-02")
def test_the_file_is_one_object_in_a_fixed_form(project: Project) -> None:
    project.emit({**STARTED, "taskName": "Müller → “x”"})
    project.emit({"type": "empty:one", "timestamp": "2024-01-15T10:30:00Z", "list": [], "object": {}})
    raw = project.path().read_bytes()
    content = json.loads(raw)
    assert list(content) == ["events", "lastEventId", "retentionPolicy"]
    assert (content["lastEventId"], content["retentionPolicy"]) == (2, "24h")
    assert [event["eventId"] for event in content["events"]] == [1, 2], "the oldest first"
    assert raw.decode() == json.dumps(content, indent=2, ensure_ascii=False) + "\n"


@pytest.mark.proves("S4-STO-03")
def test_turning_the_pack_on_creates_the_files(project: Project) -> None:
    assert project.file() == {"events": [], "lastEventId": 0, "retentionPolicy": "24h"}
    assert project.file("decisions") == {"decisions": []}
    context = project.file("shared-context")
    assert (context["active_agents"], context["completed_tasks"]) == ([], [])
    project.shell()
    project.look()
    assert [event["eventId"] for event in project.events_shown] == [1], "the spec's step works from the first event"


def existing(folder: Path, content: Any) -> Project:
    """A repository that had a blackboard before moot."""
    root = folder / "old"
    (root / FOLDER).mkdir(parents=True)
    project = Project(root)
    project.git("init", "--quiet", "--template=", ".")
    project.put(content)
    Admin(str(root), project.env).create(("gsd",))
    return project


@pytest.mark.proves("S4-STO-03")
def test_an_existing_file_is_absorbed_with_its_numbers(folder: Path) -> None:
    """As the spec's two emitters leave it: some with a number, some without, and the first ones gone."""
    events = [{**CREATED, "id": 38}, {**STARTED, "id": 40}, without(COMPLETED, "duration")]
    project = existing(folder, {"events": events, "lastEventId": 42, "retentionPolicy": "7d"})
    assert project.look() == {}
    assert [(e["eventId"], e["id"]) for e in project.events_shown] == [(38, 38), (40, 40), (42, 42)]
    assert (project.file()["lastEventId"], project.file()["retentionPolicy"]) == (42, "7d")
    assert [codes(one["flags"])[0] for one in project.posted()] == ["adopted"] * 3
    assert project.events_shown[2]["duration"] == "15min"
    assert project.emit(started(task=2)).number == 43
    project.run("verify")
    project.close()


def test_whoever_moves_a_project_over_is_told_how_many_events_were_taken(project: Project) -> None:
    project.add({"type": "build:passed", "timestamp": "2024-01-15T10:30:00Z"}, samples.DECIDED)
    taken = project.cli("pack", "adopt").result
    assert (taken["posted"], taken["tasks"]) == (2, {})
    project.add(started(task=2))
    said = project.voice("pack", "adopt").out
    assert said.startswith("Taken over: 1 event, 1 task (")
    assert project.voice("pack", "adopt").out.startswith("Nothing to take over")


@pytest.mark.proves("S4-STO-03")
def test_the_storage_sample_is_absorbed_with_its_highest_number(folder: Path) -> None:
    project = existing(folder, {"events": [STARTED, CREATED, COMPLETED], "lastEventId": 42, "retentionPolicy": "24h"})
    project.look()
    assert [e["eventId"] for e in project.events_shown] == [40, 41, 42]
    assert project.file()["lastEventId"] == 42
    project.close()


@pytest.mark.proves("S4-STO-03", "S4-STO-04")
def test_an_existing_file_without_events_keeps_its_highest_number(folder: Path) -> None:
    project = existing(folder, {"events": [], "lastEventId": 42, "retentionPolicy": "24h", "note": {"by": "hand"}})
    project.look()
    assert project.file() == {"events": [], "lastEventId": 42, "retentionPolicy": "24h", "note": {"by": "hand"}}
    assert project.emit(started()).number == 43
    project.close()


@pytest.mark.proves("S4-STO-03")
def test_what_cannot_be_decided_any_more_is_absorbed_with_its_number_too(folder: Path) -> None:
    """The first events of an old file are gone: a release has no claim, a dependency no artifact."""
    events = [
        samples.RELEASED,
        samples.SATISFIED,
        samples.CLAIMED,
        {**samples.CLAIMED, "plan": "01-03"},
        {**samples.REACHED, "type": "checkpoint:resolved", "answer": "yes"},
        samples.FAILED,
    ]
    project = existing(folder, {"events": events, "lastEventId": 6, "retentionPolicy": "24h"})
    assert project.look() == {}
    assert [unnumbered(event) for event in project.events_shown] == events
    assert [e["eventId"] for e in project.events_shown] == [1, 2, 3, 4, 5, 6]
    flags = [codes(one["flags"]) for one in project.posted()]
    assert ["not_applied" in found for found in flags] == [True, True, False, True, True, False]
    assert project.held() == []
    assert project.file("claims")["claims"]["src/api/users.ts"]["plan"] == "01-02"
    assert project.ask("mailbox", name="@orchestrator")["messages"] == [], "nobody is told of what is long over"
    project.run("verify")
    project.close()


@pytest.mark.proves("S4-STO-04", "S4-STO-05")
def test_numbers_grow_by_one_and_are_in_every_event(project: Project) -> None:
    project.emit(STARTED)
    project.emit(samples.DECIDED)
    project.emit({"type": "own:id", "id": "mine", "timestamp": "2024-01-15T10:30:00Z"})
    project.take({**CREATED})
    assert [(e["eventId"], e["id"]) for e in project.events_shown] == [(1, 1), (2, "dec-001"), (3, "mine"), (4, 4)]
    assert project.file()["lastEventId"] == 4


@pytest.mark.proves("S4-STO-06", "S4-STO-04")
def test_events_leave_the_file_and_stay_in_the_log(make_project: Callable[..., Project]) -> None:
    clock = MovableClock(-30 * HOUR)
    project = make_project(clock=clock)
    project.emit(started("01-01"))
    project.emit({"type": "build:done"})
    clock.by = 0.0
    project.emit(started("02-01"))
    assert [(e["eventId"], e.get("plan")) for e in project.events_shown] == [(3, "02-01")]
    assert project.file()["lastEventId"] == 3
    assert [one["number"] for one in project.posted()] == [1, 2, 3]
    assert project.state("01-01.1") == "running", "queries know it as before"
    assert project.flags(completed("01-01")) == []


@pytest.mark.proves("S4-STO-02")
def test_the_retention_is_changed_in_the_file_or_in_the_settings(make_project: Callable[..., Project]) -> None:
    clock = MovableClock(-3 * HOUR)
    project = make_project(clock=clock)
    project.emit({"type": "build:done"})
    clock.by = 0.0
    project.put({**project.file(), "retentionPolicy": "2h"})
    assert project.look() == {}
    assert project.file() == {"events": [], "lastEventId": 1, "retentionPolicy": "2h"}
    for wrong in ("forever", "0h", "2", "h", "-1h", 24, None, "1w", "1.h.h"):
        project.put({**project.file(), "retentionPolicy": wrong})
        assert "retentionPolicy" in project.look()["bad_retention"], wrong
        assert project.file()["retentionPolicy"] == "2h"
    for good in ("90m", "36h", "30d"):
        project.put({**project.file(), "retentionPolicy": good})
        project.look()
        assert project.file()["retentionPolicy"] == good
    assert len(project.events_shown) == 1
    weekly = make_project('[pack.gsd]\nretention = "7d"\n', name="weekly")
    assert weekly.file()["retentionPolicy"] == "7d"


@pytest.mark.proves("S4-STO-09")
def test_events_in_the_file_are_absorbed_once_in_their_order(project: Project) -> None:
    project.take(*({**STARTED, "task": n} for n in (3, 1, 2)))
    assert [(e["eventId"], e["task"]) for e in project.events_shown] == [(1, 3), (2, 1), (3, 2)]
    for _ in range(3):
        project.look()
    project.put(json.dumps(project.file(), indent=7, sort_keys=True))
    project.look()
    assert len(project.posted()) == 3


@pytest.mark.proves("S4-STO-10")
def test_the_storage_sample(make_project: Callable[..., Project]) -> None:
    clock = MovableClock(-30 * HOUR)
    project = make_project(clock=clock)
    for n in range(39):
        project.emit(created(f"old{n}.ts", plan=f"{n % 5 + 1:02}-01"))
    clock.by = 0.0
    project.emit(started("09-01"))
    project.emit(created("new.ts", plan="09-01"))
    project.emit(completed("09-01"))
    content = project.file()
    assert [e["type"] for e in content["events"]] == ["task:started", "artifact:created", "task:completed"]
    assert (content["lastEventId"], content["retentionPolicy"]) == (42, "24h")


# --- damage ----------------------------------------------------------------------------------------------------------


@pytest.mark.proves("S4-HRD-06")
def test_a_copy_of_an_event_that_was_filled_in_is_recognised(project: Project) -> None:
    project.take(STARTED)
    bare = without(COMPLETED, "taskName", "duration", "commit")
    nameless = {"type": "artifact:created", "path": "./a.ts"}
    old = project.file()
    project.take(bare, nameless)
    for copy in ([bare, nameless], [nameless], [bare, unnumbered(project.events_shown[1])]):
        project.put({**old, "events": [*old["events"], *copy]})
        project.look()
    assert len(project.posted()) == 4, "only the last copy has one completion more than the log"
    assert "repeat" in project.flags_of(4)


@pytest.mark.proves("S4-EMI-05", "S4-HRD-07")
def test_an_emptied_file_is_rendered_again_at_once(project: Project) -> None:
    project.emit(started())
    good = project.path().read_bytes()
    project.path().write_bytes(b"")
    assert project.look() == {}
    assert project.path().read_bytes() == good
    project.path().write_bytes(b"")
    project.shell(task=2)  # jq reads nothing, writes nothing, and the rename still happens
    assert project.path().read_bytes() == b""
    project.look()
    assert project.path().read_bytes() == good
    project.path().unlink()
    project.look()
    assert project.path().read_bytes() == good
    assert project.held() == []


@pytest.mark.proves("S4-HRD-28")
@pytest.mark.parametrize("obstacle", ["permissions", "full disk", "a directory in its place"])
def test_a_file_that_cannot_be_written_catches_up(
    project: Project, obstacle: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.emit(started(task=1))
    path, folder = project.path(), project.path().parent
    if obstacle == "permissions":
        folder.chmod(0o555)
    elif obstacle == "full disk":
        monkeypatch.setattr("moot.mirrors.files._resemble", _no_room)
    else:
        path.unlink()
        path.mkdir()
    with unprivileged():
        answer = project.run("emit", type="task:started", data=without(started(task=2), "type"))
    assert answer.result.number == 2
    assert str(path) in " ".join(w.message for w in answer.warnings if w.code == "mirror_pending")
    assert [one["number"] for one in project.posted()] == [1, 2]
    monkeypatch.undo()
    folder.chmod(0o755)
    if path.is_dir():
        path.rmdir()
    assert project.look() == {}
    assert [e["eventId"] for e in project.events_shown] == [1, 2]
    assert [row["task"] for row in project.file("shared-context")["active_agents"]] == [1, 2]


def _no_room(*_given: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.proves("S4-HRD-01")
def test_fifty_processes_leave_fifty_events(project: Project) -> None:
    with Reader(project) as reader:
        children = [
            project.start("emit", "task:started", "--data", json.dumps(without(started(task=n), "type")))
            for n in range(1, 51)
        ]
        said = finished(children)
    assert [spoken.code for spoken in said] == [0] * 50, [spoken.out + spoken.err for spoken in said if spoken.code]
    project.look()
    assert sorted(spoken.result["number"] for spoken in said) == list(range(1, 51))
    assert [one["number"] for one in project.posted()] == list(range(1, 51))
    assert [event["eventId"] for event in project.events_shown] == list(range(1, 51))
    assert {event["task"] for event in project.events_shown} == set(range(1, 51))
    assert reader.bad == []


@pytest.mark.proves("S4-OVW-01")
def test_an_emitted_event_is_in_the_log_and_the_file_when_the_call_returns(project: Project) -> None:
    for n in range(1, 4):
        spoken = project.cli_emit(started(task=n))
        assert spoken.json.get("warnings", []) == []
        assert project.events_shown[-1]["eventId"] == spoken.result["number"] == n
        assert project.posted()[-1]["number"] == n


@pytest.mark.proves("S4-OVW-01")
def test_a_subscriber_is_woken_without_asking(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moot.api.verbs.events._ROUND", 10 * PATIENCE)  # it does not look by itself
    found: list[Any] = []

    def wait() -> None:
        with_own = project.at(project.root)
        found.append(with_own.ask("wait", type=("feed:posted",), timeout=PATIENCE))
        with_own.close()

    waiting = threading.Thread(target=wait)
    waiting.start()
    child = project.start("emit", "build:done")
    until(lambda: child.poll() is not None, "the emission")
    finished([child])
    while waiting.is_alive():  # the wait may have begun after the event
        project.emit({"type": "build:done"})
        waiting.join(timeout=1.0)
    assert found[0]["events"][0]["data"]["event"]["type"] == "build:done"


@pytest.mark.proves("S4-STO-03", "S4-HRD-05")
def test_an_adopted_event_that_cannot_keep_its_number_is_flagged(folder: Path) -> None:
    events = [{**STARTED, "id": 7}, {**CREATED, "id": 9}, {**COMPLETED, "id": 9}]
    project = existing(folder, {"events": events, "lastEventId": 9, "retentionPolicy": "7d"})
    assert [e["eventId"] for e in project.events_shown] == [7, 8, 9]
    found = {number: "renumbered" in project.flags_of(number) for number in (7, 8, 9)}
    assert found == {7: False, 8: True, 9: False}
    project.close()
