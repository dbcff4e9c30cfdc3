"""Removes the messages of a task from the pack's files when the task is done or starts over."""

from __future__ import annotations

from moot.core.task import Moved

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

    def clear(key: str, happened: Payload, world: World) -> Iterator[Step]:
        if not isinstance(happened, Moved) or happened.phase not in ("done", "open"):
            return
        life, done = lives.get(world.task(key).lifecycle), happened.phase == "done"
        if life is None or not (done or life.phase(happened.source) in _ENDED):
            return
        from moot.core.deciders.mailbox import Clear

        for mailbox, kinds in files:
            shown = world.shown(mailbox, kinds)
            ids = tuple(message for message, task in shown if task == key)
            last = done and len(ids) == len(shown)  # then the file is empty, and shows since when
            if ids or last:
                reason = "completed" if done else "reset"
                yield "mailbox", mailbox, Clear(ids=ids, reason=reason, at=world.at if last else None), pack.name

    return clear
