"""The stages of a pack's pipeline as data: the `[[stage]]` tables and the table `[pipeline]` of its `pack.toml`.

A pipeline takes one target after another through its stages, in the order of the tables. This module has the records,
and `pack.schema.json` what the tables may contain. It does not know what a stage does, nor whether it has passed: see
`moot.runs.contract`.
"""

from __future__ import annotations

from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Protocol

    class PipelinePack(Protocol):
        """What the runner knows of a pack."""

        @property
        def name(self) -> str: ...
        @property
        def title(self) -> str: ...
        @property
        def version(self) -> str: ...
        @property
        def stages(self) -> tuple[Stage, ...]: ...
        @property
        def pipeline(self) -> PipelineSpec | None: ...
        @property
        def mirrors(self) -> tuple[Any, ...]: ...
        @property
        def values(self) -> Mapping[str, Any]: ...


DOCUMENT, ANSWER = "document", "answer"  # what a stage can read besides files
EVERY = "*"
TIMEOUT = 600.0
_LONGEST = 7 * 86400.0


class Stage(Record):
    """One stage of a pipeline. `reads` and `writes` are roles of files; a target has the paths of each role."""

    name: str
    title: str = ""  # how messages call it: `the linter`
    task: str = ""  # what its command is told to do
    after: str = ""  # the stage that must have passed before: the one above it
    agent: str = "optional"  # (a command may replace the code), required, none, or refines (it may follow the code)
    answer: str = "yaml"  # how the result of a command is read: the last YAML block of its output, or its exit code
    reads: tuple[str, ...] = ()  # roles; also `document` and `answer` (that of the stage before)
    writes: tuple[str, ...] = ()  # roles
    parameters: tuple[str, ...] = (EVERY,)  # those of the target that its result depends on; "*": all of them
    sees: tuple[str, ...] = ()  # the parts of the document that it reads, as pointers; empty: all of it
    owns: tuple[str, ...] = ()  # the parts of the document that only this stage changes, as pointers
    requires: tuple[str, ...] = ()  # names of checks of the pack that must hold before the stage starts
    criteria: tuple[str, ...] = ()  # names of criteria of the pack that must hold after it
    marker: str = ""  # the pointer that is true while the stage has passed
    sets: Mapping[str, Any] = {}  # other values that are set together with the marker, by pointer
    claims: tuple[str, ...] = ()  # other pointers by which an agent may claim that it has completed
    skips: Mapping[str, Any] = {}  # values that are set when it is skipped; "{reason}" is replaced
    cache: str = "content"
    timeout: float = TIMEOUT  # seconds of one program; moot.toml can set another one for a command

    @property
    def label(self) -> str:
        """Its name at the start of errors and warnings: `factory-optimizer`."""
        return self.name.replace("_", "-")

    @property
    def said(self) -> str:
        return self.title or self.name


class PipelineSpec(Record):
    """What the stages of a pack have in common."""

    document: str = ""  # the mirror with the documents of the targets
    errors: str = ""  # the pointer of the list to which every stage appends its errors
    warnings: str = ""  # the same for warnings
    incidental: tuple[str, ...] = ()  # parts of the document that no result depends on, as pointers
    files: Mapping[str, str] = {}  # the path of each role of files, as a template

    @property
    def shared(self) -> tuple[str, ...]:
        """The lists that all stages append to."""
        return tuple(filter(None, (self.errors, self.warnings)))


def is_reserved(path: str) -> bool:
    """Whether a path names files of git or of moot, or the whole worktree with them."""
    steps = path.casefold().rstrip("/").split("/")
    return not {".git", ".moot"}.isdisjoint(steps) or steps in (["moot.toml"], ["."])


def stages_of(data: Mapping[str, Any]) -> tuple[Stage, ...]:
    """The stages in the data of a valid pack."""
    found: list[Stage] = []
    for table in data.get("stage", ()):
        before = found[-1].name if found else ""
        timeout = {"timeout": seconds(table["timeout"])} if "timeout" in table else {}
        found.append(Stage(**{"after": before, **_with_tuples(table), **timeout}))
    return tuple(found)


def _with_tuples(table: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}


def parts_of(data: Mapping[str, Any]) -> dict[str, Any]:
    """The stages and the pipeline, as fields of a `Pack`."""
    return {"stages": stages_of(data), "pipeline": PipelineSpec(**_with_tuples(data.get("pipeline", {})))}


def seconds(value: object) -> float | None:
    """A time limit such as "10m" in seconds; None if it is not one."""
    from moot.place import settings

    found = settings.seconds(value)
    return found if found is not None and 1.0 <= found <= _LONGEST else None
