"""Whether an event is valid: its type, its fields, its paths. One error names everything that is wrong.

The schemas in `events/` say what each type needs. Here is what they cannot say. Paths are made relative to the project,
so that all spellings of a file are one.
"""

from __future__ import annotations

import os

from moot.api.protocol import content
from moot.api.protocol.hearing import accepted, prepared
from moot.core.deciders.custom_event import is_type
from moot.core.errors import Refused
from moot.core.json_codec import dumps
from moot.core.schema import Defect
from moot.core.schema.phrases import shown
from moot.core.text import closest
from moot.packs.gsd.ids import is_task, plan_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from moot.api.protocol import Pack, Saying
    from moot.engine.unit_of_work import Work

_PATHS = ("path", "artifact")  # fields with a path, in the types that are not custom
_CHECKPOINTS = ("human-verify", "decision", "human-action")


def checked(work: Work, pack: Pack, saying: Saying) -> Saying:
    """The event with its timestamp, relative paths and flags. Raises if it is refused."""
    check_type(pack, saying)
    data = {"type": saying.type, **{key: value for key, value in saying.data.items() if not _is_number(key, value)}}
    flags: list[str] = []
    if saying.source is not None and "timestamp" not in data:
        data["timestamp"] = work.at
        flags.append("no_timestamp: the time of arrival was filled in")
    custom = saying.spec.name == "*"
    saying = prepared(work, saying.replace(data=data))
    data, outside = (saying.data, []) if custom else _relative(saying.data, saying)
    saying = saying.replace(data=data)
    beyond = [*content.too_deep(data), *_unwritable(data), *outside, *_wrong(saying.type, data)]
    return accepted(pack, saying, beyond, (*flags, *_odd(saying.type, data)))


def check_type(pack: Pack, saying: Saying) -> None:
    said = saying.data.get("type", saying.type)
    if said != saying.type:
        raise Refused(
            "bad_event_type",
            f"The event says that its type is {shown(said)}, but it was emitted as {saying.type}.",
            "Leave one of them out.",
            type=saying.type,
        )
    known = [spec.name for spec in pack.events if not spec.name.endswith("*")]
    if not is_type(saying.type):
        raise Refused(
            "bad_event_type",
            f"{saying.type[:80]!r} is not an event type: expected two lower-case words joined by a colon.",
            f"The types are {', '.join(known)}; or choose your own, such as commit:created.",
            type=saying.type,
        )
    noun = saying.type.partition(":")[0]
    if saying.spec.name == f"{noun}:*":
        family = [name for name in known if name.startswith(f"{noun}:")]
        near = closest(saying.type, family) or family[0]
        raise Refused(
            "unknown_event_type",
            f"{saying.type} is not an event type of this protocol. Did you mean {near}?",
            f"Types that begin with {noun}: are {', '.join(family)}. Another first word makes an event of your own.",
            type=saying.type,
            suggestion=near,
        )


def real_paths(saying: Saying) -> dict[str, str]:
    """Absolute paths that lead into the project through a link above it, each with its real path."""
    listed = saying.data.get("paths")
    given = [saying.data.get("path"), saying.data.get("artifact"), *(listed if isinstance(listed, list) else ())]
    away = [path for path in given if isinstance(path, str) and path.startswith("/") and "\0" not in path]
    return {path: os.path.realpath(path) for path in away if content.relative(path, saying.roots) is None}


def _is_number(key: str, value: Any) -> bool:
    """Whether a field is the number of the event, as some emitters write it."""
    return key == "eventId" or (key == "id" and isinstance(value, int) and not isinstance(value, bool))


def _relative(data: dict[str, Any], saying: Saying) -> tuple[dict[str, Any], list[Defect]]:
    changed, wrong, real = dict(data), [], saying.facts.get("real", {})
    for key in _PATHS:
        path = data.get(key)
        if isinstance(path, str) and path:
            inside = content.relative(real.get(path, path), saying.roots)
            if inside is None:
                wrong.append(Defect(key, "the path of a file inside the project", shown(path)))
            changed[key] = inside or path
    return changed, wrong


def _unwritable(data: dict[str, Any]) -> Iterator[Defect]:
    """Text that cannot be written to a file: half of a surrogate pair."""
    for key, value in data.items():
        try:
            dumps([key, value]).encode()
        except UnicodeEncodeError:
            yield Defect(key if key.isascii() else "a key", "text in UTF-8", "half of a surrogate pair")


def _wrong(kind: str, data: dict[str, Any]) -> Iterator[Defect]:
    """Defects that the schema of a known type cannot express."""
    noun = kind.partition(":")[0]
    if noun in ("task", "checkpoint") and "task" in data and not is_task(data["task"]):
        yield Defect("task", "a whole number from 1", shown(data["task"]))
    if kind == "dependency:satisfied" and isinstance(data.get("requiredBy"), list):
        plans = [plan_of(one) for one in data["requiredBy"]]
        if None not in plans and len(set(plans)) < len(plans):
            yield Defect("requiredBy", "each plan once", "a plan that is there twice")


def _odd(kind: str, data: dict[str, Any]) -> Iterator[str]:
    if kind == "checkpoint:reached" and data.get("checkpointType") not in _CHECKPOINTS:
        yield f"checkpoint_type: {shown(data.get('checkpointType'))} is not one of {', '.join(_CHECKPOINTS)}"
