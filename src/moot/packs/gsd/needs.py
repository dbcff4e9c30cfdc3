"""The artifacts that a plan needs. A need is satisfied when the artifact is announced, or at once if it was before."""

from __future__ import annotations

from moot.core.deciders.dependency import DeclareNeed
from moot.packs.gsd.telling import FEED, plan_principal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from moot.engine.unit_of_work import Work


def declare(work: Work, plan: str, artifacts: Iterable[str], who: str) -> None:
    """Declare that a plan needs these paths, or names that artifacts provide. Known needs stay as they are."""
    for artifact in dict.fromkeys(artifacts):
        work.do("dependency", artifact, DeclareNeed(needer=plan_principal(plan), who=who), pack=FEED)
