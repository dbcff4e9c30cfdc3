"""guard install, guard remove, guard status, guard check: git hooks that keep others out of claimed files.

Which files a commit or a push changes, git says. A merge changes only files that differ from all of its parents: other
changes were checked when they were committed. For a renamed file, both names count.
"""

from __future__ import annotations

import os

from moot.api.answer import Answer
from moot.api.catalogue import Param, Verb
from moot.core.barred import barred, exclusive_of_others
from moot.core.claims import REASON_LIMIT, SHOWN_LIMIT, OverrideClaim
from moot.core.errors import Held, Usage
from moot.core.identity import people_only
from moot.core.paths import as_typed
from moot.core.principal import agent, name_of, person
from moot.core.record import Record
from moot.core.task.leases import has_lapsed
from moot.core.text import command_line, counted, one_line
from moot.guard import hooks
from moot.place import ignore_case
from moot.place.git import NO_DRIVERS, Git, GitFailed
from moot.views import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from moot.api.call import Call
    from moot.api.verbs.workspace import Finding, Opener
    from moot.core.barred import Barred
    from moot.engine.unit_of_work import Work
    from moot.guard.hooks import GuardRemoved, GuardStatus
    from moot.place import Place

VARIABLE, REASON = "MOOT_GUARD", "MOOT_GUARD_REASON"
_NAMES = ("--name-only", "-z", "--no-renames", "--ignore-submodules=dirty")
_HEX = frozenset("0123456789abcdef")
_MERGED = 1 << 16  # bytes of MERGE_HEAD
_ACTS = {"pre-commit": "commit", "pre-push": "push"}


class GuardVerdict(Record):
    """What the guard says about a commit or push that it lets through.

    `overridden` are the claims of others that it changes, each with its files, although MOOT_GUARD is off for it.
    """

    hook: str
    files: int  # that were checked; 0 if nobody else claims anything
    overridden: tuple[dict[str, Any], ...] = ()


def install(call: Call) -> Answer:
    return _told(hooks.install(call.place))


def status(opener: Opener | Call) -> Answer:
    return _told(hooks.status(opener.place))


def _told(found: GuardStatus) -> Answer:
    folder = found.folder
    verdict = "Commits and pushes are checked." if found.guarded else "Not every commit and push is checked."
    if not folder.inside:
        verdict += f" The hooks are in {folder.path}, which moot does not change."
    missing = not found.guarded and (found.installed or folder.inside)
    advice = ("`moot guard install` installs what is missing.",) if missing else ()
    lines = (verdict, *(one.said for one in found.hooks), *advice)
    return Answer(result=found, say=lines)


def remove(opener: Opener | Call) -> Answer:
    people_only(opener.caller, "`moot guard remove`")
    found: GuardRemoved = hooks.remove(opener.place)
    lines = [
        *(f"Removed {path}." for path in found.removed if path not in found.restored),
        *(f"Put back the earlier hook {path}." for path in found.restored),
        *(f"Left {path}: another hook is in its place." for path in found.left),
    ]
    return Answer(result=found, say=tuple(lines) or ("The guard is not installed.",))


def check(call: Call, hook: str, remote: tuple[str, ...], refs: str | None) -> Answer:
    me = _me(call)
    store = call.engine.read()
    state, fold = states.claims(store)[0], ignore_case(call.place)
    worktree = call.place.worktree if call.settings.claim_scope == "worktree" else None
    ruled = hook == "pre-commit" and me is not None and call.caller.agent is not None and call.packs.having("guard")
    if not exclusive_of_others(state, me) and not ruled:
        return _passed(hook, 0)
    files = _changed(call, hook, remote, refs)
    if ruled:
        call.try_out(lambda work: call.packs.guard(work, call.actor(work), files, committed=True))
    claims = [
        claim
        for claim in exclusive_of_others(state, me)
        if not has_lapsed(call.silence(claim.holder), claim.ttl)
        and (claim.task is None or me is None or states.task(store, claim.task)[0].holder != me)
    ]
    found = barred(claims, files, worktree=worktree, fold=fold)
    if not found:
        return _passed(hook, len(files))
    unknown = me is None and call.caller.agent is not None  # not joined, or replaced: it cannot be held responsible
    if call.env.get(VARIABLE, "").lower() != "off" or unknown:
        raise _refusal(call, hook, found)
    overridden: list[Barred] = []

    def act(work: Work) -> None:
        live = work.claims().live
        overridden[:] = [one for one in found if one.claim.id in live]
        who, reason = call.actor(work).principal, _storable(call.env.get(REASON, ""))[:REASON_LIMIT]
        for one in overridden:
            paths = tuple(_storable(file) for file in one.files)
            command = OverrideClaim(id=one.claim.id, who=who, act=_ACTS[hook], paths=paths, reason=reason)
            work.do("claims", "", command)

    call.commit(act)
    return _overridden(call, hook, len(files), overridden)


