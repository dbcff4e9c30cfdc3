"""The catalogue: what is declared about a verb is true of it, and arguments are checked before anything happens."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from typing import Any

import pytest

import moot
from moot.api import catalogue
from moot.api.catalogue import Param, Verb
from moot.core.errors import Usage

VERBS: list[Verb] = [catalogue.find(name) for name in catalogue.names()]
TYPES = {"text", "words", "int", "seconds", "flag", "json"}
GLOBAL = {"json", "help", "version", "agent", "person"}  # every verb has these options

# These write and take no key: doing them again is harmless by itself.
KEYLESS = {"init", "start", "inbox", "wait", "mirror", "handle", "check", "restore"}
KEYLESS |= {"guard install", "guard remove", "guard check", "deinit", "run", "pack adopt"}


def test_the_index_and_the_modules_name_the_same_verbs() -> None:
    found = (module.name for module in pkgutil.walk_packages(moot.__path__, "moot.") if module.name != "moot.__main__")
    modules = {name for name in found if hasattr(importlib.import_module(name), "VERBS")}
    assert set(catalogue.MODULES) == modules
    for module, names in catalogue.MODULES.items():
        declared = importlib.import_module(module).VERBS
        assert [verb.name for verb in declared] == list(names)
    assert len(set(catalogue.names())) == len(catalogue.names())


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
class TestEveryVerb:
    def test_is_told_in_a_sentence_with_an_example(self, verb: Verb) -> None:
        assert verb.summary.endswith(".")
        assert verb.summary[0].isupper()
        assert verb.examples
        assert all(example.split(" --")[0].startswith(f"moot {verb.name}") for example in verb.examples)

    def test_declares_sound_arguments(self, verb: Verb) -> None:
        names = [param.name for param in verb.params]
        assert len(set(names)) == len(names)
        assert not GLOBAL & {param.name for param in verb.params if not param.positional}
        for param in verb.params:
            assert param.type in TYPES
            assert param.name.isidentifier()
            assert param.help.endswith(".")
            assert not (param.positional and param.type == "flag")
            assert not (param.required and param.default is not None)
        places = [param for param in verb.params if param.positional]
        assert sum(param.many for param in places) <= 1
        assert [p.required for p in places] == sorted((p.required for p in places), reverse=True)

    def test_is_carried_out_by_a_function_of_these_arguments(self, verb: Verb) -> None:
        taken = list(inspect.signature(verb.does).parameters.values())[1:]
        given = {param.name for param in verb.params if param.name != "key"}
        named = {p.name for p in taken if p.kind is not p.VAR_KEYWORD}
        assert given <= named or len(named) < len(taken)
        assert {p.name for p in taken if p.default is p.empty and p.name in named} <= given

    def test_takes_a_key_if_it_writes(self, verb: Verb) -> None:
        keyed = any(param == catalogue.KEY for param in verb.params)
        assert keyed == (verb.writes and verb.name not in KEYLESS)

    def test_has_one_class_and_only_looks_if_that_is_it(self, verb: Verb) -> None:
        assert verb.kind in catalogue.KINDS
        looks = not verb.writes or catalogue.only_looks(verb, verb.kind)
        # Whoever waits for a task ends the hold of one who fell silent, unless it is nobody.
        assert (verb.kind == "look") == (looks or verb.name == "wait")
        assert not (verb.anybody and verb.kind in ("look", "speak", "person"))
        assert catalogue.kind_of(verb, {}) == verb.kind

    def test_refuses_an_argument_that_it_does_not_have(self, verb: Verb) -> None:
        with pytest.raises(Usage) as caught:
            catalogue.checked(verb, {"no_such_argument": "x"})
        assert "no_such_argument" in caught.value.message
        assert verb.name in caught.value.remedy

    def test_asks_for_what_is_missing(self, verb: Verb) -> None:
        missing = [param.name for param in verb.params if param.required]
        if not missing:
            assert catalogue.checked(verb, {}).keys() == {param.name for param in verb.params}
            return
        with pytest.raises(Usage) as caught:
            catalogue.checked(verb, {})
        assert missing[0].upper() in caught.value.message


def test_an_argument_can_make_a_call_a_persons() -> None:
    reopen, wanted = catalogue.find("task reopen"), {"task": "task-001", "reason": "Again."}
    assert catalogue.kind_of(reopen, catalogue.checked(reopen, wanted)) == "own"
    assert catalogue.kind_of(reopen, catalogue.checked(reopen, {**wanted, "override": False})) == "own"
    assert catalogue.kind_of(reopen, catalogue.checked(reopen, {**wanted, "override": True})) == "person"
    needs = catalogue.find("needs-me")
    assert catalogue.kind_of(needs, catalogue.checked(needs, {"answer": "k-1", "text": "yes"})) == "person"
    assert catalogue.kind_of(needs, catalogue.checked(needs, {"answer": ""})) == "person"
    allow = catalogue.find("allow")
    assert catalogue.kind_of(allow, catalogue.checked(allow, {})) == "look"
    assert catalogue.kind_of(allow, catalogue.checked(allow, {"names": ["deploy"]})) == "person"


@pytest.mark.parametrize(
    ("kind", "some"),
    [
        ("look", {"board", "who-holds", "log", "search", "export", "backup", "wait", "verify", "doctor", "needs-me"}),
        ("speak", {"send", "reply", "ack", "inbox", "emit", "decide", "checkpoint reach"}),
        ("own", {"join", "task claim", "task approve", "claim", "release", "held drop", "init", "mirror"}),
        ("person", {"restore", "redact", "checkpoint resolve"}),
        ("local-exec", {"check", "handle"}),
    ],
)
def test_what_a_verb_can_do_is_its_class(kind: str, some: set[str]) -> None:
    assert some <= {verb.name for verb in VERBS if verb.kind == kind}


def test_who_may_act_without_a_name_is_listed() -> None:
    assert {verb.name for verb in VERBS if verb.anybody} == {"init", "start", "join", "mirror", "handle", "guard check"}


def test_an_unknown_verb_is_refused_with_where_to_find_the_verbs() -> None:
    with pytest.raises(Usage) as caught:
        catalogue.find("task clam")
    assert caught.value.code == "unknown_verb"
    assert "moot help --all" in caught.value.remedy


PARAMS = (
    Param("text", "."),
    Param("several", ".", many=True),
    Param("number", ".", type="int", default=7),
    Param("time", ".", type="seconds"),
    Param("flag", ".", type="flag"),
    Param("data", ".", type="json"),
    Param("choice", ".", default="a", choices=("a", "b")),
)
TRIED = Verb("try", "Try.", len, kind="look", params=PARAMS)


def test_what_is_not_given_has_its_default() -> None:
    assert catalogue.checked(TRIED, {}) == {
        "text": None,
        "several": (),
        "number": 7,
        "time": None,
        "flag": False,
        "data": None,
        "choice": "a",
    }


@pytest.mark.parametrize(
    ("name", "given", "value"),
    [
        ("text", "", ""),
        ("several", "one", ("one",)),
        ("several", ["one", "two"], ("one", "two")),
        ("number", "12", 12),
        ("number", 0, 0),
        ("time", "90", 90.0),
        ("time", "1.5m", 90.0),
        ("time", 2, 2.0),
        ("flag", True, True),
        ("data", '{"a": [1, null]}', {"a": [1, None]}),
        ("data", {"a": 1}, {"a": 1}),
        ("choice", "b", "b"),
    ],
)
def test_an_argument_gets_its_type(name: str, given: Any, value: Any) -> None:
    assert catalogue.checked(TRIED, {name: given})[name] == value


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("text", 3),
        ("text", ["a"]),
        ("text", "a\x00b"),
        ("text", "\udc80"),
        ("several", 3),
        ("several", [3]),
        ("several", ["fine", "\udc80"]),
        ("number", "1.5"),
        ("number", ""),
        ("number", "-1"),
        ("number", -1),
        ("number", str(1 << 63)),
        ("number", "9" * 5000),
        ("number", float("inf")),
        ("number", float("nan")),
        ("number", [1]),
        ("time", "soon"),
        ("time", "-1s"),
        ("time", "1e9"),
        ("time", float("inf")),
        ("time", True),
        ("choice", "c"),
    ],
)
def test_a_wrong_argument_is_named_in_the_refusal(name: str, given: Any) -> None:
    with pytest.raises(Usage) as caught:
        catalogue.checked(TRIED, {name: given})
    assert caught.value.code == "bad_arguments"
    assert name in caught.value.message


@pytest.mark.promise(15)
@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_every_text_is_bounded(verb: Verb) -> None:
    """But for the text of a message: a message is weighed as a whole, by its decider."""
    for param in verb.params:
        if param.type not in ("text", "words") or param.choices or param.name == "text":
            continue
        required = {p.name: (*p.choices, "x")[0] for p in verb.params if p.required and p.type != "json"}
        with pytest.raises(Usage) as caught:
            catalogue.checked(verb, {**required, param.name: "x" * ((1 << 20) + 1)})
        assert caught.value.code == "too_long"
        assert caught.value.details["size"] == (1 << 20) + 1
        catalogue.checked(verb, {**required, param.name: "x" * caught.value.details["limit"]})


@pytest.mark.parametrize(
    ("param", "limit"),
    [
        (Param("reason", "."), 10_000),
        (Param("title", "."), 500),
        (Param("id", "."), 200),
        (Param("needs", ".", many=True), 200),
        (Param("reason", ".", limit=7), 7),
        (Param("body", ".", type="words"), 1 << 20),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_a_text_may_be_as_long_as_its_limit_and_no_longer(param: Param, limit: int) -> None:
    verb = Verb("try", "Try.", len, kind="look", params=(param,))
    catalogue.checked(verb, {param.name: "x" * limit})
    with pytest.raises(Usage) as caught:
        catalogue.checked(verb, {param.name: "x" * (limit + 1)})
    assert (caught.value.code, caught.value.details["limit"]) == ("too_long", limit)


def test_words_are_weighed_in_bytes() -> None:
    verb = Verb("try", "Try.", len, kind="look", params=(Param("body", ".", type="words", limit=4),))
    catalogue.checked(verb, {"body": "éé"})
    with pytest.raises(Usage):
        catalogue.checked(verb, {"body": "ééé"})


@pytest.mark.parametrize(
    "given",
    [
        "{",
        '{"a": NaN}',
        '{"a": 1e999}',
        '{"a": "\\ud800"}',
        "[" * 100_000,
        "[" * 500 + "]" * 500,
        '{"a": ' + "9" * 5000 + "}",
        {"a": object()},
        {"a": float("inf")},
    ],
    ids=lambda given: str(given)[:20],
)
def test_what_is_no_json_is_refused_as_that(given: Any) -> None:
    with pytest.raises(Usage) as caught:
        catalogue.checked(TRIED, {"data": given})
    assert caught.value.code == "bad_json"
