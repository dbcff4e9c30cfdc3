"""How phases, plans and tasks stand, read from the views: for the verbs, the section of `moot watch`, and concerns.

A task is what its latest run says (the list `tasks` of the feed). It is stalled if its agent has sent no event for too
long. Unless it has failed, it waits for the user while it has an open checkpoint, whether or not anybody announced its
start or end. A plan is done when its declared tasks are completed, or when it has a summary: then its tasks are
completed, too, except those that were started again.
"""

from __future__ import annotations

from moot.core import timestamps
from moot.core.errors import Unknown
from moot.core.task.leases import has_lapsed
from moot.packs.gsd.claims import TAKEN_AWAY
from moot.packs.gsd.ids import covers, phase_name, phase_of, plan_of, task_of
from moot.packs.gsd.sources import PlanFacts, all_plans
from moot.packs.gsd.status_records import (
    ASKING,
    BLOCKED,
    COMPLETED,
    DONE,
    FAILED,
    IDLE,
    PLANNED,
    READY,
    RUNNING,
    STALLED,
    WAITING,
    HeldPath,
    MissingArtifact,
    MissingPlan,
    PhaseStatus,
    PlanStatus,
    TaskStatus,
    WaitingPlan,
)
from moot.packs.gsd.tasks import CHECKPOINTS
from moot.packs.gsd.telling import FEED
from moot.views import feeds, queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from moot.api.call import Call
    from moot.core.deciders.checkpoint import Checkpoint
    from moot.views.store import Store

    Row = dict[str, Any]
    Needs = dict[str, list[MissingArtifact]]

_RECENT = 50  # events of a plan that are searched for the last sign of life of an agent


def settings(call: Call) -> Mapping[str, Any]:
    """The settings of the pack in force."""
    return next(pack.values for pack in call.packs.packs if pack.name == FEED)