def _changed(call: Call, hook: str, remote: tuple[str, ...], refs: str | None) -> list[str]:
    try:
        if hook == "pre-push":
            return _of_push(call.place, refs or "", remote)
        return _of_commit(call.place, call.cwd, call.env)
    except GitFailed as problem:
        raise hooks.git_failed(problem) from problem


def _me(call: Call) -> str | None:
    """The caller as a holder of claims. None: somebody who holds nothing.

    A hook has no terminal as its input, so a person at a terminal is known by the error output.
    """
    caller = call.caller
    if caller.agent is not None:
        known = states.agent(call.engine.read(), caller.agent)[0]
        current = known.here and caller.incarnation in (None, known.incarnation)
        return agent(known.name, known.incarnation) if current else None
    at_terminal = caller.mark is None and os.isatty(2)
    return person(call.login) if caller.person or at_terminal else None


def _passed(hook: str, files: int) -> Answer:
    said = f"Nobody else has claimed a file of this {_ACTS[hook]}."
    return Answer(result=GuardVerdict(hook=hook, files=files), say=(said,))


def _overridden(call: Call, hook: str, files: int, found: list[Barred]) -> Answer:
    told = tuple(_details(one) for one in found)
    if not found:  # the claims ended meanwhile
        return _passed(hook, files)
    who = ", ".join(dict.fromkeys(name_of(one.claim.holder) for one in found))
    said = f"{VARIABLE} is off: this {_ACTS[hook]} changes files of {who}. This is recorded, and {who} will read it."
    call.warn("guard_overridden", said)
    return Answer(result=GuardVerdict(hook=hook, files=files, overridden=told), say=(said,))


def _refusal(call: Call, hook: str, found: list[Barred]) -> Held:
    act = _ACTS[hook]
    lines = [line for one in found[:SHOWN_LIMIT] for line in _lines(one)]
    hidden = len(found) - SHOWN_LIMIT
    lines += [f"  and {counted(hidden, 'claim')} more"] if hidden > 0 else []
    holders = dict.fromkeys(name_of(one.claim.holder) for one in found)
    first = next(iter(holders))
    remedy = f"Ask {first} (`{command_line('send', first)} '…'`), or wait for the release (`moot claims` lists all)."
    if hook == "pre-commit":
        remedy += " To commit the other files now, unstage these: `git restore --staged FILE`."
    if call.caller.nobody:
        remedy += " If a claim is yours, say who you are: MOOT_AGENT=NAME"
        remedy += "." if call.caller.mark is not None else " or MOOT_PERSON=1."
    if call.caller.agent is None and call.caller.mark is None:  # an agent asks a person instead
        remedy += f" In an emergency: `{VARIABLE}=off git {act} …`; it is recorded, and the holder will read it."
    return Held(
        "files_claimed",
        "\n".join((f"This {act} changes files that others have claimed:", *lines)),
        remedy,
        hook=hook,
        held=[_details(one) for one in found[:SHOWN_LIMIT]],
        count=len(found),
    )


def _lines(one: Barred) -> list[str]:
    claim = one.claim
    why = f", for {claim.task}" if claim.task else ""
    why += f": {one_line(claim.reason, 80)}" if claim.reason else ""
    shown = [f"  {one_line(file, 200)}" for file in one.files[:SHOWN_LIMIT]]
    hidden = len(one.files) - SHOWN_LIMIT
    more = [f"  and {counted(hidden, 'file')} more"] if hidden > 0 else []
    covered = one_line(", ".join(as_typed(claim.paths[:5])), 100)
    return [*shown, *more, f"    claimed by {claim.holder} with {claim.id} ({covered}){why}"]


def _details(one: Barred) -> dict[str, Any]:
    claim = one.claim
    return {
        "claim": claim.id,
        "holder": claim.holder,
        "task": claim.task,
        "reason": claim.reason,
        "paths": claim.paths,
        "files": [_storable(file) for file in one.files[:SHOWN_LIMIT]],
        "count": len(one.files),
    }


def _storable(file: str) -> str:
    """The name as valid Unicode: bytes that are not are written out."""
    return file.encode("utf-8", "backslashreplace").decode()


def guard_findings(place: Place) -> list[Finding]:
    """What `moot doctor` says about the guard: nothing if it was never installed."""
    from moot.api.verbs.workspace import Finding

    if not os.path.lexists(os.path.join(place.state, hooks.RECORD)):
        return []
    found = hooks.status(place)
    if found.guarded:
        return [Finding("guard", good=True, message="commits and pushes are checked")]
    wrong = "; ".join(one.said for one in found.hooks if not one.guarded)
    remedy = "`moot guard install` repairs it; `moot guard remove` removes the rest of it."
    return [Finding("guard", good=False, message=wrong, remedy=remedy)]


