"""Decides which stages of a target need not run again. Pure.

The stages are looked at in order. A result is reused while everything that the stage read is the same. Later stages
write the same files again, so what an earlier one left is no longer there: instead of the real content, a stage is
compared with what the stage before it left, according to the record, or with what a person made of that before the
stage passed. In the end, the last reused stage must have left exactly what is there now. If not, somebody has edited a
file since, and the first stage that reads it runs, or only those after the one that left it, if the pipeline accepts
edits. If a later stage has left what is there, nobody has: that stage begins again with what the reused stages left.

A target may be continued by another one, which has changed its document and its files since. What the stage saw of the
document is then compared with what the same stage of that other target saw, and the files with what that one left.

An attempt that failed or was interrupted may have written a part of its work. That is not an edit: the stage goes on
with it, and its criteria compare with what the last stage that passed has left.

Somebody who names a stage that was attempted before wants it to run on what is there now: on its own work, that of
later stages, and what a person has repaired since. So no earlier stage runs for the files that it reads or writes, as
long as the earlier ones have not left something else since that attempt.
"""

from __future__ import annotations

from moot.core.record import Record
from moot.core.run import BEHIND, FAILED, INTERRUPTED
from moot.pipelines import step_keys
from moot.pipelines.contents import NONE, is_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from moot.api.protocol.stage import Stage
    from moot.core.run import Run, StageTry
    from moot.pipelines.contract import Target


_DOCUMENT = "document:"
_FRESH = {"never": "it is never reused", "run": "it runs in every run"}


class Earlier(Record):
    """An attempt that passed, and its run."""

    run: str
    attempt: StageTry


class Reuse(Record):
    """What to do with the stages: reuse the first ones, and why the next one runs."""

    kept: tuple[Earlier, ...] = ()
    reason: str = ""  # why the stage after them runs; empty if there is none
    left: Mapping[str, str] = {}  # the digests of the files that the reused stages left
    leftover: tuple[str, ...] = ()  # files with unfinished work of an attempt that did not pass
    undone: Mapping[str, str] = {}  # files with results of later stages, each with the digest that was left before
    repaired: tuple[str, ...] = ()  # files that changed since an earlier attempt at the stage that is to run alone


def earlier_of(runs: Sequence[Run], stage: Stage, current: str | None) -> Earlier | None:
    """The newest attempt at a stage in these runs, newest first; None if it did not pass: the last attempt counts.

    `current`: the run that is resumed.
    """
    for run in runs:
        if stage.cache == "never" or (stage.cache == "run" and run.id != current):
            continue
        for attempt in run.tries_of(stage.name)[-1:]:
            return Earlier(run=attempt.source or run.id, attempt=attempt) if attempt.status in BEHIND else None
    return None


