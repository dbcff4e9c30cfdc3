"""What a pack shows to people: its section of `moot watch`, and concerns for `needs-me`, `watch` and `doctor`.

If the code of a pack fails here, the failure is shown in its place: it never hides the rest of the workspace.
"""

from __future__ import annotations

from itertools import islice

from moot.core.errors import Refused
from moot.core.pack_code import PackCode
from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from moot.api.call import Call

    Line = tuple[tuple[str, str], ...]  # pieces: text and tone, see `moot.overview.panes`


class Concern(Record):
    """Something that a person should look at. `code` and `about` identify it; `remedy` is a command."""

    code: str
    about: str
    message: str
    remedy: str
    since: str
    who: str = ""


class PackState(Record):
    """What a pack shows to programs in `moot watch --json`."""

    pack: str
    title: str
    state: Any


class PackView(PackState):
    """A section of `moot watch`: the state for programs, and the same as lines for people."""

    lines: tuple[Line, ...] = ()

    def full(self) -> dict[str, Any]:
        return PackState(self.pack, self.title, self.state).full()


def views(call: Call) -> tuple[PackView, ...]:
    """The sections of the active packs."""
    found = []
    for protocol in call.packs.having("watch"):
        name = protocol.pack.name
        try:
            with PackCode(name, "watch"):
                found.append(protocol.watch(call))
        except Refused as error:
            found.append(PackView(name, f"{name}: failed", None, (((error.message, "bad"),),)))
    return tuple(view for view in found if view is not None)


def concerns(call: Call, most: int) -> Iterator[Concern]:
    """The concerns of the active packs. `most`: of each pack."""
    for protocol in call.packs.having("concerns"):
        name = protocol.pack.name
        try:
            with PackCode(name, "concerns"):
                yield from list(islice(protocol.concerns(call), most))
        except Refused as error:
            yield Concern(error.code, name, error.message, error.remedy, since=call.clock.wall(), who=name)
