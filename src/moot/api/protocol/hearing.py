"""Takes a message of a pack into the log: checks it, creates or moves its task, stores it.

    prepared    checks the sender and the schema, sets the timestamp, makes paths relative
    accepted    raises one error with all defects, if there are any
    deliver     creates or moves the task, and stores the message for its recipients

A pack with code of its own calls these three and adds its own checks in between.
"""

from __future__ import annotations

from moot.api.protocol import LAST, content
from moot.core import typed_messages as rules
from moot.core.deciders.mailbox import AnswerMessage
from moot.core.deciders.message import SendMessage
from moot.core.errors import Refused
from moot.core.schema import Defect, defects
from moot.core.schema.phrases import NOTHING, shown
from moot.core.task import AddTask, MoveTask
from moot.core.text import counted
from moot.views import queries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from moot.api.protocol import MessageType, Pack, Protocol, Saying
    from moot.core.deciders.message import Message
    from moot.core.principal import Actor
    from moot.core.task import Task
    from moot.engine.unit_of_work import Work

_MESSAGE = "Correct all of them and send it again; `--dry-run` checks without sending."
_EVENT = "Correct all of them and emit it again."


def hear(work: Work, protocol: Protocol, saying: Saying) -> None:
    """The default for packs without code for it."""
    saying = prepared(work, saying)
    deliver(work, protocol, accepted(protocol.pack, saying, content.too_deep(saying.data)))


def prepared(work: Work, saying: Saying) -> Saying:
    """The message with its timestamp, with relative paths, and with the defects found so far."""
    spec, data = saying.spec, content.unmarked(saying.spec, saying.data)
    if saying.source is None:
        rules.check_sender(spec.name, spec.senders, saying.sender, also_people="person" in spec.also)
        if spec.stamp and spec.stamp not in data:
            data[spec.stamp] = work.at
    data, outside = content.normalise_paths(data, spec.paths, saying.roots)
    found = [*defects(spec.schema, data), *outside]
    found += [wrong for wrong in _unnamed(spec, data) if all(one.path != wrong.path for one in found)]
    return saying.replace(data=data, given=saying.data, defects=tuple(found))


def accepted(pack: Pack, saying: Saying, beyond: Iterable[Defect] = (), flags: Iterable[str] = ()) -> Saying:
    """The message with these flags. Raises if it has defects; `beyond`: those that its schema cannot find."""
    wrong = [*saying.defects]
    wrong += [d for d in beyond if all(d.path != w.path for w in wrong)]
    if not wrong:
        return saying.replace(flags=more) if (more := (*saying.flags, *flags)) else saying
    listed = "; ".join(d.sentence for d in wrong)
    raise Refused(
        "bad_message",
        f"The {saying.type or saying.spec.name} has {counted(len(wrong), 'defect')}: {listed}.",
        f"{_types(pack, wrong)}{_correction(saying)}",
        type=saying.spec.name,
        defects=[d.full() for d in wrong],
    )


def _correction(saying: Saying) -> str:
    if saying.source is not None:
        return f"Correct all of them and add the entry to {saying.source} again."
    return _EVENT if saying.spec.how == "event" else _MESSAGE


def deliver(work: Work, protocol: Protocol, saying: Saying) -> None:
    spec = saying.spec
    name = saying.data.get(spec.task) if spec.task else None
    if not isinstance(name, str):
        accepted(protocol.pack, saying, _unnamed(spec, saying.data))
        store(work, protocol.pack, saying, None)
        return
    task = work.task(name)
    if task.exists:
        if again := said_before(work, saying, task):
            if saying.source is not None and not _counts_again(work, saying, task):
                return  # an old copy of the file
            flag = f"said_before: word for word a message of attempt {again}"
            saying = saying.replace(flags=(*saying.flags, flag))
        if spec.creates or spec.moves:
            rules.check_lifecycle(protocol.pack.name, task)
    elif spec.creates:
        task = _create(work, saying, name, spec.creates)
    elif spec.moves:
        raise rules.unknown_task(spec.name, name, _in_work(work, protocol.pack))
    else:
        work.known_task(name)  # raises
    if spec.moves:
        _move(work, protocol, saying, task, spec.moves)
    else:
        store(work, protocol.pack, saying, task)


# --- defects ---------------------------------------------------------------------------------------------------------


