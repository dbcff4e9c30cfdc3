"""claim, release, claims, who-holds: files held against each other."""

from __future__ import annotations

import os

from moot.api.answer import Answer, Table
from moot.api.catalogue import KEY, Param, Verb
from moot.core.claims import MODES, Claim, Claimed, ClaimFiles, ReleaseFiles
from moot.core.deciders.claims import in_the_way, standing
from moot.core.deciders.claims import who_holds as holders
from moot.core.errors import Held, Usage
from moot.core.paths import escape, is_glob
from moot.core.principal import name_of
from moot.core.record import Record
from moot.core.text import one_line
from moot.engine.place import ignore_case, repository_path
from moot.views import load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.session import Session
    from moot.engine.work import Work


class Holding(Record):
    """A live claim, as seen from outside."""

    id: str
    holder: str
    paths: tuple[str, ...]
    mode: str
    reason: str
    task: str | None
    token: int
    silent_for: float
    ttl: float


def claim(
    session: Session,
    paths: tuple[str, ...],
    shared: bool,
    ttl: float | None,
    reason: str | None,
    task: str | None,
) -> Answer:
    wanted = _paths(session, paths)
    identity = f"c-{session.clock.token(7)}"
    fold = ignore_case(session.place)
    kept: Claim | None = None

    def act(work: Work) -> None:
        nonlocal kept
        actor = session.actor(work)
        if task is not None:
            work.known_task(task)
        command = ClaimFiles(
            id=identity,
            holder=actor.principal,
            paths=wanted,
            mode=MODES[1] if shared else MODES[0],
            ttl=ttl if ttl is not None else session.settings.claim_ttl,
            reason=reason or "",
            task=task,
            worktree=session.place.worktree if session.settings.claim_scope == "worktree" else None,
            fold=fold,
        )
        state = work.claims()
        kept = standing(state, command)
        if kept is None:
            in_way = [collision.claim for collision in in_the_way(state, command)]
            work.do_claims(command.replace(silent=_silent(session, in_way)))

    outcome = session.commit(act)
    event = next((e for e in outcome.events if e.type == Claimed.type), None)
    if event is not None:
        held = Claim(token=event.position, **Claimed.of(event.data).__dict__)
    elif kept is not None:
        held = kept
    else:
        raise Held("lost_race", "The claim could not be found again.", "`moot claims` lists what is held.")
    said = f"{held.id} {held.mode}: {', '.join(held.paths)} (token {held.token})"
    return Answer(result=_holding(session, held), say=(said,))


def _silent(session: Session, claims: list[Claim]) -> tuple[tuple[str, float], ...]:
    """Those whose holder was silent for longer than the claim allows."""
    found = ((c.id, round(session.silence(c.holder), 3), c.ttl) for c in claims)
    return tuple((name, silent) for name, silent, ttl in found if silent > ttl)


def release(session: Session, what: tuple[str, ...], all: bool, force: bool, reason: str | None) -> Answer:  # noqa: A002
    ids = tuple(item for item in what if item.startswith("c-"))
    paths = _paths(session, tuple(item for item in what if not item.startswith("c-")))
    if not what and not all:
        raise Usage("bad_arguments", "What is to be released?", "Name paths or claims (c-…), or --all of yours.")

    def act(work: Work) -> None:
        actor = session.actor(work)
        mine = tuple(c.id for c in work.claims().live.values() if c.holder == actor.principal) if all else ids
        if mine or paths:
            command = ReleaseFiles(
                holder=actor.principal,
                ids=mine,
                paths=paths,
                force=force and actor.person,
                reason=reason or "",
                fold=ignore_case(session.place),
            )
            work.do_claims(command)

    outcome = session.commit(act)
    given = [path for e in outcome.events for path in e.data.get("paths", ())]
    return Answer(result={"released": given}, say=(f"released {', '.join(given)}" if given else "Nothing was held.",))


def claims(session: Session, holder: str | None) -> Answer:
    state, _ = load.claims(session.engine.read())
    found = [c for c in state.live.values() if holder is None or name_of(c.holder).lower() == holder.lower()]
    return _listed([_holding(session, c) for c in found], "Nothing is claimed.")


def who_holds(session: Session, path: str) -> Answer:
    state, _ = load.claims(session.engine.read())
    wanted = repository_path(session.place, session.cwd, path)
    scope = session.place.worktree if session.settings.claim_scope == "worktree" else None
    found = holders(state, wanted.rstrip("/"), worktree=scope, fold=ignore_case(session.place))
    return _listed([_holding(session, c) for c in found], f"Nobody holds {wanted}.")


def _listed(held: list[Holding], nothing: str) -> Answer:
    rows = tuple(
        (
            h.id,
            name_of(h.holder),
            h.mode,
            ", ".join(h.paths),
            h.task or "",
            f"{h.silent_for:.0f} s",
            one_line(h.reason, 100),
        )
        for h in held
    )
    lines = tuple(f"{row[0]} {row[1]} {row[2]} {row[3]}{f' ({row[6]})' if row[6] else ''}" for row in rows)
    table = Table(("claim", "holder", "mode", "paths", "task", "silent", "reason"), rows, title="Claims")
    return Answer(result=held, say=lines or (nothing,), table=table if rows else None)


def _holding(session: Session, claim: Claim) -> Holding:
    return Holding(
        id=claim.id,
        holder=claim.holder,
        paths=claim.paths,
        mode=claim.mode,
        reason=claim.reason,
        task=claim.task,
        token=claim.token,
        silent_for=round(session.silence(claim.holder), 3),
        ttl=claim.ttl,
    )


def _paths(session: Session, paths: tuple[str, ...]) -> tuple[str, ...]:
    """As the repository names them. A file that is there is meant by its name, whatever characters that has."""
    found: dict[str, None] = {}
    for path in paths:
        name = repository_path(session.place, session.cwd, path)
        is_file = is_glob(name) and os.path.lexists(os.path.join(session.cwd, path))
        found[escape(name) if is_file else name] = None
    return tuple(found)


VERBS = (
    Verb(
        "claim",
        "Hold files or globs, all of them or none.",
        claim,
        params=(
            Param(
                "paths",
                "Files, globs or directories (src/api/).",
                positional=True,
                many=True,
                required=True,
            ),
            Param("shared", "Others may hold them too, as long as nobody wants them alone.", type="flag"),
            Param("ttl", "How long you may be silent before another can take them.", type="seconds"),
            Param("reason", "What for; shown to whoever is refused."),
            Param("task", "The task that needs them."),
            KEY,
        ),
        examples=("moot claim src/parser.py 'tests/parser/**' --reason 'new grammar'",),
        detail='A path means that file in every worktree, unless moot.toml says claims.scope = "worktree".',
    ),
    Verb(
        "release",
        "Give claimed files back.",
        release,
        params=(
            Param("what", "Paths or claims (c-…).", positional=True, many=True),
            Param("all", "All that you hold.", type="flag"),
            Param("force", "A person's right: release what another holds, with a reason.", type="flag"),
            Param("reason", "Why."),
            KEY,
        ),
        examples=("moot release src/parser.py",),
    ),
    Verb(
        "claims",
        "Everything that is claimed.",
        claims,
        params=(Param("holder", "Only what this agent holds."),),
        examples=("moot claims",),
        writes=False,
    ),
    Verb(
        "who-holds",
        "Who holds a file.",
        who_holds,
        params=(Param("path", "The file.", positional=True, required=True),),
        examples=("moot who-holds src/parser.py",),
        writes=False,
    ),
)
