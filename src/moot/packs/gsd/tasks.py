"""What the lifecycle events mean for tasks: runs, their times and results, and what the blackboard shows of them.

A task is a task of moot with the pack's lifecycle, `01-02.1`. The list `tasks` of the feed has its latest run, with the
times and results as the agents gave them.
"""

from __future__ import annotations

from moot.core import timestamps
from moot.core.errors import Held
from moot.core.principal import Actor, label, same_agent
from moot.core.task import AddTask, MoveTask
from moot.core.text import command_line, first_few
from moot.packs.gsd import durations, runs
from moot.packs.gsd.handlers import SYNC
from moot.packs.gsd.ids import phase_name, plan_of, task_of
from moot.packs.gsd.sources import PLANS, SUMMARIES, plan_facts
from moot.packs.gsd.telling import FEED, ONLY, Telling, instance_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from moot.engine.unit_of_work import Work
    from moot.packs.gsd.rows import Rows

LIST, LIFECYCLE = "tasks", "gsd/task"
PLAN = "plan:"  # how the principals of agents begin that are known only by their plan and name
CHECKPOINTS = "checkpoints"  # by task: the id of its last checkpoint, and those of earlier ones that were open then
_UNKNOWN_TIME = "no_duration: the times of start and end do not give one"


def instance(telling: Telling) -> str:
    """The agent that an event comes from: the caller of a surface, or what the event says."""
    if telling.nameless:
        return instance_of(telling.event["plan"], telling.event["agent"])
    return telling.by


def decide(telling: Telling) -> runs.RunStep:
    """Move the task. Raises if another agent is running it and the caller can be told so."""
    work, event, name = telling.work, telling.event, telling.task
    actor = Actor(principal=instance(telling))
    moves = ensure(telling, actor.principal)
    row = telling.rows.get(LIST, name) or {}
    task = work.task(name)
    state, holder = (task.state, task.holder) if moves else (row.get("state", ""), row.get("instance"))
    step = _step(telling, state, row, same_agent=holder == actor.principal)
    if step.clash:
        _clash(telling, name, holder or "", row.get("started") or task.since)
    for flag in step.flags:
        telling.flag(flag)
    _fill(telling, repeat=step.repeat)
    if telling.type == runs.COMPLETED and not step.repeat:
        _flag_unannounced(telling)
    if step.verb and moves:
        move = MoveTask(verb=step.verb, actor=actor, reason=event.get("error"), flags=tuple(telling.flags))
        work.do("task", name, move, pack=FEED)
    return step


def _step(telling: Telling, state: str, row: dict[str, Any], *, same_agent: bool) -> runs.RunStep:
    """The step for the event, also for a task whose completion is held, or will be."""
    held = row.get("state") == runs.HELD
    if held and telling.type == runs.STARTED and same_agent and state in (runs.RUNNING, runs.HELD):
        return runs.RunStep(flags=("rerun: the completion of the last run, which was not counted yet, is taken back",))
    step = runs.step(state, telling.type, same_agent=same_agent)
    if telling.type != runs.STARTED:
        step = step.replace(flags=(*step.flags, *ended_by_another(row, instance(telling), telling.event["agent"])))
    early = runs.held_step(step, open_checkpoints(telling)) if telling.type == runs.COMPLETED else step
    return runs.RunStep(flags=(runs.AGAIN,), repeat=True) if held and early.held else early


def ended_by_another(row: dict[str, Any], principal: str, agent: str) -> tuple[str, ...]:
    """The flag of the end of a run that another agent has started. `principal`, `agent`: who ends it.

    An agent that is known only from files may be the same as one with a name, if they are of one kind.
    """
    holder = str(row.get("instance") or "")
    if row.get("state") != runs.RUNNING or same_agent(holder, principal):
        return ()
    if row.get("agent") == agent and (holder.startswith(PLAN) or principal.startswith(PLAN)):
        return ()
    return (f"other_agent: the task was running under {row.get('agent')} ({label(holder)})",)


def open_checkpoints(telling: Telling) -> list[str]:
    """The ids of the open checkpoints of the task that the event names, oldest first."""
    row = telling.rows.get(CHECKPOINTS, telling.task) or {}
    names = [*row.get("earlier", ()), *([row["id"]] if row else [])]
    return [name for name in names if telling.work.state("checkpoint", name).open]


def ensure(telling: Telling, creator: str) -> bool:
    """Add the task that an event names, if it does not exist. False, with a flag, if moot may not move it.

    The event counts all the same: its agent may know nothing of moot's settings.
    """
    work, event, name = telling.work, telling.event, telling.task
    task = work.task(name)
    if task.exists and task.lifecycle != LIFECYCLE:
        telling.flag(f"other_task: {name} is also a task of the lifecycle {task.lifecycle}, which stays as it is")
        return False
    if not task.exists:
        title = event.get("taskName") or f"Task {event['task']} of plan {event['plan']}"
        work.do("task", name, AddTask(title=title, creator=creator, lifecycle=LIFECYCLE), pack=FEED)
    return True


