"""Removing moot from a repository: what goes, what stays, and the person's consent."""

from __future__ import annotations

from moot.api.answer import Answer
from moot.core.errors import Refused
from moot.core.identity import people_only
from moot.core.record import Record
from moot.core.text import unbroken, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.verbs.workspace import Opener

_BACKUP = "To keep a copy of the log, run `moot backup FILE` first; for text, `moot export FILE`."
_TEXTS = "If AGENTS.md, CLAUDE.md or the like tell agents to use moot, edit them."


class RemovalItem(Record):
    """A file or directory, and what it is."""

    path: str
    what: str


class Removal(Record):
    """What is removed, and what is left in place."""

    removed: tuple[RemovalItem, ...] = ()
    left: tuple[RemovalItem, ...] = ()


def deinit(opener: Opener, yes: bool, force: bool) -> Answer:  # noqa: FBT001 (a verb's flags are its arguments)
    people_only(opener.caller, "`moot deinit`")
    plan = opener.plan_removal(force=force)
    if not plan.removed:
        return Answer(result=plan, say=("There is nothing of moot here to remove.",))
    if not yes:
        _confirm(opener, plan)
    done = opener.remove(force=force)
    lines = (*(f"Removed {_said(one)}." for one in done.removed), *_leaves(done))
    return Answer(result=done, say=lines)


def _confirm(opener: Opener, plan: Removal) -> None:
    lines = ["This removes:", *(f"  {_said(one)}" for one in plan.removed), *_leaves(plan), _BACKUP]
    if opener.ask is None:
        raise Refused(
            "not_confirmed",
            "\n  ".join(["Nothing was removed yet.", *lines]),
            "To remove it: `moot deinit --yes`.",
            **plan.full(),
        )
    if not opener.ask(tuple(lines), "Remove moot from this repository, with its whole log?"):
        raise Refused("not_confirmed", "Nothing was removed.", "`moot deinit` asks again.")


def _leaves(plan: Removal) -> list[str]:
    return [*(f"Left in place: {_said(one)}." for one in plan.left), _TEXTS]


def _said(one: RemovalItem) -> str:
    return unbroken(visible(f"{one.path} ({one.what})"))
