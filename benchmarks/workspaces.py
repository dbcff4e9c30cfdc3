"""Creates repositories with a workspace, and logs of any length, in large commits through the engine."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

from moot.core.deciders.mailbox import Offer
from moot.core.deciders.message import WANTS, SendMessage
from moot.core.identity import decide
from moot.surfaces.python import Workspace
from moot.wiring import open_workspace

if TYPE_CHECKING:
    from common import Size

    from moot.api.call import Call
    from moot.engine.unit_of_work import Work

SENDER, READER, OTHER = "Yeats", "Blake", "Keats"
_COMMIT = 5_000  # events; the engine takes up to 10,000
_SHOWN = 50  # messages that an inbox shows at once


class Stage:
    """The directory for all measurements, on the disk that is measured."""

    def __init__(self, directory: str, size: Size) -> None:
        self.directory = directory
        self.size = size

    def room(self, name: str) -> str:
        """A new directory."""
        path = os.path.join(self.directory, name)
        os.makedirs(path)
        return path

    def populated(self, name: str, events: int) -> str:
        """A workspace with a log of this many events. It is built once and copied."""
        built = os.path.join(self.directory, f"of-{events}")
        if not os.path.exists(built):
            populate(built, events)
        path = os.path.join(self.directory, name)
        shutil.copytree(built, path, symlinks=True)
        return path


def git(directory: str, *words: str) -> None:
    somebody = ["-c", "user.name=bench", "-c", "user.email=bench@example.org"]
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *somebody, *words], cwd=directory, env=env, check=True, capture_output=True, timeout=60)


def make(directory: str, *, packs: tuple[str, ...] = (), worktrees: int = 0) -> str:
    """A repository with a workspace, and linked worktrees next to it: `<directory>-0` and so on."""
    os.makedirs(directory)
    git(directory, "init", "--quiet", "--initial-branch=main")
    git(directory, "commit", "--quiet", "--allow-empty", "--message=begin")
    for number in range(worktrees):
        git(directory, "worktree", "add", "--quiet", "--detach", f"{directory}-{number}")
    Workspace.init(directory, packs=packs).close()
    return directory


def populate(directory: str, events: int) -> None:
    """A workspace with three agents and a log of this many events: notes that were sent and shown."""
    make(directory)
    for name in (SENDER, READER, OTHER):
        with Workspace(directory, agent=name) as ws:
            ws.join(name)
    session = open_workspace(directory, os.environ).call(decide(os.environ, agent=SENDER))
    try:
        while (missing := events - session.engine.log.head()) > 0:
            _exchange(session, min(_COMMIT, max(1, missing * _SHOWN // (_SHOWN + 1))))
    finally:
        session.engine.log.close()
        session.engine.store.close()


def _exchange(session: Call, count: int) -> None:
    ids: list[str] = []

    def send(work: Work) -> None:
        ids[:] = [work.new_message() for _ in range(count)]
        for number, identity in enumerate(ids):
            work.do("message", identity, _note(session, f"Note {number}: the parser is on main, the tests pass."))

    def show(work: Work) -> None:
        for start in range(0, count, _SHOWN):
            work.do("mailbox", READER, Offer(ids=tuple(ids[start : start + _SHOWN]), to=f"{READER}#1"))

    session.engine.commit(f"{SENDER}#1", send)
    session.engine.commit(f"{READER}#1", show)


def _note(session: Call, text: str) -> SendMessage:
    return SendMessage(
        kind="note",
        sender=f"{SENDER}#1",
        to=(READER,),
        wants=WANTS["note"],
        size=len(text),
        limit=session.settings.message_limit,
        text=text,
    )
