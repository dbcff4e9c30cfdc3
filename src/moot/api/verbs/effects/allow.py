"""allow: show a person what a repository wants to do on this machine, and record the permission."""

from __future__ import annotations

from moot.api.answer import Answer
from moot.api.catalogue import Param, Verb
from moot.core.errors import Refused, Unknown, Usage
from moot.core.identity import people_only
from moot.core.record import Record
from moot.core.text import unbroken, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from moot.api.call import Call
    from moot.core.handler import Handler
    from moot.place.settings import Settings
    from moot.runs.consent import Consent, PinnedHandler

_COVERED = (
    "Covered: the workspace files listed above, which the command names (also after `=`, `@` or an option letter).",
    "Not covered: files that a program reads, imports or starts by itself. moot checks only the files listed above.",
)
_NONE_COVERED = (
    "Covered: no file. The command names none of the workspace (also not after `=`, `@` or an option letter).",
    "Not covered: files that a program reads, imports or starts by itself.",
)


class Allowed(Record):
    """A handler or a command of `moot run` in full, and whether it may run on this machine now.

    `program` is pinned by path. `files` of the workspace are pinned by content and run from private copies.
    """

    handler: str
    does: str
    content: str
    allowed: bool
    cwd: str = ""
    program: str | None = None
    files: Mapping[str, str] = {}
    env: tuple[str, ...] = ()
    trouble: str | None = None


def allow(call: Call, names: tuple[str, ...], all: bool, yes: bool, revoke: bool) -> Answer:  # noqa: A002
    if all and names:
        raise Usage("bad_arguments", "--all cannot be combined with names.", "Use names, or --all.")
    handlers = (*handlers_of(call), *commands_of(call), *programs_of(call))
    if not names and not all:
        if yes or revoke:
            raise Usage(
                "bad_arguments",
                "--yes and --revoke need names, or --all.",
                "`moot allow` without options lists everything.",
            )
        return _listed(consent_of(call), handlers)
    wanted = handlers if all else named(handlers, names)
    return forbid(call, wanted) if revoke else permit(call, wanted, yes=yes)


def _listed(consent: Consent, handlers: tuple[Handler, ...]) -> Answer:
    known = consent.known()
    found = [_described(pinned := consent.pinned(one), allowed=pinned.digest in known) for one in handlers]
    lines = [line for one in found for line in _lines(one)] or ["Nothing needs permission here."]
    if any(not one.allowed and one.trouble is None for one in found):
        lines.append("`moot allow NAME` shows one of them and asks for permission.")
    return Answer(result=found, say=tuple(lines))


def permit(call: Call, handlers: tuple[Handler, ...], *, yes: bool) -> Answer:
    """Show what needs permission; if the person agrees, record permission for exactly that."""
    people_only(call.caller, "Allowing what may run on this machine")
    consent = consent_of(call)
    pinned = [consent.pinned(one) for one in handlers]
    for one in pinned:
        if one.trouble is not None:
            raise Refused(
                "cannot_be_allowed",
                f"{one.handler.name} cannot be allowed: {one.trouble}.",
                "Correct that, then allow it.",
                handler=one.handler.name,
            )
    asked = [_described(one, allowed=False) for one in pinned]
    lines = [line for one in asked for line in _lines(one)]
    if not lines:
        return Answer(result=[], say=("Nothing needs permission here.",))
    person = ["--person"] if call.caller.why == "--person" else []
    words = ["moot allow", *(one.name for one in handlers), *person]
    confirm(call, lines, " ".join(words), yes=yes)
    consent.give(pinned)
    return _answer([one.replace(allowed=True) for one in asked])


def confirm(call: Call, lines: list[str], command: str, *, yes: bool) -> None:
    """Return only if the person has seen these lines and agreed."""
    if yes:
        return
    if call.ask is None:
        raise Refused(
            "not_confirmed",
            "\n  ".join(["Nothing was allowed yet. This would be allowed:", *lines]),
            f"To allow it: `{command} --yes`.",
        )
    if not call.ask(tuple(lines), "Allow this on this machine?"):
        raise Refused("not_confirmed", "Nothing was allowed.", f"`{command}` asks again.")


