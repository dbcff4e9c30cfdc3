"""The validator: it agrees with a full one on every schema that it takes, and says what is wrong in words."""

from __future__ import annotations

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moot.core.errors import Usage
from moot.core.schema import MOST, Defect, check_schema, defects
from moot.core.schema.patterns import matches, objection

# ---------------------------------------------------------------------- against a full validator

WORDS = ["", "a", "ab", "abc", "😀", "a\n", "\u00a0a", "2024-01-01T00:00:00Z", "2024-13-01T00:00:00Z", "x" * 70]
PATTERNS = ["^a", "a$", "^[^\\n]*$", "\\s", "\\S$", "^\\w{2}$", "^a+b?$", "😀", ""]
NUMBERS = [-1, 0, 1, 1.0, 0.5, -0.0, 2, 1e300, 2**53 + 1, float(2**53)]
NAMES = ["a", "b", "c d"]
TYPES = ["null", "boolean", "string", "number", "integer", "array", "object"]

scalars = st.one_of(st.none(), st.booleans(), st.sampled_from(NUMBERS), st.sampled_from(WORDS))
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)),
    max_leaves=8,
)
sizes = st.integers(0, 3)

plain_keywords = {
    "type": st.one_of(st.sampled_from(TYPES), st.lists(st.sampled_from(TYPES), min_size=1, max_size=3, unique=True)),
    "const": values,
    "enum": st.lists(values, min_size=1, max_size=3),
    "required": st.lists(st.sampled_from(NAMES), unique=True),
    "minLength": sizes,
    "maxLength": sizes,
    "minItems": sizes,
    "maxItems": sizes,
    "minimum": st.sampled_from(NUMBERS),
    "maximum": st.sampled_from(NUMBERS),
    "pattern": st.sampled_from(PATTERNS),
    "format": st.just("date-time"),
    "title": st.just("a title"),
    "description": st.just("something described."),
    "$comment": st.just("no more than that"),
    "default": values,
    "examples": st.lists(values, max_size=1),
}


def nesting_keywords(inner):
    branches = st.lists(inner, min_size=1, max_size=3)
    return {
        "properties": st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
        "additionalProperties": inner,
        "items": inner,
        "allOf": branches,
        "anyOf": branches,
        "not": inner,
        "if": st.fixed_dictionaries({"if": inner}, optional={"then": inner, "else": inner}),
    }


def some_of(keywords, most: int):
    """A few of the keywords, `if` with its followers."""
    chosen = st.lists(st.sampled_from(sorted(keywords)), max_size=most, unique=True)
    drawn = chosen.flatmap(lambda names: st.fixed_dictionaries({name: keywords[name] for name in names}))
    return drawn.map(lambda schema: {**schema, **schema.get("if", {})})


leaves = st.one_of(st.booleans(), some_of(plain_keywords, 3))


def schemas_over(leaf):
    return st.recursive(leaf, lambda inner: some_of(plain_keywords | nesting_keywords(inner), 4), max_leaves=8)


@st.composite
def schemas(draw):
    """A schema whose definitions refer to earlier ones only."""
    names = draw(st.lists(st.sampled_from(["one", "two", "three"]), unique=True, max_size=3))
    definitions: dict = {}
    for name in names:
        definitions[name] = draw(schemas_over(_with_references(leaves, definitions)))
    root = draw(schemas_over(_with_references(leaves, definitions)))
    return {**root, "$defs": definitions} if definitions and isinstance(root, dict) else _alone(root, definitions)


def _with_references(leaf, definitions):
    if not definitions:
        return leaf
    reference = st.sampled_from(sorted(definitions)).map(lambda name: {"$ref": f"#/$defs/{name}"})
    return st.one_of(leaf, reference)


def _alone(root, definitions):
    return {"$defs": definitions, "allOf": [root]} if definitions else root


@settings(max_examples=250)
@given(schemas(), st.lists(values, min_size=1, max_size=5))
def test_a_value_has_no_defect_exactly_if_a_full_validator_takes_it(schema, several):
    check_schema(schema)
    full = jsonschema_rs.Draft202012Validator(schema, validate_formats=True)
    for value in several:
        found = defects(schema, value)
        assert (found == []) == full.is_valid(value)
        assert len({defect.path for defect in found}) == len(found)
        assert all(defect.expected and len(defect.found) < 500 for defect in found)


