"""Look at runs: runs, run show, run log, run status, run explain, run stages. All of it is read from the log."""

from __future__ import annotations

import os

from moot.api.answer import Answer, Table, warn_of_more
from moot.api.catalogue import Param, Verb
from moot.core.deciders.run import known as known_run
from moot.core.errors import Unknown
from moot.core.principal import name_of
from moot.core.record import Record
from moot.core.text import age, bullets, command_line, counted, fence, one_line, option
from moot.engine.clock import local
from moot.runs.history import runs_of
from moot.runs.step_keys import changed, word
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from moot.api.call import Call
    from moot.core.run import Run, StageTry

_TITLE = 60  # cells
_LOOKED_AT = 1000  # runs that are searched for a title
_ROUND = 1.0  # seconds between looks whether the process of a run still lives


class RunOutput(Record):
    """The end of what a command wrote, on standard output and standard error, and the size of all of it."""

    run: str
    stage: str
    attempt: int
    output: str
    output_size: int
    errors: str
    errors_size: int


class StageReason(Record):
    """Why a stage was reused, run or refused. `changed`: what differs from the previous attempt.

    `repeat`: of a check that failed, the stage that has written what it reads, and the commands to repeat it and go on.
    """

    run: str
    stage: str
    attempt: int
    status: str
    why: str
    changed: tuple[str, ...] = ()
    source: str = ""
    key: str = ""
    inputs: Mapping[str, str] = {}
    repeat: tuple[str, ...] = ()


# --- runs, show, log --------------------------------------------------------------------------------------------------


def runs(call: Call, task: str | None, limit: int) -> Answer:
    store = call.engine.read()
    if task is not None:
        names = [name for kind, name in queries.things_of_task(store, task) if kind == "run"][::-1]
        found, total = [states.state(store, "run", name)[0] for name in names[:limit]], len(names)
    else:
        found = list(queries.things(store, "run", limit, ended=True))
        total = queries.count_things(store, "run", ended=True)
    warn_of_more(call, limit, total - len(found), "run")
    rows = tuple((one.id, _state(one), one.pack, _about(one), _where(one), local(one.at)) for one in found)
    lines = tuple(" ".join(filter(None, row)) for row in rows)
    table = Table(("run", "state", "pack", "task or target", "stage", "since"), rows, title="Runs") if rows else None
    return Answer(result=found, say=lines or ("No runs yet: moot run PACK",), table=table)


def _about(one: Run) -> str:
    """The task or the target of a run."""
    return one.task or one_line(one.title or one.target, _TITLE) or "(driver)"


def _state(one: Run) -> str:
    return one.outcome or "open"


def _where(one: Run) -> str:
    if not one.tries:
        return f"process {one.pid}" if one.pid else ""
    last = one.tries[-1]
    return f"{last.stage} {last.status}{f' (attempt {last.attempt})' if last.attempt > 1 else ''}"


def show(call: Call, id: str) -> Answer:  # noqa: A002
    found = _of_task(call, id)
    target = f" {found.title or found.target}" if found.target else " (driver)"
    of = f" {found.task}, attempt {found.attempt}" if found.task else target
    lines = [one_line(f"{found.id} {_state(found)}: {found.pack}{of}, since {local(found.at)}", 300)]
    if found.reason:
        lines.append(f"  {one_line(found.reason, 500)}")
    asked = found.parameters if found.task else {}
    lines += [one_line(f"  {name}: {value}", 300) for name, value in {**asked, **found.counts}.items() if value != ""]
    for one in found.tries:
        lines += [f"  {line}" for line in _try_lines(found, one)]
    return Answer(result=found, say=tuple(lines))


