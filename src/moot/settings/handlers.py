"""The handlers in `moot.toml`: what is done because of events.

    [[handlers]]
    name = "deploy"
    on = ["build:finished"]             types; `task:*` fits all of tasks
    streams = ["topic/nightly"]         only of these streams
    by = ["Yeats", "person:*"]          only by these
    data = { "result.ok" = true }       only with these values
    run = ["./deploy", "--now"]         or url = "https://…", python = "module:function",
                                        message = { to = "@ops", text = "{type} of {stream}" }
    attempts = 5                        then it is parked
    timeout = "60s"
    backoff = "5s"                      before the second attempt; doubled each time
    at_once = 4                         so many at the same time
    env = ["DEPLOY_TOKEN"]              run, python: variables that it gets beside the usual ones
    secret_env = "HOOK_SECRET"          url: the variable that holds the signing secret
    allow_hosts = ["ci.internal"]       url: hosts that may have a private address

Loaded only when the file has handlers and changed. Problems are told by the reading of the whole file.
"""

from __future__ import annotations

import re  # noqa: TID253 (this module itself is loaded on demand)
from math import isfinite

from moot.core.handler import KINDS, NOUN, SETTINGS
from moot.core.text import closest
from moot.processes.environment import SECRET
from moot.settings.parse import Unexpected, duration, spelled, whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Self

    from moot.settings.parse import Reader, Reading

