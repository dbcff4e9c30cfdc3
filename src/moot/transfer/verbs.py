"""export, backup, restore, redact: write the log into a file, bring it back, and remove text from it."""

from __future__ import annotations

import os

from moot.api.answer import Answer, Notice
from moot.api.catalogue import KEY, Param, Verb
from moot.core.errors import Unavailable, Unknown
from moot.core.record import Record
from moot.core.text import counted, first_few
from moot.transfer import output_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from moot.api.call import Call
    from moot.api.verbs.workspace import Opener
    from moot.log import BlobPieces

_NAMED = 20  # positions or digests that an answer lists
_PAGE = 1000


class Exported(Record):
    """The result of an export. `position`: the value of --after with which the next export continues."""

    file: str
    events: int
    position: int


class Copied(Record):
    """A backup."""

    file: str
    events: int
    size: int
    blobs: int = 0


def export(
    call: Call,
    file: str,
    after: int,
    type: tuple[str, ...],  # noqa: A002
    stream: tuple[str, ...],
    force: bool,
) -> Answer:
    from moot.api.verbs.events import check_types

    check_types(type)
    pages = _pages(call, after, type, stream)
    if file == "-":
        whole = _to_the_end(call, pages)
        answers = (Answer(result=page, say=tuple(map(_line, page))) for page in whole)
        return Answer(result=(event for page in whole for event in page), more=answers)
    path, events = output_file.checked(call, file, force=force), 0
    with (
        output_file.written(path, force=force) as (_, draft),
        open(draft, "w", encoding="ascii", buffering=1 << 20, closefd=False) as lines,
    ):
        for page in pages:
            lines.writelines(f"{_line(event)}\n" for event in page)
            events += len(page)
        lines.flush()
        os.fsync(draft)
    head = call.engine.log.head()
    said = f"{counted(events, 'event')} in {path}. To continue from here: --after {head}"
    return Answer(result=Exported(file=path, events=events, position=head), say=(said,))


def _pages(call: Call, after: int, types: tuple[str, ...], streams: tuple[str, ...]) -> Iterator[list[dict[str, Any]]]:
    from moot.api.verbs.events import matches

    log, start = call.engine.log, after
    upto = log.head()
    while after < upto and (events := log.read(after, min(_PAGE, upto - after))):
        after = events[-1].position
        call.progress("exporting", after - start, upto - start)
        yield [{"id": one.id, **one.full()} for one in events if matches(one, types, streams)]


def _to_the_end(call: Call, pages: Iterator[list[dict[str, Any]]]) -> Iterator[list[dict[str, Any]]]:
    """The same pages, and an error if the log is damaged: otherwise a reader could take a part for the whole."""
    yield from pages
    if call.engine.log.handle.damage is not None:
        raise call.engine.log.handle.damage


def _line(event: dict[str, Any]) -> str:
    from moot.core.json_codec import dumps_ascii

    return dumps_ascii(event).replace("\x7f", "\\u007f")


def _counted(events: int, blobs: int) -> str:
    return counted(events, "event") + (f" and {counted(blobs, 'blob')}" if blobs else "")


def backup(call: Call, file: str, force: bool) -> Answer:
    path = output_file.checked(call, file, force=force)
    kept: list[str] = []
    with output_file.written(path, force=force) as (draft, _):
        events = call.engine.log.archive.backup(
            draft, lambda done, of: call.progress("copying", done, of), _blobs(call, kept)
        )
        size = os.stat(draft).st_size
    done = Copied(file=path, events=events, size=size, blobs=len(kept))
    return Answer(result=done, say=(f"{_counted(events, len(kept))} in {path}, checked ({size} bytes).",))


def _blobs(call: Call, kept: list[str]) -> Iterator[BlobPieces]:
    """All undamaged blobs. `restore` takes those that an event names."""
    from moot.engine.blobs import Blobs

    blobs = Blobs(call.place.state)
    for digest in sorted(blobs.stored()):
        try:
            pieces = blobs.pieces(digest)
        except (Unavailable, Unknown) as error:
            if error.code != "blob_missing":  # otherwise it was removed just now
                call.warn(error.code, f"{error.message} It is not in the backup.")
            continue
        kept.append(digest)
        yield digest, pieces


def restore(opener: Opener, file: str, force: bool) -> Answer:
    restored = opener.restore(file, force=force)
    kept = f" The previous log is kept as {restored.kept}." if restored.kept else ""
    events = _counted(restored.events, restored.blobs)
    warnings = (*_back(restored.redacted), *_lacking(restored.lacking), *_reopened(restored.effects))
    return Answer(result=restored, say=(f"restored {events} from {restored.file}.{kept}",), warnings=warnings)


def _back(positions: tuple[int, ...]) -> tuple[Notice, ...]:
    """A warning about text that was redacted since the backup."""
    if not positions:
        return ()
    said = first_few([f"#{position}" for position in positions], _NAMED)
    return (Notice("text_is_back", f"Redacted since the backup, and back again: {said}. `moot redact` removes it."),)


