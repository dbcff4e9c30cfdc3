"""The views: what one looks at follows from the log, however it was folded in, and from nothing else."""

from __future__ import annotations

import itertools

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moot.core.deciders.held_entry import Drop, HoldEntry
from moot.core.deciders.mailbox import Clear, Restore
from moot.core.errors import Unavailable
from moot.core.event import Commit, Draft
from moot.core.ids import number_of
from moot.views import queries, states
from moot.views.project import project
from moot.views.store import Store
from tests.engine.harness import (
    ANNA,
    NOON,
    TABLES,
    Command,
    Machine,
    ack,
    add,
    answer,
    claim_files,
    finish,
    join,
    leave,
    link,
    move,
    offer,
    rows_of,
    send,
)

pytestmark = pytest.mark.in_memory

HELD = HoldEntry(path="to-developer.json", mirror="to-developer", raw="{}", code="bad_message", reason="empty")
LATER = "2030-01-01T13:00:00.000Z"


def hold(name: str) -> Command:
    return Command(f"hold {name}", ANNA, lambda work: work.do("entry", name, HELD))


def drop(name: str) -> Command:
    return Command(f"drop {name}", ANNA, lambda work: work.do("entry", name, Drop(reason="seen")))


def clear(mailbox: str, *ids: str) -> Command:
    return Command(f"clear {ids}", ANNA, lambda work: work.do("mailbox", mailbox, Clear(ids=ids, reason="asked")))


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory):
    """A workspace with a past, for reading."""
    place = tmp_path_factory.mktemp("lived")
    machine = Machine(place, place)
    machine.does(
        join("Yeats", roles=("reviewer",)),
        join("Keats"),
        join("Ada"),
        leave("Ada", retire=True),
        add("task-001", review=False, priority="low"),
        add("task-007", needs=("task-001",)),
        add("big", priority="high"),
        add("task-003", needs=("task-001", "big"), priority="high"),
        *finish("task-001"),
        move("claim", "big", "Keats"),
        send("m-1", "Yeats", "Keats", "@dev", text="first", task="big"),
        send("m-2", "yeats", wants="nothing", text="note"),
        send("m-3", "Keats", by="Yeats", text="third", reply_to="m-1", task="big", attempt=2),
        send("m-4", "@dev", wants="ack"),
        offer("Yeats", "m-1", "m-2"),
        offer("Keats", "m-1", to="Keats#1"),
        answer("Keats", "m-1", reply="m-3", who="Keats#1"),
        ack("@dev", "m-1", who="Keats#1"),
        ack("@dev", "m-4", who="Keats#1", at=LATER),
        clear("@dev", "m-1"),
        claim_files("c1", "Keats#1", "src/"),
        hold("h-1"),
        hold("h-2"),
        drop("h-2"),
    )
    machine.engine.read()
    yield machine
    machine.close()


@pytest.fixture
def store(lived: Machine) -> Store:
    return lived.engine.read()


def ids(deliveries: list[queries.Delivery]) -> list[str]:
    return [delivery.entry.id for delivery in deliveries]


# Mail


@pytest.mark.promise(5)
def test_an_inbox_has_what_is_not_settled_oldest_first_and_names_have_no_case(store):
    assert ids(queries.inbox(store, ("YEATS",), 10)) == ["m-1"]
    assert ids(queries.inbox(store, ("Yeats", "keats", "@dev"), 10)) == ["m-1", "m-1", "m-3"]
    assert ids(queries.inbox(store, ("Yeats", "keats", "@dev"), 1)) == ["m-1"]
    (delivery,) = queries.inbox(store, ("yeats",), 10)
    assert (delivery.mailbox, delivery.message.text, delivery.entry.seen) == ("yeats", "first", ("Yeats#1",))


def test_open_mail_is_counted(store):
    assert [queries.count_open(store, box) for box in ("Yeats", "Keats", "@dev", "nobody")] == [1, 1, 1, 0]


