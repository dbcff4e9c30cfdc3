"""Writes the completion scripts for bash, zsh and fish. Knows how each shell quotes."""

from __future__ import annotations

import os

from moot.surfaces.cli.completion import FLAGS, VALUES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from moot.surfaces.cli.completion import ArgumentForm, Slot

_HERE = os.path.dirname(__file__)
_GLOBALS = (*FLAGS, *VALUES)


def _script(shell: str, **parts: str) -> str:
    with open(os.path.join(_HERE, "scripts", f"moot.{shell}"), encoding="utf-8") as file:
        text = file.read()
    for name, value in parts.items():
        text = text.replace(f"@{name}@", value)
    return text


def quoted(text: str) -> str:
    """A word, quoted for bash and zsh."""
    return "'" + text.replace("'", "'\\''") + "'"


def bash(forms: Sequence[ArgumentForm]) -> str:
    return _script(
        "bash",
        VERBS=_verbs(forms),
        OPTIONS=_options(forms),
        KINDS=_kinds(forms),
        GLOBALS=" ".join(_GLOBALS),
        VALUES=" | ".join(VALUES),
    )


def zsh(forms: Sequence[ArgumentForm]) -> str:
    firsts = {form.name: form.summary for form in forms if " " not in form.name}
    described = "\n".join(f"    {quoted(f'{name}:{said}')}" for name, said in {**firsts, **_groups(forms)}.items())
    return _script(
        "zsh",
        DESCRIBED=described,
        SECONDS=_seconds(forms),
        OPTIONS=_options(forms),
        KINDS=_kinds(forms),
        GLOBALS=" ".join(_GLOBALS),
        VALUES=" | ".join(VALUES),
    )


def _groups(forms: Sequence[ArgumentForm]) -> dict[str, str]:
    """First words of two-word verbs, each with its possible second words."""
    known = {form.name for form in forms}
    firsts = dict.fromkeys(form.name.partition(" ")[0] for form in forms if " " in form.name)
    return {
        first: ", ".join(form.name.partition(" ")[2] for form in forms if form.name.startswith(f"{first} "))
        for first in firsts
        if first not in known
    }


def _verbs(forms: Sequence[ArgumentForm]) -> str:
    """The possible first words, and the second words for each first word of a two-word verb."""
    firsts = " ".join(dict.fromkeys(form.name.partition(" ")[0] for form in forms))
    return f"    '') said={quoted(firsts)} ;;\n{_seconds(forms)}"


def _seconds(forms: Sequence[ArgumentForm]) -> str:
    groups: dict[str, list[str]] = {}
    for form in forms:
        first, _, second = form.name.partition(" ")
        if second:
            groups.setdefault(first, []).append(second)
    return "\n".join(f"    {quoted(first)}) said={quoted(' '.join(names))} ;;" for first, names in groups.items())


def _options(forms: Sequence[ArgumentForm]) -> str:
    """The options of each verb, and which of them take no value."""
    lines = []
    for form in forms:
        flags = " ".join(slot.flag for slot in form.options)
        alone = " ".join(slot.flag for slot in form.options if not slot.value)
        lines.append(f"    {quoted(form.name)}) options={quoted(flags)} alone={quoted(alone)} ;;")
    return "\n".join(lines)


def _kinds(forms: Sequence[ArgumentForm]) -> str:
    """What completes an option's value or a positional argument: names to look up, files, or fixed words."""
    lines: list[str] = []
    for form in forms:
        for slot in form.options:
            lines += _kind(f"{form.name} {slot.flag}", slot)
        for number, slot in enumerate(form.places, 1):
            last = number == len(form.places) and slot.many
            lines += _kind(f"{form.name} {number}", slot, repeated=f"{form.name} " if last else "")
    lines += [f"    *{quoted(f' {flag}')}) kind={kind} ;;" for flag, (_, kind) in VALUES.items() if kind]
    return "\n".join(lines)


def _kind(place: str, slot: Slot, repeated: str = "") -> Iterator[str]:
    if slot.value and slot.kind:
        words = f" said={quoted(' '.join(slot.words))}" if slot.words else ""
        pattern = f"{quoted(repeated)}[0-9]*" if repeated else quoted(place)
        yield f"    {pattern}) kind={slot.kind}{words} ;;"


def fish(forms: Sequence[ArgumentForm]) -> str:
    lines = []
    for flag, said in FLAGS.items():
        lines.append(f"complete -c moot -l {flag[2:]} -d {_fish(said)}")
    lines.append(f"complete -c moot -s C -r -F -d {_fish(VALUES['-C'][0])}")
    lines.append(f"complete -c moot -l agent -x -a '(__moot_names agents)' -d {_fish(VALUES['--agent'][0])}")
    lines.append(f"complete -c moot -l at -x -d {_fish(VALUES['--at'][0])}")
    for form in forms:
        first, _, second = form.name.partition(" ")
        place, word = (f"__moot_at {first}", second) if second else ("__moot_at", first)
        lines.append(f"complete -c moot -n {_fish(place)} -f -a {_fish(word)} -d {_fish(form.summary)}")
    for first, said in _groups(forms).items():
        lines.append(f"complete -c moot -n __moot_at -f -a {_fish(first)} -d {_fish(said)}")
    for form in forms:
        inside = f"__moot_in {form.name}"
        for slot in form.options:
            value = f" -x{_source(slot)}" if slot.value and slot.kind != "files" else " -r -F" if slot.value else ""
            lines.append(f"complete -c moot -n {_fish(inside)} -l {slot.flag[2:]}{value} -d {_fish(slot.help)}")
        for number, slot in enumerate(form.places):
            upto = "" if slot.many and number == len(form.places) - 1 else f" {number}"
            where = f"__moot_place {form.name} -- {number}{upto}"
            if slot.kind == "files":
                lines.append(f"complete -c moot -n {_fish(where)} -F")
            elif slot.kind:
                lines.append(f"complete -c moot -n {_fish(where)} -f{_source(slot)}")
    return _script(
        "fish",
        LINES="\n".join(lines),
        VERBS=" ".join(_fish(form.name) for form in forms),
        VALUES=" ".join(VALUES),
        ALONE="\n".join(_alone(form) for form in forms if any(not slot.value for slot in form.options)),
    )


def _alone(form: ArgumentForm) -> str:
    flags = " ".join(slot.flag for slot in form.options if not slot.value)
    return f"        case {_fish(form.name)}\n            printf '%s\\n' {flags}"


def _source(slot: Slot) -> str:
    if slot.words:
        return f" -a {_fish(' '.join(_fish(word) if ' ' in word else word for word in slot.words))}"
    return f" -a '(__moot_names {slot.kind})'" if slot.kind else ""


def _fish(text: str) -> str:
    """A word, quoted for fish, where a backslash is special inside single quotes."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
