"""run restore: puts the files of a stage back as they were before it.

A file that the stage has made is removed, but only while it has exactly the content that the stage has left. A file
that was edited since is put back only if the caller asks for that. So what somebody else may have written stays. Of an
attempt that was interrupted, nobody knows what it has left: its files are put back. The log keeps all contents that are
replaced or removed, and `--undo` puts them back (`undoing`).
"""

from __future__ import annotations

from moot.api.answer import Answer
from moot.api.catalogue import KEY, Param, Verb
from moot.api.verbs.runs.looking import found, with_stage
from moot.core.deciders.run import RestoreFiles
from moot.core.errors import Refused, Unknown, Usage
from moot.core.record import Record
from moot.core.run import BEHIND, FAILED, REUSED
from moot.core.text import command_line
from moot.pipelines import contents
from moot.pipelines.contract import StageError
from moot.pipelines.step_keys import FILE
from moot.pipelines.undoing import last_replaced, restores_of
from moot.runs.steps import RestoredFiles
from moot.views import queries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from moot.api.call import Call
    from moot.core.run import Run, StageTry


_RUNS = 1000


class _Plan(Record):
    """What there is to do. `now`: the contents, by path."""

    now: Mapping[str, bytes]
    restored: Mapping[str, bytes]
    removed: tuple[str, ...]
    kept: tuple[str, ...]
    edited: tuple[str, ...] = ()


def restore(
    call: Call,
    id: str,  # noqa: A002
    stage: str | None,
    attempt: int | None,
    *,
    overwritten: bool = False,
    edited: bool = False,
    undo: bool = False,
    dry_run: bool = False,
) -> Answer:
    from moot.place.locks import is_alive

    if undo and (overwritten or stage is not None or attempt is not None):
        raise Usage("undo_or_stage", "--undo takes back the last restore, whatever it was.", "Leave the others out.")
    run = _restorable(call, found(call, id), stage)
    if run.open and is_alive(call.place.state, run.driver):
        raise Refused(
            "target_busy",
            f"{run.id} is running.",
            f"Wait until it has ended: `{command_line('run status', run.id)}`.",
            run=run.id,
        )
    if undo:
        one = last_replaced(call, run)
    else:
        one = _attempt(call, run, stage, attempt) if not overwritten else _in_between(run, stage, attempt)
    try:
        plan = _plan(call, run, one, edited=edited)
        if (plan.restored or plan.removed) and not dry_run:
            _carry_out(call, run, one, plan)
    except StageError as error:
        raise Refused(
            "not_restored",
            f"The files of {run.id} cannot be restored: {error.text}.",
            "Correct that, then try again.",
            run=run.id,
        ) from error
    result = RestoredFiles(run.id, one.stage, one.attempt, tuple(plan.restored), plan.removed, plan.kept, plan.edited)
    moment = "before it was put back as before" if undo else "during" if overwritten else "before"
    again = command_line("run restore", run.id, options="--undo" if undo else f"--stage {one.stage}")
    return Answer(result=result, say=tuple(_lines(result, "would " if dry_run else "", moment, f"{again} --edited")))


def _lines(done: RestoredFiles, would: str, moment: str, more: str) -> list[str]:
    at = f"{done.stage}, attempt {done.attempt}"
    restored, removed, keeps = ("restore", "remove", "keep") if would else ("restored", "removed", "kept")
    lines = [f"{would}{restored} {path}, as it was {moment} {at}" for path in done.restored]
    lines += [f"{would}{removed} {path}, which {at} has made" for path in done.removed]
    lines += [f"{would}{keeps} {path}: it was not there before {at}, but has changed since" for path in done.kept]
    lines += [
        f"{would}{keeps} {path}: it was edited after {at}; to replace that, too: `{more}`" for path in done.edited
    ]
    if not would and (done.restored or done.removed):
        lines.append(f"To take it back: `{command_line('run restore', done.run, options='--undo')}`")
    return lines or [f"The files are already as they were {moment} it."]


def _plan(call: Call, run: Run, one: StageTry, *, edited: bool) -> _Plan:
    before = {path: call.blob(digest) for path, digest in one.snapshots.items()}
    made = _made(call, run, one)
    now = contents.read(run.root, (*before, *made), _folders(run)).files
    same = [path for path, digest in made.items() if path in now and contents.digest(now[path]) == digest]
    differing = {path: data for path, data in before.items() if now.get(path) != data}
    theirs = (
        () if edited else tuple(path for path in differing if path in now and _is_edited(call, run, path, now[path]))
    )
    return _Plan(
        now=now,
        restored={path: data for path, data in differing.items() if path not in theirs},
        removed=tuple(same),
        kept=tuple(path for path in made if path in now and path not in same),
        edited=theirs,
    )


def _is_edited(call: Call, run: Run, path: str, data: bytes) -> bool:
    """Whether a file has a content that no stage has found or left, as far as is known."""
    runs = [one for one in queries.things(call.engine.read(), "run", _RUNS, ended=True) if one.root == run.root]
    tries = [
        one for other in runs if any(contents.is_of(path, of) for of in other.paths.values()) for one in other.tries
    ]
    last = max((one for one in tries if not one.source), key=lambda one: one.at, default=None)
    if last is None or last.status not in (*BEHIND, FAILED):
        return False  # the last attempt was interrupted, and may have left anything
    contents_of = {one.outputs.get(FILE + path) for one in tries}
    contents_of |= {known[path] for known in restores_of(call, run) if path in known}
    contents_of |= {
        known[path] for one in tries for known in (one.snapshots, one.left, one.overwritten) if path in known
    }
    return contents.digest(data) not in contents_of


