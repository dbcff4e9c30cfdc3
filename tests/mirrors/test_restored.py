"""A log that is not the one that was rendered: its end was lost with the power, or an older one was put back."""

from __future__ import annotations

import json

import pytest

from moot import Workspace
from tests.surfaces.command import new_command
from tests.surfaces.worlds import ASSIGNMENT, TO_DEVELOPER


@pytest.mark.promise(2)
@pytest.mark.promise(14)
def test_mirrors_follow_a_log_that_was_put_back(tmp_path):
    repo = new_command(tmp_path).repo
    kept = tmp_path / "kept.db"

    def send(title: str) -> None:
        with Workspace(repo, agent="Ada") as ada:
            ada.send(type="task_assignment", data={**ASSIGNMENT, "title": title})

    def shown() -> list[str]:
        return [entry["title"] for entry in json.loads((repo / TO_DEVELOPER).read_text())["messages"]]

    with Workspace.init(repo, packs="orchestrator") as ada:
        ada.join("Ada", role="team-lead")
        ada.task_add("Build it", id="task-001")
        ada.task_claim("task-001")
    send("First")
    with Workspace(repo) as anyone:
        anyone.backup(str(kept))
    for title in ("Second", "Third", "Fourth"):
        send(title)
    assert shown() == ["First", "Second", "Third", "Fourth"]
    Workspace.restore(str(kept), repo, force=True)
    send("Another")
    assert shown() == ["First", "Another"]
    with Workspace(repo) as anyone:
        assert anyone.verify().sound
