"""Which documents are valid, and what is said about the others."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from moot.packs.rspec_v1.validation import validate
from tests.specs.rspec_v1.documents import PAYMENT, changed, without


@pytest.mark.proves("S1-VAL-01")
def test_a_complete_document_is_valid() -> None:
    verdict = validate(PAYMENT)
    assert verdict.errors == ()
    assert verdict.section() == {"completed": True, "errors": [], "warnings": []}


@pytest.mark.proves("S1-VAL-01")
def test_completed_is_false_exactly_if_there_are_errors() -> None:
    section = validate(without("target")).section()
    assert section == {"completed": False, "errors": ["target: missing"], "warnings": []}
    with_warning = validate(changed("characteristics", []))
    assert with_warning.section()["completed"]
    assert with_warning.warnings


@pytest.mark.proves("S1-VAL-02")
@pytest.mark.parametrize(
    "path",
    [
        *("analyzer", "test_level", "target", "characteristics", "factories_detected"),
        *("analyzer.completed", "analyzer.timestamp", "analyzer.source_file_mtime", "analyzer.version"),
        *("target.class", "target.method", "target.method_type", "target.file"),
    ],
)
def test_a_missing_section_or_field_is_an_error_with_its_path(path: str) -> None:
    document = without(path)
    document["automation"]["analyzer_version"] = "built-in 1.0"
    assert validate(document).errors == (f"{path}: missing",)


@pytest.mark.proves("S1-META-05")
def test_the_version_is_required_only_of_the_built_in_analyzer() -> None:
    assert validate(without("analyzer.version")).valid


@pytest.mark.proves("S1-META-07")
def test_a_missing_field_of_a_characteristic_is_an_error_except_when_parent_of_a_root() -> None:
    for key in ("name", "type", "states", "default", "depends_on", "level"):
        errors = validate(without(f"characteristics.0.{key}")).errors
        assert f"characteristics[0].{key}: missing" in errors
    assert validate(without("characteristics.0.when_parent")).valid


BAD = [
    ("analyzer", [], "analyzer: expected a map, got a list"),
    ("analyzer.completed", False, "analyzer.completed: expected true, got false"),
    ("analyzer.completed", "true", 'analyzer.completed: expected true, got "true"'),
    ("analyzer.timestamp", "yesterday", 'analyzer.timestamp: expected an ISO 8601 time in UTC, got "yesterday"'),
    ("analyzer.timestamp", "2025-11-07", 'analyzer.timestamp: expected an ISO 8601 time in UTC, got "2025-11-07"'),
    (
        "analyzer.timestamp",
        "2025-11-07T10:30:00+02:00",
        'analyzer.timestamp: expected an ISO 8601 time in UTC, got "2025-11-07T10:30:00+02:00"',
    ),
    ("analyzer.source_file_mtime", 0, "analyzer.source_file_mtime: expected a positive integer, got 0"),
    ("analyzer.source_file_mtime", True, "analyzer.source_file_mtime: expected a positive integer, got true"),
    ("analyzer.source_file_mtime", "1", 'analyzer.source_file_mtime: expected a positive integer, got "1"'),
    ("analyzer.version", 1.0, "analyzer.version: expected a string, got a number"),
    ("test_level", "system", 'test_level: expected unit, integration, request or e2e, got "system"'),
    ("target", None, "target: expected a map, got null"),
    ("target.class", "payment", 'target.class: expected a Ruby constant path, got "payment"'),
    ("target.class", "A::", 'target.class: expected a Ruby constant path, got "A::"'),
    (
        "target.method",
        "#process",
        'target.method: expected the name of a Ruby method, without # or ., got "#process"',
    ),
    ("target.method", "a b", 'target.method: expected the name of a Ruby method, without # or ., got "a b"'),
    ("target.method_type", "module", 'target.method_type: expected instance or class, got "module"'),
    ("target.file", "/etc/a.rb", 'target.file: expected a path relative to the project root, got "/etc/a.rb"'),
    ("target.file", "../a.rb", 'target.file: expected a path relative to the project root, got "../a.rb"'),
    ("target.uses_models", "yes", 'target.uses_models: expected true or false, got "yes"'),
    ("characteristics", {}, "characteristics: expected a list, got a map"),
    ("characteristics.0", "x", "characteristics[0]: expected a map, got a string"),
    (
        "characteristics.2.type",
        "list",
        'characteristics[2].type: expected binary, enum, range or sequential, got "list"',
    ),
    ("characteristics.2.states", "card", "characteristics[2].states: expected a list, got a string"),
    ("characteristics.2.states", ["one"], "characteristics[2].states: expected at least two states, got 1"),
    ("characteristics.2.states", ["one", 2], "characteristics[2].states[1]: expected a string, got 2"),
    ("characteristics.2.states", ["a", "b", "a"], 'characteristics[2].states[2]: "a" is there twice'),
    ("characteristics.2.default", "low", 'characteristics[2].default: "low" is not one of its states'),
    ("characteristics.2.level", 0, "characteristics[2].level: expected an integer from 1, got 0"),
    ("factories_detected", [], "factories_detected: expected a map, got a list"),
    ("automation.errors", "none", 'automation.errors: expected a list of strings, got "none"'),
    ("automation.linter", "pronto", 'automation.linter: expected rubocop or standardrb, got "pronto"'),
]


@pytest.mark.proves("S1-VAL-02", "S1-META-05", "S1-META-06", "S1-META-07", "S1-META-08")
@pytest.mark.parametrize(("path", "value", "message"), BAD)
def test_a_bad_value_is_an_error_with_its_path(path: str, value: object, message: str) -> None:
    assert message in validate(changed(path, value)).errors


@pytest.mark.proves("S1-VAL-02")
def test_a_duplicate_name_is_an_error() -> None:
    errors = validate(changed("characteristics.2.name", "payment_method")).errors
    assert 'characteristics[2].name: "payment_method" is already the name of characteristics[1]' in errors


@pytest.mark.proves("S1-VAL-02")
def test_every_defect_is_an_error_of_its_own() -> None:
    document = changed("analyzer.completed", None)
    document["target"]["class"] = "x"
    document["test_level"] = "?"
    del document["factories_detected"]
    assert len(validate(document).errors) == 4


LINKS = [
    ("characteristics.1.depends_on", "login", "characteristics[1].depends_on: there is no characteristic 'login'"),
    (
        "characteristics.1.when_parent",
        None,
        "characteristics[1].when_parent: missing; it must be a state of user_authenticated",
    ),
    (
        "characteristics.1.when_parent",
        "guest",
        "characteristics[1].when_parent: 'guest' is not a state of user_authenticated",
    ),
    ("characteristics.0.when_parent", "card", "characteristics[0].when_parent: 'card' is given without depends_on"),
    ("characteristics.0.level", 2, "characteristics[0].level: a characteristic without depends_on has level 1, not 2"),
    ("characteristics.2.level", 2, "characteristics[2].level: expected 3, one more than that of payment_method, got 2"),
    ("factories_detected.user", {"traits": []}, "factories_detected.user.file: missing"),
    ("factories_detected.user", {"file": "a.rb"}, "factories_detected.user.traits: missing"),
    ("factories_detected.user", "a.rb", "factories_detected.user: expected a map with file and traits, got a string"),
]


@pytest.mark.proves("S1-VAL-03")
@pytest.mark.parametrize(("path", "value", "message"), LINKS)
def test_a_dependency_fault_is_an_error(path: str, value: object, message: str) -> None:
    assert message in validate(changed(path, value)).errors


def chain(*pairs: tuple[str, str | None]) -> dict[str, Any]:
    """A document whose characteristics depend on each other like this."""
    document = copy.deepcopy(PAYMENT)
    document["characteristics"] = [
        {
            "name": name,
            "type": "binary",
            "states": ["yes", "no"],
            "default": None,
            "depends_on": parent,
            "when_parent": "yes" if parent else None,
            "level": 2 if parent else 1,
        }
        for name, parent in pairs
    ]
    return document


@pytest.mark.proves("S1-VAL-03")
def test_a_cycle_is_shown_once_with_its_whole_path() -> None:
    errors = validate(chain(("a", "b"), ("b", "a"))).errors
    assert errors == ("characteristics: the dependencies form a cycle: a -> b -> a",)
    errors = validate(chain(("x", "a"), ("a", "b"), ("b", "c"), ("c", "a"), ("self", "self"))).errors
    assert [one for one in errors if "cycle" in one] == [
        "characteristics: the dependencies form a cycle: a -> b -> c -> a",
        "characteristics: the dependencies form a cycle: self -> self",
    ]


@pytest.mark.proves("S1-VAL-04")
def test_warnings_do_not_invalidate() -> None:
    document = changed("characteristics.2.type", "binary")
    document["characteristics"][2]["states"] = ["a", "b", "c"]
    verdict = validate(document, exists=lambda _: False)
    assert verdict.valid
    assert verdict.warnings == (
        "characteristics[2].states: a binary characteristic has two states, not 3",
        "target.file: app/services/payment_service.rb does not exist",
    )
    assert validate(changed("characteristics", [])).warnings == (
        "characteristics: empty, so only a minimal skeleton follows",
    )


@pytest.mark.parametrize("document", [None, [], "text", 3])
def test_a_document_that_is_not_a_map_is_one_error(document: object) -> None:
    assert len(validate(document).errors) == 1


@pytest.mark.parametrize("name", ["call", "paid?", "save!", "name=", "[]", "[]=", "<=>", "+@", "größe", "_x"])
def test_every_ruby_method_name_is_valid(name: str) -> None:
    assert validate(changed("target.method", name)).valid
