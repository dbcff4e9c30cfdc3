"""The stages of the pack as code for the engine: what is built in, what an answer means, and when a stage has passed.

The rules are in the other modules of the pack, which know nothing of the engine. This one connects them.
"""

from __future__ import annotations

from moot.core.errors import Refused
from moot.core.record import Record
from moot.packs.rspec import architect, factory_checks, implementer, isolation, reviewing, stage_documents
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
from moot.packs.rspec.document_check import check_document, errors_of
from moot.pipelines.contract import Pipeline, Problem, StageError, StageOutput, StageWaits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any, ClassVar

    from moot.api.protocol import Pack
    from moot.pipelines.contract import Check, Criterion, Stage, StageCode, StageInput

NOT_SELECTED = "No testable methods found"
NO_MODEL = "No selected method needs a record"
NO_GEM = "The project has no factory gem"


class Surroundings(Record):
    """What the stages know besides their inputs. None of it changes what a stage would do with the same inputs.

    written: what moot wrote of the spec file, if nobody changed it since (`own_blocks`).
    choices: what a person chose for blocks that moot may not replace.
    level: what a person chose for methods whose level is unclear. rspec: the command that runs RSpec.
    """

    written: bytes | None = None
    choices: Mapping[str, str] = {}
    helper: str = ""
    level: str = ""
    level_by: str = ""
    rspec: tuple[str, ...] = ("rspec",)
    rspec_timeout: float = 300.0


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
        document, project = _document(given), str(given.parameters["project_type"])
        if not selected_methods(document):
            return StageOutput(skip=NOT_SELECTED)
        around = self._around(given.target.id)
        decided = isolation.decide(document, project, around.level, around.level_by)
        if decided.unclear:
            text = f"At which level are {', '.join(decided.unclear)} of {document['class_name']} tested?"
            raise self._asks(given, Question("level", text, isolation.LEVELS))
        configs = {one["name"]: one["test_config"] for one in decided.methods if "test_config" in one}
        answer = {"methods": [{"name": name, "test_config": one} for name, one in configs.items()]}
        changes = {stage_documents.pointer("methods", name, "test_config"): one for name, one in configs.items()}
        return StageOutput(document=changes, answer=answer)

    def plan_contexts(self, given: StageInput) -> StageOutput:
        document, path, around = _document(given), given.path("spec"), self._around(given.target.id)
        if not selected_methods(document):
            return StageOutput(skip=NOT_SELECTED)
        done = frozenset(given.parameters.get("done") or ())
        plan = architect.plan_spec(document, given.file("spec"), around.written, around.choices, around.helper, done)
        if plan.conflicts:
            options = tuple(c for c in architect.CHOICES if all(c in one.choices for one in plan.conflicts))
            blocks = "; ".join(one.sentence for one in plan.conflicts)
            text = f"{path} has blocks that only you may replace: {blocks}. What happens to them?"
            raise self._asks(given, Question("existing", text, options))
        return StageOutput(
            document={"/spec_file": path, "/structure": plan.structure},
            files={path: plan.data},
            warnings=tuple(f"{name}{architect.KEPT}" for name in plan.kept),
            answer={"spec_file": path, "structure": plan.structure},
        )

    def _asks(self, given: StageInput, question: Question) -> StageWaits:
        self.questions[given.target.id] = question
        return StageWaits(question.text)

    def review(self, given: StageInput) -> StageOutput:
        document, path, data = _document(given), given.path("spec"), given.file("spec") or b""
        if not _structure(given)["methods"]:
            return StageOutput(skip=NOT_SELECTED)
        result = run_rspec(given, self._around(given.target.id))
        broken, advice = stage_documents.violations(document, path, data)
        answer: dict[str, Any] = {"tests_passed": result.passed, "violations": broken}
        if result.failures:
            answer["failures"] = [dict(one.__dict__) for one in result.failures]
        answer["examples"] = stage_documents.examples_by_method(document, data)
        return StageOutput(errors=reviewing.review_errors(broken, result), warnings=tuple(advice), answer=answer)


def discover(given: StageInput) -> StageOutput:
    """The part of the document that discovery found for it: see `moot.packs.rspec.discovery`."""
    part = given.parameters["discovery"]
    return StageOutput(document={f"/{key}": value for key, value in part.items()}, answer=dict(part))


def analyze(given: StageInput) -> StageOutput:
    from moot.packs.rspec.analysis import analyze as analysed

    document = _document(given)
    mtime = given.mtimes.get(given.path("source"), 0) // 1_000_000_000
    found = analysed(document, given.file("source") or b"", mtime, given.parameters, _slug(given))
    if found.skip:
        return StageOutput(skip=found.skip)
    return stage_documents.analysis_output(document, found.data, found.warnings)


