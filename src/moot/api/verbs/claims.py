"""claim, release, claims, who-holds: exclusive and shared holds on files."""

from __future__ import annotations

import os

from moot.api.answer import Answer, Table
from moot.api.catalogue import KEY, TIMEOUT, Param, Verb
from moot.core.claims import (
    MODES,
    STREAM,
    AwaitFiles,
    Claim,
    ClaimAwaited,
    Claimed,
    ClaimFiles,
    ClaimsState,
    ClaimUnawaited,
    LapseClaims,
    Released,
    ReleaseFiles,
    covering,
    is_id,
    new_id,
)
from moot.core.deciders.claims import in_the_way, standing
from moot.core.deciders.claims import who_holds as holders
from moot.core.errors import AwaitedFailed, Held, Refused, Usage
from moot.core.paths import as_typed, escape, is_glob, spellings
from moot.core.principal import name_of
from moot.core.record import Record
from moot.core.task import refusals
from moot.core.task.leases import has_lapsed
from moot.core.text import age, command_line, one_line
from moot.place import MAIN, ResolvedPath, ignore_case, resolve
from moot.views import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.call import Call
    from moot.core.event import Event
    from moot.engine.engine import Outcome
    from moot.engine.unit_of_work import Work

_SHOWN = 5  # claims that a place in line waits for, in words


class ClaimView(Record):
    """A claim, as verbs return it: a live one, or a place in line for one, with the holders that it waits `behind`."""

    id: str
    holder: str
    paths: tuple[str, ...]
    mode: str
    reason: str
    task: str | None
    token: int
    silent_for: float | None  # unknown for the past
    ttl: float
    worktree: str | None  # None: in all worktrees
    behind: tuple[str, ...] = ()


class Grant(ClaimView):
    """A claim as it was granted. `repeated`: by an earlier call with the same key; `gone`: paths it has lost since."""

    repeated: bool = False
    gone: tuple[str, ...] = ()


def claim(
    call: Call,
    paths: tuple[str, ...],
    shared: bool,
    ttl: float | None,
    reason: str | None,
    task: str | None,
    wait: bool,
    timeout: float | None,
) -> Answer:
    if timeout is not None and not wait:
        raise Usage("bad_arguments", "--timeout needs --wait.", "Omit it, or add --wait.")
    named = _named(call, paths)
    wanted = tuple(dict.fromkeys(pattern for one in named for pattern in readings(one)))
    worktree = _scope(call, named)
    identity = new_id(call.clock.token)
    fold = ignore_case(call.place)
    kept: Claim | None = None

    def act(work: Work) -> None:
        nonlocal kept
        actor = call.actor(work)
        if task is not None:
            state = work.known_task(task)
            refusals.check_takes_files(state, work.lifecycles.get(state.lifecycle))
        call.packs.guard(work, actor, wanted)
        command = (AwaitFiles if wait else ClaimFiles)(
            id=identity,
            holder=actor.principal,
            paths=wanted,
            mode=MODES[1] if shared else MODES[0],
            ttl=ttl if ttl is not None else call.settings.claim_ttl,
            reason=reason or "",
            task=task,
            worktree=worktree,
            fold=fold,
        )
        live = work.claims()
        if (own := covering(live, command)) is not None:
            omitted = (name for name, given in (("ttl", ttl), ("reason", reason), ("task", task)) if given is None)
            command = command.replace(**{name: own.__dict__[name] for name in omitted})
        kept = standing(live, command)
        if wait and kept is None:
            from moot.core.claim_queue import place_of

            kept = place_of(live, command)
        if kept is None:
            work.do(
                "claims", "", command.replace(silent=silences(work, [one.claim for one in in_the_way(live, command)]))
            )

    outcome = call.commit(act)
    _warn_of_tasks(call, paths)
    return _answer(call, outcome, kept, timeout)


