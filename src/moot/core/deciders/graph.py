"""Dependencies between tasks. All edges are in one stream, `graph`, so that two machines cannot close a cycle together.

What always holds:
- No task waits for itself, directly or through others. A command that would close a cycle is refused with the cycle.

The state is a slice: the edges that can be reached from the tasks a command is about.
"""

from __future__ import annotations

from moot.core.errors import Refused
from moot.core.kind import NOWHERE, Kind
from moot.core.payload import Payload
from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from moot.core.kind import Meta

STREAM = "graph"


class Linked(Payload):
    type = "graph:linked"
    said = "{task} needs {needs}"
    marks = ("task", "needs")
    task: str
    needs: tuple[str, ...]


class Unlinked(Payload):
    type = "graph:unlinked"
    said = "{task} no longer needs {needs}"
    marks = ("task", "needs")
    task: str
    needs: tuple[str, ...]


EVENTS: dict[str, type[Payload]] = {Linked.type: Linked, Unlinked.type: Unlinked}


class Graph(Record):
    needs: dict[str, frozenset[str]] = {}  # noqa: RUF012


class Link(Record):
    task: str
    needs: tuple[str, ...]


class Unlink(Record):
    task: str
    needs: tuple[str, ...]


def decide(graph: Graph, command: Link | Unlink, _facts: object = None) -> list[Payload]:
    known = graph.needs.get(command.task, frozenset())
    if isinstance(command, Unlink):
        gone = tuple(n for n in dict.fromkeys(command.needs) if n in known)
        return [Unlinked(task=command.task, needs=gone)] if gone else []
    new = tuple(n for n in dict.fromkeys(command.needs) if n not in known)
    for need in new:
        path = find_path(graph.needs, need, command.task)
        if path is not None:
            circle = " → ".join((command.task, *path))
            raise Refused(
                "cycle",
                f"{command.task} cannot wait for {need}: they would wait for each other ({circle}).",
                "Remove one of these dependencies, or split a task in two.",
                cycle=[command.task, *path],
            )
    return [Linked(task=command.task, needs=new)] if new else []


def find_path(needs: Mapping[str, Collection[str]], start: str, goal: str) -> list[str] | None:
    """A shortest path from `start` to `goal` along the needs, both ends included; None if there is none.

    Not recursive, so that long chains of tasks are no problem.
    """
    came_from: dict[str, str | None] = {start: None}
    front = [start]
    while front and goal not in came_from:
        reached = [(need, node) for node in front for need in sorted(needs.get(node, ()))]
        front = []
        for need, node in reached:
            if need not in came_from:
                came_from[need] = node
                front.append(need)
    if goal not in came_from:
        return None
    path = [goal]
    while (before := came_from[path[-1]]) is not None:
        path.append(before)
    return path[::-1]


def evolve(graph: Graph, event: Payload, _meta: Meta = NOWHERE) -> Graph:
    if isinstance(event, Linked):
        return Graph(needs={**graph.needs, event.task: graph.needs.get(event.task, frozenset()) | set(event.needs)})
    if isinstance(event, Unlinked):
        return Graph(needs={**graph.needs, event.task: graph.needs.get(event.task, frozenset()) - set(event.needs)})
    raise TypeError(f"not an event of the graph: {event!r}")


def parts(about: Link | Unlink | Linked | Unlinked) -> tuple[str, ...]:
    return (about.task, *about.needs)


KIND = Kind(
    name=STREAM,
    events=EVENTS,
    decide=decide,
    evolve=evolve,
    state=Graph,
    single=True,
    parts=parts,
    made_by="`moot task link`, `moot task unlink`",
)
