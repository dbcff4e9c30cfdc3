"""One look, one read and one commit for what a file says, and rendering only where something moved."""

from __future__ import annotations

import json
import os

import pytest

from moot.core.errors import MootError
from moot.engine.engine import Engine
from moot.mirrors import files, lock, sync
from moot.mirrors.forms.entries import EntriesForm
from moot.mirrors.state_cache import MirrorMemory
from moot.mirrors.sync_context import QuietEvents
from tests.calls import open_call
from tests.mirrors.place import FOLDER, NOON, Place, assignment
from tests.person import AS_A_PERSON


@pytest.fixture
def place(tmp_path):
    with Place(tmp_path) as made:
        yield made


def counted(monkeypatch, owner, name):
    """How often a function is called; each call's first argument."""
    real, calls = getattr(owner, name), []

    def counting(*given, **named):
        calls.append(given[0])
        return real(*given, **named)

    monkeypatch.setattr(owner, name, counting)
    return calls


def test_ten_new_entries_are_one_commit(place):
    place.write(*map(assignment, range(10)))
    assert place.sync() == []
    (commit,) = place.commits()
    assert commit.count("message:sent") == 10
    assert commit.count("task:added") == 10
    assert len(json.loads(place.to_developer.read_text())["messages"]) == 10
    assert place.call.run("verify", {}).result.problems == ()


def test_a_bad_entry_is_held_in_the_commit_of_the_good_ones(place):
    place.write(assignment(1), assignment(2, platform=7), {"type": "nonsense"}, assignment(3))
    assert place.sync() == ["entry_held"] * 2
    (commit,) = place.commits()
    assert commit.count("entry:held") == 2
    assert commit.count("task:added") == 2
    shown = json.loads(place.to_developer.read_text())["messages"]
    assert [message["taskId"] for message in shown] == ["task-1", "task-3"]
    assert place.call.run("verify", {}).result.problems == ()


def test_entries_that_say_the_same_in_two_ways_are_one_message(place):
    root = place.call.place.root
    place.write(assignment(1, filesToCreate=["src/a"]), assignment(1, filesToCreate=[f"{root}/src/a"]))
    place.sync()
    assert [kind for commit in place.commits() for kind in commit].count("message:sent") == 1


def test_a_writers_entry_and_a_readers_mark_are_a_commit_each(place):
    place.write(assignment(1), read=NOON)
    place.sync()
    first, second = place.commits()
    assert "message:sent" in first
    assert second == ["message:acked"]
    events = place.call.engine.log.read(0, 100)
    assert {event.by for event in events} == {"role:team-lead", "role:developer"}
    assert {event.via for event in events} == {f"file {FOLDER}/to-developer.json"}


def test_a_thousand_new_entries_are_one_commit(place):
    place.write(*map(assignment, range(1000)))
    place.sync()
    assert [commit.count("message:sent") for commit in place.commits() if "message:sent" in commit] == [1000]


def test_more_entries_than_one_commit_should_have_are_taken_in_several(place, monkeypatch):
    monkeypatch.setattr("moot.mirrors.forms.entries.MOST", 4)
    place.write(*map(assignment, range(9)), {"type": "nonsense"})
    place.sync()
    assert [commit.count("message:sent") for commit in place.commits()] == [4, 4, 2]
    assert len(json.loads(place.to_developer.read_text())["messages"]) == 9


def test_a_commit_that_is_full_leaves_the_other_entries_to_the_next_one(place, monkeypatch):
    monkeypatch.setattr("moot.engine.unit_of_work._EVENT_LIMIT", 7)
    place.write(*map(assignment, range(5)))
    assert place.sync() == []
    assert [commit.count("message:sent") for commit in place.commits()] == [2, 2, 1]


def test_a_commit_that_no_file_shows_is_followed_by_no_second_sync(place, monkeypatch):
    place.sync()
    other = open_call(place.call.place.root, AS_A_PERSON)
    syncs = counted(monkeypatch, sync._Sync, "run")
    other.run("emit", {"type": "build:started"})
    assert len(syncs) == 1
    data = {key: value for key, value in assignment(1).items() if key != "type"}
    other.run("send", {"type": "task_assignment", "data": data})
    assert len(syncs) == 3
    assert [entry["taskId"] for entry in json.loads(place.to_developer.read_text())["messages"]] == ["task-1"]
    other.close()
    other.workspace.close()


def test_a_changed_file_is_read_once_to_be_absorbed(place, monkeypatch):
    place.write(assignment(1))
    reads = counted(monkeypatch, files, "read")
    place.sync()
    whole = [os.path.realpath(path) for path in reads]
    assert whole.count(os.path.realpath(place.to_developer)) <= 1
    assert len([path for path in reads if path.endswith("to-developer.json")]) == 1
    came_out = [path for path in reads if ".moot." in path]
    mirrors = [path.rpartition("/")[2].split(".")[2] for path in came_out]
    assert len(mirrors) == len(set(mirrors)) > 0  # each file that was replaced, once


