"""Reads files of worktrees for the checks of packs, with the precautions of mirror files. Writes nothing."""

from __future__ import annotations

import os

from moot.api.protocol.pack_files import BadFile, FileProblem, PackFiles
from moot.core import strict_json
from moot.core.json_places import JsonPlaces
from moot.core.strict_json import Torn
from moot.mirrors.file_reading import Changed, Missing, Unreadable
from moot.mirrors.files import MirrorFile
from moot.mirrors.folders import Accounts, Stopped, enter
from moot.place import worktrees

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.mirrors.file_reading import Look
    from moot.place import Place

LIMIT = 256 * 1024 * 1024


class WorktreeFiles(PackFiles):
    """The files of all worktrees of a workspace."""

    def __init__(self, place: Place) -> None:
        self.trees = worktrees(place)
        self.roots = tuple(tree.root for tree in self.trees)
        self._keep = os.path.join(place.state, "mirrors", "keep")
        self._accepts = Accounts(place).__getitem__

    def look(self, root: str, path: str, limit: int = LIMIT) -> Look:
        return MirrorFile(root, path, self._keep, limit=limit, accepts=self._accepts).look(None)

    def read(self, root: str, path: str) -> bytes | None:
        match self.look(root, path):
            case Changed(data=data):
                return data
            case Missing():
                return None
            case Unreadable(reason=reason):
                raise BadFile(unusable(root, path, reason))
            case look:
                raise AssertionError(look)  # nothing is known about the file, so it is never unchanged

    def json(self, root: str, path: str) -> object:
        data = self.read(root, path)
        if data is None:
            return None
        try:
            return strict_json.load(data)
        except Torn as torn:
            raise BadFile(not_valid(root, path, torn)) from None

    def names(self, root: str, folder: str) -> list[str]:
        try:
            return sorted(os.listdir(enter(root, folder, self._accepts)))
        except FileNotFoundError:
            return []
        except Stopped as stopped:
            raise BadFile(unusable(root, folder, stopped.reason)) from None
        except OSError as error:
            raise BadFile(unusable(root, folder, error.strerror or str(error))) from None

    def problem(self, root: str, path: str, message: str, *, place: str = "", remedy: str = "") -> FileProblem:
        line = column = 0
        try:
            data = self.read(root, path)
            if data is not None and strict_json.load(data) is not None:
                places = JsonPlaces(text_of(data))
                line, column = places.line_and_column(places.offset(place))
        except (BadFile, Torn):
            pass  # its position is unknown
        return FileProblem(
            file=path, message=message, remedy=remedy, place=place, line=line, column=column, worktree=root
        )


def text_of(data: bytes) -> str:
    return data.decode("utf-8-sig", "replace")


def unusable(root: str, path: str, reason: str) -> FileProblem:
    return FileProblem(
        file=path,
        message=f"the file cannot be used: {reason}",
        remedy="Replace it with a regular file that you can read and write.",
        worktree=root,
    )


def not_valid(root: str, path: str, torn: Torn) -> FileProblem:
    """The problem of a file that cannot be parsed."""
    return FileProblem(
        file=path,
        message=getattr(torn, "reason", str(torn)),
        remedy="Correct the file.",
        line=torn.line,
        column=torn.column,
        worktree=root,
    )
