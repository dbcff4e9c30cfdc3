"""The lists of verbs, aliases, and how required options are shown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from moot.api import catalogue
from moot.core.errors import Usage
from moot.surfaces.cli import contents, parse, reference
from moot.surfaces.cli.main import main
from tests.surfaces.command import tokens
from tests.surfaces.worlds import orchestrate

if TYPE_CHECKING:
    from tests.surfaces.command import Command

FOR_PACKS = [
    *(
        name
        for name in catalogue.names()
        if name.split()[0] in ("mailbox", "mailboxes", "held", "doc", "pack", "instructions", "run", "runs")
    ),
    "brief",
    "mirror",
]


def listed(text: str) -> set[str]:
    return set(re.findall(r"^  ([a-z-]+(?: [a-z]+)?)  +\S", text, re.MULTILINE))


# The lists


def test_the_first_help_fits_into_400_tokens_and_names_the_everyday_verbs(bare: Command) -> None:
    said = bare("--help").out
    assert tokens(said) <= 400
    assert listed(said) >= {"join", "inbox", "send", "task claim", "task submit", "claim", "ask", "--json"}
    assert "moot help --all" in said
    assert bare("-h").out == bare("help").out == said


def test_the_everyday_verbs_are_verbs_or_aliases() -> None:
    assert {*contents.EVERYDAY} <= {*catalogue.names(), *parse.ALIASES}


def test_the_long_list_names_every_verb_alias_option_and_exit_code_where_a_pack_is_on(bare: Command) -> None:
    orchestrate(bare)
    ran = bare("help", "--all")
    assert {*catalogue.names(), *parse.TAUGHT} <= listed(ran.out)
    for alias in parse.ALIASES:
        assert f"Alias: {alias}." in ran.out
    for name, _ in reference.OPTIONS:
        assert f"\n  {name}  " in ran.out
    assert re.findall(r"\b[0-7](?= [a-z])", ran.out.partition("Exit codes:")[2]) == list("01234567")
    assert bare("--help", "--all").out == ran.out
    assert bare("--all", "--help").out == ran.out


def test_verbs_for_packs_are_listed_only_with_a_pack_and_always_explained(run: Command) -> None:
    said = run("help", "--all").out
    assert set(catalogue.names()) - listed(said) == set(FOR_PACKS)
    assert "With a pack switched on" in said
    for name in FOR_PACKS:
        assert run("help", *name.split()).out.startswith(f"moot {name}")
    assert run("held").code == 0


@pytest.mark.parametrize("settings", ["packs = [", 'packs = ["nothing-of-this-name"]', None])
def test_the_long_list_needs_no_workspace_and_no_valid_settings(bare: Command, settings: str | None) -> None:
    if settings is not None:
        (bare.repo / "moot.toml").write_text(settings)
    assert bare("help", "--all").code == 0
    assert bare("-C", "/nowhere", "help", "--all").code == 0


def test_there_are_few_headings_and_each_verb_has_one() -> None:
    found = contents.sections()
    assert sorted(name for names in found.values() for name in names) == sorted(catalogue.names())
    assert len(found) <= 15
    assert set(contents.HEADINGS) == set(catalogue.MODULES)


# Aliases


ALIASED = [(alias, name) for name in catalogue.names() for alias in contents.aliases_of(name)]


def test_the_aliases_are_these() -> None:
    assert {alias: name for alias, name in ALIASED if " " not in alias} == {
        "ask": "checkpoint reach",
        "lock": "claim",
        "unlock": "release",
        "refused-entries": "held",
    }
    assert {alias for alias, name in ALIASED if name.startswith("held ")} == {
        "refused-entries show",
        "refused-entries resubmit",
        "refused-entries drop",
    }


def test_no_alias_hides_a_verb() -> None:
    assert {*parse.ALIASES} & {*parse.OWN, *(name.partition(" ")[0] for name in catalogue.names())} == set()


@pytest.mark.parametrize(("alias", "name"), ALIASED)
def test_help_for_an_alias_names_its_verb(alias: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", *alias.split()]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"moot {alias}: alias of `moot {name}`.\n")
    assert main([*alias.split(), "--help"]) == 0
    assert capsys.readouterr().out == said
    assert main(["help", *name.split()]) == 0
    assert f"Alias: {alias}." in capsys.readouterr().out


def test_an_alias_does_what_its_verb_does(run: Command) -> None:
    held = run("lock", "src/a.py", "--reason", "mine", "--json", agent="Ada").result
    assert run("claims", "--json").result[0]["id"] == held["id"]
    assert run("--json", "unlock", "src/a.py", agent="Ada").result == {"released": ["src/a.py"]}
    asked = run("ask", "Go on?", "--option", "yes", "--option", "no", "--json", agent="Ada").result
    assert run("checkpoints", "--json").result[0]["id"] == asked["id"]
    assert run("refused-entries", "--json").result == []
    assert run("refused-entries", "show", "h-0000000", "--json").error["error"] == "unknown_entry"


def test_what_happened_is_recorded_under_the_name_of_the_verb(run: Command) -> None:
    run("ask", "Go on?", agent="Ada")
    run("lock", "src/a.py", agent="Ada")
    types = [event["type"] for event in run("log", "--json").result]
    assert types[-2:] == ["checkpoint:reached", "file:claimed"]


# Required options


@pytest.mark.parametrize("name", catalogue.names())
def test_a_required_option_looks_required_and_no_other_does(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    verb = catalogue.find(name)
    assert main(["help", *name.split()]) == 0
    said = capsys.readouterr().out
    synopsis = " ".join(said.partition("\n\n")[0].split())
    for param in verb.params:
        if not param.positional:
            must = param.required or param.expected
            assert (f" [{reference.head(param)}]" in synopsis) is not must
            assert f" {reference.head(param)}" in synopsis or not must
            about = " ".join(
                said.partition("\n\n")[2].partition(f"\n  --{param.name}")[2].partition("\n  --")[0].split()
            )
            assert ("(required)" in about) is must or "_" in param.name


@pytest.mark.parametrize("verb", ["reject", "fail", "cancel", "reopen"])
def test_a_reason_that_the_built_in_lifecycle_requires_looks_required(verb: str) -> None:
    assert "--reason TEXT" in reference.synopsis(catalogue.find(f"task {verb}"))


MISSING = [(name, p) for name in catalogue.names() for p in catalogue.find(name).params if p.required]


@pytest.mark.parametrize(("name", "param"), MISSING, ids=[f"{name} {param.name}" for name, param in MISSING])
def test_a_missing_argument_is_named_with_an_example(name: str, param: catalogue.Param) -> None:
    verb = catalogue.find(name)
    given = {p.name: ["x"] if p.many else "x" for p in verb.params if p.required and p.name != param.name}
    given |= {p.name: "{}" for p in verb.params if p.type == "json" and p.required and p.name != param.name}
    with pytest.raises(Usage) as caught:
        catalogue.checked(verb, given)
    shown = param.name.upper() if param.positional else param.flag
    assert f"`{name}` needs {shown}: " in caught.value.message
    assert f"For example: `moot {name} " in caught.value.remedy
    assert param.positional or shown in caught.value.remedy
