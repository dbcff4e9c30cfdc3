"""The gate after each wave: if tests failed, a person decides whether the run goes on without them.

The question is a checkpoint, `k-RUN-gate-WAVE`, and names the failed tests. An answer counts for these tests and no
others: if another one fails later, that is a new question, with a number at the end. The answer can also be an option.
Then it is recorded like any other, with its author. What always holds:

- An option of this command comes before what was answered earlier, and that before the option that the run began with.
- A question is withdrawn when its tests pass, or when others fail.
"""

from __future__ import annotations

from functools import partial

from moot.core.deciders.checkpoint import ReachCheckpoint, ResolveCheckpoint, WithdrawCheckpoint
from moot.core.errors import Refused
from moot.core.record import Record
from moot.core.text import command_line, one_line
from moot.packs.rspec.cover_options import GATE, SKIP
from moot.packs.ruby.sentinel import Failure
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from moot.api.answer import Answer
    from moot.api.call import Call
    from moot.core.deciders.checkpoint import Checkpoint
    from moot.core.errors import MootError
    from moot.engine.unit_of_work import Work

    Reviews = Sequence[tuple[str, Mapping[str, Any]]]  # the spec file, and the answer of its review
    Ask = Callable[[str, str, Sequence[str], str], Answer]

PACK = "rspec"
_MOST_QUESTIONS = 1000
_LONGEST_NAME = 300
_NAMED = 20_000  # characters of all names in a question


class FailedTests(Record):
    """The failed tests of a wave. `names` identify them; `lines` show them to a person."""

    specs: tuple[str, ...]
    names: tuple[str, ...]
    lines: tuple[str, ...]

    @property
    def named(self) -> str:
        """All names, one to a line. Of too many, a digest."""
        text = "\n".join(self.names)
        if len(text) <= _NAMED:
            return text
        import hashlib

        return f"{len(self.names)} failed tests, {hashlib.sha256(text.encode()).hexdigest()}"


class EarlierChoice(Record):
    """What was chosen when the run began, and by whom."""

    answer: str = ""
    by: str = ""


class Halt(Record):
    """The run does not go on: why, and what the caller is told."""

    reason: str
    told: MootError | Answer


def failed_tests(reviews: Reviews) -> FailedTests | None:
    """The failed tests in the answers of the reviews; None if there is none."""
    failing = [(spec, one) for spec, one in reviews if one.get("tests_passed") is False]
    if not failing:
        return None
    names, lines = [], []
    for spec, review in failing:
        failures = review.get("failures") or ()
        names += [f"{spec}: {one_line(one['description'], _LONGEST_NAME)}" for one in failures] or [f"{spec}: no test"]
        lines += [_shown(spec, Failure(**one)) for one in failures] or [f"no example of {spec} ran"]
    return FailedTests(tuple(dict.fromkeys(spec for spec, _ in failing)), tuple(sorted(set(names))), tuple(lines))


def _shown(spec: str, one: Failure) -> str:
    """A failed test, with the first line of its message. If the file could not be loaded, with the name of the file."""
    first = next(iter(one.message.strip().splitlines()), "").rstrip(".")
    return f"{one.place if one.location else f'{one.description} ({spec})'}: {first}"


