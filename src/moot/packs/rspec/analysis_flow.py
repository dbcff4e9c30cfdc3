"""The characteristics of a method: its conditionals, what they depend on, and what follows from each value.

`moot.packs.ruby.conditionals` reads the code; this module says what its branches mean for tests. It keeps its own
stack, because source from a repository can be nested more deeply than Python's stack.
"""

from __future__ import annotations

from moot.core.record import Record
from moot.packs.rspec.analysis_calls import effect_of
from moot.packs.rspec.analysis_conditions import (
    BOOLEAN,
    ENUM,
    OTHER,
    ConditionTest,
    Tested,
    all_but_last,
    described,
    equality,
    is_literal,
    name_of,
    tests_of,
)
from moot.packs.rspec.analysis_words import GUARD_LAYERS, does, is_terminal_name
from moot.packs.rspec.behaviours import BranchEnding, ending_of
from moot.packs.ruby.method_code import conditionals_of, statements_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from moot.packs.ruby.conditionals import Branch, Conditional
    from moot.packs.ruby.expressions import Expression
    from moot.packs.ruby.methods import Method

    _Parent = tuple["Branching", tuple["ValueOutcome", ...]] | None
    _Step = tuple[Expression, "_Way"]
    _Ways = Sequence[tuple[tuple[Tested, ...], "_Way"]]

MOST = 100  # characteristics of one method
_OPERATIONS = frozenset(("and", "or", "binary"))
_NOTHING = "changes nothing"


class Flow(Record):
    """What follows when a branch says nothing itself: the end of the code around it."""

    terminal: bool
    does: str


class ValueOutcome:
    """A value of a characteristic and what follows from it."""

    def __init__(self, tested: Tested, *, terminal: bool, does: str) -> None:
        self.tested = tested
        self.terminal = terminal
        self.does = does


class Branching:
    """A characteristic while the method is being read."""

    def __init__(self, test: ConditionTest, outcomes: list[ValueOutcome], lines: tuple[int, int], start: int) -> None:
        self.test = test
        self.outcomes = outcomes
        self.lines = lines
        self.start = start
        self.parent: Branching | None = None
        self.when: tuple[ValueOutcome, ...] = ()
        self.guard = False

    @property
    def layer(self) -> int:
        """The place of a guard: authentication, authorization, validation, business."""
        said = set(f"{self.test.name}_{self.test.receiver}".split("_"))
        said |= {word.strip("?!.()@") for word in self.test.subject.text[:200].replace(".", " ").split()}
        said |= {"blank"} if self.test.kind == "presence" else set()
        found = (number for number, (_, words) in enumerate(GUARD_LAYERS) if said & words)
        return next(found, len(GUARD_LAYERS))


class _Way(Record):
    """One way through a conditional. No statements (None): the code has no such branch."""

    statements: tuple[Expression, ...] | None = None
    nested: tuple[Conditional, ...] = ()

    @property
    def leaves(self) -> bool:
        return self.statements is not None and ending_of(self.statements).leaves


_ABSENT, _CONTINUED = _Way(), _Way(statements=())


def _way(branch: Branch) -> _Way:
    if branch.implicit:
        return _ABSENT
    return _Way(statements=branch.statements, nested=branch.nested)


def branchings_of(method: Method) -> list[Branching]:
    """The conditionals of a method, from top to bottom."""
    return sorted(_Walk(method).found, key=lambda one: one.start)


def in_order(conditionals: Sequence[Branching]) -> list[Branching]:
    """Guards first, in the order of their layers; the rest from top to bottom."""
    guards = sorted((one for one in conditionals if one.guard), key=lambda one: one.layer)
    return [*guards, *(one for one in conditionals if not one.guard)]


def main_flow(name: str, statements: Sequence[Expression]) -> str:
    """What a method with this name does when no conditional decides otherwise."""
    last = statements[-1:]
    return ("" if not last or _is_silent(last[0]) else ending_of(last).does) or does(name)


def _is_silent(statement: Expression) -> bool:
    """A side effect or a further conditional at the end of a branch says nothing about its result."""
    return statement.kind == "conditional" or (statement.kind == "call" and effect_of(statement) is not None)


