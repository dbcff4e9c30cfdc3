"""Decides which stages of a target need not run again. Pure.

The stages are looked at in order. A result is reused while everything that the stage read is the same. Later stages
write the same files again, so what an earlier one left is no longer there: instead of the real content, a stage is
compared with what the stage before it left, according to the record, or with what a person made of that before the
stage passed. In the end, the last reused stage must have left exactly what is there now. If not, somebody has edited a
file since, and the first stage that reads it runs.

A pipeline may accept edits. Then the stage that left the file does not get it again, nor do those before it: the first
later stage that reads it runs. A stage that moot can do itself (`agent = "optional"`) checks its own file again. If no
stage is left that could check it, nothing runs for it. But if what is there now lacks a result, that was taken back and
not improved: the first stage whose result is missing runs. What a stage of this run has written is no edit.

If later stages have led, one after the other, from what the reused ones left to what is there, nobody has edited it:
the next stage begins again with what the reused stages left.

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
from moot.core.run import BEHIND, INTERRUPTED
from moot.runs import step_keys
from moot.runs.contents import NONE, is_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from moot.core.run import Run, StageTry
    from moot.pipelines.contract import Target
    from moot.runs.stage import Stage


_DOCUMENT = "document:"
_FRESH = {"never": "it is never reused", "run": "it runs in every run"}


class Earlier(Record):
    """An attempt that passed, and its run. `asked`: a newer one has only asked a person."""

    run: str
    attempt: StageTry
    asked: bool = False


class ResultEdits(Record):
    """How a pipeline accepts what a person made of its results.

    missing: what of a stage's result is not in the files any more, in words; empty if it is there. written: paths of
    files that stages of this run may have written.
    """

    missing: Callable[[Stage], str]
    written: tuple[str, ...] = ()


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

    One that only asked a person has done nothing, so the one before it counts. `current`: the run that is resumed.
    """
    asked = False
    for run in runs:
        if stage.cache == "never" or (stage.cache == "run" and run.id != current):
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
    edits: ResultEdits | None = None,
) -> Reuse:
    """Which of the stages to reuse. `files`: the digests of all files now. `last`: the last attempt of the run.

    `inputs`: the table of a stage as things are now, given the answer of the stage before. `documents`: digests of the
    parts of the document that a stage owns, as they are now. `stale`: other reasons not to reuse a stage. `alone`: the
    last stage is run alone, so no earlier one can make a file again that was deleted; `tried`: its earlier attempts.
    `later`: the last attempts of a target that has gone on since, by stage. `edits`: None if they are not accepted.
    """
    made = [path for stage in stages for role in stage.writes for path in target.paths.get(role, ())]
    kept: list[Earlier] = []
    left: dict[str, str] = {}
    times: dict[str, str] = {}  # when each of them was left
    reason = ""
    for stage in stages:
        found = earlier.get(stage.name)
        if found is None:
            failed = last is not None and last.stage == stage.name
            reason = _FRESH.get(stage.cache, "its last attempt did not pass" if failed else "it had not passed before")
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
    undone = {} if alone or later else _undone(stages, len(kept), left, earlier, files)
    there = {**left, **{name: files[name.removeprefix(step_keys.FILE)] for name in undone}}
    if edits is not None and (alone or not _is_settled(stages, later)):
        edits = edits.replace(missing=lambda _stage: "")
    decided = _checked(stages, target, kept, there, files, reason, last, alone=alone, tried=tried, edits=edits)
    return decided.replace(undone=undone) if len(decided.kept) == len(kept) else decided


def _undone(
    stages: Sequence[Stage],
    kept: int,
    left: Mapping[str, str],
    earlier: Mapping[str, Earlier],
    files: Mapping[str, str],
) -> dict[str, str]:
    """The files that later stages have made of what the reused stages left, which is the value; by name.

    Each of those stages began with what the one before it left. So nobody else has changed them since, no earlier stage
    runs for them, and the log has what was left.
    """
    found = {}
    for name, before in left.items():
        path, end = name.removeprefix(step_keys.FILE), before
        for stage in stages[kept:]:
            attempt = earlier[stage.name].attempt if stage.name in earlier else None
            if attempt is not None and name in attempt.outputs:
                begun = attempt.inputs.get(name, attempt.snapshots.get(path, NONE))
                end = attempt.outputs[name] if begun == end else NONE
        if before != end == files.get(path, NONE) != NONE:
            found[name] = before
    return found


