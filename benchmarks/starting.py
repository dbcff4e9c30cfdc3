"""Measures how long a command takes, compared with the bare interpreter and with hcom's native binary.

The installed script runs as from a shell. moot is compiled to byte code first, and PYTHONDONTWRITEBYTECODE is not set,
because it would make each start compile moot again.
"""

from __future__ import annotations

import compileall
import contextlib
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import workspaces
from common import Rounds, Row, interleaved

import moot
from moot import Workspace
from moot.engine.clock import iso

if TYPE_CHECKING:
    from collections.abc import Callable

    from common import Size
    from workspaces import Stage

_PACKAGES = os.path.dirname(os.path.dirname(os.path.abspath(moot.__file__)))
_WARM_UP = 3
_ASSIGNMENT = {
    "taskId": "task-001",
    "platform": "web",
    "title": "Sign-in form",
    "instructions": "Build the sign-in form with its tests. Errors are shown beside the field.",
    "filesToCreate": ["src/sign_in.ts", "src/sign_in.test.ts"],
    "architecture": "One component, no state outside it.",
}


class Command:
    """A command that runs repeatedly. The cost of a run is its wall time; its CPU time is recorded too."""

    def __init__(
        self, words: list[str], env: dict[str, str], cwd: str, before: Callable[[], object] | None = None
    ) -> None:
        self._words, self._env, self._cwd, self._before = words, env, cwd, before
        self.processor: list[float] = []

    def __call__(self) -> float:
        if self._before is not None:
            self._before()
        nowhere = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1)]
        with contextlib.chdir(self._cwd):
            start = time.perf_counter()
            child = os.posix_spawn(self._words[0], self._words, self._env, file_actions=nowhere)
            _, status, used = os.wait4(child, 0)
            wall = time.perf_counter() - start
        if status:
            raise RuntimeError(f"{self._words[0]} {self._words[1:3]} failed with status {status}")
        self.processor.append(used.ru_utime + used.ru_stime)
        return wall


def _empty(lead: Workspace) -> None:
    # The developer's file as an agent empties it, so that all runs find the same.
    path = Path(lead.root, ".claude-orchestrator/tasks/messages/to-developer.json")
    path.write_text(json.dumps({"messages": [], "lastRead": iso(time.time())}))
    lead.mailboxes()


def measure(stage: Stage) -> list[Row]:
    directory, size = stage.room("starting"), stage.size
    compileall.compile_dir(os.path.join(_PACKAGES, "moot"), quiet=2)
    plain, packed, typed = (stage.populated(f"starting/{name}", size.events) for name in ("plain", "packed", "typed"))
    for repository in (packed, typed):
        Workspace.init(repository, packs=("orchestrator",)).close()
    moot_command = script(directory)
    home = f"{directory}/home"
    os.makedirs(home)
    env = {"PATH": os.defpath, "HOME": home, "MOOT_PERSON": "1", "LANG": "C.UTF-8"}
    reader, sender = (_as(env, name) for name in (workspaces.READER, workspaces.SENDER))
    with Workspace(plain, agent=workspaces.SENDER) as ws, Workspace(typed) as lead:
        commands = {
            "python": Command([sys.executable, "-I", "-c", "pass"], env, plain),
            "inbox": Command([moot_command, "inbox"], reader, plain),
            "inbox_new": Command(
                [moot_command, "inbox"], reader, plain, lambda: ws.send(workspaces.READER, "The build is up.")
            ),
            "note": Command([moot_command, "send", workspaces.OTHER, "The parser is on main."], sender, plain),
            "packed_inbox": Command([moot_command, "inbox"], reader, packed),
            "packed_note": Command([moot_command, "send", workspaces.OTHER, "The parser is on main."], sender, packed),
            "typed": Command(
                [moot_command, "send", "--type", "task_assignment", "--data", json.dumps(_ASSIGNMENT)],
                env,
                typed,
                lambda: _empty(lead),
            ),
            **_hcom(home),
        }
        interleaved(commands, 0, _WARM_UP)
        for command in commands.values():
            command.processor.clear()
        rounds = interleaved(commands, size.seconds * 2, size.least)
    return [_row(name, commands, rounds, size) for name in _ROWS]


def _as(env: dict[str, str], agent: str) -> dict[str, str]:
    return {**env, "MOOT_AGENT": agent, "MOOT_INCARNATION": "1"}


def script(directory: str) -> str:
    """The installed command, or an equivalent script if moot is not installed."""
    beside = os.path.join(os.path.dirname(sys.executable), "moot")
    if os.access(beside, os.X_OK):
        return beside
    path = f"{directory}/moot"
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"#!{sys.executable}\nimport sys\n")
        file.write(f"sys.path.append({_PACKAGES!r})\n")
        file.write("from moot.__main__ import command\ncommand()\n")
    os.chmod(path, 0o755)
    return path


def _hcom(home: str) -> dict[str, Command]:
    """hcom with its own home directory, and with a PATH that has no program to reach the network."""
    binary = os.path.join(os.path.dirname(sys.executable), "hcom")
    if not os.access(binary, os.X_OK):
        return {}
    env = {"PATH": home, "HOME": home, "HCOM_DIR": f"{home}/.hcom", "LANG": "C.UTF-8"}
    text = "The parser is on main."
    return {
        "hcom_version": Command([binary, "--version"], env, home),
        "hcom_list": Command([binary, "list"], env, home),
        "hcom_send": Command([binary, "send", "--from", "anna", "--quiet", "--", text], env, home),
    }


# For each row: the goal, and the start of the note.
_ROWS: dict[str, tuple[str | None, str]] = {
    "inbox": ("<= 4", "`moot inbox` with nothing new"),
    "inbox_new": ("<= 4", "`moot inbox` that shows one new note and records it"),
    "note": ("<= 4", "`moot send`: a note"),
    "packed_inbox": (None, "`moot inbox` with nothing new, with an active pack"),
    "packed_note": (None, "`moot send`: a note, with an active pack"),
    "typed": ("<= 6", "`moot send --type task_assignment`, validated, with its mailbox files written"),
    "hcom_version": (None, "hcom's native binary: `hcom --version`"),
    "hcom_list": (None, "hcom's native binary: `hcom list`"),
    "hcom_send": (None, "hcom's native binary: `hcom send`, to everybody"),
}


def _row(name: str, commands: dict[str, Command], rounds: Rounds, size: Size) -> Row:
    goal, what = _ROWS[name]
    unit = "x bare interpreter"
    if name not in commands:
        return Row(
            f"start.{name}",
            None,
            unit,
            goal,
            f"{what}: not measured, hcom is not installed (`make bench` installs it).",
        )
    ratio = rounds.ratio(name, "python")
    ours, bare = rounds.median(name) * 1e3, rounds.median("python") * 1e3
    used = Rounds()
    for variant in (name, "python"):
        for seconds in commands[variant].processor:
            used.add(variant, seconds)
    log = "" if name.startswith("hcom") else f", {size.events:,} events in the log"
    note = (
        f"{what}{log}: {ours:.1f} ms against {bare:.1f} ms of `python -I -c pass`; {ratio}; "
        f"CPU time {used.ratio(name, 'python').median:.2f} x."
    )
    return Row(f"start.{name}", ratio.median, unit, goal, note)
