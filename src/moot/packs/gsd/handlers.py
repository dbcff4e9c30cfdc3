"""Which handlers act on an event: the built-in one of its type, and those that `.planning/config.json` names.

    blackboard-sync       task:completed       shared-context.json
    dependency-resolver   artifact:created     tells the plans that wait for it: `dependency:satisfied`
    decision-tracker      decision:made        decisions.json
    orchestrator          checkpoint:reached   puts it before the user, and tells the orchestrator
    error-handler         task:failed          the error log, blocked_plans, and tells the orchestrator

Built-in handlers always run, inside the commit of the event; naming or leaving them out changes nothing. `custom:NAME`
is the handler NAME of `[pack.gsd.handlers]` in moot.toml, an effect of that commit.

Pure. The names are a document of the log (`moot.packs.gsd.sources`), so a change counts from the next event on.
"""

from __future__ import annotations

from moot.api.protocol.source_form import source_key
from moot.core.deciders.custom_event import is_type
from moot.core.schema.phrases import pointed, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any

    from moot.engine.unit_of_work import Work

PACK, CONFIG = "gsd", "config"  # the mirror of the file
KEY = "event_handlers"
BUILTIN, CUSTOM = "builtin:", "custom:"
BUILT_IN: Mapping[str, str] = {
    "task:completed": "blackboard-sync",
    "artifact:created": "dependency-resolver",
    "decision:made": "decision-tracker",
    "checkpoint:reached": "orchestrator",
    "task:failed": "error-handler",
}
_LISTS = "/handlers/"
_MOST = 100  # types, and handlers of a type


def of_event(work: Work, kind: str) -> tuple[str, ...]:
    """The handlers of a type of event, inside a commit."""
    usual = (BUILT_IN[kind],) if kind in BUILT_IN else ()
    leaves = work.state("document", source_key(PACK, CONFIG)).leaves
    return (*usual, *(f"{CUSTOM}{name}" for name in leaves.get(f"{_LISTS}{kind}", ())))


def leaves_of(named: Mapping[str, list[str]]) -> dict[str, Any]:
    """Custom handlers by type of event, as leaves of a document."""
    return {f"{_LISTS}{kind}": names for kind, names in named.items() if names}


def all_of(leaves: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """The custom handlers in these leaves."""
    return {at.removeprefix(_LISTS): tuple(names) for at, names in leaves.items() if at.startswith(_LISTS)}


def read(content: Any, registered: Collection[str]) -> tuple[dict[str, list[str]], list[str]]:
    """The custom handlers in a parsed `config.json`, by type of event, and its problems. Other keys do not count."""
    said = content.get(KEY, {}) if isinstance(content, dict) else None
    if not isinstance(said, dict):
        return {}, [f"{KEY}: expected an object with a list of handlers for each type of event"]
    named: dict[str, list[str]] = {}
    problems: list[str] = []
    for kind, names in list(said.items())[:_MOST]:
        here = pointed((KEY, kind))
        if not is_type(kind) or not isinstance(names, list):
            problems.append(f"{here}: expected a type of event with a list of handlers")
            continue
        for name in dict.fromkeys(one if isinstance(one, str) else shown(one) for one in names[:_MOST]):
            plain = name.removeprefix(CUSTOM)
            if name.startswith(CUSTOM) and plain:
                named.setdefault(kind, []).append(plain)
            if plain not in registered and name.removeprefix(BUILTIN) not in BUILT_IN.values():
                problems.append(
                    f"{here}: {shown(name)} leads to no handler: there is no [pack.{PACK}.handlers.{plain[:80]}]"
                )
    return named, problems
