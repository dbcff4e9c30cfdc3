"""A developer's mailbox gets an entry that nobody can use: it is told once, corrected in the file, and closed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.specs.orchestrator.project import FILES
from tests.specs.orchestrator.samples import assignment
from tests.surfaces.command import new_command

if TYPE_CHECKING:
    from pathlib import Path


def test_a_held_entry_is_told_once_and_then_waits_in_needs_me(tmp_path: Path) -> None:
    moot = new_command(tmp_path)
    assert moot("init", "--pack", "orchestrator").code == 0
    mailbox = moot.repo / FILES["developer"]
    mailbox.write_text(json.dumps({"messages": [{**assignment(), "platform": "desktop"}], "lastRead": None}))

    first = moot("board")
    (entry,) = moot("held", "--json").result
    assert entry["id"] in first.err
    for words in (["board"], ["task", "list"], ["whoami"], ["mailboxes"], ["board"]):
        again = moot(*words)
        assert entry["id"] not in again.out + again.err, words
    assert entry["id"] in moot("needs-me").out

    assert json.loads(mailbox.read_text())["messages"] == []
    assert "platform" in moot("held", "show", entry["id"]).out
    mailbox.write_text(json.dumps({"messages": [assignment()], "lastRead": None}))
    assert moot("task", "show", "task-001", "--json").result["task"]["state"] == "in_progress"
    assert moot("held", "drop", entry["id"], "--reason", "corrected in the file").code == 0
    assert entry["id"] not in moot("needs-me").out