class WaveGate:
    """The gates of one run. `given`: the option of this command. `ask` records a question, and says that it waits."""

    def __init__(self, call: Call, given: str, earlier: EarlierChoice, ask: Ask) -> None:
        self._call, self._given, self._earlier, self._ask = call, given, earlier, ask

    def passed(self, run: str, wave: int, reviews: Reviews) -> Halt | None:
        """None if the run goes on."""
        failed = failed_tests(reviews)
        asked = list(self._questions(run, wave))
        if failed is None:
            withdraw(self._call, [one.id for one in asked if one.open], f"the tests of wave {wave} pass")
            return None
        text = f"Tests of wave {wave} failed: {'; '.join(failed.lines)}."
        answer = self._answer(failed, asked, f"k-{run}-{_about(wave, len(asked) + 1)}", text)
        if answer == SKIP:
            return None
        if answer:
            again, without = (command_line("rspec resume", run, options=one) for one in ("", "--gate skip"))
            advice = (
                f"Correct the code or {', '.join(failed.specs)}, then go on: `{again}`. "
                f"To go on without them: `{without}`."
            )
            return Halt(text, Refused("tests_failed", text, advice, run=run))
        current = next((one for one in asked if one.open and one.awaiting == failed.named), None)
        about = _about(wave, asked.index(current) + 1 if current is not None else len(asked) + 1)
        return Halt(text, self._ask(about, _question(text), GATE, failed.named))

    def _questions(self, run: str, wave: int) -> Iterator[Checkpoint]:
        """The questions of a wave, in the order in which they were asked."""
        store = self._call.engine.read()
        for number in range(1, _MOST_QUESTIONS):
            found: Checkpoint = states.state(store, "checkpoint", f"k-{run}-{_about(wave, number)}")[0]
            if not found.exists:
                return
            yield found

    def _answer(self, failed: FailedTests, asked: Sequence[Checkpoint], new: str, text: str) -> str:
        """What was decided about the failed tests; empty if nothing was. Questions about others are withdrawn."""
        withdraw(
            self._call, [one.id for one in asked if one.open and one.awaiting != failed.named], "other tests fail now"
        )
        current = next((one for one in asked if one.open and one.awaiting == failed.named), None)
        decided = next((one for one in reversed(asked) if one.status == "resolved" and _covers(one, failed)), None)
        found = decided.answer or "" if decided is not None else ""
        if self._given:
            if found != self._given:
                self._record(current, new, failed, text, self._given)
            return self._given
        if found or not self._earlier.answer:
            if found and current is not None:
                withdraw(self._call, [current.id], f"{decided.id if decided is not None else ''} decides it")
            return found
        self._record(current, new, failed, text, self._earlier.answer, self._earlier.by)
        return self._earlier.answer

    def _record(
        self, current: Checkpoint | None, new: str, failed: FailedTests, text: str, answer: str, by: str = ""
    ) -> None:
        """Record an option as the answer of a person to this question, or to a new one."""
        caller = self._call.caller
        if not caller.person or caller.mark is not None:
            return  # the option that the run began with is in its record, with its author

        def act(work: Work) -> None:
            actor = self._call.actor(work)
            if current is None:
                reach = ReachCheckpoint(actor.principal, "decision", _question(text), failed.named, GATE)
                work.do("checkpoint", new, reach, pack=PACK)
            said = f"chosen by {by} when the run began" if by else ""
            name = current.id if current is not None else new
            work.do("checkpoint", name, ResolveCheckpoint(actor=actor, answer=answer, text=said), pack=PACK)

        self._call.commit(act)


def withdraw(call: Call, questions: Sequence[str], reason: str) -> None:
    """Withdraw questions that need no answer any more. One of somebody else stays open if the caller is an agent."""
    for name in questions:
        try:
            call.commit(partial(_withdrawn, call, name, reason))
        except Refused:  # somebody has just answered it, or it is not the caller's
            continue


def _withdrawn(call: Call, name: str, reason: str, work: Work) -> None:
    work.do("checkpoint", name, WithdrawCheckpoint(actor=call.actor(work), reason=reason), pack=PACK)


def withdraw_all(call: Call, run: str) -> None:
    """Withdraw all open questions of a run that has finished."""
    names = [one.id for one in queries.things(call.engine.read(), "checkpoint") if one.id.startswith(f"k-{run}-")]
    withdraw(call, names, f"{run} has finished")


def withdraw_settled(call: Call, runs: Sequence[str], specs: set[str], by: str) -> None:
    """Withdraw the open gate questions of earlier runs whose tests have all passed in a later run."""
    for one in list(queries.things(call.engine.read(), "checkpoint")):
        run, gate, _ = one.id.removeprefix("k-").partition("-gate-")
        if gate and run in runs and {name.partition(": ")[0] for name in one.awaiting.splitlines()} <= specs:
            withdraw(call, [one.id], f"its tests passed in {by}")


def withdraw_superseded(call: Call, runs: Sequence[str], slugs: set[str], by: str) -> None:
    """Withdraw the open questions of earlier runs about documents that a later run has taken through all stages."""
    for one in list(queries.things(call.engine.read(), "checkpoint")):
        run, _, about = one.id.removeprefix("k-").partition("-existing-")
        if not about:
            run, _, about = one.id.removeprefix("k-").partition("-level-")
        if run in runs and any(about == slug or about.startswith(f"{slug}-") for slug in slugs):
            withdraw(call, [one.id], f"{by} has covered it since")


def _about(wave: int, number: int) -> str:
    return f"gate-{wave}" if number == 1 else f"gate-{wave}-{number}"


def _question(text: str) -> str:
    return f"{text[:1900]} Skip the failed methods and go on, or abort?"


def _covers(question: Checkpoint, failed: FailedTests) -> bool:
    """Whether an answer was about all of these tests."""
    return question.awaiting == failed.named or set(failed.names) <= set(question.awaiting.splitlines())