def test_whatever_wants_something_is_told_wherever_it_lies(store):
    waiting = [(d.entry.id, d.mailbox) for d in queries.waiting(store)]
    assert sorted(waiting) == [("m-1", "@dev"), ("m-1", "yeats"), ("m-3", "keats")]


def test_a_mailbox_keeps_everything_cleared_or_not(store):
    assert ids(queries.mailbox(store, "@DEV")) == ["m-1", "m-4"]
    assert ids(queries.mailbox(store, "@dev", "big")) == ["m-1"]
    assert queries.mailbox(store, "@dev")[0].entry.hidden == "asked"


@pytest.mark.promise(5)
def test_the_time_of_the_last_read_is_known_and_so_are_those_before(store):
    assert (queries.last_read(store, "@dev"), queries.last_read(store, "Yeats"), queries.last_read(store, "x")) == (
        LATER,
        None,
        None,
    )
    assert queries.was_last_read(store, "@Dev", NOON)
    assert queries.was_last_read(store, "@dev", LATER)
    assert not queries.was_last_read(store, "yeats", NOON)


@pytest.mark.promise(5)
def test_the_chain_of_a_message_names_each_recipient_with_its_stage_and_times(store, lived):
    at = {event.type: event.at for event in lived.events() if event.data.get("ids") == ["m-1"]}
    answered = lived.events("message:answered")[0].at
    chain = {box: (entry.stage, shown, ended) for box, entry, shown, ended in queries.chain(store, "m-1")}
    assert chain["yeats"][0] == "offered"
    assert chain["yeats"][2] is None
    assert chain["keats"] == ("answered", at["message:offered"], answered)
    assert chain["@dev"] == ("acked", at["message:acked"], None)
    assert queries.chain(store, "m-7") == []


@pytest.mark.promise(5)
def test_what_is_put_back_as_unread_has_no_times_until_it_is_read_again(tmp_path):
    machine = Machine(tmp_path, tmp_path)
    machine.does(send("m-1", "@dev", wants="ack"), offer("@dev", "m-1"), ack("@dev", "m-1"), clear("@dev", "m-1"))
    restore = Restore(ids=("m-1",))
    machine.does(Command("restore", ANNA, lambda work: work.do("mailbox", "@dev", restore)))
    ((_, entry, *times),) = queries.chain(machine.engine.read(), "m-1")
    assert (entry.stage, times) == ("stored", [None, None])
    (again,) = machine.does(ack("@dev", "m-1"))
    assert [ended for *_, ended in queries.chain(machine.engine.read(), "m-1")] == [again.at]
    assert machine.verify().sound
    machine.close()


def test_a_thread_and_the_messages_of_a_task(store):
    assert [message.id for message in queries.thread(store, "m-1")] == ["m-1"]
    assert [message.id for message in queries.messages_of_task(store, "big")] == ["m-1", "m-3"]
    assert [message.id for message in queries.messages_of_task(store, "big", 2, "note")] == ["m-3"]
    assert queries.messages_of_task(store, "big", kind="request") == []
    message, version = states.message(store, "m-3")
    assert (message.reply_to, message.sender, version) == ("m-1", "Yeats#1", message.position)


def test_a_protocol_s_file_shows_what_is_of_its_kinds_and_was_not_cleared(tmp_path):
    machine = Machine(tmp_path, tmp_path)
    machine.does(join("Yeats"), *(send(f"m-{n}", "@dev") for n in range(2)))
    typed = Draft(
        "message/m-9", "message:sent", {"kind": "task_assignment", "sender": ANNA, "to": ["@dev"], "mirror": "file"}
    )
    for name in ("m-8", "m-9"):
        data = {**typed.data, "wants": "ack", "data": {"taskId": "t"}}
        machine.log.append(
            Commit(name, NOON, ANNA), {}, [typed.replace(stream=f"message/{name}", data=data, pack="orchestrator")]
        )
    machine.does(clear("@dev", "m-8"))
    assert ids(queries.shown_in_file(machine.engine.read(), "@dev", ["task_assignment"])) == ["m-9"]
    assert queries.shown_in_file(machine.store, "@dev", ["completion_report"]) == []
    machine.close()


