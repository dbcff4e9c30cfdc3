"""Several machines on one log, without any lock: every race has one winner, and the log is a serial history.

Each machine has views of its own, as the users of a shared log would have. `interrupted` lets another machine commit
in the moment between deciding and appending.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from moot.core.errors import Held, MootError, Refused
from moot.core.task import DescribeTask
from moot.views import queries, states
from tests.engine.harness import (
    ANNA,
    Command,
    Machine,
    ack,
    add,
    answer,
    claim_files,
    interrupted,
    join,
    key,
    link,
    move,
    offer,
    release_files,
    send,
    together,
    types,
    unlink,
)

if TYPE_CHECKING:
    from moot.engine.unit_of_work import Work

pytestmark = pytest.mark.in_memory


@pytest.fixture
def two(machines):
    """Two machines, two agents, two tasks."""
    one, other = machines(), machines()
    one.does(join("Yeats"), join("Keats"), add("a"), add("b"))
    return one, other


def agree(*machines: Machine) -> None:
    """All see the same, and it is what the log says."""
    for machine in machines:
        assert machine.rows() == machines[0].rows()
        assert machine.verify().problems == ()


@pytest.mark.promise(7)
def test_a_task_that_another_took_meanwhile_is_refused_with_the_winner_s_name(two):
    one, other = two
    with pytest.raises(Held) as caught:
        one.run(interrupted(move("claim", "a", "Yeats"), lambda: other.does(move("claim", "a", "Keats"))))
    assert caught.value.details["holder"] == "Keats#1"
    assert [event.by for event in one.events("task:started")] == ["Keats#1"]
    agree(one, other)


@pytest.mark.promise(7)
def test_a_file_that_another_took_meanwhile_is_refused(two):
    one, other = two
    rival = claim_files("c2", "Keats#1", "src/*.py")
    with pytest.raises(Held):
        one.run(interrupted(claim_files("c1", "Yeats#1", "src/api.py"), lambda: other.does(rival)))
    assert [claim.id for claim in states.claims(one.engine.read())[0].live.values()] == ["c2"]
    agree(one, other)


def test_what_does_not_meet_is_both_done_at_the_second_try(two):
    one, other = two
    rival = claim_files("c2", "Keats#1", "docs/")
    outcome = one.run(interrupted(claim_files("c1", "Yeats#1", "src/"), lambda: other.does(rival)))
    assert types(outcome.events) == ["file:claimed"]
    assert len(states.claims(other.engine.read())[0].live) == 2
    agree(one, other)


@pytest.mark.promise(3)
def test_what_another_appends_just_before_is_not_skipped_by_the_views(two):
    one, other = two
    outcome = one.run(interrupted(add("c"), lambda: other.does(add("d"), send("m-1", "Yeats"))))
    assert outcome.last == one.log.head()
    assert (one.task("c").exists, one.task("d").exists) == (True, True)
    assert queries.count_open(one.engine.read(), "Yeats") == 1
    agree(one, other)


@pytest.mark.promise(9)
def test_two_machines_cannot_close_a_cycle(two):
    one, other = two
    with pytest.raises(Refused) as caught:
        one.run(interrupted(link("a", "b"), lambda: other.does(link("b", "a"))))
    assert caught.value.details["cycle"] == ["a", "b", "a"]
    agree(one, other)


@pytest.mark.promise(9)
def test_nor_by_a_path_through_tasks_that_neither_of_them_wrote(two):
    one, other = two
    one.does(*(add(name) for name in "cdef"), link("b", "c"), link("c", "d"), link("e", "f"), link("f", "a"))
    with pytest.raises(Refused) as caught:
        one.run(interrupted(link("a", "b"), lambda: other.does(link("d", "e"))))
    assert caught.value.details["cycle"] == ["a", "b", "c", "d", "e", "f", "a"]
    agree(one, other)


@pytest.mark.promise(9)
def test_a_task_added_while_what_it_needs_is_completed_does_not_wait_for_ever(two):
    one, other = two
    one.does(move("claim", "a"), move("submit", "a"))
    done = move("approve", "a", "Keats")
    one.run(interrupted(add("c", needs=("a",)), lambda: other.does(done)))
    assert one.task("c").waits == ()
    agree(one, other)


@pytest.mark.promise(9)
def test_a_task_completed_while_another_begins_to_need_it_releases_that_one(two):
    one, other = two
    one.does(move("claim", "a"), move("submit", "a"))
    outcome = one.run(interrupted(move("approve", "a", "Keats"), lambda: other.does(add("c", needs=("a",)))))
    assert types(outcome.events)[:2] == ["task:approved", "task:readied"]
    assert one.task("c").waits == ()
    agree(one, other)


@pytest.mark.promise(6)
def test_the_same_key_on_two_machines_at_once_is_one_request(two):
    one, other = two
    first = []
    outcome = one.run(interrupted(add("c"), lambda: first.append(other.run(add("c"), key("k")))), key("k"))
    assert outcome == first[0].replace(repeated=True)
    assert len(one.events("task:added")) == 3
    agree(one, other)


@pytest.mark.promise(6)
def test_the_same_key_for_two_requests_at_once_is_refused_to_the_slower(two):
    one, other = two
    with pytest.raises(Refused) as caught:
        one.run(interrupted(add("c"), lambda: other.run(add("d"), key("k", "d2"))), key("k", "d1"))
    assert caught.value.code == "key_reused"
    agree(one, other)


@pytest.mark.promise(7)
def test_a_role_s_message_is_taken_by_one(two):
    one, other = two
    one.does(send("m-1", "@dev", wants="ack"))
    with pytest.raises(Held) as caught:
        one.run(interrupted(ack("@dev", "m-1", who="Yeats#1"), lambda: other.does(ack("@dev", "m-1", who="Keats#1"))))
    assert caught.value.details["taker"] == "Keats#1"
    agree(one, other)


def test_an_id_that_another_used_meanwhile_is_taken(two):
    one, other = two
    with pytest.raises(Held) as caught:
        one.run(interrupted(add("c"), lambda: other.does(add("c"))))
    assert caught.value.code == "task_exists"
    agree(one, other)


@pytest.mark.promise(8)
def test_a_replaced_incarnation_that_was_about_to_act_is_refused(two):
    one, other = two
    with pytest.raises(Held) as caught:
        one.run(
            interrupted(move("claim", "a", "Yeats", incarnation=1), lambda: other.does(join("Yeats", take_over=True)))
        )
    assert caught.value.code == "stale_incarnation"
    agree(one, other)


def test_no_update_is_lost(two):
    """Both raise one number, each always interrupted by the other."""
    one, other = two

    def act(work: Work) -> None:
        work.do("task", "a", DescribeTask({"n": work.task("a").extra.get("n", 0) + 1}))

    more = Command("count", ANNA, act)
    for turn in range(10):
        first, second = (one, other) if turn % 2 else (other, one)
        first.run(interrupted(more, lambda second=second: second.run(more)))
    assert one.task("a").extra == {"n": 20}
    agree(one, other)


def test_whoever_is_always_too_late_is_told_so_in_the_end(two):
    one, other = two
    count = iter(range(1000))

    def act(work: Work) -> None:
        work.do("task", "a", DescribeTask({"mine": True}))
        other.run(Command("busy", ANNA, lambda w: w.do("task", "a", DescribeTask({"n": next(count)}))))

    with pytest.raises(Held) as caught:
        one.run(Command("late", ANNA, act))
    assert (caught.value.code, caught.value.details["stream"]) == ("lost_race", "task/a")
    assert one.task("a").extra == {"n": 49}
    agree(one, other)


@pytest.mark.promise(3)
def test_a_machine_that_was_away_catches_up_before_it_decides(machines):
    one, away = machines(), machines()
    one.does(join("Yeats"), join("Keats"), *(add(f"t{n}") for n in range(30)), move("claim", "t7"))
    with pytest.raises(Held):
        away.run(move("claim", "t7", "Keats"))
    agree(one, away, machines())


# Any interleaving: what the machines did together is what one machine does alone, in the order of the log

PEOPLE = ("Yeats", "Keats", ANNA)
TASKS, LATER = ("a", "b", "c"), ("d", "e")
HOLDERS = ("Yeats#1", "Keats#1")
MAIL = ("m-1", "m-2", "m-3", "m-4")
some_task = st.sampled_from([*TASKS, *TASKS, *LATER])
somebody, some_holder = st.sampled_from(PEOPLE), st.sampled_from(HOLDERS)
some_mail, some_box = st.sampled_from(MAIL), st.sampled_from(["@dev", "@dev", "Yeats"])
some_path = st.sampled_from(["src/", "src/a.py", "docs/*.md"])
verbs = st.sampled_from(
    ["claim", "claim", "claim", "submit", "submit", "approve", "approve", "reject", "release", "reopen"]
)

commands = st.one_of(
    st.builds(move, verbs, some_task, somebody),
    st.builds(move, verbs, some_task, somebody),
    st.builds(add, st.sampled_from(LATER), needs=st.lists(some_task, max_size=2, unique=True).map(tuple)),
    st.builds(link, some_task, some_task),
    st.builds(unlink, some_task, some_task),
    st.builds(claim_files, st.sampled_from(["c1", "c2", "c3"]), some_holder, some_path),
    st.builds(release_files, some_holder, some_path),
    st.builds(send, st.sampled_from(["m-4", "m-5"]), some_box, wants=st.sampled_from(["ack", "nothing"])),
    st.builds(offer, some_box, some_mail, to=some_holder),
    st.builds(ack, some_box, some_mail, who=some_holder),
    st.builds(lambda box, name, who: answer(box, name, reply="m-9", who=who), some_box, some_mail, some_holder),
)


def deeds(events):
    """What was done. The ids of moot's own mail are random: those of this test have one character."""
    return [(e.position, plain(e.stream), e.prev, e.type, e.v, plain(e.data), e.by, e.thread, e.n) for e in events]


