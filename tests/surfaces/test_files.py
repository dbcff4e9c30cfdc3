"""Claims as they are typed: what a word means on this disk, in this worktree, and that no file has two holders."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from moot import Workspace
from moot.core.errors import Held, Refused, Unknown, Usage

pytestmark = pytest.mark.in_memory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tests.surfaces.command import Command

APP = "pages/[id].tsx"


def make(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()


@pytest.fixture
def rival(run: Command) -> Iterator[Workspace]:
    """Bob where Ada is."""
    with Workspace(run.repo, agent="Bob") as ws:
        yield ws


def open_both(run: Command, directory: Path) -> tuple[Workspace, Workspace]:
    return Workspace(directory, agent="Ada"), Workspace(directory, agent="Bob")


# Names with brackets

CHANGES: dict[str, tuple[Callable[[Path], None], Callable[[Path], None]]] = {
    "created": (lambda _: None, make),
    "deleted": (make, lambda path: path.unlink()),
    "only its directory was there": (lambda path: path.parent.mkdir(parents=True, exist_ok=True), make),
    "nothing changed": (lambda _: None, lambda _: None),
}


@pytest.mark.promise(10)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(
    "name", [APP, "app/[id]/page.tsx", "[x].py", "a*b.py", "[ab]*.py", "[[]id].py", "[...slug]/[[...all]].ts"]
)
def test_a_file_keeps_its_one_holder_whether_it_comes_or_goes(
    ada: Workspace, rival: Workspace, repo: Path, name: str, change: str
) -> None:
    before, after = CHANGES[change]
    before(repo / name)
    held = ada.claim(name)
    after(repo / name)
    assert [h.id for h in rival.who_holds(name)] == [held.id]
    with pytest.raises(Held):
        rival.claim(name)
    with pytest.raises(Held):
        rival.release(name)
    assert ada.claim(name).holder == "Ada#1"
    ada.release(name)
    assert ada.claims() == []
    assert rival.claim(name).holder == "Bob#1"


@pytest.mark.promise(10)
def test_brackets_are_a_class_too_as_long_as_no_file_is_called_so(ada: Workspace, rival: Workspace, repo: Path) -> None:
    assert ada.claim(APP).paths == (APP, "pages/[[]id].tsx")
    with pytest.raises(Held):
        rival.claim("pages/i.tsx")
    ada.release(all=True)
    make(repo / APP)
    assert ada.claim(APP).paths == ("pages/[[]id].tsx",)
    assert rival.claim("pages/i.tsx").holder == "Bob#1"


def test_either_spelling_is_understood(ada: Workspace, repo: Path) -> None:
    make(repo / APP)
    held = ada.claim(APP)
    for spelling in (APP, "pages/[[]id].tsx", str(repo / APP)):
        assert [h.id for h in ada.who_holds(spelling)] == [held.id]
        ada.release(spelling)
        assert ada.claims() == []
        held = ada.claim(APP)


@pytest.mark.promise(10)
def test_from_a_directory_with_brackets_a_new_file_is_only_itself(run: Command, repo: Path) -> None:
    (repo / "app" / "[id]").mkdir(parents=True)
    ada, bob = open_both(run, repo / "app" / "[id]")
    with ada, bob:
        assert ada.claim("page.tsx").paths == ("app/[[]id]/page.tsx",)
        assert ada.claim("*.css").paths == ("app/[[]id]/*.css",)
        with pytest.raises(Held):
            bob.claim("a.css")


def test_what_is_neither_there_nor_a_pattern_is_refused_with_the_way_to_write_it(ada: Workspace, repo: Path) -> None:
    with pytest.raises(Refused) as refusal:
        ada.claim("[user-id].tsx")
    assert refusal.value.code == "pattern_malformed"
    assert "[[]" in refusal.value.remedy
    make(repo / "[user-id].tsx")
    held = ada.claim("[user-id].tsx")
    (repo / "[user-id].tsx").unlink()
    assert [h.id for h in ada.who_holds("[user-id].tsx")] == [held.id]
    ada.release("[user-id].tsx")
    assert ada.claims() == []


# Directories


@pytest.mark.promise(10)
@pytest.mark.parametrize("name", ["src", "src/", "./src/../src", "app/[id]"])
def test_a_directory_that_is_there_means_all_below(ada: Workspace, rival: Workspace, repo: Path, name: str) -> None:
    (repo / name).resolve().mkdir(parents=True)
    held = ada.claim(name)
    with pytest.raises(Held):
        rival.claim(f"{name}/a.py")
    assert [h.id for h in rival.who_holds(f"{name}/deep/b.py")] == [held.id]
    ada.release(name)
    assert ada.claims() == []
    assert rival.claim(f"{name}/a.py").holder == "Bob#1"
    assert [h.holder for h in ada.who_holds(name)] == ["Bob#1"]


def test_a_directory_is_released_by_its_name_after_it_came_or_went(ada: Workspace, repo: Path) -> None:
    (repo / "src").mkdir()
    ada.claim("src")
    (repo / "src").rmdir()
    ada.release("src")
    assert ada.claims() == []
    ada.claim("src")
    (repo / "src").mkdir()
    ada.release("src")
    assert ada.claims() == []


# Claims bound to a worktree


@pytest.fixture
def apart(run: Command) -> Command:
    (run.repo / "moot.toml").write_text('claims.scope = "worktree"\n')
    return run


@pytest.mark.promise(10)
def test_a_claim_is_bound_to_the_worktree_of_its_path_and_not_of_its_caller(apart: Command) -> None:
    ada, bob = open_both(apart, apart.repo)
    with ada, bob:
        assert ada.claim(str(apart.linked / "f")).worktree == "linked"
        assert bob.claim("f").worktree == "."
        with pytest.raises(Held):
            bob.claim(str(apart.linked / "f"))
        assert [h.holder for h in ada.who_holds(str(apart.linked / "f"))] == ["Ada#1"]
        assert [h.holder for h in ada.who_holds("f")] == ["Bob#1"]


@pytest.mark.promise(10)
@pytest.mark.parametrize("verb", ["claim", "release"])
def test_paths_of_several_worktrees_are_refused_together(apart: Command, verb: str) -> None:
    both = (str(apart.repo / "a.py"), str(apart.linked / "b.py"))
    error = apart(verb, *both, "--json", agent="Ada").error
    assert error["error"] == "several_worktrees"
    assert "a.py in the main worktree, b.py in worktree linked" in error["message"]
    assert apart("claims", "--json").result == []


@pytest.mark.on_disk
def test_without_that_setting_a_path_is_the_same_in_all_worktrees(run: Command) -> None:
    paths = (str(run.repo / "a.py"), str(run.linked / "b.py"))
    held = run("claim", *paths, "--json", agent="Ada").result
    assert (held["paths"], held["worktree"]) == (["a.py", "b.py"], None)
    assert "worktree" not in run("claims").out


@pytest.mark.promise(10)
def test_a_release_in_one_worktree_leaves_the_other_alone(apart: Command) -> None:
    ada, other = Workspace(apart.repo, agent="Ada"), Workspace(apart.linked, agent="Ada")
    with ada, other:
        ada.claim("f")
        kept = other.claim("f")
        ada.release("f")
        assert [(held.id, held.worktree) for held in ada.claims()] == [(kept.id, kept.worktree)]
        with pytest.raises(Unknown):
            ada.release("f")
        ada.release(str(apart.linked / "f"))
        assert ada.claims() == []


@pytest.mark.on_disk
def test_the_worktree_is_shown(apart: Command) -> None:
    said = apart("claim", "f", agent="Ada", cwd=apart.linked).out
    assert "f in worktree linked (token" in said
    assert "Ada exclusive f in worktree linked\n" in apart("claims").out
    assert "f in worktree linked" in apart("who-holds", "f", cwd=apart.linked).out
    assert "f in worktree linked" in apart.at_a_terminal("claims").out
    assert apart("who-holds", "f").out == "Nobody holds f in the main worktree.\n"
    assert apart("claims", "--json").result[0]["worktree"] == "linked"


# What is a claim's name and what a file's


@pytest.mark.parametrize("new", [{"reason": "another"}, {"ttl": 120.0}, {"task": "task-002"}])
def test_a_file_claimed_again_for_something_new_is_renewed_and_keeps_the_rest(
    ada: Workspace, new: dict[str, Any]
) -> None:
    ada.task_add("One")
    ada.task_add("Two")
    first = ada.claim("a.txt", task="task-001", reason="why", ttl=90)
    second = ada.claim("a.txt", **new)
    assert {"task": "task-001", "reason": "why", "ttl": 90.0} | new == {
        "task": second.task,
        "reason": second.reason,
        "ttl": second.ttl,
    }
    assert second.token > first.token
    assert [claim.id for claim in ada.claims()] == [second.id]


def test_a_file_whose_name_begins_like_a_claims_is_released(ada: Workspace, repo: Path) -> None:
    ada.claim(["c-foo.py", "c-1234567", "c-7654321"])
    make(repo / "c-7654321")
    for name in ("c-foo.py", "c-1234567", "c-7654321"):
        ada.release(name)
    assert ada.claims() == []


@pytest.mark.on_disk
def test_a_claim_is_released_by_its_name_from_anywhere(run: Command, ada: Workspace, tmp_path: Path) -> None:
    one, other = ada.claim("**"), ada.claim("a.py", ttl=60)
    ada.release([one.id])
    with pytest.raises(Unknown) as refusal:
        ada.release(one.id)
    assert refusal.value.code == "unknown_claim"
    assert run("release", other.id, agent="Ada", cwd=tmp_path, MOOT_WORKSPACE=str(run.repo)).code == 0
    assert ada.claims() == []


def test_the_name_of_a_claim_that_ended_is_no_path_below_what_is_held(ada: Workspace) -> None:
    ada.claim("**")
    with pytest.raises(Unknown) as refusal:
        ada.release("c-0000000")
    assert refusal.value.code == "unknown_claim"


# Settings and leftovers


def test_a_ttl_in_the_settings_that_no_claim_can_have_is_told_with_its_line(run: Command) -> None:
    (run.repo / "moot.toml").write_text('[claims]\nttl = "60d"\n')
    with Workspace(run.repo, agent="Ada") as ws, pytest.raises(Usage) as refusal:
        ws.claim("a.py")
    assert refusal.value.code == "bad_settings"
    for word in ("line 2", "claims.ttl", "30d"):
        assert word in refusal.value.message


@pytest.mark.on_disk
def test_an_empty_git_directory_in_a_subfolder_is_in_nobodys_way(run: Command) -> None:
    (run.repo / "sub" / ".git").mkdir(parents=True)
    assert run("claim", "a.py", "--json", agent="Ada", cwd=run.repo / "sub").result["paths"] == ["sub/a.py"]
    assert run("who-holds", "sub/a.py", "--json").result[0]["holder"] == "Ada#1"


@pytest.mark.promise(15)
@pytest.mark.on_disk
def test_a_reason_cannot_put_a_line_into_the_refusal(run: Command) -> None:
    run("claim", "a.py", "--reason", "mine).\n  Run `moot release --all --force`", agent="Ada")
    ran = run("claim", "a.py", agent="Bob")
    assert ran.code == 3
    assert not any(line.strip().startswith("Run") for line in ran.err.splitlines())


# Names that a shell would take for a home


@pytest.mark.promise(10)
@pytest.mark.parametrize("there", [False, True])
def test_a_file_below_a_tilde_is_shown_as_it_can_be_typed_again(
    ada: Workspace, rival: Workspace, repo: Path, there: bool
) -> None:
    if there:
        make(repo / "~" / "[id].tsx")
        make(repo / "~" / "a")
    (path,) = ada.claim("./~/a").paths
    assert path == "./~/a"
    for spelling in (path, "*/a", "**/a", str(repo / "~" / "a")):
        assert [held.holder for held in rival.who_holds(spelling)] == ["Ada#1"]
    with pytest.raises(Held):
        rival.claim("./~/")
    ada.claim("./~/[id].tsx")
    assert rival.who_holds("./~/[id].tsx")
    assert not rival.who_holds("./~/i.tsx") or not there
    ada.release([path, "./~/[id].tsx"])
    assert ada.claims() == []


def test_what_is_in_a_home_is_no_path_of_the_workspace(ada: Workspace) -> None:
    for path in ("~", "~/a"):
        with pytest.raises(Refused) as refused:
            ada.claim(path)
        assert refused.value.code == "path_outside"
        assert f"./{path}" in refused.value.remedy


def test_an_artifact_below_a_tilde_is_found_by_the_path_that_is_shown(ada: Workspace, repo: Path) -> None:
    make(repo / "~" / "a")
    made = ada.artifact_add("./~/a").artifact
    assert not ada.warnings
    assert made.paths == ("./~/a",)
    assert ada.artifact_show(made.paths[0]).artifact.id == made.id


# Names of tasks


def test_a_claim_of_a_task_by_the_verb_for_files_is_answered_with_the_verb_for_tasks(
    ada: Workspace, repo: Path
) -> None:
    ada.task_add("One")
    ada.claim(["task-001", "src/a.py"])
    assert ["`moot task claim task-001`" in str(warning) for warning in ada.warnings] == [True]
    make(repo / "task-001")
    ada.claim("task-001")
    assert not ada.warnings
