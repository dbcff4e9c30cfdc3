"""Checks the references between the parts of a pack: names, states, files.

Pure. Every function yields problems: the place of a key, and a sentence.
"""

from __future__ import annotations

from moot.api.protocol import stage_grammar
from moot.core.deciders.custom_event import is_type, is_word
from moot.core.deciders.message import WANTS
from moot.core.errors import MootError
from moot.core.lifecycle import RELATIONS
from moot.core.principal import checked_name
from moot.core.schema import check_schema, defects
from moot.core.text import closest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from typing import Any

    from moot.core.schema.phrases import Place

    Found = Iterator[tuple[Place, str]]

RESERVED = ("core", "path")  # the built-in lifecycle; a key of every [pack.NAME] in moot.toml
_EVERYBODY = ("@all", "@requester")
_LARGEST = 1 << 26


def problems(
    data: Mapping[str, Any],
    raw: Mapping[str, Any],
    name: str | None,
    schemas: Mapping[str, Mapping[str, Any]],
    *,
    coded: bool = False,
) -> Found:
    """`data` has only what the schema allows. `raw` is the whole file: names in an invalid table still count.

    `coded`: the pack has code, which may decide on moot's own nouns.
    """
    names = _Names(raw)
    if name is not None and data.get("name", name) != name:
        yield ("name",), f"the name is {data['name']!r} here, but {name!r} in moot.toml"
    if data.get("name") in RESERVED:
        yield ("name",), f"{data['name']!r} is reserved; choose another name"
    if "limits" in data and "message" in data["limits"]:
        found = size(data["limits"]["message"])
        if found is None or not 1 << 10 <= found <= _LARGEST:
            yield ("limits", "message"), 'limits.message: expected a size such as "1MiB", from 1KiB to 64MiB'
    yield from _roles(data)
    for kind in ("messages", "events"):
        for type_, said in tables(data, kind):
            place: Place = (kind, type_)
            yield from _message_name(place, data) if kind == "messages" else _event_name(place, coded=coded)
            yield from _said(place, said, names, schemas.get(said.get("schema", "")))
    for at, life in names.places(data):
        yield from lifecycle(at, life, names.roles)
    yield from stage_grammar.problems(data)
    yield from settings(data.get("settings", {}))


def size(value: object) -> int | None:
    from moot.settings.parse import size as bytes_of

    return bytes_of(value)


def schema_files(data: Mapping[str, Any]) -> dict[str, Place]:
    """The files that messages and events name, each with the place of its first use."""
    found: dict[str, Place] = {}
    for kind in ("messages", "events"):
        for name, said in tables(data, kind):
            if "schema" in said and inside(said["schema"]) is None:
                found.setdefault(said["schema"], (kind, name, "schema"))
    return found


def brief_files(data: Mapping[str, Any]) -> dict[str, Place]:
    """The files that roles name, each with the place of its first use."""
    found: dict[str, Place] = {}
    for name, role in tables(data, "roles"):
        if "brief" in role and inside(role["brief"]) is None:
            found.setdefault(role["brief"], ("roles", name, "brief"))
    return found


