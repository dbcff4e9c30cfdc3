"""What earlier runs of a target have left, and which of its stages need not run again.

The stages are looked at in order, each with its newest attempt. A result is reused while everything that the stage read
is the same. Later stages write the same files again, so what an earlier one left is no longer there: instead of the
real content, a stage is compared with what the stages before it left according to the record. In the end, the files
must contain what the last reused stage left in them, or what a later stage made of that. If not, somebody has edited
one: the first stage that only reads it runs, and if it is gone, the first stage that wrote it. An edit of what a stage
both reads and writes does not repeat that stage: it is taken as it is.

The next stage may write files in which an attempt that did not pass left a part of its work, or a person's correction
of it. That is no edit of an earlier result: the stage goes on with what is there.
"""

from __future__ import annotations

from collections.abc import Sequence

from moot.core.deciders.run import of_target
from moot.core.record import Record
from moot.core.run import BEHIND, INTERRUPTED, PASSED
from moot.runs import step_keys
from moot.runs.contents import NONE, is_of
from moot.runs.step_keys import changed
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from moot.core.run import Run, StageTry
    from moot.runs.contract import Target
    from moot.runs.preparation import Preparation, TargetState
    from moot.runs.stage import Stage
    from moot.runs.steps import RunOptions
    from moot.views.store import Store

_RUNS = 50  # earlier runs of a target that are looked at
_TIMED = 20  # runs of a pack whose stages are timed
_WORTH = 1.0  # seconds; nobody waits for less
_FRESH = {"never": "it is never reused", "run": "it runs in every run"}


def runs_of(store: Store, target: str) -> Sequence[Run]:
    """The runs of a target, newest first."""
    names = [name for kind, name in queries.things_of_task(store, of_target(target) or "") if kind == "run"]
    return _Runs(store, names[-_RUNS:][::-1])


class _Runs(Sequence["Run"]):
    """Runs that are read when they are needed: most questions are answered by the newest one."""

    def __init__(self, store: Store, names: Sequence[str]) -> None:
        self._store, self._names = store, names
        self._read: dict[str, Run] = {}

    def __len__(self) -> int:
        return len(self._names)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [self[number] for number in range(*at.indices(len(self)))]
        name = self._names[at]
        if name not in self._read:
            self._read[name] = states.state(self._store, "run", name)[0]
        return self._read[name]


