"""Removes the messages of a task from the pack's files when the task is done or starts over.

A message of the next attempt stays. If it is one that starts the task, it does so now.
"""

from __future__ import annotations

from moot.core.principal import Actor, role
from moot.core.task import Moved, MoveTask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.api.protocol import Pack
    from moot.core.payload import Payload
    from moot.core.reactions import Reaction, Step, World

_ENDED = ("done", "stopped")


def clearing(pack: Pack) -> Reaction:
    """The reaction for the mailboxes that this pack mirrors."""
    lives = {life.name: life for life in pack.lifecycles}
    files = [(mirror.mailbox, mirror.types) for mirror in pack.mirrors if mirror.mailbox and mirror.types]
    starting = {spec.name: spec for spec in pack.messages if spec.creates and spec.moves}

    def clear(key: str, happened: Payload, world: World) -> Iterator[Step]:
        if not isinstance(happened, Moved) or happened.phase not in ("done", "open"):
            return
        life, done = lives.get(world.task(key).lifecycle), happened.phase == "done"
        if life is None or not (done or life.phase(happened.source) in _ENDED):
            return
        from moot.core.deciders.mailbox import Clear

        for mailbox, kinds in files:
            shown = world.shown(mailbox, kinds)
            ids = tuple(message for message, task, at in shown if task == key and (done or at < happened.attempt))
            last = done and len(ids) == len(shown)  # then the file is empty, and shows since when
            if ids or last:
                reason = "completed" if done else "reset"
                yield "mailbox", mailbox, Clear(ids=ids, reason=reason, at=world.at if last else None), pack.name
            start = next((starting[kind] for kind in kinds if kind in starting), None)
            if start is not None and any(task == key and at == happened.attempt for _, task, at in shown) and not done:
                actor = Actor(principal=role(start.sender), roles=(start.sender,))
                yield "task", key, MoveTask(verb=start.moves or "", actor=actor), pack.name

    return clear
