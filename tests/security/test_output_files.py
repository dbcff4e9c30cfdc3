"""What moot writes for its caller: files that nobody else can read, where no link leads, and answers that arrive."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.surfaces.command import PATIENCE, Command, git, new_command
from tests.surfaces.worlds import inhabit

FULL = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")


@pytest.fixture
def run(tmp_path: Path) -> Command:
    command = new_command(tmp_path)
    inhabit(command)
    return command


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# Files


@pytest.mark.parametrize("verb", ["export", "backup"])
@pytest.mark.parametrize("mask", [0, 0o022])
def test_an_export_and_a_backup_are_for_their_owner_alone(run: Command, verb: str, mask: int) -> None:
    (run.repo / "old").write_text("readable by all")
    (run.repo / "old").chmod(0o666)
    for words in ([verb, "new"], [verb, "old", "--force"]):
        assert run(*words, before=lambda: os.umask(mask)).code == 0
    assert [mode(run.repo / name) for name in ("new", "old")] == [0o600, 0o600]


DRAFT = """
import os, sys
from moot.transfer import output_file
from moot.surfaces.cli.main import main
os.umask(0)
output_file._put = lambda draft, path, force: print(oct(os.stat(draft).st_mode & 0o777), file=sys.stderr)
sys.exit(main([sys.argv[1], "x"]))
"""


@pytest.mark.parametrize("verb", ["export", "backup"])
def test_nobody_else_can_read_it_while_it_is_written(run: Command, verb: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", DRAFT, verb], cwd=run.repo, env=run.environment, capture_output=True, timeout=PATIENCE,
        check=False,
    )  # fmt: skip
    assert done.stderr.split() == [b"0o600"], done


@pytest.mark.parametrize("verb", ["export", "backup"])
def test_neither_lands_in_a_git_directory_or_where_a_link_of_the_repository_leads(
    run: Command, tmp_path: Path, verb: str
) -> None:
    git(run.repo, "init", "-q", "nested")
    (run.repo / "hooks").symlink_to("nested/.git/hooks")
    (run.repo / "out").symlink_to(tmp_path / "home")
    wanted = {
        "nested/.git/hooks/post-checkout": "own_file",
        "hooks/post-checkout": "own_file",
        ".GIT/hooks/post-checkout": "own_file",
        "out/x": "outside_workspace",
    }
    assert {target: run(verb, target, "--force", "--json").error["error"] for target in wanted} == wanted
    for target in ("../x", "~/x", "nested/x", str(run.linked / "x")):
        assert run(verb, target).code == 0, target


# Answers


def shell(run: Command, line: str, agent: str = "Ada") -> subprocess.CompletedProcess[str]:
    env = {**run.environment, "MOOT_AGENT": agent, "MOOT": f"{sys.executable} -m moot"}
    return subprocess.run(
        ["bash", "-c", line], cwd=run.repo, env=env, capture_output=True, text=True, timeout=PATIENCE, check=False
    )


@FULL
@pytest.mark.promise(1)
def test_what_was_stored_is_answered_as_stored_though_the_output_is_full(run: Command) -> None:
    done = shell(run, "$MOOT send Bob hi > /dev/full")
    assert (done.returncode, done.stdout) == (0, "")
    assert " stored for Bob" in done.stderr
    assert "[output_failed]" in done.stderr
    done = shell(run, "$MOOT --json task add One > /dev/full")
    said = json.loads(done.stderr)
    assert (done.returncode, said["result"]["id"], said["warnings"][-1]["code"]) == (0, "task-001", "output_failed")
    assert shell(run, "$MOOT send Bob again > /dev/full 2>&1").returncode == 0
    assert len(run("inbox", "--json", agent="Bob").result["new"]) == 2


def test_what_was_stored_is_answered_as_stored_though_nobody_reads_the_pipe(run: Command) -> None:
    done = shell(run, "( $MOOT send Bob hi; echo code $? >&2 ) | exec true")
    for _ in range(20):  # a reader that ends late may still take the answer
        if "output_failed" in done.stderr:
            break
        done = shell(run, "( $MOOT send Bob hi; echo code $? >&2 ) | exec true")
    assert "code 0" in done.stderr
    assert " stored for Bob" in done.stderr


@FULL
def test_a_look_at_a_full_output_fails_with_a_clear_word_and_records_nothing(run: Command) -> None:
    assert run("send", "Bob", "hi", agent="Ada").code == 0
    head = run.head()
    for words in ("inbox", "--json inbox", "board", "log", "export", "--help", "--version", "send Bob hi --dry-run"):
        done = shell(run, f"$MOOT {words} > /dev/full", agent="Bob")
        assert (done.returncode, "[output_failed]" in done.stderr) == (7, True), (words, done)
        assert "Traceback" not in done.stderr
        assert "internal_error" not in done.stderr
    assert run.head() == head
    assert "hi" in run("inbox", agent="Bob").out


@FULL
def test_a_refusal_keeps_its_exit_code_though_it_cannot_be_said(run: Command) -> None:
    for words in ("task show none", "--json task show none"):
        done = shell(run, f"$MOOT {words} > /dev/full")
        assert (done.returncode, "unknown_task" in done.stderr) == (4, True), done
        assert shell(run, f"$MOOT {words} > /dev/full 2>&1").returncode == 4


def test_with_a_closed_output_nothing_is_done(run: Command) -> None:
    head = run.head()
    done = shell(run, "$MOOT send Bob hi >&-")
    assert (done.returncode, run.head()) == (7, head)
    assert "nothing was done" in done.stderr
