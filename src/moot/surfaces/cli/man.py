"""The manual page moot(1), in roff, from the catalogue and from what the command says about itself."""

from __future__ import annotations

import sys

from moot.api import catalogue
from moot.surfaces.cli import reference
from moot.surfaces.cli.help import HEADINGS


def page() -> str:
    lines = [
        '.\\" Made by tools/generate.py. Change what it is made from, then run `make generate`.',
        f'.TH MOOT 1 "" "moot {sys.modules["moot"].__version__}" "User Commands"',  # nothing inside imports it
        ".SH NAME",
        "moot \\- where coding agents meet: messages, tasks and file claims on one durable log",
        ".SH SYNOPSIS",
        ".B moot",
        escaped("[--json] [-C DIR] [--agent NAME | --person] [--at WHEN] VERB [ARGUMENT …]"),
        ".SH DESCRIPTION",
        *text(
            "Several coding agents and the people they work for share one repository. moot carries their messages, "
            "hands out tasks to one of them at a time, keeps them out of each other's files, and can tell afterwards "
            "what happened. Everything is an event in one append-only log inside the git directory."
        ),
        ".SH OPTIONS",
        *listed(reference.OPTIONS),
        ".SH VERBS",
    ]
    for module, names in catalogue.MODULES.items():
        lines.append(f".SS {escaped(HEADINGS[module])}")
        for name in names:
            lines += verb(name)
    lines.append(".SS Of the command line alone")
    for own in reference.OWN:
        lines += [".TP", f"\\fB{escaped(own.synopsis)}\\fR", *text(own.text), *examples(own.examples)]
    for title, pairs in (
        ("EXIT STATUS", reference.EXIT_CODES),
        ("ENVIRONMENT", reference.ENVIRONMENT),
        ("FILES", reference.FILES),
    ):
        lines += [f".SH {title}", *listed(pairs)]
    return "\n".join(lines) + "\n"


def verb(name: str) -> list[str]:
    found = catalogue.find(name)
    first, *words = reference.synopsis(found)
    lines = [".TP", f"\\fB{escaped(first)}\\fR {' '.join(map(escaped, words))}".rstrip(), *text(found.summary)]
    lines += [".IP", *text(reference.kind(found))]
    if found.detail:
        lines += [".IP", *text(found.detail)]
    if found.params:
        lines.append(".RS")
        for param in found.params:
            lines += [".TP", f"\\fB{escaped(reference.head(param))}\\fR", *text(reference.told(param))]
        lines.append(".RE")
    for said in reference.types_used(found):
        lines += [".IP", *text(said)]
    return lines + examples(reference.examples(found))


def examples(commands: tuple[str, ...]) -> list[str]:
    lines = [".IP", "Example" + ("s" if len(commands) > 1 else "") + ":", ".RS", ".IP", ".nf"]
    return [*lines, *(escaped(command) for command in commands), ".fi", ".RE"]


def listed(pairs: tuple[tuple[str, str], ...]) -> list[str]:
    return [line for name, said in pairs for line in (".TP", f"\\fB{escaped(name)}\\fR", *text(said))]


def text(said: str) -> list[str]:
    """A paragraph, each sentence on a line of its own, as roff likes it."""
    return [escaped(sentence) for sentence in said.replace(". ", ".\n").split("\n")]


def escaped(said: str) -> str:
    """Text that roff shows as it is: no control line, no escape, and a minus that can be copied."""
    safe = said.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    safe = "".join(char if char.isascii() else f"\\[u{ord(char):04X}]" for char in safe)
    return f"\\&{safe}" if safe.startswith(".") else safe