def plan(
    stages: Sequence[Stage],
    target: Target,
    earlier: Mapping[str, Earlier],
    inputs: Callable[[Stage, str | None], dict[str, str]],
    files: Mapping[str, str],
    documents: Callable[[Stage], Mapping[str, str]],
    stale: Callable[[Stage, Earlier], str],
    last: StageTry | None = None,
    answer: str | None = None,
    *,
    alone: bool = False,
    tried: Sequence[StageTry] = (),
    later: Mapping[str, StageTry] | None = None,
    begun: bool = False,
) -> Reuse:
    """Which of the stages to reuse. `files`: the digests of all files now. `last`: the last attempt of the run.

    `inputs`: the table of a stage as things are now, given the answer of the stage before. `documents`: digests of the
    parts of the document that a stage owns, as they are now. `stale`: other reasons not to reuse a stage. `alone`: the
    last stage is run alone, so no earlier one can make a file again that was deleted; `tried`: its earlier attempts.
    `later`: the last attempts of a target that has gone on since, by stage. `begun`: a changed file
    may be the work of a stage that has run just now, or edits are not accepted.
    """
    made = [path for stage in stages for role in stage.writes for path in target.paths.get(role, ())]
    kept: list[Earlier] = []
    left: dict[str, str] = {}
    times: dict[str, str] = {}  # when each of them was left
    reason = ""
    for stage in stages:
        found = earlier.get(stage.name)
        if found is None:
            reason = _FRESH.get(stage.cache, "it has not passed yet")
            break
        before, now = _continued(found.attempt.inputs, inputs(stage, answer), stage, later)
        for name in [name for name in {*before, *now} if is_of(name.removeprefix(step_keys.FILE), made)]:
            edited = found.attempt.at >= times.get(name, "")  # between the two, and accepted then
            then = before.get(name) if edited else left[name]
            if edited and then is not None and name in left:
                left[name] = then
            now = {**now, name: then} if then is not None else {n: one for n, one in now.items() if n != name}
        names = step_keys.changed(before, now)
        outputs = found.attempt.outputs
        gone = [name for name, one in documents(stage).items() if one == step_keys.EMPTY != outputs.get(name, one)]
        reason = step_keys.said(names) if names else _removed(gone) or stale(stage, found)
        if reason:
            break
        kept.append(found)
        written = {name: one for name, one in outputs.items() if is_of(name.removeprefix(step_keys.FILE), made)}
        left |= written
        times |= dict.fromkeys(written, found.attempt.ended)
        answer = found.attempt.answer
    left = _left_since(left, stages, target, later or {})
    undone = {} if alone or later else _undone(stages, len(kept), target, left, earlier, files)
    there = {**left, **{name: files[name.removeprefix(step_keys.FILE)] for name in undone}}
    decided = _checked(stages, target, kept, there, files, reason, last, alone=alone, tried=tried, begun=begun)
    return decided.replace(undone=undone) if len(decided.kept) == len(kept) else decided


def _undone(
    stages: Sequence[Stage],
    kept: int,
    target: Target,
    left: Mapping[str, str],
    earlier: Mapping[str, Earlier],
    files: Mapping[str, str],
) -> dict[str, str]:
    """The files that are as a later stage left them, each with what the reused stages left; by name.

    Nobody else has changed them since, so no earlier stage runs for them.
    """
    found = {}
    later = [path for stage in stages[kept:] for role in stage.writes for path in target.paths.get(role, ())]
    passed = [earlier[stage.name].attempt for stage in stages if stage.name in earlier]
    for name, before in left.items():
        path = name.removeprefix(step_keys.FILE)
        newest = max(reversed([one for one in passed if name in one.outputs]), key=lambda one: one.ended)
        if is_of(path, later) and before != newest.outputs[name] == files.get(path, NONE) != NONE:
            found[name] = before
    return found


def later_attempts(own: Sequence[Run], others: Sequence[Run], stages: Sequence[Stage]) -> dict[str, StageTry]:
    """The last attempts of the newest of the other runs, by stage; empty if it has not gone on after the own runs."""
    changing = {stage.name for stage in stages if stage.writes or stage.owns}
    begun = max((one.at for run in own for one in run.tries if one.stage in changing and not one.source), default="")
    newest = max(((run.tries[-1].at, run.id, run) for run in others if run.tries), default=None)
    if newest is None or newest[0] <= begun:
        return {}
    return {one.stage: one for one in newest[2].tries}


def _continued(
    before: Mapping[str, str], now: dict[str, str], stage: Stage, later: Mapping[str, StageTry] | None
) -> tuple[Mapping[str, str], dict[str, str]]:
    """The two tables to compare. What is said of the document comes from the target that has gone on, if it can."""
    if not later:
        return before, now
    parts = {name: one for name, one in before.items() if name.startswith(_DOCUMENT)}
    rest = {name: one for name, one in before.items() if name not in parts}
    attempt = later.get(stage.name)
    if attempt is None or attempt.status not in BEHIND:
        return before, {**{name: one for name, one in now.items() if not name.startswith(_DOCUMENT)}, **parts}
    return {**rest, **{name: one for name, one in attempt.inputs.items() if name.startswith(_DOCUMENT)}}, now


