"""export, import, backup, restore, redact: the log as a whole, carried away, brought back, and cleaned of a text."""

from __future__ import annotations

import os
from contextlib import closing

from moot.api.answer import Answer, Notice
from moot.api.catalogue import KEY, Param, Verb
from moot.core.errors import MootError, Unavailable, Unknown
from moot.core.record import Record
from moot.core.text import counted
from moot.transfer import output_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, BinaryIO

    from moot.api.call import Call
    from moot.api.verbs.workspace import Opener
    from moot.core.event import Event
    from moot.log import BlobPieces
    from moot.transfer.blob_lines import BlobExport
    from moot.transfer.importing import Imported

_LINE = 64 << 20
_NAMED = 20  # positions that an answer names


class Exported(Record):
    """What was written where. `position`: where the next export may go on, with --after."""

    file: str
    events: int
    position: int
    blobs: int = 0


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
    from moot.api.verbs.events import check_types, matches

    check_types(type)

    def fits(event: Event) -> bool:
        return matches(event, type, stream)

    lost: list[Notice] = []
    blobs = _outgoing(call, lost)
    if file == "-":
        pages = _to_the_end(call, _pages(call, after, fits, blobs))
        return Answer(result=(envelope for page in pages for envelope in page), more=_spoken(pages, lost))
    path = output_path.checked(call, file, force=force, leaves=False)
    count = _write(path, _pages(call, after, fits, blobs), force=force)
    head = call.engine.log.head()
    done = Exported(file=path, events=count, position=head, blobs=len(blobs.sent) - len(lost))
    said = counted(count, "event") + (f" and {counted(done.blobs, 'blob')}" if done.blobs else "")
    if type or stream:
        lost.append(Notice("filtered_export", "A filtered export is for reading: it cannot be imported."))
    return Answer(result=done, say=(f"{said} in {path}. The next one may go on: --after {head}",), warnings=(*lost,))


def _outgoing(call: Call, lost: list[Notice]) -> BlobExport:
    from moot.engine.blobs import Blobs
    from moot.transfer.blob_lines import BlobExport

    def lose(error: MootError) -> None:
        lost.append(Notice(error.code, f"{error.message} It is not in the export."))

    return BlobExport(call.engine.log, Blobs(call.place.state), lose)


def _pages(call: Call, after: int, fits: Any, blobs: BlobExport) -> Iterator[list[dict[str, Any]]]:
    from moot.transfer.exporting import exported

    head = call.engine.log.head()
    for position, page in exported(call.engine.log, after, fits, blobs):
        call.progress("exporting", position - after, head - after)
        yield page


def _to_the_end(call: Call, pages: Iterator[list[dict[str, Any]]]) -> Iterator[list[dict[str, Any]]]:
    """The same for one who could take a part for the whole: if there is more that cannot be read, that is an error."""
    yield from pages
    if call.engine.log.handle.damage is not None:
        raise call.engine.log.handle.damage


def _spoken(pages: Iterator[list[dict[str, Any]]], lost: list[Notice]) -> Iterator[Answer]:
    from moot.transfer.cloudevents import line

    for page in pages:
        yield Answer(result=page, say=tuple(map(line, page)), warnings=(*lost,))
        lost.clear()


def _write(path: str, pages: Iterator[list[dict[str, Any]]], *, force: bool) -> int:
    """Under another name until it is whole."""
    from moot.transfer.cloudevents import line
    from moot.transfer.output_file import Part

    count = 0
    try:
        with Part(path) as draft:
            with open(output_path.create(draft), "w", encoding="ascii", buffering=1 << 20) as file:
                for page in pages:
                    file.writelines(f"{line(envelope)}\n" for envelope in page)
                    count += sum("mootcommit" in envelope for envelope in page)  # a blob is no event
                file.flush()
                os.fsync(file.fileno())
            output_path.put(draft, path, force=force)
    except OSError as error:
        raise output_path.unusable(path, error) from error
    return count


def import_(call: Call, file: str, dry_run: bool) -> Answer:
    from hashlib import sha256

    from moot.engine.blobs import Blobs
    from moot.transfer.blob_lines import BlobImport
    from moot.transfer.importing import Import
    from moot.transfer.present_agents import stamp_at_once
    from moot.transfer.redaction_proof import RedactionProof, rereadable
    from moot.views.trial import Trial

    read = sha256()
    path = file if file == "-" else output_path.path_of(call, file)
    trial = Trial(call.engine.read().directory, seen=None if dry_run else stamp_at_once(call.presence))
    try:
        with rereadable(open(0 if file == "-" else path, "rb", closefd=file != "-")) as lines:
            start = lines.tell()
            proof = RedactionProof(call.engine.log, _lines(lines, len))
            lines.seek(start)
            size = 0 if file == "-" else os.fstat(lines.fileno()).st_size
            with closing(BlobImport(Blobs(call.place.state), proof.removed, dry_run=dry_run)) as blobs:
                taken = Import(
                    call.engine.log,
                    trial,
                    proof,
                    blobs,
                    dry_run=dry_run,
                    progress=lambda done: call.progress("importing", done, size),
                ).take(_lines(lines, read.update))
    except OSError as error:
        raise output_path.unreadable(path, error) from error
    finally:
        trial.close()
    call.engine.read()
    call.sync()
    said = f"{'would import' if dry_run else 'imported'} {counted(taken.events, 'event')}"
    said += f" and {counted(taken.blobs, 'blob')}" if taken.blobs else ""
    said += f"; {taken.known} were there already" if taken.known else ""
    cut = f"The file ends in the middle of a commit: {taken.cut_off} of its events are left out."
    warnings = [*([Notice("import_cut_off", cut)] if taken.cut_off else ()), *_lacking(taken.lacking, "the file")]
    if taken.events and not dry_run:
        _note(call, path, read.hexdigest(), taken)
        from moot.views.effects import open_effects

        warnings += _reopened(open_effects(call.engine.store))
    return Answer(result=taken, say=(f"{said}. The log ends at position {taken.head}.",), warnings=tuple(warnings))


