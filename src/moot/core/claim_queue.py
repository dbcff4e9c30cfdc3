"""Waiting for files that somebody else has claimed.

What always holds:
- A holder that waits is granted its claim as a whole, in the commit that frees the last of its paths.
- The order of asking is kept: nobody who waits overtakes an earlier one that waits for the same path.
- A holder that loses its claims because it was replaced, or that leaves, no longer waits.
- The number of waiting claims is limited.
"""

from __future__ import annotations

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
    Lapsed,
    ReleaseAll,
    Released,
    StopAwaiting,
    SupersedeHolder,
)
from moot.core.errors import Held, Refused
from moot.core.kind import NOWHERE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.core.claims import Command
    from moot.core.payload import Payload

_FIELDS = ("id", "holder", "paths", "mode", "ttl", "reason", "task", "worktree")


def decide_queue(state: ClaimsState, command: AwaitFiles | StopAwaiting) -> list[Payload]:
    if isinstance(command, StopAwaiting):
        waiting = state.waiting.get(command.id)
        if waiting is None or waiting.holder != command.holder:
            return []
        return [ClaimUnawaited(waiting.id, waiting.holder, waiting.paths, command.reason)]
    from moot.core.deciders.claims import checked_paths, decide, standing

    asking = ClaimFiles(**command.__dict__).replace(paths=checked_paths(command))
    if standing(state, asking) is not None or any(_repeats(one, asking) for one in state.waiting.values()):
        return []
    if not _overtakes(state, asking):
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
        if not _overtakes(state, asking) and not in_the_way(state, asking):
            claim = Claimed(**{name: getattr(one, name) for name in _FIELDS})
            state = evolve(state, claim, NOWHERE)
            found.append(claim)
    return found


def _gone(state: ClaimsState, command: Command) -> list[Payload]:
    """A holder that leaves or was replaced waits for nothing any more."""
    match command:
        case ReleaseAll():
            gone: tuple[str, ...] = (command.holder,)
        case SupersedeHolder():
            gone = command.old
        case _:
            return []
    mine = (one for one in state.waiting.values() if one.holder in gone)
    return [ClaimUnawaited(one.id, one.holder, one.paths, "its holder is gone") for one in mine]


def _overtakes(state: ClaimsState, asking: ClaimFiles) -> bool:
    """Whether somebody else has been waiting longer for one of these paths."""
    from moot.core.deciders.claims import in_the_way

    earlier: dict[str, Claim] = {}
    for name, one in state.waiting.items():
        if name == asking.id:
            break
        earlier[name] = one
    return bool(earlier) and bool(in_the_way(ClaimsState(live=earlier), asking))


def _repeats(one: Claim, command: ClaimFiles) -> bool:
    return (one.holder, one.paths, one.mode, one.worktree) == (
        command.holder, command.paths, command.mode, command.worktree,
    )  # fmt: skip


def _asking(one: Claim) -> ClaimFiles:
    return ClaimFiles(**{name: getattr(one, name) for name in _FIELDS})


def _check_length(state: ClaimsState, holder: str) -> None:
    own = sum(one.holder == holder for one in state.waiting.values())
    if own >= OWN_CLAIM_LIMIT or len(state.waiting) >= CLAIM_LIMIT:
        raise Refused(
            "too_many_waiting",
            f"Too many claims are waiting: {own} of {holder}, {len(state.waiting)} in all.",
            "Wait until some of them are granted.",
            limit=OWN_CLAIM_LIMIT,
        )
