"""A person looks at claims and at the workspace, with the names that real projects have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moot import Workspace
from tests.surfaces.command import new_command
from tests.surfaces.glass import Glass
from tests.surfaces.guarded import Guarded
from tests.surfaces.worlds import inhabit

if TYPE_CHECKING:
    from pathlib import Path

LONG = "a-task-whose-id-is-longer-than-any-column-of-the-board"
TITLE = "Write the parser for the new configuration grammar, with every error named by its file and line"


def test_a_path_is_shown_as_it_was_typed(tmp_path: Path) -> None:
    run = new_command(tmp_path)
    inhabit(run)
    assert run("claim", "pages/[id].tsx", agent="Ada").out.split(" (")[0].endswith("exclusive: pages/[id].tsx")
    assert run("claims").out.split()[3:] == ["pages/[id].tsx"]
    assert run("who-holds", "pages/[id].tsx").out.split()[3:] == ["pages/[id].tsx"]
    for words in (["watch"], ["log"]):
        assert "[[]" not in run(*words).out
    refused = run("claim", "pages/[id].tsx", agent="Bob").err
    assert "pages/[id].tsx" in refused
    assert "[[]" not in refused
    assert run("guard", "install").code == 0
    repo = Guarded(run)
    repo.write("pages/[id].tsx")
    refused = repo.commit(agent="Bob").err
    assert "(pages/[id].tsx)" in refused
    assert run("release", "pages/[id].tsx", agent="Ada").out == "released pages/[id].tsx\n"


def test_watch_parts_id_and_name_and_uses_a_wide_terminal(tmp_path: Path) -> None:
    run = new_command(tmp_path)
    inhabit(run)
    with Workspace(run.repo, agent="Ada") as ada:
        ada.task_add(TITLE, id=LONG)
        ada.task_claim(LONG)
        ada.claim("src/**", reason=TITLE, task=LONG)
    with Glass(run, "watch", size=(220, 40)) as glass:
        glass.until("Claims", "q quit")
        board, claims = (
            next(line for line in glass.text.splitlines() if TITLE in line and word in line)
            for word in ("working", "src/**")
        )
        assert board.split()[1:3] == ["working", "Ada"]
        assert claims.split()[:2] == ["Ada", "src/**"]
        glass.press("q")
        assert glass.ended() == 0
    for line in run("watch", "--once").out.splitlines():
        assert "…working" not in line
        assert f"{LONG}working" not in line
