"""Does the work of one stage, and judges it: what it wrote, whether it was allowed to, and whether its criteria hold.

A built-in stage returns what it wants; it is checked first and written then. A command has already written when it
ends; what it was not allowed to write is found by comparing contents (`surroundings`), and nothing is reverted, because
a person may be editing, too. Nothing here decides whether a stage may start, and nothing is recorded.
"""

from __future__ import annotations

import os
import time
from functools import partial

from moot.core.errors import Unavailable
from moot.core.record import Record
from moot.core.text import one_line
from moot.place import VARIABLE, processes
from moot.runs import commands, contents, documents
from moot.runs.answers import NoAnswer, yaml_answer
from moot.runs.contract import Problem, ProgramRunner, StageError, StageOutput
from moot.views import queries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from moot.place.locks import CommandLock
    from moot.place.processes import Ran
    from moot.runs.preparation import Preparation, Prepared, TargetState
    from moot.runs.site import Site
    from moot.runs.surroundings import WatchedWorktree, WorktreeState

WARNED = 2  # the exit code of a command that succeeded with warnings
_DOCUMENT_EVENTS = 500
_SHOWN = 300  # characters of an error
_DELETED = "was deleted while the stage ran"


class StageWork(Record):
    """What came of a stage. `error`: why it failed; None if it passed."""

    output: StageOutput = StageOutput()
    error: StageError | None = None
    ran: Ran | None = None
    seconds: float = 0.0
    after: TargetState | None = None
    leaves: Mapping[str, Any] = {}  # of the document, including what the stage sets
    around: WorktreeState | None = None  # the surroundings after a command

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

    def __init__(self, site: Site, run: str, root: str, lock: CommandLock, cancel: Callable[[], bool] | None) -> None:
        own = {name: value for name, value in site.env.items() if not name.startswith("MOOT_")}
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


class StageAttempt(Record):
    """One attempt at a stage: what is needed besides what was prepared.

    since, at: the position and the time of the commit that started it. before: the surroundings after the command of
    the stage before, if that ended in the same commit, so that what changes between the two does not go unnoticed.
    """

    run: str
    since: int
    at: str
    lock: CommandLock
    around: WatchedWorktree
    output: bool = False  # show what a command writes
    cancel: Callable[[], bool] | None = None
    progress: Callable[[float], None] = lambda _seconds: None
    before: WorktreeState | None = None


def perform(prepared: Prepared, preparation: Preparation, how: StageAttempt) -> StageWork:
    """Do the work and judge it. Raises `StageWaits` if it needs an answer first."""
    begun, work = time.monotonic(), StageWork()
    stage, intact = prepared.stage, frozenset[str]()
    try:
        if prepared.early is not None:
            work = work.replace(output=prepared.early)
        elif prepared.pinned is None or stage.agent == "refines":
            work = work.replace(output=_built_in(prepared, preparation))
            _apply(prepared, preparation, work.output)
        if prepared.pinned is not None and not work.output.skip:
            if stage.agent == "refines":
                prepared = _refined(prepared, preparation, work.output)
            intact = _intact(preparation)
            how = how.replace(before=how.before or how.around.look())
            ran = _commanded(prepared, preparation, how)
            work = work.replace(ran=ran)
            found = _answered(prepared, preparation, ran)
            _apply(prepared, preparation, found)
            work = work.replace(output=_both(work.output, found))
    except StageError as error:
        work = work.replace(error=error)
    work = _judged(work, prepared, preparation, how, _ruined(preparation, intact))
    return work.replace(seconds=round(time.monotonic() - begun, 3))


# --- the work --------------------------------------------------------------------------------------------------------


def _built_in(prepared: Prepared, preparation: Preparation) -> StageOutput:
    name = prepared.stage.name
    code = preparation.pipeline.stages[name]
    found = preparation.pack_code(f"stages.{name}", lambda: code(prepared.given))
    if not isinstance(found, StageOutput):
        raise StageError(f"the code of the stage returned {type(found).__name__}, not a StageOutput")
    return found


