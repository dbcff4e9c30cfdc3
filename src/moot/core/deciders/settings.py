"""The rules that settings can weaken, as they were in force when something was last written.

What always holds:
- Only the keys of `DEFAULTS` are recorded, and each only when its value in force differs from the one recorded before.
- A change says what was before and what is now. Where nothing was recorded, the default was in force.

Which value is in force is found out elsewhere (`moot.settings.rules`): what weakens a rule needs a person's word.
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

# The closed list, with what holds where nothing else is in force.
DEFAULTS: Mapping[str, Any] = {
    "tasks.review": True,
    "tasks.receipt": False,
    "tasks.lifecycle": None,  # or the name of a lifecycle without review
    "packs": [],  # those whose lifecycle has no review
}


class SettingsChanged(Payload):
    type = "settings:changed"
    said = "{key} was {old:json}, and is {new:json} from here on"
    names = ("key", "old", "new")
    key: str
    old: Any
    new: Any


EVENTS: dict[str, type[Payload]] = {SettingsChanged.type: SettingsChanged}


class RecordedRules(Record):
    """What was recorded, without what is at its default."""

    values: Mapping[str, Any] = {}


def decide(state: RecordedRules, values: Mapping[str, Any], _facts: object = None) -> list[Payload]:
    """`values` are those in force now; what is missing is at its default."""
    now = {**DEFAULTS, **values}
    before = {**DEFAULTS, **state.values}
    return [SettingsChanged(key=key, old=before[key], new=now[key]) for key in DEFAULTS if before[key] != now[key]]


def evolve(state: RecordedRules, event: Payload, _meta: Meta = NOWHERE) -> RecordedRules:
    assert isinstance(event, SettingsChanged)
    values = {**state.values, event.key: _thawed(event.new)}
    return RecordedRules(values={key: value for key, value in values.items() if value != DEFAULTS.get(key)})


def text(values: Mapping[str, Any]) -> str:
    """These values in one form; nothing where all are at their defaults."""
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
    made_by="moot.toml, and `moot allow settings`,",
    check="moot.core.integrity.import_checks:settings",
)
