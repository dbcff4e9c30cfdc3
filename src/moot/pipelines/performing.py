"""Does the work of one stage, and judges it: what it wrote, whether it was allowed to, and whether its criteria hold.

A built-in stage returns what it wants; it is checked first and written then. A command has already written when it
ends; what it was not allowed to write is found by comparing contents, and nothing is reverted, because a person may be
editing, too. Nothing here decides whether a stage may start, and nothing is recorded.
"""

from __future__ import annotations

import time

from moot.core.record import Record
from moot.core.text import command_line
from moot.pipelines import commands, document_care, git_care, surroundings
from moot.pipelines.contract import Problem, ProgramRunner, StageError, StageOutput
from moot.place import processes
from moot.runs import contents, documents
from moot.views import queries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from moot.api.call import Call
    from moot.pipelines.contract import Criterion, StageInput
    from moot.pipelines.preparing import Preparation, Prepared, TargetState
    from moot.place.locks import CommandLock
    from moot.place.processes import Ran
    from moot.runs.stage import Stage

_DOCUMENT_EVENTS = 500


class StageWork(Record):
    """What came of a stage. `error`: why it failed; None if it passed."""

    output: StageOutput = StageOutput()
    error: StageError | None = None
    ran: Ran | None = None
    seconds: float = 0.0
    after: TargetState | None = None
    leaves: Mapping[str, Any] = {}  # of the document, including what the stage sets
    git: Mapping[str, bytes] | None = None  # its hooks and settings after a command

    @property
    def what(self) -> str:
        return "failed" if self.error is not None else "skipped" if self.output.skip else "passed"

    def told(self) -> dict[str, Any]:
        """The fields of the step that reports it."""
        found: dict[str, Any] = {"seconds": self.seconds, "text": self.output.skip}
        if self.ran is not None:
            found |= {"code": self.ran.code, "timed_out": self.ran.timed_out}
        if (error := self.error) is None:
            return {**found, "warnings": tuple(self.output.warnings)}
        problems = tuple(one.said for one in error.problems)
        told = {"text": error.text, "details": error.details, "suggestion": error.suggestion}
        return {**found, **told, "problems": problems}


class Programs(ProgramRunner):
    """Runs the programs of a built-in stage in the root of the target, with the caller's environment.

    They run what agents wrote, such as tests: such a program is no person.
    """

    def __init__(self, call: Call, run: str, root: str, lock: CommandLock, cancel: Callable[[], bool] | None) -> None:
        own = {name: value for name, value in call.env.items() if not name.startswith("MOOT_")}
        self._root, self._env, self._lock, self._cancel = root, {**own, "MOOT_RUN": run}, lock, cancel

    def run(self, argv: Sequence[str], *, stdin: bytes, timeout: float, keep: int) -> Ran:
        try:
            ran = processes.run(
                argv,
                cwd=self._root,
                env=self._env,
                keep=keep,
                apart=True,
                stdin=stdin,
                timeout=timeout,
                cancel=self._cancel,
                hold=(self._lock.file,),
                leave=False,
                started=self._lock.started,
                mark=self._lock.mark,
            )
        except processes.NotStarted as error:
            raise StageError(f"{argv[0]} cannot be run: {error.why}") from error
        if ran.timed_out:
            raise StageError(f"timed out after {timeout:g} s")
        if ran.cancelled:
            raise KeyboardInterrupt
        return ran


class Performance(Record):
    """One attempt at a stage: what is needed besides what was prepared.

    since, at: the position and the time of the commit that started it. git: its hooks and settings after the command
    of the stage before, if that ended in the same commit. So what changes between the two does not go unnoticed.
    """

    run: str
    since: int
    at: str
    lock: CommandLock
    output: bool = False  # show what a command writes
    cancel: Callable[[], bool] | None = None
    progress: Callable[[float], None] = lambda _seconds: None
    git: Mapping[str, bytes] | None = None


