"""The Ruby text that test-architect writes: describe blocks with contexts, `let`s, examples and placeholders.

    {SETUP_CODE}       in a comment of every context
    {EXPECTATION}      the reason of `skip` in every example, so that RSpec reports it as pending
    {THRESHOLD_VALUE}  the value of a range whose boundary is not known

The text parses as Ruby as it is. test-implementer replaces the placeholders.
"""

from __future__ import annotations

from moot.packs.rspec.contexts import is_positive
from moot.packs.ruby.literals import quoted, symbol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from moot.packs.rspec.contexts import Context

SETUP, EXPECTATION, THRESHOLD = "{SETUP_CODE}", "{EXPECTATION}", "{THRESHOLD_VALUE}"
PLACEHOLDERS = (SETUP, EXPECTATION, THRESHOLD)
_STEP = "  "
_TAKEN = frozenset((
    "alias", "and", "begin", "break", "case", "class", "def", "defined", "do", "else", "elsif", "end", "ensure",
    "false", "for", "if", "in", "module", "next", "nil", "not", "or", "redo", "rescue", "retry", "return", "self",
    "super", "then", "true", "undef", "unless", "until", "when", "while", "yield",
    "object_id", "send", "initialize", "method", "hash", "freeze", "dup", "clone", "display", "extend", "raise",
    "subject", "let", "described_class", "expect", "allow", "double", "instance_double", "it", "context", "describe",
    "before", "after", "around", "skip", "pending", "metadata",
))  # fmt: skip


def whole_file(class_name: str, blocks: Iterable[str], helper: str = "") -> str:
    """A new spec file. `helper`: the file that it requires first."""
    required = f'require "{helper}"\n\n' if helper else ""
    return f"# frozen_string_literal: true\n\n{required}{group(class_name, blocks)}"


def group(class_name: str, blocks: Iterable[str]) -> str:
    """The group of a class. The blocks are indented by one step."""
    return (
        f"RSpec.describe {constant(class_name)} do\n" + "\n\n".join(f"{_STEP}{block}" for block in blocks) + "\nend\n"
    )


def constant(name: str) -> str:
    """The name of a class as Ruby code: a constant, or a string if it is not one."""
    parts = name.removeprefix("::").split("::")
    valid = all(part.isidentifier() and part[0].isupper() for part in parts)
    return name if valid else quoted(name)


def describe_block(name: str, contexts: Iterable[Context], indent: str = _STEP) -> str:
    """The block of one method. The first line is not indented: it takes the place of another block."""
    lines = [f"describe {quoted(name)} do", *_joined(contexts, indent + _STEP), f"{indent}end"]
    return "\n".join(lines)


def _joined(contexts: Iterable[Context], indent: str) -> Iterator[str]:
    for number, context in enumerate(contexts):
        if number:
            yield ""
        yield from _context(context, indent)


def _context(context: Context, indent: str) -> Iterator[str]:
    if context.skipped:
        yield f"{indent}# SKIPPED {quoted(context.name)}: all its behaviours are switched off"
        return
    inner = indent + _STEP
    yield f"{indent}context {quoted(context.name)} do"
    yield f"{inner}# {SETUP}"
    if context.characteristic is not None and context.value is not None:
        name, code = let_name(context.characteristic["name"]), literal(context.characteristic, context.value)
        yield f"{inner}let(:{name}) {{ {code} }}"
    yield ""
    if context.children:
        yield from _joined(context.children, inner)
    for number, example in enumerate(context.examples):
        if number:
            yield ""
        yield f"{inner}it {quoted(example)} do"
        yield f'{inner}{_STEP}skip "{EXPECTATION}"'
        yield f"{inner}end"
    yield f"{indent}end"


def let_name(name: str) -> str:
    """A characteristic's name as the name of a `let`."""
    import re

    plain = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_").lower() or "value"
    if plain[0].isdigit():
        plain = f"value_{plain}"
    return f"{plain}_value" if plain in _TAKEN else plain


def literal(characteristic: Mapping[str, Any], value: Mapping[str, Any]) -> str:
    """The value of a characteristic in a context, as Ruby code."""
    given, kind = value["value"], characteristic["type"]
    if kind == "presence":
        return "Object.new" if is_positive(value) else "nil"
    if kind == "range":
        return _boundary(characteristic, value)
    if isinstance(given, bool):
        return "true" if given else "false"
    if kind == "boolean":
        return "true" if is_positive(value) else "false"
    return symbol(given) if isinstance(given, str) else repr(given)


def _boundary(characteristic: Mapping[str, Any], value: Mapping[str, Any]) -> str:
    """The boundary value or the one beyond it, if the threshold is a known integer and the range has two values."""
    threshold, operator = characteristic.get("threshold_value"), characteristic.get("threshold_operator")
    if isinstance(threshold, str) and threshold.removeprefix("-").isdigit():
        threshold = int(threshold)
    sides = _SIDES.get(str(operator))
    if (
        not isinstance(threshold, int)
        or isinstance(threshold, bool)
        or sides is None
        or len(characteristic["values"]) != 2
    ):
        return quoted(THRESHOLD)
    holds = value["value"] if isinstance(value["value"], bool) else value is characteristic["values"][0]
    return str(threshold + sides[0 if holds else 1])


_SIDES = {">=": (0, -1), ">": (1, 0), "<=": (0, 1), "<": (-1, 0)}  # added to the threshold: where it holds, where not