def _answer(call: Call, outcome: Outcome, kept: Claim | None, timeout: float | None) -> Answer:
    """The claim that was granted, or that was there before. A place in line is waited for."""
    event = next((e for e in outcome.events if e.type in (Claimed.type, ClaimAwaited.type)), None)
    if event is not None:
        held = Claim(token=event.position, **Claimed.of(event.data).__dict__)
    elif kept is not None:
        held = kept
    else:
        raise Held("lost_race", "The claim no longer exists.", "`moot claims` lists what is held.")
    waited = held.id in states.claims(call.engine.read())[0].waiting
    if waited:
        held = _granted(call, held.id, timeout)
    said = f"{held.id} {held.mode}: {', '.join(as_typed(held.paths))}{_in_words(held.worktree)} (token {held.token})"
    if not outcome.repeated:
        said += ", already yours" * (event is None and not waited)
        return Answer(result=Grant(**_holding(call, held).__dict__), say=(said,))
    now = states.claims(call.engine.read())[0].live.get(held.id)
    gone = tuple(path for path in held.paths if now is None or path not in now.paths)
    grant = Grant(**_holding(call, held).__dict__, repeated=True, gone=gone)
    return Answer(result=grant, say=(said, f"repeated with the same key; the claim now {_left_of(held, gone)}"))


def _granted(call: Call, place: str, timeout: float | None) -> Claim:
    """Wait until this place in line is granted."""
    from moot.api.verbs.events import deadline_of, until

    def look_at(events: list[Event]) -> Answer | None:
        if events and not any(event.stream == STREAM for event in events):
            return None
        state, _ = states.claims(call.engine.read())
        if place in state.live:
            return Answer(result=state.live[place])
        if place not in state.waiting:
            raise AwaitedFailed(
                "no_longer_waiting",
                f"{place} is no longer in line: it was released, or you were silent for too long.",
                f"`{command_line('explain', 'claims')}` shows what happened. Ask again to get in line at its end.",
                claim=place,
            )
        _lapse_silent(call, _blockers(state, place))
        return None

    def missing() -> str:
        state, _ = states.claims(call.engine.read())
        behind = _blockers(state, place)
        said = (
            f"{name_of(c.holder)} ({'waits for' if c.id in state.waiting else 'holds'} {', '.join(as_typed(c.paths))})"
            for c in behind[:_SHOWN]
        )
        return f"{place} waits behind {', '.join(said)}{' and others' * (len(behind) > _SHOWN)}"

    start, deadline = call.engine.log.head(), deadline_of(call, timeout)
    answer = look_at([])
    if answer is None:
        call.report(f"{missing()}.")
        remedy = f"Your place in line stays. Call again to wait on; `{command_line('release', place)}` gives it back."
        answer = until(call, start, deadline, look_at, missing, remedy)
    claim: Claim = answer.result
    return claim


def _blockers(state: ClaimsState, place: str) -> list[Claim]:
    from moot.core.claim_queue import blockers

    return blockers(state, state.waiting[place]) if place in state.waiting else []


def _lapse_silent(call: Call, claims: list[Claim]) -> None:
    """End the claims and the places in line of holders that have fallen silent."""
    if any(has_lapsed(call.silence(claim.holder), claim.ttl) for claim in claims):
        call.commit_aside(lambda work: work.do("claims", "", LapseClaims(silent=silences(work, claims))))


def _warn_of_tasks(call: Call, paths: tuple[str, ...]) -> None:
    """`claim` is for files. A path without a file that is the id of a task was probably meant to be the task."""
    for path in paths:
        if states.task(call.engine.store, path)[0].exists and not os.path.lexists(os.path.join(call.cwd, path)):
            command = command_line("task claim", path)
            call.warn("is_a_task", f"{path} was claimed as a file, and is also a task. To claim the task: `{command}`")


def _left_of(claim: Claim, gone: tuple[str, ...]) -> str:
    if not gone:
        return "is still held"
    left = [path for path in claim.paths if path not in gone]
    return f"holds only {', '.join(as_typed(left))}" if left else "is gone: claim the paths again, without this key"


def silences(work: Work, claims: list[Claim]) -> tuple[tuple[str, float], ...]:
    """How long the holders of these claims have been silent."""
    silences = work.facts.silences(claim.holder for claim in claims)
    return tuple((claim.id, round(silences[claim.holder], 3)) for claim in claims)