def _carry_out(call: Call, run: Run, one: StageTry, plan: _Plan) -> None:
    """Record it with the contents that go, then do it. Nothing that changed meanwhile is overwritten or removed."""
    gone = {path: plan.now[path] for path in (*plan.restored, *plan.removed) if path in plan.now}
    command = RestoreFiles(
        one.stage,
        one.attempt,
        restored={path: one.snapshots[path] for path in plan.restored},
        replaced={path: call.put_blob(data) for path, data in gone.items()},
        removed=plan.removed,
    )
    call.commit(lambda work: work.do("run", run.id, command, pack=run.pack))
    files: dict[str, bytes | None] = {**plan.restored, **dict.fromkeys(plan.removed)}
    contents.write(run.root, files, {path: contents.digest(data) for path, data in gone.items()}, _folders(run))


def _folders(run: Run) -> tuple[str, ...]:
    """The folders outside the root in which files of the run are."""
    paths = [path for of in run.paths.values() for path in of if path.startswith("/")]
    return tuple(dict.fromkeys(path.rpartition("/")[0] for path in paths))


def _made(call: Call, run: Run, one: StageTry) -> dict[str, str]:
    """The files that an attempt has made, with their digests.

    Of one that was interrupted, nobody knows what it has left: single files that it may write, without a digest.
    """
    if one.status == REUSED:
        return {}
    left = {name.removeprefix(FILE): digest for name, digest in one.outputs.items() if name.startswith(FILE)}
    if not one.outputs:
        stages = [stage for pack in call.packs.packs if pack.name == run.pack for stage in pack.stages]
        roles = [role for stage in stages if stage.name == one.stage for role in stage.writes]
        left = {path: "" for role in roles for path in run.paths.get(role, ()) if not path.endswith("/")}
    return {path: digest for path, digest in left.items() if path not in one.snapshots and digest != contents.NONE}


def _restorable(call: Call, run: Run, stage: str | None) -> Run:
    """The run itself, or the only one of its parts that has files to restore."""
    parts = with_stage(call, run, stage)
    kept = [one.id for one in parts if any(_has_files(call, one, two, stage) for two in one.tries)]
    if run.target or not kept:
        return run
    if len(kept) > 1:
        raise Refused(
            "several_runs",
            f"{run.id} consists of several runs with files to restore: {', '.join(kept)}.",
            f"Name one of them: `{command_line('run restore', kept[0])}`.",
            run=run.id,
            runs=kept,
        )
    return found(call, kept[0])


def _has_files(call: Call, run: Run, one: StageTry, stage: str | None) -> bool:
    return stage in (None, one.stage) and bool(one.snapshots or _made(call, run, one))


def _in_between(run: Run, stage: str | None, attempt: int | None) -> StageTry:
    """The last attempt during which something was overwritten, with that as what is put back."""
    for one in reversed(run.tries):
        if one.overwritten and stage in (None, one.stage) and attempt in (None, one.attempt):
            return one.replace(snapshots=one.overwritten, outputs={}, status=REUSED)  # it has made no other files
    raise Unknown(
        "nothing_overwritten",
        f"As far as is known, nothing was overwritten while {stage or 'a stage'} of {run.id} ran.",
        f"What was there before: `{command_line('run restore', run.id, options='--dry-run')}`.",
        run=run.id,
    )


def _attempt(call: Call, run: Run, stage: str | None, attempt: int | None) -> StageTry:
    """The attempt that is meant: by default, the last one that had files to write."""
    fitting = [one for one in run.tries if _has_files(call, run, one, stage) and attempt in (None, one.attempt)]
    if fitting:
        return fitting[-1]
    raise Unknown(
        "no_snapshot",
        f"{run.id} has no files to restore for {stage or 'any stage'}: it has written none.",
        f"`{command_line('run status', run.id)}` shows its stages.",
        run=run.id,
    )


VERBS = (
    Verb(
        "run restore",
        "Put the files of a stage back as they were before it.",
        restore,
        kind="own",
        params=(
            Param("id", "The run, `last`, or the target of its newest run.", positional=True, required=True),
            Param("stage", "The stage. Default: the last one that had files to write."),
            Param("attempt", "Which attempt. Default: the last one.", type="int"),
            Param("overwritten", "Put back what was written while the stage ran, and was overwritten.", type="flag"),
            Param("edited", "Also put back files that somebody has edited since.", type="flag"),
            Param("undo", "Take the last restore of the run back, instead.", type="flag"),
            Param("dry_run", "Only show what would be restored.", type="flag"),
            KEY,
        ),
        examples=(
            "moot run restore last --dry-run",
            "moot run restore last --stage implementer",
            "moot run restore last --undo",
        ),
        detail=(
            "A file that the stage has made is removed, unless it has changed since; then it is kept and named, and so "
            "is a file that somebody has edited since. The log keeps what the files contain now; --undo puts that back."
        ),
    ),
)
