"""How many claims, paths and patterns may be live: for one holder, and for all together."""

from __future__ import annotations

from moot.core import paths
from moot.core.claims import (
    CLAIM_LIMIT,
    LIVE_GLOB_LIMIT,
    LIVE_PATH_LIMIT,
    OWN_CLAIM_LIMIT,
    OWN_GLOB_LIMIT,
    OWN_PATH_LIMIT,
    ClaimsState,
)
from moot.core.errors import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def check_room(before: ClaimsState, after: ClaimsState, holder: str) -> None:
    """Raise if a grant takes its holder, or all holders together, above a limit."""
    own = (OWN_CLAIM_LIMIT, OWN_PATH_LIMIT, OWN_GLOB_LIMIT)
    whole = (CLAIM_LIMIT, LIVE_PATH_LIMIT, LIVE_GLOB_LIMIT)
    for limits, whose, there in ((own, holder, "You would have"), (whole, None, "There would be")):
        counts = _counts(after, whose)
        for number, (count, limit) in enumerate(zip(counts, limits, strict=True)):
            if count > limit and count > _counts(before, whose)[number]:
                raise Refused(
                    "too_many_claims",
                    f"{there} {count} live {_COUNTED[number]}; the limit{' per holder' * bool(whose)} is {limit}.",
                    "Release claims you no longer need (`moot claims` lists them), or claim directories, not files.",
                    limit=limit,
                )


_COUNTED = ("claims", "claimed paths", "claimed patterns")


def _counts(state: ClaimsState, holder: str | None) -> tuple[int, int, int]:
    """The number of live claims, paths and patterns of this holder, or of all holders."""
    live = [claim for claim in state.live.values() if holder in (None, claim.holder)]
    held = [path for claim in live for path in claim.paths]
    return len(live), len(held), count_globs(held)


def count_globs(patterns: Iterable[str]) -> int:
    return sum(paths.is_glob(text) and paths.compiled(text).literal is None for text in patterns)
