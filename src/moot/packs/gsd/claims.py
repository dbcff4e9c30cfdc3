"""File claims: a path has one holder, the pair of agent and plan.

The holder is the principal `plan:<plan>/<agent>`. Its events are its only signs of life: a claim ends when it has been
silent for too long. Claims that agents make with moot's own verbs exclude it, too. The list `claims` of the feed has
the agent, plan and time of each claimed path.
"""

from __future__ import annotations

from moot.core.claims import MODES, Claim, ClaimFiles, LapseClaims, ReleaseFiles, covering, new_id
from moot.core.deciders.claims import in_the_way, who_holds
from moot.core.errors import Held, Unknown
from moot.core.paths import escape, unescape
from moot.core.principal import label
from moot.core.record import Record
from moot.core.task.leases import has_lapsed
from moot.packs.gsd import tasks
from moot.packs.gsd.ids import same_plan
from moot.packs.gsd.telling import FEED, instance_of
from moot.views import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.call import Call
    from moot.engine.unit_of_work import Work
    from moot.packs.gsd.telling import Telling

LIST = "claims"
DEFAULT_TTL = 1800.0
TAKEN_AWAY = "taken_away"  # the flag of a `file:released` that does not come from the holder


class PathHolder(Record):
    """Who holds a path, as the blackboard names it."""

    agent: str
    plan: str = ""
    since: str = ""

    @property
    def said(self) -> str:
        return (
            f"{self.agent}{f' of plan {self.plan}' if self.plan else ''}{f' since {self.since}' if self.since else ''}"
        )


def holder_of(principal: str) -> PathHolder:
    """The agent and plan of `plan:01-02/gsd-executor`; of other principals, only the name is known."""
    if not principal.startswith("plan:"):
        return PathHolder(agent=label(principal))
    plan, _, agent = principal.removeprefix("plan:").partition("/")
    return PathHolder(agent=agent or plan, plan=plan)


def held_by(telling: Telling, path: str, claim: Claim) -> PathHolder:
    """The holder of a claim on this path, as its event named it."""
    row = telling.rows.get(LIST, path) or {}
    if row.get("claim") != claim.id:
        return holder_of(claim.holder)
    return PathHolder(agent=row["agent"], plan=row.get("plan", ""), since=row["timestamp"])


def claim(telling: Telling) -> bool:
    """Grant the claim. False if its holder already has the path: then it is only renewed. Raises if another has it."""
    work, event, path = telling.work, telling.event, telling.event["path"]
    command = ClaimFiles(
        id=new_id(work.token),
        holder=instance_of(event["plan"], event["agent"]),
        paths=(escape(path),),
        mode=MODES[0],
        ttl=float(telling.settings.get("claim_ttl", DEFAULT_TTL)),
        fold=bool(telling.facts.get("fold")),
    )
    live = work.claims()
    if covering(live, command) is not None:
        return False
    others = [one.claim for one in in_the_way(live, command)]
    silences = work.facts.silences(one.holder for one in others)
    held = [one for one in others if not has_lapsed(silences[one.holder], one.ttl)]
    if held:
        raise _refusal(telling, path, held[0])
    silent = tuple((one.id, round(silences[one.holder], 3)) for one in others)
    work.do("claims", "", command.replace(silent=silent), pack=FEED)
    telling.keys["claim"] = [command.id]
    return True


def _refusal(telling: Telling, path: str, claim: Claim) -> Held:
    holder = held_by(telling, path, claim)
    return Held(
        "file_held",
        f"{path} is held by {holder.said}.",
        "Work on another file, or wait for its file:released.",
        path=path,
        agent=holder.agent,
        plan=holder.plan,
        since=holder.since,
        holder=claim.holder,
    )


def release(telling: Telling) -> None:
    """End the claim on a path. Raises if nobody has it, or another holder."""
    work, event, path = telling.work, telling.event, telling.event["path"]
    fold = bool(telling.facts.get("fold"))
    there = who_holds(work.claims(), [escape(path)], fold=fold)
    plan = event.get("plan")
    if plan is None and not telling.nameless and (own := tasks.running(work, telling.by)) is not None:
        plan = own[0]
    mine = next((one for one in there if _is_holder(telling, path, one, plan)), None)
    if mine is None and there:
        holder = held_by(telling, path, there[0])
        raise Held(
            "not_holder",
            f"{path} is held by {holder.said}, not by {event['agent']}{f' of plan {plan}' if plan else ''}.",
            f"Leave it to {holder.agent}.",
            path=path,
            agent=holder.agent,
            plan=holder.plan,
            since=holder.since,
        )
    if mine is None:
        raise Unknown("not_claimed", f"Nobody holds {path}.", "There is nothing to release.", path=path)
    telling.group_plan = held_by(telling, path, mine).plan or None
    work.do("claims", "", ReleaseFiles(holder=mine.holder, paths=(escape(path),), fold=fold), pack=FEED)


def _is_holder(telling: Telling, path: str, claim: Claim, plan: str | None) -> bool:
    holder = held_by(telling, path, claim)
    if not telling.nameless and claim.holder == telling.by:
        return True
    return holder.agent == telling.event["agent"] and (plan is None or not holder.plan or same_plan(holder.plan, plan))


def are_due(call: Call) -> bool:
    """Whether a holder has been silent for too long. In a new boot, the time of each begins again."""
    live = [one for one in states.claims(call.engine.store)[0].live.values() if one.holder.startswith("plan:")]
    for claim in live:
        call.presence.welcome(claim.holder, 0)
    return any(has_lapsed(call.silence(claim.holder), claim.ttl) for claim in live)


def lapse(work: Work) -> None:
    """End the claims whose holders have been silent for too long. `echo` tells of each."""
    live = [claim for claim in work.claims().live.values() if claim.holder.startswith("plan:")]
    silences = work.facts.silences(claim.holder for claim in live) if live else {}
    silent = tuple(
        (claim.id, round(silences[claim.holder], 3)) for claim in live if has_lapsed(silences[claim.holder], claim.ttl)
    )
    if silent:
        work.do("claims", "", LapseClaims(silent=silent), pack=FEED)


def record(telling: Telling) -> None:
    """Keep who holds the path, after the event is posted."""
    event, path = telling.event, telling.event["path"]
    if telling.type == "file:released":
        telling.drop(LIST, path)
        return
    row = {key: event[key] for key in ("agent", "plan", "task") if key in event}
    plan = event.get("plan")
    if "task" not in row and plan is not None:
        active = [one for one in _running(telling, plan) if one["agent"] == event["agent"]]
        row |= {"task": active[0]["task"]} if len(active) == 1 else {}
    ids = telling.keys.get("claim", [])
    telling.put(LIST, path, {**row, "timestamp": event["timestamp"], "number": telling.number, "claim": "".join(ids)})


def _running(telling: Telling, plan: str) -> list[dict[str, object]]:
    from moot.packs.gsd.ids import plan_of

    found = plan_of(plan)
    rows = tasks.of_plan(telling.rows, found.name) if found else {}
    return [row for row in rows.values() if row["state"] == "running"]


def paths_of(patterns: tuple[str, ...]) -> list[str]:
    """Claimed patterns as paths."""
    return [unescape(pattern) for pattern in patterns]