def _refined(prepared: Prepared, preparation: Preparation, found: StageOutput) -> Prepared:
    """A prepared stage after its code has done its part, for the command that goes on with that."""
    now = preparation.look()
    now = now.replace(leaves=preparation.keys.changed(now.leaves, found.document, found.removed))
    given = preparation.given(prepared.stage, now)
    given = prepared.given.replace(files=given.files, document=given.document)
    return prepared.replace(given=given, before=given, now=now)


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


def _apply(prepared: Prepared, preparation: Preparation, found: StageOutput) -> None:
    """Check that the stage may write what it wants to write, and write its files."""
    stage, target = prepared.stage, preparation.target
    foreign = documents.foreign(preparation.pack, stage, found.document, found.removed)
    if foreign:
        problems = [Problem(f"belongs to {owner}", key=pointer) for pointer, owner in foreign.items()]
        raise StageError(f"wrote keys that it does not own: {', '.join(foreign)}", problems=problems)
    alien = [path for path in found.files if not contents.is_of(path, target.writes(stage))]
    if alien:
        problems = [Problem("the stage may not write it", path=path) for path in alien]
        raise StageError(f"wrote files that it may not write: {', '.join(alien)}", problems=problems)
    now = prepared.now.digests
    new = {path: data for path, data in found.files.items() if now.get(path, contents.NONE) != contents.digest(data)}
    if new:
        contents.write(target.root, new, now, target.folders)


def _commanded(prepared: Prepared, preparation: Preparation, how: StageAttempt) -> Ran:
    """Run the command of a stage to its end, in the root of the worktree."""
    site, given, begun = preparation.site, prepared.given, time.monotonic()
    assert prepared.pinned is not None

    def alive() -> None:
        how.progress(time.monotonic() - begun)
        try:
            site.stamp()
        except Unavailable:
            pass  # the command goes on

    own, place = {"MOOT_RUN": how.run, "MOOT_STAGE": given.stage.name}, site.place
    inside = contents.is_inside(given.target.root, place.root)
    if VARIABLE in site.env or place.root == place.common or not inside:
        own[VARIABLE] = place.root
    try:
        ran = commands.run(
            prepared.pinned,
            commands.CommandInput(
                brief=preparation.pipeline.prompt(given),
                env=site.env,
                own=own,
                alive=alive,
                show=site.output if how.output else None,
                hold=(how.lock.file,),
                started=how.lock.started,
                mark=how.lock.mark,
                words=_words(prepared),
                cancel=how.cancel,
                cwd="" if inside else given.target.root,
            ),
        )
    except commands.CannotStart as error:
        raise StageError(str(error)) from error
    if ran.cancelled:
        raise KeyboardInterrupt
    return ran


def _words(prepared: Prepared) -> dict[str, str]:
    """The paths of roles with one file, and of the document. None of them can be taken for an option."""
    target = prepared.given.target
    named = {"document": (target.document.path,)} if target.document is not None and target.document.path else {}
    single = {role: paths[0] for role, paths in {**named, **target.paths}.items() if len(paths) == 1}
    return {f"{{{role}}}": f"./{path}" if path.startswith("-") else path for role, path in single.items()}


