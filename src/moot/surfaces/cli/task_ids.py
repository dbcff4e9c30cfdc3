"""Short task ids in arguments of the command line: `7` and `task-7` mean task-007.

An existing id always means itself. Only ids of the form that moot makes, `task-` and a number, have a short form.
Files, JSON input and Python never use short forms.
"""

from __future__ import annotations

from moot.core.errors import Refused, Unknown
from moot.surfaces.cli.parse import short_number
from moot.views import queries, states

TASKS = ("task", "needs")  # the arguments that name tasks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from moot.api.call import Call
    from moot.api.catalogue import Verb


def in_full(call: Call, verb: Verb, given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments with short task ids written out."""
    values = dict(given)
    for param in verb.params:
        value = values.get(param.name)
        if value and param.type == "text" and param.name in TASKS:
            values[param.name] = _id(call, value) if isinstance(value, str) else tuple(_id(call, one) for one in value)
    if verb.name == "explain":  # of things of any kind
        values["thing"] = _thing(call, values["thing"])
    return values


def _thing(call: Call, given: str) -> str:
    from moot.api.explain import history

    try:
        history(call.engine, given)
    except Unknown:
        return _id(call, given)
    return given


def _id(call: Call, given: str) -> str:
    number = short_number(given)
    if number is None:
        return given
    store = call.engine.read()
    if states.task(store, given)[0].exists:
        return given
    found = queries.tasks_numbered(store, number)
    if len(found) > 1:
        raise Refused(
            "ambiguous_id",
            f"{given} can mean {' or '.join(found)}.",
            "Give the full id.",
            task=given,
            known=found,
        )
    return found[0] if found else given  # an unknown id is refused by the verb
