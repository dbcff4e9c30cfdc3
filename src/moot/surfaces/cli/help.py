"""`--help`, built from the catalogue: the lists of verbs, and for one verb its arguments and an example.

A verb that is of use only with a pack is listed only where a pack is switched on. It works everywhere.
"""

from __future__ import annotations

import os
import sys

from moot.api import catalogue
from moot.core.errors import MootError, Usage
from moot.surfaces.cli import pack_verbs, reference
from moot.surfaces.cli.parse import ALIASES, directory, find, unalias

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from moot.api.catalogue import Param, Verb
    from moot.surfaces.cli.parse import CommandLine
    from moot.surfaces.cli.reference import Own

_WIDTH = 100
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
    "moot.api.verbs.runs.run": "Packs",
    "moot.api.verbs.runs.looking": "Packs",
    "moot.pipelines.restoring": "Packs",
    "moot.api.verbs.search": "Log",
    "moot.overview.verbs": "Workspace",
    "moot.api.verbs.workspace": "Workspace",
    "moot.transfer.verbs": "Backup",
}
PACKS = "Packs"
EVERYDAY = (
    *("init", "start", "join", "inbox", "send", "reply", "board", "task add", "task claim", "check", "task submit"),
    *("task approve", "claim", "release", "guard install", "ask", "needs-me", "wait", "watch", "log"),
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


def teach(words: Sequence[str], line: CommandLine | None = None) -> int:
    """`moot help WORDS` or `moot WORDS --help`: about one verb, the verbs that begin with a word, or all verbs."""
    if list(words) == ["--all"]:
        return _print(everything(packs_here(line) if line is not None else ()))
    alias, words = unalias(words)
    name = " ".join(words)
    own = next((one for one in reference.OWN if one.name == name and name != "help"), None)
    if own is not None:
        return _print(own_lines(own))
    if name in ("", "help"):
        return overview()
    if name in catalogue.names():
        return _print([*_alias_of(alias, name), *manual_lines(catalogue.find(name))])
    if name in pack_verbs.names(words[0]):
        return _print(manual_lines(pack_verbs.find(name)))
    return _print(_verbs_of(words))


def overview() -> int:
    """`moot --help`: the everyday verbs."""
    return _print(everyday())


def incomplete(name: str) -> Usage:
    """The error for a word that is only the first word of verbs."""
    verbs = "\n".join(_verbs_of([name]))
    remedy = f"Name one of them; `moot help {name} …` explains it with an example."
    return Usage("incomplete_verb", f"`{name}` needs one more word:\n{verbs}", remedy, verb=name)


def _verbs_of(words: Sequence[str]) -> list[str]:
    """`moot task --help`: the verbs that begin with this word."""
    name = " ".join(words)
    verbs = [verb for verb in catalogue.names() if verb.startswith(f"{name} ")] or pack_verbs.names(name)
    if not verbs:
        from moot.surfaces.cli.suggestions import unknown_verb

        raise unknown_verb(words)
    return [f"  {verb:<20} {find(verb).summary}" for verb in verbs]


def _alias_of(alias: str, name: str) -> list[str]:
    """The first lines of help that was asked for by an alias."""
    if not alias:
        return []
    return [f"moot {alias}: alias of `moot {name}`.", ""]


def manual_lines(verb: Verb) -> list[str]:
    lines = [*_hanging(reference.synopsis(verb)), "", *_wrapped(verb.summary), reference.kind(verb)]
    others = aliases_of(verb.name)
    lines += [f"Alias: {', '.join(others)}.", ""] if others else [""]
    for paragraph in filter(None, verb.detail.split("\n")):
        lines += [*_wrapped(paragraph), ""]
    if verb.params:
        lines += [line for param in verb.params for line in _param(param)] + [""]
    lines += [line for said in reference.types_used(verb) for line in (*_wrapped(said), "")]
    lines.append("Example" + ("s" if len(verb.examples) > 1 else ""))
    return lines + [f"  {example}" for example in reference.examples(verb)]


def own_lines(own: Own) -> list[str]:
    """Help for a verb that only the command line has."""
    examples = [f"  {example}" for example in own.examples]
    said = reference.kind(own)
    return [own.synopsis, "", *_wrapped(own.text), said, "", "Example" + ("s" if len(examples) > 1 else ""), *examples]


def _param(param: Param) -> list[str]:
    return _told(reference.head(param), reference.told(param))


def _told(name: str, said: str) -> list[str]:
    text = _wrapped(said, _WIDTH - 24)
    if len(name) > 20:
        return [f"  {name}", *(" " * 24 + line for line in text)]
    return [f"  {name:<20}  {text[0]}", *(" " * 24 + line for line in text[1:])]


def _hanging(words: list[str]) -> list[str]:
    """A synopsis whose continuation lines are indented to the first argument."""
    margin = " " * (len(words[0]) + 1)
    lines = [words[0]]
    for word in words[1:]:
        if len(lines[-1]) + 1 + len(word) > _WIDTH:
            lines.append(margin + word)
        else:
            lines[-1] += f" {word}"
    return lines


def _wrapped(text: str, width: int = _WIDTH) -> list[str]:
    lines: list[str] = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return lines


def _print(lines: list[str]) -> int:
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


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
    return [alias for alias, name in ALIASES.items() if verb == name]


def everyday() -> list[str]:
    """What `moot --help` shows: at most 400 tokens, because agents read it at the start of their work."""
    import re

    lines = ["moot: where coding agents meet.", "", "  as NAME -- …  Join as NAME, run a command, leave"]
    for name in EVERYDAY:
        summary = catalogue.find(ALIASES.get(name, name)).summary
        lines.append(f"  {name:<13} {re.split('[.:;] ', summary)[0].rstrip('.')}")
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
    from moot import place as places
    from moot.place import settings

    try:
        place = places.find(directory(line), os.environ, named=line.directory is not None)
        return tuple(settings.load(place, keep=False).packs)
    except MootError:
        return ()
