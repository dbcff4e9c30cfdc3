"""Where the caller stands: who it is, its mail and its work, what needs a person, problems, and one next command.

`moot` without a verb shows it. Reading it writes nothing.
"""

from __future__ import annotations

from moot.api.answer import typed
from moot.api.verbs.tasks.mine import groups
from moot.core.identity import how_to_say, reason
from moot.core.principal import agent as principal_of
from moot.core.principal import person
from moot.core.record import Record
from moot.core.text import command_line, counted, one_line
from moot.needs_me import Waiting, question, waiting
from moot.overview import OverviewProblem, overview
from moot.views import queries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.api.call import Call
    from moot.core.task import Task

_PROBLEMS = 2
_WIDTH = 160
_HEADINGS = {"held": "You hold", "assigned": "Assigned to you", "reviews": "You can review"}


class Situation(Record):
    """Where the caller stands.

    work: ids of tasks, by `held`, `assigned` and `reviews`. needs: how many things need a person, and the first of
    them; only for a person. problems: the first ones. next: a command.
    """

    kind: str  # agent, person, nobody
    principal: str | None
    here: bool
    workspace: str
    unread: int | None
    work: dict[str, tuple[str, ...]]
    tasks: dict[str, int]  # number of tasks by state
    needs: int
    first_need: Waiting | None
    problems: tuple[OverviewProblem, ...]
    problem_count: int
    next: str


def situation(call: Call) -> tuple[Situation, tuple[str, ...]]:
    """The situation, and the same in at most ten lines."""
    caller, me = call.caller, call.me()
    here = me is not None and me.here and caller.incarnation in (None, me.incarnation)
    whole = overview(call)
    store = call.engine.read()
    work: dict[str, list[Task]] = {name: [] for name in _HEADINGS}
    if here or caller.person:
        found = groups(call, queries.tasks(store, None, ended=False))
        work = {name: found[name] for name in _HEADINGS}
    needs = waiting(call) if caller.person else []
    result = Situation(
        kind=caller.kind,
        principal=_principal(call),
        here=here or caller.person,
        workspace=call.place.root,
        unread=_unread(call),
        work={name: tuple(task.id for task in tasks) for name, tasks in work.items()},
        tasks={count.state: count.count for count in whole.tasks.counts},
        needs=len(needs),
        first_need=needs[0] if needs else None,
        problems=whole.problems[:_PROBLEMS],
        problem_count=len(whole.problems),
        next="",
    )
    result = result.replace(next=_next(call, result, ready=whole.tasks.ready_count))
    return result, tuple(_lines(call, result, work))


def _principal(call: Call) -> str | None:
    caller, me = call.caller, call.me()
    if me is not None and me.exists:
        return principal_of(me.name, caller.incarnation or me.incarnation)
    return caller.agent or (person(call.login) if caller.person else None)


def _unread(call: Call) -> int | None:
    if not call.caller.person:
        mail = call.unread()
        return mail[0] if mail else None
    box = person(call.login)
    return queries.count_unsettled(call.engine.read(), box, box, seen=False)[0]


def _next(call: Call, found: Situation, *, ready: int) -> str:
    if found.kind == "nobody":
        return "moot start NAME"
    if found.kind == "agent":
        busy = found.unread or ready or any(found.work.values())
        return typed(call, "moot wait") if found.here and not busy else typed(call, "moot start")
    if found.first_need is not None:
        return found.first_need.command
    if found.unread:
        return "moot inbox"
    if found.work["reviews"]:
        return command_line("task show", found.work["reviews"][0])
    return "moot watch" if found.tasks else "moot task add 'TITLE'"


def _lines(call: Call, found: Situation, work: dict[str, list[Task]]) -> Iterator[str]:
    yield _who(call, found)
    if found.unread:
        yield f"{counted(found.unread, 'new message')}: {typed(call, 'moot inbox')}"
    for name, tasks in work.items():
        if tasks:
            more = f" and {len(tasks) - 1} more: {typed(call, 'moot board --mine')}" if len(tasks) > 1 else ""
            yield f"{_HEADINGS[name]}: {tasks[0].id} {one_line(tasks[0].title, 80)}{more}"
    if found.first_need is not None:
        item = found.first_need
        verb = "needs" if found.needs == 1 else "need"
        said = f"{counted(found.needs, 'thing')} {verb} you: {item.id} from {item.who}: {question(item)}"
        yield one_line(said, _WIDTH)
    for problem in found.problems:
        yield one_line(f"problem: {problem.message} → {problem.remedy}", _WIDTH)
    total = ", ".join(f"{count} {state}" for state, count in found.tasks.items())
    hidden = found.problem_count - len(found.problems)
    watch = f" {counted(hidden, 'more problem')}: moot watch" if hidden else ""
    yield (f"Tasks: {total}." if total else "No tasks yet.") + watch
    yield f"next: {found.next}"


def _who(call: Call, found: Situation) -> str:
    why = reason(call.caller)
    match found.kind:
        case "nobody":
            return f"You are nobody here: {why}. {how_to_say(call.caller)}"
        case "person":
            return f"You are {found.principal}, a person: {why}."
        case _:
            state = "" if found.here else ", and you are not here"
            return f"You are {found.principal}, an agent: {why}{state}."