def _try_lines(found: Run, one: StageTry) -> Iterator[str]:
    from shlex import join

    took = f" after {age(one.seconds)}" if one.ended else ""
    how = f" from {one.source}" if one.status == "reused" else took
    by = f", by {name_of(one.who)}: {join(one.command)}" if one.who else ""
    yield one_line(f"{one.stage}, attempt {one.attempt}, {one.status}{how}{by}", 200)
    if one.reason:
        yield f"  {one_line(one.reason, 500)}"
    if found.task and found.parameters and one.ended:
        about = {"exit code": one.code, **one.outputs}
        yield f"  {', '.join(f'{name} {value}' for name, value in about.items() if value is not None)}"
        yield from bullets(one.problems)
    if one.output_size or one.errors_size:
        options = " ".join((option("--stage", one.stage), option("--attempt", str(one.attempt))))
        sizes = f"{counted(one.output_size, 'byte')} of output, {counted(one.errors_size, 'byte')} of errors"
        yield f"  {sizes}: {command_line('run log', found.id, options=options)}"


def log(call: Call, id: str, stage: str | None, attempt: int | None) -> Answer:  # noqa: A002
    found = _of_task(call, id)
    fitting = [one for one in found.tries if stage in (None, one.stage) and attempt in (None, one.attempt)]
    if not fitting:
        known = ", ".join(dict.fromkeys(one.stage for one in found.tries))
        raise Unknown(
            "unknown_attempt",
            f"{found.id} has no such attempt at a stage.",
            f"Its stages so far: {known or 'none'}. `{command_line('run show', found.id)}` lists the attempts.",
            run=found.id,
        )
    one = fitting[-1]
    output, errors = (_text(call, digest) for digest in (one.output, one.errors))
    lines = [f"{found.id}, {one.stage}, attempt {one.attempt}, {one.status}"]
    for title, text, size in (("output", output, one.output_size), ("errors", errors, one.errors_size)):
        cut = ", the end of it" if size > len(text.encode()) else ""
        lines += [f"{title} ({counted(size, 'byte')}{cut}):", *fence(text.rstrip("\n")).splitlines()] if size else []
    result = RunOutput(
        run=found.id,
        stage=one.stage,
        attempt=one.attempt,
        output=output,
        output_size=one.output_size,
        errors=errors,
        errors_size=one.errors_size,
    )
    return Answer(result=result, say=(*lines, *([] if len(lines) > 1 else ["It wrote nothing."])))


def _text(call: Call, digest: str | None) -> str:
    return "" if digest is None else call.blob(digest).decode("utf-8", "replace")


def _of_task(call: Call, name: str) -> Run:
    store = call.engine.read()
    if name == "last":
        name = next((one.id for one in queries.things(store, "run", 1000, ended=True) if one.task or one.target), name)
    found: Run = states.state(store, "run", name)[0]
    return known_run(found)


# --- status -----------------------------------------------------------------------------------------------------------


def status(call: Call, id: str | None, *, follow: bool) -> Answer:  # noqa: A002
    from moot.api.verbs.runs.status import status_of
    from moot.api.verbs.runs.status_lines import lines_of

    run = wanted(call, id)
    if run is None:
        return Answer(result=[] if follow else None, say=("No runs yet: moot run PACK FILE",))
    if follow:
        return Answer(result=[], more=_followed(call, run.id))
    shown = status_of(call, run)
    return Answer(result=shown, say=tuple(lines_of(shown)))


def wanted(call: Call, name: str | None) -> Run | None:
    """The run with this name, or the newest one; None if there is none yet."""
    from moot.api.verbs.runs.status import newest

    return found(call, name) if name is not None else next(iter(newest(call, limit=1)), None)


def _followed(call: Call, name: str) -> Iterator[Answer]:
    """The status whenever it changes, until the run has ended."""
    from moot.api.verbs.runs.status import status_of, without_clock
    from moot.api.verbs.runs.status_lines import lines_of

    before: Any = None
    while True:
        run: Run = states.state(call.engine.read(), "run", name)[0]
        now = status_of(call, run)
        if without_clock(now) != before:
            before = without_clock(now)
            yield Answer(result=now, say=tuple(lines_of(now)))
        if not run.open or now.state.startswith("interrupted"):
            return
        for _ in call.engine.log.follow(call.engine.log.head(), timeout=_ROUND):
            break


