"""Decides which stages of a target need not run again. Pure.

The stages are looked at in order, each with its newest attempt. A result is reused while everything that the stage read
is the same. Later stages write the same files again, so what an earlier one left is no longer there: instead of the
real content, a stage is compared with what the stages before it left according to the record. In the end, the files
must contain what the last reused stage left in them, or what a later stage made of that. If not, somebody has edited
one: the first stage that reads it runs, and if it is gone, the first stage that wrote it.

The next stage may write files in which an attempt that did not pass left a part of its work, or a person's correction
of it. That is no edit of an earlier result: the stage goes on with what is there.
"""

from __future__ import annotations

from moot.core.record import Record
from moot.core.run import BEHIND, PASSED
from moot.runs import step_keys
from moot.runs.contents import NONE, is_of
from moot.runs.history import changed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from moot.core.run import Run, StageTry
    from moot.runs.contract import Target
    from moot.runs.stage import Stage
    from moot.runs.steps import RunOptions

_FRESH = {"never": "it is never reused", "run": "it runs in every run"}


class Earlier(Record):
    """An attempt that passed, and its run. `asked`: a newer one has only asked a person."""

    run: str
    attempt: StageTry
    asked: bool = False


class TargetHistory(Record):
    """What earlier runs of a target have left."""

    current: Run | None = None  # the run to go on with; None to open a new one
    earlier: Mapping[str, Earlier] = {}  # results that may be reused, by stage
    last: StageTry | None = None  # the newest attempt
    runs: Sequence[Run] = ()  # newest first

    def baseline(
        self, stage: Stage, stages: Sequence[Stage], target: Target, files: Mapping[str, str]
    ) -> dict[str, str]:
        """What the files that a stage may write contained before its half-done attempts: blobs by path, "" for none.

        Only files of attempts that did not pass, since an earlier stage that writes them, or this one, last passed; and
        only as the last attempt left them: what a person has corrected since counts as it is. `files`: digests, now.
        """
        before = stages[: stages.index(stage) + 1]
        found: dict[str, str] = {}
        for path in target.writes(stage):
            writers = {one.name for one in before if is_of(path, target.writes(one))}
            left: Mapping[str, str] | None = None  # by the newest attempt; empty: nobody knows
            for one in (one for run in self.runs for one in reversed(run.tries)):
                if one.stage in writers and one.status in BEHIND and not one.source:
                    break
                if one.stage == stage.name and one.writes:
                    left = one.outputs if left is None else left
                    started = {name: blob for name, blob in one.snapshots.items() if is_of(name, (path,))}
                    gone = {name: "" for name in found if is_of(name, (path,))} if path.endswith("/") else {path: ""}
                    found |= gone | started
            for name in [name for name in found if left and is_of(name, (path,))]:
                if (left or {}).get(step_keys.FILE + name, NONE) != files.get(name, NONE):
                    del found[name]
        return found


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
    cache, asked = "run" if alone and stage.cache == "never" else stage.cache, False
    for run in runs:
        if cache == "never" or (cache == "run" and run is not current):
            continue
        for attempt in reversed(run.tries_of(stage.name)):
            if not attempt.asked:
                found = Earlier(run=attempt.source or run.id, attempt=attempt, asked=asked)
                return found if attempt.status in BEHIND else None
            asked = True
    return None


def plan(
    stages: Sequence[Stage],
    target: Target,
    history: TargetHistory,
    inputs: Callable[[Stage, str | None], dict[str, str]],
    files: Mapping[str, str],
    parts: Callable[[Stage], Mapping[str, str]],
    answer: str | None = None,
) -> ReusePlan:
    """Which of these stages to reuse. `files`: the digests of all files now.

    `inputs`: the table of a stage as things are now, given the answer of the stage before. `parts`: digests of the
    parts of the document that a stage owns, as they are now.
    """
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
        before, now = found.attempt.inputs, inputs(stage, answer)
        for name in (one for one in {*before, *now} if _is_made(one, made)):
            accepted = found.attempt.at >= times.get(name, "")  # what a person made of it before the stage passed
            then = before.get(name) if accepted else left[name]
            now = {**now, name: then} if then is not None else {one: now[one] for one in now if one != name}
            left |= {name: then} if then is not None and name in left else {}
        names = changed(before, now)
        outputs = found.attempt.outputs
        gone = [name for name, part in parts(stage).items() if part == step_keys.EMPTY != outputs.get(name, part)]
        if names or gone:
            lost = ", ".join(name.partition(":")[2] for name in gone)
            reason = step_keys.said(names) if names else f"{lost} of the document is gone"
            break
        kept.append(found)
        written = {name: one for name, one in outputs.items() if _is_made(name, made)}
        left |= written
        times |= dict.fromkeys(written, found.attempt.ended)
        answer = found.attempt.answer
    return _without_edited(stages, target, history, ReusePlan(tuple(kept), reason), left, files)


def _without_edited(
    stages: Sequence[Stage],
    target: Target,
    history: TargetHistory,
    found: ReusePlan,
    left: Mapping[str, str],
    files: Mapping[str, str],
) -> ReusePlan:
    """The plan without the stages that no longer have left what is there."""
    upto = len(found.kept)
    following = stages[upto] if upto < len(stages) else None
    unfinished = following is not None and history.last is not None and history.last.stage == following.name
    unfinished = unfinished and history.last is not None and history.last.status not in BEHIND
    firsts: dict[str, int] = {}
    for name, one in left.items():
        path = name.removeprefix(step_keys.FILE)
        now = files.get(path, NONE)
        if now == one or (unfinished and following is not None and is_of(path, target.writes(following))):
            continue
        later = [history.earlier[stage.name].attempt for stage in stages[upto:] if stage.name in history.earlier]
        if now != NONE and any(attempt.outputs.get(name) == now for attempt in later):
            continue  # a later stage made that of it
        readers = [number for number, stage in enumerate(stages[: upto + 1]) if _reads(stage, target, path)]
        writers = [number for number, stage in enumerate(stages[:upto]) if is_of(path, target.writes(stage))]
        firsts[path] = writers[0] if now == NONE else min(readers, default=writers[-1])
    cut = min(firsts.values(), default=upto)
    if not firsts:
        return found
    edited = ", ".join(path for path, number in firsts.items() if number == cut)
    if cut < upto:
        return ReusePlan(found.kept[:cut], f"{edited} changed since it passed")
    return found.replace(reason=f"{found.reason}; {edited} changed" if found.reason else f"{edited} changed")


def _reads(stage: Stage, target: Target, path: str) -> bool:
    return any(is_of(path, target.paths.get(role, ())) for role in stage.reads)


def _is_made(name: str, made: Sequence[str]) -> bool:
    return is_of(name.removeprefix(step_keys.FILE), made)
