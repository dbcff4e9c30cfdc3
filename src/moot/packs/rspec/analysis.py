"""The built-in code-analyzer: from a document and its source to behaviours, characteristics and side effects.

Pure. What it knows about other classes of the project comes in as a parameter. It reads no spec files, decides no test
level, and does not see the dependencies that discovery found.
"""

from __future__ import annotations

from moot.core.errors import Refused
from moot.core.record import Record
from moot.packs.rspec.analysis_calls import Origins, classes_used, side_effects
from moot.packs.rspec.analysis_conditions import ENUM, SEQUENTIAL
from moot.packs.rspec.analysis_flow import MOST, branchings_of, collapsed, in_order, main_flow
from moot.packs.rspec.analysis_names import unique_names
from moot.packs.rspec.analysis_setup import setup_of
from moot.packs.rspec.analysis_words import PROGRESSIONS, STATE_MACHINES, words_of
from moot.packs.rspec.behaviours import SIDE_EFFECT, SUCCESS, TERMINAL, Bank
from moot.packs.rspec.contexts import contexts_of
from moot.packs.rspec.discovery_methods import MethodTable
from moot.packs.ruby.declarations import declarations
from moot.packs.ruby.method_code import calls_of_classes, statements_of
from moot.packs.ruby.method_uses import local_names
from moot.packs.ruby.syntax import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from moot.packs.rspec.analysis_flow import Branching, ValueOutcome
    from moot.packs.rspec.contexts import Context
    from moot.packs.ruby.methods import Declarations, Method
    from moot.packs.ruby.syntax import RubySource

VERSION = "2"  # of the analysis; a change of its results raises it, so that it is made again
NOTHING_SELECTED = "No method is selected"
_MANY_CHARACTERISTICS, _MANY_LEAVES, _MANY_EXAMPLES = 5, 25, 50


class SourceAnalysis(Record):
    """The data of code-analyzer's answer. `skip`: why there was nothing to do."""

    data: Mapping[str, Any]
    warnings: tuple[str, ...] = ()
    skip: str = ""


def analyze(
    document: Mapping[str, Any], source: bytes, mtime: int, parameters: Mapping[str, Any], slug: str = ""
) -> SourceAnalysis:
    """Analyse the selected methods of a document.

    `parameters["classes"]`: the kind of each class of the project that the source may mean (`project_classes`).
    """
    classes: Mapping[str, str] = parameters.get("classes") or {}
    entries = [entry for entry in document["methods_to_analyze"] if entry["selected"]]
    if not entries:
        return SourceAnalysis(data={}, skip=NOTHING_SELECTED)
    parsed = parse(source)
    found = declarations(parsed)
    bank = Bank()
    warnings: list[str] = []
    reader = _Reader(document["class_name"], parsed, found, lambda name: classes.get(name, ""), bank, warnings)
    methods = [reader.method(entry, _defined(document, entry, found)) for entry in entries]
    data = {
        "slug": slug,
        "source_file": document["source_file"],
        "source_mtime": mtime,
        "class_name": document["class_name"],
        "behaviors": bank.plain(),
        "methods": methods,
    }
    warnings += [warning for method in methods for warning in size_warnings(method, data)]
    return SourceAnalysis(data=data, warnings=tuple(warnings))


def _defined(document: Mapping[str, Any], entry: Mapping[str, Any], found: Declarations) -> Method:
    """The definition that an entry means: by name, and among several by its lines."""
    name = entry["name"].removeprefix("self.")
    same = [one for one in found.methods if one.owner == document["class_name"] and one.name == name and not one.nested]
    exact = [one for one in same if [one.first_line, one.last_line] == list(entry["line_range"])]
    if not same:
        raise Refused(
            "method_missing",
            f"{document['class_name']} has no method {name} in {document['source_file']}.",
            "The source has changed: start discovery again.",
            method=name,
        )
    if len(same) > 1 and not exact:
        lines = ", ".join(str(one.first_line) for one in same)
        raise Refused(
            "method_ambiguous",
            f"{document['source_file']} defines {name} of {document['class_name']} on the lines {lines}.",
            "The source has changed: start discovery again.",
            method=name,
        )
    method = (exact or same)[-1]
    if method.broken:
        raise Refused(
            "source_does_not_parse",
            f"{document['source_file']} does not parse at {name} (line {method.first_line}).",
            "Correct the source, then start the stage again.",
            method=name,
        )
    return method


