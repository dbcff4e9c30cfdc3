"""task add, link, claim, submit, approve, …: the verbs that change a task."""

from __future__ import annotations

from moot.api.catalogue import KEY, Param, Verb
from moot.api.verbs.tasks.answers import task_of, told, with_files
from moot.api.verbs.tasks.claiming import claim, end_idle_assignment
from moot.core.deciders.graph import Link, Unlink
from moot.core.errors import Usage
from moot.core.ids import chosen, number_of
from moot.core.lifecycle import CORE
from moot.core.task import PRIORITIES, Added, AddTask, BlockTask, MoveTask, ReadyTask, refusals
from moot.core.text import command_line, option
from moot.views import queries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from moot.api.answer import Answer
    from moot.api.call import Call
    from moot.api.receipts import ReceiptProof
    from moot.engine.unit_of_work import Work

_LONGEST_TTL = 365 * 24 * 3600.0
_ADD_EXAMPLE = "For example: moot task add 'Write the parser'"


def add(
    call: Call,
    title: str | None,
    id: str | None,  # noqa: A002
    body: str | None,
    needs: tuple[str, ...],
    priority: str,
    no_review: bool,
    ttl: float | None,
    lifecycle: str | None,
    doing: str | None,
    from_: str | None,
    dry_run: bool,
) -> Answer:
    made = ""
    check_ttl(ttl)
    if title is not None and id is None and lifecycle is None and (known := call.packs.task_id(title)) is not None:
        id, lifecycle = known  # noqa: A001
    common = AddTask(
        title=title or "",
        creator="",
        body=body or "",
        priority=priority,
        review=call.settings.task_review and not no_review,
        ttl=ttl if ttl is not None else call.settings.task_ttl,
        lifecycle=lifecycle or call.settings.task_lifecycle,
        extra={"activeForm": doing} if doing else {},
    )
    if from_ is not None:
        if title is not None or id is not None or body is not None or needs:
            raise Usage("bad_arguments", "--from takes title, body and needs from the plan.", "Omit them, and --id.")
        from moot.api.verbs.tasks.planning import add_from

        return add_from(call, from_, common, dry_run=dry_run)
    if title is None:
        raise Usage("bad_arguments", "`task add` needs TITLE (what to do, in one line) or --from.", _ADD_EXAMPLE)

    def act(work: Work) -> None:
        nonlocal made
        made = chosen(id, "task") if id is not None else next_id(work)
        actor = call.actor(work)
        waits = tuple(need for need in dict.fromkeys(needs) if work.known_task(need).phase != "done")
        command = common.replace(creator=actor.principal, needs=tuple(dict.fromkeys(needs)), waits=waits)
        work.do("task", made, command)
        if needs:
            work.do("graph", "", Link(task=made, needs=needs))

    if dry_run:
        from moot.api.dry_run import dry_run as dry_run_of

        return dry_run_of(call, act)
    outcome = call.commit(act)
    return told(call, outcome, task_of(outcome) or made, "added")


def check_ttl(ttl: float | None) -> None:
    if ttl is not None and not 0 < ttl <= _LONGEST_TTL:
        raise Usage("bad_ttl", f"{ttl} s is not a valid ttl.", "Use more than 0 and at most 365d.")


def next_id(work: Work) -> str:
    """One more than the highest number ever used, with at least three digits."""
    added = (number_of(draft.stream.partition("/")[2]) for draft in work.drafts if draft.type == Added.type)
    number = max([queries.highest_number(work.store), *added]) + 1
    while work.task(f"task-{number:03d}").exists:  # ids that the counter does not include
        number += 1
    return f"task-{number:03d}"


def link(call: Call, task: str, needs: tuple[str, ...]) -> Answer:
    def act(work: Work) -> None:
        call.actor(work)
        refusals.check_goes_on(work.known_task(task))
        waits = tuple(need for need in needs if work.known_task(need).phase != "done")
        work.do("graph", "", Link(task=task, needs=needs))
        work.do("task", task, BlockTask(on=waits))

    return told(call, call.commit(act), task, f"needs {', '.join(needs)}")


