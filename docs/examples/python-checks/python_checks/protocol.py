"""The code of the pipeline: programs to run, a stage that fills the document, and what a review must contain."""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING

from moot.api.protocol import Protocol
from moot.runs.contract import Pipeline, Problem, StageError, StageInput, StageOutput

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Checks(Protocol):
    """The pack. It has no messages and no tasks, only stages."""

    pipeline = "python_checks.protocol:ChecksPipeline"


def lint(given: StageInput) -> StageOutput:
    return _checked(given, ["-m", "py_compile", given.path("source")], "it cannot be compiled")


def outline(given: StageInput) -> StageOutput:
    """Note the functions, so that the reviewer need not look for them."""
    found = [node for node in ast.walk(ast.parse(given.text("source"))) if isinstance(node, _FUNCTIONS)]
    return StageOutput(document={"/functions": [{"name": node.name, "line": node.lineno} for node in found]})


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
    for one in (after.document or {})["functions"]:
        if one["name"] not in sections:
            yield Problem(f"the review does not mention {one['name']}", path=after.path("source"), line=one["line"])


class ChecksPipeline(Pipeline):
    """What `[[stage]]` in pack.toml names."""

    version = "1"
    stages = {"lint": lint, "outline": outline, "test": test}  # noqa: RUF012
    criteria = {"names-every-function": names_every_function}  # noqa: RUF012