def need_factories(given: StageInput) -> StageOutput:
    """Skip the stage if no factory is needed; otherwise the agent does the work."""
    models = any(
        (one.get("setup") or {}).get("type") == "model"
        for method in selected_methods(_document(given))
        for one in method.get("characteristics") or ()
    )
    if not models:
        return StageOutput(skip=NO_MODEL)
    return StageOutput() if given.parameters.get("factory_gem") else StageOutput(skip=NO_GEM)


def implement_nothing(given: StageInput) -> StageOutput:
    """Skip the stage if there is nothing to implement; otherwise the agent does the work."""
    return StageOutput() if _structure(given)["methods"] else StageOutput(skip=NOT_SELECTED)


def run_rspec(given: StageInput, around: Surroundings) -> reviewing.RspecResult:
    """Run RSpec on the spec file. Raises `StageError` if it reports no result."""
    argv = [*around.rspec, *reviewing.arguments(given.path("spec"))]
    try:
        ran = given.run(argv, timeout=around.rspec_timeout, keep=16 << 20)
    except StageError as error:
        raise StageError(error.text, details=error.details, suggestion=error.suggestion or reviewing.SETTING) from error
    try:
        return reviewing.result_of(ran.output.tail, ran.code)
    except reviewing.NoResult as error:
        said = ran.errors.tail.decode("utf-8", "replace").strip()
        advice = f"Run it by hand to see why: {' '.join(argv)}"
        raise StageError(str(error), details=said[-2000:], suggestion=advice) from error


# --- criteria ---------------------------------------------------------------------------------------------------------


def document_is_valid(_before: StageInput, after: StageInput) -> Iterator[Problem]:
    for finding in errors_of(_document(after)):
        yield Problem(finding.text, key=finding.path)


def selected_are_analysed(_before: StageInput, after: StageInput) -> Iterator[Problem]:
    document = _document(after)
    for entry in document["methods_to_analyze"]:
        analysed = next((one for one in document.get("methods") or () if one["name"] == entry["name"]), None)
        if entry["selected"] and analysed is None:
            yield Problem(f"{entry['name']} is selected, and was not analysed", key="methods")
        elif analysed is not None and not entry["selected"]:
            yield Problem(f"{entry['name']} was analysed, and is not selected", key="methods")
        elif analysed is not None and analysed.get("method_mode") != entry["method_mode"]:
            yield Problem(f"expected the method_mode {entry['method_mode']} of {entry['name']}", key="methods")


def every_method_is_configured(_before: StageInput, after: StageInput) -> Iterator[Problem]:
    document = _document(after)
    for method in selected_methods(document):
        if "test_config" not in method:
            yield Problem(f"{method['name']} has no test_config", key="methods")
    for finding in check_document(document):
        if finding.severity == "error" and "test_config" in finding.path:
            yield Problem(finding.text, key=finding.path)


def spec_shows_the_structure(_before: StageInput, after: StageInput) -> Iterator[Problem]:
    path = after.path("spec")
    for text, line in architect.spec_problems(_structure(after), after.file("spec") or b""):
        yield Problem(text, path, line)


def only_texts_were_reworded(_before: StageInput, after: StageInput) -> Iterator[Problem]:
    """For the wording pass of a command: compared with what the built-in part has written."""
    path = after.path("spec")
    planned = after.output.files.get(path) if after.output is not None else None
    for text, line in architect.wording_problems(
        planned or b"", after.file("spec") or b"", _document(after)["class_name"]
    ):
        yield Problem(text, path, line)


def spec_is_implemented(before: StageInput, after: StageInput) -> Iterator[Problem]:
    document, path = _document(after), after.path("spec")
    old, new = before.file("spec") or b"", after.file("spec")
    if new is None:
        yield Problem("the spec file was removed", path)
        return
    problems = [*implementer.spec_is_implemented(document, path, new)]
    problems += implementer.nothing_is_lost(old, new, document["class_name"], path)
    for problem in problems:
        yield Problem(problem.text, problem.path, problem.line)
    for name in implementer.unstubbed(document, new):
        yield Problem(f"{name} decides a branch, and the spec neither stubs nor builds it", path, blocks=False)


def claims_hold(before: StageInput, after: StageInput) -> Iterator[Problem]:
    """What the answer says of its files."""
    files = _answer(after).get("files_created") or []
    contents = {path: data for role in after.files.values() for path, data in role.items()}
    traits = factory_checks.traits_by_file(before.files.get("factories", {}), after.files.get("factories", {}))
    for problem in implementer.claims_hold(files, _document(after), contents, traits):
        yield Problem(problem.text, problem.path)
    listed = {entry["path"] for entry in files}
    for path, (_, added) in traits.items():
        if added and path not in listed:
            yield Problem(f"{', '.join(sorted(added))} added and not stated in data.files_created", path)