def forbid(call: Call, handlers: tuple[Handler, ...]) -> Answer:
    people_only(call.caller, "Allowing what may run on this machine")
    consent = consent_of(call)
    consent.take_back(one.name for one in handlers)
    return _answer([_described(consent.pinned(one), allowed=False) for one in handlers])


def _answer(found: list[Allowed]) -> Answer:
    return Answer(result=found, say=tuple(line for one in found for line in _lines(one)))


def _described(pinned: PinnedHandler, *, allowed: bool) -> Allowed:
    handler = pinned.handler
    return Allowed(
        handler=handler.name,
        does=handler.what,
        content=handler.content,
        allowed=allowed and pinned.trouble is None,
        cwd=pinned.cwd if handler.run else "",
        program=pinned.program,
        files={file.path: file.sha256 for file in pinned.files},
        env=handler.env,
        trouble=pinned.trouble,
    )


def _lines(one: Allowed) -> list[str]:
    said = [f"{one.handler} is {'allowed' if one.allowed else 'not allowed'} here. It would {one.does}.", one.content]
    if one.trouble is not None:
        said.append(f"It cannot be allowed: {one.trouble}.")
    elif one.cwd:
        env = f" and {', '.join(one.env)}" if one.env else ""
        said.append(f"in {one.cwd}, with the variables every command gets{env}")
        if one.program:
            said.append(f"program {one.program}, pinned by path")
        said += [f"file {path}, run as a private copy, sha256 {digest}" for path, digest in one.files.items()]
        said += _COVERED if one.files else _NONE_COVERED
    shown = [unbroken(visible(line)) for line in said]
    return [shown[0], *(f"  {line}" for line in shown[1:])]


def handlers_of(call: Call, settings: Settings | None = None) -> tuple[Handler, ...]:
    """The handlers of moot.toml and of packs."""
    from moot.api.protocol.pack_effects import all_handlers

    return all_handlers(call, settings or call.settings)


def commands_of(call: Call) -> tuple[Handler, ...]:
    """The commands of agents that `moot run` starts."""
    if not call.settings.runs:
        return ()
    from moot.core.handler import commands_of as made

    return made(call.settings.runs)


def programs_of(call: Call) -> tuple[Handler, ...]:
    """The programs of this repository that the built-in stages of packs run."""
    packs = call.packs
    return tuple(one for pack in packs.packs if pack.stages for one in packs.protocol(pack.name).programs(call))


def named(handlers: tuple[Handler, ...], names: tuple[str, ...]) -> tuple[Handler, ...]:
    known = {handler.name: handler for handler in handlers}
    for name in names:
        if name not in known:
            raise Unknown(
                "unknown_handler",
                f"There is no handler or command {name!r}.",
                f"Known: {', '.join(known) or 'none'}.",
                handler=name,
            )
    return tuple(known[name] for name in dict.fromkeys(names))


def consent_of(call: Call) -> Consent:
    from moot.place import worktrees
    from moot.runs.consent import Consent

    place = call.place
    root = place.main_root or place.root  # handlers run there, whatever the caller's worktree; agents run in that one
    more = lambda: [tree.root for tree in worktrees(place)]  # noqa: E731
    return Consent(call.env, call.identity(), place.state, root, here=place.root, more=more)


VERBS = (
    Verb(
        "allow",
        "Show and allow what moot.toml wants to run on this machine.",
        allow,
        kind="look",
        params=(
            Param(
                "names",
                "Handlers, and commands of `moot run` (PACK.STAGE). Default: list everything.",
                positional=True,
                many=True,
                person=True,
            ),
            Param("all", "Everything that needs permission.", type="flag", person=True),
            Param("yes", "Do not ask for confirmation; required without a terminal.", type="flag", person=True),
            Param("revoke", "Revoke the permission.", type="flag", person=True),
        ),
        writes=False,
        past=False,
        examples=("moot allow", "moot allow deploy", "moot allow deploy --revoke"),
        detail=(
            "Only a person can allow what a repository wants to run. It is shown in full: the command line, its "
            "directory, the names of the variables it gets, and the content of each workspace file that it names. If "
            "one of these changes, it needs permission again. A command runs from private copies of the allowed files "
            "(MOOT_SCRIPT has the path of the first one)."
        ),
    ),
)
