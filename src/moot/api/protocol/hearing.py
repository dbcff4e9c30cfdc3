"""A message of a pack on its way into the log: checked, related to its task, stored.

    prepared    who may send it; its stamp, its paths, what its schema says
    accepted    refused with all defects at once, or clean
    deliver     it creates its task, moves it, answers what was asked, and is stored for its recipients

A pack with code of its own calls these three, and does something in between.
"""

from __future__ import annotations

from moot.api.protocol import content
from moot.core import typed_messages as rules
from moot.core.deciders.mailbox import AnswerMessage
from moot.core.deciders.message import SendMessage
from moot.core.errors import Refused
from moot.core.schema import Defect, defects
from moot.core.schema.phrases import NOTHING, shown
from moot.core.task import AddTask, AmendTask, MoveTask
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

AMENDMENT = "amendment: a later report for an attempt that is in review"


def hear(work: Work, protocol: Protocol, saying: Saying) -> None:
    """What happens where the pack has no code for it."""
    saying = prepared(work, saying)
    flags = content.clock_flags(saying.data.get(saying.spec.stamp or ""), saying.now)
    deliver(work, protocol, accepted(protocol.pack, saying, content.too_deep(saying.data), flags))


def prepared(work: Work, saying: Saying) -> Saying:
    """The same with its stamp and with relative paths, and what is wrong with it so far."""
    spec, data = saying.spec, dict(saying.data)
    if saying.source is None:
        rules.check_sender(spec.name, spec.senders, saying.sender, also_people="person" in spec.also)
        if spec.stamp and spec.stamp not in data:
            data[spec.stamp] = work.at
    data, outside = content.normalise_paths(data, spec.paths, saying.roots)
    found = [*defects(spec.schema, data), *outside]
    found += [wrong for wrong in _unnamed(spec, data) if all(one.path != wrong.path for one in found)]
    return saying.replace(data=data, given=saying.data, defects=tuple(found))


def accepted(pack: Pack, saying: Saying, beyond: Iterable[Defect] = (), flags: Iterable[str] = ()) -> Saying:
    """The same with these flags; refused if it has defects, those beyond its schema among them."""
    wrong = [*saying.defects]
    wrong += [d for d in beyond if all(d.path != w.path for w in wrong)]
    if not wrong:
        return saying.replace(flags=(*saying.flags, *flags))
    listed = "; ".join(d.sentence for d in wrong)
    raise Refused(
        "bad_message",
        f"The {saying.type or saying.spec.name} has {counted(len(wrong), 'defect')}: {listed}.",
        f"{_types(pack, wrong)}Correct all of them and send it again; `--dry-run` checks without sending.",
        type=saying.spec.name,
        defects=[d.full() for d in wrong],
    )


def deliver(work: Work, protocol: Protocol, saying: Saying) -> None:
    spec = saying.spec
    name = saying.data.get(spec.task) if spec.task else None
    if not isinstance(name, str):
        accepted(protocol.pack, saying, _unnamed(spec, saying.data))
        _store(work, protocol.pack, saying, None)
        return
    task = work.task(name)
    saying = saying.replace(flags=(*saying.flags, *_said_before(work, saying, task)))
    if spec.creates or spec.moves:
        _check_task(work, protocol.pack, saying, task)
    if not task.exists and spec.creates:
        _create(work, saying, name, spec.creates)
    elif not task.exists:
        work.known_task(name)
    if spec.moves:
        _move(work, protocol, saying, work.task(name), spec.moves)
    else:
        _store(work, protocol.pack, saying, work.task(name))


# --- who sends it, and what is wrong with it ------------------------------------------------------------------------


def _unnamed(spec: MessageType, data: Mapping[str, Any]) -> list[Defect]:
    """A defect of what should add or move a task and names none."""
    name = data.get(spec.task) if spec.task else ""
    if not (spec.creates or spec.moves) or spec.task is None or (isinstance(name, str) and name):
        return []
    return [Defect(spec.task, "the name of a task", shown(name) if spec.task in data else NOTHING)]


def _types(pack: Pack, wrong: list[Defect]) -> str:
    """The types that there are, for a message that has none of them."""
    if all(defect.path != "type" for defect in wrong):
        return ""
    return f"The types are {' and '.join(spec.word for spec in pack.messages)}. "


# --- its task --------------------------------------------------------------------------------------------------------


def _check_task(work: Work, pack: Pack, saying: Saying, task: Task) -> None:
    creates, going = bool(saying.spec.creates), dict[str, list[str]]()
    if not task.exists and not creates:
        going = {state: queries.task_ids(work.store, state) for state in _working(pack)}
    rules.check_task(saying.spec.name, pack.name, task, creates=creates, going=going)


def _working(pack: Pack) -> dict[str, None]:
    return {state.name: None for life in pack.lifecycles for state in life.states if state.phase == "working"}


