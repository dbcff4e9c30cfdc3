"""The programs that the polisher runs on a spec file, and how their results are judged.

    syntax    `ruby -c`
    linter    RuboCop or StandardRB, as the project is configured; both correct what they can and report the rest
    tests     RSpec, judged by its JSON result

Everything that starts a program goes through `Runner`. Paths are relative to the project root.
"""

from __future__ import annotations

import json
from posixpath import normpath

from moot.core.record import Record
from moot.core.text import one_line
from moot.packs.ruby.load_errors import load_error
from moot.packs.ruby.vacuity import vacuous_examples
from moot.packs.ruby.watched_examples import WatchedExample, formats, watched, why_untested

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from typing import Any

    from moot.packs.ruby.spec_tree import Example
    from moot.place.processes import Ran

    Runner = Callable[[Sequence[str], float], Ran]

RUBOCOP, STANDARDRB = "rubocop", "standardrb"
_PLACEHOLDERS = ("{EXPECTATION}", "{BEHAVIOR_DESCRIPTION}", "{SETUP_CODE}", "{CONTEXT_WORD}")
_LISTED = 20
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


class ExampleRun(Record):
    """What became of one example: `status` is passed, failed or pending. `reason`: why it is pending.

    `watched`: what was seen while it ran.
    """

    path: str
    line: int
    status: str
    reason: str = ""
    watched: WatchedExample = WatchedExample()


class TestResult(Record):
    """What RSpec said. `problems` is empty if the tests ran and passed."""

    problems: tuple[str, ...] = ()
    examples: int = 0
    pending: tuple[str, ...] = ()  # examples that are pending for another reason than a placeholder
    results: tuple[ExampleRun, ...] = ()


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


def rspec_command(
    path: str, line: int, result: str, configured: Sequence[str], *, bundled: bool, counting: str = ""
) -> list[str]:
    """The command that runs the examples of the group at this line, with a JSON result in the file `result`.

    `counting`: the file with the report that also says what was seen while the examples ran.
    """
    start = list(configured) or (["bundle", "exec", "rspec"] if bundled else ["rspec"])
    return [*start, *formats(counting), "--out", result, f"{path}:{line}" if line else path]


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


def test_result(result: bytes | None, code: int, output: bytes) -> TestResult:
    """Judge a run of RSpec by its JSON result and exit code."""
    found = None if result is None else _object(result.decode("utf-8", "replace"))
    if found is None or not isinstance(found.get("summary"), dict):
        said = one_line(output.decode("utf-8", "replace")[-_WIDTH:], _WIDTH)
        return TestResult(problems=(f"RSpec gave no result (exit code {code}): {said or 'no output'}",))
    summary, examples = found["summary"], found.get("examples") or []
    problems = list(_failures(examples))
    if summary.get("errors_outside_of_examples_count"):
        why = load_error(found, output.decode("utf-8", "replace"))
        problems.insert(0, f"RSpec could not load the tests: {one_line(why, _WIDTH)}")
    elif not summary.get("example_count"):
        problems.append("RSpec found no example")
    if summary.get("expectations_can_fail") is False:
        problems.append("the specs have changed RSpec so that nothing fails")
    pending = [one for one in examples if one.get("status") == "pending"]
    unfinished = [one for one in pending if any(word in _text(one, "pending_message") for word in _PLACEHOLDERS)]
    problems += [f"{_where(one)}: {_name(one)} is still pending by a placeholder" for one in unfinished]
    if code and not problems:
        problems.append(f"RSpec exited with {code}, although no example failed")
    others = tuple(f"{_where(one)}: {_name(one)} is pending" for one in pending if one not in unfinished)
    return TestResult(
        problems=tuple(problems[:_LISTED]),
        examples=int(summary.get("example_count") or 0),
        pending=others,
        results=tuple(map(_run, examples)),
    )


def _run(example: dict[str, Any]) -> ExampleRun:
    line, reason = example.get("line_number"), one_line(_text(example, "pending_message"), _WIDTH)
    status = _text(example, "status")
    at = line if isinstance(line, int) else 0
    return ExampleRun(_text(example, "file_path"), at, status, reason, watched(example))


def unrun(examples: Iterable[Example], found: TestResult, path: str) -> Iterator[tuple[int, str]]:
    """Examples of the source that RSpec did not run, although nothing in the source says so: lines and texts."""
    for one in examples:
        own = _runs(one, found, path)
        skipped = next((run for run in own if run.status == "pending"), None)
        if not own:
            yield one.line, f"RSpec did not run {one.text!r}{f': {one.pending}' if one.pending else ''}"
        elif skipped is not None and not one.pending:
            yield one.line, f"RSpec did not run {one.text!r}: {skipped.reason or 'it is pending'}"


def untested(
    examples: Iterable[Example], found: TestResult, path: str, source: str, data: bytes
) -> Iterator[tuple[int, str, bool]]:
    """Examples that passed and tested nothing: lines, texts, and whether that is certain. `data`: the spec file."""
    doubted = {one.start: one for one in vacuous_examples(data)}
    for one in examples:
        own = _runs(one, found, path)
        if own and all(run.status == "passed" for run in own):
            why, certain = why_untested([run.watched for run in own], doubted.get(one.start), source, (path,))
            if why:
                yield one.line, f"{one.text!r}: {why}", certain


def _runs(example: Example, found: TestResult, path: str) -> list[ExampleRun]:
    """What became of an example of the source. It may have run several times."""
    same = (run for run in found.results if normpath(run.path) == normpath(path))
    return [run for run in same if example.line <= run.line <= example.last]


def _failures(examples: Sequence[dict[str, Any]]) -> Iterator[str]:
    for one in examples:
        if one.get("status") == "failed":
            message = one_line(_text(one.get("exception") or {}, "message"), _WIDTH)
            yield f"{_where(one)}: {_name(one)} failed: {message}"


def _where(example: dict[str, Any]) -> str:
    return f"{_text(example, 'file_path').removeprefix('./')}:{example.get('line_number')}"


def _name(example: dict[str, Any]) -> str:
    return one_line(_text(example, "full_description"), _WIDTH)


def _text(record: dict[str, Any], key: str) -> str:
    found = record.get(key)
    return found if isinstance(found, str) else ""


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
