"""The verbs of the pack as typed methods.

from moot import Workspace
from moot.packs.specflow.methods import Team

with Workspace(agent="w1.yeats") as ws:
    team = ws.pack(Team)
    number = team.write("db-coordinator", "REQUEST_MIGRATION #50 tables:[users]").replies[0]
"""

# The return types are declared here and checked by the tests of this module.
# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from moot.api.protocol.pack_methods import PackMethods

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any, Literal

    from moot.packs.specflow.verbs.messages import Touched, WrittenMessage
    from moot.packs.specflow.verbs.migrations import Migrations
    from moot.packs.specflow.verbs.teams import Spawned, Stopping


class Team(PackMethods):
    """See the module."""

    def plan(
        self,
        source: str | None = None,
        *,
        gh: bool = False,
        pool: str = "writers",
        dry_run: bool = False,
        key: str | None = None,
    ) -> dict[str, Any]:
        """Plan waves from a list of issues, from gh, or from the tasks issue-N. Starts nothing."""
        return self._ask("specflow plan", locals())

    def decide(
        self,
        issue: int,
        how: Literal["resume", "reassign", "defer"],
        *,
        reason: str | None = None,
        key: str | None = None,
    ) -> dict[str, Any]:
        """Decide on a blocked issue, as the lead."""
        return self._ask("specflow decide", locals())

    def status(self, *, wave: int | None = None) -> dict[str, Any]:
        return self._ask("specflow status", locals())

    def catalogue(self) -> list[dict[str, Any]]:
        """The messages of the protocol, with their forms, fields and roles."""
        return self._ask("specflow catalogue", locals())

    def migrations(self) -> Migrations:
        return self._ask("specflow migrations", locals())

    def write(self, to: str, message: str, *, within: float | None = None, key: str | None = None) -> WrittenMessage:
        """Send a message to one agent of the team."""
        return self._ask("specflow write", locals())

    def broadcast(self, message: str, *, key: str | None = None) -> WrittenMessage | Touched:
        """Send a message to the whole team, or announce a file (TOUCHING_FILE)."""
        return self._ask("specflow broadcast", locals())

    def spawn_team(self, name: str, config: Mapping[str, Any], *, key: str | None = None) -> Spawned:
        """Open the team of the planned wave, as its lead."""
        return self._ask("specflow spawn-team", locals())

    def request_shutdown(
        self, name: str | None = None, *, abort: str | None = None, key: str | None = None
    ) -> Stopping:
        """Ask the team, or one agent, to finish its turn and stop."""
        return self._ask("specflow request-shutdown", locals())

    def gate(self, tier: Literal["tier2", "tier3"] | None = None, *, accept: bool = False) -> Iterator[dict[str, Any]]:
        """Ask for a gate, and work off the queue here."""
        return self._ask_on("specflow gate", locals())
