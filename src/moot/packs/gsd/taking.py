"""Takes a valid event into the log: decides on moot's kinds, posts it, keeps its lists, runs the built-in handlers.

`take` is for an event that somebody emitted. `finish` is its second half, which `moot.packs.gsd.echo` uses for events
that follow from what moot has decided already.
"""

from __future__ import annotations

from moot.core.errors import Held, Refused, Unknown
from moot.packs.gsd import claims, tasks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.packs.gsd.telling import Telling


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
        return telling.post(repeat=True)


def _take(telling: Telling) -> int:
    """Decide on an event. The modules of rare types are imported late."""
    repeat = False
    match telling.type:
        case tasks.STARTED | tasks.COMPLETED | tasks.FAILED:
            repeat = tasks.decide(telling)
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

            repeat = checkpoints.decide(telling)
        case "checkpoint:resolved":
            from moot.packs.gsd import checkpoints

            checkpoints.check_person(telling)
            checkpoints.resolve(telling)
        case _:
            pass
    return finish(telling, repeat=repeat)


def finish(telling: Telling, *, repeat: bool = False) -> int:
    """Post an event whose meaning is decided, and do what follows from it. Returns its number.

    The built-in handler of its type acts here. That of `artifact:created` is `moot.packs.gsd.echo`, because moot itself
    finds out who waits for an artifact.
    """
    number = telling.post(repeat=repeat)
    match telling.type:
        case tasks.STARTED | tasks.COMPLETED | tasks.FAILED:
            tasks.record(telling, repeat=repeat)
        case "artifact:created" | "artifact:modified":
            from moot.packs.gsd import artifacts

            artifacts.record(telling)
        case "file:claimed" | "file:released":
            claims.record(telling)
        case "decision:made":
            from moot.packs.gsd import decisions

            decisions.track(telling)
        case "checkpoint:reached" if not repeat:
            from moot.packs.gsd import checkpoints

            checkpoints.present(telling)
        case "checkpoint:resolved" if "task" in telling.event:
            tasks.release(telling)
        case _:
            pass
    return number