def _answered(prepared: Prepared, preparation: Preparation, ran: Ran) -> StageOutput:
    """What a command did, by its exit code and its answer. Raises `StageError` if it failed."""
    assert prepared.command is not None
    if ran.timed_out:
        raise StageError(f"timed out after {prepared.command.timeout:g} s")
    if ran.signal:
        raise StageError(f"killed by signal {ran.signal}")
    failed = f"exit code {ran.code}{_last_line(ran)}" if ran.code not in (0, WARNED) else ""
    found = StageOutput()
    if prepared.stage.answer != "exit":
        try:
            answer = yaml_answer(ran.output.tail.decode("utf-8", "replace"))
            found = preparation.pack_code("answered", lambda: preparation.pipeline.answered(prepared.given, answer))
        except (StageError, NoAnswer) as error:
            cut = (
                ""
                if ran.output.whole
                else (f"; of its {ran.output.size >> 10} KiB, the last {len(ran.output.tail) >> 10} were read")
            )
            text = f"{error}{cut}{f' ({failed})' if failed else ''}"
            if isinstance(error, StageError):
                raise StageError(text, details=error.details, suggestion=error.suggestion) from error
            raise StageError(text, suggestion="It must end with a block of YAML, such as `status: success`.") from error
    if failed:
        raise StageError(failed)
    return found.replace(warnings=_warnings(ran)) if ran.code == WARNED and not found.warnings else found


def _warnings(ran: Ran) -> tuple[str, ...]:
    """The warnings on standard error; at least one."""
    lines = ran.errors.tail.decode("utf-8", "replace").splitlines()
    found = tuple(line.partition(":")[2].strip()[:_SHOWN] for line in lines if line.startswith("Warning:"))
    return found or (f"it ended with exit code {WARNED}",)


