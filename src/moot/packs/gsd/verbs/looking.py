"""gsd phase, plan, claims, waiting, check: how the work stands, as one query each."""

from __future__ import annotations

from moot.api import catalogue
from moot.api.answer import Answer, Table
from moot.api.catalogue import Param, Verb
from moot.core.errors import Usage
from moot.core.record import Record
from moot.core.text import age, counted, one_line
from moot.engine.clock import local
from moot.packs.gsd import status, status_lines
from moot.packs.gsd.ids import phase_name, phase_of, plan_of, same_plan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from moot.api.call import Call
    from moot.packs.gsd.status_records import HeldPath, PhaseStatus, PlanStatus

_LONG = 200


class PlanDetails(Record):
    """A plan, and the decisions that affect it."""

    plan: PlanStatus
    decisions: tuple[dict[str, Any], ...]


def phase(call: Call, phase: str | None) -> Answer:
    view = status.Snapshot(call)
    if phase is None:
        found = [view.phase(name) for name in view.phases()]
        lines = tuple(status_lines.phase_title(one) for one in found)
        rows = tuple(
            (one.phase, str(one.tasks), *map(str, _counts(one)), f"{one.done}/{len(one.plans)}") for one in found
        )
        table = Table(_COUNTED, rows, title="Phases") if rows else None
        return Answer(result=found, say=lines or ("No phases yet.",), table=table)
    number = phase_of(phase)
    if number is None:
        raise Usage("bad_arguments", f"{phase!r} is not a phase such as 01 or 05.2.", "For example: moot gsd phase 01")
    one = view.phase(phase_name(number))
    lines = (status_lines.phase_title(one), *status_lines.text(status_lines.phase_lines(one)))
    return Answer(result=one, say=lines)


_COUNTED = ("phase", "tasks", "completed", "failed", "running", "stalled", "waiting", "plans done")


def _counts(one: PhaseStatus) -> tuple[int, ...]:
    return one.completed, one.failed, one.running, one.stalled, one.waiting


def plan(call: Call, plan: str) -> Answer:
    number = plan_of(plan)
    if number is None:
        raise Usage("bad_arguments", f"{plan!r} is not a plan such as 01-02.", "For example: moot gsd plan 01-02")
    found = status.known_plan(call, status.plan_status(call, plan))
    decisions = status.Snapshot(call).decisions(number.name)
    lines = [status_lines.plan_line(found)]
    lines += [status_lines.task_line(task, indent="  ") for task in found.tasks]
    lines += status_lines.needs_lines(found, indent="  ")
    lines += [status_lines.claim_line(one, indent="  ") for one in found.claims]
    said = list(status_lines.text(lines))
    said += ["  " + one_line(f"{row['id']} {row['decision']} ({row['rationale']})", 500) for row in decisions]
    said += [f"  depends on {', '.join(found.depends_on)}"] if found.depends_on else []
    ids = tuple(str(row["id"]) for row in decisions)
    result = PlanDetails(plan=found.replace(decisions=ids), decisions=decisions)
    return Answer(result=result, say=tuple(said))


def claims(call: Call, path: str | None, by: str | None, plan: str | None) -> Answer:
    if plan is not None and plan_of(plan) is None:
        raise Usage(
            "bad_arguments", f"{plan!r} is not a plan such as 01-02.", "For example: moot gsd claims --plan 01-02"
        )
    wanted = _relative(call, path) if path is not None else None
    found = [
        one
        for one in status.Snapshot(call).claims
        if (wanted is None or one.path == wanted)
        and (by is None or one.agent == by)
        and (plan is None or same_plan(one.plan, plan))
    ]
    rows = tuple(_claim(one) for one in found)
    lines = tuple(f"{row[0]} {row[1]}{row[2] and f' of {row[2]}'} since {row[3]}, ends {row[4]}" for row in rows)
    nobody = f"Nobody holds {one_line(wanted, _LONG)}." if wanted is not None else "No claims."
    headings = ("path", "agent", "plan", "since", "ends", "task")
    table = Table(headings, rows, title=f"Claims: {counted(len(rows), 'path')}") if rows else None
    return Answer(result=found, say=lines or (nobody,), table=table)


def _relative(call: Call, path: str) -> str:
    """The path as the blackboard has it: from the root of the project."""
    from moot.api.protocol.content import relative
    from moot.place import worktrees

    roots = [tree.root for tree in worktrees(call.place)]
    return relative(path, roots) or path


def _claim(one: HeldPath) -> tuple[str, ...]:
    ends = "by release only" if one.expires_in is None else f"after {age(max(one.expires_in, 0.0))} without an event"
    task = "" if one.task is None else str(one.task)
    shown = (one.path, one.agent, one.plan, local(one.since), ends, task)
    return tuple(one_line(text, _LONG) for text in shown)


def waiting(call: Call) -> Answer:
    found = status.Snapshot(call).waiting()
    rows = tuple(row for one in found for row in status_lines.waiting_rows(one))
    lines = tuple(
        f"{name} waits for {what} since {since}" if since else f"{name} is {what}" for name, what, since in rows
    )
    table = Table(("plan", "waits for", "since"), rows, title="Waiting plans") if rows else None
    return Answer(result=found, say=lines or ("No plan waits.",), table=table)


def check(call: Call) -> Answer:
    """`moot pack check gsd`."""
    found: Answer = catalogue.find("pack check").does(call, name="gsd")
    return found


CHECK = Verb(
    "gsd check",
    "Check the files of the blackboard, the plans and the configuration. Changes nothing.",
    check,
    kind="look",
    examples=("moot gsd check",),
    detail=(
        "The same as `moot pack check gsd`: each blackboard file, plan and configuration that cannot be read, and each "
        "entry that is not valid. The exit code is 0 without problems, otherwise 6."
    ),
    writes=False,
    quiet=True,
    past=False,
)
PHASE = Verb(
    "gsd phase",
    "Show a phase: its plans by wave, their tasks, claims and missing artifacts.",
    phase,
    kind="look",
    params=(Param("phase", "Such as 01 or 05.2. Default: list all phases.", positional=True),),
    examples=("moot gsd phase 01", "moot gsd phase", "moot gsd phase 01 --json"),
    detail=(
        "A task is planned, running, completed, failed, waiting (for the user) or stalled (its agent has sent no event "
        "for longer than stalled_after of [pack.gsd]). Its latest run counts. With --json, `completed` is the number "
        "of completed tasks."
    ),
    writes=False,
)
PLAN = Verb(
    "gsd plan",
    "Show a plan: its tasks, what it needs and holds, and the decisions that affect it.",
    plan,
    kind="look",
    params=(Param("plan", "Such as 01-02.", positional=True, required=True),),
    examples=("moot gsd plan 01-02",),
    writes=False,
)
CLAIMS = Verb(
    "gsd claims",
    "Show who holds a path, or what an agent or a plan holds, with age and expiry.",
    claims,
    kind="look",
    params=(
        Param("path", "Only this path, from the root of the project.", positional=True),
        Param("by", "Only paths of agents with this name."),
        Param("plan", "Only paths of this plan."),
    ),
    examples=("moot gsd claims src/api/users.ts", "moot gsd claims --plan 01-02", "moot gsd claims --by gsd-executor"),
    writes=False,
)
WAITING = Verb(
    "gsd waiting",
    "List the plans that wait for artifacts or other plans, and blocked plans with the reason.",
    waiting,
    kind="look",
    examples=("moot gsd waiting",),
    writes=False,
)