def _lacking(digests: tuple[str, ...]) -> tuple[Notice, ...]:
    """A warning about blobs that events name and that were not found."""
    if not digests:
        return ()
    named = ", ".join(digest[:12] for digest in digests[:_NAMED]) + ("…" if len(digests) > _NAMED else "")
    what = "blob that events name is" if len(digests) == 1 else "blobs that events name are"
    message = f"{len(digests)} {what} neither here nor in the backup: {named}. `moot verify` lists the events."
    return (Notice("blobs_missing", message),)


def _reopened(effects: int) -> tuple[Notice, ...]:
    """A warning about open effects: the restored log does not know which were performed meanwhile."""
    if not effects:
        return ()
    subject = f"{effects} effects are" if effects > 1 else "An effect is"
    message = f"{subject} open again, and `moot handle` performs them even if that was already done. "
    return (Notice("effects_open", f"{message}`moot effects` lists them, `moot allow NAME --revoke` stops them."),)


def redact(call: Call, thing: str, field: tuple[str, ...], reason: str | None) -> Answer:
    from moot.transfer import redact

    gone = redact.redact(call, thing, field, reason or "")
    said = f"redacted {first_few([f'#{position}' for position in gone.positions], _NAMED)}"
    said += f" ({', '.join(gone.fields)})" if gone.fields else ""
    said += f"; {counted(len(gone.removed), 'blob')} removed" if gone.removed else ""
    if gone.more:
        call.warn("more_to_redact", f"{counted(gone.more, 'event')} left. Run the same command again.")
    call.warn("copies_elsewhere", "Earlier exports and backups still contain it.")
    for name in redact.copies(call.place.state):
        call.warn("old_log_kept", f"{os.path.join(call.place.state, name)} may still contain it; delete it.")
    for position in gone.shared[:_NAMED]:
        call.warn("blob_shared", f"#{position} names the same blob, so its bytes are gone too.")
    for position in gone.also:
        call.warn("also_there", f"#{position} contains the same text: `moot redact {position}`.")
    return Answer(result=gone, say=(f"{said}.",))


VERBS = (
    Verb(
        "export",
        "Export events as JSON Lines.",
        export,
        kind="look",
        params=(
            Param("file", "The file to write; - is standard output.", positional=True, default="-", limit=4096),
            Param("after", "Only events after this position.", type="int", default=0),
            Param("type", "Only events of this type; task:* matches all task events (repeatable).", many=True),
            Param("stream", "Only events of this stream, such as task/task-001 (repeatable).", many=True),
            Param("force", "Replace an existing file.", type="flag"),
        ),
        examples=("moot export events.jsonl", "moot export - --type 'task:*' --after 120"),
        detail="The file gets its name when it is complete; only you can read it. Redacted events have no text. Blobs "
        "and idempotency keys are not exported; a backup has them.",
        writes=False,
        past=False,
        quiet=True,
    ),
    Verb(
        "backup",
        "Copy the log to a file, as of one moment; agents can keep working.",
        backup,
        kind="look",
        params=(
            Param("file", "The file to write.", positional=True, required=True, limit=4096),
            Param("force", "Replace an existing file.", type="flag"),
        ),
        examples=("moot backup ~/moot.db",),
        detail="The copy is checked before it gets its name; only you can read it. It is an SQLite file and includes "
        "the blobs. `moot restore` restores it.",
        writes=False,
        past=False,
        quiet=True,
    ),
    Verb(
        "restore",
        "Replace the log with a backup.",
        restore,
        kind="person",
        params=(
            Param("file", "The backup.", positional=True, required=True, limit=4096),
            Param("force", "Even if agents are present, or the log has events that the backup lacks.", type="flag"),
        ),
        examples=("moot restore ~/moot.db", "moot restore ~/moot.db --force"),
        detail="The file must be a whole log as `moot backup` makes it; otherwise it is refused. The replaced log is "
        "kept beside the new one, with the date in its name, unless the backup contains all of it. Text that was "
        "redacted since the backup is back, and named. Processes that have the workspace open continue with the "
        "restored log. Effects that were performed since the backup are open again. For people only.",
        opens=False,
    ),
    Verb(
        "redact",
        "Remove a text from the log, views, files and blobs.",
        redact,
        kind="person",
        params=(
            Param(
                "thing",
                "A position, the id of an event, or everything about one thing: the id of a message, task, artifact, "
                "decision, checkpoint, held entry, receipt or effect, or topic/NAME.",
                positional=True,
                required=True,
                limit=200,
            ),
            Param("field", "Only this field, such as text or data.summary (repeatable).", many=True, limit=200),
            Param("reason", "Why; the reason stays readable."),
            KEY,
        ),
        examples=("moot redact m-8sk2m1x --reason 'a password'", "moot redact 120 --field text"),
        detail="For people only. What rules depend on (names, states) stays. Notices of the same commit that repeat "
        "the text are redacted too. The bytes of a blob that it names are removed; its SHA-256 stays. A tombstone in "
        "the log keeps a digest of the original, and `moot verify` checks it. A short secret can be guessed from it, "
        "so change the secret as well.",
    ),
)
