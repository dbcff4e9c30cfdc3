"""Git is called only where it is safe, and runs nothing that a repository's config names, except filters."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from moot.engine import content_digest
from moot.place import gitdir
from tests.security.hostile import Victim, commit, everything, look_alike, stranger
from tests.surfaces.command import Command, git, new_command


@pytest.fixture
def victim(tmp_path: Path) -> Victim:
    return Victim(tmp_path)


@pytest.mark.parametrize("bare", ["true", "false"])
@pytest.mark.parametrize("words", [["check", "--", "true"], ["receipt", "show", "last"], ["board"]], ids=" ".join)
def test_a_cloned_look_alike_runs_neither_its_filter_nor_its_hooks(
    victim: Victim, tmp_path: Path, words: list[str], bare: str
) -> None:
    evil = stranger(tmp_path)
    folder = look_alike(
        evil / "lib",
        f"[core]\n\tbare = {bare}\n\tworktree = ..\n\tfsmonitor = touch {victim.loot}\n"
        f'[filter "x"]\n\tclean = touch {victim.loot}; cat\n\tprocess = touch {victim.loot}\n',
    )
    (folder / "hooks").mkdir()
    hook = folder / "hooks" / "post-index-change"
    hook.write_text(f"#!/bin/sh\ntouch {victim.loot}\n")
    hook.chmod(0o755)
    (evil / ".gitattributes").write_text("* filter=x\n")
    (evil / "a.txt").write_text("a\n")
    commit(evil)
    clone = victim.clone(evil)
    before = everything(clone)
    for start in (clone / "lib", clone / "lib" / "refs", clone):
        assert victim(*words, cwd=start).code != 0
    assert everything(clone) == before
    assert victim("init").code == 0
    victim("join", "Ada")
    for start in (clone / "lib", clone):
        victim(*words, cwd=start, agent="Ada")
    victim.check()


RUNS = {
    "hooks": ["post-index-change", "pre-commit", "pre-auto-gc", "reference-transaction"],
    "config": [
        "core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.askPass", "core.gitProxy",
        "core.alternateRefsCommand", "diff.external", "diff.x.command", "diff.x.textconv", "merge.x.driver",
        "pager.diff-index", "pager.config", "interactive.diffFilter", "credential.helper", "uploadpack.packObjectsHook",
        "sequence.editor", "trailer.x.command", "gpg.program", "alias.add", "alias.write-tree", "difftool.x.cmd",
    ],
}  # fmt: skip


def test_in_a_trusted_repository_git_runs_nothing_but_filters(tmp_path: Path) -> None:
    """Its config is its owner's, but whoever only makes a receipt has not asked for any of this."""
    command = new_command(tmp_path)
    repo, loot = command.repo, tmp_path / "loot"
    command("init")
    command("join", "Ada")
    for key in RUNS["config"]:
        git(repo, "config", key, f"sh -c 'touch {loot}'")
    for name in RUNS["hooks"]:
        hook = repo / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {loot}\n")
        hook.chmod(0o755)
    (repo / ".gitattributes").write_text("* diff=x merge=x\n")
    (repo / "a.txt").write_text("a\n")
    loot.unlink(missing_ok=True)
    receipt = command("check", "--json", "--", "true", agent="Ada").result["receipt"]
    assert command("receipt", "show", receipt["id"], agent="Ada").code == 0
    assert not loot.exists()


def test_the_variables_of_git_do_not_lead_it_astray(tmp_path: Path) -> None:
    command = new_command(tmp_path)
    other, loot = tmp_path / "other", tmp_path / "loot"
    other.mkdir()
    git(other, "init", "-q")
    command("init")
    command("join", "Ada")
    (command.repo / "a.txt").write_text("a\n")
    plain = command("check", "--json", "--", "true", agent="Ada").result["receipt"]
    astray = {
        "GIT_DIR": str(other / ".git"),
        "GIT_WORK_TREE": str(other),
        "GIT_INDEX_FILE": str(loot),
        "GIT_OBJECT_DIRECTORY": str(loot),
        "GIT_EXTERNAL_DIFF": f"touch {loot}",
        "GIT_EXEC_PATH": str(other),
        "GIT_TRACE": str(loot),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.fsmonitor",
        "GIT_CONFIG_VALUE_0": f"touch {loot}",
    }
    led = command("check", "--json", "--", "true", agent="Ada", **astray).result["receipt"]
    assert led["tree"] == plain["tree"]
    assert not loot.exists()