def _last_line(ran: Ran) -> str:
    for output in (ran.errors, ran.output):
        lines = output.tail.decode("utf-8", "replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip(" \t\r`")), "")
        if last:
            return f": {one_line(last, _SHOWN)}"
    return ""


# --- the verdict -----------------------------------------------------------------------------------------------------


def _judged(
    work: StageWork, prepared: Prepared, preparation: Preparation, how: StageAttempt, ruined: Sequence[Problem]
) -> StageWork:
    """The work with all its problems. Also of a stage that failed, because what it wrote must be known."""
    error = work.error
    try:
        after = preparation.look()
        around = how.around.look() if work.ran is not None else None
    except StageError as problem:
        return work.replace(error=error or problem, leaves=prepared.now.leaves)
    leaves = preparation.keys.changed(after.leaves, work.output.document, work.output.removed)
    work = work.replace(after=after, leaves=leaves, around=around)
    problems = [*ruined, *_refused(preparation, prepared, how.since, deletions=not ruined)]
    if around is not None and how.before is not None:
        allowed = [] if around == how.before else list(_may_change(prepared, preparation, how))
        problems += how.around.problems(how.before, around, allowed)
    good = error is None and not any(one.blocks for one in problems)
    if good and work.output.skip and work.ran is not None:
        problems += _changed_anyway(prepared, preparation, after)
        good = not any(one.blocks for one in problems)
    if good and (work.ran is not None or not work.output.skip):
        problems += _criteria(prepared, preparation, work)
    wrong = [one for one in problems if one.blocks]
    if error is None and not wrong:
        mild = (one.said for one in problems)
        return work.replace(output=work.output.replace(warnings=(*work.output.warnings, *mild)))
    if error is None:
        remedies = dict.fromkeys(one.remedy for one in wrong if one.remedy)
        text = wrong[0].said if len(wrong) == 1 else f"{len(wrong)} problems"
        error = StageError(text, suggestion=" ".join(remedies))
    error.problems = (*error.problems, *wrong)
    return work.replace(error=error)


def _changed_anyway(prepared: Prepared, preparation: Preparation, after: TargetState) -> Iterator[Problem]:
    """What a command changed although it says that there was nothing to do."""
    stage, writes = prepared.stage, preparation.target.writes(prepared.stage)
    before = {path: data for files in prepared.before.files.values() for path, data in files.items()}
    for path in sorted({*before, *after.contents.files}):
        if contents.is_of(path, writes) and before.get(path) != after.contents.files.get(path):
            yield Problem("skipped, but changed", path=path)
    old = prepared.now.leaves
    for pointer in sorted({*old, *after.leaves}):
        if old.get(pointer) != after.leaves.get(pointer) and documents.is_below(pointer, stage.owns):
            yield Problem("skipped, but changed", key=pointer)


def _criteria(prepared: Prepared, preparation: Preparation, work: StageWork) -> list[Problem]:
    """What the criteria find on the real files, and on the document as it will be."""
    stage = prepared.stage
    if not stage.criteria:
        return []
    assert work.after is not None
    after = preparation.given(stage, work.after.replace(leaves=work.leaves))
    own = {"now": prepared.given.now, "attempt": prepared.given.attempt, "programs": prepared.given.programs}
    after = after.replace(answer=work.output.answer, output=work.output, **own)
    found: list[Problem] = []
    for name in stage.criteria:
        criterion = preparation.pipeline.criteria.get(name)
        if criterion is None:
            found.append(Problem(f"the pack has no criterion {name!r}"))
            continue
        held = preparation.problems(f"criteria.{name}", partial(criterion, prepared.before, after))
        found += [one.replace(text=f"{one.text} ({name})") if one.blocks else one for one in held]
    return found


def _may_change(prepared: Prepared, preparation: Preparation, how: StageAttempt) -> Iterator[str]:
    """The files that may change while a command runs: its own, moot's, and those of other runs at the same time."""
    site, target = preparation.site, preparation.target
    yield from target.writes(prepared.stage)
    yield from site.own_files
    if target.document is not None and target.document.path:
        yield target.document.path
    for run in queries.things(site.engine.read(), "run", _DOCUMENT_EVENTS, ended=True):
        if run.id != how.run and run.target and not (run.ended and run.ended < how.at):
            for one in run.tries:
                yield from one.writes


# --- the document ----------------------------------------------------------------------------------------------------


def _refused(preparation: Preparation, prepared: Prepared, since: int, *, deletions: bool) -> Iterator[Problem]:
    """What the stage wrote into the document without owning it, and what others changed at the same time."""
    ref = preparation.target.document
    if ref is None:
        return
    for event in preparation.site.engine.log.read(since, _DOCUMENT_EVENTS, f"document/{ref.key}"):
        if event.type == "document:refused":
            pointers = (*event.data["set"], *event.data.get("gone", ()))
            owners = documents.foreign(preparation.pack, prepared.stage, pointers)
            state = preparation.document()
            claims = documents.unearned(preparation.pack, state.leaves if state else {}, event.data["set"])
            for pointer in pointers:
                why = f"true is not accepted: {claims[pointer]}" if pointer in claims else ""
                owner = owners.get(pointer) or ", ".join(event.data.get("owners", ()))
                yield Problem(why or f"belongs to {owner}; the change was refused", key=pointer)
        elif event.type == "document:conflicted":
            for pointer in dict.fromkeys((*event.data["log"], *event.data["file"])):
                yield Problem(f"changed in the file and in the log; the {event.data['won']} wins", key=pointer)
        elif deletions and event.type == "document:restored" and event.data["reason"].endswith(" was deleted"):
            yield Problem(_DELETED, path=event.data["reason"].removesuffix(" was deleted"))


def _intact(preparation: Preparation) -> frozenset[str]:
    """The files of the document that exist and can be read."""
    ref = preparation.target.document
    if ref is None:
        return frozenset()
    return frozenset(file.path for file in preparation.site.files(ref.key) if file.exists and not file.fault)


def _ruined(preparation: Preparation, intact: frozenset[str]) -> list[Problem]:
    """Which of these files were deleted or cannot be read any more. They are written again from the log."""
    ref = preparation.target.document
    files = preparation.site.files(ref.key) if ref is not None and intact else ()
    found = [file for file in files if file.path in intact and (file.fault or not file.exists)]
    if found and ref is not None:
        preparation.site.write_document(ref.key)
    problems = []
    for file in found:
        root = os.path.realpath(file.root)
        path = os.path.relpath(file.path, root) if contents.is_inside(file.path, root) else file.path
        text = f"cannot be parsed since the stage ran: {file.fault}" if file.exists else _DELETED
        problems.append(Problem(text, path=path, line=file.line if file.exists else 0))
    return problems