def usual_seconds(store: Store, pack: str) -> dict[str, float]:
    """By stage, the median of the last attempts that passed. Stages that nobody waits for are left out."""
    found: dict[str, list[float]] = {}
    for run in queries.things(store, "run", _TIMED, ended=True):
        for one in run.tries if run.pack == pack else ():
            if one.status == PASSED:
                found.setdefault(one.stage, []).append(one.seconds)
    middles = {stage: sorted(seconds)[len(seconds) // 2] for stage, seconds in found.items()}
    return {stage: middle for stage, middle in middles.items() if middle >= _WORTH}


class Earlier(Record):
    """An attempt that passed, and its run."""

    run: str
    attempt: StageTry


class TargetHistory(Record):
    """What earlier runs of a target have left."""

    current: Run | None = None  # the run to go on with; None to open a new one
    earlier: Mapping[str, Earlier] = {}  # results that may be reused, by stage
    last: StageTry | None = None  # the newest attempt
    runs: Sequence[Run] = ()  # newest first

    def intact(self, stages: Sequence[Stage], target: Target, latest: Run | None = None) -> TargetHistory:
        """Without the results of stages whose files an attempt at an earlier stage has changed since."""
        tries = [one for run in (*([latest] if latest is not None else []), *self.runs) for one in run.tries]
        changes = [one for one in tries if one.left or one.status == INTERRUPTED]
        names, left = [stage.name for stage in stages], {}
        for number, stage in enumerate(stages):
            found, writes = self.earlier.get(stage.name), {*target.writes(stage)}
            if found is not None and not any(
                one.at > found.attempt.at and one.stage in names[:number] and not writes.isdisjoint(one.writes)
                for one in changes
            ):
                left[stage.name] = found
        return self.replace(earlier=left)

    def baseline(self, stage: Stage, target: Target, files: Mapping[str, str]) -> dict[str, str]:
        """What the files that a stage may write contained before its half-done attempts: blobs by path, "" for none.

        That is what the first attempt found since the stage, or the one before it, last passed; but what a person has
        corrected since the last attempt counts as it is. `files`: digests, now.
        """
        attempts: list[StageTry] = []  # newest first
        for one in (one for run in self.runs for one in reversed(run.tries)):
            if one.stage in (stage.name, stage.after) and one.status in BEHIND and not one.source:
                break
            if one.stage == stage.name and one.writes:
                attempts.append(one)
        if not attempts:
            return {}
        left, found = attempts[0].outputs, attempts[-1].snapshots  # of an attempt that was killed, nothing is known
        made = {path.removeprefix(step_keys.FILE) for path in left if path.startswith(step_keys.FILE)}
        paths = [path for path in {*found, *made, *files} if is_of(path, target.writes(stage))]
        same = [path for path in paths if not left or left.get(step_keys.FILE + path, NONE) == files.get(path, NONE)]
        return {path: found.get(path, "") for path in same}


class ReusePlan(Record):
    """Reuse the first stages, and why the next one runs; empty if there is none."""

    kept: tuple[Earlier, ...] = ()
    reason: str = ""


def history_of(runs: Sequence[Run], stages: Sequence[Stage], options: RunOptions) -> TargetHistory:
    """What these runs of a target have left, newest first. `stages`: all of its pipeline."""
    current, alone = _resumed(runs, stages, options), options.only
    earlier = {}
    for stage in stages if alone or not options.again else ():
        found = _earlier_of(runs, stage, current, alone=bool(alone))
        if found is not None and stage.name != alone:
            earlier[stage.name] = found
    last = runs[0].tries[-1] if runs and runs[0].tries else None
    return TargetHistory(current=current, earlier=earlier, last=last, runs=runs)


def _resumed(runs: Sequence[Run], stages: Sequence[Stage], options: RunOptions) -> Run | None:
    names = tuple(stage.name for stage in stages)
    alone = bool(options.only) and options.only != names[0]
    last = next((run for run in runs if run.stages == names), None)
    if last is None or last.open or not (options.resume or alone):
        return None
    ours = options.parent is not None and last.parent == options.parent
    return last if alone or ours or last.outcome != PASSED else None


def _earlier_of(runs: Sequence[Run], stage: Stage, current: Run | None, *, alone: bool) -> Earlier | None:
    """The newest attempt at a stage; None if it did not pass. One that only asked a person has done nothing."""
    cache = "run" if alone and stage.cache == "never" else stage.cache
    for run in runs:
        if cache == "never" or (cache == "run" and run is not current):
            continue
        for attempt in reversed(run.tries_of(stage.name)):
            if not attempt.asked:
                found = Earlier(run=attempt.source or run.id, attempt=attempt)
                return found if attempt.status in BEHIND else None
    return None


def plan(
    stages: Sequence[Stage], history: TargetHistory, preparation: Preparation, now: TargetState, answer: str | None
) -> ReusePlan:
    """Which of these stages to reuse, as things are now. `answer`: the blob with that of the stage before."""
    target = preparation.target
    made = [path for stage in stages for path in target.writes(stage)]
    kept: list[Earlier] = []
    left: dict[str, str] = {}
    times: dict[str, str] = {}  # when each of them was left
    reason = ""
    for stage in stages:
        found = history.earlier.get(stage.name)
        if found is None:
            failed = history.last is not None and history.last.stage == stage.name
            reason = _FRESH.get(stage.cache, "its last attempt did not pass" if failed else "it had not passed before")
            break
        before, after = found.attempt.inputs, preparation.inputs(stage, now, answer)
        for name in (one for one in {*before, *after} if _is_made(one, made)):
            if found.attempt.at < times.get(name, ""):
                after[name] = left[name]
            else:  # what was made of it before the stage passed, perhaps by a person
                after[name] = before.get(name, NONE)
                left |= {name: after[name]} if name in left else {}
        names = changed({**dict.fromkeys(after, NONE), **before}, after)
        outputs = found.attempt.outputs
        parts = step_keys.owned_parts(stage, now.leaves).items()
        gone = [name for name, part in parts if part == step_keys.EMPTY != outputs.get(name, part)]
        if names or gone:
            lost = ", ".join(name.partition(":")[2] for name in gone)
            reason = step_keys.said(names) if names else f"{lost} of the document is gone"
            break
        kept.append(found)
        written = {name: one for name, one in outputs.items() if _is_made(name, made)}
        left |= written
        times |= dict.fromkeys(written, found.attempt.ended)
        answer = found.attempt.answer
    return _without_edited(stages, target, history, ReusePlan(tuple(kept), reason), left, now.digests)


def _without_edited(
    stages: Sequence[Stage],
    target: Target,
    history: TargetHistory,
    found: ReusePlan,
    left: Mapping[str, str],
    files: Mapping[str, str],
) -> ReusePlan:
    """The plan without the stages that no longer have left what is there."""
    upto, last = len(found.kept), history.last
    later = [history.earlier[stage.name].attempt for stage in stages[upto:] if stage.name in history.earlier]
    unfinished: tuple[str, ...] = ()
    if last is not None and last.status not in BEHIND and last.stage in [one.name for one in stages[upto : upto + 1]]:
        unfinished = target.writes(stages[upto])
    firsts: dict[str, int] = {}  # by file that was edited, the stage that must run again
    for name, digest in left.items():
        path = name.removeprefix(step_keys.FILE)
        now = files.get(path, NONE)
        if now == digest or is_of(path, unfinished):
            continue
        if now != NONE and any(attempt.outputs.get(name) == now for attempt in later):
            continue  # a later stage made that of it
        writers = [number for number, stage in enumerate(stages) if is_of(path, target.writes(stage))]
        readers = [number for number, stage in enumerate(stages[: upto + 1]) if _reads(stage, target, path)]
        if now == NONE or not readers:
            firsts[path] = writers[0] if now == NONE else [one for one in writers if one < upto][-1]
        elif pure := [number for number in readers if number not in writers]:
            firsts[path] = pure[0]
    if not firsts:
        return found
    cut = min(firsts.values())
    edited = ", ".join(path for path, number in firsts.items() if number == cut)
    if cut < upto:
        return ReusePlan(found.kept[:cut], f"{edited} changed since it passed")
    return found.replace(reason=f"{found.reason}; {edited} changed" if found.reason else f"{edited} changed")


def _reads(stage: Stage, target: Target, path: str) -> bool:
    return any(is_of(path, target.paths.get(role, ())) for role in stage.reads)


def _is_made(name: str, made: Sequence[str]) -> bool:
    return is_of(name.removeprefix(step_keys.FILE), made)
