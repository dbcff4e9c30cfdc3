"""Breaches of rule 1 that no reader has to judge: tests that look into the object under test.

A message expectation on the object, reading or writing its instance variables, and calling its private methods.
"""

from __future__ import annotations

from moot.packs.rspec_v1.group_calls import calls_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from typing import Any

    from moot.packs.ruby.calls import RubyCall
    from moot.packs.ruby.spec_tree import Definition, Group

_VARIABLES = ("instance_variable_get", "instance_variable_set")
_SENDERS = ("send", "__send__", "public_send", "method")
_MESSAGES = ("receive", "have_received")


def subjects(groups: Sequence[Group]) -> Iterator[Definition]:
    """The definitions of subjects in these groups, without those of nested ones."""
    for group in groups:
        yield from (one for one in group.definitions if one.kind.startswith("subject"))


def calls_method(definition: Definition, method: str) -> bool:
    """Whether a subject calls this method. `initialize` is called by `new`; an operator is found in the source."""
    name = "new" if method == "initialize" else method
    if name[0].isalpha() or name[0] == "_":
        plain = name.removesuffix("=")
        if any(_sent(one) == plain or _sent(one) == name for one in definition.calls):
            return True
        return name.endswith("=") and f".{plain} =" in definition.body
    return (name.strip("=@") or name) in definition.body if name not in ("[]", "[]=") else "[" in definition.body


def _sent(call: RubyCall) -> str:
    if call.name in _SENDERS and call.positional and call.positional[0].value:
        return call.positional[0].value
    return call.name


def objects_of(groups: Sequence[Group], target: Mapping[str, Any]) -> set[str]:
    """How the spec writes the object under test: the receiver of the target method in the subjects."""
    method = str(target.get("method") or "")
    found = {"subject"}
    for one in (definition for group in groups for part in group.walk() for definition in subjects((part,))):
        found |= {call.receiver for call in one.calls if _sent(call) == method and call.receiver}
    if target.get("method_type") == "class":
        found |= {"described_class", str(target.get("class") or "described_class")}
    else:
        found -= {"described_class"}
    return found


def breaches(
    group: Group, objects: Collection[str], classes: Collection[str], private: Collection[str]
) -> Iterator[tuple[int, str]]:
    """What looks into the object, with its line. `classes`: how the spec writes its class."""
    for part in group.walk():
        for example in part.examples:
            for one in example.expectations:
                if one.target in objects and one.matcher.startswith(_MESSAGES):
                    yield one.line, f"a message expectation on the object under test, `{one.target}`"
        for call in calls_of(part):
            if call.name == "expect_any_instance_of" and any(one.source in classes for one in call.positional):
                yield call.line, "a message expectation on any instance of the class under test"
            if call.name in _VARIABLES:
                yield call.line, f"`{call.name}` looks into an object"
            if _sent(call) in private and (call.receiver in objects or call.name in _SENDERS):
                yield call.line, f"`{_sent(call)}` is private in the source"
