"""doc list, doc show, doc diff, doc restore, doc reset: the documents of packs, in the log and in their files."""

from __future__ import annotations

import os

from moot.api.answer import Answer, Table
from moot.api.catalogue import KEY, Param, Verb
from moot.core import flat_json
from moot.core.deciders.document import WORKSPACE, ResetDocument, RestoreDocument
from moot.core.errors import Held, Refused, Unknown, Usage
from moot.core.kind import kind_of, meta_of
from moot.core.record import Record
from moot.core.text import command_line, counted, first_few, one_line
from moot.engine.clock import local
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from moot.api.call import Call
    from moot.api.protocol.mirrors import DocumentFile
    from moot.core.deciders.document import Document
    from moot.engine.unit_of_work import Work

_PAGE = 1000
_WIDTH = 200


class ListedDocument(Record):
    """A document, and one of its files. `state`: in sync, differs, missing, unreadable, not shown or no file."""

    id: str
    path: str
    state: str
    problem: str
    changes: int
    changed_at: str


class ShownDocument(Record):
    """A document as the log has it. `text` is what its file shows; None if no active pack mirrors it."""

    id: str
    path: str
    changed_at: str
    leaves: Mapping[str, Any]
    text: str | None


class LeafDifference(Record):
    """A value of a document on two sides. A side without it has None, and False in `in_one` or `in_other`."""

    pointer: str
    one: Any
    other: Any
    in_one: bool
    in_other: bool


class DocumentDifference(Record):
    """Where two versions of a document differ. `one` and `other` say which versions they are."""

    id: str
    one: str
    other: str
    leaves: tuple[LeafDifference, ...]


class RestoredDocument(Record):
    """The document, its files, and the position of the last event."""

    id: str
    paths: tuple[str, ...]
    position: int


def list_(call: Call) -> Answer:
    files: dict[str, list[DocumentFile]] = {}
    for file in call.mirrors.document_files(call) if call.mirrors is not None else ():
        files.setdefault(file.document, []).append(file)
    found = [row for one in all_documents(call) for row in _listed(one, files.get(one.id, []))]
    rows = tuple((one.id, one.state, one_line(one.path, _WIDTH), one_line(one.problem, _WIDTH)) for one in found)
    lines = tuple(f"{row[0]} {row[1]}: {row[2]}{f' ({row[3]})' if row[3] else ''}" for row in rows)
    table = Table(("document", "state", "file", "problem"), rows, title="Documents") if rows else None
    return Answer(result=found, say=lines or ("There are no documents.",), table=table)


def _listed(one: Document, files: list[DocumentFile]) -> Iterator[ListedDocument]:
    state = "not shown" if one.path else "no file"
    row = ListedDocument(one.id, one.path, state, "", changes=one.changes, changed_at=one.changed_at)
    if not files:
        yield row
    for file in files:
        yield row.replace(path=file.path, state=_state(one, file), problem=file.fault)


def _state(one: Document, file: DocumentFile) -> str:
    if not file.exists:
        return "missing"
    if file.leaves is None:
        return "unreadable"
    return "differs" if flat_json.difference(one.leaves, file.leaves).pointers else "in sync"


def show(call: Call, id: str) -> Answer:  # noqa: A002
    one = known_document(call, id)
    file = _file_here(call, one)
    text = file.shows.decode() if file is not None and file.shows is not None else None
    path = file.path if file is not None else one.path
    lines = text.splitlines() if text is not None else [_leaf(at, value) for at, value in one.leaves.items()]
    said = tuple(one_line(line, 10_000) if not line.startswith(" ") else _indented(line) for line in lines)
    found = ShownDocument(id=one.id, path=path, changed_at=one.changed_at, leaves=one.leaves, text=text)
    return Answer(result=found, say=said or ("The document is empty.",))


def _indented(line: str) -> str:
    inner = line.lstrip(" ")
    return " " * (len(line) - len(inner)) + one_line(inner, 10_000)


def _leaf(pointer: str, value: Any) -> str:
    import json

    return f"{pointer}: {json.dumps(value, ensure_ascii=False)}"


def diff(call: Call, id: str, from_: int | None, to: int | None) -> Answer:  # noqa: A002
    one = known_document(call, id)
    if from_ is None and to is not None:
        raise Usage("bad_arguments", "--to requires --from.", f"`{command_line('doc diff', one.id)} --from POSITION`")
    if from_ is None:
        file = _file_here(call, one)
        if file is None:
            raise _without_file(one)
        if file.leaves is None and file.exists:
            raise Refused(
                "document_unreadable",
                f"{file.path} cannot be read: {file.fault}.",
                f"Correct it, or write it again: `{command_line('doc restore', one.id)}`.",
                document=one.id,
                line=file.line,
                column=file.column,
            )
        before, after, names = one.leaves, file.leaves or {}, ("log", file.path if file.exists else "no file")
    else:
        before = _at(call, one, from_)
        after = one.leaves if to is None else _at(call, one, to)
        names = (f"position {from_}", "log" if to is None else f"position {to}")
    found = DocumentDifference(id=one.id, one=names[0], other=names[1], leaves=tuple(_differences(before, after)))
    lines = [line for leaf in found.leaves for line in _said(leaf)]
    head = (f"--- {one_line(names[0], _WIDTH)}", f"+++ {one_line(names[1], _WIDTH)}") if lines else ()
    return Answer(result=found, say=(*head, *lines) if lines else ("No difference.",))