def _clash(telling: Telling, name: str, holder: str, since: str) -> None:
    """A start of a task that another agent is running."""
    row = telling.rows.get(LIST, name) or {}
    agent = row.get("agent") or label(holder)
    said = f"{name} is running under {agent} ({label(holder)}) since {since}"
    if not telling.from_file:
        raise Held(
            "task_running",
            f"The task is running under another agent: {said}.",
            f"Work on another task, or wait for it: `{command_line('wait', options=f'--task {name}')}`.",
            task=name,
            holder=holder,
            agent=agent,
            since=since,
        )
    telling.flag(f"double_start: {said}")
    text = f"{said}, and {telling.event['agent']} of plan {telling.event['plan']} has started it, too."
    telling.tell((holder, instance(telling)), text, thread=name, task=name)


def _fill(telling: Telling, *, repeat: bool) -> None:
    """Fill in the name and the duration of a completed task from its start."""
    if telling.type != runs.COMPLETED:
        return
    row, event = telling.rows.get(LIST, telling.task) or {}, telling.event
    running = row.get("state") == runs.RUNNING
    if "taskName" not in event and row.get("name"):
        telling.fill("taskName", row["name"], after="task")
    if "duration" not in event and running:
        started, ended = timestamps.parse(row.get("started", "")), telling.seconds
        if started is None or ended is None or ended < started:
            telling.flag(_UNKNOWN_TIME)
        else:
            telling.fill(
                "duration", durations.spelled(ended - started), after="commit" if "commit" in event else "taskName"
            )
    missing = [key for key in ("taskName", "duration") if key not in event]
    if missing and not running and not repeat:
        telling.flag(f"incomplete: {' and '.join(missing)} cannot be filled in without the start")
    if "commit" not in event:
        telling.flag("no_commit: the completion names no commit")


def _flag_unannounced(telling: Telling) -> None:
    """Flag the last completion of a plan if nobody has announced what the plan must make."""
    plan = plan_of(telling.event["plan"])
    assert plan is not None, "the plan was checked"
    facts = plan_facts(telling.work, plan.name)
    ended = (runs.ENDED[runs.COMPLETED], runs.HELD)
    completed = {name for name, row in of_plan(telling.rows, plan.name).items() if row["state"] in ended}
    if not 0 < len(facts.tasks) <= len({*completed, telling.task}):
        return
    missing = [path for path in facts.makes if not telling.work.state("dependency", path).artifacts]
    if missing:
        telling.flag(f"unannounced: no artifact:created came for {first_few(missing)}, which plan {plan} makes")


def record(telling: Telling, step: runs.RunStep) -> None:
    """Keep the run in the list of tasks, after the event is posted."""
    if step.repeat:
        if telling.type == runs.STARTED:
            _refresh(telling)
        return
    event, name = telling.event, telling.task
    row: dict[str, Any] = telling.rows.get(LIST, name) or {}
    begins = telling.type == runs.STARTED or row.get("state") not in (runs.RUNNING, runs.HELD)
    run = row.get("run", 0) + 1 if begins else row.get("run", 1)
    found: dict[str, Any] = {"plan": event["plan"], "task": event["task"], "agent": event["agent"]}
    found |= {"instance": instance(telling), "run": run, "seen": telling.work.at, "flags": list(telling.flags)}
    found |= {"name": event["taskName"]} if "taskName" in event else {}
    if begins:
        found |= dict.fromkeys(("started", "start", "ended", "end", "commit", "duration", "seconds"))
    if telling.type == runs.STARTED:
        found |= {"state": runs.RUNNING, "started": telling.at, "start": telling.number}
    else:
        state = runs.HELD if step.held else runs.ENDED[telling.type]
        found |= {"state": state, "ended": telling.at, "end": telling.number}
        found |= {key: event.get(key) for key in ("commit", "duration", "error")}
        found |= {"seconds": durations.seconds(event.get("duration"))}
    telling.change(LIST, name, found)


def hold(telling: Telling) -> None:
    """The task of the event has reached a checkpoint: if it is completed, that does not count before the answer."""
    plan = plan_of(telling.event["plan"])
    if plan is not None and (telling.rows.get(LIST, telling.task) or {}).get("state") == runs.ENDED[runs.COMPLETED]:
        telling.change(LIST, telling.task, {"state": runs.HELD})
        telling.drop("completed_tasks", telling.task)
        show_progress(telling, plan.name)


def release(telling: Telling) -> None:
    """A checkpoint of the task of the event is answered: if none is open, a completion that was held counts now."""
    row, name = telling.rows.get(LIST, telling.task) or {}, telling.task
    if row.get("state") != runs.HELD or open_checkpoints(telling):
        return
    work, task = telling.work, telling.work.task(name)
    if task.lifecycle == LIFECYCLE and task.state != runs.ENDED[runs.COMPLETED]:
        move = MoveTask(verb=runs.MOVES[runs.COMPLETED], actor=Actor(principal=row["instance"]))
        work.do("task", name, move, pack=FEED)
    telling.change(LIST, name, {"state": runs.ENDED[runs.COMPLETED]})
    if SYNC in telling.handlers.built_in(runs.COMPLETED):
        said = {"type": runs.COMPLETED, "taskName": row.get("name"), "timestamp": row["ended"]}
        said |= {key: row.get(key) for key in ("plan", "task", "agent", "commit", "duration")}
        event = {key: value for key, value in said.items() if value is not None}
        show_completion(Telling(work, event, by=telling.by, handlers=telling.handlers))


