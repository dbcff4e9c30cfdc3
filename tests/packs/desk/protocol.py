"""The code of the help desk: a bit of everything that a protocol may have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from moot.api.protocol import Protocol, Saying
from moot.api.protocol.pack_views import Concern, PackView
from moot.core.deciders.custom_event import Emit
from moot.core.deciders.message import SendMessage
from moot.core.errors import Refused
from moot.core.task import Moved, Task
from moot.views import queries

if TYPE_CHECKING:
    from moot.api.call import Call
    from moot.api.protocol.pack_files import FileProblem, PackFiles
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
    verbs = {word: f"{__package__}.verbs:{word.upper()}" for word in ("tally", "open", "close")}  # noqa: RUF012
    methods = f"{__package__}.methods:DeskMethods"
    effects = f"{__package__}.effects:DeskEffects"

    def observe(self, call: Any, _saying: Saying) -> Mapping[str, Any]:
        return {"cwd": call.cwd, "greeting": self.settings["greeting"]}

    def hear(self, work: Work, saying: Saying) -> None:
        if saying.spec.name == "question" and len(saying.data.get("subject", "")) > self.settings["largest"]:
            raise Refused("too_long", f"{saying.facts['greeting']}! That is too long.", "Say it in fewer words.")
        super().hear(work, saying)

    def move(self, _work: Work, _task: Task, verb: str, _reason: str | None) -> tuple[str, ...]:
        return ("parked_often: once more",) if verb == "park" else ()

    def address(self, _work: Work, text: str) -> str | None:
        return "@clerk" if text == "front desk" else None

    def guard(self, _work: Work, actor: Actor, paths: Sequence[str], *, committed: bool) -> None:  # noqa: ARG002
        if any(path.startswith("vault") for path in paths) and "clerk" not in actor.roles:
            raise Refused("vault", "Only clerks touch the vault.", "Ask a clerk.")

    def watch(self, call: Any) -> PackView:
        states = [task.state for task in queries.tasks(call.engine.read(), ended=True)]
        counts = {state: states.count(state) for state in states}
        lines = tuple(((f"{count} ", "bold"), (state, "busy")) for state, count in counts.items())
        return PackView("desk", f"Desk: {len(states)} cases", counts, lines)

    def concerns(self, call: Any) -> Iterable[Concern]:
        for task in queries.tasks(call.engine.read(), ended=False):
            if task.state == "escalated":
                said, remedy = f"No expert has answered {task.id}.", f"moot task show {task.id}"
                yield Concern("escalated", task.id, said, remedy, task.since, who="desk")

    def check(self, _call: Call, files: PackFiles) -> Iterator[FileProblem]:
        for root in files.roots:
            opening = files.json(root, ".desk/hours.json")
            if isinstance(opening, dict) and opening.get("open") != "always":
                yield files.problem(root, ".desk/hours.json", "the desk is closed", place="open")