# Tasks


def test_ready_is_what_can_be_claimed_most_urgent_first(tmp_path):
    machine = Machine(tmp_path, tmp_path)
    machine.does(add("low", priority="low"), add("b"), add("a"), add("high", priority="high"), add("c", needs=("a",)))
    assert [task.id for task in queries.ready(machine.engine.read())] == ["high", "b", "a", "low"]
    assert [task.id for task in queries.ready(machine.store, 1)] == ["high"]
    machine.close()


def test_the_board_has_tasks_by_state_or_phase_in_the_order_they_came(store):
    assert [task.id for task in queries.tasks(store)] == ["task-001", "task-007", "big", "task-003"]
    assert [task.id for task in queries.tasks(store, ended=False)] == ["task-007", "big", "task-003"]
    assert [task.id for task in queries.tasks(store, "done")] == ["task-001"]
    assert [task.id for task in queries.tasks(store, "open")] == ["task-007", "task-003"]
    assert queries.counts(store) == [("done", "done", 1, 0), ("open", "open", 2, 1), ("working", "working", 1, 0)]
    assert queries.task_ids(store, "open") == ["task-007", "task-003"]
    assert sorted(queries.task_ids(store)) == ["big", "task-001", "task-003", "task-007"]


def test_who_holds_what_and_who_waits_for_whom(store):
    assert queries.tasks_held_by(store, "Keats#1") == queries.held_tasks(store) == ["big"]
    assert queries.tasks_held_by(store, "Keats#2") == []
    assert queries.dependents(store, "task-001") == ["task-003", "task-007"]


def test_the_highest_number_counts_every_id_of_its_form(store):
    assert queries.highest_number(store) == 7
    assert [number_of(name) for name in ("task-007", "task-12", "big", "task-", "task-x1", "task-²", "task-1 ")] == [
        7,
        12,
        0,
        0,
        0,
        0,
        0,
    ]
    assert number_of("task-" + "9" * 9) == 10**9 - 1
    assert number_of("task-" + "9" * 10) == 0, "somebody's own, such as a date"


def test_agents_and_what_is_held(store):
    assert [(a.name, a.here, a.retired, a.roles) for a in queries.agents(store)] == [
        ("Ada", False, True, ()),
        ("Keats", True, False, ()),
        ("Yeats", True, False, ("reviewer",)),
    ]
    assert [entry.id for entry in queries.held_entries(store)] == ["h-1"]
    assert queries.newer(store) is None


# States


def test_a_state_comes_with_the_version_of_its_stream(store, lived):
    last = {event.stream: event.position for event in lived.events()}
    assert states.agent(store, "Yeats")[1] == last["agent/yeats"]
    assert states.task(store, "big")[1] == last["task/big"]
    assert states.claims(store)[1] == last["claims"]
    assert states.state(store, "entry", "h-2")[1] == last["entry/h-2"]
    assert states.graph(store, ())[1] == last["graph"]
    assert states.mailbox(store, "@Dev", ["m-1"])[1] == last["mailbox/@dev"]
    assert states.message(store, "m-1")[1] == last["message/m-1"]


def test_what_is_not_there_is_an_empty_state_of_version_0(store):
    assert [
        state[1] for state in (states.task(store, "x"), states.state(store, "entry", "x"), states.message(store, "x"))
    ] == [0] * 3
    assert not states.task(store, "x")[0].exists
    assert states.agent(store, "Zoe")[0].name == "Zoe"
    assert states.mailbox(store, "Zoe", ["m-1"])[0].plain() == {"name": "Zoe"}


