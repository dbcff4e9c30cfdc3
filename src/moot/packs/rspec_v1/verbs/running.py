"""rspec-v1 run, and one verb for each stage."""

from __future__ import annotations

from moot.api.answer import Answer, Notice
from moot.api.catalogue import Param, Verb
from moot.core.errors import AwaitedFailed, Refused
from moot.core.record import Record
from moot.packs.rspec_v1.locating import PACK
from moot.packs.rspec_v1.placing import CANCEL, CHOICES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from moot.api.call import Call
    from moot.packs.rspec_v1.pipeline import RspecV1Pipeline
    from moot.packs.rspec_v1.requests import Request
    from moot.pipelines.steps import PipelineStep, RunOptions

WARNED = 2
_STAGES = (
    *("analyzer", "validation", "skeleton", "architect", "implementer", "factory_optimizer", "polisher", "reviewer"),
)
_SPEC_STAGES = ("skeleton", "architect", "implementer", "factory_optimizer", "polisher")


class PipelineOutcome(Record):
    """How a run ended. The paths are absolute; `report` is None before the reviewer has run."""

    run: str
    target: str
    outcome: str
    metadata: str
    spec: str
    report: str | None
    stages: Mapping[str, str]  # each stage that was reached: passed, skipped or reused
    warnings: tuple[str, ...] = ()
    review: str = ""


# --- verbs -----------------------------------------------------------------------------------------------------------


def run(
    call: Call,
    path: str,
    method: str,
    class_: str | None,
    level: str | None,
    existing: str,
    resume: bool,
    again: bool,
    wait: bool,
) -> Answer:
    from moot.packs.rspec_v1.requests import request_for
    from moot.pipelines.steps import RunOptions

    request = request_for(call, path, method, class_, level)
    options = RunOptions(resume=resume, again=again, wait=wait, limit=_limit(call))
    return _performed(call, request, options, existing)


def analyzer(call: Call, path: str, method: str, class_: str | None, level: str | None, wait: bool) -> Answer:
    from moot.packs.rspec_v1.requests import request_for
    from moot.pipelines.steps import RunOptions

    request = request_for(call, path, method, class_, level)
    return _performed(call, request, RunOptions(until="analyzer", wait=wait, limit=_limit(call)), "")


def _later(stage: str) -> Any:
    """The function of the verb of a later stage, which is named by one of its files."""

    def does(call: Call, path: str, wait: bool, existing: str = "") -> Answer:
        from moot.packs.rspec_v1.requests import request_at
        from moot.pipelines.steps import RunOptions

        if stage == "reviewer" and (alone := _review_alone(call, path)) is not None:
            return alone
        request = request_at(call, path)
        last = "reviewer" if stage == "polisher" else stage
        first = {"architect": "validation", "polisher": "polisher"}.get(stage, stage)
        options = RunOptions(only=stage, wait=wait, limit=_limit(call))
        if first != stage or last != stage:
            options = RunOptions(resume=True, since=first, until=last, wait=wait, limit=_limit(call))
        return _performed(call, request, options, existing)

    return does


def _limit(call: Call) -> int:
    pack = next(one for one in call.packs.packs if one.name == PACK)
    return int(pack.values["parallel"])


# --- a run -----------------------------------------------------------------------------------------------------------


def _performed(call: Call, request: Request, options: RunOptions, existing: str) -> Answer:
    """Run the stages, with a line for each step on standard error, and the path of the result on standard output."""
    if existing == CANCEL:
        raise Refused("cancelled", "Cancelled: nothing was changed.", "Repeat with overwrite or append.")
    from moot.packs.rspec_v1.pipelines import pipeline_for
    from moot.pipelines.running import run_target

    for warning in request.location.warnings:
        call.warn("rspec_folder", warning)
    pipeline = pipeline_for(call, request, existing)
    seen = _Seen(call, pipeline, request)
    for step in run_target(call, pipeline, request.target, options):
        seen.take(step)
    return seen.answer()
