"""A folder outside the repository is used only if nobody else can have prepared it."""

from __future__ import annotations

import os
import stat
from multiprocessing.pool import ThreadPool

import pytest

from moot.api.protocol import document_folders
from moot.api.protocol.document_folders import is_prepared, project_folder, shared_folder, unusable
from moot.core.errors import Unavailable

SETTING = "[pack.notes] fallback"


def names(tmp_path):
    return str(tmp_path / "project_metadata"), str(tmp_path / "project_1a2b3c4d_metadata")


@pytest.mark.proves("S1-META-02", "S1-HARD-15")
def test_the_folder_of_a_project_is_created_private_and_found_again(tmp_path):
    plain, distinct = names(tmp_path)
    for _ in range(2):
        found = project_folder(plain, distinct, "/home/me/project", SETTING)
        assert (found.path, found.warning) == (plain, "")
    assert stat.S_IMODE(os.stat(plain).st_mode) == 0o700
    assert is_prepared(plain, "/home/me/project")
    assert not is_prepared(plain, "/srv/project")
    assert not is_prepared(distinct, "/home/me/project")
    assert not os.path.exists(distinct)


@pytest.mark.proves("S1-HARD-15")
def test_another_project_of_the_same_name_gets_a_folder_with_a_digest_and_a_warning(tmp_path):
    plain, distinct = names(tmp_path)
    project_folder(plain, distinct, "/home/me/project", SETTING)
    other = project_folder(plain, distinct, "/srv/project", SETTING)
    assert other.path == distinct
    assert "belongs to /home/me/project" in other.warning
    assert distinct in other.warning


@pytest.mark.proves("S1-HARD-15")
def test_a_link_a_file_an_open_folder_and_one_of_another_account_are_not_used(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "file").write_text("")
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    for name, reason in (("link", "it is a link"), ("file", "Not a directory"), ("open", "every account")):
        found = project_folder(str(tmp_path / name), str(tmp_path / f"{name}-2"), "/home/me/project", SETTING)
        assert found.path == str(tmp_path / f"{name}-2")
        assert reason in found.warning
    assert list((tmp_path / "elsewhere").iterdir()) == []
    other = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    assert not is_prepared(str(tmp_path / "link-2"), "/home/me/project")
    assert "another account" in unusable(str(tmp_path / "elsewhere"), "/home/me/project")


@pytest.mark.proves("S1-ROOT-04")
def test_a_shared_folder_that_cannot_be_used_is_an_error_that_names_the_setting(tmp_path):
    assert shared_folder(str(tmp_path / "shared"), SETTING) == str(tmp_path / "shared")
    assert stat.S_IMODE(os.stat(tmp_path / "shared").st_mode) == 0o700
    (tmp_path / "link").symlink_to(tmp_path / "shared")
    with pytest.raises(Unavailable, match="it is a link") as caught:
        shared_folder(str(tmp_path / "link"), SETTING)
    assert SETTING in caught.value.remedy


def test_if_both_folders_of_a_project_cannot_be_used_the_error_names_the_setting(tmp_path):
    plain, distinct = names(tmp_path)
    os.symlink("/", plain)
    os.symlink("/", distinct)
    with pytest.raises(Unavailable, match="it is a link") as caught:
        project_folder(plain, distinct, "/home/me/project", SETTING)
    assert caught.value.code == "document_folder_unusable"


def test_of_many_projects_that_come_at_once_one_gets_the_plain_name(tmp_path):
    plain, _ = names(tmp_path)

    def come(number):
        return project_folder(plain, str(tmp_path / f"own-{number}"), f"/home/{number}/project", SETTING).path

    with ThreadPool(8) as pool:
        found = pool.map(come, range(8))
    assert found.count(plain) == 1
    assert len(set(found)) == 8
    assert sorted(os.listdir(plain)) == [document_folders.OWNER]
