"""gsd emitter: write the JavaScript module that emits events of tool calls."""

from __future__ import annotations

import os

from moot.api.answer import Answer
from moot.api.catalogue import Param, Verb
from moot.core.errors import Refused, Unavailable
from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.call import Call

PATH = "hooks/gsd-event-emitter.js"
_SOURCE = os.path.join(os.path.dirname(os.path.dirname(__file__)), PATH)


class EmitterFile(Record):
    """The file. `written`: whether it was written now; it may have been up to date."""

    path: str
    written: bool


def emitter(call: Call, replace: bool) -> Answer:
    root = call.place.root
    path = os.path.join(root, PATH)
    with open(_SOURCE, "rb") as file:
        content = file.read()
    if _content(path) == content:
        return Answer(result=EmitterFile(path=path, written=False), say=(f"{path} is up to date.",))
    if os.path.lexists(path) and not replace:
        raise Refused(
            "emitter_exists",
            f"{path} already exists with different content. It was left alone.",
            "Replace it: `moot gsd emitter --replace`.",
            file=path,
        )
    _write(root, path, content)
    said = (f"wrote {path}", "Call its default export after each tool call, and emitEvent for events of your own.")
    return Answer(result=EmitterFile(path=path, written=True), say=said)


def _content(path: str) -> bytes | None:
    """The content of a regular file; None for anything else."""
    try:
        if os.path.islink(path):
            return None
        with open(path, "rb") as file:
            return file.read(1 << 20)
    except OSError:
        return None


def _write(root: str, path: str, content: bytes) -> None:
    from moot.transfer.output_file import reason, written

    folder = os.path.dirname(path)
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise Unavailable(
            "file_unusable", f"{folder} cannot be created: {reason(error)}.", "Make its place writable.", file=folder
        ) from error
    if os.path.realpath(folder) != os.path.join(os.path.realpath(root), os.path.dirname(PATH)):
        raise Refused(
            "emitter_elsewhere",
            f"{folder} is a link to another place.",
            f"Replace the link with a directory. Or copy the module yourself: `cp {_SOURCE} …`.",
            file=path,
        )
    with written(path, force=True) as (_, file):
        os.write(file, content)
        os.fchmod(file, 0o644)


EMITTER = Verb(
    "gsd emitter",
    "Write hooks/gsd-event-emitter.js, which emits events of tool calls.",
    emitter,
    kind="own",
    params=(Param("replace", "Replace a file with another content.", type="flag"),),
    examples=("moot gsd emitter", "moot gsd emitter --replace"),
    detail=(
        "The module has the default export and emitEvent of the protocol. It gives its events to moot instead of "
        "rewriting the event file, so that none is lost when several agents emit at once. It never fails or blocks the "
        "tool call: a problem is reported on standard error. A file that is already there is left alone unless you ask "
        "for its replacement."
    ),
)
