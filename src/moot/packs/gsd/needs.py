"""The artifacts that a plan needs. A need is satisfied when the artifact is announced, or at once if it was before.

Needs are declared over a surface, or by the front matter of the plan's file: in the commit that takes in the file, and
dropped when the file no longer lists them or the plan is done.
"""

from __future__ import annotations

from moot.api.protocol.form import FULL
from moot.core.deciders.dependency import DeclareNeed, DropNeed
from moot.core.deciders.feed import Listed
from moot.packs.gsd.handlers import PACK
from moot.packs.gsd.rows import rows_of
from moot.packs.gsd.sources import FILES, plan_facts
from moot.packs.gsd.tasks import is_done
from moot.packs.gsd.telling import plan_principal
from moot.views import queries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from moot.core.event import Draft
    from moot.engine.unit_of_work import Work
    from moot.views.store import Store

WHO = "moot"  # who declares the needs of files
_ALL = 1 << 31


def declare(work: Work, plan: str, artifacts: Iterable[str], who: str) -> None:
    """Declare that a plan needs these paths, or names that artifacts provide. Known needs stay as they are."""
    for artifact in dict.fromkeys(artifacts):
        work.do("dependency", artifact, DeclareNeed(needer=plan_principal(plan), who=who), pack=PACK)


def close(work: Work) -> None:
    """A closer: what follows from the plan files that this commit has taken in, and from plans that are done now."""
    changed = dict.fromkeys(plan for draft in work.drafts for plan in _concerned(draft))
    declared = _declared(work.store) if changed else {}
    for plan in changed:
        needs = () if is_done(work, rows_of(work, PACK), plan) else plan_facts(work, plan).needs
        declare(work, plan, needs, WHO)
        for artifact in declared.get(plan, ()):
            if len(work.drafts) > FULL:
                return  # one that stays holds up nobody else
            if artifact not in needs and work.state("dependency", artifact).waiting.get(plan_principal(plan)) == WHO:
                work.do("dependency", artifact, DropNeed(needer=plan_principal(plan)), pack=PACK)


def _concerned(draft: Draft) -> Iterable[str]:
    """The plan whose file a draft is about, or the plans that it lists as completed, or no longer."""
    if draft.stream.startswith(FILES):
        return (draft.stream.split(".", 3)[3],)
    if draft.type == Listed.type and draft.data["list"] == "completed_plans":
        return (*draft.data.get("puts", ()), *draft.data.get("drops", ()))
    return ()


def _declared(store: Store) -> dict[str, list[str]]:
    """The artifacts that plans wait for because a file says so, by plan."""
    found: dict[str, list[str]] = {}
    for need in queries.things(store, "dependency", _ALL):
        for who, declared_by in need.waiting.items():
            if who.startswith("plan:") and declared_by == WHO:
                found.setdefault(who.removeprefix("plan:"), []).append(need.id)
    return found
