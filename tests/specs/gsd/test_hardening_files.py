"""Hardening of the blackboard files: many emitters, torn and stale files, chosen numbers, worktrees, failed writes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from time import sleep
from typing import Any, Self

import pytest

from moot.engine.clock import Clock
from tests import unprivileged
from tests.specs.gsd import samples
from tests.specs.gsd.project import FILES, FOLDER, Project, finished, unnumbered
from tests.specs.gsd.samples import completed, decided, started
from tests.specs.orchestrator.project import PATIENCE, LaterClock

STAMPED = "2024-01-15T10:30:00Z"
BUILT = {"type": "build:finished", "ok": True, "timestamp": STAMPED}
LONG_AGO = 1_700_000_000
EMPTY = {"events": [], "lastEventId": 0, "retentionPolicy": "24h"}
ROOT = os.geteuid() == 0


def built(number: int, **more: Any) -> dict[str, Any]:
    return {"type": "build:finished", "build": number, "timestamp": STAMPED, **more}


def builds(project: Project) -> list[int]:
    return [event["build"] for event in project.events_shown]


def numbers(project: Project) -> list[int]:
    return [event["eventId"] for event in project.events_shown]


class Reader:
    """Somebody who reads the blackboard files again and again, and keeps what was not complete."""

    def __init__(self, project: Project) -> None:
        self._paths, self._done = [project.path(name) for name in FILES], threading.Event()
        self._thread = threading.Thread(target=self._poll)
        self.looks, self.bad, self.sizes = 0, [], set()

    def _poll(self) -> None:
        while not self._done.is_set():
            for path in self._paths:
                try:
                    found = json.loads(path.read_bytes())
                    self.sizes.add(len(found.get("events", ())))
                except (OSError, ValueError, AttributeError) as error:
                    self.bad.append(f"{path.name}: {error}")
                self.looks += 1
                sleep(0.001)  # it shares the machine

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._done.set()
        self._thread.join(timeout=PATIENCE)


# --- many at once ------------------------------------------------------------------------------------------------


FORTY = """
import os, sys
from moot import Workspace
for number in range(11, 51):
    if os.fork() == 0:
        with Workspace(os.getcwd()) as moot:
            moot.emit("build:finished", data={"build": number})
        os._exit(0)
sys.exit(max(os.waitstatus_to_exitcode(os.wait()[1]) for _ in range(40)))
"""


@pytest.mark.proves("S4-HRD-01")
def test_fifty_processes_leave_fifty_numbers(project: Project) -> None:
    with Reader(project) as reader:
        children = [project.start("emit", "build:finished", "--data", json.dumps({"build": n})) for n in range(1, 11)]
        forty = subprocess.Popen([sys.executable, "-c", FORTY], cwd=project.root, env=project.environment())
        said = finished(children)
        assert forty.wait(timeout=PATIENCE) == 0
    assert [spoken.code for spoken in said] == [0] * 10, [spoken.out + spoken.err for spoken in said if spoken.code]
    project.look()
    logged = project.posted()
    assert [entry["number"] for entry in logged] == list(range(1, 51))
    assert sorted(entry["event"]["build"] for entry in logged) == list(range(1, 51))
    answered = {spoken.result["number"]: n for n, spoken in enumerate(said, 1)}
    assert answered.items() <= {entry["number"]: entry["event"]["build"] for entry in logged}.items()
    assert numbers(project) == list(range(1, 51))
    assert builds(project) == [entry["event"]["build"] for entry in logged]
    assert project.file()["lastEventId"] == 50
    assert reader.looks > 50
    assert reader.bad == []


@pytest.mark.proves("S4-HRD-02")
def test_no_reader_ever_finds_a_file_empty_partial_or_missing(project: Project) -> None:
    (project.root / "tmp.json").write_text("mine")
    with Reader(project) as reader:
        for task in range(1, 21):
            project.emit(started(task=task, name="x" * 100 * task))
            if task % 2:
                project.add(samples.now(completed(task=task)), samples.now(decided(f"Decision {task}")))
                project.emit(samples.claimed(f"src/{task}.ts"))
    assert reader.looks > 60
    assert len(reader.sizes) > 10
    assert reader.bad == []
    # The temporary file is beside the mirror only while it is written, and never has the name of the shell step's.
    assert sorted(path.name for path in project.path().parent.iterdir()) == sorted(f"{name}.json" for name in FILES)
    found = [path for path in project.root.rglob("tmp.json") if ".git" not in path.parts]
    assert [path.read_text() for path in found] == ["mine"]


WRITER = """
import json, os, sys
from moot import Workspace
with Workspace(os.getcwd()) as moot:
    for number in range(10_000):
        name = f"{sys.argv[1]}.{number}"
        event = {"agent": "gsd-executor", "plan": "01-02", "task": number + 1, "taskName": name}
        moot.emit("task:started", data=event)
        done = moot.emit("task:completed", data={**event, "commit": "abc1234"})
        print(done.number, name, flush=True)