def perform(prepared: Prepared, preparation: Preparation, how: Performance) -> StageWork:
    """Do the work and judge it. Raises `StageWaits` if it needs an answer first."""
    begun = time.monotonic()
    work = StageWork()
    around = _Around.before(prepared, preparation, how.git)
    shown = document_care.intact(preparation.call, preparation.target) if prepared.pinned is not None else frozenset()
    try:
        if prepared.early is not None:
            work = work.replace(output=prepared.early)
        elif prepared.pinned is None or prepared.stage.agent == "refines":
            work = work.replace(output=_built_in(prepared, preparation))
            _apply(prepared, preparation, work.output)
        if prepared.pinned is not None and not work.output.skip:
            if prepared.stage.agent == "refines":
                prepared = preparation.changed(prepared, work.output)
                around = _Around.before(prepared, preparation)
            ran = _commanded(prepared, preparation, how)
            work = work.replace(ran=ran)
            found = _answered(prepared, preparation, ran)
            _apply(prepared, preparation, found)
            work = work.replace(output=_both(work.output, found))
    except StageError as error:
        work = work.replace(error=error)
    ruined = document_care.ruined(preparation.call, preparation.target, shown) if shown else []
    return _judged(work, prepared, preparation, around, how, ruined).replace(seconds=round(time.monotonic() - begun, 3))


class _Around:
    """What is compared before and after a command, besides its answer: the worktree, and git's settings."""

    def __init__(self, files: Mapping[str, str], git: Mapping[str, bytes]) -> None:
        self.files, self.git = files, git

    @classmethod
    def before(cls, prepared: Prepared, preparation: Preparation, git: Mapping[str, bytes] | None = None) -> _Around:
        target = preparation.target
        if prepared.pinned is None:
            return cls({}, {})
        git = git_care.look(preparation.call.place, target.root) if git is None else git
        files = surroundings.look(target.root, preparation.pipeline.guards)
        return cls(files, git)


def _commanded(prepared: Prepared, preparation: Preparation, how: Performance) -> Ran:
    assert prepared.pinned is not None
    ran = commands.run(
        preparation.call,
        preparation.env,
        preparation.pipeline,
        prepared.given,
        prepared.pinned,
        how.lock,
        run_id=how.run,
        output=how.output,
        cancel=how.cancel,
        progress=how.progress,
    )
    if ran.cancelled:
        raise KeyboardInterrupt
    return ran


def _both(one: StageOutput, other: StageOutput) -> StageOutput:
    """What the code and the command of a stage did."""
    return other.replace(
        document={**one.document, **other.document},
        removed=(*one.removed, *other.removed),
        files={**one.files, **other.files},
        warnings=(*one.warnings, *other.warnings),
        errors=(*one.errors, *other.errors),
        answer=other.answer or one.answer,
    )


def _answered(prepared: Prepared, preparation: Preparation, ran: Ran) -> StageOutput:
    assert prepared.command is not None
    timeout = prepared.command.timeout
    return preparation.pack_code(
        "answered", lambda: commands.output_of(preparation.pipeline, prepared.given, ran, timeout)
    )


def _built_in(prepared: Prepared, preparation: Preparation) -> StageOutput:
    name = prepared.stage.name
    code = preparation.pipeline.stages[name]
    found = preparation.pack_code(f"stages.{name}", lambda: code(prepared.given))
    if not isinstance(found, StageOutput):
        raise StageError(f"the code of the stage returned {type(found).__name__}, not a StageOutput")
    return found