def _lines(file: BinaryIO, pass_by: Callable[[bytes], object]) -> Iterator[bytes]:
    while line := file.readline(_LINE + 1):
        pass_by(line)
        yield line


def _note(call: Call, path: str, digest: str, taken: Imported) -> None:
    """Imports are noted in the log, and in the user's own store; they are no events."""
    from moot.engine.commit_record import remember

    archive = call.engine.log.archive
    said = {"what": "import", "at": call.clock.wall(), "file": os.path.basename(path), "sha256": digest}
    archive.note_transfer({**said, "first": taken.head - taken.events + 1, "last": taken.head})
    remember(call.env, call.place.state, archive, anew=True)


def backup(call: Call, file: str, force: bool) -> Answer:
    from moot.transfer.output_file import Part

    path = output_path.checked(call, file, force=force, leaves=True)
    kept: list[str] = []
    try:
        with Part(path) as draft:
            os.close(output_path.create(draft))  # SQLite would say less about a place that cannot be written
            archive = call.engine.log.archive
            blobs = _blobs(call, kept)
            events = archive.backup(draft, lambda done, of: call.progress("copying", done, of), blobs)
            size = os.stat(draft).st_size
            output_path.put(draft, path, force=force)
    except OSError as error:
        raise output_path.unusable(path, error) from error
    done = Copied(file=path, events=events, size=size, blobs=len(kept))
    said = counted(events, "event") + (f" and {counted(len(kept), 'blob')}" if kept else "")
    return Answer(result=done, say=(f"{said} in {path}, checked ({size} bytes).",))


def _blobs(call: Call, kept: list[str]) -> Iterator[BlobPieces]:
    """All blobs that are sound. Which of them are named, is looked at when they are restored."""
    from moot.engine.blobs import Blobs

    blobs = Blobs(call.place.state)
    for digest in sorted(blobs.stored()):
        try:
            pieces = blobs.pieces(digest)
        except (Unavailable, Unknown) as error:
            if error.code != "blob_missing":  # else somebody has removed it just now
                call.warn(error.code, f"{error.message} It is not in the backup.")
            continue
        kept.append(digest)
        yield digest, pieces


def restore(opener: Opener, file: str, force: bool) -> Answer:
    restored = opener.restore(file, force=force)
    kept = f" The log before it is kept as {restored.kept}." if restored.kept else ""
    again = ", ".join(f"#{position}" for position in restored.redacted)
    kept += f" What was redacted since then is redacted again: {again}." if again else ""
    events = counted(restored.events, "event") + (f" and {counted(restored.blobs, 'blob')}" if restored.blobs else "")
    warnings = (*_lacking(restored.lacking, "the backup"), *_reopened(restored.effects))
    return Answer(result=restored, say=(f"restored {events} from {restored.file}.{kept}",), warnings=warnings)


def _lacking(digests: tuple[str, ...], where: str) -> tuple[Notice, ...]:
    """Blobs that events name, and that are nowhere to be found."""
    if not digests:
        return ()
    named = ", ".join(digest[:12] for digest in digests[:_NAMED]) + ("…" if len(digests) > _NAMED else "")
    what = "blob that events name is" if len(digests) == 1 else "blobs that events name are"
    message = f"{len(digests)} {what} neither here nor in {where}: {named}. `moot verify` says which events."
    return (Notice("blobs_missing", message),)


def _reopened(effects: int) -> tuple[Notice, ...]:
    """What was done meanwhile stands in no log that came from elsewhere, so it would be done twice."""
    if not effects:
        return ()
    subject = f"{effects} effects are" if effects > 1 else "An effect is"
    message = f"{subject} open again and will be performed by `moot handle`, also what was done meanwhile: "
    return (Notice("effects_open", f"{message}`moot effects` lists them, `moot allow NAME --revoke` stops them."),)