def _differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[LeafDifference]:
    for at in sorted(flat_json.difference(before, after).pointers):
        yield LeafDifference(at, before.get(at), after.get(at), at in before, at in after)


def _said(leaf: LeafDifference) -> Iterator[str]:
    if leaf.in_one:
        yield one_line(f"- {_leaf(leaf.pointer, leaf.one)}", 2000)
    if leaf.in_other:
        yield one_line(f"+ {_leaf(leaf.pointer, leaf.other)}", 2000)


def restore(call: Call, id: str, to: int | None) -> Answer:  # noqa: A002
    one = known_document(call, id)
    if call.mirrors is None or (file := _file_here(call, one)) is None:
        raise _without_file(one)
    if to is not None:
        _refuse_during_a_stage(call, one)
        leaves = _at(call, one, to)
        said = ResetDocument(leaves=leaves, reason=f"restored as of position {to}")
    else:
        said = None
    reason = file.fault or ("deleted" if not file.exists else "on request")

    def act(work: Work) -> None:
        work.do("document", one.id, said or RestoreDocument(reason=reason))

    outcome = call.commit(act)
    for notice in call.mirrors.restore(call, one.id):
        call.warn(notice.code, notice.message)
    return _restored(call, one, outcome.last, "restored")


def reset(call: Call, id: str, reason: str) -> Answer:  # noqa: A002
    one = known_document(call, id)
    _refuse_during_a_stage(call, one)
    file = _file_here(call, one)
    command = ResetDocument(leaves=dict(file.initial) if file is not None else {}, reason=reason)
    outcome = call.commit(lambda work: work.do("document", one.id, command))
    return _restored(call, one, outcome.last, "reset")


def _restored(call: Call, one: Document, position: int, verb: str) -> Answer:
    files = list(call.mirrors.document_files(call, one.id)) if call.mirrors is not None else []
    found = RestoredDocument(id=one.id, paths=tuple(file.path for file in files if file.exists), position=position)
    return Answer(result=found, say=(f"{one.id} {verb}: {', '.join(found.paths) or 'no file'}",))


def _file_here(call: Call, one: Document) -> DocumentFile | None:
    """The file in the caller's worktree, or the first one."""
    files = list(call.mirrors.document_files(call, one.id)) if call.mirrors is not None else []
    here = [file for file in files if file.root == call.place.root]
    return next(iter((*here, *files)), None)


def _at(call: Call, one: Document, position: int) -> dict[str, Any]:
    """The leaves after the event at this position."""
    kind, after = kind_of("document"), 0
    state: Any = kind.new(one.id)
    while events := call.engine.log.read(after, _PAGE, kind.stream(one.id)):
        for event in events:
            if event.position <= position:
                state = kind.evolve(state, kind.events[event.type].of(event.data), meta_of(event))
        after = events[-1].position
    if not state.status:
        raise Unknown(
            "unknown_document",
            f"{one.id} did not exist at position {position}.",
            f"It was opened on {local(one.at)}: `{command_line('explain', one.id)}`.",
            document=one.id,
        )
    return dict(state.leaves)


def _without_file(one: Document) -> Refused:
    return Refused(
        "document_without_file",
        f"{one.id} has no file now.",
        "Activate its pack; or start a run on it, if its file shows another document.",
        document=one.id,
    )


def _refuse_during_a_stage(call: Call, one: Document) -> None:
    for run in queries.things(call.engine.read(), "run"):
        if run.document == one.id and run.running is not None:
            raise Held(
                "stage_running",
                f"The stage {run.running.stage} of {run.id} is working on {one.id}.",
                "Wait until it has ended.",
                run=run.id,
                stage=run.running.stage,
            )


_ID = Param("id", "The document: its id, the path of its file, or its subject.", positional=True, required=True)

