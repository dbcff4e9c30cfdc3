"""rspec-v1 status, errors, characteristics and report: how the run of a target stands, and what it has found."""

from __future__ import annotations

from moot.api.answer import Answer
from moot.api.catalogue import Param, Verb
from moot.core.errors import MootError, Unknown
from moot.core.record import Record
from moot.core.text import one_line
from moot.packs.rspec_v1.locating import PACK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from moot.api.call import Call
    from moot.core.run import Run
    from moot.packs.rspec_v1.requests import Request

_FILE = Param("path", "The spec file, the source file, or the metadata file.", positional=True, required=True)
_WIDTH = 2000
_ENDED = {"failed": "error", "interrupted": "interruption"}


class RecordedFinding(Record):
    """An error or a warning. `current`: it is still in the document, and not of an earlier attempt."""

    kind: str
    stage: str
    text: str
    at: str
    run: str
    current: bool


class CharacteristicNode(Record):
    """A characteristic with those that depend on it. `line`: in the source; None if it is unknown."""

    name: str
    type: str
    states: tuple[str, ...]
    depends_on: str | None
    when_parent: str | None
    level: int
    line: int | None
    children: tuple[CharacteristicNode, ...] = ()


# --- status ----------------------------------------------------------------------------------------------------------


def status(call: Call, path: str) -> Answer:
    from moot.api.verbs.runs.status import of_target
    from moot.api.verbs.runs.status_lines import lines_of

    found = of_target(call, _last_run(call, _request(call, path)))
    return Answer(result=found, say=tuple(lines_of(found)))


def _request(call: Call, path: str) -> Request:
    from moot.packs.rspec_v1.requests import request_at

    return request_at(call, path)


def _runs(call: Call, request: Request) -> Sequence[Run]:
    from moot.runs.history import runs_of

    return runs_of(call.engine.read(), request.target.id)


def _last_run(call: Call, request: Request) -> Run:
    found = _runs(call, request)
    if not found:
        raise Unknown(
            "no_target", f"No pipeline has run for {request.target.said}.", "Run `moot rspec-v1 run SOURCE METHOD`."
        )
    return found[0]


# --- errors ----------------------------------------------------------------------------------------------------------


def errors(call: Call, path: str) -> Answer:
    from moot.packs.rspec_v1.sessions import document_of

    request = _request(call, path)
    automation = (document_of(call, request.key) or {}).get("automation") or {}
    shown = {*(automation.get("errors") or ()), *(automation.get("warnings") or ())}
    labels = {stage.name: stage.label for pack in call.packs.packs if pack.name == PACK for stage in pack.stages}
    found = [one for run in _runs(call, request) for one in _findings(run, labels, shown)]
    lines = [f"{one.at} {one.kind} {one.text}{'' if one.current else ' (of an earlier attempt)'}" for one in found]
    return Answer(result=found, say=tuple(one_line(line, _WIDTH) for line in lines) or ("No errors or warnings.",))


def _findings(run: Run, labels: Mapping[str, str], shown: set[str]) -> Iterator[RecordedFinding]:
    refused = run.outcome == "failed" and all(
        one.status != "failed" or one.stage != run.stopped_at for one in run.tries[run.since :]
    )
    if refused and run.stopped_at:
        text = f"{labels[run.stopped_at]}: {run.reason}"
        yield RecordedFinding("error", run.stopped_at, text, run.ended, run.id, current=text in shown)
    for one in reversed(run.tries):
        label = labels.get(one.stage, one.stage)
        if one.status in _ENDED:
            text = f"{label}: {one.reason}"
            yield RecordedFinding(_ENDED[one.status], one.stage, text, one.ended, run.id, current=text in shown)
        for warning in one.warnings if one.status != "reused" else ():
            text = f"{label}: {warning}"
            yield RecordedFinding("warning", one.stage, text, one.ended, run.id, current=text in shown)


# --- characteristics -------------------------------------------------------------------------------------------------


