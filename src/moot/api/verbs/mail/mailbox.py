"""mailbox, mailbox clear, mailbox restore, instructions: the mailboxes that a protocol mirrors into files."""

from __future__ import annotations

from moot.api.answer import Answer
from moot.api.catalogue import KEY, Param, Verb
from moot.api.message_view import ROOM, Letter, message_lines, newest_whole, of_delivery
from moot.core.deciders.mailbox import Clear, Restore
from moot.core.errors import Refused, Unknown
from moot.core.principal import same_agent
from moot.core.record import Record
from moot.core.task.refusals import check_messages_done, unknown
from moot.core.text import counted, fence, one_line
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.call import Call
    from moot.core.task import Step, Task
    from moot.engine.unit_of_work import Work
    from moot.views.queries import Delivery
    from moot.views.store import Store

_BY_HAND = ("emptied", "asked")  # clears that may be accidental; readers still see what they hide


class MailboxView(Record):
    """A mailbox. For one task: the messages of its current attempt, of which the newest is in force."""

    name: str
    last_read: str | None
    messages: tuple[Letter, ...]
    in_force: str | None = None


class Instructions(Record):
    """The messages of a task's current attempt. The newest one is in force."""

    task: str
    state: str
    attempt: int
    in_force: str
    messages: tuple[Letter, ...]
    setbacks: tuple[Step, ...] = ()  # rejections of earlier attempts


def mailbox(call: Call, name: str | None, task: str | None, all: bool) -> Answer:  # noqa: A002
    store = call.engine.read()
    box = _known(call, store, name)
    found = queries.mailbox(store, box, task)
    attempt = states.task(store, task)[0].attempt if task else 0
    current = [d for d in found if d.message.attempt == attempt]
    if task and not all:
        found = [d for d in found if d.message.attempt in (None, attempt)]
    listed = [d for d in found if all or _visible(store, d, of_task=bool(task))]
    letters = newest_whole(map(of_delivery, listed))
    in_force = current[-1].entry.id if current else None
    result = MailboxView(name=box, last_read=queries.last_read(store, box), messages=letters, in_force=in_force)
    lines = [f"{box}: {counted(len(letters), 'message')}, last read {one_line(result.last_read or 'never', 40)}"]
    lines += [f"in force: {in_force}"] if in_force else []
    for item in letters:
        hidden = f", cleared ({one_line(item.hidden, 80)})" if item.hidden else ""
        lines += [f"[{_read(item)}{hidden}]", *message_lines(item, ROOM)]
    return Answer(result=result, say=tuple(lines))


def _visible(store: Store, delivery: Delivery, *, of_task: bool) -> bool:
    """Whether to list it. A message cleared by hand is still listed if it is unread, or if its task is asked for."""
    entry = delivery.entry
    return entry.hidden is None or (_can_return(store, delivery) and (of_task or not entry.settled))


def _can_return(store: Store, delivery: Delivery) -> bool:
    """Whether it was cleared by hand and is still relevant: its task is not done and has no newer attempt."""
    task = states.task(store, delivery.message.task or "")[0]
    matters = not task.exists or (task.phase != "done" and delivery.message.attempt in (None, task.attempt))
    return delivery.entry.hidden in _BY_HAND and matters


def _read(item: Letter) -> str:
    return f"read by {one_line(item.taker, 80)}" if item.taker else "unread"


def _known(call: Call, store: Store, name: str | None) -> str:
    if name is None:
        return call.mailboxes()[-1]
    boxes = _mine(call)
    known = {f"@{role}" for role in call.packs.shared_roles}
    known |= {agent.name for agent in queries.agents(store)} | set(boxes)
    match = next((box for box in known if box.lower() == name.lower()), None)
    if match is None:
        raise Unknown("unknown_mailbox", f"There is no mailbox {name[:80]!r}.", f"Known: {', '.join(sorted(known))}.")
    return match


def _mine(call: Call) -> tuple[str, ...]:
    """The caller's mailboxes; empty for a caller without an identity."""
    return () if call.caller.nobody else call.mailboxes()


def clear(call: Call, name: str, task: str | None, force: bool) -> Answer:
    box = _known(call, call.engine.read(), name)

    def act(work: Work) -> None:
        call.actor(work)
        found = [d for d in queries.mailbox(work.store, box, task) if d.entry.hidden is None]
        for about in dict.fromkeys(d.message.task for d in found):
            if about and not force:
                check_messages_done(work.task(about))
        if found:
            work.do("mailbox", box, Clear(ids=tuple(d.entry.id for d in found), reason="asked", at=work.at))

    outcome = call.commit(act)
    ids = [i for e in outcome.events for i in e.data.get("ids", ())]
    return Answer(result={"mailbox": box, "cleared": ids}, say=(f"{box}: {counted(len(ids), 'message')} cleared.",))


