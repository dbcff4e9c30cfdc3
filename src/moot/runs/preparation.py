"""What a stage gets: reads the files and the document of a target, and checks the prerequisites of a stage.

The result is compared again in the commit that starts the stage, under the writer lock (`record`). So a stage never
starts on other contents than those that were checked.
"""

from __future__ import annotations

from moot.core import flat_json
from moot.core.errors import MootError, Unavailable, Usage
from moot.core.json_codec import loads
from moot.core.pack_code import PackCode
from moot.core.record import Record
from moot.core.run import FAILED, INTERRUPTED
from moot.core.text import closest, command_line, fence
from moot.runs import commands, contents, documents, step_keys
from moot.runs.contract import Pipeline, Problem, StageError, StageInput
from moot.runs.stage import ANSWER, DOCUMENT
from moot.views import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, TypeVar

    from moot.core.handler import Handler
    from moot.runs.consent import PinnedHandler
    from moot.runs.contents import Contents
    from moot.runs.contract import ProgramRunner, StageOutput, Target
    from moot.runs.history import TargetHistory
    from moot.runs.site import Site
    from moot.runs.stage import Stage

    Found = TypeVar("Found")

PREDECESSOR, FILES, DOCUMENT_EXISTS, COMMAND = "predecessor", "files", "document", "command"
_PRINTED = 2000  # characters of what a failed command printed, for the next attempt


class Unmet(StageError):
    """A prerequisite does not hold. Nothing was started. `missing`: the earlier stage that must run first."""

    def __init__(self, text: str, advice: str = "", problems: Sequence[Problem] = (), missing: str = "") -> None:
        super().__init__(text, suggestion=advice, problems=problems)
        self.missing = missing


class TargetState(Record):
    """A target as it is now: the leaves of its document, and its files with their digests.

    The files were read before the document's file was taken in: so what changes meanwhile is noticed.
    """

    leaves: Mapping[str, Any]
    opened: bool  # whether it has a document
    contents: Contents
    digests: Mapping[str, str]


class Prepared(Record):
    """A stage that can be started. `before` is what its criteria compare with."""

    stage: Stage
    given: StageInput
    before: StageInput
    inputs: Mapping[str, str]
    now: TargetState
    checks: tuple[str, ...]
    pinned: PinnedHandler | None = None  # its command as it was allowed, if one is needed
    early: StageOutput | None = None  # the code found that there is nothing to do

    @property
    def snapshots(self) -> dict[str, bytes]:
        """The files that it may write, as they are."""
        writes = self.given.target.writes(self.stage)
        return {path: data for path, data in self.now.contents.files.items() if contents.is_of(path, writes)}