def test_files_that_have_settled_are_not_read_at_all(place, monkeypatch):
    hour_ago = 1_700_000_000
    for path in (place.to_developer, place.to_lead):
        os.utime(path, (hour_ago, hour_ago))
    monkeypatch.setattr("moot.mirrors.file_reading._YOUNG_NS", -(10**12))  # a file's ctime cannot be set back
    place.sync()
    reads = counted(monkeypatch, files, "read")
    place.sync()
    assert [path for path in reads if path.endswith(".json")] == []


def test_a_mirror_is_rendered_only_when_its_streams_have_moved(place, monkeypatch):
    rendered = counted(monkeypatch, EntriesForm, "render")
    place.call.run("task add", {"title": "Another"})
    assert rendered == []
    data = {key: value for key, value in assignment(1).items() if key != "type"}
    place.call.run("send", {"type": "task_assignment", "data": data})
    assert [form.spec.name for form in rendered] == ["to-developer"]


def test_another_version_of_moot_renders_everything_anew(place, monkeypatch):
    rendered = counted(monkeypatch, EntriesForm, "render")
    monkeypatch.setattr("moot.__version__", "another")
    place.sync()
    assert sorted(form.spec.name for form in rendered) == ["to-developer", "to-team-lead"]


@pytest.mark.promise(8)
def test_a_role_that_wrote_into_a_file_and_fell_silent_is_flagged_like_an_agent(place, monkeypatch):
    place.call.run("join", {"name": "Lead", "role": ["team-lead"]})
    place.write(assignment(1))
    place.sync()
    lead = open_call(place.call.place.root, AS_A_PERSON, agent="Lead")
    life = lead.engine.lifecycles["orchestrator"].replace(silence="flag")
    lead.engine.lifecycles = {**lead.engine.lifecycles, "orchestrator": life}

    def claims() -> str:
        with pytest.raises(MootError) as refused:
            lead.run("task claim", {"task": "task-1"})
        return refused.value.code

    assert claims() == "task_held"
    assert place.types("task:flagged") == []
    now = lead.clock.monotonic()
    monkeypatch.setattr(type(lead.clock), "monotonic", lambda _self: now + 3 * 1800)
    assert claims() == "task_held"
    (flagged,) = place.types("task:flagged")
    assert flagged.data["reason"].startswith("role:team-lead was silent")
    place.write(assignment(1), assignment(2))
    place.sync()
    assert lead.silence("role:team-lead") < 60
    lead.engine.log.close()
    lead.engine.store.close()


def test_the_silence_of_a_role_is_measured_from_the_first_look_at_its_files(place, monkeypatch):
    now = place.call.clock.monotonic()
    assert place.call.silence("role:nobody-has-this") == 0
    monkeypatch.setattr(type(place.call.clock), "monotonic", lambda _self: now + 3600)
    assert 3600 <= place.call.silence("role:developer") < 3700
    assert place.call.silence("role:nobody-has-this") == 0


@pytest.mark.promise(14)
def test_a_look_from_before_anothers_turn_is_not_used_after_it(place, monkeypatch):
    """An emptied file is looked at; before the turn, another takes the clear, and sends what the writer never saw."""
    place.write(assignment(1))
    place.sync()
    place.write()
    other = open_call(place.call.place.root, AS_A_PERSON)
    real = lock.MirrorLock

    def late(*given):
        monkeypatch.setattr(sync, "MirrorLock", real)
        other.run("mirror", {})
        data = {key: value for key, value in assignment(2).items() if key != "type"}
        other.run("send", {"type": "task_assignment", "data": data})
        return real(*given)

    monkeypatch.setattr(sync, "MirrorLock", late)
    place.sync()
    assert [event.data["ids"] for event in place.types("mailbox:cleared")] == [
        [place.types("message:sent")[0].stream.partition("/")[2]]
    ]
    assert [entry["taskId"] for entry in json.loads(place.to_developer.read_text())["messages"]] == ["task-2"]
    other.close()
    other.workspace.close()


class Killed(BaseException):
    """Stands for `kill -9`: nothing handles it."""


def killed_at(monkeypatch, owner, name):
    """The next call of a function is the last thing that its process does."""
    real = getattr(owner, name)

    def dying(*_given, **_named):
        monkeypatch.setattr(owner, name, real)
        raise Killed

    monkeypatch.setattr(owner, name, dying)


def before_the_lock(monkeypatch, act):
    """Do something after the next sync has looked at the files and before it gets the mirrors' lock; once."""
    real = lock.MirrorLock

    def late(*given):
        monkeypatch.setattr(sync, "MirrorLock", real)
        act()
        return real(*given)

    monkeypatch.setattr(sync, "MirrorLock", late)


@pytest.fixture
def other(place):
    """A call of another process."""
    call = open_call(place.call.place.root, AS_A_PERSON)
    yield call
    call.close()
    call.workspace.close()


STEPS = {
    "after the append": (Engine, "_appended"),
    "before the views are stored": (Engine, "_finish"),
    "before the file is rendered": (files.MirrorFile, "write"),
    "before the exchange": (files, "bring"),
    "after the exchange": (files.MirrorFile, "_visit"),
    "before the state is cached": (MirrorMemory, "write"),
}


