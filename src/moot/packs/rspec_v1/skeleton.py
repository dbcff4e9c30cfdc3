"""The skeleton of a method's block: the contexts of the pack `rspec` in the words of this document, with its comments.

The first word of a leaf is the architect's choice; the comment suggests one. Setup placeholders are in comments, and
the placeholder of an expectation is the reason of a `skip`.
"""

from __future__ import annotations

from moot.packs.rspec.architect import placed
from moot.packs.rspec.conditions import CONDITION, snake
from moot.packs.rspec.contexts import contexts_of
from moot.packs.rspec.spec_text import BEHAVIOUR, describe_block, example_lines
from moot.packs.rspec_v1.method_block import header_of
from moot.packs.rspec_v1.shipped import comments
from moot.packs.ruby.literals import symbol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence
    from typing import Any

    from moot.packs.rspec.architect import Placed
    from moot.packs.rspec.contexts import Context

_BANK = {"any": {"description": BEHAVIOUR}}


def spec_with_skeleton(
    document: Mapping[str, Any],
    existing: bytes | None,
    own: Container[bytes] | None = (),
    helper: str = "",
) -> Placed:
    """The spec file with the skeleton of the document's target. The document is valid; for the rest see `placed`."""
    target = document["target"]
    contexts, title = contexts_for(document.get("characteristics") or ()), header_of(target)

    def block(indent: str) -> str:
        head = [*_head(target, comments()), *([] if contexts else example_lines(BEHAVIOUR, comments()))]
        return describe_block(title, contexts, indent, head, comments())

    return placed(existing, str(target["class"]), {title: block}, own, helper)


def contexts_for(entries: Sequence[Mapping[str, Any]]) -> list[Context]:
    """The contexts of the characteristics, one for each state."""
    characteristics = [
        {
            **entry,
            "description": entry["name"],
            "when_parent": [entry.get("when_parent")],
            "values": [
                {"value": state, "description": _words(entry, state), "terminal": False, "behavior_id": "any"}
                for state in entry["states"]
            ],
        }
        for entry in entries
    ]
    return contexts_of({"characteristics": characteristics}, _BANK) if characteristics else []


def _words(entry: Mapping[str, Any], state: str) -> str:
    """What a state means: the analysis names an entry `condition_1` if the code has no words for it."""
    nameless = entry["name"].rpartition("_")[0] == "condition" and entry["name"].rpartition("_")[2].isdigit()
    return CONDITION if nameless else state.replace("_", " ")


def _head(target: Mapping[str, Any], todo: Mapping[str, str]) -> Iterator[str]:
    """The subject."""
    method = str(target["method"])
    plain = method.removesuffix("?").removesuffix("!").isidentifier()
    called = f".{method}" if plain else f".public_send({symbol(method)})"
    yield todo["subject"]
    if target.get("method_type") == "class":
        yield f"subject(:result) {{ described_class{called} }}"
    else:
        name = f"{snake(str(target['class']).rpartition('::')[2])}_instance"
        yield f"subject(:result) {{ {name}{called} }}"
        yield ""
        yield f"let(:{name}) {{ described_class.new }}"
    yield ""
