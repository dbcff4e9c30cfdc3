"""How long a stage usually takes, from earlier runs."""

from __future__ import annotations

from moot.core.run import PASSED
from moot.views import queries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.call import Call

_RUNS = 20
_WORTH = 1.0  # seconds; nobody waits for less


def usual_seconds(call: Call, pack: str, stage: str) -> float:
    """The median of the last attempts that passed; 0 if there is none, or it is short."""
    runs = [run for run in queries.things(call.engine.read(), "run", _RUNS, ended=True) if run.pack == pack]
    found = sorted(one.seconds for run in runs for one in run.tries_of(stage) if one.status == PASSED)
    middle = found[len(found) // 2] if found else 0.0
    return middle if middle >= _WORTH else 0.0
