"""Which handlers run for an event: the built-in ones, and what `event_handlers` in `.planning/config.json` says.

    blackboard-sync       task:completed       shared-context.json
    dependency-resolver   artifact:created     tells the plans that wait for it: `dependency:satisfied`
    decision-tracker      decision:made        decisions.json
    orchestrator          checkpoint:reached   puts it before the user, and tells the orchestrator
    error-handler         task:failed          the error log, blocked_plans, and tells the orchestrator

The list of a type is complete: a built-in handler that it leaves out does not run, and an empty list switches handling
off. A type that is not mentioned keeps its built-in handler. Built-in handlers run inside the commit of the event;
custom ones are effects of that commit, started in the order of the list.

An entry that cannot be used is a problem with its place in the file, and the rest of the list counts. A file that
cannot be used as a whole leaves the built-in handlers.

Pure. The table is a document of the log (`moot.packs.gsd.sources`), so a change counts from the next event on.
"""

from __future__ import annotations

from moot.api.protocol.source_form import source_key
from moot.core.record import Record
from moot.core.schema.phrases import pointed, shown
from moot.core.text import closest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from moot.engine.unit_of_work import Work

    Where = Callable[[str], str]  # a place such as `event_handlers["task:failed"][0]` with its position, as text

PACK, CONFIG = "gsd", "config"  # the mirror of the file
KEY = "event_handlers"
BUILTIN, CUSTOM = "builtin:", "custom:"
SYNC, RESOLVER, TRACKER = "blackboard-sync", "dependency-resolver", "decision-tracker"
PRESENTER, ERRORS = "orchestrator", "error-handler"
BUILT_IN: Mapping[str, str] = {
    "task:completed": SYNC,
    "artifact:created": RESOLVER,
    "decision:made": TRACKER,
    "checkpoint:reached": PRESENTER,
    "task:failed": ERRORS,
}
_LISTS, _WRONG, _PROBLEMS = "/lists/", "/wrong/", "/problems"
_MOST = 100  # types, and handlers of a type
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_")
_NAME_LIMIT = 64


class HandlerTable(Record):
    """The handlers by type of event, in order: only those that can be used."""

    lists: Mapping[str, tuple[str, ...]] = {}
    problems: tuple[str, ...] = ()
    wrong: Mapping[str, tuple[str, ...]] = {}  # the problems that concern a type

    def names(self, kind: str) -> tuple[str, ...]:
        """The handlers of a type of event, as they are named in the file."""
        usual = BUILT_IN.get(kind)
        return self.lists.get(kind, (f"{BUILTIN}{usual}",) if usual else ())

    def built_in(self, kind: str) -> tuple[str, ...]:
        """The built-in handlers that run, by name."""
        return tuple(name.removeprefix(BUILTIN) for name in self.names(kind) if name.startswith(BUILTIN))

    def acts(self, name: str, kind: str) -> bool:
        """Whether a built-in handler acts on events of this type."""
        return f"{BUILTIN}{name}" in self.names(kind)

    def custom(self, kind: str) -> tuple[str, ...]:
        """The custom handlers that run, by name."""
        return tuple(name.removeprefix(CUSTOM) for name in self.names(kind) if name.startswith(CUSTOM))

    @property
    def named(self) -> dict[str, tuple[str, ...]]:
        """Every custom handler, with the types that it is named for."""
        found: dict[str, tuple[str, ...]] = {}
        for kind in self.lists:
            for name in self.custom(kind):
                found[name] = (*found.get(name, ()), kind)
        return found

    @property
    def out_of_order(self) -> tuple[tuple[str, str], ...]:
        """The built-in handlers that stand behind custom ones, each after its type of event."""
        return tuple(
            (kind, name.removeprefix(BUILTIN))
            for kind, names in self.lists.items()
            for place, name in enumerate(names)
            if name.startswith(BUILTIN) and any(before.startswith(CUSTOM) for before in names[:place])
        )

    @property
    def switched_off(self) -> tuple[tuple[str, str], ...]:
        """The built-in handlers that do not run, each after its type of event."""
        return tuple((kind, name) for kind, name in BUILT_IN.items() if not self.acts(name, kind))


ALL_ON = HandlerTable()  # without a configuration


def table_of(work: Work) -> HandlerTable:
    """The handlers that are in force, inside a commit."""
    return table_from(work.state("document", source_key(PACK, CONFIG)).leaves)


