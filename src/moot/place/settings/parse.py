"""Parses and validates `moot.toml`.

    packs = ["NAME"]                active packs

    [tasks]                         [claims]                     [messages]
    ttl = "30m"                     ttl = "30m"                  limit = "1MiB"
    attempts = 3                    scope = "workspace"
    review = true                                                [mirrors]
    lifecycle = "core"              [pack.NAME]                  torn_after = "5s"
    receipt = false                 stuck_after = "30m"

    [[handlers]]                    actions that events trigger: see `moot.place.settings.handlers`

    [run.NAME]                      the commands of agents: see `moot.place.settings.commands`

Reports all problems of a file at once, each with its line. Loaded only when the file has changed, so it may be slow. It
does not read files itself.
"""

from __future__ import annotations

import json
import re  # noqa: TID253 (this module itself is loaded on demand)
import tomllib  # noqa: TID253

from moot.core.claims import TTL_LIMIT
from moot.core.errors import Usage
from moot.core.record import Record
from moot.core.text import closest
from moot.place.settings import Settings, seconds
from moot.place.settings.lines import Lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Reader = Callable[[Any], Any]

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")
_SIZE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?) ?([A-Za-z]*)")
_BYTES = {"": 1, "B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_PLACED = re.compile(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", re.DOTALL)
_DAY = 86400.0


class SettingsProblem(Record):
    """One thing that is wrong in the file."""

    line: int
    text: str  # a sentence without the line
    key: str | None = None
    column: int | None = None
    found: str | None = None
    expected: str | None = None


class Unexpected(Exception):
    """A value is not valid for its key. The text describes a valid one."""


def duration(least: float, most: float) -> Reader:
    def read(value: Any) -> float:
        found = seconds(value)
        if found is None or not least <= found <= most:
            limits = f"from {_in_words(least)} to {_in_words(most)}"
            raise Unexpected(f'a duration such as "90s", "30m", "2h", "1d" or a number of seconds, {limits}')
        return found

    return read


def _size(least: int, most: int) -> Reader:
    def read(value: Any) -> int:
        found = size(value)
        if found is None or not least <= found <= most:
            raise Unexpected(f'a size such as "512KiB", "1MiB" or a number of bytes, from {least} to {most} bytes')
        return found

    return read


