"""The characteristics of a method: one for each condition, with its values, nested as the code has them.

A conditional in a branch nests under the value of that branch. What follows a guard, or a branch that leaves, nests
under the values that go on; the second part of `a && b` under the value in which the first holds. Where several
characteristics lead to a place, it stands below the last value that all ways to it share. What one branch says of its
end (`raise X`, `return nil`) is kept with the value, and nothing else: the source does not say more.
"""

from __future__ import annotations

from moot.core.errors import Refused
from moot.core.record import Record
from moot.packs.rspec.conditions import BOOLEAN, ENUM, LITERALS, RANGE, Tested, chain_of, choice_of, parts_of
from moot.packs.ruby.conditionals import conditionals
from moot.packs.ruby.method_code import assigned_values, last_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from moot.packs.rspec.conditions import Meaning
    from moot.packs.ruby.conditionals import Branch, Conditional
    from moot.packs.ruby.expressions import Expression
    from moot.packs.ruby.methods import Method

    Way = tuple["Characteristic | None", int]  # a value by its place; None: the beginning of the method

DEEPEST = 40  # levels
MOST = 200  # characteristics of one method
_LEAVING = frozenset(("return", "raise", "throw", "exit"))
_WITHIN = frozenset(("next", "break", "redo", "retry"))  # they leave a block or a loop
_MAKERS = frozenset(("new", "instance"))


class Value:
    """A value of a characteristic. `leaves`: its branch leaves the method early. `says`: what the code says it does."""

    def __init__(self, meaning: Meaning) -> None:
        self.value, self.description = meaning
        self.leaves, self.says, self.inner = False, "", False  # inner: another characteristic depends on it


class Characteristic:
    """`when`: the places of the values of `parent` under which it nests. `source`: class and method of a call."""

    def __init__(self, tested: Tested, name: str, parent: Characteristic | None, when: tuple[int, ...]) -> None:
        self.name, self.kind, self.parent, self.when = name, tested.kind, parent, when
        self.values = [Value(one) for one in tested.values]
        self.level: int = 1 if parent is None else parent.level + 1
        self.source: tuple[str, str] | None = None
        self.lines = (0, 0)


class _End(Record):
    """How the code around a conditional ends."""

    leaves: bool = False
    says: str = ""


def characteristics_of(method: Method, own: str, *, alone: bool = False) -> list[Characteristic]:
    """The characteristics of a method of the class `own`, parents first.

    `alone`: nothing nests under several values; it stands beside the characteristic then.
    """
    walk = _Walk(method, own, alone=alone)
    walk.sequence(conditionals(method), [(None, 0)], _End(says=said_at_the_end(method)), None)
    return walk.found


