"""The lists of verbs, aliases, and how required options are shown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from moot.api import catalogue
from moot.core.errors import Usage
from moot.surfaces.cli import help as contents
from moot.surfaces.cli import parse, reference
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


# The alias


def test_help_for_the_alias_names_its_verb(bare: Command) -> None:
    said = bare("help", "ask").out
    assert said.startswith("moot ask: alias of `moot checkpoint reach`.\n")
    assert bare("ask", "--help").out == said
    assert "Alias: ask." in bare("help", "checkpoint", "reach").out


def test_the_alias_does_what_its_verb_does_and_is_recorded_under_its_name(run: Command) -> None:
    asked = run("ask", "Go on?", "--option", "yes", "--option", "no", "--json", agent="Ada").result
    assert run("checkpoints", "--json").result[0]["id"] == asked["id"]
    assert run("log", "--json").result[-1]["type"] == "checkpoint:reached"


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
