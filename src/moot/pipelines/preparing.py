"""What a stage gets: reads the files and the document of a target, and checks the prerequisites of a stage.

The result is compared again in the commit that starts the stage, under the writer lock (`running`). So a stage never
starts on other contents than those that were checked.
"""

from __future__ import annotations

from moot.core import flat_json
from moot.core.errors import MootError, Unavailable
from moot.core.json_codec import loads
from moot.core.pack_code import PackCode
from moot.core.record import Record
from moot.core.text import command_line
from moot.pipelines import commands, document_care
from moot.pipelines.contract import Pipeline, Problem, StageError, StageInput, StageOutput
from moot.runs import contents, documents, step_keys
from moot.runs.commands import granted
from moot.runs.stage import ANSWER, DOCUMENT
from moot.views import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, TypeVar

    from moot.api.call import Call
    from moot.core.handler import Handler
    from moot.pipelines.contract import ProgramRunner, Target
    from moot.runs.consent import Consent, PinnedHandler
    from moot.runs.contents import Contents
    from moot.runs.stage import Stage

    Found = TypeVar("Found")

KEPT = "what a person wrote meanwhile is kept, as the person said"
PREDECESSOR, FILES, DOCUMENT_EXISTS, COMMAND = "predecessor", "files", "document", "command"


class Unmet(Exception):
    """A prerequisite does not hold. Nothing was started."""

    def __init__(self, text: str, advice: str = "", problems: Iterable[Problem] = ()) -> None:
        super().__init__(text)
        self.text, self.advice, self.problems = text, advice, tuple(problems)


class TooEarly(Unmet):
    """An earlier stage has not completed, or must run again for this reason."""

    def __init__(self, missing: Stage, reason: str = "") -> None:
        why = f"must run again: {reason}" if reason else "has not completed successfully"
        super().__init__(f"{missing.said} {why}", f"Run {missing.said} first")
        self.missing = missing.name


class TargetState(Record):
    """A target as it is now: the leaves of its document, and its files with their digests.

    `shown`: the digest of the document's file when it was absorbed.
    """

    leaves: Mapping[str, Any]
    opened: bool  # whether it has a document
    contents: Contents
    digests: Mapping[str, str]
    shown: str


class Prepared(Record):
    """A stage that can be started. `before` is what its criteria compare with."""

    stage: Stage
    given: StageInput
    before: StageInput
    inputs: Mapping[str, str]
    situation: TargetState
    snapshots: Mapping[str, bytes]  # the files that it may write, as the last stage that passed left them
    checks: tuple[str, ...]
    command: Handler | None = None
    pinned: PinnedHandler | None = None  # the command as it was allowed, if one is needed
    early: StageOutput | None = None  # the code found that there is nothing to do
    note: str = ""  # for the reason why it runs

    @property
    def key(self) -> str:
        return step_keys.key_of(self.inputs)


