"""The changed sources of a real repository: of a branch, staged, of a file."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from moot.core.errors import MootError
from moot.packs.rspec.changes import BRANCH, FILE, STAGED, ChangedSource, Changes, find_changes
from moot.packs.rspec.patches import Hunk
from moot.place import Place
from tests.packs.rspec.repository import Repository

TEN = "".join(f"line {number}\n" for number in range(1, 11))


def branch(repository: Repository, base: str | None = None) -> Changes:
    return find_changes(repository.place, BRANCH, None, base)


def by_path(changes: Changes) -> dict[str, ChangedSource]:
    return {source.path: source for source in changes.sources}


def refusal(repository: Repository, mode: str, path: str | None = None, base: str | None = None) -> MootError:
    with pytest.raises(MootError) as caught:
        find_changes(repository.place, mode, path, base)
    assert caught.value.remedy
    return caught.value


@pytest.mark.proves("S2-DISC-01")
def test_a_branch_takes_added_modified_and_renamed_files_and_leaves_deleted_ones_out(repository: Repository) -> None:
    for name in ("kept", "changed", "moved"):
        repository.write(f"app/{name}.rb", TEN + name)
    repository.write("app/gone.rb", "another content\n")
    base = repository.commit()
    repository.branch()
    repository.write("app/changed.rb", TEN.replace("line 5", "LINE 5") + "changed")
    repository.write("app/added.rb", "new\n")
    repository.write("app/added_spec.rb", "new\n")
    repository.git("rm", "--quiet", "app/gone.rb")
    repository.git("mv", "app/moved.rb", "app/here.rb")
    repository.write("app/here.rb", TEN.replace("line 2\n", "") + "moved")
    repository.commit()
    changes = branch(repository)
    found = by_path(changes)
    assert changes.base == base
    assert sorted(found) == ["app/added.rb", "app/changed.rb", "app/here.rb"]
    assert found["app/added.rb"].old is None
    assert found["app/changed.rb"].hunks == (Hunk(first=5, count=1),)
    assert found["app/changed.rb"].old == (TEN + "changed").encode()
    assert found["app/here.rb"].old == (TEN + "moved").encode()
    assert found["app/here.rb"].hunks == (Hunk(first=1, count=0),)


@pytest.mark.proves("S2-DISC-01")
def test_staged_files_are_taken_and_others_are_not(repository: Repository) -> None:
    repository.write("a.rb", TEN)
    repository.write("b.rb", TEN)
    head = repository.commit()
    repository.write("a.rb", TEN.replace("line 9", "x"))
    repository.write("b.rb", TEN.replace("line 9", "x"))
    repository.write("new.rb", "n\n")
    repository.git("add", "a.rb", "new.rb")
    changes = find_changes(repository.place, STAGED, None, None)
    assert changes.base == head
    assert sorted(by_path(changes)) == ["a.rb", "new.rb"]


@pytest.mark.proves("S2-HARD-12")
def test_lines_are_those_of_the_file_on_disk_although_edits_are_not_committed(repository: Repository) -> None:
    repository.write("a.rb", TEN)
    repository.commit()
    repository.branch()
    repository.write("a.rb", TEN.replace("line 8", "x"))
    repository.commit()
    repository.write("a.rb", "# one\n# two\n" + TEN.replace("line 8", "x"))
    (source,) = branch(repository).sources
    assert source.hunks == (Hunk(first=1, count=2), Hunk(first=10, count=1))
    repository.git("add", "a.rb")
    repository.write("a.rb", "# 0\n# one\n# two\n" + TEN.replace("line 8", "x"))
    (source,) = find_changes(repository.place, STAGED, None, None).sources
    assert source.data.startswith(b"# 0\n")
    assert source.hunks == (Hunk(first=1, count=3),)


@pytest.mark.proves("S2-HARD-12")
def test_names_with_blanks_tabs_quotes_and_other_letters_are_handled(repository: Repository) -> None:
    names = [
        "a b.rb",
        "tab\there.rb",
        'quo"te.rb',
        "größe.rb",
        "日本.rb",
        "back\\slash.rb",
        "*.rb",
        "[x].rb",
        "-x.rb",
        "new\nline.rb",
        ":(top)x.rb",
    ]
    for name in names:
        repository.write(name, TEN)
    repository.commit()
    repository.branch()
    for name in names:
        repository.write(name, TEN.replace("line 3", name.replace("\n", " ")))
    repository.commit()
    found = by_path(branch(repository))
    assert sorted(found) == sorted(names)
    assert {source.hunks for source in found.values()} == {(Hunk(first=3, count=1),)}
    for name in names:
        (single,) = find_changes(repository.place, FILE, name, None).sources
        assert single.hunks == (Hunk(first=3, count=1),)


def test_names_that_are_not_utf8_are_left_out_with_a_warning(repository: Repository) -> None:
    name = b"caf\xe9.rb".decode("utf-8", "surrogateescape")
    repository.write(name, TEN)
    repository.commit()
    repository.branch()
    repository.write(name, TEN.replace("line 3", "x"))
    repository.write("other.rb", TEN)
    repository.git("add", "other.rb")
    found = branch(repository)
    assert [source.path for source in found.sources] == ["other.rb"]
    assert found.warnings == ("caf\\udce9.rb was left out: its name is not UTF-8.",)


def test_the_settings_of_git_do_not_change_what_is_found(repository: Repository) -> None:
    repository.write("a.rb", TEN)
    repository.write("old.rb", TEN * 2)
    repository.write(".gitattributes", "*.rb -diff\n")
    repository.commit()
    repository.branch()
    repository.write("a.rb", TEN.replace("line 3", "x").replace("line 6", "y"))
    repository.git("mv", "old.rb", "new.rb")
    for setting in (
        *("diff.noprefix=true", "diff.mnemonicPrefix=true", "diff.renames=false", "diff.interHunkContext=9"),
        *("core.quotePath=false", "color.ui=always", "diff.external=false", "core.abbrev=5", "diff.context=7"),
    ):
        repository.git("config", *setting.split("="))
    found = by_path(branch(repository))
    assert found["a.rb"].hunks == (Hunk(first=3, count=1), Hunk(first=6, count=1))
    assert found["new.rb"].old == (TEN * 2).encode()
    assert found["new.rb"].hunks == ()


def test_a_file_with_other_line_ends_on_disk_has_no_changed_lines_where_git_converts_them(
    repository: Repository,
) -> None:
    repository.write(".gitattributes", "*.rb text eol=crlf\n")
    repository.write("a.rb", TEN.replace("\n", "\r\n"))
    repository.commit()
    repository.branch()
    repository.write("a.rb", TEN.replace("line 4", "x").replace("\n", "\r\n"))
    (source,) = branch(repository).sources
    assert source.hunks == (Hunk(first=4, count=1),)


def test_links_are_left_out_with_a_warning_and_never_followed(repository: Repository, tmp_path: Path) -> None:
    (tmp_path / "secret.rb").write_text("secret\n")
    repository.commit()
    repository.branch()
    (repository.root / "link.rb").symlink_to(tmp_path / "secret.rb")
    repository.write("a.rb", "x\n")
    repository.commit()
    changes = branch(repository)
    assert list(by_path(changes)) == ["a.rb"]
    assert changes.warnings == ("link.rb is a symbolic link and was left out.",)


@pytest.mark.proves("S2-HARD-13")
def test_the_base_is_the_default_branch_of_the_remote_then_main_then_master(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "project", branch="trunk")
    repository.write("a.rb", "1\n")
    trunk = repository.commit()
    error = refusal(repository, BRANCH)
    assert error.code == "no_base"
    assert all(name in error.message for name in ("origin/HEAD", "main", "master"))
    assert refusal(repository, FILE, "a.rb").code == "no_base"
    assert branch(repository, "trunk").base == trunk
    repository.git("switch", "--quiet", "--create", "master")
    repository.write("a.rb", "2\n")
    master = repository.commit()
    repository.branch()
    assert branch(repository).base == master
    repository.git("branch", "main", "trunk")
    assert branch(repository).base == trunk
    repository.git("update-ref", "refs/remotes/origin/dev", master)
    repository.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/dev")
    repository.git("remote", "add", "origin", "/nowhere")
    assert branch(repository).base == master


@pytest.mark.proves("S2-HARD-13")
def test_a_branch_is_compared_with_the_commit_where_it_left_its_base(repository: Repository) -> None:
    repository.write("a.rb", TEN)
    fork = repository.commit()
    repository.branch()
    repository.write("mine.rb", "x\n")
    repository.commit()
    repository.git("switch", "--quiet", "main")
    repository.write("a.rb", TEN.replace("line 1\n", ""))
    repository.commit()
    repository.git("switch", "--quiet", "feature")
    changes = branch(repository)
    assert changes.base == fork
    assert list(by_path(changes)) == ["mine.rb"]


@pytest.mark.parametrize("base", ["nowhere", "--all", "main\0x", "HEAD:a.rb", "-x"])
def test_a_base_that_is_not_a_commit_is_refused(repository: Repository, base: str) -> None:
    repository.write("a.rb", TEN)
    repository.commit()
    assert refusal(repository, BRANCH, base=base).code == "unknown_base"


def test_branches_without_a_common_commit_are_refused(repository: Repository) -> None:
    repository.commit()
    repository.git("checkout", "--quiet", "--orphan", "alone")
    repository.commit("other")
    assert refusal(repository, BRANCH).code == "no_common_commit"


def test_a_repository_without_a_commit_has_no_base(repository: Repository) -> None:
    repository.write("a.rb", TEN)
    assert refusal(repository, BRANCH).code == "no_base"
    assert refusal(repository, STAGED).code == "no_commit"


@pytest.mark.proves("S2-DISC-18")
def test_without_git_only_a_single_file_can_be_taken(tmp_path: Path) -> None:
    (tmp_path / "a.rb").write_text("class A; end\n")
    place = Place(root=str(tmp_path), state=str(tmp_path / ".moot"), common=None, worktree=".", main_root=str(tmp_path))
    for mode in (BRANCH, STAGED):
        with pytest.raises(MootError) as caught:
            find_changes(place, mode, None, None)
        assert caught.value.code == "no_repository"
        assert "single file" in caught.value.remedy
    (source,) = find_changes(place, FILE, "a.rb", None).sources
    assert (source.data, source.known) == (b"class A; end\n", False)


@pytest.mark.proves("S2-DISC-18")
def test_a_single_file_must_exist_and_be_ruby_code(repository: Repository) -> None:
    repository.write("config/routes.rb", "x\n")
    repository.commit()
    missing = refusal(repository, FILE, "app/none.rb")
    assert missing.code == "source_missing"
    assert "app/none.rb" in missing.message
    assert refusal(repository, FILE, "config/routes.rb").code == "source_not_testable"


def test_a_single_file_is_known_to_be_new_changed_or_unchanged(repository: Repository) -> None:
    repository.write("same.rb", TEN)
    repository.write("changed.rb", TEN)
    repository.commit()
    repository.write("changed.rb", TEN.replace("line 3", "x"))
    repository.write("new.rb", TEN)
    same, changed, new = (
        find_changes(repository.place, FILE, path, None).sources[0] for path in ("same.rb", "changed.rb", "new.rb")
    )
    assert (same.old, same.hunks) == (TEN.encode(), ())
    assert (changed.old, changed.hunks) == (TEN.encode(), (Hunk(first=3, count=1),))
    assert new.old is None


def test_a_linked_worktree_has_its_own_changes(repository: Repository, tmp_path: Path) -> None:
    repository.write("a.rb", TEN)
    repository.commit()
    subprocess.run(
        ["git", "-C", str(repository.root), "worktree", "add", "--quiet", "-b", "other", str(tmp_path / "linked")],
        check=True,
        timeout=60,
    )
    (tmp_path / "linked/a.rb").write_text(TEN.replace("line 1\n", "x\n"))
    place = repository.place.replace(root=str(tmp_path / "linked"), worktree="linked")
    assert [source.path for source in find_changes(place, BRANCH, None, None).sources] == ["a.rb"]
    assert branch(repository).sources == ()
