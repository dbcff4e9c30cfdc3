"""No room on the disk, as SQLite meets it: the system calls that it writes with fail, with the number that says why.

Its VFS could be told to fail, too; but what Python raises there reaches moot even where SQLite would go on.
"""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import apsw

_SIZE, _OFFSET, _FILE, _BYTES = ctypes.c_ssize_t, ctypes.c_int64, ctypes.c_int, ctypes.c_void_p
_CALLS: dict[str, tuple[Any, ...]] = {
    "open": (_FILE, ctypes.c_char_p, ctypes.c_int, ctypes.c_int),
    "write": (_SIZE, _FILE, _BYTES, ctypes.c_size_t),
    "pwrite": (_SIZE, _FILE, _BYTES, ctypes.c_size_t, _OFFSET),
    "pwrite64": (_SIZE, _FILE, _BYTES, ctypes.c_size_t, _OFFSET),
    "ftruncate": (ctypes.c_int, _FILE, _OFFSET),
}


class FullDisk:
    """While it is entered, SQLite's calls that need room are counted, and fail from the given one on.

    `once`: only that one fails, as if somebody else had made room at once.
    """

    def __init__(self, at: int = 0, *, once: bool = False, reason: int = errno.ENOSPC) -> None:
        self.count = 0
        self.failed: set[str] = set()  # the names of the calls
        self._at = at
        self._once = once
        self._reason = reason
        self._vfs = apsw.VFS("full", "unix")
        self._ours: dict[str, Any] = {}
        self._theirs = {name: self._vfs.xGetSystemCall(name) for name in _CALLS}

    def __enter__(self) -> Self:
        for name, pointer in self._theirs.items():
            if pointer:
                kind = ctypes.CFUNCTYPE(*_CALLS[name], use_errno=True)
                self._ours[name] = kind(self._guarded(name, kind(pointer)))
                self._vfs.xSetSystemCall(name, ctypes.cast(self._ours[name], ctypes.c_void_p).value)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name, pointer in self._theirs.items():
            if pointer:
                self._vfs.xSetSystemCall(name, pointer)
        self._vfs.unregister()

    def _guarded(self, name: str, real: Callable[..., int]) -> Callable[..., int]:
        def call(*arguments: Any) -> int:
            if self._needs_room(name, arguments):
                self.count += 1
                if self.count == self._at or (0 < self._at < self.count and not self._once):
                    self.failed.add(name)
                    ctypes.set_errno(self._reason)
                    return -1
            return real(*arguments)

        return call

    @staticmethod
    def _needs_room(name: str, arguments: tuple[Any, ...]) -> bool:
        if name == "open":
            return bool(arguments[1] & os.O_CREAT) and not os.path.exists(arguments[0])
        if name == "ftruncate":
            return arguments[1] > os.fstat(arguments[0]).st_size
        return True
