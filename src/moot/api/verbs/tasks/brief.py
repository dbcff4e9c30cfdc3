"""What an agent needs to know about a task that it takes: the body, what finishing requires, the next commands."""

from __future__ import annotations

from moot.api.answer import typed
from moot.core.record import Record
from moot.core.task import by_verb
from moot.core.text import REASON, command_line, counted, fence, from_agent, option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.api.call import Call
    from moot.core.lifecycle import Edge, Lifecycle
    from moot.core.task import Task

_ROOM = 4000  # characters of a body


class Brief(Record):
    """How the holder finishes a task.

    review: somebody else judges it. receipt: it requires the receipt of a check. report: the type of the message that
    hands it in. commands: in this order.
    """

    review: bool = False
    receipt: bool = False
    report: str | None = None
    commands: tuple[str, ...] = ()


def brief_of(call: Call, task: Task, agent: str | None = None) -> Brief:
    """`agent`: the name that the commands contain; by default as the caller named itself."""
    life = call.engine.lifecycles.get(task.lifecycle)
    edge = _finishing(life, task) if life else None
    if life is None or edge is None:
        return Brief(commands=(_typed(call, command_line("task show", task.id), agent),))
    if edge.report and (instructing := _instructing(call, life, edge)):
        return Brief(commands=(_typed(call, instructing, agent),))
    commands = tuple(_typed(call, command, agent) for command in _commands(edge, task))
    return Brief(
        review=life.phase(edge.target) == "review",
        receipt="receipt" in edge.needs,
        report=edge.report or None,
        commands=commands,
    )


def _instructing(call: Call, life: Lifecycle, edge: Edge) -> str | None:
    """The command for the caller's next message, if another role reports on the task: the one with instructions."""
    me = call.me()
    roles, person = me.roles if me else (), call.caller.person
    if edge.open_to(roles, person=person):
        return None
    for pack in call.packs.packs:
        for spec in pack.messages if pack.name == life.pack else ():
            if spec.creates and (set(spec.senders) & {*roles} or (person and "person" in spec.also)):
                return command_line("send", options=f"{option('--type', spec.name)} --data @message.json")
    return None


def _finishing(life: Lifecycle, task: Task) -> Edge | None:
    """The edge that hands the task in, or completes it if it needs no review."""
    edges = [
        edge
        for edge in life.edges
        if edge.source == task.state
        and life.phase(edge.target) in ("review", "done")
        and not ("unreviewed" in edge.needs and task.review)
    ]
    return next((edge for edge in edges if "unreviewed" in edge.needs), edges[0] if edges else None)


def _commands(edge: Edge, task: Task) -> Iterator[str]:
    if "report" in edge.needs:
        yield command_line("send", options=f"{option('--type', edge.report or 'TYPE')} --data @report.json")
        return
    options = [REASON] if "reason" in edge.needs else []
    if "receipt" in edge.needs:
        yield "moot check -- COMMAND"
        options.append("--receipt last")
    yield by_verb(edge.verb, task.id, options=" ".join(options))


def _typed(call: Call, command: str, agent: str | None) -> str:
    return from_agent(command, agent) if agent else typed(call, command)


def body_lines(call: Call, task: Task, agent: str | None = None) -> Iterator[str]:
    """The body, fenced; if it is long, its beginning and how to read the rest."""
    if not task.body:
        return
    yield from fence(task.body[:_ROOM]).splitlines()
    if len(task.body) > _ROOM:
        whole = _typed(call, command_line("task show", task.id), agent)
        yield f"cut: the body has {counted(len(task.body), 'character')}. To read all of it: {whole}"


def next_line(brief: Brief) -> str:
    return f"next: {', then '.join(brief.commands)}{' (another agent reviews it)' if brief.review else ''}"
