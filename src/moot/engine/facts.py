"""Facts: what a decision must know from outside the log, such as how long a holder has been silent.

A decider never reads a file, a clock or presence. It asks for a fact here. If the fact is missing, the attempt stops,
the engine looks the fact up and runs the decision again. So each fact is about exactly the holder that the decision
found. Before each attempt the engine looks up all facts again while it holds the writer lock, so waiting for the lock
never makes a fact stale.
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
    """Raised to stop an attempt that lacks facts."""

    def __init__(self, questions: list[Question]) -> None:
        super().__init__(questions)
        self.questions = questions


class Facts:
    """The facts of one commit. `lookups`: a lookup function for each sort of fact. `asks`: what will be asked."""

    def __init__(self, lookups: Mapping[str, Callable[[Any], Any]], asks: Iterable[Question] = ()) -> None:
        self._lookups = lookups
        self._known: dict[Question, Any] = dict.fromkeys(asks)  # looked up before the first attempt

    # --- for decisions ----------------------------------------------------------------------------------------------

    def find(self, sort: str, about: Any) -> Any:
        return self._all(sort, (about,))[about]

    def silence(self, principal: str) -> float:
        """Seconds since the principal was last seen."""
        return float(self.find("silence", principal))

    def silences(self, principals: Iterable[str]) -> dict[str, float]:
        """The silence of several principals, in one lookup."""
        return self._all("silence", principals)

    def ensure_stamped(self, agent: str, incarnation: int) -> None:
        """Make sure that this incarnation has a presence stamp before anything is appended."""
        self.find("stamp", (agent, incarnation))

    def _all(self, sort: str, about: Iterable[About]) -> dict[About, Any]:
        asked = dict.fromkeys(about)
        missing = [(sort, one) for one in asked if (sort, one) not in self._known]
        if missing:
            raise Wanted(missing)
        return {one: self._known[sort, one] for one in asked}

    # --- for the engine ---------------------------------------------------------------------------------------------

    def knowing(self, decide: Callable[..., Decided], *given: Any) -> Decided:
        """Run `decide` until it lacks no facts. Facts from an earlier attempt are looked up again first."""
        wanted = list(self._known)
        while True:
            for sort, about in wanted:
                self._known[sort, about] = self._lookups[sort](about)
            try:
                return decide(*given)
            except Wanted as more:
                wanted = more.questions
