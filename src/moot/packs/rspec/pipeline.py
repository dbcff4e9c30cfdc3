"""The stages of the pack as code for the engine: what is built in, what an answer means, and when a stage has passed.

The rules are in the other modules of the pack, which know nothing of the engine. This one connects them.
"""

from __future__ import annotations

from moot.core.errors import Refused, Usage
from moot.packs.rspec import architect, contexts, isolation, reviewing, stage_documents
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
from moot.packs.rspec.cover_targets import helper_of, rspec_of
from moot.packs.rspec.criteria import CHECKS, CRITERIA, review_holds
from moot.packs.rspec.rspec_runs import RspecCommand, run_rspec
from moot.packs.rspec.stage_documents import document_of, of_this_wave, pointer, structure_of
from moot.runs import contents
from moot.runs.contract import Pipeline, Problem, StageError, StageOutput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any, ClassVar

    from moot.runs.contract import Check, StageInput, Target
    from moot.runs.site import Site
    from moot.runs.stage import PipelinePack, Stage

    Written = Mapping[str, frozenset[bytes] | None]  # by target

NOT_SELECTED = "No testable methods found"
NO_MODEL = "No selected method needs a record"
NO_FACTORIES = "The project has neither a factory gem nor a folder of factories"


class RspecPipeline(Pipeline):
    """`written`: the blocks of spec files that moot may replace (`moot.packs.ruby.own_blocks`); `overwrite`: all."""

    version = "3"
    checks: ClassVar[Mapping[str, Check]] = CHECKS

    def __init__(self, pack: PipelinePack, written: Written | None = None, *, overwrite: bool = False) -> None:
        super().__init__(pack)
        self._written, self._overwrite = written or {}, overwrite
        self.stages = {  # type: ignore[misc]
            DISCOVERY: discover,
            ANALYZER: analyze,
            ISOLATION: decide_isolation,
            ARCHITECT: self._plan_contexts,
            FACTORY: need_factories,
            IMPLEMENTER: implement_nothing,
            REVIEWER: self._review,
        }
        self.criteria = {**CRITERIA, "review-holds": self._review_holds}  # type: ignore[misc]

    def targets(self, _site: Site, _paths: Sequence[str]) -> list[Target]:
        raise Usage("target_incomplete", "This pipeline begins with a discovery.", "Use `moot rspec cover`.")

    def label(self, stage: Stage) -> str:
        return stage.name.replace("-", "_")

    def also(self, given: StageInput) -> Mapping[str, str]:
        """The analysis also depends on the time of the source's last change, and on its own version."""
        if given.stage.name != ANALYZER:
            return {}
        from moot.packs.rspec.analyzer import VERSION

        time = str(given.mtimes.get(given.path("source"), 0))
        return {"the time of the source": time, "the version of the analysis": VERSION}

    def prompt(self, given: StageInput) -> str:
        from moot.packs.rspec.prompts import prompt

        return prompt(given)

    def answered(self, given: StageInput, answer: Mapping[str, Any]) -> StageOutput:
        return output_of(given, answer)

    # --- built-in stages that need more than their input --------------------------------------------------------------

    def _plan_contexts(self, given: StageInput) -> StageOutput:
        """Plan the methods of this wave, beside those of earlier ones."""
        document, path, asked = of_this_wave(given), given.path("spec"), given.parameters
        if not selected_methods(document):
            return StageOutput(skip=NOT_SELECTED)
        plan = architect.plan_spec(
            document,
            given.file("spec"),
            None if self._overwrite else self._written.get(given.target.id, frozenset()),
            corrected=given.failure.startswith(f"{ARCHITECT}: "),
            helper=helper_of(given.target.root),
            done=asked["done"],
        )
        if plan.conflicts:
            problems = [Problem(architect.THEIRS.format(title), path, line) for title, line in plan.conflicts]
            said = problems[0].said if len(problems) == 1 else f"{len(problems)} problems"
            raise StageError(said, problems=problems, suggestion=architect.OVERWRITE)
        found: dict[str, Any] = {"spec_file": path, "structure": plan.structure}
        return StageOutput(
            document={f"/{key}": one for key, one in found.items()}, files={path: plan.data}, answer=found
        )

    def _review(self, given: StageInput) -> StageOutput:
        document, path, data = of_this_wave(given), given.path("spec"), given.file("spec") or b""
        if not document["structure"]["methods"]:
            return StageOutput(skip=NOT_SELECTED)
        given = given.replace(document=document)
        result = run_rspec(given, self._command(given))
        broken, advice = stage_documents.violations(document, path, data)
        answer: dict[str, Any] = {"tests_passed": result.passed, "violations": broken}
        if result.failures:
            answer["failures"] = [dict(one.__dict__) for one in result.failures]
        answer["examples"] = stage_documents.examples_by_method(document, data)
        notes = (*advice, *result.doubts)
        return StageOutput(errors=reviewing.review_errors(broken, result), warnings=notes, answer=answer)

    def _review_holds(self, _before: StageInput, after: StageInput) -> Iterator[Problem]:
        return review_holds(after.replace(document=of_this_wave(after)), self._command(after))

    def _command(self, given: StageInput) -> RspecCommand:
        values = self.pack.values
        return RspecCommand(tuple(rspec_of(given.target.root, values)), float(values.get("rspec_timeout", 300)))


