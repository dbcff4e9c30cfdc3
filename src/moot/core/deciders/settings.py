"""The settings that can weaken a rule, as they were in force at the last write.

What always holds:
- Only the keys of `DEFAULTS` are recorded, and each only when the value in force differs from the last recorded one.
- A change records the old and the new value. A key without a record was at its default.

`moot.place.settings.rules` reads the values in force from `moot.toml`.
"""

from __future__ import annotations

from moot.core.json_codec import dumps
from moot.core.kind import NOWHERE, Kind
from moot.core.payload import Payload
from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from moot.core.kind import Meta

STREAM = "settings"

# All recorded settings, with their defaults.
DEFAULTS: Mapping[str, Any] = {
    "tasks.review": True,
    "tasks.receipt": False,
    "tasks.lifecycle": None,  # or the name of a lifecycle without review
    "packs": [],  # packs whose lifecycle has no review
}


class SettingsChanged(Payload):
    type = "settings:changed"
    said = "changed {key} from {old:json} to {new:json}"
    names = ("key", "old", "new")
    key: str
    old: Any
    new: Any


EVENTS: dict[str, type[Payload]] = {SettingsChanged.type: SettingsChanged}


class RecordedRules(Record):
    """The recorded values that differ from the defaults."""

    values: Mapping[str, Any] = {}


def decide(state: RecordedRules, values: Mapping[str, Any], _facts: object = None) -> list[Payload]:
    """Record changed values. `values` are those in force now; a missing key is at its default."""
    now = {**DEFAULTS, **values}
    before = {**DEFAULTS, **state.values}
    return [SettingsChanged(key=key, old=before[key], new=now[key]) for key in DEFAULTS if before[key] != now[key]]


def evolve(state: RecordedRules, event: Payload, _meta: Meta = NOWHERE) -> RecordedRules:
    assert isinstance(event, SettingsChanged)
    values = {**state.values, event.key: _thawed(event.new)}
    return RecordedRules(values={key: value for key, value in values.items() if value != DEFAULTS.get(key)})


def text(values: Mapping[str, Any]) -> str:
    """The values in canonical form; empty if all are at their defaults."""
    return dumps(dict(sorted(values.items()))) if values else ""


def _thawed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


KIND = Kind(
    name=STREAM,
    events=EVENTS,
    decide=decide,
    evolve=evolve,
    state=RecordedRules,
    single=True,
    made_by="moot.toml",
)