class Snapshot:
    """Everything that is read, once, from one state of the views."""

    def __init__(self, call: Call) -> None:
        self.call, self.store = call, call.engine.read()
        self.now = call.clock.wall_seconds()
        self.limits = settings(call)
        self.files: dict[str, PlanFacts] = all_plans(self.store)
        self.missing = _missing(self.store)
        self.claims = _claims(self)
        self.checkpoints = _open_checkpoints(self.store)
        self._done: dict[str, bool] = {}

    # --- tasks -------------------------------------------------------------------------------------------------------

    def task(self, row: Row, checkpoint: Checkpoint | None) -> TaskStatus:
        """A task by its row, and its oldest open checkpoint."""
        state, silent = str(row["state"]), None
        if state == RUNNING:
            silent = max(0.0, self.now - self._last_sign(row))
            stalled = has_lapsed(silent, self.limits["stalled_after"])
            state = STALLED if stalled else RUNNING
        if checkpoint is not None and state != FAILED:
            state = WAITING
        elif state == FAILED and self._summary(row["plan"]) and not row.get("reopens"):
            state = COMPLETED
        found = TaskStatus(
            plan=row["plan"],
            task=row["task"],
            name=row.get("name") or "",
            state=state,
            agent=row.get("agent") or "",
            runs=row.get("run") or 1,
            started=row.get("started") or "",
            ended=row.get("ended") or "",
            duration=row.get("duration") or "",
            commit=row.get("commit") or "",
            error=row.get("error") or "",
            silent_for=silent,
            flags=tuple(row.get("flags") or ()),
            number=row.get("end") or 0,
        )
        return _asking(found, checkpoint) if checkpoint is not None and state == WAITING else found

    def _summary(self, plan: str) -> str:
        found = plan_of(plan)
        return self.files.get(found.name, PlanFacts()).summary if found is not None else ""

    def _last_sign(self, row: Row) -> float:
        """When the agent of a running task last sent an event, in seconds since 1970."""
        plan = plan_of(row["plan"])
        assert plan is not None, "rows have checked ids"
        seen = timestamps.parse(row.get("seen") or "") or 0.0
        for entry in feeds.last_entries(self.store, FEED, _RECENT, [("plan", plan.name)]):
            event = entry.event
            own = event.get("agent", row["agent"]) == row["agent"] and "requiredBy" not in event
            taken_away = any(flag.startswith(TAKEN_AWAY) for flag in entry.flags)
            if own and not taken_away and not entry.cause:
                return max(seen, entry.at)
        return seen

    def tasks(self, prefix: str, end: str) -> dict[str, list[TaskStatus]]:
        """The tasks whose ids are from `prefix` on and before `end`, by plan."""
        found: dict[str, list[TaskStatus]] = {}
        rows = feeds.rows(self.store, FEED, "tasks", (prefix, end))
        asking = (name for name in self.checkpoints if prefix <= name < end)
        for name in dict.fromkeys((*rows, *asking, *feeds.rows(self.store, FEED, CHECKPOINTS, (prefix, end)))):
            known = task_of(name)
            if known is not None:
                checkpoint = self.checkpoints.get(name)
                task = self.task(rows[name], checkpoint) if name in rows else self._not_started(name)
                found.setdefault(known[0].name, []).append(task)
        return {plan: sorted(tasks, key=lambda task: task.task) for plan, tasks in found.items()}

    def _not_started(self, name: str) -> TaskStatus:
        """A task that has reached a checkpoint, answered or not, and whose start nobody announced."""
        known = task_of(name)
        assert known is not None, "the caller has checked it"
        plan, number = known[0].name, known[1]
        titles = self.files.get(plan, PlanFacts(id=plan)).tasks
        task = self._planned(plan, number, titles[number - 1] if number <= len(titles) else "")
        return _asking(task.replace(state=WAITING), self.checkpoints[name]) if name in self.checkpoints else task

    def _planned(self, plan: str, number: int, title: str) -> TaskStatus:
        return TaskStatus(plan, number, title, COMPLETED if self._summary(plan) else PLANNED)

    # --- plans -------------------------------------------------------------------------------------------------------

    def plan(self, name: str, tasks: Iterable[TaskStatus]) -> PlanStatus:
        """A plan. `name` is that of its `PlanId`."""
        facts, known = self.files.get(name, PlanFacts(id=name)), list(tasks)
        begun = {task.task for task in known}
        titles = enumerate(facts.tasks, 1)
        known += [self._planned(name, number, title) for number, title in titles if number not in begun]
        known.sort(key=lambda task: task.task)
        missing, before = tuple(self.missing.get(name, ())), self._before(facts)
        return PlanStatus(
            plan=name,
            phase=_phase_of(name),
            state=self._state(facts, known, waits=bool(missing or before)),
            wave=facts.wave,
            declared=len(facts.tasks),
            depends_on=facts.depends_on,
            tasks=tuple(known),
            missing=missing,
            before=before,
            blocked=facts.unreadable,
            path=facts.path,
            claims=tuple(claim for claim in self.claims if plan_of(claim.plan) == plan_of(name)),
            problems=facts.problems,
        )

    def is_done(self, name: str) -> bool:
        if name not in self._done:
            self._done[name] = self._look_whether_done(name)
        return self._done[name]

    def _look_whether_done(self, name: str) -> bool:
        facts = self.files.get(name, PlanFacts(id=name))
        rows = feeds.rows(self.store, FEED, "tasks", (f"{name}.", f"{name}/"))
        completed = [task for task, row in rows.items() if row["state"] == COMPLETED and task not in self.checkpoints]
        return _is_done(facts, len(completed))

    def _before(self, facts: PlanFacts) -> tuple[MissingPlan, ...]:
        return tuple(MissingPlan(plan=one, since=facts.since) for one in facts.depends_on if not self.is_done(one))

    def _state(self, facts: PlanFacts, tasks: list[TaskStatus], *, waits: bool) -> str:
        held = {task.state for task in tasks}
        if _is_done(facts, sum(task.state == COMPLETED for task in tasks)):
            return DONE
        if facts.unreadable:
            return BLOCKED
        for of_task, state in ((FAILED, FAILED), (STALLED, STALLED), (WAITING, ASKING), (RUNNING, RUNNING)):
            if of_task in held:
                return state
        return WAITING if waits else IDLE if COMPLETED in held else READY

    def waiting(self) -> list[WaitingPlan]:
        """The plans that wait for artifacts or other plans, and those that are blocked, in order."""
        found = []
        for name in sorted({*self.files, *self.missing}, key=_order):
            facts = self.files.get(name, PlanFacts(id=name))
            missing, before = tuple(self.missing.get(name, ())), self._before(facts)
            if (missing or before or facts.unreadable) and not self.is_done(name):
                one = WaitingPlan(plan=name, missing=missing, plans=before, blocked=facts.unreadable, path=facts.path)
                found.append(one)
        return found

    def all_decisions(self) -> tuple[Row, ...]:
        """All decisions, oldest first."""
        return tuple(feeds.rows(self.store, FEED, "decisions").values())

    def decisions(self, name: str) -> tuple[Row, ...]:
        """The decisions that affect a plan, oldest first."""
        return tuple(row for row in self.all_decisions() if any(covers(entry, name) for entry in row["affects"]))

    # --- phases ------------------------------------------------------------------------------------------------------

    def phase(self, name: str) -> PhaseStatus:
        """A phase, by its `phase_name`."""
        tasks = self.tasks(f"{name}-", f"{name}.")
        names = {*tasks, *(plan for plan in (*self.files, *self.missing) if _phase_of(plan) == name)}
        names |= {plan.name for claim in self.claims if (plan := plan_of(claim.plan)) and _phase_of(plan.name) == name}
        plans = [self.plan(plan, tasks.get(plan, ())) for plan in sorted(names, key=_order)]
        every = [task for plan in plans for task in plan.tasks]
        counts = {state: sum(task.state == state for task in every) for state in (COMPLETED, FAILED, RUNNING)}
        return PhaseStatus(
            phase=name,
            plans=tuple(plans),
            tasks=len(every),
            stalled=sum(task.state == STALLED for task in every),
            waiting=sum(task.state == WAITING for task in every),
            done=sum(plan.state == DONE for plan in plans),
            **counts,
        )

    def phases(self) -> list[str]:
        """All phases that something is known about, in order."""
        names = set(feeds.values(self.store, FEED, "phase"))
        names |= {_phase_of(plan) for plan in (*self.files, *self.missing)}
        return sorted(names, key=lambda name: phase_of(name) or ())