class _Reader:
    def __init__(
        self,
        own: str,
        parsed: RubySource,
        found: Declarations,
        class_kind: Callable[[str], str],
        bank: Bank,
        warnings: list[str],
    ) -> None:
        self._own, self._class_kind, self._bank, self._warnings = own, class_kind, bank, warnings
        self._known = MethodTable({one.id: one for one in found.methods if one.owner == own and not one.nested})
        self._machine = not STATE_MACHINES.isdisjoint(calls_of_classes(parsed))

    def method(self, entry: Mapping[str, Any], method: Method) -> dict[str, Any]:
        conditionals = branchings_of(method)
        if len(conditionals) >= MOST:
            self._warnings.append(f"{method.id} has {MOST} or more conditionals; only the first {MOST} are listed.")
        origins = Origins(method, self._own)
        known = local_names(method)
        sources = {id(one): origins.of(one.test.subject) for one in conditionals}
        for one in conditionals:
            if (origin := sources[id(one)]) is not None:
                collapsed(one, f"{words_of(origin.class_name)} {words_of(origin.method)}")
        conditionals = in_order(conditionals)
        names = unique_names(conditionals)
        depths = _levels(conditionals)
        characteristics = []
        for number, one in enumerate(conditionals):
            origin = sources[id(one)]
            if one.test.unclear and origin is None:
                line = _lines(one).partition("-")[0]
                self._warnings.append(f"{method.id}: the condition on line {line} has no known form, and is boolean.")
            characteristics.append(
                {
                    "name": names[number],
                    "description": words_of(names[number]),
                    "type": self._type(one),
                    **(
                        {"source": {"kind": "external", "class": origin.class_name, "method": origin.method}}
                        if origin
                        else {}
                    ),
                    "values": [self._value(outcome, one, conditionals) for outcome in one.outcomes],
                    "source_line": _lines(one),
                    "setup": setup_of(one.test, self._own, known, self._class_kind, external=origin is not None),
                    **_threshold(one),
                    "level": depths[number],
                    "depends_on": None if one.parent is None else names[conditionals.index(one.parent)],
                    "when_parent": None if one.parent is None else [outcome.tested.value for outcome in one.when],
                }
            )
        return self._described(entry, method, characteristics)

    def _described(
        self,
        entry: Mapping[str, Any],
        method: Method,
        characteristics: list[dict[str, Any]],
    ) -> dict[str, Any]:
        reached = [method, *self._known.reached(method)]
        effects = [
            {"type": one.kind, "behavior_id": self._bank.refer(one.does, SIDE_EFFECT, one.kind)}
            for one in side_effects(reached)
        ]
        return {
            "name": entry["name"],
            "type": "class" if method.kind == "class" else "instance",
            "method_mode": entry["method_mode"],
            "analyzed": True,
            **({"side_effects": effects} if effects else {}),
            **(
                {}
                if characteristics
                else {"behavior_id": self._bank.refer(main_flow(method.name, statements_of(method)), SUCCESS)}
            ),
            "characteristics": characteristics,
            "dependencies": classes_used(reached, self._own),
        }

    def _type(self, one: Branching) -> str:
        if one.test.kind != ENUM:
            return one.test.kind
        values = [str(outcome.tested.value) for outcome in one.outcomes if outcome.tested.value != "other"]
        if self._machine and one.test.name in {"state", "status", "aasm_state", "workflow_state"}:
            return SEQUENTIAL
        return SEQUENTIAL if len(values) > 2 and any(_is_part(values, steps) for steps in PROGRESSIONS) else ENUM

    def _value(self, outcome: ValueOutcome, one: Branching, all_of_them: list[Branching]) -> dict[str, Any]:
        value = {
            "value": outcome.tested.value,
            "description": outcome.tested.description,
            "terminal": outcome.terminal,
        }
        if any(other.parent is one and outcome in other.when for other in all_of_them):
            return value
        kind = TERMINAL if outcome.terminal else SUCCESS
        return {**value, "behavior_id": self._bank.refer(outcome.does, kind)}


def _is_part(values: Sequence[str], steps: Sequence[str]) -> bool:
    """Whether the values are steps of a progression, in its order."""
    places = [steps.index(value) for value in values if value in steps]
    return len(places) == len(values) and places == sorted(places)


def _levels(conditionals: list[Branching]) -> list[int]:
    """One more than the conditional above."""
    known: dict[int, int] = {}
    for one in conditionals:
        chain, current = [], one
        while id(current) not in known and current.parent is not None:
            chain.append(current)
            current = current.parent
        level = known.setdefault(id(current), 1)
        for each in reversed(chain):
            level += 1
            known[id(each)] = level
    return [known[id(one)] for one in conditionals]


def _lines(one: Branching) -> str:
    first, last = one.lines
    return str(first) if first == last else f"{first}-{last}"


def _threshold(one: Branching) -> dict[str, Any]:
    if one.test.threshold is None:
        return {}
    operator, value = one.test.threshold
    return {"threshold_value": value, "threshold_operator": operator}


def size_warnings(method: Mapping[str, Any], data: Mapping[str, Any]) -> list[str]:
    """A warning for a method that yields more tests than anybody reads."""
    bank = {one["id"]: one for one in data["behaviors"]}
    leaves = [leaf for root in contexts_of(method, bank) for leaf in _leaves(root)]
    characteristics, examples = len(method["characteristics"]), sum(len(leaf.examples) for leaf in leaves)
    if characteristics < _MANY_CHARACTERISTICS and len(leaves) < _MANY_LEAVES and examples < _MANY_EXAMPLES:
        return []
    numbers = f"{characteristics} characteristics, {len(leaves)} leaf contexts and {examples} expected examples"
    return [f"{data['class_name']}: {method['name']} has {numbers}; consider splitting it."]


def _leaves(context: Context) -> list[Context]:
    return [leaf for child in context.children for leaf in _leaves(child)] if context.children else [context]
