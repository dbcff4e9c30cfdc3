"""Finds the document that a user means: by its id, the path of its file, its subject, or the name of its file.

A path is relative to the caller's directory, or to its worktree. If several documents share a file, the path means the
one that the file shows. A subject that exists in several worktrees means that of the caller's.
"""

from __future__ import annotations

import os

from moot.core.deciders.document import WORKSPACE
from moot.core.errors import Unknown, Usage
from moot.core.kind import kind_of
from moot.core.text import counted, first_few
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from moot.api.call import Call
    from moot.core.deciders.document import Document

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
