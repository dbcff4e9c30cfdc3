"""The handlers in `moot.toml`: actions that events trigger.

    [[handlers]]
    name = "deploy"
    on = ["build:finished"]             event types; `task:*` matches all task events
    streams = ["topic/nightly"]         only events of these streams
    by = ["Yeats", "person:*"]          only events by these principals
    data = { "result.ok" = true }       only events with these values
    run = ["./deploy", "--now"]         or message = { to = "@ops", text = "{type} of {stream}" }
    attempts = 5                        after that the effect is parked
    timeout = "60s"
    backoff = "5s"                      before the second attempt; doubles each time
    at_once = 4                         maximum number of effects at the same time
    env = ["DEPLOY_TOKEN"]              run: additional variables from the environment

A pack may name handlers in its own configuration. What such a name means can be registered in the pack's table, with
the same keys except those that choose events:

    [pack.NAME.handlers.deploy]
    run = ["./deploy", "--now"]

Loaded only when the file has handlers and has changed. Problems are reported with the others of the file.
"""

from __future__ import annotations

import re  # noqa: TID253 (this module itself is loaded on demand)
from math import isfinite

from moot.core.handler import KINDS, NOUN
from moot.core.text import closest
from moot.place.environment import SECRET
from moot.place.settings.parse import Unexpected, duration, spelled, whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Self

    from moot.place.settings.parse import Reader, Reading