def names(data: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """The names of the mirrors, and those of the messages and events."""
    mirrors, messages, events = ([name for name, _ in tables(data, key)] for key in ("mirrors", "messages", "events"))
    return mirrors, messages + events


class _Names:
    """The names that a pack defines."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self.raw = raw
        self.roles = [name for name, _ in tables(raw, "roles")]
        self.types = [name for name, _ in tables(raw, "messages")]
        self.lifecycles = [name for name, _ in tables(raw, "lifecycles")]
        self.main = isinstance(raw.get("lifecycle"), dict)
        edges = [edge for _, life in self.places(raw) for edge in _list(life.get("edges"))]
        self.verbs = list(dict.fromkeys(str(e["verb"]) for e in edges if isinstance(e, dict) and "verb" in e))

    def places(self, data: Mapping[str, Any]) -> Iterator[tuple[Place, Mapping[str, Any]]]:
        """The lifecycles, each with its place."""
        if isinstance(data.get("lifecycle"), dict):
            yield ("lifecycle",), data["lifecycle"]
        for name, life in tables(data, "lifecycles"):
            yield ("lifecycles", name), life


def tables(data: Mapping[str, Any], key: str) -> list[tuple[str, Mapping[str, Any]]]:
    found = data.get(key)
    return [(n, t) for n, t in found.items() if isinstance(t, dict)] if isinstance(found, dict) else []


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def unknown(what: str, found: object, known: Iterable[str]) -> str:
    known = list(known)
    near = closest(str(found), known)
    advice = f"did you mean {near}?" if near and near != found else f"known: {', '.join(known) or 'none'}"
    return f"there is no {what} {found!r}; {advice}"


# --- roles, messages and events --------------------------------------------------------------------------------------


def _roles(data: Mapping[str, Any]) -> Found:
    for role, said in tables(data, "roles"):
        try:
            checked_name(role, "a role")
        except MootError as error:
            yield ("roles", role), error.message.rstrip(".")
        if "brief" in said and (outside := inside(said["brief"])):
            yield ("roles", role, "brief"), outside
        if role in RELATIONS:
            yield ("roles", role), f"{role!r} is a relation to a task and cannot be the name of a role"


def _message_name(place: Place, data: Mapping[str, Any]) -> Found:
    name = str(place[-1])
    pack, slash, word = name.rpartition("/")
    if not is_word(word) or (slash and pack != data.get("name")):
        yield place, f"{name!r}: expected a lower-case word, or {data.get('name')}/word if another pack has that word"
    elif not slash and word in WANTS:
        yield place, f"{name!r} is a built-in message type; choose another name"


def _event_name(place: Place, *, coded: bool) -> Found:
    name = str(place[-1])
    noun, _, participle = name.partition(":")
    if name == "*" and coded:
        return
    if not is_type(name) and not (participle == "*" and is_word(noun)):
        yield place, f"{name!r}: expected an event type such as build:finished, or build:*"
    elif not coded:
        from moot.core.kind import TABLE

        if noun in TABLE or noun in ("file", "dependency"):
            yield place, f"{noun!r} is reserved for moot's own events, which cannot be emitted; choose another noun"


def _said(place: Place, said: Mapping[str, Any], names: _Names, schema: Mapping[str, Any] | None) -> Found:
    for key in ("from", "to"):
        for index, role in enumerate(words(said.get(key))):
            if role not in names.roles and not (key == "to" and role in _EVERYBODY):
                at = (*place, key) if isinstance(said[key], str) else (*place, key, index)
                yield at, unknown("role", role, [*names.roles, *(_EVERYBODY if key == "to" else ())])
    if "schema" in said and (outside := inside(said["schema"])):
        yield (*place, "schema"), outside
    if "@requester" in words(said.get("to")) and "answers" not in said:
        yield (*place, "to"), "@requester requires `answers`: the message type whose sender it means"
    if "answers" in said and said["answers"] not in names.types:
        yield (*place, "answers"), unknown("message", said["answers"], names.types)
    if "moves" in said and said["moves"] not in names.verbs:
        yield (*place, "moves"), unknown("verb", said["moves"], names.verbs)
    yield from _task_of(place, said, names)
    yield from _fields(place, said, schema)


def _task_of(place: Place, said: Mapping[str, Any], names: _Names) -> Found:
    written = names.raw[str(place[0])][place[1]]  # including invalid values
    for key in ("creates", "moves"):
        if key in said and "task" not in written:
            yield (*place, key), f"`{key}` requires `task`: the field that names the task"
    for key in ("reason", "repeat"):
        if key in said and "moves" not in written:
            yield (*place, key), f"`{key}` requires `moves`"
    creates = said.get("creates")
    if creates is None:
        return
    wanted = creates.get("lifecycle")
    if wanted is None and not names.main:
        yield (*place, "creates"), "the pack has no [lifecycle]; name one of [lifecycles]: lifecycle = …"
    elif wanted is not None and wanted not in names.lifecycles:
        yield (*place, "creates", "lifecycle"), unknown("lifecycle", wanted, names.lifecycles)


def _fields(place: Place, said: Mapping[str, Any], schema: Mapping[str, Any] | None) -> Found:
    """Fields that the schema of the message does not have."""
    known = (schema or {}).get("properties")
    if not isinstance(known, dict):
        return
    creates = said.get("creates", {})
    single: list[tuple[Place, Any]] = [((*place, key), said.get(key)) for key in ("task", "stamp", "reason")]
    single += [((*place, "creates", key), creates.get(key)) for key in ("title", "body")]
    single += [((*place, "receipt", "field"), said.get("receipt", {}).get("field"))]
    listed = [((*place, "paths", n), name) for n, name in enumerate(said.get("paths", ()))]
    listed += [((*place, "creates", "extra", n), name) for n, name in enumerate(creates.get("extra", ()))]
    listed += [((*place, "order", n), name.partition(".")[0]) for n, name in enumerate(said.get("order", ())) if name]
    for at, name in [*single, *listed]:
        if name is not None and name not in known and name != "type":
            yield at, unknown("field in the schema called", name, known)


def words(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else [one for one in _list(value) if isinstance(one, str)]


# --- files ------------------------------------------------------------------------------------------------------------


def overlap(one: str, other: str) -> bool:
    """Whether two paths are the same file, or one would be a directory of the other. Case does not count."""
    first, second = one.casefold(), other.casefold()
    return first == second or first.startswith(f"{second}/") or second.startswith(f"{first}/")


def inside(path: str) -> str | None:
    """Why a path of a pack cannot be used; None if it is below its root."""
    steps = path.split("/")
    if path.startswith("/") or "\\" in path or not path.isprintable() or {"", ".", ".."} & {*steps}:
        return f"{path!r}: expected a plain relative path with forward slashes"
    if any(step.casefold() in (".git", ".moot") for step in steps) or path.casefold() == "moot.toml":
        return f"{path!r} belongs to git or to moot itself"
    return None


# --- lifecycles -------------------------------------------------------------------------------------------------------


def lifecycle(place: Place, life: Mapping[str, Any], roles: Collection[str]) -> Found:
    states = {name: str(state.get("phase", "")) for name, state in tables(life, "states")}
    if not states:
        yield (*place, "states"), "a lifecycle needs at least one state"
        return
    first = next(iter(states))
    if states[first] not in ("open", ""):
        yield (*place, "states", first), f"tasks start in {first}, so its phase must be open"
    if "exhausted" in life and life["exhausted"] not in states:
        yield (*place, "exhausted"), unknown("state", life["exhausted"], states)
    for index, who in enumerate(_list(life.get("editors"))):
        if who not in roles:
            yield (*place, "editors", index), unknown("role", who, roles)
    edges = [(index, edge) for index, edge in enumerate(_list(life.get("edges"))) if isinstance(edge, dict)]
    for index, edge in edges:
        yield from _edge((*place, "edges", index), edge, states, roles)
    seen: dict[tuple[str, str], int] = {}
    for index, edge in edges:
        step = (str(edge.get("verb")), str(edge.get("from")))
        if step in seen:
            yield (*place, "edges", index), f"{step[0]} already leads from {step[1]} to another state"
        seen.setdefault(step, index)
    for state in states:
        if state not in _reached(first, [edge for _, edge in edges], life):
            yield (*place, "states", state), f"no edge leads to {state}"


def _edge(place: Place, edge: Mapping[str, Any], states: Mapping[str, str], roles: Collection[str]) -> Found:
    for key in ("from", "to"):
        if edge.get(key) not in states:
            yield (*place, key), unknown("state", edge.get(key), states)
    verb, target = str(edge.get("verb")), edge.get("to")
    if not is_word(verb) or verb == "lapse":
        yield (*place, "verb"), f"{verb!r}: expected a lower-case word, other than lapse"
    if verb in states and verb != target:
        yield (*place, "verb"), f"{verb!r} is also a state, but not the target of this edge: choose another verb"
    for index, who in enumerate(_list(edge.get("who"))):
        if who not in RELATIONS and who not in roles:
            yield (*place, "who", index), unknown("role", who, [*RELATIONS, *roles])
    ended = states.get(str(target)) in ("done", "stopped", "open")
    if edge.get("holds", "none") != "none" and ended:
        yield (
            (*place, "holds"),
            f"a task in {target} cannot have a holder: the phase of {target} is {states[str(target)]}",
        )


def _reached(first: str, edges: list[Mapping[str, Any]], life: Mapping[str, Any]) -> set[str]:
    found, waiting = set(), [first]
    if any(edge.get("attempt") for edge in edges) and "exhausted" in life:
        waiting.append(life["exhausted"])
    while waiting:
        state = waiting.pop()
        if state not in found:
            found.add(state)
            waiting += [str(edge["to"]) for edge in edges if edge.get("from") == state and "to" in edge]
    return found


# --- settings ---------------------------------------------------------------------------------------------------------


def settings(found: Any) -> Found:
    if not isinstance(found, dict):
        return
    for key, schema in found.items():
        place = ("settings", key)
        if key in RESERVED or not is_word(key):
            yield place, f"{key!r}: expected a lower-case word, other than path"
            continue
        try:
            check_schema(schema)
        except MootError as error:
            yield place, error.message
            continue
        if "default" not in schema:
            yield place, f"settings.{key} has no default"
        else:
            for defect in defects(schema, schema["default"]):
                at = f".{defect.path}" if defect.path else ""
                yield (*place, "default"), f"settings.{key}.default{at}: expected {defect.expected}, got {defect.found}"
