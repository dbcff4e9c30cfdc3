"""Which claims stand in the way of a commit or push.

Committing files is treated like asking for a shared claim on them: the exclusive claims of other holders stand in the
way. A shared claim does not, because everybody could share it. File names are literal: nothing in them is a wildcard,
and they may have characters that a claim cannot name.
"""

from __future__ import annotations

from moot.core import paths
from moot.core.claims import MODES, Claim
from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from moot.core.claims import ClaimsState


class Barred(Record):
    """Files that a claim of another holder covers."""

    claim: Claim
    files: tuple[str, ...]


def exclusive_of_others(state: ClaimsState, me: str | None) -> list[Claim]:
    """The claims that can stand in the way of this principal (None: of somebody who holds nothing)."""
    return [claim for claim in state.live.values() if claim.mode == MODES[0] and claim.holder != me]


def barred(claims: Sequence[Claim], files: Sequence[str], *, worktree: str | None, fold: bool) -> list[Barred]:
    """Those of these claims that cover one of the files, as seen from a worktree (None: from all of them)."""
    named = [paths.literal(file, fold=fold) for file in files]
    plain: dict[str | None, list[paths.Pattern]] = {}
    for one in named:
        plain.setdefault(one.literal, []).append(one)
    found = []
    for claim in claims:
        if worktree is not None and claim.worktree not in (None, worktree):
            continue
        hits: list[paths.Pattern] = []
        for held in (paths.compiled(path, fold=fold) for path in claim.paths):
            if held.literal is None:
                hits += [one for one in named if paths.meet(held, one)]
            else:
                hits += plain.get(held.literal, ())
        if hits:
            found.append(Barred(claim=claim, files=tuple(dict.fromkeys(one.text for one in hits))))
    return found
