"""How long a stage usually takes, from earlier runs."""

from __future__ import annotations

from moot.core.run import PASSED
from moot.views import queries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.call import Call

_RUNS = 20
_WORTH = 1.0  # seconds; nobody waits for less


def usual_seconds(call: Call, pack: str) -> dict[str, float]:
    """By stage, the median of the last attempts that passed. Stages that nobody waits for are left out."""
    found: dict[str, list[float]] = {}
    for run in queries.things(call.engine.read(), "run", _RUNS, ended=True):
        for one in run.tries if run.pack == pack else ():
            if one.status == PASSED:
                found.setdefault(one.stage, []).append(one.seconds)
    middles = {stage: sorted(seconds)[len(seconds) // 2] for stage, seconds in found.items()}
    return {stage: middle for stage, middle in middles.items() if middle >= _WORTH}
