"""The skeleton of a method's block in a spec file: contexts from the characteristics, placeholders for the agents.

The words of a context are known from its state, except the first word of a leaf: that is the architect's choice. Setup
placeholders are in comments, and the placeholder of an expectation is the reason of a `skip`. So the file is valid Ruby
from the start, and RSpec reports its examples as pending, never as passed.
"""

from __future__ import annotations

from moot.core.record import Record
from moot.packs.rspec_v1.context_tree import tree_of
from moot.packs.rspec_v1.method_block import header_of
from moot.packs.rspec_v1.shipped import comment
from moot.packs.ruby.literals import quoted, symbol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from moot.packs.rspec_v1.context_tree import StateNode

_DEEP = 4  # levels from which the tree is called complex
_TWO = 2
_RESERVED = frozenset(
    (
        *("alias", "and", "begin", "break", "case", "class", "def", "do", "else", "elsif", "end", "ensure", "false"),
        *("for", "if", "in", "module", "next", "nil", "not", "or", "redo", "rescue", "retry", "return", "self"),
        *("super", "then", "true", "undef", "unless", "until", "when", "while", "yield"),
        *("result", "subject", "described_class", "send", "object_id"),
    )
)


class Skeleton(Record):
    """The block of a method, without indentation, and what to warn of."""

    lines: tuple[str, ...]
    warnings: tuple[str, ...] = ()

    def indented(self, spaces: int) -> str:
        return "".join(f"{' ' * spaces}{line}\n" if line else "\n" for line in self.lines)


def skeleton_of(document: Mapping[str, Any]) -> Skeleton:
    """The skeleton of the document's target. The document is valid."""
    target = document["target"]
    nodes = tree_of(document.get("characteristics") or ())
    lines = [f"describe {string(header_of(target))} do", *_nest(_setup(target)), *_nest(_body(nodes)), "end"]
    warnings = []
    if not nodes:
        warnings.append("no characteristics, so the skeleton has one example only")
    deepest = max((int(one.get("level", 1)) for one in document.get("characteristics") or ()), default=0)
    if deepest >= _DEEP:
        warnings.append(f"the contexts are {deepest} levels deep; consider splitting the method")
    return Skeleton(lines=tuple(lines), warnings=tuple(warnings))


def file_of(document: Mapping[str, Any], block: Skeleton, helper: str | None) -> str:
    """A new spec file with the block."""
    head = ["# frozen_string_literal: true", ""]
    head += [f"require '{helper}'", ""] if helper else []
    return "\n".join(head) + "\n" + class_group(document, block)


def class_group(document: Mapping[str, Any], block: Skeleton) -> str:
    """The group of the class with the block in it."""
    return f"RSpec.describe {document['target']['class']} do\n{block.indented(2)}end\n"


def string(text: str) -> str:
    """The text as a string literal, in single quotes where nothing needs escaping."""
    plain = text.isprintable() and "'" not in text and "\\" not in text
    return f"'{text}'" if plain else quoted(text)


def _setup(target: Mapping[str, Any]) -> Iterator[str]:
    method = str(target["method"])
    called = (
        f".{method}" if method.removesuffix("?").removesuffix("!").isidentifier() else f".public_send({symbol(method)})"
    )
    yield comment("subject")
    if target.get("method_type") == "class":
        yield f"subject(:result) {{ described_class{called} }}"
    else:
        name = _instance(str(target["class"]))
        yield f"subject(:result) {{ {name}{called} }}"
        yield ""
        yield f"let(:{name}) {{ described_class.new }}"
    yield ""
    yield comment("common")
    yield "# {COMMON_SETUP}"
    yield ""


def _instance(name: str) -> str:
    """`Billing::PaymentService` gives `payment_service`."""
    last = name.rpartition("::")[2]
    parts = []
    for number, char in enumerate(last):
        starts = (
            char.isupper() and number > 0 and (last[number - 1].islower() or last[number + 1 : number + 2].islower())
        )
        parts.append(f"_{char.lower()}" if starts else char.lower())
    found = "".join(parts)
    return f"{found}_instance" if found in _RESERVED else found


def _body(nodes: Sequence[StateNode]) -> Iterator[str]:
    if not nodes:
        yield from _example()
    for number, node in enumerate(nodes):
        if number:
            yield ""
        yield from _context(node, level=1)


def _context(node: StateNode, level: int) -> Iterator[str]:
    word = word_of(node, level)
    if not node.children:
        yield comment("word", word=word)
        word = "{CONTEXT_WORD}"
    yield f"context {string(f'{word} {node.words}')} do"
    yield from _nest((comment("setup", state=_comment(f"{node.name} = {node.state}")), "# {SETUP_CODE}", ""))
    for number, child in enumerate(node.children):
        yield from ([""] if number else [])
        yield from _nest(_context(child, level + 1))
    if not node.children:
        yield from _nest(_example())
    yield "end"


def word_of(node: StateNode, level: int) -> str:
    """The word of a context by the table of the protocol; a suggestion for a leaf."""
    if level == 1:
        return "when"
    kind, states = node.characteristic.get("type"), node.characteristic.get("states") or ()
    if kind in ("enum", "sequential") or len(states) != _TWO:
        return "and"
    from moot.packs.rspec_v1.context_tree import states_of

    return "with" if states_of(node.characteristic)[0] == node.state else "but"


def _example() -> Iterator[str]:
    yield comment("behaviour")
    yield "it '{BEHAVIOR_DESCRIPTION}' do"
    yield f"  {comment('expectation')}"
    yield "  skip '{EXPECTATION}'"
    yield "end"


def _nest(lines: Iterator[str] | Sequence[str]) -> Iterator[str]:
    yield from (f"  {line}" if line else "" for line in lines)


def _comment(text: str) -> str:
    """The text on one line: a line break would end the comment."""
    return "".join(char if char.isprintable() else " " for char in text)
