"""Plans that wait in vain: in a circle, or for an artifact that no running or waiting plan is known to make.

Such plans are reported once they have waited for `waiting_after` of [pack.gsd]. They are never refused or released.
Artifacts that a plan is done without having announced are reported to those that expected them, too.
"""

from __future__ import annotations

from moot.api.protocol.pack_views import Concern
from moot.core import timestamps
from moot.core.text import command_line, first_few
from moot.packs.gsd.ids import phase_name, plan_of
from moot.packs.gsd.plan_needs import circles
from moot.packs.gsd.status_lines import unannounced

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.packs.gsd.status import Snapshot
    from moot.packs.gsd.status_records import MissingArtifact

_REMEDY = "moot gsd waiting"


def vain_waits(view: Snapshot, phase: str | None = None) -> Iterator[Concern]:
    """What waits in vain; with `phase` (a `phase_name`), only what concerns plans of that phase."""
    for one in (*_in_circles(view), *_unmade(view)):
        plans = [plan for name in one.about.split() if (plan := plan_of(name)) is not None]
        if phase is None or any(phase_name(plan.phase) == phase for plan in plans):
            yield one


def _in_circles(view: Snapshot) -> Iterator[Concern]:
    waits = {plan: _waits_for(view, plan) for plan in {**view.missing, **view.files} if not view.is_done(plan)}
    for circle in circles(waits):
        since = [one.since for plan in circle for one in view.missing.get(plan, ())]
        if not since or _is_due(view, max(since)):  # as old as its newest link
            said = f"These plans wait for each other: {' → '.join(circle)}"
            about = " ".join(dict.fromkeys(circle))
            yield Concern("circle", about, said, _REMEDY, min(since, default=view.call.clock.wall()), circle[0])


def _waits_for(view: Snapshot, plan: str) -> set[str]:
    """The plans that a plan waits for: those that it depends on, and those that make what it needs."""
    facts = view.files.get(plan)
    before = {name for name in (facts.depends_on if facts else ()) if not view.is_done(name)}
    for one in view.missing.get(plan, ()):
        before.update(view.makers(one.artifact, plan))
    return before


def _unmade(view: Snapshot) -> Iterator[Concern]:
    for plan, missing in view.missing.items():
        for one in missing:
            why = _why_nobody(view, one, plan) if _is_due(view, one.since) else ""
            if why:
                said = f"{plan} waits for {one.artifact}, {why}"
                yield Concern("unmade", plan, said, _REMEDY, one.since, plan)
    for plan, expected in view.unannounced.items():
        for one in expected:
            if _is_due(view, one.since):
                said = f"{plan} can go on without {one.artifact}: {unannounced(one)}"
                yield Concern("unannounced", plan, said, command_line("gsd plan", plan), one.since, plan)


def _why_nobody(view: Snapshot, one: MissingArtifact, plan: str) -> str:
    """Why nobody makes the artifact; empty if a running or waiting plan does."""
    makers = view.makers(one.artifact, plan)
    if not makers:
        return "and no plan is known to make it"
    if any(view.runs(maker) or maker in view.missing for maker in makers):
        return ""
    done = [maker for maker in makers if view.is_done(maker)]
    if len(done) == len(makers):
        return f"and {first_few(done)} is done without having made it"
    return f"which {first_few([maker for maker in makers if maker not in done])} makes, and is not running"


def _is_due(view: Snapshot, since: str) -> bool:
    return view.now - (timestamps.parse(since) or 0.0) >= float(view.limits["waiting_after"])
