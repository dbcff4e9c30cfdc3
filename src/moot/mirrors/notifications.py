"""Notices that a mirror file may have changed, without polling: `watchfiles` tells.

A thread waits for notifications of the system and makes a descriptor readable. The directories of the mirrors are
watched, and those above them up to the root of the worktree, so that a directory that is deleted, renamed or created
again is noticed. Whenever one was replaced, all are watched anew.

Where the system cannot watch, there is no descriptor, and the caller polls. Some file systems (network, shared folders
of virtual machines) never tell, so the caller polls slowly even with a descriptor.
"""

from __future__ import annotations

import os
import threading  # noqa: TID253 (loaded on demand)

from moot.mirrors.exchange import PREFIX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    Identity = frozenset[tuple[str, int, int]]

STEP = 5  # milliseconds without another change before a change is reported
LONGEST = 20  # milliseconds, while changes go on
_TICK = 50  # milliseconds; the first tick says that the directories are watched
_START = 2.0  # seconds to wait until the directories are watched


class Notifications:
    """A context manager. `descriptor` is None while nothing can be watched."""

    def __init__(self) -> None:
        self.heard = 0  # the number of notifications so far
        self._pipe: tuple[int, int] | None = None
        self._watch: _Watch | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._stop()
        for end in self._pipe or ():
            os.close(end)

    @property
    def descriptor(self) -> int | None:
        """Readable when a file may have changed since `clear`."""
        return self._pipe[0] if self._pipe is not None and self._watch is not None and self._watch.works else None

    def clear(self) -> None:
        if self._pipe is not None:
            try:
                while os.read(self._pipe[0], 4096):
                    self.heard += 1
            except BlockingIOError:
                pass

    def arm(self, folders: Iterable[tuple[str, str]]) -> bool:
        """Watch these directories, each with the root that it is below. True if they were not watched until now.

        What changed before may have gone unnoticed. So look at the files afterwards.
        """
        leaves, above = frozenset(leaf for leaf, _ in folders), frozenset(_above(folders))
        identity = frozenset(filter(None, map(_identity, leaves | above)))
        if self._watch is not None and self._watch.is_of(identity, leaves):
            return False
        self._stop()
        if self._pipe is None:
            self._pipe = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK) if hasattr(os, "pipe2") else _pipe()
        self._watch = _Watch(identity, leaves, above, self._pipe[1])
        return self._watch.start()

    def _stop(self) -> None:
        watch, self._watch = self._watch, None
        if watch is not None:
            watch.stop()


class _Watch:
    """One thread that watches a fixed set of directories."""

    def __init__(self, identity: Identity, leaves: frozenset[str], above: frozenset[str], pipe: int) -> None:
        self.identity, self.leaves, self._above, self._pipe = identity, leaves, above, pipe
        self.works = False
        self._replaced = False  # a directory was; the new one may have its inode, so the identity does not tell
        self._ready, self._ended = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="moot-mirror-watch", daemon=True)

    def is_of(self, identity: Identity, leaves: frozenset[str]) -> bool:
        return (self.identity, self.leaves) == (identity, leaves) and not self._replaced

    def start(self) -> bool:
        self._thread.start()
        self._ready.wait(_START)
        return self.works

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            from watchfiles import watch

            for changes in watch(
                *sorted(path for path, _, _ in self.identity),
                watch_filter=None,
                debounce=LONGEST,
                step=STEP,
                rust_timeout=_TICK,
                yield_on_timeout=True,
                stop_event=self._ended,
                recursive=False,
                ignore_permission_denied=True,
            ):
                self.works = True
                self._ready.set()
                self._replaced |= any(path in self.leaves or path in self._above for _, path in changes)
                if any(self._concerns(path) for _, path in changes):
                    self._tell()
        except ImportError:
            pass  # the installation is broken; the watcher looks at the files itself
        except (OSError, RuntimeError):  # a directory has just vanished, or the system has no room for more watches
            self._tell()
        finally:
            self.works = False
            self._ready.set()

    def _concerns(self, path: str) -> bool:
        if os.path.basename(path).startswith(f"{PREFIX}."):
            return False  # moot is replacing a file
        return os.path.dirname(path) in self.leaves or path in self._above or path in self.leaves

    def _tell(self) -> None:
        try:
            os.write(self._pipe, b".")
        except BlockingIOError:
            pass  # it is readable anyway


def _above(folders: Iterable[tuple[str, str]]) -> Iterable[str]:
    """The directories above, up to and including the root."""
    for leaf, root in folders:
        here = leaf
        while here != root and len(here) > len(root):
            here = os.path.dirname(here)
            yield here


def _identity(path: str) -> tuple[str, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return path, found.st_dev, found.st_ino


def _pipe() -> tuple[int, int]:
    ends = os.pipe()
    for end in ends:
        os.set_blocking(end, False)
    return ends
