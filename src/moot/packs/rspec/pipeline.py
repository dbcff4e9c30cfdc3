"""The stages of the pack as code for the engine: what is built in, what an answer means, and when a stage has passed.

The rules are in the other modules of the pack, which know nothing of the engine. This one connects them.
"""

from __future__ import annotations

from moot.core.errors import Refused
from moot.core.record import Record
from moot.packs.rspec import architect, isolation, late_choices, reviewing, stage_documents
from moot.packs.rspec.agents import (
    ANALYZER,
    ARCHITECT,
    DISCOVERY,
    FACTORY,
    IMPLEMENTER,
    ISOLATION,
    REVIEWER,
    selected_methods,
)
from moot.packs.rspec.answers import ERROR, SKIP, read_answer
from moot.packs.rspec.contexts import shown_name
from moot.packs.rspec.contexts import structure_of as planned
from moot.packs.rspec.cover_targets import has_records
from moot.packs.rspec.criteria import (
    CHECKS,
    CRITERIA,
    missing_results,
    only_texts_were_reworded,
    review_holds,
    spec_is_implemented,
)
from moot.packs.rspec.loaded_files import LoadedFiles
from moot.packs.rspec.rspec_runs import RspecCommand, run_rspec
from moot.packs.rspec.stage_documents import document_of, structure_of
from moot.packs.rspec.untouched import kept_beside, kept_outside, repaired_outside
from moot.packs.ruby.loaded_files import LOADED
from moot.pipelines.contract import Pipeline, Problem, StageError, StageOutput, StageWaits
from moot.runs import contents
from moot.runs.contents import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any, ClassVar

    from moot.api.protocol import Pack
    from moot.pipelines.contract import Check, EarlierResult, Stage, StageCode, StageInput, Target

NOT_SELECTED = "No testable methods found"
NO_MODEL = "No selected method needs a record"
JUDGED = "2"  # raise it when the same run of RSpec would be judged otherwise
NO_GEM = "The project has no factory gem"


class Surroundings(Record):
    """What the stages know besides their inputs. None of it changes what a stage would do with the same inputs.

    written: finds what moot wrote of the spec file, if nobody changed it since (`own_blocks`).
    choices: what a person chose now for blocks that moot may not replace.
    level: what a person chose for methods whose level is unclear. rspec: the command that runs RSpec.
    keeps: the command with which a person keeps what was written into the spec file while a stage ran.
    """

    written: Callable[[], bytes | None] = lambda: None
    choices: Mapping[str, str] = {}
    helper: str = ""
    level: str = ""
    level_by: str = ""
    rspec: RspecCommand = RspecCommand()
    keeps: str = ""


class Question(Record):
    """What only a person can decide. `about` is level or existing."""

    about: str
    text: str
    options: tuple[str, ...]


class BuiltIn:
    """The stages that need no agent."""

    def __init__(self, around: Callable[[str], Surroundings]) -> None:
        self._around = around
        self.questions: dict[str, Question] = {}  # by target
        self._loaded: dict[str, LoadedFiles] = {}  # by root
        self.stages: dict[str, StageCode] = {
            DISCOVERY: discover,
            ANALYZER: analyze,
            ISOLATION: self.decide_isolation,
            ARCHITECT: self.plan_contexts,
            FACTORY: need_factories,
            IMPLEMENTER: implement_nothing,
            REVIEWER: self.review,
        }

    def decide_isolation(self, given: StageInput) -> StageOutput:
        document, project = document_of(given), str(given.parameters["project_type"])
        if not selected_methods(document):
            return StageOutput(skip=NOT_SELECTED)
        around = self._around(given.target.id)
        decided = isolation.decide(
            document, project, around.level, around.level_by, given.parameters.get("classes") or {}
        )
        if decided.unclear:
            verb, names = "are" if len(decided.unclear) > 1 else "is", ", ".join(decided.unclear)
            text = f"At which level {verb} {names} of {document['class_name']} tested?"
            raise self._asks(given, Question("level", text, isolation.LEVELS))
        configs = {one["name"]: one["test_config"] for one in decided.methods if "test_config" in one}
        answer = {"methods": [{"name": name, "test_config": one} for name, one in configs.items()]}
        changes = {stage_documents.pointer("methods", name, "test_config"): one for name, one in configs.items()}
        return StageOutput(document=changes, answer=answer)

    def plan_contexts(self, given: StageInput) -> StageOutput:
        document, path, around = document_of(given), given.path("spec"), self._around(given.target.id)
        if not selected_methods(document):
            return StageOutput(skip=NOT_SELECTED)
        done = frozenset(given.parameters.get("done") or ())
        overwrite = around.choices.get("*") == "overwrite"
        plan = architect.plan_spec(
            document, given.file("spec"), around.written(), overwrite=overwrite, helper=around.helper, done=done
        )
        if plan.conflicts:
            problems = [Problem(f"{one.method}: {one.why}", path, one.line) for one in plan.conflicts]
            said = f"{path} has blocks that only you may replace: {problems[0].said}"
            raise StageError(said, suggestion="Replace them with --overwrite.", problems=problems)
        return StageOutput(
            document={"/spec_file": path, "/structure": plan.structure},
            files={path: plan.data},
            answer={"spec_file": path, "structure": plan.structure},
        )

    def _asks(self, given: StageInput, question: Question) -> StageWaits:
        self.questions[given.target.id] = question
        return StageWaits(question.text)

    def loaded(self, given: StageInput) -> LoadedFiles:
        """The files of the target's project."""
        return self._loaded.setdefault(given.target.root, LoadedFiles(given.target.root))

    def review(self, given: StageInput) -> StageOutput:
        document, path, data = document_of(given), given.path("spec"), given.file("spec") or b""
        if not _is_planned(document):
            return StageOutput(skip=NOT_SELECTED)
        result = run_rspec(given, self._around(given.target.id).rspec, self.loaded(given))
        broken, advice = stage_documents.violations(document, path, data)
        answer: dict[str, Any] = {"tests_passed": result.passed, "violations": broken}
        if result.failures:
            answer["failures"] = [dict(one.__dict__) for one in result.failures]
        if result.loaded is not None:
            answer["loaded"] = dict(result.loaded)
        answer["examples"] = stage_documents.examples_by_method(document, data)
        notes = (*advice, *result.doubts)
        return StageOutput(errors=reviewing.review_errors(broken, result), warnings=notes, answer=answer)


