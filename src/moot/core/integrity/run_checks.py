"""Checks for imported events of runs and permits: see `moot.core.integrity.import_checks`."""

from __future__ import annotations

from moot.core.integrity.blob import is_digest
from moot.core.integrity.import_checks import LARGEST, bad_fields, bad_lines, is_made
from moot.core.run import ENDINGS, OUTCOMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from moot.core.event import Event


def run(state: Any, event: Event) -> str | None:
    data, made = event.data, event.type == "run:opened"
    if made == state.exists or not is_made("run", state.id):
        return f"{state.id[:80]!r} cannot be a new run" if made else f"there is no run {state.id[:80]!r}"
    if event.type != "run:restored" and not made and state.open == (event.type == "run:resumed"):
        return f"{state.id} cannot be resumed" if state.open else f"{state.id} has ended"
    if problem := _stage_of(state, event):
        return problem
    running = state.running is not None
    if event.type == "run:ended" and (running or data["outcome"] not in OUTCOMES):
        return f"{state.id} cannot end as {data['outcome'][:80]!r}"
    blobs = [data[name] for name in ("output", "errors", "answer") if data.get(name) is not None]
    blobs += [one for name in ("snapshots", "replaced", "left", "overwritten") for one in data.get(name, {}).values()]
    if not all(map(is_digest, blobs)):
        return "its output is not named by a SHA-256"
    numbers = [data.get(name, 0) for name in ("attempt", "pid", "output_size", "errors_size", "wave")]
    if not all(0 <= number < LARGEST for number in numbers):
        return "it has a number that is not valid"
    targets = [target for wave in data.get("waves", ()) for target in wave]
    texts = ("pack", "task", "parent", "stage", "target", "document", "driver", "source", "key", "at")
    return bad_lines((*data.get("stages", ()), *targets)) or bad_fields(data, *texts)


def _stage_of(state: Any, event: Event) -> str | None:
    data = event.data
    running = state.running and (state.running.stage, state.running.attempt)
    if event.type in ("run:started", "run:reused") and (running or data["stage"] not in state.stages):
        return f"{state.id} cannot start the stage {data['stage'][:80]!r}"
    ended = event.type.partition(":")[2] in ENDINGS
    if ended and running != (data["stage"], data["attempt"]):
        return f"the stage {data['stage'][:80]!r} of {state.id} is not running"
    return None


def permit(state: Any, event: Event) -> str | None:
    data = event.data
    seat = state.seat(data["run"])
    wrong = seat is not None if event.type == "permit:asked" else seat is None
    if wrong or not is_made("run", data["run"]) or (event.type == "permit:granted" and seat.held):
        return f"{data['run'][:80]!r} cannot have that seat"
    if not 0 < data.get("limit", 1) < LARGEST:
        return "it has a number that is not valid"
    return bad_lines((state.id, *data.get("wants", ()))) or bad_fields(data, "driver")
