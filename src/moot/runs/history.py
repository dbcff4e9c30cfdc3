"""What the log says about earlier runs: those of a target, how long stages take, and what changed between attempts."""

from __future__ import annotations

from collections.abc import Sequence

from moot.core.deciders.run import of_target
from moot.core.run import PASSED
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from moot.core.run import Run
    from moot.views.store import Store

_RUNS = 50  # earlier runs of a target that are looked at
_TIMED = 20  # runs of a pack whose stages are timed
_WORTH = 1.0  # seconds; nobody waits for less


def runs_of(store: Store, target: str) -> Sequence[Run]:
    """The runs of a target, newest first."""
    names = [name for kind, name in queries.things_of_task(store, of_target(target) or "") if kind == "run"]
    return _Runs(store, names[-_RUNS:][::-1])


class _Runs(Sequence["Run"]):
    """Runs that are read when they are needed: most questions are answered by the newest one."""

    def __init__(self, store: Store, names: Sequence[str]) -> None:
        self._store, self._names = store, names
        self._read: dict[str, Run] = {}

    def __len__(self) -> int:
        return len(self._names)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [self[number] for number in range(*at.indices(len(self)))]
        name = self._names[at]
        if name not in self._read:
            self._read[name] = states.state(self._store, "run", name)[0]
        return self._read[name]


def usual_seconds(store: Store, pack: str) -> dict[str, float]:
    """By stage, the median of the last attempts that passed. Stages that nobody waits for are left out."""
    found: dict[str, list[float]] = {}
    for run in queries.things(store, "run", _TIMED, ended=True):
        for one in run.tries if run.pack == pack else ():
            if one.status == PASSED:
                found.setdefault(one.stage, []).append(one.seconds)
    middles = {stage: sorted(seconds)[len(seconds) // 2] for stage, seconds in found.items()}
    return {stage: middle for stage, middle in middles.items() if middle >= _WORTH}


def changed(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """The inputs that differ between two attempts at a stage, in order."""
    return [name for name in dict.fromkeys((*before, *after)) if before.get(name) != after.get(name)]


def word(name: str) -> str:
    """An input of a stage, as people call it."""
    kind, _, rest = name.partition(":")
    match kind:
        case "file" | "also":
            return rest
        case "document":
            return f"{rest} of the document"
        case "parameter":
            return f"the parameter {rest}"
        case "declaration":
            return "the declaration of the stage"
        case "answer":
            return "the answer of the stage before"
        case _:
            return f"the {name} of the stage"