"""


@pytest.mark.proves("S4-HRD-03")
def test_what_was_acknowledged_survives_a_kill_and_every_file_follows(project: Project) -> None:
    promised: dict[str, str] = {}
    for life in range(5):
        child = subprocess.Popen(
            [sys.executable, "-c", WRITER, f"life{life}"],
            cwd=project.root,
            env=project.environment(),
            stdout=subprocess.PIPE,
        )
        assert child.stdout is not None
        heard = [child.stdout.readline() for _ in range(life % 3 + 1)]
        child.send_signal(signal.SIGKILL)
        heard += child.stdout.readlines()
        child.stdout.close()
        assert child.wait(timeout=PATIENCE) == -signal.SIGKILL
        promised.update(line.decode().split() for line in heard if line.endswith(b"\n"))
        for name in FILES:
            project.file(name)  # is complete
    assert len(promised) >= 5
    assert project.cli("verify").code == 0
    logged = {entry["number"]: entry for entry in project.posted()}
    assert list(logged) == list(range(1, len(logged) + 1)), "none is lost, none is half there"
    assert {number: logged[int(number)]["event"]["taskName"] for number in promised} == promised
    assert project.events_shown == [
        {**entry["event"], "eventId": number, "id": number} for number, entry in logged.items()
    ]
    ended = {entry["event"]["task"]: entry["event"] for entry in logged.values()}
    done = sorted(task for task, event in ended.items() if event["type"] == "task:completed")
    board = project.file("shared-context")
    assert sorted(entry["task"] for entry in board["completed_tasks"]) == done
    assert [entry["task"] for entry in board["active_agents"]] == [task for task in ended if task not in done]


# --- raw emitters ------------------------------------------------------------------------------------------------


@pytest.mark.proves("S4-STO-09")
def test_added_events_are_taken_once_in_their_order_with_the_next_numbers(project: Project) -> None:
    project.emit(built(1))
    project.add(built(2), built(3, id=77), {**built(4), "eventId": 9}, samples.now(started()))
    project.look()
    assert numbers(project) == [1, 2, 3, 4, 5]
    assert [event.get("build") for event in project.events_shown] == [1, 2, 3, 4, None]
    assert unnumbered(project.events_shown[2]) == built(3)
    rendered, head = project.path().read_bytes(), project.head()
    project.look()
    assert project.cli("board").code == 0
    project.put(json.dumps(project.file()))  # the same content in another format
    project.look()
    assert project.path().read_bytes() == rendered
    assert project.head() == head
    project.emit(built(6))
    assert (numbers(project)[-1], project.file()["lastEventId"]) == (6, 6)


@pytest.mark.proves("S4-HRD-04")
@pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed")
def test_emitters_that_overwrite_each_other_lose_nothing_that_was_absorbed(project: Project) -> None:
    first = project.file()
    project.shell(task=1, name="One")  # the spec's own step
    project.look()
    second = project.file()
    project.put({**first, "events": [*first["events"], built(2)], "lastEventId": 1})  # has not seen the first
    project.look()
    project.emit(built(3))
    project.put({**second, "events": [*second["events"], built(4)], "lastEventId": 2})  # has seen neither 2 nor 3
    project.emit(built(5))
    shown = project.events_shown
    assert [event.get("taskName") or event["build"] for event in shown] == ["One", 2, 3, 4, 5]
    assert numbers(project) == [1, 2, 3, 4, 5]
    project.put(first)
    project.look()
    assert project.events_shown == shown
    assert len(project.posted()) == 5


@pytest.mark.proves("S4-HRD-05")
def test_the_same_number_with_another_content_is_another_event(project: Project) -> None:
    project.emit(built(1))
    project.emit(built(2))
    content = project.file()
    forged = {**content["events"][0], "build": 100}
    project.put({**content, "events": [forged, content["events"][1], built(200, id=2), built(300, eventId=1)]})
    project.look()
    assert [(event["eventId"], event["build"]) for event in project.events_shown] == [
        (1, 1),
        (2, 2),
        (3, 100),
        (4, 200),
        (5, 300),
    ]
    logged = project.path().read_bytes()
    for edited in (
        {**project.file(), "events": []},
        {**project.file(), "events": project.events_shown[::-1]},
        {**project.file(), "events": project.events_shown[1:]},
        {**project.file(), "lastEventId": 99},
    ):
        project.put(edited)
        project.look()
        assert project.path().read_bytes() == logged
    assert [entry["event"]["build"] for entry in project.posted()] == [1, 2, 100, 200, 300]


@pytest.mark.proves("S4-HRD-06")
def test_copies_of_slow_emitters_are_not_taken_twice_and_equal_events_not_dropped(project: Project) -> None:
    raw = {**EMPTY, "events": [BUILT], "lastEventId": 1}
    project.put(raw)
    project.look()
    project.put({**raw, "events": [BUILT, built(2)], "lastEventId": 2})  # a copy of the first, still without a number
    project.look()
    assert len(project.posted()) == 2
    project.take(BUILT)  # beside the numbered first: a second one
    assert len(project.posted()) == 3
    project.put({**EMPTY, "events": [BUILT, built(2), BUILT, BUILT, BUILT], "lastEventId": 5})
    project.look()
    assert Counter(map(str, map(unnumbered, project.events_shown))) == {str(BUILT): 4, str(built(2)): 1}
    content = project.file()
    project.put({**content, "events": [*content["events"], *content["events"]]})  # a file pasted twice
    project.look()
    assert numbers(project) == [1, 2, 3, 4, 5]


@pytest.mark.proves("S4-HRD-06")
def test_an_event_without_a_time_may_be_the_same_every_day(make_project: Callable[..., Project]) -> None:
    clock = LaterClock()
    project = make_project(clock=clock)
    beat = {"type": "nightly:finished", "ok": True}
    first = {**EMPTY, "events": [beat], "lastEventId": 1}
    project.put(first)
    for day in range(1, 4):
        project.look()
        assert len(project.posted()) == 2 * day - 1
        clock.passed += 25 * 3600
        project.emit({"type": "day:begun"})
        assert len(project.events_shown) == 1, "the others have left the file"
        project.put({**project.file(), "events": [*project.events_shown, beat], "lastEventId": 2 * day + 1})
    project.look()
    assert len(project.posted()) == 7
    project.put(first)  # an old copy is none
    project.look()
    assert len(project.posted()) == 7


@pytest.mark.proves("S4-HOK-06")
@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_number_that_the_js_emitter_chose_is_kept_when_free(project: Project) -> None:
    project.node(built(1))
    assert project.events_shown == [{**built(1), "id": 1}]
    project.look()
    project.emit(built(2))
    project.node(built(3))
    project.look()
    assert [(e["eventId"], e["id"], e["build"]) for e in project.events_shown] == [(1, 1, 1), (2, 2, 2), (3, 3, 3)]
    stale = project.path().read_bytes()
    project.emit(built(4))
    project.path().write_bytes(stale)
    project.node(built(5))  # takes 4, too
    assert project.events_shown[-1]["id"] == 4
    project.look()
    assert [(e["eventId"], e["id"], e["build"]) for e in project.events_shown[3:]] == [(4, 4, 4), (5, 5, 5)]
    project.node({**samples.DECIDED})
    project.look()
    assert (project.events_shown[-1]["eventId"], project.events_shown[-1]["id"]) == (6, "dec-001")
    assert project.held() == []


# --- torn, emptied, deleted, swapped -----------------------------------------------------------------------------


@pytest.mark.proves("S4-HRD-07")
def test_a_torn_file_is_left_alone_until_it_is_whole(project: Project) -> None:
    project.emit(built(1))
    whole = json.dumps({**project.file(), "events": [*project.events_shown, built(2)], "lastEventId": 2})
    half = whole[:-30]
    project.path().write_text(half)
    for number in (3, 4):
        assert str(project.path()) in project.look()["mirror_pending"]
        assert project.path().read_text() == half
        assert project.emit(built(number)).number == number - 1  # stored, although the file cannot follow yet
    project.path().write_text(whole)
    assert "mirror_pending" not in project.look()
    assert builds(project) == [1, 3, 4, 2]
    assert project.held() == []


TORN = [
    "{",
    '{"events": [',
    '{"events": [], "lastEventId": 1',
    "\x00\x00",
    "[]",
    "7",
    '{"events": {}}',
    "{}",
    '"events"',
]


@pytest.mark.proves("S4-HRD-07")
@pytest.mark.parametrize("name", ["events", "decisions", "shared-context"])
def test_a_file_that_stays_invalid_is_held_and_rendered_from_the_log(project: Project, name: str) -> None:
    project.emit(built(1))
    project.emit(decided())
    project.emit(completed())
    good, head = project.raw_files(), project.head()
    unusable = [text for text in TORN if name != "shared-context" or not text.endswith("}")]
    for text in unusable:
        project.put(text, name)
        os.utime(project.path(name), (LONG_AGO, LONG_AGO))
        assert str(project.path(name)) in project.look()["entry_held"]
        assert project.raw_files() == good, "never an empty list"
    held = project.held()
    assert {one["path"] for one in held} == {f"{FOLDER}/{name}.json"}
    kept = [next((project.root / ".git/moot").glob(f"*/{one['sha256']}")).read_bytes() for one in held]
    assert sorted(kept) == sorted(text.encode() for text in unusable)
    assert {event.type for event in project.events(after=head)} == {"file:quarantined"}


class StoppedClock(Clock):
    """A machine on which no time passes."""

    def __init__(self) -> None:
        super().__init__()
        self._wall, self._monotonic = super().wall_seconds(), super().monotonic()

    def wall_seconds(self) -> float:
        return self._wall

    def monotonic(self) -> float:
        return self._monotonic


@pytest.mark.proves("S4-HRD-07")
def test_how_long_an_invalid_file_is_left_alone_can_be_set(make_project: Callable[..., Project]) -> None:
    usual, patient, hasty = (
        make_project(settings, name, clock=StoppedClock())  # on a busy machine, a look may take a second
        for settings, name in (
            ("", "usual"),
            ('[mirrors]\ntorn_after = "1h"\n', "patient"),
            ('[mirrors]\ntorn_after = "100ms"\n', "hasty"),
        )
    )
    for project, age in ((usual, 4.0), (patient, 60.0), (hasty, 1.0)):
        project.path().write_text("{")
        moment = project.session().clock.wall_seconds() - age
        os.utime(project.path(), (moment, moment))
        project.look()
    assert [len(project.held()) for project in (usual, patient, hasty)] == [0, 0, 1]
    assert usual.path().read_text() == patient.path().read_text() == "{"
    assert hasty.file() == EMPTY
    moment = usual.session().clock.wall_seconds() - 6.0
    os.utime(usual.path(), (moment, moment))
    usual.look()
    assert len(usual.held()) == 1, "after five seconds"


SWAPPED = {"events": "decisions", "decisions": "events", "claims": "artifacts", "artifacts": "claims"}


@pytest.mark.proves("S4-HRD-08", "S4-HRD-22")
def test_nothing_that_happens_to_the_files_takes_anything_back(project: Project) -> None:
    for event in (built(1), started(), completed(), decided(), samples.claimed(), samples.created()):
        project.emit(event)
    project.put({**project.file("shared-context"), "notes": {"mine": [1, 2]}}, "shared-context")
    project.look()
    good, head = project.raw_files(), project.head()
    contents = {name: project.file(name) for name in FILES}
    twice = {
        name: {key: value * 2 if isinstance(value, list) else value for key, value in content.items()}
        for name, content in contents.items()
    }
    template = {
        name: {key: type(value)() for key, value in content.items() if value is not None}
        for name, content in contents.items()
    }
    blows: dict[str, Callable[[str], object]] = {
        "emptied": lambda name: project.path(name).write_text(""),
        "blank": lambda name: project.path(name).write_text(" \n"),
        "deleted": lambda name: project.path(name).unlink(),
        "folder deleted": lambda name: shutil.rmtree(project.path(name).parent, ignore_errors=True),
        "swapped": lambda name: project.path(name).write_bytes(good[SWAPPED.get(name, name)] or b""),
        "duplicated": lambda name: project.put(twice[name], name),
        "a template": lambda name: project.put(template[name], name),
    }
    for blow, strike in blows.items():
        for name in FILES:
            strike(name)
        project.look()
        if blow == "a template":  # an empty value of an agent's own key is a change of that key
            assert project.file("shared-context")["notes"] == {}
            project.put({**project.file("shared-context"), **contents["shared-context"]}, "shared-context")
            project.look()
        assert project.raw_files() == good, blow
    assert {event.type for event in project.events(after=head)} <= {"file:quarantined", "document:changed"}
    assert len(project.posted()) == contents["events"]["lastEventId"]


@pytest.mark.proves("S4-HRD-08")
def test_a_lower_number_or_an_older_copy_changes_nothing(project: Project) -> None:
    handlers = {"task:completed": ["builtin:blackboard-sync", "custom:note"], "build:finished": ["custom:note"]}
    (project.root / ".planning/config.json").write_text(json.dumps({"event_handlers": handlers}))
    older: list[dict[str, bytes | None]] = [project.raw_files()]
    for event in (started(), completed(), decided(), samples.created(), samples.claimed(), built(1)):
        project.emit(event)
        older.append(project.raw_files())
    good, head = older[-1], project.head()
    for content in (
        {**project.file(), "lastEventId": 2},
        {**project.file(), "lastEventId": -1},
        {**project.file(), "lastEventId": "none"},
        {"events": project.events_shown},
        {**project.file(), "events": project.events_shown[4:]},
        {**project.file(), "events": project.events_shown[:2], "lastEventId": 2},
    ):
        project.put(content)
        project.look()
        assert project.raw_files() == good
    for files in older:
        for name, data in files.items():
            project.path(name).write_bytes(data or b"")
        project.look()
        assert project.raw_files() == good
    assert project.head() == head, "nothing was recorded, so nothing is handled again"
    assert len(project.events("effect:requested")) == 2
    assert project.emit(built(2)).number == 7


@pytest.mark.proves("S4-HRD-08", "S4-HRD-09")
def test_branches_with_older_copies_change_nothing(project: Project) -> None:
    """Somebody has committed the blackboard. Each branch has its own old copy of it."""
    author = ("-c", "user.name=anna", "-c", "user.email=anna@localhost")
    project.emit(built(1))
    project.git("add", "--force", ".planning")
    project.git(*author, "commit", "--quiet", "-m", "one")
    project.git("switch", "--quiet", "-c", "side")
    project.emit(built(2))
    project.emit(decided())
    project.git(*author, "commit", "--quiet", "-a", "-m", "two")
    project.emit(built(3))
    project.git("checkout", "--quiet", "--", ".")  # back to what was committed
    project.look()
    assert numbers(project) == [1, 2, 3, 4]
    good, head = project.raw_files(), project.head()
    for _ in range(2):
        for branch in ("master", "side"):
            project.git("switch", "--quiet", "--force", branch)
            assert project.raw_files() != good
            project.look()
            assert project.raw_files() == good
    assert project.head() == head


@pytest.mark.proves("S4-HRD-09")
def test_all_worktrees_share_one_numbering_and_each_has_a_current_copy(project: Project) -> None:
    author = ("-c", "user.name=anna", "-c", "user.email=anna@localhost")
    project.git(*author, "commit", "--quiet", "--allow-empty", "-m", "-")
    project.emit(built(1))
    project.git("worktree", "add", "--quiet", str(project.root.with_name("other")))
    other = project.at(project.root.with_name("other"))
    project.look()
    assert other.raw_files() == project.raw_files()
    other.add(built(2), samples.now(decided()))  # from a file there
    assert project.emit(built(3)).number == 4  # over a surface here
    assert other.emit(built(4)).number == 5
    project.add(built(5))
    other.add(built(6))
    other.put({**other.file("shared-context"), "theirs": 1}, "shared-context")
    project.put({**project.file("shared-context"), "ours": 1}, "shared-context")
    project.look()
    assert other.raw_files() == project.raw_files()
    assert [event.get("build") for event in project.events_shown] == [1, 2, None, 3, 4, 5, 6]
    assert numbers(project) == [1, 2, 3, 4, 5, 6, 7]
    assert {"theirs", "ours"} <= project.file("shared-context").keys()
    project.git("worktree", "remove", "--force", str(other.root))
    project.emit(built(7))
    assert not other.root.exists()
    other.close()


# --- the files of the handlers -----------------------------------------------------------------------------------


@pytest.mark.proves("S4-HRD-22")
def test_an_agent_with_an_old_copy_takes_nobodys_key_away(project: Project) -> None:
    stale = project.file("shared-context")
    project.put(
        {**stale, "notes": {"auth": "jose"}, "tech_stack": {"added": ["jose"], "patterns": []}}, "shared-context"
    )
    project.emit(completed())
    project.put({**project.file("shared-context"), "owner": None}, "shared-context")
    project.put({**stale, "mine": [1]}, "shared-context")  # knows neither the notes nor the completion
    warned = project.look()
    assert "notes" in warned["key_restored"]
    assert "null" in warned["key_restored"]
    board = project.file("shared-context")
    assert (board["notes"], board["mine"], len(board["completed_tasks"])) == ({"auth": "jose"}, [1], 1)
    project.put({**board, "notes": None, "completed_tasks": [], "last_commit": {"commit": "forged"}}, "shared-context")
    assert "completed_tasks" in project.look()["change_refused"]
    assert project.file("shared-context") == {**board, "notes": None}


@pytest.mark.proves("S4-HRD-22")
def test_concurrent_completions_and_decisions_lose_no_entry(project: Project) -> None:
    """Over the CLI and by events in the file, while an agent adds keys of its own."""
    children = [
        project.start("emit", "task:completed", "--data", json.dumps(completed(task=task)))
        if task % 2
        else project.start("emit", "decision:made", "--data", json.dumps(decided(f"Decision {task}")))
        for task in range(1, 9)
    ]
    for number in range(1, 6):
        board = project.file("shared-context")
        project.put({**board, f"own{number}": number}, "shared-context")
        project.put({**project.file("decisions"), "decisions": [], "kept": True}, "decisions")
        project.take({**completed("02-01", number), "timestamp": STAMPED})
    assert [spoken.code for spoken in finished(children)] == [0] * 8
    project.look()
    board, decisions = project.file("shared-context"), project.file("decisions")
    assert {f"own{number}" for number in range(1, 6)} <= board.keys()
    assert len(board["completed_tasks"]) == 9
    assert sorted(row["decision"] for row in decisions["decisions"]) == [f"Decision {task}" for task in (2, 4, 6, 8)]
    assert len({row["id"] for row in decisions["decisions"]}) == 4
    assert decisions["kept"] is True
    project.put({**decisions, "kept": False}, "decisions")
    project.look()
    assert project.file("decisions") == {**decisions, "kept": False}


# --- keys and failed writes --------------------------------------------------------------------------------------


@pytest.mark.proves("S4-HRD-27")
def test_an_emission_repeated_with_its_key_is_one_event(project: Project) -> None:
    event = json.dumps({"agent": "gsd-executor", "plan": "01-02", "task": 1, "taskName": "Build"})
    first = project.cli("emit", "task:started", "--data", event, "--key", "k1").result
    again = project.cli("emit", "task:started", "--data", event, "--key", "k1").result
    assert (first["number"], again["number"], again["repeated"]) == (1, 1, True)
    assert project.emit(json.loads(event) | {"type": "task:started"}, key="k1").number == 1
    for other in ({**started(), "task": 2}, {**failed_now()}):
        data = {key: value for key, value in other.items() if key != "type"}
        refused = project.refusal("emit", type=other["type"], data=data, key="k1")
        assert refused.code == "key_reused"
        assert refused.remedy
    assert len(project.posted()) == len(project.events_shown) == 1
    # An event that is derived from others keeps the answer, too.
    claim = project.emit(samples.claimed(), key="k2")
    assert project.emit(samples.claimed(), key="k2").number == claim.number == 2


def failed_now() -> dict[str, Any]:
    return samples.now(samples.FAILED)


@pytest.mark.proves("S4-HRD-28")
def test_an_event_is_stored_although_the_files_cannot_be_written(project: Project) -> None:
    events = {"events": built(1), "decisions": decided(), "shared-context": completed(), "claims": samples.claimed()}
    project.look()
    before = project.raw_files()
    with unprivileged.unprivileged():
        project.path().parent.chmod(0o555)
        for number, (name, event) in enumerate(events.items(), 1):
            answer = project.run("emit", type=event["type"], data={k: v for k, v in event.items() if k != "type"})
            assert answer.result.number == number
            warned = [warning.message for warning in answer.warnings if warning.code == "mirror_pending"]
            assert any(str(project.path(name)) in message for message in warned), answer.warnings
        assert project.raw_files() == before
        project.path().parent.chmod(0o755)
        assert "mirror_pending" not in project.look()
    assert not [name for name in events if project.raw_files()[name] == before[name]]
    assert [unnumbered(shown) for shown in project.events_shown] == [entry["event"] for entry in project.posted()]
    assert numbers(project) == [1, 2, 3, 4]


OWN_MOUNTS = ["unshare", "-m"] if ROOT else ["unshare", "-rm"]
FULL = """
set -e
mount -t tmpfs -o size=128k,mode=755 small .planning/blackboard
"$@" mirror >&2
cp .planning/blackboard/events.json before.json
dd if=/dev/zero of=.planning/blackboard/filler bs=1k 2>/dev/null || true
"$@" emit build:finished --data '{"build": 1}'
cmp before.json .planning/blackboard/events.json >&2
rm .planning/blackboard/filler
"$@" board
cat .planning/blackboard/events.json | tr -d '\\n'
"""


@pytest.mark.proves("S4-HRD-28")
def test_an_event_is_stored_although_the_disk_of_the_file_is_full(project: Project) -> None:
    if shutil.which("unshare") is None or subprocess.run([*OWN_MOUNTS, "true"], check=False).returncode:
        pytest.skip("unshare: nobody may mount anything here")
    done = subprocess.run(
        [*OWN_MOUNTS, "sh", "-c", FULL, "sh", *project.command()],
        cwd=project.root,
        env=project.environment(),
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    emitted, board, content = map(json.loads, done.stdout.splitlines())
    assert emitted["result"]["number"] == 1
    (warned,) = [warning["message"] for warning in emitted["warnings"] if warning["code"] == "mirror_pending"]
    assert f"{project.path()} cannot be written" in warned
    assert "space" in warned
    assert not [warning for warning in board["warnings"] if warning["code"] == "mirror_pending"]
    assert [event["build"] for event in content["events"]] == [1]


@pytest.mark.proves("S4-HRD-16")
def test_a_path_through_a_link_to_the_project_is_inside_it(project: Project) -> None:
    link = project.root.with_name("link")
    link.symlink_to(project.root)
    project.emit(samples.created(f"{link}/src/a.ts"))
    project.emit(samples.claimed("src/a.ts"))
    assert list(project.file("artifacts")["artifacts"]) == list(project.file("claims")["claims"]) == ["src/a.ts"]
    assert project.refused(samples.claimed(f"{link}/src/a.ts", "01-03")).code == "file_held"
    project.take({**samples.released(f"{link}/./src/a.ts"), "timestamp": STAMPED})
    assert project.file("claims")["claims"] == {}
    assert project.refused(samples.created(f"{project.root.parent}/elsewhere.ts")).places == ["path"]
    assert project.refused(samples.created(f"{link}/../elsewhere.ts")).places == ["path"]
