"""The code of the pipeline: its built-in stages, prerequisites, criteria and prompts, by the names in `pack.toml`.

A stage's code is imported when it runs: a run that reuses everything needs none of it.
"""

from __future__ import annotations

from moot.core.errors import Usage
from moot.core.text import command_line
from moot.packs.rspec_v1 import analysis, programs
from moot.packs.rspec_v1.project_state import project_files, project_state, state_after
from moot.packs.rspec_v1.validation import validate
from moot.packs.ruby.loaded_files import LOADED
from moot.pipelines.contract import Pipeline, Problem, StageError, StageOutput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from typing import Any, ClassVar

    from moot.api.call import Call
    from moot.api.protocol import Pack
    from moot.core.handler import Handler
    from moot.packs.rspec_v1.analyzing import Cached
    from moot.pipelines.contract import Criterion, EarlierResult, StageInput, Target

VERSION = "1"
_REST = ("rest-is-kept", "only-style-of-the-rest-changed")
_FILES = "the files of the project"
_PROJECT = "project"  # in the answer of the polisher: the state of the files that its result belongs to
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
    accepts_edits = True
    guards = LOADED
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
        "examples-are-kept": _late("criteria", "examples_are_kept"),
        "examples-expect": _late("implementer_criteria", "examples_expect"),
        "contexts-have-setup": _late("implementer_criteria", "contexts_have_setup"),
        "subject-calls-method": _late("implementer_criteria", "subject_calls_method"),
        "behaviour-is-tested": _late("implementer_criteria", "behaviour_is_tested"),
        "nothing-is-replaced": _late("implementer_criteria", "nothing_is_replaced"),
        "tests-still-expect": _late("polisher_criteria", "tests_stay"),
        "texts-still-stand": _late("polisher_criteria", "texts_stay"),
        "methods-still-stand": _late("polisher_criteria", "methods_stay"),
        "only-style-of-the-rest-changed": _late("polisher_criteria", "rest_stays"),
        "only-factory-calls-changed": _late("factory_criteria", "only_factory_calls_changed"),
        "unit-tests-build": _late("factory_criteria", "unit_tests_build"),
        "traits-are-used": _late("factory_criteria", "traits_are_used"),
        "report-has-every-rule": _late("built_in", "report_has_every_rule"),
    }

    def __init__(self, pack: Pack) -> None:
        super().__init__(pack)
        self.state = ""  # the state directory of the workspace
        self.existing = ""  # what to do with a block that is there already
        self.cached: Cached | None = None  # an earlier analysis of the target
        self.fault = ""  # why the cached document cannot be used
        self.commanded: Collection[str] = ()  # the stages that have a command
        self.analysed = False  # whether the analyzer has run for this request
        self.document: Callable[[], Mapping[str, Any] | None] = lambda: None  # all of it, as the log has it now
        self.keeps = ""  # the command with which a person keeps what is outside the method's block
        self.allows: Callable[[Handler], bool] = lambda _program: False
        self.__dict__["checks"] = {"document-is-valid": self._document_is_valid}
        self.__dict__["criteria"] = {
            **type(self).criteria,
            "document-is-valid": self._draft_is_valid,
            "polish-holds": self._polish_holds,
            **{name: self._keepable(type(self).criteria[name]) for name in _REST},
        }
        self.__dict__["stages"] = {
            "analyzer": self._analyze,
            "validation": _late("built_in", "validate_document"),
            "skeleton": lambda given: _late("built_in", "generate_skeleton")(given, self.existing),
            "factory_optimizer": _optimized_already,
            "polisher": self._polish,
            "reviewer": _late("built_in", "write_review"),
        }

    @property
    def settings(self) -> Mapping[str, Any]:
        return self.pack.values

    def targets(self, _call: Call, _paths: Sequence[str]) -> list[Target]:
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
        The polisher, which runs RSpec and a linter: how they are started, and, for a command,
        everything that they may read. The built-in one records the files itself, see `stale`.
        """
        root, source = given.target.root, given.path("source")
        match given.stage.name:
            case "analyzer":
                found = {f"mtime of {source}": str(given.mtimes[source])} if source in given.mtimes else {}
                return {**found, "the version of the analysis": analysis.VERSION}
            case "polisher":
                used = {"the commands of the programs": programs.identity(root, self.settings)}
                by_command = "polisher" in self.commanded
                return {**used, _FILES: project_state(root, self.state)} if by_command else used
        return {}

    def stale(self, given: StageInput, earlier: EarlierResult) -> str:
        """An analysis is used again only if the document has passed the steps of the protocol, too.

        A validation, only without a new analysis, and while its result is in the document. What the built-in polisher
        did, only while the files are as its programs have found and left them.
        """
        if given.stage.name == "polisher" and "polisher" not in self.commanded:
            same = earlier.answer().get(_PROJECT) == project_state(given.target.root, self.state)
            return "" if same else f"{_FILES} changed"
        if given.stage.name == "validation":
            if self.analysed:
                return "the source was analysed again"
            section = (self.document() or {}).get("validation") or {}
            gone = [name for name in ("errors", "warnings") if not isinstance(section.get(name), list)]
            return f"validation.{gone[0]} is not in the document" if gone else ""
        return self.fault if given.stage.name == "analyzer" else ""

    def kept(self, given: StageInput, before: Mapping[str, bytes | None]) -> Mapping[str, bytes | None]:
        """A stage works on the method's block; what is around it in the spec file is the person's."""
        from moot.packs.rspec_v1 import criteria, rest_criteria

        path, now = given.path(criteria.SPEC), given.file(criteria.SPEC)
        old = before.get(path)
        if old is None or now is None:
            return before
        return {**before, path: rest_criteria.kept_rest(criteria.target_of(given), old, now)}

    def repaired(
        self, given: StageInput, before: Mapping[str, bytes], left: Mapping[str, bytes]
    ) -> Mapping[str, bytes]:
        """What a failed attempt changed around the block is still not accepted because a person edited the file."""
        from moot.packs.rspec_v1 import criteria, rest_criteria

        path, now = given.path(criteria.SPEC), given.file(criteria.SPEC)
        if path not in before or now is None:
            return {}
        return {path: rest_criteria.repaired_rest(criteria.target_of(given), before[path], left[path], now)}

    def keep_command(self, _target: Target) -> str:
        return self.keeps

    def _keepable(self, criterion: Criterion) -> Criterion:
        """The criterion, with the command by which a person keeps what was changed."""

        def checked(before: StageInput, after: StageInput) -> Iterator[Problem]:
            remedy = f"If you wrote that yourself, keep it: `{self.keeps}`." if self.keeps else ""
            yield from (one.replace(remedy=remedy) for one in criterion(before, after))

        return checked

    def missing(self, given: StageInput) -> Iterator[Problem]:
        """The block of the method, its contexts and words, or its expectations. Everything else is an improvement."""
        from moot.packs.rspec_v1 import criteria, implementer_criteria
        from moot.packs.ruby.spec_tree import parse_spec

        if parse_spec(given.file(criteria.SPEC) or b"").problems:
            return  # the polisher says where
        match given.stage.name:
            case "skeleton":
                yield from criteria.spec_has_one_block(given, given)
            case "architect":
                yield from criteria.contexts_are_missing(given)
                yield from criteria.words_are_chosen(given, given)
            case "implementer":
                yield from implementer_criteria.placeholders_are_left(given)

    def _document_is_valid(self, given: StageInput) -> tuple[Problem, ...]:
        """The prerequisite of every stage after validation. A stage sees parts of the document; all of it counts."""
        errors = validate(dict(self.document() or given.document or {})).errors
        if errors:
            raise StageError(INVALID, suggestion=AGAIN, problems=[Problem(one) for one in errors])
        return ()

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

        self.analysed = True
        return analyzing.run_analysis(given, self.cached)

    def _polish(self, given: StageInput) -> StageOutput:
        from moot.packs.rspec_v1 import polisher

        self._check_allowed(given)
        root = given.target.root
        before = project_files(root, self.state)
        done = polisher.polish(given, self.settings)
        return done.replace(answer={_PROJECT: state_after(root, self.state, before)})

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
