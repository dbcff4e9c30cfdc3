"""The loop on a real log with real views: one commit at a time, each request once, and views that always catch up."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from moot.core.deciders.mailbox import Expire
from moot.core.errors import Held, Refused, Unavailable, Unknown, Usage
from moot.core.event import Commit, Draft, Event
from moot.core.task import LapseTask
from moot.engine import unit_of_work as works
from moot.engine.engine import Outcome
from moot.views import queries, states
from moot.views import store as stores
from tests.engine.harness import (
    ANNA,
    Command,
    ack,
    add,
    answer,
    claim_files,
    finish,
    join,
    key,
    leave,
    link,
    move,
    offer,
    rows_of,
    send,
    together,
    types,
    unlink,
)

pytestmark = pytest.mark.in_memory

ROOT = Path(__file__).resolve().parents[2]


# One commit


@pytest.mark.promise(2)
def test_the_events_of_a_commit_stand_together_and_each_follows_the_one_before_it_in_its_stream(machine):
    before = machine.log.head()
    machine.does(add("a", review=False), *finish("a"), add("b", needs=("a",)))
    events = machine.events()
    assert [event.position for event in events] == [*range(1, len(events) + 1)]
    last: dict[str, int] = {}
    for event in events:
        assert event.prev == last.get(event.stream, 0)
        last[event.stream] = event.position
    added = [event for event in events if event.position > before]
    assert types(added) == ["task:added", "task:started", "task:completed", "task:added", "graph:linked"]
    assert len({event.commit for event in added}) == 4
    assert [(event.n, event.id) for event in added[-2:]] == [(n, f"{added[-1].commit}.{n}") for n in (0, 1)]


def test_what_is_answered_is_what_the_log_has(machine):
    outcome = machine.run(add("a", extra={"list": [1, {"x": [2, None]}], "text": "Grüße"}))
    assert list(outcome.events) == machine.log.read(outcome.last - 1)
    assert (outcome.repeated, outcome.behind) == (False, False)


def test_a_refused_command_writes_nothing(machine):
    head, rows = machine.log.head(), machine.rows()

    def half(work):
        add("a").act(work)
        add("a").act(work)

    with pytest.raises(Held):
        machine.run(Command("half", ANNA, half))
    assert machine.log.head() == head
    assert machine.rows() == rows


def test_what_changes_nothing_is_no_commit(machine):
    head = machine.log.head()
    assert machine.run(offer("Yeats", "m-7")) == Outcome()
    assert machine.run(offer("Yeats", "m-7")).last == 0
    assert machine.log.head() == head


def test_a_command_that_would_cause_too_many_events_is_refused(machine, monkeypatch):
    monkeypatch.setattr(works, "_EVENT_LIMIT", 3)
    machine.does(add("a"), *(add(f"b{n}", needs=("a",)) for n in range(3)), move("claim", "a"), move("submit", "a"))
    with pytest.raises(Refused) as caught:
        machine.run(move("approve", "a", "Keats"))
    assert caught.value.code == "too_many_events"
    assert machine.task("a").state == "review"


def test_half_a_surrogate_pair_is_kept_and_breaks_nothing(machine):
    outcome = machine.run(send("m-1", "Yeats", text="half \ud83d"))
    assert not outcome.behind
    machine.does(send("m-2", "Yeats"), add("a", body="\udcff"))
    (first, _) = queries.inbox(machine.engine.read(), ("Yeats",), 10)
    assert first.message.text == "half \ud83d"
    assert machine.verify().sound


# Who acts


def test_an_agent_that_never_joined_is_told_the_closest_name(machine):
    with pytest.raises(Unknown) as caught:
        machine.run(add("a", by="Yates"))
    assert (caught.value.code, caught.value.details) == ("unknown_agent", {"closest": "Yeats"})


@pytest.mark.promise(7)
def test_an_old_incarnation_is_refused_with_the_one_that_holds_the_name(machine):
    machine.does(add("a"), join("Yeats", take_over=True))
    with pytest.raises(Held) as caught:
        machine.run(move("claim", "a", "yeats", incarnation=1))
    assert (caught.value.code, caught.value.details["holder"]) == ("stale_incarnation", "Yeats#2")
    assert machine.run(move("claim", "a", "yeats", incarnation=2)).events[0].by == "Yeats#2"


def test_whoever_left_does_nothing_until_it_joins_again(machine):
    machine.does(add("a"), leave("Yeats"))
    with pytest.raises(Refused) as caught:
        machine.run(move("claim", "a"))
    assert caught.value.code == "not_joined"


def test_an_unknown_task_is_told_with_the_closest_one(machine):
    machine.does(add("task-001"))
    with pytest.raises(Unknown) as caught:
        machine.run(move("claim", "task-01"))
    assert caught.value.remedy.startswith("Did you mean task-001?")


def test_a_lifecycle_that_no_pack_brings_is_refused(machine):
    with pytest.raises(Refused) as caught:
        machine.run(add("a", lifecycle="waterfall"))
    assert caught.value.code == "unknown_lifecycle"


# The same request again


@pytest.mark.promise(6)
def test_the_same_key_with_the_same_body_gives_the_same_events(machine, opened):
    first = machine.run(add("a"), key("k"))
    machine.does(move("claim", "a"))
    head = machine.log.head()
    for place in (machine, opened(machine)):
        again = place.run(add("a"), key("k"))
        assert again == first.replace(repeated=True)
        assert place.log.head() == head


@pytest.mark.promise(6)
def test_the_same_key_with_another_body_is_refused(machine):
    first = machine.run(add("a"), key("k"))
    head = machine.log.head()
    with pytest.raises(Refused) as caught:
        machine.run(add("b"), key("k", "another"))
    assert caught.value.code == "key_reused"
    assert caught.value.details == {"key": "k", "first": first.last}
    assert machine.log.head() == head


@pytest.mark.promise(6)
def test_a_key_belongs_to_whoever_used_it(machine):
    machine.does(add("a"), add("b"))
    assert not machine.run(move("claim", "a", "Yeats"), key("k", "claims a")).repeated
    assert not machine.run(move("claim", "b", "Keats"), key("k", "claims b")).repeated
    assert machine.task("b").holder == "Keats#1"


@pytest.mark.promise(6)
def test_a_key_outlives_the_incarnation_that_used_it(machine):
    machine.does(add("a"))
    first = machine.run(move("claim", "a"), key("k"))
    machine.does(join("Yeats", take_over=True))
    assert machine.run(move("claim", "a"), key("k")) == first.replace(repeated=True)


def test_a_refused_request_does_not_use_up_its_key(machine):
    with pytest.raises(Unknown):
        machine.run(move("claim", "a"), key("k"))
    machine.does(add("a"))
    assert machine.run(move("claim", "a"), key("k")).events


@pytest.mark.promise(6)
def test_a_repeat_is_recognised_even_when_the_views_are_gone(machine):
    first = machine.run(add("a"), key("k"))
    machine.engine.rebuild()
    assert machine.run(add("a"), key("k")) == first.replace(repeated=True)


# Views that could not be written


def failing(after: int, error: type[Exception] = apsw.FullError):
    """A stand-in for a method of the store that works so many times and then fails."""
    left = [after]

    def wrap(method):
        def call(*args):
            if left[0] == 0:
                raise error("injected")
            left[0] -= 1
            return method(*args)

        return call

    return wrap


@pytest.mark.promise(3)
@pytest.mark.parametrize("after", range(4))
@pytest.mark.parametrize("error", [apsw.FullError, OSError])
def test_what_was_appended_is_acknowledged_even_if_the_views_fail(machine, monkeypatch, after, error):
    machine.does(add("a"), add("b", needs=("a",)), move("claim", "a"), move("submit", "a"))
    before = machine.rows()
    with monkeypatch.context() as patch:
        patch.setattr(machine.store, "run", failing(after, error)(machine.store.run))
        outcome = machine.run(move("approve", "a", "Keats"))
    assert outcome.behind
    assert types(outcome.events) == ["task:approved", "task:readied", "message:expired", "message:sent"]
    assert rows_of(machine.store) == before, "half a commit is in no view"
    assert machine.task("a").state == "done"
    assert machine.task("b").waits == ()
    assert machine.verify().sound


@pytest.mark.promise(3)
def test_the_next_command_decides_on_what_the_views_had_missed(machine, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(machine.store, "run", failing(0)(machine.store.run))
        assert machine.run(add("a")).behind
        with pytest.raises(apsw.FullError):
            machine.run(add("b"))
    machine.does(move("claim", "a"))
    with pytest.raises(Held):
        machine.run(move("claim", "a", "Keats"))
    assert machine.log.head() == 4


@pytest.mark.promise(3)
def test_an_append_counts_even_if_the_views_cannot_commit(machine, monkeypatch):
    with monkeypatch.context() as patch:

        def commit():
            machine.store.rollback()
            raise Unavailable("views_unusable", "injected", "none")

        patch.setattr(machine.store, "commit", commit)
        outcome = machine.run(add("a"))
        assert outcome.behind
        with pytest.raises(Unavailable):
            machine.run(offer("Yeats", "m-7"))
    assert machine.task("a").exists
    assert machine.verify().sound


KILLED = """
import os, signal, sys
from tests.engine.harness import Machine, add
machine = Machine(sys.argv[1], sys.argv[1])
part = machine.engine if sys.argv[2] == "_project" else machine.store
machine.engine.read()
setattr(part, sys.argv[2], lambda *_: os.kill(os.getpid(), signal.SIGKILL))
machine.run(add("a"))
"""


@pytest.mark.promise(3)
@pytest.mark.parametrize("at", ["_project", "commit"])
@pytest.mark.on_disk
def test_a_process_killed_between_the_append_and_the_views_leaves_nothing_behind(machine, at):
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    before = machine.rows()
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, machine.directory, at],
        env={**os.environ, "PYTHONPATH": path},
        timeout=60,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    assert types(machine.log.read(machine.log.head() - 1)) == ["task:added"]
    assert list(machine.store.all_rows("task")) == before["task"]
    machine.does(move("claim", "a"))
    assert machine.task("a").holder == "Yeats#1"
    assert machine.verify().sound


# Views that are not there, or not whole


def pages(path: Path, first: int) -> None:
    """Fill all pages from this one on with noise, except those of the schema: without it the file does not open."""
    db = apsw.Connection(str(path))
    schema = {number for (number,) in db.execute("SELECT pageno FROM dbstat WHERE name = 'sqlite_schema'")}
    db.close()
    size = path.stat().st_size
    assert size > (first + 1) * 4096
    with path.open("r+b") as file:
        for number in {*range(first, size // 4096)} - {page - 1 for page in schema}:
            file.seek(number * 4096)
            file.write((bytes(range(7, 256)) * 17)[:4096])


def other_version(path: Path) -> None:
    db = apsw.Connection(str(path))
    db.pragma("user_version", stores.VERSION + 1)
    db.close()


DAMAGE = {
    "deleted": lambda path: path.unlink(),
    "emptied": lambda path: os.truncate(path, 0),
    "cut in the header": lambda path: os.truncate(path, 50),
    "cut in half": lambda path: os.truncate(path, path.stat().st_size // 2),
    "garbage": lambda path: path.write_bytes(bytes(range(256)) * 100),
    "of another version": other_version,
}


@pytest.fixture
def lived_in(machine):
    """A machine whose views fill several pages of every table."""
    letters = [send(f"m-{n}", "Yeats", text="x" * 99) for n in range(60)]
    machine.does(together(*letters, *(add(f"t{n}") for n in range(20))))
    return machine


@pytest.mark.promise(3)
@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_views_that_are_damaged_are_made_anew(lived_in, opened, damage):
    before = lived_in.rows()
    lived_in.close()
    damage(Path(lived_in.store.path))
    machine = opened(lived_in)
    assert machine.rows() == before
    assert not machine.run(move("claim", "t1")).behind
    assert machine.verify().sound


@pytest.mark.promise(3)
@pytest.mark.parametrize("first", [1, 3, 6])
def test_damage_inside_the_views_is_told_once_to_a_reader_and_gone_the_next_time(lived_in, opened, first):
    before = lived_in.rows()
    lived_in.close()
    pages(Path(lived_in.store.path), first)
    machine = opened(lived_in)
    with pytest.raises(Unavailable) as caught:
        machine.rows()
    assert caught.value.code == "views_damaged"
    assert machine.rows() == before


@pytest.mark.promise(3)
@pytest.mark.parametrize("first", [1, 3, 6])
def test_damage_inside_the_views_is_told_once_to_a_writer_and_loses_nothing(lived_in, opened, first):
    lived_in.close()
    pages(Path(lived_in.store.path), first)
    machine = opened(lived_in)
    told, acknowledged = [], []
    for n in range(20):
        try:
            outcome = machine.run(move("claim", f"t{n}", ANNA))
        except Unavailable as error:
            told.append(error.code)
        else:
            told += ["behind"] if outcome.behind else []
            acknowledged += outcome.events
    assert told in (["views_damaged"], ["behind"])
    assert machine.events("task:started") == acknowledged
    assert [task.id for task in queries.tasks(machine.engine.read(), "working")] == [e.stream[5:] for e in acknowledged]
    assert machine.verify().sound


def test_views_that_another_process_renewed_do_not_trouble_those_who_have_them_open(machine, opened):
    other = opened(machine)
    other.engine.rebuild()
    other.does(add("a"))
    machine.does(move("claim", "a"))
    third = opened(machine)
    assert third.task("a") == machine.task("a") == other.task("a")
    assert {place.verify().problems for place in (machine, other, third)} == {()}


@pytest.mark.promise(3)
@pytest.mark.on_disk
def test_a_log_restored_from_a_backup_is_not_seen_through_newer_views(machine, opened, tmp_path):
    machine.does(add("a"))
    machine.close()
    backup = shutil.copy(Path(machine.directory) / "log.db", tmp_path / "backup")
    later = opened(machine)
    later.does(move("claim", "a"), add("b"))
    later.close()
    shutil.copy(backup, Path(machine.directory) / "log.db")
    restored = opened(machine)
    assert restored.task("a").state == "open"
    assert restored.run(move("claim", "a")).events
    assert restored.verify().sound


def replaced_log(machine, opened, tmp_path):
    """Its place, with views that are newer than the log."""
    machine.does(add("a"))
    machine.close()
    backup = shutil.copy(Path(machine.directory) / "log.db", tmp_path / "backup")
    later = opened(machine)
    later.does(move("claim", "a"), add("b"))
    later.close()
    shutil.copy(backup, Path(machine.directory) / "log.db")
    return opened(machine)


@pytest.mark.parametrize("doing", ["read", "rebuild"])
@pytest.mark.on_disk
def test_views_are_made_anew_by_one_at_a_time(machine, opened, tmp_path, monkeypatch, doing):
    restored, codes = replaced_log(machine, opened, tmp_path), []
    renew = stores.Store.renew

    def watched(store, *, alone=False):
        with pytest.raises(Usage) as caught, restored.log.exclusive():
            pass
        codes.append(caught.value.code)
        return renew(store, alone=alone)

    monkeypatch.setattr(stores.Store, "renew", watched)
    getattr(restored.engine, doing)()
    assert set(codes) == {"nested_exclusive"}, "it has the turn already"


@pytest.mark.on_disk
def test_views_that_another_made_anew_meanwhile_are_kept(machine, opened, tmp_path, monkeypatch):
    restored, other = replaced_log(machine, opened, tmp_path), opened(machine)
    exclusive, left = restored.log.exclusive, [other]

    def late(**how):
        if left:
            left.pop().engine.read()  # it was faster
        return exclusive(**how)

    monkeypatch.setattr(restored.log, "exclusive", late)
    assert restored.task("a").state == "open"
    assert restored.store.path == other.store.path


def test_a_rebuild_gives_the_same_rows(lived_in):
    before = lived_in.rows()
    lived_in.engine.rebuild()
    assert lived_in.rows() == before


# Events from a newer moot


@pytest.mark.parametrize(
    "draft",
    [
        Draft("task/a", "task:teleported", {"to": "mars"}),
        Draft("agent/yeats", "agent:joined", {"name": "Yeats", "incarnation": 2, "soul": True}, v=2),
        Draft("pipeline/p", "pipeline:started", {}),
        Draft("claims", "file:blessed", {}),
    ],
    ids=lambda draft: f"{draft.type} v{draft.v}",
)
def test_who_meets_unknown_events_may_read_and_not_decide(machine, opened, draft):
    machine.does(add("a"))
    before = machine.rows()
    machine.log.append(Commit("newer", "2030-01-01T00:00:00Z", "somebody"), {}, [draft])
    head = machine.log.head()
    after = machine.rows()
    assert {**after, "standing": None} == {**before, "standing": None}
    for place in (machine, opened(machine)):
        with pytest.raises(Unavailable) as caught:
            place.run(move("claim", "a"))
        assert caught.value.code == "newer_events"
        assert caught.value.details["type"] == f"{draft.type} v{draft.v}"
        assert place.log.head() == head
        assert place.task("a").state == "open"


# What follows from what


def one_commit(events: list[Event]) -> bool:
    return len({event.commit for event in events}) == 1


@pytest.mark.promise(9)
def test_dependencies_are_released_in_the_completing_commit(machine):
    machine.does(add("a"), add("b"), add("c", needs=("a", "b")), add("d", needs=("a",), lifecycle="orchestrator"))
    with pytest.raises(Refused):
        machine.run(move("claim", "c"))
    machine.does(move("claim", "a"), move("submit", "a"))
    released = machine.does(move("approve", "a", "Keats"))
    assert [(e.type, e.stream) for e in released] == [
        ("task:approved", "task/a"),
        ("task:readied", "task/c"),
        ("task:readied", "task/d"),
        ("message:expired", "mailbox/keats"),  # the request for the review
        ("message:sent", released[-1].stream),  # to the author
    ]
    assert one_commit(released)
    assert (machine.task("c").waits, machine.task("d").waits) == (("b",), ())
    machine.does(*finish_reviewed("b"))
    assert machine.does(move("claim", "c"))[0].type == "task:started"


def finish_reviewed(task: str) -> list[Command]:
    return [move("claim", task), move("submit", task), move("approve", task, "Keats")]


@pytest.mark.promise(9)
def test_a_reopened_task_blocks_again_those_that_need_it_in_the_same_commit(machine):
    machine.does(add("a"), add("b", needs=("a",)), add("c", needs=("a",)), *finish_reviewed("a"), move("claim", "c"))
    blocked = machine.does(move("reopen", "a", ANNA))
    assert [(e.type, e.stream) for e in blocked] == [
        ("task:reopened", "task/a"),
        ("task:blocked", "task/b"),
        ("task:blocked", "task/c"),
    ]
    assert one_commit(blocked)
    with pytest.raises(Refused) as caught:
        machine.run(move("claim", "b"))
    assert caught.value.code == "task_blocked"


@pytest.mark.promise(9)
def test_a_task_given_back_waits_for_what_was_reopened_meanwhile(machine):
    machine.does(add("a"), add("b", needs=("a",)), *finish_reviewed("a"), move("claim", "b"))
    machine.does(move("reopen", "a", ANNA), move("release", "b"))
    assert [task.id for task in queries.ready(machine.engine.read())] == ["a"]
    with pytest.raises(Refused):
        machine.run(move("claim", "b"))


@pytest.mark.promise(9)
def test_a_reopened_task_waits_itself_for_what_is_not_done_any_more(machine):
    machine.does(add("a"), add("b", needs=("a",)), *finish_reviewed("a"), *finish_reviewed("b"))
    machine.does(move("reopen", "a", ANNA))
    assert machine.task("b").state == "done"
    machine.does(move("reopen", "b", ANNA))
    assert machine.task("b").waits == ("a",)
    assert [task.id for task in queries.ready(machine.engine.read())] == ["a"]


@pytest.mark.promise(9)
def test_a_need_that_was_done_when_it_was_linked_counts_as_any_other(machine):
    machine.does(add("a"), add("b"), *finish_reviewed("a"), link("b", "a"), *finish_reviewed("b"))
    machine.does(move("reopen", "a", ANNA), move("reopen", "b", ANNA))
    assert [task.id for task in queries.ready(machine.engine.read())] == ["a"]
    machine.does(*finish_reviewed("a"))
    assert [task.id for task in queries.ready(machine.engine.read())] == ["b"]


@pytest.mark.promise(9)
def test_a_task_linked_while_somebody_works_on_it_waits_once_it_is_given_back(machine):
    machine.does(add("a"), add("b"), move("claim", "b"), link("b", "a"), move("release", "b"))
    assert machine.task("b").waits == ("a",)


@pytest.mark.promise(9)
def test_what_is_no_longer_needed_blocks_nobody_any_more(machine):
    machine.does(add("a"), add("b", needs=("a",)), add("c", needs=("b",)))
    assert types(machine.does(unlink("b", "a"))) == ["graph:unlinked", "task:readied"]
    machine.does(link("a", "c"))
    with pytest.raises(Refused):
        machine.run(link("c", "a"))
    machine.does(*finish_reviewed("b"), move("reopen", "b", ANNA))
    assert machine.task("b").waits == ()
    assert machine.verify().sound


def test_a_dependency_that_one_commit_turns_round_is_no_cycle(machine):
    machine.does(add("a"), add("b", needs=("a",)))
    steps = (unlink("b", "a"), link("a", "b"))
    turned = Command("turn round", ANNA, lambda work: [step.act(work) for step in steps])
    assert types(machine.does(turned)) == ["graph:unlinked", "task:readied", "graph:linked", "task:blocked"]


def test_what_is_needed_and_done_already_blocks_nobody(machine):
    machine.does(add("a"), *finish_reviewed("a"), add("b", needs=("a",)))
    assert machine.does(move("claim", "b"))


@pytest.mark.promise(9)
def test_a_cycle_is_refused_when_it_is_written_and_leaves_nothing(machine):
    machine.does(add("a"), add("b", needs=("a",)), add("c", needs=("b",)))
    head = machine.log.head()
    with pytest.raises(Refused) as caught:
        machine.run(link("a", "c"))
    assert caught.value.details["cycle"] == ["a", "c", "b", "a"]
    assert machine.log.head() == head


@pytest.mark.promise(8)
def test_whoever_is_replaced_loses_tasks_and_files_in_the_joining_commit(machine):
    machine.does(
        add("a"), add("b"), add("kept"), move("claim", "a"), move("claim", "b"), move("claim", "kept", "Keats")
    )
    machine.does(claim_files("c1", "Yeats#1", "src/"), claim_files("c2", "Keats#1", "docs/"))
    replaced = machine.does(join("Yeats", take_over=True))
    assert [(e.type, e.stream) for e in replaced] == [
        ("agent:joined", "agent/yeats"),
        ("task:lapsed", "task/a"),
        ("task:lapsed", "task/b"),
        ("file:lapsed", "claims"),
    ]
    assert one_commit(replaced)
    assert replaced[1].data["reason"] == "replaced by Yeats#2"
    assert [machine.task(name).holder for name in ("a", "b", "kept")] == [None, None, "Keats#1"]
    assert [claim.holder for claim in states.claims(machine.store)[0].live.values()] == ["Keats#1"]


@pytest.mark.promise(8)
def test_whoever_leaves_lets_go_of_everything_in_the_same_commit(machine):
    machine.does(add("a"), move("claim", "a"), claim_files("c1", "Yeats#1", "src/"), send("m-1", "Yeats"))
    left = machine.does(leave("yeats"))
    assert types(left) == ["agent:left", "task:lapsed", "file:released"]
    assert one_commit(left)
    assert machine.task("a").attempt == 1, "who takes its leave has used up no attempt"
    assert queries.count_open(machine.engine.read(), "Yeats") == 1


def test_the_lifecycle_says_what_happens_to_a_task_when_its_holder_leaves(machine):
    lead = join("Lead", roles=("team-lead",))
    machine.does(lead, add("a", lifecycle="flagging"), move("claim", "a", "Lead"))
    machine.does(add("b", lifecycle="orchestrator"), move("claim", "b", "Lead"))
    assert types(machine.does(leave("Lead"))) == ["agent:left", "task:flagged"]
    assert machine.task("a").flagged == "Lead left"
    assert machine.task("b").flagged is None, "its holder is the lead that started it; the developer goes on"


@pytest.mark.promise(5)
def test_whoever_retires_leaves_no_mail_that_waits_for_nobody(machine):
    machine.does(send("m-1", "Yeats", "Keats"), send("m-2", "Yeats", wants="nothing"), send("m-3", "yeats"))
    machine.does(answer("Yeats", "m-3", reply="m-9"))
    retired = machine.does(leave("Yeats", retire=True))
    assert types(retired) == ["agent:left", "message:dead"]
    assert one_commit(retired)
    assert retired[1].data == {"ids": ["m-1", "m-2"], "reason": "Yeats retired"}
    stages = {box: entry.stage for box, entry, _, _ in queries.chain(machine.engine.read(), "m-1")}
    assert stages == {"yeats": "dead", "keats": "stored"}


# Mail


@pytest.mark.promise(5)
def test_the_sender_sees_where_each_recipient_stands(machine):
    machine.does(send("m-1", "Yeats", "Keats", "Ada", "@dev", "person:anna"))
    machine.does(offer("Yeats", "m-1"), ack("Keats", "m-1", who="Keats#1"), ack("@dev", "m-1", who="Keats#1"))
    machine.does(answer("@dev", "m-1", reply="m-2", who="Keats#1"))
    machine.does(Command("expire", ANNA, lambda work: work.do("mailbox", "Ada", Expire(ids=("m-1",)))))
    chain = queries.chain(machine.engine.read(), "m-1")
    assert {box: entry.stage for box, entry, _, _ in chain} == {
        "yeats": "offered",
        "keats": "acked",
        "ada": "expired",
        "@dev": "answered",
        "person:anna": "stored",
    }
    times = {box: (shown is not None, ended is not None) for box, _, shown, ended in chain}
    assert times["yeats"] == times["keats"] == (True, False), "what wants an answer does not end by being read"
    assert times["ada"] == (False, True)
    assert times["person:anna"] == (False, False)
    assert machine.verify().sound


def test_recipients_do_not_touch_each_other(machine):
    machine.does(send("m-1", "Yeats", "Keats"))
    (event,) = machine.does(offer("Yeats", "m-1"))
    assert event.stream == "mailbox/yeats"
    assert queries.count_open(machine.engine.read(), "Keats") == 1


@pytest.mark.promise(8)
def test_a_lease_ends_by_an_event_and_only_once(machine):
    machine.does(add("a", ttl=60.0), move("claim", "a"))
    lapse = LapseTask(silent_for=61.0, ttl=60.0, reason="Yeats was silent for 61 s")
    command = Command("lapse", ANNA, lambda work: work.do("task", "a", lapse))
    assert types(machine.does(command)) == ["task:lapsed"]
    assert machine.does(command) == []
    assert machine.task("a").holder is None
