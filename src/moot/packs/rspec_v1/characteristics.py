"""The characteristics of a method: what its conditionals depend on, with states, types and links.

Each conditional gives one characteristic, a condition with `&&` one for each part. A conditional inside a branch
depends on the characteristic of that branch. Guard clauses are independent, so nothing that follows them depends on
them.
"""

from __future__ import annotations

from moot.core.errors import Refused
from moot.core.record import Record
from moot.packs.rspec_v1.condition_names import OTHER, NamedTest, identifier, tests_of, whole_test, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from moot.packs.ruby.conditionals import Branch, Conditional
    from moot.packs.ruby.expressions import Expression

DEEPEST = 40  # levels of nesting
_TRUE_AND_FALSE = (
    ("true", "false"),
    ("yes", "no"),
    ("on", "off"),
    ("enabled", "disabled"),
    ("present", "absent"),
    ("present", "missing"),
    ("valid", "invalid"),
    ("success", "failure"),
    ("active", "inactive"),
)


class Characteristic(Record):
    name: str
    type: str
    states: tuple[str, ...]
    depends_on: str | None
    when_parent: str | None
    level: int
    line: int

    def entry(self) -> dict[str, Any]:
        """The entry of the document."""
        return {
            "name": self.name,
            "type": self.type,
            "states": list(self.states),
            "default": None,
            "depends_on": self.depends_on,
            "when_parent": self.when_parent,
            "level": self.level,
        }


class _Parent(Record):
    name: str | None
    state: str | None
    level: int


class _Draft(Record):
    """A characteristic before it has a place. `by_branch`: the state of each branch, in their order."""

    key: str
    name: str
    states: tuple[str, ...]
    by_branch: tuple[str, ...]
    compares: bool


def characteristics(found: Sequence[Conditional], progressions: Sequence[Sequence[str]] = ()) -> list[Characteristic]:
    """The characteristics of a method's conditionals, parents first, in the order of the source."""
    collected = _Collected(progressions)
    stack = [(one, _Parent(name=None, state=None, level=0)) for one in reversed(found)]
    while stack:
        one, parent = stack.pop()
        if parent.level >= DEEPEST:
            raise Refused(
                "rspec_v1_nested_too_deeply",
                f"The method has conditionals nested more than {DEEPEST} levels deep (line {one.first_line}).",
                "Split the method.",
            )
        parents = collected.add(one, parent)
        stack.extend(
            (inner, inside)
            for branch, inside in reversed(list(zip(one.branches, parents, strict=True)))
            for inner in reversed(branch.nested)
        )
    return collected.entries


def kind_of(states: Sequence[str], *, compares: bool, progressions: Sequence[Sequence[str]]) -> str:
    """The type of a characteristic with these states."""
    if compares:
        return "range"
    if len(states) < 2:
        raise Refused(
            "rspec_v1_too_few_states",
            f"A characteristic needs at least two states, got {list(states)}.",
            "Add the missing state.",
        )
    if len(states) == 2:
        return "binary" if _true_and_false(*states) else "range"
    named = [one for one in states if one != OTHER]
    return "sequential" if any(_follows(named, one) for one in progressions) else "enum"


def _true_and_false(first: str, second: str) -> bool:
    if second == f"not_{first}" or first == f"not_{second}":
        return True
    return any({first, second} == set(pair) for pair in _TRUE_AND_FALSE)


def _follows(states: Sequence[str], progression: Sequence[str]) -> bool:
    """Whether the states are part of the progression, in its order."""
    places = [progression.index(one) if one in progression else -1 for one in states]
    return len(states) > 1 and -1 not in places and places == sorted(places)


