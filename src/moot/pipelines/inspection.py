"""run status, run explain, run restore, run stages: see where runs stand and why, and put files back."""

from __future__ import annotations

from moot.api.answer import Answer
from moot.api.catalogue import KEY, Param, Verb
from moot.core.deciders.run import RestoreFiles
from moot.core.deciders.run import known as known_run
from moot.core.errors import Refused, Unknown
from moot.core.record import Record
from moot.core.text import command_line, one_line
from moot.views import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from moot.api.call import Call
    from moot.core.run import Run, StageTry

_ROUND = 1.0  # seconds between looks whether the process of a run still lives


class StageReason(Record):
    """Why a stage was reused, run or refused. `changed`: what differs from the attempt before."""

    run: str
    stage: str
    attempt: int
    status: str
    why: str
    changed: tuple[str, ...] = ()
    source: str = ""
    key: str = ""
    inputs: Mapping[str, str] = {}


class RestoredFiles(Record):
    """Files that were put back as they were before an attempt. `missing`: it had no such file before."""

    run: str
    stage: str
    attempt: int
    restored: tuple[str, ...]


# --- status -----------------------------------------------------------------------------------------------------------


def status(call: Call, id: str | None, *, follow: bool) -> Answer:  # noqa: A002
    from moot.pipelines.status import lines_of, newest, status_of

    if id is None:
        runs = newest(call, limit=1)
        if not runs:
            return Answer(result=[] if follow else None, say=("No runs yet: moot run PACK FILE",))
        run = runs[0]
    else:
        run = found(call, id)
    if follow:
        return Answer(result=[], more=_followed(call, run.id))
    shown = status_of(call, run)
    return Answer(result=shown, say=tuple(lines_of(shown)))


def _followed(call: Call, name: str) -> Iterator[Answer]:
    """The status whenever it changes, until the run has ended."""
    from moot.pipelines.status import lines_of, status_of

    before: Any = None
    while True:
        run: Run = states.state(call.engine.read(), "run", name)[0]
        now = status_of(call, run)
        if now != before:
            before = now
            yield Answer(result=now, say=tuple(lines_of(now)))
        if not run.open or now.state.startswith("interrupted"):
            return
        for _ in call.engine.log.follow(call.engine.log.head(), timeout=_ROUND):
            break


def found(call: Call, name: str) -> Run:
    """The run with this id, or the newest run of the target with this id or title."""
    from moot.pipelines.running import runs_of
    from moot.pipelines.status import newest

    if name == "last":
        runs = newest(call, limit=1)
        if runs:
            return runs[0]
    run: Run = states.state(call.engine.read(), "run", name)[0]
    if run.exists:
        return run
    named = runs_of(call, name) or [one for one in newest(call, limit=1000) if one.title == name]
    return named[0] if named else known_run(run)


def _with_stage(call: Call, run: Run, stage: str | None) -> list[Run]:
    """Of a run with waves, the runs of its targets with an attempt at a stage, newest first; of another one, itself."""
    from moot.pipelines.running import runs_of

    if run.target:
        return [run]
    names = dict.fromkeys(target for wave in run.waves for target in wave)
    parts = [one for name in names for one in runs_of(call, name) if one.parent == run.id]
    fitting = [one for one in parts if any(stage in (None, two.stage) for two in one.tries)]
    return sorted(fitting, key=lambda one: one.at, reverse=True)


# --- explain ----------------------------------------------------------------------------------------------------------


def explain(call: Call, id: str | None, stage: str | None) -> Answer:  # noqa: A002
    from moot.pipelines.running import runs_of

    run = found(call, id or "last")
    fitting = _with_stage(call, run, stage)
    run = fitting[0] if fitting else run
    history = [one for one in runs_of(call, run.target) if one.at <= run.at] if run.target else [run]
    reasons = [_reason(history, run, one) for one in run.tries[run.since :] if stage in (None, one.stage)]
    if run.outcome == "failed" and run.stopped_at and not any(one.stage == run.stopped_at for one in reasons):
        reasons.append(StageReason(run.id, run.stopped_at, 0, "refused", run.reason))
    if not reasons:
        raise Unknown(
            "unknown_attempt",
            f"{run.id} has no attempt at {stage or 'any stage'}.",
            f"`{command_line('run status', run.id)}` shows its stages.",
            run=run.id,
        )
    return Answer(result=reasons, say=tuple(line for one in reasons for line in _reason_lines(one)))


def _reason(history: list[Run], run: Run, one: StageTry) -> StageReason:
    from moot.pipelines import step_keys

    before = _before(history, run, one)
    changed = step_keys.changed(before.inputs, one.inputs) if before is not None and one.status != "reused" else []
    return StageReason(
        run=run.id,
        stage=one.stage,
        attempt=one.attempt,
        status=one.status,
        why=one.why,
        changed=tuple(changed),
        source=one.source,
        key=one.key,
        inputs=one.inputs,
    )


def _before(history: list[Run], run: Run, one: StageTry) -> StageTry | None:
    """The attempt at the same stage before this one, in this run or an earlier one."""
    for other in history:
        tries = other.tries_of(one.stage)
        earlier = [two for two in tries if two.attempt < one.attempt] if other.id == run.id else tries
        if earlier:
            return earlier[-1]
    return None


def _reason_lines(one: StageReason) -> Iterator[str]:
    if one.status == "reused":
        yield f"{one.stage} was reused from {one.source}: {one.why}"
        return
    if one.status == "refused":
        yield one_line(f"{one.stage} was not started: {one.why}", 500)
        return
    yield one_line(f"{one.stage} ran (attempt {one.attempt}, {one.status}): {one.why or 'first attempt'}", 500)
    if one.changed:
        yield f"  {one_line('changed since the attempt before: ' + ', '.join(one.changed), 500)}"


