"""The classes, methods and attributes of a file, with visibility as Ruby would have it after loading the file.

One walk in the order of the file, with a `Scope` for every class body: a `private` in it changes the scope, so it holds
for what follows. The walk has its own stack, and enters only nodes that contain a word which can declare something.

Not known here: what Ruby decides only at run time. `private(*names)` with computed names, and `define_method` with a
computed name, are listed in `Declarations.unclear`.
"""

from __future__ import annotations

from bisect import bisect_left

from moot.core.record import Record
from moot.packs.ruby.argument_names import ATTRIBUTES, arguments, attribute_names, method_names
from moot.packs.ruby.methods import Class, Declarations, Method, Unclear
from moot.packs.ruby.parameters import parameters
from moot.packs.ruby.syntax import RubySource, constant_name, first_line, last_line, literal_text, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tree_sitter import Node

_WORDS = (
    rb"\b(?:def|class|module|Class|Module|Struct|Data|private|protected|public|module_function"
    rb"|attr|attr_reader|attr_writer|attr_accessor|define_method|alias|alias_method"
    rb"|private_class_method|public_class_method)\b"
)
_VISIBILITIES = frozenset(("private", "protected", "public"))
_OF_CLASS_METHODS = {"private_class_method": "private", "public_class_method": "public"}
_MADE_BY_CALL = {"Class": "new", "Module": "new", "Struct": "new", "Data": "define"}
_EVALUATED = frozenset(("class_eval", "module_eval", "class_exec", "module_exec"))
_PRIVATE_BY_NAME = frozenset(
    ("initialize", "initialize_copy", "initialize_clone", "initialize_dup", "respond_to_missing?")
)


class _Scope:
    """Where declarations go, and with which visibility."""

    def __init__(self, owner: str, kind: str = "instance", visibility: str = "public", *, nested: bool = False) -> None:
        self.owner = owner
        self.kind = kind
        self.visibility = visibility
        self.nested = nested
        self.module_function = False


class _Apply(Record):
    """To be done when the arguments of a `private …` have been declared."""

    kind: str
    visibility: str
    owner: str
    names: tuple[str, ...]


def declarations(source: RubySource) -> Declarations:
    return _Walk(source).result()


