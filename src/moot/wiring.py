"""Which parts are real. The only module that knows: everything else meets contracts."""

from __future__ import annotations

import os

from moot.api.pack import Pack, Packs, pack_of
from moot.api.session import Caller, Session
from moot.api.verbs.care import Created, Finding, Opener, checkup
from moot.core.errors import MootError, Usage
from moot.core.lifecycle import CORE
from moot.core.reactions.departures import departures
from moot.core.reactions.dependencies import dependencies
from moot.engine import place as places
from moot.engine import settings as setting
from moot.engine.clock import Clock
from moot.engine.loop import Engine
from moot.engine.presence import Presence
from moot.logs.sqlite import SqliteLog
from moot.views.store import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from moot.api.pack import Protocol
    from moot.engine.place import Place

_PACKS = os.path.join(os.path.dirname(__file__), "packs")
SHIPPED = ("orchestrator",)


def open_session(
    cwd: str,
    env: Mapping[str, str],
    *,
    agent: str | None = None,
    incarnation: int | None = None,
    paths: Sequence[str] = (),
    clock: Clock | None = None,
) -> Session:
    """A session in the workspace of `paths`, or of `cwd`."""
    place = places.for_paths(paths, cwd, env) if paths else places.find(cwd, env)
    settings = setting.load(place)
    packs = Packs([_pack(name, place.state) for name in settings.packs], _protocol)
    clock = clock or Clock()
    core = CORE.replace(attempts=settings.task_attempts)
    reactions = (dependencies, departures, *packs.reactions())
    store = Store(place.state)
    engine = Engine(SqliteLog(place.state), store, clock, {"core": core, **packs.lifecycles()}, reactions)
    caller = Caller(login=_login(env), agent=agent, incarnation=incarnation)
    session = Session(place, settings, engine, Presence(place.state, clock), packs, caller, cwd)
    if packs.mirrors:
        from moot.mirrors.sync import FileMirrors

        session.mirrors = FileMirrors(session)
    return session


def caller_of(env: Mapping[str, str]) -> tuple[str | None, int | None]:
    """Who the environment says is calling."""
    agent, incarnation = env.get("MOOT_AGENT") or None, env.get("MOOT_INCARNATION") or None
    if incarnation is None or agent is None:
        return agent, None
    if not (incarnation.isascii() and incarnation.isdigit()):
        raise Usage(
            "bad_environment",
            f"MOOT_INCARNATION is {incarnation!r}, which is no number.",
            "Set it as `moot join` prints it, or unset it.",
        )
    return agent, int(incarnation)


def _login(env: Mapping[str, str]) -> str:
    """The account that calls. The environment is asked first: it is what the person sees."""
    import pwd

    named = env.get("USER") or env.get("LOGNAME")
    if named:
        return named
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid-{os.getuid()}"


class Workshop(Opener):
    """Making and examining a workspace."""

    def __init__(self, cwd: str, env: Mapping[str, str]) -> None:
        self._cwd = cwd
        self._env = env

    def create(self, packs: tuple[str, ...]) -> Created:
        for name in packs:
            if name not in SHIPPED:
                raise Usage("unknown_pack", f"There is no pack {name!r}.", f"Known: {', '.join(SHIPPED)}.", pack=name)
        place = places.create(self._cwd, self._env)
        settings = setting.load(place)
        missing = tuple(name for name in packs if name not in settings.packs)
        if missing:
            _turn_on(place, missing)
            settings = setting.load(place)
        new = SqliteLog.create(place.state)
        if settings.packs:
            open_session(self._cwd, self._env).sync()
        return Created(root=place.root, state=place.state, new=new, packs=settings.packs)

    def diagnose(self) -> list[Finding]:
        """Walk the way that every call takes, and say how far it goes."""
        findings = []
        try:
            place = places.find(self._cwd, self._env)
            findings.append(Finding("workspace", good=True, message=f"{place.root}, state in {place.state}"))
            settings = setting.load(place)
            source = setting.source(place) or "none, so the defaults hold"
            findings.append(Finding("settings", good=True, message=f"{source}; packs: {settings.packs or 'none'}"))
            return findings + checkup(open_session(self._cwd, self._env))
        except MootError as error:
            return [*findings, Finding(error.code, good=False, message=error.message, remedy=error.remedy)]


def _turn_on(place: Place, packs: tuple[str, ...]) -> None:
    """Write a `moot.toml` that names the packs; one that exists is its owner's to edit."""
    path = os.path.join(place.main_root or place.root, setting.FILE)
    listed = ", ".join(f'"{name}"' for name in packs)
    try:
        with open(path, "x", encoding="utf-8") as file:
            file.write(f"packs = [{listed}]\n\n[tasks]\nlifecycle = \"{packs[0]}\"\n")
    except FileExistsError:
        raise Usage(
            "settings_exist",
            f"{path} exists and does not turn on {', '.join(packs)}.",
            f"Add to it: packs = [{listed}]",
            file=path,
        ) from None


def _protocol(name: str) -> Protocol:
    from moot.packs.orchestrator.protocol import Orchestrator

    return {"orchestrator": Orchestrator}[name]()


def _pack(name: str, state: str) -> Pack:
    """A pack, from its parsed form in the cache if its files are still the same."""
    import json

    if name not in SHIPPED:
        raise Usage("unknown_pack", f"moot.toml names the pack {name!r}, which is not here.", f"Known: {SHIPPED}.")
    cache = os.path.join(state, "cache", f"pack-{name}.json")
    signature = _pack_signature(name)
    try:
        with open(cache, encoding="utf-8") as file:
            kept = json.load(file)
        if kept["signature"] == signature:
            return _made(kept["pack"], kept["schemas"])
    except (OSError, ValueError, KeyError, TypeError):
        pass  # no cache, or of another version: parse
    data, schemas = _parsed(name)
    _keep(cache, {"signature": signature, "pack": data, "schemas": schemas})
    return _made(data, schemas)


def _made(data: Mapping[str, Any], schemas: Mapping[str, Any]) -> Pack:
    return pack_of(data, schemas, int)


def _pack_signature(name: str) -> list[int]:
    found = os.stat(os.path.join(_PACKS, name, "pack.toml"))
    return [found.st_ino, found.st_size, found.st_mtime_ns]


def _parsed(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    import json
    import tomllib

    from moot.core.schema import check_schema
    from moot.engine.settings_parse import size

    with open(os.path.join(_PACKS, name, "pack.toml"), "rb") as file:
        data = tomllib.load(file)
    schemas = {}
    for message in data.get("messages", {}).values():
        with open(os.path.join(_PACKS, name, message["schema"]), encoding="utf-8") as file:
            schemas[message["schema"]] = json.load(file)
        check_schema(schemas[message["schema"]])
    if "limits" in data:
        data["limits"]["message"] = size(data["limits"]["message"])
    return data, schemas


def _keep(path: str, content: dict[str, Any]) -> None:
    import json

    draft = f"{path}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(draft, "w", encoding="utf-8") as file:
            json.dump(content, file)
        os.replace(draft, path)
    except OSError:
        return  # a cache that cannot be written is none