def _apply(prepared: Prepared, preparation: Preparation, found: StageOutput) -> None:
    """Check that the stage may write what it wants to write, and write its files."""
    stage, target = prepared.stage, preparation.target
    foreign = documents.foreign(preparation.pack, stage, found.document, found.removed)
    if foreign:
        problems = [Problem(f"belongs to {owner}", key=pointer) for pointer, owner in foreign.items()]
        raise StageError(f"wrote keys that it does not own: {', '.join(foreign)}", problems=problems)
    writes = [path for role in stage.writes for path in target.paths.get(role, ())]
    alien = [path for path in found.files if not contents.is_of(path, writes)]
    if alien:
        problems = [Problem("the stage may not write it", path=path) for path in alien]
        raise StageError(f"wrote files that it may not write: {', '.join(alien)}", problems=problems)
    now = prepared.situation.digests
    new = {path: data for path, data in found.files.items() if now.get(path, contents.NONE) != contents.digest(data)}
    odd = [path for path in new if now.get(path, contents.NONE) != contents.digest(prepared.snapshots.get(path))]
    if odd:
        keeps = preparation.pipeline.keep_command(target)
        raise StageError(
            f"{', '.join(odd)} changed since an attempt that did not pass; nothing was overwritten",
            suggestion=f"{f'If you wrote in it meanwhile, keep that: `{keeps}`. ' if keeps else ''}To put it back as "
            f"it was before: `{command_line('run restore', target.id)}`.",
        )
    if new:
        contents.write(target.root, new, now, target.folders)


def _judged(
    work: StageWork,
    prepared: Prepared,
    preparation: Preparation,
    around: _Around,
    how: Performance,
    ruined: Sequence[Problem],
) -> StageWork:
    """The work with all its problems. Also of a stage that failed, because what it wrote must be known."""
    error = work.error
    try:
        after = preparation.look()
    except StageError as problem:
        return work.replace(error=error or problem, leaves=prepared.situation.leaves)
    leaves = documents.changed(preparation.keys, after.leaves, work.output.document, work.output.removed)
    refused = _refused(preparation, prepared.stage, how.since)
    problems = [*ruined, *(one for one in refused if not (ruined and _is_deletion(one)))]
    if prepared.pinned is not None:
        expected = lambda: _expected(prepared, preparation, how)  # noqa: E731
        place, root = preparation.call.place, preparation.target.root
        guards = preparation.pipeline.guards
        changed = surroundings.changed(place, root, around.files, expected, guards)
        problems += [Problem("changed while the stage ran, which may not write it", path=path) for path in changed]
        git = git_care.look(place, root)
        problems += git_care.problems(around.git, git)
        work = work.replace(git=git)
    work = work.replace(after=after, leaves=leaves)
    if error is None and not any(one.blocks for one in problems) and work.output.skip and work.ran is not None:
        problems += _changed_anyway(prepared, preparation, after)
    if error is None and not any(one.blocks for one in problems) and (work.ran is not None or not work.output.skip):
        problems += _criteria(prepared, preparation, work)
    mild = tuple(one.said for one in problems if not one.blocks)
    failed = error is not None or any(one.blocks for one in problems)
    problems = [one for one in problems if one.blocks or failed]  # a stage that failed has no warnings
    if mild:
        work = work.replace(output=work.output.replace(warnings=(*work.output.warnings, *mild)))
    if problems and error is None:
        remedies = dict.fromkeys(one.remedy for one in problems if one.blocks and one.remedy)
        error = StageError(summary(problems), suggestion=" ".join(remedies), problems=problems)
    elif problems and error is not None:
        error.problems = (*error.problems, *problems)
    return work.replace(error=error)


def _changed_anyway(prepared: Prepared, preparation: Preparation, after: TargetState) -> Iterator[Problem]:
    """What a command changed although it says that there was nothing to do."""
    stage, paths = prepared.stage, preparation.target.paths
    before = {path: data for files in prepared.before.files.values() for path, data in files.items()}
    for path in sorted({*before, *after.contents.files}):
        mine = any(contents.is_of(path, paths.get(role, ())) for role in stage.writes)
        if mine and before.get(path) != after.contents.files.get(path):
            yield Problem("skipped, but changed", path=path)
    old = prepared.situation.leaves
    for pointer in sorted({*old, *after.leaves}):
        if old.get(pointer) != after.leaves.get(pointer) and documents.is_below(pointer, stage.owns):
            yield Problem("skipped, but changed", key=pointer)


