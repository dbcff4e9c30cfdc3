"""`--help`, built from the catalogue: what a verb does, its arguments, an example that can be run."""

from __future__ import annotations

import sys

from moot.api import catalogue
from moot.core.errors import Usage
from moot.surfaces.cli import contents, pack_verbs, reference
from moot.surfaces.cli.parse import ALIASES, find, unalias

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from moot.api.catalogue import Param, Verb
    from moot.surfaces.cli.parse import CommandLine
    from moot.surfaces.cli.reference import Own

_WIDTH = 100


def teach(words: Sequence[str], line: CommandLine | None = None) -> int:
    """`moot help WORDS` or `moot WORDS --help`: about one verb, the verbs that begin with a word, or all verbs."""
    if list(words) == ["--all"]:
        return _print(contents.everything(contents.packs_here(line) if line is not None else ()))
    alias, words = unalias(words)
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
    if name in catalogue.names():
        return _print([*_alias_of(alias, name), *manual_lines(catalogue.find(name))])
    if name in pack_verbs.names(words[0]):
        return _print(manual_lines(pack_verbs.find(name)))
    return _print(_verbs_of(words))


def overview() -> int:
    """`moot --help`: the everyday verbs."""
    return _print(contents.everyday())


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
    typed = alias + name.removeprefix(ALIASES[alias])
    return [f"moot {typed}: alias of `moot {name}`.", ""]


def manual_lines(verb: Verb) -> list[str]:
    lines = [*_hanging(reference.synopsis(verb)), "", *_wrapped(verb.summary), reference.kind(verb)]
    others = contents.aliases_of(verb.name)
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