VERBS = (
    Verb(
        "doc list",
        "List the documents of packs, and whether their files show them.",
        list_,
        kind="look",
        examples=("moot doc list",),
        detail=(
            "A document is a structured file of a pack, such as the metadata of one target of a pipeline. `in sync`: "
            "the file shows what the log has. `differs`: it was changed by hand, and the change is not taken yet. "
            "`unreadable`: it cannot be parsed; its bytes are in quarantine (`moot held`), and `moot doc restore` "
            "writes it again. `not shown`: the file shows another document."
        ),
        writes=False,
        past=False,
        everything=True,
    ),
    Verb(
        "doc show",
        "Show a document as the log has it.",
        show,
        kind="look",
        params=(_ID,),
        examples=("moot doc show .notes/board.yml", "moot doc show ID --at 12"),
        writes=False,
        everything=True,
    ),
    Verb(
        "doc diff",
        "Compare a document with its file, or two versions of it.",
        diff,
        kind="look",
        params=(
            _ID,
            Param("from_", "Compare the version at this position of the log.", type="int"),
            Param("to", "The position of the other version. Default: now.", type="int"),
        ),
        examples=("moot doc diff ID", "moot doc diff ID --from 120", "moot doc diff ID --from 120 --to 140"),
        detail=(
            "Lines with `-` are only in the first one, lines with `+` only in the second. Values are compared, so a "
            "different format or order does not count."
        ),
        writes=False,
        syncs=False,
        past=False,
    ),
    Verb(
        "doc restore",
        "Write the file of a document again, from the log.",
        restore,
        kind="own",
        params=(_ID, Param("to", "First set the document back to this position of the log.", type="int"), KEY),
        examples=("moot doc restore ID", "moot doc restore ID --to 120"),
        detail=(
            "What is in the file now is taken like any other change, or quarantined if it cannot be parsed. With "
            "--to, the document gets the values that it had at that position; the values in between stay in the log."
        ),
        everything=True,
    ),
    Verb(
        "doc reset",
        "Set a document back to its beginning.",
        reset,
        kind="own",
        params=(_ID, Param("reason", "Why.", required=True), KEY),
        examples=('moot doc reset ID --reason "start again"',),
        detail=(
            'Deleting the file does the same, if the mirror of the pack says `missing = "reset"`. Nothing is lost: '
            "`moot doc restore ID --to POSITION` brings the values back."
        ),
        everything=True,
    ),
)


_NEAR = 3


def all_documents(call: Call) -> list[Document]:
    return sorted(queries.things(call.engine.read(), "document"), key=lambda one: str(one.id))


def known_document(call: Call, given: str) -> Document:
    """The document with this id, path or subject. Raises if there is none, or more than one."""
    exact, _ = states.state(call.engine.read(), kind_of("document"), given)
    if exact.status:
        return exact  # type: ignore[no-any-return]
    everything = all_documents(call)
    files = _files(call)
    for wanted in (_places(call, given), None):
        fitting = [one for one in everything if _fits(one, given, files.get(one.id, ()), wanted)]
        here = [one for one in fitting if one.worktree in (WORKSPACE, call.place.worktree)]
        if len(here or fitting) == 1:
            return (here or fitting)[0]
        if fitting:
            raise _ambiguous(given, fitting)
    raise _unknown(call, given, everything, files)


def _files(call: Call) -> dict[str, list[str]]:
    """The paths of the files that show documents, by document."""
    found: dict[str, list[str]] = {}
    for file in call.mirrors.document_files(call) if call.mirrors is not None else ():
        found.setdefault(file.document, []).append(_real(file.path))
    return found


def _places(call: Call, given: str) -> set[str]:
    """The paths that the words of a user can mean."""
    if not given or "\0" in given:
        return set()
    return {_real(os.path.join(start, given)) for start in (call.cwd, call.place.root)}


def _real(path: str) -> str:
    """The path without links, except that its last part may be one."""
    folder, name = os.path.split(os.path.normpath(path))
    return os.path.join(os.path.realpath(folder), name)


def _fits(one: Document, given: str, files: Iterable[str], wanted: set[str] | None) -> bool:
    """Whether one of its files has a wanted path; without such paths, whether the words name it in another way."""
    if wanted is not None:
        return not wanted.isdisjoint(files)
    names = (one.subject, one.path, os.path.basename(one.path), *map(os.path.basename, files))
    return bool(given) and given in names


def _ambiguous(given: str, fitting: list[Document]) -> Usage:
    return Usage(
        "ambiguous_document",
        f"{given[:80]!r} can mean {counted(len(fitting), 'document')}.",
        f"Give its id: {first_few([one.id for one in fitting], 5)}.",
    )


def _unknown(call: Call, given: str, everything: list[Document], files: dict[str, list[str]]) -> Unknown:
    near = _near(given, {name: one.id for one in everything for name in _names(call, one, files.get(one.id, ()))})
    remedy = f"Did you mean {' or '.join(near)}? " if near else ""
    return Unknown(
        "unknown_document",
        f"There is no document {given[:80]!r}.",
        f"{remedy}`moot doc list` shows all.",
        document=given,
    )


def _names(call: Call, one: Document, files: Iterable[str]) -> Iterator[str]:
    yield one.id
    if one.subject:
        yield one.subject
    yield from (os.path.relpath(path, os.path.realpath(call.cwd)) for path in files)


def _near(given: str, names: dict[str, str]) -> list[str]:
    """The nearest names, at most one for each document."""
    from difflib import get_close_matches

    folded = {name.casefold(): name for name in sorted(names, reverse=True)}
    found: dict[str, str] = {}
    for match in get_close_matches(given[:100].casefold(), folded, n=3 * _NEAR):
        found.setdefault(names[folded[match]], folded[match])
    return list(found.values())[:_NEAR]
