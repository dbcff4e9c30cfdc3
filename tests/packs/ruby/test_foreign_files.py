"""Hundreds of installed Ruby libraries go through the parser and the analysis; Ruby's own parser says what is right.

`make soak` takes all of them: 3,393 files with 698,409 lines and 40,956 methods when this was written.
"""

from __future__ import annotations

import pytest

from moot.core.errors import MootError
from moot.packs.rspec_v1.analysis import analyze
from moot.packs.rspec_v1.context_tree import shape_of_group, shape_of_nodes, tree_of
from moot.packs.rspec_v1.method_block import find_block
from moot.packs.rspec_v1.skeleton import spec_with_skeleton
from moot.packs.rspec_v1.validation import validate
from moot.packs.ruby.conditionals import conditionals
from moot.packs.ruby.declarations import declarations
from moot.packs.ruby.syntax import parse
from tests.packs.ruby import foreign

pytestmark = pytest.mark.skipif(not foreign.usable(), reason="ruby is not installed")

SOME_AND_ALL = pytest.mark.parametrize(
    "every", [False, pytest.param(True, marks=(pytest.mark.soak, pytest.mark.timeout(900)))], ids=["some", "all"]
)


def paths(every: bool) -> list[str]:
    return [path for path in foreign.files() if not foreign.limited(path)] if every else foreign.sample()


def ours(data: bytes) -> list[list]:
    """Name, line and number of conditionals of every `def`, as `ripper.rb` has them."""
    found = [
        [one.name, one.first_line, sum(1 for top in conditionals(one) for _ in top.walk())]
        for one in declarations(parse(data)).definitions
    ]
    return sorted(found, key=lambda one: (one[1], one[0]))


@SOME_AND_ALL
def test_methods_and_their_conditionals_are_those_that_ripper_finds(every):
    taken = paths(every)
    assert len(taken) >= foreign.LEAST
    theirs = foreign.ripper(taken)
    differing = {}
    methods = 0
    for path in taken:
        expected = sorted(theirs[path]["defs"], key=lambda one: (one[1], one[0]))
        assert theirs[path]["ok"], path
        methods += len(expected)
        data = foreign.read(path)
        if ours(data) != expected or parse(data).problems:
            differing[path] = parse(data).problems[:1]
    assert differing == {}
    assert methods > 2000


def test_the_limits_of_the_grammar_are_still_there():
    """Fails when tree-sitter-ruby reads one of them: then remove it from the list."""
    limited = [path for path in foreign.files() if foreign.limited(path)]
    assert [path for path in limited if not parse(foreign.read(path)).problems] == []
    for path in limited:  # most methods are found nevertheless
        found = {one.name for one in declarations(parse(foreign.read(path))).definitions}
        wanted = {name for name, *_ in foreign.ripper([path])[path]["defs"]}
        assert len(wanted - found) <= 1


def documents(path: str):
    """The document of every method of a file that can be a target."""
    source = parse(foreign.read(path))
    for one in declarations(source).methods:
        if one.kind == "singleton" or not one.owner or "." in one.owner:
            continue
        try:
            found = analyze(source.data, "lib/a.rb", f"{'.' if one.kind == 'class' else '#'}{one.name}", one.owner)
        except MootError:  # too complex, or ambiguous
            continue
        yield {
            "analyzer": {
                "completed": True,
                "timestamp": "2026-01-02T03:04:05Z",
                "source_file_mtime": 1,
                "version": "1.0",
            },
            "test_level": "unit",
            "target": found.target,
            "characteristics": found.characteristics,
            "factories_detected": {},
            "automation": {},
        }


@SOME_AND_ALL
def test_every_method_gives_a_valid_document(every):
    checked = 0
    for path in paths(every):
        for document in documents(path):
            errors = validate(document).errors
            assert errors == (), (path, document["target"], errors)
            checked += 1
    assert checked > 2000


@SOME_AND_ALL
def test_every_method_gives_a_skeleton_that_ruby_accepts(every):
    texts: list[str] = []
    checked = 0
    for number, document in enumerate(one for path in paths(every) for one in documents(path)):
        texts.append(spec_with_skeleton(document, None).data.decode())
        if number % 25 == 0:
            assert_same_tree(texts[-1], document)
        if len(texts) == 2000:
            checked += accepted(texts)
            texts = []
    checked += accepted(texts)
    assert checked > 2000


def accepted(texts: list[str]) -> int:
    refused = foreign.refused_by_ruby(texts)
    assert refused == [], texts[refused[0]]
    return len(texts)


def assert_same_tree(text: str, document: dict) -> None:
    block = find_block(text.encode(), document["target"])
    assert shape_of_group(block.group) == shape_of_nodes(tree_of(document["characteristics"]))
    examples = list(block.group.all_examples())
    assert examples
    assert all(one.pending for one in examples)