def release(call: Call, what: tuple[str, ...], all: bool, force: bool, reason: str | None) -> Answer:  # noqa: A002
    if not what and not all:
        raise Usage("bad_arguments", "`release` needs paths or claims.", "Name paths or claims (c-…), or use --all.")
    state, _ = states.claims(call.engine.read())
    ids = tuple(item for item in what if _is_claim(call, state, item))
    named = _named(call, tuple(item for item in what if item not in ids))
    paths = tuple(one.path for one in named)
    worktree, fold = _scope(call, named), ignore_case(call.place)

    def act(work: Work) -> None:
        actor = call.actor(work)
        held = work.claims()
        every = (*held.live.values(), *held.waiting.values())
        mine = tuple(c.id for c in every if c.holder == actor.principal) if all else ids
        if mine or paths:
            command = ReleaseFiles(
                holder=actor.principal,
                ids=mine,
                paths=paths,
                worktree=worktree,
                force=force and actor.person,
                reason=reason or "",
                fold=fold,
            )
            work.do("claims", "", command)

    outcome = call.commit(act)
    given = [path for e in outcome.events if e.type == Released.type for path in e.data["paths"]]
    left = [path for e in outcome.events if e.type == ClaimUnawaited.type for path in e.data["paths"]]
    said = [f"released {', '.join(as_typed(given))}"] if given else []
    said += [f"no longer in line for {', '.join(as_typed(left))}"] if left else []
    return Answer(result={"released": given, "left": left}, say=tuple(said) or ("Nothing was held.",))


def claims(call: Call, holder: str | None) -> Answer:
    state, _ = states.claims(call.engine.read())
    found = [_holding(call, claim) for claim in state.live.values()]
    for place in state.waiting.values():
        behind = tuple(dict.fromkeys(claim.holder for claim in _blockers(state, place.id)))
        found.append(_holding(call, place).replace(behind=behind))
    shown = [c for c in found if holder is None or name_of(c.holder).lower() == holder.lower()]
    return _listed(shown, "Nothing is claimed.")


def who_holds(call: Call, path: str) -> Answer:
    state, _ = states.claims(call.engine.read())
    named = _named(call, (path,))
    worktree = _scope(call, named)
    found = holders(state, readings(named[0]), worktree=worktree, fold=ignore_case(call.place))
    return _listed([_holding(call, c) for c in found], f"Nobody holds {named[0].path}{_in_words(worktree)}.")


def _listed(held: list[ClaimView], nothing: str) -> Answer:
    rows = tuple(
        (
            h.id,
            name_of(h.holder),
            f"waits behind {', '.join(map(name_of, h.behind))}" if h.behind else h.mode,
            ", ".join(as_typed(h.paths)) + _in_words(h.worktree),
            h.task or "",
            "" if h.silent_for is None else age(h.silent_for),
            one_line(h.reason, 100),
        )
        for h in held
    )
    lines = tuple(f"{row[0]} {row[1]} {row[2]} {row[3]}{f' ({row[6]})' if row[6] else ''}" for row in rows)
    table = Table(("claim", "holder", "mode", "paths", "task", "silent", "reason"), rows, title="Claims")
    return Answer(result=held, say=lines or (nothing,), table=table if rows else None)


def _holding(call: Call, claim: Claim) -> ClaimView:
    return ClaimView(
        id=claim.id,
        holder=claim.holder,
        paths=claim.paths,
        mode=claim.mode,
        reason=claim.reason,
        task=claim.task,
        token=claim.token,
        silent_for=call.silent_for(claim.holder),
        ttl=claim.ttl,
        worktree=claim.worktree,
    )


def _in_words(worktree: str | None) -> str:
    if worktree is None:
        return ""
    return " in the main worktree" if worktree == MAIN else f" in worktree {worktree}"


def _named(call: Call, paths: tuple[str, ...]) -> list[ResolvedPath]:
    return [resolve(call.place, call.cwd, path) for path in paths]


def _scope(call: Call, named: list[ResolvedPath]) -> str | None:
    """The worktree that these paths belong to, or None if claims cover all worktrees."""
    if call.settings.claim_scope != "worktree":
        return None
    found = list(dict.fromkeys(one.worktree for one in named))
    if len(found) > 1:
        raise Refused(
            "several_worktrees",
            f"The paths are in {len(found)} worktrees, and a claim is bound to one:"
            f" {', '.join(f'{one.path}{_in_words(one.worktree)}' for one in named[:20])}.",
            "Repeat the command for each worktree with its own paths.",
            worktrees=found,
        )
    return found[0] if found else call.place.worktree


