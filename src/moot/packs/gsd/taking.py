"""Takes a valid event into the log: decides on moot's kinds, posts it, keeps its lists, runs the built-in handlers.

`take` is for an event that somebody emitted. `finish` is its second half, which `moot.packs.gsd.echo` uses for events
that follow from what moot has decided already.
"""

from __future__ import annotations

from moot.core.errors import Held, Refused, Unknown
from moot.packs.gsd import claims, handlers, runs, tasks
from moot.packs.gsd.telling import ORCHESTRATORS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.packs.gsd.telling import Telling

_TASKS = frozenset((runs.STARTED, runs.COMPLETED, runs.FAILED))
_NOTHING = runs.RunStep()


def take(telling: Telling) -> int:
    """Decide on an event and post it. Returns its number, or that of the event that it repeats.

    An event of an adopted file has happened: what cannot be decided any more is posted all the same, with a flag.
    """
    if not telling.adopting:
        return _take(telling)
    try:
        with telling.work.savepoint():
            return _take(telling)
    except (Refused, Held, Unknown) as error:
        telling.flag(f"not_applied: {error.message}")
        return telling.post()


def _take(telling: Telling) -> int:
    """Decide on an event. The modules of rare types are imported late."""
    step = _NOTHING
    match telling.type:
        case runs.STARTED | runs.COMPLETED | runs.FAILED:
            step = tasks.decide(telling)
        case "artifact:created" | "artifact:modified":
            from moot.packs.gsd import artifacts

            artifacts.decide(telling)
        case "file:claimed":
            if not claims.claim(telling):
                return int((telling.rows.get(claims.LIST, telling.event["path"]) or {}).get("number", 0))
        case "file:released":
            claims.release(telling)
        case "dependency:satisfied":
            from moot.packs.gsd import artifacts

            artifacts.check_exists(telling)
        case "decision:made":
            from moot.packs.gsd import decisions

            decisions.decide(telling)
        case "checkpoint:reached":
            from moot.packs.gsd import checkpoints

            step = step.replace(repeat=checkpoints.decide(telling))
        case "checkpoint:resolved":
            from moot.packs.gsd import checkpoints

            checkpoints.check_person(telling)
            checkpoints.resolve(telling)
        case _:
            pass
    return finish(telling, step)


def finish(telling: Telling, step: runs.RunStep = _NOTHING) -> int:
    """Post an event whose meaning is decided, and do what follows from it. Returns its number."""
    kind = telling.type
    acting = () if step.repeat or step.held else telling.handlers.built_in(kind)
    if kind == "decision:made":
        from moot.packs.gsd import decisions

        telling.prints = (*telling.prints, *decisions.prints(telling.event))
    number = telling.post(() if step.repeat else _handlers(telling))
    if kind in _TASKS:
        tasks.record(telling, step)
        if kind == runs.STARTED and not step.repeat:
            from moot.packs.gsd import decisions

            tasks.show_start(telling)
            decisions.tell_starting(telling)
    elif kind in ("artifact:created", "artifact:modified"):
        from moot.packs.gsd import artifacts

        artifacts.record(telling)
    elif kind in ("file:claimed", "file:released"):
        claims.record(telling)
    elif kind == "decision:made":
        from moot.packs.gsd import decisions

        decisions.tell_running(telling)
    for name in acting:
        _handle(name, telling)
    if kind == "checkpoint:resolved" and "task" in telling.event:
        tasks.release(telling)
    return number


def _handlers(telling: Telling) -> tuple[str, ...]:
    """The handlers of the event, in order. Custom ones do not hear of events that were there before moot."""
    names = telling.handlers.names(telling.type)
    if telling.adopting:
        names = tuple(name for name in names if not name.startswith(handlers.CUSTOM))
    return tuple(name.removeprefix(handlers.BUILTIN) for name in names)


def _handle(name: str, telling: Telling) -> None:
    """Run a built-in handler. One that is configured for another type than its own has nothing to do there.

    `dependency-resolver` acts through `moot.packs.gsd.echo`: moot itself finds out who waits for an artifact.
    """
    match name, telling.type:
        case handlers.SYNC, runs.COMPLETED:
            tasks.show_completion(telling)
        case handlers.ERRORS, runs.FAILED:
            tasks.show_failure(telling)
            event = telling.event
            said = f"Task {event['task']} of plan {event['plan']} ({event['agent']}) failed: {event['error']}"
            telling.tell((ORCHESTRATORS,), said, thread=telling.task, task=telling.task)
        case handlers.TRACKER, "decision:made":
            from moot.packs.gsd import decisions

            decisions.track(telling)
        case handlers.PRESENTER, "checkpoint:reached" if "checkpoint" not in telling.keys:
            from moot.packs.gsd import checkpoints

            checkpoints.present(telling)
        case _:
            pass
