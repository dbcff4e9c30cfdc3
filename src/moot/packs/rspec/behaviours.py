"""Behaviours: what a branch of code does, in the active present, and the bank that holds each of them once."""

from __future__ import annotations

from moot.core.record import Record
from moot.packs.rspec.analysis_words import does, is_participle, snake_of, third_person, words_of
from moot.packs.ruby.syntax import constant_name, literal_text, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tree_sitter import Node

TERMINAL, SUCCESS, SIDE_EFFECT = "terminal", "success", "side_effect"
RAISES = frozenset(("raise", "fail", "throw", "abort", "exit"))
_LEAVES = frozenset(("return", "next", "break"))
_RECORD_VERBS = {
    **dict.fromkeys(
        ("create", "create!", "find_or_create_by", "find_or_create_by!", "insert", "insert_all"), "creates"
    ),
    **dict.fromkeys(("update", "update!", "update_all", "update_column", "update_columns", "toggle!"), "updates"),
    **dict.fromkeys(("destroy", "destroy!", "destroy_all", "delete", "delete_all"), "deletes"),
    **dict.fromkeys(("save", "save!"), "saves"),
    **dict.fromkeys(("new", "build"), "builds"),
}
_LITERALS = frozenset(("simple_symbol", "string", "integer", "float", "true", "false", "nil", "delimited_symbol"))
_LONGEST = 120


class BranchEnding(Record):
    """How a branch ends: whether the method is left there, and what the branch does. An empty text says nothing."""

    leaves: bool
    does: str
    raises: bool = False


def ending_of(statements: list[Node]) -> BranchEnding:
    """The ending of a branch. A statement that always leaves ends it, whatever follows."""
    for statement in statements:
        if statement.type in _LEAVES:
            return BranchEnding(leaves=True, does=_left_with(statement))
        if _called(statement) in RAISES and statement.child_by_field_name("receiver") is None:
            return BranchEnding(leaves=True, does=_raised(statement), raises=True)
    return (
        BranchEnding(leaves=False, does=done_by(statements[-1])) if statements else BranchEnding(leaves=False, does="")
    )


def done_by(statement: Node) -> str:
    """What a statement does; empty if the statement itself decides between branches or is only a value to compute."""
    kind = statement.type
    if kind in _LITERALS:
        return f"returns {_value(statement)}"
    if kind in {"assignment", "operator_assignment"}:
        left = statement.child_by_field_name("left")
        if left is None or len(text(left)) > 60 or left.type == "element_reference":
            return ""
        return f"sets {words_of(text(left).removeprefix('self.').replace('.', '_'))}"
    if kind in {"identifier", "call"}:
        return _done_by_call(statement)
    if kind in {"instance_variable", "constant"}:
        return f"returns {words_of(text(statement))}"
    if kind in {"hash", "array"}:
        return f"returns {_collection(statement)}"
    if kind == "binary":
        return "returns the result"
    return ""


def _done_by_call(node: Node) -> str:
    name = _called(node) or text(node)
    receiver = node.child_by_field_name("receiver") if node.type == "call" else None
    if receiver is None or receiver.type == "self":
        arguments = node.child_by_field_name("arguments") if node.type == "call" else None
        return does(name) if node.type == "call" or arguments is not None else f"returns {words_of(name)}"
    thing = _thing(receiver)
    if name in _RECORD_VERBS:
        return f"{_RECORD_VERBS[name]} the {thing}".strip()
    if name.endswith("?"):
        return f"returns whether {thing} is {words_of(name)}"
    constant = constant_name(receiver)
    verb, _, rest = words_of(name).partition(" ")
    if is_participle(verb):
        return f"returns {words_of(name)} {thing}"
    if constant is not None and name in {"call", "perform", "run", "execute", "perform_later", "perform_async"}:
        return f"{third_person(verb)} {thing}"
    return f"{third_person(verb)} the {thing} {rest}".strip() if verb else ""


def _thing(receiver: Node) -> str:
    """What a call is made on, in words."""
    name = constant_name(receiver)
    if name is not None:
        return words_of(name.rpartition("::")[2])
    if receiver.type == "call":
        inner, method = receiver.child_by_field_name("receiver"), _called(receiver)
        return _thing(inner) if inner is not None and method in {"new", "find"} else words_of(method)
    return words_of(text(receiver)) if len(text(receiver)) < 60 and "\n" not in text(receiver) else "result"


def _called(node: Node) -> str:
    if node.type == "identifier":
        return text(node)
    method = node.child_by_field_name("method") if node.type == "call" else None
    return "" if method is None else text(method)


def _raised(statement: Node) -> str:
    arguments = statement.child_by_field_name("arguments") if statement.type == "call" else None
    given = [] if arguments is None else arguments.named_children
    if not given:
        return "raises an error"
    first = given[0]
    if first.type == "call" and (receiver := first.child_by_field_name("receiver")) is not None:
        first = receiver  # `raise Error.new("…")`
    name = constant_name(first)
    return f"raises {words_of(name.rpartition('::')[2])}" if name is not None else "raises an error"


def _left_with(statement: Node) -> str:
    if statement.type != "return":
        return "skips the rest"
    given = statement.named_children[0].named_children if statement.named_children else []
    if len(given) > 1:
        return "returns several values"
    if not given:
        return "returns nil"
    value = given[0]
    if value.type in _LITERALS:
        return f"returns {_value(value)}"
    if value.type in {"hash", "array"}:
        return f"returns {_collection(value)}"
    if value.type == "call":
        method, receiver = _called(value), value.child_by_field_name("receiver")
        return (
            f"returns {words_of(method)}" if receiver is None or constant_name(receiver) else f"returns {_thing(value)}"
        )
    return f"returns {words_of(text(value))}" if len(text(value)) < 60 else "returns early"


def _value(node: Node) -> str:
    found = literal_text(node)
    raw = found if found is not None else text(node)
    shown = words_of(raw) if node.type.endswith("symbol") else " ".join(raw.split())
    return shown[:60] or "an empty text"


def _collection(node: Node) -> str:
    """A hash by its first pair, such as `error not found` for `{ error: :not_found }`."""
    if node.type == "array":
        return "a list" if node.named_children else "an empty list"
    pairs = [one for one in node.named_children if one.type == "pair"]
    if not pairs:
        return "an empty hash"
    key, value = pairs[0].child_by_field_name("key"), pairs[0].child_by_field_name("value")
    shown = _value(value) if value is not None and value.type in _LITERALS else ""
    return f"{words_of(literal_text(key) or '') if key is not None else ''} {shown}".strip() or "a hash"


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
