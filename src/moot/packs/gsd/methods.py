"""The verbs of the pack as typed methods.

from moot import Workspace
from moot.packs.gsd.methods import Blackboard

with Workspace() as ws:
    board = ws.pack(Blackboard)
    board.emit({"type": "task:started", "agent": "gsd-executor", "plan": "01-02", "task": 1, "taskName": "Model"})
    outcome = board.wait(phase="01", tasks=4)
"""

# The return types are declared here and checked by the tests of this module.
# ruff: noqa: A002
# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from typing import overload  # noqa: TID253 (no command loads this module)

from moot.api.protocol.pack_methods import PackMethods

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from moot.packs.gsd.status_records import HeldPath, PhaseStatus, WaitingPlan
    from moot.packs.gsd.verbs.emit import EmittedEvents
    from moot.packs.gsd.verbs.events import BoardEvent
    from moot.packs.gsd.verbs.looking import PlanDetails
    from moot.packs.gsd.verbs.need import PlanNeeds
    from moot.packs.gsd.verbs.wait import PhaseOutcome, PlanOutcome

    Some = str | Sequence[str]
    Events = str | Mapping[str, Any] | Sequence[Mapping[str, Any]]


class Blackboard(PackMethods):
    """See the module."""

    def emit(self, event: Events, fields: Some = (), *, key: str | None = None) -> EmittedEvents:
        """Put an event on the blackboard, or several, all or none. `fields` are `KEY=VALUE` if `event` is a type."""
        given = locals()
        if not isinstance(event, str):
            import json

            given["event"] = json.dumps(event)
        return self._ask("gsd emit", given)

    def events(
        self,
        *,
        type: Some = (),
        phase: str | None = None,
        plan: str | None = None,
        task: int | None = None,
        by: str | None = None,
        path: str | None = None,
        since: str | None = None,
        until: str | None = None,
        after: int | None = None,
        limit: int = 50,
        all: bool = False,
    ) -> list[BoardEvent]:
        """Events of the blackboard, also those that have left the file; `follow` also yields new ones."""
        return self._ask("gsd events", locals())

    def follow(
        self,
        *,
        type: Some = (),
        phase: str | None = None,
        plan: str | None = None,
        task: int | None = None,
        by: str | None = None,
        path: str | None = None,
        after: int | None = None,
    ) -> Iterator[BoardEvent]:
        """Yield the events after a number, or new ones, each once and in order, forever."""
        given = locals()
        more = {"limit": 0} if after is None else {"all": True}
        return self._ask_on("gsd events", {**given, **more, "follow": True})

    @overload
    def wait(
        self,
        *,
        phase: str,
        tasks: int | None = None,
        plans: int | None = None,
        first_failure: bool = False,
        timeout: float | str | None = None,
    ) -> PhaseOutcome: ...

    @overload
    def wait(self, *, plan: str, checkpoint: bool = False, timeout: float | str | None = None) -> PlanOutcome: ...

    def wait(
        self,
        *,
        phase: str | None = None,
        tasks: int | None = None,
        plans: int | None = None,
        plan: str | None = None,
        checkpoint: bool = False,
        first_failure: bool = False,
        timeout: float | str | None = None,
    ) -> Any:
        """Wait for tasks or plans of a phase, or until a plan has what it needs. `outcome` says how it ended."""
        return self._ask("gsd wait", locals())

    @overload
    def phase(self) -> list[PhaseStatus]: ...

    @overload
    def phase(self, phase: str) -> PhaseStatus: ...

    def phase(self, phase: str | None = None) -> Any:
        """How a phase stands; without one, all phases."""
        return self._ask("gsd phase", locals())

    def plan(self, plan: str) -> PlanDetails:
        return self._ask("gsd plan", locals())

    def claims(self, path: str | None = None, *, by: str | None = None, plan: str | None = None) -> list[HeldPath]:
        return self._ask("gsd claims", locals())

    def need(self, plan: str, artifacts: Some, *, drop: bool = False, key: str | None = None) -> PlanNeeds:
        return self._ask("gsd need", locals())

    def waiting(self) -> list[WaitingPlan]:
        return self._ask("gsd waiting", locals())

    def check(self) -> Any:
        """Check the files; the same as `Workspace.pack_check("gsd")`."""
        return self._ask("gsd check", locals())
