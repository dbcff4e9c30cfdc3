"""The review of a spec file without a document, and how the user is told the result of a review."""

from __future__ import annotations

import os

from moot.api.answer import Answer
from moot.core.deciders.message import SendMessage
from moot.core.errors import Refused, Unknown, Usage
from moot.core.principal import person
from moot.core.record import Record
from moot.packs.rspec_v1 import places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from moot.api.call import Call
    from moot.engine.unit_of_work import Work
    from moot.packs.rspec_v1.locating import Location
    from moot.packs.rspec_v1.requests import Request

_NO_LIMIT = 1 << 20
_LARGEST = 16 << 20
_ADVICE = "Remove what is in its place, then run the reviewer again."


class ReviewResult(Record):
    """The review of one spec file."""

    spec: str
    report: str
    overall: str
    counts: Mapping[str, int]
    summary: str


def review_alone(call: Call, path: str) -> Answer:
    """Review any spec file. The report says which checks needed the document."""
    from moot.packs.rspec_v1.locating import locate
    from moot.packs.rspec_v1.method_block import NoBlock
    from moot.packs.rspec_v1.review_report import render
    from moot.packs.rspec_v1.reviewing import review
    from moot.packs.ruby.regular_files import read_regular

    whole = os.path.realpath(os.path.join(call.cwd, path))
    root = places.find_root(whole) or os.path.dirname(whole)
    name = os.path.relpath(whole, root)
    try:
        data, _ = read_regular(whole, _LARGEST)
    except OSError as error:
        raise Unknown("no_such_file", f"Spec file not found: {path[:200]}", "Check the path.") from error
    try:
        found = review(name, data, None)
    except NoBlock as missing:
        raise Usage("not_a_spec", f"{name}: {missing}", "Give a file with RSpec examples.") from missing
    location = locate(call, whole)
    _write(location, render(found).encode())
    result = ReviewResult(
        spec=name, report=location.report_file, overall=found.overall, counts=found.counts, summary=found.summary
    )
    _say(call, f"{name}: {found.summary}", location.report_file)
    for one in found.left_out:
        call.report(f"Warning: without a metadata document, left out: {one}")
    return Answer(result=result, say=(location.report_file,), code=2 if found.left_out else 0)


def _write(location: Location, data: bytes) -> None:
    from moot.runs import contents
    from moot.runs.contract import StageError

    try:
        contents.restore(location.project.root, location.report, data, location.folders)
    except StageError as error:
        raise Refused("report_not_written", f"{error.text}.", _ADVICE, path=location.report_file) from error


def read_report(location: Location) -> bytes | None:
    """The report in its file; None if there is none. Raises `Refused` if something else is in its place."""
    from moot.runs import contents
    from moot.runs.contract import StageError

    try:
        return contents.read(location.project.root, (location.report,), location.folders).files.get(location.report)
    except StageError as error:
        raise Refused("report_unreadable", f"{error.text}.", _ADVICE, path=location.report_file) from error


def tell_result(call: Call, request: Request, *, news: bool = True) -> str:
    """Tell the user the verdict of a review that a run has made or reused. Returns it in one line."""
    text = (read_report(request.location) or b"").decode("utf-8", "replace")
    line = next((one for one in text.splitlines() if one.startswith("- Result: ")), "- Result: see the report")
    summary = line.removeprefix("- Result: ")
    _say(call, f"{request.target.said}: {summary}", request.location.report_file, message=news)
    return summary


def _say(call: Call, summary: str, report: str, *, message: bool = True) -> None:
    call.report(f"Review of {summary}")
    call.report(f"Report: {report}")
    if not message:
        return
    text = f"Review of {summary}. The report is in {report}."
    box = call.caller.agent or person(call.login)
    note = SendMessage(kind="note", sender="moot", to=(box,), wants="nothing", size=0, limit=_NO_LIMIT, text=text)

    def act(work: Work) -> None:
        work.do("message", work.new_message(), note, pack="rspec-v1")

    call.commit_aside(act)