def redact(call: Call, thing: str, field: tuple[str, ...], reason: str | None, erase: bool) -> Answer:
    from moot.transfer import redact

    gone = redact.redact(call, thing, field, reason or "", erase=erase)
    named = ", ".join(f"#{position}" for position in gone.positions[:_NAMED])
    named += f" and {len(gone.positions) - _NAMED} more" if len(gone.positions) > _NAMED else ""
    said = f"redacted {named}" + (f" ({', '.join(gone.fields)})" if gone.fields else "")
    if gone.fields:
        said += "; the text is erased from the log" if erase else "; the log still has the text, --erase takes it out"
    said += f"; {counted(len(gone.removed), 'blob')} removed" if gone.removed else ""
    call.warn("copies_elsewhere", "Exports and backups that were made before still hold it.")
    for name in redact.copies(call.place.state):
        call.warn("old_log_kept", f"{os.path.join(call.place.state, name)} may still hold it; delete it.")
    for position in gone.shared[:_NAMED]:
        call.warn("blob_shared", f"#{position} names the same bytes, so they are gone for it as well.")
    for position in gone.also:
        call.warn("also_there", f"#{position} says the same: `moot redact {position}{' --erase' if erase else ''}`.")
    return Answer(result=gone, say=(f"{said}.",))


VERBS = (
    Verb(
        "export",
        "Write the events as JSON Lines, each in a CloudEvents envelope.",
        export,
        kind="look",
        params=(
            Param("file", "Where to; - is the standard output.", positional=True, default="-", limit=4096),
            Param("after", "Only what comes after this position.", type="int", default=0),
            Param("type", "Only events of this type; task:* fits all of tasks (repeat for more).", many=True),
            Param("stream", "Only events of this stream, such as task/task-001 (repeat for more).", many=True),
            Param("force", "Replace the file if it is there; also outside of the workspace.", type="flag"),
        ),
        examples=("moot export events.jsonl", "moot export - --type 'task:*' --after 120"),
        detail="A file gets its name once it is whole; only you can read it. Without --force it stays in the "
        "workspace. What was redacted comes without its text. Blobs stand before the events that name them, in lines "
        "of type moot.blob. Idempotency keys do not travel with an export; they do with a backup. A selection "
        "(--type, --stream) cannot be imported.",
        writes=False,
        past=False,
    ),
    Verb(
        "import",
        "Take in what was exported: into an empty workspace, or into the one that it came from.",
        import_,
        kind="person",
        params=(
            Param("file", "The file; - is the standard input.", positional=True, required=True, limit=4096),
            Param("dry_run", "Only check it.", type="flag"),
        ),
        examples=("moot import events.jsonl", "moot import - --dry-run"),
        detail="Every event keeps its position, time, author and commit. What is there already is skipped, so an "
        "import that was interrupted is repeated. For people only.",
    ),
    Verb(
        "backup",
        "Copy the log, as it is at one moment, to a file; everybody may go on working.",
        backup,
        kind="look",
        params=(
            Param("file", "Where to.", positional=True, required=True, limit=4096),
            Param("force", "Replace the file if it is there.", type="flag"),
        ),
        examples=("moot backup ~/moot.db",),
        detail="The copy is checked before it gets its name; only you can read it. "
        "It is an SQLite file, which has the blobs as well; `moot restore` puts it back.",
        writes=False,
        past=False,
    ),
    Verb(
        "restore",
        "Put a backup in place of the log.",
        restore,
        kind="person",
        params=(
            Param("file", "The backup.", positional=True, required=True, limit=4096),
            Param("force", "Although agents are here, or the log has events that the backup lacks.", type="flag"),
        ),
        examples=("moot restore ~/moot.db", "moot restore ~/moot.db --force"),
        detail="The log that is replaced is kept beside the new one under a name with the date, unless the backup has "
        "all of it. What was redacted since the backup is redacted again. Processes that have the workspace open go on "
        "with the restored log. Effects that were done since the backup are open again. For people only.",
        opens=False,
    ),
    Verb(
        "redact",
        "Take a text out of sight: out of views, files, exports and stories.",
        redact,
        kind="person",
        params=(
            Param(
                "thing",
                "A position, the id of an event, or a thing with all its events: a message, task, artifact, decision, "
                "checkpoint, held entry, receipt or effect by its id, a free stream as topic/NAME.",
                positional=True,
                required=True,
                limit=200,
            ),
            Param("field", "Only this field, such as text or data.summary (repeat for more).", many=True, limit=200),
            Param("reason", "Why; it stays readable."),
            Param("erase", "Also take the bytes out of the log's file.", type="flag"),
            KEY,
        ),
        examples=("moot redact m-8sk2m1x --reason 'a password' --erase", "moot redact 120 --field text"),
        detail="For people only. What the rules decide by (names, states) stays. Notices that repeat the text, sent by "
        "the same step, go with it. The bytes of a blob that it names are removed at once, also without --erase; its "
        "SHA-256 stays. A tombstone in the log keeps the "
        "SHA-256 of the original, and `moot verify` compares it; a short secret could be guessed by it, so change the "
        "secret as well.",
    ),
)
