"""Any content of any file that moot reads: it is used, or refused in words, and never the end of anything."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moot.core.errors import MootError, Unavailable, Usage
from moot.core.timestamps import parse as moment
from moot.place import gitdir
from moot.place.settings import seconds
from moot.place.settings.parse import parse, size
from tests.calls import open_call
from tests.engine.test_settings import AWKWARD, FULL
from tests.fuzz.material import VALUES, WORDS, bounded, spoiled
from tests.surfaces.command import Command, new_command
from tests.surfaces.worlds import ASSIGNMENT, TO_DEVELOPER, orchestrate

SETTINGS = spoiled(FULL.encode(), AWKWARD.encode())
GIT_CONFIG = spoiled(
    b'[core]\n\tbare = false\n\tignorecase = true ; a comment\n[remote "a\\"b"]\n\turl = "x y"\\\n z\n',
    b"[extensions]\n\tworktreeConfig = true\n[core]\n\tworktree = ../..\n",
)


def read_settings(raw: bytes) -> None:
    with bounded():
        try:
            parse("moot.toml", raw)
        except Usage as error:
            problems = error.details["problems"]
            json.dumps(error.plain()).encode()
        else:
            return
    assert problems


@settings(max_examples=300)
@given(SETTINGS)
def test_no_settings_break_it(raw):
    read_settings(raw)


@pytest.mark.soak
@given(SETTINGS)
def test_none_of_many_settings_breaks_it(raw):
    read_settings(raw)


@settings(max_examples=300)
@given(VALUES)
def test_any_value_is_a_duration_a_size_or_none(value):
    with bounded():
        assert seconds(value) is None or seconds(value) >= 0
        assert size(value) is None or size(value) >= 0


@settings(max_examples=300)
@given(WORDS | spoiled(b"2031-05-08T09:30:00.5+02:00", b"2016-12-31T23:59:60Z").map(lambda raw: raw.decode("latin-1")))
def test_any_text_is_a_moment_or_none(text):
    with bounded():
        found = moment(text)
    assert found is None or abs(found) < 1e12


def read_git(folder: Path, config: bytes, pointer: bytes) -> None:
    """What a repository says about itself; others wrote it, by hand or by another git."""
    (folder / "config").write_bytes(config)
    (folder / ".git").write_bytes(pointer)
    with bounded():
        for look in (lambda: gitdir.config(str(folder)), lambda: gitdir.at(str(folder))):
            try:
                look()
            except Unavailable:
                continue


@settings(max_examples=200)
@given(GIT_CONFIG, spoiled(b"gitdir: ../.git/worktrees/b\n"))
def test_no_git_repository_breaks_it(tmp_path_factory, config, pointer):
    folder = tmp_path_factory.getbasetemp() / "git"
    folder.mkdir(exist_ok=True)
    read_git(folder, config, pointer)


class Town(NamedTuple):
    """A workspace, and a copy of it to begin with each time."""

    command: Command
    copy: Path

    def reset(self) -> None:
        shutil.rmtree(self.command.repo)
        shutil.copytree(self.copy, self.command.repo, symlinks=True)

    def call(self) -> list[str]:
        """What an agent does at any time; what it was warned of."""
        session = open_call(str(self.command.repo), self.command.environment, agent="Bob", incarnation=1)
        try:
            with bounded():
                warned = [
                    *session.run("inbox", {}).warnings,
                    *session.run("send", {"to": ["Ada"], "text": "x"}).warnings,
                ]
                session.run("verify", {})
            return [warning.code for warning in warned]
        finally:
            session.engine.log.close()
            session.engine.store.close()


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Town:
    where = tmp_path_factory.mktemp("town")
    command = new_command(where)
    orchestrate(command)
    found = Town(command, where / "copy")
    found.call()
    shutil.copytree(command.repo, found.copy, symlinks=True)
    return found


def mailbox() -> bytes:
    box = {"messages": [ASSIGNMENT, {"type": "task_assignment", "taskId": "task-001"}], "lastRead": None}
    return json.dumps(box, indent=2).encode()


MAILBOXES = spoiled(mailbox(), b'{"messages": [], "lastRead": "2031-05-08T09:30:00Z"}', b"[]", b"")


def read_mailbox(town: Town, data: bytes, age: float) -> None:
    """Whatever stood in it is taken, held, in quarantine, or still there."""
    town.reset()
    path = town.command.repo / TO_DEVELOPER
    path.write_bytes(data)
    then = path.stat().st_mtime - age
    os.utime(path, (then, then))
    before = kept_files(town)
    warned = town.call()
    try:
        readable = isinstance(json.loads(data)["messages"], list)
    except (ValueError, TypeError, KeyError, IndexError, RecursionError):
        readable = False
    if data and not readable and path.read_bytes() != data:
        assert data in [file.read_bytes() for file in kept_files(town) - before]
        assert "entry_held" in warned


def kept_files(town: Town) -> set[Path]:
    """The files of the state directory that are named by a digest."""
    return set(state(town).glob(f"*/{'[0-9a-f]' * 64}"))


def state(town: Town) -> Path:
    return town.command.repo / ".git" / "moot"


@settings(max_examples=60)
@given(MAILBOXES, st.sampled_from([0.0, 60.0]))
def test_no_mailbox_file_breaks_it(town, data, age):
    read_mailbox(town, data, age)


@pytest.mark.soak
@pytest.mark.timeout(1800)
@given(MAILBOXES, st.sampled_from([0.0, 60.0]))
def test_none_of_many_mailbox_files_breaks_it(town, data, age):
    read_mailbox(town, data, age)


@st.composite
def damage(draw: st.DrawFn) -> tuple[int, int, bytes, int]:
    """Which file of the state, from where on, what comes there, and how much of it goes."""
    return (
        draw(st.integers(0, 10**6)),
        draw(st.integers(0, 400)),
        draw(
            st.one_of(st.binary(max_size=12), st.sampled_from([b"null", b"[]", b"{}", b'{"files": 1}', b"-1", b'""']))
        ),
        draw(st.sampled_from([0, 1, 10, 10**6])),
    )


def survive(town: Town, hit: tuple[int, int, bytes, int]) -> None:
    """The small files beside the log are caches and stamps: whatever is in them, work goes on."""
    town.reset()
    which, start, piece, length = hit
    files = sorted(path for path in state(town).rglob("*") if path.is_file() and "log.db" not in path.name)
    path = files[which % len(files)]
    data = path.read_bytes()
    start = min(start, len(data))
    path.write_bytes(data[:start] + piece + data[start + length :])
    try:
        town.call()
    except MootError as error:
        if error.code != "views_damaged":
            raise
        town.call()  # they are made anew by whoever comes next


@settings(max_examples=80)
@given(damage())
def test_no_damage_beside_the_log_breaks_it(town, hit):
    survive(town, hit)


@pytest.mark.soak
@pytest.mark.timeout(1800)
@given(damage())
def test_none_of_many_damages_beside_the_log_breaks_it(town, hit):
    survive(town, hit)
