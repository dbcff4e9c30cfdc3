"""Runs git on the repository of a trusted workspace (`moot.place.trust`). Only this module runs git.

Git gets the repository as an argument, never from the environment, and runs nothing that the repository's config names:
no hooks, no file system monitor, no external diff, no transport. The program is never one inside the workspace.
"""

from __future__ import annotations

import os
import shutil  # noqa: TID253 (loaded on demand)

from moot.place import processes
from moot.place.environment import search_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_PATIENCE = 120.0
_LISTING = 1 << 28  # bytes of file names that git may list
_HARMLESS = (
    "--no-pager",
    *("-c", "core.fsmonitor=false"),
    *("-c", "safe.bareRepository=explicit"),
    *("-c", "protocol.allow=never"),  # a partial clone would fetch missing objects with a command from its config
    *("-c", "submodule.recurse=false"),
    *("-c", "gc.auto=0"),
    *("-c", "maintenance.auto=false"),
)
_NO_HOOKS = ("-c", "core.hooksPath=/dev/null")
NO_DRIVERS = ("--no-ext-diff", "--no-textconv")


class GitFailed(Exception):
    """Git could not be run, or failed. The text is the reason."""


class Git:
    """Git on one worktree. `more` are variables that git gets besides the harmless ones."""

    def __init__(
        self,
        directory: str,
        work_tree: str,
        *options: str,
        more: Mapping[str, str] | None = None,
        hooks: bool = False,
    ) -> None:
        """`directory` is the git directory of the worktree. With `hooks`, git knows where its hooks are."""
        program = shutil.which("git", path=os.pathsep.join(search_path(os.environ, work_tree)))
        if program is None:
            raise GitFailed("git is not installed")
        self._work_tree = work_tree
        quiet = _HARMLESS if hooks else (*_HARMLESS, *_NO_HOOKS)
        self._command = (program, *quiet, *options, f"--git-dir={directory}", f"--work-tree={work_tree}")
        search = [folder for folder in os.get_exec_path() if os.path.isabs(folder)]
        # Filters must not act as an agent or a person, so they do not get MOOT_ variables.
        self._env = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "MOOT_"))}
        self._env |= {
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_NO_LAZY_FETCH": "1",
            "PATH": os.pathsep.join(search),
            "LC_ALL": "C",
            **(more or {}),
        }

    def run(self, *words: str, stdin: bytes = b"") -> processes.Ran:
        argv = (*self._command, *words)
        try:
            ran = processes.run(
                argv, cwd=self._work_tree, env=self._env, keep=_LISTING, apart=True, stdin=stdin, timeout=_PATIENCE
            )
        except processes.NotStarted as problem:
            raise GitFailed(problem.why) from problem
        if ran.timed_out:
            raise GitFailed(f"git did not finish within {_PATIENCE:g} s")
        return ran

    def do(self, *words: str, stdin: bytes = b"") -> bytes:
        """Run git and return its output. Raises if git fails."""
        ran = self.run(*words, stdin=stdin)
        if ran.code:
            raise GitFailed(ran.errors.tail.decode("utf-8", "replace").strip() or f"git failed with {ran.code}")
        if not ran.output.whole:
            raise GitFailed(f"git listed more than {_LISTING} bytes of file names")
        return ran.output.tail

    def listed(self, *words: str, stdin: bytes = b"") -> list[bytes]:
        """The output of git with `-z`: one item per file."""
        return self.do(*words, stdin=stdin).split(b"\0")[:-1]

    def ask(self, *words: str, fails: bool = False) -> str:
        answer = self.run(*words).output.tail if fails else self.do(*words)
        return answer.decode("ascii", "replace").strip()

    def fails(self, *words: str) -> bool:
        return self.run(*words).code != 0
