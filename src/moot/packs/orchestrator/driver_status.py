"""What `status.json` says about the driver: `moot run orchestrator` calls `started`, `cycle` and `stopped`.

A driver that is killed cannot say that it stopped. So as long as one is shown as running, there is a marker beside the
lock that every driver holds for its whole life (`drivers/orchestrator`). The system releases that lock when a process
ends. Every moot command that finds the marker tries the lock, and if it gets it, the driver is dead.
"""

from __future__ import annotations

import os

from moot.api.answer import Notice
from moot.api.protocol.form import Taken
from moot.api.protocol.journal_lines import WARN, note
from moot.core.deciders.document import ChangeDocument, OpenDocument
from moot.packs.orchestrator.statuses import DRIVER
from moot.place.locks import is_alive
from moot.place.private_files import discard, make_folder, write_private
from moot.views import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from moot.api.call import Call
    from moot.engine.unit_of_work import Work

PACK = "orchestrator"
DOCUMENT = f"{PACK}.-.status"
_NOT_RUNNING = dict(zip(DRIVER, (False, None, None), strict=True))


def started(call: Call, pid: int | None = None) -> None:
    """Show that a driver runs. It must hold the lock `drivers/orchestrator` until it has called `stopped`."""
    path = _marker(call)
    make_folder(os.path.dirname(path))
    write_private(path, b"")  # before the commit: a driver that is killed in between is found, too
    values = (True, os.getpid() if pid is None else pid, call.clock.wall())
    _commit(call, dict(zip(DRIVER, values, strict=True)))


def cycle(call: Call, counts: Mapping[str, int]) -> None:
    """Show what came of the last cycle, such as {"completed": 2, "rejected": 1}."""
    _commit(call, {f"/lastCycle/{name}": number for name, number in counts.items()}, anew="/lastCycle")


def stopped(call: Call) -> None:
    """Show that no driver runs."""
    _commit(call, _NOT_RUNNING)
    discard(_marker(call))


def _commit(call: Call, leaves: Mapping[str, object], anew: str = "") -> None:
    """Set these leaves. `anew`: what else is below this pointer goes."""

    def act(work: Work) -> None:
        known = work.state("document", DOCUMENT).leaves
        gone = tuple(at for at in known if anew and at.startswith(anew) and at not in leaves)
        change(work, leaves, gone)

    outcome = call.engine.commit("moot", act)
    call.sync(outcome.events)


def change(work: Work, leaves: Mapping[str, object], gone: tuple[str, ...] = ()) -> None:
    """Change the document, which is opened by its first change."""
    if not work.state("document", DOCUMENT).status:
        work.do("document", DOCUMENT, OpenDocument(mirror=f"{PACK}/status", leaves={}))
    work.do("document", DOCUMENT, ChangeDocument(author="moot", set=leaves, gone=gone))


def has_died(call: Call) -> bool:
    """Whether the driver that is shown as running has ended."""
    if is_alive(call.place.state, PACK):
        return False
    if states.state(call.engine.store, "document", DOCUMENT)[0].leaves.get(DRIVER[0]):
        return True
    discard(_marker(call))  # its end is recorded
    return False


def record_end(work: Work) -> Taken:
    """Record that the driver has ended, inside a commit."""
    leaves = work.state("document", DOCUMENT).leaves
    if not leaves.get(DRIVER[0]):
        return Taken()
    change(work, _NOT_RUNNING)
    note(work, PACK, WARN, f"the driver (process {leaves.get(DRIVER[1])}) ended without stopping")
    said = f"The driver (process {leaves.get(DRIVER[1])}) ended without stopping; status.json no longer shows it."
    return Taken(notices=(Notice("driver_ended", said),))


def _marker(call: Call) -> str:
    return os.path.join(call.place.state, "drivers", f"{PACK}.running")
