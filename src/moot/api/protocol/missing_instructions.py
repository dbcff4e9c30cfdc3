"""Reports that a task has no instructions. All rules about them are here.

A message type with `missing` in pack.toml can be such a report. It is one if it has the `shape` that is defined there,
and if the current attempt of its task has no instructions: no message of a type that creates tasks. Its wording does
not count. Such a report is accepted in two cases in which another report would be refused:

    the task has not been started      it is moved to the state from which the report moves it, in the same commit
    there is no such task, but a       the task is created from the name, the title and the stored fields of that
    held message would create it       message, as far as they are valid

In every case the report is flagged, so that its recipient sees it. An empty explanation is refused.
"""

from __future__ import annotations

from moot.core.errors import Refused
from moot.core.principal import Actor, role
from moot.core.schema import Defect, defects
from moot.core.schema.phrases import shown
from moot.core.task import AddTask, MoveTask
from moot.core.text import command_line
from moot.views import queries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from moot.api.protocol import MessageType, Pack, Packs, Saying
    from moot.core.deciders.held_entry import HeldEntry
    from moot.core.deciders.message import Message
    from moot.core.task import Task
    from moot.engine.unit_of_work import Work

CODE = "missing_instructions"
FLAG = f"{CODE}: its sender found no instructions for this attempt"
MOOT = Actor(principal="moot")


def type_of(packs: Packs) -> MessageType | None:
    """The message type for such reports, if an active pack has one."""
    return next((spec for pack in packs.packs for spec in pack.messages if spec.missing), None)


def has_shape(spec: MessageType, data: Mapping[str, Any]) -> bool:
    """Whether a message says no more than that its sender did nothing."""
    return spec.missing is not None and _contains(data, spec.missing["shape"])


def _contains(value: Any, shape: Any) -> bool:
    if isinstance(shape, dict):
        return isinstance(value, dict) and all(key in value and _contains(value[key], shape[key]) for key in shape)
    return bool(type(value) is type(shape) and value == shape)


def draft(spec: MessageType, task: str, stored: Mapping[str, Any], text: str) -> dict[str, Any]:
    """The ready-made report. `stored`: the fields that are stored with the task."""
    assert spec.missing is not None
    assert spec.task is not None
    made = _merged(spec.missing["shape"], spec.missing.get("fills", {}))
    taken = {field: stored.get(field, usual) for field, usual in spec.missing.get("stored", {}).items()}
    return {spec.task: task, **made, **taken, spec.missing["says"]: text}


def _merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(one)
    for key, value in other.items():
        here = found.get(key)
        found[key] = _merged(here, value) if isinstance(here, dict) and isinstance(value, dict) else value
    return found


def instructing(pack: Pack) -> list[MessageType]:
    """The message types that carry instructions: those that create tasks."""
    return [spec for spec in pack.messages if spec.creates]


def held_instructions(pack: Pack, held: Iterable[HeldEntry], task: str) -> tuple[HeldEntry, dict[str, Any]] | None:
    """The last held message that would create this task, and its content."""
    import json

    types = {spec.word: spec for spec in instructing(pack)}
    for entry in sorted(held, key=lambda one: one.at, reverse=True):
        data: Any = json.loads(entry.raw or "null") if entry.task == task else None
        if not isinstance(data, dict):
            continue
        spec = types.get(str(data.get("type")))
        if spec is not None and data.get(spec.task or "") == task:
            return entry, data
    return None


def stored_fields(pack: Pack, data: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a held message that are stored with its task, as far as they are valid."""
    spec = next(one for one in instructing(pack) if one.word == data["type"])
    wrong = {defect.path.partition(".")[0].partition("[")[0] for defect in defects(spec.schema, data)}
    wanted = (spec.creates or {}).get("extra", ())
    return {field: data[field] for field in wanted if field in data and field not in wrong}


def admitted(work: Work, pack: Pack, saying: Saying) -> Saying:
    """The message, flagged if it reports missing instructions. Then it can be delivered: its task is prepared."""
    spec = saying.spec
    if not spec.moves or not has_shape(spec, saying.data):
        return saying
    name = saying.data[spec.task or ""]
    task = work.task(name)
    if task.exists and (task.lifecycle.partition("/")[0] != pack.name or _instructions(work, pack, task)):
        return saying
    if not task.exists:
        made = _created(work, pack, saying, name)
        if made is None:
            return saying  # refused: there is no such task
        task = made
    if task.phase == "open":
        _start(work, task, spec.moves)
    elif task.phase != "working":
        return saying
    _check_explanation(spec, saying.data)
    return saying.replace(flags=(*saying.flags, FLAG))


def _instructions(work: Work, pack: Pack, task: Task) -> list[Message]:
    return [m for spec in instructing(pack) for m in work.messages_of_task(task.id, task.attempt, spec.name)]


def _created(work: Work, pack: Pack, saying: Saying, name: str) -> Task | None:
    found = held_instructions(pack, queries.held_entries(work.store), name)
    if found is None:
        return None
    entry, data = found
    work.state("entry", entry.id)  # if it is settled meanwhile, this is decided again
    spec = next(one for one in instructing(pack) if one.word == data["type"])
    assert spec.creates is not None
    title = data.get(spec.creates["title"])
    command = AddTask(
        title=title if isinstance(title, str) and title.strip() else name,
        creator=role(spec.sender),
        ttl=saying.ttl,
        extra=stored_fields(pack, data),
        lifecycle=spec.creates["lifecycle"],
    )
    task: Task = work.do("task", name, command)
    return task


def _start(work: Work, task: Task, verb: str) -> None:
    """Move the task to the state that the report moves it from, if moot may do that."""
    life = work.lifecycle(task.lifecycle)
    sources = [edge.source for edge in life.edges if edge.verb == verb]
    edge = next((e for e in life.edges if e.moot and e.source == task.state and e.target in sources), None)
    if edge is not None:
        work.do("task", task.id, MoveTask(verb=edge.verb, actor=MOOT, flags=(FLAG,)))


def _check_explanation(spec: MessageType, data: Mapping[str, Any]) -> None:
    assert spec.missing is not None
    field = spec.missing["says"]
    text = data.get(field)
    if isinstance(text, str) and text.strip():
        return
    wrong = Defect(field, "an explanation of what is missing", shown(text))
    raise Refused(
        "bad_message",
        f"The {spec.name} has 1 defect: {wrong.sentence}.",
        "Say what is missing and where you looked for it.",
        type=spec.name,
        defects=[wrong.full()],
    )


def command(packs: Packs, task: str) -> str | None:
    """The command that sends the ready-made report; None if no active pack has one."""
    return None if type_of(packs) is None else f"{command_line('instructions missing', task)} 'WHY'"