def unlink(call: Call, task: str, needs: tuple[str, ...]) -> Answer:
    def act(work: Work) -> None:
        call.actor(work)
        work.known_task(task)
        work.do("graph", "", Unlink(task=task, needs=needs))
        for need in needs:
            work.do("task", task, ReadyTask(done=need))

    return told(call, call.commit(act), task, f"no longer needs {', '.join(needs)}")


def _mover(verb: str) -> Callable[..., Answer]:
    def move(call: Call, task: str, reason: str | None, **given: Any) -> Answer:
        return moved(call, task, verb, reason=reason, **given)

    return move


def moved(
    call: Call,
    task: str,
    verb: str | None,
    *,
    reason: str | None,
    to: str = "",
    token: int | None = None,
    report: str | None = None,
    override: bool = False,
    receipt: str | None = None,
    owner: str | None = None,
) -> Answer:
    """Move the task along an edge of its lifecycle: the edge of this verb, or the edge that leads `to` a state."""
    proof = _proof(call, task, verb, to, receipt)

    def act(work: Work) -> None:
        actor = call.actor(work)
        state = work.known_task(task)
        taken = verb or refusals.verb_to(work.lifecycle(state.lifecycle), state, to)
        edge = work.lifecycle(state.lifecycle).edge(taken, state.state)
        if edge is not None and edge.holds == "actor":
            end_idle_assignment(work, state, actor)
        flags = call.packs.move(work, state, taken, reason)
        command = MoveTask(
            verb=taken,
            actor=actor,
            reason=reason,
            token=token,
            judged=report,
            override=override,
            flags=flags,
            owner=_owner(work, owner),
            receipt=proof.checked(work) if proof else None,
        )
        work.do("task", task, command)

    outcome = call.commit(act)
    answer = with_files(call, outcome, told(call, outcome, task, "is", moved=True))
    if answer.result.phase == "stopped":
        for name in queries.dependents(call.engine.store, task):
            unlink = command_line("task unlink", name, options=option("--needs", task))
            call.warn("blocked_for_good", f"{name} still depends on it. To remove the dependency: `{unlink}`")
    return answer


def _owner(work: Work, name: str | None) -> str | None:
    """The principal of the agent that gets the task."""
    return work.actor(name, None).principal if name is not None else None


def _proof(call: Call, task: str, verb: str | None, to: str, given: str | None) -> ReceiptProof | None:
    """The given receipt, or the receipt of the task if the lifecycle requires one."""
    demands = any("receipt" in e.needs for life in call.engine.lifecycles.values() for e in life.edges)
    if given is None and not demands:
        return None
    from moot.api.receipts import proof

    return proof(call, task, verb, to, given)


def move(call: Call, task: str, state: str, reason: str | None, owner: str | None) -> Answer:
    return moved(call, task, None, to=state, reason=reason, owner=owner)


_TASK = Param("task", "The task.", positional=True, required=True)
_REASON = Param("reason", "Why; recorded with the task.")
_TOKEN = Param("token", "Your fencing token; refused if it is no longer the current one.", type="int")
_REPORT = Param("report", "The report that you reviewed; refused if there is a newer one.")
_RECEIPT = Param(
    "receipt", "A receipt of a check (see `moot check`) that passed on the current files; `last` is your newest."
)
_OVERRIDE = Param("override", "Exceed the limit of attempts.", type="flag", person=True)


def _move_verb(verb: str, summary: str, *more: Param, example: str) -> Verb:
    required = any(edge.verb == verb and "reason" in edge.needs for edge in CORE.edges)
    reason = _REASON.replace(expected=True) if required else _REASON
    return Verb(
        f"task {verb}", summary, _mover(verb), kind="own", params=(_TASK, reason, *more, KEY), examples=(example,)
    )