def readings(named: ResolvedPath) -> tuple[str, ...]:
    """The patterns that a path stands for. The file with exactly this name always matches, whatever is on disk.

    The name of an existing file is taken literally. In other names, brackets are both a class and part of the name.
    """
    path = f"{named.path}/" if named.directory and not named.path.endswith("/") else named.path
    if not is_glob(path):
        return (path,)
    parts = path.split("/")
    there, rest = [escape(part) for part in parts[: named.there]], parts[named.there :]
    both = (rest, [escape(part, "[") for part in rest])
    return tuple(dict.fromkeys("/".join(there + end) for end in both))


def _is_claim(call: Call, state: ClaimsState, text: str) -> bool:
    """Whether the text names a claim. A file with the same name takes precedence if it exists or is claimed."""
    if os.path.lexists(os.path.join(call.cwd, text)):
        return False
    if text in state.live or not is_id(text):
        return text in state.live
    try:
        path = resolve(call.place, call.cwd, text).path
    except Refused:  # not a valid path in this directory
        return True
    return not any(path in spellings(own) for claim in state.live.values() for own in claim.paths)


VERBS = (
    Verb(
        "claim",
        "Claim files or globs: all of them, or none.",
        claim,
        kind="own",
        params=(
            Param(
                "paths",
                "Files, globs or directories (src/api/).",
                positional=True,
                many=True,
                required=True,
            ),
            Param("shared", "Allow other shared claims on the same files.", type="flag"),
            Param("ttl", "How long you may be silent before another agent can take them.", type="seconds"),
            Param("reason", "Why; shown to agents that are refused."),
            Param("task", "The task that needs the files."),
            Param("wait", "If they are held, get in line, and wait until they are yours.", type="flag"),
            Param(
                "timeout",
                f"With --wait: stop waiting after this long; the place in line stays. {TIMEOUT}",
                type="seconds",
            ),
            KEY,
        ),
        examples=(
            "moot claim src/parser.py 'tests/parser/**' --reason 'new grammar'",
            "moot claim src/parser.py --wait",
        ),
        detail=(
            "An existing directory covers everything below it. The name of an existing file is taken literally. In any "
            "other name, brackets are read both as a character class and as part of the name, and both are claimed: "
            "pages/[id].tsx is yours before and after you create it. release and who-holds accept either spelling. "
            'A path covers that file in every worktree, unless moot.toml sets claims.scope = "worktree". '
            "With --wait, the files become yours as a whole in the moment in which the last of them is released, in "
            "the order of asking. Exit codes: 0 they are yours, 5 timeout, 6 your place in line is gone. After 5, the "
            "same command waits on, in the same place; release gives it back. --timeout 0 only gets in line. A place "
            "ends like a claim: when you leave, join again, or are silent for longer than its ttl."
        ),
    ),
    Verb(
        "release",
        "Release claimed files.",
        release,
        kind="own",
        params=(
            Param("what", "Paths as they were claimed, or claims (c-…).", positional=True, many=True),
            Param("all", "Release everything you hold.", type="flag"),
            Param("force", "Release what an agent holds; requires a reason. Only for people.", type="flag"),
            Param("reason", "Why."),
            KEY,
        ),
        examples=("moot release src/parser.py",),
        detail=(
            "It also gives back your places in line for these paths. "
            "A path is released in all its spellings: src releases src/**, and pages/[id].tsx also releases "
            "pages/[[]id].tsx. If a file and a claim have the same name, the name means the file."
        ),
    ),
    Verb(
        "claims",
        "List all claims, and who waits for files that others have claimed.",
        claims,
        kind="look",
        params=(Param("holder", "Only claims of this agent."),),
        examples=("moot claims",),
        writes=False,
    ),
    Verb(
        "who-holds",
        "Show who holds a file, a directory or the files that match a glob.",
        who_holds,
        kind="look",
        params=(Param("path", "A file, a glob or a directory.", positional=True, required=True),),
        examples=("moot who-holds src/parser.py",),
        writes=False,
    ),
)
