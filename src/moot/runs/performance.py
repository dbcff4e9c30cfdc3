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
from moot.place.private_files import outside
from moot.runs import commands, contents, documents, step_keys
from moot.runs.answers import NoAnswer, yaml_answer
from moot.runs.contract import Problem, ProgramRunner, StageError, StageOutput
from moot.runs.step_keys import changed, word
from moot.runs.surroundings import WatchedWorktree
from moot.views import queries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from moot.place.locks import CommandLock
    from moot.place.processes import Ran
    from moot.runs.consent import PinnedHandler
    from moot.runs.contract import StageInput, Target
    from moot.runs.preparation import Preparation, Prepared, TargetState
    from moot.runs.record import Started
    from moot.runs.site import Site
    from moot.runs.surroundings import WorktreeState

WARNED = 2  # the exit code of a command that succeeded with warnings
_DOCUMENT_EVENTS = 500
_SHOWN = 300  # characters of an error


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


class Performance(ProgramRunner):
    """Does the work of the stages of one run, and judges it.

    `lock`: for the commands of the run. `cancel`: asked now and then whether to stop.
    """

    def __init__(
        self,
        preparation: Preparation,
        run: str,
        lock: CommandLock,
        *,
        output: bool,
        cancel: Callable[[], bool] | None,
    ) -> None:
        self.preparation, self.id, self.lock, self.cancel = preparation, run, lock, cancel
        self.site: Site = preparation.site
        self.pipeline, self.target = preparation.pipeline, preparation.target
        self._show = self.site.output if output else None
        self._around = WatchedWorktree(self.site.place, self.target.root)

    def perform(self, begun: Started, progress: Callable[[float], None], before: WorktreeState | None) -> StageWork:
        """Do the work and judge it. Raises `StageWaits` if it needs an answer first.

        `before`: the surroundings after the command of the stage before, if that ended in the commit that started this
        one, so that what changes between the two does not go unnoticed.
        """
        since, work, prepared = time.monotonic(), StageWork(), begun.prepared
        try:
            pinned, output = prepared.pinned, prepared.early
            if output is None and (pinned is None or prepared.stage.agent == "refines"):
                output = self._built_in(prepared)
            if output is not None:
                self._apply(prepared, output)
                work = work.replace(output=output)
            if pinned is not None and not work.output.skip:
                prepared = self._refined(prepared, output) if output is not None else prepared
                before = before or self._around.look()
                ran = self._commanded(prepared.given, pinned, progress)
                work = work.replace(ran=ran)
                found = self._answered(prepared, ran, pinned.handler.timeout)
                self._apply(prepared, found)
                output = _both(output, found) if output is not None else found
            work = work.replace(output=output or StageOutput())
        except StageError as error:
            work = work.replace(error=error)
        return self._judged(begun, work, before).replace(seconds=round(time.monotonic() - since, 3))

    # --- the work -----------------------------------------------------------------------------------------------------

    def _built_in(self, prepared: Prepared) -> StageOutput:
        name = prepared.stage.name
        code = self.pipeline.stages[name]
        found = self.preparation.pack_code(f"stages.{name}", lambda: code(prepared.given))
        if not isinstance(found, StageOutput):
            raise StageError(f"the code of the stage returned {type(found).__name__}, not a StageOutput")
        return found

    def _refined(self, prepared: Prepared, output: StageOutput) -> Prepared:
        """The stage after its code has done its part, for the command that refines it."""
        now = self.preparation.look()
        leaves = documents.changed(self.preparation.keys, now.leaves, output.document, output.removed)
        seen = self.preparation.given(prepared.stage, now.replace(leaves=leaves))
        given = prepared.given.replace(files=seen.files, document=seen.document)
        return prepared.replace(given=given, now=prepared.now.replace(digests=now.digests))

    def _apply(self, prepared: Prepared, found: StageOutput) -> None:
        """Check that the stage may write what it wants to write, and write its files."""
        stage, target = prepared.stage, self.target
        foreign = documents.foreign(self.preparation.pack, stage, found.document, found.removed)
        if foreign:
            problems = [Problem(f"belongs to {owner}", key=pointer) for pointer, owner in foreign.items()]
            raise StageError(f"wrote keys that it does not own: {', '.join(foreign)}", problems=problems)
        alien = [path for path in found.files if not contents.is_of(path, target.writes(stage))]
        if alien:
            problems = [Problem("the stage may not write it", path=path) for path in alien]
            raise StageError(f"wrote files that it may not write: {', '.join(alien)}", problems=problems)
        now = prepared.now.digests
        same = {path for path, data in found.files.items() if now.get(path, contents.NONE) == contents.digest(data)}
        new = {path: data for path, data in found.files.items() if path not in same}
        contents.write(target.root, new, now, target.folders)

    def _commanded(self, given: StageInput, pinned: PinnedHandler, progress: Callable[[float], None]) -> Ran:
        """Run the command of a stage to its end, in the root of the worktree."""
        site, begun = self.site, time.monotonic()

        def alive() -> None:
            progress(time.monotonic() - begun)
            try:
                site.stamp()
            except Unavailable:
                pass  # the command goes on

        own, place = {"MOOT_RUN": self.id, "MOOT_STAGE": given.stage.name}, site.place
        inside = not outside(os.path.realpath(given.target.root), os.path.realpath(place.root))
        if VARIABLE in site.env or place.root == place.common or not inside:
            own[VARIABLE] = place.root
        try:
            ran = commands.run(
                pinned,
                commands.CommandInput(
                    brief=self.pipeline.prompt(given),
                    env=site.env,
                    own=own,
                    alive=alive,
                    show=self._show,
                    hold=(self.lock.file,),
                    started=self.lock.started,
                    mark=self.lock.mark,
                    words=_words(given.target),
                    cancel=self.cancel,
                    cwd="" if inside else given.target.root,
                ),
            )
        except commands.CannotStart as error:
            raise StageError(str(error)) from error
        if ran.cancelled:
            raise KeyboardInterrupt
        return ran

    def _answered(self, prepared: Prepared, ran: Ran, timeout: float) -> StageOutput:
        """What a command did, by its exit code and its answer. Raises `StageError` if it failed."""
        if ran.timed_out:
            raise StageError(f"timed out after {timeout:g} s")
        if ran.signal:
            raise StageError(f"killed by signal {ran.signal}")
        failed = f"exit code {ran.code}{_last_line(ran)}" if ran.code not in (0, WARNED) else ""
        found = StageOutput()
        if prepared.stage.answer != "exit":
            try:
                answer = yaml_answer(ran.output.tail.decode("utf-8", "replace"))
                found = self.preparation.pack_code("answered", lambda: self.pipeline.answered(prepared.given, answer))
            except (StageError, NoAnswer) as error:
                kib, read = ran.output.size >> 10, len(ran.output.tail) >> 10
                cut = "" if ran.output.whole else f"; of its {kib} KiB, the last {read} were read"
                text = f"{error}{cut}{f' ({failed})' if failed else ''}"
                if isinstance(error, StageError):
                    raise StageError(text, details=error.details, suggestion=error.suggestion) from error
                advice = "It must end with a block of YAML, such as `status: success`."
                raise StageError(text, suggestion=advice) from error
        if failed:
            raise StageError(failed)
        return found.replace(warnings=_warnings(ran)) if ran.code == WARNED and not found.warnings else found

    def run(self, argv: Sequence[str], *, stdin: bytes, timeout: float, keep: int) -> Ran:
        """Run a program of a built-in stage in the root of the target, with the caller's environment.

        It runs what agents wrote, such as tests: such a program is no person.
        """
        env = {name: value for name, value in self.site.env.items() if not name.startswith("MOOT_")}
        try:
            ran = processes.run(
                argv,
                cwd=self.target.root,
                env={**env, "MOOT_RUN": self.id},
                keep=keep,
                apart=True,
                stdin=stdin,
                timeout=timeout,
                cancel=self.cancel,
                hold=(self.lock.file,),
                leave=False,
                started=self.lock.started,
                mark=self.lock.mark,
            )
        except processes.NotStarted as error:
            raise StageError(f"{argv[0]} cannot be run: {error.why}") from error
        if ran.timed_out:
            raise StageError(f"timed out after {timeout:g} s")
        if ran.cancelled:
            raise KeyboardInterrupt
        return ran

    # --- the verdict --------------------------------------------------------------------------------------------------

    def _judged(self, begun: Started, work: StageWork, before: WorktreeState | None) -> StageWork:
        """The work with all its problems. Also of a stage that failed, because what it wrote must be known."""
        prepared, error = begun.prepared, work.error
        problems = self._ruined() if work.ran is not None else []
        try:
            after = self.preparation.look()
            around = self._around.look() if work.ran is not None else None
            if around is not None and before is not None and around != before:
                problems += self._around.problems(before, around, list(self._may_change(begun)))
        except StageError as problem:
            return work.replace(error=error or problem, leaves=prepared.now.leaves)
        leaves = documents.changed(self.preparation.keys, after.leaves, work.output.document, work.output.removed)
        work = work.replace(after=after, leaves=leaves, around=around)
        problems += self._refused(begun)
        if work.output.skip and work.ran is not None:
            problems += self._changed_anyway(prepared, after)
        if error is None and not any(one.blocks for one in problems) and (work.ran is not None or not work.output.skip):
            problems += self._criteria(prepared, work)
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

    def _changed_anyway(self, prepared: Prepared, after: TargetState) -> Iterator[Problem]:
        """What a command changed although it says that there was nothing to do."""
        files = {path: contents.digest(data) for of in prepared.before.files.values() for path, data in of.items()}
        old = step_keys.outputs_of(prepared.stage, self.target, files, prepared.now.leaves)
        new = step_keys.outputs_of(prepared.stage, self.target, after.digests, after.leaves)
        for name in changed(old, new):
            yield Problem("skipped, but changed", path=word(name))

    def _criteria(self, prepared: Prepared, work: StageWork) -> list[Problem]:
        """What the criteria find on the real files, and on the document as it will be."""
        stage = prepared.stage
        if not stage.criteria:
            return []
        assert work.after is not None
        after = self.preparation.given(stage, work.after.replace(leaves=work.leaves))
        own = {"now": prepared.given.now, "attempt": prepared.given.attempt, "programs": prepared.given.programs}
        after = after.replace(answer=work.output.answer, output=work.output, **own)
        found: list[Problem] = []
        for name in stage.criteria:
            criterion = self.pipeline.criteria.get(name)
            if criterion is None:
                found.append(Problem(f"the pack has no criterion {name!r}"))
                continue
            held = self.preparation.problems(f"criteria.{name}", partial(criterion, prepared.before, after))
            found += [one.replace(text=f"{one.text} ({name})") if one.blocks else one for one in held]
        return found

    def _may_change(self, begun: Started) -> Iterator[str]:
        """The files that may change while a command runs: its own, moot's, and those of other runs at the same time."""
        target = self.target
        yield from target.writes(begun.prepared.stage)
        yield from self.site.own_files
        if target.document is not None and target.document.path:
            yield target.document.path
        for run in queries.things(self.site.engine.read(), "run", _DOCUMENT_EVENTS, ended=True):
            if run.id != self.id and run.target and not (run.ended and run.ended < begun.attempt.at):
                for one in run.tries:
                    yield from one.writes

    def _refused(self, begun: Started) -> Iterator[Problem]:
        """What the stage wrote into the document without owning it, and what others changed at the same time."""
        ref = self.target.document
        if ref is None:
            return
        for event in self.site.engine.log.read(begun.position, _DOCUMENT_EVENTS, f"document/{ref.key}"):
            if event.type == "document:refused":
                pointers = (*event.data["set"], *event.data.get("gone", ()))
                owners = documents.foreign(self.preparation.pack, begun.prepared.stage, pointers)
                state = self.preparation.document()
                claims = documents.unearned(self.preparation.pack, state.leaves if state else {}, event.data["set"])
                for pointer in pointers:
                    why = f"true is not accepted: {claims[pointer]}" if pointer in claims else ""
                    owner = owners.get(pointer) or ", ".join(event.data.get("owners", ()))
                    yield Problem(why or f"belongs to {owner}; the change was refused", key=pointer)
            elif event.type == "document:conflicted":
                for pointer in dict.fromkeys((*event.data["log"], *event.data["file"])):
                    yield Problem(f"changed in the file and in the log; the {event.data['won']} wins", key=pointer)

    def _ruined(self) -> list[Problem]:
        """Files of the document that a command has deleted or made unreadable. They are written again from the log."""
        ref, problems = self.target.document, []
        for file in self.site.files(ref.key) if ref is not None else ():
            path = os.path.relpath(file.path, os.path.realpath(file.root))
            if not file.exists:
                problems.append(Problem("was deleted while the stage ran", path=path))
            elif file.fault:
                text = f"cannot be parsed since the stage ran: {file.fault}"
                problems.append(Problem(text, path=path, line=file.line))
        if ref is not None and problems:
            self.site.write_document(ref.key)
        return problems


def _both(one: StageOutput, other: StageOutput) -> StageOutput:
    """What the code of a stage and the command that refines it did."""
    return one.replace(
        document={**one.document, **other.document},
        warnings=(*one.warnings, *other.warnings),
        errors=(*one.errors, *other.errors),
        answer=other.answer or one.answer,
    )


def _words(target: Target) -> dict[str, str]:
    """The paths of roles with one file, and of the document. None of them can be taken for an option."""
    named = {"document": (target.document.path,)} if target.document is not None and target.document.path else {}
    single = {role: paths[0] for role, paths in {**named, **target.paths}.items() if len(paths) == 1}
    return {f"{{{role}}}": f"./{path}" if path.startswith("-") else path for role, path in single.items()}


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
