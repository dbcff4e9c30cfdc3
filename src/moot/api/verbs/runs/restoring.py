"""run restore: put the files of a stage back as they were before it."""

from __future__ import annotations

from moot.api.answer import Answer
from moot.api.catalogue import KEY, Param, Verb
from moot.core.errors import Refused, Unknown
from moot.core.text import command_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.call import Call
    from moot.core.run import Run, StageTry


def restore(call: Call, id: str, stage: str | None, attempt: int | None, *, dry_run: bool = False) -> Answer:  # noqa: A002
    from moot.api.verbs.runs.looking import found
    from moot.api.verbs.runs.site import site_of
    from moot.place.locks import is_alive
    from moot.runs.restore import carry_out, end_command, planned
    from moot.runs.steps import RestoredFiles

    run = _restorable(call, found(call, id), stage)
    if run.open and is_alive(call.place.state, run.driver):
        raise Refused(
            "target_busy",
            f"{run.id} is running.",
            f"Wait until it has ended: `{command_line('run status', run.id)}`.",
            run=run.id,
        )
    one, site = _attempt(run, stage, attempt), site_of(call)
    if not dry_run:
        end_command(site, run)
    plan = planned(site, run, one)
    if not dry_run:
        carry_out(site, run, one, plan)
    would, at = "would " if dry_run else "", f"{one.stage}, attempt {one.attempt}"
    did = ("restore", "remove") if dry_run else ("restored", "removed")
    lines = [f"{would}{did[0]} {path}, as it was before {at}" for path in plan.restored]
    lines += [f"{would}{did[1]} {path}, which was not there before {at}" for path in plan.removed]
    result = RestoredFiles(run.id, one.stage, one.attempt, tuple(plan.restored), plan.removed)
    return Answer(result=result, say=tuple(lines) or (f"The files are as they were before {at}.",))


def _restorable(call: Call, run: Run, stage: str | None) -> Run:
    """The run itself, or the only one of its parts that has files to restore."""
    from moot.api.verbs.runs.looking import found, with_stage
    from moot.runs.restore import has_files

    parts = with_stage(call, run, stage)
    kept = [one.id for one in parts if any(has_files(two) for two in one.tries if stage in (None, two.stage))]
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


def _attempt(run: Run, stage: str | None, attempt: int | None) -> StageTry:
    """The attempt that is meant: by default, the last one that had files to write."""
    from moot.runs.restore import has_files

    for one in reversed(run.tries):
        if has_files(one) and stage in (None, one.stage) and attempt in (None, one.attempt):
            return one
    reused = next((one for one in reversed(run.tries) if one.source and stage in (None, one.stage)), None)
    raise Unknown(
        "no_snapshot",
        f"{run.id} has no files to restore for {stage or 'any stage'}: it has written none.",
        f"`{command_line('run status', run.id)}` shows its stages."
        if reused is None
        else f"It used a result of {reused.source}: `{command_line('run restore', reused.source, reused.stage)}`.",
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
            Param("stage", "The stage. Default: the last one that had files to write.", positional=True),
            Param("attempt", "Which attempt. Default: the last one.", type="int"),
            Param("dry_run", "Only show what would be restored.", type="flag"),
            KEY,
        ),
        examples=("moot run restore last --dry-run", "moot run restore last review"),
        detail=(
            "Files that the stage has made are removed, and what is left of its command is ended. If somebody has "
            "changed one of the files since, nothing is touched. The log keeps what the files contain now."
        ),
    ),
)
