"""The content of a worktree as one name: changed by whatever counts, by nothing else, and without touching anything."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from moot.engine import content_digest
from moot.place import gitdir

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def content(root: str, without: Sequence[str] = ()) -> content_digest.Tree:
    """As for one whose workspace it is."""
    git = gitdir.at(root)
    return content_digest.of(root, without, common=None if git is None else gitdir.common_of(gitdir.real(git)))


def git(where: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=where, check=True, capture_output=True, text=True, timeout=60)
    return done.stdout.strip()


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    where = tmp_path / "repo"
    where.mkdir()
    git(where, "init", "-q", "-b", "main")
    git(where, "config", "user.name", "Tester")
    git(where, "config", "user.email", "tester@example.org")
    (where / "a.txt").write_text("a\n")
    (where / ".gitignore").write_text("*.log\n")
    git(where, "add", ".")
    git(where, "commit", "-qm", "first")
    return where


def test_a_clean_worktree_has_the_tree_of_its_commit(repo: Path) -> None:
    found = content(str(repo))
    assert found == content_digest.Tree(
        name=f"git:{git(repo, 'rev-parse', 'HEAD^{tree}')}", commit=git(repo, "rev-parse", "HEAD")
    )


@pytest.mark.parametrize("change", ["edited", "added", "untracked", "removed", "made executable", "renamed"])
def test_every_change_of_content_gives_another_name_and_back_the_old_one(repo: Path, change: str) -> None:
    before = content(str(repo))
    match change:
        case "edited":
            (repo / "a.txt").write_text("b\n")
        case "added":
            (repo / "b.txt").write_text("b\n")
            git(repo, "add", "b.txt")
        case "untracked":
            (repo / "b.txt").write_text("b\n")
        case "removed":
            (repo / "a.txt").unlink()
        case "made executable":
            (repo / "a.txt").chmod(0o755)
        case _:
            (repo / "a.txt").rename(repo / "b.txt")
    after = content(str(repo))
    assert after.name != before.name
    assert after.dirty
    git(repo, "reset", "-q", "--hard")
    git(repo, "clean", "-qfd")
    assert content(str(repo)) == before


@pytest.mark.parametrize("flag", ["assume-unchanged", "skip-worktree", "both"])
@pytest.mark.parametrize("change", ["edited", "removed"])
def test_a_file_that_git_is_told_not_to_look_at_counts_all_the_same(repo: Path, flag: str, change: str) -> None:
    before = content(str(repo))
    for one in ("assume-unchanged", "skip-worktree") if flag == "both" else (flag,):
        git(repo, "update-index", f"--{one}", "a.txt")
    flagged = git(repo, "ls-files", "-v")
    assert content(str(repo)) == before
    if change == "edited":
        (repo / "a.txt").write_text("b\n")
    else:
        (repo / "a.txt").unlink()
    after = content(str(repo))
    assert after.name not in (None, before.name)
    assert after.dirty
    assert git(repo, "ls-files", "-v") == flagged, "the repository is as it was"


@pytest.mark.parametrize("how", [("--no-cone", "/*", "!/far/"), ("--cone", "near"), ("--sparse-index", "near")])
def test_what_a_sparse_checkout_leaves_out_is_as_committed(repo: Path, how: tuple[str, ...]) -> None:
    (repo / "far").mkdir()
    (repo / "far" / "b.txt").write_text("b\n")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "second")
    before = content(str(repo))
    git(repo, "sparse-checkout", "set", *how)
    assert not (repo / "far").exists()
    assert content(str(repo)) == before
    (repo / "far").mkdir()
    (repo / "far" / "b.txt").write_text("changed\n")
    after = content(str(repo))
    assert after.name not in (None, before.name)


@pytest.mark.parametrize("change", ["edited", "untracked"])
def test_a_submodule_with_changes_of_its_own_cannot_be_told(repo: Path, change: str) -> None:
    inner = repo / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    git(inner, "config", "user.name", "Tester")
    git(inner, "config", "user.email", "tester@example.org")
    (inner / "c.txt").write_text("c\n")
    git(inner, "add", ".")
    git(inner, "commit", "-qm", "inner")
    git(repo, "-c", "advice.addEmbeddedRepo=false", "add", "inner")
    git(repo, "commit", "-qm", "with a submodule")
    git(repo, "config", "diff.ignoreSubmodules", "all")
    before = content(str(repo))
    assert before.name == f"git:{git(repo, 'rev-parse', 'HEAD^{tree}')}"
    (inner / ("c.txt" if change == "edited" else "d.txt")).write_text("d\n")
    found = content(str(repo))
    assert found.name is None
    assert "submodule" in found.why
    git(inner, "add", ".")
    git(inner, "commit", "-qm", "more")
    assert content(str(repo)).name not in (None, before.name)


def test_ignored_files_and_those_of_moot_do_not_count(repo: Path) -> None:
    before = content(str(repo), ["mail/box.json"])
    (repo / "x.log").write_text("noise")
    (repo / "mail").mkdir()
    (repo / "mail" / "box.json").write_text("[]")
    assert content(str(repo), ["mail/box.json"]) == before
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "with the mailbox")
    (repo / "mail" / "box.json").write_text("[1]")
    found = content(str(repo), ["mail/box.json"])
    assert (found.name, found.dirty) == (before.name, False)


def test_neither_the_index_nor_the_objects_of_the_repository_are_touched(repo: Path) -> None:
    (repo / "a.txt").write_text("staged\n")
    git(repo, "add", "a.txt")
    (repo / "a.txt").write_text("and changed again\n")
    (repo / "new.txt").write_text("new\n")

    def state() -> tuple[object, ...]:
        index = repo / ".git" / "index"
        files = sorted(os.path.join(folder, n) for folder, _, names in os.walk(repo / ".git") for n in names)
        return index.read_bytes(), index.stat().st_mtime_ns, files

    before = state()
    assert content(str(repo)).dirty
    assert state() == before


def test_equal_content_has_one_name_in_every_worktree(repo: Path, tmp_path: Path) -> None:
    git(repo, "worktree", "add", "-q", str(tmp_path / "other"))
    (repo / "b.txt").write_text("b\n")
    (tmp_path / "other" / "b.txt").write_text("b\n")
    assert content(str(repo)).name == content(str(tmp_path / "other")).name


def test_a_repository_without_a_commit_has_a_tree_too(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "a").write_text("a")
    found = content(str(tmp_path))
    assert (found.commit, found.dirty, (found.name or "")[:4]) == (None, True, "git:")


def test_without_git_all_files_count(tmp_path: Path) -> None:
    (tmp_path / ".moot").mkdir()
    (tmp_path / "a").write_text("a")
    before = content(str(tmp_path))
    (tmp_path / ".moot" / "log.db").write_text("x")
    assert content(str(tmp_path)) == before
    (tmp_path / "b").symlink_to("a")
    linked = content(str(tmp_path))
    (tmp_path / "a").chmod(0o755)
    assert len({before.name, linked.name, content(str(tmp_path)).name}) == 3


def test_without_git_a_link_to_a_folder_counts(tmp_path: Path) -> None:
    root = tmp_path / "root"
    for folder in (root, tmp_path / "one", tmp_path / "other"):
        folder.mkdir()
    names = {content(str(root)).name}
    for folder in ("one", "other"):
        (root / "link").symlink_to(tmp_path / folder)
        names.add(content(str(root)).name)
        (root / "link").unlink()
    assert len(names) == 3


def test_a_tree_that_cannot_be_found_out_says_why(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(repo))
    found = content(str(repo))
    assert found.name is None
    assert "git" in found.why
