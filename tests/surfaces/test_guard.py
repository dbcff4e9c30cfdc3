"""The guard lets nobody commit or push files that somebody else has claimed, and stops nothing else."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from moot import Workspace
from tests.surfaces.command import PATIENCE
from tests.surfaces.guarded import NAMED, Guarded, passed, refused

if TYPE_CHECKING:
    from tests.surfaces.command import Command


@pytest.fixture
def repo(run: Command) -> Guarded:
    """A repository with the guard, and two files in it."""
    repo = Guarded(run)
    repo.write("src/a.py", "b.py", text="1\n")
    assert repo.commit().code == 0
    assert run("guard", "install").code == 0
    return repo


# Commits


def test_a_commit_of_a_file_that_another_agent_claims_is_refused_and_names_holder_claim_and_remedy(
    repo: Guarded,
) -> None:
    claim = repo.claim("Ada", "src/**", reason="new grammar")
    repo.write("src/a.py", "b.py")
    ran = repo.commit(agent="Bob")
    refused(ran, "src/a.py\n", "Ada#1", claim, "new grammar", "moot send Ada", "git restore --staged")
    assert "  b.py" not in ran.err
    assert "MOOT_GUARD" not in ran.err  # an agent asks; only a person is told how to override
    assert repo.git("diff", "--cached", "--name-only").out == "b.py\nsrc/a.py\n"
    repo.git("restore", "--staged", "src/a.py")
    passed(repo.commit(agent="Bob"))


def test_a_person_and_an_unknown_caller_are_refused_too_and_are_told_of_the_override(repo: Guarded) -> None:
    repo.claim("Ada", "src/a.py")
    repo.write("src/a.py")
    refused(repo.commit(), "MOOT_GUARD=off git commit")
    refused(
        repo.commit(MOOT_PERSON=""), "MOOT_GUARD=off git commit", "say who you are: MOOT_AGENT=NAME or MOOT_PERSON=1."
    )
    ran = repo.commit(CLAUDECODE="1")
    refused(ran, "say who you are: MOOT_AGENT=NAME.")
    assert "MOOT_GUARD" not in ran.err


def test_own_claims_shared_claims_and_unclaimed_files_pass(repo: Guarded) -> None:
    repo.claim("Ada", "src/a.py")
    repo.write("src/a.py")
    passed(repo.commit(agent="Ada"))
    repo.run("claim", "--shared", "b.py", agent="Ada")
    repo.write("b.py", "c.py")
    passed(repo.commit(agent="Bob"))


def test_a_person_at_a_terminal_is_known_by_it(repo: Guarded) -> None:
    repo.run("claim", "src/a.py")
    repo.write("src/a.py")
    env = {**repo.run.environment, **NAMED, "MOOT_PERSON": ""}
    refused(repo.commit(MOOT_PERSON=""), "person:")
    ours, theirs = pty.openpty()  # git gives its hooks no input, so their error output has to tell
    try:
        words = ["git", "commit", "-q", "-m", "change"]
        done = subprocess.run(words, cwd=repo.repo, env=env, stdin=theirs, stderr=theirs, timeout=PATIENCE, check=False)
    finally:
        os.close(ours)
        os.close(theirs)
    assert done.returncode == 0


def test_a_persons_own_claim_passes(repo: Guarded) -> None:
    repo.run("claim", "src/a.py")
    repo.write("src/a.py")
    refused(repo.commit(agent="Ada"), "person:")
    passed(repo.commit())


def test_a_claim_for_a_task_that_the_caller_holds_passes(repo: Guarded) -> None:
    repo.run("task", "add", "Write it")
    repo.claim("Ada", "src/a.py", task="task-001")
    repo.write("src/a.py")
    refused(repo.commit(agent="Bob"), "for task-001")
    repo.run("task", "claim", "task-001", agent="Bob")
    passed(repo.commit(agent="Bob"))


def test_a_claim_of_a_holder_that_fell_silent_passes_as_another_claim_would(repo: Guarded) -> None:
    repo.claim("Ada", "src/a.py", ttl="0.001")
    repo.write("src/a.py")
    passed(repo.commit(agent="Bob"))


def test_an_earlier_incarnation_and_an_agent_that_never_joined_hold_nothing(repo: Guarded) -> None:
    repo.run("join", "Ada", "--take-over", agent="Ada")
    repo.claim("Ada", "src/a.py")
    repo.write("src/a.py")
    refused(repo.commit(agent="Ada", MOOT_INCARNATION="1"), "Ada#2")
    refused(repo.commit(agent="Zoe"), "Ada#2")
    passed(repo.commit(agent="Ada", MOOT_INCARNATION="2"))


def test_of_a_rename_both_names_count_and_a_deletion_is_a_change(repo: Guarded) -> None:
    claim = repo.claim("Ada", "src/a.py")
    repo.git("mv", "src/a.py", "moved.py")
    refused(repo.commit(agent="Bob"), "src/a.py")
    repo.run("release", claim, agent="Ada")
    repo.claim("Ada", "moved.py")
    refused(repo.commit(agent="Bob"), "moved.py")
    repo.git("reset", "-q", "--hard")
    repo.claim("Ada", "b.py")
    repo.git("rm", "-q", "b.py")
    refused(repo.commit(agent="Bob"), "b.py")


def test_commit_all_and_commit_only_are_judged_by_what_they_would_commit(repo: Guarded) -> None:
    repo.claim("Ada", "src/a.py")
    (repo.repo / "src" / "a.py").write_text("changed\n")
    refused(repo.commit("-a", agent="Bob"), "src/a.py")
    refused(repo.commit("--only", "src/a.py", agent="Bob"), "src/a.py")
    repo.git("add", "src/a.py")
    (repo.repo / "b.py").write_text("changed\n")
    passed(repo.commit("--only", "b.py", agent="Bob"))
    refused(repo.commit("--include", "b.py", agent="Bob"), "src/a.py")
    passed(repo.commit(agent="Ada"))


def test_an_amended_commit_is_judged_by_what_is_added_to_it(repo: Guarded) -> None:
    repo.write("src/a.py")
    passed(repo.commit(agent="Bob"))
    repo.claim("Ada", "src/a.py")
    passed(repo.commit("--amend", agent="Bob"))
    repo.write("src/a.py")
    refused(repo.commit("--amend", agent="Bob"), "src/a.py")


def test_the_first_commit_of_a_repository_is_checked(tmp_path, run: Command) -> None:
    repo = Guarded(run)
    run("guard", "install")
    repo.claim("Ada", "src/**")
    repo.git("checkout", "-q", "--orphan", "new")
    repo.write("src/a.py")
    refused(repo.commit(agent="Bob"), "src/a.py")


def test_a_merge_is_judged_by_what_it_changes_itself(repo: Guarded) -> None:
    repo.git("checkout", "-q", "-b", "side")
    repo.write("src/a.py", text="side\n")
    repo.write("b.py", text="side\n")
    passed(repo.commit(agent="Ada"))
    repo.git("checkout", "-q", "main")
    repo.write("b.py", text="main\n")
    passed(repo.commit(agent="Bob"))
    repo.claim("Ada", "src/a.py")
    assert repo.git("merge", "-q", "side", agent="Bob").code == 1  # a conflict in b.py
    repo.git("checkout", "-q", "--ours", "b.py")
    repo.git("add", "b.py")
    (repo.repo / "src" / "a.py").write_text("and more\n")
    repo.git("add", "src/a.py")
    refused(repo.commit(agent="Bob"), "src/a.py")
    repo.git("checkout", "-q", "side", "--", "src/a.py")
    passed(repo.commit(agent="Bob"))


def test_a_commit_in_another_worktree_is_checked(repo: Guarded) -> None:
    linked = repo.run.linked
    repo.claim("Ada", "src/**")
    repo.write("src/new.py", where=linked)
    refused(repo.commit(agent="Bob", cwd=linked), "src/new.py")
    (linked / "src" / "deep").mkdir()
    refused(repo.commit(agent="Bob", cwd=linked / "src" / "deep"), "src/new.py")
    passed(repo.commit(agent="Ada", cwd=linked))


def test_claims_that_are_bound_to_a_worktree_bind_only_there(repo: Guarded) -> None:
    (repo.repo / "moot.toml").write_text('[claims]\nscope = "worktree"\n')
    repo.claim("Ada", "src/a.py")
    repo.write("src/a.py", where=repo.run.linked)
    passed(repo.commit(agent="Bob", cwd=repo.run.linked))
    repo.write("src/a.py")
    refused(repo.commit(agent="Bob"), "src/a.py")


STRANGE = (
    b"src/with blank.py",
    b"src/'single'.py",
    b'src/"double".py',
    b"src/$(touch loot).py",
    b"src/`touch loot`.py",
    b"src/new\nline.py",
    b"src/tab\there.py",
    b"src/\x1b[31mred.py",
    b"src/back\\slash.py",
    b"src/[id]*?.py",
    b"src/-n.py",
    "src/größe-字-é.py".encode(),
    "src/e\u0301.py".encode(),  # decomposed
    b"src/not-utf8-\xff.py",
    b"src/:(top)x",
)


def test_a_file_with_any_name_is_held_by_the_claim_on_its_directory(repo: Guarded) -> None:
    repo.claim("Ada", "src/")
    for name in STRANGE:
        repo.write(name)
        refused(repo.commit(agent="Bob"), "Ada#1")
        repo.git("reset", "-q")
    repo.write(*STRANGE)
    assert repo.commit(agent="Bob", MOOT_GUARD="off").code == 0
    assert not (repo.repo / "loot").exists()
    assert repo.run("log", "--type", "file:overridden", "--json").result[0]["data"]["count"] == len(STRANGE)
    assert repo.run("log", "--type", "file:*").code == 0
    assert repo.run("inbox", agent="Ada").code == 0
    assert repo.run("verify").code == 0


def test_names_of_files_are_no_patterns(repo: Guarded) -> None:
    repo.write("pages/[id].py", "pages/i.py", "pages/a*.py", "pages/ab.py", "é.py")
    passed(repo.commit())
    repo.claim("Ada", "pages/i.py", "pages/ab.py")
    repo.write("pages/[id].py", "pages/a*.py")
    passed(repo.commit(agent="Bob"))
    repo.claim("Bob", "pages/[id].py", "é.py")
    repo.write("pages/[id].py")
    refused(repo.commit(agent="Ada"), "pages/[id].py")
    repo.git("restore", "--staged", ".")
    repo.write("e\u0301.py")  # the same name, decomposed
    refused(repo.commit(agent="Ada"), "Bob#1")


def test_a_variable_that_names_another_workspace_does_not_mislead_the_guard(repo: Guarded) -> None:
    other = repo.repo.parent / "other"
    repo.git("init", "-q", str(other))
    repo.run("init", cwd=other)
    repo.claim("Ada", "src/a.py")
    repo.write("src/a.py")
    refused(repo.commit(agent="Bob", MOOT_WORKSPACE=str(other)), "src/a.py")


# Pushes


def test_a_push_of_commits_that_change_claimed_files_is_refused(repo: Guarded) -> None:
    repo.remote()
    repo.write("src/a.py")
    passed(repo.commit(agent="Bob"))
    claim = repo.claim("Ada", "src/a.py")
    refused(repo.git("push", "-q", "origin", "main", agent="Bob"), "This push changes", "src/a.py", "Ada#1", claim)
    refused(repo.git("push", "-q", str(repo.repo.parent / "remote.git"), "main", agent="Bob"), "src/a.py")
    passed(repo.git("push", "-q", "origin", "main", agent="Ada"))


def test_a_push_of_what_the_remote_has_is_not_checked_again(repo: Guarded) -> None:
    repo.write("src/a.py")
    passed(repo.commit(agent="Bob"))
    repo.remote()
    repo.claim("Ada", "src/a.py")
    passed(repo.git("push", "-q", "origin", "main", agent="Bob"))
    passed(repo.git("push", "-q", "origin", "main:new", agent="Bob"))
    passed(repo.git("push", "-q", "origin", "--delete", "new", agent="Bob"))
    repo.git("checkout", "-q", "-b", "side")
    repo.write("b.py")
    passed(repo.commit(agent="Bob"))
    passed(repo.git("push", "-q", "origin", "side", agent="Bob"))
    repo.write("src/a.py")
    passed(repo.commit(agent="Ada"))
    refused(repo.git("push", "-q", "origin", "main", "side:other", agent="Bob"), "src/a.py")


def test_a_push_over_commits_that_are_not_here_and_a_tag_are_checked(repo: Guarded) -> None:
    remote = repo.remote()
    other = repo.repo.parent / "clone"
    repo.git("clone", "-q", str(remote), str(other))
    repo.git("-c", "user.name=x", "-c", "user.email=x@x", "commit", "-q", "--allow-empty", "-m", "x", cwd=other)
    repo.git("push", "-q", "origin", "HEAD:main", cwd=other)
    repo.claim("Ada", "src/a.py")
    passed(repo.git("push", "-q", "--force", "origin", "main", agent="Bob"))
    repo.write("src/a.py")
    passed(repo.commit(agent="Ada"))
    repo.git("tag", "-a", "-m", "one", "v1")
    refused(repo.git("push", "-q", "origin", "v1", agent="Bob"), "src/a.py")


def test_a_push_of_a_merge_is_judged_by_what_the_merge_changes_itself(repo: Guarded) -> None:
    repo.git("checkout", "-q", "-b", "side")
    repo.write("src/a.py")
    passed(repo.commit())
    repo.remote()
    repo.git("push", "-q", "--no-verify", "origin", "side")
    repo.git("checkout", "-q", "main")
    repo.write("b.py")
    passed(repo.commit())
    assert repo.git("merge", "-q", "-m", "merge", "side").code == 0
    repo.claim("Ada", "src/a.py")
    passed(repo.git("push", "-q", "origin", "main", agent="Bob"))


# The guard never stops work by itself


def test_without_moot_everything_passes_with_a_warning(run: Command, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = Guarded(run)
    with monkeypatch.context() as patch, Workspace(run.repo, person=True) as ws:
        patch.setattr(sys, "executable", "/nowhere/it's/python $(touch loot)")
        assert ws.guard_install().guarded
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("git", "sh", "cat"):
        (tools / name).symlink_to(shutil.which(name) or name)
    repo.claim("Ada", "src/**")
    repo.write("src/a.py")
    ran = repo.commit(agent="Bob", PATH=str(tools))
    assert ran.code == 0
    assert "moot is not installed, so this was not checked" in ran.err
    script = tools / "moot"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -m moot "$@"\n')
    script.chmod(0o755)
    repo.write("src/a.py")
    refused(repo.commit(agent="Bob", PATH=str(tools)), "src/a.py")
    assert not (repo.repo / "loot").exists()


@pytest.mark.parametrize("damage", ["removed", "torn", "read-only variable"])
def test_if_the_workspace_cannot_be_used_everything_passes_with_a_warning(repo: Guarded, damage: str) -> None:
    repo.claim("Ada", "src/**")
    repo.write("src/a.py")
    env = {}
    if damage == "removed":
        shutil.rmtree(repo.repo / ".git" / "moot")
    elif damage == "torn":
        (repo.repo / ".git" / "moot" / "log.db").write_bytes(b"torn")
    else:
        env = {"MOOT_INCARNATION": "none"}
    ran = repo.commit(agent="Bob", **env)
    assert ran.code == 0
    assert "moot could not check this" in ran.err
    if damage == "removed":
        assert "Removed" in repo.run("guard", "remove").out


# Overriding


def test_an_override_is_recorded_and_the_holder_reads_it(repo: Guarded) -> None:
    claim = repo.claim("Ada", "src/**")
    repo.write("src/a.py")
    ran = repo.commit(agent="Bob", MOOT_GUARD="off", MOOT_GUARD_REASON="The build is broken.")
    assert ran.code == 0
    assert "MOOT_GUARD is off" in ran.err
    (event,) = repo.run("log", "--type", "file:overridden", "--json").result
    assert event["by"] == "Bob#1"
    assert event["data"] == {
        "id": claim, "holder": "Ada#1", "who": "Bob#1", "act": "commit", "paths": ["src/a.py"], "count": 1,
        "reason": "The build is broken.",
    }  # fmt: skip
    (note,) = repo.run("inbox", "--json", agent="Ada").result["new"]
    assert "Bob overrode your claim" in note["text"]
    assert "src/a.py" in note["text"]
    assert "The build is broken." in note["text"]
    assert "src/a.py" in repo.run("explain", claim).out
    assert repo.run("search", "broken").out.count("The build is [broken].") == 2
    assert [one["id"] for one in repo.run("claims", "--json").result] == [claim]  # it still holds
    assert repo.run("verify").code == 0


def test_an_override_by_somebody_unknown_is_recorded_and_one_without_need_is_not(repo: Guarded) -> None:
    repo.write("b.py")
    passed(repo.commit(MOOT_GUARD="off"))
    repo.claim("Ada", "src/**")
    repo.write("src/a.py")
    assert repo.commit(MOOT_GUARD="OFF", MOOT_PERSON="").code == 0
    (event,) = repo.run("log", "--type", "file:overridden", "--json").result
    assert event["by"].startswith("process:")
    repo.write("src/a.py")
    refused(repo.commit(agent="Zoe", MOOT_GUARD="off"))  # an agent that has not joined cannot be asked about it
    refused(repo.commit(MOOT_GUARD="no"))


def test_a_great_change_is_told_in_short(repo: Guarded) -> None:
    repo.claim("Ada", "src/**")
    repo.write(*(f"src/{number:03}.py" for number in range(130)))
    ran = repo.commit(agent="Bob")
    refused(ran, "src/000.py", "and 110 files more")
    assert "src/020.py" not in ran.err
    assert repo.commit(agent="Bob", MOOT_GUARD="off").code == 0
    (event,) = repo.run("log", "--type", "file:overridden", "--json").result
    assert (len(event["data"]["paths"]), event["data"]["count"]) == (100, 130)
    (note,) = repo.run("inbox", "--json", agent="Ada").result["new"]
    assert "and 110 more" in note["text"]


# In Python