class _Walk:
    def __init__(self, method: Method) -> None:
        self.found: list[Branching] = []
        self._stack: list[tuple[Conditional, _Parent, Flow, bool]] = []
        statements = statements_of(method)
        flow = Flow(terminal=False, does=main_flow(method.name, statements))
        for guard in _guards_by_operator(statements):
            way = _Way(statements=guard.operands[-1:])
            ways = (way, _ABSENT) if guard.kind == "and" else (_ABSENT, way)
            tests = tests_of(all_but_last(guard))
            self._decide(tests, ways, (guard.line, guard.last_line), None, flow, guard=True)
        self._stack += [(one.conditional, None, flow, one.top) for one in reversed(conditionals_of(method))]
        while self._stack and len(self.found) < MOST:
            self._visit(*self._stack.pop())
        del self.found[MOST:]

    def _visit(self, one: Conditional, parent: _Parent, flow: Flow, top: bool) -> None:  # noqa: FBT001
        *given, last = one.branches
        default = _way(last)
        if one.form in {"case", "case_in"} and one.condition is not None:
            self._case(one, given, default, parent, flow)
            return
        steps: list[_Step] = []
        for branch in given:
            tested = branch.values[0] if branch.role == "when" else branch.condition or one.condition
            if tested is not None:
                steps.append((tested, _way(branch)))
        if one.form == "unless":
            steps, default = [(steps[0][0], default)], steps[0][1]
        self._steps(steps, default, one, parent, flow, top=top)

    def _steps(
        self, steps: list[_Step], default: _Way, one: Conditional, parent: _Parent, flow: Flow, *, top: bool
    ) -> None:
        """`if`, `elsif` and `else`: each condition is tested where those before it do not hold."""
        while steps and len(self.found) < MOST:
            chain = _chain(steps)
            count = max(len(chain), 1)
            rest = steps[count:]
            failing = _CONTINUED if rest else default
            start = one.start if parent is None or steps[0][0].start < one.start else steps[0][0].start
            lines = (steps[0][0].line, one.last_line)
            if count > 1:
                ways: list[tuple[tuple[Tested, ...], _Way]] = [
                    ((test.values[0],), way) for test, (_, way) in zip(chain, steps, strict=False)
                ]
                if failing.statements is not None:
                    ways.append(((_other({test.values[0].value for test in chain}),), failing))
                made = self._choose(chain[0], ways, lines, start, parent, flow)
                fails = made.outcomes[-1]
            else:
                pair = (steps[0][1], failing)
                guard = top and parent is None and pair.count(_ABSENT) == 1 and any(way.leaves for way in pair)
                fails = self._decide(tests_of(steps[0][0]), pair, lines, parent, flow, guard=guard, start=start)
                made = self.found[-1]
            parent, steps = (made, (fails,)), rest

    def _decide(
        self,
        tests: list[ConditionTest],
        ways: tuple[_Way, _Way],
        lines: tuple[int, int],
        parent: _Parent,
        flow: Flow,
        *,
        guard: bool,
        start: int = -1,
    ) -> ValueOutcome:
        """Tests with two ways: where they hold, and where they do not. The value for which the last one does not."""
        at = tests[0].subject.start if start < 0 else start
        for test in tests[:-1]:
            self._add(test, _by_value(test, ways), lines, at, parent, flow, guard=guard)
        last = tests[-1]
        made = self._add(last, _by_value(last, ways), lines, at, parent, flow, guard=guard)
        self._push(made, _by_value(last, ways), flow)
        return made.outcomes[0 if last.inverted else 1]

    def _case(self, one: Conditional, given: list[Branch], default: _Way, parent: _Parent, flow: Flow) -> None:
        assert one.condition is not None
        ways: list[tuple[tuple[Tested, ...], _Way]] = []
        seen: set[object] = set()
        for branch in given:
            found = {value.value: value for value in map(_pattern_value, branch.values)}
            values = tuple(value for value in found.values() if value.value not in seen)
            seen.update(found)
            if values:
                ways.append((values, _way(branch)))
        if not ways:
            return
        if default.statements is not None:
            ways.append(((_other(seen),), default))
        elif len(seen) == 1:
            only = ways[0][0][0]
            ways.append(((Tested(f"not_{only.value}", f"NOT {only.description}"),), _ABSENT))
        name, receiver = name_of(one.condition)
        first = ways[0][0][0]
        test = ConditionTest(ENUM, name, receiver, one.condition, (first, first))
        self._choose(test, ways, (one.first_line, one.last_line), one.start, parent, flow)

    def _choose(
        self,
        test: ConditionTest,
        ways: _Ways,
        lines: tuple[int, int],
        start: int,
        parent: _Parent,
        flow: Flow,
    ) -> Branching:
        """One test with a way for each of its values."""
        made = self._add(test, ways, lines, start, parent, flow)
        self._push(made, ways, flow)
        return made

    def _push(self, made: Branching, ways: _Ways, flow: Flow) -> None:
        """What is inside the ways comes next, each with the values that lead there."""
        at = len(made.outcomes)
        for values, way in reversed(ways):
            start = at - len(values)
            ending = _ending(way.statements or ())
            inner = Flow(terminal=ending.leaves or flow.terminal, does=ending.does or flow.does)
            parent = (made, tuple(made.outcomes[start:at]))
            self._stack.extend((one, parent, inner, False) for one in reversed(way.nested))
            at = start

    def _add(
        self,
        test: ConditionTest,
        ways: _Ways,
        lines: tuple[int, int],
        start: int,
        parent: _Parent,
        flow: Flow,
        *,
        guard: bool = False,
    ) -> Branching:
        endings = [None if way.statements is None else _ending(way.statements) for _, way in ways]
        all_return = all(one is not None and one.leaves and not one.raises for one in endings)
        outcomes = [
            _outcome(test, value, ending, flow, guard=guard, early=not all_return)
            for (values, _), ending in zip(ways, endings, strict=True)
            for value in values
        ]
        made = Branching(test, outcomes, lines, start)
        made.guard = guard and parent is None
        if parent is not None:
            made.parent, made.when = parent
            for outcome in made.when:
                outcome.terminal = False  # what follows is decided further down
        self.found.append(made)
        return made


