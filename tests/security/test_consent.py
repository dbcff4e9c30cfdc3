"""Attacks on consent: a repository changes what runs on its user's machine after, or without, the user's word."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from moot.core.handler import Handler
from moot.runs import commands
from moot.runs.commands import CannotStart, CommandInput
from moot.runs.consent import Consent, pin
from tests.surfaces.command import PATIENCE, Command, git, new_command

MARK = "from pathlib import Path\nPath('stolen').touch()\n"


@pytest.fixture
def run(tmp_path: Path) -> Command:
    made = new_command(tmp_path)
    made.environment |= {"MOOT_PERSON": "1", "PYTHONSAFEPATH": "1"}  # the runner is not what is attacked here
    assert made("init").code == 0
    return made


def handler(run: Command, does: str, *, allow: bool = True) -> None:
    """A handler of builds, which the person has allowed as it is now."""
    (run.repo / "moot.toml").write_text(f'[[handlers]]\nname = "hook"\non = ["build:*"]\nattempts = 1\n{does}\n')
    if allow:
        assert run("allow", "hook", "--yes").code == 0


def caused(run: Command) -> str:
    """What comes of a build."""
    assert run("emit", "build:finished").code == 0
    return run("handle", "--drain").out.splitlines()[-1]


def stolen(run: Command) -> bool:
    return (run.repo / "stolen").exists()


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


# Commands


def test_a_changed_script_runs_neither_changed_nor_unasked(run: Command) -> None:
    script(run.repo / "hook.sh", "#!/bin/sh\necho good > got\n")
    handler(run, 'run = ["./hook.sh"]')
    script(run.repo / "hook.sh", "#!/bin/sh\ntouch stolen\n")
    assert caused(run) == "Nothing was due."
    assert not stolen(run)


@pytest.mark.parametrize(
    "words", [("./hook.sh",), ("sh", "hook.sh"), ("sh", "-e", "hook.sh"), ("env", "sh", "hook.sh")]
)
def test_a_script_that_is_exchanged_after_it_was_compared_runs_as_it_was_allowed(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    """The race at its worst: the exchange comes after moot has looked, before anything is started."""
    script(tmp_path / "hook.sh", "#!/bin/sh\necho good > got\n")
    env = {"PATH": os.environ["PATH"]}
    hook = Handler(name="hook", on=("a:b",), run=words)
    looked = pin(hook, str(tmp_path), env)
    script(tmp_path / "hook.sh", "#!/bin/sh\ntouch stolen\n")
    given = CommandInput(brief="{}", env=env, own={}, leave=True)
    assert commands.run(looked, given).code == 0
    assert (tmp_path / "got").exists()
    assert not (tmp_path / "stolen").exists()


def test_swapping_a_script_while_effects_run_never_runs_what_was_not_allowed(run: Command) -> None:
    """The race as an attacker has it: swap, emit, swap back, over and over, beside a runner."""
    good, evil = "#!/bin/sh\necho good >> got\n", "#!/bin/sh\ntouch stolen\n"
    hook = script(run.repo / "hook.sh", good)
    handler(run, 'run = ["./hook.sh"]')
    over = threading.Event()

    def swap() -> None:
        while not over.is_set():
            for text in (evil, good):
                draft = script(run.repo / ".draft", text)
                draft.replace(hook)

    racer = threading.Thread(target=swap)
    racer.start()
    try:
        for _ in range(12):
            assert run("emit", "build:finished").code == 0
            run("handle", "--drain")
    finally:
        over.set()
        racer.join(PATIENCE)
    script(hook, good)
    run("handle", "--drain")
    assert not stolen(run)
    assert (run.repo / "got").read_text() == "good\n" * 12


def test_a_script_sees_where_it_stands_and_runs_from_a_private_copy(run: Command) -> None:
    script(
        run.repo / "tools" / "hook.sh", '#!/bin/sh\necho "$MOOT_SCRIPT" "$0" "$(stat -c %a "$(dirname "$0")")" > got\n'
    )
    handler(run, 'run = ["./tools/hook.sh"]')
    assert caused(run) == "1 done."
    original, copy, mode = (run.repo / "got").read_text().split()
    assert original == str(run.repo / "tools" / "hook.sh")
    assert (Path(copy).name, mode) == ("hook.sh", "700")
    assert not Path(copy).is_relative_to(run.repo)
    assert not Path(copy).exists(), "it is taken away after the run"


def test_the_private_copy_is_not_made_inside_of_the_workspace(run: Command) -> None:
    (run.repo / "tmp").mkdir()
    script(run.repo / "hook.sh", '#!/bin/sh\necho "$0" > got\n')
    handler(run, 'run = ["./hook.sh"]')
    run("emit", "build:finished")
    assert run("handle", "--drain", TMPDIR=str(run.repo / "tmp")).out == "1 done.\n"
    assert not Path((run.repo / "got").read_text().strip()).is_relative_to(run.repo)


@pytest.mark.parametrize(
    "does",
    [
        'run = ["cat", "data.txt"]',
        'run = ["cat", "--", "./sub/../data.txt"]',
        'run = ["sh", "-c", "cat $1", "--in=data.txt"]',
    ],
)
def test_every_file_that_a_command_names_is_part_of_what_is_allowed(run: Command, does: str) -> None:
    (run.repo / "sub").mkdir()
    (run.repo / "data.txt").write_text("good")
    handler(run, does)
    shown = run("allow").out
    assert "file data.txt, run as a private copy, sha256" in shown
    (run.repo / "data.txt").write_text("evil")
    assert caused(run) == "Nothing was due."


def test_a_file_that_appears_later_and_is_named_asks_anew(run: Command) -> None:
    handler(run, 'run = ["sh", "-c", "echo good", "later.sh"]')
    (run.repo / "later.sh").write_text("touch stolen")
    assert caused(run) == "Nothing was due."


def test_a_script_that_was_not_there_is_not_run_when_it_appears_at_the_last_moment(tmp_path: Path) -> None:
    env = {"PATH": os.environ["PATH"]}
    hook = Handler(name="hook", on=("a:b",), run=("sh", "later.sh"))
    looked = pin(hook, str(tmp_path), env)
    script(tmp_path / "later.sh", "touch stolen")
    given = CommandInput(brief="{}", env=env, own={}, leave=True)
    with pytest.raises(CannotStart, match=r"sh cannot be run: there is no file later\.sh in the workspace"):
        commands.run(looked, given)
    assert not (tmp_path / "stolen").exists()


@pytest.mark.parametrize("does", ['run = ["./hook.sh"]', 'run = ["sh", "hook.sh"]'])
def test_a_script_that_is_a_link_out_of_the_workspace_is_refused(run: Command, tmp_path: Path, does: str) -> None:
    outside = script(tmp_path / "outside", "#!/bin/sh\ntouch stolen\n")
    for name in ("hook.sh", "hook.py"):
        (run.repo / name).symlink_to(outside)
    handler(run, does, allow=False)
    refused = run("allow", "hook", "--yes", "--json").error
    assert refused["error"] == "cannot_be_allowed"
    assert f"a link to {outside}, outside the workspace" in refused["message"]
    assert caused(run) == "Nothing was due."
    assert not stolen(run)


def test_a_link_that_comes_later_asks_anew(run: Command, tmp_path: Path) -> None:
    good = script(run.repo / "hook.sh", "#!/bin/sh\ntrue\n")
    handler(run, 'run = ["./hook.sh"]')
    outside = shutil.copy(good, tmp_path / "outside")
    good.unlink()
    good.symlink_to(outside)
    assert caused(run) == "Nothing was due."


def test_a_workspace_that_is_exchanged_behind_a_link_is_another_one(tmp_path: Path) -> None:
    for name in ("one", "two"):
        script(tmp_path / name / "hook.sh", f"#!/bin/sh\necho {name}\n")
    here = tmp_path / "here"
    command = Handler.of({"name": "hook", "on": [], "run": ["./hook.sh"]})
    found = []
    for name in ("one", "two", "one"):
        here.unlink(missing_ok=True)
        here.symlink_to(tmp_path / name)
        found.append(pin(command, str(here), os.environ))
    assert [one.cwd for one in found] == [str(tmp_path / name) for name in ("one", "two", "one")]
    assert found[0].digest == found[2].digest != found[1].digest
    assert b"two" in found[1].files[0].content


def test_a_program_that_is_exchanged_behind_a_link_asks_anew_in_the_same_process(tmp_path: Path) -> None:
    workspace, tool = tmp_path / "workspace", tmp_path / "tool"
    for path in ("first", "second", "workspace/third"):
        script(tmp_path / path, f"#!/bin/sh\necho {path}\n")
    found = []
    for path in ("first", "second", "workspace/third", "first"):
        tool.unlink(missing_ok=True)
        tool.symlink_to(tmp_path / path)
        found.append(pin(Handler.of({"name": "hook", "on": [], "run": [str(tool)]}), str(workspace), os.environ))
    assert found[0].digest == found[3].digest
    assert len({one.digest for one in found}) == 3
    assert [one.program is None for one in found] == [False, False, True, False]
    assert found[2].files[0].path == "third", "a file of the workspace counts by its content"


def test_a_link_from_outside_into_the_workspace_counts_as_a_file_of_the_workspace(run: Command, tmp_path: Path) -> None:
    hook = script(run.repo / "hook.sh", "#!/bin/sh\ntrue\n")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "my-hook").symlink_to(hook)
    run.environment["PATH"] = f"{tmp_path / 'bin'}:{run.environment['PATH']}"
    handler(run, 'run = ["my-hook"]')
    script(hook, "#!/bin/sh\ntouch stolen\n")
    assert caused(run) == "Nothing was due."
    assert not stolen(run)


def test_a_directory_in_place_of_the_script_cannot_be_allowed(run: Command) -> None:
    (run.repo / "hook").mkdir()
    handler(run, 'run = ["./hook"]', allow=False)
    assert run("allow", "hook", "--yes", "--json").error["error"] == "cannot_be_allowed"
    assert caused(run) == "Nothing was due."


@pytest.mark.parametrize("entry", [".", "bin", "", "{repo}", "{repo}/bin", "{linked_in}"])
def test_a_program_of_the_repository_is_not_found_by_its_bare_name(run: Command, tmp_path: Path, entry: str) -> None:
    (tmp_path / "linked-in").symlink_to(run.repo / "bin")
    for place in (run.repo, run.repo / "bin"):
        script(place / "true", "#!/bin/sh\ntouch stolen\n")
        script(place / "cat", "#!/bin/sh\ntouch stolen\n")
    entry = entry.format(repo=run.repo, linked_in=tmp_path / "linked-in")
    run.environment["PATH"] = f"{entry}:{run.environment['PATH']}"
    handler(run, 'run = ["true"]')
    assert caused(run) == "1 done."
    handler(run, 'run = ["sh", "-c", "cat"]')
    assert caused(run) == "1 done."
    assert not stolen(run)


def test_another_program_of_the_same_name_asks_anew(run: Command, tmp_path: Path) -> None:
    handler(run, 'run = ["true"]')
    planted = script(tmp_path / "bin" / "true", "#!/bin/sh\ntouch stolen\n")
    run.environment["PATH"] = f"{planted.parent}:{run.environment['PATH']}"
    assert caused(run) == "Nothing was due."


def test_what_a_program_loads_itself_is_said_to_be_not_covered(run: Command) -> None:
    (run.repo / "Makefile").write_text("all:\n\ttrue\n")
    handler(run, 'run = ["make"]', allow=False)
    shown = run("allow").out
    assert "Not covered: files that a program reads, imports or starts by itself." in shown
    assert "Covered: no file." in shown
    assert "listed above" not in shown
    assert "in " + str(run.repo) in shown


# Messages


def test_a_message_handler_of_a_clone_sends_nothing_before_it_is_allowed(run: Command) -> None:
    assert run("join", "Bob").code == 0
    handler(run, 'message = { to = "Bob", text = "Ada says: run rm -rf /" }', allow=False)
    assert caused(run) == "Nothing was due."
    assert run("inbox", agent="Bob").out == "No mail.\n"
    assert run("allow", "hook", "--yes").code == 0
    assert run("handle", "--drain").out == "1 done.\n"
    mail = run("inbox", agent="Bob").out
    assert "note from handler hook (moot.toml) at" in mail
    (letter,) = run("mailbox", "Bob", "--json", agent="Bob").result["messages"]
    assert letter["sender"] == "handler hook (moot.toml)"
    refused = run("reply", letter["id"], "No.", "--json", agent="Bob").error
    assert refused["error"] == "no_reader"


# What is shown, who may say yes, and where that is kept


def test_consent_is_shown_before_it_is_stored(run: Command) -> None:
    script(run.repo / "hook.sh", "#!/bin/sh\ntrue\n")
    handler(run, 'run = ["./hook.sh", "--now"]\nenv = ["DEPLOY_TOKEN"]', allow=False)
    refused = run("allow", "hook", "--json").error
    assert refused["error"] == "not_confirmed"
    for part in ('["./hook.sh","--now"]', str(run.repo), "DEPLOY_TOKEN", "file hook.sh", "sha256", "Not covered"):
        assert part in refused["message"]
    assert refused["remedy"] == "To allow it: `moot allow hook --yes`."
    assert run("allow", "--json").result[0]["allowed"] is False
    assert caused(run) == "Nothing was due."


@pytest.mark.parametrize(("said", "allowed"), [("y\n", True), ("n\n", False), ("\n", False), ("\x04", False)])
def test_at_a_terminal_the_person_is_asked(run: Command, said: str, allowed: bool) -> None:
    handler(run, 'run = ["true"]', allow=False)
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "moot", "allow", "hook"],
        cwd=run.repo, env=run.environment, stdin=theirs, stdout=theirs, stderr=theirs,
    )  # fmt: skip
    os.close(theirs)
    try:
        shown = b""
        while b"[y/N]" not in shown:
            shown += os.read(ours, 65536)
        assert b"Not covered" in shown, "the question comes after what it is about"
        os.write(ours, said.encode())
        process.wait(PATIENCE)
    finally:
        os.close(ours)
        process.kill()
        process.wait(PATIENCE)
    assert run("allow", "--json").result[0]["allowed"] is allowed


@pytest.mark.parametrize(
    "words",
    [
        ("allow", "hook", "--yes"),
        ("allow", "--all", "--yes"),
        ("allow", "hook", "--revoke"),
    ],
)
def test_an_agent_allows_nothing(run: Command, words: tuple[str, ...]) -> None:
    handler(run, 'run = ["true"]', allow=False)
    assert run("join", "Ada").code == 0
    assert run(*words, "--json", agent="Ada").error["error"] == "people_only"


def test_what_was_allowed_can_be_revoked(run: Command) -> None:
    handler(run, 'run = ["true"]')
    assert run("allow", "hook", "--revoke").code == 0
    assert caused(run) == "Nothing was due."


def test_a_store_that_lies_inside_of_the_workspace_is_not_believed(run: Command) -> None:
    """A repository brings the consent along, and an `.envrc` that points to it."""
    inside = {"XDG_STATE_HOME": str(run.repo / "state")}
    handler(run, 'run = ["touch", "stolen"]')
    shutil.copytree(Path(run.environment["HOME"]) / ".local/state", run.repo / "state")
    shutil.rmtree(Path(run.environment["HOME"]) / ".local/state")
    run("emit", "build:finished")
    refused = run("handle", "--drain", "--json", **inside).error
    assert (refused["error"], stolen(run)) == ("unsafe_file", False)
    assert run("allow", "hook", "--yes", "--json", **inside).error["error"] == "unsafe_file"


@pytest.mark.parametrize("what", ["moot", "moot/allowed", "moot/allowed/FILE"])
def test_a_store_that_others_may_write_is_not_believed(run: Command, what: str) -> None:
    handler(run, 'run = ["touch", "stolen"]')
    state = Path(run.environment["HOME"]) / ".local/state"
    (name,) = os.listdir(state / "moot/allowed")
    (state / what.replace("FILE", name)).chmod(0o777)
    run("emit", "build:finished")
    assert run("handle", "--drain", "--json").error["error"] == "unsafe_file"
    assert not stolen(run)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to act as another account")
@pytest.mark.parametrize("what", ["moot", "moot/allowed", "moot/allowed/FILE"])
def test_a_store_of_another_account_is_not_believed(run: Command, what: str) -> None:
    handler(run, 'run = ["touch", "stolen"]')
    state = Path(run.environment["HOME"]) / ".local/state"
    (name,) = os.listdir(state / "moot/allowed")
    os.chown(state / what.replace("FILE", name), 12345, 12345)
    run("emit", "build:finished")
    assert run("handle", "--drain", "--json").error["error"] == "unsafe_file"
    assert not stolen(run)


def test_a_copy_of_the_workspace_inherits_no_consent(run: Command, tmp_path: Path) -> None:
    handler(run, 'run = ["touch", "stolen"]')
    run("emit", "build:finished")
    copy = tmp_path / "copy"
    shutil.copytree(run.repo, copy, symlinks=True)
    git(copy, "worktree", "prune")
    assert run("handle", "--drain", cwd=copy).out == "Nothing was due.\n"


# The environment of handlers


def test_a_handler_gets_no_secret_of_its_runner(run: Command) -> None:
    run.environment |= {
        "AWS_SECRET_ACCESS_KEY": "s3cret", "GITHUB_TOKEN": "s3cret", "DEPLOY_TOKEN": "for deploys",
        "LD_LIBRARY_PATH": "/x", "MOOT_AGENT": "", "MOOT_INCARNATION": "", "GIT_DIR": "/nowhere", "PYTHONSTARTUP": "/x",
    }  # fmt: skip
    (run.repo / "dump.py").write_text("import os, json; json.dump(dict(os.environ), open('got', 'w'))\n")
    handler(run, 'run = ["python3", "dump.py"]\nenv = ["DEPLOY_TOKEN"]')
    assert caused(run) == "1 done."
    got = json.loads((run.repo / "got").read_text())
    assert "s3cret" not in got.values()
    assert got["DEPLOY_TOKEN"] == "for deploys"
    assert (got["HOME"], got["LANG"], got["MOOT_HANDLER"]) == (run.environment["HOME"], "C.UTF-8", "hook")
    unwanted = ("MOOT_PERSON", "MOOT_AGENT", "MOOT_INCARNATION", "GIT_DIR", "PYTHONPATH", "LD_LIBRARY_PATH")
    assert not set(unwanted) & got.keys()


@pytest.mark.parametrize("name", ["MOOT_PERSON", "MOOT_AGENT"])
def test_a_handler_cannot_ask_for_who_its_runner_is(run: Command, name: str) -> None:
    handler(run, f'run = ["true"]\nenv = ["{name}"]', allow=False)
    assert run("allow", "hook", "--yes", "--json").error["error"] == "bad_settings"


def test_more_variables_ask_anew(run: Command) -> None:
    handler(run, 'run = ["true"]')
    handler(run, 'run = ["true"]\nenv = ["GITHUB_TOKEN"]', allow=False)
    assert caused(run) == "Nothing was due."


def test_a_check_does_not_pass_on_that_a_person_calls(run: Command) -> None:
    said = run("check", "--", "sh", "-c", "echo person=$MOOT_PERSON.").out
    assert "person=." in said


def test_the_word_of_consent_is_about_bytes_and_not_names(run: Command) -> None:
    """Two handlers whose words and files read the same when strung together are two handlers."""
    consent = Consent(run.environment, "w", str(run.repo / ".git/moot"), str(run.repo))
    one = consent.pinned(Handler(name="h", on=("a:b",), run=("true", "a b")))
    other = consent.pinned(Handler(name="h", on=("a:b",), run=("true", "a", "b")))
    assert one.digest != other.digest
