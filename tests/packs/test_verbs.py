"""The verbs that a pack brings work on every surface like those of moot, without a line changed elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from moot import Workspace
from moot.core.errors import Refused, Usage
from moot.wiring.packs import SHIPPED, code_of
from tests.kit.packs import verb_defects
from tests.packs.conftest import repository, settings
from tests.packs.desk.methods import DeskMethods
from tests.packs.desk.protocol import Desk
from tests.packs.test_desk import Crew, ask, command

STREAMS = {"desk": ("tallies",), "gsd": ("follow",), "rspec-v1": ("metadata_path_for", "metadata_valid")}


def done(root: str | Path, *words: str, agent: str | None = None) -> str:
    ran = command(Path(root), *words, agent=agent)
    assert ran.returncode == 0, ran
    return ran.stdout


def refused(root: str | Path, *words: str, agent: str | None = None) -> tuple[int, str]:
    ran = command(Path(root), *words, agent=agent)
    assert ran.stdout == ""
    return ran.returncode, ran.stderr


# What is declared


@pytest.mark.parametrize("pack", ["desk", *SHIPPED])
def test_the_verbs_of_a_pack_and_its_methods_are_the_same(pack: str) -> None:
    assert verb_defects(pack, Desk if pack == "desk" else code_of(pack), STREAMS.get(pack, ())) == []


def test_a_verb_without_a_method_and_a_method_without_a_verb_are_found() -> None:
    class Less(Desk):
        verbs = {"tally": Desk.verbs["tally"], "close": Desk.verbs["close"]}  # noqa: RUF012

    class Without(Desk):
        methods = ""

    assert verb_defects("desk", Less, STREAMS["desk"]) == ["open is not a verb"]
    assert "`desk tally` has no method tally" in verb_defects("desk", Without)
    with pytest.raises(Usage, match=r"its name is 'desk tally', and must be 'task tally'"):
        verb_defects("task", Less)


@pytest.mark.parametrize("place", ["nowhere:TALLY", "tests.packs.desk.verbs:NOTHING", "tests.packs.desk.verbs:tally"])
def test_a_table_that_leads_nowhere_is_an_error_that_names_the_pack(place: str) -> None:
    class Lost(Desk):
        verbs = {"tally": place}  # noqa: RUF012

    with pytest.raises(Usage) as caught:
        verb_defects("desk", Lost)
    assert caught.value.code == "pack_unusable"
    assert f"The pack desk names its verb 'tally' as '{place}'" in caught.value.message


# The command line


def test_a_verb_of_a_pack_answers_in_words_and_in_json(desk: Workspace, crew: Crew) -> None:
    ask(crew)
    assert done(desk.root, "desk", "tally") == "asked: 1\n"
    assert json.loads(done(desk.root, "--json", "desk", "tally", "closed")) == {"result": {"cases": {}}, "warnings": []}
    assert json.loads(done(desk.root, "desk", "tally", "--json"))["result"] == {"cases": {"asked": 1}}


def test_its_arguments_are_checked_and_its_key_works(desk: Workspace, crew: Crew) -> None:
    code, said = refused(desk.root, "desk", "open", agent="Carla")
    assert code == 2
    assert "`desk open` needs COUNTER: Its number." in said
    assert "`moot desk open --help` shows the usage" in said
    assert "is not a whole number" in refused(desk.root, "desk", "open", "x", agent="Carla")[1]
    for _ in range(2):
        assert done(desk.root, "desk", "open", "3", "--key", "once", agent="Carla") == "counter 3 is open\n"
    assert [event.data for event in desk.log(type="desk:opened")] == [{"counter": 3}]


def test_its_class_and_the_rules_of_the_pack_apply(desk: Workspace, crew: Crew) -> None:
    assert "Only the clerk can send" in refused(desk.root, "desk", "open", "3", agent="Ann")[1]
    code, said = refused(desk.root, "desk", "close", agent="Carla")
    assert code == 1
    assert "person" in said
    assert done(desk.root, "desk", "close") == "closed\n"


def test_a_verb_that_reads_can_look_at_the_past_and_others_cannot(desk: Workspace, crew: Crew) -> None:
    before = desk.log(limit=1)[-1].position
    ask(crew)
    assert done(desk.root, "--at", str(before), "desk", "tally") == "No cases.\n"
    assert "past_is_read_only" in refused(desk.root, "--at", str(before), "desk", "open", "3", agent="Carla")[1]


def test_help_explains_the_verbs_of_a_pack(desk: Workspace) -> None:
    listed = done(desk.root, "help", "desk")
    assert [line.split("  ")[1] for line in listed.splitlines()] == ["desk tally", "desk open", "desk close"]
    assert done(desk.root, "desk", "--help") == listed
    about = done(desk.root, "desk", "tally", "--help")
    assert about.startswith(
        "moot desk tally [STATES…] [--fail] [--follow]\n\nCount the cases in each state.\nClass: look"
    )
    assert done(desk.root, "help", "desk", "tally") == about
    everything = done(desk.root, "help", "--all")
    assert "\nPack desk\n  desk tally            Count the cases in each state.\n" in everything
    code, said = refused(desk.root, "desk")
    assert code == 2
    assert "`desk` needs one more word:\n  desk tally" in said


def test_a_typing_error_gets_a_suggestion_that_is_safe(desk: Workspace) -> None:
    assert "Did you mean `moot desk tally`?" in refused(desk.root, "desk", "tlly")[1]
    assert "`desk` is followed by tally, open, close." in refused(desk.root, "desk", "opne", "3")[1]
    assert "Did you mean `moot desk`?" in refused(desk.root, "desks")[1]
    assert "did you mean --fail?" in refused(desk.root, "desk", "tally", "--fial")[1]


def test_completion_knows_the_verbs_and_the_suggested_words(desk: Workspace) -> None:
    assert done(desk.root, "complete", "--", "moot desk ").split() == ["tally", "open", "close"]
    assert done(desk.root, "complete", "--", "moot desk tally ").split() == ["asked", "closed"]


def test_an_exception_in_a_verb_names_the_pack_and_the_line(desk: Workspace) -> None:
    code, said = refused(desk.root, "desk", "tally", "--fail")
    assert code == 1
    assert "The code of the pack desk failed in `verb tally` (verbs.py, line " in said
    ran = command(Path(desk.root), "desk", "tally", "--follow")
    assert ran.stdout == "No cases.\nagain\n"
    assert "failed in `verb tally`" in ran.stderr


# Which packs


def test_a_verb_of_a_pack_that_is_not_active_says_how_to_activate_it(tmp_path: Path, site: Path) -> None:
    root = repository(tmp_path / "plain")
    Workspace.init(root).close()
    code, said = refused(root, "desk", "tally")
    assert code == 2
    assert "`moot desk tally` belongs to the pack desk, which is not active in this workspace." in said
    assert "→ Activate it: `moot init --pack desk`. [pack_inactive]" in said
    with Workspace(root) as workspace, pytest.raises(Usage) as caught:
        workspace.pack(DeskMethods).tally()
    assert caught.value.code == "pack_inactive"
    done(root, "init", "--pack", "desk")
    assert done(root, "desk", "tally") == "No cases.\n"


def test_a_folder_brings_no_verbs_even_if_a_package_of_its_name_does(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    Workspace.init(folder).close()
    assert "There is no verb 'desk'." in refused(folder, "desk", "tally")[1]
    request.getfixturevalue("site")
    assert "desk has no verbs of its own here." in refused(folder, "desk", "tally")[1]


def test_a_package_that_cannot_be_imported_breaks_no_list(desk: Workspace, site: Path) -> None:
    (site / "helpdesk" / "protocol.py").write_text("import nothing_of_this_name\n")
    settings(Path(desk.root), "")
    assert done(desk.root, "help", "--all").count("desk tally") == 0
    assert "desk" not in done(desk.root, "completion", "bash").split()
    assert "pack_unusable" in refused(desk.root, "desk", "tally")[1]


# Python


def test_the_methods_of_a_pack_are_its_verbs(desk: Workspace, crew: Crew) -> None:
    ask(crew)
    assert desk.pack(DeskMethods).tally().cases == {"asked": 1}
    assert desk.pack(DeskMethods).tally("closed").cases == {}
    assert crew["clerk"].pack(DeskMethods).open(4) == {"counter": 4}
    with pytest.raises(Refused, match="Only the clerk"):
        crew["asker"].pack(DeskMethods).open(4)
    with pytest.raises(Refused, match="failed in `verb tally`"):
        desk.pack(DeskMethods).tally(fail=True)


def test_an_endless_verb_is_an_iterator(desk: Workspace, crew: Crew) -> None:
    found = desk.pack(DeskMethods).tallies()
    assert [next(found).cases, next(found).cases] == [{}, {}]
    with pytest.raises(Refused, match="failed in `verb tally`"):
        next(found)
