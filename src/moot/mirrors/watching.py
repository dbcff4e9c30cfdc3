"""mirror: sync the packs' files with the log, once or until interrupted."""

from __future__ import annotations

import os
import time

from moot.api.answer import Answer
from moot.api.catalogue import Param, Verb
from moot.api.verbs.events import PAUSE, in_trouble
from moot.core.errors import Refused, Unavailable
from moot.core.text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.api.call import Call

POLL = 0.25  # seconds between looks at the files, if nothing tells that they changed
POLL_IF_NOTIFIED = 1.0  # the same if something does: a network file system may not


def mirror(call: Call, watch: bool) -> Answer:  # noqa: FBT001 (a verb's flags are its arguments)
    if call.mirrors is None:
        raise Refused("no_mirrors", "No active pack mirrors files.", "Enable one: `moot init --pack NAME`.")
    files = [spec.path for spec in call.packs.mirrors if "{" not in spec.path]  # others may have no file, or many
    said = call.warned("mirror_pending")  # about one file, or about all of them
    pending = [path for path in files if any(path in text or not any(file in text for file in files) for text in said)]
    lines = tuple(f"{'out of sync' if path in pending else 'in sync'}: {path}" for path in files)
    return Answer(result={"files": files, "pending": pending}, say=lines, more=_watching(call) if watch else None)


def _watching(call: Call) -> Iterator[Answer]:
    """Keep files and log in sync until interrupted, or until the workspace is deleted.

    Other failures are reported once and retried.
    """
    from moot.mirrors.notifications import Notifications  # imported late: it needs threads

    assert call.mirrors is not None
    position, trouble = 0, None
    log = os.path.join(call.place.state, "log.db")
    with Notifications() as notifications:
        while os.path.exists(log):
            try:
                position = position or call.engine.log.head()
                if not notifications.arm(call.mirrors.folders(call)):
                    position = _waited(call, position, notifications.descriptor)
                notifications.clear()  # before the look at the files: what changes during it is noticed afterwards
                told = call.mirrors.sync(call, patient=True)
                trouble = None
            except Unavailable as error:
                if not os.path.exists(log):
                    break
                told = () if error.code == trouble else (in_trouble(error),)
                trouble = error.code
            for notice in told:
                yield Answer(result=notice, say=(one_line(f"{notice.code}: {notice.message}", 500),))
            if trouble is not None:
                time.sleep(PAUSE)
    raise Unavailable(
        "workspace_gone",
        f"The workspace was deleted: there is no {log} any more.",
        "`moot init` creates a new one.",
    )


def _waited(call: Call, position: int, notified: int | None) -> int:
    """Wait for an event, a notification or the next poll. Returns the position of the last event that was seen."""
    timeout = POLL if notified is None else POLL_IF_NOTIFIED
    for events in call.engine.log.follow(position, timeout=timeout, stop=notified):
        return events[-1].position
    return position


VERBS = (
    Verb(
        "mirror",
        "Synchronize the packs' files with the log.",
        mirror,
        kind="own",
        anybody=True,
        everything=True,
        params=(Param("watch", "Keep them in sync until interrupted.", type="flag"),),
        examples=("moot mirror", "moot mirror --watch"),
    ),
)
