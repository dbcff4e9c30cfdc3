"""Runs: stages in order, one at a time, each ended once; nothing happens to a run after its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from moot.core.deciders.run import (
    ENDINGS,
    OUTCOMES,
    EndRun,
    EndStage,
    OpenRun,
    ResumeRun,
    ReuseStage,
    Run,
    StartStage,
    decide,
    evolve,
)
from moot.core.errors import Held, MootError, Refused, Unknown
from moot.core.kind import Meta

if TYPE_CHECKING:
    from moot.core.payload import Payload

T0 = "2030-01-01T00:00:00.000Z"
STAGES = ("plan", "build", "check")


def after(state: Run, *commands: object) -> Run:
    for command in commands:
        for event in decide(state, command):  # type: ignore[arg-type]
            state = evolve(state, event, Meta(at=T0))
    return state


def opened(**more: object) -> Run:
    return after(Run(id="run-1"), OpenRun(pack="p", stages=STAGES, task="task-1", attempt=1, **more))  # type: ignore[arg-type]


def passed(stage: str, attempt: int = 1) -> tuple[object, ...]:
    return StartStage(stage), EndStage(stage, attempt, how="passed")


def test_the_attempts_of_a_stage_are_numbered_and_keep_how_they_ended() -> None:
    run = after(
        opened(),
        *(StartStage("plan"), EndStage("plan", 1, how="failed", reason="no", code=3)),
        *(StartStage("plan", who="Ada#1", command=("plan", "it"), timeout=9.0), EndStage("plan", 2, how="passed")),
    )
    assert [(one.stage, one.attempt, one.status, one.reason, one.code) for one in run.tries] == [
        ("plan", 1, "failed", "no", 3),
        ("plan", 2, "passed", "", None),
    ]
    assert (run.tries[1].who, run.tries[1].command, run.tries[1].timeout) == ("Ada#1", ("plan", "it"), 9.0)
    assert (run.running, run.passed, run.open) == (None, 1, True)


def test_a_run_that_repeats_starts_its_stage_again_after_it_has_passed() -> None:
    run = after(Run(id="run-1"), OpenRun(pack="p", stages=("work",), repeats=True), *passed("work"))
    assert [one.attempt for one in after(run, *passed("work", 2)).tries] == [1, 2]


def test_a_state_survives_its_way_through_the_views() -> None:
    run = after(opened(), *passed("plan"), StartStage("build"), EndStage("build", 1, how="interrupted", crashed=True))
    assert Run.of(run.plain()) == run


@pytest.mark.parametrize(
    ("commands", "command", "code"),
    [
        ((), OpenRun(pack="p"), "run_exists"),
        ((), StartStage("paint"), "unknown_stage"),
        ((StartStage("plan"),), StartStage("build"), "stage_running"),
        ((StartStage("plan"),), EndRun("passed"), "stage_running"),
        ((), EndStage("plan", 1, how="passed"), "stage_not_running"),
        ((StartStage("plan"),), EndStage("build", 1, how="passed"), "stage_not_running"),
        ((StartStage("plan"),), EndStage("plan", 2, how="passed"), "stage_not_running"),
        (passed("build"), StartStage("plan"), "stage_passed"),
        (passed("build"), StartStage("build"), "stage_passed"),
        ((), EndRun("good"), "bad_outcome"),
        ((EndRun("stopped"),), StartStage("plan"), "run_ended"),
        ((EndRun("stopped"),), EndRun("passed"), "run_ended"),
    ],
)
def test_what_breaks_the_record_is_refused(commands: tuple[object, ...], command: object, code: str) -> None:
    with pytest.raises((Refused, Held)) as caught:
        decide(after(opened(), *commands), command)  # type: ignore[arg-type]
    assert caught.value.code == code


@pytest.mark.parametrize("stages", [("a", "a"), ("With Blank",), tuple(f"s{n}" for n in range(101))])
def test_stages_are_a_few_different_words(stages: tuple[str, ...]) -> None:
    with pytest.raises(Refused, match="stage"):
        decide(Run(id="run-1"), OpenRun(pack="p", stages=stages))


def test_nothing_happens_to_a_run_that_does_not_exist() -> None:
    with pytest.raises(Unknown, match="There is no run"):
        decide(Run(id="run-1"), StartStage("plan"))


def test_the_number_of_attempts_is_bounded() -> None:
    run = opened()
    for number in range(1, 1001):
        run = after(run, StartStage("plan"), EndStage("plan", number, how="interrupted"))
    with pytest.raises(Refused) as caught:
        decide(run, StartStage("plan"))
    assert caught.value.code == "run_too_long"


class Runs(RuleBasedStateMachine):
    """Whatever is tried in whatever order, the record stays in order."""

    def __init__(self) -> None:
        super().__init__()
        self.run = Run(id="run-1")

    def attempt(self, command: object) -> None:
        try:
            events: list[Payload] = decide(self.run, command)  # type: ignore[arg-type]
        except MootError:
            return
        for event in events:
            self.run = evolve(self.run, event, Meta(at=T0))

    @rule()
    def open(self) -> None:
        self.attempt(OpenRun(pack="p", stages=STAGES))

    @rule(stage=st.sampled_from(STAGES))
    def start(self, stage: str) -> None:
        self.attempt(StartStage(stage))

    @rule(how=st.sampled_from(ENDINGS), stage=st.sampled_from(STAGES), attempt=st.integers(1, 3))
    def end_stage(self, how: str, stage: str, attempt: int) -> None:
        self.attempt(EndStage(stage, attempt, how=how))

    @rule(outcome=st.sampled_from(OUTCOMES))
    def end(self, outcome: str) -> None:
        self.attempt(EndRun(outcome))

    @invariant()
    def one_stage_runs_and_none_in_an_ended_run(self) -> None:
        running = [one for one in self.run.tries if one.status == "running"]
        assert len(running) <= (1 if self.run.open else 0)

    @invariant()
    def stages_pass_in_order_and_once(self) -> None:
        done = [STAGES.index(one.stage) for one in self.run.tries if one.status == "passed"]
        assert done == sorted(set(done))

    @invariant()
    def attempts_are_numbered(self) -> None:
        for stage in STAGES:
            mine = [one.attempt for one in self.run.tries_of(stage)]
            assert mine == list(range(1, len(mine) + 1))


TestRuns = Runs.TestCase


def of_target(**more: object) -> Run:
    return after(Run(id="run-1"), OpenRun(pack="p", stages=STAGES, target="a.py", **more))  # type: ignore[arg-type]


def test_a_stage_of_a_target_starts_only_after_all_earlier_ones() -> None:
    with pytest.raises(Refused, match="plan has not completed successfully") as caught:
        decide(of_target(), StartStage("build"))
    assert caught.value.remedy == "Run plan first."
    run = after(of_target(), StartStage("plan"), EndStage("plan", 1, how="skipped", reason="nothing to plan"))
    assert after(run, StartStage("build")).running is not None


def test_a_failed_run_is_resumed_and_its_stages_begin_again() -> None:
    failed = (StartStage("build"), EndStage("build", 1, how="failed"), EndRun("failed", at="build"))
    run = after(of_target(), *passed("plan"), *failed)
    assert run.ending == "failed at build"
    run = after(run, ResumeRun(driver="d2"))
    assert (run.open, run.passed, run.driver) == (True, 0, "d2")
    run = after(run, ReuseStage("plan", source="run-1", key="k"), StartStage("build"))
    assert [(one.stage, one.attempt, one.status) for one in run.tries] == [
        ("plan", 1, "passed"),
        ("build", 1, "failed"),
        ("plan", 2, "reused"),
        ("build", 2, "running"),
    ]
    assert Run.of(run.plain()) == run


def test_a_run_that_is_open_or_has_no_target_cannot_be_resumed() -> None:
    for run in (of_target(), after(opened(), *passed("plan"), EndRun("passed"))):
        with pytest.raises(Refused, match=run.id):
            decide(run, ResumeRun())


def test_the_outcome_is_one_of_four_in_words() -> None:
    endings = [
        EndRun("passed"),
        EndRun("passed", warnings=2),
        EndRun("interrupted", at="plan"),
        EndRun("stopped", at="plan"),
    ]
    assert [after(of_target(), ending).ending for ending in endings] == [
        "finished",
        "finished with warnings",
        "interrupted at plan",
        "stopped after plan",
    ]
    asked = EndStage("plan", 1, "At which level?", how="interrupted")
    waits = after(of_target(), StartStage("plan"), asked, EndRun("stopped", at="plan"))
    assert (waits.asks, waits.ending) == (True, "waits for an answer at plan")
