"""An agent that leaves or is replaced loses everything it held."""

from __future__ import annotations

from moot.core.claims import ReleaseAll, SupersedeHolder
from moot.core.deciders.agent import Joined, Left
from moot.core.deciders.mailbox import Bury
from moot.core.principal import agent
from moot.core.task import LapseTask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from moot.core.payload import Payload
    from moot.core.reactions import Step, World


def departures(key: str, happened: Payload, world: World) -> Iterable[Step]:
    return _gone(key, happened, world) if isinstance(happened, (Joined, Left)) else ()


def _gone(key: str, happened: Joined | Left, world: World) -> Iterator[Step]:
    if isinstance(happened, Joined) and happened.replaces is not None:
        old = agent(happened.name, happened.replaces)
        yield from _let_go(old, f"replaced by {agent(happened.name, happened.incarnation)}", world, failed=True)
        yield "claims", "", SupersedeHolder(old=(old,))
    elif isinstance(happened, Left):
        name = world.agent_name(key)
        old = agent(name, happened.incarnation)
        yield from _let_go(old, f"{name} left", world, failed=False)
        yield "claims", "", ReleaseAll(holder=old)
        if happened.retired:
            yield "mailbox", name, Bury(ids=tuple(world.open_mail(name)), reason=f"{name} retired")


def _let_go(holder: str, reason: str, world: World, *, failed: bool) -> Iterator[Step]:
    for task in world.tasks_held_by(holder):
        yield "task", task, LapseTask(silent_for=0.0, ttl=0.0, reason=reason, failed=failed)