_MOST = 100
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")
_TYPE = re.compile(r"[a-z][a-z0-9_-]{0,63}:(\*|[a-z][a-z0-9_-]{0,63}\*?)|\*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_LONGEST = 4096


def _matching(pattern: re.Pattern[str], expected: str) -> Reader:
    def read(value: Any) -> str:
        if not isinstance(value, str) or len(value) > _LONGEST or not pattern.fullmatch(value):
            raise Unexpected(expected)
        return value

    return read


def _texts(expected: str) -> Reader:
    def read(value: Any) -> list[str]:
        good = isinstance(value, list) and 0 < len(value) <= _MOST
        if not good or not all(
            isinstance(item, str) and 0 < len(item) <= _LONGEST and item.isprintable() for item in value
        ):
            raise Unexpected(expected)
        return list(value)

    return read


def _types(value: Any) -> list[str]:
    found: list[str] = _texts('a list of event types such as ["build:finished", "task:*"]')(value)
    for item in found:
        if not _TYPE.fullmatch(item):
            raise Unexpected('a list of event types such as ["build:finished", "task:*"]')
        if item.startswith(f"{NOUN}:"):
            raise Unexpected(f"event types other than {NOUN}:…, because events about effects do not trigger handlers")
        _check_known(item)
    return found


def _check_known(kind: str) -> None:
    """Raise `Unexpected` for an event type that the core never writes."""
    from moot.core.kind import NOUNS, event_types

    known = list(event_types())
    if "*" in kind or kind in known or kind.partition(":")[0] not in NOUNS:
        return
    near = closest(kind, known)
    hint = f" (did you mean {near}?)" if near else ""
    raise Unexpected(f"existing event types, and {kind} does not exist{hint}")


def _run(value: Any) -> list[str]:
    good = isinstance(value, list) and 0 < len(value) <= 1000 and all(isinstance(item, str) for item in value)
    if not good or not value[0] or any("\0" in item or len(item) > 1 << 16 for item in value):
        raise Unexpected('a program and its arguments as a list such as ["./deploy", "--now"] (no shell is involved)')
    return list(value)


def _plain(value: Any) -> bool:
    return isinstance(value, (str, int)) or (isinstance(value, float) and isfinite(value))


def _data(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or len(value) > _MOST or not all(map(_plain, value.values())):
        raise Unexpected('paths with a string, a number or a boolean each, such as { "result.ok" = true }')
    return dict(value)


def _message(value: Any) -> dict[str, str]:
    good = isinstance(value, dict) and value.keys() == {"to", "text"}
    if not good or not all(isinstance(part, str) and 0 < len(part) <= _LONGEST for part in value.values()):
        raise Unexpected('a "to" and a "text", such as { to = "Yeats", text = "{type} on {stream}" }')
    return dict(value)


def _variables(value: Any) -> list[str]:
    found: list[str] = _texts('a list of environment variables such as ["DEPLOY_TOKEN"]')(value)
    for name in found:
        if not _VARIABLE.fullmatch(name):
            raise Unexpected('a list of environment variables such as ["DEPLOY_TOKEN"]')
        if name.startswith(SECRET):
            raise Unexpected(
                f"environment variables other than {name}, because a handler does not inherit the identity of its "
                "runner (it can set its own)"
            )
    return found


FIELDS: Mapping[str, Reader] = {
    "name": _matching(_NAME, "a name of lowercase letters, digits, `-` and `_`"),
    "on": _types,
    "streams": _texts('a list of streams such as ["topic/nightly", "task/*"]'),
    "by": _texts('a list of names such as ["Yeats", "person:*"]'),
    "data": _data,
    "run": _run,
    "message": _message,
    "env": _variables,
    "attempts": whole(1, 100),
    "timeout": duration(0.1, 3600.0),
    "backoff": duration(0.01, 3600.0),
    "at_once": whole(1, 64),
}


def read(value: Any, reading: Reading) -> tuple[dict[str, Any], ...]:
    """The handlers, as fields of `moot.core.handler.Handler`."""
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        reading.wrong(("handlers",), value, "tables, each written as [[handlers]]")
        return ()
    if len(value) > _MOST:
        reading.add(("handlers",), f"there are {len(value)} handlers; at most {_MOST} are allowed")
        return ()
    names: set[str] = set()
    return tuple(_handler(number, item, names, reading) for number, item in enumerate(value))


_CHOOSING = ("name", "on", "streams", "by", "data")  # the keys that choose events
WRONG = "wrong"


def read_of_pack(value: Any, path: tuple[str, ...], reading: Reading) -> dict[str, dict[str, Any]]:
    """The handlers in `[pack.NAME.handlers]`, as fields of `moot.core.handler.Handler`, by name.

    One that cannot be used has only its problems, as `WRONG`. Some packs go on without it, others do not
    (`moot.api.protocol.settings`).
    """
    if not isinstance(value, dict) or not all(isinstance(item, dict) for item in value.values()):
        reading.wrong(path, value, f"tables, each written as [{spelled(path)}.NAME]")
        return {}
    if len(value) > _MOST:
        reading.add(path, f"there are {len(value)} handlers; at most {_MOST} are allowed")
        return {}
    found: dict[str, dict[str, Any]] = {}
    for name, table in value.items():
        if not _NAME.fullmatch(name):
            reading.wrong((*path, name), name, "a name of lowercase letters, digits, `-` and `_`")
            continue
        before = len(reading.problems)
        found[name] = _fields((*path, name), table, tuple(key for key in FIELDS if key not in _CHOOSING), reading)
        _check_action((*path, name), table, reading)
        wrong = [{"line": one.line, "key": one.key, "text": one.text} for one in reading.problems[before:]]
        if wrong:
            del reading.problems[before:]
            found[name] = {WRONG: wrong}
    return found


class _Place(int):
    """The index of a handler. Problems show its name instead, if it has one: nobody counts tables."""

    def __new__(cls, number: int, _name: Any) -> Self:
        return super().__new__(cls, number)

    def __init__(self, number: int, name: Any) -> None:
        self._label = name if isinstance(name, str) and _NAME.fullmatch(name) else str(number)

    def __str__(self) -> str:
        return self._label


def _handler(number: int, table: dict[str, Any], names: set[str], reading: Reading) -> dict[str, Any]:
    here = ("handlers", _Place(number, table.get("name")))
    fields = _fields(here, table, tuple(FIELDS), reading)
    missing = [key for key in ("name", "on") if key not in table]
    if missing:
        reading.add(here, f"{spelled(here)} has no {' and no '.join(missing)}")
    if fields.get("name") in names:
        reading.add((*here, "name"), f"two handlers are called {fields['name']}")
    names.add(fields.get("name", ""))
    _check_action(here, table, reading)
    return fields


def _fields(
    here: tuple[str | int, ...], table: dict[str, Any], known: tuple[str, ...], reading: Reading
) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for key, item in table.items():
        if key not in known:
            near = closest(key, known)
            advice = f"did you mean {near}?" if near else f"valid keys: {', '.join(known)}"
            reading.add((*here, key), f"unknown key {spelled((*here, key))}; {advice}")
            continue
        try:
            fields[key] = FIELDS[key](item)
        except Unexpected as unexpected:
            reading.wrong((*here, key), item, str(unexpected))
    return fields


def _check_action(here: tuple[str | int, ...], table: dict[str, Any], reading: Reading) -> None:
    given = [kind for kind in KINDS if kind in table]
    if len(given) != 1:
        actions = f"has {' and '.join(given)}" if given else "has no action"
        reading.add(here, f"{spelled(here)} {actions}; it needs exactly one of {', '.join(KINDS)}")
    if "env" in table and "run" not in table:
        reading.add((*here, "env"), f"{spelled((*here, 'env'))} is only valid together with run")