def restore(call: Call, name: str, task: str | None) -> Answer:
    box = _known(call, call.engine.read(), name)

    def act(work: Work) -> None:
        call.actor(work)
        hidden = [d for d in queries.mailbox(work.store, box, task) if _can_return(work.store, d)]
        if hidden:
            work.do("mailbox", box, Restore(ids=tuple(d.entry.id for d in hidden)))

    outcome = call.commit(act)
    ids = [i for e in outcome.events for i in e.data.get("ids", ())]
    return Answer(result={"mailbox": box, "restored": ids}, say=(f"{box}: {counted(len(ids), 'message')} restored.",))


def instructions(call: Call, task: str | None) -> Answer:
    box = next((b for b in _mine(call) if b.startswith("@")), call.packs.instructed)
    name = task or _current(call, box)
    state, _ = states.task(call.engine.read(), name)
    if not state.exists:
        raise unknown(name, queries.task_ids(call.engine.store))
    found = [d for d in queries.mailbox(call.engine.store, box, name) if d.message.attempt == state.attempt]
    if not found:
        raise _none(call, state)
    letters = tuple(of_delivery(d) for d in found)
    result = Instructions(
        task=name,
        state=state.state,
        attempt=state.attempt,
        in_force=letters[-1].id,
        messages=letters,
        setbacks=state.setbacks,
    )
    lines = [f"{name} {state.state}, attempt {state.attempt}; in force: {result.in_force}"]
    for step in state.setbacks:
        lines += _sent_back(step)
    lines += [line for item in letters for line in message_lines(item)]
    return Answer(result=result, say=tuple(lines))


def _sent_back(step: Step) -> list[str]:
    """The complete reason of a rejection, because the next attempt has to address it."""
    said, reason = f"attempt {step.attempt} was sent back:", step.reason or ""
    short = one_line(reason, 200)
    return [f"{said} {short}"] if short == reason else [said, *fence(reason).splitlines()]


def _current(call: Call, box: str) -> str:
    """The task the caller works on: its last messages went to this mailbox, and the caller took them."""
    call.mailboxes()  # refuses a caller without an identity
    me = call.me()
    store = call.engine.read()
    waiting = {t.id: found for t in queries.tasks(store, ended=False) if (found := _last_told(store, box, t))}
    mine = [name for name, found in waiting.items() if me and _taken_by(me.principal, found)]
    if len(mine) == 1:
        return mine[0]
    candidates = mine or list(waiting)
    why = f"You have {len(mine)} tasks in hand" if mine else "You have no task in hand"
    raise Refused(
        "no_current_task",
        f"{why}.",
        f"Name one: moot instructions TASK. Candidates: {', '.join(candidates) or 'none'}.",
        candidates=candidates,
    )


def _last_told(store: Store, box: str, task: Task) -> list[Delivery]:
    """The messages of the task's attempt in this mailbox, if the last message of the attempt went to it."""
    said = queries.messages_of_task(store, task.id, task.attempt)
    if not said or box not in said[-1].to:
        return []
    return [d for d in queries.mailbox(store, box, task.id) if d.message.attempt == task.attempt]


def _taken_by(principal: str, found: list[Delivery]) -> bool:
    return any(d.entry.taker is not None and same_agent(d.entry.taker, principal) for d in found)


def _none(call: Call, task: Task) -> Unknown:
    held = [entry for entry in queries.held_entries(call.engine.store) if entry.task == task.id]
    cause = f" Held for it: {', '.join(entry.id for entry in held)} (`moot held show`)." if held else ""
    return Unknown(
        "no_instructions",
        f"There are no instructions for {task.id} ({task.state}, attempt {task.attempt}).{cause}",
        "Ask the agent that assigns your tasks. If you cannot continue without instructions, report that.",
        task=task.id,
        state=task.state,
        held=[entry.id for entry in held],
    )


_TASK = Param("task", "Only messages of this task.")

VERBS = (
    Verb(
        "mailbox",
        "Show a mailbox: its messages in order of arrival, and who read each.",
        mailbox,
        kind="look",
        params=(
            Param("name", "An agent's name or @role. Default: your role's mailbox, or your own.", positional=True),
            _TASK,
            Param("all", "Include cleared messages.", type="flag"),
        ),
        examples=("moot mailbox @reviewer",),
        writes=False,
    ),
    Verb(
        "mailbox clear",
        "Remove messages from a protocol's file. They stay in the log.",
        clear,
        kind="own",
        params=(
            Param("name", "The mailbox.", positional=True, required=True),
            _TASK,
            Param("force", "Include messages of tasks that are not completed.", type="flag"),
            KEY,
        ),
        examples=("moot mailbox clear @reviewer --task task-001 --force",),
    ),
    Verb(
        "mailbox restore",
        "Restore messages that a clear removed from the file.",
        restore,
        kind="own",
        params=(Param("name", "The mailbox.", positional=True, required=True), _TASK, KEY),
        examples=("moot mailbox restore @reviewer",),
    ),
    Verb(
        "instructions",
        "Show your instructions: the messages of a task's current attempt.",
        instructions,
        kind="look",
        params=(Param("task", "The task. Default: the task you hold.", positional=True),),
        examples=("moot instructions task-001",),
        writes=False,
    ),
)
