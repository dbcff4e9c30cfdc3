"""Facts: what a decision must know about the world outside the log, such as how long a holder has been silent.

Nothing that decides looks at a file, a clock or presence. A decision that needs a fact asks for it here. If the fact is
not known, the decision ends there; the engine looks the fact up and decides again. So a fact is about exactly the
holder that the decision found. It is as fresh as can be: all facts are looked up anew before each attempt, when the
writer lock is taken, so that no wait for the lock makes one old.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, TypeVar

    About = TypeVar("About")
    Decided = TypeVar("Decided")
    Question = tuple[str, Any]


class Wanted(Exception):
    """Ends an attempt that lacks facts."""

    def __init__(self, questions: list[Question]) -> None:
        super().__init__(questions)
        self.questions = questions


class Facts:
    """The facts of one commit. `lookups`: for each sort of fact, a function that finds one out."""

    def __init__(self, lookups: Mapping[str, Callable[[Any], Any]]) -> None:
        self._lookups = lookups
        self._known: dict[Question, Any] = {}

    # --- for those who decide ---------------------------------------------------------------------------------------

    def find(self, sort: str, about: Any) -> Any:
        return self._all(sort, (about,))[about]

    def silence(self, principal: str) -> float:
        """For how long it was not heard of, in seconds."""
        return float(self.find("silence", principal))

    def silences(self, principals: Iterable[str]) -> dict[str, float]:
        """The same of several, looked up all at once."""
        return self._all("silence", principals)

    def ensure_stamped(self, agent: str, incarnation: int) -> None:
        """Let nothing be appended before this incarnation has given a sign of life."""
        self.find("stamp", (agent, incarnation))

    def _all(self, sort: str, about: Iterable[About]) -> dict[About, Any]:
        asked = dict.fromkeys(about)
        missing = [(sort, one) for one in asked if (sort, one) not in self._known]
        if missing:
            raise Wanted(missing)
        return {one: self._known[sort, one] for one in asked}

    # --- for the engine ---------------------------------------------------------------------------------------------

    def knowing(self, decide: Callable[..., Decided], *given: Any) -> Decided:
        """Decide as often as it takes to know all that is wanted. What was known before is looked up anew."""
        wanted = list(self._known)
        while True:
            for sort, about in wanted:
                self._known[sort, about] = self._lookups[sort](about)
            try:
                return decide(*given)
            except Wanted as more:
                wanted = more.questions
