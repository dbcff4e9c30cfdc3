"""The code of the help desk: a bit of everything that a protocol may have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from moot.api.protocol import Protocol, Saying
from moot.api.verbs.workspace import Finding
from moot.core.deciders.custom_event import Emit
from moot.core.deciders.message import SendMessage
from moot.core.errors import Refused
from moot.core.task import Moved, Task

if TYPE_CHECKING:
    from moot.core.payload import Payload
    from moot.core.principal import Actor
    from moot.core.reactions import World
    from moot.engine.unit_of_work import Work


def thanks(key: str, happened: Payload, world: World) -> Iterable[Any]:
    """When a case is closed, the one who asked is thanked in the same commit."""
    if isinstance(happened, Moved) and happened.verb == "resolve":
        box = world.mailbox_of(world.task(key).creator)
        if box is not None:
            text = "Thank you for asking."
            yield (
                "message",
                key,
                SendMessage(
                    kind="note", sender="moot", to=(box,), wants="nothing", size=len(text), limit=99, text=text
                ),
            )


def count(work: Work) -> None:
    """When all is decided: a tally of the cases that this commit closed."""
    closed = [draft.stream for draft in work.drafts if draft.type == "task:moved" and draft.data["target"] == "closed"]
    if closed:
        data = {"cases": closed}
        work.do("topic", "desk", Emit(type="desk:counted", topic="desk", data=data, size=1, limit=99, owned={}))


class Desk(Protocol):
    """See the module."""

    reactions = (thanks,)
    closers = (count,)

    def observe(self, call: Any, _saying: Saying) -> Mapping[str, Any]:
        return {"cwd": call.cwd, "greeting": self.settings["greeting"]}

    def hear(self, work: Work, saying: Saying) -> None:
        if saying.spec.name == "question" and len(saying.data.get("subject", "")) > self.settings["largest"]:
            raise Refused("too_long", f"{saying.facts['greeting']}! That is too long.", "Say it in fewer words.")
        super().hear(work, saying)

    def move(self, _work: Work, _task: Task, verb: str, _reason: str | None) -> tuple[str, ...]:
        return ("parked_often: once more",) if verb == "park" else ()

    def address(self, text: str) -> str | None:
        return "@clerk" if text == "front desk" else None

    def guard(self, actor: Actor, paths: Sequence[str]) -> None:
        if any(path.startswith("vault") for path in paths) and "clerk" not in actor.roles:
            raise Refused("vault", "Only clerks touch the vault.", "Ask a clerk.")

    def check(self) -> Sequence[Finding]:
        return (Finding("desk", good=True, message="open"),)
