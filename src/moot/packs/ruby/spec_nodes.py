"""The nodes of a spec file that RSpec gives a meaning: groups, examples, definitions, hooks and expectations.

For the modules of this package that make records of them.
"""

from __future__ import annotations

from moot.core.record import Record
from moot.packs.ruby.spec_words import DEFINITIONS, EXAMPLES, GROUPS, HOOKS, PENDING, SHARED_GROUPS, VERDICTS
from moot.packs.ruby.syntax import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

_IMPLICIT = ("is_expected", "are_expected")


class ExpectationNode(Record):
    """`expect(TARGET).to MATCHER`. Without a target it is about the subject; `block`: `expect { TARGET }`."""

    node: Node
    word: str  # to, not_to, should, …
    target: Node | None
    matcher: Node | None
    block: bool

    @property
    def negated(self) -> bool:
        return self.word in ("not_to", "to_not", "should_not")


def own_nodes(body: Node) -> Iterator[Node]:
    """The nodes below a body, but nothing below a part of the spec."""
    stack = list(reversed(body.named_children))
    while stack:
        node = stack.pop()
        yield node
        if not is_part(node) and node.type not in ("method", "singleton_method"):
            stack.extend(reversed(node.named_children))


def is_part(node: Node) -> bool:
    word = spec_word(node)
    return bool(word) and (
        word in GROUPS or word in SHARED_GROUPS or word in DEFINITIONS or word in HOOKS or is_example(node, word)
    )


def spec_word(node: Node) -> str:
    """The method of a call that can be a part of a spec: without a receiver, or with `RSpec`."""
    if node.type != "call":
        return ""
    receiver, method = node.child_by_field_name("receiver"), node.child_by_field_name("method")
    if method is None or (receiver is not None and text(receiver) not in ("RSpec", "::RSpec")):
        return ""
    return text(method)


def is_example(node: Node, word: str) -> bool:
    if word not in EXAMPLES:
        return False
    # `skip "why"` and `pending "why"` without a block are statements of an example or a hook.
    return word not in PENDING or node.child_by_field_name("block") is not None


def body_of(node: Node) -> Node | None:
    """The body of a call's block."""
    block = node.child_by_field_name("block")
    return None if block is None else block.child_by_field_name("body")


def first_argument(node: Node) -> Node | None:
    arguments = node.child_by_field_name("arguments")
    given = () if arguments is None else [one for one in arguments.named_children if one.type != "comment"]
    return given[0] if given else None


def method_name(node: Node) -> str:
    """The method of a `call` node."""
    method = node.child_by_field_name("method")
    return "call" if method is None else text(method)


def expectation(node: Node) -> ExpectationNode | None:
    """What a node expects; None if it is not an expectation."""
    if node.type != "call" or method_name(node) not in VERDICTS:
        return None
    word, receiver, matcher = method_name(node), node.child_by_field_name("receiver"), first_argument(node)
    if word.startswith("should"):
        return ExpectationNode(node, word, receiver, matcher, block=False)
    if receiver is None:
        return None
    if receiver.type == "identifier":
        return ExpectationNode(node, word, None, matcher, block=False) if text(receiver) in _IMPLICIT else None
    if receiver.type != "call" or receiver.child_by_field_name("receiver") is not None:
        return None
    opening = method_name(receiver)
    if opening in _IMPLICIT:
        return ExpectationNode(node, word, None, matcher, block=False)
    if not opening.startswith("expect"):
        return None
    given = first_argument(receiver)
    if given is not None:
        return ExpectationNode(node, word, given, matcher, block=False)
    return ExpectationNode(node, word, body_of(receiver), matcher, block=True)