class Preparation:
    """Looks at one target for one pipeline."""

    def __init__(self, call: Call, pipeline: Pipeline, target: Target) -> None:
        self.call, self.pipeline, self.target = call, pipeline, target
        self.pack = pipeline.pack
        self.keys = documents.keys_of(pipeline.pack)
        self.commands = commands.commands_of(call, pipeline)
        file = target.document.path if target.document is not None else ""
        self.shown_at = (target.root, file, target.folders)  # where the document's file is
        self.env = dict(call.env)  # as it was when the run began
        self._consent: Consent | None = None
        self._adds = type(pipeline).also is not Pipeline.also  # whether its code adds to the tables of step keys
        self._made: tuple[TargetState | None, dict[str, StageInput]] = None, {}  # inputs of stages, for one state
        self.paths = tuple(dict.fromkeys(path for paths in target.paths.values() for path in paths))

    def look(self) -> TargetState:
        """Absorb what was written into the document's file, and read everything."""
        shown = fingerprint(*self.shown_at)
        if self.target.document is not None:
            self.call.sync(also=(self.target.document.key,))
        state = self.document()
        found = contents.read(self.target.root, self.paths, self.target.folders)
        named = {path: contents.NONE for path in self.paths if not path.endswith("/")}
        digests = {**named, **{path: contents.digest(data) for path, data in found.files.items()}}
        leaves = dict(state.leaves) if state is not None else {}
        return TargetState(leaves=leaves, opened=state is not None, contents=found, digests=digests, shown=shown)

    def document(self) -> Any:
        """The state of its document; None if there is none."""
        if self.target.document is None:
            return None
        state, _ = states.state(self.call.engine.read(), "document", self.target.document.key)
        return state if state.status else None

    def inputs(self, stage: Stage, now: TargetState, answer: str | None) -> dict[str, str]:
        """The table of the step key, as things are now."""
        command = self.command(stage)
        return step_keys.inputs_of(
            self.pack,
            self.pipeline.version,
            stage,
            self.target,
            now.digests,
            now.leaves,
            command=command.run if command is not None else (),
            answer=answer,
            more=self._also(stage, now) if self._adds else {},
        )

    def _also(self, stage: Stage, now: TargetState) -> Mapping[str, str]:
        """What the pack adds to the table."""
        return self.pack_code("also", lambda: self.pipeline.also(self.seen(stage, now)))

    def command(self, stage: Stage) -> Handler | None:
        """The command in moot.toml for a stage; None if there is none, or its code does the work."""
        return self.commands.get(stage.name) if stage.agent != "none" else None

    def starts_at_once(self, stage: Stage) -> bool:
        """Whether no code of the pack runs before the stage, and the end of the one before changes no document."""
        finds = stage.agent == "required" and stage.name in self.pipeline.stages
        return self.target.document is None and not stage.requires and not finds and not self._adds

    # --- prerequisites ------------------------------------------------------------------------------------------------

    def prepare(
        self,
        stage: Stage,
        now: TargetState,
        *,
        answer: str | None = None,
        attempt: int = 1,
        at: str = "",
        leftover: Mapping[str, bytes | None] | None = None,
        edited: Mapping[str, tuple[bytes, bytes]] | None = None,
        keep: bool = False,
        earlier: Mapping[str, str] | None = None,
        programs: ProgramRunner | None = None,
    ) -> Prepared:
        """Check the prerequisites. Raises `Unmet`.

        `leftover`: files with unfinished work of an attempt that did not pass, as they were before it; None: there
        was no such file. `edited`: files that changed after such an attempt, as they were before it and after it.
        `keep`: a person keeps what is theirs in all of them. `earlier`: the inputs of the newest attempt that passed.
        """
        unfinished = leftover or {}
        if keep and unfinished:
            unfinished = self.kept(stage, now, unfinished)
        files = {**now.contents.files, **unfinished}
        old = {path: data for path, data in files.items() if data is not None}
        given = self.given(stage, now, old, answer)
        given = given.replace(attempt=attempt, now=at, programs=programs, earlier=earlier or {})
        checks = [FILES]
        if stage.after:
            checks.append(PREDECESSOR)
            self._check_marker(stage, now)
        checks += [DOCUMENT_EXISTS] if DOCUMENT in stage.reads else []
        self._check(stage, now, given)
        checks += stage.requires
        early = self._early(stage, given)
        pinned = self._pinned(stage) if early is None else None
        if pinned is not None:
            checks.append(COMMAND)
            if stage.agent != "refines":  # a command goes on with what is there
                given = given.replace(files=self._roles(stage, now.contents.files))
                old |= self._repaired(given, edited) if edited and not keep else {}
        writes = [path for role in stage.writes for path in self.target.paths.get(role, ())]
        return Prepared(
            stage=stage,
            given=given,
            before=given.replace(files=self._roles(stage, old)),
            inputs=self.inputs(stage, now, answer),
            situation=now,
            snapshots={path: data for path, data in old.items() if contents.is_of(path, writes)},
            checks=tuple(checks),
            command=self.command(stage) if pinned is not None else None,
            pinned=pinned,
            early=early,
            note=KEPT if unfinished != (leftover or {}) else "",
        )

    def kept(self, stage: Stage, now: TargetState, before: Mapping[str, bytes | None]) -> Mapping[str, bytes | None]:
        """What unfinished files were before, with what a person keeps in them."""
        current = self.given(stage, now, now.contents.files, None)
        return self.pack_code("kept", lambda: self.pipeline.kept(current, before))

    def _repaired(self, given: StageInput, edited: Mapping[str, tuple[bytes, bytes]]) -> Mapping[str, bytes]:
        before, left = ({path: both[at] for path, both in edited.items()} for at in (0, 1))
        return self.pack_code("repaired", lambda: self.pipeline.repaired(given, before, left))

    def check_begun(self, now: TargetState) -> None:
        """Raise `TooEarly` if not even the first stage has completed."""
        first = self.pack.stages[0]
        if first.marker and now.leaves.get(first.marker) is not True:
            raise TooEarly(first)

    def check(self, stage: Stage, now: TargetState, first: Iterable[Stage] = ()) -> None:
        """Check the prerequisites of a stage, except what the stages will make that run `first`. Raises `Unmet`."""
        self._check(stage, now, self.given(stage, now, now.contents.files, None), first)

    def _check(self, stage: Stage, now: TargetState, given: StageInput, first: Iterable[Stage] = ()) -> None:
        if DOCUMENT in stage.reads and not now.opened and self.target.document is not None:
            raise Unmet(f"Document not found: {self.target.document.path or self.target.document.key}")
        self._check_files(stage, now, first)
        self._check_document()
        for name in stage.requires:
            problems = self._checked(name, given)
            if problems:
                raise Unmet(problems[0].text, problems=problems)

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
        try:
            if command is not None:
                return granted(self._consented(), command, self.commands.values())
            if stage.agent == "required" or stage.name not in self.pipeline.stages:
                raise commands.missing_command(self.call, self.pipeline, stage)
        except Unavailable:
            raise
        except MootError as error:
            raise Unmet(error.message.rstrip("."), error.remedy) from error
        return None

    def _consented(self) -> Consent:
        """What persons have allowed. It is read again for each command, because it can be taken back at any time."""
        if self._consent is None:
            from moot.api.verbs.effects.allow import consent_of

            self._consent = consent_of(self.call)
        return self._consent

    def _check_marker(self, stage: Stage, now: TargetState) -> None:
        before = next(one for one in self.pack.stages if one.name == stage.after)
        if before.marker and now.leaves.get(before.marker) is not True:
            raise TooEarly(before)

    def _check_document(self) -> None:
        """Refuse to start while the file of the document cannot be read: what is in it may be somebody's work."""
        if self.target.document is None or self.call.mirrors is None:
            return
        for file in self.call.mirrors.document_files(self.call, self.target.document.key):
            if file.barred:
                advice = "Put a regular file there, in a folder of this repository, or nothing: moot writes it again."
                raise Unmet(f"{file.path} cannot be read: {file.fault}", advice)
            if file.fault:
                advice = f"Correct the file, or put it back: `{command_line('doc restore', file.document)}`."
                raise Unmet(f"{file.path} cannot be parsed: {file.fault}", advice)
        for file in document_care.away(self.call, self.target):
            raise Unmet(f"{file.path} cannot be written", "See that its folder can be created.")

    def _check_files(self, stage: Stage, now: TargetState, first: Iterable[Stage]) -> None:
        """The files that a stage reads exist, except those that the stages write that run `first`.

        The code of a first stage says itself what is missing: a failed stage is noted in the document, a refused one is
        not.
        """
        if not stage.after and self.command(stage) is None:
            return
        made = {role for one in first for role in one.writes}
        for role in (one for one in stage.reads if one not in made):
            for path in self.target.paths.get(role, ()) if role not in (DOCUMENT, ANSWER) else ():
                if now.digests.get(path) == contents.NONE:
                    raise Unmet(f"{role.capitalize()} file not found: {path}", "Restore it, or run the pipeline again.")

    def _checked(self, name: str, given: StageInput) -> list[Problem]:
        """What a check of the pack finds. One that raises `StageError` says itself how it is told, and what to do."""
        check = self.pipeline.checks.get(name)
        if check is None:
            return [Problem(f"the pack has no check {name!r}")]
        try:
            return self.pack_code(f"checks.{name}", lambda: list(check(given)))
        except StageError as error:
            raise Unmet(error.text, error.suggestion, error.problems) from error

    def changed(self, prepared: Prepared, found: StageOutput) -> Prepared:
        """A prepared stage after its code has done its part, for the command that refines it."""
        now = self.look()
        leaves = documents.changed(self.keys, now.leaves, found.document, found.removed)
        given = self.given(prepared.stage, now.replace(leaves=leaves), now.contents.files, None)
        given = prepared.given.replace(files=given.files, document=given.document)
        return prepared.replace(given=given, before=given, situation=now)

    def missing(self, stage: Stage, now: TargetState) -> str:
        """What of the result of a stage is not in its files any more, in words; empty if it is there."""
        found = self.pack_code("missing", lambda: list(self.pipeline.missing(self.seen(stage, now))))
        return found[0].said if found else ""

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

    def seen(self, stage: Stage, now: TargetState) -> StageInput:
        """The input of a stage without an answer, made once for a state: whether it is reused is asked in two ways."""
        if self._made[0] is not now:
            self._made = now, {}
        known = self._made[1]
        if stage.name not in known:
            known[stage.name] = self.given(stage, now, now.contents.files, None)
        return known[stage.name]

    def given(self, stage: Stage, now: TargetState, files: Mapping[str, bytes], answer: str | None) -> StageInput:
        """The input of a stage: what it reads, and the files that it may write."""
        document = None
        if DOCUMENT in stage.reads:
            document = flat_json.unflatten(documents.seen(stage, now.leaves), self.keys)
        before = None
        if ANSWER in stage.reads and answer is not None:
            before = self.answer(answer)
        return StageInput(
            stage=stage,
            target=self.target,
            files=self._roles(stage, files),
            document=document,
            parameters=self.target.parameters,
            answer=before,
            mtimes=now.contents.mtimes,
        )

    def answer(self, blob: str | None) -> dict[str, Any]:
        """The answer of a stage in this blob; empty if there is none."""
        found: dict[str, Any] = loads(self.call.blob(blob).decode("utf-8")) if blob else {}
        return found

    def _roles(self, stage: Stage, files: Mapping[str, bytes]) -> dict[str, dict[str, bytes]]:
        wanted = dict.fromkeys((*stage.reads, *stage.writes))
        return contents.roles({role: of for role, of in self.target.paths.items() if role in wanted}, files)


def fingerprint(root: str, path: str, folders: Sequence[str] = ()) -> str:
    """The digest of a file; if it cannot be read, the reason."""
    try:
        return contents.digests(root, (path,), folders)[path] if path else contents.NONE
    except StageError as error:
        return error.text