@pytest.mark.promise(14)
@pytest.mark.parametrize("step", STEPS)
def test_what_a_killed_process_absorbed_is_not_absorbed_again_by_one_that_waited_for_it(
    place, other, monkeypatch, step
):
    place.write(assignment(1))

    def killed():
        killed_at(monkeypatch, *STEPS[step])
        with pytest.raises(Killed):
            other.run("mirror", {})

    before_the_lock(monkeypatch, killed)
    assert place.sync() == []
    assert len(place.types("message:sent")) == 1
    assert [entry["taskId"] for entry in json.loads(place.to_developer.read_text())["messages"]] == ["task-1"]
    assert place.call.run("verify", {}).result.problems == ()


@pytest.mark.promise(14)
def test_a_clear_that_a_killed_process_absorbed_is_not_undone_by_one_that_looked_before_it(place, other, monkeypatch):
    place.write(assignment(1))
    place.sync()
    place.write(assignment(1), assignment(2))

    def absorbed_twice():
        killed_at(monkeypatch, MirrorMemory, "write")
        with pytest.raises(Killed):
            other.run("mirror", {})
        place.write()
        killed_at(monkeypatch, MirrorMemory, "write")
        with pytest.raises(Killed):
            other.run("mirror", {})

    before_the_lock(monkeypatch, absorbed_twice)
    place.sync()
    assert len(place.types("message:sent")) == 2
    assert len(place.types("mailbox:cleared")) == 1
    assert place.types("mailbox:restored") == []
    assert [entry["taskId"] for entry in json.loads(place.to_developer.read_text())["messages"]] == ["task-2"]


@pytest.mark.promise(14)
def test_a_file_that_a_killed_process_put_in_quarantine_is_not_put_there_again(place, other, monkeypatch):
    place.to_developer.write_text("[]")
    killed_at(monkeypatch, files.MirrorFile, "write")
    with pytest.raises(Killed):
        other.run("mirror", {})
    assert place.sync() == ["entry_held"]
    assert len(place.types("file:quarantined")) == 1
    assert json.loads(place.to_developer.read_text())["messages"] == []


def test_a_file_that_cannot_be_written_is_put_in_quarantine_once(place, monkeypatch):
    place.to_developer.write_text("[]")
    monkeypatch.setattr(files.MirrorFile, "write", lambda *_given, **_named: files.Unwritable("read-only"))
    assert sorted(set(place.sync())) == ["entry_held", "mirror_pending"]
    for _ in range(2):
        assert set(place.sync()) == {"mirror_pending"}
    assert len(place.types("file:quarantined")) == 1


@pytest.mark.promise(14)
def test_a_file_that_changes_between_the_look_and_the_write_loses_nothing(place, monkeypatch):
    place.write(assignment(1))
    real = files.MirrorFile.write

    def late(self, *given, **named):
        if self.path.endswith("to-developer.json"):
            monkeypatch.setattr(files.MirrorFile, "write", real)
            place.write(assignment(1), assignment(2))
        return real(self, *given, **named)

    monkeypatch.setattr(files.MirrorFile, "write", late)
    assert place.sync() == []
    assert [entry["taskId"] for entry in json.loads(place.to_developer.read_text())["messages"]] == ["task-1", "task-2"]


def test_events_that_no_file_shows_are_read_once_and_never_make_the_files_be_rendered(place, monkeypatch):
    other = open_call(place.call.place.root, AS_A_PERSON)
    other.run("emit", {"type": "build:started"})
    turn = MirrorMemory(os.path.join(place.call.place.state, "mirrors")).read().turn
    start, read = other.engine.log.head(), list[int]()
    real = type(other.engine.log).read

    def counting(log, *given):
        events = real(log, *given)
        read.extend(event.position for event in events if event.position > start)
        return events

    monkeypatch.setattr(type(other.engine.log), "read", counting)
    for _ in range(60):
        other.run("emit", {"type": "build:started"})
    assert MirrorMemory(os.path.join(place.call.place.state, "mirrors")).read().turn == turn
    assert len(read) <= 60
    place.send(1)
    assert place.shown() == ["task-1"]
    other.run("emit", {"type": "build:started"})
    assert other.run("verify", {}).result.problems == ()
    other.close()
    other.workspace.close()


def test_what_is_known_of_quiet_events_does_not_hold_for_another_log(place):
    quiet, forms = QuietEvents(), place.call.mirrors._forms()
    engine = place.call.engine
    start = engine.read().cursor()
    place.call.run("emit", {"type": "build:started"})
    assert quiet.is_quiet(engine, start, forms)
    assert quiet.is_quiet(engine, start, forms)
    place.send(1)
    assert not quiet.is_quiet(engine, start, forms)
    end = engine.read().cursor()
    quiet._known = start, end, "another commit"
    assert not quiet.is_quiet(engine, start, forms)
    quiet._known = end - 1, end, engine.store.standing()[1]
    assert not quiet.is_quiet(engine, start, forms)  # what was before is not known
