"""The rules of the review that a program can decide. Each one yields its findings in a spec file."""

from __future__ import annotations

import re  # noqa: TID253 (loaded on demand)

from moot.core.record import Record
from moot.packs.rspec_v1.context_tree import contexts_of, matched, shape_of_group, shape_of_nodes, tree_of
from moot.packs.rspec_v1.factory_calls import factory_calls, must_be_stored
from moot.packs.rspec_v1.group_calls import calls_of
from moot.packs.rspec_v1.implementer_criteria import has_setup
from moot.packs.rspec_v1.object_under_test import breaches, objects_of, subjects
from moot.packs.rspec_v1.review_report import Remark
from moot.packs.rspec_v1.time_rules import time_remarks, unstable
from moot.packs.rspec_v1.wording import context_problems, example_problems, is_negative, order_problems

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from moot.packs.ruby.spec_tree import Definition, Example, Group

    Check = Callable[["Reviewed"], Iterator[Remark]]

_ANY_INSTANCE = frozenset(("allow_any_instance_of", "expect_any_instance_of", "any_instance"))
_COMPARES = re.compile(r"\s(?:==|!=|<=|>=|<|>|=~)\s|\.(?:eql|equal)\?\(")
_TRUTH = re.compile(r"(?:be|eq|eql)[ (]?\(?(?:true|false)\b|be_(?:truthy|falsey|falsy)")
_ROOT = re.compile(r"@?[A-Za-z_]\w*[?!]?")


