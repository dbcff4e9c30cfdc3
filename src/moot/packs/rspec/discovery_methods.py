"""The public methods of a changed source: how each one changed, and which classes and private methods it uses."""

from __future__ import annotations

from moot.core.errors import MootError, Refused
from moot.core.record import Record
from moot.packs.rspec.zones import Complexity, complexity
from moot.packs.ruby.declarations import declarations
from moot.packs.ruby.method_uses import uses_of
from moot.packs.ruby.syntax import SyntaxProblem, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from moot.packs.rspec.changes import ChangedSource
    from moot.packs.ruby.method_uses import MethodUses
    from moot.packs.ruby.methods import Declarations, Method
    from moot.packs.ruby.syntax import RubySource

NEW, MODIFIED, UNCHANGED = "new", "modified", "unchanged"
MODES = (NEW, MODIFIED, UNCHANGED)


class PublicMethod(Record):
    """A method that can be covered. `label` differs from `name` only where the class has both `x` and `self.x`."""

    id: str
    class_name: str
    name: str
    label: str
    path: str
    first: int
    last: int
    mode: str
    uses: tuple[MethodUses, ...]  # of its own body and of the private methods that it reaches
    absorbed: tuple[str, ...]


class ExaminedFile(Record):
    """One changed file. `classes`: everything that it defines. `all_new`: no method of it was in the base."""

    path: str
    complexity: Complexity
    classes: tuple[str, ...]
    methods: tuple[PublicMethod, ...]
    all_new: bool
    warnings: tuple[str, ...]


def examine(source: ChangedSource) -> ExaminedFile:
    """Look at a source. Methods with syntax errors are left out; refused if there is no other public one."""
    parsed = parse(source.data)
    found = declarations(parsed)
    base = _ids_of_base(source)
    modes = {method.start: _mode(source, method, base) for method in found.methods}
    latest = {method.id: method for method in found.methods if _belongs_to_class(method)}
    known = MethodTable(latest)
    listed = [one for one in latest.values() if one.visibility == "public" and one.name != "initialize"]
    public = [one for one in listed if not one.broken]
    error = _syntax_error(source.path, parsed, found) if parsed.problems else None
    if error is not None and not public:
        raise error
    broken = ", ".join(one.id for one in listed if one.broken)
    lost = f" {broken} cannot be covered until it is corrected." if broken else ""
    return ExaminedFile(
        path=source.path,
        complexity=complexity(source.data, len(found.methods)),
        classes=tuple(dict.fromkeys(one.name for one in found.classes)),
        methods=tuple(_public(source.path, method, modes[method.start], known) for method in _by_line(public)),
        all_new=bool(modes) and set(modes.values()) == {NEW},
        warnings=(*([f"{error.message}{lost}"] if error is not None else ()), *_doubts(source.path, found, latest)),
    )


def _syntax_error(path: str, parsed: RubySource, found: Declarations) -> Refused:
    """The error for a source that does not parse. Its place is in a broken method, if there is one."""
    broken = [one for one in found.methods if one.broken]
    inside = [at for at in parsed.problems for one in broken if one.first_line <= at.line <= one.last_line]
    first = inside[0] if inside else parsed.problems[0]
    if broken and not inside:
        column = broken[0].start - parsed.data.rfind(b"\n", 0, broken[0].start)
        first = SyntaxProblem(broken[0].first_line, column, f"syntax error in `{broken[0].name}`")
    return Refused(
        "source_does_not_parse",
        f"{path} does not parse: {first.message} (line {first.line}, column {first.column}).",
        f"Correct it; `ruby -c {path}` shows the errors of Ruby." if path.isascii() else "Correct it.",
        file=path,
        line=first.line,
        column=first.column,
    )


def _belongs_to_class(method: Method) -> bool:
    return bool(method.owner) and method.kind in {"instance", "class"} and not method.nested


