"""Takes over files that agents have used without moot: `moot pack adopt`, and the first sync of `moot init --pack`.

The forms of the mirrors interpret the files, as in every sync. While a call adopts, they take the states that the files
record, where they would otherwise ask for the steps between them. Files in the wrong place are read once, as if they
were in the right one, and stay where they are.
"""

from __future__ import annotations

from moot.api.protocol.form import Malformed, Torn
from moot.api.protocol.mirrors import Adoption
from moot.core.deciders.document import WORKSPACE, ChangeDocument, OpenDocument, key
from moot.core.record import Record
from moot.mirrors.file_reading import Changed, Unreadable, digest_of
from moot.mirrors.pack_files import WorktreeFiles
from moot.views import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from moot.api.call import Call
    from moot.api.protocol.form import Form
    from moot.engine.unit_of_work import Work

_PAGE = 1000


class Stray(Record):
    """The content of a file in the wrong place."""

    form: Form
    root: str
    path: str
    data: bytes

    @property
    def document(self) -> str:
        """The document that says which of them were taken."""
        return key(self.form.spec.pack, WORKSPACE, "adoption")

    @property
    def pointer(self) -> str:
        return f"/imported/{digest_of(self.data)}"


def record(call: Call, taken: Sequence[Stray]) -> None:
    """Record that these files were taken, so that it happens once."""

    def act(work: Work) -> None:
        for stray in taken:
            if not work.state("document", stray.document).status:
                mirror = f"{stray.form.spec.pack}/adoption"
                work.do("document", stray.document, OpenDocument(mirror=mirror, leaves={}))
            change = ChangeDocument(author="moot", set={stray.pointer: stray.path})
            work.do("document", stray.document, change)

    if taken:
        call.engine.commit("moot", act)


def _is_new(call: Call, stray: Stray) -> bool:
    return stray.pointer not in states.state(call.engine.store, "document", stray.document)[0].leaves


def strays(call: Call, forms: Sequence[Form], packs: Sequence[str]) -> tuple[list[Stray], list[str]]:
    """The files in the wrong place, and for each that cannot be used its path with the reason."""
    files = WorktreeFiles(call.place)
    found: list[Stray] = []
    wrong: list[str] = []
    for form in forms:
        for root in files.roots if form.spec.pack in packs else ():
            for path in form.spec.misplaced:
                match files.look(root, path):
                    case Changed(data=data):
                        stray = Stray(form, root, path, data)
                        try:
                            with form.code:
                                form.read(data)
                            found += [stray] if _is_new(call, stray) else []
                        except (Torn, Malformed) as error:
                            wrong.append(f"{root}/{path}: {error}")
                    case Unreadable(reason=reason):
                        wrong.append(f"{root}/{path}: {reason}")
    return found, wrong


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
            kinds[kind] = kinds.get(kind, 0) + 1
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
