"""Quarantine for a file that cannot be read: its bytes are kept as a blob, and a held entry in the log names them."""

from __future__ import annotations

from moot.api.answer import Notice
from moot.api.protocol.form import Taken
from moot.api.protocol.journal_lines import WARN, note
from moot.core.deciders.held_entry import QuarantineFile
from moot.core.kind import kind_of
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from moot.api.call import Call
    from moot.api.protocol import MirrorSpec, Packs
    from moot.api.protocol.form import Instance
    from moot.engine.unit_of_work import Work


def note_empty(packs: Packs, spec: MirrorSpec) -> Callable[[Work, Instance], Taken]:
    """What is committed about a file of 0 bytes: a line in the journal of its pack, if it has one."""

    def act(work: Work, one: Instance) -> Taken:
        if any(mirror.form == "lines" and mirror.pack == spec.pack for mirror in packs.mirrors):
            note(work, spec.pack, WARN, f"{one.path} was empty, which is not valid; it was written again")
        return Taken()

    return act


def quarantine(
    call: Call, spec: MirrorSpec, path: str, data: bytes, reason: str, after: int
) -> Callable[[Work, Instance], Taken]:
    """Keep the bytes. Returns what must be committed next. Raises `Unavailable` if the bytes cannot be kept.

    If an event after the position `after` has quarantined the same bytes, nothing is committed: the file was not
    rendered again since, because the process was killed or the file could not be written.
    """
    digest = call.put_blob(data)

    def found(work: Work, one: Instance) -> str | None:
        for entry in queries.held_entries(work.store):
            same = (entry.path, entry.sha256, entry.reason) == (one.path, digest, reason)  # a redacted reason differs
            if same and states.state(work.store, kind_of("entry"), entry.id)[1] > after:
                return entry.id
        return None

    def act(work: Work, one: Instance) -> Taken:
        identity = found(work, one)
        if identity is None:
            identity = f"h-{work.token(7)}"
            command = QuarantineFile(path=one.path, mirror=spec.name, sha256=digest, size=len(data), reason=reason)
            work.do("entry", identity, command, pack=spec.pack)
        said = f"{identity}: {path} could not be read ({reason}); its bytes are in quarantine."
        return Taken(notices=(Notice("entry_held", said),))

    return act
