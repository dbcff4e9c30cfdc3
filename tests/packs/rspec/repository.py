"""A real git repository with Ruby sources, for tests."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from moot.place import Place

_ENV = {
    **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null",
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.com",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.com",
}


class Repository:
    """`root` is the worktree. Its first branch is `main`."""

    def __init__(self, root: Path, branch: str = "main") -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)
        self.git("init", "--quiet", f"--initial-branch={branch}")

    def git(self, *words: str) -> str:
        done = subprocess.run(
            ["git", *words],
            cwd=self.root,
            env=_ENV,
            capture_output=True,
            timeout=60,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode().strip()

    def write(self, path: str, content: str | bytes) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        return file

    def commit(self, message: str = "change") -> str:
        """Commit everything."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--no-verify", "-m", message)
        return self.git("rev-parse", "HEAD")

    def branch(self, name: str = "feature") -> None:
        self.git("switch", "--quiet", "--create", name)

    @property
    def place(self) -> Place:
        common = str(self.root / ".git")
        root = str(self.root)
        return Place(root=root, state=f"{common}/moot", common=common, worktree=".", main_root=root)
