"""What happens to open files and connections when the process forks.

SQLite keeps the locks of a process in memory that a child inherits, while the locks themselves stay with the
parent: even a new connection of the child would believe in locks that nobody holds. So connections are closed
before a fork and opened again afterwards, by whoever needs them, on either side.
"""

from __future__ import annotations

import os
from weakref import ref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Watched(Protocol):
        """Something with an open file."""

        def before_fork(self) -> None: ...
        def after_fork_in_parent(self) -> None: ...
        def after_fork_in_child(self) -> None: ...


_watched: dict[int, ref[Watched]] = {}
_first: dict[int, ref[Watched]] = {}


def watch(thing: Watched, *, first: bool = False) -> None:
    """Tell `thing` about every fork for as long as it lives.

    `first`: what another thread does with it may need one of the others to come to its end.
    """
    number, among = id(thing), _first if first else _watched
    among[number] = ref(thing, lambda _: among.pop(number, None))


def _alive() -> list[Watched]:
    # Copies: a garbage collection in the middle of a loop removes what is gone.
    known = [*_first.copy().values(), *_watched.copy().values()]
    return [thing for thing in (its() for its in known) if thing is not None]


def _before() -> None:
    for thing in _alive():
        thing.before_fork()  # what an interrupt leaves open here is refused in the child


def _after_in_parent() -> None:
    for thing in _alive():
        thing.after_fork_in_parent()


def _after_in_child() -> None:
    for thing in _alive():
        thing.after_fork_in_child()


os.register_at_fork(before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child)
