"""Who acts or holds, as one short text that the log keeps.

    Yeats#3            the third incarnation of the agent Yeats
    person:anna        a person at a terminal
    process:anna       a program of that account that nobody spoke for; it holds no task, file or mail
    role:reviewer      somebody who filled that role through a file; a file does not say who wrote it
    plan:p1/scout      an agent of a plan that speaks through a file
    handler:publish    the handler of that name in moot.toml, which sends messages and reads none
    moot               the program itself, where nobody else can be named

Names of agents: a letter, then up to 63 letters, digits, `_`, `.` or `-`. Case is kept and does not count.
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
    """The caller of a command, as the rules need to know it."""

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
    """Whether it is somebody known by files alone, whose signs of life are what it writes into them."""
    return principal.startswith(_OF_FILES)


def name_of(principal: str) -> str:
    """What to call it: the agent's name without its incarnation, otherwise the text itself."""
    return principal.partition("#")[0]


def label(principal: str) -> str:
    """The same for a reader: a handler says where it is written."""
    if principal.startswith(HANDLER):
        return f"handler {principal.removeprefix(HANDLER)} (moot.toml)"
    return name_of(principal)


def same_agent(one: str, other: str) -> bool:
    """Whether both are incarnations of one agent (or the same principal)."""
    return name_of(one).lower() == name_of(other).lower()


def checked_name(name: str, of: str = "an agent") -> str:
    """The name, if an agent may have it, or a role."""
    fits = 0 < len(name) <= NAME_LIMIT and name[0] in _LETTERS and all(c in _REST for c in name)
    if fits and name.lower() not in _RESERVED:
        return name
    raise Usage(
        "bad_name",
        f"{name[:80]!r} cannot be the name of {of}.",
        "Take a letter, then up to 63 letters, digits, '_', '.' or '-' (for example Yeats or build-2).",
    )


def agent_stream(name: str) -> str:
    return f"agent/{name.lower()}"


def mailbox_stream(mailbox: str) -> str:
    return f"mailbox/{mailbox.lower()}"
