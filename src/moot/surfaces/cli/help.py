"""`--help`, built from the catalogue: what a verb does, its arguments, an example that can be run."""

from __future__ import annotations

import sys

from moot.api import catalogue
from moot.core.errors import Usage
from moot.surfaces.cli import reference
from moot.surfaces.cli.parse import TAUGHT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from moot.api.catalogue import Param, Verb
    from moot.surfaces.cli.reference import Own

_WIDTH = 100
HEADINGS = {
    "moot.api.verbs.agents": "Agents",
    "moot.api.verbs.mail.send": "Messages",
    "moot.api.verbs.mail.inbox": "Inbox",
    "moot.api.verbs.mail.mailbox": "Mailboxes",
    "moot.api.verbs.tasks.tasks": "Tasks",
    "moot.api.verbs.tasks.changes": "Task changes",
    "moot.api.verbs.tasks.board": "Board",
    "moot.api.verbs.claims": "Files",
    "moot.guard.verbs": "Guard of commits",
    "moot.api.verbs.artifacts": "Artifacts",
    "moot.api.verbs.tasks.dependencies": "Artifact needs",
    "moot.api.verbs.decisions": "Decisions",
    "moot.api.verbs.checkpoints": "Checkpoints",
    "moot.api.verbs.tasks.checks": "Checks and receipts",
    "moot.needs_me.verbs": "Needs you",
    "moot.api.verbs.mail.held": "Held entries",
    "moot.api.verbs.events": "Log",
    "moot.api.verbs.effects.emit": "Events",
    "moot.api.verbs.effects.handle": "Handlers",
    "moot.api.verbs.effects.allow": "Permissions",
    "moot.api.verbs.effects.effects": "Effects",
    "moot.api.verbs.search": "Search",
    "moot.overview.verbs": "Overview",
    "moot.api.verbs.workspace": "Workspace",
    "moot.transfer.verbs": "Backup and export",
}


def teach(words: Sequence[str]) -> int:
    """`moot help WORDS` or `moot WORDS --help`: about one verb, the verbs that begin with a word, or all verbs."""
    name = " ".join(words)
    own = next((one for one in reference.OWN if one.name == name and name != "help"), None)
    if own is not None:
        return _print(own_lines(own))
    if name == "man":
        from moot.surfaces.cli.man import page

        sys.stdout.write(page())
        return 0
    if name in ("", "help"):
        return overview()
    return manual(catalogue.find(name)) if name in catalogue.names() else group(name)


def overview() -> int:
    lines = [
        "moot: where coding agents meet.",
        "",
        "  moot VERB …                 run a verb; `moot help VERB` explains it with an example",
        "  moot as NAME -- COMMAND …   join as NAME, run a command as that agent, leave",
        "",
    ]
    for module, verbs in catalogue.MODULES.items():
        lines.append(HEADINGS[module])
        lines += [f"  {name:<20} {catalogue.find(name).summary}" for name in verbs]
        lines.append("")
    lines += [
        "Everywhere",
        "  --json               the answer (or the error) as one JSON object",
        "  -C DIR               run as if called from DIR",
        "  --at WHEN            answer as of a position (1200), a time (2031-05-08T09:30Z) or an age (2h); only for",
        "                       read-only verbs",
        "  --agent NAME         act as this agent (default: MOOT_AGENT)",
        "  --person             act as a person; the default at a terminal (see `moot whoami`)",
        "",
        "Shells",
        "  completion         Print a completion script for bash, zsh or fish.",
        "",
        "Exit codes: 0 success, 1 refused, 2 usage error, 3 held by another or lost race, 4 not found, 5 timeout,",
        "6 what you waited for failed, 7 unavailable.",
    ]
    return _print(lines)


def group(name: str) -> int:
    """`moot task --help`: the verbs that begin with this word."""
    return _print(_verbs_of(name))


def incomplete(name: str) -> Usage:
    """The error for a word that is only the first word of verbs."""
    verbs = "\n".join(_verbs_of(name))
    remedy = f"Name one of them; `moot help {name} …` explains it with an example."
    return Usage("incomplete_verb", f"`{name}` needs one more word:\n{verbs}", remedy, verb=name)


def _verbs_of(name: str) -> list[str]:
    verbs = [verb for verb in catalogue.names() if verb.startswith(f"{name} ")]
    if not verbs:
        raise catalogue.unknown_verb(name, own=TAUGHT)
    return [f"  {verb:<20} {catalogue.find(verb).summary}" for verb in verbs]


def manual(verb: Verb) -> int:
    return _print(manual_lines(verb))


def manual_lines(verb: Verb) -> list[str]:
    lines = [*_hanging(reference.synopsis(verb)), "", *_wrapped(verb.summary), reference.kind(verb), ""]
    if verb.detail:
        lines += [*_wrapped(verb.detail), ""]
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


def pair_lines(pairs: tuple[tuple[str, str], ...]) -> list[str]:
    """Names and their descriptions, in two columns."""
    return [line for name, said in pairs for line in _told(name, said)]


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