# --- restore ----------------------------------------------------------------------------------------------------------


def restore(call: Call, id: str, stage: str | None, attempt: int | None, *, dry_run: bool) -> Answer:  # noqa: A002
    from moot.pipelines import contents
    from moot.pipelines.contract import StageError
    from moot.pipelines.driver import is_alive

    run = _restorable(call, found(call, id), stage)
    if run.open and is_alive(call.place.state, run.driver):
        raise Refused(
            "target_busy",
            f"{run.id} is running.",
            f"Wait until it has ended: `{command_line('run status', run.id)}`.",
            run=run.id,
        )
    one = _attempt(run, stage, attempt)
    files = {path: call.blob(digest) for path, digest in one.snapshots.items()}
    folders = tuple({path.rpartition("/")[0] for path in files if path.startswith("/")})
    try:
        now = contents.read(run.root, files, folders).files
        different = {path: data for path, data in files.items() if now.get(path) != data}
        result = RestoredFiles(run.id, one.stage, one.attempt, tuple(different))
        verb = "would restore" if dry_run else "restored"
        lines = [f"{verb} {path}, as it was before {one.stage}, attempt {one.attempt}" for path in different]
        if different and not dry_run:
            replaced = {path: call.put_blob(now[path]) for path in different if path in now}
            restored = {path: one.snapshots[path] for path in different}
            command = RestoreFiles(one.stage, one.attempt, restored=restored, replaced=replaced)
            call.commit(lambda work: work.do("run", run.id, command, pack=run.pack))
            for path, data in different.items():
                contents.restore(run.root, path, data, folders)
    except StageError as error:
        raise Refused(
            "not_restored",
            f"The files of {run.id} cannot be restored: {error.text}.",
            "Correct that, then try again.",
            run=run.id,
        ) from error
    return Answer(result=result, say=tuple(lines) or ("The files are already as they were before it.",))


def _restorable(call: Call, run: Run, stage: str | None) -> Run:
    """The run itself, or the only one of its parts that has files to restore."""
    tries = {one.id: one.tries for one in _with_stage(call, run, stage)}
    kept = [name for name, of in tries.items() if any(one.snapshots and stage in (None, one.stage) for one in of)]
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
    fitting = [one for one in run.tries if stage in (None, one.stage) and attempt in (None, one.attempt)]
    kept = [one for one in fitting if one.snapshots]
    if kept:
        return kept[-1]
    raise Unknown(
        "no_snapshot",
        f"{run.id} has no files to restore for {stage or 'any stage'}: there were none before it.",
        f"`{command_line('run status', run.id)}` shows its stages.",
        run=run.id,
    )


# --- stages -----------------------------------------------------------------------------------------------------------


def stages(call: Call, name: str) -> Answer:
    pack = next((one for one in call.packs.packs if one.name == name), None)
    if pack is None or not pack.stages:
        known = ", ".join(one.name for one in call.packs.packs if one.stages) or "none"
        raise Unknown(
            "no_stages", f"No active pack with stages is called {name[:80]!r}.", f"Known: {known}.", pack=name
        )
    lines = []
    for one in pack.stages:
        who = {"required": "by a command", "optional": "built in, or by a command"}.get(one.agent, "built in")
        lines.append(f"{one.name}: {who}{f', after {one.after}' if one.after else ''}")
        for title, values in (("reads", one.reads), ("writes", one.writes), ("owns", one.owns)):
            lines += [f"  {title} {', '.join(values)}"] if values else []
        lines += [f"  criteria {', '.join(one.criteria)}"] if one.criteria else []
    return Answer(result=list(pack.stages), say=tuple(lines))


_ID = Param("id", "The run, `last`, or the target of its newest run.", positional=True)
_NEWEST = _ID.replace(help="The run, or the target of its newest run. Default: the newest run.")

VERBS = (
    Verb(
        "run status",
        "Show where a run stands: its waves, files and stages.",
        status,
        kind="look",
        params=(
            _NEWEST,
            Param("follow", "Show it again whenever it changes, until the run has ended.", type="flag"),
        ),
        examples=("moot run status", "moot run status run-4kq2m7x --follow"),
        detail=(
            "A stage is completed, reused (nothing that it reads has changed), skipped, running, failed, interrupted "
            "or pending. A run whose process was killed is shown as interrupted at once."
        ),
        writes=False,
        everything=True,
    ),
    Verb(
        "run explain",
        "Say why each stage of a run was reused, run or refused.",
        explain,
        kind="look",
        params=(_NEWEST, Param("stage", "Only this stage.")),
        examples=("moot run explain", "moot run explain last --stage review"),
        detail="Names the inputs that changed since the attempt before: files, parts of the document, parameters.",
        writes=False,
        everything=True,
    ),
    Verb(
        "run restore",
        "Put the files of a stage back as they were before it.",
        restore,
        kind="own",
        params=(
            _ID.replace(required=True),
            Param("stage", "The stage. Default: the last one that had files to write."),
            Param("attempt", "Which attempt. Default: the last one.", type="int"),
            Param("dry_run", "Only show what would be restored.", type="flag"),
            KEY,
        ),
        examples=("moot run restore last --dry-run", "moot run restore last --stage implementer"),
        detail="What the files contain now is kept in the log, too.",
    ),
    Verb(
        "run stages",
        "Show the stages that a pack declares.",
        stages,
        kind="look",
        params=(Param("name", "The pack.", positional=True, required=True),),
        examples=("moot run stages checks",),
        writes=False,
    ),
)
