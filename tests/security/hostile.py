"""What the tests of hostile repositories share: a stranger's repository that is really cloned, and a victim's home."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from tests.surfaces.command import SOURCES, Command, git

PRECIOUS = "export EDITOR=ed\n"


class Victim(Command):
    """An account with something to lose, and the command as it calls it."""

    def __init__(self, directory: Path) -> None:
        self.directory = Path(os.path.realpath(directory))
        self.home = self.directory / "home"
        self.home.mkdir()
        self.bashrc = self.home / ".bashrc"
        self.bashrc.write_text(PRECIOUS)
        self.loot = self.directory / "loot"  # what a command of the attacker would make
        super().__init__(self.directory, self.directory, self.home)
        self.environment |= {"XDG_STATE_HOME": str(self.home / "state"), "PYTHONPATH": str(SOURCES)}

    def clone(self, stranger: Path) -> Path:
        """A plain `git clone` of what the stranger has committed."""
        self.repo = self.directory / "clone"
        git(self.directory, "clone", "-q", str(stranger), str(self.repo))
        return self.repo

    def check(self) -> None:
        """Nothing of theirs was changed, and nothing of the attacker's was run."""
        assert self.bashrc.read_text() == PRECIOUS
        assert sorted(path.name for path in self.home.iterdir() if path.name != "state") == [".bashrc"]
        assert not self.loot.exists(), self.loot


def stranger(directory: Path) -> Path:
    """An empty repository to put traps into."""
    root = Path(os.path.realpath(directory)) / "stranger"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    return root


def commit(root: Path) -> None:
    git(root, "add", "-A", "-f")
    git(root, "commit", "-q", "-m", "a gift")


def look_alike(folder: Path, config: str = "", *, state: bool = True) -> Path:
    """A folder of plain files that looks like a bare repository. All of it can be committed."""
    for part in ("objects", "refs", "moot" if state else "refs"):
        (folder / part).mkdir(parents=True, exist_ok=True)
        (folder / part / "keep").touch()
    (folder / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / "config").write_text(config or "[core]\n\tbare = true\n")
    return folder


def everything(root: Path) -> dict[str, tuple[object, ...]]:
    """All below a folder: names, kinds, modes, sizes, times and contents."""
    found: dict[str, tuple[object, ...]] = {}
    for path in [root, *sorted(root.rglob("*"))]:
        status = path.lstat()
        content = path.read_bytes() if stat.S_ISREG(status.st_mode) else b""
        kept = (status.st_mode, status.st_uid, status.st_size, status.st_mtime_ns, status.st_ino, content)
        found[str(path.relative_to(root))] = kept
    return found
