"""`structure` of a document: the tree of contexts and examples that test-architect plans for each method.

describe: Class
methods:
  - name: "#method" or ".method"
    contexts: [{name, and children, or leaf: true with examples, or terminal: true with examples}]
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    Place = tuple[Any, ...]

DEEPEST = 50


def structure_problems(structure: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
    """What is wrong with the contexts: each with its place below `structure`. The JSON Schema has checked the rest."""
    for index, method in enumerate(structure["methods"]):
        for number, context in enumerate(method["contexts"]):
            yield from _context_problems(context, ("methods", index, "contexts", number), 1)


def _context_problems(context: object, place: Place, depth: int) -> Iterator[tuple[Place, str]]:
    if not isinstance(context, dict):
        yield place, "expected a map with `name`"
        return
    if depth > DEEPEST:
        yield place, f"is nested more than {DEEPEST} levels deep"
        return
    if not isinstance(context.get("name"), str) or not context["name"].strip():
        yield (*place, "name"), "expected a text"
    for key in context:
        if key not in ("name", "children", "leaf", "terminal", "examples"):
            yield (*place, key), "a context has only name, children, leaf, terminal and examples"
    kinds = [key for key in ("children", "leaf", "terminal") if key in context]
    if len(kinds) != 1:
        yield place, "expected either children, or leaf: true with examples, or terminal: true with examples"
        return
    if kinds == ["children"]:
        yield from _children_problems(context, place, depth)
        return
    if context[kinds[0]] is not True:
        yield (*place, kinds[0]), "expected true"
    examples = context.get("examples")
    if not isinstance(examples, list) or not examples:
        yield (*place, "examples"), "expected a list of texts with at least one"
    elif not all(isinstance(text, str) and text.strip() for text in examples):
        yield (*place, "examples"), "expected a list of texts"


def _children_problems(context: Mapping[str, Any], place: Place, depth: int) -> Iterator[tuple[Place, str]]:
    children = context["children"]
    if "examples" in context:
        yield (*place, "examples"), "a context with children has no examples of its own"
    if not isinstance(children, list) or not children:
        yield (*place, "children"), "expected a list of contexts with at least one"
        return
    for number, child in enumerate(children):
        yield from _context_problems(child, (*place, "children", number), depth + 1)


def examples_of(contexts: Sequence[Mapping[str, Any]]) -> list[str]:
    """The texts of all examples below these contexts, in order."""
    found: list[str] = []
    for context in contexts:
        found += context.get("examples", ())
        found += examples_of(context.get("children", ()))
    return found
