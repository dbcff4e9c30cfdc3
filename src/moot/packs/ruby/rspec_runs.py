"""Runs RSpec once, and reads its result: a JSON file that moot's own report writes (`sentinel.rb`).

The report, the result and an example that must fail lie in a folder below the project's `tmp`, so that an RSpec in a
container sees them, too. With an RSpec that does not run that example, or in which it does not fail, nothing is proven.
"""

from __future__ import annotations

import json
import os
import shutil  # noqa: TID253 (loaded on demand)
import tempfile  # noqa: TID253 (loaded on demand)
from posixpath import normpath

from moot.core.record import Record
from moot.packs.ruby.load_errors import load_error
from moot.packs.ruby.regular_files import read_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from moot.place.processes import Ran

    Program = Callable[[Sequence[str]], Ran]

REAL, SENTINEL, NOTHING = "real", "sentinel", "nothing"  # what the methods under test are
_REPORT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sentinel.rb")
_CANARY = "RSpec.describe('moot') { it('is an example that must fail') { expect(1).to eq(2) } }\n"
_LARGEST = 64 << 20
_SHOWN = 2000  # characters of a failure's message


class NoResult(Exception):
    """RSpec did not report a result that counts. The text is the reason; `said` is the end of what it printed."""

    def __init__(self, reason: str, said: str = "") -> None:
        super().__init__(reason)
        self.said = said


class ExampleRun(Record):
    """What became of one example: `status` is passed, failed or pending, and `message` says why it did not pass.

    block: the line of the method's group; 0 if it is in none. owned: the method's class is known. defined: where the
    method is defined, as path and line. expectations: how many were executed. quiet: all of them only say what is not
    done to others, and the replaced method was called. failed: `example` or `setup`, whichever raised first, even if
    the failure was taken back.
    """

    id: str
    path: str
    line: int
    status: str
    description: str
    message: str = ""
    seconds: float = 0.0
    block: int = 0
    owned: bool = True
    defined: tuple[str, int] = ("", 0)
    expectations: int = 0
    quiet: bool = False
    failed: bool = False

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}"


class RspecRun(Record):
    """One run. `trouble`: why the files could not be loaded."""

    examples: tuple[ExampleRun, ...] = ()
    trouble: str = ""


def run_rspec(
    program: Program, root: str, path: str, lines: Sequence[int] = (), method: str = REAL, limit: float = 60.0
) -> RspecRun:
    """Run the groups at these lines of a spec file. Raises `NoResult`.

    `program` starts RSpec with arguments. `limit`: seconds for an example while its method is replaced.
    """
    os.makedirs(os.path.join(root, "tmp"), exist_ok=True)
    folder = tempfile.mkdtemp(prefix="moot-rspec-", dir=os.path.join(root, "tmp"))
    shown = f"tmp/{os.path.basename(folder)}"
    try:
        with open(_REPORT, encoding="utf-8") as file:
            report = file.read()
        head = f"module Moot; PASS = :{method}; LIMIT = {limit}; end\n"
        for name, text in ((".gitignore", "*\n"), ("report.rb", head + report), ("canary_spec.rb", _CANARY)):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        ran = program(
            [
                *("--require", f"./{shown}/report.rb", "--format", "Moot::Report", "--out", f"{shown}/result.json"),
                *("--no-fail-fast", "--no-color", ":".join(map(str, (path, *lines))), f"{shown}/canary_spec.rb"),
            ]
        )
        return _result(f"{folder}/result.json", f"{shown}/canary_spec.rb", ran)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _result(path: str, canary: str, ran: Ran) -> RspecRun:
    said = (ran.output.tail + b"\n" + ran.errors.tail).decode("utf-8", "replace")
    try:
        found = json.loads(read_regular(path, _LARGEST)[0])
        summary, examples = found["summary"], found["examples"]
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        raise NoResult(f"RSpec ended with exit code {ran.code} and reported no result", said) from None
    if summary.get("errors_outside_of_examples_count") and not examples:
        return RspecRun(trouble=load_error(found, said)[:_SHOWN])
    runs = {normpath(one["file_path"]): one for one in examples}
    sung = runs.get(canary, {})
    if sung.get("status") != "failed" or not _class(sung).endswith("::ExpectationNotMetError") or not ran.code:
        why = "did not fail" if sung else "did not run"
        raise NoResult(f"moot's own example, which must fail, {why}: this RSpec proves nothing", said)
    return RspecRun(tuple(_run(one) for one in examples if normpath(one["file_path"]) != canary))


def _class(example: Mapping[str, Any]) -> str:
    return str((example.get("exception") or {}).get("class"))


def _run(example: Mapping[str, Any]) -> ExampleRun:
    seen, error = example.get("moot") or {}, example.get("exception") or {}
    return ExampleRun(
        id=str(example.get("id")),
        path=normpath(example["file_path"]),
        line=int(example.get("line_number") or 0),
        status=str(example.get("status")),
        description=str(example.get("full_description", "")),
        message=str(error.get("message") or error.get("class") or example.get("pending_message") or "").strip()[
            :_SHOWN
        ],
        seconds=float(example.get("run_time") or 0),
        block=int(seen.get("line") or 0),
        owned=seen.get("owned") is not False,
        defined=tuple(seen.get("defined") or ("", 0)),
        expectations=int(seen.get("expectations") or 0),
        quiet=seen.get("quiet") is True,
        failed=seen.get("failed") is True,
    )
