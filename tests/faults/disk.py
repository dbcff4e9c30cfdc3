"""A disk that tells on itself: the VFS of SQLite in this process, with somebody who is asked before each operation.

`Dying` ends the process at one of them. `Tape` remembers all of them, and can say what a disk would hold that lost
its power in between. Both see the files of SQLite alone, without the -shm file: that one is memory.
"""

from __future__ import annotations

import os
import random
import signal
from typing import Any, NamedTuple, Protocol

import apsw

SECTOR = 512


class Operation(NamedTuple):
    """Something that changes a file, or waits until the changes are on the disk."""

    kind: str  # create, write, truncate, delete; sync, or flush, which is one without the folder
    path: str
    offset: int = 0
    data: bytes = b""


class Watcher(Protocol):
    """Whoever wants to know. An operation is carried out after `before` has returned."""

    def before(self, operation: Operation) -> None: ...
    def opened(self, path: str) -> None: ...


class Disk(apsw.VFS):
    """See the module. Every connection that is opened from now on uses it, until `eject`."""

    def __init__(self, watcher: Watcher) -> None:
        super().__init__("disk", "unix", makedefault=True)
        self.watcher = watcher

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 (SQLite's word)
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        if path and flags[0] & apsw.SQLITE_OPEN_CREATE and not os.path.exists(path):
            self.watcher.before(Operation("create", path))
        file = _File(self.watcher, path, name, flags)
        if path:
            self.watcher.opened(path)
        return file

    def xDelete(self, name: str, syncdir: bool) -> None:  # noqa: N802
        if os.path.exists(name):
            self.watcher.before(Operation("delete", name))
        super().xDelete(name, syncdir)

    def flush(self, file: int) -> None:
        """What moot does instead of SQLite: see `moot.logs.sqlite.file.flush`."""
        self.watcher.before(Operation("flush", os.readlink(f"/proc/self/fd/{file}")))

    def eject(self) -> None:
        """Connections that are opened from now on have the usual disk."""
        self.unregister()
        apsw.set_default_vfs("unix")


class _File(apsw.VFSFile):
    def __init__(self, watcher: Watcher, path: str, name: Any, flags: list[int]) -> None:
        super().__init__("unix", name, flags)
        self._watcher = watcher
        self._path = path

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self._watcher.before(Operation("write", self._path, offset, bytes(data)))
        super().xWrite(data, offset)

    def xTruncate(self, size: int) -> None:  # noqa: N802
        self._watcher.before(Operation("truncate", self._path, size))
        super().xTruncate(size)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._watcher.before(Operation("sync", self._path))
        super().xSync(flags)


class Dying:
    """Counts, and ends the process with SIGKILL at one operation. A write may get half way."""

    def __init__(self, at: int, *, torn: bool = False) -> None:
        self.count = 0
        self._at = at
        self._torn = torn

    def opened(self, path: str) -> None:
        """Opening changes nothing."""

    def before(self, operation: Operation) -> None:
        self.count += 1
        if self.count == self._at:
            # A private file loses its name once it is open: nobody will ever see how far it was written.
            if self._torn and operation.kind == "write" and os.path.exists(operation.path):
                with open(operation.path, "r+b", buffering=0) as file:
                    file.seek(operation.offset)
                    file.write(operation.data[: len(operation.data) // 2])
            os.kill(os.getpid(), signal.SIGKILL)


class Moment(NamedTuple):
    """What was true before one operation: how much was done, what was said to whom, which names there were."""

    number: int
    done: int  # operations on the tape
    said: int  # acknowledgements
    names: dict[str, int]  # of the folder, with their inodes
    contents: dict[str, bytes]  # of the files that SQLite did not open
    folder: int  # the moment since which names may still be lost


class Tape:
    """All operations in one folder, and in the one that it is in, in order."""

    def __init__(self, folder: str) -> None:
        self.said: list[Any] = []
        self.moments: list[Moment] = []
        self._folder = folder
        self._operations: list[tuple[int, Operation]] = []
        self._at_first: dict[int, bytes] = {}
        self._safe = 0

    def opened(self, path: str) -> None:
        inode = os.stat(path).st_ino
        if inode not in self._at_first:
            with open(path, "rb") as file:
                self._at_first[inode] = file.read()

    def before(self, operation: Operation) -> None:
        self.mark()
        if os.path.exists(operation.path):
            self._operations.append((os.stat(operation.path).st_ino, operation))
        if operation.kind == "sync" and operation.path.endswith(("-wal", "-journal")):
            self.keep_names()  # SQLite waits for the folder, too, when it syncs a file that it has made

    def keep_names(self) -> None:
        """The folder is flushed: from the next moment on its names are safe."""
        self._safe = len(self.moments)

    def mark(self) -> None:
        """A moment to look at later."""
        names, contents = {}, {}
        for item in (*os.scandir(self._folder), *os.scandir(os.path.dirname(self._folder))):
            if item.is_file() and not item.name.endswith("-shm"):
                name = os.path.relpath(item.path, self._folder)
                names[name] = item.inode()
                if item.inode() not in self._at_first:
                    with open(item.path, "rb") as file:
                        contents[name] = file.read()
        safe = min(self._safe, len(self.moments))
        now = len(self.moments), len(self._operations), len(self.said)
        self.moments.append(Moment(*now, names, contents, safe))

    def restore(self, moment: Moment, folder: str, chance: random.Random | None) -> None:
        """Write down what the disk has if the power fails at this moment; without `chance`, nothing is lost."""
        os.makedirs(folder)
        images: dict[int, bytes] = {}
        names = self._names(moment, chance)
        for name, inode in names.names.items():
            if name in names.contents:
                data = names.contents[name]
            elif inode in self._at_first:
                data = images[inode] = images.get(inode) or self._image(inode, moment.done, chance)
            else:
                continue
            with open(os.path.join(folder, name), "wb") as file:
                file.write(data)

    def _names(self, moment: Moment, chance: random.Random | None) -> Moment:
        """Files that were made, renamed or removed since the folder was flushed may be as they were before."""
        if chance is None or chance.random() < 0.5:
            return moment
        return self.moments[chance.randint(moment.folder, moment.number)]

    def _image(self, inode: int, done: int, chance: random.Random | None) -> bytes:
        """The file as it was at its last sync, and of what came after it what chance lets through."""
        image = bytearray(self._at_first[inode])
        mine = [operation for its, operation in self._operations[:done] if its == inode]
        synced = max((n + 1 for n, operation in enumerate(mine) if operation.kind in ("sync", "flush")), default=0)
        for operation in mine[:synced]:
            _apply(image, operation)
        for operation in _survivors(mine[synced:], chance):
            _apply(image, operation)
        return bytes(image)


def _survivors(pending: list[Operation], chance: random.Random | None) -> list[Operation]:
    """Disks write in any order, and sector by sector."""
    if chance is None or not pending:
        return pending
    match chance.choice(["nothing", "a beginning", "anything", "torn", "everything"]):
        case "nothing":
            return []
        case "a beginning":
            return pending[: chance.randint(0, len(pending))]
        case "anything":
            return [operation for operation in pending if chance.random() < 0.6]
        case "torn":
            return [part for operation in pending for part in _sectors(operation, chance)]
    return pending


def _sectors(operation: Operation, chance: random.Random) -> list[Operation]:
    if operation.kind != "write":
        return [operation] if chance.random() < 0.6 else []
    parts, at, end = [], operation.offset, operation.offset + len(operation.data)
    while at < end:
        upto = min(end, at - at % SECTOR + SECTOR)
        if chance.random() < 0.7:
            data = operation.data[at - operation.offset : upto - operation.offset]
            parts.append(operation._replace(offset=at, data=data))
        at = upto
    return parts


def _apply(image: bytearray, operation: Operation) -> None:
    if operation.kind == "write":
        end = operation.offset + len(operation.data)
        image.extend(bytes(max(0, end - len(image))))
        image[operation.offset : end] = operation.data
    elif operation.kind == "truncate":
        image.extend(bytes(max(0, operation.offset - len(image))))
        del image[operation.offset :]
