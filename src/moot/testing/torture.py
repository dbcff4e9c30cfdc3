"""Damages a mirrored file as it happens in real life, and checks that nothing is lost or stored twice.

    for name in TORTURES:
        torture(rehearsal, mirror, entry, name)

For a file of messages, `entry(number)` returns a valid entry, a different one for each number. For a file of another
form, give a `Subject` instead, which knows how something is added to the file, and how often it is in the log. Each
torture starts with one thing that is in the log. At its end the log has each of them once, the file is complete, and
the log is verified.
"""

from __future__ import annotations

import json
import os
import subprocess  # noqa: TID253 (only tests load this module)
import sys
from abc import ABC, abstractmethod

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


class Subject(ABC):
    """A file that is damaged. `root` is the worktree that it is in."""

    json = True  # whether the file is JSON: then it can be formatted in other ways

    def __init__(self, rehearsal: Rehearsal, mirror: MirrorSpec) -> None:
        self.rehearsal, self.mirror = rehearsal, mirror

    @abstractmethod
    def add(self, root: str, number: int) -> None:
        """Add the thing with this number to the file, as an agent does that knows only the file."""

    @abstractmethod
    def stored(self) -> int:
        """How many of the added things are in the log."""

    @abstractmethod
    def shown(self, root: str) -> int:
        """How many of them the file shows."""

    def empty(self, root: str) -> None:
        """Remove everything that was added."""
        self.write(root, b"{}" if self.json else b"")

    @property
    def left(self) -> int:
        """How many the file shows after it was emptied, of one."""
        return 1

    def path(self, root: str) -> str:
        return os.path.join(root, self.mirror.path)

    def read(self, root: str) -> bytes:
        with open(self.path(root), "rb") as file:
            return file.read()

    def write(self, root: str, data: bytes) -> None:
        """Write in place, as some editors do, instead of renaming."""
        with open(self.path(root), "wb") as file:
            file.write(data)


class Entries(Subject):
    """A file of messages: the form `entries`."""

    def __init__(self, rehearsal: Rehearsal, mirror: MirrorSpec, entry: Callable[[int], dict[str, Any]]) -> None:
        super().__init__(rehearsal, mirror)
        self._entry = entry

    def add(self, root: str, number: int) -> None:
        FileAgent(root, self.mirror).append(self._entry(number))

    def stored(self) -> int:
        sent = self.rehearsal.person.log(limit=1000, type="message:sent")
        return sum(event.data["kind"] in self.mirror.types for event in sent)

    def shown(self, root: str) -> int:
        return len(FileAgent(root, self.mirror).listed())

    def empty(self, root: str) -> None:
        FileAgent(root, self.mirror).empty()

    @property
    def left(self) -> int:
        return 0 if self.mirror.emptied == "clear" else 1


class Scene:
    """A file with one thing that is in the log."""

    def __init__(self, rehearsal: Rehearsal, subject: Subject) -> None:
        self.rehearsal, self.subject, self.root = rehearsal, subject, rehearsal.path

    def sync(self) -> None:
        self.rehearsal.person.mirror()

    @property
    def path(self) -> str:
        return self.subject.path(self.root)

    def add(self, number: int) -> None:
        self.subject.add(self.root, number)

    def read(self) -> bytes:
        return self.subject.read(self.root)

    def write(self, data: bytes) -> None:
        self.subject.write(self.root, data)

    def stored(self) -> int:
        return self.subject.stored()

    def shown(self) -> int:
        return self.subject.shown(self.root)

    def expect(self, count: int, why: str) -> None:
        self.sync()
        assert self.stored() == count, f"{why}: expected {count} in the log, got {self.stored()}"
        self.sync()
        assert self.stored() == count, f"{why}: the next sync stored it again"


