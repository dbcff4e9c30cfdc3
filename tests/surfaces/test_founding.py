"""Verbs of packs work in the workspace of the file that they are about, wherever the caller is."""

from __future__ import annotations

import os
import stat
import subprocess

import pytest

from moot.core.errors import Unavailable, Usage
from moot.surfaces.cli.main import main
from moot.wiring.founding import workspace_directory
from tests.person import AS_A_PERSON

PACK = "gsd"


@pytest.fixture
def env(tmp_path):
    return {**AS_A_PERSON, "XDG_STATE_HOME": str(tmp_path / "state"), "HOME": str(tmp_path)}


def repository(path):
    subprocess.run(["git", "init", "-q", str(path)], check=True, timeout=30)
    return path


@pytest.mark.proves("S1-ROOT-01", "S1-ROOT-02")
def test_a_file_in_a_repository_gets_the_workspace_of_that_repository_and_nothing_else_is_created(tmp_path, env):
    parent = tmp_path / "parent"
    one, two = repository(parent / "project1"), repository(parent / "project2")
    (one / "app").mkdir()
    found = workspace_directory("project1/app/user.rb", str(parent), env, PACK)
    assert found == str(one)
    assert workspace_directory("project1/app/user.rb", str(parent), env, PACK) == found
    assert f'packs = ["{PACK}"]' in (one / "moot.toml").read_text()
    assert sorted(os.listdir(parent)) == ["project1", "project2"]
    assert os.listdir(two) == [".git"]
    assert not (tmp_path / "state").exists() or not (tmp_path / "state" / "moot" / "private").exists()


@pytest.mark.proves("S1-ROOT-04")
def test_a_file_outside_any_repository_gets_the_private_workspace_of_the_account(tmp_path, env):
    (tmp_path / "loose").mkdir()
    repository(tmp_path / "elsewhere")
    found = workspace_directory(str(tmp_path / "loose" / "a.rb"), str(tmp_path / "elsewhere"), env, PACK)
    assert found == str(tmp_path / "state" / "moot" / "private")
    assert stat.S_IMODE(os.stat(found).st_mode) == 0o700
    assert workspace_directory("loose/b.rb", str(tmp_path), env, PACK) == found
    assert os.listdir(tmp_path / "loose") == []
    assert os.listdir(tmp_path / "elsewhere") == [".git"]


def test_a_second_pack_is_activated_in_a_private_workspace_whose_settings_nobody_has_edited(tmp_path, env):
    (tmp_path / "loose").mkdir()
    (found,) = {workspace_directory("loose/a.rb", str(tmp_path), env, pack) for pack in ("gsd", "orchestrator", "gsd")}
    with open(f"{found}/moot.toml", encoding="utf-8") as file:
        assert file.readline() == 'packs = ["gsd", "orchestrator"]\n'


def test_a_file_outside_any_repository_is_refused_without_a_trace_if_the_verb_needs_a_repository(tmp_path, env):
    (tmp_path / "loose").mkdir()
    with pytest.raises(Unavailable, match="loose is not in a workspace") as caught:
        workspace_directory("loose/a.rb", str(tmp_path), env, PACK, loose=False)
    assert caught.value.code == "no_workspace"
    assert os.listdir(tmp_path) == ["loose"]


@pytest.mark.parametrize("verb", ["cover", "discover"])
def test_rspec_refuses_a_source_outside_any_repository_and_leaves_rspec_v1_to_work_there(
    tmp_path, env, monkeypatch, capsys, verb
):
    loose = tmp_path / "loose"
    loose.mkdir()
    (loose / "coin.rb").write_text("class Coin\n  def flip\n    :landed\n  end\nend\n")
    monkeypatch.chdir(loose)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert main(["rspec", verb, "coin.rb"]) != 0
    said = capsys.readouterr()
    assert f"{loose} is not in a workspace" in said.err
    assert os.listdir(tmp_path) == ["loose"]
    assert main(["rspec-v1", "path", "coin.rb"]) == 0


def test_a_second_pack_in_a_private_workspace_is_left_to_the_person_who_edited_its_settings(tmp_path, env):
    (tmp_path / "loose").mkdir()
    found = workspace_directory("loose/a.rb", str(tmp_path), env, "gsd")
    with open(f"{found}/moot.toml", "a", encoding="utf-8") as file:
        file.write("# mine\n")
    with pytest.raises(Usage, match="does not activate all of: gsd, orchestrator") as caught:
        workspace_directory("loose/a.rb", str(tmp_path), env, "orchestrator")
    assert 'packs = ["gsd", "orchestrator"]' in caught.value.remedy


def test_a_private_workspace_that_another_account_could_have_prepared_is_refused(tmp_path, env):
    (tmp_path / "loose").mkdir()
    (tmp_path / "state" / "moot").mkdir(parents=True)
    (tmp_path / "state" / "moot").chmod(0o777)
    with pytest.raises(Unavailable, match="every account"):
        workspace_directory("loose/a.rb", str(tmp_path), env, PACK)


def test_a_named_workspace_is_taken_as_it_is(tmp_path, env):
    assert workspace_directory("a.rb", str(tmp_path), {**env, "MOOT_WORKSPACE": str(tmp_path)}, PACK) == str(tmp_path)


def test_the_command_line_creates_the_workspace_of_a_verb_that_founds_one(tmp_path, env, monkeypatch, capsys):
    from moot.surfaces.cli import parse

    real = parse.find
    root = repository(tmp_path / "project")
    monkeypatch.chdir(tmp_path)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(parse, "find", lambda name: real(name).replace(founds=True, name=f"{PACK} {name}"))
    code = main(["who-holds", "project/app/user.rb"])
    said = capsys.readouterr()
    assert (root / "moot.toml").exists()
    assert code != 0  # the verb that stands in for one of the pack does not exist there
    assert PACK in said.err