class Preparation:
    """Looks at one target for one pipeline."""

    def __init__(self, site: Site, pipeline: Pipeline, target: Target) -> None:
        self.site, self.pipeline, self.target = site, pipeline, target
        self.pack = pipeline.pack
        self.keys = documents.keys_of(pipeline.pack)
        self._commands = commands_of(site, pipeline)
        self._adds = type(pipeline).also is not Pipeline.also
        paths = [path for of in target.paths.values() for path in of]
        if target.document is not None and target.document.path:
            paths.append(target.document.path)
        self.paths = tuple(dict.fromkeys(paths))

    def look(self) -> TargetState:
        """Read the files, and take in what was written into the document's file."""
        found = contents.read(self.target.root, self.paths, self.target.folders)
        digests = contents.digests_of(self.paths, found)
        if self.target.document is not None:
            self.site.sync(also=(self.target.document.key,))
        state = self.document()
        leaves = dict(state.leaves) if state is not None else {}
        return TargetState(leaves=leaves, opened=state is not None, contents=found, digests=digests)

    def document(self) -> Any:
        """The state of its document; None if there is none."""
        if self.target.document is None:
            return None
        state, _ = states.state(self.site.engine.read(), "document", self.target.document.key)
        return state if state.status else None

    def inputs(self, stage: Stage, now: TargetState, answer: str | None) -> dict[str, str]:
        """The table of the step key, as things are now."""
        command = self.command(stage)
        more: Mapping[str, str] = {}
        if self._adds:
            more = self.pack_code("also", lambda: self.pipeline.also(self.given(stage, now)))
        return step_keys.inputs_of(
            self.pack,
            self.pipeline.version,
            stage,
            self.target,
            now.digests,
            now.leaves,
            command=command.run if command is not None else (),
            answer=answer,
            more=more,
        )

    def command(self, stage: Stage) -> Handler | None:
        """The command in moot.toml for a stage; None if there is none, or its code does the work."""
        return self._commands.get(stage.name) if stage.agent != "none" else None

    def starts_at_once(self, stage: Stage) -> bool:
        """Whether no code of the pack runs before the stage, and the end of the one before changes no document."""
        finds = stage.agent == "required" and stage.name in self.pipeline.stages
        return self.target.document is None and not stage.requires and not finds and not self._adds

    # --- prerequisites ------------------------------------------------------------------------------------------------

    def prepare(
        self,
        stage: Stage,
        now: TargetState,
        history: TargetHistory,
        *,
        answer: str | None = None,
        attempt: int = 1,
        programs: ProgramRunner | None = None,
    ) -> Prepared:
        """Check the prerequisites. Raises `Unmet`."""
        given = self.given(stage, now, answer)
        given = given.replace(
            attempt=attempt, now=self.site.wall(), programs=programs, failure=self._failure(stage, history)
        )
        before = next((one for one in self.pack.stages if one.name == stage.after), None)
        if before is not None and before.marker and now.leaves.get(before.marker) is not True:
            raise too_early(before)
        self.check(stage, now, given)
        early = self._early(stage, given)
        pinned = self._pinned(stage) if early is None else None
        checks = {
            FILES: True,
            PREDECESSOR: before is not None,
            DOCUMENT_EXISTS: DOCUMENT in stage.reads,
            **dict.fromkeys(stage.requires, True),
            COMMAND: pinned is not None,
        }
        return Prepared(
            stage=stage,
            given=given,
            before=given.replace(files=self._roles(stage, self._baseline(stage, now, history))),
            inputs=self.inputs(stage, now, answer),
            now=now,
            checks=tuple(name for name, checked in checks.items() if checked),
            pinned=pinned,
            early=early,
        )

    def _baseline(self, stage: Stage, now: TargetState, history: TargetHistory) -> dict[str, bytes]:
        """The files as they were before half-done attempts at the stage."""
        then = history.baseline(stage, self.target, now.digests)
        there = {path: data for path, data in now.contents.files.items() if then.get(path) != ""}
        return {**there, **{path: self.site.blob(blob) for path, blob in then.items() if blob}}

    def _failure(self, stage: Stage, history: TargetHistory) -> str:
        """What was wrong with the newest attempt, if it is one at this stage or at a later one that did not pass."""
        last = history.last
        names = [one.name for one in self.pack.stages]
        if last is None or last.status not in (FAILED, INTERRUPTED) or last.stage not in names:
            return ""
        if names.index(last.stage) < names.index(stage.name):
            return ""
        lines = [f"{last.stage}: {last.reason}", *(f"- {one}" for one in last.problems), last.details]
        for blob in filter(None, (last.errors, last.output)):
            printed = self.site.blob(blob).decode("utf-8", "replace").strip()[-_PRINTED:]
            lines += ["It printed:", fence(printed)] if printed else []
        return "\n".join(filter(None, lines))

    def check(self, stage: Stage, now: TargetState, given: StageInput | None = None) -> None:
        """Check the files and the document of a stage, and what it requires. Raises `Unmet`."""
        if DOCUMENT in stage.reads and not now.opened and self.target.document is not None:
            raise Unmet(f"Document not found: {self.target.document.path or self.target.document.key}")
        says_itself = not stage.after and self.command(stage) is None  # a failed stage is noted in the document
        for role in stage.reads if not says_itself else ():
            for path in self.target.paths.get(role, ()):
                if now.digests.get(path) == contents.NONE and role not in stage.writes:
                    raise Unmet(f"{role.capitalize()} file not found: {path}", "Restore it, or run the pipeline again.")
        self._check_document()
        for name in stage.requires:
            problems = self._checked(name, given or self.given(stage, now))
            if problems:
                raise Unmet(problems[0].text, problems[0].remedy, problems)

    def _check_document(self) -> None:
        """Refuse to start while the document's file cannot be read: what somebody wrote would be lost."""
        if self.target.document is None:
            return
        for file in self.site.files(self.target.document.key):
            if file.barred:
                advice = "Put a regular file there, in a folder of this repository, or nothing: moot writes it again."
                raise Unmet(f"{file.path} cannot be read: {file.fault}", advice)
            if file.fault:
                advice = f"Correct the file, or put it back: `{command_line('doc restore', file.document)}`."
                raise Unmet(f"{file.path} cannot be parsed: {file.fault}", advice)

    def _checked(self, name: str, given: StageInput) -> list[Problem]:
        check = self.pipeline.checks.get(name)
        if check is None:
            return [Problem(f"the pack has no check {name!r}")]
        return self.pack_code(f"checks.{name}", lambda: list(check(given)))

    def _early(self, stage: Stage, given: StageInput) -> StageOutput | None:
        """The result of a stage whose code finds, before any command is needed, that there is nothing to do."""
        code = self.pipeline.stages.get(stage.name)
        if stage.agent != "required" or code is None:
            return None
        found = self.pack_code(f"stages.{stage.name}", lambda: code(given))
        return found if found.skip else None

    def _pinned(self, stage: Stage) -> PinnedHandler | None:
        """The command of a stage, as it was allowed. Raises `Unmet` if it is needed, but missing or not allowed."""
        command = self.command(stage)
        if command is None:
            if stage.agent == "required" or stage.name not in self.pipeline.stages:
                raise Unmet(*_missing(self.pack.name, stage))
            return None
        try:
            return commands.granted(self.site.consent, command, self._commands.values())
        except Unavailable:
            raise
        except MootError as error:
            raise Unmet(error.message.rstrip("."), error.remedy) from error

    # --- code of the pack ---------------------------------------------------------------------------------------------

    def problems(self, part: str, run: Callable[[], Iterable[Problem]]) -> list[Problem]:
        """Problems from the pack's code; an error in it is one of them."""
        try:
            return self.pack_code(part, lambda: list(run()))
        except StageError as error:
            return [*error.problems] or [Problem(error.text)]

    def pack_code(self, part: str, run: Callable[[], Found]) -> Found:
        """Run code of the pack. Every error in it, except that nothing can be stored, is a `StageError`.

        `StageWaits` passes.
        """
        try:
            with PackCode(self.pack.name, part):
                return run()
        except Unavailable:
            raise
        except MootError as error:
            raise StageError(error.message.rstrip("."), suggestion=error.remedy) from error

    # --- what a stage gets --------------------------------------------------------------------------------------------

    def given(self, stage: Stage, now: TargetState, answer: str | None = None) -> StageInput:
        """The input of a stage: what it reads, and the files that it may write."""
        document = None
        if DOCUMENT in stage.reads:
            document = flat_json.unflatten(documents.seen(stage, now.leaves), self.keys)
        before = None
        if ANSWER in stage.reads and answer is not None:
            before = loads(self.site.blob(answer).decode("utf-8"))
        return StageInput(
            stage=stage,
            target=self.target,
            files=self._roles(stage, now.contents.files),
            document=document,
            parameters=self.target.parameters,
            answer=before,
            mtimes=now.contents.mtimes,
        )

    def _roles(self, stage: Stage, files: Mapping[str, bytes]) -> dict[str, dict[str, bytes]]:
        wanted = dict.fromkeys((*stage.reads, *stage.writes))
        return contents.roles({role: of for role, of in self.target.paths.items() if role in wanted}, files)


def commands_of(site: Site, pipeline: Pipeline) -> dict[str, Handler]:
    """The commands in moot.toml, by stage. Refuses those of stages that the pack does not have."""
    pack = pipeline.pack
    found = {one.stage: one for one in site.commands if one.pack == pack.name}
    stages = [stage.name for stage in pack.stages]
    for name in found:
        if name not in stages:
            near = closest(name, stages)
            advice = f"Did you mean {near}?" if near else f"Known: {', '.join(stages)}."
            raise Usage("unknown_stage", f"moot.toml: run.{pack.name} has no stage {name!r}.", advice, stage=name)
    return found


def too_early(missing: Stage, reason: str = "") -> Unmet:
    """An earlier stage has not completed, or must run again for this reason."""
    why = f"must run again: {reason}" if reason else "has not completed successfully"
    return Unmet(f"{missing.said} {why}", f"Run {missing.said} first", missing=missing.name)


def _missing(pack: str, stage: Stage) -> tuple[str, str]:
    text = f"The stage {stage.said} needs a command: moot.toml does not set run.{pack}.{stage.name}"
    return text, f"In the table [run.{pack}] of moot.toml, add for example: {stage.name} = {commands.EXAMPLE}"
