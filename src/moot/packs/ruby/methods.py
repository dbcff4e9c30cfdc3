"""What a Ruby file declares, as records."""

from __future__ import annotations

from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tree_sitter import Node

    from moot.packs.ruby.parameters import Parameter


class Class(Record):
    """One `class` or `module` body, or one `Name = Struct.new do`. A reopened class has one entry per body."""

    name: str  # with the full namespace: A::B
    kind: str  # class, module
    superclass: str | None
    start: int
    end: int
    first_line: int
    last_line: int


class Method(Record):
    """One definition of a method."""

    name: str
    owner: str  # the class, with its full namespace; empty at the top level of the file
    kind: str  # instance, class, singleton (of an object that is not a class)
    visibility: str  # public, protected, private
    form: str  # def, define_method, attribute, alias
    parameters: tuple[Parameter, ...]
    start: int
    end: int
    first_line: int
    last_line: int
    nested: bool  # defined inside another method
    broken: bool  # has a syntax error, or an error nearby makes its extent uncertain
    node: Node

    @property
    def id(self) -> str:
        """`A::B#name`, or `A::B.name` for a class method."""
        return f"{self.owner}{'#' if self.kind == 'instance' else '.'}{self.name}"

    def __repr__(self) -> str:
        return f"Method({self.visibility} {self.id}, lines {self.first_line}-{self.last_line})"


class Unclear(Record):
    """A line that declares something whose name is computed."""

    line: int
    message: str


class Declarations(Record):
    """What a file declares, in the order of the file."""

    classes: tuple[Class, ...]
    declared: tuple[Method, ...]  # of every form
    unclear: tuple[Unclear, ...]

    @property
    def methods(self) -> tuple[Method, ...]:
        """The methods that have a body: `def`, and `define_method` with a block."""
        return tuple(one for one in self.declared if one.form in {"def", "define_method"})

    @property
    def attributes(self) -> tuple[Method, ...]:
        return tuple(one for one in self.declared if one.form == "attribute")

    @property
    def definitions(self) -> tuple[Method, ...]:
        """Every `def`."""
        return tuple(one for one in self.declared if one.form == "def")