def _unnamed(spec: MessageType, data: Mapping[str, Any]) -> list[Defect]:
    """The defect of a message that creates or moves a task and does not name one."""
    name = data.get(spec.task) if spec.task else ""
    if not (spec.creates or spec.moves) or spec.task is None or (isinstance(name, str) and name):
        return []
    return [Defect(spec.task, "the name of a task", shown(name) if spec.task in data else NOTHING)]


def _types(pack: Pack, wrong: list[Defect]) -> str:
    """The list of valid types, if the type is wrong."""
    if all(defect.path != "type" for defect in wrong):
        return ""
    return f"The types are {' and '.join(spec.word for spec in pack.messages)}. "


# --- the task --------------------------------------------------------------------------------------------------------


def _in_work(work: Work, pack: Pack) -> dict[str, list[str]]:
    """The ids of the pack's tasks that are being worked on, by state."""
    working = dict.fromkeys(s.name for life in pack.lifecycles for s in life.states if s.phase == "working")
    return {state: queries.task_ids(work.store, state) for state in working}


def _create(work: Work, saying: Saying, name: str, how: Mapping[str, Any]) -> Task:
    data = saying.data
    title, body = data.get(how["title"]), data.get(how.get("body", ""))
    extra = {field: data[field] for field in how.get("extra", ()) if field in data}
    command = AddTask(
        title=title if isinstance(title, str) else f"{saying.spec.word} {name}",
        body=body if isinstance(body, str) else "",
        creator=saying.sender.principal,
        ttl=saying.ttl,
        extra=extra,
        lifecycle=how["lifecycle"],
    )
    task: Task = work.do("task", name, command)
    return task


def _move(work: Work, protocol: Protocol, saying: Saying, task: Task, verb: str) -> None:
    """Move the task and store the message. If the task is already in the target state, only store the message."""
    spec, life = saying.spec, work.lifecycle(task.lifecycle)
    edge = life.edge(verb, task.state)
    if edge is None:
        if not any(e.verb == verb and e.target == task.state for e in life.edges):
            raise rules.wrong_state(spec.name, task, life, verb)
        _again(work, protocol, saying, task)
        return
    reason = saying.data.get(spec.reason) if spec.reason else None
    command = MoveTask(
        verb=verb,
        actor=_in_role(saying),
        reason=reason if isinstance(reason, str) else None,
        flags=protocol.move(work, task, verb, reason),
    )
    if "report" in edge.needs:
        store(work, protocol.pack, saying, task)
        work.do("task", task.id, command.replace(report=saying.id))
    else:
        store(work, protocol.pack, saying, work.do("task", task.id, command))


def _in_role(saying: Saying) -> Actor:
    """The sender in a role that may send this message: a person acts in the first one."""
    sender, senders = saying.sender, saying.spec.senders
    if not senders or any(role in sender.roles for role in senders):
        return sender
    return sender.replace(roles=(*sender.roles, senders[0]))


def _again(work: Work, protocol: Protocol, saying: Saying, task: Task) -> None:
    """A message whose task is already in the target state."""
    spec = saying.spec
    if spec.repeat == "store":
        store(work, protocol.pack, saying, task)
        return
    earlier = work.messages_of_task(task.id, task.attempt, spec.name)
    if not any(_is_repeat(saying, message.data or {}) for message in earlier):
        raise rules.wrong_state(spec.name, task, work.lifecycle(task.lifecycle), spec.moves or "")


def _is_repeat(saying: Saying, earlier: Mapping[str, Any]) -> bool:
    """Whether an earlier message has the same content. A timestamp that moot set does not count."""
    stamp = saying.spec.stamp
    if stamp is None or stamp in saying.given:
        return content.same(saying.data, earlier)
    return content.same({**saying.data, stamp: None}, {**earlier, stamp: None})


def said_before(work: Work, saying: Saying, task: Task) -> int | None:
    """The last earlier attempt that has the same message."""
    earlier = work.messages_of_task(task.id, None, saying.spec.name)
    same = [m.attempt or 0 for m in earlier if content.same(saying.data, m.data or {})]
    return max((attempt for attempt in same if attempt < task.attempt), default=None)


def _counts_again(work: Work, saying: Saying, task: Task) -> bool:
    """Whether a message of an earlier attempt, written again, starts an attempt that has none and gets no other."""
    if saying.idle < LAST:
        raise rules.wrong_state(saying.spec.name, task, work.lifecycle(task.lifecycle), saying.spec.moves or "")
    has = work.messages_of_task(task.id, task.attempt, saying.spec.name)
    return saying.spec.creates is not None and task.phase == "working" and not has


