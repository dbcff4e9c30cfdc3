"""Kills, full disks, missing permissions and removed worktrees: a YAML document is always the old or the new one."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from moot.core.deciders.document import ChangeDocument, OpenDocument, key
from moot.core.run import OpenRun
from moot.mirrors import files
from moot.place import MAIN
from moot.wiring.admin import Admin
from tests import unprivileged
from tests.calls import open_call
from tests.mirrors.test_yaml_documents import FIRST, Place
from tests.person import AS_A_PERSON

MOST, FEWEST = 60, 3  # steps: at each of them, one process is killed
NAME = key("notes", MAIN, "metadata.a")
FILE = Path(".notes/metadata/a.yml")
PACK = """
name = "notes"
title = "Notes"

[pipeline]
document = "metadata"

[[stage]]
name = "review"
agent = "required"
marker = "/reviewed"

[mirrors.metadata]
path = ".notes/metadata/{slug}.yml"
form = "document"
scope = "worktree"
missing = "reset"
fields = { while_open = true, repair = false }
"""
CHANGING = """
import os, sys
left, number, root = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
def counted(call):
    def count(*given, **named):
        global left
        left -= 1
        if left == 0:
            os._exit(9)
        return call(*given, **named)
    return count
for name in ("rename", "link", "unlink", "fsync", "utime", "fchmod"):
    setattr(os, name, counted(getattr(os, name)))
from moot.core.deciders.document import ChangeDocument
from moot.core.identity import decide
from moot.wiring import open_workspace
workspace = open_workspace(root, os.environ)
with workspace.call(decide(os.environ)) as call:
    command = ChangeDocument(author="moot", set={"/n": number})
    outcome = call.engine.commit("moot", lambda work: work.do("document", "notes...metadata.a", command))
    call.sync(outcome.events)
workspace.close()
"""


@pytest.fixture
def place(tmp_path):
    made = Place(tmp_path)
    yield made
    made.close()


@pytest.fixture
def notes(tmp_path):
    """A workspace with one document in work, and a call in it."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True, timeout=30)
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "pack.toml").write_text(PACK)
    (tmp_path / "moot.toml").write_text('packs = ["notes"]\n[pack.notes]\npath = "pack"\n')
    Admin(str(tmp_path), AS_A_PERSON).create(())
    call = open_call(str(tmp_path), AS_A_PERSON)
    opening = OpenDocument(mirror="notes/metadata", worktree=MAIN, subject="a", leaves={"/n": 0, "/other": 1})

    def begin(work):
        work.do("document", NAME, opening)
        work.do("run", "run-1", OpenRun(pack="notes", stages=("review",), document=NAME))

    call.sync(call.engine.commit("moot", begin).events)
    yield tmp_path, call
    call.close()
    call.workspace.close()


@pytest.mark.proves("S2-HARD-08")
@pytest.mark.proves("S1-ISS-02")
@pytest.mark.promise(14)
def test_killed_at_any_step_the_file_is_the_old_or_the_new_document_and_the_next_command_completes_it(notes):
    root, call = notes
    before = 0
    for step in range(1, MOST):
        words = [sys.executable, "-c", CHANGING, str(step), str(step), str(root)]
        env = {**os.environ, **AS_A_PERSON}
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False, env=env)
        assert done.returncode in (0, 9), done.stderr
        shown = yaml.safe_load((root / FILE).read_text())
        assert shown in ({"n": before, "other": 1}, {"n": step, "other": 1})
        call.run("mirror", {})
        before = call.run("doc show", {"id": NAME}).result.leaves["/n"]
        assert yaml.safe_load((root / FILE).read_text()) == {"n": before, "other": 1}
        if done.returncode == 0:
            assert step > FEWEST
            break
    assert before == step
    assert call.run("verify", {}).result.problems == ()
    assert [one.name for one in (root / FILE).parent.iterdir() if not one.name.startswith(".")] == [FILE.name]


