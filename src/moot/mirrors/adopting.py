"""What was taken over from files that agents have used without moot: what `moot init` and `moot pack adopt` say."""

from __future__ import annotations

from moot.api.protocol.mirrors import Adoption
from moot.views import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.call import Call

_PAGE = 1000


def adopted_since(call: Call, position: int) -> Adoption:
    """What was taken from files after this position of the log."""
    tasks: dict[str, None] = {}
    kinds: dict[str, int] = {}
    held: list[str] = []
    count = 0
    while events := call.engine.log.read(position, _PAGE):
        for event in events:
            name = event.stream.partition("/")[2]
            kind = event.type if event.type != "message:sent" or event.pack is not None else "note"  # not moot's own
            kinds[kind] = kinds.get(kind, 0) + (event.data.get("who") != "moot")
            if event.type == "task:added":
                tasks[name] = None
            elif event.type in ("entry:held", "file:quarantined"):
                held.append(name)
        count += sum(event.type != "pack:activated" for event in events)
        position = events[-1].position
    store = call.engine.read()
    found: dict[str, int] = {}
    for name in tasks:
        state = states.task(store, name)[0].state
        found[state] = found.get(state, 0) + 1
    return Adoption(
        tasks=found,
        messages=kinds.get("message:sent", 0),
        notes=kinds.get("feed:noted", 0),
        held=tuple(held),
        events=count,
        posted=kinds.get("feed:posted", 0),
    )
