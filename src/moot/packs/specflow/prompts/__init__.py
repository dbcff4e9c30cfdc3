"""What the driver asks of the agents of a wave, as text. The texts are in the files beside this one.

The prompt that somebody gave for an agent is passed on unchanged, before everything else. What others wrote into an
issue is fenced, so that it cannot be mistaken for moot's own words.
"""

from __future__ import annotations

import os

from moot.core.text import bullets, fence
from moot.packs.specflow.team import ISSUE, SUBAGENTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from moot.api.protocol import MessageType, Pack
    from moot.packs.specflow.team import Issue, Teammate, Wave

_AGENTS = ("agents", "scripts/agents")
_FILE = "issue-lifecycle.md"
_WAITING = {
    True: "While you wait for an answer, end your turn: you are started again when a message arrives.",
    False: "Do not end before one of the two: `moot wait` waits for an answer.",
}


def filled(file: str, /, **values: Any) -> str:
    """A text of this directory, with its values."""
    with open(os.path.join(os.path.dirname(__file__), f"{file}.md"), encoding="utf-8") as opened:
        return opened.read().format_map(values)


def waiting(*, resumed: bool) -> str:
    return _WAITING[resumed]


def brief(root: str, settings: Mapping[str, Any]) -> str | None:
    """The prompt of issue agents in the project; None if it has none."""
    for folder in [settings["agents_dir"]] if settings["agents_dir"] else _AGENTS:
        try:
            with open(os.path.join(root, folder, _FILE), encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            pass
    return None


def first(wave: Wave, member: Teammate, issue: Issue | None, base: str, parts: Iterable[str]) -> str:
    """The prompt of a member's first turn: its own, the `parts` that moot adds, and who it is."""
    about = f", for issue #{issue.number}" if issue is not None else ""
    names = {"member": member.name, "role": member.role, "agent": member.agent, "team": wave.team, "issue": about}
    who = () if wave.mode == SUBAGENTS else (filled("member", wave=wave.number, **names),)
    return "\n\n".join(filter(None, (base, *parts, *who)))


def issue_part(wave: Wave, issue: Issue) -> str:
    text = "\n\n".join(filter(None, (issue.text, *(f"Comment: {one}" for one in issue.comments))))
    return filled("issue", number=issue.number, name=issue.name, wave=wave.number, text=fence(text or "(no text)"))


def team_part(pack: Pack, issue: Issue, settings: Mapping[str, Any], *, resumed: bool) -> str:
    """The messages of an issue agent, the rules about files, and when its issue can be closed."""
    return filled(
        "teams",
        number=issue.number,
        sends="\n".join(bullets(_forms("to", pack, lambda one: one.to if ISSUE in one.senders else ()))),
        gets="\n".join(bullets(_forms("from", pack, lambda one: one.senders if ISSUE in one.to else ()))),
        shared=", ".join(f"`{one}`" for one in settings["shared"]),
        barrels=", ".join(f"`{one}`" for one in settings["barrels"]),
        waiting=waiting(resumed=resumed),
    )


def subagent_part(issue: Issue, migration: str, failures: str) -> str:
    said = (
        f"The contract gate failed after the last attempt. Correct this:\n\n{fence(failures)}\n\n" if failures else ""
    )
    return filled("subagents", number=issue.number, migration=migration, failures=said)


def _forms(word: str, pack: Pack, others: Callable[[MessageType], Sequence[str]]) -> list[str]:
    """The forms of the messages that have `others` at their other end."""
    found = [(form, others(spec)) for spec in pack.messages for form in spec.text]
    return [f"`{form}` {word} {who[0].replace('@all', 'all')}" for form, who in found if who]
