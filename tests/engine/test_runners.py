"""The locks of effects: one holder at a time, whoever ends or gives up whom, and no name is left behind."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import pytest

from moot.core.errors import Unavailable
from moot.engine import runners

if TYPE_CHECKING:
    from pathlib import Path


def names(state: Path) -> list[str]:
    return sorted(os.listdir(state / "effects"))


def test_one_has_it_and_the_next_one_after_it(tmp_path: Path) -> None:
    one = runners.lock_effect(str(tmp_path), "e-1", "a")
    assert one is not None
    assert runners.lock_effect(str(tmp_path), "e-1", "b") is None
    other = runners.lock_effect(str(tmp_path), "e-2", "b")
    assert other is not None
    one.release()
    other.release()
    assert names(tmp_path) == []
    again = runners.lock_effect(str(tmp_path), "e-1", "b")
    assert again is not None
    again.release()


def test_who_was_given_up_does_not_take_away_the_lock_of_its_successor(tmp_path: Path) -> None:
    silent = runners.lock_effect(str(tmp_path), "e-1", "a")
    next_one = runners.take_over(str(tmp_path), "e-1", "b", "a")
    assert silent is not None
    assert next_one is not None
    silent.release()
    assert runners.lock_effect(str(tmp_path), "e-1", "c") is None
    next_one.release()
    assert names(tmp_path) == []


def test_of_two_who_give_up_the_same_one_the_second_gets_nothing(tmp_path: Path) -> None:
    silent = runners.lock_effect(str(tmp_path), "e-1", "a")
    first = runners.take_over(str(tmp_path), "e-1", "b", "a")
    assert silent is not None
    assert first is not None
    assert runners.take_over(str(tmp_path), "e-1", "c", "a") is None
    assert runners.lock_effect(str(tmp_path), "e-1", "c") is None
    silent.release()
    first.release()


def test_what_a_dead_one_has_left_is_taken_over_with_its_name(tmp_path: Path) -> None:
    dead = runners.lock_effect(str(tmp_path), "e-1", "a-long-name")
    assert dead is not None
    os.close(dead.file)
    heir = runners.lock_effect(str(tmp_path), "e-1", "b")
    assert heir is not None
    assert runners.take_over(str(tmp_path), "e-1", "c", "a-long-name") is None
    heir.release()


def test_nobody_seizes_between_a_look_and_a_removal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that is given up stands before the removal of its name; the other has to wait for its turn."""
    silent = runners.lock_effect(str(tmp_path), "e-1", "a")
    assert silent is not None
    unlink, held = os.unlink, []
    seizing = threading.Thread(target=lambda: held.append(runners.take_over(str(tmp_path), "e-1", "b", "a")))

    def slowly(path: str) -> None:
        monkeypatch.setattr(os, "unlink", unlink)
        seizing.start()
        seizing.join(0.2)
        assert held == []
        unlink(path)

    monkeypatch.setattr(os, "unlink", slowly)
    silent.release()
    seizing.join(30)
    assert held[0] is not None
    assert runners.lock_effect(str(tmp_path), "e-1", "c") is None
    held[0].release()


def test_a_state_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "effects").write_text("no folder")
    with pytest.raises(Unavailable) as caught:
        runners.lock_effect(str(tmp_path), "e-1", "a")
    assert caught.value.code == "runner_unwritable"
