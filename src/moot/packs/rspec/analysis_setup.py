"""How a test brings about the values of a characteristic: `setup`, decided by the first rule that fits."""

from __future__ import annotations

from moot.packs.rspec.analysis_calls import method_name
from moot.packs.rspec.analysis_conditions import RANGE
from moot.packs.rspec.analysis_words import TIME_WORDS, class_of
from moot.packs.ruby.syntax import constant_name, text, walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from tree_sitter import Node

    from moot.packs.rspec.analysis_conditions import ConditionTest

MODEL, DATA, ACTION = "model", "data", "action"
_SESSIONS = frozenset(("session", "cookies"))
_TRANSITIONS = ("may_", "can_")


def setup_of(
    test: ConditionTest, own: str, known_names: frozenset[str], class_kind: Callable[[str], str], *, external: bool
) -> dict[str, Any]:
    """`known_names`: parameters and local variables. `class_kind`: model, object or an empty text for a class name."""
    subject = test.subject
    words = {text(one) for one in walk(subject) if one.type in {"identifier", "constant", "instance_variable"}}
    if external or words & _SESSIONS:
        return {"type": ACTION, "class": None}
    name = object_class(subject, own, known_names)
    kind = class_kind(name) if name else ""
    method = method_name(subject) if subject.type == "call" else ""
    if method.endswith("!") or (method.startswith(_TRANSITIONS) and method.endswith("?") and kind == MODEL):
        return {"type": ACTION, "class": name or None}
    if test.kind == RANGE and (words & TIME_WORDS or _is_time(test)):
        return {"type": ACTION, "class": None}
    if kind:
        return {"type": MODEL if kind == MODEL else DATA, "class": name}
    return {"type": DATA, "class": None}


def _is_time(test: ConditionTest) -> bool:
    limit = test.threshold[1] if test.threshold is not None else ""
    words = set(str(limit).replace(".", " ").replace(":", " ").split())
    return bool(words & TIME_WORDS) or test.name.endswith(("_at", "_on", "_until"))


def object_class(subject: Node, own: str, known_names: frozenset[str]) -> str:
    """The class of the object whose attribute is tested, by name; empty for a computed one."""
    node = subject
    if node.type == "call":
        receiver = node.child_by_field_name("receiver")
        if receiver is None or receiver.type == "self":
            return own
        node = receiver
    elif node.type == "identifier" and text(node) not in known_names:
        return own  # an attribute of the object itself
    while node.type == "call":
        receiver, method = node.child_by_field_name("receiver"), method_name(node)
        if receiver is None:
            return class_of(method)
        if constant_name(receiver) is None:
            return class_of(method)
        node = receiver
    if node.type == "element_reference":
        return ""
    return constant_name(node) or class_of(text(node)[:80])
