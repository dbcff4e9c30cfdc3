"""Checks `[pack.NAME]` in moot.toml against the settings that the pack defines."""

from __future__ import annotations

from moot.core.errors import Usage
from moot.core.schema import placed
from moot.core.text import closest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from moot.api.protocol import Pack
    from moot.core.schema.phrases import Place

OWN = ("path", "handlers")  # keys for moot itself


def settings_of(pack: Pack, table: Mapping[str, Any], file: str | None) -> dict[str, Any]:
    """The values of all settings of a pack. Raises `Usage` with all problems."""
    given = {key: value for key, value in table.items() if key not in OWN}
    wrong: list[tuple[Place, str]] = []
    if "handlers" in table and "effects" not in pack.parts:
        wrong.append((("pack", pack.name, "handlers"), f"the pack {pack.name} has no handlers; use [[handlers]]"))
    for key, value in given.items():
        place = ("pack", pack.name, key)
        if key not in pack.settings:
            near = closest(key, pack.settings)
            known = ", ".join(pack.settings)
            advice = f"did you mean {near}?" if near else f"known: {known}" if known else "the pack has no settings"
            wrong.append((place, f"there is no key pack.{pack.name}.{key}; {advice}"))
            continue
        for inner, defect in placed(pack.settings[key], value):
            at = ".".join(map(str, (*place, *inner)))
            wrong.append(((*place, *inner), f"{at}: expected {defect.expected}, got {defect.found}"))
    handlers = table.get("handlers", {})
    unusable = [problem for handler in handlers.values() for problem in handler.get("wrong", ())]
    if wrong or unusable:
        problems = [*_placed(file or "moot.toml", wrong), *unusable]
        raise _bad(file or "moot.toml", sorted(problems, key=lambda problem: problem["line"]))
    values = {key: given.get(key, schema["default"]) for key, schema in pack.settings.items()}
    return {**values, "handlers": handlers} if "handlers" in table else values


def bad_settings(file: str, place: Place, said: Sequence[str]) -> Usage:
    return _bad(file, _placed(file, [(place, text) for text in said]))


def _placed(file: str, wrong: Sequence[tuple[Place, str]]) -> list[dict[str, Any]]:
    lines = _lines(file)
    return [{"line": lines(place), "key": ".".join(map(str, place)), "text": text} for place, text in wrong]


def _bad(file: str, problems: list[dict[str, Any]]) -> Usage:
    said = [f"line {problem['line']}: {problem['text']}" for problem in problems]
    end = "" if said[0].endswith("?") else "."
    many = "\n  ".join([f"{file} has {len(said)} problems:", *said])
    message = f"{file}, {said[0]}{end}" if len(said) == 1 else many
    return Usage(
        "bad_settings",
        message,
        "Correct what is named in the file, then run the command again.",
        file=file,
        problems=problems,
    )


def _lines(file: str) -> Any:
    """A function that finds the line of a key; always 1 if the file cannot be read again."""
    from moot.place.gitdir import read
    from moot.place.settings.lines import Lines

    try:
        text = read(file, 1 << 20).decode("utf-8-sig").replace("\r\n", "\n")
        return Lines(text).of
    except (OSError, ValueError):
        return lambda _place: 1