VERBS = (
    Verb(
        "task add",
        "Add a task, or the tasks of a plan.",
        add,
        kind="own",
        params=(
            Param("title", "What to do, in one line.", positional=True),
            Param("id", "Its id (letters, digits, '.', '_', '-'). Default: the next number."),
            Param("body", "Details.", type="words"),
            Param("needs", "A task that must be done first (repeatable).", many=True),
            Param("priority", "critical, high, medium or low.", default="medium", choices=PRIORITIES),
            Param("no_review", "The holder can complete it without review.", type="flag"),
            Param("ttl", "How long the holder may be silent before another agent can take it.", type="seconds"),
            Param("lifecycle", "`core`, or a lifecycle of an active pack."),
            Param("doing", "What its holder is doing, to show it while the task is in progress."),
            Param("from_", "Add the unchecked boxes of this Markdown file, or - for standard input.", limit=4096),
            Param("dry_run", "Only show what would be added.", type="flag"),
            KEY,
        ),
        examples=(
            "moot task add 'Write the parser' --priority high",
            "moot task add 'Test it' --needs task-001",
            "moot task add --from plan.md --dry-run",
        ),
        detail=(
            "In a plan, `- [ ] Title` is a task, and `- [x] Title` is done and skipped. A box that is indented below "
            "another one is needed by it: the outer task waits for the inner ones. Indented text is the body, and an "
            "indented line `needs: A, B` names other boxes by title or tasks by id; so does `(needs: A, B)` at the end "
            "of a box's own line. Headings and other text are ignored. All tasks are added in one commit, or none. A "
            "plan can be added again: only boxes that are new become tasks, and new dependencies of open tasks are "
            "added. A body that changed is named, with the command. A box is known by its title and those above it, "
            "in whichever file, so a new title is a new task."
        ),
    ),
    Verb(
        "task link",
        "Add dependencies to a task. A cycle is refused and shown.",
        link,
        kind="own",
        params=(_TASK, Param("needs", "A task that it depends on (repeatable).", many=True, required=True), KEY),
        examples=("moot task link task-002 --needs task-001",),
    ),
    Verb(
        "task unlink",
        "Remove dependencies from a task.",
        unlink,
        kind="own",
        params=(
            _TASK,
            Param("needs", "A task that it no longer depends on (repeatable).", many=True, required=True),
            KEY,
        ),
        examples=("moot task unlink task-002 --needs task-001",),
    ),
    Verb(
        "task claim",
        "Claim a task: the named one, or the most urgent one that is ready.",
        claim,
        kind="own",
        params=(Param("task", "The task. Default: the next one that is ready.", positional=True), KEY),
        examples=("moot task claim", "moot task claim task-001"),
        detail=(
            "At most one agent holds a task. A holder that is silent for longer than the task's ttl loses it to the "
            "next agent that claims it. In a pack's lifecycle, this verb starts a task."
        ),
    ),
    _move_verb("submit", "Submit your work for review.", _TOKEN, _RECEIPT, example="moot task submit task-001"),
    _move_verb(
        "approve", "Approve what another agent submitted.", _REPORT, _RECEIPT, example="moot task approve task-001"
    ),
    _move_verb(
        "reject",
        "Send a task back; requires a reason.",
        _REPORT,
        example="moot task reject task-001 --reason 'No test for empty input.'",
    ),
    _move_verb(
        "reopen",
        "Reopen a finished or stopped task as a new attempt.",
        _OVERRIDE,
        example="moot task reopen task-001 --reason 'Broken on main.'",
    ),
    _move_verb(
        "complete", "Finish a task that needs no review.", _TOKEN, _RECEIPT, example="moot task complete task-001"
    ),
    _move_verb(
        "fail",
        "Report that a task cannot be done.",
        _TOKEN,
        example="moot task fail task-001 --reason 'The API is gone.'",
    ),
    _move_verb("cancel", "Cancel a task.", example="moot task cancel task-001 --reason 'Not needed any more.'"),
    _move_verb("release", "Release a task unfinished.", _TOKEN, example="moot task release task-001"),
    Verb(
        "task move",
        "Move a task to a state of its lifecycle, or apply a verb of a pack's lifecycle.",
        move,
        kind="own",
        params=(
            _TASK,
            Param("state", "The target state, or a verb of its lifecycle.", positional=True, required=True),
            _REASON,
            Param("owner", "The agent that gets the task, if the verb assigns it to an owner."),
            KEY,
        ),
        examples=("moot task move task-001 review",),
        detail="`moot task show` lists the possible verbs and the states they lead to.",
    ),
)
