"""A pack from its parsed `pack.toml` and the message schemas it names; and whether packs can be used together."""

from __future__ import annotations

from moot.api.protocol import MessageType, MirrorSpec, Pack, Role
from moot.core.errors import Usage
from moot.core.lifecycle import Edge, Lifecycle, State

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any


def pack_of(data: Mapping[str, Any], schemas: Mapping[str, dict[str, Any]]) -> Pack:
    name = data["name"]
    roles = {
        role: Role(
            name=role,
            title=r.get("title", ""),
            does=r.get("does", ""),
            delivery=r.get("delivery", "each"),
            also=tuple(r.get("also", ())),
            brief=r.get("brief", ""),
        )
        for role, r in data.get("roles", {}).items()
    }
    lives = {name: data["lifecycle"]} if "lifecycle" in data else {}
    lives |= {f"{name}/{life}": rest for life, rest in data.get("lifecycles", {}).items()}
    reports = {m["moves"]: kind for kind, m in data.get("messages", {}).items() if "moves" in m}
    return Pack(
        name=name,
        title=data["title"],
        version=data.get("version", ""),
        roles=tuple(roles.values()),
        messages=tuple(_type(name, roles, schemas, "message", *one) for one in data.get("messages", {}).items()),
        events=tuple(_type(name, roles, schemas, "event", *one) for one in data.get("events", {}).items()),
        mirrors=tuple(_mirror(name, *one) for one in data.get("mirrors", {}).items()),
        lifecycles=tuple(_lifecycle(*one, reports) for one in lives.items()),
        message_limit=data.get("limits", {}).get("message", 0),
        settings=data.get("settings", {}),
        values={key: schema["default"] for key, schema in data.get("settings", {}).items()},
        **_stages(data),
    )


def _stages(data: Mapping[str, Any]) -> dict[str, Any]:
    if "stage" not in data:
        return {}
    from moot.runs.stage import parts_of

    return parts_of(data)


def _type(
    pack: str,
    roles: Mapping[str, Role],
    schemas: Mapping[str, Any],
    how: str,
    name: str,
    data: Mapping[str, Any],
) -> MessageType:
    senders = _words(data.get("from", ()))
    creates = data.get("creates")
    if creates is not None:
        life = creates.get("lifecycle")
        creates = {**creates, "lifecycle": f"{pack}/{life}" if life else pack}
    return MessageType(
        name=name,
        pack=pack,
        how=how,
        senders=senders,
        also=tuple(dict.fromkeys(other for role in senders for other in roles[role].also)),
        to=_words(data.get("to", ())),
        schema=schemas[data["schema"]] if "schema" in data else _schema(data),
        order=tuple(data.get("order", ())),
        wants=data.get("wants", "nothing"),
        stamp=data.get("stamp"),
        task=data.get("task"),
        paths=tuple(data.get("paths", ())),
        answers=data.get("answers"),
        creates=creates,
        moves=data.get("moves"),
        repeat=data.get("repeat", "store"),
        reason=data.get("reason"),
        receipt=data.get("receipt"),
        text=_words(data.get("text", ())),
        beside=tuple(data.get("beside", ())),
    )


def _schema(data: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a message that has a single text form and no schema of its own."""
    forms = _words(data.get("text", ()))
    if len(forms) != 1:
        return {}
    from moot.core.templates import form_of, schema_of

    return schema_of(form_of(forms[0]))


def _mirror(pack: str, name: str, data: Mapping[str, Any]) -> MirrorSpec:
    listed = {key: tuple(data[key]) for key in ("types", "follows") if key in data}
    return MirrorSpec(name=name, pack=pack, **{**data, **listed})


def _words(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _lifecycle(name: str, data: Mapping[str, Any], reports: Mapping[str, str]) -> Lifecycle:
    """`reports`: the types of messages that move a task, by verb."""
    edges = (
        Edge(
            verb=e["verb"],
            source=e["from"],
            target=e["to"],
            who=tuple(e["who"]),
            needs=tuple(e.get("needs", ())),
            attempt=e.get("attempt", 0),
            holds=e.get("holds", "none"),
            explicit=e.get("explicit", False),
            moot=e.get("moot", False),
            report=reports.get(e["verb"], "") if "report" in e.get("needs", ()) else "",
        )
        for e in data["edges"]
    )
    states = tuple(State(name=state, phase=s["phase"]) for state, s in data["states"].items())
    review = {state.name for state in states if state.phase == "review"}
    return Lifecycle(
        name=name,
        states=states,
        edges=tuple(edges),
        carried=any(e["verb"] in reports and not review.isdisjoint((e["from"], e["to"])) for e in data["edges"]),
        editors=tuple(data.get("editors", ())),
        silence=data.get("silence", "return"),
        attempts=data.get("attempts", 0),
        exhausted=data.get("exhausted"),
    )


def check_for_clashes(packs: Iterable[Pack]) -> None:
    """Raise if two packs define the same role, message, event or file. The error names all of them."""
    clashes: list[str] = []
    before: list[Pack] = []
    for one in packs:
        for other in before:
            both = f"{other.name} and {one.name} both have the"
            for what in ("roles", "messages", "events"):
                theirs = {spec.name.lower() for spec in getattr(other, what)}
                clashes += [f"{both} {what[:-1]} {s.name}" for s in getattr(one, what) if s.name.lower() in theirs]
            paths = [mirror.path for mirror in other.mirrors]
            clashes += [f"{both} file {m.path}" for m in one.mirrors if any(overlap(m.path, path) for path in paths)]
        before.append(one)
    if clashes:
        raise Usage(
            "packs_clash",
            f"The active packs cannot be used together: {'; '.join(clashes)}.",
            "Turn one of them off in moot.toml. A pack that you write can call its type `pack/type`.",
            clashes=clashes,
        )


def overlap(one: str, other: str) -> bool:
    """Whether two paths are the same file, or one would be a directory of the other. Case does not count."""
    first, second = f"{one.casefold()}/", f"{other.casefold()}/"
    return first.startswith(second) or second.startswith(first)