def torture(
    rehearsal: Rehearsal, mirror: MirrorSpec, entry: Callable[[int], dict[str, Any]] | type[Subject], name: str
) -> None:
    """Run one torture on the file."""
    rehearsal.person.mirror()
    if isinstance(entry, type):
        subject: Subject = entry(rehearsal, mirror)
    else:
        subject = Entries(rehearsal, mirror, entry)
    scene = Scene(rehearsal, subject)
    scene.add(0)
    scene.expect(1, "one thing that was added")
    _TORTURES[name](scene)
    rehearsal.person.verify()


def _stale(scene: Scene) -> None:
    """An editor writes back an old copy."""
    old = scene.read()
    scene.add(1)
    scene.expect(2, "a second one")
    scene.write(old)
    scene.expect(2, "an old copy")
    assert scene.shown() == 2, "the old copy hides the second one"


def _reformatted(scene: Scene) -> None:
    """The same content, written by another program."""
    if not scene.subject.json:
        scene.write(scene.read().rstrip(b"\n") + b"\n\n\n")
        scene.expect(1, "with empty lines at its end")
        return
    content = json.loads(scene.read())
    for form in ({"indent": 7}, {"separators": (",", ":")}, {"sort_keys": True}):
        scene.write(json.dumps(content, **form).encode())
        scene.expect(1, f"written with {form}")


def _bom(scene: Scene) -> None:
    scene.write(b"\xef\xbb\xbf" + scene.read())
    scene.expect(1, "a byte order mark")


def _crlf(scene: Scene) -> None:
    scene.write(scene.read().replace(b"\n", b"\r\n"))
    scene.expect(1, "Windows line endings")


def _cut(scene: Scene) -> None:
    """A writer is interrupted at every byte, and then writes the whole file."""
    whole = scene.read()
    for size in range(len(whole)):
        scene.write(whole[:size])
        scene.sync()
    scene.write(whole)
    scene.expect(1, "cut at every byte")
    assert scene.shown() == 1


def _duplicate(scene: Scene) -> None:
    """The same once more is another one, or is held. Writing the same file again changes nothing."""
    scene.add(0)
    scene.sync()
    count = scene.stored()
    scene.write(scene.read())
    scene.expect(count, "a copy with the duplicate")


def _emptied(scene: Scene) -> None:
    scene.subject.empty(scene.root)
    scene.expect(1, "an emptied file")
    assert scene.shown() == scene.subject.left
    scene.write(b"")
    scene.expect(1, "a file of 0 bytes")


def _deleted(scene: Scene) -> None:
    os.unlink(scene.path)
    scene.expect(1, "a deleted file")
    assert os.path.exists(scene.path) == (scene.subject.mirror.missing != "ignore")


def _link(scene: Scene) -> None:
    """A link is neither followed nor written through."""
    other = os.path.join(scene.rehearsal.path, "other")
    scene.add(5)
    os.rename(scene.path, other)  # before the change is stored
    behind = _bytes(other)
    os.symlink(other, scene.path)
    scene.sync()
    assert scene.stored() == 1, "the content behind a link was stored"
    assert _bytes(other) == behind, "the file behind the link was changed"
    os.unlink(scene.path)
    scene.expect(1, "a link that was removed")


def _bytes(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _read_only(scene: Scene) -> None:
    os.chmod(scene.path, 0o444)
    scene.expect(1, "a read-only file")
    os.chmod(scene.path, 0o644)
    scene.add(1)
    scene.expect(2, "writable again")


def _worktrees(scene: Scene) -> None:
    """What is written in one worktree appears in the file of the other."""
    other = f"{scene.rehearsal.path}-other"
    git = ["git", "-C", scene.rehearsal.path, "worktree", "add", "--quiet", "--detach", other]
    subprocess.run(git, check=True, timeout=60, stdin=subprocess.DEVNULL)
    scene.sync()
    scene.subject.add(other, 1)
    scene.add(2)
    scene.expect(3, "changes in two worktrees")
    assert scene.shown() == scene.subject.shown(other) == 3


def _killed(scene: Scene) -> None:
    """The process that stores a change is killed at every step. The next one completes it, and stores it once."""
    for step in range(1, _MOST):
        scene.add(step)
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
