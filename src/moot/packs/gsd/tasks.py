"""What the lifecycle events mean for tasks: runs, their times and results, and what the blackboard shows of them.

A task is a task of moot with the pack's lifecycle, `01-02.1`. The list `tasks` of the feed has its latest run, with the
times and results as the agents gave them.
"""

from __future__ import annotations

from moot.core import timestamps
from moot.core.errors import Held
from moot.core.principal import Actor, label
from moot.core.task import AddTask, MoveTask
from moot.core.text import command_line, first_few
from moot.packs.gsd.ids import plan_of, task_of
from moot.packs.gsd.sources import FILES, plan_facts
from moot.packs.gsd.telling import FEED, ONLY, ORCHESTRATORS, Telling, instance_of
from moot.views import queries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from moot.engine.unit_of_work import Work
    from moot.packs.gsd.rows import Rows

LIST, LIFECYCLE = "tasks", "gsd/task"
CHECKPOINTS = "checkpoints"  # by task: the id of its last checkpoint
STARTED, COMPLETED, FAILED = "task:started", "task:completed", "task:failed"
RUNNING = "running"
MOVES = {STARTED: "claim", COMPLETED: "complete", FAILED: "fail"}
AFTER = {STARTED: RUNNING, COMPLETED: "completed", FAILED: "failed"}


def instance(telling: Telling) -> str:
    """The agent that an event comes from: the caller of a surface, or what the event says."""
    if telling.nameless:
        return instance_of(telling.event["plan"], telling.event["agent"])
    return telling.by


def decide(telling: Telling) -> bool:
    """Move the task. True if the event repeats what is known. Raises if another agent is running it and can be told so.

        state of the task       task:started           task:completed         task:failed
        ----------------------  ---------------------  ---------------------  ---------------------
        none                    a run begins           a run without a start  a run without a start
        running, same agent     repeat                 the run ends           the run ends
        running, another agent  double start           the run ends           the run ends
        completed               the next run           repeat                 a run without a start
        failed                  the next run           a run without a start  repeat

    Only a double start over a surface is refused: its caller can still do something else.
    """
    work, event, name = telling.work, telling.event, telling.task
    actor = Actor(principal=instance(telling))
    moves, row = ensure(telling, actor.principal), telling.rows.get(LIST, name) or {}
    state, after = row.get("state", ""), AFTER[telling.type]
    if telling.type == STARTED and state == RUNNING and row["instance"] != actor.principal:
        _clash(telling, name, row)
        return True
    if state == after:
        telling.flag("repeat: " + ("this run has already started" if after == RUNNING else f"it has already {after}"))
        return True
    if telling.type != STARTED and state != RUNNING:
        telling.flag("no_start: no task:started came before it")
    if telling.type == COMPLETED:
        _fill(telling, row)
    waits = open_checkpoints(telling) if telling.type == COMPLETED else []
    if waits:
        telling.flag(f"open_checkpoint: {first_few(waits)} not answered yet; the completion counts from the answer on")
    elif moves and work.task(name).state != after:
        move = MoveTask(verb=MOVES[telling.type], actor=actor, reason=event.get("error"), flags=tuple(telling.flags))
        work.do("task", name, move, pack=FEED)
    return False


def open_checkpoints(telling: Telling) -> list[str]:
    """The ids of the open checkpoints of the task that the event names, oldest first."""
    return [name for name, task in _asking(telling.work, telling.rows, _plan(telling)).items() if task == telling.task]


def _asking(work: Work, rows: Rows, plan: str) -> dict[str, str]:
    """The open checkpoints of a plan, each with its task."""
    known = {one.id: one.task or "" for one in queries.things(work.store, "checkpoint")}
    known |= {row["id"]: task for task, row in rows.between(CHECKPOINTS, f"{plan}.", f"{plan}/").items()}
    return {
        name: task
        for name, task in known.items()
        if task.startswith(f"{plan}.") and work.state("checkpoint", name).open
    }


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


def _clash(telling: Telling, name: str, row: dict[str, Any]) -> None:
    """A start of a task that another agent is running."""
    holder, agent, since = str(row["instance"]), row["agent"], row["started"]
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


def _fill(telling: Telling, row: dict[str, Any]) -> None:
    """Fill in the name and the duration of a completed task from its start."""
    event, running = telling.event, row.get("state") == RUNNING
    if "taskName" not in event and row.get("name"):
        telling.fill("taskName", row["name"], after="task")
    if "duration" not in event and running:
        started, ended = timestamps.parse(row.get("started", "")), telling.seconds
        if started is None or ended is None or ended < started:
            telling.flag("no_duration: the times of start and end do not give one")
        else:
            telling.fill("duration", _duration(ended - started), after="commit" if "commit" in event else "taskName")
    missing = [key for key in ("taskName", "duration") if key not in event]
    if missing and not running:
        telling.flag(f"incomplete: {' and '.join(missing)} cannot be filled in without the start")
    if "commit" not in event:
        telling.flag("no_commit: the completion names no commit")