def fail_with(code):
    def fail(*_given, **_named):
        raise OSError(code, os.strerror(code))

    return fail


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_on_a_full_disk_the_log_has_the_change_and_the_file_follows_later(place, monkeypatch, code):
    name, before = place.begin(), place.path().read_text()
    with monkeypatch.context() as full:
        full.setattr(files, "bring", fail_with(code))
        place.change(name, other=1)
        assert place.path().read_text() == before
        assert place.sync() == ["mirror_pending"]
    assert place.leaves(name)["/other"] == 1
    assert place.sync() == []
    assert place.shown()["other"] == 1
    assert [path.name for path in place.path().parent.iterdir()] == [place.path().name]


def test_bytes_that_cannot_be_put_aside_stay_in_the_file(place, monkeypatch):
    from moot.core.errors import Unavailable

    place.begin()
    place.path().write_text("broken: [\n")
    os.utime(place.path(), (0, 0))

    def full(_self, _data):
        raise Unavailable("blob_unwritable", "There is no space.", "Free some space.")

    with monkeypatch.context() as disk:
        disk.setattr("moot.engine.blobs.Blobs.put", full)
        assert place.sync() == ["mirror_pending"]
        assert place.path().read_text() == "broken: [\n"
    assert place.sync() == ["entry_held"]
    assert place.path().read_text() == "broken: [\n"


def test_a_folder_without_write_permission_is_named_and_the_file_follows_later(place):
    name = place.begin()
    folder = place.path().parent
    with unprivileged.unprivileged():
        folder.chmod(0o500)
        try:
            place.change(name, other=1)
            (notice,) = place.call.mirrors.sync(place.call)
            assert notice.code == "mirror_pending"
            assert str(folder) in notice.message
        finally:
            folder.chmod(0o700)
        assert place.sync() == []
    assert place.shown()["other"] == 1


def test_a_link_in_the_place_of_a_document_is_neither_followed_nor_replaced(place, tmp_path_factory):
    name = place.begin()
    target = tmp_path_factory.mktemp("other") / "secret.yml"
    target.write_text("extra: stolen\n")
    place.path().unlink()
    place.path().symlink_to(target)
    place.sync()
    place.change(name, other=1)
    assert target.read_text() == "extra: stolen\n"
    assert place.leaves(name)["/extra"] == "kept"
    (found,) = place.call.mirrors.document_files(place.call, name)
    assert found.fault == "it is a symbolic link"


def test_documents_of_two_worktrees_are_apart_and_a_removed_worktree_resets_nothing(place):
    git = ["git", "-C", str(place.root), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "begin"], check=True, timeout=30)
    other = place.root.parent / f"{place.root.name}-other"
    subprocess.run([*git, "worktree", "add", "-q", str(other)], check=True, timeout=30)
    one = place.begin()
    tree = other.name
    two = key("notes", tree, "metadata.a")
    place.open_run(two)
    place.commit(two, OpenDocument(mirror="notes/metadata", worktree=tree, subject="a", leaves={"/extra": "two"}))
    file = other / place.path().relative_to(place.root)
    file.write_text(file.read_text() + "note: second\n")
    place.sync()
    assert place.leaves(two) == {"/extra": "two", "/note": "second"}
    assert place.leaves(one) == FIRST
    subprocess.run([*git, "worktree", "remove", "--force", str(other)], check=True, timeout=30)
    shutil.rmtree(other, ignore_errors=True)
    place.sync(everything=True)
    assert place.leaves(two) == {"/extra": "two", "/note": "second"}
    assert "reset" not in place.types()


def test_hundreds_of_documents_are_looked_at_only_when_there_is_a_reason(place, monkeypatch):
    def begin(work):
        for number in range(300):
            opening = OpenDocument(mirror="notes/metadata", worktree=".", subject=f"t{number}", leaves=FIRST)
            work.do("document", key("notes", ".", f"metadata.t{number}"), opening)

    place.call.engine.commit("moot", begin)
    place.sync(everything=True)
    assert len(list(place.path().parent.iterdir())) == 300
    looked: list[str] = []
    real = files.MirrorFile.visit

    def visit(self, *given, **named):
        looked.append(self.path)
        return real(self, *given, **named)

    monkeypatch.setattr(files.MirrorFile, "visit", visit)
    place.call.run("board", {})
    assert looked == []
    place.commit(key("notes", ".", "metadata.t7"), ChangeDocument(author="moot", set={"/n": 1}))
    assert set(looked) == {str(place.path("t7"))}
    place.call.run("doc list", {})
    assert len(set(looked)) == 300
