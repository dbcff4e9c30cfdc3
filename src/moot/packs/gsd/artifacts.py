"""Artifacts: one record per path, what it provides, and the plans that wait for it.

A path is an artifact of moot with the path as its id, so `moot artifact show` and needs work on it. The list
`artifacts` of the feed has the plans and times as the agents gave them.
"""

from __future__ import annotations

from moot.core.deciders.artifact import NAME_LIMIT, CreateArtifact, ModifyArtifact
from moot.core.deciders.claims import who_holds
from moot.core.errors import Refused
from moot.core.paths import escape
from moot.packs.gsd import tasks
from moot.packs.gsd.claims import held_by
from moot.packs.gsd.ids import same_plan
from moot.packs.gsd.telling import FEED, plan_principal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.packs.gsd.telling import Telling

LIST = "artifacts"
_MAKERS = {"artifact:created": ("createdBy", "provides"), "artifact:modified": ("modifiedBy", "changes")}


def decide(telling: Telling) -> None:
    """Create or change the artifact. moot satisfies the needs for it in the same commit."""
    work, path = telling.work, telling.event["path"]
    maker, listed = _MAKERS[telling.type]
    _fill(telling, maker, listed)
    event = telling.event
    known = _known(telling, path)
    new = tuple(event["provides"]) if telling.type == "artifact:created" else ()
    names = tuple(dict.fromkeys(name for name in new if name.strip() and len(name.splitlines()) == 1))
    if len(names) < len(set(new)):
        telling.flag("unusable_names: names that are empty or have line breaks cannot be looked up")
    who = _who(telling, maker)
    if known is None:
        work.do("artifact", path, CreateArtifact(creator=who, paths=(path,), provides=names[:NAME_LIMIT]), pack=FEED)
        known, names = path, names[NAME_LIMIT:]
    changes = tuple(text for text in event.get("changes", ()) if text.strip())
    provided = work.state("artifact", known).provides
    names = tuple(name for name in names if name not in provided)
    for start in range(0, max(len(names), 1), NAME_LIMIT):
        some = names[start : start + NAME_LIMIT]
        if some or (changes and not start):
            command = ModifyArtifact(modifier=who, changes=() if start else changes, provides=some)
            work.do("artifact", known, command, pack=FEED)
    _check_claims(telling, path)


def _fill(telling: Telling, maker: str, listed: str) -> None:
    event = telling.event
    if listed not in event:
        telling.fill(listed, [], after="path")
    if maker not in event:
        plan = tasks.running(telling.work, telling.by) if not telling.nameless else None
        if plan is None:
            telling.flag(f"no_plan: {maker} is missing, and no plan is known that it comes from")
        else:
            telling.fill(maker, plan[0], after=listed)


def _known(telling: Telling, path: str) -> str | None:
    """The id of the artifact with this path; None if there is none."""
    if telling.work.state("artifact", path).exists:
        return path
    found: tuple[str, ...] = telling.work.state("dependency", path).artifacts
    return found[0] if found else None


def _who(telling: Telling, maker: str) -> str:
    """The principal that made or changed it."""
    if not telling.nameless:
        return telling.by
    return plan_principal(telling.event[maker]) if maker in telling.event else telling.by


def _check_claims(telling: Telling, path: str) -> None:
    """Flag a change of a file that another plan has claimed, and tell the holder."""
    fold = bool(telling.facts.get("fold"))
    for claim in who_holds(telling.work.claims(), [escape(path)], fold=fold):
        holder = held_by(telling, path, claim)
        if claim.holder == telling.by or (telling.plan and same_plan(holder.plan, telling.plan)):
            continue
        telling.flag(f"claimed: {path} is claimed by {holder.said}")
        maker = f"plan {telling.plan}" if telling.plan else "an unknown plan"
        telling.tell((claim.holder,), f"{path}, which you have claimed, was changed by {maker}.", thread=claim.id)


def record(telling: Telling) -> None:
    """Keep what is known about the path, after the event is posted."""
    event, path = telling.event, telling.event["path"]
    row = telling.rows.get(LIST, path) or {"provides": [], "changes": 0}
    names = [name for name in event.get("provides", ()) if name not in row["provides"]]
    row = {**row, "provides": [*row["provides"], *names]}
    if telling.type == "artifact:created" and "created" not in row:
        row = {
            **({"createdBy": event["createdBy"]} if "createdBy" in event else {}),
            "created": event["timestamp"],
        } | row
    else:
        by = event.get("modifiedBy") or event.get("createdBy")
        changed = {"modifiedBy": by} if by else {}
        row = {**row, **changed, "modified": event["timestamp"], "changes": row["changes"] + 1}
    telling.put(LIST, path, row)


def check_exists(telling: Telling) -> None:
    """Refuse a `dependency:satisfied` for something that is not on the blackboard."""
    artifact = telling.event["artifact"]
    if _known(telling, artifact) is None:
        raise Refused(
            "unknown_artifact",
            f"There is no artifact {artifact!r} on the blackboard, so no dependency on it is satisfied.",
            "Announce the artifact first: artifact:created with its path.",
            artifact=artifact,
        )