def _is_settled(stages: Sequence[Stage], later: Mapping[str, StageTry] | None) -> bool:
    """Whether no target that has gone on with the same files is in the middle of its work."""
    return not later or all(stage.name in later and later[stage.name].status in BEHIND for stage in stages)


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
    edits: ResultEdits | None,
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
    upto = stages[: len(kept) + 1]
    found = [(name, _first(upto, len(kept), target, name, files, edits, alone=alone)) for name in drift]
    firsts = {name: number for name, number in found if number is not None}
    lacking, lacks = _lacking(stages[: len(kept)], target, drift, edits)
    cut = min([*firsts.values(), lacking])
    if not firsts and cut == len(kept):
        going_on = Reuse(kept=tuple(kept), reason=reason, left=left)
        return going_on.replace(leftover=_paths(leftover), repaired=_paths(repaired))
    edited = ", ".join(_paths([name for name, number in firsts.items() if number == cut] or drift))
    still: dict[str, str] = {}
    for one in kept[:cut]:
        still |= {name: value for name, value in one.attempt.outputs.items() if name.startswith(step_keys.FILE)}
    if cut < len(kept):
        reason = f"{edited} changed since it passed{f': {lacks}' if cut == lacking else ''}"
    else:
        reason = f"{reason}; {edited} changed" if reason else f"{edited} changed"
    return Reuse(kept=tuple(kept[:cut]), reason=reason, left=still)


def _paths(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(name.removeprefix(step_keys.FILE) for name in names)


def _is_unfinished(name: str, stage: Stage, target: Target, last: StageTry | None, files: Mapping[str, str]) -> bool:
    """Whether a file is as the last attempt at this stage left it, which did not pass."""
    path = name.removeprefix(step_keys.FILE)
    if last is None or last.stage != stage.name or last.status in BEHIND:
        return False
    if not _has(target, stage.writes, path):
        return False
    return last.status == INTERRUPTED or last.outputs.get(name) == files.get(path, NONE)


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
    if not _has(target, (*stage.reads, *stage.writes), path):
        return False
    return any(one.snapshots.get(path, one.inputs.get(name)) == left[name] for one in tried)


def _first(
    stages: Sequence[Stage],
    kept: int,
    target: Target,
    name: str,
    files: Mapping[str, str],
    edits: ResultEdits | None,
    *,
    alone: bool,
) -> int | None:
    """The number of the first stage that must run because a file changed; None if none must. See the module."""
    path = name.removeprefix(step_keys.FILE)
    readers = [number for number, stage in enumerate(stages) if _has(target, stage.reads, path)]
    writers = [number for number, stage in enumerate(stages[:kept]) if _has(target, stage.writes, path)]
    if files.get(path, NONE) == NONE and not alone:
        return writers[0]
    if edits is None or is_of(path, edits.written):
        return min(readers, default=writers[-1])
    own = [number for number in writers if stages[number].agent == "optional"]
    last = max((number for number in writers if number not in own), default=-1)
    return min((number for number in (*readers, *own) if number > last), default=None)


def _lacking(
    stages: Sequence[Stage], target: Target, drift: Sequence[str], edits: ResultEdits | None
) -> tuple[int, str]:
    """The first stage whose result is missing in files that somebody edited, and what is; else, after all of them."""
    edited = [path for path in _paths(drift) if edits is not None and not is_of(path, edits.written)]
    for number, stage in enumerate(stages):
        if edits is not None and any(_has(target, stage.writes, path) for path in edited):
            missing = edits.missing(stage)
            if missing:
                return number, missing
    return len(stages), ""


def _has(target: Target, roles: Sequence[str], path: str) -> bool:
    return any(is_of(path, target.paths.get(role, ())) for role in roles)
