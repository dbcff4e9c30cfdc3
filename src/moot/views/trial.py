"""Folding events on trial, into a private copy of the views: whether those who fold them later will get through.

What comes in from a file is in the log for good once it is there. An event that no fold can take would end every
command after it, so it is found out before.
"""

from __future__ import annotations

import apsw

from moot.core.deciders.agent import Joined
from moot.core.errors import Usage
from moot.core.principal import checked_name
from moot.core.shape import misfit
from moot.views.aside import Aside
from moot.views.bulk import Batch
from moot.views.project import events_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from moot.core.event import Event

# Whatever a fold may stumble over in data of a wrong shape.
_STUMBLES = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError, apsw.Error)


class Trial:
    """A private copy of the views of this directory, which must be up to date."""

    def __init__(self, directory: str) -> None:
        self._views = Aside(directory)
        self._views.cursor()  # opens it
        self._views.part()
        self._views.begin()
        self._batch = Batch(self._views)
        self._strict = self._views.standing()[2] is None  # else the log can only be read as it is

    def fold(self, events: Sequence[Event]) -> str | None:
        """None if they can be folded in; otherwise what is wrong with them. After that it is of no further use."""
        for event in events:
            kind, _, key = event.stream.partition("/")
            known = events_of(kind).get(event.type)
            if known is None or event.v > known.v:
                if self._strict:  # nothing could be decided any more
                    return f"{event.type} v{event.v} is not known to this version of moot"
                continue
            problem = misfit(known, event.data)
            if problem is None and known is Joined:
                problem = _no_name(event.data["name"], key)
            if problem is not None:
                return f"{event.type}: {problem}"
        try:
            self._batch.fold(events)
        except _STUMBLES as error:
            return f"{type(error).__name__}: {error}"
        return None

    def close(self) -> None:
        self._views.close()


def _no_name(name: str, key: str) -> str | None:
    """What is wrong with the name of an agent: files are called by it."""
    try:
        return None if checked_name(name).lower() == key else "its stream is another agent's"
    except Usage as error:
        return error.message
