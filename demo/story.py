"""Describes events in the words of the demo, and counts the numbers for its report. All of it comes from the log."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from moot.core.event import Event


@dataclass
class Line:
    """One line of the output. Important lines have a `mark`."""

    text: str
    mark: str = ""


def told(event: Event) -> Iterator[Line]:
    """The lines for an event; often none."""
    match event.type.partition(":")[0]:
        case "agent":
            yield from _about_agent(event)
        case "task":
            yield from _about_task(event)
        case "file":
            yield from _about_file(event)
        case "message" | "mailbox":
            yield from _about_message(event)


def who(principal: str) -> str:
    """A principal as the demo shows it: a name, `person`, or the role of an agent that only writes files."""
    if principal.startswith("person:"):
        return "person"
    return principal.removeprefix("role:").partition("#")[0]


def _about_agent(event: Event) -> Iterator[Line]:
    data = event.data
    if event.type == "agent:left":
        yield Line(f"{who(event.by)} leaves")
    elif data.get("replaces"):
        yield Line(f"{data['name']} is back, as incarnation {data['incarnation']}", "replaced")
    else:
        roles = f" ({', '.join(data['roles'])})" if data.get("roles") else ""
        yield Line(f"{data['name']} joins{roles}")


def _about_task(event: Event) -> Iterator[Line]:
    data, task, by = event.data, event.stream.partition("/")[2], who(event.by)
    by_file = event.by.startswith("role:")
    match event.type:
        case "task:added":
            needs = f", after {' and '.join(data['needs'])}" if data.get("needs") else ""
            yield Line(f"{by} plans {task}: {data['title']}{needs}")
        case "task:started" if not by_file:
            again = f", attempt {data['attempt']}" if data["attempt"] > 1 else ""
            yield Line(f"{by} takes {task}{again}")
        case "task:submitted" if not by_file:
            yield Line(f"{by} submits {task}")
        case "task:approved":
            yield Line(f"{by} approves {task}")
        case "task:rejected":
            yield Line(f"{by} rejects {task}: {data['reason']}")
        case "task:lapsed":
            yield Line(f"{task} lapses: {data['reason']}. It can be taken again", "lapsed")


def _about_file(event: Event) -> Iterator[Line]:
    paths = ", ".join(event.data["paths"])
    match event.type:
        case "file:claimed":
            yield Line(f"{who(event.by)} holds {paths}")
        case "file:released":
            yield Line(f"{who(event.by)} releases {paths}")
        case "file:lapsed":
            yield Line(f"{paths} is free again: its holder, {event.data['holder']}, was {event.data['reason']}")


def _about_message(event: Event) -> Iterator[Line]:
    data, by = event.data, who(event.by)
    match event.type, data.get("kind"):
        case "message:sent", "task_assignment":
            yield Line(f"{by} writes an assignment for {data['task']} into a file")
        case "message:sent", "completion_report":
            yield Line(f"{by} writes a report on {data['task']} into a file")
        case "message:sent", "note":
            return  # mail about a submission or a verdict, which has its own line
        case "message:sent", kind:
            refusal = refusal_of(event)
            if refusal:
                yield Line(f"{by} is refused: {refusal}", "refused")
            verb = "answers" if kind == "reply" else "asks"
            mark = "settled" if kind == "reply" else "asked"
            yield Line(f"{by} {verb} {', '.join(map(who, data['to']))}: {data['text']}", mark)
        case "message:acked", _:
            box = event.stream.partition("/")[2].lstrip("@")
            yield Line(f"{box} has read its file")
        case "mailbox:cleared", _ if event.stream.endswith("@team-lead"):
            yield Line("the mailbox files are cleared")


def refusal_of(event: Event) -> str | None:
    """The refusal that a request for a file quotes. moot itself does not record refusals in the log."""
    return (event.data.get("data") or {}).get("refusal")


def seconds(event: Event) -> float:
    return datetime.fromisoformat(event.at).timestamp()


@dataclass
class Numbers:
    """The numbers of the report, all counted from the log."""

    events: int = 0
    tasks: int = 0
    done: int = 0
    messages: int = 0
    deliveries: int = 0
    settled: int = 0
    refusals: int = 0
    resolved: int = 0
    lapses: int = 0
    claims: int = 0
    replaced: int = 0
    own_approvals: int = 0
    through_files: int = 0
    seconds: float = 0.0
    built: Counter[str] = field(default_factory=Counter)
    approved: Counter[str] = field(default_factory=Counter)


def counted(events: Iterable[Event]) -> Numbers:
    """Count the numbers in all events."""
    events = list(events)
    types = Counter(event.type for event in events)
    deliveries = _deliveries(events)
    verdicts = _verdicts(events)
    sent = [event for event in events if event.type == "message:sent"]
    return Numbers(
        events=len(events),
        tasks=types["task:added"],
        done=sum(event.data.get("phase") == "done" for event in events),
        messages=len(sent),
        deliveries=len(deliveries),
        settled=sum(deliveries.values()),
        refusals=sum(refusal_of(event) is not None for event in sent),
        resolved=sum(_resolved(event, events) for event in sent if refusal_of(event)),
        lapses=types["task:lapsed"],
        claims=types["file:claimed"],
        replaced=sum(event.data.get("replaces") is not None for event in events),
        own_approvals=sum(author == judge for author, judge in verdicts),
        through_files=sum(event.by.startswith("role:") for event in sent),
        seconds=seconds(events[-1]) - seconds(events[0]) if events else 0.0,
        built=Counter(author for author, _ in verdicts),
        approved=Counter(judge for _, judge in verdicts),
    )


# What settles a message, by what it wants. A verdict ends the mail about the submission that nobody has read yet.
_ENOUGH = {"message:offered": {"nothing"}, "message:acked": {"nothing", "ack"}, "message:expired": {"nothing"}}


def _deliveries(events: list[Event]) -> dict[tuple[str, str], bool]:
    """Each message and recipient, and whether it is settled: shown, acked or answered, as the message wants."""
    wants: dict[str, str] = {}
    settled: dict[tuple[str, str], bool] = {}
    for event in events:
        data = event.data
        if event.type == "message:sent":
            name = event.stream.partition("/")[2]
            wants[name] = data["wants"]
            settled.update({(name, box.lower()): False for box in data["to"]})
            continue
        box = event.stream.partition("/")[2].lower()
        for name in _ids(event.type, data):
            if wants[name] in _ENOUGH.get(event.type, {wants[name]}):
                settled[name, box] = True
    return settled


def _ids(kind: str, data: dict[str, Any]) -> list[str]:
    if kind == "message:answered":
        return [data["id"]]
    return list(data["ids"]) if kind in _ENOUGH else []


def _resolved(request: Event, events: list[Event]) -> bool:
    """Whether a request for a file was answered, and the requester claimed the file afterwards."""
    name, path = request.stream.partition("/")[2], request.data["data"]["path"]
    later = [event for event in events if event.position > request.position]
    answered = any(event.type == "message:answered" and event.data["id"] == name for event in later)
    return answered and any(
        event.type == "file:claimed" and event.by == request.by and path in event.data["paths"] for event in later
    )


def _verdicts(events: list[Event]) -> list[tuple[str, str]]:
    """For each approval: the author of the work, and the reviewer."""
    authors = {event.stream: who(event.by) for event in events if event.type == "task:submitted"}
    return [(authors[event.stream], who(event.by)) for event in events if event.type == "task:approved"]
