"""What a pack's author needs to declare a pipeline: the stages as data, and a `Pipeline` with their code.

The data is in `pack.toml`. The stages run in the order of the tables, each after the one above it:

    [pipeline]
    document = "note"                     # a mirror of this pack; leave it out if the stages share no document
    errors = "/errors"                    # lists that every stage appends to
    warnings = "/warnings"

    [pipeline.files]                      # roles of files, besides `source`
    report = "reports/{stem}.md"

    [mirrors.note]                        # a document for each target: `src/a.py` has `.notes/src--a.py.json`
    path = ".notes/{name}.json"
    form = "document"

    [[stage]]
    name = "outline"                      # built in: `Pipeline.stages["outline"]`
    reads = ["source"]
    owns = ["/outline"]
    marker = "/outline_completed"

    [[stage]]
    name = "review"
    agent = "required"                    # a command in [run.PACK] of moot.toml
    reads = ["source", "document"]
    writes = ["report"]
    criteria = ["names-every-section"]    # `Pipeline.criteria["names-every-section"]`
    marker = "/review_completed"

The code is a subclass of `Pipeline`; `Protocol.pipeline` names it as "module:attribute". A pack in a folder of a
repository has data only: all its stages are commands.

    class Notes(Pipeline):
        stages = {"outline": outline}
        criteria = {"names-every-section": names_every_section}

    def outline(given: StageInput) -> StageOutput:
        return StageOutput(document={"/outline": headings(given.text("source"))})

    def names_every_section(before: StageInput, after: StageInput) -> Iterator[Problem]:
        ...

A stage with `agent = "required"` may have code, too: it runs first, and if it returns a `skip`, no command is needed.
With `agent = "refines"`, the code does the work, and then a command, if there is one, improves it; its criteria compare
with what the code has left.

A stage's function is pure: it gets everything in `StageInput` and returns everything in `StageOutput`. If it must run a
program, it uses `StageInput.run`, which has a time limit. To fail, it raises `StageError`. The engine does the rest: it
checks the prerequisites in the commit that starts the stage, writes the files and the document, runs the criteria on
what is really there, records the end, and sets the marker. A marker that anybody else sets is only a claim.

What the engine promises to a stage:
- It gets the roles that it `reads`, nothing else: `given.files` has no other role, and `given.document` is None without
  `document`.
- It changes only the roles that it `writes` and the parts of the document that it `owns`. Everything else is refused:
  for a built-in stage before anything is written, for a command after its end, by comparing contents.
- If its code finds that there is nothing to do, no criterion is run. A command that says so is held to it: if it has
  changed anything, the stage fails, and the criteria judge what is there. They see the reason in `after.output.skip`.
- It is not run again while its step key is the same: a digest of its declaration, the contents that it reads, and the
  parameters. `Pipeline.stale` can add conditions, but never remove one.
"""

from __future__ import annotations

from moot.api.protocol.stage import ANSWER, DOCUMENT, PipelineSpec, Stage
from moot.core.errors import Refused
from moot.core.record import Record
from moot.core.text import unbroken

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any, ClassVar

    from moot.api.call import Call
    from moot.api.protocol import Pack
    from moot.place.processes import Ran
    from moot.runs.steps import PipelineStep, PlannedTarget, RunOptions

    StageCode = Callable[["StageInput"], "StageOutput"]
    Check = Callable[["StageInput"], Iterable["Problem"]]
    Criterion = Callable[["StageInput", "StageInput"], Iterable["Problem"]]

__all__ = [
    "ANSWER",
    "DOCUMENT",
    "DocumentRef",
    "EarlierResult",
    "Pipeline",
    "PipelineSpec",
    "Problem",
    "ProgramRunner",
    "Stage",
    "StageError",
    "StageInput",
    "StageOutput",
    "StageWaits",
    "Target",
]


class Problem(Record):
    """What is wrong. `path` and `line` say where in a file, `key` where in the document (a pointer).

    One that does not block is a warning: the stage passes. `remedy`: what to do, if the stage fails because of it.
    """

    text: str
    path: str = ""
    line: int = 0
    key: str = ""
    blocks: bool = True
    remedy: str = ""

    @property
    def said(self) -> str:
        at = f"{self.path}:{self.line}" if self.line else self.path or self.key
        return unbroken(f"{at}: {self.text}" if at else self.text)


