"""An id is never a path: whatever a log holds, no file outside its own folder is made, read or removed for it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from moot.core.errors import MootError
from moot.core.ids import file_name
from moot.core.task import AddTask
from moot.place import locks
from tests.calls import open_call
from tests.surfaces.command import new_command
from tests.surfaces.worlds import inhabit

if TYPE_CHECKING:
    from pathlib import Path

HOSTILE = (
    "../../../../victim",
    "../victim",
    "..",
    ".",
    "",
    "/etc/passwd",
    "a/b",
    "a\0b",
    "a\nb",
    "-rf",
    "--agent=x",
    "$(touch PWN)",
    "`touch PWN`",
    "a b",
    "\x1b[2J",
    "~0",
    "é",
    "\ud800",
    "x" * 300,
)


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("effect", HOSTILE)
def test_an_effect_with_a_hostile_id_removes_and_makes_nothing_outside_its_folder(tmp_path: Path, effect: str) -> None:
    state = tmp_path / "a" / "b" / "c" / "moot"
    state.mkdir(parents=True)
    (tmp_path / "victim").write_bytes(b"precious")
    (tmp_path / "a" / "b" / "c" / "victim").write_bytes(b"precious")
    before = tree(tmp_path)
    one = locks.take(locks.path_of(str(state), locks.EFFECTS, effect), "a")
    assert one is not None
    made = set(tree(tmp_path)) - set(before)
    assert made == {str(state / "effects.lock"), str(state / "effects" / file_name(effect))}
    other = locks.take_over(locks.path_of(str(state), locks.EFFECTS, effect), "b", "a")
    assert other is not None
    one.release()
    other.release()
    assert {path: text for path, text in tree(tmp_path).items() if path in before} == before
    assert os.listdir(state / "effects") == []


def test_a_planted_link_in_place_of_an_effects_lock_is_not_followed(tmp_path: Path) -> None:
    state, victim = tmp_path / "moot", tmp_path / "victim"
    (state / "effects").mkdir(parents=True)
    victim.write_bytes(b"precious")
    (state / "effects" / "e-1").symlink_to(victim)
    (state / "runners").symlink_to(victim)
    for act in (
        lambda: locks.take(locks.path_of(str(state), locks.EFFECTS, "e-1"), "a"),
        lambda: locks.share_runners(str(state)),
    ):
        with pytest.raises(MootError) as refused:
            act()
        assert refused.value.code == "unsafe_file"
    (state / "effects" / "e-1").unlink()
    (state / "effects").rmdir()
    (tmp_path / "elsewhere").mkdir()
    (state / "effects").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(MootError) as refused:
        locks.take(locks.path_of(str(state), locks.EFFECTS, "e-1"), "a")
    assert refused.value.code == "unsafe_file"
    assert victim.read_bytes() == b"precious"
    assert os.listdir(tmp_path / "elsewhere") == []


def test_no_two_ids_share_a_file() -> None:
    names = [file_name(text) for text in (*HOSTILE, "e-1", "E-1.x")]
    assert len(set(names)) == len(names)
    assert all("/" not in name and not name.startswith((".", "-")) and len(name) <= 100 for name in names)


@pytest.mark.parametrize("name", [*HOSTILE[:5], "a/b", "a\nb", "-rf", "$(touch PWN)", "a b", "é", "x" * 101])
def test_nobody_can_choose_a_hostile_id(tmp_path: Path, name: str) -> None:
    command = new_command(tmp_path)
    inhabit(command)
    head = command.head()
    for words in (["task", "add", "T", "--no-review"], ["decide", "D"]):
        ran = command("--json", *words, f"--id={name}", agent="Ada")
        assert (ran.code, ran.error["error"]) == (2, "bad_id"), ran
    for words in (["emit", "build:done", f"--stream={name}"], ["join", "--", name], ["join", "Eve", f"--role={name}"]):
        assert not name or command("--json", *words, MOOT_PERSON="1").code == 2
    assert command.head() == head


@pytest.mark.parametrize("name", ["$(touch PWN)", "a b", "-rf", "--agent=x", "é", "x" * 200])
def test_an_odd_id_that_is_there_can_be_used_in_every_way(tmp_path: Path, name: str) -> None:
    command = new_command(tmp_path)
    inhabit(command)
    session = open_call(str(command.repo), command.environment, agent="Ada")
    add = AddTask(title="T", creator="Ada#1", ttl=900.0)
    session.engine.commit("Ada#1", lambda work: work.do("task", name, add))
    session.engine.log.close()
    session.engine.store.close()
    for words, who in (
        (["task", "show"], "Bob"),
        (["task", "claim"], "Bob"),
        (["task", "submit"], "Bob"),
        (["task", "approve"], "Ada"),
        (["explain"], "Ada"),
    ):
        assert command(*words, "--", name, agent=who).code == 0
    assert command("send", "Bob", "hi", f"--task={name}", agent="Ada").code == 0
    assert command("task", "add", "Next", f"--needs={name}", agent="Ada").code == 0
    assert command("log", f"--stream=task/{name}", agent="Ada").out
