"""The command that runs RSpec, if it comes with the repository: it needs the consent of a person.

A command in moot.toml comes with the repository, and so does a program of its Gemfile. `rspec` as it is installed on
this machine needs no consent: the caller asked for it.
"""

from __future__ import annotations

from moot.core.errors import Refused
from moot.core.handler import Handler
from moot.core.text import command_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PACK = "rspec"
INSTALLED = ("rspec",)


def program(command: Sequence[str], timeout: float) -> Handler | None:
    """The command as `moot allow` shows it; None if it needs no consent."""
    words = tuple(command)
    if words == INSTALLED:
        return None
    return Handler(name=f"{PACK}.rspec", on=(), pack=PACK, stage="rspec", run=words, timeout=timeout)


def check_allowed(command: Sequence[str], timeout: float, allows: Callable[[Handler], bool]) -> None:
    """Raise unless the command may run."""
    one = program(command, timeout)
    if one is not None and not allows(one):
        raise Refused(
            "rspec_not_allowed",
            f"Nobody has allowed the command that runs RSpec on this machine: {' '.join(one.run)}",
            f"Inspect and allow it: `{command_line('allow', one.name)}`.",
            command=one.name,
        )