def _left_since(
    left: Mapping[str, str], stages: Sequence[Stage], target: Target, later: Mapping[str, StageTry]
) -> dict[str, str]:
    """What files should contain now: as the reused stages left them, and the target that has gone on after them."""
    found = dict(left)
    for stage in stages:
        attempt = later.get(stage.name)
        if attempt is None:
            continue
        if attempt.status in BEHIND:
            found |= {name: one for name, one in attempt.outputs.items() if name in left}
        else:  # its unfinished work is no edit of a person
            paths = [path for role in stage.writes for path in target.paths.get(role, ())]
            unfinished = [name for name in found if is_of(name.removeprefix(step_keys.FILE), paths)]
            found |= {name: attempt.outputs.get(name, found[name]) for name in unfinished}
            if attempt.status == INTERRUPTED:
                found = {name: one for name, one in found.items() if name not in unfinished}
    return found


def _removed(names: Sequence[str]) -> str:
    """A person may edit what a stage has left in the document: later stages go on with that. But it must be there."""
    return f"{', '.join(name.partition(':')[2] for name in names)} of the document is gone" if names else ""


def _checked(
    stages: Sequence[Stage],
    target: Target,
    kept: list[Earlier],
    left: Mapping[str, str],
    files: Mapping[str, str],
    reason: str,
    last: StageTry | None,
    *,
    alone: bool,
    tried: Sequence[StageTry],
    begun: bool,
) -> Reuse:
    """The reused stages, without those that no longer have left what is there now."""
    drift = [name for name, one in left.items() if files.get(name.removeprefix(step_keys.FILE), NONE) != one]
    following = stages[len(kept)] if len(kept) < len(stages) else None
    own = tried if alone and following is stages[-1] else ()
    leftover = repaired = list[str]()
    if following is not None:
        leftover = [name for name in drift if _is_unfinished(name, following, target, last, files)]
        rest = [name for name in drift if name not in leftover]
        repaired = [name for name in rest if _is_attempted(name, following, target, own, left, files)]
    drift = [name for name in drift if name not in (*leftover, *repaired)]
    if not drift:
        going_on = Reuse(kept=tuple(kept), reason=reason, left=left)
        return going_on.replace(leftover=_paths(leftover), repaired=_paths(repaired))
    lost = [] if alone else [name for name in drift if name.removeprefix(step_keys.FILE) not in files]
    lost += [] if alone else [name for name in drift if files.get(name.removeprefix(step_keys.FILE)) == NONE]
    cut = _first(stages[: len(kept) + 1], len(kept), target, drift, lost, begun=begun)
    edited = ", ".join(name.removeprefix(step_keys.FILE) for name in drift)
    still: dict[str, str] = {}
    for one in kept[:cut]:
        still |= {name: value for name, value in one.attempt.outputs.items() if name.startswith(step_keys.FILE)}
    reason = f"{edited} changed since it passed" if cut < len(kept) else reason or f"{edited} changed"
    return Reuse(kept=tuple(kept[:cut]), reason=reason, left=still)


