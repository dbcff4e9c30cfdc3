"""Stamps the presence of agents in a log from elsewhere. Without a stamp on this machine they would look silent."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.core.deciders.agent import Agent
    from moot.engine.presence import Presence


class PresentAgents:
    """Collects the agents while a log is folded on trial, and stamps them before the log is put in place."""

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