def _planned_now(given: StageInput) -> list[str]:
    """The names of the blocks that test-architect plans in this wave."""
    done = given.parameters.get("done") or ()
    return [shown_name(one) for one in selected_methods(document_of(given)) if one["name"] not in done]


def discover(given: StageInput) -> StageOutput:
    """The part of the document that discovery found for it: see `moot.packs.rspec.discovery`."""
    part = given.parameters["discovery"]
    return StageOutput(document={f"/{key}": value for key, value in part.items()}, answer=dict(part))


def analyze(given: StageInput) -> StageOutput:
    from moot.packs.rspec.analyzer import analyze as analysed

    document = document_of(given)
    mtime = given.mtimes.get(given.path("source"), 0) // 1_000_000_000
    found = analysed(document, given.file("source") or b"", mtime, _slug(given))
    if found.skip:
        return StageOutput(skip=found.skip)
    return stage_documents.analysis_output(document, found.data, found.warnings)


def need_factories(given: StageInput) -> StageOutput:
    """Skip the stage if no factory is needed; otherwise the agent does the work."""
    if not has_records(selected_methods(document_of(given))):
        return StageOutput(skip=NO_MODEL)
    return StageOutput() if given.parameters.get("factory_gem") else StageOutput(skip=NO_GEM)


def implement_nothing(given: StageInput) -> StageOutput:
    """Skip the stage if there is nothing to implement; otherwise the agent does the work."""
    if structure_of(given)["methods"]:
        return StageOutput()
    return StageOutput(skip=NOT_SELECTED)


def _is_planned(document: Mapping[str, Any]) -> bool:
    """Whether the spec file has tests of selected methods: planned ones, or those that a person keeps."""
    return bool(selected_methods(document)) and "structure" in document


# --- answers ----------------------------------------------------------------------------------------------------------


