"""What the packs about RSpec add to the contract of pipelines (`moot.runs.contract`).

- A pipeline may accept what a person made of its results (`accepts_edits`, `missing`), and says what of half-done work
  is a person's (`kept`, `repaired`).
- A target may be continued by others, which change its document and its files after it.
"""

from __future__ import annotations

from moot.core.record import Record
from moot.runs import contract
from moot.runs.contract import (
    ANSWER,
    DOCUMENT,
    DocumentRef,
    PipelineSpec,
    Problem,
    ProgramRunner,
    Stage,
    StageError,
    StageOutput,
    StageWaits,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any, ClassVar

    from moot.api.call import Call
    from moot.api.protocol import Pack
    from moot.runs.steps import PipelineStep, PlannedTarget, RunOptions

    StageCode = Callable[["StageInput"], StageOutput]
    Check = Callable[["StageInput"], Iterable[Problem]]
    Criterion = Callable[["StageInput", "StageInput"], Iterable[Problem]]

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


class Target(contract.Target):
    """`continued_by`: targets that go on with the same document and files after this one."""

    continued_by: tuple[str, ...] = ()


class StageInput(contract.StageInput):
    """`earlier`: the inputs of the newest attempt that passed, by name, each with a digest."""

    target: Target
    earlier: Mapping[str, str] = {}


class EarlierResult(Record):
    """A result that could be used again. `inputs`: of its stage, by name, each with a digest."""

    inputs: Mapping[str, str]
    answer: Callable[[], Mapping[str, Any]]  # what the stage answered; empty if it was skipped


class Pipeline:
    """The code of a pack's stages. All of it is optional."""

    takes_call: ClassVar[bool] = True
    version: ClassVar[str] = ""  # part of every step key: raise it when a stage's code changes its results
    stages: ClassVar[Mapping[str, StageCode]] = {}  # the built-in ones, by name
    accepts_edits: ClassVar[bool] = False  # what a person made of a result goes to later stages only; see `missing`
    checks: ClassVar[Mapping[str, Check]] = {}  # the prerequisites that `requires` names
    criteria: ClassVar[Mapping[str, Criterion]] = {}  # those that `criteria` names
    guards: ClassVar[Sequence[str]] = ()  # files that no command may change unseen, although git ignores them

    def __init__(self, pack: Pack) -> None:
        self.pack = pack

    def targets(self, call: Call, paths: Sequence[str]) -> list[Target]:
        """The targets of `moot run PACK PATH…`."""
        raise NotImplementedError

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
