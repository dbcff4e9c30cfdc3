"""A pack from its parsed `pack.toml` and the message schemas it names."""

from __future__ import annotations

from moot.api.protocol import MessageType, MirrorSpec, Pack, Role
from moot.core.lifecycle import Edge, Lifecycle, State

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
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
    from moot.api.protocol.stage import parts_of

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
        schema=schemas[data["schema"]] if "schema" in data else {},
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
    )


def _mirror(pack: str, name: str, data: Mapping[str, Any]) -> MirrorSpec:
    listed = {key: tuple(data[key]) for key in ("types", "follows", "misplaced") if key in data}
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
