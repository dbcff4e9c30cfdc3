"""What a spec file does to the class under test: reopens or changes it, or stubs the very method that a block tests.

An example whose method is replaced tests the replacement. Here only what the source shows; what it hides is seen while
the examples run (`watching.rb`). `certain` is false for what may be harmless, such as `instance_eval` on a class.
"""

from __future__ import annotations

from moot.packs.ruby.spec_nodes import first_argument, method_name, spec_word
from moot.packs.ruby.spec_overrides import Override
from moot.packs.ruby.spec_words import GROUPS
from moot.packs.ruby.syntax import constant_name, first_line, literal_text, parse, text, walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from tree_sitter import Node

_CHANGES = frozenset(
    (
        *("class_eval", "class_exec", "module_eval", "module_exec", "define_method", "define_singleton_method"),
        *("alias_method", "undef_method", "remove_method", "redefine_method", "prepend", "include", "extend"),
        *("attr_reader", "attr_accessor", "attr_writer", "delegate"),
    )
)
_MAY_CHANGE = frozenset(("instance_eval", "instance_exec"))
_SENDS = frozenset(("send", "public_send", "__send__"))
_ANY_INSTANCE = frozenset(("allow_any_instance_of", "expect_any_instance_of"))
_CONSTANTS = frozenset(("stub_const", "remove_const", "const_set", "hide_const"))
_ORIGINAL = ("and_call_original", "and_wrap_original")
_RECEIVES = frozenset(("receive", "receive_messages", "receive_message_chain"))


def replacements(data: bytes, class_name: str, methods: Collection[str]) -> list[Override]:
    """What replaces the class or its methods. `methods`: those under test, as `#pay` or `.pay`."""
    found = []
    spec = _Spec(class_name.removeprefix("::"), methods)
    for node in walk(parse(data).root):
        for reason, certain in spec.found(node):
            found.append(Override(first_line(node), text(node), reason, certain))
    return found


class _Spec:
    """The class under test, and how a spec writes it."""

    def __init__(self, name: str, methods: Collection[str]) -> None:
        self.name, self.methods = name, methods

    def found(self, node: Node) -> Iterator[tuple[str, bool]]:
        if node.type in ("class", "module"):
            if _nested_name(node) == self.name:
                yield f"{self.name}, which is under test, is reopened", True
        elif node.type == "singleton_class":
            if self._is_class(node.child_by_field_name("value")):
                yield f"{self.name}, which is under test, is reopened", True
        elif node.type == "singleton_method":
            if self._is_class(node.child_by_field_name("object")):
                yield f"a method of {self.name}, which is under test, is redefined", True
        elif node.type == "call":
            yield from self._of_call(node)

    def _of_call(self, node: Node) -> Iterator[tuple[str, bool]]:
        name, receiver, given = method_name(node), node.child_by_field_name("receiver"), first_argument(node)
        if name in _SENDS and given is not None:
            name = literal_text(given) or name
        if name in _CHANGES | _MAY_CHANGE and self._is_class(receiver):
            yield f"{self.name}, which is under test, is changed by `{name}`", name in _CHANGES
        elif name in _CONSTANTS and any(self._names_it(one) for one in _arguments(node)):
            yield f"{self.name}, which is under test, is replaced by `{name}`", True
        elif name == "to" and receiver is not None and receiver.type == "call" and given is not None:
            stubbed = self._stubbed(method_name(receiver), first_argument(receiver), _tested(node))
            if (names := stubbed & _received(given)) and not any(one in text(given) for one in _ORIGINAL):
                yield f"`{min(names)[1:]}`, which the block tests, is stubbed", True

    def _stubbed(self, word: str, target: Node | None, block: str) -> set[str]:
        """Which methods under test a stub of this target would replace."""
        tested = {block} if block else set(self.methods)
        if target is None:
            return set()
        if word in _ANY_INSTANCE and self._is_class(target):
            return {one for one in tested if one.startswith("#")}
        if word in ("allow", "expect") and self._is_class(target):
            return {one for one in tested if one.startswith(".")}
        if word in ("allow", "expect") and self._is_object(target):
            return {one for one in tested if one.startswith("#")}
        return set()

    def _is_object(self, node: Node) -> bool:
        """Whether it is certainly the object under test."""
        if node.type == "call" and method_name(node) == "new":
            return self._is_class(node.child_by_field_name("receiver"))
        return node.type == "identifier" and text(node) == "subject"

    def _is_class(self, node: Node | None) -> bool:
        """Whether a node means the class under test, or its singleton class."""
        if node is None:
            return False
        if node.type == "call":
            inner = node.child_by_field_name("receiver")
            if method_name(node) == "const_get":
                return any(self._names_it(one) for one in _arguments(node))
            return method_name(node) in ("singleton_class", "itself") and self._is_class(inner)
        if node.type == "identifier":
            return text(node) == "described_class"
        return (constant_name(node) or "").removeprefix("::") == self.name

    def _names_it(self, node: Node) -> bool:
        return (literal_text(node) or "").removeprefix("::") == self.name


def _nested_name(node: Node) -> str:
    """The full name of a class or module, by those around it."""
    names: list[str] = []
    at: Node | None = node
    while at is not None:
        if at.type in ("class", "module"):
            name = at.child_by_field_name("name")
            names.append("" if name is None else constant_name(name) or "")
            if names[-1].startswith("::"):
                break
        at = at.parent
    return "::".join(reversed(names)).removeprefix("::")


def _tested(node: Node) -> str:
    """The method of the outermost group around a node that names one, as `#pay`; empty if there is none."""
    found = ""
    at = node.parent
    while at is not None:
        named = first_argument(at) if spec_word(at) in GROUPS else None
        name = literal_text(named) or "" if named is not None else ""
        found = name if name[:1] in ("#", ".") and name[1:] else found
        at = at.parent
    return found


def _received(matcher: Node) -> set[str]:
    """The messages of `receive(:pay)` and the like, as `#pay` and `.pay`."""
    names: set[str] = set()
    for node in walk(matcher):
        if node.type == "call" and method_name(node) in _RECEIVES:
            for one in _arguments(node):
                key = one.child_by_field_name("key") if one.type == "pair" else one
                names.add((literal_text(key) or text(key).removesuffix(":")) if key is not None else "")
    return {f"{sign}{name}" for name in names if name for sign in "#."}


def _arguments(call: Node) -> list[Node]:
    arguments = call.child_by_field_name("arguments")
    return list(arguments.named_children) if arguments is not None else []
