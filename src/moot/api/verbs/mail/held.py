"""held, held show, held resubmit, held drop: entries in files that could not be read as messages."""

from __future__ import annotations

from moot.api.answer import Answer, Table
from moot.api.catalogue import KEY, Param, Verb, checked, find
from moot.core.deciders.held_entry import Drop, Resubmit, check_open, whole_file
from moot.core.deciders.message import Sent
from moot.core.errors import Refused, Unavailable, Unknown
from moot.core.principal import Actor, role
from moot.core.record import Record
from moot.core.text import REASON, command_line, fence, one_line
from moot.core.typed_messages import check_corrector
from moot.engine.clock import local
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from moot.api.call import Call
    from moot.api.protocol import MessageType
    from moot.core.deciders.held_entry import HeldEntry
    from moot.engine.unit_of_work import Work

_SHOWN = 100_000  # characters of a held entry, for people


class TakenContent(Record):
    """The corrected content of a file was taken: the messages that were stored, and the position of the last event."""

    messages: tuple[str, ...]
    position: int


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


def resubmit(call: Call, id: str, data: Any) -> Answer:  # noqa: A002
    import json

    entry = _known(call, id)
    check_open(entry)
    if entry.kind == "file" and data is None:
        raise whole_file(entry)
    body = data if data is not None else json.loads(entry.raw or "null")
    kind = body.get("type") if isinstance(body, dict) else None
    spec = call.packs.find(kind) if isinstance(kind, str) else None
    return _resubmit_content(call, entry, body) if spec is None else _resubmit_message(call, entry, spec, body)


def _resubmit_message(call: Call, entry: HeldEntry, spec: MessageType, body: dict[str, Any]) -> Answer:
    """Deliver it as a message of a pack, in whichever file it was found."""
    from moot.api.verbs.mail.send import stored

    sender = Actor(principal=role(spec.sender), roles=(spec.sender,))
    saying = call.packs.saying(call, spec, body, sender=sender, source=entry.path)

    def act(work: Work) -> None:
        check_corrector(spec.name, spec.senders, call.actor(work))
        identity = work.new_message()
        work.do("entry", entry.id, Resubmit(message=identity), pack=_pack(call, entry))
        call.packs.hear(work, saying.replace(id=identity))

    outcome = call.commit(act)
    if not any(event.type == Sent.type for event in outcome.events):
        return _repeated(entry)
    return stored(outcome, spec.name)


def _resubmit_content(call: Call, entry: HeldEntry, body: Any) -> Answer:
    """Take it as a content of its file: the form of the mirror knows what it means."""
    if call.mirrors is None:
        raise Refused(
            "bad_message",
            f"{entry.id} does not have a message type of an active pack.",
            "Give the corrected message: `moot held resubmit ID --data @message.json`.",
        )
    taking = call.mirrors.corrected(call, entry, body)

    def act(work: Work) -> None:
        work.do("entry", entry.id, Resubmit(), pack=_pack(call, entry))
        taking(work)

    events = [event for event in call.commit(act).events if event.stream != f"entry/{entry.id}"]
    if not events:
        return _repeated(entry)
    stored = [event.stream.partition("/")[2] for event in events if event.type == Sent.type]
    result = TakenContent(messages=tuple(stored), position=events[-1].position)
    return Answer(result=result, say=(f"{entry.id} is taken.",))


def _repeated(entry: HeldEntry) -> Answer:
    return Answer(result={"repeated": True}, say=(f"{entry.id} is closed: the log already has all of it.",))


def drop(call: Call, id: str, reason: str) -> Answer:  # noqa: A002
    def act(work: Work) -> None:
        call.actor(work)
        work.do("entry", id, Drop(reason=reason), pack=_pack(call, work.state("entry", id)))

    call.commit(act)
    return Answer(result=_known(call, id), say=(f"{id} dropped; the log keeps it.",))


def _pack(call: Call, entry: HeldEntry) -> str | None:
    """The pack whose file it was found in."""
    return next((mirror.pack for mirror in call.packs.mirrors if mirror.name == entry.mirror), None)


def settle(call: Call, id: str, text: str) -> Answer:  # noqa: A002
    """Deliver the entry if the text is its correction, as JSON; otherwise drop it for this reason."""
    text = text.strip()
    if text.startswith("{") or (
        text.startswith("[") and _known(call, id).kind == "file"
    ):  # what is then not valid JSON is refused: it was not meant as a reason
        done = resubmit(call, **_checked("held resubmit", id=id, data=text))
        return done.replace(say=(f"{id} is delivered as you corrected it.", *done.say))
    done = drop(call, **_checked("held drop", id=id, reason=text))
    return done.replace(say=(f"{id} dropped, with your text as the reason; the log keeps it.",))


def _checked(name: str, **given: Any) -> dict[str, Any]:
    """The arguments that another verb's function takes, checked as its own."""
    return {key: value for key, value in checked(find(name), given).items() if key != KEY.name}


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
        "held resubmit",
        "Deliver a held entry, unchanged or corrected.",
        resubmit,
        kind="own",
        params=(_ID, Param("data", "The corrected message or file: JSON, @FILE or -.", type="json"), KEY),
        examples=("moot held resubmit h-8sk2m1x", "moot held resubmit h-8sk2m1x --data @fixed.json"),
        detail=(
            "Without --data it is delivered as it is, for example when the task it is about has the right state now. A "
            "whole file that could not be read needs --data: its corrected content, or one message of it. Nothing is "
            "delivered twice: what the log already has is left out. If any part is refused, nothing is taken, and the "
            "entry stays held."
        ),
    ),
    Verb(
        "held drop",
        "Close a held entry without delivering it.",
        drop,
        kind="own",
        params=(_ID, Param("reason", "Why.", required=True), KEY),
        examples=("moot held drop h-8sk2m1x --reason 'sent again by hand'",),
    ),
)
