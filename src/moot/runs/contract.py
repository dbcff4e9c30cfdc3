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
    agent = "none"
    reads = ["source"]
    owns = ["/outline"]
    marker = "/outline_completed"

    [[stage]]
    name = "review"
    task = "Review the source."           # what the prompt of its command begins with
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

A stage's function is pure: it gets everything in `StageInput` and returns everything in `StageOutput`. If it must run a
program, it uses `StageInput.run`, which has a time limit. To fail, it raises `StageError`. The runner does the rest: it
checks the prerequisites in the commit that starts the stage, writes the files and the document, runs the criteria on
what is really there, records the end, and sets the marker. A marker that anybody else sets is only a claim.

What the runner promises to a stage:
- It gets the roles that it `reads` or `writes`, nothing else: `given.files` has no other role, and `given.document` is
  None without `document`.
- It changes only the roles that it `writes` and the parts of the document that it `owns`. Everything else is refused:
  for a built-in stage before anything is written, for a command after its end, by comparing contents.
- The files that it may write are stored before it starts (`moot run restore`). Its criteria compare with what was there
  before its first attempt since the stage before it passed, so half-done work is never taken for the start.
- If its code finds that there is nothing to do, no criterion is run. A command that says so is held to it: if it has
  changed anything, the stage fails, and the criteria judge what is there.
- It is not run again while its step key is the same: a digest of its declaration, the contents that it reads, and the
  parameters.
"""

from __future__ import annotations

from moot.core.errors import Refused
from moot.core.record import Record
from moot.core.text import unbroken
from moot.runs.stage import ANSWER, DOCUMENT, PipelineSpec, Stage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any, ClassVar

    from moot.place.processes import Ran
    from moot.runs.site import Site
    from moot.runs.stage import PipelinePack
    from moot.runs.steps import PipelineStep, PlannedTarget, RunOptions

    StageCode = Callable[["StageInput"], "StageOutput"]
    Check = Callable[["StageInput"], Iterable["Problem"]]
    Criterion = Callable[["StageInput", "StageInput"], Iterable["Problem"]]

__all__ = [
    "ANSWER",
    "DOCUMENT",
    "DocumentRef",
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
    depends on them.
    """

    id: str
    root: str  # of the worktree
    paths: Mapping[str, tuple[str, ...]]
    title: str = ""  # in messages and in the status
    folders: tuple[str, ...] = ()  # absolute folders outside the root in which absolute paths of roles may be
    document: DocumentRef | None = None
    parameters: Mapping[str, Any] = {}
    wave: int = 0

    @property
    def said(self) -> str:
        return unbroken(self.title or self.id)

    def writes(self, stage: Stage) -> tuple[str, ...]:
        """The paths that a stage may write."""
        return tuple(path for role in stage.writes for path in self.paths.get(role, ()))


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
    failure: str = ""  # what was wrong with the last attempt, of this stage or a later one, with what it printed

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
            raise Refused("no_programs", "This stage runs no programs here.", "Run it through the runner.")
        return self.programs.run(argv, stdin=stdin, timeout=timeout or self.stage.timeout, keep=keep)


class ProgramRunner:
    """Runs the programs of a built-in stage. The runner provides one."""

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


class Pipeline:
    """The code of a pack's stages. All of it is optional."""

    version: ClassVar[str] = ""  # part of every step key: raise it when a stage's code changes its results
    stages: ClassVar[Mapping[str, StageCode]] = {}  # the built-in ones, by name
    checks: ClassVar[Mapping[str, Check]] = {}  # the prerequisites that `requires` names
    criteria: ClassVar[Mapping[str, Criterion]] = {}  # those that `criteria` names

    def __init__(self, pack: PipelinePack) -> None:
        self.pack = pack

    def targets(self, site: Site, paths: Sequence[str]) -> list[Target]:
        """The targets of `moot run PACK PATH…`. By default, each path is the `source` of one, with its document."""
        from moot.runs.targets import file_targets

        return file_targets(site, self.pack, paths)

    def prompt(self, given: StageInput) -> str:
        """What a command gets on standard input."""
        from moot.runs.prompts import prompt

        return prompt(self.pack, given)

    def answered(self, given: StageInput, answer: Mapping[str, Any]) -> StageOutput:
        """Turn the answer of a command into an output. Raises `StageError` for an error, or an invalid answer."""
        from moot.runs.prompts import output_of

        return output_of(given, answer)

    def label(self, stage: Stage) -> str:
        """The name of a stage at the start of its entries in the lists of errors and warnings."""
        return stage.label

    def also(self, _given: StageInput) -> Mapping[str, str]:
        """More that the step key of a stage depends on, by name, such as the time of a file's last change."""
        return {}

    def steps(self, site: Site, targets: Sequence[Target], options: RunOptions) -> Iterator[PipelineStep]:
        """Take targets through the stages."""
        from moot.runs.waves import run_targets

        return run_targets(site, self, targets, options)

    def planned(self, site: Site, target: Target, options: RunOptions) -> PlannedTarget:
        """What would happen to a target now. Starts and records nothing."""
        from moot.runs.waves import planned

        return planned(site, self, target, options)