class _Walk:
    def __init__(self, method: Method, own: str, *, alone: bool) -> None:
        self.found: list[Characteristic] = []
        self._own, self._alone = {own, own.rpartition("::")[2]}, alone
        self._assigned = assigned_values(method)
        self._known: dict[tuple[object, ...], Characteristic] = {}

    def sequence(
        self, given: Sequence[Conditional], entry: list[Way], end: _End, scope: tuple[int, int] | None
    ) -> list[Way]:
        """Read conditionals that follow each other. Returns the ways on which the method goes on after them."""
        ways, before, inside = entry, entry, 0
        scopes: list[tuple[tuple[int, int], list[Way]]] = []
        for one in given:
            if one.start < inside:  # in the condition of the one before
                self._conditional(one, before, end)
                continue
            while scopes and scopes[-1][0][1] <= one.start:
                ways = scopes.pop()[1]  # the block may not have run
            if one.scope is not None and one.scope != (scopes[-1][0] if scopes else scope):
                scopes.append((one.scope, ways))
            before, inside = ways or entry, one.end
            ways = self._conditional(one, before, end)
        return scopes[0][1] if scopes else ways

    def _conditional(self, one: Conditional, entry: list[Way], end: _End) -> list[Way]:
        """Add what a conditional tests, and read its branches."""
        early = not (one.last and all(branch.leaves == "return" for branch in one.branches))
        entries = self._decided(one, entry) if _has_two_ways(one) else self._chosen(one, entry)
        goes_on: list[Way] = []
        for branch, ways in zip(one.branches, entries, strict=True):
            says = _said(branch, last=one.last)
            leaves = early and (branch.leaves in _LEAVING or (branch.leaves == "next" and one.scope is None))
            inherits = end.leaves or not branch.statements  # what it does itself may matter more
            inner = _End(leaves or end.leaves, says or (end.says if inherits else ""))
            for characteristic, place in ways:
                if characteristic is not None:
                    value = characteristic.values[place]
                    value.leaves, value.says = value.leaves or inner.leaves, value.says or inner.says
            after = self.sequence(branch.nested, ways, inner, one.scope)
            if branch.leaves not in _LEAVING and branch.leaves not in _WITHIN:
                goes_on += after
        return goes_on

    def _decided(self, one: Conditional, entry: list[Way]) -> list[list[Way]]:
        """The ways into the two branches of an `if`, an `unless` or a ternary."""
        assert one.condition is not None
        holds: list[Way] = entry
        fails: list[Way] = []
        for part in parts_of(one.condition):
            made = self._add(part, holds, one)
            fails.append((made, 0 if part.inverted else 1))
            holds = [(made, 1 if part.inverted else 0)]
        return [fails, holds] if one.form == "unless" else [holds, fails]

    def _chosen(self, one: Conditional, entry: list[Way]) -> list[list[Way]]:
        """The ways into the branches of a `case`, or of `if … elsif …`."""
        *branches, default = one.branches
        # Without an `else` in the code there is a further value only where the method goes on with it alone.
        other = not default.implicit or len(branches) < 2 or all(each.leaves in _LEAVING | _WITHIN for each in branches)
        if one.form in ("case", "case_in") and one.condition is not None:
            tested = choice_of(one.condition, branches, other=other)
        else:
            conditions = [each.condition or _either(each.values) or one.condition for each in branches]
            tested = chain_of([each for each in conditions if each is not None], other=other)
        made = self._add(tested, entry, one)
        ways: list[list[Way]] = [[(made, place)] for place in range(len(branches))]
        return [*ways, [(made, len(branches))] if other else []]

    def _add(self, tested: Tested, ways: list[Way], one: Conditional) -> Characteristic:
        """The characteristic of a condition. The same one in the same place has only one."""
        parent, when = self._place(ways)
        key = (tested.kind, tested.subject.text, tested.values, parent, when)
        if tested.name and key in self._known:
            return self._known[key]
        if len(self.found) >= MOST or (parent is not None and parent.level >= DEEPEST):
            raise Refused(
                "method_too_complex",
                f"The method has more than {MOST} conditions, or {DEEPEST} that depend on each other "
                f"(line {one.first_line}).",
                "Split the method, or leave it out.",
            )
        made = Characteristic(tested, self._free(tested.name), parent, when)
        made.lines = (one.first_line, one.last_line)
        made.source = self._origin(tested.subject) if tested.name else None
        if made.source is not None:
            made.kind = ENUM if len(made.values) > 2 else BOOLEAN
            if made.kind == BOOLEAN:
                _collapse(made, tested)
        for place in when:
            assert parent is not None
            parent.values[place].inner = True
        self.found.append(made)
        self._known[key] = made
        return made

    def _place(self, ways: Sequence[Way]) -> tuple[Characteristic | None, tuple[int, ...]]:
        """The last values that all these ways share."""
        places: dict[Characteristic | None, set[int]] = {}
        for one, place in ways:
            places.setdefault(one, set()).add(place)
        while None not in places:
            deepest = max((one for one in places if one is not None), key=lambda one: one.level)
            there = places[deepest]
            if len(places) == 1 and len(there) < len(deepest.values) and not (self._alone and len(there) > 1):
                return deepest, tuple(sorted(there))
            del places[deepest]
            places.setdefault(deepest.parent, set()).update(deepest.when)
        return None, ()

    def _free(self, name: str) -> str:
        """A name that no other characteristic of the method has."""
        used = {one.name for one in self.found}
        free, number = name or "condition_1", 1
        while free in used:
            number += 1
            free = f"{name or 'condition'}_{number}"
        return free

    def _origin(self, subject: Expression | None) -> tuple[str, str] | None:
        """Class and method of the call on another class whose result this is, directly or through local variables."""
        names: list[str] = []
        seen: set[str] = set()
        while subject is not None and subject.kind != "constant":
            if subject.kind == "call":
                names.append(subject.name)
                subject = subject.receiver
            elif subject.kind == "name" and subject.name not in seen:
                seen.add(subject.name)
                subject = self._assigned.get(subject.name)
            else:
                return None
        called = [name for name in reversed(names) if name not in _MAKERS]
        if subject is None or not called or not is_class(subject.name) or subject.name in self._own:
            return None
        return subject.name.removeprefix("::"), called[0]


def said_at_the_end(method: Method) -> str:
    """What the code says that a method returns, if it is not left before."""
    last = last_of(method)
    return "" if last is None else _returned(last)


def is_class(constant: str) -> bool:
    """Whether a constant is named like a class, and not like `LIMIT`."""
    return not constant.rpartition("::")[2].isupper()


def _has_two_ways(one: Conditional) -> bool:
    return one.form in ("if", "unless", "ternary") and len(one.branches) == 2


def _either(values: Sequence[Expression]) -> Expression | None:
    """`when a, b` without a value in front is `a || b`."""
    return values[0].replace(kind="or", operands=tuple(values)) if len(values) > 1 else next(iter(values), None)


def _collapse(made: Characteristic, tested: Tested) -> None:
    """Make the two flows of an external result true and false."""
    for value, flow in zip(made.values, (True, False), strict=True):
        if tested.kind in (ENUM, RANGE):
            value.description = f"{tested.name.replace('_', ' ')} {value.description}"
        value.value = flow


def _said(branch: Branch, *, last: bool) -> str:
    """What the code says that a branch does at its end."""
    for one in branch.statements:
        given = one.operands[0] if one.operands else None
        if one.kind == "raise":
            if given is not None and given.kind == "call" and given.name == "new":
                given = given.receiver  # `raise Error.new("…")`
            return f"raises {given.name}" if given is not None and given.kind == "constant" else "raises an error"
        if one.kind == "return":
            return "returns nil" if given is None else _returned(given) if len(one.operands) == 1 else ""
        if one.kind in _LEAVING or one.kind in _WITHIN:
            return ""
    return _returned(branch.statements[-1]) if last and branch.statements else ""


def _returned(one: Expression) -> str:
    empty = one.text in ("[]", "{}")
    return f"returns {one.text}" if (one.kind in LITERALS or empty) and len(one.text) <= 60 else ""
