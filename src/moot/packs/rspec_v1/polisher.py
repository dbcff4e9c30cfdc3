"""The stage polisher: syntax, linter, tests. It completes only if nothing is left to complain about.

The linter corrects the spec file in place. The programs run in the project root, each with its time limit.
"""

from __future__ import annotations

import os

from moot.packs.rspec_v1 import polishing
from moot.packs.rspec_v1.criteria import SPEC, target_of
from moot.packs.rspec_v1.method_block import NoBlock, find_block
from moot.packs.rspec_v1.polishing import Block
from moot.packs.ruby.regular_files import read_regular
from moot.packs.ruby.rspec_runs import NoResult
from moot.packs.ruby.sentinel import try_spec
from moot.place.processes import NotStarted
from moot.runs import contents
from moot.runs.contract import Problem, StageError, StageOutput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from moot.place.processes import Ran
    from moot.runs.contract import StageInput

_KEEP = 4 << 20
_LARGEST_GEMFILE = 1 << 20


def polish(given: StageInput, settings: Mapping[str, Any]) -> StageOutput:
    """Check and correct the spec file, and run its tests."""
    check_syntax(given, settings)
    warnings: list[str] = []
    linter = check_style(given, settings, warnings, correct=True)
    warnings += check_tests(given, settings)
    return StageOutput(document={"/automation/linter": linter}, warnings=tuple(warnings))


def check_syntax(given: StageInput, settings: Mapping[str, Any]) -> None:
    """Raise if the file is not valid Ruby: by `ruby -c`, or by the built-in parser if there is no Ruby."""
    data = _spec(given)
    ran = _run(given, [*settings["ruby"], "-c"], settings["ruby_timeout"], stdin=data)
    if ran is not None:
        if ran.code:
            output = ran.errors.tail.decode("utf-8", "replace")
            said = polishing.syntax_error(output, "-").removeprefix("-:")
            line, _, message = said.partition(": ")
            raise _syntax(given, int(line) if line.isdigit() else 0, message or said)
        return
    from moot.packs.ruby.syntax import parse

    problems = parse(data).problems
    if problems:
        raise _syntax(given, problems[0].line, problems[0].message)


def _syntax(given: StageInput, line: int, message: str) -> StageError:
    problem = Problem(message, path=given.path(SPEC), line=line)
    return StageError(f"syntax error: {problem.said}", problems=[problem])


# --- linter ----------------------------------------------------------------------------------------------------------


def check_style(
    given: StageInput, settings: Mapping[str, Any], warnings: list[str], *, correct: bool = False
) -> str | None:
    """Run the linter of the project, and raise if it leaves an offence in the method's block. Returns its name."""
    root, path = given.target.root, given.path(SPEC)
    files = _names(root)
    linter = polishing.linter_of(files, _gemfile(root))
    if linter is None:
        warnings.append("no linter is configured: .rubocop.yml or .standard.yml would name one")
        return None
    bundled = "Gemfile" in files
    argv = polishing.linter_command(linter, path, settings["linter"], bundled=bundled, correct=correct)
    ran = _run(given, argv, settings["linter_timeout"])
    if ran is None:
        warnings.append(f"the linter cannot be started: {argv[0]} (setting pack.rspec-v1.linter)")
        return None
    found = polishing.linter_result(ran.output.tail, ran.code, _lines(given))
    if found.trouble:
        detail = ran.errors.tail.decode("utf-8", "replace").strip().splitlines()
        raise StageError(f"{linter} failed: {found.trouble}", details="\n".join(detail[-10:]))
    if found.inside:
        problems = [Problem(one.message, path=path, line=one.line) for one in found.inside]
        raise StageError(f"{linter} left {len(problems)} offences: {problems[0].said}", problems=problems)
    warnings += [f"{linter}: {one.said(path)} (outside of the method's block)" for one in found.outside]
    return linter


def _lines(given: StageInput) -> Block:
    """The lines of the method's block, after the linter has corrected the file."""
    group = _block(given)
    return Block(first=group.group.line, last=group.group.last)


# --- tests -----------------------------------------------------------------------------------------------------------


def check_tests(given: StageInput, settings: Mapping[str, Any]) -> list[str]:
    """Run the tests of the method's block. Raises if they do not pass, or test nothing. Returns warnings."""
    path, root = given.path(SPEC), given.target.root
    start = list(settings["rspec"]) or (["bundle", "exec", "rspec"] if "Gemfile" in _names(root) else ["rspec"])

    def program(words: Sequence[str]) -> Ran:
        ran = _run(given, [*start, *words], settings["rspec_timeout"])
        if ran is None:
            advice = "Install it, or set pack.rspec-v1.rspec in moot.toml."
            raise StageError(f"RSpec cannot be started: {' '.join(start)}", suggestion=advice)
        return ran

    try:
        found = try_spec(program, root, path, [_block(given).group])
    except NoResult as error:
        raise StageError(f"the tests prove nothing: {error}", details=error.said[-2000:]) from error
    if not found.passed:
        said = "the tests do not pass" if found.failures else "tests pass that test nothing"
        problems = [Problem(one.said, path, one.line) for one in (*found.failures, *found.empty)]
        raise StageError(f"{said}: {problems[0].said}", problems=problems)
    return list(found.doubts)


# --- helpers ---------------------------------------------------------------------------------------------------------


def _run(given: StageInput, argv: Sequence[str], timeout: float, stdin: bytes = b"") -> Ran | None:
    """Run a program; None if it cannot be started."""
    try:
        return given.run(argv, stdin=stdin, timeout=timeout, keep=_KEEP)
    except StageError as error:
        if isinstance(error.__cause__, NotStarted):
            return None
        raise


def _spec(given: StageInput) -> bytes:
    data = given.file(SPEC)
    if data is None:
        raise StageError(f"File not found: {given.path(SPEC)}")
    return data


def _block(given: StageInput) -> Any:
    """The method's block in the file as it is on disk now: a program has had it since the stage began."""
    path = given.path(SPEC)
    data = contents.read(given.target.root, (path,), given.target.folders).files.get(path)
    if data is None:
        raise StageError(f"File not found: {path}")
    try:
        return find_block(data, target_of(given))
    except NoBlock as missing:
        raise StageError(f"{path}: {missing}") from missing


def _names(root: str) -> set[str]:
    try:
        return set(os.listdir(root))
    except OSError:
        return set()


def _gemfile(root: str) -> str:
    try:
        return read_regular(os.path.join(root, "Gemfile"), _LARGEST_GEMFILE)[0].decode("utf-8", "replace")
    except OSError:
        return ""
