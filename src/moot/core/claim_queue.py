"""Waiting for files that somebody else has claimed.

What always holds:
- A holder that waits is granted its claim as a whole, in the commit that frees the last of its paths.
- The order of asking is kept: nobody who waits overtakes an earlier one that waits for the same path.
- A holder that was replaced, that leaves, or that is silent for longer than its ttl while another asks for the same
  path, no longer waits; nor does one that releases what it waits for, or whose task ends.
- The number of waiting claims is limited.
"""

from __future__ import annotations

from itertools import takewhile

from moot.core.claims import (
    CLAIM_LIMIT,
    OWN_CLAIM_LIMIT,
    AwaitFiles,
    Claim,
    ClaimAwaited,
    Claimed,
    ClaimFiles,
    ClaimsState,
    ClaimUnawaited,
    LapseClaims,
    Lapsed,
    ReleaseAll,
    Released,
    ReleaseForTask,
    SupersedeHolder,
)
from moot.core.errors import Held, Refused
from moot.core.kind import NOWHERE
from moot.core.task.leases import has_lapsed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.core.claims import Collision, Command
    from moot.core.payload import Payload

_FIELDS = ("id", "holder", "paths", "mode", "ttl", "reason", "task", "worktree")


def decide_queue(state: ClaimsState, command: AwaitFiles) -> list[Payload]:
    from moot.core.deciders.claims import checked_paths, decide, standing

    asking = ClaimFiles(**command.__dict__).replace(paths=checked_paths(command))
    if standing(state, asking) is not None or place_of(state, asking) is not None:
        return []
    if not _earlier(state, asking):
        try:
            return decide(state.replace(waiting={}), asking)
        except Held as held:
            if held.code != "file_held":
                raise
    _check_length(state, command.holder)
    return [ClaimAwaited(**{name: value for name, value in asking.__dict__.items() if name in _FIELDS})]


def granted(state: ClaimsState, command: Command, decided: list[Payload]) -> list[Payload]:
    """The claims that those who wait get after what was decided."""
    from moot.core.deciders.claims import evolve, in_the_way

    found = _gone(state, command)
    for payload in (*decided, *found):
        state = evolve(state, payload, NOWHERE)
    if not any(isinstance(payload, (Released, Lapsed, ClaimUnawaited)) for payload in (*decided, *found)):
        return found
    for one in list(state.waiting.values()):
        asking = _asking(one)
        if not _earlier(state, asking) and not in_the_way(state, asking):
            claim = Claimed(**{name: getattr(one, name) for name in _FIELDS})
            state = evolve(state, claim, NOWHERE)
            found.append(claim)
    return found


def place_of(state: ClaimsState, command: ClaimFiles) -> Claim | None:
    """The place in line that the holder already has for the same request."""
    from moot.core.deciders.claims import checked_paths

    same = (command.holder, checked_paths(command), command.mode, command.worktree)
    waiting = state.waiting.values()
    return next((one for one in waiting if (one.holder, one.paths, one.mode, one.worktree) == same), None)


def blockers(state: ClaimsState, place: Claim) -> list[Claim]:
    """What this place waits for: live claims, then the earlier places in line, which are in `state.waiting`."""
    from moot.core.deciders.claims import in_the_way

    asking = _asking(place)
    return [collision.claim for collision in (*in_the_way(state, asking), *_earlier(state, asking))]


def _gone(state: ClaimsState, command: Command) -> list[Payload]:
    return [
        ClaimUnawaited(one.id, one.holder, one.paths, reason)
        for one in state.waiting.values()
        if (reason := _why_gone(one, command))
    ]


def _why_gone(one: Claim, command: Command) -> str:
    match command:
        case LapseClaims():
            return "silent" if has_lapsed(dict(command.silent).get(one.id), one.ttl) else ""
        case ReleaseForTask():
            return command.reason if command.ends(one) else ""
        case ReleaseAll(holder=holder) if holder == one.holder:
            return "its holder is gone"
        case SupersedeHolder(old=old) if one.holder in old:
            return "its holder is gone"
        case _:
            return ""


def _earlier(state: ClaimsState, asking: ClaimFiles) -> list[Collision]:
    """The places of others that have been waiting longer for one of these paths."""
    from moot.core.deciders.claims import in_the_way

    earlier = dict(takewhile(lambda item: item[0] != asking.id, state.waiting.items()))
    return in_the_way(ClaimsState(live=earlier), asking) if earlier else []


def _asking(one: Claim) -> ClaimFiles:
    """The state does not know whether the file system ignores case. In doubt, a place waits for both spellings."""
    return ClaimFiles(**{name: getattr(one, name) for name in _FIELDS}, fold=True)


def _check_length(state: ClaimsState, holder: str) -> None:
    own = sum(one.holder == holder for one in state.waiting.values())
    if own >= OWN_CLAIM_LIMIT or len(state.waiting) >= CLAIM_LIMIT:
        raise Refused(
            "too_many_waiting",
            f"Too many claims are waiting: {own} of {holder}, {len(state.waiting)} in all.",
            "Wait until some of them are granted.",
            limit=OWN_CLAIM_LIMIT,
        )
