"""The expectations in the body of an example, in order, and whether they are reached when the example runs."""

from __future__ import annotations

from moot.core.record import Record
from moot.packs.ruby.fixed_values import truth
from moot.packs.ruby.spec_nodes import expectation, method_name, spec_word
from moot.packs.ruby.spec_words import LOOPS, PENDING
from moot.packs.ruby.syntax import text, walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

_DEEPEST = 60  # what lies deeper counts as reached
_LEAVES = frozenset(("next", "return", "break"))
_ALL = frozenset(("Exception", "Object", "BasicObject", "Kernel"))
_NOT_MET = "ExpectationNotMetError"
_STORED = frozenset(("proc", "lambda"))


class Reached(Record):
    """An expectation, or a statement that skips the example (`leaves`). `dead`: why it may not be reached."""

    node: Node
    dead: str = ""
    certain: bool = True
    leaves: str = ""


class _Path(Record):
    """How a statement is reached. `dead`: why it is not; `certain`: it never is."""

    dead: str = ""
    certain: bool = False

    def less(self, dead: str, *, certain: bool) -> _Path:
        """The path behind another obstacle."""
        return self if self.certain or (self.dead and not certain) else _Path(dead, certain)


def reached_in(body: Node) -> Iterator[Reached]:
    """The expectations below a body, with the obstacles in front of each."""
    yield from _statements(body, _Path(), 0)


def _statements(body: Node, path: _Path, depth: int) -> Iterator[Reached]:
    """The statements of a body: behind one that leaves it, nothing is reached."""
    clauses = [one for one in body.named_children if one.type in ("rescue", "ensure", "else")]
    path = _rescued(clauses, path)
    for node in body.named_children:
        yield from _node(node, path, depth + 1)
        word, certain = _leaving(node)
        if word and word not in PENDING:
            path = path.less(f"`{word}` comes before the expectation", certain=certain)


def _leaving(node: Node) -> tuple[str, bool]:
    """The word with which a statement leaves the example, and whether it always does."""
    if node.type in _LEAVES:
        return node.type, True
    if node.type in ("if_modifier", "unless_modifier"):
        body, holds = node.child_by_field_name("body"), truth(node.child_by_field_name("condition"))
        word = _leaving(body)[0] if body is not None and body.type in _LEAVES else ""
        if not word or (holds is not None and holds is (node.type == "unless_modifier")):
            return "", False
        return word, holds is not None
    return "", False


def _node(node: Node, path: _Path, depth: int) -> Iterator[Reached]:
    if depth > _DEEPEST:
        yield from (Reached(one) for one in walk(node) if expectation(one) is not None)
        return
    if expectation(node) is not None:
        yield Reached(node, path.dead, path.certain)
        return
    if _is_skip(node):
        yield Reached(node, path.dead, not path.dead, leaves=text(node).split("(")[0].split()[0])
        return
    match node.type:
        case "if_modifier" | "unless_modifier" | "if" | "unless" | "conditional" | "elsif":
            yield from _conditional(node, path, depth)
        case "while" | "until" | "while_modifier" | "until_modifier":
            yield from _loop(node, path, depth)
        case "binary":
            yield from _operator(node, path, depth)
        case "call":
            yield from _call(node, path, depth)
        case "lambda" | "method" | "singleton_method":
            yield from _children(node, path.less("it is in code that may not be called", certain=False), depth)
        case "rescue" | "ensure":
            yield from _statements(node, path, depth)
        case "case" | "case_match":
            yield from _children(node, path.less("it depends on a condition", certain=False), depth)
        case "body_statement" | "block_body" | "begin" | "then" | "else" | "do":
            yield from _statements(node, path, depth)
        case _:
            yield from _children(node, path, depth)


def _children(node: Node, path: _Path, depth: int) -> Iterator[Reached]:
    for one in node.named_children:
        yield from _node(one, path, depth + 1)