def test_a_program_called_git_in_the_repository_is_not_run(tmp_path: Path) -> None:
    command = new_command(tmp_path)
    loot = tmp_path / "loot"
    command("init")
    command("join", "Ada")
    (command.repo / "git").write_text(f"#!/bin/sh\ntouch {loot}\n")
    (command.repo / "git").chmod(0o755)
    for path in (f".:{os.environ['PATH']}", f":{os.environ['PATH']}", f"{command.repo}:{os.environ['PATH']}"):
        assert command("check", "--", "/bin/true", agent="Ada", PATH=path).code == 0
    assert not loot.exists()


def test_a_submodule_runs_no_hook_and_no_monitor_of_its_own(tmp_path: Path) -> None:
    command = new_command(tmp_path)
    inner, loot = tmp_path / "inner", tmp_path / "loot"
    inner.mkdir()
    git(inner, "init", "-q")
    git(inner, "commit", "-q", "--allow-empty", "-m", "begin")
    git(command.repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "sub")
    git(command.repo, "commit", "-q", "-m", "with a submodule")
    module = command.repo / ".git" / "modules" / "sub"
    git(command.repo / "sub", "config", "core.fsmonitor", f"touch {loot}")
    hook = module / "hooks" / "post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {loot}\n")
    hook.chmod(0o755)
    loot.unlink(missing_ok=True)
    command("init")
    command("join", "Ada")
    (command.repo / "sub" / "new").touch()
    command("check", "--", "true", agent="Ada")
    assert not loot.exists()


def test_git_is_not_called_before_a_workspace_is_trusted(tmp_path: Path) -> None:
    """Wherever moot is refused, the program was not even started."""
    command = new_command(tmp_path)
    command("init")
    called = tmp_path / "called"
    fake = tmp_path / "bin" / "git"
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/sh\ntouch {called}\nexit 1\n")
    fake.chmod(0o755)
    (command.repo / ".git" / "moot").chmod(0o777)
    path = f"{fake.parent}:{os.environ['PATH']}"
    for words in (["check", "--", "true"], ["receipt", "show", "last"], ["board"], ["doctor"], ["init"]):
        assert "unsafe_workspace" in command(*words, PATH=path).err
    assert not called.exists()


# Filters stay: the tree is the one of `git add`


def by_git(repo: Path, tmp_path: Path) -> str:
    """The tree of `git add -A`, in an index of its own."""
    env = {**os.environ, "GIT_INDEX_FILE": str(tmp_path / "scratch-index")}
    subprocess.run(["git", "add", "-A"], cwd=repo, env=env, check=True, capture_output=True, timeout=60)
    done = subprocess.run(
        ["git", "write-tree"], cwd=repo, env=env, check=True, capture_output=True, text=True, timeout=60
    )
    return f"git:{done.stdout.strip()}"


def by_moot(repo: Path) -> str | None:
    return content_digest.of(str(repo), common=gitdir.common_of(str(repo / ".git"))).name


@pytest.fixture
def filtered(tmp_path: Path) -> Command:
    return new_command(tmp_path)


def test_a_clean_filter_as_of_large_files_gives_the_tree_of_git(filtered: Command, tmp_path: Path) -> None:
    repo = filtered.repo
    git(repo, "config", "filter.large.clean", "sha256sum")
    git(repo, "config", "filter.large.smudge", "cat")
    git(repo, "config", "filter.large.required", "true")
    (repo / ".gitattributes").write_text("*.bin filter=large -text\n")
    (repo / "a.bin").write_bytes(os.urandom(5000))
    (repo / "b.txt").write_text("b\n")
    assert by_moot(repo) == by_git(repo, tmp_path)
    with_filter = by_moot(repo)
    git(repo, "config", "--remove-section", "filter.large")
    (tmp_path / "scratch-index").unlink()
    assert by_moot(repo) == by_git(repo, tmp_path) != with_filter


@pytest.mark.parametrize("setting", [(), ("core.autocrlf", "true"), ("core.autocrlf", "input"), ("core.eol", "crlf")])
@pytest.mark.parametrize(
    "attributes", ["", "* text=auto\n", "*.txt eol=crlf\n", "*.txt -text\n", "*.txt text\n", "*.txt ident\n"]
)
def test_ends_of_lines_are_converted_as_git_does(
    filtered: Command, tmp_path: Path, setting: tuple[str, ...], attributes: str
) -> None:
    repo = filtered.repo
    if setting:
        git(repo, "config", *setting)
    (repo / ".gitattributes").write_text(attributes)
    (repo / "dos.txt").write_bytes(b"a\r\nb\r\n$Id: 5 $\r\n")
    (repo / "unix.txt").write_bytes(b"a\nb\n")
    (repo / "mixed.txt").write_bytes(b"a\r\nb\n")
    (repo / "link").symlink_to("dos.txt")
    (repo / "run.sh").write_text("#!/bin/sh\n")
    (repo / "run.sh").chmod(0o755)
    assert by_moot(repo) == by_git(repo, tmp_path)
