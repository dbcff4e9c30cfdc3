"""task edit, task note, task assign: change a task without moving it."""

from __future__ import annotations

from moot.api.catalogue import KEY, Param, Verb
from moot.api.verbs.tasks.answers import told
from moot.api.verbs.tasks.tasks import check_ttl
from moot.core.deciders.agent import known
from moot.core.errors import Usage
from moot.core.task import PRIORITIES, AssignTask, EditTask, NoteTask
from moot.core.task.changes import NOTE_LIMIT
from moot.core.task.leases import has_lapsed
from moot.core.text import age
from moot.views import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.answer import Answer
    from moot.api.call import Call
    from moot.engine.unit_of_work import Work


def edit(call: Call, task: str, title: str | None, body: str | None, priority: str | None, ttl: float | None) -> Answer:
    if title is None and body is None and priority is None and ttl is None:
        raise Usage(
            "bad_arguments", "`task edit` needs something to change.", "For example: --title 'Write the lexer'."
        )
    check_ttl(ttl)

    def act(work: Work) -> None:
        actor = call.actor(work)
        work.known_task(task)
        work.do("task", task, EditTask(actor=actor, title=title, body=body, priority=priority, ttl=ttl))

    outcome = call.commit(act)
    return told(call, outcome, task, "edited" if outcome.events else "not changed")


def note(call: Call, task: str, text: str) -> Answer:
    def act(work: Work) -> None:
        actor = call.actor(work)
        work.known_task(task)
        work.do("task", task, NoteTask(actor=actor, text=text))

    return told(call, call.commit(act), task, "noted")


def assign(call: Call, task: str, agent: str | None, nobody: bool) -> Answer:
    if nobody == (agent is not None):
        raise Usage(
            "bad_arguments",
            "`task assign` needs an agent or --nobody.",
            "For example: moot task assign task-001 Bishop",
        )

    def act(work: Work) -> None:
        actor = call.actor(work)
        work.known_task(task)
        command = AssignTask(actor=actor, to=None)
        if agent is not None:
            state = known(work.agent(agent), work.agents)
            command = command.replace(to=state.name, roles=state.roles, gone=state.gone)
        work.do("task", task, command)

    outcome = call.commit(act)
    to = states.agent(call.engine.read(), agent)[0].name if agent is not None else "nobody"
    answer = told(call, outcome, task, f"assigned to {to}")
    _warn_of_silence(call, agent, answer.result.ttl)
    return answer


def _warn_of_silence(call: Call, agent: str | None, ttl: float) -> None:
    """The assignment does not hold while its agent is silent."""
    state = states.agent(call.engine.read(), agent)[0] if agent is not None else None
    silent = call.silent_for(state.principal) if state is not None and state.here else None
    if state is not None and silent is not None and has_lapsed(silent, ttl):
        call.warn(
            "agent_silent",
            f"{state.name} has been silent for {age(silent)}. Until it is active, other agents can claim the task.",
        )


_TASK = Param("task", "The task.", positional=True, required=True)

VERBS = (
    Verb(
        "task edit",
        "Change the title, body, priority or ttl of a task.",
        edit,
        kind="own",
        params=(
            _TASK,
            Param("title", "What to do, in one line."),
            Param("body", "Details.", type="words"),
            Param("priority", "critical, high, medium or low.", choices=PRIORITIES),
            Param("ttl", "How long the holder may be silent before another agent can take it.", type="seconds"),
            KEY,
        ),
        examples=("moot task edit task-001 --priority high",),
        detail=(
            "For its creator, its holder and people; the holder cannot change the ttl. A task that has ended can be "
            "edited only by a person. If another agent holds the task, it gets a note. To change what a task needs, "
            "use `moot task link` and `moot task unlink`."
        ),
    ),
    Verb(
        "task note",
        "Add a comment to a task.",
        note,
        kind="speak",
        params=(
            _TASK,
            Param(
                "text",
                "The comment.",
                type="words",
                positional=True,
                required=True,
                limit=NOTE_LIMIT,
            ),
            KEY,
        ),
        examples=("moot task note task-001 'The grammar is in docs/grammar.md.'",),
        detail="`moot task show` shows it. If another agent holds the task, it also gets the comment as mail.",
    ),
    Verb(
        "task assign",
        "Assign an open task to an agent: no other can claim it next.",
        assign,
        kind="own",
        params=(
            _TASK,
            Param("agent", "The agent.", positional=True, limit=200),
            Param("nobody", "End the assignment.", type="flag"),
            KEY,
        ),
        examples=("moot task assign task-001 Bishop", "moot task assign task-001 --nobody"),
        detail=(
            "The agent gets a note, and claims the task with `moot task claim`. Once assigned, only the creator of the "
            "task, the agent that assigned it, the assigned agent or a person can change that. If the assigned agent "
            "leaves, or is silent for longer than the task's ttl, others can claim the task."
        ),
    ),
)
