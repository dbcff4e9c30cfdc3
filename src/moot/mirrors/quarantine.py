"""Quarantine for a file that cannot be read: its bytes are kept as a blob, and a held entry in the log names them."""

from __future__ import annotations

from moot.api.answer import Notice
from moot.api.protocol.form import Taken
from moot.core.deciders.held_entry import QuarantineFile
from moot.views import queries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from moot.api.call import Call
    from moot.api.protocol import MirrorSpec
    from moot.api.protocol.form import Instance
    from moot.engine.unit_of_work import Work


def quarantine(call: Call, spec: MirrorSpec, path: str, data: bytes, reason: str) -> Callable[[Work, Instance], Taken]:
    """Keep the bytes. Returns what must be committed next. Raises `Unavailable` if the bytes cannot be kept."""
    digest = call.put_blob(data)

    def act(work: Work, one: Instance) -> Taken:
        held = queries.held_entries(work.store)
        if any(entry.sha256 == digest and entry.path == one.path for entry in held):
            return Taken()  # by a process that was killed before it could render the file again
        identity = f"h-{work.token(7)}"
        command = QuarantineFile(path=one.path, mirror=spec.name, sha256=digest, size=len(data), reason=reason)
        work.do("entry", identity, command)
        said = f"{identity}: {path} could not be read ({reason}); its bytes are in quarantine."
        return Taken(notices=(Notice("entry_held", said),))

    return act
