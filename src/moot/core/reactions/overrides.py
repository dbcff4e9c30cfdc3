"""The holder of a claim that somebody overrode receives a note, in the same commit."""

from __future__ import annotations

from moot.core.claims import SHOWN_LIMIT, Overridden
from moot.core.principal import label, same_agent
from moot.core.reactions.notices import notice
from moot.core.text import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.core.payload import Payload
    from moot.core.reactions import Step, World


def overrides(happened: Payload, world: World) -> Iterator[Step]:
    if not isinstance(happened, Overridden) or same_agent(happened.holder, happened.who):
        return
    files = counted(happened.count, "file")
    said = f"{label(happened.who)} overrode your claim {happened.id} in a {happened.act} that changes {files}:"
    more = happened.count - len(happened.paths[:SHOWN_LIMIT])
    lines = [said, *happened.paths[:SHOWN_LIMIT], *([f"and {more} more"] if more else [])]
    reason = ("", f"The reason: {happened.reason}") if happened.reason else ()
    text = "\n".join((*lines, *reason))
    yield from notice(world, "note", [happened.holder], happened.who, text, thread=happened.id)
