"""Damages a mirrored file as it happens in real life, and checks that nothing is lost or stored twice.

    for name in TORTURES:
        torture(Subject(rehearsal, mirror), name)

A `Subject` knows how something is added to the file, and how often it is in the log. Each torture starts with one thing
that is in the log. At its end the log has each of them once, the file is complete, and the log is verified.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tests.kit.packs import FileAgent

if TYPE_CHECKING:
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


class Subject:
    """A file that is damaged, with the numbers of what is added to it."""

    json = True  # whether the file is JSON: then it can be formatted in other ways

    def __init__(self, rehearsal: Rehearsal, mirror: MirrorSpec) -> None:
        self.rehearsal, self.mirror, self.root = rehearsal, mirror, rehearsal.path
        self.left = 0 if mirror.emptied == "clear" else 1  # shown of one after the file was emptied

    def add(self, root: str, number: int) -> None:
        """Add the thing with this number to the file, as an agent does that knows only the file."""
        raise NotImplementedError

    def stored(self) -> int:
        """How many of the added things are in the log."""
        raise NotImplementedError

    def shown(self, root: str) -> int:
        """How many of them the file shows."""
        raise NotImplementedError

    def empty(self, root: str) -> None:
        """Remove everything that was added."""
        self.write(root, b"{}" if self.json else b"")

    def path(self, root: str) -> str:
        return os.path.join(root, self.mirror.path)

    def read(self, root: str) -> bytes:
        with open(self.path(root), "rb") as file:
            return file.read()

    def write(self, root: str, data: bytes) -> None:
        """Write in place, as some editors do, instead of renaming."""
        with open(self.path(root), "wb") as file:
            file.write(data)

    def content(self, root: str) -> Any:
        return json.loads(self.read(root).decode("utf-8-sig"))

    def update(self, root: str, change: Callable[[Any], object]) -> None:
        """Change the content of a JSON file."""
        content = self.content(root)
        change(content)
        self.write(root, json.dumps(content).encode())

    def events(self, kind: str) -> list[Any]:
        return self.rehearsal.person.log(limit=1000, type=kind)

    def put(self, data: bytes) -> None:
        self.write(self.root, data)

    def sync(self) -> None:
        self.rehearsal.person.mirror()

    def expect(self, count: int, why: str) -> None:
        for again in ("", ", the second time"):
            self.sync()
            assert self.stored() == count, f"{why}{again}: expected {count} in the log, got {self.stored()}"


class Entries(Subject):
    """A file of messages: the form `entries`."""

    def entry(self, number: int) -> dict[str, Any]:
        raise NotImplementedError

    def add(self, root: str, number: int) -> None:
        FileAgent(root, self.mirror).append(self.entry(number))

    def stored(self) -> int:
        return sum(event.data["kind"] in self.mirror.types for event in self.events("message:sent"))

    def shown(self, root: str) -> int:
        return len(FileAgent(root, self.mirror).listed())

    def empty(self, root: str) -> None:
        FileAgent(root, self.mirror).hold([])


def torture(subject: Subject, name: str) -> None:
    """Run one torture on the file."""
    subject.sync()
    subject.add(subject.root, 0)
    subject.expect(1, "one thing that was added")
    _TORTURES[name](subject)
    subject.rehearsal.person.verify()


def _stale(subject: Subject) -> None:
    """An editor writes back an old copy."""
    old = subject.read(subject.root)
    subject.add(subject.root, 1)
    subject.expect(2, "a second one")
    subject.put(old)
    subject.expect(2, "an old copy")
    assert subject.shown(subject.root) == 2, "the old copy hides the second one"


def _reformatted(subject: Subject) -> None:
    """The same content, written by other programs."""
    whole = subject.read(subject.root)
    forms = [b"\xef\xbb\xbf" + whole, whole.replace(b"\n", b"\r\n")]
    if subject.json:
        ways: list[dict[str, Any]] = [{"indent": 7}, {"separators": (",", ":")}, {"sort_keys": True}]
        forms += [json.dumps(json.loads(whole), **way).encode() for way in ways]
    else:
        forms.append(whole.rstrip(b"\n") + b"\n\n\n")
    for form in forms:
        subject.put(form)
        subject.expect(1, f"written as {form[:60]!r}")


def _cut(subject: Subject) -> None:
    """A writer is interrupted at every byte, and then writes the whole file."""
    whole = subject.read(subject.root)
    for size in range(len(whole)):
        subject.put(whole[:size])
        subject.sync()
    subject.put(whole)
    subject.expect(1, "cut at every byte")
    assert subject.shown(subject.root) == 1


def _duplicate(subject: Subject) -> None:
    """The same once more is another one, or is held. Writing the same file again changes nothing."""
    subject.add(subject.root, 0)
    subject.sync()
    count = subject.stored()
    subject.put(subject.read(subject.root))
    subject.expect(count, "a copy with the duplicate")


def _emptied(subject: Subject) -> None:
    subject.empty(subject.root)
    subject.expect(1, "an emptied file")
    assert subject.shown(subject.root) == subject.left
    subject.put(b"")
    subject.expect(1, "a file of 0 bytes")
    os.unlink(subject.path(subject.root))
    subject.expect(1, "a deleted file")
    assert os.path.exists(subject.path(subject.root)) == (subject.mirror.missing != "ignore")


def _link(subject: Subject) -> None:
    """A link is neither followed nor written through."""
    path, other = subject.path(subject.root), os.path.join(subject.root, "other")
    subject.add(subject.root, 5)
    os.rename(path, other)  # before the change is stored
    with open(other, "rb") as file:
        behind = file.read()
    os.symlink(other, path)
    subject.sync()
    assert subject.stored() == 1, "the content behind a link was stored"
    with open(other, "rb") as file:
        assert file.read() == behind, "the file behind the link was changed"
    os.unlink(path)
    subject.expect(1, "a link that was removed")


def _read_only(subject: Subject) -> None:
    os.chmod(subject.path(subject.root), 0o444)
    subject.expect(1, "a read-only file")
    os.chmod(subject.path(subject.root), 0o644)
    subject.add(subject.root, 1)
    subject.expect(2, "writable again")


def _worktrees(subject: Subject) -> None:
    """What is written in one worktree appears in the file of the other."""
    other = f"{subject.root}-other"
    git = ["git", "-C", subject.root, "worktree", "add", "--quiet", "--detach", other]
    subprocess.run(git, check=True, timeout=60, stdin=subprocess.DEVNULL)
    subject.sync()
    subject.add(other, 1)
    subject.add(subject.root, 2)
    subject.expect(3, "changes in two worktrees")
    assert subject.shown(subject.root) == subject.shown(other) == 3


def _killed(subject: Subject) -> None:
    """The process that stores a change is killed at every step. The next one completes it, and stores it once."""
    for step in range(1, _MOST):
        subject.add(subject.root, step)
        words = [sys.executable, "-c", _KILLED, str(step), subject.root]
        done = subprocess.run(words, cwd=subject.root, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode in (0, 9), done.stderr
        subject.expect(step + 1, f"killed at step {step}")
        assert subject.shown(subject.root) == step + 1
        if done.returncode == 0:
            return
    raise AssertionError(f"the sync has more than {_MOST} steps")


_TORTURES: dict[str, Callable[[Subject], None]] = {
    "stale": _stale,
    "reformatted": _reformatted,
    "cut": _cut,
    "duplicate": _duplicate,
    "emptied": _emptied,
    "link": _link,
    "read-only": _read_only,
    "worktrees": _worktrees,
    "killed": _killed,
}
TORTURES = tuple(_TORTURES)