# --- built-in stages --------------------------------------------------------------------------------------------------


def discover(given: StageInput) -> StageOutput:
    """The part of the document that discovery found for it: see `moot.packs.rspec.discovery`."""
    part = given.parameters["discovery"]
    return StageOutput(document={f"/{key}": value for key, value in part.items()}, answer=dict(part))


def analyze(given: StageInput) -> StageOutput:
    from moot.packs.rspec.analyzer import analyze as analysed

    document = document_of(given)
    mtime = given.mtimes.get(given.path("source"), 0) // 1_000_000_000
    slug = str(given.target.document.subject) if given.target.document is not None else ""
    found = analysed(document, given.file("source") or b"", mtime, slug)
    if found.skip:
        return StageOutput(skip=found.skip)
    return stage_documents.analysis_output(document, found.data, found.warnings)


def decide_isolation(given: StageInput) -> StageOutput:
    document, asked = document_of(given), given.parameters
    if not selected_methods(document):
        return StageOutput(skip=NOT_SELECTED)
    decided = isolation.decide(
        document,
        str(asked["project_type"]),
        asked.get("level", ""),
        asked.get("level_by", ""),
        asked.get("classes") or {},
    )
    configs = {one["name"]: one["test_config"] for one in decided.methods if "test_config" in one}
    unclear = (
        f"{name}: the level {configs[name]['test_level']} has low confidence; --level sets another one"
        for name in decided.unclear
    )
    answer = {"methods": [{"name": name, "test_config": one} for name, one in configs.items()]}
    changes = {pointer("methods", name, "test_config"): one for name, one in configs.items()}
    return StageOutput(document=changes, warnings=tuple(unclear), answer=answer)


def need_factories(given: StageInput) -> StageOutput:
    """Skip the stage if no factory can be needed; otherwise the agent does the work."""
    if not given.parameters.get("factories"):
        return StageOutput(skip=NO_FACTORIES)
    characteristics = [
        one for method in selected_methods(document_of(given)) for one in method.get("characteristics") or ()
    ]
    setups = [one["setup"] for one in characteristics if one.get("setup")]
    return StageOutput(skip=NO_MODEL if setups and all(one.get("type") != "model" for one in setups) else "")


def implement_nothing(given: StageInput) -> StageOutput:
    """Skip the stage if there is nothing to implement; otherwise the agent does the work."""
    return StageOutput(skip="" if structure_of(given)["methods"] else NOT_SELECTED)


# --- answers ----------------------------------------------------------------------------------------------------------


def output_of(given: StageInput, answer: Mapping[str, Any]) -> StageOutput:
    """What the answer of a command means. Raises `StageError`."""
    agent = given.stage.name
    try:
        read = read_answer(agent, dict(answer))
    except Refused as error:
        problems = [Problem(one["text"], key=one["path"]) for one in error.details.get("problems", ())]
        raise StageError(error.message.rstrip("."), suggestion=error.remedy, problems=problems) from error
    if read.status == ERROR:
        raise StageError(read.error, details=read.details, suggestion=read.suggestion)
    warnings = (*read.warnings, *stage_documents.stated_warnings(read))
    if read.status == SKIP:
        return StageOutput(skip=read.skip_reason, warnings=warnings)
    document = given.document or {}
    if agent == ANALYZER:
        return stage_documents.analysis_output(document, read.data, warnings, given.file("source") or b"")
    changes: dict[str, Any] = {}
    answered = dict(read.data)
    if agent == ISOLATION:
        changes = stage_documents.configured(document, read.data["methods"])
    elif agent == ARCHITECT:
        path = given.path("spec")
        data = contents.read(given.target.root, (path,)).files.get(path) or b""
        planned = architect.reworded(contexts.structure_of(of_this_wave(given)), data)
        answered = {"spec_file": path, "structure": planned, **answered}
        changes = {"/spec_file": answered["spec_file"], "/structure": answered["structure"]}
    errors = reviewing.review_errors(read.data["violations"], None) if agent == REVIEWER else ()
    return StageOutput(document=changes, warnings=warnings, errors=errors, answer=answered)
