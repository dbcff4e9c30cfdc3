"""brief: what an agent in a role of an active pack must know."""

from __future__ import annotations

from moot.api.answer import Answer, Table
from moot.api.catalogue import Param, Verb
from moot.core.errors import Unavailable, Unknown
from moot.core.record import Record
from moot.core.text import closest, command_line, fence, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.call import Call
    from moot.api.protocol import Pack, Role
    from moot.api.protocol.briefs import RoleBrief


class RoleSummary(Record):
    """A role of an active pack."""

    role: str
    pack: str
    title: str
    does: str


def brief(call: Call, role: str | None) -> Answer:
    known = {one.name: (pack, one) for pack in call.packs.packs for one in pack.roles}
    if role is None:
        return _listed([(pack, one) for pack, one in known.values()])
    name = next((one for one in known if one.lower() == role.lower()), None)
    if name is None:
        raise _unknown(role, list(known))
    from moot.api.protocol.briefs import brief_of

    try:
        found = brief_of(call.packs, *known[name])
    except OSError as error:
        raise Unavailable(
            "brief_unreadable",
            f"The brief of {name} cannot be read: {error.strerror}.",
            f"Restore the file of the pack {known[name][0].name}, or remove `brief` from its pack.toml.",
            role=name,
        ) from error
    return Answer(result=found, say=_lines(found))


def _lines(found: RoleBrief) -> tuple[str, ...]:
    """The text. That of a folder of the repository is fenced: moot does not vouch for it."""
    if not found.folder:
        return tuple(found.text.split("\n"))
    origin = one_line(f"The brief of {found.role}, as {found.folder} of this repository has it:", 300)
    return (origin, *fence(found.text).split("\n"))


def _listed(roles: list[tuple[Pack, Role]]) -> Answer:
    found = [RoleSummary(role.name, pack.name, role.title or role.name, role.does) for pack, role in roles]
    rows = tuple((one.role, one.pack, one_line(one.does, 200)) for one in found)
    lines = tuple(f"{role} ({pack}) {does}".rstrip() for role, pack, does in rows)
    table = Table(("role", "pack", "what it does"), rows, title="Roles") if rows else None
    return Answer(result=found, say=lines or ("No active pack has roles: moot init --pack NAME",), table=table)


def _unknown(role: str, known: list[str]) -> Unknown:
    near = closest(role, known)
    hint = f"Did you mean {command_line('brief', near)}? " if near else ""
    listed = f"Roles: {', '.join(known)}." if known else "No active pack has roles; `moot init --pack NAME` adds one."
    return Unknown(
        "unknown_role", f"No active pack has the role {role[:80]!r}.", f"{hint}{listed}", role=role, known=known
    )


VERBS = (
    Verb(
        "brief",
        "Show what an agent in a role must know: files, messages, state changes.",
        brief,
        kind="look",
        params=(Param("role", "The role. Default: list the roles of the active packs.", positional=True),),
        examples=("moot brief", "moot brief developer"),
        detail=(
            "The text is meant for the agent that takes the role: give it as part of its instructions, or let it run "
            "the command itself. It states the files that the role reads and writes, the exact fields of the messages "
            "that it sends, the state changes that it may cause, and what to do when something is missing or breaks. "
            "The facts in it come from the pack. A pack that is a folder of the repository is not moot's: its text is "
            "shown with `>` before each line."
        ),
        writes=False,
        past=False,
    ),
)