VERBS = (
    Verb(
        "guard install",
        "Refuse git commits and pushes of files that somebody else has claimed.",
        install,
        kind="own",
        examples=("moot guard install",),
        detail=(
            "Installs the hooks pre-commit and pre-push in the git directory, for all worktrees. A hook that exists is "
            "kept and runs first. If git looks for hooks elsewhere (core.hooksPath), nothing is written, and the lines "
            "to add there are shown. If moot is removed or cannot be used, the hooks print a warning and let "
            "everything through. Safe to repeat: it also repairs hooks that were replaced."
        ),
    ),
    Verb(
        "guard remove",
        "Remove the hooks of `guard install`, and put back the hooks from before.",
        remove,
        kind="person",
        examples=("moot guard remove",),
        detail="A hook that somebody has edited since is not removed; the message says what to do.",
        opens=False,
    ),
    Verb(
        "guard status",
        "Show whether commits and pushes are checked, and by which hooks.",
        status,
        kind="look",
        examples=("moot guard status",),
        writes=False,
        past=False,
        opens=False,
    ),
    Verb(
        "guard check",
        "Check one commit or push. The hooks call this.",
        check,
        kind="own",
        anybody=True,
        params=(
            Param("hook", "The hook that calls.", positional=True, required=True, choices=tuple(_ACTS)),
            Param("remote", "pre-push: name and URL of the remote.", positional=True, many=True),
            Param(
                "refs", "pre-push: what git writes to the hook, or - for standard input.", type="words", limit=1 << 20
            ),
        ),
        examples=("moot guard check pre-commit",),
        detail=(
            "Exit code 3 means that an exclusive claim of somebody else covers a file. Your own claims do not count, "
            "nor claims for tasks that you hold, shared claims, and claims whose holder was silent for longer than "
            f"their ttl. With {VARIABLE}=off in the environment, the files are let through; this is recorded as "
            f"file:overridden with the reason in {REASON}, and the holder receives a note. `git commit --no-verify` "
            "skips the hooks, and nothing is recorded."
        ),
    ),
)


def _of_commit(place: Place, cwd: str, env: Mapping[str, str]) -> list[str]:
    """The files of the commit that is being made. For `git commit -a` and `--only`, git names another index."""
    directory = hooks.git_directory(place)
    index = env.get("GIT_INDEX_FILE")
    more = {"GIT_INDEX_FILE": os.path.join(os.path.realpath(cwd), index)} if index else {}
    git = Git(directory, place.root, more=more)
    changed = _staged(git)
    for parent in _merged(directory):
        changed &= _staged(git, parent)
    return sorted(os.fsdecode(path) for path in changed)


def _staged(git: Git, *parent: str) -> set[bytes]:
    return set(git.listed("diff", "--cached", *NO_DRIVERS, *_NAMES, *parent, "--"))


def _merged(directory: str) -> list[str]:
    """The commits that are being merged."""
    try:
        with open(os.path.join(directory, "MERGE_HEAD"), encoding="ascii") as file:
            lines = file.read(_MERGED).split()
    except (OSError, UnicodeDecodeError):
        return []
    return [line for line in lines if _is_object(line)]


def _of_push(place: Place, refs: str, remote: Sequence[str]) -> list[str]:
    """The files of the commits that a push sends. `refs` is what git writes to its hook `pre-push`."""
    git = Git(hooks.git_directory(place), place.root)
    pairs = [_pair(line) for line in refs.splitlines() if line.strip()]
    sent = [new for new, _ in pairs if set(new) != {"0"}]
    if not sent:
        return []
    known = [old for _, old in pairs if set(old) != {"0"} and not git.fails("cat-file", "-e", f"{old}^{{commit}}")]
    name, url = (*remote, "", "")[:2]
    theirs = f"--remotes={name}" if name and name != url else "--remotes"
    lines = "\n".join((*sent, *(f"^{old}" for old in known)))
    commits = git.do("rev-list", "--not", theirs, "--not", "--stdin", stdin=lines.encode())
    listed = git.listed(
        "diff-tree", "--stdin", "--root", "-r", "-c", "--no-commit-id", *NO_DRIVERS, *_NAMES, stdin=commits
    )
    return sorted({os.fsdecode(path) for path in listed})


def _pair(line: str) -> tuple[str, str]:
    """The new and the old commit of a line `LOCAL-REF NEW REMOTE-REF OLD`."""
    words = line.rsplit(" ", 3)
    if len(words) != 4 or not _is_object(words[1]) or not _is_object(words[3]):
        raise Usage("bad_refs", f"{line[:200]!r} is not a line of git's hook pre-push.", "Pass its input unchanged.")
    return words[1], words[3]


def _is_object(text: str) -> bool:
    """Whether it is the full name of an object of git."""
    return len(text) in (40, 64) and _HEX.issuperset(text)
