"""Who is here in a log that comes in from elsewhere: the place has never heard of them, so they would look silent."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from moot.core.deciders.agent import Agent
    from moot.engine.presence import Presence


class PresentAgents:
    """Told of the agents while the log is folded on trial; stamps them before it is in its place."""

    def __init__(self) -> None:
        self._here: dict[str, Agent] = {}

    def see(self, agent: Agent) -> None:
        name = agent.name.lower()
        if agent.here:
            self._here[name] = agent
        else:
            self._here.pop(name, None)

    def stamp(self, presence: Presence) -> None:
        for agent in self._here.values():
            presence.welcome(agent.name, agent.incarnation)


def stamp_at_once(presence: Presence) -> Callable[[Agent], None]:
    """For an import, which stores what it has folded as it goes on."""

    def see(agent: Agent) -> None:
        (presence.welcome if agent.here else presence.forget)(agent.name, agent.incarnation)

    return see