class StageError(Exception):
    """Raised by the code of a stage to fail. `problems` are listed one by one.

    `document`: values, by pointer, that are set although the stage failed. It must own them. `asks`: it has done
    nothing, because a person must decide first; an earlier result of it stays valid.
    """

    def __init__(
        self,
        text: str,
        *,
        details: str = "",
        suggestion: str = "",
        problems: Sequence[Problem] = (),
        document: Mapping[str, Any] | None = None,
        asks: bool = False,
    ) -> None:
        super().__init__(text)
        self.text, self.details, self.suggestion = text, details, suggestion
        self.problems, self.document, self.asks = tuple(problems), dict(document or {}), asks


class StageWaits(Exception):
    """Raised by the code of a stage that needs an answer of a person first. Nothing is written, and the run stops.

    When the run is resumed, the stage starts again. The pack records the question, and gives the answer to the stage
    as a parameter of the target.
    """

    def __init__(self, question: str) -> None:
        super().__init__(question)
        self.question = question


class DocumentRef(Record):
    """The document of a target, in the log and as a file.

    `key` is its id (`moot.core.deciders.document.key`). The mirror shows it at `path`, for this worktree and subject.
    """

    key: str
    mirror: str  # `pack/name`
    worktree: str = "-"
    subject: str = ""
    path: str = ""  # of the file, for messages


class Target(Record):
    """What goes through the stages: one source file, one class, one method.

    `id` identifies it in the workspace: two runs of one target never overlap. `paths` are relative to `root`, by role.
    A path that ends with `/` means all files in that folder. `parameters` are part of the step key of every stage that
    depends on them. `continued_by`: targets that go on with the same document and files after this one, such as those
    of later waves.
    """

    id: str
    root: str  # of the worktree
    paths: Mapping[str, tuple[str, ...]]
    title: str = ""  # in messages and in the status
    folders: tuple[str, ...] = ()  # absolute folders outside the root in which absolute paths of roles may be
    document: DocumentRef | None = None
    parameters: Mapping[str, Any] = {}
    wave: int = 0
    continued_by: tuple[str, ...] = ()

    @property
    def said(self) -> str:
        return unbroken(self.title or self.id)


class StageInput(Record):
    """Everything that a stage gets, or a check or a criterion."""

    stage: Stage
    target: Target
    files: Mapping[str, Mapping[str, bytes]] = {}  # role → path → content; a file that does not exist is left out
    document: Mapping[str, Any] | None = None
    parameters: Mapping[str, Any] = {}
    answer: Mapping[str, Any] | None = None  # of the stage before, if the stage reads it
    mtimes: Mapping[str, int] = {}  # of these files, in nanoseconds
    now: str = ""  # the time of the attempt, in ISO 8601
    attempt: int = 1
    programs: ProgramRunner | None = None
    output: StageOutput | None = None  # for criteria, in `after`: what the stage returned
    earlier: Mapping[str, str] = {}  # the inputs of the newest attempt that passed, by name, each with a digest

    def path(self, role: str) -> str:
        """The path of a role with one file."""
        return self.target.paths[role][0]

    def file(self, role: str) -> bytes | None:
        """The content of a role with one file; None if it does not exist."""
        return self.files.get(role, {}).get(self.path(role))

    def text(self, role: str) -> str:
        """The content of a role with one file. Raises `StageError` if there is none, or it is not UTF-8."""
        found = self.file(role)
        if found is None:
            raise StageError(f"File not found: {self.path(role)}")
        try:
            return found.decode("utf-8")
        except UnicodeDecodeError as error:
            line = found[: error.start].count(b"\n") + 1
            raise StageError(f"{self.path(role)} is not UTF-8 (line {line})") from None

    def run(self, argv: Sequence[str], *, stdin: bytes = b"", timeout: float | None = None, keep: int = 1 << 20) -> Ran:
        """Run a program in the root of the target, without a shell. Raises `StageError` at its time limit."""
        if self.programs is None:
            raise Refused("no_programs", "This stage runs no programs here.", "Run it through the engine.")
        return self.programs.run(argv, stdin=stdin, timeout=timeout or self.stage.timeout, keep=keep)


class ProgramRunner:
    """Runs the programs of a built-in stage. The engine provides one."""

    def run(self, argv: Sequence[str], *, stdin: bytes, timeout: float, keep: int) -> Ran:
        raise NotImplementedError


