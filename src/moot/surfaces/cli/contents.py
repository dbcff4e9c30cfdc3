"""The lists of verbs: the everyday ones, and all of them under headings.

A verb that is of use only with a pack is listed only where a pack is switched on. It works everywhere.
"""

from __future__ import annotations

import os

from moot.api import catalogue
from moot.core.errors import MootError
from moot.surfaces.cli import pack_verbs, reference
from moot.surfaces.cli.parse import ALIASES, directory, find

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from moot.surfaces.cli.parse import CommandLine

HEADINGS = {
    "moot.api.verbs.start": "Agents",
    "moot.api.verbs.agents": "Agents",
    "moot.api.verbs.leaving": "Agents",
    "moot.api.verbs.mail.send": "Messages",
    "moot.api.verbs.answer": "Messages",
    "moot.api.verbs.mail.inbox": "Messages",
    "moot.api.verbs.mail.mailbox": "Packs",
    "moot.api.verbs.tasks.tasks": "Tasks",
    "moot.api.verbs.tasks.changes": "Tasks",
    "moot.api.verbs.tasks.board": "Tasks",
    "moot.api.verbs.claims": "Files",
    "moot.guard.verbs": "Files",
    "moot.api.verbs.artifacts": "Artifacts",
    "moot.api.verbs.tasks.dependencies": "Artifacts",
    "moot.api.verbs.decisions": "Decisions",
    "moot.api.verbs.checkpoints": "Approvals",
    "moot.needs_me.verbs": "Approvals",
    "moot.api.verbs.tasks.checks": "Checks",
    "moot.api.verbs.brief": "Packs",
    "moot.api.verbs.mail.held": "Packs",
    "moot.api.verbs.documents": "Packs",
    "moot.mirrors.verbs": "Packs",
    "moot.mirrors.watching": "Packs",
    "moot.api.verbs.events": "Log",
    "moot.api.verbs.reading": "Log",
    "moot.api.verbs.effects.emit": "Automation",
    "moot.api.verbs.effects.handle": "Automation",
    "moot.api.verbs.effects.allow": "Automation",
    "moot.api.verbs.effects.effects": "Automation",
    "moot.pipelines.verbs": "Packs",
    "moot.pipelines.inspection": "Packs",
    "moot.pipelines.restoring": "Packs",
    "moot.runs.inspection": "Packs",
    "moot.api.verbs.search": "Log",
    "moot.overview.verbs": "Workspace",
    "moot.api.verbs.workspace": "Workspace",
    "moot.transfer.verbs": "Backup",
}
PACKS = "Packs"
EVERYDAY = (
    *(
        "init",
        "start",
        "join",
        "inbox",
        "send",
        "reply",
        "board",
        "task add",
        "task claim",
        "task submit",
        "task approve",
    ),
    *("claim", "release", "ask", "needs-me", "wait", "log"),
)
_OPTIONS = {
    "--json": "the answer, or the error, as JSON",
    "-C DIR": "run as if called from DIR",
    "--agent NAME": "act as this agent (default: MOOT_AGENT)",
    "--person": "act as a person (the default at a terminal)",
}
_EXIT_CODES = (
    "Exit codes: 0 success, 1 refused, 2 usage error, 3 held by another or lost race, 4 not found, 5 timeout,",
    "6 what you waited for failed, 7 unavailable.",
)


def sections() -> dict[str, list[str]]:
    """All verbs by heading; those for packs are last."""
    found: dict[str, list[str]] = {}
    for module, verbs in catalogue.MODULES.items():
        for name in verbs:
            found.setdefault(HEADINGS[module], []).append(name)
    found[PACKS] = found.pop(PACKS)
    return found


def pack_sections(packs: Iterable[str]) -> dict[str, list[str]]:
    """The verbs that these packs bring, by heading."""
    return {f"Pack {pack}": names for pack in packs if (names := pack_verbs.names(pack, broken=False))}


def aliases_of(verb: str) -> list[str]:
    """Other names of this verb."""
    pairs = ((alias, name) for alias, name in ALIASES.items() if verb == name or verb.startswith(f"{name} "))
    return [alias + verb.removeprefix(name) for alias, name in pairs]


def everyday() -> list[str]:
    """What `moot --help` shows: at most 400 tokens, because agents read it at the start of their work."""
    lines = ["moot: where coding agents meet.", "", "  as NAME -- …  Join as NAME, run a command, leave"]
    for name in EVERYDAY:
        summary = catalogue.find(ALIASES.get(name, name)).summary
        lines.append(f"  {name:<13} {summary.partition('. ')[0].partition(';')[0].rstrip('.')}")
    lines += ["", *(f"  {option:<13} {said}" for option, said in _OPTIONS.items()), ""]
    lines.append("`moot help VERB` explains a verb with an example. `moot help --all` lists all verbs.")
    return lines


def everything(packs: Iterable[str] = ()) -> list[str]:
    """What `moot help --all` shows where these packs are active."""
    packs = tuple(packs)
    lines: list[str] = []
    for heading, names in {**sections(), **pack_sections(packs)}.items():
        if heading == PACKS and not packs:
            continue
        lines += [heading, *map(_line, names), ""]
    lines.append("Command line")
    lines += [f"  {own.name:<21} {own.text.partition('. ')[0].rstrip('.')}." for own in reference.OWN]
    lines += ["", "Everywhere"]
    lines += [f"  {name:<21} {said}" for name, said in reference.OPTIONS]
    lines += ["", *_EXIT_CODES]
    if not packs:
        lines += ["", "With a pack switched on (`moot init --pack NAME`), this list has the verbs for its files, too."]
    return lines


def _line(name: str) -> str:
    verb = find(name)
    others = aliases_of(name)
    return f"  {name:<21} {verb.summary}" + (f" Alias: {', '.join(others)}." if others else "")


def packs_here(line: CommandLine) -> tuple[str, ...]:
    """The active packs of the workspace here. Without a workspace, or with bad settings: none."""
    from moot import location, settings

    try:
        place = location.find(directory(line), os.environ, named=line.directory is not None)
        return tuple(settings.load(place, keep=False).packs)
    except MootError:
        return ()
