"""The section of `moot watch`, and what a person should look at: failed and stalled tasks, blocked plans."""

from __future__ import annotations

from moot.api.protocol.pack_views import Concern, PackView
from moot.core.record import Record
from moot.core.text import age, command_line, first_few, one_line
from moot.packs.gsd import status_lines
from moot.packs.gsd.status import Snapshot
from moot.packs.gsd.status_records import BLOCKED, DONE, FAILED, STALLED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from moot.api.call import Call
    from moot.api.protocol.pack_views import Line
    from moot.packs.gsd.status_records import PhaseStatus

_DECISIONS = 5
_EXPIRING = 0.2  # of the time to live of a claim: less than this is left


class BoardState(Record):
    """What `moot watch --json` shows: the phases with work to do, or else the last one, and the newest decisions."""

    phases: tuple[PhaseStatus, ...]
    finished: int  # phases that are done
    decisions: tuple[dict[str, Any], ...] = ()


def watched(call: Call) -> PackView:
    """The section of `moot watch`."""
    view = Snapshot(call)
    every = [view.phase(name) for name in view.phases()]
    active = [phase for phase in every if any(plan.state != DONE for plan in phase.plans)] or every[-1:]
    finished = len(every) - len(active)
    decisions = view.all_decisions()[-_DECISIONS:]
    state = BoardState(phases=tuple(active), finished=finished, decisions=decisions)
    if not active:
        return PackView("gsd", "Phases: none yet", state)
    lines: list[Line] = [line for phase in active for line in status_lines.summary_lines(phase)]
    for phase in active:
        heading = (((status_lines.phase_title(phase), "bold"),),) if len(active) > 1 else ()
        lines += [(), *heading, *status_lines.phase_lines(phase)]
    lines += [(), *map(status_lines.decision_line, reversed(decisions))] if decisions else []
    title = f"Phases: {len(active)} active, {finished} finished"
    return PackView("gsd", status_lines.short_title(active[0]) if len(active) == 1 else title, state, tuple(lines))


def concerns(call: Call) -> Iterator[Concern]:
    """What a person should look at."""
    view = Snapshot(call)
    for name in view.phases():
        for plan in view.phase(name).plans:
            after = [name for name, facts in view.files.items() if plan.plan in facts.depends_on]
            waits = [name for name in after if not view.is_done(name)] if plan.state == FAILED else []
            if plan.state == BLOCKED:
                said = f"{plan.plan} is blocked: {one_line(f'{plan.path}: {plan.blocked}', 300)}"
                yield Concern("blocked", plan.plan, said, command_line("gsd plan", plan.plan), "", plan.plan)
            for task in plan.tasks:
                if task.state == FAILED and waits:
                    about = f"{plan.plan}.{task.task}"
                    said = f"{plan.plan} task {task.task} failed, and {first_few(waits)} "
                    said += f"{'wait' if len(waits) > 1 else 'waits'} for the plan: {one_line(task.error, 200)}"
                    yield Concern("failed", about, said, command_line("gsd plan", plan.plan), task.ended, task.agent)
                if task.state == STALLED:
                    about = f"{plan.plan}.{task.task}"
                    said = f"{plan.plan} task {task.task} is stalled: {task.agent} has sent no event for "
                    said += age(task.silent_for or 0.0)
                    yield Concern("stalled", about, said, command_line("gsd plan", plan.plan), task.started, task.agent)
    for claim in view.claims:
        left = claim.expires_in
        if left is None:
            continue
        ttl = left + claim.silent_for
        if left < _EXPIRING * ttl:
            said = f"The claim of {claim.agent}{claim.plan and f' of {claim.plan}'} on {claim.path} "
            said += "has expired" if left <= 0 else f"ends in {age(left)}, unless it sends an event"
            yield Concern(
                "claim_expiring", claim.path, said, command_line("gsd claims", claim.path), claim.since, claim.agent
            )
