"""runs, run show, run log: see what the agents of a pack did."""

from __future__ import annotations

from moot.api.answer import Answer, Table, warn_of_more
from moot.api.catalogue import Param, Verb
from moot.core.deciders.run import known as known_run
from moot.core.errors import Unknown
from moot.core.principal import name_of
from moot.core.record import Record
from moot.core.text import age, command_line, counted, fence, one_line, option
from moot.engine.clock import local
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.api.call import Call
    from moot.core.deciders.run import Run, StageTry


_TITLE = 60  # cells


class RunOutput(Record):
    """The end of what a command wrote, on standard output and standard error, and the size of all of it."""

    run: str
    stage: str
    attempt: int
    output: str
    output_size: int
    errors: str
    errors_size: int


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
    found = _found(call, id)
    target = f" {found.title or found.target}" if found.target else " (driver)"
    of = f" {found.task}, attempt {found.attempt}" if found.task else target
    lines = [one_line(f"{found.id} {_state(found)}: {found.pack}{of}, since {local(found.at)}", 300)]
    if found.reason:
        lines.append(f"  {one_line(found.reason, 500)}")
    lines += [f"  {name}: {number}" for name, number in found.counts.items()]
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
    if one.output_size or one.errors_size:
        options = " ".join((option("--stage", one.stage), option("--attempt", str(one.attempt))))
        sizes = f"{counted(one.output_size, 'byte')} of output, {counted(one.errors_size, 'byte')} of errors"
        yield f"  {sizes}: {command_line('run log', found.id, options=options)}"


def log(call: Call, id: str, stage: str | None, attempt: int | None) -> Answer:  # noqa: A002
    found = _found(call, id)
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


def _found(call: Call, name: str) -> Run:
    store = call.engine.read()
    if name == "last":
        name = next((one.id for one in queries.things(store, "run", 1000, ended=True) if one.task or one.target), name)
    found: Run = states.state(store, "run", name)[0]
    return known_run(found)


_ID = Param("id", "The run, or `last`: the newest run of a task or a file.", positional=True, required=True)

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
)
