"""Closes files and connections when the process forks.

SQLite tracks the locks of a process in memory, which a child inherits, while the locks themselves stay with the parent.
Even a new connection in the child would rely on locks that it does not hold. So connections are closed before a fork.
Parent and child open them again when they need them.
"""

from __future__ import annotations

import os
from weakref import ref


class Watched:
    """An object with an open file or a lock. By default a fork changes nothing for it."""

    def before_fork(self) -> None:
        """Called in the process that forks."""

    def after_fork_in_parent(self) -> None: ...

    def after_fork_in_child(self) -> None: ...


_watched: dict[int, ref[Watched]] = {}
_first: dict[int, ref[Watched]] = {}


def watch(thing: Watched, *, first: bool = False) -> None:
    """Notify `thing` about every fork as long as it exists.

    `first`: notify it before the others. A thread that uses it may need one of the others to finish.
    """
    number, among = id(thing), _first if first else _watched
    among[number] = ref(thing, lambda _: among.pop(number, None))


def _alive() -> list[Watched]:
    # Copies, because garbage collection during the loop can remove entries.
    known = [*_first.copy().values(), *_watched.copy().values()]
    return [thing for thing in (its() for its in known) if thing is not None]


def _before() -> None:
    for thing in _alive():
        thing.before_fork()  # if an interrupt leaves one open here, the child refuses to use it


def _after_in_parent() -> None:
    for thing in _alive():
        thing.after_fork_in_parent()


def _after_in_child() -> None:
    for thing in _alive():
        thing.after_fork_in_child()


os.register_at_fork(before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child)