def found(call: Call, name: str) -> Run:
    """The run with this id, or the newest run of the target with this id, title or file."""
    from moot.api.verbs.runs.status import newest

    if name == "last":
        runs = newest(call, limit=1)
        if runs:
            return runs[0]
    run: Run = states.state(call.engine.read(), "run", name)[0]
    if run.exists:
        return run
    named = runs_of(call.engine.read(), name) or _of_title(call, name)
    return named[0] if named else known_run(run)


def _of_title(call: Call, name: str) -> list[Run]:
    """Runs of the target with this title, or with this file: a path from the caller's directory. The newest first."""
    root = os.path.realpath(call.place.root)
    path = "" if "\0" in name else os.path.relpath(os.path.realpath(os.path.join(call.cwd, name)), root)
    runs = [one for one in queries.things(call.engine.read(), "run", _LOOKED_AT, ended=True) if one.target]
    titled = next(filter(None, ([run for run in runs if run.title == title] for title in (name, path))), [])
    return titled or [run for run in runs if path and os.path.realpath(run.root) == root and _has(run, path)]


def _has(run: Run, path: str) -> bool:
    """Whether a file is one of those that the target consists of."""
    return any(path in paths for paths in run.paths.values())


def with_stage(call: Call, run: Run, stage: str | None) -> list[Run]:
    """Of a run with waves, the runs of its targets with an attempt at a stage, newest first; of another one, itself."""
    if run.target:
        return [run]
    names = dict.fromkeys(target for wave in run.waves for target in wave)
    parts = [one for name in names for one in runs_of(call.engine.read(), name) if one.parent == run.id]
    fitting = [one for one in parts if any(stage in (None, two.stage) for two in one.tries)]
    return sorted(fitting, key=lambda one: one.at, reverse=True)


# --- explain ----------------------------------------------------------------------------------------------------------


def explain(call: Call, id: str | None, stage: str | None) -> Answer:  # noqa: A002
    run = found(call, id or "last")
    fitting = with_stage(call, run, stage)
    run = fitting[0] if fitting else run
    history = [one for one in runs_of(call.engine.read(), run.target) if one.at <= run.at] if run.target else [run]
    reasons = [_reason(history, run, one) for one in run.tries[run.since :] if stage in (None, one.stage)]
    if reasons and reasons[-1].status == "failed":
        reasons[-1] = reasons[-1].replace(repeat=_to_repeat(call, run, reasons[-1].stage))
    if run.outcome == "failed" and run.stopped_at and not any(one.stage == run.stopped_at for one in reasons):
        reasons.append(StageReason(run.id, run.stopped_at, 0, "refused", run.reason))
    if not reasons:
        raise Unknown(
            "unknown_attempt",
            f"{run.id} has no attempt at {stage or 'any stage'}.",
            f"`{command_line('run status', run.id)}` shows its stages.",
            run=run.id,
        )
    head = f"{run.id}: {run.title or run.target}" if run.target else run.id
    lines = [line for one in reasons for line in _reason_lines(one)]
    return Answer(result=reasons, say=(one_line(head, 200), *(f"  {line}" for line in lines)))


def _reason(history: list[Run], run: Run, one: StageTry) -> StageReason:
    before = _before(history, run, one)
    new = changed(before.inputs, one.inputs) if before is not None and one.status != "reused" else []
    return StageReason(
        run=run.id,
        stage=one.stage,
        attempt=one.attempt,
        status=one.status,
        why=one.why,
        changed=tuple(new),
        source=one.source,
        key=one.key,
        inputs=one.inputs,
    )


