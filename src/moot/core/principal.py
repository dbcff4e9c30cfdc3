"""Principals: the actors and holders in the log, each as a short text.

    Yeats#3            the third incarnation of the agent Yeats
    person:anna        a person at a terminal
    process:anna       an unidentified program under that account; it holds no task, file or mail
    role:reviewer      the unknown author of a file, acting in that role
    plan:p1/scout      an agent of a plan that writes to a file
    handler:publish    the handler of that name in moot.toml, or `pack/name`; it sends messages and reads none
    moot               the program itself

Agent names: a letter, then up to 63 letters, digits, `_`, `.` or `-`. Case is kept but not significant.
"""

from __future__ import annotations

from moot.core.errors import Usage
from moot.core.record import Record

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_REST = _LETTERS | frozenset("0123456789_.-")
_RESERVED = frozenset(("all", "moot", "person", "role", "file", "everyone"))
NAME_LIMIT = 64
HANDLER = "handler:"
_OF_FILES = ("role:", "plan:")


class Actor(Record):
    """The caller of a command, as seen by the rules."""

    principal: str
    roles: tuple[str, ...] = ()

    @property
    def person(self) -> bool:
        return self.principal.startswith("person:")

    @property
    def name(self) -> str:
        return name_of(self.principal)


def agent(name: str, incarnation: int) -> str:
    return f"{name}#{incarnation}"


def person(login: str) -> str:
    return f"person:{login}"


def process(login: str) -> str:
    return f"process:{login}"


def role(name: str) -> str:
    return f"role:{name}"


def leaves_stamps(principal: str) -> bool:
    """Whether it acts only through files, so that its writes to them are its only sign of activity."""
    return principal.startswith(_OF_FILES)


def name_of(principal: str) -> str:
    """The agent's name without its incarnation; for other principals, the text itself."""
    return principal.partition("#")[0]


def label(principal: str) -> str:
    """The name for display. For a handler it includes where the handler is defined."""
    if principal.startswith(HANDLER):
        name = principal.removeprefix(HANDLER)
        return f"handler {name}" if "/" in name else f"handler {name} (moot.toml)"
    return name_of(principal)


def same_agent(one: str, other: str) -> bool:
    """Whether both are incarnations of the same agent, or the same principal."""
    return name_of(one).lower() == name_of(other).lower()


def checked_name(name: str, of: str = "an agent") -> str:
    """The name. Raises if it is not valid for an agent or a role."""
    fits = 0 < len(name) <= NAME_LIMIT and name[0] in _LETTERS and all(c in _REST for c in name)
    if fits and name.lower() not in _RESERVED:
        return name
    raise Usage(
        "bad_name",
        f"{name[:80]!r} is not a valid name for {of}.",
        "Use a letter, then up to 63 letters, digits, '_', '.' or '-' (for example Yeats or build-2).",
    )


def mailbox_stream(mailbox: str) -> str:
    return f"mailbox/{mailbox.lower()}"