def whole(least: int, most: int) -> Reader:
    def read(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise Unexpected(f"a whole number from {least} to {most}")
        return value

    return read


def _choice(*words: str) -> Reader:
    def read(value: Any) -> Any:
        if value not in words:
            raise Unexpected(" or ".join(f'"{word}"' for word in words))
        return value

    return read


def _yes_or_no(value: Any) -> bool:
    if not isinstance(value, bool):
        raise Unexpected("true or false")
    return value


def _lifecycle(value: Any) -> str:
    if not isinstance(value, str) or not all(map(_NAME.fullmatch, value.split("/", 1))):
        raise Unexpected('"core", a pack or "pack/lifecycle", in lowercase letters, digits, `-` and `_`')
    return value


def _names(value: Any) -> tuple[str, ...]:
    if isinstance(value, dict):
        raise Unexpected('a list of names such as ["NAME"] (settings of a pack go into [pack.NAME])')
    if not isinstance(value, list) or not all(isinstance(name, str) and _NAME.fullmatch(name) for name in value):
        raise Unexpected('a list of names such as ["NAME"]')
    if len(set(value)) < len(value):
        raise Unexpected("a list without duplicates")
    return tuple(value)


# key in the file → (field of Settings, how its value is read)
KEYS: Mapping[str, tuple[str, Reader]] = {
    "packs": ("packs", _names),
    "tasks.ttl": ("task_ttl", duration(1.0, 365 * _DAY)),
    "tasks.attempts": ("task_attempts", whole(1, 1000)),
    "tasks.review": ("task_review", _yes_or_no),
    "tasks.lifecycle": ("task_lifecycle", _lifecycle),
    "tasks.receipt": ("task_receipt", _yes_or_no),
    "claims.ttl": ("claim_ttl", duration(1.0, TTL_LIMIT)),
    "claims.scope": ("claim_scope", _choice("workspace", "worktree")),
    "messages.limit": ("message_limit", _size(2**10, 2**26)),
    "mirrors.torn_after": ("mirror_torn_after", duration(0.1, 3600.0)),
}
_TABLES = sorted({key.partition(".")[0] for key in KEYS if "." in key} | {"pack", "handlers", "run"})


def parse(path: str, raw: bytes) -> Settings:
    """The settings in the bytes of a file. Raises `Usage` with every problem."""
    try:
        text = raw.decode("utf-8-sig").replace("\r\n", "\n")
        data = tomllib.loads(text)
    except UnicodeDecodeError as problem:
        before = raw[: problem.start]
        column = problem.start - before.rfind(b"\n")
        raise _bad(path, [SettingsProblem(before.count(b"\n") + 1, "the text is not UTF-8", column=column)]) from None
    except tomllib.TOMLDecodeError as problem:
        raise _bad(path, [_syntax(str(problem), raw)]) from None
    except RecursionError:
        raise _bad(path, [SettingsProblem(1, "values are nested too deeply")]) from None
    reading = Reading(text)
    fields = reading.fields(data)
    if reading.problems:
        raise _bad(path, sorted(reading.problems, key=lambda problem: problem.line))
    return Settings(**fields)


def size(value: object) -> int | None:
    """Parse a number of bytes: `1MiB`, `512KiB`, `10MB`, or a number. None if it is not a size."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value if value >= 0 else None
    match = _SIZE.fullmatch(value) if isinstance(value, str) else None
    if match is None or match[2] not in _BYTES:
        return None
    return int(float(match[1]) * _BYTES[match[2]])


class Reading:
    """One pass over the data of a file. Collects the problems."""

    def __init__(self, text: str) -> None:
        self.problems: list[SettingsProblem] = []
        self._lines = Lines(text)

    def fields(self, data: dict[str, Any]) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        for name, value in data.items():
            if name in KEYS:
                self._read((name,), value, fields)
            elif name not in _TABLES:
                self._unknown((name,))
            elif name == "handlers":
                from moot.place.settings.handlers import read

                fields["handlers"] = read(value, self)
            elif not isinstance(value, dict):
                self.wrong((name,), value, f"a table, written as [{name}]")
            elif name == "pack":
                fields["pack_settings"] = value
            elif name == "run":
                from moot.place.settings.commands import read as read_commands

                fields["runs"] = read_commands(value, self)
            else:
                for key, item in value.items():
                    self._read((name, key), item, fields)
        self._check_packs(fields.get("packs"), fields.get("pack_settings", {}))
        self._check_packs(fields.get("packs"), fields.get("runs", {}), "run")
        return fields

    def _read(self, path: tuple[str, ...], value: Any, fields: dict[str, Any]) -> None:
        entry = KEYS.get(".".join(path))
        if entry is None or any("." in part for part in path):
            return self._unknown(path)
        field, read = entry
        try:
            fields[field] = read(value)
        except Unexpected as unexpected:
            self.wrong(path, value, str(unexpected))
        return None

    def _check_packs(self, packs: tuple[str, ...] | None, tables: dict[str, Any], key: str = "pack") -> None:
        listed = not any(problem.key == "packs" for problem in self.problems)
        for name, table in tables.items():
            path = (key, name)
            if not isinstance(table, dict):
                self.wrong(path, table, f"a table, written as [{key}.{name}]")
                continue
            if listed and name not in (packs or ()):
                near = closest(name, packs or ())
                advice = f"did you mean [{key}.{near}]?" if near else f"add it to packs, as in packs = [{_shown(name)}]"
                self.add(path, f"{spelled(path)} configures a pack that is not active; {advice}")
            self._refuse_dates(path, table)
            if "handlers" in table:
                from moot.place.settings.handlers import read_of_pack

                table["handlers"] = read_of_pack(table["handlers"], (*path, "handlers"), self)

    def _refuse_dates(self, path: tuple[str | int, ...], value: Any) -> None:
        """Reject dates and times: JSON, and so every other surface, cannot represent them."""
        if isinstance(value, (dict, list)):
            for key, item in value.items() if isinstance(value, dict) else enumerate(value):
                self._refuse_dates((*path, key), item)
        elif not isinstance(value, (str, int, float, bool)):
            self.wrong(path, value, "a string in quotes")

    def _unknown(self, path: tuple[str, ...]) -> None:
        key = ".".join(path)
        near = [known for known in KEYS if known.endswith(f".{path[-1]}")] if len(path) == 1 else []
        found = closest(key, [*KEYS, *(_TABLES if len(path) == 1 else ())])
        meant = found or " or ".join(near)
        advice = f"did you mean {meant}?" if meant else f"valid keys: {', '.join([*KEYS, 'pack.NAME'])}"
        self.add(path, f"unknown key {spelled(path)}; {advice}")

    def wrong(self, path: tuple[str | int, ...], value: Any, expected: str) -> None:
        found = "a table" if isinstance(value, dict) else _shown(value)
        self.add(path, f"{spelled(path)}: expected {expected}, got {found}", found=found, expected=expected)

    def add(self, path: tuple[str | int, ...], text: str, **more: Any) -> None:
        self.problems.append(SettingsProblem(self._lines.of(path), text, key=spelled(path), **more))


def _syntax(message: str, raw: bytes) -> SettingsProblem:
    placed = _PLACED.fullmatch(message)
    if placed is None or placed[2] is None:
        text = placed[1] if placed else message
        body = raw.rstrip()
        return SettingsProblem(
            body.count(b"\n") + 1, f"{text}, at the end of the file", column=len(body) - body.rfind(b"\n")
        )
    return SettingsProblem(int(placed[2]), f"column {placed[3]}: {placed[1]}", column=int(placed[3]))


def _bad(path: str, problems: list[SettingsProblem]) -> Usage:
    lines = [f"line {problem.line}: {problem.text}" for problem in problems]
    message = f"{path}, {lines[0]}." if len(lines) == 1 else "\n  ".join([f"{path} has {len(lines)} problems:", *lines])
    return Usage(
        "bad_settings",
        message,
        "Correct the file, then run the command again.",
        file=path,
        problems=[problem.plain() for problem in problems],
    )


def spelled(path: tuple[str | int, ...]) -> str:
    """A key as written in the file."""
    key = ""
    for part in path:
        if isinstance(part, int):
            key += f"[{part}]"
        else:
            bare = re.fullmatch(r"[A-Za-z0-9_-]{1,100}", part)
            key += ("." if key else "") + (part if bare else _shown(part))
    return key


def _shown(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 60 else f"{text[:59]}…"


def _in_words(number: float) -> str:
    return f"{number / _DAY:g}d" if number >= _DAY else f"{number:g}s"
