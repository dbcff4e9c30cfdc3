"""test-reviewer: what a run of RSpec says, and which rules the spec file breaks.

Failing tests are a result: `tests_passed: false`. Only an RSpec that does not run is an error. Pure: gets the output.
"""

from __future__ import annotations

import json

from moot.core.record import Record
from moot.packs.rspec.spec_blocks import blocks_of
from moot.packs.ruby.load_errors import load_error
from moot.packs.ruby.watched_examples import WatchedExample, formats, watched

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

MISSING_TERMINAL = 5  # the rule about terminal branches
SETTING = "Install RSpec, or set the command that runs it in moot.toml: [pack.rspec] rspec."
_SHOWN = 2000  # characters of a failure's message


class NoResult(Exception):
    """RSpec did not report a result. The text is the reason."""


class Failure(Record):
    description: str
    location: str  # empty if the file could not be loaded
    message: str

    @property
    def place(self) -> str:
        return f"{self.description} ({self.location})" if self.location else self.description


class ExampleResult(Record):
    """What became of one example: `status` is passed, failed or pending.

    `reason`: why it is pending. `watched`: what was seen while it ran.
    """

    path: str
    line: int
    status: str
    description: str
    reason: str = ""
    watched: WatchedExample = WatchedExample()


class RspecResult(Record):
    """What RSpec reported. `examples`: all of them; `ran`: those that were not pending.

    `loaded`: the files that it has loaded, each with a digest; None if that is not known.
    """

    passed: bool
    examples: int
    ran: int
    failures: tuple[Failure, ...] = ()
    results: tuple[ExampleResult, ...] = ()  # in order
    doubts: tuple[str, ...] = ()  # about examples that passed
    loaded: Mapping[str, str] | None = None


def command(configured: Sequence[str], lock: str) -> list[str]:
    """The command that runs RSpec: the configured one, or through Bundler if the project locks rspec."""
    if configured:
        return list(configured)
    return ["bundle", "exec", "rspec"] if "\n    rspec-core (" in lock or "\n    rspec (" in lock else ["rspec"]


def arguments(path: str, counting: str = "") -> list[str]:
    """The arguments for a report as JSON. `counting`: the file with the report that counts expectations."""
    return [*formats(counting), "--no-color", path]


def result_of(output: bytes, code: int, errors: bytes = b"") -> RspecResult:
    """The result in the output of RSpec. `errors`: what it wrote to standard error. Raises `NoResult`."""
    found = _reports(output.decode("utf-8", "replace"))
    if not found:
        raise NoResult(f"RSpec ended with exit code {code} and reported no result")
    if len(found) > 1:
        raise NoResult(f"the output has {len(found)} reports of RSpec, and it makes one: a spec has printed another")
    (report,) = found
    summary = report["summary"]
    examples = report.get("examples") or []
    failed = [one for one in examples if one.get("status") == "failed"]
    broken = int(summary.get("errors_outside_of_examples_count") or 0)
    ran = int(summary["example_count"]) - int(summary.get("pending_count") or 0)
    failures = [_failure(one) for one in failed]
    if broken:
        said = load_error(report, b"\n".join((output, errors)).decode("utf-8", "replace"))
        failures.append(Failure("the spec file cannot be loaded", "", said[:_SHOWN]))
    if disabled := summary.get("expectations_can_fail") is False:
        failures.append(Failure("expectations cannot fail", "", "the specs have changed RSpec so that nothing fails"))
    passed = (
        code == 0
        and not failed
        and not broken
        and not disabled
        and ran > 0
        and not int(summary.get("failure_count") or 0)
    )
    return RspecResult(passed, int(summary["example_count"]), ran, tuple(failures), tuple(map(_result, examples)))


def loaded_in(output: bytes) -> list[str] | None:
    """The files that RSpec has loaded, if its report says so."""
    reports = _reports(output.decode("utf-8", "replace"))
    found = reports[0].get("loaded") if reports else None
    return [str(one) for one in found] if isinstance(found, list) else None


def _result(example: Mapping[str, Any]) -> ExampleResult:
    return ExampleResult(
        path=str(example.get("file_path", "")).removeprefix("./"),
        line=int(example.get("line_number") or 0),
        status=str(example.get("status", "")),
        description=str(example.get("full_description", "")),
        reason=str(example.get("pending_message") or ""),
        watched=watched(example),
    )


def _reports(output: str) -> list[dict[str, Any]]:
    """The reports of RSpec in its output: specs may print lines of their own, before it on the same line, too."""
    reports: list[dict[str, Any]] = []
    decoder = json.JSONDecoder()
    for line in output.splitlines():
        start = line.find('{"version":')
        while start >= 0:
            try:
                found, end = decoder.raw_decode(line, start)
            except (ValueError, RecursionError):
                found, end = None, start + 1
            if (
                isinstance(found, dict)
                and isinstance(found.get("summary"), dict)
                and "example_count" in found["summary"]
            ):
                reports.append(found)
            start = line.find('{"version":', end)
    return reports


def _failure(example: Mapping[str, Any]) -> Failure:
    error = example.get("exception") or {}
    path = str(example.get("file_path", "")).removeprefix("./")
    said = str(error.get("message") or error.get("class") or "failed").strip()
    return Failure(str(example.get("full_description", "")), f"{path}:{example.get('line_number', 1)}", said[:_SHOWN])


def missing_terminals(document: Mapping[str, Any], path: str, data: bytes) -> Iterator[dict[str, Any]]:
    """Terminal branches without a context: violations of rule 5."""
    found = blocks_of(data, document["class_name"])
    for method in document["structure"]["methods"]:
        block = found.block(method["name"])
        if block is None:
            continue
        names = {group.text for group in block.group.walk()}
        for name in _terminals(method["contexts"]):
            if name not in names:
                yield {
                    "rule": MISSING_TERMINAL,
                    "description": "Missing terminal branch context",
                    "location": f"{path}:{block.group.line}",
                }


def _terminals(contexts: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for one in contexts:
        if one.get("terminal"):
            yield one["name"]
        yield from _terminals(one.get("children", ()))


def entry_of(violation: Mapping[str, Any]) -> str:
    """A violation as an entry of `automation.errors`."""
    return f"test_reviewer: rule {violation['rule']}: {violation['description']} ({violation['location']})"


def review_errors(violations: Sequence[Mapping[str, Any]], result: RspecResult | None) -> tuple[str, ...]:
    """The entries of a review in the list of errors."""
    found = [f"rule {one['rule']}: {one['description']} ({one['location']})" for one in violations]
    if result is not None and not result.passed:
        found += [f"failed: {one.place}" for one in result.failures] or ["no example ran"]
    return tuple(found)