class StageOutput(Record):
    """Everything that a stage did.

    document: what it sets, by pointer. A value replaces everything at its pointer, and may have any depth.
    removed: pointers of the document that it removes. A stage that owns the key of a list's items may remove an item,
        with what other stages have added to it.
    files: new contents, by path; None removes the file. For a command: nothing, because it has written its files.
    errors: entries for the pipeline's list of errors although the stage passed, such as findings of a review.
    skip: there was nothing to do, and why. A skipped stage counts as passed.
    answer: what the next stage gets, if it reads `answer`. It is stored with the run.
    """

    document: Mapping[str, Any] = {}
    removed: tuple[str, ...] = ()
    files: Mapping[str, bytes | None] = {}
    warnings: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    skip: str = ""
    answer: Mapping[str, Any] = {}


class EarlierResult(Record):
    """A result that could be used again. `inputs`: of its stage, by name, each with a digest."""

    inputs: Mapping[str, str]
    answer: Callable[[], Mapping[str, Any]]  # what the stage answered; empty if it was skipped


class Pipeline:
    """The code of a pack's stages. All of it is optional."""

    version: ClassVar[str] = ""  # part of every step key: raise it when a stage's code changes its results
    stages: ClassVar[Mapping[str, StageCode]] = {}  # the built-in ones, by name
    accepts_edits: ClassVar[bool] = False  # what a person made of a result goes to later stages only; see `missing`
    checks: ClassVar[Mapping[str, Check]] = {}  # the prerequisites that `requires` names
    criteria: ClassVar[Mapping[str, Criterion]] = {}  # those that `criteria` names
    guards: ClassVar[Sequence[str]] = ()  # files that no command may change unseen, although git ignores them

    def __init__(self, pack: Pack) -> None:
        self.pack = pack

    def targets(self, call: Call, paths: Sequence[str]) -> list[Target]:
        """The targets of `moot run PACK PATH…`. By default, each path is the `source` of one, with its document."""
        from moot.pipelines.targets import file_targets

        return file_targets(call, self.pack, paths)

    def steps(self, call: Call, targets: Sequence[Target], options: RunOptions) -> Iterator[PipelineStep]:
        """Run the targets: one alone, several as one run with waves."""
        from moot.pipelines.running import run_target
        from moot.pipelines.waves import run_targets

        return (
            run_target(call, self, targets[0], options)
            if len(targets) == 1
            else run_targets(call, self, targets, options)
        )

    def planned(self, call: Call, target: Target, options: RunOptions) -> PlannedTarget:
        """What would happen to a target now."""
        from moot.pipelines.planning import planned

        return planned(call, self, target, options)

    def prompt(self, given: StageInput) -> str:
        """What a command gets on standard input."""
        from moot.pipelines.prompts import prompt

        return prompt(self.pack, given)

    def answered(self, given: StageInput, answer: Mapping[str, Any]) -> StageOutput:
        """Turn the answer of a command into an output. Raises `StageError` for an error, or an invalid answer."""
        from moot.pipelines.answers import output_of

        return output_of(given, answer)

    def label(self, stage: Stage) -> str:
        """The name of a stage at the start of its entries in the lists of errors and warnings."""
        return stage.label

    def also(self, _given: StageInput) -> Mapping[str, str]:
        """More that the step key of a stage depends on, by name, such as the time of a file's last change."""
        return {}

    def kept(self, _given: StageInput, before: Mapping[str, bytes | None]) -> Mapping[str, bytes | None]:
        """What the files with work of an attempt that did not pass were before it, if a person keeps what is theirs.

        `given`: the files as they are now. `before`: those files as they were when the attempt began, by path. Where a
        stage may change only parts of a file, the rest can be taken from the file as it is now.
        """
        return before

    def keep_command(self, _target: Target) -> str:
        """The command with which a person keeps what is theirs (`kept`); empty if there is none."""
        return ""

    def repaired(
        self, _given: StageInput, _before: Mapping[str, bytes], _left: Mapping[str, bytes]
    ) -> Mapping[str, bytes]:
        """What files were before a command, if a person edited them after an attempt that failed.

        `given`: the files as they are now. `before`, `left`: as they were before that attempt and after it, by path. By
        default, everything that is there now is taken for the person's.
        """
        return {}

    def stale(self, _given: StageInput, _earlier: EarlierResult) -> str:
        """Why an earlier result must not be used although its step key is the same; empty if it may."""
        return ""

    def missing(self, _given: StageInput) -> Iterable[Problem]:
        """What of a stage's result is not in its files any more, after somebody has edited them. Then it runs again."""
        return ()