def _create(work: Work, saying: Saying, name: str, how: Mapping[str, Any]) -> None:
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
    work.do("task", name, command)


def _move(work: Work, protocol: Protocol, saying: Saying, task: Task, verb: str) -> None:
    """Move the task, and store the message beside it; or store it alone if the task is there already."""
    spec, life = saying.spec, work.lifecycle(task.lifecycle)
    edge = life.edge(verb, task.state)
    if edge is None:
        if not any(e.verb == verb and e.target == task.state for e in life.edges):
            raise rules.wrong_state(saying.spec.name, task, life, verb)
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
        _store(work, protocol.pack, saying, task)
        work.do("task", task.id, command.replace(report=saying.id))
    else:
        work.do("task", task.id, command)
        _store(work, protocol.pack, saying, work.task(task.id))


def _in_role(saying: Saying) -> Actor:
    """The sender, who acts in the role that the message is for."""
    own = [role for role in saying.spec.senders if role in saying.sender.roles] or saying.spec.senders[:1]
    return saying.sender.replace(roles=tuple(dict.fromkeys((*saying.sender.roles, *own))))


def _again(work: Work, protocol: Protocol, saying: Saying, task: Task) -> None:
    """A message whose task is already where it would move it."""
    spec = saying.spec
    if spec.repeat == "store":
        _store(work, protocol.pack, saying, task)
        return
    earlier = work.messages_of_task(task.id, task.attempt, spec.name)
    if any(_is_repeat(saying, message.data or {}) for message in earlier):
        return  # an identical repeat has no effect
    if spec.repeat == "ignore":
        raise rules.wrong_state(saying.spec.name, task, work.lifecycle(task.lifecycle), spec.moves or "")
    _store(work, protocol.pack, saying.replace(flags=(*saying.flags, AMENDMENT)), task)
    work.do("task", task.id, AmendTask(report=saying.id))


def _is_repeat(saying: Saying, earlier: Mapping[str, Any]) -> bool:
    """Whether an earlier message says the same. A time that moot set itself says nothing."""
    stamp = saying.spec.stamp
    if stamp is None or stamp in saying.given:
        return content.same(saying.data, earlier)
    return content.same({**saying.data, stamp: None}, {**earlier, stamp: None})


def _said_before(work: Work, saying: Saying, task: Task) -> tuple[str, ...]:
    """A flag for what was said word for word in an earlier attempt: it may come out of an old copy of a file."""
    earlier = work.messages_of_task(task.id, None, saying.spec.name) if task.exists else []
    again = [m.attempt for m in earlier if m.attempt != task.attempt and content.same(saying.data, m.data or {})]
    return (f"said_before: word for word a message of attempt {again[-1]}",) if again else ()


# --- storing it ------------------------------------------------------------------------------------------------------


def _store(work: Work, pack: Pack, saying: Saying, task: Task | None) -> None:
    spec, data = saying.spec, saying.data
    if spec.how == "event":
        _store_event(work, saying)
        return
    import json

    asked = _asked(work, saying, task) if spec.answers else None
    command = SendMessage(
        kind=spec.name,
        sender=saying.sender.principal,
        to=_recipients(work, pack, saying, asked),
        wants=spec.wants,
        size=len(json.dumps(data, ensure_ascii=False).encode()),
        limit=saying.limit,
        data=data,
        task=task.id if task else None,
        attempt=task.attempt if task else None,
        role=next((role for role in spec.senders if role in saying.sender.roles), (*spec.senders, None)[0]),
        source=saying.source,
        reply_to=asked.id if asked else None,
        flags=saying.flags,
        mirror=next((mirror.name for mirror in pack.mirrors if spec.name in mirror.types), ""),
    )
    work.do("message", saying.id, command, thread=asked.thread if asked else saying.thread, pack=pack.name)
    if asked is not None and asked.wants == "answer":
        _settle(work, pack, saying, asked)


def _store_event(work: Work, saying: Saying) -> None:
    """An event that moves no task is stored as it was said."""
    import json

    from moot.core.deciders.topic import Emit
    from moot.core.kind import protected

    if saying.spec.creates or saying.spec.moves:
        return
    size = len(json.dumps(saying.data, ensure_ascii=False).encode())
    topic = saying.type.partition(":")[0]
    command = Emit(type=saying.type, topic=topic, data=saying.data, size=size, limit=saying.limit, owned=protected())
    work.do("topic", command.topic, command, thread=saying.thread)


def _asked(work: Work, saying: Saying, task: Task | None) -> Message:
    """What it answers: in the thread that was named, or about the same task."""
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
    """The one who was asked has answered."""
    from moot.core.addresses import to_settle

    me = saying.sender
    shared = [f"@{role.name}" for role in pack.roles if role.delivery == "one" and role.name in me.roles]
    for box in to_settle(work, (me.name, *shared), asked, me):
        work.do("mailbox", box, AnswerMessage(id=asked.id, reply=saying.id, who=me.principal))
