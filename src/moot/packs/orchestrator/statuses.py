"""What the agents are doing, as far as the log shows it, and `status.json` as a whole.

    team lead    analyzing   from the start of a task to its assignment
                 reviewing   from reading a report to the verdict
    developer    implementing   from reading its assignment to its report

Otherwise they are idle, and so is an agent of `moot run` once its driver has ended.
"""

from __future__ import annotations

from moot.api.protocol.form import Rendering
from moot.core import flat_json, strict_json
from moot.core.deciders.agent import DRIVEN
from moot.core.principal import name_of
from moot.core.record import Record
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.core.deciders.document import Document
    from moot.core.task import Task
    from moot.packs.orchestrator.status_file import StatusForm
    from moot.views.store import Store

IDLE = "idle"
DRIVER = ("/orchestrator/running", "/orchestrator/pid", "/orchestrator/startedAt")
_ASSIGNMENT, _REPORT = "task_assignment", "completion_report"


class Doing(Record):
    """What an agent is doing: on which task, and when it was last active."""

    status: str = IDLE
    task: str | None = None
    since: str = ""
    active: str = ""


def rendered(form: StatusForm, store: Store) -> Rendering:
    document: Document = states.state(store, "document", form.document)[0]
    kept = dict(document.leaves)
    shown = {pointer: kept.pop(pointer, False if pointer.endswith("running") else None) for pointer in DRIVER}
    for key, doing in agents(form, store).items():
        shown[f"/{key}/status"] = doing.status
        if key == "developer":
            shown["/developer/currentTask"] = doing.task
        shown[f"/{key}/lastActivity"] = doing.active or None
    cycle = {pointer: kept.pop(pointer) for pointer in list(kept) if pointer.partition("/lastCycle")[0] == ""}
    content = flat_json.unflatten({**shown, **(cycle or {"/lastCycle": None}), **kept}, {})
    return Rendering(data=strict_json.dump(content))


def agents(form: StatusForm, store: Store) -> dict[str, Doing]:
    """What the log shows of each agent, by the key of its entry."""
    tasks = [task for task in queries.tasks(store, ended=False) if task.lifecycle == form.spec.pack]
    running = bool(states.state(store, "document", form.document)[0].leaves.get(DRIVER[0]))
    found = {"team-lead": _lead(form, store, tasks, running), "developer": _developer(store, tasks, running)}
    return {key: found.get(role, Doing()) for key, role in form.agents.items()}


def _lead(form: StatusForm, store: Store, tasks: list[Task], running: bool) -> Doing:  # noqa: FBT001
    now, active = (
        Doing(),
        [queries.last_ended(store, form.spec.pack), _sent(store, _ASSIGNMENT), queries.last_read(store, "@team-lead")],
    )
    for task in tasks:
        if task.phase == "review":
            read, who = _read(store, task, _REPORT, "@team-lead")
            now = now if _has_ended(store, who, running) else _later(now, "reviewing", task, read)
            active.append(read)
        elif task.phase == "working":
            active.append(task.since)
            assigned = queries.messages_of_task(store, task.id, task.attempt, _ASSIGNMENT)
            if not assigned and not _has_ended(store, task.holder, running):
                now = _later(now, "analyzing", task, task.since)
        elif task.attempt > 1:
            active.append(task.since)  # it was reset
    return now.replace(active=max(filter(None, active), default=""))


def _developer(store: Store, tasks: list[Task], running: bool) -> Doing:  # noqa: FBT001
    now, active = Doing(), [_sent(store, _REPORT), queries.last_read(store, "@developer")]
    for task in tasks:
        if task.phase == "working":
            read, who = _read(store, task, _ASSIGNMENT, "@developer")
            now = now if _has_ended(store, who, running) else _later(now, "implementing", task, read)
            active.append(read)
    return now.replace(active=max(filter(None, active), default=""))


def _later(now: Doing, status: str, task: Task, since: str | None) -> Doing:
    """What began last; `since` is None if it did not begin."""
    if since is None or since < now.since:
        return now
    return now.replace(status=status, task=task.id, since=since)


def _has_ended(store: Store, who: str | None, running: bool) -> bool:  # noqa: FBT001
    """Whether this is an agent that `moot run` joined, and no driver runs."""
    return who is not None and "#" in who and not running and states.agent(store, name_of(who))[0].client == DRIVEN


def _read(store: Store, task: Task, kind: str, mailbox: str) -> tuple[str | None, str | None]:
    """When the message in force was read, and who took it. Read: acknowledged, or at least shown; None: unread."""
    sent = queries.messages_of_task(store, task.id, task.attempt, kind)
    for box, entry, offered, ended in queries.chain(store, sent[-1].id) if sent else ():
        if box == mailbox and (entry.seen or entry.taker or entry.ended):
            return max(filter(None, (offered, ended)), default=sent[-1].at), entry.taker
    return None, None


def _sent(store: Store, kind: str) -> str | None:
    last = queries.last_of_kind(store, kind)
    return last.at if last is not None else None