class Reviewed(Record):
    """A spec file under review. `groups` are the blocks to judge, `outer` the groups around them."""

    path: str
    data: bytes
    groups: tuple[Group, ...]
    outer: tuple[Group, ...] = ()
    document: Mapping[str, Any] | None = None

    @property
    def target(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = (self.document or {}).get("target") or {}
        return found

    def contexts(self) -> Iterator[Group]:
        """All contexts, parents first."""
        for group in self.groups:
            for one in group.walk():
                yield from contexts_of(one)

    def examples(self) -> Iterator[Example]:
        for group in self.groups:
            yield from group.all_examples()


def _behaviour(given: Reviewed) -> Iterator[Remark]:
    objects = objects_of((*given.outer, *given.groups), given.target)
    classes = {"described_class", str(given.target.get("class") or "described_class")}
    for group in given.groups:
        for line, text in breaches(group, objects, classes, ()):
            yield Remark(line, f"{text[0].upper()}{text[1:]}.", "Expect what can be seen from outside.")


def _verifies(given: Reviewed) -> Iterator[Remark]:
    """That each example can fail was shown by running it: the polisher has completed."""
    for one in given.examples():
        if not one.expects:
            yield Remark(one.line, f"{_said(one)} has no expectation.", "Expect a result, or remove the example.")


def _one_behaviour(given: Reviewed) -> Iterator[Remark]:
    for group in given.groups:
        yield from _several(group, aggregated=any(one.aggregated for one in given.outer))


def _several(group: Group, *, aggregated: bool) -> Iterator[Remark]:
    aggregated = aggregated or group.aggregated
    for one in group.examples:
        if len(one.expectations) > 1 and not (aggregated or one.aggregated):
            yield Remark(
                one.line,
                f"{_said(one)} has {len(one.expectations)} expectations without `aggregate_failures`.",
                "Split it, or add `:aggregate_failures` if all belong to one rule.",
            )
    for inner in group.groups:
        yield from _several(inner, aggregated=aggregated)


def _hierarchy(given: Reviewed) -> Iterator[Remark]:
    nodes = tree_of((given.document or {}).get("characteristics") or ())
    for group in given.groups:
        if shape_of_group(group) != shape_of_nodes(nodes):
            yield Remark(
                group.line,
                "The contexts are not those of the characteristics.",
                "Give each state of a characteristic one context, below the state that it depends on.",
            )


def _shared_setup(given: Reviewed) -> Iterator[Remark]:
    for group in (part for one in given.groups for part in one.walk()):
        siblings = contexts_of(group)
        if len(siblings) > 1:
            for one in siblings[0].definitions:
                if all(_has(sibling, one) for sibling in siblings[1:]):
                    yield Remark(
                        one.line,
                        f"`{one.kind}(:{one.name})` is the same in all {len(siblings)} contexts.",
                        "Move it to the group around them.",
                    )


def _has(group: Group, wanted: Definition) -> bool:
    words = wanted.body.split()
    return any(
        (one.kind, one.name) == (wanted.kind, wanted.name) and one.body.split() == words for one in group.definitions
    )


def _success_first(given: Reviewed) -> Iterator[Remark]:
    for group in (part for one in given.groups for part in one.walk()):
        for line, text in order_problems(group):
            yield Remark(line, f"{text}.", "Put the successful case first.")


def _both_cases(given: Reviewed) -> Iterator[Remark]:
    for group in given.groups:
        signs = set(_signs(group, negative=False))
        if len(signs) == 1:
            word = "negative" if signs == {True} else "positive"
            yield Remark(group.line, f"All cases are {word}.", "Add the cases in which it goes the other way.")


def _signs(group: Group, *, negative: bool) -> Iterator[bool]:
    """Whether each leaf context is negative, by its own text or that of a context around it; not of those never run."""
    for one in contexts_of(group):
        examples = [*one.all_examples()]
        if examples and all(example.pending for example in examples):
            continue
        here = negative or is_negative(one.text)
        if contexts_of(one):
            yield from _signs(one, negative=here)
        else:
            yield here


def _own_setup(given: Reviewed) -> Iterator[Remark]:
    nodes = tree_of((given.document or {}).get("characteristics") or ())
    for group in given.groups:
        states = matched(group, nodes)
        for one in (context for part in group.walk() for context in contexts_of(part)):
            if not has_setup(one) and not (one.start in states and states[one.start].is_default):
                yield Remark(
                    one.line, f"The context '{one.text}' has no setup of its own.", "Set up what its text says."
                )


def _subject(given: Reviewed) -> Iterator[Remark]:
    for group in given.groups:
        if next(subjects((*given.outer, *group.walk())), None) is None:
            yield Remark(group.line, "There is no subject.", "Define `subject(:result)` that calls the method.")


def _phases(given: Reviewed) -> Iterator[Remark]:
    for hook in (hook for one in given.groups for part in one.walk() for hook in part.hooks):
        if "before" in hook.kind:
            yield from (
                Remark(one.line, "An expectation in a `before` hook.", "Move it into an example.")
                for one in hook.expectations
            )


def _builds(given: Reviewed) -> Iterator[Remark]:
    if (given.document or {}).get("test_level") != "unit":
        return
    for group in given.groups:
        for call in factory_calls(group):
            if call.stores and not must_be_stored(call, group):
                yield Remark(call.line, f"`{call.method}(:{call.factory})` at unit level.", "Use `build_stubbed`.")


def _no_programs(given: Reviewed) -> Iterator[Remark]:
    for one in given.examples():
        for word, line in one.branches:
            yield Remark(line, f"{_said(one)} contains `{word}`.", "Write one example for each case.")


def _example_words(given: Reviewed) -> Iterator[Remark]:
    for one in given.examples():
        one_liner = one.text is None and one.expectations and "\n" not in one.body
        if not one_liner:
            yield from (
                Remark(one.line, f"{text}.", "State what happens, in the present tense.")
                for text in example_problems(one)
            )


def _context_words(given: Reviewed) -> Iterator[Remark]:
    for group in given.groups:
        roots = {one.start for one in contexts_of(group)}
        for one in (context for part in group.walk() for context in contexts_of(part)):
            if one.kind.endswith("context"):
                for text in context_problems(one, root=one.start in roots):
                    yield Remark(one.line, f"{text}.", "Begin with when, with, and, but or without; negate with NOT.")


def _any_instance(given: Reviewed) -> Iterator[Remark]:
    yield from _named(given, _ANY_INSTANCE, "Pass the object in, and use an `instance_double`.")


def _doubles(given: Reviewed) -> Iterator[Remark]:
    yield from _named(given, frozenset(("double",)), "Use `instance_double`, `class_double` or `object_double`.")


def _named(given: Reviewed, names: frozenset[str], fix: str) -> Iterator[Remark]:
    for call in (call for one in given.groups for part in one.walk() for call in calls_of(part)):
        if call.name in names and (not call.receiver or call.name == "any_instance"):
            yield Remark(call.line, f"`{call.name}` is used.", fix)


def _one_rule(given: Reviewed) -> Iterator[Remark]:
    for one in given.examples():
        roots = {match[0] for each in one.expectations if (match := _ROOT.match(each.target))}
        if one.aggregated and len(roots) > 1:
            yield Remark(
                one.line,
                f"{_said(one)} aggregates expectations on {', '.join(sorted(roots))}.",
                "Write one example for each rule.",
            )


def _requests(given: Reviewed) -> Iterator[Remark]:
    if given.path.startswith("spec/controllers/") or b"type: :controller" in given.data:
        yield Remark(1, "This is a controller spec.", "Write a request spec in `spec/requests`.")


def _stable_time(given: Reviewed) -> Iterator[Remark]:
    yield from unstable(time_remarks(given.groups, given.data))


def _explains(given: Reviewed) -> Iterator[Remark]:
    for one in (each for example in given.examples() for each in example.expectations):
        if _COMPARES.search(one.target) and _TRUTH.search(one.matcher):
            yield Remark(
                one.line, f"A comparison inside `expect({one.target})`.", "Compare with a matcher, such as `eq`."
            )


def _said(example: Example) -> str:
    return f"The example '{example.text}'" if example.text else "An example without a description"


CHECKS: dict[int, Check] = {
    1: _behaviour,
    2: _verifies,
    3: _one_behaviour,
    5: _hierarchy,
    6: _shared_setup,
    7: _success_first,
    8: _both_cases,
    9: _own_setup,
    10: _subject,
    11: _phases,
    14: _builds,
    15: _no_programs,
    19: _example_words,
    20: _context_words,
    22: _any_instance,
    23: _one_rule,
    24: _doubles,
    26: _requests,
    27: _stable_time,
    28: _explains,
}