class _Collected:
    def __init__(self, progressions: Sequence[Sequence[str]]) -> None:
        self.progressions = progressions
        self.entries: list[Characteristic] = []
        self.known: dict[tuple[str | None, str | None, str], Characteristic] = {}
        self.names: set[str] = set()

    def add(self, one: Conditional, parent: _Parent) -> list[_Parent]:
        """Add what a conditional depends on. Returns, for each branch, what is nested in it depends on."""
        drafts = _drafts(one)
        entries = [self._enter(draft, parent, one.first_line) for draft in drafts]
        last, draft = entries[-1], drafts[-1]
        return [_Parent(name=last.name, state=_known(state, last), level=last.level) for state in draft.by_branch]

    def _enter(self, draft: _Draft, parent: _Parent, line: int) -> Characteristic:
        """The entry for a condition. The same condition under the same parent has only one."""
        key = (parent.name, parent.state, draft.key)
        if key in self.known:
            return self.known[key]
        entry = Characteristic(
            name=self._unused(draft.name),
            type=kind_of(draft.states, compares=draft.compares, progressions=self.progressions),
            states=draft.states,
            depends_on=parent.name,
            when_parent=parent.state,
            level=parent.level + 1,
            line=line,
        )
        self.known[key] = entry
        self.entries.append(entry)
        return entry

    def _unused(self, name: str) -> str:
        name = name or "condition"
        unused, number = name, 1
        while unused in self.names:
            number += 1
            unused = f"{name}_{number}"
        self.names.add(unused)
        return unused


def _known(state: str, entry: Characteristic) -> str:
    """A state of the entry. An earlier conditional with the same condition may lack the `else` of this one."""
    return state if state in entry.states else entry.states[-1]


def _drafts(one: Conditional) -> list[_Draft]:
    if one.form in {"case", "case_in"} and one.condition is not None:
        return [_of_case(one, one.condition)]
    if one.form == "case" or len(one.branches) > 2:
        return [_of_chain(one)]
    assert one.condition is not None
    return [_of_test(test, unless=one.form == "unless") for test in tests_of(one.condition)]


def _of_test(test: NamedTest, *, unless: bool) -> _Draft:
    by_branch = (test.failed, test.held) if unless else (test.held, test.failed)
    return _Draft(key=test.key, name=test.name, states=test.states, by_branch=by_branch, compares=test.compares)


def _of_case(one: Conditional, value: Expression) -> _Draft:
    states = _unique([_values(branch) if branch.role in {"when", "in"} else OTHER for branch in one.branches])
    shown = states[:-1] if one.branches[-1].implicit and len(states) > 2 else states
    return _Draft(
        key=f"case {value.text}: {' | '.join(shown)}",
        name=words(value) or f"value_on_line_{one.first_line}",
        states=tuple(shown),
        by_branch=tuple(states),
        compares=False,
    )


def _values(branch: Branch) -> str:
    joined = "_or_".join(filter(None, (words(value) for value in branch.values)))
    guard = "" if branch.condition is None else f"_if_{whole_test(branch.condition).held}"
    return identifier(f"{joined}{guard}") or "empty"


def _of_chain(one: Conditional) -> _Draft:
    """`if … elsif … else` and `case` without a value: one state for each branch."""
    tests = [_chain_test(one, branch) for branch in one.branches if branch.role != "else"]
    same = len({test.subject for test in tests}) == 1 and tests[0].subject != ""
    compares = all(test.compares for test in tests)
    states = [_chain_state(test, same=same) for test in tests]
    states = _unique([*states, OTHER])
    name = tests[0].name if compares or not same else _subject_name(tests[0])
    return _Draft(
        key=" | ".join(test.key for test in tests),
        name=name,
        states=tuple(states),
        by_branch=tuple(states),
        compares=compares,
    )


def _chain_test(one: Conditional, branch: Branch) -> NamedTest:
    tested = branch.condition or (branch.values[0] if branch.values else one.condition)
    assert tested is not None
    test = whole_test(tested)
    if branch.role == "then" and one.form == "unless":
        return type(test)(**{**test.__dict__, "negated": not test.negated})
    if len(branch.values) > 1:
        joined = "_or_".join(whole_test(value).held for value in branch.values)
        return NamedTest(
            key=", ".join(value.text for value in branch.values), name=test.name, states=(joined, f"not_{joined}")
        )
    return test


def _chain_state(test: NamedTest, *, same: bool) -> str:
    if test.compares and not test.negated:
        return test.bound if same else f"{test.name}_{test.bound}"
    if same and test.value and not test.negated:
        return test.value
    return test.held


def _subject_name(test: NamedTest) -> str:
    return test.name.removesuffix(f"_{test.value}") if test.value else test.name


def _unique(states: list[str]) -> list[str]:
    found: list[str] = []
    for state in states:
        unused, number = state, 1
        while unused in found:
            number += 1
            unused = f"{state}_{number}"
        found.append(unused)
    return found