class _Walk:
    def __init__(self, source: RubySource) -> None:
        import re

        self.source = source
        self.places = [found.start() for found in re.finditer(_WORDS, source.data)]
        self.classes: list[Class] = []
        self.declared: list[dict[str, Any]] = []
        self.known: dict[tuple[str, str, str], list[int]] = {}
        self.unclear: list[Unclear] = []
        self.stack: list[tuple[Node, _Scope] | _Apply] = [(source.root, _Scope("", visibility="private"))]

    def result(self) -> Declarations:
        while self.stack:
            item = self.stack.pop()
            if isinstance(item, _Apply):
                self._apply(item)
            else:
                self._visit(*item)
        return Declarations(
            classes=tuple(self.classes),
            declared=tuple(Method(**fields) for fields in self.declared),
            unclear=tuple(self.unclear),
        )

    def _visit(self, node: Node, scope: _Scope) -> None:
        kind = node.type
        if kind in {"method", "singleton_method"}:
            self._method(node, scope)
        elif kind in {"class", "module"}:
            self._class(node, scope)
        elif kind == "singleton_class":
            self._singleton_class(node, scope)
        elif kind == "assignment":
            self._assignment(node, scope)
        elif kind == "call":
            self._call(node, scope)
        elif kind == "identifier":
            self._word(text(node), node, scope)
        elif kind == "alias":
            self._alias(node, scope)
        elif kind == "ERROR":
            self._error(node, scope)
        else:
            self._enter(node, scope)

    def _enter(self, node: Node | None, scope: _Scope) -> None:
        """Visit the children that can declare something."""
        if node is None or not self._declares(node):
            return
        children = [child for child in node.named_children if self._declares(child)]
        self.stack.extend((child, scope) for child in reversed(children))

    def _declares(self, node: Node) -> bool:
        index = bisect_left(self.places, node.start_byte)
        return index < len(self.places) and self.places[index] < node.end_byte

    # Classes

    def _class(self, node: Node, scope: _Scope) -> None:
        name = node.child_by_field_name("name")
        if name is None:
            self._enter(node, scope)
            return
        parent = node.child_by_field_name("superclass")
        above = parent.named_children[0] if parent is not None and parent.named_children else None
        owner = self._add_class(node, name, scope, kind=node.type, superclass=None if above is None else text(above))
        self._enter(node.child_by_field_name("body"), _Scope(owner))

    def _add_class(self, node: Node, name: Node, scope: _Scope, *, kind: str, superclass: str | None) -> str:
        owner = _inside(scope.owner, constant_name(name) or text(name))
        self.classes.append(
            Class(
                name=owner,
                kind=kind,
                superclass=superclass,
                start=node.start_byte,
                end=node.end_byte,
                first_line=first_line(node),
                last_line=last_line(node),
            )
        )
        return owner

    def _singleton_class(self, node: Node, scope: _Scope) -> None:
        value = node.child_by_field_name("value")
        owner, kind = self._object(value, scope)
        self._enter(node.child_by_field_name("body"), _Scope(owner, kind))

    def _object(self, node: Node | None, scope: _Scope) -> tuple[str, str]:
        """Whose singleton methods are defined: `self`, a constant, or some object."""
        if node is None or node.type == "self":
            return scope.owner, "class" if scope.owner else "singleton"
        name = constant_name(node)
        if name is None:
            return text(node), "singleton"
        return (scope.owner if _last(scope.owner) == name else name.removeprefix("::")), "class"

    def _assignment(self, node: Node, scope: _Scope) -> None:
        """`Name = Class.new(Base) do` and its relatives open a class body."""
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None or right is None or constant_name(left) is None or right.type != "call":
            self._enter(node, scope)
            return
        receiver, method = right.child_by_field_name("receiver"), right.child_by_field_name("method")
        block = right.child_by_field_name("block")
        maker = constant_name(receiver) if receiver is not None else None
        made = maker is not None and method is not None and _MADE_BY_CALL.get(maker.removeprefix("::")) == text(method)
        if not made:
            self._enter(node, scope)
            return
        given = arguments(right)
        base = text(given[0]) if maker == "Class" and given else None
        kind = "module" if maker == "Module" else "class"
        owner = self._add_class(node, left, scope, kind=kind, superclass=base or (maker if kind == "class" else None))
        self._enter(block and block.child_by_field_name("body"), _Scope(owner))

    def _error(self, node: Node, scope: _Scope) -> None:
        """Inside an error, a `class Name` or `def name` without its `end` still says what was meant."""
        opened = ""
        pending: list[tuple[Node, _Scope]] = []
        for child in node.children:
            if opened in {"class", "module"} and constant_name(child):
                scope = _Scope(self._add_class(node, child, scope, kind=opened, superclass=None))
            elif opened == "def" and child.is_named:
                self._declare(child, text(child), scope.owner, scope.kind, scope.visibility, nested=False, lost=True)
            elif child.is_named and self._declares(child):
                pending.append((child, scope))
            opened = "" if child.is_named else child.type
        self.stack.extend(reversed(pending))

    # Methods

    def _method(self, node: Node, scope: _Scope) -> None:
        name = node.child_by_field_name("name")
        label = text(name) if name is not None else ""
        if node.type == "singleton_method":
            owner, kind = self._object(node.child_by_field_name("object"), scope)
            self._declare(node, label, owner, kind, "public", nested=scope.nested)
        else:
            self._add(node, label, scope)
        broken = self.declared[-1]["broken"]
        inner = _Scope(scope.owner, nested=not broken)
        self._enter(node.child_by_field_name("body"), inner)

    def _add(self, node: Node, name: str, scope: _Scope, form: str = "def", parts: Node | None = None) -> None:
        """Declare with the visibility that the scope has now."""
        visibility = scope.visibility
        if name in _PRIVATE_BY_NAME and scope.kind == "instance":
            visibility = "private"
        kind = scope.kind
        if scope.module_function and kind == "instance":
            kind, visibility = "class", "public"
        self._declare(node, name, scope.owner, kind, visibility, form=form, nested=scope.nested, parts=parts)

    def _declare(
        self,
        node: Node,
        name: str,
        owner: str,
        kind: str,
        visibility: str,
        *,
        nested: bool,
        form: str = "def",
        parts: Node | None = None,
        lost: bool = False,
    ) -> None:
        self.known.setdefault((owner, kind, name), []).append(len(self.declared))
        self.declared.append(
            {
                "name": name,
                "owner": owner,
                "kind": kind,
                "visibility": visibility,
                "form": form,
                "parameters": parameters(parts if parts is not None else node),
                "start": node.start_byte,
                "end": node.end_byte,
                "first_line": first_line(node),
                "last_line": last_line(node),
                "nested": nested,
                "broken": lost or node.has_error or (form == "def" and not self._aligned(node)),
                "node": node,
            }
        )

    def _aligned(self, node: Node) -> bool:
        """Whether the `end` stands below the beginning of the line with the `def`.

        It matters only in a file with syntax errors: there a method with a missing `end` swallows the next methods,
        and its own node shows no error.
        """
        if not self.source.problems or first_line(node) == last_line(node):
            return True
        data = self.source.data
        return _indent(data, node.start_byte) == _indent(data, node.end_byte - 1)

    # Calls

    def _call(self, node: Node, scope: _Scope) -> None:
        method = node.child_by_field_name("method")
        receiver = node.child_by_field_name("receiver")
        word = text(method) if method is not None else ""
        if receiver is None or receiver.type == "self":
            handled = self._word(word, node, scope)
        else:
            handled = self._evaluated(word, node, receiver, scope)
        if not handled:  # the method's name is not a bare word: `a.private` changes nothing
            parts = (receiver, node.child_by_field_name("arguments"), node.child_by_field_name("block"))
            self.stack.extend((part, scope) for part in reversed(parts) if part is not None and self._declares(part))

    def _word(self, word: str, node: Node, scope: _Scope) -> bool:
        """A call without a receiver, with or without arguments. False if it declares nothing by itself."""
        if word in _VISIBILITIES:
            self._visibility(word, node, scope)
        elif word == "module_function":
            self._module_function(node, scope)
        elif word in _OF_CLASS_METHODS:
            self._apply_later(node, scope, "class", _OF_CLASS_METHODS[word])
        elif word in ATTRIBUTES:
            for name in attribute_names(node):
                self._add(node, name, scope, form="attribute")
        elif word == "define_method":
            return self._define_method(node, scope)
        elif word == "alias_method":
            names = list(method_names(arguments(node)[:1]))
            if names and names[0] is not None:
                self._add_alias(node, names[0], list(method_names(arguments(node)[1:2])), scope)
        elif word == "class_methods" and node.type == "call":  # ActiveSupport::Concern
            block = node.child_by_field_name("block")
            self._enter(block and block.child_by_field_name("body"), _Scope(scope.owner, "class"))
        else:
            return False
        return True

    def _visibility(self, word: str, node: Node, scope: _Scope) -> None:
        if arguments(node):
            self._apply_later(node, scope, scope.kind, word)
        else:
            scope.visibility = word
            scope.module_function = False

    def _module_function(self, node: Node, scope: _Scope) -> None:
        if arguments(node):
            self._apply_later(node, scope, "instance", "module_function")
        else:
            scope.module_function = True

    def _apply_later(self, node: Node, scope: _Scope, kind: str, visibility: str) -> None:
        names = list(method_names(arguments(node)))
        if None in names:
            self.unclear.append(Unclear(line=first_line(node), message=f"`{_head(node)}`: the names are computed"))
        known = tuple(name for name in names if name is not None)
        self.stack.append(_Apply(kind=kind, visibility=visibility, owner=scope.owner, names=known))
        self._enter(node.child_by_field_name("arguments"), scope)

    def _apply(self, item: _Apply) -> None:
        """Change every definition so far: a method may be defined in both branches of an `if`."""
        for name in item.names:
            for index in self.known.get((item.owner, item.kind, name), ()):
                if item.visibility == "module_function":
                    self.declared[index]["kind"], self.declared[index]["visibility"] = "class", "public"
                    self.known.setdefault((item.owner, "class", name), []).append(index)
                else:
                    self.declared[index]["visibility"] = item.visibility

    def _define_method(self, node: Node, scope: _Scope) -> bool:
        given = arguments(node)
        block = node.child_by_field_name("block")
        name = literal_text(given[0]) if given else None
        if name is None:
            self.unclear.append(Unclear(line=first_line(node), message=f"`{_head(node)}`: the name is computed"))
            return False
        if block is None:
            block = next((one for one in given[1:] if one.type == "lambda"), None)
        self._add(node, name, scope, form="alias" if block is None else "define_method", parts=block)
        self._enter(block and block.child_by_field_name("body"), _Scope(scope.owner, scope.kind, nested=True))
        return True

    def _evaluated(self, word: str, node: Node, receiver: Node, scope: _Scope) -> bool:
        """`Name.class_eval do` opens the class Name."""
        name, block = constant_name(receiver), node.child_by_field_name("block")
        if name is None or block is None or word not in _EVALUATED:
            return False
        owner = scope.owner if _last(scope.owner) == name else name.removeprefix("::")
        self._enter(block.child_by_field_name("body"), _Scope(owner))
        return True

    def _alias(self, node: Node, scope: _Scope) -> None:
        name = node.child_by_field_name("name")
        if name is not None and name.type != "global_variable":
            old = node.child_by_field_name("alias")
            self._add_alias(node, _method_name(name), [] if old is None else [_method_name(old)], scope)

    def _add_alias(self, node: Node, name: str, old: list[str | None], scope: _Scope) -> None:
        """An alias has the visibility of the method that it copies."""
        self._add(node, name, scope, form="alias")
        originals = self.known.get((scope.owner, scope.kind, old[0]), ()) if old and old[0] is not None else ()
        if originals:
            self.declared[-1]["visibility"] = self.declared[originals[-1]]["visibility"]


def _method_name(node: Node) -> str:
    return text(node).removeprefix(":")


def _inside(owner: str, name: str) -> str:
    if name.startswith("::"):
        return name[2:]
    return f"{owner}::{name}" if owner else name


def _last(name: str) -> str:
    return name.rpartition("::")[2]


def _head(node: Node) -> str:
    return text(node).split("\n", 1)[0].strip()[:60]


def _indent(data: bytes, offset: int) -> int:
    line = data[data.rfind(b"\n", 0, offset) + 1 : offset + 1]
    return len(line) - len(line.lstrip(b" \t"))
