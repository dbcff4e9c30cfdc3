"""The work of an agent apart from moot. There is no model: the files are copied from `demo/till`.

The four scripts in `demo/agents` show how an agent uses a workspace.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
from pathlib import Path

FINISHED = Path(__file__).resolve().parent


def think(seconds: float) -> None:
    """Pause, as an agent that works does."""
    time.sleep(seconds / float(os.environ.get("DEMO_SPEED", "1")))


def write(path: str, share: float = 1.0) -> None:
    """Write a file of the program into this worktree, or only its first lines."""
    lines = (FINISHED / path).read_text(encoding="utf-8").splitlines(keepends=True)
    Path(path).parent.mkdir(exist_ok=True)
    Path(path).write_text("".join(lines[: round(len(lines) * share)]), encoding="utf-8")


def commit(task: str, *paths: str) -> None:
    """Commit these files. The message starts with the id of the task."""
    _git("add", *paths)
    _git("commit", "--quiet", "--message", f"{task}: {', '.join(paths)}", "--", *paths)


def objections(branch: str, task: str) -> list[str]:
    """What is wrong with the last commit of a task: files that are not valid Python, and lines that are too long."""
    change = f"{branch}^{{/^{task}:}}"
    found = []
    for path in _git("show", "--pretty=", "--name-only", change).split():
        text = _git("show", f"{change}:{path}")
        try:
            compile(text, path, "exec")
        except SyntaxError as error:
            found.append(f"{path}: {error}")
        found += [f"{path}: a line of {len(line)} characters" for line in text.splitlines() if len(line) > 120]
    return found


def adopt(branch: str, task: str) -> None:
    """Cherry-pick a task's commit from another branch."""
    _git("cherry-pick", f"{branch}^{{/^{task}:}}")


def python(*words: str) -> str:
    """Run Python in this worktree, and return its errors, if it fails."""
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else ""


def _git(*words: str) -> str:
    """Run git. Only one process at a time in each worktree, because git fails instead of waiting for its lock."""
    with Path(".gitignore").open(encoding="utf-8") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        done = subprocess.run(["git", *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"git {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout
