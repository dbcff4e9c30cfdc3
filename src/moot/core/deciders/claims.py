"""File claims: who may edit which paths.

What always holds:
- If claims of different holders overlap, all of them are shared. Claims bound to different worktrees never overlap; a
  claim without a worktree covers the path in every worktree.
- A claim is granted or refused as a whole. A refusal changes nothing. The token is the position of the grant.
- A claim ends only by an event. It is released: by its holder, or because its task ended or has a new holder. Or it
  lapses: its holder was replaced, or was silent for longer than its ttl (at the latest when another gets the path).
- Who releases a path no longer waits for it, and so for nothing else of that request.
- A path can be released by any spelling that could have named it, because a file that appears or disappears changes
  how its path is read.
- A holder has a path in one claim per worktree. Claiming it again with another mode, ttl, task or reason moves it to
  the new claim; a claim without paths ends. Claiming it again unchanged does nothing.
- Who waits for paths that others have gets them in the commit that frees them, in the order of asking
  (`moot.core.claim_queue`).
- A commit or push that overrides a claim (see `moot.core.barred`) is recorded and does not change the claim.
- The number of live claims, paths and patterns is limited, per holder and in total, so that one holder cannot use up
  the room of all others. A holder above a limit keeps what it has.

A holder is the text of a principal, with its incarnation. The caller determines who is silent and who may use force.
The state holds only the live claims.
"""

from __future__ import annotations

from moot.core import paths
from moot.core.claims import (
    CLAIM_LIMIT,
    EVENTS,
    GLOB_LIMIT,
    LIVE_GLOB_LIMIT,
    LIVE_PATH_LIMIT,
    MODES,
    OVERRIDE_LIMIT,
    OWN_CLAIM_LIMIT,
    OWN_GLOB_LIMIT,
    OWN_PATH_LIMIT,
    PATH_LIMIT,
    REASON_LIMIT,
    SHOWN_LIMIT,
    STREAM,
    TTL_LIMIT,
    AwaitFiles,
    Claim,
    ClaimAwaited,
    Claimed,
    ClaimFiles,
    ClaimsState,
    ClaimUnawaited,
    Collision,
    LapseClaims,
    Lapsed,
    Overridden,
    OverrideClaim,
    ReleaseAll,
    Released,
    ReleaseFiles,
    ReleaseForTask,
    SupersedeHolder,
    covering,
)
from moot.core.errors import Held, Refused, Unknown, Usage
from moot.core.kind import NOWHERE, Kind
from moot.core.principal import name_of
from moot.core.record import unreachable
from moot.core.task.leases import has_lapsed
from moot.core.text import command_line, counted, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from moot.core.claims import Command, Releasing
    from moot.core.errors import MootError
    from moot.core.kind import Meta
    from moot.core.payload import Payload

_WITHOUT_MAILBOX = ("plan:", "role:", "process:")  # holders that are known only from files, or have no name


def decide(state: ClaimsState, command: Command, _facts: object = None) -> list[Payload]:
    decided = _decide(state, command)
    if not state.waiting:
        return decided
    from moot.core.claim_queue import granted

    return [*decided, *granted(state, command, decided)]


def _decide(state: ClaimsState, command: Command) -> list[Payload]:
    match command:
        case AwaitFiles():
            from moot.core.claim_queue import decide_queue

            return decide_queue(state, command)
        case ClaimFiles():
            return _claim(state, command)
        case ReleaseFiles():
            return _release(state, command)
        case ReleaseAll():
            return [_released(claim, command) for claim in state.live.values() if claim.holder == command.holder]
        case ReleaseForTask():
            return [_released(claim, command) for claim in state.live.values() if command.ends(claim)]
        case LapseClaims():
            silent = dict(command.silent)
            return [_lapsed(claim, silent) for claim in state.live.values() if _is_silent(claim, silent)]
        case SupersedeHolder():
            return [_lapsed(claim, None) for claim in state.live.values() if claim.holder in command.old]
        case OverrideClaim():
            return _override(state, command)
        case _:
            unreachable(command)


def evolve(state: ClaimsState, payload: Payload, meta: Meta) -> ClaimsState:
    match payload:
        case ClaimAwaited():
            return state.replace(waiting={**state.waiting, payload.id: Claim(token=meta.position, **payload.__dict__)})
        case Claimed():
            live = dict(_without(state, payload))
            live[payload.id] = Claim(token=meta.position, **payload.__dict__)
            if payload.id in state.waiting:
                state = state.replace(waiting={name: one for name, one in state.waiting.items() if name != payload.id})
        case Released():
            live = dict(state.live)
            live[payload.id] = live[payload.id].replace(paths=payload.left)
            if not payload.left:
                del live[payload.id]
        case Lapsed():
            live = dict(state.live)
            del live[payload.id]
        case Overridden():
            return state
        case ClaimUnawaited():
            return state.replace(waiting={name: one for name, one in state.waiting.items() if name != payload.id})
        case _:
            raise TypeError(f"not an event of the claims: {payload!r}")
    return state.replace(live=live)


def _without(state: ClaimsState, grant: Claimed) -> Iterator[tuple[str, Claim]]:
    """The live claims without the paths that move to the new grant."""
    for name, claim in state.live.items():
        if claim.holder != grant.holder or claim.worktree != grant.worktree:
            yield name, claim
        elif left := tuple(path for path in claim.paths if path not in grant.paths):
            yield name, claim if left == claim.paths else claim.replace(paths=left)


# Claiming


def _claim(state: ClaimsState, command: ClaimFiles) -> list[Payload]:
    asked = checked_paths(command)
    if standing(state, command) is not None:
        return []
    if command.id in state.live:
        raise Refused("claim_exists", f"The id {command.id} is already used.", "Omit the id.", claim=command.id)
    silent = dict(command.silent)
    collisions = in_the_way(state, command)
    if held := [each for each in collisions if not _is_silent(each.claim, silent)]:
        raise _held(held)
    fields = {name: value for name, value in command.__dict__.items() if name not in ("paths", "silent", "fold")}
    granted: list[Payload] = [_lapsed(each.claim, silent) for each in collisions]
    granted.append(Claimed(paths=asked, **fields))
    after = state
    for payload in granted:
        after = evolve(after, payload, NOWHERE)
    _check_room(state, after, command.holder)
    return granted


def standing(state: ClaimsState, command: ClaimFiles) -> Claim | None:
    """The live claim that already covers the request. No reason means: the same one."""
    claim = covering(state, command)
    if claim is None or (claim.ttl, claim.task) != (command.ttl, command.task):
        return None
    return claim if command.reason in ("", claim.reason) else None


def in_the_way(state: ClaimsState, command: ClaimFiles) -> list[Collision]:
    """The claims of other holders that conflict with the request, whether silent or not."""
    asked = [paths.compiled(paths.canonical_pattern(path), fold=command.fold) for path in command.paths]
    plain = {pattern.literal: [pattern] for pattern in asked if pattern.literal is not None}
    globs = [pattern for pattern in asked if pattern.literal is None]
    found = []
    for claim in state.live.values():
        if claim.holder == command.holder or not _excludes(claim, command):
            continue
        meetings = (
            Collision(claim=claim, path=held.text, asked=rival.text, witness=witness)
            for held in _compiled(claim, command.fold)
            # An equal plain path is found by lookup; only patterns have to be compared.
            for rival in (asked if held.literal is None else plain.get(held.literal, globs))
            if (witness := paths.meet(held, rival)) is not None
        )
        if (first := next(meetings, None)) is not None:
            found.append(first)
    return found


def who_holds(
    state: ClaimsState, asked: Iterable[str], *, worktree: str | None = None, fold: bool = False
) -> list[Claim]:
    """The live claims on any of these paths and patterns, as seen from a worktree (None: from all of them)."""
    wanted = [paths.compiled(paths.lenient_pattern(path), fold=fold) for path in asked]
    return [
        claim
        for claim in state.live.values()
        if _same_place(claim.worktree, worktree)
        and any(paths.meet(one, held) for held in _compiled(claim, fold) for one in wanted)
    ]


def _excludes(claim: Claim, command: ClaimFiles) -> bool:
    return "exclusive" in (claim.mode, command.mode) and _same_place(claim.worktree, command.worktree)


def _same_place(one: str | None, other: str | None) -> bool:
    return one is None or other is None or one == other


def _compiled(claim: Claim, fold: bool) -> Iterator[paths.Pattern]:  # noqa: FBT001
    return (paths.compiled(path, fold=fold) for path in claim.paths)


def _is_silent(claim: Claim, silent: Mapping[str, float]) -> bool:
    return has_lapsed(silent.get(claim.id), claim.ttl)


def _lapsed(claim: Claim, silent: Mapping[str, float] | None) -> Lapsed:
    return Lapsed(
        id=claim.id,
        holder=claim.holder,
        paths=claim.paths,
        ttl=claim.ttl,
        reason="replaced" if silent is None else "silent",
        silent_for=None if silent is None else silent[claim.id],
    )


def _held(collisions: list[Collision]) -> Held:
    first = collisions[0]
    claim = first.claim
    what, path = paths.unescape(first.asked), paths.unescape(first.path)
    if what != path:
        what += f" overlaps {path} (both match {first.witness}), which"
    why = f", for {claim.task}" if claim.task else ""
    why += f": {one_line(claim.reason, 80)}" if claim.reason else ""
    more = len(collisions) - 1
    others = f"; {counted(more, 'other claim')} also conflict{'s' * (more == 1)}" if more else ""
    asking = _asking(claim, "for it")
    return Held(
        "file_held",
        f"{what} is held by {claim.holder} ({claim.mode}, since position {claim.token}{why}){others}.",
        f"{f'{asking}, wait' if asking else 'Wait'} for its release (`--wait`), or work on another file.",
        held=[collision.told() for collision in collisions[:SHOWN_LIMIT]],
        count=len(collisions),
    )


def _asking(claim: Claim, what: str) -> str:
    """`Ask Ada for it (…)`; empty if the holder has no mailbox."""
    holder = name_of(claim.holder)
    return "" if holder.startswith(_WITHOUT_MAILBOX) else f"Ask {holder} {what} (`{command_line('send', holder)} '…'`)"


def checked_paths(command: ClaimFiles) -> tuple[str, ...]:
    if command.mode not in MODES:
        raise Usage("bad_mode", f"{command.mode!r} is not a valid claim mode.", f"Use {' or '.join(MODES)}.")
    if not 0 < command.ttl <= TTL_LIMIT:
        raise Usage("bad_ttl", f"{command.ttl} s is not a valid ttl.", f"Use more than 0 and at most {TTL_LIMIT} s.")
    _check_reason(command.reason)
    if not command.paths:
        raise Usage("no_path", "There is nothing to claim.", "Name a path: `moot claim src/api.py`.")
    asked = tuple(dict.fromkeys(map(paths.canonical_pattern, command.paths[: PATH_LIMIT + 1])))
    if len(command.paths) > PATH_LIMIT or _count_globs(asked) > GLOB_LIMIT:
        raise Refused(
            "too_many_paths",
            f"A claim can have at most {PATH_LIMIT} paths, {GLOB_LIMIT} of them patterns.",
            "Claim a directory (`src/api/`) instead of its files, or make several claims.",
            limit=PATH_LIMIT,
        )
    return asked


def _check_reason(reason: str) -> None:
    if len(reason) > REASON_LIMIT:
        raise Refused("reason_too_long", "The reason is too long.", f"Use at most {REASON_LIMIT} characters.")


# Releasing and overriding


def _override(state: ClaimsState, command: OverrideClaim) -> list[Payload]:
    """The claim stays as it is. Its holder is told (`moot.core.reactions.reviews`)."""
    _check_reason(command.reason)
    holder = _known(state, command.id).holder
    count, fields = len(command.paths), command.__dict__ | {"paths": command.paths[:OVERRIDE_LIMIT]}
    return [Overridden(holder=holder, count=count, **fields)]


def _known(state: ClaimsState, name: str) -> Claim:
    claim = state.live.get(name)
    if claim is None:
        raise Unknown("unknown_claim", f"There is no live claim {name}.", "`moot claims` lists them.", claim=name)
    return claim


def _release(state: ClaimsState, command: ReleaseFiles) -> list[Payload]:
    if not command.ids and not command.paths:
        raise Usage("no_path", "There is nothing to release.", "Name a path or a claim; `moot claims` lists them.")
    if command.force and not command.reason.strip():
        raise Refused("reason_missing", "`--force` requires a reason.", "Give one: `--reason '…'`.")
    _check_reason(command.reason)
    going: dict[str, set[str]] = {}
    for name in command.ids:
        claim = state.waiting.get(name) or _known(state, name)
        if not _may_release(claim, command):
            raise _not_holder(claim, f"The claim {name}")
        going[name] = set(claim.paths)
    near = [claim for claim in state.live.values() if _same_place(claim.worktree, command.worktree)]
    free = [claim for claim in near if _may_release(claim, command)]
    free += (
        one
        for one in state.waiting.values()
        if one.holder == command.holder and _same_place(one.worktree, command.worktree)
    )
    mine = _spelled(free, command.fold)
    for path in map(paths.lenient_pattern, command.paths):
        held = [pair for text in paths.spellings(path, fold=command.fold) for pair in mine.get(text, ())]
        if not held:
            raise _not_claimed(near, command, path)
        for name, own in held:
            going.setdefault(name, set()).add(own)
    places = [state.waiting[name] for name in state.waiting if name in going]
    return [
        *(_released(state.live[name], command, going[name]) for name in state.live if name in going),
        *(ClaimUnawaited(place.id, place.holder, place.paths, command.reason) for place in places),
    ]


def _spelled(claims: Iterable[Claim], fold: bool) -> dict[str, list[tuple[str, str]]]:  # noqa: FBT001
    """Claim and path by every spelling. The spelling changes when a file appears or disappears after the claim."""
    found: dict[str, list[tuple[str, str]]] = {}
    for claim in claims:
        for path in claim.paths:
            for text in paths.spellings(path, fold=fold):
                found.setdefault(text, []).append((claim.id, path))
    return found


def _may_release(claim: Claim, command: ReleaseFiles) -> bool:
    return command.force or claim.holder == command.holder


def _released(claim: Claim, command: Releasing, gone: set[str] | None = None) -> Released:
    return Released(
        id=claim.id,
        holder=claim.holder,
        paths=tuple(path for path in claim.paths if gone is None or path in gone),
        left=tuple(path for path in claim.paths if gone is not None and path not in gone),
        forced=not isinstance(command, ReleaseForTask) and claim.holder != command.holder,
        reason=command.reason,
    )


def _not_holder(claim: Claim, what: str) -> Held:
    asking = _asking(claim, "to release it")
    return Held(
        "not_holder",
        f"{what} has been held by {claim.holder} since position {claim.token}.",
        f"{f'{asking}, or a' if asking else 'Wait until it is released, or ask a'} person to use force.",
        claim=claim.id,
        holder=claim.holder,
        token=claim.token,
    )


def _not_claimed(claims: list[Claim], command: ReleaseFiles, asked: str) -> MootError:
    """Why a path cannot be released: it is part of a wider claim, another holder has it, or nobody has."""
    named = [paths.compiled(asked, fold=command.fold), *map(paths.exactly, paths.spellings(asked, fold=command.fold))]
    near = [
        (claim, held.text)
        for claim in claims
        for held in _compiled(claim, command.fold)
        if any(paths.meet(one, held) for one in named)
    ]
    for claim, path in near:
        if claim.holder == command.holder:
            return Refused(
                "part_of_claim",
                f"{asked} is only part of {path}, which {claim.id} claims.",
                f"Release {path}, then claim again the parts you still need.",
                claim=claim.id,
                path=path,
            )
    if near:
        return _not_holder(near[0][0], asked)
    where = "" if command.worktree is None else " in that worktree"
    return Unknown("not_claimed", f"Nobody holds {asked}{where}.", "`moot claims` lists the claimed paths.", path=asked)


def _check_room(before: ClaimsState, after: ClaimsState, holder: str) -> None:
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
    return len(live), len(held), _count_globs(held)


def _count_globs(patterns: Iterable[str]) -> int:
    return sum(paths.is_glob(text) and paths.compiled(text).literal is None for text in patterns)


KIND = Kind(
    name=STREAM,
    events=EVENTS,
    decide=decide,
    evolve=evolve,
    state=ClaimsState,
    single=True,
    made_by="`moot claim`, `moot release`, `moot guard check`, and the end of a task",
    nouns=("file",),
)
