"""Decides which stages of a target need not run again. Pure.

The stages are looked at in order. A result is reused while everything that the stage read is the same. Later stages
write the same files again, so what an earlier one left is no longer there: instead of the real content, a stage is
compared with what the stage before it left, according to the record, or with what a person made of that before the
stage passed. In the end, the last reused stage must have left
exactly what is there now. If not, somebody has edited a file since, and the first stage that reads it runs again.

An attempt that failed or was interrupted may have written a part of its work. That is not an edit: the stage goes on
with it, and its criteria compare with what the last stage that passed has left.
"""

from __future__ import annotations

from moot.core.record import Record
from moot.core.run import BEHIND, INTERRUPTED
from moot.pipelines import step_keys
from moot.pipelines.contents import NONE, is_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from moot.api.protocol.stage import Stage
    from moot.core.run import Run, StageTry
    from moot.pipelines.contract import Target


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


def earlier_of(runs: Sequence[Run], stage: Stage, current: str | None) -> Earlier | None:
    """The newest attempt at a stage that passed, in these runs, newest first. `current`: the run that is resumed."""
    for run in runs:
        if stage.cache == "never" or (stage.cache == "run" and run.id != current):
            continue
        for attempt in reversed(run.tries_of(stage.name)):
            if attempt.status in BEHIND:
                return Earlier(run=attempt.source or run.id, attempt=attempt)
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
) -> Reuse:
    """Which of the stages to reuse. `files`: the digests of all files now. `last`: the last attempt of the run.

    `inputs`: the table of a stage as things are now, given the answer of the stage before. `documents`: digests of the
    parts of the document that a stage owns, as they are now. `stale`: other reasons not to reuse a stage. `alone`: the
    last stage is run alone, so no earlier one can make a file again that was deleted.
    """
    made = [path for stage in stages for role in stage.writes for path in target.paths.get(role, ())]
    kept: list[Earlier] = []
    left: dict[str, str] = {}
    times: dict[str, str] = {}  # when each of them was left
    reason = ""
    for stage in stages:
        found = earlier.get(stage.name)
        if found is None:
            reason = "it is never reused" if stage.cache == "never" else "it has not passed yet"
            break
        before, now = found.attempt.inputs, inputs(stage, answer)
        for name in [name for name in {*before, *now} if is_of(name.removeprefix(step_keys.FILE), made)]:
            edited = found.attempt.at >= times.get(name, "")  # between the two, and accepted then
            then = before.get(name) if edited else left[name]
            now = {**now, name: then} if then is not None else {n: one for n, one in now.items() if n != name}
        names = step_keys.changed(before, now)
        outputs = found.attempt.outputs
        gone = [name for name, one in documents(stage).items() if one == step_keys.EMPTY != outputs.get(name, one)]
        reason = step_keys.said(names) if names else _removed(gone) or stale(stage, found)
        if reason:
            break
        kept.append(found)
        written = {name: one for name, one in outputs.items() if name.startswith(step_keys.FILE)}
        left |= written
        times |= dict.fromkeys(written, found.attempt.ended)
        answer = found.attempt.answer
    return _checked(stages, target, kept, left, files, reason, last, alone=alone)


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
) -> Reuse:
    """The reused stages, without those that no longer have left what is there now."""
    drift = [name for name, one in left.items() if files.get(name.removeprefix(step_keys.FILE), NONE) != one]
    following = stages[len(kept)] if len(kept) < len(stages) else None
    leftover = [
        name for name in drift if following is not None and _is_unfinished(name, following, target, last, files)
    ]
    drift = [name for name in drift if name not in leftover]
    if not drift:
        paths = tuple(name.removeprefix(step_keys.FILE) for name in leftover)
        return Reuse(kept=tuple(kept), reason=reason, left=left, leftover=paths)
    lost = [] if alone else [name for name in drift if name.removeprefix(step_keys.FILE) not in files]
    lost += [] if alone else [name for name in drift if files.get(name.removeprefix(step_keys.FILE)) == NONE]
    cut = _first(stages[: len(kept) + 1], len(kept), target, drift, lost)
    edited = ", ".join(name.removeprefix(step_keys.FILE) for name in drift)
    still: dict[str, str] = {}
    for one in kept[:cut]:
        still |= {name: value for name, value in one.attempt.outputs.items() if name.startswith(step_keys.FILE)}
    reason = f"{edited} changed since it passed" if cut < len(kept) else reason or f"{edited} changed"
    return Reuse(kept=tuple(kept[:cut]), reason=reason, left=still)


def _is_unfinished(name: str, stage: Stage, target: Target, last: StageTry | None, files: Mapping[str, str]) -> bool:
    """Whether a file is as the last attempt at this stage left it, which did not pass."""
    path = name.removeprefix(step_keys.FILE)
    if last is None or last.stage != stage.name or last.status in BEHIND:
        return False
    if not any(is_of(path, target.paths.get(role, ())) for role in stage.writes):
        return False
    return last.status == INTERRUPTED or last.outputs.get(name) == files.get(path, NONE)


def _first(stages: Sequence[Stage], kept: int, target: Target, drift: Sequence[str], lost: Sequence[str]) -> int:
    """The number of the first stage that must run: one that reads a changed file, or wrote one that is lost.

    The one after those that are kept runs anyway. If nobody reads a changed file, it is the last one that wrote it.
    """

    def touching(names: Sequence[str], roles: Callable[[Stage], Sequence[str]]) -> list[int]:
        paths = [name.removeprefix(step_keys.FILE) for name in names]
        return [
            number
            for number, stage in enumerate(stages)
            if any(is_of(path, target.paths.get(role, ())) for role in roles(stage) for path in paths)
        ]

    first = [*touching(lost, lambda stage: stage.writes)[:1], *touching(drift, lambda stage: stage.reads)[:1]]
    return min(first) if first else [one for one in touching(drift, lambda stage: stage.writes) if one < kept][-1]