def characteristics(call: Call, path: str) -> Answer:
    from moot.packs.rspec_v1.sessions import document_of, recorded_with

    request = _request(call, path)
    entries = (document_of(call, request.key) or {}).get("characteristics")
    entries = [one for one in entries or () if isinstance(one, dict)] if isinstance(entries, list) else []
    lines = (recorded_with(call, request.target.id) or {}).get("lines") or {}
    roots = tuple(_node(one, entries, lines) for one in entries if one.get("depends_on") is None)
    said = [line for root in roots for line in _tree(root, "")]
    return Answer(result=roots, say=tuple(said) or ("No characteristics.",))


def _node(entry: Mapping[str, Any], entries: list[Any], lines: Mapping[str, int], depth: int = 0) -> CharacteristicNode:
    below = [one for one in entries if one.get("depends_on") == entry.get("name")] if depth < len(entries) else []
    return CharacteristicNode(
        name=str(entry.get("name")),
        type=str(entry.get("type")),
        states=tuple(str(one) for one in entry.get("states") or ()),
        depends_on=entry.get("depends_on"),
        when_parent=entry.get("when_parent"),
        level=int(entry.get("level") or 0),
        line=lines.get(str(entry.get("name"))),
        children=tuple(_node(one, entries, lines, depth + 1) for one in below),
    )


def _tree(node: CharacteristicNode, indent: str) -> Iterator[str]:
    when = f" when {node.depends_on} is {node.when_parent}" if node.depends_on else ""
    line = f", line {node.line}" if node.line is not None else ""
    yield one_line(f"{node.name} ({node.type}{line}): {', '.join(node.states)}{when}", _WIDTH).join((indent, ""))
    for child in node.children:
        yield from _tree(child, f"{indent}  ")


# --- report ----------------------------------------------------------------------------------------------------------


def report(call: Call, path: str, run: str | None) -> Answer:
    """The review report: that of the last run that has one, also if the file was replaced since."""
    request = _request(call, path)
    name = request.location.report
    for one in _runs(call, request):
        if run is not None and one.id != run:
            continue
        attempt = next((t for t in reversed(one.tries_of("reviewer")) if t.status in ("passed", "reused")), None)
        text = _report_text(call, attempt, name, request) if attempt is not None else None
        if text is not None:
            return Answer(result={"run": one.id, "report": text}, say=tuple(text.splitlines()))
    raise Unknown("no_report", f"There is no review of {request.target.said}.", "Run `moot rspec-v1 reviewer` first.")


def _report_text(call: Call, attempt: Any, name: str, request: Request) -> str | None:
    from hashlib import sha256

    from moot.packs.rspec_v1.verbs.reviewing import read_report

    wanted, data = attempt.outputs.get(f"file:{name}"), None
    try:
        data = read_report(request.location)
    except MootError:
        pass  # the log has it, too
    if data is not None and wanted == sha256(data).hexdigest():
        return data.decode("utf-8", "replace")
    answer = attempt.answer
    if answer is None:
        return None
    from moot.core.json_codec import loads

    kept = loads(call.blob(answer).decode("utf-8"))
    return str(kept["report"]) if "report" in kept else None


def _verb(word: str, summary: str, does: Any, *more: Param) -> Verb:
    return Verb(
        f"{PACK} {word}",
        summary,
        does,
        kind="look",
        writes=False,
        protocol=True,
        founds=True,
        everything=True,
        params=(_FILE, *more),
        examples=(f"moot rspec-v1 {word} app/services/payment_service.rb",),
    )


STATUS = _verb("status", "Show every stage of a target: its state, times and attempts.", status)
ERRORS = _verb("errors", "List the recorded errors and warnings of a target, with stage and time.", errors)
CHARACTERISTICS = _verb("characteristics", "Show the extracted characteristics as a tree.", characteristics)
REPORT = _verb(
    "report", "Print the review report of a target.", report, Param("run", "Of this run. Default: of the last one.")
)
