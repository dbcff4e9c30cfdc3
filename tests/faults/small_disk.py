"""A real file system with hardly any room, for this process alone: `unshare -m python -m tests.faults.small_disk …`.

Each round has a page more of it. The commands of a day are given through the command line; then there is room again.
"""

from __future__ import annotations

import contextlib
import fnmatch
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from moot.surfaces.cli.main import main
from tests.faults.crew import Repo

PAGE = 4096
SIZE = 16 << 20
ASSIGNMENT = {
    "taskId": "task-ui",
    "platform": "web",
    "title": "Build it",
    "instructions": "Build the page.",
    "filesToCreate": ["src/new.ts"],
    "architecture": "MVVM",
    "timestamp": "2031-01-01T00:00:00.000Z",
}
DAYS: dict[str, list[list[str]]] = {
    "work": [
        ["--agent", "Dan", "inbox"],
        ["--agent", "Lea", "send", "--type", "task_assignment", "--data", json.dumps(ASSIGNMENT)],
        ["--agent", "Lea", "send", "Dan", "x" * 20_000],
        ["--agent", "Dan", "claim", "src/**"],
        ["join", "Eve"],
        ["mirror"],
        ["verify", "--rebuild"],
    ],
    "start": [["init", "--pack", "orchestrator"]],
    "torn": [["--agent", "Dan", "inbox"]],
}
DRAFTS = (f"~{'[0-9a-z]' * 12}", "views-*.db.*", "log.db.*", "state.json.*", "pack-*.json.*", ".moot.toml.*")
AFTER = [
    ["init", "--pack", "orchestrator"],
    ["join", "Fay"],
    ["--agent", "Fay", "send", "Fay", "On we go."],
    ["mirror"],
    ["verify"],
]
MAILBOX = ".claude-orchestrator/tasks/messages/to-developer.json"


def ran(*words: str) -> dict[str, Any]:
    """The command in this process, and what it said."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["--json", *words])
    said = json.loads(out.getvalue() or "{}")
    result = said.get("result") if isinstance(said.get("result"), dict) else {}
    return {
        "words": " ".join(words)[:60],
        "code": code,
        "error": said.get("error"),
        "message": said.get("message"),
        "warnings": [warning["code"] for warning in said.get("warnings", ())],
        "position": result.get("position", 0),
        "events": result.get("events", 0),
        "err": err.getvalue(),
    }


def prepare(template: str, day: str) -> None:
    Repo.plain(Path(template))
    if day != "start":
        os.chdir(template)
        for words in (["init", "--pack", "orchestrator"], ["join", "Lea", "--role", "team-lead"]):
            assert ran(*words)["code"] == 0
        assert ran("join", "Dan", "--role", "developer")["code"] == 0
    if day == "torn":
        with open(os.path.join(template, MAILBOX), "w", encoding="utf-8") as file:
            file.write('{"messages": [')
        os.utime(file.name, (0, 0))


def leave(pages: int, ballast: str) -> None:
    """Take all the room but this."""
    found = os.statvfs(os.path.dirname(ballast))
    with open(ballast, "wb") as file:
        os.posix_fallocate(file.fileno(), 0, max(1, found.f_bavail * found.f_frsize - pages * PAGE))


def round_of(day: str, template: str, disk: str, pages: int) -> dict[str, Any]:
    root, ballast = os.path.join(disk, "repo"), os.path.join(disk, "ballast")
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(template, root)
    os.environ["XDG_STATE_HOME"] = os.path.join(disk, f"home-{pages}")  # nobody has seen this log before
    os.chdir(root)
    leave(pages, ballast)
    full = [ran(*words) for words in DAYS[day]]
    os.unlink(ballast)
    left = [name for _, _, names in os.walk(root) for name in names if is_draft(name)]
    after = [ran(*words) for words in AFTER]
    os.chdir("/")
    return {"pages": pages, "full": full, "after": after, "left": left}


def is_draft(name: str) -> bool:
    return any(fnmatch.fnmatch(name, draft) for draft in DRAFTS)


def play(day: str, disk: str, template: str, first: str, last: str, step: str) -> list[dict[str, Any]]:
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "none", disk], check=True)
    os.environ.update({"MOOT_PERSON": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"})
    for name in ("MOOT_AGENT", "MOOT_INCARNATION"):
        os.environ.pop(name, None)
    prepare(template, day)
    return [round_of(day, template, disk, pages) for pages in range(int(first), int(last), int(step))]


if __name__ == "__main__":
    print(json.dumps(play(*sys.argv[1:])))
