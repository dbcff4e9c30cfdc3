"""The runs of the pack in the log: the newest ones, those of a document, and what their stages answered."""

from __future__ import annotations

from moot.core.json_codec import loads
from moot.packs.rspec.cover_targets import slug_in
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from moot.api.call import Call
    from moot.core.run import Run

PACK = "rspec"
_RUNS = 500


def newest(call: Call) -> Run | None:
    """The newest run over waves."""
    return next((run for run in runs(call) if run.waves), None)


def newest_of(call: Call, slug: str) -> Run | None:
    """The newest run over waves that has this document."""
    return next((run for run in runs(call) if any(slug in map(slug_in, wave) for wave in run.waves)), None)


def last_run(call: Call) -> Run | None:
    """The newest run of the pack that is not a part of another one."""
    return next((run for run in runs(call) if run.parent is None), None)


def runs(call: Call) -> list[Run]:
    """The runs of the pack, newest first."""
    found: list[Run] = [run for run in queries.things(call.engine.read(), "run", _RUNS, ended=True) if run.pack == PACK]
    return sorted(found, key=lambda run: run.at, reverse=True)


def run_named(call: Call, name: str) -> Run:
    found: Run = states.state(call.engine.read(), "run", name)[0]
    return found


def answer_of(call: Call, run: str, stage: str) -> dict[str, Any]:
    """The answer of a stage of a run; empty if it has none."""
    for attempt in reversed(run_named(call, run).tries_of(stage)):
        if attempt.answer:
            found: dict[str, Any] = loads(call.blob(attempt.answer).decode("utf-8"))
            return found
    return {}