def plain(told: object) -> str:
    return re.sub(r"\bm-\w{2,}", "m-~", str(told))


class Interleavings(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.place = Path(tempfile.mkdtemp(prefix="moot-"))
        log = self.place / "log"
        self.machines = [Machine(log, self.place / name, exclusive=False) for name in ("one", "other")]
        self.done, self.refusals = [], set()

    @initialize()
    def begin(self):
        mail = (send("m-1", "@dev", wants="ack"), send("m-2", "Yeats", "@dev"), send("m-3", "@dev", wants="nothing"))
        self._commit(0, together(join("Yeats"), join("Keats"), *map(add, TASKS), *mail))

    def _commit(self, which, command, meanwhile=None):
        """Run it, and note what was done, under the position at which the log has it."""
        asked = command if meanwhile is None else interrupted(command, meanwhile)
        try:
            outcome = self.machines[which].run(asked)
        except MootError as error:
            self.refusals.add(error.code)
            return
        if outcome.events:
            self.done.append((outcome.events[0].position, command, outcome.events))

    @rule(which=st.integers(0, 1), command=commands)
    def alone(self, which, command):
        self._commit(which, command)

    @rule(which=st.integers(0, 1), command=commands, others=st.lists(commands, min_size=1, max_size=2))
    def against_each_other(self, which, command, others):
        def meanwhile() -> None:
            for other in others:
                self._commit(1 - which, other)

        self._commit(which, command, meanwhile)

    @rule(which=st.integers(0, 1), name=st.sampled_from(TASKS), by=some_holder, other=commands)
    def a_task_goes_on(self, which, name, by, other):
        """The next step of a task by whoever may take it, so that histories get long."""
        task = self.machines[which].task(name)
        verb = {"open": "claim", "working": "submit", "review": "approve"}.get(task.phase, "reopen")
        who = {"claim": by, "submit": task.holder or by}.get(verb, ANNA).partition("#")[0]
        self._commit(which, move(verb, name, who), lambda: self._commit(1 - which, other))

    @rule(which=st.integers(0, 1), command=commands)
    def the_same_twice_at_once(self, which, command):
        self._commit(which, command, lambda: self._commit(1 - which, command))

    def teardown(self):
        try:
            self._check()
        finally:
            for machine in self.machines:
                machine.close()
            shutil.rmtree(self.place)

    def _check(self):
        one, other = self.machines
        assert "lost_race" not in self.refusals
        agree(one, other)
        self._check_waiting(one.engine.read())
        serial = Machine(self.place / "serial", self.place / "serial")
        self.machines.append(serial)
        for _, command, events in sorted(self.done, key=lambda deed: deed[0]):
            assert deeds(serial.run(command).events) == deeds(events), command
        assert deeds(serial.events()) == deeds(one.events())

    def _check_waiting(self, store):
        """A task waits for exactly those of its needs that are not done."""
        tasks = {task.id: task for task in queries.tasks(store)}
        needs = states.graph(store, tasks)[0].needs
        for name, task in tasks.items():
            assert set(task.waits) == {need for need in needs.get(name, ()) if tasks[need].phase != "done"}


TestInterleavings = pytest.mark.promise(2)(
    pytest.mark.promise(3)(pytest.mark.promise(7)(pytest.mark.promise(9)(Interleavings.TestCase)))
)
Interleavings.TestCase.settings = settings(max_examples=settings.default.max_examples // 5, stateful_step_count=15)
