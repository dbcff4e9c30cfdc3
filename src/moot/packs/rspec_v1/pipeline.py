"""The code of the pipeline: its built-in stages, prerequisites, criteria and prompts, by the names in `pack.toml`.

A stage's code is imported when it runs: a run that reuses everything needs none of it.
"""

from __future__ import annotations

from moot.core.errors import Usage
from moot.core.text import command_line
from moot.packs.rspec_v1 import analysis, programs
from moot.packs.rspec_v1.validation import validate
from moot.runs.contract import Pipeline, Problem, StageError, StageOutput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping, Sequence
    from typing import Any, ClassVar

    from moot.core.handler import Handler
    from moot.packs.rspec_v1.analyzing import Cached
    from moot.runs.contract import Criterion, StageInput, Target
    from moot.runs.site import Site
    from moot.runs.stage import PipelinePack

VERSION = "1"
INVALID, AGAIN = "Invalid metadata format", "Re-run rspec-analyzer."


def _late(module: str, name: str) -> Callable[..., Any]:
    """A function of a module of this pack, which is imported when the function is called."""

    def call(*given: Any) -> Any:
        from importlib import import_module

        return getattr(import_module(f"moot.packs.rspec_v1.{module}"), name)(*given)

    return call


class RspecV1Pipeline(Pipeline):
    """See the module."""

    version = VERSION
    criteria: ClassVar[Mapping[str, Criterion]] = {
        "spec-has-one-block": _late("criteria", "spec_has_one_block"),
        "tree-matches-document": _late("criteria", "tree_matches_document"),
        "placeholders-in-place": _late("criteria", "placeholders_in_place"),
        "other-tests-are-kept": _late("criteria", "other_tests_are_kept"),
        "rest-is-kept": _late("rest_criteria", "rest_is_kept"),
        "words-are-chosen": _late("criteria", "words_are_chosen"),
        "language-rules-hold": _late("criteria", "language_rules_hold"),
        "first-states-first": _late("criteria", "first_states_first"),
        "tree-is-kept": _late("criteria", "tree_is_kept"),
        "descriptions-are-kept": _late("criteria", "descriptions_are_kept"),
        "examples-expect": _late("implementer_criteria", "examples_expect"),
        "contexts-have-setup": _late("implementer_criteria", "contexts_have_setup"),
        "subject-calls-method": _late("implementer_criteria", "subject_calls_method"),
        "behaviour-is-tested": _late("implementer_criteria", "behaviour_is_tested"),
        "texts-still-stand": _late("polisher_criteria", "texts_stay"),
        "only-style-of-the-rest-changed": _late("polisher_criteria", "rest_stays"),
        "only-factory-calls-changed": _late("factory_criteria", "only_factory_calls_changed"),
        "unit-tests-build": _late("factory_criteria", "unit_tests_build"),
        "traits-are-used": _late("factory_criteria", "traits_are_used"),
        "report-has-every-rule": _late("built_in", "report_has_every_rule"),
    }

    def __init__(self, pack: PipelinePack) -> None:
        super().__init__(pack)
        self.own: Container[bytes] | None = ()  # the texts of blocks that moot may replace; None: all
        self.cached: Cached | None = None  # an earlier analysis of the target
        self.document: Callable[[], Mapping[str, Any] | None] = lambda: None  # all of it, as the log has it now
        self.allows: Callable[[Handler], bool] = lambda _program: False
        self.__dict__["checks"] = {"document-is-valid": self._document_is_valid, "spec-exists": self._spec_exists}
        self.__dict__["criteria"] = {
            **type(self).criteria,
            "document-is-valid": self._draft_is_valid,
            "polish-holds": self._polish_holds,
        }
        self.__dict__["stages"] = {
            "analyzer": self._analyze,
            "validation": _late("built_in", "validate_document"),
            "skeleton": lambda given: _late("built_in", "generate_skeleton")(given, self.own),
            "factory_optimizer": _optimized_already,
            "polisher": self._polish,
            "reviewer": _late("built_in", "write_review"),
        }

    @property
    def settings(self) -> Mapping[str, Any]:
        return self.pack.values

    def targets(self, _site: Site, _paths: Sequence[str]) -> list[Target]:
        raise Usage(
            "target_incomplete",
            "This pipeline needs a source file and a method.",
            "Use `moot rspec-v1 run SOURCE METHOD`.",
        )

    def prompt(self, given: StageInput) -> str:
        from moot.packs.rspec_v1.prompts import prompt_of

        return prompt_of(given)

    def also(self, given: StageInput) -> Mapping[str, str]:
        """What else a result depends on.

        The analysis: the time of the source's last change, so that a touched source is analysed again, and its version.
        """
        source = given.path("source")
        match given.stage.name:
            case "analyzer":
                found = {f"mtime of {source}": str(given.mtimes[source])} if source in given.mtimes else {}
                return {**found, "the version of the analysis": analysis.VERSION}
        return {}

    def _document_is_valid(self, given: StageInput) -> tuple[Problem, ...]:
        """The prerequisite of every stage after validation. A stage sees parts of the document; all of it counts."""
        errors = validate(dict(self.document() or given.document or {})).errors
        if errors:
            raise StageError(INVALID, suggestion=AGAIN, problems=[Problem(one) for one in errors])
        return ()

    def _spec_exists(self, given: StageInput) -> Iterator[Problem]:
        """What the skeleton stage has written is still there."""
        automation = (self.document() or {}).get("automation") or {}
        if automation.get("skeleton_generated") is True and given.file("spec") is None:
            yield Problem(f"Spec file not found: {given.path('spec')}", remedy="Restore it, or run the pipeline again.")

    def _draft_is_valid(self, _before: StageInput, after: StageInput) -> Iterator[Problem]:
        """What the analyzer leaves is valid, except that its marker is not set yet. The built-in one has checked it."""
        if after.output is not None and after.output.document:
            return
        document = dict(self.document() or {})
        document["analyzer"] = {**(document.get("analyzer") or {}), "completed": True}
        errors = validate(document).errors
        yield from (Problem(one) for one in errors)
        if not errors:
            from moot.packs.rspec_v1.analysis import not_in

            yield from (Problem(text, key=key) for key, text in not_in(document, after.file("source") or b""))

    def _analyze(self, given: StageInput) -> StageOutput:
        from moot.packs.rspec_v1 import analyzing

        return analyzing.run_analysis(given, self.cached)

    def _polish(self, given: StageInput) -> StageOutput:
        from moot.packs.rspec_v1 import polisher

        self._check_allowed(given)
        return polisher.polish(given, self.settings)

    def _polish_holds(self, before: StageInput, after: StageInput) -> Iterator[Problem]:
        yield from _late("polisher_criteria", "by_command")(self._polish_of_command_holds)(before, after)

    def _polish_of_command_holds(self, _before: StageInput, after: StageInput) -> Iterator[Problem]:
        try:
            self._check_allowed(after)
        except StageError as error:
            yield Problem(f"{error.text}. {error.suggestion}")
            return
        yield from _late("polisher_criteria", "polish_holds")(after, self.settings)

    def _check_allowed(self, given: StageInput) -> None:
        """Raise if a program comes with the repository, and nobody has allowed it."""
        program = programs.unallowed(given.target.root, self.settings, self.allows)
        if program is not None:
            raise StageError(
                f"nobody allowed {program.name} on this machine: it would {program.what}",
                suggestion=f"Inspect and allow it: `{command_line('allow', program.name)}`.",
            )


def _optimized_already(given: StageInput) -> StageOutput:
    """Without a factory call there is nothing to optimize, and no agent is started."""
    from moot.packs.rspec_v1 import factory_criteria

    skip = "" if factory_criteria.has_factory_calls(given) else "the spec has no factory calls"
    return StageOutput(skip=skip)
