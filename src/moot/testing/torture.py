"""Damages a file of entries as it happens in real life, and checks that nothing is lost or stored twice.

    for name in TORTURES:
        torture(rehearsal, mirror, entry, name)

`entry(number)` returns a valid entry, a different one for each number. Each torture starts with one entry that is in
the log. At its end the log has every message once, the file is complete, and the log is verified.
"""

from __future__ import annotations

import json
import os
import subprocess  # noqa: TID253 (only tests load this module)
import sys

from moot.core.record import Record
from moot.testing.packs import FileAgent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from moot.api.protocol import MirrorSpec
    from moot.testing.rehearsal import Rehearsal

_MOST = 200  # steps: at each of them, one process is killed
_KILLED = """
import os, sys
left = int(sys.argv[1])
def counted(call):
    def count(*given, **named):
        global left
        left -= 1
        if left == 0:
            os._exit(9)
        return call(*given, **named)
    return count
for name in ("rename", "replace", "link", "unlink", "fsync", "write", "utime"):
    setattr(os, name, counted(getattr(os, name)))
from moot import Workspace
with Workspace(sys.argv[2], person=True) as workspace:
    workspace.mirror()
"""


class Scene(Record):
    """A file with one entry that is in the log."""

    rehearsal: Rehearsal
    mirror: MirrorSpec
    entry: Callable[[int], dict[str, Any]]
    agent: FileAgent

    def sync(self) -> None:
        self.rehearsal.person.mirror()

    def stored(self) -> int:
        """How many messages of this file are in the log."""
        sent = self.rehearsal.person.log(limit=1000, type="message:sent")
        return sum(event.data["kind"] in self.mirror.types for event in sent)

    def shown(self, agent: FileAgent | None = None) -> int:
        return len((agent or self.agent).listed())

    def expect(self, count: int, why: str) -> None:
        self.sync()
        assert self.stored() == count, f"{why}: expected {count} messages, got {self.stored()}"
        self.sync()
        assert self.stored() == count, f"{why}: the next sync stored it again"


def torture(rehearsal: Rehearsal, mirror: MirrorSpec, entry: Callable[[int], dict[str, Any]], name: str) -> None:
    """Run one torture on the file."""
    rehearsal.person.mirror()
    scene = Scene(rehearsal=rehearsal, mirror=mirror, entry=entry, agent=FileAgent(rehearsal.path, mirror))
    scene.agent.append(entry(0))
    scene.expect(1, "an entry that was appended")
    _TORTURES[name](scene)
    rehearsal.person.verify()


def _stale(scene: Scene) -> None:
    """An editor writes back an old copy."""
    old = scene.agent.raw()
    scene.agent.append(scene.entry(1))
    scene.expect(2, "a second entry")
    scene.agent.write_bytes(old)
    scene.expect(2, "an old copy")
    assert scene.shown() == 2, "the old copy hides the second entry"


def _reformatted(scene: Scene) -> None:
    content = scene.agent.content()
    for form in ({"indent": 7}, {"separators": (",", ":")}, {"sort_keys": True}):
        scene.agent.write(content, **form)
        scene.expect(1, f"written with {form}")


def _bom(scene: Scene) -> None:
    scene.agent.write_bytes(b"\xef\xbb\xbf" + scene.agent.raw())
    scene.expect(1, "a byte order mark")


def _crlf(scene: Scene) -> None:
    text = json.dumps(scene.agent.content(), indent=2)
    scene.agent.write_bytes(text.replace("\n", "\r\n").encode())
    scene.expect(1, "Windows line endings")


def _cut(scene: Scene) -> None:
    """A writer is interrupted at every byte, and then writes the whole file."""
    whole = scene.agent.raw()
    for size in range(len(whole)):
        scene.agent.write_bytes(whole[:size])
        scene.sync()
    scene.agent.write_bytes(whole)
    scene.expect(1, "cut at every byte")
    assert scene.shown() == 1


def _duplicate(scene: Scene) -> None:
    """A repeated entry is another message, or is held. Writing the same file again changes nothing."""
    scene.agent.append(scene.entry(0))
    scene.sync()
    count = scene.stored()
    scene.agent.write(scene.agent.content())
    scene.expect(count, "a copy with the duplicate")


def _emptied(scene: Scene) -> None:
    scene.agent.empty()
    scene.expect(1, "an emptied file")
    assert scene.shown() == (0 if scene.mirror.emptied == "clear" else 1)
    scene.agent.write_bytes(b"")
    scene.expect(1, "a file of 0 bytes")


def _deleted(scene: Scene) -> None:
    scene.agent.delete()
    scene.expect(1, "a deleted file")
    assert os.path.exists(scene.agent.path) == (scene.mirror.missing != "ignore")


def _link(scene: Scene) -> None:
    """A link is neither followed nor written through."""
    other = os.path.join(scene.rehearsal.path, "other.json")
    with open(other, "w", encoding="utf-8") as file:
        json.dump(scene.agent.holding([scene.entry(5)]), file)
    scene.agent.delete()
    os.symlink(other, scene.agent.path)
    scene.sync()
    assert scene.stored() == 1, "entries behind a link were stored"
    with open(other, encoding="utf-8") as file:
        assert json.load(file) == scene.agent.holding([scene.entry(5)]), "the file behind the link was changed"
    os.unlink(scene.agent.path)
    scene.expect(1, "a link that was removed")


def _read_only(scene: Scene) -> None:
    os.chmod(scene.agent.path, 0o444)
    scene.expect(1, "a read-only file")
    os.chmod(scene.agent.path, 0o644)
    scene.agent.append(scene.entry(1))
    scene.expect(2, "writable again")


def _worktrees(scene: Scene) -> None:
    """An entry that is written in one worktree appears in the file of the other."""
    other = f"{scene.rehearsal.path}-other"
    git = ["git", "-C", scene.rehearsal.path, "worktree", "add", "--quiet", "--detach", other]
    subprocess.run(git, check=True, timeout=60, stdin=subprocess.DEVNULL)
    scene.sync()
    there = FileAgent(other, scene.mirror)
    there.append(scene.entry(1))
    scene.agent.append(scene.entry(2))
    scene.expect(3, "entries in two worktrees")
    assert scene.shown() == scene.shown(there) == 3


def _killed(scene: Scene) -> None:
    """The process that stores an entry is killed at every step. The next one completes it, and stores it once."""
    for step in range(1, _MOST):
        scene.agent.append(scene.entry(step))
        words = [sys.executable, "-c", _KILLED, str(step), scene.rehearsal.path]
        done = subprocess.run(words, cwd=scene.rehearsal.path, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode in (0, 9), done.stderr
        scene.expect(step + 1, f"killed at step {step}")
        assert scene.shown() == step + 1
        if done.returncode == 0:
            return
    raise AssertionError(f"the sync has more than {_MOST} steps")


_TORTURES: dict[str, Callable[[Scene], None]] = {
    "stale": _stale,
    "reformatted": _reformatted,
    "bom": _bom,
    "crlf": _crlf,
    "cut": _cut,
    "duplicate": _duplicate,
    "emptied": _emptied,
    "deleted": _deleted,
    "link": _link,
    "read-only": _read_only,
    "worktrees": _worktrees,
    "killed": _killed,
}
TORTURES = tuple(_TORTURES)