_MOST = 100
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")
_TYPE = re.compile(r"[a-z][a-z0-9_-]{0,63}:(\*|[a-z][a-z0-9_-]{0,63}\*?)|\*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_FUNCTION = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)
_URL = re.compile(r"(https?)://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::([0-9]{1,5}))?(/[^\s#\\]*)?")
_LONGEST = 4096


def _matching(pattern: re.Pattern[str], said: str) -> Reader:
    def read(value: Any) -> str:
        if not isinstance(value, str) or len(value) > _LONGEST or not pattern.fullmatch(value):
            raise Unexpected(said)
        return value

    return read


def _texts(said: str) -> Reader:
    def read(value: Any) -> list[str]:
        good = isinstance(value, list) and 0 < len(value) <= _MOST
        if not good or not all(
            isinstance(item, str) and 0 < len(item) <= _LONGEST and item.isprintable() for item in value
        ):
            raise Unexpected(said)
        return list(value)

    return read


def _types(value: Any) -> list[str]:
    found: list[str] = _texts('a list of types such as ["build:finished", "task:*"]')(value)
    for item in found:
        if not _TYPE.fullmatch(item):
            raise Unexpected('a list of types such as ["build:finished", "task:*"]')
        if item.startswith(f"{NOUN}:"):
            raise Unexpected("a list of types without those of effects: what happens to effects causes none")
        _check_known(item)
    return found


def _check_known(kind: str) -> None:
    """Nobody waits for an event of the core that cannot come."""
    from moot.core.kind import event_types

    known = list(event_types())
    noun = kind.partition(":")[0]
    if "*" in kind or kind in known or not any(name.startswith(f"{noun}:") for name in known):
        return
    near = closest(kind, known)
    hint = f"; did you mean {near}?" if near else ""
    raise Unexpected(f"a list of types that there are, and {kind} is none{hint}")


def _run(value: Any) -> list[str]:
    good = isinstance(value, list) and 0 < len(value) <= 1000 and all(isinstance(item, str) for item in value)
    if not good or not value[0] or any("\0" in item or len(item) > 1 << 16 for item in value):
        raise Unexpected('a list of words such as ["./deploy", "--now"]: a program and its arguments, without a shell')
    return list(value)


def _plain(value: Any) -> bool:
    return isinstance(value, (str, int)) or (isinstance(value, float) and isfinite(value))


def _data(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or len(value) > _MOST or not all(map(_plain, value.values())):
        raise Unexpected('paths with a text, a number, true or false each, such as { "result.ok" = true }')
    return dict(value)


def _message(value: Any) -> dict[str, str]:
    good = isinstance(value, dict) and value.keys() == {"to", "text"}
    if not good or not all(isinstance(part, str) and 0 < len(part) <= _LONGEST for part in value.values()):
        raise Unexpected('a table such as { to = "Yeats", text = "{type} on {stream}" }')
    return dict(value)


def _variables(value: Any) -> list[str]:
    found: list[str] = _texts('a list of variables such as ["DEPLOY_TOKEN"]')(value)
    for name in found:
        if not _VARIABLE.fullmatch(name):
            raise Unexpected('a list of variables such as ["DEPLOY_TOKEN"]')
        if name.startswith(SECRET):
            raise Unexpected(
                f"a list without {name}: a handler never gets who its runner is. It can say who it is itself"
            )
    return found


_URLS = 'an address such as "https://example.org/hook", without a user, a password or a fragment'
FIELDS: Mapping[str, Reader] = {
    "name": _matching(_NAME, "a name in small letters, digits, `-` and `_`"),
    "on": _types,
    "streams": _texts('a list of streams such as ["topic/nightly", "task/*"]'),
    "by": _texts('a list of names such as ["Yeats", "person:*"]'),
    "data": _data,
    "run": _run,
    "url": _matching(_URL, _URLS),
    "python": _matching(_FUNCTION, 'a function such as "package.module:function"'),
    "message": _message,
    "allow_hosts": _texts('a list of hosts such as ["ci.internal", "127.0.0.1"]'),
    "secret_env": _matching(_VARIABLE, "the name of a variable of the environment"),
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
        reading.add(("handlers",), f"there are {len(value)} handlers, at most {_MOST} are allowed")
        return ()
    names: set[str] = set()
    return tuple(_handler(number, item, names, reading) for number, item in enumerate(value))


class _Place(int):
    """The number of a handler, which is told by its name if it has one: nobody counts tables."""

    def __new__(cls, number: int, _name: Any) -> Self:
        return super().__new__(cls, number)

    def __init__(self, number: int, name: Any) -> None:
        self._told = name if isinstance(name, str) and _NAME.fullmatch(name) else str(number)

    def __str__(self) -> str:
        return self._told


def _handler(number: int, table: dict[str, Any], names: set[str], reading: Reading) -> dict[str, Any]:
    here = ("handlers", _Place(number, table.get("name")))
    fields: dict[str, Any] = {}
    for key, item in table.items():
        if key not in FIELDS:
            near = closest(key, FIELDS)
            advice = f"did you mean {near}?" if near else f"known are {', '.join(FIELDS)}"
            reading.add((*here, key), f"there is no key {spelled((*here, key))}; {advice}")
            continue
        try:
            fields[key] = FIELDS[key](item)
        except Unexpected as unexpected:
            reading.wrong((*here, key), item, str(unexpected))
    missing = [key for key in ("name", "on") if key not in table]
    if missing:
        reading.add(here, f"{spelled(here)} has no {' and no '.join(missing)}")
    if fields.get("name") in names:
        reading.add((*here, "name"), f"two handlers are called {fields['name']}")
    if fields.get("name") == SETTINGS:
        advice = "`moot allow settings` means the settings that weaken a rule; take another name"
        reading.add((*here, "name"), f"no handler can be called {SETTINGS}: {advice}")
    names.add(fields.get("name", ""))
    _check_action(here, table, fields, reading)
    return fields


def _check_action(here: tuple[str | int, ...], table: dict[str, Any], fields: dict[str, Any], reading: Reading) -> None:
    given = [kind for kind in KINDS if kind in table]
    if len(given) != 1:
        said = f"has {' and '.join(given)}" if given else "has nothing to do"
        reading.add(here, f"{spelled(here)} {said}, expected is exactly one of {', '.join(KINDS)}")
    if "env" in table and not {"run", "python"} & table.keys():
        reading.add((*here, "env"), f"{spelled((*here, 'env'))} belongs to a command or a function, and there is none")
    if "url" not in table:
        for key in ("secret_env", "allow_hosts"):
            if key in table:
                reading.add((*here, key), f"{spelled((*here, key))} belongs to a url, and there is none")
        return
    match = _URL.fullmatch(fields.get("url", ""))
    if match is None:
        return
    host = match[2].strip("[]").lower()
    if match[1] == "http" and host not in [name.lower() for name in fields.get("allow_hosts", ())]:
        reading.add(
            (*here, "url"), f"{spelled((*here, 'url'))} is not encrypted; write https, or name {host} in allow_hosts"
        )
    if match[3] and not 0 < int(match[3]) < 1 << 16:
        reading.wrong((*here, "url"), fields["url"], "an address whose port is from 1 to 65535")
