"""The verbs on documents take an id, a path from any directory, or a subject. An unknown name lists near ones."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

import pytest

from moot import Workspace
from moot.core.errors import Unknown, Usage
from tests.surfaces.command import new_command
from tests.surfaces.worlds import run_stages

if TYPE_CHECKING:
    from tests.surfaces.command import Command


@pytest.fixture(scope="module")
def documented(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """A repository with one document in each of its worktrees."""
    made = new_command(tmp_path_factory.mktemp("documented"))
    run_stages(made)
    (made.linked / ".checks").mkdir()
    (made.linked / ".checks" / "a.json").write_text('{"lines": 7}')
    (made.repo / "linked").symlink_to(".checks")
    assert len(made("--json", "doc", "list").result) == 2
    return made


def lines(command: Command, name: str, where: str = "") -> int:
    """The value in the document that a name means."""
    with Workspace(command.repo / where, person=True) as person:
        return int(person.doc_show(name).leaves["/lines"])


@pytest.mark.parametrize(
    ("name", "where"),
    [
        (".checks/a.json", ""),
        ("./.checks/../.checks/a.json", ""),
        ("a.json", ".checks"),
        ("../.checks/a.json", "protocols"),
        ("../../.checks/a.json", "protocols/checks"),
        (".checks/a.json", "protocols/checks"),
        ("linked/a.json", ""),
        ("a", "protocols"),
        ("a.json", "protocols"),
    ],
)
def test_a_path_from_any_directory_and_a_subject_name_the_document(documented: Command, name: str, where: str) -> None:
    assert lines(documented, name, where) == 1


@pytest.mark.parametrize("name", [".checks/a.json", "a", "a.json"])
def test_the_worktree_of_the_caller_decides_between_two_with_one_subject(documented: Command, name: str) -> None:
    assert lines(documented, name) == 1
    assert lines(documented, name, str(documented.linked)) == 7


def test_an_id_and_an_absolute_path_name_a_document_of_any_worktree(documented: Command) -> None:
    with Workspace(documented.repo, person=True) as person:
        listed = person.doc_list()
    for one in listed:
        expected = 7 if one.path.startswith(str(documented.linked)) else 1
        assert lines(documented, one.id, "protocols") == expected
        assert lines(documented, one.path, "protocols") == expected


@pytest.mark.parametrize("name", [".check/a.json", ".checks/b.json", "checks...note.b", "A.JSON"])
def test_an_unknown_name_lists_near_ones(documented: Command, name: str) -> None:
    with Workspace(documented.repo, person=True) as person:
        for verb in (person.doc_show, person.doc_diff, person.doc_restore, partial(person.doc_reset, reason="x")):
            with pytest.raises(Unknown) as caught:
                verb(name)
            near, asked, _ = caught.value.remedy.removeprefix("Did you mean ").partition("?")
            assert asked
            assert {".checks/a.json", "checks...note.a", "a"} & set(near.split(" or "))


@pytest.mark.parametrize("name", ["nowhere", "../../../../etc/passwd", "/etc/passwd", "a" * 5000, ".", "/", "a\0b"])
def test_a_name_that_fits_nothing_is_refused(documented: Command, name: str) -> None:
    with Workspace(documented.repo, person=True) as person, pytest.raises((Unknown, Usage)) as caught:
        person.doc_show(name)
    assert "Did you mean" not in caught.value.remedy


def test_every_verb_on_documents_takes_the_path(bare: Command) -> None:
    run_stages(bare)
    file, inner, name = bare.repo / ".checks" / "a.json", bare.repo / "protocols", "../.checks/a.json"
    file.write_text('{"lines": 2}')
    assert "+ /lines: 2" in bare("doc", "diff", name, cwd=inner).out
    file.write_text("{")
    assert bare("doc", "restore", name, cwd=inner).code == 0
    assert json.loads(file.read_text())["lines"] == 1
    file.unlink()
    assert bare("doc", "show", name, cwd=inner).code == 0
    assert bare("doc", "reset", name, "--reason", "again", cwd=inner).code == 0
    assert json.loads(file.read_text()) == {}
