"""Behaviours: what a branch of code does, in the active present, and the bank that holds each of them once."""

from __future__ import annotations

from moot.core.record import Record
from moot.packs.rspec.analysis_words import does, is_participle, snake_of, third_person, words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from moot.packs.ruby.expressions import Expression

TERMINAL, SUCCESS, SIDE_EFFECT = "terminal", "success", "side_effect"
RAISES = frozenset(("raise", "fail", "throw", "abort", "exit"))
_LEAVES, _RAISING = frozenset(("return", "next", "break")), frozenset(("raise", "throw", "exit"))
_RECORD_VERBS = {
    **dict.fromkeys(
        ("create", "create!", "find_or_create_by", "find_or_create_by!", "insert", "insert_all"), "creates"
    ),
    **dict.fromkeys(("update", "update!", "update_all", "update_column", "update_columns", "toggle!"), "updates"),
    **dict.fromkeys(("destroy", "destroy!", "destroy_all", "delete", "delete_all"), "deletes"),
    **dict.fromkeys(("save", "save!"), "saves"),
    **dict.fromkeys(("new", "build"), "builds"),
}
_LITERALS = frozenset(("symbol", "string", "number", "true", "false", "nil"))
_OPERATIONS = frozenset(("and", "or", "comparison", "equality", "match", "binary"))
_COMPUTED = _OPERATIONS | {"not", "assignment", "conditional", "range"}
_LONGEST = 120


class BranchEnding(Record):
    """How a branch ends: whether the method is left there, and what the branch does. An empty text says nothing."""

    leaves: bool
    does: str
    raises: bool = False


def ending_of(statements: Sequence[Expression]) -> BranchEnding:
    """The ending of a branch. A statement that always leaves ends it, whatever follows."""
    for statement in statements:
        if statement.kind in _LEAVES:
            return BranchEnding(leaves=True, does=_left_with(statement))
        if statement.kind in _RAISING and statement.name in RAISES:
            return BranchEnding(leaves=True, does=_raised(statement), raises=True)
    return (
        BranchEnding(leaves=False, does=done_by(statements[-1])) if statements else BranchEnding(leaves=False, does="")
    )


def done_by(statement: Expression) -> str:
    """What a statement does; empty if the statement itself decides between branches or is only a value to compute."""
    kind, name = statement.kind, statement.name
    if kind in _LITERALS:
        return f"returns {_value(statement)}"
    if kind == "assignment":
        if len(name) > 60 or statement.target is None or statement.target.kind == "index":
            return ""
        return f"sets {words_of(name.removeprefix('self.').replace('.', '_'))}"
    if kind == "call":
        return _done_by_call(statement)
    if kind in {"name", "variable", "constant"}:
        return f"returns {words_of(name)}"
    if kind in {"hash", "array"}:
        return f"returns {_collection(statement)}"
    return "returns the result" if kind in _OPERATIONS else ""


def _done_by_call(call: Expression) -> str:
    name, receiver = call.name, call.receiver
    if receiver is None or receiver.kind == "self":
        return does(name)
    thing = _thing(receiver)
    if name in _RECORD_VERBS:
        return f"{_RECORD_VERBS[name]} the {thing}".strip()
    if name.endswith("?"):
        return f"returns whether {thing} is {words_of(name)}"
    verb, _, rest = words_of(name).partition(" ")
    if is_participle(verb):
        return f"returns {words_of(name)} {thing}"
    if receiver.kind == "constant" and name in {"call", "perform", "run", "execute", "perform_later", "perform_async"}:
        return f"{third_person(verb)} {thing}"
    return f"{third_person(verb)} the {thing} {rest}".strip() if verb else ""


def _thing(receiver: Expression) -> str:
    """What a call is made on, in words."""
    if receiver.kind == "constant":
        return words_of(receiver.name.rpartition("::")[2])
    if receiver.kind == "call":
        inner, method = receiver.receiver, receiver.name
        return _thing(inner) if inner is not None and method in {"new", "find"} else words_of(method)
    short = len(receiver.text) < 60 and receiver.line == receiver.last_line
    return words_of(receiver.text) if short and receiver.kind not in _COMPUTED else "result"


def _raised(statement: Expression) -> str:
    first = statement.operands[0] if statement.operands else None
    if first is not None and first.kind == "call" and first.receiver is not None:
        first = first.receiver  # `raise Error.new("…")`
    if first is None or first.kind != "constant":
        return "raises an error"
    return f"raises {words_of(first.name.rpartition('::')[2])}"


def _left_with(statement: Expression) -> str:
    if statement.kind != "return":
        return "skips the rest"
    given = statement.operands
    if len(given) > 1:
        return "returns several values"
    if not given:
        return "returns nil"
    value = given[0]
    if value.kind in _LITERALS:
        return f"returns {_value(value)}"
    if value.kind in {"hash", "array"}:
        return f"returns {_collection(value)}"
    if value.kind == "call":
        plain = value.receiver is None or value.receiver.kind == "constant"
        return f"returns {words_of(value.name)}" if plain else f"returns {_thing(value)}"
    return f"returns {words_of(value.text)}" if len(value.text) < 60 else "returns early"


def _value(literal: Expression) -> str:
    raw = literal.value if literal.value is not None else literal.text
    shown = words_of(raw) if literal.kind == "symbol" else " ".join(raw.split())
    return shown[:60] or "an empty text"


def _collection(one: Expression) -> str:
    """A hash by its first pair, such as `error not found` for `{ error: :not_found }`."""
    if one.kind == "array":
        return "a list" if one.operands else "an empty list"
    if not one.pairs:
        return "an empty hash"
    key, value = one.pairs[0]
    shown = _value(value) if value.kind in _LITERALS else ""
    return f"{words_of(key)} {shown}".strip() or "a hash"


class Bank:
    """The behaviours of one document. Equal texts of one type share one entry."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, str, str], dict[str, Any]] = {}
        self._ids: set[str] = set()

    def refer(self, description: str, kind: str, subtype: str = "") -> str:
        """The id of a behaviour, which is added if it is new. Counts the reference."""
        shown = " ".join(description.split())[:_LONGEST] or "returns nil"
        key = (kind, subtype, shown)
        if key not in self._entries:
            more = {"subtype": subtype} if subtype else {}
            entry = {"id": self._free(shown, kind), "description": shown, "type": kind, **more}
            self._entries[key] = {**entry, "enabled": True, "used_by": 0}
        self._entries[key]["used_by"] += 1
        found: str = self._entries[key]["id"]
        return found

    def _free(self, description: str, kind: str) -> str:
        wanted = snake_of(description)
        name, number = wanted, 1
        while name in self._ids:
            number += 1
            name = f"{wanted}_{kind}" if number == 2 else f"{wanted}_{kind}_{number}"
        self._ids.add(name)
        return name

    def plain(self) -> list[dict[str, Any]]:
        """The bank as the document has it: terminal ones, successes, side effects."""
        order = (TERMINAL, SUCCESS, SIDE_EFFECT)
        return sorted(self._entries.values(), key=lambda entry: order.index(entry["type"]))