def _is_skip(node: Node) -> bool:
    if node.type == "identifier":
        parent = node.parent
        if parent is not None and parent.type == "call":
            return False
        return text(node) in PENDING
    return node.type == "call" and spec_word(node) in PENDING and node.child_by_field_name("receiver") is None


def _conditional(node: Node, path: _Path, depth: int) -> Iterator[Reached]:
    """Both ways of a condition. If both have expectations, one of them is reached."""
    condition = node.child_by_field_name("condition")
    holds = truth(condition)
    if holds is not None and node.type.startswith("unless"):
        holds = not holds
    first = node.child_by_field_name("consequence") or node.child_by_field_name("body")
    second = node.child_by_field_name("alternative")
    both = second is not None and first is not None and _expects(first) and _expects(second)
    for way, taken in ((first, True), (second, False)):
        if way is None:
            continue
        if holds is None:
            behind = path if both else path.less("it depends on a condition", certain=False)
        else:
            behind = path if holds is taken else path.less("it is behind a condition that never holds", certain=True)
        yield from _node(way, behind, depth + 1)


def _expects(node: Node) -> bool:
    return any(expectation(one) is not None for one in walk(node))


def _loop(node: Node, path: _Path, depth: int) -> Iterator[Reached]:
    holds = truth(node.child_by_field_name("condition"))
    never = holds is not None and holds is node.type.startswith("until")
    said = "it is in a loop that never runs" if never else "it depends on a condition"
    body = node.child_by_field_name("body")
    if body is not None:
        yield from _node(body, path.less(said, certain=never), depth + 1)


def _operator(node: Node, path: _Path, depth: int) -> Iterator[Reached]:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    operator = node.child_by_field_name("operator")
    word = "" if operator is None else text(operator)
    if left is None or right is None or word not in ("&&", "||", "and", "or"):
        yield from _children(node, path, depth)
        return
    yield from _node(left, path, depth + 1)
    holds = truth(left)
    if expectation(left) is not None or (holds is not None and holds is (word in ("&&", "and"))):
        yield from _node(right, path, depth + 1)
    else:
        never = holds is not None
        said = "it is behind a condition that never holds" if never else "it depends on a condition"
        yield from _node(right, path.less(said, certain=never), depth + 1)


def _call(node: Node, path: _Path, depth: int) -> Iterator[Reached]:
    """A call: its block may never run, or later."""
    block, name, receiver = node.child_by_field_name("block"), method_name(node), node.child_by_field_name("receiver")
    for one in node.named_children:
        behind = path
        if one == block:
            if name in LOOPS and _is_empty(receiver):
                behind = path.less("it is in a loop that never runs", certain=True)
            elif (receiver is None and name in _STORED) or (name == "new" and receiver is not None):
                behind = path.less("it is in code that may not be called", certain=False)
            body = one.child_by_field_name("body")
            if body is not None:
                yield from _statements(body, behind, depth + 1)
        else:
            yield from _node(one, path, depth + 1)


def _is_empty(receiver: Node | None) -> bool:
    return receiver is not None and "".join(text(receiver).split()) in ("[]", "{}", "0", "({})", "([])")


def _rescued(clauses: list[Node], path: _Path) -> _Path:
    """The path into a body whose failures are rescued."""
    for one in clauses:
        if one.type == "ensure" and any(inner.type in _LEAVES for inner in one.named_children):
            path = path.less("a failure is dropped by `ensure`", certain=True)
        elif one.type == "rescue":
            caught = one.child_by_field_name("exceptions")
            names = {text(inner).removeprefix("::") for inner in walk(caught)} if caught is not None else set()
            if names & _ALL or any(name.endswith(_NOT_MET) for name in names):
                body = one.child_by_field_name("body")
                silent = body is None or all(inner.type not in ("call", "identifier") for inner in walk(body))
                path = path.less("its failure is rescued", certain=silent)
    return path
