"""held, held show, held drop: entries in files that could not be read as messages."""

from __future__ import annotations

from moot.api.answer import Answer, Table
from moot.api.catalogue import KEY, Param, Verb
from moot.core.deciders.held_entry import Drop
from moot.core.errors import Unavailable, Unknown
from moot.core.text import REASON, command_line, fence, one_line
from moot.engine.clock import local
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.call import Call
    from moot.core.deciders.held_entry import HeldEntry
    from moot.engine.unit_of_work import Work

_SHOWN = 100_000  # characters of a held entry, for people


def held(call: Call) -> Answer:
    found = sorted(queries.held_entries(call.engine.read()), key=lambda entry: (entry.at, entry.id))
    rows = tuple(
        (e.id, e.kind, one_line(e.path, 200), one_line(e.task or "", 60), one_line(e.reason, 90)) for e in found
    )
    lines = tuple(f"{row[0]} {row[2]}{f' {row[3]}' if row[3] else ''}: {row[4]}" for row in rows)
    table = Table(("held", "what", "file", "task", "why"), rows, title="Held")
    return Answer(result=found, say=lines or ("Nothing is held.",), table=table if rows else None)


def show(call: Call, id: str) -> Answer:  # noqa: A002
    entry = _known(call, id)
    head = f"{entry.id} {entry.status} from {entry.path} at {local(entry.at)}: {entry.reason}"
    defects = (f"{d['path']}: expected {d['expected']}, found {d['found']}" for d in entry.defects)
    lines = [one_line(head, 1000), *(f"  {one_line(defect, 300)}" for defect in defects)]
    raw = entry.raw if entry.raw is not None else _quarantined(call, entry)
    if len(raw) > _SHOWN:
        whole = command_line("held show", entry.id, options="--json")
        lines.append(f"The first {_SHOWN:,} of {len(raw):,} characters; all of them: {whole}")
    return Answer(result=entry.replace(raw=raw), say=(*lines, *fence(raw[:_SHOWN]).splitlines()))


def _quarantined(call: Call, entry: HeldEntry) -> str:
    try:
        return call.blob(str(entry.sha256)).decode("utf-8", "replace")
    except Unknown as error:
        if error.code == "blob_redacted":
            return "[redacted]"
        raise Unknown(
            "not_in_quarantine",
            f"The bytes of {entry.id} are no longer in quarantine. {error.message}",
            f"Put the file back, or close the entry: `{command_line('held drop', entry.id, options=REASON)}`.",
            entry=entry.id,
            sha256=entry.sha256,
        ) from None
    except Unavailable as error:
        raise Unavailable(
            "quarantine_unreadable",
            f"The bytes of {entry.id} cannot be used: {error.message}",
            error.remedy,
            entry=entry.id,
            **error.details,
        ) from None


def drop(call: Call, id: str, reason: str) -> Answer:  # noqa: A002
    def act(work: Work) -> None:
        call.actor(work)
        work.do("entry", id, Drop(reason=reason), pack=_pack(call, work.state("entry", id)))

    call.commit(act)
    return Answer(result=_known(call, id), say=(f"{id} dropped; the log keeps it.",))


def _pack(call: Call, entry: HeldEntry) -> str | None:
    """The pack whose file it was found in."""
    return next((mirror.pack for mirror in call.packs.mirrors if mirror.name == entry.mirror), None)


def _known(call: Call, name: str) -> HeldEntry:
    entry: HeldEntry = states.state(call.engine.read(), "entry", name)[0]
    if not entry.status:
        raise Unknown("unknown_entry", f"There is no held entry {name!r}.", "`moot held` lists them.", entry=name)
    return entry


_ID = Param("id", "The held entry (h-…).", positional=True, required=True)

VERBS = (
    Verb(
        "held",
        "List entries of a protocol's files that could not be accepted.",
        held,
        kind="look",
        examples=("moot held",),
        writes=False,
    ),
    Verb(
        "held show",
        "Show a held entry: its bytes and its defects.",
        show,
        kind="look",
        params=(_ID,),
        examples=("moot held show h-8sk2m1x",),
        writes=False,
    ),
    Verb(
        "held drop",
        "Close a held entry.",
        drop,
        kind="own",
        params=(_ID, Param("reason", "Why.", required=True), KEY),
        examples=("moot held drop h-8sk2m1x --reason 'corrected in the file'",),
    ),
)
