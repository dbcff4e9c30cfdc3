"""Where a workspace is, tried on real repositories made by git."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest

from moot import place as location
from moot.core.errors import Refused, Unavailable, Usage
from moot.place import Place, Worktree, gitdir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.core.errors import MootError

ALONE = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
SOMEBODY = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "protocol.file.allow=always"]


def git(directory: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", *SOMEBODY, *words], cwd=directory, env=ALONE, check=True, capture_output=True, text=True, timeout=60
    )
    return done.stdout.strip()


def repository(directory: Path) -> Path:
    directory.mkdir(parents=True)
    git(directory, "init", "-q", "-b", "main")
    git(directory, "commit", "-q", "--allow-empty", "-m", "begin")
    return directory


def find(start: Path, workspace: object = "", *, named: bool = False) -> Place:
    return location.find(str(start), {"MOOT_WORKSPACE": str(workspace)}, named=named)


def refusal(error: type[MootError], code: str, *call: object) -> MootError:
    function, *arguments = call
    with pytest.raises(error) as caught:
        function(*arguments)  # type: ignore[operator]
    assert caught.value.code == code
    assert caught.value.remedy
    return caught.value


@pytest.fixture
def work(tmp_path: Path) -> Path:
    return Path(os.path.realpath(tmp_path))


@pytest.fixture
def repo(work: Path) -> Path:
    return repository(work / "repo")


@pytest.fixture
def linked(repo: Path, work: Path) -> Path:
    git(repo, "worktree", "add", "-q", "../linked")
    return work / "linked"


# Finding it


@pytest.mark.parametrize("name", ["plain", "with a space", "Überraschung 工作", "-dash", "new\nline", "[id]"])
def test_a_repository_is_a_workspace_from_anywhere_inside(work: Path, name: str) -> None:
    root = repository(work / name)
    (root / "a" / "b").mkdir(parents=True)
    expected = Place(
        root=str(root), state=str(root / ".git" / "moot"), common=str(root / ".git"), worktree=".", main_root=str(root)
    )
    for start in (root, root / "a" / "b", root / ".git", root / ".git" / "refs" / "heads", root / ".git" / "moot"):
        assert find(start) == expected


def test_git_agrees_about_root_and_common_directory(repo: Path, linked: Path) -> None:
    git(repo, "clone", "-q", "--bare", ".", "../bare.git")
    git(repo, "submodule", "--quiet", "add", "../bare.git", "sub")
    for directory in (repo, linked, repo / "sub"):
        found = find(directory)
        assert found.root == git(directory, "rev-parse", "--show-toplevel")
        assert found.common == git(directory, "rev-parse", "--path-format=absolute", "--git-common-dir")


def test_a_linked_worktree_shares_the_state(repo: Path, linked: Path) -> None:
    found = find(linked)
    assert found == find(repo).replace(root=str(linked), worktree="linked")
    assert find(repo / ".git" / "worktrees" / "linked") == found


def test_a_worktree_inside_the_main_one_is_its_own_root(repo: Path) -> None:
    git(repo, "worktree", "add", "-q", ".worktrees/inner")
    found = find(repo / ".worktrees" / "inner")
    assert (found.root, found.worktree, found.main_root) == (str(repo / ".worktrees" / "inner"), "inner", str(repo))


def test_a_worktree_with_relative_pointers_is_understood(repo: Path, linked: Path) -> None:
    """Newer versions of git write both pointers relative, if asked."""
    (linked / ".git").write_text("gitdir: ../repo/.git/worktrees/linked\n")
    (repo / ".git" / "worktrees" / "linked" / "gitdir").write_text("../../../../linked/.git\n")
    assert find(linked).state == find(repo).state
    assert location.worktrees(find(repo))[1] == Worktree(root=str(linked), name="linked")


def test_a_file_that_is_not_there_yet_belongs_to_where_it_would_be(repo: Path) -> None:
    (repo / "here.txt").touch()
    for start in ("here.txt", "new.txt", "not/yet/made/new.txt", "here.txt/odd"):
        assert find(repo / start) == find(repo)


def test_a_link_to_a_directory_of_the_repository_leads_into_it(repo: Path, work: Path) -> None:
    (repo / "deep").mkdir()
    (work / "short").symlink_to(repo / "deep")
    assert find(work / "short") == find(repo)


def test_a_nested_repository_wins_over_the_outer_one(repo: Path) -> None:
    inner = repository(repo / "vendor" / "inner")
    assert find(inner / "src").root == str(inner)
    assert find(repo / "vendor").root == str(repo)


def test_a_submodule_is_a_workspace_of_its_own(repo: Path, work: Path) -> None:
    other = repository(work / "other")
    git(repo, "submodule", "--quiet", "add", str(other), "libs/sub")
    inside = repo / ".git" / "modules" / "libs" / "sub"
    expected = Place(
        root=str(repo / "libs" / "sub"),
        state=str(inside / "moot"),
        common=str(inside),
        worktree=".",
        main_root=str(repo / "libs" / "sub"),
    )
    assert find(repo / "libs" / "sub") == expected
    assert find(inside / "hooks") == expected
    git(repo / "libs" / "sub", "worktree", "add", "-q", str(work / "sub2"))
    assert find(work / "sub2") == expected.replace(root=str(work / "sub2"), worktree="sub2")


def test_a_bare_repository_and_its_worktrees_are_one_workspace(repo: Path, work: Path) -> None:
    bare = work / "bare.git"
    git(repo, "clone", "-q", "--bare", ".", str(bare))
    git(bare, "worktree", "add", "-q", str(work / "tree"), "main")
    from_bare, from_tree = find(bare, named=True), find(work / "tree")
    assert from_bare == Place(root=str(bare), state=str(bare / "moot"), common=str(bare), worktree=".", main_root=None)
    assert from_tree == from_bare.replace(root=str(work / "tree"), worktree="tree")
    assert location.worktrees(from_bare) == [Worktree(root=str(work / "tree"), name="tree")]


def test_a_bare_repository_is_found_by_its_name_and_not_by_standing_in_it(repo: Path, work: Path) -> None:
    """What looks like one may be files that somebody committed."""
    bare = work / "bare.git"
    git(repo, "clone", "-q", "--bare", ".", str(bare))
    for start in (bare, bare / "refs"):
        assert f"moot -C {bare}" in refusal(Unavailable, "no_workspace", find, start).remedy
    found = find(bare, named=True)
    assert found.state == str(bare / "moot")
    assert location.create(str(bare), {}, named=True) == found
    assert find(work, bare) == find(work, bare / "moot") == found
    assert location.find(str(bare / "refs"), {"GIT_DIR": ".."}) == found
    assert location.find(str(bare), {"GIT_DIR": "."}) == found
    refusal(Unavailable, "no_workspace", location.find, str(bare), {"GIT_DIR": str(repo / ".git")})


@pytest.mark.parametrize("pointer", [True, False])
def test_a_folder_of_worktrees_around_a_bare_repository_is_that_workspace(
    repo: Path, work: Path, pointer: bool
) -> None:
    """A common layout: `project/.bare` with a `.git` file beside it, or a bare `project/.git`."""
    project = work / "project"
    project.mkdir()
    bare = project / (".bare" if pointer else ".git")
    git(repo, "clone", "-q", "--bare", ".", str(bare))
    if pointer:
        (project / ".git").write_text("gitdir: ./.bare\n")
    git(project, "worktree", "add", "-q", "one", "main")
    found = find(project)
    assert (found.root, found.main_root, found.state) == (str(bare), None, str(bare / "moot"))
    assert find(project / "one").state == found.state
    assert location.resolve(found, str(project), "one/a.py").path == "a.py"


def test_a_bare_repository_with_settings_per_worktree_is_still_bare(repo: Path, work: Path) -> None:
    """Git then moves core.bare into config.worktree."""
    git(repo, "clone", "-q", "--bare", ".", "../bare.git")
    git(work / "bare.git", "worktree", "add", "-q", "../tree", "main")
    git(work / "tree", "sparse-checkout", "set", "src")
    assert "bare = true" not in (work / "bare.git" / "config").read_text()
    assert find(work / "tree").main_root is None


def test_a_git_directory_kept_elsewhere_is_followed(work: Path) -> None:
    (work / "tree").mkdir()
    git(work / "tree", "init", "-q", "--separate-git-dir", str(work / "store"))
    found = find(work / "tree")
    assert (found.root, found.main_root, found.common) == (str(work / "tree"), str(work / "tree"), str(work / "store"))


def test_a_repository_may_say_where_its_worktree_is(repo: Path, work: Path) -> None:
    (work / "tree").mkdir()
    git(repo, "config", "core.worktree", "../../tree")
    assert (
        find(repo).root == find(repo / ".git").root == git(repo, "rev-parse", "--show-toplevel") == str(work / "tree")
    )
    git(repo, "config", "core.worktree", "../../gone")
    assert find(repo).root == str(repo)


@pytest.mark.parametrize(
    "content", ["", "nonsense\n", "gitdir: /nowhere/at/all\n", "gitdir: .\n", "gitdir:\n"], ids=str.strip
)
def test_a_broken_pointer_is_reported_and_not_climbed_over(repo: Path, content: str) -> None:
    (repo / "inner").mkdir()
    (repo / "inner" / ".git").write_text(content)
    error = refusal(Unavailable, "git_broken", find, repo / "inner")
    assert str(repo / "inner" / ".git") in error.message


@pytest.mark.parametrize("leftover", ["directory", "with a file", "link", "pipe"])
def test_a_leftover_that_is_no_pointer_is_climbed_over_as_git_does(repo: Path, work: Path, leftover: str) -> None:
    for above in (repo, work):
        dot_git = above / "inner" / ".git"
        dot_git.parent.mkdir()
        if leftover == "link":
            dot_git.symlink_to(work / "gone")
        elif leftover == "pipe":
            os.mkfifo(dot_git)
        else:
            dot_git.mkdir()
            (dot_git / "config").touch() if leftover == "with a file" else None
    assert find(repo / "inner") == find(repo)
    assert git(repo / "inner", "rev-parse", "--show-toplevel") == str(repo)
    assert location.resolve(find(repo), str(repo), "inner/a.py").path == "inner/a.py"
    assert "inner" not in refusal(Unavailable, "no_workspace", find, work).details["repositories"]
    refusal(Unavailable, "no_workspace", find, work / "inner")


def test_a_worktree_whose_repository_is_gone_says_so(repo: Path, linked: Path) -> None:
    repo.rename(repo.with_name("moved"))
    refusal(Unavailable, "git_broken", find, linked)


@pytest.mark.parametrize("mark", [".moot", "moot.toml"])
def test_outside_git_the_nearest_marked_folder_is_the_workspace(work: Path, mark: str) -> None:
    (work / "outer" / ".moot").mkdir(parents=True)
    root = work / "outer" / "inner"
    (root / "deep").mkdir(parents=True)
    (root / ".moot").mkdir() if mark == ".moot" else (root / "moot.toml").touch()
    expected = Place(root=str(root), state=str(root / ".moot"), common=None, worktree=".", main_root=str(root))
    assert find(root / "deep") == expected
    assert location.worktrees(expected) == [Worktree(root=str(root), name=".")]
    assert not location.ignore_case(expected) or (root / ".MOOT").exists()


def test_a_repository_wins_over_a_marked_folder_around_and_inside_it(work: Path) -> None:
    (work / ".moot").mkdir()
    repo = repository(work / "repo")
    (repo / "fixtures").mkdir()
    (repo / "fixtures" / "moot.toml").touch()
    assert find(repo / "fixtures").root == str(repo)


@pytest.mark.promise(15)
def test_a_folder_with_several_repositories_is_no_workspace_and_names_them(work: Path) -> None:
    repository(work / "b")
    repository(work / "a")
    (work / "plain").mkdir()
    error = refusal(Unavailable, "no_workspace", find, work)
    assert "a, b" in error.remedy
    assert "moot init" in error.remedy
    assert "moot init" in refusal(Unavailable, "no_workspace", find, work / "plain").remedy


# MOOT_WORKSPACE


def test_the_variable_overrides_and_may_name_the_state_itself(repo: Path, work: Path) -> None:
    other = repository(work / "other")
    state = Path(location.create(str(other), {}).state)
    for said in (other, state, other / ".git"):
        assert find(repo, said) == find(other)


def test_the_variable_does_not_hide_which_worktree_one_stands_in(repo: Path, linked: Path) -> None:
    assert find(linked, location.create(str(repo), {}).state) == find(linked)
    assert location.for_paths(["x"], str(linked), {"MOOT_WORKSPACE": str(repo)}) == find(linked)


def test_a_directory_that_the_caller_names_beats_the_variable(repo: Path, work: Path) -> None:
    other = repository(work / "other")
    assert find(other, repo, named=True) == find(other)
    assert location.for_paths(["x"], str(other), {"MOOT_WORKSPACE": str(repo)}, named=True) == find(other)
    assert location.create(str(other), {"MOOT_WORKSPACE": str(repo)}, named=True) == find(other)
    refusal(Unavailable, "no_workspace", lambda: find(work, repo, named=True))


def test_the_variable_works_from_a_place_that_is_broken(repo: Path, work: Path) -> None:
    (work / "bad").mkdir()
    (work / "bad" / ".git").write_text("?")
    assert find(work / "bad", repo) == find(repo)


def test_the_variable_must_name_a_workspace(repo: Path, work: Path) -> None:
    assert "MOOT_WORKSPACE" in refusal(Unavailable, "no_workspace", find, repo, work / "nowhere").message
    assert "MOOT_WORKSPACE" in refusal(Unavailable, "no_workspace", find, repo, work).message


# The workspace of files


def test_files_decide_before_the_current_directory(repo: Path, work: Path) -> None:
    other = repository(work / "other")
    assert location.for_paths([str(other / "new.py"), "../other/src/**"], str(repo), {}) == find(other)
    assert location.for_paths([], str(repo), {}) == find(repo)
    assert location.for_paths(["/somewhere/else", "bad\0name"], str(repo), {}) == find(repo)
    assert location.for_paths(["repo/x"], str(work), {}) == find(repo)


def test_files_of_two_worktrees_are_in_one_workspace(repo: Path, linked: Path) -> None:
    assert location.for_paths([str(linked / "a"), "b"], str(repo), {}) == find(linked)


@pytest.mark.promise(15)
def test_files_of_two_repositories_are_refused_with_both_named(repo: Path, work: Path) -> None:
    other = repository(work / "other")
    error = refusal(Refused, "several_workspaces", location.for_paths, ["repo/a", "other/b"], str(work), {})
    assert error.details["workspaces"] == [str(repo), str(other)]


def test_a_link_out_of_a_workspace_still_belongs_to_it(repo: Path, work: Path) -> None:
    other = repository(work / "other")
    (other / "src").mkdir()
    (repo / "away").symlink_to(other / "src")
    assert location.for_paths(["away/x.py"], str(repo), {}) == find(repo)


# Worktrees


def test_worktrees_are_listed_from_each_of_them(repo: Path, linked: Path, work: Path) -> None:
    git(repo, "worktree", "add", "-q", "-b", "other", "../a space")
    listed = location.worktrees(find(repo))
    assert [worktree.root for worktree in listed] == [str(repo), str(work / "a space"), str(linked)]
    assert (listed[0].name, listed[2].name) == (".", "linked")
    assert location.worktrees(find(linked)) == listed
    by_git = git(repo, "worktree", "list", "--porcelain").splitlines()
    assert {line for line in by_git if line.startswith("worktree ")} == {f"worktree {tree.root}" for tree in listed}


def test_a_deleted_worktree_is_left_out(repo: Path, linked: Path) -> None:
    linked.rename(linked.with_name("gone"))
    assert location.worktrees(find(repo)) == [Worktree(root=str(repo), name=".")]


def test_another_repository_in_a_deleted_worktrees_place_is_not_ours(repo: Path, linked: Path) -> None:
    linked.rename(linked.with_name("gone"))
    repository(linked)
    assert location.worktrees(find(repo)) == [Worktree(root=str(repo), name=".")]


def test_a_worktree_that_was_moved_behind_gits_back_is_seen_from_inside(repo: Path, linked: Path) -> None:
    moved = linked.rename(linked.with_name("moved"))
    assert location.worktrees(find(moved))[1:] == [Worktree(root=str(moved), name="linked")]


# Case


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", False),
        ("[core]\n\tignorecase = true\n", True),
        ("[CORE]\nIgnoreCase=YES ; says the disk\n", True),
        ("[core]\nignorecase\n", True),
        ("[core] ignorecase = on\n", True),
        ("[core]\nignorecase = true\nignorecase = false\n", False),
        ("[core]\nignorecase = true\n[core]\nignorecase = 0\n", False),
        ('[core "sub"]\nignorecase = true\n', False),
        ("[other]\nignorecase = true\n", False),
        ('[branch "a]b"]\nx = 1\n[core]\nignorecase = "true"\n', True),
        ("# [core]\n; ignorecase = true \\\n[core]\nignorecase = true\n", True),
        ('[alias]\nx = "!f \\\n[core]\\\nignorecase = true"\n', False),
        ("[core]\n\tignorecase = tr\\\nue\n", True),
        ('[core]\npager = "less # \\" ; not a comment"\nignorecase = true\n', True),
        ("[core]\r\n\tignorecase = true\r\n", True),
    ],
)
def test_whether_case_counts_is_read_as_git_reads_it(repo: Path, text: str, expected: bool) -> None:
    (repo / ".git" / "config").write_text(text, newline="")
    assert location.ignore_case(find(repo)) is expected
    said = subprocess.run(
        ["git", "config", "-f", ".git/config", "--bool", "core.ignorecase"],
        cwd=repo, env=ALONE, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (said.stdout.strip() == "true") is expected


def test_a_config_that_cannot_be_read_is_reported(repo: Path) -> None:
    found = find(repo)
    (repo / ".git" / "config").unlink()
    (repo / ".git" / "config").mkdir()
    refusal(Unavailable, "git_broken", location.ignore_case, found)


# Paths as typed


def test_a_path_is_relative_to_where_one_stands(repo: Path) -> None:
    (repo / "src" / "deep").mkdir(parents=True)
    here = find(repo)
    said = [
        (repo, "src/a.py", "src/a.py"),
        (repo, "./src//a.py", "src/a.py"),
        (repo / "src", "a.py", "src/a.py"),
        (repo / "src" / "deep", "../../b", "b"),
        (repo / "src", "not/../yet.py", "src/yet.py"),
        (repo / "src", "**/*.py", "src/**/*.py"),
        (repo / "src", "../te?t/[ab]*", "te?t/[ab]*"),
        (repo, "src/", "src/"),
        (repo, "a b/ü 工.txt", "a b/ü 工.txt"),
        (repo, "..a/...", "..a/..."),
        (repo, ".github/x", ".github/x"),
        (repo, ".gitignore", ".gitignore"),
    ]
    for cwd, given, expected in said:
        assert location.resolve(here, str(cwd), given).path == expected


def test_an_absolute_path_in_any_worktree_is_the_same_path(repo: Path, linked: Path, work: Path) -> None:
    git(repo, "worktree", "add", "-q", ".worktrees/inner")
    for root in (repo, linked, repo / ".worktrees" / "inner"):
        for seen_from in (repo, linked):
            assert location.resolve(find(seen_from), str(work), str(root / "src" / "a.py")).path == "src/a.py"
    assert location.resolve(find(linked), str(linked), "../repo/src/a.py").path == "src/a.py"


def test_the_worktree_of_a_path_is_its_own_and_not_the_callers(repo: Path, linked: Path, work: Path) -> None:
    git(repo, "worktree", "add", "-q", ".worktrees/inner")
    for root, name in ((repo, "."), (linked, "linked"), (repo / ".worktrees" / "inner", "inner")):
        for seen_from in (repo, linked):
            assert location.resolve(find(seen_from), str(work), str(root / "a.py")).worktree == name


def test_how_much_of_a_path_is_there(repo: Path) -> None:
    (repo / "app" / "[id]").mkdir(parents=True)
    (repo / "app" / "[id]" / "a.py").touch()
    (repo / "loose").symlink_to("app/[id]/new")
    (repo / "alias").symlink_to("app")
    said = {
        "app": ("app", 1, True),
        "app/[id]/": ("app/[id]/", 2, True),
        "app/[id]/a.py": ("app/[id]/a.py", 3, False),
        "alias/[id]/b/c": ("app/[id]/b/c", 2, False),
        "app/i*": ("app/i*", 1, False),
        "loose": ("app/[id]/new", 2, False),
        "new": ("new", 0, False),
    }
    for given, expected in said.items():
        named = location.resolve(find(repo), str(repo), given)
        assert (named.path, named.there, named.directory) == expected


def test_an_absolute_path_through_a_link_above_the_repository_is_understood(repo: Path, work: Path) -> None:
    (work / "alias").symlink_to(repo)
    (repo / "src").mkdir()
    (work / "short").symlink_to(repo / "src")
    assert location.resolve(find(repo), str(work), str(work / "alias" / "src" / "a")).path == "src/a"
    assert location.resolve(find(repo), str(work), str(work / "short" / "a")).path == "src/a"
    assert location.for_paths([str(work / "short" / "a")], str(work), {}) == find(repo)


@pytest.mark.promise(10)
def test_two_spellings_of_one_file_are_one_path(repo: Path) -> None:
    (repo / "real").mkdir()
    (repo / "real" / "a.py").touch()
    (repo / "link").symlink_to("real")
    (repo / "b.py").symlink_to("link/a.py")
    for given in ("real/a.py", "link/a.py", "b.py", "link/../real/a.py"):
        assert location.resolve(find(repo), str(repo), given).path == "real/a.py"
    assert location.resolve(find(repo), str(repo), "link/*.py").path == "real/*.py"
    assert location.resolve(find(repo), str(repo / "link"), "new.py").path == "real/new.py"


@pytest.mark.promise(10)
@pytest.mark.promise(15)
@pytest.mark.parametrize(
    ("given", "code"),
    [
        ("../x", "path_outside"),
        ("src/../../x", "path_outside"),
        ("../repository/x", "path_outside"),
        ("*/../../x", "path_outside"),
        ("/etc/passwd", "path_absolute"),
        ("/", "path_absolute"),
        ("away/x", "path_symlink"),
        ("away", "path_symlink"),
        ("away/**", "path_symlink"),
        ("away/../x", "path_symlink"),
        ("deep/loose/x", "path_symlink"),
        ("dangling", "path_symlink"),
        (".git", "path_internal"),
        (".git/config", "path_internal"),
        (".git/moot/log.db", "path_internal"),
        (".GIT/config", "path_internal"),
        ("src/.git/x", "path_internal"),
        ("inside/config", "path_internal"),
        ("inner/a.py", "path_outside"),
        ("", "path_malformed"),
        (".", "path_malformed"),
        ("./", "path_malformed"),
        ("a\0b", "path_malformed"),
        ("a\udc80b", "path_malformed"),
        ("a\\b", "path_malformed"),
        ("a\nb", "path_malformed"),
    ],
)
def test_what_is_not_the_repositorys_is_refused(repo: Path, work: Path, given: str, code: str) -> None:
    (work / "elsewhere" / "deep").mkdir(parents=True)
    (work / "repository").mkdir()
    (repo / "deep").mkdir()
    (repo / "away").symlink_to(work / "elsewhere" / "deep")
    (repo / "deep" / "loose").symlink_to("../../elsewhere")
    (repo / "dangling").symlink_to(work / "not-there")
    (repo / "inside").symlink_to(".git")
    repository(repo / "inner")
    refusal(Refused, code, location.resolve, find(repo), str(repo), given)


def test_a_link_from_one_worktree_into_another_leaves_the_worktree(repo: Path, linked: Path) -> None:
    (repo / "shared").mkdir()
    (linked / "shared").symlink_to(repo / "shared")
    refusal(Refused, "path_symlink", location.resolve, find(linked), str(linked), "shared/x")


def test_from_outside_a_relative_path_means_what_it_says(repo: Path, work: Path) -> None:
    """With MOOT_WORKSPACE one may stand elsewhere; `a.py` is then a file there, not in the workspace."""
    refusal(Refused, "path_outside", location.resolve, find(repo), str(work), "a.py")
    assert location.resolve(find(repo), str(work), "repo/a.py").path == "a.py"


def test_in_a_bare_repository_a_path_is_the_repositorys(repo: Path, work: Path) -> None:
    git(repo, "clone", "-q", "--bare", ".", "../bare.git")
    bare = work / "bare.git"
    there = find(bare, named=True)
    assert location.resolve(there, str(bare), "src/a.py").path == "src/a.py"
    assert not location.resolve(there, str(bare), "refs").directory, "git's own, not the repository's"
    refusal(Refused, "path_outside", location.resolve, there, str(bare), "../x")
    refusal(Refused, "path_outside", location.resolve, there, str(bare / "refs"), "x")


def test_outside_git_moots_own_folder_is_refused(work: Path) -> None:
    here = location.create(str(work), {})
    assert location.resolve(here, str(work), "notes.md").path == "notes.md"
    refusal(Refused, "path_internal", location.resolve, here, str(work), ".moot/log.db")


# Making one


def everything_below(directory: Path) -> set[str]:
    return {str(path.relative_to(directory)) for path in directory.rglob("*")}


def test_creating_makes_one_private_directory_and_nothing_else(repo: Path, linked: Path, work: Path) -> None:
    before = everything_below(work)
    made = location.create(str(linked), {})
    assert everything_below(work) - before == {"repo/.git/moot"}
    assert stat.S_IMODE(os.stat(made.state).st_mode) == 0o700
    assert made == find(linked)


def test_creating_again_changes_nothing(work: Path) -> None:
    first = location.create(str(work), {})
    (work / ".moot" / "log.db").write_bytes(b"precious")
    (work / ".moot" / ".gitignore").write_text("# mine\n")
    assert location.create(str(work), {}) == first
    assert (work / ".moot" / "log.db").read_bytes() == b"precious"
    assert (work / ".moot" / ".gitignore").read_text() == "# mine\n"


def test_outside_git_the_state_hides_itself_from_a_later_repository(work: Path) -> None:
    made = location.create(str(work), {})
    assert everything_below(work) == {".moot", ".moot/.gitignore"}
    assert find(work) == made
    git(work, "init", "-q")
    assert git(work, "status", "--porcelain") == ""


def test_creating_below_a_workspace_joins_it(work: Path) -> None:
    made = location.create(str(work), {})
    (work / "below").mkdir()
    assert location.create(str(work / "below"), {}) == made
    assert everything_below(work / "below") == set()


def test_creating_follows_the_variable(repo: Path, work: Path) -> None:
    assert location.create(str(work), {"MOOT_WORKSPACE": str(repo)}) == find(repo)
    assert not (work / ".moot").exists()


def test_creating_needs_a_directory_and_leave_to_write(work: Path, repo: Path) -> None:
    (work / "file").touch()
    for start in ("file", "typo/deep"):
        refusal(Usage, "not_a_directory", location.create, str(work / start), {})
    (repo / ".git" / "moot").write_text("in the way")
    refusal(Unavailable, "unsafe_workspace", location.create, str(repo), {})


def test_a_git_directory_is_recognised_by_its_parts(repo: Path, linked: Path) -> None:
    assert gitdir.is_git_directory(str(repo / ".git"))
    assert gitdir.is_git_directory(str(repo / ".git" / "worktrees" / "linked"))
    assert not gitdir.is_git_directory(str(repo))
    assert gitdir.common_of(str(repo / ".git" / "worktrees" / "linked")) == str(repo / ".git")
    (repo / ".git" / "worktrees" / "linked" / "commondir").write_text("../nowhere")
    refusal(Unavailable, "git_broken", gitdir.common_of, str(repo / ".git" / "worktrees" / "linked"))
