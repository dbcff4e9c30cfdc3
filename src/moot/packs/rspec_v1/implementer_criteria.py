"""What must hold after the implementer: expectations, setup, a subject, and no look into the object under test."""

from __future__ import annotations

from moot.packs.rspec_v1.context_tree import contexts_of
from moot.packs.rspec_v1.criteria import default_contexts, found_block, problem, target_of
from moot.packs.rspec_v1.method_block import lines_with
from moot.packs.rspec_v1.object_under_test import breaches, calls_method, objects_of, subjects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.packs.ruby.spec_tree import Group
    from moot.runs.contract import Problem, StageInput

PLACEHOLDERS = ("{EXPECTATION}", "{SETUP_CODE}")


def examples_expect(_before: StageInput, after: StageInput) -> Iterator[Problem]:
    """Every example has an expectation, and no placeholder is left. Running it shows whether it tests anything."""
    block = found_block(after)
    for example in block.group.all_examples() if block is not None else ():
        if not example.expects:
            yield problem(after, example.line, f"the example '{example.text}' has no expectation")
    yield from placeholders_are_left(after)


def placeholders_are_left(given: StageInput) -> Iterator[Problem]:
    block = found_block(given)
    for line, word in lines_with(block, *PLACEHOLDERS) if block is not None else ():
        yield problem(given, line, f"{word} is left")


def contexts_have_setup(_before: StageInput, after: StageInput) -> Iterator[Problem]:
    """Every context has setup of its own, except those for default states."""
    block = found_block(after)
    if block is None:
        return
    exempt = default_contexts(after, block)
    for group in _contexts(block.group):
        if not has_setup(group) and group.start not in exempt:
            yield problem(after, group.line, f"the context '{group.text}' has no setup of its own")


def has_setup(group: Group) -> bool:
    return bool(group.definitions) or any("before" in hook.kind for hook in group.hooks)


def _contexts(group: Group) -> Iterator[Group]:
    for one in contexts_of(group):
        yield one
        yield from _contexts(one)


def subject_calls_method(_before: StageInput, after: StageInput) -> Iterator[Problem]:
    """A subject in or around the method's block calls the method."""
    block = found_block(after)
    if block is None:
        return
    method = str(target_of(after).get("method"))
    if not any(calls_method(one, method) for one in subjects((*block.outer, *block.group.walk()))):
        yield problem(after, block.group.line, f"no subject in or around this block calls `{method}`")


def behaviour_is_tested(_before: StageInput, after: StageInput) -> Iterator[Problem]:
    """Rule 1: the tests do not look into the object under test."""
    block = found_block(after)
    if block is None:
        return
    target = target_of(after)
    objects = objects_of((*block.outer, block.group), target)
    classes = {"described_class", str(target.get("class"))}
    for line, text in breaches(block.group, objects, classes, private_methods(after)):
        yield problem(after, line, text)


def private_methods(given: StageInput) -> set[str]:
    """The methods of the target's class that the source declares private."""
    data = given.file("source") if "source" in given.target.paths else None
    if data is None:
        return set()
    from moot.packs.rspec_v1.source_methods import private_names

    return private_names(data, str(target_of(given).get("class")))