def _criteria(prepared: Prepared, preparation: Preparation, work: StageWork) -> list[Problem]:
    """What the criteria find on the real files, and on the document as it will be."""
    assert work.after is not None
    if not prepared.stage.criteria:
        return []
    now = work.after.replace(leaves=work.leaves)
    after = preparation.given(prepared.stage, now, now.contents.files, None)
    own = {"now": prepared.given.now, "attempt": prepared.given.attempt, "programs": prepared.given.programs}
    after = after.replace(answer=work.output.answer, output=work.output, **own)
    found: list[Problem] = []
    for name in prepared.stage.criteria:
        criterion = preparation.pipeline.criteria.get(name)
        if criterion is None:
            found.append(Problem(f"the pack has no criterion {name!r}"))
        else:
            found += [
                one.replace(text=f"{one.text} ({name})") if one.blocks else one
                for one in _held_to(criterion, name, prepared.before, after, preparation)
            ]
    return found


def _held_to(
    criterion: Criterion, name: str, before: StageInput, after: StageInput, preparation: Preparation
) -> list[Problem]:
    return preparation.problems(f"criteria.{name}", lambda: criterion(before, after))


def _refused(preparation: Preparation, stage: Stage, since: int) -> Iterator[Problem]:
    """What the stage wrote into the document without owning it, and what others changed at the same time."""
    ref = preparation.target.document
    if ref is None:
        return
    events = preparation.call.engine.log.read(since, _DOCUMENT_EVENTS, f"document/{ref.key}")
    for event in events:
        if event.type == "document:refused":
            gone = event.data.get("gone", ())
            owners = documents.foreign(preparation.pack, stage, (*event.data["set"], *gone))
            claims = documents.unearned(preparation.pack, preparation.document().leaves, event.data["set"])
            for pointer in (*event.data["set"], *gone):
                why = f"true is not accepted: {claims[pointer]}" if pointer in claims else ""
                owner = owners.get(pointer) or ", ".join(event.data.get("owners", ()))
                yield Problem(why or f"belongs to {owner}; the change was refused", key=pointer)
        elif event.type == "document:conflicted":
            for pointer in dict.fromkeys((*event.data["log"], *event.data["file"])):
                yield Problem(f"changed in the file and in the log; the {event.data['won']} wins", key=pointer)
        elif event.type == "document:restored" and event.data["reason"].endswith(" was deleted"):
            yield Problem(document_care.DELETED, path=event.data["reason"].removesuffix(" was deleted"))


def _is_deletion(problem: Problem) -> bool:
    return problem.text == document_care.DELETED


def _expected(prepared: Prepared, preparation: Preparation, how: Performance) -> Iterator[str]:
    """The files that may change while a command runs: its own, moot's, and those of other runs at the same time."""
    call, target = preparation.call, preparation.target
    for role in prepared.stage.writes:
        yield from target.paths.get(role, ())
    if target.document is not None and target.document.path:
        yield target.document.path
    for spec in call.packs.mirrors:
        folder, brace, _ = spec.path.partition("{")
        yield folder.rpartition("/")[0] + "/" if brace else spec.path
    packs = {pack.name: pack for pack in call.packs.packs}
    for run in queries.things(call.engine.read(), "run", 500, ended=True):
        if run.id == how.run or not run.target or (run.ended and run.ended < how.at) or run.pack not in packs:
            continue
        for stage in packs[run.pack].stages:
            for role in stage.writes:
                yield from run.paths.get(role, ())


def summary(problems: Sequence[Problem]) -> str:
    """The problems in one line. They are also listed one by one, wherever the failure is shown."""
    return problems[0].said if len(problems) == 1 else f"{len(problems)} problems"


def are_only_counted(error: StageError) -> bool:
    """Whether the text of an error says no more than how many problems there are."""
    return len(error.problems) > 1 and error.text.endswith(summary(error.problems))
