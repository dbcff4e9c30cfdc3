"""How a test brings about the values of a characteristic: `setup`, decided by the first rule that fits."""

from __future__ import annotations

from moot.packs.rspec.analysis_conditions import RANGE
from moot.packs.rspec.analysis_words import TIME_WORDS, class_of
from moot.packs.ruby.method_code import names_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from moot.packs.rspec.analysis_conditions import ConditionTest
    from moot.packs.ruby.expressions import Expression

MODEL, DATA, ACTION = "model", "data", "action"
_SESSIONS = frozenset(("session", "cookies"))
_TRANSITIONS = ("may_", "can_")


def setup_of(
    test: ConditionTest, own: str, known_names: frozenset[str], class_kind: Callable[[str], str], *, external: bool
) -> dict[str, Any]:
    """`known_names`: parameters and local variables. `class_kind`: model, object or an empty text for a class name."""
    subject = test.subject
    words = names_in(subject)
    if external or words & _SESSIONS:
        return {"type": ACTION, "class": None}
    name = object_class(subject, own, known_names)
    kind = class_kind(name) if name else ""
    method = subject.name if subject.kind == "call" else ""
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


def object_class(subject: Expression, own: str, known_names: frozenset[str]) -> str:
    """The class of the object whose attribute is tested, by name; empty for a computed one."""
    one = subject
    if one.kind == "call":
        if one.receiver is None or one.receiver.kind == "self":
            return own
        one = one.receiver
    elif one.kind == "name" and one.name not in known_names:
        return own  # an attribute of the object itself
    if one.kind == "call":
        if one.receiver is None or one.receiver.kind != "constant":
            return class_of(one.name)
        one = one.receiver
    if one.kind == "constant":
        return one.name
    return class_of(one.name) if one.kind in {"name", "variable"} else ""
