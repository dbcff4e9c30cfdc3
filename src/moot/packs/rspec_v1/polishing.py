"""The programs that the polisher runs on a spec file, and how their results are judged.

    syntax    `ruby -c`
    linter    RuboCop or StandardRB, as the project is configured; both correct what they can and report the rest
    tests     RSpec, see `moot.packs.ruby.sentinel`

Everything that starts a program goes through `Runner`. Paths are relative to the project root.
"""

from __future__ import annotations

import json

from moot.core.record import Record
from moot.core.text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from typing import Any

    from moot.place.processes import Ran

    Runner = Callable[[Sequence[str], float], Ran]

RUBOCOP, STANDARDRB = "rubocop", "standardrb"
_WIDTH = 400


class Block(Record):
    """The lines of the method's describe block, both included."""

    first: int
    last: int

    def has(self, line: int) -> bool:
        return self.first <= line <= self.last


class LinterFinding(Record):
    """A problem of the spec file at a line."""

    line: int
    message: str

    def said(self, path: str) -> str:
        return f"{path}:{self.line}: {self.message}"


class LinterResult(Record):
    """What the linter left. `outside`: findings outside the method's block."""

    inside: tuple[LinterFinding, ...] = ()
    outside: tuple[LinterFinding, ...] = ()
    trouble: str = ""  # it ran, but its result cannot be used


# --- commands --------------------------------------------------------------------------------------------------------


def linter_of(files: Collection[str], gemfile: str) -> str | None:
    """The linter that the project is configured for. `files` are the names in its root."""
    if ".rubocop.yml" in files or ".rubocop_todo.yml" in files:
        return RUBOCOP
    if ".standard.yml" in files or _has_gem(gemfile, "standard"):
        return STANDARDRB
    return None


def _has_gem(gemfile: str, name: str) -> bool:
    lines = (line.strip() for line in gemfile.splitlines())
    return any(line.startswith(f"gem {quote}{name}{quote}") for line in lines for quote in "'\"")


def linter_command(
    linter: str, path: str, configured: Sequence[str], *, bundled: bool, correct: bool = True
) -> list[str]:
    """The command that corrects a file, or only looks at it, and reports what is left as JSON."""
    start = list(configured) or (["bundle", "exec", linter] if bundled else [linter])
    fix, look = (["--autocorrect"], []) if linter == RUBOCOP else (["--fix"], ["--no-fix"])
    options = [*(fix if correct else look), *(["--force-exclusion"] if linter == RUBOCOP else [])]
    return [*start, *options, "--format", "json", path]


# --- results ---------------------------------------------------------------------------------------------------------


def syntax_error(output: str, path: str) -> str:
    """The first error in the output of `ruby -c`, with its line."""
    for text in output.splitlines():
        where, _, message = text.partition(": ")
        line = where.rpartition(":")[2]
        if where.startswith(path) and line.isdigit():
            return f"{path}:{line}: {one_line(message, _WIDTH)}"
    return f"{path}: {one_line(output, _WIDTH) or 'ruby -c failed'}"


def linter_result(output: bytes, code: int, block: Block) -> LinterResult:
    """What is left, from the JSON of RuboCop or StandardRB."""
    found = _last_object(output.decode("utf-8", "replace"))
    if found is None or not isinstance(found.get("files"), list):
        tail = one_line(output.decode("utf-8", "replace")[-_WIDTH:], _WIDTH)
        return LinterResult(trouble=f"exit code {code}, and no JSON result: {tail or 'no output'}")
    offences = [one for file in found["files"] for one in file.get("offenses", []) if not one.get("corrected")]
    findings = [
        LinterFinding(
            line=int(one.get("location", {}).get("line", 1)), message=f"{one.get('cop_name')}: {one.get('message')}"
        )
        for one in offences
    ]
    inside = tuple(one for one in findings if block.has(one.line))
    return LinterResult(inside=inside, outside=tuple(one for one in findings if not block.has(one.line)))


def _object(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _last_object(text: str) -> dict[str, Any] | None:
    """The JSON object that ends the text: programs may write notices before it."""
    lines = text.strip().splitlines()
    for number in range(len(lines) - 1, -1, -1):
        if lines[number].startswith("{"):
            return _object("\n".join(lines[number:]))
    return None
