"""Notices: one message from a reaction to all recipients that can still read it."""

from __future__ import annotations

from moot.core.deciders.message import RECIPIENT_LIMIT, SendMessage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from moot.core.reactions import Step, World


def notice(
    world: World,
    kind: str,
    to: Iterable[str],
    sender: str,
    text: str,
    *,
    thread: str,
    task: str | None = None,
) -> Iterator[Step]:
    """Send a notice. `to` are principals or agent names; the thread is the id of the subject.

    No size limit is checked: the text was limited when it was recorded.
    """
    boxes: dict[str, str] = {}
    for principal in to:
        box = world.mailbox_of(principal)
        if box is not None:
            boxes.setdefault(box.lower(), box)
    names = tuple(boxes.values())
    for start in range(0, len(names), RECIPIENT_LIMIT):
        some = names[start : start + RECIPIENT_LIMIT]
        command = SendMessage(kind=kind, sender=sender, to=some, wants="nothing", size=0, limit=0, text=text, task=task)
        yield "message", thread, command
