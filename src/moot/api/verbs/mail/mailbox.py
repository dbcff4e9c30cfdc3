"""mailboxes, mailbox, mailbox clear, mailbox restore, instructions: the mailboxes of a protocol."""

from __future__ import annotations

from moot.api.answer import Answer, Table
from moot.api.catalogue import KEY, Param, Verb
from moot.api.message_view import ROOM, Letter, message_lines, newest_whole, of_delivery
from moot.api.protocol import missing_instructions
from moot.core import timestamps
from moot.core.deciders.mailbox import Clear, Restore
from moot.core.errors import Refused, Unknown
from moot.core.principal import label, same_agent
from moot.core.record import Record
from moot.core.task.refusals import check_messages_done, unknown
from moot.core.text import age, command_line, counted, fence, one_line
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.call import Call
    from moot.core.deciders.message import Message
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
            command = Clear(ids=tuple(d.entry.id for d in found), reason="asked", at=work.at)
            work.do("mailbox", box, command, pack=_pack(call, box))

    outcome = call.commit(act)
    ids = [i for e in outcome.events for i in e.data.get("ids", ())]
    return Answer(result={"mailbox": box, "cleared": ids}, say=(f"{box}: {counted(len(ids), 'message')} cleared.",))


def _pack(call: Call, box: str) -> str | None:
    """The pack that mirrors this mailbox."""
    return next((mirror.pack for mirror in call.packs.mirrors if mirror.mailbox.lower() == box.lower()), None)


def restore(call: Call, name: str, task: str | None) -> Answer:
    box = _known(call, call.engine.read(), name)

    def act(work: Work) -> None:
        call.actor(work)
        hidden = [d for d in queries.mailbox(work.store, box, task) if _can_return(work.store, d)]
        if hidden:
            work.do("mailbox", box, Restore(ids=tuple(d.entry.id for d in hidden)), pack=_pack(call, box))

    outcome = call.commit(act)
    ids = [i for e in outcome.events for i in e.data.get("ids", ())]
    return Answer(result={"mailbox": box, "restored": ids}, say=(f"{box}: {counted(len(ids), 'message')} restored.",))


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
    command = missing_instructions.command(call.packs, task.id)
    report = f" If you cannot continue without instructions, report that: `{command}`." if command else ""
    return Unknown(
        "no_instructions",
        f"There are no instructions for {task.id} ({how}).{cause}",
        f"Ask the agent that assigns your tasks.{report}",
        task=task.id,
        state=task.state or None,
        held=held,
    )


def report_missing(call: Call, task: str, text: str) -> Answer:
    spec = missing_instructions.type_of(call.packs)
    if spec is None:
        raise Refused(
            "no_such_report",
            "No active pack has a report of missing instructions.",
            "Ask the agent that assigns your tasks: `moot send NAME 'TEXT'`.",
        )
    pack = next(pack for pack in call.packs.packs if pack.name == spec.pack)
    store = call.engine.read()
    state, _ = states.task(store, task)
    said = [m.id for one in missing_instructions.instructing(pack) for m in _said(store, state, one.name)]
    if said:
        raise Refused(
            "instructions_exist",
            f"{task} has instructions: {said[-1]}.",
            f"Read them: `{command_line('instructions', task)}`.",
            task=task,
            message=said[-1],
        )
    stored = state.extra
    found = missing_instructions.held_instructions(pack, queries.held_entries(store), task)
    if not state.exists and found is not None:
        stored = missing_instructions.stored_fields(pack, found[1])
    data = missing_instructions.draft(spec, task, stored, text)
    return call.packs.send(call, spec.name, (), data, None, None, dry_run=False)


def _said(store: Store, task: Task, kind: str) -> list[Message]:
    return queries.messages_of_task(store, task.id, task.attempt, kind) if task.exists else []


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
        detail="If there are none, the error says so with its own code, `no_instructions`, and names the held entries "
        "for the task. `moot instructions missing` reports it.",
        writes=False,
    ),
    Verb(
        "instructions missing",
        "Report that a task has no instructions, so that it goes back to the agent or person who assigns it.",
        report_missing,
        kind="speak",
        params=(
            Param("task", "The task that you were given.", positional=True, required=True),
            Param("text", "What is missing, and where you looked.", type="words", positional=True, required=True),
            KEY,
        ),
        examples=("moot instructions missing task-001 'There is no assignment in the mailbox.'",),
        detail=(
            "Sends the report that the pack defines for this case, with your text. The task goes to review, even if "
            "it was not started yet, or if the message that would create it is held. Its reviewer sees that the "
            "instructions were missing, can reject the task with a reason, reopen it and assign it again."
        ),
    ),
)
