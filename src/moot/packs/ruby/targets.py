"""Finding the one method that a caller means, or saying why there is none."""

from __future__ import annotations

from moot.core.errors import Refused, Unknown, Usage
from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.packs.ruby.methods import Declarations, Method
    from moot.packs.ruby.syntax import RubySource

_LISTED = 40  # names in one message


class WantedMethod(Record):
    """What a caller asked for: `#name` is an instance method, `.name` a class method, `name` either."""

    name: str
    kind: str | None  # instance, class, or None for either

    @classmethod
    def read(cls, text: str) -> WantedMethod:
        kind = {"#": "instance", ".": "class"}.get(text[:1])
        name = text[1:] if kind else text
        if not name:
            raise Usage(
                "ruby_method_missing", "The name of a method is missing.", "Give a name such as process_payment."
            )
        return cls(name=name, kind=kind)


def find_method(source: RubySource, found: Declarations, method: str, class_name: str | None = None) -> Method:
    """The method's only definition. Raises if it is missing, ambiguous, or cannot be parsed."""
    wanted = WantedMethod.read(method)
    candidates = [one for one in found.methods if not one.nested and one.name == wanted.name and one.owner]
    owners = {one.name for one in found.classes} | {one.owner for one in found.methods if one.owner}
    if class_name is not None:
        full = _class_named(class_name, owners, source)
        candidates = [one for one in candidates if one.owner == full]
    if wanted.kind is not None:
        candidates = [one for one in candidates if one.kind == wanted.kind]
    if not candidates:
        raise _missing(source, found, wanted)
    _one_owner(candidates)
    _one_kind(candidates)
    if len(candidates) > 1:
        lines = ", ".join(str(one.first_line) for one in candidates)
        raise Refused(
            "ruby_method_defined_twice",
            f"{candidates[0].id} is defined {len(candidates)} times, on the lines {lines}.",
            "Keep one definition, or rename the others.",
        )
    if candidates[0].broken:
        raise _unparsable(source, candidates[0])
    return candidates[0]


def _class_named(name: str, owners: set[str], source: RubySource) -> str:
    """The full name: `B` is enough for `A::B` if there is no other B."""
    name = name.removeprefix("::")
    if name in owners:
        return name
    ending = sorted(one for one in owners if one.endswith(f"::{name}"))
    if len(ending) == 1:
        return ending[0]
    if ending:
        raise Refused(
            "ruby_class_ambiguous",
            f"{name} can be any of these classes: {_listed(ending)}.",
            "Name the class with its full namespace.",
        )
    raise Unknown(
        "ruby_class_not_found",
        f"The source has no class {name}. Its classes: {_listed(sorted(owners))}.{_syntax_note(source)}",
        "Name one of these classes.",
    )


def _one_owner(candidates: list[Method]) -> None:
    owners = sorted({one.owner for one in candidates})
    if len(owners) > 1:
        raise Refused(
            "ruby_class_ambiguous",
            f"{candidates[0].name} is defined in several classes: {_listed(owners)}.",
            "Name the class as well.",
        )


def _one_kind(candidates: list[Method]) -> None:
    kinds = {one.kind for one in candidates}
    if len(kinds) > 1:
        name = candidates[0].name
        raise Refused(
            "ruby_method_ambiguous",
            f"{candidates[0].owner} has both an instance method and a class method {name}.",
            f"Write #{name} for the instance method or .{name} for the class method.",
        )


def _missing(source: RubySource, found: Declarations, wanted: WantedMethod) -> Unknown | Refused:
    broken = next((one for one in found.methods if one.name == wanted.name and one.broken), None)
    if broken is not None:
        return _unparsable(source, broken)
    other = next((one for one in found.declared if one.name == wanted.name), None)
    if other is not None and other.form in {"attribute", "alias"}:
        return Refused(
            "ruby_method_without_body",
            f"{other.id} on line {other.first_line} is an {other.form}: there is no body to analyse.",
            "Name a method that is defined with def.",
        )
    outside = next((one for one in found.methods if one.name == wanted.name and not one.owner), None)
    if outside is not None:
        return Refused(
            "ruby_method_outside_class",
            f"{wanted.name} on line {outside.first_line} is defined outside any class.",
            "Name a method of a class, or move it into one.",
        )
    names = [one.id for one in found.methods if not one.nested and one.owner]
    computed = "".join(
        f" Line {one.line}: {one.message}." for one in found.unclear[:3] if "define_method" in one.message
    )
    listed = f"Methods found: {_listed(names)}." if names else "It has no methods."
    return Unknown(
        "ruby_method_not_found",
        f"The source has no method {wanted.name}. {listed}{computed}{_syntax_note(source)}",
        "Name one of these methods." if names else "Name a file that defines the method.",
    )


def _unparsable(source: RubySource, method: Method) -> Refused:
    inside = [one for one in source.problems if method.first_line <= one.line <= method.last_line]
    line, what = (inside[0].line, inside[0].message) if inside else (method.first_line, "syntax error")
    return Refused(
        "ruby_method_does_not_parse",
        f"The method {method.name} does not parse: line {line}: {what}.",
        "Correct the syntax error. `ruby -c FILE` shows it, too.",
    )


def _syntax_note(source: RubySource) -> str:
    if not source.problems:
        return ""
    first = source.problems[0]
    return f" The file has a syntax error on line {first.line}, so methods may be missing from this list."


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:_LISTED])
    return f"{shown} and {len(names) - _LISTED} more" if len(names) > _LISTED else shown or "none"
