"""A repository with the guard: git as agents and people call it, with the real hooks and the real command."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from tests.surfaces.command import PATIENCE, RAW, Ran

if TYPE_CHECKING:
    from tests.surfaces.command import Command


NAMED = {f"GIT_{who}_{what}": f"a@{who}" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


class Guarded:
    """Git in a workspace of Ada and Bob."""

    def __init__(self, run: Command) -> None:
        self.run, self.repo, self.hooks = run, run.repo, run.repo / ".git" / "hooks"

    def git(self, *words: str | bytes, agent: str | None = None, cwd: Path | None = None, **env: str) -> Ran:
        who = {"MOOT_AGENT": agent} if agent else {}
        done = subprocess.run(
            ["git", *words],
            cwd=cwd or self.repo,
            env={**self.run.environment, "GIT_EDITOR": "true", **NAMED, **who, **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
        ran = Ran(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))
        assert "Traceback" not in ran.err, ran.err
        assert not RAW.search(ran.err), ran
        return ran

    def write(self, *names: str | bytes, text: str = "", where: Path | None = None) -> None:
        """Write files and stage them."""
        for name in names:
            path = os.path.join(os.fsencode(where or self.repo), os.fsencode(name))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "a", encoding="utf-8") as file:
                file.write(text or os.urandom(8).hex())
            assert self.git("--literal-pathspecs", "add", "-f", "--", path, cwd=where).code == 0

    def commit(self, *words: str, agent: str | None = None, cwd: Path | None = None, **env: str) -> Ran:
        return self.git("commit", "-q", "-m", "change", *words, agent=agent, cwd=cwd, **env)

    def claim(self, who: str, *paths: str, **given: str) -> str:
        options = [word for name, value in given.items() for word in (f"--{name}", value)]
        claimed: str = self.run("claim", *options, "--json", "--", *paths, agent=who).result["id"]
        return claimed

    def hook(self, name: str, text: str, mode: int = 0o755) -> Path:
        path = self.hooks / name
        self.hooks.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        return path

    def remote(self) -> Path:
        """A bare repository that has `main`."""
        path = self.repo.parent / "remote.git"
        assert self.git("init", "-q", "--bare", str(path)).code == 0
        assert self.git("remote", "add", "origin", str(path)).code == 0
        assert self.git("push", "-q", "--no-verify", "origin", "main").code == 0
        return path


def refused(ran: Ran, *named: str) -> None:
    """The guard refused it, and named all this."""
    assert ran.code == 1, ran
    assert "[files_claimed]" in ran.err
    for text in named:
        assert text in ran.err, ran.err


def passed(ran: Ran) -> None:
    assert ran.code == 0, ran
    assert ran.err == "", ran.err
