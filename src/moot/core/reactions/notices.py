"""How a reaction tells somebody something: one message, to those of the meant who can still read it."""

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
    """`to` are principals or names of agents; the thread names what it is about.

    What is said was bounded before, where it was recorded.
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