def _refresh(telling: Telling) -> None:
    """Another sign of life of a running task."""
    row = telling.rows.get(LIST, telling.task)
    if row is not None and row.get("instance") == instance(telling):
        telling.change(LIST, telling.task, {"seen": telling.work.at})


def of_plan(rows: Rows, plan: str) -> dict[str, Any]:
    """The tasks of a plan. `plan` is the name of a `PlanId`."""
    return rows.between(LIST, f"{plan}.", f"{plan}/")  # "/" follows "."


def running(work: Work, principal: str) -> tuple[str, str] | None:
    """The plan and the agent name under which this caller is running a task; None if it is running none."""
    from moot.packs.gsd.rows import rows_of
    from moot.views import queries

    for name in reversed(queries.tasks_held_by(work.store, principal)):
        row = rows_of(work, FEED).get(LIST, name) if task_of(name) else None
        if row is not None and row.get("state") == runs.RUNNING:
            return str(row["plan"]), str(row["agent"])
    return None


# --- what the blackboard shows ---------------------------------------------------------------------------------------


def show_start(telling: Telling) -> None:
    """A task that is running again is active, and neither blocked nor completed."""
    event, name = telling.event, telling.task
    telling.put("active_agents", name, {"id": event["agent"], "plan": event["plan"], "task": event["task"]})
    telling.drop("completed_tasks", name)
    plan = plan_of(event["plan"])
    assert plan is not None, "the plan was checked"
    phase = phase_name(plan.phase)
    if telling.rows.get("current_phase", ONLY) != phase:
        telling.put("current_phase", ONLY, phase)
    wave = plan_facts(telling.work, plan.name).wave or None
    if telling.rows.get("current_wave", ONLY) != wave:
        telling.put("current_wave", ONLY, wave)
    _unblock(telling, plan.name)
    show_progress(telling, plan.name)


def show_completion(telling: Telling) -> None:
    """`blackboard-sync`."""
    event, name = telling.event, telling.task
    telling.drop("active_agents", name)
    keys = ("plan", "task", "taskName", "agent", "commit", "duration", "timestamp")
    telling.put("completed_tasks", name, {key: event[key] for key in keys if key in event})
    if "commit" in event:
        commit = {
            "commit": event["commit"],
            "timestamp": event["timestamp"],
            "plan": event["plan"],
            "task": event["task"],
        }
        telling.put("last_commit", ONLY, commit)
    plan = plan_of(event["plan"])
    assert plan is not None, "the plan was checked"
    _unblock(telling, plan.name)
    show_progress(telling, plan.name)


def show_failure(telling: Telling) -> None:
    """`error-handler`."""
    event, plan = telling.event, plan_of(telling.event["plan"])
    assert plan is not None, "the plan was checked"
    telling.drop("active_agents", telling.task)
    telling.drop("completed_tasks", telling.task)
    if telling.rows.get("blocked_plans", plan.name) is None:
        telling.put("blocked_plans", plan.name, event["plan"])
    show_progress(telling, plan.name)
    keys = ("plan", "task", "agent", "error", "timestamp")
    telling.put("errors", f"{telling.number:09d}", {key: event[key] for key in keys} | {"eventId": telling.number})


def _unblock(telling: Telling, plan: str) -> None:
    """A plan is blocked as long as the last run of one of its tasks has failed."""
    if not any(row["state"] == "failed" for row in of_plan(telling.rows, plan).values()):
        telling.drop("blocked_plans", plan)


def show_progress(telling: Telling, plan: str) -> None:
    """List the plan as completed, or not, by its declared tasks and its summary."""
    done = is_done(telling.work, telling.rows, plan)
    listed = telling.rows.get("completed_plans", plan)
    if done and listed is None:
        telling.put("completed_plans", plan, telling.plan if plan_of(telling.plan) == plan_of(plan) else plan)
    elif not done:
        telling.drop("completed_plans", plan)


def is_done(work: Work, rows: Rows, plan: str) -> bool:
    """Whether all declared tasks of the plan are completed, or its summary exists."""
    facts = plan_facts(work, plan)
    completed = [row for row in of_plan(rows, plan).values() if row["state"] == "completed"]
    return bool(facts.summary) or 0 < len(facts.tasks) <= len(completed)


def show_plans(work: Work) -> None:
    """A closer: list plans as completed, or not, after their files have changed in this commit."""
    prefixes = tuple(f"document/{FEED}.-.{mirror}." for mirror in (PLANS, SUMMARIES))
    for stream in dict.fromkeys(draft.stream for draft in work.drafts if draft.stream.startswith(prefixes)):
        plan = stream.split(".", 3)[3]
        show_progress(Telling(work, {"plan": plan}, by=work.by), plan)