def _by_line(methods: Iterable[Method]) -> list[Method]:
    return sorted(methods, key=lambda one: one.start)


def _doubts(path: str, found: Declarations, latest: Mapping[str, Method]) -> Iterator[str]:
    for one in found.unclear:
        yield f"{path}:{one.line}: {one.message}; methods that it defines are not listed."
    for method in found.methods:
        if _belongs_to_class(method) and latest[method.id] is not method:
            last = latest[method.id].first_line
            yield f"{path}:{method.first_line}: {method.id} is defined again on line {last}; the last one counts."


def _ids_of_base(source: ChangedSource) -> frozenset[str] | None:
    """The methods that the base version has; None if there is no base to compare with."""
    if not source.known:
        return None
    if source.old is None:
        return frozenset()
    try:
        return frozenset(method.id for method in declarations(parse(source.old)).declared)
    except MootError:  # the base version was not Ruby source
        return frozenset()


def _mode(source: ChangedSource, method: Method, base: frozenset[str] | None) -> str:
    if base is None:
        return MODIFIED
    if method.id not in base:
        return NEW
    return MODIFIED if any(hunk.touches(method.first_line, method.last_line) for hunk in source.hunks) else UNCHANGED


class MethodTable:
    """The methods of a file by id, and what each of them uses, looked up once."""

    def __init__(self, methods: Mapping[str, Method]) -> None:
        self.methods = methods
        self._uses: dict[int, MethodUses] = {}

    def uses(self, method: Method) -> MethodUses:
        if method.start not in self._uses:
            self._uses[method.start] = uses_of(method)
        return self._uses[method.start]

    def reached(self, method: Method) -> list[Method]:
        """The private and protected methods of its object that a method calls, directly or through each other."""
        found: dict[str, Method] = {}
        front = [method]
        sign = "#" if method.kind == "instance" else "."
        while front:
            for name in self.uses(front.pop()).own:
                called = self.methods.get(f"{method.owner}{sign}{name}")
                if called is None or called.visibility == "public" or called.id in found or called is method:
                    continue
                found[called.id] = called
                front.append(called)
        return list(found.values())


def _public(path: str, method: Method, mode: str, known: MethodTable) -> PublicMethod:
    absorbed = known.reached(method)
    both = method.kind == "class" and f"{method.owner}#{method.name}" in known.methods
    return PublicMethod(
        id=method.id,
        class_name=method.owner,
        name=method.name,
        label=f"self.{method.name}" if both else method.name,
        path=path,
        first=method.first_line,
        last=method.last_line,
        mode=mode,
        uses=(known.uses(method), *map(known.uses, absorbed)),
        absorbed=tuple(one.name for one in _by_line(absorbed)),
    )


def classes_used(method: PublicMethod, known: Sequence[str]) -> tuple[str, ...]:
    """Those of the known classes that a method calls, itself or through private methods, without its own class."""
    there = frozenset(known)
    found: dict[str, None] = {}
    for one in method.uses:
        for name in (*one.constants, *(_class_of_variable(variable) for variable in one.variables)):
            target = resolved(name, method.class_name, there)
            singular = name.removesuffix("s")
            if target is None and singular != name and name not in one.constants:
                target = resolved(singular, method.class_name, there)
            if target is not None and target != method.class_name:
                found[target] = None
    return tuple(sorted(found))


def resolved(name: str, inside: str, known: frozenset[str]) -> str | None:
    """The known class that a constant means inside a class: the innermost namespace that has it."""
    if name.startswith("::"):
        return name[2:] if name[2:] in known else None
    scope = inside
    while scope:
        if f"{scope}::{name}" in known:
            return f"{scope}::{name}"
        scope = scope.rpartition("::")[0]
    return name if name in known else None


def _class_of_variable(variable: str) -> str:
    """By convention `@payment_gateway` holds a PaymentGateway."""
    return "".join(part[:1].upper() + part[1:] for part in variable.lstrip("@").split("_"))