def _duration(length: float) -> str:
    """A length in seconds in the form of the protocol: `1h30min`, `0s`."""
    minutes, seconds = divmod(round(length), 60)
    parts = ((minutes // 60, "h"), (minutes % 60, "min"), (seconds, "s"))
    return "".join(f"{number}{unit}" for number, unit in parts if number) or "0s"


def record(telling: Telling, *, repeat: bool) -> None:
    """Keep the run in the list of tasks, after the event is posted, and do what the built-in handlers do."""
    event, name = telling.event, telling.task
    row: dict[str, Any] = telling.rows.get(LIST, name) or {}
    if repeat:
        if telling.type == STARTED and row["instance"] == instance(telling):
            telling.change(LIST, name, {"seen": telling.work.at})  # another sign of life
        return
    begins = telling.type == STARTED or row.get("state") != RUNNING
    found: dict[str, Any] = {"plan": event["plan"], "task": event["task"], "agent": event["agent"]}
    found |= {"instance": instance(telling), "run": row.get("run", 0) + begins, "seen": telling.work.at}
    found |= {"flags": list(telling.flags), "state": AFTER[telling.type]}
    found |= {"name": event["taskName"]} if "taskName" in event else {}
    if begins:
        found |= dict.fromkeys(("started", "start", "ended", "end", "commit", "duration", "error"))
        found |= {"reopens": bool(plan_facts(telling.work, _plan(telling)).summary)}
    if telling.type == STARTED:
        found |= {"started": telling.at, "start": telling.number}
    else:
        found |= {"ended": telling.at, "end": telling.number}
        found |= {key: event.get(key) for key in ("commit", "duration", "error")}
    telling.change(LIST, name, found)
    _SHOWS[telling.type](telling)
    show_progress(telling, _plan(telling))


def release(telling: Telling) -> None:
    """A checkpoint of the task of the event is answered: if none is open, an earlier completion counts from now on."""
    row, name = telling.rows.get(LIST, telling.task) or {}, telling.task
    work, task = telling.work, telling.work.task(name)
    done, own = AFTER[COMPLETED], task.lifecycle == LIFECYCLE
    if row.get("state") == done != task.state and own and not open_checkpoints(telling):
        move = MoveTask(verb=MOVES[COMPLETED], actor=Actor(principal=row["instance"]))
        work.do("task", name, move, pack=FEED)
    show_progress(telling, _plan(telling))


def _plan(telling: Telling) -> str:
    """The name of the plan of the task."""
    plan = plan_of(telling.event["plan"])
    assert plan is not None, "the plan was checked"
    return plan.name


def of_plan(rows: Rows, plan: str) -> dict[str, Any]:
    """The tasks of a plan. `plan` is the name of a `PlanId`."""
    return rows.between(LIST, f"{plan}.", f"{plan}/")  # "/" follows "."


def running(work: Work, principal: str) -> tuple[str, str] | None:
    """The plan and the agent name under which this caller is running a task; None if it is running none."""
    from moot.packs.gsd.rows import rows_of

    for name in reversed(queries.tasks_held_by(work.store, principal)):
        row = rows_of(work, FEED).get(LIST, name) if task_of(name) else None
        if row is not None and row.get("state") == RUNNING:
            return str(row["plan"]), str(row["agent"])
    return None


# --- what the blackboard shows ---------------------------------------------------------------------------------------


def _show_start(telling: Telling) -> None:
    """A task that is running again is active, and neither blocked nor completed."""
    from moot.packs.gsd import decisions

    event, name, plan = telling.event, telling.task, _plan(telling)
    telling.put("active_agents", name, {"id": event["agent"], "plan": event["plan"], "task": event["task"]})
    telling.drop("completed_tasks", name)
    phase, wave = plan.rpartition("-")[0], plan_facts(telling.work, plan).wave or None
    for key, value in (("current_phase", phase), ("current_wave", wave)):
        if telling.rows.get(key, ONLY) != value:
            telling.put(key, ONLY, value)
    _unblock(telling, plan)
    decisions.tell_starting(telling)


def _show_completion(telling: Telling) -> None:
    """`blackboard-sync`."""
    event, name = telling.event, telling.task
    telling.drop("active_agents", name)
    keys = ("plan", "task", "taskName", "agent", "commit", "duration", "timestamp")
    telling.put("completed_tasks", name, {key: event[key] for key in keys if key in event})
    if "commit" in event:
        telling.put("last_commit", ONLY, {key: event[key] for key in ("commit", "timestamp", "plan", "task")})
    _unblock(telling, _plan(telling))


def _show_failure(telling: Telling) -> None:
    """`error-handler`."""
    event, plan = telling.event, _plan(telling)
    telling.drop("active_agents", telling.task)
    telling.drop("completed_tasks", telling.task)
    if telling.rows.get("blocked_plans", plan) is None:
        telling.put("blocked_plans", plan, event["plan"])
    keys = ("plan", "task", "agent", "error", "timestamp")
    telling.put("errors", f"{telling.number:09d}", {key: event[key] for key in keys} | {"eventId": telling.number})
    said = f"Task {event['task']} of plan {event['plan']} ({event['agent']}) failed: {event['error']}"
    telling.tell((ORCHESTRATORS,), said, thread=telling.task, task=telling.task)


_SHOWS = {STARTED: _show_start, COMPLETED: _show_completion, FAILED: _show_failure}


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
    """Whether all declared tasks of the plan are completed, with no open checkpoint, or its summary exists."""
    facts = plan_facts(work, plan)
    completed = [name for name, row in of_plan(rows, plan).items() if row["state"] == AFTER[COMPLETED]]
    if facts.summary or not 0 < len(facts.tasks) <= len(completed):
        return bool(facts.summary)
    return len(facts.tasks) <= len({*completed}.difference(_asking(work, rows, plan).values()))


def show_plans(work: Work) -> None:
    """A closer: list plans as completed, or not, after their files have changed in this commit."""
    for stream in dict.fromkeys(draft.stream for draft in work.drafts if draft.stream.startswith(FILES)):
        plan = stream.split(".", 3)[3]
        show_progress(Telling(work, {"plan": plan}, by=work.by), plan)