def factories_hold(before: StageInput, after: StageInput) -> Iterator[Problem]:
    old, new = before.files.get("factories", {}), after.files.get("factories", {})
    for path, text, line in factory_checks.factory_problems(old, new):
        yield Problem(text, path, line)


def review_holds(_before: StageInput, after: StageInput) -> Iterator[Problem]:
    """The counts of structure, spec file and review agree; an agent's verdict is checked by running RSpec."""
    document, data = _document(after), after.file("spec") or b""
    structure = _structure(after)
    for method, found in stage_documents.examples_by_method(document, data).items():
        planned = stage_documents.planned(structure, method)
        if planned != found:
            yield Problem(f"{method}: {planned} examples are planned, found {found}", after.path("spec"))
    answer = _answer(after)
    if "examples" not in answer and structure["methods"]:  # from an agent
        passed = run_rspec(after, Surroundings()).passed
        if passed is not answer.get("tests_passed"):
            yield Problem(f"tests_passed: the answer says {answer.get('tests_passed')}, and RSpec says {passed}")


def names_its_source(given: StageInput) -> Iterator[Problem]:
    """A document belongs to the source that its slug names."""
    document, source = given.document or {}, given.path("source")
    if document.get("source_file") not in (None, source):
        said = f"the document is about {document.get('source_file')}, and its slug belongs to {source}"
        yield Problem(said, key="/source_file")


# --- answers ----------------------------------------------------------------------------------------------------------


class RspecPipeline(Pipeline):
    """See the module."""

    version = "1"
    checks: ClassVar[Mapping[str, Check]] = {"names-its-source": names_its_source}
    criteria: ClassVar[Mapping[str, Criterion]] = {
        "document-is-valid": document_is_valid,
        "selected-methods-are-analysed": selected_are_analysed,
        "every-method-is-configured": every_method_is_configured,
        "spec-shows-the-structure": spec_shows_the_structure,
        "only-texts-were-reworded": only_texts_were_reworded,
        "factories-hold": factories_hold,
        "claims-hold": claims_hold,
        "spec-is-implemented": spec_is_implemented,
        "review-holds": review_holds,
    }

    def __init__(self, pack: Pack, around: Mapping[str, Surroundings] | None = None) -> None:
        super().__init__(pack)
        self._arounds = around or {}
        self._built_in = BuiltIn(self._around)
        self.stages = self._built_in.stages  # type: ignore[misc]

    @property
    def questions(self) -> Mapping[str, Question]:
        """What only a person can decide, by target."""
        return self._built_in.questions

    def _around(self, target: str) -> Surroundings:
        return self._arounds.get(target) or Surroundings()

    def label(self, stage: Stage) -> str:
        return stage.name.replace("-", "_")

    def also(self, given: StageInput) -> Mapping[str, str]:
        """What else a result depends on: the time of the source's last change, and what a person chose."""
        around = self._around(given.target.id)
        match given.stage.name:
            case "code-analyzer":
                return {"the time of the source": str(given.mtimes.get(given.path("source"), 0))}
            case "isolation-decider":
                return {"the chosen level": around.level}
            case "test-architect":
                return {"the choice for existing blocks": str(sorted(around.choices.items()))}
            case "test-reviewer":
                return {"the command": " ".join(around.rspec)}
        return {}

    def stale(self, given: StageInput, _inputs: Mapping[str, str]) -> str:
        marks = (given.document or {}).get("automation") or {}
        errors = [one for one in marks.get("errors") or () if str(one).startswith("test_reviewer: ")]
        return "the last review found errors" if given.stage.name == REVIEWER and errors else ""

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
        return stage_documents.analysis_output(document, read.data, warnings)
    changes: dict[str, Any] = {}
    if agent == ISOLATION:
        changes = stage_documents.configured(document, read.data["methods"])
    elif agent == ARCHITECT:
        changes = {"/spec_file": read.data["spec_file"], "/structure": read.data["structure"]}
    errors = reviewing.review_errors(read.data["violations"], None) if agent == REVIEWER else ()
    return StageOutput(document=changes, warnings=warnings, errors=errors, answer=dict(read.data))


def _stage_error(error: Refused) -> StageError:
    problems = [Problem(one["text"], key=one["path"]) for one in error.details.get("problems", ())]
    return StageError(error.message.rstrip("."), suggestion=error.remedy, problems=problems)


def _document(given: StageInput) -> dict[str, Any]:
    if given.document is None:
        raise StageError("there is no document")
    return dict(given.document)


def _structure(given: StageInput) -> Mapping[str, Any]:
    found: Mapping[str, Any] = (given.document or {}).get("structure") or {"describe": "", "methods": []}
    return found


def _answer(after: StageInput) -> Mapping[str, Any]:
    """What the stage itself answered."""
    return after.output.answer if after.output is not None else {}


def _slug(given: StageInput) -> str:
    return str(given.target.document.subject) if given.target.document is not None else ""
