"""mailboxes, mailbox, instructions: the mailboxes of a protocol."""

from __future__ import annotations

from moot.api.answer import Answer, Table
from moot.api.catalogue import Param, Verb
from moot.api.message_view import ROOM, Letter, message_lines, newest_whole, of_delivery
from moot.core import timestamps
from moot.core.errors import Refused, Unknown
from moot.core.principal import label, same_agent
from moot.core.record import Record
from moot.core.task.refusals import unknown
from moot.core.text import age, counted, fence, one_line
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.call import Call
    from moot.core.task import Step, Task
    from moot.views.queries import Delivery
    from moot.views.store import Store


class MailboxView(Record):
    """A mailbox. For one task: the messages of its current attempt, of which the newest is in force."""

    name: str
    last_read: str | None
    messages: tuple[Letter, ...]
    in_force: str | None = None


class UnreadMessage(Record):
    """A message that nobody has confirmed yet. `age`: in seconds."""

    id: str
    type: str
    sender: str
    task: str | None
    at: str
    age: float


class UnreadMail(Record):
    """A mailbox, and its unread messages, oldest first."""

    name: str
    last_read: str | None
    unread: tuple[UnreadMessage, ...]


class Instructions(Record):
    """The messages of a task's current attempt. The newest one is in force."""

    task: str
    state: str
    attempt: int
    in_force: str
    messages: tuple[Letter, ...]
    setbacks: tuple[Step, ...] = ()  # rejections of earlier attempts


def mailboxes(call: Call) -> Answer:
    store, now = call.engine.read(), call.clock.wall_seconds()
    found = [
        UnreadMail(
            name=box,
            last_read=queries.last_read(store, box),
            unread=tuple(_unread(d, now) for d in queries.inbox(store, (box,)) if _visible(store, d, of_task=False)),
        )
        for box in (f"@{role.name}" for pack in call.packs.packs for role in pack.roles if role.delivery == "one")
    ]
    if not found:
        raise Refused("no_mailboxes", "No active pack has mailboxes.", "`moot inbox` shows your mail.")
    lines: list[str] = []
    rows: list[tuple[str, ...]] = []
    for box in found:
        lines.append(f"{box.name}: {len(box.unread)} unread, last read {one_line(box.last_read or 'never', 40)}")
        for one in box.unread:
            row = (one.id, one.type, one.sender, one_line(one.task or "", 80), age(one.age))
            about = f" about {row[3]}" if row[3] else ""
            lines.append(f"  {row[0]} {row[1]} from {row[2]}{about}, {row[4]} old")
            rows.append((box.name, *row))
    table = Table(("mailbox", "message", "type", "from", "task", "age"), tuple(rows), title="Unread") if rows else None
    return Answer(result=found, say=tuple(lines), table=table)


def _unread(delivery: Delivery, now: float) -> UnreadMessage:
    message = delivery.message
    return UnreadMessage(
        id=message.id,
        type=message.kind,
        sender=label(message.sender),
        task=message.task,
        at=message.at,
        age=round(max(0.0, now - (timestamps.parse(message.at) or now)), 3),
    )


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
    """Whether to list it. One whose file was emptied is still listed if it is unread, or with its task."""
    entry = delivery.entry
    return entry.hidden is None or (_can_return(store, delivery) and (of_task or not entry.settled))


def _can_return(store: Store, delivery: Delivery) -> bool:
    """Whether its file was emptied and it is still relevant: its task is not done and has no newer attempt."""
    task = states.task(store, delivery.message.task or "")[0]
    matters = not task.exists or (task.phase != "done" and delivery.message.attempt in (None, task.attempt))
    return delivery.entry.hidden == "emptied" and matters


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


def instructions(call: Call, task: str | None) -> Answer:
    box = next((b for b in _mine(call) if b.startswith("@")), call.packs.instructed)
    name = task or _current(call, box)
    state, _ = states.task(call.engine.read(), name)
    if not state.exists and not _held_for(call, name):
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


def _held_for(call: Call, task: str) -> list[str]:
    """The held entries that name a task, which need not exist."""
    return [entry.id for entry in queries.held_entries(call.engine.store) if entry.task == task]


def _none(call: Call, task: Task) -> Unknown:
    held = _held_for(call, task.id)
    cause = f" Held for it: {', '.join(held)} (`moot held show`)." if held else ""
    how = f"{task.state}, attempt {task.attempt}" if task.exists else "which does not exist yet"
    return Unknown(
        "no_instructions",
        f"There are no instructions for {task.id} ({how}).{cause}",
        "Ask the agent that assigns your tasks, or report that they are missing.",
        task=task.id,
        state=task.state or None,
        held=held,
    )


_TASK = Param("task", "Only messages of this task.")

VERBS = (
    Verb(
        "mailboxes",
        "List the mailboxes of packs with their unread messages: how old each is, and its task.",
        mailboxes,
        kind="look",
        examples=("moot mailboxes",),
        detail="A message is unread until a reader confirms it, with `moot ack` or in the protocol's file. Messages of "
        "completed tasks and of earlier attempts are not listed.",
        writes=False,
    ),
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
        "instructions",
        "Show your instructions: the messages of a task's current attempt.",
        instructions,
        kind="look",
        params=(Param("task", "The task. Default: the task you hold.", positional=True),),
        examples=("moot instructions task-001",),
        detail="If there are none, the error says so with its own code, `no_instructions`, and names the held entries "
        "for the task.",
        writes=False,
    ),
)