def _paths(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(name.removeprefix(step_keys.FILE) for name in names)


def _is_unfinished(name: str, stage: Stage, target: Target, last: StageTry | None, files: Mapping[str, str]) -> bool:
    """Whether a file is as the last attempt at this stage left it, which did not pass."""
    path = name.removeprefix(step_keys.FILE)
    if last is None or last.stage != stage.name or last.status in BEHIND:
        return False
    if not any(is_of(path, target.paths.get(role, ())) for role in stage.writes):
        return False
    return last.status == INTERRUPTED or last.outputs.get(name) == files.get(path, NONE)


def before_leftover(
    plan: Reuse,
    stages: Sequence[Stage],
    stage: Stage,
    target: Target,
    tried: Sequence[StageTry] | None,
    last: StageTry | None,
    files: Mapping[str, str],
) -> dict[str, str | None]:
    """The blobs of files with work of earlier attempts at a stage, as they were before it; None if they did not exist.

    `tried`: the earlier attempts, if a command does the work. `files`: the digests of all files now.
    """
    found: dict[str, str | None] = {}
    if tried is not None:
        before = {path: blob for one in reversed(tried) for path, blob in one.snapshots.items()}
        really = {path: plan.left.get(step_keys.FILE + path) for path in plan.repaired}
        known = {(path, blob) for one in tried for path, blob in one.snapshots.items()}
        found = {
            path: really[path] if (path, really[path]) in known else before[path] for path in really if path in before
        }
    if last is not None and last.stage == stage.name and last.status not in BEHIND:
        found |= {path: last.snapshots[path] for path in plan.leftover if path in last.snapshots}
        if tried is not None:
            paths = _first_written(stages, stage, target, last, files)
            paths += [path for path in last.left if path in last.snapshots and _is_as_left(path, last, files)]
            found |= {path: last.snapshots.get(path) for path in paths}
    return found


def edited_since(last: StageTry | None, files: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """The files that somebody edited after an attempt that failed: blobs of what was there before it and after it."""
    if last is None or last.status != FAILED:
        return {}
    return {
        path: (last.snapshots[path], left)
        for path, left in last.left.items()
        if path in last.snapshots and not _is_as_left(path, last, files)
    }


def _is_as_left(path: str, last: StageTry, files: Mapping[str, str]) -> bool:
    return last.outputs.get(step_keys.FILE + path) == files.get(path, NONE)


def _first_written(
    stages: Sequence[Stage], stage: Stage, target: Target, last: StageTry, files: Mapping[str, str]
) -> list[str]:
    """Files that no earlier stage writes, and that are as the last attempt at this stage left them."""
    earlier = stages[: [one.name for one in stages].index(stage.name)]
    made = [path for one in earlier for role in one.writes for path in target.paths.get(role, ())]
    left = {
        name.removeprefix(step_keys.FILE): one for name, one in last.outputs.items() if name.startswith(step_keys.FILE)
    }
    return [path for path, one in left.items() if not is_of(path, made) and one == files.get(path, NONE)]


def _is_attempted(
    name: str,
    stage: Stage,
    target: Target,
    tried: Sequence[StageTry],
    left: Mapping[str, str],
    files: Mapping[str, str],
) -> bool:
    """Whether the stage works on a file that is there, and was attempted on what the earlier stages left in it."""
    path = name.removeprefix(step_keys.FILE)
    if files.get(path, NONE) == NONE:
        return False
    if not any(is_of(path, target.paths.get(role, ())) for role in (*stage.reads, *stage.writes)):
        return False
    return any(one.snapshots.get(path, one.inputs.get(name)) == left[name] for one in tried)


def _first(
    stages: Sequence[Stage], kept: int, target: Target, drift: Sequence[str], lost: Sequence[str], *, begun: bool
) -> int:
    """The number of the first stage that must run: one that wrote a file that is lost, or goes on with a changed one.

    What a person made of a file after a stage has left it is not given to that stage again, nor to those before it: the
    stages after it go on with it. What a stage has just written is given to all. If nobody reads it, it is the last one
    that wrote it.
    """

    def touching(names: Sequence[str], roles: Callable[[Stage], Sequence[str]]) -> list[int]:
        paths = [name.removeprefix(step_keys.FILE) for name in names]
        return [
            number
            for number, stage in enumerate(stages)
            if any(is_of(path, target.paths.get(role, ())) for role in roles(stage) for path in paths)
        ]

    first, last = touching(lost, lambda stage: stage.writes)[:1], 0
    for name in drift:
        last = max(number for number in touching([name], lambda stage: stage.writes) if number < kept)
        readers = touching([name], lambda stage: stage.reads)
        first += [number for number in readers if begun or number > last][:1]
    return min(first, default=last)
