"""The characteristics of a method: its conditionals, what they depend on, and what follows from each value.

The walk follows the code from top to bottom. It has its own stack, because source from a repository can be nested more
deeply than Python's stack.
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
    described,
    equality,
    is_literal,
    name_of,
    tests_of,
)
from moot.packs.rspec.analysis_words import GUARD_LAYERS, does, is_terminal_name
from moot.packs.rspec.behaviours import RAISES, BranchEnding, ending_of
from moot.packs.ruby.syntax import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tree_sitter import Node

    _Parent = tuple["Branching", tuple["ValueOutcome", ...]] | None
    _Pair = tuple[tuple[Node, ...] | None, tuple[Node, ...] | None]

MOST = 100  # characteristics of one method
_INNER = frozenset(("method", "singleton_method", "class", "module", "singleton_class", "rescue", "ensure", "comment"))
_LISTS = frozenset(("then", "else", "body_statement", "block_body", "begin", "parenthesized_statements"))
_IFS = frozenset(("if", "unless", "elsif", "conditional", "if_modifier", "unless_modifier"))
_NEGATED = frozenset(("unless", "unless_modifier"))
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

    def __init__(self, test: ConditionTest, outcomes: list[ValueOutcome], node: Node) -> None:
        self.test = test
        self.outcomes = outcomes
        self.node = node
        self.parent: Branching | None = None
        self.when: tuple[ValueOutcome, ...] = ()
        self.guard = False

    @property
    def layer(self) -> int:
        """The place of a guard: authentication, authorization, validation, business."""
        said = set(f"{self.test.name}_{self.test.receiver}".split("_"))
        said |= {word.strip("?!.()@") for word in text(self.test.subject)[:200].replace(".", " ").split()}
        said |= {"blank"} if self.test.kind == "presence" else set()
        found = (number for number, (_, words) in enumerate(GUARD_LAYERS) if said & words)
        return next(found, len(GUARD_LAYERS))


class _Branch(Record):
    """The values that lead into a branch, and its statements. No statements: the code has no such branch."""

    values: tuple[Tested, ...]
    statements: tuple[Node, ...] | None


def conditionals_of(name: str, body: Node | None) -> list[Branching]:
    """The conditionals of a method with this name and body, from top to bottom."""
    return _Walk(name, statements_of(body)).found


def in_order(conditionals: Sequence[Branching]) -> list[Branching]:
    """Guards first, in the order of their layers; the rest from top to bottom."""
    guards = sorted((one for one in conditionals if one.guard), key=lambda one: one.layer)
    return [*guards, *(one for one in conditionals if not one.guard)]


def statements_of(node: Node | None) -> tuple[Node, ...]:
    if node is None:
        return ()
    if node.type in _LISTS:
        return tuple(child for child in node.named_children if child.type not in _INNER)
    return (node,)


def main_flow(name: str, statements: Sequence[Node]) -> str:
    """What the method does when no conditional decides otherwise."""
    if statements and not _is_conditional(statements[-1]) and effect_of_statement(statements[-1]) is None:
        return ending_of([statements[-1]]).does or does(name)
    return does(name)


def effect_of_statement(node: Node) -> object:
    return effect_of(node) if node.type == "call" else None


def _is_conditional(node: Node) -> bool:
    return node.type in _IFS or node.type in {"case", "case_match"}


class _Walk:
    def __init__(self, name: str, statements: tuple[Node, ...]) -> None:
        self.found: list[Branching] = []
        self._method = name
        flow = Flow(terminal=False, does=main_flow(name, statements))
        self._stack: list[tuple[Node, _Parent, Flow, bool]] = []
        self._push(statements, None, flow, top=True)
        while self._stack and len(self.found) < MOST:
            self._visit(*self._stack.pop())

    def _push(self, nodes: Sequence[Node], parent: _Parent, flow: Flow, *, top: bool = False) -> None:
        self._stack.extend((node, parent, flow, top) for node in reversed(nodes))

    def _visit(self, node: Node, parent: _Parent, flow: Flow, top: bool) -> None:  # noqa: FBT001
        if node.type in _INNER:
            return
        if node.type in _IFS:
            self._if(node, parent, flow, top=top)
        elif node.type in {"case", "case_match"}:
            self._case(node, parent, flow)
        elif node.type == "binary" and (guarded := _guarded(node)) is not None:
            self._decide(tests_of(node.named_children[0]), guarded, node, parent, flow, top=top)
        else:
            self._push([child for child in node.named_children if child.type not in _INNER], parent, flow)

    def _if(self, node: Node, parent: _Parent, flow: Flow, *, top: bool) -> None:
        condition = node.child_by_field_name("condition")
        if condition is None:
            return
        chain = list(_equality_chain(node))
        if len(chain) > 1:
            last = chain[-1][1].child_by_field_name("alternative")
            branches = [_Branch((test.values[0],), statements_of(_then(one))) for test, one in chain]
            branches += [] if last is None else [_other(statements_of(last))]
            self._choose(chain[0][0], branches, node, parent, flow)
            return
        yes, no = _then(node), node.child_by_field_name("alternative")
        holds = statements_of(yes)
        fails = None if no is None else (no,) if no.type == "elsif" else statements_of(no)
        pair = (fails, holds) if node.type in _NEGATED else (holds, fails)
        self._decide(tests_of(condition), pair, node, parent, flow, top=top)

    def _decide(
        self,
        tests: list[ConditionTest],
        pair: _Pair,
        node: Node,
        parent: _Parent,
        flow: Flow,
        *,
        top: bool,
    ) -> None:
        """One or several tests with two branches: where they hold, and where they do not."""
        guard = top and _is_guard(pair)
        for test in tests[:-1]:
            self._two(test, pair, node, parent, flow, guard=guard)
        last = tests[-1]
        made = self._two(last, pair, node, parent, flow, guard=guard)
        sides = made.outcomes[::-1] if last.inverted else made.outcomes
        for statements, outcome in reversed(list(zip(pair, sides, strict=True))):
            if statements is not None:
                self._push_branch(statements, (made, (outcome,)), flow)

    def _two(
        self, test: ConditionTest, pair: _Pair, node: Node, parent: _Parent, flow: Flow, *, guard: bool = False
    ) -> Branching:
        holds, fails = pair[::-1] if test.inverted else pair
        branches = [_Branch((test.values[0],), holds), _Branch((test.values[1],), fails)]
        return self._add(test, branches, node, parent, flow, guard=guard)

    def _case(self, node: Node, parent: _Parent, flow: Flow) -> None:
        subject = node.child_by_field_name("value")
        clauses = [one for one in node.named_children if one.type in {"when", "in_clause"}]
        default = next((one for one in node.named_children if one.type == "else"), None)
        if subject is None:
            self._cases_without_subject(clauses, default, parent, flow)
            return
        branches: list[_Branch] = []
        seen: set[object] = set()
        for clause in clauses:
            values = [value for value in map(_pattern_value, _patterns(clause)) if value.value not in seen]
            seen.update(value.value for value in values)
            if values:
                branches.append(_Branch(tuple(values), statements_of(clause.child_by_field_name("body"))))
        if not branches:
            return
        if default is not None:
            branches.append(_other(statements_of(default)))
        elif len(seen) == 1:
            only = branches[0].values[0]
            branches.append(_Branch((Tested(f"not_{only.value}", f"NOT {only.description}"),), None))
        name, receiver = name_of(subject)
        first = branches[0].values[0]
        self._choose(ConditionTest(ENUM, name, receiver, subject, (first, first)), branches, node, parent, flow)

    def _cases_without_subject(self, clauses: list[Node], default: Node | None, parent: _Parent, flow: Flow) -> None:
        """`case` without a value is a chain of `elsif`."""
        for number, clause in enumerate(clauses):
            last = number == len(clauses) - 1
            holds = statements_of(clause.child_by_field_name("body"))
            fails = statements_of(default) if last and default is not None else None
            patterns = _patterns(clause)
            if not patterns:
                continue
            test = tests_of(patterns[0])[-1]
            made = self._two(test, (holds, fails), clause, parent, flow)
            holding, failing = made.outcomes[::-1] if test.inverted else made.outcomes
            if fails is not None:
                self._push_branch(fails, (made, (failing,)), flow)
            self._push_branch(holds, (made, (holding,)), flow)
            parent = (made, (failing,))

    def _choose(self, test: ConditionTest, branches: list[_Branch], node: Node, parent: _Parent, flow: Flow) -> None:
        """One test with a branch for each of its values."""
        made = self._add(test, branches, node, parent, flow)
        at = len(made.outcomes)
        for branch in reversed(branches):
            start = at - len(branch.values)
            if branch.statements is not None:
                self._push_branch(branch.statements, (made, tuple(made.outcomes[start:at])), flow)
            at = start

    def _push_branch(self, statements: tuple[Node, ...], parent: _Parent, flow: Flow) -> None:
        ending = _ending(statements)
        inner = Flow(terminal=ending.leaves or flow.terminal, does=ending.does or flow.does)
        self._push(statements, parent, inner)

    def _add(
        self,
        test: ConditionTest,
        branches: list[_Branch],
        node: Node,
        parent: _Parent,
        flow: Flow,
        *,
        guard: bool = False,
    ) -> Branching:
        endings = [None if branch.statements is None else _ending(branch.statements) for branch in branches]
        all_return = all(one is not None and one.leaves and not one.raises for one in endings)
        outcomes = [
            _outcome(test, value, ending, flow, guard=guard, early=not all_return)
            for branch, ending in zip(branches, endings, strict=True)
            for value in branch.values
        ]
        made = Branching(test, outcomes, node)
        made.guard = guard and parent is None
        if parent is not None:
            made.parent, made.when = parent
            for outcome in made.when:
                outcome.terminal = False  # what follows is decided further down
        self.found.append(made)
        return made


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


def _ending(statements: tuple[Node, ...]) -> BranchEnding:
    """How a branch ends. A side effect or a further conditional at its end says nothing about its result."""
    found = ending_of(list(statements))
    if not found.leaves and statements and (_is_conditional(statements[-1]) or effect_of_statement(statements[-1])):
        return found.replace(does="")
    return found


def _is_guard(pair: _Pair) -> bool:
    """Whether one branch leaves and the other is not there."""
    there = [one for one in pair if one is not None]
    return len(there) == 1 and ending_of(list(there[0])).leaves


def _then(node: Node) -> Node | None:
    found = node.child_by_field_name("consequence")
    return node.child_by_field_name("body") if found is None else found


def _guarded(node: Node) -> _Pair | None:
    """The branches of `x or raise` and `x and return`; None for other expressions."""
    operator, right = node.child_by_field_name("operator"), node.named_children[-1]
    leaves = right.type in {"return", "next", "break"} or (
        right.type == "call"
        and text(right.named_children[0]) in RAISES
        and right.child_by_field_name("receiver") is None
    )
    if operator is None or not leaves:
        return None
    return ((right,), None) if text(operator) in {"&&", "and"} else (None, (right,))


def _equality_chain(node: Node) -> Iterator[tuple[ConditionTest, Node]]:
    """`if x == :a … elsif x == :b …`, as far as it tests the same thing."""
    subject, seen = None, set[object]()
    current: Node | None = node
    while current is not None and current.type in {"if", "elsif"}:
        condition = current.child_by_field_name("condition")
        tests = [] if condition is None else tests_of(condition)
        if len(tests) != 1 or tests[0].kind != ENUM or tests[0].inverted:
            return
        if (subject is not None and text(tests[0].subject) != subject) or tests[0].values[0].value in seen:
            return
        seen.add(tests[0].values[0].value)
        subject = text(tests[0].subject)
        yield tests[0], current
        current = current.child_by_field_name("alternative")


def _patterns(clause: Node) -> list[Node]:
    found = clause.children_by_field_name("pattern")
    return [one.named_children[0] if one.type == "pattern" and one.named_children else one for one in found]


def _pattern_value(pattern: Node) -> Tested:
    if is_literal(pattern):
        return equality(pattern, pattern).values[0]
    raw = " ".join(text(pattern).split())[:80]
    return Tested(value=raw, description=described(raw))


def _other(statements: tuple[Node, ...]) -> _Branch:
    return _Branch((Tested(value=OTHER, description=OTHER),), statements)


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
