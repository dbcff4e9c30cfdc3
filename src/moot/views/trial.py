"""Folding the events of a backup on trial, into a private copy of the views, to see whether they can be folded."""

from __future__ import annotations

import apsw

from moot.core.kind import find
from moot.core.schema.shape import misfit
from moot.views import states
from moot.views.private_copy import PrivateCopy
from moot.views.project import project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from moot.core.deciders.agent import Agent
    from moot.core.event import Event

# Errors that a fold may raise for malformed data.
_STUMBLES = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError, apsw.Error)


class Trial:
    """A trial fold. It starts from the views of this directory, which must be up to date, or empty with `anew`.

    `seen` is called with the state of an agent after each event about it.
    """

    def __init__(self, directory: str, *, anew: bool = False, seen: Callable[[Agent], object] | None = None) -> None:
        self._seen = seen
        self._views = PrivateCopy(directory, empty=anew)
        self._views.begin()
        self._strict = self._views.standing()[2] is None  # else the log is already read-only for this version

    def fold(self, events: Sequence[Event]) -> str | None:
        """None if the events can be folded, otherwise what is wrong. After an error the trial cannot be used again."""
        try:
            for event in events:
                problem = self._wrong(event)
                if problem is not None:
                    return f"{event.type} at position {event.position}: {problem}"
                project(self._views, (event,))
                if self._seen is not None and event.stream.startswith("agent/"):
                    self._seen(states.agent(self._views, event.stream.partition("/")[2])[0])
        except _STUMBLES as error:
            return f"{type(error).__name__}: {error}"
        return None

    def _wrong(self, event: Event) -> str | None:
        kind = find(event.stream.partition("/")[0])
        known = None if kind is None else kind.payload(event)
        if kind is None and event.pack is not None:
            return None  # only its version is folded
        if kind is None or known is None:
            # It would make the log read-only for this version, unless the log already is.
            return f"v{event.v} in {event.stream[:80]!r} is not known to this version of moot" if self._strict else None
        return misfit(known, event.data)

    def close(self) -> None:
        self._views.close()
