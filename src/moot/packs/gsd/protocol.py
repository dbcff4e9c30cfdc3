"""The code of the pack: takes events from surfaces and files, and echoes what moot's own verbs decide."""

from __future__ import annotations

from moot.api.protocol import Protocol
from moot.packs.gsd import needs
from moot.packs.gsd.checks import checked
from moot.packs.gsd.echo import close, echo
from moot.packs.gsd.taking import take
from moot.packs.gsd.tasks import show_plans
from moot.packs.gsd.telling import Telling, instance_of
from moot.packs.gsd.verbs import METHODS, TABLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from moot.api.call import Call
    from moot.api.protocol import Saying
    from moot.api.protocol.pack_files import FileProblem, PackFiles
    from moot.api.protocol.pack_views import Concern, PackView
    from moot.engine.unit_of_work import Work


class Gsd(Protocol):
    """See the module."""

    closers = (show_plans, close, needs.close, close)  # an echo may end plans; what that satisfies is echoed
    forms: Mapping[str, str] = {
        "plans": "moot.packs.gsd.sources:PlanForm",
        "summaries": "moot.packs.gsd.sources:SummaryForm",
        "config": "moot.packs.gsd.sources:ConfigForm",
    }
    effects = "moot.packs.gsd.effects:GsdEffects"
    verbs = TABLE
    methods = METHODS

    def observe(self, call: Call, saying: Saying) -> Mapping[str, Any]:
        """Note the sign of life of the agent, and look up what an event may need from outside the log."""
        from moot.packs.gsd.ids import is_plan
        from moot.place import ignore_case

        plan, agent = saying.data.get("plan"), saying.data.get("agent")
        if is_plan(plan) and isinstance(agent, str) and agent and call.past is None:
            call.presence.stamp_principal(instance_of(str(plan), agent))
        facts: dict[str, Any] = {"fold": ignore_case(call.place)}
        if "MOOT_EFFECT_KEY" in call.env and saying.source is None:  # a custom handler emits it
            from moot.packs.gsd.effects import cause_of

            facts["cause"] = cause_of(call)
        if saying.spec.name != "*":
            from moot.packs.gsd.checks import real_paths

            facts["real"] = real_paths(saying)
        return facts

    def due(self, call: Call) -> Callable[[Work], None] | None:
        """End claims whose holders have been silent for too long."""
        from moot.packs.gsd import claims

        return claims.lapse if claims.are_due(call) else None

    def watch(self, call: Call) -> PackView:
        from moot.packs.gsd.pane import watched

        return watched(call)

    def concerns(self, call: Call) -> Iterable[Concern]:
        from moot.packs.gsd.pane import concerns

        return concerns(call)

    def check(self, call: Call, files: PackFiles) -> Iterable[FileProblem]:
        from moot.packs.gsd.sources import check

        return check(call, files)

    def adopted(self, call: Call) -> Iterable[str]:
        from moot.packs.gsd.status_lines import adopted_lines

        return adopted_lines(call)

    def hear(self, work: Work, saying: Saying) -> int | None:
        """Take one event; or over a surface, claims or releases of several `paths`, all of them or none."""
        paths = saying.data.get("paths")
        if saying.type not in ("file:claimed", "file:released") or saying.source is not None or "path" in saying.data:
            return self._hear(work, saying)
        if not isinstance(paths, list) or not paths:
            return self._hear(work, saying)
        rest = {key: value for key, value in saying.data.items() if key != "paths"}
        return [self._hear(work, saying.replace(data={**rest, "path": path})) for path in paths][-1]

    def _hear(self, work: Work, saying: Saying) -> int:
        from moot.packs.gsd import claims

        saying = checked(work, self.pack, saying)
        start = len(work.drafts)
        claims.lapse(work)
        if len(work.drafts) > start:
            echo(work, start)
            start = len(work.drafts)
        telling = Telling(
            work,
            saying.data,
            by=saying.sender.principal,
            flags=saying.flags,
            source=saying.source,
            settings=self.settings,
            facts=saying.facts,
            limit=saying.limit,
        )
        telling.wanted, telling.adopting, telling.prints = saying.number, saying.adopting, saying.prints
        if saying.adopting:
            telling.flag("adopted: it was in the file before moot")
        telling.cause = saying.facts.get("cause", 0)
        number = take(telling)
        echo(work, start, telling)
        return number