def table_from(leaves: Mapping[str, Any]) -> HandlerTable:
    """The table that `leaves_of` described."""
    return HandlerTable(
        lists=_below(leaves, _LISTS), wrong=_below(leaves, _WRONG), problems=tuple(leaves.get(_PROBLEMS, ()))
    )


def leaves_of(table: HandlerTable) -> dict[str, Any]:
    """The table as leaves of a document."""
    lists = {f"{_LISTS}{kind}": list(names) for kind, names in table.lists.items()}
    wrong = {f"{_WRONG}{kind}": list(found) for kind, found in table.wrong.items()}
    return {**lists, **wrong, **({_PROBLEMS: list(table.problems)} if table.problems else {})}


def _below(leaves: Mapping[str, Any], place: str) -> dict[str, tuple[str, ...]]:
    return {at.removeprefix(place): tuple(value) for at, value in leaves.items() if at.startswith(place)}


def read(content: Any, where: Where) -> HandlerTable:
    """The table in a parsed `config.json`. Its other keys are not looked at."""
    lists, wrong = _read(content), list(defects(content))
    said = [(kind, f"{where(place)}: {text}") for kind, place, text in wrong]
    by_kind = {kind: tuple(text for other, text in said if other == kind) for kind, _ in said if kind}
    return HandlerTable(lists=lists, problems=tuple(text for _, text in said), wrong=by_kind)


def defects(content: Any) -> Iterator[tuple[str, str, str]]:
    """What cannot be used: the type of event it concerns, the place in the file, and a sentence."""
    if not isinstance(content, dict):
        yield "", "", f"expected an object, got {shown(content)}"
        return
    said = content.get(KEY, {})
    if not isinstance(said, dict):
        expected = "expected an object with a list of handlers for each type of event"
        yield "", KEY, f"{expected}, got {shown(said)}"
        return
    for kind, names in list(said.items())[:_MOST]:
        here = pointed((KEY, kind))
        if not _is_type(kind):
            yield "", here, f"{shown(kind)} is not a type of event (two lower-case words joined by a colon)"
        elif not isinstance(names, list):
            yield kind, here, f"expected a list of handlers, got {shown(names)}"
        else:
            wrong = ((number, _problem(kind, name)) for number, name in enumerate(names[:_MOST]))
            yield from ((kind, f"{here}[{number}]", problem) for number, problem in wrong if problem)
            if len(names) > _MOST:
                yield kind, here, f"{len(names)} handlers; only the first {_MOST} count"
    if len(said) > _MOST:
        yield "", KEY, f"{len(said)} types of events; only the first {_MOST} count"


def _read(content: Any) -> dict[str, tuple[str, ...]]:
    """The lists, without what cannot be used. A type without a list keeps its built-in handler."""
    said = content.get(KEY, {}) if isinstance(content, dict) else {}
    known = list(said.items())[:_MOST] if isinstance(said, dict) else []
    return {
        kind: tuple(dict.fromkeys(name for name in names[:_MOST] if not _problem(kind, name)))
        for kind, names in known
        if _is_type(kind) and isinstance(names, list)
    }


def _problem(kind: str, name: Any) -> str:
    if not isinstance(name, str):
        return f"expected the name of a handler, got {shown(name)}"
    if name.startswith(CUSTOM):
        plain = name.removeprefix(CUSTOM)
        fits = 0 < len(plain) <= _NAME_LIMIT and _LETTERS.issuperset(plain) and plain[0].isalpha()
        return "" if fits else f"{shown(name)}: a custom handler has a name of lower-case letters, digits, - and _"
    if not name.startswith(BUILTIN):
        return f"{shown(name)} has no known prefix: write builtin:NAME or custom:NAME"
    plain = name.removeprefix(BUILTIN)
    own = next((event for event, handler in BUILT_IN.items() if handler == plain), None)
    if own is None:
        near = closest(plain, BUILT_IN.values())
        hint = f"; did you mean {BUILTIN}{near}?" if near else ""
        return f"there is no built-in handler {shown(plain)}{hint}"
    return "" if own == kind else f"{name} handles {own}; for {kind} it does nothing"


def _is_type(text: str) -> bool:
    noun, colon, rest = text.partition(":")
    return bool(colon) and all(0 < len(word) <= _NAME_LIMIT and _LETTERS.issuperset(word) for word in (noun, rest))