# --- storing ---------------------------------------------------------------------------------------------------------


def store(work: Work, pack: Pack, saying: Saying, task: Task | None, ahead: int = 0) -> None:
    """Store it for its recipients. `ahead`: by how many attempts it is early."""
    spec, data = saying.spec, saying.data
    if spec.how == "event":
        _store_event(work, saying)
        return
    import json

    asked = saying.asked or (_asked(work, saying, task) if spec.answers else None)
    command = SendMessage(
        kind=spec.name,
        sender=saying.sender.principal,
        to=saying.to or _recipients(work, pack, saying, asked),
        wants=spec.wants,
        size=len(json.dumps(data, ensure_ascii=False).encode()),
        limit=saying.limit,
        text=_as_text(saying),
        data=data,
        task=task.id if task else None,
        attempt=task.attempt + ahead if task else None,
        within=saying.within,
        role=next((role for role in spec.senders if role in saying.sender.roles), (*spec.senders, None)[0]),
        source=saying.source,
        reply_to=asked.id if asked else None,
        flags=saying.flags,
        mirror=next((mirror.name for mirror in pack.mirrors if spec.name in mirror.types), ""),
    )
    if spec.receipt is not None:
        from moot.api.protocol.observed_results import with_evidence

        command = with_evidence(work, saying, command, task)
    work.do("message", saying.id, command, thread=asked.thread if asked else saying.thread, pack=pack.name)
    if asked is not None and asked.wants == "answer":
        _settle(work, pack, saying, asked)


def _as_text(saying: Saying) -> str:
    """The message in its text form, for its readers. Empty: it has none that can say all of it."""
    if not saying.spec.text:
        return ""
    from moot.core.templates import form_of, render

    forms = map(form_of, saying.spec.text)
    besides = {"type", saying.spec.stamp, *saying.spec.beside}
    said = (render(form, {k: v for k, v in saying.data.items() if k not in besides - {*form.names}}) for form in forms)
    return next(filter(None, said), "")


def _store_event(work: Work, saying: Saying) -> None:
    """Store an event as it was sent, unless it created or moved a task: then that is its record."""
    import json

    from moot.core.deciders.custom_event import Emit
    from moot.core.kind import protected

    if saying.spec.creates or saying.spec.moves:
        return
    size = len(json.dumps(saying.data, ensure_ascii=False).encode())
    topic = saying.type.partition(":")[0]
    command = Emit(type=saying.type, topic=topic, data=saying.data, size=size, limit=saying.limit, owned=protected())
    work.do("topic", command.topic, command, thread=saying.thread)


def _asked(work: Work, saying: Saying, task: Task | None) -> Message:
    """The message that it answers: in the given thread, or about the same task."""
    wanted = saying.spec.answers or ""
    if saying.thread is not None:
        found = [m for m in queries.thread(work.store, saying.thread) if m.kind == wanted]
    else:
        found = work.messages_of_task(task.id, task.attempt, wanted) if task else []
    if found:
        return found[-1]
    raise rules.nothing_to_answer(saying.spec.name, wanted)


def _recipients(work: Work, pack: Pack, saying: Saying, asked: Message | None) -> tuple[str, ...]:
    from moot.core.addresses import mailbox_of, members, others

    found: dict[str, str] = {}
    for to in saying.spec.to:
        role = pack.role(to)
        if to == "@all":
            names = others(work, saying.sender)
        elif to == "@requester":
            names = [mailbox_of(work, asked.sender)] if asked else []
        elif role is not None and role.delivery == "one":
            names = [f"@{to}"]
        else:
            names = members(work, to, saying.sender)
        for name in names:
            found.setdefault(name.lower(), name)
    return tuple(found.values())


def _settle(work: Work, pack: Pack, saying: Saying, asked: Message) -> None:
    """Mark the question as answered in the mailbox of the sender."""
    from moot.core.addresses import to_settle

    me = saying.sender
    shared = [f"@{role.name}" for role in pack.roles if role.delivery == "one" and role.name in me.roles]
    for box in to_settle(work, (me.name, *shared), asked, me):
        work.do("mailbox", box, AnswerMessage(id=asked.id, reply=saying.id, who=me.principal))
