"""The hooks of the guard: where they are installed, what they keep, what they give back, what they never touch."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from moot.guard import hooks
from tests.surfaces.command import PATIENCE
from tests.surfaces.guarded import Guarded, passed, refused

if TYPE_CHECKING:
    from tests.surfaces.command import Command

OWN = '#!/bin/sh\n# my own\necho "$0 $*" >> ../told\ncat >> ../told\nexit "${FAIL:-0}"\n'


@pytest.fixture
def repo(run: Command) -> Guarded:
    repo = Guarded(run)
    repo.write("src/a.py", "b.py", text="1\n")
    assert repo.commit().code == 0
    repo.claim("Ada", "src/**")
    return repo


def states(repo: Guarded) -> dict[str, str]:
    return {one["hook"]: one["state"] for one in repo.run("guard", "status", "--json").result["hooks"]}


def told(repo: Guarded) -> str:
    path = repo.repo.parent / "told"
    return path.read_text() if path.exists() else ""


def test_before_it_is_installed_nothing_is_checked_and_status_says_so(repo: Guarded) -> None:
    repo.write("src/a.py")
    passed(repo.commit(agent="Bob"))
    assert "Not every commit and push is checked." in repo.run("guard", "status").out
    assert repo.run("guard", "remove").out == "The guard is not installed.\n"


def test_the_hooks_are_executable_files_in_the_common_git_directory(repo: Guarded) -> None:
    found = repo.run("guard", "install", "--json", cwd=repo.run.linked).result
    assert found["guarded"]
    assert found["installed"]
    for name in ("pre-commit", "pre-push"):
        mode = (repo.hooks / name).lstat().st_mode
        assert stat.S_ISREG(mode)
        assert stat.S_IMODE(mode) == 0o755
    before = {name: (repo.hooks / name).stat().st_ino for name in ("pre-commit", "pre-push")}
    assert repo.run("guard", "install", agent="Bob").code == 0
    assert {name: (repo.hooks / name).stat().st_ino for name in before} == before
    assert os.listdir(repo.hooks).count("pre-commit.before-moot") == 0


def test_an_agent_may_install_and_only_a_person_may_remove(repo: Guarded) -> None:
    assert repo.run("guard", "install", agent="Bob").code == 0
    for env in ({"MOOT_AGENT": "Bob"}, {"CLAUDECODE": "1"}):
        ran = repo.run("guard", "remove", "--json", **env)
        assert ran.error["error"] == "people_only"
    assert states(repo) == {"pre-commit": "installed", "pre-push": "installed"}


def test_an_earlier_hook_runs_first_with_its_arguments_input_and_verdict(repo: Guarded) -> None:
    repo.hook("pre-commit", OWN)
    repo.hook("pre-push", OWN)
    assert repo.run("guard", "install").code == 0
    repo.write("b.py")
    ran = repo.commit(agent="Bob", FAIL="7")
    assert ran.code == 1
    passed(repo.commit(agent="Bob"))
    assert told(repo).count("pre-commit.before-moot \n") == 2
    remote = repo.remote()
    ran = repo.git("push", "origin", "main:new", agent="Bob", FAIL="1")
    assert ran.code == 1
    head = repo.git("rev-parse", "HEAD").out.strip()
    assert f"pre-push.before-moot origin {remote}\nrefs/heads/main {head} refs/heads/new {'0' * 40}\n" in told(repo)
    repo.write("src/a.py")
    refused(repo.commit(agent="Bob"))


def test_an_earlier_hook_that_stages_files_is_checked_with_them(repo: Guarded) -> None:
    repo.hook("pre-commit", "#!/bin/sh\necho x >> src/a.py\ngit add src/a.py\n")
    assert repo.run("guard", "install").code == 0
    repo.write("b.py")
    refused(repo.commit(agent="Bob"), "src/a.py")


@pytest.mark.parametrize("mode", [0o755, 0o700, 0o644])
def test_removing_gives_back_the_earlier_hook_byte_for_byte(repo: Guarded, mode: int) -> None:
    path = repo.hook("pre-commit", OWN + "\u00e9\x01no newline", mode)
    content, before = path.read_bytes(), path.stat()
    assert "runs" in repo.run("guard", "install").out
    assert path.read_bytes() != content
    repo.write("b.py")
    passed(repo.commit(agent="Bob"))
    assert bool(told(repo)) == bool(mode & 0o100)  # git ignores a hook that is not executable, and so does the guard
    said = repo.run("guard", "remove").out
    assert f"Put back the earlier hook {path}." in said
    assert path.read_bytes() == content
    assert (path.stat().st_mode, path.stat().st_ino) == (before.st_mode, before.st_ino)
    assert not (repo.hooks / "pre-push").exists()
    assert not [name for name in os.listdir(repo.hooks) if "moot" in name]


def test_a_hook_that_is_a_link_is_kept_as_a_link_and_its_target_is_not_written(repo: Guarded) -> None:
    target = repo.repo / "tools" / "hook.sh"
    target.parent.mkdir()
    target.write_text(OWN)
    target.chmod(0o755)
    repo.hooks.mkdir(exist_ok=True)
    (repo.hooks / "pre-commit").symlink_to("../../tools/hook.sh")
    assert repo.run("guard", "install").code == 0
    repo.write("b.py")
    passed(repo.commit(agent="Bob"))
    assert told(repo)
    repo.run("guard", "remove")
    assert os.readlink(repo.hooks / "pre-commit") == "../../tools/hook.sh"
    assert target.read_text() == OWN


def test_a_link_in_place_of_the_guard_is_not_followed(repo: Guarded, tmp_path: Path) -> None:
    repo.run("guard", "install")
    outside = tmp_path / "outside"
    (repo.hooks / "pre-commit").rename(outside)
    (repo.hooks / "pre-commit").symlink_to(outside)
    content = outside.read_bytes()
    repo.run("guard", "remove")
    assert outside.read_bytes() == content
    assert (repo.hooks / "pre-commit").is_symlink()


def test_a_folder_of_hooks_that_is_a_link_out_of_the_git_directory_is_not_written(repo: Guarded) -> None:
    outside = repo.repo.parent / "outside"
    outside.mkdir()
    if repo.hooks.exists():
        repo.hooks.rename(repo.repo.parent / "templates")
    repo.hooks.symlink_to(outside)
    ran = repo.run("guard", "install", "--json")
    assert ran.error["error"] == "hooks_elsewhere"
    assert not os.listdir(outside)
    assert "which moot does not change" in repo.run("guard", "status").out


def test_what_is_strange_or_everybody_can_write_in_place_of_a_hook_is_refused(repo: Guarded) -> None:
    path = repo.hook("pre-commit", OWN, 0o777)
    for make in (lambda: None, lambda: (path.unlink(), path.mkdir()), lambda: (path.rmdir(), os.mkfifo(path))):
        make()
        assert repo.run("guard", "install", "--json").error["error"] == "unsafe_file"
    assert states(repo)["pre-commit"] == "other"
    path.unlink()
    repo.hooks.chmod(0o777)
    assert repo.run("guard", "install", "--json").error["error"] == "unsafe_file"
    assert not (repo.hooks / "pre-push").exists()


def test_a_hook_that_replaced_the_guard_is_noticed_kept_and_chained(repo: Guarded) -> None:
    repo.hook("pre-commit", "#!/bin/sh\necho first >> ../told\n")
    repo.run("guard", "install")
    (repo.hooks / "pre-commit").unlink()
    repo.hook("pre-commit", OWN)
    assert states(repo) == {"pre-commit": "replaced", "pre-push": "installed"}
    ran = repo.run("doctor", "--json")
    assert "guard: pre-commit: another hook is in the place of the guard" in ran.error["message"]
    assert "moot guard install" in ran.error["remedy"]
    assert repo.run("guard", "install").code == 0
    assert repo.run("doctor").code == 0
    assert (repo.hooks / "pre-commit.before-moot").read_text() == OWN
    assert "first" in (repo.hooks / "pre-commit.before-moot.1").read_text()  # kept, and not run
    repo.write("src/a.py")
    refused(repo.commit(agent="Bob"))
    assert "pre-commit.before-moot" in told(repo)
    assert "first" not in told(repo)
    repo.run("guard", "remove")
    assert (repo.hooks / "pre-commit").read_text() == OWN


def test_removing_leaves_a_hook_that_replaced_the_guard_and_names_what_it_leaves(repo: Guarded) -> None:
    repo.hook("pre-commit", "#!/bin/sh\n")
    repo.run("guard", "install")
    (repo.hooks / "pre-commit").unlink()
    repo.hook("pre-commit", OWN)
    ran = repo.run("guard", "remove", "--json").result
    assert ran["removed"] == [str(repo.hooks / "pre-push")]
    assert ran["left"] == [str(repo.hooks / "pre-commit.before-moot")]
    assert (repo.hooks / "pre-commit").read_text() == OWN


@pytest.mark.parametrize("verb", ["install", "remove"])
def test_lines_that_somebody_added_to_the_guard_are_not_deleted(repo: Guarded, verb: str) -> None:
    repo.run("guard", "install")
    path = repo.hooks / "pre-commit"
    path.write_text(path.read_text().replace("hook=pre-commit", "echo mine >> ../told\nhook=pre-commit"))
    content = path.read_bytes()
    assert states(repo)["pre-commit"] == "edited"
    ran = repo.run("guard", verb, "--json")
    assert ran.error["error"] == "guard_edited"
    assert str(path) in ran.error["message"]
    assert path.read_bytes() == content
    assert states(repo)["pre-push"] == "installed"
    assert repo.run("doctor", "--json").error["error"] == "unhealthy"


def test_a_guard_that_is_not_executable_is_no_guard_and_is_repaired(repo: Guarded) -> None:
    repo.run("guard", "install")
    (repo.hooks / "pre-commit").chmod(0o644)
    assert states(repo)["pre-commit"] == "not executable"
    assert not repo.run("guard", "status", "--json").result["guarded"]
    repo.run("guard", "install")
    assert states(repo)["pre-commit"] == "installed"
    (repo.hooks / "pre-push").unlink()
    assert states(repo)["pre-push"] == "missing"
    assert repo.run("doctor", "--json").error["error"] == "unhealthy"
    repo.run("guard", "install")
    assert repo.run("guard", "status", "--json").result["guarded"]


def test_the_guard_of_another_version_is_replaced_and_not_chained(repo: Guarded) -> None:
    older = hooks.hook_script("pre-commit").replace(b"It was let through.", b"")
    digest = hooks._digest(older)
    older = older.replace(older.split(b"\n")[1], b"# moot guard 1 " + digest)
    repo.hook("pre-commit", older.decode())
    assert states(repo)["pre-commit"] == "installed"
    assert repo.run("guard", "install").code == 0
    assert b"It was let through." in (repo.hooks / "pre-commit").read_bytes()
    assert not (repo.hooks / "pre-commit.before-moot").exists()


def test_an_installation_or_a_removal_that_was_interrupted_is_completed(repo: Guarded) -> None:
    path = repo.hook("pre-commit", OWN)
    os.link(path, repo.hooks / "pre-commit.before-moot")  # interrupted before the guard was in place
    assert repo.run("guard", "install").code == 0
    assert not (repo.hooks / "pre-commit.before-moot.1").exists()
    path.unlink()  # interrupted where there are no links
    ran = repo.run("guard", "remove", "--json").result
    assert ran["restored"] == [str(path)]
    assert path.read_text() == OWN
    os.link(path, repo.hooks / "pre-commit.before-moot")
    repo.run("guard", "remove")
    assert path.read_text() == OWN
    assert not (repo.hooks / "pre-commit.before-moot").exists()


def test_several_that_install_at_once_keep_the_earlier_hook(repo: Guarded) -> None:
    repo.hook("pre-commit", OWN)
    several = [repo.run.popen("guard", "install") for _ in range(4)]
    for process in several:
        process.communicate(timeout=PATIENCE)
    assert [process.returncode for process in several] == [0] * 4
    assert (repo.hooks / "pre-commit.before-moot").read_text() == OWN
    assert not (repo.hooks / "pre-commit.before-moot.1").exists()


# core.hooksPath


def test_hooks_of_the_worktree_are_not_written_and_the_line_to_add_works(repo: Guarded) -> None:
    mine = repo.repo / ".githooks"
    mine.mkdir()
    repo.git("config", "core.hooksPath", ".githooks")
    ran = repo.run("guard", "install", "--json")
    assert ran.error["error"] == "hooks_elsewhere"
    assert "local config" in ran.error["message"]
    assert not os.listdir(mine)
    assert not (repo.hooks / "pre-commit").exists()
    lines = ran.error["details"]["lines"]
    assert list(lines) == [str(mine / "pre-commit"), str(mine / "pre-push")]
    moot = repo.repo.parent / "bin"
    moot.mkdir()
    (moot / "moot").write_text('#!/bin/sh\nexec "$PYTHON" -m moot "$@"\n')
    (moot / "moot").chmod(0o755)
    path = f"{moot}:{repo.run.environment['PATH']}"
    repo.run.environment |= {"PATH": path, "PYTHON": sys.executable}
    for file, line in lines.items():
        Path(file).write_text(f"#!/bin/sh\n{line}\necho after >> ../told\n")
        Path(file).chmod(0o755)
    assert states(repo) == {"pre-commit": "by hand", "pre-push": "by hand"}
    assert repo.run("guard", "install").code == 0
    repo.write("src/a.py")
    refused(repo.commit(agent="Bob"), "Ada#1")
    assert not told(repo)
    assert repo.commit(agent="Ada").code == 0
    assert told(repo) == "after\n"
    repo.remote()
    repo.write("src/a.py")
    repo.commit(agent="Ada")
    refused(repo.git("push", "-q", "origin", "main", agent="Bob"), "Ada#1")
    (moot / "moot").write_text("#!/bin/sh\nexit 7\n")
    assert repo.git("push", "-q", "origin", "main", agent="Bob").code == 0
    (moot / "moot").unlink()
    repo.write("src/a.py")
    if shutil.which("moot", path=path) is None:
        assert repo.commit(agent="Bob").code == 0


def test_a_global_folder_of_hooks_is_not_written_and_husky_is_told_its_own_files(repo: Guarded) -> None:
    config, shared = repo.repo.parent / "gitconfig", repo.repo.parent / "shared hooks"
    config.write_text(f'[core]\n\thooksPath = "{shared}"\n')
    repo.run.environment["GIT_CONFIG_GLOBAL"] = str(config)
    ran = repo.run("guard", "install", "--json")
    assert ran.error["details"]["scope"] == "global"
    assert str(shared) in ran.error["message"]
    assert not shared.exists()
    (repo.repo / ".husky" / "_").mkdir(parents=True)
    repo.git("config", "core.hooksPath", ".husky/_")
    lines = repo.run("guard", "install", "--json").error["details"]["lines"]
    assert list(lines) == [str(repo.repo / ".husky" / name) for name in ("pre-commit", "pre-push")]


def test_a_folder_of_hooks_inside_the_git_directory_is_used(repo: Guarded) -> None:
    repo.git("config", "core.hooksPath", str(repo.repo / ".git" / "more hooks"))
    assert repo.run("guard", "install").code == 0
    assert (repo.repo / ".git" / "more hooks" / "pre-commit").exists()
    repo.write("src/a.py")
    refused(repo.commit(agent="Bob"))
    repo.run("guard", "remove")
    assert not (repo.repo / ".git" / "more hooks" / "pre-commit").exists()


def test_a_guard_that_git_does_not_look_for_any_more_is_reported_and_removed(repo: Guarded) -> None:
    repo.run("guard", "install")
    repo.git("config", "core.hooksPath", ".githooks")
    found = repo.run("guard", "status", "--json").result
    assert (found["installed"], found["guarded"]) == (True, False)
    assert repo.run("doctor", "--json").error["error"] == "unhealthy"
    assert len(repo.run("guard", "remove", "--json").result["removed"]) == 2
    assert repo.run("doctor").code == 0


# Programs that manage hooks


def test_pre_commit_that_moved_the_guard_aside_and_calls_it_is_recognised_and_never_loops(repo: Guarded) -> None:
    """The program `pre-commit` moves the hook that it finds to `pre-commit.legacy` and calls it first."""
    repo.hook("pre-commit", "#!/bin/sh\necho mine >> ../told\n")
    repo.run("guard", "install")
    (repo.hooks / "pre-commit").rename(repo.hooks / "pre-commit.legacy")
    made = "#!/bin/sh\n# File generated by pre-commit: https://pre-commit.com\n"
    theirs = made + '"${0%/*}/pre-commit.legacy" "$@" || exit 1\n'
    repo.hook("pre-commit", theirs)
    assert states(repo)["pre-commit"] == "by pre-commit"
    assert repo.run("guard", "install").code == 0
    assert (repo.hooks / "pre-commit").read_text() == theirs
    repo.write("src/a.py")
    refused(repo.commit(agent="Bob"))
    assert told(repo) == "mine\n"
    repo.run("guard", "remove")
    assert (repo.hooks / "pre-commit").read_text() == theirs
    assert (repo.hooks / "pre-commit.legacy").read_text() == "#!/bin/sh\necho mine >> ../told\n"


def test_a_hook_that_calls_the_guard_again_does_not_loop(repo: Guarded) -> None:
    repo.hook("pre-commit", '#!/bin/sh\necho mine >> ../told\n"${0%/*}/pre-commit" "$@"\n')
    repo.run("guard", "install")
    repo.write("src/a.py")
    refused(repo.commit(agent="Bob"))
    assert told(repo) == "mine\n"


def test_outside_git_there_is_nothing_to_guard(repo: Guarded, tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    repo.run("init", cwd=folder)
    for verb in ("install", "status", "remove"):
        assert repo.run("guard", verb, "--json", cwd=folder).error["error"] == "no_git"


def test_a_bare_repository_is_guarded_for_its_worktrees(repo: Guarded) -> None:
    bare, tree = repo.repo.parent / "bare.git", repo.repo.parent / "tree"
    repo.git("clone", "-q", "--bare", str(repo.repo), str(bare))
    repo.git("worktree", "add", "-q", str(tree), "main", cwd=bare)
    repo.run("init", cwd=tree)
    for name in ("Ada", "Bob"):
        repo.run("join", name, cwd=tree)
    repo.run("claim", "src/**", agent="Ada", cwd=tree)
    assert repo.run("guard", "install", cwd=tree).code == 0
    assert (bare / "hooks" / "pre-commit").exists()
    repo.write("src/a.py", where=tree)
    refused(repo.commit(agent="Bob", cwd=tree))
    passed(repo.commit(agent="Ada", cwd=tree))
