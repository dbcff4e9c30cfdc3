"""Needs, artifacts and checkpoints on two machines without a lock: every history is one that could have been serial."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from moot.core.errors import MootError
from tests.engine.harness import Machine, add, interrupted, join, move, together
from tests.engine.test_findings import make, need, reach, resolve

pytestmark = pytest.mark.in_memory

NAMES, PATHS = ("User", "Role", "a.ts"), ("a.ts", "b.ts", "c.ts")
commands = st.one_of(
    st.builds(need, st.sampled_from(NAMES), st.sampled_from(["Yeats", "Keats", "task/a", "task/b"]), st.just("Keats")),
    st.builds(lambda path, names: make(path, *names), st.sampled_from(PATHS), st.lists(st.sampled_from(NAMES[:2]))),
    st.builds(reach, st.sampled_from(["k-1", "k-2"]), st.just("Yeats#1"), st.sampled_from([None, "a"])),
    st.builds(resolve, st.sampled_from(["k-1", "k-2"]), st.sampled_from(["blue", "red"])),
    st.builds(move, st.sampled_from(["claim", "release", "submit"]), st.sampled_from("ab"), st.just("Keats")),
)


def deeds(events):
    """All of it but the ids of messages, which are chosen anew each time."""
    return [(e.position, e.type, e.data, e.by, e.thread, e.n) for e in events]


class Histories(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.place = Path(tempfile.mkdtemp(prefix="moot-"))
        log = self.place / "log"
        self.machines = [Machine(log, self.place / name, exclusive=False) for name in ("one", "other")]
        self.done, self.refusals = [], set()

    @initialize()
    def begin(self):
        self._commit(0, together(join("Yeats"), join("Keats"), add("a"), add("b")))

    def _commit(self, which, command, meanwhile=None):
        """Run it, and note what was done, under the position at which the log has it."""
        try:
            asked = command if meanwhile is None else interrupted(command, meanwhile)
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
        assert one.rows() == other.rows()
        assert one.verify().problems == ()
        self._check_pairs(one.events())
        serial = Machine(self.place / "serial", self.place / "serial")
        self.machines.append(serial)
        for _, command, events in sorted(self.done, key=lambda deed: deed[0]):
            assert deeds(serial.run(command).events) == deeds(events), command

    def _check_pairs(self, events):
        """Whoever needs what is there was told once; a checkpoint has one answer; a task waits for what is missing."""
        pairs = {(e.stream, e.data["needer"]) for e in events if e.type == "dependency:declared"}
        there = {e.stream for e in events if e.type == "dependency:provided"}
        told = Counter((e.stream, n) for e in events if e.type == "dependency:satisfied" for n in e.data["required_by"])
        assert told == Counter(pair for pair in pairs if pair[0] in there)
        answered = Counter(e.stream for e in events if e.type == "checkpoint:resolved")
        assert all(number == 1 for number in answered.values())
        missing = {(name, stream) for stream, name in pairs if stream not in there}
        for task in ("a", "b"):
            waits = self.machines[0].task(task).waits
            assert set(waits) == {stream for name, stream in missing if name == f"task/{task}"}
            assert len(waits) == len(set(waits))


TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=settings.default.max_examples // 5, stateful_step_count=15)
