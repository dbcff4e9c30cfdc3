"""The code of the pipeline: two stages that run programs, and what a review must contain."""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING

from moot.api.protocol import Protocol
from moot.pipelines.contract import Pipeline, Problem, StageError, StageInput, StageOutput

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Checks(Protocol):
    """The pack. It has no messages and no tasks, only stages."""

    pipeline = "python_checks.protocol:ChecksPipeline"


def lint(given: StageInput) -> StageOutput:
    return _checked(given, ["-m", "py_compile", given.path("source")], "it cannot be compiled")


def test(given: StageInput) -> StageOutput:
    return _checked(given, ["-B", "-m", "unittest", "-q", given.path("tests")], "a test fails")


def _checked(given: StageInput, words: Sequence[str], problem: str) -> StageOutput:
    ran = given.run([sys.executable, *words])
    if ran.code:
        raise StageError(problem, details=ran.errors.tail.decode("utf-8", "replace"))
    return StageOutput()


def names_every_function(_before: StageInput, after: StageInput) -> Iterator[Problem]:
    """A review has a section for every function."""
    review = (after.file("review") or b"").decode("utf-8", "replace")
    sections = {line.removeprefix("## ").strip() for line in review.splitlines() if line.startswith("## ")}
    for node in ast.walk(ast.parse(after.text("source"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name not in sections:
            yield Problem(f"the review does not mention {node.name}", path=after.path("source"), line=node.lineno)


class ChecksPipeline(Pipeline):
    """What `[[stage]]` in pack.toml names."""

    version = "1"
    stages = {"lint": lint, "test": test}  # noqa: RUF012
    criteria = {"names-every-function": names_every_function}  # noqa: RUF012