def plan_status(call: Call, plan: str) -> PlanStatus:
    found = plan_of(plan)
    assert found is not None, "the caller has checked it"
    view = Snapshot(call)
    return view.plan(found.name, view.tasks(f"{found.name}.", f"{found.name}/").get(found.name, ()))


def checkpoints(call: Call, plan: str) -> list[Checkpoint]:
    """The last checkpoint of each task of a plan, and every other one that is open, in order of the tasks."""
    found, store = plan_of(plan), call.engine.read()
    assert found is not None, "the caller has checked it"
    rows = feeds.rows(store, FEED, CHECKPOINTS, (f"{found.name}.", f"{found.name}/"))
    last = [states.state(store, "checkpoint", row["id"])[0] for row in rows.values()]
    still = [one for one in queries.things(store, "checkpoint") if (of := task_of(one.task)) and of[0] == found]
    every = {one.id: one for one in (*still, *last)}
    return sorted(every.values(), key=lambda one: (task_of(one.task) or (found, 0))[1])


def known_plan(call: Call, plan: PlanStatus) -> PlanStatus:
    """The plan, if anything is known about it."""
    view = Snapshot(call)
    said = next(feeds.last_entries(view.store, FEED, 1, [("plan", plan.plan)]), None)
    if plan.tasks or plan.missing or plan.claims or plan.plan in view.files or said is not None:
        return plan
    raise Unknown(
        "unknown_plan",
        f"Nothing is known about plan {plan.plan}: it has no file, no event and no need.",
        "`moot gsd phase PHASE` lists the plans of a phase.",
        plan=plan.plan,
    )


def _asking(task: TaskStatus, checkpoint: Checkpoint) -> TaskStatus:
    """The task, waiting for the answer to a checkpoint."""
    return task.replace(
        checkpoint=checkpoint.id, checkpoint_type=checkpoint.kind, awaiting=checkpoint.awaiting or checkpoint.question
    )


def _open_checkpoints(store: Store) -> dict[str, Checkpoint]:
    """The oldest open checkpoint of each task, by the id of the task."""
    found: dict[str, Checkpoint] = {}
    for state in queries.things(store, "checkpoint"):
        if state.task is not None:
            found.setdefault(state.task, state)
    return found


def _missing(store: Store) -> Needs:
    """The artifacts that plans wait for, by plan."""
    found: Needs = {}
    for need in queries.things(store, "dependency"):
        for needer, since in need.since.items():
            plan = plan_of(needer.removeprefix("plan:")) if needer.startswith("plan:") else None
            if plan is not None:
                found.setdefault(plan.name, []).append(MissingArtifact(artifact=need.id, since=since))
    return found


def _claims(view: Snapshot) -> list[HeldPath]:
    """The claimed paths of the blackboard, oldest first."""
    live, found = states.claims(view.store)[0].live, []
    for path, row in feeds.rows(view.store, FEED, "claims").items():
        claim = live.get(row.get("claim") or "")
        silent = view.call.silence(claim.holder) if claim is not None else 0.0
        left = claim.ttl - silent if claim is not None and claim.ttl > 0 else None
        found.append(
            HeldPath(
                path=path,
                agent=row.get("agent") or "",
                plan=row.get("plan") or "",
                task=row.get("task"),
                since=row.get("timestamp") or "",
                silent_for=silent,
                expires_in=left,
            )
        )
    return found


def _is_done(facts: PlanFacts, completed: int) -> bool:
    return bool(facts.summary) or 0 < len(facts.tasks) <= completed


def _phase_of(plan: str) -> str:
    found = plan_of(plan)
    return phase_name(found.phase) if found is not None else ""


def _order(plan: str) -> Any:
    found = plan_of(plan)
    return found.order if found is not None else ((), 0)