def test_a_mailbox_is_loaded_in_slices(store):
    box, _ = states.mailbox(store, "@Dev", ["m-4", "m-7"])
    assert (box.name, box.shared, box.last_read, list(box.entries)) == ("@Dev", True, LATER, ["m-4"])


def test_a_graph_is_loaded_as_far_as_one_gets(tmp_path):
    machine = Machine(tmp_path, tmp_path)
    machine.does(*(add(name) for name in "abcdxy"), link("b", "a"), link("c", "b", "a"), link("d", "c"), link("y", "x"))
    assert states.graph(machine.engine.read(), ["c"])[0].needs == {"b": {"a"}, "c": {"a", "b"}}
    assert states.graph(machine.store, ["a", "x", "nothing"])[0].needs == {}
    machine.close()


# Folding


@pytest.mark.promise(2)
@given(cuts=st.lists(st.integers(0, 60), max_size=6))
@settings(max_examples=15)
def test_views_are_the_same_however_the_log_was_cut_into_pieces(lived, tmp_path_factory, cuts):
    events, store = lived.events(), Store(str(tmp_path_factory.mktemp("cut")))
    edges = sorted({0, *(cut for cut in cuts if cut < len(events)), len(events)})
    for start, end in itertools.pairwise(edges):
        store.begin()
        project(store, events[start:end])
        store.commit()
    assert rows_of(store) == lived.rows()
    store.close()


@pytest.mark.promise(3)
def test_rows_and_cursor_move_together(lived, tmp_path):
    events, store = lived.events(), Store(str(tmp_path))
    store.begin()
    project(store, events[:10])
    assert store.cursor() == 10
    store.rollback()
    assert store.cursor() == 0
    assert all(list(store.all_rows(table)) == [] for table in TABLES)
    store.close()


@pytest.mark.promise(3)
def test_no_event_is_skipped_or_folded_twice(lived, tmp_path):
    events, store = lived.events(), Store(str(tmp_path))
    project(store, events[:5])
    before = rows_of(store)
    for wrong in (events[6:], events[4:8], events[:5], [events[5], events[7]]):
        with pytest.raises(Unavailable) as caught:
            project(store, wrong)
        assert caught.value.code == "views_gap"
    assert rows_of(store) == before
    project(store, [])
    project(store, events[5:])
    assert rows_of(store) == lived.rows()
    store.close()


# The file


@pytest.mark.promise(3)
def test_a_full_disk_is_said_and_the_views_catch_up_when_there_is_room(tmp_path):
    machine = Machine(tmp_path, tmp_path)
    machine.does(join("Yeats"))
    machine.store.db.pragma("max_page_count", 1)  # it cannot get larger than it is
    outcomes = [machine.run(send("m-0", "Yeats", text="x" * 90_000, limit=10**6))]
    assert outcomes[0].behind
    for attempt in (machine.engine.read, lambda: machine.run(send("m-1", "Yeats"))):
        with pytest.raises(Unavailable) as caught:
            attempt()
        assert caught.value.code == "disk_full"
    machine.store.db.pragma("max_page_count", 10_000)
    assert queries.count_open(machine.engine.read(), "Yeats") == 1
    assert machine.verify().sound
    machine.close()


def test_a_folder_that_cannot_be_used_is_said(tmp_path):
    with pytest.raises(Unavailable) as caught:
        Store(str(tmp_path / "nowhere")).cursor()
    assert caught.value.code == "views_unusable"


def test_a_mistake_of_ours_is_not_taken_for_damage(tmp_path):
    store = Store(str(tmp_path))
    store.cursor()
    path = store.path
    with pytest.raises(apsw.SQLError):
        list(store.all_rows("nonesuch"))
    assert store.cursor() == 0
    assert store.path == path
    store.close()


def test_the_views_do_not_sync_at_each_commit(tmp_path):
    """One sync for each command: the log's. Views can be made anew."""
    store = Store(str(tmp_path))
    assert store.db.execute("PRAGMA synchronous").fetchone() == (1,)
    assert store.db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    store.close()