SINGLES = [
    None, True, False, *NUMBERS, *WORDS, [], [0], [False], [1, 1], [[1.0]], [[True]], {}, {"a": 1}, {"a": True},
    {"b": 1}, {"a": 1, "b": "ab"}, {"a": {"a": 0}},
]  # fmt: skip
CASES = [
    *({"const": value} for value in SINGLES),
    *({"enum": [value, "other"]} for value in SINGLES),
    *({"type": name} for name in TYPES),
    {"type": ["integer", "null"]},
    *({keyword: size} for keyword in ("minLength", "maxLength", "minItems", "maxItems") for size in (0, 1, 2)),
    *({keyword: number} for keyword in ("minimum", "maximum") for number in NUMBERS),
    *({"pattern": pattern} for pattern in PATTERNS),
    {"format": "date-time"},
    {"required": ["a"]},
    {"properties": {"a": {"type": "integer"}}},
    {"properties": {"a": True}, "additionalProperties": False},
    {"additionalProperties": {"type": "string"}},
    {"properties": {"a": False}},
    {"items": {"type": "integer"}},
    {"items": False},
    {"not": {"type": "string"}},
    {"anyOf": [{"type": "string"}, {"minimum": 1}]},
    {"allOf": [{"type": "number"}, {"minimum": 1}]},
    {"if": {"type": "string"}, "then": {"minLength": 2}, "else": {"minimum": 1}},
    {"if": {"type": "string"}, "else": {"type": "null"}},
    {"$ref": "#/$defs/a", "minLength": 2, "$defs": {"a": {"maxLength": 2}}},
    {"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"minimum": 1}}},
]


def test_each_keyword_alone_is_judged_as_a_full_validator_judges_it():
    wrong = []
    for schema in CASES:
        check_schema(schema)
        full = jsonschema_rs.Draft202012Validator(schema, validate_formats=True)
        wrong += [(schema, value) for value in SINGLES if (defects(schema, value) == []) != full.is_valid(value)]
    assert wrong == []


ATOMS = ["a", "b", "-", "[ab]", "[^a]", "[\\s-]", "[^\\s\\d]", *(f"\\{letter}" for letter in "dDwWsSnrtfv.$\\")]
CHARACTERS = "ab-1_. $\\\t\n\v\f\r\x1c\x85\u00a0\u1680\u180e\u2007\u200b\u2028\u2029\u202f\u205f\u3000\ufeffé٣😀"


def test_each_part_of_a_pattern_matches_the_characters_that_it_matches_elsewhere():
    wrong = []
    for atom in ATOMS:
        full = jsonschema_rs.Draft202012Validator({"pattern": f"^{atom}$"})
        wrong += [(atom, char) for char in CHARACTERS if matches(f"^{atom}$", char) != full.is_valid(char)]
    assert wrong == []


atoms = st.sampled_from(ATOMS)
counts = st.sampled_from(["", "", "?", "*", "+", "{2}", "{1,}", "{0,2}"])
patterns = st.builds(
    lambda start, row, end: start + "".join(atom + count for atom, count in row) + end,
    st.sampled_from(["", "^"]),
    st.lists(st.tuples(atoms, counts), max_size=4),
    st.sampled_from(["", "$"]),
)


@settings(max_examples=400)
@given(patterns, st.lists(st.text(CHARACTERS), min_size=1, max_size=5))
def test_a_pattern_that_is_taken_means_what_it_means_elsewhere(pattern, texts):
    if objection(pattern) is None:
        full = jsonschema_rs.Draft202012Validator({"pattern": pattern})
        assert [matches(pattern, text) for text in texts] == [full.is_valid(text) for text in texts]


# ---------------------------------------------------------------------- what is said

TEXT = {"type": "string", "minLength": 1}
BUILD = {
    "type": "object",
    "required": ["status", "errors"],
    "properties": {"status": {"enum": ["good", "bad"]}, "errors": {"type": "integer", "minimum": 0}},
    "if": {"properties": {"status": {"const": "good"}}, "required": ["status"]},
    "then": {"properties": {"errors": {"const": 0}}, "required": ["errors"]},
}


@pytest.mark.parametrize(
    ("schema", "value", "told"),
    [
        (TEXT, "", [("", "a non-empty string", '""')]),
        (TEXT, None, [("", "a non-empty string", "null")]),
        ({"enum": ["web", "ios"]}, "Web", [("", "one of web, ios", '"Web"')]),
        ({"enum": ["a b", "", 1, None]}, "x", [("", 'one of "a b", "", 1, null', '"x"')]),
        ({"const": "done"}, [], [("", "done", "an empty list")]),
        ({"type": "integer", "minimum": 0}, True, [("", "a whole number of 0 or more", "true")]),
        ({"type": "integer", "minimum": 0}, 1.5, [("", "a whole number of 0 or more", "1.5")]),
        ({"type": "number", "minimum": 0, "maximum": 1}, 2, [("", "a number of 0 to 1", "2")]),
        ({"type": ["string", "null"]}, 1, [("", "a string or null", "1")]),
        ({"type": "string", "maxLength": 2}, "abc", [("", "a string of at most 2 characters", '"abc"')]),
        ({"type": "string", "pattern": "^a$"}, "b", [("", "a string that matches ^a$", '"b"')]),
        ({"pattern": "^a$", "description": "the letter a."}, "b", [("", "the letter a", '"b"')]),
        ({"not": {"type": "null"}}, None, [("", "anything but null", "null")]),
        ({"anyOf": [TEXT, {"type": "null"}]}, 1, [("", "a non-empty string or null", "1")]),
        ({"type": "array", "minItems": 1}, [], [("", "a non-empty list", "an empty list")]),
        ({"type": "array", "items": TEXT}, "x", [("", "a list, each a non-empty string", '"x"')]),
        ({"items": TEXT}, ["a", 1, ""], [("[1]", "a non-empty string", "1"), ("[2]", "a non-empty string", '""')]),
        ({"type": "object"}, {"a": 1}, []),
        ({"additionalProperties": False}, {"a": {"b": 1}}, [("a", "nothing", "an object of 1 field")]),
        ({"required": ["a b"]}, {}, [('["a b"]', "anything", "nothing")]),
    ],
)
def test_a_defect_reads_well(schema, value, told):
    check_schema(schema)
    assert defects(schema, value) == [Defect(*one) for one in told]


def test_all_defects_are_told_at_once_in_the_order_of_the_schema():
    schema = {
        "type": "object",
        "required": ["kind", "build", "files", "extra"],
        "properties": {"kind": {"const": "report"}, "files": {"type": "array", "items": TEXT}, "build": BUILD},
    }
    value = {"build": {"status": "ugly", "errors": "3"}, "files": ["a", None], "kind": "Report"}
    assert [defect.sentence for defect in defects(schema, value)] == [
        'kind: expected report, found "Report"',
        "files[1]: expected a non-empty string, found null",
        'build.status: expected one of good, bad, found "ugly"',
        'build.errors: expected a whole number of 0 or more, found "3"',
        "extra: expected anything, found nothing",
    ]


@pytest.mark.parametrize(
    ("value", "expected", "found"),
    [
        ({"status": "good", "errors": 2}, "0 when status is good", "2"),
        ({"status": "good", "errors": -1}, "0 when status is good", "-1"),
        ({"status": "bad", "errors": -1}, "a whole number of 0 or more", "-1"),
        ({"status": "good"}, "0 when status is good", "nothing"),
    ],
)
def test_a_conditional_rule_adds_its_condition_and_no_second_defect(value, expected, found):
    assert defects(BUILD, value) == [Defect("errors", expected, found)]


def test_of_several_branches_the_one_that_was_meant_is_explained():
    schema = {"anyOf": [{"type": "null"}, BUILD]}
    assert [defect.path for defect in defects(schema, {"status": "bad"})] == ["errors"]


def test_long_and_hostile_values_are_shown_short_and_safe():
    found = defects({"const": 1}, "\x1b]0;pwned\x07" + "x" * 1_000_000)[0].found
    assert "\x1b" not in found
    assert "(1000010 characters)" in found
    assert len(found) < 150


def test_a_hostile_field_name_is_shown_short_and_safe():
    path = defects({"additionalProperties": False}, {"\x1b" + "k" * 1_000_000: 1})[0].path
    assert "\x1b" not in path
    assert len(path) < 150


def test_endless_defects_are_bounded_and_it_is_said():
    told = defects({"items": TEXT}, [0] * 1_000_000)
    assert len(told) == MOST + 1
    assert told[-1] == Defect("", "at most 1000 defects", "more")


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_what_json_does_not_have_is_no_number(number):
    assert defects({"type": "number"}, number)
    assert defects({"type": "integer"}, number)


# ---------------------------------------------------------------------- what a schema may not be


REFUSED = [
    ([], "#"),
    ({"oneOf": []}, "#/oneOf"),
    ({"properties": {"a": {"patternProperties": {}}}}, "#/properties/a/patternProperties"),
    ({"allOf": [True, {"uniqueItems": True}]}, "#/allOf/1/uniqueItems"),
    ({"if": True, "then": {"exclusiveMinimum": 1}}, "#/then/exclusiveMinimum"),
    ({"items": [True]}, "#/items"),
    ({"type": "text"}, "#/type"),
    ({"type": []}, "#/type"),
    ({"enum": []}, "#/enum"),
    ({"required": "a"}, "#/required"),
    ({"minLength": -1}, "#/minLength"),
    ({"minLength": True}, "#/minLength"),
    ({"minimum": "1"}, "#/minimum"),
    ({"format": "email"}, "#/format"),
    ({"properties": {"a": 1}}, "#/properties/a"),
    ({"$schema": "http://json-schema.org/draft-07/schema#"}, "#/$schema"),
    ({"items": {"$id": "x"}}, "#/items/$id"),
    ({"$ref": "other.json"}, "#/$ref"),
    ({"$ref": "#"}, "#/$ref"),
    ({"$ref": "#/$defs/a"}, "#/$ref"),
    ({"$defs": {"a": {"$ref": "#/$defs/a"}}}, "#/$defs/a"),
    ({"$defs": {"a": {"not": {"$ref": "#/$defs/b"}}, "b": {"$ref": "#/$defs/a"}}}, "#/$defs/a"),
]


def test_a_schema_that_would_not_be_honoured_is_refused_with_the_place():
    for schema, where in REFUSED:
        with pytest.raises(Usage) as refused:
            check_schema(schema)
        assert (refused.value.code, refused.value.details["where"]) == ("schema_unusable", where)


BEYOND = r"""
(a) a|b . a*? a++ ^a^ a$b \bA \1 (?=a) [a [z-a] [[a] [a&&b] [\d-z] \p{L} a{3,2} a{,2} a{1,99999}
a+ ^a*a ^a*b?a ^a?a{3} ^a*b*[ab] ^\d*1$ ^[^\n]*\S$ ^\w{1,5}\w{1,5}$
""".split()  # noqa: SIM905 (a table reads better)


def test_a_pattern_outside_of_the_subset_is_refused():
    assert [pattern for pattern in BEYOND if not objection(pattern)] == []
    with pytest.raises(Usage, match="pattern"):
        check_schema({"pattern": BEYOND[0]})


WITHIN = r"^ $ ^task-\d{3,}$ ^[a-z_][\w]*$ ^\d+\.\d+\.\d+$ \\$ \$ ^[A-Za-z0-9_-]+$ #\d ^a*b*c$".split()  # noqa: SIM905


def test_a_pattern_inside_of_the_subset_is_taken():
    assert [pattern for pattern in ("", *WITHIN) if objection(pattern)] == []


def test_no_text_makes_a_pattern_slow():
    for pattern in ("^[^\\n]+$", "\\s$", "^\\d+\\.\\d+$", "^a?b?c?d?e?f?$"):
        assert objection(pattern) is None
        assert matches(pattern, "1" * 2_000_000 + "\n") in (True, False)
        assert matches(pattern, " " * 2_000_000 + "x") in (True, False)
