"""What a spec file does to its examples from outside: hooks that never run them, words of RSpec that it redefines.

`certain` is false for what may be harmless, such as `RSpec.configure` that includes a module.
"""

from __future__ import annotations

from moot.core.record import Record
from moot.packs.ruby.example_flow import reached_in
from moot.packs.ruby.spec_nodes import body_of, first_argument, method_name
from moot.packs.ruby.spec_words import HOOKS, PENDING, VERDICTS
from moot.packs.ruby.syntax import constant_name, first_line, literal_text, parse, text, walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tree_sitter import Node

_OWN = frozenset(("expect", "is_expected", "are_expected", "it", "specify", "eq", "be", "raise_error", *VERDICTS))
_DEFINES = frozenset(("let", "let!", "define_method", "define_singleton_method", "alias_method", "subject", "subject!"))
_ENDS = {"at_exit": True, "exit!": True, "exit": False, "abort": False}  # and whether a spec never needs it
_REPORT = ("Moot::CountingReport", "Moot::Watch", "Moot::Canary", "Moot::Changes")
_VERDICT = ("fail_with", "handle_matcher", "notify_failure", "failure_notifier")  # how RSpec makes an example fail


class Override(Record):
    """One finding. `source` is the text of what was found."""

    line: int
    source: str
    reason: str
    certain: bool


def overrides(data: bytes) -> list[Override]:
    """What takes effect on examples from outside."""
    found = []
    for node in walk(parse(data).root):
        for reason, certain in _found(node):
            found.append(Override(first_line(node), text(node), reason, certain))
    return found


def added(before: Iterable[Override], after: Iterable[Override]) -> Iterator[Override]:
    """The findings of a file that an earlier version of it did not have. Spaces and quotes do not count."""
    known = [_plain(one) for one in before]
    for one in after:
        if _plain(one) in known:
            known.remove(_plain(one))
        else:
            yield one


def _plain(one: Override) -> str:
    return "".join(one.source.split()).replace('"', "'")


def _found(node: Node) -> Iterator[tuple[str, bool]]:
    if node.type in ("method", "singleton_method"):
        name = node.child_by_field_name("name")
        if name is not None and text(name) in _OWN:
            yield f"`{text(name)}` of RSpec is redefined", True
    elif node.type in ("class", "module"):
        name = node.child_by_field_name("name")
        called = "" if name is None else (constant_name(name) or "").removeprefix("::")
        if called.split("::")[0] == "RSpec":
            yield f"{called} is reopened", any(word in text(node) for word in _VERDICT)
    elif node.type == "call":
        yield from _of_call(node)
    elif node.type == "end_block":
        yield "`END` runs code after RSpec", True
    elif node.type == "scope_resolution" and (constant_name(node) or "").removeprefix("::") in _REPORT:
        yield f"{text(node)} judges the examples", True


def _of_call(node: Node) -> Iterator[tuple[str, bool]]:
    name, receiver = method_name(node), node.child_by_field_name("receiver")
    given, arguments = first_argument(node), node.child_by_field_name("arguments")
    sent = literal_text(given) if name in ("send", "__send__", "method") and given is not None else None
    head = " ".join((*(text(one) for one in (receiver, arguments) if one is not None), name))
    if "RSpec::" in head and any(word in head for word in _VERDICT):
        yield "how RSpec makes an example fail is changed", True
    if name in _DEFINES and given is not None and literal_text(given) in _OWN:
        yield f"`{literal_text(given)}` of RSpec is redefined", True
    name = sent if sent in _ENDS else name
    if name in _ENDS and (receiver is None or text(receiver) in ("Kernel", "Process", "Object")):
        yield f"`{name}` runs code after RSpec, or ends it", _ENDS[name]
    configured = receiver is not None and receiver.type == "identifier"
    if name == "around" and (receiver is None or configured) and _never_runs(node):
        yield "the `around` hook never runs the example", True
    elif name in HOOKS and configured and (body := body_of(node)) is not None:
        for one in reached_in(body):
            if one.leaves in PENDING:
                yield f"the `{name}` hook skips every example", one.certain
    elif name == "configure" and receiver is not None and text(receiver).removeprefix("::") == "RSpec":
        yield "`RSpec.configure` takes effect on every example", False


def _never_runs(hook: Node) -> bool:
    """Whether the block of an `around` hook does not even mention the example."""
    block = hook.child_by_field_name("block")
    if block is None:
        return False
    parameters, body = block.child_by_field_name("parameters"), block.child_by_field_name("body")
    if body is None:
        return True
    names = {text(one) for one in walk(parameters) if one.type == "identifier"} if parameters is not None else set()
    implicit = {"it", "_1"} if parameters is None else set()
    mentioned = {text(one) for one in walk(body) if one.type == "identifier"}
    return not (names | implicit) & mentioned