class RspecPipeline(Pipeline):
    """See the module."""

    accepts_edits = True
    version = "2"
    checks: ClassVar[Mapping[str, Check]] = CHECKS
    guards = LOADED

    def __init__(self, pack: Pack, around: Mapping[str, Surroundings] | None = None) -> None:
        super().__init__(pack)
        self._arounds = around or {}
        self._built_in = BuiltIn(self._around)
        self.stages = self._built_in.stages  # type: ignore[misc]
        own = {
            "review-holds": self._review_holds,
            "spec-is-implemented": self._spec_is_implemented,
            "only-texts-were-reworded": self._only_texts_were_reworded,
        }
        self.criteria = {**CRITERIA, **own}  # type: ignore[misc]

    @property
    def questions(self) -> Mapping[str, Question]:
        """What only a person can decide, by target."""
        return self._built_in.questions

    def _around(self, target: str) -> Surroundings:
        return self._arounds.get(target) or Surroundings()

    def _review_holds(self, _before: StageInput, after: StageInput) -> Iterator[Problem]:
        return review_holds(after, self._around(after.target.id).rspec)

    def _spec_is_implemented(self, before: StageInput, after: StageInput) -> Iterator[Problem]:
        return spec_is_implemented(before, after, self.keep_command(after.target))

    def _only_texts_were_reworded(self, before: StageInput, after: StageInput) -> Iterator[Problem]:
        return only_texts_were_reworded(before, after, self.keep_command(after.target))

    def kept(self, given: StageInput, before: Mapping[str, bytes | None]) -> Mapping[str, bytes | None]:
        """An agent works on the blocks of its methods; what is around them in the spec file is the person's."""
        path, now = given.path("spec"), given.file("spec")
        old = before.get(path)
        if path not in before or now is None:
            return before
        match given.stage.name:
            case "test-architect":
                return {**before, path: kept_beside(document_of(given), _planned_now(given), old or b"", now)}
            case "test-implementer" if old is not None:
                return {**before, path: kept_outside(structure_of(given), old, now)}
        return before

    def keep_command(self, target: Target) -> str:
        return self._around(target.id).keeps

    def repaired(
        self, given: StageInput, before: Mapping[str, bytes], left: Mapping[str, bytes]
    ) -> Mapping[str, bytes]:
        """What a failed attempt changed outside its blocks is still not accepted because a person edited the file."""
        path, now = given.path("spec"), given.file("spec")
        if given.stage.name != IMPLEMENTER or path not in before or now is None:
            return {}
        return {path: repaired_outside(structure_of(given), before[path], left[path], now)}

    def label(self, stage: Stage) -> str:
        return stage.name.replace("-", "_")

    def also(self, given: StageInput) -> Mapping[str, str]:
        """What else a result depends on.

        The analysis: the time of the source's last change, and its version. The review: the command that runs RSpec.
        """
        if given.stage.name == ANALYZER:
            from moot.packs.rspec.analyzer import VERSION

            time = str(given.mtimes.get(given.path("source"), 0))
            return {"the time of the source": time, "the version of the analysis": VERSION}
        if given.stage.name == REVIEWER:
            command = " ".join(self._around(given.target.id).rspec.argv)
            return {"the command that runs RSpec": command, "how examples are judged": JUDGED}
        return {}

    def stale(self, given: StageInput, earlier: EarlierResult) -> str:
        around, document = self._around(given.target.id), document_of(given) if given.document is not None else {}
        match given.stage.name:
            case "isolation-decider" if around.level and "command" not in earlier.inputs:
                return late_choices.level_applies(document, str(given.parameters["project_type"]), around.level)
            case "test-architect" if around.choices:
                done = frozenset(given.parameters.get("done") or ())
                return late_choices.existing_applies(document, given.file("spec"), around.written(), done)
            case "test-reviewer":
                return self._review_is_stale(given, document, earlier)
        return ""

    def missing(self, given: StageInput) -> Iterator[Problem]:
        return missing_results(given)

    def _review_is_stale(self, given: StageInput, document: Mapping[str, Any], earlier: EarlierResult) -> str:
        if earlier.inputs.get(f"file:{given.path('spec')}") != digest(given.file("spec")):
            return ""  # a later wave is at work on the spec, and will be reviewed
        answer = earlier.answer()
        errors = (document.get("automation") or {}).get("errors") or ()
        if any(str(one).startswith("test_reviewer: ") for one in errors):
            return "the last review found errors"
        if answer and "loaded" not in answer:
            return "it is not known which files RSpec has loaded"
        changed = self._built_in.loaded(given).changed(answer.get("loaded") or {})
        return f"{changed}, which RSpec has loaded, changed" if changed else ""

    def prompt(self, given: StageInput) -> str:
        from moot.packs.rspec.prompts import prompt

        return prompt(given)

    def answered(self, given: StageInput, answer: Mapping[str, Any]) -> StageOutput:
        return output_of(given, answer)


def output_of(given: StageInput, answer: Mapping[str, Any]) -> StageOutput:
    """What the answer of a command means. Raises `StageError`."""
    agent = given.stage.name
    try:
        read = read_answer(agent, dict(answer))
    except Refused as error:
        raise _stage_error(error) from error
    if read.status == ERROR:
        raise StageError(read.error, details=read.details, suggestion=read.suggestion)
    warnings = (*read.warnings, *stage_documents.stated_warnings(read))
    if read.status == SKIP:
        return StageOutput(skip=read.skip_reason, warnings=warnings)
    document = given.document or {}
    if agent == ANALYZER:
        return stage_documents.analysis_output(document, read.data, warnings, given.file("source") or b"")
    changes: dict[str, Any] = {}
    said = dict(read.data)
    if agent == ISOLATION:
        changes = stage_documents.configured(document, read.data["methods"])
    elif agent == ARCHITECT:
        path = given.path("spec")
        data = contents.read(given.target.root, (path,)).files.get(path) or b""
        said = {"spec_file": path, "structure": architect.reworded(planned(document), data), **said}
        changes = {"/spec_file": said["spec_file"], "/structure": said["structure"]}
    errors = reviewing.review_errors(read.data["violations"], None) if agent == REVIEWER else ()
    return StageOutput(document=changes, warnings=warnings, errors=errors, answer=said)


def _stage_error(error: Refused) -> StageError:
    problems = [Problem(one["text"], key=one["path"]) for one in error.details.get("problems", ())]
    return StageError(error.message.rstrip("."), suggestion=error.remedy, problems=problems)


def _slug(given: StageInput) -> str:
    return str(given.target.document.subject) if given.target.document is not None else ""