def _by_value(test: ConditionTest, ways: tuple[_Way, _Way]) -> _Ways:
    """The two ways of a test with the values that lead there, the positive value first."""
    first, second = ways[::-1] if test.inverted else ways
    return [((test.values[0],), first), ((test.values[1],), second)]


def _outcome(
    test: ConditionTest, value: Tested, ending: BranchEnding | None, flow: Flow, *, guard: bool, early: bool
) -> ValueOutcome:
    name = value.value if isinstance(value.value, str) else test.name if value.value is True else ""
    if ending is None:
        by_name = not guard and not flow.terminal and bool(name) and is_terminal_name(name)
        return ValueOutcome(value, terminal=flow.terminal or by_name, does=_NOTHING if by_name else flow.does)
    made_up = test.kind in {"range", "presence"} or (value is test.values[1] and value is not test.values[0])
    by_name = bool(name) and not made_up and is_terminal_name(name)
    terminal = flow.terminal or (ending.leaves and early) or by_name
    return ValueOutcome(value, terminal=terminal, does=ending.does or flow.does)


def _ending(statements: Sequence[Expression]) -> BranchEnding:
    found = ending_of(statements)
    silent = not found.leaves and statements and _is_silent(statements[-1])
    return found.replace(does="") if silent else found


def _guards_by_operator(statements: Sequence[Expression]) -> Iterator[Expression]:
    """`x or raise` and `x and return`."""
    for one in statements:
        if one.kind in _OPERATIONS and len(one.operands) > 1 and ending_of(one.operands[-1:]).leaves:
            yield one


def _chain(steps: Sequence[_Step]) -> list[ConditionTest]:
    """`if x == :a … elsif x == :b …`, as far as it tests the same thing."""
    found: list[ConditionTest] = []
    for condition, _ in steps:
        tests = tests_of(condition)
        if len(tests) != 1 or tests[0].kind != ENUM or tests[0].inverted:
            break
        if found and tests[0].subject.text != found[0].subject.text:
            break
        if any(tests[0].values[0].value == one.values[0].value for one in found):
            break
        found.append(tests[0])
    return found


def _other(values: Collection[object]) -> Tested:
    """The value of an `else`. A source may use the word itself."""
    word = OTHER if OTHER not in values else "anything_else"
    return Tested(value=word, description=described(word))


def _pattern_value(pattern: Expression) -> Tested:
    if is_literal(pattern):
        return equality(pattern, pattern).values[0]
    raw = pattern.text[:80]
    return Tested(value=raw, description=described(raw))


def collapsed(conditional: Branching, said: str) -> None:
    """Turn a test of an external result into one of the flows of this code: two are boolean, more are an enum."""
    test = conditional.test
    if len(conditional.outcomes) != 2:
        conditional.test = test.replace(kind=ENUM)
        return
    words = (Tested(True, f"{said} succeeds"), Tested(False, f"{said} fails"))
    for outcome, value in zip(conditional.outcomes, words, strict=True):
        outcome.tested = value
    conditional.test = test.replace(kind=BOOLEAN, values=words, threshold=None)