def _to_repeat(call: Call, run: Run, failed: str) -> tuple[str, ...]:
    """The last stage before one that writes nothing which has written what that reads, and the commands to repeat it.

    Only for runs whose title is their file: others have commands of their own.
    """
    stages = next((one.stages for one in call.packs.packs if one.name == run.pack), ())
    names = [one.name for one in stages]
    if failed not in names or run.title not in run.paths.get("source", ()):
        return ()
    check = stages[names.index(failed)]
    before = reversed(stages[: names.index(failed)])
    maker = next((one.name for one in before if not set(check.reads).isdisjoint(one.writes)), "")
    if check.writes or not maker:
        return ()
    path = os.path.relpath(os.path.join(run.root, run.title), os.path.realpath(call.cwd))
    repeat, go_on = option("--stage", maker), "--resume"
    return (maker, *(command_line("run", run.pack, path, options=one) for one in (repeat, go_on)))


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
        same = ", ".join(word(name) for name in one.inputs)
        yield one_line(
            f"{one.stage} was reused from {one.source}: {f'{same} did not change' if same else one.why}", 500
        )
        return
    if one.status == "refused":
        yield one_line(f"{one.stage} was not started: {one.why}", 500)
        return
    yield one_line(f"{one.stage} ran (attempt {one.attempt}, {one.status}): {one.why or 'first attempt'}", 500)
    more = [name for name in map(word, one.changed) if name not in one.why]
    if more:
        yield f"  {one_line('also changed since the previous attempt: ' + ', '.join(more), 500)}"
    if one.repeat:
        maker, repeat, go_on = one.repeat
        yield f"  repeat {maker}: `{repeat}`, then go on: `{go_on}`"


# --- stages -----------------------------------------------------------------------------------------------------------


def stages(call: Call, name: str) -> Answer:
    pack = next((one for one in call.packs.packs if one.name == name), None)
    if pack is None or not pack.stages:
        known = ", ".join(one.name for one in call.packs.packs if one.stages) or "none"
        raise Unknown(
            "no_stages", f"No active pack with stages is called {name[:80]!r}.", f"Known: {known}.", pack=name
        )
    lines = []
    optional = "by a command" if pack.folder else "built in, or by a command"  # a folder has no code
    for one in pack.stages:
        who = {"required": "by a command", "optional": optional}.get(one.agent, "built in")
        lines.append(f"{one.name}: {who}{f', after {one.after}' if one.after else ''}")
        for title, values in (("reads", one.reads), ("writes", one.writes), ("owns", one.owns)):
            lines += [f"  {title} {', '.join(values)}"] if values else []
        lines += [f"  criteria {', '.join(one.criteria)}"] if one.criteria else []
    return Answer(result=list(pack.stages), say=tuple(lines))


# --- verbs ------------------------------------------------------------------------------------------------------------

_ID = Param("id", "The run, or `last`: the newest run of a task or a file.", positional=True, required=True)

_NEWEST = Param(
    "id",
    "The run; or the target of its newest run, by name or by one of its files. Default: the newest run.",
    positional=True,
)

VERBS = (
    Verb(
        "runs",
        "List runs, newest first.",
        runs,
        kind="look",
        params=(
            Param("task", "Only runs of this task."),
            Param("limit", "Maximum number of runs.", type="int", default=50),
        ),
        examples=("moot runs", "moot runs --task task-003"),
        detail="A run is one attempt of a task, with its stages; or the driver itself, which has none.",
        writes=False,
    ),
    Verb(
        "run show",
        "Show a run: its stages, their attempts, and what came of each.",
        show,
        kind="look",
        params=(_ID,),
        examples=("moot run show last",),
        writes=False,
    ),
    Verb(
        "run log",
        "Show what the command of a stage wrote.",
        log,
        kind="look",
        params=(
            _ID,
            Param("stage", "The stage. Default: the last one."),
            Param("attempt", "Which attempt. Default: the last one.", type="int"),
        ),
        examples=("moot run log last", "moot run log last --stage developer --attempt 1"),
        detail="The last MiB of standard output and of standard error is kept.",
        writes=False,
    ),
    Verb(
        "run status",
        "Show where a run stands: its waves, files and stages.",
        status,
        kind="look",
        params=(
            _NEWEST,
            Param(
                "follow",
                "Show it again whenever it changes, until the run has ended. Drawn in place at a terminal.",
                type="flag",
            ),
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
        detail=(
            "Names the inputs that changed since the previous attempt: files, parts of the document, parameters. If a "
            "check failed, it also names the stage to repeat: the last one that has written what the check reads."
        ),
        writes=False,
        everything=True,
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
